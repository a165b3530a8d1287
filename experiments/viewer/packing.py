"""Packing: columns of numbers as one short text that a page holds, and its script unpacks without any loss."""

import base64
import gzip
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.numbers import Floats

_WHOLE: Final = 2.0**53
"""Below it a script's numbers hold every whole number."""
_TYPES: Final = (np.uint8, np.uint16, np.uint32)


@dataclass(slots=True)
class Packed:
    """Columns that are packed one after the other.

    Parameters
    ----------
    columns
        How each column is to be read: its name, length and type, and what is to be added to its values.
    """

    columns: list[dict[str, Any]] = field(default_factory=list)
    _planes: list[bytes] = field(default_factory=list)

    def add(
        self,
        name: str,
        values: NDArray[Any],
        *,
        delta: bool = False,
        near: tuple[str, Floats] | None = None,
    ) -> None:
        """Add a column.

        Whole numbers are stored as what is above the least of them, in as few bytes as that needs; with `delta` as the
        difference to the value before, with `near` as the difference to another column. If these do not fit into 32
        bits, or some value is no whole number, the column is stored as float64. The bytes of a column stand by
        significance, all highest ones together, because that compresses well.

        Parameters
        ----------
        name
            The column's name.
        values
            float64, int64, int32 or bool[k], finite.
        delta
            Whether neighbours are close to each other.
        near
            A column to which values are close, ``submit_s``, or ``submit_s[run_row]`` for those rows of it; and its
            float64[k] values.
        """
        given = np.asarray(values, np.float64)
        how: dict[str, Any] = {"name": name, "length": len(given), "type": "float64"}
        column: NDArray[Any] = given
        whole = bool((np.abs(given) < _WHOLE).all() and (given == np.trunc(given)).all())
        if near is not None:
            whole = whole and bool((near[1] == np.trunc(near[1])).all())
        if whole and len(given):
            shifted = given.astype(np.int64)
            if near is not None:
                shifted = shifted - near[1].astype(np.int64)
            if delta:
                shifted = np.diff(shifted, prepend=0)
            least = int(shifted.min())
            shifted = shifted - least
            for kind in _TYPES:
                if int(shifted.max()) <= np.iinfo(kind).max:
                    column = shifted.astype(kind)
                    how |= {"type": np.dtype(kind).name, "plus": least, "delta": delta, "base": near and near[0]}
                    break
        self.columns.append(how)
        little = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
        self._planes.append(little.view(np.uint8).reshape(len(column), column.itemsize).T.tobytes())

    def text(self) -> str:
        """Return all columns, compressed, in base64."""
        return base64.b64encode(gzip.compress(b"".join(self._planes), 6, mtime=0)).decode()
