"""What a market campaign measured at one end of its runs, and how a sentence about all of several cells is judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim, Scope
from experiments.campaigns.families import Measured, everywhere, mean_among, number_above_zero
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect
from experiments.studies.market.results import PLAIN, enough_jobs, grid
from simmodels.ground.numbers import Floats
from simmodels.policies.bids import TEN_BIDS

Cells: TypeAlias = Mapping[str, Measured]
"""What is measured, by where."""

DECIDE: Final = "--scale paper"
LOADS: Final = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)
"""The loads of the paper's figures 3 to 6."""
LOWEST_LOAD: Final = LOADS[0]
HIGHEST_LOAD: Final = LOADS[-1]
BELOW_SATURATION: Final = 0.99
OVERLOAD: Final = 1.01
"""Loads up to the one are below saturation, those from the other on above it."""
FIGURE_7: Final = 1.2
"""The load of figure 7."""
_MISSING: Final = "not all that it is about was run, or finished"


class NotMeasuredError(Exception):
    """What a sentence is about was not run, or no job of it finished."""


def loads_from(low: float = 0.0, high: float = np.inf) -> tuple[float, ...]:
    """Return the paper's loads from one to another."""
    return tuple(load for load in LOADS if low <= load <= high)


def at(load: float) -> str:
    """Return a load as it is named."""
    return f"load {100.0 * load:g} %"


@dataclass(slots=True)
class MarketResults:
    """What was measured at one end of the runs: of each measure one row per workload, one column per load and bid."""

    results: Results
    end: str
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def table(self, measure: str) -> pd.DataFrame:
        """Return a measure.

        Raises
        ------
        NotMeasuredError
            The campaign has no such measure.
        """
        if measure not in self.results.table:
            raise NotMeasuredError(measure)
        if measure not in self.tables:
            self.tables[measure] = grid(self.results, measure, self.end)
        return self.tables[measure]

    def of(self, measure: str, bid: str, load: float) -> Floats:
        """Return a measure under a bid at a load: float64[workloads].

        Raises
        ------
        NotMeasuredError
            It was not run.
        """
        table = self.table(measure)
        if not len(table) or (load, bid) not in table.columns:
            raise NotMeasuredError(f"{measure} under {bid} at {at(load)}")
        return table[load, bid].to_numpy(dtype=np.float64)

    def value(self, bid: str, load: float) -> Floats:
        """Return the value under a bid at a load: float64[workloads], shares of the most."""
        return self.of("value", bid, load)

    def starved(self, bid: str, load: float) -> Floats:
        """Return the share of starved jobs under a bid at a load: float64[workloads]."""
        return self.of("starved", bid, load)

    def starved_of(self, tenth: int, bid: str, load: float) -> Floats:
        """Return the starved share of a tenth of the jobs by volume, 1 the smallest: float64[workloads]."""
        return self.of(f"volume_starved_{tenth}", bid, load)

    def ran(self, bid: str) -> bool:
        """Return whether a bid was run."""
        return "value" in self.results.table and bid in self.table("value").columns.get_level_values("bid")

    def bids(self, *without: str) -> list[str]:
        """Return the paper's ten bids except some, whether they were run or not: what is counted is of all ten."""
        return [bid for bid in TEN_BIDS if bid not in without]

    def others(self, *without: str) -> list[str]:
        """Return those of the paper's ten bids that were run, except some."""
        return [bid for bid in self.bids(*without) if self.ran(bid)]

    def loads(self, low: float = 0.0, high: float = np.inf) -> list[float]:
        """Return those of the paper's loads from one to another that were run, rising."""
        if "value" not in self.results.table:
            return []
        run = set(self.table("value").columns.get_level_values("load"))
        return [load for load in loads_from(low, high) if load in run]

    # -- cells ----------------------------------------------------------------------------------------

    def mean(self, values: Floats) -> Measured:
        """Return the mean over the workloads, as an effect.

        Raises
        ------
        NotMeasuredError
            A value is missing: in a workload no job of a class finished.
        """
        if not np.isfinite(values).all():
            raise NotMeasuredError("no job finished")
        return lambda members: mean_among(values, members, seed=self.results.seed)

    def rank(self, measure: str, bid: str, load: float) -> Measured:
        """Return the rank of a bid by its mean at a load, 1 for the largest; bids that are equal share the best.

        Its interval is that of `experiments.campaigns.families.number_above_zero`.
        """
        ahead = self.ahead(measure, bid, load)
        return lambda members: _one_more(ahead(members))

    def ahead(self, measure: str, bid: str, load: float) -> Measured:
        """Return how many of the other nine bids have more of a measure at a load."""
        own = self.of(measure, bid, load)
        more = [self.mean(self.of(measure, other, load) - own) for other in self.bids(bid)]
        return lambda members: number_above_zero(more, members)

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
        loads: Sequence[float] = LOADS,
        bids: Sequence[str] = TEN_BIDS,
        a_part_may: Literal["fail", "hold", "neither"] = "fail",
        **bounds: float,
    ) -> Claim:
        """Return a claim about all of some cells, with the effect by which it is judged.

        Parameters
        ----------
        text, source, measure, number, note, ours, bounds
            See `Claim`.
        cells
            What is measured, by where; a NotMeasuredError says that a part of it was not run.
        loads, bids
            What it is about: those at each of these loads, at this end of the runs and without other rules.
        a_part_may
            See `experiments.campaigns.Scope`.
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
            scope=Scope(
                at_each={"end": (self.end,), "rule": (PLAIN,), "load": loads},
                along={"bid": bids},
                a_part_may=a_part_may,
            ),
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )
        try:
            found = cells()
        except NotMeasuredError:
            found = {}
        if not found:
            return replace(claim, note=_MISSING)
        name, effect, members = everywhere(found, claim.bounds())
        among = f", {name}" if members == 1 else f", at each of {members}; shown: {name}"
        return replace(claim, effect=effect, measure=f"{measure}{among}")


def _one_more(effect: Effect) -> Effect:
    """Return a number of others that are ahead as a rank."""
    low, high = (None if end is None else end + 1.0 for end in (effect.low, effect.high))
    return replace(effect, estimate=effect.estimate + 1.0, low=low, high=high)
