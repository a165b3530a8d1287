"""Conservative backfilling: every waiting job holds a reservation, and no promise is broken.

A job gets, when it enters the queue, the earliest hole that delays no earlier promise. When a job
ends before its expected end, the waiting jobs are gone through in the queue's order and each moves
to an earlier hole if there is one, again and again until none can move (Mu'alem and Feitelson 2001,
doi 10.1109/71.932708, "compression"; in the queue's order as in
Srinivasan et al. 2002). While estimates hold, no job starts later than first promised.

A job that runs past its estimate breaks the plan: then, as for the other backfillings, it counts as
ending now, and all reservations are made again, in the queue's order, at every decision until it ends.
A promised start for which a job that runs should end is a decision, also if nothing happens then; if it
cannot be kept, all is planned again at once.
"""

import numpy as np

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.signals import heed_signals
from simmodels.structures.profile import add, advance, earlier, earliest, lasts_until, most_free, reset


@compiled
def plan_again(now, free, running, waiting, estimate, profile, reserved):
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
def reserve_new(now, next_start, waiting, estimate, profile, reserved):
    """Give the jobs without a reservation (NaN) the earliest hole each, in the queue's order.

    Returns the earliest reserved start, given that of the others (`next_start`).
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
                next_start = min(next_start, start)
    return next_start


@inlined
def _joined(some, others):
    """Return what is true of cores gained here and there: the most free there, the first instant, and the last."""
    return max(some[0], others[0]), min(some[1], others[1]), max(some[2], others[2])


@compiled
def compress(now, next_start, freed_until, waiting, estimate, profile, reserved):
    """Move reservations earlier, in the queue's order, until none can move.

    Cores were gained in [now, freed_until) only; each move gains cores where the reservation was. A job without a
    reservation is left out. Returns the earliest reserved start, given what it was (`next_start`).

    A job that could not move can do so only where cores were gained since: into a hole that ends after the first of
    these instants, begins before the last, and needs no more cores than are free at the best of them. For a job, these
    are the gains of the moves behind it in the last round, and of those before it in this one. Before the first round
    no job can move except into what was gained in [now, freed_until): each has the earliest hole that there was when
    it was looked at, and since then cores were only taken.

    What could not move says what others cannot, too: a job that needs as many cores for as long, and holds no earlier
    reservation, has no hole either that begins before the same instant, except in what was gained since.
    """
    nothing = np.int64(-1), np.inf, -np.inf
    moved = np.empty((2, waiting.size + 1), np.int64)  # the places of the jobs that moved in the last round, and this
    most = np.empty((2, waiting.size + 1), np.int64)  # what was gained from there on: the most cores free there,
    within = np.empty((2, waiting.size + 1, 2), np.float64)  # the first instant and the last
    moved[0, 0], most[0, 0], within[0, 0] = waiting.size, most_free(profile, now, freed_until), (now, freed_until)
    last, moves = 0, 1
    while moves:
        this, k, moves_before, moves = 1 - last, 0, moves, 0
        gained = most[last, 0], within[last, 0, 0], within[last, 0, 1]  # since the job was looked at
        lately = nothing  # in this round
        failed_cores, failed_length, failed_held, since_failed = 0, np.inf, np.inf, nothing
        place = -1
        for c in range(waiting.blocks):
            heed_signals()
            b = waiting.chain[c]
            if waiting.min_cores[b] > gained[0]:
                place += waiting.count[b]
                continue
            for i in range(waiting.count[b]):
                place += 1
                if k < moves_before and moved[last, k] <= place:
                    while k < moves_before and moved[last, k] <= place:
                        k += 1
                    gained = lately
                    if k < moves_before:
                        gained = _joined(lately, (most[last, k], within[last, k, 0], within[last, k, 1]))
                cores = waiting.cores[b, i]
                if cores > gained[0]:
                    continue
                slot = waiting.slot[b, i]
                held = reserved[slot]
                if not held > gained[1]:  # NaN: it has no reservation
                    continue
                length = estimate[slot]
                limit, known, since = min(held, gained[2]), -np.inf, gained[1]
                if failed_cores <= cores and failed_length <= length and failed_held <= held:
                    known, since = failed_held, since_failed[1] if cores <= since_failed[0] else np.inf
                    if limit <= known:
                        if held <= since:
                            continue
                        limit = min(limit, since_failed[2])
                heed_signals()
                start = earlier(profile, cores, length, held, limit, gained[1], known, since)
                if start == held:
                    failed_cores, failed_length, failed_held, since_failed = cores, length, held, nothing
                    continue
                reserved[slot] = start
                next_start = min(next_start, start)
                end, until = lasts_until(start, length), lasts_until(held, length)
                add(profile, start, min(end, held), -cores)
                if max(end, held) < until:
                    add(profile, max(end, held), until, cores)
                    gain = most_free(profile, max(end, held), until), max(end, held), until
                    gained, lately = _joined(gained, gain), _joined(lately, gain)
                    since_failed = _joined(since_failed, gain)
                    moved[this, moves], most[this, moves], within[this, moves] = place, gain[0], gain[1:]
                    moves += 1
        for k in range(moves - 2, -1, -1):
            most[this, k] = max(most[this, k], most[this, k + 1])
            within[this, k, 0] = min(within[this, k, 0], within[this, k + 1, 0])
            within[this, k, 1] = max(within[this, k, 1], within[this, k + 1, 1])
        last = this
    return next_start


@compiled
def _is_broken(now, free, waiting, reserved):
    """Return whether what is promised for now needs more cores than are free."""
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            if reserved[waiting.slot[b, i]] == now:
                free -= waiting.cores[b, i]
    return free < 0


@compiled
def first_promise(now, waiting, running, reserved):
    """Return the earliest instant after now at which a job should end and another start; infinity if there is none.

    Other promises, made while a job runs past its estimate, follow one that cannot be kept: nothing happens there.
    """
    promises = np.empty(waiting.size, np.float64)
    n = 0
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            if reserved[waiting.slot[b, i]] > now:  # not NaN: it has no reservation
                promises[n] = reserved[waiting.slot[b, i]]
                n += 1
    promises = np.sort(promises[:n])
    k = 0
    for c in range(running.blocks):
        b = running.chain[c]
        for i in range(running.count[b]):
            while k < n and promises[k] < running.key[b, i]:
                k += 1
            if k < n and promises[k] == running.key[b, i]:
                return promises[k]
    return np.inf


@compiled
def start_reserved(
    now,
    free,
    waiting,
    running,
    estimate,
    profile,
    reserved,
    next_start,
    freed_until,
    has_unreserved,
    needs_replan,
    placed,
):
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
    next_start
        The earliest reserved start of a waiting job (or less).
    freed_until
        Until when cores were gained since the last pass (early ends); before `now` if none.
    has_unreserved
        Whether a waiting job has no reservation yet.
    needs_replan
        Whether the plan must be made again (cores were lost or added, a job overran, the order changed).
    placed
        int64[>= size], where the slots started are written.

    Returns
    -------
    tuple
        How many start, and the earliest reserved start of the jobs that go on waiting.
    """
    if not needs_replan and running.size:
        needs_replan = running.key[running.chain[0], 0] < now
    if needs_replan or next_start < now:
        next_start = plan_again(now, free, running, waiting, estimate, profile, reserved)
    else:
        advance(profile, now)
        if freed_until > now:
            next_start = compress(now, next_start, freed_until, waiting, estimate, profile, reserved)
        if has_unreserved:
            next_start = reserve_new(now, next_start, waiting, estimate, profile, reserved)
        if next_start == now and _is_broken(now, free, waiting, reserved):
            next_start = plan_again(now, free, running, waiting, estimate, profile, reserved)
    n = 0
    if next_start > now:
        return n, next_start
    next_start = np.inf
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            slot = waiting.slot[b, i]
            if reserved[slot] == now and waiting.cores[b, i] <= free:
                placed[n] = slot
                n += 1
                free -= waiting.cores[b, i]
            else:
                next_start = min(next_start, reserved[slot])
    return n, next_start
