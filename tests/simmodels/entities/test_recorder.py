from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, queue_on, scheduled
from tests.own_schedulers import Fleeing

LOG = sm.Workload([4, 7, 2, 9], [3, 0, 1, 1], [5, 10, 10, 2], [5, 10, 10, 2], [1, 1, 2, 1])


def model(workload: sm.Workload = LOG, **options: object) -> tuple[sm.Environment, sm.QueueScheduler, sm.Recorder]:
    env, scheduler = queue_on(2, seed=3, **options)
    sm.Source(env, workload, into=scheduler)
    return env, scheduler, sm.Recorder(env)


def test_the_schedule_has_the_rows_of_the_log() -> None:
    env, _, recorder = model()
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload is LOG
    assert schedule.start_s.tolist() == [3, 0, 10, 1]
    assert schedule.cores == 2


def test_a_schedule_says_how_it_was_made() -> None:
    env, _, recorder = model(order="SAF", backfilling="easy", backfill_order="SPF", threshold_s=9.0)
    env.run()
    about = recorder.schedule().about
    expected = {"order": "SAF", "backfilling": "easy", "backfill_order": "SPF", "threshold_s": 9.0}
    assert {name: about[name] for name in expected} == expected
    assert (about["engine"], about["seed"]) == ("simpy", 3)


def test_halfway_jobs_are_unfinished_or_not_started() -> None:
    env, scheduler, recorder = model()
    env.run(until=2.5)
    schedule = recorder.schedule().validate()
    assert schedule.outcome.tolist() == [2, 2, 2, 2]
    assert np.isnan(schedule.end_s).all()
    assert np.isnan(schedule.start_s).tolist() == [True, False, True, False]
    assert [job.job_id for job in scheduler.waiting] == [2]
    env.run()
    assert recorder.schedule().validate().start_s.tolist() == [3, 0, 10, 1]


def test_attempts_are_a_table_in_order_of_start() -> None:
    env, _, recorder = model()
    env.run()
    expected = pd.DataFrame(
        {
            "job_id": [7, 9, 4, 2],
            "attempt": [1, 1, 1, 1],
            "start_s": [0.0, 1.0, 3.0, 10.0],
            "end_s": [10.0, 3.0, 8.0, 20.0],
            "outcome": np.zeros(4, np.int8),
        }
    )
    pd.testing.assert_frame_equal(recorder.schedule().runs[list(expected)], expected, check_dtype=False)


def test_lost_jobs_with_the_same_number_are_distinguished() -> None:
    env, cluster = machines_on(1, 2)
    scheduler = sm.QueueScheduler(env, cluster)
    sm.Source(env, sm.Workload([5, 5], [0, 1], [5, 5], [5, 5], [2, 2]), into=scheduler)
    recorder = sm.Recorder(env)
    env.run(until=3)
    cluster.machines[0].power_off()
    env.run(until=4)
    cluster.machines[0].power_on()
    env.run()
    attempts = recorder.schedule().validate().attempts
    assert attempts[["row", "attempt", "start_s"]].to_numpy().tolist() == [[0, 1, 0], [0, 2, 4], [1, 1, 9]]


def test_observers_see_everything_and_change_nothing() -> None:
    env, _, recorder = model(order="RANDOM", decide="event")
    env.run()
    alone = recorder.schedule()

    env, _, recorder = model(order="RANDOM", decide="event")
    seen: list[tuple[str, float, int]] = []

    def look(event: sm.Submitted | sm.Started | sm.Ended) -> str:
        job = event.job if isinstance(event, sm.Submitted) else event.attempt.job
        seen.append((type(event).__name__, env.now, job.job_id))
        env.stream("looking").random()
        return "ignored"

    for kind in (sm.Submitted, sm.Started, sm.Ended):
        env.on(kind, look)
    sm.Recorder(env)
    env.run()
    watched = recorder.schedule()
    assert watched.start_s.tobytes() == alone.start_s.tobytes()
    assert watched.end_s.tobytes() == alone.end_s.tobytes()
    assert len(seen) == 12
    assert [entry for entry in seen if entry[2] == 7] == [
        ("Submitted", 0.0, 7),
        ("Started", 0.0, 7),
        ("Ended", 10.0, 7),
    ]


def test_jobs_submitted_by_hand_are_recorded_in_order_of_submission() -> None:
    env, scheduler = queue_on(1)
    recorder = sm.Recorder(env)
    scheduler.submit(sm.Job(3, 0.0, 4.0, 4.0, 1))
    scheduler.submit(sm.Job(1, 0.0, 2.0, 2.0, 1, 12))
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload.job_id.tolist() == [3, 1]
    assert schedule.workload.user_id.tolist() == [-1, 12]
    assert schedule.start_s.tolist() == [0, 4]


def test_a_recorder_of_one_cluster_keeps_who_waits_and_runs_there() -> None:
    env = sm.Environment()
    schedulers = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=1)) for name in ("a", "b")]
    recorder = sm.Recorder(env, schedulers[0].cluster)
    for number in range(6):
        schedulers[number % 2].submit(sm.Job(number, 0.0, 4.0, 4.0, 1))
    for until, ended in ((1, 0), (4.5, 1), (30, 3)):
        env.run(until=until)
        schedule = recorder.schedule().validate()
        assert schedule.workload.job_id.tolist() == [0, 2, 4]
        assert np.isfinite(schedule.end_s).sum() == ended


def test_the_same_job_object_is_submitted_once_at_a_time() -> None:
    env, scheduler = queue_on(1)
    recorder = sm.Recorder(env)
    job = sm.Job(8, 0.0, 4.0, 4.0, 1)
    scheduler.submit(job)
    with pytest.raises(sm.RequestError, match="job 8 is submitted again before it is done; submit a copy"):
        scheduler.submit(job)
    env.run()
    scheduler.submit(job)
    env.run()
    assert recorder.schedule().start_s.tolist() == [0, 4]


def test_a_recorder_that_came_late_says_so() -> None:
    env, scheduler = queue_on(1)
    scheduler.submit(sm.Job(8, 0.0, 4.0, 4.0, 1))
    recorder = sm.Recorder(env)
    env.run(until=1)
    with pytest.raises(sm.RequestError, match="job 8 runs, but this recorder has not seen it submitted"):
        recorder.schedule()


class Slow(sm.Cluster):
    def runtime_s(self, job: sm.Job) -> float:
        return 1.1 * job.runtime_s


class Staged(sm.Cluster):
    def execute(self, attempt: sm.Attempt) -> Process:
        yield self.env.timeout(0.1)
        yield from super().execute(attempt)


@pytest.mark.parametrize("kind", [Slow, Staged])
@pytest.mark.parametrize("overrun", ["run", "kill"])
def test_runtimes_that_a_cluster_makes_are_those_of_the_schedule(kind: type[sm.Cluster], overrun: str) -> None:
    env = sm.Environment()
    schedule = scheduled(sm.QueueScheduler(env, kind(env, "a", cores=2), overrun=overrun), LOG)
    assert schedule.about["runtimes"] == "modelled"
    limit = LOG.estimate_s if overrun == "kill" else np.inf
    expected = np.minimum(1.1 * LOG.runtime_s, limit) if kind is Slow else LOG.runtime_s + 0.1
    assert np.allclose(schedule.executed_s, expected, rtol=1e-12)
    if kind is Slow:
        assert schedule.executed_s.tolist() == expected.tolist()  # known, not a rounded difference
    slowdown = (schedule.end_s - LOG.submit_s) / schedule.executed_s
    assert schedule.metrics()["mean_slowdown"] == pytest.approx(slowdown.mean())


def test_a_scheduler_may_change_a_job_at_its_start() -> None:
    class Guessing(sm.QueueScheduler):
        def start(self, job: sm.Job) -> sm.Attempt:
            return super().start(replace(job, runtime_s=3.0))

    env = sm.Environment()
    sm.Source(env, LOG, into=Guessing(env, sm.Cluster(env, "a", cores=2)))
    recorder = sm.Recorder(env)
    env.run(until=1)
    assert len(recorder.schedule().runs) == 1
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload is LOG
    assert schedule.executed_s.tolist() == [3, 3, 3, 3]


def test_a_scheduler_starts_a_job_on_the_cores_it_was_given() -> None:
    class Narrow(sm.QueueScheduler):
        def start(self, job: sm.Job) -> sm.Attempt:
            return super().start(replace(job, cores=1))

    env = sm.Environment()
    sm.Source(env, LOG, into=Narrow(env, sm.Cluster(env, "a", cores=2)))
    with pytest.raises(sm.RequestError, match="job 2 was started on 1 cores; the pass gave it 2"):
        env.run()


def test_a_modelled_schedule_must_fit_its_own_runtimes() -> None:
    terms = sm.Terms(modelled=True)
    schedule = sm.Schedule(LOG, 2, LOG.submit_s + 20, LOG.submit_s + 20.5, executed_s=np.full(4, 0.25), terms=terms)
    with pytest.raises(sm.IllegalScheduleError, match=r"job 4 starts at 23\.0 s and ends at 23\.5 s, which is not"):
        schedule.validate()


def test_jobs_held_back_are_in_order_of_submission() -> None:
    class Late(sm.QueueScheduler):
        def submit(self, job: sm.Job) -> None:
            if job.job_id == 7 and self.env.now < 2:
                self.env.process(self.later(job))
            else:
                super().submit(job)

        def later(self, job: sm.Job) -> Process:
            yield self.env.timeout(2.0)
            super().submit(job)

    env = sm.Environment()
    schedule = scheduled(Late(env, sm.Cluster(env, "a", cores=2)), LOG)
    assert schedule.workload.job_id.tolist() == [2, 9, 7, 4]
    assert schedule.start_s.tolist() == [1, 11, 11, 13]


def test_a_recorder_of_one_cluster_is_not_bothered_by_another() -> None:
    env = sm.Environment()
    a, b = (sm.Cluster(env, name, cores=1) for name in "ab")
    recorder = sm.Recorder(env, a)
    scheduler = sm.QueueScheduler(env, a)
    b.start(sm.Job(1, 0.0, 4.0, 4.0, 1))
    scheduler.submit(sm.Job(2, 0.0, 4.0, 4.0, 1))
    seen: list[int] = []
    env.on(sm.Ended, lambda _: seen.append(int(np.isfinite(recorder.schedule().end_s).sum())))
    env.run()
    assert seen == [0, 1]
    assert recorder.schedule().workload.job_id.tolist() == [2]


def test_a_recorder_of_one_cluster_does_not_count_on_jobs_to_come() -> None:
    class Router:
        def accept(self, workload: sm.Workload) -> None:
            workload.require_runnable(1)

        def submit(self, job: sm.Job) -> None:
            schedulers[job.job_id % 2].submit(job)

    env = sm.Environment()
    schedulers = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=1)) for name in "ab"]
    sm.Source(env, sm.Workload(range(4), range(4), [1] * 4, [1] * 4, [1] * 4), into=Router())
    recorder = sm.Recorder(env, schedulers[0].cluster)
    for until, jobs in ((0.5, [0]), (1.5, [0]), (9, [0, 2])):
        env.run(until=until)
        assert recorder.schedule().workload.job_id.tolist() == jobs


def test_another_limit_is_seen_in_what_was_executed() -> None:
    class Grace(sm.QueueScheduler):
        def start(self, job: sm.Job) -> sm.Attempt:
            return self.cluster.start(job, limit_s=2 * job.estimate_s, then=self.ended)

    env = sm.Environment()
    scheduler = Grace(env, sm.Cluster(env, "a", cores=1), overrun="kill")
    recorder = sm.Recorder(env)
    scheduler.submit(sm.Job(1, 0.0, 100.0, 10.0, 1))
    env.run()
    assert recorder.schedule().validate().executed_s.tolist() == [20]


def test_a_job_that_moved_is_on_each_cluster_where_it_ran() -> None:
    """Lost on a at 4 s, run on b: b waited for it from 4 s on, and all that a was busy with came to nothing."""

    env = sm.Environment()
    a, b = (sm.Cluster(env, name, machines=2, cores_per_machine=1) for name in "ab")
    scheduler, refuge = Fleeing(env, a), sm.QueueScheduler(env, b)
    scheduler.refuge = refuge
    recorders = [sm.Recorder(env), sm.Recorder(env, a), sm.Recorder(env, b)]
    scheduler.submit(sm.Job(1, 0.0, 9.0, 9.0, 2))  # on both machines
    refuge.submit(sm.Job(2, 0.0, 6.0, 6.0, 2))
    sm.TraceCapacity(env, a, [(0, 2), (4, 1)])
    env.run()
    whole, *recorded = (each.schedule(window_s=(0, 16)).validate() for each in recorders)
    for on_a, on_b in (recorded, [whole.on("a").validate(), whole.on("b").validate()]):
        lost, kept = on_a.metrics(), on_b.metrics()
        assert (lost["kills"], lost["aborted"], lost["jobs"], lost["completed"]) == (1, 8 / (16 + 4), 0, 0)
        assert (kept["kills"], kept["aborted"], kept["jobs"], kept["completed"]) == (0, 0, 2, 2)
        assert on_a.runs[["attempt", "start_s", "end_s", "outcome"]].to_numpy().tolist() == [[1, 0, 4, 2]]
        assert on_b.runs[["attempt", "start_s", "end_s"]].to_numpy().tolist() == [[1, 0, 6], [2, 6, 15]]
        assert on_a.queue_length().empty
        assert on_b.queue_length().to_numpy().tolist() == [[4, 1], [6, 0]]
    assert whole.metrics()["kills"] == 1


def test_a_part_is_proved_by_the_speed_and_the_limits_of_where_its_jobs_were_before() -> None:
    """30 s at half the speed are 15 s of a job of 20 s that may take 10 s; where it goes then, jobs are killed."""

    env = sm.Environment()
    scheduler = Fleeing(env, sm.Cluster(env, "a", cores=1, speed=0.5))
    scheduler.refuge = sm.QueueScheduler(env, b := sm.Cluster(env, "b", cores=1), overrun="kill")
    recorder = sm.Recorder(env, b)
    scheduler.submit(sm.Job(1, 0.0, 20.0, 10.0, 1))
    env.run(until=30)
    next(iter(scheduler.cluster.running)).interrupt()
    for until in (35, None):
        env.run(until=until)
        part = recorder.schedule().validate()
    assert (part.start_s.tolist(), part.end_s.tolist(), part.outcome.tolist()) == ([30], [40], [1])


def test_workflows_split_over_clusters_are_jobs_of_each_and_whole_ones_stay_workflows() -> None:
    env = sm.Environment()
    clusters = [sm.Cluster(env, name, cores=2, kind=name) for name in "ab"]
    split = sm.Workflow(1, 0.0, [4, 6], 2, [(0, 1)], ("a", "b"))
    whole = sm.Workflow(2, 0.0, [3, 5], 2, [(0, 1)], "b")
    sm.Source(env, [split, whole], into=sm.Auctioneer(env, clusters, bid="FIFO", ccr=0.5))
    recorders = [sm.Recorder(env, cluster) for cluster in clusters]
    env.run()
    a, b = (each.schedule().validate() for each in recorders)
    assert (a.workload.is_rigid, a.workload.job_id.tolist(), a.metrics()["completed"]) == (True, [1], 1)
    assert (b.workload.job_id.tolist(), b.workflows["job_id"].tolist()) == ([1, 2, 2], [2])
    assert (b.metrics()["completed"], b.metrics()["finished"], b.metrics()["mean_slr"]) == (1, 1, 1)


def test_another_job_with_the_memory_of_a_lost_one_is_a_job_of_its_own() -> None:
    # A job that was lost on another cluster, and done there later, is known no more: the next may have its id.
    env = sm.Environment()
    watched, other = (sm.Cluster(env, name, machines=1, cores_per_machine=1) for name in "ab")
    here, there = (sm.QueueScheduler(env, cluster) for cluster in (watched, other))
    recorder = sm.Recorder(env, watched)

    def power() -> Process:
        for turn in range(200):
            there.submit(sm.Job(turn, float(env.now), 2.0, 2.0, 1))
            yield env.timeout(1)
            yield other.machines[0].power_off()
            yield other.machines[0].power_on()
            yield env.timeout(3)
            here.submit(sm.Job(1000 + turn, float(env.now), 1.0, 1.0, 1))
            yield env.timeout(2)

    env.process(power())
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload.job_id.tolist() == list(range(1000, 1200))
    assert schedule.metrics()["completed"] == 200


def test_all_clusters_are_one_schedule_with_views_of_each_and_a_recorder_of_one_sees_its_own_jobs_only() -> None:
    """Two machines of their own queues, one of which is off from 3 to 6; jobs in turn."""
    env = sm.Environment()
    clusters = [sm.Cluster(env, name, machines=2, cores_per_machine=1) for name in "ab"]
    sm.TraceCapacity(env, clusters[1], [(0, 2), (3, 1), (6, 2)])
    for number, cluster in enumerate(clusters):
        jobs = sm.Workload([10 * number + k for k in range(4)], [0, 0, 1, 2], [5] * 4, [5] * 4, [1] * 4)
        sm.Source(env, jobs, into=sm.QueueScheduler(env, cluster))
    recorders = [sm.Recorder(env), sm.Recorder(env, clusters[1])]
    env.run()
    whole, alone = (each.schedule(window_s=(0, 30)).validate() for each in recorders)
    assert [place.name for place in whole.clusters] == ["a", "b"]
    assert len(whole.attempts) == 9
    metrics = whole.metrics()
    assert metrics["goodput"] + metrics["aborted"] + metrics["idle"] == pytest.approx(1, abs=1e-12)
    assert metrics["goodput"] == pytest.approx(8 * 5 / (4 * 30 - 3))
    assert whole.on(0).validate().metrics()["kills"] == 0
    for b in (whole.on("b").validate(), alone):
        assert (b.workload.job_id.tolist(), b.capacity.machines.tolist()) == ([10, 11, 12, 13], [2, 1, 2])
        of_b = b.metrics()
        assert (of_b["jobs"], of_b["completed"], of_b["unfinished"], of_b["kills"]) == (4, 4, 0, 1)


def test_clusters_that_nobody_serves_are_not_in_the_schedule() -> None:
    env, _, recorder = model()
    sm.Cluster(env, "unused", cores=1000)
    env.run()
    assert recorder.schedule().cores == 2


def test_a_job_on_several_machines_is_held_against_each() -> None:
    env, cluster = machines_on(3, 2, name="green")
    sm.Source(env, sm.Workload([1, 2], [0, 0], [9, 9], [9, 9], [3, 2]), into=sm.QueueScheduler(env, cluster))
    recorder = sm.Recorder(env)
    env.run(until=4)
    halfway = recorder.schedule().validate()
    env.run()
    schedule = recorder.schedule().validate()
    for each in (halfway, schedule):
        assert sorted(each.all_parts()[["row", "machine", "cores"]].to_numpy().tolist()) == [
            [0, 0, 2], [0, 1, 1], [1, 1, 1], [1, 2, 1],
        ]  # fmt: skip
        assert each.on("green").validate().parts.equals(each.parts)
    crowded = replace(schedule, parts=schedule.all_parts().assign(machine=[0, 0, 1, 2]))
    with pytest.raises(sm.IllegalScheduleError, match=r"capacity\): job 1 starts at 0.0 s, and 3 cores of machine 0"):
        crowded.validate()
    off = pd.DataFrame({"cluster": [0], "machine": [1], "start_s": [5.0], "end_s": [6.0]})
    with pytest.raises(sm.IllegalScheduleError, match=r"offline\): job 1 starts at 0.0 s on machine 1"):
        replace(schedule, off_spans=off).validate()


def test_lost_tasks_of_workflows_are_recorded() -> None:
    env, cluster = machines_on(2, 2)
    auctioneer = sm.Auctioneer(env, [cluster], bid="FIFO")
    sm.TraceCapacity(env, cluster, [(0, 2), (7, 1), (9, 2)])
    schedule = scheduled(auctioneer, [sm.Workflow(1, 0.0, [4, 6], 2, [(0, 1)]), sm.Workflow(2, 0.0, [10], 2)])
    runs = schedule.runs
    assert runs[["row", "attempt", "start_s", "end_s", "outcome"]].to_numpy().tolist() == [
        [0, 1, 0, 4, 0], [2, 1, 0, 7, 2], [1, 1, 4, 10, 0], [2, 2, 9, 19, 0],
    ]  # fmt: skip
    metrics = schedule.metrics()
    assert (metrics["kills"], metrics["finished"], metrics["value"]) == (1, 2, 1)
    assert metrics["goodput"] == pytest.approx((4 + 6 + 10) * 2 / (4 * 19 - 2 * 2))
