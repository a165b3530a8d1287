"""Tests of `simmodels.structures.arrays`: each does what a slice of numpy does."""

import numpy as np
import pytest

from simmodels.structures.arrays import grown, lowest, put


def test_values_are_put_where_they_belong_and_nowhere_else() -> None:
    column = np.zeros(6)
    put(column, 2, np.array([5.0, 7.0, 9.0]), 2)
    assert column.tolist() == [0.0, 0.0, 5.0, 7.0, 0.0, 0.0]


def test_a_longer_column_begins_with_the_shorter_one() -> None:
    assert grown(np.array([3, 1]), 5)[:2].tolist() == [3, 1]
    assert len(grown(np.array([3, 1]), 5)) == 5


@pytest.mark.parametrize("column", [[4.0], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [3.0, 2.0, -np.inf]])
def test_the_lowest_entry_is_found_wherever_it_is(column: list[float]) -> None:
    assert lowest(np.array(column)) == min(column)
