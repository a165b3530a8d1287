# ruff: noqa: ANN401  options of any type are handed through
"""Machines that are switched on and off at random: both engines, and a slow scheduler that shares no code with them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from simmodels.ground.instants import rounding_s
from simmodels.ground.streams import stream
from tests.examples import tries
from tests.naive_capacity import Naive
from tests.on_machines import (
    CHOICES,
    HEURISTICS,
    ORDERS,
    assert_identical,
    for_the_slow,
    outages,
    runs,
    workload,
)

MORE: dict[str, dict[str, list[Any]]] = {
    heuristic: choices | {"raise_above": [0.95, 0.85], "lower_below": [0.8, 0.5, 0.0], "length_cap_s": [604_800.0, 9.0]}
    for heuristic, choices in CHOICES.items()
}


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Jobs, machines switched on and off, and a window; some at Unix times, in tenths of seconds, or with long jobs."""
    zero, unit = draw(st.sampled_from([(0.0, 1.0), (0.0, 1000.0), (0.0, 0.1), (1e9, 0.1)]))
    lengths = st.integers(1, 50).map(lambda length: int(length * max(unit, 1)))
    rows = draw(
        st.lists(st.tuples(st.integers(0, 120), st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=25)
    )
    times = sorted(draw(st.lists(st.integers(1, 160), unique=True, max_size=8)))
    machines = [draw(st.integers(1, 5)), *(draw(st.integers(0, 5)) for _ in times)]
    heuristic = draw(st.sampled_from(HEURISTICS))
    if heuristic == "FirstFit":
        filled = draw(st.none() | st.permutations(range(5)).map(tuple))
        options = {"dispatch": draw(st.sampled_from(["event", "instant"])), "fill_order": filled}
        options |= {"order": draw(st.sampled_from(ORDERS)), "fit": draw(st.sampled_from(["first", "best"]))}
    else:
        options = {name: draw(st.sampled_from(values)) for name, values in MORE[heuristic].items()}
        options["least_machines"] = draw(st.sampled_from([None, 0, 1, 2]))
    # a window may begin, and end, just when the machines change or a job comes
    edges = sorted({0, 20, *times, *(release for release, _, _ in rows)})
    begin = draw(st.sampled_from([0, 20]) | st.sampled_from(edges))
    end = draw(st.integers(begin + 1, 250) | st.sampled_from([edge for edge in edges if edge > begin] or [250]))
    return {
        "rows": sorted((zero + r * unit, w * unit, c) for r, w, c in rows),
        "steps": [(zero + time * unit, number) for time, number in zip([0, *times], machines, strict=True)],
        "heuristic": heuristic,
        "options": options,
        "window": (zero + begin * unit, zero + end * unit),
        "unit": unit,
        "reference": draw(st.lists(st.tuples(lengths, st.integers(1, 4)), min_size=1, max_size=6)),
    }


def simulated(case: dict[str, Any], engine: Any, capacity: Any = None, **more: Any) -> sm.Schedule:
    options = dict(case["options"])
    if case["heuristic"] != "FirstFit":
        options["reference"] = workload([(0.0, float(w), c) for w, c in case["reference"]])
    return sm.simulate_on_machines(
        workload(case["rows"]),
        case["steps"] if capacity is None else capacity,
        cores_per_machine=case.get("size", 4),
        heuristic=case["heuristic"],
        machines=case.get("machines", 5),
        window_s=case["window"],
        engine=engine,
        **options,
        **more,
    )


@given(cases())
@tries(40, full=10_000)
def test_both_engines_are_the_slow_scheduler(case: dict[str, Any]) -> None:
    compiled, simpy = simulated(case, "compiled"), simulated(case, "simpy")
    assert_identical(compiled, simpy)
    assert_is_slow(compiled, case)


@pytest.mark.parametrize("heuristic", ["TargetStretch", "TargetAsap", "PackedTargetAsap"])
@pytest.mark.parametrize("unit", [1, 60])  # in minutes, most starts are planned only when they are near
@pytest.mark.parametrize("seed", range(4))
def test_the_compiled_clock_is_the_slow_scheduler_with_lengths_of_all_sizes(
    heuristic: str, seed: int, unit: int
) -> None:
    draw = np.random.default_rng(seed)
    lengths = np.round(10 ** draw.uniform(-1, 3, 150), seed)  # also less than 1 s, and many that are equal
    rows = sorted(zip(draw.uniform(0, 600, 150), np.maximum(lengths, 0.5), draw.integers(1, 25, 150), strict=True))
    options = {name: values[draw.integers(len(values))] for name, values in CHOICES[heuristic].items()}
    case = {
        "rows": [(float(r) * unit, float(w) * unit, int(c)) for r, w, c in rows],
        "steps": [(float(40 * k * unit), int(draw.integers(2, 10))) for k in range(20)],
        "heuristic": heuristic,
        "options": options,
        "window": (0.0, 1000.0 * unit),
        "reference": [
            (int(w) * unit, int(c)) for w, c in zip(draw.integers(1, 1000, 50), draw.integers(1, 25, 50), strict=True)
        ],
        "size": 24,
        "machines": 9,
    }
    assert_is_slow(simulated(case, "compiled"), case)


def assert_is_slow(schedule: sm.Schedule, case: dict[str, Any]) -> None:
    options = for_the_slow(case["options"])
    order, least = options.pop("fill_order", None), options.pop("least_machines", None)
    if least is None:
        begin, end = case["window"]
        at_begin = [number for time_s, number in case["steps"] if time_s <= begin][-1]
        least = min([at_begin, *(number for time_s, number in case["steps"] if begin < time_s <= end)])
    slow = Naive(
        case["rows"],
        case["steps"],
        case.get("size", 4),
        case["heuristic"],
        *case["window"],
        least,
        [(float(w), c) for w, c in case["reference"]],
        options,
        list(order) if order else list(range(case.get("machines", 5))),
    ).simulate()
    outcome = {"done": 0, "killed": 2, "running": 2}
    must = [(run.job + 1, run.machine, run.start, run.end, outcome[run.outcome]) for run in slow.attempts]
    must = [
        run if each.outcome != "running" else (*run[:3], None, 2) for run, each in zip(must, slow.attempts, strict=True)
    ]
    got = runs(schedule)
    assert got == sorted(must, key=lambda run: (run[2], run[0]))


@pytest.mark.parametrize("seed", [*range(63), 770])  # the last: U depends on jobs that were put off
def test_jobs_that_are_planned_late_start_as_those_that_are_planned_at_once(seed: int) -> None:
    """The compiled engine plans far starts of TargetASAP only when it matters where; the other one plans all."""
    draw = np.random.default_rng(seed)
    heuristic, unit = ("TargetAsap", "PackedTargetAsap")[seed % 2], (20, 60, 300, 1000)[seed // 2 % 4]
    jobs, machines, size, gap = draw.integers(50, 400), draw.integers(2, 40), 24, draw.choice([20, 40, 100])
    lengths = np.maximum(np.round(10 ** draw.uniform(-1, 2.6, jobs), seed % 3), 0.5)
    releases = np.round(draw.uniform(0, 300, jobs), seed % 3)
    rows = sorted(zip(releases, lengths, draw.integers(1, size // 3 + 2, jobs), strict=True))
    options = {name: values[draw.integers(len(values))] for name, values in MORE[heuristic].items()}
    options |= {"distance": int(draw.choice([0, 1, 2, 5, 11])), "least_machines": int(draw.integers(0, machines))}
    case = {
        "rows": [(float(r) * unit, float(w) * unit, int(c)) for r, w, c in rows],
        "steps": [(float(gap * k * unit), int(draw.integers(1, machines + 1))) for k in range(1000 // gap)],
        "heuristic": heuristic,
        "options": options | {"replan_on_add": "always", "stay_on_target": False},
        "window": (0.0, 1000.0 * unit),
        "reference": [
            (int(w) * unit, int(c)) for w, c in zip(draw.integers(1, 400, 50), draw.integers(1, size, 50), strict=True)
        ],
        "size": size,
        "machines": int(machines),
    }
    assert_identical(simulated(case, "compiled"), simulated(case, "simpy"))


def notices(case: dict[str, Any], time_s: float) -> list[float]:
    """How long before a change notice may be given: none, some, or so that it is at, before or after an edge."""
    unit, (begin, end) = case["unit"], case["window"]
    at_edges = [time_s - edge + shift * unit for edge in (begin, end) for shift in (-1, 0, 1)]
    return [0.0, 0.0, 3 * unit, 10 * unit, 40 * unit, 1000 * unit, *(notice for notice in at_edges if notice > 0)]


@st.composite
def announced(draw: st.DrawFn) -> tuple[dict[str, Any], list[sm.CapacityChange], sm.Checkpoints | None]:
    case = draw(cases())
    if case["heuristic"] != "FirstFit":  # the slow scheduler does not know it
        case["options"]["ties"] = draw(st.sampled_from([None, "index", "window"]))
    modes = st.sampled_from(["kill", "drain", "checkpoint"])
    changes = [
        sm.CapacityChange(time, machines, notice_s=draw(st.sampled_from(notices(case, time))), mode=draw(modes))
        for time, machines in case["steps"]
    ]
    unit = case["unit"]
    saved = draw(
        st.none()
        | st.builds(
            sm.Checkpoints,
            interval_s=st.sampled_from([np.inf, 4.0 * unit, 7.5 * unit]),
            cost_s=st.sampled_from([0.0, 1.0 * unit, 5.0 * unit]),
            restart_s=st.sampled_from([0.0, 2.0 * unit]),
        )
    )
    return case, changes, saved


@given(announced())
@tries(40, full=10_000)
def test_both_engines_agree_with_notice_and_checkpoints(drawn: Any) -> None:
    case, changes, saved = drawn
    compiled = simulated(case, "compiled", changes, checkpoints=saved)
    assert_identical(compiled, simulated(case, "simpy", changes, checkpoints=saved))
    compiled.validate()


@given(announced(), st.lists(st.sampled_from([1.0, 2.0, 0.5, 1.3]), min_size=5, max_size=5), st.data())
@settings(max_examples=40)
def test_both_engines_agree_on_first_fit_at_unequal_speeds(
    drawn: Any, speeds: list[float], data: st.DataObject
) -> None:
    case, changes, saved = drawn
    machines = [sm.Machines(1, cores=4, speed=speed) for speed in speeds]
    times = [each.time_s for each in changes]
    found = data.draw(outages(5, case["window"][0], case["unit"], times, ends=True))
    removes = data.draw(st.sampled_from(["highest", "random"]))
    site = sm.Site(machines=machines, capacity=changes, removes=removes, checkpoints=saved, **found)
    how: dict[str, Any] = {"on": site, "heuristic": "FirstFit", "window_s": case["window"]}
    how |= case["options"] if case["heuristic"] == "FirstFit" else {}
    compiled, simpy = (sm.simulate(workload(case["rows"]), engine=each, **how) for each in ("compiled", "simpy"))
    assert_identical(compiled.validate(), simpy)


@given(announced(), st.data())
@tries(60, full=5_000)
def test_both_engines_agree_where_machines_fail_and_are_maintained(drawn: Any, data: st.DataObject) -> None:
    case, changes, saved = drawn
    window = data.draw(st.sampled_from([None, case["window"]]))
    begin = window[0] if window else case["rows"][0][0]
    found = data.draw(outages(5, begin, case["unit"], [each.time_s for each in changes], ends=window is not None))
    capacity = data.draw(st.sampled_from([None, changes]))
    site = sm.Site(machines=5, cores_per_machine=4, capacity=capacity, checkpoints=saved, **found)
    how: dict[str, Any] = {"on": site, "heuristic": case["heuristic"], "window_s": window, **case["options"]}
    if case["heuristic"] != "FirstFit":
        how["reference"] = workload([(0.0, float(w), c) for w, c in case["reference"]])
    compiled, simpy = (sm.simulate(workload(case["rows"]), engine=each, **how) for each in ("compiled", "simpy"))
    assert_identical(compiled, simpy)
    compiled.validate()


@given(announced())
@settings(max_examples=40)
def test_what_must_hold_whatever_comes_and_goes(drawn: Any) -> None:
    case, changes, saved = drawn
    schedule = simulated(case, "compiled", changes, checkpoints=saved).validate()  # nothing runs on a off machine
    metrics = schedule.metrics()
    if not np.isnan(metrics["goodput"]):
        assert metrics["goodput"] + metrics["aborted"] + metrics["idle"] == pytest.approx(1, abs=1e-12)
        assert metrics["idle"] >= -1e-12
    table = schedule.runs
    work = table.groupby("job_id")["work_s"].sum()
    for job_id, done in table[table["outcome"] == 0].groupby("job_id"):
        row = int(job_id) - 1
        before = max(case["window"][0] - case["rows"][row][0], 0)
        assert len(done) == 1  # nobody runs again after its end
        # a job does its work once: all of it, or what it had left when the window began
        least = case["rows"][row][1] - before
        close = len(table) * rounding_s(schedule.window[1])
        assert least - close <= work[job_id] <= case["rows"][row][1] + close
    if all(change.mode != "drain" for change in changes):  # as many machines are on as the table says
        begin, end = schedule.window
        # Not at the end: machines that come back just then, and those that stay off, are both off up to there.
        for at in (begin, *(each.time_s for each in changes if begin <= each.time_s < end)):
            assert schedule.capacity.machines_at(at) == [each.machines for each in changes if each.time_s <= at][-1]
    if saved is None and all(change.mode == "kill" for change in changes):
        lost = table[(table["outcome"] == 2) & table["end_s"].notna()]
        assert (lost["work_s"] == 0).all()  # killed jobs run again from their start


@given(announced(), st.booleans())
@settings(max_examples=40)
def test_both_engines_end_an_open_window_alike(drawn: Any, default: bool) -> None:
    case, changes, saved = drawn
    case = {**case, "window": None if default else (case["window"][0], np.inf)}
    compiled = simulated(case, "compiled", changes, checkpoints=saved).validate()
    simpy = simulated(case, "simpy", changes, checkpoints=saved)
    assert_identical(compiled, simpy)
    if default:
        assert compiled.window[0] == min(submit for submit, _, _ in case["rows"])


@given(cases(), st.integers(0, 5))
@settings(max_examples=30)
def test_drawn_fill_orders_and_removals_are_those_of_the_seed(case: dict[str, Any], seed: int) -> None:
    for unaware in ("shuffled_fill", "random_kill"):
        drawn = {**case, "heuristic": "FirstFit", "options": {"aware": False, "unaware": unaware}}
        compiled = simulated(drawn, "compiled", seed=seed).validate()
        assert_identical(compiled, simulated(drawn, "simpy", seed=seed))
        if unaware == "shuffled_fill":
            order = stream(seed, "capacity", "fill").permutation(5).tolist()
            assert_is_slow(compiled, {**drawn, "options": {"fill_order": order}})
