"""Rows: tables of limits and of shares, as records, mappings, a table or a file."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from simmodels.errors import FileFormatError, RequestError, must_be, near_names, require_known
from simmodels.ground.arguments import as_tuple, listed
from simmodels.ground.files import from_csv
from simmodels.ground.later import pd
from simmodels.ground.numbers import as_integer
from simmodels.ground.toml_json import SUFFIXES, read_document

_FEW: Final = 20  # names that an error lists
Names = Mapping[str, Mapping[str, int]]
"""The numbers of names, by column: those that a log has of its users, accounts and so on."""


class Digits(int):
    """A number that stands in a text, as in a cell of a table: it is the name that looks like it, if there is one."""


def as_value(what: str, given: object) -> int | str:
    """Return the number, or the name, of a user, an account and so on; refuse what is neither.

    Parameters
    ----------
    what
        What errors call it.
    given
        A number, or a text.
    """
    if isinstance(given, Digits):
        return given
    if not (isinstance(given, str) and given):
        return as_integer(what, given, 0)
    digits = given.removesuffix(".0")  # a column of a table with an empty cell is one of floats
    return Digits(digits) if digits.isdecimal() and str(int(digits)) == digits else given


def number_of(names: Names, column: str, value: int | str) -> int | None:
    """Return the number that a value of a column stands for; None for a name that has none.

    Parameters
    ----------
    names
        The numbers of names.
    column
        The column.
    value
        What `as_value` returned.
    """
    known = names.get(column, {})
    if (text := str(value)) in known and isinstance(value, str | Digits):
        return known[text]
    if isinstance(value, str) or (isinstance(value, Digits) and any(map(str.isdecimal, known))):
        return None
    return value


def plain(names: Names, column: str, value: int | str) -> int | str:
    """Return a value as `number_of` takes it: a plain number, unless it is a name."""
    return int(value) if isinstance(value, Digits) and number_of(names, column, value) == value else value


def require_named(kind: str, names: Names, column: str, value: int | str) -> int:
    """Return the number that a value of a column stands for; refuse a name that has none.

    Parameters
    ----------
    kind
        What names it: ``"limits"``.
    names, column, value
        As for `number_of`.
    """
    number = number_of(names, column, value)
    if number is None:
        what, known = f"{kind} name {column} {str(value)!r}, and no job is of it", sorted(names.get(column, ()))
        if not known:
            raise RequestError(what, f"the jobs have no names by {column}: give numbers")
        near = known if len(known) <= _FEW else near_names(str(value), known) or known[:_FEW]
        few = "" if len(near) == len(known) else f", of {len(known):,}"
        raise RequestError(what, f"there are {listed([*map(repr, near)])}{few}")
    return number


def with_names(known: Names, found: Names) -> Names:
    """Return the numbers of more names, of columns that have any; refuse a name that has another number already."""
    for column, of in found.items():
        for name, number in of.items():
            if known.get(column, {}).get(name, number) != number:
                what = f"{column} {name!r} has the number {known[column][name]}, and in another workload {number}"
                raise RequestError(what, "number both alike")
    both = {column: {**known.get(column, {}), **found.get(column, {})} for column in {**known, **found}}
    return {column: of for column, of in both.items() if of}


def read_rows(
    path: str | os.PathLike[str], name: str, texts: tuple[str, ...], others: tuple[str, ...] = ()
) -> tuple[Any, dict[str, Any]]:
    """Return the rows of a file, and what else it says.

    Parameters
    ----------
    path
        A table of comma-separated values; or TOML (or JSON) with a list of rows, and other entries.
    name
        What the list is called there.
    texts
        The columns of the table that hold texts.
    others
        The other entries that TOML and JSON may have.

    Raises
    ------
    FileFormatError
        The file cannot be read.
    UnknownNameError
        It has an entry that nobody reads.
    """
    where = Path(path)
    if where.suffix.lower() in SUFFIXES:
        document = read_document(where)
        for entry in document:
            require_known(f"entry of {name}s", entry, (name, *others))
        rows = document.pop(name, None)
        return () if rows is None else rows, document
    try:
        table = pd.read_csv(where, dtype=dict.fromkeys(texts, str))
        written = pd.read_csv(where, dtype=str, keep_default_na=False)  # in which NA and null are names
        known = {
            str(each): written[each].map(from_csv) if each in texts else _as_numbers(table[each]) for each in table
        }
        return table.assign(**known), {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileFormatError(str(path), None, f"cannot be read: {reason.lower()}") from error


def _as_numbers(column: Any) -> Any:  # noqa: ANN401  columns of pandas
    """Return a column with its numbers as such: one text makes texts of all of them."""
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers.astype(object).where(numbers.notna(), column)


def rows_of(name: str, given: object, row: type[object], example: str) -> tuple[object, ...]:
    """Return the rows of a table, or of a list; refuse one row alone.

    Parameters
    ----------
    name
        What errors call the table.
    given
        What was given.
    row
        The class of a row.
    example
        A list of a row, for errors.
    """
    if isinstance(given, row | Mapping):
        raise RequestError(must_be(name, f"a list of rows, such as {example}, a table or a file", given))
    if isinstance(given, pd.DataFrame):
        given = [{str(column): value for column, value in each.items()} for each in given.to_dict("records")]
    return as_tuple(name, given, "a list of rows, a table or a file")  # type: ignore[arg-type]  # it is checked


def said_in(name: str, given: object, row: type[Any], example: str) -> dict[str, Any]:
    """Return what a row says that is a mapping, by name, without what is empty; parameters as for `rows_of`."""
    if not isinstance(given, Mapping):
        what = f"a mapping such as {example}, or a {row.__name__}"
        raise RequestError(must_be(f"a row of {name}", what, given))
    known = [each.name for each in fields(row)]
    for column in given:
        require_known(f"column of {name}", str(column), known)
    return {str(column): value for column, value in given.items() if not _is_empty(value)}


def with_all_above(kind: str, name: str, parents: Mapping[str, str | None], form: str) -> list[str]:
    """Return a name, and those of all of which it is a part; refuse one that is unknown, or a part of itself.

    Parameters
    ----------
    kind
        What errors call it: ``"group"``.
    name
        The name, which has a parent, or None.
    parents
        The parent of each.
    form
        What to do where one is a part of itself.
    """
    found = [name]
    while (parent := parents[found[-1]]) is not None:
        require_known(f"parent of {kind} {found[-1]!r}", parent, parents)
        if parent in found:
            raise RequestError(f"{kind} {parent!r} is a part of itself", form)
        found.append(parent)
    return found


def _is_empty(value: object) -> bool:
    """Return whether a cell of a table is empty."""
    return value is None or value is pd.NaT or (isinstance(value, str) and not value) or bool(value != value)  # noqa: PLR0124
