"""ClusterSpec: a cluster as a schedule and its proof know it; and the terms that a schedule was made under."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from simmodels.clusters.limits import Limits
from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import as_integer


class ClusterSpec(NamedTuple):
    """A cluster of a platform.

    Parameters
    ----------
    name
        Its name.
    cores
        Its cores, those of all its machines.
    kind
        The kind of task that it takes; None takes any.
    machines
        How many machines it is made of; a pool of cores is one.
    sizes
        The cores of each machine, if they differ.
    speeds
        How many seconds of a job each machine does in a second; () if it is one second everywhere.
    checkpoints
        How jobs write checkpoints there: interval, cost and restart in seconds, see `simmodels.Checkpoints`.

    Examples
    --------
    >>> import simmodels as sm
    >>> spec = sm.ClusterSpec("ours", cores=32, machines=4)
    >>> spec.cores_per_machine
    8
    """

    name: str
    cores: int
    kind: str | None = None
    machines: int = 1
    sizes: tuple[int, ...] = ()
    speeds: tuple[float, ...] = ()
    checkpoints: tuple[float, float, float] = (math.inf, 0.0, 0.0)

    @classmethod
    def of(cls, given: object) -> "ClusterSpec":
        """Return the cluster of what stands for it, its fields in order, at least name and cores."""
        if isinstance(given, tuple | list) and 2 <= len(given) <= len(cls._fields) and isinstance(given[0], str):
            return cls(given[0], as_integer(f"cores of cluster {given[0]!r}", given[1], 1), *given[2:])
        raise RequestError(must_be("a cluster", "(name, cores) or (name, cores, kind)", given))

    @classmethod
    def of_machines(
        cls,
        name: str,
        kind: str | None,
        sizes: Sequence[int],
        speeds: Sequence[float],
        checkpoints: tuple[float, float, float],
    ) -> "ClusterSpec":
        """Return the cluster of machines of these cores and speeds; a pool is one of them."""
        differ = tuple(sizes) if len(set(sizes)) > 1 else ()
        odd = () if set(speeds) == {1.0} else tuple(speeds)
        return cls(name, sum(sizes), kind, len(sizes), differ, odd, checkpoints)

    @property
    def sizes_and_speeds(self) -> list[tuple[int, float]]:
        """Return the cores and the speed of each machine; raise `RequestError` if they are not those of all of them."""
        sizes = self.sizes or (self.cores // max(self.machines, 1),) * self.machines
        speeds = self.speeds or (1.0,) * self.machines
        if not (len(sizes) == len(speeds) == self.machines and sum(sizes) == self.cores):
            what = f"{len(sizes)} sizes of {sum(sizes)} cores in all and {len(speeds)} speeds for the {self.machines} "
            what += f"machines of cluster {self.name!r}, which has {self.cores} cores"
            raise RequestError(what, "give one size and one speed for each machine, and as many cores as they have")
        return list(zip(sizes, speeds, strict=True))

    @property
    def cores_per_machine(self) -> int:
        """Return the cores of each machine; raise `RequestError` if they differ."""
        if self.sizes:
            raise RequestError(f"the machines of cluster {self.name!r} have {set(self.sizes)} cores", "ask for `sizes`")
        return self.cores // self.machines

    def cores_of(self, machine: int) -> int:
        """Return the cores of a machine, by its number."""
        return self.sizes[machine] if self.sizes else self.cores_per_machine


@dataclass(frozen=True, slots=True)
class Terms:
    """What a schedule was made under, as far as its proof and its figures ask.

    Parameters
    ----------
    overrun
        What happened to a job that reached its estimate; None if that is not known, or not the same everywhere.
    modelled
        Whether the model, not the workload, says how long jobs ran: speeds and checkpoints, or, of attempts that are
        `changed`, a cluster or a scheduler of the user's.
    network, ccr, tick_s
        How the data of workflows travelled; see `simmodels.Auctioneer`.
    limits
        How much of each cluster the jobs of users, groups and queues might have; None for no limits, or if they were
        not the same everywhere.

    Examples
    --------
    >>> import simmodels as sm
    >>> job = sm.Workflow(1, 0.0, [10, 20], cores=2, edges=[(0, 1)])
    >>> sm.simulate_workflows(job, clusters=[("a", 4)], ccr=0.5).terms
    Terms(overrun=None, modelled=False, network='cluster', ccr=0.5, tick_s=1.0)
    """

    overrun: Literal["run", "kill"] | None = None
    modelled: bool = False
    network: Literal["cluster", "kind", "none"] = "none"
    ccr: float = 0.0
    tick_s: float = 1.0
    limits: Limits | None = field(default=None, repr=False)

    @property
    def travel(self) -> tuple[str, float, float] | None:
        """Return network, ccr and tick_s; None if no data transfer takes time."""
        return (self.network, self.ccr, self.tick_s) if self.ccr and self.network != "none" else None
