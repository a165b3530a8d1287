"""Evidence: what a schedule says happened, as columns; what its proof and its figures of merit are made from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import ClusterSpec, Terms
from simmodels.errors import IllegalScheduleError
from simmodels.ground.later import pd
from simmodels.results.attempts import OUTCOMES, PART_COLUMNS, UNFINISHED, Attempts
from simmodels.results.course import with_conditions
from simmodels.work.workflow import delays
from simmodels.work.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What a schedule says happened."""

    workload: Workload  # the jobs and tasks, n rows
    clusters: tuple[ClusterSpec, ...]
    # as in `simmodels.results.schedule.Schedule`, n rows each
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    outcome: NDArray[np.int8]
    executed_s: NDArray[np.float64]
    counted: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    attempts: Attempts  # every attempt, of the jobs that ran once too
    # [n], how many attempts of each job were recorded one by one; None if that was done for no job
    listed: NDArray[np.int64] | None
    terms: Terms  # what it was made under
    # the spans in which machines were off, by cluster, machine and time; None if no cluster has machines
    off_spans: "pd.DataFrame | None"
    # Called for those of the attempts on several machines: `row`, `attempt`, `machine`, `machines`, `cores`; it returns
    # None if there are none.
    parts: "Callable[[], pd.DataFrame | None]"
    # the attempts of these jobs on clusters that are not among the clusters, with their speeds and checkpoints
    elsewhere: Attempts
    window: tuple[float, float] | None  # first and last instant of what was simulated; None if there are no machines
    workflow_outcome: NDArray[np.int8]  # [workflows], see `WORKFLOW_OUTCOMES`

    def part_table(self) -> "pd.DataFrame":
        """Return the parts as a table, which is empty if there are none."""
        found = self.parts()
        return pd.DataFrame(columns=list(PART_COLUMNS)) if found is None else found

    @property
    def started(self) -> NDArray[np.bool_]:
        """Return bool[n], whether each row has a start."""
        return ~np.isnan(self.start_s)

    @property
    def earlier_s(self) -> NDArray[np.float64]:
        """Return float64[n], for how long each row had run when what was simulated began."""
        found, runs = np.zeros(len(self.start_s)), self.attempts
        ran = np.flatnonzero((runs.earlier_s > 0) & (runs.start_s == self.start_s[runs.row]))
        found[runs.row[ran]] = runs.earlier_s[ran]
        return found

    @property
    def began_s(self) -> NDArray[np.float64]:
        """Return float64[n], when each row began to run: its start, unless it had run when what was simulated began."""
        earlier_s, submit_s = self.earlier_s, self.workload.submit_s
        exactly = earlier_s == self.start_s - submit_s  # the difference of both may not be, where times are fractions
        return np.where(exactly, submit_s, self.start_s - earlier_s)

    @property
    def on(self) -> NDArray[np.int64]:
        """Return int64[n], the number of each row's cluster; 0 where it has none."""
        return np.where((self.cluster >= 0) & (self.cluster < len(self.clusters)), self.cluster, 0)

    def arrival_s(self, edges: NDArray[np.int64], on: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return float64[k], when the data of each edge (a pair of rows) are on the cluster that needs them.

        That is the one on which its receiver ran last, or `on` for each edge.
        """
        sender, receiver = edges.T
        on = self.cluster[receiver] if on is None else on
        terms = self.terms
        delay_s = delays(self.workload.runtime_s[sender] / terms.tick_s, terms.ccr) * terms.tick_s
        travels = np.zeros(len(sender), np.bool_)
        if terms.network == "cluster":
            travels = self.cluster[sender] != on
        elif terms.network == "kind" and self.workload.tasks is not None:
            kind, kinds = self.workload.tasks.kind, {spec.kind for spec in self.clusters}
            both = (kind[sender] != None) & (kind[receiver] != None)  # noqa: E711  of each element
            travels = both & (kind[sender] != kind[receiver]) & (None not in kinds)
        arrival_s: NDArray[np.float64] = self.end_s[sender] + np.where(travels, delay_s, 0.0)
        return arrival_s

    def waits(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int8]]:
        """Return when rigid jobs' waits begin and end: before an attempt, and after one that came to nothing.

        The third column is 1, and 0 of what is no wait: of a job that was left out, or is not in the window.
        """
        waiting = self.workload.known() & self.workload.rigid() & (self.counted | ~np.isnan(self.start_s))
        if self.listed is None:
            return self.workload.submit_s, self.start_s, waiting.view(np.int8)
        last_s = np.where(waiting, self.attempts.end_s[: len(waiting)], np.nan)
        again_s = last_s[(self.outcome == UNFINISHED) & ~self.moved]  # NaN of those that run
        runs, here = self.in_order()
        row, end_s = runs.row, runs.end_s
        first = np.append(True, row[1:] != row[:-1])[: len(row)]
        from_s = np.where(first, self.workload.submit_s[row], np.roll(end_s, 1))
        nan = np.full(len(again_s), np.nan)
        counts = np.concatenate((waiting[row][here], np.ones(len(again_s), np.bool_)))
        return np.concatenate((from_s[here], again_s)), np.concatenate((runs.start_s[here], nan)), counts.view(np.int8)

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Return bool[n], whether each row started again elsewhere, after all its attempts here."""
        found = np.zeros(len(self.start_s), np.bool_)
        row = self.elsewhere.row
        later = np.isfinite(self.attempts.start_s[row]) & (self.elsewhere.attempt > self.attempts.attempt[row])
        found[row[later]] = True
        return found

    def in_order(self) -> tuple[Attempts, NDArray[np.bool_]]:
        """Return all attempts of all rows, by row and number, and whether each is one of those here.

        They have the speeds and checkpoints that they ran under. One that never started is the last of its row.
        """
        here, away = with_conditions(self.attempts, self.clusters, self.parts), self.elsewhere
        pairs: list[Any] = [*zip(here, away, strict=True)]
        runs = Attempts(*map(np.concatenate, pairs))
        order = np.lexsort((runs.attempt, np.isnan(runs.start_s), runs.row))
        return runs.take(order), order < len(here.row)

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
            spec=self.clusters[self.on[row]],
            cluster=self.cluster[row],
            **values,
        )
        unit = "jobs" if self.workload.is_rigid else "rows"
        more = f" (and {len(rows) - 1} more {unit})" if len(rows) > 1 else ""
        raise IllegalScheduleError(rule, f"{self.workload.label(row)} {what}{more}")

    def refuse_attempts(
        self, rule: str, bad: NDArray[np.bool_], runs: Attempts, text: str, **values: NDArray[np.generic]
    ) -> None:
        """Raise if some attempt is bad; `text` is filled in with the columns and the values of the first."""
        number = np.count_nonzero(bad)
        more = f" (and {number - 1} more attempts)" if number > 1 else ""
        self.refuse_first(rule, bad, runs._asdict() | values, text + more)

    def refuse_first(
        self,
        rule: str,
        bad: NDArray[np.bool_],
        columns: "dict[str, Any] | pd.DataFrame",
        text: str,
        *,
        earliest: bool = False,
        **values: object,
    ) -> None:
        """Raise if one of the columns' rows is bad; `text` is filled in with the columns and the values of the first.

        The columns have the ``row`` of the job. The values are more columns, or one value for all. The first is that
        with the lowest ``start_s`` if `earliest` is set, else the one listed first.
        """
        found = np.flatnonzero(bad)
        if len(found):
            at = found[np.argmin(np.asarray(columns["start_s"])[found])] if earliest else found[0]
            every = {name: np.broadcast_to(each, len(bad))[at] for name, each in (*columns.items(), *values.items())}
            raise IllegalScheduleError(rule, f"{self.workload.label(int(every['row']))} {text.format(**every)}")
