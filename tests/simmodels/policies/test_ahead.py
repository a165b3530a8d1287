"""First come, first served, with jobs of some queues counted as submitted earlier."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import simmodels as sm

LOG = sm.Workload.of(
    {
        "submit_s": [0, 10, 20, 30],
        "runtime_s": [100] * 4,
        "cores": [4] * 4,
        "queue": [0, 0, 1, 2],
        "user_id": [9, 9, 9, 7],
    }
)


def starts(order: sm.Order, log: sm.Workload = LOG) -> list[float]:
    """Return the starts on both engines, which are the same."""
    found, other = (sm.simulate(log, cores=4, order=order, engine=engine) for engine in ("compiled", "simpy"))
    np.testing.assert_array_equal(found.start_s, other.start_s)
    return found.start_s.tolist()


def test_a_job_counts_as_submitted_so_much_earlier() -> None:
    """Three wait when the first ends: submitted at 10, 20 - 15 = 5, and 30, or 30 - 26 = 4."""
    assert starts(sm.Ahead("queue", {1: 15})) == [0, 200, 100, 300]
    assert starts(sm.Ahead("queue", {1: 15, 2: 26.0})) == [0, 300, 200, 100]
    assert starts(sm.Ahead("queue", {0: -60})) == [0, 300, 100, 200]


def test_it_may_go_by_any_column_of_numbers() -> None:
    assert starts(sm.Ahead("user", {7: 21})) == [0, 200, 300, 100]
    named = replace(LOG, extras={**LOG.extras, "account": np.array([0, 0, 5, 0])})
    assert starts(sm.Ahead("account", {5: 11}), named) == [0, 200, 100, 300]


def test_it_is_that_of_its_name_in_another_process() -> None:
    order = sm.Ahead("queue", {1: 15}, name="mine")
    again = pickle.loads(pickle.dumps(order))
    assert repr(again) == repr(order) == "Ahead('queue', {1: 15.0}, name='mine')"
    assert starts(again) == starts(order)
    assert (order.moving, order.needs) == (False, ("submit", "queue"))


@pytest.mark.parametrize(
    ("by", "ahead_s", "match"),
    [
        ("queue or so", {1: 2}, r"by must be a column of the workload \(got 'queue or so'\)"),
        ("estimate", {1: 2}, r"by must be a column of the workload \(got 'estimate'\)"),
        ("queue", {}, r"the number of values must be from 1 to 1,000 \(got 0\)"),
        ("queue", {1.5: 2}, r"a value of queue must be an integer from -1 to .* \(got 1.5\)"),
        ("queue", {1: float("nan")}, r"how far ahead queue 1 is must be a finite number \(got nan\)"),
    ],
)
def test_what_it_cannot_go_by_is_refused(by: str, ahead_s: dict[int, float], match: str) -> None:
    with pytest.raises(sm.RequestError, match=match):
        sm.Ahead(by, ahead_s)
