"""Trials: the score of a job, from permutations of the jobs that are started strictly in their order.

A trial starts the jobs of Q in the order of a permutation, each as soon as it was submitted and enough cores are free,
none before the one ahead of it, and without backfilling: so an early place of a late arrival idles the machine. Its
result is AVGbsld, the mean bounded slowdown of Q. A job's score is its share in it when it goes first: the smaller,
the better it is to start it early.

References
----------
Rosa, Carastan-Santos, Goldman 2023, "An experimental analysis of regression-obtained HPC scheduling heuristics", JSSPP.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_integer
from simmodels.ground.streams import entropy
from simmodels.ground.threads import as_threads, in_threads
from simmodels.learning.kernel import BLOCK, SWAP_ANY, UNIFORM, Problem, new_lanes, run_blocks, run_orders
from simmodels.learning.pairs import Initial, Pair, require_pairs

Estimator = Literal["stratified", "published"]
Shuffle = Literal["uniform", "swap-any"]
Progress = Callable[[int, int], object]

_SHUFFLES: Final = {"uniform": UNIFORM, "swap-any": SWAP_ANY}
_BLOCKS_AT_ONCE: Final = 64
_ROWS_AT_ONCE: Final = 65_536


def run_trials(
    pair: Pair,
    orders: ArrayLike,
    *,
    initial_state: Initial = "started",
    dispatch_delay_s: Duration = 0.0,
    tau_s: Duration = 10.0,
    workers: int | None = None,
) -> NDArray[np.float64]:
    """Return float64[n], the AVGbsld of Q in each of n given permutations.

    Parameters
    ----------
    pair
        The jobs and the machine.
    orders
        Whole numbers [n, jobs of Q]: row by row, which job of Q (from 0) is started first, second, and so on.
    initial_state, dispatch_delay_s
        The state in which Q finds the machine; see `Pair.state`. The delay counts for the jobs of Q, too.
    tau_s
        The bound of the slowdown (w + p) / max(p, tau), in seconds.
    workers
        How many threads run trials; by default one for each processor. The results do not depend on it.

    Returns
    -------
    ndarray
        float64[n], the average bounded slowdown of Q under each permutation; dimensionless, at least 1.

    Raises
    ------
    RequestError
        A row is no permutation, or a number is out of its range.
    UnknownNameError
        No such initial state.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> pair = sm.Pair.at(wl.lublin(jobs=100, cores=64, seed=1), 10, initial_jobs=16, trial_jobs=3)
    >>> sm.run_trials(pair, [[0, 1, 2], [2, 1, 0]]).round(2).tolist()
    [1.0, 1.96]
    """
    problem = _problem(as_instance("pair", pair, Pair), initial_state, dispatch_delay_s, tau_s)
    jobs = len(problem.p)
    rows = _as_orders(orders, jobs)
    found = np.empty(len(rows), dtype=np.float64)
    parts = [slice(first, first + _ROWS_AT_ONCE) for first in range(0, len(rows), _ROWS_AT_ONCE)]

    def run(part: slice, stop: NDArray[np.bool_]) -> int:
        lanes = new_lanes(jobs, len(problem.ends) - 1)
        bad = int(run_orders(problem, lanes, rows[part], found[part], stop))
        return bad if bad < 0 else part.start + bad

    bad = [row for row in in_threads(run, parts, as_threads(workers)) if row >= 0]
    if bad:
        _refuse_row(min(bad), rows[min(bad)].tolist(), jobs)
    return found


def score_jobs(
    pairs: Sequence[Pair] | Pair,
    trials: int = 256_000,
    *,
    estimator: Estimator = "stratified",
    shuffle: Shuffle = "uniform",
    initial_state: Initial = "started",
    dispatch_delay_s: Duration = 0.0,
    tau_s: Duration = 10.0,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return the scores of the jobs of Q: a table with one row per job, pair by pair.

    Parameters
    ----------
    pairs
        The pairs, of different numbers; see `draw_pairs`.
    trials
        How many trials each pair has (the source has 256,000).
    estimator
        ``"stratified"``: each job of Q is first in equally many uniform permutations of the others (`trials` over the
        jobs, rounded up); the scores are their means of AVGbsld, divided by the sum of these means. ``"published"``:
        over `trials` permutations as they come, the sum of AVGbsld with the job first over the sum of all.
    shuffle
        ``"uniform"``, or ``"swap-any"``, that of the authors' program: place k, for each k in turn, is swapped with any
        place of all. It is not uniform (of 32 jobs, the probability to be first runs from 1.34/32 to 0.75/32), and with
        the published estimator that is most of what distinguishes scores. Stratified trials are uniform.
    initial_state, dispatch_delay_s
        The state in which Q finds the machine; see `Pair.state`. The delay counts for the jobs of Q, too.
    tau_s
        The bound of the slowdown (w + p) / max(p, tau), in seconds.
    seed
        For the permutations. Those of a pair are keyed by its number, the estimator, the shuffle and, in blocks of
        4,096 trials, the block: neither `workers` nor the other pairs change a bit, and more trials continue fewer.
    workers
        How many threads run trials; by default one for each processor.
    progress
        Called in this thread with how many trials are done, and how many there are.

    Returns
    -------
    DataFrame
        Columns ``pair`` (its number), ``job`` (its job_id), ``p``, ``q``, ``r`` (runtime in s, cores, submit in s since
        the first submit of S), ``score`` (they sum to 1 within a pair), ``se`` (the standard error of the score) and
        ``trials`` (in which the job was first).

    Raises
    ------
    RequestError
        A number is out of its range, or stratified trials are to be swapped; two pairs have the same number; there are
        so few trials that some job has less than two (its error cannot be estimated).
    UnknownNameError
        No such estimator, shuffle or initial state.

    Notes
    -----
    Random numbers are those of xoshiro256++ (Blackman, Vigna 2021, doi 10.1145/3460772), one generator for each of the
    16 lanes of each block, begun by SplitMix64 (Steele, Lea, Flood 2014, doi 10.1145/2660193.2660195) from the stream's
    `simmodels.ground.streams.entropy`. A uniform permutation is the order of random words of 58 bits.

    Standard errors are those of the delta method. Stratified, with mean m_j of variance v_j (over its trials) and M the
    sum of means: var s_j = ((1 - s_j)^2 v_j + s_j^2 sum of the other v) / M^2. Published, with a the AVGbsld of each of
    N trials and A its mean: var s_j = mean of (a 1[j first] - s_j a)^2 / (N A^2).

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> pairs = sm.draw_pairs(wl.lublin(jobs=500, cores=64, seed=1), 2, initial_jobs=4, trial_jobs=6)
    >>> scores = sm.score_jobs(pairs, trials=100, seed=1)
    >>> scores.columns.tolist(), len(scores)
    (['pair', 'job', 'p', 'q', 'r', 'score', 'se', 'trials'], 12)
    """
    found = require_pairs(pairs)
    require_known("estimator", estimator, get_args(Estimator))
    require_known("shuffle", shuffle, get_args(Shuffle))
    stratified = estimator == "stratified"
    if stratified and shuffle != "uniform":
        raise RequestError(must_be("shuffle", "'uniform' with the stratified estimator", shuffle))
    trials = as_integer("trials", trials, 1)
    tasks: list[_Task] = []
    for at, pair in enumerate(found):
        problem = _problem(pair, initial_state, dispatch_delay_s, tau_s)
        jobs = len(problem.p)
        each = -(-trials // jobs) if stratified else trials
        if each < 2:
            expected = f"> {jobs}, as each of {jobs} jobs needs two" if stratified else ">= 2"
            raise RequestError(must_be("trials", f"an integer {expected}", trials))
        bits = entropy(seed, "trials", estimator, shuffle, pair.number)
        keys = np.array([bits & (2**64 - 1), bits >> 64], dtype=np.uint64)
        blocks = -(-each // BLOCK) * (jobs if stratified else 1)
        for first in range(0, blocks, _BLOCKS_AT_ONCE):
            count = min(_BLOCKS_AT_ONCE, blocks - first)
            tasks.append(_Task(at, problem, keys, _SHUFFLES[shuffle], stratified, first, count, each))
    sums: list[list[NDArray[np.float64]]] = [[] for _ in found]
    done = None if progress is None else _counter(progress, sum(task.size for task in tasks))
    for task, part in zip(tasks, in_threads(_Task.run, tasks, as_threads(workers), done), strict=True):
        sums[task.pair].append(part)
    reckon = _stratified if stratified else _published
    # Which blocks are a task does not depend on the threads, and tasks are summed in their order.
    tables = [_table(pair, *reckon(np.sum(parts, axis=0))) for pair, parts in zip(found, sums, strict=True)]
    return pd.concat(tables, ignore_index=True)


# -- running ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """Consecutive blocks of a pair: what a thread takes on at once."""

    pair: int
    problem: Problem
    keys: NDArray[np.uint64]
    shuffle: int
    stratified: bool
    first: int
    blocks: int
    trials: int

    @property
    def size(self) -> int:
        """Return how many trials it has."""
        each = -(-self.trials // BLOCK)
        return sum(
            min(BLOCK, self.trials - number % each * BLOCK) for number in range(self.first, self.first + self.blocks)
        )

    def run(self, stop: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return float64[jobs, 3]: number, sum and sum of squares of AVGbsld by first job; nonsense if stopped."""
        jobs = len(self.problem.p)
        sums = np.zeros((self.blocks, jobs, 3))
        lanes = new_lanes(jobs, len(self.problem.ends) - 1)
        run_blocks(self.problem, lanes, self.keys, self.shuffle, self.stratified, self.first, self.trials, sums, stop)
        found: NDArray[np.float64] = sums.sum(axis=0)
        return found


def _counter(progress: Progress, total: int) -> Callable[[_Task], None]:
    """Return what counts the trials that are done, and reports them."""
    finished = 0

    def count(task: _Task) -> None:
        nonlocal finished
        finished += task.size
        progress(finished, total)

    return count


def _problem(pair: Pair, initial_state: Initial, dispatch_delay_s: Duration, tau_s: Duration) -> Problem:
    """Return what the compiled trial is handed."""
    tau_s = as_seconds("tau_s", tau_s, above=0)
    delay_s = as_seconds("dispatch_delay_s", dispatch_delay_s, least=0)
    state = pair.state(initial_state=initial_state, dispatch_delay_s=delay_s)
    jobs = pair.jobs.take(slice(pair.initial_jobs, None))
    ends = np.array([np.inf, *reversed(state.end_s)])
    used = np.cumsum([0.0, *reversed(state.cores)])
    columns = (np.ascontiguousarray(column, dtype=np.float64) for column in (jobs.runtime_s, jobs.cores, jobs.submit_s))
    p, q, r = (column.copy() for column in columns)  # writable, as numba's types distinguish read-only ones
    numbers = (float(state.time_s), float(pair.cores), tau_s, delay_s)
    return Problem(p, q, r, ends, used, *numbers)


# -- what is given ----------------------------------------------------------------------------------


def _as_orders(orders: ArrayLike, jobs: int) -> NDArray[np.uint8]:
    """Return permutations as the compiled trial takes them; refuse what cannot be one."""
    given = np.asarray(orders)
    if given.ndim != 2 or given.shape[1] != jobs:
        raise RequestError(must_be("the shape of orders", f"(any, {jobs}), as Q has {jobs} jobs", given.shape))
    if given.dtype.kind not in "iu":
        raise RequestError(must_be("the type of orders", "one of integers", str(given.dtype)))
    outside = (given < 0) | (given >= jobs) if given.dtype.kind == "i" else given >= jobs
    if outside.any():
        row = int(np.flatnonzero(outside.any(axis=1))[0])
        _refuse_row(row, given[row].tolist(), jobs)
    return np.ascontiguousarray(given, dtype=np.uint8)


def _refuse_row(row: int, order: list[int], jobs: int) -> NoReturn:
    raise RequestError(must_be(f"row {row} of orders", f"each of 0 to {jobs - 1} once", order))


# -- estimators -------------------------------------------------------------------------------------


def _stratified(sums: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return score, standard error and trials by job, from number, sum and sum of squares."""
    count, total, squares = sums.T
    mean = total / count
    spread = np.maximum(squares - total * mean, 0.0) / (count - 1.0) / count  # the variance of each mean
    whole = mean.sum()
    score = mean / whole
    others = spread.sum() - spread
    error = np.sqrt((1.0 - score) ** 2 * spread + score**2 * others) / whole
    return score, error, count


def _published(sums: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return score, standard error and trials by job, from number, sum and sum of squares."""
    count, total, squares = sums.T
    score = total / total.sum()
    off = (1.0 - 2.0 * score) * squares + score**2 * squares.sum()  # the sum of (a 1[first] - score a)^2
    error = np.sqrt(np.maximum(off, 0.0)) / total.sum()
    return score, error, count


def _table(pair: Pair, score: NDArray[Any], error: NDArray[Any], count: NDArray[Any]) -> pd.DataFrame:
    """Return the scores of a pair as rows of the table."""
    jobs = pair.jobs.take(slice(pair.initial_jobs, None))
    return pd.DataFrame(
        {
            "pair": np.full(len(jobs), pair.number, dtype=np.int64),
            "job": jobs.job_id,
            "p": jobs.runtime_s,
            "q": jobs.cores,
            "r": jobs.submit_s,
            "score": score,
            "se": error,
            "trials": count.astype(np.int64),
        }
    )
