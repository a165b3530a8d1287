"""Allocation: which cores each job ran on, given after the fact, lowest free cores first.

A replay only counts cores, because for rigid jobs on one pool it does not matter which they are.
Gantt charts and Batsim's table of jobs want them by number.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import IllegalScheduleError, RequestError, must_be
from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Floats, Ints, ranges
from simmodels.ground.signals import heed_signals
from simmodels.results.schedule import Schedule
from simmodels.work.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

Bounds: TypeAlias = NDArray[np.int32]

_MOST_CORES: Final = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The cores of each attempt, as closed intervals of core numbers from 0.

    Row i has the intervals ``offsets[i]`` to ``offsets[i + 1]``, ascending, neither overlapping
    nor touching. The rows are those of `Schedule.all_attempts`: the first n are the jobs' last
    attempts, in input order. Who never started has none.

    Parameters
    ----------
    offsets
        int64[k + 1].
    first, last
        int32[m], the lowest and highest core of each interval.
    """

    offsets: NDArray[np.int64]
    first: Bounds
    last: Bounds

    def __len__(self) -> int:
        """Return the number of attempts."""
        return len(self.offsets) - 1

    def intervals(self, row: int) -> list[tuple[int, int]]:
        """Return the cores of a row as (lowest, highest) pairs."""
        part = slice(self.offsets[row], self.offsets[row + 1])
        return list(zip(self.first[part].tolist(), self.last[part].tolist(), strict=True))

    def formatted(self) -> list[str]:
        """Return the cores of each row as text: ``"0-3 7"``, and ``""`` for none.

        References
        ----------
        Batsim's notation for sets of resources: a blank between intervals, a hyphen within.
        """
        texts = [_text(low, high) for low, high in zip(self.first.tolist(), self.last.tolist(), strict=True)]
        return [" ".join(texts[begin:end]) for begin, end in pairwise(self.offsets.tolist())]


def _text(low: int, high: int) -> str:
    """Return one interval of cores as text."""
    return str(low) if low == high else f"{low}-{high}"


def allocate(schedule: Schedule) -> Allocation:
    """Return the cores of every attempt of a schedule: each takes the lowest that are free on its machines.

    Cores are numbered through all clusters, and there through all machines.

    At one instant, first the cores of what ends are freed; then come the jobs that run for 0 s,
    one after another (each gives its cores back at once); then the other starts by (submit, input
    row). An attempt that still runs at the end keeps its cores. The same schedule always gives the
    same allocation, whatever engine made it.

    The free cores are held as a list of intervals, so that a start costs what it takes and an end
    a merge with the free intervals below it: O(k log k + k f) for k attempts and f free intervals.

    Parameters
    ----------
    schedule
        A legal schedule.

    Raises
    ------
    IllegalScheduleError
        More cores are in use at some instant than a machine has.
    RequestError
        There are more than 2**31 - 1 cores.
    """
    _require_numbers(schedule.cores)
    runs, base = schedule.all_attempts(), 0
    found: list[NDArray[np.int64]] = []
    for cluster, spec in enumerate(schedule.clusters):
        here = np.flatnonzero((runs["cluster"] == cluster) & runs["start_s"].notna())
        line, machine, first, last = allocate_on(schedule, cluster, runs.iloc[here])
        begin = base + np.cumsum([0, *(size for size, _ in spec.sizes_and_speeds)])[machine]
        found.append(np.stack((here[line], begin + first, begin + last)))
        base += spec.cores
    line, first, last = np.concatenate(found, axis=1)
    order = np.lexsort((first, line))
    line, first, last = line[order], first[order], last[order]
    apart = (line[1:] != line[:-1]) | (first[1:] != last[:-1] + 1)  # the cores of neighbouring machines may touch
    begins, ends = np.append(True, apart)[: len(line)], np.append(apart, True)[: len(line)]
    offsets = np.searchsorted(line[begins], np.arange(len(runs) + 1))
    return Allocation(offsets, first[begins].astype(np.int32), last[ends].astype(np.int32))


def allocate_on(schedule: Schedule, cluster: int, runs: "pd.DataFrame") -> tuple[Ints, Ints, Ints, Ints]:
    """Return the cores of attempts on a cluster, one entry per interval, in no order.

    Parameters
    ----------
    schedule
        A legal schedule.
    cluster
        The number of the cluster.
    runs
        Some of its attempts, rows of `Schedule.all_attempts`; all of them have started there.

    Returns
    -------
    tuple
        Which of the attempts it is, on which machine (0 of a pool), and the lowest and highest core there.
    """
    spec, work = schedule.clusters[cluster], schedule.workload
    at = runs[["row", "attempt", "start_s", "end_s"]].assign(line=np.arange(len(runs)), cores=work.cores[runs["row"]])
    at["machine"] = runs["machine"] if spec.machines > 1 else 0
    if spec.machines > 1 and len(parts := schedule.all_parts()):
        parts = parts.rename(columns={"machine": "part", "cores": "of_part"})
        at = at.merge(parts, "left", on=["row", "attempt"], sort=False)
        at["machine"] = at["part"].fillna(at["machine"]).astype(np.int64)
        at["cores"] = at["of_part"].fillna(at["cores"]).astype(np.int64)
    row, start_s, end_s, cores, line = (at[name].to_numpy() for name in ("row", "start_s", "end_s", "cores", "line"))
    machine = at["machine"].to_numpy()
    order = np.argsort(machine, kind="stable")
    found: list[NDArray[np.int64]] = [np.empty((4, 0), np.int64)]
    for here in np.split(order, np.flatnonzero(np.diff(machine[order])) + 1) if len(order) else ():
        which = int(machine[here[0]])
        size = spec.cores_of(which) if spec.machines > 1 else spec.cores
        given = allocate_attempts(work, row[here], start_s[here], end_s[here], cores[here], size)
        lines = np.repeat(line[here], np.diff(given.offsets))
        found.append(np.stack((lines, np.full(len(lines), which), given.first, given.last)))
    lines, machines, first, last = np.concatenate(found, axis=1)
    return lines, machines, first, last


def _require_numbers(cores: int) -> None:
    """Refuse more cores than numbers are kept for."""
    if cores > _MOST_CORES:
        raise RequestError(must_be("the number of cores to assign", f"at most {_MOST_CORES}", cores))


def allocate_attempts(
    work: Workload, row: Ints, start_s: Floats, end_s: Floats, cores: Ints, machine: int
) -> Allocation:
    """Return the cores of attempts on a machine, or of the parts of them that are there; see `allocate`.

    Parameters
    ----------
    work
        The jobs.
    row, start_s, end_s, cores
        Of each attempt: the input row of its job, when it starts and ends (NaN: not), and its cores there.
    machine
        The cores of the machine.
    """
    _require_numbers(machine)
    starts = np.flatnonzero(~np.isnan(start_s))
    lasts = start_s[starts] != end_s[starts]
    starts = starts[np.lexsort((starts, row[starts], work.submit_s[row[starts]], lasts, start_s[starts]))]
    ends = np.flatnonzero(end_s > start_s)
    ends = ends[np.argsort(end_s[ends], kind="stable")]
    failed, begin, count, first, last = _give(starts, ends, start_s, end_s, cores, machine)
    if failed >= 0:
        job_id, time_s = work.job_id[row[failed]], start_s[failed]
        what = f"job {job_id} starts at {time_s} s on {cores[failed]} cores, and fewer are free"
        raise IllegalScheduleError("capacity", what)
    # The intervals lie in the order of the starts; here they are put in the order of the rows.
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(count)))
    source = ranges(begin, count)
    return Allocation(offsets, first[source], last[source])


@compiled
def _longer(array: Bounds) -> Bounds:
    """Return a copy of twice the length."""
    longer = np.empty(2 * len(array), dtype=np.int32)
    longer[: len(array)] = array
    return longer


@compiled
def _free(free_first: Bounds, free_last: Bounds, size: int, first: Bounds, last: Bounds) -> int:
    """Merge a job's intervals (ascending) into the free ones (descending, `size` of them) in place.

    Returns
    -------
    int
        The new number of free intervals. There must be room for ``size + len(first)``.
    """
    taken = len(first) - 1
    low, high = 0, size  # the free intervals above all of the job's stay where they are
    while low < high:
        middle = (low + high) // 2
        if free_first[middle] > last[taken]:
            low = middle + 1
        else:
            high = middle
    below_first, below_last = free_first[low:size].copy(), free_last[low:size].copy()
    below, put = 0, low
    while below < len(below_first) or taken >= 0:
        if taken < 0 or (below < len(below_first) and below_first[below] > first[taken]):
            next_first, next_last = below_first[below], below_last[below]
            below += 1
        else:
            next_first, next_last = first[taken], last[taken]
            taken -= 1
        if put > 0 and free_first[put - 1] == next_last + 1:
            free_first[put - 1] = next_first
        else:
            free_first[put], free_last[put] = next_first, next_last
            put += 1
    return put


@compiled
def _give(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    cores: NDArray[np.int64],
    machine: int,
) -> tuple[int, NDArray[np.int64], NDArray[np.int64], Bounds, Bounds]:
    """Give cores to attempts in the order of `starts`, freeing them in the order of `ends`.

    Returns
    -------
    tuple
        The attempt that found too few free cores, or -1; where in the arrays of bounds the
        intervals of each attempt begin, and how many they are; the bounds.
    """
    begin, count = np.zeros(len(cores), dtype=np.int64), np.zeros(len(cores), dtype=np.int64)
    first, last = np.empty(len(cores) + 16, dtype=np.int32), np.empty(len(cores) + 16, dtype=np.int32)
    used = 0
    # The free intervals, the lowest at the end, where taking costs nothing.
    free_first, free_last = np.zeros(64, dtype=np.int32), np.full(64, machine - 1, dtype=np.int32)
    size, idle, ended = 1, machine, 0
    for job in starts:
        heed_signals()
        while ended < len(ends) and end_s[ends[ended]] <= start_s[job]:
            done = ends[ended]
            ended += 1
            while size + count[done] > len(free_first):
                free_first, free_last = _longer(free_first), _longer(free_last)
            part = slice(begin[done], begin[done] + count[done])
            size = _free(free_first, free_last, size, first[part], last[part])
            idle += cores[done]
        need = cores[job]
        if need > idle:
            return job, begin, count, first, last
        begin[job] = used
        lowest = size - 1
        while need > 0:
            if used == len(first):
                first, last = _longer(first), _longer(last)
            take = min(need, free_last[lowest] - free_first[lowest] + 1)
            first[used], last[used] = free_first[lowest], free_first[lowest] + take - 1
            used += 1
            need -= take
            if start_s[job] != end_s[job]:
                idle -= take
                free_first[lowest] += take
                if free_first[lowest] > free_last[lowest]:
                    size -= 1
            lowest -= 1
        count[job] = used - begin[job]
    return -1, begin, count, first[:used], last[:used]
