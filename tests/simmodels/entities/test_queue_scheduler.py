# ruff: noqa: ANN401  options of any type are handed through
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import queue_on, scheduled
from tests.naive import Naive, Row


def log(jobs: int, seed: int = 0) -> sm.Workload:
    rng = np.random.default_rng(seed)
    runtime_s = rng.integers(0, 40, jobs)
    estimate_s = runtime_s + rng.integers(-5, 30, jobs).clip(-runtime_s)
    return sm.Workload(np.arange(jobs), rng.integers(0, 300, jobs), runtime_s, estimate_s, rng.integers(1, 9, jobs))


def test_jobs_of_this_instant_wait_after_those_in_the_queue() -> None:
    env, scheduler = queue_on(1, order="SPF")
    for number, runtime_s in enumerate((10.0, 5.0, 3.0)):
        scheduler.submit(sm.Job(number, 0.0, runtime_s, runtime_s, 1))
    assert [job.job_id for job in scheduler.waiting] == [0, 1, 2]
    env.run(until=1)
    assert [job.job_id for job in scheduler.waiting] == [1, 0]
    scheduler.submit(sm.Job(3, 1.0, 1.0, 1.0, 1))
    assert [job.job_id for job in scheduler.waiting] == [1, 0, 3]
    next(iter(scheduler.cluster.running)).interrupt()
    assert [job.job_id for job in scheduler.waiting] == [1, 0, 3]
    env.run(until=env.end_of(1))
    assert [job.job_id for job in scheduler.waiting] == [2, 1, 0]  # the new one is the shortest, and runs


def test_the_order_may_be_random_from_some_instant_on() -> None:
    def run(seed: int) -> list[float]:
        env, scheduler = queue_on(8, seed=seed, order="FCFS", backfilling="greedy")
        env.at(100.5).callbacks.append(lambda _: scheduler.reconfigure(order="RANDOM", backfill_order=None))
        return scheduled(scheduler, log(1500)).start_s.tolist()

    assert run(1) == run(1) != run(2)


def test_a_schedule_names_the_order_that_was_set_last() -> None:
    env, scheduler = queue_on(1, order="SPF")
    recorder = sm.Recorder(env)
    env.run()
    assert "order_changes" not in recorder.schedule().about
    scheduler.reconfigure(order="LPF")
    scheduler.reconfigure(order="SAF", backfill_order="SQF")
    about = recorder.schedule().about
    assert (about["order"], about["backfill_order"], about["order_changes"]) == ("SAF", "SQF", 2)


def test_a_promise_that_was_kept_earlier_does_not_keep_the_clock_running() -> None:
    """Job 2 is promised 100 s, and starts at 10 s."""
    env, scheduler = queue_on(1, backfilling="conservative")
    sm.Source(env, sm.Workload([1, 2], [0, 1], [10, 5], [100, 5], [1, 1]), into=scheduler)
    env.run()
    assert env.now == 15


OPTIONS = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["FCFS", "SPF", "WFP3"]),
        "backfilling": st.sampled_from(["none", "greedy", "easy", "conservative"]),
        "threshold_s": st.sampled_from([None, 0.0, 5.0]),
        "queue_depth": st.sampled_from([None, 1, 3]),
    }
)


def reconfigured(work: sm.Workload, first: dict[str, Any], *changes: tuple[float, dict[str, Any]]) -> sm.Schedule:
    env, scheduler = queue_on(4, **first)
    for instant, options in changes:
        env.at(instant).callbacks.append(lambda _, options=options: scheduler.reconfigure(**options))
    return scheduled(scheduler, work)


Rows = list[tuple[int, int, int, int]]
ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(-2, 5), st.integers(1, 4)), min_size=1, max_size=20
)


def jobs_of(rows: Rows) -> sm.Workload:
    submit_s, runtime_s, more_s, cores = zip(*sorted(rows), strict=True)
    return sm.Workload(range(len(rows)), submit_s, runtime_s, np.maximum(np.add(runtime_s, more_s), 1), cores)


@given(rows=ROWS, first=OPTIONS, second=OPTIONS, third=OPTIONS)
def test_options_may_change_as_it_goes(
    rows: Rows, first: dict[str, Any], second: dict[str, Any], third: dict[str, Any]
) -> None:
    class Changed(Naive):
        """The plain simulator, whose options change at the same instants."""

        def start_all(self, now: float) -> None:
            while changes and changes[0][0] < now:
                for name, value in changes.pop(0)[1].items():
                    setattr(self, name, value)
                self.promised.clear()
            super().start_all(now)

    work, changes = jobs_of(rows), [(7.5, second), (15.5, third)]
    schedule = reconfigured(work, first, *changes)
    plain = Changed(4, **first)
    columns = [column.tolist() for column in (work.submit_s, work.runtime_s, work.estimate_s, work.cores)]
    plain.run([Row(i, *values, 0.0) for i, values in enumerate(zip(*columns, strict=True))])
    assert schedule.start_s.tolist() == [plain.started[rank] for rank in range(len(work))]


@given(rows=ROWS, options=OPTIONS)
def test_options_that_are_set_again_change_nothing(rows: Rows, options: dict[str, Any]) -> None:
    if options["backfilling"] == "conservative":
        options["backfilling"] = "easy"  # reservations are made again
    work = jobs_of(rows)
    again = reconfigured(work, options, *((k + 0.5, {"overrun": "run"}) for k in range(30)))
    assert again.start_s.tolist() == sm.simulate(work, cores=4, **options).start_s.tolist()
    assert again.about["changes"] == 30


def test_jobs_are_killed_from_then_on() -> None:
    work = sm.Workload([1, 2], [0, 1], [9, 9], [5, 5], [1, 1])
    schedule = reconfigured(work, {}, (0.5, {"overrun": "kill"}))
    assert schedule.end_s.tolist() == [9, 6]
    assert schedule.about["overrun"] == "kill"


def test_what_cannot_be_changed_is_refused_and_all_stays_as_it_is() -> None:
    env, scheduler = queue_on(1, order="SPF")
    known = "known: order, backfilling, backfill_order, threshold_s, overrun, queue_depth"
    with pytest.raises(sm.UnknownNameError, match=f"unknown option that can be changed 'warm_jobs'; {known}"):
        scheduler.reconfigure(warm_jobs=3)
    with pytest.raises(sm.RequestError, match=r"threshold_s must be a number of seconds >= 0, or None \(got -1"):
        scheduler.reconfigure(order="SAF", threshold_s=-1)
    with pytest.raises(sm.UnknownNameError, match="unknown order 'FFCS'"):
        scheduler.reconfigure(order="FFCS")
    scheduler.reconfigure(backfilling="greedy")
    with pytest.raises(sm.RequestError, match=r"a backfill order \(SPF\) with backfilling 'greedy'"):
        scheduler.reconfigure(order="FCFS", backfill_order="SPF")
    assert (scheduler.order.name, scheduler.options.threshold_s, scheduler.changes) == ("SPF", None, 1)

    class Mine(sm.Scheduler):
        pass

    mine = Mine(env, sm.Cluster(env, "b", cores=1))
    mine.reconfigure()
    with pytest.raises(sm.RequestError, match="order of a Mine is to be changed; it has no option to change"):
        mine.reconfigure(order="SPF")


# -- errors --------------------------------------------------------------------------------------------


def test_an_error_keeps_its_fields_when_it_crosses_a_process() -> None:
    env, scheduler = queue_on(2)

    def submits() -> Process:
        yield env.timeout(3.0)
        scheduler.submit(sm.Job(5, 3.0, 1.0, 1.0, 3))

    env.process(submits())
    with pytest.raises(
        sm.ImpossibleJobError, match=r"job 5: cores must be an integer from 1 to 2, the most .* here has \(got 3\)"
    ) as raised:
        env.run()
    assert (raised.value.job_id, raised.value.others) == (5, 0)


class Burning(sm.Cluster):
    """Something goes wrong in what a job does."""

    def execute(self, attempt: sm.Attempt) -> Process:
        yield self.env.timeout(1.0)
        raise sm.RequestError(f"job {attempt.job.job_id} burns", "pour water on it")


def test_an_error_in_what_a_job_or_an_observer_does_stops_the_model() -> None:
    def fails(_: sm.Attempt) -> None:
        raise LookupError("not there")

    env = sm.Environment()
    scheduler = sm.QueueScheduler(env, Burning(env, "a", cores=2))
    scheduler.submit(sm.Job(5, 0.0, 1.0, 1.0, 1))
    with pytest.raises(sm.RequestError, match="job 5 burns; pour water on it") as raised:
        env.run()
    assert raised.value.remedy == "pour water on it"
    env, scheduler = queue_on(2)
    env.on(sm.Ended, fails)
    scheduler.submit(sm.Job(5, 0.0, 1.0, 1.0, 1))
    with pytest.raises(LookupError, match="not there"):
        env.run()


# -- what it predicts ----------------------------------------------------------------------------------


@sm.order
def sooner_the_longer_it_waits(estimate: np.ndarray, wait: np.ndarray) -> np.ndarray:
    return estimate - wait


@given(st.integers(0, 999), st.sampled_from(["FCFS", "SAF", sooner_the_longer_it_waits]), st.data())
def test_a_prediction_from_the_queue_is_the_one_from_lists(seed: int, order: Any, data: st.DataObject) -> None:
    """Of jobs that wait or would come now, behind those in order, beyond the depth, and of this instant."""
    backfilling = data.draw(st.sampled_from(["none", "greedy", "easy", "conservative"]))
    depth = data.draw(st.sampled_from([None, 2]))
    decide = data.draw(st.sampled_from(["instant", "event"])) if depth is None else "instant"
    env = sm.Environment()
    cluster = sm.Cluster(env, "a", cores=8, speed=data.draw(st.sampled_from([1.0, 0.5])))
    queue = sm.QueueScheduler(env, cluster, order=order, backfilling=backfilling, queue_depth=depth, decide=decide)
    new, found = log(8, seed + 1), []

    def ask(_: object) -> None:
        asked = [new.job(len(found) % 8), *queue.waiting[:1], *queue.waiting[-1:]]
        found.extend((queue.predict_start(job), sm.Scheduler.predict_start(queue, job)) for job in asked)

    for kind in (sm.Submitted, sm.Started, sm.Ended):
        env.on(kind, ask)

    sm.Source(env, log(40, seed), into=queue)
    env.run()
    assert len(found) >= 120
    assert [one for one, _ in found] == [other for _, other in found]


SHAPES = st.tuples(
    st.sampled_from([0.0, 2.0, 5.0, 5.5, 30.0]), st.sampled_from([-5.0, 0.0, 0.0, 3.0]), st.integers(1, 8)
)
ACTIONS = st.one_of(
    st.tuples(st.just("submit"), SHAPES, st.integers(1, 4)),
    st.tuples(st.just("pass"), st.sampled_from([0.0, 0.5, 2.0, 5.0, 20.0])),
    st.tuples(st.just("withdraw"), st.integers(0, 99)),
    st.tuples(st.just("reorder"), st.sampled_from(["FCFS", "SAF", sooner_the_longer_it_waits])),
)


@given(
    order=st.sampled_from(["FCFS", "FCFS", "SAF", sooner_the_longer_it_waits]),
    actions=st.lists(st.tuples(ACTIONS, st.booleans()), min_size=1, max_size=40),
    options=st.sampled_from(
        [{}, {}, {"overrun": "kill"}, {"queue_depth": 3}, {"warm_jobs": 4}, {"threshold_s": 6.0}, {"decide": "event"}]
    ),
)
@settings(max_examples=300)
def test_a_plan_that_is_kept_says_what_lists_say(order: Any, actions: list[Any], options: dict[str, Any]) -> None:
    """Whatever happens between predictions: jobs of one shape come together, end early or late, go, change places."""
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "a", cores=8), order=order, **options)
    strangers = [sm.Job(-1, 0.0, 1.0, length_s, cores) for length_s, cores in ((4.0, 1), (30.0, 5), (0.0, 8))]
    submitted = 0
    for (action, *how), asks in actions:
        if action == "submit":
            (estimate_s, more_s, cores), count = how
            for _ in range(count):
                submitted += 1
                queue.submit(sm.Job(submitted, env.now, max(estimate_s + more_s, 0.0), estimate_s, cores))
        elif action == "pass":
            env.run(until=env.end_of(env.now + how[0]))
        elif action == "reorder":
            queue.reconfigure(order=how[0])
        elif queue.waiting:
            queue.withdraw(queue.waiting[how[0] % len(queue.waiting)])
        if asks:
            asked = [*strangers, *queue.waiting]
            found = [queue.predict_start(job) for job in asked]
            assert found == [sm.Scheduler.predict_start(queue, job) for job in asked]


def test_a_job_may_be_submitted_again_and_is_predicted_at_its_first_place() -> None:
    env, queue = queue_on(1)
    job, ended = sm.Job(1, 0.0, 5.0, 5.0, 1), []
    env.on(sm.Ended, lambda event: ended.append(event.attempt.end_s))
    for _ in range(2):
        queue.submit(job)
    assert queue.predict_start(job) == 0
    queue.submit(job)
    env.run(until=1)
    assert queue.predict_start(job) == 5
    env.run()
    queue.submit(job)  # and once more, when all are done
    env.run()
    assert ended == [5, 10, 15, 20]
    assert queue.is_idle


def test_a_prediction_sees_a_job_that_somebody_else_started() -> None:
    _, queue = queue_on(8)
    queue.cluster.start(sm.Job(1, 0.0, 5.0, 5.0, 4))
    assert queue.predict_start(sm.Job(2, 0.0, 1.0, 1.0, 8)) == 5
    assert queue.predict_start(sm.Job(3, 0.0, 1.0, 1.0, 4)) == 0
