"""Planning: which machine each of a list of jobs goes to, and when; what a replan spends its time in.

A job looks at no more than 2 x distance + 1 machines, its *search window*, and at few of these in earnest: for
each machine and each class of jobs (widths to an octave, lengths to an octave) a bound is kept before which no
job of the class can start there. Profiles only fill up until they are made again, so a bound holds until then.
The machine of the least bound is searched from the bound on; if the job can start at the bound itself, no other
machine can be earlier; else what was found is its bound, and the least one is tried again. A bound is made exact for
all lengths of a width at once, when it is the least and a job has been planned on its machine since: so on a log of
33,000 jobs a placement surveys two machines and searches one. The result is that of a
search of every machine of the window, which is how `tests/naive_capacity.py` has it.
"""

import math
from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.signals import heed_signals
from simmodels.structures.placement_state import OCTAVES, TARGET_STRETCH
from simmodels.structures.profile import find, hole, lasts_until, occupy, trim

PACKS: Final = 0
NEAREST: Final = 1
FLOOR: Final = 2

_TOLERANCE: Final = 1e-12  # a planned stretch may exceed the longest so far by rounding


@inlined
def _target(share, use, pack, packing):
    """Return the rank of the machine that a job of this category should run on."""
    plain = min(int(np.floor(share * use)), use - 1)
    if pack == 0:
        return plain
    if packing == PACKS:
        packs = max(1, use // pack)
        return pack * min(int(np.floor(share * packs)), packs - 1)
    if packing == FLOOR:
        return pack * (plain // pack)
    return min(pack * ((plain + pack // 2) // pack), use - 1)


@inlined
def _near(target, k, left_first):
    """Return the k-th rank of a search window: the target, then the nearest, on one side and then on the other."""
    away = (k + 1) // 2
    return target + away if (k % 2 == 1) != left_first else target - away


@inlined
def _least(likely, n):
    """Return the least of the first n bounds; apart from `_first`, since so it takes a few vector instructions."""
    least = likely[0]
    for i in range(1, n):
        least = min(least, likely[i])
    return least


@inlined
def _first(likely, n, at, least, by_rank, left_first):
    """Return the place of the first of the first n bounds that is the least: the target's, `at`, before the others.

    The others in order of rank, or of the search window.
    """
    if likely[at] == least:
        return at
    if by_rank:
        best = n
        for i in range(n):
            best = min(best, i if likely[i] == least else n)
        return best
    k = 1
    while True:
        i = _near(at, k, left_first)
        if 0 <= i < n and likely[i] == least:
            return i
        k += 1


@inlined
def _survey(time, free, at, n, cores, first, last, brief, bound, rank):
    """Say for jobs of a width when the shortest of each class of lengths can start on a machine, as `hole` would.

    The classes are ``[first, last)``, the shortest of the first is `brief` long; the profile is as for `trim`.
    """
    i = at
    n += at
    while True:
        while i < n and free[i] < cores:
            i += 1
        if i == n:
            break
        start = time[i]
        while i < n and free[i] >= cores:
            i += 1
        if i == n:
            for kind in range(first, last):
                bound[kind, rank] = start
            return
        end = time[i]
        while start + brief <= end:
            bound[first, rank] = start
            brief = max(2.0 * brief, 2.0)
            first += 1
            if first == last:
                return


@compiled
def plan(state, slots, done, now, fresh):
    """Say of slots[done:], in this order, where and when each starts; return how many of `slots` are done.

    Not all are when a profile has no room: the caller makes some and calls again. TargetStretch: the target, if the
    job can start there at once or its stretch stays below the longest so far; else where it can start first.
    TargetASAP: the target or the nearest machine on which it can start at once; else where it can start first
    (sections 4.3 and 4.4).

    Parameters
    ----------
    state
        The state; some machine is open.
    slots
        int64[k], the jobs.
    done
        How many of them have been placed.
    now
        The instant.
    fresh
        Whether they have just been submitted.
    """
    submit, length, left_of, cores_of, weight = state.submit, state.length, state.left, state.cores, state.weight
    start_of, machine_of = state.start, state.machine
    time, free, room, segments = state.time, state.cores_free, state.room, state.segments
    ranked, bound, likely = state.ranked, state.bound, state.likely
    use, distance, pack, packing = state.use, state.rules.distance, state.rules.pack, state.rules.packing
    exact = state.exact
    by_rank, left_first, by_plan = state.rules.by_rank, state.rules.left_first, state.rules.by_plan
    first_that_stays = state.rules.first_that_stays
    machines = state.alive if state.rules.beyond_use else use
    asap = state.rules.kind != TARGET_STRETCH
    stays = not asap or state.rules.stay
    at_once = asap and (fresh or state.rules.requeue_immediate)
    stretch, shortest, longest = state.stretch, state.shortest, state.longest
    least_left = 2.0**shortest if shortest > 0 else 0.0
    soon = np.nextafter(now, np.inf)
    for at in range(done, slots.size):
        heed_signals()
        slot = slots[at]
        cores = cores_of[slot]
        left = left_of[slot]
        wide = math.frexp(cores)[1] - 1  # the octave, as of lengths: no table, which wide machines would make long
        step = min(max(math.frexp(left)[1] - 1, 0), OCTAVES - 1)
        if step < shortest or step > longest:
            shortest, longest = min(step, shortest), max(step, longest)
            state.shortest, state.longest = shortest, longest
            least_left = 2.0**shortest if shortest > 0 else 0.0
            exact[:] = False
        kind = wide * OCTAVES + step
        target = _target(weight[slot], use, pack, packing)
        low = max(target - distance, 0)
        n = min(target + distance + 1, machines) - low
        middle = target - low
        if fresh:  # else the profiles have just been made again
            for rank in range(low, low + n):
                machine = ranked[rank]
                segments[machine] = trim(time, free, machine * room, segments[machine], now)
        first, last = 0, 0
        for i in range(n):
            likely[i] = max(bound[kind, low + i], now)
        best = np.int64(-1)
        start = np.inf
        if at_once and _least(likely, n) <= now:
            for k in range(2 * distance + 1):
                i = _near(middle, k, left_first)
                if 0 <= i < n and likely[i] <= now:
                    rank = low + i
                    machine = ranked[rank]
                    there, first, last = find(time, free, machine * room, segments[machine], now, cores, left, soon)
                    if there == now:
                        best, start = rank, now
                        break
                    likely[i] = soon
        if best < 0 and stays:
            tried = 2 * distance + 1 if first_that_stays and not asap else 1
            for k in range(tried):
                i = _near(middle, k, left_first)
                if 0 <= i < n:
                    rank = low + i
                    machine = ranked[rank]
                    since = likely[i]
                    there, first, last = find(time, free, machine * room, segments[machine], since, cores, left, np.inf)
                    likely[i] = there
                    if there > since:  # the next of its class need not look there again
                        since = max(bound[kind, rank], now)
                        brief = 2.0**step if step > 0 else 0.0
                        bound[kind, rank] = hole(
                            time, free, machine * room, segments[machine], since, 1 << wide, brief, np.inf
                        )
                    if (i == middle and likely[i] == now) or (
                        (likely[i] + left - submit[slot]) / length[slot] <= stretch + _TOLERANCE
                    ):
                        best, start = rank, likely[i]
                        break
        while best < 0:
            i = _first(likely, n, middle, _least(likely, n), by_rank, left_first)
            rank = low + i
            machine = ranked[rank]
            if not exact[wide, rank]:
                _survey(
                    time,
                    free,
                    machine * room,
                    segments[machine],
                    1 << wide,
                    wide * OCTAVES + shortest,
                    wide * OCTAVES + longest + 1,
                    least_left,
                    bound,
                    rank,
                )
                exact[wide, rank] = True
                likely[i] = max(bound[kind, rank], likely[i])
                continue
            since = likely[i]
            there, first, last = find(time, free, machine * room, segments[machine], since, cores, left, np.inf)
            if there == since:
                best, start = rank, there
                break
            likely[i] = there
        machine = ranked[best]
        if segments[machine] + 2 > room:
            state.stretch = stretch
            return at
        if by_plan:
            stretch = max(stretch, (start + left - submit[slot]) / length[slot])
        end = lasts_until(start, left)
        segments[machine] = occupy(time, free, machine * room, segments[machine], first, last, start, end, cores)
        for k in range(exact.shape[0]):
            exact[k, best] = False
        start_of[slot] = start
        machine_of[slot] = machine
    state.stretch = stretch
    return slots.size
