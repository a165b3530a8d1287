"""Verdict: whether to change the order of a queue, by what was simulated and by how far the replay is from the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import Calibration
from experiments.studies.advice.settings import BACKFILLINGS, BY_LIMITS, ENTERABLE, PRIORITIES, in_words
from experiments.studies.multifactor import made_up_for
from simmodels import TWELVE_ORDERS
from simmodels.policies.orders import find_order

Kind = Literal["change", "do not change", "hardly matters", "no match"]

GAIN: Final = 0.05
"""A mean wait that gets shorter by less is not worth a change."""
_SURE: Final = 0.9
"""In at least this share of the resamples the mean wait has to be shorter."""
_LONGEST: Final = 1.1
"""The longest wait may be this many times that of now ..."""
_P99: Final = 1.5
"""... and the 99th percentile this many times: what most gain, some pay, but nobody more than somebody does now."""
_STARVES: Final = 5.0
"""A longest wait that is this many times that of now is starvation."""
SHORT_H: Final = 1.0 / 60.0
"""A wait below this is hardly one: if the mean or the 95th percentile is, the machine is idle, ..."""
LITTLE: Final = 0.05
"""... and so it is if the mean wait is below this part of the mean runtime."""
_FEWEST: Final = 5
"""From fewer resamples nothing is concluded."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Option:
    """Something that a machine can have, and how it does.

    Parameters
    ----------
    policy, threshold_h
        Which of `settings.FIXED`; after how many hours a job goes before all others, None for never.
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
        return bool(np.median(self.changes) <= -GAIN and (self.changes < 0).mean() >= _SURE)

    def spares(self, now: "Option") -> bool:
        """Return whether hardly anybody waits longer than somebody does now."""
        slack_h = SHORT_H  # of nothing there is no multiple
        return self.longest_h <= _LONGEST * now.longest_h + slack_h and self.p99_h <= _P99 * now.p99_h + slack_h

    def starves(self, now: "Option") -> bool:
        """Return whether some job starves: it waits more than five times as long as any does now."""
        return self.longest_h > _STARVES * max(now.longest_h, SHORT_H)

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
        """Return it in words, as tables have it."""
        if self.policy in PRIORITIES:
            return f"multifactor priority ({made_up_for(*PRIORITIES[self.policy])})"
        if self.policy in TWELVE_ORDERS:
            return f"{self.policy} ({find_order(self.policy).about}) {in_words(self.threshold_h)}"
        return self.policy

    def in_words(self) -> str:
        """Return it as a part of a sentence, for people who do not know what a threshold is."""
        if self.policy in PRIORITIES:
            return f"a priority ({made_up_for(*PRIORITIES[self.policy])})"
        if self.policy not in TWELVE_ORDERS:
            return self.policy
        if self.policy == "FCFS":  # no threshold changes anything of it
            late = ""
        elif self.threshold_h is None:
            late = ", however long others wait"
        else:
            late = f"; jobs that have waited {self.threshold_h:g} h go first"
        return f"{self.policy} ({find_order(self.policy).about}{late})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to do.

    Parameters
    ----------
    kind
        The verdict; "no match" if the replay is too far from what the log records for any other.
    now
        What there is now.
    then
        What to change to, on the replayed machine: the best of what can be entered into Slurm or PBS; None if nothing
        of that is better for all.
    beyond
        What is better still by the same rule, but cannot be entered there; None if there is nothing.
    shortest
        What has the shortest mean wait, whichever jobs wait longer for it.
    wait_share
        The mean wait of now, as a part of the mean runtime.
    unlimited
        The share of the jobs that have no limit, if it is too large for advice on orders by limit; else 0.
    weak
        Whether the replay is not close to what the log records, or the log does not say.
    costly
        Whether there is something with surely shorter waits on average, for which some wait much longer.
    """

    kind: Kind
    now: Option
    then: Option | None
    beyond: Option | None
    shortest: Option
    wait_share: float
    unlimited: float
    weak: bool
    costly: bool

    @property
    def advised(self) -> Option | None:
        """What to change to, if that is the verdict."""
        return self.then if self.kind == "change" else None

    @property
    def remark(self) -> Option | None:
        """What is better still but cannot be entered, unless the replay does not match."""
        return None if self.kind == "no match" else self.beyond


def judge(
    options: Sequence[Option],
    now: Option,
    calibration: Calibration | None,
    *,
    mean_runtime_h: float = np.nan,
    unlimited: float = 0.0,
) -> Verdict:
    """Return what to do.

    A change is advised if under something that can be entered into Slurm or PBS the mean wait is at least 5 % shorter,
    on the log and in the median resample, and shorter in nine of ten resamples; and the longest wait is at most 1.1
    times that of now, the 99th percentile 1.5 times (or a minute more). Of several, the one with the shortest mean wait
    on the log. None is on an idle machine: the mean or the 95th percentile of the waits is below a minute, or the mean
    is below 5 % of the mean runtime. If the replay agrees poorly with the log, that is the verdict; if it agrees
    roughly, or nothing says, the verdict is weak: see `Calibration.agreement`.

    Parameters
    ----------
    options
        All that was tried.
    now
        That of them which there is now.
    calibration
        How far the replay under it is from the log; None if the log does not say.
    mean_runtime_h
        The mean runtime of the jobs, in hours; NaN if it does not matter.
    unlimited
        The share of the jobs that have no limit, if orders by limit are not to be advised for it; else 0.
    """
    tried = choices(options, now, unlimited=unlimited)
    shortest = min(tried, key=_mean)
    surely = [each for each in tried if each.mean_h <= (1 - GAIN) * now.mean_h and each.is_sure]
    good = [each for each in surely if each.spares(now)]
    then = min((each for each in good if each.policy in ENTERABLE), key=_mean, default=None)
    beyond = min(good, key=_mean, default=None)
    if then is not None and beyond is not None and beyond.mean_h >= then.mean_h:
        beyond = None
    kind: Kind = "change" if then is not None else "do not change"
    wait_share = now.mean_h / mean_runtime_h if mean_runtime_h > 0 else np.nan
    idle = min(now.mean_h, now.p95_h) < SHORT_H or wait_share < LITTLE
    if idle or shortest.mean_h > (1 - GAIN) * now.mean_h:
        kind, then, beyond = "hardly matters", None, None
    agreement = None if calibration is None else calibration.agreement
    if agreement == "poor":
        kind = "no match"
    return Verdict(
        kind=kind,
        now=now,
        then=then,
        beyond=beyond,
        shortest=shortest,
        wait_share=wait_share,
        unlimited=unlimited,
        weak=agreement != "close",
        costly=bool(surely) and not good,
    )


def choices(options: Sequence[Option], now: Option, *, unlimited: float) -> list[Option]:
    """Return what there is to choose from, beside what there is now.

    No other backfilling than EASY; and nothing that goes by limits, if too many jobs have none.
    """
    out = {*BACKFILLINGS, *(BY_LIMITS if unlimited else ())}
    return [option for option in options if option is now or option.policy not in out]


def front(options: Sequence[Option]) -> list[Option]:
    """Return the Pareto front of mean wait, 99th percentile and longest wait, by mean wait.

    Of several that are alike in all three, the first.
    """
    found: list[Option] = []
    for option in sorted(options, key=_three):
        if not any(all(a <= b for a, b in zip(_three(other), _three(option), strict=True)) for other in found):
            found.append(option)
    return found


def _three(option: Option) -> tuple[float, float, float]:
    return option.mean_h, option.p99_h, option.longest_h


def _mean(option: Option) -> tuple[float, bool]:
    """Return the mean wait; of equal ones, what has no threshold comes first."""
    return option.mean_h, option.threshold_h is not None
