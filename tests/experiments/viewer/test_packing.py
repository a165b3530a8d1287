import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from experiments.viewer.packing import Packed
from simmodels.ground.numbers import Floats
from tests.experiments.viewer.unpacking import unpacked

WHOLE = st.integers(-(2**53) + 1, 2**53 - 1).map(float)
ANY = st.floats(allow_nan=False, allow_infinity=False)


@given(values=arrays(np.float64, st.integers(0, 20), elements=st.one_of(WHOLE, ANY)), delta=st.booleans())
def test_what_is_unpacked_is_what_was_packed(values: Floats, delta: bool) -> None:
    packed = Packed()
    packed.add("before", np.arange(3))
    packed.add("values", values, delta=delta)
    packed.add("after", np.array([True, False]))
    found = unpacked(packed.columns, packed.text())
    assert found["values"].tolist() == values.tolist()
    assert found["before"].tolist() == [0, 1, 2]
    assert found["after"].tolist() == [1, 0]


@given(
    base=arrays(np.float64, 4, elements=st.one_of(st.integers(0, 10**6).map(float), st.floats(0, 1e6))),
    more=arrays(np.float64, 4, elements=st.one_of(st.integers(0, 70_000).map(float), st.floats(0, 1e5))),
)
def test_a_column_near_another_is_exact(base: Floats, more: Floats) -> None:
    packed, rows = Packed(), np.array([3, 0, 0, 2])
    packed.add("base", base)
    packed.add("rows", rows)
    packed.add("near", base + more, near=("base", base))
    packed.add("chosen", base[rows] + more, near=("base[rows]", base[rows]))
    found = unpacked(packed.columns, packed.text())
    assert found["near"].tolist() == (base + more).tolist()
    assert found["chosen"].tolist() == (base[rows] + more).tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1_000_000, 1_000_255], "uint8"),
        ([-7, 256], "uint16"),
        ([0, 2**32 - 1], "uint32"),
        ([0, 2**32], "float64"),
        ([0.5, 1.0], "float64"),
    ],
)
def test_whole_numbers_take_as_few_bytes_as_their_range_needs(values: list[float], kind: str) -> None:
    packed = Packed()
    packed.add("values", np.array(values))
    assert packed.columns[0]["type"] == kind
