"""Generators of workflows as networkx graphs, for `simmodels.Workflow.from_graph`.

Each generator draws its edges, runtimes and cores from streams of their own: other runtimes leave the graph as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.later import nx
from simmodels.ground.numbers import MOST, as_integer, as_number, is_number, is_whole
from simmodels.ground.streams import stream

Law: TypeAlias = Duration | tuple[float, float] | Callable[[np.random.Generator], float]
"""A number; a range (low, high) in which all numbers are equally likely; or a function that draws from a generator."""
Laws: TypeAlias = Law | Mapping[str, Law]
"""One law for all tasks, or one for each category of tasks."""
Kinds: TypeAlias = str | Mapping[str, str | None] | None
"""The kind of all tasks, or of each category of tasks; None for any."""
Graph: TypeAlias = "nx.DiGraph[Any]"

RUNTIMES_S: Final = (60.0, 3600.0)
"""The default range of runtimes: a minute to an hour."""
KERNELS_S: Final[Mapping[str, Law]] = {"POTRF": 10.0, "TRSM": 30.0, "SYRK": 30.0, "GEMM": 60.0}
"""Default runtimes of a Cholesky factorisation: in proportion to 1/3, 1, 1 and 2 b^3 operations on tiles of b x b."""


def layers(
    tasks: int,
    *,
    shape: float = 1.0,
    out_degree: int = 3,
    runtime_s: Laws = RUNTIMES_S,
    cores: Laws = 1,
    kind: Kinds = None,
    seed: int = 0,
) -> Graph:
    """Return a random graph of layers: the tasks of one depend on tasks of the one before.

    Parameters
    ----------
    tasks
        How many tasks, >= 1; they are numbered from 0, layer by layer.
    shape
        The number of layers is uniform, from half of sqrt(tasks) / shape to one and a half times this, its mean: graphs
        are long below 1, and wide above.
    out_degree
        A task has 1 to `out_degree` successors in the next layer, all numbers equally likely.
    runtime_s, cores
        Laws of runtimes in seconds and of cores; of a range of cores both ends are drawn.
    kind
        The kind of cluster that tasks need.
    seed
        The seed, an integer >= 0.

    Returns
    -------
    networkx.DiGraph
        Nodes with ``level`` (the layer), ``runtime_s``, ``cores`` and ``kind``.

    Raises
    ------
    RequestError
        An argument is out of its range.

    References
    ----------
    Topcuoglu, Hariri, Wu 2002, doi 10.1109/71.993206, section 5.2: v, alpha and out_degree. The text gives the mean
    number of layers, not its range, and not how layers add up to v tasks: here each has one, and the others fall into
    layers at random, by uniform weights. A task that none of the layer before has chosen gets one of these before it.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> sm.Workflow.from_graph(wl.layers(30, seed=1), job_id=4)
    <Workflow 4 'layers': 30 tasks, submitted at 0 s>
    """
    tasks, out_degree = as_integer("tasks", tasks, 1), as_integer("out_degree", out_degree, 1)
    shape = as_number("shape", shape, above=0)
    rng = stream(seed, "graphs", "layers", "edges")
    height = int(np.clip(np.rint((0.5 + rng.random()) * np.sqrt(tasks) / shape), 1, tasks))
    weights = 1.0 - rng.random(height)
    widths = 1 + rng.multinomial(tasks - height, weights / weights.sum())
    drawn, rows = _levels("layers", widths.tolist())
    for before, after in pairwise(rows):
        for task in before:
            successors = min(int(rng.integers(1, out_degree + 1)), len(after))
            drawn.add_edges_from((task, other) for other in rng.choice(after, successors, replace=False).tolist())
        _connect(drawn, before, after, rng)
    return _with_tasks(drawn, runtime_s, cores, kind, seed)


def erdos_renyi_levels(
    widths: Sequence[int],
    probability: float,
    *,
    connected: bool = True,
    runtime_s: Laws = RUNTIMES_S,
    cores: Laws = 1,
    kind: Kinds = None,
    seed: int = 0,
) -> Graph:
    """Return a random graph of levels: each task depends on each of an earlier level with the same probability.

    Parameters
    ----------
    widths
        How many tasks each level has, >= 1; they are numbered from 0, level by level.
    probability
        The probability of an edge, from 0 to 1.
    connected
        Whether a task without a predecessor in the level before gets one at random, so that each task has the level
        that it was given. False: edges are those of the source.
    runtime_s, cores, kind, seed
        As for `layers`.

    Returns
    -------
    networkx.DiGraph
        As for `layers`.

    Raises
    ------
    RequestError
        An argument is out of its range.

    References
    ----------
    The layer-by-layer method of Tobita, Kasahara 2002, doi 10.1002/jos.116, as in Cordeiro et al. 2010, doi
    10.4108/ICST.SIMUTOOLS2010.8667, but with given widths: there each task falls into a random level.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> sm.Workflow.from_graph(wl.erdos_renyi_levels([1, 4, 4, 1], 0.5, seed=1))
    <Workflow 1 'erdos_renyi_levels': 10 tasks, submitted at 0 s>
    """
    given: Any = widths
    if not isinstance(given, Sequence) or not len(given) or not all(is_whole(each, 1, MOST) for each in given):
        raise RequestError(must_be("widths", "a list of integers >= 1, one per level", given))
    probability = as_number("probability", probability, least=0, most=1)
    drawn, rows = _levels("erdos_renyi_levels", widths)
    rng = stream(seed, "graphs", "erdos_renyi_levels", "edges")
    for before, after in pairwise(rows):
        sender, receiver = np.nonzero(rng.random((after.start, len(after))) < probability)
        drawn.add_edges_from(zip(sender.tolist(), (after.start + receiver).tolist(), strict=True))
        if connected:
            _connect(drawn, before, after, rng)
    return _with_tasks(drawn, runtime_s, cores, kind, seed)


def fork_join(
    width: int,
    stages: int = 1,
    *,
    runtime_s: Laws = RUNTIMES_S,
    cores: Laws = 1,
    kind: Kinds = None,
    seed: int = 0,
) -> Graph:
    """Return a fork-join graph: a task forks into parallel ones, which another joins; it forks into the next stage.

    Parameters
    ----------
    width
        How many parallel tasks each stage has, >= 1.
    stages
        How many stages, >= 1: the graph has stages * (width + 1) + 1 tasks.
    runtime_s, cores, kind
        As for `layers`; the categories are ``"fork"``, ``"work"`` and ``"join"``.
    seed
        The seed, an integer >= 0.

    Returns
    -------
    networkx.DiGraph
        As for `layers`, with ``category``; nodes are called ``fork``, ``work 1.1``, ..., ``join 1``.

    Raises
    ------
    RequestError
        An argument is out of its range, or a category has no law.

    References
    ----------
    Nelson, Tantawi 1988, doi 10.1109/12.2213.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> sm.Workflow.from_graph(wl.fork_join(8, stages=2, seed=1))
    <Workflow 1 'fork_join': 19 tasks, submitted at 0 s>
    """
    width, stages = as_integer("width", width, 1), as_integer("stages", stages, 1)
    drawn: Graph = nx.DiGraph(name="fork_join")
    drawn.add_node("fork", category="fork", level=0)
    last = "fork"
    for stage in range(1, stages + 1):
        works = [f"work {stage}.{number}" for number in range(1, width + 1)]
        drawn.add_nodes_from(works, category="work", level=2 * stage - 1)
        drawn.add_node(f"join {stage}", category="join", level=2 * stage)
        drawn.add_edges_from((last, work) for work in works)
        last = f"join {stage}"
        drawn.add_edges_from((work, last) for work in works)
    return _with_tasks(drawn, runtime_s, cores, kind, seed)


def cholesky(tiles: int, *, runtime_s: Laws = KERNELS_S, cores: Laws = 1, kind: Kinds = None, seed: int = 0) -> Graph:
    """Return the graph of a tiled Cholesky factorisation A = L L^T, right-looking.

    Parameters
    ----------
    tiles
        How many rows of tiles the matrix has, n >= 1: there are n POTRF, n(n - 1)/2 TRSM, n(n - 1)/2 SYRK and
        n(n - 1)(n - 2)/6 GEMM, together n(n + 1)(n + 2)/6 tasks.
    runtime_s, cores, kind
        As for `layers`; the categories are the four kernels. By default a runtime is in proportion to its operations.
    seed
        The seed, an integer >= 0.

    Returns
    -------
    networkx.DiGraph
        As for `layers`, with ``category``; nodes are called ``POTRF(k)``, ``TRSM(i,k)``, ``SYRK(i,k)``, ``GEMM(i,j,k)``
        for step k and tile (i, j), from 0.

    Raises
    ------
    RequestError
        An argument is out of its range, or a kernel has no law.

    References
    ----------
    Buttari, Langou, Kurzak, Dongarra 2009, doi 10.1016/j.parco.2008.10.002.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> job = sm.Workflow.from_graph(wl.cholesky(3))
    >>> [job.label(task) for task in job.critical_path()]
    ['POTRF(0)', 'TRSM(1,0)', 'GEMM(2,1,0)', 'TRSM(2,1)', 'SYRK(2,1)', 'POTRF(2)']
    """
    tiles = as_integer("tiles", tiles, 1)
    drawn: Graph = nx.DiGraph(name="cholesky")
    writer: dict[tuple[int, int], str] = {}  # by tile, the last task that wrote it

    def add(kernel: str, tile: tuple[int, int], *reads: tuple[int, int], step: tuple[int, ...]) -> None:
        task = f"{kernel}({','.join(map(str, step))})"
        drawn.add_node(task, category=kernel)
        drawn.add_edges_from((writer[each], task) for each in (*reads, tile) if each in writer)
        writer[tile] = task

    for k in range(tiles):
        add("POTRF", (k, k), step=(k,))
        for i in range(k + 1, tiles):
            add("TRSM", (i, k), (k, k), step=(i, k))
        for i in range(k + 1, tiles):
            add("SYRK", (i, i), (i, k), step=(i, k))
            for j in range(k + 1, i):
                add("GEMM", (i, j), (i, k), (j, k), step=(i, j, k))
    for level, tasks in enumerate(nx.topological_generations(drawn)):
        nx.set_node_attributes(drawn, dict.fromkeys(tasks, level), "level")
    return _with_tasks(drawn, runtime_s, cores, kind, seed)


# -- levels and attributes ------------------------------------------------------------------------------


def _levels(name: str, widths: Sequence[int]) -> tuple[Graph, list[range]]:
    """Return a graph without edges, its tasks numbered level by level, and the tasks of each level."""
    drawn: Graph = nx.DiGraph(name=name)
    rows = [range(end - width, end) for width, end in zip(widths, accumulate(widths), strict=True)]
    for level, tasks in enumerate(rows):
        drawn.add_nodes_from(tasks, level=level)
    return drawn, rows


def _connect(drawn: Graph, before: range, after: range, rng: np.random.Generator) -> None:
    """Give each task of a level that has no predecessor in the level before a random one there."""
    for task in after:
        if not any(other in before for other in drawn.predecessors(task)):
            drawn.add_edge(int(rng.choice(before)), task)


def _with_tasks(drawn: Graph, runtime_s: Laws, cores: Laws, kind: Kinds, seed: int) -> Graph:
    """Return the graph with the attributes of tasks, in the order of its nodes."""
    of_runtimes, of_cores = (stream(seed, "graphs", drawn.name, name) for name in ("runtime_s", "cores"))
    for task in drawn.nodes.values():
        task["runtime_s"] = _value("runtime_s", task, runtime_s, of_runtimes)
        task["cores"] = _value("cores", task, cores, of_cores)
        task["kind"] = _of_category("kind", task, kind) if isinstance(kind, Mapping) else kind
    return drawn


def _value(name: str, task: dict[str, Any], laws: Laws, rng: np.random.Generator) -> float:
    """Return what a task's law says of one of its attributes."""
    law = _of_category(name, task, laws) if isinstance(laws, Mapping) else laws
    if callable(law):
        return law(rng)
    match law:
        case int() | float():
            return law
        case str() | timedelta() | np.timedelta64() if name == "runtime_s":
            return as_seconds(name, law)
        case np.integer():
            return int(law)
        case [low, high] if name == "runtime_s" and is_number(low) and is_number(high) and low <= high:
            return rng.uniform(low, high)
        case [int() | np.integer() as low, int() | np.integer() as high] if low <= high:
            return int(rng.integers(low, high, endpoint=True))
    of = "integers" if name == "cores" else "numbers"
    raise RequestError(must_be(name, f"a number, a range (low, high) of {of}, or a function of a generator", law))


def _of_category(name: str, task: dict[str, Any], by: Mapping[str, Any]) -> Any:  # noqa: ANN401  a law or a kind
    """Return what is asked for of a task's category."""
    if task.get("category") not in by:
        raise RequestError(f"{name} has no category {task.get('category')!r}", f"known: {', '.join(map(str, by))}")
    return by[task["category"]]
