"""Attempt: one run of a job on a cluster, and how it ended."""

from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from simpy.events import URGENT
from simpy.events import Process as SimPyProcess

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.entities.environment import Environment
from simmodels.errors import RequestError
from simmodels.work.workload import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simmodels.entities.machine import Machine


class Outcome(Enum):
    """How an attempt ended.

    Attributes
    ----------
    COMPLETED
        It ran for the job's runtime.
    KILLED
        It was stopped at its limit, the job's estimate.
    LOST
        Its machine was switched off, or it was interrupted.

    Examples
    --------
    >>> import simmodels as sm
    >>> log = {"submit_s": [0], "runtime_s": [10], "estimate_s": [6], "cores": [1]}
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=1), overrun="kill")
    >>> source = sm.Source(env, log, into=scheduler)
    >>> env.on(sm.Ended, lambda event: print(env.now, event.attempt.outcome is sm.Outcome.KILLED))
    >>> env.run()
    6.0 True
    """

    COMPLETED = "completed"
    KILLED = "killed"  # stopped at its limit
    LOST = "lost"  # its machine was powered off


LOST: Final = Outcome.LOST  # what is asked of each attempt, more than once: an attribute of an Enum takes long
COMPLETED: Final = Outcome.COMPLETED


class Left(NamedTuple):
    """What is left of a job."""

    work_s: float  # in seconds at speed 1
    restart_s: float = 0.0  # how long it takes to come back from its last checkpoint
    earlier_s: float = 0.0  # how long its running attempt ran before the simulation began


class Runs(Protocol):
    """What an attempt knows of its cluster."""

    env: Environment
    name: str
    number: int
    speed: float
    checkpoints: Checkpoints
    works_as_logged: bool

    def end(self, attempt: "Attempt", /) -> None:
        """Free the cores of an attempt."""

    def work_so_far_s(self, attempt: "Attempt", /) -> float:
        """Return for how long an attempt has done work by now, in seconds."""


class TakesNote(Protocol):
    """Whoever decided that an attempt starts, and has to know of its end."""

    def note_end(self, attempt: "Attempt", /) -> None:
        """Take note that an attempt has ended."""


class Attempt:
    """One run of a job on a cluster.

    Attributes
    ----------
    job, cluster
        What runs, and where.
    submitted
        The job as it was submitted; another object than `job` if a scheduler changed it at its start.
    start_s
        When it started.
    limit_s
        How long it may run at most; None: no limit.
    limit_work_s
        How much work that is, in seconds at speed 1, if its scheduler said it so.
    end_s
        When it ended; None while it runs.
    executed_s
        How long it ran, once it has ended. Not the rounded ``end_s - start_s`` if the runtime is known.
    outcome
        How it ended; None while it runs.
    counted
        False for a warm job, which stands outside the metrics.
    places
        The machines it runs on, each with how many of its cores; empty for a pool of cores.
    warned_s
        How long before its machine went a checkpoint was asked for; None if it was not.
    work_s
        For how long it did work that is not lost, once it has ended, in seconds; None where nobody but its outcome says
        it.
    speed
        How many seconds of the job its machines, the slowest of them, do in a second.
    checkpoints
        How its job writes checkpoints while it runs: as its cluster had it when it started.
    whole_s
        All the work of its job, in seconds at speed 1.
    left
        What was left of its job when it started; None for all of it.
    process
        The SimPy process, if the cluster's `execute` is overridden; else None.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0], "runtime_s": [10], "cores": [2]}, into=scheduler)
    >>> ended = []
    >>> env.on(sm.Ended, lambda event: ended.append(event.attempt))
    >>> env.run()
    >>> ended[0].start_s, ended[0].end_s, ended[0].outcome
    (0.0, 10.0, <Outcome.COMPLETED: 'completed'>)
    """

    __slots__ = (
        "_ok",
        "callbacks",
        "checkpoints",
        "cluster",
        "counted",
        "decider",
        "end_s",
        "executed_s",
        "job",
        "left",
        "limit_s",
        "limit_work_s",
        "outcome",
        "places",
        "process",
        "slot",
        "speed",
        "start_s",
        "submitted",
        "then",
        "turn",
        "warned_s",
        "whole_s",
        "work_s",
    )

    def __init__(
        self, job: Job, cluster: Runs, start_s: float, limit_s: float | None, checkpoints: Checkpoints
    ) -> None:
        self._ok = True  # SimPy asks for both when it is over: one that only waits is the event of its end
        self.callbacks: Sequence[Callable[[Attempt], object]] = ()
        self.job = job
        self.submitted = job
        self.cluster = cluster
        self.start_s = start_s
        self.limit_s = limit_s
        self.limit_work_s: float | None = None
        self.end_s: float | None = None
        self.executed_s: float | None = None
        self.outcome: Outcome | None = None
        self.counted = True
        self.places: list[tuple[Machine, int]] = []
        self.slot = -1  # its job's number in the scheduler's queue, in order of arrival
        self.turn = -1  # its own number there, in order of start
        self.process: SimPyProcess | None = None
        self.decider: TakesNote | None = None  # who decided on it
        self.then: Callable[[Attempt], None] | None = None
        self.warned_s: float | None = None
        self.work_s: float | None = None
        self.speed = cluster.speed
        self.checkpoints = checkpoints
        self.whole_s = job.runtime_s
        self.left: Left | None = None

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Attempt of job {self.job.job_id} from {self.start_s:g} s>"

    def note_change(self, submitted: Job) -> None:
        """Take note of the job as it was submitted, which a scheduler changed; refuse it on other cores."""
        self.submitted = submitted
        if self.job.cores != submitted.cores:
            what = f"job {submitted.job_id} was started on {self.job.cores} cores"
            raise RequestError(what, f"the pass gave it {submitted.cores}")

    def interrupt(self, cause: object = None) -> None:
        """Stop it at this instant; its work is lost (outcome LOST). One that has ended stays as it is.

        Parameters
        ----------
        cause
            What the `Interrupt` says that passes through a process.
        """
        if self.end_s is not None:
            return
        if self.process is not None:
            self.process.interrupt(cause)
        else:
            self.cluster.env.call(self._lose, URGENT)

    def _lose(self) -> None:
        """Stop waiting."""
        if self.end_s is None and self.process is None:
            self.callbacks = ()
            self.outcome = LOST
            self.cluster.end(self)
