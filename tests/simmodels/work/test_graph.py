"""Passes over graphs: rows in order, however long they are."""

import numpy as np
import pytest

from simmodels.work import graph


@pytest.mark.parametrize("degree", [1, 31, 33, 5_000])
def test_the_successors_of_a_task_stand_in_order(degree: int) -> None:
    target = np.arange(degree, 0, -1)
    first, successor = graph.rows_of(degree + 1, np.zeros(degree, np.int64), target)
    assert first.tolist() == [0] + [degree] * (degree + 1)
    assert successor.tolist() == list(range(1, degree + 1))
