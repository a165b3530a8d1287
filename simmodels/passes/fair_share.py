"""Fair share: what is used is counted and forgotten, and the fair-share factor of each user follows.

A queue whose orders name no factor asks nothing of this; its passes see that by one flag.
"""

import numpy as np
from numba import types

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import INT64_MIN
from simmodels.ground.on_demand import on_demand
from simmodels.structures.fair_state import FAIR_STATE, PARENT, used_with_parts
from simmodels.structures.queue_state import SHARES
from simmodels.structures.sorted_blocks import sort_pairs

_BEFORE = INT64_MIN


@compiled
def advance(fair, now):
    """Let usage be that of the last tick at or before an instant; whatever ran between two ticks counts at the second.

    It is the same whether it goes tick by tick or over many at once.
    """
    # Ticks are multiples of the period from the trace's zero, whoever asks, and whenever.
    tick = np.int64(np.floor(now / fair.period))
    if tick == fair.tick:
        return
    if fair.tick == _BEFORE:
        fair.tick = tick
        return
    for node in range(1, fair.nodes):
        usage, ran, since, cores = fair.usage[node], fair.ran[node], fair.since[node], fair.cores[node]
        if usage == 0.0 and ran == 0.0 and cores == 0:  # nothing to forget
            continue
        for k in range(fair.tick + 1, tick + 1):
            if cores > 0:
                at = k * fair.period
                ran += cores * (at - since)
                since = at
            # What was used since the last tick counts in full now, and decays from the next one on.
            usage = usage * fair.decay + ran
            ran = 0.0
        fair.usage[node], fair.ran[node], fair.since[node] = usage, ran, since
    fair.tick = tick
    fair.stale = True


@on_demand(SHARES, types.void(FAIR_STATE, types.int64, types.float64))
@compiled
def enter(fair, slot, now):
    """Take note that a job arrives: its user counts among its siblings from now on."""
    advance(fair, now)
    node = fair.node[slot]
    # Siblings without a job so far do not count, so one more changes the shares of all.
    fair.stale |= not fair.counted[node]
    fair.counted[node] = True


@on_demand(SHARES, types.void(FAIR_STATE, types.int64, types.int64, types.float64))
@compiled
def count(fair, slot, cores, now):
    """Count cores that a job gets now, or (below 0) gives back."""
    advance(fair, now)
    node = fair.node[slot]
    # Between two ticks, what ran is the integral of the cores: settle it before these change.
    fair.ran[node] += fair.cores[node] * (now - fair.since[node])
    fair.since[node] = now
    fair.cores[node] += cores


@compiled
def refresh(fair, now):
    """Let the factors be those of the last tick."""
    advance(fair, now)
    if fair.stale:
        used = _find_levels(fair)
        if fair.classic:
            _decay_factors(fair, used)
        else:
            _rank_users(fair)
        fair.stale = False


refresh_on_demand = on_demand(SHARES, types.void(FAIR_STATE, types.float64))(refresh)


@compiled
def _find_levels(fair):
    """Compute the part that each node has of its siblings' shares and usage, and the first divided by the second.

    It returns float64[nodes], what each has used, with all its parts.
    """
    # A node with PARENT shares has those of its account, and takes none from its siblings.
    n = fair.nodes
    used, siblings = used_with_parts(fair), np.zeros(n)
    for node in range(1, n):
        if fair.counted[node] and fair.shares[node] != PARENT:
            siblings[fair.above[node]] += fair.shares[node]
    # Nodes are numbered from the root down, so what is above a node comes before it.
    for node in range(1, n):
        above, shares = fair.above[node], fair.shares[node]
        fair.effective[node] = used[node] / used[above] if used[above] > 0.0 else 0.0
        fair.level[node] = np.inf
        fair.norm[node] = fair.norm[above]
        if shares != PARENT:
            fair.norm[node] = shares / siblings[above] if siblings[above] > 0.0 else 0.0
            if fair.effective[node] > 0.0:
                fair.level[node] = fair.norm[node] / fair.effective[node]
    return used


@compiled
def _decay_factors(fair, used):
    """Compute factors by the classic algorithm: what siblings use counts in the measure of one's own shares."""
    for node in range(1, fair.nodes):
        above, part = fair.above[node], fair.norm[node]
        effective = used[node] / used[0] if used[0] > 0.0 else 0.0  # of all usage
        if above > 0:
            effective += (fair.effective[above] - effective) * part
            fair.norm[node] = part * fair.norm[above]
        fair.effective[node] = effective
        fair.factor[node] = 0.0
        if fair.norm[node] > 0.0:  # without shares the factor is 0
            fair.factor[node] = 2.0 ** (-effective / fair.norm[node] / fair.damping)


@compiled
def _rank_users(fair):
    """Compute factors by Fair Tree: users in the order of the levels on the way down to them, the highest first.

    Accounts of one level are gone through as one. Users of the same levels have one rank; and so has a user with the
    levels of an account above the best user in it.
    """
    users, count, deepest = np.empty(fair.nodes, np.int64), 0, 0
    for node in range(fair.nodes):
        if fair.is_user[node] and fair.counted[node]:
            users[count] = node
            count += 1
            deepest = max(deepest, fair.depth[node])
    users = users[:count]
    levels = np.full((deepest, users.size), np.inf)
    for k in range(users.size):
        node = users[k]
        while node > 0:
            levels[fair.depth[node] - 1, k] = fair.level[node]
            node = fair.above[node]
    order = np.arange(users.size)
    keys, scratch = np.empty((2, users.size)), np.empty((3, users.size), np.int64)
    for d in range(deepest, -1, -1):  # the last sort counts most, and each keeps the order of what is alike
        for k in range(users.size):
            keys[0, k] = fair.depth[users[order[k]]] if d == deepest else -levels[d, order[k]]  # the higher level first
            scratch[0, k], scratch[1, k] = k, order[k]
        sort_pairs(keys[0], scratch[0], keys[1], scratch[2], users.size)
        for k in range(users.size):
            order[k] = scratch[1, scratch[0, k]]
    rank = users.size
    for k in range(users.size):
        # Users that are tied keep the rank of the first of them.
        if k > 0 and not _are_tied(levels, order[k - 1], order[k], fair.depth[users[order[k - 1]]]):
            rank = users.size - k
        fair.factor[users[order[k]]] = rank / users.size


@compiled
def _are_tied(levels, one, other, depth):
    """Return whether two users that follow each other have the same levels, down to the first one's."""
    tied = True
    for d in range(depth):
        tied &= levels[d, one] == levels[d, other]
    return tied
