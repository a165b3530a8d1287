"""Power: the changes of the capacity as the compiled engine carries them out, at the instants of the SimPy engine.

Which machines are switched is `simmodels.passes.switching`, which capacity processes call, too. Failures and
maintenance hold machines off beside the capacity; what a machine is then follows from all of them.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import Floats, Ints
from simmodels.passes import switching
from simmodels.replay.outages import (
    DOZE,
    OUTAGES,
    carry_out,
    concerned,
    drains,
    goes_for,
    hold_drained,
    is_broken,
    is_held,
    look_ahead,
    next_due,
    say,
    say_who_comes,
)
from simmodels.replay.sleep import find_due, wake
from simmodels.structures.structure import B1, F1, I1, Handle, Structure, columns_by, copied


class Power(Handle):
    """A Python handle on the state of machines that are switched on and off; made by `new_power`."""


_CAPACITY: Final = -1
_OTHERS: Final = -2  # failures and sleep, which give no notice
POWER: Final = Structure(
    Power,
    [
        # by machine
        ("state", I1),  # see `simmodels.passes.switching`
        ("own", I1),  # the same, as far as the capacity is concerned
        ("by", I1, "machine", -1),  # the change by which it went
        ("notified", F1, "machine", np.inf),  # when it was given notice
        ("goes", F1, "machine", np.inf),  # when it goes, by what is announced; else infinity
        ("own_goes", F1, "machine", np.inf),  # the same, by the capacity
        ("leaves", I1, "machine", switching.OPEN),  # OPEN, NOTICED or DRAINING, whether it is on or off
        ("why", F1, "machine", -1.0),  # how long before it went last it was asked for checkpoints; -1 if it was not
        ("turn", I1, "machine", 0),  # the number of what held it off then, among those of the instant
        ("outages", OUTAGES),
        ("change_said", types.int64),  # the order of the next change among outages
        # by change
        ("time", F1),
        ("machines", I1),
        ("notice", F1),
        ("mode", I1),
        ("announced", B1),
        ("notices", I1),  # the changes of which notice is given, in this order
        # where it is
        ("begin", types.float64),
        ("next_change", types.int64),
        ("next_notice", types.int64),
        ("farthest", types.int64),  # the last change of which notice has been given
        ("draws", F1),  # uniform numbers that say which machine goes; empty: that of the highest number
        ("drawn", types.int64),
        ("draining", types.boolean),  # kept, since a look at all machines at each event would be quadratic in them
    ],
)
_lengthen_machines = columns_by(POWER, "machine")


class Changes(NamedTuple):
    """The changes of a capacity, by time; one entry per change, as in `Capacity`."""

    time: Floats  # increasing, all after the begin
    machines: Ints
    notice: Floats
    mode: Ints
    notices: Ints  # [j], the changes of which notice is given, by the instant at which it is


@compiled
def new_power(state, changes, draws, outages, begin):
    """Return the state of machines, which are OPEN or OFF, at the begin of a window."""
    made = structref.new(POWER)
    made.state = state
    made.outages = outages
    made.own = state.copy()
    _lengthen_machines(made, state.size)
    made.time, made.machines, made.notice = changes.time, changes.machines, changes.notice
    made.mode, made.notices = changes.mode, changes.notices
    made.announced = np.zeros(made.time.size, np.bool_)
    made.begin = begin
    made.farthest = -1
    made.draws = draws
    return made


@inlined
def _next_at(power, notices):
    """Return when the next change of the capacity is made, or the next notice is given; infinity if there is none."""
    if notices and power.next_notice < power.notices.size:
        change = power.notices[power.next_notice]
        return max(power.time[change] - power.notice[change], power.begin)  # not before the window
    if not notices and power.next_change < power.time.size:
        return power.time[power.next_change]
    return np.inf


@compiled
def next_switch(power):
    """Return the next instant at which the machines change, or notice of it is given; infinity if there is none."""
    outages = min(power.outages.next, power.outages.sleep.look)
    return min(outages, _next_at(power, False), _next_at(power, True))


@compiled
def _warn(power, since):
    """Give notice to machines until no more take jobs than may, and note when those under notice go."""
    # Changes behind the farthest announced one say nothing yet.
    here, draws = slice(power.next_change, power.farthest + 1), power.draws[power.drawn :]
    changes = (power.announced[here], power.time[here], power.machines[here])
    power.drawn += switching.warn(power.own, power.notified, power.own_goes, *changes, draws, since)


@compiled
def _change(power, now):
    """Carry out the next change of the capacity."""
    k = power.next_change
    draws = power.draws[power.drawn :]
    given = (power.machines[k], power.mode[k], draws, now)
    power.drawn += switching.take_effect(power.own, power.by, power.notified, k, *given)
    power.next_change += 1
    _warn(power, now)


@compiled
def _notice(power, now):
    """Give notice of the next change of the capacity of which it is given, unless that has been made by now."""
    k = power.notices[power.next_notice]
    power.next_notice += 1
    if power.time[k] > now:  # else the change came with it, or before
        power.announced[k] = True
        power.farthest = max(power.farthest, k)
        _warn(power, power.time[k] - power.notice[k])  # which may be before the window


@compiled
def switch(power, now):
    """Carry out what is due of the capacity and of outages, then give notices; return whether a machine changed."""
    outages = power.outages
    failing, windows = outages.life.shape[0], outages.start.size
    changed = False
    turn = 0
    # All changes of an instant first, then all notices: these see what is left.
    for notices in (False, True):
        while True:
            # Of what is due, the one acts first that said first when: as processes of SimPy do.
            which = next_due(outages, now, notices)
            capacity = notices or which < 0 or power.change_said < outages.said[which]
            if capacity and _next_at(power, notices) <= now:
                # A change may switch any machine: which it did is seen by comparing.
                own, goes = power.own.copy(), power.own_goes.copy()
                if notices:
                    _notice(power, now)
                else:
                    _change(power, now)
                    outages.count += 1
                    power.change_said = outages.count
                for machine in range(own.size):
                    if power.own[machine] != own[machine] or power.own_goes[machine] != goes[machine]:
                        changed |= _settle(power, machine, _CAPACITY, _warned_by_change(power, machine), turn)
            elif which >= 0:
                why = carry_out(outages, which, now)
                by = which - failing if failing <= which < failing + windows else _OTHERS
                for machine in concerned(outages, which):
                    changed |= _settle(power, machine, by, why, turn)
            else:
                break
            turn += 1
    if outages.sleep.look <= now:
        outages.sleep.look = np.inf
        outages.sleep.rings = True
    return changed


@compiled
def look(power, free, size, wanted, now):
    """Wake machines for jobs that wait; or let machines sleep, or see when the next one may.

    Parameters
    ----------
    power
        The machines of a cluster that sleep.
    free, size
        int64[machines] each, their free cores, and their cores.
    wanted
        How many cores those need that wait.
    now
        The instant, of which all has been decided.
    """
    outages = power.outages
    sleep = outages.sleep
    sleep.rings = False
    if sleep.sleeping > 0 and (wanted > 0 or sleep.awake > 0):
        is_open = power.state == switching.OPEN  # all others take no jobs
        cores = wanted - free[is_open].sum() if wanted > 0 else 0
        machines = sleep.awake - is_open.sum()
        if cores > 0 or machines > 0:
            # What something else holds off comes when that lets it, and does not count.
            held = power.own == switching.OFF
            for machine in range(held.size):
                held[machine] |= is_broken(outages, machine)
            outages.count = wake(sleep, held, size, cores, machines, now, outages.count)
            say_who_comes(outages)
    if wanted == 0 and find_due(sleep, power.state, free, size, now):
        say(outages, outages.at.size + DOZE, now)


@compiled
def _settle(power, machine, by, why, turn):
    """Note what a machine is, by all that hold it off or give it notice; return whether others take note of that.

    Parameters
    ----------
    power, machine
        The machine.
    by
        Who did something: a maintenance, by its number, _CAPACITY or _OTHERS.
    why, turn
        If it goes by that: how long before it was asked for checkpoints, and the number of that at the instant.
    """
    outages = power.outages
    was_off, said, goes = power.state[machine] == switching.OFF, power.leaves[machine], power.goes[machine]
    off = power.own[machine] == switching.OFF or is_held(outages, machine)
    if off:  # no job runs there: what would drain is held
        drain_out(power, machine)
    power.goes[machine] = min(power.own_goes[machine], goes_for(outages, machine))
    # The strictest of all that was said: draining before notice, and the earliest notice.
    power.leaves[machine] = switching.OPEN
    if power.own[machine] == switching.DRAINING or drains(outages, machine):
        power.leaves[machine] = switching.DRAINING
    elif power.own[machine] == switching.NOTICED or power.goes[machine] < np.inf:
        power.leaves[machine] = switching.NOTICED
    power.state[machine] = switching.OFF if off else power.leaves[machine]
    if off and not was_off:  # the first that holds it off says why; the others find it off
        power.why[machine] = why
        power.turn[machine] = turn
    # Of notices, also of a machine that is off, others take note; not of those that end where it is held off instead.
    notifies = by == _CAPACITY and power.own[machine] != switching.OFF
    notifies = notifies or (by >= 0 and not outages.held[by, machine])
    return off != was_off or (notifies and (power.leaves[machine] != said or power.goes[machine] != goes))


@compiled
def drain_out(power, machine):
    """Let a machine be held on which no job runs, by all for which it drains."""
    if power.own[machine] == switching.DRAINING:
        power.own[machine] = switching.OFF
    hold_drained(power.outages, machine)


@compiled
def switch_off_drained(power, free, size):
    """Switch machines off that drain and on which no job runs any more; return whether there are any.

    `free` and `size` are int64[machines] each, their free cores, and their cores.
    """
    found = False
    power.draining = False
    for machine in np.flatnonzero(power.state == switching.DRAINING):
        if free[machine] == size[machine]:
            drain_out(power, machine)
            _settle(power, machine, _OTHERS, -1.0, 0)
            found = True
        else:
            power.draining = True
    return found


@compiled
def _warned_by_change(power, machine):
    """Return how long before it went by a change of the capacity a machine was asked for checkpoints; -1: never."""
    change = power.by[machine]
    if change < 0 or power.mode[change] != switching.CHECKPOINT:
        return -1.0
    return switching.warned(power.notified[machine], power.time[change], power.notice[change])


@compiled
def known_failures(power):
    """Return of how many failures of a machine the times are known if that is too few; else 0."""
    return power.outages.life.shape[1] if power.outages.short else 0


@compiled
def foresee_failures(power, life, now):
    """Go on with further failures; `life` begins with the times that are known, and `now` is the last instant."""
    outages = power.outages
    # What is known stays as it is, since further draws begin with the same numbers.
    known = outages.life.shape[1]
    outages.life, outages.short = life, False
    for machine in np.flatnonzero(outages.failures == known):  # it was repaired now
        outages.at[machine] = now + life[machine, known]
    look_ahead(outages)


@compiled
def copied_power(power, state):
    """Return the same machines again, whose states are `state` from now on."""
    made = copied(power)
    made.state = state
    return made
