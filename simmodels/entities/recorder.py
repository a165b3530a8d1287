"""Recorder: an observer that keeps every attempt, and makes a schedule of them."""

import math
from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels.clusters.checkpoints import Checkpoints, checkpoint_numbers
from simmodels.clusters.cluster_spec import Terms
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.cluster import Cluster, as_cluster
from simmodels.entities.decider import Decider
from simmodels.entities.environment import Environment
from simmodels.entities.events import Ended, Powered, Submitted
from simmodels.entities.job import TaskRun
from simmodels.entities.machine import Machine
from simmodels.entities.source import Source
from simmodels.entities.tuner import KnobTuner
from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration, as_window
from simmodels.ground.numbers import ranges
from simmodels.results.attempts import PART_COLUMNS, RULE_COLUMNS, Attempts, unexpected
from simmodels.results.course import with_conditions
from simmodels.results.schedule import ATTEMPT_COLUMNS, COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.work.workflow import Workflow
from simmodels.work.workload import COLUMNS, Job, Workload

# One record per job, and one per attempt, as bytes: a row of a table takes a third of the time of a column each.
_JOB = np.dtype(
    [
        ("job_id", np.int64),
        ("submit_s", np.float64),
        ("runtime_s", np.float64),
        ("estimate_s", np.float64),
        ("cores", np.int64),
        ("user_id", np.int64),
    ]
)
_ATTEMPT = np.dtype(
    [
        ("of", np.int64),  # the number of its job
        ("start_s", np.float64),
        ("end_s", np.float64),
        ("executed_s", np.float64),
        ("outcome", np.int8),
        ("counted", np.bool_),
        ("on", np.int32),  # the number of its cluster in the environment
        ("machine", np.int64),  # its lowest machine; -1 in a pool
        ("work_s", np.float64),  # what it did that is not lost; NaN where only its outcome says it
        ("speed", np.float64),
        ("rule", np.int32),  # the number of its checkpoints among those that were seen
        ("changed", np.bool_),  # whether only its cluster or its scheduler says how long it runs
    ]
)
_RARE: Final = ("warned_s", "earlier_s", "stopped")
_RULES: Final = ("speed", *RULE_COLUMNS)


def _packing(record: np.dtype[np.void]) -> Struct:
    """Return what packs the values of a record."""
    return Struct("=" + "".join(record[name].char.replace("l", "q") for name in record.names or ()))


_pack_job, _pack_attempt = _packing(_JOB).pack, _packing(_ATTEMPT).pack


def _earlier_s(attempt: Attempt) -> float:
    """Return how long an attempt ran before the simulation began."""
    return 0.0 if attempt.left is None else attempt.left.earlier_s


def _require_early(env: Environment) -> None:
    """Refuse to begin recording when jobs were submitted already: a schedule would lack them."""
    if any(source.submitted for source in env.all(Source)) or any(each.running for each in env.all(Cluster)):
        raise RequestError(
            f"a Recorder is created at {env.now:g} s, after the first submission", "create it before the clock runs"
        )


def _unseen(job: Job) -> RequestError:
    """Return the error about a job that runs, and was not seen submitted."""
    return RequestError(
        f"job {job.job_id} runs, but this recorder has not seen it submitted",
        "make the recorder before the simulation runs; if a job is changed at its start, set attempt.submitted",
    )


class Recorder:
    """Keeps one record per attempt; make it before the simulation runs.

    It keeps numbers, not objects: a million jobs cost it about 100 MB, and Python's collector nothing.

    Parameters
    ----------
    env
        The environment.
    cluster
        Record the jobs of this cluster only; None for all of the environment.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0, 5], "runtime_s": [10, 10], "cores": [2, 4]}, into=scheduler)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().metrics()["mean_wait_s"]
    2.5
    """

    def __init__(self, env: Environment, cluster: Cluster | None = None) -> None:
        self.env = as_instance("env", env, Environment)
        self.cluster = None if cluster is None else as_cluster(env, cluster)
        _require_early(env)
        self._jobs = bytearray()  # a record of each submitted job, and of each task of a submitted workflow
        self._count = 0  # of these; the place of one among them is its number
        # By id, what is not done: its (first) number, and the object itself, so that its id stays its own.
        self._undone: dict[int, tuple[int, Job | Workflow]] = {}
        self._back: set[int] = set()  # ids of those that were lost, and wait again: perhaps somewhere else
        self._flows: list[tuple[int, Workflow]] = []  # every submitted workflow, and the number of its first task
        self._ended = bytearray()  # a record of each attempt that has ended
        self._parts: list[tuple[int, int, int]] = []  # attempts on several machines: their place here, machine, cores
        self._rules: dict[Checkpoints, int] = {}  # those under which attempts ran
        self._last_rule: tuple[Checkpoints | None, int] = (None, 0)
        self._rare: list[tuple[int, float, float, bool]] = []  # place, warned_s, earlier_s and stopped, where one is
        self._lost = False
        self._first_s = float(env.now)
        self._switched: dict[Machine, array[float]] = {}  # when it went off, came back, went off, ...
        for cluster_ in env.all(Cluster):
            for machine in cluster_.machines:
                if not machine.is_on:
                    self._see_power(machine)
        env.on(Powered, lambda event: self._see_power(event.machine))
        env.on(Submitted, self._see_submit)
        env.on(Ended, self._see_end)

    # -- what it sees -------------------------------------------------------------------------------

    def _see_submit(self, event: Submitted) -> None:
        job = event.job
        key = id(job)
        if key in self._back:
            self._back.remove(key)
            return
        if key in self._undone:
            what = f"job {job.job_id} is submitted again before it is done"
            raise RequestError(what, "submit a copy (dataclasses.replace)")
        self._undone[key] = (self._count, job)
        if isinstance(job, Workflow):
            self._flows.append((self._count, job))
            self._jobs += bytes(len(job) * _JOB.itemsize)  # filled when it is read
            self._count += len(job)
            return
        self._jobs += _pack_job(job.job_id, job.submit_s, job.runtime_s, job.estimate_s, job.cores, job.user_id)
        self._count += 1

    def _see_end(self, event: Ended) -> None:
        attempt = event.attempt
        submitted, outcome = attempt.submitted, attempt.outcome
        number = self._number_of(submitted)
        if number is not None:
            self._keep(attempt, number)
        elif self.cluster is None or attempt.cluster is self.cluster:
            raise _unseen(submitted)
        if isinstance(submitted, TaskRun):
            return  # a workflow is known forever: its other tasks may be lost, or still to come
        if outcome is not Outcome.LOST:
            if self._back:
                self._back.discard(id(submitted))
            self._undone.pop(id(submitted), None)
        elif id(submitted) in self._undone:
            self._back.add(id(submitted))

    def _keep(self, attempt: Attempt, number: int) -> None:
        """Keep what is known of an attempt that has ended, at the job of this number."""
        if attempt.outcome is Outcome.COMPLETED:
            code = COMPLETED
        elif attempt.outcome is Outcome.KILLED:
            code = KILLED
        else:
            code = UNFINISHED
            self._lost = True
        places, at = attempt.places, len(self._ended) // _ATTEMPT.itemsize
        if len(places) > 1:
            self._parts += [(at, machine.index, cores) for machine, cores in places]
        if code == UNFINISHED or attempt.left is not None:
            lost, earlier_s = code == UNFINISHED, _earlier_s(attempt)
            stopped = lost and all(machine.is_on for machine, _ in places)
            if earlier_s or stopped or (lost and attempt.warned_s is not None):
                warned_s = attempt.warned_s if lost and attempt.warned_s is not None else math.nan
                self._rare.append((at, warned_s, earlier_s, stopped))
        self._ended += _pack_attempt(
            number,
            attempt.start_s,
            attempt.end_s,
            attempt.executed_s,
            code,
            attempt.counted,
            attempt.cluster.number,
            places[0][0].index if places else -1,
            math.nan if attempt.work_s is None else attempt.work_s,
            attempt.speed,
            self._last_rule[1] if attempt.checkpoints is self._last_rule[0] else self._rule(attempt.checkpoints),
            attempt.changed,
        )

    def _rule(self, given: Checkpoints) -> int:
        """Return the number of checkpoints; most are those of the attempt before, and a hash of them takes long."""
        self._last_rule = (given, self._rules.setdefault(given, len(self._rules)))
        return self._last_rule[1]

    def _see_power(self, machine: Machine) -> None:
        if self.cluster is None or machine.cluster is self.cluster:
            self._switched.setdefault(machine, array("d")).append(self.env.now)

    def _number(self, job: Job) -> int:
        """Return the number of a job, or a task, that was submitted and is not done."""
        number = self._number_of(job)
        if number is None:
            raise _unseen(job)
        return number

    def _number_of(self, job: Job) -> int | None:
        """Return the number of a job, or a task, that was submitted and is not done; None if it was not seen."""
        known, after = self._undone.get(id(job)), 0
        if known is None and isinstance(job, TaskRun):
            known, after = self._undone.get(id(job.workflow)), job.task
        return None if known is None else known[0] + after

    # -- what it has seen ---------------------------------------------------------------------------

    def _submitted(self) -> NDArray[np.void]:
        """Return the records of what was submitted; a copy, for there is more to come."""
        jobs = np.frombuffer(bytearray(self._jobs), _JOB)
        if self._flows:
            flows = [flow for _, flow in self._flows]
            tasks = Workload.of_workflows(flows)
            count = np.array([len(flow) for flow in flows])
            first = np.array([number for number, _ in self._flows])
            at = ranges(first, count)
            for name in COLUMNS:
                jobs[name][at] = getattr(tasks, name)
        return jobs

    def _attempts_that_ended(self) -> NDArray[np.void]:
        """Return the records of attempts; a copy, for there is more to come."""
        return np.frombuffer(bytes(self._ended), _ATTEMPT)

    def _clusters(self) -> list[Cluster]:
        """Return the clusters that belong to the schedule: all that somebody serves, or on which something ran."""
        if self.cluster is not None:
            return [self.cluster]
        used = set(self._attempts_that_ended()["on"].tolist())
        clusters = self.env.all(Cluster)
        kept = [each for each in clusters if each.served_by is not None or each.number in used or each.running]
        return kept or clusters

    def _table(self) -> pd.DataFrame:
        """Return number of the job, start, end (NaN while it runs), executed, code, ... of each attempt, by start.

        Of a recorder of one cluster also those of its jobs on others.
        """
        ended = self._attempts_that_ended()
        columns = {name: ended[name].copy() for name in _ATTEMPT.names or ()}
        table = pd.DataFrame(columns | {"at": np.arange(len(ended))})  # where it is kept; -1 of those that run
        work_s = np.where(table["outcome"] == UNFINISHED, 0.0, table["executed_s"])
        table["work_s"] = table["work_s"].where(table["work_s"].notna(), work_s)
        at, *rare = np.array(self._rare, np.float64).reshape(-1, 4).T
        for name, values, usual in zip(_RARE, rare, (np.nan, 0.0, 0.0), strict=True):
            column = np.full(len(table), usual)
            column[at.astype(np.int64)] = values
            table[name] = column
        running: list[dict[str, Any]] = []
        for cluster in self.env.all(Cluster):
            running += [
                {
                    "of": self._number(attempt.submitted),
                    "start_s": attempt.start_s,
                    "end_s": np.nan,
                    "executed_s": np.nan,
                    "outcome": UNFINISHED,
                    "counted": attempt.counted,
                    "on": cluster.number,
                    "machine": attempt.places[0][0].index if attempt.places else -1,
                    "work_s": cluster.work_so_far_s(attempt),
                    "speed": attempt.speed,
                    "rule": self._rule(attempt.checkpoints),
                    "changed": attempt.changed,
                    "at": -1,
                    "warned_s": np.nan,
                    "earlier_s": _earlier_s(attempt),
                    "stopped": 0.0,
                }
                for attempt in cluster.running
                if self.cluster in {None, cluster} or self._number_of(attempt.submitted) is not None
            ]
        if running:
            table = pd.concat([table, pd.DataFrame(running, columns=table.columns)], ignore_index=True)
        rules = np.array([checkpoint_numbers(each) for each in self._rules], np.float64).reshape(-1, 3)
        for name, values in zip(RULE_COLUMNS, rules.T, strict=True):
            table[name] = values[table["rule"]]
        table["stopped"] = table["stopped"].astype(np.bool_)
        table = table.sort_values(["start_s", "of"], kind="stable", ignore_index=True)
        return table.assign(attempt=table.groupby("of").cumcount() + 1)

    @property
    def attempts(self) -> pd.DataFrame:
        """Return a table: one row per attempt in order of start (job_id, attempt, start_s, end_s, outcome).

        Outcomes are codes as in `Schedule`: 0 completed, 1 killed, 2 lost or still running.
        """
        table = self._table()
        table = table[self._is_here(table)].reset_index(drop=True)
        table.insert(0, "job_id", self._submitted()["job_id"][table["of"].to_numpy()])
        return table[list(ATTEMPT_COLUMNS)]

    def _is_here(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which attempts are on the recorder's cluster; all of them, if it has none of its own."""
        on = table["on"].to_numpy()
        return np.ones(len(on), np.bool_) if self.cluster is None else on == self.cluster.number

    def _parted(self, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, NDArray[np.int64]]:
        """Return the attempts here, those elsewhere, and the numbers of the jobs that ran last elsewhere."""
        here = self._is_here(table)
        last = ~table.duplicated("of", keep="last").to_numpy()
        moved = np.unique(table["of"][last & ~here]).astype(np.int64)
        return table[here].reset_index(drop=True), table[~here], moved

    def _recorded(self, table: pd.DataFrame, schedulers: Sequence[Scheduler]) -> NDArray[np.int64]:
        """Return the numbers of the jobs that belong to what is recorded: all, or those of the one cluster."""
        if self.cluster is None:
            return np.arange(self._count)
        held = [
            self._number(job) for scheduler in schedulers for job in scheduler.jobs_not_done if id(job) in self._undone
        ]
        return np.union1d(table["of"].to_numpy(), np.array(held, np.int64))

    def _workload(self, numbers: NDArray[np.int64], flows: Sequence[tuple[int, Workflow]]) -> Workload:
        """Return the jobs and tasks of these numbers, in order of submission; tasks are jobs, but those of `flows`."""
        jobs = self._submitted()
        given: list[Any] = [jobs[name][numbers] for name in COLUMNS]
        rigid = Workload(*given)
        if not flows:
            return rigid
        parts: list[Workload | Workflow] = []
        done = 0
        for number, flow in flows:
            low, high = np.searchsorted(numbers, (number, number + len(flow)))
            parts += [rigid.take(slice(done, low)), flow]
            done = high
        return Workload.concat([*parts, rigid.take(slice(done, None))])

    def _whole(self, numbers: NDArray[np.int64], moved: NDArray[np.int64]) -> list[tuple[int, Workflow]]:
        """Return the workflows of which a task is among these numbers, and none ran last on another cluster."""
        found = []
        for number, flow in self._flows:
            (low, high), (gone, after) = (
                np.searchsorted(each, (number, number + len(flow))) for each in (numbers, moved)
            )
            if low < high and gone == after:
                found.append((number, flow))
        return found

    def _rows_of(self, source: Source, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the rows of a source's workload by number, if what was submitted are its jobs, all and unchanged."""
        rows = np.concatenate((source.warm, source.rows))[: self._count]
        log = source.workload
        if len(numbers) != self._count or len(rows) < self._count:
            return None
        if self.cluster is not None and not (source.submitted == len(source.rows) > 0):
            return None  # jobs that are still to come may go elsewhere
        jobs = self._submitted()
        same = all(np.array_equal(jobs[name], getattr(log, name)[rows]) for name in COLUMNS[:-1])
        return rows if same else None

    def _off(self, clusters: Sequence[Cluster]) -> tuple[NDArray[np.int64], NDArray[np.int64], Any, Any]:
        """Return cluster, machine, begin and end of each span in which one was off; infinity where it has not ended."""
        number = {id(cluster): i for i, cluster in enumerate(clusters)}
        spans = []
        for machine, at in self._switched.items():
            if id(machine.cluster) in number:
                ends = at[1::2] if len(at) % 2 == 0 else at[1::2] + array("d", [np.inf])
                pairs = zip(at[::2], ends, strict=True)
                spans += [(number[id(machine.cluster)], machine.index, low, high) for low, high in pairs]
        cluster, index, low, high = np.array(spans, np.float64).reshape(-1, 4).T
        return cluster.astype(np.int64), index.astype(np.int64), low, high

    def _window(self, window_s: tuple[Duration, Duration] | None) -> tuple[float, float]:
        """Return the window of a schedule on machines; refuse one that was not seen."""
        whole = (self._first_s, float(self.env.now))
        begin, now = whole if window_s is None else as_window("window_s", window_s)
        seen_s = self.env.now if self.env.peek() < np.inf else np.inf  # with nothing to come, all is as it is
        if not self._first_s <= begin <= now <= seen_s:
            expected = f"an interval within {self._first_s:g} s to {seen_s:g} s, which the recorder has seen"
            raise RequestError(must_be("window_s", expected, (begin, now)))
        return begin, now

    def schedule(self, *, window_s: tuple[Duration, Duration] | None = None) -> Schedule:
        """Return the schedule so far, of all jobs and workflows on all clusters (or the recorder's one).

        Parameters
        ----------
        window_s
            The window of the figures of machines that are switched on and off; None for all that was seen.

        Notes
        -----
        Its rows are in input order if all jobs came from one `Source` and are recorded, else in order
        of submission; a job that has not ended is unfinished. Clusters that nobody serves and that never had a job
        are not in it. If a cluster says how long jobs run, or a scheduler changed one at its start, the terms say that
        runtimes are modelled, and `executed_s` has them.

        Raises
        ------
        RequestError
            A job ran that was not seen when it was submitted, or the window was not seen; or nothing has happened yet.
        """
        if not (self._count or self.env.has_run):
            raise RequestError("nothing has happened yet that a schedule could show", "call env.run() first")
        clusters = self._clusters()
        table, away, moved = self._parted(self._table())
        schedulers = [each.served_by for each in clusters if isinstance(each.served_by, Scheduler)]
        numbers = self._recorded(table, schedulers)
        flows = self._whole(numbers, moved)
        numbers = np.unique(np.concatenate([numbers, *(np.arange(first, first + len(each)) for first, each in flows)]))
        away = away[away["of"].isin(numbers)]
        sources = self.env.all(Source)
        routers = [
            each
            for each in self.env.all(Decider)
            if not isinstance(each, Scheduler) and set(each.clusters) & set(clusters)
        ]
        rows = self._rows_of(sources[0], numbers) if len(sources) == 1 and len(flows) == len(self._flows) else None
        if rows is not None:
            workload, source = sources[0].workload, sources[0]
            left_out = len(workload) - len(source.rows)
        else:
            workload, source, rows = self._workload(numbers, flows), None, np.arange(len(numbers))
            into = {id(each) for each in schedulers}
            here = [each for each in sources if self.cluster is None or id(each.into) in into]
            left_out = sum(len(each.workload) - len(each.rows) for each in here)
        at = rows[np.searchsorted(numbers, table["of"])]
        on_machines = any(cluster.machines for cluster in clusters)
        counted = workload.known()
        if source is not None and (source.windowed or on_machines):
            counted[:] = False
            counted[at] = True
            counted[source.rows[: source.submitted]] = True
            left_out = len(workload) - int(counted.sum())
        counted[at] &= table["counted"].to_numpy()
        counted[rows[np.searchsorted(numbers, np.intersect1d(moved, numbers))]] = False
        ran_on = {*clusters, *(each for each in self.env.all(Cluster) if (away["on"] == each.number).any())}
        as_logged = all(cluster.runs_as_logged for cluster in ran_on)
        served_by = dict.fromkeys(cluster.served_by for cluster in clusters)
        deciders = [each for each in served_by if isinstance(each, Decider)]
        terms, about = self._made(deciders, routers, workload, at, table, as_logged=as_logged, modelled=on_machines)
        if tuned := [each.about() for each in self.env.all(KnobTuner) if set(each.clusters) & set(clusters)]:
            about["tuned"] = tuned
        table["changed"] &= terms.modelled  # else they took what the workload says, and the proof holds that
        parts = self._spread(table, at, clusters) if on_machines else None
        columns, odd = self._columns(table, at, clusters, parts)
        if terms.modelled and not on_machines:
            columns["executed_s"] = table["executed_s"].to_numpy()
        elsewhere = away[["attempt", "start_s", "end_s", "outcome", "work_s", *_RARE, "changed", *_RULES]]
        return Schedule.from_attempts(
            workload,
            [cluster.spec for cluster in clusters],
            at,
            columns | odd,
            off=self._off(clusters) if on_machines else None,
            window=self._window(window_s) if on_machines else None,
            keep=self._lost or on_machines or bool(odd) or len(away) > 0,
            parts=parts,
            elsewhere=elsewhere.assign(row=rows[np.searchsorted(numbers, away["of"])]) if len(away) else None,
            counted=counted,
            terms=terms,
            about={**about, "left_out": left_out},
            **self._verdicts(routers, workload),
        )

    def _made(
        self,
        deciders: Sequence[Decider],
        routers: Sequence[Decider],
        workload: Workload,
        at: NDArray[np.int64],
        table: pd.DataFrame,
        *,
        as_logged: bool,
        modelled: bool,
    ) -> tuple[Terms, dict[str, object]]:
        """Return under what terms jobs ran, and how that came about."""
        about: dict[str, object] = {"engine": "simpy", "seed": self.env.seed}
        if len(deciders) == 1:
            about = {**deciders[0].about(), **about}
        elif deciders:
            about["schedulers"] = [each.about() for each in deciders]
        said = [each.terms() for each in deciders] or [Terms()]
        overruns = {each.overrun for each in said}
        before = [each for each in routers if each not in deciders]
        if rules := [rule for each in before if (rule := each.about())]:
            about["routers"] = rules
        owners = [each for each in [*deciders, *before] if each.takes_workflows]
        owners.sort(key=lambda each: (not each.owns_transfers, len(each.clusters) == 1))  # alone, nothing travels
        travel = owners[0].terms() if owners else Terms()
        logged_s = np.where(table["outcome"] == KILLED, workload.estimate_s[at], workload.runtime_s[at])
        executed_s, ended = table["executed_s"].to_numpy(), table["outcome"].to_numpy() != UNFINISHED
        changed = not as_logged or bool((ended & (executed_s != logged_s)).any())
        if changed and table["changed"].any():
            about["runtimes"] = "modelled"
        terms = Terms(
            overrun=overruns.pop() if len(overruns) == 1 else None,
            modelled=changed or modelled,
            network=travel.network,
            ccr=travel.ccr,
            tick_s=travel.tick_s,
        )
        return terms, about

    def _columns(
        self, table: pd.DataFrame, at: NDArray[np.int64], clusters: Sequence[Cluster], parts: pd.DataFrame | None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Return the columns of attempts, and those that say of one what the proof would not expect.

        `parts` are those of attempts on several machines; None if no cluster has machines.
        """
        number = np.zeros(max((each.number for each in self.env.all(Cluster)), default=0) + 1, np.int64)
        number[[each.number for each in clusters]] = np.arange(len(clusters))
        known = {name: table[name].to_numpy() for name in table}
        cluster = number[known["on"]]
        columns = {name: known[name] for name in ("attempt", "start_s", "end_s", "outcome")}
        if len(clusters) > 1:
            columns["cluster"] = cluster
        rare: tuple[str, ...] = ("earlier_s", "changed")  # only what has machines is warned, or stopped without them
        if parts is not None:
            pools = [each.number for each in clusters if not each.machines]  # each is one machine
            known["machine"] = np.where(np.isin(known["on"], pools), 0, known["machine"])
            columns |= {name: known[name] for name in ("machine", "work_s")}
            rare = (*_RARE, "changed")
        attempts = Attempts.of(row=at, cluster=cluster, attempt=known["attempt"], machine=known["machine"])
        no_parts = pd.DataFrame(columns=PART_COLUMNS) if parts is None else parts
        usual = with_conditions(attempts, [each.spec for each in clusters], no_parts)
        odd = {name: known[name] for name in _RULES if not np.array_equal(known[name], getattr(usual, name))}
        return columns, unexpected(**{name: known[name] for name in rare}) | odd

    def _spread(self, table: pd.DataFrame, at: NDArray[np.int64], clusters: Sequence[Cluster]) -> pd.DataFrame:
        """Return the parts of the attempts on several machines, those that run too."""
        known = pd.DataFrame({"at": table["at"], "row": at, "attempt": table["attempt"]})
        parts = pd.DataFrame(self._parts, columns=["at", "machine", "cores"]).merge(known, on="at")
        running = [
            (self._number(attempt.submitted), machine.index, cores)
            for cluster in clusters
            for attempt in cluster.running
            if len(attempt.places) > 1
            for machine, cores in attempt.places
        ]
        still = known.assign(of=table["of"])[table["at"] < 0]
        more = pd.DataFrame(running, columns=["of", "machine", "cores"]).merge(still, on="of")
        columns = ["row", "attempt", "machine", "cores"]
        return pd.concat([parts[columns], more[columns]], ignore_index=True).astype(np.int64)

    @staticmethod
    def _verdicts(routers: Sequence[Decider], workload: Workload) -> dict[str, Any]:
        """Return what became of the workflows, as far as routers say it."""
        if workload.tasks is None or not routers:
            return {}
        number = {id(flow): i for i, flow in enumerate(workload.workflows)}
        found = [each for router in routers for each in router.judged() if id(each.workflow) in number]
        if len(found) < len(number):
            return {}
        outcome, path_s = np.empty(len(number), np.int8), np.empty(len(number))
        price = np.full(len(workload), np.nan)
        for each in found:
            place = number[id(each.workflow)]
            outcome[place], path_s[place] = each.outcome, each.critical_path_s
            if each.price is not None:
                first = workload.tasks.first[place]
                price[first : first + len(each.price)] = each.price
        verdicts: dict[str, Any] = {"workflow_outcome": outcome, "critical_path_s": path_s}
        return verdicts | ({"price": price} if any(each.price is not None for each in found) else {})
