"""Arguments: what a function was given, checked at its door."""

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from simmodels.errors import RequestError, must_be, with_article

Wanted = TypeVar("Wanted")


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
    simmodels.errors.RequestError: workload must be a Workload (got [1, 2])
    """
    if isinstance(value, kind):
        return value
    wanted, given = kind.__name__, type(value)
    if given.__name__ == wanted:  # SimPy has an Environment, too
        wanted, other = (f"a {each.__module__.partition('.')[0]}.{each.__name__}" for each in (kind, given))
        raise RequestError(f"{name} must be {wanted} (got {other})")
    raise RequestError(must_be(name, f"{with_article(wanted)}{also and f', or {also}'}", value))


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
        raise RequestError(must_be(name, expected, values))
    return tuple(values)


def listed(names: Collection[str]) -> str:
    """Return names as a sentence lists them: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
