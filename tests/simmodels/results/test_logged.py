"""What a log says of its own starts, as a schedule."""

import numpy as np
import pandas as pd
import pytest

import simmodels as sm


def log(*rows: tuple[float, float, int, float], max_cores: int | None = 4) -> sm.Workload:
    """Return jobs of (submit, runtime, cores, logged wait)."""
    frame = pd.DataFrame(rows, columns=["submit_s", "runtime_s", "cores", "wait_s"])
    return sm.Workload.from_frame(frame, max_cores=max_cores)


def test_each_job_starts_when_the_log_says() -> None:
    schedule = sm.as_logged(log((0, 60, 4, 0), (10, 60, 4, 50), (20, 5, 1, 100)))
    assert schedule.start_s.tolist() == [0, 60, 120]
    assert schedule.end_s.tolist() == [60, 120, 125]
    metrics = schedule.metrics()
    assert (metrics["mean_wait_s"], metrics["max_wait_s"], metrics["jobs"]) == (50, 100, 3)
    assert metrics["utilisation"] == (60 * 4 + 60 * 4 + 5) / (125 * 4)
    assert schedule.about["order"] == "as logged"


def test_jobs_without_a_known_wait_do_not_count() -> None:
    schedule = sm.as_logged(log((0, 60, 4, 0), (0, 60, 4, -1), (0, 60, 4, -30), (5, 10, 1, 7)))
    assert schedule.counted.tolist() == [True, False, False, True]
    assert np.isnan(schedule.start_s[1:3]).all()
    assert schedule.metrics()["mean_wait_s"] == 3.5
    assert schedule.about["left_out"] == 2


def test_it_need_not_be_legal_and_has_its_figures_all_the_same() -> None:
    both = log((0, 60, 3, 0), (0, 60, 3, 0))
    schedule = sm.as_logged(both)
    assert schedule.metrics()["mean_wait_s"] == 0
    with pytest.raises(sm.IllegalScheduleError):
        schedule.validate()


def test_a_log_that_does_not_say_is_refused() -> None:
    without = sm.Workload.from_frame(pd.DataFrame({"submit_s": [0], "runtime_s": [60], "cores": [1]}), max_cores=4)
    with pytest.raises(sm.RequestError, match="does not say when its jobs started"):
        sm.as_logged(without)
    with pytest.raises(sm.RequestError, match="does not say when its jobs started"):
        sm.as_logged(log((0, 60, 4, -1)))


def test_a_machine_of_unknown_size_is_refused_and_may_be_given() -> None:
    unknown = log((0, 60, 4, 0), max_cores=None)
    with pytest.raises(sm.RequestError, match="the size of the machine"):
        sm.as_logged(unknown)
    assert sm.as_logged(unknown, cores=8).cores == 8
