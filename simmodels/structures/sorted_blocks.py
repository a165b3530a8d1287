"""Sorted blocks: jobs in increasing (key, slot), in blocks that know their least and their sum.

The queue of waiting jobs and the list of running jobs are both kept in it. A scan for "the first job
that fits" skips whole blocks by their least cores and least estimate, and a search for "when are
enough cores released" skips them by their sum of cores; so a pass over thousands of waiting jobs
reads a few dozen numbers. `benchmarks/replay.py` pays for it; `tests/simmodels/structures` holds it
equal to a plain sorted list.

A list may have *lanes*, by a number of each slot that the caller keeps: it is in increasing (lane, key, slot) then.

A *slot* is a job's number in order of arrival, so ties of the key fall to the earlier submit and
then to the earlier input position. Inserting and removing cost O(log n + block size + number of
blocks / 64 in practice); a scan costs O(number of blocks + entries of the blocks that may match).
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.structures.arrays import grown, grown_rows
from simmodels.structures.structure import Handle, Structure

BLOCK: Final = 64
"""Entries a block; 32 to 128 measured alike, smaller and larger slower."""


class SortedBlocks(Handle):
    """A Python handle on an ordered list; made by `new_sorted_blocks`, used inside compiled code."""

    @property
    def size(self) -> int:
        """Return the number of entries."""
        return int(_size(self))

    def slots(self) -> np.ndarray:
        """Return int64[size], the slots in order."""
        out = np.empty(self.size, np.int64)
        copy_slots(self, out)
        return out


_F1 = types.float64[::1]
_I1 = types.int64[::1]
SORTED_BLOCKS: Final = Structure(
    SortedBlocks,
    [
        ("key", types.float64[:, ::1]),  # [block, entry], increasing with slot along the chain
        ("slot", types.int64[:, ::1]),
        ("cores", types.int64[:, ::1]),
        ("estimate", types.float64[:, ::1]),
        ("count", _I1),  # entries of each block
        ("min_cores", _I1),
        ("min_estimate", _F1),
        ("sum_cores", _I1),
        ("chain", _I1),  # block numbers in order; the free ones behind them
        ("blocks", types.int64),  # how many of the chain are in use
        ("size", types.int64),  # entries in all
    ],
)


@compiled
def new_sorted_blocks(blocks):
    """Return an empty ordered list with room for `blocks` blocks (it grows by itself)."""
    made = structref.new(SORTED_BLOCKS)
    made.key = np.empty((blocks, BLOCK), np.float64)
    made.slot = np.empty((blocks, BLOCK), np.int64)
    made.cores = np.empty((blocks, BLOCK), np.int64)
    made.estimate = np.empty((blocks, BLOCK), np.float64)
    made.count = np.zeros(blocks, np.int64)
    made.min_cores = np.empty(blocks, np.int64)
    made.min_estimate = np.empty(blocks, np.float64)
    made.sum_cores = np.zeros(blocks, np.int64)
    made.chain = np.arange(blocks)
    return made


@compiled
def _size(ordered):
    return ordered.size


@compiled
def copy_slots(ordered, out):
    """Write the slots in order into `out`."""
    chain, count, slot = ordered.chain, ordered.count, ordered.slot
    n = 0
    for c in range(ordered.blocks):
        b = chain[c]
        for i in range(count[b]):
            out[n] = slot[b, i]
            n += 1


@compiled
def total_cores(ordered):
    """Return how many cores all entries need."""
    total = 0
    for c in range(ordered.blocks):
        total += ordered.sum_cores[ordered.chain[c]]
    return total


@compiled
def _summarise(ordered, b):
    """Recompute the least and the sums of a block."""
    least_cores = ordered.cores[b, 0]
    least_estimate = ordered.estimate[b, 0]
    total = 0
    for i in range(ordered.count[b]):
        least_cores = min(least_cores, ordered.cores[b, i])
        least_estimate = min(least_estimate, ordered.estimate[b, i])
        total += ordered.cores[b, i]
    ordered.min_cores[b] = least_cores
    ordered.min_estimate[b] = least_estimate
    ordered.sum_cores[b] = total


@compiled
def _grow(ordered):
    """Double the room."""
    old = ordered.count.size
    new = 2 * old
    ordered.key = grown_rows(ordered.key, new)
    ordered.slot = grown_rows(ordered.slot, new)
    ordered.cores = grown_rows(ordered.cores, new)
    ordered.estimate = grown_rows(ordered.estimate, new)
    ordered.count = grown(ordered.count, new)
    ordered.min_cores = grown(ordered.min_cores, new)
    ordered.min_estimate = grown(ordered.min_estimate, new)
    ordered.sum_cores = grown(ordered.sum_cores, new)
    chain = grown(ordered.chain, new)
    for b in range(old, new):
        chain[b] = b
    ordered.chain = chain


@compiled
def _open_block(ordered, c):
    """Put an empty block at place `c` of the chain; return its number."""
    if ordered.blocks == ordered.count.size:
        _grow(ordered)
    chain = ordered.chain
    b = chain[ordered.blocks]
    for place in range(ordered.blocks, c, -1):
        chain[place] = chain[place - 1]
    chain[c] = b
    ordered.blocks += 1
    ordered.count[b] = 0
    ordered.sum_cores[b] = 0
    return b


@compiled
def _close_block(ordered, c):
    """Take the (empty) block at place `c` out of the chain."""
    chain = ordered.chain
    b = chain[c]
    for place in range(c, ordered.blocks - 1):
        chain[place] = chain[place + 1]
    ordered.blocks -= 1
    chain[ordered.blocks] = b


@compiled
def _place(ordered, key, slot, lane_of=None, lane=0):
    """Return the place in the chain of the block that holds, or would hold, (key, slot) of a lane."""
    low = 0
    high = ordered.blocks
    while high - low > 1:  # the last block whose first entry is not behind (key, slot)
        middle = (low + high) // 2
        b = ordered.chain[middle]
        first = ordered.key[b, 0]
        is_before = first < key or (first == key and ordered.slot[b, 0] <= slot)
        if lane_of is not None:
            own = lane_of[ordered.slot[b, 0]]
            is_before = own < lane or (own == lane and is_before)
        if is_before:
            low = middle
        else:
            high = middle
    return low


@compiled
def _entry(ordered, b, key, slot, lane_of=None, lane=0):
    """Return the first entry of block `b` that is not before (key, slot) of a lane."""
    low = 0
    high = ordered.count[b]
    while low < high:
        middle = (low + high) // 2
        at = ordered.key[b, middle]
        is_before = at < key or (at == key and ordered.slot[b, middle] < slot)
        if lane_of is not None:
            own = lane_of[ordered.slot[b, middle]]
            is_before = own < lane or (own == lane and is_before)
        if is_before:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def seek(ordered, key, slot, lane_of=None, lane=0):
    """Return the place (block in chain, entry) of the first entry that is not before (key, slot) of a lane.

    The entry may be one behind the last of its block.
    """
    if ordered.blocks == 0:
        return 0, 0
    c = _place(ordered, key, slot, lane_of, lane)
    return c, _entry(ordered, ordered.chain[c], key, slot, lane_of, lane)


@compiled
def has_key(ordered, key):
    """Return whether an entry has this key."""
    c, i = seek(ordered, key, -1)
    if c < ordered.blocks and i == ordered.count[ordered.chain[c]]:
        c, i = c + 1, 0
    return c < ordered.blocks and ordered.key[ordered.chain[c], i] == key


@compiled
def insert(ordered, key, slot, cores, estimate, lane_of=None, lane=0):
    """Put a job in its place, in a list of lanes into one of them."""
    if ordered.blocks == 0:
        _open_block(ordered, 0)
    c = _place(ordered, key, slot, lane_of, lane)
    b = ordered.chain[c]
    i = _entry(ordered, b, key, slot, lane_of, lane)
    if ordered.count[b] == BLOCK:
        if i == BLOCK and c == ordered.blocks - 1:
            c += 1  # a queue in order of arrival fills its blocks to the brim
            b = _open_block(ordered, c)
            i = 0
        else:
            new = _open_block(ordered, c + 1)
            half = BLOCK // 2
            for j in range(half, BLOCK):
                ordered.key[new, j - half] = ordered.key[b, j]
                ordered.slot[new, j - half] = ordered.slot[b, j]
                ordered.cores[new, j - half] = ordered.cores[b, j]
                ordered.estimate[new, j - half] = ordered.estimate[b, j]
            ordered.count[b] = half
            ordered.count[new] = BLOCK - half
            _summarise(ordered, b)
            _summarise(ordered, new)
            if i > half:
                b = new
                i -= half
    n = ordered.count[b]
    for j in range(n, i, -1):
        ordered.key[b, j] = ordered.key[b, j - 1]
        ordered.slot[b, j] = ordered.slot[b, j - 1]
        ordered.cores[b, j] = ordered.cores[b, j - 1]
        ordered.estimate[b, j] = ordered.estimate[b, j - 1]
    ordered.key[b, i] = key
    ordered.slot[b, i] = slot
    ordered.cores[b, i] = cores
    ordered.estimate[b, i] = estimate
    ordered.count[b] = n + 1
    ordered.sum_cores[b] += cores
    if n == 0:
        ordered.min_cores[b] = cores
        ordered.min_estimate[b] = estimate
    else:
        ordered.min_cores[b] = min(ordered.min_cores[b], cores)
        ordered.min_estimate[b] = min(ordered.min_estimate[b], estimate)
    ordered.size += 1


@compiled
def remove(ordered, key, slot, lane_of=None, lane=0):
    """Take the job with this key and slot out of the list, or of a lane of it; return whether it was there."""
    if ordered.blocks == 0:
        return False
    c = _place(ordered, key, slot, lane_of, lane)
    b = ordered.chain[c]
    i = _entry(ordered, b, key, slot, lane_of, lane)
    if i == ordered.count[b] or ordered.slot[b, i] != slot or ordered.key[b, i] != key:
        return False
    cores = ordered.cores[b, i]
    estimate = ordered.estimate[b, i]
    n = ordered.count[b] - 1
    for j in range(i, n):
        ordered.key[b, j] = ordered.key[b, j + 1]
        ordered.slot[b, j] = ordered.slot[b, j + 1]
        ordered.cores[b, j] = ordered.cores[b, j + 1]
        ordered.estimate[b, j] = ordered.estimate[b, j + 1]
    ordered.count[b] = n
    ordered.size -= 1
    if n == 0:
        _close_block(ordered, c)
        return True
    if cores == ordered.min_cores[b] or estimate == ordered.min_estimate[b]:
        _summarise(ordered, b)
    else:
        ordered.sum_cores[b] -= cores
    if n < BLOCK // 4 and c + 1 < ordered.blocks:
        follower = ordered.chain[c + 1]
        if n + ordered.count[follower] <= BLOCK // 2:  # keep the number of blocks near size / BLOCK
            for j in range(ordered.count[follower]):
                ordered.key[b, n + j] = ordered.key[follower, j]
                ordered.slot[b, n + j] = ordered.slot[follower, j]
                ordered.cores[b, n + j] = ordered.cores[follower, j]
                ordered.estimate[b, n + j] = ordered.estimate[follower, j]
            ordered.count[b] = n + ordered.count[follower]
            _summarise(ordered, b)
            ordered.count[follower] = 0
            _close_block(ordered, c + 1)
    return True


@compiled
def clear(ordered):
    """Take everything out."""
    for c in range(ordered.blocks):
        ordered.count[ordered.chain[c]] = 0
    ordered.blocks = 0
    ordered.size = 0


@compiled
def refill(ordered, key, slot, cores, estimate, n):
    """Hold these `n` jobs and no others; they come sorted; `cores` and `estimate` are by slot."""
    clear(ordered)
    fill = BLOCK - BLOCK // 4
    for start in range(0, n, fill):
        b = _open_block(ordered, ordered.blocks)
        stop = min(start + fill, n)
        for j in range(start, stop):
            s = slot[j]
            ordered.key[b, j - start] = key[j]
            ordered.slot[b, j - start] = s
            ordered.cores[b, j - start] = cores[s]
            ordered.estimate[b, j - start] = estimate[s]
        ordered.count[b] = stop - start
        _summarise(ordered, b)
    ordered.size = n


@compiled
def least_cores(ordered):
    """Return the least number of cores an entry needs (a huge number when there is none)."""
    least = np.iinfo(np.int64).max
    for c in range(ordered.blocks):
        least = min(least, ordered.min_cores[ordered.chain[c]])
    return least


@compiled
def next_fitting(ordered, c, i, free, extra, now, shadow):
    """Return the place (block in chain, entry) of the next job that may start, from (c, i) on.

    A job may start if it needs at most `free` cores, and either at most `extra` of them or not
    beyond `shadow` by its estimate. Returns (-1, -1) when there is none. Within a block the test is
    exact; a block is skipped when its least cores and estimate show that no entry can pass.
    """
    while c < ordered.blocks:
        b = ordered.chain[c]
        lean = ordered.min_cores[b]
        if lean <= free and (lean <= extra or now + ordered.min_estimate[b] <= shadow):
            for j in range(i, ordered.count[b]):
                q = ordered.cores[b, j]
                if q <= free and (q <= extra or now + ordered.estimate[b, j] <= shadow):
                    return c, j
        c += 1
        i = 0
    return -1, -1


@compiled
def next_in_lane(ordered, lane_of, lane, c, i, free, extra, now, shadow):
    """Return what `next_fitting` does among the entries of a lane, from (c, i) on, which is not before the lane."""
    while c < ordered.blocks:
        b = ordered.chain[c]
        lean = ordered.min_cores[b]
        if lean <= free and (lean <= extra or now + ordered.min_estimate[b] <= shadow):
            for j in range(i, ordered.count[b]):
                if lane_of[ordered.slot[b, j]] != lane:
                    return -1, -1
                q = ordered.cores[b, j]
                if q <= free and (q <= extra or now + ordered.estimate[b, j] <= shadow):
                    return c, j
        elif lane_of[ordered.slot[b, ordered.count[b] - 1]] > lane:  # less, if (c, i) is behind the last of its block
            return -1, -1
        c += 1
        i = 0
    return -1, -1


@compiled
def sort_pairs(key, slot, key2, slot2, n):
    """Sort the first `n` pairs (key, slot); `key2`, `slot2` are scratch.

    A natural merge sort: an order that moves slowly with time leaves the queue nearly sorted from
    pass to pass, and a sorted run costs one look. O(n log(number of runs)).
    """
    runs = n
    while runs > 1:
        runs = 0
        out = 0
        start = 0
        while start < n:
            middle = start + 1
            while middle < n and (
                key[middle - 1] < key[middle] or (key[middle - 1] == key[middle] and slot[middle - 1] < slot[middle])
            ):
                middle += 1
            if start == 0 and middle == n:
                return
            stop = min(middle + 1, n)
            while stop < n and (
                key[stop - 1] < key[stop] or (key[stop - 1] == key[stop] and slot[stop - 1] < slot[stop])
            ):
                stop += 1
            left = start
            right = middle
            while left < middle or right < stop:
                if right >= stop or (
                    left < middle and (key[left] < key[right] or (key[left] == key[right] and slot[left] < slot[right]))
                ):
                    key2[out] = key[left]
                    slot2[out] = slot[left]
                    left += 1
                else:
                    key2[out] = key[right]
                    slot2[out] = slot[right]
                    right += 1
                out += 1
            runs += 1
            start = stop
        for j in range(n):
            key[j] = key2[j]
            slot[j] = slot2[j]
