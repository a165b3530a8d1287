"""The cases that are measured; each runs in a process of its own, so that its peak memory is its own."""

import dataclasses
import json
import resource
import tempfile
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import simpy

import simmodels as sm
import workloads as wl
from benchmarks.beside_c import c_cases
from benchmarks.capacity import capacity_cases
from benchmarks.market import market_cases
from benchmarks.measuring import Cases, Figures, measured, peak_mb, trace
from benchmarks.models import model_cases
from experiments.campaigns.running import opened, run
from workloads.sacct_lines import COMMAND


def _timed(workload: sm.Workload, **options: object) -> Figures:
    """Replay once on a small part (compiled code is loaded), then measure the whole."""
    sm.simulate(workload.head(200), **options)  # type: ignore[arg-type]
    schedule, figures = measured(lambda: sm.simulate(workload, **options), len(workload))  # type: ignore[arg-type]
    return figures | {"mean_wait_s": schedule.validate().metrics()["mean_wait_s"]}


def curie(*, engine: str, order: str = "FCFS", backfilling: str = "easy", machines: int | None = None) -> Figures:
    """Replay CEA-Curie, cleaned as the published schedules were: 295,540 jobs on 80,640 cores, or on machines of 16."""
    raw = wl.read_swf(trace("CEA-Curie-2011-2.1-cln.swf.gz"))
    log = wl.clean(raw, "published", cores=80_640)
    del raw
    where: dict[str, object] = {"cores": 80_640}
    if machines is not None:
        always = [sm.CapacityChange(float(log.submit_s.min()), machines)]
        where = {"machines": machines, "cores_per_machine": 16, "capacity": always}
    figures = _timed(log, order=order, backfilling=backfilling, engine=engine, **where)
    return figures if engine == "compiled" else figures | {"times_reference": figures["cpu_s"] / _timeouts_s(len(log))}


def _timeouts_s(jobs: int) -> float:
    """Return how many CPU seconds SimPy takes for two timeouts a job, one after the other, of two processes."""

    def wait(env: simpy.Environment) -> Generator[simpy.Event]:
        for _ in range(jobs):
            yield env.timeout(1.0)

    env = simpy.Environment()
    for _ in range(2):
        env.process(wait(env))
    _, figures = measured(env.run, 2 * jobs)
    return figures["cpu_s"]


def read() -> Figures:
    """Read the CEA-Curie log: 312,826 jobs."""
    path = trace("CEA-Curie-2011-2.1-cln.swf.gz")
    wl.read_swf(trace("KTH-SP2-1996-2.1-cln.swf.gz"))
    _, figures = measured(lambda: wl.read_swf(path), len)
    return figures


def _accounting(jobs: int) -> Iterator[str]:
    """Yield the lines of an accounting of Slurm of random jobs, with the columns of `COMMAND`.

    Of its jobs, 30 % are tasks of arrays, 1 % have a bar in their name and 1 % were requeued once.
    """
    draw = np.random.default_rng(1)
    submit = np.datetime64("2024-01-01T00:00:00") + np.cumsum(draw.integers(0, 62, jobs)).astype("m8[s]")
    waits = np.where(draw.random(jobs) < 0.5, draw.integers(0, 5, jobs), draw.exponential(6_000, jobs))
    elapsed = np.minimum(draw.lognormal(6.5, 2.2, jobs), 7 * 86_400).astype(int)
    start = submit + waits.astype("m8[s]")
    end = start + elapsed.astype("m8[s]")
    users, cores, priority = draw.zipf(1.4, jobs) % 700, 2 ** draw.integers(0, 9, jobs), draw.integers(1, 200_000, jobs)
    limits = draw.choice([30, 60, 240, 1_440, 2_880, 10_080], jobs)
    memory = draw.choice(["4G", "8000M", "2Gc", "64Gn", "128G"], jobs)
    partitions = draw.choice(["cpu", "long", "gpu"], jobs, p=[0.6, 0.2, 0.2])
    names = draw.choice(["run.sh", "climate", "sweep", "wrap", "a|b"], jobs, p=[0.4, 0.2, 0.2, 0.19, 0.01])
    states = draw.choice(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 1002"], jobs, p=[0.8, 0.1, 0.05, 0.05])
    tasks, requeued = draw.random(jobs) < 0.3, draw.random(jobs) < 0.01
    yield COMMAND.rpartition(" ")[2].replace(",", "|") + "\n"
    for row, (submitted, started, ended) in enumerate(zip(submit, start, end, strict=True)):
        number, user = 1_000_000 + row, users[row]
        who = f"{number // 50 * 50}_{row % 50}" if tasks[row] else number
        before = f"{who}|{number}|user{user}|account{user % 60}|{partitions[row]}|normal"
        after = f"00:00:00|{limits[row]}|{cores[row]}|{cores[row]}|{max(1, cores[row] // 64)}|{memory[row]}"
        after += f"|{priority[row]}|0|{names[row]}\n"
        if requeued[row]:
            yield f"{before}|NODE_FAIL|{submitted - 900}|{submitted - 900}|{submitted - 600}|{submitted}|600|{after}"
        yield f"{before}|{states[row]}|{submitted}|{submitted}|{started}|{ended}|{elapsed[row]}|{after}"


def read_slurm(*, jobs: int) -> Figures:
    """Read an accounting of Slurm of random jobs, in one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.sacct"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(_accounting(jobs))
        _, figures = measured(lambda: wl.read_sacct(path, strict=True), len)
    return figures


def synthetic(*, jobs: int, engine: str, order: str = "FCFS", load: float = 0.9) -> Figures:
    """Replay a Lublin-Feitelson workload on 1,024 cores."""
    log = wl.lublin(jobs=jobs, cores=1024, seed=1, load=load)
    return _timed(log, cores=1024, order=order, engine=engine)


def at_once(*, jobs: int, order: str = "FCFS", backfilling: str = "easy", exact: bool = False) -> Figures:
    """Replay a generated log all of whose jobs are submitted at once, with rough or exact estimates, on 256 cores."""
    log = wl.lublin(jobs=jobs, cores=256, seed=1)
    log = log if exact else wl.tsafrir_estimates(log, seed=1)
    log = dataclasses.replace(log, submit_s=np.zeros(jobs))
    return _timed(log, cores=256, order=order, backfilling=backfilling)


def many(*, logs: int, workers: int) -> Figures:
    """Simulate generated logs of 200 jobs at once, under two orders, beside a loop of single simulations."""
    small = [wl.tsafrir_estimates(wl.lublin(jobs=200, cores=128, seed=seed), seed=seed) for seed in range(logs)]
    orders = ("FCFS", "SAF")
    sm.simulate_many(small[:2], orders, cores=128, workers=workers)
    sm.simulate(small[0], cores=128).metrics()
    runs = logs * len(orders)
    _, figures = measured(lambda: sm.simulate_many(small, orders, cores=128, workers=workers), runs)

    def one_by_one() -> None:
        for log in small:
            for order in orders:
                sm.simulate(log, cores=128, order=order).metrics()

    _, reference = measured(one_by_one, runs)
    return figures | {"times_reference": reference["cpu_s"] / figures["cpu_s"]}


def campaign(*, study: str, workers: int) -> Figures:
    """Run a campaign, workers' start included, and read its table back."""
    name = f"{Path(__file__).with_name('studies.py')}:{study}"
    with tempfile.TemporaryDirectory() as folder:
        _, figures = measured(lambda: run(name, out=folder, scale="paper", workers=workers), lambda done: done.run)
        table, reading = measured(lambda: opened(folder, trust=True).results().table, len)
        (kept,) = Path(folder, "runs").glob("*.json")
        cells_s = json.loads(kept.read_bytes())["cells_s"]
    return figures | {
        "peak_mb": reading["peak_mb"],
        "workerspeak_mb": peak_mb(resource.RUSAGE_CHILDREN),
        "busy": cells_s / figures["wall_s"] / workers,
        "rows": len(table),
        "read_s": reading["wall_s"],
    }


def selection(*, log: str, resamples: int, workers: int) -> Figures:
    """Run the selection study on resamples of two years of a log: 20 strategies, re-simulations included."""
    chosen = {"workload": [str(trace(log))], "variant": ["text"], "replications": resamples}
    with tempfile.TemporaryDirectory() as folder:
        _, figures = measured(
            lambda: run("selection", out=folder, scale="paper", chosen=chosen, workers=workers), lambda done: done.run
        )
    return figures | {"workerspeak_mb": peak_mb(resource.RUSAGE_CHILDREN)}


REFERENCE_TRIALS_PER_S: Final = 30.0
"""What the program of Rosa, Carastan-Santos and Goldman (JSSPP 2023) does on one core."""


def _trials_figures(trials: int, run: Callable[[], object]) -> Figures:
    """Return the figures of this many trials, beside the reference's; per second of a core, too, for a busy machine."""
    _, figures = measured(run, trials)
    per_core_s = trials / figures["cpu_s"]
    return figures | {"trials_per_core_s": per_core_s, "times_reference": per_core_s / REFERENCE_TRIALS_PER_S}


def _pairs(count: int) -> tuple[sm.Pair, ...]:
    """Return pairs of the trace of the published scores."""
    return sm.draw_pairs(wl.read_swf(trace("lublin_256.swf.gz")), count, seed=1)


def given_trials(*, workers: int) -> Figures:
    """Run given permutations: 2^20 of each of eight pairs."""
    pairs = _pairs(8)
    orders = np.argsort(np.random.default_rng(1).random((2**20, 32)), axis=1).astype(np.uint8)
    sm.run_trials(pairs[0], orders[:100], workers=workers)
    return _trials_figures(
        len(pairs) * len(orders), lambda: [sm.run_trials(pair, orders, workers=workers) for pair in pairs]
    )


def scored_trials(*, workers: int, pairs: int, **how: object) -> Figures:
    """Score the jobs of this many pairs by 256,000 trials each, permutations drawn on the way."""
    drawn = _pairs(pairs)
    sm.score_jobs(drawn[:1], 1000, workers=workers, **how)  # type: ignore[arg-type]  # compiled code is loaded
    return _trials_figures(pairs * 256_000, lambda: sm.score_jobs(drawn, 256_000, workers=workers, **how))  # type: ignore[arg-type]


def _queues_at_once() -> Cases:
    """Return the cases in which all jobs are submitted at once."""
    cases: Cases = {}
    for jobs in (1_000, 4_000, 16_000, 64_000):
        for order in ("FCFS", "SAF", "WFP3") if jobs < 64_000 else ("FCFS", "SAF"):
            cases[f"{jobs:,} jobs at once, EASY-{order}"] = partial(at_once, jobs=jobs, order=order)
    for jobs in (1_000, 4_000):
        conservative = partial(at_once, jobs=jobs, backfilling="conservative")
        cases[f"{jobs:,} jobs at once, conservative"] = conservative
        cases[f"{jobs:,} jobs at once, conservative, exact estimates"] = partial(conservative, exact=True)
    return cases


def _replays() -> Cases:
    """Return the cases of single replays."""
    cases: Cases = {"read Curie": read, "read Slurm, 10^6 jobs": partial(read_slurm, jobs=10**6)}
    for engine in ("compiled", "simpy"):
        for order in ("FCFS", "SAF"):
            cases[f"Curie EASY-{order} {engine}"] = partial(curie, engine=engine, order=order)
    cases["Curie EASY-FCFS compiled, 5,040 machines"] = partial(curie, engine="compiled", machines=5_040)
    for order in ("SEXP", "WFP3", "FairShare"):
        cases[f"Curie EASY-{order} compiled"] = partial(curie, engine="compiled", order=order)
    for backfilling in ("none", "greedy", "conservative"):
        cases[f"Curie {backfilling}-FCFS compiled"] = partial(curie, engine="compiled", backfilling=backfilling)
    for engine, smallest in (("compiled", 62_500), ("simpy", 10_000)):
        for times in (1, 4, 16):
            cases[f"growth {times}x {engine}"] = partial(synthetic, jobs=smallest * times, engine=engine)
    for workers in (1, 2):
        cases[f"1,000 logs of 200 jobs, two orders, simulate_many, {workers} threads"] = partial(
            many, logs=1_000, workers=workers
        )
    cases["ten million jobs compiled"] = partial(synthetic, jobs=10_000_000, engine="compiled")
    return cases | _queues_at_once()


def _campaigns() -> Cases:
    """Return the cases of campaigns and studies."""
    cases: Cases = {}
    for workers in (1, 2):
        name = f"campaign of 10,000 cells of 10 ms, {workers} workers"
        cases[name] = partial(campaign, study="TenMilliseconds", workers=workers)
    cases["campaign of 100,000 cells of nothing, 2 workers"] = partial(campaign, study="Nothing", workers=2)
    for log, resamples in (("KTH-SP2-1996-2.1-cln", 5), ("KTH-SP2-1996-2.1-cln", 20), ("SDSC-BLUE-2000-4.2-cln", 5)):
        name = f"selection, {log.rsplit('-', 3)[0]}, {resamples} resamples, 2 workers"
        cases[name] = partial(selection, log=f"{log}.swf.gz", resamples=resamples, workers=2)
    return cases


def _trials() -> Cases:
    """Return the cases of permutation trials."""
    cases: Cases = {}
    for workers in (1, 2):
        cases[f"trials, given permutations, {workers} threads"] = partial(given_trials, workers=workers)
        for estimator, shuffle in (("stratified", "uniform"), ("published", "uniform"), ("published", "swap-any")):
            cases[f"trials, {estimator}, {shuffle}, {workers} threads"] = partial(
                scored_trials, workers=workers, pairs=30, estimator=estimator, shuffle=shuffle
            )
    return cases | {
        "trials, data set of the paper, 440 x 256,000, 2 threads": partial(scored_trials, workers=2, pairs=440)
    }


CASES: Final = _replays() | c_cases() | model_cases() | _campaigns() | _trials() | market_cases() | capacity_cases()
"""Every case by its name, in the order in which they are measured."""
