"""List scheduling without backfilling, against an independent emulator of the reference program.

Left out: SPT, whose values in the oracle depend on an unstable sort, and EASY, which is no list scheduling.
"""

from pathlib import Path

import pytest

from simmodels.simulate import simulate
from tests.regression_windows import DEPTHS, ORDERS, WINDOWS, Window


def simulated(window: Window, mode: str, order: str, depth: int | None, **options: str) -> float:
    options |= {**window.options, "order": order, "backfilling": "none", "queue_depth": depth}
    schedule = simulate(window.jobs[mode], **options)
    assert schedule.counted.sum() == window.meta["n"] - window.meta["state_jobs"]
    return schedule.metrics(tau_s=window.meta["tau"])["mean_bounded_slowdown"]


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
        assert simulated(window, mode, order, depth, decide=decide) == pytest.approx(expected, rel=1e-6), order


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("order", ["UNICEF", "F2", "LIN"])
def test_the_process_clock_equals_it_too(window: Window, order: str, depth: int | None) -> None:
    expected = window.found.loc[("est", order), DEPTHS[depth]]
    assert simulated(window, "est", order, depth, engine="simpy") == pytest.approx(expected, rel=1e-6)
