"""Events: what an environment publishes to its observers, each a small tuple; see `Environment.on`.

An event is published at the instant at which it happens; it is created only if an observer of its class exists.
"""

from typing import Literal, NamedTuple

from simmodels.entities.attempt import Attempt
from simmodels.entities.machine import Machine
from simmodels.workflow import Workflow
from simmodels.workload import Job

Reason = Literal["fits", "ends in time", "extra cores", "delays no reservation"]


class Submitted(NamedTuple):
    """A job was submitted.

    Parameters
    ----------
    job
        The job, or the workflow.
    to
        The scheduler or router that got it.
    """

    job: Job | Workflow
    to: object


class Routed(NamedTuple):
    """A router sent a job on.

    Parameters
    ----------
    job
        The job.
    by, to
        The router, and the scheduler or router that it chose.
    """

    job: Job
    by: object
    to: object


class Started(NamedTuple):
    """An attempt has started.

    Parameters
    ----------
    attempt
        The attempt.
    """

    attempt: Attempt


class Backfilled(NamedTuple):
    """A `QueueScheduler` started a job ahead of one that precedes it in the order; follows `Started`.

    Parameters
    ----------
    attempt
        The attempt.
    ahead
        The first of the jobs that wait.
    reason
        Why it may: it ``"fits"`` (greedy); by its estimate it ``"ends in time"`` for the reservation of the first, or
        else runs on ``"extra cores"`` (EASY); it ``"delays no reservation"`` (conservative).
    """

    attempt: Attempt
    ahead: Job
    reason: Reason


class Reserved(NamedTuple):
    """A `QueueScheduler` made or changed a reservation: of the first waiting job (EASY), or of any (conservative).

    With an order that changes over time, that of EASY is known at decisions where some waiting job fits.

    Parameters
    ----------
    job
        The job.
    start_s
        The instant, in seconds; infinity if the cores that are powered on are too few.
    by
        The scheduler.
    """

    job: Job
    start_s: float
    by: object


class Ended(NamedTuple):
    """An attempt has ended, completed or not; its cores are free.

    Parameters
    ----------
    attempt
        The attempt.
    """

    attempt: Attempt


class Lost(NamedTuple):
    """An attempt was stopped because its machine was powered off, or by a script; its job is not done. Follows `Ended`.

    Parameters
    ----------
    attempt
        The attempt.
    """

    attempt: Attempt


class Priced(NamedTuple):
    """A task was started by an auction with ``prices=True``; follows `Started`.

    Parameters
    ----------
    attempt
        The attempt.
    price
        What it pays: the best other bid.
    """

    attempt: Attempt
    price: float


class Powered(NamedTuple):
    """A machine was powered on or off: see ``machine.is_on``.

    Parameters
    ----------
    machine
        The machine.
    """

    machine: Machine
