"""Whole files in and out: decompressed when read, compressed by their name and put in place at once when written."""

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from simmodels.errors import FileFormatError, RequestError
from simmodels.files import replacing

_MAGIC: Final = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}
_DECOMPRESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
_COMPRESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": lambda data: gzip.compress(data, compresslevel=6, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
COMPRESSIONS: Final = tuple(_COMPRESS)
_OPEN: Final[dict[str, Callable[[Path], Any]]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def stem(path: Path) -> str:
    """Return the file's name without the suffixes of its compression and its format."""
    name = path.name
    for suffix in (*COMPRESSIONS, ".swf", ".json", ".sacct", ".txt", ".xml", ".dax"):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) and len(name) > len(suffix) else name
    return name


def read_whole(path: Path) -> bytes:
    """Return the bytes of a file, decompressed.

    The first bytes say whether a file is compressed, whatever its name; a file named ``.gz``, ``.bz2``
    or ``.xz`` must be what its name says. A byte order mark of UTF-8 is left out.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FileFormatError
        The file is missing, a directory, unreadable, empty, not of the compression that its name
        says, truncated or corrupt.
    """
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise FileFormatError(str(path), None, f"cannot be read: {_reason(error)}") from error
    kind = next((suffix for magic, suffix in _MAGIC.items() if raw.startswith(magic)), None)
    named = path.suffix.lower()
    if raw and kind is None and named in COMPRESSIONS:
        raise FileFormatError(str(path), None, f"its name ends in {named}, but it is not compressed that way")
    if kind is not None:
        try:
            raw = _DECOMPRESS[kind](raw)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            raise FileFormatError(str(path), None, f"its {kind} data are truncated or corrupt: {error}") from error
    if not raw:
        raise FileFormatError(str(path), None, "the file is empty")
    return raw.removeprefix(_BYTE_ORDER_MARK)


def read_json(path: Path) -> Any:  # noqa: ANN401  whatever it holds
    """Return what a JSON file holds, decompressed as by `read_whole`.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FileFormatError
        The file cannot be read, or is no JSON; the text names the line.
    """
    try:
        return json.loads(read_whole(path))
    except json.JSONDecodeError as error:
        raise FileFormatError(str(path), error.lineno, f"no JSON: {error.msg.lower()}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(str(path), None, f"no JSON that can be read: {error}") from error


def read_start(path: Path, size: int = 1 << 14) -> bytes:
    """Return the first bytes of a file, decompressed, to see what it is; none of one that cannot be read.

    Parameters
    ----------
    path
        The file.
    size
        How many bytes at most.
    """
    try:
        with path.open("rb") as raw:
            start = raw.read(size)
        kind = next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), None)
        if kind is not None:
            with _OPEN[kind](path) as packed:
                start = packed.read(size)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):  # whoever reads all of it will tell
        return b""
    return start.removeprefix(_BYTE_ORDER_MARK)


def write_whole(path: Path, data: bytes) -> None:
    """Write the bytes to a file, compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.

    It appears at once and whole, in the place of one of that name. The same bytes always make the same
    file.

    Parameters
    ----------
    path
        The file; its directory must exist.
    data
        What it shall hold, before compression.

    Raises
    ------
    RequestError
        The file cannot be written there.
    """
    kind = path.suffix.lower()
    packed = _COMPRESS[kind](data) if kind in _COMPRESS else data
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(packed)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise RequestError(f"cannot write {path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what the system says, in lower case and without the path that we name anyway."""
    return (error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)).rstrip(".")
