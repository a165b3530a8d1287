"""An agenda: a binary heap of instants, each with a number, in two arrays; the earliest first, ties by number."""

from simmodels.ground.compiled import compiled


@compiled
def push(times, numbers, size, time, number):
    """Put an instant with its number into an agenda of `size` entries; there is room."""
    at = size
    while at > 0:
        parent = (at - 1) // 2
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
    size -= 1
    time = times[size]
    number = numbers[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
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
