"""The results of the cross study, as they are asked for: values by replication, tables, and what to know of them."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap
from experiments.studies.cross.settings import (
    AWARE,
    DECIDERS,
    FIXED,
    ONE_QUEUE,
    QUEUES,
    ROUTED_ORDERS,
    ROUTERS,
    STEADY,
    UNAWARE,
    orders_for,
)

SLOWDOWN: Final = "mean_bounded_slowdown"
RANKED: Final = (*QUEUES, AWARE)
"""The deciders under which orders are ranked."""
Rows = NDArray[np.float64]
Key = tuple[str, str, str, str]
"""Workload, capacity, decider, order."""
_KEYS: Final = ("workload", "capacity", "decider", "order")
_SHOWN: Final = ("mean_wait_s", "goodput", "lost", "utilisation", "mean_slr")
_NOTHING: Final = pd.Series(dtype=float)


class CrossResults:
    """The results of the study.

    Parameters
    ----------
    results
        The results of a campaign of the study.
    """

    def __init__(self, results: Results) -> None:
        self.results = results

    def factor(self, name: str) -> list[str]:
        """Return the values of a factor, as texts."""
        return [str(value) for value in self.results.factors[name]]

    @cached_property
    def changing(self) -> list[str]:
        """The capacities other than the steady one, from the slowest walk to the fastest, as the design has them."""
        return [name for name in self.factor("capacity") if name != STEADY]

    @cached_property
    def fixed(self) -> list[str]:
        """The orders that stay the same."""
        return [name for name in self.factor("order") if name in FIXED]

    @cached_property
    def _groups(self) -> dict[Key, pd.DataFrame]:
        table = self.results.table
        if table.empty:
            return {}
        parts = table.set_index(REPLICATION).groupby(list(_KEYS), sort=False)
        return {(str(w), str(c), str(d), str(o)): part for (w, c, d, o), part in parts}

    def values(self, measure: str, key: Key) -> "pd.Series[float]":
        """Return a measure of one policy on one workload and capacity, by replication."""
        part = self._groups.get(key)
        return _NOTHING if part is None or measure not in part else part[measure].dropna().astype(float)

    def rows(self, measure: str, keys: Sequence[Key], *, log: bool = True) -> Rows | None:
        """Return float64[replications, keys], a measure or its log10; None if a key, or all replications, are missing.

        Replications that lack one of the keys are left out: what is compared met the same jobs.
        """
        columns = [self.values(measure, key) for key in keys]
        if not columns or any(column.empty for column in columns):
            return None
        table = pd.concat(columns, axis=1, join="inner").to_numpy(np.float64)
        if not len(table):
            return None
        return np.log10(table) if log else table

    def times(self, of: Sequence[Key], against: Sequence[Key], measure: str = SLOWDOWN) -> Effect | None:
        """Return how many times as large a measure is, as a geometric mean over pairs of keys and over replications."""
        rows = self.rows(measure, [*of, *against]) if of else None
        if rows is None:
            return None
        return as_times(bootstrap((rows[:, : len(of)] - rows[:, len(of) :]).mean(axis=1), seed=self.results.seed))

    def level(self, key: Key, measure: str = SLOWDOWN) -> Effect | None:
        """Return the geometric mean of a measure over the replications."""
        rows = self.rows(measure, [key])
        return None if rows is None else as_times(bootstrap(rows[:, 0], seed=self.results.seed))


def as_times(effect: Effect) -> Effect:
    """Return a difference of log10 as a ratio."""
    low, high = (None if end is None else float(10.0**end) for end in (effect.low, effect.high))
    return Effect(float(10.0**effect.estimate), low, high, effect.replications, effect.confidence)


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


def halves_agree(found: CrossResults) -> float | None:
    """Return Kendall's tau of the rankings of the fixed orders by every second window, and by the others, if steady.

    It says how much of a change of the ranking is chance: the machines are the same.
    """
    orders = found.fixed
    taus = []
    for workload in found.factor("workload"):
        for decider in RANKED:
            rows = found.rows(SLOWDOWN, [(workload, STEADY, decider, order) for order in orders])
            if rows is not None and len(rows) > 1 and len(orders) > 1:
                means = np.concatenate((rows[::2].mean(axis=0), rows[1::2].mean(axis=0)))
                taus.append(float(tau(means[None], 1, len(orders))))
    return float(np.mean(taus)) if taus else None


def findings_of(found: CrossResults) -> list[str]:
    """Return what the windows are, what was left out, and whether all jobs were done."""
    table = found.results.table
    if table.empty:
        return []
    said = []
    for workload in found.factor("workload"):
        part = table[table["workload"] == workload]
        if len(part):
            jobs, load = part["measured_jobs"], part["offered_load"]
            said.append(
                f"{workload}: {jobs.min():,.0f} to {jobs.max():,.0f} jobs measured in a window, at an offered load of "
                f"{load.min():.2f} to {load.max():.2f}; {part['left_out'].max():,.0f} jobs wider than a machine, or "
                f"without a runtime, were left out of all."
            )
    agreed = halves_agree(found)
    if agreed is not None:
        said.append(
            f"On steady machines, the rankings of the fixed orders by one half of the windows and by the other agree to"
            f" a Kendall's tau of {agreed:.2f}: what a change of the machines changes must be judged against that."
        )
    undone = int((table["completed_share"] < 1).sum())
    if undone:
        said.append(f"In {undone:,} cells some jobs were never done; these are not in the means.")
    return said


def make_tables(found: CrossResults) -> dict[str, pd.DataFrame]:
    """Return the tables of the report that have rows."""
    tables = {
        "all policies": pd.DataFrame(_policies(found)),
        "ranks of the orders": pd.DataFrame(_ranks(found)),
        "risk and order": pd.DataFrame(_risk(found)),
        "routers against one queue": pd.DataFrame(_routers(found)),
        "all measures": found.results.summary(),
    }
    return {name: table for name, table in tables.items() if len(table)}


def _policies(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload, capacity, decider and order: geometric mean slowdown, and means of the others."""
    for key in found._groups:  # noqa: SLF001  of this file
        effect = found.level(key)
        if effect is None:
            continue
        row: dict[str, Any] = dict(zip(_KEYS, key, strict=True))
        row |= {"bounded slowdown, geometric mean": effect.estimate, "low": effect.low, "high": effect.high}
        for measure in _SHOWN:
            values = found.values(measure, key)
            row[measure] = None if values.empty else float(values.mean())
        yield row


def _ranks(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload, capacity and decider: the rank of each fixed order by geometric mean slowdown."""
    for workload in found.factor("workload"):
        for capacity in found.factor("capacity"):
            for decider in DECIDERS:
                keys = [(workload, capacity, decider, order) for order in found.fixed if order in orders_for(decider)]
                rows = found.rows(SLOWDOWN, keys) if len(keys) > 1 else None
                if rows is not None:
                    placed = ranks(rows.mean(axis=0)).astype(int).tolist()
                    names = [key[-1] for key in keys]
                    yield {"workload": workload, "capacity": capacity, "decider": decider,
                           **dict(zip(names, placed, strict=True))}  # fmt: skip


def spread(found: CrossResults, workload: str, capacity: str, decider: str) -> float | None:
    """Return how many times as large the slowdown of the worst fixed order is as that of the best."""
    rows = found.rows(SLOWDOWN, [(workload, capacity, decider, order) for order in found.fixed])
    return None if rows is None else float(10.0 ** np.ptp(rows.mean(axis=0)))


def awareness(found: CrossResults, workload: str, capacity: str) -> Effect | None:
    """Return how many times as large the slowdown of first fit is without knowledge of the risk, over the orders."""
    of = [[(workload, capacity, decider, order) for order in found.fixed] for decider in (UNAWARE, AWARE)]
    return found.times(of[0], of[1])


def _risk(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload and capacity: what knowing the risk, and what the order, changes."""
    for workload in found.factor("workload"):
        for capacity in found.factor("capacity"):
            effect = awareness(found, workload, capacity)
            if effect is None:
                continue
            lost = [
                float(
                    np.mean(
                        [found.values("lost", (workload, capacity, decider, order)).mean() for order in found.fixed]
                    )
                )
                for decider in (UNAWARE, AWARE)
            ]
            yield {
                "workload": workload, "capacity": capacity, "unaware over aware": effect.estimate, "low": effect.low,
                "high": effect.high, "worst over best order, first fit": spread(found, workload, capacity, AWARE),
                **{f"worst over best order, {name}": spread(found, workload, capacity, name) for name in QUEUES},
                "lost, unaware": lost[0], "lost, aware": lost[1],
            }  # fmt: skip


def _routers(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out one row per workload, capacity, router and order: its slowdown over that of one queue."""
    for workload in found.factor("workload"):
        for capacity in found.factor("capacity"):
            for router in ROUTERS:
                for order in ROUTED_ORDERS:
                    of, against = ((workload, capacity, each, order) for each in (router, ONE_QUEUE))
                    effect = found.times([of], [against])
                    if effect is not None:
                        yield {
                            "workload": workload, "capacity": capacity, "router": router, "order": order,
                            "times one queue": effect.estimate, "low": effect.low, "high": effect.high,
                            "lost": float(found.values("lost", of).mean()),
                            "lost, one queue": float(found.values("lost", against).mean()),
                        }  # fmt: skip
