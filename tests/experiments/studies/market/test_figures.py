import numpy as np
import pandas as pd
import pytest

from experiments.campaigns.results import Results
from experiments.studies.market.figures import draw_figures
from experiments.studies.market.settings import PLAIN, TENTHS

ROWS = [
    {
        "end": "drain", "rule": PLAIN, "bid": bid, "load": load, "replication": replication,
        "value": value + 0.1 * replication, "starved": 0.1, "median_slr": 1.0 + replication,
        **{f"slr_{tenth}": float(tenth) for tenth in TENTHS},
        **{f"starved_{tenth}": 0.6 if tenth == TENTHS[-1] else 0.2 for tenth in TENTHS},
        **{f"volume_slr_{tenth}": 2.0 for tenth in TENTHS},
        **{f"volume_starved_{tenth}": 0.3 for tenth in TENTHS},
    }
    for bid, value in (("PVR", 0.8), ("LRTF", 0.2))
    for load in (0.9, 1.2)
    for replication in range(2)
]  # fmt: skip
RESULTS = Results(
    table=pd.DataFrame(ROWS), factors={"end": ("drain",), "rule": (PLAIN,), "load": (0.9, 1.2), "bid": ("PVR", "LRTF")}
)


def lines(name: str, panel: int = 0) -> dict[str, list[float]]:
    axes = draw_figures(RESULTS)[name].axes[panel]
    return {str(line.get_label()): np.asarray(line.get_ydata(), dtype=float).tolist() for line in axes.lines}


def test_lines_are_means_over_the_workloads_and_details_have_each_as_a_dot() -> None:
    assert lines("figure 3: value against load")["PVR"] == pytest.approx([0.85, 0.85])
    assert lines("figure 5: starvation against load")["LRTF"] == pytest.approx([10.0, 10.0])
    assert lines("beyond the paper: median SLR against load")["PVR"] == pytest.approx([1.5, 1.5])
    detail = lines("figure 4: value against load, detail")
    assert sorted(detail) == ["PVR", "_dots PVR"], "LRTF does not lead"
    assert sorted(detail["_dots PVR"]) == pytest.approx([0.8, 0.8, 0.9, 0.9])


def test_tenths_of_which_more_than_half_starve_are_pale() -> None:
    shown = lines("figure 7: SLR by execution time")
    assert shown["_pale PVR"] == [float(tenth) for tenth in TENTHS]
    assert shown["PVR"][:-1] == [float(tenth) for tenth in TENTHS[:-1]]
    assert np.isnan(shown["PVR"][-1])


def test_starvation_by_volume_stands_beside_the_slr() -> None:
    name = "beyond the paper: SLR and starvation by volume"
    for panel, height in enumerate((2.0, 30.0)):
        drawn = [y for y in lines(name, panel)["PVR"] if not np.isnan(y)]
        assert drawn == pytest.approx([height] * len(TENTHS))
