import gzip
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.work.workload import COLUMNS, Workload
from tests.refused import refused
from tests.swf_files import DRAWN, line, logs
from tests.work import assert_same, written
from workloads import read_swf, write_swf
from workloads.swf_lines import FIELDS

# -- a log drawn by hand ----------------------------------------------------------------------------


def test_each_field_goes_where_it_belongs_and_the_counts_say_what_was_filled_in(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    assert jobs.job_id.tolist() == [1, 2, 3]
    assert jobs.submit_s.tolist() == [0, 5, 2]
    assert jobs.runtime_s.tolist() == [100, 50, -1]
    assert jobs.cores.tolist() == [8, 16, -1]
    assert jobs.estimate_s.tolist() == [3600, 3600, 3600]
    assert jobs.unlimited().tolist() == [False, True, True]
    assert jobs.user_id.tolist() == [7, 8, 7]
    known = {name: column.tolist() for name, column in jobs.extras.items() if (column != -1).any()}
    assert known == {
        "wait_s": [12, -1, -1],
        "allocated_cores": [4, 16, -1],
        "average_cpu_s": [95.5, -1, -1],
        "requested_cores": [8, -1, -1],
        "requested_s": [3600, -1, -1],
        "status": [1, 0, 5],
        "group_id": [3, -1, -1],
        "queue": [2, -1, -1],
        "preceding_job": [-1, 1, -1],
        "think_time_s": [-1, 60, -1],
    }
    assert (jobs.max_cores, jobs.start_unix_s) == (128, 843480031)
    assert jobs.header == tuple(each for each in DRAWN.splitlines() if each.startswith(";"))
    assert {name: count for name, count in jobs.counts.items() if count} == {
        "lines": 10,
        "comment lines": 6,
        "blank lines": 1,
        "jobs": 3,
        "jobs without a time limit": 2,
        "cores taken from allocated cores": 1,
        "cores unknown": 1,
        "runtimes unknown": 1,
        "jobs out of submit order": 1,
    }


def test_jobs_of_one_number_and_starts_before_the_submit_are_counted_and_kept(tmp_path: Path) -> None:
    waits = [0, -1, -1, -3599, -0.5]  # -1 is what the format says of a wait that is not known
    jobs = read_swf(written(tmp_path, "\n".join(line(4 + (wait == -1), 0, wait, 5, 1) for wait in waits)))
    assert jobs.job_id.tolist() == [4, 5, 5, 4, 4]
    assert jobs.extras["wait_s"].tolist() == waits
    assert (jobs.counts["duplicate job numbers"], jobs.counts["starts before submit"]) == (3, 2)


@pytest.mark.parametrize(("given", "zero"), [(253_402_300_799, 253_402_300_799), (253_402_300_800, None), (-1, None)])
def test_a_start_that_is_no_date_is_not_known(given: int, zero: int | None, tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN.replace("843480031", str(given))))
    assert jobs.start_unix_s == zero


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


# -- properties -------------------------------------------------------------------------------------


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
def test_what_is_written_is_read_again(scratch: Path, jobs: Workload) -> None:
    first, second = (scratch / name for name in ("first.swf", "second.swf"))
    write_swf(jobs, first)
    once = read_swf(first)
    for name in ("job_id", "submit_s", "runtime_s", "cores", "user_id"):
        np.testing.assert_array_equal(getattr(once, name), getattr(jobs, name), err_msg=name)
    asked = jobs.estimate_s > 0
    np.testing.assert_array_equal(once.estimate_s[asked], jobs.estimate_s[asked])
    assert (once.max_cores, once.start_unix_s) == (jobs.max_cores, jobs.start_unix_s)
    write_swf(once, second)
    assert_same(read_swf(second), once)
    assert second.read_bytes() == first.read_bytes()


@given(logs())
@example(
    b"0 0 0 0 0\n0 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n0 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0.0"
)  # partitions that are no integers
def test_a_log_read_written_and_read_is_the_same(scratch: Path, log: bytes) -> None:
    once = read_swf(written(scratch, log, "once.swf"))
    again = scratch / "again.swf"
    write_swf(once, again)
    assert_same(read_swf(again), once)


# -- writing ----------------------------------------------------------------------------------------


def test_a_workload_of_no_log_is_written_with_all_that_it_knows(tmp_path: Path) -> None:
    jobs = Workload(
        *([7, 8], [0.0, 2.5], [10.0, 0.1], [20.0, 1e-7], [3, 4]),
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


def test_the_header_written_says_the_size_and_start_that_the_workload_has_in_comments(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    path = tmp_path / "again.swf"
    write_swf(replace(jobs, max_cores=100, start_unix_s=5), path)
    assert read_swf(path).header[2:5] == ("; UnixStartTime: 5", "; MaxNodes: 64", "; MaxProcs: 100")
    write_swf(replace(jobs, max_cores=None, start_unix_s=None), path)
    again = read_swf(path)
    assert (again.max_cores, again.start_unix_s, len(again.header)) == (None, None, 3)
    write_swf(replace(jobs, header=("no comment\n1 2 3 4 5", "", "; one")), path)
    assert read_swf(path).header[:4] == ("; no comment", "; 1 2 3 4 5", "; ", "; one")


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
    write_swf(sm.simulate(jobs, cores=4), tmp_path / "scheduled.swf")
    assert read_swf(tmp_path / "scheduled.swf").unlimited().tolist() == jobs.unlimited().tolist()


def test_a_schedule_is_written_with_its_waits_runs_and_fates(tmp_path: Path) -> None:
    nan = math.nan
    jobs = Workload(
        job_id=[1, 2, 3, 4],
        submit_s=[0.1, 5, 6, 7],
        runtime_s=[10.2, 100, 50, 9],
        estimate_s=[20.0, 60, 50, 9],
        cores=[2, 3, 4, 5],
        user_id=[6, 7, 8, 9],
        max_cores=64,
        header=("; MaxProcs: 64",),
        extras={"status": np.array([1, 1, 1, 1]), "queue": np.array([3, 3, 3, 3])},
    )
    start_s, end_s = np.array([0.7, 10, 20, nan]), np.array([0.7 + 10.2, 70, nan, nan])
    schedule = sm.Schedule(jobs, 8, start_s, end_s, outcome=np.array([0, 1, 2, 2], dtype=np.int8))
    path = tmp_path / "schedule.swf.gz"
    write_swf(schedule, path)
    assert gzip.decompress(path.read_bytes()).decode() == (
        "; MaxProcs: 8\n"
        "1 0.1 0.6 10.2 2 -1 -1 2 20 -1 1 6 -1 -1 3 -1 -1 -1\n"
        "2 5 5 60 3 -1 -1 3 60 -1 0 7 -1 -1 3 -1 -1 -1\n"
        "3 6 14 -1 4 -1 -1 4 50 -1 5 8 -1 -1 3 -1 -1 -1\n"
        "4 7 -1 -1 -1 -1 -1 5 9 -1 5 9 -1 -1 3 -1 -1 -1\n"
    )


def test_what_ran_when_a_window_began_is_written_as_started_at_its_submit(tmp_path: Path) -> None:
    jobs = {"submit_s": [0.1, 50], "runtime_s": [100, 10], "cores": [1, 1]}
    schedule = sm.simulate(jobs, cores=1, window_s=(40, 200))
    write_swf(schedule, tmp_path / "window.swf")
    written = read_swf(tmp_path / "window.swf")
    assert written.extras["wait_s"].tolist() == pytest.approx([0, 50.1])
    assert written.runtime_s.tolist() == pytest.approx([100, 10])


def test_what_cannot_be_written_is_refused_and_leaves_the_old_file(tmp_path: Path) -> None:
    jobs = read_swf(written(tmp_path, DRAWN))
    before = (tmp_path / "log.swf").read_bytes()
    with pytest.raises(sm.RequestError, match="the workload is empty"):
        write_swf(jobs.head(0), tmp_path / "log.swf")
    with refused("the values of column status must be finite numbers (got array(['a', 'b', 'c'], dtype='<U1'))"):
        write_swf(replace(jobs, extras={"status": np.array(["a", "b", "c"])}), tmp_path / "log.swf")
    with refused("the values of column wait_s must be finite numbers (got array([ 1.,  2., inf]))"):
        write_swf(replace(jobs, extras={"wait_s": np.array([1, 2, math.inf])}), tmp_path / "log.swf")
    for path in (tmp_path / "nowhere" / "log.swf", tmp_path):
        with refused(f"cannot write {path}: ..."):
            write_swf(jobs, path)
    assert (tmp_path / "log.swf").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["log.swf"]


# -- real logs --------------------------------------------------------------------------------------

LOGS = {
    "ANL-Intrepid-2009-1": (68_936, 163_840),
    "CEA-Curie-2011-2.1-cln": (312_826, 93_312),
    "KTH-SP2-1996-2": (28_489, 100),
    "KTH-SP2-1996-2.1-cln": (28_476, 100),
    "NASA-iPSC-1993-3.1-cln": (18_239, 128),
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
