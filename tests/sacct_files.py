"""Files as sacct prints them: records, each with what is usual where it says nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from simmodels.work.workload import Workload
from tests.work import written
from workloads import read_sacct

USUAL: Final = {
    "JobID": "10",
    "User": "ada",
    "State": "COMPLETED",
    "Submit": "2024-03-01T08:00:00",
    "Eligible": "2024-03-01T08:00:00",
    "Start": "2024-03-01T08:00:05",
    "End": "2024-03-01T09:00:05",
    "Elapsed": "01:00:00",
    "Timelimit": "02:00:00",
    "ReqCPUS": "4",
    "AllocCPUS": "8",
}
_LINES: Final = (
    *("header lines", "blank lines", "job steps", "bad lines", "repeated records", "earlier attempts left out", "jobs"),
)


def printed(*records: Mapping[str, str], columns: Sequence[str] = (), end: str = "") -> str:
    """Return these records as sacct prints them, each with what is usual where it says nothing."""
    names = columns or list(dict.fromkeys([*USUAL, *(name for record in records for name in record)]))
    rows = [[{**USUAL, **record}.get(name, "") for name in names] for record in records]
    return "".join("|".join(row) + end + "\n" for row in [list(names), *rows])


def read(folder: Path, *records: Mapping[str, str], columns: Sequence[str] = (), **options: object) -> Workload:
    """Read what sacct prints of these records."""
    return read_sacct(written(folder, printed(*records, columns=columns), "jobs.sacct"), **options)  # type: ignore[arg-type]


def assert_accounted_for(jobs: Workload) -> None:
    """Check that every line of a file is a job, or counted for what it is."""
    assert jobs.counts["lines"] == sum(jobs.counts[key] for key in _LINES)
    assert jobs.counts["jobs"] == len(jobs)
