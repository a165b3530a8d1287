"""Runs: the record of all attempts on machines that are switched on and off, and when the machines were off.

What an interruption leaves of a job is `simmodels.passes.checkpointing`, which the processes ask, too.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled, inlined
from simmodels.passes import switching
from simmodels.passes.checkpointing import completed, lasts, leaves, left_if, worked
from simmodels.structures import heap
from simmodels.structures.structure import B1, C1, F1, I1, Handle, Structure, columns_by

NOWHERE: Final = np.int64(-1)
DONE: Final = 0
KILLED: Final = 1
UNDONE: Final = 2


class Runs(Handle):
    """A Python handle on the record of all attempts; made by `new_runs`."""


RUNS: Final = Structure(
    Runs,
    [
        # attempts are in order of start
        ("slot", I1, "attempt"),
        ("machine", I1, "attempt"),  # its first one
        ("speed", F1, "attempt"),  # how many seconds of its job it does in a second
        ("start", F1, "attempt"),
        ("end", F1, "attempt"),
        ("work", F1, "attempt"),  # what it did that is not lost
        ("warned", F1, "attempt", np.nan),  # how long before it was lost a checkpoint was asked for; NaN if it was not
        ("outcome", C1, "attempt", UNDONE),
        ("place", I1, "attempt"),  # its place in the heap of ends
        ("count", types.int64),
        ("heap", I1, "attempt"),
        ("size", types.int64),
        # of jobs, by slot
        ("now", I1, "slot", NOWHERE),  # the attempt that runs
        ("whole", F1),  # all its work
        ("estimate", F1),  # the same, by its estimate
        ("undone", F1),  # the work it has left
        ("kept", B1),  # whether it has begun: what is left of it is known
        ("earlier", F1),  # how long its attempt ran before the window; 0 of most
        ("restart", F1, "slot", 0.0),  # what coming back takes it
        ("requeues", I1, "slot", 0),  # how often in a row it was lost, and all the work of the attempt
        ("most_requeues", types.int64),  # as often it may be
        ("stuck", types.boolean),  # whether one was lost more often
        ("repairs", types.int64),  # how often machines were repaired while all waited, if that was too often; else 0
        # how checkpoints are written, see `simmodels.passes.checkpointing`
        ("interval", types.float64),
        ("cost", types.float64),
        ("coming_back", types.float64),
        # when machines were off
        ("since", F1),  # by machine: since when it is; NaN while it is on
        ("off", I1, "span"),  # by span that is over: the machine
        ("off_from", F1, "span"),
        ("off_to", F1, "span"),
        ("spans", types.int64),
    ],
)
_lengthen_attempts, _lengthen_slots = columns_by(RUNS, "attempt"), columns_by(RUNS, "slot")
_lengthen_spans = columns_by(RUNS, "span")


@compiled
def new_runs(whole, estimate, earlier, machines, checkpoints, most_requeues):
    """Return an empty record; `checkpoints` are interval, cost and coming_back."""
    made = structref.new(RUNS)
    _lengthen_attempts(made, earlier.size + 64)
    _lengthen_slots(made, earlier.size)
    _lengthen_spans(made, 64)
    made.whole = whole
    made.estimate = estimate
    made.undone = whole.copy()
    made.kept = earlier > 0.0  # one that ran before has begun
    made.earlier = earlier
    made.most_requeues = most_requeues
    made.interval, made.cost, made.coming_back = checkpoints
    made.since = np.full(machines, np.nan)
    return made


@inlined
def _make_room(runs):
    """Let the record have room for another attempt."""
    if runs.count == runs.slot.size:
        _lengthen_attempts(runs, 2 * runs.count)


@compiled
def begin_run(runs, slot, machine, speed, now, kill):
    """Begin an attempt of a job on a machine, at a speed; `kill` is whether it is stopped at its estimate."""
    a = runs.count
    _make_room(runs)
    runs.slot[a] = slot
    runs.machine[a] = machine
    runs.speed[a] = speed
    runs.start[a] = now
    # Of what is left: an attempt after a loss is shorter, if checkpoints saved work.
    length, limit = lasts_by(runs, slot, speed)
    runs.end[a] = now + (min(length, limit) if kill else length)
    runs.count += 1
    runs.now[slot] = a
    runs.size = heap.push(runs.heap, runs.size, runs.end, runs.place, a)


@compiled
def next_end(runs):
    """Return when the next attempt ends; infinity if none runs."""
    return runs.end[runs.heap[0]] if runs.size > 0 else np.inf


@compiled
def end_next(runs, kill):
    """Let the next attempt that ends do so, its job done or, if `kill`, stopped at its estimate; return its number."""
    a = runs.heap[0]
    runs.size = heap.take(runs.heap, runs.size, runs.end, runs.place, a)
    slot, speed = runs.slot[a], runs.speed[a]
    # Asked again, as at the start: nothing of the job has changed since.
    length, limit = lasts_by(runs, slot, speed) if kill else (0.0, 0.0)
    if limit < length:
        runs.outcome[a] = KILLED
        runs.work[a] = _worked(runs, a, limit)  # not the rounded end - start
    else:
        runs.outcome[a] = DONE
        runs.work[a] = completed(runs.undone[slot], runs.earlier[slot], speed, runs.interval, runs.cost)
    runs.now[slot] = NOWHERE
    runs.kept[slot] = False  # done: what was left of it is of no use
    return a


@compiled
def lose_run(runs, slot, warned, now):
    """Let the attempt of a job end that lost its machine, and note what is left of the job.

    `warned` is how long before a checkpoint was asked for; below 0: never.
    """
    a = runs.now[slot]
    runs.size = heap.take(runs.heap, runs.size, runs.end, runs.place, a)
    before = (runs.undone[slot], runs.restart[slot], runs.earlier[slot], runs.speed[a], runs.interval, runs.cost)
    left = leaves(now - runs.start[a], runs.whole[slot], *before, runs.coming_back, warned)
    runs.work[a], runs.undone[slot], runs.restart[slot], begun = left
    runs.warned[a] = warned if warned >= 0.0 else np.nan
    runs.end[a] = now
    runs.now[slot] = NOWHERE
    runs.earlier[slot] = 0.0  # only the attempt that ran at the begin ran before
    runs.kept[slot] = begun
    # Progress, however little, begins the count again: such a job comes to its end.
    runs.requeues[slot] = runs.requeues[slot] + 1 if runs.work[a] == 0.0 else 0
    runs.stuck |= runs.requeues[slot] > runs.most_requeues


@compiled
def undone_slots(runs):
    """Return the slots that are not done."""
    waits = np.ones(runs.now.size, np.bool_)
    for a in range(runs.count):
        waits[runs.slot[a]] &= runs.outcome[a] == UNDONE
    return np.flatnonzero(waits)


@compiled
def lasts_by(runs, slot, speed):
    """Return how long the next attempt of a job lasts at a speed, and how long by its estimate."""
    left = runs.undone[slot]
    estimated = runs.estimate[slot]
    if runs.kept[slot]:
        estimated = left_if(estimated, left, runs.whole[slot])  # as much less as the work is
    under = (runs.restart[slot], runs.earlier[slot], speed, runs.interval, runs.cost)
    return lasts(left, *under), lasts(estimated, *under)


@compiled
def fill_lengths(runs, runtime, estimate, speed):
    """Write how long the first attempt of each job lasts at a speed, and how long by its estimate."""
    for slot in range(runtime.size):
        runtime[slot], estimate[slot] = lasts_by(runs, slot, speed)


@compiled
def _worked(runs, attempt, elapsed):
    """Return for how long an attempt has done work some time after its start, since the window began."""
    slot = runs.slot[attempt]
    before = (runs.undone[slot], runs.restart[slot], runs.earlier[slot], runs.speed[attempt])
    return worked(elapsed, *before, runs.interval, runs.cost)


@compiled
def record_power(runs, states, now):
    """Take note of the machines that were switched off, or came back, at this instant."""
    for machine in range(states.size):
        off = states[machine] == switching.OFF
        if off == (not np.isnan(runs.since[machine])):  # as it was
            continue
        if off:
            runs.since[machine] = now
            continue
        if runs.spans == runs.off.size:
            _lengthen_spans(runs, 2 * runs.spans)
        runs.off[runs.spans] = machine
        runs.off_from[runs.spans] = runs.since[machine]
        runs.off_to[runs.spans] = now
        runs.spans += 1
        runs.since[machine] = np.nan


@compiled
def record(runs, until):
    """Return what has happened up to an instant.

    Returns
    -------
    tuple, tuple
        slot, machine, start, end, work, warned and outcome of each attempt, where one that runs on has no end; machine,
        begin and end of each span in which a machine was off, where one that has not ended ends at infinity.
    """
    n, k = runs.count, runs.spans
    end, work = runs.end[:n].copy(), runs.work[:n].copy()
    # Ends in the record are planned ones: those of what runs have not come.
    for a in runs.heap[: runs.size]:
        end[a], work[a] = np.nan, _worked(runs, a, until - runs.start[a])
    times = (runs.start[:n], end, work, runs.warned[:n])
    of_attempts = (runs.slot[:n], runs.machine[:n], *times, runs.outcome[:n])
    open_ = np.flatnonzero(~np.isnan(runs.since))  # spans that have not ended
    machine = np.concatenate((runs.off[:k], open_))
    off_from = np.concatenate((runs.off_from[:k], runs.since[open_]))
    return of_attempts, (machine, off_from, np.concatenate((runs.off_to[:k], np.full(open_.size, np.inf))))


@compiled
def carry_on_runs(runs, old, kept, kill):
    """Record of some jobs what another record does, which stays as it is.

    Parameters
    ----------
    runs
        An empty record. Its first slots are these jobs, which may have other work; what has begun goes on with that.
    old
        The other record.
    kept
        int64[k], their slots in it, increasing.
    kill
        Whether a job is stopped at its estimate.

    Returns
    -------
    int64[attempts]
        The number here of each attempt there; NOWHERE of other jobs.
    """
    place = np.full(old.now.size, NOWHERE)
    for k in range(kept.size):
        slot = kept[k]
        place[slot] = k
        runs.kept[k] = old.kept[slot]
        runs.undone[k] = left_if(runs.whole[k], old.undone[slot], old.whole[slot])
        runs.earlier[k], runs.restart[k] = old.earlier[slot], old.restart[slot]
        runs.requeues[k] = old.requeues[slot]
    # In order of start, so that ties of ends are as they were.
    number = np.full(old.count, NOWHERE)
    for attempt in range(old.count):
        slot = place[old.slot[attempt]]
        if slot == NOWHERE:
            continue
        _make_room(runs)
        a = number[attempt] = runs.count
        runs.count += 1
        runs.slot[a], runs.machine[a], runs.speed[a] = slot, old.machine[attempt], old.speed[attempt]
        runs.start[a], runs.end[a], runs.work[a] = old.start[attempt], old.end[attempt], old.work[attempt]
        runs.warned[a], runs.outcome[a] = old.warned[attempt], old.outcome[attempt]
        if old.now[old.slot[attempt]] == attempt:
            length, limit = lasts_by(runs, slot, runs.speed[a])  # its work may be another
            runs.end[a] = runs.start[a] + (min(length, limit) if kill else length)
            runs.now[slot] = a
            runs.size = heap.push(runs.heap, runs.size, runs.end, runs.place, a)
    runs.since = old.since.copy()
    runs.off, runs.off_from, runs.off_to = old.off.copy(), old.off_from.copy(), old.off_to.copy()
    runs.spans = old.spans
    return number


@compiled
def running(runs, slots):
    """Return when the attempts of some slots that run now began, and when they end; NaN for those that do not run."""
    start, end = np.full(slots, np.nan), np.full(slots, np.nan)
    for a in runs.heap[: runs.size]:
        start[runs.slot[a]], end[runs.slot[a]] = runs.start[a], runs.end[a]
    return start, end
