"""Limiting: which waiting jobs are over a limit, and what a start and an end change in that.

A queue without limits asks nothing of this; its passes see that by one flag, and what holds jobs is compiled on demand.
"""

from typing import Final

import numpy as np
from numba import types

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import MOST
from simmodels.ground.on_demand import on_demand
from simmodels.structures import held_jobs, limit_state
from simmodels.structures.limit_state import LIMIT_STATE, count, exceeds, full_to_enter, leave_outside
from simmodels.structures.queue_state import CONSERVATIVE, LIMITS, OUTSIDE, QUEUE_STATE
from simmodels.structures.sorted_blocks import SORTED_BLOCKS
from simmodels.structures.structure import arrays_of

_PLACE: Final = types.UniTuple(types.int64, 2)
_REPLACES: Final = arrays_of(SORTED_BLOCKS, LIMIT_STATE)


@compiled
def is_over(queue, slot):
    """Return whether a waiting job would exceed a limit if it started now."""
    return queue.limited and exceeds(queue.limits, slot, queue.cores[slot])


@on_demand(LIMITS, _PLACE(QUEUE_STATE, types.int64, types.int64), _REPLACES)
@compiled
def next_allowed(queue, c, i):
    """Return the place of the first job by order, from (c, i) on, that is over no limit; (-1, -1) if there is none."""
    return held_jobs.next_within_limits(queue, 0, c, i, MOST, MOST, 0.0, np.inf)


@on_demand(LIMITS, _PLACE(QUEUE_STATE, *(types.int64,) * 4, types.float64, types.float64), _REPLACES)
@compiled
def next_to_backfill(queue, c, i, free, extra, now, shadow):
    """Return what `next_fitting` does by backfill order, of jobs that are over no limit."""
    return held_jobs.next_within_limits(queue, 0 if queue.same_order else 1, c, i, free, extra, now, shadow)


@on_demand(LIMITS, types.void(QUEUE_STATE, types.int64), _REPLACES)
@compiled
def lay(queue, slot):
    """Hold a job that enters a queue, and is over a limit."""
    held_jobs.lay(queue, slot)
    held_jobs.put_back(queue)  # between passes all stands where it should


@on_demand(LIMITS, types.void(QUEUE_STATE, types.int64))
@compiled
def ask_in(queue, slot):
    """Count a job that is submitted; leave it outside over a limit, or if the next decision says who enters first."""
    limits = queue.limits
    # If some outside may enter, they were submitted before, and are asked first.
    if limits.may_enter or full_to_enter(limits, limits.cohort[slot]) >= 0:
        queue.phase[slot] = OUTSIDE
        leave_outside(limits, slot)
    else:
        limit_state.count_submitted(limits, slot, 1)


# What these do, for queues whose limits may be off.
count_submitted = on_demand(LIMITS, types.void(LIMIT_STATE, types.int64, types.int64))(limit_state.count_submitted)
next_to_enter = on_demand(LIMITS, types.int64(LIMIT_STATE))(limit_state.next_to_enter)
take_from_outside = on_demand(LIMITS, types.void(LIMIT_STATE, types.int64))(limit_state.take_from_outside)
drop = on_demand(LIMITS, types.void(QUEUE_STATE, types.int64), _REPLACES)(held_jobs.drop)
put_back = on_demand(LIMITS, types.void(QUEUE_STATE), _REPLACES)(held_jobs.put_back)
release_all = on_demand(LIMITS, types.void(QUEUE_STATE), _REPLACES)(held_jobs.release_all)
show_room = on_demand(LIMITS, types.void(QUEUE_STATE, types.int64), _REPLACES)(held_jobs.show_room)


@compiled
def note_size(queue, slot):
    """Take note of how large a job is that enters a queue with limits, for `tightens`."""
    limits = queue.limits
    largest = limits.largest
    for k in range(limits.parties.shape[1]):
        party = limits.parties[limits.cohort[slot], k]
        # Sizes of jobs that have left the queue stay: the bound may be too large, never too small.
        if party >= 0:
            largest[party, 0] = max(largest[party, 0], queue.cores[slot])
            largest[party, 1] = max(largest[party, 1], limits.core_s[slot])


@compiled
def tightens(queue, slot):
    """Return whether a job that was counted may have put another over a limit: the largest of its parties, if any."""
    limits = queue.limits
    most, used, largest = limits.most, limits.used, limits.largest
    for k in range(limits.parties.shape[1]):
        party = limits.parties[limits.cohort[slot], k]
        if party >= 0 and (
            used[party, 0] >= most[party, 0]
            or used[party, 1] + largest[party, 0] > most[party, 1]
            or used[party, 2] + largest[party, 1] > most[party, 2]
        ):
            return True
    return False


@compiled
def count_end(queue, slot):
    """Count a job no more that has ended; what its parties hold may be seen again."""
    count(queue.limits, slot, queue.cores[slot], -1)
    # Conservative holds nothing: it passes over jobs without a reservation itself.
    if queue.backfilling == CONSERVATIVE:
        queue.has_unreserved = True  # jobs that were over a limit
    elif queue.limits.jobs.size > 0:
        show_room(queue, slot)
