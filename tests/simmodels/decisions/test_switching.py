import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simmodels.decisions.switching import (
    CHECKPOINT,
    DRAIN,
    DRAINING,
    KILL,
    NOTICED,
    OFF,
    OPEN,
    announce,
    is_open,
    take_effect,
)

NONE = np.empty(0)


def states(text: str) -> np.ndarray:
    return np.array([{"-": OFF, "o": OPEN, "n": NOTICED, "d": DRAINING}[each] for each in text])


def shown(of: np.ndarray) -> str:
    return "".join("-ond"[each] for each in of)


def test_the_highest_go_first_and_the_lowest_come_first() -> None:
    now, by = states("ooooo"), np.full(5, -1)
    assert take_effect(now, by, 0, 3, KILL, NONE) == 2
    assert shown(now) == "ooo--"
    assert by.tolist() == [-1, -1, -1, 0, 0]
    take_effect(now, by, 1, 1, DRAIN, NONE)
    assert shown(now) == "odd--"
    assert take_effect(now, by, 2, 4, KILL, NONE) == 0
    assert shown(now) == "oooo-", "those that drain are called back"


def test_who_was_given_notice_goes_and_none_is_drawn_twice() -> None:
    now, by = states("oooo"), np.full(4, -1)
    assert announce(now, by, 7, 2, NONE) == 2
    assert shown(now) == "oonn"
    assert take_effect(now, by, 3, 2, KILL, NONE) == 0, "another change wants as many as are open"
    assert shown(now) == "oonn"
    assert take_effect(now, by, 7, 2, CHECKPOINT, NONE) == 0
    assert shown(now) == "oo--"
    assert announce(now, by, 8, 4, NONE) == 0, "more machines need no notice"


def test_draws_say_who_goes() -> None:
    now = states("oooo")
    assert take_effect(now, np.full(4, -1), 0, 2, KILL, np.array([0.0, 0.99])) == 2
    assert shown(now) == "-o-o", "of 0 1 2 3 the first; then of 3 1 2 (the last takes its place) the third"


@given(
    st.lists(st.sampled_from([OFF, OPEN, NOTICED, DRAINING]), min_size=1, max_size=12),
    st.integers(0, 12),
    st.sampled_from([KILL, DRAIN, CHECKPOINT]),
    st.lists(st.floats(0, 1, exclude_max=True), min_size=12, max_size=12),
)
def test_as_many_are_open_as_are_wanted(before: list[int], wanted: int, mode: int, draws: list[float]) -> None:
    now, wanted = np.array(before), min(wanted, len(before))
    take_effect(now, np.full(len(before), -1), 0, wanted, mode, np.array(draws))
    assert is_open(now).sum() == wanted
    went = (np.array(before) == OPEN) & (now != OPEN)
    came = (np.array(before) != OPEN) & (now == OPEN)
    assert not (went.any() and came.any())
    assert set(now[went].tolist()) <= {DRAINING if mode == DRAIN else OFF}
