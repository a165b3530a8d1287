# ruff: noqa: ANN401  options of any type are handed through
import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, queue_on, recorded, rigid, scheduled
from tests.simmodels.entities.test_dependencies import FLOWS, diamond


def events_of(env: sm.Environment, *kinds: type) -> list[tuple[float, Any]]:
    """Return a list that grows with the events of some classes, each with its instant."""
    seen: list[tuple[float, Any]] = []
    for kind in kinds:
        env.on(kind, lambda event: seen.append((env.now, event)))
    return seen


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=25
    ),
    options=st.fixed_dictionaries(
        {
            "backfilling": st.sampled_from(["none", "greedy", "easy", "conservative"]),
            "decide": st.sampled_from(["instant", "event"]),
        }
    ),
)
def test_backfilled_is_who_passes_another_and_reservations_are_kept(
    rows: list[tuple[int, int, int, int]], options: dict[str, Any]
) -> None:
    jobs = rigid(*((submit, runtime, runtime + more, cores) for submit, runtime, more, cores in sorted(rows)))
    env, queue = queue_on(5, **options)
    seen = events_of(env, sm.Backfilled, sm.Reserved, sm.Started)
    start_s = scheduled(queue, jobs).start_s
    alone = sm.simulate(jobs, cores=5, **options, engine="compiled")
    np.testing.assert_array_equal(start_s, alone.start_s)
    order = [event.attempt.job.job_id - 1 for _, event in seen if isinstance(event, sm.Started)]
    turn = np.argsort(order)
    backfilled = {event.attempt.job.job_id - 1 for _, event in seen if isinstance(event, sm.Backfilled)}
    assert backfilled == {row for row in range(len(jobs)) if (turn[:row] > turn[row]).any()}
    promised: dict[int, float] = {}
    for now, event in seen:
        if isinstance(event, sm.Reserved):
            row = event.job.job_id - 1
            assert now <= event.start_s < promised.get(row, np.inf)
            promised[row] = event.start_s
        elif isinstance(event, sm.Backfilled):
            reason = {"greedy": "fits", "conservative": "delays no reservation"}.get(options["backfilling"])
            if reason is None:
                in_time = now + event.attempt.job.estimate_s <= promised[event.ahead.job_id - 1]
                reason = "ends in time" if in_time else "extra cores"
            assert event.reason == reason
    assert all(start_s[row] <= at_s for row, at_s in promised.items())
    assert options["backfilling"] in {"easy", "conservative"} or not promised


def test_what_happens_on_the_way_of_a_job_is_published_in_order() -> None:
    env, cluster = machines_on(2, 2)
    queue = sm.QueueScheduler(env, cluster)
    router = sm.RoundRobin(env, [queue])
    kinds = (sm.Submitted, sm.Routed, sm.Started, sm.Ended, sm.Lost, sm.Powered)
    seen = events_of(env, *kinds)

    def operate() -> Process:
        router.submit(sm.Job(1, 0.0, 10.0, 10.0, 2))
        yield env.timeout(4)
        yield cluster.machines[0].power_off()

    env.process(operate())
    env.run()
    assert [(now, type(event).__name__) for now, event in seen] == [
        (0, "Submitted"),
        (0, "Routed"),
        (0, "Started"),
        (4, "Powered"),
        (4, "Ended"),
        (4, "Lost"),
        (4, "Started"),
        (14, "Ended"),
    ]
    assert seen[0][1].to is router
    assert seen[1][1] == sm.Routed(seen[0][1].job, router, queue)
    assert seen[3][1].machine is cluster.machines[0]


@pytest.mark.parametrize("prices", [True, False])
def test_prices_are_published_as_the_schedule_has_them(*, prices: bool) -> None:
    env = sm.Environment(seed=3)
    auction = sm.Auctioneer(env, [sm.Cluster(env, "c", cores=4)], bid="SRTF", prices=prices)
    flows = [sm.Workflow(i, float(i % 3), [5.0 + i, 2.0], [3, 2], edges=[(0, 1)]) for i in range(6)]
    seen = events_of(env, sm.Priced)
    tasks = scheduled(auction, flows).tasks
    if not prices:
        assert not seen
        return
    paid = {(event.attempt.job.job_id, str(event.attempt.job.task)): event.price for _, event in seen}
    assert len(paid) == len(tasks) == 12
    assert tasks["price"].tolist() == [paid[task] for task in zip(tasks["job_id"], tasks["task"], strict=True)]
    assert len(set(paid.values())) > 1


@pytest.mark.parametrize("backfilling", ["easy", "conservative"])
def test_an_observer_may_send_a_job_elsewhere_when_its_reservation_is_late(backfilling: Any) -> None:
    def move(event: sm.Reserved) -> None:
        if event.by is queue and event.start_s > 5:
            queue.withdraw(event.job)
            other.enqueue(event.job)

    env, queue = queue_on(4, backfilling=backfilling)
    other = sm.QueueScheduler(env, sm.Cluster(env, "b", cores=4))
    env.on(sm.Reserved, move)
    schedule = scheduled(queue, rigid((0, 9, 9, 3), (0, 9, 9, 4), (0, 2, 2, 1), (1, 9, 9, 4)))
    assert schedule.cluster.tolist() == [0, 1, 0, 1]
    assert schedule.start_s.tolist() == [0, 0, 0, 9]


def test_options_may_change_while_jobs_are_being_started() -> None:
    env, queue = queue_on(4)
    once = [True]
    reserved: list[tuple[int, float]] = []
    env.on(sm.Started, lambda _: queue.reconfigure(backfilling="conservative") if once and once.pop() else None)
    env.on(sm.Reserved, lambda event: reserved.append((event.job.job_id, event.start_s)))
    sm.Source(env, rigid((5, 100, 100, 2), (5, 100, 100, 2), (6, 9, 9, 4)), into=queue)
    env.run()
    assert reserved == [(3, 105)]


def test_warm_jobs_and_moving_orders_have_no_reservations_that_are_no_number() -> None:
    env, queue = queue_on(4, order="WFP3", backfilling="conservative", warm_jobs=3)
    seen = events_of(env, sm.Reserved)
    sm.Source(env, rigid((0, 9, 9, 4), (1, 9, 9, 4), (2, 9, 9, 4), (3, 9, 9, 4), (4, 9, 9, 4)), into=queue)
    env.run()
    assert seen
    assert all(now <= event.start_s for now, event in seen)
    env, queue = queue_on(4, order="WFP3", backfilling="conservative")
    seen = events_of(env, sm.Reserved)
    sm.Source(env, rigid((0, 9, 9, 4), (1, 9, 9, 4)), into=queue)
    env.run()
    assert [(now, event.start_s) for now, event in seen] == [(1, 9)]


def test_started_comes_first_also_where_jobs_do_more_than_wait() -> None:
    class Busy(sm.Cluster):
        def execute(self, attempt: sm.Attempt) -> Process:
            yield self.env.timeout(attempt.job.runtime_s)

    env = sm.Environment()
    queue = sm.QueueScheduler(env, Busy(env, "a", cores=4))
    seen = events_of(env, sm.Started, sm.Backfilled)
    sm.Source(env, rigid((0, 9, 9, 3), (0, 9, 9, 4), (0, 2, 2, 1)), into=queue)
    env.run(until=1)
    assert [type(event).__name__ for _, event in seen] == ["Started", "Started", "Backfilled"]


# -- workflows that are done --------------------------------------------------------------------------


def done(env: sm.Environment) -> list[tuple[float, int, str, object]]:
    """Return a list that grows with the workflows that are done: when, number, outcome, by whom."""
    seen: list[tuple[float, int, str, object]] = []
    env.on(sm.WorkflowDone, lambda event: seen.append((env.now, event.workflow.job_id, event.outcome, event.by)))
    return seen


def test_a_workflow_is_done_after_its_last_task_has_ended_in_front_of_a_queue() -> None:
    env, queue = queue_on(2)
    seen = events_of(env, sm.Ended, sm.WorkflowDone)
    flow = diamond(7, 0.0)
    before = sm.Dependencies(env, queue)
    sm.Source(env, [flow], into=before)
    env.run()
    # two cores: 4, then 3 and 5 one after the other, then 2
    assert [(now, type(event).__name__) for now, event in seen[-2:]] == [(14, "Ended"), (14, "WorkflowDone")]
    assert seen[-1][1] == sm.WorkflowDone(flow, "finished", before)
    assert len(seen) == 5


@pytest.mark.parametrize("auctioned", [True, False])
def test_an_observer_may_submit_the_next_workflow_at_the_instant_when_one_is_done(*, auctioned: bool) -> None:
    def follow(event: sm.WorkflowDone) -> None:
        if event.workflow.job_id < 3:
            into.submit(diamond(event.workflow.job_id + 1, float(env.now)))

    env = sm.Environment()
    cluster = sm.Cluster(env, "a", cores=4)
    into: Any = sm.Auctioneer(env, [cluster]) if auctioned else sm.Dependencies(env, sm.QueueScheduler(env, cluster))
    sm.Source(env, [diamond(1, 0.0)], into=into)
    env.on(sm.WorkflowDone, follow)
    seen = done(env)
    schedule = recorded(env, until=sm.all_done(env))
    assert [each[:2] for each in seen] == [(11, 1), (22, 2), (33, 3)]
    assert schedule.workflows["submit_s"].tolist() == [0, 11, 22]


def test_who_observes_late_gets_what_is_done_from_then_on() -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)], bid="FIFO")
    sm.Source(env, [sm.Workflow(number, 0.0, [10.0], 4) for number in (1, 2, 3)], into=auction)
    env.run(until=15)
    seen = done(env)
    env.run()
    assert [each[:2] for each in seen] == [(20, 2), (30, 3)]


@given(
    flows=FLOWS,
    final=st.integers(2, 6),
    place=st.sampled_from(["queue", "router", "auction", "forward", "rebalance", "router of auctions"]),
    rules=st.fixed_dictionaries(
        {
            "bid": st.sampled_from(["FIFO", "SRTF", "PVR"]),
            "admission": st.sampled_from([None, 0.5]),
            "instants": st.sampled_from(["starvation", "deadlines"]),
            "end": st.sampled_from(["drain", "submit"]),
            "ccr": st.sampled_from([0.0, 0.5]),
        }
    ),
    off_s=st.none() | st.integers(0, 30),
)
def test_each_workflow_that_a_schedule_calls_done_was_published_once_as_it_says(
    flows: list[sm.Workflow], final: float, place: str, rules: dict[str, Any], off_s: int | None
) -> None:
    flows = [dataclasses.replace(each, curve=sm.ValueCurve.linear(1, final)) for each in flows]
    env = sm.Environment()
    clusters = [sm.Cluster(env, name, machines=1, cores_per_machine=4) for name in ("a", "b")]
    if off_s is not None:
        sm.Maintenance(env, clusters[0], start_s=off_s, duration_s=5, notice_s=0, machines=[0])
    into: Any
    if place == "router of auctions":
        auctions = [sm.Auctioneer(env, [each], **{**rules, "end": "drain"}) for each in clusters]
        into = sm.RoundRobin(env, auctions)
    elif place == "auction":
        into = sm.Auctioneer(env, clusters, **rules)
    else:
        some = [sm.QueueScheduler(env, each) for each in clusters]
        if place == "queue":
            into = some[0]
        elif place == "router":
            into = sm.LeastLoaded(env, some)
        else:
            rules["admission"] = None  # tasks wait in queues, not for the auction
            into = sm.Auctioneer(env, some, forward=True, rebalance_s=3 if place == "rebalance" else None, **rules)
    seen = done(env)
    sm.Source(env, flows, into=into)
    table = recorded(env, until=sm.all_done(env) if rules["end"] == "drain" else None, whole=True).workflows
    expected = {
        job_id: outcome
        for job_id, outcome in zip(table["job_id"], table["outcome"], strict=True)
        if outcome != "unfinished"
    }
    assert {job_id: outcome for _, job_id, outcome, _ in seen} == expected
    assert len(seen) == len(expected)
    submit_s = dict(zip(table["job_id"], table["submit_s"], strict=True))
    finish_s = dict(zip(table["job_id"], table["finish_s"], strict=True))
    path_s = dict(zip(table["job_id"], table["critical_path_s"], strict=True))
    deadline_s = {each.job_id: math.ceil(each.submit_s + each.curve.final * path_s[each.job_id]) for each in flows}
    for now, job_id, outcome, by in seen:
        assert by is into or isinstance(by, sm.Dependencies), "which a source makes before what takes no workflows"
        assert now == {"finished": finish_s, "rejected": submit_s, "starved": deadline_s}[outcome][job_id]
