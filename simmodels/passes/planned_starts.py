"""Planning: which machine each of a list of jobs goes to, and when; what a replan spends its time in.

A job looks at no more than 2 x distance + 1 machines, its *search window*, and at few of these in earnest: for
each machine and each class of jobs (widths to an octave, lengths to a quarter of one) a bound is kept before which no
job of the class can start there: the start of the narrowest and shortest job so far, when that was last looked for.
Profiles only fill up until they are made again, so a bound holds until then. The machine of the least bound is
searched from the bound on; if the job can start at the bound itself, no other machine can be earlier; else what was
found is its bound, that of its class is made exact, and the least one is tried again. Where only the earliest start
counts, jobs that are planned together and are alike start in turn: the next can start nowhere before the last one, and
where that is, is tried first. The result is that of a search of every machine of the window, which is how
`tests/naive_capacity.py` has it.

Of a long queue most jobs start long after all will have been planned again. So TargetASAP puts off jobs that can start
nowhere before a horizon, if a job is planned on each machine of their window, or if it is in doubt where they go. By
rank, `doubt` is the instant from which on jobs that were put off may run there: what ends by then is as if they were
planned. Where more has to be known, they are planned first, see `simmodels.passes.target_placement`; since they start
at the horizon or later wherever they go, it makes no difference that this is done late. Larger jobs of the same target
are put off without a look. "Borg on 3200 machines, TargetAsap" takes half the time.
"""

import math
from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import INT64_MAX, ONE, ZERO
from simmodels.ground.signals import heed_signals
from simmodels.passes.machines import know_nothing, load_of
from simmodels.structures.placement_state import LENGTHS, NOWHERE, TARGET_STRETCH
from simmodels.structures.profile import find, lasts_until, occupy, trim

PACKS: Final = 0
NEAREST: Final = 1
FLOOR: Final = 2

_JOBS_BETWEEN_SIGNALS: Final = 64
_TOLERANCE: Final = 1e-12  # a planned stretch may exceed the longest so far by rounding


@inlined
def target_rank(share, use, pack, packing):
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
        i = ZERO
        while likely[i] != least:
            i += ONE
        return np.int64(i)
    k = 1
    while True:
        i = _near(at, k, left_first)
        if 0 <= i < n and likely[i] == least:
            return i
        k += 1


@inlined
def _all_planned(plans, ranked, low, n):
    """Return whether some job is planned on each of the n machines from rank `low` on."""
    rank = low
    while rank < low + n and plans[ranked[rank]] > 0:
        rank += 1
    return rank == low + n


@compiled
def plan(state, slots, done, now, fresh):
    """Say of slots[done:], in this order, where and when each starts; return how many of `slots` are done.

    Not all are when a profile has no room: the caller makes some and calls again. Nor are they when it has to be known
    where jobs go that were put off, which have no machine: the caller has them planned (see `unsure`).

    TargetStretch: the target, if the job can start there at once or its stretch stays below the longest so far; else
    where it can start first.
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
    used, distance, pack, packing = state.used, state.rules.distance, state.rules.pack, state.rules.packing
    horizon, doubt, plans = state.horizon, state.doubt, state.plans
    least_left, least_cores, bits = state.least_left, state.least_cores, state.left.view(np.int64)
    by_rank, left_first, by_plan = state.rules.by_rank, state.rules.left_first, state.rules.by_plan
    first_that_stays = state.rules.first_that_stays
    alive, beyond_use = state.alive, state.rules.beyond_use
    asap = state.rules.kind != TARGET_STRETCH
    stays = not asap or state.rules.stay
    at_once = asap and (fresh or state.rules.requeue_immediate)
    stretch = state.stretch
    soon = np.nextafter(now, np.inf)
    in_turn = not fresh and not stays
    rank_of = state.rank
    latest = np.full(bound.shape[0] if in_turn else 0, NOWHERE)  # by class, the last of these jobs
    puts_off = in_turn and horizon < np.inf
    late_cores = np.full(alive if puts_off else 0, INT64_MAX)  # by target, of a job that was put off
    late_left = np.full(late_cores.size, np.inf)
    for at in range(done, slots.size):
        if at % _JOBS_BETWEEN_SIGNALS == 0:
            heed_signals()
        slot = slots[at]
        cores = cores_of[slot]
        left = left_of[slot]
        target = target_rank(weight[slot], used[slot], pack, packing)
        if puts_off and cores >= late_cores[target] and left >= late_left[target]:
            continue
        wide = math.frexp(cores)[1] - 1  # the octave, as of lengths: no table, which wide machines would make long
        step = min(max((bits[slot] >> 50) - 4 * 1023, 0), LENGTHS - 1)
        kind = wide * LENGTHS + step
        if left < least_left[step] or cores < least_cores[wide]:  # their bounds were those of larger ones
            least_left[step], least_cores[wide] = min(left, least_left[step]), min(cores, least_cores[wide])
            know_nothing(state, now)
        brief, slim = least_left[step], least_cores[wide]
        first, last = 0, 0
        best, tried = np.int64(-1), np.int64(-1)
        start, floor = np.inf, now
        twin = latest[kind] if in_turn else NOWHERE
        alike = twin != NOWHERE and cores_of[twin] == cores and left_of[twin] == left
        if alike and weight[twin] == weight[slot] and used[twin] == used[slot]:
            machine = machine_of[twin]
            floor = start_of[twin]
            start, first, last = find(time, free, machine * room, segments[machine], floor, cores, left, np.inf)
            tried = rank_of[machine]
            if start == floor and lasts_until(start, left) <= doubt[tried]:
                best = tried
            elif cores == slim and left == brief:
                bound[kind, tried] = start
        if best < 0:
            low = max(target - distance, 0)
            n = min(target + distance + 1, alive if beyond_use else used[slot]) - low
            middle = target - low
            if fresh:  # else the profiles have just been made again
                for rank in range(low, low + n):
                    machine = ranked[rank]
                    segments[machine] = trim(time, free, machine * room, segments[machine], now)
            row = bound[kind]
            for i in range(n):
                likely[i] = max(row[low + i], floor)
            if tried >= 0:
                tried -= low
                likely[tried] = start
            least = _least(likely, n)
            if at_once and least <= now:
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
                least = _least(likely, n)
                tried = np.int64(-1)  # others were searched since
        if best < 0 and stays:
            for k in range(2 * distance + 1 if first_that_stays and not asap else 1):
                i = _near(middle, k, left_first)
                if 0 <= i < n:
                    rank = low + i
                    machine = ranked[rank]
                    since = likely[i]
                    there, first, last = find(time, free, machine * room, segments[machine], since, cores, left, np.inf)
                    likely[i] = there
                    if there > since:  # the next of its class need not look there again
                        since = max(bound[kind, rank], now)
                        bound[kind, rank] = find(
                            time, free, machine * room, segments[machine], since, slim, brief, np.inf
                        )[0]
                    if (i == middle and likely[i] == now) or (
                        (likely[i] + left - submit[slot]) / length[slot] <= stretch + _TOLERANCE
                    ):
                        best, start = rank, likely[i]
                        break
            least = _least(likely, n)
        while best < 0 and not (least >= horizon and _all_planned(plans, ranked, low, n)):
            i = _first(likely, n, middle, least, by_rank, left_first)
            rank = low + i
            if i == tried:  # where it was found when it was searched, just now
                best, start = rank, least
                break
            machine = ranked[rank]
            since = likely[i]
            there, first, last = find(time, free, machine * room, segments[machine], since, cores, left, np.inf)
            if there == since:
                best, start = rank, there
                break
            likely[i] = there
            tried = np.int64(i)
            if cores > slim or left > brief:
                since = max(bound[kind, rank], now)
                there = find(time, free, machine * room, segments[machine], since, slim, brief, np.inf)[0]
            bound[kind, rank] = there
            least = _least(likely, n)
        if best >= 0 and lasts_until(start, left) > doubt[best]:  # a job that was put off may be in its way
            if start < horizon:
                state.stretch, state.unsure = stretch, best
                return at
            best = np.int64(-1)
        if best < 0:
            if puts_off and cores <= late_cores[target] and left <= late_left[target]:
                late_cores[target], late_left[target] = cores, left
            for i in range(n):
                doubt[low + i] = min(doubt[low + i], likely[i])
                if fresh:  # else all are counted after this
                    load_of(state, ranked[low + i])
            continue
        machine = ranked[best]
        if segments[machine] + 2 > room:
            state.stretch = stretch
            return at
        if by_plan:
            stretch = max(stretch, (start + left - submit[slot]) / length[slot])
        end = lasts_until(start, left)
        segments[machine] = occupy(time, free, machine * room, segments[machine], first, last, start, end, cores)
        if not fresh and start != now:
            plans[machine] += 1
        if in_turn:
            latest[kind] = slot
        start_of[slot] = start
        machine_of[slot] = machine
    state.stretch = stretch
    return slots.size
