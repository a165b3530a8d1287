"""Durations: read, as the command line and the functions of Python accept them, and written, as people do."""

import math
import re
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import as_number
from simmodels.units import DAY, HOUR, MINUTE, SECOND, WEEK

Duration: TypeAlias = float | str | timedelta
"""What stands for a duration: a number of seconds, or a text or a timedelta that is one."""

_UNITS: Final = {"": SECOND, "s": SECOND, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}
_SHOWN: Final = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND))
_LONG: Final = 999.5  # from here on amounts are whole numbers
_SHORTEST_H: Final = 0.01
_PART: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)


def seconds(text: str, what: str = "duration") -> float:
    """Return a duration in seconds: ``40h``, ``1.5d``, ``1d12h``, ``144000``; raise `RequestError` if it is none.

    Parameters
    ----------
    text
        A number >= 0, and a unit: s (the default), min or m, h, d, w; or several, the longest unit first.
    what
        What the error calls it.
    """
    parts = [(amount, unit.lower()) for amount, unit in _PART.findall(text)]
    units = [_UNITS.get(unit, 0) for _, unit in parts]
    whole = "".join(found.group() for found in _PART.finditer(text)) == text
    falling = all(longer > shorter for longer, shorter in pairwise(units))
    if not parts or not whole or not all(units) or not falling or (len(parts) > 1 and not parts[-1][1]):
        expected = "a number of seconds, or one with a unit (s, min, h, d, w) such as 90s, 30min, 40h or 2d"
        raise RequestError(must_be(what, expected, text))
    return math.fsum(float(amount) * unit for (amount, _), unit in zip(parts, units, strict=True))


def as_seconds(
    name: str,
    value: Any,  # noqa: ANN401  whatever was given
    *,
    least: float = -math.inf,
    above: float | None = None,
    most: float = math.inf,
    finite: bool = True,
    also: str = "",
) -> float:
    """Return what stands for a duration of a range, a `Duration`, as a float of seconds; else raise `RequestError`.

    Parameters
    ----------
    name, value, least, above, most, finite, also
        As for `simmodels.ground.numbers.as_number`.
    """
    given = value
    if isinstance(value, str):
        given = seconds(value, name)
    elif isinstance(value, timedelta):
        given = value.total_seconds()
    elif isinstance(value, np.timedelta64) and np.datetime_data(value)[0] not in {"Y", "M", "generic"}:
        given = float(value / np.timedelta64(1, "s"))  # months and years have no length
    return as_number(name, given, least=least, above=above, most=most, finite=finite, unit="seconds", also=also)


def as_window(name: str, pair: Any) -> tuple[float, float]:  # noqa: ANN401  whatever was given
    """Return two instants, each as `as_seconds` takes it; raise `RequestError` if they are none."""
    instants = tuple(pair) if isinstance(pair, Sequence | np.ndarray) and not isinstance(pair, str | bytes) else ()
    if len(instants) != 2:
        raise RequestError(must_be(name, "two numbers of seconds", pair))
    begin, end = (as_seconds(name, each, finite=False) for each in instants)
    return begin, end


def duration(value_s: float, longest_s: float = DAY) -> str:
    """Return a duration to three digits, in the largest unit that it holds one of.

    Parameters
    ----------
    value_s
        The duration; NaN for none.
    longest_s
        The length of the largest unit: ``DAY``, ``HOUR``, ``MINUTE`` or ``SECOND``.
    """
    if not math.isfinite(value_s):
        return "none" if math.isnan(value_s) else str(value_s)
    units = [each for each in _SHOWN if each[1] <= longest_s]
    unit, length_s = next((each for each in units if abs(value_s) >= each[1]), units[-1])
    amount = value_s / length_s
    return f"{amount:,.0f} {unit}" if abs(amount) >= _LONG else f"{amount:.3g} {unit}"


def span(hours: float) -> str:
    """Return a duration in hours as text, in hours, minutes or seconds: 0.1 is ``6 min``."""
    return duration(hours * HOUR, longest_s=HOUR)


def as_hours(hours: float) -> str:
    """Return a duration in hours as text, always in hours: 0.1 is ``0.1 h``."""
    if 0 < hours < _SHORTEST_H:
        return f"less than {_SHORTEST_H} h"
    return f"{hours:,.0f} h" if hours >= _LONG else f"{float(f'{hours:.3g}' if hours >= 1 else f'{hours:.2f}'):g} h"
