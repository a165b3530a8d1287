"""Queue transfer: how a queue goes on where another one was, with other options or from a snapshot."""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.limiting import count_submitted, note_size, release_all
from simmodels.passes.queue_events import admit, expect
from simmodels.structures.limit_state import count, leave_outside
from simmodels.structures.profile import copy_profile
from simmodels.structures.queue_state import CONSERVATIVE, EASY, OUTSIDE, RUNNING, lengthen_entries
from simmodels.structures.sorted_blocks import insert, refill, slots_of


@compiled
def take_over(queue, old, start, now):
    """Take over what arrived, waits and runs in another queue on the same columns, which is not used again.

    Parameters
    ----------
    queue
        An empty queue with other options.
    old
        The queue whose place it takes; what is counted against its limits is the same for both.
    start
        float64[slots], when each running slot started.
    now
        The instant, in seconds.
    """
    if old.limited:
        release_all(old)
    queue.free = old.free
    queue.phase = old.phase  # columns are shared, not copied
    queue.arrived = old.arrived
    # The lists are filled by `admit` from the first slot on: visible_below and overdue_below begin at 0 again.
    queue.warm_started = old.warm_started
    if queue.backfilling >= EASY:
        for slot in range(queue.arrived):
            if queue.phase[slot] == RUNNING:
                expect(queue, slot, start[slot])
    admit(queue, now)


@compiled
def _copy_list(queue, ordered, old, place, key, held):
    """List what another list has, and the slots that are held beside it, by new slots: place[slot]; the order stays."""
    stands_in = np.zeros(place.size, np.bool_)  # a held slot is listed there at most for its cohort, or for a party
    stands_in[held] = True
    # The old list is in order, and the new slots are in the order of the old ones: nothing is sorted.
    n = 0
    for c in range(old.blocks):
        b = old.chain[c]
        for i in range(old.count[b]):
            if not stands_in[old.entries[b, i].slot]:
                queue.ends[n] = old.entries[b, i].key
                queue.slots[n] = place[old.entries[b, i].slot]
                n += 1
    refill(ordered, queue.ends, queue.slots, queue.cores, queue.estimate, n)
    for slot in place[held]:
        insert(ordered, key[slot], slot, queue.cores[slot], queue.estimate[slot])


@compiled
def carry_on(queue, old, kept):
    """Be where another queue is, which stays as it is.

    Parameters
    ----------
    queue
        A queue in which nothing has arrived, with the options of the other except the number of its warm jobs. Its
        first slots are the jobs that wait or run in the other, its further ones those that are to come.
    old
        The other queue.
    kept
        int64[k], the slots that wait, in it or outside, or run in it, increasing.
    """
    # New slots keep the order of the old ones, so prefixes of slots stay prefixes.
    place = np.full(max(old.arrived, 1), -1)
    for k in range(kept.size):
        slot = kept[k]
        place[slot] = k
        queue.phase[k] = old.phase[slot]
        queue.key[k] = old.key[slot]
        if not queue.same_order:
            queue.backfill_key[k] = old.backfill_key[slot]
        if queue.backfilling >= EASY:
            queue.expected_end[k] = old.expected_end[slot]
        if queue.backfilling == CONSERVATIVE:
            queue.reserved[k] = old.reserved[slot]
        queue.overdue_below += slot < old.overdue_below  # counts, since slots are numbered again
        queue.visible_below += slot < old.visible_below
    queue.arrived = kept.size
    # As many are still to start.
    queue.warm_started = queue.warm - (old.warm - old.warm_started)
    queue.free = old.free
    lengthen_entries(queue, max(queue.placed.size, kept.size))
    if queue.limited:
        for k in range(kept.size):
            if queue.phase[k] == OUTSIDE:
                leave_outside(queue.limits, k)
                continue
            if queue.limits.counts_submitted:
                count_submitted(queue.limits, k, 1)
            if queue.phase[k] == RUNNING:
                count(queue.limits, k, queue.cores[k], 1)
            else:
                note_size(queue, k)
        queue.limits.tightened = True
        queue.limits.may_enter = old.limits.may_enter
    # In the new queue all of them are listed: passes hold again what they find to be over a limit.
    held = slots_of(old.limits.jobs) if old.limited else place[:0]
    _copy_list(queue, queue.waiting, old.waiting, place, queue.key, held)
    if not queue.same_order:
        _copy_list(queue, queue.backfill, old.backfill, place, queue.backfill_key, held)
    _copy_list(queue, queue.running, old.running, place, queue.expected_end, held[:0])
    copy_profile(queue.profile, old.profile)
    queue.next_reserved_start = old.next_reserved_start
    queue.has_unreserved = old.has_unreserved
    queue.needs_replan = old.needs_replan
    queue.shadow = old.shadow
