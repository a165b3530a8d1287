"""Tuning: a strategy of selection applied to a queue, period by period, on either clock.

`Tuner` is a process beside a `QueueScheduler`; `replay_tuned` does the same on the compiled clock, and gives the same
schedule to the last bit.

References
----------
See `simmodels.decisions.selection`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simmodels.decisions.options import QueueOptions
from simmodels.decisions.selection import UNIFORMS, FullFeedback, Memory, Period, Strategy
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.environment import Environment, Process
from simmodels.entities.events import Ended, Powered, Routed, Started, Submitted
from simmodels.entities.scheduler import QueueScheduler
from simmodels.entities.source import Source
from simmodels.errors import RequestError
from simmodels.replay.run import Replay
from simmodels.schedule import Schedule
from simmodels.streams import stream
from simmodels.units import DAY
from simmodels.workload import Job, Workload

Floats = NDArray[np.float64]
Columns = tuple[Floats, Floats, Floats, NDArray[np.int64]]
_Item = TypeVar("_Item")
_NAME = "tuner"


class Feedback:
    """What each order would have cost, had the jobs of each period been run under it alone on an empty machine.

    Parameters
    ----------
    jobs
        The jobs, of all periods, in order of arrival.
    cores, options
        The machine, and how its queue is scheduled, but for the order.
    orders
        The orders.
    """

    def __init__(self, jobs: Workload, *, cores: int, options: QueueOptions, orders: tuple[str, ...]) -> None:
        second = options.backfill_order
        self._replays = [Replay(jobs, cores=cores, options=options.with_order(name, second)) for name in orders]
        self._arrived = 0

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
            self._arrived = stop
            for replay in self._replays:
                replay.run(slots=stop)
        return np.array([replay.start_s[first:stop] - replay.submit_s[first:stop] for replay in self._replays])


class Course:
    """A strategy on its way through the periods: what both clocks share.

    Parameters
    ----------
    strategy
        The strategy.
    seed, name
        The seed of what is drawn, and what tells this course from others of the same seed.

    Attributes
    ----------
    used
        The orders chosen so far, by their places among the strategy's, a period each.
    """

    def __init__(self, strategy: Strategy, *, seed: int, name: str) -> None:
        self.strategy = strategy
        self.seed = seed
        self.name = name
        self.memory: Memory = strategy.begin()
        self.used: list[int] = []

    def choose(self) -> str:
        """Return the order of the next period."""
        uniforms = stream(self.seed, _NAME, self.name, "choice", len(self.used)).random(UNIFORMS)
        self.used.append(self.strategy.choose(self.memory, uniforms))
        return self.strategy.orders[self.used[-1]]

    def learn(self, waits_s: NDArray[np.float64], simulated_s: Floats | None) -> None:
        """Take in what the period showed.

        Parameters
        ----------
        waits_s
            float64[jobs], the waits of the jobs that count.
        simulated_s
            float64[orders, jobs], simulated waits; None if none were.
        """
        costs = None
        if simulated_s is not None:
            costs = np.array([math.fsum(row) for row in self._noisy(simulated_s)])
        period = Period(self.used[-1], math.fsum(waits_s), len(waits_s), costs)
        self.memory = self.strategy.observe(self.memory, period)

    def _noisy(self, waits_s: Floats) -> Floats:
        """Return simulated waits as the strategy gets to see them."""
        strategy = self.strategy
        if not (isinstance(strategy, FullFeedback) and strategy.noise):
            return waits_s
        orders, jobs = waits_s.shape
        shape = (orders, jobs if strategy.noise_of == "job" else 1)
        draws = stream(self.seed, _NAME, self.name, "noise", len(self.used))
        return waits_s * draws.uniform(1.0 - strategy.noise, 1.0 + strategy.noise, shape)


def _require_period(period_s: float) -> None:
    if not 0.0 < period_s < math.inf:
        raise RequestError(f"period_s is {period_s!r}", "a finite number of seconds > 0 is allowed")


def _workload(columns: Columns) -> Workload:
    """Return jobs as a workload: the order of arrival is that of the columns."""
    submit_s, runtime_s, estimate_s, cores = columns
    return Workload(np.arange(len(submit_s)), submit_s, runtime_s, estimate_s, cores)


def _preloaded(waiting: Columns, started: Columns, begin_s: float) -> Columns:
    """Return the jobs of a simulation that begins with a queue: what waits, then what started."""
    submit_s, runtime_s, estimate_s, cores = (np.concatenate(pair) for pair in zip(waiting, started, strict=True))
    submit_s[: len(waiting[0])] = begin_s
    submit_s = np.maximum(submit_s, begin_s)
    order = np.argsort(submit_s, kind="stable")
    return submit_s[order], runtime_s[order], estimate_s[order], cores[order]


def _simulated(jobs: Columns, strategy: Strategy, cores: int, options: QueueOptions) -> Floats:
    """Return float64[orders, jobs], the waits of jobs on an empty machine under each order of a strategy."""
    orders = tuple(strategy.orders)
    return Feedback(_workload(jobs), cores=cores, options=options, orders=orders).waits_s(0, len(jobs[0]))


# -- the process clock ------------------------------------------------------------------------------


class Tuner:
    """A process that chooses the order of a scheduler, period by period.

    At the beginning of each period it tells its strategy what the period before cost, and sets the order; decisions
    of that instant follow the new one. It ends when nothing else is left to happen. A strategy that simulates does so
    on as many cores as were on in the period, on average, and at least as many as its widest job needs.

    Parameters
    ----------
    env, scheduler
        The environment, and the scheduler whose order is set. Its backfill order stays as it is.
    strategy
        Which order is chosen: see `simmodels.decisions.selection`.
    period_s
        How long an order is kept, in seconds.
    from_s
        When the first period begins; the others follow without a gap. By default the trace's zero.
    name
        Tells what is drawn here from what a tuner of another name draws in another environment.

    Attributes
    ----------
    course
        What was chosen so far, and what the strategy remembers.

    Raises
    ------
    RequestError
        The period is no number of seconds > 0, or orders are not allowed for the scheduler's backfilling.
    """

    def __init__(
        self,
        env: Environment,
        scheduler: QueueScheduler,
        strategy: Strategy,
        *,
        period_s: float = DAY,
        from_s: float = 0.0,
        name: str = "",
    ) -> None:
        _require_period(period_s)
        self.env = env
        self.scheduler = scheduler
        self.strategy = strategy
        self.period_s = period_s
        self.from_s = from_s
        self.course = Course(strategy, seed=env.seed_of(f"tuner {name}"), name=name)
        self._submitted: list[Job] = []
        self._started: list[Attempt] = []
        self._ended: list[Attempt] = []
        self._first_s = self._powered_s = float(env.now)  # since when ...
        self._cores_on = self._count_cores()  # ... so many cores have been on, ...
        self._core_s = 0.0  # ... after these core-seconds of the period
        if strategy.simulates:
            env.on(Powered, self._see_power)
            env.on(Submitted, self._see_submission)
            env.on(Routed, self._see_submission)
        env.on(Started, self._see_start)
        env.on(Ended, self._see_end)
        env.enter(self)
        self.process = env.process(self._run())

    def _see_submission(self, event: Submitted | Routed) -> None:
        if event.to is self.scheduler and isinstance(event.job, Job):
            self._submitted.append(event.job)

    def _count_cores(self) -> int:
        """Return how many cores are on."""
        cluster = self.scheduler.cluster
        return sum(each.cores for each in cluster.machines if each.is_on) if cluster.machines else cluster.cores

    def _see_power(self, event: Powered) -> None:
        if event.machine.cluster is self.scheduler.cluster:
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

    def _see_start(self, event: Started) -> None:
        attempt = event.attempt
        if attempt.cluster is self.scheduler.cluster:
            self._started.append(attempt)

    def _see_end(self, event: Ended) -> None:
        attempt = event.attempt
        if attempt.cluster is self.scheduler.cluster and attempt.outcome is not Outcome.LOST:
            self._ended.append(attempt)

    def _run(self) -> Process:
        env = self.env
        passed = max(0, math.floor((env.now - self.from_s) / self.period_s))
        while True:
            begin_s = self.from_s + passed * self.period_s
            passed += 1
            end_s = self.from_s + passed * self.period_s
            if begin_s > env.now:
                yield env.at(begin_s)
                self._learned_until(begin_s)
                self._mean_cores(begin_s, begin_s)
            self.scheduler.set_order(self.course.choose(), self.scheduler.backfill_order)
            yield env.at(end_s)
            if self._over():
                return
            self._learn(begin_s, end_s)

    def _over(self) -> bool:
        """Return whether nothing else is left to happen."""
        sources = self.env.all(Source)
        fed = bool(sources) and not any(source.process.is_alive for source in sources)
        # What ends just now belongs to the period that begins now, whether it is known already or not.
        if any(_end_s(attempt) >= self.env.now for attempt in self._ended):
            return False
        return (fed and not self.scheduler.jobs_not_done) or self.env.peek() == math.inf

    def _learned_until(self, end_s: float) -> tuple[list[Job], list[Attempt], list[Attempt]]:
        """Return what was submitted, has started, and has ended before an instant; it is kept here no longer."""
        submitted, self._submitted[:] = _parted(self._submitted, lambda job: job.submit_s < end_s)
        started, self._started = _parted(self._started, lambda attempt: attempt.start_s < end_s)
        ended, self._ended = _parted(self._ended, lambda attempt: _end_s(attempt) < end_s)
        return submitted, started, ended

    def _learn(self, begin_s: float, end_s: float) -> None:
        """Tell the course what a period showed."""
        submitted, started, ended = self._learned_until(end_s)
        counted = started if getattr(self.strategy, "counts", "finished") == "started" else ended
        waits_s = np.array([attempt.start_s - attempt.submitted.submit_s for attempt in counted])
        simulated_s = None
        if self.strategy.simulates:
            jobs = _columns(submitted)
            if getattr(self.strategy, "preload", False):
                begun = [attempt.submitted for attempt in sorted(started, key=lambda attempt: attempt.slot)]
                jobs = _preloaded(_columns(self.scheduler.queued), _columns(begun), begin_s)
            cores = max(self._mean_cores(begin_s, end_s), *jobs[-1].tolist(), 1)
            simulated_s = _simulated(jobs, self.strategy, cores, self.scheduler.options)
        self.course.learn(waits_s, simulated_s)


def _end_s(attempt: Attempt) -> float:
    """Return when an attempt ended, which it has."""
    return math.inf if attempt.end_s is None else attempt.end_s


def _parted(of: list[_Item], first: Callable[[_Item], bool]) -> tuple[list[_Item], list[_Item]]:
    """Return what is of the first kind, and what is not, each in the order given."""
    return [one for one in of if first(one)], [one for one in of if not first(one)]


def _columns(jobs: Sequence[Job]) -> Columns:
    """Return the columns of jobs."""
    rows = [(job.submit_s, job.runtime_s, job.estimate_s, job.cores) for job in jobs]
    submit_s, runtime_s, estimate_s, cores = zip(*rows, strict=True) if rows else ((), (), (), ())
    return (
        np.array(submit_s, np.float64),
        np.array(runtime_s, np.float64),
        np.array(estimate_s, np.float64),
        np.array(cores, np.int64),
    )


# -- the compiled clock -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of a replay under a strategy.

    Parameters
    ----------
    schedule
        The schedule.
    course
        What was chosen, and what the strategy remembers.
    period_s, from_s
        The periods.
    """

    schedule: Schedule
    course: Course
    period_s: float
    from_s: float


def replay_tuned(
    workload: Workload,
    strategy: Strategy,
    *,
    cores: int,
    options: QueueOptions,
    period_s: float = DAY,
    from_s: float = 0.0,
    seed: int = 0,
    name: str = "",
    feedback: Feedback | None = None,
) -> Tuned:
    """Return the schedule of a workload whose order a strategy chooses, period by period; by the compiled clock.

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

    Raises
    ------
    RequestError
        The period is no number of seconds > 0, or an order gave no number for a job.
    """
    _require_period(period_s)
    replay = Replay(workload, cores=cores, options=options, seed=seed)
    course = Course(strategy, seed=seed, name=name)
    submit_s = replay.submit_s
    slots = len(submit_s)
    if not strategy.simulates or getattr(strategy, "preload", False):
        feedback = None
    elif feedback is None:
        feedback = Feedback(_workload(replay.columns), cores=cores, options=options, orders=tuple(strategy.orders))
    # The clock begins at the trace's zero, as in `simmodels.simulate`: periods that are over by then are not told of.
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
        replay.set_order(course.choose(), replay.options.backfill_order, now_s=begin_s)
        replay.run(end_s)
        first, arrived = arrived, int(np.searchsorted(submit_s, end_s))
        come = np.arange(first, arrived)
        not_ended, not_started = np.concatenate((not_ended, come)), np.concatenate((not_started, come))
        ended = not_ended[replay.end_s[not_ended] < end_s]
        started = not_started[replay.start_s[not_started] < end_s]
        not_ended = not_ended[~(replay.end_s[not_ended] < end_s)]
        not_started = not_started[~(replay.start_s[not_started] < end_s)]
        if arrived == slots and not len(not_ended):
            return Tuned(replay.schedule(), course, period_s, from_s)
        counted = started if getattr(strategy, "counts", "finished") == "started" else ended
        simulated_s = None
        if feedback is not None:
            simulated_s = feedback.waits_s(first, arrived)
        elif strategy.simulates:
            waiting = _taken(replay.columns, replay.waiting_slots())
            jobs = _preloaded(waiting, _taken(replay.columns, np.sort(started)), begin_s)
            simulated_s = _simulated(jobs, strategy, cores, replay.options)
        course.learn(replay.start_s[counted] - submit_s[counted], simulated_s)


def _taken(columns: Columns, slots: NDArray[np.int64]) -> Columns:
    """Return the columns of some slots."""
    submit_s, runtime_s, estimate_s, cores = columns
    return submit_s[slots], runtime_s[slots], estimate_s[slots], cores[slots]
