"""Gantt charts: which attempt ran when, on which cores of which machine, and when machines were off."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm, to_rgba, to_rgba_array
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from experiments import drawing
from experiments.drawing import DURATIONS, INK, OTHERS, OUTSIDE, PALETTE, STYLE, Figure
from experiments.gantt_boxes import GAP, KINDS, MOST_PANELS, Boxes, Panel, boxes_of, corners_of, heights_of
from experiments.inputs import count_of
from simmodels.errors import require_known
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration
from simmodels.ground.numbers import Floats, Ints, as_integer
from simmodels.results.schedule import UNFINISHED, Schedule
from simmodels.units import HOUR, MINUTE

Colouring = Literal["job", "user", "wait", "length"]

_LOST: Final = "#D1242F"
_OFF: Final = "#3A3A3A"
_MARKS: Final = (("", "white"), ("////", INK), ("xxxx", _LOST), ("\\\\\\\\", _LOST))
"""The hatching and its colour of each of `KINDS`."""
_LOSING: Final = 2
"""From this one of `KINDS` on, an attempt lost its machine."""
_MOST_LABELS: Final = 80  # more jobs than this are not labelled
_MOST_OUTLINES: Final = 4000  # more rectangles than this have no outlines, and are drawn as pixels in SVG and PDF
LOWEST: Final = 0.35  # of the highest panel's height
_SCALES: Final = {"wait": "wait (log scale; 1 min and less alike)", "length": "length of the job (log scale)"}


def gantt(
    schedules: Schedule | Mapping[str, Schedule],
    *,
    start_s: Duration | None = None,
    end_s: Duration | None = None,
    colour: Colouring | None = None,
    title: str | None = None,
    width_in: float = 10.0,
) -> Figure:
    """Return a Gantt chart of a schedule, or of several: time to the right, cores or machines upwards.

    There is a panel for each cluster of each schedule. An attempt is a rectangle on its cores: those of its machines,
    if the cluster has several, else of the pool (see `simmodels.results.allocation.allocate`). Killed jobs are hatched;
    attempts that lost their work are cross-hatched in red, with a cross where they ended; jobs outside the metrics are
    pale grey, jobs of 0 s strokes, machines that are off grey. What still runs at the end runs to the chart's edge.
    Up to 80 jobs are labelled with their numbers, where there is room. More than 4,000 rectangles are drawn as pixels,
    so that files stay small, and the strokes, which would cover them, are left out (the legend says how many).

    Scattered jobs are many rectangles, and all are drawn: a year of a small machine (28,000 jobs) takes half a second,
    but a whole log of 300,000 jobs on 80,000 cores some 10 s and 1.5 GB; a window of it takes little.

    Parameters
    ----------
    schedules
        A legal schedule of at least one job, or several by name.
    start_s, end_s
        The window to draw, in seconds since the trace's zero; None: all of it.
    colour
        ``"job"``: neighbours differ, and all tasks of a workflow have one colour; ``"user"``: the users with the most
        core-seconds in the window, the others in one colour; ``"wait"``, ``"length"``: how long the job waited, or
        runs, on a log scale. None: ``"length"`` where machines are switched, else ``"job"``.
    title
        None: workload and policy.
    width_in
        Its width in inches; the height follows from the panels.

    Returns
    -------
    Figure
        A figure of matplotlib that belongs to no window; `save` writes it.

    Raises
    ------
    RequestError
        The window is empty, a schedule has no jobs, or there are more than 24 clusters.
    UnknownNameError
        `colour` is none of the four.
    IllegalScheduleError
        More cores are in use at some instant than a machine has.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> from experiments.figures import gantt, save
    >>> schedule = sm.simulate(wl.lublin(jobs=50, cores=16, load=0.9, seed=1))
    >>> save(gantt(schedule, colour="wait"), "gantt.svg")
    """
    several = isinstance(schedules, Mapping)
    shown = dict(schedules) if isinstance(schedules, Mapping) else {"": schedules}
    panels = _panels(shown)
    if colour is None:
        switched = any(each.off_spans is not None and not each.off_spans.empty for each in shown.values())
        colour = "length" if switched else "job"
    require_known("colour", colour, get_args(Colouring))
    windows = [drawing.window_of(each, start_s, end_s) for each in shown.values()]
    window_s = min(low for low, _ in windows), max(high for _, high in windows)
    logs = [each.workload for each in shown.values()]
    log = logs[0] if len({each.start_unix_s for each in logs}) == 1 else None  # else an instant has several dates
    heights = np.maximum(heights_of(panels), LOWEST)
    height_in = 5.6 if len(panels) == 1 else 1.4 + (4.2 if several else 1.7) * float(heights.sum())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        rows = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights.tolist(), sharex=True)[:, 0]
        boxes = {panel: boxes_of(panel, window_s) for panel in panels}
        inks, entries = _inks(shown, boxes, colour)
        few = sum(len(np.unique(drawn.row)) for drawn in boxes.values()) <= _MOST_LABELS
        many = sum(len(drawn.row) for drawn in boxes.values()) > _MOST_OUTLINES
        for panel, axes, share in zip(panels, rows, heights / heights.sum(), strict=True):
            unit_s = drawing.time_axis(axes, window_s, log)
            _set_axes(axes, panel, float(share))
            entries += _draw_off(axes, panel, window_s, unit_s)
            entries += _draw_boxes(axes, panel, boxes[panel], inks[panel.name], unit_s, few=few, many=many)
            if few:
                _label_boxes(axes, panel, boxes[panel], unit_s, float(share))
            if several:
                drawing.put_title(axes, _caption(panel, window_s))
            if axes is not rows[-1]:
                axes.set_xlabel("")
        if title and several:
            figure.suptitle(title)
        elif not several:
            drawing.put_title(rows[0], title or drawing.headline("Gantt chart", panels[0].schedule))
        if colour in _SCALES:
            _add_scale(figure, list(rows), colour, _longest(shown, colour))
        unique = list({entry.get_label(): entry for entry in entries}.values())
        if unique:
            figure.legend(handles=unique, loc="outside lower center", ncols=min(len(unique), 5))
    return figure


def _panels(shown: Mapping[str, Schedule]) -> list[Panel]:
    """Return the panels: each cluster of each schedule."""
    for each in shown.values():
        as_instance("schedules", each, Schedule)
    panels = [Panel(name, each, cluster) for name, each in shown.items() for cluster in range(len(each.clusters))]
    as_integer("the number of panels of a Gantt chart", len(panels), 1, MOST_PANELS)
    return panels


# -- colours ----------------------------------------------------------------------------------------


def _longest(shown: Mapping[str, Schedule], colour: Colouring) -> float:
    """Return where the scale of waits or lengths ends."""
    return max(HOUR, *(float(np.nanmax(_measured(each, colour), initial=0.0)) for each in shown.values()))


def _measured(schedule: Schedule, colour: Colouring) -> Floats:
    """Return the wait or the length of each row."""
    work = schedule.workload
    return work.runtime_s if colour == "length" else schedule.began_s - work.submit_s


def _inks(
    shown: Mapping[str, Schedule], boxes: Mapping[Panel, Boxes], colour: Colouring
) -> tuple[dict[str, Floats], list[Artist]]:
    """Return the colour of each row of each schedule, and what the legend says."""
    palette, inks = to_rgba_array([*PALETTE, OTHERS]), {}
    if colour in _SCALES:
        longest = _longest(shown, colour)
        for name, schedule in shown.items():
            measured = np.nan_to_num(_measured(schedule, colour), nan=longest)
            inks[name] = np.asarray(_scale(longest).to_rgba(measured))
        return inks, []
    if colour == "job":
        return {name: palette[_place(schedule) % len(PALETTE)] for name, schedule in shown.items()}, []
    users, used = _users(shown, boxes)
    rank = np.empty(len(users), dtype=np.int64)
    by_use = np.lexsort((users, -used))
    rank[by_use] = np.arange(len(users))
    for name, schedule in shown.items():
        inks[name] = palette[np.minimum(rank[np.searchsorted(users, schedule.workload.user_id)], len(PALETTE))]
    names = [f"user {user}" if user >= 0 else "user unknown" for user in users[by_use[~np.isnan(used[by_use])]]]
    entries: list[Artist] = [Patch(color=ink, label=label) for ink, label in zip(PALETTE, names, strict=False)]
    if len(names) > len(PALETTE):
        entries.append(Patch(color=OTHERS, label=f"{drawing.grouped(len(names) - len(PALETTE))} other users"))
    return inks, entries


def _users(shown: Mapping[str, Schedule], boxes: Mapping[Panel, Boxes]) -> tuple[Ints, Floats]:
    """Return the users of all schedules, and the size of what is drawn of each; NaN of those of whom nothing counts."""
    users = np.unique(np.concatenate([schedule.workload.user_id for schedule in shown.values()]))
    used, seen = np.zeros(len(users)), np.zeros(len(users))
    for panel, drawn in boxes.items():
        index = np.searchsorted(users, panel.schedule.workload.user_id[drawn.row])
        counted = panel.schedule.counted[drawn.row]
        used += np.bincount(index, drawn.area() * counted, minlength=len(users))
        seen += np.bincount(index, counted, minlength=len(users))
    return users, np.where(seen > 0, used, np.nan)


def _place(schedule: Schedule) -> Ints:
    """Return the place of each row's job in the order of the starts, so that neighbours differ."""
    work = schedule.workload
    job = np.arange(len(work)) if work.tasks is None else work.tasks.workflow.copy()
    job[job < 0] = len(work.workflows) + np.arange(int((job < 0).sum()))
    first_s = np.full(int(job.max(initial=-1)) + 1, np.inf)
    np.minimum.at(first_s, job, np.nan_to_num(schedule.start_s, nan=np.inf))
    place = np.empty(len(first_s), dtype=np.int64)
    place[np.argsort(first_s, kind="stable")] = np.arange(len(first_s))
    return np.asarray(place[job], np.int64)


def _scale(most_s: float) -> ScalarMappable:
    """Return the colours of durations."""
    # The pale end of the map is left out: it would look like idle cores.
    shades = mpl.colormaps["YlGnBu"](np.linspace(0.22, 1.0, 256))
    return ScalarMappable(LogNorm(MINUTE, most_s, clip=True), LinearSegmentedColormap.from_list("duration", shades))


def _add_scale(figure: Figure, axes: list[Axes], colour: Colouring, most_s: float) -> None:
    """Draw the colour bar of durations."""
    bar = figure.colorbar(_scale(most_s), ax=axes, pad=0.01, aspect=30)
    bar.set_label(_SCALES[colour])
    ticks = [value for value in DURATIONS if MINUTE <= value <= most_s]
    bar.set_ticks(ticks, labels=[DURATIONS[value] for value in ticks])
    bar.minorticks_off()


# -- panels -----------------------------------------------------------------------------------------


def _set_axes(axes: Axes, panel: Panel, share: float) -> None:
    """Set the axis of cores or machines of a panel that has this share of the figure's height."""
    spec = panel.spec
    axes.set_ylim(0, panel.top)
    what = "machine" if panel.by_machine else "core"
    if len(panel.schedule.clusters) > 1:
        what = spec.name if spec.kind is None or spec.kind in spec.name else f"{spec.name}\n{spec.kind}"
    axes.set_ylabel(what)
    ticks = max(2, round(1.4 * share * drawing.size_in(axes)[1]))
    locator = MaxNLocator(ticks, integer=True, min_n_ticks=1, steps=[1, 2, 4, 5, 10])
    axes.yaxis.set_major_locator(locator)
    axes.yaxis.set_major_formatter(FuncFormatter(drawing.grouped))
    if panel.by_machine:  # the number of a machine stands in the middle of its row
        rows = [row for row in locator.tick_values(0, panel.top - 1) if 0 <= row < panel.top]
        axes.set_yticks(np.array(rows) + 0.5, labels=[drawing.grouped(row) for row in rows])
    axes.spines[["top", "right"]].set_visible(True)


def _draw_off(axes: Axes, panel: Panel, window_s: tuple[float, float], unit_s: float) -> list[Artist]:
    """Draw when machines were off."""
    spans = panel.schedule.off_spans
    if spans is None:
        return []
    spans = spans[spans["cluster"] == panel.cluster]
    row, low, high = spans[["machine", "start_s", "end_s"]].to_numpy(np.float64).T
    left, right = np.clip(low, *window_s) / unit_s, np.clip(high, *window_s) / unit_s
    seen = left < right
    if not seen.any():
        return []
    height = 1 - GAP if panel.by_machine else panel.top
    shapes = corners_of(left, right, row, row + height)[seen]
    axes.add_collection(PolyCollection(shapes, facecolors=_OFF, linewidths=0), autolim=False)
    return [Patch(facecolor=_OFF, label="off")]


def _draw_boxes(
    axes: Axes, panel: Panel, boxes: Boxes, inks: Floats, unit_s: float, *, few: bool, many: bool
) -> list[Artist]:
    """Draw the rectangles by kind, with outlines if they are few; return what the legend says of these kinds."""
    counted = panel.schedule.counted[boxes.row]
    colours = np.where(counted[:, np.newaxis], inks[boxes.row], to_rgba(OUTSIDE))
    entries: list[Artist] = []
    for number, (hatch, edge) in enumerate(_MARKS):
        drawn = (boxes.kind == number) & ~boxes.brief
        if not drawn.any():
            continue
        # White outlines would hide what is hardly wider than they are. Hatching takes the colour of the outline.
        outlines = np.tile(to_rgba(INK if few and not hatch else edge), (int(drawn.sum()), 1))
        if not few and not hatch:
            thin = (boxes.right_s - boxes.left_s)[drawn] < 0.002 * (axes.get_xlim()[1] - axes.get_xlim()[0]) * unit_s
            thin |= (boxes.top - boxes.bottom)[drawn] < 0.004 * panel.top
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
        if hatch:
            entries.append(Patch(facecolor="white", edgecolor=edge, hatch=hatch, label=KINDS[number]))
    # What is lost at the window's very end still runs in all of the window.
    crossed = (boxes.kind >= _LOSING) & boxes.ends & (boxes.right_s / unit_s < axes.get_xlim()[1])
    if crossed.any():
        middle = (boxes.bottom + boxes.top)[crossed] / 2
        axes.plot(boxes.right_s[crossed] / unit_s, middle, "x", color=_LOST, markersize=3.5, markeredgewidth=1.0)
    if boxes.brief.any() and many:
        jobs = count_of(len(np.unique(boxes.row[boxes.brief])), "job")
        entries.append(Line2D([], [], linestyle="none", label=f"not drawn: {jobs} of 0 s"))
    elif boxes.brief.any():
        x = boxes.left_s[boxes.brief] / unit_s
        strokes = np.column_stack((x, boxes.bottom[boxes.brief], x, boxes.top[boxes.brief])).reshape(-1, 2, 2)
        axes.add_collection(LineCollection(list(strokes), colors=INK, linewidths=1.4), autolim=False)
        entries.append(Line2D([], [], color=INK, linewidth=1.4, label="ran for 0 s"))
    if not counted.all():
        entries.append(Patch(facecolor=OUTSIDE, edgecolor=OTHERS, label="outside the metrics"))
    return entries


def _label_boxes(axes: Axes, panel: Panel, boxes: Boxes, unit_s: float, share: float) -> None:
    """Write each job's number on its largest rectangle, if there is room."""
    low, high = axes.get_xlim()
    width_in, height_in = drawing.size_in(axes)
    # The axes take about nine tenths of the width and eight tenths of the height; 72 points are an inch.
    points_x, points_y = 0.88 * 72 * width_in / (high - low), 0.78 * 72 * share * height_in / panel.top
    area = boxes.area()
    for row in np.unique(boxes.row[~boxes.brief]):
        mine = np.flatnonzero((boxes.row == row) & ~boxes.brief)
        best = mine[np.argmax(area[mine])]
        width = (boxes.right_s[best] - boxes.left_s[best]) / unit_s * points_x
        height = (boxes.top[best] - boxes.bottom[best]) * points_y
        text = str(panel.schedule.workload.job_id[row])
        size = min(9.0, 0.8 * height, width / (0.7 * len(text)))
        if size >= 5.0:
            x = (boxes.left_s[best] + boxes.right_s[best]) / 2 / unit_s
            y = (boxes.bottom[best] + boxes.top[best]) / 2
            halo = [withStroke(linewidth=2.2, foreground="white", alpha=0.75)]
            axes.text(x, y, text, ha="center", va="center", fontsize=size, clip_on=True, path_effects=halo)


def _caption(panel: Panel, window_s: tuple[float, float]) -> str:
    """Return the title of a panel among several schedules: its name, and what was lost there in the window."""
    schedule, (low, high) = panel.schedule, window_s
    caption = f"{panel.name}, {schedule.workload.name}"
    if schedule.off_spans is None or schedule.off_spans.empty:
        return caption
    runs = schedule.runs
    gone = (runs["end_s"] > low) & (runs["end_s"] <= high) & (runs["outcome"] == UNFINISHED)
    if "cluster" in runs:
        gone &= runs["cluster"] == panel.cluster
    lost_h = (runs["lost_s"] * runs["cores"])[gone].sum() / HOUR
    return f"{caption}: {count_of(int(gone.sum()), 'attempt')} interrupted, {lost_h:,.0f} core-hours lost"
