"""The command line on workflows: what it runs is what Python runs, what it writes can be read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.figures import save
from experiments.gantt import gantt
from experiments.graph_drawing import graph_by_rank
from experiments.inputs import named_priority
from experiments.workflow_inputs import parse_clusters, parse_curve
from tests.command_line import Run


@pytest.fixture
def run(run: Run) -> Run:
    """Run the command line where there are three workflows in ``flows``."""
    Path("flows").mkdir()
    for number, job in enumerate(wl.market_workload(3, seed=4)):
        wl.write_wfformat(job, f"flows/job{number}.json")
    return run


PLATFORM = ("--workflows", "flows", "--clusters", "2x128:Kind1,1x256:Kind2")


def test_it_runs_what_python_runs(run: Run, tmp_path: Path) -> None:
    rules = ("--bid", "PVDSQ", "--tick", "1min", "--ccr", 0.4, "--curve", "2:6", "--network", "kind", "--validate")
    files = ("--jobs-out", "jobs.parquet", "--tasks-out", "tasks.csv")
    status, out, _ = run("simulate", *PLATFORM, *rules, "--load", 1.2, "--jobs", 8, "--seed", 3, *files, "--json")
    assert status == 0
    flows = wl.read_workflows(tmp_path / "flows", tick_s=60.0, curve=sm.ValueCurve.linear(2, 6))
    jobs = wl.arrivals(flows, 8, load=1.2, cores=512, seed=3, tick_s=60.0)
    clusters = [("Kind1-1", 128, "Kind1"), ("Kind1-2", 128, "Kind1"), ("Kind2-1", 256, "Kind2")]
    wanted = sm.simulate_workflows(jobs, clusters=clusters, bid="PVDSQ", tick_s=60.0, ccr=0.4, network="kind", seed=3)
    assert json.loads(out)["metrics"] == wanted.metrics()
    read = pd.read_parquet("jobs.parquet")
    np.testing.assert_array_equal(read["finish_s"], wanted.finish_s)
    tasks = pd.read_csv("tasks.csv")
    np.testing.assert_array_equal(tasks["start_s"], wanted.start_s)
    assert tasks["cluster"].tolist() == wanted.tasks["cluster"].tolist()


def test_without_a_rate_each_workflow_is_submitted_once_as_the_file_says(run: Run, tmp_path: Path) -> None:
    status, out, err = run("simulate", *PLATFORM, "--bid", "srtf", "--json")
    assert status == 0
    assert "3 workflows of" in err
    clusters = parse_clusters(PLATFORM[3])
    wanted = sm.simulate_workflows(wl.read_workflows(tmp_path / "flows"), clusters=clusters, bid="SRTF")
    assert json.loads(out)["metrics"] == wanted.metrics()


def test_its_table_and_its_figures_are_there(run: Run, tmp_path: Path) -> None:
    files = ("--gantt", "g.png", "--graph", "graph.svg", "--graph-job", 2, "--draw-from", "1h")
    status, out, err = run("simulate", *PLATFORM, "--gap", "10min", *files)
    assert status == 0
    assert "value (% of the most)" in out
    assert "SLR of those finished" in out
    assert "wrote graph.svg" in err
    assert (tmp_path / "g.png").read_bytes()[1:4] == b"PNG"


def test_a_bid_of_ones_own_is_taken_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def per_core(value, cores):\n    return value / cores\n", "utf-8")
    status, out, _ = run("simulate", *PLATFORM, "--bid", "mine.py:per_core", "--json")
    assert status == 0
    assert json.loads(out)["rules"]["bid"] == "per_core"
    (tmp_path / "bad.py").write_text(
        "TABLE = {'a': 1.0}\n\ndef nothing(value):\n    return (value - value) / (value - value)\n\n"
        "def raises(cores):\n    return TABLE[str(cores)]\n",
        "utf-8",
    )
    status, _, err = run("simulate", *PLATFORM, "--bid", "bad.py:nothing")
    assert status == 1
    assert "bid 'nothing' gives no number (NaN) for task" in err
    status, _, err = run("simulate", *PLATFORM, "--bid", "bad.py:raises")
    assert status == 1
    assert "bid 'raises' failed: bad.py, line 7: KeyError: " in err
    assert "(raised by bid 'raises' for task" in err


WRONG = {
    "--workflows flows --cores 9": "--cores has no effect without --workload; add --workload FILE, or choose where",
    "--workflows none": "the folder cannot be read",
    "--workflows flows": "needs",  # more cores than the default cluster has, or a kind
    "--workflows flows --clusters 2y8": "clusters must be HOW-MANYxCORES:KIND, such as 3x1000:Kind1 (got '2y8')",
    "--workflows flows --bid PVQ": "unknown bid 'PVQ'; did you mean PV",
    "--workflows flows --bid none.py": "no bid can be read from none.py",
    "--workflows flows --budgets --bid SRTF": "budgets with bid 'SRTF'",
    "--workflows flows --ccr -1": "ccr",
    "--workflows flows --curve 8:3": "curve must be two SLRs, the second not less than the first, such as 3:8",
    "--workflows flows --curve 3": "curve must be two SLRs, the second not less than the first, such as 3:8 (got '3')",
    "--workflows flows --jobs 4": "--jobs needs a rate of submission; add --load or --gap",
    "--workflows flows --load 1 --gap 5": "--load and --gap exclude each other; omit one of them",
    "--workflows flows --clusters 128:Kind1,128:Kind2 --load 0": "load must be a finite number > 0 (got 0.0)",
    "--workflows flows --tick 0": "--tick must be a finite number of seconds > 0 (got 0.0)",
    "--workflows flows --jobs-out j.swf": "the table's name must be one that ends in .csv, .parquet (got 'j.swf')",
    "--workflows flows --clusters 128:Kind1,128:Kind2 --graph g.png --graph-job 7": (
        "--graph-job must be a workflow from 0 to 2 (got 7)"
    ),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_request_is_reported_in_one_line(run: Run, words: str) -> None:
    status, out, err = run("simulate", *words.split())
    assert (status, out) == (2, "")
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert WRONG[words] in errors[0]


def test_clusters_and_curves_are_read() -> None:
    clusters = parse_clusters("2x16:a, 8 ,1x4:a,4")
    assert tuple(place[:3] for place in clusters) == (
        ("a-1", 16, "a"),
        ("a-2", 16, "a"),
        ("cluster-1", 8, None),
        ("a-3", 4, "a"),
        ("cluster-2", 4, None),
    )
    assert parse_curve("2.5:6").points == ((2.5, 1.0), (6.0, 0.0))
    for text in ("", "x", "2x", "1x0:a", "1x8:a:b", "99999x1"):
        with pytest.raises(sm.RequestError, match="HOW-MANYxCORES"):
            parse_clusters(text)


def test_the_gantt_chart_has_a_panel_a_cluster_and_a_rectangle_a_task(tmp_path: Path) -> None:
    jobs = wl.market_workload(6, seed=2)
    clusters = [("one", 128, "Kind1"), ("two", 128, "Kind2"), ("idle", 8, "Kind3")]
    schedule = sm.simulate_workflows(jobs, clusters=clusters, bid="SRTF", tick_s=60.0)
    figure = gantt(schedule)
    assert [axes.get_ylabel() for axes in figure.axes] == ["one\nKind1", "two\nKind2", "idle\nKind3"]
    tasks = schedule.tasks
    for axes, name in zip(figure.axes, ("one", "two", "idle"), strict=True):
        drawn = [path for shapes in axes.collections for path in shapes.get_paths()]
        area = sum(float(np.ptp(path.vertices[:, 0]) * np.ptp(path.vertices[:, 1])) for path in drawn)
        of_cluster = tasks[tasks["cluster"] == name]
        work_s = float((of_cluster["runtime_s"] * of_cluster["cores"]).sum())
        unit_s = 86_400.0 if "(d)" in figure.axes[-1].get_xlabel() else 3_600.0
        assert area * unit_s == pytest.approx(work_s)
    save(figure, tmp_path / "a.svg")
    save(gantt(schedule), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(sm.RequestError, match=r"the window from .* is empty; choose start_s < end_s"):
        gantt(schedule, start_s=5.0, end_s=5.0)
    with pytest.raises(sm.RequestError, match="the schedule has no job to draw"):
        gantt(sm.simulate_workflows([], clusters=clusters))


def test_a_graph_is_drawn_by_rank_and_its_critical_path_is_bold() -> None:
    # Data of task 0 travel to task 1, of another kind: that way is the longest, though task 2 runs longer.
    job = sm.Workflow(1, 0.0, [10.0, 5.0, 6.0, 1.0], 1, [(0, 1), (0, 2), (1, 3), (2, 3)], ("a", "b", "a", "a"))
    axes = graph_by_rank(job, ccr=0.5).axes[0]
    rank_s = job.upward_rank_s(0.5)
    x = axes.collections[2].get_offsets()[:, 0]
    np.testing.assert_allclose(x, rank_s)
    thin, bold = (axes.collections[number].get_segments() for number in (0, 1))
    assert sorted((float(a[0]), float(b[0])) for a, _, b in bold) == [(rank_s[1], rank_s[3]), (rank_s[0], rank_s[1])]
    assert len(thin) == 2
    low, high = axes.get_xlim()
    assert low > high, "the end of the job is at the right"
    assert len(graph_by_rank(sm.Workflow(1, 0.0, [5.0])).axes) == 1


def test_an_order_or_the_file_of_a_polynomial_is_named_where_a_bid_is(tmp_path: Path) -> None:
    sm.Polynomial([1.0], ["pq"], name="area").write(tmp_path / "fit.toml")
    assert named_priority("saf", "bid") is sm.orders()["SAF"]
    assert named_priority(str(tmp_path / "fit.toml"), "bid").name == "area"
