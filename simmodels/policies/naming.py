"""Naming: orders where bids are asked for, and bids where orders are, by their names."""

from collections.abc import Callable

from simmodels.policies.bids import find_bid
from simmodels.policies.orders import find_order
from simmodels.policies.priority import Priority
from simmodels.policies.registry import BIDS, ORDERS

Given = str | Priority | Callable[..., float]


def as_bid(given: Given) -> Priority:
    """Return what an auction goes by: a bid, or an order; of a name that both have, the bid.

    Raises
    ------
    UnknownNameError
        Neither a bid nor an order has the name; near bids are offered.
    """
    if isinstance(given, Priority):
        return given
    order = ORDERS.get(given) if isinstance(given, str) and BIDS.get(given) is None else None
    return find_bid(given) if order is None else order


def as_order(given: Given) -> Priority:
    """Return what a queue goes by: an order, or a bid; of a name that both have, the order.

    Raises
    ------
    UnknownNameError
        Neither an order nor a bid has the name; near orders are offered.
    """
    if isinstance(given, Priority):
        return given
    bid = BIDS.get(given) if isinstance(given, str) and ORDERS.get(given) is None else None
    return find_order(given) if bid is None else bid
