"""Limits under which a log is replayed for advice: those given, or fitted to it; and what they cause."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from experiments.calibration import GRADES, Agreement, calibrate, percent
from experiments.fitted import Fitted, Used
from experiments.fitting import fit, refusal_of
from experiments.inputs import count_of
from experiments.option import FITTED
from experiments.studies.advice.settings import AUTO
from experiments.studies.advice.verdict import GAIN, Option
from simmodels import HOUR, Limit, Limits, Schedule, Workload
from simmodels.clusters.limits import numbers_of
from simmodels.ground.durations import as_hours
from simmodels.policies.parties import startable
from simmodels.policies.queue_options import QueueOptions

NONE: Final = "none"
_TRIED: Final = 5
"""This many limits, those whose jobs wait most in all, are lifted, one at a time."""
_UNITS: Final = {"jobs": "job", "cores": "core", "core_minutes": "core-minute", "submitted": "submitted job"}
"""Limits that make jobs wait, with their units."""


@dataclass(frozen=True, slots=True)
class FoundLimits:
    """Under which limits a log is replayed, on how many cores, and with which priorities.

    Parameters
    ----------
    limits
        The limits; None for none.
    used
        What else is used of what was fitted.
    fitted
        What was fitted to the log; None if nothing was.
    without
        How well the replay without limits agrees with the log; empty if that was not asked.
    """

    limits: Limits | None = None
    used: Used = field(default_factory=Used)
    fitted: Fitted | None = None
    without: Agreement | Literal[""] = ""

    def beside(self) -> Iterator[str]:
        """Hand out what else than limits was read off the log and is used, a clause each."""
        if self.used.cores is not None:
            yield f"{self.used.cores:,} cores are in service, read off the log"
        if (ahead := self.used.ahead) is not None:
            yield f"{count_of(len(ahead.ahead_s), ahead.by)} have priorities, read off the log"

    def __str__(self) -> str:
        """Return its limits in words."""
        if self.fitted is None or self.limits is None:
            return "the limits given"
        counts = Counter(row.by for row in self.limits.rows)
        of = " and ".join(count_of(count, by) for by, count in counts.items())
        return f"caps of cores of {of}, read off the log,"


@dataclass(frozen=True, slots=True)
class Lifted:
    """What lifting one limit would do.

    Parameters
    ----------
    row
        The limit.
    mean_h
        The mean wait of all jobs without it, in hours.
    before_h, after_h
        The mean wait of its own jobs, with it and without.
    """

    row: Limit
    mean_h: float
    before_h: float
    after_h: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What limits cause.

    Parameters
    ----------
    with_h, without_h
        The mean wait of the log under them, and without any, in hours.
    tried
        How many of them were lifted, one at a time.
    lifted
        The one whose lifting shortens the mean wait most; None if none shortens it by 5 %, or only by letting some jobs
        wait much longer.
    """

    with_h: float
    without_h: float
    tried: int
    lifted: Lifted | None

    @property
    def share(self) -> float:
        """Return which share of the waiting they cause."""
        return max(0.0, 1.0 - self.without_h / self.with_h) if self.with_h else 0.0

    def clauses(self, found: FoundLimits) -> Iterator[str]:
        """Hand out what limits cause, and what lifting one would do, a clause each: the first two say most."""
        yield f"{found} cause {percent(self.share)} of the waiting"
        if self.lifted is None:
            which = "it" if self.tried == 1 else f"one of the {self.tried} with most waiting"
            yield f"lifting {which} alone does not help"
        else:
            row, caps = self.lifted.row, self.lifted.row.caps
            most = ", ".join(count_of(int(caps[name]), unit) for name, unit in _UNITS.items() if name in caps)
            yield f"without that of {row.name} ({most}) the mean wait is {as_hours(self.lifted.mean_h)}"
            yield f"its own jobs then wait {as_hours(self.lifted.after_h)} instead of {as_hours(self.lifted.before_h)}"
        then = f", and the agreement with the log is {found.without}" if found.without else ""
        yield f"without any of them the mean wait is {as_hours(self.without_h)}{then}"

    def table(self, found: FoundLimits) -> dict[str, object]:
        """Return it by name, as JSON has it."""
        lifted = self.lifted
        return {
            "source": "given" if found.fitted is None else FITTED,
            "rows": 0 if found.limits is None else len(found.limits.rows),
            "share_of_waiting": self.share,
            "mean_wait_without_h": self.without_h,
            "lifted": None
            if lifted is None
            else {
                "limit": lifted.row.table(),
                "mean_wait_h": lifted.mean_h,
                "own_mean_wait_now_h": lifted.before_h,
                "own_mean_wait_h": lifted.after_h,
            },
        }


def find_limits(asked: str, log: Workload, replayed: Callable[[], Schedule]) -> FoundLimits:
    """Return the limits under which a log is replayed, of which `replayed` returns the replay without limits.

    Asked for are ``"none"``; ``"fitted"``; a file of them; or ``"auto"``: fitted if the replay without them is not
    close to the log, and agrees better on the weeks held out with them.

    Raises
    ------
    FileFormatError, RequestError, ImpossibleJobError
        The file holds no limits, or not of this log; or none can be fitted to it.
    """
    if asked == NONE or (asked == AUTO and refusal_of(log) is not None):
        return FoundLimits()
    if asked not in {AUTO, FITTED}:
        limits = Limits.read(asked)
        return FoundLimits(startable(limits, log))
    calibration = calibrate(replayed())
    without = "" if calibration is None else calibration.agreement
    if asked == AUTO and without == "close":
        return FoundLimits()
    found = fit(log, QueueOptions.checked())
    better = GRADES.index(found.fitted.agreement) > GRADES.index(found.without.agreement)
    used = found.used_on(log) if better or asked == FITTED else Used()
    return FoundLimits(used.limits(found.names), used, found, without)


def effect_of(limits: Limits, now: Schedule, under: Callable[[Limits | None], Schedule]) -> Effect:
    """Return what limits cause, and what lifting one would do: `now` is the replay under them, `under` makes others."""
    before, free = _waits(now), _waits(under(None))
    wait_s = np.where(now.counted, now.start_s - now.workload.submit_s, 0.0)
    own = {row: _jobs_of(row, limits, now.workload) for row in limits.rows if row.caps.keys() & _UNITS.keys()}
    tried = sorted(own, key=lambda row: -float(np.nansum(wait_s[own[row]])))[:_TRIED]
    best: Lifted | None = None
    for row in tried:
        then = under(_without(limits, row))
        after = _waits(then)
        helps = after.mean_h <= (1 - GAIN) * before.mean_h and after.spares(before)
        if helps and (best is None or after.mean_h < best.mean_h):
            best = Lifted(row, after.mean_h, *(_waits(each, own[row]).mean_h for each in (now, then)))
    return Effect(before.mean_h, free.mean_h, len(tried), best)


def _waits(schedule: Schedule, of: NDArray[np.bool_] | None = None) -> Option:
    """Return the waits of a schedule, or of some of its jobs, as those of an option."""
    counts = schedule.counted & ~np.isnan(schedule.start_s)
    wait_h = (schedule.start_s - schedule.workload.submit_s)[counts if of is None else counts & of] / HOUR
    if not len(wait_h):
        wait_h = np.zeros(1)
    mean_h, p99_h, longest_h = float(wait_h.mean()), float(np.percentile(wait_h, 99)), float(wait_h.max())
    return Option(policy="", threshold_h=None, mean_h=mean_h, p99_h=p99_h, longest_h=longest_h, changes=np.zeros(0))


def _jobs_of(row: Limit, limits: Limits, log: Workload) -> NDArray[np.bool_]:
    """Return bool[n], which jobs a limit counts."""
    numbers = numbers_of(log.numbers_by_name, row.by)
    found = []
    for value in np.unique(numbers).tolist():
        keys = {party.key for party in limits.parties(row.by, value)}
        own = row.group is None and limits.number(row) in {None, value}
        mine = (row.by, str(value)) if own else ("", str(row.group))
        if mine in keys:
            found.append(value)
    of: NDArray[np.bool_] = np.isin(numbers, found)
    return of


def _without(limits: Limits, row: Limit) -> Limits | None:
    """Return limits without one of them; its group stays, which others may be parts of."""
    rest = [each for each in limits.rows if each is not row]
    if row.group is not None:
        rest.append(Limit(by=row.by, group=row.group, members=row.members, parent=row.parent))
    return Limits(tuple(rest), limits.names) if rest else None
