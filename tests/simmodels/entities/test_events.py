from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.entities.environment import Process
from tests.model_scripts import machines_on, queue_on, rigid, scheduled


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
