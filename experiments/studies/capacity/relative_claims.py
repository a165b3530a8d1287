"""The claims of the paper on how the heuristics stand to each other, across workloads and settings (section 6)."""

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from experiments.campaigns.claims import Claim
from experiments.campaigns.families import largest
from experiments.on_machines import ASAP, FIRST_FIT, FIVE, TARGETED
from experiments.studies.capacity.measures import (
    About,
    Evidence,
    Family,
    deciding,
    judged_by,
    mean_of,
    members_of,
    scope_of,
    shown,
)
from experiments.studies.capacity.paper import SIMILAR
from experiments.studies.capacity.results import CapacityResults
from experiments.studies.capacity.settings import CENTRE, SWEPT

if TYPE_CHECKING:
    import pandas as pd

_RANGES = "radius"
_WHERE = (("machines", "section 6.1", "figure 1"), ("period_s", "section 6.2", "figure 2"))


def relative_claims(found: CapacityResults) -> Iterator[Claim]:
    """Hand out the claims about all workloads, then those workload by workload.

    Parameters
    ----------
    found
        The results.
    """
    each = [About(found, name) for name in found.workloads if name != "LogScaleU"]
    yield from _workload_matters_little(found, each)
    yield _not_always_least(found, each)
    for about in each:
        yield from _kept(about)
        yield from _decent(about)


def _standing(about: About, heuristic: str, points: list[dict[str, object]]) -> "pd.Series[float]":
    """Return the goodput of a heuristic less the mean of the five, mean of some points, walk by walk."""
    return mean_of(
        {
            f"{shown(point)} {other}": about.less("goodput", heuristic, other, **point)
            for point in points
            for other in FIVE
        }
    )


def _workload_matters_little(found: CapacityResults, each: list[About]) -> Iterator[Claim]:
    """Sections 6.1 and 6.2: the kind of workload has a limited influence on how the heuristics compare."""
    for factor, source, figure in _WHERE:
        family: Family = {}
        if len(each) > 1 and all(about.swept(factor) for about in each):
            standing = {
                (about.workload, name): _standing(about, name, about.points(factor)) for about in each for name in FIVE
            }
            family = {
                f"{name} on {one.workload} against {other.workload}": standing[one.workload, name]
                - standing[other.workload, name]
                for one, other in combinations(each, 2)
                for name in FIVE
            }
        bounds = {"at_least": -SIMILAR, "at_most": SIMILAR}
        yield judged_by(
            deciding(found, family, bounds),
            text=f"How the heuristics compare depends little on the workload: within 1.5 points, along {figure}",
            source=source,
            measure="goodput less the mean of the five heuristics, "
            f"mean along {figure}: on one workload less that on another",
            scope=scope_of((factor,), "neither"),
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )


def _not_always_least(found: CapacityResults, each: list[About]) -> Claim:
    """Section 6.4: the maximum stretch of TargetStretch is not always the least."""
    family = {
        f"{about.workload} {shown(point)} {name}": about.log_ratio("max_stretch", "TargetStretch", name, **point)
        for about in each
        for point in about.points()
        for name in ASAP
    }
    members, note = members_of(found, family, ratio=True)
    return judged_by(
        Evidence(largest(members), note) if members else None,
        text="In maximum stretch TargetStretch is not always better than the two ASAP",
        source="section 6.4",
        measure="max_stretch of TargetStretch over that of each of the two, where it is largest of all settings and "
        "workloads (geometric means)",
        more_than=1.0,
        scope=scope_of(tuple(SWEPT), "hold", heuristics=TARGETED),
    )


def _kept(about: About) -> Iterator[Claim]:
    """Section 6.3: the heuristics keep their relative performance when the range becomes wider."""
    swept = about.swept(_RANGES)
    family = {
        f"{name} from {swept[0]} to {value}": _standing(about, name, [{_RANGES: value}])
        - _standing(about, name, [{_RANGES: swept[0]}])
        for value in swept[1:]
        for name in FIVE
    }
    yield about.claim(
        "The heuristics keep their relative performance when the range becomes wider: within 1.5 points", "section 6.3",
        "goodput less the mean of the five heuristics, with a wider range less with the narrowest", family,
        over=(_RANGES,), at_least=-SIMILAR, at_most=SIMILAR,
    )  # fmt: skip


def _decent(about: About) -> Iterator[Claim]:
    """Section 6.4, summary: TargetStretch is decent where machines are few or the variability is high."""
    few, wide = SWEPT["machines"][0], SWEPT[_RANGES][-1]
    points: list[dict[str, object]] = [{"machines": few}, {_RANGES: wide}]
    yield about.claim(
        "TargetStretch is decent (not below first fit) where machines are few, and where the variability is high",
        "section 6.4", "goodput less that of first fit, aware or not, with the fewest machines and with the widest "
        "range", about.compared(about.less, "goodput", ["TargetStretch"], FIRST_FIT, points),
        over={"machines": (few, CENTRE["machines"]), _RANGES: (CENTRE[_RANGES], wide)},
        heuristics=("TargetStretch", *FIRST_FIT), at_least=0.0,
    )  # fmt: skip
