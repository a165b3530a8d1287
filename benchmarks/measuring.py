"""What all cases share: figures, the shared data, and peak memory."""

import gc
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

Found = TypeVar("Found")
Figures = dict[str, float]
Cases = dict[str, Callable[[], Figures]]

_SHARED: Final = Path(os.environ.get("SCHEDLAB_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def trace(name: str) -> Path:
    """Return the path of a trace of the shared data; without it, end the program and say where it should be."""
    path = _SHARED / "traces" / name
    if not path.is_file():
        sys.exit(f"no trace at {path}: put the shared data there, or name their folder in SCHEDLAB_SHARED")
    return path


def peak_mb(who: int = resource.RUSAGE_SELF) -> float:
    """Return the peak memory so far of this process, or of the largest of its children, in MB (10^6 bytes)."""
    peak = resource.getrusage(who).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _cpu_s() -> float:
    """Return the CPU seconds so far of this process, and of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def measured(run: Callable[[], Found], count: int | Callable[[Found], float]) -> tuple[Found, Figures]:
    """Return what `run` returns, and what this took: seconds, and peak memory before and after.

    CPU seconds are also those of its workers, and none are for garbage of before. `count` says of how many jobs, cells
    or trials it was, if need be by what was returned.
    """
    gc.collect()
    input_mb = peak_mb()
    begun, begun_cpu = time.perf_counter(), _cpu_s()
    found = run()
    wall_s, cpu_s = time.perf_counter() - begun, _cpu_s() - begun_cpu
    after_mb = peak_mb()
    jobs = count(found) if callable(count) else count
    figures = {"jobs": jobs, "wall_s": wall_s, "jobs_per_s": jobs / wall_s, "peak_mb": after_mb}
    return found, figures | {"input_mb": input_mb, "cpu_s": cpu_s}
