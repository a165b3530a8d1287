"""The figures of the capacity study: box plots as the paper has them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.drawing import INK, PALETTE, STYLE, as_label, label_plainly
from experiments.on_machines import FIVE, QUEUES
from experiments.studies.capacity.paper import FIGURES, METRICS_FIGURE
from experiments.studies.capacity.results import SWEEPS, CapacityResults
from experiments.studies.capacity.settings import BORG

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_COLOURS: Final = dict(zip((*FIVE, *QUEUES), PALETTE, strict=True))
_LABELS: Final = {
    "goodput": "goodput",
    "aborted": "aborted share",
    "mean_aborted_s": "mean aborted time (s)",
    "max_stretch": "maximum stretch",
}
_METRICS: Final = ("goodput", "max_stretch", "aborted", "mean_aborted_s")
_WIDTH: Final = 0.84


def draw_figures(found: CapacityResults) -> dict[str, Figure]:
    """Return the figures for which there are cells, by name."""
    figures: dict[str, Figure] = {}
    if found.results.table.empty:
        return figures
    for name, title in FIGURES.items():
        values = found.swept(name)
        if len(values) > 1:
            figures[title] = _sweep(found, name, values)
    if len(found.swept("radius", BORG)) > 1:
        figures[METRICS_FIGURE] = _by_radius(found)
    figures["ours: four metrics at the centre by workload"] = _measures(found, _shown(found))
    for name in ("cores_per_machine", "jobs_per_week"):
        values = found.swept(name)
        if len(values) > 1:
            figures[f"extended: goodput by {SWEEPS[name]}"] = _sweep(found, name, values)
    if set(QUEUES) & set(found.heuristics):
        figures["extended: queues on the same machines"] = _measures(found, found.heuristics)
    if len(found.results.factors["change"]) > 1:
        figures["extended: notice, drain and checkpoints"] = _changes(found)
    return figures


def _boxes(
    axes: Axes,
    ticks: Sequence[object],
    heuristics: Sequence[str],
    values: Callable[[Any, str], "pd.Series[float]"],
) -> None:
    """Draw boxes side by side at each tick: quartiles, whiskers from 10 to 90 %, a star at the mean."""
    width = _WIDTH / len(heuristics)
    for number, heuristic in enumerate(heuristics):
        samples = [values(tick, heuristic).dropna().to_numpy() for tick in ticks]
        places = [place - _WIDTH / 2 + width * (number + 0.5) for place in range(len(ticks))]
        there = [(place, sample) for place, sample in zip(places, samples, strict=True) if len(sample)]
        if not there:
            continue
        drawn = axes.bxp(
            [_box(sample) for _, sample in there],
            positions=[place for place, _ in there],
            widths=0.82 * width,
            showfliers=False,
            showmeans=True,
            patch_artist=True,
            medianprops={"color": INK, "linewidth": 1.0},
            boxprops={"edgecolor": INK, "linewidth": 0.6},
            whiskerprops={"color": INK, "linewidth": 0.6},
            capprops={"color": INK, "linewidth": 0.6},
            meanprops={"marker": "*", "markerfacecolor": "white", "markeredgecolor": INK, "markersize": 5.5,
                       "markeredgewidth": 0.5},
            manage_ticks=False,
        )  # fmt: skip
        for box in drawn["boxes"]:
            box.set_facecolor(_COLOURS[heuristic])
            box.set_alpha(0.85)
    shown = [f"{tick:,}" if isinstance(tick, int) else str(tick) for tick in ticks]
    axes.set_xticks(range(len(ticks)), map(as_label, shown))
    axes.set_xlim(-0.55, len(ticks) - 0.45)
    axes.grid(axis="y")


def _box(sample: "NDArray[np.floating[Any]]") -> dict[str, Any]:
    """Return a box as it is drawn. Matplotlib's whiskers would end at the last value within, not at the percentile."""
    low, q1, median, q3, high = np.percentile(sample, [10, 25, 50, 75, 90])
    return {"whislo": low, "q1": q1, "med": median, "q3": q3, "whishi": high, "mean": sample.mean(), "fliers": []}


def _goodput(found: CapacityResults, workload: str, name: str, value: object, heuristic: str) -> "pd.Series[float]":
    """Return goodput where one factor has this value."""
    return found.value("goodput", heuristic, workload, **{name: value})


def _at_centre(found: CapacityResults, measure: str, workload: str, heuristic: str) -> "pd.Series[float]":
    """Return a measure at the centre."""
    return found.value(measure, heuristic, workload)


def _panels(count: int, *, across: int, height_in: float = 2.3, width_in: float = 3.6) -> tuple[Figure, list[Axes]]:
    """Return a figure of `count` panels, `across` of them in a row, with room for a legend below."""
    rows = -(-count // across)
    figure = Figure(figsize=(width_in * min(across, count), height_in * rows + 0.7), layout="constrained")
    return figure, [figure.add_subplot(rows, min(across, count), number + 1) for number in range(count)]


def _say(figure: Figure, heuristics: Sequence[str]) -> None:
    entries = [
        Patch(facecolor=_COLOURS[name], edgecolor=INK, linewidth=0.6, alpha=0.85, label=name) for name in heuristics
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=min(len(entries), 3))


def _shown(found: CapacityResults) -> list[str]:
    """Return the paper's heuristics that were run; if none was, the others."""
    return [name for name in FIVE if name in found.heuristics] or list(found.heuristics)


def _sweep(found: CapacityResults, name: str, values: Sequence[Any]) -> Figure:
    """Return goodput along a sweep, a panel a workload."""
    heuristics = _shown(found)
    workloads = [workload for workload in found.workloads if len(found.swept(name, workload)) > 1]
    with mpl.rc_context(STYLE):
        figure, panels = _panels(len(workloads), across=2)
        for axes, workload in zip(panels, workloads, strict=True):
            _boxes(
                axes, values, heuristics,
                partial(_goodput, found, workload, name),
            )  # fmt: skip
            axes.set_title(workload)
            axes.set_xlabel(SWEEPS[name])
            axes.set_ylabel("goodput")
        _say(figure, heuristics)
    return figure


def _by_radius(found: CapacityResults) -> Figure:
    """Return figure 4: four metrics on Borg along the range of the number of machines, a panel each."""
    values, heuristics = found.swept("radius", BORG), _shown(found)

    def at(measure: str, radius: object, heuristic: str) -> "pd.Series[float]":
        return found.value(measure, heuristic, BORG, radius=radius)

    with mpl.rc_context(STYLE):
        figure, panels = _panels(len(_METRICS), across=2)
        for axes, measure in zip(panels, _METRICS, strict=True):
            _boxes(axes, values, heuristics, partial(at, measure))
            axes.set_xlabel(SWEEPS["radius"])
            _measured(axes, measure)
        _say(figure, heuristics)
    return figure


def _measured(axes: Axes, measure: str) -> None:
    """Name the axis of a measure; stretches differ by orders of magnitude, and are plain numbers all the same."""
    axes.set_ylabel(_LABELS[measure])
    if measure == "max_stretch":
        axes.set_yscale("log")
        label_plainly(axes)


def _measures(found: CapacityResults, heuristics: Sequence[str]) -> Figure:
    """Return the four metrics at the centre, a panel each, the workloads along the axis."""
    with mpl.rc_context(STYLE):
        figure, panels = _panels(len(_METRICS), across=2)
        for axes, measure in zip(panels, _METRICS, strict=True):
            _boxes(axes, found.workloads, heuristics, partial(_at_centre, found, measure))
            _measured(axes, measure)
            axes.tick_params(axis="x", labelsize="small")
        _say(figure, heuristics)
    return figure


def _changes(found: CapacityResults) -> Figure:
    """Return goodput by how machines go, a panel a workload."""
    heuristics, changes = _shown(found), [str(name) for name in found.results.factors["change"]]
    with mpl.rc_context(STYLE):
        figure, panels = _panels(len(found.workloads), across=2)
        for axes, workload in zip(panels, found.workloads, strict=True):
            _boxes(
                axes, changes, heuristics,
                partial(_goodput, found, workload, "change"),
            )  # fmt: skip
            axes.set_title(workload)
            axes.set_ylabel("goodput")
        _say(figure, heuristics)
    return figure
