"""Caps: what a log shows of how many cores each user, queue or partition, or the whole machine, may have at once."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import Held, several
from simmodels import DAY, WEEK, Workload
from simmodels.clusters.limits import numbers_of
from simmodels.ground.numbers import Floats, Ints
from simmodels.results.logged import logged_wait_s

MACHINE: Final = ""
"""Stands for a column of which all jobs have the value 0: what the machine has."""
_COLUMNS: Final = ("user", "queue", "partition")
_LEAST_S: Final = DAY
"""For less time of evidence a value has no cap."""


def columns_of(log: Workload) -> Iterator[str]:
    """Hand out the columns that caps may be by: of numbers, with at least two values that matter."""
    numbers = log.numbers_by_name
    for by in _COLUMNS:
        known = numbers.get("user_id" if by == "user" else by)
        if known is not None and len(np.unique(known[known >= 0])) > 1 and (by == "user" or several(log, by) > 1):
            yield by


def values_of(log: Workload, by: str) -> Ints:
    """Return int64[n], the values of a column, or of the machine."""
    return np.zeros(len(log), np.int64) if by == MACHINE else numbers_of(log.numbers_by_name, by)


def caps_of(log: Workload, by: str, percentiles: Sequence[float], weeks: NDArray[np.bool_]) -> list[dict[int, int]]:
    """Return the cap of own cores of each value of a column that a log shows, for each percentile.

    While jobs of a value wait although the machine has cores for them, what that value has in use is near its cap, if
    it has one. The cap is a percentile of the cores in use over the time for which that holds; it is at least the width
    of the widest job of that value. The machine has cores for the jobs of a value if as many are free as its typical
    job wants: jobs at most as wide have half of its waiting time. Values with less than a day of such time have no cap,
    nor have those that the machine itself limits.

    Parameters
    ----------
    log
        Jobs with waits, on a machine of `max_cores`.
    by
        The column of the values, or the machine.
    percentiles
        Which caps are wanted, in per cent.
    weeks
        bool[weeks], which weeks of the log count.

    Returns
    -------
    list[dict[int, int]]
        The cap of each value, for each percentile.
    """
    wait_s = logged_wait_s(log)
    values = values_of(log, by)
    rows = np.flatnonzero(~np.isnan(wait_s) & (values >= 0))
    names, of = np.unique(values[rows], return_inverse=True)
    cores, submit_s = log.cores[rows], log.submit_s[rows]
    start_s = submit_s + wait_s[rows]
    # All that happens to jobs, by value and time; the sums over a value end at 0, so one sum over all of them does.
    time_s = np.concatenate((submit_s, start_s, start_s + log.runtime_s[rows]))
    party = np.tile(of, 3)
    nothing = np.zeros(len(rows), np.int64)
    order = np.lexsort((time_s, party))
    in_use = np.cumsum(np.concatenate((nothing, cores, -cores))[order])
    waiting = np.cumsum(np.concatenate((nothing + 1, nothing - 1, nothing))[order])
    time_s, party = time_s[order], party[order]
    typical = _weighted_percentiles(of, cores, wait_s[rows], [50], len(names))[0, party]
    weight_s = np.zeros(len(time_s))
    counts = np.flatnonzero((waiting > 0) & (np.append(party[1:], -1) == party))
    size = log.max_cores or 1
    held = Held(log, wait_s, size)
    for need in np.unique(typical[counts]):
        here = counts[typical[counts] == need]
        since_s, until_s = _free_s(held, need, log, weeks, time_s[np.stack((here, here + 1))])
        weight_s[here] = until_s - since_s
    shown = np.bincount(party, weight_s, len(names)) >= _LEAST_S
    own = widest_of(log, values)
    widest = np.array([own[name] for name in names.tolist()], dtype=np.int64)
    found = []
    for in_use_most in _weighted_percentiles(party, in_use, weight_s, percentiles, len(names)):
        caps = np.maximum(in_use_most, widest)
        kept = shown & (caps < size)
        found.append(dict(zip(names[kept].tolist(), caps[kept].tolist(), strict=True)))
    return found


def widest_of(log: Workload, values: Ints) -> dict[int, int]:
    """Return the cores of the widest job of each value."""
    known = log.known() & (values >= 0)
    names, of = np.unique(values[known], return_inverse=True)
    widest = np.zeros(len(names), np.int64)
    np.maximum.at(widest, of, log.cores[known])
    return dict(zip(names.tolist(), widest.tolist(), strict=True))


def week_of(log: Workload, at_s: Floats) -> Ints:
    """Return int64[n], the number of the week of each instant, from 0 at the first submission."""
    found: Ints = ((at_s - log.submit_s.min()) // WEEK).astype(np.int64)
    return found


def _free_s(held: Held, need: int, log: Workload, weeks: NDArray[np.bool_], at_s: Floats) -> Floats:
    """Return for how long, in some weeks up to instants, at least `need` cores of the machine were free.

    As many as there are instants, in whatever shape: all of one need are asked for at once, since that of the whole log
    is summed up then.
    """
    week = np.minimum(week_of(log, at_s), len(weeks))
    begins_s = log.submit_s.min() + WEEK * np.arange(len(weeks) + 1)
    until_s, free_s = np.split(held.free_until(np.append(begins_s, at_s), need), [len(begins_s)])
    before_s = np.concatenate(([0.0], np.cumsum(np.where(weeks, np.diff(until_s), 0.0))))
    counts = np.append(weeks, False)[week]
    found: Floats = before_s[week] + np.where(counts, free_s.reshape(at_s.shape) - until_s[week], 0.0)
    return found


def _weighted_percentiles(
    party: Ints, values: Ints, weights: Floats, percentiles: Sequence[float], parties: int
) -> Ints:
    """Return int64[percentiles, parties], the least values that have such shares of a party's weights up to them."""
    order = np.lexsort((values, party))
    until = np.cumsum(weights[order])
    total = np.bincount(party, weights, parties)
    first = np.concatenate(([0.0], until))[np.searchsorted(party[order], np.arange(parties))]
    share = np.array(percentiles)[:, np.newaxis] / 100.0
    at = np.searchsorted(until, first + share * total * (1.0 - 1e-12))
    found: Ints = values[order][np.minimum(at, len(values) - 1)]
    return found
