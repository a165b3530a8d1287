import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
from workloads.batsim_jobs import COLUMNS, batsim_jobs, write_batsim_jobs

NAN = math.nan


@pytest.fixture
def drawn() -> sm.Schedule:
    """Seven jobs on five cores.

    1: 2 cores, 0 to 10, uncounted. 2: 1 core, 0 to 14.5. 3: 3 cores, waits for job 1, from 10 to 12.5. 4: waits, then
    0 s at 20. 5: 4 cores, 30 to 90, where it is killed. 6: 1 core, still runs. 7: never starts.
    """
    jobs = sm.Workload(
        job_id=[1, 2, 3, 4, 5, 6, 7],
        submit_s=[0, 0, 5, 19, 30, 31, 32],
        runtime_s=[10, 14.5, 2.5, 0, 100, 70, 3],
        estimate_s=[20, 14.5, 60, 5, 60, 80, 3],
        cores=[2, 1, 3, 1, 4, 1, 5],
        name='week "7", cut',
    )
    start_s, end_s = [0, 0, 10, 20, 30, 31, NAN], [10, 14.5, 12.5, 20, 90, NAN, NAN]
    outcome, counted = np.array([0, 0, 0, 0, 1, 2, 2]), np.arange(7) > 0
    schedule = sm.Schedule(jobs, 5, np.array(start_s), np.array(end_s), outcome=outcome, counted=counted)
    return schedule.validate()


def test_each_row_is_as_drawn_in_batsims_columns(drawn: sm.Schedule, tmp_path: Path) -> None:
    write_batsim_jobs(drawn, tmp_path / "jobs.csv")
    header, *rows = (tmp_path / "jobs.csv").read_text().splitlines()
    assert header == (
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,"
        "starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,"
        "consumed_energy,metadata"
    )
    name = '"week ""7"", cut"'
    assert rows == [
        f"1,{name},10,0.0,2,20.0,1,COMPLETED_SUCCESSFULLY,0.0,10.0,10.0,0.0,10.0,1.0,0-1,-1.0,uncounted",
        f"2,{name},14.5,0.0,1,14.5,1,COMPLETED_SUCCESSFULLY,0.0,14.5,14.5,0.0,14.5,1.0,2,-1.0,",
        f"3,{name},2.5,5.0,3,60.0,1,COMPLETED_SUCCESSFULLY,10.0,2.5,12.5,5.0,7.5,3.0,0-1 3,-1.0,",
        f"4,{name},0,19.0,1,5.0,1,COMPLETED_SUCCESSFULLY,20.0,0.0,20.0,1.0,1.0,,0,-1.0,",
        f"5,{name},100,30.0,4,60.0,0,COMPLETED_WALLTIME_REACHED,30.0,60.0,90.0,0.0,60.0,1.0,0-3,-1.0,",
        f"6,{name},70,31.0,1,80.0,0,RUNNING,31.0,,,0.0,,,4,,",
        f"7,{name},3,32.0,5,3.0,0,SUBMITTED,,,,,,,,,",
    ]


def test_batsims_own_ids_and_profiles_are_kept(drawn: sm.Schedule) -> None:
    profile = np.array([f"delay{row}" for row in range(7)])
    batsim_id = np.array(["w0!1", "w0!2", "w1!1", "4", "five", "a!b!6", "7"])
    schedule = replace(drawn, workload=replace(drawn.workload, extras={"profile": profile, "batsim_id": batsim_id}))
    table = batsim_jobs(schedule)
    own = drawn.workload.name
    assert table["profile"].tolist() == profile.tolist()
    assert table["job_id"].tolist() == ["1", "2", "1", "4", "five", "6", "7"]
    assert table["workload_name"].tolist() == ["w0", "w0", "w1", own, own, "a!b", own]


def test_of_a_job_that_ran_twice_the_last_attempt_is_written() -> None:
    jobs = sm.Workload([1, 2], [0.0, 0], [10.0, 10], [10.0, 10], [2, 2])
    attempts = pd.DataFrame(
        {"job_id": [1, 1], "attempt": [1, 2], "start_s": [0, 20], "end_s": [4, 30], "outcome": [2, 0]}
    )
    schedule = sm.Schedule(jobs, 4, np.array([20.0, 3]), np.array([30.0, 13]), attempts=attempts).validate()
    table = batsim_jobs(schedule)
    assert table["starting_time"].tolist() == [20, 3]
    assert table["waiting_time"].tolist() == [20, 3]
    assert table["allocated_resources"].tolist() == ["0-1", "2-3"]


def test_an_impossible_schedule_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    jobs = sm.Workload([1, 2], [0.0, 0], [10.0, 10], [10.0, 10], [2, 3])
    schedule = sm.Schedule(jobs, 4, np.zeros(2), np.full(2, 10.0))
    with pytest.raises(sm.IllegalScheduleError, match=r"job 2 starts at 0\.0 s on 3 cores"):
        write_batsim_jobs(schedule, tmp_path / "jobs.csv")
    assert not list(tmp_path.iterdir())


def test_an_empty_schedule_gives_the_header_alone(tmp_path: Path) -> None:
    write_batsim_jobs(sm.Schedule(sm.Workload([], [], [], [], []), 4, np.empty(0), np.empty(0)), tmp_path / "jobs.csv")
    assert (tmp_path / "jobs.csv").read_text() == ",".join(COLUMNS) + "\n"


def test_what_ran_when_a_window_began_started_at_its_submit() -> None:
    log = {"submit_s": [3, 6], "runtime_s": [4, 5], "cores": [2, 2]}
    table = batsim_jobs(sm.simulate(log, cores=2, window_s=(5, 60)))
    names = ["starting_time", "waiting_time", "execution_time", "turnaround_time", "stretch"]
    assert table[names].to_numpy().tolist() == [[3, 0, 4, 4, 1], [7, 1, 5, 6, 1.2]]


def test_what_lost_its_machine_and_waits_is_submitted() -> None:
    site = sm.Site(machines=2, cores_per_machine=2, capacity=[(0, 2), (10, 1)])
    log = {"submit_s": [0, 0, 1], "runtime_s": [60, 60, 60], "cores": [2, 2, 2]}
    table = batsim_jobs(sm.simulate(log, on=site, window_s=(0, 30)))
    assert table["final_state"].tolist() == ["RUNNING", "SUBMITTED", "SUBMITTED"]
