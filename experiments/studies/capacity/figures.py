"""The figures of the capacity study: box plots as the paper has them."""

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from experiments.campaigns.charts import Axis, Boxes, Chart, draw_all, in_order
from experiments.drawing import Figure
from experiments.policy import FIVE, QUEUES
from experiments.studies.capacity.results import SWEEPS, CapacityResults
from experiments.studies.capacity.settings import BORG

_GOODPUT: Final = (Axis("goodput", "goodput"),)
_FOUR: Final = (
    *_GOODPUT,
    Axis("max_stretch", "maximum stretch", log=10),  # stretches differ by orders of magnitude
    Axis("aborted", "aborted share"),
    Axis("mean_aborted_s", "mean aborted time (s)"),
)
_QUEUED: Final = "extended: queues on the same machines"


def _along(factor: str, measures: tuple[Axis, ...] = _GOODPUT) -> Chart:
    """Return boxes along a factor: of one measure a panel per workload, of several a panel each."""
    return Chart(
        mark=Boxes(whiskers=(10, 90)),
        x=Axis(factor, SWEEPS.get(factor, ""), each=True),
        y=measures,
        by="heuristic",
        panels="workload" if len(measures) == 1 else "",
        styles=in_order((*FIVE, *QUEUES)),
    )


FIGURES: Final = {
    "figure 1: goodput by average machines": _along("machines"),
    "figure 2: goodput by period of change": _along("period_s"),
    "figure 3: goodput by range of machines": _along("radius"),
    "figure 4: four metrics on Borg by range of machines": _along("radius", _FOUR),
    "ours: four metrics at the centre by workload": _along("workload", _FOUR),
    f"extended: goodput by {SWEEPS['cores_per_machine']}": _along("cores_per_machine"),
    f"extended: goodput by {SWEEPS['jobs_per_week']}": _along("jobs_per_week"),
    _QUEUED: _along("workload", _FOUR),
    "extended: notice, drain and checkpoints": _along("change"),
}
"""The figures, by name."""


def draw_figures(found: CapacityResults) -> dict[str, Figure]:
    """Return the figures for which there are cells, by name."""
    if found.results.table.empty:
        return {}
    paper, queues = ([name for name in some if name in found.heuristics] for some in (FIVE, QUEUES))
    heuristics: dict[str, Sequence[str]] = {_QUEUED: found.heuristics if queues else []}
    return draw_all(
        (title, chart, _table(found, chart, heuristics.get(title, paper or found.heuristics)))
        for title, chart in FIGURES.items()
    )


def _table(found: CapacityResults, chart: Chart, heuristics: Sequence[str]) -> pd.DataFrame:
    """Return the values of a figure, one row each; no rows of one value only along an axis that is no workload."""
    along, parts = chart.x.column, [pd.DataFrame()]
    for workload in found.subjects if chart.panels or along == "workload" else [BORG]:
        points: list[dict[str, Any]] = [{}]
        if along != "workload":
            ticks = found.swept(along, workload) if along in SWEEPS else found.results.factors[along]
            points = [{along: tick} for tick in ticks] if len(ticks) > 1 else []
        for point in points:
            for heuristic in heuristics:
                values = {y.column: found.value(y.column, heuristic, workload, **point) for y in chart.y}
                parts.append(pd.DataFrame(values).assign(workload=workload, heuristic=heuristic, **point))
    return pd.concat(parts)
