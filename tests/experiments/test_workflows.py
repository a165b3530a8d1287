"""The command line on workflows: what it runs is what Python runs, what it writes can be read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from experiments.gantt import gantt
from experiments.graph_drawing import graph_by_rank
from experiments.inputs import named_priority
from experiments.workflow_inputs import parse_clusters, parse_curve
from tests.command_line import Run
from tests.refused import says


@pytest.fixture
def run(run: Run) -> Run:
    """Run the command line where there are three workflows in ``flows``."""
    Path("flows").mkdir()
    for number, job in enumerate(wl.market_workload(3, seed=4)):
        wl.write_wfformat(job, f"flows/job{number}.json")
    return run


PLATFORM = ("--workflows", "flows", "--clusters", "2x128:Kind1,1x256:Kind2")


def test_it_runs_what_python_runs(run: Run) -> None:
    rules = ("--bid", "PVDSQ", "--tick", "1min", "--ccr", 0.4, "--curve", "2:6", "--network", "kind", "--validate")
    files = ("--jobs-out", "jobs.parquet", "--tasks-out", "tasks.csv")
    status, out, _ = run("simulate", *PLATFORM, *rules, "--load", 1.2, "--jobs", 8, "--seed", 3, *files, "--json")
    assert status == 0
    flows = wl.read_workflows("flows", tick_s=60.0, curve=sm.ValueCurve.linear(2, 6))
    jobs = wl.arrivals(flows, 8, load=1.2, cores=512, seed=3, tick_s=60.0)
    clusters = [("Kind1-1", 128, "Kind1"), ("Kind1-2", 128, "Kind1"), ("Kind2-1", 256, "Kind2")]
    wanted = sm.simulate_workflows(jobs, clusters=clusters, bid="PVDSQ", tick_s=60.0, ccr=0.4, network="kind", seed=3)
    assert json.loads(out)["metrics"] == wanted.metrics()
    np.testing.assert_array_equal(pd.read_parquet("jobs.parquet")["finish_s"], wanted.finish_s)
    tasks = pd.read_csv("tasks.csv")
    np.testing.assert_array_equal(tasks["start_s"], wanted.start_s)
    assert tasks["cluster"].tolist() == wanted.tasks["cluster"].tolist()
    # Without a rate each workflow is submitted once, as the file says.
    files = ("--gantt", "g.png", "--graph", "graph.svg", "--graph-job", 2, "--draw-from", "1h")
    status, out, err = run("simulate", *PLATFORM, "--bid", "srtf", *files, "--json")
    assert (status, "3 workflows of" in err, "wrote graph.svg" in err) == (0, True, True)
    once = sm.simulate_workflows(wl.read_workflows("flows"), clusters=parse_clusters(PLATFORM[3]), bid="SRTF")
    assert json.loads(out)["metrics"] == once.metrics()
    assert Path("g.png").read_bytes()[1:4] == b"PNG"
    out = run("simulate", *PLATFORM, "--gap", "10min").out
    assert "value (% of the most)" in out
    assert "SLR of those finished" in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("per_core", ""),
        ("nothing", "bid 'nothing' gives no number (NaN) for task..."),
        ("raises", "bid 'raises' failed: mine.py, line 7: KeyError: ... (raised by bid 'raises' for task ..."),
    ],
)
def test_a_bid_of_ones_own_is_taken_from_a_file(name: str, said: str, run: Run) -> None:
    Path("mine.py").write_text(
        "TABLE = {'a': 1.0}\ndef per_core(value, cores):\n    return value / cores\n"
        "def nothing(value):\n    return (value - value) / (value - value)\n"
        "def raises(cores):\n    return TABLE[str(cores)]\n"
    )
    status, out, err = run("simulate", *PLATFORM, "--bid", f"mine.py:{name}", "--json")
    assert status == (1 if said else 0)
    assert says(err, f"...{said}...")
    assert said or json.loads(out)["rules"]["bid"] == name


def test_clusters_and_curves_are_read() -> None:
    clusters = [("a-1", 16, "a"), ("a-2", 16, "a"), ("cluster-1", 8, None), ("a-3", 4, "a"), ("cluster-2", 4, None)]
    assert [place[:3] for place in parse_clusters("2x16:a, 8 ,1x4:a,4")] == clusters
    assert parse_curve("2.5:6").points == ((2.5, 1.0), (6.0, 0.0))
    for text in ("", "x", "2x", "1x0:a", "1x8:a:b", "99999x1"):
        with pytest.raises(sm.RequestError, match="HOW-MANYxCORES"):
            parse_clusters(text)


def test_the_gantt_chart_has_a_panel_a_cluster_and_a_rectangle_a_task() -> None:
    clusters = [("one", 128, "Kind1"), ("two", 128, "Kind2"), ("idle", 8, "Kind3")]
    schedule = sm.simulate_workflows(wl.market_workload(6, seed=2), clusters=clusters, bid="SRTF", tick_s=60.0)
    figure = gantt(schedule)
    assert [axes.get_ylabel() for axes in figure.axes] == [f"{name}\n{kind}" for name, _, kind in clusters]
    unit_s = 86_400.0 if "(d)" in figure.axes[-1].get_xlabel() else 3_600.0
    for axes, (name, *_) in zip(figure.axes, clusters, strict=True):
        drawn = [path for shapes in axes.collections for path in shapes.get_paths()]
        area = sum(float(np.ptp(path.vertices[:, 0]) * np.ptp(path.vertices[:, 1])) for path in drawn)
        tasks = schedule.tasks[schedule.tasks["cluster"] == name]
        assert area * unit_s == pytest.approx(float((tasks["runtime_s"] * tasks["cores"]).sum()))
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
