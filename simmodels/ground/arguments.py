"""Arguments: what a function was given, checked at its door; and what is tried that is not there."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from simmodels.errors import RequestError, brief, must_be, with_article

Called = TypeVar("Called", bound=Callable[..., Any])
Wanted = TypeVar("Wanted")


def as_instance(name: str, value: Any, kind: type[Wanted], *, also: str = "") -> Wanted:  # noqa: ANN401  whatever was given
    """Return what was given, if it is an object of a class; else raise `RequestError`.

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
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise RequestError(must_be(name, expected, values))
    return tuple(values)


def listed(names: Collection[str]) -> str:
    """Return names as a sentence lists them: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# -- what users try that is not there ----------------------------------------------------------------


def by_name(instead: str) -> Callable[[Called], Called]:
    """Let a function, or a class, whose arguments are given by name, refuse others in one sentence.

    Parameters
    ----------
    instead
        What to write instead.

    Examples
    --------
    >>> @by_name("for example draw(title='a')")
    ... def draw(*, title=""):
    ...     return title
    >>> draw("a")
    Traceback (most recent call last):
    simmodels.errors.RequestError: draw takes other arguments by name (got 'a'); for example draw(title='a')
    """

    def refusing(function: Called) -> Called:
        called: Any = function.__init__ if isinstance(function, type) else function  # type: ignore[misc]  # of this class
        most = sum(each.kind <= each.POSITIONAL_OR_KEYWORD for each in inspect.signature(called).parameters.values())

        @functools.wraps(called)
        def checked(*given: Any, **options: Any) -> Any:  # noqa: ANN401  those of the function
            if len(given) > most:
                got = ", ".join(map(brief, given[most:]))
                raise RequestError(f"{function.__name__} takes other arguments by name (got {got})", instead)
            return called(*given, **options)

        if isinstance(function, type):
            function.__init__ = checked  # type: ignore[misc]  # as above
            return function
        return cast("Called", checked)

    return refusing


class _Guide(type):
    """What answers for a name that a class has not."""

    if not TYPE_CHECKING:  # or type checkers would take every name for one that there is

        def __getattr__(cls, name: str) -> object:
            hint = cls._instead.get(name)
            if hint is None:  # as Python does
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
            raise AttributeError(f"{cls.__name__} has no {name}; {hint}", name=name)


class Guided(metaclass=_Guide):
    """A class that says what to use instead of what users try in vain: an index, a loop, another library's name."""

    __slots__ = ()
    _instead: ClassVar[Mapping[str, str]] = {}
    """What to use, by name; under ``[]``, instead of an index or a loop."""

    if not TYPE_CHECKING:  # as above

        def __getattr__(self, name: str) -> object:
            if name in self._instead:
                raise AttributeError(f"{type(self).__name__} has no {name}; {self._instead[name]}", name=name)
            return object.__getattribute__(self, name)  # raises what Python does

        def __getitem__(self, key: object) -> object:
            """Refuse an index; a loop asks for one, too."""
            name = with_article(type(self).__name__)
            raise RequestError(f"{name} has no items, and no rows to loop over", self._instead["[]"])


def with_items(function: Called) -> Called:
    """Let a method whose result has items say so where one is asked for before it is called.

    Examples
    --------
    >>> class Answer:
    ...     @with_items
    ...     def numbers(self):
    ...         return {"best": 1.0}
    >>> Answer().numbers()["best"]
    1.0
    >>> Answer().numbers["best"]
    Traceback (most recent call last):
    simmodels.errors.RequestError: numbers['best'] of a method; call it first: numbers()['best']
    """
    return cast("Called", _Method(function))


class _Method:
    """A method, as a class keeps it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        functools.update_wrapper(cast("Any", self), function)

    def __get__(self, of: object, kind: type | None = None) -> Any:  # noqa: ANN401  the function, or it with its object
        return self._function if of is None else _Bound(self._function.__get__(of, kind))


class _Bound:
    """A method of an object."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        functools.update_wrapper(cast("Any", self), function)

    def __call__(self, *given: Any, **options: Any) -> Any:  # noqa: ANN401  those of the function
        return self._function(*given, **options)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  those of a method
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return repr(self._function)

    def __getitem__(self, key: object) -> object:
        asked = f"[{brief(key)}]"
        name = self._function.__name__
        raise RequestError(f"{name}{asked} of a method", f"call it first: {name}(){asked}")
