"""What a run with checkpoints takes and saves, against a clock that goes on by one second."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simmodels.passes.checkpointing import done_after, saved_after, takes

SMALL = st.integers(0, 6)
WORK = st.integers(1, 40)
INTERVAL = st.one_of(st.integers(1, 12).map(float), st.just(math.inf))


def ticking(work: int, restart: int, interval: float, cost: int) -> list[tuple[int, int]]:
    """Return what is done, and what of it is in a checkpoint, after each second of a run up to its end."""
    phases = ["restart"] * restart
    for done in range(1, work + 1):
        phases.append("work")
        if done % interval == 0 and done < work:
            phases += ["write"] * cost + ["written"]
    found = [(0, 0)]
    done = saved = 0
    for phase in phases:
        if phase == "written":  # takes no time
            found[-1] = (done, saved := done)
            continue
        done += phase == "work"
        found.append((done, saved))
    return found


@given(WORK, SMALL, INTERVAL, SMALL)
@example(12, 2, 4.0, 3)
def test_it_takes_and_does_what_a_ticking_clock_counts(work: int, restart: int, interval: float, cost: int) -> None:
    found = ticking(work, restart, interval, cost)
    assert takes(float(work), float(restart), interval, float(cost)) == len(found) - 1
    for elapsed, (done, _) in enumerate(found):
        assert done_after(float(elapsed), float(restart), interval, float(cost), float(work)) == done


@given(WORK, SMALL, INTERVAL, SMALL, st.integers(-1, 10))
@example(12, 2, 4.0, 3, 3)
def test_what_is_saved_is_in_the_last_checkpoint(
    work: int, restart: int, interval: float, cost: int, warned: int
) -> None:
    found = ticking(work, restart, interval, cost)
    for elapsed, (_, saved) in enumerate(found[:-1]):  # a run that has ended is not cut short
        got = saved_after(float(elapsed), float(restart), interval, float(cost), float(work), float(warned))
        if warned >= cost:  # on notice it is written just in time
            assert got == max(saved, found[max(elapsed - cost, 0)][0])
        else:
            assert got == saved


TENTHS = st.tuples(st.integers(0, 300), st.sampled_from([3, 7, 10, 100])).map(lambda pair: Fraction(*pair))


@given(elapsed=TENTHS, restart=TENTHS, interval=TENTHS.filter(bool), cost=TENTHS)
@example(Fraction(5), Fraction(0), Fraction(5, 3), Fraction(1, 3))
@example(Fraction(23, 10), Fraction(14, 10), Fraction(1, 10), Fraction(2, 10))
def test_checkpoints_at_fractional_times_are_neither_lost_nor_gained(
    elapsed: Fraction, restart: Fraction, interval: Fraction, cost: Fraction
) -> None:
    """The numbers are fractions, and what is computed with are the floats next to them."""
    ran = max(elapsed - restart, Fraction(0))
    written = ran // (interval + cost)
    found = saved_after(float(elapsed), float(restart), float(interval), float(cost), math.inf, -1.0)
    assert found == pytest.approx(float(written * interval), rel=1e-9)
    between = max(math.ceil(elapsed / interval) - 1, 0)
    took = takes(float(elapsed), float(restart), float(interval), float(cost))
    assert took == pytest.approx(float(restart + elapsed + cost * between), rel=1e-12)
    worked = written * interval + min(ran - written * (interval + cost), interval)
    assert done_after(float(elapsed), float(restart), float(interval), float(cost), 1e12) == pytest.approx(
        float(worked), rel=1e-12, abs=1e-7
    )


def test_a_checkpoint_that_is_written_when_the_machine_goes_is_saved_whenever_that_is() -> None:
    elapsed = (1e8 + 7200.3) - 1e8
    assert elapsed < 7200.1 + 0.2
    assert saved_after(elapsed, 0.0, 7200.1, 0.2, math.inf, -1.0) == 7200.1
