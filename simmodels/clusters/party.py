"""Party: whose jobs are counted together under limits, and how much they may have."""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.later import pd
from simmodels.ground.numbers import INT64_MAX, MOST, Ints
from simmodels.units import MINUTE

NO_LIMIT: Final = INT64_MAX
_DENSE: Final = 4  # up to that many values an entry, to mark them is faster than to hash entries


class Party(NamedTuple):
    """Whose jobs are counted together, and how much they may have; a count of `NO_LIMIT` is any."""

    key: tuple[str, str]  # the column and the number of the value, or an empty text and the name of a group
    shown: str  # the value, or the group, as errors show it: its name in quotes, or its number
    jobs: int  # how many may run
    cores: int  # on how many cores
    core_s: int  # how many core-seconds these may be expected to take
    walltime_s: float  # the longest estimate of a job; infinity for any
    submitted: int  # how many may wait in the queue and run

    @property
    def name(self) -> str:
        """Return what errors call it: ``user 17``, or ``group 'physics'``."""
        return f"{self.key[0] or 'group'} {self.shown}"

    def refusal(self, cores: int, estimate_s: float) -> str:
        """Return why a job of it could never start; an empty text if it could."""
        if cores > self.cores:
            return f"needs {cores} cores, and {self.name} may have {self.cores}"
        if estimate_s > self.walltime_s:
            return f"may run for {estimate_s:g} s, and a job of {self.name} for {self.walltime_s:g} s"
        if core_seconds(cores, estimate_s) > self.core_s:
            needed, most = cores * estimate_s / MINUTE, self.core_s / MINUTE
            return f"may take {needed:g} core-minutes, and {self.name} may have {most:g}"
        return ""

    def full(self, jobs: int, cores: int, core_s: int) -> str:
        """Return the limit that more than this much would be over."""
        if jobs > self.jobs:
            return f"{self.name} may run {self.jobs} jobs"
        if cores > self.cores:
            return f"{self.name} may have {self.cores} cores"
        return f"{self.name} may have {self.core_s / MINUTE:g} core-minutes" if core_s > self.core_s else ""


def party_of(key: tuple[str, str], shown: str, caps: Mapping[str, float]) -> Party:
    """Return a party with these caps, by name."""
    core_minutes = caps.get("core_minutes")
    return Party(
        key,
        shown,
        int(caps.get("jobs", NO_LIMIT)),
        int(caps.get("cores", NO_LIMIT)),
        NO_LIMIT if core_minutes is None else _whole_seconds(core_minutes),
        caps.get("walltime_s", math.inf),
        int(caps.get("submitted", NO_LIMIT)),
    )


def _whole_seconds(minutes: float) -> int:
    """Return the most whole seconds that are no more than these minutes: 492 of 8.2, whose product with 60 is less."""
    seconds = round(minutes * MINUTE)
    return seconds if seconds / MINUTE <= minutes else seconds - 1


def core_seconds(cores: Any, estimate_s: Any) -> Any:  # noqa: ANN401  numbers, or columns of them
    """Return the estimates times the cores, in whole core-seconds, rounded up: sums of them are exact."""
    return np.minimum(np.ceil(np.multiply(cores, estimate_s, dtype=np.float64)), MOST).astype(np.int64)


def distinct(numbers: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Return the values of a column, increasing, and which each entry is; `numpy.unique` sorts all entries for that."""
    least, most = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if most - least > _DENSE * len(numbers):
        at, values = pd.factorize(numbers, sort=True)
        return values, at
    places = numbers - least
    present = np.zeros(most - least + 1, np.bool_)
    present[places] = True
    return np.flatnonzero(present) + least, (np.cumsum(present) - 1)[places]
