"""Options: what queues, placers and auctions let a user choose; each is defined once, as a field of its class.

Whoever takes options by name (`simulate`, schedulers, the command line) derives from these classes what there is, its
default and its choices.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import reduce
from operator import or_
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Final, Literal, Self, TypeVar, get_args, get_origin

from simmodels.clusters.limits import Limits, LimitsLike
from simmodels.clusters.shares import Shares, SharesLike
from simmodels.errors import RequestError, require_known
from simmodels.ground.docstrings import descriptions
from simmodels.ground.durations import Duration
from simmodels.policies.naming import Given
from simmodels.policies.priority import Priority
from simmodels.work.workload import Workload

Taker = TypeVar("Taker", bound=Callable[..., Any])
_GIVEN: Final[dict[Any, Any]] = {
    Priority: Given,
    tuple[int, ...]: Iterable[int],
    Limits: LimitsLike,
    Shares: SharesLike,
}
"""What a user may give for an option that is kept as another type."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options that are made by `checked`, and of which those named in `changeable` can be changed."""

    changeable: ClassVar[tuple[str, ...]]
    """The options that can be changed while jobs wait and run."""
    refuses: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Options of others that these cannot have, by name, each with why, and what to do."""

    @classmethod
    def checked(cls, **options: Any) -> Self:  # noqa: ANN401  each has a type of its own
        """Return the options, those that are not named at their defaults.

        It raises `UnknownNameError` or `RequestError` if there is no such option or choice, a value is out of its
        range, or some do not go together.
        """
        for name in options:
            if name in cls.refuses:
                raise RequestError(*cls.refuses[name])
            require_known("option", name, _names(cls))  # type: ignore[arg-type]  # a class has a hash
        return cls(**options).verified(options)

    def verified(self, given: Collection[str]) -> Self:
        """Return the options with values of the types that compiled code knows; `given` are those that were named."""
        for name, choices in self.choices().items():
            value = getattr(self, name)
            if value is not None or None not in choices:
                require_known(name, value, [each for each in choices if each is not None])
        return self._verified(given)

    def _verified(self, given: Collection[str]) -> Self:
        """Do what `verified` does beside the choices."""
        raise NotImplementedError

    @classmethod
    def choices(cls) -> Mapping[str, tuple[Any, ...]]:
        """Return the values of each option that has a few, by name; None among them where none need be chosen."""
        return _choices_of(cls)  # type: ignore[arg-type]  # as above

    @classmethod
    def described(cls) -> Iterator[tuple[str, object, tuple[Any, ...], str]]:
        """Return name, default, choices and description of each option; the description is that of the docstring."""
        said = descriptions(cls)
        choices = cls.choices()
        for each in fields(cls):
            yield each.name, _shown_default(each), choices.get(each.name, ()), said.get(each.name, "")

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return the options with some changed, by name; refuse as `checked`, and what must stay while jobs run."""
        for name in changes:
            require_known("option that can be changed", name, self.changeable)
        return self._changed(changes)

    def for_jobs(self, workload: Workload) -> Self:  # noqa: ARG002  options that name nobody stay as they are
        """Return the options with the numbers that names in them have in a workload."""
        return self

    def by_name(self) -> dict[str, Any]:
        """Return the options by name, as `checked` takes them."""
        return {name: getattr(self, name) for name in _names(type(self))}  # type: ignore[arg-type]  # as above

    def _changed(self, changes: Mapping[str, Any]) -> Self:
        return self.checked(**{**self.by_name(), **changes})


@functools.cache
def _names(kind: type[Options]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


@functools.cache
def _choices_of(kind: type[Options]) -> Mapping[str, tuple[Any, ...]]:
    return MappingProxyType({each.name: found for each in fields(kind) if (found := _choices(each.type))})


def _parts(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401  types
    """Return the types of a union with None, None among them; any other type alone."""
    return get_args(kind) if NoneType in get_args(kind) else (kind,)


def _choices(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401  a type, or what typing makes of some
    """Return the values of a type of literals, or of one with None; of another type none."""
    literal, *others = (part for part in _parts(kind) if part is not NoneType)
    if others or get_origin(literal) is not Literal:
        return ()
    return get_args(literal) if literal is kind else (*get_args(literal), None)


def _shown_default(option: Field[Any]) -> object:
    """Return the default of an option as users give it, an order by its name; None of one that has none."""
    return None if option.default is MISSING else getattr(option.default, "name", option.default)


def given_type(name: str, kind: Any) -> Any:  # noqa: ANN401  types
    """Return the type of what a user may give for an option: also a name, or a duration, as `checked` takes it."""
    taken = _GIVEN | {float: Duration} if name.endswith("_s") else _GIVEN
    return reduce(or_, (taken.get(part, part) for part in _parts(kind)))


class _Unchanged:
    """What stands for an option that is not changed."""

    def __repr__(self) -> str:
        return "unchanged"


def takes_options(
    *kinds: type[Options], only: Callable[[str], bool] = lambda _: True, changed: bool = False
) -> Callable[[Taker], Taker]:
    """Let the signature of a function, or class, that takes ``**options`` name those of some classes of options.

    Parameters
    ----------
    kinds
        The classes; of an option that several have, the first says the default.
    only
        Which of their options are taken, by name.
    changed
        Whether options are changed: only those that can be, and others stay as they are.
    """

    def name_them(taker: Taker) -> Taker:
        function: Any = taker.__init__ if isinstance(taker, type) else taker  # type: ignore[misc]  # of this class
        signature = inspect.signature(function)
        own = {
            each.name: each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD
        }
        for kind in kinds:
            for each in fields(kind):
                if each.name in own or not only(each.name) or (changed and each.name not in kind.changeable):
                    continue
                own[each.name] = inspect.Parameter(
                    each.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=_Unchanged() if changed else _shown_default(each),
                    annotation=given_type(each.name, each.type),
                )
        function.__signature__ = signature.replace(parameters=list(own.values()))
        return taker

    return name_them
