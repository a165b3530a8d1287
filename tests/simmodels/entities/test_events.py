from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, queue_on, queues, recorded, rigid, scheduled


def events_of(env: sm.Environment, *kinds: type) -> list[tuple[float, Any]]:
    """Return a list that grows with the events of some classes, each with its instant."""
    seen: list[tuple[float, Any]] = []
    for kind in kinds:
        env.on(kind, lambda event: seen.append((env.now, event)))
    return seen


def test_backfilled_jobs_say_why_and_reservations_when_they_change() -> None:
    env, queue = queue_on(4)
    # Job 1 has two cores until 10 by its estimate, and ends at 6; job 2 needs three: one core is extra then.
    jobs = rigid((0, 6, 10, 2), (1, 5, 5, 3), (2, 3, 3, 1), (3, 20, 20, 1), (4, 9, 9, 2))
    sm.Source(env, jobs, into=queue)
    seen = events_of(env, sm.Backfilled, sm.Reserved)
    env.run()
    found = [
        (now, "reserved", event.job.job_id, event.start_s)
        if isinstance(event, sm.Reserved)
        else (now, event.attempt.job.job_id, event.ahead.job_id, event.reason)
        for now, event in seen
    ]
    assert found == [
        (1, "reserved", 2, 10),
        (2, 3, 2, "ends in time"),
        (3, 4, 2, "extra cores"),
        (6, "reserved", 5, 11),
    ]


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
        elif isinstance(event, sm.Backfilled) and options["backfilling"] == "easy":
            ends_s = now + event.attempt.job.estimate_s
            assert (event.reason == "ends in time") == (ends_s <= promised[event.ahead.job_id - 1])
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
def test_an_observer_may_send_a_job_elsewhere_when_its_reservation_is_late(backfilling: Any) -> None:  # noqa: ANN401
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


def diamond(job_id: int, submit_s: float = 0.0, **more: Any) -> sm.Workflow:  # noqa: ANN401  as it takes
    """Tasks of 4, 3, 5 and 2 s, on two cores each: the critical path is 11 s."""
    return sm.Workflow(job_id, submit_s, [4.0, 3.0, 5.0, 2.0], 2, [(0, 1), (0, 2), (1, 3), (2, 3)], **more)


def done(env: sm.Environment) -> list[tuple[float, int, str, object]]:
    """Return a list that grows with the workflows that are done: when, number, outcome, by whom."""
    seen: list[tuple[float, int, str, object]] = []
    env.on(sm.WorkflowDone, lambda event: seen.append((env.now, event.workflow.job_id, event.outcome, event.by)))
    return seen


def test_a_workflow_is_done_after_its_last_task_has_ended_in_front_of_a_queue() -> None:
    env, queue = queue_on(2)
    seen = events_of(env, sm.Ended, sm.WorkflowDone)
    flow = diamond(7)
    before = sm.Dependencies(env, queue)
    sm.Source(env, [flow], into=before)
    env.run()
    # two cores: 4, then 3 and 5 one after the other, then 2
    assert [(now, type(event).__name__) for now, event in seen[-2:]] == [(14, "Ended"), (14, "WorkflowDone")]
    assert seen[-1][1] == sm.WorkflowDone(flow, "finished", before)
    assert len(seen) == 5


@pytest.mark.parametrize("routers", [1, 2])
def test_a_workflow_is_done_once_however_many_routers_it_passes(routers: int) -> None:
    env = sm.Environment()
    into: Any = sm.RoundRobin(env, queues(env, 2, 2))
    for _ in range(routers - 1):
        into = sm.LeastLoaded(env, [into])
    before = sm.Dependencies(env, into)
    seen = done(env)
    sm.Source(env, [diamond(1), diamond(2, 20.0)], into=before)
    sm.Source(env, rigid((0, 1, 1), (30, 9, 1)), into=into)
    env.run()
    # each queue has room for one task: 4, then 3 and 5 side by side, then 2
    assert seen == [(11, 1, "finished", before), (31, 2, "finished", before)]


@pytest.mark.parametrize("place", ["clusters", "queues", "queues, forward"])
def test_a_workflow_is_done_where_an_auction_ends_its_last_task(place: str) -> None:
    env = sm.Environment()
    into: Any = queues(env, 2, 2)
    if place == "clusters":
        into = [sm.Cluster(env, name, cores=2) for name in ("a", "b")]
    auction = sm.Auctioneer(env, into, bid="SRTF", network="none", forward=place == "queues, forward")
    seen = done(env)
    sm.Source(env, [diamond(1), diamond(2, 20.0)], into=auction)
    env.process(submitted(auction, sm.Job(9, 5.0, 30.0, 30.0, 1)))  # a rigid job is no workflow
    env.run(until=sm.all_done(env))
    # The rigid job has one of both places from 7 to 37: tasks 1 and 2 of the second workflow run one after the other.
    assert seen == [(11, 1, "finished", auction), (34, 2, "finished", auction)]


def submitted(into: sm.Scheduler | sm.Router, job: sm.Job) -> Process:
    """Submit a job at its instant."""
    yield into.env.at(job.submit_s)
    into.submit(job)


def test_tasks_that_auctions_behind_a_router_run_are_done_where_they_were_submitted() -> None:
    env = sm.Environment()
    auctions = [sm.Auctioneer(env, [sm.Cluster(env, name, cores=2)], bid="SRTF", ccr=0) for name in ("a", "b")]
    before = sm.Dependencies(env, sm.RoundRobin(env, auctions))
    seen = done(env)
    sm.Source(env, [diamond(1)], into=before)
    env.run()
    assert seen == [(11, 1, "finished", before)]


def test_a_workflow_starves_once_at_its_deadline_though_a_task_runs_on() -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)], bid="FIFO")
    curve = sm.ValueCurve.linear(1, 2)  # worth nothing from twice the critical path on
    # Job 2 could end at 10 at best; job 1 holds the cores up to 15, so that it runs from 15 to 25 and starves at 20.
    flows = [sm.Workflow(1, 0.0, [15.0], 4), sm.Workflow(2, 0.0, [10.0], 4, curve=curve)]
    seen, ended = done(env), events_of(env, sm.Ended)
    sm.Source(env, flows, into=auction)
    env.run()
    assert seen == [(15, 1, "finished", auction), (20, 2, "starved", auction)]
    assert [now for now, _ in ended] == [15, 25]


def test_a_workflow_whose_last_task_ends_at_its_deadline_starves_once() -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)], bid="FIFO")
    flows = [sm.Workflow(1, 0.0, [10.0], 4), sm.Workflow(2, 0.0, [10.0], 4, curve=sm.ValueCurve.linear(1, 2))]
    seen = done(env)
    schedule = scheduled(auction, flows)
    assert seen == [(10, 1, "finished", auction), (20, 2, "starved", auction)]
    assert schedule.workflows["outcome"].tolist() == ["finished", "starved"]


def test_a_workflow_that_is_rejected_is_done_when_it_is_submitted() -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)], bid="FIFO", admission=0.6)
    curve = sm.ValueCurve.linear(1, 3)
    # Behind 20 s of work, a job of 10 s is projected to take three times its critical path: it would be worth nothing.
    flows = [sm.Workflow(1, 0.0, [20.0], 4), sm.Workflow(2, 0.0, [10.0], 4, curve=curve)]
    seen = done(env)
    sm.Source(env, flows, into=auction)
    env.run()
    assert seen == [(0, 2, "rejected", auction), (20, 1, "finished", auction)]


@pytest.mark.parametrize("auctioned", [True, False])
def test_a_workflow_whose_last_task_is_lost_is_done_when_that_has_run_again(*, auctioned: bool) -> None:
    env, cluster = machines_on(1, 4)
    into: Any = sm.Auctioneer(env, [cluster]) if auctioned else sm.QueueScheduler(env, cluster)
    seen = done(env)
    sm.Source(env, [sm.Workflow(1, 0.0, [2.0, 10.0], 4, [(0, 1)])], into=into)
    sm.Maintenance(env, cluster, start_s=5, duration_s=3, notice_s=0, machines=[0])
    env.run(until=sm.all_done(env))
    assert [each[:3] for each in seen] == [(18, 1, "finished")]  # 2 s, lost at 5, again from 8 on


def test_what_auctions_leave_unfinished_at_the_last_submission_is_never_done() -> None:
    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)], end="submit")
    seen = done(env)
    schedule = scheduled(auction, [sm.Workflow(1, 0.0, [2.0], 4), sm.Workflow(2, 3.0, [9.0], 4)])
    assert [each[:3] for each in seen] == [(2, 1, "finished")]
    assert schedule.workflows["outcome"].tolist() == ["finished", "unfinished"]


@pytest.mark.parametrize("auctioned", [True, False])
def test_an_observer_may_submit_the_next_workflow_at_the_instant_when_one_is_done(*, auctioned: bool) -> None:
    def follow(event: sm.WorkflowDone) -> None:
        if event.workflow.job_id < 3:
            into.submit(diamond(event.workflow.job_id + 1, float(env.now)))

    env = sm.Environment()
    cluster = sm.Cluster(env, "a", cores=4)
    into: Any = sm.Auctioneer(env, [cluster]) if auctioned else sm.Dependencies(env, sm.QueueScheduler(env, cluster))
    sm.Source(env, [diamond(1)], into=into)
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


@st.composite
def workflows(draw: st.DrawFn) -> sm.Workflow:
    tasks = draw(st.integers(1, 4))
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    column = {"min_size": tasks, "max_size": tasks}
    return sm.Workflow(
        draw(st.integers(1, 999)),
        float(draw(st.integers(0, 20))),
        [float(each) for each in draw(st.lists(st.integers(1, 9), **column))],
        draw(st.lists(st.integers(1, 4), **column)),
        draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [],
        curve=sm.ValueCurve.linear(1, draw(st.integers(2, 6))),
    )


@given(
    flows=st.lists(workflows(), min_size=1, max_size=8, unique_by=lambda flow: flow.job_id),
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
    flows: list[sm.Workflow], place: str, rules: dict[str, Any], off_s: int | None
) -> None:
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
    for now, job_id, outcome, _ in seen:
        assert outcome != "finished" or now == finish_s[job_id]
        assert outcome != "rejected" or now == submit_s[job_id]
        assert outcome != "starved" or now > submit_s[job_id]
