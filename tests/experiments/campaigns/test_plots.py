import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import PathPatch

from experiments.campaigns import Results
from experiments.campaigns.plots import boxes
from tests.refused import refused

ROWS = [
    {"order": order, "threshold": threshold, "replication": replication, "wait": wait}
    for order in ("FCFS", "SAF")
    for threshold in (1, None)
    for replication, wait in enumerate([1.0, 2.0, 3.0, 4.0, 10.0])
]
RESULTS = Results(table=pd.DataFrame(ROWS), factors={"order": ("FCFS", "SAF"), "threshold": (1, None)})


def heights(results: Results, **more: object) -> list[tuple[float, float]]:
    figure = boxes(results, "wait", **more)
    boxed = [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    return [(patch.get_path().vertices[:, 1].min(), patch.get_path().vertices[:, 1].max()) for patch in boxed]


def test_a_box_goes_from_quartile_to_quartile_of_the_means_of_cells() -> None:
    assert heights(RESULTS, by="order") == [(2.0, 4.0)] * 2
    twice = Results(table=pd.concat([RESULTS.table, RESULTS.table.assign(wait=0.0)]), factors=RESULTS.factors)
    assert heights(twice, by="order") == [(1.0, 2.0)] * 2


def test_values_of_a_second_factor_stand_side_by_side_with_a_legend() -> None:
    figure = boxes(RESULTS, "wait", by="order", within="threshold", label="wait (s)", logarithmic=True)
    axes = figure.axes[0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["threshold 1", "threshold none"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["FCFS", "SAF"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("order", "wait (s)", "log")


def test_a_duration_without_a_label_is_in_hours() -> None:
    table = RESULTS.table.assign(mean_wait_s=3600.0 * RESULTS.table["wait"])
    axes = boxes(Results(table=table, factors=RESULTS.factors), "mean_wait_s", by="order").axes[0]
    boxed = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert [(p.get_path().vertices[:, 1].min(), p.get_path().vertices[:, 1].max()) for p in boxed] == [(2.0, 4.0)] * 2
    assert axes.get_ylabel() == "mean wait (h)"


def test_an_axis_with_zeros_is_not_logarithmic() -> None:
    zeros = Results(table=RESULTS.table.assign(wait=0.0), factors=RESULTS.factors)
    assert boxes(zeros, "wait", by="order", logarithmic=True).axes[0].get_yscale() == "linear"


def test_values_without_cells_have_an_empty_place() -> None:
    table = RESULTS.table.assign(wait=RESULTS.table["wait"].where(RESULTS.table["order"] == "FCFS"))
    results = Results(table=table, factors={**RESULTS.factors, "order": ("FCFS", "SAF", "SPF")})
    assert heights(results, by="order") == [(2.0, 4.0)]
    axes = boxes(results, "wait", by="order").axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["FCFS", "SAF", "SPF"]


def test_a_measure_without_values_has_empty_axes() -> None:
    empty = Results(table=RESULTS.table.assign(wait=np.nan), factors=RESULTS.factors)
    axes = boxes(empty, "wait", by="order", within="threshold").axes[0]
    assert not axes.patches
    assert axes.get_ylabel() == "wait"


@pytest.mark.parametrize(
    ("measure", "more", "text"),
    [
        ("wait", {"by": "ordre"}, "unknown factor 'ordre'; did you mean order? known: order, threshold"),
        ("wait", {"by": "order", "within": "x"}, "unknown factor 'x'; known: order, threshold"),
        ("waitt", {"by": "order"}, "unknown measure 'waitt'; did you mean wait? known: wait"),
        ("text", {"by": "order"}, "unknown measure 'text'; known: wait"),
        ("order", {"by": "order"}, "unknown measure 'order'; known: wait"),
    ],
)
def test_what_cannot_be_drawn_is_refused(measure: str, more: dict[str, str], text: str) -> None:
    results = Results(table=RESULTS.table.assign(text="x"), factors=RESULTS.factors)
    with refused(text):
        boxes(results, measure, **more)  # type: ignore[arg-type]
