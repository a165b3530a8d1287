"""Sizes: what machines a cluster is made of, or how large a pool of cores is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from simmodels.errors import RequestError
from simmodels.ground.numbers import as_integer, as_number


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
        as_integer("count", self.count, 1)
        as_integer("cores", self.cores, 1)
        object.__setattr__(self, "speed", as_number("speed", self.speed, above=0))


def groups_of(
    name: str, cores: int | None, machines: int | Sequence[Machines] | None, each: int | None, speed: float
) -> tuple[Machines, ...]:
    """Return what machines a cluster is made of: none, if it is a pool of cores."""
    listed = isinstance(machines, Sequence)
    if (cores is None) == (machines is None) or (machines is None or listed) != (each is None):
        what = f"cluster {name!r} with cores={cores}, machines={machines}, cores_per_machine={each}"
        raise RequestError(what, "give either cores, or machines and cores_per_machine, or a list of Machines")
    if isinstance(machines, Sequence):
        if not machines or not all(isinstance(group, Machines) for group in machines) or speed != 1.0:
            what = f"cluster {name!r} with machines={machines} and speed={speed}"
            raise RequestError(what, "give a list of Machines, which say their speeds")
        return tuple(machines)
    if machines is None or each is None:
        return ()
    as_integer(f"machines of cluster {name!r}", machines, 1)
    as_integer(f"cores_per_machine of cluster {name!r}", each, 1)
    return (Machines(machines, each, speed),)


def grouped(machines: Iterable[tuple[int, float]]) -> tuple[Machines, ...]:
    """Return machines, each with its cores and its speed, by neighbours of one kind."""
    return tuple(Machines(len(list(alike)), *kind) for kind, alike in groupby(machines))
