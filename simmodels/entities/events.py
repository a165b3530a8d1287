"""Events: what an environment publishes to its observers, each a small tuple; see `Environment.on`.

An event is published at the instant at which it happens; it is created only if an observer of its class exists.
"""

from typing import Literal, NamedTuple

from simmodels.entities.attempt import Attempt
from simmodels.entities.machine import Machine
from simmodels.results.attempts import Done
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job

Reason = Literal["fits", "ends in time", "extra cores", "delays no reservation"]


class Submitted(NamedTuple):
    """A job was submitted.

    Parameters
    ----------
    job
        The job, or the workflow.
    to
        The scheduler or router that got it.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [2, 4]}, into=scheduler)
    >>> env.on(sm.Submitted, lambda event: print(env.now, event.job.job_id))
    >>> env.run()
    0.0 1
    5.0 2
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

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=4)) for name in ("a", "b")]
    >>> router = sm.RoundRobin(env, queues)
    >>> source = sm.Source(env, {"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [2, 4]}, into=router)
    >>> env.on(sm.Routed, lambda event: print(event.job.job_id, event.to.cluster.name))
    >>> env.run()
    1 a
    2 b
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

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [2, 4]}, into=scheduler)
    >>> env.on(sm.Started, lambda event: print(env.now, event.attempt.job.job_id))
    >>> env.run()
    0.0 1
    10.0 2
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

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [3, 4, 1]}
    >>> source = sm.Source(env, log, into=scheduler)
    >>> env.on(sm.Backfilled, lambda event: print(event.attempt.job.job_id, event.reason, "before", event.ahead.job_id))
    >>> env.run()
    3 ends in time before 2
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

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0, 1], "runtime_s": [10, 10], "cores": [3, 4]}, into=scheduler)
    >>> env.on(sm.Reserved, lambda event: print(env.now, event.job.job_id, "starts by", event.start_s))
    >>> env.run()
    1.0 2 starts by 10.0
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

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [2, 4]}, into=scheduler)
    >>> env.on(sm.Ended, lambda event: print(env.now, event.attempt.job.job_id, event.attempt.outcome.value))
    >>> env.run()
    10.0 1 completed
    20.0 2 completed
    """

    attempt: Attempt


class Lost(NamedTuple):
    """An attempt was stopped because its machine was powered off, or by a script; its job is not done. Follows `Ended`.

    Parameters
    ----------
    attempt
        The attempt.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=2, cores_per_machine=4)
    >>> scheduler = sm.QueueScheduler(env, cluster)
    >>> source = sm.Source(env, {"submit_s": [0], "runtime_s": [10], "cores": [8]}, into=scheduler)
    >>> maintenance = sm.Maintenance(env, cluster, start_s=4, duration_s=2, notice_s=0, machines=[1])
    >>> env.on(sm.Lost, lambda event: print(env.now, event.attempt.job.job_id))
    >>> env.run()
    4.0 1
    """

    attempt: Attempt


class WorkflowDone(NamedTuple):
    """A workflow is done: what became of it is known for good. Published once for each, at that instant.

    That is when its last task ends, or when an `Auctioneer` drops it, so that whoever waits for it can go on. It
    follows `Ended`, and in an auction what starts then. A workflow that the simulation leaves unfinished has none.

    Parameters
    ----------
    workflow
        The workflow.
    outcome
        As in `Schedule.workflows`: ``"finished"``; ``"starved"``, at its deadline (tasks that run then run on), or
        ended no sooner; ``"rejected"``, when it was submitted. `Dependencies` drop none: finished, however late.
    by
        The auctioneer, or the dependencies, to which it was submitted.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, sm.Workflow(7, 0.0, [10, 20], cores=2, edges=[(0, 1)]), into=scheduler)
    >>> env.on(sm.WorkflowDone, lambda event: print(env.now, event.workflow.job_id, event.outcome))
    >>> env.run()
    30.0 7 finished
    """

    workflow: Workflow
    outcome: Done
    by: object


class Priced(NamedTuple):
    """A task was started by an auction with ``prices=True``; follows `Started`.

    Parameters
    ----------
    attempt
        The attempt.
    price
        What it pays: the best other bid.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> auctioneer = sm.Auctioneer(env, [sm.Cluster(env, "ours", cores=4)], bid="SRTF", prices=True)
    >>> jobs = [sm.Workflow(number, 0.0, [10 * number], cores=4) for number in (1, 2)]
    >>> source = sm.Source(env, jobs, into=auctioneer)
    >>> env.on(sm.Priced, lambda event: print(event.attempt.job.job_id, event.price))
    >>> env.run()
    1 20.0
    2 0.0
    """

    attempt: Attempt
    price: float


class Powered(NamedTuple):
    """A machine was powered on or off: see ``machine.is_on``.

    Parameters
    ----------
    machine
        The machine.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=2, cores_per_machine=4)
    >>> maintenance = sm.Maintenance(env, cluster, start_s=4, duration_s=2, machines=[1])
    >>> env.on(sm.Powered, lambda event: print(env.now, event.machine.index, event.machine.is_on))
    >>> env.run()
    4.0 1 False
    6.0 1 True
    """

    machine: Machine
