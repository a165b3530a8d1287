"""Changeable: options of which some can be changed while jobs wait and run."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from simmodels.errors import require_known


def known_options(kind: type, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return options by name; refuse one that is no field of their class.

    Raises
    ------
    UnknownNameError
        Naming it; near ones are offered.
    """
    known = tuple(each.name for each in fields(kind))
    for name in options:
        require_known("option", name, known)
    return options


@dataclass(frozen=True, slots=True)
class Changeable:
    """Options that are made by `checked`, and of which those named in `changeable` can be changed."""

    changeable: ClassVar[tuple[str, ...]]
    """The options that can be changed while jobs wait and run."""

    @classmethod
    def checked(cls, *_args: Any, **_options: Any) -> Self:  # noqa: ANN401  each class has its own
        """Return the options, or refuse what is not allowed."""
        raise NotImplementedError

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return the options with some changed, by name; refuse as `checked` does.

        Raises
        ------
        UnknownNameError
            No such option, or one that must stay as it is while jobs wait and run.
        """
        for name in changes:
            require_known("option that can be changed", name, self.changeable)
        return self._changed(changes)

    def by_name(self) -> dict[str, Any]:
        """Return the options by name, as `checked` takes them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def _changed(self, changes: Mapping[str, Any]) -> Self:
        return self.checked(**{**self.by_name(), **changes})
