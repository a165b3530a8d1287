import inspect
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.options import Options
from simmodels.policies.placement_options import PlacementOptions, has_option
from simmodels.policies.queue_options import QueueOptions
from tests import naive

ENGINES = ("compiled", "simpy")

LOG = sm.Workload([1, 2, 3], [0, 1, 2], [10, 10, 5], [10, 10, 5], [1, 2, 1], max_cores=2)


def random_log(jobs: int, seed: int = 0) -> sm.Workload:
    rng = np.random.default_rng(seed)
    runtime_s = rng.integers(0, 500, jobs)
    return sm.Workload(
        np.arange(jobs),
        rng.integers(0, 75 * jobs, jobs),
        runtime_s,
        rng.integers(0, 800, jobs),
        rng.integers(1, 17, jobs),
        max_cores=32,
    )


# -- what it takes and gives ---------------------------------------------------------------------------


def test_by_default_it_is_easy_fcfs_by_the_compiled_clock() -> None:
    schedule = sm.simulate(LOG)
    assert schedule.start_s.tolist() == [0, 10, 2]
    assert schedule.end_s.tolist() == [10, 20, 7]
    about = {"order": "FCFS", "backfilling": "easy", "backfill_order": None, "threshold_s": None, "decide": "instant"}
    about |= {"overrun": "run", "queue_depth": None, "warm_jobs": 0, "engine": "compiled", "seed": 0, "left_out": 0}
    assert about.items() <= schedule.about.items()


def test_all_but_the_workload_is_said_by_name() -> None:
    kinds = [parameter.kind for parameter in inspect.signature(sm.simulate).parameters.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("taker", "kind"),
    [
        (sm.simulate, QueueOptions),
        (sm.simulate_on_machines, PlacementOptions),
        (sm.simulate_workflows, AuctionOptions),
        (sm.QueueScheduler, QueueOptions),
        (sm.Auctioneer, AuctionOptions),
    ],
)
def test_help_shows_each_option_with_its_default(taker: Callable[..., Any], kind: type[Options]) -> None:
    shown = inspect.signature(taker).parameters
    for each in fields(kind):
        if each.name != "heuristic":
            assert shown[each.name].default == getattr(each.default, "name", each.default)
        assert shown[each.name].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("placer", [sm.FirstFit, sm.TargetStretch, sm.TargetAsap, sm.PackedTargetAsap])
def test_help_of_a_placer_shows_its_own_options(placer: type[Any]) -> None:
    shown = list(inspect.signature(placer).parameters)[2:]
    options = [each.name for each in fields(PlacementOptions) if each.name != "heuristic"]
    assert shown == [name for name in options if has_option(placer.heuristic, name)]


@pytest.mark.parametrize(
    ("decider", "kind"),
    [(sm.QueueScheduler, QueueOptions), (sm.FirstFit, PlacementOptions), (sm.Auctioneer, AuctionOptions)],
)
def test_help_of_reconfigure_shows_what_can_be_changed(decider: type[Any], kind: type[Options]) -> None:
    shown = inspect.signature(decider.reconfigure).parameters
    assert sorted(list(shown)[1:]) == sorted(kind.changeable)
    assert {repr(each.default) for each in list(shown.values())[1:]} == {"unchanged"}


def test_help_of_no_public_name_hides_parameters() -> None:
    names = [(module, name) for module in (sm, wl) for name in module.__all__]
    takers = [found for module, name in names if callable(found := getattr(module, name))]
    for taker in takers:
        if isinstance(taker, type) and issubclass(taker, Exception):
            continue
        methods = (
            [each for key, each in vars(taker).items() if not key.startswith("_")] if isinstance(taker, type) else []
        )
        for each in (taker, *methods):
            if callable(each) and each is not sm.Scheduler.reconfigure:
                kinds = {parameter.kind for parameter in inspect.signature(each).parameters.values()}
                assert inspect.Parameter.VAR_KEYWORD not in kinds, each


def test_help_of_a_scheduler_of_ones_own_shows_what_that_takes() -> None:
    class Mine(sm.QueueScheduler):
        def __init__(self, env: sm.Environment, cluster: sm.Cluster, extra: int) -> None:
            super().__init__(env, cluster, queue_depth=extra)

    assert list(inspect.signature(Mine).parameters) == ["env", "cluster", "extra"]


def test_the_size_of_the_machine_is_that_of_the_log_unless_said() -> None:
    assert sm.simulate(LOG).cores == 2
    assert sm.simulate(LOG, cores=4).start_s.tolist() == [0, 1, 2]


def test_a_log_may_begin_before_zero_and_far_after_it(engine: str) -> None:
    for shift_s in (-1000.0, 0.0, 1e9):
        assert sm.simulate(LOG.shift(shift_s), engine=engine).start_s.tolist() == [shift_s, shift_s + 10, shift_s + 2]


# -- what it refuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"order": "nosuch"}, sm.UnknownNameError, "unknown order 'nosuch'"),
        (
            {"backfilling": "none", "max_backfills": 1},
            sm.RequestError,
            "max_backfills=1 with backfilling 'none'; choose another backfilling, or leave max_backfills out",
        ),
        ({"cores": 1}, sm.ImpossibleJobError, "job 2: needs 2 cores, and the machine has 1"),
    ],
)
def test_what_is_not_allowed_is_refused_by_both_engines(
    engine: str, options: dict[str, object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sm.simulate(LOG, engine=engine, **options)


# -- long logs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backfilling", "decide"),
    [("none", "event"), ("greedy", "instant"), ("easy", "event"), ("conservative", "instant")],
)
def test_the_engines_agree_on_a_log_that_outgrows_every_first_room(backfilling: str, decide: str) -> None:
    log = random_log(9000, seed=3)
    how = {"order": "WFP3", "backfilling": backfilling, "decide": decide, "threshold_s": 2e5}
    compiled, simpy = (sm.simulate(log, engine=engine, **how).validate() for engine in ENGINES)
    assert compiled.start_s.tobytes() == simpy.start_s.tobytes()
    assert compiled.end_s.tobytes() == simpy.end_s.tobytes()


@pytest.mark.parametrize(
    "how",
    [
        {"order": "FCFS", "backfilling": "easy", "decide": "event"},
        {"order": "SAF", "backfilling": "easy", "backfill_order": "SPF", "threshold_s": 900.0},
        {"order": "LEXP", "backfilling": "easy", "overrun": "kill", "queue_depth": 80},
        {"order": "SQF", "backfilling": "greedy"},
        {"order": "FCFS", "backfilling": "none", "decide": "event"},
    ],
    ids=lambda how: "-".join(map(str, how.values())),
)
def test_hundreds_of_running_and_waiting_jobs_start_as_the_naive_simulator_says(how: dict[str, object]) -> None:
    rng = np.random.default_rng(0)
    runtime_s = rng.integers(1, 300, 400)
    estimate_s = (runtime_s * rng.choice([0.5, 1.0, 2.0], 400)).astype(int)
    width = rng.choice([1, 1, 1, 2, 3, 40], 400)
    log = sm.Workload(np.arange(400), np.sort(rng.integers(0, 400, 400)), runtime_s, estimate_s, width)
    schedule = sm.simulate(log, cores=120, **how)
    assert schedule.start_s.tolist() == naive.simulate(log, cores=120, **how)[0]
    assert schedule.queue_length()["queue_length"].max() > 128  # more than two blocks of the waiting
    assert schedule.cores_used()["cores_used"].max() > 100


def test_a_hundred_reservations_are_as_the_naive_simulator_says() -> None:
    rng = np.random.default_rng(0)
    runtime_s = rng.integers(1, 200, 160)
    estimate_s = runtime_s + rng.integers(0, 60, 160) * rng.choice([0, 0, 0, 1], 160)
    log = sm.Workload(
        np.arange(160), np.sort(rng.integers(0, 60, 160)), runtime_s, estimate_s, rng.choice([1, 1, 2, 20], 160)
    )
    schedule = sm.simulate(log, cores=60, order="SPF", backfilling="conservative")
    assert schedule.start_s.tolist() == naive.simulate(log, cores=60, order="SPF", backfilling="conservative")[0]
    assert schedule.queue_length()["queue_length"].max() > 64


# -- once wrong -----------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 3)), min_size=1, max_size=6),
    st.integers(1, 3),
)
@example([(0, 5, 1), (0, 5, 1)], 1)
def test_warm_jobs_with_a_depth_are_as_the_naive_simulator_says(rows: list[tuple[int, int, int]], depth: int) -> None:
    submit_s, runtime_s, cores = np.array(rows).T
    log = sm.Workload(np.arange(len(rows)), submit_s, runtime_s, runtime_s, cores)
    how = {"order": "SPF", "backfilling": "greedy", "queue_depth": depth, "warm_jobs": 3}
    for engine in ENGINES:
        start_s = sm.simulate(log, cores=3, engine=engine, **how).start_s.tolist()
        assert not any(map(math.isnan, start_s))
        assert start_s == naive.simulate(log, cores=3, **how)[0]


def test_a_promise_that_cannot_be_kept_is_an_instant_of_decision_on_machines_too(engine: str) -> None:
    """At 20 s the first job runs on, and the second, of 8 cores, cannot start: the third is smaller, and does."""
    log = sm.Workload([1, 2, 3, 4], [0, 5, 6, 26], [34, 100, 10, 20], [20, 100, 100, 20], [2, 8, 6, 6])
    how = {"order": "SAF", "backfilling": "conservative", "capacity": [(0, 8)], "cores_per_machine": 1}
    schedule = sm.simulate(log, engine=engine, **how)
    assert schedule.validate().start_s.tolist() == [0, 50, 20, 30]
