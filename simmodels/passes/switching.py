"""Switching: which machines go when fewer are wanted, and which come when more are.

The highest numbers go first (Perotin et al. 2023, doi 10.1145/3624062.3624194, section 3: machine 0 is the
safest), or ones drawn at random; the lowest numbers come first. As many machines are on as the last change said,
beside those that drain. Of these no more take new jobs than the changes will leave of which notice has been given:
the others are under notice.
"""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import INT64_MAX

OFF: Final = 0
OPEN: Final = 1
NOTICED: Final = 2  # on, takes no new job, since it will go
DRAINING: Final = 3  # on, takes no new job, switched off once nothing runs there

KILL: Final = 0
DRAIN: Final = 1
CHECKPOINT: Final = 2
MODES: Final = {"kill": KILL, "drain": DRAIN, "checkpoint": CHECKPOINT}


@compiled
def _leave(states, notified, count, to, draws, now):
    """Let `count` open machines leave, and notify them.

    Parameters
    ----------
    states, notified
        int64[machines], and float64[machines], when each was notified that it will go; changed in place.
    count
        How many leave; fewer if fewer are open.
    to
        NOTICED, DRAINING or OFF.
    draws
        float64[>= count], uniform numbers that say which; or none: the highest numbers leave.
    now
        The instant.
    """
    # A draw picks a rank among those that are still open, in order: the same draws, the same machines.
    here = np.flatnonzero(states == OPEN)
    left = here.size
    for k in range(min(count, left)):
        at = int(draws[k] * left) if draws.size else left - 1
        states[here[at]] = to
        notified[here[at]] = now
        left -= 1
        for i in range(at, left):  # in order, so that it is the same whether they leave at once or one by one
            here[i] = here[i + 1]


@compiled
def warn(states, notified, goes, announced, time, machines, draws, now):
    """Let as many machines take jobs as are on, and as all changes to come leave of which notice has been given.

    Parameters
    ----------
    states, notified, draws
        As in `_leave`.
    goes
        float64[machines], written: when each machine under notice goes; infinity of the others.
    announced, time, machines
        bool[k], float64[k] and int64[k], of changes to come, in order: whether notice of it has been given, when it
        takes effect, and how many machines it leaves.
    now
        When notice was given.

    Returns
    -------
    int
        How many draws it took.
    """
    on = (states == OPEN).sum()
    # The least number that an announced change leaves is what may take jobs until then.
    may = INT64_MAX
    for k in range(time.size):
        if announced[k]:
            may = min(may, machines[k])
    more = on - may
    for machine in range(states.size):
        if states[machine] == NOTICED:
            on += 1
            # Lowest numbers are called back first, as they come first when more are wanted.
            if more < 0:
                states[machine] = OPEN
                more += 1
    _leave(states, notified, more, NOTICED, draws, now)
    noticed = np.flatnonzero(states == NOTICED)[::-1]  # in the order in which they go
    goes[:] = np.inf
    # From the last change to the first, so that of two that a machine would go by the earlier one stands.
    for k in range(time.size - 1, -1, -1):
        if announced[k]:
            goes[noticed[: max(on - machines[k], 0)]] = time[k]
    return max(more, 0)


@compiled
def take_effect(states, by, notified, number, machines, mode, draws, now):
    """Carry out change `number`: let `machines` machines be on, beside those that drain; return how many draws it took.

    Parameters
    ----------
    states, notified, draws, now
        As in `_leave`.
    by
        int64[machines], the change by which each went; changed in place.
    number, machines, mode
        The change, how many machines it wants, and KILL, DRAIN or CHECKPOINT.
    """
    more = ((states == OPEN) | (states == NOTICED)).sum() - machines  # above 0: how many go; below: come
    before = states.copy()  # which go by this change is seen at the end
    for machine in range(states.size):
        if more >= 0:
            break
        if states[machine] == OFF or states[machine] == DRAINING:
            states[machine] = OPEN
            more += 1
    gone = DRAINING if mode == DRAIN else OFF
    for machine in range(states.size - 1, -1, -1):
        if more <= 0:
            break
        # Those under notice go before any that got none.
        if states[machine] == NOTICED:
            states[machine] = gone
            more -= 1
    _leave(states, notified, more, gone, draws, now)
    for machine in range(states.size):
        if states[machine] == gone and before[machine] != gone:
            by[machine] = number
    return max(more, 0)


@compiled
def warned(notified, time, notice):
    """Return how long before a change the machine that goes by it was notified, of `notice` at most.

    Parameters
    ----------
    notified
        When it was notified first.
    time, notice
        When the change takes effect, and how long before notice was given.
    """
    return notice if notified <= time - notice else time - notified


@compiled
def is_open(states):
    """Return bool[machines], which take jobs."""
    return states == np.int64(OPEN)
