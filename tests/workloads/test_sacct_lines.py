from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import FileFormatError
from tests.refused import refused
from tests.sacct_files import USUAL, assert_accounted_for, printed, read
from tests.work import assert_same, written
from workloads import read_sacct, sacct_lines
from workloads.sacct import is_sacct


def test_steps_are_left_out_and_counted(tmp_path: Path) -> None:
    steps = ["10.batch", "10.extern", "10.0", "10.interactive", "11_4.0", "12+1.extern", "13.4294967295"]
    records = [{"JobID": step, "User": "", "Timelimit": "", "Submit": "Unknown"} for step in steps]
    jobs = read(tmp_path, {}, *records)
    assert len(jobs) == 1
    assert jobs.counts["job steps"] == len(steps)
    assert_accounted_for(jobs)


@pytest.mark.parametrize(
    ("gone", "named"),
    [
        *[("Submit", "Submit"), ("State Start", "Start, State"), ("End Elapsed", "ElapsedRaw or Elapsed or End")],
        ("ReqCPUS AllocCPUS", "AllocCPUS or NCPUS or ReqCPUS or AllocTRES or ReqTRES"),
    ],
)
def test_a_missing_column_is_named_with_the_command_that_makes_it(tmp_path: Path, gone: str, named: str) -> None:
    columns = [name for name in USUAL if name not in gone.split()]
    with refused(
        f"...the header lacks {named}; this makes a file with all columns: sacct...", FileFormatError
    ) as caught:
        read(tmp_path, {}, columns=columns)
    assert caught.value.line == 1
    path = written(tmp_path, printed({}, columns=[name for name in USUAL if name != "Eligible"]))
    assert len(read_sacct(path)) == 1
    with pytest.raises(FileFormatError, match="the header lacks Eligible; "):  # needed only if it counts
        read_sacct(path, submit="eligible")


@pytest.mark.parametrize("end", ["", "|"])
def test_columns_stand_in_any_order_and_case_with_or_without_a_last_bar(tmp_path: Path, end: str) -> None:
    names = ["END", "state", "alloccpus", "Submit", "TimeLimit", "Start", "jobid"]
    values = ["2024-03-01T09:00:05", "COMPLETED", "8", "2024-03-01T08:00:00", "1-00:00:00", "2024-03-01T08:00:05", "7"]
    jobs = read_sacct(written(tmp_path, f"{'|'.join(names)}{end}\n{'|'.join(values)}{end}\n"))
    assert (jobs.job_id[0], jobs.runtime_s[0], jobs.estimate_s[0], jobs.cores[0]) == (7, 3600, 86400, 8)
    assert jobs.user_id.tolist() == [-1]


def test_the_command_in_the_errors_makes_a_good_file(tmp_path: Path) -> None:
    names = sacct_lines.COMMAND.rpartition(" ")[2].split(",")
    raw = {"JobIDRaw": "10", "ElapsedRaw": "3600", "TimelimitRaw": "120", "Suspended": "00:00:00"}
    jobs = read(tmp_path, raw, columns=names)
    assert (jobs.runtime_s[0], jobs.estimate_s[0]) == (3600, 7200)
    assert read(tmp_path, raw, columns=names, submit="eligible").submit_s.tolist() == [0]


@pytest.mark.parametrize("keep", ["last", "all"])
def test_files_can_be_put_together_though_they_overlap(tmp_path: Path, keep: str) -> None:
    text = printed({}, {"JobID": "11"}) + printed({"JobID": "11"}, {"JobID": "12"})
    jobs = read_sacct(written(tmp_path, text), keep=keep)  # type: ignore[arg-type]
    assert jobs.job_id.tolist() == [10, 11, 12]
    assert (jobs.counts["header lines"], jobs.counts["repeated records"]) == (2, 1)
    assert_accounted_for(jobs)


@pytest.mark.parametrize("columns", [[*reversed(USUAL)], [*USUAL][:-1], [*USUAL, "QOS"]])
def test_a_later_header_of_other_columns_is_refused(tmp_path: Path, columns: list[str]) -> None:
    text = printed({}, {"JobID": "11", "User": "JobID"}) + printed({"JobID": "12"}, columns=columns)
    with refused(
        "...: other columns than in line 1; read what follows as a file of its own", FileFormatError
    ) as caught:
        read_sacct(written(tmp_path, text))
    assert caught.value.line == 4


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_ends_marks_blank_lines_and_bytes_that_are_no_text_do_no_harm(tmp_path: Path, end: bytes) -> None:
    text = "\n" + printed({"User": "a\xff"}, {"JobID": "11", "User": "名"}).replace("\n", "\n\n").removesuffix("\n\n")
    data = b"\xef\xbb\xbf" + text.encode().replace("ÿ".encode(), b"\xff").replace(b"\n", end)
    jobs = read_sacct(written(tmp_path, data))
    assert jobs.extras["user"].tolist() == ["a\ufffd", "名"]
    assert jobs.counts["blank lines"] == 3
    assert_accounted_for(jobs)


@pytest.mark.parametrize("end", ["", "|"])
def test_a_bar_in_a_name_does_no_harm_in_the_last_column(tmp_path: Path, end: str) -> None:
    columns = [*USUAL, "JobName"]
    names = ["plain", "a|b", "||", "ünï|x", "|"]
    text = printed(*[{"JobID": str(at), "JobName": name} for at, name in enumerate(names)], columns=columns, end=end)
    jobs = read_sacct(written(tmp_path, text))
    assert jobs.extras["job_name"].tolist() == names
    assert jobs.job_id.tolist() == [0, 1, 2, 3, 4]
    assert read(tmp_path, {"JobName": "a|b"}, columns=columns).extras["job_name"] == ["a|b"]


def test_a_bar_in_a_name_elsewhere_makes_a_bad_line(tmp_path: Path) -> None:
    columns = ["JobName", *USUAL]
    path = written(tmp_path, printed({"JobName": "fine"}, {"JobName": "a|b"}, columns=columns))
    jobs = read_sacct(path)
    assert (len(jobs), jobs.counts["bad lines: too many fields"]) == (1, 1)
    assert jobs.counts["first line at fault: too many fields"] == 3
    with pytest.raises(FileFormatError, match="too many fields") as caught:
        read_sacct(path, strict=True)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("record", "reason", "shown"),
    [
        ({"JobID": "ten"}, "JobID is no job's", "'ten'"),
        ({"JobIDRaw": "1_2"}, "JobIDRaw is no job's", "'1_2'"),
        ({"Submit": "yesterday"}, "Submit is no time", "'yesterday'"),
        ({"Submit": "2024-02-30T00:00:00"}, "Submit is no time", "'2024-02-30T00:00:00'"),
        ({"Submit": "1970-01-01T00:00:00"}, "Submit is no time", "'1970-01-01T00:00:00'"),
        ({"End": "9999-12-31T23:59:59"}, "End is no time", "'9999-12-31T23:59:59'"),
        ({"Submit": "Unknown"}, "Submit is unknown", "'Unknown'"),
        ({"Start": "08:00"}, "Start is no time", "'08:00'"),
        ({"End": "2024-03-01T25:00:00"}, "End is no time", "'2024-03-01T25:00:00'"),
        *(
            ({"Elapsed": each}, "Elapsed cannot be read", repr(each))
            for each in ("long", "5", "1-02:03", "-1:00:00", "1:2:3:4", "\u0661:00")
        ),
        ({"Timelimit": "1h"}, "Timelimit cannot be read", "'1h'"),
        ({"TimelimitRaw": "soon"}, "TimelimitRaw cannot be read", "'soon'"),
        ({"AllocCPUS": "-4"}, "AllocCPUS cannot be read", "'-4'"),
        ({"ReqCPUS": "2.5"}, "ReqCPUS cannot be read", "'2.5'"),
        ({"State": ""}, "State is empty", ""),
    ],
)
def test_a_line_that_cannot_be_read_is_counted_by_reason_or_refused(
    tmp_path: Path, record: Mapping[str, str], reason: str, shown: str
) -> None:
    raw = {"JobIDRaw": "9"} if "JobIDRaw" in record else {}
    path = written(tmp_path, printed({"JobID": "9", **raw}, {**raw, **record}, {"JobID": "8", **raw, **record}))
    if "JobID" not in record:
        jobs = read_sacct(path, timezone="America/New_York")
        assert len(jobs) == 1
        assert jobs.counts["bad lines"] == jobs.counts[f"bad lines: {reason}"] == 2
        assert jobs.counts[f"first line at fault: {reason}"] == 3
        assert_accounted_for(jobs)
    with pytest.raises(FileFormatError, match=f"line 3: {reason}.*{shown}") as caught:
        read_sacct(path, strict=True)
    assert caught.value.line == 3


@pytest.mark.parametrize("content", ["", "\n \n", "hello\n", "; Version: 2.2\n1 2 3\n", "a|b\n1|2\n"])
def test_a_file_without_a_header_is_refused(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content)
    assert not is_sacct(path)
    with pytest.raises(FileFormatError, match=r"the file is empty|the first line must name .*: sacct --allusers"):
        read_sacct(path)


def test_a_file_without_a_job_is_refused_with_the_first_line_at_fault(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"no line holds a job$"):
        read_sacct(written(tmp_path, printed()))
    with pytest.raises(FileFormatError, match=r"no line holds a job.*line 2: Submit is no time: 'x'"):
        read_sacct(written(tmp_path, printed({"Submit": "x"})))
    with pytest.raises(FileFormatError, match=r"no line holds a job"):
        read_sacct(written(tmp_path, printed({"JobID": "1.batch"})))


# -- properties -------------------------------------------------------------------------------------

_JOBS = st.lists(
    st.tuples(
        *(st.integers(least, most) for least, most in ((0, 10**8), (0, 10**6), (0, 10**7), (1, 10**6), (1, 10**4)))
    ),
    min_size=1,
    max_size=20,
)


def of(jobs: Sequence[tuple[int, int, int, int, int]]) -> list[dict[str, str]]:
    """Return jobs (submit, wait, runtime, limit in minutes, cores) as records."""
    zero, records = datetime(2024, 1, 1, tzinfo=UTC), []
    for number, (submit, wait, runtime, minutes, cores) in enumerate(jobs, start=1):
        submitted = zero + timedelta(seconds=submit)
        start = submitted + timedelta(seconds=wait)
        length = timedelta(seconds=runtime)
        clock = timedelta(seconds=runtime % 86400)
        hours = f"{clock.seconds // 3600:02}:{clock.seconds // 60 % 60:02}:{clock.seconds % 60:02}"
        times = {"Submit": submitted, "Eligible": submitted, "Start": start, "End": start + length}
        records.append(
            {name: f"{time:%Y-%m-%dT%H:%M:%S}" for name, time in times.items()}
            | {"JobID": str(number), "Elapsed": f"{length.days}-{hours}" if length.days else hours}
            | {"TimelimitRaw": str(minutes), "AllocCPUS": str(cores), "User": f"user{cores % 3}"}
        )
    return records


@given(jobs=_JOBS)
def test_a_workload_that_is_printed_is_read_again_as_it_was(
    scratch: Path, jobs: list[tuple[int, int, int, int, int]]
) -> None:
    read_again = read_sacct(written(scratch, printed(*of(jobs)), "printed.sacct"), strict=True)
    submit, wait, runtime, minutes, cores = np.array(jobs, dtype=float).T
    assert read_again.job_id.tolist() == list(range(1, len(jobs) + 1))
    np.testing.assert_array_equal(read_again.submit_s, submit - submit.min())
    np.testing.assert_array_equal(read_again.runtime_s, runtime)
    np.testing.assert_array_equal(read_again.estimate_s, minutes * 60)
    np.testing.assert_array_equal(read_again.cores, cores)
    np.testing.assert_array_equal(read_again.extras["wait_s"], wait)
    users = sorted({f"user{int(n) % 3}" for n in cores})
    assert [users[number - 1] for number in read_again.user_id] == [f"user{int(n) % 3}" for n in cores]


def test_pieces_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = of([(second, 3, second % 7, 5, 1 + second % 5) for second in range(40)])
    odd = [
        {"JobID": "4.0"},
        {"JobID": "50", "Submit": "x"},
        {"JobID": "51", "JobName": "a|b"},
        {"JobID": "52", "End": "x"},
    ]
    path = written(tmp_path, printed(*records[:20], *odd, {**records[3], "State": "FAILED"}, *records[20:]) + "\n\n7|8")
    whole = read_sacct(path)
    assert (whole.counts["bad lines"], whole.counts["job steps"], len(whole)) == (3, 1, 41)
    for size in (1, 100, 1000):
        monkeypatch.setattr(sacct_lines, "_PIECE", size)
        assert_same(read_sacct(path), whole)
        assert read_sacct(path).counts == whole.counts
