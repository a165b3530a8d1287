from dataclasses import replace
from typing import Any

import numpy as np
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


def test_the_schedule_has_the_rows_of_the_log_and_halfway_jobs_are_unfinished_or_not_started() -> None:
    env, scheduler, recorder = model()
    env.run(until=2.5)
    schedule = recorder.schedule().validate()
    assert schedule.outcome.tolist() == [2, 2, 2, 2]
    assert np.isnan(schedule.end_s).all()
    assert np.isnan(schedule.start_s).tolist() == [True, False, True, False]
    assert [job.job_id for job in scheduler.waiting] == [2]
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload is LOG
    assert (schedule.start_s.tolist(), schedule.cores) == ([3, 0, 10, 1], 2)


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
    seen: list[tuple[type, float, int]] = []

    def look(event: sm.Submitted | sm.Started | sm.Ended) -> str:
        job = event.job if isinstance(event, sm.Submitted) else event.attempt.job
        seen.append((type(event), env.now, job.job_id))
        env.stream("looking").random()
        return "ignored"

    for kind in (sm.Submitted, sm.Started, sm.Ended):
        env.on(kind, look)
    env.run()
    watched = recorder.schedule()
    assert watched.start_s.tobytes() == alone.start_s.tobytes()
    assert watched.end_s.tobytes() == alone.end_s.tobytes()
    assert len(seen) == 12
    assert [entry for entry in seen if entry[2] == 7] == [(sm.Submitted, 0, 7), (sm.Started, 0, 7), (sm.Ended, 10, 7)]


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


@pytest.mark.parametrize("change", [{"runtime_s": 3.0}, {"cores": 1}])
def test_a_scheduler_may_change_a_job_at_its_start_but_not_how_wide_it_is(change: dict[str, Any]) -> None:
    class Guessing(sm.QueueScheduler):
        def start(self, job: sm.Job) -> sm.Attempt:
            return super().start(replace(job, **change))

    env = sm.Environment()
    sm.Source(env, LOG, into=Guessing(env, sm.Cluster(env, "a", cores=2)))
    recorder = sm.Recorder(env)
    env.run(until=1)
    assert len(recorder.schedule().runs) == 1
    if "cores" in change:
        with pytest.raises(sm.RequestError, match="job 2 was started on 1 cores; the pass gave it 2"):
            env.run()
        return
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload is LOG
    assert schedule.executed_s.tolist() == [3, 3, 3, 3]


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


def test_clusters_that_nobody_serves_are_not_in_the_schedule() -> None:
    env, _, recorder = model()
    sm.Cluster(env, "unused", cores=1000)
    env.run()
    assert recorder.schedule().cores == 2
