"""Conservative backfilling: every waiting job holds a reservation, and no promise is broken.

A job gets, when it enters the queue, the earliest hole that delays no earlier promise. When a job
ends before its expected end, the waiting jobs are gone through in the queue's order and each moves
to an earlier hole if there is one, again and again until none can move (Mu'alem and Feitelson 2001,
doi 10.1109/71.932708, "compression"; in the queue's order as in
Srinivasan et al. 2002). While estimates hold, no job starts later than first promised.

A job that runs past its estimate breaks the plan: then, as for the other backfillings, it counts as
ending now, and all reservations are made again, in the queue's order, at every decision until it ends.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.structures.profile import add, advance, earlier, earliest, has_earlier, lasts_until, most_free, reset


@compiled
def plan_anew(now, free, running, waiting, estimate, profile, reserved):
    """Make the profile and every reservation again, in the queue's order; return the earliest reserved start.

    Parameters
    ----------
    now, free
        The instant, and the cores free.
    running
        The running jobs by expected end; those past theirs count as ending now.
    waiting
        The queue in order.
    estimate
        Estimates by slot.
    profile, reserved
        What is made: the free cores from now on, and the reserved start by slot.
    """
    reset(profile, now, free)
    for c in range(running.blocks):
        b = running.chain[c]
        for i in range(running.count[b]):
            heed_signals()
            add(profile, max(running.key[b, i], now), np.inf, running.cores[b, i])
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            reserved[waiting.slot[b, i]] = np.nan
    return reserve_new(now, np.inf, waiting, estimate, profile, reserved)


@compiled
def reserve_new(now, due, waiting, estimate, profile, reserved):
    """Give the jobs without a reservation (NaN) the earliest hole each, in the queue's order.

    Returns the earliest reserved start, given that of the others (`due`).
    """
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            heed_signals()
            slot = waiting.slot[b, i]
            if np.isnan(reserved[slot]):
                cores = waiting.cores[b, i]
                start = earliest(profile, now, cores, estimate[slot])
                reserved[slot] = start
                if start < np.inf:
                    add(profile, start, lasts_until(start, estimate[slot]), -cores)
                due = min(due, start)
    return due


@compiled
def compress(now, due, gained_until, waiting, estimate, profile, reserved):
    """Move reservations earlier, in the queue's order, until none can move.

    Cores were gained in [now, gained_until) only, so only a hole that begins before that instant
    can be new; each move gains cores where the reservation was. A job without a reservation is left
    out. Returns the earliest reserved start, given what it was (`due`).

    What could not move says what others cannot: a job that needs as many cores for as long, and holds no earlier
    reservation, has no hole either that begins before the same instant.
    """
    moved = True
    while moved:
        moved = False
        failed_cores, failed_length, failed_held, failed_until = 0, np.inf, np.inf, -np.inf
        room = most_free(profile, gained_until)
        for c in range(waiting.blocks):
            b = waiting.chain[c]
            if waiting.min_cores[b] > room:
                continue  # no job of the block fits anywhere before `gained_until`
            for i in range(waiting.count[b]):
                heed_signals()
                cores = waiting.cores[b, i]
                slot = waiting.slot[b, i]
                held = reserved[slot]
                if cores > room or np.isnan(held):
                    continue
                length = estimate[slot]
                first, until = now, min(held, gained_until)
                if failed_cores <= cores and failed_length <= length and failed_held <= held:
                    first = max(now, failed_until)
                    if first >= until:
                        continue
                if not has_earlier(profile, cores, length, held, first, gained_until):
                    failed_cores, failed_length, failed_held, failed_until = cores, length, held, until
                    continue
                start = earlier(profile, now, cores, length, held, gained_until)
                if held < np.inf:
                    add(profile, held, lasts_until(held, length), cores)
                    gained_until = max(gained_until, lasts_until(held, length))
                add(profile, start, lasts_until(start, length), -cores)
                reserved[slot] = start
                due = min(due, start)
                room = most_free(profile, gained_until)
                moved = True
                failed_until = -np.inf  # cores were gained where the reservation was
    return due


@compiled
def start_reserved(now, free, waiting, running, estimate, profile, reserved, due, gained_until, fresh, stale, placed):
    """Bring the reservations up to date and start the jobs whose reservation is now.

    Parameters
    ----------
    now, free
        The instant, and the cores free.
    waiting, running
        The queue in order; the running jobs by expected end.
    estimate
        By slot.
    profile, reserved
        The plan: free cores from now on, and the reserved start by slot (NaN: none yet).
    due
        The earliest reserved start of a waiting job (or less).
    gained_until
        Until when cores were gained since the last pass (early ends); before `now` if none.
    fresh
        Whether a waiting job has no reservation yet.
    stale
        Whether the plan must be made again (cores were lost or added, a job overran, the order changed).
    placed
        int64[>= size], where the slots started are written.

    Returns
    -------
    tuple
        How many start, and the earliest reserved start of the jobs that go on waiting.
    """
    if not stale and running.size:
        stale = running.key[running.chain[0], 0] < now
    if stale or due < now:
        due = plan_anew(now, free, running, waiting, estimate, profile, reserved)
    else:
        advance(profile, now)
        if gained_until > now:
            due = compress(now, due, gained_until, waiting, estimate, profile, reserved)
        if fresh:
            due = reserve_new(now, due, waiting, estimate, profile, reserved)
    n = 0
    if due > now:
        return n, due
    due = np.inf
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            slot = waiting.slot[b, i]
            if reserved[slot] == now and waiting.cores[b, i] <= free:
                placed[n] = slot
                n += 1
                free -= waiting.cores[b, i]
            else:
                due = min(due, reserved[slot])
    return n, due
