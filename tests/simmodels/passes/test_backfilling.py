"""The passes against a plain reading of their rules, with enough jobs for blocks to be skipped."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import MOST, Ints
from simmodels.passes import queue_events as events
from simmodels.passes.backfilling import reservation, start_heads
from simmodels.passes.queue_order import make_scratch
from simmodels.policies.orders import find_order
from simmodels.policies.queue_options import QueueOptions
from simmodels.structures.arrays import put
from simmodels.structures.queue_state import QueueState
from simmodels.structures.structure import address_of


@compiled
def heads_below(queue: QueueState, now: float, below: int) -> Ints:
    """Return the slots of the heads that fit and stand before a slot."""
    make_scratch(queue)
    n, _, _, _ = start_heads(queue, now, None, 0, below, MOST)
    return queue.placed[:n].copy()


@compiled
def reserve(queue: QueueState, now: float, free: int, need: int, started: Ints) -> tuple[float, int]:
    """Return the reservation when these have just started."""
    make_scratch(queue)
    put(queue.placed, 0, started, started.size)
    return reservation(queue, now, free, need, started.size)


@dataclass
class Scene:
    """An instant: jobs that wait and jobs that run."""

    now: float
    free: int
    key: np.ndarray
    backfill_key: np.ndarray
    cores: np.ndarray
    estimate: np.ndarray
    running: list[tuple[float, int]]  # expected end, cores

    def order(self, key: np.ndarray) -> list[int]:
        return sorted(range(len(key)), key=lambda slot: (key[slot], slot))

    def queue(self, backfilling: str, *, free: int | None = None, same: bool = True, **options: int) -> QueueState:
        """Return the queue: slots that wait, by submission or by their numbers drawn, then those that run."""
        ends, run = (np.array([each[i] for each in self.running]) for i in (0, 1))
        length = np.concatenate([self.estimate, ends]).astype(float)
        columns = (np.concatenate([self.key, ends]).astype(float), length, length.copy())
        backfill_order = None if same else find_order("RANDOM")
        queue = QueueOptions(find_order("FCFS"), backfilling, backfill_order, **options).open(
            (*columns, np.concatenate([self.cores, run]).astype(np.int64)),
            free=self.free if free is None else free,
            draw=np.concatenate([self.backfill_key, ends]).astype(float),
        )
        for _ in self.key:
            events.arrive(queue, self.now)
        for number in range(len(self.running) if backfilling == "easy" else 0):
            events.expect(queue, len(self.key) + number, 0.0)
        return queue

    def started(self, backfilling: str, **options: int) -> list[int]:
        queue, slots = self.queue(backfilling, **options), np.empty(len(self.key), np.int64)
        return slots[: events.instant(address_of(queue), self.now, slots, 0, 0)].tolist()


def shadow(now: float, free: int, need: int, running: list[tuple[float, int]]) -> tuple[float, int]:
    """When `need` cores are free, and how many are left over then."""
    ends = [(max(end, now), cores) for end, cores in running]
    for instant in sorted({end for end, _ in ends}):
        free_then = free + sum(cores for end, cores in ends if end <= instant)
        if free_then >= need:
            return instant, free_then - need
    return math.inf, free + sum(cores for _, cores in ends)


def easy(scene: Scene, key: np.ndarray, backfill_key: np.ndarray) -> list[int]:
    queue, free, running, placed = scene.order(key), scene.free, list(scene.running), []

    def start(slot: int) -> None:
        nonlocal free
        placed.append(slot)
        free -= scene.cores[slot]

    while queue and scene.cores[queue[0]] <= free:
        running.append((scene.now + scene.estimate[queue[0]], int(scene.cores[queue[0]])))
        start(queue.pop(0))
    if not queue:
        return placed
    at, extra = shadow(scene.now, free, int(scene.cores[queue[0]]), running)
    for slot in [slot for slot in scene.order(backfill_key) if slot in queue[1:]]:
        in_time = scene.now + scene.estimate[slot] <= at
        if scene.cores[slot] <= free and (in_time or scene.cores[slot] <= extra):
            start(slot)
            extra -= 0 if in_time else scene.cores[slot]
    return placed


@st.composite
def scenes(draw: st.DrawFn, *, most: int = 400) -> Scene:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    waiting, running = draw(st.integers(0, most)), draw(st.integers(0, most))
    widest = draw(st.sampled_from([1, 4, 50]))
    lasts = draw(st.sampled_from([2, 20, 1000]))
    now = float(draw(st.integers(-3, 3)))
    ends = now + rng.integers(-2, lasts, running)
    return Scene(
        now,
        int(rng.integers(0, widest + 1)),
        rng.integers(0, draw(st.sampled_from([2, 1000])), waiting).astype(float),
        rng.integers(0, draw(st.sampled_from([2, 1000])), waiting).astype(float),
        rng.integers(1, widest + 1, waiting),
        rng.integers(0, lasts, waiting).astype(float),
        list(zip(ends.tolist(), rng.integers(1, widest + 1, running).tolist(), strict=True)),
    )


@given(scenes(), st.integers(0, 3000), st.sampled_from([0, 0, 1, 60]))
def test_the_reservation_is_when_enough_is_released_and_counts_jobs_just_started(
    scene: Scene, more: int, started: int
) -> None:
    slots = np.array(scene.order(scene.estimate)[:started], np.int64)
    ends = scene.now + scene.estimate[slots]
    need = scene.free + 1 + more
    found = reserve(scene.queue("easy"), scene.now, scene.free, need, slots)
    just_started = list(zip(ends.tolist(), scene.cores[slots].tolist(), strict=True))
    assert found == shadow(scene.now, scene.free, need, [*scene.running, *just_started])


@given(scenes(), st.booleans(), st.none() | st.integers(1, 9))
@settings(max_examples=2 * settings.default.max_examples)
def test_easy_starts_what_its_rules_say_in_their_order(scene: Scene, same: bool, most: int | None) -> None:
    """The heads start, and of those that are backfilled in the same or another order the first, as many as may."""
    expected = easy(scene, scene.key, scene.key if same else scene.backfill_key)
    if most is None:
        assert scene.started("easy", same=same) == expected
    else:
        heads = len(scene.started("none"))
        assert scene.started("easy", same=same, max_backfills=most) == expected[: heads + most]


@given(scenes(), st.integers(0, 400))
def test_heads_start_while_they_fit_and_stand_before_a_slot(scene: Scene, below: int) -> None:
    for limit in (below, MOST):
        expected, free = [], scene.free
        for slot in scene.order(scene.key):
            if scene.cores[slot] > free or slot >= limit:
                break
            expected.append(slot)
            free -= scene.cores[slot]
        assert heads_below(scene.queue("none"), scene.now, limit).tolist() == expected


@given(scenes(), st.integers(0, 200))
def test_greedy_starts_all_that_fits(scene: Scene, more: int) -> None:
    expected, free = [], scene.free + more
    for slot in scene.order(scene.key):
        if scene.cores[slot] <= free:
            expected.append(slot)
            free -= scene.cores[slot]
    assert scene.started("greedy", free=scene.free + more) == expected


@pytest.mark.parametrize("need", [1, 63, 64, 65, 128, 129, 192, 200])
def test_a_release_on_the_edge_of_a_block_is_found(need: int) -> None:
    running = [(float(end), 1) for end in range(200)]  # 64 a block
    scene = Scene(0.0, 0, *(np.empty(0),) * 4, running)
    found = reserve(scene.queue("easy"), 0.0, 0, need, np.empty(0, np.int64))
    assert found == (need - 1.0, 0)


def test_with_too_little_to_be_released_there_is_no_reservation_and_nothing_is_held_back() -> None:
    # Machines may be off: then the head may need more than all that runs will free.
    scene = Scene(
        5.0, 1, np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([9, 1]), np.array([1.0, 1e6]), [(7.0, 2)]
    )
    assert scene.started("easy") == [1]
