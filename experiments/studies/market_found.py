"""What a market campaign measured at one end of its runs, and how a sentence about all of several cells is judged.

References
----------
R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24(4), 1982: a sentence about
all of several cells is accepted if it is accepted at each of them, with no correction for how many there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap, bootstrap_rows
from experiments.studies.market_results import enough_jobs, grid
from simmodels.ground.numbers import Floats

Measured: TypeAlias = Callable[[float], Effect]
"""Given a confidence, an effect with its interval."""
Cells: TypeAlias = Mapping[str, Measured]

DECIDE: Final = "--scale paper"
_CONFIDENCE: Final = 0.95
_MISSING: Final = "not all that it is about was run, or finished"
_UPPER: Final = ("less_than", "at_most")


def at(load: float) -> str:
    """Return a load as it is named."""
    return f"load {100.0 * load:g} %"


@dataclass(slots=True)
class Found:
    """What was measured at one end of the runs: of each measure one row per workload, one column per load and bid."""

    results: Results
    end: str
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def table(self, measure: str) -> pd.DataFrame:
        """Return a measure."""
        if measure not in self.tables:
            self.tables[measure] = grid(self.results, measure, self.end)
        return self.tables[measure]

    def of(self, measure: str, bid: str, load: float) -> Floats:
        """Return a measure under a bid at a load: float64[workloads].

        Raises
        ------
        KeyError
            It was not run.
        """
        return self.table(measure)[load, bid].to_numpy(dtype=np.float64)

    def value(self, bid: str, load: float) -> Floats:
        """Return the value under a bid at a load: float64[workloads], shares of the most."""
        return self.of("value", bid, load)

    def starved(self, bid: str, load: float) -> Floats:
        """Return the share of starved jobs under a bid at a load: float64[workloads]."""
        return self.of("starved", bid, load)

    def starved_of(self, tenth: int, bid: str, load: float) -> Floats:
        """Return the starved share of a tenth of the jobs by volume, 1 the smallest: float64[workloads]."""
        return self.of(f"volume_starved_{tenth}", bid, load)

    def bids(self, *without: str) -> list[str]:
        """Return the bids that were run, in the order of the study, except some."""
        run = set(self.table("value").columns.get_level_values("bid"))
        return [str(bid) for bid in self.results.factors["bid"] if bid in run and bid not in without]

    def loads(self, low: float = 0.0, high: float = np.inf) -> list[float]:
        """Return the loads that were run from one to another, rising."""
        return sorted({load for load in self.table("value").columns.get_level_values("load") if low <= load <= high})

    # -- cells ----------------------------------------------------------------------------------------

    def mean(self, values: Floats) -> Measured:
        """Return the mean over the workloads, as an effect.

        Raises
        ------
        KeyError
            A value is missing: in a workload no job of a class finished.
        """
        if not np.isfinite(values).all():
            raise KeyError("no job finished")
        return lambda confidence: bootstrap(values, confidence=confidence, seed=self.results.seed)

    def rank(self, measure: str, bid: str, load: float) -> Measured:
        """Return the rank of a bid by its mean at a load, 1 for the largest; bids that are equal share the best."""
        bids = [bid, *self.bids(bid)]
        rows = np.column_stack([self.of(measure, each, load) for each in bids])

        def ranked(values: Floats) -> Floats:
            means = values.mean(axis=-2)
            return np.asarray(1.0 + (means[..., 1:] > means[..., :1]).sum(axis=-1))

        return lambda confidence: bootstrap_rows(rows, ranked, confidence=confidence, seed=self.results.seed)

    def by_load(self, values: Callable[[float], Floats], low: float = 0.0, high: float = np.inf) -> Cells:
        """Return what is measured at each load from one to another."""
        return {at(load): self.mean(values(load)) for load in self.loads(low, high)}

    def against(
        self, measure: str, bid: str, others: Sequence[str], loads: Sequence[float], *, share: float = 1.0
    ) -> Cells:
        """Return by how much a measure under a bid is above a share of that under each other, at each load."""
        return {
            (f"{other}, {at(load)}" if len(others) > 1 else at(load)): self.mean(
                self.of(measure, bid, load) - share * self.of(measure, other, load)
            )
            for other in others
            for load in loads
        }

    # -- claims ---------------------------------------------------------------------------------------

    def claim(
        self,
        text: str,
        source: str,
        measure: str,
        cells: Callable[[], Cells],
        number: str = "",
        note: str = "",
        *,
        ours: bool = False,
        **bounds: float,
    ) -> Claim:
        """Return a claim about all of some cells, with the effect by which it is judged.

        Parameters
        ----------
        text, source, measure, number, note, ours, bounds
            See `Claim`.
        cells
            What is measured, by where; a KeyError says that a part of it was not run.
        """
        claim = Claim(
            text=text if self.end == "drain" else f"{text}, if runs are cut at the last submission",
            source=source,
            number=number,
            ours=ours,
            measure=measure,
            effect=None,
            to_decide=DECIDE,
            note=note,
            judged=enough_jobs(self.results),
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )
        try:
            found = cells() if len(self.table("value")) else {}
        except KeyError:
            found = {}
        return everywhere(claim, found) if found else replace(claim, note=_MISSING)


def everywhere(claim: Claim, cells: Cells) -> Claim:
    """Return a claim with the effect by which it is judged, if it is about all of some cells.

    It holds if the interval of 95 % of each cell keeps to the bounds; it fails if at some cell the interval of
    1 - 0.05 / cells (Bonferroni) does not. Shown are the estimate that is farthest outside, or nearest to the bounds,
    and the interval of that cell if it fails, else the hull of the intervals of all cells.

    Parameters
    ----------
    claim
        The claim, with its bounds.
    cells
        What is measured, by where; at least one.
    """
    wide = 1.0 - (1.0 - _CONFIDENCE) / len(cells)
    of = {where: measured(_CONFIDENCE) for where, measured in cells.items()}
    farthest = max(of, key=lambda where: _excess(claim, of[where]))
    lows = [each.low for each in of.values() if each.low is not None]
    highs = [each.high for each in of.values() if each.high is not None]
    if len(lows) < len(of) or len(highs) < len(of):  # too few workloads for intervals
        return _with(claim, farthest, cells, of[farthest])
    by_distance = sorted(cells, key=lambda where: -_excess(claim, of[where]))
    for where in by_distance:
        if _excess(claim, of[where]) < 0:
            break
        judged = of[where] if len(cells) == 1 else cells[where](wide)
        if replace(claim, effect=judged, judged=True).verdict == "fails":
            return _with(claim, where, cells, replace(judged, confidence=_CONFIDENCE))
    hull = replace(of[farthest], low=min(lows), high=max(highs))
    return _with(claim, farthest, cells, hull)


def _excess(claim: Claim, effect: Effect) -> float:
    """Return how far an estimate is outside the bounds; below 0 within them."""
    return max(
        effect.estimate - bound if name in _UPPER else bound - effect.estimate for name, bound in claim.bounds().items()
    )


def _with(claim: Claim, where: str, cells: Cells, effect: Effect) -> Claim:
    """Return a claim with its effect, and where that is."""
    among = f", {where}" if len(cells) == 1 else f", at each of {len(cells)}; shown: {where}"
    return replace(claim, effect=effect, measure=f"{claim.measure}{among}")
