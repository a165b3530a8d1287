"""The cases of the market: auctions at paper size, and long queues."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

import simmodels as sm
import workloads as wl
from benchmarks.measuring import Cases, Figures, measured


def market(
    *, bid: str, jobs: int = 10_000, trend: str | None = None, engine: str = "auto", backfilling: str = "none"
) -> Figures:
    """Auction the workflows of the market study, on its four clusters; `trend="any"` computes every bid."""
    chosen = sm.bids()[bid]
    if trend is not None:
        chosen = replace(chosen, name=f"{bid}, {trend}", trend=trend)  # type: ignore[arg-type]
    clusters = [*((f"a{i}", 1000, "Kind1") for i in range(3)), ("b", 1000, "Kind2")]
    workflows = wl.market_workload(jobs, load=1.4, seed=1)

    def once(part: list[sm.Workflow]) -> sm.Schedule:
        return sm.simulate_workflows(
            part,
            clusters=clusters,
            bid=chosen,
            tick_s=sm.MINUTE,
            engine=engine,  # type: ignore[arg-type]
            backfilling=backfilling,
        )

    return _auctioned(once, workflows, "starved")


def market_on_machines(*, bid: str, engine: str, jobs: int = 2_000) -> Figures:
    """Auction workflows of the market study on four clusters of 64-core machines, each on a walk of its own."""
    workflows = wl.market_workload(jobs, load=1.0, seed=1)
    begin, last = workflows[0].submit_s, max(each.submit_s for each in workflows)
    sites = []
    for number, kind in enumerate(("Kind1", "Kind1", "Kind1", "Kind2")):
        walk = wl.capacity_walk(
            mean=16, radius=4, step=2, period_s=1200, begin_s=begin, until_s=2 * last - begin, seed=number
        )
        sites.append(sm.Site(name=f"c{number}", machines=20, cores_per_machine=64, kind=kind, capacity=walk))
    once = partial(sm.simulate, on=sites, bid=bid, tick_s=sm.MINUTE, engine=engine)  # type: ignore[arg-type]
    return _auctioned(once, workflows, "kills")


def _auctioned(once: Callable[[list[sm.Workflow]], sm.Schedule], workflows: list[sm.Workflow], figure: str) -> Figures:
    """Auction some of the workflows, so that all is compiled, and then all; return what that took, and this figure."""
    once(workflows[:100])
    schedule, figures = measured(lambda: once(workflows), sum(map(len, workflows)))
    found = schedule.validate().metrics()
    return figures | {"value": found["value"], figure: found[figure]}


def long_queue(*, bid: str, tasks: int) -> Figures:
    """Auction this many tasks that are all submitted at once, each alone in its job: the queue is as long as that."""
    draw = np.random.default_rng(1)
    runtime_s, cores = draw.integers(1, 100, tasks), draw.integers(1, 33, tasks)
    curve = sm.ValueCurve.linear(1e6, 2e6)
    jobs = [sm.Workflow(i, 0.0, runtime_s[i : i + 1], cores[i : i + 1], curve=curve) for i in range(tasks)]
    sm.simulate_workflows(jobs[:100], clusters=[("a", 1000)], bid=bid)
    _, figures = measured(lambda: sm.simulate_workflows(jobs, clusters=[("a", 1000)], bid=bid), tasks)
    return figures


def market_cases() -> Cases:
    """Return the cases of the market: each policy at paper size, and the cost against the queue's length."""
    cases: Cases = {}
    for bid in sm.TEN_BIDS:
        cases[f"market {bid}"] = partial(market, bid=bid)
    for bid in ("PVD", "PVR", "P-SLR"):
        cases[f"market {bid}, every bid"] = partial(market, bid=bid, trend="any")
    for bid in ("SRTF", "PVR"):
        cases[f"market {bid}, EASY"] = partial(market, bid=bid, backfilling="easy")
    for engine in ("compiled", "simpy"):
        cases[f"market on walks of machines, SRTF {engine}"] = partial(market_on_machines, bid="SRTF", engine=engine)
    cases["market SRTF simpy"] = partial(market, bid="SRTF", engine="simpy")
    cases["market SRTF, a million tasks"] = partial(market, bid="SRTF", jobs=85_000)
    for bid in ("SRTF", "PVDSQ", "PVR", "P-SLR"):
        for tasks in (2_500, 10_000, 40_000):
            cases[f"queue of {tasks:,} tasks {bid}"] = partial(long_queue, bid=bid, tasks=tasks)
    return cases
