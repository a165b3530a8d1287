import json
from pathlib import Path
from typing import NoReturn

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from experiments import campaigning
from experiments.campaigns.planning.finding import find_study
from experiments.campaigns.study import Study
from experiments.studies.advice.study import Advice
from simmodels.errors import RequestError, SimModelsError
from tests.command_line import Run
from tests.experiments.conftest import STUDY, smoke

pytestmark = pytest.mark.usefixtures("counting")


# -- run --------------------------------------------------------------------------------------------


def test_a_run_does_all_cells_and_shows_the_claims(run: Run) -> None:
    answer = smoke(run)
    assert answer.status == 0
    assert answer.out.startswith("claims of counting, scale smoke\n")
    assert "b is more" in answer.out
    assert "1 (no interval: 2 replications, of 10 that are needed)" in answer.out
    assert answer.err.splitlines()[-2:] == [
        "counting: 8 of 8 cells are done, 8 run just now",
        "wrote results/counting/report.html and 4 tables and figures beside it",
    ]
    assert Path("results/counting/report.html").is_file()
    command = json.loads(next(Path("results/counting/runs").iterdir()).read_text())["command"]
    assert command == ["schedlab", "run", "counting.py", "--scale", "smoke", "--workers", "0"]


def test_running_again_runs_nothing_again(run: Run) -> None:
    smoke(run)
    assert smoke(run).err.splitlines()[0] == "counting: 8 of 8 cells are done, 0 run just now"
    answer = run("run", "counting.py", "-j", 0)
    assert "counting: 40 of 40 cells are done, 32 run just now" in answer.err
    assert "1 [1, 1]" in answer.out
    assert "holds" in answer.out


def test_json_is_one_object_and_nothing_else(run: Run) -> None:
    answer = run("run", "counting.py", "-j", 0, "--json", "--out", "there", "--seed", 3)
    reported = json.loads(answer.out)
    expected = {"study": "counting", "scale": "small", "seed": 3, "interrupted": False}
    assert {name: reported[name] for name in expected} == expected
    assert reported["cells"] == {"planned": 40, "done": 40, "run": 40, "failed": 0}
    assert reported["claims"] == [
        {"claim": "b is more", "source": "here", "number": "", "ours": False, "expected": "> 0", "unit": "",
         "estimate": 1.0, "low": 1.0, "high": 1.0, "verdict": "holds"},
    ]  # fmt: skip
    assert (reported["out"], reported["files"][-1]) == ("there", "report.html")
    again = run("report", "there", "--json")
    assert (again.status, json.loads(again.out)) == (0, {**reported, "cells": {**reported["cells"], "run": 0}})


def test_cells_that_fail_are_reported_and_the_others_reported(run: Run) -> None:
    answer = smoke(run, "--set", "fail=true", "--json")
    assert answer.status == 1
    assert json.loads(answer.out)["cells"] == {"planned": 8, "done": 4, "run": 8, "failed": 4}
    errors = [line for line in answer.err.splitlines() if line.startswith("error: ")]
    assert errors[0] == "error: cell kind a, size 2, replication 0 failed: ValueError: no such size"
    assert len(errors) == 3
    assert "4 cells failed; tracebacks are in results/counting/failures; --retry-failed runs them again" in answer.err
    again = smoke(run, "--set", "fail=true")
    assert (again.status, "0 run just now" in again.err) == (1, True)
    again = smoke(run, "--set", "fail=true", "--retry-failed")
    assert (again.status, "4 run just now" in again.err, "runs them again" in again.err) == (1, True, False)


def test_when_all_cells_fail_there_is_no_report(run: Run) -> None:
    answer = smoke(run, "-s", "fail=true", "-s", "size=2", "--json")
    assert (answer.status, json.loads(answer.out)["files"]) == (1, [])
    assert not Path("results/counting/report.html").exists()
    answer = run("report", "results/counting")
    assert answer == (
        2,
        "",
        "error: results/counting: no cell of study counting is done; run at least one before the report\n",
    )


def test_shards_make_one_campaign_and_the_last_one_reports(run: Run) -> None:
    first = smoke(run, "--shard", "1/2")
    assert (first.status, first.out) == (0, "")
    assert first.err.splitlines()[-2:] == [
        "counting: 4 of 8 cells are done, 4 run just now",
        "when the other shards are done: schedlab report results/counting",
    ]
    assert not Path("results/counting/report.html").exists()
    assert run("report", "results/counting").err.splitlines()[0] == "counting: 4 of 8 cells are done"
    assert "wrote results/counting/report.html" in smoke(run, "--shard", "2/2").err


def test_values_are_set_from_the_command_line(run: Run) -> None:
    smoke(run, "-s", "size=3,4", "-s", "base = 1.5", "--set", "replications=1", "--set", "kind=b")
    table = pd.read_parquet("results/counting/results.parquet")
    assert table[["kind", "size", "replication", "found"]].to_numpy().tolist() == [["b", 3, 0, 5.5], ["b", 4, 0, 7.0]]


def test_a_claim_about_cells_that_were_not_asked_for_leaves_the_report_whole(run: Run) -> None:
    answer = smoke(run, "-s", "kind=a")
    assert (answer.status, "not measured" in answer.out) == (0, True)


def test_changed_code_is_reported_by_the_report_and_run_again_by_a_run(run: Run) -> None:
    smoke(run)
    Path("counting.py").write_text(STUDY.replace('cell["base"] *', 'cell["base"] +'))
    for words in (("--trust",), ("--study", "counting.py")):
        assert "the code has changed since these cells were run" in run("report", "results/counting", *words).err
    assert "8 run just now" in smoke(run).err
    assert "the code has changed" not in run("report", "results/counting").err


INPUTS = "    def inputs(self, scale):\n        return {'more': 1}\n\n    def claims"


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('"base": 10', '"base": 11'),
        ('"size": [1, 2]', '"size": [2, 3, 4]'),
        ("replications=2", "replications=1"),
        ("    def claims", INPUTS),
        (INPUTS, INPUTS.replace("1", "2")),
    ],
)
def test_a_report_shows_the_cells_that_were_run_whatever_has_become_of_the_design(was: str, now: str, run: Run) -> None:
    study = STUDY if was in STUDY else STUDY.replace("    def claims", INPUTS)
    Path("counting.py").write_text(study)
    smoke(run)
    table = pd.read_parquet("results/counting/results.parquet")
    Path("counting.py").write_text(study.replace(was, now))
    answer = run("report", "results/counting", "--study", "counting.py")
    assert answer.status == 0
    assert "8 of 8 cells are done\nthe code has changed since these cells were run" in answer.err
    pd.testing.assert_frame_equal(pd.read_parquet("results/counting/results.parquet"), table)


def test_a_folder_that_holds_another_study_is_refused(run: Run) -> None:
    smoke(run, "--out", "there")
    answer = run("run", "replay", "--scale", "smoke", "-j", 0, "--out", "there")
    assert answer == (2, "", "error: there holds a campaign of study counting; choose another folder\n")


# -- settings and shards ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x=1", 1),
        ("x = 1.5 ", 1.5),
        ("x=true,false", [True, False]),
        ("x=FCFS, SAF", ["FCFS", "SAF"]),
        ("x=none", None),
        ("x=None,1", [None, 1]),
        ('x="1"', "1"),
        ("x=", ""),
        ("x=a=b", "a=b"),
        ("x=my.py:order", "my.py:order"),
        ("x=3#4", "3#4"),
        ("x=3\ny = 4", "3\ny = 4"),
        ("x=2020-01-01", "2020-01-01"),
        ("x=1e3", 1000.0),
        ("x=1_000", 1000),
        ("x=" + "9" * 5000, "9" * 5000),
        ("x=" + "[" * 5000, "[" * 5000),
    ],
)
def test_a_setting_is_as_toml_has_it_or_a_plain_text(text: str, value: object) -> None:
    found = campaigning._chosen([text])["x"]
    assert (found, type(found)) == (value, type(value))


def test_none_is_a_text_where_the_own_values_of_a_study_are_texts() -> None:
    """As in `--set backfilling=none`; a threshold of none is no threshold."""
    texts = campaigning._texts(find_study("forecasts"))
    settings = ["backfilling=none", "threshold_h=none", "cores=None", "workload=none,a.swf", "order=None"]
    found = campaigning._chosen(settings, texts)
    expected = {"backfilling": "none", "threshold_h": None, "cores": None, "workload": ["none", "a.swf"], "order": None}
    assert found == expected


class Settable(Study):
    """A study to set things of."""

    parameters = {"a": 1}  # noqa: RUF012
    factors = {"b": [1, 2]}  # noqa: RUF012

    def run_cell(self, _cell: object) -> dict[str, int]:
        return {}


@given(st.lists(st.text() | st.tuples(st.sampled_from(["a", "b", "replications", "self"]), st.text()).map("=".join)))
@example(["b=1,1.0"])
@example(["b=inf"])
@example(["b=0xffffffffffffffffff"])
@example(["b='''"])
def test_whatever_is_set_it_is_a_study_or_one_clear_error(settings: list[str]) -> None:
    try:
        study = Settable(**campaigning._chosen(settings))
    except SimModelsError:
        return
    assert len(study.design("smoke").factors["b"]) >= 1


def test_advise_cleans_as_the_study_does_and_as_its_help_says(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def refused(*_: object, chosen: dict[str, object], **__: object) -> NoReturn:
        asked.update(chosen)
        raise RequestError("enough")

    monkeypatch.setattr(campaigning, "run", refused)
    run("advise", "--workload", "log.swf")
    default = Advice.parameters["clean"]
    assert (Advice.parameters | asked)["clean"] == default == "strong,ends"
    run("advise", "--workload", "log.swf", "--clean", "strong")
    assert asked["clean"] == "strong"
    assert f"(default: {default})" in " ".join(run("advise", "--help").out.replace("│", " ").split())
