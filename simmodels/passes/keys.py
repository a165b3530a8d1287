"""Keys: what an order says of a waiting job, for a queue of cores and for one of machines."""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled

_FIRST: Final = float(np.finfo(np.float64).min)  # the least key that an order can give


@compiled
def key_of(order, submit, estimate, runtime, cores, draw, now, row):
    """Return the key of a waiting job in an order; NaN if it gives no number.

    `row` is the address of what the order reads beyond the other numbers (see `simmodels.policies.rows`).
    """
    value = order(submit, estimate, runtime, float(cores), now - submit, now, draw, row)
    return value if np.isnan(value) else max(value, _FIRST)


@compiled
def refuse(keeper, slot, now):
    """Have the queue or state note whose key is no number, and when; return the key that stands for it, infinity.

    Called only for such a key: a call with a structure costs a quarter of what computing a key does.
    """
    keeper.refused = slot
    keeper.refused_at = now
    return np.inf
