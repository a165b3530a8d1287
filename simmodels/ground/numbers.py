"""Numbers: types of columns, ranges, the largest whole number that floats tell from the next, and checks of options.

A check refuses a value of another type in one sentence, before compiled code would stumble over it.
"""

import math
from numbers import Real
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MOST: Final = 2**53
"""Whole numbers up to this are exact as floats; from here on the next float is more than 1 away."""


def ranges(first: Ints, count: Ints) -> Ints:
    """Return the whole numbers of several ranges, one range after the other: first, first + 1, ..., `count` of each."""
    return np.asarray(np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count), np.int64)


def shown(value: object) -> object:
    """Return a value as errors show it: a text in quotes, so that it is not taken for what it says."""
    return repr(value) if isinstance(value, str) else value


def is_number(value: object) -> bool:
    """Return whether a value is a number, and neither true or false nor NaN."""
    return isinstance(value, int | Real) and not isinstance(value, bool) and not math.isnan(value)


def is_whole(value: Any, least: int, most: int) -> bool:  # noqa: ANN401  whatever was given
    """Return whether a value is a whole number within bounds, of whatever type of number."""
    return is_number(value) and least <= value <= most and int(value) == value


def whole(name: str, value: Any, least: int) -> int:  # noqa: ANN401  whatever was given
    """Return a whole number as an int: 2.0 is one.

    Raises
    ------
    RequestError
        It is none, below the least, or beyond what can be counted (`MOST`).
    """
    if not is_whole(value, least, MOST):
        allowed = f"a whole number >= {least}"
        raise RequestError(f"{name} is {shown(value)}", f"{allowed}{_up_to(value)} is allowed")
    return int(value)


def _up_to(value: object) -> str:
    """Return the upper bound as errors name it: to those who met it."""
    return " and <= 2^53" if is_number(value) and MOST < value < np.inf else ""  # type: ignore[operator]  # a number


def number(name: str, value: Any) -> float:  # noqa: ANN401  whatever was given
    """Return a number as a float.

    Raises
    ------
    RequestError
        It is none.
    """
    if not is_number(value):
        raise RequestError(f"{name} is {shown(value)}", "a number is allowed")
    return float(value)


def flag(name: str, value: object) -> bool:
    """Return true or false; other values are not taken for one of them.

    Raises
    ------
    RequestError
        It is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise RequestError(f"{name} is {shown(value)}", "True or False is allowed")
    return bool(value)
