import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.ground.sums import _settle, pairwise, total


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 127, 128, 129, 200, 256, 257, 1_000, 4_097, 100_003])
def test_compiled_code_adds_as_numpy_does_to_the_last_bit(count: int) -> None:
    values = np.random.default_rng(count).exponential(1e4, count) * 1.1
    assert pairwise(values) == total(values) == np.sum(values)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40), st.integers(1, 60))
def test_the_order_of_additions_is_that_of_numpy(values: list[float], times: int) -> None:
    column = np.array(values * times)
    assert pairwise(column) == total(column)


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.5, -3.0, np.inf, np.nan]) | st.floats(), min_size=1, max_size=120), st.data()
)
def test_compiled_code_settles_what_numpy_sorts(values: list[float], data: st.DataObject) -> None:
    column, whole = np.array(values), np.sort(values)
    places = tuple(sorted(data.draw(st.integers(0, len(values) - 1)) for _ in range(5)))
    _settle(column, places)
    assert np.array_equal(column[list(places)], whole[list(places)], equal_nan=True)
    assert np.array_equal(np.sort(column), whole, equal_nan=True)


@pytest.mark.parametrize(
    "values", [np.arange(10_000.0), -np.arange(10_000.0), np.zeros(10_000), np.arange(10_000.0) % 7]
)
def test_columns_in_order_and_of_few_values_settle(values: np.ndarray) -> None:
    column, places = values.copy(), (4_999, 5_000, 9_500, 9_501, 9_999)
    _settle(column, places)
    assert column[list(places)].tolist() == np.sort(values)[list(places)].tolist()
