"""Occupancy: the cores of machines of one cluster or several, and which of them each attempt has."""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.passes import switching
from simmodels.replay.power import warned
from simmodels.replay.runs import begin_run, lose_run
from simmodels.structures.agenda import pop, push
from simmodels.structures.arrays import grown
from simmodels.structures.structure import Handle, Structure


@structref.register
class OccupancyType(Structure):
    """The numba type of `Occupancy`."""


class Occupancy(Handle):
    """A Python handle on the cores of machines, and which of them each attempt has; made by `new_occupancy`."""


structref.define_boxing(OccupancyType, Occupancy)

_F1 = types.float64[::1]
_I1 = types.int64[::1]
OCCUPANCY: Final = OccupancyType(
    [
        # by cluster: its first machine; then how many there are
        ("first_of", _I1),
        # by machine, those of one cluster after the other
        ("of", _I1),  # its cluster
        ("size", _I1),  # its cores
        ("free", _I1),
        ("offered", _I1),  # cores that jobs have or may have, as whoever decides knows it
        ("listed", types.boolean[::1]),  # whether it is in the heap
        ("state", _I1),  # see `simmodels.passes.switching`
        # machines that may have room, of each cluster a heap by number
        ("room", _F1),
        ("room_of", _I1),
        ("rooms", _I1),
        # by attempt, in order of start: its first part; those of the next attempt follow
        ("first", _I1),
        ("machine", _I1),  # by part
        ("cores", _I1),
        ("parts", types.int64),
        ("attempts", types.int64),
    ]
)


@compiled
def new_occupancy(state, size, first_of):
    """Return the cores of machines on which nothing runs.

    Parameters
    ----------
    state
        int64[machines], OPEN or OFF.
    size
        int64[machines], the cores of each.
    first_of
        int64[clusters + 1], the first machine of each cluster, and how many there are.
    """
    made = structref.new(OCCUPANCY)
    machines = state.size
    made.first_of = first_of
    made.of = np.empty(machines, np.int64)
    made.size = size
    made.free = size.copy()
    made.offered = np.where(state == switching.OPEN, size, 0)
    made.listed = np.zeros(machines, np.bool_)
    made.state = state
    made.room = np.empty(machines)
    made.room_of = np.empty(machines, np.int64)
    made.rooms = np.zeros(first_of.size - 1, np.int64)
    made.first = np.zeros(64, np.int64)
    made.machine = np.empty(64, np.int64)
    made.cores = np.empty(64, np.int64)
    made.parts = 0
    made.attempts = 0
    for cluster in range(first_of.size - 1):
        for machine in range(first_of[cluster], first_of[cluster + 1]):
            made.of[machine] = cluster
            _list(made, machine)
    return made


@compiled
def _list(occupancy, machine):
    """Take note that a machine may have room."""
    if not occupancy.listed[machine]:
        occupancy.listed[machine] = True
        cluster = occupancy.of[machine]
        at = occupancy.first_of[cluster]
        push(occupancy.room[at:], occupancy.room_of[at:], occupancy.rooms[cluster], float(machine), machine)
        occupancy.rooms[cluster] += 1


@compiled
def occupy(occupancy, machine, cores):
    """Give the attempt that is about to begin some cores of a machine."""
    if occupancy.parts == occupancy.machine.size:
        occupancy.machine = grown(occupancy.machine, 2 * occupancy.parts)
        occupancy.cores = grown(occupancy.cores, 2 * occupancy.parts)
    occupancy.machine[occupancy.parts] = machine
    occupancy.cores[occupancy.parts] = cores
    occupancy.parts += 1
    occupancy.free[machine] -= cores


@compiled
def occupy_lowest(occupancy, cluster, need):
    """Give the attempt that is about to begin the free cores of the lowest machines of a cluster that take jobs."""
    at = occupancy.first_of[cluster]
    while need > 0:
        machine = occupancy.room_of[at]
        taken = min(occupancy.free[machine], need) if occupancy.state[machine] == switching.OPEN else np.int64(0)
        if taken > 0:
            occupy(occupancy, machine, taken)
            need -= taken
        if need > 0 or taken == 0:  # it is full now, or was
            pop(occupancy.room[at:], occupancy.room_of[at:], occupancy.rooms[cluster])
            occupancy.rooms[cluster] -= 1
            occupancy.listed[machine] = False


@compiled
def begin(occupancy, runs, slot, now, lasts):
    """Let a job run on the cores that it was given last."""
    begin_run(runs, slot, occupancy.machine[occupancy.first[occupancy.attempts]], now, lasts)
    occupancy.attempts += 1
    if occupancy.attempts == occupancy.first.size:
        occupancy.first = grown(occupancy.first, 2 * occupancy.attempts)
    occupancy.first[occupancy.attempts] = occupancy.parts


@compiled
def vacate(occupancy, attempt):
    """Free the cores of an attempt; return whether a machine that takes no jobs is among those it had."""
    leaving = False
    for part in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
        machine = occupancy.machine[part]
        occupancy.free[machine] += occupancy.cores[part]
        if occupancy.state[machine] == switching.OPEN:
            _list(occupancy, machine)
        else:
            leaving = True
    return leaving


@compiled
def lose_all(occupancy, runs, power, cluster, now):
    """End the attempts on machines of a cluster that went, in the order in which they went; return their slots."""
    lost = np.empty((runs.size, 2), np.int64)  # first machine that went, and attempt
    why = np.empty(runs.size)
    losses = 0
    for k in range(runs.size):
        attempt = runs.heap[k]
        if occupancy.of[runs.machine[attempt]] != cluster:
            continue
        first, last = occupancy.state.size, np.int64(-1)
        for part in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
            machine = occupancy.machine[part]
            if occupancy.state[machine] == switching.OFF:
                first, last = min(first, machine), max(last, machine)
        if last >= 0:
            lost[losses, 0] = first
            lost[losses, 1] = attempt
            why[losses] = warned(power, last - occupancy.first_of[cluster])  # as each machine that goes says it again
            losses += 1
    order = np.argsort(lost[:losses, 0] * (runs.count + 1) + lost[:losses, 1])
    for k in order:
        lose_run(runs, runs.slot[lost[k, 1]], why[k], now)
        vacate(occupancy, lost[k, 1])
    return runs.slot[lost[order, 1]]


@compiled
def switch_off(occupancy, power, cluster):
    """Switch machines off that drain and on which no job runs any more; return whether there are any."""
    found = False
    power.draining = False
    for machine in range(occupancy.first_of[cluster], occupancy.first_of[cluster + 1]):
        if occupancy.state[machine] == switching.DRAINING:
            if occupancy.free[machine] == occupancy.size[machine]:
                occupancy.state[machine] = switching.OFF
                found = True
            else:
                power.draining = True
    return found


@compiled
def offer(occupancy, cluster):
    """Count the cores of a cluster that jobs have or may have again.

    Returns
    -------
    int, bool
        How many more there are; whether a machine will go.
    """
    more = 0
    leaving = False
    for machine in range(occupancy.first_of[cluster], occupancy.first_of[cluster + 1]):
        offered = np.int64(0)
        if occupancy.state[machine] == switching.OPEN:
            offered = occupancy.size[machine]
            _list(occupancy, machine)
        elif occupancy.state[machine] != switching.OFF:
            offered = occupancy.size[machine] - occupancy.free[machine]
            leaving = True
        more += offered - occupancy.offered[machine]
        occupancy.offered[machine] = offered
    return more, leaving


@compiled
def parts_of(occupancy):
    """Return int64[k, 3]: attempt, machine and cores of each part of an attempt, in order of start."""
    out = np.empty((occupancy.parts, 3), np.int64)
    for attempt in range(occupancy.attempts):
        for part in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
            out[part, 0] = attempt
            out[part, 1] = occupancy.machine[part]
            out[part, 2] = occupancy.cores[part]
    return out
