"""Evidence on the claims of the capacity study: families of paired differences, and the numbers of the text."""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.claims import Claim, Levels, Scope
from experiments.campaigns.families import Measured, combined, everywhere, largest, mean_among, percentile
from experiments.campaigns.statistics import Effect
from experiments.on_machines import ASAP, FIRST_FIT, FIVE, TARGETED
from experiments.studies.capacity.paper import NumberClaim
from experiments.studies.capacity.results import CapacityResults, exponential, logarithms
from experiments.studies.capacity.settings import BORG, CENTRE, SWEPT

DECIDE: Final = "--scale paper"
"""What decides a claim that is undecided."""
Family = Mapping[str, "pd.Series[float]"]
"""Values by the name of what they are of, each one value per job trace and walk, or per walk."""

FOUR: Final = tuple(name for name in FIVE if name != "TargetStretch")
"""The heuristics that leave no core idle while jobs wait: all but TargetStretch."""
WORKLOADS: Final = ("Uniform", "LogScale", "3types", BORG)
"""Those of the paper's figures."""
APart: TypeAlias = Literal["fail", "hold", "neither"]
_HELD: Final = ("change", "cores_per_machine", "jobs_per_week")
_WHISKER: Final = 0.10
_FEW_FOR_WHISKER: Final = "of so few walks none is surely below the 10th percentile: the interval begins at 0"


def scope_of(
    over: Sequence[str] | Levels,
    a_part_may: APart = "fail",
    *,
    workloads: Sequence[str] = WORKLOADS,
    heuristics: Sequence[str] = FIVE,
) -> Scope:
    """Return the scope of a sentence: the centre, and what it is about besides.

    Parameters
    ----------
    over
        The sweeps of the paper along which it is; or other values, by factor. What is not named is as at the centre.
    a_part_may
        See `experiments.campaigns.Scope`.
    workloads, heuristics
        Those that it is about.
    """
    moved = over if isinstance(over, Mapping) else {name: SWEPT[name] for name in over}
    held = {name: (CENTRE[name],) for name in _HELD}
    along = {name: moved.get(name, (CENTRE[name],)) for name in SWEPT}
    return Scope(
        at_each={"workload": workloads, **held}, along={**along, "heuristic": heuristics}, a_part_may=a_part_may
    )


class Evidence(NamedTuple):
    """What a claim is judged by, and what is to be said of it."""

    effect: Effect
    note: str = ""


def judged_by(
    evidence: Evidence | None,
    *,
    note: str = "",
    to_decide: str = DECIDE,
    **claim: Any,  # noqa: ANN401  those of Claim
) -> Claim:
    """Return a claim with the evidence on it: its effect, and what is to be said of it before the claim's own note.

    Parameters
    ----------
    evidence
        None if what it is about was not measured.
    note, to_decide, claim
        See `experiments.campaigns.claims.Claim`.
    """
    effect, found = (None, "") if evidence is None else evidence
    return Claim(effect=effect, note="; ".join(part for part in (found, note) if part), to_decide=to_decide, **claim)


def rows_of(family: Family) -> tuple[pd.DataFrame, int]:
    """Return a family as a table, one row per walk and one column per member, and how many walks were left out.

    The job traces of a walk are averaged: they met the same walk. Left out are walks that lack a value of some member
    on some job trace. There are no rows if a member has no values: what was not run says nothing of all.
    """
    table = _by_walk(family)
    there = table.dropna()
    return there, len(table) - len(there)


def _by_walk(family: Family) -> pd.DataFrame:
    """Return means over the job traces, one row per walk and one column per member; NaN where a value is missing."""
    columns: dict[str, pd.Series[float]] = {}
    for name, each in family.items():
        walks = each.groupby(level=REPLICATION)
        columns[name] = walks.mean().where(walks.count() == walks.size())
    return pd.DataFrame(columns)


def mean_of(family: Family) -> "pd.Series[float]":
    """Return the mean of a family's members, walk by walk; of walks that lack a member it is NaN."""
    return _by_walk(family).mean(axis="columns", skipna=False).rename_axis(REPLICATION)


def members_of(found: CapacityResults, family: Family, *, ratio: bool = False) -> tuple[dict[str, Measured], str]:
    """Return the mean of each member of a family over the walks, and what is to be said of walks that were left out.

    Parameters
    ----------
    found
        The results.
    family
        Values by name; of ratios, their logarithms.
    ratio
        Whether the values are logarithms: the effects are geometric means of ratios then.
    """
    rows, left_out = rows_of(family)
    if rows.empty:
        return {}, ""

    def measured(name: object) -> Measured:
        values, seed = rows[name].to_numpy(dtype=float), found.results.seed
        if ratio:
            return lambda members: exponential(mean_among(values, members, seed=seed))
        return lambda members: mean_among(values, members, seed=seed)

    note = f"{left_out} of {left_out + len(rows)} walks lack a value and are left out" if left_out else ""
    return {str(name): measured(name) for name in rows}, note


def deciding(
    found: CapacityResults, family: Family, bounds: Mapping[str, float], *, ratio: bool = False
) -> Evidence | None:
    """Return what decides whether all of a family keep to bounds; None if not all of it was measured.

    Parameters
    ----------
    found, family, ratio
        See `members_of`.
    bounds
        Those of the claim; of ratios, ratios. See `experiments.campaigns.families.everywhere`.
    """
    members, left_out = members_of(found, family, ratio=ratio)
    if not members:
        return None
    name, effect, count = everywhere(members, bounds)
    note = f"{name}, of {count} comparisons: the one that decides" if count > 1 else ""
    return Evidence(effect, "; ".join(part for part in (note, left_out) if part))


class About:
    """What is measured on one workload, and what is claimed about it.

    Parameters
    ----------
    found
        The results.
    workload
        The workload.
    """

    def __init__(self, found: CapacityResults, workload: str) -> None:
        self.found = found
        self.workload = workload

    def of(self, measure: str, heuristic: str, **moved: object) -> "pd.Series[float]":
        """Return a measure of a heuristic at a point, a value per job trace and walk."""
        return self.found.values(measure, self.workload, heuristic, **moved)

    def less(self, measure: str, one: str, other: str, **moved: object) -> "pd.Series[float]":
        """Return a measure of one heuristic less that of another."""
        return self.of(measure, one, **moved) - self.of(measure, other, **moved)

    def log_ratio(self, measure: str, one: str, other: str, **moved: object) -> "pd.Series[float]":
        """Return the logarithm of the ratio of a measure, of one heuristic to another."""
        return logarithms(self.of(measure, one, **moved)) - logarithms(self.of(measure, other, **moved))

    def swept(self, name: str) -> list[Any]:
        """Return those of the paper's values of a factor that were run on this workload; none if there is one only."""
        values = [value for value in self.found.swept(name, self.workload) if value in SWEPT[name]]
        return values if len(values) > 1 else []

    def points(self, *names: str) -> list[dict[str, object]]:
        """Return the points of some sweeps, by default of all three of the paper, the centre first."""
        centre = self.found.centre
        return [{}] + [
            {name: value}
            for name in names or SWEPT
            for value in self.swept(name)
            if value != centre[name]
        ]  # fmt: skip

    def compared(
        self,
        how: Callable[..., "pd.Series[float]"],
        measure: str,
        ones: Sequence[str],
        others: Sequence[str],
        points: Sequence[Mapping[str, object]],
    ) -> dict[str, "pd.Series[float]"]:
        """Return the comparison of each of some heuristics with each of others, at each of some points."""
        return {
            f"{one} against {other} at {shown(point)}": how(measure, one, other, **point)
            for point in points
            for one in ones
            for other in others
            if one != other
        }

    def claim(
        self,
        text: str,
        source: str,
        measure: str,
        family: Family,
        *,
        number: str = "",
        ours: bool = False,
        note: str = "",
        unit: str = "",
        ratio: bool = False,
        over: Sequence[str] | Levels = (),
        a_part_may: APart = "fail",
        workloads: Sequence[str] = (),
        heuristics: Sequence[str] = FIVE,
        **bounds: Any,  # noqa: ANN401  numbers; mypy would take them for the other keywords, too
    ) -> Claim:
        """Return a claim that all of a family keep to the bounds.

        Parameters
        ----------
        text, source, measure, number, ours, note, unit
            See `experiments.campaigns.claims.Claim`; the text goes on with the workload's name.
        family
            Values by the name of what they are of; none if it was not measured.
        ratio
            Whether they are logarithms of ratios; the bounds are ratios then.
        over, a_part_may, workloads, heuristics
            See `scope_of`; by default it is about this workload, at the centre.
        bounds
            Those of the claim.
        """
        scope = scope_of(over, a_part_may, workloads=workloads or (self.workload,), heuristics=heuristics)
        return judged_by(
            deciding(self.found, family, bounds, ratio=ratio),
            text=f"{text}, on {self.workload}",
            source=source,
            number=number,
            ours=ours,
            measure=measure,
            note=note,
            unit=unit,
            scope=scope,
            **bounds,
        )

    def one(self, values: "pd.Series[float]") -> Family:
        """Return values as a family of one."""
        return {"": values}


def shown(point: Mapping[str, object]) -> str:
    """Return a point as it is named in notes."""
    return ", ".join(f"{name} {value}" for name, value in point.items()) or "the centre"


# -- the numbers of the text ------------------------------------------------------------------------


def measured(found: CapacityResults, printed: NumberClaim) -> Evidence | None:
    """Return what the text prints a number of, as it is found here; None if not all of it was run.

    Parameters
    ----------
    found
        The results.
    printed
        The number, with the workload of which it is said, and what is measured.
    """
    workload = printed.workload
    names = [workload] if workload else [name for name in found.workloads if name != "LogScaleU"]
    each = [About(found, name) for name in names if name in found.workloads]
    match printed.quantity:
        case "whisker":
            return _whisker(each)
        case "stretches" | "stretches of the two ASAP":
            names = list(TARGETED if printed.quantity == "stretches" else ASAP)
            return deciding(found, _stretches(each, names), printed.bounds(), ratio=True)
        case "spread":
            return _largest(found, _along(each, ("machines",), list(permutations(FIVE, 2))))
        case _:
            pairs = [(heuristic, other) for heuristic in ASAP for other in FIRST_FIT]
            sweeps = ("machines",) if printed.quantity == "machines gain" else tuple(SWEPT)
            return _largest(found, _along(each, sweeps, pairs, ratio=printed.quantity == "relative gain"))


def scope_of_number(printed: NumberClaim) -> Scope:
    """Return what of the design a number of the text is about."""
    workloads = (printed.workload,) if printed.workload else WORKLOADS
    match printed.quantity:
        case "whisker":  # whether some of them fall below, or none does
            may: APart = "fail" if printed.less_than is None else "hold"
            return scope_of(("period_s",), may, workloads=workloads, heuristics=FIRST_FIT)
        case "spread":
            return scope_of(("machines",), "neither", workloads=workloads)
        case "machines gain":
            return scope_of(("machines",), "neither", workloads=workloads, heuristics=(*FIRST_FIT, *ASAP))
        case "stretches":
            return scope_of(tuple(SWEPT), "neither", workloads=workloads)
        case _:
            return scope_of(tuple(SWEPT), "neither", workloads=workloads, heuristics=(*FIRST_FIT, *ASAP))


def _along(
    each: Sequence["About"], sweeps: Sequence[str], pairs: Sequence[tuple[str, str]], *, ratio: bool = False
) -> dict[str, "pd.Series[float]"]:
    """Return the goodput of one of each pair less that of the other along sweeps; of ratios less 1, the ratio's."""
    if not all(one.swept(name) for one in each for name in sweeps):
        return {}
    return {
        f"{about.workload} {shown(point)} {one} {other}": about.of("goodput", one, **point)
        / about.of("goodput", other, **point)
        - 1.0
        if ratio
        else about.less("goodput", one, other, **point)
        for about in each
        for point in about.points(*sweeps)
        for one, other in pairs
    }


def _largest(found: CapacityResults, family: Family) -> Evidence | None:
    """Return the largest mean of a family's members; None if it was not measured."""
    members, note = members_of(found, family)
    return Evidence(largest(members), note) if members else None


def _stretches(each: Sequence["About"], names: Sequence[str]) -> Family:
    """Return how many times as long the maximum stretch of each first fit is as that of each other, over settings."""
    return {
        f"{first} against {name}": mean_of(
            {
                f"{about.workload} {shown(point)}": about.log_ratio("max_stretch", first, name, **point)
                for about in each
                for point in about.points()
            }
        )
        for name in names
        for first in FIRST_FIT
    }


def _whisker(each: Sequence["About"]) -> Evidence | None:
    """Return the least lower whisker of first fit along the periods, of a box over walks and job traces.

    The percentile of all job traces together lies between the least and the largest of those of single job traces, of
    which the walks are independent; goodput is never below 0.
    """
    settings = [
        goodput
        for about in each
        for value in about.swept("period_s")
        for heuristic in FIRST_FIT
        for goodput in [about.of("goodput", heuristic, period_s=value).dropna()]
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
        walks.append(min(each.replications for each in traces))
        if any(each.low is None or each.high is None for each in traces):
            continue
        lows.append(min(each.low for each in traces if each.low is not None))
        highs.append(max(each.high for each in traces if each.high is not None))
    known = len(lows) == len(settings)
    estimate = min(float(goodput.quantile(_WHISKER)) for goodput in settings)
    effect = Effect(estimate, min(lows) if known else None, min(highs) if known else None, min(walks))
    return Evidence(effect, _FEW_FOR_WHISKER if effect.low == 0.0 else "")


def best_share(found: CapacityResults) -> Evidence | None:
    """Return the share of all settings and workloads in which one of the two ASAP has the most goodput.

    In as many settings as surely so, to as many as may be so, by intervals of all differences that hold together.
    """
    settings = [
        (About(found, workload), point)
        for workload in found.workloads
        if workload != "LogScaleU"
        for point in About(found, workload).points()
    ]
    others = [name for name in FIVE if name not in ASAP]
    family = {
        f"{about.workload} {shown(point)} {one} {other}": about.less("goodput", one, other, **point)
        for about, point in settings
        for one in ASAP
        for other in others
    }
    members, note = members_of(found, family)
    if not members:
        return None
    return Evidence(combined([each(len(members)) for each in members.values()], _led), note)


def _led(ahead: Sequence[float]) -> float:
    """Return the share of settings in which one of the two ASAP is not behind any other, given all differences."""
    rows = np.asarray(ahead).reshape(-1, len(ASAP), len(FIVE) - len(ASAP))
    return float((rows.min(axis=2).max(axis=1) >= 0.0).mean())
