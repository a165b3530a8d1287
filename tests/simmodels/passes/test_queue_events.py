"""The state of a queue, event by event."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simmodels.passes import queue_events as events
from simmodels.passes.queue_order import set_order
from simmodels.policies.orders import find_order
from simmodels.policies.queue_options import QueueOptions
from simmodels.structures.queue_state import waiting_slots
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


# -- lost jobs and changing capacity ------------------------------------------------------------------


# -- the window of queue_depth ------------------------------------------------------------------------


def test_a_warm_job_that_is_lost_does_not_end_the_warm_up() -> None:
    queue = Stepped([(0, 10, 1), (1, 5, 2), (2, 3, 1)], free=2, backfilling="easy", warm_jobs=2)
    queue.arrive(0)
    assert queue.decide(0) == [0]
    queue.arrive(2, 2)
    assert queue.decide(2) == []
    queue.requeue(0, 4)
    assert queue.decide(4) == [0]  # and not 2, since 1 is warm and has not started


# -- another order --------------------------------------------------------------------------------------


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
