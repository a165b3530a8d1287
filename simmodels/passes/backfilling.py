"""Queueing passes: which waiting jobs start now, under each backfilling.

Each pass is a pure function. It reads the queue in order and the running jobs by expected end, and
writes the slots it starts into `placed`, in the order it starts them; it changes nothing else.

- none: the head of the queue blocks (strict list scheduling).
- greedy: every job that fits starts, in order; nothing is reserved.
- EASY: the head gets the one reservation, and no job that starts before it may delay it (Lifka 1995,
  doi 10.1007/3-540-60153-8_35; order and backfill order as in Gaussier et al. 2018, IEEE TPDS 29(10)).
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.structures.sorted_blocks import next_fitting, sort_pairs


@compiled
def start_heads(free, waiting, placed, below):
    """Start jobs from the head of the queue while they fit; return how many.

    Parameters
    ----------
    free
        Cores free now.
    waiting
        The queue in order.
    placed
        int64[>= size], where the slots started are written.
    below
        Only slots below this may start (a later one blocks the rest).
    """
    n = 0
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            cores = waiting.cores[b, i]
            slot = waiting.slot[b, i]
            if cores > free or slot >= below:
                return n
            placed[n] = slot
            n += 1
            free -= cores
    return n


@compiled
def start_fitting(free, waiting, placed):
    """Start every job that fits, in order (greedy); return how many."""
    n = 0
    c, i = next_fitting(waiting, 0, 0, free, free, 0.0, 0.0)
    while c >= 0:
        b = waiting.chain[c]
        placed[n] = waiting.slot[b, i]
        n += 1
        free -= waiting.cores[b, i]
        c, i = next_fitting(waiting, c, i + 1, free, free, 0.0, 0.0)
    return n


@compiled
def reservation(now, free, need, running, ends, slots, cores, n):
    """Return the shadow instant of a job that needs `need` cores, and the extra cores then.

    Parameters
    ----------
    now, free
        The instant, and the cores free now (after the `n` jobs just started).
    need
        Cores of the job that gets the reservation (> free).
    running
        The running jobs by expected end; an end that is past counts as now.
    ends, slots
        The expected ends of the `n` jobs just started, increasing, and their slots.
    cores
        Cores by slot.
    n
        How many were just started.

    Returns
    -------
    tuple
        The earliest instant at which, by expected ends, `need` cores are free, and how many cores
        are free then (all releases of that instant counted) beyond `need`; infinity and all cores
        if the running jobs will not free enough.
    """
    c = 0
    i = 0
    k = 0
    shadow = -np.inf
    while True:
        if i == 0 and c < running.blocks and free < need:  # take a whole block if it is not enough
            b = running.chain[c]
            last = running.key[b, running.count[b] - 1]
            if free + running.sum_cores[b] < need and (k == n or ends[k] > last):
                free += running.sum_cores[b]
                c += 1
                continue
        has_running = c < running.blocks
        if not has_running and k == n:
            break
        if has_running and (k == n or running.key[running.chain[c], i] <= ends[k]):
            b = running.chain[c]
            end = max(running.key[b, i], now)
            released = running.cores[b, i]
            if free >= need and end > shadow:
                break
            i += 1
            if i == running.count[b]:
                c += 1
                i = 0
        else:
            end = max(ends[k], now)
            released = cores[slots[k]]
            if free >= need and end > shadow:
                break
            k += 1
        free += released
        if shadow == -np.inf and free >= need:
            shadow = end
    if free < need:
        return np.inf, free
    return shadow, free - need


@compiled
def start_easy(
    now, free, waiting, backfill, same_order, running, key, cores, estimate, placed, ends, slots, ends2, slots2
):
    """Start heads while they fit, reserve for the next, start what does not delay it; return how many.

    Parameters
    ----------
    now, free
        The instant, and the cores free.
    waiting
        The queue in order.
    backfill, same_order
        The queue in backfill order, and whether that is the same order.
    running
        The running jobs by expected end.
    key, cores, estimate
        By slot: the key in the queue's order, the cores, the estimate.
    placed
        int64[>= size], where the slots started are written.
    ends, slots, ends2, slots2
        Scratch of the same length.
    """
    n = start_heads(free, waiting, placed, np.iinfo(np.int64).max)
    if n == waiting.size:
        return n
    for k in range(n):
        free -= cores[placed[k]]
    # The head that does not fit is the n-th entry; backfilling begins behind it.
    c = 0
    i = n
    while i >= waiting.count[waiting.chain[c]]:
        i -= waiting.count[waiting.chain[c]]
        c += 1
    b = waiting.chain[c]
    head = waiting.slot[b, i]
    if same_order:
        i += 1
    else:
        c = 0
        i = 0
    c, i = next_fitting(backfill, c, i, free, free, now, now)
    if c < 0:
        return n  # no other job fits, so there is no need to know when the head would start
    for k in range(n):
        slots[k] = placed[k]
        ends[k] = now + estimate[placed[k]]
    sort_pairs(ends, slots, ends2, slots2, n)
    shadow, extra = reservation(now, free, cores[head], running, ends, slots, cores, n)
    c, i = next_fitting(backfill, c, i, free, extra, now, shadow)
    while c >= 0:
        b = backfill.chain[c]
        slot = backfill.slot[b, i]
        gone = not same_order and (key[slot] < key[head] or (key[slot] == key[head] and slot <= head))
        if not gone:  # in another order, those before the head have started, and the head is itself
            placed[n] = slot
            n += 1
            free -= cores[slot]
            if now + estimate[slot] > shadow:
                extra -= cores[slot]
        c, i = next_fitting(backfill, c, i + 1, free, extra, now, shadow)
    return n
