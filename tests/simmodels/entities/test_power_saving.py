"""Machines that sleep while they are idle, and are woken for jobs that wait."""

from collections.abc import Callable

import pytest

import simmodels as sm
from tests.model_scripts import machines_on, recorded, scheduled

Make = Callable[[sm.Environment, sm.Cluster], sm.Scheduler]


def test_machines_wake_for_jobs_that_wait_for_an_auction() -> None:
    env, cluster = machines_on(2, 2)
    saving = sm.SleepWhenIdle(env, cluster, after_s=10, boot_s=5)
    auction = sm.Auctioneer(env, [sm.QueueScheduler(env, cluster)])
    assert scheduled(auction, sm.Workload([1, 2], [0, 100], [5, 7], [5, 7], [1, 4])).start_s.tolist() == [0, 105]
    assert [machine.state for machine in saving.asleep] == ["off", "off"]


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
