import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from simmodels.learning import kernel
from simmodels.learning.lanes import WIDTH, aligned, comparators, draw_rows, sort_rows


@given(size=st.integers(0, 18), data=st.data())
def test_the_network_sorts_what_is_zero_or_one_and_so_everything(size: int, data: st.DataObject) -> None:
    # Knuth's zero-one principle: a network that sorts all sequences of 0 and 1 sorts all sequences.
    values = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    for low, high in comparators(size):
        if values[low] > values[high]:
            values[low], values[high] = values[high], values[low]
    assert values == sorted(values)


def test_the_network_of_32_has_the_191_comparators_of_batchers() -> None:
    assert (len(comparators(16)), len(comparators(32))) == (63, 191)


@njit
def sort_32(words) -> None:  # noqa: ANN001
    sort_rows(words, 32)


def test_each_lane_is_sorted_for_itself_as_words_without_sign() -> None:
    words = aligned(32, np.uint64)
    words[:] = np.random.default_rng(1).integers(0, 2**64, words.shape, dtype=np.uint64)
    words[4] = 2**64 - 1
    expected = np.sort(words, axis=0)
    sort_32(words)
    assert (words == expected).all()


def xoshiro(state: list[int]) -> int:
    """xoshiro256++, as its authors print it."""
    mask = 2**64 - 1

    def rotated(x: int, by: int) -> int:
        return ((x << by) | (x >> (64 - by))) & mask

    result = (rotated((state[0] + state[3]) & mask, 23) + state[0]) & mask
    t = (state[1] << 17) & mask
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = rotated(state[3], 45)
    return result


@njit
def draw_40(state, words) -> None:  # noqa: ANN001
    draw_rows(state, words, 40, 0)


@njit
def draw_3_with_rows(state, words) -> None:  # noqa: ANN001
    draw_rows(state, words, 3, 6)


def test_each_lane_draws_by_the_published_generator() -> None:
    assert [xoshiro(state) for state in [[1, 2, 3, 4]] for _ in range(3)] == [41943041, 58720359, 3588806011781223]
    state, words = aligned(4, np.uint64), aligned(40, np.uint64)
    state[:] = np.random.default_rng(2).integers(0, 2**64, state.shape, dtype=np.uint64)
    plain = [[int(x) for x in column] for column in state.T]
    draw_40(state, words)
    assert words.T.tolist() == [[xoshiro(lane) for _ in range(40)] for lane in plain]
    draw_3_with_rows(state, words)
    again = np.array([[xoshiro(lane) for _ in range(3)] for lane in plain], dtype=np.uint64).T
    assert (words[:3] >> np.uint64(6) == again >> np.uint64(6)).all()
    assert (words[:3] & np.uint64(63) == np.arange(3)[:, None]).all()


def test_streams_and_lanes_begin_at_states_of_their_own() -> None:
    state, seen = aligned(4, np.uint64), set()
    for key in (0, 1, 2**63):
        for stream in (0, 1, 2, 1 << 32):
            kernel._seed_lanes(state, np.uint64(key), np.uint64(7), stream)
            seen |= {tuple(column) for column in state.T.tolist()}
    assert len(seen) == 12 * WIDTH


@pytest.mark.parametrize("dtype", [np.float64, np.uint64])
@pytest.mark.parametrize("rows", [1, 3, 64])
def test_rows_begin_where_a_line_of_the_cache_does(dtype: type, rows: int) -> None:
    made = aligned(rows, dtype)
    assert (made.shape, made.dtype, made.ctypes.data % 64) == ((rows, WIDTH), np.dtype(dtype), 0)
    assert made.flags.c_contiguous
