"""An agenda: a binary heap of instants, each with a number, in two arrays; the earliest first, ties by number."""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled

_FIRST: Final = np.uint64(0)  # places are unsigned: else each look asks whether it counts from the end
_ONE: Final = np.uint64(1)


@compiled
def push(times, numbers, size, time, number):
    """Put an instant with its number into an agenda of `size` entries; there is room."""
    at = np.uint64(size)
    while at > _FIRST:
        parent = (at - _ONE) >> _ONE
        if times[parent] < time or (times[parent] == time and numbers[parent] < number):
            break
        times[at] = times[parent]
        numbers[at] = numbers[parent]
        at = parent
    times[at] = time
    numbers[at] = number


@compiled
def pop(times, numbers, size):
    """Take the earliest instant out of an agenda of `size` entries; return its number."""
    first = numbers[0]
    last = np.uint64(size) - _ONE
    time = times[last]
    number = numbers[last]
    at = _FIRST
    while True:
        child = at + at + _ONE
        if child >= last:
            break
        other = child + _ONE
        if other < last and (
            times[other] < times[child] or (times[other] == times[child] and numbers[other] < numbers[child])
        ):
            child = other
        if time < times[child] or (time == times[child] and number < numbers[child]):
            break
        times[at] = times[child]
        numbers[at] = numbers[child]
        at = child
    times[at] = time
    numbers[at] = number
    return first
