"""Calibration: how far the replay of a log is from what the log records, and what in the log may be the cause."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import pandas as pd

from experiments.inputs import count_of, not_modelled, parts_of
from simmodels import HOUR, ClusterSpec, RequestError, Schedule, Workload
from simmodels.ground.durations import as_hours
from simmodels.ground.numbers import Floats, Ints
from simmodels.results.logged import logged_wait_s
from simmodels.results.metrics import describe, step_function, time_sum

Agreement = Literal["poor", "rough", "close"]

GRADES: Final[tuple[Agreement, ...]] = get_args(Agreement)
CLOSE: Final = 1.5
"""Mean waits, medians and 95th percentiles within this factor of each other are close, ..."""
_CORRELATED: Final = 0.3
"""... if the ranks of the waits correlate by this; ..."""
_ROUGH: Final = 3.0
"""... beyond this factor of the means or the 95th percentiles, the replay is of another machine."""
_SHORT_S: Final = 60.0
"""Waits that differ by less than this are close, whatever their quotient, ..."""
_LITTLE: Final = 0.1
"""... and so are those that differ by less than this part of the log's mean wait: medians are often near 0."""
OVER_FULL: Final = 0.1
"""Over-full for more than this share of the time, the machine is another one."""
_LEVELS: Final = 64
"""How many sizes of jobs are distinguished where it is asked whether a job's cores were free."""
_MUCH: Final = 0.1
"""A larger share of the waiting time is worth a word."""
_FEW: Final = 0.01
"""For this share of the time the machine may be over-full, and this share of the work may have no start."""
_MANY: Final = 0.05
"""Above this share of jobs without a limit, orders by limit are orders of something else."""
_PARTS: Final = ("partition", "queue")
"""The columns whose values a replay on one machine does not know."""
_OUTAGE_S: Final = 6 * HOUR
"""So long no job starts, though the cores of the first that waits are free: an outage, or a reservation."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How far a replay is from what the log records.

    Parameters
    ----------
    jobs
        How many jobs have a wait in both, and count in the replay.
    logged, replayed
        Of these: ``mean_wait_s``, ``median_wait_s``, ``p95_wait_s``, ``max_wait_s``.
    rank_correlation
        Spearman's, of their logged and replayed waits; NaN if all are alike.
    known_share
        Which share of the core-seconds of the log is of jobs that it says the start of.
    utilisation
        Of the log, from its first submit to its last end.
    free_share
        In which share of the time that jobs waited by the log, summed over jobs, their cores were free.
    over_full_share
        In which share of its time the log has more cores in use than the machine.
    peak_cores, cores
        The most cores that were in use at once by the log, and the cores of the replay's machine.
    outages_s
        Spans in which no job started, though the cores of the first that waited were free: begin and end.
    divided_by
        By which columns the replay divides its jobs: into clusters, or under limits.

    Notes
    -----
    Where the log has other cores allocated than requested, those allocated are in use. Jobs that a filter dropped are
    not in the log any more: their cores count as free.
    """

    jobs: int
    logged: Mapping[str, float]
    replayed: Mapping[str, float]
    rank_correlation: float
    known_share: float
    utilisation: float
    free_share: float
    over_full_share: float
    peak_cores: int
    cores: int
    outages_s: tuple[tuple[float, float], ...]
    divided_by: tuple[str, ...]

    def factor(self, measure: str = "mean_wait_s") -> float:
        """Return how many times as long as in the replay a wait of the log is; infinite or NaN without waits."""
        logged_s, replayed_s = self.logged[measure], self.replayed[measure]
        if replayed_s == 0:
            return np.nan if logged_s == 0 else np.inf
        return logged_s / replayed_s

    def apart(self, measure: str) -> float:
        """Return how far a wait is from that of the replay, as a factor >= 1."""
        little_s = max(_SHORT_S, _LITTLE * self.logged["mean_wait_s"])
        if abs(self.logged[measure] - self.replayed[measure]) <= little_s:
            return 1.0
        factor = self.factor(measure)
        return max(factor, 1 / factor) if factor > 0 else np.inf

    @property
    def doubt_of_size(self) -> str:
        """Return a doubt where the log has more cores in use than the machine, else nothing; see `doubt_of_size`."""
        return _doubt_of_size(self.over_full_share, self.peak_cores, self.cores)

    @property
    def same_jobs_wait(self) -> bool:
        """Whether the ranks of the waits correlate by at least 0.3, or hardly any job waits in either."""
        longest_s = max(self.logged["p95_wait_s"], self.replayed["p95_wait_s"])
        return longest_s <= _SHORT_S or not self.rank_correlation < _CORRELATED  # of equal waits there is none: NaN

    @property
    def agreement(self) -> Agreement:
        """Return how well the two agree.

        Close: mean, median and 95th percentile of the waits are each within a factor of 1.5 of each other, and their
        ranks correlate by at least 0.3. Poor: the means or the 95th percentiles are not even within a factor of 3; or
        neither of the two conditions of close holds; or for a tenth of its time the log has more cores in use than the
        machine. Rough: all between. A difference of at most a minute, or a tenth of the log's mean wait, counts as
        none; where the 95th percentiles are at most a minute, ranks do not count.
        """
        mean, median, p95 = (self.apart(measure) for measure in ("mean_wait_s", "median_wait_s", "p95_wait_s"))
        alike = max(mean, median, p95) <= CLOSE
        if max(mean, p95) > _ROUGH or self.over_full_share > OVER_FULL or not (alike or self.same_jobs_wait):
            return "poor"
        return "close" if alike and self.same_jobs_wait else "rough"

    def table(self) -> Mapping[str, object]:
        """Return all of it by name."""
        named = {name: getattr(self, name) for name in self.__slots__}
        return {"agreement": self.agreement, "factor": self.factor(), **named}


def calibrate(replayed: Schedule) -> Calibration | None:
    """Return how far a replay is from what its log records; None if the log says of no job when it started."""
    log = replayed.workload
    wait_s = logged_wait_s(log)
    both = ~np.isnan(wait_s) & replayed.counted & ~np.isnan(replayed.start_s)
    if not both.any():
        return None
    replayed_wait_s = replayed.start_s - log.submit_s
    held = Held(log, wait_s, replayed.cores)
    known = held.known_share >= 1 - _FEW  # else what the others held would seem free
    return Calibration(
        int(both.sum()),
        describe(wait_s[both], "wait_s"),
        describe(replayed_wait_s[both], "wait_s"),
        _correlation(wait_s[both], replayed_wait_s[both]),
        held.known_share,
        held.utilisation() if known else np.nan,
        held.free_share() if known else np.nan,
        held.over_full_share(),
        held.peak,
        held.size,
        held.outages_s() if known else (),
        _divided_by(replayed),
    )


def _divided_by(replayed: Schedule) -> tuple[str, ...]:
    """Return by which columns a replay divides its jobs: into clusters, or under limits."""
    if len(replayed.clusters) > 1:
        return _PARTS  # the columns by which a router sends jobs are not known
    limits = replayed.terms.limits
    return () if limits is None else limits.columns


def _correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's rank correlation; NaN if all values of one are alike."""
    if len(one) < 2 or (one == one[0]).all() or (other == other[0]).all():
        return np.nan
    waits = pd.DataFrame({"one": one, "other": other})
    return float(waits.corr("spearman").to_numpy()[0, 1])  # that of scipy takes 0.9 s to import


def distance(logged_s: Floats, replayed_s: Floats) -> float:
    """Return how far the waits of jobs in a replay are from those of the log; 0 if they are the same.

    The sum of how many times (as logarithms) mean, median and 95th percentile are those of the log, and of what the
    correlation of the ranks lacks to 1: the four that `Calibration.agreement` looks at. Short waits count as
    little as there.
    """
    little_s = max(_SHORT_S, _LITTLE * float(logged_s.mean()))
    measures: list[Callable[[Floats], np.floating]] = [np.mean, np.median, lambda waits_s: np.percentile(waits_s, 95)]
    factors = [(measure(logged_s) + little_s) / (measure(replayed_s) + little_s) for measure in measures]
    correlation = _correlation(logged_s, replayed_s)
    lacking = 0.0 if np.isnan(correlation) else 1.0 - correlation  # of equal waits there is none
    return float(np.abs(np.log(factors)).sum()) + lacking


class Held:
    """Which cores were in use when, by a log.

    Parameters
    ----------
    log, wait_s, cores
        The log, the waits that it records (NaN where it does not), and the size of the machine.
    """

    def __init__(self, log: Workload, wait_s: Floats, cores: int) -> None:
        allocated = np.asarray(log.extras.get("allocated_cores", log.cores), dtype=np.int64)
        held = np.where(allocated > 0, allocated, log.cores)
        known = log.known() & log.rigid()
        started = ~np.isnan(wait_s)
        work_s = log.runtime_s * held
        total_s = float(work_s[known].sum())
        self.known_share = float(work_s[started].sum()) / total_s if total_s else 1.0
        self.size = cores
        self.submit_s, self.cores = log.submit_s[started], held[started]
        self.start_s = self.submit_s + wait_s[started]
        self.end_s = self.start_s + log.runtime_s[started]
        time_s, in_use = step_function(self.start_s, self.end_s, self.cores)
        first_s = float(self.submit_s.min())
        if not len(time_s) or time_s[0] > first_s:
            time_s, in_use = np.append(first_s, time_s), np.append(0, in_use)
        self.time_s: Floats = time_s  # the instants from which on `free` cores are free
        self.free: Ints = cores - in_use
        self.lasts_s: Floats = np.diff(time_s, append=time_s[-1])
        self.peak = int(in_use.max(initial=0))

    def utilisation(self) -> float:
        """Return the share of the machine that was in use from the first submit to the last end."""
        window_s = float(self.submit_s.min()), float(self.end_s.max())
        room = self.size * (window_s[1] - window_s[0])
        return time_sum(self.start_s, self.end_s, self.cores, window_s) / room if room else np.nan

    def free_share(self) -> float:
        """Return in which share of the time that jobs waited, summed over jobs, their cores were free."""
        waited = self.start_s > self.submit_s
        total_s = float((self.start_s - self.submit_s).sum())
        if not total_s:
            return 0.0
        levels = np.unique(self.cores[waited])
        if len(levels) > _LEVELS:  # each job is taken for one of the next size, so that its cores were free for sure
            levels = np.unique(np.quantile(levels, np.linspace(0, 1, _LEVELS), method="higher"))
        level = np.searchsorted(levels, self.cores)
        found_s = 0.0
        for number, need in enumerate(levels):
            of = waited & (level == number)
            since_s, until_s = (self.free_until(at_s[of], need) for at_s in (self.submit_s, self.start_s))
            found_s += float((until_s - since_s).sum())
        return found_s / total_s

    def free_until(self, at_s: Floats, need: int) -> Floats:
        """Return for how long, up to instants, at least `need` cores were free."""
        enough = self.free >= need
        until_s = np.concatenate(([0.0], np.cumsum(np.where(enough, self.lasts_s, 0.0))))
        last = np.searchsorted(self.time_s, at_s, side="right") - 1
        return until_s[last] + np.where(enough[last], at_s - self.time_s[last], 0.0)

    def over_full_share(self) -> float:
        """Return in which share of the log's time more cores were in use than there are."""
        total_s = float(self.lasts_s.sum())
        return float(self.lasts_s[self.free < 0].sum()) / total_s if total_s else 0.0

    def outages_s(self) -> tuple[tuple[float, float], ...]:
        """Return the spans of hours between two starts in which the first job that waited had its cores free."""
        starts_s = np.unique(self.start_s)
        long = np.flatnonzero(self.start_s - self.submit_s >= _OUTAGE_S)
        long = long[np.argsort(self.submit_s[long], kind="stable")]
        submit_s, start_s = self.submit_s[long], self.start_s[long]
        found = []
        for gap in np.flatnonzero(np.diff(starts_s) >= _OUTAGE_S):
            begin_s, end_s = float(starts_s[gap]), float(starts_s[gap + 1])
            waiting = start_s[: np.searchsorted(submit_s, begin_s, side="right")] >= end_s
            if not waiting.any():
                continue
            need = self.cores[long[int(np.argmax(waiting))]]
            first = int(np.searchsorted(self.time_s, begin_s, side="right")) - 1
            last = int(np.searchsorted(self.time_s, end_s))
            if need <= self.free[first:last].min():
                found.append((begin_s, end_s))
        return tuple(found)


def lanes_of(log: Workload, column: str) -> tuple[ClusterSpec, ...]:
    """Return a cluster for each value of a column, of as many cores as its jobs had in use at most.

    Parameters
    ----------
    log, column
        A log that says when its jobs started, and the column, such as ``"partition"``.

    Raises
    ------
    RequestError
        The log does not say it.
    """
    wait_s, of = logged_wait_s(log), log.numbers.get(column)
    if of is None or np.isnan(wait_s).all():
        what = f"{log.name} does not say how many cores each {column} has"
        raise RequestError(what, "give the cores of each: --clusters CORES:NUMBER,...")
    found = []
    for value in np.unique(of[log.known()]).tolist():
        mine = log.known() & (of == value)
        widest = int(log.cores[mine].max())
        peak = Held(log.take(mine), wait_s[mine], widest).peak if (mine & ~np.isnan(wait_s)).any() else 0
        found.append(ClusterSpec(f"{value:.0f}", max(peak, widest)))
    return tuple(found)


def doubt_of_size(log: Workload, cores: int) -> str:
    """Return a doubt where a log has more cores in use than its machine is said to have, else nothing.

    A hundredth of the time is let pass: clocks of logs are not exact.
    """
    wait_s = logged_wait_s(log)
    if np.isnan(wait_s).all():
        return ""
    held = Held(log, wait_s, cores)
    return _doubt_of_size(held.over_full_share(), held.peak, cores)


def doubt_of_limits(log: Workload) -> str:
    """Return a doubt where more than 5 % of the jobs of a log have no limit, else nothing."""
    share = share_without_limits(log)
    if not share:
        return ""
    if share == 1.0:
        stands = "their runtimes, which no scheduler knows, stand for limits: orders by limit would do worse than here"
    else:
        stands = "the longest limit of their partition, or of the log, is used instead: orders by limit say little"
    return f"{percent(share)} of the jobs have no limit; {stands}."


def share_without_limits(log: Workload) -> float:
    """Return the share of the jobs that have no limit, if it is above 5 %, where orders by limit say little; else 0."""
    share = float(log.unlimited().mean()) if len(log) else 0.0
    return share if share > _MANY else 0.0


def _doubt_of_size(share: float, peak: int, cores: int) -> str:
    """Return a doubt where for a share of its time a log has more cores in use than there are, up to a peak."""
    if share <= _FEW:
        return ""
    return (
        f"For {percent(share)} of its time the log has more cores in use than the {cores:,} of the machine, up to "
        f"{peak:,}: is the number of cores right?"
    )


_WORTH: Final[Mapping[Agreement, str]] = {
    "close": "this replay is close to the log, and where replays differ clearly, your machine may be expected to",
    "rough": "this replay is roughly like the log: trust which of two replays is better, and not by how much",
    "poor": "this replay does not match your machine, and says little of it",
}


def sentences_of(calibration: Calibration, log: Workload, policy: str) -> Iterator[str]:
    """Hand out how far the replay of a policy is from its log, what that is worth, and likely causes."""
    logged, replayed = (
        [as_hours(waits[name] / HOUR) for name in ("mean_wait_s", "median_wait_s", "p95_wait_s")]
        for waits in (calibration.logged, calibration.replayed)
    )
    correlation = calibration.rank_correlation
    alike = "" if np.isnan(correlation) else f", and the ranks of the waits correlate by {correlation:.2f}"
    yield (
        f"The log's own mean wait is {logged[0]}, that of the replay under {policy} {replayed[0]} (median {logged[1]} "
        f"and {replayed[1]}, 95th percentile {logged[2]} and {replayed[2]}){alike}: {_WORTH[calibration.agreement]}."
    )
    if causes := "; ".join(causes_of(calibration, log)):
        yield f"Likely causes: {causes}."


def causes_of(calibration: Calibration, log: Workload, *, fitted: bool = False) -> Iterator[str]:
    """Hand out what in the log may be the cause of a difference, a clause each; nothing if the two are close.

    Parameters
    ----------
    calibration, log
        How far the replay is from the log.
    fitted
        Whether its order is, of all that were tried, the one whose waits are nearest to the log's.
    """
    if calibration.agreement == "close":
        return
    over_full = _FEW if calibration.factor() < 1 else OVER_FULL  # too few cores do not shorten waits
    if calibration.over_full_share > over_full:
        yield f"the log has up to {calibration.peak_cores:,} cores in use, the machine {calibration.cores:,}"
    if calibration.known_share < 1 - _FEW:
        yield f"the log says when jobs started for {percent(calibration.known_share)} of its core hours only"
    yield from _not_in_the_replay(log, calibration.divided_by)
    if calibration.free_share > _MUCH:
        share = percent(calibration.free_share)
        yield f"cores were free in {share} of the waiting time (holds, user limits, jobs ahead)"
    if calibration.outages_s:
        lasts_h = sum(end_s - begin_s for begin_s, end_s in calibration.outages_s) / HOUR
        spans = count_of(len(calibration.outages_s), "span")
        yield f"no job started for {as_hours(lasts_h)} in {spans}, with cores free (downtime, reservations)"
    yield "priorities that no order tried has" if fitted else "another order, or priorities, than those replayed"


def _not_in_the_replay(log: Workload, divided_by: Collection[str]) -> Iterator[str]:
    """Hand out what jobs of a log had or asked for that a replay divided by these columns does not know."""
    for name in _PARTS:
        if name not in divided_by and (count := several(log, name)) > 1:
            yield f"the log has {count} {name}s with at least 1 % of the jobs each, the replay one"
    for what, share in not_modelled(log):
        if share > _FEW:
            yield f"{percent(share)} of the jobs ask for {what}, which the replay does not limit"
    without = float(log.unlimited().mean())
    if without > _FEW:
        yield f"{percent(without)} of the jobs have no time limit"


def several(log: Workload, name: str) -> int:
    """Return how many partitions, or queues, have at least 1 % of the jobs each."""
    for names, known in parts_of(log, name):
        _, counts = np.unique(names[known], return_counts=True)
        return int((counts >= _FEW * len(log)).sum())
    return 0


def percent(share: float) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.0f} %"
