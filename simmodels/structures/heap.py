"""Binary heaps of numbers that know their places, in arrays: the least key first, ties by number.

A heap is ``items[:size]`` (numbers), ``key`` (by number) and ``place`` (by number: where it stands, -1 when it is in
none); so any entry can be taken out in O(log size), and many heaps can share `key` and `place`.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import ONE, ZERO


@compiled
def before(key, one, other):
    """Return whether `one` comes before `other`."""
    mine, its = key[np.uint64(one)], key[np.uint64(other)]
    return mine < its or (mine == its and one < other)


@compiled
def _rise(items, at, key, place):
    at = np.uint64(at)
    moving = items[at]
    while at > ZERO:
        parent = (at - ONE) >> ONE
        other = items[parent]
        if not before(key, moving, other):
            break
        items[at] = other
        place[np.uint64(other)] = at
        at = parent
    items[at] = moving
    place[moving] = at


@compiled
def _sink(items, size, at, key, place):
    at, end = np.uint64(at), np.uint64(size)
    moving = items[at]
    while True:
        child = at + at + ONE
        if child >= end:
            break
        if child + ONE < end and before(key, items[child + ONE], items[child]):
            child += ONE
        other = items[child]
        if not before(key, other, moving):
            break
        items[at] = other
        place[np.uint64(other)] = at
        at = child
    items[at] = moving
    place[moving] = at


@compiled
def change(items, size, key, place, number):
    """Put a number where its changed key belongs."""
    _rise(items, place[number], key, place)
    _sink(items, size, place[number], key, place)


@compiled
def push(items, size, key, place, number):
    """Put a number in, its key set; return the new size."""
    items[size] = number
    _rise(items, size, key, place)
    return size + 1


@compiled
def take(items, size, key, place, number):
    """Take a number out, wherever it stands; return the new size."""
    at = place[number]
    place[number] = -1
    size -= 1
    if at < size:
        moved = items[size]
        items[at] = moved
        place[moved] = at
        change(items, size, key, place, moved)
    return size


@compiled
def order(items, size, key, place):
    """Make a heap of what stands in ``items[:size]``, whatever the keys were."""
    for at in range(size):
        place[items[at]] = at
    for at in range(size // 2 - 1, -1, -1):
        child = 2 * at + 1
        other = min(child + 1, size - 1)
        if before(key, items[child], items[at]) or before(key, items[other], items[at]):  # few are out of place
            _sink(items, size, at, key, place)
