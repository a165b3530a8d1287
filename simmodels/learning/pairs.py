"""Pairs: jobs S that fill a machine, and the jobs Q that trials then start in one order after the other.

References
----------
Rosa, Carastan-Santos, Goldman 2023, "An experimental analysis of regression-obtained HPC scheduling heuristics", JSSPP;
the scheme is that of Carastan-Santos, de Camargo 2017, doi 10.1145/3126908.3126955.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, Self, get_args

import numpy as np

from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import as_instance, as_tuple
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_integer
from simmodels.ground.streams import stream
from simmodels.work.workload import Workload, WorkloadLike

Initial = Literal["started", "submitted"]

MOST_JOBS: Final = 64
"""The most jobs that Q may have: the compiled trial keeps their numbers in six bits."""


@dataclass(frozen=True, slots=True)
class State:
    """What a machine does when the first job of Q is considered.

    Parameters
    ----------
    time_s
        The instant, in seconds since the first submit of S.
    end_s
        When each running job ends, in seconds, ascending; all after `time_s`.
    cores
        How many cores each running job has, in the same order.
    free
        How many cores are free.
    """

    time_s: float
    end_s: tuple[float, ...]
    cores: tuple[int, ...]
    free: int


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Consecutive jobs of a workload: the first are S, which run first come first served, the rest are Q.

    Parameters
    ----------
    number
        Its number: the trials' random numbers are keyed by it.
    jobs
        The jobs of S and then those of Q, by submit; the first submit is 0. Their runtimes count, not their estimates.
    initial_jobs
        How many of them are S (>= 1); 1 to 64 others are Q.
    cores
        The size of the machine.

    Raises
    ------
    RequestError
        There are no jobs in S, or none or more than 64 in Q; submits descend; a runtime is 0 or less.
    ImpossibleJobError
        A job can never run on the machine.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> pair = sm.Pair.at(wl.lublin(jobs=100, cores=64, seed=1), 10, initial_jobs=4, trial_jobs=6)
    >>> pair.number, pair.cores, len(pair.jobs)
    (10, 64, 10)
    """

    number: int
    jobs: Workload
    initial_jobs: int
    cores: int

    def __post_init__(self) -> None:
        """Check the jobs."""
        as_integer("cores", self.cores, 1)
        rest = len(self.jobs) - self.initial_jobs
        if self.initial_jobs < 1 or not 1 <= rest <= MOST_JOBS:
            what = f"{self.initial_jobs} of {len(self.jobs)} jobs are S, and {rest} Q"
            raise RequestError(what, f"put at least 1 into S and 1 to {MOST_JOBS} into Q")
        self.jobs.require_runnable(self.cores)
        short = np.flatnonzero(~(self.jobs.runtime_s > 0))
        if len(short):
            job = self.jobs.job(int(short[0]))
            raise RequestError(must_be(f"runtime_s of job {job.job_id}", "a number of seconds > 0", job.runtime_s))
        if (np.diff(self.jobs.submit_s) < 0).any():
            raise RequestError(f"the jobs of pair {self.number} are not sorted by submit", "sort them")

    @classmethod
    def at(
        cls,
        workload: Workload,
        row: int,
        *,
        cores: int | None = None,
        initial_jobs: int = 16,
        trial_jobs: int = 32,
        number: int | None = None,
    ) -> Self:
        """Return the pair that begins at a row of a workload; submits count from that row's.

        Parameters
        ----------
        workload
            The jobs, by submit.
        row
            The row of the first job of S, from 0.
        cores
            The size of the machine; by default ``workload.max_cores``.
        initial_jobs, trial_jobs
            How many jobs are S, and how many Q.
        number
            Its number; by default the row.

        Raises
        ------
        RequestError
            The row has too few jobs after it, the size of the machine is unknown, or as `Pair` says.
        ImpossibleJobError
            A job can never run on the machine.
        """
        jobs = initial_jobs + trial_jobs
        if not 0 <= row <= len(workload) - jobs:
            expected = f"one of the {len(workload)} rows of {workload.name!r} with {jobs} jobs from it on"
            raise RequestError(must_be("row", expected, row))
        taken = workload.take(slice(row, row + jobs))
        size = _size(workload, cores)
        return cls(row if number is None else number, taken.shift(-float(taken.submit_s[0])), initial_jobs, size)

    def state(self, *, initial_state: Initial = "started", dispatch_delay_s: Duration = 0.0) -> State:
        """Return the state of the machine after S ran in strict FCFS: the head of the queue blocks the others.

        Parameters
        ----------
        initial_state
            ``"started"``: the instant at which the last job of S starts, as in the authors' program. ``"submitted"``:
            that at which it is submitted, as in their text; those of S that still wait then are left out.
        dispatch_delay_s
            What each start costs, in seconds: a job starts so much after it can, and the next is considered then.

        Raises
        ------
        UnknownNameError
            No such initial state.
        RequestError
            The delay is no finite number >= 0.
        """
        require_known("initial state", initial_state, get_args(Initial))
        dispatch_delay_s = as_seconds("dispatch_delay_s", dispatch_delay_s, least=0)
        time_s = 0.0
        limit_s = math.inf if initial_state == "started" else float(self.jobs.submit_s[self.initial_jobs - 1])
        running: list[tuple[float, int]] = []
        for row in range(self.initial_jobs):
            job = self.jobs.job(row)
            start_s = max(time_s, job.submit_s)
            still = sorted(one for one in running if one[0] > start_s)
            free = self.cores - sum(cores for _, cores in still)
            while free < job.cores:
                start_s, cores = still.pop(0)
                free += cores
            start_s += dispatch_delay_s
            if start_s > limit_s:
                break
            time_s = start_s
            running.append((start_s + job.runtime_s, job.cores))
        if initial_state == "submitted":
            time_s = limit_s
        still = sorted(one for one in running if one[0] > time_s)
        held = tuple(cores for _, cores in still)
        return State(time_s, tuple(end for end, _ in still), held, self.cores - sum(held))


def draw_pairs(
    workload: WorkloadLike,
    pairs: int = 440,
    *,
    cores: int | None = None,
    initial_jobs: int = 16,
    trial_jobs: int = 32,
    seed: int = 0,
) -> tuple[Pair, ...]:
    """Return pairs of consecutive jobs of a workload, each with its start drawn uniformly.

    Parameters
    ----------
    workload
        The jobs. Those with a runtime > 0, an estimate > 0 and 0 < cores <= `cores` take part, by (submit, input
        position); if no job has an estimate > 0, estimates are not asked for.
    pairs
        How many pairs to draw (the source has 440); two may overlap, or be the same.
    cores
        The size of the machine; by default ``workload.max_cores``.
    initial_jobs, trial_jobs
        How many jobs are S (16 in the source) and Q (32), which is at most 64.
    seed
        Pair i is drawn from the stream ("pairs", i) of it, however many there are.

    Returns
    -------
    tuple of Pair
        As many as were asked for, in the order drawn.

    Raises
    ------
    RequestError
        A number is out of its range, the size of the machine is unknown, or too few jobs take part.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> pairs = sm.draw_pairs(wl.lublin(jobs=500, cores=64, seed=1), 2, initial_jobs=4, trial_jobs=6)
    >>> [len(pair.jobs) for pair in pairs]
    [10, 10]
    """
    workload = Workload.of(workload)
    size = _size(workload, cores)
    pairs, initial_jobs = as_integer("pairs", pairs, 1), as_integer("initial_jobs", initial_jobs, 1)
    trial_jobs = as_integer("trial_jobs", trial_jobs, 1, MOST_JOBS)
    usable = (workload.runtime_s > 0) & (workload.cores > 0) & (workload.cores <= size)
    if (workload.estimate_s > 0).any():
        usable &= workload.estimate_s > 0
    rows = np.flatnonzero(usable)
    rows = rows[np.argsort(workload.submit_s[rows], kind="stable")]
    starts = len(rows) - initial_jobs - trial_jobs + 1
    if starts < 1:
        what = (
            f"{len(rows)} of {len(workload)} jobs of {workload.name!r} have runtime, estimate and cores that take part"
        )
        raise RequestError(what, f"give a log with at least {initial_jobs + trial_jobs}")
    taken = workload.take(rows)
    return tuple(
        Pair.at(
            taken,
            int(stream(seed, "pairs", number).integers(starts)),
            cores=size,
            initial_jobs=initial_jobs,
            trial_jobs=trial_jobs,
            number=number,
        )
        for number in range(pairs)
    )


def _size(workload: Workload, cores: int | None) -> int:
    """Return the size of the machine."""
    size = workload.max_cores if cores is None else cores
    if size is None:
        raise RequestError(f"the size of the machine of {workload.name!r} is unknown", "give cores=")
    return as_integer("cores", size, 1)


def require_pairs(pairs: Iterable[Pair] | Pair) -> tuple[Pair, ...]:
    """Return the pairs as a tuple; refuse none at all, and two of the same number."""
    found = (pairs,) if isinstance(pairs, Pair) else as_tuple("pairs", pairs, "one Pair or several")
    for each in found:
        as_instance("pairs", each, Pair)
    if not found:
        raise RequestError("no pairs are given", "give at least one")
    numbers = [pair.number for pair in found]
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise RequestError(f"two pairs have the number {twice}", "each pair needs its own: it names its random numbers")
    return found
