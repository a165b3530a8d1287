"""Workloads in tests: files of them that are written, and what must be the same of two."""

from pathlib import Path

import numpy as np

from simmodels.workload import COLUMNS, Workload


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
