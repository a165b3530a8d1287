"""The cases that are measured; each runs in a process of its own, so that its peak memory is its own."""

import dataclasses
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
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


def selection(*, log: str, resamples: int, workers: int) -> Figures:
    """Run the selection study on resamples of two years of a log: 20 strategies, re-simulations included."""
    chosen = {"workload": [str(SHARED / "traces" / log)], "variant": ["text"], "replications": resamples}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        cells = run("selection", out=folder, scale="paper", chosen=chosen, workers=workers).run
        wall_s = time.perf_counter() - start
    return {
        "jobs": cells,
        "wall_s": wall_s,
        "jobs_per_s": cells / wall_s,
        "peak_mb": _peak_mb(),
        "workers_peak_mb": _peak_mb(resource.RUSAGE_CHILDREN),
    }


def on_machines(*, heuristic: str, engine: str, machines: int = 32) -> Figures:
    """Run two weeks of Borg on a walk of machines that changes each 400 s; with more machines, copies of the jobs."""
    week = wl.read_borg_slice(SHARED / "traces" / "borg" / "7D_604800.txt.gz")
    slice_ = wl.read_borg_slice(SHARED / "traces" / "borg" / "14D_518400.txt.gz")
    times, begin = machines // 32, float(slice_.submit_s[~slice_.extras["running"].astype(bool)].min())
    rows = np.tile(np.arange(len(slice_)), times)
    jobs = dataclasses.replace(slice_.take(rows), job_id=np.arange(len(rows)))
    walk = wl.capacity_walk(
        mean=24 * times, radius=8 * times, period_s=400, begin_s=begin, until_s=begin + 2 * sm.WEEK, seed=1
    )
    options: dict[str, object] = {} if heuristic == "FirstFit" else {"reference": week}
    asked = {"cores_per_machine": 24, "heuristic": heuristic, "engine": engine, "machines": machines, **options}
    sm.simulate_on_machines(jobs.head(200), walk, window_s=(begin, begin + sm.HOUR), **asked)  # type: ignore[arg-type]
    before_mb = _peak_mb()
    start = time.perf_counter()
    schedule = sm.simulate_on_machines(jobs, walk, window_s=(begin, begin + 2 * sm.WEEK), **asked)  # type: ignore[arg-type]
    wall_s = time.perf_counter() - start
    after_mb = _peak_mb()
    metrics = schedule.validate().metrics()
    return {
        "jobs": len(jobs),
        "wall_s": wall_s,
        "jobs_per_s": len(jobs) / wall_s,
        "peak_mb": after_mb,
        "input_mb": before_mb,
        "goodput": metrics["goodput"],
        "kills": metrics["kills"],
    }


def _on_machines_cases() -> dict[str, Callable[[], Figures]]:
    """Return the cases of machines that come and go, by name."""
    cases: dict[str, Callable[[], Figures]] = {}
    for heuristic in ("FirstFit", "TargetStretch", "TargetAsap", "PackedTargetAsap"):
        for engine in ("compiled", "simpy"):
            name = f"Borg, two weeks, {heuristic} {engine}"
            cases[name] = lambda h=heuristic, e=engine: on_machines(heuristic=h, engine=e)  # type: ignore[misc]
    for heuristic in ("FirstFit", "TargetAsap"):
        for machines in (320, 3200):
            name = f"Borg on {machines} machines, {heuristic} compiled"
            cases[name] = lambda h=heuristic, m=machines: on_machines(heuristic=h, engine="compiled", machines=m)  # type: ignore[misc]
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
    for workers in (1, 2):
        name = f"campaign of 10,000 cells of 10 ms, {workers} workers"
        cases[name] = lambda w=workers: campaign(study="TenMilliseconds", workers=w)  # type: ignore[misc]
    cases["campaign of 100,000 cells of nothing, 2 workers"] = lambda: campaign(study="Nothing", workers=2)
    for log, resamples in (("KTH-SP2-1996-2.1-cln", 5), ("KTH-SP2-1996-2.1-cln", 20), ("SDSC-BLUE-2000-4.2-cln", 5)):
        name = f"selection, {log.rsplit('-', 3)[0]}, {resamples} resamples, 2 workers"
        cases[name] = lambda g=f"{log}.swf.gz", n=resamples: selection(log=g, resamples=n, workers=2)  # type: ignore[misc]
    cases |= _on_machines_cases()
    cases["ten million jobs compiled"] = lambda: synthetic(jobs=10_000_000, engine="compiled")
    return cases


CASES: Final = _cases()
