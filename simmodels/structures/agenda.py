"""An agenda: a binary heap of instants, each with a number, in two arrays; the earliest first, ties by number."""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import ONE, ZERO


@compiled
def push(times, numbers, size, time, number):
    """Put an instant with its number into an agenda of `size` entries; there is room."""
    at = np.uint64(size)
    while at > ZERO:
        parent = (at - ONE) >> ONE
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
    last = np.uint64(size) - ONE
    time = times[last]
    number = numbers[last]
    at = ZERO
    while True:
        child = at + at + ONE
        if child >= last:
            break
        other = child + ONE
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
