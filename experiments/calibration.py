"""Calibration: how far the replay of a log is from what the log records, and what in the log may be the cause."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from scipy.stats import spearmanr

from experiments.inputs import count_of, span
from simmodels.ground.numbers import Floats, Ints
from simmodels.logged import as_logged, logged_wait_s
from simmodels.schedule import Schedule
from simmodels.units import DAY, HOUR
from simmodels.workload import Workload

Agreement = Literal["close", "rough", "poor"]

MEASURES: Final = ("mean_wait_s", "median_wait_s", "p95_wait_s", "max_wait_s", "utilisation")
_CLOSE: Final = 1.5
"""Mean waits within this factor of each other are close ..."""
_ROUGH: Final = 3.0
"""... and beyond this one, the replay is of another machine."""
_SHORT_S: Final = 60.0
"""Mean waits that differ by less than this are close, whatever their quotient."""
_LEVELS: Final = 64
"""So many sizes of jobs are told apart where it is asked whether a job's cores were free."""
_MUCH: Final = 0.1
"""A larger share of the waiting time, of the jobs or of the time is worth a word."""
_FEW: Final = 0.01
"""The machine may be over-full for this share of the time, as clocks of logs are not exact."""
_OUTAGE_S: Final = 6 * HOUR
"""So long nobody starts, though somebody waits whose cores are free: an outage, or a reservation."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A span in which no job started, though jobs waited whose cores were free.

    Parameters
    ----------
    begin_s, end_s
        Its first and last instant, in seconds since the log's zero.
    waiting
        How many jobs waited all the while.
    """

    begin_s: float
    end_s: float
    waiting: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far a replay is from what the log records.

    Parameters
    ----------
    jobs
        How many jobs have a wait in both.
    logged, replayed
        Their `MEASURES`.
    rank_correlation
        Spearman's, of the logged and replayed waits of these jobs; NaN if all are alike.
    free_share
        In which share of the time that jobs waited by the log, summed over jobs, their cores were free.
    over_full_share
        In which share of its time the log has more cores in use than the machine.
    peak_cores
        The most cores that were in use at once by the log.
    outages
        Spans in which nobody started, though somebody could.
    """

    jobs: int
    logged: Mapping[str, float]
    replayed: Mapping[str, float]
    rank_correlation: float
    free_share: float
    over_full_share: float
    peak_cores: int
    outages: tuple[Outage, ...]

    @property
    def factor(self) -> float:
        """Return how many times as long as in the replay the mean wait of the log is; infinite or NaN without waits."""
        logged_s, replayed_s = self.logged["mean_wait_s"], self.replayed["mean_wait_s"]
        if replayed_s == 0:
            return np.nan if logged_s == 0 else np.inf
        return logged_s / replayed_s

    @property
    def agreement(self) -> Agreement:
        """Return how well the mean waits agree: within a factor of 1.5 (or a minute), of 3, or not even that."""
        if abs(self.logged["mean_wait_s"] - self.replayed["mean_wait_s"]) <= _SHORT_S:
            return "close"
        apart = max(self.factor, 1 / self.factor) if self.factor > 0 else np.inf
        return "close" if apart <= _CLOSE else "rough" if apart <= _ROUGH else "poor"

    def table(self) -> Mapping[str, object]:
        """Return all of it by name, as JSON holds it."""
        return {
            "agreement": self.agreement,
            "jobs": self.jobs,
            "logged": self.logged,
            "replayed": self.replayed,
            "factor": self.factor,
            "rank_correlation": self.rank_correlation,
            "free_share": self.free_share,
            "over_full_share": self.over_full_share,
            "peak_cores": self.peak_cores,
            "outages": [(outage.begin_s, outage.end_s) for outage in self.outages],
        }


def calibrate(replayed: Schedule) -> Calibration | None:
    """Return how far a replay is from what its log records; None if the log says of no job when it started."""
    log = replayed.workload
    wait_s = logged_wait_s(log)
    both = ~np.isnan(wait_s) & replayed.counted & ~np.isnan(replayed.start_s)
    if not both.any():
        return None
    logged = as_logged(log, cores=replayed.cores)
    replayed_wait_s = replayed.start_s - log.submit_s
    started = _Started(log, wait_s, replayed.cores)
    return Calibration(
        int(both.sum()),
        _measured(logged, wait_s[both]),
        _measured(replayed, replayed_wait_s[both]),
        _correlation(wait_s[both], replayed_wait_s[both]),
        started.free_share(),
        started.over_full_share(),
        started.peak,
        started.outages(),
    )


def _measured(schedule: Schedule, wait_s: Floats) -> Mapping[str, float]:
    """Return the figures of merit of jobs that waited so long, and of their machine."""
    found = (
        wait_s.mean(),
        np.median(wait_s),
        np.percentile(wait_s, 95),
        wait_s.max(),
        schedule.metrics()["utilisation"],
    )
    return dict(zip(MEASURES, map(float, found), strict=True))


def _correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's rank correlation; NaN if all values of one are alike."""
    if len(one) < 2 or (one == one[0]).all() or (other == other[0]).all():
        return np.nan
    return float(spearmanr(one, other).statistic)


class _Started:
    """Which cores were in use when, by a log.

    Parameters
    ----------
    log, wait_s, cores
        The log, the waits that it records (NaN where it does not), and the size of the machine.
    """

    def __init__(self, log: Workload, wait_s: Floats, cores: int) -> None:
        chosen = ~np.isnan(wait_s)
        self.submit_s, self.cores = log.submit_s[chosen], log.cores[chosen]
        self.start_s = self.submit_s + wait_s[chosen]
        end_s = self.start_s + log.runtime_s[chosen]
        change = np.concatenate((self.cores, -self.cores))
        time_s, place = np.unique(np.concatenate((self.start_s, end_s)), return_inverse=True)
        in_use = np.cumsum(np.bincount(place, change, len(time_s))).astype(np.int64)
        self.time_s: Floats = time_s  # from each of these instants on, so many cores are free
        self.free: Ints = cores - in_use
        self.lasts_s: Floats = np.diff(time_s, append=time_s[-1])
        self.peak = int(in_use.max(initial=0))

    def free_share(self) -> float:
        """Return in which share of the time that jobs waited, summed over jobs, their cores were free."""
        waited = self.start_s > self.submit_s
        total = float((self.start_s - self.submit_s).sum())
        if not total:
            return 0.0
        levels = np.unique(self.cores[waited])
        if len(levels) > _LEVELS:  # each job is taken for one of the next size, so that its cores were free for sure
            levels = np.unique(np.quantile(levels, np.linspace(0, 1, _LEVELS), method="higher"))
        level = np.searchsorted(levels, self.cores)
        found = 0.0
        for number, need in enumerate(levels):
            of = waited & (level == number)
            found += float((self._free_until(self.start_s[of], need) - self._free_until(self.submit_s[of], need)).sum())
        return found / total

    def _free_until(self, at_s: Floats, need: int) -> Floats:
        """Return for how long, up to instants, so many cores were free; before the first start all are."""
        enough = self.free >= need
        until_s = np.concatenate(([0.0], np.cumsum(np.where(enough, self.lasts_s, 0.0))))
        last = np.searchsorted(self.time_s, at_s, side="right") - 1
        known = np.maximum(last, 0)
        since_s = at_s - self.time_s[known]
        return np.where(last < 0, since_s, until_s[known] + np.where(enough[known], since_s, 0.0))

    def over_full_share(self) -> float:
        """Return in which share of the log's time more cores were in use than there are."""
        total_s = float(self.lasts_s.sum())
        return float(self.lasts_s[self.free < 0].sum()) / total_s if total_s else 0.0

    def outages(self) -> tuple[Outage, ...]:
        """Return the spans of hours between two starts in which a job waited all the while whose cores were free."""
        starts = np.unique(self.start_s)
        gaps = np.flatnonzero(np.diff(starts) >= _OUTAGE_S)
        found = []
        for gap in gaps:
            begin_s, end_s = float(starts[gap]), float(starts[gap + 1])
            waiting = (self.submit_s <= begin_s) & (self.start_s >= end_s)
            inside = (self.time_s >= begin_s) & (self.time_s < end_s)
            least = self.free[inside].min()
            if (self.cores[waiting] <= least).any():
                found.append(Outage(begin_s, end_s, int(waiting.sum())))
        return tuple(found)


_WORTH: Final[Mapping[Agreement, str]] = {
    "close": "so differences between replays may be taken for those that the machine would show",
    "rough": "so trust the direction of differences between replays, and not their size",
    "poor": "so this replay is not of your machine, and differences between replays may say little of it",
}


def doubt_of_size(log: Workload, cores: int) -> str:
    """Return a doubt where a log has more cores in use than its machine is said to have, else nothing.

    A hundredth of the time is let pass: clocks of logs are not exact.
    """
    wait_s = logged_wait_s(log)
    if np.isnan(wait_s).all():
        return ""
    started = _Started(log, wait_s, cores)
    share = started.over_full_share()
    if share <= _FEW:
        return ""
    return (
        f"For {_percent(share)} of its time the log has more cores in use than the {cores:,} of the machine, up to "
        f"{started.peak:,}: is the number of cores right?"
    )


def sentences_of(calibration: Calibration, log: Workload, policy: str) -> Iterator[str]:
    """Hand out how far the replay of a policy is from its log, what that is worth, and likely causes."""
    logged, replayed = calibration.logged, calibration.replayed
    correlation = calibration.rank_correlation
    alike = "" if np.isnan(correlation) else f", and the ranks of the waits correlate by {correlation:.2f}"
    yield (
        f"The log's own mean wait is {span(logged['mean_wait_s'] / HOUR)}, that of the replay under {policy} "
        f"{span(replayed['mean_wait_s'] / HOUR)} (95th percentiles {span(logged['p95_wait_s'] / HOUR)} and "
        f"{span(replayed['p95_wait_s'] / HOUR)}){alike}: {_WORTH[calibration.agreement]}."
    )
    if calibration.agreement != "close":
        yield from causes_of(calibration, log)


def causes_of(calibration: Calibration, log: Workload) -> Iterator[str]:
    """Hand out what in the log may be the cause of a difference, a sentence each."""
    if calibration.free_share > _MUCH:
        yield (
            f"For {_percent(calibration.free_share)} of the time that jobs waited, their cores were free: something "
            "else held them back, such as jobs ahead of them, partitions, memory, limits of users, holds, reservations."
        )
    for name in ("partition", "queue"):
        column = log.extras.get(name)
        if column is not None:
            _, counts = np.unique(np.asarray(column), return_counts=True)
            several = int((counts >= _FEW * len(log)).sum())
            if several > 1:
                yield f"The log has {several} {name}s with at least 1 % of the jobs each; the replay has one."
    if calibration.outages:
        lasts_s = [outage.end_s - outage.begin_s for outage in calibration.outages]
        yield (
            f"In {count_of(len(lasts_s), 'span')} of 6 h or more ({sum(lasts_s) / DAY:.1f} days in all, the longest "
            f"{max(lasts_s) / HOUR:.0f} h) nobody started although a job waited whose cores were free: the machine was "
            "down, or reserved."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
