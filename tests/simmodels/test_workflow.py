import pickle
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.workflow import FOREVER, Task, ValueCurve, Workflow
from tests.naive_market import NaiveAuction

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]


def diamond(**about: object) -> Workflow:
    return Workflow(7, 10, [10, 20, 5, 30], [2, 1, 4, 3], DIAMOND, ("A", "A", "B", "A"), **about)


def test_ranks_count_the_delay_between_kinds_only() -> None:
    assert diamond().upward_rank_s().tolist() == [60, 50, 36, 30]
    assert diamond().critical_path_s() == 60
    assert diamond().upward_rank_s(ccr=0).tolist() == [60, 50, 35, 30]


def test_delays_are_whole_ticks() -> None:
    assert diamond().delay_s().tolist() == [2, 4, 1, 6]
    assert diamond().delay_s(0.25, tick_s=10).tolist() == [10, 10, 10, 10]


def test_a_shared_descendant_counts_once_a_path_or_once() -> None:
    assert diamond().volume_core_s == 150
    assert diamond().successor_sum_core_s().tolist() == [240, 110, 110, 90]
    assert diamond().successor_sum_core_s(unique=True).tolist() == [150, 110, 110, 90]


def test_it_is_worth_its_volume_unless_told() -> None:
    assert diamond().most_value == 150
    assert diamond(max_value=3).most_value == 3


def test_successors_stand_in_rows() -> None:
    assert diamond().first.tolist() == [0, 2, 3, 4, 4]
    assert diamond().successor.tolist() == [1, 2, 3, 3]


def test_columns_cannot_be_changed_and_come_back_from_a_pickle() -> None:
    job = diamond(task_names=("a", "b", "c", "d"), curve=ValueCurve.linear(2, 4))
    again = pickle.loads(pickle.dumps(job))
    for each in (job, again):
        with pytest.raises(ValueError, match="read-only"):
            each.runtime_s[0] = 1
    assert again.edges.tolist() == job.edges.tolist()
    assert (again.tasks, again.curve) == (job.tasks, job.curve)


def test_one_number_of_cores_and_one_kind_serve_all_tasks() -> None:
    job = Workflow(1, 0, [1, 2], 3, kind="A")
    assert job.tasks == (Task(1, 3, "A"), Task(2, 3, "A"))
    assert job.curve is FOREVER


def test_a_graph_goes_in_and_comes_out() -> None:
    drawn = nx.DiGraph([("late", "last"), ("first", "late")])
    for node, runtime in (("late", 2), ("last", 3), ("first", 1)):
        drawn.nodes[node].update(runtime_s=runtime, kind="A", cores=runtime)
    job = Workflow.from_graph(drawn, job_id=3, submit_s=1)
    assert job.task_names == ("late", "last", "first")
    assert job.edges.tolist() == [[0, 1], [2, 0]]
    assert job.upward_rank_s().tolist() == [5, 3, 6]
    assert nx.utils.graphs_equal(nx.DiGraph(job.to_graph().edges), nx.DiGraph(drawn.edges))
    assert dict(job.to_graph().nodes["first"]) == {"runtime_s": 1.0, "cores": 1, "kind": "A"}


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
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
        tuple(draw(st.lists(st.sampled_from(["A", "B"]), min_size=tasks, max_size=tasks))),
    )


@given(workflows())
def test_ranks_and_sums_are_those_of_the_formulas_in_any_order_of_tasks(job: Workflow) -> None:
    for unique, name in ((False, "recursive"), (True, "unique")):
        naive = NaiveAuction([job], [(4, "A"), (4, "B")], "FIFO", successor_sum=name).tasks[0]
        assert job.upward_rank_s().tolist() == [task.rank for task in naive]
        assert job.successor_sum_core_s(unique=unique).tolist() == [task.follows for task in naive]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Workflow(7, 0, [1, 0]), "job 7: task 1 runs for 0.0 s"),
        (lambda: Workflow(7, 0, [1, np.nan]), "job 7: task 1 runs for nan s"),
        (lambda: Workflow(7, 0, []), "job 7: runtime_s has shape (0,)"),
        (lambda: Workflow(7, 0, [1, 2], [1, 0]), "job 7: task 1 needs 0 cores"),
        (lambda: Workflow(7, 0, [1, 2], [1, 1.5]), "job 7: task 1 needs 1.5 cores"),
        (lambda: Workflow(7, 0, [1, 2], [1]), "job 7: cores has 1 entries, and runtime_s 2"),
        (lambda: Workflow(7, 0, [1, 2], kind=("A",)), "job 7: kind has 1 entries"),
        (lambda: Workflow(7, 0, [1, 2], 1, [(0, 2)]), "job 7: edge (0, 2): its tasks are numbered 0 to 1"),
        (lambda: Workflow(7, 0, [1, 2], 1, [(0, 1), (0, 1)]), "job 7: edge 0 -> 1 is there twice"),
        (lambda: Workflow(7, 0, [1, 2], 1, [(0, 0)]), "job 7: its tasks wait for each other: 0 -> 0"),
        (lambda: Workflow(7, 0, [1] * 3, 1, [(1, 2), (2, 1)]), "job 7: its tasks wait for each other: 1 -> 2 -> 1"),
        (lambda: Workflow(7, np.inf, [1]), "job 7: is submitted at inf s"),
        (lambda: Workflow(7, 1e16, [1]), "job 7: submit_s must be between -2**53 and 2**53 s"),
        (lambda: Workflow(7, 0, [9, 2**53]), "job 7: submit_s + all runtime_s must be between -2**53 and 2**53 s"),
        (lambda: Workflow(7, 0, [1], max_value=-1), "job 7: is worth -1"),
        (lambda: Workflow.from_graph(nx.DiGraph([("a", "b")]), job_id=7, submit_s=0), "job 7: task a has no runtime_s"),
    ],
)
def test_a_job_that_cannot_be_is_refused_by_job_and_task(make: Callable[[], Workflow], text: str) -> None:
    with pytest.raises(ImpossibleJobError) as error:
        make()
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("largest", "text"),
    [
        ({"A": 8}, "task c is of kind 'B', and no cluster is; there are A"),
        ({"A": 8, "B": 3}, "task c needs 4 cores, and the largest cluster of kind 'B' has 3"),
        ({None: 3}, "task c needs 4 cores, and the largest cluster of kind 'B' has 3"),
    ],
)
def test_a_task_that_fits_nowhere_is_named(largest: dict, text: str) -> None:
    with pytest.raises(ImpossibleJobError) as error:
        diamond(task_names=("a", "b", "c", "d")).require_runnable(largest)
    assert text in str(error.value)


def test_a_cluster_of_no_kind_takes_all() -> None:
    diamond().require_runnable({None: 4})


def test_a_negative_ccr_is_refused() -> None:
    with pytest.raises(RequestError, match="ccr is -1"):
        diamond().delay_s(-1)
