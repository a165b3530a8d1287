"""Going: the machines of a cluster by when they go, as the pass under notice asks for them."""

import numpy as np
from numpy.typing import NDArray

from simmodels.entities.attempt import Attempt
from simmodels.entities.cluster import Cluster
from simmodels.entities.machine import Machine


class Going:
    """The machines of a cluster that do not drain, in classes by the instants at which they go.

    Parameters
    ----------
    cluster
        The cluster.
    decider
        Who asks: only attempts on which it decided are listed.

    Attributes
    ----------
    goes_s
        float64[classes], increasing; the last is infinity, of the machines that stay.
    free
        int64[classes], the cores that are free in each.
    running
        int64[k, 3]: slot, class and cores of what runs there.
    """

    def __init__(self, cluster: Cluster, decider: object) -> None:
        machines = [machine for machine in cluster.machines if machine.state in {"on", "noticed"}]
        self.goes_s: NDArray[np.float64] = np.unique([*(machine.goes_s for machine in machines), np.inf])
        number = {machine: int(np.searchsorted(self.goes_s, machine.goes_s)) for machine in machines}
        self._number = number
        self._free: list[list[tuple[Machine, int]]] = [[] for _ in self.goes_s]
        for machine, of in number.items():
            self._free[of].append((machine, machine.free_cores))
        self.free = np.array([sum(cores for _, cores in each) for each in self._free], np.int64)
        rows = [
            (attempt.slot, *part)
            for attempt in cluster.running
            if attempt.decider is decider
            for part in self.cores_of(attempt)
        ]
        self.running = np.array(rows, np.int64).reshape(-1, 3)

    def cores_of(self, attempt: Attempt) -> list[tuple[int, int]]:
        """Return class and cores of an attempt, of each machine that it has and that does not drain."""
        number = self._number
        return [(number[machine], cores) for machine, cores in attempt.places if machine in number]

    def places(self, had: NDArray[np.int64]) -> dict[int, list[tuple[Machine, int]]]:
        """Return the machines, the lowest first, of those that start, and how many cores of each.

        Parameters
        ----------
        had
            int64[m, 3]: slot, class and cores, in the order in which they start.
        """
        found: dict[int, list[tuple[Machine, int]]] = {}
        for slot, of, cores in had.tolist():
            left, places = cores, found.setdefault(slot, [])
            rest = self._free[of]
            while left:
                machine, free = rest[0]
                taken = min(free, left)
                if taken:
                    places.append((machine, taken))
                left -= taken
                rest[0] = (machine, free - taken)
                if free == taken:
                    rest.pop(0)
        return found
