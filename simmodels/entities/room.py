"""Room: on which machines of a cluster a job starts."""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from simmodels.entities.machine import Machine
from simmodels.errors import ImpossibleJobError
from simmodels.work.workload import Job


class Room:
    """The machines of a cluster that may have free cores, the lowest first.

    Parameters
    ----------
    name
        What the cluster is called.
    machines
        Its machines; none for a pool.
    ends_s
        Returns when a job would end by its estimate, if it started now.
    """

    def __init__(self, name: str, machines: Sequence[Machine], ends_s: Callable[[Job], float]) -> None:
        self._name, self._machines, self._ends_s = name, machines, ends_s
        self._listed = list(range(len(machines)))  # a heap of those that may have room, by number

    def note(self, machine: Machine) -> None:
        """Take note that a machine may have room."""
        if not machine.listed:
            machine.listed = True
            heappush(self._listed, machine.index)

    def lowest(self, need: int) -> Sequence[tuple[Machine, int]]:
        """Return the free cores of the lowest machines that take jobs, as many as are needed; there are as many."""
        places: list[tuple[Machine, int]] = []
        while need:
            machine = self._machines[self._listed[0]]
            taken = min(machine.free_cores, need) if machine.counts else 0
            if taken:
                places.append((machine, taken))
                need -= taken
            if need or not taken:  # it is full now, or was
                heappop(self._listed)
                machine.listed = False
        return places

    def of(self, chosen: Sequence[Machine], job: Job) -> Sequence[tuple[Machine, int]]:
        """Return the free cores that a job gets of chosen machines, in this order; refuse it if they are too few.

        A machine under notice has some if the job ends before it goes.
        """
        places, need = [], job.cores
        for machine in chosen:
            if not self._refuses(job, machine):
                taken = min(machine.free_cores, need)
                need -= taken
                if taken:
                    places.append((machine, taken))
        if need:
            where = f"machine {', '.join(str(each.index) for each in chosen)} of"
            why = [said for each in chosen if (said := self._refuses(job, each))]
            self.require(job, job.cores - need, where, *why)
        return places

    def _refuses(self, job: Job, machine: Machine) -> str:
        """Return why a machine takes no job, or not this one; nothing if it does."""
        if machine.counts:
            return ""
        if machine.state != "noticed":
            return f"machine {machine.index} is {machine.state}"
        ends_s = self._ends_s(job)
        if ends_s <= machine.goes_s:
            return ""
        return f"machine {machine.index} goes at {machine.goes_s:g} s, and the job ends at {ends_s:g} s by its estimate"

    def require(self, job: Job, free: int, where: str, *why: str) -> None:
        """Refuse a job that needs more cores than are free; `why` says which others it cannot have."""
        if job.cores > free:
            what = f"needs {job.cores} cores, and {free} of {where} {self._name!r} are free"
            raise ImpossibleJobError(job.job_id, "; ".join([f"{what} for it" if why else what, *why]))
