from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from simmodels.simulate import simulate
from workloads.swf import read_swf


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "oracles/ocst"


def runs(folder: Path) -> Iterator[tuple[pd.Series, pd.DataFrame]]:
    manifest = pd.read_csv(folder / "MANIFEST.csv")
    for _, run in manifest.iterrows():
        yield run, pd.read_csv(folder / run["file"]).set_index("job_id")


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_every_start_and_end_of_the_forty_runs_is_equal(folder: Path, engine: str) -> None:
    seen = 0
    for run, theirs in runs(folder):
        jobs = read_swf(folder / run["input"])
        schedule = simulate(
            jobs,
            order=run["order"],
            backfilling="easy",
            backfill_order=run["backfill_order"],
            threshold_s=None if pd.isna(run["threshold_s"]) else float(run["threshold_s"]),
            engine=engine,
        )
        ours = schedule.validate().jobs.set_index("job_id")
        assert len(ours) == len(theirs) == run["jobs"]
        assert (ours["start_s"] == theirs["start"][ours.index]).all(), run["file"]
        assert (ours["end_s"] == theirs["end"][ours.index]).all(), run["file"]
        assert schedule.metrics()["mean_wait_s"] == pytest.approx(run["avg_wait_s"], abs=6e-4)
        seen += 1
    assert seen == 40
