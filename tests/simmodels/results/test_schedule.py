import json
import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from simmodels.results.schedule import COMPLETED, UNFINISHED, ClusterSpec, Schedule
from tests.model_scripts import rigid

NAN = math.nan


# -- the record ----------------------------------------------------------------------------------


def test_a_schedule_cannot_be_changed(drawn: Schedule) -> None:
    with pytest.raises(FrozenInstanceError):
        drawn.cores = 5  # type: ignore[misc]
    for column in (drawn.start_s, drawn.end_s, drawn.outcome, drawn.counted):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(TypeError):
        drawn.about["order"] = "FCFS"  # type: ignore[index]
    start_s = np.array([0, NAN])
    schedule = Schedule(rigid((0, 1, 1), (0, 1, 1)), 2, start_s, np.array([1, NAN]))
    start_s[1] = NAN  # the caller's own
    assert schedule.outcome.tolist() == [COMPLETED, UNFINISHED]
    assert schedule.counted.all()
    assert schedule.outcome.dtype == np.int8


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        *(
            (lambda it, name=name: {name: getattr(it, name)[:2]}, rf"column {name} must be \(3,\), .* \(got \(2,\)\)")
            for name in ("start_s", "end_s", "outcome", "counted")
        ),
        (lambda _: {"outcome": np.array([0, 3, 2])}, r"column outcome, row 1, must be 0, 1 or 2 \(got 3\)"),
        (lambda _: {"cores": 0}, r"cores must be an integer >= 1 \(got 0\)"),
        (lambda _: {"clusters": [("a", 3)]}, "a schedule of 4 cores on clusters of 3"),
        (lambda it: {"attempts": it.attempts.drop(columns=["job_id", "start_s"])}, "attempts without .*start_s"),
        (lambda it: {"attempts": it.attempts.assign(job_id=[1, 9, 1])}, "attempts of job 9; the workload has 0 jobs"),
        (lambda it: {"workload": replace(it.workload, job_id=np.array([1, 2, 1]))}, "of job 1; .* has 2 jobs"),
    ],
)
def test_what_cannot_be_a_schedule_is_refused(
    interrupted: Schedule, columns: Callable[[Schedule], dict[str, object]], text: str
) -> None:
    with pytest.raises(sm.RequestError, match=text):
        replace(interrupted, **columns(interrupted))


# -- tables --------------------------------------------------------------------------------------


def test_the_table_of_jobs_has_a_row_a_job_in_input_order(drawn: Schedule) -> None:
    jobs = drawn.jobs
    assert jobs["job_id"].tolist() == [1, 2, 3, 4, 5]
    assert jobs["wait_s"].tolist()[:4] == [0, 10, 9, 0]
    assert jobs["response_s"].tolist()[:4] == [10, 14, 9, 60]
    assert jobs["executed_s"].tolist()[:4] == [10, 4, 0, 60]
    assert jobs.loc[4, ["start_s", "end_s", "wait_s", "response_s", "executed_s"]].isna().all()
    assert jobs["outcome"].tolist() == ["completed", "completed", "completed", "killed", "unfinished"]
    assert isinstance(jobs["outcome"].dtype, pd.CategoricalDtype)


def test_all_attempts_begin_with_the_last_of_each_job(interrupted: Schedule, drawn: Schedule) -> None:
    runs = interrupted.all_attempts()
    assert runs["row"].tolist() == [0, 1, 2, 0]
    assert runs["attempt"].tolist() == [2, 1, 1, 1]
    assert runs["start_s"].tolist() == [12, 4, 2, 0]
    assert runs["end_s"].tolist() == [22, 12, 6, 4]
    assert runs["outcome"].tolist() == [0, 0, 2, 2]
    assert interrupted.jobs["attempts"].tolist() == [2, 1, 1]
    pd.testing.assert_series_equal(drawn.all_attempts()["start_s"], drawn.jobs["start_s"])


def test_a_job_that_the_table_of_attempts_does_not_list_ran_once(interrupted: Schedule) -> None:
    columns = ["job_id", "attempt", "start_s", "end_s", "cores"]
    ran = [(1, 1, 0.0, 4.0, 3), (3, 1, 2.0, 6.0, 1), (2, 1, 4.0, 12.0, 2), (1, 2, 12.0, 22.0, 3)]
    assert list(interrupted.runs[columns].itertuples(index=False, name=None)) == ran
    assert list(interrupted.on(0).runs[columns].itertuples(index=False, name=None)) == ran
    power = sm.Power(machine_w=0, core_w=3_600_000)  # 1 kWh per core-second
    assert interrupted.energy_by_job(power)["energy_kwh"].tolist() == [3 * 14, 2 * 8, 4]
    assert interrupted.energy(power) == {"energy_kwh": 62}
    listed = replace(interrupted, attempts=interrupted.runs.drop(columns=["cores", "lost_s"]))
    pd.testing.assert_frame_equal(listed.runs, interrupted.runs)


def test_the_queue_and_the_cores_are_known_over_time(drawn: Schedule, interrupted: Schedule) -> None:
    queue, used = drawn.queue_length(), drawn.cores_used()
    assert queue.to_dict("list") == {"time_s": [0, 5, 10, 14, 30], "queue_length": [1, 2, 1, 0, 1]}
    assert used.to_dict("list") == {"time_s": [0, 10, 14, 20, 80], "cores_used": [2, 4, 0, 3, 0]}
    queue, used = interrupted.queue_length(), interrupted.cores_used()
    # job 2 waits from 1 to 4, job 1 from 4 to 12, job 3 from 6 on
    assert queue.to_dict("list") == {"time_s": [1, 6, 12], "queue_length": [1, 2, 1]}
    assert used.to_dict("list") == {"time_s": [0, 2, 4, 6, 12, 22], "cores_used": [3, 4, 3, 2, 3, 0]}


# -- metrics -------------------------------------------------------------------------------------


def test_tasks_of_workflows_do_not_wait_in_the_queue_of_rigid_jobs() -> None:
    """A job waits from 0 s to 10 s, and while it does, two tasks start."""
    jobs = sm.Workload.concat([sm.Workload([1], [0.0], [5.0], [5.0], [1]), sm.Workflow(2, 0.0, [4.0, 4.0])])
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
        # 10 / 10, 14 / 4, none of job 3, 60 / 60
        "mean_slowdown": 5.5 / 3,
        "jobs_without_slowdown": 1,
        "mean_bounded_slowdown": 4.4 / 4,
        "max_bounded_slowdown": 1.4,
        "mean_per_processor_bounded_slowdown": 1,
        # 10 / 10, 14 / 4, none of job 3, 60 / 100
        "mean_stretch": 5.1 / 3,
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
    assert all(type(value) in {int, float} for value in found.values())
    # 10 / 10, 14 / 4, 9 / 1, 60 / 60
    assert drawn.metrics(tau_s=1)["mean_bounded_slowdown"] == 14.5 / 4


def test_uncounted_jobs_are_on_the_machine_but_not_in_the_means(drawn: Schedule) -> None:
    found = replace(drawn, counted=np.array([False, True, True, False, False])).metrics()
    assert (found["jobs"], found["uncounted_jobs"], found["killed"], found["unfinished"]) == (2, 3, 0, 0)
    assert found["mean_wait_s"] == 9.5
    assert found["makespan_s"] == 14
    assert found["throughput_jobs_per_hour"] == pytest.approx(2 * 3600 / 14)
    assert found["utilisation"] == 36 / 56  # job 1 is there too
    assert found["mean_queue_length"] == pytest.approx(19 / 14)


def test_without_an_ended_job_the_means_are_nan_and_the_counts_are_there() -> None:
    nothing = Schedule(rigid((0, 1, 1)), 1, np.array([NAN]), np.array([NAN])).metrics()
    assert (nothing["jobs"], nothing["unfinished"], nothing["max_queue_length"]) == (1, 1, 0)
    assert all(np.isnan(nothing[name]) for name in ("mean_wait_s", "p95_stretch", "utilisation", "makespan_s"))
    empty = Schedule(sm.Workload([], [], [], [], []), 1, np.empty(0), np.empty(0))
    assert empty.validate().metrics()["jobs"] == 0
    assert len(empty.jobs) == len(empty.queue_length()) == len(empty.cores_used()) == 0


def test_attempts_that_came_to_nothing_use_the_machine(interrupted: Schedule) -> None:
    found = interrupted.validate().metrics()
    assert found["makespan_s"] == 22
    assert found["utilisation"] == (3 * 4 + 3 * 10 + 2 * 8 + 1 * 4) / (4 * 22)
    assert found["mean_wait_s"] == (12 + 3) / 2
    assert found["mean_queue_length"] == pytest.approx((3 + 8 + 16) / 22)


# -- oracles -------------------------------------------------------------------------------------


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
        schedule = Schedule(sm.Workload(*columns), about["m"], start_s, start_s + rows["p"].to_numpy(), counted=counted)
        found = schedule.validate().metrics(tau_s=about["tau"])
        assert found["mean_bounded_slowdown"] == pytest.approx(run.reference_avgbsld, abs=6e-7)
        compared += 1
    assert compared >= 20


# -- files ---------------------------------------------------------------------------------------


def test_csv_holds_the_table_of_jobs(drawn: Schedule, tmp_path: Path) -> None:
    drawn.to_csv(tmp_path / "jobs.csv")
    again = pd.read_csv(tmp_path / "jobs.csv")
    expected = drawn.jobs.assign(outcome=drawn.jobs["outcome"].astype("str"))
    pd.testing.assert_frame_equal(again, expected, check_dtype=False)
    first = (tmp_path / "jobs.csv").read_text().splitlines()[1]
    assert first == "1,0.0,0.0,0.0,10.0,10.0,10.0,10.0,10.0,2,-1,completed,True"
    for write in (drawn.to_csv, drawn.to_parquet):
        with pytest.raises(FileNotFoundError, match="nowhere is not a folder"):  # as `replacing` has it
            write(tmp_path / "nowhere" / "jobs.csv")


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


# -- clusters, workflows and machines together -----------------------------------------------------


def mixed() -> Schedule:
    """Job 1 on pool a, workflow 2 of two tasks on both pools, job 3 never starts."""
    log = rigid((0, 10, 2), (5, 7, 1))
    flow = sm.Workflow(2, 0.0, [4, 6], [1, 3], [(0, 1)])
    work = sm.Workload.concat([log.take([0]), flow, log.take([1])])
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
    named = replace(schedule, about={"order": "SAF", "seed": 1})
    says = "2 rigid jobs, 1 workflow of 2 tasks on 6 cores of 2 clusters, order=SAF"
    assert repr(named) == f"<Schedule of 'workload': {says}>"
    again = pickle.loads(pickle.dumps(named))
    pd.testing.assert_frame_equal(again.jobs, schedule.jobs)
    assert again.about == named.about


def test_what_ran_on_one_cluster_is_a_schedule_of_its_own() -> None:
    a = mixed().on("a").validate()
    assert (a.cores, a.workload.job_id.tolist(), a.end_s.tolist()) == (3, [1, 2], [10, 4])
    assert mixed().on(1).start_s.tolist() == [10]
    with pytest.raises(sm.UnknownNameError, match="unknown cluster 'c'; known: a, b"):
        mixed().on("c")


def test_a_pool_of_cores_is_one_machine_that_is_always_on(drawn: Schedule) -> None:
    # from 0 to 80 s on 4 cores, of which 216 core-seconds are in use
    found = drawn.energy(sm.Power(machine_w=90.0, core_w=10.0))
    assert found["energy_kwh"] == pytest.approx((90 * 80 + 10 * 216) / 3.6e6)
    by_job = drawn.energy_by_job(sm.Power(machine_w=0.0, core_w=10.0))["energy_kwh"]
    assert by_job.sum() == pytest.approx(2160 / 3.6e6)


@pytest.mark.parametrize("machines", [False, True])
@pytest.mark.parametrize(
    ("jobs", "kwh"),
    [
        ([(0, 3600, 4)], [1.04, 1.0]),  # none ran on b
        ([(0, 3600, 4), (1800, 7200, 2)], [2.54, 2.54]),  # from 0 s to 9000 s, on both
    ],
)
def test_the_energy_of_a_cluster_is_of_the_window_of_the_whole(
    jobs: list[tuple[float, float, int]], kwh: list[float], *, machines: bool
) -> None:
    on = [sm.Site(name=name, **({"machines": [sm.Machines(1, 4)]} if machines else {"cores": 4})) for name in "ab"]
    whole, power = sm.simulate(rigid(*jobs), on=on, router="RoundRobin"), sm.Power(machine_w=1000.0, core_w=10.0)
    parts = [whole.on(name) for name in "ab"]
    again = [pickle.loads(pickle.dumps(parts[0])), parts[1].on(0)]
    for each in (parts, again):
        assert [part.energy(power)["energy_kwh"] for part in each] == pytest.approx(kwh)
    assert whole.energy(power)["energy_kwh"] == pytest.approx(sum(kwh))


def test_without_a_counted_job_that_ended_energy_has_no_value(drawn: Schedule) -> None:
    warm = replace(drawn, counted=np.zeros(len(drawn), np.bool_))
    for schedule in (sm.simulate(drawn.workload.take([]), cores=4), warm, warm.on(0)):
        found = schedule.energy(sm.Power(90.0, 10.0), price_per_kwh=sm.Signal.constant(0.3))
        assert found == pytest.approx({"energy_kwh": NAN, "cost": NAN}, nan_ok=True)


def test_a_task_that_was_killed_or_lost_its_machine_has_not_completed_and_does_not_run() -> None:
    site = sm.Site(machines=3, cores_per_machine=1, capacity=[(0, 3), (10, 2)])
    log = {"submit_s": [0, 0, 0, 1], "runtime_s": [60] * 4, "estimate_s": [5, 60, 60, 60], "cores": [1] * 4}
    tasks = sm.simulate(log, on=site, window_s=(0, 30), overrun="kill").tasks
    assert tasks["outcome"].tolist() == ["killed", "running", "interrupted", "running"]
