"""Store: the results of a campaign in a folder, which a crash cannot harm and which several runners may share.

The folder has

    manifest.json           which campaign it holds
    runs/NAME.json          one for each run: command, machine, versions, durations
    cells/SHA256.parquet    what cells returned, a batch a file (see `experiments.campaigns.execution.batches`)
    failures/CELL.json      the cells that failed, with tracebacks

A file is written under a temporary name, forced to disk, and renamed: it is there whole or not at all. Two runners
that do the same cell write the same rows; reading takes one of them. So nothing needs a lock.

A file that changed since it was written is noticed: a file of cells is named by the digest of its bytes, a JSON file
holds that of its content. It is left out, and listed in `Store.damaged`; a run sets it aside and repeats its cells.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.campaigns.cell import REPLICATION, Cell
from experiments.campaigns.records import (
    CAMPAIGN,
    CHANGED,
    FAILURE,
    KEPT,
    RUN,
    Shape,
    is_record,
    read_bytes,
    read_record,
    write_record,
)
from experiments.campaigns.rows import CELL, OURS, group_by_kind, parquet, table_of_cells, together
from experiments.inputs import reason
from experiments.outputs import made_folder, made_part
from simmodels.errors import FileFormatError, StoppedError
from simmodels.ground.files import remove_leftovers, replacing

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
_DAMAGED: Final = ".damaged"
"""What is added to the name of a file that is set aside."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell that failed.

    Parameters
    ----------
    key
        The cell's name.
    error
        What went wrong, in a line.
    traceback
        Where, from the study on; empty if the worker died.
    worker
        The machine and process that ran it.
    """

    key: str
    error: str
    traceback: str = ""
    worker: str = ""


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
        return {path.stem: about for path, about in self._records(self.failures, FAILURE)}

    def history(self) -> list[dict[str, Any]]:
        """Return what is recorded of the runs, the first one first; see `damaged` for what is left out."""
        return [about for _, about in self._records(self.runs, RUN)]

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
        """Write a record to a file of the folder, see `write_record`."""
        write_record(self.folder / name, content)

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
            return None if wanted.isdisjoint(self._keys_of(path)) else _read(path)

        found = self._of_each(rows)
        for path in self.damaged.keys() - known:
            raise FileFormatError(str(path), None, self.damaged[path])
        parts = [part for _, part in sorted(found.items())]
        return table_of_cells(parts, cells, keys)

    def compact(self, more_than: int = LOOSE) -> int:
        """Put small files together if there are many; return how many were.

        The new file is there before the old ones go: a crash in between leaves cells twice, which does no harm. None is
        written where a file has the cells of all others.

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
            read = {path: self._unless_damaged(path, _read) for path in group}
            parts = {path: part for path, part in read.items() if part is not None}
            for paths in group_by_kind(
                (path, dict(zip(part.schema.names, part.schema.types, strict=True))) for path, part in parts.items()
            ):
                if len(paths) < 2:
                    continue
                table = together([parts[path] for path in paths])
                cells = table[CELL].unique().to_pylist()
                # A file goes for one with more cells, or with the same and a smaller name. This is an order, so of
                # several that put files together at a time, no two each remove what the other relies on.
                whole = [path.name for path in paths if len(parts[path][CELL].unique()) == len(cells)]
                kept = min(whole) if whole else self._put(cells, parquet(table))
                for path in paths:
                    if path.name != kept:
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

        Another runner may put files together meanwhile, and the names in a folder are not read at one instant: a look
        may miss a file that was made behind it, and those that went into it. But the cells of a file that goes are in
        one that was there before: so it is looked until two looks are the same.
        """
        found: dict[str, T] = {}
        seen: set[Path] = set()
        before: list[Path] | None = None
        for _ in range(_ATTEMPTS):  # others may go on adding cells forever
            files = self._files()
            if files == before:
                break
            for path in files:
                content = None if path in seen else self._unless_damaged(path, read)
                if content is not None:
                    found[path.name] = content
            seen.update(files)
            before = files
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
        """Hand out the JSON files of a folder, by name, with what is in them."""
        for path in sorted(folder.glob("[!.]*.json")):
            about = self._unless_damaged(path, lambda path: read_record(path, shape))
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
    return is_record(folder / MANIFEST, CAMPAIGN) or any(is_record(path, RUN) for path in runs)


def _file(path: Path) -> pq.ParquetFile:
    """Return a file of cells, opened; its bytes are those that were written."""
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != path.stem:
        raise FileFormatError(str(path), None, f"{CHANGED}: their SHA-256 is not its name")
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error
    types = {column.name: column.type for column in file.schema_arrow}
    for name, kind in OURS.items():
        if types.get(name) != kind:
            has = f"a column {name} of {types[name]}" if name in types else f"no column {name}"
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
