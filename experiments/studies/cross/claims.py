"""The claims of the cross study: whether orders keep their rank, whether risk matters more, whether auctions win."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import numpy as np

from experiments.campaigns.claims import Claim
from experiments.campaigns.statistics import Effect, bootstrap_rows
from experiments.studies.cross.results import RANKED, SLOWDOWN, CrossResults, Key, Rows, ranks, tau
from experiments.studies.cross.settings import (
    AUCTION,
    AWARE,
    ONE_QUEUE,
    ROUTED_ORDERS,
    ROUTERS,
    SERIES,
    STEADY,
    TARGETED,
    UNAWARE,
    period_of,
)

KEPT: Final = 0.8
"""Kendall's tau from which on a ranking counts as kept: of four orders, one swap of neighbours leaves 0.67."""
_DECIDE: Final = "--scale paper, or more windows (--set replications=N)"


def make_claims(found: CrossResults) -> Iterator[Claim]:
    """Hand out the claims for which the design has cells."""
    for capacity in found.changing:
        yield from _rank_claims(found, capacity)
    for workload in found.factor("workload"):
        yield from _risk_claims(found, workload)
    for workload in found.factor("workload"):
        yield from _router_claims(found, workload)


def shown(capacity: str) -> str:
    """Return a capacity in words."""
    period_s = period_of(capacity)
    if period_s is not None:
        return f"with a change of the machines each {period_s:g} s"
    return "on machines that follow the series" if capacity == SERIES else "on steady machines"


# -- ranks ------------------------------------------------------------------------------------------


def rank_change(rows: Rows, cases: int, orders: int, place: int) -> Rows:
    """Return how far an order's rank rises from steady to changing machines, mean of several cases; as for `tau`."""
    means = rows.mean(axis=-2).reshape(*rows.shape[:-2], cases, 2, orders)
    placed = ranks(means)[..., place]
    change: Rows = (placed[..., 1] - placed[..., 0]).mean(axis=-1)
    return change


def _rank_claims(found: CrossResults, capacity: str) -> Iterator[Claim]:
    """Hand out the claims on the orders at one capacity."""
    orders, where = found.fixed, shown(capacity)
    cases = [
        case for case in product(found.factor("workload"), RANKED)
        if len(orders) > 1 and found.rows(SLOWDOWN, _ranked(case, capacity, orders)) is not None
    ]  # fmt: skip
    rows = found.rows(SLOWDOWN, [key for case in cases for key in _ranked(case, capacity, orders)])
    count, of, seed = len(cases), len(orders), found.results.seed
    yield Claim(
        text=f"The ranking of the orders on steady machines is kept {where}",
        source="question 1",
        measure=f"Kendall's tau of the rankings of the fixed orders, mean of {count} pairs of workload and decider",
        effect=None if rows is None else bootstrap_rows(rows, lambda some: tau(some, count, of), seed=seed),
        at_least=KEPT,
        to_decide=_DECIDE,
    )
    if "learned" not in orders:
        return
    place = orders.index("learned")
    yield Claim(
        text=f"The order learned on a steady machine keeps its rank {where}",
        source="question 1",
        measure=f"its rank there less that on steady machines, mean of {count} pairs of workload and decider",
        effect=None
        if rows is None
        else bootstrap_rows(rows, lambda some: rank_change(some, count, of, place), seed=seed),
        at_least=-0.5,
        at_most=0.5,
        to_decide=_DECIDE,
    )
    for other in (name for name in ("FCFS", "SAF") if name in orders):
        mine, theirs = (
            [(workload, capacity, decider, order) for workload, decider in cases] for order in ("learned", other)
        )
        yield Claim(
            text=f"The learned order is better than {other} {where}",
            source="question 1",
            measure=f"its bounded slowdown over that of {other}, geometric mean of {count} workloads and deciders",
            effect=found.times(mine, theirs),
            less_than=1.0,
            to_decide=_DECIDE,
        )


def _ranked(case: tuple[str, str], capacity: str, orders: Sequence[str]) -> list[Key]:
    return [(case[0], at, case[1], order) for at in (STEADY, capacity) for order in orders]


# -- risk -------------------------------------------------------------------------------------------


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


_COMPARED: Final = (
    ("First fit that knows the risk against first fit that does not, under the same order", UNAWARE, AWARE, AWARE),
    ("TargetASAP against EASY, both first come, first served", "EASY", TARGETED, "EASY"),
    ("TargetASAP against first fit that does not know the risk, both first come, first served", UNAWARE, TARGETED,
     UNAWARE),
)  # fmt: skip


def _risk_claims(found: CrossResults, workload: str) -> Iterator[Claim]:
    """Hand out the claims on knowing the risk, on one workload."""
    capacities = found.changing
    for what, without, knows, judged in _COMPARED:
        for measure, about, log in ((SLOWDOWN, "slowdown", True), ("lost", "lost work", False)):
            yield Claim(
                text=f"Knowing the risk matters more for {about} than the order, on {workload}: {what}",
                source="question 2",
                measure=("reduction of the logarithm of the bounded slowdown" if log else "reduction of the lost share")
                + f", over the difference of the best and the worst fixed order under {judged}",
                effect=_ratio(found, workload, capacities, (without, knows, judged), measure, log=log),
                more_than=1.0,
                to_decide=_DECIDE,
                note="a negative value: knowing the risk made it worse",
            )


def _ratio(
    found: CrossResults, workload: str, capacities: Sequence[str], of: tuple[str, str, str], measure: str, *, log: bool
) -> Effect | None:
    orders = found.fixed
    # Where an order means nothing for a decider, all stand under first come, first served.
    same = dict.fromkeys(of[:2], TARGETED in of)
    keys: list[Key] = [
        (workload, capacity, decider, "FCFS" if number < 2 and same[decider] else order)
        for number, decider in enumerate(of)
        for capacity in capacities
        for order in orders
    ]
    rows = found.rows(measure, keys, log=log) if len(orders) > 1 else None
    if rows is None:
        return None
    return bootstrap_rows(
        rows, lambda some: risk_over_order(some, len(orders), len(capacities)), seed=found.results.seed
    )


# -- routers ----------------------------------------------------------------------------------------


def _router_claims(found: CrossResults, workload: str) -> Iterator[Claim]:
    """Hand out the claims on the auction before queues, on one workload."""
    points = [(capacity, order) for capacity in found.factor("capacity") for order in ROUTED_ORDERS]
    named = {ONE_QUEUE: "one queue of all machines"} | {name: f"{name} before two queues" for name in ROUTERS}
    for other in (ONE_QUEUE, *ROUTERS[1:]):
        mine, theirs = (
            [
                (workload, capacity, decider, order)
                for capacity, order in points
                if not found.values(SLOWDOWN, (workload, capacity, ONE_QUEUE, order)).empty
            ]
            for decider in (AUCTION, other)
        )
        yield Claim(
            text=f"An auction before two queues beats {named[other]}, on {workload}",
            source="question 3",
            measure="its bounded slowdown over the other's, geometric mean of all capacities and orders",
            effect=found.times(mine, theirs),
            less_than=1.0,
            to_decide=_DECIDE,
        )
