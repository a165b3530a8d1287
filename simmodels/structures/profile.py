"""Profile: how many cores are free from now on, as a step function; the earliest hole in it.

It serves conservative backfilling, where every waiting job holds a reservation (Mu'alem and
Feitelson 2001, doi 10.1109/71.932708). Segments are kept in arrays sorted by time; the last one
reaches to infinity. A hole search reads segments in order, O(segments); changing an interval moves
the segments behind it, O(segments).

A segment is *watched* by jobs that hold a reservation and could start earlier if it had more cores free: it knows the
fewest cores that any of them needs, or less. Each such job watches a segment of every hole that it would need. So where
cores come free only that is *opened* which has enough now for a job that watches, and no reservation can move except
into a hole with something in it that was opened since it was looked at. A new profile counts as watched for jobs of any
size.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import INT64_MAX, ONE, ZERO
from simmodels.structures.structure import F1, I1, Handle, Structure, columns_by


class Profile(Handle):
    """A Python handle on a profile; made by `new_profile`, used inside compiled code."""

    def steps(self) -> list[tuple[float, int]]:
        """Return (time, cores free from then on) of each segment."""
        n = self.segments
        return list(zip(self.time[:n].tolist(), self.free[:n].tolist(), strict=True))


PROFILE: Final = Structure(
    Profile,
    [
        ("time", F1, "segment"),
        ("free", I1, "segment"),
        ("watched", I1, "segment"),  # the fewest cores that a job which watches it needs, or less
        ("segments", types.int64),
        ("was_opened", types.boolean),  # whether anything was since it was made: before, all is watched for all
        # what was opened and not yet taken, see `Opened`
        ("least", types.int64),
        ("most", types.int64),
        ("first", types.float64),
        ("last", types.float64),
    ],
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
    profile.watched = other.watched.copy()
    profile.segments, profile.was_opened = other.segments, other.was_opened
    profile.least, profile.most, profile.first, profile.last = other.least, other.most, other.first, other.last


class Opened(NamedTuple):
    """What was opened: for jobs of how many cores, at least and at most; from when on, and until when."""

    least: int
    most: int
    first: float
    last: float


@inlined
def joined(some, others):
    """Return what is true of what was opened here and there."""
    least, most = min(some.least, others.least), max(some.most, others.most)
    return Opened(least, most, min(some.first, others.first), max(some.last, others.last))


@inlined
def nothing_opened():
    """Return what, joined with any other, is that one."""
    return Opened(INT64_MAX, np.int64(-1), np.inf, -np.inf)


@inlined
def take_opened(profile):
    """Return what was opened since this was called before."""
    opened = Opened(profile.least, profile.most, profile.first, profile.last)
    profile.least, profile.most, profile.first, profile.last = nothing_opened()
    return opened


@compiled
def reset(profile, now, free):
    """Forget everything: `free` cores from `now` on."""
    profile.time[0] = now
    profile.free[0] = free
    profile.watched[0] = 0
    profile.segments, profile.was_opened = 1, False
    take_opened(profile)


@inlined
def _move_one(column, first, n, to):
    """Move `n` numbers of a column from place `first` to place `to`.

    Places are unsigned here: of a signed one numba asks whether it counts from the end, and then takes one number at a
    time; of a hundred segments that is seven times slower.
    """
    count = np.uint64(max(n, 0))
    if to < first:
        there, here = np.uint64(to), np.uint64(first)
        for i in range(count):
            column[there + i] = column[here + i]
    else:
        there, here = np.uint64(to + n), np.uint64(first + n)
        for i in range(count):
            column[there - i - ONE] = column[here - i - ONE]


@inlined
def _move(time, free, first, n, to):
    """Move `n` segments from place `first` to place `to`."""
    _move_one(time, first, n, to)
    _move_one(free, first, n, to)


@compiled
def _move_behind(profile, i, to):
    """Move the segments from place `i` on to place `to`."""
    n = profile.segments - i
    _move(profile.time, profile.free, i, n, to)
    _move_one(profile.watched, i, n, to)
    profile.segments = to + n


@compiled
def advance(profile, now):
    """Forget what lies before `now`."""
    n = trim(profile.time, profile.free, 0, profile.segments, now)
    _move_one(profile.watched, profile.segments - n, n, 0)
    profile.segments = n


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
def _split(profile, i, instant):
    """Let a segment begin at an instant that segment `i` holds; return its place."""
    if profile.time[i] == instant:
        return i
    if profile.segments == profile.time.size:
        lengthen_segments(profile, 2 * profile.time.size)
    _move_behind(profile, i + 1, i + 2)
    profile.time[i + 1], profile.free[i + 1], profile.watched[i + 1] = instant, profile.free[i], profile.watched[i]
    return i + 1


@inlined
def _cut_at(profile, at, instant):
    """Let a segment from place `at` on begin at an instant; return its place: at infinity, behind the last one."""
    if instant == np.inf:
        return profile.segments
    return _split(profile, _segment(profile.time, at, profile.segments - at, instant), instant)


@inlined
def _join_at(profile, i):
    """Join the segment at place `i`, if there is one, to the one before it if both have the same cores free."""
    if 0 < i < profile.segments and profile.free[i] == profile.free[i - 1]:
        profile.watched[i - 1] = min(profile.watched[i - 1], profile.watched[i])
        _move_behind(profile, i + 1, i)


@inlined
def _change(profile, first, last, cores):
    """Free `cores` more cores (fewer, if negative) in segments [first, last).

    Two equal neighbours are joined, so that there are no more segments than changes.
    """
    _raise(profile.free, first, last, cores)
    _join_at(profile, last)
    _join_at(profile, first)


@compiled
def add(profile, start, end, cores):
    """Free `cores` more cores (fewer, if negative) in [start, end); an empty interval does nothing."""
    start = max(start, profile.time[0])
    if end <= start:
        return
    first = _cut_at(profile, 0, start)
    last = _cut_at(profile, first, end)
    _change(profile, first, last, cores)


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


@inlined
def _open(profile, first, last):
    """Open segments [first, last), where cores came free: return for whom, and where, there are enough now.

    Those are looked at, and watch again what they need; until then, only who needs more than a segment has watches it.
    """
    time, free, watched, n = profile.time, profile.free, profile.watched, profile.segments
    least, most, begin, until = INT64_MAX, np.int64(-1), n, np.int64(-1)
    here = np.uint64(first)
    for i in range(np.uint64(last - first)):  # without a branch, as in `_segment`
        has, watch = free[here + i], watched[here + i]
        opened = has >= watch
        least, most = min(least, watch if opened else INT64_MAX), max(most, has if opened else -1)
        begin, until = min(begin, np.int64(i) if opened else n), max(until, np.int64(i) if opened else -1)
        watched[here + i] = has + 1 if opened else watch
    if most < 0:
        return nothing_opened()
    over = first + until + 1
    return Opened(least, most, time[first + begin], time[over] if over < n else np.inf)


@compiled
def open_up(profile, at, start, end, cores):
    """Free `cores` more cores (0 if they were added before) in [start, end), and note what is opened.

    None of it lies before segment `at`. An empty interval does nothing.
    """
    start = max(start, profile.time[0])
    if end <= start:
        return
    first = _cut_at(profile, at, start)
    last = _cut_at(profile, first, end)
    _raise(profile.free, first, last, cores)
    opened = joined(take_opened(profile), _open(profile, first, last))
    profile.least, profile.most, profile.first, profile.last = opened
    profile.was_opened = True
    _join_at(profile, last)
    _join_at(profile, first)


@compiled
def bring_forward(profile, first, held, duration, cores):
    """Let a reservation at `held` begin where segment `first` does, as found by `earlier`; note what is opened.

    It moves by the difference: cores that both reservations have stay as they are.
    """
    start = profile.time[first]
    end, until = lasts_until(start, duration), lasts_until(held, duration)
    last = _cut_at(profile, first, min(end, held))
    _change(profile, first, last, -cores)
    open_up(profile, max(first - 1, 0), max(end, held), until, cores)


@compiled
def free_in(profile, start, end):
    """Return the fewest cores free at any instant in [start, end)."""
    i = _segment(profile.time, 0, profile.segments, start)
    least = profile.free[i]
    while i + 1 < profile.segments and profile.time[i + 1] < end:
        i += 1
        least = min(least, profile.free[i])
    return least


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

    There must be room for two more. What lies behind is moved once.
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


@inlined
def take(time, free, at, n, start, end, cores):
    """Take cores out of [start, end); return how many segments there are now. An empty interval does nothing.

    There must be room for two more. The profile is as for `trim`.
    """
    start = max(start, time[at])
    if end <= start:
        return n
    first, last = _segment(time, at, n, start), _segment(time, at, n, end)
    return occupy(time, free, at, n, first, last + (time[last] < end), start, end, cores)


@compiled
def earliest(profile, start, cores, duration):
    """Return the earliest s >= start with `cores` cores free on all of [s, s + duration).

    Returns infinity when the last segment has too few cores.
    """
    return find(profile.time, profile.free, 0, profile.segments, start, cores, duration, np.inf)[0]


@compiled
def claim(profile, start, cores, duration):
    """Take cores out of the earliest hole from `start` on, as `earliest` finds it; return its begin."""
    begin, first, last = find(profile.time, profile.free, 0, profile.segments, start, cores, duration, np.inf)
    if begin == np.inf:
        return begin
    end, before = lasts_until(begin, duration), profile.segments
    first = _split(profile, first, begin)
    last += profile.segments - before
    if end < np.inf and (last == profile.segments or profile.time[last] > end):
        last = _split(profile, last - 1, end)
    _change(profile, first, last, -cores)
    return begin


@inlined
def _last_ending_by(time, n, duration, instant):
    """Return the last of the first `n` segments from whose begin an interval ends by an instant; -1 if none does.

    It ends by then (`lasts_until`) if its begin and its duration come to no more, and its begin is before. It is one of
    the last few, mostly: so it looks back twice as far each time, and then between the last two that it looked at.
    """
    at = over = np.uint64(n)
    back = ONE
    while at > ZERO:
        at = over - back if over > back else ZERO
        if time[at] + duration <= instant and time[at] < instant:
            while over - at > ONE:
                middle = at + ((over - at) >> ONE)
                if time[middle] + duration <= instant and time[middle] < instant:
                    at = middle
                else:
                    over = middle
            return np.int64(at)
        over = at
        back += back
    return np.int64(-1)


@inlined
def _fits(time, free, n, i, cores, until):
    """Return whether the cores are free from the begin of segment `i` on, and from where on they are not."""
    while i < n and free[i] >= cores:
        i += 1
    return i == n or time[i] >= until, i


@compiled
def earlier(profile, cores, duration, held, limit, ends_after, known, since):
    """Return the segment at whose begin, the earliest before `limit`, a reservation at `held` could be; -1 if none.

    Of every other hole that it looks at, a segment with too few cores is watched from now on.

    The reservation itself is part of the profile: its cores are free to itself from `held` on, so only
    [s, min(s + duration, held)) has to be looked at. The caller knows that this ends after `ends_after` wherever it
    could be, and if s is before `known`, after `since`, too; so nothing else is looked at.

    It goes backwards, from the last hole that could be to the first. A segment with too few cores in it is in all holes
    that begin before it and end after its begin; so the next that could be is the last that ends by then. Of a hundred
    segments it reads ten.
    """
    time, free, watched, n = profile.time, profile.free, profile.watched, profile.segments
    bound = min(held, limit)
    i = _segment(time, 0, n, bound)
    i -= time[i] >= bound  # a hole begins before the bound
    found = np.int64(-1)
    while i >= 0:
        until = min(lasts_until(time[i], duration), held)
        if until <= ends_after or (time[i] < known and until <= since):
            break
        fits, at = _fits(time, free, n, i, cores, until)
        if fits:
            while i > 0 and free[i - 1] >= cores:  # it could begin there, too
                i -= 1
            found, at = i, i - 1
            if i == 0:
                break
        watched[at] = min(watched[at], cores)
        if time[at] <= ends_after or lasts_until(time[0], duration) > time[at]:
            break
        i = _last_ending_by(time, i, duration, time[at])
    return found
