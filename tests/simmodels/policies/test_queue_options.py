import math

import pytest

from simmodels.errors import RequestError, UnknownNameError
from simmodels.policies.orders import BUILT_IN
from simmodels.policies.queue_options import QueueOptions
from tests.refused import refused


def test_names_become_orders_and_numbers_their_types() -> None:
    options = QueueOptions.checked(order="saf", backfill_order="spt", threshold_s=40, queue_depth=32.0, warm_jobs=16.0)
    assert options.order is BUILT_IN["SAF"]
    assert options.backfill_order is BUILT_IN["SPF"]
    assert options.about() == {
        "order": "SAF",
        "backfilling": "easy",
        "backfill_order": "SPF",
        "threshold_s": 40.0,
        "decide": "instant",
        "overrun": "run",
        "queue_depth": 32,
        "warm_jobs": 16,
        "max_starts": None,
    }
    assert type(options.queue_depth) is type(options.warm_jobs) is int
    assert type(options.threshold_s) is float


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("backfilling", "esay", "unknown backfilling 'esay'; did you mean easy"),
        (
            "backfilling",
            "EASY",
            "unknown backfilling 'EASY'; did you mean easy. known: none, greedy, easy, conservative",
        ),
        ("decide", "events", "unknown decide 'events'; did you mean event"),
        ("overrun", "stop", "unknown overrun 'stop'; known: run, kill"),
    ],
)
def test_an_unknown_way_is_refused_with_the_known_ones(kind: str, name: str, text: str) -> None:
    with pytest.raises(UnknownNameError, match=text):
        QueueOptions.checked(**{kind: name})
    with pytest.raises(RequestError, match=f"{kind} must be one of .* .got None."):
        QueueOptions.checked(**{kind: None})


@pytest.mark.parametrize("threshold_s", [-1, -0.001, math.nan, -math.inf])
def test_a_threshold_below_zero_is_refused(threshold_s: float) -> None:
    with refused(f"threshold_s must be a number of seconds >= 0, or None (got {threshold_s}..."):
        QueueOptions.checked(threshold_s=threshold_s)


@pytest.mark.parametrize("threshold_s", [0, 0.5, math.inf])
def test_a_threshold_may_be_zero_or_more(threshold_s: float) -> None:
    assert QueueOptions.checked(threshold_s=threshold_s).threshold_s == threshold_s


@pytest.mark.parametrize("queue_depth", [0, -1, 1.5, math.nan])
def test_a_depth_that_is_no_whole_number_of_jobs_is_refused(queue_depth: float) -> None:
    with refused(f"queue_depth must be an integer from 1 to 2**53, or None (got {queue_depth}..."):
        QueueOptions.checked(queue_depth=queue_depth)


@pytest.mark.parametrize("warm_jobs", [-1, 0.5, math.nan])
def test_warm_jobs_that_are_no_whole_number_are_refused(warm_jobs: float) -> None:
    with pytest.raises(RequestError, match=rf"warm_jobs must be an integer from 0 to 2\*\*53 \(got {warm_jobs}"):
        QueueOptions.checked(warm_jobs=warm_jobs)


@pytest.mark.parametrize("backfilling", ["none", "greedy", "conservative"])
def test_a_backfill_order_is_refused_where_nothing_is_backfilled_by_it(backfilling: str) -> None:
    with pytest.raises(RequestError, match=f"SPF.* with backfilling '{backfilling}'; use backfilling=\"easy\""):
        QueueOptions.checked(backfilling=backfilling, backfill_order="SPF")
