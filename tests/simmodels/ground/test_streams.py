"""Streams: the same seed and name give the same bits, in any order, process and hash seed."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simmodels.errors import RequestError
from simmodels.ground.streams import entropy, stream

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


@given(st.integers(0, 2**70), NAMES)
def test_the_same_seed_and_names_give_the_same_bits(seed: int, names: tuple[str | int, ...]) -> None:
    assert bits(seed, *names) == bits(seed, *names)


@given(st.integers(0, 3), NAMES, st.integers(0, 3), NAMES)
def test_other_seeds_and_names_give_other_bits(
    seed: int, names: tuple[str | int, ...], seed2: int, names2: tuple[str | int, ...]
) -> None:
    assert (entropy(seed, *names) == entropy(seed2, *names2)) == ((seed, names) == (seed2, names2))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", 1), ("a1",)),
        (("a", "1"), ("a", 1)),
        (("a", "b"), ("b", "a")),
        (("ab",), ("a", "b")),
        (("a\x1fstr:1:b",), ("a", "b")),
        ((), ("",)),
        (("",), ("", "")),
    ],
)
def test_names_that_look_alike_are_different_streams(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> None:
    assert bits(7, *one) != bits(7, *other)


def test_a_whole_number_of_numpy_is_the_same_name_and_seed() -> None:
    assert bits(np.int64(7), "site", np.int32(3)) == bits(7, "site", 3)


def test_drawing_from_one_stream_does_not_move_another() -> None:
    first, second = stream(1, "a"), stream(1, "b")
    first.random(1000)
    assert second.integers(0, 2**63, 4).tolist() == bits(1, "b")


def test_no_global_generator_is_read_or_moved() -> None:
    random.seed(1)
    before = random.getstate()
    one = bits(3, "a")
    random.seed(2)
    assert bits(3, "a") == one
    random.setstate(before)
    bits(3, "a")
    assert random.getstate() == before


@pytest.mark.parametrize(
    ("seed", "names", "what"),
    [
        *[(seed, ("a",), "seed must be an integer >= 0") for seed in (-1, 1.5, "7", None)],
        *[(1, ("a", name), "a stream's name must be a text or an integer") for name in (1.5, None, ("a",))],
    ],
)
def test_what_is_no_seed_and_no_name_is_refused(seed: Any, names: tuple[Any, ...], what: str) -> None:  # noqa: ANN401
    with pytest.raises(RequestError) as caught:
        stream(seed, *names)
    assert str(caught.value) == f"{what} (got {names[-1] if seed == 1 else seed!r})"
