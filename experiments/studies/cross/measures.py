"""Measures that no column of the cross study has: how far rankings agree, and what knowing the risk changes."""

from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
