"""The auction: which waiting tasks get which cores now, at the bids that they make.

The highest bidder meets the cluster with the most free cores of those that can take it; ties fall to the smaller job
and task, and to the smaller cluster. A bidder who does not fit anywhere blocks those behind it (none), or does not
(greedy), or keeps only what it will need (EASY).

Only the bids that could be the best are computed. Each waiting task has a *bound*: its key (smaller wins) is at least
that. The group's heap is by bound; at an auction its top is taken off and its key computed, until the best key found
is no worse than the least bound left: then no other task can have a better one. Bounds are exact keys if bids do not
change with time; keys of some time ago if prospects only worsen; keys of some time ahead, good until then, if they
only improve. The clear version, which computes all bids at each auction, is trend "any"; the tests hold both equal.
"""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.matching import end_on, meets, most_free, note_running, reserve
from simmodels.structures import heap
from simmodels.structures.agenda import pop, push
from simmodels.structures.arrays import grown
from simmodels.structures.auction_state import ANY, EASY, FIXED, IMPROVES, RUNNING, WAITING, WORSENS
from simmodels.work.curve import area_at, factor_at

_push, _take, _order, _change = heap.push, heap.take, heap.order, heap.change

_AHEAD: Final = 0.1  # of the critical path, is how far ahead an improving task is looked at, to begin with
_SLACK: Final = 1e-12  # more than rounding can make of a bound


@compiled
def drawn(seed, now, task):
    """Return a number in [0, 1) for a task and an instant: what SplitMix64 makes of the three."""
    # The draw depends on no other: tasks may be asked in any order, and again, at an instant.
    x = np.uint64(seed) ^ (np.uint64(np.int64(np.floor(now * 1024.0))) * np.uint64(0x9E3779B97F4A7C15))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x += np.uint64(task + 1) * np.uint64(0xD1342543DE82EF95)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * 2.0**-53


@compiled
def key_of(auction, task, now, longest, start=np.nan, queue=0.0, speed=1.0):
    """Return the key of a waiting task at an instant: its bid, turned so that the least wins.

    For a place, `speed` is that of the place, `start` when the task would start there (NaN: now), and `queue` how many
    jobs wait there. One function for both: a call with a structure takes a fourth of the time that a key takes.
    """
    heed_signals()
    job = auction.job[task]
    tick = auction.tick
    unit = auction.unit
    scale = tick / unit  # 1 for those that are in ticks already
    path = auction.critical_path[job]
    first = auction.first_point[job]
    slr = 0.0
    factor = 0.0
    area = 0.0
    draw = 0.0
    if auction.needs_slr:
        # What it would be if the task started now, and nothing waited after it.
        slr = (auction.rank[task] + (now - auction.submit[job]) / tick + auction.plus) / path
        last = auction.first_point[job + 1]
        if auction.needs_factor:
            factor = factor_at(slr, auction.slr, auction.factor, first, last)
        if auction.needs_area:
            area = area_at(slr, auction.slr, auction.factor, auction.tail, first, last)
    if auction.needs_draw:
        draw = drawn(auction.seed, now / tick, task)
    value = auction.bid(
        auction.submit[job] / unit,
        now / unit,
        (now - auction.submit[job]) / unit,
        auction.runtime[task] / unit,
        float(auction.cores[task]),
        auction.rank[task] * scale,
        path * scale,
        slr,
        factor,
        area,
        auction.value[job] * scale,
        auction.successor_sum[task] * scale,
        auction.deadline[job] * scale,
        auction.submit[job] / unit + auction.slr[first] * path * scale,
        longest * scale,
        longest * scale,
        draw,
        auction.runtime[task] / unit,
        (now if np.isnan(start) else start) / unit,
        queue,
        speed,
    )
    # The run ends with an error; until then the key has to compare.
    if np.isnan(value):
        auction.refused = task
        auction.refused_at = now
        return np.inf
    if auction.budgets:  # no bid is above what is left
        value = min(value, auction.purse[job])
    return -value if auction.high else value


@compiled
def longest_path(auction, queue):
    """Return the longest critical path of the jobs with a task in a queue, in ticks."""
    return -auction.shortness[auction.lengths[queue, 0]] if auction.lengths_size[queue] else 0.0


@compiled
def _queue_of(auction, group):
    """Return the queue in which the longest critical path for a group is looked for: its own, or that of all."""
    return group if auction.lengths_size.size > 1 else 0


# -- in and out of the queues -----------------------------------------------------------------------


@compiled
def _set_bound(auction, task, now):
    """Set what the key of a task is at least, and until when; not in the heaps yet."""
    # The bid never changes, or only gets worse: its key now is a bound for good.
    if auction.trend in (FIXED, WORSENS):
        auction.bound[task] = key_of(auction, task, now, 0.0)
    elif auction.trend == IMPROVES:
        # An improving bid is best at the end of the time for which the bound is to hold.
        ahead = auction.ahead[task]
        longest = auction.longest_bound[auction.group[auction.kind[task]]]
        here = key_of(auction, task, now, longest)
        if here == np.inf:  # it has fallen back, and stays so
            auction.bound[task] = np.inf
            auction.expiry[task] = np.inf
            return
        then = key_of(auction, task, now + ahead * auction.tick, longest)
        while then == np.inf and ahead > 1.0:  # it will have fallen back then: look less far ahead
            ahead = max(ahead / 2.0, 1.0)
            then = key_of(auction, task, now + ahead * auction.tick, longest)
        if then == np.inf:
            then = -np.inf  # no bound is known: it is looked at whenever it could win
        auction.bound[task] = then - abs(then) * _SLACK  # key and bound are rounded in other ways
        auction.expiry[task] = now + ahead * auction.tick


@compiled
def _note_expiry(auction, task):
    """Put a task into the timetable, or where its new expiry belongs there."""
    # Each waiting task is in the timetable once, at the expiry of its present bound.
    if auction.turn[task] >= 0:
        _change(auction.timetable, auction.timetable_size, auction.expiry, auction.turn, task)
        return
    if auction.timetable_size == auction.timetable.size:
        auction.timetable = grown(auction.timetable, 2 * auction.timetable.size)
    auction.timetable_size = _push(auction.timetable, auction.timetable_size, auction.expiry, auction.turn, task)


@compiled
def _wider(heaps, sizes):
    """Return the heaps, a row each, with twice the room."""
    wider = np.empty((heaps.shape[0], 2 * heaps.shape[1]), np.int64)
    for group in range(heaps.shape[0]):
        for i in range(sizes[group]):
            wider[group, i] = heaps[group, i]
    return wider


@compiled
def _file(auction, task):
    """Put a task into the heap of its group, by its bound."""
    group = auction.group[auction.kind[task]]
    if auction.waiting[group] == auction.heap.shape[1]:
        auction.heap = _wider(auction.heap, auction.waiting)
    auction.waiting[group] = _push(auction.heap[group], auction.waiting[group], auction.bound, auction.place, task)


@compiled
def _count(auction, group, job):
    """Count one more task of a job in the queue of a group."""
    queue = _queue_of(auction, group)
    # A job is in the heap of a queue while any of its tasks waits there.
    number = job * auction.lengths_size.size + queue
    auction.queued[number] += 1
    if auction.queued[number] == 1:
        if auction.lengths_size[queue] == auction.lengths.shape[1]:
            auction.lengths = _wider(auction.lengths, auction.lengths_size)
        auction.lengths_size[queue] = _push(
            auction.lengths[queue], auction.lengths_size[queue], auction.shortness, auction.by_length, number
        )
    if auction.longest_bound[group] == 0.0:  # the first to wait: no bound is older
        auction.longest_bound[group] = longest_path(auction, queue)


@compiled
def enter(auction, task, now):
    """Let a task wait."""
    auction.phase[task] = WAITING
    group = auction.group[auction.kind[task]]
    if auction.needs_longest:
        _count(auction, group, auction.job[task])
    # A lower bound: when the narrowest leaves, it stays, and only an auction too many is held.
    if auction.waiting[group] == 0 or auction.cores[task] < auction.least[group]:
        auction.least[group] = auction.cores[task]
    auction.ahead[task] = max(_AHEAD * auction.critical_path[auction.job[task]], 1.0)
    _set_bound(auction, task, now)
    _file(auction, task)
    if auction.trend == IMPROVES:
        _note_expiry(auction, task)


@compiled
def _unqueue(auction, task):
    """Forget a task that is in no group's heap any more."""
    if auction.needs_longest:
        queue = _queue_of(auction, auction.group[auction.kind[task]])
        job = auction.job[task] * auction.lengths_size.size + queue
        auction.queued[job] -= 1
        if auction.queued[job] == 0:
            auction.lengths_size[queue] = _take(
                auction.lengths[queue], auction.lengths_size[queue], auction.shortness, auction.by_length, job
            )
    if auction.turn[task] >= 0:
        auction.timetable_size = _take(auction.timetable, auction.timetable_size, auction.expiry, auction.turn, task)


@compiled
def withdraw(auction, task):
    """Take a waiting task out of the queue."""
    group = auction.group[auction.kind[task]]
    auction.waiting[group] = _take(auction.heap[group], auction.waiting[group], auction.bound, auction.place, task)
    _unqueue(auction, task)


# -- the auction ------------------------------------------------------------------------------------


@compiled
def _best(auction, group, now, longest):
    """Return the best bidder of a group that is still there; -1 if there is none."""
    if auction.trend in (FIXED, ANY):  # bounds are exact keys there
        return auction.heap[group, 0] if auction.waiting[group] else -1
    while auction.waiting[group]:
        task = auction.heap[group, 0]
        if auction.fresh_size:
            best = auction.fresh[0]
            # No task left in the heap can have a better key: its key is at least its bound.
            if auction.bound[task] > auction.key[best] or (auction.bound[task] == auction.key[best] and task > best):
                return best
        auction.waiting[group] = _take(auction.heap[group], auction.waiting[group], auction.bound, auction.place, task)
        auction.key[task] = key_of(auction, task, now, longest)
        if auction.fresh_size == auction.fresh.size:
            auction.fresh = grown(auction.fresh, 2 * auction.fresh.size)
        auction.fresh_size = _push(auction.fresh, auction.fresh_size, auction.key, auction.fresh_place, task)
    return auction.fresh[0] if auction.fresh_size else -1


@compiled
def _remove(auction, group, task):
    """Take a bidder from the queue, or from those whose bids are known."""
    # A waiting task is in one of the two heaps: by its bound, or, once looked at, by its key.
    if auction.fresh_place[task] < 0:
        auction.waiting[group] = _take(auction.heap[group], auction.waiting[group], auction.bound, auction.place, task)
    else:
        auction.fresh_size = _take(auction.fresh, auction.fresh_size, auction.key, auction.fresh_place, task)


@compiled
def _file_again(auction, task, now):
    """Let a task that was looked at wait on."""
    if auction.trend == WORSENS:
        auction.bound[task] = auction.key[task]
    elif auction.trend == IMPROVES:
        auction.ahead[task] = max(
            auction.ahead[task] / 2.0, 1.0
        )  # it is near the best: a closer bound may spare the next look
        _set_bound(auction, task, now)
        _note_expiry(auction, task)
    _file(auction, task)


@compiled
def promise(auction, task, sign):
    """Count the work of a task that is to start (1), or is not any more (-1)."""
    kind, cores = auction.kind[task], sign * auction.cores[task]
    auction.promised_cores[kind] += cores
    auction.promised[kind] += auction.undone[task] * cores
    if auction.promised_cores[kind] == 0:
        auction.promised[kind] = 0.0  # nothing is left of what was rounded


@compiled
def _start(auction, task, cluster, now):
    auction.phase[task] = RUNNING
    auction.start[task] = now
    auction.until[task] = end_on(auction, task, cluster, now)
    auction.cluster[task] = cluster
    if not auction.forward:
        auction.free[cluster] -= auction.cores[task]
    kind = auction.kind[task]
    # Work moves from what is promised to what runs.
    promise(auction, task, -1)
    auction.busy_cores[kind] += auction.cores[task]
    auction.busy_until[kind] += auction.cores[task] * auction.until[task]
    if auction.backfilling == EASY:
        note_running(auction, task)
    if auction.placed_size == auction.placed.size:
        auction.placed = grown(auction.placed, 2 * auction.placed.size)
    auction.placed[auction.placed_size] = task
    auction.placed_size += 1


@compiled
def _auction_group(auction, group, now, longest):
    """Start the tasks of a group that win cores now."""
    if auction.trend == ANY:
        for i in range(auction.waiting[group]):
            task = auction.heap[group, i]
            auction.bound[task] = key_of(auction, task, now, longest)  # for this auction alone
        _order(auction.heap[group], auction.waiting[group], auction.bound, auction.place)
    # What does not fit is set aside, so that the next best is seen; it waits on afterwards.
    aside = np.empty(64 if auction.backfilling else 1, np.int64)
    asides = 0
    reserved = -1
    shadow = np.inf
    extra = 0
    while True:
        heed_signals()
        task = _best(auction, group, now, longest)
        if task < 0:
            break
        cluster, fits = meets(auction, task, now, reserved, shadow, extra)
        if fits:
            _remove(auction, group, task)
            _unqueue(auction, task)
            if auction.prices:
                _pay(auction, group, task, now, longest)
            # It runs beside the reservation: less is left over for the next one.
            if cluster == reserved and end_on(auction, task, cluster, now) > shadow:
                extra -= auction.cores[task]
            _start(auction, task, cluster, now)
            continue
        if auction.backfilling == 0:  # the highest bidder blocks all behind it
            break
        if auction.backfilling == EASY and reserved < 0:
            reserved, shadow, extra = reserve(auction, task, now)
        if not auction.prices and (auction.backfilling != EASY or reserved >= 0):
            _backfill(auction, group, now, longest, reserved, shadow, extra)
            break
        _remove(auction, group, task)
        if asides == aside.size:
            aside = grown(aside, 2 * aside.size)
        aside[asides] = task
        asides += 1
        if most_free(auction, group) < auction.least[group]:  # nothing behind it fits
            break
    while auction.fresh_size:
        task = auction.fresh[0]
        auction.fresh_size = _take(auction.fresh, auction.fresh_size, auction.key, auction.fresh_place, task)
        _file_again(auction, task, now)
    for k in range(asides):
        _file_again(auction, aside[k], now)


@compiled
def _backfill(auction, group, now, longest, reserved, shadow, extra):
    """Start those behind the first that did not fit, in order: only the bids of those that could fit are computed.

    Not where prices are paid: they are the best other bid, of whoever could fit or not.
    """
    most = most_free(auction, group)
    if most < auction.least[group]:
        return
    room = auction.waiting[group] + auction.fresh_size
    keys, tasks, n = np.empty(room), np.empty(room, np.int64), 0
    for i in range(room):
        is_fresh = i < auction.fresh_size
        task = auction.fresh[i] if is_fresh else auction.heap[group, i - auction.fresh_size]
        # Only these are computed: most tasks of a long queue fit nowhere.
        if auction.cores[task] <= most:
            key = auction.key[task] if is_fresh else auction.bound[task]
            if not is_fresh and auction.trend not in (FIXED, ANY):
                key = key_of(auction, task, now, longest)
            push(keys, tasks, n, key, task)
            n += 1
    # Cores only get fewer, so one that did not fit need not be asked again.
    for size in range(n, 0, -1):
        task = pop(keys, tasks, size)
        heed_signals()
        cluster, fits = meets(auction, task, now, reserved, shadow, extra)
        if not fits:
            continue
        _remove(auction, group, task)
        _unqueue(auction, task)
        if cluster == reserved and end_on(auction, task, cluster, now) > shadow:
            extra -= auction.cores[task]
        _start(auction, task, cluster, now)


@compiled
def _pay(auction, group, task, now, longest):
    """Note the price of what a task has won: the best other bid at that moment, 0 if nobody else bids."""
    second = _best(auction, group, now, longest)
    price = 0.0
    if second >= 0:
        key = auction.bound[second] if auction.trend in (FIXED, ANY) else auction.key[second]
        price = -key if auction.high else key
    auction.price[task] = price
    if auction.budgets:
        job = auction.job[task]
        auction.purse[job] -= max(price, 0.0)  # no bid is above the purse, and no price above the bid
        for other in range(auction.first_task[job], auction.first_task[job + 1]):
            # With less in the purse its other tasks may bid less, also in this auction.
            if auction.place[other] >= 0 and auction.group[auction.kind[other]] == group:
                auction.bound[other] = key_of(auction, other, now, longest)
                _change(auction.heap[group], auction.waiting[group], auction.bound, auction.place, other)


@compiled
def _renew_bounds(auction, group, now, longest):
    """Bring the bounds of improving bids up to date: those that have expired, or all of a group."""
    if (
        auction.needs_longest and auction.longest_bound[group] != longest
    ):  # that of a longer one would hold, and be far off
        auction.longest_bound[group] = longest
        for i in range(auction.waiting[group]):
            _set_bound(auction, auction.heap[group, i], now)
        _order(auction.heap[group], auction.waiting[group], auction.bound, auction.place)
        _order(auction.timetable, auction.timetable_size, auction.expiry, auction.turn)
    while auction.timetable_size and auction.expiry[auction.timetable[0]] < now:
        task = auction.timetable[0]
        auction.ahead[task] *= 2.0  # it is far from the best: nobody asked for its bid meanwhile
        _set_bound(auction, task, now)
        home = auction.group[auction.kind[task]]
        _change(auction.heap[home], auction.waiting[home], auction.bound, auction.place, task)
        _change(auction.timetable, auction.timetable_size, auction.expiry, auction.turn, task)


@compiled
def _note_longest(auction, now):
    """Note the longest critical paths of an instant: of the jobs that wait when its first auction begins, or later.

    So a further auction in the same instant, as there may be before queues, bids as the first one did.
    """
    for queue in range(auction.longest.size):
        found = longest_path(auction, queue)
        auction.longest[queue] = max(found, auction.longest[queue]) if now == auction.longest_at else found
    auction.longest_at = now


@compiled
def hold_auction(auction, now):
    """Start the tasks that win cores now: they are in ``placed[:placed_size]``, in the order they start.

    References
    ----------
    Burkimsher, Soares Indrusiak 2016, section 3 and algorithm 1; one auction a kind, in the order of their names.
    """
    auction.placed_size = 0
    _note_longest(auction, now)
    for group in range(auction.waiting.size):
        # Whoever is first, nobody fits: no bid need be known.
        if auction.waiting[group] == 0 or (not auction.forward and most_free(auction, group) < auction.least[group]):
            continue
        longest = auction.longest[_queue_of(auction, group)]
        if auction.trend == IMPROVES:
            _renew_bounds(auction, group, now, longest)
        _auction_group(auction, group, now, longest)
