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
from simmodels.passes.matching import meets, most_free, note_running, reserve
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
    x = np.uint64(seed) ^ (np.uint64(np.int64(np.floor(now * 1024.0))) * np.uint64(0x9E3779B97F4A7C15))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x += np.uint64(task + 1) * np.uint64(0xD1342543DE82EF95)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * 2.0**-53


@compiled
def key_of(state, task, now, longest, start=np.nan, queue=0.0, speed=1.0):
    """Return the key of a waiting task at an instant: its bid, turned so that the least wins.

    For a place, `speed` is that of the place, `start` when the task would start there (NaN: now), and `queue` how many
    jobs wait there. One function for both: a call with a structure takes a fourth of the time that a key takes.
    """
    heed_signals()
    m = state
    job = m.job[task]
    tick = m.tick
    unit = m.unit
    scale = tick / unit  # 1 for those that are in ticks already
    path = m.critical_path[job]
    first = m.first_point[job]
    slr = 0.0
    factor = 0.0
    area = 0.0
    draw = 0.0
    if m.needs_slr:
        slr = (m.rank[task] + (now - m.submit[job]) / tick + m.plus) / path
        last = m.first_point[job + 1]
        if m.needs_factor:
            factor = factor_at(slr, m.slr, m.factor, first, last)
        if m.needs_area:
            area = area_at(slr, m.slr, m.factor, m.tail, first, last)
    if m.needs_draw:
        draw = drawn(m.seed, now / tick, task)
    value = m.bid(
        m.submit[job] / unit,
        now / unit,
        (now - m.submit[job]) / unit,
        m.runtime[task] / unit,
        float(m.cores[task]),
        m.rank[task] * scale,
        path * scale,
        slr,
        factor,
        area,
        m.value[job] * scale,
        m.successor_sum[task] * scale,
        m.deadline[job] * scale,
        m.submit[job] / unit + m.slr[first] * path * scale,
        longest * scale,
        longest * scale,
        draw,
        m.runtime[task] / unit,
        (now if np.isnan(start) else start) / unit,
        queue,
        speed,
    )
    if np.isnan(value):
        m.refused = task
        m.refused_at = now
        return np.inf
    if m.budgets:
        value = min(value, m.purse[job])
    return -value if m.high else value


@compiled
def longest_path(state, queue):
    """Return the longest critical path of the jobs with a task in a queue, in ticks."""
    return -state.shortness[state.lengths[queue, 0]] if state.lengths_size[queue] else 0.0


@compiled
def _queue_of(state, group):
    """Return the queue in which the longest critical path for a group is looked for: its own, or that of all."""
    return group if state.lengths_size.size > 1 else 0


# -- in and out of the queues -----------------------------------------------------------------------


@compiled
def _set_bound(state, task, now):
    """Set what the key of a task is at least, and until when; not in the heaps yet."""
    m = state
    if m.trend in (FIXED, WORSENS):
        m.bound[task] = key_of(m, task, now, 0.0)
    elif m.trend == IMPROVES:
        ahead = m.ahead[task]
        longest = m.longest_bound[m.group[m.kind[task]]]
        here = key_of(m, task, now, longest)
        if here == np.inf:  # it has fallen back, and stays so
            m.bound[task] = np.inf
            m.expiry[task] = np.inf
            return
        then = key_of(m, task, now + ahead * m.tick, longest)
        while then == np.inf and ahead > 1.0:  # it will have fallen back then: look less far ahead
            ahead = max(ahead / 2.0, 1.0)
            then = key_of(m, task, now + ahead * m.tick, longest)
        if then == np.inf:
            then = -np.inf
        m.bound[task] = then - abs(then) * _SLACK
        m.expiry[task] = now + ahead * m.tick


@compiled
def _note_expiry(state, task):
    """Put a task into the timetable, or where its new expiry belongs there."""
    m = state
    if m.turn[task] >= 0:
        _change(m.timetable, m.timetable_size, m.expiry, m.turn, task)
        return
    if m.timetable_size == m.timetable.size:
        m.timetable = grown(m.timetable, 2 * m.timetable.size)
    m.timetable_size = _push(m.timetable, m.timetable_size, m.expiry, m.turn, task)


@compiled
def _wider(heaps, sizes):
    """Return the heaps, a row each, with twice the room."""
    wider = np.empty((heaps.shape[0], 2 * heaps.shape[1]), np.int64)
    for group in range(heaps.shape[0]):
        for i in range(sizes[group]):
            wider[group, i] = heaps[group, i]
    return wider


@compiled
def _file(state, task):
    """Put a task into the heap of its group, by its bound."""
    m = state
    group = m.group[m.kind[task]]
    if m.waiting[group] == m.heap.shape[1]:
        m.heap = _wider(m.heap, m.waiting)
    m.waiting[group] = _push(m.heap[group], m.waiting[group], m.bound, m.place, task)


@compiled
def _count(state, group, job):
    """Count one more task of a job in the queue of a group."""
    m = state
    queue = _queue_of(m, group)
    number = job * m.lengths_size.size + queue
    m.queued[number] += 1
    if m.queued[number] == 1:
        if m.lengths_size[queue] == m.lengths.shape[1]:
            m.lengths = _wider(m.lengths, m.lengths_size)
        m.lengths_size[queue] = _push(m.lengths[queue], m.lengths_size[queue], m.shortness, m.by_length, number)
    if m.longest_bound[group] == 0.0:
        m.longest_bound[group] = longest_path(m, queue)


@compiled
def enter(state, task, now):
    """Let a task wait."""
    m = state
    m.phase[task] = WAITING
    group = m.group[m.kind[task]]
    if m.needs_longest:
        _count(m, group, m.job[task])
    if m.waiting[group] == 0 or m.cores[task] < m.least[group]:
        m.least[group] = m.cores[task]
    m.ahead[task] = max(_AHEAD * m.critical_path[m.job[task]], 1.0)
    _set_bound(m, task, now)
    _file(m, task)
    if m.trend == IMPROVES:
        _note_expiry(m, task)


@compiled
def _unqueue(state, task):
    """Forget a task that is in no group's heap any more."""
    m = state
    if m.needs_longest:
        queue = _queue_of(m, m.group[m.kind[task]])
        job = m.job[task] * m.lengths_size.size + queue
        m.queued[job] -= 1
        if m.queued[job] == 0:
            m.lengths_size[queue] = _take(m.lengths[queue], m.lengths_size[queue], m.shortness, m.by_length, job)
    if m.turn[task] >= 0:
        m.timetable_size = _take(m.timetable, m.timetable_size, m.expiry, m.turn, task)


@compiled
def withdraw(state, task):
    """Take a waiting task out of the queue."""
    group = state.group[state.kind[task]]
    state.waiting[group] = _take(state.heap[group], state.waiting[group], state.bound, state.place, task)
    _unqueue(state, task)


# -- the auction ------------------------------------------------------------------------------------


@compiled
def _best(state, group, now, longest):
    """Return the best bidder of a group that is still there; -1 if there is none."""
    m = state
    if m.trend in (FIXED, ANY):
        return m.heap[group, 0] if m.waiting[group] else -1
    while m.waiting[group]:
        task = m.heap[group, 0]
        if m.fresh_size:
            best = m.fresh[0]
            if m.bound[task] > m.key[best] or (m.bound[task] == m.key[best] and task > best):
                return best
        m.waiting[group] = _take(m.heap[group], m.waiting[group], m.bound, m.place, task)
        m.key[task] = key_of(m, task, now, longest)
        if m.fresh_size == m.fresh.size:
            m.fresh = grown(m.fresh, 2 * m.fresh.size)
        m.fresh_size = _push(m.fresh, m.fresh_size, m.key, m.fresh_place, task)
    return m.fresh[0] if m.fresh_size else -1


@compiled
def _remove(state, group, task):
    """Take a bidder from the queue, or from those whose bids are known."""
    m = state
    if m.fresh_place[task] < 0:
        m.waiting[group] = _take(m.heap[group], m.waiting[group], m.bound, m.place, task)
    else:
        m.fresh_size = _take(m.fresh, m.fresh_size, m.key, m.fresh_place, task)


@compiled
def _file_again(state, task, now):
    """Let a task that was looked at wait on."""
    m = state
    if m.trend == WORSENS:
        m.bound[task] = m.key[task]
    elif m.trend == IMPROVES:
        m.ahead[task] = max(m.ahead[task] / 2.0, 1.0)  # it is near the best: a closer bound may spare the next look
        _set_bound(m, task, now)
        _note_expiry(m, task)
    _file(m, task)


@compiled
def _start(state, task, cluster, now):
    m = state
    m.phase[task] = RUNNING
    m.start[task] = now
    m.cluster[task] = cluster
    if not m.forward:
        m.free[cluster] -= m.cores[task]
    kind = m.kind[task]
    volume = m.runtime[task] * m.cores[task]
    m.promised[kind] -= volume
    m.busy_cores[kind] += m.cores[task]
    m.busy_until[kind] += m.cores[task] * (now + m.runtime[task])
    if m.backfilling == EASY:
        note_running(m, task)
    if m.placed_size == m.placed.size:
        m.placed = grown(m.placed, 2 * m.placed.size)
    m.placed[m.placed_size] = task
    m.placed_size += 1


@compiled
def _auction_group(state, group, now, longest):
    """Start the tasks of a group that win cores now."""
    m = state
    if m.trend == ANY:
        for i in range(m.waiting[group]):
            task = m.heap[group, i]
            m.bound[task] = key_of(m, task, now, longest)
        _order(m.heap[group], m.waiting[group], m.bound, m.place)
    aside = np.empty(64 if m.backfilling else 1, np.int64)
    asides = 0
    reserved = -1
    shadow = np.inf
    extra = 0
    while True:
        heed_signals()
        task = _best(m, group, now, longest)
        if task < 0:
            break
        cluster, fits = meets(m, task, now, reserved, shadow, extra)
        if fits:
            _remove(m, group, task)
            _unqueue(m, task)
            if m.prices:
                _pay(m, group, task, now, longest)
            if cluster == reserved and now + m.runtime[task] > shadow:
                extra -= m.cores[task]
            _start(m, task, cluster, now)
            continue
        if m.backfilling == 0:
            break
        if m.backfilling == EASY and reserved < 0:
            reserved, shadow, extra = reserve(m, task, now)
        if not m.prices and (m.backfilling != EASY or reserved >= 0):
            _backfill(m, group, now, longest, reserved, shadow, extra)
            break
        _remove(m, group, task)
        if asides == aside.size:
            aside = grown(aside, 2 * aside.size)
        aside[asides] = task
        asides += 1
        if most_free(m, group) < m.least[group]:
            break
    while m.fresh_size:
        task = m.fresh[0]
        m.fresh_size = _take(m.fresh, m.fresh_size, m.key, m.fresh_place, task)
        _file_again(m, task, now)
    for k in range(asides):
        _file_again(m, aside[k], now)


@compiled
def _backfill(state, group, now, longest, reserved, shadow, extra):
    """Start those behind the first that did not fit, in order: only the bids of those that could fit are computed.

    Not where prices are paid: they are the best other bid, of whoever could fit or not.
    """
    m = state
    most = most_free(m, group)
    if most < m.least[group]:
        return
    room = m.waiting[group] + m.fresh_size
    keys, tasks, n = np.empty(room), np.empty(room, np.int64), 0
    for i in range(room):
        is_fresh = i < m.fresh_size
        task = m.fresh[i] if is_fresh else m.heap[group, i - m.fresh_size]
        if m.cores[task] <= most:
            key = m.key[task] if is_fresh else m.bound[task]
            if not is_fresh and m.trend not in (FIXED, ANY):
                key = key_of(m, task, now, longest)
            push(keys, tasks, n, key, task)
            n += 1
    for size in range(n, 0, -1):
        task = pop(keys, tasks, size)
        heed_signals()
        cluster, fits = meets(m, task, now, reserved, shadow, extra)
        if not fits:
            continue
        _remove(m, group, task)
        _unqueue(m, task)
        if cluster == reserved and now + m.runtime[task] > shadow:
            extra -= m.cores[task]
        _start(m, task, cluster, now)


@compiled
def _pay(state, group, task, now, longest):
    """Note the price of what a task has won: the best other bid at that moment, 0 if nobody else bids."""
    m = state
    second = _best(m, group, now, longest)
    price = 0.0
    if second >= 0:
        key = m.bound[second] if m.trend in (FIXED, ANY) else m.key[second]
        price = -key if m.high else key
    m.price[task] = price
    if m.budgets:
        job = m.job[task]
        m.purse[job] -= max(price, 0.0)  # no bid is above the purse, and no price above the bid
        for other in range(m.first_task[job], m.first_task[job + 1]):
            if m.place[other] >= 0 and m.group[m.kind[other]] == group:
                m.bound[other] = key_of(m, other, now, longest)
                _change(m.heap[group], m.waiting[group], m.bound, m.place, other)


@compiled
def _renew_bounds(state, group, now, longest):
    """Bring the bounds of improving bids up to date: those that have expired, or all of a group."""
    m = state
    if m.needs_longest and m.longest_bound[group] != longest:  # that of a longer one would hold, and be far off
        m.longest_bound[group] = longest
        for i in range(m.waiting[group]):
            _set_bound(m, m.heap[group, i], now)
        _order(m.heap[group], m.waiting[group], m.bound, m.place)
        _order(m.timetable, m.timetable_size, m.expiry, m.turn)
    while m.timetable_size and m.expiry[m.timetable[0]] < now:
        task = m.timetable[0]
        m.ahead[task] *= 2.0  # it is far from the best: nobody asked for its bid meanwhile
        _set_bound(m, task, now)
        home = m.group[m.kind[task]]
        _change(m.heap[home], m.waiting[home], m.bound, m.place, task)
        _change(m.timetable, m.timetable_size, m.expiry, m.turn, task)


@compiled
def _note_longest(state, now):
    """Note the longest critical paths of an instant: of the jobs that wait when its first auction begins, or later.

    So a further auction in the same instant, as there may be before queues, bids as the first one did.
    """
    m = state
    for queue in range(m.longest.size):
        found = longest_path(m, queue)
        m.longest[queue] = max(found, m.longest[queue]) if now == m.longest_at else found
    m.longest_at = now


@compiled
def auction(state, now):
    """Start the tasks that win cores now: they are in ``placed[:placed_size]``, in the order they start.

    References
    ----------
    Burkimsher, Soares Indrusiak 2016, section 3 and algorithm 1; one auction a kind, in the order of their names.
    """
    m = state
    m.placed_size = 0
    _note_longest(m, now)
    for group in range(m.waiting.size):
        # Whoever is first, nobody fits: no bid need be known.
        if m.waiting[group] == 0 or (not m.forward and most_free(m, group) < m.least[group]):
            continue
        longest = m.longest[_queue_of(m, group)]
        if m.trend == IMPROVES:
            _renew_bounds(m, group, now, longest)
        _auction_group(m, group, now, longest)
