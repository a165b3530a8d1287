"""Forecasting: when a job will start, from the state of a queue and futures that are drawn from what users did."""

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from experiments.answering import DONE, print_json, remark, say
from experiments.inputs import WorkloadFile, count_of, remarks, seconds, span, without_limit
from simmodels.errors import RequestError
from simmodels.ground.numbers import Floats
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.run import Replay, Snapshot
from simmodels.streams import stream
from simmodels.units import HOUR
from simmodels.workload import Workload
from workloads.futures import Past

_LEVELS: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_FUTURES: Final = 100_000
_PART: Final = 50
"""How many futures are drawn from one stream, by one worker."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a job may start.

    Parameters
    ----------
    at_s
        The instant of the forecast, in seconds.
    starts_s
        float64[futures], when it starts in each.
    """

    at_s: float
    starts_s: Floats

    def waits_s(self, *levels: float) -> Floats:
        """Return float64[levels], from the instant on: the wait that this part of the futures does not exceed."""
        found: Floats = np.quantile(self.starts_s - self.at_s, levels)
        return found


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
                f"a forecast under {options.order.name}", "an order that does not name the runtime is needed"
            )
        log = with_limits(log)
        # Futures have of the log's columns what the orders read: each is copied for each future.
        log = replace(log, extras={name: column for name, column in log.extras.items() if name in named})
        self.log = log
        self.seed = seed
        self._at_s = -np.inf
        self._replay = Replay(log, cores=cores, options=options, seed=seed)

    def go_to(self, at_s: float) -> "Present":
        """Return the state at an instant: all events up to it have happened.

        Raises
        ------
        RequestError
            The instant is before the last one that was gone to.
        """
        if at_s < self._at_s:
            raise RequestError(f"{at_s:g} s after {self._at_s:g} s", "instants that rise are needed")
        self._at_s = at_s
        self._replay.run(float(np.nextafter(at_s, np.inf)))
        schedule = self._replay.schedule()
        return Present(at_s, self._replay.snapshot(), Past(self.log, schedule.end_s, at_s), self.seed)


def with_limits(log: Workload) -> Workload:
    """Return a log in which jobs without a limit have the longest one of the log.

    What reads logs takes their runtimes for it, which nobody knows while they run.
    """
    without = without_limit(log)
    if not without.any():
        return log
    longest_s = np.max(log.estimate_s[~without], initial=0.0) or np.max(log.runtime_s, initial=0.0)
    return replace(log, estimate_s=np.where(without, longest_s, log.estimate_s))


@dataclass(frozen=True, slots=True)
class Present:
    """The state of a queue at an instant, and what is known there."""

    at_s: float
    snapshot: Snapshot
    past: Past
    seed: int

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
            raise RequestError(f"the log has no job {job}", "the number of a job of the log is needed")
        if not self.past.log.known()[known[0]]:
            raise RequestError(f"cores or runtime of job {job} are unknown: it is left out", "another is needed")
        before = self.past.log.submit_s[known[0]] <= self.at_s
        what = "has ended before" if before else f"is submitted at {self.past.log.submit_s[known[0]]:g} s, after"
        raise RequestError(f"job {job} {what} {self.at_s:g} s", "a job that waits then is needed")

    def forecast(self, job: int, *, futures: int = 1000, workers: int = 1) -> Forecast:
        """Return when a job that waits may start.

        Parameters
        ----------
        job
            Its number.
        futures
            How many are drawn.
        workers
            How many processes share the work, where processes can be forked. The forecast is the same.

        Raises
        ------
        RequestError
            It does not wait.
        """
        place = self.place_of(job)
        started_s = self.snapshot.start_s[place]
        if not np.isnan(started_s):
            raise RequestError(f"job {job} has run since {started_s:g} s", "a job that waits is needed")
        return self._drawn(lambda later: later, place, futures, workers)

    def forecast_new(
        self, cores: int, limit_s: float, *, user: int = -1, futures: int = 1000, workers: int = 1
    ) -> Forecast:
        """Return when a job may start that is submitted now.

        Parameters
        ----------
        cores, limit_s
            What it asks for. How long it runs does not matter for its start.
        user
            Whose it is, for orders that know users.
        futures, workers
            As in `forecast`.
        """
        unknown = sorted(set(self.past.log.extras) - {"user"})
        if unknown:
            raise RequestError(
                f"a new job under an order that names {unknown[0]}", "--job ID of one of the log is needed"
            )
        number, length_s = np.array([int(self.past.log.job_id.max(initial=0)) + 1]), np.array([limit_s])
        one = Workload(number, np.array([self.at_s]), length_s, length_s, np.array([cores]), user_id=np.array([user]))

        def with_it(later: Workload) -> Workload:
            return Workload.concat([one, later])

        return self._drawn(with_it, len(self.snapshot.jobs), futures, workers)

    def by_limits(self, job: int) -> float:
        """Return when a job starts if all run for as long as their limits, and no further job comes."""
        jobs = self.snapshot.jobs
        ran_s = self._ran_s()
        fork = self.snapshot.fork(runtime_s=np.maximum(jobs.estimate_s, ran_s), later=self.snapshot.later.head(0))
        fork.run()
        return float(fork.start_s[self.place_of(job)])

    def _ran_s(self) -> Floats:
        """Return float64[jobs], for how long each has run."""
        start_s = self.snapshot.start_s
        return np.where(np.isnan(start_s), 0.0, self.snapshot.at_s - start_s)

    def _drawn(self, coming: Callable[[Workload], Workload], slot: int, futures: int, workers: int) -> Forecast:
        """Return when the job of a slot starts in futures.

        They are drawn part by part, each part from a stream of its own, so that the number of workers changes nothing.
        """
        parts = [(number, min(_PART, futures - first)) for number, first in enumerate(range(0, futures, _PART))]

        def starts_s(part: tuple[int, int]) -> Floats:
            return self._starts_s(coming, slot, *part)

        if workers > 1 and len(parts) > 1 and "fork" in multiprocessing.get_all_start_methods():
            with _forked(starts_s, min(workers, len(parts))) as pool:
                found = pool.map(_in_worker, parts)
        else:
            found = [starts_s(part) for part in parts]
        return Forecast(self.at_s, np.concatenate(found))

    def _starts_s(self, coming: Callable[[Workload], Workload], slot: int, part: int, futures: int) -> Floats:
        """Return when the job of a slot starts in the futures of a part."""
        draws = stream(self.seed, "forecast", part)
        jobs = self.snapshot.jobs
        runtimes_s = self.past.runtimes_s(jobs, self._ran_s(), futures=futures, draws=draws)
        found = np.empty(futures)
        for k in range(futures):
            later = coming(self.past.arrivals(jobs, runtimes_s[k], draws=draws))
            later = replace(later, submit_s=np.maximum(later.submit_s, self.snapshot.at_s))
            fork = self.snapshot.fork(runtime_s=runtimes_s[k], later=later, index=part * _PART + k)
            fork.run(watched=slot)
            found[k] = fork.start_s[slot]
        return found


_Part = Callable[[tuple[int, int]], Floats]


def _forked(work: _Part, workers: int) -> Any:  # noqa: ANN401  a pool
    """Return a pool of workers that do this: forked, they have the state of the queue, which could not be sent."""
    with warnings.catch_warnings():
        # Later versions of Python warn of a fork beside threads, such as numpy's, which wait here.
        warnings.simplefilter("ignore", DeprecationWarning)
        return multiprocessing.get_context("fork").Pool(workers, _begin, (work,))


def _begin(work: _Part) -> None:
    """Begin a worker. Ctrl-C is left to the process that forked it, which ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _in_worker.work = work  # type: ignore[attr-defined]


def _in_worker(part: tuple[int, int]) -> Floats:
    """Do a part of the work, in a worker."""
    found: Floats = _in_worker.work(part)  # type: ignore[attr-defined]
    return found


# -- the command ------------------------------------------------------------------------------------


def forecast(
    file: WorkloadFile,
    *,
    at: str,
    job: int | None,
    new: str | None,
    user: int | None,
    futures: int,
    options: Mapping[str, Any],
    seed: int,
    command: Sequence[str],
    json: bool,
) -> int:
    """Say when a job will start; return the exit status."""
    if (job is None) == (new is None):
        both = "neither --job nor --new" if job is None else "--job with --new"
        raise RequestError(both, "one of --job ID and --new CORES,LIMIT is needed")
    if user is not None and new is None:
        raise RequestError("--user with --job", "it is whose the job of --new is")
    if not 1 <= futures <= _MOST_FUTURES:
        raise RequestError(f"{futures:,} futures", f"a number from 1 to {_MOST_FUTURES:,} is needed")
    log = file.read()
    for line in remarks(log.counts):
        remark(line)
    log = log.take(np.argsort(log.submit_s, kind="stable"))
    at_s = _instant(at, log)
    cores = log.max_cores or 1
    chosen = QueueOptions.checked(**options)
    if user is not None and not any("user" in order.needs for order in chosen.both):
        raise RequestError(f"--user under {chosen.order.name}", "it is for orders that name the user")
    present = Futures(log, cores=cores, options=chosen, seed=seed).go_to(at_s)
    workers = os.cpu_count() or 1
    answer: dict[str, object]
    if job is not None:
        place = present.place_of(job)
        one = _Asked(
            f"job {job}", int(present.snapshot.jobs.cores[place]), float(present.snapshot.jobs.estimate_s[place])
        )
        found = present.forecast(job, futures=futures, workers=workers)
        by_limits_h = (present.by_limits(job) - at_s) / HOUR
        compared = f"If all ran as long as their limits, and no further job came: in {span(by_limits_h)}."
        answer = {"by_limits_h": by_limits_h}
    else:
        one = _new(str(new), cores)
        whose = -1 if user is None else user
        found, shorter = (
            present.forecast_new(one.cores, limit_s, user=whose, futures=futures, workers=workers)
            for limit_s in (one.limit_s, one.limit_s / 2)
        )
        earlier_h = float(np.median(found.starts_s - shorter.starts_s)) / HOUR
        way = "earlier" if earlier_h > 0 else "later"
        sooner = f"{span(abs(earlier_h))} {way}" if earlier_h else "no earlier"
        compared = f"With a limit of {span(one.limit_s / 2 / HOUR)} it would start {sooner} (median)."
        answer = {"earlier_with_half_the_limit_h": earlier_h}
    waits_h = {level: wait_s / HOUR for level, wait_s in zip(_LEVELS, found.waits_s(*_LEVELS), strict=True)}
    said = [_state(present, cores, str(chosen.about()["order"])), _when(one, waits_h, futures), compared]
    if not present.past.weeks:
        said.append("No further jobs come in these futures: less than a week of the log has passed.")
    if json:
        about = {
            **chosen.about(),
            "counts": dict(log.counts),
            "workload": log.name,
            "command": list(command),
            "at_s": at_s,
            "job": job,
            "cores": one.cores,
        }
        waits = {f"{100 * level:g} %": wait_h for level, wait_h in waits_h.items()}
        print_json(
            {**about, "limit_h": one.limit_s / HOUR, "futures": futures, "seed": seed, "waits_h": waits, **answer}
            | {"findings": said}
        )
    else:
        for sentence in said:
            say(sentence)
    return DONE


@dataclass(frozen=True, slots=True)
class _Asked:
    """The job that is asked about."""

    name: str
    cores: int
    limit_s: float


def _state(present: Present, cores: int, order: str) -> str:
    """Say what waits and what runs."""
    runs = ~np.isnan(present.snapshot.start_s)
    used = int(present.snapshot.jobs.cores[runs].sum())
    return (
        f"At {span(present.at_s / HOUR)} of {present.past.log.name}, under {order}: {count_of(int(runs.sum()), 'job')} "
        f"on {used:,} of {cores:,} cores, and {count_of(int((~runs).sum()), 'job')} waiting."
    )


def _when(one: _Asked, waits_h: Mapping[float, float], futures: int) -> str:
    """Say when the job starts."""
    least, low, middle, high, most = (span(waits_h[level]) for level in _LEVELS)
    asks = f"{count_of(one.cores, 'core')} with a limit of {span(one.limit_s / HOUR)}"
    return (
        f"{one.name.capitalize()}, of {asks}, starts in {middle}: the median of {count_of(futures, 'future')}. In half "
        f"of them it starts in {low} to {high}, in 90 of 100 in {least} to {most}."
    )


def _instant(text: str, log: Workload) -> float:
    """Return an instant, in seconds since the log's zero: a duration, or a date if the log says when it began.

    Raises
    ------
    RequestError
        It is neither, or not within the log.
    """
    try:
        date = datetime.fromisoformat(text) if "-" in text else None
    except ValueError:
        date = None
    if date is None:
        at_s = seconds(text, "--at")
    else:
        if log.start_unix_s is None:
            raise RequestError(f"--at {text}: {log.name} does not say when it began", "a time since its zero is needed")
        at_s = date.replace(tzinfo=date.tzinfo or UTC).timestamp() - log.start_unix_s
    first_s, last_s = float(log.submit_s.min()), float(log.submit_s.max())
    if not first_s <= at_s <= last_s:
        raise RequestError(
            f"--at {text} is at {at_s:g} s of {log.name}", f"its jobs come from {first_s:g} to {last_s:g} s"
        )
    return at_s


def _new(text: str, cores: int) -> _Asked:
    """Return a new job, from ``16,4h``.

    Raises
    ------
    RequestError
        The text is no such job, or it is wider than the machine.
    """
    width, comma, limit = text.partition(",")
    if not comma or not width.strip().isdecimal() or not 1 <= int(width) <= cores:
        raise RequestError(f"--new {text!r}", f"CORES,LIMIT is needed, as in 16,4h, with 1 to {cores:,} cores")
    limit_s = seconds(limit, "the limit of --new")
    if limit_s <= 0:
        raise RequestError(f"--new {text!r}", "a limit of more than 0 s is needed")
    return _Asked("a new job", int(width), limit_s)
