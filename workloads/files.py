"""Whole files in and out: decompressed when read, compressed by their name and put in place at once when written."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final

import pyarrow as pa

from simmodels.errors import FileFormatError, RequestError
from simmodels.ground.files import open_regular, replacing
from simmodels.ground.toml_json import json_value

UNPACKED: Final = 64 << 20
"""A compressed file may always unpack to as many bytes (64 MiB) ..."""
UNPACKED_RATIO: Final = 100
"""... and to as many times its own size; logs have 5 to 20."""

_MAGIC: Final = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}
_XZ_MEMORY: Final = 256 << 20  # to unpack with; what `xz -9` packs needs 65 MiB
_STREAM: Final[dict[str, Callable[[], Any]]] = {
    ".bz2": bz2.BZ2Decompressor,
    ".xz": lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY),
}
_PIECE: Final = 1 << 20
_DAMAGED: Final = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
_COMPRESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": lambda data: gzip.compress(data, compresslevel=6, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
COMPRESSIONS: Final = tuple(_COMPRESS)
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def stem(path: Path) -> str:
    """Return the file's name without the suffixes of its compression and its format."""
    name = path.name
    for suffix in (*COMPRESSIONS, ".swf", ".json", ".sacct", ".csv", ".parquet", ".txt", ".xml", ".dax"):
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
        The file is missing, a directory, a pipe, a device or a socket, unreadable, empty, not of the compression that
        its name says, truncated or corrupt; or it unpacks to more than 64 MiB and more than 100 times its size.
    """
    try:
        with open_regular(path) as file:
            raw = file.read()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise FileFormatError(str(path), None, f"cannot be read: {_reason(error)}") from error
    kind = _packed_by(raw)
    named = path.suffix.lower()
    if raw and kind is None and named in COMPRESSIONS:
        raise FileFormatError(str(path), None, f"its name ends in {named}, but it is not compressed that way")
    if kind is not None:
        raw = _unpacked(path, raw, kind)
    if not raw:
        raise FileFormatError(str(path), None, "the file is empty")
    return raw.removeprefix(_BYTE_ORDER_MARK)


def _packed_by(start: bytes) -> str | None:
    """Return by what compression a file is packed that begins so, None if by none."""
    return next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), None)


def _unpacked(path: Path, raw: bytes, kind: str) -> bytes:
    """Return what a compressed file holds; refuse one that is damaged, or that a few bytes make fill the memory."""
    most = max(UNPACKED, UNPACKED_RATIO * len(raw))
    pieces, size = [], 0
    try:
        for piece in _pieces(BytesIO(raw), kind):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                break
    except _DAMAGED as error:
        raise FileFormatError(str(path), None, f"its {kind} data are truncated or corrupt: {error}") from error
    if size > most:
        what = (
            f"its {len(raw):,} bytes of {kind} data unpack to more than {most:,} (the larger of {UNPACKED >> 20} MiB "
            f"and {UNPACKED_RATIO} times its size); unpack it first if this is meant: a plain file may be of any size"
        )
        raise FileFormatError(str(path), None, what)
    return b"".join(pieces)


def _pieces(packed: BinaryIO, kind: str) -> Iterator[bytes]:
    """Yield what compressed data hold, in pieces; several streams, one after the other, are one file.

    What follows the last stream, and is no other, is an error, where the files of Python's `bz2` and `lzma` would
    silently end: it may be a stream with a damaged first byte.
    """
    if kind == ".gz":
        with gzip.GzipFile(fileobj=packed) as file:
            yield from iter(lambda: file.read(_PIECE), b"")
        return
    data = packed.read(_PIECE)
    while data:
        stream = _STREAM[kind]()
        while not stream.eof:
            if stream.needs_input and not data:
                raise EOFError("it ends within a stream")
            yield stream.decompress(data, _PIECE)
            data = packed.read(_PIECE) if stream.needs_input and not stream.eof else b""
        data = stream.unused_data.lstrip(b"\0")  # zeros may stand between streams, and after the last
        while not data and (more := packed.read(_PIECE)):
            data = more.lstrip(b"\0")


def read_json(path: Path) -> Any:  # noqa: ANN401  whatever it holds
    """Return what a JSON file holds, decompressed as by `read_whole`.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FileFormatError
        The file cannot be read, or is no JSON (see `simmodels.ground.toml_json.json_value`); the text names the line.
    """
    return json_value(read_whole(path), str(path))


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
        with open_regular(path) as file:
            start = file.read(size)
            kind = _packed_by(start)
            if kind is not None:
                file.seek(0)
                start = b""
                for piece in _pieces(file, kind):
                    start += piece
                    if len(start) >= size:
                        break
    except _DAMAGED:  # whoever reads all of it will raise it
        return b""
    return start[:size].removeprefix(_BYTE_ORDER_MARK)


def arrow_buffer(data: bytes) -> Any:  # noqa: ANN401  pyarrow has no types
    """Return bytes as memory of Arrow's own, to be handed to a reader of Arrow's.

    Such a reader has threads, of which one may let go of its input only when the result has been there for a while.
    Memory of Python's can be let go of only with the interpreter's lock, and a thread that asks for it while the
    interpreter ends (of a request that is refused, that is soon) aborts the program: "terminate called without an
    active exception", status 134.
    """
    memory = pa.BufferOutputStream()
    memory.write(data)
    return memory.getvalue()


def write_whole(path: Path, data: bytes) -> None:
    """Write the bytes to a file, compressed if its name ends in ``.gz``, ``.bz2`` or ``.xz``.

    It appears at once and whole, in the place of one of that name. The same bytes always make the same
    file.

    Parameters
    ----------
    path
        The file; its directory must exist.
    data
        What it is to hold, before compression.

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
        what = f"cannot write {path}: "
        raise RequestError(what + _reason(error).removeprefix(what)) from error  # one that has no folder says it, too


def _reason(error: Exception) -> str:
    """Return what the system says, in lower case and without the path that we name anyway."""
    return (error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)).rstrip(".")
