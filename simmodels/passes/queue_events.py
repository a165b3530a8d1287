"""Queue events: what each event does to the state of a queue, and what then starts.

Both engines say what arrives, ends, or is powered, and ask `decide` what starts. It reads the state,
asks the pass of the backfilling, and applies its answer; so each rule (threshold, queue depth, warm
jobs) is written once.
"""

import numpy as np

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import MOST
from simmodels.ground.signals import heed_signals
from simmodels.passes import fair_share
from simmodels.passes.backfilling import is_behind, reservation, start_backfilled, start_heads
from simmodels.passes.conservative import first_promise, free_early, start_as_promised, start_reserved
from simmodels.passes.limiting import (
    ask_in,
    count_end,
    count_submitted,
    drop,
    is_over,
    lay,
    next_to_enter,
    note_size,
    put_back,
    release_all,
    take_from_outside,
)
from simmodels.passes.queue_order import key_for, let_start, make_scratch, sort_moving
from simmodels.structures.arrays import put
from simmodels.structures.classes import expect_back, have_started, new_classes, places
from simmodels.structures.limit_state import lift, restore
from simmodels.structures.profile import lasts_until
from simmodels.structures.queue_state import (
    CONSERVATIVE,
    DONE,
    EASY,
    NONE,
    OUTSIDE,
    RUNNING,
    WAITING,
    queue_at,
)
from simmodels.structures.sorted_blocks import insert, next_block, remove, slots_of


@compiled
def behind_first(queue, slots, first):
    """Return bool[slots]: which of these started although the first slot that waits, as last sorted, precedes them."""
    found = np.empty(slots.size, np.bool_)
    for k in range(slots.size):
        found[k] = is_behind(queue, slots[k], first)
    return found


@compiled
def reserved_start(queue, slot, now):
    """Return the start that is reserved for a waiting job: the first (EASY), or any (conservative)."""
    if queue.backfilling == CONSERVATIVE:
        return queue.reserved[slot]
    if not np.isnan(queue.shadow):
        return queue.shadow
    start, _ = reservation(queue, now, queue.free, queue.cores[slot], queue.begun)
    return start


@compiled
def next_promise(queue, now):
    """Return the next promised start for which a job that runs should end; infinity if there is none.

    `now` is that of the last decision. It is an instant of decision: if the job runs past its estimate, nothing else
    need happen then.
    """
    if queue.backfilling != CONSERVATIVE or queue.waiting.size == 0:
        return np.inf
    # While the plan holds, its earliest start is the next instant at which it asks for a decision.
    if queue.next_reserved_start > now and not queue.needs_replan:
        return queue.next_reserved_start
    return first_promise(queue, now)


@compiled
def has_fitting(queue):
    """Return whether a waiting job needs no more cores than are free."""
    return next_block(queue.waiting, 0, queue.free) < queue.waiting.blocks


# -- in and out of the lists ----------------------------------------------------------------------


@compiled
def _enter(queue, slot, now):
    """Put a job into the queue's lists."""
    key = key_for(queue, queue.order, queue.row, slot, now)
    queue.key[slot] = key
    if not queue.same_order:
        queue.backfill_key[slot] = key_for(queue, queue.backfill_order, queue.backfill_row, slot, now)
    # Passes need not go over what is held at each decision.
    if queue.holds and is_over(queue, slot):
        lay(queue, slot)
        return
    insert(queue.waiting, key, slot, queue.cores[slot], queue.estimate[slot])
    if not queue.same_order:
        insert(queue.backfill, queue.backfill_key[slot], slot, queue.cores[slot], queue.estimate[slot])
    if queue.backfilling == CONSERVATIVE:
        # NaN has the next decision look for a hole, which delays no job that has a reservation.
        queue.reserved[slot] = np.nan
        queue.has_unreserved = True
        if queue.limited:
            note_size(queue, slot)


@compiled
def _leave(queue, slot):
    """Take a job out of the queue's lists."""
    if queue.limited and queue.limits.is_held[slot]:
        drop(queue, slot)
        return
    # An entry is found by its key: this changes only with the entry, or while the job is in no list.
    remove(queue.waiting, queue.key[slot], slot)
    if not queue.same_order:
        remove(queue.backfill, queue.backfill_key[slot], slot)


@compiled
def admit(queue, now):
    """Make the earliest-submitted jobs visible, up to `depth` of them."""
    # Slots are in order of submission, so the visible ones are a prefix, less those that wait no more.
    while queue.visible_below < queue.arrived and (queue.depth == 0 or queue.waiting.size + queue.hidden < queue.depth):
        slot = queue.visible_below
        queue.visible_below += 1
        if queue.phase[slot] == WAITING:
            _enter(queue, slot, now)


@compiled
def judge(queue, now):
    """Move the jobs that wait longer than the threshold ahead of the others."""
    # Of two jobs the one submitted first is overdue first, so these are a prefix, too.
    while queue.overdue_below < queue.arrived and now - queue.submit[queue.overdue_below] > queue.threshold:
        slot = queue.overdue_below
        listed = queue.phase[slot] == WAITING and slot < queue.visible_below
        if listed:
            _leave(queue, slot)  # by its old key; the new one depends on overdue_below
        # Its place in the order changes, its promise does not.
        held = queue.reserved[slot] if queue.backfilling == CONSERVATIVE else np.nan
        queue.overdue_below += 1
        if listed:
            _enter(queue, slot, now)
            if queue.backfilling == CONSERVATIVE:
                queue.reserved[slot] = held


# -- events ---------------------------------------------------------------------------------------


@compiled
def arrive(queue, now):
    """Let the next slot arrive; its columns are filled in."""
    if queue.shared:
        fair_share.enter(queue.fair, queue.arrived, now)
    queue.phase[queue.arrived] = WAITING
    # Over a limit it stays outside, as its phase says, and `admit` passes over it.
    if queue.limited and queue.limits.counts_submitted:
        ask_in(queue, queue.arrived)
    queue.arrived += 1
    admit(queue, now)


@compiled
def _let_in(queue, now):
    """Let jobs enter that are over no limit of how many may, in order of submission."""
    slot = next_to_enter(queue.limits)
    while slot >= 0:
        queue.phase[slot] = WAITING
        _enter(queue, slot, now)
        slot = next_to_enter(queue.limits)


@compiled
def finish(queue, slot, now):
    """Let a running job end and free its cores."""
    queue.phase[slot] = DONE
    if queue.limited and queue.limits.counts_submitted:
        count_submitted(queue.limits, slot, -1)
    _release(queue, slot, now)


@compiled
def _release(queue, slot, now):
    queue.free += queue.cores[slot]  # at once; what a plan gains is for the next decision to find
    if queue.limited:
        count_end(queue, slot)
    if queue.shared:
        fair_share.count(queue.fair, slot, -queue.cores[slot], now)
    if queue.backfilling >= EASY:  # others never ask when jobs end
        end = queue.expected_end[slot]
        remove(queue.running, end, slot)
        if queue.backfilling == CONSERVATIVE and end > now:
            free_early(queue, slot, now)


@compiled
def requeue(queue, slot, now):
    """Let a job that lost its machine wait again, at its old place; its cores are freed."""
    _release(queue, slot, now)
    queue.phase[slot] = WAITING
    queue.needs_replan = True
    # It is warm still, and has to start before all that are not.
    if slot < queue.warm:
        queue.warm_started -= 1
    if queue.depth == 0 or queue.waiting.size + queue.hidden < queue.depth:
        _enter(queue, slot, now)
        return
    if queue.limited:
        release_all(queue)  # held jobs are visible, too
    last = np.int64(-1)  # `depth` jobs are visible: the latest of them gives way, if it is later
    for each in slots_of(queue.waiting):
        last = max(last, each)
    if last > slot:
        _leave(queue, last)
        queue.visible_below = last
        _enter(queue, slot, now)
    else:
        queue.visible_below = min(queue.visible_below, slot)


@compiled
def withdraw(queue, slot, now):
    """Remove a waiting job, as if it had not been submitted; return whether it waited."""
    if queue.phase[slot] == OUTSIDE:
        queue.phase[slot] = DONE
        take_from_outside(queue.limits, slot)
        return True
    if queue.phase[slot] != WAITING:
        return False
    # It counts as started, or all others would wait for it.
    if slot < queue.warm:
        queue.warm_started += 1
    if slot < queue.visible_below:
        _leave(queue, slot)
    if queue.limited and queue.limits.counts_submitted:
        count_submitted(queue.limits, slot, -1)
    queue.phase[slot] = DONE
    queue.needs_replan = True  # what was reserved for it is there for others
    admit(queue, now)
    return True


@compiled
def change_capacity(queue, cores):
    """Add free cores (take some away, if negative)."""
    # Below 0 for a moment: jobs that were lost with the cores give theirs back at the same instant.
    queue.free += cores
    queue.needs_replan = True


@compiled
def expect(queue, slot, start):
    """Note when a running job is expected to end."""
    end = start + queue.estimate[slot]
    if queue.backfilling == CONSERVATIVE:
        end = lasts_until(start, queue.estimate[slot])  # a job of no length holds cores, too
    queue.expected_end[slot] = end
    insert(queue.running, end, slot, queue.cores[slot], queue.estimate[slot])


@inlined
def _start_placed(queue, n, now):
    """Let what has started of placed[:n] and does not run yet run from now on."""
    for k in range(queue.begun, n):
        slot = queue.placed[k]
        _leave(queue, slot)  # between decisions a job waits or runs, never both
        queue.phase[slot] = RUNNING
        queue.free -= queue.cores[slot]
        if queue.shared:
            fair_share.count(queue.fair, slot, queue.cores[slot], now)
        if queue.backfilling >= EASY:
            expect(queue, slot, now)
    queue.begun = n


@compiled
def _most_starts(queue):
    """Return how many jobs may have started when the queue is looked at again."""
    more = queue.waiting.size + queue.hidden
    if queue.visible_below < queue.arrived:  # the next job becomes visible as soon as one starts: one by one
        more = min(more, 1)
    return min(queue.most_starts, queue.begun + more)


@compiled
def _start_more(queue, now, classes, backfilling, below):
    """Start what the pass says; return how many start. Heads alone are below the slot `below`."""
    n, most, known = queue.begun, _most_starts(queue), 0
    let_start(queue, n + queue.waiting.size + queue.hidden)
    if classes is not None:
        # Behind these come the parts of what starts now, and of what is only reserved for now.
        known = len(classes.parts)
        queue.shadow = np.nan
        expect_back(classes, now, queue.expected_end)
    if backfilling == NONE:
        n, _, _, _ = start_heads(queue, now, classes, n, below, most)
    elif backfilling == CONSERVATIVE:
        n = start_as_promised(queue, now, n, most) if classes is None else start_reserved(queue, now, classes, n, most)
    else:
        n = start_backfilled(queue, now, classes, n, most)
    # What stands in for held jobs moved on with the pass; between passes it stands at the first of them.
    if queue.limited and queue.limits.displaced_size > 0:
        put_back(queue)
    more = n - queue.begun
    _start_placed(queue, n, now)
    if classes is not None:  # a start takes all its cores out of those that stay
        queue.free += have_started(classes, known, queue.phase == RUNNING)
    return more


@compiled
def decide(queue, now, classes):
    """Decide which jobs start now, and start them; return how many: the slots are in `placed`.

    `classes` are the cores by when they go, None where no machine is about to go.
    """
    queue.shadow = np.nan
    if queue.limited and queue.limits.may_enter:
        _let_in(queue, now)
    if queue.waiting.size + queue.hidden == 0:
        return 0
    if queue.threshold < np.inf:  # first, since it changes keys
        judge(queue, now)
    if classes is None and queue.backfilling != CONSERVATIVE and not has_fitting(queue):
        return 0  # no job fits, whatever the order
    # From here on placed[:begun] are the slots that this decision has started.
    make_scratch(queue)
    # Warm jobs start in order of submission, without backfilling, and no other job before the last of them.
    while queue.warm_started < queue.warm:
        more = _start_more(queue, now, classes, NONE, queue.warm)
        queue.warm_started += more
        queue.needs_replan = True
        admit(queue, now)  # more become visible
        if more == 0:
            return queue.begun
    if queue.moving or queue.backfill_moving:
        sort_moving(queue, now)
    while True:
        heed_signals()
        sliding = queue.visible_below < queue.arrived
        queue.look_again = False
        more = _start_more(queue, now, classes, queue.backfilling, queue.arrived)
        if more == 0 or not (sliding or queue.look_again):
            return queue.begun
        admit(queue, now)


@compiled
def resume(queue, now, count):
    """Let the next `count` slots arrive that run already, and start: whatever the limits, and however many at once.

    All fit together. Returns how many started: the slots are in `placed`.
    """
    # What ran before is not refused now: limits and the cap on starts hold again from the next decision on.
    most, most_starts = lift(queue.limits), queue.most_starts
    queue.most_starts = MOST
    take_note(queue, now, queue.slots, 0, count)
    started = decide(queue, now, None)
    queue.placed[:started].sort()  # by submission, whatever the order: so they get machines
    queue.most_starts = most_starts
    restore(queue.limits, most)
    return started


@compiled
def decide_under_notice(queue, now, goes, free, running):
    """Decide as `decide` does, where some machines will go at instants that are known, or drain.

    Parameters
    ----------
    queue, now
        The state, and the instant.
    goes, free, running
        When each machine goes, its free cores, and what the queue runs there, see `simmodels.structures.classes`.

    Returns
    -------
    int, int64[m, 3]
        How many start: the slots are in `placed`; and slot, machine and cores of what they have.
    """
    classes = new_classes(goes, free, running)
    known = len(classes.parts)
    starts = decide(queue, now, classes)
    queue.needs_replan = True  # the profile of one kind of cores is not kept meanwhile
    return starts, places(classes, known, free)


@compiled
def take_note(queue, now, slots, ends, arrivals):
    """Let slots[:ends] end and the next `arrivals` slots arrive."""
    for k in range(ends):
        finish(queue, slots[k], now)
    for _ in range(arrivals):
        arrive(queue, now)


@compiled
def instant(address, now, slots, ends, arrivals):
    """Let slots[:ends] end and the next `arrivals` slots arrive, decide, and return how many start.

    Those that start are in slots[:starts] then, if they have room there; else in queue.placed alone. `address` is that
    of the queue, see `simmodels.structures.structure.address_of`.

    One call an instant: it saves the SimPy engine a crossing from Python for each event, and an array that is made.
    """
    queue = queue_at(address)
    take_note(queue, now, slots, ends, arrivals)
    starts = decide(queue, now, None)
    if starts <= slots.size:
        put(slots, 0, queue.placed, starts)
    return starts


@compiled
def instant_under_notice(queue, now, slots, ends, arrivals, goes, free, running):
    """Do what `instant` does where machines are about to go; return what `decide_under_notice` does."""
    take_note(queue, now, slots, ends, arrivals)
    return decide_under_notice(queue, now, goes, free, running)


@compiled
def next_promise_at(address, now):
    """Return `next_promise` of the queue at an address, as `instant` takes it."""
    return next_promise(queue_at(address), now)
