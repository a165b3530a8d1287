"""Against: which claims and which cells of a campaign differ from those of a kept run of the same study."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.records import read_manifest
from experiments.campaigns.store import MANIFEST
from experiments.inputs import count_of, reason
from simmodels.errors import FileFormatError, RequestError
from simmodels.ground.cards import number
from simmodels.ground.files import open_regular

CLAIMS: Final = "claims"
RESULTS: Final = "results"
"""The names of the tables of the claims and of all rows in a campaign's folder, without endings."""

Row: TypeAlias = Mapping[str, Any]

_SAME: Final = ("claim", "number", "source", "ours")
"""What a claim is known by in both runs."""
_NUMBERS: Final = ("estimate", "low", "high")
_ABSENT: Final = "not there"


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a run of a study.

    Parameters
    ----------
    place
        The folder of the campaign, or the file of its claims.
    claims
        The rows of its table of claims; estimates and the ends of intervals, if there are any, are floats.
    cells
        The rows of its cells; None if only claims are kept.
    """

    place: Path
    claims: Sequence[Row]
    cells: pd.DataFrame | None


@dataclass(frozen=True, slots=True)
class Change:
    """A claim or a cell that differs.

    Parameters
    ----------
    kind
        ``claim`` or ``cell``.
    name
        The text of the claim, or the factors and the replication of the cell.
    then, now
        What it has in the kept run and in the present one: a claim its verdict, estimate and interval, a cell the first
        value that differs. ``not there`` if only the other run has it.
    """

    kind: str
    name: str
    then: str
    now: str


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs between a campaign and a kept run.

    Parameters
    ----------
    place
        Where the kept run is.
    common
        How many of each kind both runs have: claims, and cells where these are kept.
    changes
        What differs.
    """

    place: Path
    common: Mapping[str, int]
    changes: Sequence[Change]

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return bool(self.changes)

    def counts(self) -> list[str]:
        """Return a sentence on the claims and one on the cells."""
        sentences = []
        for kind, common in self.common.items():
            changes = [each for each in self.changes if each.kind == kind]
            new, gone = (sum(getattr(each, when) == _ABSENT for each in changes) for when in ("then", "now"))
            both = f"{len(changes) - new - gone:,} of {count_of(common, kind)} in both runs differ"
            sentences.append(f"{both}, {new:,} are in this run only, {gone:,} in {self.place} only")
        return sentences if "cell" in self.common else [*sentences, f"{self.place} keeps no cells"]

    def answer(self) -> dict[str, Any]:
        """Return it for programs."""
        return {**asdict(self), "place": str(self.place)}


# -- what is kept -----------------------------------------------------------------------------------


def kept_runs(path: Path, studies: Sequence[str]) -> dict[str, Kept]:
    """Return what is kept of runs of studies, by study, of those of which something is.

    Parameters
    ----------
    path
        The folder of a campaign with its report; or one that has such folders, or tables of claims, under the names of
        their studies: ``STUDY/``, ``STUDY.csv``.
    studies
        The names of the studies.

    Raises
    ------
    RequestError
        There is nothing of any of them.
    FileFormatError
        A file is damaged, or no table of claims or of cells.
    """
    found = {study: kept for study in studies if (kept := _kept(path, study)) is not None}
    if not found:
        other = f": it is a run of {_study_of(path)}" if _study_of(path) not in {None, *studies} else ""
        raise RequestError(f"{path} has no kept run of {' or '.join(studies)}{other}", "give a folder with its report")
    return found


def _kept(path: Path, study: str) -> Kept | None:
    """Return what is kept of a run of a study; None if nothing is."""
    for folder in (path / study, path):
        claims, cells = folder / f"{CLAIMS}.csv", folder / f"{RESULTS}.parquet"
        if _study_of(folder) == study and cells.is_file():
            return Kept(folder, _read_claims(claims) if claims.is_file() else (), _read_cells(cells))
    table = path / f"{study}.csv"
    return Kept(table, _read_claims(table), None) if table.is_file() and _has_claims(table) else None


def _study_of(folder: Path) -> str | None:
    """Return the name of the study of which a folder is a campaign; None if it is none."""
    manifest = folder / MANIFEST
    return str(read_manifest(manifest).get("name")) if manifest.is_file() else None


def _has_claims(path: Path) -> bool:
    """Return whether a file begins with the names that a table of claims has."""
    with open_regular(path) as file:
        return set(_SAME) <= set(file.readline().decode("utf-8", "replace").strip().split(","))


def _read_claims(path: Path) -> list[Row]:
    """Return the rows of a table of claims as a report writes it."""
    try:
        with open_regular(path) as file:
            table = pd.read_csv(file, dtype=str, keep_default_na=False)
        for name in _NUMBERS:
            table[name] = table[name].map(lambda text: float(text) if text else None).astype(object)
        table = table[[*_SAME, "verdict", *_NUMBERS]]
    except KeyError as error:
        raise FileFormatError(str(path), None, f"it is no table of claims: it must have a column {error}") from None
    except (ValueError, OSError) as error:  # ValueError: it is no text, no CSV, or has no number where one must be
        raise FileFormatError(str(path), None, f"it cannot be read as a table of claims ({reason(error)})") from error
    return _rows(table)


def _read_cells(path: Path) -> pd.DataFrame:
    """Return the rows of the cells of a campaign."""
    try:
        with open_regular(path) as file:
            table: pd.DataFrame = pq.read_table(file).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(str(path), None, f"it cannot be read ({reason(error)})") from error
    return table


def _rows(table: pd.DataFrame) -> list[Row]:
    """Return the rows of a table, without what is missing in them."""
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items() if value is not None} for row in rows]


# -- what differs -----------------------------------------------------------------------------------


def differences(now: Kept, then: Kept, factors: Sequence[str]) -> Differences:
    """Return what differs between a run and a kept one of the same study, of which it varies these factors."""
    claims = _grouped(now.claims, _SAME), _grouped(then.claims, _SAME)
    common = {"claim": len(claims[0].keys() & claims[1].keys())}
    changes = [*_changed("claim", *claims, lambda key: str(key[0]), _verdicts)]
    if now.cells is not None and then.cells is not None:
        by = (*factors, REPLICATION)
        cells = _grouped(_rows(now.cells), by), _grouped(_rows(then.cells), by)
        common["cell"] = len(cells[0].keys() & cells[1].keys())
        changes += _changed("cell", *cells, lambda key: _cell(by, key), _values)
    return Differences(then.place, common, tuple(changes))


def _grouped(rows: Sequence[Row], by: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by what they are known by, in their order: the only one of a claim, all of a cell."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) for name in by), []).append(row)
    return found


def _changed(
    kind: str,
    now: Mapping[tuple[Any, ...], Sequence[Row]],
    then: Mapping[tuple[Any, ...], Sequence[Row]],
    named: Callable[[tuple[Any, ...]], str],
    compared: Callable[[Sequence[Row], Sequence[Row]], tuple[str, str]],
) -> Iterator[Change]:
    """Hand out what differs, in the order of the present run; at the end what is gone."""
    for key, rows in now.items():
        if key not in then:
            yield Change(kind, named(key), _ABSENT, "there")
        elif (old := then[key]) != rows:
            yield Change(kind, named(key), *compared(old, rows))
    for key in then:
        if key not in now:
            yield Change(kind, named(key), "there", _ABSENT)


def _verdicts(then: Sequence[Row], now: Sequence[Row]) -> tuple[str, str]:
    """Return two verdicts with estimates and intervals; with all digits if they look the same with a few."""
    few = _verdict(then, number), _verdict(now, number)
    return few if few[0] != few[1] else (_verdict(then, repr), _verdict(now, repr))


def _verdict(rows: Sequence[Row], shown: Callable[[float], str]) -> str:
    """Return the verdict of a claim with its estimate and interval; of several claims of one text, all."""
    texts = []
    for row in rows:
        estimate, low, high = (shown(row[name]) if name in row else "none" for name in _NUMBERS)
        texts.append(f"{row['verdict']}: {estimate} [{low}, {high}]")
    return "; ".join(texts)


def _cell(by: Sequence[str], key: Sequence[object]) -> str:
    """Return a cell by its factors and its replication."""
    return ", ".join(f"{name} {value}" for name, value in zip(by, key, strict=True) if value is not None)


def _values(then: Sequence[Row], now: Sequence[Row]) -> tuple[str, str]:
    """Return the first value of a cell that differs, in both runs, and how many more do."""
    if len(then) != len(now):
        return count_of(len(then), "row"), count_of(len(now), "row")
    found = [
        (name, old.get(name), new.get(name))
        for old, new in zip(then, now, strict=True)
        for name in dict.fromkeys([*new, *old])
        if old.get(name) != new.get(name)
    ]
    name, old_value, new_value = found[0]
    more = f", and {count_of(len(found) - 1, 'more value')}" if len(found) > 1 else ""
    return f"{name} {old_value!r}", f"{name} {new_value!r}{more}"
