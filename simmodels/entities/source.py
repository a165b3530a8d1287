"""Source: the process that submits the jobs of a workload, each at its instant."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol, runtime_checkable

import numpy as np

from simmodels.decisions.window import Rows, windowed
from simmodels.entities.environment import Environment, Process
from simmodels.errors import RequestError
from simmodels.workload import Job, Workload

_CHUNK: Final = 8192  # jobs turned into Python numbers at a time, so that memory does not grow with the log


class TakesJobs(Protocol):
    """Whatever jobs can be submitted into."""

    def accept(self, workload: Workload) -> None:
        """Refuse a workload with a job that can never run here."""

    def submit(self, job: Job) -> None:
        """Take a job that is submitted now."""


@runtime_checkable
class ResumesJobs(Protocol):
    """Whatever jobs can be put into that have run before."""

    def resume(self, jobs: Sequence[Job]) -> None:
        """Let jobs that ran since their submission run on; those that do not fit are dropped."""


class Source:
    """Submits every job of a workload into a scheduler, in (submit, input) order.

    Parameters
    ----------
    env
        The environment.
    workload
        The jobs; none may be submitted before ``env.now``. Those whose cores or runtime is unknown
        (see `Workload.known`) are left out.
    window_s
        Only the jobs of this half-open window, which begins now; those that were submitted before it and would still
        run come first. They run on where they are put (``into.resume``); a scheduler without that gets them as jobs
        of what they have left. None for all jobs.
    into
        The scheduler (or any object with ``accept`` and ``submit``).

    Raises
    ------
    ImpossibleJobError
        A job can never run there.
    RequestError
        A job was submitted before the clock's now.
    """

    def __init__(
        self,
        env: Environment,
        workload: Workload,
        *,
        into: TakesJobs,
        window_s: tuple[float, float] | None = None,
    ) -> None:
        into.accept(workload)
        warm: Rows = np.empty(0, np.int64)
        if window_s is None:
            rows = np.flatnonzero(workload.known())
            rows = rows[np.argsort(workload.submit_s[rows], kind="stable")]
        else:
            warm, rows = windowed(workload, window_s)
        if len(rows) and workload.submit_s[rows[0]] < env.now:
            row = int(rows[0])
            raise RequestError(
                f"job {workload.job_id[row]} is submitted at {workload.submit_s[row]:g} s",
                f"the clock is at {env.now:g} s; shift() the workload",
            )
        self.env = env
        self.workload = workload
        self.into = into
        self.rows = rows
        self.warm = warm
        self.submitted = 0
        env.enter(self)
        self.process = env.process(self._run())

    def _run(self) -> Process:
        env = self.env
        submit = self.into.submit
        log = self.workload
        now = env.now
        if len(self.warm):
            self._resume(now)
        for first in range(0, len(self.rows), _CHUNK):
            rows = self.rows[first : first + _CHUNK]
            columns = (log.job_id, log.submit_s, log.runtime_s, log.estimate_s, log.cores, log.user_id)
            for values in zip(*(column[rows].tolist() for column in columns), strict=True):
                job = Job(*values)
                if job.submit_s != now:
                    now = job.submit_s
                    yield env.at(now)
                self.submitted += 1
                submit(job)

    def _resume(self, now: float) -> None:
        """Let jobs that ran before the clock did run on."""
        jobs = [self.workload.job(row) for row in self.warm.tolist()]
        if isinstance(self.into, ResumesJobs):
            self.into.resume(jobs)
            return
        for job in jobs:
            ran_s = now - job.submit_s
            left = replace(job, runtime_s=job.runtime_s - ran_s, estimate_s=max(job.estimate_s - ran_s, 0.0))
            self.into.submit(left)
