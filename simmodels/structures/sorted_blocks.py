"""Sorted blocks: jobs in increasing (key, slot), in blocks that know their least and their sum.

The queue of waiting jobs and the list of running jobs are both kept in it. A scan for "the first job
that fits" skips whole blocks, and groups of blocks, by their least cores and least estimate, and a search for "when
are enough cores released" skips blocks by their sum of cores; so a pass over thousands of waiting jobs
reads a few dozen numbers. `make bench` measures it; `tests/simmodels/structures` holds it
equal to a plain sorted list.

A list may have *lanes*, by a number of each slot that the caller keeps: it is in increasing (lane, key, slot) then.

A *slot* is a job's number in order of arrival, so ties of the key fall to the earlier submit and
then to the earlier input position. Inserting and removing cost O(log n + block size + number of
blocks / 64 in practice); a scan costs O(number of groups + blocks and entries of those that may match).
"""

from typing import Final

import numpy as np
from numba import from_dtype, types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import INT64_MAX, INT64_MIN
from simmodels.structures.arrays import grown, move
from simmodels.structures.structure import F1, I1, W1, Handle, Structure, columns_by

BLOCK: Final = 64
"""Entries a block; 32 to 128 measured alike, smaller and larger slower."""

_GROUP: Final = 64
"""Blocks of the chain a group; a list that has no more than one keeps nothing of it."""


class SortedBlocks(Handle):
    """A Python handle on an ordered list; made by `new_sorted_blocks`, used inside compiled code."""


ENTRY: Final = np.dtype([("key", np.float64), ("slot", np.int64), ("cores", np.int64), ("estimate", np.float64)])

_UNKNOWN: Final = INT64_MIN
"""Stands for the least cores of a block, or group, that may have lost that or its least estimate: who asks looks."""

SORTED_BLOCKS: Final = Structure(
    SortedBlocks,
    [
        ("entries", from_dtype(ENTRY)[:, ::1], "block"),  # [block, entry], increasing by key and slot along the chain
        ("count", I1, "block"),  # entries of each block
        ("min_cores", I1, "block"),  # may be unknown, and `min_estimate` with it: see `least_of`
        ("min_estimate", F1, "block"),
        ("sum_cores", I1, "block"),
        ("chain", W1),  # block numbers in order; the free ones behind them
        ("group_cores", I1),  # the least of each group, in a list of several: see `_skip_groups`
        ("group_estimate", F1),
        ("blocks", types.int64),  # how many of the chain are in use
        ("size", types.int64),  # entries in all
    ],
)
_lengthen_blocks = columns_by(SORTED_BLOCKS, "block")


@compiled
def new_sorted_blocks(blocks):
    """Return an empty ordered list with room for `blocks` blocks (it grows by itself)."""
    made = structref.new(SORTED_BLOCKS)
    made.entries = np.empty((0, BLOCK), ENTRY)
    _lengthen_blocks(made, blocks)
    made.chain = np.empty(blocks, np.uint64)
    for b in range(blocks):
        made.chain[b] = b
    made.group_cores = np.full(1 + blocks // _GROUP, _UNKNOWN)
    made.group_estimate = np.empty(1 + blocks // _GROUP)
    return made


@compiled
def slots_of(ordered):
    """Return int64[size], the slots in order."""
    chain, count, entries = ordered.chain, ordered.count, ordered.entries
    out = np.empty(ordered.size, np.int64)
    n = 0
    for c in range(ordered.blocks):
        b = chain[c]
        for i in range(count[b]):
            out[n] = entries[b, i].slot
            n += 1
    return out


@compiled
def total_cores(ordered):
    """Return how many cores all entries need."""
    total = 0
    for c in range(ordered.blocks):
        total += ordered.sum_cores[ordered.chain[c]]
    return total


@compiled
def _find_least(ordered, b):
    """Look for the least of a block."""
    entries = ordered.entries
    least_cores, least_estimate = entries[b, 0].cores, entries[b, 0].estimate
    for i in range(1, ordered.count[b]):
        least_cores = min(least_cores, entries[b, i].cores)
        least_estimate = min(least_estimate, entries[b, i].estimate)
    ordered.min_cores[b] = least_cores
    ordered.min_estimate[b] = least_estimate


@compiled
def least_of(ordered, b):
    """Return the least cores of a block; its least estimate is known then, too."""
    if ordered.min_cores[b] == _UNKNOWN:
        _find_least(ordered, b)
    return ordered.min_cores[b]


@compiled
def _grow(ordered):
    """Double the room."""
    old = ordered.count.size
    new = 2 * old
    _lengthen_blocks(ordered, new)
    chain = grown(ordered.chain, new)
    for b in range(old, new):
        chain[b] = b
    ordered.chain = chain
    ordered.group_cores = np.full(1 + new // _GROUP, _UNKNOWN)
    ordered.group_estimate = np.empty(1 + new // _GROUP)


@compiled
def _shift(ordered, c):
    """Forget the least of all groups whose blocks change: from the one before place `c` of the chain on."""
    first = max(c - 1, 0) // _GROUP if ordered.blocks > _GROUP + 1 else 0  # the first may be older than the second
    for g in range(first, 1 + ordered.blocks // _GROUP):
        ordered.group_cores[g] = _UNKNOWN


@compiled
def _open_block(ordered, c):
    """Put an empty block at place `c` of the chain; return its number."""
    if ordered.blocks == ordered.count.size:
        _grow(ordered)
    chain = ordered.chain
    b = chain[ordered.blocks]
    move(chain, c, ordered.blocks - c, c + 1)
    chain[c] = b
    ordered.blocks += 1
    if ordered.blocks > _GROUP:
        _shift(ordered, c)
    ordered.count[b] = 0
    ordered.min_cores[b] = INT64_MAX
    ordered.min_estimate[b] = np.inf
    ordered.sum_cores[b] = 0
    return b


@compiled
def _close_block(ordered, c):
    """Take the (empty) block at place `c` out of the chain."""
    if ordered.blocks > _GROUP:
        _shift(ordered, c)
    chain = ordered.chain
    b = chain[c]
    ordered.blocks -= 1
    move(chain, c + 1, ordered.blocks - c, c)
    chain[ordered.blocks] = b


@compiled
def _hand_over(ordered, b, i, other):
    """Move the entries of a block from `i` on to the end of another one."""
    n, at = ordered.count[b] - i, ordered.count[other]
    move(ordered.entries, np.int64(b) * BLOCK + i, n, np.int64(other) * BLOCK + at)
    moved = 0
    for j in range(at, at + n):
        moved += ordered.entries[other, j].cores
    ordered.count[b], ordered.count[other] = i, at + n
    ordered.min_cores[b] = ordered.min_cores[other] = _UNKNOWN
    ordered.sum_cores[b] -= moved
    ordered.sum_cores[other] += moved


@compiled
def _place(ordered, key, slot, lane_of=None, lane=0):
    """Return the place in the chain of the block that holds, or would hold, (key, slot) of a lane."""
    low = 0
    high = ordered.blocks
    while high - low > 1:  # the last block whose first entry is not behind (key, slot)
        middle = (low + high) // 2
        b = ordered.chain[middle]
        first = ordered.entries[b, 0].key
        is_before = first < key or (first == key and ordered.entries[b, 0].slot <= slot)
        if lane_of is not None:
            own = lane_of[ordered.entries[b, 0].slot]
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
        at = ordered.entries[b, middle].key
        is_before = at < key or (at == key and ordered.entries[b, middle].slot < slot)
        if lane_of is not None:
            own = lane_of[ordered.entries[b, middle].slot]
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
    return c < ordered.blocks and ordered.entries[ordered.chain[c], i].key == key


@compiled
def _make_room(ordered, c, i):
    """Split the full block at place `c` of the chain, in which an entry is to stand at `i`; return where it stands."""
    b = ordered.chain[c]
    if i == BLOCK and c == ordered.blocks - 1:
        return _open_block(ordered, c + 1), 0  # a queue in order of arrival fills its blocks to the brim
    new, half = _open_block(ordered, c + 1), BLOCK // 2
    _hand_over(ordered, b, half, new)
    return (new, i - half) if i > half else (b, i)


@compiled
def _save_blocks(ordered, c):
    """Close the block at place `c` if it is empty, or the next one if both are so short that one is enough."""
    b = ordered.chain[c]
    if ordered.count[b] == 0:
        _close_block(ordered, c)
        return
    follower = ordered.chain[c + 1]
    if ordered.count[b] + ordered.count[follower] <= BLOCK // 2:  # keep the number of blocks near size / BLOCK
        _hand_over(ordered, follower, 0, b)
        _close_block(ordered, c + 1)


@compiled
def insert(ordered, key, slot, cores, estimate, lane_of=None, lane=0):
    """Put a job in its place, in a list of lanes into one of them."""
    if ordered.blocks == 0:
        _open_block(ordered, 0)
    c, i = seek(ordered, key, slot, lane_of, lane)
    b, g = ordered.chain[c], c // _GROUP  # if the block is split, that of neither half is known
    if ordered.count[b] == BLOCK:
        b, i = _make_room(ordered, c, i)
    entries, place, n = ordered.entries, np.int64(b) * BLOCK + i, ordered.count[b]
    move(entries, place, n - i, place + 1)
    entries[b, i].key = key
    entries[b, i].slot = slot
    entries[b, i].cores = cores
    entries[b, i].estimate = estimate
    ordered.count[b] = n + 1
    ordered.min_cores[b] = min(ordered.min_cores[b], cores)
    ordered.min_estimate[b] = min(ordered.min_estimate[b], estimate)
    if ordered.blocks > _GROUP:
        ordered.group_cores[g] = min(ordered.group_cores[g], cores)
        ordered.group_estimate[g] = min(ordered.group_estimate[g], estimate)
    ordered.sum_cores[b] += cores
    ordered.size += 1


@compiled
def remove(ordered, key, slot, lane_of=None, lane=0):
    """Take the job with this key and slot out of the list, or of a lane of it; return whether it was there."""
    if ordered.blocks == 0:
        return False
    c, i = seek(ordered, key, slot, lane_of, lane)
    entries, b = ordered.entries, ordered.chain[c]
    if i == ordered.count[b] or entries[b, i].slot != slot or entries[b, i].key != key:
        return False
    cores, estimate, n = entries[b, i].cores, entries[b, i].estimate, ordered.count[b] - 1
    place = np.int64(b) * BLOCK + i
    move(entries, place + 1, n - i, place)
    ordered.count[b] = n
    ordered.sum_cores[b] -= cores
    ordered.size -= 1
    if cores == ordered.min_cores[b] or estimate == ordered.min_estimate[b]:
        ordered.min_cores[b] = _UNKNOWN
        if ordered.blocks > _GROUP:
            ordered.group_cores[c // _GROUP] = _UNKNOWN
    if n == 0 or (n < BLOCK // 4 and c + 1 < ordered.blocks):
        _save_blocks(ordered, c)
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
        entries = ordered.entries
        for j in range(start, stop):
            s, entry = slot[j], entries[b, j - start]
            entry.key = key[j]
            entry.slot = s
            entry.cores = cores[s]
            entry.estimate = estimate[s]
            ordered.sum_cores[b] += cores[s]
        ordered.count[b] = stop - start
        ordered.min_cores[b] = _UNKNOWN
    ordered.size = n


@compiled
def _find_least_of_group(ordered, g):
    """Look for the least of a group, all of whose blocks are in use."""
    least_cores, least_estimate = INT64_MAX, np.inf
    for c in range(g * _GROUP, (g + 1) * _GROUP):
        least_cores = min(least_cores, least_of(ordered, ordered.chain[c]))
        least_estimate = min(least_estimate, ordered.min_estimate[ordered.chain[c]])
    ordered.group_cores[g] = least_cores
    ordered.group_estimate[g] = least_estimate


@compiled
def _skip_groups(ordered, c, free, extra, now, shadow):
    """Return the place in the chain after those groups, from the one that begins at `c` on, of which no job may start.

    Which may says `next_fitting`. The group before `c`, which has been passed in vain, learns its least: nobody has to
    look at all its blocks only to find that one of them fits.
    """
    if c > 0 and ordered.group_cores[c // _GROUP - 1] == _UNKNOWN:
        _find_least_of_group(ordered, c // _GROUP - 1)
    while c < ordered.blocks:
        lean = ordered.group_cores[c // _GROUP]  # unknown, it is below all
        if lean <= free and (lean <= extra or now + ordered.group_estimate[c // _GROUP] <= shadow):
            break
        c += _GROUP
    return c


@compiled
def next_block(ordered, c, free):
    """Return the first place in the chain, from `c` on, of a block with a job of at most `free` cores.

    It is behind the last block when there is none.
    """
    has_groups = ordered.blocks > _GROUP
    if has_groups and c % _GROUP == 0:
        c = _skip_groups(ordered, c, free, free, 0.0, 0.0)
    while c < ordered.blocks and least_of(ordered, ordered.chain[c]) > free:
        c += 1
        if has_groups and c % _GROUP == 0:
            c = _skip_groups(ordered, c, free, free, 0.0, 0.0)
    return c


@compiled
def next_fitting(ordered, c, i, free, extra, now, shadow, lane_of=None, lane=0):
    """Return the place (block in chain, entry) of the next job that may start, from (c, i) on.

    A job may start if it needs at most `free` cores, and either at most `extra` of them or not
    beyond `shadow` by its estimate. Returns (-1, -1) when there is none. Within a block the test is
    exact; blocks are skipped when their least cores and estimate show that no entry can pass. In a list of lanes the
    job is of one of them, and (c, i) is not before that lane.
    """
    has_groups = lane_of is None and ordered.blocks > _GROUP
    if has_groups and i == 0 and c % _GROUP == 0:
        c = _skip_groups(ordered, c, free, extra, now, shadow)
    while c < ordered.blocks:
        b = ordered.chain[c]
        lean = least_of(ordered, b)
        if lean <= free and (lean <= extra or now + ordered.min_estimate[b] <= shadow):
            for j in range(np.uint64(i), np.uint64(ordered.count[b])):  # unsigned: none counts from the end
                if lane_of is not None and lane_of[ordered.entries[b, j].slot] != lane:
                    return -1, -1
                q = ordered.entries[b, j].cores
                if q <= free and (q <= extra or now + ordered.entries[b, j].estimate <= shadow):
                    return c, np.int64(j)
        # Less, if (c, i) is behind the last of its block.
        elif lane_of is not None and lane_of[ordered.entries[b, ordered.count[b] - 1].slot] > lane:
            return -1, -1
        c += 1
        i = 0
        if has_groups and c % _GROUP == 0:
            c = _skip_groups(ordered, c, free, extra, now, shadow)
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
