"""Under notice: what starts where some machines will go at instants that are known, or drain.

The cores are in classes, one for each instant at which machines go, and one for those that stay. A job may have cores
of each class that stays until it ends, by its estimate; it gets those that go first. Each class has a profile of its
own: cores that are free one after the other on two machines are of no use to one job. So reservations are made on
machines that go too, as a resource manager does before a maintenance window.
"""

from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.queue_events import (
    admit,
    arrive,
    finish,
    judge,
    make_room,
    make_scratch,
    most_starts,
    sort_again,
    start_placed,
)
from simmodels.structures.arrays import grown
from simmodels.structures.profile import add, lasts_until, least_free, new_profile
from simmodels.structures.queue_state import CONSERVATIVE, EASY, NONE

_ALL: Final = np.iinfo(np.int64).max


@compiled
def _fits(profiles, goes, start, end, cores):
    """Return whether `cores` cores are free for one job from an instant to another."""
    found = 0
    for c in range(goes.size):
        if goes[c] >= end:
            found += least_free(profiles[c], start, end)
            if found >= cores:
                return True
    return False


@compiled
def _earliest(profiles, goes, now, cores, length):
    """Return the earliest start of a job; infinity if there is none."""
    start = now
    while not _fits(profiles, goes, start, lasts_until(start, length), cores):
        heed_signals()
        after = np.inf  # the next instant at which a profile changes
        for profile in profiles:
            for i in range(profile.segments):
                if profile.time[i] > start:
                    after = min(after, profile.time[i])
                    break
        if after == np.inf:
            return np.inf
        start = after
    return start


@compiled
def _take(profiles, goes, start, end, cores, taken):
    """Take cores out of the profiles from an instant to another, those that go first; say how many of each class."""
    for c in range(goes.size):
        taken[c] = 0
        if goes[c] >= end and cores > 0:
            taken[c] = min(least_free(profiles[c], start, end), cores)
            cores -= taken[c]
            add(profiles[c], start, end, -taken[c])


@compiled
def predicted_under_notice(now, goes, free, ends, of, freed, lengths, needed):
    """Return the start of the last of some jobs that wait, if each gets the earliest hole, in order; or infinity.

    Parameters
    ----------
    now, goes, free
        As in `instant_under_notice`.
    ends, of, freed
        float64[k], int64[k], int64[k]: when cores come back by what is known, their class, and how many.
    lengths, needed
        float64[n], int64[n]: how long the jobs that wait are expected to run, and their cores, in order.
    """
    profiles = [new_profile(now, cores) for cores in free]
    for k in range(ends.size):
        end = max(ends[k], np.nextafter(now, np.inf))
        if end <= goes[of[k]]:
            add(profiles[of[k]], end, np.inf, freed[k])
    none = np.empty(goes.size, np.int64)
    start = now
    for k in range(lengths.size):
        start = _earliest(profiles, goes, now, needed[k], lengths[k])
        if start == np.inf:
            break
        _take(profiles, goes, start, lasts_until(start, lengths[k]), needed[k], none)
    return start


@compiled
def _profiles(queue, now, goes, free, parts, n):
    """Return the profile of each class, by what is free and what runs."""
    profiles = [new_profile(now, cores) for cores in free]
    if queue.backfilling >= EASY:  # else only what is free now is asked for
        for k in range(n):
            end = max(queue.expected_end[parts[k, 0]], np.nextafter(now, np.inf))
            if end <= goes[parts[k, 1]]:
                add(profiles[parts[k, 1]], end, np.inf, parts[k, 2])
    return profiles


@compiled
def _pass(queue, now, profiles, goes, below, most, taken):
    """Write who starts into ``queue.placed``, and their cores by class into `taken`; return how many, and the shadow.

    Only slots below `below` start, and at most `most`.
    """
    n = 0
    shadow = np.nan
    backfilling = NONE if below < _ALL else queue.backfilling
    none = np.empty(goes.size, np.int64)
    head = np.int64(-1)
    ordered = queue.waiting
    c = 0
    i = 0
    while c < ordered.blocks and n < most:
        heed_signals()
        b = ordered.chain[c]
        slot = ordered.slot[b, i]
        cores = queue.cores[slot]
        length = queue.estimate[slot]
        until = lasts_until(now, length)
        again = False
        before = queue.key[slot] < queue.key[head] or (queue.key[slot] == queue.key[head] and slot <= head)
        if head >= 0 and not queue.same_order and before:
            pass  # in the backfill order, who precedes the head has started, and the head is itself
        elif slot < below and _fits(profiles, goes, now, until, cores):
            _take(profiles, goes, now, until, cores, taken[n])
            if backfilling == CONSERVATIVE:
                queue.reserved[slot] = now
            queue.placed[n] = slot
            n += 1
        elif backfilling == NONE:
            return n, shadow
        elif backfilling == CONSERVATIVE or (backfilling == EASY and head < 0):
            start = _earliest(profiles, goes, now, cores, length)
            if start < np.inf:
                _take(profiles, goes, start, lasts_until(start, length), cores, none)
            if backfilling == CONSERVATIVE:
                queue.reserved[slot] = start
            else:
                head = slot
                shadow = start
                again = not queue.same_order
        i += 1
        if i == ordered.count[b]:
            c += 1
            i = 0
        if again:  # the others in the backfill order
            ordered = queue.backfill
            c = 0
            i = 0
    return n, shadow


@compiled
def _begin(queue, first, n, now, goes, free, parts, size, taken):
    """Let placed[:n] run from now on; note what they have, and return it with how much that is."""
    for k in range(n):
        for c in range(goes.size):
            if taken[k, c] > 0:
                if size == parts.shape[0]:
                    more = np.empty((2 * size, 3), np.int64)
                    more[:size] = parts
                    parts = more
                parts[size, 0] = queue.placed[k]
                parts[size, 1] = c
                parts[size, 2] = taken[k, c]
                size += 1
                free[c] -= taken[k, c]
                if goes[c] < np.inf:
                    queue.free += taken[k, c]  # starting takes them all out of those that stay
    start_placed(queue, 0, n, now)
    for k in range(n):
        first[k] = queue.placed[k]
    return parts, size


@compiled
def instant_under_notice(queue, now, ended, ends, arrivals, goes, free, running):
    """Let slots end and arrive, as `simmodels.passes.queue_events.instant` does, and decide what starts.

    Parameters
    ----------
    queue, now, ended, ends, arrivals
        As there.
    goes
        float64[classes], increasing: when the machines of each class go; the last is infinity, of those that stay.
    free
        int64[classes], the cores that are free in each, after what ended; of those that stay the queue knows.
    running
        int64[k, 3]: slot, class and cores of what runs on machines that do not drain; a slot may have several rows.

    Returns
    -------
    tuple
        int64[n], the slots that start; int64[m, 3], what they have, as `running`; and the start that the first that
        waits was promised (NaN: none was asked for).
    """
    for k in range(ends):
        finish(queue, ended[k], now)
    for _ in range(arrivals):
        arrive(queue, now)
    queue.needs_replan = True
    free = free.copy()
    free[-1] = queue.free
    parts = np.empty((2 * running.shape[0] + 16, 3), np.int64)
    parts[: running.shape[0]] = running
    size = running.shape[0]
    started = np.empty(16, np.int64)
    total = 0
    shadow = np.nan
    if queue.waiting.size and queue.threshold < np.inf:
        judge(queue, now)
    make_scratch(queue)
    while queue.waiting.size:
        heed_signals()
        if queue.moving:
            sort_again(queue, queue.waiting, queue.order, queue.row, queue.key, now)
        if not queue.same_order and queue.backfill_moving:
            sort_again(queue, queue.backfill, queue.backfill_order, queue.backfill_row, queue.backfill_key, now)
        warm = queue.warm_started < queue.warm
        sliding = queue.visible_below < queue.arrived
        most = most_starts(queue)
        make_room(queue, queue.waiting.size)
        taken = np.empty((most, goes.size), np.int64)
        profiles = _profiles(queue, now, goes, free, parts, size)
        n, shadow = _pass(queue, now, profiles, goes, queue.warm if warm else _ALL, most, taken)
        if total + n > started.size:
            started = grown(started, 2 * (total + n))
        parts, size = _begin(queue, started[total:], n, now, goes, free, parts, size, taken)
        total += n
        if warm:
            queue.warm_started += n
        if n:
            admit(queue, now)
        if n == 0 or not (warm or sliding):
            break
    return started[:total], parts[running.shape[0] : size], shadow
