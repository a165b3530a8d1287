import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simmodels.energy import Power
from simmodels.errors import IllegalScheduleError, RequestError, UnknownNameError
from simmodels.schedule import COMPLETED, KILLED, UNFINISHED, ClusterSpec, Schedule, Terms
from simmodels.workflow import Workflow
from simmodels.workload import Workload

NAN = math.nan


def workload(*jobs: tuple[float, float, int] | tuple[float, float, int, float]) -> Workload:
    """Jobs as (submit, runtime, cores) or (submit, runtime, cores, estimate), numbered from 1."""
    submit, runtime, cores = (np.array([job[i] for job in jobs], dtype=float) for i in range(3))
    estimate = np.array([job[3] if len(job) > 3 else job[1] for job in jobs], dtype=float)
    return Workload(np.arange(1, len(jobs) + 1), submit, runtime, estimate, cores, name="drawn")


def in_order(jobs: Workload, cores: int) -> Schedule:
    """Each job as early as it fits, but not before the one ahead of it; found second by second."""
    used, start_s, earliest = np.zeros(2000, dtype=np.int64), np.zeros(len(jobs)), 0
    for row in np.lexsort((np.arange(len(jobs)), jobs.submit_s)):
        at, length = max(int(jobs.submit_s[row]), earliest), int(jobs.runtime_s[row])
        while (used[at : at + max(length, 1)] + jobs.cores[row] > cores).any():
            at += 1
        used[at : at + length] += jobs.cores[row]
        start_s[row] = earliest = at
    return Schedule(jobs, cores, start_s, start_s + jobs.runtime_s)


@pytest.fixture
def drawn() -> Schedule:
    """Five jobs on four cores.

    1: 2 cores, 0 to 10. 2: all cores, waits for it, 10 to 14. 3: 0 s, waits for job 2, at 14.
    4: 3 cores, 20 to 80, where it is killed, with 40 s to do. 5: from 30 on it waits forever.
    """
    jobs = workload((0, 10, 2), (0, 4, 4), (5, 0, 1), (20, 100, 3, 60), (30, 5, 2))
    start_s, end_s = np.array([0, 10, 14, 20, NAN]), np.array([10, 14, 14, 80, NAN])
    return Schedule(jobs, 4, start_s, end_s, outcome=np.array([0, 0, 0, 1, 2]))


@pytest.fixture
def interrupted() -> Schedule:
    """Job 1 (3 cores, 10 s) is interrupted at 4, runs again from 12 to 22; job 2 (2 cores) runs from 4 to 12.

    Job 3 (1 core) is interrupted at 6 and never runs again.
    """
    jobs = workload((0, 10, 3), (1, 8, 2), (2, 50, 1))
    attempts = pd.DataFrame(
        {
            "job_id": [1, 3, 1],
            "attempt": [1, 1, 2],
            "start_s": [0.0, 2, 12],
            "end_s": [4.0, 6, 22],
            "outcome": [UNFINISHED, UNFINISHED, COMPLETED],
        }
    )
    return Schedule(jobs, 4, np.array([12.0, 4, 2]), np.array([22.0, 12, NAN]), attempts=attempts)


# -- the record ----------------------------------------------------------------------------------


def test_a_schedule_cannot_be_changed(drawn: Schedule) -> None:
    with pytest.raises(FrozenInstanceError):
        drawn.cores = 5  # type: ignore[misc]
    for column in (drawn.start_s, drawn.end_s, drawn.outcome, drawn.counted):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(TypeError):
        drawn.about["order"] = "FCFS"  # type: ignore[index]


def test_the_arrays_of_the_caller_stay_writeable() -> None:
    start_s = np.zeros(1)
    Schedule(workload((0, 1, 1)), 1, start_s, np.ones(1))
    start_s[0] = 5


def test_outcomes_and_counted_have_defaults() -> None:
    schedule = Schedule(workload((0, 1, 1), (0, 1, 1)), 2, np.array([0, NAN]), np.array([1, NAN]))
    assert schedule.outcome.tolist() == [COMPLETED, UNFINISHED]
    assert schedule.counted.all()
    assert schedule.outcome.dtype == np.int8


def test_columns_of_another_length_are_refused(drawn: Schedule) -> None:
    for name in ("start_s", "end_s", "outcome", "counted"):
        with pytest.raises(RequestError, match=rf"the shape of column {name} must be \(5,\), .* \(got \(4,\)\)"):
            replace(drawn, **{name: getattr(drawn, name)[:4]})


def test_unknown_outcomes_and_impossible_machines_are_refused(drawn: Schedule) -> None:
    with pytest.raises(RequestError, match=r"column outcome, row 3, must be 0, 1 or 2 \(got 3\)"):
        replace(drawn, outcome=np.array([0, 0, 0, 3, 2]))
    with pytest.raises(RequestError, match=r"cores must be an integer >= 1 \(got 0\)"):
        replace(drawn, cores=0)


def test_attempts_must_be_of_known_jobs_and_have_their_columns(interrupted: Schedule) -> None:
    assert interrupted.attempts is not None
    with pytest.raises(RequestError, match="attempts without outcome"):
        replace(interrupted, attempts=interrupted.attempts.drop(columns="outcome"))
    by_row = interrupted.attempts.drop(columns=["job_id", "start_s"]).assign(row=[1, 0, 1])
    with pytest.raises(RequestError, match="attempts without start_s; "):
        replace(interrupted, attempts=by_row)
    with pytest.raises(RequestError, match="attempts of job 9; the workload has 0 jobs"):
        replace(interrupted, attempts=interrupted.attempts.assign(job_id=[1, 9, 1]))
    twice = replace(interrupted.workload, job_id=np.array([1, 2, 1]))
    with pytest.raises(RequestError, match="attempts of job 1; the workload has 2 jobs"):
        replace(interrupted, workload=twice)


def test_a_schedule_survives_pickling(interrupted: Schedule) -> None:
    again = pickle.loads(pickle.dumps(replace(interrupted, about={"order": "SAF"})))
    pd.testing.assert_frame_equal(again.jobs, interrupted.jobs)
    assert again.about == {"order": "SAF"}
    assert again.workload.name == "drawn"


def test_its_line_names_workload_machine_and_order(drawn: Schedule) -> None:
    about = {"order": "SAF", "backfilling": "easy", "seed": 1}
    text = repr(replace(drawn, about=about))
    assert text == "<Schedule of 'drawn': 5 jobs on 4 cores, order=SAF, backfilling=easy>"


# -- tables --------------------------------------------------------------------------------------


def test_the_table_of_jobs_has_a_row_a_job_in_input_order(drawn: Schedule) -> None:
    jobs = drawn.jobs
    assert list(jobs.columns) == [
        *("job_id", "submit_s", "start_s", "wait_s", "end_s", "response_s", "executed_s"),
        *("runtime_s", "estimate_s", "cores", "user_id", "outcome", "counted"),
    ]
    assert jobs["job_id"].tolist() == [1, 2, 3, 4, 5]
    assert jobs["wait_s"].tolist()[:4] == [0, 10, 9, 0]
    assert jobs["response_s"].tolist()[:4] == [10, 14, 9, 60]
    assert jobs["executed_s"].tolist()[:4] == [10, 4, 0, 60]
    assert jobs.loc[4, ["start_s", "end_s", "wait_s", "response_s", "executed_s"]].isna().all()
    assert jobs["outcome"].tolist() == ["completed", "completed", "completed", "killed", "unfinished"]
    assert isinstance(jobs["outcome"].dtype, pd.CategoricalDtype)


def test_the_table_says_how_often_each_job_ran(interrupted: Schedule) -> None:
    assert interrupted.jobs["attempts"].tolist() == [2, 1, 1]


def test_all_attempts_begin_with_the_last_of_each_job(interrupted: Schedule, drawn: Schedule) -> None:
    runs = interrupted.all_attempts()
    assert runs["row"].tolist() == [0, 1, 2, 0]
    assert runs["attempt"].tolist() == [2, 1, 1, 1]
    assert runs["start_s"].tolist() == [12, 4, 2, 0]
    assert runs["end_s"].tolist() == [22, 12, 6, 4]
    assert runs["outcome"].tolist() == [0, 0, 2, 2]
    pd.testing.assert_series_equal(drawn.all_attempts()["start_s"], drawn.jobs["start_s"])


def test_the_queue_and_the_cores_are_known_over_time(drawn: Schedule) -> None:
    queue, used = drawn.queue_length(), drawn.cores_used()
    assert queue.to_dict("list") == {"time_s": [0, 5, 10, 14, 30], "queue_length": [1, 2, 1, 0, 1]}
    assert used.to_dict("list") == {"time_s": [0, 10, 14, 20, 80], "cores_used": [2, 4, 0, 3, 0]}


def test_interrupted_jobs_wait_again(interrupted: Schedule) -> None:
    queue, used = interrupted.queue_length(), interrupted.cores_used()
    # job 2 waits from 1 to 4, job 1 from 4 to 12, job 3 from 6 on
    assert queue.to_dict("list") == {"time_s": [1, 6, 12], "queue_length": [1, 2, 1]}
    assert used.to_dict("list") == {"time_s": [0, 2, 4, 6, 12, 22], "cores_used": [3, 4, 3, 2, 3, 0]}


# -- metrics -------------------------------------------------------------------------------------


def test_tasks_of_workflows_do_not_wait_in_the_queue_of_rigid_jobs() -> None:
    """A job waits from 0 s to 10 s, and while it does, two tasks start."""
    jobs = Workload.concat([Workload([1], [0.0], [5.0], [5.0], [1]), Workflow(2, 0.0, [4.0, 4.0])])
    schedule = Schedule(jobs, 3, np.array([10.0, 2.0, 6.0]), np.array([15.0, 6.0, 10.0]))
    assert schedule.queue_length().to_dict("list") == {"time_s": [0, 10], "queue_length": [1, 0]}
    assert schedule.metrics()["max_queue_length"] == 1
    row, start_s, end_s = [0, 1, 1, 2], [10.0, 1, 2, 6], [15.0, 2, 6, 10]  # a task is lost at 2 s, and runs again
    attempts = {"row": row, "attempt": [1, 1, 2, 1], "start_s": start_s, "end_s": end_s, "outcome": [0, 2, 0, 0]}
    again = replace(schedule, attempts=pd.DataFrame(attempts))
    assert again.queue_length().to_dict("list") == {"time_s": [0, 10], "queue_length": [1, 0]}


def test_metrics_of_a_drawn_schedule_are_those_worked_out_by_hand(drawn: Schedule) -> None:
    found = drawn.metrics()
    expected = {
        "mean_wait_s": 19 / 4,
        "median_wait_s": 4.5,
        "p95_wait_s": 9.85,
        "max_wait_s": 10,
        "mean_response_s": 93 / 4,
        "median_response_s": 12,
        "max_response_s": 60,
        # 10 / 10, 14 / 4, none of job 3, 60 / 60
        "mean_slowdown": 5.5 / 3,
        "median_slowdown": 1,
        "max_slowdown": 3.5,
        "jobs_without_slowdown": 1,
        "mean_bounded_slowdown": 4.4 / 4,
        "max_bounded_slowdown": 1.4,
        "mean_per_processor_bounded_slowdown": 1,
        "max_per_processor_bounded_slowdown": 1,
        # 10 / 10, 14 / 4, none of job 3, 60 / 100
        "mean_stretch": 5.1 / 3,
        "median_stretch": 1,
        "max_stretch": 3.5,
        "jobs_without_stretch": 1,
        # (10 x 2 + 4 x 4 + 60 x 3) core-seconds of 4 cores from 0 to 80
        "utilisation": 216 / 320,
        "makespan_s": 80,
        "throughput_jobs_per_hour": 4 * 45,
        # waits of 10 s, 9 s and, of the job that never starts, 50 s
        "mean_queue_length": 69 / 80,
        "max_queue_length": 2,
        "jobs": 5,
        "completed": 3,
        "killed": 1,
        "unfinished": 1,
        "uncounted_jobs": 0,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-14)


def test_every_metric_is_named_with_its_statistic_and_unit(drawn: Schedule) -> None:
    of_jobs = ("wait_s", "response_s", "slowdown", "bounded_slowdown", "per_processor_bounded_slowdown", "stretch")
    named = [f"{statistic}_{name}" for name in of_jobs for statistic in ("mean", "median", "p95", "max")]
    assert list(drawn.metrics()) == [
        *named,
        *("utilisation", "makespan_s", "throughput_jobs_per_hour", "mean_queue_length", "max_queue_length"),
        *("jobs", "completed", "killed", "unfinished", "uncounted_jobs"),
        *("jobs_without_slowdown", "jobs_without_stretch"),
    ]
    assert all(type(value) in {int, float} for value in drawn.metrics().values())


def test_a_smaller_tau_bounds_less(drawn: Schedule) -> None:
    # 10 / 10, 14 / 4, 9 / 1, 60 / 60
    assert drawn.metrics(tau_s=1)["mean_bounded_slowdown"] == 14.5 / 4
    with pytest.raises(RequestError, match=r"tau_s must be a finite number of seconds > 0 \(got 0\)"):
        drawn.metrics(tau_s=0)


def test_uncounted_jobs_are_on_the_machine_but_not_in_the_means(drawn: Schedule) -> None:
    found = replace(drawn, counted=np.array([False, True, True, False, False])).metrics()
    assert (found["jobs"], found["uncounted_jobs"], found["killed"], found["unfinished"]) == (2, 3, 0, 0)
    assert found["mean_wait_s"] == 9.5
    assert found["makespan_s"] == 14
    assert found["throughput_jobs_per_hour"] == pytest.approx(2 * 3600 / 14)
    assert found["utilisation"] == 36 / 56  # job 1 is there too
    assert found["mean_queue_length"] == pytest.approx(19 / 14)


def test_without_an_ended_job_the_means_are_nan_and_the_counts_are_there() -> None:
    nothing = Schedule(workload((0, 1, 1)), 1, np.array([NAN]), np.array([NAN])).metrics()
    assert (nothing["jobs"], nothing["unfinished"], nothing["max_queue_length"]) == (1, 1, 0)
    assert all(np.isnan(nothing[name]) for name in ("mean_wait_s", "p95_stretch", "utilisation", "makespan_s"))
    empty = Schedule(Workload([], [], [], [], []), 1, np.empty(0), np.empty(0))
    assert empty.validate().metrics()["jobs"] == 0
    assert len(empty.jobs) == len(empty.queue_length()) == len(empty.cores_used()) == 0


def test_the_mean_bounded_slowdown_is_the_numpy_mean_over_the_jobs() -> None:
    random = np.random.default_rng(3)
    rows = zip(random.integers(0, 900, 200), random.integers(0, 40, 200), random.integers(1, 9, 200), strict=True)
    schedule = in_order(workload(*((int(a), int(b), int(c)) for a, b, c in rows)), 8)
    wait_s, p = schedule.start_s - schedule.workload.submit_s, schedule.workload.runtime_s
    assert schedule.metrics()["mean_bounded_slowdown"] == np.maximum((wait_s + p) / np.maximum(p, 10), 1).mean()


def test_attempts_that_came_to_nothing_use_the_machine(interrupted: Schedule) -> None:
    found = interrupted.validate().metrics()
    assert found["makespan_s"] == 22
    assert found["utilisation"] == (3 * 4 + 3 * 10 + 2 * 8 + 1 * 4) / (4 * 22)
    assert found["mean_wait_s"] == (12 + 3) / 2
    assert found["mean_queue_length"] == pytest.approx((3 + 8 + 16) / 22)


# -- proof ---------------------------------------------------------------------------------------


def test_a_legal_schedule_is_returned(drawn: Schedule, interrupted: Schedule) -> None:
    assert drawn.validate() is drawn
    assert interrupted.validate() is interrupted


def changed(schedule: Schedule, row: int, **values: float) -> Schedule:
    """The schedule with other values of one job, in its own columns or the workload's."""
    own, work = {}, {}
    for name, value in values.items():
        target, columns = (own, schedule) if hasattr(schedule, name) and name != "cores" else (work, schedule.workload)
        target[name] = getattr(columns, name).copy()
        target[name][row] = value
    return replace(schedule, workload=replace(schedule.workload, **work), **own)


@pytest.mark.parametrize(
    ("row", "values", "text"),
    [
        (0, {"end_s": NAN}, r"\(outcome\): job 1 is completed, but its start is 0.0 s, its end nan s"),
        (3, {"start_s": NAN}, r"\(outcome\): job 4 is killed, but its start is nan s, its end 80.0 s"),
        (4, {"end_s": 90}, r"\(outcome\): job 5 is unfinished, but ends at 90.0 s"),
        (4, {"start_s": math.inf}, r"\(outcome\): job 5 has no finite times"),
        (1, {"cores": 5}, r"\(width\): job 2 starts at 10.0 s on 5 cores, which must be 1 to 4"),
        (1, {"cores": 0}, r"\(width\): job 2 starts at 10.0 s on 0 cores"),
        (2, {"submit_s": 14.5}, r"\(submit\): job 3 starts at 14.0 s, before its submit at 14.5 s"),
        (1, {"end_s": 15}, r"\(end\): job 2 completed, starts at 10.0 s and ends at 15.0 s; its runtime is 4.0 s"),
        (1, {"end_s": np.nextafter(14, 15)}, r"\(end\): job 2"),
        (0, {"runtime_s": -1, "end_s": -1}, r"\(end\): job 1 completed, starts at 0.0 s and ends at -1.0 s"),
        (3, {"end_s": 120}, r"\(end\): job 4 killed, starts at 20.0 s and ends at 120.0 s; its estimate is 60.0 s"),
        (3, {"runtime_s": 60}, r"\(overrun\): job 4 is killed at 80.0 s, with a runtime of 60.0 s"),
        (1, {"start_s": 9, "end_s": 13}, r"\(capacity\): job 2 starts at 9.0 s on 4 cores, which makes 6 in use"),
        (2, {"start_s": 12, "end_s": 12}, r"\(capacity\): job 3 starts at 12.0 s on 1 cores, which makes 5 in use"),
        (4, {"start_s": 30}, r"\(capacity\): job 5 starts at 30.0 s on 2 cores, which makes 5 in use; .* has 4"),
    ],
)
def test_a_broken_rule_is_named_with_job_and_instant(
    drawn: Schedule, row: int, values: dict[str, float], text: str
) -> None:
    with pytest.raises(IllegalScheduleError, match=text):
        changed(drawn, row, **values).validate()


def test_the_error_counts_the_other_jobs_that_break_the_rule() -> None:
    jobs = workload((5, 1, 1), (5, 1, 1), (5, 1, 1))
    with pytest.raises(IllegalScheduleError, match=r"job 1 starts .* \(and 2 more jobs\)$"):
        Schedule(jobs, 4, np.zeros(3), np.ones(3)).validate()


def test_what_the_schedule_says_about_overruns_is_held_against_it(drawn: Schedule) -> None:
    assert replace(drawn, terms=Terms(overrun="kill")).validate()
    with pytest.raises(IllegalScheduleError, match=r"\(overrun\): job 4 is killed at 80.0 s, though jobs may run on"):
        replace(drawn, terms=Terms(overrun="run")).validate()
    ran_on = changed(drawn, 3, end_s=120, outcome=COMPLETED)
    assert replace(ran_on, terms=Terms(overrun="run")).validate()
    with pytest.raises(
        IllegalScheduleError, match=r"\(overrun\): job 4 completes at 120.0 s, with a runtime of 100.0 s"
    ):
        replace(ran_on, terms=Terms(overrun="kill")).validate()


def test_jobs_of_no_length_may_follow_each_other_within_an_instant() -> None:
    jobs = workload((0, 0, 4), (0, 0, 4), (0, 5, 3), (0, 0, 4))
    start_s = np.zeros(4)
    assert Schedule(jobs, 4, start_s, start_s + jobs.runtime_s).validate()


def test_a_job_of_no_length_must_fit_beside_what_runs_through_its_instant() -> None:
    jobs = workload((0, 10, 3), (5, 0, 2), (5, 0, 1))
    start_s = np.array([0.0, 5, 5])
    with pytest.raises(IllegalScheduleError, match=r"\(capacity\): job 2 starts at 5.0 s on 2 cores, which makes 5"):
        Schedule(jobs, 4, start_s, start_s + jobs.runtime_s).validate()
    assert Schedule(jobs, 5, start_s, start_s + jobs.runtime_s).validate()


def test_an_end_is_start_plus_runtime_in_floats_to_the_last_bit() -> None:
    jobs = workload((0.1, 0.2, 1))
    schedule = Schedule(jobs, 1, np.array([0.1]), np.array([0.1 + 0.2]))  # 0.30000000000000004
    assert schedule.validate()
    assert schedule.metrics()["mean_slowdown"] == pytest.approx(1)
    with pytest.raises(IllegalScheduleError, match="end"):
        Schedule(jobs, 1, np.array([0.1]), np.array([0.3])).validate()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"start_s": [0, 2, 3], "end_s": [4, 6, 22]}, r"job 1 \(completed, start 12.0 s, end 22.0 s\) is not what its"),
        ({"end_s": [13, 6, 22]}, "job 1 has an attempt that starts before the one before has ended"),
        ({"end_s": [NAN, 6, 22]}, "job 1 has an attempt that starts before the one before has ended"),
        ({"start_s": [NAN, 2, 12]}, "job 1 has an attempt without a finite start"),
        ({"outcome": [0, 2, 0]}, "job 1 runs again after an attempt that came to an end"),
        ({"outcome": [2, 2, 2]}, "job 1 .* is not what its last attempt says"),
        ({"start_s": [-1, 2, 12]}, "job 1 has an attempt before its submit at 0.0 s"),
        ({"end_s": [-1, 6, 22]}, "job 1 has an attempt that ends before it starts"),
        ({"end_s": [11, 6, 22]}, "job 1 has an attempt that came to nothing after all its 10.0 s of work"),
        ({"attempt": [2, 1, 1]}, "job 1 .* is not what its last attempt says"),
        ({"end_s": [6, 6, 22]}, r"\(capacity\): job 2 starts at 4.0 s on 2 cores, which makes 6 in use"),
    ],
)
def test_attempts_are_held_to_the_rules(interrupted: Schedule, values: dict[str, list[float]], text: str) -> None:
    assert interrupted.attempts is not None
    with pytest.raises(IllegalScheduleError, match=text):
        replace(interrupted, attempts=interrupted.attempts.assign(**values)).validate()


def test_an_interrupted_job_that_waits_again_may_have_no_start(interrupted: Schedule) -> None:
    assert changed(interrupted, 2, start_s=NAN).validate()


integers = st.integers
job_lists = st.lists(st.tuples(integers(0, 30), integers(0, 12), integers(1, 8)), min_size=1, max_size=25)


def is_within(schedule: Schedule) -> bool:
    """Whether the cores suffice, tried second by second (all times are whole numbers)."""
    start_s, end_s, cores = schedule.start_s, schedule.end_s, schedule.workload.cores
    for second in range(int(np.nanmax(end_s)) + 1):
        running = (start_s <= second) & (end_s > second)
        through = (start_s < second) & (end_s > second)
        brief = (start_s == second) & (end_s == second)
        if cores[running].sum() > schedule.cores:
            return False
        if brief.any() and cores[through].sum() + cores[brief].max() > schedule.cores:
            return False
    return True


@given(job_lists, integers(8, 14))
def test_schedules_of_a_legal_scheduler_are_legal(jobs: list[tuple[int, int, int]], cores: int) -> None:
    schedule = in_order(workload(*jobs), cores).validate()
    assert is_within(schedule)
    used = schedule.cores_used()["cores_used"]
    assert used.max() <= cores if len(used) else not schedule.workload.runtime_s.any()
    assert schedule.metrics()["utilisation"] <= 1 or schedule.metrics()["makespan_s"] == 0
    queue = schedule.queue_length()["queue_length"]
    assert queue.min() >= 0 if len(queue) else (schedule.start_s == schedule.workload.submit_s).all()


@given(job_lists, integers(8, 14), st.data())
def test_a_start_moved_at_will_is_legal_if_and_only_if_it_fits(
    jobs: list[tuple[int, int, int]], cores: int, data: st.DataObject
) -> None:
    schedule = in_order(workload(*jobs), cores)
    row = data.draw(integers(0, len(jobs) - 1))
    start_s = schedule.start_s.copy()
    start_s[row] = schedule.workload.submit_s[row] + data.draw(integers(-2, 40))
    assume(start_s[row] >= 0)
    moved = Schedule(schedule.workload, cores, start_s, start_s + schedule.workload.runtime_s)
    if start_s[row] < schedule.workload.submit_s[row]:
        with pytest.raises(IllegalScheduleError, match="submit"):
            moved.validate()
    elif is_within(moved):
        assert moved.validate() is moved
    else:
        with pytest.raises(IllegalScheduleError, match="capacity"):
            moved.validate()


@given(job_lists, integers(8, 14), st.data())
def test_every_kind_of_damage_is_found(jobs: list[tuple[int, int, int]], cores: int, data: st.DataObject) -> None:
    schedule = in_order(workload(*jobs), cores)
    row = data.draw(integers(0, len(jobs) - 1))
    damage = data.draw(
        st.sampled_from(
            [
                {"end_s": schedule.end_s[row] + data.draw(st.sampled_from([-1, 1]))},
                {"end_s": NAN},
                {"start_s": NAN},
                {"start_s": schedule.workload.submit_s[row] - 1, "end_s": schedule.end_s[row]},
                {"outcome": KILLED},
                {"outcome": UNFINISHED},
                {"cores": cores + 1},
                {"cores": 0},
            ]
        )
    )
    with pytest.raises(IllegalScheduleError, match=f"job {row + 1} "):
        changed(schedule, row, **damage).validate()


# -- oracles -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "cores", "jobs"), [("KTH-SP2", 100, 28481), ("SDSC-SP2", 128, 54006), ("CEA-curie", 80640, 295540)]
)
def test_published_schedules_are_legal_and_fill_the_machine(shared: Path, log: str, cores: int, jobs: int) -> None:
    rows = pd.read_csv(shared / "oracles" / "easy_published" / f"{log}.easy_starts.csv.gz")
    work = Workload(*(rows[name].to_numpy() for name in ("job", "submit", "run", "req_time", "procs")))
    start_s = rows["start"].to_numpy(dtype=float)
    schedule = Schedule(work, cores, start_s, start_s + work.runtime_s).validate()
    assert len(schedule) == jobs
    assert schedule.metrics()["mean_wait_s"] == rows["wait"].mean()
    assert schedule.cores_used()["cores_used"].max() == cores
    with pytest.raises(IllegalScheduleError, match=r"capacity|width"):
        replace(schedule, cores=cores - 1).validate()


@pytest.mark.parametrize("name", ["W1_lublin1024_authors", "W2_lublin256_win5"])
def test_the_mean_bounded_slowdown_of_published_runs_is_the_published_one(shared: Path, name: str) -> None:
    folder = shared / "oracles" / "regression" / "online"
    about = json.loads((folder / f"{name}.meta.json").read_text())
    compared = 0
    for run in pd.read_csv(folder / f"{name}.avgbsld.csv").itertuples():
        path = folder / f"{name}.{run.mode}.{run.policy}.jobs.csv.gz"
        if not path.exists():
            continue
        rows = pd.read_csv(path)
        columns = (rows[column].to_numpy() for column in ("orig_index", "submit", "p", "p", "q"))
        start_s, counted = rows["start"].to_numpy(), rows["orig_index"].to_numpy() >= about["state_jobs"]
        schedule = Schedule(Workload(*columns), about["m"], start_s, start_s + rows["p"].to_numpy(), counted=counted)
        found = schedule.validate().metrics(tau_s=about["tau"])
        assert found["mean_bounded_slowdown"] == pytest.approx(run.reference_avgbsld, abs=6e-7)
        compared += 1
    assert compared >= 20


# -- files ---------------------------------------------------------------------------------------


def test_the_head_of_the_table_of_jobs_shows_waits_on_a_terminal(drawn: Schedule) -> None:
    assert "wait_s" in str(drawn.jobs.head())


def test_csv_holds_the_table_of_jobs(drawn: Schedule, tmp_path: Path) -> None:
    drawn.to_csv(tmp_path / "jobs.csv")
    again = pd.read_csv(tmp_path / "jobs.csv")
    expected = drawn.jobs.assign(outcome=drawn.jobs["outcome"].astype("str"))
    pd.testing.assert_frame_equal(again, expected, check_dtype=False)
    first = (tmp_path / "jobs.csv").read_text().splitlines()[1]
    assert first == "1,0.0,0.0,0.0,10.0,10.0,10.0,10.0,10.0,2,-1,completed,True"
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.csv"]


def test_parquet_holds_the_table_and_how_it_was_made(drawn: Schedule, tmp_path: Path) -> None:
    about = {"order": "SAF", "threshold_s": np.float64(5), "queue_depth": None, "warm_jobs": 0, "own": NAN.hex}
    replace(drawn, about=about).to_parquet(tmp_path / "jobs.parquet")
    again = pd.read_parquet(tmp_path / "jobs.parquet")
    pd.testing.assert_frame_equal(again, drawn.jobs, check_categorical=False)
    assert (again.attrs["workload"], again.attrs["cores"]) == ("drawn", 4)
    reported = again.attrs["about"]
    assert {**reported, "own": ""} == {"order": "SAF", "threshold_s": 5, "queue_depth": None, "warm_jobs": 0, "own": ""}
    assert isinstance(reported["own"], str)
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.parquet"]


def test_a_failed_write_leaves_the_old_file_and_no_other(
    drawn: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn.to_csv(tmp_path / "jobs.csv")
    before = (tmp_path / "jobs.csv").read_bytes()

    def half(self: pd.DataFrame, path: Path, **_: object) -> None:
        path.write_text("half")
        raise OSError("the disk is full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(OSError, match="disk is full"):
        drawn.to_csv(tmp_path / "jobs.csv")
    assert (tmp_path / "jobs.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.csv"]


def test_a_missing_folder_is_named(drawn: Schedule, tmp_path: Path) -> None:
    for write in (drawn.to_csv, drawn.to_parquet):
        with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):
            write(tmp_path / "nowhere" / "jobs.csv")


# -- clusters, workflows and machines together -----------------------------------------------------


def mixed() -> Schedule:
    """Job 1 on pool a, workflow 2 of two tasks on both pools, job 3 never starts."""
    log = workload((0, 10, 2), (5, 7, 1))
    flow = Workflow(2, 0.0, [4, 6], [1, 3], [(0, 1)])
    work = Workload.concat([log.take([0]), flow, log.take([1])])
    start_s = np.array([0, 0, 10, NAN])
    end_s = start_s + work.runtime_s
    clusters = [ClusterSpec("a", 3), ClusterSpec("b", 3)]
    return Schedule(work, 6, start_s, end_s, clusters=clusters, cluster=np.array([0, 0, 1, -1]))


def test_jobs_and_workflows_are_judged_together() -> None:
    schedule = mixed().validate()
    metrics = schedule.metrics()
    assert (metrics["jobs"], metrics["completed"], metrics["unfinished"], metrics["finished"]) == (3, 1, 1, 1)
    assert metrics["mean_wait_s"] == 0
    assert metrics["mean_slr"] == 1.6
    assert metrics["utilisation"] == (20 + 4 + 18) / (6 * 16)
    assert schedule.jobs["job_id"].tolist() == [1, 2, 2]
    assert schedule.jobs["outcome"].tolist() == ["completed", "finished", "unfinished"]
    assert schedule.tasks["cluster"].tolist() == ["a", "a", "b", None]
    assert schedule.workflows["finish_s"].tolist() == [16]
    assert repr(schedule) == "<Schedule of 'workload': 2 rigid jobs, 1 workflow of 2 tasks on 6 cores of 2 clusters>"
    again = pickle.loads(pickle.dumps(schedule))
    pd.testing.assert_frame_equal(again.jobs, schedule.jobs)


def test_what_ran_on_one_cluster_is_a_schedule_of_its_own() -> None:
    a = mixed().on("a").validate()
    assert (a.cores, a.workload.job_id.tolist(), a.end_s.tolist()) == (3, [1, 2], [10, 4])
    assert mixed().on(1).start_s.tolist() == [10]
    with pytest.raises(UnknownNameError, match="unknown cluster 'c'; known: a, b"):
        mixed().on("c")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"start_s": [0, 0, 3, NAN], "end_s": [10, 4, 9, NAN]}, r"\(data\): job 2, task 1 starts at 3.0 s, before"),
        ({"cluster": [0, 0, 5, -1]}, r"\(outcome\): job 2, task 1 starts at 10.0 s on cluster 5, which there is not"),
        ({"clusters": [("a", 1), ("b", 5)]}, r"\(width\): job 1 starts at 0.0 s on 2 cores, which must be 1 to 1"),
        ({"clusters": [("a", 2), ("b", 4)]}, r"\(capacity\): job 2, task 0 .* 3 in use; cluster 'a' has 2"),
        ({"workflow_outcome": [2]}, r"\(outcome\): job 2, task 0 of a rejected job starts"),
    ],
)
def test_the_rules_hold_for_jobs_and_tasks_on_several_clusters(values: dict[str, list], text: str) -> None:
    with pytest.raises(IllegalScheduleError, match=text):
        replace(mixed(), **values).validate()


def test_clusters_are_of_all_cores() -> None:
    with pytest.raises(RequestError, match="a schedule of 6 cores on clusters of 4"):
        replace(mixed(), clusters=[("a", 4)])


def test_a_pool_of_cores_is_one_machine_that_is_always_on(drawn: Schedule) -> None:
    # from 0 to 80 s on 4 cores, of which 216 core-seconds are in use
    found = drawn.energy(Power(machine_w=90.0, core_w=10.0))
    assert found["energy_kwh"] == pytest.approx((90 * 80 + 10 * 216) / 3.6e6)
    by_job = drawn.energy_by_job(Power(machine_w=0.0, core_w=10.0))["energy_kwh"]
    assert by_job.sum() == pytest.approx(2160 / 3.6e6)
