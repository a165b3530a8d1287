"""First fit: a queue in order of submission, and machines that are filled in an order of their own.

The baseline of Perotin et al. (2023, doi 10.1145/3624062.3624194), section 4.1: FirstFitAware fills the safest
machine first; FirstFitUnaware does the same in a random order of the machines.
"""

import numpy as np

from simmodels.compiled import compiled
from simmodels.decisions.machines import first_fitting, run
from simmodels.decisions.ordered import insert, remove


@compiled
def queue_up(fleet, slot):
    """Put a job in the queue, at the place of its submission."""
    insert(fleet.waiting, 0.0, slot, fleet.cores[slot], fleet.left[slot])


@compiled
def _take_out(fleet, first):
    """Take those that start, from the first on, out of the queue."""
    for k in range(first, fleet.count):
        remove(fleet.waiting, 0.0, fleet.placed[k])


@compiled
def refill_machine(fleet, machine, now):
    """Start every job that fits on a machine, in the queue's order, until it is full or the queue ends."""
    if not fleet.open[machine]:
        return
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
    """Start a job that has just been submitted if it fits somewhere, else put it in the queue."""
    machine = first_fitting(fleet, fleet.cores[slot])
    if machine >= np.int64(0):
        run(fleet, slot, machine, now, 0)
    else:
        queue_up(fleet, slot)
