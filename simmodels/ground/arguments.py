"""Arguments: what a function was given, checked at its door, and how an error names it."""

from collections.abc import Collection, Iterable
from typing import Any, Final, TypeVar

import numpy as np

from simmodels.errors import RequestError, brief

Wanted = TypeVar("Wanted")

_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type)


def got(value: object) -> str:
    """Return what an error says it got: a plain value as it is written, of any other its type.

    Examples
    --------
    >>> got("4"), got([1, 2]), got([]), got({})
    ("'4'", 'a list of int', 'an empty list', 'an empty dict')
    """
    if isinstance(value, _PLAIN):
        return f"the class {value.__name__}" if isinstance(value, type) else brief(value)
    name = "array" if isinstance(value, np.ndarray) else type(value).__name__
    if isinstance(value, list | tuple | set | dict | frozenset):
        if not value:
            return f"an empty {name}"
        kinds = {type(each).__name__ for each in value}
        return f"a {name} of {kinds.pop()}" if len(kinds) == 1 else f"a {name} of {', '.join(sorted(kinds))}"
    shape = getattr(value, "shape", None)
    sized = f" of shape {shape}" if isinstance(shape, tuple) and shape else ""
    return f"{_article(name)} {name}{sized}"


def as_instance(name: str, value: Any, kind: type[Wanted], *, also: str = "") -> Wanted:  # noqa: ANN401  whatever was given
    """Return what was given, if it is an object of a class.

    Parameters
    ----------
    name
        The parameter.
    value
        What was given.
    kind
        The class.
    also
        What else the caller accepts, for the error: ``"the path of one"``.

    Raises
    ------
    RequestError
        It is an object of another class, perhaps one of the same name.

    Examples
    --------
    >>> from simmodels.workload import Workload
    >>> as_instance("workload", [1, 2], Workload)
    Traceback (most recent call last):
    simmodels.errors.RequestError: workload must be a Workload (got a list of int)
    """
    if isinstance(value, kind):
        return value
    wanted, given = kind.__name__, type(value)
    if given.__name__ == wanted:  # SimPy has an Environment, too
        wanted, other = (f"a {each.__module__.partition('.')[0]}.{each.__name__}" for each in (kind, given))
        raise RequestError(f"{name} must be {wanted} (got {other})")
    raise RequestError(_must_be(name, f"{_article(wanted)} {wanted}{also and f', or {also}'}", value))


def as_tuple(name: str, values: Iterable[Wanted], expected: str) -> tuple[Wanted, ...]:
    """Return several things as a tuple; refuse one thing, and a text, which has only characters.

    Parameters
    ----------
    name
        The parameter.
    values
        What was given.
    expected
        What it must be, for the error: ``"a list of clusters"``.

    Raises
    ------
    RequestError
        It is none.

    Examples
    --------
    >>> as_tuple("choices", "SAF", "a list of orders")
    Traceback (most recent call last):
    simmodels.errors.RequestError: choices must be a list of orders (got 'SAF')
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise RequestError(_must_be(name, expected, values))
    return tuple(values)


def _must_be(name: str, expected: str, given: object) -> str:
    """Return the text of an argument that is not what it must be: of objects their types, of numbers and texts all."""
    return f"{name} must be {expected} (got {got(given)})"


def _article(name: str) -> str:
    return "an" if name[0].lower() in "aeiou" else "a"


def listed(names: Collection[str]) -> str:
    """Return names as a sentence lists them: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
