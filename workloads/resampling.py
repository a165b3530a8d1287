"""Resampling: new traces out of a log, made of whole weeks of its users.

References
----------
V. Reis, D. Trystram and others, "Online (bandit) policy selection for EASY-backfilling", draft of 2017, section on
traces.
"""

from collections.abc import Collection
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import as_tuple
from simmodels.ground.numbers import as_integer, ranges
from simmodels.ground.streams import stream
from simmodels.units import DAY, WEEK
from simmodels.work.time_limits import REQUESTED
from simmodels.work.workload import Workload, WorkloadLike
from workloads.swf import ahead_of_utc_s

How = Literal["drawn", "permuted"]

BEFORE: Final = "resampled away: before the first whole week"
AFTER: Final = "resampled away: in the last, partial week"
LEFT_OUT: Final = "resampled away: cores or runtime unknown"
ENDS: Final = "resampled away: in the first or last week"
_EPOCH_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday; Monday is 0


def resample(
    log: WorkloadLike,
    *,
    weeks: int = 104,
    seed: int = 0,
    index: int = 0,
    how: How = "drawn",
    monday: bool = True,
    columns: Collection[str] = (),
) -> Workload:
    """Return a new trace: each week of it has, of each user of the log, the jobs of a week of the log drawn by chance.

    Jobs keep their place within the week. So a user's habits stay, and so do the hours of the day and the days of the
    week; how users and weeks come together is new.

    Parameters
    ----------
    log
        A log of at least one whole week. Where no user is known, all jobs are of one.
    weeks
        How many weeks the new trace has, >= 1.
    seed, index
        The same seed and index give the same trace; another index, another trace.
    how
        ``"drawn"``: each week of each user is drawn uniformly, as the paper says. ``"permuted"``: a user's weeks come
        in random order, each once before any comes again, and the first and last week of the log are left out, as in
        the published program.
    monday
        Whether weeks begin on Monday at 00:00, if the log says when it began; else, and if it does not, they begin at
        its first submit. The hour is that of the time zone that the log names (the one in force when it began), or UTC.
    columns
        Further columns of the log that jobs keep, such as ``"queue"``.

    Returns
    -------
    Workload
        Jobs in order of (submit, week, user, input), numbered from 1; zero is the beginning of the first week. The
        extras have ``source_job_id``, and ``requested_s`` if the log has it (`Workload.unlimited`). Its `counts` say
        what of the log stood outside whole weeks.

    Raises
    ------
    RequestError, UnknownNameError
        The log has no whole week, or no such column; or a number is out of its range.

    Notes
    -----
    A week is a slice of submits, half open. Cost: linear in the jobs made and in users x weeks.

    Examples
    --------
    >>> import workloads as wl
    >>> log = wl.lublin(jobs=2000, cores=64, load=0.5, seed=1)
    >>> wl.resample(log, weeks=4, seed=1).name
    'lublin, resample 0'
    """
    log = Workload.of(log)
    weeks = as_integer("weeks", weeks, 1)
    require_known("how", how, get_args(How))
    for name in as_tuple("columns", columns, "a list of names"):
        require_known("column", name, log.extras)
    counts = dict(log.counts)
    known = log.known()
    counts[LEFT_OUT] = int((~known).sum())
    jobs = log if known.all() else log.take(known)
    begin_s = _first_week(jobs, monday=monday)
    complete = _weeks_since(begin_s, jobs)
    first, last = (1, complete - 1) if how == "permuted" else (0, complete)
    if last <= first:
        least = 3 if how == "permuted" else 1
        raise RequestError(must_be(f"the number of whole weeks in {log.name!r}", f"at least {least}", complete))
    week = np.floor_divide(jobs.submit_s - begin_s, WEEK).astype(np.int64)
    counts[BEFORE] = int((week < 0).sum())
    counts[AFTER] = int((week >= complete).sum())
    if how == "permuted":
        counts[ENDS] = int(((week == 0) | (week == complete - 1)).sum())
    users, user = np.unique(jobs.user_id, return_inverse=True)
    inside = np.flatnonzero((week >= first) & (week < last))
    source = inside[np.lexsort((inside, week[inside], user[inside]))]  # by user, then week, then input
    span = last - first
    place = user[source] * span + week[source] - first  # of each (user, week), in order
    bounds = np.searchsorted(place, np.arange(len(users) * span + 1))
    draws = stream(seed, "resample", index)
    if how == "drawn":
        chosen = draws.integers(span, size=(weeks, len(users)))
    else:
        chosen = _permuted(draws, weeks, len(users), span)
    taken = (np.arange(len(users)) * span + chosen).ravel()  # week by week, user by user
    lengths = bounds[taken + 1] - bounds[taken]
    rows = source[ranges(bounds[taken], lengths)]
    into = np.repeat(np.repeat(np.arange(weeks), len(users)), lengths)
    submit_s = jobs.submit_s[rows] - begin_s - week[rows] * WEEK + into * WEEK
    order = np.argsort(submit_s, kind="stable")
    rows, submit_s = rows[order], submit_s[order]
    kept = {name: jobs.extras[name][rows] for name in (REQUESTED, *columns) if name in jobs.extras}
    return Workload(
        np.arange(1, len(rows) + 1),
        submit_s,
        jobs.runtime_s[rows],
        jobs.estimate_s[rows],
        jobs.cores[rows],
        jobs.user_id[rows],
        name=f"{log.name}, resample {index}",
        max_cores=log.max_cores,
        counts=counts,
        extras={"source_job_id": jobs.job_id[rows], **kept},
    )


def whole_weeks(log: Workload) -> int:
    """Return how many whole weeks a log has, from Monday on if it has a date, from which `resample` draws."""
    known = log.known()
    jobs = log if known.all() else log.take(known)
    return _weeks_since(_first_week(jobs, monday=True), jobs) if len(jobs) else 0


def _weeks_since(begin_s: float, jobs: Workload) -> int:
    """Return how many whole weeks a log has since its first begins."""
    return max(0, int((float(jobs.submit_s.max(initial=begin_s)) - begin_s) // WEEK))


def _first_week(jobs: Workload, *, monday: bool) -> float:
    """Return when the first whole week of a log begins, in seconds since its zero."""
    first_s = float(jobs.submit_s.min(initial=np.inf))
    if not np.isfinite(first_s):
        raise RequestError(f"{jobs.name!r} has no jobs to resample", "give at least one whole week of jobs")
    if jobs.start_unix_s is None or not monday:
        return first_s
    zero_s = jobs.start_unix_s + ahead_of_utc_s(jobs, 0.0)  # the trace's zero, on the clocks of the place
    weeks = (zero_s + first_s + _EPOCH_WEEKDAY * DAY) / WEEK  # since a Monday
    return float(np.ceil(weeks) * WEEK - _EPOCH_WEEKDAY * DAY - zero_s)


def _permuted(draws: np.random.Generator, weeks: int, users: int, span: int) -> NDArray[np.int64]:
    """Return int64[weeks, users]: for each user the weeks of the log in random order, again and again."""
    rounds = -(-weeks // span)
    orders = draws.permuted(np.broadcast_to(np.arange(span), (users, rounds, span)), axis=2)
    chosen: NDArray[np.int64] = orders.reshape(users, rounds * span)[:, :weeks].T
    return chosen
