import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from tests import naive_market
from tests.refused import refused

STEP = sm.ValueCurve([(2, 1), (3, 0.8), (4, 0.8), (4, 0.5), (7, 0.1), (8, 0)])


@st.composite
def curves(draw: st.DrawFn) -> sm.ValueCurve:
    x = sorted(draw(st.lists(st.integers(4, 40), min_size=2, max_size=8)))
    y = sorted(draw(st.lists(st.integers(0, 20), min_size=len(x) - 2, max_size=len(x) - 2)), reverse=True)
    return sm.ValueCurve([(a / 4, b / 20) for a, b in zip(x, [20, *y, 0], strict=True)])


def test_the_factor_is_one_then_falls_straight_then_is_zero() -> None:
    line = sm.ValueCurve.linear(2, 6)
    assert [line.factor(slr) for slr in (0.5, 2, 3, 5, 6, 7)] == [1, 1, 0.75, 0.25, 0, 0]
    assert [line.area(slr) for slr in (0.5, 1, 2, 4, 6, 7)] == [3.5, 3, 2, 0.5, 0, 0]
    assert STEP.factor(4) == 0.5, "of a vertical step the later point's"
    assert STEP.factor(math.nextafter(4, 0)) == pytest.approx(0.8)
    assert (sm.FOREVER.factor(1e300), sm.FOREVER.area(1e300), sm.FOREVER.final) == (1, math.inf, math.inf)
    assert pickle.loads(pickle.dumps(STEP)) == STEP


@given(curves(), st.floats(0, 12))
def test_factor_and_area_are_those_of_the_formulas(curve: sm.ValueCurve, slr: float) -> None:
    assert curve.factor(slr) == pytest.approx(naive_market.factor(curve.points, slr), rel=1e-12, abs=1e-12)
    assert curve.area(slr) == pytest.approx(naive_market.area(curve.points, slr), rel=1e-12, abs=1e-12)


@given(curves(), st.floats(0, 12), st.floats(0, 12))
def test_neither_ever_rises(curve: sm.ValueCurve, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert curve.factor(low) >= curve.factor(high) - 1e-15
    assert curve.area(low) >= curve.area(high) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([(2, 1)], "the number of points of ... must be at least 2 (got 1)"),
        ([(2, 1), (3, 0.5), (4, 0.6), (5, 0)], "the factor of point 3 of ... at most that before it, 0.5 (got 0.6)"),
        ([(2, 1), (1, 0)], "the SLR of point 2 of ... must be at least that before it, 2 (got 1.0)"),
        ([(2, 0.9), (3, 0)], "the factor of the first point of ... must be 1 (got 0.9)"),
        ([(2, 1), (3, 0.1)], "the factor of the last point of ... must be 0 (got 0.1)"),
        ([(2, 1), (3, -0.1)], "the factor of point 2 of ... must be a number from 0 to 1 (got -0.1)"),
        ([(math.nan, 1), (3, 0)], "the SLR of point 1 of ... must be a number >= 0 (got nan)"),
        ([(2, 1), (math.inf, 0)], "the SLR of point 2 of ... must be a finite number >= 0 (got inf)"),
    ],
)
def test_a_curve_that_cannot_be_is_refused_by_its_point(points: list, text: str) -> None:
    with refused(f"...{text}..."):
        sm.ValueCurve(points)
