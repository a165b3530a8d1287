import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simmodels as sm
from simmodels.policies.bids import Bid, find_bid
from simmodels.simulate import Engine, simulate
from tests.model_scripts import recorded, scheduled
from tests.naive_market import BIDS, NaiveAuction
from tests.simmodels.passes.test_bidding import PLATFORMS, RULES, flows

LONG = sm.ValueCurve.linear(2, 60)


def job(submit: float, runtime: float = 10, cores: int = 4, **about: object) -> sm.Workflow:
    return sm.Workflow(1, submit, [runtime], cores, curve=LONG, **about)


def model(*sizes: int, **rules: object) -> tuple[sm.Environment, list[sm.Cluster], sm.Auctioneer]:
    env = sm.Environment(seed=3)
    clusters = [sm.Cluster(env, f"c{i}", cores=cores) for i, cores in enumerate(sizes)]
    return env, clusters, sm.Auctioneer(env, clusters, **rules)


def test_a_cluster_of_yours_says_how_long_tasks_run() -> None:
    class Slow(sm.Cluster):
        def runtime_s(self, job: sm.Job) -> float:
            assert isinstance(job, sm.TaskRun)
            return 2 * job.runtime_s if job.task == 0 else job.runtime_s

    env = sm.Environment()
    auctioneer = sm.Auctioneer(env, [Slow(env, "slow", cores=4)])
    sm.Source(env, [sm.Workflow(1, 0, [10, 10], 4, [(0, 1)])], into=auctioneer)
    schedule = recorded(env)
    assert schedule.start_s.tolist() == [0, 20]
    assert schedule.about["runtimes"] == "modelled"


@pytest.mark.parametrize(
    ("instants", "wanted"), [("starvation", [0, 3, 10, 20]), ("deadlines", [0, 3, 10, 20, 600, 603])]
)
def test_auctions_are_held_at_deadlines_or_only_where_a_job_starves(instants: str, wanted: list[float]) -> None:
    held: list[float] = []

    class Noting(sm.Auctioneer):
        def _instant(self) -> None:
            held.append(self.env.now)
            super()._instant()

    env = sm.Environment()
    auctioneer = Noting(env, [sm.Cluster(env, "a", cores=4)], instants=instants)
    sm.Source(env, [job(0), job(3)], into=auctioneer)
    env.run()
    assert held == wanted


def test_what_cannot_be_is_refused() -> None:
    env, _, auctioneer = model(4)
    with pytest.raises(sm.ImpossibleJobError, match="job 1: task 0 needs 5 cores, and the largest cluster has 4"):
        sm.Source(env, [job(0, cores=5)], into=auctioneer)
    twice = job(0)
    with pytest.raises(sm.RequestError, match="job 1 of 5 s is submitted at 0 s"):
        auctioneer.submit(job(5))
    auctioneer.accept([twice])
    with pytest.raises(sm.RequestError, match="job 1 is to be submitted twice; submit a copy"):
        sm.Source(env, [twice], into=auctioneer)


@pytest.mark.parametrize(("engine", "rigid"), [("compiled", False), ("simpy", False), ("simpy", True)])
def test_each_task_of_each_workflow_pays_the_best_bid_that_lost(engine: Engine, *, rigid: bool) -> None:
    # Each task needs the whole cluster, and bids the largest value of its workflow; a rigid job its 4 core-seconds.
    flows = [
        sm.Workflow(1, 0.0, [10.0, 10.0], 4, [(0, 1)], max_value=5),
        sm.Workflow(2, 0.0, [10.0, 10.0, 10.0], 4, [(0, 1), (1, 2)], max_value=7),
        sm.Workflow(3, 15.0, [10.0], 4, max_value=9),
    ]
    log = sm.Workload([9], [0], [1], [1], [4])
    work = sm.Workload.concat([flows[:1], log, flows[1:]] if rigid else [flows])
    schedule = simulate(work, on=[("c", 4)], bid="PV", prices=True, engine=engine).validate()
    # Workflow 2 wins at 0 and 10 against the 5 of workflow 1, workflow 3 at 20 against the 7 of workflow 2, and that at
    # 30 against 5 again. Then only the rigid job bids against workflow 1, if there is one.
    tasks = schedule.tasks.query("job_id != 9")
    assert tasks["start_s"].tolist() == [40, 50, 0, 10, 30, 20]
    last = 4 if rigid else 0
    assert tasks["price"].tolist() == [last, last, 5, 5, 5, 7]


# -- against the plain auction ------------------------------------------------------------------------


OFF = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 50), st.integers(1, 20)), max_size=5)


@given(
    jobs=st.lists(flows(), min_size=1, max_size=9),
    bid=st.sampled_from(BIDS),
    rules=RULES,
    sizes=st.sampled_from([[(4, "A"), (4, "B")], [(6, None), (4, "B")], [(8, None), (4, None)]]),
    off=OFF,
    saving=st.sampled_from([(math.inf, 0, 0), (3, 1, 2), (2, 0, 1)]),
    speeds=st.sampled_from([(1, 1), (1, 1), (2, 1), (0.5, 2)]),
)
@settings(max_examples=300)
def test_an_auction_on_machines_is_the_plain_one(
    jobs: list[sm.Workflow],
    bid: str,
    rules: dict[str, Any],
    sizes: list[tuple[int, Any]],
    off: list[tuple[int, ...]],
    saving: tuple[float, float, float],
    speeds: tuple[float, float],
) -> None:
    rules = {**rules, "end": "drain"}
    spans: list[tuple[int, int, float, float]] = []
    for cluster, machine, off_s, length_s in sorted(off):  # spans of a machine do not overlap, nor touch
        if not any((cluster, machine) == (c, m) and off_s <= on for c, m, _, on in spans):
            spans.append((cluster, machine, off_s, off_s + length_s))
    plain = NaiveAuction(jobs, sizes, bid, machines=2, spans=spans, speeds=speeds, checkpoints=saving, **rules)
    env = sm.Environment()
    places = [
        sm.Cluster(
            env,
            str(i),
            machines=[sm.Machines(2, cores // 2, speeds[i])],
            kind=kind,
            checkpoints=sm.Checkpoints(*saving),
        )
        for i, (cores, kind) in enumerate(sizes)
    ]
    for i, machine, off_s, on_s in spans:
        sm.Maintenance(env, places[i], start_s=off_s, duration_s=on_s - off_s, machines=[machine], notice_s=0)
    auctioneer = sm.Auctioneer(env, places, bid=bid, **rules)
    schedule = scheduled(auctioneer, jobs, whole=True)
    tasks = [task for each in plain.tasks for task in each]
    runs: list[list[tuple[float, float]]] = [[] for _ in tasks]
    for row, start_s, end_s in schedule.all_attempts()[["row", "start_s", "end_s"]].itertuples(index=False):
        if start_s >= 0:
            runs[row].append((start_s, end_s))
    assert [len(each) for each in runs] == [len(task.lost) + (task.start is not None) for task in tasks]
    for each, task in zip(runs, tasks, strict=True):
        last = [] if task.start is None else [task.end]
        assert sorted(end_s for _, end_s in each) == [*task.lost, *last]


# -- rules that change ----------------------------------------------------------------------------------


def changed(
    auctioneer: sm.Auctioneer, changes: Sequence[tuple[float, dict[str, Any]]], *, wakes: bool = False
) -> sm.Auctioneer:
    """Let rules change at these instants."""

    def change(at_s: float, rules: dict[str, Any]) -> None:
        auctioneer.reconfigure(**rules)
        if wakes:
            auctioneer.wake(at_s)

    for each in changes:
        auctioneer.env.at(each[0]).callbacks.append(lambda _, each=each: change(*each))
    return auctioneer


@functools.cache  # each is compiled once, and not for each example
def named(name: str, trend: str | None) -> Bid:
    """Return a bid, with its trend or with another one that is true of it."""
    return find_bid(name) if trend is None else dataclasses.replace(find_bid(name), trend=trend)


CHANGES = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 60).map(float), st.floats(0, 60)),
        st.fixed_dictionaries(
            {
                "bid": st.sampled_from(BIDS),
                "blocking": st.sampled_from(["kind", "all"]),
                "backfilling": st.sampled_from(["none", "greedy", "easy"]),
                "plus_one": st.booleans(),
            }
        ),
        st.sampled_from([None, "any"]),
    ),
    max_size=4,
    unique_by=lambda change: change[0],
)


@given(
    jobs=st.lists(flows(), min_size=1, max_size=9),
    bid=st.sampled_from(BIDS),
    rules=RULES,
    clusters=st.sampled_from(PLATFORMS),
    changes=CHANGES,
    wakes=st.booleans(),
)
@settings(max_examples=150)
def test_rules_may_change_as_it_goes(
    jobs: list[sm.Workflow], bid: str, rules: dict[str, Any], clusters: list[Any], changes: list[Any], wakes: bool
) -> None:
    changes.sort(key=lambda change: change[0])
    plain_changes = [(at_s, options) for at_s, options, _ in changes]
    sizes = [(cores, kind) for _, cores, kind in clusters]
    plain = NaiveAuction(jobs, sizes, bid, changes=plain_changes, wakes=wakes, **rules)
    env = sm.Environment()
    places = [sm.Cluster(env, name, cores=cores, kind=kind) for name, cores, kind in clusters]
    auctioneer = sm.Auctioneer(env, places, bid=bid, **rules)
    mine = [(at_s, {**options, "bid": named(options["bid"], trend)}) for at_s, options, trend in changes]
    changed(auctioneer, mine, wakes=wakes)
    schedule = scheduled(auctioneer, jobs)
    wanted = plain.columns()  # but what runs at the last submission ends, whatever the rules
    np.testing.assert_array_equal(schedule.start_s, wanted["start_s"])
    assert schedule.cluster.tolist() == wanted["cluster"]
    assert schedule.about.get("changes", 0) == len(changes)


OF_A_PLACE = [
    Bid("start", lambda start, estimate: start + estimate, wins="low"),
    Bid("queue", lambda queue: queue, wins="low"),
]


@given(
    jobs=st.lists(flows(), min_size=1, max_size=9),
    bids=st.lists(st.sampled_from(["PVR", "SRTF", "Random", "P-SLR", *OF_A_PLACE]), min_size=2, max_size=5),
    rebalance_s=st.sampled_from([None, 7.0]),
)
def test_a_bid_may_change_where_tasks_are_forwarded(
    jobs: list[sm.Workflow], bids: list[str | Bid], rebalance_s: float | None
) -> None:
    env = sm.Environment()
    places = [sm.Cluster(env, name, cores=cores) for name, cores in (("a", 5), ("b", 4))]
    queues = [sm.QueueScheduler(env, place) for place in places]
    free = [dataclasses.replace(each, kind=None) for each in jobs]
    auctioneer = sm.Auctioneer(env, queues, bid=bids[0], forward=True, rebalance_s=rebalance_s)
    changed(auctioneer, [(8.0 * (k + 1), {"bid": each}) for k, each in enumerate(bids[1:])], wakes=True)
    schedule = scheduled(auctioneer, free)
    assert schedule.about["routers"][0]["changes"] == len(bids) - 1
    assert set(schedule.workflows["outcome"]) <= {"finished", "starved"}


def test_jobs_that_arrive_after_a_change_of_admission_are_held_to_it() -> None:
    env, _, auctioneer = model(4, bid="FIFO")
    changed(auctioneer, [(0.5, {"admission": 0.6}), (2.5, {"admission": None})])
    curve = sm.ValueCurve.linear(2, 6)
    sm.Source(env, [sm.Workflow(k, k // 4, [10.0], 4, curve=curve) for k in range(12)], into=auctioneer)
    # Of four at 0 s the last is finished at 40 s; those of 1 and 2 s may hope for less than 0.6.
    found = recorded(env).workflows["outcome"].tolist()
    assert found == ["finished"] * 4 + ["rejected"] * 8


def test_a_bid_that_draws_draws_the_same_whenever_it_is_changed_to() -> None:
    def starts(first: str, *changes: tuple[float, dict[str, Any]]) -> list[float]:
        env, _, auctioneer = model(4, bid=first)
        changed(auctioneer, changes)
        sm.Source(env, [job(0) for _ in range(9)], into=auctioneer)
        return recorded(env).start_s.tolist()

    drawn = starts("Random")
    assert starts("FIFO", (0.0, {"bid": "Random"})) == drawn != starts("FIFO")
    assert starts("Random", (0.0, {"bid": "FIFO"}), (5.0, {"bid": "Random"}))[0] == 0.0


def test_rules_that_cannot_be_changed_are_refused_and_all_stays_as_it_is() -> None:
    env, _, auctioneer = model(4, bid="FIFO")
    with pytest.raises(sm.UnknownNameError, match="'ccr'; known: bid, backfilling, cluster_fit, blocking, plus_one"):
        auctioneer.reconfigure(bid="SRTF", ccr=0.5)
    with pytest.raises(sm.UnknownNameError, match="unknown bid 'SRTX'"):
        auctioneer.reconfigure(bid="SRTX")
    with pytest.raises(sm.RequestError, match="bid 'start' names start"):
        auctioneer.reconfigure(bid=Bid("start", lambda start: start))
    auctioneer.reconfigure()
    assert (auctioneer.options.bid.name, auctioneer.changes) == ("FIFO", 0)
    queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=4)) for name in "ab"]
    forwarding = sm.Auctioneer(env, queues, forward=True)
    with pytest.raises(sm.RequestError, match=r"forward=True with .*'greedy'.*; leave these out"):
        forwarding.reconfigure(backfilling="greedy")


def test_a_changed_bid_that_gives_no_number_is_named_at_the_next_auction() -> None:
    env, _, auctioneer = model(4, bid="FIFO")
    changed(auctioneer, [(5.0, {"bid": Bid("none", lambda rank: rank * math.nan)})])
    sm.Source(env, [job(0), job(0)], into=auctioneer)
    with pytest.raises(sm.RequestError, match="bid 'none' gives no number"):
        env.run()
