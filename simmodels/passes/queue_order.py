"""Queue order: the keys of the jobs that wait, and the lists by them."""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.signals import heed_signals
from simmodels.passes import fair_share
from simmodels.passes.keys import key_of, refuse
from simmodels.passes.limiting import release_all
from simmodels.structures.queue_state import CONSERVATIVE, lengthen_entries
from simmodels.structures.sorted_blocks import new_sorted_blocks, refill, slots_of, sort_pairs

_AHEAD: Final = -float("inf")  # the key of warm and overdue jobs: before all others, among themselves by slot


@inlined
def _key_among(ahead, columns, order, row, slot, now):
    """Return the key of a waiting job in an order, NaN if it gives no number; slots below `ahead` go before all others.

    `columns` are submit, estimate, runtime, cores and draw by slot; `row` says where the rows are that the order reads.
    """
    if slot < ahead:
        return _AHEAD
    submit, estimate, runtime, cores, draw = columns
    drawn = draw[slot] if slot < draw.size else 0.0
    # An address, not a view: a view for each key would count references.
    at = row[0] + slot * row[1]
    return key_of(order, submit[slot], estimate[slot], runtime[slot], cores[slot], drawn, now, at)


@inlined
def key_for(queue, order, row, slot, now):
    """Return the key of a waiting job in an order, infinity if it gives no number, which the queue notes."""
    columns = queue.submit, queue.estimate, queue.runtime, queue.cores, queue.draw
    key = _key_among(max(queue.warm, queue.overdue_below), columns, order, row, slot, now)
    return refuse(queue, slot, now) if np.isnan(key) else key


@compiled
def place_of(queue, estimate, runtime, cores, row, now):
    """Return how many of those that wait, as last sorted, stand before a job that would be submitted now (draw 0.5)."""
    key = queue.order(now, estimate, runtime, cores, 0.0, now, 0.5, np.int64(row.ctypes.data))  # its submission is now
    if queue.limited:
        release_all(queue)
    before = 0
    for c in range(queue.waiting.blocks):
        b = queue.waiting.chain[c]
        count = queue.waiting.count[b]
        # Equal keys are in order of slots, so a job that comes now stands behind all of them.
        if not queue.waiting.entries[b, count - 1].key > key:  # a key that is no number comes last
            before += count
            continue
        for i in range(count):
            before += not queue.waiting.entries[b, i].key > key
        break
    return before


@compiled
def sort_again(queue, ordered, order, row, key, now):
    """Recompute the keys of an ordered list, and sort it; most often the order is as it was, and nothing moves."""
    ahead, ends, slots = max(queue.warm, queue.overdue_below), queue.ends, queue.slots
    columns = queue.submit, queue.estimate, queue.runtime, queue.cores, queue.draw  # read once, and not for each job
    n = 0
    is_sorted = True
    before, slot_before = -np.inf, np.int64(-1)
    for c in range(ordered.blocks):
        heed_signals()
        b = ordered.chain[c]
        for i in range(ordered.count[b]):
            slot = ordered.entries[b, i].slot
            value = _key_among(ahead, columns, order, row, slot, now)
            if np.isnan(value):
                value = refuse(queue, slot, now)
            # Ties are in order of slots, as everywhere.
            is_sorted &= before < value or (before == value and slot_before < slot)
            before, slot_before = value, slot
            key[slot] = value
            ordered.entries[b, i].key = value
            ends[n] = value
            slots[n] = slot
            n += 1
    # The entries have their new keys in the old places, which are right if nothing changed places.
    if not is_sorted:
        sort_pairs(ends, slots, queue.ends2, queue.slots2, n)
        refill(ordered, ends, slots, queue.cores, queue.estimate, n)


@inlined
def let_start(queue, starts):
    """Let there be room for as many starts in one decision."""
    if starts > queue.placed.size:
        lengthen_entries(queue, 2 * starts)


@inlined
def make_scratch(queue):
    """Begin a decision: nothing has started, and the scratch is as long as the queue."""
    queue.begun = 0
    queue.backfilled = 0
    let_start(queue, queue.waiting.size + queue.hidden)


@compiled
def set_order(queue, order, backfill_order, moving, backfill_moving, same, now):
    """Go over to another order; what waits is sorted again."""
    # What the old order refused says nothing of this one.
    queue.refused = -1
    queue.needs_replan = True
    if queue.limited:
        release_all(queue)
    queue.order = order
    queue.backfill_order = backfill_order
    queue.moving = moving
    queue.backfill_moving = backfill_moving
    queue.holds = queue.limited and queue.backfilling != CONSERVATIVE and not (moving or backfill_moving)
    make_scratch(queue)
    # Two names for one list, so that a pass need not ask which it reads.
    if same:
        queue.backfill = queue.waiting
    else:
        if queue.backfill_key.size < queue.key.size:
            queue.backfill_key = np.empty(queue.key.size, np.float64)
        backfill = new_sorted_blocks(64)
        # In any order: `sort_again` sorts it by the keys that it computes.
        waiting = slots_of(queue.waiting)
        refill(backfill, np.zeros(waiting.size), waiting, queue.cores, queue.estimate, waiting.size)
        queue.backfill = backfill
        sort_again(queue, backfill, backfill_order, queue.backfill_row, queue.backfill_key, now)
    queue.same_order = same
    sort_again(queue, queue.waiting, order, queue.row, queue.key, now)


@compiled
def sort_moving(queue, now):
    """Sort what waits again, if an order moves with time."""
    if queue.shared:
        fair_share.refresh_on_demand(queue.fair, now)
    if queue.moving:
        sort_again(queue, queue.waiting, queue.order, queue.row, queue.key, now)
    if not queue.same_order and queue.backfill_moving:
        sort_again(queue, queue.backfill, queue.backfill_order, queue.backfill_row, queue.backfill_key, now)
