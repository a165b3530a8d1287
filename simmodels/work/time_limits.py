"""Time limits: what stands for the time limit of a job that has none."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.later import pd
from simmodels.ground.numbers import Floats

REQUESTED: Final = "requested_s"
"""The column of a workload that marks jobs without a limit: it is > 0 for all others."""
NO_LIMIT: Final = -1.0


def estimates(
    requested_s: NDArray[Any], runtime_s: NDArray[Any], partition: NDArray[Any] | None = None
) -> tuple[Floats, dict[str, int]]:
    """Return the limits, and what stands for them where there are none, as a scheduler would see them; and counts.

    A job without a limit has the longest one of its partition; where none of its partition has any, or it is not known,
    the longest one of all. Its own runtime says nothing of it. Where no job has a limit, there is nothing to be known
    but the runtimes, which published comparisons take for limits.

    Parameters
    ----------
    requested_s
        float64[n], the limits; a job has none where it is not > 0.
    runtime_s
        float64[n], the runtimes; -1 where unknown.
    partition
        [n], where each job was, as numbers or texts (-1 or an empty text: unknown); None if nobody knows.
    """
    limited, found = requested_s > 0, np.asarray(requested_s, np.float64)
    none = not limited.any()
    if none:
        found = np.asarray(runtime_s, np.float64)
    elif not limited.all():
        found = np.where(limited, found, _longest(found, limited, partition))
    return found, {
        "jobs without a time limit": int((~limited).sum()),
        "estimates taken from runtimes": int((found >= 0).sum()) if none else 0,
        "estimates unknown": int((found < 0).sum()),
    }


def _longest(found: Floats, limited: NDArray[np.bool_], partition: NDArray[Any] | None) -> Floats:
    """Return float64[n], the longest limit of each job's partition; of all, where that has none."""
    whole_s = np.full(len(found), found[limited].max())
    if partition is None:
        return whole_s
    number, names = pd.factorize(np.asarray(partition))
    longest_s = np.zeros(len(names) + 1)  # the last is that of jobs whose partition is missing: number -1
    np.maximum.at(longest_s, number[limited], found[limited])
    longest_s[[*(name in {-1, "-1", ""} for name in names), True]] = 0.0
    of_partition = longest_s[number]
    return np.where(of_partition > 0, of_partition, whole_s)
