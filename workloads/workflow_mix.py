"""The workload of the market study: workflows of 5 to 20 tasks, each with a value that falls with time.

References
----------
A. Burkimsher and L. Soares Indrusiak, "Bidding policies for market-based HPC workflow scheduling", arXiv:1601.07047,
2016, section 4. What the text leaves open (volumes, cores, edges, weights of the week) is as in the authors' simulator.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np

from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import as_instance
from simmodels.ground.numbers import MOST, Floats, Ints, as_integer, as_number, is_number, is_whole
from simmodels.ground.streams import stream
from simmodels.units import MINUTE
from simmodels.work.curve import ValueCurve
from simmodels.work.workflow import Workflow
from workloads.submissions import WEEK_WEIGHTS, WeekClock, load_seconds
from workloads.workflow_mix_draws import cut_volumes, draw_graphs

_WHOLE: Final = ("tasks", "curve_points")  # parameters that are pairs of integers; the others are pairs of numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketParameters:
    """The parameters of the market's workload; the defaults are those of the study.

    Parameters
    ----------
    log10_volume
        Between which two numbers log10 of a job's core-minutes is uniform.
    tasks
        The least and the most tasks of a job.
    ends
        ``"keep"``: a job's tasks make up its volume. ``"lose"``: the ends of the volume, before the first
        and after the last point at which it is cut, fall off, as in the authors' program.
    core_sizes
        The numbers of cores of which a task is given one, increasing.
    kinds
        How likely a task is of each kind.
    edge_share
        What share of m / log10(m) becomes edges, with m the ordered pairs of a job's tasks.
    tries
        How often a job's edges are drawn again until all find a place (see `market_workload`).
    initial_slr, final_slr
        Between which two SLRs a value curve begins to fall, and between which two it reaches 0.
    curve_points
        The least and the most points of a curve between these two ends.

    Raises
    ------
    RequestError
        Parameters that make no distribution.

    Examples
    --------
    >>> import workloads as wl
    >>> small = wl.MarketParameters(tasks=(2, 3), core_sizes=(1, 4))
    >>> [len(job) for job in wl.market_workload(5, seed=1, parameters=small)]
    [3, 2, 3, 2, 3]
    """

    log10_volume: tuple[float, float] = (0.569, 5.719)
    tasks: tuple[int, int] = (5, 20)
    ends: Literal["keep", "lose"] = "keep"
    core_sizes: tuple[int, ...] = (1, 12, 24, 36, 64, 96, 128)
    kinds: Mapping[str, float] = field(default_factory=lambda: {"Kind1": 0.8, "Kind2": 0.2})
    edge_share: float = 0.3
    tries: int = 40
    initial_slr: tuple[float, float] = (2.0, 4.0)
    final_slr: tuple[float, float] = (6.0, 10.0)
    curve_points: tuple[int, int] = (5, 10)

    def __post_init__(self) -> None:
        """Refuse parameters that make no distribution."""
        if not isinstance(self.kinds, Mapping):
            raise RequestError(must_be("kinds", "a mapping from names to probabilities from 0 to 1", self.kinds))
        object.__setattr__(self, "kinds", MappingProxyType(dict(self.kinds)))
        for name in ("log10_volume", "tasks", "initial_slr", "final_slr", "curve_points"):
            object.__setattr__(self, name, _bounds(name, getattr(self, name), whole_numbers=name in _WHOLE))
        if self.initial_slr[1] > self.final_slr[0]:
            raise RequestError(must_be("initial_slr", f"at most {self.final_slr[0]}, of final_slr", self.initial_slr))
        require_known("ends", self.ends, ("keep", "lose"))
        as_number("edge_share", self.edge_share, least=0)
        as_integer("tries", self.tries, 1)
        self._check_volumes()
        self._check_choices()

    def _check_volumes(self) -> None:
        """Refuse volumes that are not exact as floats, or of which none is large enough for its tasks."""
        high = self.log10_volume[1]
        if high > 15:
            raise RequestError(must_be("log10_volume", "at most 15, where floats are exact", self.log10_volume))
        if math.ceil(10**high) <= self.tasks[0] + 1:
            expected = f"volumes that exceed the {self.tasks[0]} tasks of a job by 2 core-minutes"
            raise RequestError(must_be("log10_volume", expected, self.log10_volume))

    def _check_choices(self) -> None:
        """Refuse sizes and kinds of which none can be drawn."""
        sizes: Any = self.core_sizes
        listed = isinstance(sizes, Sequence) and len(sizes) and all(is_whole(size, 1, MOST) for size in sizes)
        if not listed or any(a >= b for a, b in pairwise(sizes)):
            raise RequestError(must_be("core_sizes", "integers >= 1 that increase", sizes))
        if not self.kinds or not all(is_number(p) and 0 <= p <= 1 for p in self.kinds.values()):
            raise RequestError(must_be("kinds", "a mapping from names to probabilities from 0 to 1", dict(self.kinds)))
        if abs(math.fsum(self.kinds.values()) - 1) > 1e-9:
            total = math.fsum(self.kinds.values())
            raise RequestError(must_be("the sum of the probabilities of kinds", "1", total))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments (a read-only mapping cannot be pickled)."""
        given = {name: getattr(self, name) for name in self.__slots__}
        return _rebuilt, ({**given, "kinds": dict(self.kinds)},)


def _bounds(name: str, given: Any, *, whole_numbers: bool) -> tuple[float, float]:  # noqa: ANN401  whatever was given
    """Return the two bounds of a parameter; refuse what is not two numbers that do not fall."""
    least = 1 if name == "tasks" else 0
    pair = isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2
    good = is_whole if whole_numbers else _is_finite
    if not (pair and all(good(each, least, MOST) for each in given) and given[0] <= given[1]):
        numbers = "integers" if whole_numbers else "finite numbers"
        raise RequestError(must_be(name, f"two {numbers} >= {least}, the second not below the first", given))
    return given[0], given[1]


def _is_finite(value: object, least: float, most: float) -> bool:
    return is_number(value) and least <= value <= most  # type: ignore[operator]  # a number


def _rebuilt(given: Mapping[str, object]) -> MarketParameters:
    return MarketParameters(**given)  # type: ignore[arg-type]  # as they were


MARKET: Final = MarketParameters()
"""The parameters of the study."""


def market_workload(
    jobs: int = 10_000,
    *,
    load: float = 1.0,
    cores: int = 4000,
    seed: int = 0,
    week: Sequence[float] | None = WEEK_WEIGHTS,
    parameters: MarketParameters = MARKET,
) -> list[Workflow]:
    """Return the workflows of the market study, in the order of their submission; job k has number k, from 0.

    A job's volume is log-uniform and cut at random points into 5 to 20 tasks; a task is given one of the
    usual numbers of cores, not above its core-minutes and not below their natural logarithm, and runs for
    a whole number of minutes. Degrees of the graph are drawn by UUniFast, those of incoming edges rising
    with the task's number and those of outgoing ones falling; then each task, from the last on, is tied
    to random lower ones. All times are in seconds, multiples of a minute.

    The first job is submitted at 0, a Monday at 00:00. Each is followed by the next after its volume /
    (load * cores) minutes of profile time, a clock that runs by the weights of the week: so the load is
    exact at all times. These instants are computed as fractions, and rounded to the nearest minute.

    Parameters
    ----------
    jobs
        How many workflows, >= 1.
    load
        The offered load as a share of `cores`.
    cores
        All the cores of the platform, of whatever kind.
    seed
        The seed, an integer >= 0. With another load, number of cores or week, the same jobs are
        submitted at other times; with more jobs, the first ones stay as they are.
    week
        The weights of equal slices of the week, from Monday 00:00 on; None: the same load at all hours.
    parameters
        Others than those of the study.

    Returns
    -------
    list of Workflow
        In the order of their submission, numbered from 0.

    Raises
    ------
    RequestError
        An argument out of its range.

    Notes
    -----
    O(jobs) time: 1 s for 10,000 jobs of 120,000 tasks, most of it to make the records; at load 1 on 4000
    cores they span about 80 days. Where the text
    and the program are silent or differ: volumes keep their ends (`MarketParameters.ends`); edges are at
    most half the ordered pairs; if not all find a place, degrees and edges are drawn again, up to 40
    times, and the try with the most edges is kept; what UUniFast leaves over is rounded down at each step.

    Examples
    --------
    >>> import workloads as wl
    >>> quiet, busy = wl.market_workload(3, load=0.7), wl.market_workload(3, load=1.4)
    >>> [len(job) for job in quiet] == [len(job) for job in busy]
    True
    """
    jobs = as_integer("jobs", jobs, 1)
    chosen = as_instance("parameters", parameters, MarketParameters)
    clock = WeekClock(week)
    total = _volumes(jobs, chosen, seed)
    most = np.minimum(chosen.tasks[1], total - 1)
    parts = _whole_uniform(stream(seed, "market", "tasks").random(jobs), chosen.tasks[0], most)
    volumes = cut_volumes(stream(seed, "market", "cuts"), total, parts, chosen.ends == "keep")
    sizes = _sizes(stream(seed, "market", "cores").random(len(volumes)), volumes, np.array(chosen.core_sizes))
    minutes = -(-volumes // sizes)
    names = np.array(list(chosen.kinds), dtype=object)
    bounds = np.cumsum(list(chosen.kinds.values()))[:-1]
    kinds = names[np.searchsorted(bounds, stream(seed, "market", "kinds").random(len(volumes)), side="right")]
    graphs = draw_graphs(stream(seed, "market", "graphs"), parts, chosen.edge_share, chosen.tries)
    starts, edges = graphs[0].tolist(), np.column_stack(graphs[1:])
    curves = _curves(jobs, chosen, seed)
    ends = np.cumsum(parts)
    works = np.add.reduceat(minutes * sizes, ends - parts)
    submit_s = load_seconds([int(MINUTE) * work for work in works.tolist()], load=load, cores=cores, clock=clock)
    runtime_s = MINUTE * minutes
    last = 0
    made = []
    for job, end in enumerate(ends.tolist()):
        tasks = slice(last, end)
        last = end
        made.append(
            Workflow(
                job,
                submit_s[job],
                runtime_s[tasks],
                sizes[tasks],
                edges[starts[job] : starts[job + 1]],
                tuple(kinds[tasks].tolist()),
                curves[job],
            )
        )
    return made


def _volumes(jobs: int, chosen: MarketParameters, seed: int) -> Ints:
    """Return int64[jobs], the core-minutes of each job; those too small for the least number of tasks drawn again."""
    rng = stream(seed, "market", "volumes")
    low, high = chosen.log10_volume
    found = np.empty(0, dtype=np.int64)
    while len(found) < jobs:  # in the order drawn: so the first jobs do not depend on how many there are
        drawn = np.ceil(10 ** (low + rng.random(jobs) * (high - low))).astype(np.int64)
        found = np.concatenate([found, drawn[drawn > chosen.tasks[0] + 1]])
    return found[:jobs]


def _whole_uniform(draws: Floats, low: int, high: Ints) -> Ints:
    """Return a whole number from low to high for each draw, both included."""
    return low + (draws * (high - low + 1)).astype(np.int64)


def _sizes(draws: Floats, volumes: Ints, sizes: Ints) -> Ints:
    """Return int64[tasks], the cores of each task: one of the sizes that fit its core-minutes, else 1."""
    least = np.floor(np.log(volumes))
    fits = (sizes <= volumes[:, None]) & (sizes >= least[:, None])
    many = fits.sum(axis=1)
    place = (draws * many).astype(np.int64)
    chosen = (fits.cumsum(axis=1) == (place + 1)[:, None]).argmax(axis=1)
    return np.where(many > 0, sizes[chosen], 1)


def _curves(jobs: int, chosen: MarketParameters, seed: int) -> list[ValueCurve]:
    """Return the value curve of each job."""
    rng = stream(seed, "market", "curve ends")
    initial, final = rng.random((jobs, 2)).T
    initial = chosen.initial_slr[0] + initial * (chosen.initial_slr[1] - chosen.initial_slr[0])
    final = chosen.final_slr[0] + final * (chosen.final_slr[1] - chosen.final_slr[0])
    low, high = chosen.curve_points
    points = _whole_uniform(stream(seed, "market", "curve sizes").random(jobs), low, np.full(jobs, high))
    draws = stream(seed, "market", "curve points").random((jobs, 2, high))
    unused = np.arange(high) >= points[:, None]
    x = np.where(unused, 1.0, draws[:, 0])  # 1 lies behind all that is drawn, and 0 below
    y = np.where(unused, 0.0, draws[:, 1])
    x.sort(axis=1)
    y = -np.sort(-y, axis=1)
    x = np.minimum(initial[:, None] + x * (final - initial)[:, None], final[:, None])
    rows = zip(initial.tolist(), final.tolist(), points.tolist(), x.tolist(), y.tolist(), strict=True)
    return [
        ValueCurve([(first, 1.0), *zip(xs[:number], ys[:number], strict=True), (last, 0.0)])
        for first, last, number, xs, ys in rows
    ]
