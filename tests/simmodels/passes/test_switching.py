import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.passes.switching import (
    CHECKPOINT,
    DRAIN,
    DRAINING,
    KILL,
    NOTICED,
    OFF,
    OPEN,
    is_open,
    take_effect,
    warn,
    warned,
)

NONE = np.empty(0)


class Machines:
    """States of machines, written as letters: on (o), off (-), under notice (n), draining (d)."""

    def __init__(self, text: str) -> None:
        self.states = np.array([{"-": OFF, "o": OPEN, "n": NOTICED, "d": DRAINING}[each] for each in text])
        self.by = np.full(len(text), -1)
        self.reported = np.full(len(text), np.inf)
        self.goes = np.full(len(text), np.nan)

    def __str__(self) -> str:
        return "".join("-ond"[each] for each in self.states)

    def warn(self, *machines: int, now: float = 0.0, draws: np.ndarray = NONE) -> int:
        """Give notice of changes at 150 s, 350 s and so on; others come before each."""
        time = 100.0 * np.arange(2 * len(machines)) + 50.0
        announced, left = np.arange(len(time)) % 2 > 0, np.repeat(np.array(machines, np.int64), 2)
        left[::2] = 0  # of these no notice has been given
        return int(warn(self.states, self.reported, self.goes, announced, time, left, draws, now))

    def change(self, number: int, machines: int, mode: int = KILL, now: float = 0.0, draws: np.ndarray = NONE) -> int:
        return int(take_effect(self.states, self.by, self.reported, number, machines, mode, draws, now))


def test_who_was_given_notice_goes_first_and_who_drains_comes_back() -> None:
    four = Machines("oooo")
    assert four.warn(2, now=10.0) == 2
    assert str(four) == "oonn"
    assert four.change(0, 3, now=20.0) == 0
    assert str(four) == "oon-"
    assert four.change(1, 1, CHECKPOINT, now=30.0) == 1, "one of them had no notice"
    assert str(four) == "o---"
    assert four.reported.tolist() == [np.inf, 30, 10, 10]
    assert four.by.tolist() == [-1, 1, 1, 0]
    four.change(2, 3)
    four.change(3, 1, DRAIN)
    assert str(four) == "odd-"
    assert four.change(4, 2) == 0
    assert str(four) == "ood-"
    four.warn(1)
    assert four.warn(9) == 0
    assert str(four) == "ood-", "notice that no longer holds is taken back"


def test_a_machine_under_notice_goes_at_the_first_change_that_does_not_leave_it() -> None:
    five = Machines("ooood")
    assert five.warn(3, 1, 2) == 3
    assert str(five) == "onnnd"
    assert five.goes.tolist() == [np.inf, 350, 350, 150, np.inf]
    assert five.warn() == 0
    assert str(five) == "ooood", "no change is to come"
    assert five.goes.tolist() == [np.inf] * 5


def test_draws_say_who_goes_the_same_at_once_or_one_by_one() -> None:
    draws = np.array([0.0, 0.99])
    once = Machines("oooo")
    assert once.change(0, 2, draws=draws) == 2
    assert str(once) == "-oo-", "of 0 1 2 3 the first, then of 1 2 3 the last"
    twice = Machines("oooo")
    twice.warn(3, draws=draws[:1])
    twice.warn(2, draws=draws[1:])
    assert str(twice) == "noon"


@pytest.mark.parametrize(("reported", "is_warned"), [(40.0, 60.0), (10.0, 60.0), (70.0, 30.0), (np.inf, -np.inf)])
def test_a_machine_was_warned_since_it_was_notified_but_no_longer_than_the_notice(
    reported: float, is_warned: float
) -> None:
    assert warned(reported, 100.0, 60.0) == is_warned
    assert warned(1000.3 - 60.0, 1000.3, 60.0) == 60.0, "a notice in time is not a rounding too late"


@given(
    st.lists(st.sampled_from([OFF, OPEN, NOTICED, DRAINING]), min_size=1, max_size=12),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from([KILL, DRAIN, CHECKPOINT]),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=12, max_size=12),
)
def test_as_many_are_on_and_open_as_are_wanted(
    before: list[int], wanted: int, may: int, mode: int, draws: list[float]
) -> None:
    some, wanted = Machines("-" * len(before)), min(wanted, len(before))
    some.states[:] = before
    was = np.array(before)
    some.change(0, wanted, mode, draws=np.array(draws))
    on = np.isin(some.states, (OPEN, NOTICED))
    assert on.sum() == wanted
    went, came = np.isin(was, (OPEN, NOTICED)) & ~on, ~np.isin(was, (OPEN, NOTICED)) & on
    assert not (went.any() and came.any())
    assert set(some.states[went].tolist()) <= {DRAINING if mode == DRAIN else OFF}
    assert (some.by[went] == 0).all()
    assert (some.by[~went] == -1).all()
    some.warn(may, draws=np.array(draws))
    assert is_open(some.states).sum() == min(wanted, may)
    assert np.isin(some.states, (OPEN, NOTICED)).sum() == wanted, "notice switches nothing"
