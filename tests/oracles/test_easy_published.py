from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simmodels.simulate import simulate
from workloads.swf import read_swf

LOGS = {"KTH-SP2": 28_481, "SDSC-SP2": 54_006, "CEA-curie": 295_540}


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("log", LOGS)
def test_every_start_of_the_published_schedule_is_equal(shared: Path, log: str, engine: str) -> None:
    folder = shared / "oracles/easy_published"
    jobs = read_swf(folder / f"{log}.input.swf.gz")
    published = pd.read_csv(folder / f"{log}.easy_starts.csv.gz")
    assert len(jobs) == LOGS[log]
    assert np.array_equal(jobs.job_id, published["job"])

    schedule = simulate(jobs, order="FCFS", backfilling="easy", decide="event", engine=engine)

    unlike = np.flatnonzero(schedule.start_s != published["start"].to_numpy())
    assert not len(unlike), f"{len(unlike)} starts differ, the first is that of job {jobs.job_id[unlike[0]]}"
    schedule.validate()
