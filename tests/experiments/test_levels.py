"""Levels of forecasts: what the past says of how often starts come before them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.levels import LEAST, Forecast, Levels, PastForecasts

WAITS = st.lists(st.integers(0, 10_000), min_size=2, max_size=40, unique=True)


def at(waits_s: list[float], at_s: float = 0.0) -> Forecast:
    return Forecast(at_s, at_s + np.array(waits_s, np.float64))


def test_a_level_within_the_futures_is_a_wait_between_them() -> None:
    forecast = at([60.0, 0.0, 120.0], at_s=1000.0)  # levels 1/4, 2/4 and 3/4
    assert forecast.waits_s(0.25, 0.375, 0.5, 0.75).tolist() == [0, 30, 60, 120]


def test_a_level_beyond_the_futures_is_as_many_times_as_long() -> None:
    forecast = at([60.0, 540.0])
    assert forecast.waits_s(1 + math.log(2)).tolist() == pytest.approx([1140])  # ten minutes, twice, less the minute
    assert forecast.waits_s(-math.log(2)).tolist() == pytest.approx([0])  # a minute added, half, less the minute
    assert forecast.level_of(1140.0) == pytest.approx(1 + math.log(2))


@given(WAITS, st.floats(-1.0, 2.0))
def test_the_level_of_a_wait_is_the_level_that_it_has(waits_s: list[int], level: float) -> None:
    forecast, futures = at([*map(float, waits_s)]), len(waits_s)
    (wait_s,) = forecast.waits_s(level)
    found = forecast.level_of(float(wait_s))
    within = 1 / (futures + 1) < level < futures / (futures + 1)
    if within or level > 1.01 or (level < -0.01 and wait_s > 0):
        assert found == pytest.approx(level, abs=1e-6)


def test_a_wait_of_many_futures_has_the_middle_of_their_levels() -> None:
    assert at([0.0, 0.0, 0.0, 60.0]).level_of(0.0) == 1.5 / 5  # from nothing to three fifths
    assert at([0.0, 60.0, 60.0, 90.0]).level_of(60.0) == 2.5 / 5
    assert at([0.0, 60.0, 60.0]).level_of(60.0) == 3 / 4  # from two quarters to all


def past(levels: list[float], at_s: list[float] | None = None, start_s: float | None = None) -> PastForecasts:
    """Return forecasts of 99 futures, from 1 to 99 s, one a second; each job starts at a level, or at an instant."""
    found = PastForecasts()
    for place, level in enumerate(levels):
        begun_s = 1000.0 * place if at_s is None else at_s[place]
        found.add(at([*range(1, 100)], begun_s), begun_s + 100 * level if start_s is None else start_s)
    return found


def test_too_few_starts_correct_nothing() -> None:
    found = past([0.5] * (LEAST - 1)).levels(1e9)
    assert (found.count, found.started) == (0, LEAST - 1)
    assert found.of(0.05, 0.95).tolist() == [0.05, 0.95]
    assert past([0.5] * LEAST).levels(1e9).count == LEAST


@pytest.mark.parametrize("levels", [[place / 100 for place in range(2, 99)], [0.5 + place / 50 for place in range(19)]])
def test_starts_do_not_exceed_a_level_as_often_as_those_of_the_past(levels: list[float]) -> None:
    """Of n starts and the next one, each is as likely to have each place; n starts that count less are fewer."""
    counts = [0.5 ** (place / 50) for place in reversed(range(len(levels)))]
    alike = sum(counts) ** 2 / sum(count**2 for count in counts)
    shares = [sum(counts[: place + 1]) / sum(counts) * alike / (alike + 1) for place in range(len(levels))]
    found = past(levels).levels(1e9)
    assert found.of(*shares) == pytest.approx(levels)
    assert found.share_of(levels[7]) == pytest.approx(shares[7])
    assert shares[-1] == pytest.approx(len(levels) / (len(levels) + 1), rel=0.005)


def test_a_start_counts_half_as_much_as_one_fifty_forecasts_later() -> None:
    found = past([0.2] * 50 + [0.8] * 50).levels(1e9)
    assert found.share_of(0.2) * 3 == pytest.approx(found.share_of(0.8))


def test_nothing_of_what_comes_later_is_known() -> None:
    levels = [(place + 1) / 31 for place in range(30)]
    early = past(levels)
    more = past([*levels, 0.99, 0.99, 0.99])  # made at 30,000 s and later
    one, other = early.levels(30_000.0), more.levels(30_000.0)
    assert one.count == other.count == 30
    assert one.of(0.1, 0.9).tolist() == other.of(0.1, 0.9).tolist()


def test_a_job_that_still_waits_starts_beyond_the_level_that_it_has_reached() -> None:
    levels = [(place + 1) / 21 for place in range(20)]
    instants = [1000.0 * place for place in range(20)]
    started = past(levels, instants)
    waiting = past(levels, instants)
    waiting.add(at([*range(1, 100)], 20_000.0), math.inf)  # has reached level 0.9 at 20,090 s
    one, other = started.levels(20_090.0), waiting.levels(20_090.0)
    assert (other.count, other.started) == (21, 20)
    assert other.share_of(0.9) < one.share_of(0.9)
    sooner = past(levels, instants)
    sooner.add(at([*range(1, 100)], 20_000.0), 20_095.0)  # it starts later: nobody knows yet
    assert sooner.levels(20_090.0).of(0.2, 0.5, 0.9).tolist() == other.of(0.2, 0.5, 0.9).tolist()


@pytest.mark.parametrize("wider", [0.25, 1.0, 4.0])
def test_intervals_of_wrong_forecasts_hold_what_they_say(wider: float) -> None:
    """Truth is `wider` times as far from the middle as forecasts have it: still 90 % of 2,000 jobs are within."""
    draw = np.random.default_rng(5)
    made, within, drawn = PastForecasts(), 0, 0
    for place in range(2200):
        forecast = at(np.exp(draw.normal(8.0, 1.0, 60)).tolist(), 1e5 * place)
        wait_s = float(np.exp(draw.normal(8.0, wider)))
        if place >= 200:
            low, high = forecast.waits_s(*made.levels(forecast.at_s).of(0.05, 0.95))
            within += low <= wait_s <= high
            low, high = forecast.waits_s(0.05, 0.95)
            drawn += low <= wait_s <= high
        made.add(forecast, forecast.at_s + wait_s)
    assert within / 2000 == pytest.approx(0.9, abs=0.02)
    assert abs(drawn / 2000 - 0.9) < 0.02 if wider == 1.0 else abs(drawn / 2000 - 0.9) > 0.05


def test_levels_of_no_past_are_what_they_say() -> None:
    assert Levels().of(0.0, 0.3, 1.0).tolist() == [0.0, 0.3, 1.0]
    assert Levels().share_of(0.7) == pytest.approx(0.7)
