"""Numbers: types of columns, ranges, the largest exact whole number of a float, and checks of options.

A check refuses a value of another type in one sentence, before compiled code would stumble over it.
"""

import math
from numbers import Real
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
ZERO: Final = np.uint64(0)
ONE: Final = np.uint64(1)
"""For places that are unsigned: of a signed one, compiled code asks at each look whether it counts from the end."""
MOST: Final = 2**53
"""Whole numbers up to this are exact as floats; from here on the next float is more than 1 away."""


def ranges(first: Ints, count: Ints) -> Ints:
    """Return the whole numbers of several ranges, one range after the other: first, first + 1, ..., `count` of each."""
    return np.asarray(np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count), np.int64)


def same(value: np.generic, rows: int) -> NDArray[Any]:
    """Return a read-only column of one value in each row, which takes no memory."""
    return np.ndarray(rows, value.dtype, buffer=value.tobytes(), strides=(0,))


def is_number(value: object) -> bool:
    """Return whether a value is a number, and neither true or false, nor NaN, nor a duration of numpy."""
    other = isinstance(value, bool | np.timedelta64)  # which Python counts among the integers
    return isinstance(value, int | Real) and not other and value == value  # noqa: PLR0124  NaN is not


def as_float(value: Any) -> float:  # noqa: ANN401  whatever was given
    """Return a number as a float: infinity of its sign if it is too large for one, as 1e400 is."""
    try:
        return float(value)
    except OverflowError:  # an int of hundreds of digits
        return math.inf if value > 0 else -math.inf


def is_whole(value: Any, least: float, most: float) -> bool:  # noqa: ANN401  whatever was given
    """Return whether a value is a whole number within bounds, of whatever type of number."""
    return is_number(value) and least <= value <= most and int(value) == value


def as_integer(name: str, value: Any, least: int, most: int = MOST, *, also: str = "") -> int:  # noqa: ANN401  as is_whole
    """Return an integer of a range as an int: 2.0 is one; else raise `RequestError`.

    Parameters
    ----------
    name
        What the value is of.
    value
        The value as given.
    least, most
        The range.
    also
        What the caller accepts beside it, for the error: ``"None"``.
    """
    if not is_whole(value, least, most):
        upper = "2**53" if most == MOST else most
        raise RequestError(must_be(name, f"an integer from {least} to {upper}{_or(also)}", value))
    return int(value)


def as_number(
    name: str,
    value: Any,  # noqa: ANN401  whatever was given
    *,
    least: float = -math.inf,
    above: float | None = None,
    most: float = math.inf,
    finite: bool = True,
    unit: str = "",
    also: str = "",
) -> float:
    """Return a number of a range as a float; else raise `RequestError`.

    Parameters
    ----------
    name
        What the value is of.
    value
        The value as given.
    least, most
        The range, both ends in it.
    above
        A bound that the value must exceed.
    finite
        Whether infinity is out of the range.
    unit
        What it is a number of, for the error: ``"seconds"``.
    also
        What the caller accepts beside it, for the error: ``"None"``.
    """
    if is_number(value):
        found = as_float(value)
        enough = least <= found if above is None else above < found
        if enough and found <= most and not (finite and math.isinf(found)):
            return found
    raise RequestError(must_be(name, f"{_number_of(least, above, most, finite=finite, unit=unit)}{_or(also)}", value))


def _number_of(least: float, above: float | None, most: float, *, finite: bool, unit: str) -> str:
    """Return the words for a number of a range."""
    lower = f"> {above:g}" if above is not None else f">= {least:g}" if math.isfinite(least) else ""
    upper = f"<= {most:g}" if math.isfinite(most) else ""
    words = f"a {'finite ' if finite and not (lower and upper) else ''}number{unit and f' of {unit}'}"
    if lower and upper and above is None:
        return f"{words} from {least:g} to {most:g}"
    return " ".join((words, " and ".join(filter(None, (lower, upper))))).rstrip()


def _or(also: str) -> str:
    return also and f", or {also}"


def as_integers(values: NDArray[Any]) -> Ints:
    """Return numbers as whole ones, -1 for what is not finite."""
    return np.where(np.isfinite(values), values, -1).astype(np.int64)


def as_column(
    name: str,
    values: Any,  # noqa: ANN401  as above
    dtype: type[np.generic] | None = np.float64,
) -> NDArray[Any]:
    """Return numbers as an array of their type, of whatever shape: the array itself if it is one; else `RequestError`.

    Without a type numpy chooses one, which the caller looks at: texts and objects have one, too.
    """
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError, OverflowError):
        raise RequestError(must_be(name, "numbers", values)) from None


def as_seed(seed: object) -> int:
    """Return a seed as an int: an integer from 0 on, of whatever size; else raise `RequestError`."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise RequestError(must_be("seed", "an integer >= 0", seed))
    return int(seed)


def as_flag(name: str, value: object) -> bool:
    """Return true or false; raise `RequestError` of what is neither."""
    if not isinstance(value, bool | np.bool_):
        raise RequestError(must_be(name, "True or False", value))
    return bool(value)
