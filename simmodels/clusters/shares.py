"""Shares: what part of a cluster users and accounts are to have, as a tree, and how usage is forgotten."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, get_args

from simmodels.clusters.rows import (
    Names,
    as_value,
    number_of,
    read_rows,
    require_named,
    rows_of,
    said_in,
    with_all_above,
    with_names,
)
from simmodels.errors import FileFormatError, RequestError, must_be, require_known
from simmodels.ground.durations import as_seconds
from simmodels.ground.numbers import as_integer, as_number
from simmodels.units import DAY

Algorithm = Literal["fair_tree", "classic"]

ROOT: Final = "root"
_NUMBERS: Final = ("half_life_s", "period_s", "algorithm", "damping", "others")
_EXAMPLE: Final = "[{'account': 'physics', 'shares': 3}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A row of shares: an account, or a user in one.

    Parameters
    ----------
    account
        The account; that of a user.
    user
        The user, by number or by the name that the log has; None for a row that is an account.
    shares
        How many shares it has, of those that its siblings have in all; or ``"parent"``: a user is judged as who has
        used nothing of its account, and what is in such an account as what is in the account above it.
    parent
        The account of which an account is a part.
    raw_usage
        What a user has used at the begin of the simulation, in core-seconds.

    Raises
    ------
    RequestError
        A number is out of its range, or parts do not go together.

    Examples
    --------
    >>> import simmodels as sm
    >>> sm.Share(account="physics", user=17)
    Share(account='physics', user=17, shares=1, parent='root', raw_usage=0.0)
    """

    account: str
    user: int | str | None = None
    shares: int | Literal["parent"] = 1
    parent: str = ROOT
    raw_usage: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        fix = object.__setattr__
        for name in ("account", "parent"):
            given = getattr(self, name)
            if not (isinstance(given, str) and given):
                raise RequestError(must_be(f"{name} of a share", "the name of an account", given))
        if self.user is not None:
            fix(self, "user", as_value(f"user of a share of account {self.account!r}", self.user))
        given = self.shares
        if not (isinstance(given, str) and given == "parent"):
            if isinstance(given, str) and given.isdecimal():
                given = int(given)
            fix(self, "shares", as_integer(f"shares of {self.name}", given, 0, also="'parent'"))
        fix(self, "raw_usage", as_number(f"raw_usage of {self.name}", self.raw_usage, least=0))
        if self.user is None and self.raw_usage:
            raise RequestError(f"raw_usage of {self.name}", "give it for its users: an account has what they used")
        if self.user is not None and self.parent != ROOT:
            raise RequestError(f"parent of {self.name}", "give it in the row of the account")

    @property
    def name(self) -> str:
        """Return what errors call it."""
        return f"account {self.account!r}" if self.user is None else f"user {self.user!r}"


@dataclass(frozen=True, slots=True)
class Shares:
    """What part of a cluster users and accounts are to have: a tree, and how what they used is forgotten.

    From it, and from what each has used, follows the fair-share factor of each user, from 0 to 1, which orders may name
    (``fairshare``); the order ``"FairShare"`` lets the highest go first. Usage is counted in core-seconds, and every
    `period_s` it is multiplied by ``0.5 ** (period_s / half_life_s)`` and what has run since is added; factors change
    only then.

    Parameters
    ----------
    rows
        The rows: `Share` records, mappings of their fields, or a table with these as columns. Without any, all users
        are alike. A user whom no row names has `others` shares, once it has submitted a job: in the account of the job,
        if the log names it and there is a row of that name, else in the root.
    half_life_s
        After this time, in seconds, half of the usage is forgotten.
    period_s
        How often factors are computed, in seconds: at multiples of it.
    algorithm
        ``"fair_tree"``: users are ranked, one account after the other, by their shares divided by their usage at each
        level of the tree; the factor is the rank from below divided by how many users there are. ``"classic"``: the
        factor is 2^(-U/S/d) of a user's effective usage U, its shares S, and `damping`.
    damping
        d there: the higher it is, the less usage counts.
    others
        See `rows`.
    names
        The numbers of names, by column, as far as they are known: see `for_jobs`.

    Raises
    ------
    RequestError
        A row is no share, two are of the same, an account is unknown, or accounts are parts of each other; or a number
        is out of its range.

    References
    ----------
    Cox, Morrison 2014, Fair Tree: fairshare algorithm for Slurm; Slurm 22.05, priority/multifactor.

    Examples
    --------
    >>> import simmodels as sm
    >>> log = {"submit_s": [0, 0, 400], "runtime_s": [1000, 10, 10], "cores": [4, 4, 4], "user_id": [1, 1, 2]}
    >>> sm.simulate(log, cores=4, order="FairShare").start_s.tolist()
    [0.0, 1010.0, 1000.0]
    """

    rows: tuple[Share, ...] = ()
    half_life_s: float = field(default=7 * DAY, kw_only=True)
    period_s: float = field(default=300.0, kw_only=True)
    algorithm: Algorithm = field(default="fair_tree", kw_only=True)
    damping: float = field(default=1.0, kw_only=True)
    others: int = field(default=1, kw_only=True)
    names: Names = field(default_factory=dict, kw_only=True, repr=False, compare=False)
    _unknown: tuple[tuple[str, int | str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the numbers, and refuse rows that are no tree."""
        fix = object.__setattr__
        given = rows_of("shares", self.rows, Share, _EXAMPLE)
        fix(self, "rows", tuple(row if isinstance(row, Share) else _as_share(row) for row in given))
        fix(self, "half_life_s", as_seconds("half_life_s", self.half_life_s, above=0))
        fix(self, "period_s", as_seconds("period_s", self.period_s, above=0))
        fix(self, "damping", as_number("damping", self.damping, above=0))
        fix(self, "others", as_integer("others", self.others, 0))
        require_known("algorithm", self.algorithm, get_args(Algorithm))
        names = [f"account {row.account}" if row.user is None else self.number(row) or row.user for row in self.rows]
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            row = self.rows[names.index(twice[0])]
            raise RequestError(f"two rows are of {row.name}", "put them into one; a user is in one account")
        whole = {each for row in self.rows for each in (row.parent, "" if row.user is None else row.account)}
        of = [
            ("account", row.account) if row.user is None else ("user", row.user)
            for row in self.rows
            if row.user is not None or (self.names.get("account") and row.account not in whole)
        ]
        fix(self, "_unknown", tuple(each for each in of if number_of(self.names, *each) is None))
        self._require_tree()
        if self.algorithm == "classic" and any(row.shares == "parent" for row in self.rows):
            what = "shares 'parent' with algorithm 'classic'"
            raise RequestError(what, "give a number of shares, or take algorithm='fair_tree'")

    def _require_tree(self) -> None:
        """Refuse accounts that are unknown, or parts of each other."""
        if any(row.user is None and row.account == ROOT for row in self.rows):
            raise RequestError(f"account {ROOT!r} has a row", "leave it out: it has all shares")
        for row in self.rows:
            require_known(f"account of {row.name}", row.account, self._parents)
        for account in self._parents:
            self._with_all_above(account)

    @property
    def _parents(self) -> dict[str, str | None]:
        """Return the parent of each account."""
        return {ROOT: None, **{row.account: row.parent for row in self.rows if row.user is None}}

    def _with_all_above(self, account: str) -> list[str]:
        """Return an account, and all of which it is a part; refuse one that is unknown, or a part of itself."""
        return with_all_above("account", account, self._parents, "let the accounts form a tree")

    def number(self, row: Share) -> int | None:
        """Return the number of the user or the account of a row; None for a name that has none."""
        column, value = ("account", as_value("account", row.account)) if row.user is None else ("user", row.user)
        return number_of(self.names, column, value)

    def for_jobs(self, names: Callable[[str], Mapping[str, int]]) -> "Shares":
        """Return these shares with the numbers that names have among jobs; see `Limits.for_jobs`.

        Raises
        ------
        RequestError
            A user, or an account without users and parts, is none of the jobs; or a name has another number already.
        """
        found = replace(self, names=with_names(self.names, {by: names(by) for by in ("user", "account")}))
        found.require_names()
        return found

    def require_names(self) -> None:
        """Refuse names whose numbers are not known; accounts have some only in logs that name accounts."""
        for column, name in self._unknown:
            require_named("shares", self.names, column, name)

    def user(self, row: Share) -> int | str | None:
        """Return the name of the user of a row, or the number if it has none."""
        names = {number: name for name, number in self.names.get("user", {}).items()}
        return None if row.user is None else names.get(self.number(row), row.user)  # type: ignore[arg-type]  # None is no key

    @property
    def in_order(self) -> list[Share]:
        """Return the rows, each account behind that of which it is a part, and users behind all accounts."""
        accounts = (row for row in self.rows if row.user is None)
        users = (row for row in self.rows if row.user is not None)
        return [*sorted(accounts, key=lambda row: len(self._with_all_above(row.account))), *users]

    def table(self) -> dict[str, Any]:
        """Return what was given, by name, as a document keeps it."""
        found: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self) if each.name in _NUMBERS}
        return {**found, "share": [self._said(row) for row in self.rows]}

    def _said(self, row: Share) -> dict[str, Any]:
        """Return what a row says, with the name of its user if it has one."""
        return {each.name: getattr(row, each.name) for each in fields(row)} | {"user": self.user(row)}

    @classmethod
    def of(cls, given: "SharesLike") -> "Shares":
        """Return the shares of what stands for them: of their rows, or of a file (see `read`)."""
        if isinstance(given, Shares):
            return given
        return cls.read(given) if isinstance(given, str | os.PathLike) else cls(given)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Shares":
        """Return the shares of a file: a table of comma-separated values, or TOML (or JSON) with a list ``share``.

        TOML and JSON may also have ``half_life_s`` and the other numbers.

        Raises
        ------
        FileFormatError
            The file cannot be read, or what it holds are no shares.
        """
        try:
            rows, others = read_rows(path, "share", ("account", "parent", "user", "shares"), _NUMBERS)
            return cls(rows, **others)
        except RequestError as error:
            raise FileFormatError(str(path), None, str(error)) from error


SharesLike = Shares | str | os.PathLike[str] | Iterable[Share | Mapping[str, Any]]
"""What stands for shares: see `Shares.of`."""


def _as_share(row: object) -> Share:
    """Return a row as a share."""
    return Share(**{"account": None, **said_in("shares", row, Share, _EXAMPLE[1:-1])})
