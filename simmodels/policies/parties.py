"""Parties: of whom the jobs of a queue with limits are, by slot, as compiled code counts them."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.limits import Limits, numbers_of
from simmodels.clusters.party import Party, core_seconds, distinct
from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.ground.arguments import listed
from simmodels.structures import limit_state as state
from simmodels.work.workload import Job, Workload

_ROOM: Final = 64  # parties at first


def startable(limits: Limits, workload: Workload) -> Limits:
    """Return limits with the numbers that their names have in a workload.

    It refuses a workload with a job that could never start under them, and limits that name what no job is of.
    """
    found = limits.for_jobs(workload.names)
    known = workload.known()
    jobs = workload if known.all() else workload.take(known)
    found.require(jobs.numbers_by_name, f"workload {workload.name!r}")
    return found


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
        self._parties: list[Party] = []
        self._number: dict[tuple[str, str], int] = {}  # by their keys
        self._cohort: dict[tuple[int, ...], int] = {}  # by the parties of a job
        self._most = limits.most_parties  # by column
        self.state: state.LimitState = state.new_limits(slots, sum(self._most), _ROOM, limits.counts_submitted)
        self._columns = self.state.cohort, self.state.core_s

    def grown(self) -> None:
        """Take note that a queue has grown."""
        self._columns = self.state.cohort, self.state.core_s

    def _numbered(self, party: Party) -> int:
        """Return the number of a party, a new one if it was not known."""
        number = self._number.get(party.key)
        if number is None:
            number = self._number[party.key] = len(self._number)
            self._parties.append(party)
            state.set_party(self.state, number, party.jobs, party.cores, party.core_s, party.submitted)
        return number

    def _padded(self, parties: Sequence[Party], most: int) -> tuple[int, ...]:
        """Return the numbers of parties by a column, and -1 up to the most that there are."""
        return (*map(self._numbered, parties), *[-1] * (most - len(parties)))

    def _cohorts_of(self, of: Sequence[tuple[int, ...]]) -> list[int]:
        """Return the numbers of the cohorts of these parties, new ones if they were not known."""
        known = self._cohort
        if new := [each for each in dict.fromkeys(of) if each not in known]:
            state.set_cohorts(self.state, len(known), np.array(new, np.int64))
            known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
        return [known[each] for each in of]

    def fill_all(self, workload: Workload, rows: NDArray[np.intp] | slice) -> None:
        """Write the parties of the jobs in these rows of a workload, one slot each."""
        self.limits.require_names()
        cohort, core_s = self._columns
        columns = workload.numbers_by_name
        of = np.empty((1, 0), np.int64)  # the parties by the columns so far, of each combination of their values
        at = np.zeros(len(core_s), np.intp)
        for column, most in zip(self.limits.columns, self._most, strict=True):
            values, by_value = distinct(numbers_of(columns, column)[rows])
            parties = [self._padded(self.limits.parties(column, value), most) for value in values.tolist()]
            found = np.array(parties, np.int64).reshape(len(values), most)
            both, at = distinct(at * len(values) + by_value)
            of = np.hstack([of[both // len(values)], found[both % len(values)]])
        cohort[:] = np.array(self._cohorts_of([*map(tuple, of.tolist())]), np.int64)[at]
        core_s[:] = core_seconds(workload.cores[rows], workload.estimate_s[rows])

    def fill(self, slot: int, job: Job) -> None:
        """Write the parties of a job."""
        cohort, core_s = self._columns
        found: tuple[int, ...] = ()
        for (column, value), most in zip(self._values(job).items(), self._most, strict=True):
            found += self._padded(self.limits.parties(column, value), most)
        (cohort[slot],) = self._cohorts_of([found])
        core_s[slot] = core_seconds(job.cores, job.estimate_s)

    def require(self, job: Job) -> None:
        """Refuse a job that could never start (`ImpossibleJobError`), or has no number by which limits are."""
        self.limits.require_names()
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

    def waits_for(self, slot: int, cores: int, *, outside: bool = False) -> str:
        """Return the limit that a waiting job would exceed if it started now, or entered; an empty text if none."""
        if outside:
            number = int(state.full_to_enter(self.state, int(self._columns[0][slot])))
        else:
            number = int(state.full_party(self.state, slot, cores))
        if number < 0:
            return ""
        party = self._parties[number]
        if outside:
            return f"{party.name} may have {party.submitted} jobs submitted"
        jobs, has, core_s, _ = self.state.used[number].tolist()
        return party.full(jobs + 1, has + cores, core_s + int(self._columns[1][slot]))
