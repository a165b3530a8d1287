"""Machines that sleep while they are idle, and are woken for jobs that wait."""

from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import given

import simmodels as sm
from tests.model_scripts import machines_on, recorded, rigid, scheduled

Make = Callable[[sm.Environment, sm.Cluster], sm.Scheduler]


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
    env, cluster = machines_on(3, 2)
    sm.SleepWhenIdle(env, cluster, after_s=after_s, boot_s=boot_s, awake=awake)
    schedule = scheduled(scheduler(env, cluster), rigid(*sorted(jobs)), whole=True)
    assert (schedule.outcome == 0).all()
    if awake == 3:
        assert schedule.off_spans.empty


@pytest.mark.parametrize("kind", ["queue", "auction"])
def test_no_machine_falls_asleep_under_a_job_of_the_same_instant(kind: str) -> None:
    env, cluster = machines_on(1, 4)
    taker = sm.QueueScheduler(env, cluster) if kind == "queue" else sm.Auctioneer(env, [cluster])
    sm.SleepWhenIdle(env, cluster, after_s=10, boot_s=7)
    assert scheduled(taker, [sm.Workflow(1, 10.0, [5.0], 1)]).start_s.tolist() == [10]


def test_a_sleeping_cluster_is_predicted_to_wake() -> None:
    env = sm.Environment()
    a, b = (sm.Cluster(env, name, machines=1, cores_per_machine=4) for name in "ab")
    sm.SleepWhenIdle(env, a, after_s=1, boot_s=7)
    queues = [sm.QueueScheduler(env, cluster) for cluster in (a, b)]
    sm.Source(env, sm.Workload([1], [5], [1000], [1000], [4]), into=queues[1])
    sm.Source(env, sm.Workload([2], [20], [10], [10], [4]), into=sm.EarliestStart(env, queues))
    assert recorded(env).start_s.tolist() == [5, 27]
