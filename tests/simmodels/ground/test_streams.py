"""Streams: the same seed and name give the same bits, in any order, process and hash seed."""

import random

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from simmodels.ground.streams import entropy, stream
from tests.refused import refused

NAMES = st.lists(st.text(max_size=5) | st.integers(-5, 5), max_size=4).map(tuple)


def bits(seed: int, *names: str | int) -> list[int]:
    return stream(seed, *names).integers(0, 2**63, 4).tolist()


def test_the_bits_are_these_in_any_process_without_end() -> None:
    # A change of these numbers changes every simulation that draws: it belongs in the CHANGELOG.
    assert entropy(7, "lublin", "arrivals") == 0x0DE108AEE89344B6BD6788EDD5ADC7EE
    assert bits(7, "lublin", "arrivals") == [
        6620621880198232265,
        4756254846776438397,
        6365467884518136190,
        664933658414496859,
    ]


@given(st.integers(0, 3) | st.integers(0, 2**70), NAMES, st.integers(0, 3), NAMES)
@example(7, ("a", 1), 7, ("a1",))
@example(7, ("a", "1"), 7, ("a", 1))
@example(7, ("a", "b"), 7, ("b", "a"))
@example(7, ("ab",), 7, ("a", "b"))
@example(7, ("a\x1fstr:1:b",), 7, ("a", "b"))
@example(7, (), 7, ("",))
@example(7, ("",), 7, ("", ""))
def test_the_same_seed_and_names_give_the_same_bits_and_others_other_bits(
    seed: int, names: tuple[str | int, ...], seed2: int, names2: tuple[str | int, ...]
) -> None:
    assert bits(seed, *names) == bits(seed, *names)
    assert (entropy(seed, *names) == entropy(seed2, *names2)) == ((seed, names) == (seed2, names2))


def test_no_other_generator_is_read_or_moved() -> None:
    random.seed(1)
    before = random.getstate()
    first, second = stream(1, "a"), stream(1, "b")
    first.random(1000)
    assert second.integers(0, 2**63, 4).tolist() == bits(1, "b") == bits(np.int64(1), "b")
    assert bits(3, "site", np.int32(3)) == bits(3, "site", 3)
    assert random.getstate() == before


def test_what_is_no_seed_and_no_name_is_refused() -> None:
    for seed in (-1, 1.5, "7", None):
        with refused(f"seed must be an integer >= 0 (got {seed!r})"):
            stream(seed, "a")
    for name in (1.5, None, ("a",)):
        with refused(f"a stream's name must be a text or an integer (got {name!r})"):
            stream(1, "a", name)
