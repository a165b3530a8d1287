"""Bits: sets of up to 64 numbers, one word each, in which the least is found at once."""

from typing import Any, Final

import numpy as np
from numba import types
from numba.extending import intrinsic

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import ONE

WORD: Final = 64
"""How many numbers a word holds."""
_ALL: Final = np.uint64(0xFFFFFFFFFFFFFFFF)


@intrinsic
def _trailing_zeros(_context: Any, word: Any) -> Any:  # noqa: ANN401, ARG001  numba's
    """Return how many bits below the lowest one that is set are not; 64 if none is."""

    def code(context: Any, builder: Any, _: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
        return builder.cttz(arguments[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), code


@compiled
def least(word):
    """Return the least number in a word; 64 if it is empty."""
    return _trailing_zeros(word)


@compiled
def span(first, count):
    """Return the word of `count` numbers from one on; at least one, and none above 63."""
    return (_ALL >> np.uint64(WORD - count)) << np.uint64(first)


@compiled
def from_on(word, first):
    """Return the numbers of a word that are not below one, which is below 64."""
    return word & (_ALL << np.uint64(first))


@compiled
def has(word, number):
    """Return whether a number is in a word."""
    return (word >> np.uint64(number)) & ONE != 0
