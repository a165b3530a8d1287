# ruff: noqa: ANN401  options of any type are handed through
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from tests.model_scripts import machines_on, queue_on, recorded
from tests.refused import refused


def diamond(job_id: int, submit_s: float, cores: int = 2, **more: Any) -> sm.Workflow:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    return sm.Workflow(job_id, submit_s, [4.0, 3.0, 5.0, 2.0], cores, edges, **more)


@st.composite
def flows(draw: st.DrawFn) -> sm.Workflow:
    tasks = draw(st.integers(1, 5))
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    column = {"min_size": tasks, "max_size": tasks}
    return sm.Workflow(
        draw(st.integers(100, 999)),
        float(draw(st.integers(0, 30))),
        [float(each) for each in draw(st.lists(st.integers(1, 9), **column))],
        draw(st.lists(st.integers(1, 4), **column)),
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
    )


Rows = list[tuple[int, int, int]]
ROWS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=9)
FLOWS = st.lists(flows(), min_size=1, max_size=6, unique_by=lambda flow: flow.job_id)


@given(flows=FLOWS, backfilling=st.sampled_from(["none", "greedy", "easy", "conservative"]))
def test_the_schedule_is_that_of_rigid_jobs_that_are_submitted_when_tasks_are(
    flows: list[sm.Workflow], backfilling: Any
) -> None:
    env, queue = queue_on(4, backfilling=backfilling)
    sm.Source(env, flows, into=queue)
    sent: list[tuple[float, sm.TaskRun]] = []
    env.on(sm.Routed, lambda event: sent.append((env.now, event.job)))
    schedule = recorded(env)
    rows = [(at_s, job.runtime_s, job.runtime_s, job.cores) for at_s, job in sent]
    rigid = sm.simulate(sm.Workload(range(len(rows)), *zip(*rows, strict=True)), cores=4, backfilling=backfilling)
    tasks = schedule.tasks
    started = dict(zip(zip(tasks["job_id"], tasks["task"], strict=True), tasks["start_s"], strict=True))
    assert [started[job.job_id, str(job.task)] for _, job in sent] == rigid.start_s.tolist()
    assert (schedule.workflows["outcome"] == "finished").all()


def test_what_cannot_run_is_refused_when_the_model_is_built() -> None:
    env = sm.Environment()
    queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=4, kind="A"))
    with pytest.raises(sm.ImpossibleJobError, match="job 9"):
        sm.Source(env, [diamond(9, 0.0, cores=5)], into=queue)
    with pytest.raises(sm.ImpossibleJobError, match="kind 'B'"):
        sm.Source(env, [diamond(9, 0.0, kind="B")], into=queue)
    other = sm.QueueScheduler(env, sm.Cluster(env, "d", cores=4, kind="B"))
    with refused("...job 9 asks for kinds of clusters behind a RoundRobin; submit it into an Auctioneer..."):
        sm.Source(env, [diamond(9, 0.0, kind="B")], into=sm.RoundRobin(env, [queue, other]))
    flow = diamond(9, 0.0)
    before = sm.Dependencies(env, queue)
    before.submit(flow)
    with pytest.raises(sm.RequestError, match="job 9 is submitted again before it is done; submit a copy"):
        before.submit(flow)
    with pytest.raises(sm.ImpossibleJobError):
        before.accept(sm.Workload([1], [0], [1], [1], [9]))


def test_a_bandit_learns_from_tasks_too() -> None:
    env, queue = queue_on(2)
    sm.Source(env, [diamond(number, 10.0 * number) for number in range(30)], into=queue)
    tuner = sm.Tuner(env, queue, sm.FullFeedback(orders=["FCFS", "LCFS"]), period_s=100.0)
    schedule = recorded(env)
    assert np.isfinite(schedule.start_s).all()
    assert tuner.tuning_run.memory.periods > 2
    assert tuner.tuning_run.memory.cost.min() > 0


# -- data that travel -----------------------------------------------------------------------------------


@given(
    flows=FLOWS,
    router=st.sampled_from([sm.RoundRobin, sm.LeastLoaded, sm.EarliestStart]),
    sizes=st.lists(st.integers(1, 4), max_size=3).map(lambda sizes: [*sizes, 4]),
    ccr=st.sampled_from([0.0, 0.2, 1.5]),
    tick_s=st.sampled_from([1.0, 3.0]),
    network=st.sampled_from(["cluster", "kind", "none"]),
)
def test_tasks_are_held_back_until_their_data_are_wherever_they_can_run(
    flows: list[sm.Workflow], router: type[sm.Router], sizes: list[int], ccr: float, tick_s: float, network: Any
) -> None:
    env = sm.Environment()
    queues = [sm.QueueScheduler(env, sm.Cluster(env, f"c{k}", cores=size)) for k, size in enumerate(sizes)]
    before = sm.Dependencies(env, router(env, queues), ccr=ccr, tick_s=tick_s, network=network)
    sm.Source(env, flows, into=before)
    sent: dict[tuple[int, int], float] = {}
    env.on(sm.Routed, lambda event: sent.setdefault((event.job.job_id, event.job.task), env.now))
    schedule = recorded(env)
    assert (schedule.workflows["outcome"] == "finished").all()
    if ccr and network != "none":
        rules = {"network": network, "ccr": ccr, "tick_s": tick_s}
        assert schedule.about["routers"][0] == rules
        assert {name: getattr(schedule.terms, name) for name in rules} == rules
    tasks = schedule.tasks.set_index(["job_id", "task"])
    for flow in flows:
        for task in range(len(flow)):
            there_s = [flow.submit_s]
            for sender in flow.edges[flow.edges[:, 1] == task, 0].tolist():
                ran = tasks.loc[flow.job_id, str(sender)]
                delay_s = np.ceil(ccr * flow.runtime_s[sender] / tick_s) * tick_s
                can_run = [f"c{k}" for k, size in enumerate(sizes) if flow.cores[task] <= size]
                travels = network == "cluster" and any(name != ran["cluster"] for name in can_run)
                there_s.append(ran["end_s"] + (delay_s if travels else 0.0))
            assert sent[flow.job_id, task] == max(there_s)


def test_in_front_of_a_placer_a_task_must_fit_on_a_machine() -> None:
    env, wide = machines_on(2, 2)
    queues = [sm.FirstFit(env, wide), sm.QueueScheduler(env, sm.Cluster(env, "q", cores=4))]
    before = sm.Dependencies(env, sm.RoundRobin(env, queues), ccr=1.0)
    sm.Source(env, [sm.Workflow(1, 0.0, [5.0, 5.0], [4, 3], [(0, 1)])], into=before)
    env.run()
    assert env.now == 10, "both can run on q only"


def test_travel_that_is_refused() -> None:
    env, queue = queue_on(4)
    with pytest.raises(sm.RequestError, match=r"ccr must be a finite number >= 0 \(got -1\)"):
        sm.Dependencies(env, queue, ccr=-1)
    with pytest.raises(sm.RequestError, match=r"tick_s must be a finite number of seconds > 0 \(got 0\)"):
        sm.Dependencies(env, queue, tick_s=0)
    with pytest.raises(sm.UnknownNameError, match="unknown network 'clusters'"):
        sm.Dependencies(env, queue, network="clusters")  # type: ignore[arg-type]
    sm.Dependencies(env, queue, ccr=0.2).wake(0.0)  # it decides nothing
    what = "data travel in no time in front of clusters where data travel with ccr=0.2, network='cluster', tick_s=1"
    with pytest.raises(sm.RequestError, match=f"{what}; let all sources share one Dependencies"):
        sm.Source(env, [diamond(1, 0.0)], into=queue)


def test_what_starved_in_an_auction_starved_beside_a_queue_too() -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)], bid="FIFO")
    queue = sm.QueueScheduler(env, sm.Cluster(env, "b", cores=4))
    curve = sm.ValueCurve.linear(1, 2)
    sm.Source(env, [sm.Workflow(k, 0.0, [10.0], 4, curve=curve) for k in range(4)], into=auction)
    sm.Source(env, [sm.Workflow(9, 0.0, [10.0], 4)], into=queue)
    assert recorded(env).workflows["outcome"].tolist() == ["finished", "starved", "starved", "starved", "finished"]


# -- data that travel before auctioneers ------------------------------------------------------------------


def auctioneer(env: sm.Environment, names: str, rules: dict[str, Any]) -> sm.Auctioneer:
    return sm.Auctioneer(env, [sm.Cluster(env, name, cores=64) for name in names], **rules)


def queue_of(env: sm.Environment, name: str, _: object = None) -> sm.QueueScheduler:
    return sm.QueueScheduler(env, sm.Cluster(env, name, cores=64))


def forwarding_to(env: sm.Environment, names: str, rules: dict[str, Any], *, forward: bool = True) -> sm.Auctioneer:
    return sm.Auctioneer(env, [queue_of(env, name) for name in names], forward=forward, **rules)


def routed(kind: Any, *behind: tuple[Any, str]) -> Callable[[sm.Environment, dict[str, Any]], sm.Router]:
    """Return what makes a router before these, each on clusters of these names."""
    return lambda env, rules: kind(env, [make(env, names, rules) for make, names in behind])


WAYS: dict[str, Callable[[sm.Environment, dict[str, Any]], sm.Router]] = {
    "auction": lambda env, rules: auctioneer(env, "ab", rules),
    "auction that forwards": lambda env, rules: forwarding_to(env, "ab", rules),
    "auction before queues": lambda env, rules: forwarding_to(env, "ab", rules, forward=False),
    "router, two auctions": routed(sm.RoundRobin, (auctioneer, "a"), (auctioneer, "b")),
    "router, auctions of several": routed(sm.LeastLoaded, (auctioneer, "ab"), (auctioneer, "c")),
    "router, router, auction": lambda env, rules: sm.RoundRobin(
        env, [queue_of(env, "a"), sm.LeastLoaded(env, [auctioneer(env, "b", rules)])]
    ),
    "router, auction that forwards": routed(sm.RoundRobin, (forwarding_to, "ab"), (auctioneer, "c")),
    "router, queues": routed(sm.RoundRobin, (queue_of, "a"), (queue_of, "b")),
}


@pytest.mark.parametrize("rules", [{}, {"ccr": 0.5, "tick_s": 3.0}, {"ccr": 0.0}, {"network": "none"}], ids=str)
@pytest.mark.parametrize("before", [None, {}, {"ccr": 0.2, "tick_s": 1.0}], ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_however_workflows_are_sent_their_data_travel_as_one_says(
    way: str, before: dict[str, Any] | None, rules: dict[str, Any]
) -> None:
    env = sm.Environment()
    taker: Any = WAYS[way](env, rules)
    said = {"ccr": 0.2, "network": "cluster", "tick_s": 1.0} | rules
    if way == "router, queues":
        said |= {"ccr": 0.0, "network": "cluster", "tick_s": 1.0} | (before or {})
    terms = sm.Terms(**said)
    if before is not None:
        if sm.Terms(**said | before).travel != terms.travel:
            with pytest.raises(sm.RequestError, match="in front of clusters where data travel"):
                sm.Dependencies(env, taker, **before)
            return
        taker = sm.Dependencies(env, taker, **before)
    flows = [diamond(1, 0.0), sm.Workflow(2, 3.0, [10.0, 10.0], 3, [(0, 1)]), diamond(3, 20.0)]
    sm.Source(env, flows, into=taker)
    schedule = recorded(env)
    assert schedule.terms.travel == terms.travel
    waits_for_all = before is not None or way.startswith("router")  # where a task will run is not known when it is sent
    tasks = schedule.tasks.set_index(["job_id", "task"])
    slr = []
    for flow in flows:
        for task in range(len(flow)):
            here, there_s = tasks.loc[flow.job_id, str(task)], [flow.submit_s]
            for sender in flow.edges[flow.edges[:, 1] == task, 0].tolist():
                ran = tasks.loc[flow.job_id, str(sender)]
                travels = terms.travel and (waits_for_all or ran["cluster"] != here["cluster"])
                ticks = np.ceil(said["ccr"] * flow.runtime_s[sender] / said["tick_s"]) if travels else 0.0
                there_s.append(ran["end_s"] + ticks * said["tick_s"])
            assert here["start_s"] == max(there_s)
        finish_s = tasks.loc[flow.job_id]["end_s"].max()
        slr.append((finish_s - flow.submit_s) / {4: 4.0 + 5.0 + 2.0, 2: 20.0}[len(flow)])
    assert schedule.metrics()["mean_slr"] == pytest.approx(np.mean(slr), rel=1e-12)
    if way == "router, two auctions" and not rules:
        # Of the diamonds both ends wait a second: 4 + 1 + 5 + 1 + 2, of 11. The chain waits 2 s: 22 of 20.
        assert slr == [13 / 11, 1.1, 13 / 11]


def test_owners_of_transfers_that_disagree_are_refused_when_the_model_is_built() -> None:
    env = sm.Environment()
    router = sm.RoundRobin(env, [auctioneer(env, "ab", {}), auctioneer(env, "cd", {"ccr": 0.5})])
    differs = (
        "data travel with ccr=0.2, network='cluster', tick_s=1 in front of clusters where data travel with ccr=0.5, "
        "network='cluster', tick_s=1; give all of them the same ccr, network and tick_s"
    )
    with refused(differs):
        sm.Source(env, [diamond(1, 0.0)], into=router)
    sm.Source(env, sm.Workload([1], [0], [1], [1], [1]), into=router)  # no data of rigid jobs travel
    env.run()

    env = sm.Environment()
    sm.Source(env, [diamond(1, 0.0)], into=auctioneer(env, "ab", {}))
    sm.Source(env, [diamond(2, 0.0)], into=queue_of(env, "e"))  # alone, from where nothing travels
    other = sm.RoundRobin(env, [queue_of(env, "c"), queue_of(env, "d")])
    what = "data travel in no time beside clusters where data travel with ccr=0.2, network='cluster', tick_s=1"
    with pytest.raises(sm.RequestError, match=f"{what}; give all of them the same ccr"):
        sm.Source(env, [diamond(2, 0.0)], into=other)


@pytest.mark.parametrize("before", [sm.Dependencies, lambda env, into: sm.RoundRobin(env, [into])])
def test_an_auction_that_ends_with_the_last_submission_takes_nothing_from_routers(before: Any) -> None:
    env = sm.Environment()
    with refused("...jobs that a router sends into an auction with end='submit'; use end='drain'..."):
        before(env, auctioneer(env, "a", {"end": "submit"}))


def test_the_critical_path_is_that_of_an_auction_on_these_clusters() -> None:
    flow = sm.Workflow(1, 0.0, [10.0, 10.0], 4, [(0, 1)], ["A", "B"])
    env = sm.Environment()
    sm.Source(env, [flow], into=sm.Dependencies(env, queue_of(env, "a"), ccr=0.2))
    schedule = recorded(env)
    auction = sm.simulate(flow, on=("a", 64), bid="SRTF", ccr=0.2)
    for each in (schedule, auction):
        assert each.workflows[["critical_path_s", "slr"]].to_numpy().tolist() == [[20.0, 1.0]]


@pytest.mark.parametrize(
    ("asked", "ccr"),
    [
        ({"router": "RoundRobin"}, 0.0),
        ({"router": "RoundRobin", "ccr": 0.5}, 0.5),
        ({"bid": "SRTF"}, 0.2),
        ({"bid": "SRTF", "forward": True, "ccr": 0.5}, 0.5),
    ],
)
def test_in_one_call_data_travel_as_the_router_or_the_auction_says(asked: dict[str, Any], ccr: float) -> None:
    flows = [diamond(k, float(k)) for k in range(5)]
    schedule = sm.simulate(flows, on=[("a", 4), ("b", 4)], **asked).validate()
    assert schedule.terms.ccr == ccr
    if "bid" in asked:
        with pytest.raises(sm.RequestError, match="router 'RoundRobin' beside a bid"):
            sm.simulate(flows, on=[("a", 4), ("b", 4)], **{"router": "RoundRobin"} | asked)


# -- jobs and workflows of one source -------------------------------------------------------------------


def test_rigid_jobs_and_workflows_of_one_source_by_hand() -> None:
    env, queue = queue_on(4, backfilling="none")
    log = sm.Workload([1, 2, 3], [0, 6, 6], [3, 4, -1], [3, 4, 4], [4, 4, 1])
    source = sm.Source(env, sm.Workload.concat([log, [diamond(9, 1.0)]], name="both"), into=queue)
    recorder = sm.Recorder(env)
    env.run(until=2.0)
    assert source.submitted == 5, "a job, and the four tasks of a workflow"
    assert source.rows.tolist() == [0, 3, 4, 5, 6, 1]
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.workload.name == "both"
    np.testing.assert_array_equal(schedule.start_s, [0, 7, np.nan, 3, 11, 11, 16])
    assert schedule.about["left_out"] == 1
    assert schedule.workflows["finish_s"].tolist() == [18]


@given(
    flows=FLOWS,
    rows=ROWS,
    into=st.sampled_from(["queue", "router", "auction", "forward"]),
)
def test_one_source_of_jobs_and_workflows_is_as_two(flows: list[sm.Workflow], rows: Rows, into: str) -> None:
    submit_s, runtime_s, cores = zip(*rows, strict=True)
    # Whose event comes first in an instant differs with the number of sources, so let nothing come when others end.
    log = sm.Workload(range(len(rows)), submit_s + np.arange(1, len(rows) + 1) / 64, runtime_s, runtime_s, cores)
    flows = [dataclasses.replace(each, submit_s=each.submit_s + 0.5 + k / 64) for k, each in enumerate(flows)]
    found = []
    for parts in ([sm.Workload.concat([log, flows])], [log, flows]):
        env = sm.Environment()
        clusters = [sm.Cluster(env, name, cores=size) for name, size in (("a", 4), ("b", 3))]
        if into == "auction":
            taker: Any = sm.Auctioneer(env, clusters)
        else:
            queues = [sm.QueueScheduler(env, each, order="SPF") for each in clusters]
            makers = {"queue": lambda _, each: each[0], "router": sm.LeastLoaded, "forward": forwarding}
            taker = makers[into](env, queues)
        for part in parts:
            sm.Source(env, part, into=taker)
        schedule = recorded(env, proved=len(parts) == 1)
        assert not schedule.about["left_out"]
        table = pd.DataFrame(
            {name: getattr(schedule, name) for name in ("start_s", "end_s", "cluster", "outcome")}
            | {name: getattr(schedule.workload, name) for name in ("job_id", "submit_s", "cores")}
        )
        workflows = schedule.workflows.sort_values("job_id", ignore_index=True)
        tasks = schedule.tasks.sort_values(["job_id", "task"], ignore_index=True)
        found.append((table.sort_values(list(table.columns), ignore_index=True), tasks, workflows, schedule.terms))
    for one, two in zip(found[0][:3], found[1][:3], strict=True):
        pd.testing.assert_frame_equal(one, two)
    assert found[0][3] == found[1][3]


def forwarding(env: sm.Environment, queues: list[sm.QueueScheduler]) -> sm.Auctioneer:
    return sm.Auctioneer(env, queues, forward=True, rebalance_s=5.0)


def test_a_mixed_workload_is_refused_as_its_parts_are() -> None:
    env, queue = queue_on(4)
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)], end="submit")
    log, wide = sm.Workload([7], [0], [3], [3], [4]), sm.Workload([7], [0], [3], [3], [5])
    both = sm.Workload.concat([log, [diamond(9, 1.0)]])
    for work, text in (
        (sm.Workload.concat([wide, [diamond(9, 1.0)]]), "job 7: needs 5 cores"),
        (sm.Workload.concat([log, [diamond(9, 1.0, cores=5)]]), "job 9: task 0 needs 5 cores"),
    ):
        with pytest.raises(sm.ImpossibleJobError, match=text):
            sm.Source(env, work, into=queue)
    with pytest.raises(sm.RequestError, match="rigid jobs in an auction with end='submit'"):
        sm.Source(env, both, into=auction)
    with pytest.raises(sm.RequestError, match=r"the window .* of workflows"):
        sm.Source(env, both, into=queue, window_s=(0.0, 9.0))
    with pytest.raises(sm.RequestError, match="column cores of workload 'workload' is not that of its workflows"):
        sm.Source(env, dataclasses.replace(both, cores=[4, 1, 1, 1, 1]), into=queue)
