"""Fitting: what a log shows of its queue, fitted on every second week of it and judged on the others.

The cores in service, then limits of users, queues and partitions, then priorities of queues or partitions; see `Used`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import OVER_FULL, Calibration, Held, calibrate, distance, several
from experiments.caps import MACHINE, caps_of, columns_of, week_of
from experiments.fitted import FIRST_COME, Fitted, Step, Used
from experiments.inputs import count_of
from experiments.option import FITTED
from simmodels import HOUR, MINUTE, Ahead, Limits, RequestError, Schedule, Workload
from simmodels.clusters.limits import numbers_of
from simmodels.ground.durations import as_hours
from simmodels.ground.numbers import Floats, Ints
from simmodels.policies.ahead import MOST_VALUES
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions
from simmodels.results.logged import logged_wait_s

PERCENTILES: Final = (99, 97, 95, 92, 90, 85, 80, 75, 70, 60, 50)
"""What is tried, from the loosest caps to the tightest."""
_WEIGHTS_S: Final = (HOUR, 4 * HOUR, 16 * HOUR, 64 * HOUR, 256 * HOUR)
"""How far ahead of the others a queue is tried that waits a factor of e less by the log than in the replay."""
_PRIORITIES: Final = ("queue", "partition")
"""The columns that priorities may be by."""
_TOO_LONG: Final = 5.0
"""A value that waits this many times as long as by the log has no tighter cap: there, its demand exceeds it."""
_LEAST_WEEKS: Final = 4
"""Two weeks to fit on, and two to judge on."""
_CLASSES: Final = "priorities"
_HALVES: Final = (0, 2)
"""Every fourth week, of each half of the even ones; odd weeks are held out."""


def fit(
    log: Workload, options: QueueOptions, *, sizes: bool = True, begin: Callable[[str], None] = lambda _: None
) -> Fitted:
    """Return what a log shows of its queue: cores in service, caps of own cores, and priorities.

    What brings the waits of the even weeks nearest is taken first, then what helps beside it; what brings the odd weeks
    no nearer is left out. Priorities are tried where the order is first come, first served.

    Parameters
    ----------
    log
        Jobs with waits, on a machine of `max_cores`.
    options
        How the queue is scheduled; without limits.
    sizes
        Whether fewer cores than those of the machine may be in service.
    begin
        Is called with what is tried when it begins.

    Raises
    ------
    RequestError
        The log has no waits, or is shorter than four weeks; or limits are given.
    """
    if options.limits is not None:
        raise RequestError("limits are given, and limits are to be fitted", "leave out one of them")
    if (refusal := refusal_of(log)) is not None:
        raise refusal
    wait_s, week = logged_wait_s(log), week_of(log, log.submit_s)
    replays = _Replays(log, wait_s, week, options)
    columns = list(columns_of(log))
    names = {by: numbers for by in columns if (numbers := log.names(by))}
    first_come = options.order.name == FIRST_COME
    classes = [by for by in _PRIORITIES if first_come and several(log, by) > 1 and _few(log, by)]
    ways: Mapping[str, tuple[Callable[[str, Used], Step | None], Sequence[str]]] = {
        "cores in service": (replays.best_cores, [MACHINE] if sizes else []),
        "limits": (replays.best_caps, columns),
        _CLASSES: (replays.best_priorities, classes),
    }
    left = [(what, by) for what, (_, given) in ways.items() for by in given]
    used, steps = Used(), list[Step]()
    first = replayed = used.replay(log, options)
    before = after = replays.on_odd_weeks(first)
    while True:
        tried = dict[tuple[str, str], Step]()
        for what, by in left:
            begin(f"{what} by {by}" if by else what)
            if (found := ways[what][0](by, used)) is not None:
                tried[what, by] = found
        chosen = min(tried, key=lambda each: tried[each].after, default=None)
        if chosen is None or not tried[chosen].helped:
            break
        step = tried.pop(chosen)
        trial = step.beside.replay(log, options)
        far = replays.on_odd_weeks(trial)
        if holds := far < after:
            used, replayed, after = step.beside, trial, far
        steps.append(replace(step, holds=holds))
        # An order has the priorities of one column.
        left = [each for each in left if each != chosen and not (holds and chosen[0] == each[0] == _CLASSES)]
    without, fitted = (replays.calibration(each) for each in (first, replayed))
    return Fitted((*steps, *tried.values()), used, without, fitted, before, after, names)


def refusal_of(log: Workload) -> RequestError | None:
    """Return why no limits can be fitted to a log: it has no waits, or is shorter than four weeks; None if they can."""
    wait_s = logged_wait_s(log)
    if np.isnan(wait_s).all():
        return RequestError(f"{log.name!r} does not say when its jobs started", "limits are fitted to a log with waits")
    week = week_of(log, log.submit_s)
    if all((~np.isnan(wait_s[week % _LEAST_WEEKS == number])).any() for number in range(_LEAST_WEEKS)):
        return None
    remedy = "limits are fitted on every second week and judged on the others: give a longer log"
    return RequestError(f"{log.name!r} has no waits of {_LEAST_WEEKS} weeks", remedy)


def with_fitted(
    options: Mapping[str, Any],
    log: Workload,
    note: Callable[[str], None],
    *,
    until_s: float = np.inf,
    sizes: bool = True,
) -> tuple[Mapping[str, Any], Used]:
    """Return options of a queue in which limits to be fitted are those that a log shows, and what else is used of it.

    What a log shows is fitted under FCFS with EASY backfilling, and no cap is below the widest job of its value. Its
    priorities and the cores in service are left to the caller.

    Parameters
    ----------
    options
        The options, by name; limits may be `FITTED`.
    log
        Jobs with waits, on a machine of `max_cores`.
    note
        Is called with each sentence about what was fitted.
    until_s
        Nothing that happened later is known: only jobs that had started by then are looked at.
    sizes
        Whether fewer cores than those of the machine may be in service.

    Raises
    ------
    RequestError
        See `fit`.
    """
    if options.get("limits") != FITTED:
        return options, Used()
    past = log if until_s == np.inf else log.take(log.submit_s + logged_wait_s(log) <= until_s)
    found = fit(past, QueueOptions.checked(), sizes=sizes)
    for sentence in found.sentences():
        note(sentence)
    used = found.used_on(log)
    return {**options, "limits": used.limits(found.names)}, used


def limits_within(limits: Limits | None, jobs: Workload) -> Limits | None:
    """Return the limits of some jobs of the log that limits are of; see `Limits.within`."""
    return None if limits is None else limits.within(jobs.take(jobs.known()).numbers_by_name)


def without_effect(limits: Limits | None, orders: Iterable[Priority], jobs: Workload) -> Iterator[str]:
    """Hand out a sentence about each column that limits or orders ask for, and of which no job says a value."""

    def none_says(column: str) -> bool:
        return bool((numbers_of(jobs.numbers_by_name, column)[jobs.known()] < 0).all())

    for column in () if limits is None else limits.columns:
        if none_says(column):
            yield f"No job of {jobs.name} says its {column}: limits by {column} have no effect."
    for each in orders:
        if "fairshare" in each.words and none_says("user"):
            yield f"No job of {jobs.name} says its user: to {each.name} all jobs are alike."


@dataclass(frozen=True, slots=True)
class _Replays:
    """Replays of a log under limits, and how far they are from it.

    Parameters
    ----------
    log, wait_s, week
        The log, the waits that it records, and in which week each job is submitted.
    options
        How its queue is scheduled.
    """

    log: Workload
    wait_s: Floats
    week: Ints
    options: QueueOptions

    def calibration(self, replayed: Schedule) -> Calibration:
        """Return how far a replay is from the log on the odd weeks."""
        found = calibrate(replace(replayed, counted=replayed.counted & (self.week % 2 == 1)))
        assert found is not None  # noqa: S101  some of their jobs have a wait
        return found

    def on_odd_weeks(self, replayed: Schedule) -> float:
        """Return how far the waits of the odd weeks are from those of the log."""
        return distance(*self.waits_s(replayed, self.week % 2 == 1)[1:])

    def waits_s(self, replayed: Schedule, of: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return which of some jobs have a wait in the log and in a replay, and these waits."""
        wait_s = replayed.start_s - self.log.submit_s
        jobs = np.flatnonzero(of & replayed.counted & ~np.isnan(self.wait_s) & ~np.isnan(wait_s))
        return jobs, self.wait_s[jobs], wait_s[jobs]

    def names(self, by: str, values: Iterable[int]) -> dict[int, int | str]:
        """Return what values of a column are called: their names, or their numbers where the log has no names."""
        named = {number: name for name, number in self.log.names(by).items()}
        return {value: named.get(value, value) for value in values}

    def best_cores(self, by: str, taken: Used) -> Step | None:
        """Return with how many cores in service the waits are nearest; None if none help on each half.

        It is read off all even weeks, and judged on each half of them: it is one number.
        """
        shown = caps_of(self.log, by, PERCENTILES, np.arange(self.week.max() + 1) % 2 == 0)
        alike = np.zeros(len(self.log), np.int64)
        before, *_ = self._tried([taken, taken], alike)
        best = np.inf, 0
        for cores in {caps[0] for caps in shown if caps}:
            if Held(self.log, self.wait_s, cores).over_full_share() > OVER_FULL:
                continue
            after, *_ = self._tried([replace(taken, cores=cores)] * 2, alike)
            if _nearer(after, before):
                best = min(best, (float(after.mean()), cores))
        after_all, cores = best
        if after_all == np.inf:
            return None
        return Step(
            by=by,
            before=float(before.mean()),
            after=after_all,
            beside=replace(taken, cores=cores),
            said=f"{cores:,} of {self.log.max_cores or cores:,} cores in service",
            about={"cores": cores},
        )

    def best_caps(self, by: str, taken: Used) -> Step | None:
        """Return the caps by a column under which the waits are nearest; None if none help on each half.

        Caps are read off one half of the even weeks, and judged on the other half. They are tightened percentile by
        percentile, except for values that then wait far longer than by the log: they keep the cap before, or have none.
        """
        weeks = np.arange(self.week.max() + 1)
        values, of = np.unique(numbers_of(self.log.numbers_by_name, by), return_inverse=True)
        shown = [caps_of(self.log, by, PERCENTILES, weeks % 4 == half) for half in _HALVES]
        before, _, _ = self._tried([taken, taken], of)
        best: tuple[float, int, dict[int, int]] = np.inf, 0, {}
        loose: dict[int, int] = {}  # which values are tightened no more, with the place of their percentile; -1: no cap
        last: list[dict[int, int]] = [{}, {}]
        for place in range(len(PERCENTILES)):
            trial = [_caps_at(caps, place, loose) for caps in shown]
            if trial == last:
                continue
            last = trial
            after, logged_s, replayed_s = self._tried([_under(taken, by, caps) for caps in trial], of)
            if _nearer(after, before) and after.mean() < best[0]:
                best = float(after.mean()), place, dict(loose)
            for value in values[replayed_s.sum(axis=0) > _TOO_LONG * np.maximum(logged_s.sum(axis=0), MINUTE)].tolist():
                loose.setdefault(value, place - 1)
        after_all, place, loose = best
        caps = _caps_at(caps_of(self.log, by, PERCENTILES, weeks % 2 == 0), place, loose)
        if not (caps and after_all < np.inf):
            return None
        percentile, least, most = PERCENTILES[place], min(caps.values()), max(caps.values())
        of_values = count_of(len(caps), by)
        names = self.names(by, caps)
        rows = [{"value": names[value], "cores": cores} for value, cores in caps.items()]
        return Step(
            by=by,
            before=float(before.mean()),
            after=after_all,
            beside=_under(taken, by, caps),
            said=f"caps of own cores of {of_values}, from {least:,} to {most:,} (percentile {percentile})",
            about={"percentile": percentile, "caps": rows},
        )

    def best_priorities(self, by: str, taken: Used) -> Step | None:
        """Return the priorities by a column under which the waits are nearest; None if none help on each half.

        A value is ahead by the logarithm of how many times as long as by the log its jobs wait in the replay, times a
        weight in seconds. What is read off one half of the even weeks is judged on the other half.
        """
        values, of = np.unique(numbers_of(self.log.numbers_by_name, by), return_inverse=True)
        before, logged_s, replayed_s = self._tried([taken, taken], of)
        shown = np.log((replayed_s + MINUTE) / (logged_s + MINUTE))[::-1]  # by the half that is read
        best = np.inf, 0.0
        for weight_s in _WEIGHTS_S:
            trial = [replace(taken, ahead=_ahead(by, values, weight_s * each)) for each in shown]
            after, _, _ = self._tried(trial, of)
            if _nearer(after, before):
                best = min(best, (float(after.mean()), weight_s))
        after_all, weight_s = best
        if after_all == np.inf:
            return None
        on_both = np.log((replayed_s.sum(axis=0) + MINUTE) / (logged_s.sum(axis=0) + MINUTE))
        ahead = _ahead(by, values, weight_s * on_both)
        first, last = (pick(ahead.ahead_s, key=ahead.ahead_s.__getitem__) for pick in (max, min))
        apart = as_hours((ahead.ahead_s[first] - ahead.ahead_s[last]) / HOUR)
        names = self.names(by, ahead.ahead_s)
        rows = [{"value": names[value], "ahead_h": ahead_s / HOUR} for value, ahead_s in ahead.ahead_s.items()]
        return Step(
            by=by,
            before=float(before.mean()),
            after=after_all,
            beside=replace(taken, ahead=ahead),
            said=f"priorities of {count_of(len(rows), by)}: jobs of {by} {names[first]!r} count as submitted up to "
            f"{apart} earlier than others",
            about={"priorities": rows},
        )

    def _tried(self, trial: Sequence[Used], of: Ints) -> tuple[Floats, Floats, Floats]:
        """Return how far waits are under what is read off each half, on the other, and how long jobs wait there.

        These are f8[2, values], by the log and in the replay, each job with a minute more, so that a value with short
        waits is not said to wait many times as long.
        """
        far = []
        logged_s, replayed_s = np.zeros((2, len(trial), int(of.max()) + 1))
        replayed = trial[0].replay(self.log, self.options)
        for number, (used, other) in enumerate(zip(trial, _HALVES[::-1], strict=True)):
            if used is not trial[0]:
                replayed = used.replay(self.log, self.options)
            jobs, wait_s, found_s = self.waits_s(replayed, self.week % 4 == other)
            far.append(distance(wait_s, found_s))
            for sums, each_s in ((logged_s, wait_s), (replayed_s, found_s)):
                sums[number] = np.bincount(of[jobs], each_s + MINUTE, sums.shape[1])
        return np.array(far), logged_s, replayed_s


def _under(used: Used, by: str, caps: Mapping[int, int]) -> Used:
    """Return what is used under caps of a column, too."""
    rows = ({"by": by, "value": value, "cores": cores} for value, cores in caps.items())
    return replace(used, rows=(*used.rows, *rows))


def _few(log: Workload, by: str) -> bool:
    """Return whether an order can know all values of a column."""
    return len(np.unique(numbers_of(log.numbers_by_name, by))) <= MOST_VALUES


def _nearer(after: Floats, before: Floats) -> bool:
    """Return whether the waits come nearer on one half of the even weeks, and get no farther on the other."""
    return bool((after <= before).all() and (after < before).any())


def _ahead(by: str, values: Ints, ahead_s: Floats) -> Ahead:
    """Return the order in which each value of a column is so far ahead, in whole seconds."""
    return Ahead(by, dict(zip(values.tolist(), np.round(ahead_s).tolist(), strict=True)))


def _caps_at(caps: Sequence[Mapping[int, int]], place: int, loose: Mapping[int, int]) -> dict[int, int]:
    """Return the caps of a percentile, except for the values that are looser."""
    at = {value: min(place, loose.get(value, place)) for value in caps[place]}
    return {value: caps[found][value] for value, found in at.items() if found >= 0 and value in caps[found]}
