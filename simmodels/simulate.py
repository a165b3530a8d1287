"""simulate: the short way in, by the fastest exact engine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack, get_args

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.clusters.cluster_spec import ClusterSpec
from simmodels.clusters.outages import MAX_REQUEUES
from simmodels.clusters.site import Removes, Site
from simmodels.clusters.sizes import Machines
from simmodels.engine import Engine, require_engine
from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import as_tuple, by_name
from simmodels.ground.durations import Duration
from simmodels.model import LANES, Model, RouterName, SchedulerOptions
from simmodels.policies.auction_options import TRAVEL, AuctionOptions
from simmodels.policies.options import takes_options
from simmodels.policies.placement_options import Heuristic, PlacementOptions
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.compiled_run import run_compiled
from simmodels.results.schedule import Schedule
from simmodels.work.workload import Workload, WorkloadLike

if TYPE_CHECKING:
    import pandas as pd

    from simmodels.clusters.capacity import Capacity, CapacityChange
    from simmodels.policies.option_types import SimulateOnMachinesOptions, SimulateOptions, SimulateWorkflowsOptions

ClusterLike = int | Site | ClusterSpec | tuple[str, int] | tuple[str, int, str | None]


@by_name("for example simulate(log, cores=64)")
@takes_options(QueueOptions, PlacementOptions, AuctionOptions)
def simulate(
    workload: WorkloadLike,
    *,
    on: ClusterLike | Sequence[ClusterLike] | None = None,
    cores: int | None = None,
    capacity: "Capacity | pd.DataFrame | Iterable[CapacityChange] | None" = None,
    cores_per_machine: int | None = None,
    machines: int | Sequence[Machines] | None = None,
    checkpoints: Checkpoints | None = None,
    removes: Removes = "highest",
    window_s: tuple[Duration, Duration] | None = None,
    heuristic: Heuristic | None = None,
    router: RouterName | None = None,
    rebalance_s: Duration | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    max_requeues: int | None = MAX_REQUEUES,
    **options: "Unpack[SimulateOptions]",
) -> Schedule:
    """Return the schedule of jobs and workflows: in a queue, by a placer, by an auction, or behind a router.

    Parameters
    ----------
    workload
        Rigid jobs, workflows, or both: a `Workload`, or what stands for one (see `Workload.of`), such as the path of a
        log, a table of jobs or a list of workflows. A job of unknown cores or runtime (-1) is left out: its row
        stays, unfinished and outside the metrics; ``about["left_out"]`` counts them.
    on
        The cluster, or clusters: a `Site`, a number of cores, or name, cores and kind.
    cores
        Instead: one pool of this many cores; by default ``workload.max_cores``. Beside `on` of partitions or queues
        that have more cores together: they share this many, in one queue under `limits` by partition or queue.
    capacity, cores_per_machine, machines, checkpoints, removes
        Instead: one cluster of machines that are switched on and off, as in `Site`; with a list of `Machines`, of
        unequal size and speed.
    window_s
        From when to when, the end included, for one queue or placer of rigid jobs; jobs that were submitted before and
        would still run are run on, those submitted at its end or later are left out. A pool is then one machine of all
        its cores. None: from the first submit until all is done, or if machines stay off for good until the last change
        (an auction: also its deadlines).
    heuristic
        ``"FirstFit"``, ``"TargetStretch"``, ``"TargetAsap"`` or ``"PackedTargetAsap"``: jobs inside one machine each.
    router
        What sends jobs to the queues, or placers, of several clusters: ``"RoundRobin"``, ``"LeastLoaded"``,
        ``"EarliestStart"``; ``"ByPartition"`` or ``"ByQueue"``, each job to the cluster that has the number of its
        partition, or queue, as its name. Or give a ``bid`` and ``forward=True``. Data of workflows travel by ``ccr``,
        ``network`` and ``tick_s``, if these are given, as before `Dependencies`.
    rebalance_s
        As in `Auctioneer`, of auctions that forward.
    engine
        ``"simpy"`` (the SimPy engine), ``"compiled"`` (the compiled engine), or ``"auto"`` (the compiled one where it
        covers all that is asked for: the schedule is the same to the last bit).
    seed
        Of what is drawn.
    max_requeues
        How often in succession a job may lose its machines, and all the work of the attempt, and how often machines may
        be repaired while all jobs wait, if no window ends the simulation; None for any number.
    options
        Of a queue: those of `simmodels.policies.queue_options.QueueOptions`, which says what each does. With a
        `heuristic`: those of `simmodels.policies.placement_options.PlacementOptions`. With a ``bid``: those of
        `simmodels.policies.auction_options.AuctionOptions`.

    Returns
    -------
    Schedule
        One row per job or task, in the order of the workload: when and where it ran, with the figures of merit, the
        tables and the charts of `Schedule`.

    Raises
    ------
    ImpossibleJobError
        A job or task can never run there, or its runtime is negative; see `workloads.clean`.
    UnknownNameError, RequestError
        An option is out of range, the parts do not go together, the size of the pool is unknown, or no compiled engine
        covers all that is asked for, and one was.
    StoppedError
        A job was lost more than `max_requeues` times in a row, or machines were repaired more often while all waited.

    Examples
    --------
    >>> import simmodels as sm
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [1, 2, 1]}
    >>> sm.simulate(log, cores=2).start_s.tolist()
    [0.0, 10.0, 2.0]
    >>> sm.simulate(log, on=[2, sm.Site(name="b", cores=1)], router="LeastLoaded", order="SPF").cluster.tolist()
    [0, 0, 1]
    """
    require_engine(engine, seed)
    require_known("removes", removes, get_args(Removes))
    work = Workload.of(workload)
    of_placer = {} if heuristic is None or checkpoints is None else {"checkpoints": checkpoints}
    rules, before = policies_of(heuristic, router, {**options, **of_placer})
    one = {
        "cores": cores,
        "capacity": capacity,
        "cores_per_machine": cores_per_machine,
        "machines": machines,
        "checkpoints": checkpoints,
        "removes": None if removes == "highest" else removes,
    }
    given = {name: value for name, value in one.items() if value is not None}
    sharing = cores if router in LANES and given.keys() == {"cores"} else None
    if on is not None and given and sharing is None:
        raise RequestError(f"{', '.join(given)} beside on", "put them into a Site")
    sites = _sites(on) if on is not None else (_site(work, given),)
    if isinstance(rules, PlacementOptions) and rules.random_kill:
        sites = tuple(site if site.capacity is None else replace(site, removes="random") for site in sites)
    travel = {} if router is None else _travel(work, router, options)
    model = Model(work, sites, rules, before, rebalance_s, window_s, seed, travel, max_requeues)  # type: ignore[arg-type]  # it makes seconds of durations
    if on is not None and sharing is not None:
        model = model.on_one_machine(sharing)
    model.require_runnable()
    if engine != "simpy":
        uncovered = model.uncovered
        if uncovered is None:
            return run_compiled(model)
        if engine == "compiled":
            raise RequestError(f"the compiled engine does not cover {uncovered}", "use engine='auto' or 'simpy'")
    from simmodels.entities.building import run_processes  # noqa: PLC0415  only who needs processes waits for SimPy

    return run_processes(model)


@by_name("for example simulate_on_machines(log, capacity, cores_per_machine=64)")
@takes_options(PlacementOptions)
def simulate_on_machines(
    workload: WorkloadLike,
    capacity: "Capacity | pd.DataFrame | Iterable[CapacityChange]",
    *,
    cores_per_machine: int,
    heuristic: Heuristic = "FirstFit",
    machines: int | None = None,
    window_s: tuple[Duration, Duration] | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    **options: "Unpack[SimulateOnMachinesOptions]",
) -> Schedule:
    """Return the schedule of jobs on machines that are switched on and off; `simulate` with ``capacity``.

    Parameters
    ----------
    workload
        The jobs; each runs inside one machine, and must be able to.
    capacity, cores_per_machine, machines
        The machines, as in `simulate`.
    heuristic
        ``"FirstFit"``, ``"TargetStretch"``, ``"TargetAsap"`` or ``"PackedTargetAsap"``.
    window_s, engine, seed
        As in `simulate`.
    options
        As in `simmodels.policies.placement_options.PlacementOptions`.

    Returns
    -------
    Schedule
        One row per job; ``runs`` has one row per attempt, with its machine.

    Raises
    ------
    ImpossibleJobError
        A job can never run on a machine, or has no length.
    UnknownNameError, RequestError
        An option is out of range, or jobs of the window have the same number.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0, 1], "runtime_s": [10, 5], "cores": [2, 2]}
    >>> schedule = sm.simulate_on_machines(jobs, [(0, 2), (4, 1)], cores_per_machine=2)
    >>> schedule.start_s.tolist(), schedule.metrics()["kills"]
    ([0.0, 10.0], 1)
    """
    require_known("heuristic", heuristic, get_args(Heuristic))
    if capacity is None:
        raise RequestError(must_be("capacity", "a Capacity, a table or CapacityChange records", capacity))
    return simulate(
        workload,
        capacity=capacity,
        cores_per_machine=cores_per_machine,
        heuristic=heuristic,
        machines=machines,
        window_s=window_s,
        engine=engine,
        seed=seed,
        **options,
    )


@by_name("for example simulate_workflows(workflows, clusters=[('a', 64)])")
@takes_options(AuctionOptions)
def simulate_workflows(
    workflows: WorkloadLike,
    *,
    clusters: Sequence[ClusterLike],
    bid: str | Priority = "PVR",
    engine: Engine = "auto",
    seed: int = 0,
    **rules: "Unpack[SimulateWorkflowsOptions]",
) -> Schedule:
    """Return the schedule of workflows whose tasks bid for cores; `simulate` with ``on`` and ``bid``.

    Parameters
    ----------
    workflows
        The jobs; each task must be able to run on some cluster.
    clusters
        A `Site`, or name, cores and kind, of each cluster; without a kind it takes any task.
    bid
        What tasks offer.
    engine, seed
        As in `simulate`.
    rules
        The other rules of `simmodels.Auctioneer`: ccr, network, blocking, tick_s, end and so on.

    Returns
    -------
    Schedule
        One row per task.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the clusters.
    UnknownNameError, RequestError
        An option is out of range.

    Examples
    --------
    >>> import simmodels as sm
    >>> job = sm.Workflow(1, 0.0, [10, 20], 2, [(0, 1)])
    >>> sm.simulate_workflows([job], clusters=[("a", 4)], bid="SRTF").start_s.tolist()
    [0.0, 10.0]
    """
    sites = as_tuple("clusters", clusters, "a list of clusters")
    return simulate(workflows, on=sites, bid=bid, engine=engine, seed=seed, **rules)


def policies_of(
    heuristic: Heuristic | None, router: RouterName | None, options: dict[str, Any]
) -> tuple[SchedulerOptions, RouterName | AuctionOptions | None]:
    """Return what schedules each cluster, or auctions them all; and what stands before several schedulers.

    The arguments are those of `simulate`.
    """
    if router is not None:
        require_known("router", router, get_args(RouterName))
        options = {name: value for name, value in options.items() if name not in TRAVEL}  # of `Model.travel`
    if "bid" not in options:
        return _scheduler(heuristic, options), router
    if router is not None:
        raise RequestError(f"router {router!r} beside a bid", "give one of them")
    if not options.get("forward", False):
        if heuristic is not None:
            raise RequestError(f"heuristic {heuristic!r} beside a bid", "add forward=True")
        return AuctionOptions.checked(**options), None
    # The auction only chooses then: what else both have by the same name (backfilling) is the queues'.
    of_auction = {each.name for each in fields(AuctionOptions)} - {"backfilling"}
    rules = {name: value for name, value in options.items() if name in of_auction}
    rest = {name: value for name, value in options.items() if name not in of_auction}
    return _scheduler(heuristic, rest), AuctionOptions.checked(**rules)


def _travel(work: Workload, router: RouterName, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how data travel before a router, as far as it is given."""
    travel = {name: value for name, value in options.items() if name in TRAVEL}
    AuctionOptions.checked(**travel)
    if travel and work.is_rigid:
        raise RequestError(f"{', '.join(travel)} before {router} without workflows", "leave it out")
    return travel


def _scheduler(heuristic: Heuristic | None, options: dict[str, Any]) -> QueueOptions | PlacementOptions:
    if heuristic is not None:
        return PlacementOptions.checked(heuristic=heuristic, **options)
    return QueueOptions.checked(**options)


def _sites(on: object) -> tuple[Site, ...]:
    """Return the clusters that are given, those of no name numbered."""
    several = isinstance(on, Sequence) and not isinstance(on, str | ClusterSpec) and not (on and isinstance(on[0], str))
    given: tuple[Any, ...] = tuple(on) if several else (on,)  # type: ignore[arg-type]  # it is a sequence
    if not given:
        raise RequestError("no clusters", "give at least one")
    sites = [Site.of(each) for each in given]
    if len(sites) == 1:
        return tuple(sites)
    return tuple(
        site if isinstance(each, Site | Sequence) else replace(site, name=f"cluster{number}")
        for number, (each, site) in enumerate(zip(given, sites, strict=True))
    )


def _site(work: Workload, given: dict[str, Any]) -> Site:
    """Return the one cluster that is described by options of its own."""
    if {"capacity", "cores_per_machine", "machines"} & given.keys():
        return Site(name="machines", **given)
    size = given.get("cores", work.max_cores)
    if type(size) is int and given.keys() <= {"cores"}:
        return _pool(size)
    if "cores" not in given and work.max_cores is None:
        if given:
            Site(cores=1, **given)  # which says what is wrong with them, whatever the size
        raise RequestError(f"the size of the machine of {work.name!r} is unknown", "give cores=")
    return Site(**{"cores": work.max_cores} | given)


@cache
def _pool(cores: int) -> Site:
    """Return a pool of cores, which is checked once."""
    return Site(cores=cores)
