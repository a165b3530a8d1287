"""Queueing passes: which waiting jobs start now, under each backfilling.

Each pass reads the queue in order and the running jobs by expected end, and writes the slots that it starts into
`queue.placed`, in the order in which it starts them, behind those that have started in this decision. It starts jobs
until there are `most`, and counts those that it backfills.
Where machines are about to go, it gets the cores by when these go (`simmodels.structures.classes`), and takes out of
them what it starts; else None, and all free cores are alike.

A job that is over a limit is passed over, as if it did not wait. What a pass starts counts at once. If that puts the
job over a limit for which it holds cores free, it stops, and is called again.

- none: the head of the queue blocks (strict list scheduling).
- greedy: every job that fits starts, in order; nothing is reserved.
- EASY: the head gets the one reservation, and no job that starts before it may delay it (Lifka 1995,
  doi 10.1007/3-540-60153-8_35; order and backfill order as in Gaussier et al. 2018, IEEE TPDS 29(10)).
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import MOST
from simmodels.passes.limiting import is_over, next_allowed, next_to_backfill, put_back
from simmodels.structures.classes import book, takes_now
from simmodels.structures.limit_state import count, is_barred
from simmodels.structures.queue_state import EASY
from simmodels.structures.sorted_blocks import next_fitting, sort_pairs


@compiled
def start_heads(queue, now, classes, n, below, most):
    """Start jobs from the head of the queue while they fit; return how many have, what cores are left, and who is next.

    That is the place (block in chain, entry) of the job that stopped it, (-1, -1) if there is none.

    Parameters
    ----------
    queue, now, classes
        The state, the instant, and the cores by when they go, or None.
    n
        How many have started in this decision: theirs are the slots ``queue.placed[:n]``.
    below
        Only slots below this may start (a later one blocks the rest).
    most
        How many start at most, these included.
    """
    waiting, free = queue.waiting, queue.free if classes is None else classes.free.sum()
    placed, limited = queue.placed, queue.limited
    c, i = 0, 0
    while 0 <= c < waiting.blocks:
        b = waiting.chain[c]
        if i == waiting.count[b]:
            c, i = c + 1, 0
            continue
        cores = waiting.entries[b, i].cores
        slot = waiting.entries[b, i].slot
        # Over a limit it does not block: the head is the first that is over none.
        if limited and is_barred(queue.limits, slot, cores):
            c, i = next_allowed(queue, c, i)
            continue
        if cores > free or slot >= below or n == most:
            return n, free, c, i
        # In classes, the free cores may be too few for this job all the same, if machines go before it ends.
        if classes is not None and not takes_now(classes, slot, now, cores, waiting.entries[b, i].estimate):
            return n, free, c, i
        placed[n] = slot
        n += 1
        free -= cores
        i += 1
        if limited:
            count(queue.limits, slot, cores, 1)
    return n, free, -1, -1


@compiled
def reservation(queue, now, free, need, n):
    """Return the shadow instant of a job that needs `need` cores, and the extra cores then.

    Parameters
    ----------
    queue, now
        The state, and the instant; of the jobs that run, an expected end that is past counts as now.
    free
        Cores free now, after the jobs just started.
    need
        Cores of the job that gets the reservation (> free).
    n
        How many have started in this decision; ``queue.placed[queue.begun:n]`` do not run yet.

    Returns
    -------
    tuple
        The earliest instant at which, by expected ends, `need` cores are free, and how many cores
        are free then (all releases of that instant counted) beyond `need`; infinity and all cores
        if the running jobs will not free enough.
    """
    ends, slots, cores, just = queue.ends, queue.slots, queue.cores, n - queue.begun
    # These run only once the pass is over: they are not in `queue.running` yet.
    for k in range(just):
        slots[k] = queue.placed[queue.begun + k]
        ends[k] = now + queue.estimate[slots[k]]
    if just > 1:
        sort_pairs(ends, slots, queue.ends2, queue.slots2, just)
    running = queue.running
    entries, chain, count, blocks = running.entries, running.chain, running.count, running.blocks
    c, i, k, b = 0, 0, 0, chain[0]
    size = count[b]  # kept with `b` from entry to entry: else each waits until both are looked up
    shadow = -np.inf
    while c < blocks or k < just:
        # Merge what runs and what just started, each in order of expected ends.
        if c < blocks and (k == just or entries[b, i].key <= ends[k]):
            # A block is counted as a whole if it is not enough, and nothing that just started ends within it.
            whole = i == 0 and free + running.sum_cores[b] < need and (k == just or entries[b, size - 1].key < ends[k])
            if whole:
                free += running.sum_cores[b]
                i = size
            else:
                end, released = entries[b, i].key, entries[b, i].cores
                i += 1
            if i == size:
                c, i = c + 1, 0
                if c < blocks:
                    b = chain[c]
                    size = count[b]
            if whole:
                continue
        else:
            end, released = ends[k], cores[slots[k]]
            k += 1
        end = max(end, now)  # what is overdue may end at any moment
        # All that ends at the shadow is counted before this ends: `extra` is what is free then.
        if free >= need and end > shadow:
            break
        free += released
        shadow = end  # once enough is free, all that is counted ends at the same instant
    if free < need:  # others have the cores, or they are off
        return np.inf, free
    return shadow, free - need


@compiled
def _shadow(queue, now, classes, head, free, n):
    """Reserve for the head that does not fit; return the shadow instant and the extra cores, as `reservation` does.

    In classes, its cores are taken out of the profiles from the shadow on: what fits beside it then delays it not.
    """
    if classes is None:
        return reservation(queue, now, free, queue.cores[head], n)
    queue.shadow = book(queue.profile, classes, head, now, queue.cores[head], queue.estimate[head])
    return np.inf, free


@compiled
def is_behind(queue, slot, other):
    """Return whether a slot is behind another in the queue's order, as last sorted."""
    key = queue.key
    return key[slot] > key[other] or (key[slot] == key[other] and slot > other)


@compiled
def start_backfilled(queue, now, classes, n, most):
    """Start heads while they fit, reserve for the next (EASY), start what does not delay it; return how many have.

    Parameters
    ----------
    queue, now, classes, n, most
        As for `start_heads`; greedy backfilling reserves nothing.
    """
    c, i, free = 0, 0, queue.free if classes is None else classes.free.sum()
    # In one order both lists are one, and the backfilled jobs are those behind the head in it.
    placed, backfill, same_order, head = queue.placed, queue.backfill, queue.same_order, np.int64(-1)
    limited = queue.limited
    reserves = queue.backfilling == EASY
    if reserves or queue.most_backfills < MOST:  # else nothing is asked of the head
        n, free, c, i = start_heads(queue, now, classes, n, queue.arrived, most)
        if c < 0 or n == most:
            return n
        head = queue.waiting.entries[queue.waiting.chain[c], i].slot
        c, i = (c, i + 1) if same_order else (0, 0)  # backfilling begins behind the head
        if limited and not same_order:
            put_back(queue)  # it goes through the other list from its beginning
    # Without a reservation whatever fits may start.
    shadow, extra = np.inf, free
    if reserves:
        # The shadow is computed only where a job fits at all: most often none does.
        c, i = next_fitting(backfill, c, i, free, free, now, now)
        if c >= 0 or classes is not None:  # else no other job fits, and nobody asks when the head would start
            shadow, extra = _shadow(queue, now, classes, head, free, n)
        if c < 0:
            return n
    if limited:
        c, i = next_to_backfill(queue, c, i, free, extra, now, shadow)
    else:
        c, i = next_fitting(backfill, c, i, free, extra, now, shadow)
    # The cap is one of the decision, which may call this again.
    most = min(most, n + queue.most_backfills - queue.backfilled)
    while c >= 0 and n < most:
        b = backfill.chain[c]
        entry = backfill.entries[b, i]
        slot, cores, estimate = entry.slot, entry.cores, entry.estimate
        may = same_order or is_behind(queue, slot, head)  # those before the head have started, and it is itself
        if may and (classes is None or takes_now(classes, slot, now, cores, estimate)):
            placed[n] = slot
            n += 1
            queue.backfilled += 1
            free -= cores
            # What ends by the shadow delays nobody; what does not has cores that the head leaves over.
            if now + estimate > shadow:
                extra -= cores
            if limited:
                count(queue.limits, slot, cores, 1)
                if head >= 0 and is_over(queue, head):  # it is passed over from now on
                    queue.look_again = True
                    return n
        if limited:
            c, i = next_to_backfill(queue, c, i + 1, free, extra, now, shadow)
        else:
            c, i = next_fitting(backfill, c, i + 1, free, extra, now, shadow)
    return n
