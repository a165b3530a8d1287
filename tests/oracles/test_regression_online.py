"""List scheduling without backfilling, against an independent emulator of the reference program.

Left out: SPT, whose values in the oracle depend on an unstable sort, and EASY, which is no list scheduling.
"""

from pathlib import Path

import numpy as np
import pytest

from simmodels.simulate import simulate
from simmodels.work.workload import Workload
from tests.regression_windows import DEPTHS, ORDERS, WINDOWS, read_window


class Window:
    """One window of the oracle: its jobs by mode, the machine's size, and what the emulator found."""

    def __init__(self, folder: Path, name: str) -> None:
        table, self.meta, self.found = read_window(folder, name)
        row = np.arange(len(table))
        self.jobs = {
            mode: Workload(row, table["r"], table["p"], table[estimate], table["q"])
            for mode, estimate in (("actual", "p"), ("est", "est"))
        }

    def simulated(self, mode: str, order: str, depth: int | None, **options: str) -> float:
        schedule = simulate(
            self.jobs[mode],
            cores=self.meta["m"],
            order=order,
            backfilling="none",
            queue_depth=depth,
            warm_jobs=self.meta["state_jobs"],
            **options,
        )
        assert schedule.counted.sum() == self.meta["n"] - self.meta["state_jobs"]
        return schedule.metrics(tau_s=self.meta["tau"])["mean_bounded_slowdown"]


@pytest.fixture(scope="module", params=WINDOWS)
def window(shared: Path, request: pytest.FixtureRequest) -> Window:
    return Window(shared / "oracles/regression/online", request.param)


def test_no_order_of_the_oracle_is_forgotten(window: Window) -> None:
    assert set(window.found.loc["est"].index) == {*ORDERS, "SPT", "EASY"}


@pytest.mark.parametrize("decide", ["instant", "event"])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", ["actual", "est"])
def test_the_mean_bounded_slowdown_of_every_order_is_equal(
    window: Window, mode: str, depth: int | None, decide: str
) -> None:
    for order in ORDERS:
        expected = window.found.loc[(mode, order), DEPTHS[depth]]
        assert window.simulated(mode, order, depth, decide=decide) == pytest.approx(expected, rel=1e-6), order


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("order", ["UNICEF", "F2", "LIN"])
def test_the_process_clock_equals_it_too(window: Window, order: str, depth: int | None) -> None:
    expected = window.found.loc[("est", order), DEPTHS[depth]]
    assert window.simulated("est", order, depth, engine="simpy") == pytest.approx(expected, rel=1e-6)
