"""Record: what an observer keeps of jobs and attempts, as bytes, and the tables that are made of it."""

import math
from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.checkpoints import Checkpoints, checkpoint_numbers
from simmodels.entities.attempt import COMPLETED as RAN
from simmodels.entities.attempt import LOST, Attempt, Outcome
from simmodels.entities.cluster import Cluster, as_cluster
from simmodels.entities.environment import Environment
from simmodels.entities.events import Ended, Powered, Submitted
from simmodels.entities.job import TaskRun
from simmodels.entities.machine import Machine
from simmodels.entities.source import Source
from simmodels.errors import RequestError
from simmodels.ground.arguments import as_instance
from simmodels.ground.later import pd
from simmodels.ground.numbers import ranges
from simmodels.results.attempts import RULE_COLUMNS, numbered
from simmodels.results.schedule import COMPLETED, KILLED, UNFINISHED
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
Part = tuple[int, int, int, int]
"""Of an attempt on several machines: its place in the record; first machine, how many, and cores of each."""
Rare = tuple[int, float, float, bool]
"""Of an attempt of which one is unusual: its place in the record; warned_s, earlier_s and stopped."""
RARE: Final = ("warned_s", "earlier_s", "stopped")
RULES: Final = ("speed", *RULE_COLUMNS)


def _packing(record: np.dtype[np.void]) -> Struct:
    """Return what packs the values of a record."""
    return Struct("=" + "".join(record[name].char.replace("l", "q") for name in record.names or ()))


_pack_job, _pack_attempt = _packing(_JOB).pack, _packing(_ATTEMPT).pack


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


def _runs_of(places: Sequence[tuple[Machine, int]]) -> list[tuple[int, int, int]]:
    """Return the runs of neighbouring machines that give as many cores each: the first, how many, cores of each."""
    runs: list[tuple[int, int, int]] = []
    for machine, cores in places:
        if runs and runs[-1][0] + runs[-1][1] == machine.index and runs[-1][2] == cores:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1, cores)
        else:
            runs.append((machine.index, 1, cores))
    return runs


class Record:
    """Observes an environment; `Recorder` says what for."""

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
        self._attempts = bytearray()  # a record of each attempt that has ended
        self._parts: list[Part] = []
        self._rules: dict[Checkpoints, int] = {}  # those under which attempts ran
        self._last_rule: tuple[Checkpoints | None, int] = (None, 0)
        self._rare: list[Rare] = []
        self._lost = False
        self._first_s = float(env.now)
        self._switched: dict[Machine, array[float]] = {}  # when it went off, came back, went off, ...
        for cluster_ in env.all(Cluster):
            for machine in cluster_.machines:
                if not machine.is_on:
                    self._see_power(machine)
        env.observers_of(Powered).append(self._see_power)
        env.observers_of(Submitted).append(self._see_submit)
        env.observers_of(Ended).append(self._see_end)

    # -- what it sees -------------------------------------------------------------------------------

    def _see_submit(self, job: Job | Workflow, _: object) -> None:
        key = id(job)
        if key in self._undone:
            if key in self._back:
                self._back.remove(key)
                return
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

    def _see_end(self, attempt: Attempt) -> None:
        key, outcome = id(attempt.submitted), attempt.outcome
        self._keep(attempt)
        if isinstance(attempt.submitted, TaskRun):
            return  # a workflow is known forever: its other tasks may be lost, or still to come
        if outcome is not LOST:
            if self._back:
                self._back.discard(key)
            self._undone.pop(key, None)
        elif key in self._undone:
            self._back.add(key)

    def _keep(self, attempt: Attempt) -> None:
        """Keep what is known of an attempt: how it ended, or, if it runs, what it has done by now."""
        submitted, cluster = attempt.submitted, attempt.cluster
        known = self._undone.get(id(submitted))
        number = self._number_of(submitted) if known is None else known[0]  # most are jobs
        if number is None:
            if self.cluster is None or cluster is self.cluster:
                raise _unseen(submitted)
            return
        code, end_s, executed_s, work_s, lost = COMPLETED, attempt.end_s, attempt.executed_s, attempt.work_s, False
        if end_s is None:
            code, end_s, executed_s = UNFINISHED, math.nan, math.nan
            work_s = cluster.work_so_far_s(attempt)
        elif attempt.outcome is not RAN:
            lost = attempt.outcome is not Outcome.KILLED
            code = UNFINISHED if lost else KILLED
        if lost or attempt.left is not None or len(attempt.places) > 1:
            self._keep_unusual(attempt, lost=lost)
        limited = attempt.limit_s is not None and attempt.limit_work_s != submitted.estimate_s
        self._attempts += _pack_attempt(
            number,
            attempt.start_s,
            end_s,
            executed_s,
            code,
            attempt.counted,
            cluster.number,
            attempt.places[0][0].index if attempt.places else -1,
            math.nan if work_s is None else work_s,
            attempt.speed,
            self._last_rule[1] if attempt.checkpoints is self._last_rule[0] else self._rule(attempt.checkpoints),
            limited or attempt.job is not submitted or not cluster.works_as_logged,  # not just what the job says
        )

    def _keep_unusual(self, attempt: Attempt, *, lost: bool) -> None:
        """Keep what few attempts have, of the one whose record is made next."""
        at = len(self._attempts) // _ATTEMPT.itemsize
        self._lost |= lost
        if len(attempt.places) > 1:
            self._parts += [(at, *run) for run in _runs_of(attempt.places)]
        earlier_s = 0.0 if attempt.left is None else attempt.left.earlier_s  # it ran before the simulation began
        stopped = lost and all(machine.is_on for machine, _ in attempt.places)
        if earlier_s or stopped or (lost and attempt.warned_s is not None):
            warned_s = attempt.warned_s if lost and attempt.warned_s is not None else math.nan
            self._rare.append((at, warned_s, earlier_s, stopped))

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

    def _by_now(self) -> tuple[NDArray[np.void], list[Part], list[Rare]]:
        """Return the records of all attempts, those that run too, with what is kept beside; copies: there is more."""
        ended, parts, rare = len(self._attempts), len(self._parts), len(self._rare)
        try:
            for cluster in self.env.all(Cluster):
                for attempt in cluster.running:
                    self._keep(attempt)
            return np.frombuffer(bytes(self._attempts), _ATTEMPT), self._parts.copy(), self._rare.copy()
        finally:
            del self._attempts[ended:], self._parts[parts:], self._rare[rare:]

    def _clusters(self, table: "pd.DataFrame") -> list[Cluster]:
        """Return the clusters that belong to the schedule: all that somebody serves, or on which something ran."""
        if self.cluster is not None:
            return [self.cluster]
        used = set(table["on"].unique().tolist())
        clusters = self.env.all(Cluster)
        kept = [each for each in clusters if each.served_by is not None or each.number in used]
        return kept or clusters

    def _table(self) -> tuple["pd.DataFrame", list[Part]]:
        """Return number of the job, start, end (NaN while it runs), executed, code, ... of each attempt, by start.

        Of a recorder of one cluster also those of its jobs on others. And the parts of those on several machines.
        """
        kept, parts, odd = self._by_now()
        by_start = np.lexsort((kept["of"], kept["start_s"]))
        rows = kept[by_start]
        columns = {name: rows[name].copy() for name in _ATTEMPT.names or ()}
        usually_s = np.where(columns["outcome"] == UNFINISHED, 0.0, columns["executed_s"])
        columns["work_s"] = np.where(np.isnan(columns["work_s"]), usually_s, columns["work_s"])
        at, *rare = np.array(odd, np.float64).reshape(-1, 4).T
        for name, values, usual in zip(RARE, rare, (np.nan, 0.0, 0.0), strict=True):
            column = np.full(len(kept), usual)
            column[at.astype(np.int64)] = values
            columns[name] = column[by_start]
        columns["stopped"] = columns["stopped"].astype(np.bool_)
        rules = np.array([checkpoint_numbers(each) for each in self._rules], np.float64).reshape(-1, 3)
        columns |= {name: values[columns["rule"]] for name, values in zip(RULE_COLUMNS, rules.T, strict=True)}
        columns |= {"at": by_start, "attempt": numbered(columns["of"])}  # where it is kept, and which of its job's
        return pd.DataFrame(columns, copy=False), parts

    def _is_here(self, table: "pd.DataFrame") -> NDArray[np.bool_]:
        """Return which attempts are on the recorder's cluster; all of them, if it has none of its own."""
        on = table["on"].to_numpy()
        return np.ones(len(on), np.bool_) if self.cluster is None else on == self.cluster.number
