import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from simmodels.structures.sorted_blocks import (
    SortedBlocks,
    clear,
    insert,
    least_of,
    new_sorted_blocks,
    next_block,
    next_fitting,
    refill,
    remove,
    seek,
    slots_of,
    sort_pairs,
)

Entry = tuple[float, int, int, float]  # key, slot, cores, estimate


@njit
def slot_at(ordered, c: int, i: int) -> int:  # noqa: ANN001
    return ordered.entries[ordered.chain[c], i].slot


@njit
def summaries(ordered):  # noqa: ANN001, ANN201
    """Each block's count, least cores, least estimate and sum of cores, as kept and as counted."""
    kept = np.empty((ordered.blocks, 4))
    counted = np.empty((ordered.blocks, 4))
    for c in range(ordered.blocks):
        b = ordered.chain[c]
        n = ordered.count[b]
        kept[c, 0], kept[c, 1] = n, least_of(ordered, b)
        kept[c, 2], kept[c, 3] = ordered.min_estimate[b], ordered.sum_cores[b]
        counted[c, 0], counted[c, 1] = n, ordered.entries[b, :n].cores.min()
        counted[c, 2], counted[c, 3] = ordered.entries[b, :n].estimate.min(), ordered.entries[b, :n].cores.sum()
    return kept, counted, len(np.unique(ordered.chain)) == ordered.chain.size


@njit
def groups(ordered):  # noqa: ANN001, ANN201
    """The least cores and estimate of each group of 64 blocks that knows them, and of its entries."""
    kept, counted = [(0.0, 0.0)], [(0.0, 0.0)]
    for g in range(ordered.blocks // 64):
        if ordered.group_cores[g] > -1:
            kept.append((float(ordered.group_cores[g]), ordered.group_estimate[g]))
            cores, estimate = math.inf, math.inf
            for b in ordered.chain[64 * g : 64 * (g + 1)]:
                cores = min(cores, ordered.entries[b, : ordered.count[b]].cores.min())
                estimate = min(estimate, ordered.entries[b, : ordered.count[b]].estimate.min())
            counted.append((cores, estimate))
    return kept, counted


def fitting(ordered: SortedBlocks, free: int, extra: int, now: float, shadow: float) -> list[int]:
    """Every job that may start, in order, as `next_fitting` finds them."""
    found = []
    c, i = next_fitting(ordered, 0, 0, free, extra, now, shadow)
    while c >= 0:
        found.append(int(slot_at(ordered, c, i)))
        c, i = next_fitting(ordered, c, i + 1, free, extra, now, shadow)
    return found


def assert_same(ordered: SortedBlocks, plain: list[Entry], rng: np.random.Generator) -> None:
    plain.sort()
    assert ordered.size == len(plain)
    assert slots_of(ordered).tolist() == [slot for _, slot, _, _ in plain]
    least = min((cores for *_, cores, _ in plain), default=99)
    assert next_block(ordered, 0, least - 1) >= ordered.blocks
    assert (next_block(ordered, 0, least) < ordered.blocks) == bool(plain)
    kept, counted, is_permutation = summaries(ordered)
    assert kept.tolist() == counted.tolist()
    assert is_permutation
    for _ in range(3):
        free, extra = int(rng.integers(0, 12)), int(rng.integers(0, 4))
        now, shadow = 5.0, 5.0 + float(rng.integers(0, 9))
        assert fitting(ordered, free, extra, now, shadow) == [
            slot for _, slot, cores, estimate in plain if cores <= free and (cores <= extra or now + estimate <= shadow)
        ]


def entry(rng: np.random.Generator, slot: int, keys: str) -> Entry:
    key = {
        "few": float(rng.integers(0, 4)),
        "many": float(rng.random()),
        "arrival": float(slot),
        "reversed": float(-slot),
        "infinite": float(rng.choice([-math.inf, 0.0, math.inf])),
    }[keys]
    return key, slot, int(rng.integers(1, 12)), float(rng.integers(0, 9))


KEYS = ("few", "many", "arrival", "reversed", "infinite")


@given(st.sampled_from(KEYS), st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 300))
def test_it_equals_a_sorted_list_under_random_changes(keys: str, seed: int, blocks: int, changes: int) -> None:
    rng = np.random.default_rng(seed)
    ordered, plain = new_sorted_blocks(blocks), []
    bias = rng.random()
    for slot in range(changes):
        if plain and rng.random() > bias:
            gone = plain.pop(int(rng.integers(len(plain))))
            assert remove(ordered, *gone[:2])
            assert not remove(ordered, *gone[:2])
        else:
            plain.append(entry(rng, slot, keys))
            assert not remove(ordered, *plain[-1][:2])
            insert(ordered, *plain[-1])
    assert_same(ordered, plain, rng)
    clear(ordered)
    assert_same(ordered, [], rng)
    insert(ordered, 0.0, 7, 1, 1.0)
    assert slots_of(ordered).tolist() == [7]


@pytest.mark.parametrize("keys", KEYS)
def test_it_equals_a_sorted_list_while_thousands_come_and_go(keys: str) -> None:
    rng = np.random.default_rng(1)
    ordered, plain = new_sorted_blocks(1), []
    for slot in range(6000):  # blocks fill, split, and the room grows from 1 block to more than 64
        plain.append(entry(rng, slot, keys))
        insert(ordered, *plain[-1])
    assert_same(ordered, plain, rng)
    rng.shuffle(plain)
    slot = 6000
    for size in (4500, 2000, 300, 65, 64, 63, 1, 0):  # blocks empty and join
        while len(plain) > size:
            assert remove(ordered, *plain.pop()[:2])
            if rng.random() < 0.2:
                plain.insert(int(rng.integers(len(plain) + 1)), entry(rng, slot, keys))
                insert(ordered, *plain[plain.index(max(plain, key=lambda e: e[1]))])
                slot += 1
        assert_same(ordered, plain, rng)
        rng.shuffle(plain)


@pytest.mark.parametrize("size", [0, 1, 47, 48, 49, 64, 65, 1000, 5000])
def test_refill_holds_just_the_jobs_given(size: int) -> None:
    rng = np.random.default_rng(size)
    ordered = new_sorted_blocks(2)
    insert(ordered, 0.5, 3, 1, 1.0)
    plain = sorted(entry(rng, slot, "few") for slot in rng.permutation(size).tolist())
    key, slot, _, _ = (np.array(column) for column in zip(*plain, strict=True)) if plain else np.empty((4, 0))
    cores, estimate = np.empty(size, np.int64), np.empty(size)
    for _, one, needs, lasts in plain:
        cores[one], estimate[one] = needs, lasts
    longer = np.append(key, [9.0, 9.0])  # scratch is longer than what it holds
    refill(ordered, longer, np.append(slot, [0, 0]).astype(np.int64), cores, estimate, size)
    assert_same(ordered, plain, rng)
    plain.append(entry(rng, size, "few"))
    insert(ordered, *plain[-1])
    assert_same(ordered, plain, rng)


@pytest.mark.parametrize("seed", range(4))
def test_the_first_that_fits_is_found_in_a_list_of_many_groups_that_changes(seed: int) -> None:
    """Wide jobs in hundreds of blocks; others, some of them narrow or brief, are put between them and taken out."""
    rng = np.random.default_rng(seed)
    size, changes = 15_000, 1_500
    ordered, key = new_sorted_blocks(1), np.arange(size + changes) + 0.5
    cores, estimate = rng.integers(50, 99, key.size), rng.uniform(50, 99, key.size)
    refill(ordered, key, np.arange(key.size), cores, estimate, size)
    there = np.arange(key.size) < size
    lately: list[int] = []
    known = 0
    for slot in range(size, size + changes):
        if lately and rng.random() < 0.3:
            gone = [lately.pop(int(rng.integers(len(lately))))]
        else:
            key[slot] = float(rng.integers(0, rng.choice([1_000, size])))  # blocks are split, most of them in front
            cores[slot], estimate[slot] = rng.integers(rng.choice([1, 40]), 99, 2)
            insert(ordered, key[slot], slot, cores[slot], estimate[slot])
            there[slot] = True
            lately.append(slot)
            gone = []
        if slot % 5 == 0:  # blocks are joined
            at = int(rng.integers(size - 60))
            gone.extend(at + np.flatnonzero(there[at : at + 60]))
        for each in gone:
            assert remove(ordered, key[each], each)
            there[each] = False
        free, extra, shadow = (int(most) for most in rng.integers(0, [49, 49, 60]))
        may = there & (cores <= free) & ((cores <= extra) | (estimate <= shadow))
        first = min(np.flatnonzero(may), key=lambda slot: (key[slot], slot), default=-1)
        c, i = next_fitting(ordered, 0, 0, free, extra, 0.0, float(shadow))
        assert (slot_at(ordered, c, i) if c >= 0 else -1) == first
        kept, counted = groups(ordered)
        assert kept == counted
        known += len(kept) - 1
    assert known > 500


# -- sort_pairs -------------------------------------------------------------------------------------

keys = st.sampled_from([-math.inf, -1.5, 0.0, 2.0, math.inf])
pairs = st.lists(st.tuples(keys, st.integers(0, 200)), max_size=80, unique_by=lambda pair: pair[1])  # no slot twice


def sorted_by_us(given_pairs: list[tuple[float, int]]) -> list[tuple[float, int]]:
    n = len(given_pairs)
    key, slot = np.full(n + 3, -9.0), np.full(n + 3, -9)  # what lies behind the first n stays
    for i, (a, b) in enumerate(given_pairs):
        key[i], slot[i] = a, b
    sort_pairs(key, slot, np.empty(n + 3), np.empty(n + 3, np.int64), n)
    assert (key[n:] == -9).all()
    assert (slot[n:] == -9).all()
    return list(zip(key[:n].tolist(), slot[:n].tolist(), strict=True))


@given(pairs)
def test_sort_pairs_sorts_by_key_then_slot(given_pairs: list[tuple[float, int]]) -> None:
    assert sorted_by_us(given_pairs) == sorted(given_pairs)


@pytest.mark.parametrize("swaps", [0, 1, 30, 5000])
@pytest.mark.parametrize("backwards", [False, True])
def test_sort_pairs_sorts_thousands_that_are_nearly_in_order(swaps: int, backwards: bool) -> None:
    rng = np.random.default_rng(swaps)
    given_pairs = [(float(key // 3), key) for key in range(5000)]
    if backwards:
        given_pairs.reverse()
    for a, b in rng.integers(0, len(given_pairs), (swaps, 2)):
        given_pairs[a], given_pairs[b] = given_pairs[b], given_pairs[a]
    assert sorted_by_us(given_pairs) == sorted(given_pairs)


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_a_list_of_lanes_is_sorted_by_lane_and_gives_the_fitting_of_one(seed: int, lanes: int) -> None:
    rng = np.random.default_rng(seed)
    ordered, lane_of, plain = new_sorted_blocks(1), rng.integers(0, lanes, 400), []
    for slot in rng.permutation(400).tolist():
        key, cores, estimate, lane = float(rng.integers(0, 9)), int(rng.integers(1, 9)), 10.0, int(lane_of[slot])
        if plain and rng.random() < 0.4:
            gone = plain.pop(int(rng.integers(0, len(plain))))
            assert remove(ordered, gone[1], gone[2], lane_of, gone[0])
            assert not remove(ordered, gone[1], gone[2], lane_of, gone[0])
        insert(ordered, key, slot, cores, estimate, lane_of, lane)
        plain.append((lane, key, slot, cores))
    plain.sort()
    assert slots_of(ordered).tolist() == [slot for _, _, slot, _ in plain]
    for lane in range(lanes + 1):
        found = []
        c, i = seek(ordered, 4.0, -1, lane_of, lane)
        c, i = next_fitting(ordered, c, i, 3, 3, 0.0, 0.0, lane_of, lane)
        while c >= 0:
            found.append(int(slot_at(ordered, c, i)))
            c, i = next_fitting(ordered, c, i + 1, 3, 3, 0.0, 0.0, lane_of, lane)
        assert found == [slot for own, key, slot, cores in plain if own == lane and key >= 4 and cores <= 3]
