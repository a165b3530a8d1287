"""The model of Tsafrir, Etsion and Feitelson: estimates as users give them, few, round, and never too short.

References
----------
D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", JSSPP 2005, LNCS 3834, pp. 1-35,
doi:10.1007/11605300_1. The parameters are those of the paper, as the authors' own program (m_tsafrir05) has them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_instance
from simmodels.ground.numbers import as_number, is_number
from simmodels.ground.streams import stream
from simmodels.units import HOUR, MINUTE
from simmodels.work.time_limits import REQUESTED
from simmodels.work.workload import Workload, WorkloadLike

POPULAR: Final = 20
"""How many values make the head of the distribution, which most jobs use."""

COMMON_S: Final = tuple(
    minutes * MINUTE for minutes in (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080)
)
"""The 15 values that are among the 20 most popular ones of all four logs of the paper."""

ROUND_S: Final = (*(hours * HOUR for hours in (200, 100, 50, 10, 5, 2, 1)), 20 * MINUTE, 10 * MINUTE, 5 * MINUTE)
"""Multiples of these complete the head: of the first that gives one, from the largest estimate downwards."""

DISTINCT: Final = ((0, 20, 200, 1000, 10_000, 70_000, 250_000), (0, 10, 20, 35, 90, 340, 565))
"""Numbers of jobs, and how many distinct estimates they use; straight lines in between."""

RANKS: Final = (
    (3, 1, 1, 1),
    (1, 3, 4, 6),
    (4, 4, 10, 5),
    (17, 2, 14, 3),
    (13, 12, 20, 7),
    (7, 9, 2, 2),
    (8, 8, 3, 18),
    (18, 18, 7, 19),
    (2, 6, 12, 4),
    (6, 7, 6, 11),
    (16, 11, 19, 20),
    (10, 20, 5, 9),
    (5, 16, 18, 10),
    (15, 5, 16, 14),
    (14, 14, 9, 13),
    (19, 13, 17, 16),
    (11, 10, 15, 15),
    (12, 15, 13, 17),
    (9, 17, 8, 8),
    (20, 19, 11, 12),
)
"""For the largest estimate, and then for the 19 others of the head from the shortest on: how popular it was (1 is the
most popular) in the paper's logs SDSC-106, CTC, KTH-4H and BLUE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TsafrirParameters:
    """The parameters of the model; the defaults are the published ones.

    Parameters
    ----------
    head_share
        The share of the jobs that use one of the 20 most popular estimates.
    head
        (a, b, c): a * exp(b * rank) + c per cent of the jobs use the estimate of popularity rank 2 to
        20; the most popular one has what is left of the head.
    tail
        b: the share of the estimate of rank 21 and on is proportional to rank ** b.
    times
        (p, q): of K distinct estimates the x-th (in parts of K) is (a - 1) x / (a - x) of the largest,
        with a = 1 + p * K ** q.

    Examples
    --------
    >>> import workloads as wl
    >>> log = wl.lublin(jobs=500, cores=64, seed=1)
    >>> all_popular = wl.TsafrirParameters(head_share=1.0)
    >>> estimates = wl.tsafrir_estimates(log, seed=1, parameters=all_popular).estimate_s
    >>> len(set(estimates.tolist())) < 50
    True
    """

    head_share: float = 0.89
    head: tuple[float, float, float] = (14.0491, -0.177531, 0.462513)
    tail: float = -2.267
    times: tuple[float, float] = (12.1039, -0.6026)

    def __post_init__(self) -> None:
        """Refuse parameters that leave the most popular estimate nothing, or make no distribution."""
        for name, length in (("head", 3), ("times", 2)):
            given: Any = getattr(self, name)
            if not (isinstance(given, Sequence) and len(given) == length and all(map(is_number, given))):
                raise RequestError(must_be(name, f"{length} numbers", given))
        as_number("tail", self.tail)
        as_number("head_share", self.head_share, least=0, most=1)
        others = self._others()
        if min(others) < 0:
            raise RequestError(must_be("head", f"a, b and c with shares >= 0 of the ranks 2 to {POPULAR}", self.head))
        if not sum(others) < self.head_share:
            least = f"greater than {sum(others):.3g}, the share of the ranks 2 to {POPULAR}"
            raise RequestError(must_be("head_share", least, self.head_share))
        if not (self.times[0] > 0 and math.isfinite(self.times[1])):
            raise RequestError(must_be("times", "(p, q) with p > 0 and a finite q", self.times))

    def _others(self) -> list[float]:
        """Return the shares of ranks 2 to 20."""
        a, b, c = self.head
        return [(a * math.exp(b * rank) + c) / 100 for rank in range(2, POPULAR + 1)]

    def head_shares(self, values: int) -> NDArray[np.float64]:
        """Return float64[values], the shares of the head's ranks 1, 2, ... when it has this many values (<= 20)."""
        others = self._others()[: values - 1]
        return np.array([self.head_share - sum(others), *others])


def tsafrir_estimates(
    workload: WorkloadLike,
    *,
    seed: int = 0,
    max_estimate_s: float | None = None,
    popular: Mapping[float, float] = MappingProxyType({}),
    parameters: TsafrirParameters | None = None,
) -> Workload:
    """Return the workload with estimates of the model of Tsafrir, Etsion and Feitelson (2005).

    First the distribution is made: which values, and how many jobs use each. About 9 of 10 jobs use one
    of 20 round values, of which the largest one allowed is the most popular; the others share what is
    left. Then the values are dealt to the jobs at random, but none to a job that runs longer.

    Parameters
    ----------
    workload
        The jobs; every runtime must be known (>= 0).
    seed
        The seed, an integer >= 0: the same arguments give the same estimates.
    max_estimate_s
        The largest estimate that the machine allows, at least one hour and the longest runtime. None:
        the least whole number of hours that is.
    popular
        Values known to be popular, each with the share of the jobs that use it, at most 20 of them: they
        take the place of the nearest of the model's own. The paper advises to give what is known, first
        of all the share of `max_estimate_s`.
    parameters
        Others than the published ones.

    Returns
    -------
    Workload
        Its `counts` have ``"estimates of the model"`` and ``"estimates raised to cover a runtime"``.

    Raises
    ------
    RequestError
        A runtime is unknown or longer than `max_estimate_s`, or an argument is out of its range.

    Notes
    -----
    O(n log n) time. Deviations from the authors' program: (1) where the jobs run too long for the
    distribution, it stops; here the estimates that are too short are raised to the next value of the
    head, and counted. (2) It cuts runtimes at the largest estimate; here they are refused. (3) The
    numbers of jobs are rounded by largest remainders. (4) A largest estimate below 100 minutes leaves
    fewer than 20 round values, with which the program stops.

    Examples
    --------
    >>> import workloads as wl
    >>> log = wl.tsafrir_estimates(wl.lublin(jobs=500, cores=64, seed=1), seed=1)
    >>> bool((log.estimate_s >= log.runtime_s).all())
    True
    """
    workload = Workload.of(workload)
    chosen = as_instance("parameters", parameters or TsafrirParameters(), TsafrirParameters, also="None")
    if not len(workload):
        raise RequestError(f"workload {workload.name!r} has no jobs to estimate")
    longest_s = float(workload.runtime_s.max())
    if float(workload.runtime_s.min()) < 0:
        job = workload.job(int(np.argmin(workload.runtime_s)))
        raise RequestError(f"job {job.job_id} has a runtime of {job.runtime_s:g} s", "clean the workload first")
    if max_estimate_s is None:
        max_estimate_s = max(math.ceil(longest_s / HOUR), 1) * HOUR
    if not (is_number(max_estimate_s) and max(longest_s, HOUR) <= max_estimate_s < math.inf):
        least = f"a finite number >= {max(longest_s, HOUR):g}, the longest runtime and an hour"
        raise RequestError(must_be("max_estimate_s", least, max_estimate_s))
    _check_popular(popular, max_estimate_s)
    rng = stream(seed, "tsafrir")
    head = _head(max_estimate_s, popular, chosen, rng)
    values_s, shares = _with_tail(head, len(workload), max_estimate_s, chosen, rng)
    dealt_s = np.repeat(values_s, _apportioned(shares, len(workload)))
    estimate_s, raised = _deal(workload.runtime_s, dealt_s, np.sort(list(head)), rng)
    counts = {
        **workload.counts,
        "estimates of the model": len(workload),
        "estimates raised to cover a runtime": raised,
    }
    limited = {REQUESTED: estimate_s} if REQUESTED in workload.extras else {}
    return replace(workload, estimate_s=estimate_s, counts=counts, extras={**workload.extras, **limited})


def _check_popular(popular: Mapping[float, float], max_estimate_s: float) -> None:
    """Refuse values and shares that cannot be."""
    if not isinstance(popular, Mapping):
        raise RequestError(must_be("popular", "a mapping from estimates to shares", popular))
    others = len(popular) - (max_estimate_s in popular)
    if others > POPULAR - 1:
        most = f"at most {POPULAR - 1} values beside the largest estimate"
        raise RequestError(must_be("popular", most, others))
    for value_s, share in popular.items():
        as_number("a value of popular", value_s, above=0, most=max_estimate_s, unit="seconds")
        as_number(f"the share of popular value {value_s:g} s", share, least=0, most=1)
    if sum(popular.values()) > 1 + 1e-9:
        raise RequestError(must_be("the sum of the shares of popular", "at most 1", sum(popular.values())))


def _head(
    max_estimate_s: float, popular: Mapping[float, float], chosen: TsafrirParameters, rng: np.random.Generator
) -> dict[float, float]:
    """Return the popular values with their shares."""
    times_s = _merged(_round_values(max_estimate_s), max_estimate_s, popular)
    shares = chosen.head_shares(len(times_s))
    free = list(range(len(times_s)))  # ranks from 0 that no value was given yet
    fixed: dict[float, int] = {}
    for value_s, share in sorted(popular.items(), key=lambda item: (-item[1], item[0])):
        near = sorted((abs(float(shares[rank]) - share), rank) for rank in free if rank > 0)
        rank = 0 if value_s == max_estimate_s else near[0][1]
        fixed[value_s] = rank
        free.remove(rank)
    known = sum(popular.values())
    rest = float(shares[free].sum())
    scale = max(chosen.head_share - known, 0.0) / rest if rest else 0.0
    ranks = _dealt_ranks(len(times_s), {times_s.index(value_s): rank for value_s, rank in fixed.items()}, rng)
    own = {value_s: float(shares[rank]) * scale for value_s, rank in zip(times_s, ranks, strict=True)}
    return {value_s: popular.get(value_s, own[value_s]) for value_s in times_s}


def _round_values(max_estimate_s: float) -> list[float]:
    """Return up to 20 round values, the largest estimate first and then from the shortest on."""
    values = [value_s for value_s in COMMON_S if value_s < max_estimate_s]
    for step_s in ROUND_S:
        multiples = (step_s * number for number in range(int(max_estimate_s // step_s), 0, -1))
        for value_s in multiples:
            if len(values) < POPULAR - 1 and value_s < max_estimate_s and value_s not in values:
                values.append(value_s)
    return [max_estimate_s, *sorted(values)]


def _merged(own: Sequence[float], max_estimate_s: float, popular: Mapping[float, float]) -> list[float]:
    """Return the head's values: the given ones in the place of the nearest own ones, first of uncommon ones."""
    new = {value_s for value_s in popular if value_s not in own}
    surplus = max(len(own) + len(new) - POPULAR, 0)
    pairs = sorted(
        (mine in COMMON_S, abs(value_s - mine), value_s, mine)
        for value_s in new
        for mine in own
        if mine != max_estimate_s and mine not in popular
    )
    placed: set[float] = set()
    gone: set[float] = set()
    for _, _, value_s, mine in pairs:
        if len(gone) < surplus and value_s not in placed and mine not in gone:
            placed.add(value_s)
            gone.add(mine)
    return [max_estimate_s, *sorted(({*own} | new) - gone - {max_estimate_s})]


def _dealt_ranks(values: int, fixed: Mapping[int, int], rng: np.random.Generator) -> list[int]:
    """Return the popularity rank, from 0, of each value of the head, drawn as it was found in the logs.

    From value to value, the ranks that a log gave it come into a pool; a rank that no log has for a later
    value is due and is taken, the most popular first, else the more popular of two drawn from the pool.
    """
    last = {rank: at for at, row in enumerate(RANKS) for rank in row}
    taken = {rank + 1 for rank in fixed.values()}
    pool: list[int] = []
    drawn: list[int] = []
    for at, row in enumerate(RANKS):
        pool = [rank for rank in (*pool, *row) if rank not in taken]
        due = [rank for rank in range(1, POPULAR + 1) if last[rank] <= at and rank not in taken]
        if at in fixed:
            rank = fixed[at] + 1
        elif at == 0:
            rank = 1
        elif due:
            rank = due[0]
        elif pool:
            rank = min(pool[int(draw)] for draw in rng.integers(len(pool), size=2))
        else:
            rank = min(set(range(1, POPULAR + 1)) - taken)
        taken.add(rank)
        drawn.append(rank)
    open_values = sorted((at for at in range(values) if at not in fixed), key=drawn.__getitem__)
    open_ranks = sorted(set(range(values)) - set(fixed.values()))  # fewer than 20 values close ranks
    ranks = {**fixed, **dict(zip(open_values, open_ranks, strict=True))}
    return [ranks[at] for at in range(values)]


def _with_tail(
    head: Mapping[float, float], jobs: int, max_estimate_s: float, chosen: TsafrirParameters, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all values, from the longest on, and the share of the jobs that use each."""
    distinct = round(float(np.interp(jobs, *DISTINCT)))
    a = 1 + chosen.times[0] * max(distinct, 1) ** chosen.times[1]
    many = max(distinct - len(head), 0)
    values = dict(head)
    for number in range(1, many + 1):
        part = number / many
        minute_s = round((a - 1) * part / (a - part) * max_estimate_s / MINUTE) * MINUTE
        near_s = (minute_s + by_s for by_s in (0, 30, -30, 20, -20, 10, -10))
        value_s = next((x for x in near_s if x not in values and 0 < x < max_estimate_s), None)
        if value_s is not None:
            values[value_s] = 0.0
    tail = rng.permutation((1.0 + POPULAR + np.arange(len(values) - len(head))) ** chosen.tail)
    left = max(1 - sum(head.values()), 0.0)
    shares = np.array([*head.values(), *(tail * (left / tail.sum() if len(tail) else 0.0))])
    order = np.argsort(list(values))[::-1]
    return np.array(list(values))[order], shares[order]


def _apportioned(shares: NDArray[np.float64], jobs: int) -> NDArray[np.int64]:
    """Return how many of the jobs each share gets, by largest remainders."""
    quotas = shares * (jobs / shares.sum())
    numbers: NDArray[np.int64] = np.floor(quotas).astype(np.int64)
    numbers[np.argsort(numbers - quotas, kind="stable")[: jobs - int(numbers.sum())]] += 1
    return numbers


def _deal(
    runtime_s: NDArray[np.float64], value_s: NDArray[np.float64], round_s: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], int]:
    """Return an estimate for each job, none too short, and how many values had to be raised for that.

    From the longest job to the shortest, each draws one of the values that are left and long enough.
    """
    jobs = np.argsort(-runtime_s, kind="stable")
    runs_s = runtime_s[jobs]
    short = value_s < runs_s  # both from the longest on: so each job can have its value if none is short
    raised_s = np.where(short, round_s[np.searchsorted(round_s, runs_s)], value_s)
    left_s = np.sort(raised_s)[::-1].tolist()
    ends = np.searchsorted(-np.array(left_s), -runs_s, side="right").tolist()
    draws = rng.random(len(jobs)).tolist()
    for row, (end, draw) in enumerate(zip(ends, draws, strict=True)):
        chosen = row + int(draw * (end - row))
        left_s[row], left_s[chosen] = left_s[chosen], left_s[row]
    estimate_s = np.empty(len(jobs))
    estimate_s[jobs] = left_s
    return estimate_s, int(short.sum())
