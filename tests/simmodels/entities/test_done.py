# ruff: noqa: ANN401  options of any type are handed through
"""A model is done when nothing is left to do, though processes of it never end."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import simmodels as sm
from tests.model_scripts import machines_on, recorded
from tests.own_schedulers import AsTheyCome
from tests.refused import refused


def before_a_queue(env: sm.Environment, cluster: sm.Cluster, **options: Any) -> sm.Auctioneer:
    return sm.Auctioneer(env, [sm.QueueScheduler(env, cluster)], **options)


def auction(env: sm.Environment, cluster: sm.Cluster, **options: Any) -> sm.Auctioneer:
    return sm.Auctioneer(env, [cluster], **options)


@pytest.mark.parametrize("into", [auction, sm.QueueScheduler, partial(before_a_queue, forward=True), sm.FirstFit])
def test_workflows_are_done_when_their_last_task_is_or_they_starve(into: Callable[..., Any]) -> None:
    env, cluster = machines_on(2, 64, seed=1)
    sm.MarkovCapacity(env, cluster, low=1, high=2, step=1, period_s=10_000)
    curve = sm.ValueCurve([(1.0, 1.0), (3.0, 0.5), (6.0, 0.0)])
    runs_s, cores, edges = [900.0, 2000.0, 700.0, 100.0], [32, 48, 64, 8], [(0, 1), (0, 2), (1, 3), (2, 3)]
    flows = [sm.Workflow(number, 500.0 * number, runs_s, cores, edges, curve=curve) for number in range(12)]
    taker = into(env, cluster)
    sm.Source(env, flows, into=taker)
    schedule = recorded(env, until=sm.all_done(env))
    auctions = isinstance(taker, sm.Auctioneer)
    assert set(schedule.workflows["outcome"]) <= ({"finished", "starved"} if auctions else {"finished"})
    assert auctions or env.now == schedule.end_s.max(), "though machines are switched forever"


def test_a_model_without_jobs_is_done_at_once() -> None:
    env = sm.Environment(start_s=5)
    sm.QueueScheduler(env, sm.Cluster(env, "c", cores=1))
    env.run(until=sm.all_done(env))
    assert env.now == 5


def test_an_auction_that_is_closed_is_done_when_nothing_runs() -> None:
    env, cluster = machines_on(1, 4)
    auction = sm.Auctioneer(env, [cluster], end="submit")
    sm.Failures(env, cluster, mtbf_s=1e6, repair_s=1)
    sm.Source(env, [sm.Workflow(i, 0.0, [5.0, 5.0], 4, [(0, 1)]) for i in (1, 2)], into=auction)
    env.run(until=sm.all_done(env))
    assert env.now == 5


@pytest.mark.parametrize(
    ("into", "options", "starts"),
    [
        (sm.QueueScheduler, {}, [0, math.nan, 50]),
        (sm.QueueScheduler, {"backfilling": "conservative"}, [0, math.nan, 50]),
        (sm.QueueScheduler, {"backfilling": "none"}, [0, math.nan, math.nan]),  # the second blocks the third
        (sm.QueueScheduler, {"backfilling": "none", "threshold_s": 60.0}, [0, math.nan, math.nan]),  # from then on
        (sm.QueueScheduler, {"queue_depth": 1}, [0, math.nan, math.nan]),
        (lambda env, cluster: sm.RoundRobin(env, [sm.QueueScheduler(env, cluster)]), {}, [0, math.nan, 50]),
        (AsTheyCome, {}, [0, math.nan, 50]),
        (auction, {}, [0, math.nan, math.nan]),
        (auction, {"bid": "LRTF"}, [0, math.nan, math.nan]),
        (auction, {"backfilling": "greedy"}, [0, math.nan, 50]),
        (before_a_queue, {}, [0, math.nan, math.nan]),
        (before_a_queue, {"forward": True}, [0, math.nan, 50]),
        (before_a_queue, {"forward": True, "rebalance_s": 7.0}, [0, math.nan, 50]),
    ],
)
def test_a_model_with_a_job_that_can_never_run_ends_and_says_why(
    into: Callable[..., sm.Scheduler], options: dict[str, Any], starts: list[float]
) -> None:
    """A walk of at most 12 of 16 machines, and a job of 16."""
    env, cluster = machines_on(16, 1, seed=1)
    sm.MarkovCapacity(env, cluster, low=4, high=15, step=4, period_s=10, start=4)  # which 15 is no step of
    taker = into(env, cluster, **options)
    jobs = sm.Workload([1, 2, 3], [0, 20, 50], [30, 3, 3], [30, 3, 3], [2, 16, 2])
    sm.Source(env, jobs, into=taker)
    recorder = sm.Recorder(env)
    waits = " and 1 more wait" if math.isnan(starts[-1]) else " waits"
    text = rf"job 2 of 16 cores{waits} at \d+ s, and there are never more than 12 cores of 'c'; a Recorder has"
    with pytest.raises(sm.StoppedError, match=text):
        env.run(until=sm.all_done(env))
    np.testing.assert_equal(recorder.schedule().start_s, starts)


@pytest.mark.parametrize("kind", [None, "B"])
def test_an_auction_that_is_held_up_elsewhere_ends_and_says_why(kind: str | None) -> None:
    """A job of 16 is in the queue behind; or, of one kind, holds back the tasks of another."""
    env, walks = machines_on(16, 1, seed=1, kind=kind)
    sm.MarkovCapacity(env, walks, low=4, high=12, step=4, period_s=10)
    jobs = sm.Workload([1], [20], [3], [3], [16])
    if kind is None:
        behind = sm.QueueScheduler(env, walks)
        sm.Source(env, jobs, into=behind)
        auction = sm.Auctioneer(env, [behind])
        sm.Source(env, sm.Workload([2], [30], [3], [3], [2]), into=auction)
        waits = "and 1 more wait"
    else:
        auction = sm.Auctioneer(env, [walks, sm.Cluster(env, "wide", cores=32, kind="A")])
        flows = [sm.Workflow(1, 20, [3], 16, kind=["B"]), sm.Workflow(2, 30, [3, 3], 2, kind=["A", "A"])]
        sm.Source(env, flows, into=auction)
        waits = "waits"
    with pytest.raises(sm.StoppedError, match=rf"job 1 of 16 cores {waits} at \d+ s, and there are never more than"):
        env.run(until=sm.all_done(env))


def test_a_model_in_which_nothing_happens_any_more_ends_and_says_what_waits() -> None:
    env, cluster = machines_on(2, 4)
    sm.TraceCapacity(env, cluster, [(0, 2), (10, 1)])
    sm.Source(env, sm.Workload([1], [20], [3], [3], [8]), into=sm.QueueScheduler(env, cluster))
    with refused("...job 1 of 8 cores waits at 20 s, nothing else will happen, and 4 cores of...", sm.StoppedError):
        env.run(until=sm.all_done(env))


def test_a_task_that_may_move_to_where_it_can_start_is_waited_for() -> None:
    """A job of 16 is sent where at most 12 are ever on, for nothing is on at the other place up to 50."""
    env, walks = machines_on(16, 1, seed=1)
    sm.MarkovCapacity(env, walks, low=4, high=12, step=4, period_s=10)
    late = sm.Cluster(env, "late", machines=1, cores_per_machine=16)
    sm.Maintenance(env, late, start_s=0, duration_s=50)
    auction = sm.Auctioneer(env, [sm.QueueScheduler(env, each) for each in (walks, late)], forward=True, rebalance_s=7)
    sm.Source(env, sm.Workflow(1, 20.0, [3.0], 16), into=auction)
    schedule = recorded(env, until=sm.all_done(env))
    assert schedule.cluster.tolist() == [1]
    assert schedule.start_s.tolist() == [56]  # 8 times 7 s


@pytest.mark.parametrize(
    ("options", "start_s"),
    [
        ({"backfilling": "none"}, math.nan),
        ({"backfilling": "none", "threshold_s": 5.0}, math.nan),
        ({"queue_depth": 1}, math.nan),
        ({"backfilling": "none", "order": "SAF"}, 30),  # before the wide one
        ({"queue_depth": 2}, 30),
    ],
)
def test_a_task_that_may_move_only_to_where_it_is_blocked_too_ends_and_says_why(
    options: dict[str, Any], start_s: float
) -> None:
    """A job of 16 blocks each of two queues where at most 12 are ever on; the third waits in one of them."""
    env = sm.Environment(seed=1)
    walks = [sm.Cluster(env, name, machines=16, cores_per_machine=1, kind=name) for name in "AB"]
    for each in walks:
        sm.MarkovCapacity(env, each, low=4, high=12, step=4, period_s=10)
    into = [sm.QueueScheduler(env, each, **options) for each in walks]
    auction = sm.Auctioneer(env, into, forward=True, rebalance_s=7)
    sm.Source(env, [sm.Workflow(number, 20, [3], 16, kind=[name]) for number, name in enumerate("AB")], into=auction)
    sm.Source(env, sm.Workload([3], [30], [3], [3], [2]), into=auction)
    recorder = sm.Recorder(env)
    with refused("job 0 of 16 cores and ...", sm.StoppedError):
        env.run(until=sm.all_done(env) | env.timeout(200))
    np.testing.assert_equal(recorder.schedule().start_s, [math.nan, math.nan, start_s])
