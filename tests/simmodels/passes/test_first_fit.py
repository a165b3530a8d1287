"""First fit: hand-drawn cases of when the queue is sorted again, and of machines that fill nobody any more."""

from typing import Any

import pytest

import simmodels as sm

pytestmark = pytest.mark.parametrize(
    "how",
    [
        {"heuristic": "FirstFit", "engine": engine, "dispatch": dispatch}
        for engine in ("compiled", "simpy")
        for dispatch in ("instant", "event")
    ],
)


def test_an_order_that_moves_is_sorted_again_before_the_machines_are_filled(how: dict[str, Any]) -> None:
    # At 100, WFP3 has (99/100)**3 for job 1, and (50/10)**3 for job 2; both had 0 when they came.
    log = {"submit_s": [0, 1, 50], "runtime_s": [100, 100, 10], "cores": [1, 1, 1]}
    machine = sm.Site(machines=1, cores_per_machine=1)
    assert sm.simulate(log, on=machine, order="WFP3", **how).start_s.tolist() == [0, 110, 100]
    # Another machine comes at 100, while the first is busy.
    log["runtime_s"][0] = 1000
    more = [sm.CapacityChange(0, 1), sm.CapacityChange(100, 2)]
    assert sm.simulate(log, capacity=more, cores_per_machine=1, order="WFP3", **how).start_s.tolist() == [0, 110, 100]


def test_a_job_that_ends_on_a_machine_under_notice_lets_none_start_there(how: dict[str, Any]) -> None:
    log = {"submit_s": [0, 0, 1], "runtime_s": [50, 10, 10], "cores": [2, 2, 2]}
    capacity = [sm.CapacityChange(0, 2), sm.CapacityChange(40, 1, notice_s=35)]  # the second knows from 5 on
    assert sm.simulate(log, capacity=capacity, cores_per_machine=2, **how).start_s.tolist() == [0, 0, 50]
