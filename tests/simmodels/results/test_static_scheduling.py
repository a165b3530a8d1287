import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import simmodels as sm
from simmodels.results.static_scheduling import Problem, Solution, solve, static_schedule

METHODS = ("HEFT", "CPOP", "PEFT")


def of_cores(cost: ArrayLike, edges: ArrayLike, delay: ArrayLike, cores: ArrayLike, size: int) -> Problem:
    """Costs by task; on processors of one size."""
    table = np.array(cost, np.float64)
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    sizes = np.full(table.shape[1], size)
    return Problem(table, pairs, np.array(delay, np.float64), np.array(cores), sizes)


def problem(cost: list[str], sends: str) -> Problem:
    """Costs by processor; what a task sends to another, numbered from 1 as in the papers."""
    edges = [tuple(map(int, re.split("[-:]", each))) for each in sends.split()]
    costs = np.array([row.split() for row in cost], np.float64).T
    return of_cores(costs, [(a - 1, b - 1) for a, b, _ in edges], [delay for *_, delay in edges], [1] * len(costs), 1)


TOPCUOGLU = problem(
    ["14 13 11 13 12 13 7 5 18 21", "16 19 13 8 13 16 15 11 12 7", "9 18 19 17 10 9 11 14 20 16"],
    "1-2:18 1-3:12 1-4:9 1-5:11 1-6:14 2-8:19 2-9:16 3-7:23 4-8:27 4-9:23 5-9:13 6-8:15 7-10:17 8-10:11 9-10:13",
)
ARABNEJAD = problem(
    ["22 22 32 7 29 26 14 29 15 13", "21 18 27 10 27 17 25 23 21 16", "36 18 43 4 35 24 30 36 8 33"],
    "1-2:17 1-3:31 1-4:29 1-5:13 1-6:7 2-8:3 2-9:30 3-7:16 4-8:11 4-9:7 5-9:57 6-8:5 7-10:9 8-10:42 9-10:7",
)


def check(of: Problem, found: Solution) -> None:
    """Refuse a solution that breaks a rule."""
    for task, processor in enumerate(found.processor.tolist()):
        assert found.end[task] == found.start[task] + of.cost[task, processor]
        for other, delay in of.predecessors[task]:
            way = 0.0 if found.processor[other] == processor else delay
            assert found.start[task] >= found.end[other] + way
    for processor, size in enumerate(of.size.tolist()):
        there = np.flatnonzero(found.processor == processor)
        for at in found.start[there]:
            assert of.cores[there][(found.start[there] <= at) & (found.end[there] > at)].sum() <= size


def test_heft_and_cpop_plan_the_ten_tasks_of_topcuoglu_as_published() -> None:
    assert TOPCUOGLU.upward_rank == pytest.approx(
        [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667], abs=1e-3
    )
    assert TOPCUOGLU.downward_rank == pytest.approx([0, 31, 25, 22, 24, 27, 62.333, 66.667, 63.667, 93.333], abs=1e-3)
    assert solve(TOPCUOGLU, "HEFT").makespan == 80
    assert solve(TOPCUOGLU, "CPOP").makespan == 86


def test_peft_and_heft_plan_the_ten_tasks_of_arabnejad_as_published() -> None:
    assert solve(ARABNEJAD, "PEFT").makespan == 122
    assert solve(ARABNEJAD, "HEFT").makespan == 133
    assert ARABNEJAD.optimistic_cost[0].tolist() == [64, 68, 86]
    assert ARABNEJAD.peft_rank[0] == pytest.approx(72.667, abs=1e-3)


def test_a_task_is_inserted_where_it_fits() -> None:
    # Task 1 must wait for its data until 12; task 2, of lower rank, fits before it on the same processor.
    of = of_cores([[2, np.inf], [np.inf, 9], [np.inf, 3]], [(0, 1)], [10], [1, 1, 1], 1)
    assert solve(of).start.tolist() == [0, 12, 0]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    tasks, processors = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    column = {"min_size": tasks, "max_size": tasks}
    row = st.lists(st.integers(1, 20), min_size=processors, max_size=processors)
    delay = draw(st.lists(st.integers(0, 20), min_size=len(edges), max_size=len(edges)))
    cores = draw(st.lists(st.integers(1, 3), **column))
    return of_cores(draw(st.lists(row, **column)), edges, delay, cores, 3)


@given(problems(), st.sampled_from(METHODS))
def test_every_plan_keeps_the_rules(of: Problem, method: str) -> None:
    check(of, solve(of, method))


@pytest.mark.parametrize("method", METHODS)
def test_a_workflow_is_planned_on_clusters_of_kinds(method: str) -> None:
    job = sm.Workflow(1, 100, [10, 20, 5, 30], [2, 1, 4, 3], [(0, 1), (0, 2), (1, 3), (2, 3)], ("A", "A", "B", "A"))
    schedule = static_schedule(job, [("a", 4, "A"), ("b", 4, "B")], method).validate()
    assert schedule.start_s.tolist() == [100, 110, 112, 130]
    assert schedule.slr.tolist() == [1]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(sm.UnknownNameError, match="unknown method 'HEF'; did you mean HEFT"):
        solve(TOPCUOGLU, "HEF")
    with pytest.raises(sm.ImpossibleJobError, match="task 0 needs 9 cores"):
        static_schedule(sm.Workflow(1, 0, [1], 9), [("a", 4)])
    with pytest.raises(sm.ImpossibleJobError, match="there are no clusters"):
        static_schedule(sm.Workflow(1, 0, [1]), [])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("submit_s", [0.1, 1e9 + 0.3])
def test_a_plan_from_any_instant_on_is_legal(method: str, submit_s: float) -> None:
    draw = np.random.default_rng(5)
    for _ in range(40):
        tasks = int(draw.integers(2, 9))
        edges = [(a, b) for b in range(tasks) for a in range(b) if draw.random() < 0.3]
        runtimes = np.round(draw.uniform(0.1, 5.0, tasks), 1)
        job = sm.Workflow(1, submit_s, runtimes, draw.integers(1, 4, tasks), edges)
        static_schedule(job, [("a", 3), ("b", 4)], method).validate()
