"""State: what a queue on one pool of cores is, as one structure that compiled code reads and changes.

Both engines keep their state in it; `simmodels.passes.queue_events` says what events do to it. A *slot* is
a job's number in order of arrival; every column is indexed by slot.
"""

from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.structures.arrays import grown
from simmodels.structures.fair_state import FAIR_STATE, FairState
from simmodels.structures.held_jobs import release_all
from simmodels.structures.limit_state import LIMIT_STATE, LimitState, lengthen_slots
from simmodels.structures.profile import PROFILE, new_profile
from simmodels.structures.signatures import KEY_FUNCTION
from simmodels.structures.sorted_blocks import SORTED_BLOCKS, new_sorted_blocks, slots_of, total_cores
from simmodels.structures.structure import C1, F1, F2, I1, Handle, Structure, columns_by, found_at

NONE: Final = 0
GREEDY: Final = 1
EASY: Final = 2
CONSERVATIVE: Final = 3
BACKFILLINGS: Final = {"none": NONE, "greedy": GREEDY, "easy": EASY, "conservative": CONSERVATIVE}

# The options for which functions are compiled on demand.
LIMITS: Final = "limits"
SHARES: Final = "shares"
PROMISES: Final = "conservative backfilling"

# What a slot is doing.
COMING: Final = 0
WAITING: Final = 1
RUNNING: Final = 2
DONE: Final = 3
OUTSIDE: Final = 4  # submitted, and over a limit of how many jobs may be in the queue or run


class QueueRules(NamedTuple):
    """How a queue is scheduled, as compiled code takes it: fields of the queue's state of the same names."""

    backfilling: int
    same_order: bool
    order: object
    backfill_order: object
    moving: bool
    backfill_moving: bool
    threshold: float
    depth: int
    warm: int
    most_starts: int
    most_backfills: int


_RULES = {int: types.int64, bool: types.boolean, float: types.float64, object: KEY_FUNCTION}
# Known beforehand: numba would look at each field at each call.
QueueRules._numba_type_ = types.NamedTuple(  # type: ignore[attr-defined]
    [_RULES[each] for each in QueueRules.__annotations__.values()], QueueRules
)


class QueueState(Handle):
    """A Python handle on a queue's state; made by `QueueOptions.open`."""


_AT = types.UniTuple(types.int64, 2)
QUEUE_STATE: Final = Structure(
    QueueState,
    [
        # columns by slot
        ("submit", F1, "job"),
        ("runtime", F1, "job"),
        ("estimate", F1, "job"),
        ("cores", I1, "job"),
        ("draw", F1),  # a uniform number a job, for orders that ask for it
        ("key", F1, "slot"),
        ("backfill_key", F1),
        ("expected_end", F1),
        ("reserved", F1),
        ("phase", C1, "slot", COMING),
        # what orders name beyond these: one row per slot, see `simmodels.policies.rows`
        ("rows", F2),
        ("backfill_rows", F2),
        ("row", _AT),  # the address of the first row, and how many bytes a row has
        ("backfill_row", _AT),
        # the lists
        ("waiting", SORTED_BLOCKS),
        ("backfill", SORTED_BLOCKS),
        ("running", SORTED_BLOCKS),
        ("profile", PROFILE),
        # the options
        ("backfilling", types.int64),
        ("same_order", types.boolean),  # backfill order = order
        ("order", KEY_FUNCTION),
        ("backfill_order", KEY_FUNCTION),
        ("moving", types.boolean),  # the order is computed again at every pass that could start something
        ("backfill_moving", types.boolean),
        ("threshold", types.float64),
        ("depth", types.int64),
        ("warm", types.int64),
        ("most_starts", types.int64),  # of one decision
        ("most_backfills", types.int64),  # of these
        ("limited", types.boolean),  # whether it has limits
        ("limits", LIMIT_STATE),
        ("shared", types.boolean),  # whether what users use is counted
        ("fair", FAIR_STATE),
        ("holds", types.boolean),  # whether it takes jobs that are over one out of its lists
        # the state
        ("free", types.int64),
        ("hidden", types.int64),  # how many more jobs wait than the list by order has entries
        ("arrived", types.int64),  # slots below this have arrived
        ("visible_below", types.int64),  # slots below this have been let into the first queue_depth
        ("overdue_below", types.int64),  # slots below this are overdue (or no longer wait)
        ("warm_started", types.int64),
        ("begun", types.int64),  # how many jobs the decision that is being made has started
        ("backfilled", types.int64),  # how many of them before one that waits
        ("look_again", types.boolean),  # whether the pass stopped, for a job that waits is over a limit now
        ("shadow", types.float64),  # EASY where machines are about to go: the start that it reserved; NaN if none
        ("next_reserved_start", types.float64),  # conservative: the earliest reserved start of a waiting job
        ("has_unreserved", types.boolean),
        ("needs_replan", types.boolean),
        ("refused_at", types.float64),  # when that was
        ("refused", types.int64),  # the slot for which an order gave no number; -1 when none
        # scratch, as long as the queue
        ("placed", I1, "entry"),
        ("slots", I1, "entry"),
        ("slots2", I1, "entry"),
        ("ends", F1, "entry"),
        ("ends2", F1, "entry"),
    ],
)
_lengthen_jobs, _lengthen_slots = columns_by(QUEUE_STATE, "job"), columns_by(QUEUE_STATE, "slot")
lengthen_entries = columns_by(QUEUE_STATE, "entry")


queue_at = found_at(QUEUE_STATE)


@compiled
def set_rows(queue, rows, backfill_rows):
    """Give the queue the rows of its slots, for both orders."""
    queue.rows = rows
    queue.backfill_rows = backfill_rows
    queue.row = np.int64(rows.ctypes.data), 8 * rows.shape[1]
    queue.backfill_row = np.int64(backfill_rows.ctypes.data), 8 * backfill_rows.shape[1]


@compiled
def new_queue(free, cores, columns, rows, rules, limited, limits, shared, fair):
    """Return an empty queue; `simmodels.policies.queue_options.QueueOptions.open` has its parameters."""
    made = structref.new(QUEUE_STATE)
    made.submit, made.runtime, made.estimate, made.draw = columns
    slots = cores.size
    _lengthen_slots(made, slots)
    made.backfill_key = np.full(0 if rules.same_order else slots, np.nan)
    made.expected_end = np.full(slots if rules.backfilling >= EASY else 0, np.nan)
    made.reserved = np.full(slots if rules.backfilling == CONSERVATIVE else 0, np.nan)
    made.cores = cores
    set_rows(made, rows[0], rows[1])
    made.waiting = new_sorted_blocks(8)
    made.backfill = made.waiting if rules.same_order else new_sorted_blocks(8)
    made.running = new_sorted_blocks(8)
    made.profile = new_profile(0.0, 0)
    made.backfilling = rules.backfilling
    made.same_order = rules.same_order
    made.order = rules.order
    made.backfill_order = rules.backfill_order
    made.moving = rules.moving
    made.backfill_moving = rules.backfill_moving
    made.threshold = rules.threshold
    made.depth = rules.depth
    made.warm = rules.warm
    made.most_starts = rules.most_starts
    made.most_backfills = rules.most_backfills
    made.limited = limited
    made.limits = limits
    made.shared = shared
    made.fair = fair
    made.holds = limited and rules.backfilling != CONSERVATIVE and not (rules.moving or rules.backfill_moving)
    made.free = free
    made.shadow = np.nan
    made.next_reserved_start = np.inf
    made.needs_replan = True
    made.refused = -1
    lengthen_entries(made, 64)
    return made


@compiled
def grow(queue, slots, draw):
    """Make room for `slots` slots; return the columns that the caller fills in."""
    _lengthen_jobs(queue, slots)
    _lengthen_slots(queue, slots)
    if queue.limited:
        lengthen_slots(queue.limits, slots)
    if queue.backfill_key.size:
        queue.backfill_key = grown(queue.backfill_key, slots)
    if queue.expected_end.size:
        queue.expected_end = grown(queue.expected_end, slots)
    if queue.reserved.size:
        queue.reserved = grown(queue.reserved, slots)
    queue.draw = draw
    return queue.submit, queue.runtime, queue.estimate, queue.cores


@compiled
def set_draw(queue, draw):
    """Give the queue the drawn numbers of its slots."""
    queue.draw = draw


@compiled
def warm_left(queue):
    """Return how many warm jobs there are among those that wait, run or are still to come."""
    left = max(queue.warm - queue.arrived, 0)
    for slot in range(min(queue.warm, queue.arrived)):
        left += queue.phase[slot] == WAITING or queue.phase[slot] == RUNNING
    return left


@compiled
def queue_size(queue):
    """Return how many jobs wait (in the window of queue_depth)."""
    return queue.waiting.size + queue.hidden


@compiled
def waiting_slots(queue):
    """Return int64[waiting], the slots that wait (in the window of queue_depth), in order."""
    if queue.limited:
        release_all(queue)
    return slots_of(queue.waiting)


@compiled
def slots_beyond(queue):
    """Return int64[k], the slots that wait outside the window of queue_depth, or the queue, in order of arrival."""
    if queue.limited and queue.limits.counts_submitted:  # without a window
        first, phase = 0, OUTSIDE
    else:
        first, phase = queue.visible_below, WAITING
    out = np.empty(queue.arrived - first, np.int64)
    n = 0
    for slot in range(first, queue.arrived):
        if queue.phase[slot] == phase:
            out[n] = slot
            n += 1
    return out[:n]


@compiled
def waiting_cores(queue):
    """Return how many cores all need that wait, outside the window of queue_depth too."""
    total = 0
    if queue.limited:  # some entries stand in for jobs that are held, which are in a list of their own
        for slot in slots_of(queue.waiting):
            total += queue.cores[slot] * (1 - queue.limits.is_held[slot])
        total += total_cores(queue.limits.jobs)
    else:
        total = total_cores(queue.waiting)
    for slot in slots_beyond(queue):
        total += queue.cores[slot]
    return total


@compiled
def nothing_counted():
    """Return what stands in for limits and for shares where there are none; their arrays are empty."""
    return structref.new(LIMIT_STATE), structref.new(FAIR_STATE)


@cache
def no_limits_or_shares() -> tuple[LimitState, FairState]:
    """Return `nothing_counted`, which all queues may share."""
    made: tuple[LimitState, FairState] = nothing_counted()
    return made
