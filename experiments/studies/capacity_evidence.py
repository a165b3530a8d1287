"""Evidence on the claims of the capacity study: families of paired differences, and the numbers that the text prints.

References
----------
Westfall and Young 1993, "Resampling-based multiple testing", chapter 2: bounds for a whole family at once, by the
largest deviation of any of its members in resamples.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.claims import Claim
from experiments.campaigns.statistics import Effect, bootstrap_rows
from experiments.on_machines import ASAP, FIRST_FIT, FIVE, TARGETED
from experiments.studies.capacity_paper import Quantity
from experiments.studies.capacity_results import SWEEPS, Found, logarithms

DECIDE: Final = "--scale paper"
"""What decides a claim that is undecided."""
Family = Mapping[str, "pd.Series[float]"]
"""Values by the name of what they are of, each a value per job trace and walk."""
Floats = NDArray[np.float64]

_FAMILY: Final = 0.90
"""Of the largest deviation, the upper end of an interval of 90 % is its 95th percentile."""
_WHISKER: Final = 10.0


class Decided(NamedTuple):
    """The member of a family that decides a claim about all of it, and how large the family is."""

    name: str
    effect: Effect
    members: int

    @property
    def note(self) -> str:
        """What is shown of it beside the claim."""
        return f"{self.name}, of {self.members} comparisons: the one that decides" if self.members > 1 else ""


def rows_of(family: Family) -> pd.DataFrame:
    """Return a family as a table, one row per walk and one column per member; the job traces are averaged.

    Members without values are left out, and walks that some member lacks.
    """
    columns = {name: each.dropna().groupby(level=REPLICATION).mean() for name, each in family.items()}
    there = {name: each for name, each in columns.items() if len(each)}
    return pd.DataFrame(there).dropna() if there else pd.DataFrame()


def simultaneous(family: Family, *, seed: int) -> dict[str, Effect]:
    """Return the mean of each member, with intervals of which all hold at once with a confidence of 95 %.

    Each interval reaches as many standard errors as the largest deviation of any member does in 95 % of the resamples
    of the walks; so what one member owes to luck is not taken for a finding, however many there are.
    They did so in 95 % of 200 families of 15 independent normal members with 30 walks, and in 92 % with 12.

    Parameters
    ----------
    family
        Values by name.
    seed
        The seed of the resampling.
    """
    rows = rows_of(family)
    if rows.empty:
        return {}
    values = rows.to_numpy(dtype=float)
    count, means = len(values), values.mean(axis=0)
    errors = values.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else np.zeros(len(means))
    scale = np.where(errors > 0, errors, np.inf)  # what does not vary does not deviate

    def largest(resampled: Floats) -> Floats:
        found: Floats = np.max(np.abs(resampled.mean(axis=-2) - means) / scale, axis=-1)
        return found

    reach = bootstrap_rows(values, largest, confidence=_FAMILY, seed=seed).high
    if reach is None:
        return {name: Effect(float(mean), None, None, count) for name, mean in zip(map(str, rows), means, strict=True)}
    # In resamples the errors are known, in the sample they are estimated: the same tail of Student's t.
    tail = stats.norm.sf(reach * math.sqrt(count / (count - 1)))
    reach = float(stats.t.isf(tail, count - 1))
    return {
        name: Effect(float(mean), float(mean - reach * error), float(mean + reach * error), count)
        for name, mean, error in zip(map(str, rows), means, errors, strict=True)
    }


def deciding(
    found: Found, family: Family, *, low: float = -math.inf, high: float = math.inf, ratio: bool = False
) -> Decided | None:
    """Return the member that decides whether all of a family keep to two bounds; None if there are no values.

    It is the one farthest outside, if the interval of one is outside a bound, and else the one that comes nearest.

    Parameters
    ----------
    found
        The results.
    family
        Values by name; of ratios, their logarithms.
    low, high
        The bounds; of ratios, ratios.
    ratio
        Whether the values are logarithms: the effect is a ratio then, of geometric means.
    """
    effects = simultaneous(family, seed=found.results.seed)
    if len(effects) == 1:
        name = next(iter(effects))
        single = found.effect(family[name])
        effects = {} if single is None else {name: single}
    if not effects:
        return None
    if ratio:
        low, high = (math.log(bound) if bound > 0 else -math.inf for bound in (low, high))

    def inside(effect: Effect) -> tuple[float, float]:
        near, far = _ends(effect)
        return min(far - low, high - near, 0.0), min(near - low, high - far)

    name = min(effects, key=lambda each: inside(effects[each]))
    effect = effects[name]
    return Decided(name, _exponential(effect) if ratio else effect, len(effects))


def _ends(effect: Effect) -> tuple[float, float]:
    """Return the ends of the interval; without one, the estimate twice."""
    if effect.low is None or effect.high is None:
        return effect.estimate, effect.estimate
    return effect.low, effect.high


def _exponential(effect: Effect) -> Effect:
    """Return the effect on logarithms as one on ratios."""
    ends = [None if end is None else math.exp(end) for end in (effect.low, effect.high)]
    return Effect(math.exp(effect.estimate), ends[0], ends[1], effect.replications, effect.confidence)


class About:
    """What is measured on one workload, and what is claimed about it.

    Parameters
    ----------
    found
        The results.
    workload
        The workload.
    """

    def __init__(self, found: Found, workload: str) -> None:
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
        """Return the values of a factor along which there is a sweep on this workload; none if there is one only."""
        values = self.found.swept(name, self.workload)
        return values if len(values) > 1 else []

    def points(self, *names: str) -> list[dict[str, object]]:
        """Return the points of some sweeps, by default of all three of the paper, the centre first."""
        centre = self.found.centre
        return [{}] + [
            {name: value}
            for name in names or PAPER_SWEEPS
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
        **bounds: float,
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
        bounds
            Those of the claim.
        """
        low = max(bounds.get("more_than", -np.inf), bounds.get("at_least", -np.inf))
        high = min(bounds.get("less_than", np.inf), bounds.get("at_most", np.inf))
        decided = deciding(self.found, family, low=low, high=high, ratio=ratio)
        return Claim(
            text=f"{text}, on {self.workload}",
            source=source,
            number=number,
            ours=ours,
            measure=measure,
            effect=None if decided is None else decided.effect,
            note="; ".join(part for part in ("" if decided is None else decided.note, note) if part),
            unit=unit,
            to_decide=DECIDE,
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )

    def one(self, values: "pd.Series[float]") -> Family:
        """Return values as a family of one."""
        return {"": values}


PAPER_SWEEPS: Final = tuple(SWEEPS)[:3]
"""The factors of the paper's figures; the other two are of its extended version."""


def shown(point: Mapping[str, object]) -> str:
    """Return a point as it is named in notes."""
    return ", ".join(f"{name} {value}" for name, value in point.items()) or "the centre"


# -- the numbers of the text ------------------------------------------------------------------------


def _gain(rows: Floats, *, relative: bool) -> Floats:
    """Return the largest gain, of columns that are pairs of a heuristic and first fit."""
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], -1, 2)
    gains = means[..., 0] / means[..., 1] - 1.0 if relative else means[..., 0] - means[..., 1]
    found: Floats = np.max(gains, axis=-1)
    return found


def _least_whisker(rows: Floats, *, settings: int) -> Floats:
    """Return the least 10th percentile of some settings, each with as many columns as there are job traces."""
    each = rows.reshape(*rows.shape[:-1], settings, -1)
    found: Floats = np.percentile(each, _WHISKER, axis=(-3, -1)).min(axis=-1)
    return found


def _best_share(rows: Floats, *, first: int) -> Floats:
    """Return the share of settings, of as many columns as `FIVE`, in which one of the first columns is the best."""
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], -1, len(FIVE))
    best = means[..., :first].max(axis=-1) >= means[..., first:].max(axis=-1)
    found: Floats = best.mean(axis=-1)
    return found


class _Statistic(Protocol):
    def __call__(self, rows: Floats, /) -> Floats: ...


def _over(found: Found, family: Family, statistic: _Statistic) -> Effect | None:
    """Return a statistic of a family's rows; None unless each member has values."""
    rows = rows_of(family)
    if rows.shape[1] < len(family) or rows.empty:
        return None
    return bootstrap_rows(rows.to_numpy(dtype=float), statistic, seed=found.results.seed)


def measured(found: Found, quantity: Quantity, workload: str) -> Effect | None:
    """Return what the text prints a number of, as it is found here.

    Parameters
    ----------
    found
        The results.
    quantity
        What is measured, see `experiments.studies.capacity_paper.MEASURES`.
    workload
        That of which it is said; empty for all of the paper together.
    """
    names = [workload] if workload else [name for name in found.workloads if name != "LogScaleU"]
    each = [About(found, name) for name in names if name in found.workloads]
    if quantity == "whisker":
        return _whisker(each)
    if quantity == "stretches":
        ratios = [
            one.log_ratio("max_stretch", "FirstFitAware", other, **point)
            for one in each for point in one.points() for other in TARGETED
        ]  # fmt: skip
        decided = deciding(found, {quantity: pd.concat(ratios, axis=1).mean(axis=1)}, ratio=True) if ratios else None
        return None if decided is None else decided.effect
    sweeps = ("machines",) if quantity == "machines gain" else PAPER_SWEEPS
    if quantity == "machines gain" and not all(one.swept("machines") for one in each):
        return None
    family = {
        f"{one.workload} {shown(point)} {heuristic} {end}": one.of("goodput", end, **point)
        for one in each for point in one.points(*sweeps) for heuristic in ASAP for end in (heuristic, "FirstFitAware")
    }  # fmt: skip
    return _over(found, family, partial(_gain, relative=quantity == "relative gain")) if family else None


def _whisker(each: Sequence[About]) -> Effect | None:
    """Return the least lower whisker of first fit along the periods, of a box over walks and job traces."""
    family: dict[str, pd.Series[float]] = {}
    settings = 0
    for one in each:
        for value in one.swept("period_s"):
            for heuristic in FIRST_FIT:
                goodput = one.of("goodput", heuristic, period_s=value)
                settings += 1
                for trace, part in goodput.groupby(level="trace"):
                    family[f"{value} {heuristic} {trace}"] = part
    if not family or len(family) % settings:
        return None
    return _over(each[0].found, family, partial(_least_whisker, settings=settings))


def best_share(found: Found) -> Effect | None:
    """Return the share of all settings and workloads in which one of the two ASAP has the most goodput."""
    family = {
        f"{workload} {shown(point)} {heuristic}": found.values("goodput", workload, heuristic, **point)
        for workload in found.workloads if workload != "LogScaleU"
        for point in About(found, workload).points()
        for heuristic in (*ASAP, *(name for name in FIVE if name not in ASAP))
    }  # fmt: skip
    return _over(found, family, partial(_best_share, first=len(ASAP))) if family else None
