"""Registry: the orders and the bids that have a name, those of the literature and a user's own."""

from collections.abc import Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

from simmodels.errors import RequestError, UnknownNameError


class _Named(Protocol):
    @property
    def name(self) -> str:
        """What the registry calls it."""


Entry = TypeVar("Entry", bound=_Named)


class Registry(Generic[Entry]):
    """What has a name: built-in entries, whose names may be written in any case, and a user's.

    Parameters
    ----------
    kind
        What errors call an entry.
    aliases
        Other names of built-in entries, in capitals.

    Attributes
    ----------
    built_in, users
        The entries by name.
    """

    def __init__(self, kind: str, aliases: Mapping[str, str]) -> None:
        self.kind = kind
        self.built_in: dict[str, Entry] = {}
        self.users: dict[str, Entry] = {}
        self._aliases = dict(aliases)
        self._names = dict(aliases)

    def add_built_in(self, made: Entry) -> Entry:
        """Enter one of the literature."""
        self.built_in[made.name] = made
        self._names[made.name.upper()] = made.name
        return made

    def add(self, made: Entry) -> Entry:
        """Enter one of the user's; refuse the name of a built-in one."""
        upper = made.name.upper()
        if self._names.get(upper, "").upper() == upper:  # that of an alias may be taken
            raise RequestError(f"{self.kind} {made.name!r} is built in", "choose another name")
        self.users[made.name] = made
        return made

    def all(self) -> Mapping[str, Entry]:
        """Return every entry by name: the built-in ones, then the user's."""
        return {**self.built_in, **self.users}

    def aliases(self, name: str) -> tuple[str, ...]:
        """Return the other names of an entry."""
        return tuple(each for each, named in self._aliases.items() if named == name)

    def get(self, name: str) -> Entry | None:
        """Return the entry of this name, or None."""
        return self.users.get(name) or self.built_in.get(self._names.get(name.upper(), ""))

    def find(self, name: str) -> Entry:
        """Return the entry of this name; raise `UnknownNameError`, with the near names, if there is none."""
        found = self.get(name)
        if found is None:
            raise UnknownNameError(self.kind, name, (*self.all(), *self._aliases))
        return found


_OTHER_NAMES: Final = {
    "FIFO": "FCFS",
    "SJF": "SPF",  # the field's jobs have limits, and a scheduler goes by these; likewise below
    "SJN": "SPF",
    "SPT": "SPF",
    "LJF": "LPF",
    "LPT": "LPF",
    "WFP": "WFP3",
    "UNICEP": "UNICEF",
}
ORDERS: Final[Registry[Any]] = Registry("order", _OTHER_NAMES)
BIDS: Final[Registry[Any]] = Registry("bid", {"PSLR": "P-SLR"})


def registry_of(made: _Named) -> Registry[Any] | None:
    """Return the registry of which this is a built-in entry, or None."""
    return next((each for each in (ORDERS, BIDS) if each.built_in.get(made.name) is made), None)


def built_in(kind: str, name: str) -> object:
    """Return a built-in entry: what one is pickled as."""
    return (ORDERS if kind == ORDERS.kind else BIDS).built_in[name]
