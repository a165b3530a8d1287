"""The compiled trial: 32 jobs started strictly in a drawn order, `WIDTH` such trials side by side.

All that a trial needs to know of the running jobs is when enough cores are free. So each lane keeps their ends, the
latest first, and beside each how many cores it and the later ones hold. Among the entries whose cores leave too few
for the next job, the earliest end is when that job can start. Entries that have ended need no removal: their ends are
no later than now. A start inserts an end, and with sorted columns an entry moves down or stays,

    end[s] = max(end[s], min(end[s - 1], new)),

which has neither a branch nor a dependence between entries; the next job's start is read off in the same pass. All of
it is comparisons and sums of float64 in the order in which one would do them by hand: each lane gives the bits that a
plain loop gives.
"""

from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.compiled import compiled
from simmodels.learning.lanes import (
    WIDTH,
    add,
    aligned,
    any_greater,
    divide,
    draw_rows,
    load,
    sort_rows,
    splat,
    store,
    subtract,
    where_greater,
)
from simmodels.learning.pairs import MOST_JOBS

_kernel = partial(compiled, nogil=True)

_INDEX_BITS: Final = 6
_INDEX: Final = np.uint64(MOST_JOBS - 1)
"""The bits that hold a job's number."""
_LAST: Final = np.uint64(2**64 - 1)

UNIFORM: Final = 0
SWAP_ANY: Final = 1

BLOCK: Final = 4096
"""How many trials have random numbers of one stream of their own: the results depend on it."""


class Problem(NamedTuple):
    """What the trials of a pair have in common.

    Parameters
    ----------
    p, q, r
        float64[n], the jobs' runtimes (s), cores and submits (s).
    ends, used
        float64[1 + running], the ends of the running jobs, the latest first, after an infinite one; and how many cores
        are held by each and those before it.
    time_s, cores
        When the last job of S started, and how many cores there are.
    tau_s, delay_s
        The bound of the slowdown, and what each start costs.
    """

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    r: NDArray[np.float64]
    ends: NDArray[np.float64]
    used: NDArray[np.float64]
    time_s: float
    cores: float
    tau_s: float
    delay_s: float


class Lanes(NamedTuple):
    """Where trials are run: arrays [rows, WIDTH], of use to one thread."""

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    r: NDArray[np.float64]
    ends: NDArray[np.float64]
    used: NDArray[np.float64]
    found: NDArray[np.float64]
    keys: NDArray[np.uint64]
    words: NDArray[np.uint64]
    state: NDArray[np.uint64]


def new_lanes(jobs: int, running: int) -> Lanes:
    """Return room for trials of `jobs` jobs, beside `running` that run already."""
    words = [aligned(rows, np.uint64) for rows in (MOST_JOBS, MOST_JOBS, 4)]
    rows = (jobs, jobs, jobs, jobs + running + 1, jobs + running + 1, 1)
    return Lanes(*(aligned(count) for count in rows), *words)


@_kernel
def run_lanes(lanes, problem):
    """Run the trials whose jobs are in `lanes`, and write the mean bounded slowdown of each to its row `found`."""
    jobs, n = len(problem.p), len(problem.ends) - 1
    for s in range(n + 1):
        store(lanes.ends, s, splat(problem.ends[s]))
        store(lanes.used, s, splat(problem.used[s]))
    none, one, tau = splat(-np.inf), splat(1.0), splat(problem.tau_s)
    cores, delay = splat(problem.cores), splat(problem.delay_s)
    time, total, wait = splat(problem.time_s), splat(0.0), none
    left = subtract(cores, load(lanes.q, 0))
    for s in range(n, 0, -1):
        wait = where_greater(load(lanes.used, s), left, load(lanes.ends, s), wait)
    for k in range(jobs):
        p, r = load(lanes.p, k), load(lanes.r, k)
        start = where_greater(r, time, r, time)
        time = add(where_greater(wait, start, wait, start), delay)
        bound = where_greater(p, tau, p, tau)
        slowdown = divide(add(subtract(time, r), p), bound)
        total = add(total, where_greater(slowdown, one, slowdown, one))
        if k == jobs - 1:
            break
        while n > 0 and not any_greater(load(lanes.ends, n), time):  # the earliest has ended in every lane
            n -= 1
        new, q = add(time, p), load(lanes.q, k)
        left, wait = subtract(cores, load(lanes.q, k + 1)), none
        n += 1
        end, used = none, none
        for s in range(n, 0, -1):  # from the earliest end to the latest: the last that leaves too few cores counts
            before, used_before = load(lanes.ends, s - 1), load(lanes.used, s - 1)
            used = where_greater(new, end, add(used_before, q), used)
            moved = where_greater(before, new, new, before)
            end = where_greater(new, end, moved, end)
            store(lanes.ends, s, end)
            store(lanes.used, s, used)
            wait = where_greater(used, left, end, wait)
            end, used = before, used_before
    store(lanes.found, 0, divide(total, splat(float(jobs))))


@_kernel
def run_orders(problem, lanes, orders, found, stop):
    """Run the trials of given permutations uint8[n, jobs]; return the first row that is none, else -1.

    `stop` is as for `run_block`.
    """
    jobs = len(problem.p)
    complete = _LAST >> np.uint64(64 - jobs)
    for first in range(0, len(orders), WIDTH):
        if stop[0]:
            break
        count = min(WIDTH, len(orders) - first)
        for lane in range(count):
            seen = np.uint64(0)
            for k in range(jobs):
                j = orders[first + lane, k]
                seen |= np.uint64(1) << np.uint64(j)
                lanes.p[k, lane], lanes.q[k, lane], lanes.r[k, lane] = problem.p[j], problem.q[j], problem.r[j]
            if seen != complete:
                return first + lane
        run_lanes(lanes, problem)
        for lane in range(count):
            found[first + lane] = lanes.found[0, lane]
    return -1


@_kernel
def _mixed(word):
    """Return the word that SplitMix64 makes of a word."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@_kernel
def _seed_lanes(state, key, other_key, stream):
    """Set the generator of each lane to the beginning of its stream: a hash of two keys, the stream and the lane."""
    step = np.uint64(0x9E3779B97F4A7C15)
    for lane in range(WIDTH):
        word = _mixed(key + step * np.uint64(stream * WIDTH + lane + 1)) ^ other_key
        for i in range(4):
            word += step
            state[i, lane] = _mixed(word)


@_kernel
def _swap_any(lanes, jobs):
    """Shuffle the jobs in each lane as the authors' program does, as rows of `lanes.keys`: not uniformly."""
    if jobs <= 32:
        draw_rows(lanes.state, lanes.words, 32, 0)
    else:
        draw_rows(lanes.state, lanes.words, 64, 0)
    for k in range(jobs):
        for lane in range(WIDTH):
            lanes.keys[k, lane] = k
    for k in range(jobs):
        for lane in range(WIDTH):
            at = ((lanes.words[k, lane] >> np.uint64(32)) * np.uint64(jobs)) >> np.uint64(32)
            held = lanes.keys[k, lane]
            lanes.keys[k, lane] = lanes.keys[at, lane]
            lanes.keys[at, lane] = held


@_kernel
def _pad(lanes, jobs, room, first):
    """Put keys that are the last of all behind those of the jobs; make `first`, if >= 0, the first of all."""
    for lane in range(WIDTH):
        for k in range(jobs, room):
            lanes.keys[k, lane] = _LAST
        if first >= 0:
            lanes.keys[first, lane] = first  # its random bits are zero


@_kernel
def _uniform(lanes, jobs, first):
    """Draw a uniform order of the jobs in each lane, as rows of `lanes.keys` whose low bits are jobs.

    The keys are random words that carry their jobs in the low bits, sorted. Two of a trial are equal in their 58 random
    bits once in 10^14 trials, and then fall in the order of their jobs.
    """
    # The sizes are literals: for each, a sorting network is compiled that keeps all keys in registers.
    if jobs <= 16:
        draw_rows(lanes.state, lanes.keys, 16, _INDEX_BITS)
        _pad(lanes, jobs, 16, first)
        sort_rows(lanes.keys, 16)
    elif jobs <= 32:
        draw_rows(lanes.state, lanes.keys, 32, _INDEX_BITS)
        _pad(lanes, jobs, 32, first)
        sort_rows(lanes.keys, 32)
    else:
        draw_rows(lanes.state, lanes.keys, 64, _INDEX_BITS)
        _pad(lanes, jobs, 64, first)
        sort_rows(lanes.keys, 64)


@_kernel
def run_block(problem, lanes, keys, shuffle, first, block, trials, sums, stop):
    """Run a block of trials, and add to `sums` [jobs, 3] by first job: how many, and their AVGbsld and its square.

    Parameters
    ----------
    problem, lanes
        The pair, and where its trials are run.
    keys
        uint64[2], which name the random numbers of the pair.
    shuffle, first
        How orders are drawn; and which job leads them all, -1 for none.
    block, trials
        The number of the block, which names its random numbers; and how many trials it has.
    sums
        float64[jobs, 3].
    stop
        bool[1], set by another thread to have no more trials run: what was found is not wanted any more.
    """
    jobs = len(problem.p)
    _seed_lanes(lanes.state, keys[0], keys[1], ((first + 1) << 32) + block)
    for done in range(0, trials, WIDTH):
        if stop[0]:
            break
        if shuffle == SWAP_ANY:
            _swap_any(lanes, jobs)
        else:
            _uniform(lanes, jobs, first)
        for k in range(jobs):
            for lane in range(WIDTH):
                j = lanes.keys[k, lane] & _INDEX
                lanes.p[k, lane], lanes.q[k, lane], lanes.r[k, lane] = problem.p[j], problem.q[j], problem.r[j]
        run_lanes(lanes, problem)
        for lane in range(min(WIDTH, trials - done)):
            j = lanes.keys[0, lane] & _INDEX
            score = lanes.found[0, lane]
            sums[j, 0] += 1.0
            sums[j, 1] += score
            sums[j, 2] += score * score


@_kernel
def run_blocks(problem, lanes, keys, shuffle, stratified, first_block, trials, sums, stop):
    """Run consecutive blocks of a pair, each into its own entry of `sums` [blocks, jobs, 3].

    Stratified blocks are numbered job by job, and each job has `trials`; else `trials` is of all.
    """
    each = (trials + BLOCK - 1) // BLOCK
    for i in range(len(sums)):
        number = first_block + i
        first, block = (number // each, number % each) if stratified else (-1, number)
        run_block(problem, lanes, keys, shuffle, first, block, min(BLOCK, trials - block * BLOCK), sums[i], stop)
