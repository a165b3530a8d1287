"""Dates: when something was, if the log says what date its zero is."""

from datetime import UTC, datetime

from simmodels.workload import Workload


def date_of(log: Workload, time_s: float) -> datetime | None:
    """Return the date (UTC) of a time of a log; None if it is not known, or beyond the years 1 to 9999.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = sm.Workload([1], [0.0], [60.0], [60.0], [1], start_unix_s=1_296_571_124)
    >>> f"{date_of(jobs, 3600.0):%Y-%m-%d %H:%M}"
    '2011-02-01 15:38'
    """
    if log.start_unix_s is None:
        return None
    try:
        return datetime.fromtimestamp(log.start_unix_s + time_s, UTC)
    except (ValueError, OverflowError, OSError):
        return None
