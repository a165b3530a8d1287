"""What a plain C program needs for the same replay: `easy.c`, where there is a compiler for it."""

import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

import simmodels as sm
import workloads as wl
from benchmarks.measuring import Cases, Figures, peak_mb, trace
from simmodels.ground.numbers import Floats

_COMPILER: Final = "cc"
_OPTIONS: Final = ("-std=c11", "-O2", "-Wall", "-Wextra", "-ffp-contract=off")
_PROGRAM: Final = Path(__file__).with_name("easy.c")
_LEAST_S: Final = 1.0


def has_compiler() -> bool:
    """Return whether there is a compiler of C."""
    return shutil.which(_COMPILER) is not None


def replay_in_c(log: sm.Workload, cores: int, least_s: float = _LEAST_S) -> tuple[Floats, float]:
    """Return when each job starts under EASY-FCFS by the C program (float64[jobs], s), and its least CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        program, given, starts = (Path(folder) / name for name in ("easy", "jobs", "starts"))
        subprocess.run([_COMPILER, *_OPTIONS, "-o", program, _PROGRAM, "-lm"], check=True)
        rows = np.argsort(log.submit_s, kind="stable")
        columns = log.submit_s, log.runtime_s, log.estimate_s, log.cores
        given.write_bytes(
            np.array([len(log), cores], np.int64).tobytes() + b"".join(column[rows].tobytes() for column in columns)
        )
        spent = subprocess.run(
            [program, given, starts, str(least_s)], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        found = np.empty(len(log))
        found[rows] = np.fromfile(starts)
    return found, float(spent)


def beside_c(*, log: str, cores: int) -> Figures:
    """Replay a log under EASY-FCFS, here and by the C program, which has to start each job at the same instant."""
    jobs = wl.clean(wl.read_swf(trace(log)), "published", cores=cores)
    starts, c_s = replay_in_c(jobs, cores)
    sm.simulate(jobs.head(200), cores=cores, backfilling="easy")  # compiles
    wall_s, spent_s = [], []
    while sum(spent_s) < _LEAST_S:
        before, spent = time.perf_counter(), time.process_time()
        schedule = sm.simulate(jobs, cores=cores, backfilling="easy")
        spent_s.append(time.process_time() - spent)
        wall_s.append(time.perf_counter() - before)
        if not np.array_equal(schedule.start_s, starts):
            raise SystemExit(f"{log}: the C program has other starts")
    least_s = min(wall_s)
    figures = {"jobs": len(jobs), "wall_s": least_s, "jobs_per_s": len(jobs) / least_s, "peak_mb": peak_mb()}
    return figures | {"cpu_s": min(spent_s), "c_s": c_s, "times_c": min(spent_s) / c_s}


def c_cases() -> Cases:
    """Return the cases, of which there are none without a compiler."""
    logs = {"KTH-SP2-1996-2.1-cln": 100, "SDSC-BLUE-2000-4.2-cln": 1_152, "CEA-Curie-2011-2.1-cln": 80_640}
    return {
        f"{log.rsplit('-', 3)[0]} EASY-FCFS beside C": partial(beside_c, log=f"{log}.swf.gz", cores=cores)
        for log, cores in (logs.items() if has_compiler() else ())
    }
