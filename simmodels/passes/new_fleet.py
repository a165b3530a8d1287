"""new_fleet: a fleet's state, made of the options of its jobs' placement."""

import math

import numpy as np
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.passes.machines import open_machines
from simmodels.structures.fleet import FIRST_FIT, FLEET, NOWHERE, OCTAVES
from simmodels.structures.ordered import new_ordered


@compiled
def new_fleet(
    columns, demand, size, is_open, filled, kind, by_event, numbers, flags, lengths, weights, packing, queueing
):
    """Return the state of machines on which nothing runs.

    Parameters
    ----------
    columns
        submit, length and estimate (float64[slots]); they may be filled in later.
    demand
        int64[slots], cores.
    size
        The cores of each machine.
    is_open
        bool[machines].
    filled
        int64[machines], the machines in fill order.
    kind, by_event
        FIRST_FIT, TARGET_STRETCH or TARGET_ASAP; whether first fit refills after each completion.
    numbers
        least, raise_above, lower_below, distance, the first `use`, length_cap, now.
    flags
        stay, requeue_immediate, first_that_stays, by_plan, by_rank, beyond_use, left_first, replan_if_full,
        longer_only.
    lengths, weights
        The reference, see `simmodels.policies.risk`.
    packing
        How many machines make a pack (0: none), and how targets are rounded to packs.
    queueing
        First fit: whether the order is another than that of submission, whether it moves with time, its function, and
        what it knows of each slot: drawn numbers, and rows.
    """
    made = structref.new(FLEET)
    slots = demand.size
    machines = is_open.size
    made.submit, made.length, made.estimate = columns
    made.cores = demand
    made.left = made.length.copy()
    made.weight = np.zeros(slots)
    made.machine = np.full(slots, NOWHERE)
    made.start = np.full(slots, np.inf)
    made.place = np.full(slots, NOWHERE)
    made.before = np.full(slots, NOWHERE)
    made.after = np.full(slots, NOWHERE)
    made.arrived = 0
    made.size = size
    made.open = np.zeros(machines, np.bool_)
    made.rank = np.full(machines, NOWHERE)
    made.ranked = np.empty(machines, np.int64)
    made.alive = 0
    made.free = np.full(machines, size)
    made.first = np.full(machines, NOWHERE)
    made.waiting = new_ordered(64)
    made.placed = np.empty(64, np.int64)
    made.count = 0
    made.kind = kind
    made.key = np.zeros(slots)
    made.ordered, made.moving, made.order, made.draw, made.rows = queueing
    made.refused = NOWHERE
    made.refused_at = 0.0
    made.by_event = by_event
    made.filled = filled
    made.fill = np.empty(machines, np.int64)
    for i in range(machines):
        made.fill[filled[i]] = i
    leaves = 1
    while leaves < machines:
        leaves *= 2
    made.tree = np.full(2 * leaves if kind == FIRST_FIT else 0, NOWHERE)
    rows = 0 if kind == FIRST_FIT else machines
    made.room = 64
    made.time = np.empty(rows * made.room)
    made.cores_free = np.empty(rows * made.room, np.int64)
    made.segments = np.zeros(rows, np.int64)
    widths = math.frexp(size)[1]
    made.bound = np.empty((OCTAVES * widths, rows))
    made.exact = np.zeros((widths, rows), np.bool_)
    made.shortest = OCTAVES
    made.longest = -1
    made.likely = np.empty(min(2 * int(numbers[3]) + 1, machines))
    made.plans = np.zeros(machines, np.int64)
    made.heap = np.empty(64, np.int64)
    made.heap_size = 0
    made.least = int(numbers[0])
    made.raise_above = numbers[1]
    made.lower_below = numbers[2]
    made.distance = int(numbers[3])
    made.use = int(numbers[4])
    made.length_cap = numbers[5]
    made.use_since = numbers[6]
    made.use_sum = 0.0
    made.load = 0
    made.stretch = 1.0
    made.stay, made.requeue_immediate, made.first_that_stays, made.by_plan = flags[0], flags[1], flags[2], flags[3]
    made.by_rank, made.beyond_use, made.left_first, made.replan_if_full = flags[4], flags[5], flags[6], flags[7]
    made.longer_only = flags[8]
    made.lengths = lengths
    made.weights = weights
    made.pack, made.packing = packing
    open_machines(made, is_open, numbers[6])
    return made
