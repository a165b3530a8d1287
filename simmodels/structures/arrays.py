"""Entries of arrays: moved within one, put into another, copied into a longer one, and the least of them.

Loops: numba compiles a dozen functions for an array that is put into a part of another, or for the least of one.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from simmodels.ground.compiled import compiled


@intrinsic
def move(_context: Any, array: Any, first: Any, count: Any, to: Any) -> Any:  # noqa: ANN401, ARG001  numba's
    """Move `count` entries of an array from place `first` on to place `to` on; what is between may be in both.

    Places are counted through all rows. A loop would be seven times slower: it asks of each place whether it counts
    from the end.
    """

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
        held, here, entries, there = arguments
        data = context.make_array(array)(context, builder, held).data
        size = context.get_abi_sizeof(context.get_data_type(array.dtype))
        with builder.if_then(cgutils.is_not_null(builder, entries)):  # often none: it is at the end of a queue
            cgutils.raw_memmove(builder, builder.gep(data, [there]), builder.gep(data, [here]), entries, size)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, types.int64), code


@compiled
def grown(column, room, value=None):
    """Return an array of `room` entries that begins with the column; the rest is `value`, or not initialised."""
    out = np.empty(room, column.dtype)
    for i in range(column.size):
        out[i] = column[i]
    if value is not None:
        for i in range(column.size, room):
            out[i] = value
    return out


@compiled
def put(column, first, values, count):
    """Put the first `count` values into a column, from place `first` on."""
    for i in range(count):
        column[first + i] = values[i]


@compiled
def lowest(column):
    """Return the least entry of a column, which has one."""
    found = column[0]
    for each in column:
        found = min(found, each)
    return found


@compiled
def grown_rows(table, room, value=None):
    """Return a table of `room` rows that begins with the table's; the rest is `value`, or not initialised."""
    out = np.empty((room, table.shape[1]), table.dtype)
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            out[i, j] = table[i, j]
    if value is not None:
        for i in range(table.shape[0], room):
            for j in range(table.shape[1]):
                out[i, j] = value
    return out
