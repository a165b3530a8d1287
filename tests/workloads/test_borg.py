from pathlib import Path

import pytest

from simmodels.errors import FileFormatError
from tests.refused import refused
from tests.work import written
from workloads.borg import read_borg_slice

SLICE = "188166 881100 2100 4 release\n\n804769 854700 11700 2 running\n"


def test_each_line_is_a_job_in_the_order_of_the_file(tmp_path: Path) -> None:
    jobs = read_borg_slice(written(tmp_path, SLICE, "7D_864000.txt"))
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
        *(
            (line, f"... (got '{line}')")
            for line in ("1 2 3 4", "1 2 3 4 done", "1 -2 3 4 release", "1 2 3.5 4 release")
        ),
        ("1 2 0 4 release", "length and cores must be at least 1 (got (0, 4))"),
        ("1 2 3 0 release", "length and cores must be at least 1 (got (3, 0))"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = written(tmp_path, f"{SLICE}{line}\n", "slice.txt")
    with refused(f"{path}, line 4: {what}", FileFormatError):
        read_borg_slice(path)


def test_a_file_without_a_job_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "\n\n", "slice.txt")
    with refused(f"{path}: it holds no job", FileFormatError):
        read_borg_slice(path)


def test_the_published_slices_are_read(shared: Path) -> None:
    jobs = read_borg_slice(shared / "traces/borg/7D_864000.txt.gz")
    assert (len(jobs), jobs.counts["jobs running at the begin"]) == (17_105, 125)
    assert jobs.counts["duplicate job numbers"] == 0
