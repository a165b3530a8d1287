"""Limiting: which waiting jobs are over a limit, and what a start and an end change in that.

A queue without limits asks nothing of this; its passes see that by one flag.
"""

from simmodels.ground.compiled import compiled
from simmodels.structures.limit_state import HELD, await_party, count, full_party
from simmodels.structures.queue_state import CONSERVATIVE, WAITING
from simmodels.structures.sorted_blocks import show


@compiled
def is_over(queue, slot):
    """Return whether a waiting job would exceed a limit if it started now."""
    return queue.limited and full_party(queue.limits, slot, queue.cores[slot]) >= 0


@compiled
def held(queue, slot):
    """Return whether a job in the lists of a queue with limits is over one; then it is held from now on."""
    if queue.shown[slot] == HELD:
        return True
    party = full_party(queue.limits, slot, queue.cores[slot])
    if party < 0:
        return False
    await_party(queue.limits, slot, party)
    _show(queue, slot)
    return True


@compiled
def _show(queue, slot):
    """Let the lists show a job as it is now."""
    show(queue.waiting, queue.key[slot], slot, queue.shown[slot])
    if not queue.same_order:
        show(queue.backfill, queue.backfill_key[slot], slot, queue.shown[slot])


@compiled
def count_start(queue, slot):
    """Count a job that starts."""
    count(queue.limits, slot, queue.cores[slot], 1)


@compiled
def count_end(queue, slot):
    """Count a job no more that has ended; what its parties held is looked at again."""
    limits = queue.limits
    count(limits, slot, queue.cores[slot], -1)
    for k in range(limits.parties.shape[1]):
        party = limits.parties[slot, k]
        if party < 0:
            continue
        waits = limits.first_held[party]
        limits.first_held[party] = -1
        while waits >= 0:
            after = limits.next_held[waits]
            if queue.phase[waits] == WAITING:  # else it was withdrawn
                _look_again(queue, waits)
            waits = after


@compiled
def _look_again(queue, slot):
    """Let a job that was held be seen, unless it is over a limit still."""
    cores = queue.cores[slot]
    party = full_party(queue.limits, slot, cores)
    if party >= 0:
        await_party(queue.limits, slot, party)
        return
    queue.shown[slot] = cores
    if slot < queue.visible_below:
        _show(queue, slot)
        queue.has_unreserved |= queue.backfilling == CONSERVATIVE


@compiled
def first_in_line(queue):
    """Return the slot of the first that waits, as last sorted, and is over no limit; -1 if there is none."""
    waiting = queue.waiting
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            if not is_over(queue, waiting.slot[b, i]):
                return waiting.slot[b, i]
    return -1
