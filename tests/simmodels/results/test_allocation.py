import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.results.allocation import Allocation, allocate
from tests.model_scripts import in_order, rigid


def scheduled(jobs: sm.Workload, cores: int, *start_s: float) -> sm.Schedule:
    start = np.array(start_s, dtype=np.float64)
    return sm.Schedule(jobs, cores, start, start + jobs.runtime_s).validate()


def lowest_free(schedule: sm.Schedule) -> list[list[int]]:
    """The cores of each attempt, with sets."""
    runs, work = schedule.all_attempts(), schedule.workload
    free, given_cores = set(range(schedule.cores)), {}
    for now in sorted(set(runs["start_s"]) | set(runs["end_s"])):
        for run in runs.itertuples():
            if run.end_s == now and run.start_s < now:
                free |= set(given_cores[run.Index])
        starting = [run for run in runs.itertuples() if run.start_s == now]
        for run in sorted(starting, key=lambda run: (run.end_s != now, work.submit_s[run.row], run.row)):
            given_cores[run.Index] = sorted(free)[: work.cores[run.row]]
            if run.end_s != now:
                free -= set(given_cores[run.Index])
    return [given_cores.get(row, []) for row in range(len(runs))]


def test_who_never_started_has_no_cores_and_who_never_ended_keeps_them() -> None:
    jobs = rigid((0, 10, 2), (0, 10, 2), (0, 10, 1), (0, 10, 2))
    start_s, end_s = np.array([0, 0, 10, np.nan]), np.array([np.nan, 10, 20, np.nan])
    found = allocate(sm.Schedule(jobs, 4, start_s, end_s).validate())
    assert found.formatted() == ["0-1", "2-3", "2", ""]
    assert found.intervals(3) == []
    assert len(found) == 4


def test_earlier_attempts_come_after_the_jobs() -> None:
    jobs = rigid((0, 10, 2), (0, 10, 2))
    attempts = pd.DataFrame(
        {"job_id": [1, 1], "attempt": [1, 2], "start_s": [0, 10], "end_s": [4, 20], "outcome": [2, 0]}
    )
    schedule = sm.Schedule(jobs, 4, np.array([10.0, 0]), np.array([20.0, 10]), attempts=attempts)
    assert allocate(schedule.validate()).formatted() == ["0-1", "2-3", "0-1"]


def test_cores_are_those_of_the_machines_and_clusters_that_jobs_ran_on() -> None:
    sites = [sm.Site(name="a", machines=[sm.Machines(1, 2), sm.Machines(2, 4)]), sm.Site(name="b", cores=4)]
    jobs = rigid((0, 10, 9), (0, 10, 3), (10, 5, 3), (10, 5, 1), (11, 5, 3))
    schedule = sm.simulate(jobs, on=sites, router="RoundRobin")
    parts = schedule.all_parts()[["row", "machine", "cores"]].to_numpy().tolist()
    assert sorted(parts) == [[0, 0, 2], [0, 1, 4], [0, 2, 3], [2, 0, 2], [2, 1, 1]]
    assert schedule.all_attempts()["machine"].tolist() == [0, 0, 0, 0, 1]
    assert allocate(schedule).formatted() == ["0-8", "10-12", "0-2", "10", "3-5"]


def test_a_schedule_that_does_not_fit_is_refused_by_job_and_instant() -> None:
    jobs = rigid((0, 10, 3), (0, 10, 3))
    with pytest.raises(sm.IllegalScheduleError, match=r"\(capacity\): job 2 starts at 4.0 s on 3 cores"):
        allocate(sm.Schedule(jobs, 4, np.array([0.0, 4]), np.array([10.0, 14])))
    one = jobs.take([0])
    with pytest.raises(sm.RequestError, match="the number of cores to assign must be at most 2147483647"):
        allocate(scheduled(one, 2**31, 0))
    assert allocate(scheduled(one, 2**31 - 1, 0)).formatted() == ["0-2"]
    assert allocate(scheduled(one.take([]), 4)).formatted() == []


def test_cores_are_written_as_batsim_writes_them() -> None:
    first, last = np.array([7, 0, 7, 9], np.int32), np.array([7, 3, 7, 10], np.int32)
    assert Allocation(np.array([0, 0, 1, 4]), first, last).formatted() == ["", "7", "0-3 7 9-10"]


sizes = st.integers(1, 12)
job_lists = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), sizes), min_size=1, max_size=40)


@given(job_lists, st.integers(12, 24))
def test_no_core_is_used_twice_and_each_job_has_the_lowest_that_were_free(
    jobs: list[tuple[int, int, int]], cores: int
) -> None:
    schedule = in_order(rigid(*jobs), cores).validate()
    found = allocate(schedule)
    given_cores = [
        [core for low, high in found.intervals(row) for core in range(low, high + 1)] for row in range(len(schedule))
    ]
    assert given_cores == lowest_free(schedule)
    work = schedule.workload
    assert [len(mine) for mine in given_cores] == work.cores.tolist()
    for row, mine in enumerate(given_cores):
        low, high = np.array(found.intervals(row)).T
        assert (low[1:] > high[:-1] + 1).all()
        together = (schedule.start_s < schedule.end_s[row]) & (schedule.end_s > schedule.start_s[row])
        for other in np.flatnonzero(together):
            assert other == row or not set(mine) & set(given_cores[other])


def test_many_pieces_make_the_arrays_grow() -> None:
    # 400 jobs of one core, every second of which ends at 5; then one that takes all the holes
    jobs = rigid(*[(0, 5 if row % 2 else 50, 1) for row in range(400)], (5, 10, 200), (60, 1, 400))
    found = allocate(scheduled(jobs, 400, *[0] * 400, 5, 60))
    assert found.intervals(400) == [(core, core) for core in range(1, 400, 2)]
    assert found.intervals(401) == [(0, 399)]
