import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simmodels.structures.agenda import pop, push


@given(st.lists(st.none() | st.tuples(st.integers(0, 5).map(float), st.integers(0, 9)), max_size=80))
def test_an_agenda_gives_the_earliest_instant_and_of_these_the_lowest_number(
    steps: list[tuple[float, int] | None],
) -> None:
    times, numbers, plain = np.empty(80), np.empty(80, np.int64), []
    for step in steps:
        if step is not None:
            push(times, numbers, len(plain), *step)
            heapq.heappush(plain, step)
        elif plain:
            assert (times[0], numbers[0]) == plain[0]
            assert pop(times, numbers, len(plain)) == heapq.heappop(plain)[1]
    while plain:
        assert pop(times, numbers, len(plain)) == heapq.heappop(plain)[1]
