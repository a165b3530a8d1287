"""Where a task could run: which cluster it meets now, and which it will meet first."""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import INT64_MIN
from simmodels.passes.checkpointing import lasts
from simmodels.structures.agenda import pop, push
from simmodels.structures.arrays import grown
from simmodels.structures.auction_state import BY_CLUSTER, RUNNING


@compiled
def arrival_on(auction, task, cluster):
    """Return when the data of a task are on a cluster: its predecessors have all ended."""
    at = -np.inf
    for k in range(auction.first_predecessor[task], auction.first_predecessor[task + 1]):
        sender = auction.predecessor[k]
        way = 0.0 if auction.cluster[sender] == cluster else auction.delay[sender]
        at = max(at, auction.end[sender] + way)
    return at


@compiled
def end_on(auction, task, cluster, start):
    """Return when a task ends that starts on a cluster, with its checkpoints: at the speed of the slowest machine."""
    of_cluster = auction.speed[cluster], auction.interval[cluster], auction.cost[cluster]
    return start + lasts(auction.undone[task], auction.restart[task], 0.0, *of_cluster)


@compiled
def _better(auction, one, other, cores):
    """Return whether a task of this many cores meets one cluster rather than another, which precedes it."""
    free, best = auction.free[one], auction.free[other]
    # While none fits, the freest is met, as without best fit.
    if auction.best_fit and best >= cores:
        return cores <= free < best
    return free > best


@compiled
def meets(auction, task, now, reserved, shadow, extra):
    """Return the cluster that a task meets, and whether it may start there.

    That is the one with the most free cores of those that have its data, or the one that it fits best; behind a
    reservation, of those where the task does not delay it. Where tasks are forwarded, one that has its data is enough:
    `simmodels.entities.forwarding` writes where it goes.
    """
    best = -1
    behind = reserved >= 0
    for cluster in range(auction.free.size):
        if not auction.offers[auction.kind[task], cluster] or (
            best >= 0 and not _better(auction, cluster, best, auction.cores[task])
        ):
            continue
        # From `ready` on its data are everywhere, and nobody has to ask for each cluster.
        if auction.network == BY_CLUSTER and now < auction.ready[task] and arrival_on(auction, task, cluster) > now:
            continue
        # On the reserved cluster it must end by the shadow, or fit beside the reservation.
        late = behind and cluster == reserved and end_on(auction, task, cluster, now) > shadow
        if late and auction.cores[task] > extra:
            continue
        best = cluster
    return best, best >= 0 and (auction.forward or auction.free[best] >= auction.cores[task])


@compiled
def most_free(auction, group):
    """Return the free cores of the freest cluster that a task of the group could run on."""
    most = 0
    for kind in range(auction.group.size):
        if auction.group[kind] == group:
            for cluster in range(auction.free.size):
                if auction.offers[kind, cluster]:
                    most = max(most, auction.free[cluster])
    return most


@compiled
def note_running(auction, task):
    """Take note of when a task ends that starts, and forget what has ended."""
    # Only the top is tidied: what ended deeper in the heap comes up in time.
    while auction.ends_size and (auction.ends_task[0] < 0 or auction.phase[auction.ends_task[0]] != RUNNING):
        pop(auction.ends_time, auction.ends_task, auction.ends_size)
        auction.ends_size -= 1
    if auction.ends_size == auction.ends_time.size:
        auction.ends_time = grown(auction.ends_time, 2 * auction.ends_size)
        auction.ends_task = grown(auction.ends_task, 2 * auction.ends_size)
    push(auction.ends_time, auction.ends_task, auction.ends_size, auction.until[task], task)
    auction.ends_size += 1


@compiled
def forget_running(auction, task):
    """Forget when a task would have ended that was lost: it may run again before then."""
    for k in range(auction.ends_size):
        if auction.ends_task[k] == task:
            auction.ends_task[k] = -1


@compiled
def reserve(auction, task, now):
    """Return the cluster where a blocked task can run first, from when on, and the cores that it leaves over then."""
    need = auction.cores[task]
    free, first = auction.free.copy(), np.full(auction.free.size, now)
    least = np.inf  # when it can run first, by what has been looked at
    for cluster in range(free.size):
        if not auction.offers[auction.kind[task], cluster]:
            free[cluster] = INT64_MIN  # it never has enough
            continue
        if auction.network == BY_CLUSTER:
            first[cluster] = max(now, arrival_on(auction, task, cluster))
        if free[cluster] >= need:
            least = min(least, first[cluster])
    # A copy, from which ends are popped in order.
    ends, tasks = auction.ends_time[: auction.ends_size].copy(), auction.ends_task[: auction.ends_size].copy()
    for size in range(auction.ends_size, 0, -1):
        end = ends[0]
        if end > least:  # later ends only give later starts
            break
        one = pop(ends, tasks, size)
        if one < 0 or auction.phase[one] != RUNNING:
            continue
        cluster = auction.cluster[one]
        # Its start is settled; what ends just then still adds to what is left over.
        if free[cluster] >= need and end > first[cluster]:
            continue
        free[cluster] += auction.cores[one]
        first[cluster] = max(first[cluster], end)
        if free[cluster] >= need:
            least = min(least, first[cluster])
    reserved = -1
    shadow = np.inf
    for cluster in range(free.size):
        if free[cluster] >= need and first[cluster] < shadow:  # ties fall to the smaller cluster
            reserved = cluster
            shadow = first[cluster]
    return reserved, shadow, free[reserved] - need if reserved >= 0 else 0
