"""what tests of variable capacity share: jobs, outages, what ran where, and whether two schedules are the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import simmodels as sm
from simmodels.results.schedule import Schedule

HEURISTICS = ("FirstFit", "TargetStretch", "TargetAsap", "PackedTargetAsap")
OF_TARGETS = {
    "category": ["ge", "gt", "thousandths"],
    "distance": [0, 1, 3],
    "initial_use": ["least", "middle"],
    "nearer_first": ["right", "left"],
    "longest_stretch": ["planned", "completed"],
    "search": ["used", "open"],
    "replan_on_add": ["always", "util"],
    "least_machines": [0, 1, 2],
}
OF_STRETCH = {"alternative": ["earliest", "first"]}
OF_ASAP = {"stay_on_target": [False, True], "requeue_immediate": [True, False]}
OF_PACKS = {"packing": ["packs", "nearest", "floor"], "pack_size": [1, 2, 3]}
CHOICES: dict[str, dict[str, list[Any]]] = {
    "TargetStretch": OF_TARGETS | OF_STRETCH,
    "TargetAsap": OF_TARGETS | OF_ASAP,
    "PackedTargetAsap": OF_TARGETS | OF_ASAP | OF_PACKS,
}


@sm.order
def impatient(runtime: float, wait: float) -> float:
    """Short jobs first, and those that have waited for long."""
    return runtime - 2.0 * wait


ORDERS = ("FCFS", "LPF", "SAF", impatient)
"""Orders of first fit, each with a key in `tests.naive_capacity`."""


def workload(rows: list[tuple[float, float, int]]) -> sm.Workload:
    release, length, cores = np.array(rows, np.float64).reshape(-1, 3).T
    return sm.Workload(np.arange(1, len(rows) + 1), release, length, length, cores.astype(np.int64))


@st.composite
def outages(
    draw: st.DrawFn, machines: int, begin: float, unit: float, times: Sequence[float], *, ends: bool
) -> dict[str, Any]:
    """Draw failures, maintenance and sleep of a site, often at the instants at which its capacity changes.

    Failures are rare unless the model `ends` by itself: a job of 100 s on nine machines that fail every 30 s is never
    done.
    """
    seconds = st.integers(0, 90).map(lambda number: number * unit)
    windows = st.builds(
        sm.MaintenanceWindow,
        start_s=seconds.map(lambda at: begin + at) | st.sampled_from([begin, *(at for at in times if at >= begin)]),
        duration_s=st.integers(1, 40).map(lambda number: number * unit),
        machines=st.none() | st.lists(st.integers(0, machines - 1), min_size=1, max_size=3),
        notice_s=st.sampled_from([0.0, 5 * unit, 20 * unit, 200 * unit]),
        mode=st.sampled_from(["kill", "drain", "checkpoint"]),
    )
    law = st.builds(
        sm.FailureLaw,
        mtbf_s=st.sampled_from([30 * unit, 100 * unit] if ends else [1000 * max(unit, 1.0), 3000 * max(unit, 1.0)]),
        repair_s=st.sampled_from([5 * unit, 30 * unit]),
        shape=st.sampled_from([1.0, 0.7]),
    )
    sleep = st.builds(
        sm.SleepPolicy,
        after_s=st.sampled_from([0.0, unit, 10 * unit, 40 * unit]),
        boot_s=st.sampled_from([0.0, unit, 15 * unit]),
        awake=st.integers(0, min(machines, 2)),
    )
    return {
        "failures": draw(st.none() | law),
        "maintenance": draw(st.lists(windows, max_size=3)),
        "sleep": draw(st.none() | sleep),
    }


def runs(schedule: Schedule) -> list[tuple[int, int, float, float | None, int]]:
    table = schedule.attempts
    ends = [None if pd.isna(end_s) else end_s for end_s in table["end_s"].tolist()]  # so that equal runs are equal
    columns = (table[name].tolist() for name in ("job_id", "machine", "start_s"))
    return list(zip(*columns, ends, table["outcome"].tolist(), strict=True))


def for_the_slow(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a placer as `tests.naive_capacity` names them."""
    found = dict(options)
    if "search" in found:
        found["bound"] = {"used": "used", "open": "alive"}[found.pop("search")]
    return found


def assert_same(one: Schedule, other: Schedule) -> None:
    pd.testing.assert_frame_equal(one.attempts, other.attempts, check_exact=True)
    for spec in one.clusters:
        found = [each.on(spec.name).capacity if len(each.clusters) > 1 else each.capacity for each in (one, other)]
        assert found[0].time_s.tolist() == found[1].time_s.tolist()
        assert found[0].machines.tolist() == found[1].machines.tolist()
    pd.testing.assert_frame_equal(one.off_spans, other.off_spans, check_exact=True)
    np.testing.assert_equal(one.metrics(), other.metrics())


def assert_identical(one: Schedule, other: Schedule) -> None:
    """Check that two schedules are the same in all that they say, except the engine that made them."""
    assert_same(one, other)
    jobs = ("start_s", "end_s", "executed_s", "cluster", "outcome", "counted")
    for name in (*jobs, "workflow_outcome", "critical_path_s", "price"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    parts = [each.parts for each in (one, other) if each.parts is not None and len(each.parts)]
    assert len(parts) != 1
    keys = ["row", "attempt", "machine"]
    in_order = [each.sort_values(keys, ignore_index=True)[[*keys, "machines", "cores"]] for each in parts]
    if parts:
        pd.testing.assert_frame_equal(*in_order, check_exact=True)
    assert (one.window, one.terms) == (other.window, other.terms)
    assert {**one.about, "engine": ""} == {**other.about, "engine": ""}
