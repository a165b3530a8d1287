import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments import choices
from experiments.campaigns.planning.finding import listed as studies
from experiments.policy import FIVE, HEURISTICS, QUEUES, ROUTERS
from simmodels.engine import Engine
from simmodels.ground.cards import number
from simmodels.model import RouterName
from simmodels.policies.placement_options import Heuristic
from simmodels.policies.queue_options import Backfilling, Decide, Overrun
from tests.command_line import Run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def trace(tmp_path: Path) -> sm.Workload:
    """150 jobs for 32 cores, with estimates; also as log.swf in the folder of the test."""
    jobs = wl.tsafrir_estimates(wl.lublin(jobs=150, cores=32, seed=3, name="log"), seed=3)
    wl.write_swf(jobs, tmp_path / "log.swf")
    return wl.read_swf(tmp_path / "log.swf")


# -- the program ------------------------------------------------------------------------------------


def test_the_help_waits_for_neither_models_nor_plots() -> None:
    code = "import sys, experiments.cli.main; print({'simmodels', 'numba', 'pandas', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_version_is_that_of_the_packages(run: Run) -> None:
    assert run("--version").out == f"schedlab {sm.__version__}\n"


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "experiments", "list", "--json"]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=surroundings, text=True, stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 128 + signal.SIGPIPE


def test_an_interrupt_ends_it_with_its_own_status_if_need_be_a_moment_later(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deaf:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def interrupted(wait_s: float | None) -> int:
        if wait_s is None:
            raise KeyboardInterrupt
        Deaf()  # where no error can be raised
        time.sleep(wait_s)
        return 0

    for wait_s in (None, 60.0, 0.0):  # it goes on, or is done at once
        monkeypatch.setattr("experiments.cli.list.print_table", lambda *_, wait_s=wait_s: interrupted(wait_s))
        assert run("list") == (130, "", "error: interrupted\n")

    set_alarm, alarms = signal.setitimer, []

    def held_up(which: int, after_s: float) -> tuple[float, float]:
        before = set_alarm(which, after_s)
        alarms.append(after_s)
        if len(alarms) == 1:
            time.sleep(1.5 * after_s)  # the alarm comes meanwhile, where no error can be raised
        return before

    monkeypatch.setattr("signal.setitimer", held_up)
    monkeypatch.setattr("experiments.cli.list.print_table", lambda *_: interrupted(60.0))
    assert run("list") == (130, "", "error: interrupted\n")
    assert len(alarms) == 3, "set, set again, and taken back"


ANNOUNCED = """
import importlib, sys
from experiments.cli.main import main

home, name = sys.argv.pop(1).split(":")
module = importlib.import_module(home)
begin = getattr(module, name)


def begun(*args, **kwargs):
    print("begun", flush=True)
    return begin(*args, **kwargs)


setattr(module, name, begun)

sys.exit(main())
"""
"""The command line, which says when the compiled code of a module is called."""


@pytest.mark.parametrize(
    ("compiled", "words"),
    [
        ("simmodels.replay.run:replay", "simulate --order WFP3 --jobs-out jobs.csv"),
        pytest.param(
            "simmodels.replay.run:replay",
            "compare --orders WFP3,FCFS --backfilling conservative --out out",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "simmodels.replay.platform:run",
            "compare --cores-per-machine 4 --walk 24:8:1s --until 3d --heuristics TargetStretch --reference log.swf",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "simmodels.learning.trials:run_blocks", "learn --trials 99999999 --out fit.toml", marks=pytest.mark.full
        ),
        pytest.param("simmodels.replay.run:replay", "advise --workers 0", marks=pytest.mark.full),
        pytest.param("experiments.campaigns.execution.loop:wait", "advise", marks=pytest.mark.full),
    ],
)
def test_ctrl_c_in_compiled_code_ends_it_at_once_and_leaves_no_file(compiled: str, words: str, tmp_path: Path) -> None:
    """What is asked for would take hours, or is done by many short runs."""
    jobs, gap = (20_000, 300) if words.startswith(("learn", "advise")) else (100_000, 0)
    lines = (f"{k} {k * gap} -1 {100 + k % 7} 1 -1 -1 1 {100 + k % 11}" for k in range(1, jobs + 1))
    (tmp_path / "log.swf").write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    command, *more = words.split()
    argv = [sys.executable, "-c", ANNOUNCED, compiled, command, "--workload", "log.swf", *more]
    limit_s = 300
    with subprocess.Popen(
        argv, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, stdout=-1, stderr=-1
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=limit_s)
        finally:
            process.kill()
    assert (process.returncode, err.splitlines()[-1][:18]) == (130, "error: interrupted")
    assert "Traceback" not in err
    left = {path.name for path in tmp_path.iterdir()} - {"log.swf"}
    assert not left - {"out", "results"}, left


def test_a_fault_of_the_system_is_reported_in_a_line(
    run: Run, trace: sm.Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "jobs.csv")

    monkeypatch.setattr("experiments.outputs.jobs_writer", lambda _: full)
    answer = run("simulate", "--workload", "log.swf", "--jobs-out", "jobs.csv")
    assert answer.status == 1
    assert answer.err.splitlines()[-1] == "error: jobs.csv: no space left on device"


# -- list -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", choices.TOPICS)
def test_list_of_one_kind_has_all_that_is_known_of_it(kind: str, run: Run) -> None:
    answer = run("list", kind)
    assert (answer.status, answer.err) == (0, "")
    listed = json.loads(run("list", "--json").out)[kind]
    assert json.loads(run("list", kind, "--json").out) == {kind: listed}
    assert len(listed) > 1
    shown = [" ".join(line.split()) for line in run("list").out.splitlines()]
    for each in listed:
        assert each["about"]
        assert any(line.startswith(f"{each['name']} {each['about']}"[:60]) for line in shown)
        assert f" {each['name']} " in answer.out
        assert all(other in answer.out for other in each.get("aliases", ()))
    if kind in {"orders", "bids"}:
        text = "".join(answer.out.split())
        assert all(word in text for each in listed for word in each["formula"].split()[:1])


def test_list_explains_every_metric_and_no_other() -> None:
    jobs = {"submit_s": [0, 1, 2], "runtime_s": [100, 4, 100], "cores": [2, 2, 1]}
    reference = sm.Workload.of(jobs)
    targeted = {"heuristic": "TargetAsap", "reference": reference}
    found = {
        **sm.simulate(jobs, cores=2).metrics(),
        **sm.simulate_on_machines(jobs, [(0, 1)], cores_per_machine=2, **targeted).metrics(),
        **sm.simulate_workflows([], clusters=[("a", 1, None)]).metrics(),
    }
    shown = choices.names_of("metrics")
    plain = {name.removeprefix(f"{name.split('_')[0]}_") if name not in shown else name for name in found}
    assert plain == set(shown)


def test_list_as_json_is_one_object_with_formula_and_source(run: Run) -> None:
    answer = run("list", "--json")
    listed = json.loads(answer.out)
    assert tuple(listed) == choices.TOPICS
    assert {o["name"]: (o["formula"], o["source"]) for o in listed["orders"]} == {
        name: (order.formula, order.source) for name, order in sm.orders().items()
    }
    assert {b["name"]: b["wins"] for b in listed["bids"]} == {name: bid.wins for name, bid in sm.bids().items()}
    for kind, options in {"backfillings": Backfilling, "decide": Decide, "overrun": Overrun, "engines": Engine}.items():
        assert [each["name"] for each in listed[kind]] == list(get_args(options))
    assert [h["name"] for h in listed["heuristics"]] == [*FIVE, "FirstFit", *QUEUES]
    assert {*get_args(Heuristic)} <= {h["name"] for h in listed["heuristics"]}
    assert [r["name"] for r in listed["routers"]] == [*get_args(RouterName), "Auction"]
    assert [f["name"] for f in listed["filters"]] == list(wl.FILTERS)
    for kind, about in {"heuristics": HEURISTICS, "routers": ROUTERS, "studies": dict(studies())}.items():
        assert about.items() <= {(each["name"], each["about"]) for each in listed[kind]}


# -- simulate ---------------------------------------------------------------------------------------


def test_simulate_prints_the_metrics_of_the_schedule(run: Run, trace: sm.Workload) -> None:
    metrics = sm.simulate(trace, order="SAF").metrics()
    answer = run("simulate", "--workload", "log.swf", "--order", "SAF")
    assert answer.status == 0
    assert answer.out.splitlines()[0] == "log, 32 cores, SAF, easy backfilling"
    assert number(metrics["mean_bounded_slowdown"]) in answer.out
    assert number(metrics["makespan_s"] / sm.HOUR) in answer.out
    assert answer.err == "log: 150 jobs for 32 cores\n"


@pytest.mark.parametrize(
    ("threshold", "warning"),
    [
        ("40", "--threshold 40 is 40 s; write 40h for hours, or 40s to mean seconds\n"),
        ("90.5", "--threshold 90.5 is 1.51 min; write 90.5h for hours, or 90.5s to mean seconds\n"),
        *(("40s", ""), ("40h", ""), ("1d12h", ""), ("144000", ""), ("0", "")),
    ],
)
def test_a_threshold_without_a_unit_that_is_short_is_warned_of(
    threshold: str, warning: str, run: Run, trace: sm.Workload
) -> None:
    answer = run("simulate", "--workload", "log.swf", "--threshold", threshold)
    assert answer.status == 0
    assert answer.err == f"{warning}log: 150 jobs for 32 cores\n"
    assert run("simulate", "--workload", "log.swf", "--threshold", threshold, "-q").err == warning


def test_a_size_that_the_log_itself_exceeds_is_doubted(run: Run, trace: sm.Workload) -> None:
    wl.write_swf(sm.simulate(trace), "lived.swf")
    answer = run("simulate", "--workload", "lived.swf", "--cores", "16", "--drop-oversized")
    assert answer.status == 0
    assert "more cores in use than the 16 of the machine, up to 32: is the number of cores right?" in answer.err
    assert "is the number of cores right?" not in run("simulate", "--workload", "lived.swf").err


@pytest.mark.parametrize("name", ["log.csv", "log.swf"])
def test_jobs_without_a_limit_are_doubted_and_their_runtimes_decide_nothing(
    name: str, run: Run, trace: sm.Workload
) -> None:
    """As on LLNL-Thunder, where 68 % of the jobs have none."""
    none = np.arange(len(trace)) % 25 < 17
    trace.to_frame().assign(estimate_s=np.where(none, np.nan, trace.estimate_s)).to_csv("log.csv", index=False)
    known = replace(trace, estimate_s=np.where(none, trace.estimate_s[~none].max(), trace.estimate_s))
    wl.write_swf(replace(known, extras={"requested_s": np.where(none, -1.0, trace.estimate_s)}), "log.swf")
    alone = run("simulate", "-w", name, "--cores", 32, "--order", "SAF", "--json")
    among = run("compare", "-w", name, "--cores", 32, "--orders", "FCFS,SAF", "--json")
    wanted = sm.simulate(known, order="SAF").metrics()["mean_wait_s"]
    for answer, found in ((alone, json.loads(alone.out)), (among, json.loads(among.out)["cells"][1])):
        assert "68 % of the jobs have no limit; the longest limit of their partition" in answer.err
        assert found["metrics"]["mean_wait_s"] == wanted


def test_json_has_null_for_what_has_no_value(run: Run) -> None:
    Path("brief.swf").write_text("1 0 -1 0 2\n2 0 -1 0 2\n")
    found = json.loads(run("simulate", "-w", "brief.swf", "--cores", 2, "--json").out)["metrics"]
    names = ("mean_slowdown", "utilisation", "jobs_without_slowdown")
    assert [found[name] for name in names] == [None, None, 2]


def test_every_option_reaches_the_simulation(run: Run, trace: sm.Workload) -> None:
    options = {
        "backfill_order": "SJBF",
        "threshold_s": 7200.0,
        "decide": "event",
        "overrun": "kill",
        "queue_depth": 20,
        "warm_jobs": 7,
        "max_starts": 3,
        "max_backfills": 2,
        "engine": "simpy",
        "seed": 4,
    }
    words = [f"--{name.removesuffix('_s').replace('_', '-')}={value}" for name, value in options.items()]
    words[1] = "--threshold=2h"
    words += ["--cores=40", "--tau=60", "--validate", "--jobs-out=jobs.parquet", "--json"]
    answer = run("simulate", "-w", "log.swf", "-o", "RANDOM", *words)
    assert answer.status == 0
    jobs = pd.read_parquet("jobs.parquet")
    assert jobs.attrs["cores"] == 40
    assert jobs.attrs["about"] == {"order": "RANDOM", "backfilling": "easy", "left_out": 0, **options}
    schedule = sm.simulate(trace, cores=40, order="RANDOM", **options)
    assert np.array_equal(jobs["start_s"], schedule.start_s)
    assert (~jobs["counted"]).sum() == 7
    reported = json.loads(answer.out)
    assert reported["metrics"] == schedule.metrics(tau_s=60.0)
    assert (reported["order"], reported["workload"]["cores"], reported["setup"]["tau_s"]) == ("RANDOM", 40, 60.0)


def test_jobs_are_written_in_the_format_of_the_name(run: Run, trace: sm.Workload) -> None:
    starts = sm.simulate(trace, order="SPF").start_s
    for name in ("jobs.csv", "jobs.parquet", "jobs.swf", "jobs.swf.gz", "jobs.swf.xz"):
        answer = run("simulate", "-w", "log.swf", "-o", "SPF", "--jobs-out", name)
        assert (answer.status, answer.err.splitlines()[-1]) == (0, f"wrote {name}")
        if ".swf" in name:
            log = wl.read_swf(name)
            found = log.submit_s + log.extras["wait_s"]
        else:
            found = (pd.read_csv if name.endswith(".csv") else pd.read_parquet)(name)["start_s"].to_numpy()
        assert np.array_equal(found, starts)


def test_batsims_table_and_figures_are_written(run: Run, trace: sm.Workload) -> None:
    words = ("--batsim-out", "b.csv", "--gantt", "g.png", "--figure", "f.svg", "--draw-from", "1h", "--draw-to", "2d")
    assert run("simulate", "-w", "log.swf", *words).status == 0
    assert list(pd.read_csv("b.csv")) == list(wl.batsim_jobs(sm.simulate(trace)))
    assert Path("g.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in Path("f.svg").read_text("utf-8")


def test_a_batsim_workload_is_read(run: Run, tmp_path: Path) -> None:
    jobs = [{"id": "w0!1", "subtime": 0, "res": 2, "walltime": 100, "profile": "a"}]
    content = {"nb_res": 4, "jobs": jobs, "profiles": {"a": {"type": "parallel_homogeneous", "cpu": 50, "com": 0}}}
    (tmp_path / "w.json").write_text(json.dumps(content))
    answer = run("simulate", "-w", "w.json")
    assert answer.status == 2
    assert "give flops_per_s" in answer.err
    assert json.loads(run("simulate", "-w", "w.json", "--flops-per-s", 5, "--json").out)["metrics"]["makespan_s"] == 10


ODD = "1 0 -1 10 2", "2 5 -1 -1 2", "3 6 -1 10 9", "4 7 -1 10 0 -1 -1 -1 20", "5 7 -1 10 -1"
UNKNOWN, WIDE = "cores or runtime unknown", "wider than the machine"


@pytest.mark.parametrize(
    ("rows", "words", "jobs", "counted"),
    [
        (ODD[:4], ["--clean", "runnable"], 1, {"dropped: runtime": 1, "dropped: cores < 1": 1, "jobs without": 3}),
        ((*ODD[:2], ODD[4]), [], 1, {f"left out: {UNKNOWN}": 2}),
        (("1 0 -1 10 2", "7 5 -1 10 9", "8 5 -1 10 6"), ["--drop-oversized"], 1, {f"dropped: {WIDE}": 2}),
        (ODD[1:2], [], 0, {}),
        (ODD[2:3], ["--drop-oversized"], 0, {}),
    ],
)
def test_jobs_that_are_dropped_or_left_out_are_counted_and_one_must_remain(
    rows: Sequence[str], words: list[str], jobs: int, counted: dict[str, int], run: Run
) -> None:
    Path("odd.swf").write_text("; MaxProcs: 4\n" + "\n".join(rows) + "\n")
    answer = run("simulate", "-w", "odd.swf", *words, "--json", "--validate")
    if jobs == 0:
        assert (answer.status, "no job of odd.swf is left" in answer.err) == (2, True)
        return
    found = json.loads(answer.out)
    assert (answer.status, found["metrics"]["completed"]) == (0, jobs)
    for what, count in counted.items():
        assert re.search(rf"^  {what}.*: {count}$", answer.err, re.MULTILINE)
        assert any(name.startswith(what) and n == count for name, n in found["workload"]["counts"].items())


def test_a_job_wider_than_the_machine_is_refused_unless_it_may_be_dropped(run: Run) -> None:
    Path("wide.swf").write_text("1 0 -1 10 2\n7 5 -1 10 9\n8 5 -1 10 6\n")
    assert run("simulate", "-w", "wide.swf", "--cores", 4) == (2, "", (
        "error: job 7: needs 9 cores, and the machine has 4; --drop-oversized leaves such jobs out and counts them "
        "(1 more job of this input is refused too)\n"
    ))  # fmt: skip


# -- orders of one's own ----------------------------------------------------------------------------


def test_an_order_of_ones_own_is_loaded_from_its_file(run: Run, trace: sm.Workload, tmp_path: Path) -> None:
    Path("factors.py").write_text("FACTOR = 1.0\n")
    Path("area.py").write_text(
        "import simmodels as sm\nfrom factors import FACTOR\n\n"
        "@sm.order\ndef area(estimate, cores):\n    return FACTOR * estimate * cores\n\n"
        "def plain(estimate, cores):\n    return estimate * cores\n"
    )
    wanted = sm.simulate(trace, order="SAF").metrics()
    for name in ("area.py", "area.py:area", "area.py:plain", tmp_path / "area.py:area"):
        assert json.loads(run("simulate", "-w", "log.swf", "-o", name, "--json").out)["metrics"] == wanted
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize("file", ["mine.toml", "mine.JSON"])
def test_a_fitted_order_is_loaded_from_its_file(run: Run, trace: sm.Workload, file: str) -> None:
    sm.Polynomial([1.0], ["pq"], name="area").write(file)
    answer = json.loads(run("simulate", "-w", "log.swf", "-o", file, "--backfill-order", file, "--json").out)
    assert (answer["order"], answer["metrics"]) == ("area", sm.simulate(trace, order="SAF").metrics())
    compared = json.loads(run("compare", "-w", "log.swf", "--orders", f"SAF,{file}", "--json").out)
    first, second = (cell["metrics"]["mean_wait_s"] for cell in compared["cells"])
    assert first == second


def test_an_order_that_fails_is_reported_with_its_line_and_ends_with_status_1(run: Run, trace: sm.Workload) -> None:
    Path("bad.py").write_text(
        "def raises(cores):\n    known = {'a': [1, 'b']}\n    return known['c']\n\n"
        "def nan(cores):\n    return float('nan')\n"
    )
    answer = run("simulate", "-w", "log.swf", "-o", "bad.py:raises", "--jobs-out", "jobs.csv", "--json")
    found = json.loads(answer.out)
    assert (answer.status, found["files"], Path("jobs.csv").exists()) == (1, [], False)
    assert found["error"] == "bad.py, line 3: KeyError: 'c' (raised by order 'raises' for job 1)"
    answer = run("simulate", "-w", "log.swf", "-o", "bad.py:nan")
    assert (answer.status, answer.out) == (1, "")
    assert "error: order 'nan' failed: order 'nan' gives no number (NaN) for job 1" in answer.err


# -- names from files -------------------------------------------------------------------------------

EVIL = "\x1b[31m[red]r\x07[/]\u202e$\\frac$:smile:"
"""It would colour a terminal, be markup for rich, a formula for matplotlib, and read backwards."""
ESCAPED = "\\x1b[31m[red]r\\x07[/]\\u202e$\\frac$:smile:"


def no_control(text: str) -> bool:
    return all(each.isprintable() or each == "\n" for each in text)


def test_a_name_of_a_file_is_escaped_wherever_it_is_shown(run: Run, trace: sm.Workload, tmp_path: Path) -> None:
    fit = {"name": EVIL, "terms": ["pq"], "theta": [1.0]}
    (tmp_path / "evil.json").write_text(json.dumps(fit))
    wl.write_swf(trace, tmp_path / f"{EVIL.replace('/', '')}.swf")
    (log,) = tmp_path.glob("*frac*.swf")
    answer = run("simulate", "-w", log, "-o", "evil.json", "--gantt", "a.svg", "--figure", "b.svg")
    assert answer.status == 0
    assert no_control(answer.out + answer.err)
    assert ESCAPED in answer.out
    answer = run("compare", "-w", log, "--orders", "FCFS,evil.json", "--out", "out")
    assert (answer.status, no_control(answer.out + answer.err)) == (0, True)
    assert ESCAPED in answer.out
    for path in ("a.svg", "b.svg", "out/wait_s.svg"):
        text = Path(path).read_text("utf-8")
        assert no_control(text), path
        assert r"\x1b[31m" in text, "as a comment beside the outlines"
    answer = run("simulate", "-w", f"{EVIL}.swf")
    assert (answer.status, answer.err) == (2, f"error: {ESCAPED}.swf: cannot be read: no such file or directory\n")
