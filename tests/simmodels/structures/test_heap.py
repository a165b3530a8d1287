import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simmodels.structures import heap

MOVES = st.lists(st.tuples(st.sampled_from(["push", "take", "change"]), st.integers(0, 11), st.integers(0, 5)))


@given(MOVES)
def test_the_least_key_stands_first_and_ties_fall_to_the_smaller_number(moves: list) -> None:
    items, key, place = np.zeros(12, np.int64), np.zeros(12), np.full(12, -1)
    size, there = 0, {}
    for what, number, value in moves:
        if what == "push" and number not in there:
            key[number] = there[number] = value
            size = heap.push(items, size, key, place, number)
        elif what == "take" and number in there:
            del there[number]
            size = heap.take(items, size, key, place, number)
            assert place[number] == -1
        elif what == "change" and number in there:
            key[number] = there[number] = value
            heap.change(items, size, key, place, number)
        assert size == len(there)
        assert sorted(items[:size].tolist()) == sorted(there)
        assert [items[place[each]] for each in there] == list(there)
        if there:
            assert items[0] == min(there, key=lambda each: (there[each], each))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_any_keys_can_be_put_in_order(keys: list[int]) -> None:
    size = len(keys)
    items, key, place = np.arange(size)[::-1].copy(), np.array(keys, float), np.full(size, -1)
    heap.order(items, size, key, place)
    out = []
    while size:
        out.append(int(items[0]))
        size = heap.take(items, size, key, place, items[0])
    assert out == sorted(range(len(keys)), key=lambda each: (keys[each], each))
