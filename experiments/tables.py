"""Tables: figures of merit as they are read in a terminal."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from experiments.campaigns.hours import is_duration
from experiments.setup import Cell
from simmodels.ground.cards import number
from simmodels.results.logged import AS_LOGGED
from simmodels.results.metrics import STATISTICS
from simmodels.units import HOUR

_JOB_METRICS: Final = {
    "wait_s": "wait (h)",
    "response_s": "response (h)",
    "slowdown": "slowdown",
    "bounded_slowdown": "bounded slowdown",
    "per_processor_bounded_slowdown": "bounded slowdown per core",
    "stretch": "stretch",
}
_SHOWN: Final = {
    "mean_wait_s": "mean\nwait (h)",
    "p95_wait_s": "95 %\nwait (h)",
    "max_wait_s": "max\nwait (h)",
    "mean_bounded_slowdown": "mean\nbsld",
    "median_bounded_slowdown": "median\nbsld",
    "p95_bounded_slowdown": "95 %\nbsld",
    "max_bounded_slowdown": "max\nbsld",
    "utilisation": "used\n(%)",
}


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
    "mean_aborted_s": "mean\naborted (h)",
    "mean_stretch": "mean\nstretch",
    "max_stretch": "max\nstretch",
    "mean_wait_s": "mean\nwait (h)",
    "completed_share": "completed\n(%)",
}
_BRIEF: Final = ("mean_wait_s", "mean_bounded_slowdown", "utilisation")
_SHARES: Final = ("utilisation", "goodput", "aborted", "idle", "completed_share", "value", "starved")
_LARGER_IS_BETTER: Final = ("utilisation", "goodput", "completed_share", "value")
_FINE: Final = 9.95
"""From here on changes are whole numbers of per cent."""
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
            table.add_row(heading + bound, *(_shown(f"{statistic}_{name}", metrics) for statistic in STATISTICS))
        table.add_section()
    if workflows:
        if rigid:
            table.add_row(Text("of the workflows", style="bold"))
        table.add_row("SLR of those finished", *(number(metrics[f"{statistic}_slr"]) for statistic in STATISTICS))
        table.add_row("value (% of the most)", number(100 * metrics["value"]))
        table.add_row("starved or unfinished (%)", number(100 * metrics["starved"]))
        for name in _COUNTS if not rigid else _COUNTS[1:]:  # rigid jobs are jobs, too
            table.add_row(name.replace("_", " "), number(metrics[name]))
        table.add_section()
    _add_machine(table, metrics)
    return table


def _add_machine(table: Table, metrics: Mapping[str, float]) -> None:
    """Add the rows of the machine."""
    table.add_row(Text("of the machine", style="bold"))
    if "mean_wait_s" in metrics:
        table.add_row("utilisation (%)", number(100 * metrics["utilisation"]))
        longest = number(metrics["max_queue_length"])
        table.add_row("queue length (jobs)", number(metrics["mean_queue_length"]), "", "", longest)
        table.add_row("throughput (jobs/h)", number(metrics["throughput_jobs_per_hour"]))
        for name in ("killed", "unfinished"):
            if metrics[name]:
                table.add_row(f"{name} (jobs)", number(metrics[name]))
    else:
        table.add_row("load (%)", number(100 * metrics["effective_load"]))
    table.add_row("makespan (h)", _shown("makespan_s", metrics))
    if "goodput" in metrics:
        for name in ("goodput", "aborted", "idle"):
            table.add_row(f"{name} (%)", number(100 * metrics[name]))
        table.add_row("attempts interrupted", number(metrics["kills"]))


def comparison_table(cells: Sequence[Cell]) -> Table:
    """Return the figures of merit of several policies, one row per policy, in the order given.

    Times are in hours. Below each figure stands its change against the first policy, in per cent. The best figures of a
    column are bold and have a star, unless all are equal. What the log itself records is no policy: it is compared with
    none, and never the best.
    """
    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 0, 0, 1), caption_justify="left")
    table.add_column(cells[0].policy.kind if cells else "policy")
    done = [cell for cell in cells if cell.error is None]
    replayed = [cell for cell in done if cell.policy.name != AS_LOGGED]
    columns = dict(_columns(replayed[0])) if replayed else {}
    if any(cell.metrics.get("unfinished") for cell in done):
        columns["unfinished"] = "un-\nfinished"
    for heading in columns.values():
        table.add_column(heading, justify="right")
    best = {name: _best(name, replayed) for name in columns}
    for cell in cells:
        if cell.error is not None:
            table.add_row(cell.policy.name, Text("failed", style="red"))
            continue
        against, stars = replayed[0] if cell in replayed[1:] else None, best if cell in replayed else {}
        table.add_row(cell.policy.name, *(_compared(name, cell, against, stars.get(name)) for name in columns))
    if len(replayed) > 1:
        table.caption = f"* the best; below each figure: its change against {replayed[0].policy.name}"
    for column in table.columns:  # headings may wrap; a figure that is cut is another figure
        column.min_width = max((len(line) for text in column.cells for line in str(text).split("\n")), default=None)
    return table


def _best(name: str, cells: Sequence[Cell]) -> str:
    """Return the best of a figure of merit as the table shows it; "" if all are equal."""
    found = [cell.metrics for cell in cells if math.isfinite(cell.metrics[name])]
    choose = max if name in _LARGER_IS_BETTER else min
    shown = _shown(name, choose(found, key=lambda metrics: metrics[name])) if found else ""
    return shown if any(_shown(name, metrics) != shown for metrics in found) else ""


def _compared(name: str, cell: Cell, against: Cell | None, best: str | None) -> Text:
    """Return a figure of merit as the table shows it, marked if it is the best, and its change on a line below."""
    shown = _shown(name, cell.metrics)
    text = Text(f"{shown}*", style="bold") if shown == best else Text(f"{shown} ")
    if against is not None:
        text = Text("\n").join([text, Text(f"{_change(cell.metrics[name], against.metrics[name])} ", style="dim")])
    return text


def _change(value: float, before: float) -> str:
    """Return a change in per cent; "" where there is none to speak of: from zero, or of what is unknown."""
    if value == before:
        return "0 %"
    if not (math.isfinite(value) and math.isfinite(before)) or before == 0:
        return ""
    change = 100 * (value - before) / abs(before)
    return f"{change:+,.0f} %" if abs(change) >= _FINE else f"{change:+z.1f} %"


def _columns(cell: Cell) -> Mapping[str, str]:
    """Return which figures of merit a comparison shows, by what there is, each with its heading."""
    metrics, clusters = cell.metrics, () if cell.schedule is None else cell.schedule.clusters
    workflows = _OF_WORKFLOWS if "value" in metrics else {}
    others = {name: _SHOWN[name] for name in _BRIEF} if workflows else _SHOWN
    if "goodput" in metrics and any(spec.machines != 1 for spec in clusters):  # a pool is one machine in a window
        others = _OF_MACHINES
    return {name: heading for name, heading in {**workflows, **others}.items() if name in metrics}


def _shown(name: str, metrics: Mapping[str, float]) -> str:
    """Return a figure of merit as a table shows it: times in hours, shares in per cent."""
    unit = 1 / HOUR if is_duration(name) else 100 if name in _SHARES else 1
    return number(metrics[name] * unit)
