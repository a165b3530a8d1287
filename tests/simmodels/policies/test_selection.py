"""Strategies as state machines, by hand: what they remember of a period, and what they choose."""

import copy
import dataclasses
import math
import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.policies.selection import Memory, Period, Strategy

THREE = ("FCFS", "SPF", "SAF")
NEVER, ALWAYS = np.array([0.999, 0.5]), np.array([0.0, 0.5])  # of a chance of one half to explore


def after(strategy: Strategy, periods: Sequence[Period]) -> Memory:
    memory = strategy.begin()
    for period in periods:
        memory = strategy.observe(memory, period)
    return memory


def costs(*of: float) -> Period:
    return Period(0, 9.0, 1, np.array(of))


def test_full_feedback_chooses_the_least_sum_of_costs_and_of_equal_ones_the_first() -> None:
    strategy = sm.FullFeedback(orders=THREE)
    assert strategy.choose(strategy.begin(), NEVER) == 0
    memory = after(strategy, [costs(5.0, 4.0, 4.0), costs(1.0, 3.0, 2.5)])
    assert memory.cost.tolist() == [6.0, 7.0, 6.5]
    assert strategy.choose(memory, NEVER) == 0
    forgetful = sm.FullFeedback(orders=THREE, decay=0.5)
    assert after(forgetful, [costs(8.0, 0.0, 0.0), costs(0.0, 5.0, 6.0)]).cost.tolist() == [4.0, 5.0, 6.0]
    with pytest.raises(sm.RequestError, match="without simulated costs"):
        after(strategy, [Period(0, 1.0, 1)])


def test_the_bandit_tries_each_order_then_takes_the_least_mean_wait() -> None:
    strategy = sm.EpsilonGreedy(orders=THREE)
    periods: list[Period] = []
    for place, (wait_s, jobs) in enumerate([(100.0, 10), (30.0, 10), (5.0, 1)]):
        assert strategy.choose(after(strategy, periods), NEVER) == place, "one that was never used counts as the best"
        periods.append(Period(place, wait_s, jobs))
    assert strategy.choose(after(strategy, periods), NEVER) == 1  # means 10, 3 and 5
    assert strategy.choose(after(strategy, [*periods, Period(1, 970.0, 10)]), NEVER) == 2  # 10, 50, 5
    assert strategy.choose(after(strategy, periods), ALWAYS) == 1, "half of three orders is the second"


def test_a_period_without_jobs_leaves_an_order_untried() -> None:
    strategy = sm.EpsilonGreedy(orders=THREE)
    assert strategy.choose(after(strategy, [Period(0, 0.0, 0)]), NEVER) == 1, "the next one is tried first"
    assert strategy.choose(after(strategy, [Period(0, 0.0, 0), Period(1, 5.0, 1), Period(2, 3.0, 1)]), NEVER) == 0


@pytest.mark.parametrize("decay", [0.1, 1e-200])
def test_an_order_that_was_bad_long_ago_is_not_forgotten_however_old_it_is(decay: float) -> None:
    strategy = sm.EpsilonGreedy(orders=THREE, decay=decay)
    memory = after(strategy, [Period(0, 100.0, 1), Period(2, 90.0, 1), Period(1, 1.0, 1)])
    for _ in range(1_000):
        memory = strategy.observe(memory, Period(1, 1.0, 1))
        assert strategy.choose(memory, NEVER) == 1


def test_a_pseudo_job_lets_untried_orders_cost_nothing_and_weighs_with_the_others() -> None:
    strategy = sm.EpsilonGreedy(orders=THREE, pseudo_jobs=1.0)
    periods = [Period(0, 0.0, 3), Period(1, 4.0, 1), Period(2, 6.0, 5)]
    assert strategy.choose(after(strategy, periods[:1]), NEVER) == 0, "0 is not more than 0"
    assert strategy.choose(after(strategy, periods), NEVER) == 0  # 0/4, 4/2, 6/6
    assert strategy.choose(after(strategy, [*periods, Period(0, 8.0, 0)]), NEVER) == 2  # 8/4, 2, 1


def test_epsilon_decays_from_period_to_period() -> None:
    strategy = sm.EpsilonGreedy(orders=THREE, epsilon=0.5, epsilon_decay=0.5)
    memory = after(strategy, [Period(0, 1.0, 1), Period(1, 2.0, 1), Period(2, 3.0, 1)])  # epsilon is 1/16
    assert strategy.choose(memory, np.array([0.07, 0.99])) == 0
    assert strategy.choose(memory, np.array([0.06, 0.99])) == 2


def test_ucb1_tries_each_once_then_weighs_means_against_doubt() -> None:
    strategy = sm.UCB1(orders=THREE)
    periods = [Period(0, 80.0, 10), Period(1, 20.0, 10), Period(2, 0.0, 0), Period(2, 40.0, 10)]
    assert [strategy.choose(after(strategy, periods[:k]), NEVER) for k in range(4)] == [0, 1, 2, 2]
    memory = after(strategy, periods)
    bounds = [1 - mean / 8 + math.sqrt(2 * math.log(3)) for mean in (8, 2, 4)]
    assert strategy.choose(memory, NEVER) == int(np.argmax(bounds)) == 1
    for _ in range(2):
        memory = strategy.observe(memory, Period(1, 20.0, 10))
    bounds = [1 - mean / 8 + math.sqrt(2 * math.log(5) / n) for mean, n in ((8, 1), (2, 3), (4, 1))]
    assert strategy.choose(memory, NEVER) == int(np.argmax(bounds)) == 2


def test_exp3_follows_its_authors_formula() -> None:
    strategy = sm.EXP3(orders=THREE, gamma=0.3)
    memory = strategy.begin()
    assert strategy.probabilities(memory).tolist() == pytest.approx([1 / 3] * 3)
    memory = strategy.observe(memory, Period(0, 10.0, 1))  # the first cost is the largest so far: no reward
    assert strategy.probabilities(memory).tolist() == pytest.approx([1 / 3] * 3)
    memory = strategy.observe(memory, Period(2, 5.0, 1))  # reward 1/2, seen with probability 1/3: 3/2
    weight = math.exp(0.3 * 1.5 / 3)
    chances = [0.7 * w / (2 + weight) + 0.1 for w in (1.0, 1.0, weight)]
    assert strategy.probabilities(memory).tolist() == pytest.approx(chances)
    for place, uniform in ((0, 0.0), (0, chances[0] - 1e-9), (1, chances[0] + 1e-9), (2, 1 - 1e-12)):
        assert strategy.choose(memory, np.array([0.0, uniform])) == place


@given(
    periods=st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1e9), st.integers(0, 100)), max_size=60),
    uniforms=st.tuples(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True)),
)
def test_whatever_it_saw_each_strategy_chooses_one_of_its_orders(
    periods: list[tuple[int, float, int]], uniforms: tuple[float, float]
) -> None:
    costs = np.array([1.0, 2.0, 3.0])
    for strategy in (
        sm.RandomOrder(orders=THREE),
        sm.FullFeedback(orders=THREE),
        sm.EpsilonGreedy(orders=THREE, decay=0.9),
        sm.UCB1(orders=THREE),
        sm.EXP3(orders=THREE, gamma=0.9),
    ):
        memory = after(strategy, [Period(*period, costs) for period in periods])
        assert strategy.choose(memory, np.array(uniforms)) in range(3)


def test_what_was_remembered_does_not_change() -> None:
    for strategy in (sm.EpsilonGreedy(), sm.UCB1(), sm.EXP3(), sm.FullFeedback()):
        before = after(strategy, [Period(1, 5.0, 2, np.ones(12))])
        kept = copy.deepcopy(before)
        strategy.observe(before, Period(1, 7.0, 1, np.ones(12)))
        for name in ("cost", "count", "weight"):
            assert (getattr(before, name) == getattr(kept, name)).all()


@pytest.mark.parametrize(
    ("strategy", "options", "text"),
    [
        (sm.FullFeedback, {"decay": 0.0}, r"decay must be a number > 0 and <= 1 \(got 0.0\)"),
        (sm.FullFeedback, {"noise": 1.5}, r"noise must be a number from 0 to 1 \(got 1.5\)"),
        (sm.FullFeedback, {"noise_of": "user"}, "unknown noise_of 'user'; known: job, period"),
        (sm.EpsilonGreedy, {"epsilon": -0.1}, r"epsilon must be a number from 0 to 1 \(got -0.1\)"),
        (sm.EpsilonGreedy, {"epsilon_decay": 2.0}, r"epsilon_decay must be a number > 0 and <= 1 \(got 2.0\)"),
        (sm.EpsilonGreedy, {"pseudo_jobs": -1.0}, r"pseudo_jobs must be a finite number >= 0 \(got -1.0\)"),
        (sm.EpsilonGreedy, {"counts": "all"}, "unknown counts 'all'; known: finished, started"),
        (sm.UCB1, {"exploration": math.nan}, r"exploration must be a finite number >= 0 \(got nan\)"),
        (sm.UCB1, {"orders": ["SAFF"]}, "unknown order 'SAFF'; did you mean SAF"),
        (sm.EXP3, {"gamma": 0.0}, r"gamma must be a number > 0 and <= 1 \(got 0.0\)"),
        (sm.RandomOrder, {"orders": ()}, "without orders"),
        (sm.RandomOrder, {"orders": ("FCFS", "fcfs")}, "an order twice"),
    ],
)
def test_numbers_out_of_range_are_refused(strategy: type[Strategy], options: dict[str, object], text: str) -> None:
    with pytest.raises(sm.SimModelsError, match=text):
        strategy(**options)


def test_choices_are_names_or_objects_and_orders_are_another_name_of_them() -> None:
    mine = sm.Polynomial([0.0, 1.0], ["1", "p"], name="mine")
    assert sm.UCB1().choices == sm.UCB1().orders == sm.TWELVE_ORDERS
    assert sm.UCB1(orders=THREE) == sm.UCB1(choices=THREE)
    strategy = sm.EpsilonGreedy(choices=["PVR", mine, 5.0, None], epsilon=0.25)
    assert strategy.choices == strategy.orders == ("PVR", mine, 5.0, None)
    assert dataclasses.replace(strategy, epsilon=0.5).choices == strategy.choices
    assert dataclasses.replace(strategy, choices=THREE).orders == THREE
    assert dataclasses.replace(strategy, orders=THREE).choices == THREE
    assert pickle.loads(pickle.dumps(sm.UCB1(choices=("PVR", "SRTF")))).choices == ("PVR", "SRTF")
    with pytest.raises(sm.RequestError, match="a strategy without choices"):
        sm.UCB1(choices=())
    with pytest.raises(sm.RequestError, match="a strategy with a choice twice: mine, mine"):
        sm.UCB1(choices=("mine", mine))
