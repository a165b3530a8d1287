import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.ground.sums import pairwise, total


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 127, 128, 129, 200, 256, 257, 1_000, 4_097, 100_003])
def test_compiled_code_adds_as_numpy_does_to_the_last_bit(count: int) -> None:
    values = np.random.default_rng(count).exponential(1e4, count) * 1.1
    assert pairwise(values) == total(values) == np.sum(values)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40), st.integers(1, 60))
def test_the_order_of_additions_is_that_of_numpy(values: list[float], times: int) -> None:
    column = np.array(values * times)
    assert pairwise(column) == total(column)
