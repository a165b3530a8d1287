from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.files import read_whole, stem, write_whole


@given(st.binary(min_size=1), st.sampled_from(["", ".gz", ".bz2", ".xz", ".GZ"]))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str) -> None:
    path = tmp_path_factory.getbasetemp() / f"whole{suffix}"
    write_whole(path, b"x" + data)
    assert read_whole(path) == b"x" + data


def test_nothing_but_the_file_is_left(tmp_path: Path) -> None:
    write_whole(tmp_path / "log.swf.gz", b"1")
    write_whole(tmp_path / "log.swf.gz", b"2")
    assert [path.name for path in tmp_path.iterdir()] == ["log.swf.gz"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("KTH-SP2-1996-2.1-cln.swf.gz", "KTH-SP2-1996-2.1-cln"),
        ("lublin_256.SWF", "lublin_256"),
        ("jobs.json.xz", "jobs"),
        ("log.1.txt", "log.1"),
        (".gz", ".gz"),
        ("no suffix", "no suffix"),
    ],
)
def test_a_file_is_called_by_its_name_without_suffixes(name: str, expected: str) -> None:
    assert stem(Path("some") / name) == expected
