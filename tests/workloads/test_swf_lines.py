import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import FileFormatError
from simmodels.work.workload import COLUMNS
from tests.refused import refused
from tests.swf_files import assert_as_by_hand, by_hand, line, logs
from tests.work import written
from workloads import read_swf, swf_lines, write_swf
from workloads.swf_lines import FIELDS

# -- how a file may look ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw", ["Universität".encode(), "名古屋".encode(), "Universität".encode("latin-1"), b"\x85\xff\x00"]
)
def test_comments_may_hold_any_bytes_and_a_byte_order_mark_is_no_field(tmp_path: Path, raw: bytes) -> None:
    jobs = read_swf(written(tmp_path, b"\xef\xbb\xbf; at " + raw + b"\n" + line(1, 0, -1, 5, 1).encode()))
    assert (jobs.job_id.tolist(), len(jobs.header)) == ([1], 1)
    write_swf(jobs, tmp_path / "again.swf")
    assert read_swf(tmp_path / "again.swf").header == jobs.header


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


# -- what is refused --------------------------------------------------------------------------------

NO_NUMBERS = ("nan", "-inf", "1_000", "0x10", "2011-02-01", "true", "--5", "5e", '"5"', "x")
RANGE = "a number between -2**63 and 2**63"


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("1 2 3 4", "the number of fields must be 18, or at least 5 (got 4)"),
        ("1", "the number of fields must be 18, or at least 5 (got 1)"),
        ("hello", "field 1 (job_id) must be a number (got 'hello')"),
        (line(2, "x", -1, 5, 1), "field 2 (submit_s) must be a number (got 'x')"),
        *((line(2, 0, -1, each, 1), f"field 4 (runtime_s) must be a number (got {each!r})") for each in NO_NUMBERS),
        (line(2, 0, -1, "\uff11", 1), "field 4 (runtime_s) must be a number (got 'ï¼\\x91')"),
        (line(2, 0, -1, "9" * 100_000 + "x", 1), "field 4 (runtime_s) must be a number (got '9999...9999x')"),
        (line(2, 0, -1, "1e999", 1), f"field 4 (runtime_s) must be {RANGE} (got '1e999')"),
        (line(2, "9" * 5000, -1, 5, 1), f"field 2 (submit_s) must be {RANGE} (got '9999...9999')"),
        (line(2**63, 0, -1, 5, 1), f"field 1 (job_id) must be {RANGE} (got '9223372036854775808')"),
        (line(2.5, 0, -1, 5, 1), "field 1 (job_id) must be an integer (got '2.5')"),
        (line(2, 0, -1, 5, 1.5), "field 5 (allocated_cores) must be an integer (got '1.5')"),
        (line(2, 0, -1, 5, 1) + ";note", "field 18 (think_time_s) must be a number (got '-1;note')"),
    ],
)
@pytest.mark.parametrize("crowd", ["", line(9, 9, 9, 9, 9.0, 9.5) + "\n"], ids=["few fields", "all fields"])
def test_a_bad_line_is_named_with_its_number_and_field(tmp_path: Path, bad: str, what: str, crowd: str) -> None:
    path = written(tmp_path, f"; comment\n\n{line(1, 0, -1, 5, 1)}\n  ; comment\n{bad}\n{crowd}")
    with refused(f"{path}, line 5: {what}", FileFormatError) as caught:
        read_swf(path)
    assert caught.value.line == 5


@pytest.mark.parametrize("content", ["\n", "; a comment", "; a\n; b\n\n", " \t\n", "\ufeff"])
def test_a_file_without_a_job_is_refused(tmp_path: Path, content: str) -> None:
    with refused("...: no line holds a job", FileFormatError):
        read_swf(written(tmp_path, content))


# -- properties -------------------------------------------------------------------------------------


@given(logs(), st.integers(1, 200))
def test_any_good_log_is_read_as_by_hand(scratch: Path, log: bytes, piece: int) -> None:
    path = written(scratch, log, "by_hand.swf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf_lines, "_PIECE", piece)
        jobs = read_swf(path)
    rows, counts = by_hand(log)
    assert_as_by_hand(jobs, np.array(rows))
    assert jobs.counts["jobs"] == len(rows)
    assert {name: jobs.counts[name] for name in counts} == counts


@given(logs(), st.integers(1, 200))
def test_lines_read_at_once_and_one_by_one_are_the_same(scratch: Path, log: bytes, piece: int) -> None:
    path = written(scratch, log, "two_ways.swf")
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
