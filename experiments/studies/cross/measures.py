"""Measures that no column of the cross study has: how far rankings agree, and what knowing the risk changes."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.campaigns.judging import Evidence, OwnMeasure
from experiments.campaigns.sentences import Sentence
from experiments.campaigns.statistics import bootstrap_rows
from experiments.studies.cross.settings import TARGETED

if TYPE_CHECKING:
    from experiments.studies.cross.results import CrossResults

SLOWDOWN: Final = "mean_bounded_slowdown"
Rows: TypeAlias = NDArray[np.float64]


def ranks(means: Rows) -> Rows:
    """Return float64[..., k], the rank of each value among the last axis, from 1 for the least."""
    found: Rows = (means[..., None] > means[..., None, :]).sum(axis=-1) + 1.0
    return found


def tau(rows: Rows, cases: int, orders: int) -> Rows:
    """Return Kendall's tau between two rankings of orders by their means over replications, mean of several cases.

    Parameters
    ----------
    rows
        float64[..., replications, cases x 2 x orders]: for each case the values of the orders on steady machines, then
        those on changing ones.
    cases, orders
        Their numbers.

    References
    ----------
    M. G. Kendall, "A new measure of rank correlation", Biometrika 30, 1938, doi:10.1093/biomet/30.1-2.81 (tau a).
    """
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], cases, 2, orders)
    pairs = np.array(list(combinations(range(orders), 2)))
    signs = np.sign(means[..., pairs[:, 0]] - means[..., pairs[:, 1]])
    agreed: Rows = (signs[..., 0, :] * signs[..., 1, :]).mean(axis=(-2, -1))
    return agreed


def rank_change(rows: Rows, cases: int, orders: int, place: int) -> Rows:
    """Return how far an order's rank rises from steady to changing machines, mean of several cases; as for `tau`."""
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], cases, 2, orders)
    placed = ranks(means)[..., place]
    change: Rows = (placed[..., 1] - placed[..., 0]).mean(axis=-1)
    return change


def risk_over_order(rows: Rows, orders: int, capacities: int) -> Rows:
    """Return what knowing the risk changes over what the order does.

    Parameters
    ----------
    rows
        float64[..., replications, 3 x capacities x orders]: values without and with knowledge of the risk: their
        mean difference is what knowing changes; and those of which the largest mean less the least is what the order
        does.
    orders, capacities
        Their numbers.
    """
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], 3, capacities, orders).mean(axis=-2)
    risk = (means[..., 0, :] - means[..., 1, :]).mean(axis=-1)
    ratio: Rows = risk / np.maximum(np.ptp(means[..., 2, :], axis=-1), 1e-12)
    return ratio


def _of_rankings(found: "CrossResults", capacity: str, statistic: Callable[[Rows, int, int], Rows]) -> Evidence | None:
    """Return a statistic of the rankings on steady machines and at a capacity, of all pairs that were run."""
    pairs = found.ranked(capacity)
    rows = found.rows(SLOWDOWN, found.rankings(capacity, pairs))
    if rows is None:
        return None
    count, of = len(pairs), len(found.fixed)
    effect = bootstrap_rows(rows, lambda some: statistic(some, count, of), seed=found.results.seed)
    return Evidence(effect, member="pairs of workload and decider", members=count)


def _kept(found: "CrossResults", said: Sentence, on: Sequence[str]) -> Evidence | None:  # noqa: ARG001  as all are
    """Return Kendall's tau of the rankings of the fixed orders."""
    return _of_rankings(found, on[0], tau)


def _moved(found: "CrossResults", said: Sentence, on: Sequence[str]) -> Evidence | None:
    """Return how far the rank of an order rises."""
    place = found.fixed.index(str(said.compared.of))
    return _of_rankings(found, on[0], partial(rank_change, place=place))


def _risk(found: "CrossResults", said: Sentence, on: Sequence[str], *, column: str) -> Evidence | None:
    """Return what knowing the risk changes in a column, over what the order does under the decider that has orders."""
    knows, without = said.compared.alternatives
    orders, capacities = found.fixed, found.changing
    # Where an order means nothing for a decider, both stand under first come, first served.
    stand = ["FCFS"] * len(orders) if knows == TARGETED else orders
    judged = without if knows == TARGETED else knows
    keys = [
        (on[0], capacity, decider, order)
        for decider, under in ((without, stand), (knows, stand), (judged, orders))
        for capacity in capacities
        for order in under
    ]
    rows = found.rows(column, keys, log=column == SLOWDOWN) if len(orders) > 1 else None
    if rows is None:
        return None
    sizes = len(orders), len(capacities)
    return Evidence(bootstrap_rows(rows, lambda some: risk_over_order(some, *sizes), seed=found.results.seed))


MEASURES: Final[dict[str, OwnMeasure]] = {
    "rankings": _kept,
    "rank": _moved,
    "risk in slowdown": partial(_risk, column=SLOWDOWN),
    "risk in lost work": partial(_risk, column="lost"),
}
"""The measures by the names that rows have for them."""
