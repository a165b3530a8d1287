"""Verdict: whether to change the order of a queue, how much that is worth, and who waits longer for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import Calibration
from experiments.studies.advice_policies import BACKFILLINGS, PRIORITIES, policy_in_words
from simmodels.ground.durations import span
from simmodels.ground.numbers import Floats
from simmodels.schedule import Schedule
from simmodels.units import HOUR, MINUTE

Kind = Literal["change", "do not change", "hardly matters"]

_GAIN: Final = 0.05
"""A mean wait that gets shorter by less is not worth a change."""
_SURE: Final = 0.9
"""In at least this share of the resamples the mean wait has to be shorter."""
_LONGEST: Final = 1.1
"""The longest wait may be this many times that of now ..."""
_P99: Final = 1.5
"""... and the 99th percentile this many times: what most gain, some pay, but nobody more than somebody does now."""
_STARVES: Final = 5.0
"""A longest wait that is this many times that of now is starvation."""
_SHORT_H: Final = 1.0 / 60.0
"""A mean wait below this is hardly one."""
_FEWEST: Final = 5
"""From fewer resamples nothing is concluded."""
_REGULAR: Final = 10
"""Users with fewer jobs are not counted as users who wait longer."""
_PARTS: Final = (1 / 64, 1 / 16, 1 / 4, 1.0)
"""Classes of sizes: up to these parts of the machine."""
_LIMITS_H: Final = (1.0, 4.0, 24.0, np.inf)
"""Classes of time limits: up to these numbers of hours."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Option:
    """Something that a machine can have, and how it does.

    Parameters
    ----------
    policy, threshold_h
        Which of `advice_policies.FIXED`; after how many hours a job goes before all others, None for never.
    mean_h, p95_h, p99_h, longest_h
        The mean wait, the 95th and 99th percentile and the longest wait on the log, in hours.
    slowdown
        The mean bounded slowdown on the log.
    changes
        float64[resamples], how much longer the mean wait is than now, as a part of it.
    apart
        How far its waits are from those that the log records: the mean of abs(log10 of (its wait + 1 min) / (the log's
        wait + 1 min)); NaN if the log does not say.
    """

    policy: str
    threshold_h: float | None
    mean_h: float
    p95_h: float = np.nan
    p99_h: float
    longest_h: float
    slowdown: float = np.nan
    changes: NDArray[np.float64]
    apart: float = np.nan

    @property
    def is_sure(self) -> bool:
        """Whether the mean wait is shorter in nearly all resamples, and by enough in most of them."""
        if len(self.changes) < _FEWEST:
            return False
        return bool(np.median(self.changes) <= -_GAIN and (self.changes < 0).mean() >= _SURE)

    def spares(self, now: "Option") -> bool:
        """Return whether hardly anybody waits longer than somebody does now."""
        slack_h = _SHORT_H  # of nothing there is no multiple
        return self.longest_h <= _LONGEST * now.longest_h + slack_h and self.p99_h <= _P99 * now.p99_h + slack_h

    def table(self) -> dict[str, object]:
        """Return it by name, as JSON has it."""
        low, middle, high = np.percentile(self.changes, (10, 50, 90)) if len(self.changes) else (None,) * 3
        return {
            "policy": self.policy,
            "threshold_h": self.threshold_h,
            "mean_wait_h": self.mean_h,
            "p95_wait_h": self.p95_h,
            "p99_wait_h": self.p99_h,
            "longest_wait_h": self.longest_h,
            "resamples": len(self.changes),
            "change_of_mean_wait": {"p10": low, "median": middle, "p90": high},
        }

    def __str__(self) -> str:
        """Return it in words."""
        return policy_in_words(self.policy, self.threshold_h)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do.

    Parameters
    ----------
    kind
        The verdict.
    now
        What there is now.
    then
        What to change to; None if nothing is better for all.
    entered
        What to enter into a batch system: the same, or the best of what can be entered; None if there is nothing, or
        the replay does not match.
    shortest
        What has the shortest mean wait, whoever waits longer for it.
    matches
        Whether the replay is near enough to what the log records.
    """

    kind: Kind
    now: Option
    then: Option | None
    entered: Option | None
    shortest: Option
    matches: bool = True


def judge(options: Sequence[Option], now: Option, calibration: Calibration | None) -> Verdict:
    """Return what to do.

    A change is advised if under some order and threshold the mean wait is at least 5 % shorter, on the log and in the
    median resample, and shorter in nine of ten resamples; and the longest wait is at most 1.1 times that of now, the
    99th percentile 1.5 times (or a minute more). Of several, the one with the shortest mean wait on the log.

    Parameters
    ----------
    options
        All that was tried.
    now
        That of them which there is now.
    calibration
        How far the replay under it is from the log; None if the log does not say.
    """
    tried = choices(options, now)
    shortest = min(tried, key=_mean)
    good = [each for each in tried if each.mean_h <= (1 - _GAIN) * now.mean_h and each.is_sure and each.spares(now)]
    then = min(good, key=_mean, default=None)
    entered = min((each for each in good if each.policy in PRIORITIES), key=_mean, default=None)
    kind: Kind = "change" if then is not None else "do not change"
    if now.mean_h < _SHORT_H or shortest.mean_h > (1 - _GAIN) * now.mean_h:
        kind, then, entered = "hardly matters", None, None
    matches = calibration is None or calibration.agreement != "poor"
    return Verdict(kind, now, then, entered if matches else None, shortest, matches)


def choices(options: Sequence[Option], now: Option) -> list[Option]:
    """Return what there is to choose from: no other backfilling than EASY, except what there is now."""
    return [option for option in options if option is now or option.policy not in BACKFILLINGS]


def _mean(option: Option) -> tuple[float, bool]:
    """Return the mean wait; of equal ones, what has no threshold comes first."""
    return option.mean_h, option.threshold_h is not None


def sentences_of(verdict: Verdict) -> Iterator[str]:
    """Hand out the verdict in sentences: the first says what to do, the last what to enter."""
    now, then, shortest = verdict.now, verdict.then, verdict.shortest
    doubt = "" if verdict.matches else "This replay does not match your machine, and what follows is of another one. "
    if then is not None:
        easy = ", with EASY backfilling" if now.policy in BACKFILLINGS else ""
        yield f"{doubt}Change: to {then}{easy}."
        yield _gain(then, now)
    elif verdict.kind == "hardly matters":
        yield (
            f"{doubt}The order hardly matters here: the mean wait under {now} is {span(now.mean_h)}, and under the "
            f"best that was tried {span(shortest.mean_h)}."
        )
    else:
        yield (
            f"{doubt}Do not change: of what was tried, nothing is surely better than {now} unless some wait longer "
            "for it."
        )
    if (
        verdict.kind != "hardly matters"
        and shortest is not then
        and shortest.mean_h < (1 - _GAIN) * (then or now).mean_h
    ):
        starves = ": that is starvation" if shortest.longest_h > _STARVES * now.longest_h else ""
        yield (
            f"If only the mean counted: {shortest}, {span(shortest.mean_h)}, with a longest wait of "
            f"{span(shortest.longest_h)} ({span(now.longest_h)} now){starves}."
        )
    if then is not None and verdict.matches:
        yield _to_enter(then, verdict.entered, now)


def _gain(then: Option, now: Option) -> str:
    """Return how much a change is worth."""
    low, middle, high = np.percentile(100 * then.changes, (10, 50, 90))
    shorter = int((then.changes < 0).sum())
    return (  # round: 0 has no sign
        f"The mean wait would have been {span(then.mean_h)} instead of {span(now.mean_h)}; on resamples of your log it "
        f"changes by {round(middle)} % in the median ({round(low)} % and {round(high)} % are the 10th and the 90th "
        f"percentile), and is shorter in {shorter} of {len(then.changes)}. The longest wait would have been "
        f"{span(then.longest_h)} ({span(now.longest_h)}), the 99th percentile {span(then.p99_h)} ({span(now.p99_h)})."
    )


def _to_enter(then: Option, entered: Option | None, now: Option) -> str:
    """Return what can be entered into a batch system."""
    if then.policy == "FCFS":
        return "Slurm can do it: with PriorityType=priority/multifactor and no weight but PriorityWeightAge."
    why = "Slurm has no threshold" if then.threshold_h is not None else "Slurm has no such order"
    if entered is None:
        return f"{why}, and of its priorities that were tried, none is surely better unless some wait longer for it."
    where = "The lines are in files/slurm.conf.txt, those for PBS in files/pbs.txt."
    if entered is then:
        return f"Slurm can do it. {where}"
    part = (now.mean_h - entered.mean_h) / (now.mean_h - then.mean_h)
    return (
        f"{why}; what it can do is a {entered}: {round(100 * part)} % of the gain, a mean wait of "
        f"{span(entered.mean_h)} and a longest one of {span(entered.longest_h)}. {where}"
    )


# -- who waits longer -------------------------------------------------------------------------------


def worse_for(now: Schedule, then: Schedule) -> Iterator[str]:
    """Hand out for whom the mean wait gets longer: users, jobs of a size, jobs of a limit."""
    log = now.workload
    both = now.counted & ~np.isnan(now.start_s) & ~np.isnan(then.start_s)
    before_s, after_s = (schedule.start_s[both] - log.submit_s[both] for schedule in (now, then))
    users, place, counts = np.unique(log.user_id[both], return_inverse=True, return_counts=True)
    mean_before, mean_after = (np.bincount(place, wait_s) / counts for wait_s in (before_s, after_s))
    regular = (counts >= _REGULAR) & (users >= 0)
    longer = regular & _is_longer(mean_before, mean_after)
    if regular.sum() > 1:
        some = f"{int(regular.sum()):,} users with {_REGULAR} jobs or more"
        yield f"Of {some}, {int(longer.sum()):,} {'waits' if longer.sum() == 1 else 'wait'} longer on average."
    tops = np.unique(np.maximum(np.floor(np.array(_PARTS) * now.cores), 1))
    sizes, limits = np.searchsorted(tops, log.cores[both]), np.searchsorted(_LIMITS_H, log.estimate_s[both] / HOUR)
    found = [
        *_classes(sizes, [f"of {name} cores" for name in _spans(tops, "")], before_s, after_s),
        *_classes(limits, [f"with limits of {name}" for name in _spans(_LIMITS_H, " h")], before_s, after_s),
    ]
    if found:
        who, before, after = max(found, key=lambda one: one[2] - one[1])
        yield f"Jobs {who} pay most: they wait {span(after / HOUR)} on average instead of {span(before / HOUR)}."


def _spans(tops: Sequence[float] | Floats, what: str) -> Iterator[str]:
    """Hand out the names of classes that reach up to these numbers."""
    low = 0.0
    for top in tops:
        if low == 0:
            yield f"up to {top:,.0f}{what}"
        else:
            yield f"more than {low:,.0f}{what}" + ("" if top == tops[-1] else f" up to {top:,.0f}{what}")
        low = top


def _is_longer(before_s: Floats, after_s: Floats) -> NDArray[np.bool_]:
    """Return where a mean wait is longer by more than 5 % and a minute."""
    found: NDArray[np.bool_] = after_s > np.maximum((1 + _GAIN) * before_s, before_s + MINUTE)
    return found


def _classes(
    of: NDArray[np.intp], names: Sequence[str], before_s: Floats, after_s: Floats
) -> Iterator[tuple[str, float, float]]:
    """Hand out the classes of jobs that wait longer: name, mean wait before and after, in seconds."""
    for number, name in enumerate(names):
        mine = of == number
        if mine.any():
            before, after = before_s[mine].mean(), after_s[mine].mean()
            if _is_longer(before, after):
                yield name, float(before), float(after)
