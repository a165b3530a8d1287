"""Sizes: what machines a cluster is made of, or how large a pool of cores is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from simmodels.errors import RequestError
from simmodels.ground.numbers import MOST, is_number, is_whole


@dataclass(frozen=True, slots=True)
class Machines:
    """Machines of one size and speed, of which a cluster may have several kinds.

    Parameters
    ----------
    count
        How many there are (>= 1).
    cores
        The cores of each (>= 1).
    speed
        How many seconds of a job each does in a second (> 0).

    Raises
    ------
    RequestError
        A number is out of its range.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> sm.Cluster(env, "mixed", machines=[sm.Machines(2, cores=64), sm.Machines(1, cores=16, speed=2.0)])
    <Cluster 'mixed': 144 of 144 cores free>
    """

    count: int
    cores: int
    speed: float = 1.0

    def __post_init__(self) -> None:
        """Refuse numbers that no machines have."""
        if not (is_whole(self.count, 1, MOST) and is_whole(self.cores, 1, MOST)):
            what = f"{self.count} machines of {self.cores} cores"
            raise RequestError(what, "at least 1 core is allowed, in whole numbers up to 2^53")
        require_speed(self.speed)


def require_speed(speed: float) -> None:
    """Refuse a speed that is not a finite number above 0.

    Raises
    ------
    RequestError
        It is none.
    """
    if not is_number(speed) or not 0 < speed < np.inf:
        raise RequestError(f"speed must be a finite number > 0 (got {speed})")


def groups_of(
    name: str, cores: int | None, machines: int | Sequence[Machines] | None, each: int | None, speed: float
) -> tuple[Machines, ...]:
    """Return what machines a cluster is made of: none, if it is a pool of cores."""
    listed = isinstance(machines, Sequence)
    if (cores is None) == (machines is None) or (machines is None or listed) != (each is None):
        what = f"cluster {name!r} with cores={cores}, machines={machines}, cores_per_machine={each}"
        raise RequestError(what, "either cores, or machines and cores_per_machine, or a list of Machines are allowed")
    if isinstance(machines, Sequence):
        if not machines or not all(isinstance(group, Machines) for group in machines) or speed != 1.0:
            what = f"cluster {name!r} with machines={machines} and speed={speed}"
            raise RequestError(what, "a list of Machines is needed, which say their speeds")
        return tuple(machines)
    if machines is None or each is None:
        return ()
    if not (is_whole(machines, 1, MOST) and is_whole(each, 1, MOST)):
        _refuse_size(name, f"{machines} machines of {each} cores")
    return (Machines(machines, each, speed),)


def pool_size(name: str, cores: int) -> int:
    """Return the size of a pool of cores."""
    if not is_whole(cores, 1, MOST):
        _refuse_size(name, f"{cores} cores")
    return int(cores)


def _refuse_size(name: str, size: str) -> NoReturn:
    raise RequestError(f"cluster {name!r} of {size}", "at least 1 core is allowed, in whole numbers up to 2^53")
