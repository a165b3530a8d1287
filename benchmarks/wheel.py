"""Make a wheel that brings compiled code, so that nobody waits for a compiler; run by `make wheel`.

The code is made for x86-64-v3, which most processors since 2013 run, and serves under the versions of Python, numba,
llvmlite and numpy that it was made with. Elsewhere code is compiled at its first use, as it is without it.

What such code costs is printed: how long replays take with it, and with code that is made for the processor here.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final, get_args

import llvmlite.binding as llvm

import simmodels as sm
import workloads as wl
from experiments.forecasting import Futures
from simmodels.ground.kept_code import CODE_FOLDER, MACHINE, SHIPPED
from simmodels.policies.placement_options import Heuristic
from simmodels.policies.queue_options import Backfilling, QueueOptions

ROOT: Final = Path(__file__).resolve().parent.parent
PROCESSOR: Final = "x86-64-v3"
FEATURES: Final = "+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sahf,+xsave"
GENERIC: Final = {"NUMBA_CPU_NAME": PROCESSOR, "NUMBA_CPU_FEATURES": FEATURES}
_PARTS: Final = ("simmodels", "workloads", "experiments", "pyproject.toml", "setup.cfg", "README.md", "LICENSE")
_PAIRS: Final = 5


# -- what is compiled -------------------------------------------------------------------------------------


def simulations(log: sm.Workload) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield work and options of simulations that have, together, the compiled code that simulations may need."""
    limits = [{"by": "user", "jobs": 3, "cores": 64, "submitted": 9}]
    queues: list[Mapping[str, Any]] = [{"decide": "event", "overrun": "kill"}]
    for each in get_args(Backfilling):
        queues.append({"backfilling": each, "threshold_s": sm.HOUR, "queue_depth": 9})
        queues.append({"backfilling": each, "order": "WFP3", "limits": limits, "max_starts": 2})
    end_s = float(log.submit_s.max()) + sm.WEEK
    walk = wl.capacity_walk(mean=12, radius=4, until_s=end_s, notice_s=600, mode="checkpoint", seed=1)
    machines = sm.Site(machines=16, cores_per_machine=8, capacity=walk, checkpoints=sm.Checkpoints(600, 5, 5))
    mixed = sm.Site(
        machines=[sm.Machines(8, cores=8), sm.Machines(8, cores=4, speed=2.0)],
        failures=sm.FailureLaw(mtbf_s=sm.DAY, repair_s=sm.HOUR),
        maintenance=[sm.MaintenanceWindow(start_s=end_s / 2, duration_s=sm.HOUR, machines=[0])],
        sleep=sm.SleepPolicy(after_s=600, boot_s=120),
    )
    pool = sm.Site(cores=64)
    for site, options in product((pool, machines, mixed), queues):
        event_on_machines = site is not pool and "decide" in options
        if not event_on_machines:
            yield log, {"on": site, **options}
    for order in sm.orders():
        shares = {"shares": sm.Shares()} if order == "FairShare" else {}
        yield log, {"on": pool, "order": order, "backfill_order": "SJBF", **shares}
    for heuristic in get_args(Heuristic):
        reference = {} if heuristic == "FirstFit" else {"reference": log}
        narrow = log.take(log.cores <= 4)
        yield narrow, {"on": machines, "heuristic": heuristic, **reference}
    flows = wl.market_workload(8, cores=200, seed=1)
    sites = [sm.Site(name="a", cores=128, kind="Kind1"), sm.Site(name="b", cores=128, kind="Kind2")]
    for bid in sm.bids():
        yield flows, {"on": sites, "bid": bid}
    yield flows, {"on": sites, "bid": "PV", "backfilling": "easy", "prices": True, "budgets": True, "admission": 0.1}
    yield log, {"on": [mixed], "bid": "SRTF", "backfilling": "greedy"}
    yield log, {"on": [64, 64], "router": "EarliestStart"}


def use_all() -> None:
    """Have the code of simulations, on either engine, and of what else is compiled, compiled and kept."""
    log = wl.tsafrir_estimates(wl.lublin(jobs=150, cores=32, load=0.9, seed=1), seed=1)
    for work, options in simulations(log):
        for engine in ("auto", "simpy"):
            sm.simulate(work, engine=engine, **options).metrics()
    sm.simulate_many([log.head(50)], ["FCFS", "WFP3"], cores=32)
    sm.score_jobs(sm.draw_pairs(log, 1, seed=1), 1000)
    for order in ("FCFS", "WFP3"):
        futures = Futures(log, cores=32, options=QueueOptions.checked(order=order))
        futures.go_to(float(log.submit_s[75])).forecast_new(4, sm.HOUR, futures=5)


def code_for(folder: Path, surroundings: Mapping[str, str]) -> None:
    """Compile all of it into a folder, in a process of its own: numba asks at its import what it compiles for."""
    own = {**os.environ, **surroundings, CODE_FOLDER: str(folder)}
    subprocess.run([sys.executable, "-m", "benchmarks.wheel", "--use"], check=True, cwd=ROOT, env=own)


# -- the wheel --------------------------------------------------------------------------------------------


def wheel_of(code: Path, out: Path) -> Path:
    """Make a wheel of the checkout and of compiled code; return its path."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder)
        for part in _PARTS:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__", SHIPPED.name))
            else:
                shutil.copy(ROOT / part, source)
        shipped = source / SHIPPED.relative_to(ROOT)
        shutil.copytree(code, shipped)
        (shipped / MACHINE).write_text(f"{llvm.get_process_triple()}\n{PROCESSOR}\n{FEATURES}", "utf-8")
        version = f"cp{sys.version_info.major}{sys.version_info.minor}"
        tags = f"--python-tag={version}", f"--plat-name={sys.platform}_{platform.machine()}"
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        command += [f"--config-settings=--build-option={tag}" for tag in tags]
        made = source / "made"
        subprocess.run([*command, "--wheel-dir", made, source], check=True)
        (wheel,) = made.glob("*.whl")
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, out))


# -- what it costs ----------------------------------------------------------------------------------------


def spent() -> dict[str, float]:
    """Return the CPU seconds of three replays of a generated log, without those of the first jobs."""
    log = wl.tsafrir_estimates(wl.lublin(jobs=20_000, cores=256, load=0.9, seed=1), seed=1)
    walk = wl.capacity_walk(mean=40, radius=8, until_s=float(log.submit_s.max()) + sm.WEEK, seed=1)
    cases: dict[str, Mapping[str, Any]] = {
        "EASY": {"cores": 256},
        "conservative, WFP3": {"cores": 256, "backfilling": "conservative", "order": "WFP3"},
        "EASY on changing machines": {"on": sm.Site(machines=48, cores_per_machine=8, capacity=walk)},
    }
    found = {}
    for name, options in cases.items():
        sm.simulate(log.head(200), **options)
        before = time.process_time()
        sm.simulate(log, **options)
        found[name] = time.process_time() - before
    return found


def costs(folders: Mapping[str, Path]) -> Iterator[str]:
    """Measure replays with code for this processor and with generic code, alternating; yield a sentence a case."""
    surroundings: Mapping[str, Mapping[str, str]] = {"native": {}, "generic": GENERIC}
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in surroundings}
    for _ in range(_PAIRS):
        for name, variables in surroundings.items():
            own = {**os.environ, **variables, CODE_FOLDER: str(folders[name])}
            command = [sys.executable, "-m", "benchmarks.wheel", "--time"]
            done = subprocess.run(command, check=True, cwd=ROOT, env=own, stdout=subprocess.PIPE, text=True)
            measured[name].append(json.loads(done.stdout))
    for case in measured["native"][0]:
        native, generic = (statistics.median(each[case] for each in measured[name]) for name in surroundings)
        yield f"{case}: {generic:.3f} CPU s, {native:.3f} with code for this processor"


def main() -> None:
    """Make a wheel, and say what its code costs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wheel", description="Make a wheel with compiled code.")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the folder of the wheel")
    parser.add_argument("--use", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--time", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.use:
        use_all()
        return
    if asked.time:
        print(json.dumps(spent()))  # read by the parent
        return
    if platform.machine() != "x86_64":
        sys.exit(f"code for {PROCESSOR} cannot be made on {platform.machine()}: build a plain wheel (pip wheel .)")
    with tempfile.TemporaryDirectory() as folder:
        folders = {name: Path(folder) / name for name in ("generic", "native")}
        code_for(folders["generic"], GENERIC)
        wheel = wheel_of(folders["generic"], asked.out)
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
        for line in costs(folders):
            print(line)


if __name__ == "__main__":
    main()
