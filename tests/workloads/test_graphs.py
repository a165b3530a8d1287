"""Generated graphs: as many tasks, edges and levels as they must have, the same for the same seed, and fit to run."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workloads as wl
from simmodels import Workflow

MAKERS: dict[str, Callable[..., Any]] = {
    "layers": lambda **more: wl.layers(40, **more),
    "fork_join": lambda **more: wl.fork_join(5, 3, **more),
    "cholesky": lambda **more: wl.cholesky(5, **more),
    "erdos_renyi_levels": lambda **more: wl.erdos_renyi_levels([3, 6, 1, 4], 0.4, **more),
}
SEEDS = st.integers(0, 2**32)


def sizes(drawn: "nx.DiGraph[Any]") -> list[int]:
    """Return how many tasks each level has, after a check that its levels are those of networkx."""
    levels = list(nx.topological_generations(drawn))
    for level, tasks in enumerate(levels):
        assert {drawn.nodes[task]["level"] for task in tasks} == {level}
    return [len(tasks) for tasks in levels]


@given(st.integers(1, 80), st.floats(0.2, 5), st.integers(1, 6), SEEDS)
def test_a_graph_of_layers_has_its_tasks_and_edges_between_neighbours(
    tasks: int, shape: float, out_degree: int, seed: int
) -> None:
    drawn = wl.layers(tasks, shape=shape, out_degree=out_degree, seed=seed)
    assert list(drawn) == list(range(tasks))
    assert sum(sizes(drawn)) == tasks
    level = dict(drawn.nodes(data="level"))
    assert all(level[b] == level[a] + 1 for a, b in drawn.edges)
    last = max(level.values())
    assert all(drawn.out_degree(task) >= 1 for task in drawn if level[task] < last)
    assert len(set(level.values())) <= max(1, 1.5 * tasks**0.5 / shape + 0.5)


def test_the_mean_number_of_layers_is_that_of_the_shape() -> None:
    for shape, mean in ((0.5, 20), (1, 10), (2, 5)):
        found = [len(sizes(wl.layers(100, shape=shape, seed=seed))) for seed in range(100)]
        assert np.mean(found) == pytest.approx(mean, rel=0.06)
    degrees = [wl.layers(400, shape=0.1, out_degree=1, seed=seed).number_of_edges() for seed in range(3)]
    assert all(399 - 10 <= degree <= 800 for degree in degrees)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.floats(0, 1), SEEDS)
def test_levels_of_erdos_and_renyi_have_the_widths_asked_for(widths: list[int], probability: float, seed: int) -> None:
    drawn = wl.erdos_renyi_levels(widths, probability, seed=seed)
    assert sizes(drawn) == widths
    free = wl.erdos_renyi_levels(widths, probability, seed=seed, connected=False)
    level = dict(free.nodes(data="level"))
    assert all(level[a] < level[b] for a, b in free.edges)


def test_edges_between_levels_are_as_frequent_as_their_probability() -> None:
    widths = [10, 20, 15]
    pairs = sum(a * b for a, b in combinations(widths, 2))
    assert wl.erdos_renyi_levels(widths, 1).number_of_edges() == pairs
    assert wl.erdos_renyi_levels(widths, 0, connected=False).number_of_edges() == 0
    assert wl.erdos_renyi_levels(widths, 0).number_of_edges() == 20 + 15
    found = [wl.erdos_renyi_levels(widths, 0.3, connected=False, seed=seed).number_of_edges() for seed in range(40)]
    assert np.mean(found) / pairs == pytest.approx(0.3, rel=0.03)
    far = [edge for edge in wl.erdos_renyi_levels(widths, 0.3).edges if edge[0] < 10 and edge[1] >= 30]
    assert far, "edges may pass over a level"


@pytest.mark.parametrize(("width", "stages"), [(1, 1), (4, 1), (3, 5)])
def test_fork_join_has_a_chain_of_stages(width: int, stages: int) -> None:
    drawn = wl.fork_join(width, stages)
    assert sizes(drawn) == [1, *[width, 1] * stages]
    assert len(drawn) == stages * (width + 1) + 1
    assert drawn.number_of_edges() == 2 * width * stages
    assert drawn.nodes["work 1.1"]["category"] == "work"
    assert list(drawn.predecessors(f"join {stages}")) == [f"work {stages}.{number}" for number in range(1, width + 1)]


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_cholesky_has_the_tasks_edges_and_levels_of_the_algorithm(n: int) -> None:
    drawn = wl.cholesky(n)
    counts = Counter(dict(drawn.nodes(data="category")).values())
    assert counts == +Counter(POTRF=n, TRSM=comb(n, 2), SYRK=comb(n, 2), GEMM=comb(n, 3))
    assert len(drawn) == n * (n + 1) * (n + 2) // 6
    edges = set()
    for k in range(n):  # what each kernel needs, read off the algorithm
        for i in range(k + 1, n):
            edges |= {(f"POTRF({k})", f"TRSM({i},{k})"), (f"TRSM({i},{k})", f"SYRK({i},{k})")}
            edges.add((f"SYRK({i},{k})", f"SYRK({i},{k + 1})" if i > k + 1 else f"POTRF({i})"))
            for j in range(k + 1, i):
                edges |= {(f"TRSM({row},{k})", f"GEMM({i},{j},{k})") for row in (i, j)}
                edges.add((f"GEMM({i},{j},{k})", f"GEMM({i},{j},{k + 1})" if j > k + 1 else f"TRSM({i},{j})"))
    assert set(drawn.edges) == edges
    assert len(sizes(drawn)) == 3 * n - 2


@pytest.mark.parametrize("name", MAKERS)
def test_a_graph_is_a_workflow_and_the_same_for_the_same_seed_whatever_its_laws(name: str) -> None:
    make = MAKERS[name]
    drawn, same, other = (make(seed=seed, runtime_s=(5.0, 9.0), cores=(2, 4)) for seed in (3, 3, 4))
    job = Workflow.from_graph(drawn, job_id=2)
    assert (len(job), job.name) == (len(drawn), name)
    assert ((job.runtime_s >= 5) & (job.runtime_s < 9)).all()
    assert set(job.cores.tolist()) == {2, 3, 4}
    assert nx.utils.graphs_equal(same, drawn)
    assert dict(other.nodes(data="runtime_s")) != dict(drawn.nodes(data="runtime_s"))
    laws = make(seed=3, runtime_s=lambda rng: 1 + rng.exponential(5), cores=lambda rng: rng.integers(2, 3), kind="gpu")
    assert list(laws.edges) == list(drawn.edges)
    assert dict(laws.nodes(data="cores")) == dict.fromkeys(drawn, 2)
    assert set(dict(laws.nodes(data="kind")).values()) == {"gpu"}
    assert len(set(dict(laws.nodes(data="runtime_s")).values())) == len(drawn), "drawn from one generator"


def test_a_range_of_cores_may_be_of_integers_of_numpy() -> None:
    drawn = wl.layers(20, cores=(np.int64(2), np.int32(4)), seed=1)
    assert nx.utils.graphs_equal(drawn, wl.layers(20, cores=(2, 4), seed=1))


def test_laws_and_kinds_go_by_category() -> None:
    laws = {"POTRF": 1, "TRSM": 2, "SYRK": (3, 3), "GEMM": lambda rng: rng.integers(4, 5)}
    drawn = wl.cholesky(4, runtime_s=laws, cores={**laws, "POTRF": 8}, kind={**dict.fromkeys(laws), "GEMM": "gpu"})
    of = drawn.nodes["GEMM(2,1,0)"]
    assert (of["runtime_s"], of["cores"], of["kind"]) == (4, 4, "gpu")
    of = drawn.nodes["POTRF(3)"]
    assert (of["runtime_s"], of["cores"], of["kind"]) == (1, 8, None)
