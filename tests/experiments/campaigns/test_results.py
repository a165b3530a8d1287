import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaigns import Effect, Results
from simmodels.errors import RequestError, UnknownNameError

RESULTS = Results(
    table=pd.DataFrame(
        {
            "order": ["FCFS", "FCFS", "SAF", "SAF"] * 3,
            "load": [1.0, None] * 6,
            "replication": np.repeat([0, 1, 2], 4),
            "wait": [10.0, 30.0, 8.0, 20.0, 20.0, 50.0, 15.0, 40.0, 0.0, 0.0, 0.0, None],
            "note": ["x"] * 12,
        }
    ),
    factors={"order": ("FCFS", "SAF"), "load": (1.0, None)},
    seed=3,
)
EMPTY = Results(table=pd.DataFrame(), factors={"order": ("FCFS",)})


def test_measures_are_the_numbers_that_are_no_factors_and_a_notebook_shows_the_first() -> None:
    assert RESULTS.measures == ("wait",)
    assert EMPTY.measures == ()
    assert "mean of wait" in RESULTS._repr_html_()


def test_rows_are_chosen_by_any_column() -> None:
    assert RESULTS.where(order="SAF", load=None, replication=1)["wait"].tolist() == [40.0]
    assert len(RESULTS.where(note="x")) == 12
    assert EMPTY.where(order="SAF").empty
    with pytest.raises(UnknownNameError, match="unknown column 'ordre'; did you mean order"):
        RESULTS.where(ordre="SAF")


def test_levels_and_differences_are_over_the_replications() -> None:
    assert RESULTS.level("wait") == Effect((17 + 31.25 + 0) / 3, None, None, 3)
    assert RESULTS.level("wait", {"order": "SAF", "load": 1.0}, statistic="median") == Effect(8.0, None, None, 3)
    found = RESULTS.difference("wait", {"order": "SAF"}, {"order": "FCFS"})
    assert found == Effect((-6.0 - 7.5 + 0) / 3, None, None, 3)
    assert RESULTS.difference("wait", {"load": None}, {"load": 1.0}, statistic="median") == Effect(16.0, None, None, 3)


def test_where_no_cells_pair_there_is_no_effect_and_an_unknown_factor_is_refused_all_the_same() -> None:
    # As of a campaign with --set order=FCFS, whose report must not fail for a claim about SAF.
    assert RESULTS.level("wait", {"order": "SPF"}) is None
    assert RESULTS.difference("wait", {"order": "SPF"}, {"order": "FCFS"}) is None
    assert EMPTY.level("wait") is None
    assert EMPTY.difference("wait", {"order": "SAF"}, {"order": "FCFS"}) is None
    for results in (RESULTS, EMPTY):
        with pytest.raises(UnknownNameError, match="unknown factor 'ordre'"):
            results.level("wait", {"ordre": "SAF"})
        with pytest.raises(UnknownNameError, match="unknown factor 'x'"):
            results.difference("wait", {"order": "FCFS"}, {"x": 1})


def test_the_summary_is_by_all_factors_and_counts_what_is_there() -> None:
    summary = RESULTS.summary(["wait"])
    assert summary.columns.tolist() == ["measure", "order", "load", "cells", "q1", "median", "q3", "mean"]
    assert summary["order"].tolist() == ["FCFS", "FCFS", "SAF", "SAF"]
    assert summary["load"].isna().tolist() == [False, True, False, True]
    assert summary["cells"].tolist() == [3, 3, 3, 2]
    assert summary["mean"].tolist() == [10.0, 80 / 3, 23 / 3, 30.0]
    table = pd.DataFrame({"replication": [0, 0, 1], "a": [1, 3, 4], "b": [True, False, True]})
    found = Results(table=table, factors={}).summary()
    assert found[["measure", "cells", "median"]].to_numpy().tolist() == [["a", 2, 3.0], ["b", 2, 0.75]]
    assert EMPTY.summary().columns.tolist() == ["measure", "order", "cells", "q1", "median", "q3", "mean"]
    assert EMPTY.summary(["wait"]).empty
    with pytest.raises(RequestError, match=r"measure 'note' is of type .*; choose a measure of numbers"):
        RESULTS.summary(["note"])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.floats(-1e9, 1e9)), min_size=1))
def test_the_summary_is_numpys_quantiles_of_the_means_of_cells(rows: list[tuple[str, int, float]]) -> None:
    table = pd.DataFrame(rows, columns=["kind", "replication", "found"])
    cells: dict[str, dict[int, list[float]]] = {}
    for kind, replication, found in rows:
        cells.setdefault(kind, {}).setdefault(replication, []).append(found)
    for row in Results(table=table, factors={"kind": ("a", "b")}).summary().itertuples():
        means = [np.mean(found) for found in cells[row.kind].values()]
        assert row.cells == len(means)
        assert [row.q1, row.median, row.q3] == pytest.approx(np.quantile(means, [0.25, 0.5, 0.75]), abs=1e-3)
