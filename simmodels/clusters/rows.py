"""Rows: tables of limits and of shares, as records, mappings, a table or a file."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simmodels.errors import FileFormatError, RequestError, must_be, require_known
from simmodels.ground.arguments import as_tuple
from simmodels.ground.later import later
from simmodels.ground.toml_json import SUFFIXES, read_document

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")


def read_rows(path: str | os.PathLike[str], name: str, texts: tuple[str, ...]) -> tuple[object, dict[str, Any]]:
    """Return the rows of a file, and what else it says.

    Parameters
    ----------
    path
        A table of comma-separated values; or TOML (or JSON) with a list of rows, and other entries.
    name
        What the list is called there.
    texts
        The columns of the table that hold texts.

    Raises
    ------
    FileFormatError
        The file cannot be read.
    """
    where = Path(path)
    if where.suffix.lower() in SUFFIXES:
        document = read_document(where)
        return document.pop(name, None), document
    try:
        return pd.read_csv(where, dtype=dict.fromkeys(texts, str)), {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileFormatError(str(path), None, f"cannot be read: {reason.lower()}") from error


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
