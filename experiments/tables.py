"""Tables: figures of merit as they are read in a terminal."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from experiments.setup import Cell
from simmodels.logged import AS_LOGGED
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


_OF_WORKFLOWS: Final = {
    "value": "value\n(%)",
    "starved": "starved\n(%)",
    "mean_slr": "mean\nSLR",
    "p95_slr": "95 %\nSLR",
}
_OF_MACHINES: Final = {
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
_BRIEF: Final = ("mean_wait_s", "mean_bounded_slowdown", "utilisation")
_SHARES: Final = ("utilisation", "goodput", "aborted", "idle", "completed_share", "value", "starved")
_LARGER_IS_BETTER: Final = ("utilisation", "goodput", "completed_share", "value")
_COUNTS: Final = ("jobs", "finished", "starved_deadline", "unfinished_at_end", "rejected", "tasks", "tasks_started")


def metrics_table(metrics: Mapping[str, float], *, tau_s: float) -> Table:
    """Return the figures of merit of one schedule: those of its jobs, of its workflows, and of the machine."""
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    rigid, workflows = "mean_wait_s" in metrics, "value" in metrics
    table.add_column("of the jobs" if rigid else "of the workflows")
    for heading in ("mean", "median", "95 %", "max"):
        table.add_column(heading, justify="right")
    if rigid:
        for name, heading in _JOB_METRICS.items():
            bound = f", tau {tau_s:g} s" if name.startswith(("bounded", "per")) else ""
            table.add_row(heading + bound, *(number(metrics[f"{statistic}_{name}"]) for statistic in STATISTICS))
        table.add_section()
    if workflows:
        if rigid:
            table.add_row(Text("of the workflows", style="bold"))
        table.add_row("SLR of those finished", *(number(metrics[f"{statistic}_slr"]) for statistic in STATISTICS))
        table.add_row("value (% of the most)", number(100 * metrics["value"]))
        table.add_row("starved or unfinished (%)", number(100 * metrics["starved"]))
        for name in _COUNTS if not rigid else _COUNTS[1:]:  # rigid jobs are jobs, too
            table.add_row(name.replace("_", " "), number(metrics[name], whole=True))
        table.add_section()
    _add_machine(table, metrics)
    return table


def _add_machine(table: Table, metrics: Mapping[str, float]) -> None:
    """Add the rows of the machine."""
    table.add_row(Text("of the machine", style="bold"))
    if "mean_wait_s" in metrics:
        table.add_row("utilisation (%)", number(100 * metrics["utilisation"]))
        longest = number(metrics["max_queue_length"], whole=True)
        table.add_row("queue length (jobs)", number(metrics["mean_queue_length"]), "", "", longest)
        table.add_row("throughput (jobs/h)", number(metrics["throughput_jobs_per_hour"]))
        for name in ("killed", "unfinished"):
            if metrics[name]:
                table.add_row(f"{name} (jobs)", number(metrics[name], whole=True))
    else:
        table.add_row("load (%)", number(100 * metrics["effective_load"]))
    table.add_row("makespan (s)", number(metrics["makespan_s"]))
    if "goodput" in metrics:
        for name in ("goodput", "aborted", "idle"):
            table.add_row(f"{name} (%)", number(100 * metrics[name]))
        table.add_row("attempts interrupted", number(metrics["kills"], whole=True))


def comparison_table(cells: Sequence[Cell]) -> Table:
    """Return the figures of merit of several policies, one row per policy, in the order given; the best ones bold.

    What the log itself records is no policy: it is never the best.
    """
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0, 0, 1))
    table.add_column(cells[0].policy.kind if cells else "policy")
    done = [cell for cell in cells if cell.error is None]
    replayed = [cell for cell in done if cell.policy.name != AS_LOGGED]
    columns = dict(_columns(replayed[0].metrics)) if replayed else {}
    if any(cell.metrics.get("unfinished") for cell in done):
        columns["unfinished"] = "un-\nfinished"
    for heading in columns.values():
        table.add_column(heading, justify="right")
    best = {}
    for name in columns if len(replayed) > 1 else ():
        found = [cell for cell in replayed if math.isfinite(cell.metrics[name])]
        choose = max if name in _LARGER_IS_BETTER else min
        best[name] = _shown(name, choose(found, key=lambda cell: cell.metrics[name])) if found else ""
    for cell in cells:
        if cell.error is not None:
            table.add_row(cell.policy.name, Text("failed", style="red"))
            continue
        shown = {name: _shown(name, cell) for name in columns}
        table.add_row(
            cell.policy.name,
            *(Text(text, style="bold" if text == best.get(name) else "") for name, text in shown.items()),
        )
    return table


def _columns(metrics: Mapping[str, float]) -> Mapping[str, str]:
    """Return which figures of merit a comparison shows, by what there is, each with its heading."""
    workflows = _OF_WORKFLOWS if "value" in metrics else {}
    others = {name: _SHOWN[name] for name in _BRIEF} if workflows else _SHOWN
    if "goodput" in metrics:
        others = _OF_MACHINES
    return {name: heading for name, heading in {**workflows, **others}.items() if name in metrics}


def _shown(name: str, cell: Cell) -> str:
    """Return a figure of merit as the table shows it."""
    return number(cell.metrics[name] * (100 if name in _SHARES else 1), whole=name in {"kills", "unfinished"})


def listing(headings: str, rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of texts under headings of one word each; the first column is never broken."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column, heading in enumerate(headings.split()):
        table.add_column(heading, overflow="fold", no_wrap=column == 0)
    for row in rows:
        table.add_row(*row)
    return table
