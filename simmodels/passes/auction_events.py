"""Trading: what each event does to the state of an auction.

Both engines say which tasks ended and which jobs arrive; data that arrive and jobs that starve the state knows by
itself, and says when it must be woken for them.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.bidding import enter, hold_auction, key_of, promise, withdraw
from simmodels.passes.matching import arrival_on, forget_running, note_running
from simmodels.structures.agenda import pop, push
from simmodels.structures.arrays import grown
from simmodels.structures.auction_state import (
    ACTIVE,
    BY_CLUSTER,
    BY_KIND,
    COMING,
    EASY,
    ENDED,
    EXPECTED,
    FINISHED,
    REJECTED,
    REMOVED,
    RUNNING,
    STARVED,
    TRAVELLING,
    WAITING,
    append_rigid,
    auction_state_at,
    set_rules,
)
from simmodels.work.curve import factor_at


@compiled
def _announce(auction, time, task):
    """Take note that data of a task arrive at an instant."""
    if auction.data_size == auction.data_time.size:
        auction.data_time = grown(auction.data_time, 2 * auction.data_size)
        auction.data_task = grown(auction.data_task, 2 * auction.data_size)
    push(auction.data_time, auction.data_task, auction.data_size, time, task)
    auction.data_size += 1


@compiled
def _release(auction, task, now):
    """Let a task whose predecessors have all ended wait, now or when its data have travelled."""
    first = now
    if auction.network == BY_CLUSTER:
        first = np.inf
        last = -np.inf
        for cluster in range(auction.free.size):
            if auction.offers[auction.kind[task], cluster]:
                at = arrival_on(auction, task, cluster)
                first = min(first, at)
                last = max(last, at)
        # From `last` on it may run anywhere: nobody asks cluster by cluster then.
        auction.ready[task] = last
        for cluster in range(auction.free.size):
            if auction.offers[auction.kind[task], cluster]:
                at = arrival_on(auction, task, cluster)
                # One more cluster may take it from then on: an auction is to be held.
                if at > now and at not in (first, last):
                    _announce(auction, at, task)
        if last > now and last != first:
            _announce(auction, last, task)
    elif auction.network == BY_KIND:
        for k in range(auction.first_predecessor[task], auction.first_predecessor[task + 1]):
            sender = auction.predecessor[k]
            if auction.apart[auction.kind[sender], auction.kind[task]]:
                first = max(first, auction.end[sender] + auction.delay[sender])
    # Before `first` no cluster may take it, so it is in no queue.
    if first > now:
        auction.phase[task] = TRAVELLING
        _announce(auction, first, task)
    else:
        enter(auction, task, now)


@compiled
def finish(auction, task, now):
    """Let a running task end: its cores are free, and its successors one step nearer."""
    auction.phase[task] = ENDED
    _vacate(auction, task)
    auction.end[task] = now
    job = auction.job[task]
    # Also of a job that is gone, whose running tasks run on.
    auction.left[job] -= 1
    if auction.state[job] != ACTIVE:
        return
    if auction.left[job] == 0:
        auction.finish[job] = now
        # Done, but worth nothing any more: that counts as starved.
        slr = (now - auction.submit[job]) / auction.tick / auction.critical_path[job]
        auction.state[job] = STARVED if slr >= auction.slr[auction.first_point[job + 1] - 1] else FINISHED
        return
    for k in range(auction.first_successor[task], auction.first_successor[task + 1]):
        successor = auction.successor[k]
        auction.missing[successor] -= 1
        if auction.missing[successor] == 0:
            _release(auction, successor, now)


@compiled
def _vacate(auction, task):
    if not auction.forward:  # else the queues behind count their cores
        auction.free[auction.cluster[task]] += auction.cores[task]
    kind = auction.kind[task]
    auction.busy_cores[kind] -= auction.cores[task]
    auction.busy_until[kind] -= auction.cores[task] * auction.until[task]
    if auction.busy_cores[kind] == 0:
        auction.busy_until[kind] = 0.0  # nothing is left of what was rounded


@compiled
def lose(auction, task, undone, restart, now):
    """Let a task wait again that lost its machine, with what is left of it, and what coming back to that takes."""
    auction.undone[task], auction.restart[task] = undone, restart
    take_back(auction, task, now)


@compiled
def take_back(auction, task, now):
    """Let a task whose run came to nothing wait again, unless its job is gone."""
    _vacate(auction, task)
    if auction.backfilling == EASY:
        forget_running(auction, task)
    auction.cluster[task] = -1
    auction.start[task] = np.nan
    auction.price[task] = np.nan
    if auction.state[auction.job[task]] != ACTIVE:
        auction.phase[task] = REMOVED
        return
    promise(auction, task, 1)  # its work is to be done again
    enter(auction, task, now)


@compiled
def _remove_tasks(auction, job):
    """Take all tasks of a job away that have not started; those that run, run on."""
    for task in range(auction.first_task[job], auction.first_task[job + 1]):
        if auction.phase[task] == WAITING:  # it is in a heap
            withdraw(auction, task)
        if auction.phase[task] == WAITING or auction.phase[task] == COMING or auction.phase[task] == TRAVELLING:
            auction.phase[task] = REMOVED
            promise(auction, task, -1)


@compiled
def _due_now(auction, now):
    """Let the jobs starve whose deadline is reached."""
    while auction.due_size and auction.due_time[0] <= now:
        job = pop(auction.due_time, auction.due_job, auction.due_size)
        auction.due_size -= 1
        if auction.state[job] == ACTIVE:  # else it was done in time
            auction.state[job] = STARVED
            auction.finish[job] = np.nan
            _remove_tasks(auction, job)


@compiled
def projected_factor(auction, job, now):
    """Return the share of its value that a job may hope for if it were let in now.

    Its tasks come behind all the work that was promised: the SLR is that of its critical path and the longest time
    that one of its kinds needs for what runs and waits there on all its clusters.
    """
    behind = 0.0
    for task in range(auction.first_task[job], auction.first_task[job + 1]):
        kind = auction.kind[task]
        # What runs still takes the sum of cores x (end - now): both parts of it are kept as sums.
        runs = max(auction.busy_until[kind] - now * auction.busy_cores[kind], 0.0)
        ahead = auction.promised[kind] / auction.pace[kind] + runs
        behind = max(behind, ahead / auction.size[kind])
    slr = (auction.critical_path[job] + behind / auction.tick) / auction.critical_path[job]
    return factor_at(slr, auction.slr, auction.factor, auction.first_point[job], auction.first_point[job + 1])


@compiled
def arrive(auction, job, now):
    """Let a job arrive: its first tasks wait, or it is rejected."""
    if auction.admission > 0.0 and projected_factor(auction, job, now) < auction.admission:
        auction.state[job] = REJECTED
        auction.finish[job] = now
        for task in range(auction.first_task[job], auction.first_task[job + 1]):
            auction.phase[task] = REMOVED
        return
    auction.state[job] = ACTIVE
    # A deadline is reached at a tick.
    due = np.ceil(auction.deadline[job]) * auction.tick
    if due < np.inf:
        if auction.due_size == auction.due_time.size:
            auction.due_time = grown(auction.due_time, 2 * auction.due_size)
            auction.due_job = grown(auction.due_job, 2 * auction.due_size)
        push(auction.due_time, auction.due_job, auction.due_size, due, job)
        auction.due_size += 1
    for task in range(auction.first_task[job], auction.first_task[job + 1]):
        promise(auction, task, 1)
        if auction.missing[task] == 0:  # its first tasks have no predecessors
            enter(auction, task, now)


@compiled
def next_wake(auction):
    """Return the next instant at which data arrive or a deadline is reached; infinity if there is none."""
    while (
        not auction.every_deadline and auction.due_size and auction.state[auction.due_job[0]] != ACTIVE
    ):  # it was done in time
        pop(auction.due_time, auction.due_job, auction.due_size)
        auction.due_size -= 1
    at = np.inf
    if auction.due_size:
        at = auction.due_time[0]
    if auction.data_size:
        at = min(at, auction.data_time[0])
    return at


@compiled
def know_rigid(address, submit, length, cores, kind, ccr):
    """Make a rigid job known to the auction at an address (see `step`); parameters as for `append_rigid`."""
    append_rigid(auction_state_at(address), submit, length, cores, kind, ccr)


@compiled
def instant(auction, now, ended, arrived):
    """Let tasks end and jobs arrive, and hold the auction; return the tasks that start.

    In this order: what ends, data, starvation, arrivals, the auction.
    """
    # Ends first: their cores, and what they release, are there for this auction.
    for k in range(ended.size):
        finish(auction, ended[k], now)
    while auction.data_size and auction.data_time[0] <= now:
        task = pop(auction.data_time, auction.data_task, auction.data_size)
        auction.data_size -= 1
        # Else it waits already, and one cluster more has its data; or its job is gone.
        if auction.phase[task] == TRAVELLING:
            enter(auction, task, now)
    _due_now(auction, now)
    for k in range(arrived.size):
        arrive(auction, arrived[k], now)
    hold_auction(auction, now)
    return auction.placed[: auction.placed_size]


@compiled
def step(address, now, events, ends, arrivals):
    """Hold an `instant` in which the tasks events[0, :ends] end, and the next `arrivals` of these numbers are jobs.

    One call an instant: it saves the SimPy engine a crossing from Python for each question, and arrays that are made.

    Parameters
    ----------
    address
        That of the auction, see `simmodels.structures.structure.address_of`.
    events
        int64[2, room]. The tasks that start are in the first row then, and where in the second, if they have room
        there; else `started` gives them.

    Returns
    -------
    int, float, int
        How many tasks start; the next instant at which data arrive or a deadline is reached; the task for which the
        bid gave no number (-1 when there is none).
    """
    auction = auction_state_at(address)
    tasks = instant(auction, now, events[0, :ends], events[0, ends : ends + arrivals])
    if tasks.size <= events.shape[1]:
        _write_started(auction, events)
    return tasks.size, next_wake(auction), auction.refused


@compiled
def started(auction, room):
    """Return int64[2, room], the tasks of the last auction that start, and where."""
    events = np.empty((2, room), np.int64)
    _write_started(auction, events)
    return events


@compiled
def _write_started(auction, events):
    for k in range(auction.placed_size):
        events[0, k] = auction.placed[k]
        events[1, k] = auction.cluster[auction.placed[k]]


@compiled
def change_rules(auction, rules, now):
    """Go over to other rules (see `set_rules`); all that waits bids again."""
    waiting = all_waiting(auction)
    set_rules(auction, rules)
    auction.ends_size = 0  # only EASY keeps ends
    if auction.backfilling == EASY:
        for task in range(auction.tasks):
            if auction.phase[task] == RUNNING:
                note_running(auction, task)
    # All queues are new and empty: what waits enters as if it had just come.
    for task in waiting:
        auction.turn[task] = -1
        enter(auction, task, now)


@compiled
def due_by(auction, now):
    """Return the jobs, in any order, whose deadline is reached by an instant; some may have been done before."""
    return auction.due_job[: auction.due_size][auction.due_time[: auction.due_size] <= now]


@compiled
def add_free(auction, cluster, cores):
    """Give a cluster more free cores (take some away, if negative)."""
    auction.free[cluster] += cores


@compiled
def takes(auction, task, now):
    """Return bool[clusters]: which take a task of its kind, and have its data."""
    out = auction.offers[auction.kind[task]].copy()
    for cluster in range(out.size):
        if out[cluster] and auction.network == BY_CLUSTER and arrival_on(auction, task, cluster) > now:
            out[cluster] = False
    return out


@compiled
def any_waits(auction):
    """Return whether a task waits for an auction."""
    return auction.waiting.sum() > 0


@compiled
def waiting_cores(auction):
    """Return how many cores all tasks need that wait for an auction."""
    return auction.cores[all_waiting(auction)].sum()


@compiled
def offer(auction, task, now, start, queue, speed):
    """Return the key of a task for a place with `queue` jobs waiting, where it would start then: the least wins."""
    return key_of(auction, task, now, 0.0, start, queue, speed)


@compiled
def first_open(auction, job):
    """Return the first job, from one on, that is neither finished nor starved nor rejected; else how many there are."""
    while job < auction.jobs and auction.state[job] != EXPECTED and auction.state[job] != ACTIVE:
        job += 1
    return job


@compiled
def all_waiting(auction):
    """Return the tasks in the queues of all groups."""
    found = np.empty(auction.waiting.sum(), np.int64)
    n = 0
    for group in range(auction.waiting.size):
        for k in range(auction.waiting[group]):
            found[n] = auction.heap[group, k]
            n += 1
    return found
