"""Tables: figures of merit as they are read in a terminal."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from experiments.cells import Cell
from simmodels.metrics import STATISTICS

_JOB_METRICS: Final = {
    "wait_s": "wait (s)",
    "response_s": "response (s)",
    "slowdown": "slowdown",
    "bounded_slowdown": "bounded slowdown",
    "per_processor_bounded_slowdown": "bounded slowdown per core",
    "stretch": "stretch",
}
_SHOWN: Final = {
    "mean_wait_s": "mean\nwait (s)",
    "p95_wait_s": "95 %\nwait (s)",
    "max_wait_s": "max\nwait (s)",
    "mean_bounded_slowdown": "mean\nbsld",
    "median_bounded_slowdown": "median\nbsld",
    "p95_bounded_slowdown": "95 %\nbsld",
    "max_bounded_slowdown": "max\nbsld",
    "utilisation": "used\n(%)",
}


def number(value: float, *, whole: bool = False) -> str:
    """Return a number to four digits, or to the unit if it has more; thousands set apart; - for none."""
    if not math.isfinite(value):
        return "-"
    if whole or value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 4)}f}"


def metrics_table(metrics: Mapping[str, float], *, tau_s: float) -> Table:
    """Return the figures of merit of one schedule: one row per quantity, then those of the machine."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("of the jobs")
    for heading in ("mean", "median", "95 %", "max"):
        table.add_column(heading, justify="right")
    for name, heading in _JOB_METRICS.items():
        bound = f", tau {tau_s:g} s" if name.startswith(("bounded", "per")) else ""
        table.add_row(heading + bound, *(number(metrics[f"{statistic}_{name}"]) for statistic in STATISTICS))
    table.add_section()
    table.add_row(Text("of the machine", style="bold"))
    table.add_row("utilisation (%)", number(100 * metrics["utilisation"]))
    table.add_row(
        "queue length (jobs)",
        number(metrics["mean_queue_length"]),
        "",
        "",
        number(metrics["max_queue_length"], whole=True),
    )
    table.add_row("throughput (jobs/h)", number(metrics["throughput_jobs_per_hour"]))
    table.add_row("makespan (s)", number(metrics["makespan_s"]))
    return table


def workflow_table(metrics: Mapping[str, float]) -> Table:
    """Return the figures of merit of workflows: what became of them, what they were worth, how long they took."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("of the workflows")
    for heading in ("", "mean", "median", "95 %", "max"):
        table.add_column(heading, justify="right")
    table.add_row("value (% of the most)", number(100 * metrics["value"]))
    table.add_row("starved or unfinished (%)", number(100 * metrics["starved"]))
    slr = (number(metrics[f"{statistic}_slr"]) for statistic in STATISTICS)
    table.add_row("SLR of those finished", "", *slr)
    counts = ("jobs", "finished", "starved_deadline", "unfinished_at_end", "rejected", "tasks", "tasks_started")
    for name in counts:
        table.add_row(name.replace("_", " "), number(metrics[name], whole=True))
    table.add_section()
    table.add_row(Text("of the clusters", style="bold"))
    table.add_row("load (%)", number(100 * metrics["effective_load"]))
    table.add_row("makespan (s)", number(metrics["makespan_s"]))
    return table


_ON_MACHINES: Final = {
    "goodput": "goodput\n(%)",
    "aborted": "aborted\n(%)",
    "idle": "idle\n(%)",
    "kills": "jobs\nkilled",
    "mean_aborted_s": "mean\naborted (s)",
    "mean_stretch": "mean\nstretch",
    "max_stretch": "max\nstretch",
    "mean_wait_s": "mean\nwait (s)",
    "completed_share": "completed\n(%)",
}
_SHARES: Final = ("goodput", "aborted", "idle", "completed_share")


def machines_table(found: Mapping[str, Mapping[str, float]]) -> Table:
    """Return the figures of merit of several heuristics on machines that come and go, one row per heuristic."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("heuristic")
    for heading in _ON_MACHINES.values():
        table.add_column(heading, justify="right")
    for name, metrics in found.items():
        shown = (number(metrics[key] * (100 if key in _SHARES else 1), whole=key == "kills") for key in _ON_MACHINES)
        table.add_row(name, *shown)
    return table


def comparison_table(cells: Sequence[Cell]) -> Table:
    """Return the figures of merit of several orders, one row per order, in the order given; the best ones bold."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column("order")
    done = [cell for cell in cells if cell.error is None]
    for heading in _SHOWN.values():
        table.add_column(heading, justify="right")
    best = {}
    for name in _SHOWN if len(done) > 1 else ():
        choose = max if name == "utilisation" else min
        best[name] = _shown(name, choose(done, key=lambda cell: cell.metrics[name]))
    for cell in cells:
        if cell.error is not None:
            table.add_row(cell.order.name, Text("failed", style="red"))
            continue
        shown = {name: _shown(name, cell) for name in _SHOWN}
        table.add_row(
            cell.order.name,
            *(Text(text, style="bold" if text == best.get(name) else "") for name, text in shown.items()),
        )
    return table


def _shown(name: str, cell: Cell) -> str:
    """Return a figure of merit as the table shows it."""
    return number(cell.metrics[name] * (100 if name == "utilisation" else 1))


def listing(headings: str, rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of texts under headings of one word each; the first column is never broken."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column, heading in enumerate(headings.split()):
        table.add_column(heading, overflow="fold", no_wrap=column == 0)
    for row in rows:
        table.add_row(*row)
    return table
