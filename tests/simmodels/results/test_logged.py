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
    assert schedule.about["order"] == "as logged"
    more = sm.as_logged(log((0, 60, 4, 0), (0, 60, 4, -1), (0, 60, 4, -30), (5, 10, 1, 7)))
    assert more.counted.tolist() == [True, False, False, True]
    assert np.isnan(more.start_s[1:3]).all()
    assert more.metrics()["mean_wait_s"] == 3.5
    assert more.about["left_out"] == 2
    with pytest.raises(sm.IllegalScheduleError):
        more.validate()  # it need not be legal


def test_a_log_that_does_not_say_is_refused() -> None:
    without = sm.Workload.from_frame(pd.DataFrame({"submit_s": [0], "runtime_s": [60], "cores": [1]}), max_cores=4)
    for silent in (without, log((0, 60, 4, -1))):
        with pytest.raises(sm.RequestError, match="does not say when its jobs started"):
            sm.as_logged(silent)
    unknown = log((0, 60, 4, 0), max_cores=None)
    with pytest.raises(sm.RequestError, match="the size of the machine"):
        sm.as_logged(unknown)
    assert sm.as_logged(unknown, cores=8).cores == 8
