"""Workflow figures: which task ran when on which cluster, and a workflow's graph, drawn by rank."""

from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from experiments.drawing import INK, OTHERS, PALE_INK, PALETTE, STYLE, number, put_title, time_axis
from experiments.gantt import draw_gantt
from simmodels.errors import RequestError
from simmodels.schedule import Schedule
from simmodels.workflow import Workflow

_MOST_CLUSTERS: Final = 24
_MOST_NAMES: Final = 45
_LONGEST_NAME: Final = 14
_COLUMNS: Final = 16
"""Into how many columns a graph is cut: the tasks of one stand above each other."""


def gantt_by_cluster(
    schedule: Schedule, *, start_s: float | None = None, end_s: float | None = None, title: str | None = None
) -> Figure:
    """Return a Gantt chart with a panel for each cluster; all tasks of a job have one colour, and bear its number.

    Cores are given by `simmodels.allocation.allocate`, cluster by cluster. Panels are as high as clusters are large,
    but none is very low.

    Parameters
    ----------
    schedule
        A legal schedule of at least one job, on at most 24 clusters.
    start_s, end_s
        The window to draw, in seconds since the workload's zero; None: all of it.
    title
        None: the bid, and how many jobs.

    Raises
    ------
    RequestError
        The window is empty, the schedule has no jobs, or there are more clusters.
    IllegalScheduleError
        More cores of a cluster are in use at some instant than it has.
    """
    window_s = _window(schedule, start_s, end_s)
    places = schedule.places
    flows = schedule.workload.workflows
    if len(places) > _MOST_CLUSTERS:
        raise RequestError(f"a Gantt chart of {len(places)} clusters", f"{_MOST_CLUSTERS} at most are allowed")
    job_of = np.repeat(np.arange(len(flows)), [len(flow) for flow in flows])
    cores = np.array([place.cores for place in places], dtype=np.float64)
    heights = np.maximum(cores, 0.35 * cores.max())
    height_in = min(14.0, 1.4 + 1.7 * float((heights / heights.max()).sum()))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, height_in), layout="constrained")
        panels = figure.subplots(len(places), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
        shares = heights / heights.sum()
        for number_, (place, axes) in enumerate(zip(places, panels, strict=True)):
            job = job_of[(schedule.cluster == number_) & ~np.isnan(schedule.start_s)]
            draw_gantt(axes, schedule.on(number_), window_s, job, share=float(shares[number_]))
            axes.set_ylabel(
                place.name if place.kind is None or place.kind in place.name else f"{place.name}\n{place.kind}"
            )
            if number_ < len(places) - 1:
                axes.set_xlabel("")
        bid = schedule.about.get("bid")
        default = f"Gantt chart by cluster: {number(len(flows), 'workflow')}" + (f", {bid}" if bid else "")
        put_title(panels[0], title or default)
    return figure


def _window(schedule: Schedule, start_s: float | None, end_s: float | None) -> tuple[float, float]:
    if not len(schedule):
        raise RequestError("a figure of a schedule without jobs", "at least one job is needed")
    times = np.concatenate((schedule.workload.submit_s, schedule.start_s, schedule.end_s))
    low = float(np.nanmin(times)) if start_s is None else start_s
    high = float(np.nanmax(times)) if end_s is None else end_s
    if not low < high:
        raise RequestError(f"a window from {low} s to {high} s", "start_s < end_s is allowed")
    return low, high


def graph_by_rank(workflow: Workflow, *, ccr: float = 0.2, tick_s: float = 1.0, title: str | None = None) -> Figure:
    """Return a workflow's graph: a task is as far from the right as its upward rank, the time to the job's end at best.

    Circles are as large as the tasks' work and have the colour of their kind; the longest way is drawn bold. Up to 45
    tasks bear their names.

    Parameters
    ----------
    workflow
        The workflow.
    ccr, tick_s
        As for `Workflow.upward_rank_s`.
    title
        None: what the workflow is called, and how many tasks it has.
    """
    rank_s = workflow.upward_rank_s(ccr, tick_s=tick_s)
    y = _heights(workflow, rank_s)
    volume = workflow.runtime_s * workflow.cores
    kinds = list(dict.fromkeys(workflow.kind))
    colours = [PALETTE[kinds.index(kind) % len(PALETTE)] for kind in workflow.kind]
    longest = _longest(workflow, rank_s, workflow.delay_s(ccr, tick_s=tick_s))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, min(9.0, 2.2 + 0.32 * float(np.ptp(y)))), layout="constrained")
        axes = figure.add_subplot()
        unit_s = time_axis(axes, (0.0, max(float(rank_s.max()), 1e-9)))
        ends = np.stack([np.column_stack((rank_s[side] / unit_s, y[side])) for side in workflow.edges.T], axis=1)
        bold = np.array([(a, b) in longest for a, b in workflow.edges.tolist()], dtype=np.bool_)
        for chosen, ink, width in ((~bold, OTHERS, 0.5), (bold, INK, 1.6)):
            axes.add_collection(LineCollection(list(ends[chosen]), colors=ink, linewidths=width, zorder=1))
        sizes = 14.0 + 180.0 * np.sqrt(volume / volume.max())
        if len(workflow) > _MOST_NAMES:
            sizes /= 2.5
        axes.scatter(rank_s / unit_s, y, s=sizes, c=colours, edgecolors="white", linewidths=0.6, zorder=2)
        if len(workflow) <= _MOST_NAMES:
            for task in range(len(workflow)):
                axes.annotate(
                    _short(workflow.label(task)), (rank_s[task] / unit_s, y[task]), color=PALE_INK, fontsize=6.5,
                    xytext=(0.0, -1.0 - 0.5 * float(np.sqrt(sizes[task]))), textcoords="offset points", ha="center",
                    va="top",
                )  # fmt: skip
        most = float(rank_s.max()) / unit_s
        axes.set_xlim(1.06 * most, -0.02 * most)  # the end of the job is at the right
        axes.set_ylim(float(y.min()) - 1.0, float(y.max()) + 1.0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(
            axes.get_xlabel().replace("time since the trace's zero", "upward rank: time to the job's end at best")
        )
        put_title(axes, title or f"{workflow.name or f'job {workflow.job_id}'}: {number(len(workflow), 'task')}")
        entries = [
            Line2D([], [], linestyle="none", marker="o", color=PALETTE[place % len(PALETTE)], label=str(kind))
            for place, kind in enumerate(kinds)
            if kind is not None
        ]
        entries.append(Line2D([], [], color=INK, linewidth=1.6, label="critical path"))
        figure.legend(handles=entries, loc="outside lower center", ncols=len(entries))
    return figure


def _short(name: str) -> str:
    """Return a name that is not long, by its end, where names differ."""
    return name if len(name) <= _LONGEST_NAME else f"\N{HORIZONTAL ELLIPSIS}{name[1 - _LONGEST_NAME :]}"


def _heights(workflow: Workflow, rank_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[n], how high each task is drawn: those of a column apart, each near those before it."""
    column = np.minimum((rank_s / rank_s.max() * _COLUMNS).astype(np.int64), _COLUMNS - 1)
    y = np.zeros(len(workflow))
    before: list[list[int]] = [[] for _ in range(len(workflow))]
    for a, b in workflow.edges.tolist():
        before[b].append(a)
    for number_ in range(_COLUMNS - 1, -1, -1):  # from the first tasks to the last: predecessors have higher ranks
        tasks = np.flatnonzero(column == number_)
        wanted = np.array([np.mean(y[before[task]]) if before[task] else 0.0 for task in tasks])
        for place, task in enumerate(tasks[np.argsort(wanted, kind="stable")]):
            y[task] = (len(tasks) - 1) / 2.0 - place + number_ % 2 / 2.0  # names of neighbours beside each other
    return y


def _longest(workflow: Workflow, rank_s: NDArray[np.float64], delay_s: NDArray[np.float64]) -> set[tuple[int, int]]:
    """Return the edges of the longest way, from the task of the highest rank on."""

    def way_s(task: int, after: int) -> float:
        kinds = {workflow.kind[task], workflow.kind[after]}
        return float(rank_s[after] + (delay_s[task] if len(kinds - {None}) > 1 else 0.0))

    task, edges = int(rank_s.argmax()), set()
    while len(successors := workflow.successor[workflow.first[task] : workflow.first[task + 1]].tolist()):
        after = max(successors, key=lambda each: (way_s(task, each), -each))
        edges.add((task, after))
        task = after
    return edges
