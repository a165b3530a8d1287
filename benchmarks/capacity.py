"""The cases of machines that are switched on and off: two weeks of Borg, and more machines."""

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np

import simmodels as sm
import workloads as wl
from benchmarks.measuring import Cases, Figures, measured, trace


def on_machines(*, heuristic: str, engine: str, machines: int = 32) -> Figures:
    """Run two weeks of Borg on a walk of machines that changes each 400 s; with more machines, copies of the jobs."""
    week = wl.read_borg_slice(trace("borg/7D_604800.txt.gz"))
    slice_ = wl.read_borg_slice(trace("borg/14D_518400.txt.gz"))
    times, begin = machines // 32, float(slice_.submit_s[~slice_.extras["running"].astype(bool)].min())
    rows = np.tile(np.arange(len(slice_)), times)
    jobs = dataclasses.replace(slice_.take(rows), job_id=np.arange(len(rows)))
    walk = wl.capacity_walk(
        mean=24 * times, radius=8 * times, period_s=400, begin_s=begin, until_s=begin + 2 * sm.WEEK, seed=1
    )
    options: dict[str, object] = {} if heuristic == "FirstFit" else {"reference": week}
    asked = {"cores_per_machine": 24, "heuristic": heuristic, "engine": engine, "machines": machines, **options}
    sm.simulate_on_machines(jobs.head(200), walk, window_s=(begin, begin + sm.HOUR), **asked)  # type: ignore[arg-type]
    return _simulated(
        jobs,
        lambda: sm.simulate_on_machines(jobs, walk, window_s=(begin, begin + 2 * sm.WEEK), **asked),  # type: ignore[arg-type]
    )


def queue_on_machines(*, engine: str) -> Figures:
    """Run KTH-SP2 under EASY on 16-core machines of which 4 to 8 are on, by a walk that moves each day."""
    log = wl.clean(wl.read_swf(trace("KTH-SP2-1996-2.1-cln.swf.gz")), "published", cores=100)
    begin = float(log.submit_s.min())
    until = begin + 1.3 * (float(log.submit_s.max()) - begin)
    walk = wl.capacity_walk(mean=6, radius=2, step=1, period_s=sm.DAY, begin_s=begin, until_s=until, seed=1)
    asked = {"capacity": walk, "cores_per_machine": 16, "machines": 8, "engine": engine}
    sm.simulate(log.head(200), **asked)  # type: ignore[arg-type]
    return _simulated(log, lambda: sm.simulate(log, **asked))  # type: ignore[arg-type]


def sleeping(*, engine: str) -> Figures:
    """Run KTH-SP2 under EASY on 100 machines of a core that sleep when they have been idle for ten minutes."""
    log = wl.clean(wl.read_swf(trace("KTH-SP2-1996-2.1-cln.swf.gz")), "published", cores=100)
    policy = sm.SleepPolicy(after_s=600, boot_s=120, awake=2)
    site = sm.Site(machines=100, cores_per_machine=1, sleep=policy)
    sm.simulate(log.head(200), on=site, engine=engine)  # type: ignore[arg-type]
    return _simulated(log, lambda: sm.simulate(log, on=site, engine=engine))  # type: ignore[arg-type]


def _simulated(jobs: sm.Workload, simulate: Callable[[], sm.Schedule]) -> Figures:
    """Return what a simulation of these jobs costs, and what came of them."""
    schedule, figures = measured(simulate, len(jobs))
    metrics = schedule.validate().metrics()
    return figures | {"goodput": metrics["goodput"], "kills": metrics["kills"]}


def capacity_cases() -> Cases:
    """Return the cases of each heuristic on each engine, and on more machines."""
    cases: Cases = {}
    for heuristic in ("FirstFit", "TargetStretch", "TargetAsap", "PackedTargetAsap"):
        for engine in ("compiled", "simpy"):
            name = f"Borg, two weeks, {heuristic} {engine}"
            cases[name] = partial(on_machines, heuristic=heuristic, engine=engine)
    for engine in ("compiled", "simpy"):
        cases[f"KTH on a walk of machines, EASY-FCFS {engine}"] = partial(queue_on_machines, engine=engine)
        cases[f"KTH on machines that sleep, EASY-FCFS {engine}"] = partial(sleeping, engine=engine)
    for heuristic in ("FirstFit", "TargetAsap"):
        for machines in (320, 3200):
            name = f"Borg on {machines} machines, {heuristic} compiled"
            cases[name] = partial(on_machines, heuristic=heuristic, engine="compiled", machines=machines)
    return cases
