# ruff: noqa: ANN401  options of any type are handed through
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from simmodels.capacity_schedule import CapacitySchedule
from simmodels.decisions.placement_options import PlacementOptions
from simmodels.errors import ImpossibleJobError, RequestError, UnknownNameError
from tests.naive_capacity import Naive

HEURISTICS = ("FirstFit", "TargetStretch", "TargetAsap", "PackedTargetAsap")


def workload(rows: list[tuple[float, float, int]]) -> sm.Workload:
    release, length, cores = np.array(rows, np.float64).reshape(-1, 3).T
    return sm.Workload(np.arange(1, len(rows) + 1), release, length, length, cores.astype(np.int64))


def runs(schedule: CapacitySchedule) -> list[tuple[int, int, float, float | None, int]]:
    table = schedule.attempts
    return [(each.job_id, each.machine, each.start_s, each.end_s, each.outcome) for each in table.itertuples()]


# -- drawn by hand -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_a_job_that_loses_its_machine_runs_again_from_its_start(engine: str) -> None:
    # machine 1 goes at 4 with job 2 on it, which goes on waiting before job 3
    jobs = workload([(0, 10, 2), (1, 5, 2), (2, 3, 2)])
    schedule = sm.simulate_on_machines(jobs, [(0, 2), (4, 1)], cores_per_machine=2, engine=engine)
    assert runs(schedule) == [(1, 0, 0, 10, 0), (2, 1, 1, 4, 2), (2, 0, 10, 15, 0), (3, 0, 15, 18, 0)]
    assert schedule.runs["lost_s"].tolist() == [0, 3, 0, 0]
    metrics = schedule.metrics()
    assert (metrics["kills"], metrics["mean_aborted_s"]) == (1, 3.0)
    offered = 2 * (2 * 4 + 14)
    assert metrics["goodput"] == pytest.approx(2 * (10 + 5 + 3) / offered)
    assert metrics["aborted"] == pytest.approx(2 * 3 / offered)


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        # from 10 on machine 1 takes no new job, so job 3 waits for machine 0; at 14 machine 1 goes
        ("kill", [(1, 0, 0, 12, 0), (2, 1, 0, 14, 2), (3, 0, 12, 15, 0), (2, 0, 15, 35, 0)]),
        ("drain", [(1, 0, 0, 12, 0), (2, 1, 0, 20, 0), (3, 0, 12, 15, 0)]),
        # 1 s of writing before 14: 13 s of 20 are saved, and coming back takes 2 s
        ("checkpoint", [(1, 0, 0, 12, 0), (2, 1, 0, 14, 2), (3, 0, 12, 15, 0), (2, 0, 15, 24, 0)]),
    ],
)
def test_what_notice_is_good_for(mode: Any, engine: str, expected: list[tuple[float, ...]]) -> None:
    jobs = workload([(0, 12, 2), (0, 20, 1), (11, 3, 2)])
    capacity = [sm.CapacityChange(0, 2), sm.CapacityChange(14, 1, notice_s=4, mode=mode)]
    schedule = sm.simulate_on_machines(
        jobs,
        capacity,
        cores_per_machine=2,
        engine=engine,
        checkpoints=sm.Checkpoints(cost_s=1, restart_s=2),
        dispatch="event",
    )
    if mode != "drain":
        by_start = sorted(expected, key=lambda run: (run[2], run[0]))
        assert runs(schedule) == by_start
    else:
        assert runs(schedule) == expected
        assert schedule.capacity.machines.tolist() == [2, 1]
        assert schedule.capacity.time_s.tolist() == [0, 20]
    if mode == "checkpoint":
        assert schedule.runs["work_s"].tolist() == [12, 13, 3, 7]
    schedule.validate()


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_periodic_checkpoints_save_whole_intervals(engine: str) -> None:
    # 20 s of work, one written after each 5 s for 1 s: 23 s; cut at 14, two were written whole
    schedule = sm.simulate_on_machines(
        workload([(0, 20, 1)]),
        [(0, 1), (14, 0), (30, 1)],
        cores_per_machine=1,
        engine=engine,
        checkpoints=sm.Checkpoints(interval_s=5, cost_s=1, restart_s=2),
    )
    assert runs(schedule) == [(1, 0, 0, 14, 2), (1, 0, 30, 30 + 2 + 10 + 1, 0)]
    assert schedule.runs["work_s"].tolist() == [10, 10]


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_a_job_that_ran_before_the_window_restarts_whole(engine: str) -> None:
    jobs = workload([(0, 30, 1)])
    schedule = sm.simulate_on_machines(
        jobs, [(0, 1), (20, 0), (25, 1)], cores_per_machine=1, window_s=(10, 100), engine=engine
    )
    assert runs(schedule) == [(1, 0, 10, 20, 2), (1, 0, 25, 55, 0)]
    whole, partial = schedule.metrics(), schedule.metrics(warm_credit="partial")
    assert whole["goodput"] == pytest.approx(30 / 85)
    assert partial["goodput"] == pytest.approx(20 / 85)


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_notice_of_a_change_after_the_window_counts_in_it(engine: str) -> None:
    # from 17 on machine 1 takes no new job; that it goes at 25 is beyond the window
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(25, 1, notice_s=8), sm.CapacityChange(30, 0)]
    jobs = workload([(0, 18, 1), (0, 30, 1), (17, 5, 1)])
    jobs_of_one = {"cores_per_machine": 1, "window_s": (0, 20), "engine": engine}
    schedule = sm.simulate_on_machines(jobs, changes, **jobs_of_one)  # type: ignore[arg-type]
    assert [run[:3] for run in runs(schedule)] == [(1, 0, 0), (2, 1, 0), (3, 0, 18)]


# -- both clocks, and the slow scheduler -----------------------------------------------------------------

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


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(
        st.lists(st.tuples(st.integers(0, 120), st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=25)
    )
    times = draw(st.lists(st.integers(1, 160), unique=True, max_size=8))
    machines = [draw(st.integers(1, 5)), *(draw(st.integers(0, 5)) for _ in times)]
    heuristic = draw(st.sampled_from(HEURISTICS))
    if heuristic == "FirstFit":
        order = draw(st.none() | st.permutations(range(5)).map(tuple))
        options = {"dispatch": draw(st.sampled_from(["event", "instant"])), "fill_order": order}
    else:
        options = {name: draw(st.sampled_from(values)) for name, values in CHOICES[heuristic].items()}
    begin = draw(st.sampled_from([0, 20]))
    return {
        "rows": sorted((float(r), float(w), c) for r, w, c in rows),
        "steps": [(0.0, machines[0]), *zip(map(float, sorted(times)), machines[1:], strict=True)],
        "heuristic": heuristic,
        "options": options,
        "window": (float(begin), float(draw(st.integers(begin + 1, 250)))),
        "reference": draw(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=6)),
    }


def simulated(case: dict[str, Any], engine: Any, capacity: Any = None, **more: Any) -> CapacitySchedule:
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


def assert_same(one: CapacitySchedule, other: CapacitySchedule) -> None:
    pd.testing.assert_frame_equal(one.attempts, other.attempts, check_exact=True)
    assert one.capacity.time_s.tolist() == other.capacity.time_s.tolist()
    assert one.capacity.machines.tolist() == other.capacity.machines.tolist()
    pd.testing.assert_frame_equal(one.dark, other.dark, check_exact=True)
    np.testing.assert_equal(one.metrics(), other.metrics())


@given(cases())
@settings(max_examples=40)
def test_both_clocks_are_the_slow_scheduler(case: dict[str, Any]) -> None:
    compiled, simpy = simulated(case, "compiled"), simulated(case, "simpy")
    assert_same(compiled, simpy)
    assert_is_slow(compiled, case)


@pytest.mark.parametrize("heuristic", ["TargetStretch", "TargetAsap", "PackedTargetAsap"])
@pytest.mark.parametrize("seed", range(4))
def test_the_compiled_clock_is_the_slow_scheduler_with_lengths_of_all_sizes(heuristic: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    lengths = np.round(10 ** draw.uniform(-1, 3, 150), seed)  # also less than 1 s, and many that are equal
    rows = sorted(zip(draw.uniform(0, 600, 150), np.maximum(lengths, 0.5), draw.integers(1, 25, 150), strict=True))
    options = {name: values[draw.integers(len(values))] for name, values in CHOICES[heuristic].items()}
    case = {
        "rows": [(float(r), float(w), int(c)) for r, w, c in rows],
        "steps": [(float(40 * k), int(draw.integers(2, 10))) for k in range(20)],
        "heuristic": heuristic,
        "options": options,
        "window": (0.0, 1000.0),
        "reference": [
            (int(w), int(c)) for w, c in zip(draw.integers(1, 1000, 50), draw.integers(1, 25, 50), strict=True)
        ],
        "size": 24,
        "machines": 9,
    }
    assert_is_slow(simulated(case, "compiled"), case)


def assert_is_slow(schedule: CapacitySchedule, case: dict[str, Any]) -> None:
    options = {{"search": "bound"}.get(name, name): value for name, value in case["options"].items()}
    if "bound" in options:
        options["bound"] = {"used": "used", "open": "alive"}[options["bound"]]
    order = options.pop("fill_order", None)
    slow = Naive(
        case["rows"],
        case["steps"],
        case.get("size", 4),
        case["heuristic"],
        *case["window"],
        options.pop("least_machines", 1),
        [(float(w), c) for w, c in case["reference"]],
        options,
        list(order) if order else list(range(case.get("machines", 5))),
    ).simulate()
    outcome = {"done": 0, "killed": 2, "running": 2}
    must = [(run.job + 1, run.machine, run.start, run.end, outcome[run.outcome]) for run in slow.attempts]
    must = [
        run if each.outcome != "running" else (*run[:3], None, 2) for run, each in zip(must, slow.attempts, strict=True)
    ]
    got = [(*run[:3], None if np.isnan(run[3]) else run[3], run[4]) for run in runs(schedule)]
    assert got == sorted(must, key=lambda run: (run[2], run[0]))


@st.composite
def announced(draw: st.DrawFn) -> tuple[dict[str, Any], list[sm.CapacityChange], sm.Checkpoints | None]:
    case = draw(cases())
    modes = st.sampled_from(["kill", "drain", "checkpoint"])
    changes = [
        sm.CapacityChange(time, machines, notice_s=draw(st.sampled_from([0, 0, 3, 10, 40])), mode=draw(modes))
        for time, machines in case["steps"]
    ]
    saved = draw(
        st.none()
        | st.builds(
            sm.Checkpoints,
            interval_s=st.sampled_from([np.inf, 4.0, 7.5]),
            cost_s=st.sampled_from([0.0, 1.0, 5.0]),
            restart_s=st.sampled_from([0.0, 2.0]),
        )
    )
    return case, changes, saved


@given(announced())
@settings(max_examples=40)
def test_both_clocks_agree_with_notice_and_checkpoints(drawn: Any) -> None:
    case, changes, saved = drawn
    compiled = simulated(case, "compiled", changes, checkpoints=saved)
    assert_same(compiled, simulated(case, "simpy", changes, checkpoints=saved))
    compiled.validate()


@given(announced())
@settings(max_examples=40)
def test_what_must_hold_whatever_comes_and_goes(drawn: Any) -> None:
    case, changes, saved = drawn
    schedule = simulated(case, "compiled", changes, checkpoints=saved).validate()  # nothing runs on a dark machine
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
        assert least - 1e-9 <= work[job_id] <= case["rows"][row][1] + 1e-9
    if all(change.mode != "drain" for change in changes):  # as many machines are on as the table says
        begin, end = schedule.window
        for at in (begin, *(each.time_s for each in changes if begin <= each.time_s <= end)):
            assert schedule.capacity.machines_at(at) == [each.machines for each in changes if each.time_s <= at][-1]
    if saved is None and all(change.mode == "kill" for change in changes):
        lost = table[(table["outcome"] == 2) & table["end_s"].notna()]
        assert (lost["work_s"] == 0).all()  # killed jobs run again from their start


@given(announced(), st.booleans())
@settings(max_examples=40)
def test_both_clocks_end_an_open_window_alike(drawn: Any, default: bool) -> None:
    case, changes, saved = drawn
    case = {**case, "window": None if default else (case["window"][0], np.inf)}
    compiled = simulated(case, "compiled", changes, checkpoints=saved).validate()
    simpy = simulated(case, "simpy", changes, checkpoints=saved)
    assert_same(compiled, simpy)
    assert compiled.window == simpy.window
    if default:
        assert compiled.window[0] == min(submit for submit, _, _ in case["rows"])


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_an_open_window_goes_from_the_first_submit_to_the_last_end(engine: Any) -> None:
    jobs = workload([(1000, 10, 1), (1005, 20, 1)])
    schedule = sm.simulate_on_machines(jobs, [(0, 1), (5000, 2)], cores_per_machine=2, engine=engine)
    assert schedule.window == (1000, 1025)
    assert schedule.metrics()["goodput"] == 30 / 50
    assert len(schedule.capacity) == 1
    dark = sm.simulate_on_machines(jobs, [(0, 1), (1020, 0), (3000, 0)], cores_per_machine=2, engine=engine)
    assert dark.window == (1000, 3000), "the second job waits for ever"
    assert dark.end_s[0] == 1010


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_notices_that_overlap_leave_on_what_the_table_says(engine: Any) -> None:
    changes = [sm.CapacityChange(0, 3), sm.CapacityChange(100, 2), sm.CapacityChange(150, 1, notice_s=90)]
    jobs = workload([(0, 300, 1), (0, 300, 1), (0, 300, 1), (70, 40, 1), (120, 10, 1)])
    schedule = sm.simulate_on_machines(jobs, changes, cores_per_machine=1, window_s=(0, 400), engine=engine)
    assert schedule.dark.to_numpy().tolist() == [[1, 150, 400], [2, 100, 400]]
    rows = schedule.runs[["job_id", "machine", "start_s"]].to_numpy().tolist()
    assert rows[:3] == [[1, 0, 0], [2, 1, 0], [3, 2, 0]]
    assert rows[3:] == [[2, 0, 300]], "from 60 s on, machines 1 and 2 take no job"


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize(("notice", "kept"), [(150, 240), (60, 240), (59, 0)])
def test_a_checkpoint_takes_a_notice_that_is_long_enough(engine: Any, notice: float, kept: float) -> None:
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(300, 1, notice_s=notice, mode="checkpoint")]
    schedule = sm.simulate_on_machines(
        workload([(0, 500, 2), (0, 500, 2)]),
        changes,
        cores_per_machine=2,
        window_s=(0, 1000),
        checkpoints=sm.Checkpoints(cost_s=60.0),
        engine=engine,
    )
    first = schedule.runs.query("job_id == 2").iloc[0]
    assert (first["end_s"], first["work_s"]) == (300, kept)


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_notice_that_was_given_before_the_window_counts_in_full(engine: Any) -> None:
    changes = [sm.CapacityChange(0, 2), sm.CapacityChange(240, 1, notice_s=100, mode="checkpoint")]
    schedule = sm.simulate_on_machines(
        workload([(100, 500, 2), (101, 500, 2), (200, 500, 2)]),
        changes,
        cores_per_machine=2,
        window_s=(200, 2000),
        checkpoints=sm.Checkpoints(cost_s=60.0),
        engine=engine,
    )
    rows = schedule.runs[["job_id", "machine", "start_s", "end_s", "work_s"]].to_numpy().tolist()
    # job 2 ran from 101 s on; at 240 s it has written what it had done at 180 s, which is before the window
    assert rows[:2] == [[1, 0, 200, 600, 400], [2, 1, 200, 240, 0]]
    assert rows[2] == [2, 0, 600, 600 + 500 - (240 - 60 - 101), 500 - (240 - 60 - 101)]


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_how_many_machines_are_used_at_first(engine: Any) -> None:
    """With nothing that ran before, the first job finds M- machines used, or the middle between these and all."""
    reference = workload([(0, 10, 1), (0, 100, 1)])
    for initial, machine in (("least", 0), ("middle", 4)):
        schedule = sm.simulate_on_machines(
            workload([(5, 10, 1)]),
            [(0, 9), (50, 1)],
            cores_per_machine=1,
            heuristic="TargetAsap",
            reference=reference,
            category="ge",
            initial_use=initial,
            window_s=(0, 40),
            least_machines=1,
            engine=engine,
        )
        assert schedule.runs["machine"].tolist() == [machine]


@given(cases(), st.integers(0, 5))
@settings(max_examples=30)
def test_drawn_fill_orders_and_removals_are_those_of_the_seed(case: dict[str, Any], seed: int) -> None:
    for unaware in ("shuffled_fill", "random_kill"):
        drawn = {**case, "heuristic": "FirstFit", "options": {"aware": False, "unaware": unaware}}
        compiled = simulated(drawn, "compiled", seed=seed).validate()
        assert_same(compiled, simulated(drawn, "simpy", seed=seed))


@given(cases())
@settings(max_examples=20)
def test_an_observer_changes_nothing(case: dict[str, Any]) -> None:
    def schedule(*, observed: bool) -> CapacitySchedule:
        env = sm.Environment(start_s=case["window"][0])
        cluster = sm.Cluster(env, "green", machines=5, cores_per_machine=4)
        sm.TraceCapacity(env, cluster, case["steps"])
        scheduler = sm.FirstFit(env, cluster)
        sm.Source(env, workload(case["rows"]), into=scheduler, window_s=case["window"])
        recorder = sm.Recorder(env)
        seen: list[object] = []
        if observed:
            for happening in ("submitted", "started", "ended", "powered"):
                env.on(happening, seen.append)
        env.run(until=env.end_of(case["window"][1]))
        made = recorder.schedule()
        assert isinstance(made, CapacitySchedule)
        return made

    assert_same(schedule(observed=False), schedule(observed=True))


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize("cores", [10**9, 2**53])
def test_a_machine_may_be_as_wide_as_can_be_counted(engine: Any, cores: int) -> None:
    jobs = workload([(0, 5, cores), (0, 5, cores // 2), (1, 5, cores // 2), (1, 5, 1)])
    options = {"heuristic": "TargetAsap", "reference": jobs, "engine": engine}
    schedule = sm.simulate_on_machines(jobs, [(0, 1)], cores_per_machine=cores, **options)  # type: ignore[arg-type]
    assert schedule.start_s.tolist() == [0, 5, 5, 10]


def test_a_schedule_is_pickled_whole() -> None:
    schedule = sm.simulate_on_machines(workload([(0, 5, 1)]), [(0, 1)], cores_per_machine=1)
    assert_same(pickle.loads(pickle.dumps(schedule)), schedule)


def test_another_process_with_another_hash_seed_finds_the_same() -> None:
    program = (
        "import simmodels as sm, workloads as wl\n"
        "jobs = wl.risky_jobs('LogScale', weeks=0.01, seed=3)\n"
        "walk = wl.capacity_walk(until_s=7000, period_s=100, seed=3)\n"
        "for engine in ('compiled', 'simpy'):\n"
        "    made = sm.simulate_on_machines(jobs, walk, cores_per_machine=24, window_s=(0, 7000), engine=engine,\n"
        "        aware=False, seed=4)\n"
        "    print(made.attempts.to_csv())\n"
    )
    outs = [
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("0", "1")
    ]
    assert outs[0] == outs[1]
    assert len(outs[0]) > 1000


# -- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_bad_requests_are_refused_in_one_sentence(engine: Any) -> None:
    jobs = workload([(0, 5, 2)])

    def ask(capacity: Any = ((0, 1),), **options: Any) -> None:
        sm.simulate_on_machines(jobs, list(capacity), **{"cores_per_machine": 2, "engine": engine, **options})

    with pytest.raises(ImpossibleJobError, match="job 1: needs 2 cores, and the machine has 1"):
        ask(cores_per_machine=1)
    with pytest.raises(UnknownNameError, match="unknown heuristic 'Target'"):
        ask(heuristic="Target")
    with pytest.raises(UnknownNameError, match="unknown option 'awere'; did you mean aware"):
        ask(awere=True)
    with pytest.raises(RequestError, match="TargetAsap without a reference"):
        ask(heuristic="TargetAsap")
    with pytest.raises(RequestError, match="option dispatch with TargetAsap"):
        ask(heuristic="TargetAsap", reference=jobs, dispatch="event")
    with pytest.raises(RequestError, match="a capacity of 3 machines; 1 are allowed"):
        ask([(0, 3)], machines=1)
    with pytest.raises(RequestError, match=r"row 1: time_s 0 after 0"):
        ask([(0, 1), (0, 2)])
    with pytest.raises(RequestError, match="a fill order of 2 machines"):
        ask(fill_order=(0, 1))
    with pytest.raises(RequestError, match="window 5 to 5 s"):
        ask(window_s=(5, 5))


OTHERS = {
    "TargetStretch": ("stay_on_target", "requeue_immediate", "packing", "aware"),
    "TargetAsap": ("alternative", "pack_size", "unaware"),
    "PackedTargetAsap": ("alternative", "dispatch"),
    "FirstFit": ("distance", "alternative", "stay_on_target", "reference"),
}


@pytest.mark.parametrize("heuristic", OTHERS)
def test_an_option_that_would_change_nothing_is_refused(heuristic: Any) -> None:
    jobs = workload([(0, 5, 2)])
    options: dict[str, Any] = {} if heuristic == "FirstFit" else {"reference": jobs}
    values = {name: values[0] for each in CHOICES.values() for name, values in each.items()}
    values |= {"aware": False, "unaware": "random_kill", "dispatch": "event", "reference": jobs}
    for name in OTHERS[heuristic]:
        with pytest.raises(RequestError, match=f"option {name} with {heuristic}; it is one of another heuristic"):
            PlacementOptions.checked(heuristic, **options, **{name: values[name]})
    kept = PlacementOptions.checked(heuristic, **options).about()
    assert not set(OTHERS[heuristic]) & set(kept)


def test_how_first_fit_is_unaware_is_said_only_where_it_is() -> None:
    jobs = workload([(0, 5, 2)])
    for options in ({"aware": True}, {}):
        with pytest.raises(RequestError, match="option unaware of first fit that is aware; aware=False is needed"):
            sm.simulate_on_machines(jobs, [(0, 1)], cores_per_machine=2, unaware="random_kill", **options)


TARGETS = {"heuristic": "TargetAsap", "reference": workload([(0, 5, 2)])}
PACKS = {**TARGETS, "heuristic": "PackedTargetAsap"}


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"cores_per_machine": True}, "cores_per_machine is True; 1 to 2^53 is allowed, in whole numbers"),
        ({"cores_per_machine": np.inf}, "cores_per_machine is inf; 1 to 2^53 is allowed, in whole numbers"),
        ({"cores_per_machine": "2"}, "cores_per_machine is '2'; 1 to 2^53 is allowed, in whole numbers"),
        ({"machines": 2.5}, "machines is 2.5; 1 to 2^53 is allowed, in whole numbers"),
        ({"seed": 0.5}, "seed is 0.5; an integer >= 0 is allowed"),
        ({"aware": "no"}, "aware is 'no'; True or False is allowed"),
        ({"fill_order": (0, "1")}, "fill_order is (0, '1'); None or the numbers of the machines are allowed"),
        ({"checkpoints": 60}, "checkpoints is 60; a Checkpoints is allowed"),
        ({**TARGETS, "distance": np.inf}, "distance is inf; a whole number >= 0 is allowed"),
        ({**TARGETS, "distance": None}, "distance is None; a whole number >= 0 is allowed"),
        ({**TARGETS, "distance": 1e300}, "distance is 1e+300; a whole number >= 0 and <= 2^53 is allowed"),
        ({**TARGETS, "least_machines": -1}, "least_machines is -1; a whole number >= 0 is allowed"),
        ({**TARGETS, "raise_above": "1"}, "raise_above is '1'; a number is allowed"),
        ({**TARGETS, "length_cap_s": np.nan}, "length_cap_s is nan; a number is allowed"),
        ({**TARGETS, "requeue_immediate": 1}, "requeue_immediate is 1; True or False is allowed"),
        ({**TARGETS, "reference": "jobs"}, "reference is 'jobs'; a Workload is allowed"),
        ({**PACKS, "pack_size": None}, "pack_size is None; a whole number >= 1 is allowed"),
        ({**PACKS, "pack_size": 0}, "pack_size is 0; a whole number >= 1 is allowed"),
    ],
)
def test_a_value_of_another_type_or_range_is_refused_in_one_sentence(
    options: dict[str, Any], what: str, engine: Any
) -> None:
    asked: dict[str, Any] = {"cores_per_machine": 2, "machines": 2, "engine": engine, **options}
    with pytest.raises(RequestError) as error:
        sm.simulate_on_machines(workload([(0, 5, 2)]), [(0, 2)], **asked)
    assert str(error.value) == what


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_whole_numbers_of_any_type_are_the_same(engine: Any) -> None:
    jobs = workload([(0, 10, 2), (1, 5, 2), (2, 3, 2)])

    def schedule(of: Any, **options: Any) -> CapacitySchedule:
        asked: dict[str, Any] = {**TARGETS, "distance": of(3), "least_machines": of(1), **options}
        sizes: dict[str, Any] = {"cores_per_machine": of(2), "machines": of(2)}
        return sm.simulate_on_machines(jobs, [(0, 2), (4, 1)], **sizes, engine=engine, **asked)

    for of in (float, np.float64, np.int32):
        assert_same(schedule(of), schedule(int))
    assert_same(schedule(int, distance=2**53), schedule(int))  # as far as there are machines
    env = sm.Environment()
    cluster = sm.Cluster(env, "green", machines=2.0, cores_per_machine=np.float64(2))  # type: ignore[arg-type]
    assert [each.cores for each in cluster.machines] == [2, 2]
    assert all(type(each.cores) is int for each in cluster.machines)


def test_the_schedulers_refuse_what_the_function_refuses() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "green", machines=2, cores_per_machine=2)
    with pytest.raises(RequestError, match="aware is 'no'; True or False is allowed"):
        sm.FirstFit(env, cluster, aware="no")
    with pytest.raises(RequestError, match="distance is inf; a whole number >= 0 is allowed"):
        sm.TargetStretch(env, cluster, reference=workload([(0, 5, 2)]), distance=np.inf)
    with pytest.raises(RequestError, match="option alternative with PackedTargetAsap"):
        sm.PackedTargetAsap(env, cluster, reference=workload([(0, 5, 2)]), alternative="first")
    for removes in ("lowest", None):
        with pytest.raises(UnknownNameError, match=f"unknown removes '{removes}'; .*known: highest, random"):
            sm.TraceCapacity(env, cluster, [(0, 2)], removes=removes)  # type: ignore[arg-type]
        with pytest.raises(UnknownNameError, match=f"unknown removes '{removes}'; .*known: highest, random"):
            sm.CapacityProcess(env, cluster, machines=2, removes=removes)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", ["compiled", "simpy"])
def test_jobs_of_one_number_are_refused_before_anything_runs(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    log = sm.Workload(np.array([7, 8, 7, 9, 9]), np.array([0, 1, 2, 50, 60]), *np.full((2, 5), 5.0), np.ones(5))

    def ask(window: tuple[float, float]) -> CapacitySchedule:
        return sm.simulate_on_machines(log, [(0, 1)], cores_per_machine=1, window_s=window, engine=engine)

    with pytest.raises(RequestError, match="2 jobs have the number 9; 1 is allowed"):
        ask((20, 55))  # the other one is submitted later, but an attempt would not say which ran
    assert len(ask((10, 20)).attempts) == 0  # neither is there
    for clock in ("replay_on_machines", "Environment"):
        monkeypatch.setattr(sys.modules["simmodels.simulate_on_machines"], clock, None)
    with pytest.raises(RequestError, match="2 jobs have the number 7; 1 is allowed"):
        ask((0, 20))


def test_an_order_and_easy_run_on_machines_that_come_and_go() -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "green", machines=2, cores_per_machine=2)
    sm.TraceCapacity(env, cluster, [(0, 2), (4, 1), (8, 2)])
    scheduler = sm.QueueScheduler(env, cluster, order="FCFS", backfilling="easy")
    sm.Source(env, workload([(0, 10, 2), (1, 5, 2), (2, 2, 2)]), into=scheduler)
    recorder = sm.Recorder(env)
    env.run()
    schedule = recorder.schedule(window_s=(0, 20))
    assert runs(schedule) == [(1, 0, 0, 10, 0), (2, 1, 1, 4, 2), (2, 1, 8, 13, 0), (3, 0, 10, 12, 0)]
    assert schedule.metrics()["kills"] == 1
