"""The loops of the market's workload that numba compiles: volumes cut into tasks, and tasks tied into a graph."""

import math

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Ints


@compiled
def cut_volumes(rng: np.random.Generator, volumes: Ints, parts: Ints, keep_ends: bool) -> Ints:  # noqa: FBT001  numba
    """Return each volume cut at uniformly random distinct points into its number of parts, one after the other.

    Parameters
    ----------
    rng
        Where the points are drawn from.
    volumes, parts
        int64[n]: what is cut, and into how many parts; parts < volume.
    keep_ends
        True: the parts make up the volume. False: there are two points more, and what lies before the
        first and after the last of them is lost.

    Notes
    -----
    Distinct points by Floyd's method (J. Bentley and R. Floyd, "Programming pearls: a sample of
    brilliance", CACM 30(9), 1987, doi:10.1145/30401.315746): as many draws as points, whatever comes.
    """
    found = np.empty(parts.sum(), np.int64)
    points = np.empty(parts.max() + 1, np.int64)
    at = 0
    for job in range(len(volumes)):
        number = parts[job] - 1 if keep_ends else parts[job] + 1
        last = volumes[job] - 1 if keep_ends else volumes[job]
        for row in range(number):
            top = last - number + row + 1
            point = 1 + np.int64(rng.random() * top)
            for other in range(row):
                if points[other] == point:
                    point = top
                    break
            points[row] = point
        points[:number].sort()
        before = 0 if keep_ends else points[0]
        for row in range(0 if keep_ends else 1, number):
            found[at] = points[row] - before
            before = points[row]
            at += 1
        if keep_ends:
            found[at] = volumes[job] - before
            at += 1
    return found


@compiled
def split_evenly(rng: np.random.Generator, total: int, parts: int, into: Ints) -> None:
    """Put whole numbers >= 0 of this sum into the first `parts` places: UUniFast, what is left always rounded down.

    References
    ----------
    E. Bini and G. C. Buttazzo, "Measuring the performance of schedulability tests", Real-Time Systems
    30, 2005, doi:10.1007/s11241-005-0507-9: all splits of the sum into real numbers are as likely.
    """
    rest = total
    for part in range(parts - 1):
        left = int(rest * rng.random() ** (1.0 / (parts - 1 - part)))
        into[part] = rest - left
        rest = left
    into[parts - 1] = rest


@compiled
def tie(rng: np.random.Generator, tasks: int, wanted: int, tied: NDArray[np.bool_]) -> int:
    """Tie tasks into a graph by degrees drawn at random, and return how many edges found a place.

    Parameters
    ----------
    rng
        Where degrees and edges are drawn from.
    tasks
        How many tasks, >= 2.
    wanted
        How many edges there are to be.
    tied
        bool[tasks, tasks], all False: becomes True where a task (row) comes before another (column).
    """
    into = np.zeros(tasks, np.int64)
    out = np.zeros(tasks, np.int64)
    split_evenly(rng, wanted, tasks - 1, into)
    split_evenly(rng, wanted, tasks - 1, out)
    into.sort()
    out.sort()
    free = out[::-1].copy()
    lower = np.empty(tasks, np.int64)
    placed = 0
    for task in range(tasks - 1, 0, -1):
        open_ends = 0
        for other in range(task):
            if free[other] > 0:
                lower[open_ends] = other
                open_ends += 1
        for row in range(min(into[task], open_ends)):
            chosen = row + np.int64(rng.random() * (open_ends - row))
            other = lower[chosen]
            lower[chosen] = lower[row]
            tied[other, task] = True
            free[other] -= 1
            placed += 1
    return placed


@compiled
def _copy_square(of: NDArray[np.bool_], into: NDArray[np.bool_], size: int) -> None:
    """Copy the first rows and columns: numba compiles an assignment of slices slowly."""
    for row in range(size):
        for column in range(size):
            into[row, column] = of[row, column]


@compiled
def draw_graphs(rng: np.random.Generator, parts: Ints, share: float, tries: int) -> tuple[Ints, Ints, Ints]:
    """Return the edges of a graph for each job: where each job's begin, their first tasks, their second ones.

    Parameters
    ----------
    rng
        Where degrees and edges are drawn from.
    parts
        int64[n]: how many tasks each job has.
    share
        Of m = tasks * (tasks - 1) ordered pairs, share * m / log10(m) become edges, rounded up and at
        most m / 2.
    tries
        So often are degrees and edges drawn again until all edges find a place; else the try with the
        most is kept.

    Returns
    -------
    tuple
        int64[n + 1], int64[edges], int64[edges]; tasks are numbered within their job, and edges go up,
        sorted by both ends.
    """
    starts = np.zeros(len(parts) + 1, np.int64)
    limit = 0
    for job in range(len(parts)):
        limit += parts[job] * (parts[job] - 1) // 2
    sources = np.empty(limit, np.int64)
    targets = np.empty(limit, np.int64)
    most = parts.max()
    tied = np.zeros((most, most), np.bool_)
    best = np.zeros((most, most), np.bool_)
    at = 0
    for job in range(len(parts)):
        tasks = parts[job]
        pairs = tasks * (tasks - 1)
        wanted = min(np.int64(math.ceil(share * pairs / math.log10(pairs))), pairs // 2) if tasks > 1 else 0
        most_placed = -1
        for _ in range(tries):
            if most_placed >= wanted or tasks < 2:
                break
            tied[:tasks, :tasks] = False
            placed = tie(rng, tasks, wanted, tied)
            if placed > most_placed:
                most_placed = placed
                _copy_square(tied, best, tasks)
        for first in range(tasks - 1):
            for second in range(first + 1, tasks):
                if best[first, second]:
                    sources[at] = first
                    targets[at] = second
                    at += 1
        starts[job + 1] = at
    return starts, sources[:at].copy(), targets[:at].copy()
