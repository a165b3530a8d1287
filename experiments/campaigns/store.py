"""Store: the results of a campaign in a folder, which a crash cannot harm and which several runners may share.

The folder has

    manifest.json           which campaign it holds
    runs/NAME.json          one for each run: command, machine, versions, durations
    cells/SHA256.parquet    what cells returned, a batch a file (see `experiments.campaigns.batches`)
    failures/CELL.json      the cells that failed, with tracebacks

A file is written under a temporary name, forced to disk, and renamed: it is there whole or not at all. Two runners
that do the same cell write the same rows; reading takes one of them. So nothing needs a lock.

A file that changed since it was written is noticed: a file of cells is named by the digest of its bytes, a JSON file
holds that of its content. It is left out, and listed in `Store.damaged`; a run sets it aside and repeats its cells.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments.campaigns.backends import KEPT
from experiments.campaigns.batches import CELL, OURS, ROW, Failure, parquet, table_of
from experiments.campaigns.cell import REPLICATION, Cell
from experiments.campaigns.fingerprint import digest
from experiments.inputs import reason
from experiments.outputs import made_folder, made_part, plain
from simmodels.errors import FileFormatError, RequestError, StoppedError, brief
from simmodels.ground.files import remove_leftovers, replacing
from simmodels.ground.numbers import MOST

MANIFEST: Final = "manifest.json"
WRITTEN: Final = (
    MANIFEST,
    *("cells", "failures", "runs", "tables", "figures", "files"),
    *("results.parquet", "results.csv", "claims.csv", "report.html"),
)
"""What a campaign has in its folder, with its report."""
LOOSE: Final = 256
"""Up to this many small files are left as they are; more are put together."""
_LARGEST: Final = 4_000_000
"""Files are put together up to this many values, which fit in memory; one of half as many is small no more."""
_MOST_FILES: Final = 5_000
"""At most this many files at a time, though they be small: each takes some memory of its own."""
_MANY_ROWS: Final = 10_000
_ATTEMPTS: Final = 20
_KINDS: Final = {"bool": "a bool", "int64": "a whole number", "double": "a float", "string": "a text"}
_NUMBERS: Final = {"int64", "double"}
_NAMED_BY_CONTENT: Final = re.compile(r"[0-9a-f]{64}")
"""Files of cells of versions before have names of 32 digits, made of the names of their cells."""
_DIGEST: Final = "digest"
"""Under this name a JSON file holds the digest of all else in it."""
_DAMAGED: Final = ".damaged"
"""What is added to the name of a file that is set aside."""
_CHANGED: Final = "its bytes are not those that were written"
Shape = Mapping[str, Any]
"""What a JSON object must hold: by name a type, a union of types, or again a shape."""
CAMPAIGN: Final[Shape] = {
    "name": str,
    "study": str,
    "scale": str,
    "seed": int,
    "chosen": dict,
    "code": str,
    "parameters": dict,
    "factors": dict,
    "schedlab": str,
}
"""What a manifest must say for its campaign to be opened."""
_FAILURE: Final[Shape] = {"cell": dict, "error": str, "worker": str, "traceback": str}
_RUN: Final[Shape] = {
    "state": str,
    "command": list,
    "begun": str,
    "wall_s": int | float,
    "cells_s": int | float,
    "cells": {"run": int, "failed": int},
    "machine": {"name": str, "system": str, "cores": int | None},
    "versions": dict,
}
T = TypeVar("T")


class Store:
    """The folder of a campaign.

    Parameters
    ----------
    folder
        The folder; it is made if it is not there.

    Raises
    ------
    RequestError
        It cannot be made or written to; or a part of it is a link, which is not followed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = made_folder(Path(folder))
        self.cells, self.failures, self.runs = (made_part(self.folder, name) for name in ("cells", "failures", "runs"))
        for part in (self.folder, self.cells, self.failures, self.runs):
            remove_leftovers(part)
        self.damaged: dict[Path, str] = {}
        """The files that are left out, and what is wrong with each."""
        self._keys: dict[str, tuple[str, ...]] = {}  # the cells of each file: a file never changes

    # -- cells --------------------------------------------------------------------------------------

    def done(self) -> set[str]:
        """Return the names of the cells that are done; a file of cells that is damaged is left out, see `damaged`.

        Raises
        ------
        StoppedError
            A file cannot be read.
        """
        self._keys = self._of_each(self._keys_of)  # and what is known of files that have gone is forgotten
        return {key for keys in self._keys.values() for key in keys}

    def failed(self) -> dict[str, dict[str, Any]]:
        """Return what is recorded of the cells that failed, by their names; see `damaged` for what is left out."""
        return {path.stem: about for path, about in self._records(self.failures, _FAILURE)}

    def history(self) -> list[dict[str, Any]]:
        """Return what is recorded of the runs, the first one first; see `damaged` for what is left out."""
        return [about for _, about in self._records(self.runs, _RUN)]

    def set_aside(self) -> dict[Path, str]:
        """Rename the files that are damaged, so that nothing reads them; return them, and what is wrong with each.

        Raises
        ------
        StoppedError
            One cannot be renamed.
        """
        found, self.damaged = self.damaged, {}
        for path in found:
            try:
                path.replace(path.with_name(path.name + _DAMAGED))
            except FileNotFoundError:  # another runner was faster
                continue
            except OSError as error:
                raise StoppedError(f"cannot set {path} aside, which is damaged: {reason(error)}", KEPT) from error
        return found

    def add(self, keys: Sequence[str], content: bytes) -> str:
        """Keep the file of a batch; return its name.

        Parameters
        ----------
        keys
            The names of its cells.
        content
            The Parquet file.

        Raises
        ------
        StoppedError
            It cannot be written, as on a full disk.
        """
        name = self._put(keys, content)
        for key in keys:
            (self.failures / f"{key}.json").unlink(missing_ok=True)
        return name

    def add_failure(self, failure: Failure, cell: Cell) -> None:
        """Keep what is known of a cell that failed."""
        about = {
            "cell": {**cell.factors, REPLICATION: cell.replication},
            "seed": cell.seed,
            "error": failure.error,
            "worker": failure.worker,
            "traceback": failure.traceback,
        }
        self.write(f"failures/{failure.key}.json", about)

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON object to a file of the folder, with the digest of its content.

        Raises
        ------
        StoppedError
            It cannot be written.
        """
        path, about = self.folder / name, plain(content)
        about[_DIGEST] = _digest_of(about)
        try:
            with replacing(path, durable=True) as temporary:
                temporary.write_text(json.dumps(about, indent=2, allow_nan=False) + "\n", "utf-8")
        except OSError as error:
            raise StoppedError(f"cannot write {path}: {reason(error)}", KEPT) from error

    # -- the table ----------------------------------------------------------------------------------

    def table(self, cells: Sequence[Cell], keys: Sequence[str]) -> pd.DataFrame:
        """Return the rows of these cells, as far as they are done, in the order of the cells.

        The columns are the factors, the replication, then what the cells returned, by name. The table is the same
        whoever ran the cells, and in whatever order.

        Parameters
        ----------
        cells, keys
            The cells and their names.

        Raises
        ------
        RequestError
            Cells returned values of different kinds in a column.
        FileFormatError
            A file of cells is damaged, and was not when `done` was asked for.
        StoppedError
            A file cannot be read.
        """
        wanted, known = set(keys), set(self.damaged)

        def rows(path: Path) -> pa.Table | None:
            return None if wanted.isdisjoint(self._keys_of(path)) else _of(_read(path), wanted)

        found = self._of_each(rows)
        for path in self.damaged.keys() - known:
            raise FileFormatError(str(path), None, self.damaged[path])
        parts = [part for _, part in sorted(found.items()) if part is not None]
        try:
            table = _together(parts)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            what = _conflict(parts, dict(zip(keys, cells, strict=True)))
            raise RequestError(what, "give a column values of one kind") from None
        return _in_order(table, cells, keys)

    def compact(self, more_than: int = LOOSE) -> int:
        """Put small files together if there are many; return how many were.

        The new file is there before the old ones go: a crash in between leaves cells twice, which does no harm.

        Parameters
        ----------
        more_than
            Up to this many small files are left as they are.
        """
        small = {}
        for path in self._files():
            values = self._unless_damaged(path, _values)
            if values is not None and values < _LARGEST // 2:
                small[path] = values
        if len(small) <= more_than:
            return 0
        gone = 0
        for group in _groups(small):
            parts: dict[Path, pa.Table] = {}
            for path in group:
                part = self._unless_damaged(path, _read)
                if part is not None:
                    parts[path] = part
            for paths in _by_schema(parts):
                table = _together([parts[path] for path in paths])
                new = self._put(table[CELL].unique().to_pylist(), parquet(table))
                for path in paths:
                    if path.name != new:
                        path.unlink(missing_ok=True)
                        self._keys.pop(path.name, None)
                        gone += 1
        return gone

    # -- files --------------------------------------------------------------------------------------

    def _files(self) -> list[Path]:
        """Return the files of cells, by name."""
        return sorted(self.cells.glob("[!.]*.parquet"))

    def _of_each(self, read: Callable[[Path], T | None]) -> dict[str, T]:
        """Return what is read of each file, by its name, unless that is None.

        Another runner may put files together meanwhile, and the names in a folder are not read at one instant. But the
        cells of a file that goes are in one that was there before: so new ones are looked for until there are none.
        """
        found: dict[str, T] = {}
        seen: set[Path] = set()
        for _ in range(_ATTEMPTS):  # others may go on adding cells forever
            new = [path for path in self._files() if path not in seen]
            if not new:
                break
            seen.update(new)
            for path in new:
                content = self._unless_damaged(path, read)
                if content is not None:
                    found[path.name] = content
        return found

    def _unless_damaged(self, path: Path, read: Callable[[Path], T | None]) -> T | None:
        """Return what is read of a file; None if it has gone, or is damaged, which is noted."""
        try:
            return read(path)
        except FileNotFoundError:  # another runner was faster
            return None
        except FileFormatError as error:
            self.damaged[path] = error.what
            return None

    def _records(self, folder: Path, shape: Shape) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Hand out the JSON files of a folder, by name, with what is in them; all have digests if the manifest does."""
        sealed = _is_json(self.folder / MANIFEST, sealed=True)
        for path in sorted(folder.glob("[!.]*.json")):
            about = self._unless_damaged(path, lambda path: read_json(path, shape, sealed=sealed))
            if about is not None:
                yield path, about

    def _keys_of(self, path: Path) -> tuple[str, ...]:
        """Return the names of the cells of a file."""
        if path.name not in self._keys:
            self._keys[path.name] = tuple(_read(path, [CELL])[CELL].unique().to_pylist())
        return self._keys[path.name]

    def _put(self, keys: Sequence[str], content: bytes) -> str:
        """Write a file of cells; return its name."""
        name = f"{hashlib.sha256(content).hexdigest()}.parquet"
        try:
            with replacing(self.cells / name, durable=True) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise StoppedError(f"cannot write to {self.cells}: {reason(error)}", KEPT) from error
        self._keys[name] = tuple(keys)
        return name


def is_campaign(folder: Path) -> bool:
    """Return whether a campaign was run into a folder, as its manifest or what is kept of its runs says."""
    runs = (folder / "runs").glob("[!.]*.json")
    return _is_json(folder / MANIFEST, CAMPAIGN) or any(_is_json(path, _RUN) for path in runs)


def _is_json(path: Path, shape: Shape | None = None, *, sealed: bool = False) -> bool:
    """Return whether `read_json` reads a file."""
    try:
        read_json(path, shape, sealed=sealed)
    except (OSError, FileFormatError, StoppedError):
        return False
    return True


def read_json(path: Path, shape: Shape | None = None, *, sealed: bool = False) -> dict[str, Any]:
    """Return the JSON object of a file, without its digest; a file of versions before has none.

    Parameters
    ----------
    path
        The file.
    shape
        What it must hold; None for anything.
    sealed
        Whether it must have a digest.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    FileFormatError
        It holds no JSON object, another than was written, or not what it must hold.
    StoppedError
        It cannot be read.
    """
    try:
        found = json.loads(_content(path))
    except (ValueError, RecursionError) as error:  # no JSON, no text; lists within lists within lists
        raise FileFormatError(str(path), None, f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise FileFormatError(str(path), None, "it holds no JSON object")
    if sealed and _DIGEST not in found:
        raise FileFormatError(str(path), None, f"{_CHANGED}: it has no digest")
    if _DIGEST in found and found.pop(_DIGEST) != _digest_of(found):
        raise FileFormatError(str(path), None, f"{_CHANGED}: it has another digest")
    for what in _misfits(found, shape or {}):
        raise FileFormatError(str(path), None, f"it has {what}")
    return found


def _digest_of(about: Mapping[str, Any]) -> str:
    """Return the digest of a JSON object."""
    return digest([json.dumps(about, sort_keys=True).encode()])


def _misfits(found: Mapping[str, Any], shape: Shape) -> Iterator[str]:
    """Return what a JSON object has that is not of its shape."""
    for name, kind in shape.items():
        value = found.get(name)
        if name not in found:
            yield f"no {name!r}"
        elif isinstance(kind, Mapping):
            if isinstance(value, dict):
                yield from _misfits(value, kind)
            else:
                yield f"a {name!r} that is {brief(value)}"
        elif not isinstance(value, kind) or (isinstance(value, int) and abs(value) > MOST):
            yield f"a {name!r} that is {brief(value)}"


def _content(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises
    ------
    FileNotFoundError
        There is none.
    FileFormatError
        It is a folder, or what else is no file.
    StoppedError
        It cannot be read, which is no fault of what is in it.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise FileFormatError(str(path), None, "it is no file")
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoppedError(f"cannot read {path}: {reason(error)}") from error


def _file(path: Path) -> pq.ParquetFile:
    """Return a file of cells, opened; its bytes are those that were written."""
    content = _content(path)
    if _NAMED_BY_CONTENT.fullmatch(path.stem) and hashlib.sha256(content).hexdigest() != path.stem:
        raise FileFormatError(str(path), None, f"{_CHANGED}: their SHA-256 is not its name")
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error
    types = {column.name: column.type for column in file.schema_arrow}
    for ours in table_of([]).schema:
        if types.get(ours.name) != ours.type:
            has = f"a column {ours.name} of {types[ours.name]}" if ours.name in types else f"no column {ours.name}"
            raise FileFormatError(str(path), None, f"it has {has}; only files of cells may be in this folder")
    return file


def _unreadable(path: Path, error: Exception) -> FileFormatError | StoppedError:
    """Return the error of a file that cannot be read, whether by its own fault or for want of memory."""
    text = " ".join(reason(error).split())
    if isinstance(error, MemoryError):
        return StoppedError(f"cannot read {path}: {text}")
    return FileFormatError(str(path), None, f"it cannot be read ({text})")


def _read(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Return the table of a file."""
    with _file(path) as file:
        try:
            # Threads cost more than they gain where there is little to read, and there may be many such files.
            return file.read(columns, use_threads=file.metadata.num_rows > _MANY_ROWS)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error


def _values(path: Path) -> int:
    """Return how many values a file has."""
    # Its length would not say how much memory they take: it is compressed.
    with _file(path) as file:
        return int(file.metadata.num_rows * file.metadata.num_columns)


def _groups(sizes: Mapping[Path, int]) -> Iterator[list[Path]]:
    """Hand out groups of files that are not too large together, by how many values each has."""
    group: list[Path] = []
    total = 0
    for path, size in sizes.items():
        if group and (total + size > _LARGEST or len(group) == _MOST_FILES):
            yield group
            group, total = [], 0
        group.append(path)
        total += size
    if len(group) > 1:
        yield group


def _by_schema(parts: Mapping[Path, pa.Table]) -> list[list[Path]]:
    """Return files in groups of two and more, within which each column is of one type."""
    found: list[tuple[dict[str, pa.DataType], list[Path]]] = []
    for path, part in parts.items():
        types = {column.name: column.type for column in part.schema}
        for known, group in found:
            if all(known.get(name, kind) == kind for name, kind in types.items()):
                known.update(types)
                group.append(path)
                break
        else:
            found.append((types, [path]))
    return [group for _, group in found if len(group) > 1]


def _of(part: pa.Table, wanted: set[str]) -> pa.Table:
    """Return the rows of some cells, without columns that only others have."""
    chosen = [key in wanted for key in part[CELL].to_pylist()]
    if not all(chosen):
        part = part.filter(pa.array(chosen))
    return part.select([name for name in part.column_names if name in OURS or part[name].null_count < len(part)])


def _together(parts: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of several tables, each cell once."""
    parts = [table_of([]), *parts]
    table = pa.concat_tables(parts, promote_options="permissive")
    origin = np.repeat(np.arange(len(parts)), list(map(len, parts)))
    cell = table[CELL].combine_chunks().dictionary_encode().indices.to_numpy()
    first = np.full(int(cell.max(initial=-1)) + 1, len(parts))
    np.minimum.at(first, cell, origin)
    return table.take(np.flatnonzero(origin == first[cell]))


def _conflict(parts: Sequence[pa.Table], cells: Mapping[str, Cell]) -> str:
    """Return which column has values of two kinds, and where."""
    kinds: dict[str, dict[str, Cell]] = {}
    for part in parts:
        for column in part.schema:
            if column.name not in OURS:
                key = part.filter(part[column.name].is_valid())[CELL][0].as_py()
                kinds.setdefault(column.name, {}).setdefault(str(column.type), cells[key])
    for name, found in sorted(kinds.items()):
        if len(found) > 1 and set(found) != _NUMBERS:
            where = [f"{_KINDS.get(kind, kind)} in the cell ({cell})" for kind, cell in found.items()]
            return f"column {name!r} is {' and '.join(where)}"
    return "the cells' columns do not go together"


def _in_order(rows: pa.Table, cells: Sequence[Cell], keys: Sequence[str]) -> pd.DataFrame:
    """Return the rows of these cells, in their order, with their factors before what was measured."""
    place = pd.Index(keys).get_indexer(rows[CELL].to_pandas())
    number = rows[ROW].fill_null(-1).to_numpy()
    order = np.lexsort((number, place))
    order = order[(place[order] >= 0) & (number[order] >= 0)]
    rows, place = rows.take(order), place[order]
    names = list(dict.fromkeys(name for cell in cells for name in cell.factors))
    columns = {name: _factor([cell.factors.get(name) for cell in cells], place) for name in names}
    columns[REPLICATION] = _factor([cell.replication for cell in cells], place)
    for name in sorted(set(rows.column_names) - set(OURS)):
        columns[name] = rows[name]
    table: pd.DataFrame = pa.table(columns).to_pandas()
    return table


def _factor(values: Sequence[Any], place: NDArray[np.intp]) -> pa.Array:
    """Return the values of a factor, a value a row."""
    return pa.array(values).take(pa.array(place))
