"""Verdict: whether to change the order of a queue, how much that is worth, and who waits longer for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import Calibration
from experiments.inputs import span
from simmodels.ground.numbers import Floats
from simmodels.schedule import Schedule
from simmodels.units import HOUR, MINUTE

Kind = Literal["change", "do not change", "hardly matters"]

ORDERS_IN_WORDS: Final = {
    "FCFS": "first come, first served",
    "LCFS": "last come, first served",
    "SPF": "shortest limit first",
    "LPF": "longest limit first",
    "SQF": "fewest cores first",
    "LQF": "most cores first",
    "SEXP": "smallest expansion factor first",
    "LEXP": "largest expansion factor first",
    "SRF": "shortest limit per core first",
    "LRF": "longest limit per core first",
    "SAF": "smallest limit x cores first",
    "LAF": "largest limit x cores first",
}
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


def in_words(threshold_h: object) -> str:
    """Return a threshold in words."""
    return "without a threshold" if threshold_h is None else f"with a threshold of {threshold_h:g} h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An order with a threshold, and how it does.

    Parameters
    ----------
    order, threshold_h
        Which order; after how many hours a job goes before all others, None for never.
    mean_h, p99_h, longest_h
        The mean wait, the 99th percentile and the longest wait on the log, in hours.
    changes
        float64[resamples], how much longer the mean wait is than now, as a part of it.
    """

    order: str
    threshold_h: float | None
    mean_h: float
    p99_h: float
    longest_h: float
    changes: NDArray[np.float64]

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

    def __str__(self) -> str:
        """Return it in words."""
        words = ORDERS_IN_WORDS.get(self.order)
        said = self.order if words is None else f"{self.order} ({words})"
        return f"{said} {in_words(self.threshold_h)}"


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
    shortest
        What has the shortest mean wait, whoever waits longer for it.
    matches
        Whether the replay may be taken for that of the machine.
    """

    kind: Kind
    now: Option
    then: Option | None
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
    shortest = min(options, key=lambda option: option.mean_h)
    good = [each for each in options if each.mean_h <= (1 - _GAIN) * now.mean_h and each.is_sure and each.spares(now)]
    then = min(good, key=lambda option: option.mean_h) if good else None
    kind: Kind = "change" if then is not None else "do not change"
    if now.mean_h < _SHORT_H or shortest.mean_h > (1 - _GAIN) * now.mean_h:
        kind, then = "hardly matters", None
    matches = calibration is None or calibration.agreement != "poor"
    return Verdict(kind, now, then, shortest, matches)


def sentences_of(verdict: Verdict) -> Iterator[str]:
    """Hand out the verdict in sentences: the first says what to do."""
    now, then, shortest = verdict.now, verdict.then, verdict.shortest
    if not verdict.matches:
        yield "This replay does not match your machine: do not act on what follows, which is of another one."
    if then is not None:
        yield f"Change: to {then}."
        yield _gain(then, now)
    elif verdict.kind == "hardly matters":
        yield (
            f"The order hardly matters here: the mean wait under {now} is {span(now.mean_h)}, and under the best that "
            f"was tried {span(shortest.mean_h)}."
        )
    else:
        yield f"Do not change: of what was tried, nothing is surely better than {now} unless some wait longer for it."
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


def _gain(then: Option, now: Option) -> str:
    """Return how much a change is worth."""
    low, middle, high = np.percentile(100 * then.changes, (10, 50, 90))
    shorter = int((then.changes < 0).sum())
    return (
        f"The mean wait would have been {span(then.mean_h)} instead of {span(now.mean_h)}; on resamples of your log it "
        f"changes by {middle:.0f} % in the median ({low:.0f} % and {high:.0f} % are the 10th and the 90th percentile), "
        f"and is shorter in {shorter} of {len(then.changes)}. The longest wait would have been {span(then.longest_h)} "
        f"({span(now.longest_h)}), the 99th percentile {span(then.p99_h)} ({span(now.p99_h)})."
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
