# ruff: noqa: ANN401  options of any type are handed through
import pickle
from typing import Any

import pytest

import simmodels as sm
from tests.on_machines import assert_same, runs, workload


def test_jobs_that_are_not_in_the_window_do_not_wait_in_it(engine: Any) -> None:
    """One job ended before it, one comes after it; of the two in it, one waits from 10 s to 15 s."""
    jobs = sm.Workload([1, 2, 3, 4], [0.0, 10, 10, 90], [5.0] * 4, [5.0] * 4, [1] * 4)
    schedule = sm.simulate(jobs, capacity=[(0, 1)], cores_per_machine=1, window_s=(10, 30), engine=engine)
    metrics = schedule.metrics()
    assert (metrics["mean_queue_length"], metrics["max_queue_length"]) == (5 / 10, 1)  # until the last job ends


def test_a_job_that_runs_when_the_window_begins_has_not_waited(engine: Any) -> None:
    """Nor does the time before the window count for what the machine did."""
    jobs = {"submit_s": [0, 50], "runtime_s": [100, 10], "cores": [1, 1]}
    ran = sm.simulate({**jobs, "submit_s": [0.1, 50]}, cores=1, window_s=(40, 200), engine=engine)
    assert ran.jobs["wait_s"].tolist()[0] == 0, "nor by rounding"
    schedule = sm.simulate(jobs, cores=1, window_s=(40, 200), engine=engine).validate()
    assert schedule.jobs["wait_s"].tolist() == [0, 50]
    found = schedule.metrics()
    named = ("max_wait_s", "mean_slowdown", "mean_bounded_slowdown", "mean_stretch", "utilisation", "makespan_s")
    assert [found[name] for name in named] == [50, 3.5, 3.5, 3.5, 1, 70]
    assert found["mean_queue_length"] == pytest.approx(50 / 70)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        # from 10 on machine 1 takes no new job, so job 3 waits for machine 0; at 14 machine 1 goes
        ("kill", [(1, 0, 0, 12, 0), (2, 1, 0, 14, 2), (3, 0, 12, 15, 0), (2, 0, 15, 35, 0)]),
        ("drain", [(1, 0, 0, 12, 0), (2, 1, 0, 20, 0), (3, 0, 12, 15, 0)]),
        # 1 s of writing before 14: 13 s of 20 are saved, and coming back takes 2 s
        ("checkpoint", [(1, 0, 0, 12, 0), (2, 1, 0, 14, 2), (3, 0, 12, 15, 0), (2, 0, 15, 24, 0)]),
    ],
)
def test_what_notice_is_good_for(mode: Any, engine: str, expected: list[tuple[float, ...]]) -> None:
    jobs = workload([(0, 12, 2), (0, 20, 1), (11, 3, 2)])
    capacity = [sm.CapacityChange(0, 2), sm.CapacityChange(14, 1, notice_s=4, mode=mode)]
    how = {"checkpoints": sm.Checkpoints(cost_s=1, restart_s=2), "dispatch": "event", "engine": engine}
    schedule = sm.simulate_on_machines(jobs, capacity, cores_per_machine=2, **how).validate()
    assert runs(schedule) == expected
    if mode == "drain":
        assert schedule.capacity.machines.tolist() == [2, 1]
        assert schedule.capacity.time_s.tolist() == [0, 20]
    if mode == "checkpoint":
        assert schedule.runs["work_s"].tolist() == [12, 13, 3, 7]


@pytest.mark.parametrize("back_s", [10, 9, 11])
def test_a_machine_that_drains_stays_on_if_it_is_called_back_as_its_last_job_ends(back_s: float, engine: str) -> None:
    # the machine drains from 5 on, until its job ends at 10; changes take effect before it would be switched off
    schedule = sm.simulate_on_machines(
        workload([(0, 10, 1), (20, 1, 1)]),
        [sm.CapacityChange(0, 1), sm.CapacityChange(5, 0, mode="drain"), sm.CapacityChange(back_s, 1)],
        cores_per_machine=1,
        engine=engine,
    )
    assert runs(schedule) == [(1, 0, 0, 10, 0), (2, 0, 20, 21, 0)]
    assert schedule.off_spans[["start_s", "end_s"]].to_numpy().tolist() == ([[10, 11]] if back_s > 10 else [])


def test_a_job_that_ran_before_the_window_restarts_whole(engine: str) -> None:
    jobs = workload([(0, 30, 1)])
    schedule = sm.simulate_on_machines(
        jobs, [(0, 1), (20, 0), (25, 1)], cores_per_machine=1, window_s=(10, 100), engine=engine
    )
    assert runs(schedule) == [(1, 0, 10, 20, 2), (1, 0, 25, 55, 0)]
    whole, partial = schedule.metrics(), schedule.metrics(warm_credit="partial")
    assert whole["goodput"] == pytest.approx(30 / 85)
    assert partial["goodput"] == pytest.approx(20 / 85)


def test_notice_of_a_change_after_the_window_counts_in_it(engine: str) -> None:
    # from 17 on machine 1 takes no new job; that it goes at 25 is beyond the window
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(25, 1, notice_s=8), sm.CapacityChange(30, 0)]
    jobs = workload([(0, 18, 1), (0, 30, 1), (17, 5, 1)])
    jobs_of_one = {"cores_per_machine": 1, "window_s": (0, 20), "engine": engine}
    schedule = sm.simulate_on_machines(jobs, changes, **jobs_of_one)  # type: ignore[arg-type]
    assert [run[:3] for run in runs(schedule)] == [(1, 0, 0), (2, 1, 0), (3, 0, 18)]


def test_an_open_window_goes_from_the_first_submit_to_the_last_end(engine: Any) -> None:
    jobs = workload([(1000, 10, 1), (1005, 20, 1)])
    schedule = sm.simulate_on_machines(jobs, [(0, 1), (5000, 2)], cores_per_machine=2, engine=engine)
    assert schedule.window == (1000, 1025)
    assert schedule.metrics()["goodput"] == 30 / 50
    assert len(schedule.capacity) == 1
    off = sm.simulate_on_machines(jobs, [(0, 1), (1020, 0), (3000, 0)], cores_per_machine=2, engine=engine)
    assert off.window == (1000, 3000), "the second job waits forever"
    assert off.end_s[0] == 1010


def test_notices_that_overlap_leave_on_what_the_table_says(engine: Any) -> None:
    changes = [sm.CapacityChange(0, 3), sm.CapacityChange(100, 2), sm.CapacityChange(150, 1, notice_s=90)]
    jobs = workload([(0, 300, 1), (0, 300, 1), (0, 300, 1), (70, 40, 1), (120, 10, 1)])
    schedule = sm.simulate_on_machines(jobs, changes, cores_per_machine=1, window_s=(0, 400), engine=engine)
    assert schedule.off_spans.to_numpy().tolist() == [[0, 1, 150, 400], [0, 2, 100, 400]]
    rows = schedule.runs[["job_id", "machine", "start_s"]].to_numpy().tolist()
    assert rows[:3] == [[1, 0, 0], [2, 1, 0], [3, 2, 0]]
    assert rows[3:] == [[2, 0, 300]], "from 60 s on, machines 1 and 2 take no job"


@pytest.mark.parametrize(("notice", "kept"), [(150, 240), (60, 240), (59, 0)])
def test_a_checkpoint_takes_a_notice_that_is_long_enough(engine: Any, notice: float, kept: float) -> None:
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(300, 1, notice_s=notice, mode="checkpoint")]
    schedule = sm.simulate_on_machines(
        workload([(0, 500, 2), (0, 500, 2)]),
        changes,
        cores_per_machine=2,
        window_s=(0, 1000),
        checkpoints=sm.Checkpoints(cost_s=60.0),
        engine=engine,
    )
    first = schedule.runs.query("job_id == 2").iloc[0]
    assert (first["end_s"], first["work_s"]) == (300, kept)


def test_notice_that_was_given_before_the_window_counts_in_full(engine: Any) -> None:
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(240, 1, notice_s=100, mode="checkpoint")]
    schedule = sm.simulate_on_machines(
        workload([(100, 500, 2), (101, 500, 2), (200, 500, 2)]),
        changes,
        cores_per_machine=2,
        window_s=(200, 2000),
        checkpoints=sm.Checkpoints(cost_s=60.0),
        engine=engine,
    )
    rows = schedule.runs[["job_id", "machine", "start_s", "end_s", "work_s"]].to_numpy().tolist()
    # job 2 ran from 101 s on; at 240 s it has written what it had done at 180 s, which is before the window
    assert rows[:2] == [[1, 0, 200, 600, 400], [2, 1, 200, 240, 0]]
    assert rows[2] == [2, 0, 600, 600 + 500 - (240 - 60 - 101), 500 - (240 - 60 - 101)]


def test_how_many_machines_are_used_at_first(engine: Any) -> None:
    """With nothing that ran before, the first job finds M- machines used, or the middle between these and all."""
    reference = workload([(0, 10, 1), (0, 100, 1)])
    for initial, machine in (("least", 0), ("middle", 4)):
        schedule = sm.simulate_on_machines(
            workload([(5, 10, 1)]),
            [(0, 9), (50, 1)],
            cores_per_machine=1,
            heuristic="TargetAsap",
            reference=reference,
            category="ge",
            initial_use=initial,
            window_s=(0, 40),
            least_machines=1,
            engine=engine,
        )
        assert schedule.runs["machine"].tolist() == [machine]


@pytest.mark.parametrize("heuristic", ["TargetStretch", "TargetAsap", "PackedTargetAsap"])
@pytest.mark.parametrize(
    ("notice", "begin", "used"),
    [
        (0, 0, 1.08),  # 3 of 5 machines are used until the change at 2, when all that is idle is given up
        (1, 0, 1.04),  # the same at 1, when the change is announced
        (2, 0, 1.0),  # the same at the begin, ...
        (30, 0, 1.0),  # ... also if it was announced before
        (0.5, 1, 1.02),  # 3 of 5 machines are used for half a second
        (1, 1, 1.0),
        (2, 2, 1.04),  # 2 of 4 machines are used until the job comes
        (0, 2, 1.04),
    ],
)
def test_notice_that_has_been_given_at_the_begin_comes_after_the_first_machines_used(
    heuristic: Any, engine: Any, notice: float, begin: float, used: float
) -> None:
    schedule = sm.simulate_on_machines(
        workload([(begin + 2, 10, 1)]),
        [sm.CapacityChange(0, 5), sm.CapacityChange(2, 4, notice_s=notice)],
        cores_per_machine=4,
        heuristic=heuristic,
        window_s=(begin, begin + 50),
        engine=engine,
        reference=workload([(0, 5, 1), (0, 20, 1)]),
        least_machines=1,
        initial_use="middle",
    )
    assert schedule.metrics()["mean_machines_used"] == pytest.approx(used)


@pytest.mark.parametrize("cores", [10**9, 2**53])
def test_a_machine_may_be_as_wide_as_can_be_counted(engine: Any, cores: int) -> None:
    jobs = workload([(0, 5, cores), (0, 5, cores // 2), (1, 5, cores // 2), (1, 5, 1)])
    options = {"heuristic": "TargetAsap", "reference": jobs, "engine": engine}
    schedule = sm.simulate_on_machines(jobs, [(0, 1)], cores_per_machine=cores, **options)  # type: ignore[arg-type]
    assert schedule.start_s.tolist() == [0, 5, 5, 10]


def test_a_schedule_is_pickled_whole() -> None:
    schedule = sm.simulate_on_machines(workload([(0, 5, 1)]), [(0, 1)], cores_per_machine=1)
    assert_same(pickle.loads(pickle.dumps(schedule)), schedule)
