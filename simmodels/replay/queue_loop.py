"""The compiled engine: an event loop for rigid jobs on one pool of cores, for campaigns by the million.

It keeps no rule of its own: what an event does and what starts is `simmodels.passes.queue_events`, the
same that the SimPy engine calls. One event costs O(log running jobs) here, and what the pass costs.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.queue_events import arrive, decide, finish, next_promise
from simmodels.structures.agenda import pop, push
from simmodels.structures.arrays import grown
from simmodels.structures.structure import F1, I1, Handle, Structure, columns_by


class Loop(Handle):
    """A Python handle on a loop: where a replay is; made by `new_loop`."""


LOOP: Final = Structure(
    Loop,
    [
        ("ends", F1, "run"),  # a heap of the ends of what runs
        ("slots", I1, "run"),
        ("size", types.int64),
        ("coming", types.int64),  # slots from this on have not arrived
        # by event only
        ("turn", I1),  # the slots in the order they started
        ("turns", types.int64),
        ("due", I1),  # the slots that ended at this instant, from `first_due` on without a pass yet
        ("first_due", types.int64),
        ("last_due", types.int64),
        ("now", types.float64),
    ],
)
_lengthen_runs = columns_by(LOOP, "run")


@compiled
def new_loop(slots, by_event):
    """Return a loop at which nothing has happened yet, for a queue of `slots` slots; `by_event` is as for `replay`."""
    loop = structref.new(LOOP)
    _lengthen_runs(loop, 64)
    loop.turn = np.empty(slots if by_event else 0, np.int64)
    loop.due = np.empty(64, np.int64)
    loop.now = -np.inf
    return loop


@compiled
def carry_on_loop(loop, old, by_event, kept, ended):
    """Be where another loop is, which stays as it is.

    Parameters
    ----------
    loop
        A loop at which nothing has happened yet.
    old
        The other; it has stopped between two instants.
    by_event
        As for `replay`.
    kept
        int64[k], the slots of the other's queue that wait or run, increasing: here they are the first k slots.
    ended
        float64[k], when those that run end.
    """
    loop.coming = kept.size
    loop.now = old.now
    # What runs, in the order in which it started where that counts: `slots` holds turns then.
    running = np.sort(old.slots[: old.size])
    _lengthen_runs(loop, 2 * (old.size + 32))
    for k in range(old.size):
        slot = np.searchsorted(kept, old.turn[running[k]] if by_event else running[k])
        own = slot
        if by_event:
            loop.turn[k] = slot
            own = k
        push(loop.ends, loop.slots, k, ended[slot], own)
    loop.size = old.size
    loop.turns = old.size if by_event else 0


@compiled
def _all_events(queue, loop, stop):
    """Let all happen that happens at this instant, ends before submissions."""
    now, ends, slots = loop.now, loop.ends, loop.slots
    while loop.size > 0 and ends[0] == now:
        finish(queue, pop(ends, slots, loop.size), now)
        loop.size -= 1
    while loop.coming < stop and queue.submit[loop.coming] == now:
        heed_signals()  # thousands may come at once
        arrive(queue, now)
        loop.coming += 1


@compiled
def _one_event(queue, loop, stop, started):
    """Let one thing happen of this instant: a submission, else an end; before it, all ends that were expected now."""
    now, ends, slots = loop.now, loop.ends, loop.slots
    while loop.size > 0 and ends[0] == now:
        slot = loop.turn[pop(ends, slots, loop.size)]
        loop.size -= 1
        if loop.last_due == loop.due.size:
            loop.due = grown(loop.due, 2 * loop.last_due)
        loop.due[loop.last_due] = slot  # in the order of the starts: ties are taken out so, and the others start later
        loop.last_due += 1
        if now == started[slot] + queue.estimate[slot]:  # expected, so its cores are free at the first event
            finish(queue, slot, now)
    if loop.coming < stop and queue.submit[loop.coming] == now:
        arrive(queue, now)
        loop.coming += 1
    elif loop.first_due < loop.last_due:  # its pass comes now
        slot = loop.due[loop.first_due]
        loop.first_due += 1
        if now != started[slot] + queue.estimate[slot]:
            finish(queue, slot, now)


@compiled
def _start_placed(queue, loop, count, by_event, kill, started, ended):
    """Let the slots placed[:count] run from now on."""
    if loop.size + count > loop.ends.size:  # before the columns are read
        _lengthen_runs(loop, 2 * (loop.size + count))
    now, ends, slots = loop.now, loop.ends, loop.slots
    for k in range(count):
        slot = queue.placed[k]
        runs = queue.runtime[slot]
        if kill:
            runs = min(runs, queue.estimate[slot])
        # An end is known at the start, since runtimes are; policies do not see it.
        started[slot] = now
        ended[slot] = now + runs
        own = slot
        if by_event:
            # By turns, ends of one instant come out in the order of the starts; else by slots.
            own = loop.turns
            loop.turn[own] = slot
            loop.turns += 1
        push(ends, slots, loop.size, now + runs, own)
        loop.size += 1


@compiled
def replay(queue, loop, by_event, kill, until, stop, watched, started, ended):
    """Go on with the jobs of a queue whose columns are filled in; return whether no job was refused.

    Parameters
    ----------
    queue
        The state (`simmodels.structures.queue_state`); columns by slot, in (submit, input) order.
    loop
        Where the replay is; it goes on from there.
    by_event
        One pass after each event (at equal times submissions in slot order, then completions in the
        order in which the jobs started), instead of one pass after all events of an instant. A job
        that ends just when it was expected to end frees its cores at the first event of that instant. A
        promised start at which nothing else happens is an event.
    kill
        A job is stopped at its estimate, instead of running on.
    until
        It stops before the first instant at or after this.
    stop
        Only slots below this arrive. When they all have ended, it stops: the next call may let others
        arrive, even at earlier instants, at an empty queue.
    watched
        It stops after the instant at which this slot starts; -1 for none.
    started, ended
        float64[n], written by slot when a job starts; `ended` may be later than `until`.

    Returns
    -------
    bool
        False if an order gave no number for the job of slot ``queue.refused``.
    """
    if loop.size == 0 and queue.waiting.size == 0:
        queue.needs_replan = True  # at an earlier instant what ended since would still run by the plan
    promised = next_promise(queue, loop.now)
    while loop.coming < stop or loop.size > 0 or loop.first_due < loop.last_due:
        heed_signals()
        # Else more of this instant is to come, each with a pass.
        if loop.first_due == loop.last_due:
            submit = queue.submit[loop.coming] if loop.coming < stop else np.inf
            now = min(submit, loop.ends[0] if loop.size > 0 else np.inf, promised)
            if now >= until:  # nothing of it has happened
                return True
            loop.now = now
            loop.first_due = 0
            loop.last_due = 0
        if by_event:
            _one_event(queue, loop, stop, started)
        else:
            _all_events(queue, loop, stop)
        count = decide(queue, loop.now, None)  # no machine is about to go
        promised = next_promise(queue, loop.now)
        if queue.refused >= 0:
            return False
        if count > 0:
            _start_placed(queue, loop, count, by_event, kill, started, ended)
        if watched >= 0 and started[watched] == loop.now and loop.first_due == loop.last_due:
            return True
    return True
