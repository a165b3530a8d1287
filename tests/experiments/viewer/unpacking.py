"""Packed columns as the page's script reads them."""

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def unpacked(columns: list[dict[str, Any]], text: str) -> Mapping[str, NDArray[np.float64]]:
    """Return the values of packed columns, as the page's script reads them.

    Parameters
    ----------
    columns, text
        What `Packed` made.
    """
    content, at = gzip.decompress(base64.b64decode(text)), 0
    found: dict[str, NDArray[np.float64]] = {}
    for how in columns:
        kind, length = np.dtype(how["type"]).newbyteorder("<"), how["length"]
        size = kind.itemsize * length
        planes = np.frombuffer(content[at : at + size], np.uint8).reshape(kind.itemsize, length)
        values = np.ascontiguousarray(planes.T).view(kind).ravel().astype(np.float64)
        at += size
        if how["type"] != "float64":
            values += how["plus"]
            if how["delta"]:
                values = np.cumsum(values)
            if how["base"] is not None:
                name, _, by = how["base"].rstrip("]").partition("[")
                values += found[name][found[by].astype(np.int64)] if by else found[name]
        found[how["name"]] = values
    return found
