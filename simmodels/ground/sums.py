"""Sums: adding up a column in the one way that numpy has, in Python and in compiled code; and its percentiles.

Floats are added in some order, and each order rounds differently. Numpy adds in pairs of halves, and halves of up to
128 numbers in eight lanes, which rounds less than one by one; numba's own sum goes one by one.
"""

from functools import partial
from typing import Any, Final

import numpy as np

from simmodels.ground.compiled import compilable, compiled, inlined
from simmodels.ground.numbers import ONE, ZERO, Floats

_BLOCK: Final = 128
_HALVES: Final = 128
"""Room for the parts that wait for their turn: two at each of at most 57 levels."""
_FEW: Final = 16
"""Numbers that are sorted rather than parted again."""
_TIMES: Final = np.uint64(6364136223846793005)
"""The multiplier of Knuth's linear congruential generator, "The Art of Computer Programming", volume 2, 3.3.4."""
_HIGH: Final = np.uint64(32)
"""The lower bits of such a generator are less random."""
_BELOW: Final = 0
_EQUAL: Final = 1
_NUMBERS: Final = 2


@compiled
def _in_lanes(values: Any, first: Any, count: Any) -> Any:  # noqa: ANN401  numba takes the types from the call
    """Return the sum of at most `_BLOCK` numbers from the first on."""
    if count < 8:
        found = 0.0
        for i in range(count):
            found += values[first + i]
        return found
    r0, r1, r2, r3 = values[first], values[first + 1], values[first + 2], values[first + 3]
    r4, r5, r6, r7 = values[first + 4], values[first + 5], values[first + 6], values[first + 7]
    whole = count - count % 8
    for i in range(first + 8, first + whole, 8):
        r0 += values[i]
        r1 += values[i + 1]
        r2 += values[i + 2]
        r3 += values[i + 3]
        r4 += values[i + 4]
        r5 += values[i + 5]
        r6 += values[i + 6]
        r7 += values[i + 7]
    found = ((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))
    for i in range(first + whole, first + count):
        found += values[i]
    return found


@compiled
def pairwise(values: Any) -> Any:  # noqa: ANN401  as above
    """Return the sum of a contiguous column as numpy adds it.

    References
    ----------
    Higham 1993, The accuracy of floating point summation, doi 10.1137/0914050, section 4: pairwise summation.
    """
    if values.size <= _BLOCK:
        return _in_lanes(values, 0, values.size)
    # What a recursion would do: halves are cut until they are blocks; -1 adds the last two sums.
    parts, sums = np.empty(_HALVES, np.int64), np.empty(_HALVES, np.float64)
    parts[0] = values.size
    left, found, first = 1, 0, 0
    while left > 0:
        left -= 1
        count = parts[left]
        if count < 0:
            found -= 1
            sums[found - 1] += sums[found]
        elif count <= _BLOCK:
            sums[found] = _in_lanes(values, first, count)
            found += 1
            first += count
        else:
            half = count // 2 - count // 2 % 8
            parts[left], parts[left + 1], parts[left + 2] = -1, count - half, half
            left += 3
    return sums[0]


@partial(compilable, instead=pairwise)
def total(values: Floats) -> float:
    """Return the sum of a contiguous column (float64); in compiled code the same, to the last bit."""
    return float(np.add.reduce(values))


@inlined
def _parted(values: Any, low: Any, high: Any, pivot: Any, rule: Any) -> Any:  # noqa: ANN401  as above
    """Move what goes first in values[low:high] before the rest of it, and return where that begins.

    By `rule` these are the values < `pivot`, those == `pivot`, or those that are not NaN. Every value is moved, whether
    it goes first or not: a processor guesses wrong half of the time which it is, and that takes longer.
    """
    for i in range(low, high):
        value = values[i]
        values[i] = values[low]
        values[low] = value
        low += np.uint64(value < pivot if rule == _BELOW else value == (pivot if rule == _EQUAL else value))
    return low


@compiled
def _settle(values: Any, places: Any) -> Any:  # noqa: ANN401  as above
    """Do what `settle` does, in O(values), whatever their order: what parts them is drawn, the same each time."""
    low, high, draw = ZERO, ZERO, ONE
    count = _parted(values, low, np.uint64(values.size), 0.0, _NUMBERS)  # what is NaN comes last
    for each in places:
        place = np.uint64(each)
        if not high <= place < count:  # below `high` all are settled from `low` on
            continue
        low, high = high, count
        while high - low > _FEW:
            draw = draw * _TIMES + ONE
            pivot = values[low + (draw >> _HIGH) % (high - low)]
            cut = _parted(values, low, high, pivot, _BELOW)
            if place < cut:
                high = cut
            elif cut > low:
                low = cut
            else:
                cut = _parted(values, low, high, pivot, _EQUAL)
                if place < cut:
                    high = cut
                    break
                low = cut
        else:
            values[low:high].sort()


@partial(compilable, instead=_settle)
def settle(values: Floats, places: tuple[int, ...]) -> None:  # noqa: ARG001  compiled code settles these alone
    """Bring what stands at some increasing places of a column (float64) in order of size there; NaN comes last.

    The others are in any order then. Numpy sorts a column as fast as it settles four places.
    """
    values.sort()
