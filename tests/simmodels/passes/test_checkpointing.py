"""What a run with checkpoints takes and saves, against a clock that goes on by one second."""

import math

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
