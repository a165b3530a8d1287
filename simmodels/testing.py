"""A public conformance suite: tiny schedules drawn by hand, to run against any scheduler of rigid jobs.

Most simulators get some of them wrong (of twelve that were tried, four passed the five cases of EASY that stand
first). `simmodels.cases` has the table of cases.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from simmodels.cases import CASES, Case

__all__ = ["CASES", "Case", "Failure", "Report", "assert_conforms", "check"]


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """Where a scheduler leaves the schedule of a case.

    Parameters
    ----------
    case
        The case.
    row
        The input row of the first job (in time) whose start differs; None if there are no starts to compare.
    expected_s, got_s
        When it must start, and when it did; None if there are no starts to compare.
    error
        What went wrong instead: the exception, or the wrong number of starts.
    """

    case: Case
    row: int | None = None
    expected_s: float | None = None
    got_s: float | None = None
    error: str = ""

    def __str__(self) -> str:
        """Return a line that names case, job and both starts."""
        if self.row is None:
            return f"{self.case.name}: {self.error} ({self.case.why})"
        job = f"job {self.case.jobs.job_id[self.row]}"
        return f"{self.case.name}: {job} must start at {self.expected_s:g} s, not {self.got_s:g} s ({self.case.why})"


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a check.

    Parameters
    ----------
    passed
        The cases whose schedules are equal.
    failures
        The others, with the first job that differs.
    """

    passed: tuple[Case, ...]
    failures: tuple[Failure, ...]

    @property
    def conforms(self) -> bool:
        """Whether there was a case, and none failed."""
        return bool(self.passed) and not self.failures

    def __str__(self) -> str:
        """Return how many passed, and a line for each that did not."""
        tried = len(self.passed) + len(self.failures)
        return "\n".join([f"{len(self.passed)} of {tried} cases passed", *map(str, self.failures)])


def check(
    scheduler: Callable[[Case], Sequence[float]], cases: Iterable[Case] | None = None, *, tolerance_s: float = 0.0
) -> Report:
    """Run a scheduler on the cases, and report which of them it passes.

    Parameters
    ----------
    scheduler
        Called with each case; returns when each job starts, by input row. An exception of it fails the case.
    cases
        Which cases; all of `CASES` by default.
    tolerance_s
        By how much a start may differ, in seconds (for simulators in which a start takes time).

    Examples
    --------
    >>> import simmodels as sm
    >>> print(check(lambda case: sm.simulate(case.jobs, **case.options).start_s.tolist(), CASES[:5]))
    5 of 5 cases passed
    """
    passed: list[Case] = []
    failures: list[Failure] = []
    for case in CASES if cases is None else cases:
        failure = _failure(scheduler, case, tolerance_s)
        if failure is None:
            passed.append(case)
        else:
            failures.append(failure)
    return Report(tuple(passed), tuple(failures))


def assert_conforms(
    scheduler: Callable[[Case], Sequence[float]], cases: Iterable[Case] | None = None, *, tolerance_s: float = 0.0
) -> None:
    """Fail unless a scheduler passes every case (see `check`); for the tests of a scheduler."""
    report = check(scheduler, cases, tolerance_s=tolerance_s)
    if not report.conforms:
        raise AssertionError(str(report))


def _failure(scheduler: Callable[[Case], Sequence[float]], case: Case, tolerance_s: float) -> Failure | None:
    """Return where the scheduler leaves the case's schedule; None if it does not."""
    try:
        got = [float(start) for start in scheduler(case)]
    except Exception as error:  # noqa: BLE001  whatever it raises is a finding about it, and reported
        return Failure(case, error=f"raised {type(error).__name__}: {error}")
    if len(got) != len(case.start_s):
        return Failure(case, error=f"gave {len(got)} starts for {len(case.start_s)} jobs")
    starts = list(zip(case.start_s, got, strict=True))
    wrong = [row for row, (must, is_) in enumerate(starts) if not abs(must - is_) <= tolerance_s]
    if not wrong:
        return None
    row = min(wrong, key=lambda row: (min(starts[row]), row))
    return Failure(case, row, *starts[row])
