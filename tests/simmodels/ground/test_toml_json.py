import json
import math
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import FileFormatError
from simmodels.ground.toml_json import json_text, parsed, read_document, toml_text, write_document
from tests.refused import refused

texts = st.text(st.characters(exclude_categories=["Cs"]))
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(texts, floats, st.integers(-(2**63), 2**63 - 1), st.booleans(), st.lists(floats), st.lists(texts))
names = st.text("abcdefghij_", min_size=1)
documents = st.dictionaries(names, values).flatmap(
    lambda plain: st.fixed_dictionaries({"part": st.dictionaries(names, values)}).map(lambda part: {**plain, **part})
)


def same_bits(a: object, b: object) -> bool:
    return repr(a) == repr(b)  # of floats, the sign of zero too


@given(document=documents)
def test_a_document_is_read_back_to_the_last_bit(document: dict[str, Any]) -> None:
    assert same_bits(tomllib.loads(toml_text(document, "about it")), document)
    assert same_bits(json.loads(json_text(document)), document)


def test_numbers_that_are_not_finite_are_kept_and_what_is_absent_is_left_out() -> None:
    document = {"x": [math.inf, -math.inf, math.nan]}
    assert same_bits(tomllib.loads(toml_text(document)), document)
    assert same_bits([float(x) for x in json.loads(json_text(document))["x"]], document["x"])
    assert toml_text({"a": None, "b": 1}) == "b = 1\n"
    assert json.loads(json_text({"a": None, "b": 1})) == {"b": 1}
    assert parsed('{"a": "\\ud83d\\ude00"}', ".json", "it") == {"a": "\U0001f600"}, "no half of a pair"
    assert parsed(f"x = [{'1.5, ' * 500}]\n{'a.' * 99}a = 1", ".toml", "it")["x"] == [1.5] * 500, "no long key"


@pytest.mark.parametrize("name", ["a.toml", "a.TOML", "a.json"])
def test_a_file_is_written_in_the_format_of_its_name(tmp_path: Path, name: str) -> None:
    write_document(tmp_path / name, {"theta": [0.1]}, "what it is")
    assert read_document(tmp_path / name) == {"theta": [0.1]}
    assert ((tmp_path / name).read_text().startswith("# what it is\n")) == (not name.endswith("json"))
    with refused("...the suffix must be .toml or .json (got '')...", FileFormatError):
        write_document(tmp_path / "fit", {})


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.txt", b"", ": the suffix must be .toml or .json (got '.txt')"),
        ("a.toml", b"\nx = ", ": no TOML: invalid value (at end of document)"),
        ("a.toml", b"\nx = ]", ", line 2: no TOML: invalid value"),
        ("a.json", b"{\n", ", line 2: no JSON: expecting property name"),
        ("a.json", b"[1]", ": the document must be names with values (got [1])"),
        ("a.json", b'{"a": 1, "a": 2}', ": no JSON: an object has the name 'a' more than once"),
        ("a.json", b'{"a": "\\ud800"}', ": no JSON: a text is half a surrogate pair"),
        ("a.toml", b"x = 1\n" + b"a." * 50_000 + b"a = 1", ", line 2: a key must have at most 100 parts (got 'a.a.a"),
        ("a.toml", b"[" + b"'a' . " * 50_000 + b"a]", ", line 1: a key must have at most 100 parts (got "),
        ("a.toml", b"x" * 200_000, ": no TOML: expected '=' after a key"),
        ("a.toml", b"\xff", ": no TOML that can be read: it is no UTF-8: "),
        ("a.toml", None, ": cannot be read: no such file or directory"),
        ("a.toml", b"x = " + b"1" * 5000, ": no TOML that can be read: a whole number must have at most 4300 digits"),
        ("a.json", b'{"x": %s}' % (b"1" * 5000), ": no JSON that can be read: a whole number must have at most 4300"),
        ("a.json", b"[" * 200_000, ": no JSON that can be read: lists or tables are nested too deep"),
        ("a.toml", b"x = " + b"[" * 200_000, ": no TOML that can be read: lists or tables are nested too deep"),
    ],
)
def test_a_file_that_is_no_document_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes | None, text: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with refused(f"{path}{text}...", FileFormatError):
        read_document(path)


@pytest.mark.parametrize("name", ["a.toml", "a.json"])
def test_a_pipe_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileFormatError, match="cannot be read: it is a pipe; only a regular file is read"):
        read_document(tmp_path / name)
