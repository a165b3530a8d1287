"""WorkflowSchedule: when and where each task of each workflow ran, what the jobs were worth, and a proof of it."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels.errors import IllegalScheduleError, RequestError
from simmodels.workflow import Workflow, delays

OUTCOMES: Final = ("finished", "starved", "rejected", "unfinished")
FINISHED, STARVED, REJECTED, UNFINISHED = range(len(OUTCOMES))
_ANY: Final = 0  # the number of no kind


class Place(NamedTuple):
    """A cluster of the platform: its name, its cores, and its kind (None takes any task)."""

    name: str
    cores: int
    kind: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WorkflowSchedule:
    """When and where each task of each workflow ran; rows are in input order, job by job.

    The arrays are read-only. A schedule need not be legal: `validate` proves that it is.

    Parameters
    ----------
    workflows
        The jobs.
    clusters
        The platform.
    start_s, end_s
        float64[tasks], seconds since the workload's zero; NaN where a task never started, or never ended.
    cluster
        int64[tasks], the number of the cluster it ran on; -1 where it never started.
    outcome
        int8[jobs]: 0 finished, 1 starved (its deadline came first), 2 rejected at its arrival, 3 unfinished when
        the simulation was stopped.
    critical_path_s
        float64[jobs], the least time from submission to finish.
    price
        float64[tasks], what each task paid; None if nobody paid.
    about
        How it was made: bid, ccr, network, tick_s, engine, seed and so on.

    Raises
    ------
    RequestError
        A column has the wrong length.
    """

    workflows: Sequence[Workflow]
    clusters: Sequence[Place]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    cluster: NDArray[np.int64]
    _: KW_ONLY
    outcome: NDArray[np.int8]
    critical_path_s: NDArray[np.float64]
    price: NDArray[np.float64] | None = None
    about: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the columns read-only arrays of their types, and check their lengths."""
        tasks, jobs = sum(map(len, self.workflows)), len(self.workflows)
        types = {"start_s": np.float64, "end_s": np.float64, "cluster": np.int64, "price": np.float64}
        for name, rows in (*((name, tasks) for name in types), ("outcome", jobs), ("critical_path_s", jobs)):
            if getattr(self, name) is None:
                continue
            wanted = types.get(name, np.int8 if name == "outcome" else np.float64)
            column = np.array(getattr(self, name), dtype=wanted)
            if column.shape != (rows,):
                raise RequestError(f"column {name} has shape {column.shape}", f"({rows},) is allowed")
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "workflows", tuple(self.workflows))
        object.__setattr__(self, "clusters", tuple(Place(*each) for each in self.clusters))
        object.__setattr__(self, "about", MappingProxyType(dict(self.about)))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments (a read-only mapping cannot be pickled)."""
        more = {name: getattr(self, name) for name in ("outcome", "critical_path_s", "price")}
        make = partial(WorkflowSchedule, **more, about=dict(self.about))
        return make, (self.workflows, self.clusters, self.start_s, self.end_s, self.cluster)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.workflows)

    def __repr__(self) -> str:
        """Return a line about it."""
        how = f", bid={self.about['bid']}" if "bid" in self.about else ""
        return f"<WorkflowSchedule of {len(self)} jobs, {len(self.start_s)} tasks{how}>"

    # -- what follows from it ---------------------------------------------------------------------------

    @property
    def first_task(self) -> NDArray[np.int64]:
        """Return int64[jobs + 1], where the tasks of each job begin."""
        return np.concatenate(([0], np.cumsum([len(workflow) for workflow in self.workflows], dtype=np.int64)))

    @property
    def finish_s(self) -> NDArray[np.float64]:
        """Return float64[jobs], when each job's last task ended; NaN if that was too late, or never."""
        if not len(self):
            return np.empty(0)
        last = np.maximum.reduceat(self.end_s, self.first_task[:-1])  # NaN if one of them is
        return np.where(self.outcome == FINISHED, last, np.nan)

    @property
    def slr(self) -> NDArray[np.float64]:
        """Return float64[jobs], the schedule length ratio: (finish - submit) / critical path; NaN if not finished."""
        tick_s = float(self.about.get("tick_s", 1.0))  # type: ignore[arg-type]  # a number
        submit_s = np.array([workflow.submit_s for workflow in self.workflows], np.float64)
        slr: NDArray[np.float64] = (self.finish_s - submit_s) / tick_s / (self.critical_path_s / tick_s)
        return slr

    @property
    def most_value(self) -> NDArray[np.float64]:
        """Return float64[jobs], what each job is worth at most."""
        return np.array([workflow.most_value for workflow in self.workflows], np.float64)

    @property
    def value(self) -> NDArray[np.float64]:
        """Return float64[jobs], what each job was worth; 0 if it is not finished."""
        slr = np.where(self.outcome == FINISHED, self.slr, np.inf)
        factor = [
            w.curve.factor(s) if f else 0.0
            for w, s, f in zip(self.workflows, slr, self.outcome == FINISHED, strict=True)
        ]
        return self.most_value * np.array(factor, np.float64)

    # -- tables -----------------------------------------------------------------------------------------

    @property
    def jobs(self) -> pd.DataFrame:
        """A table, built anew at each call: one row a job, input order.

        Columns ``job_id, submit_s, finish_s, outcome, slr, value, most_value, volume_core_s, critical_path_s, tasks``.
        """
        return pd.DataFrame(
            {
                "job_id": [workflow.job_id for workflow in self.workflows],
                "submit_s": [workflow.submit_s for workflow in self.workflows],
                "finish_s": self.finish_s,
                "outcome": pd.Categorical.from_codes(self.outcome, categories=pd.Index(OUTCOMES)),
                "slr": self.slr,
                "value": self.value,
                "most_value": self.most_value,
                "volume_core_s": [workflow.volume_core_s for workflow in self.workflows],
                "critical_path_s": self.critical_path_s,
                "tasks": [len(workflow) for workflow in self.workflows],
            }
        )

    @property
    def tasks(self) -> pd.DataFrame:
        """A table, built anew at each call: one row a task, input order.

        Columns ``job_id, task, kind, cores, runtime_s, start_s, end_s, cluster`` (a name, None where it never
        started), ``outcome`` (completed, running, never started), and ``price`` if tasks paid.
        """
        names = np.array([*(place.name for place in self.clusters), None], dtype=object)
        outcome = np.where(np.isnan(self.start_s), 2, np.where(np.isnan(self.end_s), 1, 0))
        categories = pd.Index(("completed", "running", "never started"))
        columns: dict[str, object] = {
            "job_id": np.repeat([workflow.job_id for workflow in self.workflows], np.diff(self.first_task)),
            "task": [workflow.label(task) for workflow in self.workflows for task in range(len(workflow))],
            "kind": [kind for workflow in self.workflows for kind in workflow.kind],
            "cores": self._joined("cores"),
            "runtime_s": self._joined("runtime_s"),
            "start_s": self.start_s,
            "end_s": self.end_s,
            "cluster": pd.Series(names[self.cluster], dtype=object),
            "outcome": pd.Categorical.from_codes(outcome, categories=categories),
        }
        if self.price is not None:
            columns["price"] = self.price
        return pd.DataFrame(columns)

    def _joined(self, name: str) -> NDArray[np.float64]:
        columns = [getattr(workflow, name) for workflow in self.workflows]
        return np.concatenate(columns) if columns else np.empty(0)

    # -- metrics ----------------------------------------------------------------------------------------

    def metrics(self) -> dict[str, float]:
        """Return the figures of merit by name.

        ``value`` is the worth of all jobs over the most that they could be worth; ``starved`` the share of jobs that
        starved or were not finished at the end, of which ``starved_deadline`` and ``unfinished_at_end`` are the
        numbers; ``rejected`` the number of those turned away. ``mean_slr``, ``median_slr``, ``p95_slr`` and
        ``max_slr`` are of the finished jobs. ``effective_load`` is the work over what all cores could do from the
        first submission to the last. What has no value is NaN.

        References
        ----------
        Burkimsher, Soares Indrusiak 2016, arXiv 1601.07047, section 5.
        """
        finished, starved, rejected, unfinished = np.bincount(self.outcome, minlength=len(OUTCOMES)).tolist()
        most = float(self.most_value.sum())
        slr = self.slr[self.outcome == FINISHED]
        submit_s = [workflow.submit_s for workflow in self.workflows] or [0.0]
        span_s = max(submit_s) - min(submit_s)
        offered = span_s * sum(place.cores for place in self.clusters)
        work = float(self._joined("runtime_s") @ self._joined("cores"))
        started = int((~np.isnan(self.start_s)).sum())
        ends = self.end_s[~np.isnan(self.end_s)]
        return {
            "value": float(self.value.sum()) / most if most else np.nan,
            "starved": (starved + unfinished) / len(self) if len(self) else np.nan,
            "mean_slr": float(slr.mean()) if finished else np.nan,
            "median_slr": float(np.median(slr)) if finished else np.nan,
            "p95_slr": float(np.quantile(slr, 0.95)) if finished else np.nan,
            "max_slr": float(slr.max()) if finished else np.nan,
            "effective_load": work / offered if offered else np.nan,
            "makespan_s": float(ends.max()) - min(submit_s) if len(ends) else np.nan,
            "jobs": len(self),
            "finished": finished,
            "starved_deadline": starved,
            "unfinished_at_end": unfinished,
            "rejected": rejected,
            "tasks": len(self.start_s),
            "tasks_started": started,
        }

    def deciles(self, by: str = "volume_core_s") -> pd.DataFrame:
        """Return a table with a row for each tenth of the jobs, the smallest first.

        Columns ``decile, jobs, mean_slr`` (of those finished), ``starved`` (share), ``value`` (share of the most).

        Parameters
        ----------
        by
            ``"volume_core_s"`` or ``"most_value"``: what small means; ties by input order.

        Raises
        ------
        RequestError
            `by` is none of these.
        """
        if by not in {"volume_core_s", "most_value"}:
            raise RequestError(f"deciles by {by!r}", "volume_core_s or most_value is allowed")
        table = self.jobs
        order = np.argsort(table[by].to_numpy(), kind="stable")
        table["decile"] = np.empty(len(self), np.int64)
        table.loc[order, "decile"] = np.arange(len(self)) * 10 // max(len(self), 1) + 1
        table["starved"] = (self.outcome == STARVED) | (self.outcome == UNFINISHED)
        grouped = table.groupby("decile")
        found = grouped.agg(jobs=("job_id", "size"), mean_slr=("slr", "mean"), starved=("starved", "mean"))
        found["value"] = grouped["value"].sum() / grouped["most_value"].sum()
        return found.reset_index()

    # -- proof ------------------------------------------------------------------------------------------

    def validate(self) -> Self:
        """Return the schedule itself if the platform could have run it so; raise if not.

        The rules, by the names that the error gives: ``outcome`` (a finished job's tasks have all ended, each once;
        a rejected one's never started), ``kind``, ``submit``, ``end`` (start + runtime, exactly, in float64; not
        looked at if ``about`` says ``runtimes="modelled"``), ``data`` (no task starts before its predecessors'
        data are on its cluster), ``capacity`` (no core is used twice).

        Raises
        ------
        IllegalScheduleError
            With the rule and, for the first offence, the job, the task and the values.
        """
        started = ~np.isnan(self.start_s)
        job = np.repeat(np.arange(len(self)), np.diff(self.first_task))
        known = (self.cluster >= 0) & (self.cluster < len(self.clusters))
        self._refuse("outcome", started != known, "starts at {start_s} s on cluster {cluster}")
        self._refuse("outcome", ~started & ~np.isnan(self.end_s), "never started, and ends at {end_s} s")
        ended = ~np.isnan(self.end_s)
        self._refuse("outcome", (self.outcome[job] == FINISHED) & ~ended, "of a finished job has not ended")
        self._refuse("outcome", (self.outcome[job] == REJECTED) & started, "of a rejected job starts at {start_s} s")
        kinds, clusters = self._kinds()
        offered = np.append(clusters, _ANY)[self.cluster]
        wrong = started & (offered != kinds) & (offered != _ANY) & (kinds != _ANY)
        self._refuse("kind", wrong, "runs on cluster {cluster}, which is not of its kind")
        submit_s = np.array([workflow.submit_s for workflow in self.workflows])[job]
        self._refuse("submit", self.start_s < submit_s, "starts at {start_s} s, before its job is submitted")
        if self.about.get("runtimes") != "modelled":
            late = ended & (self.end_s != self.start_s + self._joined("runtime_s"))
            self._refuse("end", late, "starts at {start_s} s and ends at {end_s} s, which is not its runtime")
        self._prove_data()
        for cluster in range(len(self.clusters)):
            self._prove_capacity(cluster)
        return self

    def _kinds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the kinds of all tasks and of all clusters, as numbers."""
        number: dict[str | None, int] = {None: _ANY}
        tasks = [number.setdefault(kind, len(number)) for workflow in self.workflows for kind in workflow.kind]
        clusters = [number.setdefault(place.kind, len(number)) for place in self.clusters]
        return np.array(tasks, np.int64), np.array(clusters, np.int64)

    def _refuse(self, rule: str, bad: NDArray[np.bool_], text: str) -> None:
        """Raise if some task is bad; `text` is filled in with the values of the first."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        row = int(rows[0])
        first = self.first_task
        job = int(np.searchsorted(first, row, side="right")) - 1
        workflow = self.workflows[job]
        values = {"start_s": self.start_s[row], "end_s": self.end_s[row], "cluster": self.cluster[row]}
        task = workflow.label(row - int(first[job]))
        raise IllegalScheduleError(rule, f"job {workflow.job_id}, task {task} {text.format(**values)}")

    def _prove_data(self) -> None:
        """Prove that no task starts before the data of its predecessors are there."""
        first = self.first_task
        pairs = [workflow.edges + start for workflow, start in zip(self.workflows, first[:-1], strict=True)]
        edges = np.concatenate(pairs) if pairs else np.empty((0, 2), np.int64)
        sender, receiver = edges[:, 0], edges[:, 1]
        network = self.about.get("network", "cluster")
        tick_s = float(self.about.get("tick_s", 1.0))  # type: ignore[arg-type]  # a number
        ccr = float(self.about.get("ccr", 0.0))  # type: ignore[arg-type]  # the same
        delay_s = delays(self._joined("runtime_s") / tick_s, ccr) * tick_s
        if network == "cluster":
            travels = self.cluster[sender] != self.cluster[receiver]
        elif network == "kind":
            kind, clusters = self._kinds()
            travels = (kind[sender] != kind[receiver]) & (kind[sender] != _ANY) & (kind[receiver] != _ANY)
            travels &= _ANY not in clusters
        else:
            travels = np.zeros(len(edges), np.bool_)
        there_s = self.end_s[sender] + np.where(travels, delay_s[sender], 0.0)
        early = ~np.isnan(self.start_s[receiver]) & ~(self.start_s[receiver] >= there_s)
        bad = np.bincount(receiver[early], minlength=len(self.start_s)) > 0
        self._refuse("data", bad, "starts at {start_s} s, before the data of its predecessors are there")

    def _prove_capacity(self, cluster: int) -> None:
        """Prove that the cores in use on a cluster never exceed it."""
        rows = np.flatnonzero(self.cluster == cluster)
        ends = rows[~np.isnan(self.end_s[rows])]
        cores = self._joined("cores")
        time_s = np.concatenate((self.end_s[ends], self.start_s[rows]))
        change = np.concatenate((-cores[ends], cores[rows]))
        order = np.lexsort((change, time_s))  # what ends at an instant makes room for what starts then
        used = np.cumsum(change[order])
        over = np.flatnonzero(used > self.clusters[cluster].cores)
        if len(over):
            place, at = self.clusters[cluster], time_s[order[over[0]]]
            what = f"{used[over[0]]:g} cores of cluster {place.name!r} are in use at {at} s; it has {place.cores}"
            raise IllegalScheduleError("capacity", what)
