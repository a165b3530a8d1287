"""Classes: the cores of machines by when these go, for what is decided while some machines are under notice, or drain.

The cores are in classes, one for each instant at which machines go, and one for those that stay. A job may have cores
of each class that stays until it ends, by its estimate; it gets those that go first. Each class has a profile of its
own: cores that are free one after the other on two machines are of no use to one job. So reservations are made on
machines that go too, as a resource manager does before a maintenance window.

Where no machine is about to go, the passes get None instead, and count cores of one kind.
"""

from typing import NamedTuple

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.signals import heed_signals
from simmodels.structures.arrays import put
from simmodels.structures.profile import Profile, add, claim, free_in, lasts_until, new_profile, reset
from simmodels.structures.sorted_blocks import sort_pairs


class Classes(NamedTuple):
    """The cores of machines, in classes."""

    goes: Floats  # [classes], increasing: when the machines of each go; the last is infinity, of those that stay
    of: Ints  # [machines], the class of each machine; -1 of one that takes nothing
    free: Ints  # [classes], the cores that are free in each now
    profiles: list[Profile]  # how many cores of each are free from now on
    parts: list[tuple[int, int, int]]  # (slot, class, cores) of what runs, then of what starts now


@compiled
def new_classes(goes, free, running):
    """Return the classes of some machines; their profiles are made by `expect_back`.

    Parameters
    ----------
    goes
        float64[machines], when each machine goes: infinity for one that stays, NaN for one that takes nothing.
    free
        int64[machines], the cores that are free on each.
    running
        int64[k, 4]: slot, first machine, how many, and cores of each, of what runs there; a slot may have several rows.
    """
    instant, machines, n = np.empty(goes.size + 1), np.empty(goes.size + 1, np.int64), 0
    for machine in range(goes.size):
        if not np.isnan(goes[machine]):
            instant[n], machines[n] = goes[machine], machine
            n += 1
    # Machines that go at one instant are alike, so they make one class.
    sort_pairs(instant, machines, np.empty(n), np.empty(n, np.int64), n)
    of, cores, found = np.full(goes.size, -1), np.zeros(n + 1, np.int64), 0
    for k in range(n):
        if found == 0 or instant[k] > instant[found - 1]:
            instant[found] = instant[k]
            found += 1
        of[machines[k]] = found - 1
        cores[found - 1] += free[machines[k]]
    if found == 0 or instant[found - 1] < np.inf:  # no machine stays
        instant[found] = np.inf
        found += 1
    parts = [(np.int64(-1), np.int64(-1), np.int64(0)) for _ in range(0)]
    for k in range(running.shape[0]):
        slot, first, machines, each = running[k]
        for machine in range(first, first + machines):
            if of[machine] < 0:
                continue
            # Machines of one class are one part, since any of them does.
            if len(parts) > 0 and parts[-1][0] == slot and parts[-1][1] == of[machine]:
                parts[-1] = (slot, of[machine], parts[-1][2] + each)
            else:
                parts.append((slot, of[machine], each))
    return Classes(instant[:found], of, cores[:found], [new_profile(0.0, 0) for _ in range(found)], parts)


@compiled
def expect_back(classes, now, ends):
    """Make the profiles again: what is free now, and what comes back when `ends`, by slot, say; if empty, nothing."""
    for c in range(classes.goes.size):
        reset(classes.profiles[c], now, classes.free[c])
    for slot, c, cores in classes.parts:
        if ends.size == 0:
            break
        end = max(ends[slot], np.nextafter(now, np.inf))  # one that is overdue is expected to end at once
        if end <= classes.goes[c]:  # else the machine is gone before they come back
            add(classes.profiles[c], end, np.inf, cores)


@compiled
def _fits(classes, start, end, cores):
    """Return whether the cores are free for one job from an instant to another."""
    found = 0
    for c in range(classes.goes.size):
        if classes.goes[c] >= end:  # only cores that stay as long as the job
            found += free_in(classes.profiles[c], start, end)
            if found >= cores:
                return True
    return False


@compiled
def _take(classes, slot, now, start, end, cores):
    """Take the cores of a job out of the profiles, those that go first; if it starts now, it has them."""
    for c in range(classes.goes.size):
        # Those that go first, so that what stays is left for longer jobs.
        if classes.goes[c] >= end and cores > 0:
            taken = min(free_in(classes.profiles[c], start, end), cores)
            cores -= taken
            add(classes.profiles[c], start, end, -taken)
            if start == now and taken > 0:
                classes.parts.append((slot, np.int64(c), taken))


@compiled
def takes_now(classes, slot, now, cores, length):
    """Give a job its cores from now on; return whether they are free for it until it ends."""
    end = lasts_until(now, length)
    if not _fits(classes, now, end, cores):
        return False
    _take(classes, slot, now, now, end, cores)
    return True


@compiled
def book(profile, classes, slot, now, cores, length):
    """Give a job the earliest hole, in the classes or (None) in the one profile; return its begin; infinity: none."""
    if classes is None:
        return claim(profile, now, cores, length)
    start = now
    # More can only fit where a profile rises, and that is at the begin of a segment.
    while not _fits(classes, start, lasts_until(start, length), cores):
        heed_signals()
        after = np.inf  # the next instant at which a profile changes
        for each in classes.profiles:
            for i in range(each.segments):
                if each.time[i] > start:
                    after = min(after, each.time[i])
                    break
        if after == np.inf:
            return np.inf
        start = after
    _take(classes, slot, now, start, lasts_until(start, length), cores)
    return start


@compiled
def have_started(classes, known, started):
    """Let what starts now have its cores: parts[known:] of slots with ``started[slot]``; forget the other ones.

    Returns how many of the cores are of machines that go.
    """
    kept = known
    going = 0
    for k in range(known, len(classes.parts)):
        slot, c, cores = classes.parts[k]
        if started[slot]:  # else it was only reserved for now
            classes.parts[kept] = classes.parts[k]
            kept += 1
            classes.free[c] -= cores
            if classes.goes[c] < np.inf:
                going += cores
    while len(classes.parts) > kept:
        classes.parts.pop()
    return going


@compiled
def places(classes, known, free):
    """Return int64[m, 3]: slot, machine and cores of parts[known:], each on the lowest machines of its class.

    The machines of a slot are in order, whatever their classes: neighbours make one run in a record.

    Parameters
    ----------
    classes, known
        As for `have_started`.
    free
        int64[machines], the cores that were free on each before.
    """
    free = free.copy()
    # By class, all machines below this are full.
    lowest = np.zeros(classes.goes.size, np.int64)
    found = [(np.int64(-1), np.int64(-1), np.int64(0)) for _ in range(0)]
    for slot, c, cores in classes.parts[known:]:
        left = cores
        while left > 0:
            machine = lowest[c]
            taken = min(free[machine], left) if classes.of[machine] == c else np.int64(0)
            if taken > 0:
                found.append((slot, machine, taken))
                free[machine] -= taken
                left -= taken
            if left > 0:
                lowest[c] += 1
    out = np.empty((len(found), 3), np.int64)
    for k in range(len(found)):
        slot, machine, cores = found[k]
        j = k
        while j > 0 and out[j - 1, 0] == slot and out[j - 1, 1] > machine:
            put(out[j], 0, out[j - 1], 3)
            j -= 1
        out[j, 0], out[j, 1], out[j, 2] = slot, machine, cores
    return out
