"""Limit: whose jobs are counted together, and how much they may have at once, as a row of a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from simmodels.clusters.rows import as_value, said_in
from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_tuple, listed
from simmodels.ground.durations import as_seconds
from simmodels.ground.numbers import MOST, as_integer, as_number
from simmodels.units import MINUTE

_USERS: Final = ("user", "user_id")
_CAPS: Final[Mapping[str, Callable[[str, Any], float]]] = {
    "jobs": lambda name, given: as_integer(name, given, 1),
    "cores": lambda name, given: as_integer(name, given, 1),
    "core_minutes": lambda name, given: as_number(name, given, above=0, most=MOST / MINUTE),
    "walltime_s": lambda name, given: as_seconds(name, given, above=0),
    "submitted": lambda name, given: as_integer(name, given, 1),
}
"""What can be limited, each with its check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A row of limits: whose jobs it counts, and how much they may have at once.

    Parameters
    ----------
    by
        The column that says whose a job is: ``"user"``, or a further column of whole numbers, such as ``"group_id"``,
        ``"queue"``, ``"partition"`` or ``"account"``. A job whose value is unknown (-1) is nobody's.
    value
        Which value of it: a number, or a name that the log has (see `Workload.names`). None: each value, by itself; of
        a value that has a row of its own, what that row limits counts instead.
    group, members
        Instead of a value: a group of that name, of these values. The jobs of all of them are counted together.
    parent
        The group that this group is a part of, by name; it is of the same column. What a group has, its parent has.
    jobs
        How many jobs run at most.
    cores
        How many cores they use at most.
    core_minutes
        How much their estimates times their cores may come to, in whole core-seconds, as Slurm's `GrpTRESRunMins`.
    walltime_s
        The longest estimate of a job.
    submitted
        How many jobs wait in the queue and run at most. Slurm refuses a further one; here it stays outside the queue,
        in order of submission, until one of them is done, and its wait counts from its submission.

    Raises
    ------
    RequestError
        A number is out of its range, or parts do not go together.

    Examples
    --------
    >>> import simmodels as sm
    >>> sm.Limit(by="user", value=17, cores=64)
    Limit(by='user', value=17, cores=64)
    """

    by: str = "user"
    value: int | str | None = None
    group: str | None = None
    members: tuple[int | str, ...] = ()
    parent: str | None = None
    jobs: int | None = None
    cores: int | None = None
    core_minutes: float | None = None
    walltime_s: float | None = None
    submitted: int | None = None

    def __post_init__(self) -> None:
        """Refuse what limits nobody, or nothing."""
        fix = object.__setattr__
        for name, wanted in (("by", "column"), ("group", "group"), ("parent", "group")):
            given = getattr(self, name)
            if not (given is None and name != "by") and not (isinstance(given, str) and given):
                raise RequestError(must_be(f"{name} of a limit", f"the name of a {wanted}", given))
        fix(self, "by", "user" if self.by in _USERS else self.by)
        if self.value is not None:
            fix(self, "value", as_value(f"{self.by} of a limit", self.value))
        members = as_tuple("members", self.members, "a list of numbers or names")
        fix(self, "members", tuple(as_value(f"a member of {self.name}", each) for each in members))
        for name, checked in _CAPS.items():
            given = getattr(self, name)
            if given is not None:
                fix(self, name, checked(f"{name} of {self.name}", given))
        self._require_parts()

    def _require_parts(self) -> None:
        """Refuse parts that do not go together."""
        if self.group is None:
            if self.members or self.parent is not None:
                raise RequestError(f"a limit of {self.name} has members or a parent", "give its group a name")
            if not self.caps:
                raise RequestError(f"a limit of {self.name} limits nothing", f"give one of {listed(_CAPS)}")
        elif self.value is not None:
            raise RequestError(f"a limit of {self.name} has a value", "list it among its members")

    def __repr__(self) -> str:
        """Return what was given."""
        given = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if self._says(each.name))
        return f"Limit({', '.join(given)})"

    def _says(self, name: str) -> bool:
        return getattr(self, name) not in {None, ()}

    @property
    def name(self) -> str:
        """Return what errors call it: ``user 17``, ``each user``, or ``group 'physics'``."""
        if self.group is not None:
            return f"group {self.group!r}"
        return f"each {self.by}" if self.value is None else f"{self.by} {self.value!r}"

    @property
    def named(self) -> tuple[int | str, ...]:
        """Return the values that it names."""
        return self.members if self.value is None else (self.value,)

    def by_values(self, change: Callable[[str, int | str], int | str]) -> dict[str, Any]:
        """Return its value, or its members, changed by a function of the column and each of them."""
        if self.value is not None:
            return {"value": change(self.by, self.value)}
        return {"members": tuple(change(self.by, each) for each in self.members)} if self.members else {}

    @property
    def caps(self) -> dict[str, float]:
        """Return what it limits, by name."""
        return {name: given for name in _CAPS if (given := getattr(self, name)) is not None}

    def table(self) -> dict[str, object]:
        """Return what was given, by name, as `Limits` takes it."""
        names = [each.name for each in fields(self) if self._says(each.name)]
        return {name: list(found) if isinstance(found := getattr(self, name), tuple) else found for name in names}


def as_limit(row: object) -> Limit:
    """Return a row as a limit."""
    if isinstance(row, Limit):
        return row
    known = said_in("limits", row, Limit, "{'by': 'user', 'jobs': 4}")
    if isinstance(members := known.get("members"), str):
        known["members"] = tuple(members.replace(",", " ").split())
    elif isinstance(members, int | float | np.number):
        known["members"] = (members,)
    if isinstance(walltime_s := known.get("walltime_s"), str) and walltime_s.replace(".", "", 1).isdecimal():
        known["walltime_s"] = float(walltime_s)
    return Limit(**known)
