"""Recorder: an observer that keeps every attempt, and makes a schedule of them."""

from array import array

import numpy as np
import pandas as pd

from simmodels.capacity_schedule import CapacitySchedule, assembled
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.auctioneer import Auctioneer, TaskRun
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.machine import Machine
from simmodels.entities.placer import Placer
from simmodels.entities.scheduler import QueueScheduler
from simmodels.entities.source import Source
from simmodels.errors import RequestError
from simmodels.schedule import ATTEMPT_COLUMNS, COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.workflow import Workflow
from simmodels.workflow_schedule import WorkflowSchedule
from simmodels.workload import Job, Workload


class Recorder:
    """Keeps one record an attempt; make it before the clock runs.

    It keeps numbers, not objects: a million jobs cost it about 100 MB, and Python's collector nothing.

    Parameters
    ----------
    env
        The environment.
    cluster
        Record the jobs of this cluster only; None for all of the environment.
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
        # The jobs that are not done, by id: number in order of submission, and the job itself, to keep its id its own.
        self._undone: dict[int, tuple[int, Job]] = {}
        self._back: set[int] = set()  # ids of those that were lost, and wait again: perhaps somewhere else
        self._of = array("q")  # of each attempt that has ended: the number of its job
        self._start = array("d")
        self._end = array("d")
        self._executed = array("d")
        self._code = array("b")
        self._counted = array("b")
        self._lost = False
        self._machine = array("q")  # the (lowest) machine of each attempt that has ended; -1 in a pool
        self._work = array("d")  # what it did that is not lost; NaN where only its outcome says it
        self._first_s = float(env.now)
        self._switched: dict[Machine, array[float]] = {}  # when it went dark, came back, went dark, ...
        for cluster_ in env.all(Cluster):
            for machine in cluster_.machines:
                if not machine.is_on:
                    self._see_power(machine)
        env.on("powered", self._see_power)
        env.on("submitted", self._see_submit)
        env.on("ended", self._see_end)

    def _see_submit(self, job: Job | Workflow) -> None:
        if isinstance(job, Workflow):
            return  # the auctioneer keeps what becomes of its tasks
        if id(job) in self._back:
            self._back.remove(id(job))
            return
        if id(job) in self._undone:
            raise RequestError(
                f"job {job.job_id} is submitted again before it is done", "a copy is allowed (replace(job))"
            )
        self._undone[id(job)] = (len(self._ids), job)
        self._ids.append(job.job_id)
        self._submits.append(job.submit_s)
        self._runtimes.append(job.runtime_s)
        self._estimates.append(job.estimate_s)
        self._cores.append(job.cores)
        self._users.append(job.user_id)

    def _see_end(self, attempt: Attempt) -> None:
        if isinstance(attempt.job, TaskRun):
            return
        submitted = attempt.submitted
        lost = attempt.outcome is Outcome.LOST
        if self.cluster is not None and attempt.cluster is not self.cluster:
            if not lost:
                self._undone.pop(id(submitted), None)
            elif id(submitted) in self._undone:
                self._back.add(id(submitted))
            return
        self._of.append(self._number(submitted))
        self._start.append(attempt.start_s)
        self._executed.append(attempt.executed_s)  # type: ignore[arg-type]  # it has ended
        self._end.append(attempt.end_s)  # type: ignore[arg-type]  # it has ended
        self._counted.append(attempt.counted)
        self._machine.append(attempt.places[0][0].index if attempt.places else -1)
        self._work.append(np.nan if attempt.work_s is None else attempt.work_s)
        if lost:
            self._lost = True
            self._back.add(id(submitted))
            self._code.append(UNFINISHED)
        else:
            self._code.append(COMPLETED if attempt.outcome is Outcome.COMPLETED else KILLED)
            self._back.discard(id(submitted))
            del self._undone[id(submitted)]

    def _see_power(self, machine: Machine) -> None:
        if self.cluster is None or machine.cluster is self.cluster:
            self._switched.setdefault(machine, array("d")).append(self.env.now)

    def _number(self, job: Job) -> int:
        """Return the number of a job that was submitted and is not done."""
        if id(job) not in self._undone:
            raise RequestError(
                f"job {job.job_id} runs, but this recorder has not seen it submitted",
                "make the recorder before the clock runs; if a job is changed at its start, set attempt.submitted",
            )
        return self._undone[id(job)][0]

    def _clusters(self) -> list[Cluster]:
        return self.env.all(Cluster) if self.cluster is None else [self.cluster]

    def _schedulers(self) -> list[QueueScheduler]:
        return [each for each in self.env.all(QueueScheduler) if each.cluster in self._clusters()]

    def _table(self) -> pd.DataFrame:
        """Return number of the job, start, end (NaN while it runs), executed, code, ... of each attempt."""
        table = pd.DataFrame(
            {
                "of": np.array(self._of),
                "start_s": np.array(self._start),
                "end_s": np.array(self._end),
                "executed_s": np.array(self._executed),
                "outcome": np.array(self._code),
                "counted": np.array(self._counted, np.bool_),
                "machine": np.array(self._machine),
                "work_s": np.array(self._work),
            }
        )
        running = [
            (
                self._number(attempt.submitted),
                attempt.start_s,
                np.nan,
                np.nan,
                UNFINISHED,
                attempt.counted,
                attempt.places[0][0].index if attempt.places else -1,
                np.nan,
            )
            for cluster in self._clusters()
            for attempt in cluster.running
            if not isinstance(attempt.job, TaskRun)
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

    def _recorded(self, table: pd.DataFrame) -> np.ndarray:
        """Return the numbers of the jobs that belong to what is recorded: all, or those of the one cluster."""
        if self.cluster is None:
            return np.arange(len(self._ids))
        held = [
            self._undone[id(job)][0]
            for scheduler in self._schedulers()
            for job in scheduler.jobs_not_done
            if id(job) in self._undone
        ]
        return np.union1d(table["of"].to_numpy(), np.array(held, np.int64))

    def workflow_schedule(self) -> WorkflowSchedule:
        """Return the schedule of the workflows so far: tasks and jobs, in the order in which they became known.

        Raises
        ------
        RequestError
            There is no auctioneer, or more than one (each has a schedule of its own).
        """
        auctioneers = self.env.all(Auctioneer)
        if len(auctioneers) != 1:
            raise RequestError(f"a schedule of the workflows of {len(auctioneers)} auctioneers", "1 is allowed")
        return auctioneers[0].schedule()

    def _came_in_order(self, log: Workload, rows: np.ndarray) -> bool:
        """Return whether the jobs that were submitted are these rows of a log, unchanged and in this order."""
        rows = rows[: len(self._ids)]
        seen = (self._ids, self._submits, self._runtimes, self._estimates, self._cores)
        given = (log.job_id, log.submit_s, log.runtime_s, log.estimate_s, log.cores)
        return all(np.array_equal(np.array(a), b[rows]) for a, b in zip(seen, given, strict=True))

    def _on_machines(self, window_s: tuple[float, float] | None) -> CapacitySchedule:
        """Return the schedule of the one cluster of machines, attempt by attempt."""
        sources, clusters = self.env.all(Source), self._clusters()
        workload = sources[0].workload if len(sources) == 1 else None
        if len(clusters) != 1 or not clusters[0].machines or not isinstance(workload, Workload):
            what = f"{len(clusters)} clusters and {len(sources)} sources"
            raise RequestError(
                what, "a schedule on machines is that of one cluster of machines, with one source of jobs"
            )
        source = sources[0]
        rows = np.concatenate((source.warm, source.rows))
        if len(self._ids) > len(rows) or not self._came_in_order(workload, rows):
            what = f"jobs of cluster {clusters[0].name!r} that are not those of the source, or changed"
            raise RequestError(what, "a schedule on machines is that of one cluster, with all jobs of one source")
        table = self._table()
        placers = [each for each in self.env.all(Placer) if each.cluster is clusters[0]]
        so_far = {
            self._number(each.submitted): placers[0].work_so_far_s(each) if placers else self.env.now - each.start_s
            for each in clusters[0].running
        }
        of, work_s = table["of"].to_numpy(), table["work_s"].to_numpy()
        start_s, end_s, outcome = (table[name].to_numpy() for name in ("start_s", "end_s", "outcome"))
        executed_s = table["executed_s"].to_numpy()
        work_s = np.where(np.isnan(work_s), np.where(outcome == UNFINISHED, 0.0, executed_s), work_s)
        for row in np.flatnonzero(np.isnan(end_s)).tolist():
            work_s[row] = so_far[int(of[row])]
        begin, now = window_s if window_s is not None else (self._first_s, float(self.env.now))
        seen_s = self.env.now if self.env.peek() < np.inf else np.inf  # with nothing to come, all is as it is
        if not self._first_s <= begin <= now <= seen_s:
            seen = f"what lies from {self._first_s:g} s to {seen_s:g} s was seen and is allowed"
            raise RequestError(f"a window from {begin:g} s to {now:g} s", seen)
        counted = np.zeros(len(workload), np.bool_)
        counted[rows[np.unique(of)]] = True
        counted[source.rows[: source.submitted]] = True
        about: dict[str, object] = {"engine": "simpy", "seed": self.env.seed}
        for said in [each.about() for each in placers] + [each.about() for each in self._schedulers()]:
            about = {**said, **about}
        about["left_out"] = len(workload) - int(counted.sum())
        return assembled(
            workload,
            rows[of],
            {
                "start_s": start_s,
                "end_s": end_s,
                "outcome": outcome,
                "machine": table["machine"].to_numpy(),
                "work_s": work_s,
            },
            dark=self._dark(),
            first_s=self._first_s,
            machines=len(clusters[0].machines),
            cores_per_machine=clusters[0].machines[0].cores,
            window=(begin, now),
            counted=counted,
            about=about,
        )

    def _dark(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return machine, begin and end of each span in which one was dark; infinity where that has not ended."""
        spans = []
        for machine, at in self._switched.items():
            ends = at[1::2] if len(at) % 2 == 0 else at[1::2] + array("d", [np.inf])
            spans += [(machine.index, low, high) for low, high in zip(at[::2], ends, strict=True)]
        index, low, high = np.array(spans, np.float64).reshape(-1, 3).T
        return index.astype(np.int64), low, high

    def schedule(self, *, window_s: tuple[float, float] | None = None) -> Schedule:
        """Return the schedule so far: of workflows, `workflow_schedule`; on machines that change, a `CapacitySchedule`.

        Parameters
        ----------
        window_s
            For a `CapacitySchedule` also of a queue scheduler's cluster: the window of its metrics.

        Notes
        -----
        Its rows are in input order if all jobs came from one `Source` and are recorded, else in order
        of submission; a job that has not ended is unfinished. If a cluster says how long jobs run, or a
        scheduler changed one at its start, ``about["runtimes"]`` is ``"modelled"`` and `executed_s` has them.

        Raises
        ------
        RequestError
            A job was lost with its machine, and two jobs have the same number; or a job ran that was
            not seen when it was submitted.
        """
        if self.cluster is None and self.env.all(Auctioneer) and not self._ids:
            return self.workflow_schedule()  # type: ignore[return-value]  # a model of workflows knows what it asks for
        if window_s is not None or any(each.cluster in self._clusters() for each in self.env.all(Placer)):
            return self._on_machines(window_s)
        sources = [source for source in self.env.all(Source) if isinstance(source.workload, Workload)]
        schedulers = self._schedulers()
        table = self._table()
        numbers = self._recorded(table)
        whole = len(sources) == 1 and len(numbers) == len(self._ids)
        if self.cluster is not None:  # jobs that are still to come may go elsewhere
            whole = whole and sources[0].submitted == len(sources[0].rows) > 0
        logs = [source.workload for source in sources if isinstance(source.workload, Workload)]
        if whole and self._came_in_order(logs[0], sources[0].rows):
            workload = logs[0]
            rows = sources[0].rows[: len(numbers)]
            left_out = len(workload) - len(sources[0].rows)
        else:
            columns = (self._ids, self._submits, self._runtimes, self._estimates, self._cores, self._users)
            workload = Workload(*(np.array(column)[numbers] for column in columns))
            rows = np.arange(len(numbers))
            here = [each for each in sources if self.cluster is None or each.into in schedulers]
            left_out = sum(len(source.workload) - len(source.rows) for source in here)
        start_s, end_s, executed_s = np.full((3, len(workload)), np.nan)
        outcome = np.full(len(workload), UNFINISHED, np.int8)
        counted = workload.known()
        at = rows[np.searchsorted(numbers, table["of"])]  # by start, so the last attempt of a job is what stays
        ended = table["outcome"] != UNFINISHED
        start_s[at] = table["start_s"]
        end_s[at] = table["end_s"].where(ended)
        executed_s[at] = table["executed_s"].where(ended)
        outcome[at] = table["outcome"]
        counted[at] = table["counted"]
        about: dict[str, object] = {"engine": "simpy", "seed": self.env.seed, "left_out": left_out}
        if len(schedulers) == 1:
            about = {**schedulers[0].about(), **about}
        logged_s = np.where(outcome == KILLED, workload.estimate_s, workload.runtime_s)
        modelled = not all(cluster.runs_as_logged for cluster in self._clusters())
        modelled = modelled or bool(((executed_s != logged_s) & (outcome != UNFINISHED)).any())
        if modelled:
            about["runtimes"] = "modelled"
        return Schedule(
            workload,
            sum(cluster.cores for cluster in self._clusters()),
            start_s,
            end_s,
            outcome=outcome,
            counted=counted,
            executed_s=executed_s if modelled else None,
            attempts=self.attempts if self._lost else None,
            about=about,
        )
