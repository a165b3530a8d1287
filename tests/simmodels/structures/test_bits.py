"""Words of bits, beside Python's sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simmodels.structures.bits import WORD, from_on, has, least, span

SETS = st.sets(st.integers(0, WORD - 1))


def word(numbers: set[int]) -> np.uint64:
    return np.uint64(sum(1 << number for number in numbers))


@given(SETS, st.integers(0, WORD - 1))
def test_a_word_is_a_set(numbers: set[int], first: int) -> None:
    assert least(word(numbers)) == min(numbers, default=WORD)
    assert from_on(word(numbers), first) == word({number for number in numbers if number >= first})
    assert has(word(numbers), first) == (first in numbers)


@given(st.integers(0, WORD - 1), st.data())
def test_a_span_has_neighbours(first: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, WORD - first))
    assert span(first, count) == word(set(range(first, first + count)))
