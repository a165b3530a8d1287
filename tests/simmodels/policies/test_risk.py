import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simmodels as sm
from simmodels.policies.risk import risk_table
from tests.naive_capacity import category


def jobs(rows: list[tuple[float, int]]) -> sm.Workload:
    lengths, cores = np.array(rows, np.float64).T
    return sm.Workload(np.arange(len(rows)), np.zeros(len(rows)), lengths, lengths, cores.astype(np.int64))


def read(table: tuple[np.ndarray, np.ndarray], length: float, side: str) -> float:
    """Return the share at a length, as a placement looks it up."""
    lengths, shares = table
    return float(shares[np.searchsorted(lengths, length, "left" if side == "ge" else "right")])


def test_by_hand() -> None:
    # work: 4 x 10 + 2 x 20 + 1 x 20 = 100
    rows = [(10.0, 4), (20.0, 2), (20.0, 1)]
    for side, at in {"ge": [1, 1, 0.6, 0.6, 0], "gt": [1, 0.6, 0.6, 0, 0]}.items():
        table = risk_table(jobs(rows), category=side, cap_s=math.inf)
        assert [read(table, length, side) for length in (1, 10, 15, 20, 21)] == at
    table = risk_table(jobs(rows), category="thousandths", cap_s=math.inf)
    # 400 thousandths lie at 10, the other 599 at 20, and 20 is the last of them
    assert [read(table, length, "gt") for length in (1, 10, 15, 20, 21)] == pytest.approx([1, 0.6, 0.6, 1, 0.001])


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=8),
    st.integers(1, 55),
    st.sampled_from(["ge", "gt", "thousandths"]),
)
def test_it_is_the_plain_sum(rows: list[tuple[int, int]], length: int, side: str) -> None:
    table = risk_table(jobs([(float(w), c) for w, c in rows]), category=side, cap_s=math.inf)
    assert read(table, length, side) == pytest.approx(
        category([(float(w), c) for w, c in rows], length, side), abs=1e-12
    )


def test_longer_jobs_count_as_long_as_the_cap() -> None:
    table = risk_table(jobs([(10.0, 1), (1e6, 1)]), cap_s=30)
    assert table[0].tolist() == [10, 30]
    assert table[1] == pytest.approx([1, 0.75, 0])


def test_a_reference_without_work_is_refused() -> None:
    with pytest.raises(sm.RequestError, match="holds no work"):
        risk_table(jobs([(0.0, 1)]), cap_s=30)
