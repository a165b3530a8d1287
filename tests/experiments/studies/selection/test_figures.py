import numpy as np
import pandas as pd
import pytest

from experiments.campaigns.results import Results
from experiments.studies.selection.figures import draw_figures
from simmodels.policies.orders import TWELVE_ORDERS

WAITS = {"FCFS": ((10.0, 10.0), (30.0, 10.0)), "SAF": ((5.0, 5.0), (30.0, 30.0)), "full day": ((2.0, 2.0), (3.0, 3.0))}
ROWS = [
    {
        "variant": "text", "workload": "generated", "replication": replication, "strategy": strategy, "week": week,
        "jobs": 2, "wait_s": wait_s, **{f"share_{order}": float(order == "SAF") for order in TWELVE_ORDERS},
    }
    for strategy, resamples in WAITS.items()
    for replication, weeks in enumerate(resamples)
    for week, wait_s in enumerate(weeks)
]  # fmt: skip
FACTORS = {"variant": ("text",), "workload": ("generated",), "strategy": tuple(WAITS)}


def drawn(table: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Return the heights of each line of each figure."""
    figures = draw_figures(Results(table=table, factors=FACTORS))
    return {
        name: {
            str(line.get_label()): np.asarray(line.get_ydata(), dtype=float).tolist() for line in figure.axes[0].lines
        }
        for name, figure in figures.items()
    }


def test_a_line_is_the_ratio_of_summed_waits_between_percentiles_of_the_resamples() -> None:
    lines = drawn(pd.DataFrame(ROWS))["as figure 2, generated, text: fixed orders"]
    # After a week 35 s against 40 s, after two 70 s against 60 s; by resample -50 % and 0 %, then -50 % and +50 %.
    assert lines["SAF"] == pytest.approx([-12.5, 100.0 / 6.0])
    assert lines["_low SAF"] == pytest.approx([-45.0, -40.0])
    assert lines["_high SAF"] == pytest.approx([-5.0, 40.0])


def test_a_figure_is_drawn_of_what_was_run_only() -> None:
    assert set(drawn(pd.DataFrame(ROWS))) == {
        "as figure 2, generated, text: fixed orders",
        "as figure 3, generated, text: strategies, an order a day",
    }
    logged = [{**row, "strategy": f"{row['strategy']} logged"} for row in ROWS]
    names = list(drawn(pd.DataFrame([*ROWS, *logged])))
    assert names[0] == "as figure 1, generated, text: mean wait of each week of the log itself"
