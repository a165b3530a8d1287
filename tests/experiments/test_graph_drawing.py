"""Graphs as drawn: where tasks stand, what is bold, what the legend says, and what is refused."""

from itertools import pairwise
from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import simmodels as sm
import workloads as wl
from experiments.graph_drawing import draw_graph
from tests.model_scripts import queue_on, recorded
from tests.refused import refused

LAWS: dict[str, Any] = {"runtime_s": (10.0, 99.0), "cores": (1, 8)}


def parts(axes: Axes) -> tuple[Any, ...]:
    """Return the lines of edges, of the critical path, the circles, and the bars, if there are some."""
    return tuple(axes.collections)


def circles(axes: Axes) -> np.ndarray:
    return np.asarray(parts(axes)[2].get_offsets())


def legend(axes: Axes) -> list[str]:
    where = axes.get_legend() or axes.figure.legends[0]
    return [text.get_text() for text in where.get_texts()]


@pytest.fixture
def job() -> sm.Workflow:
    return sm.Workflow.from_graph(wl.layers(30, seed=1, **LAWS), job_id=4)


def test_tasks_of_a_level_stand_above_each_other_and_the_critical_path_is_bold(job: sm.Workflow) -> None:
    axes = draw_graph(job)
    at = circles(axes)
    assert at[:, 0].tolist() == [level for _, level in job.graph.nodes(data="level")]
    assert len(np.unique(at, axis=0)) == len(job)
    assert (axes.get_xlabel(), axes.get_title(loc="left")) == ("level", "layers: 30 tasks")
    thin, bold, tasks = parts(axes)
    path = job.critical_path()
    ways = {(tuple(way[0]), tuple(way[-1])) for way in bold.get_segments()}
    assert ways == {(tuple(at[a]), tuple(at[b])) for a, b in pairwise(path)}
    assert len(thin.get_segments()) + len(ways) == len(job.edges)
    ringed = np.flatnonzero((tasks.get_edgecolor()[:, :3] < 0.5).all(axis=1))
    assert ringed.tolist() == sorted(path)


def test_circles_are_as_large_as_their_cores_and_have_the_colour_of_their_kind() -> None:
    kernels = {"POTRF": "cpu", "TRSM": "cpu", "SYRK": None, "GEMM": "gpu"}
    drawn = wl.cholesky(3, cores={"POTRF": 1, "TRSM": 2, "SYRK": 2, "GEMM": 4}, kind=kernels)
    axes = draw_graph(drawn)
    tasks = parts(axes)[2]
    category = [name for _, name in drawn.nodes(data="category")]
    size = dict(zip(category, tasks.get_sizes(), strict=True))
    assert size["POTRF"] < size["TRSM"] == size["SYRK"] < size["GEMM"]
    colour = dict(zip(category, map(tuple, tasks.get_facecolor()), strict=True))
    assert colour["POTRF"] == colour["TRSM"]
    assert len({colour[name] for name in ("POTRF", "SYRK", "GEMM")}) == 3
    assert legend(axes) == ["cpu", "gpu", "any kind", "1 core", "4 cores", "critical path"]


@pytest.mark.parametrize("x", ["rank", "start"])
@pytest.mark.parametrize("seed", range(5))
def test_bars_are_as_long_as_tasks_run_and_none_covers_another(x: Literal["rank", "start"], seed: int) -> None:
    job = sm.Workflow.from_graph(wl.erdos_renyi_levels([4, 9, 2, 8], 0.3, seed=seed, **LAWS), job_id=4)
    drawn = sm.simulate_workflows([job], clusters=[("a", 12), ("b", 9)], bid="SRTF").graph(4)
    axes = draw_graph(drawn, x=x)
    bars = np.array(parts(axes)[3].get_segments())
    unit_s = 60.0 if "(min)" in axes.get_xlabel() else 1.0
    np.testing.assert_allclose(np.abs(np.diff(bars[:, :, 0], axis=1)[:, 0]) * unit_s, job.runtime_s)
    begin = [of["rank_s" if x == "rank" else "start_s"] for of in drawn.nodes.values()]
    np.testing.assert_allclose(circles(axes)[:, 0] * unit_s, begin)
    for lane in np.unique(bars[:, 0, 1]):
        spans = np.sort(bars[bars[:, 0, 1] == lane][:, :, 0], axis=1)
        spans = spans[np.argsort(spans[:, 0])]
        assert (spans[1:, 0] >= spans[:-1, 1] - 1e-9).all()
    low, high = axes.get_xlim()
    assert (low > high) == (x == "rank"), "time goes to the right"


def test_tasks_that_never_started_are_counted_in_the_title_and_pale_by_level(job: sm.Workflow) -> None:
    env, queue = queue_on(8)
    sm.Source(env, [job], into=queue)
    drawn = recorded(env, until=200, proved=False).graph(4)
    started = sum(start is not None for _, start in drawn.nodes(data="start_s"))
    axes = draw_graph(drawn)
    assert len(circles(axes)) == started
    assert axes.get_title(loc="left") == f"layers: 30 tasks, {30 - started} never started"
    assert np.array(parts(axes)[3].get_segments())[:, 1, 0].max() <= 200
    by_level = draw_graph(drawn, x="level")
    assert len(circles(by_level)) == 30
    assert "never started" in legend(by_level)


def test_few_tasks_bear_their_names_and_many_do_not() -> None:
    assert [len(draw_graph(wl.layers(tasks, seed=2)).texts) for tasks in (45, 46)] == [45, 0]
    alone = draw_graph(sm.Workflow(1, 0.0, [5.0], task_names=("a-very-long-name-of-a-task",)), x="rank")
    assert [text.get_text() for text in alone.texts] == ["\N{HORIZONTAL ELLIPSIS}ame-of-a-task"]
    assert legend(alone) == ["critical path"]


def test_many_clusters_share_the_last_colour() -> None:
    flow = sm.Workflow(1, 0.0, [5.0] * 9)
    drawn = sm.simulate_workflows([flow], clusters=[(f"c{number}", 1) for number in range(9)], bid="FIFO").graph(1)
    assert legend(draw_graph(drawn))[-2:] == ["2 others", "critical path"]


def test_it_draws_on_axes_that_it_is_given(job: sm.Workflow) -> None:
    left, right = Figure(layout="constrained").subplots(1, 2)
    assert draw_graph(job, ax=right) is right
    assert legend(right) == ["1 core", "8 cores", "critical path"]
    assert not left.collections


def test_what_cannot_be_drawn_is_refused(job: sm.Workflow) -> None:
    idle = sm.Schedule(sm.Workload.of_workflows([job]), 8, np.full(30, np.nan), np.full(30, np.nan)).graph(4)
    for drawn, options, text in (
        (job, {"x": "start"}, "starts and clusters need the results of a run; draw Schedule.graph(workflow)"),
        (job, {"colour": "cluster"}, "starts and clusters need the results of a run"),
        (job, {"x": "time"}, "'rank' or 'start', and 'kind' or 'cluster' (got ('time', 'kind'))"),
        (job, {"colour": "cores"}, "(got ('level', 'cores'))"),
        (idle, {}, "no task of the workflow has started; draw it with x='level'"),
        (nx.Graph(), {}, "the graph of a workflow must be a networkx.DiGraph (got a Graph)"),
    ):
        with refused(f"...{text}..."):
            draw_graph(drawn, **options)
