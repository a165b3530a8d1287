"""Prediction: when a job would start, if every job before it got the earliest hole that is left."""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.queue_events import place_of
from simmodels.structures.classes import book, expect_back, new_classes
from simmodels.structures.profile import add, append, earliest, lasts_until, new_profile
from simmodels.structures.queue_state import RUNNING, WAITING, queue_at


@compiled
def predicted_start(now, free, place, ends, freed, lengths, needed):
    """Return the start of the last of some jobs that wait; infinity if it, or one before it, gets no hole.

    Parameters
    ----------
    now
        The instant.
    free
        int64[places], the cores that are free at each place: a pool, or machines. A job runs at one of them.
    place, ends, freed
        int64[k], float64[k], int64[k]: where running jobs run, when they are expected to end, and their cores. One that
        is overdue is expected to end at once.
    lengths, needed
        float64[n], int64[n]: how long the jobs that wait are expected to run, and their cores, in order.
    """
    profiles = [new_profile(now, cores) for cores in free]
    for k in range(ends.size):
        add(profiles[place[k]], max(ends[k], np.nextafter(now, np.inf)), np.inf, freed[k])
    start = np.inf
    for k in range(lengths.size):
        start, best = np.inf, 0
        for i in range(free.size):
            found = earliest(profiles[i], now, needed[k], lengths[k])
            if found < start:
                start, best = found, i
        if start == np.inf:
            break
        add(profiles[best], start, lasts_until(start, lengths[k]), -needed[k])
    return start


@compiled
def predicted_under_notice(now, goes, free, running, ends, lengths, needed):
    """Return what `predicted_start` does of a queue on machines of which some are about to go.

    Parameters
    ----------
    now
        The instant.
    goes, free, running
        Of the machines, as `simmodels.structures.classes.new_classes` takes them.
    ends
        float64[slots], when what runs is expected to end.
    lengths, needed
        As for `predicted_start`.
    """
    classes = new_classes(goes, free, running)
    expect_back(classes, now, ends)
    start = now
    for k in range(lengths.size):
        start = book(classes.profiles[0], classes, k, now, needed[k], lengths[k])
        if start == np.inf:
            break
    return start


@compiled
def predicted_in_queue(address, now, free, ended, lengths, needed, job, row):
    """Return what `predicted_start` says of a job that would be submitted now to an EASY queue on a pool.

    NaN if something runs there that is not of the queue. Only EASY keeps what runs by when it is expected to end.

    Parameters
    ----------
    address
        Of the queue; all that the last decision knew is taken from it.
    free
        How many cores are free.
    ended
        int64[k], the slots that have ended since.
    lengths, needed
        float64[n], int64[n]: how long those that were submitted since are expected to run, and their cores.
    job
        estimate, runtime, cores of the job, and how long it is expected to run.
    row
        float64[...], what the order asks beyond these.
    """
    queue = queue_at(address)
    estimate, runtime, cores, length = job
    gone = 0
    for slot in ended:
        if queue.phase[slot] == RUNNING:
            gone += queue.cores[slot]
    if queue.free + gone != free:
        return np.nan
    profile = new_profile(now, free)
    for c in range(queue.running.blocks):
        b = queue.running.chain[c]
        for i in range(queue.running.count[b]):
            slot = queue.running.slot[b, i]
            if ended.size == 0 or not (ended == slot).any():
                append(profile, max(queue.expected_end[slot], np.nextafter(now, np.inf)), queue.cores[slot])
    place = place_of(queue, estimate, runtime, cores, row, now)
    for c in range(queue.waiting.blocks):
        b = queue.waiting.chain[c]
        for i in range(min(queue.waiting.count[b], place)):
            slot = queue.waiting.slot[b, i]
            if not _takes(profile, now, queue.cores[slot], queue.estimate[slot]) < np.inf:
                return np.inf
        place -= queue.waiting.count[b]
        if place <= 0:
            break
    for slot in range(queue.visible_below, queue.arrived):
        if queue.phase[slot] == WAITING and not _takes(profile, now, queue.cores[slot], queue.estimate[slot]) < np.inf:
            return np.inf
    for k in range(needed.size):
        if not _takes(profile, now, needed[k], lengths[k]) < np.inf:
            return np.inf
    return earliest(profile, now, cores, length)


@compiled
def _takes(profile, now, cores, length):
    """Give a job the earliest hole; return when that begins, infinity without one."""
    start = earliest(profile, now, cores, length)
    if start < np.inf:
        add(profile, start, lasts_until(start, length), -cores)
    return start
