"""Source: the process that submits the jobs of a workload, or workflows, each at its instant."""

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import numpy as np

from simmodels.decisions.window import Rows, windowed
from simmodels.entities.dependencies import Dependencies
from simmodels.entities.environment import Environment, Process
from simmodels.entities.router import Router
from simmodels.entities.serving import Scheduler
from simmodels.errors import RequestError
from simmodels.workflow import Workflow
from simmodels.workload import Job, Workload

_CHUNK: Final = 8192  # jobs turned into Python numbers at a time, so that memory does not grow with the log


_Given_contra = TypeVar("_Given_contra", contravariant=True)
_Each_contra = TypeVar("_Each_contra", contravariant=True)


class Takes(Protocol[_Given_contra, _Each_contra]):
    """Whatever jobs can be submitted into."""

    def accept(self, given: _Given_contra, /) -> None:
        """Refuse a workload with a job that can never run here."""

    def submit(self, each: _Each_contra, /) -> None:
        """Take a job that is submitted now."""


TakesJobs = Takes[Workload, Job]
TakesWorkflows = Takes[Sequence[Workflow], Workflow]


@runtime_checkable
class ResumesJobs(Protocol):
    """Whatever jobs can be put into that have run before."""

    def resume(self, jobs: Sequence[Job]) -> None:
        """Let jobs that ran since their submission run on; those that do not fit are dropped."""


class Source:
    """Submits every job of a workload, or every workflow, into a scheduler, in (submit, input) order.

    Parameters
    ----------
    env
        The environment.
    workload
        The jobs, or workflows; none may be submitted before ``env.now``. Jobs whose cores or runtime is
        unknown (see `Workload.known`) are left out.
    window_s
        Only the jobs of this half-open window, which begins now; those that were submitted before it and would still
        run come first. They run on where they are put (``into.resume``); a scheduler without that gets them as jobs
        of what they have left. None for all jobs, and for workflows.
    into
        The scheduler, router or auctioneer (or any object with ``accept`` and ``submit``). `Dependencies` are put in
        front where it does not take workflows by itself.

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
        workload: Workload | Sequence[Workflow],
        *,
        into: TakesJobs | TakesWorkflows,
        window_s: tuple[float, float] | None = None,
    ) -> None:
        taker: Any = into  # what it takes is what it is given: the one or the other
        given = workload if isinstance(workload, Workload) else tuple(workload)
        if isinstance(into, Scheduler | Router) and not into.takes_workflows and _are_workflows(given):
            taker = Dependencies(env, into)
        taker.accept(given)
        workload = _unchanged_workflows(given) if isinstance(given, Workload) and given.tasks is not None else given
        warm: Rows = np.empty(0, np.int64)
        if isinstance(workload, Workload):
            submit_s, job_id = workload.submit_s, workload.job_id
            rows = np.flatnonzero(workload.known())
        elif window_s is not None:
            raise RequestError(f"the window {window_s} of workflows", "workflows are all submitted: None is allowed")
        else:
            submit_s = np.array([each.submit_s for each in workload], np.float64)
            job_id = np.array([each.job_id for each in workload])
            rows = np.arange(len(workload))
        if isinstance(workload, Workload) and window_s is not None:
            warm, rows = windowed(workload, window_s)
        else:
            rows = rows[np.argsort(submit_s[rows], kind="stable")]
        if len(rows) and submit_s[rows[0]] < env.now:
            row = int(rows[0])
            raise RequestError(
                f"job {job_id[row]} is submitted at {submit_s[row]:g} s",
                f"the clock is at {env.now:g} s; shift() the workload",
            )
        self.env = env
        self.workload = given if isinstance(given, Workload) else Workload.of_workflows(given)
        self.windowed = window_s is not None
        self.into = taker
        self.rows = rows
        self.warm = warm
        self.submitted = 0
        env.enter(self)
        run = self._run(workload) if isinstance(workload, Workload) else self._run_workflows(workload)
        self.process = env.process(run)

    def _run_workflows(self, workflows: Sequence[Workflow]) -> Process:
        taker: Any = self.into
        for row in self.rows.tolist():
            workflow = workflows[row]
            if workflow.submit_s != self.env.now:
                yield self.env.at(workflow.submit_s)
            self.submitted += 1
            taker.submit(workflow)

    def _run(self, log: Workload) -> Process:
        env = self.env
        taker: Any = self.into
        submit = taker.submit
        now = env.now
        if len(self.warm):
            self._resume(log)
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

    def _resume(self, log: Workload) -> None:
        """Let jobs that ran before the clock did run on."""
        if not isinstance(self.into, ResumesJobs):
            what = f"{len(self.warm)} jobs that run when the window begins, and {type(self.into).__name__}"
            raise RequestError(what, "a scheduler with a method `resume` is needed")
        self.into.resume([log.job(row) for row in self.warm.tolist()])


def _are_workflows(given: Workload | Sequence[object]) -> bool:
    """Return whether there are workflows, and nothing else."""
    if isinstance(given, Workload):
        return given.tasks is not None and not (given.tasks.workflow < 0).any()
    return bool(given) and all(isinstance(each, Workflow) for each in given)


def _unchanged_workflows(workload: Workload) -> tuple[Workflow, ...]:
    """Return the workflows of a workload that are as they were; refuse one with rigid jobs too, or other columns."""
    flows = () if workload.tasks is None else workload.tasks.workflows
    made = Workload.of_workflows(flows)
    if len(made) != len(workload):
        what = f"{len(workload) - len(made)} rigid jobs and {len(flows)} workflows of workload {workload.name!r}"
        raise RequestError(what, "a Source must be given the ones or the others; a model may have several")
    for name in ("job_id", "submit_s", "runtime_s", "cores"):
        if not np.array_equal(getattr(made, name), getattr(workload, name)):
            what = f"column {name} of workload {workload.name!r} is not that of its workflows"
            raise RequestError(what, "change the workflows")
    return flows
