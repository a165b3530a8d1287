import itertools
import json
from pathlib import Path

import pytest

from experiments.campaigns.records import read_record, write_record
from simmodels.errors import FileFormatError


def test_a_run_is_written_as_json_whole(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    write_record(path, {"a": float("nan"), "b": (1, 2)})
    written = json.loads(path.read_text("utf-8"))
    assert written == {"a": None, "b": [1, 2], "digest": written["digest"]}
    assert read_record(path) == {"a": None, "b": [1, 2]}


def test_no_flipped_bit_of_a_json_file_is_believed(tmp_path: Path) -> None:
    about = {"cell": {"kind": "a"}, "error": "bad", "worker": "w", "traceback": "", "seed": 3}
    path = tmp_path / "x.json"
    write_record(path, about)
    whole = path.read_bytes()
    passed, named = 0, set()
    for place, bit in itertools.product(range(len(whole)), range(8)):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        path.write_bytes(content)
        try:
            found = read_record(path)
        except FileFormatError as error:
            named.add(error.path)
        else:
            passed += 1
            assert {key: found[key] for key in about} == about  # a blank, or the name of the digest
    assert named == {str(path)}
    assert passed < len(whole)


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '"text"', "\x00", "{'a': 1}", "[" * 100_000])
def test_json_that_is_no_object_is_reported_by_its_name(content: str, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(FileFormatError, match=r"manifest\.json: it (is no JSON|holds no JSON object)"):
        read_record(path)
