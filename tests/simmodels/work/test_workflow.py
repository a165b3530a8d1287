import pickle
from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import ImpossibleJobError, RequestError, SimModelsError
from simmodels.work import graph
from simmodels.work.workflow import FOREVER, Task, ValueCurve, Workflow
from tests.naive_market import NaiveAuction
from tests.refused import refused

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]


def diamond(**about: object) -> Workflow:
    return Workflow(7, 10, [10, 20, 5, 30], [2, 1, 4, 3], DIAMOND, ("A", "A", "B", "A"), **about)


def test_a_diamond_by_hand() -> None:
    assert diamond().upward_rank_s().tolist() == [60, 50, 36, 30]
    assert diamond().upward_rank_s(ccr=0).tolist() == [60, 50, 35, 30]
    assert diamond().delay_s().tolist() == [2, 4, 1, 6]
    assert diamond().delay_s(0.25, tick_s=10).tolist() == [10, 10, 10, 10], "whole ticks"
    assert diamond().successor_sum_core_s().tolist() == [240, 110, 110, 90]
    assert diamond().volume_core_s == diamond().most_value == 150
    assert diamond(max_value=3).most_value == 3
    assert diamond(task_names=("a", "b", "b", "c")).graph.nodes.keys() == {0, 1, 2, 3}, "names that are no names"
    one_kind = Workflow(1, 0, [1, 2], 3, kind="A")
    assert one_kind.tasks == (Task(1, 3, "A"), Task(2, 3, "A"))
    assert one_kind.curve is FOREVER
    with pytest.raises(RequestError, match=r"ccr must be a finite number >= 0 \(got -1\)"):
        diamond().delay_s(-1)


def test_columns_cannot_be_changed_and_come_back_from_a_pickle() -> None:
    job = diamond(task_names=("a", "b", "c", "d"), curve=ValueCurve.linear(2, 4))
    again = pickle.loads(pickle.dumps(job))
    for each in (job, again):
        with pytest.raises(ValueError, match="read-only"):
            each.runtime_s[0] = 1
    assert again.edges.tolist() == job.edges.tolist()
    assert (again.tasks, again.curve) == (job.tasks, job.curve)


def test_a_graph_goes_in_and_comes_out() -> None:
    drawn = nx.DiGraph([("late", "last"), ("first", "late")])
    for node, runtime in (("late", 2), ("last", 3), ("first", 1)):
        drawn.nodes[node].update(runtime_s=runtime, kind="A", cores=runtime)
    job = Workflow.from_graph(drawn, job_id=3, submit_s=1)
    assert job.task_names == ("late", "last", "first")
    assert job.edges.tolist() == [[0, 1], [2, 0]]
    assert job.upward_rank_s().tolist() == [5, 3, 6]
    assert nx.utils.graphs_equal(nx.DiGraph(job.to_graph().edges), nx.DiGraph(drawn.edges))
    first = {"runtime_s": 1.0, "cores": 1, "kind": "A", "rank_s": 6.0, "level": 0, "on_critical_path": True}
    assert dict(job.to_graph().nodes["first"]) == first


def test_what_the_arguments_leave_open_is_taken_from_the_graph() -> None:
    drawn = nx.DiGraph(job_id=3, submit_s=5, name="mine")
    drawn.add_node(0, runtime_s=np.float32(2), cores=np.int64(4), colour="red")
    job = Workflow.from_graph(drawn)
    assert (job.job_id, job.submit_s, job.name, job.task_names) == (3, 5.0, "mine", ())
    assert job.tasks == (Task(2.0, 4),)
    given = {"job_id": 8, "submit_s": 0.0, "name": "yours", "curve": ValueCurve.linear(2, 4)}
    job = Workflow.from_graph(drawn, kind="A", **given)
    assert {name: getattr(job, name) for name in given} == given
    assert job.kind == ("A",)
    bare = nx.DiGraph()
    bare.add_node(1, runtime_s=2)
    assert (Workflow.from_graph(bare).job_id, Workflow.from_graph(bare).task_names) == (1, ("1",))


def test_a_graph_shows_ranks_levels_delays_and_the_critical_path() -> None:
    drawn = diamond(task_names=("a", "b", "c", "d"), name="diamond").graph
    assert drawn.graph == {"job_id": 7, "submit_s": 10.0, "name": "diamond", "critical_path_s": 60.0}
    assert dict(drawn.nodes(data="rank_s")) == {"a": 60, "b": 50, "c": 36, "d": 30}
    assert [edge[:2] for edge in drawn.edges(data="on_critical_path") if edge[2]] == [("a", "b"), ("b", "d")]
    assert diamond().to_graph(ccr=0.5, tick_s=10).edges[0, 2]["delay_s"] == 10


@st.composite
def workflows(draw: st.DrawFn, kinds: tuple[str | None, ...] = ("A", "B")) -> Workflow:
    tasks = draw(st.integers(1, 8))
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    turn = draw(st.permutations(range(tasks)))
    return Workflow(
        1,
        0,
        draw(st.lists(st.integers(1, 30), min_size=tasks, max_size=tasks)),
        draw(st.lists(st.integers(1, 4), min_size=tasks, max_size=tasks)),
        [(turn[a], turn[b]) for a, b in edges],
        tuple(draw(st.lists(st.sampled_from(kinds), min_size=tasks, max_size=tasks))),
    )


ANY_KINDS = ("A", "B", None)
NAMES = st.lists(st.text(max_size=3), min_size=8, max_size=8, unique=True)


@given(workflows(ANY_KINDS), st.none() | NAMES, st.integers(-5, 5), st.text(max_size=3))
def test_a_workflow_is_the_same_again_from_its_graph(
    job: Workflow, names: list[str] | None, submit_s: int, name: str
) -> None:
    job = replace(job, job_id=4, submit_s=submit_s, name=name, task_names=tuple(names or ())[: len(job)])
    again = Workflow.from_graph(job.graph)
    for column in ("runtime_s", "cores", "first", "successor"):
        np.testing.assert_array_equal(getattr(again, column), getattr(job, column))
    for each in ("job_id", "submit_s", "name", "kind", "task_names"):
        assert getattr(again, each) == getattr(job, each)


def weighted(job: Workflow, ccr: float) -> nx.DiGraph:
    """Return the job as a graph whose ways, up to a node "end", are as long as they take."""
    drawn = nx.DiGraph()
    for task in range(len(job)):
        drawn.add_edge(task, "end", weight=job.runtime_s[task])
    for a, b in job.edges.tolist():
        apart = None not in {job.kind[a], job.kind[b]} and job.kind[a] != job.kind[b]
        drawn.add_edge(a, b, weight=job.runtime_s[a] + (np.ceil(ccr * job.runtime_s[a]) if apart else 0))
    return drawn


@given(workflows(ANY_KINDS), st.sampled_from([0.0, 0.2, 1.0, 3.0]))
def test_ranks_and_the_critical_path_are_those_of_networkx(job: Workflow, ccr: float) -> None:
    drawn = weighted(job, ccr)
    rank_s = job.upward_rank_s(ccr)
    for task in range(len(job)):
        after = drawn.subgraph({task} | nx.descendants(drawn, task))
        assert rank_s[task] == nx.dag_longest_path_length(after)
    longest_s = nx.dag_longest_path_length(drawn)
    assert job.critical_path_s(ccr) == longest_s
    ways = [way[:-1] for task in range(len(job)) for way in nx.all_simple_paths(drawn, task, "end")]
    longest = [tuple(way) for way in ways if nx.path_weight(drawn, [*way, "end"], "weight") == longest_s]
    assert job.critical_path(ccr) == min(longest)
    shown = job.to_graph(ccr)
    on = [task for task in shown if shown.nodes[task]["on_critical_path"]]
    assert on == sorted(job.critical_path(ccr))
    for a, b, delay_s in shown.edges(data="delay_s"):
        assert delay_s == drawn.edges[a, b]["weight"] - job.runtime_s[a]


@given(workflows())
def test_orders_levels_and_successor_sums_are_those_of_networkx(job: Workflow) -> None:
    drawn = nx.DiGraph(job.edges.tolist())
    drawn.add_nodes_from(range(len(job)))
    place = np.argsort(graph.topological(job.first, job.successor))
    assert all(place[a] < place[b] for a, b in drawn.edges)
    assert {task: drawn.in_degree(task) for task in drawn} == dict(
        enumerate(graph.in_degrees(job.first, job.successor))
    )
    volume = job.runtime_s * job.cores
    for task in range(len(job)):
        level = nx.dag_longest_path_length(drawn.subgraph({task} | nx.ancestors(drawn, task)))
        assert job.graph.nodes[task]["level"] == level
        after = sorted(nx.descendants(drawn, task))
        assert job.successor_sum_core_s(unique=True)[task] == volume[task] + volume[after].sum()
        ways = [len(list(nx.all_simple_paths(drawn, task, other))) for other in after]
        assert job.successor_sum_core_s()[task] == volume[task] + volume[after] @ np.array(ways, np.float64)


@given(workflows())
def test_ranks_and_sums_are_those_of_the_formulas_in_any_order_of_tasks(job: Workflow) -> None:
    for unique, name in ((False, "recursive"), (True, "unique")):
        naive = NaiveAuction([job], [(4, "A"), (4, "B")], "FIFO", successor_sum=name).tasks[0]
        assert job.upward_rank_s().tolist() == [task.rank for task in naive]
        assert job.successor_sum_core_s(unique=unique).tolist() == [task.follows for task in naive]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Workflow(7, 0, [1, 0]), "runtime_s of task 1 must be a finite number of seconds > 0 (got 0.0)"),
        (lambda: Workflow(7, 0, []), "the shape of runtime_s must be (tasks,), with at least 1 task (got (0,))"),
        (lambda: Workflow(7, 0, [1, 2], [1, 0]), "cores of task 1 must be an integer from 1 to 2**53 (got 0.0)"),
        (lambda: Workflow(7, 0, [1, 2], [1]), "cores has 1 entries, and runtime_s 2"),
        (lambda: Workflow(7, 0, [1, 2], kind=("A",)), "kind has 1 entries"),
        (lambda: Workflow(7, 0, [1, 2], 1, [(0, 2)]), "edge (0, 2): its tasks are numbered 0 to 1"),
        (lambda: Workflow(7, 0, [1, 2], 1, [(0, 1), (0, 1)]), "edge 0 -> 1 is there twice"),
        (lambda: Workflow(7, 0, [1, 2], 1, [(0, 0)]), "its tasks wait for each other: 0 -> 0"),
        (lambda: Workflow(7, 0, [1] * 3, 1, [(1, 2), (2, 1)]), "its tasks wait for each other: 1 -> 2 -> 1"),
        (lambda: Workflow(7, 1e16, [1]), "submit_s must be between -2**53 and 2**53 s"),
        (lambda: Workflow(7, 0, [9, 2**53]), "submit_s + all runtime_s must be between -2**53 and 2**53 s"),
        (lambda: Workflow(7, 0, [1], max_value=-1), "max_value must be a finite number > 0 (got -1)"),
        (lambda: Workflow(7, 0, [1], max_value=10**400), "max_value must be a finite number > 0 (got 1000..."),
        (lambda: Workflow(7, 10**400, [1]), "submit_s must be a finite number of seconds (got 1000..."),
        (lambda: Workflow(7, 10**30, [1]), "submit_s must be between -2**53 and 2**53 s"),
    ],
)
def test_a_job_that_cannot_be_is_refused_by_job_and_task(make: Callable[[], Workflow], text: str) -> None:
    with refused(f"job 7: {text}...", ImpossibleJobError):
        make()


def task(node: object = "a", **about: object) -> nx.DiGraph:
    drawn = nx.DiGraph(job_id=7)
    drawn.add_node(node, **{"runtime_s": 1, **about})
    return drawn


def tasks(*nodes: object, edges: list[tuple[object, object]]) -> nx.DiGraph:
    drawn = nx.compose_all([task(node) for node in nodes])
    drawn.add_edges_from(edges)
    return drawn


@pytest.mark.parametrize(
    ("drawn", "text"),
    [
        (nx.DiGraph([("a", "b")], job_id=7), "job 7: task a has no runtime_s"),
        (task(runtime_s="1"), "job 7: runtime_s of task a must be a number (got '1')"),
        (task(runtime_s=True), "job 7: runtime_s of task a must be a number (got True)"),
        (task(runtime_s=10**400), "job 7: runtime_s of task a must be a finite number of seconds > 0 (got inf)"),
        (task(cores=1 + 1j), "job 7: cores of task a must be a number (got (1+1j))"),
        (task(cores=1.5), "job 7: cores of task a must be an integer from 1 to 2**53 (got 1.5)"),
        (task(kind=3), "job 7: kind of task a must be a text or None (got 3)"),
        (tasks(1, "1", edges=[]), "job 7: nodes 1 and '1' have the same name as text; names of tasks must differ"),
        (tasks("a", edges=[("a", "a")]), "job 7: its tasks wait for each other: a -> a"),
        (nx.Graph(), "the graph of a workflow must be a networkx.DiGraph (got a Graph)"),
        (nx.MultiDiGraph(), "the graph of a workflow must be a networkx.DiGraph (got a MultiDiGraph)"),
        ([("a", "b")], "the graph of a workflow must be a networkx.DiGraph (got [('a', 'b')])"),
        (nx.DiGraph(), "the graph of a workflow must have at least one node (got none)"),
        (nx.DiGraph({0: []}, job_id="7"), "job_id must be an integer (got '7')"),
        (nx.DiGraph({0: []}, job_id=np.timedelta64(7, "s")), "job_id must be an integer (got datetime.timedelta"),
        (task(runtime_s=np.timedelta64(5, "s")), "job 7: runtime_s of task a must be a number (got datetime.timedelta"),
        (nx.DiGraph({0: []}, submit_s=None), "submit_s must be a number of seconds (got None)"),
    ],
)
def test_a_graph_that_is_none_of_a_workflow_is_refused_by_job_and_task(drawn: nx.DiGraph, text: str) -> None:
    with refused(f"{text}...", SimModelsError):
        Workflow.from_graph(drawn)


@pytest.mark.parametrize(
    ("largest", "text"),
    [
        ({"A": 8}, "task c is of kind 'B', and no cluster is; there are A"),
        ({"A": 8, "B": 3}, "task c needs 4 cores, and the largest cluster of kind 'B' has 3"),
        ({None: 3}, "task c needs 4 cores, and the largest cluster of kind 'B' has 3"),
    ],
)
def test_a_task_that_fits_nowhere_is_named(largest: dict, text: str) -> None:
    with refused(f"...{text}...", ImpossibleJobError):
        diamond(task_names=("a", "b", "c", "d")).require_runnable(largest)
    diamond().require_runnable({None: 4})
