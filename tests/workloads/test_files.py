import bz2
import gzip
import json
import lzma
import os
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simmodels.errors import FileFormatError, printable
from tests.attacks.files import Reader, outcome
from tests.attacks.mutations import MUTATIONS
from tests.refused import refused
from tests.work import changed, places, written
from workloads import files
from workloads.arrivals import read_workflows
from workloads.batsim import read_batsim
from workloads.borg import is_borg_slice, read_borg_slice
from workloads.capacities import read_series
from workloads.dax import read_dax
from workloads.files import read_start, read_whole, stem, write_whole
from workloads.sacct import is_sacct, read_sacct
from workloads.swf import read_swf
from workloads.wfformat import read_wfformat

PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
READERS = (read_swf, read_sacct, read_borg_slice, read_batsim, read_wfformat, read_dax, read_series)


@given(st.binary(min_size=1), st.sampled_from(["", ".gz", ".bz2", ".xz", ".GZ"]))
def test_what_is_written_is_read_again(scratch: Path, data: bytes, suffix: str) -> None:
    path, again = scratch / f"whole{suffix}", scratch / f"again{suffix}"
    for each in (path, again):
        write_whole(each, b"x" + data)
        assert read_whole(each) == b"x" + data
    assert path.read_bytes() == again.read_bytes()
    begins = {".gz": b"\x1f\x8b", ".bz2": b"BZ", ".xz": b"\xfd7"}
    assert path.read_bytes().startswith(begins.get(suffix.lower(), b"x"))


def test_nothing_but_the_file_is_left(tmp_path: Path) -> None:
    write_whole(tmp_path / "log.swf.gz", b"1")
    write_whole(tmp_path / "log.swf.gz", b"2")
    assert [path.name for path in tmp_path.iterdir()] == ["log.swf.gz"]


@pytest.mark.parametrize("packed_as", PACK)
@pytest.mark.parametrize("suffix", ["", ".txt", ".gz", ".bz2", ".XZ"])
def test_a_file_is_decompressed_by_its_first_bytes_whatever_its_name(
    tmp_path: Path, packed_as: str, suffix: str
) -> None:
    assert read_whole(written(tmp_path, PACK[packed_as](b"some text"), f"log{suffix}")) == b"some text"


@pytest.mark.parametrize("suffix", PACK)
def test_broken_compression_is_refused(tmp_path: Path, suffix: str) -> None:
    whole = PACK[suffix](random.Random(1).randbytes(5000))
    middle = len(whole) // 2
    for broken in (whole[:middle], whole[:-3], whole[:middle] + b"\x00\xff" + whole[middle + 2 :], whole[:12]):
        with refused(f"...: its {suffix} data are truncated or corrupt: ...", FileFormatError):
            read_whole(written(tmp_path, broken, f"log{suffix}"))
    with refused(f"...: its name ends in {suffix}, but it is not compressed that way", FileFormatError):
        read_whole(written(tmp_path, b"some text", f"log{suffix}"))


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


@pytest.mark.parametrize("suffix", PACK)
def test_what_unpacks_to_more_than_the_limit_or_a_hundred_times_its_size_is_refused_with_both(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert files.UNPACKED == 64 << 20
    monkeypatch.setattr(files, "UNPACKED", 4 << 20)
    bomb = written(tmp_path, PACK[suffix](bytes((4 << 20) + 1)), f"bomb{suffix}")
    text = f"{bomb}: its ... bytes of {suffix} data unpack to more than 4,194,304 ...; unpack it first if..."
    with refused(text, FileFormatError):
        read_whole(bomb)
    assert read_start(bomb, 10) == bytes(10)
    monkeypatch.setattr(files, "UNPACKED", 1000)
    lines = b"".join(b"%d %d\n" % (i * i, i % 7) for i in range(20_000))
    assert read_whole(written(tmp_path, PACK[suffix](lines), f"log{suffix}")) == lines


@pytest.mark.parametrize("suffix", PACK)
def test_streams_that_follow_each_other_are_one_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    path.write_bytes(PACK[suffix](b"a" * 3_000_000) + PACK[suffix](b"b") + bytes(2_000_000) + PACK[suffix](b"c"))
    if suffix == ".gz":  # gzip has zeros after the last stream only
        path.write_bytes(PACK[suffix](b"a" * 3_000_000) + PACK[suffix](b"b") + PACK[suffix](b"c") + bytes(2_000_000))
    assert read_whole(path) == b"a" * 3_000_000 + b"bc"


@pytest.mark.parametrize("suffix", PACK)
def test_a_second_stream_that_is_damaged_is_not_silently_lost(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    second = PACK[suffix](b"2 second\n")
    for damaged in (b"x" + second[1:], second[:-1], b"x"):
        path.write_bytes(PACK[suffix](b"1 first\n") + damaged)
        with pytest.raises(FileFormatError, match=f"its {suffix} data are truncated or corrupt"):
            read_whole(path)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_every_reader_refuses_what_is_no_file_that_can_be_read_at_once(
    tmp_path: Path, suffix: str, read: Callable[[Path], object]
) -> None:
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    for path, what in (
        (tmp_path / f"pipe{suffix}", "cannot be read: it is a pipe; only a regular file is read"),
        (tmp_path / f"folder{suffix}", "cannot be read: is a directory"),
        (tmp_path / f"nowhere{suffix}", "cannot be read: no such file or directory"),
        (Path("/dev/zero"), "cannot be read: it is a device; only a regular file is read"),
        (written(tmp_path, b"", "empty"), "the file is empty"),
        (written(tmp_path, gzip.compress(b""), "empty.gz"), "the file is empty"),
        (Path("zero\0byte"), "cannot be read: ..."),
    ):
        with refused(f"{printable(str(path))}: {what}", FileFormatError) as caught:
            read(path)
        assert caught.value.line is None


@pytest.mark.parametrize(
    "name", ["swf", "sacct", "borg", "batsim", "wfformat", "dax", "series", "fit toml", "workload file", "study"]
)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_file_is_read_with_all_its_lines_or_refused_in_one_line_that_names_it(
    scratch: Path, good: dict[str, Reader], name: str, seed: int
) -> None:
    """As `make attack` does, with thousands of cases."""
    reader, drawn = good[name], random.Random(seed)
    data = drawn.choice(reader.seeds)
    for mutate in drawn.choices(MUTATIONS, k=drawn.choice((1, 1, 2, 3))):
        data = mutate(drawn, data)
    outcome(reader, written(scratch, data, f"damaged{reader.suffix}"))


@pytest.mark.parametrize("name", ["batsim", "wfformat"])
@pytest.mark.parametrize("depth", [900, 950, 970, 980, 990])
def test_a_value_nested_as_deep_as_json_may_be_is_left_alone_or_refused_in_a_short_line(
    scratch: Path, good: dict[str, Reader], name: str, depth: int
) -> None:
    content = json.loads(good[name].seeds[0])
    for way in places(content)[1:]:
        text = json.dumps(changed(content, way, "DEEP")).replace('"DEEP"', "[" * depth + "]" * depth)
        path = written(scratch, text, "deep.json")
        try:
            good[name].read(path)
        except FileFormatError as error:
            assert len(str(error)) < len(str(path)) + 300  # noqa: PT017  it need not be refused


def test_no_pipe_is_opened_to_see_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    assert read_start(tmp_path / "pipe.json") == b""
    assert not is_sacct(tmp_path / "pipe.json")
    assert not is_borg_slice(tmp_path / "pipe.json")
    with pytest.raises(FileFormatError, match="the folder has no workflow"):
        read_workflows(tmp_path)


# -- memory that threads of Arrow hold -------------------------------------------------------------


@pytest.mark.parametrize("name", ["swf", "sacct"])
def test_threads_of_arrow_hold_no_memory_of_the_interpreter(
    name: str, good: dict[str, Reader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that ended right after reading was aborted, in six cases of ten."""
    noted, read_csv = [], arrow_csv.read_csv

    def noting(memory: pa.Buffer, **options: object) -> pa.Table:
        noted.append(memory)
        return read_csv(memory, **options)

    monkeypatch.setattr(arrow_csv, "read_csv", noting)
    good[name].read(written(tmp_path, good[name].seeds[0]))
    assert [memory.is_mutable for memory in noted] == [True]  # bytes of Python's are not
