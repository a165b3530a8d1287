"""Both engines, and schedules drawn by hand, of which several files ask what holds."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from simmodels.results.schedule import COMPLETED, UNFINISHED, Schedule
from tests.model_scripts import rigid

NAN = math.nan


@pytest.fixture(scope="session", params=["compiled", "simpy"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine: what asks for one is tested on both."""
    return str(request.param)


@pytest.fixture
def drawn() -> Schedule:
    """Five jobs on four cores.

    1: 2 cores, 0 to 10. 2: all cores, waits for it, 10 to 14. 3: 0 s, waits for job 2, at 14.
    4: 3 cores, 20 to 80, where it is killed, with 40 s to do. 5: from 30 on it waits forever.
    """
    jobs = replace(rigid((0, 10, 2), (0, 4, 4), (5, 0, 1), (20, 100, 60, 3), (30, 5, 2)), name="drawn")
    start_s, end_s = np.array([0, 10, 14, 20, NAN]), np.array([10, 14, 14, 80, NAN])
    return Schedule(jobs, 4, start_s, end_s, outcome=np.array([0, 0, 0, 1, 2]))


@pytest.fixture
def interrupted() -> Schedule:
    """Job 1 (3 cores, 10 s) is interrupted at 4, runs again from 12 to 22; job 2 (2 cores) runs from 4 to 12.

    Job 3 (1 core) is interrupted at 6 and never runs again.
    """
    jobs = replace(rigid((0, 10, 3), (1, 8, 2), (2, 50, 1)), name="drawn")
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
