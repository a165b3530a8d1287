"""First fit: a queue in order of submission, or in one that is named, and machines filled in an order of their own.

The baseline of Perotin et al. (2023, doi 10.1145/3624062.3624194), section 4.1: FirstFitAware fills the safest
machine first; FirstFitUnaware does the same in a random order of the machines.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.keys import key_of, refuse
from simmodels.passes.machines import first_fitting, run
from simmodels.structures.ordered import copy_slots, insert, refill, remove, sort_pairs


@compiled
def _set_key(fleet, slot, now):
    """Compute the key of a job in an order that is not that of submission."""
    draw = fleet.draw[slot] if slot < fleet.draw.size else 0.0
    row = np.int64(fleet.rows.ctypes.data) + 8 * slot * fleet.rows.shape[1]
    submit, estimate, left = fleet.submit[slot], fleet.estimate[slot], fleet.left[slot]
    key = key_of(fleet.order, submit, estimate, left, fleet.cores[slot], draw, now, row)
    fleet.key[slot] = refuse(fleet, slot, now) if np.isnan(key) else key


@compiled
def queue_up(fleet, slot, now):
    """Put a job in the queue, at its place."""
    if fleet.ordered:
        _set_key(fleet, slot, now)
    insert(fleet.waiting, fleet.key[slot], slot, fleet.cores[slot], fleet.left[slot])


@compiled
def sort_again(fleet, now):
    """Compute the keys of all that waits again, and sort it."""
    n = fleet.waiting.size
    slots = np.empty(n, np.int64)
    copy_slots(fleet.waiting, slots)
    keys = np.empty(n)
    for k in range(n):
        slot = slots[k]
        fleet.key[slot] = 0.0
        if fleet.ordered:
            _set_key(fleet, slot, now)
        keys[k] = fleet.key[slot]
    sort_pairs(keys, slots, np.empty(n), np.empty(n, np.int64), n)
    refill(fleet.waiting, keys, slots, fleet.cores, fleet.left, n)


@compiled
def _take_out(fleet, first):
    """Take those that start, from the first on, out of the queue."""
    for k in range(first, fleet.count):
        slot = fleet.placed[k]
        remove(fleet.waiting, fleet.key[slot], slot)


@compiled
def refill_machine(fleet, machine, now):
    """Start every job that fits on a machine, in the queue's order, until it is full or the queue ends."""
    if not fleet.open[machine]:
        return
    if fleet.moving:
        sort_again(fleet, now)
    waiting, free = fleet.waiting, fleet.free
    chain, count, least = waiting.chain, waiting.count, waiting.min_cores  # read once: most blocks are passed over
    first = fleet.count
    for c in range(waiting.blocks):
        b = chain[c]
        if least[b] > free[machine]:
            continue
        for i in range(count[b]):
            if waiting.cores[b, i] <= free[machine]:
                run(fleet, waiting.slot[b, i], machine, now, 0)
        if free[machine] == 0:
            break
    _take_out(fleet, first)


@compiled
def refill_all(fleet, now):
    """Start every job that fits somewhere, in the queue's order, each on the first machine in fill order that fits."""
    if fleet.moving:
        sort_again(fleet, now)
    waiting = fleet.waiting
    first = fleet.count
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        if waiting.min_cores[b] > fleet.tree[1]:
            continue
        for i in range(waiting.count[b]):
            if waiting.cores[b, i] <= fleet.tree[1]:
                slot = waiting.slot[b, i]
                run(fleet, slot, first_fitting(fleet, fleet.cores[slot]), now, 0)
        if fleet.tree[1] <= 0:
            break
    _take_out(fleet, first)


@compiled
def fit_new(fleet, slot, now):
    """Start a job that has just been submitted if it fits somewhere, else put it at the end of the queue."""
    machine = first_fitting(fleet, fleet.cores[slot])
    if machine >= np.int64(0):
        run(fleet, slot, machine, now, 0)
    else:
        queue_up(fleet, slot, now)
