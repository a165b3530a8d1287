"""simulate: the short way in, by the fastest exact clock."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pandas as pd

from simmodels.capacity import Capacity, CapacityChange
from simmodels.engine import Engine, require_engine
from simmodels.entities.auctioneer import Auctioneer
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.recorder import Recorder
from simmodels.entities.scheduler import QueueScheduler
from simmodels.entities.source import Source
from simmodels.errors import RequestError, require_known
from simmodels.ground.numbers import MOST
from simmodels.on_machines import run_on_machines
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.checkpoints import Checkpoints
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import Backfilling, Decide, Overrun, QueueOptions
from simmodels.replay.auction import replay_auction
from simmodels.replay.run import Replay
from simmodels.results.place import Place
from simmodels.schedule import Schedule
from simmodels.workflow import Workflow
from simmodels.workload import Workload


def simulate(
    workload: Workload,
    *,
    cores: int | None = None,
    capacity: Capacity | pd.DataFrame | Iterable[CapacityChange] | None = None,
    cores_per_machine: int | None = None,
    machines: int | None = None,
    checkpoints: Checkpoints | None = None,
    removes: Literal["highest", "random"] = "highest",
    window_s: tuple[float, float] | None = None,
    order: str | Priority = "FCFS",
    backfilling: Backfilling = "easy",
    backfill_order: str | Priority | None = None,
    threshold_s: float | None = None,
    decide: Decide = "instant",
    overrun: Overrun = "run",
    queue_depth: int | None = None,
    warm_jobs: int = 0,
    engine: Engine = "auto",
    seed: int = 0,
) -> Schedule:
    """Return the schedule of rigid jobs in a queue, on one pool of cores or on machines that are switched on and off.

    Parameters
    ----------
    workload
        The jobs; each must be able to run on the pool. A job whose cores or runtime is unknown (-1)
        is left out: its row stays, unfinished and outside the metrics; ``about["left_out"]`` counts them.
    cores
        The size of the pool; by default ``workload.max_cores``.
    capacity, cores_per_machine
        Instead of a pool: how many machines there are over time (see `Capacity.of`), and the cores of each. A job gets
        the free cores of the lowest machines; of those under notice too, if it ends by its estimate before they go.
    machines
        How many machines there are at most; None for the most that the capacity has.
    checkpoints
        How jobs on machines write checkpoints; None for no periodic ones, and for free ones on notice.
    removes
        Which machines go: those of the ``"highest"`` numbers, or ``"random"`` ones.
    window_s
        On machines, as in `simulate_on_machines`.
    order
        Which waiting job goes first: a name of the registry (`simmodels.orders`), or an order of
        yours. Smaller values first; ties by submit, then input position. A bid may stand there, too: who would win
        goes first.
    backfilling
        ``"none"`` (the head of the queue blocks), ``"greedy"`` (any that fits starts), ``"easy"``
        (any that fits and does not delay the head starts), ``"conservative"`` (any that fits and
        delays no waiting job's reservation starts).
    backfill_order
        The order in which EASY backfills; by default `order`.
    threshold_s
        A job that has waited longer goes before all others (among these, first come first); in both
        orders. None for never.
    decide
        ``"instant"``: all completions and submissions of an instant, then one pass. ``"event"``: one
        pass after each event, submissions before completions.
    overrun
        What happens to a job that reaches its estimate. ``"run"``: it runs on, and is expected to end
        at any moment; ``"kill"``: it is stopped.
    queue_depth
        Only this many waiting jobs, those submitted first, are considered; None for all.
    warm_jobs
        This many jobs, the first ones, run first come first served, before any other, and stand outside the
        metrics.
    engine
        ``"simpy"`` (the process clock), ``"compiled"`` (the compiled clock), or ``"auto"`` (the
        compiled one: the schedule is the same to the last bit).
    seed
        For orders that draw (RANDOM).

    Raises
    ------
    ImpossibleJobError
        A job can never run on the pool, or its runtime is negative; see `workloads.clean`.
    UnknownNameError, RequestError
        An option is not what is allowed, or the pool's size is unknown.

    Examples
    --------
    >>> trace = Workload.from_frame(pd.DataFrame({"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [1, 2, 1]}))
    >>> simulate(trace, cores=2).start_s.tolist()
    [0.0, 10.0, 2.0]
    """
    require_engine(engine, seed)
    options = QueueOptions.checked(
        order=order,
        backfilling=backfilling,
        backfill_order=backfill_order,
        threshold_s=threshold_s,
        decide=decide,
        overrun=overrun,
        queue_depth=queue_depth,
        warm_jobs=warm_jobs,
    )
    require_known("removes", removes, ("highest", "random"))
    if capacity is not None:
        if cores is not None or cores_per_machine is None:
            raise RequestError("a capacity", "cores_per_machine is needed with it, and no cores")
        return run_on_machines(
            workload,
            capacity,
            options,
            lambda env, cluster: QueueScheduler(env, cluster, **options.by_name()),
            cores_per_machine=cores_per_machine,
            machines=machines,
            window_s=window_s,
            checkpoints=checkpoints,
            random_kill=removes == "random",
            engine=engine,
            seed=seed,
        )
    for name, value in (
        ("cores_per_machine", cores_per_machine),
        ("machines", machines),
        ("checkpoints", checkpoints),
        ("window_s", window_s),
        ("removes", None if removes == "highest" else removes),
    ):
        if value is not None:
            raise RequestError(f"{name} of a pool of cores", "capacity is needed with it")
    size = workload.max_cores if cores is None else cores
    if size is None:
        raise RequestError(f"the size of the machine of {workload.name!r} is unknown", "cores= says it")
    if not (1 <= size <= MOST and int(size) == size):
        raise RequestError(f"cores is {size}", "1 to 2^53 is allowed, in whole numbers")
    workload.require_runnable(size)
    if engine != "simpy":
        replay = Replay(workload, cores=size, options=options, seed=seed)
        replay.run()
        return replay.schedule()
    env = Environment(seed=seed, start_s=float(workload.submit_s.min(initial=0.0)))
    cluster = Cluster(env, "cluster", cores=size)
    scheduler = QueueScheduler(env, cluster, **options.by_name())
    Source(env, workload, into=scheduler)
    recorder = Recorder(env)
    env.run()
    return recorder.schedule()


def simulate_workflows(
    workflows: Sequence[Workflow],
    *,
    clusters: Sequence[Place | tuple[str, int] | tuple[str, int, str | None]],
    engine: Engine = "auto",
    seed: int = 0,
    **rules: Any,  # noqa: ANN401  the rules of the auction, checked by name
) -> Schedule:
    """Return the schedule of workflows whose tasks bid for cores.

    Parameters
    ----------
    workflows
        The jobs; each task must be able to run on some cluster.
    clusters
        Name, cores and kind of each cluster; without a kind it takes any task.
    engine
        ``"simpy"``, ``"compiled"``, or ``"auto"`` (the compiled one: the schedule is the same to the last bit).
    seed
        For bids that draw (Random).
    rules
        Those of `simmodels.Auctioneer`: bid, ccr, network, hol, tick_s, end and so on.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the clusters.
    UnknownNameError, RequestError
        An option is not what is allowed.

    Examples
    --------
    >>> job = Workflow(1, 0.0, [10, 20], 2, [(0, 1)])
    >>> simulate_workflows([job], clusters=[("a", 4)], bid="SRTF").start_s.tolist()
    [0.0, 10.0]
    """
    require_engine(engine, seed)
    places = [Place(*cluster) for cluster in clusters]
    for place in places:
        if not (1 <= place.cores <= MOST and int(place.cores) == place.cores):
            raise RequestError(f"cluster {place.name!r} of {place.cores} cores", "1 to 2^53, in whole numbers")
    if len({place.name for place in places}) < len(places):
        named = ", ".join(place.name for place in places)
        raise RequestError(f"clusters {named}, of which two have the same name", "each name once is allowed")
    options = AuctionOptions.checked(**rules)
    workflows = tuple(workflows)
    if engine != "simpy":
        return replay_auction(workflows, places, options, seed=seed)
    env = Environment(seed=seed, start_s=min((workflow.submit_s for workflow in workflows), default=0.0))
    made = [Cluster(env, place.name, cores=place.cores, kind=place.kind) for place in places]
    auctioneer = Auctioneer(env, made, **options.by_name())
    Source(env, workflows, into=auctioneer)
    recorder = Recorder(env)
    # Auctions that end with the last submission leave undone what comes after it.
    env.run(until=auctioneer.process if options.end == "submit" and workflows else None)
    return recorder.schedule()
