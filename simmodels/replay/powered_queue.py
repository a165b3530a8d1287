"""The compiled clock of a queue on machines that are switched on and off: its events, in order, as one loop.

It keeps no rule of its own: who starts is `simmodels.passes.queueing`, and `simmodels.passes.under_notice` while
machines are about to go; which machines go is `simmodels.passes.switching`, what is saved
`simmodels.passes.checkpointing`; the same that the process clock calls. One event costs O(log running jobs) and what
the pass costs; while machines are about to go, a decision costs O(machines + running jobs), too.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes import queueing as passes
from simmodels.passes import switching
from simmodels.passes.under_notice import instant_under_notice
from simmodels.replay.power import next_switch, switch, warned
from simmodels.replay.runs import (
    begin_run,
    end_next,
    kill_next,
    lasts_by,
    leave_running,
    lose_run,
    next_end,
    record_power,
)
from simmodels.structures.agenda import pop, push
from simmodels.structures.columns import longer
from simmodels.structures.structure import Handle, Structure


@structref.register
class YardType(Structure):
    """The numba type of `Yard`."""


class Yard(Handle):
    """A Python handle on the cores of machines, and which of them each attempt has; made by `new_yard`."""


structref.define_boxing(YardType, Yard)

_F1 = types.float64[::1]
_I1 = types.int64[::1]
YARD: Final = YardType(
    [
        ("size", types.int64),  # cores of a machine
        # by machine
        ("free", _I1),
        ("offered", _I1),  # cores that jobs have or may have, as the queue knows it
        ("listed", types.boolean[::1]),  # whether it is in the heap
        # machines that may have room, as a heap by number
        ("room", _F1),
        ("room_of", _I1),
        ("rooms", types.int64),
        # by attempt, in order of start: its first part; those of the next attempt follow
        ("first", _I1),
        ("machine", _I1),  # by part
        ("cores", _I1),
        ("parts", types.int64),
        ("attempts", types.int64),
    ]
)


@compiled
def new_yard(state, size):
    """Return the cores of machines on which nothing runs.

    Parameters
    ----------
    state
        int64[machines], OPEN or OFF.
    size
        The cores of each.
    """
    made = structref.new(YARD)
    machines = state.size
    made.size = size
    made.free = np.full(machines, size)
    made.offered = np.where(state == switching.OPEN, size, 0)
    made.listed = np.zeros(machines, np.bool_)
    made.room = np.empty(machines)
    made.room_of = np.empty(machines, np.int64)
    made.rooms = 0
    made.first = np.zeros(64, np.int64)
    made.machine = np.empty(64, np.int64)
    made.cores = np.empty(64, np.int64)
    made.parts = 0
    made.attempts = 0
    for machine in range(machines):
        _list(made, machine)
    return made


@compiled
def _list(yard, machine):
    """Take note that a machine may have room."""
    if not yard.listed[machine]:
        yard.listed[machine] = True
        push(yard.room, yard.room_of, yard.rooms, float(machine), machine)
        yard.rooms += 1


@compiled
def _occupy(yard, machine, cores):
    """Give the attempt that is about to begin some cores of a machine."""
    if yard.parts == yard.machine.size:
        yard.machine = longer(yard.machine, 2 * yard.parts)
        yard.cores = longer(yard.cores, 2 * yard.parts)
    yard.machine[yard.parts] = machine
    yard.cores[yard.parts] = cores
    yard.parts += 1
    yard.free[machine] -= cores


@compiled
def _begin(yard, runs, slot, now, lasts):
    """Let a job run on the cores that it was given last."""
    begin_run(runs, slot, yard.machine[yard.first[yard.attempts]], now, lasts)
    yard.attempts += 1
    if yard.attempts == yard.first.size:
        yard.first = longer(yard.first, 2 * yard.attempts)
    yard.first[yard.attempts] = yard.parts


@compiled
def _occupy_lowest(yard, state, need):
    """Give the attempt that is about to begin the free cores of the lowest machines that take jobs."""
    while need > 0:
        machine = yard.room_of[0]
        taken = min(yard.free[machine], need) if state[machine] == switching.OPEN else np.int64(0)
        if taken > 0:
            _occupy(yard, machine, taken)
            need -= taken
        if need > 0 or taken == 0:  # it is full now, or was
            pop(yard.room, yard.room_of, yard.rooms)
            yard.rooms -= 1
            yard.listed[machine] = False


@compiled
def _vacate(yard, state, attempt):
    """Free the cores of an attempt; return whether a machine that takes no jobs is among those it had."""
    leaving = False
    for part in range(yard.first[attempt], yard.first[attempt + 1]):
        machine = yard.machine[part]
        yard.free[machine] += yard.cores[part]
        if state[machine] == switching.OPEN:
            _list(yard, machine)
        else:
            leaving = True
    return leaving


@compiled
def _lose_all(yard, runs, power, now):
    """End the attempts on machines that went, in the order in which they went; return their slots."""
    lost = np.empty((runs.size, 2), np.int64)  # first machine that went, and attempt
    why = np.empty(runs.size)
    losses = 0
    for k in range(runs.size):
        attempt = runs.heap[k]
        first, last = power.state.size, np.int64(-1)
        for part in range(yard.first[attempt], yard.first[attempt + 1]):
            machine = yard.machine[part]
            if power.state[machine] == switching.OFF:
                first, last = min(first, machine), max(last, machine)
        if last >= 0:
            lost[losses, 0] = first
            lost[losses, 1] = attempt
            why[losses] = warned(power, last)  # as each machine that goes says it again
            losses += 1
    order = np.argsort(lost[:losses, 0] * (runs.count + 1) + lost[:losses, 1])
    for k in order:
        lose_run(runs, runs.slot[lost[k, 1]], why[k], now)
        _vacate(yard, power.state, lost[k, 1])
    return runs.slot[lost[order, 1]]


@compiled
def _switch_off(yard, power):
    """Switch machines off that drain and on which no job runs any more; return whether there are any."""
    found = False
    power.draining = False
    for machine in range(power.state.size):
        if power.state[machine] == switching.DRAINING:
            if yard.free[machine] == yard.size:
                power.state[machine] = switching.OFF
                found = True
            else:
                power.draining = True
    return found


@compiled
def _offer(yard, state):
    """Count the cores that jobs have or may have again; return how many more there are, and whether any will go."""
    more = 0
    leaving = False
    for machine in range(state.size):
        offered = np.int64(0)
        if state[machine] == switching.OPEN:
            offered = yard.size
            _list(yard, machine)
        elif state[machine] != switching.OFF:
            offered = yard.size - yard.free[machine]
            leaving = True
        more += offered - yard.offered[machine]
        yard.offered[machine] = offered
    return more, leaving


@compiled
def _classes(power):
    """Return when the machines go that do not drain, increasing; and the class of each machine, -1 without one."""
    here = (power.state == switching.OPEN) | (power.state == switching.NOTICED)
    goes = np.unique(np.append(power.goes[here], np.inf))
    of = np.full(power.state.size, -1)
    for machine in np.flatnonzero(here):
        of[machine] = np.searchsorted(goes, power.goes[machine])
    return goes, of


@compiled
def _start_under_notice(queue, yard, runs, power, now, ended, ends, arrivals, kill):
    """Let slots end and arrive, decide while machines are about to go, and let start what does."""
    goes, of = _classes(power)
    free = np.zeros(goes.size, np.int64)
    for machine in range(of.size):
        if of[machine] >= 0:
            free[of[machine]] += yard.free[machine]
    rows = 0
    for k in range(runs.size):
        attempt = runs.heap[k]
        rows += yard.first[attempt + 1] - yard.first[attempt]
    running = np.empty((rows, 3), np.int64)
    rows = 0
    for k in range(runs.size):
        attempt = runs.heap[k]
        for part in range(yard.first[attempt], yard.first[attempt + 1]):
            if of[yard.machine[part]] >= 0:
                running[rows, 0] = runs.slot[attempt]
                running[rows, 1] = of[yard.machine[part]]
                running[rows, 2] = yard.cores[part]
                rows += 1
    started, had, _ = instant_under_notice(queue, now, ended, ends, arrivals, goes, free, running[:rows])
    row = 0
    for slot in started:
        while row < had.shape[0] and had[row, 0] == slot:
            left = had[row, 2]
            for machine in range(of.size):
                if left > 0 and of[machine] == had[row, 1] and yard.free[machine] > 0:
                    taken = min(yard.free[machine], left)
                    _occupy(yard, machine, taken)
                    if power.state[machine] != switching.OPEN:
                        yard.offered[machine] += taken  # the queue knows
                    left -= taken
            row += 1
        _begin(yard, runs, slot, now, _lasts(queue, slot, kill))


@compiled
def _lasts(queue, slot, kill):
    """Return how long an attempt of a job lasts."""
    return min(queue.runtime[slot], queue.estimate[slot]) if kill else queue.runtime[slot]


@compiled
def _start(queue, yard, runs, power, now, kill):
    """Decide what starts, and let it, on the lowest machines."""
    starts = passes.decide(queue, now)  # which may grow `placed`
    for slot in queue.placed[:starts]:
        _occupy_lowest(yard, power.state, queue.cores[slot])
        _begin(yard, runs, slot, now, _lasts(queue, slot, kill))


@compiled
def replay_queue(queue, yard, runs, power, warm, kill, until):
    """Run a queue through a window: everything that happens up to its end, the end included.

    Parameters
    ----------
    queue
        The state, its columns filled in for all slots; see `simmodels.structures.queue`.
    yard
        The cores of the machines.
    runs
        The record, empty.
    power
        The machines, as they are when the window begins.
    warm
        How many jobs run at the window's begin: the first slots. All fit.
    kill
        A job is stopped at its estimate, instead of running on.
    until
        The window's end.

    Returns
    -------
    bool
        False if an order gave no number for the job of slot ``queue.refused``.
    """
    jobs = queue.submit.size
    ended = np.empty(64, np.int64)
    lost = np.empty(0, np.int64)
    leaving = False
    record_power(runs, power.state, power.begin)
    if warm > 0:
        for _ in range(warm):
            passes.arrive(queue, power.begin)
        _start(queue, yard, runs, power, power.begin, kill)
    while queue.refused < 0:
        heed_signals()
        now = next_end(runs)
        if queue.arrived < jobs:
            now = min(now, queue.submit[queue.arrived])
        elif runs.size == 0 and queue.waiting.size == 0 and until == np.inf:
            break  # nothing is left to do, whatever comes and goes
        now = min(now, next_switch(power))
        if now > until or now == np.inf:
            break
        ends = 0
        freed = False
        while next_end(runs) <= now:
            if ends == ended.size:
                ended = longer(ended, 2 * ends)
            slot = runs.slot[runs.heap[0]]
            if kill and queue.estimate[slot] < queue.runtime[slot]:
                attempt = kill_next(runs, queue.estimate[slot])
            else:
                attempt = end_next(runs)
            freed |= _vacate(yard, power.state, attempt)
            ended[ends] = slot
            ends += 1
        switched = switch(power, now)
        if switched or power.draining:
            lost = _lose_all(yard, runs, power, now)
            freed |= _switch_off(yard, power)
        if switched or freed:
            record_power(runs, power.state, now)
            more, leaving = _offer(yard, power.state)
            if more != 0:
                passes.change_capacity(queue, more)
        for slot in lost:
            queue.runtime[slot], queue.estimate[slot] = lasts_by(runs, slot)
            passes.requeue(queue, slot, now)
        arrivals = 0
        while queue.arrived + arrivals < jobs and queue.submit[queue.arrived + arrivals] <= now:
            arrivals += 1
        if not (switched or freed or ends > 0 or arrivals > 0):
            continue  # notice was given that changes nothing
        if leaving:
            _start_under_notice(queue, yard, runs, power, now, ended, ends, arrivals, kill)
        else:
            for k in range(ends):
                passes.finish(queue, ended[k], now)
            for _ in range(arrivals):
                passes.arrive(queue, now)
            _start(queue, yard, runs, power, now, kill)
        lost = lost[:0]
    leave_running(runs, until)
    return queue.refused < 0


@compiled
def parts_of(yard):
    """Return int64[k, 3]: attempt, machine and cores of each part of an attempt, in order of start."""
    out = np.empty((yard.parts, 3), np.int64)
    for attempt in range(yard.attempts):
        for part in range(yard.first[attempt], yard.first[attempt + 1]):
            out[part, 0] = attempt
            out[part, 1] = yard.machine[part]
            out[part, 2] = yard.cores[part]
    return out
