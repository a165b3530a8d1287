"""WorkflowResults: when each workflow of a schedule was finished, and what it was worth then."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be
from simmodels.ground.later import pd
from simmodels.results.attempts import FINISHED, STARVED, WORKFLOW_OUTCOMES
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Tasks

_UNFINISHED = WORKFLOW_OUTCOMES.index("unfinished")


@dataclass(frozen=True, slots=True, eq=False)
class WorkflowResults:
    """What became of workflows."""

    tasks: Tasks  # the workflows, and which rows of the next two are their tasks
    start_s: NDArray[np.float64]  # [n], seconds since the workload's zero; NaN where a task never started
    end_s: NDArray[np.float64]  # [n], likewise; NaN where a task never ended
    outcome: NDArray[np.int8]  # [workflows], see `simmodels.results.attempts.WORKFLOW_OUTCOMES`
    critical_path_s: NDArray[np.float64]  # [workflows], the least time from submission to finish
    tick_s: float = 1.0  # the unit of the auction's times, in seconds

    @property
    def workflows(self) -> tuple[Workflow, ...]:
        """Return the workflows."""
        return self.tasks.workflows

    @property
    def submit_s(self) -> NDArray[np.float64]:
        """Return float64[workflows], when each was submitted."""
        return np.array([workflow.submit_s for workflow in self.workflows], np.float64)

    @property
    def finish_s(self) -> NDArray[np.float64]:
        """Return float64[workflows], when each one's last task ended; NaN if that was too late, or never."""
        if not len(self.workflows):
            return np.empty(0)
        sizes = np.array([len(workflow) for workflow in self.workflows], np.int64)
        last = np.maximum.reduceat(self.end_s[self.tasks.rows()], np.cumsum(sizes) - sizes)  # NaN if one of them is
        return np.where(self.outcome == FINISHED, last, np.nan)

    @property
    def slr(self) -> NDArray[np.float64]:
        """Return float64[workflows], (finish - submit) / critical path; NaN if not finished."""
        tick_s = self.tick_s
        slr: NDArray[np.float64] = (self.finish_s - self.submit_s) / tick_s / (self.critical_path_s / tick_s)
        return slr

    @property
    def most_value(self) -> NDArray[np.float64]:
        """Return float64[workflows], what each is worth at most."""
        return np.array([workflow.most_value for workflow in self.workflows], np.float64)

    @property
    def value(self) -> NDArray[np.float64]:
        """Return float64[workflows], what each was worth; 0 if it is not finished."""
        done = self.outcome == FINISHED
        slr = np.where(done, self.slr, np.inf)
        factor = [w.curve.factor(s) if f else 0.0 for w, s, f in zip(self.workflows, slr, done, strict=True)]
        return self.most_value * np.array(factor, np.float64)

    def table(self) -> "pd.DataFrame":
        """Return a table, one row per workflow, input order.

        Columns ``job_id, submit_s, finish_s, outcome, slr, value, most_value, volume_core_s, critical_path_s, tasks``.
        """
        return pd.DataFrame(
            {
                "job_id": [workflow.job_id for workflow in self.workflows],
                "submit_s": self.submit_s,
                "finish_s": self.finish_s,
                "outcome": pd.Categorical.from_codes(self.outcome, categories=pd.Index(WORKFLOW_OUTCOMES)),
                "slr": self.slr,
                "value": self.value,
                "most_value": self.most_value,
                "volume_core_s": [workflow.volume_core_s for workflow in self.workflows],
                "critical_path_s": self.critical_path_s,
                "tasks": [len(workflow) for workflow in self.workflows],
            }
        )

    def metrics(self, cores: int) -> dict[str, float]:
        """Return the figures of merit by name, on a platform of `cores` cores; see `Schedule.metrics`.

        References
        ----------
        Burkimsher, Soares Indrusiak 2016, arXiv 1601.07047, section 5.
        """
        jobs, rows = len(self.workflows), self.tasks.rows()
        finished, starved, rejected, unfinished = np.bincount(self.outcome, minlength=len(WORKFLOW_OUTCOMES)).tolist()
        most = float(self.most_value.sum())
        slr = self.slr[self.outcome == FINISHED]
        submit_s = self.submit_s if jobs else np.zeros(1)
        offered = float(np.ptp(submit_s)) * cores
        runtime_s = np.concatenate([np.empty(0), *(workflow.runtime_s for workflow in self.workflows)])
        work = float(runtime_s @ np.concatenate([np.empty(0), *(workflow.cores for workflow in self.workflows)]))
        ends = self.end_s[rows]
        ends = ends[~np.isnan(ends)]
        return {
            "value": float(self.value.sum()) / most if most else np.nan,
            "starved": (starved + unfinished) / jobs if jobs else np.nan,
            "mean_slr": float(slr.mean()) if finished else np.nan,
            "median_slr": float(np.median(slr)) if finished else np.nan,
            "p95_slr": float(np.quantile(slr, 0.95)) if finished else np.nan,
            "max_slr": float(slr.max()) if finished else np.nan,
            "effective_load": work / offered if offered else np.nan,
            "makespan_s": float(ends.max() - submit_s.min()) if len(ends) else np.nan,
            "jobs": jobs,
            "finished": finished,
            "starved_deadline": starved,
            "unfinished_at_end": unfinished,
            "rejected": rejected,
            "tasks": len(rows),
            "tasks_started": int((~np.isnan(self.start_s[rows])).sum()),
        }

    def deciles(self, by: str = "volume_core_s") -> "pd.DataFrame":
        """Return a table with a row for each tenth of the workflows, the smallest first; see `Schedule.deciles`."""
        chosen: object = by
        if not isinstance(chosen, str) or chosen not in {"volume_core_s", "most_value", "critical_path_s"}:
            raise RequestError(must_be("by", "volume_core_s, most_value or critical_path_s", by))
        table, jobs = self.table(), len(self.workflows)
        order = np.argsort(table[by].to_numpy(), kind="stable")
        table["decile"] = np.empty(jobs, np.int64)
        table.loc[order, "decile"] = np.arange(jobs) * 10 // max(jobs, 1) + 1
        table["starved"] = (self.outcome == STARVED) | (self.outcome == _UNFINISHED)
        grouped = table.groupby("decile")
        found = grouped.agg(jobs=("job_id", "size"), mean_slr=("slr", "mean"), starved=("starved", "mean"))
        found["value"] = grouped["value"].sum() / grouped["most_value"].sum()
        return found.reset_index()
