"""Held jobs: those of a queue that were found to be over a limit, out of the lists that passes go through.

A waiting job is either *listed*, in the queue's lists, or *held*, in the lane of its cohort. What is listed may be over
a limit: it is held when a pass meets it. What is held may be over none any more; so that a pass meets it then, its
cohort *stands in* for it, as an entry of the queue's list at the place of one of its held jobs. The entry shows no more
cores, and no longer estimate, than any of them has, so that a pass passes over it only if none of them could start. A
cohort none of whose held jobs could start, since they all are too much for one party, waits for that party, in the lane
of the party; and if the party has room for one of the cohorts that wait for it, the party stands in for them, in the
same way. So an end shows one entry more, however many jobs and cohorts wait for the party, and a pass takes out of the
lanes only what it starts, or is blocked by.

Invariants, between two passes:

- If a held job is over no limit, its cohort stands in at the first of its lane, or waits for a party that does so.
- What a cohort or a party shows is at most what its jobs need. It may be less, after some have left; it is made exact
  when a pass has looked at all and found nothing.

Within a pass what stands in moves on with the pass, to what comes next that fits: that is exact, since within a pass
what may start only gets less. It is noted as displaced, and put back to the first when the pass is done.

Orders that move with time, and conservative backfilling, go through all that waits anyway: they hold nothing here.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import INT64_MAX
from simmodels.structures.arrays import grown
from simmodels.structures.limit_state import full_for_all, has_room, is_barred, room_of
from simmodels.structures.sorted_blocks import (
    clear,
    insert,
    next_fitting,
    remove,
    seek,
    slots_of,
)


@compiled
def _lists(queue):
    """Return how many lists the queue has: one, or two if the backfill order is another."""
    return 1 if queue.same_order else 2


@compiled
def _listed(queue, v):
    return queue.waiting if v == 0 else queue.backfill


@compiled
def _keys(queue, v):
    return queue.key if v == 0 else queue.backfill_key


@compiled
def _jobs(limits, v):
    return limits.jobs if v == 0 else limits.backfill_jobs


@compiled
def _cohorts(limits, v):
    return limits.cohorts if v == 0 else limits.backfill_cohorts


@compiled
def _slot_at(ordered, lane_of, lane, c, i):
    """Return the slot at a place, or behind the block whose end that is; -1 if there is none of this lane."""
    if c < ordered.blocks and i == ordered.count[ordered.chain[c]]:
        c, i = c + 1, 0
    if c >= ordered.blocks:
        return np.int64(-1)
    slot = ordered.entries[ordered.chain[c], i].slot
    return slot if lane_of[slot] == lane else np.int64(-1)


@compiled
def _first(ordered, lane_of, lane):
    """Return the first slot of a lane; -1 if it is empty."""
    c, i = seek(ordered, -np.inf, -1, lane_of, lane)
    return _slot_at(ordered, lane_of, lane, c, i)


@compiled
def _displaced(limits, who):
    """Take note that a cohort, or a party (as -1 - party), does not stand where it should."""
    if limits.displaced_size == limits.displaced.size:
        limits.displaced = grown(limits.displaced, 2 * limits.displaced_size)
    limits.displaced[limits.displaced_size] = who
    limits.displaced_size += 1


# -- parties in the queue's lists -----------------------------------------------------------------


@compiled
def _put_party(queue, v, party, slot):
    limits = queue.limits
    cores, estimate = limits.least_of_party[party, 0], limits.shortest_of_party[party]
    insert(_listed(queue, v), _keys(queue, v)[slot], slot, cores, estimate)
    limits.party_at[party, v] = slot
    queue.hidden -= v == 0  # it has one entry more, and as many jobs


@compiled
def _take_party(queue, v, party):
    limits = queue.limits
    slot = limits.party_at[party, v]
    if slot >= 0:
        remove(_listed(queue, v), _keys(queue, v)[slot], slot)
        limits.party_at[party, v] = -1
        queue.hidden += v == 0


# -- cohorts in the queue's lists, and in the lanes of parties -------------------------------------


@compiled
def _put_cohort_at(queue, v, cohort, slot):
    """Let a cohort stand at the slot of one of its held jobs."""
    limits = queue.limits
    key, cores, estimate = _keys(queue, v)[slot], limits.least[cohort, 0], limits.shortest[cohort]
    limits.cohort_at[cohort, v] = slot
    party = limits.awaits[cohort]
    if party < 0:
        insert(_listed(queue, v), key, slot, cores, estimate)
        queue.hidden -= v == 0
    else:
        limits.awaited[slot] = party
        insert(_cohorts(limits, v), key, slot, cores, estimate, limits.awaited, party)


@compiled
def _stand_in(queue, cohort, v, slot):
    """Let a cohort stand in the queue's lists: in list `v` at a slot, -1 for nowhere, else at its first."""
    limits = queue.limits
    for w in range(_lists(queue)):
        first = _first(_jobs(limits, w), limits.cohort, cohort)
        at = slot if w == v else first
        if at >= 0:
            _put_cohort_at(queue, w, cohort, at)
        if at != first:  # put back when the pass is done
            _displaced(limits, cohort)


@compiled
def _put_cohort(queue, cohort):
    """Let a cohort with held jobs stand where it should: at the first of them, in the queue's list or a party's."""
    limits = queue.limits
    for v in range(_lists(queue)):
        _put_cohort_at(queue, v, cohort, _first(_jobs(limits, v), limits.cohort, cohort))
    party = limits.awaits[cohort]
    if party < 0:
        return
    least, core_least = limits.least[cohort, 0], limits.least[cohort, 1]
    if limits.cohorts_held[party] == 0:
        limits.least_of_party[party, 0], limits.least_of_party[party, 1] = least, core_least
        limits.shortest_of_party[party] = limits.shortest[cohort]
    else:
        limits.least_of_party[party, 0] = min(limits.least_of_party[party, 0], least)
        limits.least_of_party[party, 1] = min(limits.least_of_party[party, 1], core_least)
        limits.shortest_of_party[party] = min(limits.shortest_of_party[party], limits.shortest[cohort])
    limits.cohorts_held[party] += 1
    _displaced(limits, -1 - party)  # its first may be another now


@compiled
def _take_cohort(queue, cohort):
    """Let a cohort stand nowhere."""
    limits = queue.limits
    party = limits.awaits[cohort]
    for v in range(_lists(queue)):
        slot = limits.cohort_at[cohort, v]
        if slot < 0:
            continue
        limits.cohort_at[cohort, v] = -1
        key = _keys(queue, v)[slot]
        if party < 0:
            remove(_listed(queue, v), key, slot)
            queue.hidden += v == 0
        else:
            remove(_cohorts(limits, v), key, slot, limits.awaited, party)
    if party >= 0:
        limits.cohorts_held[party] -= 1


@compiled
def _take_party_from(queue, cohort):
    """Let the party for which a cohort waits not stand at a slot of it; it is put back later."""
    limits = queue.limits
    party = limits.awaits[cohort]
    for v in range(_lists(queue)):
        if party >= 0 and limits.party_at[party, v] >= 0 and limits.cohort[limits.party_at[party, v]] == cohort:
            _take_party(queue, v, party)
            _displaced(limits, -1 - party)


@compiled
def put_back(queue):
    """Let what is displaced stand where it should: at the first of its lane, showing the least of it."""
    limits = queue.limits
    k = 0
    while k < limits.displaced_size:  # a cohort may add its party
        who = limits.displaced[k]
        k += 1
        if who >= 0:
            if limits.jobs_held[who] > 0:
                _take_cohort(queue, who)
                _put_cohort(queue, who)
            continue
        party = -1 - who
        for v in range(_lists(queue)):
            _take_party(queue, v, party)
            if has_room(limits, party):
                _put_party(queue, v, party, _first(_cohorts(limits, v), limits.awaited, party))
    limits.displaced_size = 0


# -- jobs -----------------------------------------------------------------------------------------


@compiled
def lay(queue, slot):
    """Hold a job that is over a limit, and not listed."""
    limits = queue.limits
    cohort, cores, core_s, estimate = limits.cohort[slot], queue.cores[slot], limits.core_s[slot], queue.estimate[slot]
    limits.is_held[slot] = 1
    queue.hidden += 1
    for v in range(_lists(queue)):
        insert(_jobs(limits, v), _keys(queue, v)[slot], slot, cores, estimate, limits.cohort, cohort)
    limits.jobs_held[cohort] += 1
    if limits.jobs_held[cohort] == 1:
        limits.least[cohort, 0], limits.least[cohort, 1] = cores, core_s
        limits.shortest[cohort] = estimate
        limits.awaits[cohort] = full_for_all(limits, cohort)  # alone, it is the least of its cohort
        _put_cohort(queue, cohort)
        return
    least, shortest = limits.least, limits.shortest
    changes = cores < least[cohort, 0] or core_s < least[cohort, 1] or estimate < shortest[cohort]
    for v in range(_lists(queue)):
        at, key = limits.cohort_at[cohort, v], _keys(queue, v)
        changes |= at < 0 or key[slot] < key[at] or (key[slot] == key[at] and slot < at)
    if changes:  # within a pass the cohort stays where it is: the job is over a limit until it is done
        least[cohort, 0] = min(least[cohort, 0], cores)
        least[cohort, 1] = min(least[cohort, 1], core_s)
        shortest[cohort] = min(shortest[cohort], estimate)
        _displaced(limits, cohort)


@compiled
def hold(queue, slot):
    """Hold a job that is over a limit, and listed."""
    for v in range(_lists(queue)):
        remove(_listed(queue, v), _keys(queue, v)[slot], slot)
    lay(queue, slot)


@compiled
def _out_of_lane(queue, slot):
    """Take a held job out of the lane of its cohort, which stands nowhere."""
    limits = queue.limits
    for v in range(_lists(queue)):
        remove(_jobs(limits, v), _keys(queue, v)[slot], slot, limits.cohort, limits.cohort[slot])
    limits.is_held[slot] = 0
    queue.hidden -= 1
    limits.jobs_held[limits.cohort[slot]] -= 1


@compiled
def drop(queue, slot):
    """Forget a held job, which leaves the queue."""
    limits = queue.limits
    cohort = limits.cohort[slot]
    _take_party_from(queue, cohort)
    _take_cohort(queue, cohort)
    _out_of_lane(queue, slot)
    if limits.jobs_held[cohort] > 0:  # else it stands nowhere
        _put_cohort(queue, cohort)
    else:
        limits.awaits[cohort] = -1
    put_back(queue)


@compiled
def _release(queue, slot, v, after):
    """List a held job at which its cohort stands in list `v`; it stands at the slot `after` then; -1 for none."""
    limits = queue.limits
    cohort = limits.cohort[slot]
    _take_cohort(queue, cohort)
    _out_of_lane(queue, slot)
    for w in range(_lists(queue)):
        insert(_listed(queue, w), _keys(queue, w)[slot], slot, queue.cores[slot], queue.estimate[slot])
    _stand_in(queue, cohort, v, after)


@compiled
def release_all(queue):
    """List all that is held."""
    limits = queue.limits
    slots = slots_of(limits.jobs)
    lists = _lists(queue)
    for slot in slots:
        cohort = limits.cohort[slot]
        party = limits.awaits[cohort]
        for v in range(lists):
            at = limits.cohort_at[cohort, v]
            if party >= 0:
                _take_party(queue, v, party)
                limits.cohorts_held[party] = 0
            elif at >= 0:
                remove(_listed(queue, v), _keys(queue, v)[at], at)
            limits.cohort_at[cohort, v] = -1
        limits.awaits[cohort] = -1
        limits.jobs_held[cohort] = 0
        limits.is_held[slot] = 0
    for v in range(lists):
        clear(_jobs(limits, v))
        clear(_cohorts(limits, v))
        for slot in slots:
            insert(_listed(queue, v), _keys(queue, v)[slot], slot, queue.cores[slot], queue.estimate[slot])
    queue.hidden = 0
    limits.displaced_size = 0


@compiled
def show_room(queue, slot):
    """Let the parties of a job that has ended stand in for what waits for them, if they have room for any of it."""
    limits = queue.limits
    cohort = limits.cohort[slot]
    for k in range(limits.parties.shape[1]):
        party = limits.parties[cohort, k]
        if party >= 0 and limits.party_at[party, 0] < 0 and has_room(limits, party):
            for v in range(_lists(queue)):
                _put_party(queue, v, party, _first(_cohorts(limits, v), limits.awaited, party))


# -- within a pass --------------------------------------------------------------------------------


@compiled
def next_within_limits(queue, v, c, i, free, extra, now, shadow):
    """Return what `next_fitting` does in a list of the queue: a job that is over no limit, from (c, i) on.

    Parameters
    ----------
    queue
        The state; within a pass, in which `free`, `extra` and `shadow` only get less.
    v
        0 for the list by order, 1 for that by backfill order.
    c, i, free, extra, now, shadow
        As for `next_fitting`.
    """
    listed = _listed(queue, v)
    while True:
        c, i = next_fitting(listed, c, i, free, extra, now, shadow)
        if c < 0:
            return c, i
        slot = listed.entries[listed.chain[c], i].slot
        if not is_barred(queue.limits, slot, queue.cores[slot]):
            return c, i
        if _moves(queue, v, slot, free, extra, now, shadow):
            c, i = seek(listed, _keys(queue, v)[slot], slot)
        else:
            i += 1


@compiled
def _moves(queue, v, slot, free, extra, now, shadow):
    """Hold what is over a limit, or let what stands in for others go on; return whether the list has changed."""
    limits = queue.limits
    if not limits.is_held[slot]:
        if queue.holds:
            hold(queue, slot)
        return queue.holds
    if limits.awaits[limits.cohort[slot]] < 0:
        return _move_cohort(queue, v, slot, free, extra, now, shadow)
    return _move_party(queue, v, slot, free, extra, now, shadow)


@compiled
def _move_cohort(queue, v, slot, free, extra, now, shadow):
    """Let a cohort that a pass meets wait, or go on to its next job that fits; list that if it is there already.

    Returns whether anything changed.
    """
    limits = queue.limits
    cohort, key = limits.cohort[slot], _keys(queue, v)
    party = full_for_all(limits, cohort)
    if party >= 0:
        _take_cohort(queue, cohort)
        limits.awaits[cohort] = party
        _put_cohort(queue, cohort)
        return True
    cores, core_s = room_of(limits, cohort)
    jobs = _jobs(limits, v)
    at, place = seek(jobs, key[slot], slot, limits.cohort, cohort)
    c, i = next_fitting(jobs, at, place, min(free, cores), extra, now, shadow, limits.cohort, cohort)
    while c >= 0 and limits.core_s[jobs.entries[jobs.chain[c], i].slot] > core_s:
        c, i = next_fitting(jobs, c, i + 1, min(free, cores), extra, now, shadow, limits.cohort, cohort)
    if c < 0:
        return slot == _first(jobs, limits.cohort, cohort) and _cohort_shows_least(queue, cohort)
    found = jobs.entries[jobs.chain[c], i].slot
    if found == slot:
        _release(queue, slot, v, _slot_at(jobs, limits.cohort, cohort, c, i + 1))
        return True
    remove(_listed(queue, v), key[slot], slot)
    queue.hidden += v == 0
    _put_cohort_at(queue, v, cohort, found)
    _displaced(limits, cohort)
    return True


@compiled
def _move_party(queue, v, slot, free, extra, now, shadow):
    """Let a party that a pass meets leave, or go on to the next cohort that may fit; if it is there, that stands alone.

    Returns whether anything changed.
    """
    limits = queue.limits
    party, key = limits.awaits[limits.cohort[slot]], _keys(queue, v)
    if not has_room(limits, party):
        for w in range(_lists(queue)):
            _take_party(queue, w, party)
        return True
    room = limits.most[party, 1] - limits.used[party, 1]
    core_s = limits.most[party, 2] - limits.used[party, 2]
    cohorts = _cohorts(limits, v)
    at, place = seek(cohorts, key[slot], slot, limits.awaited, party)
    c, i = next_fitting(cohorts, at, place, min(free, room), extra, now, shadow, limits.awaited, party)
    while c >= 0 and limits.least[limits.cohort[cohorts.entries[cohorts.chain[c], i].slot], 1] > core_s:
        c, i = next_fitting(cohorts, c, i + 1, min(free, room), extra, now, shadow, limits.awaited, party)
    if c < 0:
        return slot == _first(cohorts, limits.awaited, party) and _party_shows_least(queue, party)
    found = cohorts.entries[cohorts.chain[c], i].slot
    after = found
    if found == slot:
        after = _slot_at(cohorts, limits.awaited, party, c, i + 1)
        cohort = limits.cohort[slot]
        _take_party_from(queue, cohort)
        _take_cohort(queue, cohort)
        limits.awaits[cohort] = -1
        _stand_in(queue, cohort, v, slot)  # its first may be behind the pass, if it was held in this pass
    _take_party(queue, v, party)
    if after >= 0:
        _put_party(queue, v, party, after)
    _displaced(limits, -1 - party)
    return True


@compiled
def _least(limits, ordered, lane_of, lane, of_jobs):
    """Return the least cores, core-seconds and estimate of the entries of a lane: of jobs, or of cohorts."""
    cores = core_s = INT64_MAX
    estimate = np.inf
    c, i = seek(ordered, -np.inf, -1, lane_of, lane)
    while c < ordered.blocks:
        b = ordered.chain[c]
        for j in range(i, ordered.count[b]):
            slot = ordered.entries[b, j].slot
            if lane_of[slot] != lane:
                return cores, core_s, estimate
            cores, estimate = min(cores, ordered.entries[b, j].cores), min(estimate, ordered.entries[b, j].estimate)
            core_s = min(core_s, limits.core_s[slot] if of_jobs else limits.least[limits.cohort[slot], 1])
        c += 1
        i = 0
    return cores, core_s, estimate


@compiled
def _cohort_shows_least(queue, cohort):
    """Make what a cohort shows exact; return whether it changed."""
    limits = queue.limits
    cores, core_s, estimate = _least(limits, limits.jobs, limits.cohort, cohort, True)
    least, shortest = limits.least, limits.shortest
    if (cores, core_s, estimate) == (least[cohort, 0], least[cohort, 1], shortest[cohort]):
        return False
    _take_cohort(queue, cohort)
    least[cohort, 0], least[cohort, 1], shortest[cohort] = cores, core_s, estimate
    _put_cohort(queue, cohort)
    return True


@compiled
def _party_shows_least(queue, party):
    """Make what a party shows exact; return whether it changed."""
    limits = queue.limits
    cores, core_s, estimate = _least(limits, limits.cohorts, limits.awaited, party, False)
    least, shortest = limits.least_of_party, limits.shortest_of_party
    if (cores, core_s, estimate) == (least[party, 0], least[party, 1], shortest[party]):
        return False
    least[party, 0], least[party, 1], shortest[party] = cores, core_s, estimate
    for v in range(_lists(queue)):
        at = limits.party_at[party, v]
        _take_party(queue, v, party)
        if at >= 0:
            _put_party(queue, v, party, at)
    return True
