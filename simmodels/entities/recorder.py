"""Recorder: an observer that keeps every attempt, and makes a schedule of them."""

from collections import Counter

import numpy as np
import pandas as pd

from simmodels.entities.cluster import Attempt, Cluster, Outcome
from simmodels.entities.environment import Environment
from simmodels.schedule import ATTEMPT_COLUMNS, COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.workload import COLUMNS, Job, Workload



def _code(attempt: Attempt) -> int:
    """Return the outcome of an attempt as a schedule codes it."""
    if attempt.end_s is None:
        return UNFINISHED
    return {Outcome.COMPLETED: COMPLETED, Outcome.KILLED: KILLED}.get(attempt.outcome, UNFINISHED)  # type: ignore[arg-type]


class Recorder:
    """Keeps one record an attempt; make it before the clock runs.

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
        self._submitted: list[Job] = []
        self._started: list[Attempt] = []
        env.on("submitted", self._submitted.append)
        env.on("started", self._see_start)

    def _see_start(self, attempt: Attempt) -> None:
        if self.cluster is None or attempt.cluster is self.cluster:
            self._started.append(attempt)

    @property
    def attempts(self) -> pd.DataFrame:
        """Return a table: one row an attempt in order of start (job_id, attempt, start_s, end_s, outcome).

        Outcomes are codes as in `Schedule`: 0 completed, 1 killed, 2 lost or still running.
        """
        number: Counter[int] = Counter()
        rows = []
        for attempt in self._started:
            number[id(attempt.job)] += 1
            end_s = np.nan if attempt.end_s is None else float(attempt.end_s)
            code = _code(attempt)
            rows.append((attempt.job.job_id, number[id(attempt.job)], float(attempt.start_s), end_s, code))
        return pd.DataFrame(rows, columns=list(ATTEMPT_COLUMNS))

    def schedule(self) -> Schedule:
        """Return the schedule so far.

        Its rows are in input order if all jobs came from one `Source`, else in order of submission;
        a job that has not ended is unfinished.

        Raises
        ------
        RequestError
            A job was lost with its machine, and two jobs have the same number.
        """
        sources = self.env.sources
        jobs = self._submitted
        if len(sources) == 1 and len(jobs) == sources[0].submitted:
            workload = sources[0].workload
            rows = sources[0].rows[: len(jobs)].tolist()
        else:
            workload = Workload(**{name: np.array([getattr(job, name) for job in jobs]) for name in COLUMNS})
            rows = list(range(len(jobs)))
        row_of = {id(job): row for job, row in zip(jobs, rows, strict=True)}
        start_s = np.full(len(workload), np.nan)
        end_s = np.full(len(workload), np.nan)
        outcome = np.full(len(workload), UNFINISHED, np.int8)
        counted = np.ones(len(workload), np.bool_)
        for attempt in self._started:
            row = row_of[id(attempt.job)]
            start_s[row] = attempt.start_s
            counted[row] = attempt.counted
            outcome[row] = _code(attempt)
            end_s[row] = np.nan if outcome[row] == UNFINISHED else attempt.end_s
        lost = any(attempt.outcome is Outcome.LOST for attempt in self._started)
        clusters = self.env.clusters if self.cluster is None else [self.cluster]
        about: dict[str, object] = {"engine": "simpy", "seed": self.env.seed}
        for scheduler in self.env.schedulers[:1]:
            about = {**scheduler.options.about(), **about}
        return Schedule(
            workload,
            sum(cluster.cores for cluster in clusters),
            start_s,
            end_s,
            outcome=outcome,
            counted=counted,
            attempts=self.attempts if lost else None,
            about=about,
        )
