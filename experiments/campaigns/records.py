"""Records: JSON files of a campaign, each with the digest of its content, so that a change of it is noticed."""

import hashlib
import json
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from experiments.inputs import reason
from experiments.outputs import plain
from simmodels.errors import FileFormatError, StoppedError, brief
from simmodels.ground.files import replacing
from simmodels.ground.numbers import MOST

KEPT: Final = "what was finished is kept, and the same command goes on"
CHANGED: Final = "its bytes are not those that were written"
_DIGITS: Final = 32
_DIGEST: Final = "digest"
"""Under this name a file holds the digest of all else in it."""

Shape = Mapping[str, Any]
"""What a JSON object must hold: by name a type, a union of types, or again a shape."""
CAMPAIGN: Final[Shape] = {
    "name": str,
    "study": str,
    "scale": str,
    "seed": int,
    "chosen": dict,
    "code": str,
    "inputs": dict,
    "parameters": dict,
    "factors": dict,
    "replications": int,
    "schedlab": str,
}
"""What a manifest must say for its campaign to be opened."""
FAILURE: Final[Shape] = {"cell": dict, "error": str, "worker": str, "traceback": str}
RUN: Final[Shape] = {
    "state": str,
    "command": list,
    "begun": str,
    "wall_s": int | float,
    "cells_s": int | float,
    "cells": {"run": int, "failed": int},
    "machine": {"name": str, "system": str, "cores": int | None},
    "versions": dict,
}


def digest(parts: Iterable[bytes]) -> str:
    """Return the digest (SHA-256, its first 128 bits in hexadecimal) of a sequence of parts."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()[:_DIGITS]


def write_record(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object to a file, with the digest of its content.

    Raises
    ------
    StoppedError
        It cannot be written.
    """
    about = plain(content)
    about[_DIGEST] = _digest_of(about)
    try:
        with replacing(path, durable=True) as temporary:
            temporary.write_text(json.dumps(about, indent=2, allow_nan=False) + "\n", "utf-8")
    except OSError as error:
        raise StoppedError(f"cannot write {path}: {reason(error)}", KEPT) from error


def read_record(path: Path, shape: Shape | None = None) -> dict[str, Any]:
    """Return the JSON object of a file, without its digest.

    Parameters
    ----------
    path
        The file.
    shape
        What it must hold; None for anything.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    FileFormatError
        It holds no JSON object, another than was written, or not what it must hold.
    StoppedError
        It cannot be read.
    """
    found = _json_object(path)
    written = found.pop(_DIGEST, None)
    if written != _digest_of(found):
        raise FileFormatError(str(path), None, f"{CHANGED}: it has {'another' if written else 'no'} digest")
    for what in _misfits(found, shape or {}):
        raise FileFormatError(str(path), None, f"it has {what}")
    return found


def read_manifest(path: Path, shape: Shape = CAMPAIGN) -> dict[str, Any]:
    """Return what a manifest says; see `read_record`."""
    try:
        return read_record(path, shape)
    except FileFormatError as error:
        what = f"{error.what}; remove it, and the command of the run writes it again"
        raise FileFormatError(error.path, error.line, what) from error


def is_record(path: Path, shape: Shape) -> bool:
    """Return whether a file holds a JSON object of a shape, whoever wrote it."""
    try:
        return not any(_misfits(_json_object(path), shape))
    except (OSError, FileFormatError, StoppedError):
        return False


def read_bytes(path: Path) -> bytes:
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


def _json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file, with its digest."""
    content = read_bytes(path)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:  # no JSON, no text; lists within lists within lists
        raise FileFormatError(str(path), None, f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise FileFormatError(str(path), None, "it holds no JSON object")
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
            yield from _misfits(value, kind) if isinstance(value, dict) else [f"a {name!r} that is {brief(value)}"]
        elif not isinstance(value, kind) or (isinstance(value, int) and abs(value) > MOST):
            yield f"a {name!r} that is {brief(value)}"
