import pandas as pd

from experiments.campaigns.hours import in_hours


def test_the_values_of_a_measure_in_seconds_are_in_hours_and_those_of_others_stay() -> None:
    measures = ["mean_wait_s", "jobs_per_s", "mean_wait_s"]
    table = pd.DataFrame({"measure": measures, "cells": [1, 2, 3], "median": [3600.0, 5.0, None]}, index=[4, 4, 9])
    found = in_hours(table.astype({"measure": "category"}))
    assert found["measure"].tolist() == ["mean wait (h)", "jobs_per_s", "mean wait (h)"]
    assert found["median"].tolist()[:2] == [1.0, 5.0]
    assert found["median"].isna().tolist() == [False, False, True]
    assert found["cells"].tolist() == [1, 2, 3]


def test_columns_in_seconds_are_in_hours_by_another_name() -> None:
    table = pd.DataFrame({"period_s": [1800], "jobs_per_s": [2.0], "name_s": ["x"], 5: [1.0]})
    found = in_hours(table)
    assert list(found.columns) == ["period (h)", "jobs_per_s", "name_s", 5]
    assert found.iloc[0].tolist() == [0.5, 2.0, "x", 1.0]
    assert table["period_s"].tolist() == [1800], "what is given stays as it is"


def test_columns_of_one_name_and_tables_without_rows_are_taken() -> None:
    twice = pd.DataFrame([[7200.0, 3600.0]], columns=["wait_s", "wait_s"])
    assert in_hours(twice).to_numpy().tolist() == [[2.0, 1.0]]
    assert in_hours(pd.DataFrame(columns=["measure", "median"])).empty
