"""Source: the process that submits the jobs of a workload, each at its instant."""

from typing import Final, Protocol

import numpy as np

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


class Source:
    """Submits every job of a workload into a scheduler, in (submit, input) order.

    Parameters
    ----------
    env
        The environment.
    workload
        The jobs; none may be submitted before ``env.now``. Those whose cores or runtime is unknown
        (see `Workload.known`) are left out.
    into
        The scheduler (or any object with ``accept`` and ``submit``).

    Raises
    ------
    ImpossibleJobError
        A job can never run there.
    RequestError
        A job was submitted before the clock's now.
    """

    def __init__(self, env: Environment, workload: Workload, *, into: TakesJobs) -> None:
        into.accept(workload)
        rows = np.flatnonzero(workload.known())
        rows = rows[np.argsort(workload.submit_s[rows], kind="stable")]
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
        self.submitted = 0
        env.enter(self)
        self.process = env.process(self._run())

    def _run(self) -> Process:
        env = self.env
        submit = self.into.submit
        log = self.workload
        now = env.now
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
