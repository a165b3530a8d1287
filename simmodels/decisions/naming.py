"""Naming: orders where bids are asked for, and bids where orders are, by their names."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from simmodels.decisions.bid import find_bid
from simmodels.decisions.orders import find_order
from simmodels.decisions.priority import Priority
from simmodels.errors import UnknownNameError

Given = str | Priority | Callable[..., float]


def as_bid(given: Given) -> Priority:
    """Return what an auction goes by: a bid, or an order; of a name that both have, the bid.

    Raises
    ------
    UnknownNameError
        Neither a bid nor an order has the name; near bids are offered.
    """
    return _found(given, find_bid, find_order)


def as_order(given: Given) -> Priority:
    """Return what a queue goes by: an order, or a bid; of a name that both have, the order.

    Raises
    ------
    UnknownNameError
        Neither an order nor a bid has the name; near orders are offered.
    """
    return _found(given, find_order, find_bid)


def _found(given: Given, find: Callable[[Any], Priority], find_other: Callable[[Any], Priority]) -> Priority:
    if isinstance(given, Priority):
        return given
    try:
        return find(given)
    except UnknownNameError:
        with suppress(UnknownNameError):
            return find_other(given)
        raise
