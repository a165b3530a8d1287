"""Tuning: a strategy of selection applied to an option of a scheduler, period by period, on either engine.

`Tuner` is a process beside a scheduler or auctioneer; `replay_tuned` tunes the order of a queue on the compiled engine,
and gives the same schedule to the last bit.

References
----------
See `simmodels.policies.selection`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from simmodels.entities.attempt import Attempt
from simmodels.entities.events import Powered, Routed, Submitted
from simmodels.entities.machine import Machine
from simmodels.entities.queue_scheduler import QueueScheduler
from simmodels.entities.tuner import KnobTuner, parted
from simmodels.errors import RequestError
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import Floats, Ints, as_integer, as_seed
from simmodels.policies.naming import as_order
from simmodels.policies.order import Order
from simmodels.policies.queue_options import QueueOptions
from simmodels.policies.selection import Strategy
from simmodels.policies.tuning_run import TuningRun, as_period
from simmodels.replay.run import Replay
from simmodels.results.schedule import Schedule
from simmodels.units import DAY
from simmodels.work.vocabulary import IN_QUEUES, OF_USERS
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job, Workload, WorkloadLike

_SIMULATED: Final = ("job_id", "submit_s", "runtime_s", "estimate_s", "cores")
"""What simulations know of a job: neither its user nor further columns."""


class Feedback:
    """What each order would have cost, had the jobs of each period been run under it alone on an empty machine.

    Parameters
    ----------
    jobs
        The jobs, of all periods, in order of arrival.
    cores, options
        The machine, and how its queue is scheduled, except the order. The warm jobs of the whole are none of a period.
    orders
        The orders.
    """

    def __init__(self, jobs: Workload, *, cores: int, options: QueueOptions, orders: tuple[str | Order, ...]) -> None:
        second, rest = options.backfill_order, replace(options, warm_jobs=0)
        self._replays = [Replay(jobs, cores=cores, options=rest.with_order(name, second)) for name in orders]
        self._begun = self._arrived = 0

    def waits_s(self, first: int, stop: int) -> Floats:
        """Return float64[orders, jobs], the waits of the jobs of a period.

        What was asked for before is not run again, so several strategies can share one feedback, if their periods are
        the same.

        Parameters
        ----------
        first, stop
            The slots of the period: `first` is the `stop` of the period before.
        """
        if stop > self._arrived:
            for replay in self._replays:
                if replay.options.draws:  # a period draws what it would draw alone: the first numbers
                    replay.set_draws(np.roll(replay.draws, first - self._begun))
                replay.run(slots=stop)
            self._begun, self._arrived = first, stop
        return np.array([replay.start_s[first:stop] - replay.submit_s[first:stop] for replay in self._replays])


def _require_simulable(strategy: Strategy, options: QueueOptions) -> None:
    """Refuse limits and orders by users or columns where periods are simulated, which know neither users nor queues."""
    if options.limits is not None:
        what = "a strategy that simulates, which knows no limits, on a queue with limits"
        raise RequestError(what, "leave the limits out, or choose another strategy")
    second = () if options.backfill_order is None else (options.backfill_order,)
    for each in (*map(as_order, strategy.choices), *second):
        if unknown := [word for word in each.words if word in OF_USERS or word not in IN_QUEUES]:
            what = f"a strategy that simulates, which knows no {', '.join(unknown)}, with order {each.name!r}"
            raise RequestError(what, "leave the order out, or choose another strategy")


def _preloaded(waiting: Workload, started: Workload, begin_s: float) -> Workload:
    """Return the jobs of a simulation that begins with a queue: what waits, then what started."""
    jobs = Workload.concat((waiting, started), alike=False)
    submit_s = np.maximum(jobs.submit_s, begin_s)
    submit_s[: len(waiting)] = begin_s
    return replace(jobs, submit_s=submit_s).take(np.argsort(submit_s, kind="stable"))


def _simulated(jobs: Workload, strategy: Strategy, cores: int, options: QueueOptions) -> Floats:
    """Return float64[orders, jobs], the waits of jobs on an empty machine under each order of a strategy."""
    orders = tuple(strategy.choices)
    return Feedback(jobs, cores=cores, options=options, orders=orders).waits_s(0, len(jobs))


# -- the SimPy engine ------------------------------------------------------------------------------


class Tuner(KnobTuner):
    """A process that chooses an option of a scheduler, or an auctioneer, period by period.

    At the beginning of each period it reports to its strategy what the period before cost, and changes the option;
    decisions of that instant follow the new one. It ends when nothing else is left to happen.

    Parameters
    ----------
    env
        The environment.
    knob
        The scheduler, auctioneer or cluster, and the name of the option: ``(queue, "order")``,
        ``(queue, "backfilling")``, ``(auctioneer, "bid")``, ``(placer, "heuristic")``, ``(cluster, "checkpoints")``, or
        any other that its `reconfigure` takes, one that you add in a subclass, too. A scheduler alone stands for its
        order. Other options stay as they are.
    strategy
        What is chosen: see `simmodels.policies.selection`. One that simulates (`FullFeedback`) chooses the order of a
        `QueueScheduler` by the mean wait; it simulates on as many cores as were on in the period, on average, and at
        least as many as its widest job needs, all at the speed of the slowest.
    cost
        What a period costs, of which strategies minimise the mean: ``"mean_wait_s"``: how long the jobs and tasks that
        ended (or started, see the strategy's ``counts``) in the period had waited since their submission;
        ``"lost_value"``: how much less than their most value the workflows are worth that were finished, starved or
        rejected in the period. Or a function of the attempts that ended (or started) in the period, in order, that
        returns their costs added up, >= 0.
    period_s
        How long a choice is kept, in seconds.
    from_s
        When the first period begins; the others follow without a gap. By default the trace's zero.
    name
        Distinguishes what is drawn here from what a tuner of another name draws in another environment.

    Attributes
    ----------
    tuning_run
        What was chosen so far, and what the strategy remembers.

    Raises
    ------
    RequestError, UnknownNameError
        The period is no number of seconds > 0; the option cannot be changed, or cannot be one of the choices; the
        strategy simulates, and it is not for the order of a queue, or that has limits, or an order names users or
        columns; or there is no such cost.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> env = sm.Environment(seed=1)
    >>> queue = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=64))
    >>> tuner = sm.Tuner(env, queue, sm.EpsilonGreedy(choices=("FCFS", "SAF")), period_s=sm.HOUR)
    >>> source = sm.Source(env, wl.lublin(jobs=100, cores=64, load=0.9, seed=1), into=queue)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> len(recorder.schedule().validate().jobs)
    100
    """

    def _prepare_simulations(self) -> None:
        """Take note of what is submitted, and of how many cores are on."""
        if not isinstance(self.owner, QueueScheduler) or (self.option, self.cost) != ("order", "mean_wait_s"):
            self._refuse_simulations()
        _require_simulable(self.strategy, self.owner.options)
        self._queue = self.owner
        self._submitted: list[Job] = []
        self._first_s = self._powered_s = float(self.env.now)  # since when ...
        self._cores_on = self._count_cores()  # ... this many cores have been on, ...
        self._core_s = 0.0  # ... after these core-seconds of the period
        self.env.observers_of(Powered).append(self._see_power)
        self.env.observers_of(Submitted).append(self._see_submission)
        self.env.observers_of(Routed).append(lambda job, _, to: self._see_submission(job, to))

    def _see_submission(self, job: Job | Workflow, to: object) -> None:
        if to is self._queue and isinstance(job, Job):
            self._submitted.append(job)

    def _count_cores(self) -> int:
        """Return how many cores are on."""
        cluster = self._queue.cluster
        return sum(each.cores for each in cluster.machines if each.is_on) if cluster.machines else cluster.cores

    def _see_power(self, machine: Machine) -> None:
        if machine.cluster is self._queue.cluster:
            self._core_s += self._cores_on * (self.env.now - self._powered_s)
            self._powered_s, self._cores_on = float(self.env.now), self._count_cores()

    def _mean_cores(self, begin_s: float, end_s: float) -> int:
        """Return how many cores were on in a period that ends now, on average; the next one begins."""
        since_s = max(begin_s, self._first_s)
        mean = self._cores_on
        if self._powered_s > since_s:
            mean = round((self._core_s + self._cores_on * (end_s - self._powered_s)) / (end_s - since_s))
        self._powered_s, self._core_s = end_s, 0.0
        return mean

    def _submitted_until(self, end_s: float) -> list[Job]:
        """Return what was submitted before an instant; it is kept here no longer."""
        submitted, self._submitted[:] = parted(self._submitted, lambda job: job.submit_s < end_s)
        return submitted

    def _forget(self, begin_s: float) -> None:
        """Forget what happened before the first period."""
        super()._forget(begin_s)
        if self.strategy.simulates:
            self._submitted_until(begin_s)
            self._mean_cores(begin_s, begin_s)

    def _simulated(self, begin_s: float, end_s: float, started: Sequence[Attempt]) -> Floats | None:
        """Return the waits in a period under each order; None if the strategy does not simulate."""
        if not self.strategy.simulates:
            return None
        jobs = self._workload(self._submitted_until(end_s))
        if getattr(self.strategy, "preload", False):
            begun = [attempt.submitted for attempt in sorted(started, key=lambda attempt: attempt.slot)]
            jobs = _preloaded(self._workload(self._queue.queued), self._workload(begun), begin_s)
        cores = max(self._mean_cores(begin_s, end_s), *jobs.cores.tolist(), 1)
        return _simulated(jobs, self.strategy, cores, self._queue.options)

    def _workload(self, jobs: Sequence[Job]) -> Workload:
        """Return what simulations know of jobs, in order, which take as long as on the slowest machine."""
        # `Workload.of` would take an empty list for one of workflows.
        columns: dict[str, Any] = {name: np.array([getattr(job, name) for job in jobs]) for name in _SIMULATED}
        lengths = {name: columns[name] / self._queue.cluster.speed for name in ("runtime_s", "estimate_s")}
        return Workload(**{**columns, **lengths})


# -- the compiled engine -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of a replay under a strategy.

    Parameters
    ----------
    schedule
        The schedule.
    tuning_run
        What was chosen, and what the strategy remembers.
    period_s, from_s
        The periods.
    """

    schedule: Schedule
    tuning_run: TuningRun
    period_s: float
    from_s: float


def replay_tuned(
    workload: WorkloadLike,
    strategy: Strategy,
    *,
    cores: int,
    options: QueueOptions,
    period_s: Duration = DAY,
    from_s: Duration = 0.0,
    seed: int = 0,
    name: str = "",
    feedback: Feedback | None = None,
) -> Tuned:
    """Return the schedule of a workload whose order a strategy chooses, period by period; by the compiled engine.

    A `Tuner` beside a `QueueScheduler` gives the same schedule, to the last bit.

    Parameters
    ----------
    workload
        The jobs; each that is known must be able to run on `cores` cores.
    strategy, period_s, from_s, name
        See `Tuner`.
    cores, options, seed
        As for `simmodels.replay.run.Replay`; the options' order is that before the first period.
    feedback
        Of this workload, machine, options, orders and periods, to be shared by strategies; None for one of its own.

    Returns
    -------
    Tuned
        The schedule, and what the strategy chose in each period.

    Raises
    ------
    RequestError
        The period is no number of seconds > 0, another argument is not what it must be, the strategy simulates and the
        queue has limits or an order names users or columns, or an order gave no number for a job.
    ImpossibleJobError
        A job can never run on so few cores.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> from simmodels.policies.queue_options import QueueOptions
    >>> log = wl.lublin(jobs=200, cores=64, load=0.9, seed=1)
    >>> strategy = sm.FullFeedback(choices=("FCFS", "SAF"))
    >>> tuned = sm.replay_tuned(log, strategy, cores=64, options=QueueOptions.checked())
    >>> len(tuned.schedule.validate().jobs)
    200
    """
    as_instance("strategy", strategy, Strategy)
    as_instance("options", options, QueueOptions)
    jobs = Workload.of(workload)
    cores = as_integer("cores", cores, 1)
    jobs.require_runnable(cores)
    period_s, from_s, seed = as_period(period_s), as_seconds("from_s", from_s), as_seed(seed)
    replay = Replay(jobs, cores=cores, options=options, seed=seed)
    tuning_run = TuningRun(strategy, seed=seed, name=name)
    submit_s = replay.submit_s
    slots = len(submit_s)
    if strategy.simulates:
        _require_simulable(strategy, options)
    if not strategy.simulates or getattr(strategy, "preload", False):
        feedback = None
    elif feedback is None:
        feedback = Feedback(
            _jobs_at(replay, np.arange(slots)), cores=cores, options=options, orders=tuple(strategy.choices)
        )
    # The clock begins at the trace's zero, or with what comes before it: periods that are over then are not reported.
    passed = max(0, math.floor((float(submit_s.min(initial=0.0)) - from_s) / period_s))
    replay.run(from_s + passed * period_s)
    arrived = int(np.searchsorted(submit_s, from_s + passed * period_s))
    if feedback is not None:
        feedback.waits_s(0, arrived)
    not_ended = np.flatnonzero(~(replay.end_s[:arrived] < from_s + passed * period_s))
    not_started = not_ended[np.isnan(replay.start_s[not_ended])]
    while True:
        begin_s = from_s + passed * period_s
        passed += 1
        end_s = from_s + passed * period_s
        replay.set_order(tuning_run.choose(), replay.options.backfill_order, now_s=begin_s)
        replay.run(end_s)
        first, arrived = arrived, int(np.searchsorted(submit_s, end_s))
        come = np.arange(first, arrived)
        not_ended, not_started = np.concatenate((not_ended, come)), np.concatenate((not_started, come))
        ended = not_ended[replay.end_s[not_ended] < end_s]
        started = not_started[replay.start_s[not_started] < end_s]
        not_ended = not_ended[~(replay.end_s[not_ended] < end_s)]
        not_started = not_started[~(replay.start_s[not_started] < end_s)]
        if arrived == slots and not len(not_ended):
            schedule = replay.schedule()
            tuned = [tuning_run.about(period_s=period_s, cost="mean_wait_s")]
            return Tuned(replace(schedule, about={**schedule.about, "tuned": tuned}), tuning_run, period_s, from_s)
        counted = started if getattr(strategy, "counts", "finished") == "started" else ended
        simulated_s = None
        if feedback is not None:
            simulated_s = feedback.waits_s(first, arrived)
        elif strategy.simulates:
            waiting = _jobs_at(replay, replay.waiting_slots())
            preloaded = _preloaded(waiting, _jobs_at(replay, np.sort(started)), begin_s)
            simulated_s = _simulated(preloaded, strategy, cores, replay.options)
        tuning_run.learn(math.fsum(replay.start_s[counted] - submit_s[counted]), len(counted), simulated_s)


def _jobs_at(replay: Replay, slots: Ints) -> Workload:
    """Return what simulations know of the jobs of some slots."""
    jobs = replay.jobs_at(slots)
    columns: dict[str, Any] = {name: getattr(jobs, name) for name in _SIMULATED}
    return Workload(**columns)
