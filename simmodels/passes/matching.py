"""Where a task could run: which cluster it meets now, and which it will meet first."""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.structures.agenda import pop, push
from simmodels.structures.arrays import grown
from simmodels.structures.auction_state import BY_CLUSTER, RUNNING


@compiled
def arrival_on(state, task, cluster):
    """Return when the data of a task are on a cluster: its predecessors have all ended."""
    m = state
    at = -np.inf
    for k in range(m.first_predecessor[task], m.first_predecessor[task + 1]):
        sender = m.predecessor[k]
        way = 0.0 if m.cluster[sender] == cluster else m.delay[sender]
        at = max(at, m.end[sender] + way)
    return at


@compiled
def _better(state, one, other, cores):
    """Return whether a task of this many cores meets one cluster rather than another, which precedes it."""
    free, best = state.free[one], state.free[other]
    if state.best_fit and best >= cores:
        return cores <= free < best
    return free > best


@compiled
def meets(state, task, now, reserved, shadow, extra):
    """Return the cluster that a task meets, and whether it may start there.

    That is the one with the most free cores of those that have its data, or the one that it fits best; behind a
    reservation, of those where the task does not delay it. Where tasks are forwarded, one that has its data is enough:
    `auction_events.send` says where it goes.
    """
    m = state
    best = -1
    behind = reserved >= 0
    for cluster in range(m.free.size):
        if not m.offers[m.kind[task], cluster] or (best >= 0 and not _better(m, cluster, best, m.cores[task])):
            continue
        if m.network == BY_CLUSTER and now < m.ready[task] and arrival_on(m, task, cluster) > now:
            continue
        if behind and cluster == reserved and now + m.runtime[task] > shadow and m.cores[task] > extra:
            continue
        best = cluster
    return best, best >= 0 and (m.forward or m.free[best] >= m.cores[task])


@compiled
def most_free(state, group):
    """Return the free cores of the freest cluster that a task of the group could run on."""
    m = state
    most = 0
    for kind in range(m.group.size):
        if m.group[kind] == group:
            for cluster in range(m.free.size):
                if m.offers[kind, cluster]:
                    most = max(most, m.free[cluster])
    return most


@compiled
def note_running(state, task):
    """Take note of when a task ends that starts, and forget what has ended."""
    m = state
    while m.ends_size and (m.ends_task[0] < 0 or m.phase[m.ends_task[0]] != RUNNING):
        pop(m.ends_time, m.ends_task, m.ends_size)
        m.ends_size -= 1
    if m.ends_size == m.ends_time.size:
        m.ends_time = grown(m.ends_time, 2 * m.ends_size)
        m.ends_task = grown(m.ends_task, 2 * m.ends_size)
    push(m.ends_time, m.ends_task, m.ends_size, m.start[task] + m.runtime[task], task)
    m.ends_size += 1


@compiled
def forget_running(state, task):
    """Forget when a task would have ended that was lost: it may run again before then."""
    m = state
    for k in range(m.ends_size):
        if m.ends_task[k] == task:
            m.ends_task[k] = -1


@compiled
def reserve(state, task, now):
    """Return the cluster where a blocked task can run first, from when on, and the cores that it leaves over then."""
    m = state
    need = m.cores[task]
    free, first = m.free.copy(), np.full(m.free.size, now)
    least = np.inf  # when it can run first, by what has been looked at
    for cluster in range(free.size):
        if not m.offers[m.kind[task], cluster]:
            free[cluster] = np.iinfo(np.int64).min  # it never has enough
            continue
        if m.network == BY_CLUSTER:
            first[cluster] = max(now, arrival_on(m, task, cluster))
        if free[cluster] >= need:
            least = min(least, first[cluster])
    ends, tasks = m.ends_time[: m.ends_size].copy(), m.ends_task[: m.ends_size].copy()
    for size in range(m.ends_size, 0, -1):
        end = ends[0]
        if end > least:
            break
        one = pop(ends, tasks, size)
        if one < 0 or m.phase[one] != RUNNING:
            continue
        cluster = m.cluster[one]
        if free[cluster] >= need and end > first[cluster]:
            continue
        free[cluster] += m.cores[one]
        first[cluster] = max(first[cluster], end)
        if free[cluster] >= need:
            least = min(least, first[cluster])
    reserved = -1
    shadow = np.inf
    for cluster in range(free.size):
        if free[cluster] >= need and first[cluster] < shadow:
            reserved = cluster
            shadow = first[cluster]
    return reserved, shadow, free[reserved] - need if reserved >= 0 else 0
