"""Placing: what each event does to a fleet, and which jobs then start where.

Both clocks say what ends, what comes and goes and what is submitted, in the order of section 2.2 of our
specification: completions, a change of the machines, submissions, planned starts. Each function returns how
many jobs start: their slots are in ``fleet.placed``, their machines in ``fleet.machine``.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.fitting import fit_new, queue_up, refill_all, refill_machine, sort_again
from simmodels.passes.machines import first_fitting, open_machines, reserve, run, stop
from simmodels.passes.placement import busy, note_stretch, place, replan, start_planned, tick, unplan, update, weigh
from simmodels.structures.fleet import FIRST_FIT, NOWHERE
from simmodels.structures.ordered import copy_slots, insert, remove


@compiled
def begin(fleet, warm, now):
    """Let jobs that ran before the clock did run on, each on the first machine that fits; the others are dropped.

    Parameters
    ----------
    fleet
        The state; the first slots are those of these jobs, in the order in which they are placed.
    warm
        How many they are.
    now
        The instant.
    """
    fleet.count = 0
    fleet.arrived = warm
    for slot in range(warm):
        heed_signals()
        if fleet.placing.kind == FIRST_FIT:
            machine = first_fitting(fleet, fleet.cores[slot])
            if machine != NOWHERE:
                run(fleet, slot, machine, now, 0)
            continue
        weigh(fleet, slot)
        for rank in range(fleet.alive):
            machine = fleet.ranked[rank]
            if fleet.free[machine] >= fleet.cores[slot]:
                reserve(fleet, slot, machine, now, now + fleet.left[slot])
                run(fleet, slot, machine, now, 0)
                break
    if fleet.placing.kind != FIRST_FIT and warm > 0:
        update(fleet, now)
    return fleet.count


@compiled
def complete(fleet, ended, ends, now):
    """Let the slots ended[:ends] end, one after the other."""
    fleet.count = 0
    for k in range(ends):
        slot = ended[k]
        machine = stop(fleet, slot)
        if fleet.placing.kind != FIRST_FIT:
            if not fleet.placing.by_plan:
                note_stretch(fleet, slot, now)
            update(fleet, now)
        elif fleet.placing.by_event:
            refill_machine(fleet, machine, now)
    return fleet.count


@compiled
def change(fleet, is_open, lost, again, losses, now):
    """Let these machines be open; of the slots lost[:losses], which ran on machines that went, lost[:again] wait again.

    First fit fills what is free. Targets are chosen again for all jobs that have not started (section 4.3);
    with `replan_if_full`, after an addition only if all machines were used, and U was high.
    """
    fleet.count = 0
    before = fleet.alive
    full = before > 0 and fleet.use == before and busy(fleet) > fleet.placing.raise_above
    for k in range(losses):
        stop(fleet, lost[k])
        if k >= again:
            continue
        if fleet.placing.kind == FIRST_FIT:
            queue_up(fleet, lost[k], now)
        else:
            insert(fleet.waiting, 0.0, lost[k], fleet.cores[lost[k]], fleet.left[lost[k]])
    opened = 0
    closed = 0
    for machine in range(is_open.size):
        opened += is_open[machine] and not fleet.open[machine]
        closed += fleet.open[machine] and not is_open[machine]
    tick(fleet, now)
    fleet.use = min(fleet.use, before + opened - closed)
    open_machines(fleet, is_open, now)
    if fleet.placing.kind == FIRST_FIT:
        if fleet.placing.by_event:  # else all is decided at once, after what comes at this instant
            refill_all(fleet, now)
        return fleet.count
    if opened > closed:
        update(fleet, now)
        if before > 0 and losses == 0 and closed == 0 and fleet.placing.replan_if_full and not full:
            return fleet.count
    replan(fleet, now)
    update(fleet, now)
    return fleet.count


@compiled
def settle(fleet, arrivals, now):
    """Let the next `arrivals` slots arrive, and start what was planned for now."""
    fleet.count = 0
    if fleet.placing.kind == FIRST_FIT and fleet.ordered:
        for slot in range(fleet.arrived, fleet.arrived + arrivals):
            queue_up(fleet, slot, now)
        fleet.arrived += arrivals
        if arrivals > 0 or not fleet.placing.by_event:
            refill_all(fleet, now)
        return fleet.count
    if fleet.placing.kind == FIRST_FIT and not fleet.placing.by_event:
        refill_all(fleet, now)
    for _ in range(arrivals):
        slot = fleet.arrived
        fleet.arrived += 1
        if fleet.placing.kind == FIRST_FIT:
            fit_new(fleet, slot, now)
        else:
            weigh(fleet, slot)
            place(fleet, slot, now)
            update(fleet, now)
    if fleet.placing.kind != FIRST_FIT:
        start_planned(fleet, now)
    return fleet.count


@compiled
def withdraw(fleet, slot):
    """Let a job go that waits; before anything is placed, `plan_again` has to plan the others."""
    remove(fleet.waiting, fleet.key[slot], slot)
    if fleet.place[slot] != NOWHERE:  # its start was planned
        unplan(fleet, slot)


@compiled
def plan_again(fleet, now):
    """Plan all jobs again that have not started."""
    fleet.count = 0
    if fleet.placing.kind != FIRST_FIT:
        replan(fleet, now)
        update(fleet, now)
    return fleet.count


@compiled
def take_over(fleet, old, now):
    """Go on where another fleet was, which is not used again, with other options; place again all that waits.

    Parameters
    ----------
    fleet
        A new fleet with the columns of the old one, and the same machines open.
    old
        The fleet whose place it takes.
    now
        The instant.
    """
    fleet.left, fleet.machine, fleet.start = old.left, old.machine, old.start
    fleet.before, fleet.after, fleet.first = old.before, old.after, old.first
    fleet.arrived, fleet.free, fleet.waiting = old.arrived, old.free, old.waiting
    fleet.key = old.key
    if fleet.ordered or old.ordered:
        sort_again(fleet, now)
    if not fleet.ordered:
        fleet.key[:] = 0.0  # also of those that run: they may wait again
    for k in range(old.heap_size):
        fleet.machine[old.heap[k]] = NOWHERE
        fleet.start[old.heap[k]] = np.inf
    if fleet.placing.kind == FIRST_FIT:
        open_machines(fleet, fleet.open, now)  # now that it is known what is free
        if fleet.placing.by_event:
            refill_all(fleet, now)
        return fleet.count
    if old.placing.kind != FIRST_FIT:
        fleet.use, fleet.stretch = old.use, old.stretch
        fleet.use_sum, fleet.use_since = old.use_sum, old.use_since
    waiting = np.empty(fleet.waiting.size, np.int64)
    copy_slots(fleet.waiting, waiting)
    for slot in waiting:
        weigh(fleet, slot)
    for first in fleet.first:
        slot = first
        while slot != NOWHERE:  # it may lose its machine, and wait again
            weigh(fleet, slot)
            slot = fleet.after[slot]
    replan(fleet, now)
    update(fleet, now)
    return fleet.count


@compiled
def differs(fleet, is_open):
    """Return whether other machines are open than the state says."""
    others = 0
    for machine in range(is_open.size):
        others += is_open[machine] != fleet.open[machine]
    return others > 0


@compiled
def due(fleet):
    """Return when the next planned start is; infinity without one."""
    return fleet.start[fleet.heap[0]] if fleet.heap_size > 0 else np.inf


@compiled
def started(fleet):
    """Return int64[k], the slots that start (a copy), and int64[k], their machines."""
    slots = fleet.placed[: fleet.count].copy()
    return slots, fleet.machine[slots]
