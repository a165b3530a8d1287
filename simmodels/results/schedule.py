"""Schedule: when and where each job and task ran, attempt by attempt; with tables, metrics and a proof."""

import os
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import ClusterSpec, Terms
from simmodels.clusters.energy import Power, Signal
from simmodels.errors import RequestError
from simmodels.ground.arguments import as_instance, with_items
from simmodels.ground.cards import card
from simmodels.ground.durations import Duration
from simmodels.ground.files import as_path, replacing, write_csv
from simmodels.ground.later import nx, pd
from simmodels.results import merit, metrics
from simmodels.results.attempts import (
    ATTEMPT_COLUMNS,
    COMPLETED,
    KILLED,
    OUTCOMES,
    UNFINISHED,
    part_table,
)
from simmodels.results.card import schedule_card
from simmodels.results.legality import check
from simmodels.results.plots import Plots
from simmodels.results.recorded import Recorded
from simmodels.results.tables import job_table, task_table
from simmodels.results.workflow_graph import graph_with_results
from simmodels.results.workflow_results import WorkflowResults
from simmodels.work.workflow import Workflow

__all__ = ["ATTEMPT_COLUMNS", "COMPLETED", "KILLED", "OUTCOMES", "UNFINISHED", "ClusterSpec", "Schedule", "Terms"]


class Schedule(Recorded):
    """When and where each job and task of a workload ran; rows are in the input order of the workload.

    The arrays are read-only. A schedule need not be legal: `validate` proves that it is.

    Parameters
    ----------
    workload
        The jobs, and the tasks of workflows.
    cores
        The cores of all clusters, >= 1.
    start_s
        float64[n], when each row started, in seconds since the trace's zero; NaN where it never
        did. Of a job that ran more than once, the start of its last attempt.
    end_s
        float64[n], when it ended; NaN where it never did.
    outcome
        int8[n]: 0 completed, 1 killed (stopped when its estimate was over), 2 unfinished. None:
        unfinished where `end_s` is NaN, completed elsewhere.
    counted
        bool[n], whether the row counts in the metrics; None: all do.
    executed_s
        float64[n], how long each row that ended ran; else NaN. It is taken as given if ``terms`` says that runtimes are
        modelled (the model, not the log, said how long jobs run). Else it is made: the
        runtime, or the estimate of a killed job. Not end - start, which may be off by rounding.
    clusters
        The clusters; () becomes one pool of `cores`, ``"cluster"``.
    cluster
        int64[n], the number of the cluster that each row ran on (last); -1 where it never started. None: the first.
    attempts
        A table with the columns ``job_id, attempt, start_s, end_s, outcome``, one row per attempt,
        needed if some job ran more than once, or if there are machines; `attempt` counts a job's from 1 on. One
        that came to nothing has outcome 2 and its interruption as `end_s`. Jobs without a row ran as `start_s` says. A
        column ``row``, the input row, may stand in for ``job_id`` where that is not unique; ``cluster`` is the
        cluster's number (else 0), ``machine`` the number of the (lowest) machine there, and ``work_s`` for how long it
        did work that was not lost. The last two are needed where there are machines. Further columns say of attempts
        what the proof cannot know otherwise: ``warned_s``, how long before it was lost a checkpoint was asked for (NaN:
        it was not); ``earlier_s``, how long it ran before the simulation began; ``stopped``, that it was lost though
        its machines stayed on; ``changed``, that only a cluster or a scheduler of the user's says how long it ran;
        ``speed``, ``interval_s``, ``cost_s`` and ``restart_s``, if it did not run as its cluster now says.
    parts
        The attempts that ran on several machines: ``row, attempt, machine, machines, cores``. A row is a run of
        neighbouring machines that give as many cores each: the first, how many, and the cores of each; without a column
        ``machines`` it is one machine. `all_parts` has one row per machine.
    elsewhere
        If the schedule is that of one cluster of several: the attempts of its jobs on the others, as in `attempts`, by
        ``row``, with ``speed, interval_s, cost_s, restart_s``. Only the proof and the waits ask for them. None: none.
    off_spans
        The spans in which machines were off: ``cluster, machine, start_s, end_s``, by cluster, machine and time; None
        if no cluster has machines.
    window
        First and last instant of what was simulated; needed where there are machines.
    whole_window
        If the schedule is that of one cluster: the window of the energy of all of them. None: its own.
    workflow_outcome, critical_path_s
        int8 and float64[workflows]: 0 finished, 1 starved (its deadline came first), 2 rejected at its arrival, 3
        unfinished; and the least time from submission to finish. None: finished where all tasks have completed, else
        unfinished; and by `Workflow.critical_path_s` under the terms.
    price
        float64[n], what each task paid; None if nobody paid.
    terms
        What it was made under, as far as proof and figures ask.
    about
        How it was made: order, backfilling, bid, engine, seed and so on, for people.

    Raises
    ------
    RequestError
        A column has the wrong length, an outcome is none of the three, `cores` is below 1 or not those of the clusters,
        or the attempts lack a column or name a job that the workload does not have (or has twice).

    Examples
    --------
    >>> import simmodels as sm
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [1, 2, 1]}
    >>> schedule = sm.simulate(log, cores=2).validate()
    >>> schedule.start_s.tolist()
    [0.0, 10.0, 2.0]
    >>> schedule.jobs["wait_s"].tolist()
    [0.0, 9.0, 0.0]
    >>> schedule.metrics()["mean_wait_s"]
    3.0
    """

    __slots__ = ()
    _instead: ClassVar = {
        "[]": "its columns are arrays (.start_s), .jobs is the table of jobs, metrics() has the figures of merit",
        "wait_s": "it is a column of .jobs: .jobs['wait_s']",
        "to_frame": ".jobs is the table of jobs, .runs that of attempts",
        **dict.fromkeys(("gantt", "queue", "waits"), "draw with .plot.gantt(), .plot.queue() or .plot.waits()"),
    }

    def __repr__(self) -> str:
        """Return a line about it."""
        kept = {"order", "backfilling", "bid", "heuristic"}
        how = "".join(f", {key}={value}" for key, value in self.about.items() if key in kept)
        what = repr(self.workload).split(": ", 1)[-1].split(", max_cores", 1)[0].rstrip(">")
        where = f"{self.cores} cores" + (f" of {len(self.clusters)} clusters" if len(self.clusters) > 1 else "")
        return f"<Schedule of {self.workload.name!r}: {what} on {where}{how}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: figures of merit, and the machine and its queue over time."""
        title = repr(self).strip("<>")
        window_s = self.simulated_s if len(self) else (0.0, 0.0)
        if not np.isfinite(window_s).all():
            return card(title, {})
        over_time = {"cores in use": self.cores_used(), "jobs waiting": self.queue_length()}
        if not self.workload.rigid().any():
            del over_time["jobs waiting"]
        return schedule_card(title, self.metrics(), over_time, window_s, self.cores)

    def _results(self) -> WorkflowResults:
        """Return what became of the workflows."""
        tasks = self.workload.tasks
        if tasks is None or self.workflow_outcome is None or self.critical_path_s is None:
            raise RequestError(f"the workflows of {self.workload.name!r}", "a workload with workflows has them")
        judged = (self.workflow_outcome, self.critical_path_s, self.terms.tick_s)
        return WorkflowResults(tasks, self.start_s, self.end_s, *judged)

    # -- tables ---------------------------------------------------------------------------------

    @property
    def jobs(self) -> "pd.DataFrame":
        """A table, built at each call: one row per job, input order.

        Of rigid jobs the columns ``job_id, submit_s, start_s, wait_s, end_s, response_s, executed_s, runtime_s,
        estimate_s, cores, user_id, outcome, counted``, and ``attempts`` (how many) if a table of
        attempts is there. `outcome` is a category: completed, killed, unfinished. Of workflows those of `workflows`.
        With both, those of both; `outcome` is then text.
        """
        tasks = self.workload.tasks
        if tasks is None:
            return job_table(self._evidence())
        flows, rigid = self._results().table(), np.flatnonzero(tasks.workflow < 0)
        if not len(rigid):
            return flows
        rows = job_table(self._evidence()).iloc[rigid].astype({"outcome": str})
        return pd.concat([rows, flows.astype({"outcome": str}).set_index(tasks.first)]).sort_index(ignore_index=True)

    @property
    def tasks(self) -> "pd.DataFrame":
        """A table, built at each call: one row per task, input order; a rigid job is one task.

        Columns ``job_id, task, kind, cores, runtime_s, start_s, end_s, cluster`` (a name, None where it never
        started), ``outcome`` (completed, killed, interrupted, running, never started), and ``price`` if tasks paid.
        """
        return task_table(self._evidence(), self.price)

    @property
    def workflows(self) -> "pd.DataFrame":
        """A table, built at each call: one row per workflow, input order.

        Columns ``job_id, submit_s, finish_s, outcome, slr, value, most_value, volume_core_s, critical_path_s, tasks``.
        """
        return self._results().table()

    def graph(self, workflow: Workflow | int) -> "nx.DiGraph[Any]":
        """Return a workflow as a networkx graph, as `Workflow.to_graph` does, with what became of each task.

        **Nodes** also have ``start_s`` and ``end_s`` (of the last attempt), ``cluster`` (its name), ``attempts`` (how
        many), ``ready_s``, when the task could have started there (submitted, and the data of its predecessors on its
        cluster), and ``wait_s``, start_s - ready_s: what it waited for cores, lost attempts included. They are None for
        a task that never started, or has not ended. **The graph** also has ``outcome``, that of the workflow. Ranks
        and delays are those of the schedule's terms (`Terms.ccr`, `Terms.tick_s`).

        Parameters
        ----------
        workflow
            One of ``workload.workflows``, or its job_id.

        Raises
        ------
        RequestError
            The schedule has no such workflow, or several of this job_id.
        """
        return graph_with_results(self._evidence(), workflow)

    @property
    def runs(self) -> "pd.DataFrame":
        """A table: one row per attempt, in order of start, as `attempts`, and with `cores` and `lost_s`.

        `lost_s` is how long it ran for nothing: what was lost with its machine, or went into checkpoints; NaN
        while it runs, and where it is not known.
        """
        others = self._unlisted()
        table, rows = pd.DataFrame({"job_id": self.workload.job_id[others.row], **others.shown()}), others.row
        if self.attempts is not None:
            table = table[[name for name in self.attempts if name in table]]
            table = pd.concat([self.attempts, table], ignore_index=True) if len(rows) else self.attempts.copy()
            rows = np.concatenate((self._attempt_rows(), rows))
        if len(others.row):
            order = np.argsort(table["start_s"].to_numpy(), kind="stable")
            table, rows = table.iloc[order].reset_index(drop=True), rows[order]
        table["cores"] = self.workload.cores[rows]
        table["lost_s"] = table["end_s"] - table["start_s"] - table["work_s"] if "work_s" in table else np.nan
        return table

    def all_attempts(self) -> "pd.DataFrame":
        """Return every attempt at running a job, one row each, whether `attempts` is given or not.

        Columns ``row, attempt, start_s, end_s, outcome, cluster, machine, work_s``; `row` is the job's input row. The
        first n rows are the jobs' last (mostly: only) attempts, in input order, NaN where a job never
        started; the earlier attempts follow, by (row, attempt).
        """
        return pd.DataFrame(self._attempts().shown())

    def all_parts(self) -> "pd.DataFrame":
        """Return the machines of the attempts that had several: ``row, attempt, machine, cores``, one row per machine.

        It is made when asked: of wide jobs it is long.
        """
        return part_table(self._evidence().part_table()).astype(np.int64)

    # -- over time ------------------------------------------------------------------------------

    def queue_length(self) -> "pd.DataFrame":
        """Return how many rigid jobs wait over time: columns ``time_s, queue_length``.

        A row holds from its `time_s` to the next row's; before the first row nothing waits. All jobs
        are in it, those outside the metrics too; one whose attempt came to nothing waits again.
        """
        time_s, length = metrics.step_function(*self._evidence().waits())
        return pd.DataFrame({"time_s": time_s, "queue_length": length})

    def cores_used(self) -> "pd.DataFrame":
        """Return how many cores are in use over time: columns ``time_s, cores_used``.

        A row holds from its `time_s` to the next row's; before the first row the machine is idle.
        """
        runs = self._attempts()
        time_s, used = metrics.step_function(runs.start_s, runs.end_s, self.workload.cores[runs.row])
        return pd.DataFrame({"time_s": time_s, "cores_used": used})

    # -- figures of merit -----------------------------------------------------------------------

    @property
    def finish_s(self) -> NDArray[np.float64]:
        """Return float64[workflows], when each one's last task ended; NaN if that was too late, or never."""
        return self._results().finish_s

    @property
    def slr(self) -> NDArray[np.float64]:
        """Return float64[workflows], (finish - submit) / critical path; NaN if not finished."""
        return self._results().slr

    @property
    def most_value(self) -> NDArray[np.float64]:
        """Return float64[workflows], what each is worth at most."""
        return self._results().most_value

    @property
    def value(self) -> NDArray[np.float64]:
        """Return float64[workflows], what each was worth; 0 if it is not finished."""
        return self._results().value

    def deciles(self, by: str = "volume_core_s") -> "pd.DataFrame":
        """Return a table with a row for each tenth of the workflows, the smallest first.

        Columns ``decile, jobs, mean_slr`` (of those finished), ``starved`` (share), ``value`` (share of the most).

        Parameters
        ----------
        by
            ``"volume_core_s"``, ``"most_value"`` or ``"critical_path_s"`` (the execution time on cores without limit):
            what small means; ties by input order.
        """
        return self._results().deciles(by)

    @with_items
    def metrics(
        self, tau_s: Duration = 10.0, *, warm_credit: Literal["whole", "partial"] = "whole"
    ) -> dict[str, float]:
        """Return the figures of merit by name; names end in the unit, counts are whole numbers.

        **Of rigid jobs** that are counted and ended (completed or killed): ``mean_``, ``median_``, ``p95_`` and
        ``max_`` of ``wait_s, response_s, slowdown, bounded_slowdown,
        per_processor_bounded_slowdown, stretch``. Jobs that executed for 0 s have no slowdown, and
        jobs of 0 s of work no stretch; ``jobs_without_slowdown`` and ``jobs_without_stretch`` say
        how many were left out of these two.

        Of the window from the first submit to the last end of counted jobs: ``makespan_s`` (its
        length), ``throughput_jobs_per_hour`` (of counted jobs), and with *all* jobs in it, because
        the machine and its queue are shared with those outside the metrics: ``utilisation``,
        ``mean_queue_length``, ``max_queue_length``.

        Numbers of jobs: ``jobs`` (counted), of these ``completed, killed, unfinished``; and
        ``uncounted_jobs``.

        **Of workflows**: ``value``, the worth of all over the most that they could be worth; ``starved``, the share
        that starved or were not finished at the end, of which ``starved_deadline`` and ``unfinished_at_end`` are the
        numbers; ``rejected``, the number of those turned away; ``mean_slr``, ``median_slr``, ``p95_slr`` and
        ``max_slr`` of the finished ones; ``effective_load``, the work over what all cores could do from the
        first submission to the last. With rigid jobs beside them, ``jobs`` counts both.

        **Of machines** that are switched on and off: ``goodput``, ``aborted`` and ``idle``, the shares of the window's
        core-seconds on machines that were on that became work, that jobs ran for nothing, and in which no job ran;
        their sum is 1. ``kills`` is how often a job lost its machine in the window, ``mean_aborted_s`` how long it had
        run there on average, ``arrived`` how many jobs were submitted in the window, and ``completed_share`` how many
        of these completed in it. ``mean_machines_used`` is the mean over time of the machines used (M_use; NaN for
        schedulers without it).

        What has no value (no job ended, a window of no length) is NaN. The formulas and their
        sources are in `simmodels.results.metrics`.

        Parameters
        ----------
        tau_s
            The bound of the bounded slowdowns, in seconds, > 0.
        warm_credit
            What a job that ran at the window's begin, lost its machine and completed is credited with:
            ``"whole"``, all the work of its last attempt (the paper), or ``"partial"``, what it had left at the
            window's begin (the authors' program; then the three shares sum up to less than 1).

        Raises
        ------
        RequestError, UnknownNameError
            `tau_s` is not a finite number > 0, or there is no such credit.
        """
        evidence, rigid = self._evidence(), self.workload.rigid()
        found: dict[str, float] = {}
        has_rigid = self.workload.is_rigid or bool(rigid.any())
        if has_rigid:
            chosen = self.counted & rigid
            found |= merit.of_jobs(evidence, chosen, self.window_s(), self.cores, tau_s)
        if not self.workload.is_rigid:
            flows = self._results().metrics(self.cores)
            if has_rigid:
                flows |= {"jobs": found["jobs"] + flows["jobs"], "makespan_s": found["makespan_s"]}
            found |= flows
        if self.off_spans is not None and self.window is not None:
            found |= merit.of_machines(evidence, self._given(), self.window, warm_credit)
            use = self.about.get("mean_machines_used")
            found["mean_machines_used"] = float(use) if isinstance(use, float) else np.nan
        return found

    def energy(
        self, power: Power, *, carbon_g_per_kwh: Signal | None = None, price_per_kwh: Signal | None = None
    ) -> dict[str, float]:
        """Return ``energy_kwh``, and by the signals given ``carbon_g`` and ``cost``, of the window.

        All machines that are on draw power, whether or not a job runs there; a pool of cores is one machine. The window
        is what was simulated or, where that is not known, from the first submit to the last end of counted jobs; of one
        cluster (`on`) it is that of the whole. Without any window (no counted job ended) the figures are NaN.
        """
        as_instance("power", power, Power)
        signals = _signals(carbon_g_per_kwh, price_per_kwh)
        return merit.energy(self._evidence(), self._given(), self.simulated_s, power, signals)

    def energy_by_job(
        self, power: Power, *, carbon_g_per_kwh: Signal | None = None, price_per_kwh: Signal | None = None
    ) -> "pd.DataFrame":
        """Return a table, one row per job in input order: what its attempts drew in the window, lost ones included.

        A job is charged its cores, and its share of what its machine draws. What machines draw beside that, with
        cores that are not in use, is no job's: it is the difference to `energy`.
        """
        as_instance("power", power, Power)
        signals = _signals(carbon_g_per_kwh, price_per_kwh)
        return merit.energy_by_job(self._evidence(), self._given(), self.simulated_s, power, signals)

    @property
    def plot(self) -> Plots:
        """Return its figures: ``schedule.plot.gantt()``, ``.queue()``, ``.waits()``."""
        return Plots(self)

    # -- files ----------------------------------------------------------------------------------

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table of jobs as CSV, whole or not at all; absent times are empty fields.

        A text that a program for tables would take for a formula has an apostrophe before it, see
        `simmodels.ground.files.write_csv`.
        """
        write_csv(self.jobs, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of jobs as Parquet, whole or not at all.

        How the schedule was made goes along in the file's metadata: ``pandas.read_parquet(path).attrs``
        holds ``workload``, ``cores`` and ``about``.
        """
        jobs = self.jobs
        about = {key: _plain(value) for key, value in self.about.items()}
        jobs.attrs = {"workload": self.workload.name, "cores": int(self.cores), "about": about}
        with replacing(as_path(path)) as temporary:
            jobs.to_parquet(temporary, engine="pyarrow", index=False)

    # -- proof ----------------------------------------------------------------------------------

    def validate(self) -> Self:
        """Return the schedule itself if the platform could have run it so; raise if not.

        The rules, by the names that the error gives:

        ``outcome``
            A job that ended has a finite start and end; an unfinished one has no end. All tasks of a finished workflow
            have ended, and none of a rejected one has started.
        ``width``
            A job that started needs at least one core and no more than its cluster has.
        ``kind``
            A task runs on a cluster of its kind.
        ``submit``
            No job starts before its submit.
        ``end``
            A completed job ends at start + runtime, a killed one at start + estimate, exactly (in float64). On
            machines, and at other speeds than 1, each attempt takes what is left of its job at the speed of the slowest
            of its machines, with coming back and writing checkpoints; but an attempt that is ``changed``, and those
            of its job after it, end at start + executed.
        ``overrun``
            Only a job that would run on past its estimate is killed. If the terms say
            ``overrun="run"`` none is killed; if ``"kill"``, none completes past its estimate.
            Not looked at in attempts that are ``changed``, and those of their jobs after them.
        ``attempts``
            The attempts of a job follow each other in time, all but the last came to nothing before
            its work was done, and the last is what its row says: each job runs once to its outcome.
        ``data``
            No task starts before its predecessors' data are on its cluster.
        ``machines``, ``offline``
            What runs on a machine runs on one that there is, and that is on; and what is lost is lost when one of its
            machines goes off, or was stopped.
        ``capacity``
            At no instant are more cores of a cluster, or of a machine, in use than there are, all attempts counted.
            Jobs of 0 s can follow each other within their instant: each must fit beside those that run through it.
        ``limits``
            If the terms have limits, no start makes a party exceed one of them on its cluster, all attempts counted
            except those that ran before the window began; nor does a job start that is over one by itself. Of submitted
            jobs, those that run count.
        ``work``
            No attempt does more work than it had time for, or keeps more than its checkpoints saved; and the work of
            its attempts adds up to the job's. Of what is ``changed``, only the first.

        It takes O(n log n) time, in whole-array steps.

        Raises
        ------
        IllegalScheduleError
            With the rule and, for the first offence, the job, the instant and the values.
        """
        check(self._evidence())
        return self


def _signals(carbon_g_per_kwh: Signal | None, price_per_kwh: Signal | None) -> dict[str, Signal]:
    """Return by the name of what comes of it each signal that is given."""
    given = {"energy_kwh": Signal.constant(1.0)}
    signals = (("carbon_g", "carbon_g_per_kwh", carbon_g_per_kwh), ("cost", "price_per_kwh", price_per_kwh))
    for name, parameter, signal in signals:
        if signal is not None:
            given[name] = as_instance(parameter, signal, Signal, also="None")
    return given


def _plain(value: object) -> object:
    """Return a value that JSON can hold; what is no plain value is written as its text."""
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
