"""Held jobs: a queue that takes jobs over a limit out of its lists starts each job when one that looks at all does."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

import simmodels as sm
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.run import Replay

HOW: list[dict[str, Any]] = [
    {"backfilling": "none"},
    {"backfilling": "greedy", "order": "SPF"},
    {"order": "FCFS"},
    {"order": "SAF", "backfill_order": "FCFS", "threshold_s": 200.0},
    {"backfill_order": "SPF", "queue_depth": 30, "max_starts": 2},
    {"order": "LPF", "decide": "event", "max_backfills": 1, "warm_jobs": 5},
]


@njit
def hold_nothing(queue) -> None:  # noqa: ANN001
    queue.holds = False


@njit
def held(queue) -> int:  # noqa: ANN001
    return queue.limits.jobs.size


def crowd(seed: int) -> tuple[sm.Workload, list[dict[str, Any]]]:
    """300 jobs of 16 cores at most, of users in queues, whose limits bind: in some models those of both at once."""
    rng = np.random.default_rng(seed)
    cores, runtime_s = 2 ** rng.integers(0, 5, 300), np.ceil(rng.exponential(40, 300))
    submit_s = np.sort(np.floor(rng.uniform(0, rng.choice([50, 500, 2000]), 300)))
    extras = {"queue": rng.integers(0, rng.choice([2, 20]), 300)}
    users = np.minimum(rng.zipf(1.5, 300), rng.choice([2, 30]))
    jobs = sm.Workload(
        range(1, 301), submit_s, runtime_s, runtime_s * rng.choice([1, 3], 300), cores, users, extras=extras
    )
    caps: dict[str, list[float]] = {"jobs": [1, 2, 5], "cores": [16, 20, 40], "core_minutes": [300.0, 600.0]}
    names = [rng.choice(list(caps), size=rng.integers(1, 3), replace=False) for _ in range(2)]
    rules = [
        {"by": by, **{str(name): float(rng.choice(caps[name])) for name in chosen}}
        for by, chosen in zip(("user", "queue"), names, strict=True)
    ]
    longest = float((cores * jobs.estimate_s).max()) / 60
    for row in rules:
        row.update({"core_minutes": max(row["core_minutes"], longest)} if "core_minutes" in row else {})
        row.update({name: int(row[name]) for name in ("jobs", "cores") if name in row})
    return jobs, rules


@pytest.mark.parametrize("how", HOW, ids=str)
@given(seed=st.integers(0, 2**32))
def test_each_job_starts_when_it_does_if_none_is_held(how: dict[str, Any], seed: int) -> None:
    jobs, rules = crowd(seed)
    options = QueueOptions.checked(**how, limits=rules)
    one, other = (Replay(jobs, cores=32, options=options) for _ in range(2))
    hold_nothing(other._queue)
    for replay in (one, other):
        replay.run()
    assert one.start_s.tolist() == other.start_s.tolist()
    assert not np.isnan(one.start_s).any()


@pytest.mark.parametrize("how", HOW, ids=str)
def test_those_that_wait_are_the_same_whether_or_not_they_are_held_and_a_snapshot_changes_nothing(
    how: dict[str, Any],
) -> None:
    jobs, _ = crowd(0)
    options = QueueOptions.checked(**how, limits=[{"by": "user", "jobs": 1}, {"by": "queue", "cores": 16}])
    replay, other, whole = (Replay(jobs, cores=32, options=options) for _ in range(3))
    hold_nothing(other._queue)
    whole.run()
    starts = dict(zip(jobs.job_id.tolist(), whole.start_s.tolist(), strict=True))
    most = 0
    for until_s in np.arange(50.0, 2000.0, 100.0):
        replay.run(until_s)
        other.run(until_s)
        before = held(replay._queue)
        most = max(most, before)
        fork = replay.snapshot().fork()
        assert held(replay._queue) == before
        assert replay.waiting_slots().tolist() == other.waiting_slots().tolist()
        fork.run()
        found = dict(zip(fork.workload.job_id.tolist(), fork.start_s.tolist(), strict=True))
        assert found == {job: starts[job] for job in found}
    assert most > 0
    replay.run()
    other.run()
    assert replay.start_s.tolist() == other.start_s.tolist() == whole.start_s.tolist()
