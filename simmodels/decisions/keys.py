"""Keys: what an order says of a waiting job, for a queue of cores and for one of machines."""

from typing import Final

import numpy as np

from simmodels.compiled import compiled

_FIRST: Final = float(np.finfo(np.float64).min)  # the least key that an order can give


@compiled
def key_of(order, submit, estimate, runtime, cores, draw, now, row):
    """Return the key of a waiting job in an order; NaN if it gives no number.

    `row` is the address of what the order reads beyond the other numbers (see `simmodels.decisions.rows`).
    """
    value = order(submit, estimate, runtime, float(cores), now - submit, now, draw, row)
    return value if np.isnan(value) else max(value, _FIRST)


@compiled
def noted(keeper, slot, key, now):
    """Return a key; for one that is no number infinity, and have the queue or fleet note whose it is, and when."""
    if np.isnan(key):
        keeper.refused = slot
        keeper.refused_at = now
        return np.inf
    return key
