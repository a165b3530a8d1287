"""No public name answers an argument of a wrong type with an error of Python's own."""

import faulthandler
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pytest

import simmodels as sm
import workloads as wl
from simmodels.errors import SimModelsError
from simmodels.policies.queue_options import QueueOptions
from simmodels.policies.registry import BIDS, ORDERS
from tests.attacks.files import readers

WRONG: Final = (None, "x", b"x", 1.5, -1, float("nan"), [], [None], {}, json, np.zeros((2, 2)), pd.DataFrame())
"""What stands in turn for each argument of each public name."""

Call = tuple[tuple[Any, ...], dict[str, Any]]
Made = TypeVar("Made")
TWO: Final = {"machines": 2, "cores_per_machine": 4}
JOBS: Final = wl.lublin(jobs=12, cores=8, seed=1, load=0.8)
THREE_WEEKS: Final = sm.Workload.from_frame(JOBS.to_frame().assign(submit_s=np.linspace(0, 3 * sm.WEEK, 12)))
FLOW: Final = sm.Workflow(1, 0.0, [10.0, 20.0], 2, [(0, 1)])
SCHEDULE: Final = sm.simulate(JOBS)
PAIR: Final = sm.draw_pairs(JOBS, 1, cores=8, initial_jobs=2, trial_jobs=3)[0]
SCORES: Final = sm.score_jobs(PAIR, 64)


@pytest.fixture(autouse=True)
def registries_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other tests not meet the orders and bids that are made here."""
    for registry in (ORDERS, BIDS):
        monkeypatch.setattr(registry, "users", dict(registry.users))


def call(*args: object, **kwargs: object) -> Call:
    return args, kwargs


def with_cluster(make: Callable[[sm.Environment, sm.Cluster], Made], **size: int) -> Made:
    env = sm.Environment()
    return make(env, sm.Cluster(env, "a", **(size or {"cores": 8})))


def queue() -> sm.QueueScheduler:
    return with_cluster(sm.QueueScheduler)


CALLS: Final[Mapping[str, Callable[[], Call]]] = {
    "Ahead": lambda: call("queue", {1: 60.0}, name="mine"),
    "Auctioneer": lambda: with_cluster(lambda at, a: call(at, [a], bid="SRTF", tick_s=1.0)),
    "Bid": lambda: call("mine", lambda cores: cores),
    "Capacity": lambda: call([0.0, 5.0], [2, 1], 0.0, "kill"),
    "CapacityChange": lambda: call(0.0, 2, 1.0, "kill"),
    "CapacityProcess": lambda: with_cluster(lambda at, a: call(at, a, machines=1), **TWO),
    "Checkpoints": lambda: call(interval_s=60.0, cost_s=1.0, restart_s=1.0),
    "Cluster": lambda: call(sm.Environment(), "a", **TWO, speed=1.0, kind=None, checkpoints=None),
    "Dependencies": lambda: with_cluster(lambda at, a: call(at, sm.QueueScheduler(at, a))),
    **dict.fromkeys(
        ("EXP3", "EpsilonGreedy", "FullFeedback", "RandomOrder", "UCB1"), lambda: call(choices=["FCFS", "SAF"])
    ),
    **dict.fromkeys(
        ("ByColumn", "EarliestStart", "LeastLoaded", "RoundRobin"),
        lambda: with_cluster(lambda at, a: call(at, [sm.QueueScheduler(at, a)])),
    ),
    "Environment": lambda: call(seed=1, start_s=0.0),
    "FailureLaw": lambda: call(mtbf_s=60.0, repair_s=10.0, shape=1.0),
    "Failures": lambda: with_cluster(lambda at, a: call(at, a, mtbf_s=60.0, repair_s=10.0, shape=1.0), **TWO),
    "FirstFit": lambda: with_cluster(lambda at, a: call(at, a, aware=True), **TWO),
    "Job": lambda: call(1, 0.0, 10.0, 10.0, 2),
    "Machines": lambda: call(2, 4, speed=1.0),
    "Maintenance": lambda: with_cluster(lambda at, a: call(at, a, machines=[0], start_s=1.0, duration_s=5.0), **TWO),
    "Limit": lambda: call(by="user", value=17, jobs=4, cores=64, core_minutes=10.0, walltime_s=60.0),
    "Limits": lambda: call([{"by": "user", "jobs": 4}]),
    "MaintenanceWindow": lambda: call(start_s=1.0, duration_s=5.0, machines=[0], notice_s=1.0, mode="kill"),
    "MarkovCapacity": lambda: with_cluster(lambda at, a: call(at, a, low=1, high=2, step=1, period_s=60.0), **TWO),
    "Order": lambda: call("mine", lambda cores: cores),
    **dict.fromkeys(
        ("PackedTargetAsap", "TargetAsap", "TargetStretch"),
        lambda: with_cluster(lambda at, a: call(at, a, reference=JOBS), machines=2, cores_per_machine=8),
    ),
    "Power": lambda: call(machine_w=100.0, core_w=5.0),
    "QueueScheduler": lambda: with_cluster(
        lambda at, a: call(at, a, order="SAF", backfilling="easy", threshold_s=60.0, queue_depth=5)
    ),
    "Recorder": lambda: with_cluster(call),
    "Schedule": lambda: call(JOBS, 8, SCHEDULE.start_s, SCHEDULE.end_s),
    "Scheduler": lambda: with_cluster(call),
    "Share": lambda: call(account="a", user=1, shares=2, parent="root", raw_usage=5.0),
    "Shares": lambda: call([sm.Share(account="root", user=1)], half_life_s=60.0, period_s=10.0),
    "Signal": lambda: call([0.0, 1.0], [1.0, 2.0]),
    "Site": lambda: call(name="a", **TWO, kind=None, checkpoints=None),
    "SleepPolicy": lambda: call(after_s=60.0, boot_s=10.0, awake=1),
    "SleepWhenIdle": lambda: with_cluster(lambda at, a: call(at, a, after_s=60.0), **TWO),
    "Source": lambda: with_cluster(lambda at, a: call(at, JOBS, into=sm.QueueScheduler(at, a), window_s=None)),
    "Task": lambda: call(10.0, 2, None, "fft"),
    "Terms": call,
    "TraceCapacity": lambda: with_cluster(lambda at, a: call(at, a, [(0, 1)]), **TWO),
    "Tuner": lambda: with_cluster(
        lambda at, a: call(at, sm.QueueScheduler(at, a), sm.RandomOrder(choices=["FCFS", "SAF"]))
    ),
    "ValueCurve": lambda: call([(1.0, 1.0), (2.0, 0.0)]),
    "Workflow": lambda: call(1, 0.0, [10.0, 20.0], [2, 1], [(0, 1)], None, max_value=None, task_names=(), name="a"),
    "Workload": lambda: call(JOBS.job_id, JOBS.submit_s, JOBS.runtime_s, JOBS.estimate_s, JOBS.cores),
    "all_done": lambda: call(sm.Environment()),
    "as_logged": lambda: call(sm.Workload.from_frame(JOBS.to_frame().assign(wait_s=0.0)), cores=80),
    "bid": lambda: call(lambda cores: cores, name="mine"),
    "bids": call,
    "draw_pairs": lambda: call(JOBS, 1, cores=8, initial_jobs=2, trial_jobs=3, seed=1),
    "fit_polynomial": lambda: call(SCORES, ["p"]),
    "order": lambda: call(lambda cores: cores, name="mine", formula="", source=""),
    "orders": call,
    "static_schedule": lambda: call(FLOW, [("a", 4)]),
    "replay_tuned": lambda: call(JOBS, sm.UCB1(choices=["FCFS", "SAF"]), cores=8, options=QueueOptions.checked()),
    "run_trials": lambda: call(PAIR, [[0, 1, 2]]),
    "score_jobs": lambda: call(PAIR, 64, seed=1),
    "simulate": lambda: call(JOBS, cores=8, order="SAF", backfilling="easy", threshold_s=60.0, engine="auto", seed=0),
    "simulate_many": lambda: call([JOBS], ["SAF"], cores=8, tau_s=10.0, seed=0, workers=1, threshold_s=60.0),
    "simulate_on_machines": lambda: call(JOBS, [(0, 2)], cores_per_machine=8, heuristic="FirstFit", seed=0),
    "simulate_workflows": lambda: call([FLOW], clusters=[("a", 4)], bid="SRTF", tick_s=1.0, ccr=0.2),
    "young_daly_s": lambda: call(60.0, 3600.0),
    "LublinParameters": call,
    "MarketParameters": call,
    "TsafrirParameters": call,
    "arrivals": lambda: call([FLOW], 3, gap_s=60.0, poisson=False, seed=1, tick_s=1.0),
    "at_load": lambda: call([FLOW], load=0.5, cores=8),
    "batsim_jobs": lambda: call(SCHEDULE),
    "capacity_from": lambda: call(pd.DataFrame({"time_s": [0.0, 60.0], "value": [4.0, 2.0]}), per_machine=1.0, most=5),
    "capacity_walk": lambda: call(mean=4, radius=4, until_s=600.0, period_s=60.0, seed=1),
    "cholesky": lambda: call(2, runtime_s=10.0, seed=1),
    "clean": lambda: call(JOBS, "strong", cores=8),
    "erdos_renyi_levels": lambda: call([1, 2], 0.5, runtime_s=10.0, seed=1),
    "fork_join": lambda: call(2, 1, runtime_s=10.0, seed=1),
    "layers": lambda: call(5, runtime_s=10.0, seed=1),
    "lublin": lambda: call(12, 8, seed=1, load=0.8),
    "market_workload": lambda: call(5, load=0.5, cores=4000, seed=1),
    "mean_length_s": lambda: call(20000, 24, 26.0),
    "read": lambda: call("log.swf", name="a"),
    "read_batsim": lambda: call("batsim.json", flops_per_s=None, name="a"),
    "read_borg_slice": lambda: call("slice.txt", name="a"),
    "read_dax": lambda: call("flow.dax", tick_s=1.0),
    "read_sacct": lambda: call("jobs.sacct", keep="last", timezone="Europe/Berlin"),
    "read_series": lambda: call("series.csv", column=None),
    "read_swf": lambda: call("log.swf", name="a"),
    "read_wfformat": lambda: call("flow.json", tick_s=1.0, kind="a", cores=2),
    "read_workflows": lambda: call("flows", tick_s=1.0),
    "resample": lambda: call(THREE_WEEKS, weeks=1, seed=1),
    "variable_capacity_jobs": lambda: call("Uniform", weeks=0.01, jobs_per_week=1000, load=26.0, seed=1),
    "tsafrir_estimates": lambda: call(JOBS, seed=1),
    "write_batsim_jobs": lambda: call(SCHEDULE, "jobs.csv"),
    "write_swf": lambda: call(JOBS, "written.swf"),
    "write_wfformat": lambda: call(FLOW, "written.json"),
}  # fmt: skip
"""A call of each public name that works, in a folder with the files of `files`."""

ON_MACHINES: Final = sm.simulate_on_machines(JOBS, [(0, 2)], cores_per_machine=8)
METHODS: Final[Mapping[str, Callable[[Any], object]]] = {
    "Capacity.known_by": lambda wrong: sm.Capacity.of([(0, 2)]).known_by(wrong),
    "Capacity.machine_seconds": lambda wrong: sm.Capacity.of([(0, 2)]).machine_seconds(wrong, 5),
    "Capacity.machines_at": lambda wrong: sm.Capacity.of([(0, 2)]).machines_at(wrong),
    "Capacity.of": sm.Capacity.of,
    "Capacity.repeat": lambda wrong: sm.Capacity.of([(0, 2)]).repeat(length_s=wrong, until_s=5),
    "Capacity.shift": lambda wrong: sm.Capacity.of([(0, 2)]).shift(wrong),
    "Environment.run": lambda wrong: sm.Environment().run(wrong),
    "Schedule.deciles": lambda wrong: sm.simulate_workflows([FLOW], clusters=[("a", 4)]).deciles(wrong),
    "Schedule.energy": ON_MACHINES.energy,
    "Schedule.energy, price": lambda wrong: ON_MACHINES.energy(sm.Power(1, 1), price_per_kwh=wrong),
    "Schedule.metrics": SCHEDULE.metrics,
    "Schedule.plot.gantt": lambda wrong: SCHEDULE.plot.gantt(start_s=wrong),
    "Schedule.plot.queue": lambda wrong: SCHEDULE.plot.queue(end_s=wrong),
    "Schedule.to_csv": SCHEDULE.to_csv,
    "Schedule.to_parquet": SCHEDULE.to_parquet,
    "Scheduler.reconfigure": lambda wrong: queue().reconfigure(order=wrong),
    "Scheduler.submit": lambda wrong: queue().submit(wrong),
    "ValueCurve.area": lambda wrong: sm.ValueCurve([(1, 1), (2, 0)]).area(wrong),
    "ValueCurve.factor": lambda wrong: sm.ValueCurve([(1, 1), (2, 0)]).factor(wrong),
    "Workflow.delay_s": FLOW.delay_s,
    "Workflow.from_graph": sm.Workflow.from_graph,
    "Workflow.of": lambda wrong: sm.Workflow.of(wrong, job_id=1, submit_s=0.0),
    "Workflow.upward_rank_s": lambda wrong: FLOW.upward_rank_s(tick_s=wrong),
    "Workload.between": lambda wrong: JOBS.between(wrong, 5.0),
    "Workload.concat": sm.Workload.concat,
    "Workload.from_frame": sm.Workload.from_frame,
    "Workload.head": JOBS.head,
    "Workload.of": sm.Workload.of,
    "Workload.of_workflows": sm.Workload.of_workflows,
    "Workload.runnable": JOBS.runnable,
    "Workload.scale_load": JOBS.scale_load,
    "Workload.shift": JOBS.shift,
    "Workload.take": JOBS.take,
}
"""Calls of methods that are no one's inner loop, by what is given to them."""

MADE_BY_THE_MODEL: Final = {
    *("Attempt", "Outcome", "Machine", "Placement", "TaskRun", "Router", "Strategy"),
    *("Polynomial", "Fit", "Pair", "ClusterSpec"),
    *("Submitted", "Routed", "Started", "Backfilled", "Reserved", "Ended", "Lost", "Priced", "Powered"),
    "WorkflowDone",
}
"""Records that a model hands out, and bases: nobody calls them."""


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return a file of each format."""
    good = {reader.name: reader.seeds[0] for reader in readers(tmp_path_factory.mktemp("good"))}
    names = {"batsim.json": "batsim", "slice.txt": "borg", "flow.dax": "dax", "jobs.sacct": "sacct"}
    names |= {"log.swf": "swf", "flow.json": "wfformat", "flows/flow.json": "wfformat"}
    series = b"time,value\n2024-01-01 00:00:00,4\n2024-01-01 00:01:00,2\n"
    return {"series.csv": series, **{name: good[format_name] for name, format_name in names.items()}}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: dict[str, bytes]) -> None:
    """Go to a folder with a file of each format."""
    monkeypatch.chdir(tmp_path)
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)


@pytest.fixture
def ends() -> Iterator[None]:
    """End the program, with where it is, if a call never ends: nothing else stops compiled code."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def raw(call: Callable[[object], object]) -> list[str]:
    """Return what a call raises for arguments of wrong types, of what is no sentence of ours."""
    found = []
    for wrong in WRONG:
        try:
            call(wrong)
        except Exception as error:  # noqa: BLE001  of whatever class
            if not isinstance(error, SimModelsError | OSError) or "\n" in str(error):
                found.append(f"{wrong!r}: {type(error).__name__}: {error}")
    return found


def public(name: str) -> Callable[..., object]:
    found: Callable[..., object] = getattr(sm if name in sm.__all__ else wl, name)
    return found


def called_with(name: str, at: int | str, value: object) -> object:
    """Call a public name with another value of one argument, by its place or its name."""
    args, kwargs = CALLS[name]()
    if isinstance(at, str):
        return public(name)(*args, **{**kwargs, at: value})
    return public(name)(*args[:at], value, *args[at + 1 :], **kwargs)


def test_each_public_name_that_can_be_called_has_a_call_here() -> None:
    names = {name for module in (sm, wl) for name in module.__all__}
    called = {name for name in names if callable(public(name))}
    errors = {name for name in called if isinstance(public(name), type) and issubclass(public(name), Exception)}
    assert called - errors - MADE_BY_THE_MODEL == set(CALLS)


@pytest.mark.usefixtures("files", "ends")
@pytest.mark.filterwarnings("ignore")  # of pandas and numpy, on the way to an error
@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_is_answered_in_one_sentence(name: str) -> None:
    args, kwargs = CALLS[name]()
    public(name)(*args, **kwargs)  # the call works
    found = {at: raw(partial(called_with, name, at)) for at in (*range(len(args)), *kwargs)}
    assert not any(found.values()), found


@pytest.mark.usefixtures("files", "ends")
@pytest.mark.filterwarnings("ignore")  # as above
@pytest.mark.parametrize("name", METHODS)
def test_a_method_answers_a_wrong_type_in_one_sentence(name: str) -> None:
    assert raw(METHODS[name]) == []


COLUMNS: Final = {"Capacity", "Job", "Task", "Workflow"}
"""What is a column, or a row of one: numbers of seconds only."""


@pytest.mark.usefixtures("files", "ends")
@pytest.mark.parametrize("name", sorted(CALLS.keys() - COLUMNS))
def test_a_text_and_a_timedelta_stand_for_seconds_wherever_a_duration_is_taken(name: str) -> None:
    args, kwargs = CALLS[name]()
    bound = inspect.signature(public(name)).bind(*args, **kwargs).arguments
    for place, (at, value) in enumerate(bound.items()):
        if at.endswith("_s") and isinstance(value, float):
            for given in (f"{value}s", f"0h {value} s", timedelta(seconds=value), np.timedelta64(int(value), "s")):
                called_with(name, place if place < len(args) else at, given)
