"""Recorder: an observer that keeps every attempt, and makes a schedule of them."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import Terms
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.cluster import Cluster
from simmodels.entities.decider import Decider
from simmodels.entities.record import RARE, RULES, Part, Record
from simmodels.entities.source import Source
from simmodels.entities.tuner import KnobTuner
from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import Duration, as_window
from simmodels.ground.later import pd
from simmodels.results.attempts import PART_COLUMNS, PART_TYPES, Attempts, unexpected
from simmodels.results.course import with_conditions
from simmodels.results.schedule import KILLED, UNFINISHED, Schedule
from simmodels.work.workflow import Workflow
from simmodels.work.workload import COLUMNS, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What of a record belongs to a schedule; jobs and tasks are numbers in order of submission."""

    clusters: Sequence[Cluster]  # of the schedule
    here: "pd.DataFrame"  # the attempts on these, by start
    away: "pd.DataFrame"  # the attempts of its jobs on others, by start
    parts: Sequence[Part]  # those of attempts on several machines
    numbers: NDArray[np.int64]  # [k], its jobs and tasks, increasing
    moved: NDArray[np.int64]  # [m], those that ran last on another cluster
    # the workflows that are its workflows, and not just some of their tasks, each with the number of its first
    flows: Sequence[tuple[int, Workflow]]

    @property
    def schedulers(self) -> list[Scheduler]:
        """Return the schedulers that serve its clusters."""
        return [each.served_by for each in self.clusters if isinstance(each.served_by, Scheduler)]


class Recorder(Record):
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

    def _shown(self) -> _Shown:
        """Return what belongs to a schedule: all, or what the one cluster ran, runs, or has waiting."""
        table, parts = self._table()
        clusters = self._clusters(table)
        is_here = self._is_here(table)
        here, away = (table, table[:0]) if is_here.all() else (table[is_here].reset_index(drop=True), table[~is_here])
        # All these are sets of numbers, which are small: columns of truths are made faster than sorted numbers.
        is_moved, is_shown = np.zeros(self._count, np.bool_), np.full(self._count, self.cluster is None)
        is_moved[table["of"]] = ~is_here  # by start: of each, what its last attempt says stays
        moved, numbers = np.flatnonzero(is_moved), np.arange(self._count)
        shown = _Shown(clusters=clusters, here=here, away=away, parts=parts, numbers=numbers, moved=moved, flows=())
        if self.cluster is not None:
            held = [job for each in shown.schedulers for job in each.jobs_not_done if id(job) in self._undone]
            is_shown[here["of"]] = True
            is_shown[[self._number(job) for job in held]] = True
        flows = self._whole(np.flatnonzero(is_shown), moved)
        for first, each in flows:
            is_shown[first : first + len(each)] = True
        return replace(shown, away=away[is_shown[away["of"]]], numbers=np.flatnonzero(is_shown), flows=flows)

    def _jobs_of(self, shown: _Shown) -> tuple[Workload, Source | None, NDArray[np.int64], int]:
        """Return the workload of a schedule, its source, its rows by number, and how many jobs of sources it lacks.

        The source is the only one, if all that it submitted belongs to the schedule, unchanged: the workload is its own
        then.
        """
        sources = self.env.all(Source)
        if len(sources) == 1 and len(shown.flows) == len(self._flows):
            (source,) = sources
            if (rows := self._rows_of(source, shown.numbers)) is not None:
                return source.workload, source, rows, len(source.workload) - len(source.rows)
        into = {id(each) for each in shown.schedulers}
        sources = [each for each in sources if self.cluster is None or id(each.into) in into]
        left_out = sum(len(each.workload) - len(each.rows) for each in sources)
        return self._workload(shown.numbers, shown.flows), None, np.arange(len(shown.numbers)), left_out

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
        shown = self._shown()
        clusters, table, away = shown.clusters, shown.here, shown.away
        routers = [
            each
            for each in self.env.all(Decider)
            if not isinstance(each, Scheduler) and set(each.clusters) & set(clusters)
        ]
        workload, source, rows, left_out = self._jobs_of(shown)
        row = np.full(self._count, -1)  # by number
        row[shown.numbers] = rows
        at, elsewhere, moved = (
            row[each]
            for each in (table["of"], away["of"], np.intersect1d(shown.moved, shown.numbers, assume_unique=True))
        )
        on_machines = any(cluster.machines for cluster in clusters)
        counted = workload.known()
        if source is not None and (source.windowed or on_machines):
            counted[:] = False
            counted[at] = True
            counted[source.rows[: source.submitted]] = True
            left_out = len(workload) - int(counted.sum())
        counted[at] &= table["counted"].to_numpy()
        counted[moved] = False
        ran_on = {*clusters, *(each for each in self.env.all(Cluster) if (away["on"] == each.number).any())}
        as_logged = all(cluster.runs_as_logged for cluster in ran_on)
        served_by = dict.fromkeys(cluster.served_by for cluster in clusters)
        deciders = [each for each in served_by if isinstance(each, Decider)]
        terms, about = self._made(deciders, routers, workload, at, table, as_logged=as_logged, modelled=on_machines)
        if tuned := [each.about() for each in self.env.all(KnobTuner) if set(each.clusters) & set(clusters)]:
            about["tuned"] = tuned
        table["changed"] &= terms.modelled  # else they took what the workload says, and the proof holds that
        parts = _spread(shown.parts, table, at) if on_machines else None
        columns, odd = self._columns(table, at, clusters, parts)
        if terms.modelled and not on_machines:
            columns["executed_s"] = table["executed_s"].to_numpy()
        others = away[["attempt", "start_s", "end_s", "outcome", "work_s", *RARE, "changed", *RULES]]
        return Schedule.from_attempts(
            workload,
            [cluster.spec for cluster in clusters],
            at,
            columns | odd,
            off=self._off(clusters) if on_machines else None,
            window=self._window(window_s) if on_machines else None,
            keep=self._lost or on_machines or bool(odd) or len(away) > 0,
            parts=parts,
            elsewhere=others.assign(row=elsewhere) if len(away) else None,
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
        table: "pd.DataFrame",
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
        overruns, limits = {each.overrun for each in said}, {each.limits for each in said}
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
        overrun = overruns.pop() if len(overruns) == 1 else None
        same = limits.pop() if len(limits) == 1 else None
        return replace(travel, overrun=overrun, modelled=changed or modelled, limits=same), about

    def _columns(
        self, table: "pd.DataFrame", at: NDArray[np.int64], clusters: Sequence[Cluster], parts: "pd.DataFrame | None"
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
            rare = (*RARE, "changed")
        attempts = Attempts.of(row=at, cluster=cluster, attempt=known["attempt"], machine=known["machine"])
        usual = with_conditions(attempts, [each.spec for each in clusters], lambda: parts)
        odd = {name: known[name] for name in RULES if not np.array_equal(known[name], getattr(usual, name))}
        return columns, unexpected(**{name: known[name] for name in rare}) | odd

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


def _spread(kept: Sequence[Part], table: "pd.DataFrame", at: NDArray[np.int64]) -> "pd.DataFrame":
    """Return the parts of the attempts of a table on several machines, of those that were kept."""
    known = pd.DataFrame({"at": table["at"], "row": at, "attempt": table["attempt"]})
    parts = pd.DataFrame(kept, columns=["at", *PART_COLUMNS[2:]]).merge(known, on="at")
    return parts[list(PART_COLUMNS)].astype(PART_TYPES)
