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

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import ONE
from simmodels.structures.structure import F1, I1, Handle, Structure, columns_by


class Profile(Handle):
    """A Python handle on a profile; made by `new_profile`, used inside compiled code."""

    def steps(self) -> list[tuple[float, int]]:
        """Return (time, cores free from then on) of each segment."""
        n = self.segments
        return list(zip(self.time[:n].tolist(), self.free[:n].tolist(), strict=True))


PROFILE: Final = Structure(
    Profile,
    [("time", F1, "segment"), ("free", I1, "segment"), ("segments", types.int64)],
)
lengthen_segments = columns_by(PROFILE, "segment")


@compiled
def new_profile(now, free):
    """Return a profile with `free` cores free from `now` on."""
    made = structref.new(PROFILE)
    lengthen_segments(made, 64)
    reset(made, now, free)
    return made


@compiled
def copy_profile(profile, other):
    """Be as another profile is."""
    profile.time = other.time.copy()
    profile.free = other.free.copy()
    profile.segments = other.segments


@compiled
def reset(profile, now, free):
    """Forget everything: `free` cores from `now` on."""
    profile.time[0] = now
    profile.free[0] = free
    profile.segments = 1


@inlined
def _move(time, free, first, n, to):
    """Move `n` segments from place `first` to place `to`.

    Places are unsigned here: of a signed one numba asks whether it counts from the end, and then takes one number at a
    time; of a hundred segments that is seven times slower.
    """
    count = np.uint64(max(n, 0))
    if to < first:
        there, here = np.uint64(to), np.uint64(first)
        for i in range(count):
            time[there + i] = time[here + i]
        for i in range(count):
            free[there + i] = free[here + i]
    else:
        there, here = np.uint64(to + n), np.uint64(first + n)
        for i in range(count):
            time[there - i - ONE] = time[here - i - ONE]
        for i in range(count):
            free[there - i - ONE] = free[here - i - ONE]


@compiled
def advance(profile, now):
    """Forget what lies before `now`."""
    profile.segments = trim(profile.time, profile.free, 0, profile.segments, now)


@inlined
def trim(time, free, at, n, now):
    """Forget what lies before `now` of the profile in ``time[at : at + n]`` and ``free[at : at + n]``.

    Returns how many segments are left. A profile is kept in a part of two arrays, so that many can share them.
    """
    gone = 0
    while gone + 1 < n and time[at + gone + 1] <= now:  # the segment that holds now stays
        gone += 1
    if gone:
        n -= gone
        _move(time, free, at + gone, n, at)
    time[at] = max(time[at], now)
    return n


@inlined
def _segment(time, at, n, instant):
    """Return the place of the segment that holds an instant (`at` when it is before all)."""
    # Halves first, then all of a few: a search by halves alone waits for each comparison.
    while n > 32:
        half = n >> 1
        if time[at + half] <= instant:
            at += half
        n -= half
    before = 0
    here = np.uint64(at)
    for i in range(np.uint64(n)):  # without a branch: where an instant falls cannot be foreseen
        before += time[here + i] <= instant
    return at + max(before - 1, 0)


@inlined
def _cut(time, free, at, n, instant):
    """Let a segment begin at an instant; return its place, and how many segments there are now."""
    i = _segment(time, at, n, instant)
    if time[i] == instant:
        return i, n
    _move(time, free, i + 1, at + n - i - 1, i + 2)
    time[i + 1] = instant
    free[i + 1] = free[i]
    return i + 1, n + 1


@inlined
def _join(time, free, at, n, i):
    """Join the segment at place `i` to the one before it if both have the same cores free; return how many are left."""
    if i <= at or i >= at + n or free[i] != free[i - 1]:
        return n
    _move(time, free, i + 1, at + n - i - 1, i)
    return n - 1


@inlined
def _raise(free, first, last, cores):
    """Free `cores` more cores in the segments [first, last)."""
    here = np.uint64(first)
    for i in range(np.uint64(max(last - first, 0))):
        free[here + i] += cores


@inlined
def lasts_until(start, duration):
    """Return when an interval ends; one of no length, too, takes its cores at its instant."""
    end = start + duration
    return end if end > start else np.nextafter(start, np.inf)


@inlined
def free_up(time, free, at, n, start, end, cores):
    """Free `cores` more cores (fewer, if negative) in [start, end); return how many segments there are now.

    There must be room for two more. An empty interval does nothing. The profile is as for `trim`.
    """
    start = max(start, time[at])
    if end <= start:
        return n
    # Two equal neighbours are joined at the end, so that there are no more segments than changes.
    first, n = _cut(time, free, at, n, start)
    last = at + n
    if end < np.inf:
        last, n = _cut(time, free, at, n, end)
    _raise(free, first, last, cores)
    if end < np.inf:
        n = _join(time, free, at, n, last)
    return _join(time, free, at, n, first)


@compiled
def add(profile, start, end, cores):
    """Free `cores` more cores (fewer, if negative) in [start, end); an empty interval does nothing."""
    if profile.segments + 2 > profile.time.size:
        lengthen_segments(profile, 2 * profile.time.size)
    profile.segments = free_up(profile.time, profile.free, 0, profile.segments, start, end, cores)


@compiled
def append(profile, instant, cores):
    """Free `cores` more cores from an instant on that is not before the last one of the profile."""
    last = profile.segments - 1
    if profile.time[last] == instant:
        profile.free[last] += cores
        return
    if profile.segments == profile.time.size:
        lengthen_segments(profile, 2 * profile.time.size)
    profile.time[last + 1] = instant
    profile.free[last + 1] = profile.free[last] + cores
    profile.segments += 1


@compiled
def free_in(profile, start, end):
    """Return the fewest and the most cores free at any instant in [start, end)."""
    i = _segment(profile.time, 0, profile.segments, start)
    least = most = profile.free[i]
    while i + 1 < profile.segments and profile.time[i + 1] < end:
        i += 1
        least, most = min(least, profile.free[i]), max(most, profile.free[i])
    return least, most


@inlined
def find(time, free, at, n, start, cores, duration, limit):
    """Return the earliest s in [start, limit) with `cores` cores free on all of [s, s + duration); else infinity.

    For a duration of 0 the cores must be free at the instant s (see `lasts_until`). The profile is as for `trim`.
    With it comes where this is, for `occupy`: the segment in which s lies, and the first that begins at or after
    the end.
    """
    i = np.uint64(_segment(time, at, n, start))
    s = max(start, time[i])
    over = np.uint64(n + at)  # unsigned, as in `_move`
    while True:
        while i < over and free[i] < cores:
            i += ONE
            if i < over:
                s = time[i]
        if i == over or s >= limit:  # no other begins before the limit
            return np.inf, np.int64(over), np.int64(over)
        until = lasts_until(s, duration)
        j = i + ONE
        while j < over and time[j] < until and free[j] >= cores:
            j += ONE
        if j == over or time[j] >= until:
            return s, np.int64(i), np.int64(j)
        # Too few from j on, so no hole begins before j's end.
        i = j


@inlined
def occupy(time, free, at, n, first, last, start, end, cores):
    """Take cores out of [start, end), as found by `find` in the segments [first, last); return how many there are now.

    It does what `free_up` does, without looking for the places again, and moves what lies behind once.
    """
    head = int(time[first] < start)  # the first segment keeps a part before the interval
    tail = int(end < np.inf and (last == at + n or time[last] > end))  # the last one keeps a part behind it
    before = free[last - 1]
    if head + tail:
        _move(time, free, last, at + n - last, last + head + tail)
    if head:
        _move(time, free, first + 1, last - first - 1, first + 2)
        time[first + 1] = start
        free[first + 1] = free[first]
    _raise(free, first + head, last + head, -cores)
    n += head + tail
    if tail:
        time[last + head] = end
        free[last + head] = before
    else:
        n = _join(time, free, at, n, last + head)
    return n if head else _join(time, free, at, n, first)


@compiled
def earliest(profile, start, cores, duration):
    """Return the earliest s >= start with `cores` cores free on all of [s, s + duration).

    Returns infinity when the last segment has too few cores.
    """
    return find(profile.time, profile.free, 0, profile.segments, start, cores, duration, np.inf)[0]


@inlined
def _last_ending_by(time, n, duration, instant):
    """Return the last of the first `n` segments from whose begin an interval ends by an instant; -1 if none does.

    It ends by then (`lasts_until`) if its begin and its duration come to no more, and its begin is before. There is no
    branch, as in `_segment`.
    """
    at = 0
    while n > 8:
        half = n >> 1
        at += half & -np.int64((time[at + half] + duration <= instant) & (time[at + half] < instant))
        n -= half
    ending = 0
    here = np.uint64(at)
    for i in range(np.uint64(n)):
        ending += (time[here + i] + duration <= instant) & (time[here + i] < instant)
    return at + ending - 1


@inlined
def _fits(time, free, n, i, cores, until):
    """Return whether the cores are free from the begin of segment `i` on, and from where on they are not."""
    while i < n and free[i] >= cores:
        i += 1
    return i == n or time[i] >= until, i


@compiled
def earlier(profile, cores, duration, held, limit, ends_after, known, since):
    """Return the earliest s before `limit` at which a reservation at `held` could be; `held` when there is none.

    The reservation itself is part of the profile: its cores are free to itself from `held` on, so only
    [s, min(s + duration, held)) has to be looked at. The caller knows that this ends after `ends_after` wherever it
    could be, and if s is before `known`, after `since`, too; so nothing else is looked at.

    It goes backwards, from the last hole that could be to the first. A segment with too few cores in it is in all holes
    that begin before it and end after its begin; so the next that could be is the last that ends by then. Of a hundred
    segments it reads ten.
    """
    time, free, n = profile.time, profile.free, profile.segments
    bound = min(held, limit)
    i = _segment(time, 0, n, bound)
    i -= time[i] >= bound  # a hole begins before the bound
    found = held
    while i >= 0:
        until = min(lasts_until(time[i], duration), held)
        if until <= ends_after or (time[i] < known and until <= since):
            break
        fits, at = _fits(time, free, n, i, cores, until)
        if fits:
            while i > 0 and free[i - 1] >= cores:  # it could begin there, too
                i -= 1
            found, at = time[i], i - 1
            if i == 0:
                break
        if time[at] <= ends_after or lasts_until(time[0], duration) > time[at]:
            break
        i = _last_ending_by(time, i, duration, time[at])
    return found
