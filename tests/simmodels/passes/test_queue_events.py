"""The state of a queue, event by event."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simmodels.passes import queue_events as events
from simmodels.passes.queue_order import set_order
from simmodels.policies.orders import find_order
from simmodels.policies.queue_options import QueueOptions
from simmodels.structures.queue_state import grow, reservations, waiting_slots
from simmodels.structures.structure import address_of
from tests.naive import Naive, Row


class Stepped:
    """A queue stepped by hand; jobs are (submit, estimate, cores) by slot."""

    def __init__(
        self, jobs: list[tuple[float, float, int]], *, free: int, order: str = "FCFS", **options: object
    ) -> None:
        submit, estimate, cores = (np.array(column) for column in zip(*jobs, strict=True))
        backfill_order = options.pop("backfill_order", None)
        second = None if backfill_order is None else find_order(backfill_order)
        self.queue = QueueOptions(find_order(order), backfill_order=second, **options).open(
            (submit.astype(float), estimate.astype(float), estimate.astype(float), cores.astype(np.int64)), free=free
        )

    def arrive(self, now: float, jobs: int = 1) -> None:
        for _ in range(jobs):
            events.arrive(self.queue, float(now))

    def decide(self, now: float) -> list[int]:
        started = np.empty(64, np.int64)
        return started[: events.instant(address_of(self.queue), float(now), started, 0, 0)].tolist()

    def finish(self, slot: int, now: float) -> None:
        events.finish(self.queue, slot, float(now))

    def requeue(self, slot: int, now: float) -> None:
        events.requeue(self.queue, slot, float(now))

    def power(self, cores: int) -> None:
        events.change_capacity(self.queue, cores)

    def set_order(self, order: str, backfill_order: str | None, now: float) -> None:
        first = find_order(order)
        second = first if backfill_order is None else find_order(backfill_order)
        keys = (first.key_function, second.key_function, first.moving, second.moving)
        set_order(self.queue, *keys, second is first, float(now))

    @property
    def waiting(self) -> list[int]:
        return waiting_slots(self.queue).tolist()

    @property
    def reserved(self) -> list[float]:
        return reservations(self.queue).tolist()


# -- lost jobs and changing capacity ------------------------------------------------------------------


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
def test_a_lost_job_waits_again_at_its_old_place(backfilling: str) -> None:
    queue = Stepped([(0, 10, 2), (1, 10, 2), (2, 10, 2)], free=2, backfilling=backfilling)
    queue.arrive(0)
    assert queue.decide(0) == [0]
    queue.arrive(1, 2)
    assert queue.decide(2) == []
    assert queue.waiting == [1, 2]
    queue.requeue(0, 5)
    assert queue.waiting == [0, 1, 2]
    assert queue.decide(5) == [0]
    queue.finish(0, 15)
    assert queue.decide(15) == [1]


@pytest.mark.parametrize("backfilling", ["none", "greedy", "easy", "conservative"])
def test_cores_that_are_off_are_not_given_away(backfilling: str) -> None:
    queue = Stepped([(0, 10, 3), (0, 10, 1)], free=4, backfilling=backfilling)
    queue.power(-2)
    queue.arrive(0, 2)
    assert queue.decide(0) == ([] if backfilling == "none" else [1])
    queue.power(2)
    assert queue.decide(3) == ([0, 1] if backfilling == "none" else [0])


def test_conservative_reserves_nothing_for_a_job_wider_than_what_is_on() -> None:
    queue = Stepped([(0, 10, 4), (0, 10, 1)], free=2, backfilling="conservative")
    queue.arrive(0, 2)
    assert queue.decide(0) == [1]
    assert queue.reserved[0] == math.inf
    queue.power(2)
    assert queue.decide(4) == []
    assert queue.reserved[0] == 10.0


def test_conservative_plans_again_when_cores_are_lost() -> None:
    queue = Stepped([(0, 10, 2), (0, 5, 2), (0, 5, 1)], free=3, backfilling="conservative")
    queue.arrive(0, 3)
    assert queue.decide(0) == [0, 2]
    assert queue.reserved[1] == 10.0
    queue.power(-1)
    queue.requeue(2, 1)  # its core was on the machine that went
    assert queue.decide(1) == []
    assert queue.reserved[1:] == [10.0, 15.0]


# -- the window of queue_depth ------------------------------------------------------------------------


def test_only_the_earliest_jobs_are_in_the_window() -> None:
    queue = Stepped(
        [(0, 9, 2), (1, 8, 2), (2, 1, 2), (3, 2, 2)], free=2, backfilling="none", order="SPF", queue_depth=2
    )
    queue.arrive(0)
    assert queue.decide(0) == [0]
    queue.arrive(3, 3)
    assert queue.waiting == [2, 1]
    queue.finish(0, 9)
    assert queue.decide(9) == [2]
    assert queue.waiting == [3, 1]


def test_a_lost_job_drives_the_latest_out_of_a_full_window_and_it_comes_back() -> None:
    jobs = [(slot, 10, 2) for slot in range(5)]
    queue = Stepped(jobs, free=2, backfilling="none", queue_depth=2)
    queue.arrive(0)
    assert queue.decide(0) == [0]
    queue.arrive(4, 4)
    assert queue.waiting == [1, 2]
    queue.requeue(0, 5)
    assert queue.waiting == [0, 1]
    for slot in range(5):
        assert queue.decide(10 * slot + 5) == [slot]
        assert queue.waiting == [later for later in range(5) if later > slot][:2]
        queue.finish(slot, 10 * slot + 15)


def test_a_lost_job_later_than_a_full_window_waits_outside() -> None:
    queue = Stepped([(0, 10, 3), (1, 9, 3), (2, 1, 1), (3, 1, 3)], free=4, backfilling="greedy", queue_depth=2)
    queue.arrive(0)
    assert queue.decide(0) == [0]
    queue.arrive(2, 2)
    assert queue.decide(2) == [2]  # job 1 is the head
    queue.arrive(3)
    assert queue.waiting == [1, 3]
    queue.requeue(2, 3)
    assert queue.waiting == [1, 2]
    assert queue.decide(3) == [2]
    assert queue.waiting == [1, 3]


def test_a_warm_job_that_is_lost_does_not_end_the_warm_up() -> None:
    queue = Stepped([(0, 10, 1), (1, 5, 2), (2, 3, 1)], free=2, backfilling="easy", warm_jobs=2)
    queue.arrive(0)
    assert queue.decide(0) == [0]
    queue.arrive(2, 2)
    assert queue.decide(2) == []
    queue.requeue(0, 4)
    assert queue.decide(4) == [0]  # and not 2, since 1 is warm and has not started


# -- another order --------------------------------------------------------------------------------------


def test_another_order_holds_from_the_next_decision_on() -> None:
    queue = Stepped([(0, 5, 1), (1, 9, 1), (2, 3, 1), (3, 7, 1)], free=1, backfilling="none")
    queue.arrive(0)
    queue.decide(0)
    queue.arrive(3, 3)
    assert queue.waiting == [1, 2, 3]
    queue.set_order("SPF", None, 4)
    assert queue.waiting == [2, 3, 1]
    queue.set_order("LPF", None, 4)
    queue.finish(0, 5)
    assert queue.decide(5) == [1]


@pytest.mark.parametrize("before", [None, "LPF"])
@pytest.mark.parametrize(("after", "starts"), [("SPF", [3]), ("LPF", [2]), (None, [2])])
def test_the_backfill_order_can_be_set_and_taken_back(before: str | None, after: str | None, starts: list[int]) -> None:
    # a free core beside job 0 until 20; the head, job 1, needs both; 2 and 3 could be backfilled, one of them
    queue = Stepped([(0, 20, 1), (1, 9, 2), (2, 8, 1), (2, 5, 1)], free=2, backfilling="easy", backfill_order=before)
    queue.arrive(0)
    queue.decide(0)
    queue.arrive(1)
    queue.decide(1)
    queue.set_order("FCFS", after, 2)
    queue.arrive(2, 2)
    assert queue.decide(2) == starts


def test_set_order_keeps_thousands_of_waiting_jobs() -> None:
    rng = np.random.default_rng(0)
    estimate = rng.permutation(3000)
    queue = Stepped([(0.0, float(lasts), 1) for lasts in estimate], free=0, backfilling="easy")
    queue.arrive(0, 3000)
    queue.set_order("SPF", "LPF", 0)
    assert queue.waiting == np.argsort(estimate).tolist()
    queue.power(2)
    assert queue.decide(0) == np.argsort(estimate)[:2].tolist()


def test_grow_makes_room_and_keeps_what_is_there() -> None:
    queue = Stepped([(0, 5, 2), (1, 5, 2)], free=2, backfilling="conservative")
    queue.arrive(0, 2)
    assert queue.decide(0) == [0]
    columns = grow(queue.queue, 4, np.empty(0))
    assert [len(column) for column in columns] == [4, 4, 4, 4]
    assert columns[0][:2].tolist() == [0.0, 1.0]
    for column, values in zip(columns, ([2, 3], [1, 1], [1, 1], [1, 2]), strict=True):
        column[2:] = values
    queue.arrive(3, 2)
    assert queue.waiting == [1, 2, 3]
    queue.finish(0, 5)
    assert queue.decide(5) == [1]
    assert queue.reserved[2:] == [10.0, 11.0]


# -- everything at once, against the naive simulator ----------------------------------------------------


@given(
    st.integers(0, 2**32),
    st.sampled_from(["none", "greedy", "easy", "conservative"]),
    st.sampled_from(["FCFS", "SPF", "LCFS", "SEXP"]),
    st.sampled_from([None, None, 1, 2, 3]),
    st.sampled_from([None, 3.0]),
)
@example(0, "easy", "SPF", 2, None)
@example(815, "conservative", "LCFS", None, None)  # nothing is promised for an instant at which -1 cores are free
def test_jobs_lost_and_cores_coming_and_going(
    seed: int, backfilling: str, order: str, depth: int | None, threshold_s: float | None
) -> None:
    rng = np.random.default_rng(seed)
    size, cores = 14, 4
    submit = np.sort(rng.integers(0, 12, size)).astype(float)
    estimate = rng.integers(1, 7, size).astype(float)
    width = rng.integers(1, cores + 1, size)
    jobs = list(zip(submit.tolist(), estimate.tolist(), width.tolist(), strict=True))
    options = {"order": order, "backfilling": backfilling, "threshold_s": threshold_s, "queue_depth": depth}
    queue = Stepped(jobs, free=cores, **options)
    naive = Naive(cores, **options)
    rows = [Row(slot, *job[:1], job[1], job[1], job[2], 0.0) for slot, job in enumerate(jobs)]
    arrived = 0
    for now in range(40):
        for row in list(naive.running):
            dice = rng.random()
            if dice < 0.15:  # its machine is gone
                queue.requeue(row.rank, now)
                naive.running.remove(row)
                naive.waiting = sorted([*naive.waiting, row], key=lambda one: one.rank)
                naive.promised.clear()
            elif dice < 0.5:  # it ends: early, late, or when expected
                queue.finish(row.rank, now)
                naive.finish(row, float(now))
        if rng.random() < 0.2:
            change = int(rng.integers(-2, 3))
            queue.power(change)
            naive.cores += change
            naive.promised.clear()
        while arrived < size and submit[arrived] <= now:
            queue.arrive(now)
            naive.waiting.append(rows[arrived])
            arrived += 1
        before = list(naive.running)
        naive.start_all(float(now))
        assert queue.decide(now) == [row.rank for row in naive.running if row not in before], f"at {now}"
        assert sorted(queue.waiting) == [row.rank for row in naive.waiting[:depth]]
