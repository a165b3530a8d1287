"""Building: the processes of a model, run to its end."""

import math
from dataclasses import asdict

from simmodels.clusters.site import Site
from simmodels.entities.auctioneer import Auctioneer
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.capacity_process import TraceCapacity
from simmodels.entities.cluster import Cluster
from simmodels.entities.decider import Decider
from simmodels.entities.dependencies import Dependencies
from simmodels.entities.done import Requeues, may_act
from simmodels.entities.environment import Environment
from simmodels.entities.heuristics import FirstFit, PackedTargetAsap, TargetAsap, TargetStretch
from simmodels.entities.outages import Failures, Maintenance
from simmodels.entities.placer import Placer
from simmodels.entities.power_saving import SleepWhenIdle
from simmodels.entities.queue_scheduler import QueueScheduler
from simmodels.entities.recorder import Recorder
from simmodels.entities.router import ByColumn, EarliestStart, LeastLoaded, RoundRobin, Router
from simmodels.entities.source import Source
from simmodels.model import Model, SchedulerOptions
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.placement_options import PlacementOptions
from simmodels.results.schedule import Schedule

_PLACERS: dict[str, type[Placer]] = {
    each.heuristic: each for each in (FirstFit, TargetStretch, TargetAsap, PackedTargetAsap)
}
_ROUTERS: dict[str, type[Router]] = {each.__name__: each for each in (RoundRobin, LeastLoaded, EarliestStart)}


def run_processes(model: Model) -> Schedule:
    """Return the schedule of a model, by its processes."""
    begin_s, end_s = model.begin_s, model.end_s
    sites = [site.known_by(end_s) for site in model.sites]
    env = Environment(seed=model.seed, start_s=begin_s)
    clusters = [_cluster(env, site) for site in sites]
    decider = _decider(env, model, clusters)
    rigid_on_machines = model.on_machines and model.work.is_rigid and isinstance(decider, Scheduler)
    into = Dependencies(env, decider, **model.travel) if model.travel and not model.work.is_rigid else decider
    source = Source(env, model.work, into=into, window_s=(begin_s, end_s) if rigid_on_machines else None)
    recorder = Recorder(env)
    auction = next((each for each in (model.options, model.router) if isinstance(each, AuctionOptions)), None)
    if auction is not None and auction.end == "submit" and len(model.work):
        env.run(until=decider.process)  # what comes after the last submission is left undone
        if auction.forward:
            env.run(until=env.end_of(env.now))  # the queues behind decide at this instant, too
    elif not model.on_machines:
        env.run()
    elif end_s == math.inf:
        last_s = max(site.last_change_s for site in sites)
        _run_out(env, source, Requeues(env, model.max_requeues), last_s=last_s)
    else:
        env.run(until=env.end_of(end_s))
    return recorder.schedule()


def _cluster(env: Environment, site: Site) -> Cluster:
    """Make the cluster of a site, and what switches its machines."""
    cluster = Cluster(
        env,
        site.name,
        cores=site.cores,
        machines=site.machines,
        cores_per_machine=site.cores_per_machine,
        speed=site.speed,
        kind=site.kind,
        checkpoints=site.checkpoints,
    )
    if site.capacity is not None:
        TraceCapacity(env, cluster, site.capacity, removes=site.removes)
    if site.failures is not None:
        Failures(env, cluster, **asdict(site.failures))
    for each in site.maintenance:
        Maintenance(env, cluster, **asdict(each))
    if site.sleep is not None:
        SleepWhenIdle(env, cluster, **asdict(site.sleep))
    return cluster


def _decider(env: Environment, model: Model, clusters: list[Cluster]) -> Scheduler | Router:
    """Make what schedules the model's work."""
    if isinstance(model.options, AuctionOptions):
        return Auctioneer(env, clusters, **model.options.by_name())
    schedulers = [_scheduler(env, model.options, cluster) for cluster in clusters]
    if model.router is None:
        return schedulers[0]
    if isinstance(model.router, AuctionOptions):
        return Auctioneer(env, schedulers, rebalance_s=model.rebalance_s, **model.router.by_name())
    if (column := model.lane_column) is not None:
        return ByColumn(env, schedulers, column=column)
    return _ROUTERS[model.router](env, schedulers)


def _scheduler(env: Environment, options: SchedulerOptions, cluster: Cluster) -> Scheduler:
    if isinstance(options, PlacementOptions):
        return _PLACERS[options.heuristic](env, cluster, **options.given())
    return QueueScheduler(env, cluster, **options.by_name())


def _run_out(env: Environment, source: Source, requeues: Requeues, *, last_s: float) -> None:
    """Run until all jobs are done, or what waits can never run: at most until the capacity's last change, and its ends.

    The simulation stops there, whatever is still to come: changes of the capacity, timers that nobody waits for.
    """
    deciders, clusters = env.all(Decider), env.all(Cluster)
    while source.process.is_alive or not all(each.is_idle for each in deciders):
        if not source.process.is_alive and env.peek() > max(last_s, env.now) and not may_act(deciders, clusters):
            failed = any(each.failed for each in env.all(Failures))
            if not (failed or any(each.booting for each in env.all(SleepWhenIdle))):
                return
            requeues.note_idle()
        env.step()
        if env.peek() > env.now and (lost := requeues.error()) is not None:
            raise lost
    env.run(until=env.end_of(env.now))
