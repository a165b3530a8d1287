"""The cases of models of one's own: schedulers behind a router, and a policy in plain Python."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import simmodels as sm
import workloads as wl
from benchmarks.measuring import Cases, Figures, measured, trace


class ShortestThatFits(sm.Scheduler):
    """Starts whatever fits, the shortest first; it counts how often it is asked."""

    decisions = 0

    def decide(self, now: float) -> Iterator[sm.Placement]:  # noqa: ARG002  the time changes nothing
        """Return what starts."""
        self.decisions += 1
        free = self.cluster.free_cores
        for job in sorted(self.waiting, key=lambda job: job.estimate_s):
            if job.cores <= free:
                free -= job.cores
                yield sm.Placement(job)


def _curie(jobs: int | None = None, *, widest: int = 93_312) -> sm.Workload:
    log = wl.read_swf(trace("CEA-Curie-2011-2.1-cln.swf.gz"))
    log = log.take(np.flatnonzero(log.cores <= widest))
    return log if jobs is None else log.head(jobs)


def _run(build: Callable[[sm.Environment], Any], log: sm.Workload) -> tuple[Any, Figures]:
    """Run a model of these jobs; return what takes them, and what the run took."""
    env = sm.Environment(start_s=float(log.submit_s.min()))
    into = build(env)
    sm.Source(env, log, into=into)
    _, figures = measured(env.run, len(log))
    return into, figures


def routed(*, router: Callable[[sm.Environment, list[sm.QueueScheduler]], sm.Router], at_once: int = 0) -> Figures:
    """Route Curie (312,826 jobs) to two clusters of its size, each with EASY; the attempts of a second.

    With `at_once`, this many jobs are submitted together, and as many after them, on clusters of half its size.
    """
    size = 46_656 if at_once else 93_312

    def build(env: sm.Environment) -> sm.Router:
        clusters = [sm.Cluster(env, name, cores=size) for name in "ab"]
        return router(env, [sm.QueueScheduler(env, cluster) for cluster in clusters])

    log = _curie(2 * at_once or None, widest=size)
    if at_once:
        log = dataclasses.replace(log, submit_s=np.maximum(log.submit_s, log.submit_s[at_once]))
    _run(build, log.head(1000))
    _, figures = _run(build, log)
    return figures


def own_policy() -> Figures:
    """Schedule the first 100,000 jobs of Curie by a policy in plain Python; the decisions of a second."""

    def build(env: sm.Environment) -> ShortestThatFits:
        return ShortestThatFits(env, sm.Cluster(env, "curie", cores=93_312))

    log = _curie(100_000)
    _run(build, log.head(1000))
    scheduler, figures = _run(build, log)
    return figures | {"jobs": scheduler.decisions, "jobs_per_s": scheduler.decisions / figures["wall_s"]}


def model_cases() -> Cases:
    """Return the cases: routers, and a policy of one's own."""
    routers = {
        "RoundRobin": sm.RoundRobin,
        "LeastLoaded": sm.LeastLoaded,
        "EarliestStart": sm.EarliestStart,
        "forwarding auction": partial(sm.Auctioneer, bid="SRTF", forward=True),
    }
    behind = {f"Curie, two EASY queues, {name} simpy": partial(routed, router=each) for name, each in routers.items()}
    backlog = {
        f"10,000 jobs, half at once, {name} simpy": partial(routed, router=routers[name], at_once=5_000)
        for name in ("EarliestStart", "forwarding auction")
    }
    return {
        **behind,
        **backlog,
        "Curie, decide in Python simpy": own_policy,
    }
