"""Orders where bids are asked for, bids where orders are, and the words that both may name."""

from typing import Any, Final, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
import workloads as wl
from simmodels.decisions.bid import Bid
from simmodels.decisions.order import Order
from simmodels.decisions.polynomial import Polynomial
from simmodels.errors import RequestError, UnknownNameError
from simmodels.simulate import Engine, simulate_workflows

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
@given(st.integers(0, 10**6), st.sampled_from(ENGINES), st.sampled_from([1.0, 60.0, 7.0]))
def test_an_order_as_a_bid_is_the_built_in_bid_of_its_formula(seed: int, engine: str, tick_s: float) -> None:
    flows, rules = market(seed), {"engine": engine, "tick_s": tick_s}
    assert same(auctioned(flows, sm.orders()["FCFS"], **rules), auctioned(flows, "FIFO", **rules))
    # Of estimates, small or large first, there is no built-in bid; one of the same formula is in ticks.
    wide = Bid("wide", lambda runtime, cores: -runtime * cores)
    assert same(auctioned(flows, sm.orders()["SAF"], **rules), auctioned(flows, wide, **rules))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_order_as_a_bid_sees_seconds_and_a_bid_ticks(engine: str) -> None:
    seen: dict[str, float] = {}

    def seconds(submit: float, wait: float, now: float, estimate: float, runtime: float, cores: float) -> float:
        seen.update(submit=submit, wait=wait, now=now, estimate=estimate, runtime=runtime, cores=cores)
        return 0.0

    flow = sm.Workflow(1, 120.0, [30.0, 90.0], 2, [(0, 1)])
    simulate_workflows([flow], clusters=[("a", 4)], bid=Order("seen", seconds), tick_s=60.0, engine=engine)
    assert seen == {"submit": 120, "wait": 30, "now": 150, "estimate": 90, "runtime": 90, "cores": 2}
    simulate_workflows([flow], clusters=[("a", 4)], bid=Bid("seen", seconds), tick_s=60.0, engine=engine)
    assert seen == {"submit": 2, "wait": 0.5, "now": 2.5, "estimate": 1.5, "runtime": 1.5, "cores": 2}


def test_an_order_as_a_bid_keeps_its_name_and_draws_as_bids_do() -> None:
    flows = market(3)
    schedule = simulate_workflows(flows, clusters=PLATFORM, bid=sm.orders()["RANDOM"], seed=4)
    assert schedule.about["bid"] == "RANDOM"
    drawn = Bid("drawn", lambda draw: draw, wins="low")
    assert same(schedule.start_s.tolist(), simulate_workflows(flows, clusters=PLATFORM, bid=drawn, seed=4).start_s)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_polynomial_works_as_a_bid(engine: str) -> None:
    flows = market(5)
    fitted = Polynomial([2.0, 1e-3], ["pq", "r"])
    written = Bid("p", lambda runtime, cores, submit: 2.0 * runtime * cores + 1e-3 * submit, wins="low")
    assert same(
        auctioned(flows, fitted, engine=engine, tick_s=1.0), auctioned(flows, written, engine="compiled", tick_s=1.0)
    )


def test_budgets_need_a_bid_of_which_the_highest_wins() -> None:
    with pytest.raises(RequestError, match="budgets with bid 'SAF', of which the lowest wins"):
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


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_order_raises_in_an_auction_surfaces(engine: str) -> None:
    def fails(cores: float) -> float:
        raise KeyError(str(cores))

    flow = sm.Workflow(1, 0.0, [5.0], 1)
    with pytest.raises(KeyError) as error:
        auctioned((flow,), Order("fails", fails), engine=engine)
    assert error.value.args == ("1.0",)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_order_is_named_where_a_bid_is_and_a_bid_of_the_name_goes_first(engine: str) -> None:
    flows = market(7, 8)
    assert same(auctioned(flows, "saf", engine=engine), auctioned(flows, sm.orders()["SAF"], engine=engine))
    assert same(auctioned(flows, "random", engine=engine), auctioned(flows, sm.bids()["Random"], engine=engine))
    with pytest.raises(UnknownNameError, match="unknown bid 'PVX'; did you mean PV or PVD or PVR"):
        auctioned(flows, "PVX")
