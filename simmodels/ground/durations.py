"""Durations: a number of seconds, or a text with a unit, as the command line and the functions of Python take it."""

import re
from typing import Any, Final

from simmodels.errors import RequestError
from simmodels.units import DAY, HOUR, MINUTE, SECOND, WEEK

_UNITS: Final = {"": SECOND, "s": SECOND, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY, "w": WEEK}
_DURATION: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)


def seconds(text: str, what: str = "duration") -> float:
    """Return a duration in seconds: ``40h``, ``1.5d``, ``30min``, ``144000``.

    Parameters
    ----------
    text
        A number >= 0, and a unit: s (the default), min or m, h, d, w.
    what
        What the error calls it.

    Raises
    ------
    RequestError
        The text is no such duration.

    Examples
    --------
    >>> seconds("40h"), seconds("1.5 d"), seconds("90")
    (144000.0, 129600.0, 90.0)
    """
    found = _DURATION.fullmatch(text)
    if found is None or found.group(2).lower() not in _UNITS:
        allowed = "a number of seconds, or with a unit (s, min, h, d, w) as in 90s, 30min, 40h, 2d, is allowed"
        raise RequestError(f"{what} {text!r}", allowed)
    return float(found.group(1)) * _UNITS[found.group(2).lower()]


def in_seconds(name: str, value: Any) -> Any:  # noqa: ANN401  the owner of the value checks what is no text
    """Return the seconds of a duration that is a text; any other value as it is."""
    return seconds(value, name) if isinstance(value, str) else value
