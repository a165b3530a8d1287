"""Evidence: what a schedule says happened, as columns; what its proof and its figures of merit are made from."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels.errors import IllegalScheduleError
from simmodels.results.attempts import OUTCOMES, UNFINISHED, Attempts
from simmodels.results.cluster_spec import ClusterSpec, Terms
from simmodels.workflow import delays
from simmodels.workload import Workload


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What a schedule says happened.

    Parameters
    ----------
    workload
        The jobs and tasks, n rows.
    places
        The clusters.
    start_s, end_s, outcome, executed_s, counted, cluster
        As in `simmodels.schedule.Schedule`, n rows each.
    attempts
        Every attempt, of the jobs that ran once too.
    listed
        int64[n], how many attempts of each job were recorded one by one; None if that was done for no job.
    terms
        What it was made under.
    off_spans
        The spans in which machines were off, by cluster, machine and time; None if no cluster has machines.
    parts
        Of the attempts on several machines: `row`, `attempt`, `machine`, `cores`.
    window
        First and last instant of what was simulated; None if there are no machines.
    workflow_outcome
        int8[workflows], see `WORKFLOW_OUTCOMES`.
    """

    workload: Workload
    places: tuple[ClusterSpec, ...]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    outcome: NDArray[np.int8]
    executed_s: NDArray[np.float64]
    counted: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    attempts: Attempts
    listed: NDArray[np.int64] | None
    terms: Terms
    off_spans: pd.DataFrame | None
    parts: pd.DataFrame
    window: tuple[float, float] | None
    workflow_outcome: NDArray[np.int8]

    @property
    def started(self) -> NDArray[np.bool_]:
        """Return bool[n], whether each row has a start."""
        return ~np.isnan(self.start_s)

    @property
    def on(self) -> NDArray[np.int64]:
        """Return int64[n], the number of each row's cluster; 0 where it has none."""
        return np.where((self.cluster >= 0) & (self.cluster < len(self.places)), self.cluster, 0)

    def arrival_s(self, edges: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return float64[k], when the data of each edge (a pair of rows) are on the cluster that needs them."""
        sender, receiver = edges.T
        terms = self.terms
        delay_s = delays(self.workload.runtime_s[sender] / terms.tick_s, terms.ccr) * terms.tick_s
        travels = np.zeros(len(sender), np.bool_)
        if terms.network == "cluster":
            travels = self.cluster[sender] != self.cluster[receiver]
        elif terms.network == "kind" and self.workload.tasks is not None:
            kind, kinds = self.workload.tasks.kind, {place.kind for place in self.places}
            both = (kind[sender] != None) & (kind[receiver] != None)  # noqa: E711  of each element
            travels = both & (kind[sender] != kind[receiver]) & (None not in kinds)
        arrival_s: NDArray[np.float64] = self.end_s[sender] + np.where(travels, delay_s, 0.0)
        return arrival_s

    def waits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return when rigid jobs' waits begin and end: before an attempt, and after one that came to nothing."""
        waiting = self.workload.known() & self.workload.rigid() & (self.counted | ~np.isnan(self.start_s))
        submit_s = np.where(waiting, self.workload.submit_s, np.nan)  # who was left out, or is not in the window
        if self.listed is None:
            return submit_s, np.where(waiting, self.start_s, np.nan)
        row, attempt, start_s, end_s = self.attempts[:4]
        again_s = np.where(waiting, end_s[: len(waiting)], np.nan)[self.outcome == UNFINISHED]  # NaN of those that run
        order = np.lexsort((attempt, row))
        row, start_s, end_s = row[order], np.where(waiting[row], start_s, np.nan)[order], end_s[order]
        first = np.append(True, row[1:] != row[:-1])[: len(row)]
        from_s = np.where(first, submit_s[row], np.where(waiting[row], np.roll(end_s, 1), np.nan))
        return np.concatenate((from_s, again_s)), np.concatenate((start_s, np.full(len(again_s), np.nan)))

    def refuse(self, rule: str, bad: NDArray[np.bool_], text: str, **values: object) -> None:
        """Raise if some row is bad; `text` is filled in with the values of the first."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        row = int(rows[0])
        what = text.format(
            job=self.workload.job(row),
            start_s=self.start_s[row],
            end_s=self.end_s[row],
            outcome=OUTCOMES[self.outcome[row]],
            place=self.places[self.on[row]],
            cluster=self.cluster[row],
            **values,
        )
        unit = "jobs" if self.workload.is_rigid else "rows"
        more = f" (and {len(rows) - 1} more {unit})" if len(rows) > 1 else ""
        raise IllegalScheduleError(rule, f"{self.workload.label(row)} {what}{more}")
