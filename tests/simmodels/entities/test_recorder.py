from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.entities.attempt import Attempt
from simmodels.entities.environment import Process
from simmodels.errors import IllegalScheduleError, RequestError
from simmodels.workload import Job, Workload

LOG = Workload([4, 7, 2, 9], [3, 0, 1, 1], [5, 10, 10, 2], [5, 10, 10, 2], [1, 1, 2, 1])


def model(workload: Workload = LOG, **options: object) -> tuple[sm.Environment, sm.QueueScheduler, sm.Recorder]:
    env = sm.Environment(seed=3)
    scheduler = sm.QueueScheduler(env, sm.Cluster(env, "a", cores=2), **options)
    sm.Source(env, workload, into=scheduler)
    return env, scheduler, sm.Recorder(env)


def test_the_schedule_has_the_rows_of_the_log() -> None:
    env, _, recorder = model()
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload is LOG
    assert schedule.start_s.tolist() == [3, 0, 10, 1]
    assert schedule.cores == 2


def test_a_schedule_tells_how_it_was_made() -> None:
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
    assert recorder.attempts.empty
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
    pd.testing.assert_frame_equal(recorder.attempts, expected, check_dtype=False)


def test_lost_jobs_with_the_same_number_cannot_be_told_apart() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "green", machines=1, cores_per_machine=2)
    scheduler = sm.QueueScheduler(env, cluster)
    sm.Source(env, Workload([5, 5], [0, 1], [5, 5], [5, 5], [2, 2]), into=scheduler)
    recorder = sm.Recorder(env)
    env.run(until=3)
    cluster.machines[0].power_off()
    env.run(until=4)
    cluster.machines[0].power_on()
    env.run()
    with pytest.raises(RequestError, match="attempts of job 5; the workload has 2 jobs of this number; 1 is allowed"):
        recorder.schedule()


def test_observers_see_everything_and_change_nothing() -> None:
    env, _, recorder = model(order="RANDOM", decide="event")
    env.run()
    alone = recorder.schedule()

    env, _, recorder = model(order="RANDOM", decide="event")
    seen: list[tuple[str, float, int]] = []

    def look(happening: str, what: Job | Attempt) -> str:
        job = what.job if isinstance(what, Attempt) else what
        seen.append((happening, env.now, job.job_id))
        env.stream("looking").random()
        return "ignored"

    for happening in ("submitted", "started", "ended"):
        env.on(happening, lambda what, happening=happening: look(happening, what))
    sm.Recorder(env)
    env.run()
    watched = recorder.schedule()
    assert watched.start_s.tobytes() == alone.start_s.tobytes()
    assert watched.end_s.tobytes() == alone.end_s.tobytes()
    assert len(seen) == 12
    assert [entry for entry in seen if entry[2] == 7] == [
        ("submitted", 0.0, 7),
        ("started", 0.0, 7),
        ("ended", 10.0, 7),
    ]


def test_jobs_submitted_by_hand_are_recorded_in_order_of_submission() -> None:
    env = sm.Environment()
    scheduler = sm.QueueScheduler(env, sm.Cluster(env, "a", cores=1))
    recorder = sm.Recorder(env)
    scheduler.submit(Job(3, 0.0, 4.0, 4.0, 1))
    scheduler.submit(Job(1, 0.0, 2.0, 2.0, 1, 12))
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload.job_id.tolist() == [3, 1]
    assert schedule.workload.user_id.tolist() == [-1, 12]
    assert schedule.start_s.tolist() == [0, 4]


def test_an_empty_model_has_an_empty_schedule() -> None:
    env = sm.Environment()
    sm.QueueScheduler(env, sm.Cluster(env, "a", cores=1))
    recorder = sm.Recorder(env)
    env.run()
    assert len(recorder.schedule().validate()) == 0


def test_a_recorder_of_one_cluster_knows_the_jobs_of_that_cluster_only() -> None:
    env = sm.Environment()
    clusters = [sm.Cluster(env, name, cores=2) for name in ("a", "b")]
    for number, cluster in enumerate(clusters):
        workload = Workload([number], [0], [5], [5], [1])
        sm.Source(env, workload, into=sm.QueueScheduler(env, cluster))
    recorder = sm.Recorder(env, clusters[1])
    env.run()
    assert recorder.schedule().workload.job_id.tolist() == [1]
    assert recorder.schedule().metrics()["unfinished"] == 0


def test_a_recorder_of_one_cluster_keeps_who_waits_and_runs_there() -> None:
    env = sm.Environment()
    schedulers = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=1)) for name in ("a", "b")]
    recorder = sm.Recorder(env, schedulers[0].cluster)
    for number in range(6):
        schedulers[number % 2].submit(Job(number, 0.0, 4.0, 4.0, 1))
    for until, ended in ((1, 0), (4.5, 1), (30, 3)):
        env.run(until=until)
        schedule = recorder.schedule().validate()
        assert schedule.workload.job_id.tolist() == [0, 2, 4]
        assert np.isfinite(schedule.end_s).sum() == ended


def test_the_same_job_object_is_submitted_once_at_a_time() -> None:
    env = sm.Environment()
    scheduler = sm.QueueScheduler(env, sm.Cluster(env, "a", cores=1))
    recorder = sm.Recorder(env)
    job = Job(8, 0.0, 4.0, 4.0, 1)
    scheduler.submit(job)
    with pytest.raises(RequestError, match="job 8 is submitted again before it is done"):
        scheduler.submit(job)
    env.run()
    scheduler.submit(job)
    env.run()
    assert recorder.schedule().start_s.tolist() == [0, 4]


def test_a_recorder_that_came_late_says_so() -> None:
    env = sm.Environment()
    scheduler = sm.QueueScheduler(env, sm.Cluster(env, "a", cores=1))
    scheduler.submit(Job(8, 0.0, 4.0, 4.0, 1))
    env.run(until=1)
    recorder = sm.Recorder(env)
    with pytest.raises(RequestError, match="job 8 runs, but this recorder has not seen it submitted"):
        recorder.schedule()


class Slow(sm.Cluster):
    def runtime_s(self, job: Job) -> float:
        return 1.1 * job.runtime_s


class Staged(sm.Cluster):
    def execute(self, attempt: Attempt) -> Process:
        yield self.env.timeout(0.1)
        yield from super().execute(attempt)


@pytest.mark.parametrize("kind", [Slow, Staged])
@pytest.mark.parametrize("overrun", ["run", "kill"])
def test_runtimes_that_a_cluster_makes_are_those_of_the_schedule(kind: type[sm.Cluster], overrun: str) -> None:
    env = sm.Environment()
    sm.Source(env, LOG, into=sm.QueueScheduler(env, kind(env, "a", cores=2), overrun=overrun))
    recorder = sm.Recorder(env)
    env.run()
    schedule = recorder.schedule().validate()
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
        def start(self, job: Job) -> Attempt:
            return super().start(replace(job, runtime_s=3.0))

    env = sm.Environment()
    sm.Source(env, LOG, into=Guessing(env, sm.Cluster(env, "a", cores=2)))
    recorder = sm.Recorder(env)
    env.run(until=1)
    assert len(recorder.attempts) == 1
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload is LOG
    assert schedule.executed_s.tolist() == [3, 3, 3, 3]


def test_a_scheduler_starts_a_job_on_the_cores_it_was_given() -> None:
    class Narrow(sm.QueueScheduler):
        def start(self, job: Job) -> Attempt:
            return super().start(replace(job, cores=1))

    env = sm.Environment()
    sm.Source(env, LOG, into=Narrow(env, sm.Cluster(env, "a", cores=2)))
    with pytest.raises(RequestError, match="job 2 was started on 1 cores; the pass gave it 2"):
        env.run()


def test_a_modelled_schedule_must_fit_its_own_runtimes() -> None:
    about = {"runtimes": "modelled"}
    schedule = sm.Schedule(LOG, 2, LOG.submit_s + 20, LOG.submit_s + 20.5, executed_s=np.full(4, 0.25), about=about)
    with pytest.raises(IllegalScheduleError, match=r"job 4 starts at 23\.0 s and ends at 23\.5 s, which is not"):
        schedule.validate()


def test_jobs_held_back_are_in_order_of_submission() -> None:
    class Late(sm.QueueScheduler):
        def submit(self, job: Job) -> None:
            if job.job_id == 7 and self.env.now < 2:
                self.env.process(self.later(job))
            else:
                super().submit(job)

        def later(self, job: Job) -> Process:
            yield self.env.timeout(2.0)
            super().submit(job)

    env = sm.Environment()
    sm.Source(env, LOG, into=Late(env, sm.Cluster(env, "a", cores=2)))
    recorder = sm.Recorder(env)
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload.job_id.tolist() == [2, 9, 7, 4]
    assert schedule.start_s.tolist() == [1, 11, 11, 13]


def test_a_recorder_of_one_cluster_is_not_bothered_by_another() -> None:
    env = sm.Environment()
    a, b = (sm.Cluster(env, name, cores=1) for name in "ab")
    recorder = sm.Recorder(env, a)
    scheduler = sm.QueueScheduler(env, a)
    b.start(Job(1, 0.0, 4.0, 4.0, 1))
    scheduler.submit(Job(2, 0.0, 4.0, 4.0, 1))
    seen: list[int] = []
    env.on("ended", lambda _: seen.append(int(np.isfinite(recorder.schedule().end_s).sum())))
    env.run()
    assert seen == [0, 1]
    assert recorder.schedule().workload.job_id.tolist() == [2]


def test_a_recorder_of_one_cluster_does_not_count_on_jobs_to_come() -> None:
    class Router:
        def accept(self, workload: Workload) -> None:
            workload.require_runnable(1)

        def submit(self, job: Job) -> None:
            schedulers[job.job_id % 2].submit(job)

    env = sm.Environment()
    schedulers = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=1)) for name in "ab"]
    sm.Source(env, Workload(range(4), range(4), [1] * 4, [1] * 4, [1] * 4), into=Router())
    recorder = sm.Recorder(env, schedulers[0].cluster)
    for until, jobs in ((0.5, [0]), (1.5, [0]), (9, [0, 2])):
        env.run(until=until)
        assert recorder.schedule().workload.job_id.tolist() == jobs


def test_another_limit_is_seen_in_what_was_executed() -> None:
    class Grace(sm.QueueScheduler):
        def start(self, job: Job) -> Attempt:
            return self.cluster.start(job, limit_s=2 * job.estimate_s, then=self.ended)

    env = sm.Environment()
    scheduler = Grace(env, sm.Cluster(env, "a", cores=1), overrun="kill")
    recorder = sm.Recorder(env)
    scheduler.submit(Job(1, 0.0, 100.0, 10.0, 1))
    env.run()
    assert recorder.schedule().validate().executed_s.tolist() == [20]


def test_a_lost_job_may_go_on_to_another_cluster() -> None:
    class Fleeing(sm.QueueScheduler):
        def ended(self, attempt: Attempt) -> None:
            if attempt.outcome is sm.Outcome.LOST:
                refuge.submit(attempt.job)
            else:
                super().ended(attempt)

    env = sm.Environment()
    scheduler = Fleeing(env, sm.Cluster(env, "a", cores=1))
    refuge = sm.QueueScheduler(env, sm.Cluster(env, "b", cores=1))
    recorder = sm.Recorder(env)
    scheduler.submit(Job(1, 0.0, 9.0, 9.0, 1))
    env.run(until=4)
    next(iter(scheduler.cluster.running)).interrupt()
    env.run()
    schedule = recorder.schedule().validate()
    assert (schedule.start_s.tolist(), schedule.end_s.tolist()) == ([4], [13])
    assert schedule.attempts is not None
    assert schedule.attempts["attempt"].tolist() == [1, 2]
