"""Source: the process that submits the jobs and workflows of a workload, each at its instant."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import numpy as np
from simpy.events import URGENT, Event

from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.dependencies import Dependencies
from simmodels.entities.environment import End, Environment
from simmodels.entities.router import Router
from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration
from simmodels.ground.numbers import ranges
from simmodels.work.job import OpenJob
from simmodels.work.window import Rows, windowed
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job, Numbers, Workload, WorkloadLike

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
    """Submits every job and every workflow of a workload into a scheduler, in (submit, input) order.

    Parameters
    ----------
    env
        The environment.
    workload
        The jobs, workflows, or both, or what stands for them (see `Workload.of`); none may be submitted before
        ``env.now``. Jobs whose cores or runtime is unknown (see `Workload.known`) are left out.
    window_s
        Only the jobs of this half-open window, which begins now; those that were submitted before it and would still
        run come first. They run on where they are put (``into.resume``); a scheduler without that gets them as jobs
        of what they have left. None for all jobs, and for workflows.
    into
        The scheduler, router or auctioneer (or any object with ``accept`` and ``submit``). `Dependencies` are put in
        front of workflows where it does not take them by itself.

    Attributes
    ----------
    rows
        int64[n], the rows of the workload that are submitted, in order; those of a workflow's tasks together.
    submitted
        How many of them have been.
    process
        The SimPy event of its end: when all have been.

    Raises
    ------
    ImpossibleJobError
        A job can never run there.
    RequestError
        A job was submitted before the clock's now, or a row of a workflow was changed.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [2, 4]}, into=scheduler)
    >>> env.run(until=3)
    >>> source.submitted
    1
    """

    def __init__(
        self,
        env: Environment,
        workload: WorkloadLike,
        *,
        into: TakesJobs | TakesWorkflows,
        window_s: tuple[Duration, Duration] | None = None,
    ) -> None:
        self.env = as_instance("env", env, Environment)
        if not (hasattr(into, "accept") and hasattr(into, "submit")):
            raise RequestError(must_be("into", "a scheduler, a router or an Auctioneer", into))
        if getattr(into, "env", env) is not env:
            raise RequestError("into belongs to another environment than the source", "create both with the same env")
        taker: Any = into  # what it takes is what it is given: the one or the other
        work = Workload.of(workload)
        given: Any = work if isinstance(workload, Workload) or work.is_rigid else work.workflows
        if isinstance(into, Scheduler | Router) and not into.takes_workflows and _has_workflows(given):
            taker = Dependencies(env, into)
        taker.accept(given)
        work.require_unchanged()
        warm: Rows = np.empty(0, np.int64)
        if window_s is None:
            rows = _first_rows(work)
            rows = rows[np.argsort(work.submit_s[rows], kind="stable")]
        elif work.is_rigid:
            warm, rows = windowed(work, window_s)
        else:
            raise RequestError(f"the window {window_s} of workflows", "leave it out: workflows are all submitted")
        if len(rows) and work.submit_s[rows[0]] < env.now:
            row = int(rows[0])
            raise RequestError(
                f"job {work.job_id[row]} is submitted at {work.submit_s[row]:g} s",
                f"the clock is at {env.now:g} s; shift() the workload",
            )
        self.workload = work
        self.windowed = window_s is not None
        self.into = taker
        self.rows = _with_tasks(work, rows)
        self.warm = warm
        self.submitted = 0
        env.enter(self)
        chunks = (rows[first : first + _CHUNK] for first in range(0, len(rows), _CHUNK))
        self._coming = itertools.chain.from_iterable(_each(work, chunk) for chunk in chunks)
        self._next: Job | Workflow | None = None
        self._at_due = (self._submit_due,)
        self.process = End(env)
        begin = Event(env)
        begin.callbacks.append(self._begin)
        env.trigger(begin, URGENT)

    def _begin(self, begin: Event) -> None:
        """Let jobs run on that ran before, and submit what is submitted as the simulation begins."""
        if len(self.warm):
            self._resume(self.workload)
        self._next = next(self._coming, None)
        self._submit: Callable[[Any], None] = self.into.submit
        self._submit_due(begin)

    def _submit_due(self, due: Event) -> None:
        """Submit all that is submitted now, and wait for the next instant: `due` happens again and again."""
        now, each, submit = self.env._now, self._next, self._submit  # noqa: SLF001  env.now, without a call
        while each is not None and each.submit_s == now:
            self.submitted += 1 if isinstance(each, Job) else len(each)
            submit(each)
            each = next(self._coming, None)
        self._next = each
        if each is None:
            self.process.succeed()
        else:
            due.callbacks = self._at_due  # type: ignore[assignment]  # SimPy only goes through them
            self.env.happens_at(each.submit_s, due)

    def _resume(self, log: Workload) -> None:
        """Let jobs that ran before the simulation did run on."""
        if not isinstance(self.into, ResumesJobs):
            what = f"{len(self.warm)} jobs that run when the window begins, and {type(self.into).__name__}"
            raise RequestError(what, "use a scheduler with a method `resume`")
        self.into.resume([log.job(row) for row in self.warm.tolist()])


def _has_workflows(given: Workload | Sequence[object]) -> bool:
    """Return whether there are workflows; of a list, whether there is nothing else."""
    if isinstance(given, Workload):
        return not given.is_rigid
    return bool(given) and all(isinstance(each, Workflow) for each in given)


def _each(work: Workload, rows: Rows) -> Iterator[Job | Workflow]:
    """Return the job, or the workflow, of each of some rows."""
    columns = (work.job_id, work.submit_s, work.runtime_s, work.estimate_s, work.cores, work.user_id)
    numbers = work.numbers
    extras = (Numbers(numbers, row) for row in rows.tolist()) if numbers else itertools.repeat(None)
    jobs: Iterator[Any] = map(OpenJob, *(column[rows].tolist() for column in columns), extras)
    if work.tasks is None:
        return jobs
    workflow = work.tasks.workflow[rows].tolist()
    return (job if number < 0 else work.workflows[number] for job, number in zip(jobs, workflow, strict=True))


def _first_rows(work: Workload) -> Rows:
    """Return the rows of known jobs, and of the first tasks of workflows, in input order."""
    rows = np.flatnonzero(work.known() & work.rigid())
    return rows if work.tasks is None else np.sort(np.concatenate((rows, work.tasks.first)))


def _with_tasks(work: Workload, rows: Rows) -> Rows:
    """Return rows with those of all tasks of the workflows whose first tasks are among them."""
    if work.tasks is None:
        return rows
    number = work.tasks.workflow[rows]
    size = np.array([*map(len, work.workflows), 1])[number]
    return ranges(rows, size)
