"""The C program beside which replays are measured: it starts each job when they do."""

import os

import numpy as np
import pytest

import simmodels as sm
import workloads as wl
from benchmarks.beside_c import has_compiler, replay_in_c

pytestmark = pytest.mark.skipif(not has_compiler() and "CI" not in os.environ, reason="there is no compiler of C")


@pytest.mark.parametrize("seed", range(5))
def test_it_starts_each_job_at_the_same_instant(seed: int) -> None:
    log = wl.tsafrir_estimates(wl.lublin(jobs=2_000, cores=128, load=0.95, seed=seed), seed=seed)
    starts, spent_s = replay_in_c(log, 128, 0.0)
    schedule = sm.simulate(log, backfilling="easy")
    assert np.array_equal(starts, schedule.start_s)
    assert not np.array_equal(starts, sm.simulate(log, backfilling="none").start_s)
    assert spent_s > 0


@pytest.mark.parametrize("seed", range(20))
def test_and_where_instants_are_equal_jobs_take_no_time_and_estimates_are_too_short(seed: int) -> None:
    draw, jobs = np.random.default_rng(seed), 300
    columns = {
        "submit_s": draw.integers(0, 200, jobs).astype(float),  # in any order
        "runtime_s": draw.integers(0, 8, jobs).astype(float),
        "estimate_s": draw.integers(1, 8, jobs).astype(float),
        "cores": draw.integers(1, 9, jobs),
    }
    log = sm.Workload.of(columns)
    starts, _ = replay_in_c(log, 8, 0.0)
    assert np.array_equal(starts, sm.simulate(log, cores=8, backfilling="easy").start_s)
