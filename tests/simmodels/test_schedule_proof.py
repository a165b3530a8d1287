"""The proof of a schedule: legal ones pass, and what breaks a rule is named with job and instant."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simmodels.errors import IllegalScheduleError
from simmodels.results.schedule import COMPLETED, KILLED, UNFINISHED, Schedule, Terms
from simmodels.work.workload import Workload
from tests.model_scripts import in_order, rigid
from tests.refused import refused

NAN = math.nan


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
        (4, {"end_s": 90}, r"\(outcome\): job 5 is unfinished, but ends at 90.0 s"),
        (4, {"start_s": math.inf}, r"\(outcome\): job 5 has no finite times"),
        (1, {"cores": 5}, r"\(width\): job 2 starts at 10.0 s on 5 cores, which must be 1 to 4"),
        (2, {"submit_s": 14.5}, r"\(submit\): job 3 starts at 14.0 s, before its submit at 14.5 s"),
        (1, {"end_s": 15}, r"\(end\): job 2 completed, starts at 10.0 s and ends at 15.0 s; its runtime is 4.0 s"),
        (0, {"runtime_s": -1, "end_s": -1}, r"\(end\): job 1 completed, starts at 0.0 s and ends at -1.0 s"),
        (3, {"end_s": 120}, r"\(end\): job 4 killed, starts at 20.0 s and ends at 120.0 s; its estimate is 60.0 s"),
        (3, {"runtime_s": 60}, r"\(overrun\): job 4 is killed at 80.0 s, with a runtime of 60.0 s"),
        (1, {"start_s": 9, "end_s": 13}, r"\(capacity\): job 2 starts at 9.0 s on 4 cores, which makes 6 in use"),
        (2, {"start_s": 12, "end_s": 12}, r"\(capacity\): job 3 starts at 12.0 s on 1 cores, which makes 5 in use"),
    ],
)
def test_a_broken_rule_is_named_with_job_and_instant(drawn: Schedule, row: int, values: dict, text: str) -> None:
    with pytest.raises(IllegalScheduleError, match=text):
        changed(drawn, row, **values).validate()


def test_the_error_counts_the_other_jobs_that_break_the_rule() -> None:
    jobs = rigid((5, 1, 1), (5, 1, 1), (5, 1, 1))
    with pytest.raises(IllegalScheduleError, match=r"job 1 starts .* \(and 2 more jobs\)$"):
        Schedule(jobs, 4, np.zeros(3), np.ones(3)).validate()


def test_what_the_schedule_says_about_overruns_is_held_against_it(drawn: Schedule) -> None:
    assert replace(drawn, terms=Terms(overrun="kill")).validate()
    with pytest.raises(IllegalScheduleError, match=r"\(overrun\): job 4 is killed at 80.0 s, though jobs may run on"):
        replace(drawn, terms=Terms(overrun="run")).validate()
    ran_on = changed(drawn, 3, end_s=120, outcome=COMPLETED)
    assert replace(ran_on, terms=Terms(overrun="run")).validate()
    with refused("...(overrun): job 4 completes at 120.0 s, with a runtime of 100.0 s...", IllegalScheduleError):
        replace(ran_on, terms=Terms(overrun="kill")).validate()


def test_an_end_is_start_plus_runtime_in_floats_to_the_last_bit() -> None:
    jobs = rigid((0.1, 0.2, 1))
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
        ({"start_s": [NAN, 2, 12]}, "job 1 has an attempt without a finite start"),
        ({"outcome": [0, 2, 0]}, "job 1 runs again after an attempt that came to an end"),
        ({"outcome": [2, 2, 2]}, "job 1 .* is not what its last attempt says"),
        ({"start_s": [-1, 2, 12]}, "job 1 has an attempt before its submit at 0.0 s"),
        ({"end_s": [-1, 6, 22]}, "job 1 has an attempt that ends before it starts"),
        ({"end_s": [11, 6, 22]}, "job 1 has an attempt that came to nothing after all its 10.0 s of work"),
        ({"end_s": [6, 6, 22]}, r"\(capacity\): job 2 starts at 4.0 s on 2 cores, which makes 6 in use"),
    ],
)
def test_attempts_are_held_to_the_rules(interrupted: Schedule, values: dict[str, list[float]], text: str) -> None:
    with pytest.raises(IllegalScheduleError, match=text):
        replace(interrupted, attempts=interrupted.attempts.assign(**values)).validate()


def test_an_interrupted_job_that_waits_again_may_have_no_start(interrupted: Schedule) -> None:
    assert changed(interrupted, 2, start_s=NAN).validate()


integers = st.integers
Jobs = list[tuple[int, int, int]]
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
def test_schedules_of_a_legal_scheduler_are_legal(jobs: Jobs, cores: int) -> None:
    schedule = in_order(rigid(*jobs), cores).validate()
    assert is_within(schedule)
    used = schedule.cores_used()["cores_used"]
    assert used.max() <= cores if len(used) else not schedule.workload.runtime_s.any()
    assert schedule.metrics()["utilisation"] <= 1 or schedule.metrics()["makespan_s"] == 0
    queue = schedule.queue_length()["queue_length"]
    assert queue.min() >= 0 if len(queue) else (schedule.start_s == schedule.workload.submit_s).all()


@given(job_lists, integers(8, 14), st.data())
def test_a_start_moved_at_will_is_legal_if_and_only_if_it_fits(jobs: Jobs, cores: int, data: st.DataObject) -> None:
    schedule = in_order(rigid(*jobs), cores)
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
def test_every_kind_of_damage_is_found(jobs: Jobs, cores: int, data: st.DataObject) -> None:
    schedule = in_order(rigid(*jobs), cores)
    row = data.draw(integers(0, len(jobs) - 1))
    others = [{"end_s": NAN}, {"start_s": NAN}, {"outcome": KILLED}, {"outcome": UNFINISHED}]
    others += [{"end_s": schedule.end_s[row] + more_s} for more_s in (-1, 1)]
    others += [{"start_s": schedule.workload.submit_s[row] - 1}, {"cores": cores + 1}, {"cores": 0}]
    damage = data.draw(st.sampled_from(others))
    with pytest.raises(IllegalScheduleError, match=f"job {row + 1} "):
        changed(schedule, row, **damage).validate()


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
        replace(schedule, cores=cores - 1, clusters=()).validate()
