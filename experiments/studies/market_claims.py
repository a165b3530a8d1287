"""The claims of the market study: M1 to M16, checked on workloads that all bids met.

References
----------
See `experiments.studies.market`. Where the text gives no number, the bound is one that an independent program kept to.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap
from experiments.studies.market_results import TENTHS, differences, enough_jobs, grid
from simmodels.ground.numbers import Floats

Measured: TypeAlias = Callable[[], Floats]

_DECIDE: Final = "--scale paper"
_SATURATED: Final = 1.0
"""The load from which on not all can be done in time."""
_NEAR: Final = 0.03
_ALL_OF_THEM: Final = "least over loads"


@dataclass(slots=True)
class _Found:
    """What was measured at one end of the runs: of each measure one row per workload, one column per load and bid."""

    results: Results
    end: str
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def table(self, measure: str) -> pd.DataFrame:
        """Return a measure; of too few jobs there is nothing."""
        if measure not in self.tables:
            found = grid(self.results, measure, self.end)
            self.tables[measure] = found if enough_jobs(self.results) else found.iloc[:0, :0]
        return self.tables[measure]

    def of(self, measure: str, bid: str, load: float) -> Floats:
        """Return a measure under a bid at a load: a number a workload.

        Raises
        ------
        KeyError
            It was not run.
        """
        return self.table(measure)[load, bid].to_numpy(dtype=np.float64)

    def value(self, bid: str, load: float) -> Floats:
        """Return the value under a bid at a load."""
        return self.of("value", bid, load)

    def starved(self, bid: str, load: float) -> Floats:
        """Return the share of starved jobs under a bid at a load."""
        return self.of("starved", bid, load)

    def others(self, measure: str, load: float, *without: str) -> Floats:
        """Return a measure under all bids but some at a load: float64[workloads, bids]."""
        bids = [bid for at, bid in self.cells(measure) if at == load and bid not in without]
        return _side_by_side([self.of(measure, bid, load) for bid in bids])

    def loads(self, low: float = 0.0, high: float = np.inf) -> list[float]:
        """Return the loads from one to another, rising."""
        return sorted({load for load, _ in self.cells("value") if low <= load <= high})

    def cells(self, measure: str) -> list[tuple[float, str]]:
        """Return the loads and bids for which there is a measure."""
        columns = self.table(measure).columns
        return list(zip(columns.get_level_values("load"), columns.get_level_values("bid"), strict=True))

    def over(self, made: Callable[[float], Floats], low: float = 0.0, high: float = np.inf) -> Floats:
        """Return what is made of each load: float64[workloads, loads]."""
        return _side_by_side([made(load) for load in self.loads(low, high)])

    def effect(self, measured: Measured) -> Effect | None:
        """Return the mean over the workloads of what is measured; None if a part of it was not run."""
        try:
            values = measured()
        except KeyError:
            return None
        return bootstrap(values, seed=self.results.seed) if len(values) else None


def _side_by_side(columns: Sequence[Floats]) -> Floats:
    if not columns:
        raise KeyError("nothing of it was run")
    return np.column_stack(columns)


def claims_of(results: Results) -> Iterator[Claim]:
    """Hand out the claims, first of how near the means are to those of an independent program."""
    yield from _agreement(results)
    drain, cut = _Found(results, "drain"), _Found(results, "submit")
    for part in (_about_value, _about_starving, _about_pvr, _about_sizes):
        yield from part(drain)
    yield _claim(
        "M2", "Value is below 1 even at load 0.7, if the runs are cut at the last submission", cut,
        "value under the best bid at load 0.7", lambda: cut.others("value", 0.7).max(axis=1), less_than=0.98,
    )  # fmt: skip
    yield _claim(
        "M14", "PVR starves at most 5 % of the jobs at load 1.4, if the runs are cut at the last submission", cut,
        "starved or unfinished under PVR at load 1.4", lambda: cut.starved("PVR", 1.4), at_most=0.05,
    )  # fmt: skip


def _claim(
    source: str, text: str, found: _Found, measure: str, measured: Measured, note: str = "", **bounds: float
) -> Claim:
    return Claim(
        text=text,
        source=source,
        measure=measure,
        effect=found.effect(measured),
        to_decide=_DECIDE,
        note=note,
        **bounds,  # type: ignore[arg-type]  # names of bounds
    )


def _agreement(results: Results) -> Iterator[Claim]:
    """Hand out how far the means are from the prototype's, at the cell where they are farthest."""
    for end in ("drain", "submit"):
        for measure in ("value", "starved"):
            off = differences(results, end, measure) if enough_jobs(results) else {}
            farthest = max(off, key=lambda cell: abs(float(off[cell].mean())), default=None)
            near = sum(abs(float(values.mean())) <= _NEAR for values in off.values())
            where = f", at load {farthest[0]:g}, {farthest[1]}" if farthest else ""
            yield Claim(
                text=f"Every mean ({measure}, {end}) is within 0.03 of an independent program's",
                source="prototype",
                measure=f"the largest of {len(off)} differences of means{where}",
                effect=None if farthest is None else bootstrap(off[farthest].to_numpy(), seed=results.seed),
                at_least=-_NEAR,
                at_most=_NEAR,
                to_decide=_DECIDE,
                note=f"{near} of {len(off)} are within 0.03; its workloads are others than ours" if off else "",
            )


def _about_value(found: _Found) -> Iterator[Claim]:
    """Hand out what is claimed of value, but of PVR's."""
    value = found.value

    def less(of: str, than: str, low: float, high: float = np.inf) -> Floats:
        return found.over(lambda load: value(of, load) - value(than, load), low, high)

    def behind_all(load: float) -> Floats:
        return np.asarray(value("LRTF", load) - found.others("value", load, "LRTF").min(axis=1))

    def rises() -> Floats:
        loads = found.loads()
        bids = sorted({bid for _, bid in found.cells("value")})
        steps = [value(bid, b) - value(bid, a) for a, b in pairwise(loads) for bid in bids]
        return np.asarray(_side_by_side(steps).max(axis=1))

    def slope() -> Floats:
        fall = found.others("value", 1.1, "PV") - found.others("value", 1.4, "PV")
        return np.asarray(value("PV", 1.1) - value("PV", 1.4) - fall.mean(axis=1))

    yield _claim(
        "M1", "Value falls with load under every bid", found, "largest rise of value from one load to the next",
        rises, at_most=0.005,
    )  # fmt: skip
    yield _claim(
        "M3", "LRTF gets the least value at every load", found, "LRTF less the next lowest, largest over loads",
        lambda: found.over(behind_all).max(axis=1), less_than=0.0,
    )  # fmt: skip
    yield _claim(
        "M4", "FIFO is a fair improvement on Random from load 1.0 on", found, f"FIFO less Random, {_ALL_OF_THEM}",
        lambda: less("FIFO", "Random", _SATURATED).min(axis=1), at_least=0.03,
    )  # fmt: skip
    yield _claim(
        "M4", "FIFO is an improvement on Random below load 1.0 too", found, f"FIFO less Random, {_ALL_OF_THEM}",
        lambda: less("FIFO", "Random", 0.0, _SATURATED - 0.01).min(axis=1), more_than=0.0,
        note="the text says it of all loads: Random is better while there is room for all",
    )  # fmt: skip
    yield _claim(
        "M5", "PV gets less value than Random at load 0.9", found, "PV less Random",
        lambda: value("PV", 0.9) - value("Random", 0.9), less_than=0.0,
    )  # fmt: skip
    yield _claim(
        "M5", "At high load PV falls slower than others", found,
        "fall from load 1.1 to 1.4: PV less the mean of others", slope, less_than=0.0,
    )  # fmt: skip
    for better in ("PVD", "PVDSQ"):
        yield _claim(
            "M6", f"{better} is clearly better than PV from load 1.0 on", found, f"{better} less PV, {_ALL_OF_THEM}",
            lambda better=better: less(better, "PV", _SATURATED).min(axis=1),  # type: ignore[misc]  # of this turn
            at_least=0.02,
        )  # fmt: skip
    yield _claim(
        "M7", "PVDSQ gets more value than PVD from load 1.0 on", found, f"PVDSQ less PVD, {_ALL_OF_THEM}",
        lambda: less("PVDSQ", "PVD", _SATURATED).min(axis=1), at_least=0.01,
    )  # fmt: skip
    yield _claim(
        "M8", "PVDSQ and SRTF get nearly the same value at all loads", found, "difference, largest over loads",
        lambda: np.abs(less("PVDSQ", "SRTF", 0.0)).max(axis=1), at_most=0.04,
    )  # fmt: skip
    yield _claim(
        "M9", "P-SLR loses value at high load", found, "P-SLR less SRTF, largest over loads from 1.1 on",
        lambda: less("P-SLR", "SRTF", 1.1).max(axis=1), at_most=-0.03,
    )  # fmt: skip
    yield _claim(
        "M10", "EDF is among the best up to load 1.0", found, "EDF less SRTF at load 1.0",
        lambda: value("EDF", 1.0) - value("SRTF", 1.0), at_least=-0.01,
    )  # fmt: skip
    yield _claim(
        "M10", "EDF falls steeply beyond", found, "EDF less SRTF at load 1.4",
        lambda: value("EDF", 1.4) - value("SRTF", 1.4), at_most=-0.08,
    )  # fmt: skip
    for other in ("PVD", "SRTF", "PVR"):
        yield _claim(
            "M15", f"At load 1.4 PV is beaten by {other}", found, f"PV less {other}",
            lambda other=other: value("PV", 1.4) - value(other, 1.4), less_than=0.0,  # type: ignore[misc]  # as above
        )  # fmt: skip


def _about_starving(found: _Found) -> Iterator[Claim]:
    """Hand out what is claimed of starvation, but of PVR's."""
    starved = found.starved

    def more(bid: str, low: float, *without: str) -> Floats:
        def than_others(load: float) -> Floats:
            return np.asarray(starved(bid, load) - found.others("starved", load, bid, *without).max(axis=1))

        return np.asarray(found.over(than_others, low).min(axis=1))

    for low, where in ((0.0, "at every load"), (_SATURATED, "from load 1.0 on")):
        yield _claim(
            "M3", f"LRTF starves the most jobs {where}", found,
            f"starved: LRTF less the most of others, {_ALL_OF_THEM}",
            lambda low=low: more("LRTF", low), more_than=0.0,  # type: ignore[misc]  # of this turn
        )  # fmt: skip
    yield _claim(
        "M5", "PV starves the most jobs but for LRTF, from load 0.9 on", found,
        f"starved: PV less the most of others, {_ALL_OF_THEM}", lambda: more("PV", 0.9, "LRTF"), more_than=0.0,
    )  # fmt: skip
    yield _claim(
        "M7", "PVDSQ starves far fewer jobs than PVD from load 1.0 on", found,
        "starved: PVDSQ over PVD, largest over loads",
        lambda: found.over(lambda load: starved("PVDSQ", load) / starved("PVD", load), _SATURATED).max(axis=1),
        at_most=0.25,
    )  # fmt: skip
    yield _claim(
        "M8", "SRTF starves fewer jobs than PVDSQ", found, "starved at load 1.1: SRTF less PVDSQ",
        lambda: starved("SRTF", 1.1) - starved("PVDSQ", 1.1), less_than=0.0,
    )  # fmt: skip
    yield _claim(
        "M9", "P-SLR starves many jobs at high load", found, "starved under P-SLR at load 1.4",
        lambda: starved("P-SLR", 1.4), at_least=0.05,
    )  # fmt: skip
    yield _claim(
        "M10", "Starvation under EDF rises after load 1.2", found, "starved under EDF at load 1.4 less at 1.2",
        lambda: starved("EDF", 1.4) - starved("EDF", 1.2), more_than=0.0,
    )  # fmt: skip


def _about_pvr(found: _Found) -> Iterator[Claim]:
    """Hand out what is claimed of PVR."""
    value, starved = found.value, found.starved

    def ahead(load: float) -> Floats:
        return np.asarray(value("PVR", load) - found.others("value", load, "PVR").max(axis=1))

    def more_starved(load: float) -> Floats:
        return np.asarray(starved("PVR", load) - found.others("starved", load, "PVR").min(axis=1))

    for load, least in ((1.1, 0.01), (1.0, 0.0)):
        yield _claim(
            "M11", f"PVR gets the most value at load {load}", found, "PVR less the best other",
            lambda load=load: ahead(load), at_least=least,  # type: ignore[misc]  # of this turn
        )  # fmt: skip
    yield _claim(
        "M11", "PVR gets nearly the most value up to load 0.9", found, f"PVR less the best other, {_ALL_OF_THEM}",
        lambda: found.over(ahead, 0.0, 0.9).min(axis=1), at_least=-0.006,
    )  # fmt: skip
    for other in ("SRTF", "PVDSQ"):
        yield _claim(
            "M12", f"At load 1.4 PVR is behind {other}", found, f"PVR less {other}",
            lambda other=other: value("PVR", 1.4) - value(other, 1.4), less_than=0.0,  # type: ignore[misc]  # as above
        )  # fmt: skip
    yield _claim(
        "M13", "At load 1.4 PVR and PVD get the same value", found, "difference of their values",
        lambda: np.abs(value("PVR", 1.4) - value("PVD", 1.4)), at_most=0.02,
    )  # fmt: skip
    yield _claim(
        "M13", "PVR falls to the value of PVD between loads 1.15 and 1.45", found, "load at which the lines cross",
        lambda: _crossing(found, "PVR", "PVD"), at_least=1.15, at_most=1.45,
    )  # fmt: skip
    yield _claim(
        "M14", "PVR starves the fewest jobs at every load", found,
        "starved: PVR less the fewest of others, largest over loads", lambda: found.over(more_starved).max(axis=1),
        at_most=0.0,
    )  # fmt: skip
    yield _claim(
        "M14", "PVR starves at most 5 % of the jobs at load 1.4", found, "starved under PVR at load 1.4",
        lambda: starved("PVR", 1.4), at_most=0.05,
    )  # fmt: skip


def _about_sizes(found: _Found) -> Iterator[Claim]:
    """Hand out who pays at load 1.2, by tenths of the jobs (figure 7)."""
    load = 1.2

    def slr(tenth: int, bid: str) -> Floats:
        return found.of(f"slr_{tenth}", bid, load)

    yield _claim(
        "M16", "Under PVR all but the largest jobs have a low SLR at load 1.2", found,
        "largest mean SLR of the first eight tenths",
        lambda: _side_by_side([slr(tenth, "PVR") for tenth in TENTHS[:8]]).max(axis=1), at_most=1.3,
    )  # fmt: skip
    yield _claim(
        "M16", "Under PVR the largest jobs pay at load 1.2", found, "mean SLR of the last tenth",
        lambda: slr(10, "PVR"), at_least=3.0,
    )  # fmt: skip
    yield _claim(
        "M16", "Small jobs have their lowest SLR under PVR at load 1.2", found,
        "mean SLR of the first tenth under PVR less the lowest under others",
        lambda: slr(1, "PVR") - found.others("slr_1", load, "PVR").min(axis=1), at_most=0.0,
    )  # fmt: skip


def _crossing(found: _Found, of: str, against: str) -> Floats:
    """Return the load at which a bid that was ahead of another falls to its value, between loads a straight line.

    Raises
    ------
    KeyError
        In a workload it never does.
    """
    loads = np.array(found.loads())
    ahead = found.over(lambda load: found.value(of, load) - found.value(against, load))
    crossed = (ahead[:, :-1] > 0) & (ahead[:, 1:] <= 0)
    if not crossed.any(axis=1).all():
        raise KeyError("they do not cross")
    rows, k = np.arange(len(ahead)), crossed.argmax(axis=1)
    before, after = ahead[rows, k], ahead[rows, k + 1]
    at: Floats = loads[k] + before / (before - after) * (loads[k + 1] - loads[k])
    return at
