"""Placement by risk: long jobs on safe machines; each job gets a target machine and a planned start.

Perotin, Zhang, Wijayawardana, Benoit, Robert, Chien: Risk-aware scheduling algorithms for variable capacity
resources, SC-W 2023 (doi 10.1145/3624062.3624194), section 4: TargetStretch, TargetASAP and PackedTargetASAP.
Lengths are known exactly, so a planned start holds until the number of machines changes; then all is planned
again. A job may go before jobs that were planned earlier where there is a hole, and delays none.

A placement looks at no more than 2 x distance + 1 machines, whatever their number; a change of the number of
machines costs O(machines + running jobs) and a placement for each job that has not started.
"""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.machines import alter, count_load, load_of, make_room, rebuild, run
from simmodels.passes.planning import plan
from simmodels.structures import heap
from simmodels.structures.columns import longer
from simmodels.structures.fleet import NOWHERE
from simmodels.structures.ordered import copy_slots, insert, remove

_CLOSE: Final = 1e-9  # to a threshold of U: there its rounding counts


# -- how many machines are used -------------------------------------------------------------------


@compiled
def update(fleet, now):
    """Use more machines while U is high, or fewer while it is low (section 4.2); nothing is moved.

    U is the mean of u over the machines used; u is 1 where a job is planned that has not started, else the
    share of the cores in use.
    """
    tick(fleet, now)
    if fleet.alive == 0:
        return
    if fleet.use == 0:
        fleet.use = 1
        fleet.load = load_of(fleet, fleet.ranked[0])
    if busy(fleet) > fleet.placing.raise_above:
        while fleet.use < fleet.alive and busy(fleet) > fleet.placing.raise_above:
            fleet.load += load_of(fleet, fleet.ranked[fleet.use])
            fleet.use += 1
    else:
        while fleet.use > max(fleet.placing.least, 1) and busy(fleet) < fleet.placing.lower_below:
            fleet.use -= 1
            fleet.load -= load_of(fleet, fleet.ranked[fleet.use])


@compiled
def tick(fleet, now):
    """Add to the integral of the machines used."""
    fleet.use_sum += fleet.use * (now - fleet.use_since)
    fleet.use_since = now


@compiled
def busy(fleet):
    """Return U.

    It is the sum of u over the machines used, in their order, divided by how many they are, each step rounded.
    Close to a threshold this decides (the mean of 1/3, 2/3 and 1 may be above or below that of 8, 16 and 24 of
    24 cores), so there it is computed so; elsewhere from the sum of cores that is kept, in O(1).
    """
    share = fleet.load / (fleet.size * fleet.use)
    if abs(share - fleet.placing.raise_above) > _CLOSE and abs(share - fleet.placing.lower_below) > _CLOSE:
        return share
    total = 0.0
    for rank in range(fleet.use):
        total += load_of(fleet, fleet.ranked[rank]) / fleet.size
    return total / fleet.use


# -- where a job goes -----------------------------------------------------------------------------


@compiled
def weigh(fleet, slot):
    """Find a job's category (section 4.2): the share of the reference's work that is in jobs at least as long.

    A long job has few that are longer, so a small share, so a target of low rank: a safe machine.
    """
    length = min(fleet.length[slot], fleet.placing.length_cap)
    low = 0
    high = fleet.lengths.size
    while low < high:  # the first length of the reference that is at least (or more than) the job's
        middle = (low + high) // 2
        if fleet.lengths[middle] < length or (fleet.placing.longer_only and fleet.lengths[middle] == length):
            low = middle + 1
        else:
            high = middle
    fleet.weight[slot] = fleet.weights[low]


# -- placing --------------------------------------------------------------------------------------


@compiled
def place(fleet, slot, now):
    """Start a job that has just been submitted, or plan its start."""
    insert(fleet.waiting, 0.0, slot, fleet.cores[slot], fleet.left[slot])
    if fleet.alive > 0:
        place_all(fleet, np.array([slot]), now, True)


@compiled
def place_all(fleet, slots, now, fresh):
    """Place these jobs, one after the other; those that can start now do."""
    done = 0
    while done < slots.size:
        done = plan(fleet, slots, done, now, fresh)
        if done < slots.size:
            make_room(fleet)
    if fleet.heap_size + slots.size > fleet.heap.size:
        fleet.heap = longer(fleet.heap, 2 * (fleet.heap_size + slots.size))
    waits, start, machine, plans = fleet.heap, fleet.start, fleet.machine, fleet.plans
    size = fleet.heap_size
    for slot in slots:
        if start[slot] != now:
            if fresh:
                alter(fleet, machine[slot], 0, 1)
            else:
                plans[machine[slot]] += 1  # the load is counted below, once for all
            waits[size] = slot
            size += 1
    if slots.size == 1 and size > fleet.heap_size:
        heap.push(waits, fleet.heap_size, start, fleet.place, slots[0])
    elif size > fleet.heap_size:
        heap.order(waits, size, start, fleet.place)
    if size - fleet.heap_size < slots.size:
        for k in range(slots.size):
            slot = slots[k]
            if start[slot] == now:
                remove(fleet.waiting, 0.0, slot)
                run(fleet, slot, machine[slot], now, 0)
    fleet.heap_size = size
    if not fresh:
        count_load(fleet)


@compiled
def note_stretch(fleet, slot, end):
    """Take note of the stretch of a job that ends then."""
    fleet.stretch = max(fleet.stretch, (end - fleet.submit[slot]) / fleet.length[slot])


@compiled
def replan(fleet, now):
    """Place again all jobs that have not started, in order of submission."""
    waits, at, machine, start = fleet.heap, fleet.place, fleet.machine, fleet.start
    for k in range(fleet.heap_size):
        slot = waits[k]
        at[slot] = NOWHERE
        machine[slot] = NOWHERE
        start[slot] = np.inf
    fleet.heap_size = 0
    rebuild(fleet, now)
    if fleet.alive == 0:
        return
    waiting = fleet.waiting
    again = np.empty(waiting.size, np.int64)
    copy_slots(waiting, again)
    place_all(fleet, again, now, False)


@compiled
def unplan(fleet, slot):
    """Forget the planned start of a job; the profile of its machine is not right until all is planned again."""
    fleet.heap_size = heap.take(fleet.heap, fleet.heap_size, fleet.start, fleet.place, slot)
    alter(fleet, fleet.machine[slot], 0, -1)
    fleet.machine[slot] = NOWHERE
    fleet.start[slot] = np.inf


@compiled
def start_planned(fleet, now):
    """Start the jobs whose planned start is now."""
    while fleet.heap_size > 0 and fleet.start[fleet.heap[0]] <= now:
        slot = fleet.heap[0]
        fleet.heap_size = heap.take(fleet.heap, fleet.heap_size, fleet.start, fleet.place, slot)
        remove(fleet.waiting, 0.0, slot)
        run(fleet, slot, fleet.machine[slot], now, -1)
        update(fleet, now)
