import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import FileFormatError
from simmodels.workload import Workload
from workloads.borg import read_borg_slice

SLICE = "188166 881100 2100 4 release\n\n804769 854700 11700 2 running\n"


def test_each_line_is_a_job_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "7D_864000.txt.gz"
    path.write_bytes(gzip.compress(SLICE.encode()))
    jobs = read_borg_slice(path)
    assert jobs.name == "7D_864000"
    assert jobs.job_id.tolist() == [188166, 804769]
    assert jobs.submit_s.tolist() == [881100, 854700]
    assert jobs.runtime_s.tolist() == jobs.estimate_s.tolist() == [2100, 11700]
    assert jobs.cores.tolist() == [4, 2]
    assert jobs.extras["running"].tolist() == [False, True]
    assert dict(jobs.counts) == {
        "lines": 3,
        "blank lines": 1,
        "jobs": 2,
        "jobs running at the begin": 1,
        "duplicate job numbers": 0,
    }


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (
            "1 2 3 4",
            "(got '1 2 3 4')",
        ),
        (
            "1 2 3 4 done",
            "(got '1 2 3 4 done')",
        ),
        (
            "1 -2 3 4 release",
            "(got '1 -2 3 4 release')",
        ),
        ("1 2 0 4 release", "length and cores must be at least 1 (got (0, 4))"),
        ("1 2 3 0 release", "length and cores must be at least 1 (got (3, 0))"),
        (
            "1 2 3.5 4 release",
            "(got '1 2 3.5 4 release')",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "slice.txt"
    path.write_text(f"{SLICE}{line}\n")
    with pytest.raises(FileFormatError) as error:
        read_borg_slice(path)
    assert str(error.value).startswith(f"{path}, line 4: ")
    assert what in str(error.value)


def test_a_file_without_a_job_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "slice.txt"
    path.write_text("\n\n")
    with pytest.raises(FileFormatError, match="it holds no job"):
        read_borg_slice(path)


@given(st.binary(max_size=200) | st.text(" 0123456789\nrelasunig-.", max_size=200).map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("borg") / "slice.txt"
    path.write_bytes(data)
    try:
        jobs = read_borg_slice(path)
    except FileFormatError as error:
        assert str(error).startswith(str(path))  # noqa: PT017  either way out is right
    else:
        assert isinstance(jobs, Workload)
        assert len(jobs) >= 1
        assert jobs.runnable().all()


def test_the_published_slices_are_read(shared: Path) -> None:
    jobs = read_borg_slice(shared / "traces/borg/7D_864000.txt.gz")
    assert (len(jobs), jobs.counts["jobs running at the begin"]) == (17_105, 125)
    assert jobs.counts["duplicate job numbers"] == 0
