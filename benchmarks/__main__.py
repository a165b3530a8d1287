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

import numba
import numpy as np
import simpy
from rich.console import Console
from rich.table import Table

from benchmarks.cases import CASES, Figures
from simmodels import __version__


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
    for column in (
        "case",
        "jobs, cells, trials",
        "wall s",
        "min-max",
        "per s",
        "peak MB",
        "mean wait s",
        "busy %",
        "read back s",
        "per core s, x reference",
        "CPU s, x C program",
    ):
        table.add_column(column, justify="left" if column == "case" else "right")
    results = {}
    for name in names:
        with console.status(name):
            runs = [_measure(name) for _ in range(1 if "million" in name else asked.runs)]
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        walls = [run["wall_s"] for run in runs]
        results[name] = {"median": median, "wall_s": walls}
        table.add_row(
            name,
            f"{median['jobs']:,.0f}",
            f"{median['wall_s']:.3f}",
            f"{min(walls):.3f}-{max(walls):.3f}",
            f"{median['jobs_per_s']:,.0f}",
            f"{median['peak_mb']:,.0f}",
            f"{median['mean_wait_s']:,.1f}" if "mean_wait_s" in median else "",
            f"{100 * median['busy']:.1f}" if "busy" in median else "",
            f"{median['read_s']:.2f}" if "read_s" in median else "",
            f"{median['times_reference']:,.1f}" if "times_reference" in median else "",
            f"{median['times_c']:.2f}" if "times_c" in median else "",
        )
        console.print(f"{name}: {median['wall_s']:.3f} s, {median['peak_mb']:,.0f} MB")
    console.print(table)
    versions = {"schedlab": __version__, "python": platform.python_version(), "numba": numba.__version__}
    machine = {"numpy": np.__version__, "simpy": simpy.__version__, "machine": platform.machine()}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps({"about": {**versions, **machine}, "results": results}, indent=2) + "\n")
    console.print(f"written: {asked.out}")


if __name__ == "__main__":
    main()
