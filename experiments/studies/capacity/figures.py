"""The figures of the capacity study: box plots as the paper has them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.campaigns.judging import Values
from experiments.drawing import INK, PALETTE, STYLE, as_label, label_plainly
from experiments.on_machines import FIVE, QUEUES
from experiments.studies.capacity.results import SWEEPS, CapacityResults
from experiments.studies.capacity.settings import BORG

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLOURS: Final = dict(zip((*FIVE, *QUEUES), PALETTE, strict=True))
_LABELS: Final = {
    "goodput": "goodput",
    "max_stretch": "maximum stretch",
    "aborted": "aborted share",
    "mean_aborted_s": "mean aborted time (s)",
}
_WIDTH: Final = 0.84


class Boxes(NamedTuple):
    """A figure: boxes of a measure along an axis, a panel a workload; of several measures, a panel each.

    Parameters
    ----------
    title
        Its name.
    along
        The factor along the axis.
    measures
        What is drawn.
    on
        The workload of which several measures are drawn; none if they are drawn by workload.
    queues
        Whether the queues are drawn, too; without one, there is no figure then.
    """

    title: str
    along: str
    measures: Sequence[str] = ("goodput",)
    on: str = ""
    queues: bool = False


FIGURES: Final = (
    Boxes("figure 1: goodput by average machines", "machines"),
    Boxes("figure 2: goodput by period of change", "period_s"),
    Boxes("figure 3: goodput by range of machines", "radius"),
    Boxes("figure 4: four metrics on Borg by range of machines", "radius", tuple(_LABELS), on=BORG),
    Boxes("ours: four metrics at the centre by workload", "workload", tuple(_LABELS)),
    Boxes(f"extended: goodput by {SWEEPS['cores_per_machine']}", "cores_per_machine"),
    Boxes(f"extended: goodput by {SWEEPS['jobs_per_week']}", "jobs_per_week"),
    Boxes("extended: queues on the same machines", "workload", tuple(_LABELS), queues=True),
    Boxes("extended: notice, drain and checkpoints", "change"),
)
"""The figures, one row each."""


def draw_figures(found: CapacityResults) -> dict[str, Figure]:
    """Return the figures for which there are cells, by name."""
    if found.results.table.empty:
        return {}
    drawn = {row.title: _drawn(found, row) for row in FIGURES if not row.queues or set(QUEUES) & set(found.heuristics)}
    return {title: figure for title, figure in drawn.items() if figure is not None}


def _ticks(found: CapacityResults, row: Boxes, workload: str = "") -> list[Any]:
    """Return the values along the axis: of a sweep those for which there are cells."""
    if row.along in SWEEPS:
        return found.swept(row.along, workload)
    return [str(name) for name in found.results.factors[row.along]]


def _drawn(found: CapacityResults, row: Boxes) -> Figure | None:
    """Return a figure; None if there is one value only along an axis that is no workload."""
    ticks, by_workload = _ticks(found, row, row.on), row.along == "workload"
    if len(ticks) < 2 and not by_workload:
        return None
    paper = [name for name in FIVE if name in found.heuristics]
    heuristics = found.heuristics if row.queues or not paper else paper
    several = len(row.measures) > 1
    panels = row.measures if several else [name for name in found.workloads if len(_ticks(found, row, name)) > 1]

    def values(panel: str, tick: Any, heuristic: str) -> Values:  # noqa: ANN401  any value
        measure, workload = (panel, row.on) if several else (row.measures[0], panel)
        moved = {} if by_workload else {row.along: tick}
        return found.value(measure, heuristic, tick if by_workload else workload, **moved)

    with mpl.rc_context(STYLE):
        figure, each = _panels(len(panels), across=2)
        for axes, panel in zip(each, panels, strict=True):
            _boxes(axes, ticks, heuristics, partial(values, panel))
            measure = panel if several else row.measures[0]
            axes.set_ylabel(_LABELS[measure])
            if measure == "max_stretch":  # stretches differ by orders of magnitude, and are plain numbers all the same
                axes.set_yscale("log")
                label_plainly(axes)
            if not several:
                axes.set_title(panel)
            if by_workload:
                axes.tick_params(axis="x", labelsize="small")
            axes.set_xlabel(SWEEPS.get(row.along, ""))
        _say(figure, heuristics)
    return figure


def _boxes(
    axes: Axes,
    ticks: Sequence[object],
    heuristics: Sequence[str],
    values: Callable[[Any, str], Values],
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
