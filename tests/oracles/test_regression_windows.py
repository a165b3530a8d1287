"""The windows of the online study: those of the published program, and its medians on Lublin-256.

The specification of the study gives the medians over five windows, with 32 and with all waiting jobs considered.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.studies.windows import windows
from simmodels.simulate import simulate
from simmodels.units import DAY
from simmodels.work.workload import Workload
from workloads import clean, read_swf

MEDIANS = {
    "SPT": (3295, 45), "SAF": (209, 21), "WFP3": (8108, 139), "UNICEF": (6323, 37), "F2": (100, 20), "LIN": (582, 54),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(shared: Path) -> list[Workload]:
    log = clean(read_swf(shared / "traces/lublin_256.swf.gz"), "regression")
    return list(windows(log, 15 * DAY, more_than=16))


def test_the_fifth_window_is_that_of_the_reference(shared: Path, found: list[Workload]) -> None:
    table = pd.read_csv(shared / "oracles/regression/online/W2_lublin256_win5.input.csv.gz")
    assert len(found) == 5
    assert found[4].submit_s.tolist() == table["r"].tolist()
    assert found[4].runtime_s.tolist() == table["p"].tolist()
    assert found[4].cores.tolist() == table["q"].tolist()


@pytest.mark.parametrize("order", MEDIANS)
def test_the_medians_are_those_of_the_specification(found: list[Workload], order: str) -> None:
    for depth, expected in zip((32, None), MEDIANS[order], strict=True):
        slowdowns = [
            simulate(window, order=order, backfilling="none", queue_depth=depth, warm_jobs=16).metrics()[
                "mean_bounded_slowdown"
            ]
            for window in found
        ]
        assert np.round(np.median(slowdowns)) == expected, depth
