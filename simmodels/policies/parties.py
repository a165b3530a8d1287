"""Parties: of whom the jobs of a queue with limits are, by slot, as compiled code counts them."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.limits import Limits, Party, core_seconds, numbers_of
from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.ground.arguments import listed
from simmodels.structures import limit_state as state
from simmodels.work.workload import Job, Workload

_ROOM: Final = 64  # parties at first


def require_startable(limits: Limits, workload: Workload) -> None:
    """Refuse a workload with a job that could never start under limits, and limits that name what no job is of."""
    known = workload.take(workload.known())
    limits.require(known.numbers_by_name, f"workload {workload.name!r}")


class Parties:
    """The parties of the jobs of a queue, and what is counted of them.

    Parameters
    ----------
    limits
        The limits.
    slots
        How many jobs there is room for.

    Attributes
    ----------
    state
        What a queue is given.
    """

    def __init__(self, limits: Limits, slots: int) -> None:
        self.limits = limits
        self._number: dict[Party, int] = {}
        self._most = limits.most_parties  # by column
        self.state: state.LimitState = state.new_limits(slots, sum(self._most), _ROOM)
        self._columns = state.slot_columns(self.state)

    def grown(self) -> None:
        """Take note that a queue has grown."""
        self._columns = state.slot_columns(self.state)

    def _numbered(self, party: Party) -> int:
        """Return the number of a party, a new one if it was not known."""
        number = self._number.get(party)
        if number is None:
            number = self._number[party] = len(self._number)
            state.set_party(self.state, number, party.jobs, party.cores, party.core_s)
        return number

    def fill_all(self, workload: Workload, rows: NDArray[np.intp] | slice) -> None:
        """Write the parties of the jobs in these rows of a workload, one slot each."""
        parties, core_s, shown = self._columns
        columns, first = workload.numbers_by_name, 0
        for column, most in zip(self.limits.columns, self._most, strict=True):
            values, at = np.unique(numbers_of(columns, column)[rows], return_inverse=True)
            numbers = np.full((len(values), most), -1)
            for place, value in enumerate(values.tolist()):
                of = [self._numbered(party) for party in self.limits.parties(column, value)]
                numbers[place, : len(of)] = of
            parties[:, first : first + most] = numbers[at]
            first += most
        core_s[:] = core_seconds(workload.cores[rows], workload.estimate_s[rows])
        shown[:] = workload.cores[rows]

    def fill(self, slot: int, job: Job) -> None:
        """Write the parties of a job."""
        parties, core_s, shown = self._columns
        found, first = parties[slot], 0
        found[:] = -1
        for (column, value), most in zip(self._values(job).items(), self._most, strict=True):
            for place, party in enumerate(self.limits.parties(column, value)):
                found[first + place] = self._numbered(party)
            first += most
        core_s[slot] = core_seconds(job.cores, job.estimate_s)
        shown[slot] = job.cores

    def require(self, job: Job) -> None:
        """Refuse a job that could never start (`ImpossibleJobError`), or has no number by which limits are."""
        why = self.limits.refusal(self._values(job), job.cores, job.estimate_s)
        if why:
            raise ImpossibleJobError(job.job_id, why)

    def _values(self, job: Job) -> dict[str, int]:
        """Return the values of a job by which limits are."""
        found = {}
        for column in self.limits.columns:
            extras = job.extras or {}
            if column != "user" and column not in extras:
                what = f"limits are by {column}, and job {job.job_id} has no such number"
                raise RequestError(what, f"it has {listed(('user', *extras))}")
            value = job.user_id if column == "user" else extras[column]
            found[column] = int(value) if np.isfinite(value) else -1
        return found

    def waits_for(self, slot: int, cores: int) -> str:
        """Return the limit that a waiting job would exceed if it started now; an empty text if it would none."""
        number = int(state.full_party(self.state, slot, cores))
        if number < 0:
            return ""
        party = list(self._number)[number]
        jobs, has, core_s = state.used_by(self.state, number).tolist()
        return party.full(jobs + 1, has + cores, core_s + int(self._columns[1][slot]))
