"""Placement by risk: long jobs on safe machines; each job gets a target machine and a planned start.

Perotin, Zhang, Wijayawardana, Benoit, Robert, Chien: Risk-aware scheduling algorithms for variable capacity
resources, SC-W 2023 (doi 10.1145/3624062.3624194), section 4: TargetStretch, TargetASAP and PackedTargetASAP.
Lengths are known exactly, so a planned start holds until the number of machines changes; then all is planned
again. A job may go before jobs that were planned earlier where there is a hole, and delays none.

A placement looks at no more than 2 x distance + 1 machines, whatever their number; a change of the number of
machines costs O(machines + waiting and running jobs) and a placement for each job that is not put off. Those that are
put off are planned before a job whose start depends on them, when U does, and when none starts before the horizon.
"""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.machines import alter, count_load, load_of, make_room, rebuild, run
from simmodels.passes.planned_starts import plan, target_rank
from simmodels.structures import heap
from simmodels.structures.arrays import grown
from simmodels.structures.placement_state import NOWHERE
from simmodels.structures.sorted_blocks import insert, remove, slots_of

_AHEAD: Final = 3600.0  # how far the horizon is, in seconds: the number of machines is likely to change before
_CLOSE: Final = 1e-9  # to a threshold of U: there its rounding counts


# -- how many machines are used -------------------------------------------------------------------


@compiled
def update(state, now):
    """Use more machines while U is high, or fewer while it is low (section 4.2); nothing is moved.

    U is the mean of u over the machines used; u is 1 where a job is planned that has not started, else the
    share of the cores in use.
    """
    accumulate_usage(state, now)  # before `use` changes: what it was until now counts for that time
    if state.alive == 0:
        return
    # All machines had gone: one is used again as soon as there is one.
    if state.use == 0:
        state.use = 1
        state.load = load_of(state, state.ranked[0])
    if utilisation(state, now) > state.rules.raise_above:
        # Either way one machine at a time, since each changes U: it stops as soon as U is within the thresholds.
        while state.use < state.alive and utilisation(state, now) > state.rules.raise_above:
            state.load += load_of(state, state.ranked[state.use])
            state.use += 1
    else:
        while state.use > max(state.rules.least, 1) and utilisation(state, now) < state.rules.lower_below:
            state.use -= 1
            state.load -= load_of(state, state.ranked[state.use])


@compiled
def accumulate_usage(state, now):
    """Add to the integral of the machines used."""
    state.use_sum += state.use * (now - state.use_since)
    state.use_since = now


@compiled
def utilisation(state, now):
    """Return U.

    It is the sum of u over the machines used, in their order, divided by how many they are, each step rounded.
    Close to a threshold this decides (the mean of 1/3, 2/3 and 1 may be above or below that of 8, 16 and 24 of
    24 cores), so there it is computed so; elsewhere from the sum of cores that is kept, in O(1).
    """
    while state.unsure != NOWHERE:
        _note(state, _settle(state, slots_of(state.waiting), now), now, False)
    share = state.load / (state.size * state.use)
    if abs(share - state.rules.raise_above) > _CLOSE and abs(share - state.rules.lower_below) > _CLOSE:
        return share
    total = 0.0
    for rank in range(state.use):
        total += load_of(state, state.ranked[rank]) / state.size
    return total / state.use


# -- where a job goes -----------------------------------------------------------------------------


@compiled
def categorise(state, slot):
    """Find a job's category (section 4.2): the share of the reference's work that is in jobs at least as long.

    A long job has few that are longer, so a small share, so a target of low rank: a safe machine.
    """
    length = min(state.length[slot], state.rules.length_cap)
    low = 0
    high = state.lengths.size
    while low < high:  # the first length of the reference that is at least (or more than) the job's
        middle = (low + high) // 2
        if state.lengths[middle] < length or (state.rules.longer_only and state.lengths[middle] == length):
            low = middle + 1
        else:
            high = middle
    state.weight[slot] = state.weights[low]


# -- placing --------------------------------------------------------------------------------------


@compiled
def place(state, slot, now):
    """Start a job that has just been submitted, or plan its start."""
    # All keys are 0, so the list is in order of slots, that of submission.
    insert(state.waiting, 0.0, slot, state.cores[slot], state.left[slot])
    if state.alive > 0:
        place_all(state, np.array([slot]), now, True)


@compiled
def place_all(state, slots, now, fresh):
    """Place these jobs, one after the other; those that can start now do."""
    # A plan stops where profiles have no room left; jobs before that are placed already.
    done = 0
    for slot in slots:
        state.used[slot] = state.use
    while done < slots.size:
        done = plan(state, slots, done, now, fresh)
        if done < slots.size and state.unsure == NOWHERE:
            make_room(state)
        elif done < slots.size and fresh:
            _note(state, _settle(state, slots_of(state.waiting)[:-1], now), now, False)
        elif done < slots.size:
            _settle(state, slots[:done], now)  # they are noted below
    _note(state, slots, now, fresh)


@compiled
def _settle(state, slots, now):
    """Plan those of these jobs that were put off and may bear on the machine of rank `unsure`; return them.

    They are those of the machines around it that are in doubt, without a gap.
    """
    doubt, horizon, rules = state.doubt, state.horizon, state.rules
    low = high = state.unsure
    while low > 0 and doubt[low - 1] < np.inf:
        low -= 1
    while high + 1 < doubt.size and doubt[high + 1] < np.inf:
        high += 1
    late, size, done = np.empty(slots.size, np.int64), 0, 0
    for slot in slots:
        target = target_rank(state.weight[slot], state.used[slot], rules.pack, rules.packing)
        if state.machine[slot] == NOWHERE and low <= target <= high:
            late[size] = slot
            size += 1
    doubt[low : high + 1] = np.inf
    state.horizon, state.unsure = np.inf, NOWHERE
    while done < size:
        done = plan(state, late[:size], done, now, False)
        if done < size:
            make_room(state)
    state.horizon = horizon
    return late[:size]


@compiled
def settle_all(state, now):
    """Plan all jobs that were put off; none is from now on."""
    for rank in range(state.alive):
        if state.doubt[rank] < np.inf:
            state.unsure = rank
            _note(state, _settle(state, slots_of(state.waiting), now), now, False)
    state.horizon = np.inf


@compiled
def _note(state, slots, now, fresh):
    """Start those of these jobs that start now, and take note of when the others are planned to."""
    if state.heap_size + slots.size > state.heap.size:
        state.heap = grown(state.heap, 2 * (state.heap_size + slots.size))
    waits, start, machine, place = state.heap, state.start, state.machine, state.place
    size = state.heap_size
    for slot in slots:
        if start[slot] != now and machine[slot] != NOWHERE and place[slot] == NOWHERE:
            if fresh:
                alter(state, machine[slot], 0, 1)  # else the load is counted below, once for all
            waits[size] = slot
            size += 1
    # One job is pushed; of many, the heap is put in order once.
    if slots.size == 1 and size > state.heap_size:
        heap.push(waits, state.heap_size, start, place, slots[0])
    elif size > state.heap_size:
        heap.order(waits, size, start, place)
    if size - state.heap_size < slots.size:
        # Those that start do so in order of submission, after all are placed: a start changes no plan.
        for k in range(slots.size):
            slot = slots[k]
            if start[slot] == now:
                remove(state.waiting, 0.0, slot)
                run(state, slot, machine[slot], now, 0)
    state.heap_size = size
    if not fresh:
        count_load(state)


@compiled
def note_stretch(state, slot, end):
    """Take note of the stretch of a job that ends then."""
    state.stretch = max(state.stretch, (end - state.submit[slot]) / state.length[slot])


@compiled
def replan(state, now):
    """Place again all jobs that have not started, in order of submission."""
    waits, at, machine, start = state.heap, state.place, state.machine, state.start
    for k in range(state.heap_size):
        slot = waits[k]
        at[slot] = NOWHERE
        machine[slot] = NOWHERE
        start[slot] = np.inf
    # All is forgotten that is planned, and nothing that runs: `rebuild` makes profiles of that alone.
    state.heap_size = 0
    state.horizon, state.unsure = np.inf, NOWHERE
    state.doubt[:] = np.inf
    rebuild(state, now)
    if state.alive == 0:
        return
    if state.rules.puts_off:
        state.horizon = now + _AHEAD
    place_all(state, slots_of(state.waiting), now, False)


@compiled
def unplan(state, slot):
    """Forget the planned start of a job; the profile of its machine is not right until all is planned again."""
    state.heap_size = heap.take(state.heap, state.heap_size, state.start, state.place, slot)
    alter(state, state.machine[slot], 0, -1)
    state.machine[slot] = NOWHERE
    state.start[slot] = np.inf


@compiled
def start_planned(state, now):
    """Start the jobs whose planned start is now."""
    while state.heap_size > 0 and state.start[state.heap[0]] <= now:
        slot = state.heap[0]
        state.heap_size = heap.take(state.heap, state.heap_size, state.start, state.place, slot)
        remove(state.waiting, 0.0, slot)
        # Its cores are out of the profile since it was planned: only the load changes.
        run(state, slot, state.machine[slot], now, -1)
        update(state, now)
