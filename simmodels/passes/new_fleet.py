"""new_fleet: a fleet's state, made of the options of its jobs' placement."""

import math
from typing import NamedTuple

import numpy as np
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Floats
from simmodels.passes.machines import open_machines
from simmodels.structures.fleet import FIRST_FIT, FLEET, NOWHERE, OCTAVES
from simmodels.structures.ordered import new_ordered


class Queueing(NamedTuple):
    """The queue of first fit, as compiled code takes it.

    Parameters
    ----------
    ordered, moving
        Whether its order is another than that of submission, and whether that moves with time.
    order
        The C function, of the type `KEY_FUNCTION`.
    draw, rows
        What the order knows of each slot: drawn numbers, and rows.
    """

    ordered: bool
    moving: bool
    order: object
    draw: Floats
    rows: Floats


@compiled
def new_fleet(columns, demand, size, is_open, filled, placing, lengths, weights, queueing, now):
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
    placing, queueing
        How jobs are placed, and the queue of first fit.
    lengths, weights
        The reference, see `simmodels.policies.risk`.
    now
        The instant.
    """
    kind = placing.kind
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
    made.placing = placing
    made.key = np.zeros(slots)
    made.ordered, made.moving, made.order = queueing.ordered, queueing.moving, queueing.order
    made.draw, made.rows = queueing.draw, queueing.rows
    made.refused = NOWHERE
    made.refused_at = 0.0
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
    made.likely = np.empty(min(2 * placing.distance + 1, machines))
    made.plans = np.zeros(machines, np.int64)
    made.heap = np.empty(64, np.int64)
    made.heap_size = 0
    made.use = placing.use
    made.use_since = now
    made.use_sum = 0.0
    made.load = 0
    made.stretch = 1.0
    made.lengths = lengths
    made.weights = weights
    open_machines(made, is_open, now)
    return made
