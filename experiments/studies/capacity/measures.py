"""Measures that no column of the capacity study has: whiskers, trends, spreads, and what compares workloads."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Final

import numpy as np
import pandas as pd

from experiments.campaigns import Effect
from experiments.campaigns.families import Evidence, combined, percentile
from experiments.campaigns.judging import Family, StudyResults, Values, mean_of, members_of
from experiments.campaigns.sentences import Sentence
from experiments.policy import ASAP, FIRST_FIT, FIVE

_WHISKER: Final = 0.10
_FEW_FOR_WHISKER: Final = "of so few walks none is surely below the 10th percentile: the interval begins at 0"


def whisker(found: StudyResults, said: Sentence, on: Sequence[str]) -> Evidence | None:
    """Return the least lower whisker of first fit along the periods, of a box over walks and job traces.

    The percentile of all job traces together lies between the least and the largest of those of single job traces, of
    which the walks are independent; goodput is never below 0.
    """
    settings = [
        found.value("goodput", heuristic, workload, period_s=value).dropna()
        for workload in on
        for value in found.run_along(said.compared, "period_s", workload)
        for heuristic in FIRST_FIT
    ]
    if not settings or any(goodput.empty for goodput in settings):
        return None
    count = sum(goodput.index.get_level_values("trace").nunique() for goodput in settings)
    lows, highs, walks = [], [], []
    for goodput in settings:
        traces = [
            percentile(part.to_numpy(dtype=float), _WHISKER, count, least=0.0)
            for _, part in goodput.groupby(level="trace")
        ]
        walks += [each.replications for each in traces]
        low, high = combined(traces, min).low, combined(traces, max).high
        if low is not None and high is not None:
            lows.append(low)
            highs.append(high)
    known = len(lows) == len(settings)
    estimate = min(float(goodput.quantile(_WHISKER)) for goodput in settings)
    effect = Effect(estimate, min(lows) if known else None, min(highs) if known else None, min(walks))
    return Evidence(effect, _FEW_FOR_WHISKER if effect.low == 0.0 else "")


def best_share(found: StudyResults, said: Sentence, on: Sequence[str]) -> Evidence | None:
    """Return the share of all settings and workloads in which one of the two ASAP has the most goodput.

    In as many settings as surely so, to as many as may be so, by intervals of all differences that hold together.
    """
    others = [name for name in FIVE if name not in ASAP]
    family: Family = {
        f"{workload} {found.at(point)} {one} {other}": found.value("goodput", one, workload, **point)
        - found.value("goodput", other, workload, **point)
        for workload in on
        for point in found.points(said.compared, workload)
        for one, other in product(ASAP, others)
    }
    members, note = members_of(found, family)
    if not members:
        return None

    def led(ahead: Sequence[float]) -> float:
        """Return the share of settings in which one of the two is not behind any other, given all differences."""
        rows = np.asarray(ahead).reshape(-1, len(ASAP), len(others))
        return float((rows.min(axis=2).max(axis=1) >= 0.0).mean())

    return Evidence(combined([each(len(members)) for each in members.values()], led), note)


def apart(found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the goodput of a heuristic less the mean of the five, on one workload less that on another."""
    points = {workload: found.points(said.compared, workload) for workload in on}
    if len(on) < 2 or any(len(each) < 2 for each in points.values()):
        return {}
    standing = {
        (workload, name): mean_of(
            [
                found.value("goodput", name, workload, **point) - found.value("goodput", other, workload, **point)
                for point in points[workload]
                for other in FIVE
            ]
        )
        for workload, name in product(on, FIVE)
    }
    return {
        f"{name} on {one} against {other}": standing[one, name] - standing[other, name]
        for one, other in combinations(on, 2)
        for name in FIVE
    }


def trend(found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the gain in goodput per threefold period, by least squares over the periods, under each heuristic."""
    (workload,), slopes = on, dict[str, Values]()
    periods = found.run_along(said.compared, "period_s", workload)
    if not periods:
        return slopes
    logs = np.log(np.array(periods, dtype=float))
    weights = (logs - logs.mean()) / ((logs - logs.mean()) ** 2).sum() * np.log(3.0)
    for name in FIVE:
        each = [
            found.value("goodput", name, workload, period_s=period) * weight
            for period, weight in zip(periods, weights, strict=True)
        ]
        slopes[name] = pd.concat(each, axis=1).sum(axis=1, min_count=len(each))
    return slopes


def spread(found: StudyResults, said: Sentence, on: Sequence[str]) -> dict[str, Values]:
    """Return the absolute deviation of goodput with the longest period, less twice that with the shortest."""
    (workload,) = on
    periods = found.run_along(said.compared, "period_s", workload)

    def deviation(name: str, period: object) -> Values:
        each = found.value("goodput", name, workload, period_s=period)
        return (each - each.groupby(level="trace").transform("mean")).abs()  # how walks differ, not job traces

    return {name: deviation(name, periods[-1]) - 2.0 * deviation(name, periods[0]) for name in FIVE if periods}


MEASURES: Final = {
    "apart": apart,
    "best share": best_share,
    "spread": spread,
    "trend": trend,
    "whisker": whisker,
}
"""The measures by the names that rows have for them."""
