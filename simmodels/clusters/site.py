"""Site: a cluster to simulate on, and how its capacity varies, as a description that both engines read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, Self, get_args

from simmodels.clusters.capacity import Capacity
from simmodels.clusters.checkpoints import Checkpoints, checkpoint_numbers
from simmodels.clusters.cluster_spec import ClusterSpec
from simmodels.clusters.outages import FailureLaw, MaintenanceWindow
from simmodels.clusters.power_saving import SleepPolicy
from simmodels.clusters.sizes import Machines, grouped, groups_of
from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import as_tuple, by_name
from simmodels.ground.numbers import as_integer, as_number

Removes = Literal["highest", "random"]


@by_name("for example Site(name='a', cores=64)")
@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A cluster to simulate on: a pool of cores, or machines that may be switched on and off.

    Parameters
    ----------
    name
        Its name.
    cores
        The size of the pool; or give the next two.
    machines, cores_per_machine
        How many machines there are at most (None: the most that the capacity says), and the cores of each. Or a list of
        `Machines`, which may differ in size and speed: those of the highest numbers, the last ones, go first.
    speed
        How many seconds of a job are done in a second; `Machines` say their own. A job on several machines runs as fast
        as the slowest of them. A pool at another speed than 1 is simulated as one machine of all its cores.
    kind
        What kind of task it takes; None for any.
    capacity
        How many machines are on over time, see `Capacity`: also a table, or records. None: all, always.
    removes
        Which machines go: those of the ``"highest"`` numbers, or ``"random"`` ones.
    checkpoints
        How jobs write checkpoints; None for no periodic ones, and for free ones on notice.
    failures
        How machines fail; None: they do not.
    maintenance
        When machines are maintained, at or after the begin of the simulation.
    sleep
        When idle machines are switched off; None: never.

    Raises
    ------
    RequestError, UnknownNameError
        Neither a pool nor machines are given, or both; a size is no whole number from 1 to 2^53, or a speed not above
        0; or the capacity asks for more machines than there are.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0, 0], "runtime_s": [10, 10], "cores": [4, 4]}
    >>> sites = [sm.Site(name="a", cores=4), sm.Site(name="b", machines=2, cores_per_machine=8)]
    >>> sm.simulate(jobs, on=sites, router="RoundRobin").cluster.tolist()
    [0, 1]
    >>> mixed = sm.Site(machines=[sm.Machines(1, cores=4, speed=2.0), sm.Machines(1, cores=2)])
    >>> sm.simulate(jobs, on=mixed).end_s.tolist()
    [5.0, 10.0]
    """

    name: str = "cluster"
    cores: int | None = None
    machines: int | Sequence[Machines] | None = None
    cores_per_machine: int | None = None
    speed: float = 1.0
    kind: str | None = None
    capacity: Capacity | None = None
    removes: Removes = "highest"
    checkpoints: Checkpoints | None = None
    failures: FailureLaw | None = None
    maintenance: Sequence[MaintenanceWindow] = ()
    sleep: SleepPolicy | None = None

    def __post_init__(self) -> None:
        """Check the sizes."""
        if not isinstance(self.name, str):
            raise RequestError(must_be("name", "a text", self.name))
        require_known("removes", self.removes, get_args(Removes))
        if self.capacity is not None:
            table = Capacity.of(self.capacity)
            object.__setattr__(self, "capacity", table)
            if self.machines is None:
                object.__setattr__(self, "machines", max(int(table.machines.max()), 1))
        object.__setattr__(self, "speed", as_number("speed", self.speed, above=0))
        if isinstance(self.machines, list | tuple):
            groups = groups_of(self.name, self.cores, self.machines, self.cores_per_machine, self.speed)
            object.__setattr__(self, "machines", groups)
        self._check_outages()
        self._check_parts()
        for size in ("cores", "machines", "cores_per_machine"):
            value = getattr(self, size)
            if value is None or isinstance(value, tuple):
                continue
            what = size if self.name in {"cluster", "machines"} else f"{size} of cluster {self.name!r}"
            object.__setattr__(self, size, as_integer(what, value, 1))
        if self.capacity is not None and self.capacity.machines.max() > self.count:
            limit = f"at most {self.count}, those of the cluster"
            raise RequestError(must_be("the machines of capacity", limit, self.capacity.machines.max()))
        for each in self.maintenance:
            as_integer(f"a machine of cluster {self.name!r}", each.of(self.count)[-1], 0, self.count - 1)
        if self.sleep is not None:
            as_integer(f"awake of cluster {self.name!r}", self.sleep.awake, 0, self.count)

    def _check_outages(self) -> None:
        """Refuse what says nothing of failures, of maintenance or of sleep."""
        if not isinstance(self.failures, FailureLaw | None):
            raise RequestError(must_be("failures", "a FailureLaw, or None", self.failures))
        if not isinstance(self.sleep, SleepPolicy | None):
            raise RequestError(must_be("sleep", "a SleepPolicy, or None", self.sleep))
        windows = as_tuple("maintenance", self.maintenance, "a list of MaintenanceWindow")
        if not all(isinstance(each, MaintenanceWindow) for each in windows):
            raise RequestError(must_be("maintenance", "a list of MaintenanceWindow", self.maintenance))
        object.__setattr__(self, "maintenance", windows)

    def _check_parts(self) -> None:
        """Refuse what does not go together."""
        sized = self.cores_per_machine is not None or isinstance(self.machines, tuple)
        if self.capacity is not None and (self.cores is not None or not sized):
            what = f"capacity with cores={self.cores}, cores_per_machine={self.cores_per_machine}"
            raise RequestError(what, "give cores_per_machine, and no cores")
        if self.cores is not None:
            for name in ("machines", "cores_per_machine", "checkpoints", "failures", "maintenance", "sleep"):
                if getattr(self, name) not in (None, ()):
                    raise RequestError(f"{name} beside cores", "give machines= and cores_per_machine= instead of cores")
            if self.removes != "highest":
                raise RequestError("removes beside cores", "give capacity= and cores_per_machine= instead of cores")
        elif self.machines is None or not sized:
            what = f"site {self.name!r} with machines={self.machines}, cores_per_machine={self.cores_per_machine}"
            raise RequestError(what, "give both, or cores")
        if not isinstance(self.checkpoints, Checkpoints | None):
            raise RequestError(must_be("checkpoints", "a Checkpoints, or None", self.checkpoints))
        if self.capacity is None and self.removes != "highest":
            raise RequestError("removes of machines that are always on", "add capacity=")

    @classmethod
    def of(cls, given: object) -> "Site":
        """Return the site of what stands for it: a number of cores, name, cores and kind of a pool, or a `ClusterSpec`.

        It raises `RequestError` if it is none of these.
        """
        if isinstance(given, Site):
            return given
        if isinstance(given, ClusterSpec):
            first, *others = groups = grouped(given.sizes_and_speeds)
            saving = None if given.checkpoints == checkpoint_numbers(None) else Checkpoints(*given.checkpoints)
            if given.machines == 1 and saving is None:
                return cls(name=given.name, cores=given.cores, speed=first.speed, kind=given.kind)
            made: dict[str, Any] = {"machines": groups}
            if not others:
                made = {"machines": first.count, "cores_per_machine": first.cores, "speed": first.speed}
            return cls(name=given.name, kind=given.kind, checkpoints=saving, **made)
        if isinstance(given, Sequence) and not isinstance(given, str):
            if 2 <= len(given) <= 3 and isinstance(given[0], str) and isinstance([*given, None][2], str | None):
                return cls(name=given[0], cores=given[1], kind=[*given, None][2])
        elif isinstance(given, Real | str):
            return cls(cores=given)  # type: ignore[arg-type]  # refused if it is no whole number
        raise RequestError(
            must_be("a cluster", "a Site, a number of cores, (name, cores) or (name, cores, kind)", given)
        )

    @property
    def groups(self) -> Sequence[Machines]:
        """Return its machines by size and speed; a pool of cores is one machine."""
        if isinstance(self.machines, tuple):
            return self.machines
        size = self.cores if self.machines is None else self.cores_per_machine
        return groups_of(self.name, None, self.count, size, self.speed)

    @property
    def count(self) -> int:
        """Return how many machines it has; a pool is one."""
        if isinstance(self.machines, Sequence):
            return sum(group.count for group in self.machines)
        return 1 if self.machines is None else self.machines

    @property
    def spec(self) -> ClusterSpec:
        """Return the site as a schedule knows it."""
        sizes: list[int] = []
        speeds: list[float] = []
        for group in self.groups:
            sizes += [int(group.cores)] * group.count
            speeds += [group.speed] * group.count
        return ClusterSpec.of_machines(self.name, self.kind, sizes, speeds, checkpoint_numbers(self.checkpoints))

    @property
    def size(self) -> int:
        """Return the cores of all its machines."""
        return self.cores or sum(group.count * group.cores for group in self.groups)

    def as_machines(self) -> Self:
        """Return it with a pool as one machine of all its cores."""
        return self if self.cores is None else replace(self, cores=None, machines=1, cores_per_machine=self.cores)

    @property
    def is_out(self) -> bool:
        """Return whether machines fail, are maintained or sleep."""
        return self.failures is not None or bool(self.maintenance) or self.sleep is not None

    @property
    def last_change_s(self) -> float:
        """Return when the last change of its capacity is made, and its last maintenance has ended; -infinity: never."""
        capacity = -math.inf if self.capacity is None else float(self.capacity.time_s[-1])
        return max([capacity, *(each.end_s for each in self.maintenance)])

    def known_by(self, end_s: float) -> Self:
        """Return it with what is known of its capacity by an instant: what is announced later no engine knows."""
        return self if self.capacity is None else replace(self, capacity=self.capacity.known_by(end_s))
