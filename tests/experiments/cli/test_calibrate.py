"""The command line's calibrate: what it prints, and the file that other commands take."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import simmodels as sm
import workloads as wl
from experiments.fitting import fit
from simmodels.policies.queue_options import QueueOptions
from tests.command_line import Run
from tests.experiments.test_fitting import made_under

LOG = ("-w", "log.swf", "--clean", "runnable")


@pytest.fixture
def run(run: Run) -> Run:
    """Run the command line where there is a log of 64 cores on which user 1 may have 4."""
    wl.write_swf(made_under([{"by": "user", "value": 1, "cores": 4}]), "log.swf")
    return run


def test_what_was_fitted_and_the_weeks_held_out_are_printed(run: Run) -> None:
    status, out, _ = run("calibrate", *LOG, "--json")
    assert status == 0
    answer = json.loads(out)
    step = answer["fitted"][0]
    assert (step["by"], step["taken"]) == ("user", True)
    assert {"value": 1, "cores": 4} in step["caps"]
    assert step["after"] < step["before"]
    held_out = answer["held_out"]
    waits = {"mean_h", "median_h", "p95_h"}
    assert {name: set(found) for name, found in held_out.items()} == {
        "logged": waits,
        "without": waits | {"rank", "agreement"},
        "fitted": waits | {"rank", "agreement"},
    }
    assert held_out["fitted"]["agreement"] == "close"
    expected = fit(wl.clean(wl.read_swf("log.swf"), "runnable"), QueueOptions.checked()).table()
    assert answer["fitted"] == expected["fitted"]
    assert held_out["fitted"] == expected["held_out"]["fitted"]
    assert held_out["without"]["rank"] is None, "nobody waits there"


def test_the_table_and_sentences_name_all_three_and_the_limits_are_written(run: Run) -> None:
    status, out, _ = run("calibrate", *LOG, "--out", "limits.csv")
    assert status == 0
    for text in ("as logged", "without ", "fitted", "- Taken: caps of own cores of ", "On the odd weeks the replay"):
        assert text in out
    assert {"by": "user", "value": 1, "cores": 4} in sm.Limits.read("limits.csv").table()


def test_without_limits_no_file_is_written(run: Run) -> None:
    wl.write_swf(made_under([{"by": "user", "cores": 64}]), "free.swf")
    status, out, err = run("calibrate", "-w", "free.swf", "--clean", "runnable", "--out", "limits.csv")
    assert status == 0
    assert "The log shows no limits" in out
    assert "no limits were taken, and nothing was written to limits.csv" in err
    assert not Path("limits.csv").exists()


@pytest.mark.parametrize(
    "words",
    [("simulate", *LOG), ("compare", *LOG, "--orders", "FCFS,SAF"), ("simulate", *LOG, "--clusters", "64")],
)
def test_fitted_limits_are_those_that_calibrate_writes(words: tuple[str, ...], run: Run) -> None:
    run("calibrate", *LOG, "--out", "limits.csv")
    fitted, written, without = (
        run(*words, "--json", *limits) for limits in (("--limits", "fitted"), ("--limits", "limits.csv"), ())
    )
    assert fitted.status == 0
    assert "Taken: caps of own cores of " in fitted.err
    assert fitted.out.replace('"fitted"', '"limits.csv"') == written.out
    assert json.loads(fitted.out)["setup"] != json.loads(without.out)["setup"]


def test_an_order_with_priorities_that_the_log_shows_has_a_name_of_its_own(run: Run) -> None:
    made = made_under(None, cores=14, order=sm.Ahead("queue", {1: 2 * sm.HOUR}))
    wl.write_swf(replace(made, max_cores=14), "queues.swf")
    words = ("-w", "queues.swf", "--clean", "runnable", "--limits", "fitted", "--json")
    found = run("compare", *words, "--orders", "FCFS,SAF")
    assert [cell["order"] for cell in json.loads(found.out)["cells"]] == ["FCFS by queue", "SAF"]
    assert "Taken: priorities of 2 queues" in found.err
    assert "they have no effect" not in found.err
    assert "Priorities change FCFS alone: here they have no effect." in run("simulate", *words, "--order", "SAF").err


def test_a_forecast_takes_limits_that_the_past_shows(run: Run) -> None:
    words = ("forecast", *LOG, "--new", "4,1h", "--futures", "5", "--json", "--limits", "fitted", "--at")
    status, out, err = run(*words, "50d")
    assert status == 0
    assert "Taken: caps of own cores of " in err
    assert {"by": "user", "value": 1, "cores": 4} in json.loads(out)["limits"]
    assert run(*words, "20d").err.endswith("give a longer log\n")
