"""The cases that are measured; each runs in a process of its own, so that its peak memory is its own."""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

import simmodels as sm
import workloads as wl
from experiments.campaigns.running import opened, run

Figures = dict[str, float]

SHARED: Final = Path(os.environ.get("SCHEDLAB_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def _peak_mb(who: int = resource.RUSAGE_SELF) -> float:
    """Return the peak memory so far of this process, or of the largest of its children, in MB (10^6 bytes)."""
    peak = resource.getrusage(who).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _timed(workload: sm.Workload, **options: object) -> Figures:
    """Replay once on a small part (compiled code is loaded), then measure the whole."""
    sm.simulate(workload.head(200), **options)  # type: ignore[arg-type]
    before_mb = _peak_mb()
    start = time.perf_counter()
    schedule = sm.simulate(workload, **options)  # type: ignore[arg-type]
    wall_s = time.perf_counter() - start
    after_mb = _peak_mb()
    schedule.validate()
    return {
        "jobs": len(workload),
        "wall_s": wall_s,
        "jobs_per_s": len(workload) / wall_s,
        "peak_mb": after_mb,
        "input_mb": before_mb,
        "mean_wait_s": schedule.metrics()["mean_wait_s"],
    }


def curie(*, engine: str, order: str = "FCFS", backfilling: str = "easy") -> Figures:
    """Replay CEA-Curie, cleaned as the published schedules were: 295,540 jobs on 80,640 cores."""
    raw = wl.read_swf(SHARED / "traces" / "CEA-Curie-2011-2.1-cln.swf.gz")
    log = wl.clean(raw, "published", cores=80_640)
    del raw
    return _timed(log, cores=80_640, order=order, backfilling=backfilling, engine=engine)


def read() -> Figures:
    """Read the CEA-Curie log: 312,826 jobs."""
    path = SHARED / "traces" / "CEA-Curie-2011-2.1-cln.swf.gz"
    wl.read_swf(SHARED / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz")
    start = time.perf_counter()
    log = wl.read_swf(path)
    wall_s = time.perf_counter() - start
    return {"jobs": len(log), "wall_s": wall_s, "jobs_per_s": len(log) / wall_s, "peak_mb": _peak_mb()}


def read_slurm(*, jobs: int) -> Figures:
    """Read an accounting of Slurm of so many random jobs, in one file."""
    draw = np.random.default_rng(1)
    columns = "JobID|JobIDRaw|User|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|AllocCPUS"
    submit = np.datetime64("2023-01-01T00:00:00") + np.cumsum(draw.integers(0, 60, jobs)).astype("m8[s]")
    start = submit + draw.integers(0, 10_000, jobs).astype("m8[s]")
    elapsed, cores, users = draw.integers(0, 100_000, jobs), draw.integers(1, 512, jobs), draw.integers(0, 400, jobs)
    end = start + elapsed.astype("m8[s]")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.sacct"
        with path.open("w", encoding="utf-8") as file:
            file.write(f"{columns}|ReqMem|JobName\n")
            for row, times in enumerate(zip(submit, start, end, strict=True)):
                given = f"{row}|{row}|user{users[row]}|cpu|COMPLETED|{times[0]}|{times[0]}|{times[1]}|{times[2]}"
                file.write(f"{given}|{elapsed[row]}|1440|{cores[row]}|{cores[row]}|{cores[row]}G|job{row}\n")
        begun = time.perf_counter()
        log = wl.read_sacct(path, strict=True)
        wall_s = time.perf_counter() - begun
    return {"jobs": len(log), "wall_s": wall_s, "jobs_per_s": len(log) / wall_s, "peak_mb": _peak_mb()}


def synthetic(*, jobs: int, engine: str, order: str = "FCFS", load: float = 0.9) -> Figures:
    """Replay a Lublin-Feitelson workload on 1,024 cores."""
    log = wl.lublin(jobs=jobs, cores=1024, seed=1, load=load)
    return _timed(log, cores=1024, order=order, engine=engine)


def market(*, bid: str, jobs: int = 10_000, trend: str | None = None, engine: str = "auto") -> Figures:
    """Auction the workflows of the market study, on its four clusters; `trend="any"` computes every bid."""
    chosen = sm.bids()[bid]
    if trend is not None:
        chosen = replace(chosen, name=f"{bid}, {trend}", trend=trend)  # type: ignore[arg-type]
    clusters = [*((f"a{i}", 1000, "Kind1") for i in range(3)), ("b", 1000, "Kind2")]
    workflows = wl.market_workload(jobs, load=1.4, seed=1)

    def once(part: list[sm.Workflow]) -> sm.WorkflowSchedule:
        return sm.simulate_workflows(part, clusters=clusters, bid=chosen, tick_s=sm.MINUTE, engine=engine)  # type: ignore[arg-type]

    once(workflows[:100])
    start = time.perf_counter()
    schedule = once(workflows)
    wall_s = time.perf_counter() - start
    peak_mb = _peak_mb()
    found = schedule.validate().metrics()
    return {
        "jobs": found["tasks"],
        "wall_s": wall_s,
        "jobs_per_s": found["tasks"] / wall_s,
        "peak_mb": peak_mb,
        "value": found["value"],
        "starved": found["starved"],
    }


def long_queue(*, bid: str, tasks: int) -> Figures:
    """Auction so many tasks that are all submitted at once, each alone in its job: the queue is as long as that."""
    draw = np.random.default_rng(1)
    runtime_s, cores = draw.integers(1, 100, tasks), draw.integers(1, 33, tasks)
    curve = sm.ValueCurve.linear(1e6, 2e6)
    jobs = [sm.Workflow(i, 0.0, runtime_s[i : i + 1], cores[i : i + 1], curve=curve) for i in range(tasks)]
    sm.simulate_workflows(jobs[:100], clusters=[("a", 1000)], bid=bid)
    start = time.perf_counter()
    sm.simulate_workflows(jobs, clusters=[("a", 1000)], bid=bid)
    wall_s = time.perf_counter() - start
    return {"jobs": tasks, "wall_s": wall_s, "jobs_per_s": tasks / wall_s, "peak_mb": _peak_mb()}


def campaign(*, study: str, workers: int) -> Figures:
    """Run a campaign, workers' start included, and read its table back."""
    name = f"{Path(__file__).with_name('studies.py')}:{study}"
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        cells = run(name, out=folder, scale="paper", workers=workers).run
        wall_s = time.perf_counter() - start
        begun = time.perf_counter()
        rows = len(opened(folder).results().table)
        read_s = time.perf_counter() - begun
        (kept,) = Path(folder, "runs").glob("*.json")
        cells_s = json.loads(kept.read_bytes())["cells_s"]
    return {
        "jobs": cells,
        "wall_s": wall_s,
        "jobs_per_s": cells / wall_s,
        "peak_mb": _peak_mb(),
        "workers_peak_mb": _peak_mb(resource.RUSAGE_CHILDREN),
        "busy": cells_s / wall_s / workers,
        "rows": rows,
        "read_s": read_s,
    }


def _market_cases() -> dict[str, Callable[[], Figures]]:
    """Return the cases of the market by name: each policy at paper size, and the cost against the queue's length."""
    cases: dict[str, Callable[[], Figures]] = {}
    for bid in sm.TEN_BIDS:
        cases[f"market {bid}"] = lambda b=bid: market(bid=b)  # type: ignore[misc]
    for bid in ("PVD", "PVR", "P-SLR"):
        cases[f"market {bid}, every bid"] = lambda b=bid: market(bid=b, trend="any")  # type: ignore[misc]
    cases["market SRTF simpy"] = lambda: market(bid="SRTF", engine="simpy")
    cases["market SRTF, a million tasks"] = lambda: market(bid="SRTF", jobs=85_000)
    for bid in ("SRTF", "PVDSQ", "PVR", "P-SLR"):
        for tasks in (2_500, 10_000, 40_000):
            cases[f"queue of {tasks:,} tasks {bid}"] = lambda b=bid, n=tasks: long_queue(bid=b, tasks=n)  # type: ignore[misc]
    return cases


def _cases() -> dict[str, Callable[[], Figures]]:
    """Return every case by its name, in the order in which they are measured."""
    cases: dict[str, Callable[[], Figures]] = {
        "read Curie": read,
        "read Slurm, 10^6 jobs": lambda: read_slurm(jobs=10**6),
    }
    for engine in ("compiled", "simpy"):
        for order in ("FCFS", "SAF"):
            cases[f"Curie EASY-{order} {engine}"] = lambda o=order, e=engine: curie(engine=e, order=o)  # type: ignore[misc]
    for order in ("SEXP", "WFP3"):
        cases[f"Curie EASY-{order} compiled"] = lambda o=order: curie(engine="compiled", order=o)  # type: ignore[misc]
    for backfilling in ("none", "greedy", "conservative"):
        name = f"Curie {backfilling}-FCFS compiled"
        cases[name] = lambda b=backfilling: curie(engine="compiled", backfilling=b)  # type: ignore[misc]
    for engine, smallest in (("compiled", 62_500), ("simpy", 10_000)):
        for times in (1, 4, 16):
            jobs = smallest * times
            cases[f"growth {times}x {engine}"] = lambda n=jobs, e=engine: synthetic(jobs=n, engine=e)  # type: ignore[misc]
    cases.update(_market_cases())
    for workers in (1, 2):
        name = f"campaign of 10,000 cells of 10 ms, {workers} workers"
        cases[name] = lambda w=workers: campaign(study="TenMilliseconds", workers=w)  # type: ignore[misc]
    cases["campaign of 100,000 cells of nothing, 2 workers"] = lambda: campaign(study="Nothing", workers=2)
    cases["ten million jobs compiled"] = lambda: synthetic(jobs=10_000_000, engine="compiled")
    return cases


CASES: Final = _cases()
