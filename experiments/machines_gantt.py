"""Gantt charts of machines that come and go: when each was dark, what ran on it, and which work was lost."""

from collections.abc import Mapping
from typing import Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from experiments.drawing import DURATIONS, STYLE, grouped, put_title, time_axis, window_of
from experiments.drawing import number as amount
from simmodels.allocation import allocate
from simmodels.errors import RequestError
from simmodels.schedule import UNFINISHED, Schedule
from simmodels.units import HOUR, MINUTE
from simmodels.workload import Workload

_DARK: Final = "#3A3A3A"
_LOST: Final = "#D1242F"
_GAP: Final = 0.08  # of a row, between machines
_MOST_OUTLINES: Final = 1500  # of more rectangles the outlines would hide what is in them

Boxes = NDArray[np.float64]


def machines_gantt(
    schedule: Schedule,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    title: str | None = None,
    size_in: tuple[float, float] = (10.0, 5.6),
) -> Figure:
    """Return a Gantt chart, one row per machine, the safest at the bottom: dark spans, jobs, attempts that were lost.

    A job is a rectangle as high as the part of its machine's cores that it has, in the colour of its length. Attempts
    that lost their machine are hatched and end in a cross. What still runs at the window's end runs to the edge.

    Parameters
    ----------
    schedule
        A schedule whose jobs run inside one machine each.
    start_s, end_s
        The window to draw, in seconds since the trace's zero; None: the schedule's own.
    title
        None: the workload and the heuristic.
    size_in
        Width and height in inches.

    Raises
    ------
    RequestError
        The window is empty, or jobs run on several machines.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size_in, layout="constrained")
        axes = figure.add_subplot()
        drawn = draw_machines(axes, schedule, start_s=start_s, end_s=end_s)
        about = schedule.about.get("heuristic", schedule.about.get("order", ""))
        put_title(axes, title or f"Machines: {schedule.workload.name}, {about}")
        legend(figure, [axes], drawn)
    return figure


def compared_gantt(
    schedules: Mapping[str, Schedule], *, start_s: float | None = None, end_s: float | None = None
) -> Figure:
    """Return the machines under each heuristic, one below the other, with what was lost in the window in numbers.

    Parameters
    ----------
    schedules
        By the name of the heuristic; see `machines_gantt`.
    start_s, end_s
        As there.

    Raises
    ------
    RequestError
        As there.
    """
    longest_s = max(float(np.max(each.workload.runtime_s)) for each in schedules.values())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 4.2 * len(schedules) + 0.7), layout="constrained")
        panels, scales = [], []
        for number, (name, schedule) in enumerate(schedules.items()):
            axes = figure.add_subplot(len(schedules), 1, number + 1)
            scales.append(draw_machines(axes, schedule, start_s=start_s, end_s=end_s, longest_s=longest_s))
            runs = schedule.runs
            low, high = _window(schedule, start_s, end_s)
            gone = (runs["end_s"] > low) & (runs["end_s"] <= high) & (runs["outcome"] == UNFINISHED)
            lost_h = (runs["lost_s"] * runs["cores"])[gone].sum() / HOUR
            told = f"{amount(int(gone.sum()), 'job')} killed, {lost_h:,.0f} core-hours lost"
            axes.set_title(f"{name}, {schedule.workload.name}: {told}")
            panels.append(axes)
        legend(figure, panels, scales[0])
    return figure


def _window(schedule: Schedule, start_s: float | None, end_s: float | None) -> tuple[float, float]:
    """Return the window to draw."""
    low, high = schedule.simulated_s
    return window_of(schedule, low if start_s is None else start_s, high if end_s is None else end_s)


def draw_machines(
    axes: Axes,
    schedule: Schedule,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    longest_s: float | None = None,
) -> mpl.cm.ScalarMappable:
    """Draw the machines of a schedule on axes, and return the scale of their colours; see `machines_gantt`.

    Parameters
    ----------
    axes
        Where to.
    schedule, start_s, end_s
        As there.
    longest_s
        Where the scale of colours ends; None for the longest job of the schedule.
    """
    window_s = _window(schedule, start_s, end_s)
    machines = schedule.cores // schedule.cores_per_machine
    if schedule.parts is not None and len(schedule.parts):
        raise RequestError("a schedule of jobs on several machines", "jobs inside one machine each are allowed")
    runs = schedule.runs
    runs["end_s"] = runs["end_s"].fillna(schedule.simulated_s[1])
    unit_s = time_axis(axes, window_s)
    axes.set_ylim(0, machines)
    axes.set_ylabel("machine")
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1, steps=[1, 2, 4, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(grouped))
    if schedule.off_spans is not None and len(schedule.off_spans):
        row, low, high = schedule.off_spans[["machine", "start_s", "end_s"]].to_numpy(np.float64).T
        shapes = _corners(np.clip(low, *window_s) / unit_s, np.clip(high, *window_s) / unit_s, row, row + 1 - _GAP)
        axes.add_collection(PolyCollection(shapes, facecolors=_DARK, linewidths=0), autolim=False)  # type: ignore[arg-type]
    length_s = pd.Series(schedule.workload.runtime_s, schedule.workload.job_id)
    most_s = max(float(schedule.workload.runtime_s.max()) if longest_s is None else longest_s, HOUR)
    shades = mpl.colormaps["YlGnBu"](np.linspace(0.15, 0.95, 256))
    scale = mpl.cm.ScalarMappable(LogNorm(MINUTE, most_s, clip=True), LinearSegmentedColormap.from_list("l", shades))
    lost_there = (runs["outcome"] == UNFINISHED) & schedule.runs["end_s"].notna()
    for machine in range(machines):
        here = runs[runs["machine"] == machine]
        if here.empty:
            continue
        row, low, high = _on_cores(here, schedule.cores_per_machine)
        part = here.iloc[row]
        part, low, high = (
            part[seen := ((part["start_s"] < window_s[1]) & (part["end_s"] > window_s[0])).to_numpy()],
            low[seen],
            high[seen],
        )
        if part.empty:
            continue
        left = part["start_s"].clip(*window_s).to_numpy() / unit_s
        right = part["end_s"].clip(*window_s).to_numpy() / unit_s
        height = (1 - _GAP) / schedule.cores_per_machine
        shapes = _corners(left, right, machine + low * height, machine + high * height)
        lost = lost_there[part.index].to_numpy()
        colours = scale.to_rgba(length_s[part["job_id"]].clip(lower=MINUTE).to_numpy())
        thin = 0.25 if len(runs) <= _MOST_OUTLINES else 0.0
        axes.add_collection(
            PolyCollection(
                shapes,  # type: ignore[arg-type]  # an array is taken as it is
                facecolors=colours,
                edgecolors="white",
                linewidths=thin,
                rasterized=not thin,
            ),
            autolim=False,
        )
        if lost.any():
            _mark(axes, shapes[lost], part["end_s"].to_numpy()[lost] < window_s[1])
    return scale


def legend(figure: Figure, axes: list[Axes], scale: mpl.cm.ScalarMappable) -> None:
    """Say what colours, shades and crosses mean."""
    bar = figure.colorbar(scale, ax=axes, pad=0.01, aspect=30)
    bar.set_label("length of the job (log scale)")
    most_s = float(np.max(scale.get_clim()))
    ticks = [value for value in DURATIONS if MINUTE <= value <= most_s]
    bar.set_ticks(ticks, labels=[DURATIONS[value] for value in ticks])
    bar.minorticks_off()
    entries = [
        Patch(facecolor=_DARK, label="dark"),
        Patch(facecolor="white", edgecolor=_LOST, hatch="xxxx", label="lost with its machine"),
        Line2D([], [], color=_LOST, marker="x", linestyle="none", label="killed"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=3)


def _mark(axes: Axes, shapes: Boxes, within: NDArray[np.bool_]) -> None:
    """Hatch attempts that were lost, and cross where they ended, if that is in the window."""
    axes.add_collection(
        PolyCollection(shapes, facecolors="none", edgecolors=_LOST, linewidths=0.5, hatch="xxxx"),  # type: ignore[arg-type]
        autolim=False,
    )
    ends = shapes[within]
    axes.plot(ends[:, 2, 0], ends[:, 1:3, 1].mean(axis=1), "x", color=_LOST, markersize=3.5, markeredgewidth=1.0)


def _corners(left: Boxes, right: Boxes, low: Boxes, high: Boxes) -> Boxes:
    """Return float64[k, 4, 2], the corners of rectangles."""
    x, y = np.column_stack((left, left, right, right)), np.column_stack((low, high, high, low))
    return np.stack((x, y), axis=-1)


def _on_cores(attempts: pd.DataFrame, cores: int) -> tuple[NDArray[np.int64], Boxes, Boxes]:
    """Return the rectangles of attempts on one machine: the row of each, its lowest core and that above its highest."""
    start_s, end_s = attempts["start_s"].to_numpy(), attempts["end_s"].to_numpy()
    # Each attempt is a job of its own, so that the rule which gives out cores is that of all other charts.
    jobs = Workload(
        job_id=np.arange(1, len(attempts) + 1),
        submit_s=start_s,
        runtime_s=end_s - start_s,
        estimate_s=end_s - start_s,
        cores=attempts["cores"].to_numpy(),
    )
    given = allocate(Schedule(jobs, cores, start_s, end_s))
    row = np.repeat(np.arange(len(attempts)), np.diff(given.offsets))
    return row, given.first.astype(np.float64), given.last.astype(np.float64) + 1.0
