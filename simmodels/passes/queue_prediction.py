"""Queue prediction: when a job at an EASY queue would start, by a plan that is kept between predictions.

The *line* is all that waits, in the order in which a prediction lets it start: the queue in order, what waits beyond
its depth, and what was submitted since the last decision. The plan gives each job in line the earliest hole that those
before it leave; that is what `predicted_start` does for one job, from lists. A prediction asks first whether the plan
that is there still says what a new one would say:

- A job in line that has started when it was planned to changes nothing: it had its cores beside all the others.
- Nor does a job that has ended when it was expected to.
- Jobs that have come, and stand behind all others, are added.
- After anything else (a job ended early or late, started out of line, left, or stands somewhere else), all is planned
  again.

Complexity: to ask is a comparison for each job that waits or runs; to plan is a search for each run of equal jobs.
"""

from typing import NamedTuple

import numpy as np

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import Floats, Ints
from simmodels.passes.queue_order import place_of
from simmodels.structures.arrays import lowest
from simmodels.structures.line_plan import line_plan_at, make_room, shape_of
from simmodels.structures.profile import (
    add,
    advance,
    append,
    copy_profile,
    earliest,
    find,
    lasts_until,
    lengthen_segments,
    occupy,
    reset,
)
from simmodels.structures.queue_state import RUNNING, WAITING, queue_at


class Coming(NamedTuple):
    """What was submitted to a queue since its last decision; these get the next slots."""

    lengths: Floats  # [>= jobs], how long they are expected to run
    cores: Ints  # [>= jobs]
    jobs: int  # how many they are


class Asked(NamedTuple):
    """A job of which the start is asked for."""

    slot: int  # at the queue, also if it is among those that are coming; else -1: it is taken to be submitted now
    # what the order asks; times as they are at the cluster
    estimate: float
    runtime: float
    cores: int


@compiled
def predicted_in_queue(queue_address, plan_address, settled, now, free, ended, coming, job, row):
    """Return what `predicted_start` says of a job at an EASY queue on a pool. Only EASY keeps what runs by its end.

    NaN if something runs there that is not of the queue.

    Parameters
    ----------
    queue_address
        Of the queue; all that the last decision knew is taken from it.
    plan_address
        Of its plan, which is brought up to date.
    settled
        Whether nothing has happened since the last prediction, at this instant, except that more jobs were submitted.
    now
        The instant.
    free
        How many cores are free.
    ended
        int64[k], the slots that have ended since the last decision.
    coming, job
        What was submitted since the last decision (`Coming`), and the job (`Asked`).
    row
        float64[...], what the order asks of the job beyond its numbers.
    """
    queue, plan = queue_at(queue_address), line_plan_at(plan_address)
    new = coming.jobs
    make_room(plan, queue.arrived + new, queue.waiting.size + queue.arrived - queue.visible_below + new, 0)
    gone = 0
    for each in ended:
        # The queue has not heard of these ends: it counts their cores as used.
        if queue.phase[each] == RUNNING:
            gone += queue.cores[each]
            plan.ended[each] = True
    # Else cores are off, or used by what is not of the queue, of which the plan knows nothing.
    if queue.free + gone == free:
        _bring_up_to_date(queue, plan, settled, now, free, coming)
        start = _start_in_line(queue, plan, now, free, job, row)
    else:
        start = np.nan
    for each in ended:
        plan.ended[each] = False
    return start


@compiled
def _bring_up_to_date(queue, plan, settled, now, free, coming):
    """Let the plan hold, and have all that is in line."""
    if settled:
        known = plan.entries
        # What is new stands behind all others: the line was extended, and is else as it was.
        jobs = known + coming.jobs - plan.new
        for k in range(known, jobs):
            plan.line[k] = queue.arrived + plan.new + k - known
    else:
        jobs = _line_up(queue, plan, coming.jobs)
        known = _known(queue, plan, now, free, coming, jobs)
        if known < 0:
            _begin(queue, plan, now, free)
            known = 0
    _extend(queue, plan, now, coming, known, jobs)
    plan.new = coming.jobs


@compiled
def _start_in_line(queue, plan, now, free, job, row):
    """Return when a job would start by a plan that is up to date."""
    if job.slot >= queue.arrived or (job.slot >= 0 and queue.phase[job.slot] == WAITING):
        return plan.since[job.slot]  # it is in line itself, so the plan has its start
    place = place_of(queue, job.estimate, job.runtime, job.cores, row, now)
    if place < plan.queued:
        return _start_between(queue, plan, now, free, place, job.cores, job.estimate)
    # Behind a job that never starts none does.
    if plan.entries and plan.start[plan.entries - 1] == np.inf:
        return np.inf
    return _search(plan, now, job.cores, job.estimate)[0]


@compiled
def _line_up(queue, plan, new):
    """Write the slots in line into ``plan.line``; return how many they are."""
    line, jobs = plan.line, 0
    for c in range(queue.waiting.blocks):
        b = queue.waiting.chain[c]
        for i in range(queue.waiting.count[b]):
            line[jobs] = queue.waiting.entries[b, i].slot
            jobs += 1
    # Up to here by order; what is beyond the depth, or new, has no place by order yet.
    plan.queued = jobs
    for slot in range(queue.visible_below, queue.arrived):
        if queue.phase[slot] == WAITING:
            line[jobs] = slot
            jobs += 1
    for slot in range(queue.arrived, queue.arrived + new):
        line[jobs] = slot
        jobs += 1
    return jobs


@inlined
def _shape(slot, arrived, cores, estimate, coming):
    """Return the cores of a job in line, and how long it is expected to run."""
    if slot < arrived:
        return cores[slot], estimate[slot]
    return coming.cores[slot - arrived], coming.lengths[slot - arrived]


@inlined
def _expected(end, now):
    """Return when a job that runs is expected to end: at once, if it is overdue."""
    return max(end, np.nextafter(now, np.inf))  # never now: the plan holds what it has beyond now


# -- whether the plan holds ---------------------------------------------------------------------------


@compiled
def _known(queue, plan, now, free, coming, jobs):
    """Return how many of the first in line the plan has, forgetting what is past; -1 if it does not hold any more.

    It holds if all that it has beyond now is in line as planned, or runs, until when it was planned to; and if nothing
    else runs. All of that is counted on both sides.
    """
    line, since, until = plan.line, plan.since, plan.until
    known = started = 0
    for k in range(plan.entries):
        slot = plan.slot[k]
        if known < jobs and slot == line[known]:
            cores, length = _shape(slot, queue.arrived, queue.cores, queue.estimate, coming)
            # It should have started, or is not the job that the plan had in mind.
            if plan.start[k] < now or plan.cores[k] != cores or plan.length[k] != length:
                return -1
            known += 1
        elif until[slot] > now:  # it is in line no more, so it must run, as planned
            started += 1
    planned = started
    for k in range(plan.runs):
        planned += until[plan.running[k]] > now  # what should have ended must have
    runs, total = 0, free
    for c in range(queue.running.blocks):
        b = queue.running.chain[c]
        for i in range(queue.running.count[b]):
            slot = queue.running.entries[b, i].slot
            if plan.ended[slot]:
                continue
            if until[slot] != _expected(queue.expected_end[slot], now) or since[slot] > now:
                return -1
            if plan.taken[slot] != queue.cores[slot]:  # it was the slot of another, which left before it was entered
                return -1
            runs += 1
            total += queue.cores[slot]
    # As many run as should, each until when it should: then these are the same, and all cores are accounted for.
    if runs != planned or total != plan.total:
        return -1
    # Most often nothing is past, and nothing has to be moved.
    if started or runs != plan.runs or known < plan.entries:
        _forget_past(queue, plan, known)
    advance(plan.profile, now)
    return known


@compiled
def _forget_past(queue, plan, known):
    """Let the plan have, as entries, the first `known` in line, and what runs: the others have started or ended."""
    at = 0
    for k in range(plan.entries):
        slot = plan.slot[k]
        if at < known and slot == plan.line[at]:
            plan.slot[at], plan.cores[at] = slot, plan.cores[k]
            plan.length[at], plan.start[at] = plan.length[k], plan.start[k]
            at += 1
        elif slot >= queue.arrived or queue.phase[slot] != RUNNING or plan.ended[slot]:
            # NaN is beyond no instant, so a slot that is forgotten counts nowhere.
            plan.until[slot] = np.nan
    plan.entries = known
    for k in range(plan.runs):
        slot = plan.running[k]
        if queue.phase[slot] != RUNNING or plan.ended[slot]:
            plan.until[slot] = np.nan
    _note_running(queue, plan)


@compiled
def _note_running(queue, plan):
    """Take note of what runs."""
    make_room(plan, 0, 0, queue.running.size)
    runs = 0
    for c in range(queue.running.blocks):
        b = queue.running.chain[c]
        for i in range(queue.running.count[b]):
            slot = queue.running.entries[b, i].slot
            if not plan.ended[slot]:
                plan.running[runs] = slot
                runs += 1
    plan.runs = runs


# -- planning -----------------------------------------------------------------------------------------


@compiled
def _begin(queue, plan, now, free):
    """Begin a plan, with what runs."""
    # Marks of the old plan would be taken for those of the new one.
    for k in range(plan.entries):
        plan.until[plan.slot[k]] = np.nan
    for k in range(plan.runs):
        plan.until[plan.running[k]] = np.nan
    plan.entries = 0
    _note_running(queue, plan)
    _free_up_running(queue, plan, plan.profile, now, free)
    plan.total = free
    for k in range(plan.runs):
        slot = plan.running[k]
        plan.total += queue.cores[slot]
        plan.since[slot], plan.until[slot] = -np.inf, _expected(queue.expected_end[slot], now)
        plan.taken[slot] = queue.cores[slot]
    for shape in range(plan.shape_cores.size):  # what was found to be too early may be free now
        plan.shape_cores[shape] = 0


@compiled
def _free_up_running(queue, plan, profile, now, free):
    """Let a profile have the cores that are free now, and those of what runs when that is expected to end."""
    reset(profile, now, free)
    for k in range(plan.runs):
        slot = plan.running[k]
        append(profile, _expected(queue.expected_end[slot], now), queue.cores[slot])


@compiled
def _search(plan, now, cores, length):
    """Return the earliest start of a job behind all entries, and its first and its last segment, as `find` does.

    While entries are only added, no job starts earlier than one of its shape was found to start before: the search
    begins there.
    """
    profile, shape = plan.profile, shape_of(cores, length)
    same = plan.shape_cores[shape] == cores and plan.shape_length[shape] == length
    # Shapes share cells of a small table: one that is overwritten is only searched for from now on again.
    begin = max(now, plan.shape_start[shape]) if same else now
    found = find(profile.time, profile.free, 0, profile.segments, begin, cores, length, np.inf)
    plan.shape_cores[shape], plan.shape_length[shape], plan.shape_start[shape] = cores, length, found[0]
    return found


@compiled
def _extend(queue, plan, now, coming, known, jobs):
    """Plan those in line from the place `known` on, behind those that are planned.

    Jobs of one shape that stand one behind the other begin together, as many as there are cores for.
    """
    arrived, all_cores, estimate, line = queue.arrived, queue.cores, queue.estimate, plan.line
    profile = plan.profile
    # One that never starts keeps all behind it from starting.
    blocked = known > 0 and plan.start[known - 1] == np.inf
    k = known
    while k < jobs:
        cores, length = _shape(line[k], arrived, all_cores, estimate, coming)
        alike = k + 1
        # Users submit the same job many times: one search serves them all.
        while alike < jobs and _shape(line[alike], arrived, all_cores, estimate, coming) == (cores, length):
            alike += 1
        start, until, last = np.inf, np.inf, jobs
        if not blocked:
            start, i, j = _search(plan, now, cores, length)
            blocked = start == np.inf
        if not blocked:
            until = lasts_until(start, length)
            # As many as the hole has cores for: one at least.
            together = lowest(profile.free[i:j]) // cores
            last = min(alike, k + together)
            if profile.segments + 2 > profile.time.size:
                lengthen_segments(profile, 2 * profile.time.size)
            profile.segments = occupy(
                profile.time, profile.free, 0, profile.segments, i, j, start, until, (last - k) * cores
            )
        for entry in range(k, last):
            slot = line[entry]
            cores, length = _shape(slot, arrived, all_cores, estimate, coming)
            plan.slot[entry], plan.cores[entry], plan.length[entry], plan.start[entry] = slot, cores, length, start
            plan.since[slot], plan.until[slot], plan.taken[slot] = start, until, cores
        k = last
    plan.entries = jobs


@compiled
def _start_between(queue, plan, now, free, place, cores, length):
    """Return when a job would start that stands behind the first `place` in line, and behind what is not in the queue.

    Its profile is made of that of the shorter part of the line: of what runs and those before the job, or of the plan
    less those behind it.
    """
    if place and plan.start[place - 1] == np.inf:
        return np.inf
    profile, jobs = plan.aside, plan.entries
    # Either adds what is before the job to what runs, or takes what is behind it out of the plan.
    if 2 * place < jobs:
        _free_up_running(queue, plan, profile, now, free)
        for k in range(place):
            add(profile, plan.start[k], lasts_until(plan.start[k], plan.length[k]), -plan.cores[k])
    else:
        copy_profile(profile, plan.profile)
        for k in range(place, jobs):
            if plan.start[k] < np.inf:
                add(profile, plan.start[k], lasts_until(plan.start[k], plan.length[k]), plan.cores[k])
    # These have no place by order yet: they stand before the job, and take the earliest holes that are left.
    for k in range(plan.queued, jobs):
        start = earliest(profile, now, plan.cores[k], plan.length[k])
        if start == np.inf:
            return np.inf
        add(profile, start, lasts_until(start, plan.length[k]), -plan.cores[k])
    return earliest(profile, now, cores, length)
