"""Where a task could run: which cluster it meets now, and which it will meet first."""

import numpy as np

from simmodels.compiled import compiled
from simmodels.decisions.market import BY_CLUSTER, RUNNING


@compiled
def arrival_on(market, task, cluster):
    """Return when the data of a task are on a cluster: its predecessors have all ended."""
    m = market
    at = -np.inf
    for k in range(m.first_predecessor[task], m.first_predecessor[task + 1]):
        sender = m.predecessor[k]
        way = 0.0 if m.cluster[sender] == cluster else m.delay[sender]
        at = max(at, m.end[sender] + way)
    return at


@compiled
def meets(market, task, now, reserved, shadow, extra):
    """Return the cluster that a task meets, and whether it may start there.

    That is the one with the most free cores of those that have its data; behind a reservation, of those where the
    task does not delay it.
    """
    m = market
    best = -1
    behind = reserved >= 0
    for cluster in range(m.free.size):
        if not m.offers[m.kind[task], cluster] or (best >= 0 and m.free[cluster] <= m.free[best]):
            continue
        if m.network == BY_CLUSTER and now < m.ready[task] and arrival_on(m, task, cluster) > now:
            continue
        if behind and cluster == reserved and now + m.runtime[task] > shadow and m.cores[task] > extra:
            continue
        best = cluster
    return best, best >= 0 and m.free[best] >= m.cores[task]


@compiled
def most_free(market, group):
    """Return the free cores of the freest cluster that a task of the group could run on."""
    m = market
    most = 0
    for kind in range(m.group.size):
        if m.group[kind] == group:
            for cluster in range(m.free.size):
                if m.offers[kind, cluster]:
                    most = max(most, m.free[cluster])
    return most


@compiled
def reserve(market, task, now):
    """Return the cluster where a blocked task can run first, from when on, and the cores that it leaves over then."""
    m = market
    reserved = -1
    shadow = np.inf
    extra = 0
    for cluster in range(m.free.size):
        if not m.offers[m.kind[task], cluster]:
            continue
        at = max(now, arrival_on(m, task, cluster)) if m.network == BY_CLUSTER else now
        running = np.flatnonzero((m.phase[: m.tasks] == RUNNING) & (m.cluster[: m.tasks] == cluster))
        ends = m.start[running] + m.runtime[running]
        free = m.free[cluster]
        for k in np.argsort(ends):
            if free >= m.cores[task] and ends[k] > at:
                break
            free += m.cores[running[k]]
            at = max(at, ends[k])
        if free >= m.cores[task] and at < shadow:
            reserved = cluster
            shadow = at
            extra = free - m.cores[task]
    return reserved, shadow, extra
