"""Forecasting: when a job will start, from the state of a queue and futures that are drawn from what users did."""

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from experiments.campaigns.execution.backends import Processes
from experiments.campaigns.execution.workers import WorkerDiedError
from experiments.dates import instant_of
from experiments.levels import Forecast, PastForecasts
from simmodels import WEEK, RequestError, StoppedError, Workload
from simmodels.errors import must_be
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.streams import stream
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.run import Replay
from simmodels.replay.snapshot import Snapshot
from simmodels.work.vocabulary import OF_USERS
from workloads.futures import Past

OF_PAST: Final = 60
"""How many futures are drawn for each forecast of the past."""
_PART: Final = 50
"""How many futures are drawn from one stream, or forecasts of the past made, by one worker."""
_ALONE_S: Final = 3.0
"""Workers share what is left after this time: to start one takes about as long."""
_Found = TypeVar("_Found")


class Futures:
    """The state of a queue at an instant, and futures that go on from it.

    Parameters
    ----------
    log
        The jobs, in order of submission.
    cores, options
        The machine, and how its queue is scheduled.
    seed
        The seed of all that is drawn.

    Raises
    ------
    RequestError
        An order names the runtime, which is known when a job has ended.
    """

    def __init__(self, log: Workload, *, cores: int, options: QueueOptions, seed: int = 0) -> None:
        named = {name for order in options.both for name in order.needs}
        if "runtime" in named:
            raise RequestError(
                f"{options.order.name} names the runtime, which no forecast knows", "choose another order"
            )
        self._again = partial(Futures, log, cores=cores, options=options, seed=seed)
        log, options = with_limits(log), options.for_jobs(log)
        named |= set(options.counted_by)
        if not OF_USERS.isdisjoint(named):
            named.add("user")
        # Futures have of the log's columns what orders and limits read: each is copied for each future.
        log = replace(log, extras={name: column for name, column in log.extras.items() if name in named})
        self.log = log
        self.seed = seed
        self._columns = frozenset(named & {"user", *log.extras})
        self._at_s = -np.inf
        self._present: Present | None = None
        self._replay = Replay(log, cores=cores, options=options, seed=seed)

    def go_to(self, at_s: float) -> "Present":
        """Return the state at an instant: all events up to it have happened.

        Raises
        ------
        RequestError
            The instant is before the last one that was gone to.
        """
        if at_s < self._at_s:
            raise RequestError(must_be("at_s", f"at least {self._at_s:g}, the last instant,", at_s))
        if at_s == self._at_s and self._present is not None:
            return self._present
        self._at_s = at_s
        replay = self._replay
        replay.run(at_s)
        before, slots = replay.snapshot(), np.concatenate((replay.present(), replay.coming()))
        replay.run(float(np.nextafter(at_s, np.inf)))
        goes_on = np.isin(slots, replay.present())
        schedule = replay.schedule()
        past = Past(self.log, schedule.start_s, schedule.end_s, at_s)
        self._present = Present(
            at_s, replay.snapshot(), before, goes_on, schedule.start_s, past, self.seed, self._columns, self._again
        )
        return self._present


def that_waited(log: Workload, start_s: Floats, until_s: float) -> Ints:
    """Return int64[n], where the jobs are that were submitted before an instant and did not start at once.

    Those of the first week are left out, as far as there are others: in their forecasts nobody comes.
    """
    before = (log.submit_s < until_s) & ~(start_s <= log.submit_s) & log.known()
    later: Ints = np.flatnonzero(before & (log.submit_s >= log.submit_s.min(initial=np.inf) + WEEK))
    return later if len(later) else np.flatnonzero(before)


def with_limits(log: Workload) -> Workload:
    """Return a log in which no estimate says how long its job runs: without any limits, all have the longest runtime.

    What reads such a log takes the runtimes for limits, as published comparisons do; a forecast may not know them.
    """
    if not log.unlimited().all():
        return log
    return replace(log, estimate_s=np.full(len(log), np.max(log.runtime_s, initial=0.0)))


@dataclass(frozen=True, slots=True)
class Present:
    """The state of a queue at an instant, and what is known there."""

    at_s: float
    snapshot: Snapshot[Replay]
    """Where the queue is after the decisions of the instant."""
    before: Snapshot[Replay]
    """Where it is before them: a new job takes part in them."""
    goes_on: NDArray[np.bool_]
    """Which jobs of that snapshot, then of those to come there, wait or run in the other one."""
    start_s: Floats
    """When each job of the log started; NaN if it has not."""
    past: Past
    seed: int
    columns: frozenset[str]
    """What the order and limits know of a job beside what every job has: its user, and further columns."""
    again: "partial[Futures]"
    """Makes the queue again, in a worker: its state could not be sent."""

    def place_of(self, job: int) -> int:
        """Return the place of a job among those that wait or run.

        Raises
        ------
        RequestError
            It neither waits nor runs.
        """
        found = np.flatnonzero(self.snapshot.jobs.job_id == job)
        if len(found):
            return int(found[0])
        known = np.flatnonzero(self.past.log.job_id == job)
        if not len(known):
            raise RequestError(f"the log has no job {job}", "give the number of a job of the log")
        if not self.past.log.known()[known[0]]:
            raise RequestError(f"cores or runtime of job {job} are unknown", "choose another job")
        log, submit_s = self.past.log, float(self.past.log.submit_s[known[0]])
        what = "has ended before" if submit_s <= self.at_s else f"is submitted at {instant_of(log, submit_s)}, after"
        raise RequestError(f"job {job} {what} {instant_of(log, self.at_s)}", "choose a job that waits then")

    def forecast(self, job: int, *, futures: int = 1000, workers: int = 1) -> Forecast:
        """Return when a job that waits may start.

        Parameters
        ----------
        job
            Its number.
        futures
            How many are drawn.
        workers
            How many processes share what takes longer than some seconds, unless an order is of a file of one's own,
            which cannot be sent. The forecast is the same.

        Raises
        ------
        RequestError
            It does not wait.
        StoppedError
            A worker died.
        """
        place = self.place_of(job)
        started_s = self.snapshot.start_s[place]
        if not np.isnan(started_s):
            since = instant_of(self.past.log, float(started_s))
            raise RequestError(f"job {job} has run since {since}", "choose a job that waits")
        return self._drawn(None, place, futures, workers)

    def forecast_new(
        self,
        cores: int,
        limit_s: float,
        *,
        columns: Mapping[str, float] = MappingProxyType({}),
        futures: int = 1000,
        workers: int = 1,
    ) -> Forecast:
        """Return when a job may start that is submitted now.

        Parameters
        ----------
        cores, limit_s
            What it asks for. How long it runs does not matter for its start.
        columns
            What the order or limits know of it beside that: its ``user`` (-1 if omitted), and the columns that they
            name, such as ``queue``.
        futures, workers
            As in `forecast`.

        Raises
        ------
        RequestError
            A column that is named is missing, or one that is not named is given.
        """
        further = self.columns - {"user"}
        if missing := sorted(further - set(columns)):
            raise RequestError(
                f"the order or a limit names {missing[0]}, which the new job has not", f"say its {missing[0]}"
            )
        if idle := sorted(set(columns) - self.columns):
            raise RequestError(f"the {idle[0]} of a new job has no effect: no order or limit names it", "omit it")
        number, length_s = np.array([int(self.past.log.job_id.max(initial=0)) + 1]), np.array([limit_s])
        one = Workload(
            number,
            np.array([self.at_s]),
            length_s,
            length_s,
            np.array([cores]),
            user_id=np.array([columns.get("user", -1)]),
            extras={name: np.array([columns[name]]) for name in further},
        )
        return self._drawn(one, len(self._known_before()), futures, workers)

    def by_limits(self, job: int) -> float:
        """Return when a job starts if all run for as long as their limits, and no further job comes."""
        jobs = self.snapshot.jobs
        ran_s = self._ran_s()
        fork = self.snapshot.fork(runtime_s=np.maximum(jobs.estimate_s, ran_s), later=self.snapshot.later.head(0))
        fork.run()
        return float(self._instants(fork.start_s[self.place_of(job)]))

    def _instants(self, start_s: Floats) -> Floats:
        """Return starts, of which those at once are at the instant itself: the snapshot is the next number after it."""
        return np.where(start_s == self.snapshot.at_s, self.at_s, start_s)

    def _known_before(self) -> Workload:
        """Return the jobs that waited or ran before the instant, then those of the log that are submitted at it."""
        later = self.before.later
        return Workload.concat([self.before.jobs, later.take(later.submit_s <= self.at_s)], alike=False)

    def _ran_s(self) -> Floats:
        """Return float64[jobs], for how long each has run."""
        start_s = self.snapshot.start_s
        return np.where(np.isnan(start_s), 0.0, self.snapshot.at_s - start_s)

    def past_forecasts(self, count: int, *, workers: int = 1) -> PastForecasts:
        """Return forecasts of jobs that had to wait before this instant, each as it would have been at its submission.

        Parameters
        ----------
        count
            How many, drawn by chance; fewer if fewer had to wait.
        workers
            As in `forecast`.
        """
        waited = that_waited(self.past.log, self.start_s, self.at_s)
        rows = np.sort(stream(self.seed, "forecast", "past").choice(waited, min(count, len(waited)), replace=False))
        parts = [(rows[first : first + _PART],) for first in range(0, len(rows), _PART)]
        found = PastForecasts()
        made = chain.from_iterable(self._each(Present.forecasts_of, parts, workers))
        for forecast, start_s in zip(made, self.start_s[rows].tolist(), strict=True):
            found.add(forecast, np.inf if np.isnan(start_s) else start_s)
        return found

    def forecasts_of(self, rows: Ints) -> list[Forecast]:
        """Return forecasts of jobs of the past, each made when it was submitted."""
        futures, log = self.again(), self.past.log
        return [
            futures.go_to(float(log.submit_s[row])).forecast(int(log.job_id[row]), futures=OF_PAST)
            for row in rows.tolist()
        ]

    def _drawn(self, new: Workload | None, slot: int, futures: int, workers: int) -> Forecast:
        """Return when the job of a slot starts in futures, before which a new job may come.

        They are drawn part by part, each part from a stream of its own, so that the number of workers changes nothing.
        """
        parts = [
            (new, slot, number, min(_PART, futures - first)) for number, first in enumerate(range(0, futures, _PART))
        ]
        return Forecast(self.at_s, self._instants(np.concatenate(self._each(Present.starts_s, parts, workers))))

    def _each(self, method: Callable[..., _Found], parts: Sequence[tuple[Any, ...]], workers: int) -> list[_Found]:
        """Return what a method of this class gives for each part; workers share what takes longer than some seconds."""
        found: list[_Found] = []
        begun = time.monotonic()
        for place, part in enumerate(parts):
            left = parts[place:]
            if min(workers, len(left)) > 1 and time.monotonic() - begun >= _ALONE_S and self._can_be_sent():
                return found + self._shared(method, left, min(workers, len(left)))
            found.append(method(self, *part))
        return found

    def starts_s(self, new: Workload | None, slot: int, part: int, futures: int) -> Floats:
        """Return float64[futures], when the job of a slot starts in the futures of a part."""
        draws = stream(self.seed, "forecast", part)
        jobs = self.snapshot.jobs
        runtimes_s = self.past.runtimes_s(jobs, self._ran_s(), futures=futures, draws=draws)
        found = np.empty(futures)
        for k in range(futures):
            later = self.past.arrivals(jobs, runtimes_s[k], draws=draws)
            later = replace(later, submit_s=np.maximum(later.submit_s, self.snapshot.at_s))
            index = part * _PART + k
            if new is None:
                fork = self.snapshot.fork(runtime_s=runtimes_s[k], later=later, index=index)
            else:
                fork = self._fork_with(new, runtimes_s[k], later, index)
            fork.run(watched=slot)
            found[k] = fork.start_s[slot]
        return found

    def _fork_with(self, new: Workload, runtime_s: Floats, later: Workload, index: int) -> Replay:
        """Return a future in which a new job is the last one submitted at the instant."""
        known, waited = self._known_before(), len(self.before.jobs)
        runs_s = known.runtime_s.copy()  # of those that have ended at the instant
        runs_s[self.goes_on[: len(known)]] = runtime_s
        at_once = replace(known, runtime_s=runs_s).take(slice(waited, None))
        later = Workload.concat([at_once, new, later], alike=False)
        fork = self.before.fork(runtime_s=runs_s[:waited], later=later, index=index)
        if len(fork.draws):  # jobs of the log keep theirs
            own = self.before.fork().draws
            fork.set_draws(np.concatenate((own[: len(known)], fork.draws[len(known) :])))
        return fork

    def _can_be_sent(self) -> bool:
        """Return whether another process can make the options again: not if an order is of a file of one's own."""
        try:
            pickle.dumps(self.again.keywords["options"])
        except (pickle.PicklingError, AttributeError, TypeError):
            return False
        return True

    def _shared(self, method: Callable[..., _Found], parts: Sequence[tuple[Any, ...]], workers: int) -> list[_Found]:
        """Return what a method gives for each part, which workers share."""
        with Processes((self.again, self.at_s), workers) as pool:
            sent = [pool.call(_in_worker, method, part) for part in parts]
            try:
                return [each.result() for each in sent]
            except WorkerDiedError as error:
                what = f"a worker of the forecast died: {error}"
                raise StoppedError(what, "repeat it, or draw fewer futures") from error


_made: list[Present] = []
"""In a worker: the state of the queue, once it is made."""


def _in_worker(
    made_of: tuple["partial[Futures]", float], method: Callable[..., _Found], part: tuple[Any, ...]
) -> _Found:
    """Return what a method of the state of the queue gives for a part, in a worker."""
    if not _made:
        again, at_s = made_of
        _made.append(again().go_to(at_s))
    return method(_made[0], *part)
