"""The command line's simulate and compare: any work, on any clusters, under any policy, as Python runs it."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.cli.main import command_named
from experiments.setup import PANELS
from experiments.viewer.trace import write_trace
from experiments.viewer.view import view_page
from tests.command_line import Run
from tests.experiments.viewer.test_view import parts


@pytest.fixture
def run(run: Run) -> Run:
    """Run the command line where there is a log for 32 cores and three workflows."""
    wl.write_swf(wl.tsafrir_estimates(wl.lublin(jobs=60, cores=32, seed=3, name="log"), seed=3), "log.swf")
    Path("flows").mkdir()
    for number in range(3):
        job = sm.Workflow(number, 0.0, [300.0, 500.0 + number, 200.0], [1, 4, 2], [(0, 1), (0, 2)])
        wl.write_wfformat(job, f"flows/job{number}.json")
    return run


def log() -> sm.Workload:
    return wl.read_swf("log.swf")


def flows() -> list[sm.Workflow]:
    return wl.read_workflows("flows")


def metrics_of(schedule: sm.Schedule) -> dict[str, float | None]:
    return {name: None if np.isnan(value) else value for name, value in schedule.metrics().items()}


LOG, FLOWS = ("-w", "log.swf"), ("--workflows", "flows")
MACHINES = ("--clusters", "1x32", "--cores-per-machine", "8")
WALKS = ("--clusters", "2x64", "--cores-per-machine", "8", "--walk", "4:4:60s")
SITE: dict[str, Any] = {"name": "cluster-1", "machines": 4, "cores_per_machine": 8}
COMBINATIONS: dict[str, tuple[tuple[str, ...], Callable[[], sm.Schedule]]] = {
    "a log by a bid": ((*LOG, "--bid", "SRTF"), lambda: sm.simulate(log(), bid="SRTF")),
    "workflows in a queue": (
        (*FLOWS, "--clusters", "8", "--order", "SAF"),
        lambda: sm.simulate(flows(), on=sm.Site(name="cluster-1", cores=8), order="SAF"),
    ),
    "a log and workflows in a queue": (
        (*LOG, *FLOWS, "--order", "F2", "--backfilling", "conservative"),
        lambda: sm.simulate(sm.Workload.concat([log(), flows()]), on=32, order="F2", backfilling="conservative"),
    ),
    "a log and workflows in an auction of machines": (
        (*LOG, *FLOWS, *MACHINES, "--bid", "PVR", "--ccr", "0"),
        lambda: sm.simulate(sm.Workload.concat([log(), flows()]), on=sm.Site(**SITE), bid="PVR", ccr=0.0),
    ),
    "a log on machines that are always on": (
        (*LOG, *MACHINES, "--heuristic", "FirstFit", "--order", "SPF", "--drop-oversized"),
        lambda: sm.simulate(narrow(8), on=sm.Site(**SITE), heuristic="FirstFit", order="SPF"),
    ),
    "a log on fast machines": (
        (*LOG, *MACHINES, "--speed", "2"),
        lambda: sm.simulate(log(), on=sm.Site(**SITE, speed=2.0)),
    ),
    "a log and workflows in an auction of slow machines": (
        (*LOG, *FLOWS, *MACHINES, "--speed", "0.5", "--bid", "PVR", "--ccr", "0"),
        lambda: sm.simulate(sm.Workload.concat([log(), flows()]), on=sm.Site(**SITE, speed=0.5), bid="PVR", ccr=0.0),
    ),
    "a queue on a walk": (
        (*LOG, "--cores-per-machine", "8", "--walk", "5:4:1h", "--order", "SAF", "--mode", "drain"),
        lambda: sm.simulate(
            log(),
            capacity=wl.capacity_walk(
                mean=5, radius=4, period_s=3600.0, begin_s=window(log())[0], until_s=window(log())[1], mode="drain"
            ),
            cores_per_machine=8,
            window_s=window(log()),
            order="SAF",
        ),
    ),
    "a router before queues": (
        (*LOG, "--clusters", "2x32", "--router", "LeastLoaded", "--order", "SAF"),
        lambda: sm.simulate(
            log(),
            on=[sm.Site(name=f"cluster-{k}", cores=32) for k in (1, 2)],
            router="LeastLoaded",
            order="SAF",
        ),
    ),
    "an auction before queues": (
        (*LOG, *FLOWS, "--clusters", "2x32", "--router", "Auction", "--bid", "FIFO", "--rebalance", "1h"),
        lambda: sm.simulate(
            sm.Workload.concat([log(), flows()]),
            on=[sm.Site(name=f"cluster-{k}", cores=32) for k in (1, 2)],
            bid="FIFO",
            forward=True,
            rebalance_s=3600.0,
        ),
    ),
}


def narrow(cores: int) -> sm.Workload:
    """Return the jobs that fit and have a length."""
    return log().take((log().cores <= cores) & (log().runtime_s > 0))


def window(jobs: sm.Workload) -> tuple[float, float]:
    return float(jobs.submit_s.min()), float(jobs.submit_s.max()) + 1


@pytest.mark.parametrize("name", COMBINATIONS)
def test_any_work_runs_on_any_clusters_under_any_policy(run: Run, name: str) -> None:
    words, wanted = COMBINATIONS[name]
    status, out, err = run("simulate", *words, "--validate", "--json")
    assert status == 0, err
    assert json.loads(out)["metrics"] == metrics_of(wanted())
    files = ("--attempts-out", "a.csv", "--gantt", "gantt.svg", "--view", "view.html", "--trace", "a.json")
    status, out, err = run("simulate", *words, *files, "--power", "120:8")
    assert status == 0, err
    assert "of the " in out
    assert len(pd.read_csv("a.csv")) == len(wanted().runs)
    write_trace(wanted(), "wanted.json", power=sm.Power(120.0, 8.0))
    shown, same = (json.loads(Path(name).read_text("utf-8"))["traceEvents"] for name in ("a.json", "wanted.json"))
    assert shown == same
    found, own = (parts(text)[1] for text in (Path("view.html").read_text("utf-8"), view_page(wanted())))
    assert {name: column.tolist() for name, column in found.items()} == {
        name: column.tolist() for name, column in own.items()
    }


@pytest.fixture
def divided(run: Run) -> list[sm.Workload]:
    """Write a log of two queues of 32 and 64 cores, each as if alone; return the jobs of each."""
    parts = [wl.lublin(jobs=200, cores=cores, seed=cores, load=1.2) for cores in (32, 64)]
    rows = [
        pd.DataFrame({"partition": number, "wait_s": sm.simulate(part).start_s - part.submit_s}).join(part.to_frame())
        for number, part in enumerate(parts, 1)
    ]
    pd.concat(rows, ignore_index=True).assign(job_id=np.arange(1, 401)).to_csv("parts.csv", index=False)
    return parts


def test_limits_of_users_of_which_no_job_says_its_own_are_said_to_have_no_effect(run: Run) -> None:
    Path("limits.csv").write_text("by,jobs\nuser,2\n")
    under = ("--limits", "limits.csv", "-q")
    said = "No job of log says its user: limits by user have no effect.\n"
    for words in ("simulate", "compare --orders SAF", "forecast --at 1h --new 4,1h --futures 3"):
        status, _, err = run(*words.split(), "-w", "log.swf", *under)
        assert (status, err) == (0, said)
    fair = ("simulate", "-q", "--order", "FairShare", "-w")
    for words in (
        fair,
        ("forecast", "-q", "--at", "1h", "--new", "4,1h", "--futures", 3, "--order", "FairShare", "-w"),
    ):
        assert run(*words, "log.swf").err == "No job of log says its user: to FairShare all jobs are alike.\n"
    log().to_frame().assign(user_id=np.arange(60) % 3).to_csv("users.csv", index=False)
    assert run("simulate", "-w", "users.csv", "--cores", 32, *under).err == ""
    assert run(*fair, "users.csv", "--cores", 32).err == ""


BY_PARTITION = ("-w", "parts.csv", "--router", "ByPartition")


def test_partitions_with_cores_of_their_own_are_replayed_at_once(run: Run, divided: list[sm.Workload]) -> None:
    """Their sizes are read off the log, and each starts as if alone."""
    words = (*BY_PARTITION, "--cores", 96)
    answer = json.loads(run("simulate", *words, "--order", "SAF", "--jobs-out", "jobs.csv", "--json").out)
    assert [(each["name"], each["cores"]) for each in answer["clusters"]] == [("1", 32), ("2", 64)]
    alone = [sm.simulate(part, order="SAF").start_s for part in divided]
    assert pd.read_csv("jobs.csv")["start_s"].tolist() == np.concatenate(alone).tolist()
    given = run("simulate", *BY_PARTITION, "--clusters", "64:2,32:1", "--order", "SAF", "--json")
    compared = run("compare", *words, "--orders", "FCFS,SAF", "--json")
    for found in (json.loads(given.out), json.loads(compared.out)["cells"][1]):
        assert found["metrics"] == pytest.approx(answer["metrics"])


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("cores", [96, 80])
def test_partitions_with_names_are_given_and_said_by_name(cores: int, run: Run) -> None:
    words = ("simulate", *BY_PARTITION, "--json", "--cores", cores, "--clusters")
    by_number = run(*words, "64:2,32:1").out
    parts = pd.read_csv("parts.csv")
    parts.assign(partition_name=parts["partition"].map({1: "cpu", 2: "1"})).to_csv("parts.csv", index=False)
    status, out, err = run(*words, "64:1,32:cpu")
    assert (status, json.loads(out)["metrics"]) == (0, json.loads(by_number)["metrics"]), err
    assert ("share the 80 cores: 1 up to 64, cpu up to 32" in err) == (cores == 80), err
    assert "its partition is 1 ('cpu'), and no cluster has that name" in run(*words, "64:1").err


def test_partitions_that_share_cores_are_limits_of_one_queue(run: Run, divided: list[sm.Workload]) -> None:
    Path("limits.csv").write_text("by,value,cores\npartition,1,32\npartition,2,64\n")
    by_hand = ("-w", "parts.csv", "--cores", 80, "--limits", "limits.csv", "--order", "SAF")
    limited = json.loads(run("simulate", *by_hand, "--json").out)
    for where in (("--cores", 80), ("--cores", 80, "--clusters", "64:2,32:1")):
        status, out, err = run("simulate", *BY_PARTITION, *where, "--order", "SAF", "--validate", "--json")
        assert status == 0, err
        assert "the 2 partitions share the 80 cores: " in err
        found = json.loads(out)
        assert found["metrics"] == limited["metrics"]
        assert sorted(found["rules"]["limits"], key=lambda row: row["value"]) == limited["rules"]["limits"]
        assert [each["cores"] for each in found["clusters"]] == [80]
        for policies in ((*BY_PARTITION[2:], "--orders", "SAF"), ("--routers", "ByPartition", "--order", "SAF")):
            found = json.loads(run("compare", "-w", "parts.csv", *where, *policies, "--json").out)
            assert found["cells"][0]["metrics"] == limited["metrics"]
            assert found["calibration"]["divided_by"] == ["partition"]
    pd.read_csv("parts.csv").replace({"partition": 2}, -1).to_csv("parts.csv", index=False)
    status, _, err = run("simulate", *BY_PARTITION, "--cores", 80)
    assert (status, " share the 80 cores: 1 up to 32, unknown ones any" in err) == (0, True), err
    pd.read_csv("parts.csv").assign(partition=-1).to_csv("parts.csv", index=False)
    found = json.loads(run("simulate", *BY_PARTITION, "--cores", 80, "--json").out)
    assert [(each["name"], each["cores"]) for each in found["clusters"]] == [("-1", 80)]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            "-w parts.csv --clusters 64,32 --router ByPartition",
            "--clusters does not say of which partition a cluster is",
        ),
        (
            "-w parts.csv --clusters 64:2 --router ByPartition",
            "job 1: its partition is 1, and no cluster has that name (1",
        ),
        ("-w log.swf --router ByQueue", "does not say how many cores each queue has; give the cores of each"),
        (
            "--workflows flows --router ByQueue --clusters 9:1",
            "ByQueue goes by queue, of which the workload has no num",
        ),
        ("-w parts.csv --cores 80 --router ByPartition --limits fitted", "fitted limits beside the cores of each part"),
        (
            "-w parts.csv --cores 80 --router ByPartition --cores-per-machine 80 --heuristic FirstFit",
            "a placer (ByPartition) where partitions share",
        ),
    ],
)
def test_what_cannot_be_divided_is_refused(words: str, text: str, run: Run, divided: list[sm.Workload]) -> None:
    status, _, err = run("simulate", *words.split())
    assert (status, text in " ".join(err.split())) == (2, True), err


COMPARED = {
    "orders": ("--orders", "SAF,FCFS"),
    "heuristics": ("--heuristics", "FirstFit,FirstFitUnaware", *MACHINES, "--drop-oversized"),
    "bids": ("--bids", "SRTF,FIFO"),
    "routers": ("--routers", "RoundRobin,Auction", "--clusters", "2x32", "--order", "SAF"),
    "routers, of workflows too": ("--routers", "RoundRobin,Auction", "--clusters", "2x32", *FLOWS, "--ccr", "0.7"),
}


@pytest.mark.parametrize("case", COMPARED)
def test_whatever_decides_is_compared(run: Run, case: str) -> None:
    kind, chosen = case.partition(",")[0], COMPARED[case]
    words = (*LOG, *chosen)
    status, out, err = run("compare", *words, "--out", "folder", "--gantt", "gantt.png", "--json")
    assert status == 0, err
    answer = json.loads(out)
    names = chosen[1].split(",")
    assert [cell[kind[:-1]] for cell in answer["cells"]] == names
    table = pd.read_csv("folder/metrics.csv")
    assert table[kind[:-1]].tolist() == names
    assert json.loads(Path("folder/provenance.json").read_text())["command"][:4] == ["schedlab", "compare", *LOG]
    assert f"and {len(names)} tables of " in err
    for cell, name, wait_s in zip(answer["cells"], names, table["mean_wait_s"], strict=True):
        single = ("--order", name) if kind == "orders" else (f"--{kind[:-1]}", name)
        rest = [word for word in words if word not in chosen[:2]]
        metrics = json.loads(run("simulate", *rest, *single, "--json")[1])["metrics"]
        assert metrics == cell["metrics"]
        assert metrics["mean_wait_s"] == pytest.approx(wait_s)
    status, out, _ = run("compare", *words)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines() if line.split()[:1] and line.split()[0] in names] == names


def test_each_cluster_has_a_walk_of_its_own(run: Run) -> None:
    words = (*FLOWS, *WALKS, "--bid", "SRTF", "--json")
    status, out, err = run("simulate", *words)
    assert status == 0, err
    lines = [line.split(": ", 1)[1] for line in err.splitlines() if line.startswith("machines of ")]
    assert len(lines) == len(set(lines)) == 2
    assert json.loads(out)["metrics"]["completed_share"] == 1


def test_without_a_window_capacities_change_until_slow_machines_are_done(run: Run) -> None:
    words = (*WALKS, "--router", "RoundRobin")
    twice = replace(log(), runtime_s=2 * log().runtime_s, estimate_s=2 * log().estimate_s)
    wl.write_swf(twice, "twice.swf")
    slow, long = run("simulate", *LOG, *words, "--speed", "0.5"), run("simulate", "-w", "twice.swf", *words)
    changes = [[line for line in each.err.splitlines() if line.startswith("machines of ")] for each in (slow, long)]
    assert changes[0] == changes[1] != []


def test_a_job_is_lost_as_often_as_the_command_line_allows(run: Run) -> None:
    words = (*LOG, *WALKS, "--router", "RoundRobin")
    assert run("simulate", *words).status == 0
    for most in (1, 2):
        status, _, err = run("simulate", *words, "--max-requeues", most)
        assert (status, f"was lost {most + 1} times in a row by " in err) == (1, True)
    assert "max_requeues must be an integer from 1 " in run("simulate", *words, "--max-requeues", 0).err


def test_the_command_line_has_every_option_of_the_models() -> None:
    own = {"heuristic", "reference"}  # by which the commands say more than an option
    for name in ("simulate", "compare"):
        flags = {flag for param in command_named(name).params for flag in (*param.opts, *param.secondary_opts)}
        for kind in PANELS:
            for each in fields(kind):
                if each.name not in own and "Checkpoints" not in str(each.type):
                    assert f"--{each.name.removesuffix('_s').replace('_', '-')}" in flags
        for each in fields(sm.Checkpoints):
            reported = {"interval_s": "checkpoint-every", "cost_s": "checkpoint-cost", "restart_s": "restart"}
            assert each.name not in reported or f"--{reported[each.name]}" in flags


def test_options_of_every_type_reach_the_model(run: Run) -> None:
    for words, wanted in (
        (
            (*LOG, *MACHINES, "--drop-oversized", "--heuristic", "FirstFit", "--fill-order", "3,1,0,2"),
            {"fill_order": [3, 1, 0, 2]},
        ),
        (
            (*FLOWS, "--tick", "1min", "--prices", "--no-plus-one", "--admission", 0.5),
            {"tick_s": 60.0, "prices": True, "plus_one": False, "admission": 0.5},
        ),
    ):
        rules = json.loads(run("simulate", *words, "--json").out)["rules"]
        assert {name: rules[name] for name in wanted} == wanted
