"""Placement events: what each event does to a state, and which jobs then start where.

Both engines say what ends, how the capacity changes and what is submitted, in the order of section 2.2 of our
specification: completions, a change of the machines, submissions, planned starts. Each function returns how
many jobs start: their slots are in ``state.placed``, their machines in ``state.machine``.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.first_fit import fit_new, queue_up, refill_all, refill_machine, sort_again
from simmodels.passes.machines import first_fitting, open_machines, reserve, run, stop
from simmodels.passes.target_placement import (
    accumulate_usage,
    categorise,
    note_stretch,
    place,
    replan,
    settle_all,
    start_planned,
    unplan,
    update,
    utilisation,
)
from simmodels.structures.placement_state import FIRST_FIT, NOWHERE
from simmodels.structures.sorted_blocks import insert, remove, slots_of


@compiled
def begin(state, warm, now):
    """Let jobs that ran before the simulation did run on, each on the first machine that fits; the others are dropped.

    Parameters
    ----------
    state
        The state; the first slots are those of these jobs, in the order in which they are placed.
    warm
        How many they are.
    now
        The instant.
    """
    state.count = 0
    state.arrived = warm
    for slot in range(warm):
        heed_signals()
        if state.rules.kind == FIRST_FIT:
            machine = first_fitting(state, state.cores[slot])  # by fill order, as all jobs of first fit
            if machine != NOWHERE:
                run(state, slot, machine, now, 0)
            continue
        categorise(state, slot)
        # Nobody knows where it ran: it gets the first open machine that it fits on, and no target.
        for rank in range(state.alive):
            machine = state.ranked[rank]
            if state.free[machine] >= state.cores[slot]:
                reserve(state, slot, machine, now, now + state.left[slot])
                run(state, slot, machine, now, 0)
                break
    if state.rules.kind != FIRST_FIT and warm > 0:
        update(state, now)
    return state.count


@compiled
def complete(state, ended, ends, now):
    """Let the slots ended[:ends] end, one after the other."""
    state.count = 0
    for k in range(ends):
        slot = ended[k]
        # The profile stays: lengths are exact, so what was planned behind this end stands.
        machine = stop(state, slot)
        if state.rules.kind != FIRST_FIT:
            if not state.rules.by_plan:
                note_stretch(state, slot, now)
            update(state, now)
        elif state.rules.by_event:
            refill_machine(state, machine, now)
    return state.count


@compiled
def change(state, is_open, lost, again, losses, now):
    """Let these machines be open; of the slots lost[:losses], which ran on machines that went, lost[:again] wait again.

    First fit fills what is free. Targets are chosen again for all jobs that have not started (section 4.3);
    with `replan_if_full`, after an addition only if all machines were used, and U was high.
    """
    state.count = 0
    before = state.alive
    # Whether all machines were used and U was too high, before the change.
    full = state.rules.replan_if_full and before > 0 and state.use == before
    full = full and utilisation(state, now) > state.rules.raise_above
    for k in range(losses):
        stop(state, lost[k])
        if k >= again:  # it does not wait again
            continue
        if state.rules.kind == FIRST_FIT:
            queue_up(state, lost[k], now)
        else:
            # Its slot is its place in order of submission, so it waits at its old place.
            insert(state.waiting, 0.0, lost[k], state.cores[lost[k]], state.left[lost[k]])
    opened = 0
    closed = 0
    for machine in range(is_open.size):
        opened += is_open[machine] and not state.open[machine]
        closed += state.open[machine] and not is_open[machine]
    accumulate_usage(state, now)
    # No more machines can be used than are open; U says below whether more are.
    state.use = min(state.use, before + opened - closed)
    open_machines(state, is_open, now)
    if state.rules.kind == FIRST_FIT:
        if state.rules.by_event:  # else all is decided at once, after what comes at this instant
            refill_all(state, now)
        return state.count
    if opened > closed:
        update(state, now)
        if before > 0 and losses == 0 and closed == 0 and state.rules.replan_if_full and not full:
            return state.count
    # Targets are ranks, and all ranks may have changed.
    replan(state, now)
    update(state, now)
    return state.count


@compiled
def admit_arrivals(state, arrivals, now):
    """Let the next `arrivals` slots arrive, and start what was planned for now."""
    state.count = 0
    # In an order of its own all that comes queues up before anything is filled; else job by job, as they come.
    if state.rules.kind == FIRST_FIT and state.ordered:
        for slot in range(state.arrived, state.arrived + arrivals):
            queue_up(state, slot, now)
        state.arrived += arrivals
        if arrivals > 0 or not state.rules.by_event:
            refill_all(state, now)
        return state.count
    if state.rules.kind == FIRST_FIT and not state.rules.by_event:
        refill_all(state, now)
    for _ in range(arrivals):
        slot = state.arrived
        state.arrived += 1
        if state.rules.kind == FIRST_FIT:
            fit_new(state, slot, now)
        else:
            categorise(state, slot)
            place(state, slot, now)
            # U may rise with each job, and the next one's target depends on the machines used.
            update(state, now)
    if state.rules.kind != FIRST_FIT:
        start_planned(state, now)
        if state.horizon < np.inf and state.horizon <= next_planned_start(state):
            settle_all(state, now)
    return state.count


@compiled
def withdraw(state, slot):
    """Let a job go that waits; before anything is placed, `plan_again` has to plan the others."""
    remove(state.waiting, state.key[slot], slot)
    if state.place[slot] != NOWHERE:  # its start was planned
        unplan(state, slot)


@compiled
def plan_again(state, now):
    """Plan all jobs again that have not started."""
    state.count = 0
    if state.rules.kind != FIRST_FIT:
        replan(state, now)
        update(state, now)
    return state.count


@compiled
def take_over(state, old, now):
    """Go on where another state was, which is not used again, with other options; place again all that waits.

    Parameters
    ----------
    state
        A new state with the columns of the old one, and the same machines open.
    old
        The state whose place it takes.
    now
        The instant.
    """
    state.left, state.machine, state.start = old.left, old.machine, old.start
    state.before, state.after, state.first = old.before, old.after, old.first
    state.arrived, state.free, state.waiting = old.arrived, old.free, old.waiting
    state.key = old.key
    if state.ordered or old.ordered:
        sort_again(state, now)
    if not state.ordered:
        state.key[:] = 0.0  # also of those that run: they may wait again
    for k in range(old.heap_size):
        state.machine[old.heap[k]] = NOWHERE  # planned by the old rules
        state.start[old.heap[k]] = np.inf
    if state.rules.kind == FIRST_FIT:
        open_machines(state, state.open, now)  # now that it is known what is free
        if state.rules.by_event:
            refill_all(state, now)
        return state.count
    if old.rules.kind != FIRST_FIT:
        state.use, state.stretch = old.use, old.stretch
        state.use_sum, state.use_since = old.use_sum, old.use_since
    for slot in slots_of(state.waiting):
        categorise(state, slot)
    for first in state.first:
        slot = first
        while slot != NOWHERE:  # it may lose its machine, and wait again
            categorise(state, slot)
            slot = state.after[slot]
    replan(state, now)
    update(state, now)
    return state.count


@compiled
def differs(state, is_open):
    """Return whether other machines are open than the state says."""
    others = 0
    for machine in range(is_open.size):
        others += is_open[machine] != state.open[machine]
    return others > 0


@compiled
def next_planned_start(state):
    """Return when the next planned start is; infinity without one."""
    return state.start[state.heap[0]] if state.heap_size > 0 else np.inf


@compiled
def started(state):
    """Return int64[k], the slots that start (a copy), and int64[k], their machines."""
    slots = state.placed[: state.count].copy()
    return slots, state.machine[slots]
