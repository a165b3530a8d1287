"""View: the page of a schedule, and what stands in it."""

import math
import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns.pages import page
from experiments.dates import clock_of, date_of
from experiments.drawing import OTHERS, OUTSIDE, PALETTE, headline, window_of
from experiments.gantt import LOWEST
from experiments.gantt_boxes import KINDS, Panel, boxes_of, heights_of
from experiments.inputs import left_out_of, parts_of
from experiments.viewer.packing import Packed
from simmodels.ground.arguments import as_instance
from simmodels.ground.files import ending_of, replacing
from simmodels.results.schedule import OUTCOMES, Schedule
from simmodels.units import HOUR
from simmodels.version import __version__

SUFFIX: Final = ".html"
_STEP: Final = 4096
"""Rectangles inside machines are drawn to this part of a machine's row; those of pools are whole cores."""
_TEMPLATE: Final = "view.html.j2"


def write_view(schedule: Schedule, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write a page that shows a schedule: a Gantt chart to pan, zoom and search, with queue and cores below.

    The page needs no other file and no network. It holds, packed and without loss, each job's numbers, each attempt and
    its cores (those of `experiments.gantt`), and the steps of `Schedule.queue_length` and `Schedule.cores_used`. A log
    of 313,000 jobs on 93,312 cores is a page of 6 MB. Times are dates, in the log's time zone, if the workload knows
    the instant of its zero. The same schedule gives the same page.

    Parameters
    ----------
    schedule
        A legal schedule of at least one job.
    path
        The file, ending in .html; its folder must exist.
    title
        None: workload and policy.

    Raises
    ------
    RequestError
        The name ends otherwise, or the schedule has no jobs.
    IllegalScheduleError
        More cores are in use at some instant than a machine has.
    FileNotFoundError
        The folder does not exist.

    Examples
    --------
    >>> import simmodels as sm
    >>> from experiments.viewer.view import write_view
    >>> write_view(sm.simulate({"submit_s": [0, 1], "runtime_s": [10, 5], "cores": [2, 1]}, cores=2), "out.html")
    """
    ending_of(path, [SUFFIX], "the page's name")
    content = view_page(as_instance("schedule", schedule, Schedule), title=title)
    with replacing(path) as temporary:
        temporary.write_text(content, "utf-8")


def view_page(schedule: Schedule, *, title: str | None = None) -> str:
    """Return the page of a schedule as text; see `write_view`."""
    window_s = window_of(schedule)
    panels = [Panel("", schedule, cluster) for cluster in range(len(schedule.clusters))]
    packed, title = Packed(), title or headline("Schedule", schedule)
    _add_rows(packed, schedule)
    partitions = _add_partitions(packed, schedule)
    runs = _add_runs(packed, panels, window_s)
    spans = schedule.off_spans
    for name in ("cluster", "machine", "start_s", "end_s"):
        packed.add(f"off_{name}", np.empty(0) if spans is None else spans[name].to_numpy())
    for name, steps in (("queue_length", schedule.queue_length()), ("cores_used", schedule.cores_used())):
        packed.add(f"{name}_time_s", steps["time_s"].to_numpy(), delta=True)
        packed.add(name, steps[name].to_numpy(), delta=True)
    data, dates = packed.text(), _dates(schedule)
    about = {
        "title": title,
        "columns": packed.columns,
        "window_s": window_s,
        "zero_unix_s": None if dates is None else schedule.workload.start_unix_s,
        "clock": [] if dates is None else clock_of(schedule.workload, *window_s),
        "cores": int(schedule.cores),
        "runs": runs,
        "panels": [_panel(panel, height) for panel, height in zip(panels, heights_of(panels), strict=True)],
        "outcomes": OUTCOMES,
        "kinds": KINDS,
        "tasks": schedule.workload.tasks is not None,
        "partitions": partitions,
        "users": _users(schedule),
        "palette": PALETTE,
        "others": OTHERS,
        "outside": OUTSIDE,
    }
    return page(_TEMPLATE, title=title, about=about, data=data, summary=summary(schedule), version=__version__)


def _panel(panel: Panel, height: float) -> Mapping[str, Any]:
    """Return what the page knows of a cluster."""
    spec = panel.spec
    return {
        "name": spec.name,
        "kind": spec.kind,
        "what": "machine" if panel.by_machine else "core",
        "rows": int(panel.top),
        "cores": int(spec.cores),
        "step": _STEP if panel.by_machine else 1,
        "height": max(float(height), LOWEST),
    }


def _add_rows(packed: Packed, schedule: Schedule) -> None:
    """Add what the jobs asked for, and what became of them, one value per row of the workload."""
    work = schedule.workload
    packed.add("job_id", work.job_id, delta=True)
    packed.add("submit_s", work.submit_s, delta=True)
    packed.add("earlier_s", schedule.earlier_s)
    for name in ("runtime_s", "estimate_s", "cores", "user_id"):
        packed.add(name, getattr(work, name))
    packed.add("outcome", schedule.outcome)
    packed.add("counted", schedule.counted)
    if work.tasks is not None:
        packed.add("task", work.tasks.task)
        packed.add("workflow", work.tasks.workflow)


def _add_partitions(packed: Packed, schedule: Schedule) -> list[str]:
    """Add the number of each row's partition, if the log says it (-1: unknown); return their names by number."""
    names, known = next(parts_of(schedule.workload, "partition"), (np.empty(0, str), np.zeros(0, np.bool_)))
    if not known.any():
        return []
    found, number = np.unique(names[known], return_inverse=True)
    values = np.full(len(names), -1, np.int64)
    values[known] = number
    packed.add("partition", values)
    return [str(name) for name in found]


def _users(schedule: Schedule) -> dict[int, str]:
    """Return the names of users by their numbers, if the log says them."""
    work = schedule.workload
    if "user" not in work.extras:
        return {}
    numbers, first = np.unique(work.user_id, return_index=True)
    names = np.asarray(work.extras["user"])[first].astype(str)
    return {number: name for number, name in zip(numbers.tolist(), names.tolist(), strict=True) if number >= 0}


def _add_runs(packed: Packed, panels: list[Panel], window_s: tuple[float, float]) -> int:
    """Add the attempts and their rectangles, by cluster, row and attempt; return how many attempts there are."""
    tables = [
        pd.DataFrame(boxes_of(each, window_s)._asdict()).assign(panel=number, step=_panel(each, 0.0)["step"])
        for number, each in enumerate(panels)
    ]
    boxes = pd.concat(tables)
    order = np.lexsort((boxes["bottom"], boxes["attempt"], boxes["row"], boxes["panel"]))
    boxes = boxes.take(order).reset_index(drop=True)
    low, high = (np.rint((boxes[side] * boxes["step"]).to_numpy()).astype(np.int64) for side in ("bottom", "top"))
    runs = boxes[boxes[["panel", "row", "attempt"]].diff().ne(0).any(axis=1)]  # the first rectangle of each
    row, start_s = runs["row"].to_numpy(), runs["left_s"].to_numpy()
    packed.add("run_panel", runs["panel"].to_numpy(), delta=True)
    packed.add("run_row", row, delta=True)
    packed.add("run_start_s", start_s, near=("submit_s[run_row]", panels[0].schedule.workload.submit_s[row]))
    packed.add("run_end_s", runs["right_s"].to_numpy(), near=("run_start_s", start_s))
    packed.add("run_kind", runs["kind"].to_numpy())
    packed.add("run_ends", runs["ends"].to_numpy())
    packed.add("run_boxes", np.diff(np.append(runs.index, len(boxes))))  # how many rectangles each has
    # The intervals of an attempt ascend: each is near the end of the one before.
    packed.add("box_gap", low - np.append(0, high[:-1])[: len(low)])
    packed.add("box_width", high - low)
    return len(runs)


def _dates(schedule: Schedule) -> tuple[datetime, datetime] | None:
    """Return the dates of the window that is shown, if they are known."""
    first, last = (date_of(schedule.workload, time_s) for time_s in window_of(schedule))
    return None if first is None or last is None else (first, last)


def summary(schedule: Schedule) -> tuple[str, ...]:
    """Return a schedule in sentences, for those who cannot see the chart."""
    work, found = schedule.workload, schedule.metrics()
    clusters = schedule.clusters
    where = f"{schedule.cores:,} cores" + (f" in {len(clusters)} clusters" if len(clusters) > 1 else "")
    machines = sum(spec.machines for spec in clusters if spec.machines > 1)
    where += f" of {machines:,} machines" if machines else ""
    rows = "jobs" if work.tasks is None else "jobs and tasks"
    sentences = [f"{len(work) - left_out_of(schedule):,} {rows} of {work.name} on {where}."]
    low_s, high_s = window_of(schedule)
    dates = _dates(schedule)
    if dates is None:
        sentences.append(f"The chart shows {(high_s - low_s) / HOUR:,.1f} hours.")
    else:
        first, last = dates
        sentences.append(f"The chart shows {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} ({first.tzinfo}).")
    if "mean_wait_s" in found and math.isfinite(found["mean_wait_s"]):
        mean, p95, most = (found[f"{name}_wait_s"] / HOUR for name in ("mean", "p95", "max"))
        sentences.append(f"Mean wait {mean:,.2f} h, 95th percentile {p95:,.2f} h, longest {most:,.2f} h.")
        sentences.append(f"Utilisation {100 * found['utilisation']:.1f} %.")
        queue = found["mean_queue_length"], found["max_queue_length"]
        sentences.append(f"Mean queue length {queue[0]:,.1f} jobs, longest queue {queue[1]:,.0f} jobs.")
    for name, what in (("killed", "jobs were killed at their estimate"), ("unfinished", "jobs did not finish")):
        if found.get(name):
            sentences.append(f"{found[name]:,.0f} {what}.")
    if "goodput" in found:
        sentences.append(f"{found['kills']:,.0f} attempts lost their machine; goodput {100 * found['goodput']:.1f} %.")
    return tuple(sentences)
