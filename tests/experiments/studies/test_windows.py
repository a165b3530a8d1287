"""Windows: whole, consecutive pieces of a workload."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from experiments.studies.windows import windows


def log(submit_s: list[float]) -> sm.Workload:
    ones = np.ones(len(submit_s))
    return sm.Workload(np.arange(len(submit_s)), np.sort(submit_s), ones, ones, ones, max_cores=4)


@pytest.mark.parametrize(
    ("submit_s", "more_than", "found"),
    [
        ([100, 105, 112, 121, 122, 133, 150], 0, [[0, 5], [0, 9], [0], [0]]),
        ([0, 1, 2, 15, 26, 27, 40], 1, [[0, 1, 2], [0, 1]]),  # others have too few jobs
        ([], 0, []),
        ([1, 2, 10.5], 0, []),  # it is not whole
        ([1, 2, 11], 0, [[0, 1]]),
    ],
)
def test_a_window_begins_with_the_first_submit_that_is_in_none_before(
    submit_s: list[float], more_than: int, found: list[list[float]]
) -> None:
    assert [window.submit_s.tolist() for window in windows(log(submit_s), 10.0, more_than=more_than)] == found


def test_jobs_of_unknown_runtime_are_in_a_window_but_are_not_enough_for_one() -> None:
    jobs = replace(log([0, 1, 2, 15, 16, 17, 40]), runtime_s=np.array([5, 5, 5, 5, 5, -1, 5]))
    assert [window.submit_s.tolist() for window in windows(jobs, 10.0, more_than=2)] == [[0, 1, 2]]
    assert [len(window) for window in windows(jobs, 10.0, more_than=1)] == [3, 3]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.integers(1, 300))
def test_every_job_is_in_one_window_or_after_the_last_whole_one(submits: list[int], length: int) -> None:
    jobs = log([float(s) for s in submits])
    found = list(windows(jobs, float(length)))
    ids = [number for window in found for number in window.job_id.tolist()]
    assert ids == jobs.job_id[: len(ids)].tolist()
    assert all(window.submit_s[0] == 0 and window.submit_s[-1] < length for window in found)
    left = jobs.submit_s[len(ids) :]
    assert len(left) > 0, "the last submit ends the last whole window"
    assert left[-1] - left[0] < length
