"""Fitting: limits that a log shows, fitted on every second week of it and judged on the others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import Calibration, Held, calibrate, distance, several
from experiments.inputs import count_of
from experiments.option import FITTED
from simmodels.clusters.limits import Limits, numbers_of
from simmodels.clusters.rows import Names
from simmodels.errors import RequestError
from simmodels.ground.durations import as_hours
from simmodels.ground.numbers import Floats, Ints
from simmodels.policies.queue_options import QueueOptions
from simmodels.results.logged import logged_wait_s
from simmodels.results.schedule import Schedule
from simmodels.simulate import simulate
from simmodels.units import DAY, HOUR, MINUTE, WEEK
from simmodels.work.workload import Workload

PERCENTILES: Final = (99, 97, 95, 92, 90, 85, 80, 75, 70, 60, 50)
"""What is tried, from the loosest caps to the tightest."""
_COLUMNS: Final = ("user", "queue", "partition")
_HELPED: Final = 0.1
"""Limits are taken if the distance of the waits from those of the log becomes less by this share, at least."""
_TOO_LONG: Final = 5.0
"""A value that waits this many times as long as by the log has no tighter cap: there, its demand exceeds it."""
_LEAST_S: Final = DAY
"""For less time of evidence a value has no cap."""
_LEAST_WEEKS: Final = 4
"""Two weeks to fit on, and two to judge on."""
Row = Mapping[str, object]
"""A row of limits, as `simmodels.Limits` takes it."""


@dataclass(frozen=True, slots=True)
class Step:
    """Caps of own cores that were tried, one for each value of a column.

    Parameters
    ----------
    by
        The column.
    percentile
        Of the cores in use while own jobs waited and the machine had cores for them; of all that were tried, the
        nearest to the log on the even weeks.
    caps
        The cap of each value for which the log shows one.
    before, after
        How far the waits of even weeks are from those of the log, without it and with it (see `distance`).
    """

    by: str
    percentile: int
    caps: Mapping[int, int]
    before: float
    after: float

    @property
    def helped(self) -> bool:
        """Whether it is taken: the waits come nearer by a tenth of the distance, at least."""
        return self.after <= (1.0 - _HELPED) * self.before

    @property
    def rows(self) -> list[Row]:
        """Return the rows of limits that it stands for."""
        return _rows(self.by, self.caps)


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted to a log, and how far replays are from it on the weeks that were held out.

    Parameters
    ----------
    steps
        What was taken, in this order, then what was tried beside it and is of no help.
    without, fitted
        Of replays without limits and with those that helped, on the odd weeks; the same where none did.
    before, after
        How far the waits of odd weeks are from those of the log, without limits and with them.
    names
        The numbers of the log's names, by column.
    """

    steps: tuple[Step, ...]
    without: Calibration
    fitted: Calibration
    before: float
    after: float
    names: Names = field(default_factory=dict)

    @property
    def limits(self) -> Limits | None:
        """Return the limits that helped on the even weeks, if they do on the odd ones too; None if none did."""
        rows = _taken(self.steps)
        return Limits(rows, self.names) if rows and self.after < self.before else None  # type: ignore[arg-type]  # rows are checked there

    def limits_of(self, log: Workload) -> Limits | None:
        """Return these limits for a log, in which no cap is below the widest job of its value; None if none helped."""
        if self.limits is None:
            return None
        widest = {step.by: _widest(log, numbers_of(log.numbers_by_name, step.by)) for step in self.steps}
        return Limits(
            tuple(
                replace(row, cores=max(row.cores or 0, widest[row.by][row.value]))
                for row in self.limits.rows
                if isinstance(row.value, int)
            ),
            self.names,
        )

    def table(self) -> dict[str, Any]:
        """Return all of it by name, as JSON holds it; waits in hours."""
        steps = [
            {"by": step.by, "percentile": step.percentile, "before": step.before, "after": step.after}
            | {"taken": step.helped, "caps": [{"value": value, "cores": cores} for value, cores in step.caps.items()]}
            for step in self.steps
        ]
        held_out = {
            "logged": _hours(self.without.logged),
            "without": _hours(self.without.replayed) | _nearness(self.without),
            "fitted": _hours(self.fitted.replayed) | _nearness(self.fitted),
        }
        distances = {"before": self.before, "after": self.after, "helped": self.limits is not None}
        return {"fitted": steps, "held_out": held_out, **distances}

    def sentences(self) -> Iterator[str]:
        """Hand out what was taken, what was of no help, and how much nearer the replay came."""
        for step in self.steps:
            least, most = min(step.caps.values()), max(step.caps.values())
            about = f"caps of own cores of {count_of(len(step.caps), step.by)}, from {least:,} to {most:,}"
            said = "Taken" if step.helped else "Tried, and not taken"
            far = f"{step.after:.2f}, {step.before:.2f} without"
            yield f"{said}: {about} (percentile {step.percentile}); distance from the log on the even weeks: {far}."
        if not self.steps:
            yield "The log shows no caps: hardly any job waited while the machine had cores for it."
        logged_h, without_h, fitted_h = (
            as_hours(waits["mean_wait_s"] / HOUR)
            for waits in (self.without.logged, self.without.replayed, self.fitted.replayed)
        )
        before, after = self.without.agreement, self.fitted.agreement
        if not _taken(self.steps):
            yield f"On the odd weeks the replay is {before}: a mean wait of {without_h}, {logged_h} logged."
        else:
            waits = f"{fitted_h}, {without_h} without limits, {logged_h} logged"
            yield f"On the odd weeks the replay is {after}, {before} without limits: a mean wait of {waits}."
        if self.limits is None and _taken(self.steps):
            yield "That is no nearer to the log: no limits are used."


def _hours(waits: Mapping[str, float]) -> dict[str, object]:
    """Return waits by the names that JSON has."""
    return {f"{name}_h": waits[f"{name}_wait_s"] / HOUR for name in ("mean", "median", "p95")}


def _nearness(found: Calibration) -> dict[str, object]:
    """Return how near a replay is to its log."""
    return {"rank": found.rank_correlation, "agreement": found.agreement}


def fit(log: Workload, options: QueueOptions, *, begin: Callable[[str], None] = lambda _: None) -> Fitted:
    """Return the caps of own cores that a log shows, by user and by queue or partition.

    The column whose caps bring the waits nearest is taken first, then those that help beside it.

    Parameters
    ----------
    log
        Jobs with waits, on a machine of `max_cores`.
    options
        How the queue is scheduled; without limits.
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
    wait_s, week = logged_wait_s(log), _week_of(log, log.submit_s)
    replays = _Replays(log, wait_s, week, options)
    steps: list[Step] = []
    columns = list(_columns(log))
    names = {by: found for by in columns if (found := log.names(by))}
    while columns:
        tried = []
        for by in columns:
            begin(f"limits by {by}")
            if (step := replays.best(by, _taken(steps))) is not None:
                tried.append(step)
        tried.sort(key=lambda step: step.after)
        if not (tried and tried[0].helped):
            steps += tried
            break
        steps.append(tried[0])
        columns.remove(tried[0].by)
    begin("the weeks held out")
    replayed = [replays.replay(rows) for rows in ([], _taken(steps))]
    without, fitted = (replays.calibration(each) for each in replayed)
    before, after = (distance(*replays.waits_s(each, week % 2 == 1)[1:]) for each in replayed)
    return Fitted(tuple(steps), without, fitted, before, after, names)


def refusal_of(log: Workload) -> RequestError | None:
    """Return why no limits can be fitted to a log: it has no waits, or is shorter than four weeks; None if they can."""
    wait_s = logged_wait_s(log)
    if np.isnan(wait_s).all():
        return RequestError(f"{log.name!r} does not say when its jobs started", "limits are fitted to a log with waits")
    week = _week_of(log, log.submit_s)
    if all((~np.isnan(wait_s[week % _LEAST_WEEKS == number])).any() for number in range(_LEAST_WEEKS)):
        return None
    remedy = "limits are fitted on every second week and judged on the others: give a longer log"
    return RequestError(f"{log.name!r} has no waits of {_LEAST_WEEKS} weeks", remedy)


def with_fitted_limits(
    options: Mapping[str, Any], log: Workload, note: Callable[[str], None], *, until_s: float = np.inf
) -> Mapping[str, Any]:
    """Return options of a queue in which limits that are to be fitted are those that a log shows.

    They are fitted under FCFS with EASY backfilling, and no cap is below the widest job of its value.

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

    Raises
    ------
    RequestError
        See `fit`.
    """
    if options.get("limits") != FITTED:
        return options
    past = log if until_s == np.inf else log.take(log.submit_s + logged_wait_s(log) <= until_s)
    found = fit(past, QueueOptions.checked())
    for sentence in found.sentences():
        note(sentence)
    return {**options, "limits": found.limits_of(log)}


def limits_within(limits: Limits | None, jobs: Workload) -> Limits | None:
    """Return the limits of some jobs of the log that limits are of; see `Limits.within`."""
    return None if limits is None else limits.within(jobs.take(jobs.known()).numbers_by_name)


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

    def replay(self, rows: Sequence[Row]) -> Schedule:
        """Return the schedule under limits."""
        given = {**self.options.by_name(), "limits": rows or None}
        return simulate(self.log, **given)

    def calibration(self, replayed: Schedule) -> Calibration:
        """Return how far a replay is from the log on the odd weeks."""
        found = calibrate(replace(replayed, counted=replayed.counted & (self.week % 2 == 1)))
        assert found is not None  # noqa: S101  some of their jobs have a wait
        return found

    def waits_s(self, replayed: Schedule, of: NDArray[np.bool_]) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return which of some jobs have a wait in the log and in a replay, and these waits."""
        wait_s = replayed.start_s - self.log.submit_s
        jobs = np.flatnonzero(of & replayed.counted & ~np.isnan(self.wait_s) & ~np.isnan(wait_s))
        return jobs, self.wait_s[jobs], wait_s[jobs]

    def best(self, by: str, taken: Sequence[Row]) -> Step | None:
        """Return the caps by a column under which the waits are nearest; None if the log shows none.

        Caps are read off one half of the even weeks, and judged on the other half. They are tightened percentile by
        percentile, except for values that then wait far longer than by the log: they keep the cap before, or have none.
        """
        weeks = np.arange(self.week.max() + 1)
        halves = [weeks % 4 == 0, weeks % 4 == 2]
        values, of = np.unique(numbers_of(self.log.numbers_by_name, by), return_inverse=True)
        shown = [caps_of(self.log, by, PERCENTILES, half) for half in halves]
        before, _ = self._tried(by, taken, [{}, {}], of)
        best: tuple[float, int, dict[int, int]] = np.inf, 0, {}
        loose: dict[int, int] = {}  # which values are tightened no more, with the place of their percentile; -1: no cap
        last: list[dict[int, int]] = [{}, {}]
        for place in range(len(PERCENTILES)):
            trial = [_caps_at(caps, place, loose) for caps in shown]
            if trial == last:
                continue
            last = trial
            after, factors = self._tried(by, taken, trial, of)
            if after < best[0]:
                best = after, place, dict(loose)
            for value in values[factors > _TOO_LONG].tolist():
                loose.setdefault(value, place - 1)
        after, place, loose = best
        caps = _caps_at(caps_of(self.log, by, PERCENTILES, weeks % 2 == 0), place, loose)
        return Step(by, PERCENTILES[place], caps, before, after) if caps and after < np.inf else None

    def _tried(
        self, by: str, taken: Sequence[Row], trial: Sequence[Mapping[int, int]], of: Ints
    ) -> tuple[float, Floats]:
        """Return how far waits are under caps of each half on the other, and how many times as long each value waits.

        Each job counts a minute more, so that a value with short waits is not said to wait many times as long.
        """
        far = []
        logged_s, replayed_s = np.zeros((2, int(of.max()) + 1))
        for caps, other in zip(trial, (2, 0), strict=True):
            replayed = self.replay([*taken, *_rows(by, caps)])
            jobs, wait_s, found_s = self.waits_s(replayed, self.week % 4 == other)
            far.append(distance(wait_s, found_s))
            logged_s += np.bincount(of[jobs], wait_s + MINUTE, len(logged_s))
            replayed_s += np.bincount(of[jobs], found_s + MINUTE, len(logged_s))
        return float(np.mean(far)), replayed_s / np.maximum(logged_s, MINUTE)


def _taken(steps: Sequence[Step]) -> list[Row]:
    """Return the rows of the caps that helped."""
    return [row for step in steps if step.helped for row in step.rows]


def _rows(by: str, caps: Mapping[int, int]) -> list[Row]:
    """Return rows of limits for the cap of each value."""
    return [{"by": by, "value": value, "cores": cores} for value, cores in caps.items()]


def _caps_at(caps: Sequence[Mapping[int, int]], place: int, loose: Mapping[int, int]) -> dict[int, int]:
    """Return the caps of a percentile, except for the values that are looser."""
    at = {value: min(place, loose.get(value, place)) for value in caps[place]}
    return {value: caps[found][value] for value, found in at.items() if found >= 0 and value in caps[found]}


def _columns(log: Workload) -> Iterator[str]:
    """Hand out the columns that caps may be by: of numbers, with at least two values that matter."""
    numbers = log.numbers_by_name
    for by in _COLUMNS:
        known = numbers.get("user_id" if by == "user" else by)
        if known is not None and len(np.unique(known[known >= 0])) > 1 and (by == "user" or several(log, by) > 1):
            yield by


# -- what a log shows -------------------------------------------------------------------------------


def caps_of(log: Workload, by: str, percentiles: Sequence[float], weeks: NDArray[np.bool_]) -> list[dict[int, int]]:
    """Return the cap of own cores of each value of a column that a log shows, for each percentile.

    While jobs of a value wait although the machine has cores for them, what that value has in use is near its cap, if
    it has one. The cap is a percentile of the cores in use over the time for which that holds; it is at least the width
    of the widest job of that value. The machine has cores for the jobs of a value if as many are free as its typical
    job wants: jobs at most as wide have half of its waiting time. Values with less than a day of such time have no cap,
    nor have those that the machine itself limits.

    Parameters
    ----------
    log
        Jobs with waits, on a machine of `max_cores`.
    by
        The column of the values.
    percentiles
        Which caps are wanted, in per cent.
    weeks
        bool[weeks], which weeks of the log count.

    Returns
    -------
    list[dict[int, int]]
        The cap of each value, for each percentile.
    """
    wait_s = logged_wait_s(log)
    values = numbers_of(log.numbers_by_name, by)
    rows = np.flatnonzero(~np.isnan(wait_s) & (values >= 0))
    names, of = np.unique(values[rows], return_inverse=True)
    cores, submit_s = log.cores[rows], log.submit_s[rows]
    start_s = submit_s + wait_s[rows]
    # All that happens to jobs, by value and time; the sums over a value end at 0, so one sum over all of them does.
    time_s = np.concatenate((submit_s, start_s, start_s + log.runtime_s[rows]))
    party = np.tile(of, 3)
    nothing = np.zeros(len(rows), np.int64)
    order = np.lexsort((time_s, party))
    in_use = np.cumsum(np.concatenate((nothing, cores, -cores))[order])
    waiting = np.cumsum(np.concatenate((nothing + 1, nothing - 1, nothing))[order])
    time_s, party = time_s[order], party[order]
    typical = _weighted_percentile(of, cores, wait_s[rows], 50, len(names))[party]
    weight_s = np.zeros(len(time_s))
    counts = np.flatnonzero((waiting > 0) & (np.append(party[1:], -1) == party))
    size = log.max_cores or 1
    held = Held(log, wait_s, size)
    for need in np.unique(typical[counts]):
        here = counts[typical[counts] == need]
        weight_s[here] = _free_s(held, need, log, weeks, time_s[here + 1]) - _free_s(
            held, need, log, weeks, time_s[here]
        )
    shown = np.bincount(party, weight_s, len(names)) >= _LEAST_S
    widest_of = _widest(log, values)
    widest = np.array([widest_of[name] for name in names.tolist()], dtype=np.int64)
    found = []
    for percentile in percentiles:
        caps = np.maximum(_weighted_percentile(party, in_use, weight_s, percentile, len(names)), widest)
        kept = shown & (caps < size)
        found.append(dict(zip(names[kept].tolist(), caps[kept].tolist(), strict=True)))
    return found


def _widest(log: Workload, values: Ints) -> dict[int, int]:
    """Return the cores of the widest job of each value."""
    known = log.known() & (values >= 0)
    names, of = np.unique(values[known], return_inverse=True)
    widest = np.zeros(len(names), np.int64)
    np.maximum.at(widest, of, log.cores[known])
    return dict(zip(names.tolist(), widest.tolist(), strict=True))


def _week_of(log: Workload, at_s: Floats) -> Ints:
    """Return int64[n], the number of the week of each instant, from 0 at the first submission."""
    found: Ints = ((at_s - log.submit_s.min()) // WEEK).astype(np.int64)
    return found


def _free_s(held: Held, need: int, log: Workload, weeks: NDArray[np.bool_], at_s: Floats) -> Floats:
    """Return for how long, in some weeks up to instants, at least `need` cores of the machine were free."""
    week = np.minimum(_week_of(log, at_s), len(weeks))
    begins_s = log.submit_s.min() + WEEK * np.arange(len(weeks) + 1)
    until_s = held.free_until(begins_s, need)
    before_s = np.concatenate(([0.0], np.cumsum(np.where(weeks, np.diff(until_s), 0.0))))
    counts = np.append(weeks, False)[week]
    found: Floats = before_s[week] + np.where(counts, held.free_until(at_s, need) - until_s[week], 0.0)
    return found


def _weighted_percentile(party: Ints, values: Ints, weights: Floats, percentile: float, parties: int) -> Ints:
    """Return int64[parties], the least value that has this share of the weights of each party at or below it."""
    order = np.lexsort((values, party))
    until = np.cumsum(weights[order])
    total = np.bincount(party, weights, parties)
    first = np.concatenate(([0.0], until))[np.searchsorted(party[order], np.arange(parties))]
    at = np.searchsorted(until, first + percentile / 100.0 * total * (1.0 - 1e-12))
    found: Ints = values[order][np.minimum(at, len(values) - 1)]
    return found
