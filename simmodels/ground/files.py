"""Files: written whole or not at all, CSV without formulas; read only if they are files."""

import errno
import os
import platform
import re
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from simmodels.errors import RequestError, must_be, printable
from simmodels.ground.later import pd

_FORMULA: Final = re.compile(r"'*[=+\-@]")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_TEMPORARY: Final = re.compile(r"\.(?P<machine>.*)\.(?P<process>\d+)\.[0-9a-f]{8}\..+")

_SPECIAL: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = False) -> Iterator[Path]:
    """Hand out a temporary path beside `path`; on leaving, what was written there takes its place.

    A reader sees the old file or the whole new one, never a part. If the body fails, the temporary
    file is removed and the old one stands. Processes that write the same file, on several machines
    too, do not meet: the last one stands. It raises `FileNotFoundError` if the folder does not exist.

    Parameters
    ----------
    path
        The file to write; its folder must exist.
    durable
        Whether it is forced to disk first, so that it is whole even if the power fails.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: {target.parent} is not a folder")
    # The name ends as the target's does, because writers choose format and compression by it.
    temporary = target.with_name(f".{_machine()}.{os.getpid()}.{uuid.uuid4().hex[:8]}.{target.name}")
    try:
        yield temporary
        if durable:
            _force(temporary)
        temporary.replace(target)
        if durable:
            _force(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def as_path(value: object) -> Path:
    """Return what was given as a path; raise `RequestError` if it is none."""
    if isinstance(value, str | os.PathLike):
        return Path(value)
    raise RequestError(must_be("path", "the path of a file", value))


def ending_of(path: str | os.PathLike[str], endings: Iterable[str], what: str) -> str:
    """Return which of some endings a file's name has, whatever its case; raise `RequestError` if it has none of them.

    Parameters
    ----------
    path
        The file.
    endings
        The endings, such as ``.csv``.
    what
        What the error calls the name: ``the table's name``.
    """
    known = tuple(endings)
    for ending in known:
        if as_path(path).name.lower().endswith(ending):
            return ending
    raise RequestError(must_be(what, f"one that ends in {', '.join(known)}", os.fspath(path)))


def write_csv(table: "pd.DataFrame", path: str | os.PathLike[str]) -> None:
    """Write a table as CSV, whole or not at all, so that a program for tables runs nothing that a name of a file says.

    A text that begins with ``=``, ``+``, ``-`` or ``@``, and is no number, is a formula to such programs; it is written
    with an apostrophe before it, which says that it is a text. A text that begins with apostrophes before one of these
    is given one more: so who reads the file takes one away, and has the text. Control characters, line ends among them,
    are escaped as `simmodels.errors.printable` does. Parquet keeps all texts as they are.

    References
    ----------
    OWASP, "CSV injection", https://owasp.org/www-community/attacks/CSV_Injection
    """
    written = table.copy(deep=False)
    for place, kind in enumerate(table.dtypes):
        if not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind)):
            cells = table.iloc[:, place].astype("object").map(_cell)
            written.isetitem(place, cells.to_numpy())
    written.columns = pd.Index([_cell(name) for name in table.columns])
    with replacing(as_path(path)) as temporary:
        written.to_csv(temporary, index=False, lineterminator="\n")


def _cell(value: object) -> object:
    """Return a cell as it is written."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def from_csv(cell: str) -> str:
    """Return the text of a cell that `write_csv` wrote; control characters stay escaped."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read its bytes; a reader of a pipe would wait, and one of a device never end.

    Raises
    ------
    OSError
        It cannot be opened, or is a pipe, a device or a socket; of a directory the system says so itself.
    ValueError
        There is a zero byte in the name.
    """
    kind = Path(path).stat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        what = next((what for is_one, what in _SPECIAL if is_one(kind)), "no file")
        raise OSError(errno.EINVAL, f"it is {what}; only a regular file is read", str(path))
    return Path(path).open("rb")


def remove_leftovers(folder: Path) -> int:
    """Remove the temporary files of `replacing` whose process, on this machine, was killed; return how many."""
    removed = 0
    for path in folder.glob(".*"):
        found = _TEMPORARY.fullmatch(path.name)
        if found is not None and found["machine"] == _machine() and not _runs(int(found["process"])):
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _machine() -> str:
    """Return the name of this machine; in a container with process numbers of its own, also that of the container."""
    try:
        space = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:  # only Linux has it
        return platform.node()
    return f"{platform.node()}.{space}"


def _runs(process: int) -> bool:
    """Return whether there is a process of this number on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True


def _force(path: Path) -> None:
    """Force a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(PermissionError):  # some network file systems let nobody do this to a folder
            os.fsync(handle)
    finally:
        os.close(handle)
