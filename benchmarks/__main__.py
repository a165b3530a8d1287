"""Measure the cases: print a table of medians, write JSON.

`python -m benchmarks [PART OF A NAME ...] [--runs N] [--against CHECKOUT] [--out FILE]`
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

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
    ("CPU s", "cpu_s", ".3f"),
    ("x other", "times_other", ".3f"),
    ("per s", "jobs_per_s", ",.0f"),
    ("peak MB", "peak_mb", ",.0f"),
    ("mean wait s", "mean_wait_s", ",.1f"),
    ("busy", "busy", ".1%"),
    ("read back s", "read_s", ".2f"),
    ("per core s, x reference", "times_reference", ",.1f"),
    ("CPU s, x C program", "times_c", ".2f"),
)
"""The columns of the table after the case: heading, figure and format."""


def _measure(name: str, checkout: Path) -> Figures:
    """Run one case of a checkout in a process of its own."""
    child = [sys.executable, "-m", "benchmarks", "--case", name]
    path = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(child, check=False, stdout=subprocess.PIPE, text=True, cwd=checkout, env=path)
    if done.returncode:  # it has said why, unless a signal ended it
        sys.exit(1 if done.returncode > 0 else f"{name} was ended by signal {-done.returncode}")
    figures: Figures = json.loads(done.stdout)
    return figures


def _median(runs: Sequence[Figures]) -> Figures:
    """Return the median of each figure."""
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def _table(results: Mapping[str, Mapping[str, Any]], title: str) -> Table:
    """Return the table of the figures of each case; a column that would be empty is left out."""
    table = Table("case", title=title)
    rows = {
        name: each["median"] | {"min_max": f"{min(each['wall_s']):.3f}-{max(each['wall_s']):.3f}"}
        for name, each in results.items()
    }
    columns = [column for column in _COLUMNS if any(column[1] in figures for figures in rows.values())]
    for heading, _, _ in columns:
        table.add_column(heading, justify="right")
    for name, figures in rows.items():
        table.add_row(name, *(format(figures[key], form) if key in figures else "" for _, key, form in columns))
    return table


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure what a simulation and a campaign cost."
    )
    parser.add_argument("parts", nargs="*", help="only cases whose name has one of these parts")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case (medians are reported)")
    parser.add_argument("--against", type=Path, help="another checkout, each of whose runs follows one of this one")
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"), help="the JSON file")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(CASES[asked.case]()))  # read by the parent
        return
    names = [name for name in CASES if not asked.parts or any(part in name for part in asked.parts)]
    if not names:
        parser.error(f"no case has any of {asked.parts} in its name; known: {', '.join(CASES)}")
    if asked.against and not (asked.against / "benchmarks").is_dir():
        parser.error(f"--against {asked.against}: no checkout is there, with a folder benchmarks")
    console = Console(width=None if sys.stdout.isatty() else 200)
    checkouts = [Path(__file__).parents[1], *([asked.against.resolve()] if asked.against else [])]
    versions = {"schedlab": __version__, "python": platform.python_version(), "numba": numba.__version__}
    machine = {"numpy": np.__version__, "simpy": simpy.__version__, "machine": platform.machine()}
    results = {}
    for name in names:
        with console.status(name):
            times = range(1 if "million" in name else asked.runs)
            runs, *others = zip(*([_measure(name, each) for each in checkouts] for _ in times), strict=True)
        median = _median(runs)
        if others:
            other = _median(others[0])
            by = "cpu_s" if "cpu_s" in other else "wall_s"  # an older one measured no CPU time
            median["times_other"] = median[by] / other[by]
        results[name] = {"median": median, "wall_s": [run["wall_s"] for run in runs]}
        asked.out.parent.mkdir(parents=True, exist_ok=True)  # after each case: all of them take an hour
        asked.out.write_text(json.dumps({"about": {**versions, **machine}, "results": results}, indent=2) + "\n")
        console.print(f"{name}: {median['wall_s']:.3f} s, {median['peak_mb']:,.0f} MB")
    console.print(_table(results, f"medians of {asked.runs} runs, each in a process of its own"))
    console.print(f"written: {asked.out}")


if __name__ == "__main__":
    main()
