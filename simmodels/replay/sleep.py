"""Sleep: idle machines of a cluster that are switched off and on again, as the compiled engine carries it out.

What `simmodels.entities.power_saving` does as a process: after the decisions of an instant it looks which machines
jobs need, or which have been idle for long enough. What it decides then happens among the outages of the cluster.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.passes import switching
from simmodels.structures.structure import B1, F1, I1, Handle, Structure, columns_by


class Sleep(Handle):
    """A Python handle on machines that sleep; made by `new_sleep`."""


SLEEP: Final = Structure(
    Sleep,
    [
        # as in `simmodels.SleepPolicy`
        ("after", types.float64),  # infinity if no machine ever sleeps
        ("boot", types.float64),
        ("awake", types.int64),
        ("asleep", B1, "machine", False),  # whether it is held off for this, also while it boots
        ("boots", B1, "machine", False),
        ("on", B1, "machine", False),  # as of the last change
        # a list of those that became idle, in this order; some are busy again. By machine: when it did, infinity if it
        # is not in the list, and its neighbours there, where the last entry is both ends
        ("since", F1, "machine", np.inf),
        ("before", I1),
        ("after_it", I1),
        # those that boot, in the order in which they come
        ("coming", I1, "boot"),
        ("comes", F1, "boot"),
        ("said", I1, "boot"),  # in which order they said so, among the outages
        ("coming_first", types.int64),
        ("coming_end", types.int64),
        ("sleeping", types.int64),  # how many are asleep, and do not boot
        ("due", I1),  # those that go to sleep at this instant
        ("look", types.float64),  # when it looks whether one has been idle for long enough
        ("rings", types.boolean),  # whether it looks at the end of this instant, whatever is decided
    ],
)
_lengthen_machines, _lengthen_boots = columns_by(SLEEP, "machine"), columns_by(SLEEP, "boot")


@compiled
def new_sleep(after, boot, awake, state, begin):
    """Return what is known of sleep at the begin of a window: machines that are on (`state`) are idle since then."""
    made = structref.new(SLEEP)
    made.after, made.boot, made.awake = after, boot, awake
    _lengthen_machines(made, state.size)
    _lengthen_boots(made, 64)
    made.before = np.full(state.size + 1, state.size)
    made.after_it = np.full(state.size + 1, state.size)
    made.look = np.inf
    note_power(made, state, begin)
    return made


@compiled
def _forget(sleep, machine):
    """Take a machine out of the list of those that became idle."""
    if sleep.since[machine] < np.inf:
        before, after = sleep.before[machine], sleep.after_it[machine]
        sleep.after_it[before], sleep.before[after] = after, before
        sleep.since[machine] = np.inf


@compiled
def note_idle(sleep, machine, now):
    """Take note that a job of a machine ended, or that it was switched on: since then it is idle, if it is."""
    # It goes to the end of the list: the one that has been idle for longest is first.
    _forget(sleep, machine)
    ends = sleep.since.size
    last = sleep.before[ends]
    sleep.before[machine], sleep.after_it[machine] = last, ends
    sleep.after_it[last] = sleep.before[ends] = machine
    sleep.since[machine] = now


@compiled
def note_power(sleep, state, now):
    """Take note of the machines that are on now."""
    if sleep.after == np.inf:
        return
    for machine in range(state.size):
        on = state[machine] != switching.OFF
        if on and not sleep.on[machine]:
            note_idle(sleep, machine, now)
        sleep.on[machine] = on


@compiled
def find_due(sleep, state, free, size, now):
    """Choose the machines that go to sleep, or say when to look again; return whether there are any.

    Parameters
    ----------
    sleep
        The machines; none waits for jobs, and none is to be woken.
    state, free, size
        int64[machines], what each is, its free cores, and its cores.
    now
        The instant.
    """
    ends = sleep.since.size
    first = sleep.after_it[ends]
    # The list is tidied from its front: what is busy or off waits for nothing there.
    while first != ends and (state[first] == switching.OFF or free[first] < size[first]):
        _forget(sleep, first)  # until it becomes idle again
        first = sleep.after_it[ends]
    if first == ends or (sleep.since[first] + sleep.after > now and sleep.look < np.inf):
        return False
    may = (state == switching.OPEN).sum() - sleep.awake
    if may <= 0:
        return False
    if sleep.since[first] + sleep.after > now:
        sleep.look = sleep.since[first] + sleep.after
        return False
    # All that have been idle for long enough, wherever they are in the list; the highest numbers sleep first.
    due = (sleep.since + sleep.after <= now) & (state != switching.OFF) & (free == size)
    sleep.due = np.flatnonzero(due)[::-1][:may].copy()
    return True


@compiled
def doze(sleep):
    """Let those sleep that go to sleep at this instant."""
    sleep.asleep[sleep.due] = True
    sleep.sleeping += sleep.due.size
    sleep.rings = True


@compiled
def wake(sleep, held, size, cores, machines, now, said):
    """Wake machines until at least `cores` more cores and `machines` more machines are on their way, lowest first.

    Parameters
    ----------
    sleep
        The machines.
    held, size
        bool[machines], which something else holds off: they come when that lets them, and do not count; and
        int64[machines], the cores of each.
    now
        The instant.
    said
        What was said last, by number: each of them says when it comes.

    Returns
    -------
    int
        What was said last then.
    """
    for machine in np.flatnonzero(sleep.boots & ~held):  # these come without being asked again
        cores -= size[machine]
        machines -= 1
    # First those that nothing else holds: only these add cores when they come.
    for beside in (False, True):
        for machine in np.flatnonzero(sleep.asleep & (held == beside)):
            if sleep.boots[machine] or (cores <= 0 and machines <= 0):
                continue
            if sleep.coming_end == sleep.coming.size:
                _lengthen_boots(sleep, 2 * sleep.coming_end)
            said += 1
            k = sleep.coming_end
            sleep.coming[k], sleep.comes[k], sleep.said[k] = machine, now + sleep.boot, said
            sleep.coming_end += 1
            sleep.boots[machine] = True
            sleep.sleeping -= 1  # as soon as it is asked to come
            if not beside:
                cores -= size[machine]
                machines -= 1
    return said


@compiled
def come(sleep):
    """Let the next machine that boots be on, as far as this is concerned."""
    machine = sleep.coming[sleep.coming_first]
    sleep.coming_first += 1
    sleep.asleep[machine] = sleep.boots[machine] = False
    sleep.rings = True
