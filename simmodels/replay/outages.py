"""Outages: failures, maintenance and sleep as the compiled engine carries them out, beside the changes of a capacity.

A machine has several that may hold it off, or give it notice: the capacity, its failures, each maintenance, and sleep.
What happens to it follows from all of them; `simmodels.entities.outages` and `simmodels.entities.power_saving` have
them as processes. What these do at one instant they do in the order in which they last said when: so they are numbered
here, too.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Flags, Floats, Ints
from simmodels.passes import switching
from simmodels.replay.sleep import SLEEP, come, doze
from simmodels.structures.arrays import put
from simmodels.structures.structure import B1, B2, F1, F2, I1, Handle, Structure

_AHEAD: Final = 0
_NOTICED: Final = 1
_BEGUN: Final = 2
DOZE: Final = -2  # behind failures and maintenance: machines go to sleep, ...
_COME: Final = -1  # ... and one that boots is on


class Outages(Handle):
    """A Python handle on failures and maintenance; made by `new_outages`."""


OUTAGES: Final = Structure(
    Outages,
    [
        # by machine, if it fails, by maintenance, and of those that go to sleep, or boot: when the next thing is done,
        # and in which order it was said
        ("at", F1),
        ("said", I1),
        ("next", types.float64),  # the least of `at`
        ("count", types.int64),  # how often one said it
        # failures
        ("life", F2),  # [machine, number]: the time from a repair to the next failure; or of no machine
        ("failures", I1),  # how many there were
        ("repair", types.float64),  # how long it takes
        ("failed", B1),
        ("short", types.boolean),  # whether a machine was repaired whose next failure is not drawn yet
        # by maintenance
        ("start", F1),
        ("end", F1),
        ("mode", I1),
        ("notified", F1),  # when notice is given; `start` without
        ("phase", I1),
        ("of", B2),  # of which machines
        ("held", B2),
        ("drains", B2),
        ("sleep", SLEEP),
    ],
)


class Planned(NamedTuple):
    """Maintenance, as compiled code takes it; one entry per window."""

    start: Floats
    end: Floats
    notice: Floats
    mode: Ints
    of: Flags  # [windows, machines], which machines are maintained


@compiled
def new_outages(life, repair, planned, sleep, begin):
    """Return failures and maintenance at the begin of a window, and which machines sleep."""
    made = structref.new(OUTAGES)
    failing, windows = life.shape[0], planned.start.size
    made.sleep = sleep
    made.at = np.full(failing + windows + 2, np.inf)
    # As if each had said at the begin when it acts first, in the order in which the SimPy engine makes them.
    made.said = np.arange(1, 1 + made.at.size)  # the capacity is first
    made.count = made.at.size
    made.life = life
    made.failures = np.zeros(failing, np.int64)
    made.repair = repair
    made.failed = np.zeros(max(failing, planned.of.shape[1]), np.bool_)
    made.start, made.end, made.mode, made.of = planned.start, planned.end, planned.mode, planned.of
    # Notice that should have been given before the window is given when it begins.
    made.notified = np.minimum(np.maximum(planned.start - planned.notice, begin), planned.start)
    made.phase = np.full(windows, _NOTICED)
    made.held = np.zeros_like(planned.of)
    made.drains = np.zeros_like(planned.of)
    for machine in range(failing):
        made.at[machine] = begin + life[machine, 0]
    put(made.at, failing, made.notified, windows)
    for window in range(windows):  # without notice nothing is ahead of the begin
        if made.notified[window] < planned.start[window]:
            made.phase[window] = _AHEAD
    look_ahead(made)
    return made


@compiled
def look_ahead(outages):
    """Note when the next thing happens."""
    outages.next = np.inf
    for at in outages.at:
        outages.next = min(outages.next, at)


@compiled
def say(outages, which, at):
    """Note when one of them does the next thing."""
    outages.at[which] = at
    outages.count += 1  # what says later acts later at one instant
    outages.said[which] = outages.count
    look_ahead(outages)


@compiled
def say_who_comes(outages):
    """Note which machine is on next that boots."""
    sleep, which = outages.sleep, outages.at.size + _COME
    outages.at[which] = np.inf
    if sleep.coming_first < sleep.coming_end:
        outages.at[which], outages.said[which] = sleep.comes[sleep.coming_first], sleep.said[sleep.coming_first]
    look_ahead(outages)


@compiled
def next_due(outages, now, notices):
    """Return which of them is due first, and gives notice or does something else; -1 without one."""
    first = -1
    if outages.next <= now:
        failing = outages.life.shape[0]
        for which in range(outages.at.size):
            ahead = failing <= which < outages.at.size + DOZE and outages.phase[which - failing] == _AHEAD
            due = outages.at[which] <= now and ahead == notices
            if due and (first < 0 or outages.said[which] < outages.said[first]):
                first = which
    return first


@compiled
def carry_out(outages, which, now):
    """Let a machine fail, be repaired, sleep or come, or a maintenance go on; return how long before it was warned."""
    failing = outages.life.shape[0]
    if which == outages.at.size + _COME:
        come(outages.sleep)
        say_who_comes(outages)
        return -1.0
    if which == outages.at.size + DOZE:
        doze(outages.sleep)
        say(outages, which, np.inf)
        return -1.0
    if which < failing:
        # A failure and a repair follow each other, and each says when the other comes.
        outages.failed[which] = not outages.failed[which]
        if outages.failed[which]:
            say(outages, which, now + outages.repair)
            return -1.0
        outages.failures[which] += 1
        lived = outages.failures[which]
        if lived == outages.life.shape[1]:
            outages.short = True
            say(outages, which, np.inf)  # until `foresee_failures` knows it
        else:
            say(outages, which, now + outages.life[which, lived])
        return -1.0
    k = which - failing
    outages.phase[k] += 1  # notice, begin, end
    if outages.phase[k] == _NOTICED:
        say(outages, which, outages.start[k])
    elif outages.phase[k] == _BEGUN:
        # Draining machines are held once idle, by `hold_drained`.
        goes_off = outages.drains if outages.mode[k] == switching.DRAIN else outages.held
        put(goes_off[k], 0, outages.of[k], outages.of.shape[1])
        say(outages, which, outages.end[k])
    else:
        outages.held[k] = False
        outages.drains[k] = False
        say(outages, which, np.inf)
    return outages.start[k] - outages.notified[k] if outages.mode[k] == switching.CHECKPOINT else -1.0


@compiled
def is_broken(outages, machine):
    """Return whether a failure or a maintenance holds a machine off."""
    return outages.failed[machine] or outages.held[:, machine].any()


@compiled
def is_held(outages, machine):
    """Return whether a failure, a maintenance or sleep holds a machine off."""
    return is_broken(outages, machine) or outages.sleep.asleep[machine]


@compiled
def concerned(outages, which):
    """Return the machines to which one of them did something last."""
    failing, sleep = outages.life.shape[0], outages.sleep
    if which < failing:
        return np.full(1, which)
    if which == outages.at.size + DOZE:
        return sleep.due
    if which == outages.at.size + _COME:
        return sleep.coming[sleep.coming_first - 1 : sleep.coming_first]
    return np.flatnonzero(outages.of[which - failing])


@compiled
def drains(outages, machine):
    """Return whether a machine drains for a maintenance."""
    return outages.drains[:, machine].any()


@compiled
def goes_for(outages, machine):
    """Return when a machine goes for a maintenance of which notice was given; infinity without one."""
    at = np.inf
    for k in range(outages.start.size):
        if outages.of[k, machine] and outages.phase[k] == _NOTICED and outages.notified[k] < outages.start[k]:
            at = min(at, outages.start[k])
    return at


@compiled
def hold_drained(outages, machine):
    """Let every maintenance for which a machine drains hold it."""
    for k in range(outages.start.size):
        if outages.drains[k, machine]:
            outages.drains[k, machine] = False
            outages.held[k, machine] = True
