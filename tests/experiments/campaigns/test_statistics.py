import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from experiments.campaigns import Effect, bootstrap, paired
from experiments.campaigns.statistics import (
    ENOUGH,
    ENOUGH_FOR_TAILS,
    Statistic,
    bootstrap_rows,
    having,
    share,
)
from simmodels.errors import RequestError
from simmodels.ground import streams
from tests.refused import refused

FACTORS = ("order", "load")


def table(*rows: tuple[object, object, int, object]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["order", "load", "replication", "wait"])


HAND = table(
    ("FCFS", 1, 0, 10.0), ("FCFS", 1, 1, 20.0), ("FCFS", 2, 0, 30.0), ("FCFS", 2, 1, 50.0),
    ("SAF", 1, 0, 8.0), ("SAF", 1, 1, 15.0), ("SAF", 2, 0, 20.0), ("SAF", 2, 1, 40.0),
)  # fmt: skip
SAF, FCFS = {"order": "SAF"}, {"order": "FCFS"}


def values(*args: object, **more: object) -> dict[int, float]:
    return paired(*args, factors=FACTORS, **more).to_dict()


# -- paired differences -----------------------------------------------------------------------------


def test_levels_differences_and_ratios_are_means_over_the_pairs_a_value_a_replication() -> None:
    assert values(HAND, "wait", of=FCFS) == {0: 20.0, 1: 35.0}
    assert values(HAND, "wait", of={}) == {0: 17.0, 1: 31.25}
    of, against = {"order": "SAF", "load": 2}, {"order": "FCFS", "load": 1}
    assert values(HAND, "wait", of=of, against=against) == {0: 10.0, 1: 20.0}
    found = values(HAND, "wait", of=SAF, against=FCFS, relative=True)
    assert found == pytest.approx({0: (-0.2 - 1 / 3) / 2, 1: (-0.25 - 0.2) / 2})


def test_the_rows_of_a_cell_are_averaged_first_and_none_is_a_value_like_others() -> None:
    rows = table(("a", 1, 0, 1.0), ("a", 1, 0, 3.0), ("b", 1, 0, 5.0))
    assert values(rows, "wait", of={"order": "b"}, against={"order": "a"}) == {0: 3.0}
    rows = table(("a", None, 0, 1.0), ("a", 2.0, 0, 4.0), ("b", None, 0, 2.0), ("b", 2.0, 0, 8.0))
    assert values(rows, "wait", of={"load": 2.0}, against={"load": None}) == {0: 4.5}
    assert having(rows, {"load": None, "order": "a"}).tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("measure", "more", "text"),
    [
        ("waitt", {"of": SAF}, "unknown measure 'waitt'; did you mean wait? known: wait, zero, text"),
        ("wait", {"of": {"ordre": 1}}, "unknown factor 'ordre'; did you mean order? known: order, load"),
        ("wait", {"of": SAF, "against": {"x": 1}}, "unknown factor 'x'; known: order, load"),
        ("zero", {"of": SAF, "against": FCFS, "relative": True},
         "'zero' relative to order FCFS is undefined, as that is 0 in a replication"),
        ("text", {"of": SAF}, "measure 'text' is of type object; choose a measure of numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(measure: str, more: Mapping[str, object], text: str) -> None:
    with refused(text):
        values(HAND.assign(zero=0.0, text=pd.Series(["x"] * 8, dtype=object)), measure, **more)


ROWS = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from([1, 2, None]), st.integers(0, 3)),
    st.none() | st.integers(-100, 100),
)


@given(ROWS)
def test_a_paired_difference_is_what_plain_python_makes_it(
    cells: dict[tuple[str, int | None, int], int | None],
) -> None:
    found: dict[int, list[float]] = {}
    for (order, load, replication), wait in sorted(cells.items(), key=str):
        other = cells.get(("b", load, replication))
        if order == "a" and wait is not None and other is not None:
            found.setdefault(replication, []).append(other - wait)
    expected = {replication: sum(several) / len(several) for replication, several in found.items()}
    rows = table(*((*key, wait) for key, wait in cells.items()))
    rows = rows.astype({"wait": float, "load": float, "replication": int})
    assert values(rows, "wait", of={"order": "b"}, against={"order": "a"}) == pytest.approx(expected)


# -- the bootstrap ----------------------------------------------------------------------------------


def test_of_few_values_there_is_no_interval_and_equal_ones_leave_no_doubt() -> None:
    for count in range(1, ENOUGH):
        assert bootstrap(range(count)) == Effect((count - 1) / 2, None, None, count)
    assert bootstrap([1, 2, 3, 4, 10], statistic="median").estimate == 3.0
    assert bootstrap([3.0] * 10) == Effect(3.0, 3.0, 3.0, 10)
    assert Effect.exact(3, replications=7) == Effect(3.0, 3.0, 3.0, 7, 1.0)


def test_a_median_and_a_mean_of_nearly_equal_values_have_an_interval_too() -> None:
    found = bootstrap([1, 2, 2, 2, 2, 2, 2, 2, 2, 3], statistic="median")
    assert (found.estimate, found.low, found.high) == (2.0, 2.0, 2.0)
    found = bootstrap([-4, -3, -2, -1, 0, 0, 1, 2, 3, 4], statistic="median")
    assert -4 < found.low < 0 < found.high < 4
    found = bootstrap([0.0] * 9 + [1.0])  # a third of the resamples have no spread
    assert 0.0 <= found.low <= 0.1 <= found.high <= 1.0


SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=ENOUGH, max_size=20)


@given(SAMPLES, st.integers(0, 2**70), st.sampled_from(["mean", "median"]))
def test_the_same_values_and_seed_give_the_same_interval_around_the_estimate(
    sample: list[float], seed: int, statistic: Statistic
) -> None:
    found = bootstrap(sample, statistic=statistic, seed=seed)
    assert found == bootstrap(np.array(sample), statistic=statistic, seed=seed)
    assert found.low <= found.high
    if statistic == "median":
        assert min(sample) <= found.low + 1e-6
        assert found.high <= max(sample) + 1e-6


def test_the_interval_of_a_mean_is_the_studentized_one_computed_plainly() -> None:
    sample = 2.0 ** np.arange(10)
    draws = streams.stream(3, "bootstrap")
    mean, error = sample.mean(), sample.std(ddof=1) / math.sqrt(10)
    found = []
    for size in [1000] * 9 + [999]:
        for rows in draws.integers(10, size=(size, 10)):
            one = sample[rows]
            spread = one.std(ddof=1) / math.sqrt(10)
            distance = one.mean() - mean
            found.append(distance / spread if spread else math.copysign(math.inf, distance) if distance else 0.0)
    found.sort()
    low, high = found[math.ceil(0.025 * 9999) - 1], found[math.ceil(0.975 * 9999) - 1]
    effect = bootstrap(sample, seed=3)
    assert (effect.low, effect.high) == pytest.approx((mean - high * error, mean - low * error), rel=1e-12)


def test_less_confidence_makes_a_narrower_interval() -> None:
    wide, narrow = (bootstrap(range(10), confidence=confidence) for confidence in (0.99, 0.5))
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[operator]


@pytest.mark.parametrize(
    ("sample", "more", "text"),
    [
        ([], {}, "values must be of one dimension, and at least one (got array([], dtype=float64))"),
        ([[1.0]], {}, "values must be of one dimension, and at least one (got array([[1.]]))"),
        ([1, math.nan, math.inf], {}, "2 of 3 values are not finite; omit them"),
        ([1], {"statistic": "mode"}, "unknown statistic 'mode'; known: mean, median"),
        (range(9), {"confidence": 1}, "confidence must be a number > 0 and < 1 (got 1)"),
        (range(10), {"seed": -1}, "seed must be an integer >= 0 (got -1)"),
    ],
)
def test_what_has_no_interval_is_refused(sample: list[float], more: Mapping[str, object], text: str) -> None:
    with refused(text):
        bootstrap(sample, **more)


# How often the interval of 95 % has the truth in it, of the mean and the median of this many values (measured with
# 2,000 samples each, so to within 1.5 points). The bootstrap knows no more than the values it has: of few, and of few
# with a long tail, its intervals are too narrow. docs/explanation/campaigns.md states it.
COVERAGE = [
    ("mean", "normal", 10, 0.95),
    ("mean", "normal", 30, 0.95),
    ("mean", "lognormal", 10, 0.91),
    ("mean", "lognormal", 30, 0.92),
    ("median", "normal", 10, 0.94),
    ("median", "normal", 30, 0.93),
    ("median", "lognormal", 10, 0.94),
    ("median", "lognormal", 30, 0.93),
]


@pytest.mark.full
@pytest.mark.parametrize(("statistic", "law", "count", "expected"), COVERAGE)
def test_the_interval_has_the_truth_in_it_as_often_as_the_documentation_says(
    statistic: Statistic, law: str, count: int, expected: float
) -> None:
    rng = np.random.default_rng(count)
    truth = {"normal": 0.0, "lognormal": math.exp(0.5) if statistic == "mean" else 1.0}[law]
    hits = 0
    for seed in range(1000):
        found = bootstrap(getattr(rng, law)(size=count), statistic=statistic, seed=seed)
        hits += found.low <= truth <= found.high
    assert hits / 1000 == pytest.approx(expected, abs=0.04)


# -- shares, rows ------------------------------------------------------------------------------------


def test_a_share_of_all_is_not_certain() -> None:
    effect = share([True] * 10)
    assert (effect.estimate, effect.high) == (1.0, 1.0)
    assert effect.low == pytest.approx(0.025**0.1)
    assert share([True] * 9) == Effect(1.0, None, None, 9)
    with pytest.raises(RequestError, match="at least one"):
        share([])


def means(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = rows.mean(axis=-2)[..., 0]
    return found


def test_blocks_of_rows_that_depend_on_each_other_make_a_wider_interval() -> None:
    weeks = np.repeat(np.random.default_rng(1).normal(size=13), 4)[:, np.newaxis]
    alone, together = (bootstrap_rows(weeks, means, block=block) for block in (1, 4))
    assert alone.estimate == together.estimate
    assert together.high - together.low > 1.4 * (alone.high - alone.low)
    assert (alone.replications, together.replications) == (52, 13)
    assert bootstrap_rows(weeks[:39], means, block=4).low is None, "nine blocks are too few"


def test_of_percentiles_more_rows_are_needed() -> None:
    rows = np.arange(49.0)[:, np.newaxis]
    effect = bootstrap_rows(rows, means, needed=ENOUGH_FOR_TAILS)
    assert (effect.low, effect.needed) == (None, 50)
    assert bootstrap_rows(np.arange(50.0)[:, np.newaxis], means, needed=ENOUGH_FOR_TAILS).low is not None


def test_an_effect_is_seen_through_a_rising_function_and_as_columns() -> None:
    found = Effect(2.0, 1.0, None, 9, 0.9).through(lambda value: 10.0 * value)
    assert found == Effect(20.0, 10.0, None, 9, 0.9)
    assert found.columns("waits (%)", prefix="waits ") == {"waits (%)": 20.0, "waits low": 10.0, "waits high": None}
