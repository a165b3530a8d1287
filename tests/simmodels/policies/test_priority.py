"""Orders where bids are asked for, bids where orders are, and the words that both may name."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from simmodels.policies.functions import Call
from simmodels.policies.registry import BIDS, ORDERS
from simmodels.simulate import Engine, simulate, simulate_workflows
from simmodels.work.vocabulary import CHARACTERISTICS
from tests.model_scripts import queue_on

PLATFORM: Final = [("a", 128, "Kind1"), ("b", 128, "Kind1"), ("c", 128, "Kind2")]
ENGINES: Final = tuple(engine for engine in get_args(Engine) if engine != "auto")


def market(seed: int, jobs: int = 25) -> tuple[sm.Workflow, ...]:
    return tuple(wl.market_workload(jobs, load=1.5, cores=384, seed=seed))


def auctioned(flows: tuple[sm.Workflow, ...], bid: object, **rules: Any) -> list[float]:  # noqa: ANN401
    how = {"clusters": PLATFORM, "bid": bid, "tick_s": 60.0, **rules}
    return simulate_workflows(flows, **how).start_s.tolist()


def same(left: list[float], right: list[float]) -> bool:
    return np.array_equal(left, right, equal_nan=True)


# -- orders as bids -----------------------------------------------------------------------------------


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(ENGINES), st.sampled_from([1.0, 64.0, 8.0]))
def test_an_order_as_a_bid_is_the_built_in_bid_of_its_formula(seed: int, engine: str, tick_s: float) -> None:
    flows, rules = market(seed), {"engine": engine, "tick_s": tick_s}
    assert same(auctioned(flows, sm.orders()["FCFS"], **rules), auctioned(flows, "FIFO", **rules))
    # Of estimates, small or large first, there is no built-in bid; one of the same formula is in ticks.
    wide = sm.Bid("wide", lambda runtime, cores: -runtime * cores)
    assert same(auctioned(flows, sm.orders()["SAF"], **rules), auctioned(flows, wide, **rules))


def test_an_order_as_a_bid_sees_seconds_and_a_bid_ticks(engine: str) -> None:
    seen: dict[str, float] = {}

    def seconds(submit: float, wait: float, now: float, estimate: float, runtime: float, cores: float) -> float:
        seen.update(submit=submit, wait=wait, now=now, estimate=estimate, runtime=runtime, cores=cores)
        return 0.0

    flow = sm.Workflow(1, 120.0, [30.0, 90.0], 2, [(0, 1)])
    simulate_workflows([flow], clusters=[("a", 4)], bid=sm.Order("seen", seconds), tick_s=60.0, engine=engine)
    assert seen == {"submit": 120, "wait": 30, "now": 150, "estimate": 90, "runtime": 90, "cores": 2}
    simulate_workflows([flow], clusters=[("a", 4)], bid=sm.Bid("seen", seconds), tick_s=60.0, engine=engine)
    assert seen == {"submit": 2, "wait": 0.5, "now": 2.5, "estimate": 1.5, "runtime": 1.5, "cores": 2}


def test_an_order_as_a_bid_keeps_its_name_and_draws_as_bids_do() -> None:
    flows = market(3)
    schedule = simulate_workflows(flows, clusters=PLATFORM, bid=sm.orders()["RANDOM"], seed=4)
    assert schedule.about["bid"] == "RANDOM"
    drawn = sm.Bid("drawn", lambda draw: draw, wins="low")
    assert same(schedule.start_s.tolist(), simulate_workflows(flows, clusters=PLATFORM, bid=drawn, seed=4).start_s)


def test_budgets_need_a_bid_of_which_the_highest_wins() -> None:
    with pytest.raises(sm.RequestError, match="budgets with bid 'SAF', of which the lowest wins"):
        auctioned(market(1, 2), sm.orders()["SAF"], budgets=True)


def test_a_queue_of_a_router_takes_offers_by_an_order() -> None:
    env = sm.Environment()
    queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=2)) for name in "ab"]
    auction = sm.Auctioneer(env, queues, bid=sm.orders()["SPF"], forward=True)
    log = sm.Workload([1, 2, 3], [0, 0, 0], [5, 3, 1], [5, 3, 1], [2, 2, 2])
    sm.Source(env, log, into=auction)
    recorder = sm.Recorder(env)
    env.run()
    assert recorder.schedule().start_s.tolist() == [1.0, 0.0, 0.0]


def test_what_an_order_raises_in_an_auction_surfaces(engine: str) -> None:
    def fails(cores: float) -> float:
        raise KeyError(str(cores))

    flow = sm.Workflow(1, 0.0, [5.0], 1)
    with pytest.raises(KeyError) as error:
        auctioned((flow,), sm.Order("fails", fails), engine=engine)
    assert error.value.args == ("1.0",)


def test_an_order_is_named_where_a_bid_is_and_a_bid_of_the_name_goes_first(engine: str) -> None:
    flows = market(7, 8)
    assert same(auctioned(flows, "saf", engine=engine), auctioned(flows, sm.orders()["SAF"], engine=engine))
    assert same(auctioned(flows, "random", engine=engine), auctioned(flows, sm.bids()["Random"], engine=engine))
    with pytest.raises(sm.UnknownNameError, match="unknown bid 'PVX'; did you mean PV or PVD or PVR"):
        auctioned(flows, "PVX")


# -- bids as orders, and the words of both --------------------------------------------------------------


def log_of(seed: int, jobs: int = 120) -> sm.Workload:
    rng = np.random.default_rng(seed)
    estimate_s = rng.integers(0, 60, jobs).astype(float)
    return sm.Workload(
        np.arange(jobs),
        np.sort(rng.integers(0, 300, jobs)),
        np.minimum(estimate_s, rng.integers(0, 60, jobs)),
        estimate_s,
        rng.integers(1, 9, jobs),
        rng.integers(0, 9, jobs),
        extras={"memory": rng.integers(0, 50, jobs), "partition": np.array(["p"] * jobs)},
    )


def started(log: sm.Workload, order: object, **options: Any) -> list[float]:  # noqa: ANN401
    """When each job starts, on both engines."""
    how = {"cores": 10, "order": order, **options}
    found = [simulate(log, engine=engine, **how).start_s.tolist() for engine in ENGINES]
    assert found[0] == found[1]
    return found[0]


AREA: Final = sm.Bid("area", lambda estimate, cores: estimate * cores)
NEGATED: Final = sm.Order("negated", lambda estimate, cores: -(estimate * cores))
AGED: Final = sm.Bid("aged", lambda wait, cores: wait / cores, trend="improves")
AGED_NEGATED: Final = sm.Order("aged negated", lambda wait, cores: -(wait / cores))
SMALL: Final = sm.Bid("small", lambda memory, user: memory + user, wins="low")
BY_MEMORY: Final = sm.Order("by memory", lambda memory, user: memory + user)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["none", "greedy", "easy", "conservative"]))
def test_a_queue_in_the_order_of_a_bid_is_one_in_the_negated_order(seed: int, backfilling: str) -> None:
    log = log_of(seed)
    for bid, order in ((AREA, NEGATED), (AGED, AGED_NEGATED), (SMALL, BY_MEMORY)):
        how = {"backfilling": backfilling}
        assert started(log, bid, **how) == started(log, order, **how)


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6))
def test_a_bid_or_an_extra_column_may_order_what_is_backfilled(seed: int) -> None:
    log = log_of(seed)
    assert started(log, "FCFS", backfill_order=AREA) == started(log, "FCFS", backfill_order=NEGATED)
    assert started(log, SMALL, backfill_order=AGED) == started(log, BY_MEMORY, backfill_order=AGED_NEGATED)
    assert started(log, "SRTF", threshold_s=50, queue_depth=20) == started(log, "SPF", threshold_s=50, queue_depth=20)


@pytest.mark.parametrize(
    ("order", "built_in"),
    [
        (sm.Order("rank", lambda rank: rank), "SPF"),
        (sm.Order("path", lambda critical_path: critical_path), "SPF"),
        (sm.Order("work", lambda successor_work: successor_work), "SAF"),
        (sm.Order("sum", lambda successor_sum: successor_sum), "SAF"),
        (sm.Order("value", lambda value: -value), "LAF"),
        (sm.Order("slr", lambda slr: slr), "SEXP"),
        (sm.Order("curve", lambda factor, area, deadline, soft_deadline, cores: cores * factor
            if area == deadline == soft_deadline == math.inf else -cores), "SQF"),
    ],
)  # fmt: skip
def test_the_words_of_workflows_say_of_a_rigid_job_what_its_estimate_says(order: sm.Order, built_in: str) -> None:
    assert started(log_of(1), order) == started(log_of(1), built_in)


def test_a_python_order_reads_the_same_row() -> None:
    areas: list[float] = []

    def read(user: float, memory: float, slr: float, area: float) -> float:
        areas.append(area)
        return slr + user + memory

    assert started(log_of(2), read) == started(log_of(2), lambda slr, user, memory: slr + user + memory)
    assert set(areas) == {math.inf}


def test_a_column_that_a_workload_has_not_is_refused_with_those_it_has(engine: str) -> None:
    what = r"an order names colour, and job 0 has no such number; it has submit, .*, memory$"
    with pytest.raises(sm.RequestError, match=what):  # its partitions are texts
        simulate(log_of(1), cores=10, order=lambda colour, partition: colour + partition, engine=engine)


def test_a_workload_without_jobs_needs_no_column(engine: str) -> None:
    assert not len(simulate(sm.Workload([], [], [], [], []), cores=10, order=BY_MEMORY, engine=engine).start_s)


def test_a_job_without_a_column_is_refused_when_it_is_submitted() -> None:
    _, queue = queue_on(4, order=BY_MEMORY)
    with pytest.raises(sm.RequestError, match="an order names memory, and job 7 has no such number"):
        queue.submit(sm.Job(7, 0.0, 1.0, 1.0, 1))
    queue.submit(sm.Job(8, 0.0, 1.0, 1.0, 1, extras={"memory": 3.0}))
    with pytest.raises(sm.RequestError, match="an order names colour, and job 8 has no such number"):
        queue.reconfigure(order=sm.Order("by colour", lambda colour: colour))
    assert queue.order is BY_MEMORY


@pytest.mark.parametrize("name", ["longest", "longest_of_kind", "start", "queue", "speed"])
def test_what_only_an_auction_knows_is_refused_in_a_queue(name: str) -> None:
    made = eval(f"lambda {name}: {name}")  # noqa: S307
    with pytest.raises(sm.RequestError, match=f"order 'x' of a queue names {name}; it may name submit, "):
        simulate(log_of(1), cores=10, order=sm.Bid("x", made))


def test_an_order_may_change_to_one_that_names_more_while_jobs_wait_and_the_queue_grows() -> None:
    log = log_of(3, jobs=2500)
    starts = {}
    for first, second in ((BY_MEMORY, "SRTF"), (SMALL, "SPF")):
        env, queue = queue_on(10, order=first)
        sm.Source(env, log, into=queue)
        recorder = sm.Recorder(env)
        env.run(until=200.5)
        queue.reconfigure(order=second)
        env.run(until=400.5)
        queue.reconfigure(order=first, backfilling="greedy")
        env.run()
        starts[second] = recorder.schedule().start_s.tolist()
    assert starts["SRTF"] == starts["SPF"]


def graph(job_id: int, submit_s: float, curve: sm.ValueCurve) -> sm.Workflow:
    """Two tasks after one, of 10, 5 and 30 s, on a critical path of 40 s."""
    return sm.Workflow(job_id, submit_s, [10.0, 5.0, 30.0], [2, 1, 2], [(0, 1), (0, 2)], curve=curve, max_value=7.0)


def test_an_order_knows_the_workflow_of_a_task() -> None:
    seen: dict[float, dict[str, float]] = {}

    def look(
        now: float, estimate: float, rank: float, critical_path: float, successor_work: float, value: float,
        deadline: float, soft_deadline: float, slr: float, factor: float, area: float, user: float,
    ) -> float:  # fmt: skip
        row = locals()
        seen[estimate] = {name: row[name] for name in row if name not in {"estimate", "seen"}}
        return -rank

    env, queue = queue_on(2, start_s=100.0, order=sm.Order("look", look))
    curve = sm.ValueCurve([(1.0, 1.0), (3.0, 0.0)])
    sm.Source(env, [graph(1, 100.0, curve)], into=queue)
    recorder = sm.Recorder(env)
    env.run()
    assert recorder.schedule().start_s.tolist() == [100.0, 140.0, 110.0]
    about_job = {"critical_path": 40, "value": 7, "deadline": 220, "soft_deadline": 140, "user": -1}
    assert seen[10] == {"now": 100, "rank": 40, "successor_work": 85, "slr": 1, "factor": 1, "area": 1, **about_job}
    late = {"slr": 45 / 40, "factor": curve.factor(45 / 40), "area": curve.area(45 / 40)}
    assert seen[5] == {"now": 140, "rank": 5, "successor_work": 5, **late, **about_job}


def test_a_polynomial_that_was_written_is_read_as_order_backfill_order_and_bid(engine: str, tmp_path: Path) -> None:
    sm.Polynomial([1.0], ["pq"], name="area").write(tmp_path / "fit.toml")
    fitted, log = sm.Polynomial.read(tmp_path / "fit.toml"), log_of(9)
    assert started(log, fitted) == started(log, "SAF")
    assert started(log, "FCFS", backfill_order=fitted) == started(log, "FCFS", backfill_order="SAF")
    flows = market(9, 8)
    assert same(auctioned(flows, fitted, engine=engine), auctioned(flows, "SAF", engine=engine))


# -- what is compiled of it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (ORDERS.built_in["F2"]._call, [5.0, 100.0, 90.0, 4.0, 7.0, 12.0, 0.0, 0]),
        (BIDS.built_in["FIFO"]._call, [5.0, 100.0, 90.0, 4.0, 7.0, 12.0, 0.0, 0]),
        (BIDS.built_in["PVR"]._bid_call, np.arange(1.0, 1.0 + len(CHARACTERISTICS))),
    ],
    ids=["an order", "a bid in a queue", "a bid"],
)
def test_the_code_of_what_is_built_in_is_kept_for_other_processes(
    call: Call, values: Sequence[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path))
    first, again = (cast("Any", call.compiled()) for _ in range(2))  # the second as in another process
    assert (first.cache_hits, again.cache_hits) == (0, 1)
    assert first.ctypes(*values) == again.ctypes(*values) == call.in_python()(*values)


def test_the_code_of_a_function_of_ones_own_is_compiled_with_the_globals_that_it_has_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCHEDLAB_CACHE", str(tmp_path))
    scope: dict[str, Any] = {"factor": 2.0}
    exec("def own(cores):\n return factor * cores", scope)  # noqa: S102  a script of a user's
    found = []
    for factor in (2.0, 3.0):
        scope["factor"] = factor
        found.append(cast("Any", sm.order(scope["own"]).key_function).ctypes(0, 0, 0, 4, 0, 0, 0, 0))
    assert found == [8.0, 12.0]
    assert not list(tmp_path.iterdir())
