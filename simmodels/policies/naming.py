"""Naming: orders where bids are asked for, and bids where orders are, by their names."""

from collections.abc import Callable
from typing import Any

from simmodels.policies.bids import find_bid
from simmodels.policies.orders import find_order
from simmodels.policies.priority import Priority
from simmodels.policies.registry import BIDS, ORDERS, Registry

Given = str | Priority | Callable[..., float]


def as_bid(given: Given) -> Priority:
    """Return what an auction goes by: a bid, or an order; of a name that both have, the bid. Or offer near bids."""
    return _found(given, BIDS, find_bid, ORDERS)


def as_order(given: Given) -> Priority:
    """Return what a queue goes by: an order, or a bid; of a name that both have, the order."""
    return _found(given, ORDERS, find_order, BIDS)


def _found(given: Given, own: Registry[Any], find: Callable[[Given], Priority], others: Registry[Any]) -> Priority:
    """Return what is given, or what has its name: here, or else among the others."""
    if isinstance(given, Priority):
        return given
    other = others.get(given) if isinstance(given, str) and own.get(given) is None else None
    return find(given) if other is None else other
