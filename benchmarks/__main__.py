"""Measure the cases: print a table of medians, write JSON.

`python -m benchmarks [PART OF A NAME ...] [--runs N] [--out FILE]`
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Final

import numba
import numpy as np
import simpy
from rich.console import Console
from rich.table import Table

from benchmarks.cases import CASES, Figures
from simmodels import __version__

_COLUMNS: Final = (
    ("jobs, cells, trials", "jobs", ",.0f"),
    ("wall s", "wall_s", ".3f"),
    ("min-max", "min_max", ""),
    ("per s", "jobs_per_s", ",.0f"),
    ("peak MB", "peak_mb", ",.0f"),
    ("mean wait s", "mean_wait_s", ",.1f"),
    ("busy %", "busy_percent", ".1f"),
    ("read back s", "read_s", ".2f"),
    ("per core s, x reference", "times_reference", ",.1f"),
    ("CPU s, x C program", "times_c", ".2f"),
)
"""The columns of the table after the case: heading, figure and format; a case without the figure leaves it empty."""


def _measure(name: str) -> Figures:
    """Run one case in a process of its own."""
    child = [sys.executable, "-m", "benchmarks", "--case", name]
    done = subprocess.run(child, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:  # it has said why, unless a signal ended it
        sys.exit(1 if done.returncode > 0 else f"{name} was ended by signal {-done.returncode}")
    figures: Figures = json.loads(done.stdout)
    return figures


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure what a simulation and a campaign cost."
    )
    parser.add_argument("parts", nargs="*", help="only cases whose name has one of these parts")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case (medians are reported)")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"), help="the JSON file")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(CASES[asked.case]()))  # read by the parent
        return
    names = [name for name in CASES if not asked.parts or any(part in name for part in asked.parts)]
    if not names:
        parser.error(f"no case has any of {asked.parts} in its name; known: {', '.join(CASES)}")
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(title=f"medians of {asked.runs} runs, each in a process of its own")
    table.add_column("case")
    for heading, _, _ in _COLUMNS:
        table.add_column(heading, justify="right")
    results = {}
    for name in names:
        with console.status(name):
            runs = [_measure(name) for _ in range(1 if "million" in name else asked.runs)]
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        walls = [run["wall_s"] for run in runs]
        results[name] = {"median": median, "wall_s": walls}
        shown = median | {"min_max": f"{min(walls):.3f}-{max(walls):.3f}"}
        if "busy" in median:
            shown["busy_percent"] = 100 * median["busy"]
        table.add_row(name, *(format(shown[key], form) if key in shown else "" for _, key, form in _COLUMNS))
        console.print(f"{name}: {median['wall_s']:.3f} s, {median['peak_mb']:,.0f} MB")
    console.print(table)
    versions = {"schedlab": __version__, "python": platform.python_version(), "numba": numba.__version__}
    machine = {"numpy": np.__version__, "simpy": simpy.__version__, "machine": platform.machine()}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps({"about": {**versions, **machine}, "results": results}, indent=2) + "\n")
    console.print(f"written: {asked.out}")


if __name__ == "__main__":
    main()
