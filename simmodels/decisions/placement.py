"""Placement by risk: long jobs on safe machines; each job gets a target machine and a planned start.

Perotin, Zhang, Wijayawardana, Benoit, Robert, Chien: Risk-aware scheduling algorithms for variable capacity
resources, SC-W 2023 (doi 10.1145/3624062.3624194), section 4: TargetStretch, TargetASAP and PackedTargetASAP.
Lengths are known exactly, so a planned start holds until the number of machines changes; then all is planned
anew. A job may go before jobs that were planned earlier where there is a hole, and delays none.

A placement looks at no more than 2 x distance + 1 machines, whatever their number; a change of the number of
machines costs O(machines + running jobs) and a placement for each job that has not started.
"""

from typing import Final

import numpy as np

from simmodels.compiled import compiled
from simmodels.decisions import heap
from simmodels.decisions.columns import longer
from simmodels.decisions.fleet import (
    NOWHERE,
    OCTAVES,
    STEPS,
    TARGET_STRETCH,
    WIDTHS,
    alter,
    forget,
    load_of,
    rebuild,
    reserve,
    run,
)
from simmodels.decisions.ordered import insert, remove
from simmodels.decisions.profile import hole, lasts_until

PACKS: Final = 0
NEAREST: Final = 1
FLOOR: Final = 2

_CLOSE: Final = 1e-9  # to a threshold of U: there its rounding counts
_TOLERANCE: Final = 1e-12  # a planned stretch may exceed the longest so far by rounding


# -- how many machines are used -------------------------------------------------------------------


@compiled
def update(fleet, now):
    """Use more machines while U is high, or fewer while it is low (section 4.2); nothing is moved.

    U is the mean of u over the machines used; u is 1 where a job is planned that has not started, else the
    share of the cores in use.
    """
    tick(fleet, now)
    if fleet.alive == 0:
        return
    if fleet.use == 0:
        fleet.use = 1
        fleet.load = load_of(fleet, fleet.ranked[0])
    if busy(fleet) > fleet.raise_above:
        while fleet.use < fleet.alive and busy(fleet) > fleet.raise_above:
            fleet.load += load_of(fleet, fleet.ranked[fleet.use])
            fleet.use += 1
    else:
        while fleet.use > max(fleet.least, 1) and busy(fleet) < fleet.lower_below:
            fleet.use -= 1
            fleet.load -= load_of(fleet, fleet.ranked[fleet.use])


@compiled
def tick(fleet, now):
    """Add to the integral of the machines used."""
    fleet.use_sum += fleet.use * (now - fleet.use_since)
    fleet.use_since = now


@compiled
def busy(fleet):
    """Return U.

    It is the sum of u over the machines used, in their order, divided by how many they are, each step rounded.
    Close to a threshold this decides (the mean of 1/3, 2/3 and 1 may be above or below that of 8, 16 and 24 of
    24 cores), so there it is computed so; elsewhere from the sum of cores that is kept, in O(1).
    """
    share = fleet.load / (fleet.size * fleet.use)
    if abs(share - fleet.raise_above) > _CLOSE and abs(share - fleet.lower_below) > _CLOSE:
        return share
    total = 0.0
    for rank in range(fleet.use):
        total += load_of(fleet, fleet.ranked[rank]) / fleet.size
    return total / fleet.use


# -- where a job goes -----------------------------------------------------------------------------


@compiled
def weigh(fleet, slot):
    """Find a job's category (section 4.2): the share of the reference's work that is in jobs at least as long.

    A long job has few that are longer, so a small share, so a target of low rank: a safe machine.
    """
    length = min(fleet.length[slot], fleet.length_cap)
    low = 0
    high = fleet.lengths.size
    while low < high:  # the first length of the reference that is at least (or more than) the job's
        middle = (low + high) // 2
        if fleet.lengths[middle] < length or (fleet.longer_only and fleet.lengths[middle] == length):
            low = middle + 1
        else:
            high = middle
    fleet.weight[slot] = fleet.weights[low]


@compiled
def target_of(fleet, slot):
    """Return the rank of the machine a job should run on."""
    share = fleet.weight[slot]
    plain = min(int(np.floor(share * fleet.use)), fleet.use - 1)
    if fleet.pack == 0:
        return plain
    if fleet.packing == PACKS:
        packs = max(1, fleet.use // fleet.pack)
        return fleet.pack * min(int(np.floor(share * packs)), packs - 1)
    if fleet.packing == FLOOR:
        return fleet.pack * (plain // fleet.pack)
    return min(fleet.pack * ((plain + fleet.pack // 2) // fleet.pack), fleet.use - 1)


@compiled
def _class_of(cores, length):
    """Return the class of a job, and the least cores and length of that class."""
    step = 0
    least = 0.0
    if length >= 1.0:
        step = min(int(np.log2(length) * STEPS), OCTAVES * STEPS - 1)
        least = 2.0 ** (step / STEPS)
        while least > length:  # by rounding
            step -= 1
            least = 2.0 ** (step / STEPS) if step > 0 else 0.0
    octave = 0
    while octave + 1 < WIDTHS and 2 << octave <= cores:
        octave += 1
    return octave * OCTAVES * STEPS + step, 1 << octave, least


@compiled
def _hole(fleet, slot, machine, now, limit, kind, narrow, brief):
    """Return the earliest start in [now, limit) of a job on a machine; infinity without one."""
    return _bounded_hole(
        fleet.time,
        fleet.cores_free,
        machine * fleet.room,
        fleet.segments[machine],
        now,
        fleet.cores[slot],
        fleet.left[slot],
        limit,
        narrow,
        brief,
        fleet.bound[kind],
        fleet.known[kind],
        machine,
        fleet.epoch[machine],
    )


@compiled
def _bounded_hole(time, free, at, n, now, cores, left, limit, narrow, brief, bound, known, machine, epoch):
    """Return the earliest start of a job on a machine, as `hole`, from a bound on.

    Profiles only fill up until they are made anew, so where no job of a class fits now none will later: the
    earliest start of the narrowest and briefest job of the class is kept as a bound, from which the search goes
    on. `benchmarks/cases.py` pays for it; without it, the result is the same.
    """
    low = now
    if known[machine] == epoch:
        low = max(now, bound[machine])
        if low >= limit:
            return np.inf
    start = hole(time, free, at, n, low, cores, left, limit)
    if start > low:
        known[machine] = epoch
        bound[machine] = min(hole(time, free, at, n, low, narrow, brief, start), start)
        if start == np.inf:
            bound[machine] = min(bound[machine], limit)
    return start


@compiled
def _earliest_near(
    ranked,
    target,
    distance,
    machines,
    by_rank,
    left_first,
    start,
    best,
    time,
    free,
    room,
    segments,
    now,
    cores,
    left,
    narrow,
    brief,
    bound,
    known,
    epoch,
):
    """Return the machine near the target, and the start, of the smallest start before `start`; or `best` and `start`.

    Equal starts: the first in order (of rank, or of the search window). All it reads comes as arrays, since it is
    what a replan spends its time in; and it begins with the machine whose bound is the least, so that the
    bounds of most others rule them out.
    """
    low = max(target - distance, 0)
    high = min(target + distance + 1, machines)
    first = low
    least = np.inf
    for rank in range(low, high):
        machine = ranked[rank]
        value = max(bound[machine], now) if known[machine] == epoch[machine] else now
        if value < least and rank != target:
            least = value
            first = rank
    ahead = np.int64(NOWHERE)  # of the best so far, its place in order; the target's is before all
    for k in range(low - 1, high):
        rank = first if k < low else k
        if rank == target or (k >= low and rank == first):
            continue
        place = rank
        if not by_rank:
            place = 2 * abs(rank - target) - ((rank > target) != left_first)
        limit = np.nextafter(start, np.inf) if place < ahead else start
        machine = ranked[rank]
        since = max(now, bound[machine]) if known[machine] == epoch[machine] else now
        if since >= limit:
            continue
        at = machine * room
        n = segments[machine]
        there = hole(time, free, at, n, since, cores, left, limit)
        if there > since:
            known[machine] = epoch[machine]
            bound[machine] = min(hole(time, free, at, n, since, narrow, brief, min(there, limit)), there, limit)
        if there < limit:
            start = there
            best = machine
            ahead = place
    return best, start


@compiled
def _nearest_now(ranked, target, distance, bound, left_first, idle, time, free, room, segments, now, cores, left):
    """Return the nearest machine to the target on which a job could run from now on, for its whole length.

    NOWHERE without one. As `_earliest_by_rank`, it reads arrays.
    """
    soon = np.nextafter(now, np.inf)
    for away in range(1, distance + 1):
        for side in range(2):
            rank = target + away if (side == 0) != left_first else target - away
            if rank < 0 or rank >= bound:
                continue
            machine = ranked[rank]
            if idle[machine] < cores:
                continue
            if hole(time, free, machine * room, segments[machine], now, cores, left, soon) == now:
                return machine
    return NOWHERE


@compiled
def _stays(fleet, slot, start):
    """Return whether a job's stretch, started then, is no longer than the longest so far."""
    stretch = (start + fleet.left[slot] - fleet.submit[slot]) / fleet.length[slot]
    return stretch <= fleet.stretch + _TOLERANCE


@compiled
def _near(fleet, target, k):
    """Return the k-th rank of the search window: the nearest first, on one side and then on the other."""
    away = k // 2 + 1
    right = (k % 2 == 0) != fleet.left_first
    return target + away if right else target - away


@compiled
def choose(fleet, slot, now, fresh):
    """Return the machine and the start of a job (sections 4.3 and 4.4).

    TargetStretch: the target, if the job can start there at once or its stretch stays below the longest so far;
    else where it can start first. TargetASAP: the target or the nearest machine on which it can start at once;
    else where it can start first.

    Parameters
    ----------
    fleet
        The state; some machine is open.
    slot
        The job.
    now
        The instant.
    fresh
        Whether it has just been submitted.
    """
    target = target_of(fleet, slot)
    best = fleet.ranked[target]
    kind, narrow, brief = _class_of(fleet.cores[slot], fleet.left[slot])
    start = _hole(fleet, slot, best, now, np.inf, kind, narrow, brief)
    if start == now:
        return best, start
    bound = fleet.alive if fleet.beyond_use else fleet.use
    asap = fleet.kind != TARGET_STRETCH
    if asap and (fresh or fleet.requeue_immediate):
        machine = _nearest_now(
            fleet.ranked,
            target,
            fleet.distance,
            bound,
            fleet.left_first,
            fleet.free,
            fleet.time,
            fleet.cores_free,
            fleet.room,
            fleet.segments,
            now,
            fleet.cores[slot],
            fleet.left[slot],
        )
        if machine != NOWHERE:
            return machine, now
    if (not asap or fleet.stay) and _stays(fleet, slot, start):
        return best, start
    if not asap and fleet.first_that_stays:
        for k in range(2 * fleet.distance):
            rank = _near(fleet, target, k)
            if 0 <= rank < bound:
                there = _hole(fleet, slot, fleet.ranked[rank], now, np.inf, kind, narrow, brief)
                if _stays(fleet, slot, there):
                    return fleet.ranked[rank], there
    # The smallest start; equal ones: the target, then the first that is tried. So only earlier ones are looked for.
    return _earliest_near(
        fleet.ranked,
        target,
        fleet.distance,
        bound,
        fleet.by_rank,
        fleet.left_first,
        start,
        best,
        fleet.time,
        fleet.cores_free,
        fleet.room,
        fleet.segments,
        now,
        fleet.cores[slot],
        fleet.left[slot],
        narrow,
        brief,
        fleet.bound[kind],
        fleet.known[kind],
        fleet.epoch,
    )


# -- placing --------------------------------------------------------------------------------------


@compiled
def place(fleet, slot, now, fresh):
    """Start a job now or plan its start; it is in `waiting` in the latter case."""
    if fleet.alive == 0:
        insert(fleet.waiting, 0.0, slot, fleet.cores[slot], fleet.left[slot])
        return
    machine, start = choose(fleet, slot, now, fresh)
    end = lasts_until(start, fleet.left[slot])
    if fleet.by_plan:
        note_stretch(fleet, slot, start + fleet.left[slot])
    forget(fleet, machine, now)
    reserve(fleet, slot, machine, start, end)
    if start == now:
        if not fresh:
            remove(fleet.waiting, 0.0, slot)
        run(fleet, slot, machine, now, 0)
        return
    if fresh:
        insert(fleet.waiting, 0.0, slot, fleet.cores[slot], fleet.left[slot])
    fleet.start[slot] = start
    fleet.machine[slot] = machine
    alter(fleet, machine, 0, 1)
    if fleet.heap_size == fleet.heap.size:
        fleet.heap = longer(fleet.heap, 2 * fleet.heap_size)
    fleet.heap_size = heap.push(fleet.heap, fleet.heap_size, fleet.start, fleet.place, slot)


@compiled
def note_stretch(fleet, slot, end):
    """Take note of the stretch of a job that ends then."""
    fleet.stretch = max(fleet.stretch, (end - fleet.submit[slot]) / fleet.length[slot])


@compiled
def replan(fleet, now):
    """Place all jobs that have not started anew, in order of submission."""
    for k in range(fleet.heap_size):
        slot = fleet.heap[k]
        fleet.place[slot] = NOWHERE
        fleet.machine[slot] = NOWHERE
        fleet.start[slot] = np.inf
    fleet.heap_size = 0
    rebuild(fleet, now)
    if fleet.alive == 0:
        return
    waiting = fleet.waiting
    again = np.empty(waiting.size, np.int64)
    n = 0
    for c in range(waiting.blocks):
        b = waiting.chain[c]
        for i in range(waiting.count[b]):
            again[n] = waiting.slot[b, i]
            n += 1
    for k in range(n):
        place(fleet, again[k], now, False)


@compiled
def start_planned(fleet, now):
    """Start the jobs whose planned start is now."""
    while fleet.heap_size > 0 and fleet.start[fleet.heap[0]] <= now:
        slot = fleet.heap[0]
        fleet.heap_size = heap.take(fleet.heap, fleet.heap_size, fleet.start, fleet.place, slot)
        remove(fleet.waiting, 0.0, slot)
        run(fleet, slot, fleet.machine[slot], now, -1)
        update(fleet, now)
