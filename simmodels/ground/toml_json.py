"""Documents: small records of texts and numbers as TOML and JSON, in which a float keeps its last bit."""

import json
import math
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tomli_w

from simmodels.errors import FileFormatError, brief, must_be
from simmodels.ground.files import open_regular, replacing

Document = Mapping[str, Any]
"""Texts, numbers and lists of these by name; or, one level down, such mappings."""

SUFFIXES: Final = (".toml", ".json")
_TOML_LINE: Final = re.compile(r"(.*) \(at line ([0-9]+), column [0-9]+\)", re.DOTALL)
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY: Final = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{100}}")
"""A key of more than 100 parts: `tomllib` takes time that grows with their square, minutes for 100 kB."""
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape of JSON that stands for a character only where two of them are a pair."""


def toml_text(document: Document, about: str = "") -> str:
    """Return a document as TOML.

    Parameters
    ----------
    document
        What it holds; None is left out.
    about
        A line to put before it, as a comment.
    """
    heading = f"# {about}\n" if about else ""
    return heading + tomli_w.dumps(_present(document))


def json_text(document: Document) -> str:
    """Return a document as JSON; a number that is not finite is a text there, as ``float`` reads it."""
    return json.dumps(_finite(_present(document)), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def write_document(path: str | os.PathLike[str], document: Document, about: str = "") -> None:
    """Write a document to a file whose name ends in ``.toml`` or ``.json``, whole or not at all."""
    text = toml_text(document, about) if _suffix(path) == ".toml" else json_text(document)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the document of a ``.toml`` or ``.json`` file; raise `FileFormatError` if it holds none."""
    suffix = _suffix(path)
    try:
        with open_regular(path) as file:
            text = file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileFormatError(str(path), None, f"cannot be read: {reason.lower()}") from error
    return parsed(text, suffix, str(path))


def parsed(text: str | bytes, suffix: str, path: str) -> dict[str, Any]:
    """Return the document of a text in the format of a suffix; `path` is what a `FileFormatError` calls it."""
    found = _toml_value(text, path) if suffix == ".toml" else json_value(text, path)
    if not isinstance(found, dict):
        raise FileFormatError(path, None, must_be("the document", "names with values", found))
    return found


def json_value(text: str | bytes, path: str) -> object:
    """Return what a JSON text holds; raise `FileFormatError`, which calls it `path`, if it holds nothing.

    So it does if an object has a name twice, a text is half a surrogate pair, a whole number has thousands of digits,
    or lists are nested in lists a thousand times.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        found: object = json.loads(text, object_pairs_hook=_named_once)
        if _SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise FileFormatError(path, error.lineno, f"no JSON: {error.msg.lower()}") from error
    except _TwiceError as error:
        raise FileFormatError(path, None, f"no JSON: {error}") from error
    except UnicodeEncodeError as error:
        raise FileFormatError(path, None, "no JSON: a text is half a surrogate pair (\\ud800 to \\udfff)") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(path, None, f"no JSON that can be read: {_limit(error)}") from error
    return found


class _TwiceError(Exception):
    """A name that an object of JSON has twice."""


def _named_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of JSON; of a name that is there twice, one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise _TwiceError(f"an object has the name {brief(twice)} more than once")
    return found


def _require_short_keys(text: str, path: str) -> None:
    """Refuse a TOML text in which a key has more than 100 parts; `path` is what the error calls it."""
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise FileFormatError(path, line, f"a key must have at most 100 parts (got {brief(found[0])})")


def _toml_value(text: str | bytes, path: str) -> object:
    """Return what a TOML text holds."""
    try:
        if isinstance(text, bytes):
            text = text.decode()
        _require_short_keys(text, path)
        return tomllib.loads(text)
    except FileFormatError:
        raise
    except tomllib.TOMLDecodeError as error:
        place = _TOML_LINE.fullmatch(str(error))
        what, line = (place[1], int(place[2])) if place else (str(error), None)
        raise FileFormatError(path, line, f"no TOML: {what[:1].lower()}{what[1:]}") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(path, None, f"no TOML that can be read: {_limit(error)}") from error


def _limit(error: Exception) -> str:
    """Return the limit that a text is beyond, which is not one of its format."""
    if isinstance(error, UnicodeError):
        return f"it is no UTF-8: {error.reason}" if isinstance(error, UnicodeDecodeError) else str(error)
    if isinstance(error, RecursionError):
        return "lists or tables are nested too deep"
    return f"a whole number must have at most {sys.get_int_max_str_digits()} digits"


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FileFormatError(str(path), None, must_be("the suffix", " or ".join(SUFFIXES), suffix))
    return suffix


def _present(value: Any) -> Any:  # noqa: ANN401  whatever a document holds
    if isinstance(value, Mapping):
        return {name: _present(one) for name, one in value.items() if one is not None}
    return value


def _finite(value: Any) -> Any:  # noqa: ANN401  as above
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
