"""Figures: a schedule as a Gantt chart, its machine and queue over time, and orders side by side.

Each function returns a `matplotlib.figure.Figure` that belongs to no window and no global state;
`save` writes it. The same schedule gives the same file, byte for byte.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import NDArray

from experiments import drawing
from experiments.drawing import DURATIONS, INK, OUTSIDE, PALE_INK, PALETTE, STYLE, Figure, save
from experiments.gantt import gantt
from experiments.inputs import count_of
from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.durations import Duration, as_seconds, duration
from simmodels.results import metrics
from simmodels.results.schedule import UNFINISHED, Schedule

__all__ = ["distributions", "gantt", "save", "utilisation_and_queue"]

Quantity = Literal["wait_s", "response_s", "bounded_slowdown"]

_QUANTITIES: Final = {"wait_s": "wait", "response_s": "response time", "bounded_slowdown": "bounded slowdown"}
_DASHES: Final = ("-", "--", "-.", ":")
_MOST_STEPS: Final = 1500  # longer step functions are drawn in slices of time
_SLICES: Final = 400
_MOST_POINTS: Final = 1000  # longer distributions are drawn by this many of their points


def utilisation_and_queue(
    schedule: Schedule,
    *,
    start_s: Duration | None = None,
    end_s: Duration | None = None,
    title: str | None = None,
    size_in: tuple[float, float] = (10.0, 5.0),
) -> Figure:
    """Return two panels over time: the cores in use, and the jobs that wait.

    Up to 1,500 steps are drawn as they are. Of more, the lines are the means of 400 slices of
    time; behind the line of the queue, a band goes from the least to the greatest length in each
    slice. Where jobs stand outside the metrics, the time outside the window of the metrics is
    shaded.

    Parameters
    ----------
    schedule
        A schedule of at least one job.
    start_s, end_s
        The window to draw, in seconds since the trace's zero; None: all of it.
    title
        None: workload, order and backfilling.
    size_in
        Width and height in inches.

    Returns
    -------
    Figure
        A figure with the axes of the two panels.

    Raises
    ------
    RequestError
        The window is empty or the schedule has no jobs.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> from experiments.figures import save, utilisation_and_queue
    >>> schedule = sm.simulate(wl.lublin(jobs=50, cores=16, load=0.9, seed=1))
    >>> figure = utilisation_and_queue(schedule)
    >>> len(figure.axes)
    2
    """
    window_s = drawing.window_of(schedule, start_s, end_s)
    used, queue = _Steps.of(schedule.cores_used(), window_s), _Steps.of(schedule.queue_length(), window_s)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size_in, layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        unit_s = drawing.time_axis(lower, window_s, schedule.workload)
        drawing.put_title(upper, title or drawing.headline("Machine and queue", schedule))
        _draw_steps(upper, used, unit_s, PALETTE[0], "cores in use")
        _draw_steps(lower, queue, unit_s, PALETTE[5], "jobs waiting")
        share = 100 * used.average() / schedule.cores
        _note(upper, f"mean {drawing.grouped(float(f'{used.average():.4g}'))} ({share:.1f} %)", PALETTE[0])
        _note(lower, f"mean {drawing.grouped(float(f'{queue.average():.4g}'))}", PALETTE[5])
        upper.set_ylim(0, schedule.cores * 1.12)
        upper.axhline(schedule.cores, color=INK, linewidth=0.9, linestyle="--")
        place = (0.005, schedule.cores * 1.015)
        upper.annotate(
            f"machine: {count_of(schedule.cores, 'core')}",
            place,
            xycoords=("axes fraction", "data"),
            va="bottom",
            fontsize=8.5,
        )
        lower.set_ylim(0, max(float(queue.most.max()), 1.0) * 1.06)
        notes = []
        if used.sliced or queue.sliced:
            notes.append(f"lines: means of {_SLICES} slices of time; band: least to greatest queue in a slice")
        counts = schedule.counted.all()
        if not counts and _shade_outside((upper, lower), schedule.window_s(), window_s, unit_s):
            notes.append("shaded: outside the window of the metrics")
        if notes:
            figure.supxlabel("; ".join(notes), fontsize=8, color=PALE_INK)
    return figure


class _Steps(NamedTuple):
    """A step function over a window: slices of time with the mean, least and greatest value of each."""

    edges_s: NDArray[np.float64]
    mean: NDArray[np.float64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    sliced: bool  # or else each slice is a step

    @classmethod
    def of(cls, steps: pd.DataFrame, window_s: tuple[float, float]) -> "_Steps":
        """Return a step function (instants, values) as it is if it has few steps in the window, else in slices."""
        low_s, high_s = window_s
        time_s, value = (
            np.insert(steps[name].to_numpy(), 0, before) for name, before in zip(steps, (-np.inf, 0), strict=True)
        )
        within = time_s[(time_s > low_s) & (time_s < high_s)]
        sliced = len(within) > _MOST_STEPS
        edges_s = np.linspace(low_s, high_s, _SLICES + 1) if sliced else np.concatenate(([low_s], within, [high_s]))
        # The steps that hold at each slice's begin and just before its end.
        first = np.searchsorted(time_s, edges_s[:-1], side="right") - 1
        last = np.searchsorted(time_s, edges_s[1:], side="left") - 1
        parts = np.column_stack((first, last + 1)).ravel()
        padded = np.append(value, 0)
        least, most = np.minimum.reduceat(padded, parts)[::2], np.maximum.reduceat(padded, parts)[::2]
        begin_s = np.maximum(time_s, low_s)
        area = np.append(0.0, np.cumsum(value[:-1] * np.diff(begin_s)))
        at = np.append(first, last[-1])
        mean = np.diff(area[at] + value[at] * (edges_s - begin_s[at])) / np.diff(edges_s)
        return cls(edges_s, mean, least, most, sliced)

    def average(self) -> float:
        """Return the mean over the window."""
        return float(np.average(self.mean, weights=np.diff(self.edges_s)))


def _draw_steps(axes: Axes, steps: _Steps, unit_s: float, ink: str, label: str) -> None:
    """Draw a step function as a line over a filled area, and label its axis."""
    edges = steps.edges_s / unit_s
    axes.stairs(steps.mean, edges, fill=True, color=ink, alpha=0.2, linewidth=0)
    if steps.sliced and label.startswith("jobs"):
        axes.stairs(steps.most, edges, baseline=steps.least, fill=True, color=ink, alpha=0.3, linewidth=0)
    axes.stairs(steps.mean, edges, baseline=None, color=ink, linewidth=0.9)
    axes.set_ylabel(label)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(drawing.grouped))
    axes.grid(axis="y")


def _note(axes: Axes, text: str, ink: str) -> None:
    """Write a note at the upper right of the axes."""
    axes.annotate(text, (1, 1), xycoords="axes fraction", ha="right", va="bottom", color=ink)


def _shade_outside(
    panels: tuple[Axes, ...], metrics_s: tuple[float, float], window_s: tuple[float, float], unit_s: float
) -> bool:
    """Shade what lies outside the window of the metrics; return whether anything does."""
    sides = (window_s[0], metrics_s[0]), (metrics_s[1], window_s[1])
    outside = [(left / unit_s, right / unit_s) for left, right in sides if left < right]
    for axes in panels:
        for side in outside:
            axes.axvspan(*side, color=OUTSIDE, alpha=0.8, linewidth=0, zorder=0)
    return bool(outside)


def distributions(
    schedules: Mapping[str, Schedule],
    *,
    what: Quantity = "wait_s",
    by: str = "order",
    tau_s: Duration = 10.0,
    title: str | None = None,
    width_in: float = 9.0,
) -> Figure:
    """Return how a quantity is distributed over the jobs, schedule beside schedule.

    Above, the share of jobs with at most so much (the empirical distribution function). Below, one
    row per schedule: the box holds the middle half of the jobs with the median as a line, the
    whiskers go from the 5th to the 95th percentile, the diamond is the mean; its value stands on
    the right. Both are on one logarithmic axis and in the same colours. The jobs are the counted
    rigid ones that ended.

    Parameters
    ----------
    schedules
        By the name to show, mostly that of the order; drawn in the order given.
    what
        ``"wait_s"``, ``"response_s"`` (both drawn at 1 s where less) or ``"bounded_slowdown"``.
    by
        What the schedules differ in, for the title.
    tau_s
        The bound of the bounded slowdown, in seconds, > 0.
    title
        None: the quantity and the workload.
    width_in
        Width in inches; the height follows from the number of schedules.

    Returns
    -------
    Figure
        A figure with the axes of the two panels.

    Raises
    ------
    RequestError
        There are no schedules, one has no counted rigid job that ended, `what` is none of the three, or
        `tau_s` is not a finite number > 0.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> from experiments.figures import distributions, save
    >>> log = wl.lublin(jobs=50, cores=16, load=0.9, seed=1)
    >>> save(distributions({name: sm.simulate(log, order=name) for name in ("FCFS", "SAF")}), "waits.png")
    """
    if not isinstance(schedules, Mapping):
        raise RequestError(must_be("schedules", "schedules by name", schedules))
    if not schedules:
        raise RequestError("there is no schedule to draw", "give at least one")
    require_known("quantity", what, _QUANTITIES)
    tau_s = as_seconds("tau_s", tau_s, above=0)
    values = {name: _quantity(name, schedule, what, tau_s) for name, schedule in schedules.items()}
    label = _QUANTITIES[what] + (f" (tau = {tau_s:g} s)" if what == "bounded_slowdown" else "")
    with mpl.rc_context(STYLE):
        below_in = 0.5 + 0.3 * len(values)
        figure = Figure(figsize=(width_in, 3.9 + below_in), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3.0, below_in))
        counts = [count_of(len(value), "job") for value in values.values()]
        labels = [f"{name}\n{count}" for name, count in zip(values, counts, strict=True)]
        if title is None:
            parts = [f"{label[0].upper()}{label[1:]} by {by}"]
            parts.append(", ".join(dict.fromkeys(schedule.workload.name for schedule in schedules.values())))
            if len(set(counts)) == 1:
                labels, parts[1] = list(values), f"{parts[1]}, {counts[0]}"
            title = ": ".join(parts)
        drawing.put_title(upper, title)
        most = max(float(value[-1]) for value in values.values())
        _quantity_axis(lower, label, max(most, 10.0) * 1.3, timed=what != "bounded_slowdown")
        for row, value in enumerate(values.values()):
            ink, dashes = PALETTE[row % len(PALETTE)], _DASHES[row // len(PALETTE) % len(_DASHES)]
            _draw_shares(upper, value, ink, dashes)
            _draw_box(lower, value, row, ink, dashes)
            mean = float(value.mean())
            text = drawing.grouped(float(f"{mean:.4g}")) if what == "bounded_slowdown" else duration(mean)
            lower.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
        lower.annotate("mean", (1.01, 1), xycoords="axes fraction", va="bottom", color=PALE_INK)
        lower.set_yticks(range(len(values)), map(drawing.as_label, labels))
        lower.set_ylim(len(values) - 0.4, -0.6)
        lower.tick_params(axis="y", length=0)
        lower.grid(axis="x")
        upper.grid(axis="both")
        upper.set_ylim(0, 1.005)
        upper.set_ylabel("share of jobs with at most this")
        upper.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f} %"))
        key = "box: middle half of the jobs, with the median; whiskers: 5 % to 95 %; diamond: mean; colours as above"
        figure.supxlabel(key, fontsize=8, color=PALE_INK)
    return figure


def _quantity(name: str, schedule: Schedule, what: Quantity, tau_s: float) -> NDArray[np.float64]:
    """Return the sorted values of a quantity, one a counted rigid job that ended."""
    chosen = schedule.counted & schedule.workload.rigid() & (schedule.outcome != UNFINISHED)
    if not chosen.any():
        raise RequestError(f"schedule {name!r} has no counted rigid job that ended", "give one with such jobs")
    submit_s = schedule.workload.submit_s[chosen]
    wait_s = metrics.wait_s(submit_s, schedule.began_s[chosen])
    if what == "wait_s":
        return np.sort(wait_s)
    if what == "response_s":
        return np.sort(metrics.response_s(submit_s, schedule.end_s[chosen]))
    return np.sort(metrics.bounded_slowdown(wait_s, (schedule.executed_s + schedule.earlier_s)[chosen], tau_s))


def _quantity_axis(axes: Axes, label: str, right: float, *, timed: bool) -> None:
    """Make the x axis logarithmic, with ticks that suit durations or plain numbers."""
    axes.set_xscale("log")
    axes.set_xlim(0.9, right)
    axes.set_xlabel(f"{label}, log scale" + ("; less than 1 s is drawn at 1 s" if timed else ""))
    if timed:
        axes.xaxis.set_major_locator(FixedLocator([value_s for value_s in DURATIONS if value_s <= right]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value_s, _: DURATIONS.get(value_s, "")))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(drawing.grouped))


def _draw_shares(axes: Axes, values: NDArray[np.float64], ink: str, dashes: str) -> None:
    """Draw the empirical distribution function of sorted values; of many, some points of it."""
    share = np.arange(1, len(values) + 1) / len(values)
    if len(values) > _MOST_POINTS:
        chosen = np.linspace(0, len(values) - 1, _MOST_POINTS).round().astype(np.int64)
        values, share = values[chosen], share[chosen]
    right = axes.get_xlim()[1]
    x = np.concatenate(([0.9], np.maximum(values, 1.0), [right]))
    y = np.concatenate(([0.0], share, [1.0]))
    axes.plot(x, y, drawstyle="steps-post", linewidth=1.6, color=ink, linestyle=dashes)


def _draw_box(axes: Axes, values: NDArray[np.float64], row: int, ink: str, dashes: str) -> None:
    """Draw a row of the lower panel: box, median, whiskers, mean."""
    low, quarter, middle, three, high = np.maximum(np.percentile(values, (5, 25, 50, 75, 95)), 1.0)
    axes.plot([low, high], [row, row], color=ink, linestyle=dashes, linewidth=1.6, zorder=2)
    axes.barh(row, three - quarter, left=quarter, height=0.55, color="white", edgecolor=ink, zorder=3)
    axes.barh(row, three - quarter, left=quarter, height=0.55, color=ink, alpha=0.45, edgecolor=ink, zorder=3)
    axes.plot([middle, middle], [row - 0.275, row + 0.275], color=INK, linewidth=1.8, solid_capstyle="butt", zorder=4)
    mean = max(float(values.mean()), 1.0)
    axes.plot([mean], [row], marker="D", markersize=5, color="white", markeredgecolor=INK, zorder=5)
