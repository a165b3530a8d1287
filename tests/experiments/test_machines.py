"""The command line under variable capacity: what it runs is what Python runs; what it cannot do it says."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.scenario import NO_LENGTH
from tests.command_line import Answer, Run
from tests.refused import says

CLUSTER = ("--workload", "log.swf", "--cores-per-machine", 24)
WALK = ("--walk", "24:8:20min")


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``compare`` where there are two days of jobs and a series."""
    wl.write_swf(wl.variable_capacity_jobs("LogScale", weeks=2 / 7, seed=1), "log.swf")
    watts = enumerate([9e3, 5e3, 7e3, 2e3, 9e3, 1e3])
    rows = [f"2020-01-01 {hour:02}:00:00,{2 * each},{each}" for hour, each in watts]
    Path("wind.csv").write_text("\n".join(["at,sea,land", *rows]) + "\n")

    def answer(*words: object) -> Answer:
        chosen = () if "--heuristics" in words else ("--heuristics", "FirstFitAware,TargetAsap")
        return run("compare", *words, *chosen)

    return answer


def log() -> sm.Workload:
    return wl.read_swf("log.swf")


def test_it_runs_what_python_runs(run: Run) -> None:
    files = ("--attempts-out", "attempts.parquet", "--gantt", "gantt.svg", "--draw-from", "1d", "--draw-to", "30h")
    names = ("FirstFitAware", "TargetAsap")
    status, out, err = run(*CLUSTER, *WALK, "--from", "1d", "--seed", 3, *files, "--validate", "--json")
    assert status == 0, err
    end = float(log().submit_s.max()) + 1
    walk = wl.capacity_walk(begin_s=sm.DAY, until_s=end, seed=3)
    window = {"cores_per_machine": 24, "window_s": (sm.DAY, end), "seed": 3}
    before = log().take(log().submit_s < sm.DAY)  # the week before the window, as far as the log has it
    wanted = [
        sm.simulate_on_machines(log(), walk, **window),
        sm.simulate_on_machines(log(), walk, heuristic="TargetAsap", reference=before, **window),
    ]
    cells = {cell["heuristic"]: cell for cell in json.loads(out)["cells"]}
    for name, schedule in zip(names, wanted, strict=True):
        metrics = {key: None if np.isnan(value) else value for key, value in schedule.metrics().items()}
        assert cells[name]["metrics"] == metrics
        assert metrics["kills"] > 0
    read = pd.read_parquet("attempts.parquet")
    for name, schedule in zip(names, wanted, strict=True):
        mine = read[read["heuristic"] == name].drop(columns="heuristic").reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, schedule.runs, check_exact=True)
    assert "attempts interrupted" in Path("gantt.svg").read_text()
    assert f"{cells['TargetAsap']['left_out']:,} jobs did not take part from 1 d to 2 d" in err


def test_blank_lines_of_a_series_are_reported(run: Run) -> None:
    path = Path("wind.csv")
    asked = ("--series", path, "--column", "sea", "--per-machine", 900, "--until", "4h", "--heuristics", "EASY")
    assert "blank lines" not in run(*CLUSTER, *asked).err
    path.write_text(path.read_text().replace("\n", "\n\n", 3))
    status, _, err = run(*CLUSTER, *asked)
    assert status == 0, err
    assert "blank lines: 3" in err


def test_a_series_is_turned_into_machines(run: Run) -> None:
    series = ("--series", "wind.csv", "--column", "sea+land", "--per-machine", 900)
    bounds = ("--max-machines", 25, "--min-machines", 8, "--heuristics", "FirstFitAware", "--json")
    reported = ("--notice", "10min", "--mode", "checkpoint", "--checkpoint-cost", 60, "--restart", 30)
    window = ("--from", 0, "--until", "10h", "--series-from", "1h", "--repeat")
    status, out, err = run(*CLUSTER, *series, *bounds, *reported, *window)
    assert status == 0, err
    # Of the eleventh hour, notice is given in the window.
    machines = (16, 23, 8, 25, 8, 25, 16, 23, 8, 25, 8)
    changes = [sm.CapacityChange(hour * sm.HOUR, each, 600.0, "checkpoint") for hour, each in enumerate(machines)]
    checkpoints = sm.Checkpoints(cost_s=60, restart_s=30)
    wanted = sm.simulate_on_machines(
        log(), changes, cores_per_machine=24, window_s=(0, 10 * sm.HOUR), checkpoints=checkpoints
    )
    assert json.loads(out)["cells"][0]["metrics"]["goodput"] == wanted.metrics()["goodput"]
    assert "machines: 8 to 25, 17.7 on average, 9 changes" in err


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--notice", "10min"),
        ("--mode", "drain"),
        ("--mode", "drain", "--notice", "1h"),
        ("--mode", "checkpoint", "--notice", "10min", "--checkpoint-cost", "60"),
    ],
)
def test_queues_run_on_the_same_machines(run: Run, more: tuple[str, ...]) -> None:
    found = {}
    for engine in ("compiled", "simpy"):
        asked = ("--validate", "--engine", engine, "--heuristics", "EASY,FCFS,FirstFitUnaware")
        status, out, _ = run(*CLUSTER, *WALK, *more, *asked)
        assert status == 0
        rows = [line.split() for line in out.splitlines() if line.split()[:1] and line.split()[0] in {"EASY", "FCFS"}]
        assert [row[0] for row in rows] == ["EASY", "FCFS"]
        assert float(rows[0][1].rstrip("*")) > 50
        found[engine] = rows
    assert found["compiled"] == found["simpy"]


def test_a_slice_of_borg_begins_when_the_jobs_come_that_did_not_run_before(run: Run) -> None:
    jobs = ["1 900 5000 2 running", *(f"{n} {1000 + 10 * n} 300 1 release" for n in range(2, 50))]
    Path("before.txt").write_text("\n".join(jobs))
    Path("slice.txt").write_text("\n".join([*jobs, "50 1500 1 30 release"]))
    cluster = ("--workload", "slice.txt", "--cores-per-machine", 24, *WALK, "--reference", "before.txt")
    assert "job 50: needs 30 cores, and the machine has 24; --drop-oversized" in run(*cluster).err
    status, out, err = run(*cluster, "--drop-oversized", "--json")
    assert status == 0, err
    assert json.loads(out)["window_s"] == [1020.0, 1491.0]
    assert "dropped: wider than the machine: 1" in err
    assert json.loads(out)["cells"][0]["metrics"]["arrived"] == 48


def test_jobs_of_no_length_are_left_out_and_counted(run: Run) -> None:
    wl.write_swf(replace(log(), runtime_s=np.where(np.arange(len(log())) < 5, 0.0, log().runtime_s)), "log.swf")
    status, _, err = run(*CLUSTER, *WALK, "--heuristics", "FirstFitAware")
    assert (status, f"{NO_LENGTH}: 5" in err) == (0, True)


MISTAKES = {
    "--heuristics FirstFit": "--cores-per-machine needs a number of cores; add --clusters or --cores",
    "--walk 24:8:20min --series wind.csv": "--walk and --series exclude each other",
    "--walk 24:2:1h": "a radius of 0, or from 4 (one step is a quarter of it) to the mean",
    "--walk 4:8:1h": "a radius of 0, or from 4 (one step is a quarter of it) to the mean",
    "--walk 24:8:soon": "period of --walk must be a number of seconds, or one with a unit",
    "--walk 24:8:20min --per-machine 5": "--per-machine has no effect on --walk; give --series instead, or omit it",
    "--walk 24:8:20min --series-from 3d": "--series-from has no effect on --walk",
    "--walk 24:8:20min --heuristics EASY --reference log.swf": (
        "--reference has no effect; choose a heuristic with targets"
    ),
    "--walk 24:8:20min --heuristics FirstFitAware --gantt g.svg --draw-from 40d": (
        "the drawing window lies outside what is simulated"
    ),
    "--walk 24:8:20min --mode explode": "unknown mode 'explode'",
    "--walk 24:8:20min --heuristics TargetAsp": "did you mean TargetAsap",
    "--walk 24:8:20min --restart 1": "need a checkpoint cost; add --checkpoint-cost TIME",
    "--walk 24:8:20min --heuristics TargetAsap": "add --reference FILE, or choose --from a week later",
    "--walk 24:8:20min --from 2d --until 1d": "the window from 2 d to 1 d is empty; choose --from before --until",
    "--walk 24:8:20min --from 9d --until 10d": "choose a window with jobs",
    "--series wind.csv --heuristics FirstFitAware": "wind.csv has several columns: sea, land; choose one with column=",
    "--series wind.csv --column air --heuristics FirstFitAware": "unknown column of wind.csv 'air'; known: sea, land",
    "--series wind.csv --column sea --heuristics FirstFitAware": "add --repeat, or shorten the window with --until",
    "--series wind.csv --column sea --per-machine 0.001 --repeat --heuristics EASY": (
        "use --per-machine X or --max-machines N"
    ),
    "--series wind.csv --min-machines 5 --max-machines 4": "--min-machines must be an integer from 0 to 4 (got 5)",
    "--series wind.csv --column sea --per-machine 0 --repeat --heuristics EASY": (
        "per_machine must be a finite number > 0 (got 0.0)"
    ),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_what_makes_no_sense_is_reported_in_one_line(run: Run, words: str) -> None:
    status, out, err = run(*CLUSTER, *words.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says(err, f"error: ...{MISTAKES[words]}...")
