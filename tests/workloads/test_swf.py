import bz2
import gzip
import itertools
import lzma
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simmodels.errors import FileFormatError, RequestError
from simmodels.schedule import Schedule
from simmodels.simulate import simulate
from simmodels.workload import COLUMNS, Workload
from tests.refused import refused
from workloads import read_swf, swf_lines, write_swf
from workloads.swf_lines import FIELDS

DRAWN = """\
; Version: 2.2
;Computer: drawn by hand
; UnixStartTime: 843480031
; MaxNodes: 64
; MaxProcs: 128

  1   0   12  100   4  95.5  -1   8   3600  -1  1  7  3  -1  2 -1 -1 -1
\t2\t5\t-1\t50\t16\t-1\t-1\t-1\t-1\t-1\t0\t8\t-1\t-1\t-1\t-1\t1\t60
; a comment among the jobs
  3   2   -1  -1  -1  -1    -1  -1   -1   -1  5  7 -1  -1 -1 -1 -1 -1
"""


def written(folder: Path, content: str | bytes, name: str = "log.swf") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def line(*fields: object) -> str:
    """Return a line that begins with these fields, all others unknown."""
    return " ".join(map(str, (*fields, *[-1] * (18 - len(fields)))))


def assert_same(one: Workload, other: Workload) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert set(one.extras) == set(other.extras)
    for name, column in one.extras.items():
        np.testing.assert_array_equal(column, other.extras[name], err_msg=name)
    assert one.header == other.header
    assert one.max_cores == other.max_cores
    assert one.start_unix_s == other.start_unix_s


# -- a log drawn by hand ----------------------------------------------------------------------------


def test_each_field_goes_where_it_belongs(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    assert jobs.job_id.tolist() == [1, 2, 3]
    assert jobs.submit_s.tolist() == [0, 5, 2]
    assert jobs.runtime_s.tolist() == [100, 50, -1]
    assert jobs.cores.tolist() == [8, 16, -1]
    assert jobs.estimate_s.tolist() == [3600, 3600, 3600]
    assert jobs.unlimited().tolist() == [False, True, True]
    assert jobs.user_id.tolist() == [7, 8, 7]
    assert {name: column.tolist() for name, column in jobs.extras.items()} == {
        "wait_s": [12, -1, -1],
        "allocated_cores": [4, 16, -1],
        "average_cpu_s": [95.5, -1, -1],
        "used_memory_kb": [-1, -1, -1],
        "requested_cores": [8, -1, -1],
        "requested_s": [3600, -1, -1],
        "requested_memory_kb": [-1, -1, -1],
        "status": [1, 0, 5],
        "group_id": [3, -1, -1],
        "executable": [-1, -1, -1],
        "queue": [2, -1, -1],
        "partition": [-1, -1, -1],
        "preceding_job": [-1, 1, -1],
        "think_time_s": [-1, 60, -1],
    }


def test_the_header_gives_size_and_start_and_is_kept(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    assert jobs.max_cores == 128
    assert jobs.start_unix_s == 843480031
    assert jobs.header == (
        "; Version: 2.2",
        ";Computer: drawn by hand",
        "; UnixStartTime: 843480031",
        "; MaxNodes: 64",
        "; MaxProcs: 128",
        "; a comment among the jobs",
    )


@pytest.mark.parametrize(("given", "zero"), [(253_402_300_799, 253_402_300_799), (253_402_300_800, None), (-1, None)])
def test_a_start_that_is_no_date_is_not_known(given: int, zero: int | None, tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN.replace("843480031", str(given))))
    assert jobs.start_unix_s == zero


def test_the_counts_say_what_was_read_and_filled_in(tmp_path: Path) -> None:
    assert dict(read_swf(written(tmp_path, DRAWN)).counts) == {
        "lines": 10,
        "comment lines": 6,
        "blank lines": 1,
        "jobs": 3,
        "lines with missing fields": 0,
        "lines with extra fields": 0,
        "jobs without a time limit": 2,
        "estimates taken from runtimes": 0,
        "estimates unknown": 0,
        "cores taken from allocated cores": 1,
        "cores unknown": 1,
        "runtimes unknown": 1,
        "duplicate job numbers": 0,
        "jobs out of submit order": 1,
        "starts before submit": 0,
    }


def test_jobs_that_started_before_their_submit_are_counted_and_kept(tmp_path: Path) -> None:
    waits = [0, -1, -3599, -0.5, 7]  # -1 is what the format says of a wait that is not known
    jobs = read_swf(written(tmp_path, "\n".join(line(n, 0, wait, 5, 1) for n, wait in enumerate(waits, 1))))
    assert jobs.counts["starts before submit"] == 2
    assert jobs.extras["wait_s"].tolist() == waits


def test_a_log_is_named_for_its_file_unless_a_name_is_given(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(DRAWN.encode()), "KTH-SP2-1996-2.1-cln.swf.gz")
    assert read_swf(path).name == "KTH-SP2-1996-2.1-cln"
    assert read_swf(str(path), name="KTH").name == "KTH"


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("; MaxNodes: 5", 5),
        ("; MaxNodes: 5\n; MaxProcs: 40 (8 a node)", 40),
        (";maxprocs:40", 40),
        ("; MaxProcs: -1\n; MaxNodes: 5", 5),
        ("; MaxProcs: many", None),
        ("; Note: MaxProcs: 40", None),
        ("", None),
    ],
)
def test_the_machine_is_as_large_as_maxprocs_says_or_else_maxnodes(
    tmp_path: Path, header: str, size: int | None
) -> None:
    assert read_swf(written(tmp_path, f"{header}\n{line(1, 0, -1, 5, 1)}")).max_cores == size


# -- how a file may look ----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_may_end_as_on_any_system(tmp_path: Path, end: str) -> None:
    expected = read_swf(written(tmp_path, DRAWN))
    found = read_swf(written(tmp_path, DRAWN.replace("\n", end), "other.swf"))
    assert_same(found, expected)
    assert found.counts == expected.counts


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".GZ", ".txt"])
def test_a_file_is_decompressed_by_its_first_bytes_whatever_its_name(tmp_path: Path, suffix: str) -> None:
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    expected = read_swf(written(tmp_path, DRAWN))
    packs = [pack[suffix.lower()]] if suffix.lower() in pack else list(pack.values())
    for packed in packs:
        assert_same(read_swf(written(tmp_path, packed(DRAWN.encode()), f"log.swf{suffix}")), expected)


def test_the_last_line_needs_no_end_and_a_byte_order_mark_is_no_field(tmp_path: Path) -> None:
    assert read_swf(written(tmp_path, b"\xef\xbb\xbf" + line(1, 0, -1, 5, 1).encode())).job_id.tolist() == [1]


@pytest.mark.parametrize("name", ["Universität", "名古屋"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_comments_may_hold_any_bytes(tmp_path: Path, name: str, encoding: str) -> None:
    raw = name.encode(encoding, errors="replace") + b"\x85\xff\x00"
    jobs = read_swf(written(tmp_path, b"; at " + raw + b"\n" + line(1, 0, -1, 5, 1).encode()))
    again = tmp_path / "again.swf"
    write_swf(jobs, again)
    assert read_swf(again).header == jobs.header


def test_fields_missing_at_the_end_of_a_line_are_unknown(tmp_path: Path) -> None:
    short = read_swf(written(tmp_path, "1 0 3 5 2\n2 1 0 4 2 -1 -1 8"))
    assert short.cores.tolist() == [2, 8]
    assert short.user_id.tolist() == [-1, -1]
    assert short.extras["status"].tolist() == [-1, -1]
    assert short.counts["lines with missing fields"] == 2
    assert read_swf(written(tmp_path, "1 0 3 5 2\n2 1 0 4 2")).counts["lines with missing fields"] == 2


@pytest.mark.parametrize("extra", ["7", "7 8 9", "some words", "; no comment", "nan"])
def test_what_follows_the_18th_field_is_ignored_and_counted(tmp_path: Path, extra: str) -> None:
    plain = line(1, 0, -1, 5, 2)
    jobs = read_swf(written(tmp_path, f"{plain} {extra}\n{plain}\n"))
    assert jobs.counts["lines with extra fields"] == 1
    assert_same(jobs, read_swf(written(tmp_path, f"{plain}\n{plain}\n")))
    assert read_swf(written(tmp_path, f"{plain} {extra}\n" * 2)).counts["lines with extra fields"] == 2


def test_numbers_may_be_written_in_any_usual_way(tmp_path: Path) -> None:
    ways = ["+1", "1e3", "-1", "2.50", "4.0", ".5", "1.", "007", "-0.25", "1E+2", "1", "5"]
    jobs = read_swf(written(tmp_path, line(*ways)))
    assert jobs.job(0).submit_s == 1000
    assert jobs.cores.tolist() == [7]
    assert [float(jobs.extras[name][0]) for name in ("average_cpu_s", "used_memory_kb", "requested_s")] == [
        0.5,
        1,
        -0.25,
    ]


def test_a_line_may_be_long_and_a_number_too(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, f"1 {'0' * 9999}2 3 {'0' * 2_000_000} 5{' ' * 2_000_000}8\n"))
    assert jobs.job(0).submit_s == 2
    assert jobs.extras["average_cpu_s"].tolist() == [8]


@pytest.mark.parametrize("crowd", ["", "1 2 3 4 5"])
def test_the_whole_range_of_64_bits_is_read_exactly(tmp_path: Path, crowd: str) -> None:
    largest = 2**63 - 1
    jobs = read_swf(written(tmp_path, f"{line(largest, 0, -largest - 1, 5, largest)}\n{crowd}"))
    assert jobs.job_id[0] == jobs.cores[0] == largest
    assert jobs.extras["wait_s"][0] == -largest - 1


def test_duplicate_job_numbers_are_kept_and_counted(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, "\n".join(line(number, 0, -1, 5, 1) for number in (4, 4, 5, 4))))
    assert jobs.job_id.tolist() == [4, 4, 5, 4]
    assert jobs.counts["duplicate job numbers"] == 2


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("1 2 3 4", r"the number of fields must be 18, or at least 5 \(got 4\)"),
        ("1", r"the number of fields must be 18, or at least 5 \(got 1\)"),
        ("hello", r"field 1 \(job_id\) must be a number \(got 'hello'\)"),
        (line(2, "x", -1, 5, 1), r"field 2 \(submit_s\) must be a number \(got 'x'\)"),
        (line(2, 0, -1, "nan", 1), r"field 4 \(runtime_s\) must be a number \(got 'nan'\)"),
        (line(2, 0, -1, "-inf", 1), r"field 4 \(runtime_s\) must be a number \(got '-inf'\)"),
        (
            line(2, 0, -1, "1e999", 1),
            r"field 4 \(runtime_s\) must be a number between -2\*\*63 and 2\*\*63 \(got '1e999'\)",
        ),
        (line(2, 0, -1, "1_000", 1), r"field 4 \(runtime_s\) must be a number \(got '1_000'\)"),
        (line(2, 0, -1, "0x10", 1), r"field 4 \(runtime_s\) must be a number \(got '0x10'\)"),
        (line(2, 0, -1, "2011-02-01", 1), r"field 4 \(runtime_s\) must be a number \(got '2011-02-01'\)"),
        (line(2, 0, -1, "true", 1), r"field 4 \(runtime_s\) must be a number \(got 'true'\)"),
        (line(2, 0, -1, "\uff11", 1), r"field 4 \(runtime_s\) must be a number \(got 'ï¼\\x91'\)"),
        (line(2, 0, -1, "--5", 1), r"field 4 \(runtime_s\) must be a number \(got '--5'\)"),
        (line(2, 0, -1, "5e", 1), r"field 4 \(runtime_s\) must be a number \(got '5e'\)"),
        (line(2, 0, -1, 5, 1.5), r"field 5 \(allocated_cores\) must be an integer \(got '1\.5'\)"),
        (line(2.5, 0, -1, 5, 1), r"field 1 \(job_id\) must be an integer \(got '2\.5'\)"),
        (
            line(2**63, 0, -1, 5, 1),
            r"field 1 \(job_id\) must be a number between -2\*\*63 and 2\*\*63 \(got '9223372036854775808'\)",
        ),
        (
            line(2, "9" * 5000, -1, 5, 1),
            r"field 2 \(submit_s\) must be a number between -2\*\*63 and 2\*\*63 \(got '9+\.\.\.9+'\)",
        ),
        (line(2, 0, -1, 5, 1) + ";note", r"field 18 \(think_time_s\) must be a number \(got '-1;note'\)"),
        (line(2, 0, -1, '"5"', 1), r"field 4 \(runtime_s\) must be a number \(got '\"5\"'\)"),
    ],
)
@pytest.mark.parametrize("crowd", ["", line(9, 9, 9, 9, 9.0, 9.5) + "\n"])
def test_a_bad_line_is_named_with_its_number_and_field(tmp_path: Path, bad: str, what: str, crowd: str) -> None:
    path = written(tmp_path, f"; comment\n\n{line(1, 0, -1, 5, 1)}\n  ; comment\n{bad}\n{crowd}")
    with pytest.raises(FileFormatError, match=re.escape(f"{path}, line 5: ") + ".*" + what) as caught:
        read_swf(path)
    assert caught.value.line == 5


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(FileFormatError, match="the file is empty"):
        read_swf(written(tmp_path, content))


@pytest.mark.parametrize("content", ["\n", "; a comment", "; a\n; b\n\n", " \t\n", "\ufeff"])
def test_a_file_without_a_job_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(FileFormatError, match="no line holds a job"):
        read_swf(written(tmp_path, content))


def test_a_missing_file_and_a_folder_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"nowhere\.swf: cannot be read: no such file") as caught:
        read_swf(tmp_path / "nowhere.swf")
    assert caught.value.line is None
    with pytest.raises(FileFormatError, match="cannot be read: is a directory"):
        read_swf(tmp_path)
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_swf("zero\0byte")


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_broken_compression_is_refused(tmp_path: Path, kind: str) -> None:
    whole = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[kind](DRAWN.encode() * 50)
    middle = len(whole) // 2
    for broken in (whole[:middle], whole[:-3], whole[:middle] + b"\x00\xff" + whole[middle + 2 :], whole[:12]):
        with pytest.raises(FileFormatError, match=f"its .{kind} data are truncated or corrupt"):
            read_swf(written(tmp_path, broken, f"log.swf.{kind}"))
    with pytest.raises(FileFormatError, match=f"its name ends in .{kind}, but it is not compressed that way"):
        read_swf(written(tmp_path, DRAWN, f"log.swf.{kind}"))


# -- properties -------------------------------------------------------------------------------------


def by_hand(text: bytes) -> tuple[list[list[float]], int, int]:
    """Return rows of 18 numbers, comment lines and blank lines: the format read in the most simple way."""
    rows, comments, blanks = [], 0, 0
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    for one in lines if lines[-1] else lines[:-1]:
        if not one.split():
            blanks += 1
        elif one.split()[0].startswith(b";"):
            comments += 1
        else:
            numbers = [float(field) for field in one.split()[:18]]
            rows.append(numbers + [-1.0] * (18 - len(numbers)))
    return rows, comments, blanks


WHOLE_NUMBERS = st.integers(-(2**62), 2**62).map(str) | st.integers(-1, 9).map(str)
NUMBERS = (
    WHOLE_NUMBERS
    | st.floats(-1e15, 1e15).map(repr)
    | st.decimals(-1000, 1000, places=3).map(str)
    | st.sampled_from(["1.", ".5", "+3", "00", "-0", "1e3", "2E-2", "-7.25e+1", "1" * 18, "-0.0", "0e0"])
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def lines_with_jobs(draw: st.DrawFn, fields: int) -> str:
    """Return a line of `fields` fields; those that must be whole are."""
    whole = {0, 4, 7, 11}
    tokens = [draw(st.integers(-1, 9).map(str) if at in whole else NUMBERS) for at in range(min(fields, 18))]
    tokens += draw(st.lists(NUMBERS | st.just("word"), min_size=fields - len(tokens), max_size=fields - len(tokens)))
    blanks = draw(st.lists(BLANKS, min_size=fields, max_size=fields))
    edge = st.sampled_from(["", " ", "\t "])
    return draw(edge) + "".join(map("".join, zip(blanks, tokens, strict=True))).strip() + draw(edge)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Return a good log: regular ones, ragged ones, comments and blank lines anywhere."""
    common = draw(st.integers(5, 20))
    job = lines_with_jobs(common)
    odd = st.integers(5, 20).flatmap(lines_with_jobs)
    other = st.sampled_from(["", "   ", "; note", ";", "  ; MaxProcs: 4", ";;1 2 3 4 5"])
    kinds = [job, job | other, job | odd | other]
    lines = draw(st.lists(draw(st.sampled_from(kinds)), max_size=12))
    lines.insert(draw(st.integers(0, len(lines))), draw(job))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


@given(logs(), st.integers(1, 200))
def test_any_good_log_is_read_as_by_hand(tmp_path_factory: pytest.TempPathFactory, log: bytes, piece: int) -> None:
    path = written(tmp_path_factory.getbasetemp(), log, "by_hand.swf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf_lines, "_PIECE", piece)
        jobs = read_swf(path)
    rows, comments, blanks = by_hand(log)
    found = {**jobs.extras, **{name: getattr(jobs, name) for name in COLUMNS}}
    for at, name in enumerate(FIELDS):
        np.testing.assert_array_equal(found[name].astype(float), [row[at] for row in rows], err_msg=name)
    assert jobs.counts["jobs"] == len(rows)
    assert jobs.counts["comment lines"] == comments
    assert jobs.counts["blank lines"] == blanks


@given(logs(), st.integers(1, 200))
def test_lines_read_at_once_and_one_by_one_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, log: bytes, piece: int
) -> None:
    path = written(tmp_path_factory.getbasetemp(), log, "two_ways.swf")
    normal = log.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    counts = {"lines with missing fields": 0, "lines with extra fields": 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf_lines, "_PIECE", piece)
        slow = swf_lines._parse_regular(swf_lines._mend(path, normal, counts), 0)
        jobs = read_swf(path)
    assert slow is not None
    found = {**jobs.extras, **{name: getattr(jobs, name) for name in COLUMNS}}
    for name, column in zip(FIELDS, slow, strict=True):
        np.testing.assert_array_equal(found[name], column, err_msg=name)
    assert {key: jobs.counts[key] for key in counts} == counts


def test_nothing_is_read_at_once_that_would_be_refused_one_by_one() -> None:
    for length in range(1, 5):
        for token in map("".join, itertools.product("05-+.e", repeat=length)):
            at_once = swf_lines._parse_regular(f"1 2 3 4 {token}".encode(), 0)
            if at_once is not None:
                assert swf_lines._NUMBER.fullmatch(token.encode()), token
                assert at_once[4][0] == float(token), token


def read_or_refused(path: Path) -> Workload | None:
    """Read a file of whatever content; there is no third way out."""
    try:
        return read_swf(path)
    except FileFormatError as error:
        text = str(error)
    assert text.startswith(str(path))
    assert "\n" not in text
    return None


def assert_every_line_is_accounted_for(jobs: Workload | None, content: bytes) -> None:
    if jobs is not None:
        text = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        counts = jobs.counts
        assert counts["lines"] == lines
        assert counts["jobs"] + counts["comment lines"] + counts["blank lines"] == lines
        assert len(jobs) == counts["jobs"] >= 1
        assert len(jobs.header) == counts["comment lines"]


@given(st.binary(max_size=300))
@example(b"\x1f\x8b")
@example(b"BZh")
@example(b"\xfd7zXZ\x00")
@example(b"\xff\xfe1\x00 \x002\x00")
@example(b"\x89PNG\r\n\x1a\n")
def test_any_bytes_are_a_workload_or_one_clear_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = written(tmp_path_factory.getbasetemp(), content, "bytes.swf")
    assert_every_line_is_accounted_for(read_or_refused(path), content)


@given(st.text(alphabet="0123456789 -+.eE;\t\r\n\v\f\0x\"',na", max_size=400))
@example("1 2 3 4 5\r6 7 8 9 10")
@example("0 0 0 0 0\v0\n")
@example("1 2 3 4 5\n \n\n;")
@example("1 2 3 4 -\n")
@example("1 2 3 4 5 6e\n")
def test_any_text_is_a_workload_or_one_clear_error(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = written(tmp_path_factory.getbasetemp(), content, "text.swf")
    assert_every_line_is_accounted_for(read_or_refused(path), content.encode())


@given(logs(), st.data())
def test_a_damaged_log_is_a_workload_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory, log: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(log)))
    cut = data.draw(st.integers(0, 5))
    content = (
        log[:at] + data.draw(st.binary(max_size=3) | st.sampled_from([b"nan", b" - ", b"1e400"])) + log[at + cut :]
    )
    path = written(tmp_path_factory.getbasetemp(), content, "damaged.swf")
    assert_every_line_is_accounted_for(read_or_refused(path), content)


FINITE = st.floats(-(2.0**62), 2.0**62) | st.integers(-1, 10**6).map(float)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Return any workload that the format can hold, with or without the fields it has no columns for."""
    rows = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[float]) -> list[float]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    whole = st.integers(-(2**62), 2**62)
    names = draw(st.sets(st.sampled_from([name for name in FIELDS if name not in COLUMNS])))
    must_be_whole = {"allocated_cores", "requested_cores"}
    return Workload(
        job_id=np.array(column(whole)),
        submit_s=np.array(column(FINITE)),
        runtime_s=np.array(column(FINITE)),
        estimate_s=np.array(column(FINITE.filter(bool))),
        cores=np.array(column(whole)),
        user_id=np.array(column(whole)),
        max_cores=draw(st.none() | st.integers(1, 10**9)),
        start_unix_s=draw(st.none() | st.integers(0, 2**33)),
        header=tuple(draw(st.lists(st.sampled_from(["; MaxProcs: 7", ";MaxNodes: 9", "; UnixStartTime: 5", "; é"])))),
        extras={
            name: np.array(column(whole if name in must_be_whole else draw(st.sampled_from([whole, FINITE]))))
            for name in names
        },
    )


@given(workloads())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, jobs: Workload) -> None:
    first, second = (tmp_path_factory.getbasetemp() / name for name in ("first.swf", "second.swf"))
    write_swf(jobs, first)
    once = read_swf(first)
    for name in ("job_id", "submit_s", "runtime_s", "cores", "user_id"):
        np.testing.assert_array_equal(getattr(once, name), getattr(jobs, name), err_msg=name)
    asked = jobs.estimate_s > 0
    np.testing.assert_array_equal(once.estimate_s[asked], jobs.estimate_s[asked])
    assert once.max_cores == jobs.max_cores
    assert once.start_unix_s == jobs.start_unix_s
    write_swf(once, second)
    assert_same(read_swf(second), once)
    assert second.read_bytes() == first.read_bytes()


@given(logs())
def test_a_log_read_written_and_read_is_the_same(tmp_path_factory: pytest.TempPathFactory, log: bytes) -> None:
    once = read_swf(written(tmp_path_factory.getbasetemp(), log, "once.swf"))
    again = tmp_path_factory.getbasetemp() / "again.swf"
    write_swf(once, again)
    assert_same(read_swf(again), once)


# -- writing ----------------------------------------------------------------------------------------


def test_a_workload_of_no_log_is_written_with_all_that_it_knows(tmp_path: Path) -> None:
    jobs = Workload(
        job_id=np.array([7, 8]),
        submit_s=np.array([0.0, 2.5]),
        runtime_s=np.array([10.0, 0.1]),
        estimate_s=np.array([20.0, 1e-7]),
        cores=np.array([3, 4]),
        max_cores=16,
        start_unix_s=99,
        extras={"mine": np.array(["a", "b"]), "wait_s": np.array([math.nan, 4])},
    )
    path = tmp_path / "log.swf"
    write_swf(jobs, path)
    assert path.read_text() == (
        "; MaxProcs: 16\n; UnixStartTime: 99\n"
        "7 0 -1 10 3 -1 -1 3 20 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
        "8 2.5 4 0.1 4 -1 -1 4 1e-07 -1 -1 -1 -1 -1 -1 -1 -1 -1\n"
    )


def test_the_header_written_says_the_size_and_start_that_the_workload_has(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    path = tmp_path / "again.swf"
    write_swf(replace(jobs, max_cores=100, start_unix_s=5), path)
    again = read_swf(path)
    assert (again.max_cores, again.start_unix_s) == (100, 5)
    assert again.header[2:5] == ("; UnixStartTime: 5", "; MaxNodes: 64", "; MaxProcs: 100")
    write_swf(replace(jobs, max_cores=None, start_unix_s=None), path)
    again = read_swf(path)
    assert (again.max_cores, again.start_unix_s) == (None, None)
    assert len(again.header) == 3


def test_a_header_of_other_lines_is_made_comments(tmp_path: Path) -> None:
    jobs = replace(read_swf(written(tmp_path, DRAWN)), header=("no comment\n1 2 3 4 5", "", "; one"))
    path = tmp_path / "again.swf"
    write_swf(jobs, path)
    assert read_swf(path).header[:4] == ("; no comment", "; 1 2 3 4 5", "; ", "; one")
    assert len(read_swf(path)) == 3


def test_changed_columns_are_written_and_not_the_fields_they_came_from(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    changed = replace(jobs, cores=np.array([9, 16, 2]), estimate_s=np.array([3600.0, 70.0, 5.0]))
    path = tmp_path / "again.swf"
    write_swf(changed, path)
    again = read_swf(path)
    assert again.cores.tolist() == [9, 16, 2]
    assert again.estimate_s.tolist() == [3600, 70, 5]
    assert again.extras["requested_cores"].tolist() == [9, -1, 2]


LIMITS = [(9, 1), (-1, 1), (-1, 2), (5, 2), (-1, 3), (20, -1), (-1, -1)]


@pytest.mark.parametrize("rows", [slice(None), slice(0, 5), slice(1, 3), slice(2, 5), slice(4, 5)])
def test_jobs_without_a_limit_have_the_longest_one_of_their_partition_also_when_written_again(
    tmp_path: Path, rows: slice
) -> None:
    fields = [
        line(number, 0, -1, 7, 1, -1, -1, 1, asked, *[-1] * 6, partition)
        for number, (asked, partition) in enumerate(LIMITS, 1)
    ]
    jobs = read_swf(written(tmp_path, "\n".join(fields)))
    assert jobs.estimate_s.tolist() == [9, 9, 5, 5, 20, 20, 20]
    assert jobs.unlimited().tolist() == [False, True, True, False, True, False, True]
    assert jobs.counts["jobs without a time limit"] == 4
    none = read_swf(written(tmp_path, "\n".join([fields[1], fields[2].replace(" 7 ", " 8 ")])))
    assert none.estimate_s.tolist() == [7, 8], "runtimes, if no job has a limit"
    assert none.counts["estimates taken from runtimes"] == 2
    part = jobs.take(rows)
    write_swf(part, tmp_path / "part.swf")
    assert read_swf(tmp_path / "part.swf").estimate_s.tolist() == part.estimate_s.tolist()
    write_swf(simulate(jobs, cores=4), tmp_path / "scheduled.swf")
    assert read_swf(tmp_path / "scheduled.swf").unlimited().tolist() == jobs.unlimited().tolist()


def test_a_schedule_is_written_with_its_waits_runs_and_fates(tmp_path: Path) -> None:
    nan = math.nan
    jobs = Workload(
        job_id=np.array([1, 2, 3, 4]),
        submit_s=np.array([0.1, 5, 6, 7]),
        runtime_s=np.array([10.2, 100, 50, 9]),
        estimate_s=np.array([20.0, 60, 50, 9]),
        cores=np.array([2, 3, 4, 5]),
        user_id=np.array([6, 7, 8, 9]),
        max_cores=64,
        header=("; MaxProcs: 64",),
        extras={"status": np.array([1, 1, 1, 1]), "queue": np.array([3, 3, 3, 3])},
    )
    start_s, end_s = np.array([0.7, 10, 20, nan]), np.array([0.7 + 10.2, 70, nan, nan])
    schedule = Schedule(jobs, 8, start_s, end_s, outcome=np.array([0, 1, 2, 2], dtype=np.int8))
    path = tmp_path / "schedule.swf.gz"
    write_swf(schedule, path)
    assert gzip.decompress(path.read_bytes()).decode() == (
        "; MaxProcs: 8\n"
        "1 0.1 0.6 10.2 2 -1 -1 2 20 -1 1 6 -1 -1 3 -1 -1 -1\n"
        "2 5 5 60 3 -1 -1 3 60 -1 0 7 -1 -1 3 -1 -1 -1\n"
        "3 6 14 -1 4 -1 -1 4 50 -1 5 8 -1 -1 3 -1 -1 -1\n"
        "4 7 -1 -1 -1 -1 -1 5 9 -1 5 9 -1 -1 3 -1 -1 -1\n"
    )


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_the_same_log_makes_the_same_file_of_the_kind_its_name_says(tmp_path: Path, suffix: str) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    one, other = tmp_path / f"one.swf{suffix}", tmp_path / f"other.swf{suffix}"
    write_swf(jobs, one)
    write_swf(jobs, str(other))
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes()[:2] == {"": b"; ", ".gz": b"\x1f\x8b", ".bz2": b"BZ", ".xz": b"\xfd7"}[suffix]
    assert_same(read_swf(one), jobs)


def test_what_cannot_be_written_is_refused_and_leaves_the_old_file(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    before = (tmp_path / "log.swf").read_bytes()
    with pytest.raises(RequestError, match="the workload is empty"):
        write_swf(jobs.head(0), tmp_path / "log.swf")
    with refused("the values of column status must be finite numbers (got array(['a', 'b', 'c'], dtype='<U1'))"):
        write_swf(replace(jobs, extras={"status": np.array(["a", "b", "c"])}), tmp_path / "log.swf")
    with refused("the values of column wait_s must be finite numbers (got array([ 1.,  2., inf]))"):
        write_swf(replace(jobs, extras={"wait_s": np.array([1, 2, math.inf])}), tmp_path / "log.swf")
    with pytest.raises(RequestError, match=r"cannot write .*nowhere"):
        write_swf(jobs, tmp_path / "nowhere" / "log.swf")
    with pytest.raises(RequestError, match="cannot write"):
        write_swf(jobs, tmp_path)
    assert (tmp_path / "log.swf").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["log.swf"]


# -- real logs --------------------------------------------------------------------------------------

LOGS = {
    "ANL-Intrepid-2009-1": (68_936, 163_840),
    "CEA-Curie-2011-2.1-cln": (312_826, 93_312),
    "KTH-SP2-1996-2": (28_489, 100),
    "KTH-SP2-1996-2.1-cln": (28_476, 100),
    "NASA-iPSC-1993-3.1-cln": (18_239, 128),
    "SDSC-BLUE-2000-4.2-cln": (243_306, 1152),
    "SDSC-SP2-1998-4.2-cln": (59_715, 128),
    "lublin_256": (10_000, 256),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_real_log_is_read_whole_and_written_again(shared: Path, tmp_path: Path, name: str) -> None:
    path = shared / "traces" / f"{name}.swf.gz"
    jobs = read_swf(path)
    text = gzip.decompress(path.read_bytes())
    by_eye = sum(1 for one in text.splitlines() if one.strip() and not one.lstrip().startswith(b";"))
    assert (len(jobs), jobs.max_cores) == LOGS[name]
    assert len(jobs) == by_eye == jobs.counts["jobs"]
    assert jobs.counts["lines"] == len(text.splitlines())
    assert jobs.name == name
    write_swf(jobs, tmp_path / "again.swf")
    assert_same(read_swf(tmp_path / "again.swf"), jobs)


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2", "SDSC-SP2-1998-4.2-cln", "lublin_256"])
def test_a_real_log_is_read_as_by_hand(shared: Path, name: str) -> None:
    path = shared / "traces" / f"{name}.swf.gz"
    jobs = read_swf(path)
    rows = np.array(by_hand(gzip.decompress(path.read_bytes()))[0])
    found = {**jobs.extras, **{column: getattr(jobs, column) for column in COLUMNS}}
    for at, field in enumerate(FIELDS):
        np.testing.assert_array_equal(found[field], rows[:, at], err_msg=field)
    np.testing.assert_array_equal(jobs.cores, np.where(rows[:, 7] > 0, rows[:, 7], rows[:, 4]))
    instead = rows[:, 8].max() if (rows[:, 8] > 0).any() else rows[:, 3]  # all jobs are in one partition
    np.testing.assert_array_equal(jobs.estimate_s, np.where(rows[:, 8] > 0, rows[:, 8], instead))


def test_a_field_of_a_hundred_thousand_digits_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(f"1 0 -1 10 2\n2 0 -1 {'9' * 100_000}x 2\n")
    with refused("...line 2: field 4 (runtime_s) must be a number (got '9999...9999x')", FileFormatError):
        read_swf(tmp_path / "log.swf")
