"""Limit state: what the jobs that run count against the limits of a queue, and which jobs wait for them.

A *party* is whose jobs are counted together: a user, a queue, or a group of them; a job is of several. What a party may
have, and has, are three numbers: jobs, cores, and the core-seconds that its jobs are expected to take.

A job that is found to be over a limit is *held*: the queue's lists show it with more cores than any cluster has, so no
pass finds it to fit, and blocks of such jobs are skipped. It is in the list of the party that is full, and is shown as
it is when a job of that party ends. To be held is only what is known of a job: one that is over a limit, and was not
met since, is not held yet.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import MOST
from simmodels.structures.arrays import grown, grown_rows
from simmodels.structures.structure import Handle, Structure

HELD: Final = 2 * MOST
"""The cores with which lists show a job that is held: more than any cluster has; 64 of them are no overflow."""


@structref.register
class LimitStateType(Structure):
    """The numba type of `LimitState`."""


class LimitState(Handle):
    """A Python handle on what is counted; made by `new_limits`."""


structref.define_boxing(LimitStateType, LimitState)

_I1 = types.int64[::1]
_I2 = types.int64[:, ::1]
LIMIT_STATE: Final = LimitStateType(
    [
        # by party
        ("most", _I2),  # jobs, cores and core-seconds that it may have
        ("used", _I2),  # and has
        ("first_held", _I1),  # the first slot of the list of those that it holds; -1 for none
        # by slot
        ("parties", _I2),  # of which it is; -1 for none
        ("core_s", _I1),  # how many core-seconds it is expected to take
        ("shown", _I1),  # its cores; `HELD` if it is held
        ("next_held", _I1),  # the next slot of the list in which it is
    ]
)


@compiled
def new_limits(slots, columns, parties):
    """Return the state of limits with room for slots, each of `columns` parties at most, and for parties."""
    limits = structref.new(LIMIT_STATE)
    limits.most = np.zeros((parties, 3), np.int64)
    limits.used = np.zeros((parties, 3), np.int64)
    limits.first_held = np.full(parties, -1)
    limits.parties = np.full((slots, columns), -1)
    limits.core_s = np.zeros(slots, np.int64)
    limits.shown = np.zeros(slots, np.int64)
    limits.next_held = np.full(slots, -1)
    return limits


@compiled
def grow_slots(limits, slots):
    """Make room for `slots` slots."""
    limits.parties = grown_rows(limits.parties, slots)
    limits.core_s = grown(limits.core_s, slots)
    limits.shown = grown(limits.shown, slots)
    limits.next_held = grown(limits.next_held, slots)


@compiled
def set_party(limits, party, jobs, cores, core_s):
    """Say what a party may have, the next one that is not known; there is room for more of them then."""
    known = limits.most.shape[0]
    if party == known:
        limits.most = grown_rows(limits.most, 2 * known)
        limits.used = grown_rows(limits.used, 2 * known)
        limits.first_held = grown(limits.first_held, 2 * known)
    limits.most[party] = jobs, cores, core_s
    limits.used[party] = 0
    limits.first_held[party] = -1


@compiled
def slot_columns(limits):
    """Return the columns by slot that the caller fills in: parties, core-seconds, and cores as shown."""
    return limits.parties, limits.core_s, limits.shown


@compiled
def lift(limits):
    """Let every party have any amount; return what each may have, for `restore`."""
    most = limits.most
    limits.most = np.full(most.shape, np.iinfo(np.int64).max)
    return most


@compiled
def restore(limits, most):
    """Let the parties have what they may have."""
    limits.most = most


@compiled
def count(limits, slot, cores, times):
    """Count a job that starts (`times` is 1) for each of its parties, or one that has ended (-1) no more."""
    used = limits.used
    for k in range(limits.parties.shape[1]):
        party = limits.parties[slot, k]
        if party >= 0:
            used[party, 0] += times
            used[party, 1] += times * cores
            used[party, 2] += times * limits.core_s[slot]


@compiled
def full_party(limits, slot, cores):
    """Return the first of a waiting job's parties that would have too much if it started; -1 if none would."""
    most, used = limits.most, limits.used
    for k in range(limits.parties.shape[1]):
        party = limits.parties[slot, k]
        if party < 0:
            continue
        if used[party, 0] >= most[party, 0] or used[party, 1] + cores > most[party, 1]:
            return party
        if used[party, 2] + limits.core_s[slot] > most[party, 2]:
            return party
    return np.int64(-1)


@compiled
def used_by(limits, party):
    """Return int64[3], what a party has: jobs, cores, core-seconds."""
    return limits.used[party].copy()


@compiled
def await_party(limits, slot, party):
    """Put a job that is held into the list of the party that is full."""
    limits.shown[slot] = HELD
    limits.next_held[slot] = limits.first_held[party]
    limits.first_held[party] = slot
