"""Graph drawing: a workflow's graph as circles and lines, by level, by upward rank, or by start."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from experiments import drawing
from experiments.drawing import INK, OTHERS, OUTSIDE, PALE_INK, PALETTE, STYLE, Figure, as_label
from experiments.inputs import count_of
from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_instance
from simmodels.ground.numbers import Floats
from simmodels.work.workflow import Workflow

if TYPE_CHECKING:
    import networkx as nx

Rows: TypeAlias = NDArray[np.int64]

_MOST_NAMES: Final = 45
_LONGEST_NAME: Final = 14
_PLACED_BY: Final = {"level": "level", "rank": "rank_s", "start": "start_s"}


def graph_by_rank(workflow: Workflow, *, ccr: float = 0.2, tick_s: float = 1.0, title: str | None = None) -> Figure:
    """Return a figure of a workflow's graph, drawn by rank; see `draw_graph`.

    Parameters
    ----------
    workflow
        The workflow.
    ccr, tick_s
        As for `Workflow.upward_rank_s`.
    title
        None: what the workflow is called, and how many tasks it has.

    Returns
    -------
    Figure
        A figure of matplotlib that belongs to no window; `save` writes it.

    Raises
    ------
    RequestError
        `ccr` is negative or not finite.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> from experiments.figures import save
    >>> from experiments.graph_drawing import graph_by_rank
    >>> save(graph_by_rank(sm.Workflow.from_graph(wl.fork_join(4, seed=1))), "ranks.svg")
    """
    as_instance("workflow", workflow, Workflow)
    figure = draw_graph(workflow.to_graph(ccr, tick_s=tick_s), x="rank", title=title).get_figure(root=True)
    assert isinstance(figure, Figure), "axes of a figure"  # noqa: S101  made for these axes
    return figure


def draw_graph(
    graph: "Workflow | nx.DiGraph[Any]",
    *,
    x: Literal["level", "rank", "start"] | None = None,
    colour: Literal["kind", "cluster"] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Return axes with a workflow's graph: circles are tasks, as large as their cores, and the critical path is bold.

    Up to 45 tasks bear their names.

    Parameters
    ----------
    graph
        A workflow; a graph that `Workflow.from_graph` takes; or one with results (`Schedule.graph`).
    x
        ``"level"``; ``"rank"``: a task is as far from the right as its upward rank, the time to the job's end at best;
        ``"start"``: when it started (tasks that never started are left out, and counted in the title). None:
        ``"start"`` with results, else ``"level"``. By rank and start, a bar shows how long each task runs, and edges
        lead from its end to the circle of the next task.
    colour
        The attribute that gives the colour. None: ``"cluster"`` with results, else ``"kind"``.
    ax
        Where to draw. None: axes of a figure of their own, ``axes.figure``, which `save` writes.
    title
        None: what the workflow is called, and how many tasks it has.

    Returns
    -------
    Axes
        The axes drawn on: `ax`, or those of a figure of their own.

    Raises
    ------
    RequestError
        There is no such `x` or `colour`, the graph does not have the results that they need, or no task has started;
        and as for `Workflow.from_graph`.
    ImpossibleJobError
        As for `Workflow.from_graph`.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> from experiments.figures import save
    >>> from experiments.graph_drawing import draw_graph
    >>> save(draw_graph(sm.Workflow.from_graph(wl.cholesky(3))).figure, "cholesky.svg")
    """
    drawn = graph.graph if isinstance(graph, Workflow) else graph
    if "critical_path_s" not in drawn.graph:
        drawn = Workflow.from_graph(drawn).graph
    results = "outcome" in drawn.graph
    x, colour = x or ("start" if results else "level"), colour or ("cluster" if results else "kind")
    if x not in _PLACED_BY or colour not in {"kind", "cluster"}:
        expected = "'level', 'rank' or 'start', and 'kind' or 'cluster'"
        raise RequestError(must_be("x and colour", expected, (x, colour)))
    if not results and (x == "start" or colour == "cluster"):
        raise RequestError("starts and clusters need the results of a run", "draw Schedule.graph(workflow)")
    tasks = [task for task, of in drawn.nodes.items() if of[_PLACED_BY[x]] is not None]
    if not tasks:
        raise RequestError("no task of the workflow has started", "draw it with x='level'")
    nodes = [drawn.nodes[task] for task in tasks]
    place = {task: row for row, task in enumerate(tasks)}
    among = set(tasks)
    pairs = [
        (place[a], place[b], of["on_critical_path"]) for (a, b), of in drawn.edges.items() if among.issuperset((a, b))
    ]
    edges = np.array(pairs, np.int64).reshape(-1, 3)  # rows of tasks, and whether it is on the critical path
    at, until, y = _layout(nodes, edges, x)
    left_out = f", {drawing.grouped(len(drawn) - len(tasks))} never started" if len(drawn) > len(tasks) else ""
    name = drawn.graph["name"] or f"job {drawn.graph['job_id']}"
    with mpl.rc_context(STYLE):
        own = Figure(figsize=(9.0, min(9.0, 2.2 + 0.32 * float(np.ptp(y)))), layout="constrained")
        axes = own.add_subplot() if ax is None else ax
        unit = _label_axis(axes, x, (min(at.min(), until.min()), max(at.max(), until.max())))
        points, ends = np.column_stack((at / unit, y)), np.column_stack((until / unit, y))
        ways = np.stack((points[edges[:, 0]], ends[edges[:, 0]], points[edges[:, 1]]), axis=1)
        for on, ink, width in ((0, OTHERS, 0.5), (1, INK, 1.6)):
            lines = list(ways[edges[:, 2] == on])
            axes.add_collection(LineCollection(lines, colors=ink, linewidths=width, zorder=1))
        handles = _draw_tasks(axes, points, nodes, colour)
        if x != "level":
            inks, runs = axes.collections[-1].get_facecolor(), list(np.stack((points, ends), axis=1))
            axes.add_collection(LineCollection(runs, colors=inks, linewidths=3.0, alpha=0.45, zorder=1.5))
        if len(tasks) <= _MOST_NAMES:
            _write_names(axes, points, [str(task) for task in tasks])
        above = 1.0 if ax is None else 1.5 + 0.2 * float(np.ptp(y))  # room for the legend
        axes.set(ylim=(y.min() - 1.0, y.max() + above), yticks=[])
        axes.spines[["left", "right", "top"]].set_visible(False)
        drawing.put_title(axes, title or f"{name}: {count_of(len(drawn), 'task')}{left_out}")
        if ax is None:
            own.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6))
        else:
            axes.legend(handles=handles, loc="upper center", ncols=min(len(handles), 3))
    return axes


def _layout(nodes: Sequence[Mapping[str, Any]], edges: Rows, x: str) -> tuple[Floats, Floats, Floats]:
    """Return float64[n] each: where tasks begin and end on the horizontal axis, and how high they are drawn."""
    at = np.array([node[_PLACED_BY[x]] for node in nodes], np.float64)
    if x == "level":
        return at, at, _stacked(at.astype(np.int64), edges)
    if x == "rank":
        until = at - np.array([node["runtime_s"] for node in nodes], np.float64)
    else:
        end_s = np.array([node["end_s"] for node in nodes], np.float64)
        until = np.where(np.isnan(end_s), np.nanmax(np.append(end_s, at)), end_s)  # what still runs
    room = 0.08 if len(nodes) <= _MOST_NAMES else 0.025  # for names, and for circles
    length = np.maximum(np.abs(until - at), room * np.ptp(np.append(at, until)))
    left = -at if x == "rank" else at
    return at, until, _in_lanes(left, left + length, edges)


def _stacked(level: Rows, edges: Rows) -> Floats:
    """Return float64[n], how high each task is drawn: those of a level above each other, each near those before it."""
    y = np.zeros(len(level))
    before = _predecessors(len(level), edges)
    for each in range(int(level.max()) + 1):
        tasks = np.flatnonzero(level == each)
        wanted = np.array([np.mean(y[before[task]]) if before[task] else 0.0 for task in tasks])
        middle = (len(tasks) - 1) / 2.0 + each % 2 / 2.0  # names of neighbours beside each other
        y[tasks[np.argsort(-wanted, kind="stable")]] = middle - np.arange(len(tasks))
    return y


def _in_lanes(left: Floats, right: Floats, edges: Rows) -> Floats:
    """Return float64[n], how high each task is drawn: apart from those beside it, and near those before it.

    From the left to the right, each takes the lane that is free and nearest the mean of its predecessors'.
    """
    lane = np.zeros(len(left))
    before = _predecessors(len(left), edges)
    free_from = {0.0: -np.inf}
    for task in np.argsort(left, kind="stable").tolist():
        wanted = float(np.mean(lane[before[task]])) if before[task] else 0.0
        free = [each for each, end in free_from.items() if end <= left[task]]
        free += [min(free_from) - 1.0, max(free_from) + 1.0]
        lane[task] = min(free, key=lambda each: (abs(each - wanted), -each))
        free_from[lane[task]] = right[task]
    return lane


def _predecessors(tasks: int, edges: Rows) -> list[list[int]]:
    """Return the predecessors of each task."""
    before: list[list[int]] = [[] for _ in range(tasks)]
    for a, b, _ in edges.tolist():
        before[b].append(a)
    return before


def _label_axis(axes: Axes, x: str, window: tuple[float, float]) -> float:
    """Label the horizontal axis; return the length of its unit: 1 for levels, else in seconds."""
    low, high = window
    if x == "level":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlim=(low - 0.5, high + 0.5), xlabel="level")
        return 1.0
    unit_s = drawing.time_axis(axes, (low, high))
    edge = 0.02 * (high - low)
    axes.set_xlim((low - edge) / unit_s, (high + edge) / unit_s)
    if x == "rank":
        axes.invert_xaxis()  # the end of the job is at the right
        axes.set_xlabel(
            axes.get_xlabel().replace("time since the trace's zero", "upward rank: time to the job's end at best")
        )
    return unit_s


def _draw_tasks(axes: Axes, points: Floats, nodes: Sequence[Mapping[str, Any]], colour: str) -> list[Line2D]:
    """Draw tasks as circles, and return what a legend shows: colours, sizes and the critical path."""
    cores = np.array([node["cores"] for node in nodes], np.float64)
    largest = 194.0 if len(nodes) <= _MOST_NAMES else 80.0
    sizes = dict(zip(cores, largest * np.sqrt(cores / cores.max()), strict=True))
    names = list(dict.fromkeys(node[colour] for node in nodes if node[colour] is not None))
    inks = dict(zip(names, [*PALETTE, *[OTHERS] * len(names)], strict=False))
    inks[None] = OUTSIDE if names else PALETTE[0]
    axes.scatter(
        points[:, 0],
        points[:, 1],
        s=[sizes[each] for each in cores],
        c=[inks[node[colour]] for node in nodes],
        edgecolors=[INK if node["on_critical_path"] else "white" for node in nodes],
        linewidths=[1.2 if node["on_critical_path"] else 0.6 for node in nodes],
        zorder=2,
        clip_on=False,
    )
    marks = [(inks[name], 36.0, name) for name in names[: len(PALETTE)]]
    if len(names) > len(PALETTE):
        marks.append((OTHERS, 36.0, f"{len(names) - len(PALETTE)} others"))
    if names and any(node[colour] is None for node in nodes):
        marks.append((OUTSIDE, 36.0, "any kind" if colour == "kind" else "never started"))
    if len(sizes) > 1:
        marks += [(PALE_INK, sizes[each], count_of(int(each), "core")) for each in (cores.min(), cores.max())]
    handles = [
        Line2D([], [], linestyle="none", marker="o", color=ink, markersize=float(np.sqrt(size)), label=as_label(text))
        for ink, size, text in marks
    ]
    return [*handles, Line2D([], [], color=INK, linewidth=1.6, label="critical path")]


def _write_names(axes: Axes, points: Floats, names: Sequence[str]) -> None:
    """Write the name of each task below it."""
    for point, name in zip(points, names, strict=True):
        short = name if len(name) <= _LONGEST_NAME else f"\N{HORIZONTAL ELLIPSIS}{name[1 - _LONGEST_NAME :]}"
        axes.annotate(
            short, point, color=PALE_INK, fontsize=6.5, xytext=(0.0, -8.0), textcoords="offset points",
            ha="center", va="top", path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )  # fmt: skip
