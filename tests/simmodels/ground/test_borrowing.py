# ruff: noqa: ANN001, ANN201, ANN202  numba gives what it compiles its types
# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg"
"""Which compiled functions count no references: those that nobody can take what they read from."""

from typing import Any

import numpy as np
import pytest
from numba import types
from numba.experimental import structref
from numba.extending import overload

from simmodels.ground.borrowing import Counting, without_counts
from simmodels.ground.compiled import LINKED, compiled
from simmodels.structures.arrays import grown
from simmodels.structures.structure import Handle, Structure, address_of, found_at

pytestmark = pytest.mark.skipif(not LINKED, reason="under another numba, functions are compiled as numba does")


class Box(Handle):
    """A Python handle on two columns."""


BOX = Structure(Box, [("one", types.float64[::1]), ("other", types.float64[::1]), ("size", types.int64)])

box_at = found_at(BOX)


@compiled
def new_box(size):
    made = structref.new(BOX)
    made.one, made.other, made.size = np.arange(size) + 1.0, np.arange(size) + 1.0, size
    return made


@compiled
def enlarge(box):
    box.one = grown(box.one, 2 * box.size)
    box.size *= 2


@compiled
def reads(box):
    total = 0.0
    for i in range(box.size):
        total += box.one[i] + box.other[:][i]
    return total


@compiled
def reads_the_other_across(box):
    other = box.other
    for _ in range(3):
        enlarge(box)
        other[0] += box.one[0]
    return other[0]


@compiled
def reads_across(box):
    one = box.one
    for _ in range(3):
        one[0] += 1.0
        enlarge(box)
    return one[0]


@compiled
def reads_a_part_across(box):
    parts = (box.other, box.one)
    last = parts[1][1:]
    enlarge(box)
    return last[0]


@compiled
def reads_what_it_is_given(box, column):
    enlarge(box)
    return column[0]


@compiled
def gives(box):
    return reads_what_it_is_given(box, box.one)


@compiled
def gives_the_other(box):
    return reads_what_it_is_given(box, box.other)


@compiled
def makes(box):
    return (box.one + box.other).sum()


@compiled
def chooses(box):
    return box.one[box.other > 1.0].size


@compiled
def hands_out(box):
    return box.one


@compiled
def keeps(box):
    box.other = box.one


@compiled
def enlarge_at(address):
    enlarge(box_at(address))


@compiled
def reads_across_an_address(box, address):
    one = box.one
    enlarge_at(address)
    return one[0]


def enlarge_all(boxes):
    """Stand for code that is no function of the project."""
    raise NotImplementedError


@overload(enlarge_all)
def _enlarge_all(boxes):
    def code(boxes):
        for box in boxes:
            enlarge(box)

    return code


@compiled
def reads_across_a_list(box, boxes):
    one = box.one
    enlarge_all(boxes)
    return one[0]


@compiled
def reads_an_entry(columns):
    return columns[0][0] + columns[1][0]


@compiled
def clears(columns):
    columns.clear()


@compiled
def reads_an_entry_across(columns):
    first = columns[0]
    clears(columns)
    return first[0]


@compiled
def calls_all(box):
    hands_out(box)
    found = reads(box) + makes(box) + chooses(box) + reads_the_other_across(box) + reads_across(box)
    found += reads_a_part_across(box) + gives(box) + gives_the_other(box)
    found += reads_across_an_address(box, address_of(box)) + reads_across_a_list(box, [box])
    columns = [box.one, box.other]
    found += reads_an_entry(columns) + reads_an_entry_across(columns)
    keeps(box)
    return found


@pytest.fixture(scope="module", autouse=True)
def _called(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCHEDLAB_CACHE", str(tmp_path_factory.mktemp("code")))  # what is kept brings no callees along
        assert calls_all(new_box(4)) == 20 + 20 + 3 + 4 + 4 + 2 + 2 + 4 + 2 + 2 + 6 + 2


def of(made: Any) -> Counting:  # noqa: ANN401  a dispatcher
    (overload,) = made.get_overload.__self__.overloads.values()
    counting: Counting = overload.library.counting
    return counting


BORROW = (reads, reads_the_other_across, reads_what_it_is_given, gives_the_other, reads_an_entry)
COUNT = (
    *(enlarge, reads_across, reads_a_part_across, gives, reads_across_an_address, makes, chooses, hands_out, keeps),
    *(reads_across_a_list, reads_an_entry_across),
)


@pytest.mark.parametrize("made", [*BORROW, *COUNT], ids=lambda made: made.py_func.__name__)
def test_a_function_borrows_what_nobody_replaces_meanwhile_and_counts_what_it_makes_keeps_or_hands_out(
    made: object,
) -> None:
    assert of(made).borrows == (made in BORROW)


def test_a_function_is_known_to_replace_what_those_replace_that_it_calls() -> None:
    one = frozenset({("Box", "one")})
    assert [of(made).replaces for made in (reads, enlarge, reads_across, gives)] == [frozenset(), one, one, one]
    assert of(keeps).replaces == {("Box", "other")}


def test_code_that_makes_something_counts_as_it_did() -> None:
    looks = "  %y = call i8* @NRT_MemInfo_data_fast(i8* %x)\n"
    counted = f'{looks}  call void @"NRT_incref"(i8* %x)\n  call void @NRT_decref(i8* %x)\n  ret void\n'
    assert without_counts(counted) == f"{looks}  ret void\n"
    makes_one = f"  call i8* @NRT_MemInfo_new()\n{counted}"
    assert without_counts(makes_one) == makes_one
