"""Machines of unequal size and speed: how long jobs take, what schedulers expect, and what is proved of them."""

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

import simmodels as sm
from simmodels.policies.queue_options import Backfilling, Overrun
from tests.model_scripts import machines_on, queue_on, scheduled


def test_a_job_runs_as_fast_as_the_slowest_of_its_machines() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, 4, speed=2.0), sm.Machines(2, 2, speed=0.5)])
    assert (cluster.cores, cluster.speed, cluster.spec.sizes) == (8, 0.5, (4, 2, 2))
    assert [machine.speed for machine in cluster.machines] == [2, 0.5, 0.5]
    work = sm.Workload([1, 2, 3], [0, 0, 0], [100, 100, 100], [100, 100, 100], [3, 2, 1])
    schedule = scheduled(sm.QueueScheduler(env, cluster), work)
    assert schedule.end_s.tolist() == [50, 200, 200]  # the second has the last core of the fast machine, and a slow one
    assert schedule.runs["machine"].tolist() == [0, 0, 1]


def test_a_queue_predicts_and_backfills_by_the_speed_of_its_cluster() -> None:
    """At speed 2 the job of 100 s is expected to end at 50 s: one of 98 s fits before, one of 104 s does not."""
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=2, speed=2.0))
    work = sm.Workload([1, 2, 3, 4], [0, 1, 1, 1], [100, 10, 104, 98], [100, 10, 104, 98], [1, 2, 1, 1])
    sm.Source(env, work, into=queue)
    recorder = sm.Recorder(env)
    env.run(until=env.end_of(1))
    assert [queue.predict_start(job) for job in queue.waiting] == [50, 55]
    env.run()
    assert recorder.schedule().validate().start_s.tolist() == [0, 50, 55, 1]


@pytest.mark.parametrize("overrun", ["run", "kill"])
def test_jobs_are_killed_at_their_estimates_at_any_speed(overrun: Overrun) -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, 1, speed=4.0), sm.Machines(1, 1, speed=2.0)])
    work = sm.Workload([1, 2, 3, 4], [0, 0, 90, 90], [100, 100, 80, 80], [80, 80, 80, 80], [1, 1, 1, 1])
    schedule = scheduled(sm.QueueScheduler(env, cluster, overrun=overrun), work)
    assert schedule.end_s.tolist() == ([20, 40, 110, 130] if overrun == "kill" else [25, 50, 110, 130])
    assert schedule.outcome.tolist() == ([1, 1, 0, 0] if overrun == "kill" else [0, 0, 0, 0])


def test_a_checkpoint_counts_work_not_time() -> None:
    """At speed 2, 40 s did 80 s of the job's 100 s; on the machine of speed 0.5, the other 20 s take 40 s."""
    env = sm.Environment()
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, 1, speed=2.0), sm.Machines(1, 1, speed=0.5)])
    sm.Maintenance(env, cluster, start_s=40, duration_s=500, machines=[0], notice_s=10, mode="checkpoint")
    schedule = scheduled(sm.QueueScheduler(env, cluster), sm.Workload([1], [0], [100], [100], [1]))
    assert schedule.attempts[["start_s", "end_s", "work_s"]].to_numpy().tolist() == [[0, 40, 40], [40, 80, 40]]


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


def test_a_limit_counts_work_and_leaves_checkpoints_out() -> None:
    """50 s at speed 2, and nine checkpoints of 5 s, are no more than 100 s of work."""
    env = sm.Environment()
    saving = sm.Checkpoints(interval_s=10, cost_s=5)
    cluster = sm.Cluster(env, "c", machines=[sm.Machines(1, 4, 2.0), sm.Machines(1, 4, 1.0)], checkpoints=saving)
    schedule = scheduled(sm.QueueScheduler(env, cluster, overrun="kill"), sm.Workload([1], [0], [100], [100], [4]))
    assert (schedule.outcome.tolist(), schedule.end_s.tolist()) == ([0], [95])
