"""Documents: small records of texts and numbers as TOML and JSON, in which a float keeps its last bit."""

import json
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from simmodels.errors import FileFormatError
from simmodels.files import replacing

Document = Mapping[str, Any]
"""Texts, numbers and lists of these by name; or, one level down, such mappings."""

SUFFIXES: Final = (".toml", ".json")


def toml_text(document: Document, about: str = "") -> str:
    """Return a document as TOML.

    Parameters
    ----------
    document
        What it holds; None is left out.
    about
        A line to put before it, as a comment.
    """
    lines = [f"# {about}"] if about else []
    plain = {name: value for name, value in document.items() if not isinstance(value, Mapping)}
    lines += [f"{name} = {_toml(value)}" for name, value in plain.items() if value is not None]
    for name, value in document.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]", toml_text(value).rstrip("\n")]
    return "\n".join(lines) + "\n"


def json_text(document: Document) -> str:
    """Return a document as JSON; a number that is not finite is a text there, as ``float`` reads it."""
    return json.dumps(_plain(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def write_document(path: str | os.PathLike[str], document: Document, about: str = "") -> None:
    """Write a document to a file whose name ends in ``.toml`` or ``.json``, whole or not at all.

    Raises
    ------
    FileFormatError
        The name ends otherwise.
    """
    text = toml_text(document, about) if _suffix(path) == ".toml" else json_text(document)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the document of a file whose name ends in ``.toml`` or ``.json``.

    Raises
    ------
    FileFormatError
        The name ends otherwise, or the file cannot be read, or is no such document.
    """
    suffix = _suffix(path)
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileFormatError(str(path), None, f"cannot be read: {told.lower()}") from error
    return parsed(text, suffix, str(path))


def parsed(text: str, suffix: str, path: str) -> dict[str, Any]:
    """Return the document of a text in the format of a suffix.

    Raises
    ------
    FileFormatError
        It is no such document; `path` is what the error calls it.
    """
    try:
        found: object = tomllib.loads(text) if suffix == ".toml" else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileFormatError(path, None, f"no {suffix[1:].upper()}: {error}") from error
    if not isinstance(found, dict):
        raise FileFormatError(path, None, f"holds a {type(found).__name__}; names with values are allowed")
    return found


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileFormatError(str(path), None, f"ends in {suffix!r}; {' and '.join(SUFFIXES)} are allowed")
    return suffix


def _toml(value: Any) -> str:  # noqa: ANN401  whatever a document holds
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value).lower()  # of a float, the shortest text that is read as the same; True is true


def _plain(value: Any) -> Any:  # noqa: ANN401  whatever a document holds
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
