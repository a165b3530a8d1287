"""Profile: how many cores are free from now on, as a step function; the earliest hole in it.

It serves conservative backfilling, where every waiting job holds a reservation (Mu'alem and
Feitelson 2001, doi 10.1109/71.932708). Segments are kept in arrays sorted by time; the last one
reaches to infinity. A hole search reads segments in order, O(segments); changing an interval moves
the segments behind it, O(segments).
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.compiled import compiled
from simmodels.decisions.columns import longer
from simmodels.decisions.structure import Structure


@structref.register
class ProfileType(Structure):
    """The numba type of `Profile`."""


class Profile(structref.StructRefProxy):
    """A Python handle on a profile; made by `new_profile`, used inside compiled code."""

    def steps(self) -> list[tuple[float, int]]:
        """Return (time, cores free from then on) of each segment."""
        times = np.empty(_segments(self), np.float64)
        free = np.empty(len(times), np.int64)
        _copy(self, times, free)
        return list(zip(times.tolist(), free.tolist(), strict=True))


structref.define_boxing(ProfileType, Profile)

PROFILE: Final = ProfileType([("time", types.float64[::1]), ("free", types.int64[::1]), ("segments", types.int64)])


@compiled
def new_profile(now, free):
    """Return a profile with `free` cores from `now` on for ever."""
    made = structref.new(PROFILE)
    made.time = np.empty(64, np.float64)
    made.free = np.empty(64, np.int64)
    made.segments = 0
    reset(made, now, free)
    return made


@compiled
def _segments(profile):
    return profile.segments


@compiled
def _copy(profile, times, free):
    times[:] = profile.time[: profile.segments]
    free[:] = profile.free[: profile.segments]


@compiled
def reset(profile, now, free):
    """Forget everything: `free` cores from `now` on."""
    profile.time[0] = now
    profile.free[0] = free
    profile.segments = 1


@compiled
def advance(profile, now):
    """Forget what lies before `now`."""
    gone = 0
    while gone + 1 < profile.segments and profile.time[gone + 1] <= now:
        gone += 1
    if gone:
        left = profile.segments - gone
        for i in range(left):
            profile.time[i] = profile.time[i + gone]
            profile.free[i] = profile.free[i + gone]
        profile.segments = left
    profile.time[0] = max(profile.time[0], now)


@compiled
def _segment(profile, at):
    """Return the segment that holds the instant `at` (0 when it is before all)."""
    low = 0
    high = profile.segments
    while high - low > 1:
        middle = (low + high) // 2
        if profile.time[middle] <= at:
            low = middle
        else:
            high = middle
    return low


@compiled
def _cut(profile, at):
    """Return the segment that begins at the instant `at`, splitting one if need be."""
    i = _segment(profile, at)
    if profile.time[i] == at:
        return i
    n = profile.segments
    if n == profile.time.size:
        profile.time = longer(profile.time, 2 * n)
        profile.free = longer(profile.free, 2 * n)
    for j in range(n, i + 1, -1):
        profile.time[j] = profile.time[j - 1]
        profile.free[j] = profile.free[j - 1]
    profile.time[i + 1] = at
    profile.free[i + 1] = profile.free[i]
    profile.segments = n + 1
    return i + 1


@compiled
def _join(profile, i):
    """Join segment `i` to the one before it if both have the same cores free."""
    if i <= 0 or i >= profile.segments or profile.free[i] != profile.free[i - 1]:
        return
    for j in range(i, profile.segments - 1):
        profile.time[j] = profile.time[j + 1]
        profile.free[j] = profile.free[j + 1]
    profile.segments -= 1


@compiled
def lasts_until(start, duration):
    """Return when an interval ends; one of no length, too, takes its cores at its instant."""
    return max(start + duration, np.nextafter(start, np.inf))


@compiled
def add(profile, start, end, cores):
    """Free `cores` more cores (fewer, if negative) in [start, end); an empty interval does nothing."""
    start = max(start, profile.time[0])
    if end <= start:
        return
    first = _cut(profile, start)
    last = _cut(profile, end) if end < np.inf else profile.segments
    for i in range(first, last):
        profile.free[i] += cores
    if end < np.inf:
        _join(profile, last)
    _join(profile, first)


@compiled
def most_free(profile, end):
    """Return the most cores free at any instant before `end`."""
    most = profile.free[0]
    for i in range(1, profile.segments):
        if profile.time[i] >= end:
            break
        most = max(most, profile.free[i])
    return most


@compiled
def earliest(profile, start, cores, duration):
    """Return the earliest s >= start with `cores` cores free on all of [s, s + duration).

    For a duration of 0 the cores must be free at the instant s (see `lasts_until`). Returns infinity
    when the last segment has too few cores.
    """
    i = _segment(profile, start)
    s = max(start, profile.time[0])
    n = profile.segments
    while True:
        while i < n and profile.free[i] < cores:
            i += 1
            if i < n:
                s = profile.time[i]
        if i == n:
            return np.inf
        until = lasts_until(s, duration)
        j = i + 1
        while j < n and profile.time[j] < until and profile.free[j] >= cores:
            j += 1
        if j == n or profile.time[j] >= until:
            return s
        i = j


@compiled
def earlier(profile, start, cores, duration, held, limit):
    """Return the earliest s in [start, min(held, limit)) at which a reservation at `held` could be.

    The reservation itself is part of the profile: its cores are free to itself from `held` on, so
    only [s, min(s + duration, held)) has to be looked at. Returns `held` when there is none.
    """
    i = _segment(profile, start)
    s = max(start, profile.time[0])
    n = profile.segments
    bound = min(held, limit)
    while s < bound:
        if profile.free[i] < cores:
            i += 1
            if i == n:
                return held
            s = profile.time[i]
            continue
        until = min(lasts_until(s, duration), held)
        j = i + 1
        while j < n and profile.time[j] < until and profile.free[j] >= cores:
            j += 1
        if j == n or profile.time[j] >= until:
            return s
        i = j
    return held
