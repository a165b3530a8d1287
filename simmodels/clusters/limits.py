"""Limits: how much of a cluster the jobs of a user, a group or a queue may have at once, as a table."""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.limit import Limit, as_limit
from simmodels.clusters.party import NO_LIMIT, Party, core_seconds, distinct, party_of
from simmodels.clusters.rows import (
    Digits,
    Names,
    number_of,
    plain,
    read_rows,
    require_named,
    rows_of,
    with_all_above,
    with_names,
)
from simmodels.errors import FileFormatError, ImpossibleJobError, RequestError
from simmodels.ground.arguments import listed
from simmodels.ground.numbers import MOST, Ints, as_integers

Columns = Mapping[str, NDArray[Any]]
"""Columns of jobs by name: those of a workload, ``user_id``, ``cores`` and ``estimate_s`` among them."""
_Distinct = Mapping[str, tuple[Ints, NDArray[np.intp]]]
"""The values that jobs have, increasing, and which of them each job has, by column."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a cluster the jobs of users, groups and queues may have at once: a table of rows.

    A job that would exceed a limit, if it started now, is passed over: it delays nobody, and nothing is reserved for
    it, until others have ended. One that could never start, whatever ends, is refused (`ImpossibleJobError`).

    Parameters
    ----------
    rows
        The rows: `Limit` records, mappings of their fields, or a table with these as columns, in which what is missing
        is empty, and members are numbers or names in a text (``"1 2 3"``).
    names
        The numbers of names, by column, as far as they are known: see `for_jobs`.

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
    names: Names = field(default_factory=dict, repr=False, compare=False)
    _shown: dict[tuple[str, int | str], str] = field(init=False, repr=False, compare=False)
    _unknown: tuple[tuple[str, int | str], ...] = field(init=False, repr=False, compare=False)
    _known: dict[tuple[str, int], tuple[Party, ...]] = field(init=False, repr=False, compare=False)
    _caps: dict[tuple[str, int | str | None], dict[str, float]] = field(init=False, repr=False, compare=False)
    _groups: dict[str, Limit] = field(init=False, repr=False, compare=False)
    _groups_of: dict[tuple[str, int | str], dict[str, None]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep the rows, and refuse those that do not go together."""
        fix = object.__setattr__
        fix(self, "rows", tuple(map(as_limit, rows_of("limits", self.rows, Limit, "[{'by': 'user', 'jobs': 4}]"))))
        if not self.rows:
            raise RequestError("a table of limits without rows", "leave limits out, or give at least one")
        shown = {(by, number): name for by, of in self.names.items() for name, number in of.items()}
        fix(self, "_shown", shown)
        of = [(row.by, value) for row in self.rows for value in row.named]
        fix(self, "_unknown", tuple(each for each in of if number_of(self.names, *each) is None))
        names = [(each.by, self.number(each)) if each.group is None else ("", each.group) for each in self.rows]
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            row = self.rows[names.index(twice[0])]
            raise RequestError(f"two rows limit {row.name}", "put them into one")
        fix(self, "_known", {})
        fix(self, "_caps", {(each.by, self.number(each)): each.caps for each in self.rows if each.group is None})
        fix(self, "_groups", {each.group: each for each in self.rows if each.group is not None})
        fix(self, "_groups_of", {})
        for each in self._groups.values():
            above = self._with_all_above(each)
            for value in each.members:
                self._groups_of.setdefault((each.by, self._number(each.by, value)), {}).update(dict.fromkeys(above))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows; what is known of them is found again."""
        return type(self), (self.rows, self.names)

    @classmethod
    def of(cls, given: "LimitsLike") -> "Limits":
        """Return the limits of what stands for them: of their rows, or of a file (see `read`)."""
        if isinstance(given, Limits):
            return given
        return cls.read(given) if isinstance(given, str | os.PathLike) else cls(given)  # type: ignore[arg-type]

    @classmethod
    def by_value(
        cls,
        by: str,
        caps: Mapping[int, Mapping[str, float]] | Mapping[str, Mapping[str, float]],
        others: Mapping[str, float] | None = None,
    ) -> "Limits":
        """Return limits by one column, in which each value has caps of its own.

        Parameters
        ----------
        by
            The column, as in `Limit`.
        caps
            What each value may have: ``{17: {"cores": 64}, 4: {"jobs": 1}}``.
        others
            What each value that is not among them may have; None for any amount. One that is among them may have this
            in what its own caps do not name.

        Raises
        ------
        RequestError
            A cap is out of its range, or unknown, or there are none.
        """
        rows = [] if others is None else [as_limit({"by": by, **others})]
        return cls((*rows, *(as_limit({"by": by, "value": value, **each}) for value, each in caps.items())))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Limits":
        """Return the limits of a file: a table of comma-separated values, or TOML (or JSON) with a list ``limit``.

        Raises
        ------
        FileFormatError
            The file cannot be read, or what it holds are no limits.
        """
        try:
            rows, _ = read_rows(path, "limit", ("value", "group", "parent", "members", "walltime_s"))
            return cls(rows)
        except RequestError as error:
            raise FileFormatError(str(path), None, str(error)) from error

    def beside(self, others: "Limits | None") -> "Limits":
        """Return these limits and others, as one table; of what both limit, also as each value, the lower counts."""
        if others is None:
            return self
        names = with_names(self.names, others.names)

        def place(row: Limit) -> tuple[str, int | str | None, str | None]:
            number = None if row.value is None else number_of(names, row.by, row.value)
            return row.by, row.value if number is None else number, row.group

        rows: dict[tuple[object, ...], dict[str, Any]] = {}
        for row in (*self.rows, *others.rows):
            rows.setdefault(place(row), {}).update(row.table())
        for row in self.rows:
            by, value, group = place(row)
            same = [each for each in others.rows if place(each) in {(by, None, group), (by, value, group)}]
            same.sort(key=lambda each: each.value is not None)  # what a value has of its own counts instead
            theirs = {name: cap for each in same for name, cap in each.caps.items()}
            rows[by, value, group].update({name: min(cap, theirs.get(name, cap)) for name, cap in row.caps.items()})
        return Limits(tuple(rows.values()), names)  # type: ignore[arg-type]  # rows are checked there

    def _with_all_above(self, group: Limit) -> list[str]:
        """Return a group and those above it; refuse parents that are unknown, of another column, or parts of itself."""
        parents = {name: each.parent for name, each in self._groups.items()}
        found = with_all_above("group", str(group.group), parents, "let its parents form a tree")
        for name in found:
            if self._groups[name].by != group.by:
                what = f"group {group.group!r} is by {group.by}, and group {name!r} above it by {self._groups[name].by}"
                raise RequestError(what, "let both be by the same column")
        return found

    # -- whose jobs are counted ----------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that say whose a job is."""
        return tuple(dict.fromkeys(each.by for each in self.rows))

    def table(self) -> list[dict[str, object]]:
        """Return the rows as mappings, as `Limits` takes them, with the names of what has one."""
        return [self._table(each) for each in self.rows]

    def _table(self, row: Limit) -> dict[str, object]:
        said = row.by_values(lambda by, value: self._shown.get((by, self._number(by, value)), value))
        return row.table() | {name: list(found) if isinstance(found, tuple) else found for name, found in said.items()}

    def for_jobs(self, names: Callable[[str], Mapping[str, int]]) -> "Limits":
        """Return these limits with the numbers that names have among jobs: ``limits.for_jobs(log.names)``.

        Limits that a simulation is given are made so by itself; parts of the log need no names then.

        Raises
        ------
        RequestError
            A name has another number already.
        """
        known = with_names(self.names, {by: names(by) for by in self.columns})
        if known == self.names and not any(isinstance(each, Digits) for row in self.rows for each in row.named):
            return self
        rows = (replace(row, **row.by_values(lambda by, value: plain(known, by, value))) for row in self.rows)
        return Limits(tuple(rows), known)

    def number(self, row: Limit) -> int | str | None:
        """Return the number of the value of a row, or a name that has none; None for each value."""
        return None if row.value is None else self._number(row.by, row.value)

    def _number(self, by: str, value: int | str) -> int | str:
        found = number_of(self.names, by, value)
        return str(value) if found is None else found

    def parties(self, column: str, value: int) -> tuple[Party, ...]:
        """Return the parties that a job is of, by its value of a column."""
        found = self._known.get((column, value))
        if found is None:
            found = self._known[column, value] = self._found(column, value) if value >= 0 else ()
        return found

    def _found(self, column: str, value: int | str) -> tuple[Party, ...]:
        found = []
        if caps := self._caps.get((column, None), {}) | self._caps.get((column, value), {}):
            found.append(party_of((column, str(value)), repr(self._shown.get((column, value), value)), caps))
        found += [
            party_of(("", name), repr(name), caps)
            for name in self._groups_of.get((column, value), ())
            if (caps := self._groups[name].caps)
        ]
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
                len(self._found(column, value))
                for value in (
                    *(self._number(column, value) for row in self.rows if row.by == column for value in row.named),
                    MOST,  # any other
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
        given = self._distinct(columns)
        self.require_names()
        present = _present(given)
        for row in self.rows:
            for value in row.named:
                number = self._number(row.by, value)
                if number not in present[row.by]:
                    shown = self._shown.get((row.by, number), value)
                    raise RequestError(f"limits name {row.by} {shown!r}, and no job of {what} is of it", "leave it out")
        refused = self.refused(columns, given)
        if refused.any():
            first = int(np.flatnonzero(refused)[0])
            job = {name: columns[name][first] for name in ("cores", "estimate_s")}
            of = {column: int(numbers_of(columns, column)[first]) for column in self.columns}
            why = self.refusal(of, int(job["cores"]), float(job["estimate_s"]))
            raise ImpossibleJobError(int(columns["job_id"][first]), why, int(refused.sum()) - 1)

    def require_names(self) -> None:
        """Refuse names whose numbers are not known."""
        for column, name in self._unknown:
            require_named("limits", self.names, column, name)

    def _distinct(self, columns: Columns) -> _Distinct:
        return {column: distinct(numbers_of(columns, column)) for column in self.columns}

    def within(self, columns: Columns) -> "Limits | None":
        """Return the limits of some of the jobs that they are of, such as a week of a log; None if none is left.

        Values that none of these jobs has are left out, which `require` refuses in a table for all of them.

        Parameters
        ----------
        columns
            The jobs'.
        """
        present = _present(self._distinct(columns))
        rows = [
            replace(row, members=tuple(each for each in row.members if self._number(row.by, each) in present[row.by]))
            for row in self.rows
            if row.value is None or self.number(row) in present[row.by]
        ]
        return Limits(tuple(rows), self.names) if rows else None

    def refused(self, columns: Columns, given: _Distinct | None = None) -> NDArray[np.bool_]:
        """Return bool[n], which jobs could never start; jobs whose cores are unknown (-1) can."""
        cores, estimate_s = columns["cores"], columns["estimate_s"]
        needed = core_seconds(cores, estimate_s)
        found = np.zeros(len(cores), np.bool_)
        for column, (values, at) in (given or self._distinct(columns)).items():
            caps = np.array([self._most(column, value) for value in values.tolist()]).reshape(-1, 3)
            if (caps < NO_LIMIT).any():
                found |= (cores > caps[at, 0]) | (needed > caps[at, 1]) | (estimate_s > caps[at, 2])
        return found

    def _most(self, column: str, value: int) -> tuple[float, float, float]:
        """Return how many cores, core-seconds and seconds one job may have, by its value of a column."""
        parties = self.parties(column, value)
        return (
            min((each.cores for each in parties), default=math.inf),
            min((each.core_s for each in parties), default=math.inf),
            min((each.walltime_s for each in parties), default=math.inf),
        )

    def refusal(self, of: Mapping[str, int], cores: int, estimate_s: float) -> str:
        """Return why a job could never start, if it could not; `of` are its values by column."""
        parties = (party for column, value in of.items() for party in self.parties(column, value))
        return next((why for party in parties if (why := party.refusal(cores, estimate_s))), "")


LimitsLike = Limits | str | os.PathLike[str] | Iterable[Limit | Mapping[str, Any]]
"""What stands for limits: see `Limits.of`."""


def numbers_of(columns: Columns, column: str) -> Ints:
    """Return int64[n], the values of a column; refuse one that is missing, or not of numbers."""
    name = "user_id" if column == "user" else column
    found = columns.get(name)
    if found is None or found.dtype.kind not in "iufb":
        numbers = [each for each, values in columns.items() if values.dtype.kind in "iufb"]
        raise RequestError(f"limits are by {column}, of which the workload has no numbers", f"it has {listed(numbers)}")
    return as_integers(found)


def _present(given: _Distinct) -> dict[str, set[int]]:
    """Return the values that jobs have, by column."""
    return {column: set(values.tolist()) for column, (values, _) in given.items()}
