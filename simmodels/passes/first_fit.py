"""First fit: a queue in order of submission, or in one that is named, and machines filled in an order of their own.

The baseline of Perotin et al. (2023, doi 10.1145/3624062.3624194), section 4.1: FirstFitAware fills the safest
machine first; FirstFitUnaware does the same in a random order of the machines.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.keys import key_of, refuse
from simmodels.passes.machines import first_fitting, run
from simmodels.structures.sorted_blocks import insert, next_block, refill, remove, slots_of, sort_pairs


@compiled
def _set_key(state, slot, now):
    """Compute the key of a job in an order that is not that of submission."""
    draw = state.draw[slot] if slot < state.draw.size else 0.0
    row = np.int64(state.rows.ctypes.data) + 8 * slot * state.rows.shape[1]  # an address, as in `queue_order`
    submit, estimate, left = state.submit[slot], state.estimate[slot], state.left[slot]
    key = key_of(state.order, submit, estimate, left, state.cores[slot], draw, now, row)
    state.key[slot] = refuse(state, slot, now) if np.isnan(key) else key


@compiled
def queue_up(state, slot, now):
    """Put a job in the queue, at its place."""
    if state.ordered:
        _set_key(state, slot, now)
    insert(state.waiting, state.key[slot], slot, state.cores[slot], state.left[slot])


@compiled
def sort_again(state, now):
    """Compute the keys of all that waits again, and sort it."""
    n = state.waiting.size
    slots = slots_of(state.waiting)
    keys = np.empty(n)
    for k in range(n):
        slot = slots[k]
        state.key[slot] = 0.0
        if state.ordered:
            _set_key(state, slot, now)
        keys[k] = state.key[slot]
    sort_pairs(keys, slots, np.empty(n), np.empty(n, np.int64), n)
    refill(state.waiting, keys, slots, state.cores, state.left, n)


@compiled
def _take_out(state, first):
    """Take those that start, from the first on, out of the queue."""
    for k in range(first, state.count):
        slot = state.placed[k]
        remove(state.waiting, state.key[slot], slot)


@compiled
def refill_machine(state, machine, now):
    """Start every job that fits on a machine, in the queue's order, until it is full or the queue ends."""
    if not state.open[machine]:
        return
    if state.moving:
        sort_again(state, now)
    waiting, free = state.waiting, state.free
    # What starts stays in the list until all is looked at, so that places in it stay right.
    first = state.count
    c = next_block(waiting, 0, free[machine])
    while c < waiting.blocks and free[machine] > 0:
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            if waiting.entries[b, i].cores <= free[machine]:  # `run` takes the cores
                run(state, waiting.entries[b, i].slot, machine, now, 0)
        c = next_block(waiting, c + 1, free[machine])
    _take_out(state, first)


@compiled
def refill_all(state, now):
    """Start every job that fits somewhere, in the queue's order, each on the first machine in fill order that fits."""
    if state.moving:
        sort_again(state, now)
    waiting, tree = state.waiting, state.tree  # the root has the most free cores of a machine
    first = state.count
    c = next_block(waiting, 0, tree[1])
    while c < waiting.blocks and tree[1] > 0:
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            if waiting.entries[b, i].cores <= tree[1]:
                slot = waiting.entries[b, i].slot
                run(state, slot, first_fitting(state, state.cores[slot]), now, 0)
        c = next_block(waiting, c + 1, tree[1])
    _take_out(state, first)


@compiled
def fit_new(state, slot, now):
    """Start a job that has just been submitted if it fits somewhere, else put it at the end of the queue."""
    machine = first_fitting(state, state.cores[slot])
    if machine >= np.int64(0):
        run(state, slot, machine, now, 0)
    else:
        queue_up(state, slot, now)
