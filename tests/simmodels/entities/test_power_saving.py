"""Machines that sleep while they are idle, and are woken for jobs that wait."""

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import simmodels as sm
from tests.model_scripts import machines_on, recorded, scheduled

Make = Callable[[sm.Environment, sm.Cluster], sm.Scheduler]


def saved(
    jobs: list[tuple[float, float, int]],
    machines: int = 2,
    scheduler: Make = sm.QueueScheduler,
    **how: Any,  # noqa: ANN401  its own options
) -> sm.Schedule:
    """Return the schedule of jobs (submit, runtime, cores) on machines of two cores."""
    env, cluster = machines_on(machines, 2)
    sm.SleepWhenIdle(env, cluster, **how)
    submit_s, runtime_s, cores = zip(*jobs, strict=True)
    work = sm.Workload(range(len(jobs)), submit_s, runtime_s, runtime_s, cores)
    return scheduled(scheduler(env, cluster), work, whole=True)


def off(schedule: sm.Schedule) -> list[list[float]]:
    table: list[list[float]] = schedule.off_spans[["machine", "start_s", "end_s"]].to_numpy().tolist()
    return table


def test_idle_machines_sleep_and_are_woken_for_jobs() -> None:
    schedule = saved([(0, 5, 2), (100, 10, 2), (200, 10, 4)], after_s=20, boot_s=3)
    # The first job runs on machine 0; machine 1 is idle from the start. Both are asleep by 25 s. The second job wakes
    # one, the third needs both: machine 0, which is idle since 113 s, has gone again by then.
    assert schedule.start_s.tolist() == [0, 103, 203]
    assert off(schedule)[:4] == [[0, 25, 103], [0, 133, 203], [0, 233, 233], [1, 20, 203]]


def test_no_machine_sleeps_while_a_job_waits_and_some_stay_awake() -> None:
    schedule = saved([(0, 50, 3), (1, 1, 2), (2, 5, 4)], after_s=10)
    assert schedule.start_s.tolist() == [0, 50, 51]
    assert all(start_s >= 56 for _, start_s, _ in off(schedule))
    kept = saved([(0, 5, 1), (500, 5, 1)], after_s=10, boot_s=30, awake=1)
    assert kept.start_s.tolist() == [0, 500]
    assert off(kept)[0][:2] == [1, 10]


def test_machines_that_boot_are_not_woken_twice() -> None:
    env, cluster = machines_on(4, 1)
    saving = sm.SleepWhenIdle(env, cluster, after_s=0, boot_s=10)
    queue = sm.QueueScheduler(env, cluster)
    env.run(until=5)
    assert [machine.state for machine in saving.asleep] == ["off"] * 4
    queue.submit(sm.Job(1, 5.0, 5.0, 5.0, 1))
    env.run(until=6)
    queue.submit(sm.Job(2, 6.0, 5.0, 5.0, 1))
    env.run(until=7)
    assert [machine.state for machine in cluster.machines] == ["booting", "booting", "off", "off"]
    env.run()
    assert env.now == 21


def test_machines_wake_for_jobs_that_wait_for_an_auction() -> None:
    env, cluster = machines_on(2, 2)
    saving = sm.SleepWhenIdle(env, cluster, after_s=10, boot_s=5)
    auction = sm.Auctioneer(env, [sm.QueueScheduler(env, cluster)])
    assert scheduled(auction, sm.Workload([1, 2], [0, 100], [5, 7], [5, 7], [1, 4])).start_s.tolist() == [0, 105]
    assert [machine.state for machine in saving.asleep] == ["off", "off"]


JOBS = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 30), st.integers(1, 2)), min_size=1, max_size=20)


@pytest.mark.parametrize("scheduler", [sm.QueueScheduler, sm.FirstFit])
@given(jobs=JOBS, after_s=st.integers(0, 30), boot_s=st.integers(0, 9), awake=st.integers(0, 3))
def test_every_job_is_done_and_sleeping_costs_at_most_the_boots(
    scheduler: Make, jobs: list[tuple[float, float, int]], after_s: int, boot_s: int, awake: int
) -> None:
    jobs = sorted(jobs)
    schedule = saved(jobs, 3, scheduler, after_s=after_s, boot_s=boot_s, awake=awake)
    assert (schedule.outcome == 0).all()
    if awake == 3:
        assert not off(schedule)


def test_a_sleeping_machine_that_is_maintained_too_is_woken() -> None:
    env, cluster = machines_on(2, 4)
    queue = sm.QueueScheduler(env, cluster)
    sm.SleepWhenIdle(env, cluster, after_s=1)
    sm.Maintenance(env, cluster, start_s=10, duration_s=20, notice_s=0)
    sm.Source(env, sm.Workload([1], [15], [5], [5], [4]), into=queue)
    recorder = sm.Recorder(env)
    env.run(until=1000)
    assert recorder.schedule().validate().start_s.tolist() == [30]


def test_a_machine_that_is_taken_while_it_boots_is_replaced() -> None:
    env, cluster = machines_on(2, 4)
    queue = sm.QueueScheduler(env, cluster)
    sm.SleepWhenIdle(env, cluster, after_s=1, boot_s=10)
    sm.Maintenance(env, cluster, start_s=25, duration_s=1e6, notice_s=0, machines=[0])
    sm.Source(env, sm.Workload([1], [20], [5], [5], [4]), into=queue)
    recorder = sm.Recorder(env)
    env.run(until=1000)
    assert recorder.schedule().validate().start_s.tolist() == [
        40
    ]  # the second is woken at 30, when the first was to be on


def test_a_task_that_becomes_ready_elsewhere_wakes_machines() -> None:
    env = sm.Environment()
    a, b = (sm.Cluster(env, name, machines=1, cores_per_machine=4, kind=name) for name in "ab")
    auction = sm.Auctioneer(env, [a, b])
    sm.SleepWhenIdle(env, b, after_s=1)
    sm.Source(env, [sm.Workflow(1, 0.0, [5.0, 5.0], 1, [(0, 1)], ("a", "b"))], into=auction)
    env.run(until=sm.all_done(env))
    assert env.now == 11  # data travel for a tick


@pytest.mark.parametrize("kind", ["queue", "auction"])
def test_no_machine_falls_asleep_under_a_job_of_the_same_instant(kind: str) -> None:
    env, cluster = machines_on(1, 4)
    taker = sm.QueueScheduler(env, cluster) if kind == "queue" else sm.Auctioneer(env, [cluster])
    sm.SleepWhenIdle(env, cluster, after_s=10, boot_s=7)
    assert scheduled(taker, [sm.Workflow(1, 10.0, [5.0], 1)]).start_s.tolist() == [10]


def test_those_that_stay_awake_are_replaced_when_they_fail() -> None:
    env, cluster = machines_on(2, 1)
    sm.SleepWhenIdle(env, cluster, after_s=1, awake=1)
    sm.Maintenance(env, cluster, start_s=10, duration_s=20, notice_s=0, machines=[0])
    env.run(until=5)
    assert [machine.is_on for machine in cluster.machines] == [True, False]
    env.run(until=15)
    assert [machine.is_on for machine in cluster.machines] == [False, True]


def test_a_sleeping_cluster_is_predicted_to_wake() -> None:
    env = sm.Environment()
    a, b = (sm.Cluster(env, name, machines=1, cores_per_machine=4) for name in "ab")
    sm.SleepWhenIdle(env, a, after_s=1, boot_s=7)
    queues = [sm.QueueScheduler(env, cluster) for cluster in (a, b)]
    sm.Source(env, sm.Workload([1], [5], [1000], [1000], [4]), into=queues[1])
    sm.Source(env, sm.Workload([2], [20], [10], [10], [4]), into=sm.EarliestStart(env, queues))
    assert recorded(env).start_s.tolist() == [5, 27]
