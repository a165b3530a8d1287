"""Recorder: an observer that keeps every attempt, and makes a schedule of them."""

from array import array

import numpy as np
import pandas as pd

from simmodels.entities.cluster import Attempt, Cluster, Outcome
from simmodels.entities.environment import Environment
from simmodels.entities.scheduler import QueueScheduler
from simmodels.entities.source import Source
from simmodels.schedule import ATTEMPT_COLUMNS, COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.workload import Job, Workload


class Recorder:
    """Keeps one record an attempt; make it before the clock runs.

    It keeps numbers, not objects: a million jobs cost it about 100 MB, and Python's collector nothing.

    Parameters
    ----------
    env
        The environment.
    cluster
        Record this cluster only; None for all of the environment.
    """

    def __init__(self, env: Environment, cluster: Cluster | None = None) -> None:
        self.env = env
        self.cluster = cluster
        self._ids = array("q")  # of each submitted job
        self._submits = array("d")
        self._runtimes = array("d")
        self._estimates = array("d")
        self._cores = array("q")
        self._users = array("q")
        self._number: dict[int, int] = {}  # of the jobs not yet done, by id: in order of submission
        self._of = array("q")  # of each attempt that has ended: the number of its job
        self._start = array("d")
        self._end = array("d")
        self._code = array("b")
        self._counted = array("b")
        self._lost = False
        env.on("submitted", self._see_submit)
        env.on("ended", self._see_end)

    def _see_submit(self, job: Job) -> None:
        self._number[id(job)] = len(self._ids)
        self._ids.append(job.job_id)
        self._submits.append(job.submit_s)
        self._runtimes.append(job.runtime_s)
        self._estimates.append(job.estimate_s)
        self._cores.append(job.cores)
        self._users.append(job.user_id)

    def _see_end(self, attempt: Attempt) -> None:
        if self.cluster is not None and attempt.cluster is not self.cluster:
            return
        job = id(attempt.job)
        self._of.append(self._number[job])
        self._start.append(attempt.start_s)
        self._end.append(attempt.end_s)  # type: ignore[arg-type]  # it has ended
        self._counted.append(attempt.counted)
        outcome = attempt.outcome
        if outcome is Outcome.LOST:
            self._lost = True
            self._code.append(UNFINISHED)
        else:
            self._code.append(COMPLETED if outcome is Outcome.COMPLETED else KILLED)
            del self._number[job]

    def _clusters(self) -> list[Cluster]:
        return self.env.all(Cluster) if self.cluster is None else [self.cluster]

    def _table(self) -> pd.DataFrame:
        """Return number of the job, start, end (NaN while it runs), code and counted of each attempt, by start."""
        table = pd.DataFrame(
            {
                "of": np.array(self._of),
                "start_s": np.array(self._start),
                "end_s": np.array(self._end),
                "outcome": np.array(self._code),
                "counted": np.array(self._counted, np.bool_),
            }
        )
        running = [
            (self._number[id(attempt.job)], attempt.start_s, np.nan, UNFINISHED, attempt.counted)
            for cluster in self._clusters()
            for attempt in cluster.running
        ]
        if running:
            table = pd.concat([table, pd.DataFrame(running, columns=table.columns)], ignore_index=True)
        return table.sort_values(["start_s", "of"], kind="stable", ignore_index=True)

    @property
    def attempts(self) -> pd.DataFrame:
        """Return a table: one row an attempt in order of start (job_id, attempt, start_s, end_s, outcome).

        Outcomes are codes as in `Schedule`: 0 completed, 1 killed, 2 lost or still running.
        """
        table = self._table()
        table.insert(0, "job_id", np.array(self._ids)[table["of"].to_numpy()])
        table.insert(1, "attempt", table.groupby("of").cumcount() + 1)
        return table[list(ATTEMPT_COLUMNS)]

    def _came_in_order(self, source: Source) -> bool:
        """Return whether the jobs that were submitted are those of the source, unchanged and in its order."""
        rows, log = source.rows[: len(self._ids)], source.workload
        seen = (self._ids, self._submits, self._runtimes, self._estimates, self._cores)
        given = (log.job_id, log.submit_s, log.runtime_s, log.estimate_s, log.cores)
        return all(np.array_equal(np.array(a), b[rows]) for a, b in zip(seen, given, strict=True))

    def schedule(self) -> Schedule:
        """Return the schedule so far.

        Its rows are in input order if all jobs came from one `Source`, else in order of submission;
        a job that has not ended is unfinished.

        Raises
        ------
        RequestError
            A job was lost with its machine, and two jobs have the same number.
        """
        sources = self.env.all(Source)
        submitted = len(self._ids)
        if len(sources) == 1 and self._came_in_order(sources[0]):
            workload = sources[0].workload
            rows = sources[0].rows[:submitted]
            left_out = len(workload) - len(sources[0].rows)
        else:
            workload = Workload(
                job_id=np.array(self._ids),
                submit_s=np.array(self._submits),
                runtime_s=np.array(self._runtimes),
                estimate_s=np.array(self._estimates),
                cores=np.array(self._cores),
                user_id=np.array(self._users),
            )
            rows = np.arange(submitted)
            left_out = sum(len(source.workload) - len(source.rows) for source in sources)
        start_s = np.full(len(workload), np.nan)
        end_s = np.full(len(workload), np.nan)
        outcome = np.full(len(workload), UNFINISHED, np.int8)
        counted = workload.known()
        table = self._table()
        at = rows[table["of"].to_numpy()]  # in order of start, so the last attempt of a job is what stays
        start_s[at] = table["start_s"]
        end_s[at] = table["end_s"].where(table["outcome"] != UNFINISHED)
        outcome[at] = table["outcome"]
        counted[at] = table["counted"]
        about: dict[str, object] = {"engine": "simpy", "seed": self.env.seed, "left_out": left_out}
        schedulers = self.env.all(QueueScheduler)
        if len(schedulers) == 1:
            about = {**schedulers[0].options.about(), **about}
        return Schedule(
            workload,
            sum(cluster.cores for cluster in self._clusters()),
            start_s,
            end_s,
            outcome=outcome,
            counted=counted,
            attempts=self.attempts if self._lost else None,
            about=about,
        )
