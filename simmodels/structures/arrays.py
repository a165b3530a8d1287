"""Longer copies of arrays, for lists that grow; loops, since numba compiles a slice assignment slowly."""

import numpy as np

from simmodels.ground.compiled import compiled


@compiled
def grown(column, room):
    """Return an array of `room` entries that begins with the column; the rest is not initialised."""
    out = np.empty(room, column.dtype)
    for i in range(column.size):
        out[i] = column[i]
    return out


@compiled
def grown_rows(table, room):
    """Return a table of `room` rows that begins with the table's; the rest is not initialised."""
    out = np.empty((room, table.shape[1]), table.dtype)
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            out[i, j] = table[i, j]
    return out
