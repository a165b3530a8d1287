"""Limits: how much of a cluster the jobs of a user, a group or a queue may have at once, as a table."""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.rows import read_rows, rows_of, said_in, with_all_above
from simmodels.errors import FileFormatError, ImpossibleJobError, RequestError, must_be
from simmodels.ground.arguments import as_tuple, listed
from simmodels.ground.durations import as_seconds
from simmodels.ground.later import later
from simmodels.ground.numbers import MOST, Ints, as_integer, as_number

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")

NO_LIMIT: Final = np.iinfo(np.int64).max
_USERS: Final = ("user", "user_id")
_MINUTE_S: Final = 60
_CAPS: Final[Mapping[str, Callable[[str, Any], float]]] = {
    "jobs": lambda name, given: as_integer(name, given, 1),
    "cores": lambda name, given: as_integer(name, given, 1),
    "core_minutes": lambda name, given: as_number(name, given, above=0, most=MOST / _MINUTE_S),
    "walltime_s": lambda name, given: as_seconds(name, given, above=0),
    "submitted": lambda name, given: as_integer(name, given, 1),
}
"""What can be limited, each with its check."""

Columns = Mapping[str, NDArray[Any]]
"""Columns of jobs by name: those of a workload, ``user_id``, ``cores`` and ``estimate_s`` among them."""


class Party(NamedTuple):
    """Whose jobs are counted together, and how much they may have.

    Parameters
    ----------
    key
        The column and the value, or an empty text and the name of a group.
    jobs, cores, core_s
        How many may run, on how many cores, and how many core-seconds these may be expected to take; `NO_LIMIT`: any.
    walltime_s
        The longest estimate of a job; infinity for any.
    submitted
        How many may wait in the queue and run; `NO_LIMIT`: any.
    """

    key: tuple[str, str]
    jobs: int
    cores: int
    core_s: int
    walltime_s: float
    submitted: int

    @property
    def name(self) -> str:
        """Return what errors call it: ``user 17``, or ``group 'physics'``."""
        column, value = self.key
        return f"{column} {value}" if column else f"group {value!r}"

    def refusal(self, cores: int, estimate_s: float) -> str:
        """Return why a job of it could never start; an empty text if it could."""
        if cores > self.cores:
            return f"needs {cores} cores, and {self.name} may have {self.cores}"
        if estimate_s > self.walltime_s:
            return f"may run for {estimate_s:g} s, and a job of {self.name} for {self.walltime_s:g} s"
        if core_seconds(cores, estimate_s) > self.core_s:
            needed, most = cores * estimate_s / _MINUTE_S, self.core_s / _MINUTE_S
            return f"may take {needed:g} core-minutes, and {self.name} may have {most:g}"
        return ""

    def full(self, jobs: int, cores: int, core_s: int) -> str:
        """Return the limit that more than this much would be over."""
        if jobs > self.jobs:
            return f"{self.name} may run {self.jobs} jobs"
        if cores > self.cores:
            return f"{self.name} may have {self.cores} cores"
        return f"{self.name} may have {self.core_s / _MINUTE_S:g} core-minutes" if core_s > self.core_s else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A row of limits: whose jobs it counts, and how much they may have at once.

    Parameters
    ----------
    by
        The column that says whose a job is: ``"user"``, or a further column of whole numbers, such as ``"group_id"``,
        ``"queue"`` or ``"partition"``. A job whose value is unknown (-1) is nobody's.
    value
        Which value of it. None: each value, by itself; of a value that has a row of its own, what that row limits
        counts instead.
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
    value: int | None = None
    group: str | None = None
    members: tuple[int, ...] = ()
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
            fix(self, "value", as_integer(f"{self.by} of a limit", self.value, 0))
        members = as_tuple("members", self.members, "a list of numbers")
        fix(self, "members", tuple(as_integer(f"a member of {self.name}", each, 0) for each in members))
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
        return f"each {self.by}" if self.value is None else f"{self.by} {self.value}"

    @property
    def caps(self) -> dict[str, float]:
        """Return what it limits, by name."""
        return {name: given for name in _CAPS if (given := getattr(self, name)) is not None}

    def table(self) -> dict[str, object]:
        """Return what was given, by name, as `Limits` takes it."""
        names = [each.name for each in fields(self) if self._says(each.name)]
        return {name: list(found) if isinstance(found := getattr(self, name), tuple) else found for name in names}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a cluster the jobs of users, groups and queues may have at once: a table of rows.

    A job that would exceed a limit, if it started now, is passed over: it delays nobody, and nothing is reserved for
    it, until others have ended. One that could never start, whatever ends, is refused (`ImpossibleJobError`).

    Parameters
    ----------
    rows
        The rows: `Limit` records, mappings of their fields, or a table with these as columns, in which what is missing
        is empty, and members are numbers in a text (``"1 2 3"``).

    Raises
    ------
    RequestError
        A row is no limit, two are of the same, a group is unknown, or groups are parts of each other.

    Examples
    --------
    >>> import simmodels as sm
    >>> log = {"submit_s": [0, 0, 0], "runtime_s": [10, 10, 10], "cores": [1, 1, 1], "user_id": [17, 17, 4]}
    >>> sm.simulate(log, cores=4, limits=[{"by": "user", "jobs": 1}]).start_s.tolist()
    [0.0, 10.0, 0.0]
    """

    rows: tuple[Limit, ...]
    _known: dict[tuple[str, int], tuple[Party, ...]] = field(init=False, repr=False, compare=False)
    _chosen: dict[tuple[str, int | None], Limit] = field(init=False, repr=False, compare=False)
    _groups: dict[str, Limit] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep the rows, and refuse those that do not go together."""
        fix = object.__setattr__
        fix(self, "rows", tuple(map(_as_limit, rows_of("limits", self.rows, Limit, "[{'by': 'user', 'jobs': 4}]"))))
        if not self.rows:
            raise RequestError("a table of limits without rows", "leave limits out, or give at least one")
        names = [(each.by, each.value) if each.group is None else ("", each.group) for each in self.rows]
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            row = self.rows[names.index(twice[0])]
            raise RequestError(f"two rows limit {row.name}", "put them into one")
        fix(self, "_known", {})
        fix(self, "_chosen", {(each.by, each.value): each for each in self.rows if each.group is None})
        fix(self, "_groups", {each.group: each for each in self.rows if each.group is not None})
        for each in self._groups.values():
            self._require_tree(each)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows; what is known of them is found again."""
        return type(self), (self.rows,)

    @classmethod
    def of(cls, given: "LimitsLike") -> "Limits":
        """Return the limits of what stands for them: of their rows, or of a file (see `read`)."""
        if isinstance(given, Limits):
            return given
        return cls.read(given) if isinstance(given, str | os.PathLike) else cls(given)  # type: ignore[arg-type]

    @classmethod
    def by_value(
        cls, by: str, caps: Mapping[int, Mapping[str, float]], others: Mapping[str, float] | None = None
    ) -> "Limits":
        """Return limits by one column, in which each value has caps of its own.

        Parameters
        ----------
        by
            The column, as in `Limit`.
        caps
            What each value may have, by name: ``{17: {"cores": 64}, 4: {"jobs": 1}}``.
        others
            What each value that is not among them may have; None for any amount. One that is among them may have this
            in what its own caps do not name.

        Raises
        ------
        RequestError
            A cap is out of its range, or unknown, or there are none.
        """
        rows = [] if others is None else [_as_limit({"by": by, **others})]
        return cls((*rows, *(_as_limit({"by": by, "value": value, **each}) for value, each in caps.items())))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Limits":
        """Return the limits of a file: a table of comma-separated values, or TOML (or JSON) with a list ``limit``.

        Raises
        ------
        FileFormatError
            The file cannot be read, or what it holds are no limits.
        """
        given, _ = read_rows(path, "limit", ("group", "parent", "members", "walltime_s"))
        try:
            return cls(given)  # type: ignore[arg-type]  # what a file holds is checked there
        except RequestError as error:
            raise FileFormatError(str(path), None, str(error)) from error

    def beside(self, others: "Limits | None") -> "Limits":
        """Return these limits and others, as one table; of what both limit, also as each value, the lower counts."""
        rows: dict[tuple[object, ...], dict[str, Any]] = {}
        more = () if others is None else others.rows
        for row in (*self.rows, *more):
            rows.setdefault((row.by, row.value, row.group), {}).update(row.table())
        for row in self.rows:
            same = [each for each in more if (each.by, each.group) == (row.by, row.group)]
            same.sort(key=lambda each: each.value is not None)  # what a value has of its own counts instead
            theirs = {name: cap for each in same if each.value in {None, row.value} for name, cap in each.caps.items()}
            lower = {name: min(cap, theirs.get(name, cap)) for name, cap in row.caps.items()}
            rows[row.by, row.value, row.group].update(lower)
        return Limits(tuple(rows.values()))  # type: ignore[arg-type]  # rows are checked there

    def _require_tree(self, group: Limit) -> None:
        """Refuse a group whose parents are unknown, of another column, or parts of itself."""
        parents = {name: each.parent for name, each in self._groups.items()}
        for name in with_all_above("group", str(group.group), parents, "let its parents form a tree"):
            if self._groups[name].by != group.by:
                what = f"group {group.group!r} is by {group.by}, and group {name!r} above it by {self._groups[name].by}"
                raise RequestError(what, "let both be by the same column")

    # -- whose jobs are counted ----------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that say whose a job is."""
        return tuple(dict.fromkeys(each.by for each in self.rows))

    def table(self) -> list[dict[str, object]]:
        """Return the rows as mappings, as `Limits` takes them."""
        return [each.table() for each in self.rows]

    def parties(self, column: str, value: int) -> tuple[Party, ...]:
        """Return the parties that a job is of, by its value of a column."""
        found = self._known.get((column, value))
        if found is None:
            found = self._known[column, value] = self._found(column, value) if value >= 0 else ()
        return found

    def _found(self, column: str, value: int) -> tuple[Party, ...]:
        rows = [row for key in ((column, None), (column, value)) if (row := self._chosen.get(key)) is not None]
        found = []
        if rows:
            found.append(_party((column, str(value)), {name: cap for row in rows for name, cap in row.caps.items()}))
        names: dict[str, None] = {}
        for each in self._groups.values():
            group: Limit | None = each if each.by == column and value in each.members else None
            while group is not None and group.group is not None:
                names[group.group] = None
                group = None if group.parent is None else self._groups[group.parent]
        found += [_party(("", name), self._groups[name].caps) for name in names if self._groups[name].caps]
        return tuple(found)

    @property
    def counts_submitted(self) -> bool:
        """Return whether any row limits how many jobs are submitted."""
        return any(row.submitted is not None for row in self.rows)

    @property
    def most_parties(self) -> tuple[int, ...]:
        """Return, of each of the columns, of how many parties a job is at most by it."""
        return tuple(
            max(
                len(self.parties(column, value))
                for value in (
                    *(row.value for row in self.rows if row.by == column and row.value is not None),
                    *(value for row in self._groups.values() if row.by == column for value in row.members),
                    *((_ANY,) if (column, None) in self._chosen else ()),
                    -1,
                )
            )
            for column in self.columns
        )

    # -- which jobs it takes ------------------------------------------------------------------------

    def require(self, columns: Columns, what: str) -> None:
        """Refuse jobs that could never start, or that have no such column, and limits of what no job is of.

        Parameters
        ----------
        columns
            The jobs'.
        what
            What errors call them: ``"workload 'log'"``.

        Raises
        ------
        ImpossibleJobError
            A job is over a limit by itself.
        RequestError
            A column is missing, or a row names a value that no job has.
        """
        if not len(columns["cores"]):
            return
        present = self._present(columns)
        for row in self.rows:
            for value in (*row.members, *(() if row.value is None else (row.value,))):
                if value not in present[row.by]:
                    raise RequestError(f"limits name {row.by} {value}, and no job of {what} is of it", "leave it out")
        refused = self.refused(columns)
        if refused.any():
            first = int(np.flatnonzero(refused)[0])
            job = {name: columns[name][first] for name in ("cores", "estimate_s")}
            of = {column: int(numbers_of(columns, column)[first]) for column in self.columns}
            why = self.refusal(of, int(job["cores"]), float(job["estimate_s"]))
            raise ImpossibleJobError(int(columns["job_id"][first]), why, int(refused.sum()) - 1)

    def _present(self, columns: Columns) -> dict[str, set[int]]:
        """Return the values that jobs have, of each of the columns."""
        return {column: set(distinct(numbers_of(columns, column))[0].tolist()) for column in self.columns}

    def within(self, columns: Columns) -> "Limits | None":
        """Return the limits of some of the jobs that they are of, such as a week of a log; None if none is left.

        Values that none of these jobs has are left out, which `require` refuses in a table for all of them.

        Parameters
        ----------
        columns
            The jobs'.
        """
        present = self._present(columns)
        rows = [
            replace(row, members=tuple(value for value in row.members if value in present[row.by]))
            for row in self.rows
            if row.value is None or row.value in present[row.by]
        ]
        return Limits(tuple(rows)) if rows else None

    def refused(self, columns: Columns) -> NDArray[np.bool_]:
        """Return bool[n], which jobs could never start; jobs whose cores are unknown (-1) can."""
        cores, estimate_s = columns["cores"], columns["estimate_s"]
        needed = core_seconds(cores, estimate_s)
        found = np.zeros(len(cores), np.bool_)
        for column in self.columns:
            values, at = distinct(numbers_of(columns, column))
            caps = np.full((len(values), 3), np.inf)
            for place, value in enumerate(values.tolist()):
                for party in self.parties(column, int(value)):
                    caps[place] = np.minimum(caps[place], (party.cores, party.core_s, party.walltime_s))
            found |= (cores > caps[at, 0]) | (needed > caps[at, 1]) | (estimate_s > caps[at, 2])
        return found

    def refusal(self, of: Mapping[str, int], cores: int, estimate_s: float) -> str:
        """Return why a job could never start, if it could not; `of` are its values by column."""
        parties = (party for column, value in of.items() for party in self.parties(column, value))
        return next((why for party in parties if (why := party.refusal(cores, estimate_s))), "")


_ANY: Final = MOST
LimitsLike = Limits | str | os.PathLike[str] | Iterable[Limit | Mapping[str, Any]]
"""What stands for limits: see `Limits.of`."""


def core_seconds(cores: Any, estimate_s: Any) -> Any:  # noqa: ANN401  numbers, or columns of them
    """Return the estimates times the cores, in whole core-seconds, rounded up: sums of them are exact."""
    return np.minimum(np.ceil(np.multiply(cores, estimate_s, dtype=np.float64)), MOST).astype(np.int64)


def numbers_of(columns: Columns, column: str) -> Ints:
    """Return int64[n], the values of a column; refuse one that is missing, or not of numbers."""
    name = "user_id" if column == "user" else column
    found = columns.get(name)
    if found is None or found.dtype.kind not in "iufb":
        numbers = [each for each, values in columns.items() if values.dtype.kind in "iufb"]
        raise RequestError(f"limits are by {column}, of which the workload has no numbers", f"it has {listed(numbers)}")
    return np.where(np.isfinite(found), found, -1).astype(np.int64)


def distinct(numbers: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Return the values of a column, increasing, and which each entry is; `numpy.unique` sorts all entries for that."""
    at, values = pd.factorize(numbers, sort=True)
    return values, at


def _party(key: tuple[str, str], caps: Mapping[str, float]) -> Party:
    core_minutes = caps.get("core_minutes")
    return Party(
        key,
        int(caps.get("jobs", NO_LIMIT)),
        int(caps.get("cores", NO_LIMIT)),
        NO_LIMIT if core_minutes is None else _whole_seconds(core_minutes),
        caps.get("walltime_s", math.inf),
        int(caps.get("submitted", NO_LIMIT)),
    )


def _whole_seconds(minutes: float) -> int:
    """Return the most whole seconds that are no more than these minutes: 492 of 8.2, whose product with 60 is less."""
    seconds = round(minutes * _MINUTE_S)
    return seconds if seconds / _MINUTE_S <= minutes else seconds - 1


def _as_limit(row: object) -> Limit:
    """Return a row as a limit."""
    if isinstance(row, Limit):
        return row
    known = said_in("limits", row, Limit, "{'by': 'user', 'jobs': 4}")
    if isinstance(members := known.get("members"), str):
        parts = members.replace(",", " ").split()
        if not all(part.isdecimal() for part in parts):
            raise RequestError(must_be("members of a limit", "numbers, such as '1 2 3'", members))
        known["members"] = tuple(map(int, parts))
    elif isinstance(members, int | float | np.number):
        known["members"] = (members,)
    if isinstance(walltime_s := known.get("walltime_s"), str) and walltime_s.replace(".", "", 1).isdecimal():
        known["walltime_s"] = float(walltime_s)
    return Limit(**known)
