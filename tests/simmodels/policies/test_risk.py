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


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 4)), min_size=1, max_size=8),
    st.integers(1, 55),
    st.sampled_from(["ge", "gt", "thousandths"]),
    st.sampled_from([30.0, math.inf]),
)
def test_it_is_the_plain_sum(rows: list[tuple[int, int]], length: int, side: str, cap_s: float) -> None:
    table = risk_table(jobs([(float(w), c) for w, c in rows]), category=side, cap_s=cap_s)
    assert read(table, min(length, cap_s), side) == pytest.approx(
        category([(float(w), c) for w, c in rows], length, side, cap_s), abs=1e-12
    )


def test_a_reference_without_work_is_refused() -> None:
    with pytest.raises(sm.RequestError, match="holds no work"):
        risk_table(jobs([(0.0, 1)]), cap_s=30)
