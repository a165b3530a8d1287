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
    assert type(options.queue_depth) is type(options.warm_jobs) is int
    assert type(options.threshold_s) is float
    about = options.about()
    assert (about["order"], about["backfill_order"], about["queue_depth"], about["max_starts"]) == (
        "SAF",
        "SPF",
        32,
        None,
    )


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("backfilling", "EASY", "unknown backfilling 'EASY'; did you mean easy? known: none, greedy, easy, conserv..."),
        ("decide", "events", "unknown decide 'events'; did you mean event..."),
        ("overrun", "stop", "unknown overrun 'stop'; known: run, kill"),
    ],
)
def test_an_unknown_way_is_refused_with_the_known_ones(kind: str, name: str, text: str) -> None:
    with refused(text, UnknownNameError):
        QueueOptions.checked(**{kind: name})
    with refused(f"{kind} must be one of ... (got None)"):
        QueueOptions.checked(**{kind: None})


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        *(("threshold_s", each, "a number of seconds >= 0, or None") for each in (-0.001, math.nan)),
        *((name, 0, "an integer from 1 to 2**53, or None") for name in ("queue_depth", "max_starts", "max_backfills")),
        ("warm_jobs", -1, "an integer from 0 to 2**53"),
    ],
)
def test_a_number_out_of_its_range_is_refused(name: str, value: float, what: str) -> None:
    with refused(f"{name} must be {what} (got {value})"):
        QueueOptions.checked(**{name: value})
    assert QueueOptions.checked(threshold_s=0).threshold_s == 0
    assert QueueOptions.checked(threshold_s=math.inf).threshold_s == math.inf


@pytest.mark.parametrize("backfilling", ["none", "greedy", "conservative"])
def test_a_backfill_order_is_refused_where_nothing_is_backfilled_by_it(backfilling: str) -> None:
    with pytest.raises(RequestError, match=f"SPF.* with backfilling '{backfilling}'; use backfilling=\"easy\""):
        QueueOptions.checked(backfilling=backfilling, backfill_order="SPF")
