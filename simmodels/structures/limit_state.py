"""Limit state: what the jobs that run count against the limits of a queue, and which jobs wait for them.

A *party* is whose jobs are counted together: a user, a queue, or a group of them; a job is of several. What a party may
have, and has, are four numbers: jobs that run, their cores, and the core-seconds that they are expected to take; and
jobs that run or wait in the queue. A job that is over the last is *outside* the queue. The jobs that are of the same
parties are a *cohort*: limits see no difference between them but their cores and core-seconds.

`simmodels.structures.held_jobs` says what is held, and where.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import INT64_MAX
from simmodels.structures.arrays import put
from simmodels.structures.sorted_blocks import SORTED_BLOCKS, new_sorted_blocks
from simmodels.structures.structure import C1, F1, I1, I2, Handle, Structure, columns_by


class LimitState(Handle):
    """A Python handle on what is counted; made by `new_limits`."""


LIMIT_STATE: Final = Structure(
    LimitState,
    [
        # jobs, cores and core-seconds that a party may have, and jobs that may be in the queue or run
        ("most", I2, "party"),
        ("used", I2, "party", 0),  # and has
        ("largest", I2, "party", 0),  # the most cores and core-seconds of a job of it, of those that were in the queue
        ("cohorts_held", I1, "party", 0),  # how many cohorts wait for it
        ("least_of_party", I2, "party"),  # no job of these cohorts needs fewer cores, or core-seconds
        ("shortest_of_party", F1, "party"),  # or is shorter by its estimate
        ("party_at", I2, "party", -1),  # [party, list]: the slot at which its stand-in is; -1 where it has none
        ("parties", I2, "cohort", -1),  # of which its jobs are; -1 for none
        ("jobs_held", I1, "cohort", 0),  # how many of its jobs are held
        ("least", I2, "cohort"),  # none of these needs fewer cores, or core-seconds
        ("shortest", F1, "cohort"),  # or is shorter by its estimate
        ("awaits", I1, "cohort", -1),  # the party for which all of these wait; -1 if some may not have to
        # [cohort, list]: the slot at which it stands, for the party or in the queue's list; -1
        ("cohort_at", I2, "cohort", -1),
        ("first_outside", I1, "cohort", -1),  # the first of its jobs that are outside the queue; -1
        ("last_outside", I1, "cohort", -1),
        ("cohort", I1, "slot", 0),
        ("core_s", I1, "slot", 0),  # how many core-seconds it is expected to take
        ("is_held", C1, "slot", 0),
        ("awaited", I1, "slot", 0),  # the party for which the cohort waits that stands at this slot
        ("next_outside", I1, "slot", -1),  # the next job of its cohort that is outside; -1
        # the lists: by order and by backfill order
        ("jobs", SORTED_BLOCKS),  # the held jobs; lanes are cohorts
        ("backfill_jobs", SORTED_BLOCKS),
        ("cohorts", SORTED_BLOCKS),  # those that wait for a party; lanes are parties
        ("backfill_cohorts", SORTED_BLOCKS),
        # the state
        ("displaced", I1),  # cohorts, and parties as -1 - party, that do not stand where they should
        ("displaced_size", types.int64),
        ("counts_submitted", types.boolean),  # whether jobs may be outside
        ("outside", types.int64),  # how many are
        ("may_enter", types.boolean),  # whether one of them may be over no limit any more
        ("tightened", types.boolean),  # whether jobs that had a reservation may be over a limit now
    ],
)
_lengthen_parties, _lengthen_cohorts = columns_by(LIMIT_STATE, "party"), columns_by(LIMIT_STATE, "cohort")
lengthen_slots = columns_by(LIMIT_STATE, "slot")


@compiled
def new_limits(slots, columns, parties, counts_submitted):
    """Return the state of limits with room for slots, each of `columns` parties at most, and for parties."""
    limits = structref.new(LIMIT_STATE)
    limits.most = limits.used = np.empty((0, 4), np.int64)
    limits.largest = limits.least_of_party = limits.party_at = np.empty((0, 2), np.int64)
    limits.parties = np.empty((0, columns), np.int64)
    limits.least = limits.cohort_at = np.empty((0, 2), np.int64)
    _lengthen_parties(limits, parties)
    _lengthen_cohorts(limits, parties)
    lengthen_slots(limits, slots)
    limits.jobs = new_sorted_blocks(1)
    limits.backfill_jobs = new_sorted_blocks(1)
    limits.cohorts = new_sorted_blocks(1)
    limits.backfill_cohorts = new_sorted_blocks(1)
    limits.displaced = np.empty(64, np.int64)
    limits.counts_submitted = counts_submitted
    return limits


@compiled
def set_party(limits, party, jobs, cores, core_s, submitted):
    """Say what a party may have, the next one that is not known; there is room for more of them then."""
    if party == limits.most.shape[0]:
        _lengthen_parties(limits, 2 * party)
    limits.most[party] = jobs, cores, core_s, submitted


@compiled
def set_cohorts(limits, first, parties):
    """Say of which parties cohorts are, a row each: those from the next one that is not known."""
    known, last = limits.parties.shape[0], first + len(parties)
    if last > known:
        _lengthen_cohorts(limits, max(2 * known, last))
    for cohort in range(first, last):
        put(limits.parties[cohort], 0, parties[cohort - first], parties.shape[1])


@compiled
def lift(limits):
    """Let every party have any amount; return what each may have, for `restore`. What is outside stays there."""
    most = limits.most
    limits.most = np.full(most.shape, INT64_MAX)
    limits.may_enter = False
    return most


@compiled
def restore(limits, most):
    """Let the parties have what they may have."""
    limits.most = most
    limits.may_enter = limits.outside > 0
    limits.tightened = True


@compiled
def count(limits, slot, cores, times):
    """Count a job that starts (`times` is 1) for each of its parties, or one that has ended (-1) no more."""
    used, parties, cohort, core_s = limits.used, limits.parties, limits.cohort[slot], limits.core_s[slot]
    for k in range(parties.shape[1]):
        party = parties[cohort, k]
        if party >= 0:
            used[party, 0] += times
            used[party, 1] += times * cores
            used[party, 2] += times * core_s


@inlined
def first_full(parties, most, used, cohort, cores, core_s):
    """Return the first party that would have too much if such a job of a cohort started; -1 if none would."""
    for k in range(parties.shape[1]):
        party = parties[cohort, k]
        if party >= 0 and (
            used[party, 0] >= most[party, 0]
            or used[party, 1] + cores > most[party, 1]
            or used[party, 2] + core_s > most[party, 2]
        ):
            return party
    return np.int64(-1)


@compiled
def full_party(limits, slot, cores):
    """Return the first of a waiting job's parties that would have too much if it started; -1 if none would."""
    return first_full(limits.parties, limits.most, limits.used, limits.cohort[slot], cores, limits.core_s[slot])


@compiled
def exceeds(limits, slot, cores):
    """Return whether a waiting job would exceed a limit if it started now."""
    return full_party(limits, slot, cores) >= 0


@compiled
def is_barred(limits, slot, cores):
    """Return whether a job that is met in a list is over a limit, or others stand there for it."""
    return limits.is_held[slot] or exceeds(limits, slot, cores)


@compiled
def full_for_all(limits, cohort):
    """Return the first party that would have too much if any held job of a cohort started; -1 if none may be so."""
    least = limits.least
    return first_full(limits.parties, limits.most, limits.used, cohort, least[cohort, 0], least[cohort, 1])


@compiled
def has_room(limits, party):
    """Return whether a party may have room for a held job of a cohort that waits for it."""
    most, used, least = limits.most, limits.used, limits.least_of_party
    return (
        limits.cohorts_held[party] > 0
        and used[party, 0] < most[party, 0]
        and used[party, 1] + least[party, 0] <= most[party, 1]
        and used[party, 2] + least[party, 1] <= most[party, 2]
    )


@compiled
def room_of(limits, cohort):
    """Return how many cores, and core-seconds, may be added to all parties of a cohort."""
    most, used = limits.most, limits.used
    cores = core_s = INT64_MAX
    for k in range(limits.parties.shape[1]):
        party = limits.parties[cohort, k]
        if party >= 0:
            cores = min(cores, most[party, 1] - used[party, 1])
            core_s = min(core_s, most[party, 2] - used[party, 2])
    return cores, core_s


# -- outside the queue -----------------------------------------------------------------------------


@compiled
def count_submitted(limits, slot, times):
    """Count a job that enters the queue (`times` is 1) for each of its parties, or one that is done (-1) no more."""
    for k in range(limits.parties.shape[1]):
        party = limits.parties[limits.cohort[slot], k]
        if party >= 0:
            limits.used[party, 3] += times
    limits.may_enter |= times < 0 and limits.outside > 0


@compiled
def full_to_enter(limits, cohort):
    """Return the first party that has as many jobs in the queue, or running, as it may have; -1 if none has."""
    for k in range(limits.parties.shape[1]):
        party = limits.parties[cohort, k]
        if party >= 0 and limits.used[party, 3] >= limits.most[party, 3]:
            return party
    return np.int64(-1)


@compiled
def leave_outside(limits, slot):
    """Let a job be outside the queue, the last of its cohort, until `next_to_enter` returns it."""
    cohort = limits.cohort[slot]
    if limits.first_outside[cohort] < 0:
        limits.first_outside[cohort] = slot
    else:
        limits.next_outside[limits.last_outside[cohort]] = slot
    limits.last_outside[cohort] = slot
    limits.next_outside[slot] = -1
    limits.outside += 1


@compiled
def take_from_outside(limits, slot):
    """Let a job be outside no more."""
    cohort, before = limits.cohort[slot], np.int64(-1)
    at = limits.first_outside[cohort]
    while at != slot:
        before, at = at, limits.next_outside[at]
    if before < 0:
        limits.first_outside[cohort] = limits.next_outside[slot]
    else:
        limits.next_outside[before] = limits.next_outside[slot]
    if limits.last_outside[cohort] == slot:
        limits.last_outside[cohort] = before
    limits.outside -= 1


@compiled
def next_to_enter(limits):
    """Let the job enter that was submitted first of those outside that may, and return it; -1 if there is none."""
    found = np.int64(-1)
    for cohort in range(limits.first_outside.size):
        slot = limits.first_outside[cohort]
        if slot >= 0 and (found < 0 or slot < found) and full_to_enter(limits, cohort) < 0:
            found = slot
    if found >= 0:
        take_from_outside(limits, found)
        count_submitted(limits, found, 1)
    else:
        limits.may_enter = False
    return found
