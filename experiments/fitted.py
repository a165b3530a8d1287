"""Fitted: what was tried of what a log shows of its queue, what of it is used, and how near replays come with it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from experiments.calibration import Calibration
from experiments.caps import MACHINE, values_of, widest_of
from simmodels import HOUR, Ahead, Limits, Order, Schedule, Workload, simulate
from simmodels.clusters.rows import Names
from simmodels.ground.durations import as_hours
from simmodels.policies.orders import find_order
from simmodels.policies.queue_options import QueueOptions

FIRST_COME: Final = "FCFS"
"""The order that priorities change."""
_AHEAD: Final = Order(FIRST_COME, lambda submit, ahead_s: submit - ahead_s)
"""First come, first served, of jobs with a column that says how much earlier each counts as submitted."""
_HELPED: Final = 0.1
"""What is tried is taken if the distance of the waits from those of the log becomes less by this share, at least."""
Row = Mapping[str, Any]
"""A row of limits, as `simmodels.Limits` takes it."""


@dataclass(frozen=True, slots=True)
class Used:
    """What replays of a log use of what was fitted.

    Parameters
    ----------
    cores
        The cores in service; None for all of the machine.
    rows
        Rows of limits.
    ahead
        The order, in place of first come, first served; None where that stays.
    """

    cores: int | None = None
    rows: tuple[Row, ...] = ()
    ahead: Ahead | None = None

    def ordered(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options of a queue in which the order has the priorities, if it is first come, first served."""
        first_come = find_order(options.get("order", FIRST_COME)).name == FIRST_COME
        return {**options, "order": self.ahead} if first_come and self.ahead is not None else options

    def on(self, log: Workload) -> Workload:
        """Return a log of a machine with the cores in service."""
        return log if self.cores is None else replace(log, max_cores=self.cores)

    def replay(self, log: Workload, options: QueueOptions) -> Schedule:
        """Return the schedule of a log."""
        given = {**options.by_name(), "limits": list(self.rows) or None}
        if self.ahead is not None:  # as a column: the code of an order with other numbers would be compiled first
            values, of = np.unique(values_of(log, self.ahead.by), return_inverse=True)
            ahead_s = np.array([self.ahead.ahead_s.get(value, 0.0) for value in values.tolist()])[of]
            log, given["order"] = replace(log, extras={**log.extras, "ahead_s": ahead_s}), _AHEAD
        return simulate(log, cores=self.cores or log.max_cores, **given)

    def limits(self, names: Names) -> Limits | None:
        """Return the limits, which have the names of values instead of their numbers; None if there are none."""
        if not self.rows:
            return None
        return Limits(Limits(list(self.rows), names).table(), names)  # type: ignore[arg-type]  # rows are checked there


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What was tried.

    Parameters
    ----------
    by
        The column that it goes by.
    before, after
        How far the waits of even weeks are from those of the log, without it and with it (see `distance`).
    beside
        It, together with what was taken before.
    said
        It in words.
    about
        More of it by name, as JSON holds it.
    holds
        Whether it brings the waits of odd weeks nearer, too, beside what was taken before.
    """

    by: str
    before: float
    after: float
    beside: Used
    said: str
    about: Mapping[str, Any]
    holds: bool = True

    @property
    def helped(self) -> bool:
        """Whether the waits of the even weeks come nearer by a tenth of the distance, at least."""
        return self.after < (1.0 - _HELPED) * self.before

    @property
    def taken(self) -> bool:
        """Whether it is taken: it helps on the even weeks, and holds on the odd ones."""
        return self.helped and self.holds

    def table(self) -> dict[str, Any]:
        """Return it by name, as JSON holds it."""
        return {"by": self.by, "before": self.before, "after": self.after, "taken": self.taken, **self.about}


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted to a log, and how far replays are from it on the weeks that were held out.

    Parameters
    ----------
    steps
        What helped on the even weeks, in this order, then what was tried beside it and is of no help.
    used
        What was taken.
    without, fitted
        Of replays without what was fitted, and with what was taken, on the odd weeks; the same where nothing was.
    before, after
        How far the waits of odd weeks are from those of the log, without what was fitted, and with it.
    names
        The numbers of the log's names, by column.
    """

    steps: tuple[Step, ...]
    used: Used
    without: Calibration
    fitted: Calibration
    before: float
    after: float
    names: Names = field(default_factory=dict)

    @property
    def limits(self) -> Limits | None:
        """Return the limits of what is used; None if there are none."""
        return self.used.limits(self.names)

    def used_on(self, log: Workload) -> Used:
        """Return what is used for a log, in which no cap is below the widest job of its value."""
        used = self.used
        widest = {by: widest_of(log, values_of(log, by)) for by in {MACHINE, *(step.by for step in self.steps)}}
        rows = ({**row, "cores": max(row["cores"], widest[str(row["by"])][row["value"]])} for row in used.rows)
        cores = None if used.cores is None else max(used.cores, *widest[MACHINE].values())
        return replace(used, cores=cores, rows=tuple(rows))

    def table(self) -> dict[str, Any]:
        """Return all of it by name, as JSON holds it; waits in hours."""
        held_out = {
            "logged": _hours(self.without.logged),
            "without": _hours(self.without.replayed) | _nearness(self.without),
            "fitted": _hours(self.fitted.replayed) | _nearness(self.fitted),
        }
        distances = {"before": self.before, "after": self.after, "helped": self.used != Used()}
        return {"fitted": [step.table() for step in self.steps], "held_out": held_out, **distances}

    def sentences(self) -> Iterator[str]:
        """Hand out what was taken, what was of no help, and how much nearer the replay came."""
        for step in self.steps:
            said = "Taken" if step.taken else "Of no help on the odd weeks" if step.helped else "Tried, and not taken"
            far = f"{step.after:.2f}, {step.before:.2f} without"
            yield f"{said}: {step.said}; distance from the log on the even weeks: {far}."
        if not self.steps:
            yield "The log shows no limits, priorities or cores out of service that bring the replay nearer."
        logged_h, without_h, fitted_h = (
            as_hours(waits["mean_wait_s"] / HOUR)
            for waits in (self.without.logged, self.without.replayed, self.fitted.replayed)
        )
        before, after = self.without.agreement, self.fitted.agreement
        if self.used == Used():
            yield f"On the odd weeks the replay is {before}: a mean wait of {without_h}, {logged_h} logged."
        else:
            waits = f"{fitted_h}, {without_h} without, {logged_h} logged"
            yield f"On the odd weeks the replay is {after}, {before} without: a mean wait of {waits}."


def _hours(waits: Mapping[str, float]) -> dict[str, object]:
    """Return waits by the names that JSON has."""
    return {f"{name}_h": waits[f"{name}_wait_s"] / HOUR for name in ("mean", "median", "p95")}


def _nearness(found: Calibration) -> dict[str, object]:
    """Return how near a replay is to its log."""
    return {"rank": found.rank_correlation, "agreement": found.agreement}
