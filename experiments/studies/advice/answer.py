"""The answer of advice: a verdict and at most five lines, for people who do not study schedulers."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import CLOSE, Calibration, causes_of, percent, several
from experiments.studies.advice.limits import Effect, FoundLimits
from experiments.studies.advice.settings import BACKFILLINGS
from experiments.studies.advice.verdict import GAIN, LITTLE, SHORT_H, Option, Verdict, choices
from simmodels import HOUR, MINUTE, Schedule, Workload
from simmodels.ground.durations import as_hours
from simmodels.ground.numbers import Floats

_COLUMNS: Final = 78
"""What a terminal of 80 columns has for a line, beside the dash that goes before it."""
_ROWS: Final = 10
"""The answer has at most these many rows of a terminal."""
_COLON: Final = ": "
_REGULAR: Final = 10
"""Users with fewer jobs are not counted as users who wait longer."""
_PARTS: Final = (1 / 64, 1 / 16, 1 / 4, 1.0)
"""Classes of sizes: up to these parts of the machine."""
_LIMITS_H: Final = (1.0, 4.0, 24.0, np.inf)
"""Classes of time limits: up to these numbers of hours."""


_MEASURES: Final = {
    "mean_wait_s": "the mean wait",
    "p95_wait_s": "the 95th percentile of the waits",
    "median_wait_s": "the median wait",
}


class Doubt(NamedTuple):
    """Why an answer may not hold."""

    short: str
    """In a few words, after "Check: "; empty if the verdict says it."""
    full: str
    """In sentences."""


@dataclass(frozen=True, slots=True)
class Worse:
    """For whom a change makes the mean wait longer, by more than 5 % and a minute.

    Parameters
    ----------
    users, of_users
        How many users wait longer, of those with ten jobs or more.
    who, before_h, after_h
        The class of jobs (by cores, or by limit) whose mean wait grows most, and that wait, in hours; empty if there is
        none.
    """

    users: int
    of_users: int
    who: str = ""
    before_h: float = 0.0
    after_h: float = 0.0

    def table(self) -> dict[str, object]:
        """Return it by name, as JSON has it."""
        jobs, before_h, after_h = (self.who, self.before_h, self.after_h) if self.who else (None, None, None)
        users = {"users": self.users, "of_users": self.of_users}
        return {**users, "jobs": jobs, "mean_wait_now_h": before_h, "mean_wait_h": after_h}

    def __str__(self) -> str:
        """Return it in words."""
        jobs = f"jobs {self.who} ({as_hours(self.after_h)}, now {as_hours(self.before_h)})" if self.who else ""
        users = f"{f'{self.users:,}' if self.users else 'none'} of {self.of_users:,} users" if self.of_users > 1 else ""
        return ", ".join(filter(None, (jobs, users))) or "hardly anybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """An advice, and what it rests on.

    Parameters
    ----------
    log
        The log.
    options
        All that a machine can have and that was run on the log.
    calibration
        How far the replay under what there is now is from the log; None if the log does not say.
    fitted
        Whether what there is now was found in the waits of the log.
    verdict
        What to do.
    worse
        For whom the change that is advised is worse; None if none is.
    doubts
        Why the answer may not hold.
    limits, effect
        Under which limits the log was replayed, and what they cause; None without limits.
    """

    log: Workload
    options: Sequence[Option]
    calibration: Calibration | None
    fitted: bool
    verdict: Verdict
    worse: Worse | None
    doubts: Sequence[Doubt]
    limits: FoundLimits = field(default_factory=FoundLimits)
    effect: Effect | None = None

    def choices(self) -> list[Option]:
        """Return what there is to choose from."""
        return choices(self.options, self.verdict.now, unlimited=self.verdict.unlimited)


# -- the lines --------------------------------------------------------------------------------------


def lines_of(advised: Advised) -> Iterator[str]:
    """Hand out the answer: the verdict first, in at most seven lines, which are ten rows of a terminal of 80 columns.

    Of the causes and the doubts, there are as many as there is room for.
    """
    verdict, calibration = advised.verdict, advised.calibration
    policy = verdict.now.in_words() if advised.fitted else ""
    causes = [] if calibration is None else list(causes_of(calibration, advised.log, fitted=advised.fitted))
    if verdict.kind == "no match" and calibration is not None:
        lines = [*_mismatch(verdict, calibration, policy, advised)]
        begin, joint = "Likely causes", _COLON
    else:
        lines = [*_answer(verdict, advised.worse)]
        begin, joint = f"How far to trust it: {_trust(calibration, policy)}", "; likely causes: "
    if verdict.unlimited:
        lines[0] += f" No order by limits is considered: {percent(verdict.unlimited)} of the jobs have no limit."
    checks = [doubt.short for doubt in advised.doubts if doubt.short]
    limits = [] if advised.effect is None else list(advised.effect.clauses(advised.limits))
    limits = [*limits[:2], *advised.limits.beside()]
    if verdict.advised is not None:
        to_enter = list(_to_enter(verdict.advised, verdict.beyond))
        room = _ROWS - sum(map(_rows, lines)) - _rows(f"{begin}.") - bool(checks)
        lines += _filled("What to enter", _COLON, to_enter[:1] if limits else to_enter, room)
    if limits and verdict.kind != "no match":
        room = _ROWS - sum(map(_rows, lines)) - _rows(f"{begin}.")
        said = (f"Limits: {'; '.join(limits[:count])}." for count in range(len(limits), 0, -1))
        lines += [line for line in said if _rows(line) <= room][:1]
    lines += _filled(begin, joint, causes, _ROWS - sum(map(_rows, lines)) - bool(checks))
    yield from lines
    yield from _filled("Check", _COLON, checks, _ROWS - sum(map(_rows, lines)))


def _answer(verdict: Verdict, worse: Worse | None) -> Iterator[str]:
    """Hand out the lines where the replay matches: what to do, how much that is, for whom it is worse, and so on."""
    now, then, beyond, shortest = verdict.now, verdict.then, verdict.beyond, verdict.shortest
    easy = ", with EASY backfilling" if now.policy in BACKFILLINGS else ""
    if verdict.kind == "hardly matters":
        where = "As far as this replay shows, the" if verdict.weak else "The"
        yield (
            f"{where} order hardly matters here: jobs wait {as_hours(now.mean_h)} on average{_idle(verdict)}, and "
            f"{as_hours(shortest.mean_h)} in the best order that was tried."
        )
    elif then is not None:
        yield f"{'Consider' if verdict.weak else 'Change to'} {then.in_words()}{easy}."
        yield f"How much: {_gain(then, now)}."
        yield f"Who waits longer: {worse}; {_longest(then, now)}."
    elif beyond is not None:
        yield f"Do not change: nothing that Slurm or PBS can be given is certain to be better than {now.in_words()}."
        waits = f"mean wait {as_hours(beyond.mean_h)} instead of {as_hours(now.mean_h)}, {_longest(beyond, now)}"
        yield f"Consider {beyond.in_words()}{easy}, if your scheduler can do that: {waits}."
    elif verdict.costly:
        yield f"Do not change: {now.in_words()} is only beaten by letting some jobs wait much longer."
        yield f"The shortest mean wait: {_shortest(verdict)}."
    else:
        yield f"Do not change: nothing that was tried is certain to be better than {now.in_words()}."


def _idle(verdict: Verdict) -> str:
    """Return how little jobs wait on an idle machine; nothing of another."""
    if verdict.now.p95_h < SHORT_H:
        return " (95 % of them for less than a minute)"
    return f" (below {percent(LITTLE)} of the mean runtime)" if verdict.wait_share < LITTLE else ""


def _longest(then: Option, now: Option) -> str:
    """Return the longest wait, then and now."""
    return f"the longest wait is {as_hours(then.longest_h)}, now {as_hours(now.longest_h)}"


def _mismatch(verdict: Verdict, calibration: Calibration, policy: str, advised: Advised) -> Iterator[str]:
    """Hand out the lines where the replay does not match: how far off it is, and what to do about that."""
    yield f"This replay does not match your machine: {'; '.join(_apart(calibration, policy))}."
    best = verdict.then or verdict.beyond
    if best is None:
        yield "The replay alone finds no order that is certain to be better."
    else:
        yield f"By the replay alone, the advice would be {best.in_words()}: do not rely on it."
    options = ["--cores", *(f"--{name}" for name in ("partition", "queue") if several(advised.log, name) > 1)]
    auto = "" if policy else ", or let --current auto find the order that you have"
    checks = f"check {' and '.join(options)}{auto}"
    said = "schedlab calibrate says whether user limits explain the waits"
    if advised.limits != FoundLimits():
        said = "limits, which were tried, do not explain the waits"
    yield f"What to do: change nothing yet; {checks}; {said}."


def _apart(calibration: Calibration, policy: str) -> Iterator[str]:
    """Hand out how the log and its replay differ."""
    far = [measure for measure in _MEASURES if calibration.apart(measure) > CLOSE]
    for measure in far[:1]:
        logged, replayed = (as_hours(waits[measure] / HOUR) for waits in (calibration.logged, calibration.replayed))
        of = f" of {policy}" if policy else ""
        yield f"{_MEASURES[measure]} is {logged} in the log and {replayed} in the replay{of}"
    if not calibration.same_jobs_wait:
        yield "it is not the same jobs that wait"
    elif not far:
        yield f"for {percent(calibration.over_full_share)} of its time the log has more cores in use than the machine"


def _gain(then: Option, now: Option) -> str:
    """Return how much a change is worth."""
    low, middle, high = (round(each) for each in np.percentile(100 * then.changes, (10, 50, 90)))  # 0 has no sign
    shorter = f"{int((then.changes < 0).sum())} of {len(then.changes)} resamples of the log"
    waits = f"mean wait {as_hours(then.mean_h)} instead of {as_hours(now.mean_h)}"
    return f"{waits}, shorter in {shorter} (median {middle} %, 10-90 % range {low} to {high} %)"


def _shortest(verdict: Verdict) -> str:
    """Return what is shortest if only the mean counts, and at what price."""
    now, shortest = verdict.now, verdict.shortest
    starves = ", which is starvation" if shortest.starves(now) else ""
    return (
        f"{as_hours(shortest.mean_h)}, now {as_hours(now.mean_h)}, under {shortest.in_words()}; but the longest is "
        f"{as_hours(shortest.longest_h)}, now {as_hours(now.longest_h)}{starves}"
    )


def _to_enter(then: Option, beyond: Option | None) -> Iterator[str]:
    """Hand out what is to be entered into a batch system, and what would be better still."""
    if then.policy == "FCFS":
        yield "PriorityType=priority/multifactor, with PriorityWeightAge only"
    else:
        yield "files/slurm.conf.txt for Slurm, files/pbs.txt for PBS"
    if beyond is not None:
        yield f"better, but not for these: {beyond.in_words()}, mean wait {as_hours(beyond.mean_h)}"


def _trust(calibration: Calibration | None, policy: str) -> str:
    """Return what the answer is worth."""
    if calibration is None:
        return "the log does not say when its jobs started, so nothing checks it"
    close = calibration.agreement == "close"
    if policy:
        return f"the replay of {policy} is like the log" if close else f"roughly (replay of {policy}), test it first"
    logged, replayed = (as_hours(waits["mean_wait_s"] / HOUR) for waits in (calibration.logged, calibration.replayed))
    how = "well" if close else "roughly, test it first"
    return f"{how} (mean wait {logged} in the log, {replayed} replayed)"


def _filled(begin: str, joint: str, clauses: Sequence[str], rows: int) -> Iterator[str]:
    """Hand out a line that goes on with as many clauses as fit into a number of rows of a terminal.

    Nothing is handed out if none does and the line would end with a colon.
    """
    line, between = begin, joint
    for clause in clauses:
        longer = f"{line}{between}{clause}"
        if _rows(f"{longer}.") <= rows:
            line, between = longer, "; "
    if line != begin or joint != _COLON:
        yield f"{line}."


def _rows(line: str) -> int:
    """Return how many rows of a terminal of 80 columns a line takes."""
    return len(textwrap.wrap(line, _COLUMNS))


# -- who waits longer -------------------------------------------------------------------------------


def worse_for(now: Schedule, then: Schedule) -> Worse:
    """Return for whom the mean wait gets longer: users, jobs of a size, jobs of a limit."""
    log = now.workload
    both = now.counted & ~np.isnan(now.start_s) & ~np.isnan(then.start_s)
    before_s, after_s = (schedule.start_s[both] - log.submit_s[both] for schedule in (now, then))
    users, place, counts = np.unique(log.user_id[both], return_inverse=True, return_counts=True)
    regular = (counts >= _REGULAR) & (users >= 0)
    sums = (np.bincount(place, wait_s, len(users)) for wait_s in (before_s, after_s))
    longer = [_is_longer(*means_s) for means_s in zip(*(sum_s / counts for sum_s in sums), strict=True)]
    tops = np.unique(np.maximum(np.floor(np.array(_PARTS) * now.cores), 1))
    sizes, limits = np.searchsorted(tops, log.cores[both]), np.searchsorted(_LIMITS_H, log.estimate_s[both] / HOUR)
    limits[log.unlimited()[both]] = len(_LIMITS_H)
    found = [
        *_classes(sizes, [f"of {name} cores" for name in _spans(tops, "")], before_s, after_s),
        *_classes(
            limits,
            [*(f"with limits of {name}" for name in _spans(_LIMITS_H, " h")), "without a limit"],
            before_s,
            after_s,
        ),
    ]
    who, before, after = max(found, key=lambda one: one[2] - one[1], default=("", 0.0, 0.0))
    return Worse(int((regular & longer).sum()), int(regular.sum()), who, before / HOUR, after / HOUR)


def _spans(tops: Iterable[float], what: str) -> Iterator[str]:
    """Hand out the names of classes that reach up to these numbers."""
    *inner, last = tops
    low = 0.0
    for top in (*inner, last):
        if low == 0:
            yield f"up to {top:,.0f}{what}"
        else:
            yield f"more than {low:,.0f}{what}" + ("" if top == last else f" up to {top:,.0f}{what}")
        low = top


def _is_longer(before_s: float, after_s: float) -> bool:
    """Return whether a mean wait is longer by more than 5 % and a minute."""
    return after_s > max((1 + GAIN) * before_s, before_s + MINUTE)


def _classes(
    of: NDArray[np.intp], names: Sequence[str], before_s: Floats, after_s: Floats
) -> Iterator[tuple[str, float, float]]:
    """Hand out the classes of jobs that wait longer: name, mean wait before and after, in seconds."""
    for number, name in enumerate(names):
        mine = of == number
        if mine.any():
            before, after = float(before_s[mine].mean()), float(after_s[mine].mean())
            if _is_longer(before, after):
                yield name, before, after
