"""Workflow figures: which task ran when on which cluster, and workflows' graphs."""

from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import STYLE, number, put_title
from experiments.gantt import draw_gantt
from experiments.graph_drawing import draw_graph, graph_by_rank
from simmodels.errors import RequestError
from simmodels.schedule import Schedule

__all__ = ["draw_graph", "gantt_by_cluster", "graph_by_rank"]

_MOST_CLUSTERS: Final = 24


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
