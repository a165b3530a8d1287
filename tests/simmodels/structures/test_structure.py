# ruff: noqa: ANN001, ANN201  numba gives what it compiles its types
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Tests of `simmodels.structures.structure`: the columns by something are as long as each other."""

import numpy as np
import pytest
from numba import types
from numba.core.runtime import _nrt_python, rtsys
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.replay.runs import RUNS
from simmodels.structures.structure import Handle, Structure, columns_by


class Flags(Handle):
    """A Python handle on columns by ship, and one by port."""


FLAGS = Structure(
    Flags,
    [
        ("name", types.int64[::1], "ship"),
        ("draught", types.float64[::1], "ship", 0.5),
        ("sails", types.boolean[::1], "ship", True),
        ("holds", types.int64[:, ::1], "ship", -1),
        ("ships", types.int64[::1], "port", 7),
        ("harbour", types.int64),
    ],
)
_lengthen_ships = columns_by(FLAGS, "ship")
_TWO_HOLDS = np.empty((0, 2), np.int64)


@compiled
def new_flags(ships, holds):
    made = structref.new(FLAGS)
    made.holds = holds[:0].copy()
    _lengthen_ships(made, ships)
    return made


@compiled
def name_and_lengthen(flags, ships):
    for ship in range(flags.name.size):
        flags.name[ship] = 10 * ship
        flags.draught[ship] = 2.0
        flags.holds[ship] = ship
    _lengthen_ships(flags, ships)


@compiled
def columns(flags):
    return flags.name, flags.draught, flags.sails, flags.holds, flags.ships


def test_new_entries_of_all_columns_by_a_thing_are_what_the_fields_say_and_the_others_stay() -> None:
    flags = new_flags(2, _TWO_HOLDS)
    name_and_lengthen(flags, 4)
    name, draught, sails, holds, ships = columns(flags)
    assert len(name) == 4
    assert name[:2].tolist() == [0, 10]
    assert draught.tolist() == [2.0, 2.0, 0.5, 0.5]
    assert sails.tolist() == [True] * 4
    assert holds.tolist() == [[0, 0], [1, 1], [-1, -1], [-1, -1]]
    assert ships.tolist() == []  # is by something else


def test_columns_that_were_shorter_are_let_go() -> None:
    new_flags(2, _TWO_HOLDS)  # compiled
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    flags = new_flags(2, _TWO_HOLDS)
    for ships in range(3, 50):
        name_and_lengthen(flags, ships)
    del flags
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free


def test_no_two_lengthening_functions_share_the_name_by_which_kept_code_is_linked() -> None:
    names = [columns_by(FLAGS, what).py_func.__qualname__ for what in ("ship", "port")]
    assert len({*names, columns_by(RUNS, "slot").py_func.__qualname__}) == 3


def test_a_field_is_read_by_its_name_and_what_is_no_field_is_no_attribute() -> None:
    flags = new_flags(2, _TWO_HOLDS)
    assert (flags.harbour, flags.draught.tolist()) == (0, [0.5, 0.5])
    flags.draught[0] = 2.0
    assert flags.draught.tolist() == [2.0, 0.5]  # it is the structure's own
    with pytest.raises(AttributeError, match=r"'Flags' object has no attribute 'mast'"):
        _ = flags.mast
    assert not hasattr(object.__new__(Flags), "__len__")
    assert not hasattr(object.__new__(Flags), "_type")
