"""Machines: which are open, what runs on each, and what their profiles say; the steps of which all placing is made."""

import math
from typing import NamedTuple

import numpy as np
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Floats
from simmodels.structures.arrays import grown
from simmodels.structures.placement_state import (
    FIRST_FIT,
    LENGTHS,
    NOWHERE,
    PLACEMENT_STATE,
    lengthen_machines,
    lengthen_slots,
)
from simmodels.structures.profile import take
from simmodels.structures.sorted_blocks import new_sorted_blocks


@compiled
def _set_leaf(state, machine):
    """Set in the tree how many cores of a machine jobs may have."""
    i = state.tree.size // 2 + state.fill[machine]
    # Below any number of cores, so that nothing fits on a machine that is not open.
    value = state.free[machine] if state.open[machine] else NOWHERE
    state.tree[i] = value
    while i > 1:
        i //= 2
        most = max(state.tree[2 * i], state.tree[2 * i + 1])
        if state.tree[i] == most:  # no node above changes
            return
        state.tree[i] = most


@compiled
def _best_fitting(state, cores):
    """Return the open machine with the fewest free cores of those that have `cores`, the first one in fill order."""
    best = NOWHERE
    for machine in state.filled:
        # Of equal ones the first in fill order stays the best.
        fits = state.open[machine] and state.free[machine] >= cores
        if fits and (best == NOWHERE or state.free[machine] < state.free[best]):
            best = machine
    return best


@compiled
def first_fitting(state, cores):
    """Return the machine that a job of first fit gets, which needs `cores` free cores; NOWHERE if there is none.

    The first one in fill order, in O(log machines); or the one that it fits best, in O(machines).
    """
    tree = state.tree
    if tree[1] < cores:
        return NOWHERE
    if state.rules.best_fit:
        return _best_fitting(state, cores)
    i = 1
    while i < tree.size // 2:
        i *= 2
        # The left half comes first in fill order, and at least one of the two halves has the cores.
        if tree[i] < cores:
            i += 1
    return state.filled[i - tree.size // 2]


@compiled
def open_machines(state, is_open, now):
    """Let these machines be open, and no others; the profiles of those that were open stay as they are."""
    state.alive = 0
    for machine in range(is_open.size):
        # First fit has no profiles; those of machines that close are made again when they open.
        if is_open[machine] and not state.open[machine] and state.rules.kind != FIRST_FIT:
            _profile_again(state, machine, now)
        state.open[machine] = is_open[machine]
        state.rank[machine] = NOWHERE
        if is_open[machine]:
            state.rank[machine] = state.alive
            # Ranks are dense, so that distances between them count open machines only.
            state.ranked[state.alive] = machine
            state.alive += 1
    if state.rules.kind == FIRST_FIT:
        leaves = state.tree.size // 2
        for i in range(is_open.size):
            machine = state.filled[i]
            state.tree[leaves + i] = state.free[machine] if is_open[machine] else NOWHERE
        # All leaves may have changed: bottom up, once.
        for i in range(leaves - 1, 0, -1):
            state.tree[i] = max(state.tree[2 * i], state.tree[2 * i + 1])
    else:
        # A bound of a rank says nothing of the machine that has that rank now.
        know_nothing(state, now)
        count_load(state)


@compiled
def rebuild(state, now):
    """Make the profile of each open machine again, from what runs there; nothing is planned."""
    for machine in range(state.open.size):
        state.plans[machine] = 0
        if state.open[machine]:
            _profile_again(state, machine, now)
    know_nothing(state, now)
    count_load(state)


@compiled
def know_nothing(state, now):
    """Forget all bounds but that nothing starts before now; those of classes without a job so far are not looked at."""
    for wide in range(state.least_cores.size):
        for step in range(LENGTHS):
            if state.least_cores[wide] <= state.size and state.least_left[step] < np.inf:
                state.bound[wide * LENGTHS + step, : state.alive] = now


@compiled
def _profile_again(state, machine, now):
    """Make a machine's profile of what runs there."""
    state.time[machine * state.room] = now
    # All cores, less those of what runs, until it ends.
    state.cores_free[machine * state.room] = state.size
    state.segments[machine] = 1
    slot = state.first[machine]
    while slot != NOWHERE:
        reserve(state, slot, machine, now, state.start[slot] + state.left[slot])
        slot = state.after[slot]


@compiled
def reserve(state, slot, machine, start, end):
    """Take the cores of a job out of a machine's profile in [start, end)."""
    n = state.segments[machine]
    if n + 2 > state.room:  # an interval makes two more segments at most
        make_room(state)
    at = machine * state.room
    state.segments[machine] = take(state.time, state.cores_free, at, n, start, end, state.cores[slot])


@compiled
def make_room(state):
    """Double the room of each profile."""
    state.time = _spread(state.time, state.room)
    state.cores_free = _spread(state.cores_free, state.room)
    state.room *= 2


@compiled
def _spread(column, room):
    """Return the column with twice the room for each part of it."""
    out = np.empty(2 * column.size, column.dtype)
    for i in range(column.size):
        out[(i // room) * 2 * room + i % room] = column[i]
    return out


@compiled
def load_of(state, machine):
    """Return u of a machine, in cores: all of them if a job is planned there, else those in use."""
    if state.plans[machine] > 0:
        return state.size
    rank = state.rank[machine]
    if rank != NOWHERE and state.doubt[rank] < np.inf and state.free[machine] > 0:
        state.unsure = rank
    return state.size - state.free[machine]


@compiled
def count_load(state):
    """Sum up u over the machines used."""
    # Integers, so that the sum does not depend on the order in which it was made.
    state.load = 0
    for rank in range(min(state.use, state.alive)):
        state.load += load_of(state, state.ranked[rank])


@compiled
def alter(state, machine, cores, plans):
    """Free `cores` more cores of a machine now, and plan `plans` more jobs there."""
    old = load_of(state, machine)
    state.free[machine] += cores
    state.plans[machine] += plans
    rank = state.rank[machine]
    if 0 <= rank < state.use:  # the load is that of the machines used
        state.load += load_of(state, machine) - old
    if state.rules.kind == FIRST_FIT and cores != 0:
        _set_leaf(state, machine)


@compiled
def run(state, slot, machine, now, plans):
    """Let a job run on a machine from now on; it is one of those that start."""
    state.machine[slot] = machine
    state.start[slot] = now
    # What runs on a machine is a linked list through the slots, which none has to be searched for to leave.
    second = state.first[machine]
    state.before[slot] = NOWHERE
    state.after[slot] = second
    if second != NOWHERE:
        state.before[second] = slot
    state.first[machine] = slot
    alter(state, machine, -state.cores[slot], plans)
    if state.count == state.placed.size:
        state.placed = grown(state.placed, 2 * state.count)
    state.placed[state.count] = slot
    state.count += 1


@compiled
def stop(state, slot):
    """Let a job run no longer, and free its cores; return its machine."""
    machine = state.machine[slot]
    before = state.before[slot]
    after = state.after[slot]
    if before == NOWHERE:
        state.first[machine] = after
    else:
        state.after[before] = after
    if after != NOWHERE:
        state.before[after] = before
    state.machine[slot] = NOWHERE
    alter(state, machine, state.cores[slot], 0)
    return machine


class Queueing(NamedTuple):
    """The queue of first fit, as compiled code takes it."""

    ordered: bool  # whether its order is another than that of submission
    moving: bool  # whether that order moves with time
    order: object  # the C function, of the type `KEY_FUNCTION`
    # what the order knows of each slot
    draw: Floats  # drawn numbers
    rows: Floats


@compiled
def new_placement_state(columns, demand, size, is_open, filled, placing, lengths, weights, queueing, now):
    """Return the state of machines on which nothing runs.

    Its `columns` are submit, length and estimate, which may be filled in later, and `demand` is cores. `placing` are
    the rules, and `queueing` is the queue of first fit.
    """
    kind = placing.kind
    made = structref.new(PLACEMENT_STATE)
    machines = is_open.size
    made.submit, made.length, made.estimate = columns
    made.cores = demand
    made.left = made.length.copy()  # lost jobs have less left than their length
    lengthen_slots(made, demand.size)
    lengthen_machines(made, machines)
    made.size = size
    made.free = np.full(machines, size)
    made.waiting = new_sorted_blocks(64)
    made.placed = np.empty(64, np.int64)
    made.rules = placing
    made.ordered, made.moving, made.order = queueing.ordered, queueing.moving, queueing.order
    made.draw, made.rows = queueing.draw, queueing.rows
    made.refused = NOWHERE
    made.filled = filled
    for i in range(machines):
        made.fill[filled[i]] = i
    # A full binary tree: the leaves of machines that there are not stay at NOWHERE.
    leaves = 1
    while leaves < machines:
        leaves *= 2
    made.tree = np.full(2 * leaves if kind == FIRST_FIT else 0, NOWHERE)
    # Only targets are planned.
    rows = 0 if kind == FIRST_FIT else machines
    made.room = 64
    made.time = np.empty(rows * made.room)
    made.cores_free = np.empty(rows * made.room, np.int64)
    made.segments = np.zeros(rows, np.int64)
    widths = math.frexp(size)[1]  # classes of widths double: 1, 2, 4, ... up to the size
    made.bound = np.empty((LENGTHS * widths, rows))
    made.least_left = np.full(LENGTHS, np.inf)
    made.least_cores = np.full(widths, size + 1)
    made.likely = np.empty(min(2 * placing.distance + 1, machines))
    made.horizon, made.unsure = np.inf, NOWHERE
    made.heap = np.empty(64, np.int64)
    made.use = placing.use
    made.use_since = now
    made.stretch = 1.0
    made.lengths = lengths
    made.weights = weights
    open_machines(made, is_open, now)
    return made
