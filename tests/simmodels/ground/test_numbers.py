"""Checks of numbers: what is refused, and in which words."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from simmodels.ground.numbers import MOST, as_flag, as_integer, as_number, as_seed
from tests.refused import refused

NO_NUMBERS = ["1", None, [1], True, math.nan, np.array([1, 2])]


def test_a_number_may_be_of_any_type_of_number() -> None:
    for given in (3, 3.0, np.int16(3), np.float32(3), Fraction(3)):
        assert type(as_integer("cores", given, 1, 3)) is int
        assert as_number("x", given, above=1, most=3) == 3.0
        assert type(as_number("x", given)) is float
    assert as_number("x", math.inf, least=0, finite=False) == as_number("x", 10**400, finite=False) == math.inf
    assert as_seed(10**60) == 10**60
    assert type(as_seed(np.uint8(3))) is int
    assert as_flag("aware", np.True_) is True


@pytest.mark.parametrize(
    ("check", "bad", "text"),
    [
        (lambda given: as_integer("cores", given, 1), (0, -1, 2.5, math.inf, MOST + 1, 10**400), "from 1 to 2**53"),
        (lambda given: as_integer("cores", given, 4, 9, also="None"), (3, 10), "from 4 to 9, or None"),
        (as_seed, (-1, 2.0), ">= 0"),
    ],
)
def test_an_integer_of_a_range_is_no_other_value(
    check: Callable[[object], int], bad: tuple[float, ...], text: str
) -> None:
    for given in (*NO_NUMBERS, *bad):
        with refused(f"... must be an integer {text} (got ..."):
            check(given)


def test_a_flag_is_true_or_false_and_nothing_else() -> None:
    for given in (1, 0, "yes", None, math.nan):
        with refused(f"aware must be True or False (got {given!r})"):
            as_flag("aware", given)


@pytest.mark.parametrize(
    ("given", "bounds", "text"),
    [
        *((each, {}, "a finite number") for each in [*NO_NUMBERS, math.inf, 10**400]),
        (math.nan, {"finite": False}, "a number"),
        (-1, {"least": 0, "unit": "seconds"}, "a finite number of seconds >= 0"),
        (0, {"above": 0, "also": "None"}, "a finite number > 0, or None"),
        (math.inf, {"above": 0}, "a finite number > 0"),
        (1.5, {"least": 0, "most": 1}, "a number from 0 to 1"),
        (0, {"above": 0, "most": 1}, "a number > 0 and <= 1"),
        (16, {"most": 15}, "a finite number <= 15"),
        (-math.inf, {"most": 15}, "a finite number <= 15"),
    ],
)
def test_a_number_out_of_its_range_is_refused_in_words(given: object, bounds: dict[str, float], text: str) -> None:
    with refused(f"x must be {text} (got ..."):
        as_number("x", given, **bounds)  # type: ignore[arg-type]  # bounds of several types
