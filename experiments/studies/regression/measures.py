"""What is measured over the windows of one workload: quotients, ranks and shares, each with its interval.

References
----------
See `experiments.studies.regression.paper`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.campaigns.statistics import Effect, bootstrap, bootstrap_rows
from experiments.campaigns.statistics import share as share_of
from experiments.studies.regression.paper import SYNTHETIC, set_of
from experiments.studies.regression.settings import (
    GENERATED,
    MEASURE,
    ONLINE,
    OWN,
    SEVEN,
    is_learned,
)

WAITS: Final = 1.1
"""Where the median of FCFS is below this, hardly any job waits, and orders do not differ."""


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The AVGbsld of one workload by one method: by mode and training set, one row per window, one column per order."""

    tables: Mapping[tuple[str, str], pd.DataFrame]
    seed: int
    own: bool = False
    """Whether its own training set is another one than the generated one."""

    @classmethod
    def of(cls, table: pd.DataFrame, workload: str, scores: str | None, depth: int | None, seed: int) -> "Windows":
        """Return those of the rows of a campaign."""
        if table.empty:
            return cls({}, seed)
        deep = table["queue_depth"].isna() if depth is None else table["queue_depth"] == depth
        rows = table[(table["part"] == ONLINE) & (table["workload"] == workload) & deep]
        learned = rows["order"].map(is_learned).astype(bool)
        kind = rows["scores"].isna() if scores is None else rows["scores"] == scores
        own = GENERATED if workload == GENERATED or (scores is None and set_of(workload) == SYNTHETIC) else workload
        found = {}
        for training, train in ((GENERATED, GENERATED), (OWN, own)):
            taken = rows[(learned & kind & (rows["train"] == train)) | (~learned & rows["scores"].isna())]
            for mode, of_mode in taken.groupby("mode"):
                found[str(mode), training] = of_mode.pivot_table(index="replication", columns="order", values=MEASURE)
        return cls(found, seed, own != GENERATED)

    def taken(self, mode: str, training: str, orders: Sequence[str]) -> pd.DataFrame | None:
        """Return the windows in which all these orders ran; None if an order is missing."""
        table = self.tables.get((mode, training))
        if table is None or not set(orders) <= set(table.columns):
            return None
        found = table[list(orders)].dropna()
        return found if len(found) else None

    def waits(self, mode: str) -> bool:
        """Return whether jobs wait under FCFS; so, too, if that is not known."""
        fcfs = self.taken(mode, GENERATED, ("FCFS",))
        return fcfs is None or float(fcfs["FCFS"].median()) >= WAITS


Measured = Callable[[Windows, float], Effect | None]
"""What is measured of the windows of a workload, at a confidence; None where an order is missing."""


def times(mode: str, order: str, against: str, *, training: str = GENERATED, of: str = "", other: str = "") -> Measured:
    """Return the median over the windows of log10 of how many times as large an order's AVGbsld is.

    ``of`` is the mode of the order it is compared with, and ``other`` its training set, where they are others.
    """

    def measured(windows: Windows, confidence: float) -> Effect | None:
        if other == OWN and not windows.own:
            return None
        one = windows.taken(mode, training, (order,))
        two = windows.taken(of or mode, other or training, (against,))
        if one is None or two is None:
            return None
        above, below = one[order].align(two[against], join="inner")
        if above.empty:
            return None
        quotients = np.log10((above / below).to_numpy())
        return bootstrap(quotients, statistic="median", confidence=confidence, seed=windows.seed)

    return measured


def rank(
    mode: str,
    order: str,
    among: Sequence[str] = SEVEN,
    *,
    training: str = GENERATED,
    spread: bool = False,
    last: int = 1,
) -> Measured:
    """Return the rank of an order's median, or of its interquartile range, among orders; 1 is the lowest.

    Orders that are equal share their mean rank. ``last`` is 3 for the last third of the windows.
    """
    orders = [*(name for name in among if name != order), order]

    def measured(windows: Windows, confidence: float) -> Effect | None:
        found = windows.taken(mode, training, orders)
        if found is None or len(found) < last:
            return None
        found = found.iloc[len(found) - len(found) // last :]
        statistic = spread_rank_of_last if spread else rank_of_last
        return bootstrap_rows(found.to_numpy(), statistic, confidence=confidence, seed=windows.seed)

    return measured


def share(mode: str, order: str, *, lowest: int = 3, all_there: bool = False) -> Measured:
    """Return the share of the windows in which an order is among the lowest of seven; of equal ones, by the mean rank.

    Left out are windows in which hardly any job waits under FCFS. With ``all_there`` the windows are all that there
    are, and no sample of others: they are counted.
    """

    def measured(windows: Windows, confidence: float) -> Effect | None:
        found = windows.taken(mode, GENERATED, SEVEN)
        if found is None:
            return None
        found = found[found["FCFS"] >= WAITS]
        if found.empty:
            return None
        among = found.rank(axis="columns")[order].to_numpy() <= lowest
        if all_there:
            return Effect.exact(float(among.mean()), replications=len(among))
        return share_of(among, confidence=confidence)

    return measured


def rank_of_last(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of the median of the last column among those of all; of windows [..., n, columns]."""
    return _rank(np.median(values, axis=-2))


def spread_rank_of_last(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of the interquartile range of the last column among those of all; of [..., n, columns]."""
    upper, lower = np.percentile(values, (75.0, 25.0), axis=-2)
    return _rank(upper - lower)


def _rank(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of the last of the values [..., columns], 1 for the least; equal ones have their mean rank."""
    last = found[..., -1:]
    ranks: NDArray[np.float64] = (found < last).sum(axis=-1) + 0.5 * (1.0 + (found == last).sum(axis=-1))
    return ranks
