"""The compiled clock of machines that come and go: an event loop for campaigns.

It keeps no rule of its own: what an event does is `simmodels.decisions.placing`, which machines go
`simmodels.decisions.switching`, what is saved `simmodels.decisions.checkpointing`; the same that the process
clock calls. One event costs O(log running jobs) here, a change of the machines O(machines).
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.compiled import compiled
from simmodels.decisions import heap, placing, switching
from simmodels.decisions.checkpointing import done_after, saved_after, takes
from simmodels.decisions.columns import longer
from simmodels.decisions.fleet import NOWHERE
from simmodels.decisions.structure import Handle, Structure
from simmodels.signals import heed_signals

_DONE: Final = 0
_UNDONE: Final = 2


@structref.register
class RunsType(Structure):
    """The numba type of `Runs`."""


class Runs(Handle):
    """A Python handle on the record of all attempts; made by `new_runs`."""


structref.define_boxing(RunsType, Runs)

_F1 = types.float64[::1]
_I1 = types.int64[::1]
RUNS: Final = RunsType(
    [
        # by attempt, in order of start
        ("slot", _I1),
        ("machine", _I1),
        ("start", _F1),
        ("end", _F1),
        ("work", _F1),  # what it did that is not lost
        ("outcome", types.int8[::1]),
        ("place", _I1),  # its place in the heap of ends
        ("count", types.int64),
        ("heap", _I1),
        ("size", types.int64),
        # by slot
        ("now", _I1),  # the attempt that runs
        ("undone", _F1),  # the work it has left
        ("estimate", _F1),  # all its work, by its estimate
        ("earlier", _F1),  # how long its attempt ran before the window
        ("restart", _F1),  # what coming back takes it
        # when machines were dark
        ("since", _F1),  # by machine: since when it is; NaN while it is on
        ("dark", _I1),  # by span that is over: the machine
        ("dark_from", _F1),
        ("dark_to", _F1),
        ("spans", types.int64),
    ]
)


@compiled
def new_runs(undone, earlier, machines):
    """Return an empty record: of each slot, its work, that by its estimate, and how long it ran before the window."""
    made = structref.new(RUNS)
    room = earlier.size + 64
    made.slot = np.empty(room, np.int64)
    made.machine = np.empty(room, np.int64)
    made.start = np.empty(room)
    made.end = np.empty(room)
    made.work = np.empty(room)
    made.outcome = np.empty(room, np.int8)
    made.place = np.empty(room, np.int64)
    made.heap = np.empty(room, np.int64)
    made.count = 0
    made.size = 0
    made.now = np.full(earlier.size, NOWHERE)
    made.undone, made.estimate = undone
    made.earlier = earlier
    made.restart = np.zeros(earlier.size)
    made.since = np.full(machines, np.nan)
    made.dark = np.empty(64, np.int64)
    made.dark_from = np.empty(64)
    made.dark_to = np.empty(64)
    made.spans = 0
    return made


@compiled
def _record_starts(runs, fleet, now):
    """Begin an attempt for each job that starts."""
    if runs.count + fleet.count > runs.slot.size:
        room = 2 * (runs.count + fleet.count)
        runs.slot, runs.machine = longer(runs.slot, room), longer(runs.machine, room)
        runs.start, runs.end = longer(runs.start, room), longer(runs.end, room)
        runs.work, runs.outcome = longer(runs.work, room), longer(runs.outcome, room)
        runs.place, runs.heap = longer(runs.place, room), longer(runs.heap, room)
    for k in range(fleet.count):
        slot = fleet.placed[k]
        a = runs.count
        runs.slot[a] = slot
        runs.machine[a] = fleet.machine[slot]
        runs.start[a] = now
        runs.end[a] = now + fleet.left[slot]
        runs.outcome[a] = _UNDONE
        runs.count += 1
        runs.now[slot] = a
        runs.size = heap.push(runs.heap, runs.size, runs.end, runs.place, a)


@compiled
def _record_power(runs, states, now):
    """Take note of the machines that went dark, or came back, at this instant."""
    for machine in range(states.size):
        dark = states[machine] == switching.OFF
        if dark == (not np.isnan(runs.since[machine])):
            continue
        if dark:
            runs.since[machine] = now
            continue
        if runs.spans == runs.dark.size:
            room = 2 * runs.spans
            runs.dark, runs.dark_from = longer(runs.dark, room), longer(runs.dark_from, room)
            runs.dark_to = longer(runs.dark_to, room)
        runs.dark[runs.spans] = machine
        runs.dark_from[runs.spans] = runs.since[machine]
        runs.dark_to[runs.spans] = now
        runs.spans += 1
        runs.since[machine] = np.nan


@compiled
def _lose(runs, fleet, slot, interval, cost, restart, warned, now):
    """End the attempt of a job whose machine goes, and say how long its next one takes."""
    a = runs.now[slot]
    runs.size = heap.take(runs.heap, runs.size, runs.end, runs.place, a)
    earlier = runs.earlier[slot]
    elapsed = now - runs.start[a] + earlier
    saved = saved_after(elapsed, runs.restart[slot], interval, cost, runs.undone[slot], warned)
    runs.work[a] = max(saved - done_after(earlier, 0.0, interval, cost, runs.undone[slot]), 0.0)
    runs.end[a] = now
    runs.now[slot] = NOWHERE
    runs.earlier[slot] = 0.0
    if saved > 0.0:
        runs.undone[slot] -= saved
        runs.restart[slot] = restart
    fleet.left[slot] = takes(runs.undone[slot], runs.restart[slot], interval, cost)
    estimated = max(runs.undone[slot] + (runs.estimate[slot] - fleet.length[slot]), 0.0)
    fleet.estimate[slot] = takes(estimated, runs.restart[slot], interval, cost)


@compiled
def _may_take_jobs(machines, announced, first, farthest):
    """Return how many machines may take jobs: as many as the changes leave that are announced and still to come."""
    may = np.iinfo(np.int64).max
    for k in range(first, farthest + 1):
        if announced[k]:
            may = min(may, machines[k])
    return may


@compiled
def replay_powered(fleet, runs, states, changes, draws, warm, window, checkpoints):
    """Run a fleet through a window: everything that happens up to its end, the end included.

    Parameters
    ----------
    fleet
        The state, its columns filled in for all slots; see `simmodels.decisions.fleet`.
    runs
        The record, empty.
    states
        int64[machines], OPEN or OFF; changed in place.
    changes
        time (float64[k], increasing, all later than the window's begin), machines (int64[k]), notice (float64[k]),
        mode (int64[k]) of the changes; and int64[k], their order by the instant at which notice is given.
    draws
        Uniform numbers that say which machine goes; empty: that of the highest number.
    warm
        How many jobs run at the window's begin: the first slots.
    window
        Its begin and its end.
    checkpoints
        interval, cost and restart, see `simmodels.decisions.checkpointing`.
    """
    change_time, change_machines, notice, mode, notices = changes
    begin, until = window
    interval, cost, restart = checkpoints
    by = np.full(states.size, NOWHERE)
    told = np.full(states.size, np.inf)
    announced = np.zeros(change_time.size, np.bool_)
    farthest = -1  # the last change of which notice has been given
    jobs = fleet.submit.size
    ended = np.empty(64, np.int64)
    lost = np.empty(64, np.int64)
    drawn = 0
    next_change = 0
    next_notice = 0
    draining = False  # kept, since a look at all machines at each event would be quadratic in them
    _record_power(runs, states, begin)
    placing.begin(fleet, warm, begin)
    _record_starts(runs, fleet, begin)
    while True:
        heed_signals()
        now = runs.end[runs.heap[0]] if runs.size > 0 else np.inf
        if fleet.arrived < jobs:
            now = min(now, fleet.submit[fleet.arrived])
        elif runs.size == 0 and fleet.waiting.size == 0 and until == np.inf:
            break  # nothing is left to do, whatever comes and goes
        if next_change < change_time.size:
            now = min(now, change_time[next_change])
        if next_notice < notices.size:
            at = notices[next_notice]
            now = min(now, max(change_time[at] - notice[at], begin))
        now = min(now, placing.due(fleet))
        if now > until or now == np.inf:
            break
        while runs.size > 0 and runs.end[runs.heap[0]] <= now:
            ends = 0
            while runs.size > 0 and runs.end[runs.heap[0]] <= now:
                a = runs.heap[0]
                runs.size = heap.take(runs.heap, runs.size, runs.end, runs.place, a)
                slot = runs.slot[a]
                runs.outcome[a] = _DONE
                undone = runs.undone[slot]
                runs.work[a] = undone - done_after(runs.earlier[slot], 0.0, interval, cost, undone)
                runs.now[slot] = NOWHERE
                if ends == ended.size:
                    ended = longer(ended, 2 * ends)
                ended[ends] = slot
                ends += 1
            placing.complete(fleet, ended, ends, now)
            _record_starts(runs, fleet, now)
        switched = False
        while next_change < change_time.size and change_time[next_change] <= now:
            drawn += switching.take_effect(
                states,
                by,
                told,
                next_change,
                change_machines[next_change],
                mode[next_change],
                draws[drawn:],
                now,
            )
            next_change += 1
            may = _may_take_jobs(change_machines, announced, next_change, farthest)
            drawn += switching.warn(states, told, may, draws[drawn:], now)
            switched = True
        while next_notice < notices.size:
            at = notices[next_notice]
            if max(change_time[at] - notice[at], begin) > now:
                break
            if change_time[at] > now:
                announced[at] = True
                farthest = max(farthest, at)
                may = _may_take_jobs(change_machines, announced, next_change, farthest)
                since = change_time[at] - notice[at]  # which may be before the window
                drawn += switching.warn(states, told, may, draws[drawn:], since)
                switched = True
            next_notice += 1
        losses = 0
        if switched or draining:
            draining = False
            for machine in range(states.size):
                slot = fleet.first[machine]
                if states[machine] == switching.DRAINING and slot == NOWHERE:
                    states[machine] = switching.OFF
                draining = draining or states[machine] == switching.DRAINING
                while states[machine] == switching.OFF and slot != NOWHERE:
                    if losses == lost.size:
                        lost = longer(lost, 2 * losses)
                    lost[losses] = slot
                    losses += 1
                    why = by[machine]
                    warned = -1.0
                    if mode[why] == switching.CHECKPOINT:
                        warned = switching.warned(told[machine], change_time[why], notice[why])
                    _lose(runs, fleet, slot, interval, cost, restart, warned, now)
                    slot = fleet.after[slot]
            _record_power(runs, states, now)
        if switched:
            is_open = switching.is_open(states)
            if losses > 0 or placing.differs(fleet, is_open):
                placing.change(fleet, is_open, lost, losses, losses, now)
                _record_starts(runs, fleet, now)
        arrivals = 0
        while fleet.arrived + arrivals < jobs and fleet.submit[fleet.arrived + arrivals] <= now:
            arrivals += 1
        placing.settle(fleet, arrivals, now)
        _record_starts(runs, fleet, now)
    for k in range(runs.size):  # those that run on at the end
        a = runs.heap[k]
        slot = runs.slot[a]
        earlier = runs.earlier[slot]
        elapsed = until - runs.start[a] + earlier
        undone = runs.undone[slot]
        done = done_after(elapsed, runs.restart[slot], interval, cost, undone)
        runs.work[a] = done - done_after(earlier, 0.0, interval, cost, undone)
        runs.end[a] = np.nan


@compiled
def record(runs):
    """Return slot, machine, start, end, work, outcome of each attempt; and machine, begin, end of each dark span.

    A span that has not ended ends at infinity.
    """
    n, k = runs.count, runs.spans
    of_attempts = (runs.slot[:n], runs.machine[:n], runs.start[:n], runs.end[:n], runs.work[:n], runs.outcome[:n])
    open_ = np.flatnonzero(~np.isnan(runs.since))
    machine = np.concatenate((runs.dark[:k], open_))
    dark_from = np.concatenate((runs.dark_from[:k], runs.since[open_]))
    return of_attempts, (machine, dark_from, np.concatenate((runs.dark_to[:k], np.full(open_.size, np.inf))))
