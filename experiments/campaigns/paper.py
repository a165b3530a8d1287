"""Papers: which paper a study reproduces, and where each of its figures and tables is found in the study's report."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeVar

from simmodels.errors import FileFormatError, RequestError, must_be, require_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What a study reproduces.

    Parameters
    ----------
    authors, year, title, venue
        As they are cited; without a venue, an empty text.
    url
        Where the paper is found: ``https://doi.org/...`` where it has a DOI.

    Examples
    --------
    >>> from experiments.campaigns import Paper
    >>> paper = Paper(
    ...     authors="D. A. Lifka",
    ...     year=1995,
    ...     title="The ANL/IBM SP scheduling system",
    ...     venue="JSSPP",
    ...     url="https://doi.org/10.1007/3-540-60153-8_35",
    ... )
    >>> paper.doi
    '10.1007/3-540-60153-8_35'
    """

    authors: str
    year: int
    title: str
    venue: str
    url: str

    @property
    def doi(self) -> str:
        """The DOI; empty if there is none."""
        return self.url.removeprefix("https://doi.org/") if self.url.startswith("https://doi.org/") else ""

    def __str__(self) -> str:
        """Return the paper as it is cited, without its address."""
        return ". ".join(part for part in (f"{self.authors} ({self.year})", self.title, self.venue) if part) + "."


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A figure or a table of a paper, and the file of the report that shows it.

    Parameters
    ----------
    number
        The paper's own number: ``fig. 4``, ``table 2``.
    shows
        What it shows, in our words.
    file
        The file within the campaign's folder; ``*`` stands for any text, as where there is one file for each log.
    needs
        What the command needs beside ``--scale paper``, such as ``--workload CTC-SP2.swf.gz``; empty for nothing.
    why
        What was compared in the runs that the documentation is of, and what differs. A report of a run shows instead
        how the paper's sentences on it are judged there.
    said_in
        The section that speaks of it, where sentences are cited by that and not by its number.

    Examples
    --------
    >>> from experiments.campaigns import Element
    >>> figure = Element(number="fig. 1", shows="mean waits", file="figures/waits-*.svg", why="same ranks")
    >>> figure.among(["figures/waits-kth.svg", "figures/queue.svg"])
    ['figures/waits-kth.svg']
    """

    number: str
    shows: str
    file: str
    why: str = ""
    needs: str = ""
    said_in: str = ""

    def among(self, files: Sequence[str]) -> list[str]:
        """Return those of the files that show it."""
        return [name for name in files if fnmatchcase(name, self.file)]


_NONE: Final[Mapping[str, str]] = {}
Made = TypeVar("Made")


def read_table(path: Path, made: Callable[[dict[str, str]], Made]) -> list[Made]:
    """Return what is made of each row of a table in CSV.

    Raises
    ------
    FileFormatError
        It is no CSV in UTF-8, has no rows or a column twice, or a row has more or fewer cells than there are columns or
        is refused by a `RequestError`; with the number of its last line.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, strict=True)
        try:
            found = [made(row) for row in _by_column(rows)]
        except (csv.Error, UnicodeDecodeError) as error:
            text = f"it is no table in CSV and UTF-8 ({error}); close quotation marks, and save it as UTF-8"
            raise FileFormatError(str(path), rows.line_num, text) from error
        except RequestError as error:
            raise FileFormatError(str(path), rows.line_num, str(error)) from error
    return found


def _by_column(rows: Iterator[list[str]]) -> Iterator[dict[str, str]]:
    """Hand out the cells of each row by the names in the first one, and refuse a table that is cut or torn."""
    columns, row = next(rows, []), None
    if len(set(columns)) < len(columns):
        raise RequestError(must_be("columns", "different", columns))
    for row in filter(None, rows):
        if len(row) != len(columns):
            raise RequestError(must_be("the number of cells", f"{len(columns)}, that of columns", len(row)))
        yield dict(zip(columns, row, strict=True))
    if row is None:
        raise RequestError("the table has no rows", "restore them")


def read_elements(path: Path, needs: Mapping[str, str] = _NONE) -> tuple[Element, ...]:
    """Return the figures and tables of a table in CSV, one row each; its columns are fields of `Element`.

    Parameters
    ----------
    path
        The file.
    needs
        What ``@NAME`` in the column ``needs`` stands for, by the name.

    Raises
    ------
    FileFormatError
        A column or such a name is unknown, or a number, what it shows or a file is missing; or see `read_table`.
    """

    def made(row: dict[str, str]) -> Element:
        for column in row:
            require_known("column", column, [each.name for each in fields(Element)])
        for column in ("number", "shows", "file"):
            if not row.get(column):
                raise RequestError(must_be(column, "a text", row.get(column)))
        if row.get("needs", "").startswith("@"):
            require_known("name", row["needs"][1:], needs)
            row["needs"] = needs[row["needs"][1:]]
        return Element(**row)

    return tuple(read_table(path, made))


def read_numbers(path: Path, names: int) -> dict[tuple[str, ...], float]:
    """Return the numbers of a table in CSV, row by row, by the cells that name a row and the column's name.

    Parameters
    ----------
    path
        The file; an empty cell is no number.
    names
        How many cells name a row: the first ones.

    Raises
    ------
    FileFormatError
        See `read_table`.
    """
    found: dict[tuple[str, ...], float] = {}
    for row in read_table(path, lambda row: list(row.items())):
        named = [cell for _, cell in row[:names]]
        found |= {(*named, column): json.loads(cell) for column, cell in row[names:] if cell}
    return found
