"""Gantt charts: which job ran when on which cores."""

from typing import Final, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from experiments.drawing import (
    DURATIONS,
    INK,
    OTHERS,
    OUTSIDE,
    PALETTE,
    STYLE,
    grouped,
    headline,
    number,
    put_title,
    size_in,
    time_axis,
    window_of,
)
from simmodels.allocation import allocate
from simmodels.errors import RequestError
from simmodels.schedule import KILLED, UNFINISHED, Schedule
from simmodels.units import HOUR, MINUTE

Colouring = Literal["job", "user", "wait"]

_MOST_LABELS: Final = 80  # more jobs than this are not labelled
_MOST_OUTLINES: Final = 4000  # more rectangles than this have no outlines, and are drawn as pixels in SVG and PDF


def gantt(
    schedule: Schedule,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    colour: Colouring = "job",
    title: str | None = None,
    size_in: tuple[float, float] = (10.0, 5.6),
) -> Figure:
    """Return a Gantt chart: time to the right, cores upwards, a job as rectangles on its cores.

    Cores are given by `simmodels.allocation.allocate`. Killed jobs are hatched, attempts that came
    to nothing cross-hatched, jobs outside the metrics pale grey, jobs of 0 s are strokes; what
    still runs at the end runs to the chart's edge. Up to 80 jobs are labelled with their numbers,
    where there is room. More than 4,000 rectangles are drawn as pixels, so that files stay small,
    and the strokes, which would cover them, are left out (the legend says how many).
    Scattered jobs are many rectangles, and all are drawn: a year of a small machine (28,000 jobs)
    takes half a second, but a whole log of 300,000 jobs on 80,000 cores some 10 s and 1.5 GB; a
    window of it takes little.

    Parameters
    ----------
    schedule
        A legal schedule of at least one job.
    start_s, end_s
        The window to draw, in seconds since the trace's zero; None: all of it.
    colour
        ``"job"``: neighbours differ; ``"user"``: the users with the most core-seconds in the
        window, the others in one colour; ``"wait"``: how long the job waited, on a log scale.
    title
        None: workload, order and backfilling.
    size_in
        Width and height in inches.

    Raises
    ------
    RequestError
        The window is empty, the schedule has no jobs, or `colour` is none of the three.
    IllegalScheduleError
        More cores are in use at some instant than the machine has.
    """
    if colour not in {"job", "user", "wait"}:
        raise RequestError(f"colour {colour!r}", "'job', 'user' and 'wait' are allowed")
    window_s = window_of(schedule, start_s, end_s)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size_in, layout="constrained")
        axes = figure.add_subplot()
        entries = draw_gantt(axes, schedule, window_s, colour)
        put_title(axes, title or headline("Gantt chart", schedule))
        if entries:
            figure.legend(handles=entries, loc="outside lower center", ncols=min(len(entries), 5))
    return figure


def draw_gantt(
    axes: Axes,
    schedule: Schedule,
    window_s: tuple[float, float],
    colour: Colouring | NDArray[np.int64] = "job",
    *,
    share: float = 1.0,
) -> list[Artist]:
    """Draw a Gantt chart on axes, and return what its legend says.

    Parameters
    ----------
    axes
        Where; of a figure.
    schedule, window_s, colour
        As for `gantt`; numbers instead of a colouring: jobs of the same number have the same colour.
    share
        The share of the figure's height that the axes have: for the labels' sizes.
    """
    boxes = _Boxes.of(schedule, window_s)
    unit_s = time_axis(axes, window_s)
    axes.set_ylim(0, schedule.cores)
    axes.set_ylabel("core")
    axes.yaxis.set_major_locator(
        MaxNLocator(max(2, round(8 * share)), integer=True, min_n_ticks=1, steps=[1, 2, 4, 5, 10])
    )
    axes.yaxis.set_major_formatter(FuncFormatter(grouped))
    axes.spines[["top", "right"]].set_visible(True)
    colours, entries = _colours(axes, schedule, boxes, colour)
    entries += _draw_boxes(axes, schedule, boxes, colours, unit_s)
    if len(np.unique(boxes.row)) <= _MOST_LABELS:
        _label_boxes(axes, schedule, boxes, unit_s, share)
    return entries


class _Boxes(NamedTuple):
    """The rectangles of a Gantt chart, cut to its window; one entry a rectangle."""

    row: NDArray[np.int64]  # input row of the job
    killed: NDArray[np.bool_]  # whether the attempt was killed
    lost: NDArray[np.bool_]  # whether the attempt came to nothing
    brief: NDArray[np.bool_]  # whether it has no length
    left_s: NDArray[np.float64]
    right_s: NDArray[np.float64]
    bottom: NDArray[np.float64]
    top: NDArray[np.float64]

    @classmethod
    def of(cls, schedule: Schedule, window_s: tuple[float, float]) -> "_Boxes":
        """Return the rectangles of a schedule within a window."""
        low_s, high_s = window_s
        runs, cores = schedule.all_attempts(), allocate(schedule)
        attempt = np.repeat(np.arange(len(runs)), np.diff(cores.offsets))
        start_s, end_s = runs["start_s"].to_numpy()[attempt], runs["end_s"].to_numpy()[attempt]
        brief = start_s == end_s
        outcome = runs["outcome"].to_numpy()[attempt]
        lost = (outcome == UNFINISHED) & ~np.isnan(end_s)
        end_s = np.where(np.isnan(end_s), np.inf, end_s)
        seen = (start_s < high_s) & (end_s > low_s) | brief & (start_s >= low_s) & (start_s <= high_s)
        return cls(
            runs["row"].to_numpy()[attempt[seen]],
            outcome[seen] == KILLED,
            lost[seen],
            brief[seen],
            np.maximum(start_s[seen], low_s),
            np.minimum(end_s[seen], high_s),
            cores.first[seen].astype(np.float64),
            cores.last[seen] + 1.0,
        )

    def area(self) -> NDArray[np.float64]:
        """Return the core-seconds of each rectangle."""
        area: NDArray[np.float64] = (self.right_s - self.left_s) * (self.top - self.bottom)
        return area

    def corners(self, chosen: NDArray[np.bool_], unit_s: float) -> NDArray[np.float64]:
        """Return float64[k, 4, 2], the corners of some rectangles."""
        left, right = self.left_s[chosen] / unit_s, self.right_s[chosen] / unit_s
        low, high = self.bottom[chosen], self.top[chosen]
        x, y = np.column_stack((left, left, right, right)), np.column_stack((low, high, high, low))
        return np.stack((x, y), axis=-1)


def _colours(
    axes: Axes, schedule: Schedule, boxes: _Boxes, colour: Colouring | NDArray[np.int64]
) -> tuple[NDArray[np.float64], list[Artist]]:
    """Return the colour of each rectangle, and what the legend says; a colour bar is drawn here."""
    palette = to_rgba_array([*PALETTE, OTHERS])
    if not isinstance(colour, str):
        return palette[colour[boxes.row] % len(PALETTE)], []
    if colour == "wait":
        return _colours_of_waits(axes, schedule, boxes), []
    if colour == "job":
        # By the order of the starts, so that neighbours differ.
        place = np.empty(len(schedule), dtype=np.int64)
        place[np.argsort(schedule.start_s, kind="stable")] = np.arange(len(schedule))
        return palette[place[boxes.row] % len(PALETTE)], []
    counted = schedule.counted[boxes.row]
    users, index = np.unique(schedule.workload.user_id[boxes.row], return_inverse=True)
    used = np.bincount(index, boxes.area() * counted, minlength=len(users))
    by_use = np.lexsort((users, -used))
    rank = np.empty(len(users), dtype=np.int64)
    rank[by_use] = np.arange(len(users))
    by_use = by_use[np.bincount(index, counted, minlength=len(users))[by_use] > 0]
    names = [f"user {user}" if user >= 0 else "user unknown" for user in users[by_use]]
    entries: list[Artist] = [Patch(color=ink, label=name) for ink, name in zip(PALETTE, names, strict=False)]
    if len(names) > len(PALETTE):
        entries.append(Patch(color=OTHERS, label=f"{grouped(len(names) - len(PALETTE))} other users"))
    return palette[np.minimum(rank, len(PALETTE))][index], entries


def _colours_of_waits(axes: Axes, schedule: Schedule, boxes: _Boxes) -> NDArray[np.float64]:
    """Return the colour of each rectangle by its job's wait, and draw the colour bar."""
    wait_s = (schedule.start_s - schedule.workload.submit_s)[boxes.row]
    most_s = max(float(np.nanmax(wait_s, initial=0.0)), HOUR)
    # The pale end of the map is left out: it would look like idle cores.
    shades = mpl.colormaps["YlGnBu"](np.linspace(0.22, 1.0, 256))
    scale = mpl.cm.ScalarMappable(LogNorm(MINUTE, most_s, clip=True), LinearSegmentedColormap.from_list("wait", shades))
    bar = axes.get_figure(root=True).colorbar(scale, ax=axes, pad=0.01, aspect=30)  # type: ignore[union-attr]
    bar.set_label("wait (log scale; 1 min and less alike)")
    ticks = [value for value in DURATIONS if MINUTE <= value <= most_s]
    bar.set_ticks(ticks, labels=[DURATIONS[value] for value in ticks])
    bar.minorticks_off()
    return np.asarray(scale.to_rgba(np.clip(np.nan_to_num(wait_s, nan=most_s), MINUTE, most_s)), dtype=np.float64)


def _draw_boxes(
    axes: Axes, schedule: Schedule, boxes: _Boxes, colours: NDArray[np.float64], unit_s: float
) -> list[Artist]:
    """Draw the rectangles by kind; return what the legend says of the kinds that occur."""
    counted = schedule.counted[boxes.row]
    colours = np.where(counted[:, np.newaxis], colours, to_rgba(OUTSIDE))
    many = len(boxes.row) > _MOST_OUTLINES
    few = len(np.unique(boxes.row)) <= _MOST_LABELS
    entries: list[Artist] = []
    kinds = (
        ("", ~boxes.killed & ~boxes.lost, ""),
        ("////", boxes.killed, "killed at its estimate"),
        ("xxxx", boxes.lost, "came to nothing"),
    )
    for hatch, chosen, label in kinds:
        drawn = chosen & ~boxes.brief
        if not drawn.any():
            continue
        # White outlines would hide what is hardly wider than they are. Hatching takes the colour of the outline.
        outlines = np.tile(to_rgba(INK if few or hatch else "white"), (int(drawn.sum()), 1))
        if not few and not hatch:
            thin = (boxes.right_s - boxes.left_s)[drawn] < 0.002 * (axes.get_xlim()[1] - axes.get_xlim()[0]) * unit_s
            thin |= (boxes.top - boxes.bottom)[drawn] < 0.004 * schedule.cores
            outlines[thin | many] = colours[drawn][thin | many]
        shapes = PolyCollection(
            boxes.corners(drawn, unit_s),  # type: ignore[arg-type]  # an array is taken as it is, and fast
            facecolors=colours[drawn],
            edgecolors=outlines,
            linewidths=0.6 if few else 0.25,
            hatch=hatch or None,
            rasterized=many,
        )
        axes.add_collection(shapes, autolim=False)
        if label:
            entries.append(Patch(facecolor="white", edgecolor=INK, hatch=hatch, label=label))
    if boxes.brief.any() and many:
        jobs = number(len(np.unique(boxes.row[boxes.brief])), "job")
        entries.append(Line2D([], [], linestyle="none", label=f"not drawn: {jobs} of 0 s"))
    elif boxes.brief.any():
        x = boxes.left_s[boxes.brief] / unit_s
        strokes = np.column_stack((x, boxes.bottom[boxes.brief], x, boxes.top[boxes.brief])).reshape(-1, 2, 2)
        axes.add_collection(LineCollection(list(strokes), colors=INK, linewidths=1.4), autolim=False)
        entries.append(Line2D([], [], color=INK, linewidth=1.4, label="ran for 0 s"))
    if not counted.all():
        entries.append(Patch(facecolor=OUTSIDE, edgecolor=OTHERS, label="outside the metrics"))
    return entries


def _label_boxes(axes: Axes, schedule: Schedule, boxes: _Boxes, unit_s: float, share: float) -> None:
    """Write each job's number on its largest rectangle, if there is room."""
    low, high = axes.get_xlim()
    width_in, height_in = size_in(axes)
    # The axes take about nine tenths of the width and eight tenths of the height; 72 points are an inch.
    points_x, points_y = 0.88 * 72 * width_in / (high - low), 0.78 * 72 * share * height_in / schedule.cores
    area = boxes.area()
    for row in np.unique(boxes.row[~boxes.brief]):
        mine = np.flatnonzero((boxes.row == row) & ~boxes.brief)
        best = mine[np.argmax(area[mine])]
        width = (boxes.right_s[best] - boxes.left_s[best]) / unit_s * points_x
        height = (boxes.top[best] - boxes.bottom[best]) * points_y
        text = str(schedule.workload.job_id[row])
        size = min(9.0, 0.8 * height, width / (0.7 * len(text)))
        if size >= 5.0:
            x = (boxes.left_s[best] + boxes.right_s[best]) / 2 / unit_s
            y = (boxes.bottom[best] + boxes.top[best]) / 2
            halo = [withStroke(linewidth=2.2, foreground="white", alpha=0.75)]
            axes.text(x, y, text, ha="center", va="center", fontsize=size, clip_on=True, path_effects=halo)
