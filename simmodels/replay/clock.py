"""The compiled clock: an event loop for rigid jobs on one pool of cores, for campaigns by the million.

It keeps no rule of its own: what an event does and what starts is `simmodels.decisions.queue`, the
same that the process clock calls. One event costs O(log running jobs) here, and what the pass costs.
"""

import numpy as np

from simmodels.compiled import compiled
from simmodels.decisions.columns import longer
from simmodels.decisions.queue import arrive, decide, finish


@compiled
def _push(ends, slots, size, end, slot):
    """Add an end to the heap of ends, ordered by (end, slot)."""
    i = size
    while i > 0:
        parent = (i - 1) // 2
        if ends[parent] < end or (ends[parent] == end and slots[parent] < slot):
            break
        ends[i] = ends[parent]
        slots[i] = slots[parent]
        i = parent
    ends[i] = end
    slots[i] = slot


@compiled
def _pop(ends, slots, size):
    """Take the first end out of the heap; return its slot."""
    first = slots[0]
    size -= 1
    end = ends[size]
    slot = slots[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (ends[other] < ends[child] or (ends[other] == ends[child] and slots[other] < slots[child])):
            child = other
        if end < ends[child] or (end == ends[child] and slot < slots[child]):
            break
        ends[i] = ends[child]
        slots[i] = slots[child]
        i = child
    ends[i] = end
    slots[i] = slot
    return first


@compiled
def replay(queue, by_event, kill, started, ended):
    """Run all jobs of a queue whose columns are filled in; return whether it came to the end.

    Parameters
    ----------
    queue
        The state (`simmodels.decisions.state.open_queue`); columns by slot, in (submit, input) order.
    by_event
        One pass after each event (at equal times submissions in slot order, then completions in the
        order in which the jobs started), instead of one pass after all events of an instant. A job
        that ends just when it was expected to end frees its cores at the first event of that instant.
    kill
        A job is stopped at its estimate, instead of running on.
    started, ended
        float64[n], written by slot.

    Returns
    -------
    bool
        False if an order gave no number for the job of slot ``queue.refused``.
    """
    n = queue.submit.size
    ends = np.empty(64, np.float64)
    slots = np.empty(64, np.int64)
    size = 0
    coming = 0
    turn = np.empty(n if by_event else 0, np.int64)  # the slots in the order they started
    turns = 0
    due = np.empty(64, np.int64)  # the turns that end at this instant and had no pass yet, increasing
    first_due = 0
    last_due = 0
    now = 0.0
    while coming < n or size > 0 or first_due < last_due:
        submit = queue.submit[coming] if coming < n else np.inf
        if first_due == last_due:
            now = min(submit, ends[0] if size > 0 else np.inf)
            first_due = 0
            last_due = 0
        if by_event:
            while size > 0 and ends[0] == now:
                own = _pop(ends, slots, size)
                size -= 1
                slot = turn[own]
                if now == started[slot] + queue.estimate[slot]:
                    finish(queue, slot, now)  # its end was expected: it counts from the first event of the instant
                if last_due == due.size:
                    due = longer(due, 2 * last_due)
                k = last_due
                while k > first_due and due[k - 1] > own:
                    due[k] = due[k - 1]
                    k -= 1
                due[k] = own
                last_due += 1
            if coming < n and submit == now:
                arrive(queue, now)
                coming += 1
            else:
                slot = turn[due[first_due]]
                first_due += 1
                if now != started[slot] + queue.estimate[slot]:
                    finish(queue, slot, now)
        else:
            while size > 0 and ends[0] == now:
                finish(queue, _pop(ends, slots, size), now)
                size -= 1
            while coming < n and queue.submit[coming] == now:
                arrive(queue, now)
                coming += 1
        placed = decide(queue, now)
        if queue.refused >= 0:
            return False
        if size + placed > ends.size:
            ends = longer(ends, 2 * (size + placed))
            slots = longer(slots, 2 * (size + placed))
        for k in range(placed):
            slot = queue.placed[k]
            runs = queue.runtime[slot]
            if kill:
                runs = min(runs, queue.estimate[slot])
            started[slot] = now
            ended[slot] = now + runs
            own = slot
            if by_event:
                turn[turns] = slot
                own = turns
                turns += 1
            _push(ends, slots, size, now + runs, own)
            size += 1
    return True
