"""Clock: how far a run on machines has come, so that it can stop before an instant and go on from there."""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.structures.structure import I1, Handle, Structure


class Clock(Handle):
    """A Python handle on how far a run has come; made by `new_clock`."""


CLOCK: Final = Structure(
    Clock,
    [
        ("now", types.float64),  # the last instant that happened
        ("begun", types.boolean),  # whether what runs at the begin does
        ("came", types.int64),  # what is to come from this on has not been submitted
        ("wake", types.float64),  # when it is to be decided, though nothing else may happen; infinity without it
        ("undone", types.int64),  # all workflows of an auction below this are done
        # of machines
        ("draining", types.boolean),
        ("leaving", types.boolean),  # whether one will go
        ("sleeps", types.boolean),  # whether any goes to sleep
        ("looks", types.boolean),  # whether it is to be looked, once all of an instant is decided, which may sleep
        ("decided", types.boolean),  # whether something was decided since it was looked last
        ("closing", types.boolean),  # whether all was done at the last instant
        # how many attempts there were when all began to wait, and by cluster how many repairs there had been
        ("idle", types.int64),
        ("repairs", I1),
    ],
)


@compiled
def new_clock(begins, warm, clusters, sleeps):
    """Return the clock of a run that begins at an instant, with `warm` jobs that run then, the first ones."""
    made = structref.new(CLOCK)
    made.now = begins
    made.came = warm
    made.wake = np.inf
    made.sleeps = made.looks = sleeps
    made.decided = True  # so that the first instant is looked at
    made.idle = -1
    made.repairs = np.zeros(clusters, np.int64)
    return made


@compiled
def start_over(clock, came, number):
    """Go on where another number has come, and attempts have other numbers; those that are forgotten one below 0."""
    clock.came = came
    known = (number >= 0).sum()
    # If nothing has started since all began to wait, nothing has in the fork.
    clock.idle = known if clock.idle == number.size else -1
