"""Windows: whole, consecutive pieces of a workload."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from experiments.studies.windows import windows


def log(submit_s: list[float]) -> sm.Workload:
    ones = np.ones(len(submit_s))
    return sm.Workload(np.arange(len(submit_s)), np.sort(submit_s), ones, ones, ones, max_cores=4)


def test_a_window_begins_with_the_first_submit_that_is_in_none_before() -> None:
    found = list(windows(log([100, 105, 112, 121, 122, 133, 150]), 10.0))
    assert [(w.submit_s.tolist(), w.job_id.tolist()) for w in found] == [
        ([0, 5], [0, 1]), ([0, 9], [2, 3]), ([0], [4]), ([0], [5]),
    ]  # fmt: skip


def test_a_window_with_too_few_jobs_is_left_out() -> None:
    assert [len(w) for w in windows(log([0, 1, 2, 15, 26, 27, 40]), 10.0, more_than=1)] == [3, 2]


def test_what_has_no_whole_window_has_none() -> None:
    assert list(windows(log([]), 10.0)) == []
    assert list(windows(log([1, 2, 10.5]), 10.0)) == []
    assert len(list(windows(log([1, 2, 11]), 10.0))) == 1


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
