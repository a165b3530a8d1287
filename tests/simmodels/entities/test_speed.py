"""Machines of unequal size and speed: how long jobs take, what schedulers expect, and what is proved of them."""

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

import simmodels as sm
from simmodels.policies.queue_options import Backfilling
from tests.model_scripts import machines_on, queue_on, scheduled


def test_what_a_script_changes_is_proved_of_each_attempt() -> None:
    """A job keeps the speed and the checkpoints that it started with; one that starts later has the others."""
    env, cluster = machines_on(2, 2, checkpoints=sm.Checkpoints(40, 5, 0))
    sm.TraceCapacity(env, cluster, [(0, 2), (60, 1), (70, 2)])
    sm.Source(env, sm.Workload([1, 2, 3], [0] * 3, [100] * 3, [100] * 3, [2] * 3), into=sm.QueueScheduler(env, cluster))
    recorder = sm.Recorder(env)
    env.run(until=30)
    cluster.machines[0].speed = 2.0
    cluster.checkpoints = sm.Checkpoints(20, 1, 2)
    for until in (110, None):
        env.run(until=until)
        schedule = recorder.schedule().validate()
    columns = ["job_id", "start_s", "end_s", "work_s", "speed", "interval_s"]
    assert schedule.attempts[columns].to_numpy().tolist() == [
        [1, 0, 110, 100, 1, 40],
        [2, 0, 60, 40, 1, 40],  # a checkpoint at 45 s, under its own rule
        [2, 70, 132, 60, 1, 20],  # it comes back by the rule that saved it, and writes two checkpoints
        [3, 110, 164, 50, 2, 20],
    ]
    with pytest.raises(sm.IllegalScheduleError, match=r"\(end\): job 1 starts at 0.0 s and ends at 110.0 s; .* 54.0 s"):
        replace(schedule, attempts=schedule.attempts.drop(columns=["speed", "interval_s", "cost_s"])).validate()


def test_the_checkpoints_that_a_job_wrote_are_no_work_though_its_cluster_writes_none_any_more() -> None:
    env, cluster = machines_on(1, 1, checkpoints=sm.Checkpoints(40, 5, 0))
    sm.Source(env, sm.Workload([1], [0], [100], [100], [1]), into=sm.QueueScheduler(env, cluster))
    recorder = sm.Recorder(env)
    env.run(until=30)
    cluster.checkpoints = sm.Checkpoints()
    env.run()
    assert recorder.schedule().validate().runs[["end_s", "work_s", "lost_s"]].to_numpy().tolist() == [[110, 100, 10]]


@pytest.mark.parametrize("size", [{"cores": 4}, {"machines": 2, "cores_per_machine": 2}])
def test_a_start_is_predicted_behind_what_is_shorter_at_this_speed(size: dict[str, int]) -> None:
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "slow", speed=0.5, **size), order="SPF")
    for job_id, runtime_s in ((1, 10.0), (2, 6.0)):  # which take 20 s and 12 s here
        queue.submit(sm.Job(job_id, 0.0, runtime_s, runtime_s, 4))
        env.run(until=env.now + 1)
    assert queue.predict_start(sm.Job(3, 2.0, 8.0, 8.0, 4)) == 20 + 12


def test_a_bid_may_name_the_speed_of_a_place() -> None:
    @sm.bid(wins="low")
    def early_finish(start: float, estimate: float, speed: float) -> float:
        return start + estimate / speed

    env, wide = queue_on(4)
    fast = sm.QueueScheduler(env, sm.Cluster(env, "fast", machines=[sm.Machines(2, cores=1, speed=2.0)]))
    router = sm.Auctioneer(env, [wide, fast], bid=early_finish, forward=True, rebalance_s=300)
    work = sm.Workload([1, 2, 3], [0, 1, 2], [100, 100, 30], [100, 100, 30], [2, 2, 1])
    schedule = scheduled(router, work)
    # The first ends at 50 s on the fast one. The second would end there at 100 s, and on the wide one at 101 s.
    assert schedule.cluster.tolist() == [1, 1, 0]
    assert schedule.end_s.tolist() == [50, 100, 32]


def test_energy_and_goodput_know_the_sizes_of_machines() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, 6), sm.Machines(1, 2)])
    sm.TraceCapacity(env, cluster, [(0, 2), (10, 1), (30, 2)])
    sm.Source(env, sm.Workload([1], [0], [20], [20], [6]), into=sm.QueueScheduler(env, cluster))
    recorder = sm.Recorder(env)
    env.run()
    schedule = recorder.schedule(window_s=(0, 40)).validate()
    metrics = schedule.metrics()
    assert metrics["goodput"] == pytest.approx(120 / (8 * 40 - 2 * 20))
    assert metrics["goodput"] + metrics["idle"] + metrics["aborted"] == pytest.approx(1)


def test_machines_out_of_their_range_and_placers_on_unequal_ones_are_refused() -> None:
    with pytest.raises(sm.RequestError, match=r"count must be an integer from 1 to 2\*\*53 \(got 0\)"):
        sm.Machines(0, 4)
    with pytest.raises(sm.RequestError, match="speed must be"):
        sm.Machines(1, 4, speed=float("inf"))
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, 4), sm.Machines(1, 2)])
    with pytest.raises(sm.RequestError, match="use machines of one size"):
        sm.FirstFit(env, cluster)
    fast = sm.Cluster(env, "f", machines=2, cores_per_machine=4, speed=2.0)
    with pytest.raises(sm.RequestError, match="planned starts need lengths that are known exactly"):
        sm.TargetAsap(env, fast, reference=sm.Workload([1], [0], [5], [5], [1]))


JOBS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 40), st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=12
)


@given(jobs=JOBS, speed=st.sampled_from([0.25, 0.5, 2.0, 8.0]), backfilling=st.sampled_from(["easy", "conservative"]))
def test_a_uniform_speed_is_a_change_of_units(
    jobs: list[tuple[int, int, int, int]], speed: float, backfilling: Backfilling
) -> None:
    """A cluster of speed v runs a workload as one of speed 1 runs the workload with times divided by v."""
    submit_s, runtime_s, over_s, cores = zip(*sorted(jobs), strict=True)
    estimate_s = [a + b for a, b in zip(runtime_s, over_s, strict=True)]

    def run(speed: float, by: float) -> sm.Schedule:
        env = sm.Environment()
        queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=4, speed=speed), backfilling=backfilling)
        times = [[each / by for each in column] for column in (runtime_s, estimate_s)]
        return scheduled(queue, sm.Workload(range(len(jobs)), submit_s, *times, cores))

    fast, plain = run(speed, 1.0), run(1.0, speed)
    assert fast.start_s.tolist() == plain.start_s.tolist()
    assert fast.end_s.tolist() == plain.end_s.tolist()
