"""Dates: when something was, on the clocks of the place, if the log says what date its zero is."""

import math
from contextlib import suppress
from datetime import datetime

from simmodels import DAY, RequestError, Workload
from simmodels.errors import must_be
from simmodels.ground.durations import duration, seconds
from workloads.swf import ahead_of_utc_s, zone_of


def as_time(text: str, name: str) -> float | datetime:
    """Return a time of a log as it was given, which errors call `name`: in seconds since the log's zero, or as a date.

    Raises
    ------
    RequestError
        It is neither.
    """
    with suppress(ValueError):
        return datetime.fromisoformat(text) if "-" in text else seconds(text)
    raise RequestError(
        must_be(name, "a time since the log's zero, such as 40d or 36h, or a date: 2026-11-24T12:00", text)
    )


def seconds_of(log: Workload, time: float | datetime, name: str) -> float:
    """Return a time of a log, which errors call `name`, in seconds since the log's zero; a date is in its time zone.

    Raises
    ------
    RequestError
        It is a date, and the log does not say when it began.
    """
    if not isinstance(time, datetime):
        return time
    if log.start_unix_s is None:
        raise RequestError(f"{name} {time}: {log.name} does not say when it began", "give a time since its zero")
    return time.replace(tzinfo=time.tzinfo or zone_of(log)).timestamp() - log.start_unix_s


def date_of(log: Workload, time_s: float) -> datetime | None:
    """Return the date of a time of a log, in its time zone; None if it is not known, or beyond the years 1 to 9999.

    Examples
    --------
    >>> import simmodels as sm
    >>> header = ["; TimeZoneString: Europe/Paris"]
    >>> jobs = sm.Workload([1], [0.0], [60.0], [60.0], [1], start_unix_s=1_296_571_124, header=header)
    >>> f"{date_of(jobs, 3600.0):%Y-%m-%d %H:%M}"
    '2011-02-01 16:38'
    """
    if log.start_unix_s is None:
        return None
    try:
        return datetime.fromtimestamp(log.start_unix_s + time_s, zone_of(log))
    except (ValueError, OverflowError, OSError):
        return None


def clock_of(log: Workload, low_s: float, high_s: float) -> list[tuple[float, float]]:
    """Return how far the clocks are ahead of UTC from some times of a log on, within a window, in seconds.

    Clocks that are put forward and back do so at most once a day.
    """
    time_s, end_s = math.floor(low_s), math.ceil(high_s)
    found = [(low_s, ahead_of_utc_s(log, low_s))]
    while time_s < end_s:
        next_s = min(time_s + int(DAY), end_s)
        if ahead_of_utc_s(log, next_s) != found[-1][1]:
            while next_s - time_s > 1:  # the clocks are put forward or back after time_s, and at next_s at the latest
                middle_s = (time_s + next_s) // 2
                time_s, next_s = (
                    (middle_s, next_s) if ahead_of_utc_s(log, middle_s) == found[-1][1] else (time_s, middle_s)
                )
            found.append((float(next_s), ahead_of_utc_s(log, next_s)))
        time_s = next_s
    return found


def instant_of(log: Workload, time_s: float) -> str:
    """Return a time of a log as text: its date, in the log's time zone, or how long after the log's zero it is.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = sm.Workload([1], [0.0], [60.0], [60.0], [1], start_unix_s=1_296_571_124)
    >>> instant_of(jobs, 3600.0), instant_of(sm.Workload([1], [0.0], [60.0], [60.0], [1]), 216_000.0)
    ('2011-02-01 15:38:44', '2.5 d')
    """
    date = date_of(log, time_s)
    return duration(time_s) if date is None else f"{date:%Y-%m-%d %H:%M:%S}"
