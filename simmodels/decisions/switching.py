"""Switching: which machines go when fewer are wanted, and which come when more are.

The highest numbers go first (Perotin et al. 2023, doi 10.1145/3624062.3624194, section 3: machine 0 is the
safest), or ones drawn at random; the lowest numbers come first. A machine under notice of its removal takes no
new job; it is called back as others are switched on.
"""

from typing import Final

import numpy as np

from simmodels.compiled import compiled

OFF: Final = 0
OPEN: Final = 1
NOTICED: Final = 2  # on, takes no new job, to be switched off at an instant
DRAINING: Final = 3  # on, takes no new job, switched off once nothing runs there

KILL: Final = 0
DRAIN: Final = 1
CHECKPOINT: Final = 2
MODES: Final = {"kill": KILL, "drain": DRAIN, "checkpoint": CHECKPOINT}


@compiled
def excess(states, machines):
    """Return how many machines more are open than wanted (fewer, if negative)."""
    return (states == OPEN).sum() - machines


@compiled
def leave(states, by, number, count, to, draws):
    """Let `count` open machines leave.

    Parameters
    ----------
    states
        int64[machines], changed in place.
    by
        int64[machines], which change a machine leaves by; changed in place.
    number
        The change.
    count
        How many leave; fewer if fewer are open.
    to
        NOTICED, DRAINING or OFF.
    draws
        float64[>= count], uniform numbers that say which; or none: the highest numbers leave.
    """
    here = np.flatnonzero(states == OPEN)
    left = here.size
    for k in range(min(count, left)):
        at = int(draws[k] * left) if draws.size else left - 1
        states[here[at]] = to
        by[here[at]] = number
        left -= 1
        here[at] = here[left]


@compiled
def come(states, count):
    """Let `count` machines be open that are not, the lowest numbers first; those under notice are called back."""
    for machine in range(states.size):
        if count <= 0:
            return
        if states[machine] != OPEN:
            states[machine] = OPEN
            count -= 1


@compiled
def announce(states, by, number, machines, draws):
    """Give notice to the machines that change `number` will take away; return how many."""
    more = max(excess(states, machines), 0)
    leave(states, by, number, more, NOTICED, draws)
    return more


@compiled
def take_effect(states, by, number, machines, mode, draws):
    """Carry out change `number`: who was given notice goes, and so many machines are open as are wanted.

    Returns how many go without notice: so many of the draws are used up.
    """
    gone = DRAINING if mode == DRAIN else OFF
    for machine in range(states.size):
        if states[machine] == NOTICED and by[machine] == number:
            states[machine] = gone
    more = excess(states, machines)
    if more > 0:
        leave(states, by, number, more, gone, draws)
        return more
    come(states, -more)
    return 0


@compiled
def is_open(states):
    """Return bool[machines], which take jobs."""
    return states == np.int64(OPEN)
