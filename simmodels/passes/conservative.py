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

A job that is over a limit has no reservation: it loses the one that it had, and gets another when it is not over any.
So, in a queue with limits, all is looked at again after each start that may have put another job over one.
"""

from typing import Final

import numpy as np
from numba import types

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.on_demand import on_demand
from simmodels.ground.signals import heed_signals
from simmodels.passes.limiting import is_over, tightens
from simmodels.structures.classes import book
from simmodels.structures.limit_state import count, first_full
from simmodels.structures.profile import (
    PROFILE,
    Opened,
    add,
    advance,
    bring_forward,
    earlier,
    joined,
    lasts_until,
    nothing_opened,
    open_up,
    reset,
    take_opened,
)
from simmodels.structures.queue_state import PROMISES, QUEUE_STATE
from simmodels.structures.sorted_blocks import has_key, least_of, slots_of
from simmodels.structures.structure import arrays_of

_REPLACES: Final = arrays_of(PROFILE)


@compiled
def _plan_again(queue, now, classes):
    """Make the profile and every reservation again, in the queue's order; return the earliest reserved start.

    Running jobs past their expected end count as ending now. Profiles of classes come with what runs in them.
    """
    running = queue.running
    if classes is None:
        # What runs gives its cores back when it should end: the profile begins with what is free.
        reset(queue.profile, now, queue.free)
        for c in range(running.blocks):
            b = running.chain[c]
            for i in range(running.count[b]):
                heed_signals()
                add(queue.profile, max(running.entries[b, i].key, now), np.inf, running.entries[b, i].cores)
    for slot in slots_of(queue.waiting):
        # None has a reservation now, so the first in the queue's order has the choice.
        queue.reserved[slot] = np.nan
    return _reserve_new(queue, now, classes, np.inf)


@compiled
def _reserve_new(queue, now, classes, next_start):
    """Give the jobs without a reservation (NaN) the earliest hole each, in the queue's order.

    They watch what keeps them from starting earlier. Returns the earliest reserved start, given that of the others
    (`next_start`).
    """
    waiting, reserved, profile, limited = queue.waiting, queue.reserved, queue.profile, queue.limited
    limits = queue.limits  # read once, for thousands of jobs that are over one
    parties, most, used, cohort, core_s = limits.parties, limits.most, limits.used, limits.cohort, limits.core_s
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            heed_signals()
            slot = waiting.entries[b, i].slot
            if not np.isnan(reserved[slot]):
                continue
            cores = waiting.entries[b, i].cores
            # It would hold cores that it may not use.
            if limited and first_full(parties, most, used, cohort[slot], cores, core_s[slot]) >= 0:
                continue
            length = waiting.entries[b, i].estimate
            start = book(profile, classes, slot, now, cores, length)
            reserved[slot] = start
            if classes is None and profile.was_opened:  # there is no earlier hole: it is called for what it watches
                earlier(profile, cores, length, start, start, -np.inf, -np.inf, -np.inf)
            next_start = min(next_start, start)
    return next_start


@inlined
def _note(needs, span, row, k, opened):
    """Note what was opened by a move."""
    needs[row, k, 0], needs[row, k, 1] = opened.least, opened.most
    span[row, k, 0], span[row, k, 1] = opened.first, opened.last


@inlined
def _noted(needs, span, row, k):
    """Return what was noted of a move."""
    return Opened(needs[row, k, 0], needs[row, k, 1], span[row, k, 0], span[row, k, 1])


@compiled
def _compress(queue, opened, next_start):
    """Move reservations earlier, in the queue's order, until none can move.

    `opened` is what was opened since the last decision; each move opens where the reservation was. A job without a
    reservation is left out. Returns the earliest reserved start, given what it was (`next_start`).

    A job that could not move watches a segment of each hole that it would need, so it can do so only where something
    was opened since: into a hole that ends after the first of these instants and begins before the last, if it needs
    as many cores as one for which they were opened. For a job, these are the moves behind it in the last round, and
    those before it in this one.

    What could not move says what others cannot, too: a job that needs as many cores for as long, and holds no earlier
    reservation, has no hole either that begins before the same instant, except in what was opened since.
    """
    waiting, reserved, profile = queue.waiting, queue.reserved, queue.profile
    nothing = nothing_opened()
    # By round (the last one, and this) and move: the place of the job, and what was opened by it and those behind it.
    place_of = np.empty((2, waiting.size + 1), np.int64)
    needs, span = np.empty((2, waiting.size + 1, 2), np.int64), np.empty((2, waiting.size + 1, 2), np.float64)
    # For the first round, all was opened by one move behind the last job.
    place_of[0, 0] = waiting.size
    _note(needs, span, 0, 0, opened)
    last, moves = 0, 1
    while moves:
        this, k, moves_before, moves = 1 - last, 0, moves, 0
        gained = _noted(needs, span, last, 0)  # since the job was looked at
        lately = nothing  # in this round
        failed_cores, failed_length, failed_held, since_failed = 0, np.inf, np.inf, nothing
        place = -1
        for c in range(waiting.blocks):
            heed_signals()
            b = waiting.chain[c]
            if least_of(waiting, b) > gained.most:  # none of it is concerned
                place += waiting.count[b]
                continue
            for i in range(waiting.count[b]):
                place += 1
                # What the last round opened before this place, the job has been asked about then.
                if k < moves_before and place_of[last, k] <= place:
                    while k < moves_before and place_of[last, k] <= place:
                        k += 1
                    gained = lately
                    if k < moves_before:
                        gained = joined(lately, _noted(needs, span, last, k))
                cores = waiting.entries[b, i].cores
                if not gained.least <= cores <= gained.most:
                    continue
                slot = waiting.entries[b, i].slot
                held = reserved[slot]
                if not held > gained.first:  # NaN: it has no reservation
                    continue
                length = waiting.entries[b, i].estimate
                limit, known, since = min(held, gained.last), -np.inf, gained.first
                # A job that needs no more and no longer found no hole: nor will this one, except in what was
                # opened since.
                if failed_cores <= cores and failed_length <= length and failed_held <= held:
                    concerned = since_failed.least <= cores <= since_failed.most
                    known, since = failed_held, since_failed.first if concerned else np.inf
                    if limit <= known:
                        if held <= since:
                            continue
                        limit = min(limit, since_failed.last)
                heed_signals()
                first = earlier(profile, cores, length, held, limit, gained.first, known, since)
                if first < 0:
                    failed_cores, failed_length, failed_held, since_failed = cores, length, held, nothing
                    continue
                reserved[slot] = profile.time[first]
                next_start = min(next_start, reserved[slot])
                bring_forward(profile, first, held, length, cores)
                gain = take_opened(profile)
                if gain.most >= 0:
                    gained, lately = joined(gained, gain), joined(lately, gain)
                    since_failed = joined(since_failed, gain)
                    place_of[this, moves] = place
                    _note(needs, span, this, moves, gain)
                    moves += 1
        # From the last move to the first, each adds up what it and those behind it opened.
        for k in range(moves - 2, -1, -1):
            _note(needs, span, this, k, joined(_noted(needs, span, this, k), _noted(needs, span, this, k + 1)))
        last = this
    return next_start


@compiled
def _is_broken(queue, now):
    """Return whether what is promised for now needs more cores than are free."""
    # A job that should have ended by now, and runs, has cores that were promised.
    waiting, free = queue.waiting, queue.free
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            if queue.reserved[waiting.entries[b, i].slot] == now:
                free -= waiting.entries[b, i].cores
    return free < 0


@on_demand(PROMISES, types.float64(QUEUE_STATE, types.float64))
@compiled
def first_promise(queue, now):
    """Return the earliest instant after now at which a job should end and another start; infinity if there is none.

    Other promises, made while a job runs past its estimate, follow one that cannot be kept: nothing happens there.
    """
    waiting, reserved = queue.waiting, queue.reserved
    first = np.inf
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            promised = reserved[waiting.entries[b, i].slot]  # NaN: it has no reservation
            if now < promised < first and has_key(queue.running, promised):
                first = promised
    return first


@compiled
def _give_back(queue):
    """Take their reservations from the jobs that are over a limit; return the earliest reserved start of the others."""
    waiting, reserved = queue.waiting, queue.reserved
    next_start, first, last = np.inf, np.inf, -np.inf
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            slot = waiting.entries[b, i].slot
            start = reserved[slot]
            if np.isnan(start):
                continue
            if not is_over(queue, slot):
                next_start = min(next_start, start)
                continue
            reserved[slot] = np.nan
            if start < np.inf:  # one at infinity holds no cores
                end = lasts_until(start, waiting.entries[b, i].estimate)
                add(queue.profile, start, end, queue.cores[slot])
                first, last = min(first, start), max(last, end)
    # What was opened is looked for once: hundreds of reservations cover the same segments.
    open_up(queue.profile, 0, first, last, 0)
    return next_start


@compiled
def _bring_up_to_date(queue, now, classes):
    """Bring the plan up to date: what was gained by early ends, what is new, what cannot be kept.

    It is made again if cores were lost or added, a job overran, or the order changed; and always in classes.
    """
    running = queue.running
    # Expected ends are in order, so the first says whether any is past.
    overran = running.size > 0 and running.entries[running.chain[0], 0].key < now
    if classes is not None or queue.needs_replan or overran or queue.next_reserved_start < now:
        return _plan_again(queue, now, classes)
    next_start = queue.next_reserved_start  # holds until something below changes it
    advance(queue.profile, now)
    if queue.limited and queue.limits.tightened:
        next_start = _give_back(queue)
        queue.limits.tightened = False
    opened = take_opened(queue.profile)
    if opened.most >= 0:
        # First the jobs that have a reservation: a new one takes no hole that another could move into.
        next_start = _compress(queue, opened, next_start)
    if queue.has_unreserved:
        next_start = _reserve_new(queue, now, classes, next_start)
    if next_start == now and _is_broken(queue, now):
        next_start = _plan_again(queue, now, classes)
    return next_start


@compiled
def start_reserved(queue, now, classes, n, most):
    """Bring the reservations up to date and start the jobs whose reservation is now; return how many have started.

    Parameters
    ----------
    queue, now, classes, n, most
        As for `simmodels.passes.backfilling.start_heads`.
    """
    next_start = _bring_up_to_date(queue, now, classes)
    queue.has_unreserved, queue.needs_replan = False, False
    if next_start <= now:
        next_start = np.inf
        waiting, reserved = queue.waiting, queue.reserved
        free = queue.free if classes is None else classes.free.sum()
        waits = False  # a job before this one
        limited = queue.limited
        for c in range(waiting.blocks):
            b = waiting.chain[c]
            for i in range(waiting.count[b]):
                slot = waiting.entries[b, i].slot
                if limited and np.isnan(reserved[slot]):  # it is over a limit: all others have a reservation now
                    continue
                # Behind a cap or a limit of starts a promise may be late; it is planned again at the next decision.
                may = reserved[slot] == now and waiting.entries[b, i].cores <= free and n < most
                if may and not (waits and queue.backfilled == queue.most_backfills):
                    queue.placed[n] = slot
                    n += 1
                    queue.backfilled += waits
                    free -= waiting.entries[b, i].cores
                    if limited:
                        count(queue.limits, slot, queue.cores[slot], 1)
                        # In classes, what is planned again may lie elsewhere: so it is, after each start.
                        if classes is not None or tightens(queue, slot):
                            queue.limits.tightened = True
                            queue.look_again = True
                            queue.next_reserved_start = now
                            return n
                else:
                    waits = True
                    next_start = min(next_start, reserved[slot])
    queue.next_reserved_start = next_start
    return n


@on_demand(PROMISES, types.int64(QUEUE_STATE, types.float64, types.int64, types.int64), _REPLACES)
@compiled
def start_as_promised(queue, now, n, most):
    """Do what `start_reserved` does where no machine is about to go."""
    return start_reserved(queue, now, None, n, most)


@on_demand(PROMISES, types.void(QUEUE_STATE, types.int64, types.float64), _REPLACES)
@compiled
def free_early(queue, slot, now):
    """Free the cores of a job that ended before it was expected to."""
    open_up(queue.profile, 0, now, queue.expected_end[slot], queue.cores[slot])  # from then on they were free
