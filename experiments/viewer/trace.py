"""Trace: a schedule as machines with jobs, and counters over time, for Perfetto and Chrome's tracing."""

import os
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.drawing import headline, window_of
from experiments.gantt_boxes import KINDS, Panel, boxes_of
from experiments.viewer.trace_formats import EventTrace, Slice, Track, Value, trace_writer
from simmodels import Power, Schedule
from simmodels.errors import printable
from simmodels.ground.arguments import as_instance
from simmodels.ground.files import as_path
from simmodels.ground.numbers import Floats
from simmodels.results.allocation import allocate_attempts
from simmodels.results.attempts import machines_on

_RUN: Final = ["machine", "row", "attempt"]
_SHOWN: Final = ["row", "left_s", "right_s", "what", "wait_s"]


def write_trace(schedule: Schedule, path: str | os.PathLike[str], *, power: Power | None = None) -> None:
    """Write a schedule as a trace, to be opened at ui.perfetto.dev or in another viewer of such files.

    A cluster is a group of tracks. A machine is a track; its slices are the attempts that ran there; jobs side by side
    on one machine, or in a pool of cores, need a track each: a job takes the first that is free. Each slice carries the
    job's numbers. Spans in which a machine was off are slices, too. Counters are the jobs that wait, the cores in use,
    the machines that are on (where machines are switched), and the power that they draw, if `power` is given.

    Parameters
    ----------
    schedule
        A legal schedule of at least one job.
    path
        The file: .json (Chrome's format) or .pftrace (Perfetto's), plain or .gz; its folder must exist.
    power
        What machines draw; a pool of cores is one machine. None: no counter of power.

    Raises
    ------
    RequestError
        The name ends otherwise, the schedule has no jobs, or it ends later than the format can say (in 292 years).
    IllegalScheduleError
        More cores are in use at some instant than a machine has.
    FileNotFoundError
        The folder does not exist.

    Examples
    --------
    >>> import simmodels as sm
    >>> from experiments.viewer.trace import write_trace
    >>> schedule = sm.simulate({"submit_s": [0, 1], "runtime_s": [10, 5], "cores": [2, 1]}, cores=2)
    >>> write_trace(schedule, "out.json.gz", power=sm.Power(machine_w=100, core_w=5))
    """
    where = as_path(path)
    write = trace_writer(where)
    window_s = window_of(as_instance("schedule", schedule, Schedule))
    panels = [Panel("", schedule, cluster) for cluster in range(len(schedule.clusters))]
    tracks = [*_counters(schedule, window_s, power)]
    for panel in panels:
        tracks += _tracks(panel, window_s)
    names = [each.spec.name if each.spec.kind is None else f"{each.spec.name} ({each.spec.kind})" for each in panels]
    about: dict[str, Any] = {
        "workload": schedule.workload.name,
        "cores": schedule.cores,
        "title": headline("Schedule", schedule),
    }
    if schedule.workload.start_unix_s is not None:
        about["zero_unix_s"] = schedule.workload.start_unix_s
    # Times are counted from the log's zero, but no trace begins before its own.
    write(EventTrace(("over time", *names), tuple(tracks), min(0.0, window_s[0]), about), where)


def _counters(schedule: Schedule, window_s: tuple[float, float], power: Power | None) -> Iterator[Track]:
    """Yield the counters over time."""
    queue, used = schedule.queue_length(), schedule.cores_used()
    yield Track(0, "jobs waiting", values=_points(queue, window_s), unit="jobs")
    yield Track(0, "cores in use", values=_points(used, window_s), unit="cores")
    on = [machines_on(schedule.off_spans, k, spec.machines, window_s) for k, spec in enumerate(schedule.clusters)]
    if schedule.off_spans is not None:
        for spec, each in zip(schedule.clusters, on, strict=True):
            table = pd.DataFrame({"time_s": each.time_s, "machines": each.machines})
            yield Track(0, f"machines on, {printable(spec.name)}", values=_points(table, window_s), unit="machines")
    if power is not None:
        time_s = np.unique(np.concatenate([used["time_s"].to_numpy(), *(each.time_s for each in on)]))
        cores = _held(used["time_s"].to_numpy(), used["cores_used"].to_numpy(), time_s)
        machines = np.sum([_held(each.time_s, each.machines, time_s) for each in on], axis=0)
        drawn = pd.DataFrame({"time_s": time_s, "power": power.machine_w * machines + power.core_w * cores})
        yield Track(0, "power", values=_points(drawn, window_s), unit="W")


def _held(time_s: Floats, value: Any, at_s: Floats) -> Floats:  # noqa: ANN401  numbers of any type
    """Return the values of a step function at some instants; 0 before its first."""
    return np.asarray(np.append(0, value)[np.searchsorted(time_s, at_s, side="right")], np.float64)


def _points(steps: pd.DataFrame, window_s: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the steps within a window, from its begin on, as pairs of numbers."""
    (low_s, high_s), (time_s, value) = window_s, (steps[name].to_numpy() for name in steps)
    within = (time_s > low_s) & (time_s <= high_s)
    first = float(_held(time_s, value, np.array([low_s]))[0])
    return [(low_s, first), *zip(time_s[within].tolist(), value[within].astype(np.float64).tolist(), strict=True)]


def _tracks(panel: Panel, window_s: tuple[float, float]) -> Iterator[Track]:
    """Yield the tracks of a cluster: each machine, and as many more of it as jobs run side by side there."""
    boxes, schedule = boxes_of(panel, window_s), panel.schedule
    machine = np.floor(boxes.bottom).astype(np.int64) if panel.by_machine else np.zeros(len(boxes.row), np.int64)
    what = np.where(boxes.ends, boxes.kind, len(KINDS))
    runs = pd.DataFrame(boxes._asdict()).assign(machine=machine, what=what)
    runs = runs.drop_duplicates(_RUN).sort_values(_RUN, ignore_index=True)
    edges, off = np.searchsorted(runs["machine"], np.arange(panel.top + 1)), _off(panel)
    runs["wait_s"] = runs["left_s"] - (schedule.workload.submit_s + schedule.earlier_s)[runs["row"]]
    for number in range(panel.top if panel.by_machine else 1):
        part = runs.iloc[edges[number] : edges[number + 1]]
        row, left_s, right_s = (part[name].to_numpy() for name in ("row", "left_s", "right_s"))
        cores = panel.spec.cores_of(number) if panel.by_machine else panel.spec.cores
        given = allocate_attempts(schedule.workload, row, left_s, right_s, np.ones(len(row), np.int64), cores)
        lane, name = given.first.astype(np.int64), f"machine {number}" if panel.by_machine else "jobs"
        for place in range(int(lane.max(initial=0)) + 1):
            chosen = part[lane == place].sort_values(["left_s", "right_s"])
            slices = [_job(schedule, *values) for values in zip(*(chosen[each] for each in _SHOWN), strict=True)]
            title = name if place == 0 else f"{name} ({place + 1})"
            slices += off.get(number, []) if place == 0 else []
            yield Track(1 + panel.cluster, title, sorted(slices, key=lambda each: (each.start_s, each.end_s)))


def _job(schedule: Schedule, row: int, left_s: float, right_s: float, what: int, wait_s: float) -> Slice:
    """Return an attempt of a job as a slice."""
    work = schedule.workload
    about: dict[str, Value] = {
        "job": int(work.job_id[row]),
        "user": int(work.user_id[row]),
        "cores": int(work.cores[row]),
        "submit_s": float(work.submit_s[row]),
        "wait_s": float(wait_s),
        "runtime_s": float(work.runtime_s[row]),
        "estimate_s": float(work.estimate_s[row]),
        "outcome": (*KINDS, "still running")[what],
    }
    name = f"job {work.job_id[row]}"
    if work.tasks is not None and work.tasks.workflow[row] >= 0:
        about["task"] = int(row - work.tasks.first[work.tasks.workflow[row]])
        name += f", task {about['task']}"
    return Slice(name, "job", float(left_s), float(right_s), about)


def _off(panel: Panel) -> dict[int, list[Slice]]:
    """Return the spans in which machines of a cluster were off."""
    spans = panel.schedule.off_spans
    found: dict[int, list[Slice]] = {}
    if spans is not None:
        spans = spans[spans["cluster"] == panel.cluster]
        for machine, start_s, end_s in zip(spans["machine"], spans["start_s"], spans["end_s"], strict=True):
            found.setdefault(int(machine), []).append(Slice("off", "off", float(start_s), float(end_s)))
    return found
