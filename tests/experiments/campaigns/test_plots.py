import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
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
FACTORS = {"order": ("FCFS", "SAF"), "threshold": (1, None)}
TABLE = pd.DataFrame(ROWS)


def drawn(table: pd.DataFrame = TABLE, measure: str = "wait", **more: object) -> tuple[Axes, list[tuple[float, float]]]:
    """Return the axes of boxes by order, and where each box begins and ends."""
    axes = boxes(Results(table=table, factors=FACTORS), measure, **{"by": "order", **more}).axes[0]
    ys = [patch.get_path().vertices[:, 1] for patch in axes.patches if isinstance(patch, PathPatch)]
    return axes, [(y.min(), y.max()) for y in ys]


def x_names(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_xticklabels()]


def test_a_box_goes_from_quartile_to_quartile_of_the_means_of_cells() -> None:
    assert drawn()[1] == [(2.0, 4.0)] * 2
    assert drawn(pd.concat([TABLE, TABLE.assign(wait=0.0)]))[1] == [(1.0, 2.0)] * 2


def test_values_of_a_second_factor_stand_side_by_side_with_a_legend() -> None:
    axes, _ = drawn(within="threshold", label="wait (s)", logarithmic=True)
    assert [text.get_text() for text in axes.figure.legends[0].get_texts()] == ["threshold 1", "threshold none"]
    assert (x_names(axes), axes.get_xlabel(), axes.get_ylabel()) == (["FCFS", "SAF"], "order", "wait (s)")
    assert axes.get_yscale() == "log"
    assert drawn(TABLE.assign(wait=0.0), logarithmic=True)[0].get_yscale() == "linear"


def test_a_duration_without_a_label_is_in_hours() -> None:
    axes, found = drawn(TABLE.assign(mean_wait_s=3600.0 * TABLE["wait"]), "mean_wait_s")
    assert (axes.get_ylabel(), found) == ("mean wait (h)", [(2.0, 4.0)] * 2)


def test_values_without_cells_have_an_empty_place() -> None:
    axes, found = drawn(TABLE.assign(wait=TABLE["wait"].where(TABLE["order"] == "FCFS")))
    assert (x_names(axes), found) == (["FCFS", "SAF"], [(2.0, 4.0)])
    axes, found = drawn(TABLE.assign(wait=np.nan), within="threshold")
    assert (axes.get_ylabel(), found) == ("wait", [])


@pytest.mark.parametrize(
    ("measure", "more", "text"),
    [
        ("wait", {"by": "ordre"}, "unknown factor 'ordre'; did you mean order? known: order, threshold"),
        ("wait", {"within": "x"}, "unknown factor 'x'; known: order, threshold"),
        ("text", {}, "unknown measure 'text'; known: wait"),
        ("order", {}, "unknown measure 'order'; known: wait"),
    ],
)
def test_what_cannot_be_drawn_is_refused(measure: str, more: dict[str, str], text: str) -> None:
    with refused(text):
        drawn(TABLE.assign(text="x"), measure, **more)
