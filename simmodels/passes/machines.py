"""Machines: which are open, what runs on each, and what their profiles say; the steps of which all placing is made."""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.structures.columns import longer
from simmodels.structures.fleet import FIRST_FIT, NOWHERE
from simmodels.structures.profile import free_up


@compiled
def _set_leaf(fleet, machine):
    """Tell the tree how many cores of a machine jobs may have."""
    i = fleet.tree.size // 2 + fleet.fill[machine]
    value = fleet.free[machine] if fleet.open[machine] else NOWHERE
    fleet.tree[i] = value
    while i > 1:
        i //= 2
        most = max(fleet.tree[2 * i], fleet.tree[2 * i + 1])
        if fleet.tree[i] == most:
            return
        fleet.tree[i] = most


@compiled
def _best_fitting(fleet, cores):
    """Return the open machine with the fewest free cores of those that have `cores`, the first one in fill order."""
    best = NOWHERE
    for machine in fleet.filled:
        fits = fleet.open[machine] and fleet.free[machine] >= cores
        if fits and (best == NOWHERE or fleet.free[machine] < fleet.free[best]):
            best = machine
    return best


@compiled
def first_fitting(fleet, cores):
    """Return the machine that a job of first fit gets, which needs `cores` free cores; NOWHERE if there is none.

    The first one in fill order, in O(log machines); or the one that it fits best, in O(machines).
    """
    tree = fleet.tree
    if tree[1] < cores:
        return NOWHERE
    if fleet.placing.best_fit:
        return _best_fitting(fleet, cores)
    i = 1
    while i < tree.size // 2:
        i *= 2
        if tree[i] < cores:
            i += 1
    return fleet.filled[i - tree.size // 2]


@compiled
def open_machines(fleet, is_open, now):
    """Let these machines be open, and no others; the profiles of those that were open stay as they are."""
    fleet.alive = 0
    for machine in range(is_open.size):
        if is_open[machine] and not fleet.open[machine] and fleet.placing.kind != FIRST_FIT:
            _profile_anew(fleet, machine, now)
        fleet.open[machine] = is_open[machine]
        fleet.rank[machine] = NOWHERE
        if is_open[machine]:
            fleet.rank[machine] = fleet.alive
            fleet.ranked[fleet.alive] = machine
            fleet.alive += 1
    if fleet.placing.kind == FIRST_FIT:
        leaves = fleet.tree.size // 2
        for i in range(is_open.size):
            machine = fleet.filled[i]
            fleet.tree[leaves + i] = fleet.free[machine] if is_open[machine] else NOWHERE
        for i in range(leaves - 1, 0, -1):
            fleet.tree[i] = max(fleet.tree[2 * i], fleet.tree[2 * i + 1])
    else:
        _know_nothing(fleet.bound, fleet.exact, now)
        count_load(fleet)


@compiled
def rebuild(fleet, now):
    """Make the profile of each open machine again, from what runs there; nothing is planned."""
    for machine in range(fleet.open.size):
        fleet.plans[machine] = 0
        if fleet.open[machine]:
            _profile_anew(fleet, machine, now)
    _know_nothing(fleet.bound, fleet.exact, now)
    count_load(fleet)


@compiled
def _know_nothing(bound, exact, now):
    """Forget all bounds but that nothing starts before now."""
    for kind in range(bound.shape[0]):
        for rank in range(bound.shape[1]):
            bound[kind, rank] = now
    for wide in range(exact.shape[0]):
        for rank in range(exact.shape[1]):
            exact[wide, rank] = False


@compiled
def _profile_anew(fleet, machine, now):
    """Make a machine's profile of what runs there."""
    fleet.time[machine * fleet.room] = now
    fleet.cores_free[machine * fleet.room] = fleet.size
    fleet.segments[machine] = 1
    slot = fleet.first[machine]
    while slot != NOWHERE:
        reserve(fleet, slot, machine, now, fleet.start[slot] + fleet.left[slot])
        slot = fleet.after[slot]


@compiled
def reserve(fleet, slot, machine, start, end):
    """Take the cores of a job out of a machine's profile in [start, end)."""
    n = fleet.segments[machine]
    if n + 2 > fleet.room:
        make_room(fleet)
    at = machine * fleet.room
    fleet.segments[machine] = free_up(fleet.time, fleet.cores_free, at, n, start, end, -fleet.cores[slot])


@compiled
def make_room(fleet):
    """Double the room of each profile."""
    fleet.time = _spread(fleet.time, fleet.room)
    fleet.cores_free = _spread(fleet.cores_free, fleet.room)
    fleet.room *= 2


@compiled
def _spread(column, room):
    """Return the column with twice the room for each part of it."""
    out = np.empty(2 * column.size, column.dtype)
    for i in range(column.size):
        out[(i // room) * 2 * room + i % room] = column[i]
    return out


@compiled
def load_of(fleet, machine):
    """Return u of a machine, in cores: all of them if a job is planned there, else those in use."""
    return fleet.size if fleet.plans[machine] > 0 else fleet.size - fleet.free[machine]


@compiled
def count_load(fleet):
    """Sum up u over the machines used."""
    fleet.load = 0
    for rank in range(min(fleet.use, fleet.alive)):
        fleet.load += load_of(fleet, fleet.ranked[rank])


@compiled
def alter(fleet, machine, cores, plans):
    """Free `cores` more cores of a machine now, and plan `plans` more jobs there."""
    old = load_of(fleet, machine)
    fleet.free[machine] += cores
    fleet.plans[machine] += plans
    rank = fleet.rank[machine]
    if 0 <= rank < fleet.use:
        fleet.load += load_of(fleet, machine) - old
    if fleet.placing.kind == FIRST_FIT and cores != 0:
        _set_leaf(fleet, machine)


@compiled
def run(fleet, slot, machine, now, plans):
    """Let a job run on a machine from now on; it is one of those that start."""
    fleet.machine[slot] = machine
    fleet.start[slot] = now
    second = fleet.first[machine]
    fleet.before[slot] = NOWHERE
    fleet.after[slot] = second
    if second != NOWHERE:
        fleet.before[second] = slot
    fleet.first[machine] = slot
    alter(fleet, machine, -fleet.cores[slot], plans)
    if fleet.count == fleet.placed.size:
        fleet.placed = longer(fleet.placed, 2 * fleet.count)
    fleet.placed[fleet.count] = slot
    fleet.count += 1


@compiled
def stop(fleet, slot):
    """Let a job run no longer, and free its cores; return its machine."""
    machine = fleet.machine[slot]
    before = fleet.before[slot]
    after = fleet.after[slot]
    if before == NOWHERE:
        fleet.first[machine] = after
    else:
        fleet.after[before] = after
    if after != NOWHERE:
        fleet.before[after] = before
    fleet.machine[slot] = NOWHERE
    alter(fleet, machine, fleet.cores[slot], 0)
    return machine
