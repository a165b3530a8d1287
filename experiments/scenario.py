"""Scenario: what is simulated, on which clusters, in which window, as a request asks for it."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np

from experiments.calibration import doubt_of_limits, doubt_of_size, lanes_of
from experiments.capacity_source import CapacitySource
from experiments.dates import instant_of, seconds_of
from experiments.inputs import WorkloadFile, count_of, introduced
from experiments.option import SHARED, SUPPLY, WHERE, Group, Option, flag_of
from experiments.policy import TARGETED
from experiments.workflow_inputs import WorkflowFolder, parse_clusters
from simmodels import WEEK, Capacity, Checkpoints, ClusterSpec, Limits, RequestError, Site, Workload
from simmodels.errors import must_be
from simmodels.ground.numbers import as_integer
from simmodels.ground.streams import entropy
from simmodels.model import LANES, Model, RouterName
from simmodels.policies.queue_options import QueueOptions

NO_LENGTH: Final = "left out: they ran for no time"
_DEFAULT: Final = ClusterSpec("cluster-1", 64, None)
"""Where workflows run if nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is simulated, on which clusters, in which window.

    Parameters
    ----------
    workload
        The jobs and workflows.
    on
        The clusters; None for one pool of ``workload.max_cores``.
    window_s
        From when to when; None for all of it.
    reference
        Jobs like those to come, to estimate risks from their lengths; None where nobody asks for them.
    where
        The clusters in words.
    notes
        What came in, and what became of it, a line each.
    shared
        Limits under which partitions, or queues, share the cluster, in place of a router; None where none do.
    """

    workload: Workload
    on: tuple[Site, ...] | None = None
    window_s: tuple[float, float] | None = None
    reference: Workload | None = None
    where: str = ""
    notes: tuple[str, ...] = ()
    shared: Limits | None = None

    def on_one_machine(self, options: Mapping[str, Any], limits: Limits | None) -> Mapping[str, Any]:
        """Return the options of a policy in which limits, beside those given, replace the router to what is shared."""
        column = LANES.get(options.get("router"))
        if self.shared is None or column not in self.shared.columns:
            return options
        others = {name: value for name, value in options.items() if name != "router"}
        return {**others, "limits": self.shared.beside(limits)}

    @property
    def cores(self) -> int | None:
        """Return the cores of all clusters."""
        return self.workload.max_cores if self.on is None else sum(site.size for site in self.on)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """What is said of all clusters alike, by the names that `simmodels.Site` has: a field more is an option more.

    Parameters
    ----------
    cores_per_machine
        Clusters consist of machines with this many cores.
    speed
        How many seconds of a job a machine does in a second.

    Raises
    ------
    RequestError
        A value is out of range, or is one of machines, and there are none.
    """

    cores_per_machine: Annotated[int | None, Option(WHERE, default="pools of cores")] = None
    speed: Annotated[float, Option(WHERE)] = 1.0

    def __post_init__(self) -> None:
        """Refuse what no site has."""
        if self.cores_per_machine is not None:
            as_integer("--cores-per-machine", self.cores_per_machine, 1)
            Site(machines=1, **self.values())
        elif self.chosen():
            raise RequestError(f"{flag_of(next(iter(self.chosen())))} needs machines", "add --cores-per-machine N")

    def values(self) -> dict[str, Any]:
        """Return all of them by name, as `simmodels.Site` takes them."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def chosen(self) -> dict[str, Any]:
        """Return those that differ from the default, but the size of the machines."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name != "cores_per_machine" and getattr(self, each.name) != each.default
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRequest:
    """What a request says of what is simulated, and where.

    Parameters
    ----------
    log, folder
        The file of a log, the folder of workflows; one of them at least.
    clusters
        The clusters, such as 3x1000:Kind1,2000; a cluster without a kind accepts any task. For the router
        ByPartition, or ByQueue, the cores of each partition or queue, by its number or name, such as 1000:1,64:3;
        where these are more than the machine has (--cores), they share it.
    site
        What is said of all clusters alike.
    from_
        Where the simulated interval begins, such as 7d, or a date (2026-11-24T12:00, in the log's time zone); jobs
        submitted before that would still run are running then.
    until
        Where the simulated interval ends.
    capacity_source
        How many machines of each cluster there are over time; None: all, always.
    checkpoint_cost_s
        The time it takes to write a checkpoint.
    checkpoint_every_s
        The work between two checkpoints.
    restart_s
        The time it takes to restart from a checkpoint.
    reference
        Jobs from whose lengths the risk of each target is estimated.
    seed
        Of walks.
    one_scheduler
        Whether all jobs go to one queue or placer; only then can there be a window.
    inside
        Whether each job must fit into one machine.
    targeted
        Whether somebody asks for the jobs of the reference.
    lanes
        The column of which each value has a cluster of its own, if a router goes by one.

    Raises
    ------
    RequestError
        The parts do not go together.
    """

    log: Annotated[WorkloadFile | None, Group(otherwise="or choose where workflows run with --clusters")] = None
    folder: WorkflowFolder | None = None
    clusters: Annotated[
        tuple[ClusterSpec, ...] | None,
        Option(WHERE, "NxCORES:KIND,...", "one of --cores, or of 64 for workflows", parse=parse_clusters),
    ] = None
    site: SiteOptions = SiteOptions()
    from_: Annotated[float | datetime | None, Option(WHERE, flags=("--from",), default="the first submission")] = None
    until: Annotated[float | datetime | None, Option(WHERE, default="the last submission")] = None
    capacity_source: CapacitySource | None = None
    checkpoint_cost_s: Annotated[float | None, Option(SUPPLY, default="no checkpoints; on notice 0")] = None
    checkpoint_every_s: Annotated[float | None, Option(SUPPLY, default="only on notice")] = None
    restart_s: Annotated[float, Option(SUPPLY)] = 0.0
    reference: Annotated[Path | None, Option(SUPPLY, default="the week before --from")] = None
    seed: Annotated[int, SHARED] = 0
    one_scheduler: bool = True
    inside: bool = False
    targeted: bool = False
    lanes: str | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before anything is read, and whatever the policies are."""
        if self.log is None and self.folder is None:
            raise RequestError("there is nothing to simulate", "give --workload FILE or --workflows FOLDER")
        size = self.cores_per_machine
        for given, option in (
            (self.capacity_source, "--walk or --series"),
            (self.checkpoints, "--checkpoint-cost"),
        ):
            if given is not None and size is None:
                raise RequestError(f"{option} needs machines", "add --cores-per-machine N")
        self._check_checkpoints()

    def under(self, policies: Collection[Mapping[str, Any]]) -> "ScenarioRequest":
        """Return what is simulated under policies, each with all its options, as `simmodels.simulate` takes them.

        Raises
        ------
        RequestError
            It does not go together with them.
        """
        heuristics = {options.get("heuristic") for options in policies}
        found = replace(
            self,
            one_scheduler=not any({"bid", "router", "forward"} & options.keys() for options in policies),
            inside=bool(heuristics - {None}),
            targeted=not heuristics.isdisjoint(TARGETED),
            lanes=next((LANES[router] for each in policies if (router := each.get("router")) in LANES), None),
        )
        if found.lanes is None and found.clusters is not None and found.log is not None and found.log.cores is not None:
            raise RequestError("--cores and --clusters exclude each other", "omit one of them")
        if found.reference is not None and not found.targeted:
            raise RequestError(
                "--reference has no effect", "choose a heuristic with targets (TargetStretch, TargetAsap, ...)"
            )
        if (found.from_, found.until) != (None, None) and not found.windowed:
            what = "--from and --until do not go with workflows, a bid or a router"
            raise RequestError(what, "simulate a log alone, in one queue or by one placer")
        return found

    @property
    def cores_per_machine(self) -> int | None:
        """Return the cores of a machine; None for pools of cores."""
        return self.site.cores_per_machine

    @property
    def checkpoints(self) -> Checkpoints | None:
        """Return how jobs write checkpoints; None where nothing is said of it."""
        cost_s, every_s = self.checkpoint_cost_s, self.checkpoint_every_s
        if cost_s is None:
            if every_s is not None or self.restart_s:
                what = "--checkpoint-every and --restart need a checkpoint cost"
                raise RequestError(what, "add --checkpoint-cost TIME")
            return None
        interval_s = np.inf if every_s is None else every_s
        return Checkpoints(interval_s=interval_s, cost_s=cost_s, restart_s=self.restart_s)

    def _check_checkpoints(self) -> None:
        """Refuse checkpoints that would never be written."""
        written, capacity_source = self.checkpoints, self.capacity_source
        if written is None or written.interval_s < np.inf:
            return
        if capacity_source is None or capacity_source.mode != "checkpoint":
            raise RequestError("no checkpoint would be written", "add --checkpoint-every or --mode checkpoint")
        if capacity_source.notice_s < written.cost_s:
            what = f"--notice is {capacity_source.notice_s:g} s, less than --checkpoint-cost, {written.cost_s:g} s"
            raise RequestError(what, "give at least as long a notice as a checkpoint takes")

    @property
    def windowed(self) -> bool:
        """Whether a window is simulated: of a log alone, in one queue or by one placer."""
        alone = self.folder is None and self.one_scheduler
        return alone and (self.capacity_source is not None or (self.from_, self.until) != (None, None))

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files that are read."""
        log = None if self.log is None else self.log.path
        series = None if self.capacity_source is None else self.capacity_source.series
        return tuple(path for path in (log, self.reference, series) if path is not None)

    def read(self) -> Scenario:
        """Return what is simulated; every count of what was dropped or mended is among its notes.

        Raises
        ------
        FileFormatError, RequestError, ImpossibleJobError
            See `WorkloadFile.read`, `WorkflowFolder.read` and `CapacitySource.over`; or a size is missing.
        """
        log, size, limit = self._log()
        flows = [] if self.folder is None else self.folder.read(self._cores_of_load(size))
        name = "" if self.folder is None else str(self.folder.path)
        while True:
            work = Workload.of_workflows(flows, name=name) if log is None else log
            if log is not None and flows:
                work = Workload.concat([log, flows], name=f"{log.name} + {name}")
            window_s = self._window(work) if self.windowed else None
            found: list[str] = []
            asked, shared = (self, None) if log is None or self.lanes is None else self._laned(log, self.lanes, size)
            on = asked._sites(size, work, window_s, found.append)  # noqa: SLF001  of this class
            if log is None or limit is not None or on is None or self.log is None:
                break
            # Only the capacity says how wide a job may be; without those that are wider, the window may be another.
            fitting = self.log.fitted(log, max(site.size for site in on))
            if len(fitting) == len(log):
                log, limit = fitting, max(site.size for site in on)
            else:
                log = fitting
        reference = self._reference_jobs(work, window_s) if self.targeted else None
        scenario = Scenario(workload=work, on=on, window_s=window_s, reference=reference, shared=shared)
        chosen = [f"{name.replace('_', ' ')} {value}" for name, value in self.site.chosen().items()]
        scenario = replace(scenario, where=", ".join([self._sizes(scenario), *chosen]))
        return replace(scenario, notes=(*self._introduced(log, len(flows), scenario), *found))

    def _log(self) -> tuple[Workload | None, int | None, int | None]:
        """Return the log, the size that it or the request says, and how wide a job may be; None where not known yet."""
        if self.log is None:
            return None, None, None
        raw = self.log.raw()
        size = limit = raw.max_cores if self.log.cores is None else self.log.cores
        if self.inside and self.cores_per_machine is not None:
            limit = self.cores_per_machine
        elif self.clusters is not None:
            limit = max(spec.cores for spec in self.clusters)
            limit = limit if self.lanes is None or size is None else min(limit, size)
        elif self.capacity_source is not None:
            limit = None
        if limit is None and self.capacity_source is None:
            raise RequestError(f"{self.log.path} does not say how many cores the machine has", "add --cores N")
        log = self.log.cleaned(raw, size if limit is None else limit)
        if limit is not None:
            log = self.log.fitted(log, limit)
        return _with_lengths(log) if self.inside else log, size, limit

    def _cores_of_load(self, size: int | None) -> int:
        """Return the cores that the load of workflows is a share of; `size` is that of the log."""
        if self.clusters is not None:
            return sum(spec.cores for spec in self.clusters)
        if self.capacity_source is None:
            return _DEFAULT.cores if size is None else size
        if self.capacity_source.mean is None:
            if self.folder is not None and self.folder.load is not None:
                raise RequestError("--load with --series needs a number of cores", "add --clusters, or use --gap")
            return 1
        return self.capacity_source.mean * (self.cores_per_machine or 1)

    # -- clusters -----------------------------------------------------------------------------------

    def _laned(self, log: Workload, column: str, cores: int | None) -> tuple["ScenarioRequest", Limits | None]:
        """Return what is asked on a cluster for each value of a column; or on one that they share, with the limits."""
        specs = lanes_of(log, column) if self.clusters is None else _named(self.clusters, column, log.names(column))
        if cores is not None and sum(spec.cores for spec in specs) > cores:
            router: RouterName = "ByPartition" if column == "partition" else "ByQueue"
            limits = Model(log, tuple(map(Site.of, specs)), QueueOptions.checked(), router).lane_limits
            # Where no job says its partition, all are of the unknown one, which has the machine.
            name = "-1" if limits is None else "machine"
            return replace(self, clusters=(ClusterSpec(name, cores),)), limits
        return replace(self, clusters=specs), None

    def _sites(
        self, cores: int | None, work: Workload, window_s: tuple[float, float] | None, note: Callable[[str], None]
    ) -> tuple[Site, ...] | None:
        """Return the clusters; None for one pool of the size that the log says."""
        size, specs = self.cores_per_machine, self.clusters
        if specs is None and self.folder is not None and (size is None or self.capacity_source is None):
            specs = (_DEFAULT if cores is None else ClusterSpec("cluster", cores),)
        if size is None:
            return None if specs is None else tuple(Site.of(spec) for spec in specs)
        if specs is None:  # one cluster: of as many machines as the capacity has, or the cores make
            own = cores if self.capacity_source is None else self.log and self.log.cores
            if self.capacity_source is None and own is None:
                raise RequestError("--cores-per-machine needs a number of cores", "add --clusters or --cores")
            specs = (ClusterSpec("machines", own or 0),)
        sites = []
        for number, spec in enumerate(specs):
            if spec.cores % size:
                what = f"the cores of cluster {spec.name!r}"
                raise RequestError(must_be(what, f"a multiple of --cores-per-machine, {size},", spec.cores))
            capacity = None if self.capacity_source is None else self._capacity(number, spec, work, window_s, note)
            sites.append(
                Site(
                    name=spec.name,
                    kind=spec.kind,
                    machines=spec.cores // size or None,
                    capacity=capacity,
                    checkpoints=self.checkpoints,
                    **self.site.values(),
                )
            )
        return tuple(sites)

    def _capacity(
        self,
        number: int,
        spec: ClusterSpec,
        work: Workload,
        window_s: tuple[float, float] | None,
        note: Callable[[str], None],
    ) -> Capacity:
        """Return how many machines a cluster has over time; of several, each has a walk of its own."""
        assert self.capacity_source is not None  # noqa: S101  asked before
        begin, end = span = window_s or self._horizon(work)
        seed = self.seed if number == 0 else entropy(self.seed, "walk", spec.name)
        capacity, left_out = self.capacity_source.over(span, seed=seed, whole=window_s is not None)
        if window_s is None:  # nothing but the last job ends the run: all machines on, so that it can end
            capacity = Capacity(
                np.append(capacity.time_s, end + self.capacity_source.notice_s),
                np.append(capacity.machines, capacity.machines.max()),
                np.append(capacity.notice_s, 0.0),
                (*capacity.mode, "kill"),
            )
        there = capacity.machines[capacity.time_s < end]
        low, high, mean = int(there.min()), int(there.max()), capacity.machine_seconds(begin, end) / (end - begin)
        name = "machines" if self.clusters is None else f"machines of {spec.name}"
        note(f"{name}: {low:,} to {high:,}, {mean:.1f} on average, {count_of(len(there) - 1, 'change')}")
        for what, count in left_out.items():
            if count:
                note(f"  {what}: {count:,}")
        return capacity

    def _horizon(self, work: Workload) -> tuple[float, float]:
        """Return from when to when capacities change where there is no window: twice as long as the work takes."""
        known = work.known()
        if not known.any():
            raise RequestError("there is no job", "give at least one")
        first, last = float(work.submit_s[known].min()), float(work.submit_s[known].max())
        assert self.capacity_source is not None  # noqa: S101  asked before
        mean = self.capacity_source.mean
        if mean is None:
            there, _ = self.capacity_source.over((first, last + 1.0), seed=self.seed, whole=False)
            mean = max(round(there.machine_seconds(first, last + 1.0) / (last + 1.0 - first)), 1)
        machines = mean * (1 if self.clusters is None else len(self.clusters))
        work_s = float((work.runtime_s * work.cores)[known].sum()) / (machines * (self.cores_per_machine or 1))
        return first, last + 2 * (work_s + float(work.runtime_s[known].max())) / self.site.speed

    def _sizes(self, scenario: Scenario) -> str:
        """Return the sizes of the clusters in words."""
        size = self.cores_per_machine
        if size is not None and self.capacity_source is not None and self.clusters is None:
            assert scenario.on is not None  # noqa: S101  machines
            capacity = scenario.on[0].capacity
            assert capacity is not None  # noqa: S101  of the capacity source
            end = np.inf if scenario.window_s is None else scenario.window_s[1]
            there = capacity.machines[capacity.time_s < end]
            return f"{int(there.min()):,} to {int(there.max()):,} machines of {size:,} cores"
        count = 1 if scenario.on is None else len(scenario.on)
        where = f"{scenario.cores:,} cores" + ("" if count == 1 else f" in {count} clusters")
        return where if size is None else f"{where}, machines of {size:,} cores"

    # -- the window ---------------------------------------------------------------------------------

    def _window(self, log: Workload) -> tuple[float, float]:
        """Return the window: by default from the first submission (but of jobs that ran before) to the last one."""
        ran = log.extras["running"].astype(bool) if "running" in log.extras else np.zeros(len(log), np.bool_)
        submit_s = log.submit_s if ran.all() else log.submit_s[~ran]
        begin_s = float(submit_s.min()) if self.from_ is None else seconds_of(log, self.from_, "--from")
        end_s = float(submit_s.max()) + 1 if self.until is None else seconds_of(log, self.until, "--until")
        found = begin_s, end_s
        if not begin_s < end_s:
            raise RequestError(
                f"the window from {instant_of(log, found[0])} to {instant_of(log, found[1])} is empty",
                "choose --from before --until",
            )
        if not ((log.submit_s < found[1]) & (log.submit_s + log.runtime_s > found[0])).any():
            what = f"no job from {instant_of(log, found[0])} to {instant_of(log, found[1])}"
            raise RequestError(what, "choose a window with jobs")
        return found

    def _reference_jobs(self, log: Workload, window_s: tuple[float, float] | None) -> Workload:
        """Return jobs like those to come, which say risks: a file's, or those of the week before the window."""
        if self.reference is not None:
            assert self.log is not None  # noqa: S101  a heuristic runs a log
            asked = replace(self.log, path=self.reference, cores=self.cores_per_machine if self.inside else None)
            return _with_lengths(asked.read())
        begin = float(log.submit_s.min()) if window_s is None else window_s[0]
        before = log.known() & (log.submit_s < begin) & (log.submit_s >= begin - WEEK)
        if not before.any():
            when = instant_of(log, begin)
            what = f"no job in the week before {when} has a length to estimate the risk of each target from"
            raise RequestError(what, "add --reference FILE, or choose --from a week later")
        return log.take(before)

    def _introduced(self, log: Workload | None, flows: int, scenario: Scenario) -> Iterator[str]:
        """Return what came in, and what became of it."""
        size = self.cores_per_machine
        where = scenario.where if size is None else f"machines of {size:,} cores"
        if log is not None:
            yield from introduced(log, where)
            yield from filter(None, [doubt_of_limits(log)])
            if self.clusters is None and self.capacity_source is None and scenario.cores is not None:
                yield from filter(None, [doubt_of_size(log, scenario.cores)])
        if (shared := scenario.shared) is not None:
            column = shared.columns[0]
            rows = shared.for_jobs(scenario.workload.names).table()
            parts = [f"{row['value']} up to {row['cores']:,}" for row in rows]
            if log is not None and (log.numbers[column][log.known()] < 0).any():
                parts.append("unknown ones any")
            yield f"the {count_of(len(shared.rows), column)} share the {scenario.cores:,} cores: {', '.join(parts)}"
        if self.folder is not None:
            tasks = len(scenario.workload) - (0 if log is None else len(log))
            yield f"{self.folder.path}: {count_of(flows, 'workflow')} of {count_of(tasks, 'task')} for {where}"


def _named(specs: Collection[ClusterSpec], column: str, numbers: Mapping[str, int]) -> tuple[ClusterSpec, ...]:
    """Return clusters that are named as the numbers of a column, which, or whose names, were given as their kinds."""
    if any(spec.kind is None for spec in specs):
        raise RequestError(f"--clusters does not say of which {column} a cluster is", "write CORES:NUMBER,...")
    return tuple(ClusterSpec(str(numbers.get(str(spec.kind), spec.kind)), spec.cores) for spec in specs)


def _with_lengths(log: Workload) -> Workload:
    """Return the jobs but those of no length, which take no machine and no time, and are counted."""
    none = log.known() & (log.runtime_s == 0)
    return replace(log.take(~none), counts={**log.counts, NO_LENGTH: int(none.sum())})
