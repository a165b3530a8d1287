import gzip
import hashlib
import json
import math
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import simmodels as sm
from simmodels.ground.streams import stream
from workloads import MarketParameters, at_load, market_workload
from workloads.workflow_mix import MARKET, _volumes
from workloads.workflow_mix_draws import cut_volumes, draw_graphs, split_evenly

SIZES = {1, 12, 24, 36, 64, 96, 128}


def fingerprint(jobs: list[sm.Workflow], *, submissions: bool = True) -> str:
    """Return a hash of all that the jobs are."""
    digest = hashlib.sha256()
    for job in jobs:
        columns = [each.tolist() for each in (job.runtime_s, job.cores, job.edges)]
        digest.update(repr((job.job_id, submissions and job.submit_s, columns, job.kind, job.curve.points)).encode())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def many() -> list[sm.Workflow]:
    return market_workload(seed=3)


# -- each rule ----------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(0, 2**40), st.floats(0.2, 3.0), st.integers(1, 5000))
def test_any_workload_keeps_the_rules(jobs: int, seed: int, load: float, cores: int) -> None:
    made = market_workload(jobs, load=load, cores=cores, seed=seed)
    assert [job.job_id for job in made] == list(range(jobs))
    assert made[0].submit_s == 0
    assert all(a.submit_s <= b.submit_s for a, b in pairwise(made))
    for job in made:
        assert 5 <= len(job) <= 20
        assert set(job.cores.tolist()) <= SIZES
        assert set(job.kind) <= {"Kind1", "Kind2"}
        assert (job.runtime_s % sm.MINUTE == 0).all()
        assert job.submit_s % sm.MINUTE == 0
        assert job.most_value == job.volume_core_s
        pairs = len(job) * (len(job) - 1)
        assert len(job.edges) <= math.ceil(0.3 * pairs / math.log10(pairs))
        assert (job.edges[:, 0] < job.edges[:, 1]).all()  # tasks are listed before those that need them
        x = [slr for slr, _ in job.curve.points]
        assert 7 <= len(x) <= 12
        assert 2 <= x[0] <= 4
        assert 6 <= x[-1] <= 10
        minutes, volume = job.runtime_s / sm.MINUTE, job.runtime_s * job.cores / sm.MINUTE
        wide = job.cores > 1
        assert (job.cores <= volume).all()
        assert (job.cores[wide] >= np.floor(np.log((minutes[wide] - 1) * job.cores[wide] + 1))).all()


def test_more_jobs_begin_with_the_same_ones() -> None:
    assert fingerprint(market_workload(40, load=0.9, seed=5)) == fingerprint(
        market_workload(200, load=0.9, seed=5)[:40]
    )


def test_another_load_changes_nothing_but_the_submissions() -> None:
    light, heavy = (market_workload(300, load=load, cores=500, seed=2) for load in (0.7, 1.4))
    assert fingerprint(light, submissions=False) == fingerprint(heavy, submissions=False)
    assert light[-1].submit_s > 1.5 * heavy[-1].submit_s
    assert fingerprint(at_load(light, load=1.4, cores=500)) == fingerprint(heavy)


def test_parts_of_a_volume_are_all_compositions_alike() -> None:
    repeated = 30_000
    parts = cut_volumes(stream(0, "test"), np.full(repeated, 8), np.full(repeated, 4), True).reshape(-1, 4)
    assert (parts.sum(axis=1) == 8).all()
    seen, counts = np.unique(parts, axis=0, return_counts=True)
    assert len(seen) == math.comb(7, 3)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_ends_that_fall_off_leave_less_than_the_volume() -> None:
    repeated = 30_000
    parts = cut_volumes(stream(0, "test"), np.full(repeated, 7), np.full(repeated, 3), False).reshape(-1, 3)
    assert parts.min() == 1
    assert (parts.sum(axis=1) <= 6).all()
    chosen = parts.sum(axis=1)  # the span of 4 of 7 points: C(span - 1, 2) * (7 - span) of the C(7, 4) ways
    ways = np.array([math.comb(span - 1, 2) * (7 - span) for span in range(3, 7)])
    assert stats.chisquare(np.bincount(chosen, minlength=7)[3:], repeated * ways / math.comb(7, 4)).pvalue > 1e-4
    losing = MarketParameters(ends="lose")
    kept, lost = (sum(job.volume_core_s for job in market_workload(500, parameters=p)) for p in (MARKET, losing))
    assert 0.6 * kept < lost < 0.95 * kept


@given(st.integers(1, 60), st.integers(1, 25), st.integers(0, 2**32))
def test_degrees_are_whole_and_keep_their_sum(total: int, parts: int, seed: int) -> None:
    into = np.full(parts + 1, -7)
    split_evenly(stream(seed, "test"), total, parts, into)
    assert into[:parts].sum() == total
    assert (into[:parts] >= 0).all()
    assert into[parts] == -7


@given(st.lists(st.integers(1, 25), min_size=1, max_size=6), st.floats(0, 3), st.integers(1, 5), st.integers(0, 2**32))
def test_graphs_have_no_edge_twice_and_none_backwards(sizes: list[int], share: float, tries: int, seed: int) -> None:
    starts, sources, targets = draw_graphs(stream(seed, "test"), np.array(sizes), share, tries)
    assert starts[-1] == len(sources) == len(targets)
    for job, tasks in enumerate(sizes):
        rows = slice(starts[job], starts[job + 1])
        edges = list(zip(sources[rows].tolist(), targets[rows].tolist(), strict=True))
        assert edges == sorted(set(edges))
        assert all(0 <= a < b < tasks for a, b in edges)
        assert len(edges) <= tasks * (tasks - 1) // 2


# -- as a whole ---------------------------------------------------------------------------------------


def test_ten_thousand_jobs_are_as_the_study_has_them(many: list[sm.Workflow]) -> None:
    tasks = np.array([len(job) for job in many])
    assert tasks.mean() == pytest.approx(12.03, abs=0.15)  # 12.5, but less for jobs below 21 core-minutes
    span = many[-1].submit_s
    assert 70 * sm.DAY < span < 90 * sm.DAY
    assert sum(job.volume_core_s for job in many[:-1]) / (4000 * span) == pytest.approx(1.0, abs=0.03)  # mid-week ends
    kinds = np.concatenate([np.array(job.kind) for job in many])
    assert (kinds == "Kind1").mean() == pytest.approx(0.8, abs=0.006)


def test_volumes_are_log_uniform_above_six() -> None:
    volumes = _volumes(20_000, MARKET, 4)
    least = math.log10(6)
    assert volumes.min() == 7
    test = stats.kstest(np.log10(volumes[volumes > 100]), stats.uniform(2, 5.719 - 2).cdf)
    assert test.pvalue > 1e-3
    assert (volumes <= 100).mean() == pytest.approx((2 - least) / (5.719 - least), abs=0.012)


def test_a_task_has_any_of_the_sizes_that_fit(many: list[sm.Workflow]) -> None:
    """Tasks whose cores make no rounding possible: all sizes from ln(volume) up to the volume are as likely."""
    minutes = np.concatenate([job.runtime_s for job in many]) / sm.MINUTE
    cores = np.concatenate([job.cores for job in many])
    large = minutes * cores > 3500  # ln is 8 or more: never 1 core; all others fit
    counts = np.array([(cores[large] == size).sum() for size in sorted(SIZES)])
    assert counts[0] == 0
    assert stats.chisquare(counts[2:-1]).pvalue > 1e-4
    assert counts[1:].min() > 0.85 * counts[1:].mean()


def test_degrees_fall_off_as_those_of_an_independent_program(many: list[sm.Workflow], shared: Path) -> None:
    with gzip.open(shared / "oracles/market/load110.input.json.gz") as file:
        theirs = [(len(job["tasks"]), np.array(job["edges"])) for job in json.load(file)["jobs"]]
    ours = [(len(job), job.edges) for job in many]

    def shares(jobs: list[tuple[int, np.ndarray]], column: int) -> np.ndarray:
        degrees = np.concatenate([np.bincount(edges[:, column], minlength=tasks) for tasks, edges in jobs])
        return np.bincount(degrees, minlength=20)[:8] / len(degrees)

    for column in (0, 1):
        np.testing.assert_allclose(shares(ours, column), shares(theirs, column), atol=0.06)
        tail = shares(ours, column)[1:]
        ratios = tail[1:] / tail[:-1]
        assert ((ratios > 0.4) & (ratios < 0.7)).all(), ratios  # a geometric fall: exponential


def test_nearly_all_edges_find_a_place(many: list[sm.Workflow]) -> None:
    pairs = [len(job) * (len(job) - 1) for job in many]
    missing = [math.ceil(0.3 * m / math.log10(m)) - len(job.edges) for job, m in zip(many, pairs, strict=True)]
    assert min(missing) == 0
    assert max(missing) <= 2
    assert sum(missing) < 10


def test_curves_begin_and_end_where_they_should(many: list[sm.Workflow]) -> None:
    initial = [job.curve.initial for job in many]
    final = [job.curve.final for job in many]
    inner = np.array([len(job.curve.points) - 2 for job in many])
    assert stats.kstest(initial, stats.uniform(2, 2).cdf).pvalue > 1e-3
    assert stats.kstest(final, stats.uniform(6, 4).cdf).pvalue > 1e-3
    assert stats.chisquare(np.bincount(inner)[5:]).pvalue > 1e-3
    points = [factor for job in many[:1000] for _, factor in job.curve.points[1:-1]]
    assert stats.kstest(points, stats.uniform(0, 1).cdf).pvalue > 1e-4


def test_parameters_are_pickled_as_they_are() -> None:
    given_kinds = MarketParameters(kinds={"a": 0.5, "b": 0.5}, tasks=(1, 3))
    assert pickle.loads(pickle.dumps(given_kinds)) == given_kinds
    jobs = market_workload(50, parameters=given_kinds)
    assert {kind for job in jobs for kind in job.kind} == {"a", "b"}
    assert {len(job) for job in jobs} == {1, 2, 3}
