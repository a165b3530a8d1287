# ruff: noqa: ANN401  options of any type are handed through
import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, queue_on, rigid, scheduled
from tests.own_schedulers import AsTheyCome, ShortestThatFits
from tests.refused import refused

# -- a scheduler of one's own --------------------------------------------------------------------------


Rows = list[tuple[int, int, int]]
ROWS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=25)


@given(rows=ROWS, changes=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 2)), max_size=6))
def test_a_scheduler_of_ones_own_equals_the_queue_of_the_same_rule(rows: Rows, changes: list[Any]) -> None:
    capacity = [sm.CapacityChange(0, 2), *(sm.CapacityChange(*change) for change in dict(sorted(changes)).items())]
    found = []
    for kind, options in ((ShortestThatFits, {}), (sm.QueueScheduler, {"order": "SPF", "backfilling": "greedy"})):
        env, cluster = machines_on(2, 2)
        sm.TraceCapacity(env, cluster, [*capacity, sm.CapacityChange(50, 2)])
        scheduler = kind(env, cluster, **options)
        found.append(scheduled(scheduler, rigid(*sorted(rows)), proved=not options))
        assert scheduler.jobs_not_done == scheduler.waiting == scheduler.running == []
    np.testing.assert_array_equal(found[0].start_s, found[1].start_s)
    pd.testing.assert_frame_equal(found[0].attempts, found[1].attempts)


def test_a_scheduler_of_ones_own_says_on_which_machines_jobs_run() -> None:
    class FromTheEnd(sm.Scheduler):
        def decide(self, now: float) -> Iterable[sm.Placement]:  # noqa: ARG002
            for job in self.waiting[: 1 if self.running else 2]:
                yield sm.Placement(job, self.cluster.machines[::-1])

    env = sm.Environment()
    scheduler = FromTheEnd(env, sm.Cluster(env, "a", machines=3, cores_per_machine=2))
    schedule = scheduled(scheduler, rigid((0, 5, 1), (0, 5, 3)))
    assert schedule.attempts["machine"].tolist() == [2, 2]
    assert schedule.all_parts()[["machine", "cores"]].to_numpy().tolist() == [[2, 1], [1, 2]]


def test_a_scheduler_may_wake_itself() -> None:
    class Hourly(sm.Scheduler):
        def decide(self, now: float) -> Iterable[sm.Placement]:
            if now % 3600 or not self.waiting:
                self.wake((now // 3600 + 1) * 3600)
                return []
            return [sm.Placement(job) for job in self.waiting]

    env = sm.Environment()
    scheduler = Hourly(env, sm.Cluster(env, "a", cores=4))
    sm.Source(env, rigid((1, 5, 1), (2, 5, 1)), into=scheduler)
    recorder = sm.Recorder(env)
    env.run(until=8000)
    assert recorder.schedule().start_s.tolist() == [3600, 3600]


@pytest.mark.parametrize(
    ("decide", "text"),
    [
        (lambda _, job: [sm.Placement(job)] * 2, "Own.decide placed job 1, which does not wait; place jobs of"),
        (lambda *_: [sm.Placement(sm.Job(9, 0.0, 1.0, 1.0, 1))], "Own.decide placed job 9, which does"),
        (lambda _, job: [job], r"what Own.decide returns must be Placements, such as sm.Placement\(job\) \(got Job\("),
        (
            lambda own, job: [sm.Placement(job, own.cluster.machines[:1])],
            "job 1: needs 3 cores, and 2 of machine 0 of 'a' are free",
        ),
    ],
)
def test_placements_that_cannot_be_are_refused(decide: Any, text: str) -> None:
    class Own(sm.Scheduler):
        def decide(self, now: float) -> Iterable[sm.Placement]:  # noqa: ARG002
            return decide(self, self.waiting[0])

    env, cluster = machines_on(2, 2, name="a")
    own = Own(env, cluster)
    own.submit(sm.Job(1, 0.0, 5.0, 5.0, 3))
    with pytest.raises(sm.SimModelsError, match=text):
        env.run()


# -- what can be asked of any scheduler ------------------------------------------------------------------


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative", None])
def test_a_job_that_waits_can_be_withdrawn(backfilling: Any) -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "a", cores=4)
    how = {} if backfilling is None else {"backfilling": backfilling}
    scheduler = (sm.QueueScheduler if how else AsTheyCome)(env, cluster, **how)
    recorder = sm.Recorder(env)
    jobs = [
        sm.Job(number, 0.0, runtime_s, runtime_s, cores)
        for number, runtime_s, cores in ((0, 9.0, 3), (1, 9.0, 4), (2, 2.0, 4))
    ]
    for job in jobs:
        scheduler.submit(job)
    env.run(until=1)
    late = sm.Job(3, 1.0, 2.0, 2.0, 1)
    scheduler.submit(late)
    scheduler.withdraw(late)  # it has not even come into the queue
    scheduler.withdraw(jobs[1])
    assert scheduler.waiting == [jobs[2]]
    for job in (jobs[0], jobs[1], late):
        with refused(f"...job {job.job_id} is to be withdrawn from cluster 'a', where it does not..."):
            scheduler.withdraw(job)
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.start_s.tolist()[::2] == [0, 9]
    assert np.isnan(schedule.start_s[1::2]).all()
    assert scheduler.jobs_not_done == []


def test_what_a_withdrawn_job_kept_back_starts_at_once() -> None:
    env, scheduler = queue_on(4, backfilling="none", queue_depth=1)
    wide = sm.Job(1, 0.0, 9.0, 9.0, 4)
    for job in (sm.Job(0, 0.0, 9.0, 9.0, 1), wide, sm.Job(2, 0.0, 9.0, 9.0, 1)):
        scheduler.submit(job)
    started: list[tuple[int, float]] = []
    env.on(sm.Started, lambda event: started.append((event.attempt.job.job_id, env.now)))
    env.run(until=3)
    scheduler.withdraw(wide)
    env.run()
    assert started == [(0, 0), (2, 3)]


@pytest.mark.parametrize("asked", [False, True])
def test_a_job_that_was_submitted_twice_is_withdrawn_from_its_first_place_when_the_other_is_done(asked: bool) -> None:
    env, scheduler = queue_on(4, order="LCFS")
    first, twice, last = (sm.Job(number, 0.0, 9.0, 9.0, 4) for number in range(3))
    for at_s, job in ((1, first), (2, twice), (3, twice), (12, last)):
        env.run(until=at_s)
        scheduler.submit(job)
        if asked:
            scheduler.predict_start(job)
    env.run(until=20)  # the later one has run from 10 to 19, and now the last one runs
    assert scheduler.waiting == [twice]
    scheduler.withdraw(twice)
    assert scheduler.jobs_not_done == [last]


PLACERS = [sm.FirstFit, sm.TargetStretch, sm.TargetAsap, sm.PackedTargetAsap]


def placer_of(env: sm.Environment, kind: Any, machines: int = 1) -> Any:
    options = {} if issubclass(kind, sm.FirstFit) else {"reference": rigid((0, 5, 1), (0, 9, 1))}
    return kind(env, sm.Cluster(env, "a", machines=machines, cores_per_machine=1), **options)


@pytest.mark.parametrize("kind", PLACERS)
def test_a_placer_plans_again_when_a_job_is_withdrawn(kind: Any) -> None:
    env = sm.Environment()
    placer = placer_of(env, kind)
    recorder = sm.Recorder(env)
    jobs = [sm.Job(number, 0.0, 5.0, 5.0, 1) for number in (1, 2, 3)]
    for job in jobs:
        placer.submit(job)
    env.run(until=1)
    assert placer.waiting == jobs[1:]
    placer.withdraw(jobs[1])
    assert placer.waiting == jobs[2:]
    for job in jobs[:2]:
        with pytest.raises(sm.RequestError, match=f"job {job.job_id} is to be withdrawn from cluster 'a'"):
            placer.withdraw(job)
    env.run(until=2)
    placer.enqueue(jobs[1])  # behind the others
    env.run()
    assert recorder.schedule().validate().start_s.tolist() == [0, 10, 5]


@pytest.mark.parametrize("kind", PLACERS)
def test_a_lost_job_can_be_withdrawn_before_it_waits_again(kind: Any) -> None:
    class Flees(kind):  # type: ignore[misc]
        def ended(self, attempt: sm.Attempt) -> None:
            super().ended(attempt)
            if attempt.outcome is sm.Outcome.LOST:
                assert self.waiting == self.jobs_not_done == [attempt.submitted]
                self.withdraw(attempt.submitted)
                assert self.waiting == self.jobs_not_done == []
                refuge.enqueue(attempt.submitted)

    env = sm.Environment()
    placer = placer_of(env, Flees)
    refuge = sm.QueueScheduler(env, sm.Cluster(env, "b", cores=1))
    recorder = sm.Recorder(env)
    job = sm.Job(1, 0.0, 5.0, 5.0, 1)
    placer.submit(job)
    env.run(until=2)
    next(iter(placer.cluster.running)).interrupt()
    env.run(until=3)
    placer.submit(sm.Job(2, 3.0, 5.0, 5.0, 1))
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.start_s.tolist() == [2, 3]
    assert schedule.cluster.tolist() == [1, 0]


@given(
    rows=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 2)), min_size=1, max_size=20),
    steps=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3)), max_size=4, unique_by=lambda step: step[0]),
    picks=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8),
    kind=st.sampled_from(PLACERS),
)
def test_withdrawn_jobs_may_come_back_and_all_complete(
    rows: Rows, steps: list[tuple[int, int]], picks: list[tuple[int, int]], kind: type[Any]
) -> None:
    env, cluster = machines_on(3, 2)
    table = [sm.CapacityChange(at_s, machines) for at_s, machines in sorted(steps)]
    sm.TraceCapacity(env, cluster, [*table, sm.CapacityChange(100, 3)])
    log = rigid(*sorted(rows))
    placer = kind(env, cluster, **({} if kind is sm.FirstFit else {"reference": log}))

    def operate() -> Process:
        for at_s, pick in sorted(picks):
            yield env.at(max(float(at_s), env.now))
            if placer.waiting:
                job = placer.waiting[pick % len(placer.waiting)]
                placer.withdraw(job)
                assert not any(each is job for each in placer.waiting)
                yield env.timeout(pick % 3)
                placer.enqueue(job)

    env.process(operate())
    schedule = scheduled(placer, log, whole=True)
    assert (schedule.outcome == 0).all()


def test_what_a_checkpoint_saved_counts_wherever_the_job_goes() -> None:
    env = sm.Environment()
    saving = sm.Checkpoints(interval_s=3, cost_s=1)
    clusters = [sm.Cluster(env, name, machines=1, cores_per_machine=1, checkpoints=saving) for name in "ab"]
    change = sm.CapacityChange(10, 0, notice_s=5, mode="checkpoint")
    sm.TraceCapacity(env, clusters[0], [sm.CapacityChange(0, 1), change])
    first, second = sm.FirstFit(env, clusters[0]), sm.QueueScheduler(env, clusters[1])
    recorder = sm.Recorder(env)
    job = sm.Job(1, 0.0, 20.0, 20.0, 1)
    first.submit(job)

    def move() -> None:
        first.withdraw(job)
        second.enqueue(job)

    env.at(12).callbacks.append(lambda _: move())
    env.run()
    schedule = recorder.schedule().validate()
    # From 0 to 9 two cycles of 3 s of work and 1 s of writing, and 1 s more of work; the last second writes that.
    assert schedule.attempts["work_s"].tolist() == [7, 13]
    assert schedule.end_s.tolist() == [12 + 13 + 4]


@pytest.mark.parametrize("kind", [sm.FirstFit, AsTheyCome])
@pytest.mark.parametrize("who", [1, 2])
def test_what_is_being_started_cannot_be_withdrawn(kind: type[sm.Scheduler], who: int) -> None:
    env = sm.Environment()
    scheduler = kind(env, sm.Cluster(env, "c", machines=2, cores_per_machine=4))
    jobs = [sm.Job(number, 0.0, 5.0, 5.0, 4) for number in (1, 2)]
    seen = []

    def see(event: sm.Started) -> None:
        if event.attempt.job.job_id == 1:
            seen.append([job.job_id for job in scheduler.waiting])
            with pytest.raises(sm.RequestError, match="where it does not wait"):
                scheduler.withdraw(jobs[who - 1])

    env.on(sm.Started, see)
    for job in jobs:
        scheduler.submit(job)
    env.run()
    assert seen == [[]]
    assert env.now == 5


def test_cores_of_a_machine_that_drains_do_not_come_back() -> None:
    env, cluster = machines_on(2, 4)
    queue = sm.QueueScheduler(env, cluster)
    for number, (runtime_s, cores) in enumerate(((100.0, 4), (500.0, 4), (9.0, 4))):
        queue.submit(sm.Job(number, 0.0, runtime_s, runtime_s, cores))
    env.run(until=1)
    (job,) = queue.waiting
    assert queue.predict_start(job) == 100
    cluster.machines[0].leave("once idle")
    assert queue.predict_start(job) == 500
    assert queue.predict_start(sm.Job(9, 1.0, 9.0, 9.0, 8)) == np.inf


# Jobs of no length keep their cores for an instant in a plan, and then let others start earlier than planned.
@given(rows=ROWS.map(lambda rows: [(submit, max(runtime, 1), cores) for submit, runtime, cores in rows]))
def test_a_prediction_without_news_is_the_start_under_conservative_backfilling(rows: Rows) -> None:
    env, queue = queue_on(4, backfilling="conservative")
    log = rigid(*sorted(rows))
    predicted: dict[int, float] = {}
    sm.Source(env, log, into=queue)
    recorder = sm.Recorder(env)
    for instant in sorted(set(log.submit_s.tolist())):
        env.run(until=env.end_of(instant))
        for job in queue.waiting:
            predicted.setdefault(job.job_id, queue.predict_start(job))
        if queue.waiting:  # a job like the last one, submitted now, would start no earlier than that
            last = queue.waiting[-1]
            assert queue.predict_start(dataclasses.replace(last)) >= predicted[last.job_id]
    env.run()
    start_s = dict(zip(log.job_id.tolist(), recorder.schedule().start_s.tolist(), strict=True))
    assert predicted == {job: start_s[job] for job in predicted}


def test_a_prediction_knows_estimates_the_order_and_what_is_on() -> None:
    env, cluster = machines_on(2, 2)
    queue = sm.QueueScheduler(env, cluster, order="SPF", backfilling="none")
    queue.submit(sm.Job(0, 0.0, 5.0, 20.0, 3))
    queue.submit(sm.Job(1, 0.0, 9.0, 30.0, 4))
    env.run(until=1)
    assert queue.predict_start(queue.waiting[0]) == 20
    assert queue.predict_start(sm.Job(2, 1.0, 1.0, 10.0, 4)) == 20, "shorter, so it goes before job 1"
    assert queue.predict_start(sm.Job(3, 1.0, 1.0, 40.0, 4)) == 50
    assert queue.predict_start(sm.Job(4, 1.0, 1.0, 10.0, 1)) == 1
    cluster.machines[1].power_off()
    env.run(until=2)
    assert queue.predict_start(sm.Job(5, 1.0, 1.0, 1.0, 3)) == math.inf


def test_a_prediction_of_a_placer_fits_each_job_into_one_machine() -> None:
    env, cluster = machines_on(2, 2)
    placer = sm.FirstFit(env, cluster)
    for number, runtime_s in enumerate((9.0, 7.0)):
        placer.submit(sm.Job(number, 0.0, runtime_s, runtime_s, 2))
    third = sm.Job(2, 0.0, 3.0, 3.0, 1)
    placer.submit(third)
    env.run(until=1)
    assert placer.predict_start(third) == 7
    assert placer.predict_start(sm.Job(3, 1.0, 5.0, 5.0, 2)) == 9, "one core of each machine is no room for two"
    assert placer.predict_start(sm.Job(4, 1.0, 5.0, 5.0, 1)) == 7
    for machine in cluster.machines:
        machine.leave("once idle")
    assert placer.predict_start(third) == math.inf
