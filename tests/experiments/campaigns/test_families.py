"""Families of effects: their verdicts, and how often these are wrong."""

import math

import numpy as np
import pytest
from scipy import stats

from experiments.campaigns.families import (
    Measured,
    combined,
    everywhere,
    largest,
    mean_among,
    percentile,
    quotient_of_extremes,
)
from experiments.campaigns.statistics import Effect, bootstrap, compared
from simmodels.errors import RequestError

BELOW = {"less_than": 1.0}


def effect(estimate: float, width: float, n: int = 10) -> Measured:
    """Return what is estimated with an interval that is twice as long among several."""

    def measured(members: int) -> Effect:
        half = width * (2.0 if members > 1 else 1.0)
        return Effect(estimate, estimate - half, estimate + half, n, 1.0 - 0.05 / members)

    return measured


def means(values: np.ndarray) -> dict[str, Measured]:
    """Return the means of columns."""
    return {str(k): lambda members, k=k: mean_among(values[:, k], members) for k in range(values.shape[1])}  # type: ignore[misc]


def test_all_keep_to_a_bound_if_the_interval_of_95_percent_of_each_does() -> None:
    decided = everywhere({"a": effect(0.5, 0.1), "b": effect(0.8, 0.1), "c": effect(-3, 0.1)}, BELOW)
    assert (decided.member, decided.members) == ("b", 3)
    assert decided.effect == Effect(0.8, 0.8 - 0.1, 0.8 + 0.1, 10, 0.95)


def test_not_all_do_only_if_the_longer_interval_of_a_member_is_outside() -> None:
    decided = everywhere({"a": effect(0.5, 0.1), "b": effect(1.3, 0.1)}, BELOW)
    assert compared(decided.effect, BELOW) == (False, True)
    assert decided.effect.confidence == 0.975, "that of the interval that is shown"
    decided = everywhere({"a": effect(0.5, 0.1), "b": effect(1.15, 0.1)}, BELOW)
    assert compared(decided.effect, BELOW) == (False, False)
    assert compared(everywhere({"b": effect(1.15, 0.1)}, BELOW).effect, BELOW) == (False, True), "nothing to correct"
    # The farthest may be too uncertain to decide, where a nearer one is certain.
    assert everywhere({"a": effect(1.3, 0.1), "b": effect(2.0, 1.5)}, BELOW).member == "a"


def test_equivalence_needs_all_members_within_both_bounds_and_an_interval_of_each() -> None:
    same = {"at_least": -1.0, "at_most": 1.0}
    for one, expected in ((0.5, (True, False)), (0.95, (False, False)), (1.8, (False, True))):
        found = everywhere({"a": effect(one, 0.1), "b": effect(-0.8, 0.1)}, same)
        assert compared(found.effect, same) == expected
    decided = everywhere({"a": effect(0.5, 0.1), "b": lambda _: Effect(0.6, None, None, 9)}, BELOW)
    assert compared(decided.effect, BELOW) == (False, False)


def test_one_mean_alone_has_the_interval_of_the_bootstrap_and_one_of_several_a_longer_one() -> None:
    values = np.random.default_rng(2).exponential(size=12)
    alone, among = mean_among(values, seed=5), mean_among(values, 8, seed=5)
    assert alone == bootstrap(values, seed=5)
    assert (among.estimate, among.replications, among.confidence) == (alone.estimate, 12, 1.0 - 0.05 / 8)
    assert among.low < alone.low < alone.high < among.high
    assert among.high - among.estimate == pytest.approx(among.estimate - among.low)
    student = stats.t.isf(0.05 / 8 / 8, 11) * values.std(ddof=1) / math.sqrt(12)
    assert among.high - among.estimate >= student
    assert mean_among([3.0] * 10, 4).high == 3.0
    assert mean_among(0.3 + np.array([1e-16, -1e-16] * 5), 8).low == pytest.approx(0.3), "equal, except for rounding"
    assert mean_among(values[:9], 4).low is None
    assert mean_among([0.0] * 9 + [1.0], 4).low is None, "nearly constant"


@pytest.mark.parametrize(("law", "bound", "most"), [("exponential", 1.0, 0.12), ("normal", 0.0, 0.08)])
def test_of_32_members_at_the_bound_few_families_are_wrong(law: str, bound: float, most: float) -> None:
    rng, bounds = np.random.default_rng(10), {"at_least": bound}
    families = [means(getattr(rng, law)(size=(10, 32))) for _ in range(40)]
    assert sum(compared(everywhere(family, bounds).effect, bounds)[1] for family in families) / 40 <= most


@pytest.mark.parametrize("count", [10, 30])
def test_of_32_members_one_of_which_is_at_the_bound_few_families_hold(count: int) -> None:
    rng, held = np.random.default_rng(count), 0
    for _ in range(100):
        values = rng.exponential(size=(count, 32))
        values[:, 1:] -= 5.0
        held += compared(everywhere(means(values[:, :4]), BELOW).effect, BELOW)[0]
    assert held <= 10, "nominally 2.5 of 100"


@pytest.mark.full
@pytest.mark.parametrize(
    ("law", "count", "expected"),
    [("exponential", 10, 0.07), ("lognormal", 10, 0.16), ("exponential", 30, 0.03), ("lognormal", 30, 0.12)],
)
def test_families_are_wrong_as_often_as_the_documentation_says(law: str, count: int, expected: float) -> None:
    rng, missed = np.random.default_rng(100 + count), 0
    truth = {"exponential": 1.0, "lognormal": math.exp(0.5)}[law]
    for _ in range(200):
        effects = [measured(32) for measured in means(getattr(rng, law)(size=(count, 32))).values()]
        missed += any(each.low is None or each.high is None or not each.low <= truth <= each.high for each in effects)
    assert missed / 200 == pytest.approx(expected, abs=0.06)


def test_the_interval_of_the_largest_of_32_equal_means_has_it() -> None:
    rng, hits = np.random.default_rng(10), 0
    for _ in range(30):
        found = largest(means(rng.normal(size=(10, 32))))
        assert found.estimate > 0
        hits += found.low <= 0.0 <= found.high
    assert hits >= 28
    few = largest({"a": effect(1.0, 0.1), "b": lambda _: Effect(2.0, None, None, 9)})
    assert few == Effect(2.0, None, None, 9)


@pytest.mark.parametrize("law", ["normal", "exponential"])
@pytest.mark.parametrize("count", [10, 30, 60])
def test_the_interval_of_a_percentile_has_it(law: str, count: int) -> None:
    rng, hits = np.random.default_rng(count), 0
    truth = {"normal": stats.norm, "exponential": stats.expon}[law].ppf(0.1)
    for _ in range(400):
        found = percentile(getattr(rng, law)(size=count), 0.1, least=-100.0)
        hits += found.low <= truth <= found.high
    assert hits / 400 >= 0.93


def test_a_percentile_of_few_values_has_no_lower_end_unless_there_is_a_least_value() -> None:
    assert percentile(range(35), 0.1).low is None
    assert percentile(range(35), 0.1, least=0.0).low == 0.0
    assert percentile(range(40), 0.1).low == 0.0, "the smallest of the 40"
    assert percentile(range(40), 0.1, members=10).low is None
    assert percentile(range(9), 0.1, least=0.0).low is None


def test_a_statistic_of_several_lies_between_those_of_all_low_and_all_high_ends() -> None:
    effects = [Effect(1.0, 0.5, 3.0, 12), Effect(2.0, 1.5, 2.5, 10)]
    assert combined(effects, max) == Effect(2.0, 1.5, 3.0, 10)
    assert combined([*effects, Effect(5.0, None, None, 9)], max) == Effect(5.0, None, None, 9)


def test_the_interval_of_a_quotient_of_extremes_is_that_of_all_means_together() -> None:
    effect = quotient_of_extremes([2.0, 1.0, 4.0], [0.0, 0.0, 0.0], replications=20)
    assert (effect.estimate, effect.low, effect.high) == pytest.approx((math.log10(4.0),) * 3)
    assert quotient_of_extremes([2.0, 1.0, 4.0], [0.0] * 3, replications=20, largest=2).estimate == math.log10(2.0)
    same = quotient_of_extremes([1.0, 1.0], [0.1, 0.1], replications=20)
    z = 2.2414  # 97.5 % for each of two
    assert same.low == 0.0
    assert same.high == pytest.approx(2 * z * 0.1 / math.log(10.0), rel=1e-4)
    assert quotient_of_extremes([1.0, 2.0], [0.1, 0.1], replications=9).low is None
    for means, errors in (([1.0, 0.0], [0.1, 0.1]), ([1.0], [0.1, 0.1]), ([1.0, 2.0], [0.1, -0.1]), ([], [])):
        with pytest.raises(RequestError, match="must be"):
            quotient_of_extremes(means, errors, replications=20)
