"""Reading: what an order or a bid reads of a job, from the row of numbers that a queue keeps of it.

Compiled code hands the function the address of the row; see `simmodels.policies.rows` for what is in it.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from simmodels.ground.compiled import compiled
from simmodels.work.curve import area_at, factor_at


@intrinsic
def _floats_at(_context: Any, address: Any) -> Any:  # noqa: ANN401, ARG001  numba's
    """Return the pointer to floats of an address."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.int64), code


@compiled
def number_at(row, place):
    """Return a number of a row."""
    return carray(_floats_at(row), place + 1)[place]


@compiled
def share_at(cell, node):
    """Return the factor of a node; `cell` is the address of that of the factors (see `structures.fair_state`)."""
    return number_at(np.int64(number_at(np.int64(cell), 0)), np.int64(node))


@compiled
def slr_at(rank, critical_path, since, now):
    """Return the SLR of a job if the task starts now and nothing waits after it; 1 of a job of no length at once."""
    wait = now - since
    if critical_path > 0.0:
        return (wait + rank) / critical_path
    return np.inf if wait > 0.0 else 1.0


@compiled
def factor_of(curve, slr):
    """Return the factor of a value curve at an SLR; `curve` is the address of its points (see `policies.rows`)."""
    points = np.int64(number_at(np.int64(curve), 0))
    table = carray(_floats_at(np.int64(curve)), 1 + 3 * points)
    return factor_at(slr, table[1 : 1 + points], table[1 + points : 1 + 2 * points], 0, points)


@compiled
def area_of(curve, slr):
    """Return the area under a value curve from an SLR on."""
    points = np.int64(number_at(np.int64(curve), 0))
    table = carray(_floats_at(np.int64(curve)), 1 + 3 * points)
    x, y = table[1 : 1 + points], table[1 + points : 1 + 2 * points]
    return area_at(slr, x, y, table[1 + 2 * points :], 0, points)
