"""Work in tests: files of it that are written and read, and what must be the same of two workloads."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simmodels.work.workload import COLUMNS, Workload


def written(folder: Path, content: str | bytes, name: str = "log.swf") -> Path:
    """Write a file of a folder, and return its path."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_same(one: Workload, other: Workload) -> None:
    """Check that two workloads have the same jobs, columns, header and counts of nothing else."""
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.extras.keys() == other.extras.keys()
    for name, column in one.extras.items():
        np.testing.assert_array_equal(column, other.extras[name], err_msg=name)
    assert (one.header, one.max_cores, one.start_unix_s) == (other.header, other.max_cores, other.start_unix_s)


def places(content: object, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to each value in a JSON value."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [way, *(each for key, value in inner for each in places(value, (*way, key)))]


def changed(content: Any, way: Sequence[Any], value: object) -> Any:  # noqa: ANN401  any value of JSON
    """Return a JSON value with another one in a place; None takes it away."""
    new = copy.deepcopy(content)
    *before, last = way
    holder: Any = new
    for step in before:
        holder = holder[step]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return new
