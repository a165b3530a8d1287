"""Trading: what each event does to the state of an auction.

Both engines say which tasks ended and which jobs arrive; data that arrive and jobs that starve the state knows by
itself, and says when it must be woken for them.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.passes.bidding import auction, enter, key_of, withdraw
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
def _announce(state, time, task):
    """Take note that data of a task arrive at an instant."""
    m = state
    if m.data_size == m.data_time.size:
        m.data_time = grown(m.data_time, 2 * m.data_size)
        m.data_task = grown(m.data_task, 2 * m.data_size)
    push(m.data_time, m.data_task, m.data_size, time, task)
    m.data_size += 1


@compiled
def _release(state, task, now):
    """Let a task whose predecessors have all ended wait, now or when its data have travelled."""
    m = state
    first = now
    if m.network == BY_CLUSTER:
        first = np.inf
        last = -np.inf
        for cluster in range(m.free.size):
            if m.offers[m.kind[task], cluster]:
                at = arrival_on(m, task, cluster)
                first = min(first, at)
                last = max(last, at)
        m.ready[task] = last
        for cluster in range(m.free.size):
            if m.offers[m.kind[task], cluster]:
                at = arrival_on(m, task, cluster)
                if at > now and at not in (first, last):
                    _announce(m, at, task)
        if last > now and last != first:
            _announce(m, last, task)
    elif m.network == BY_KIND:
        for k in range(m.first_predecessor[task], m.first_predecessor[task + 1]):
            sender = m.predecessor[k]
            if m.apart[m.kind[sender], m.kind[task]]:
                first = max(first, m.end[sender] + m.delay[sender])
    if first > now:
        m.phase[task] = TRAVELLING
        _announce(m, first, task)
    else:
        enter(m, task, now)


@compiled
def finish(state, task, now):
    """Let a running task end: its cores are free, and its successors one step nearer."""
    m = state
    m.phase[task] = ENDED
    _vacate(m, task)
    m.end[task] = now
    job = m.job[task]
    m.left[job] -= 1
    if m.state[job] != ACTIVE:
        return
    if m.left[job] == 0:
        m.finish[job] = now
        slr = (now - m.submit[job]) / m.tick / m.critical_path[job]
        m.state[job] = STARVED if slr >= m.slr[m.first_point[job + 1] - 1] else FINISHED
        return
    for k in range(m.first_successor[task], m.first_successor[task + 1]):
        successor = m.successor[k]
        m.missing[successor] -= 1
        if m.missing[successor] == 0:
            _release(m, successor, now)


@compiled
def _vacate(state, task):
    m = state
    if not m.forward:
        m.free[m.cluster[task]] += m.cores[task]
    kind = m.kind[task]
    m.busy_cores[kind] -= m.cores[task]
    m.busy_until[kind] -= m.cores[task] * (m.start[task] + m.runtime[task])


@compiled
def lose(state, task, now):
    """Let a task whose run came to nothing wait again, unless its job is gone."""
    m = state
    _vacate(m, task)
    if m.backfilling == EASY:
        forget_running(m, task)
    m.cluster[task] = -1
    m.start[task] = np.nan
    m.price[task] = np.nan
    if m.state[m.job[task]] != ACTIVE:
        m.phase[task] = REMOVED
        return
    m.promised[m.kind[task]] += m.runtime[task] * m.cores[task]
    enter(m, task, now)


@compiled
def _remove_tasks(state, job):
    """Take all tasks of a job away that have not started; those that run, run on."""
    m = state
    for task in range(m.first_task[job], m.first_task[job + 1]):
        if m.phase[task] == WAITING:
            withdraw(m, task)
        if m.phase[task] == WAITING or m.phase[task] == COMING or m.phase[task] == TRAVELLING:
            m.phase[task] = REMOVED
            m.promised[m.kind[task]] -= m.runtime[task] * m.cores[task]


@compiled
def _due_now(state, now):
    """Let the jobs starve whose deadline is reached."""
    m = state
    while m.due_size and m.due_time[0] <= now:
        job = pop(m.due_time, m.due_job, m.due_size)
        m.due_size -= 1
        if m.state[job] == ACTIVE:
            m.state[job] = STARVED
            m.finish[job] = np.nan
            _remove_tasks(m, job)


@compiled
def projected_factor(state, job, now):
    """Return the share of its value that a job may hope for if it were let in now.

    Its tasks come behind all the work that was promised: the SLR is that of its critical path and the longest time
    that one of its kinds needs for what runs and waits there on all its clusters.
    """
    m = state
    behind = 0.0
    for task in range(m.first_task[job], m.first_task[job + 1]):
        kind = m.kind[task]
        ahead = m.promised[kind] + max(m.busy_until[kind] - now * m.busy_cores[kind], 0.0)
        behind = max(behind, ahead / m.size[kind])
    slr = (m.critical_path[job] + behind / m.tick) / m.critical_path[job]
    return factor_at(slr, m.slr, m.factor, m.first_point[job], m.first_point[job + 1])


@compiled
def arrive(state, job, now):
    """Let a job arrive: its first tasks wait, or it is rejected."""
    m = state
    if m.admission > 0.0 and projected_factor(m, job, now) < m.admission:
        m.state[job] = REJECTED
        m.finish[job] = now
        for task in range(m.first_task[job], m.first_task[job + 1]):
            m.phase[task] = REMOVED
        return
    m.state[job] = ACTIVE
    due = np.ceil(m.deadline[job]) * m.tick
    if due < np.inf:
        if m.due_size == m.due_time.size:
            m.due_time = grown(m.due_time, 2 * m.due_size)
            m.due_job = grown(m.due_job, 2 * m.due_size)
        push(m.due_time, m.due_job, m.due_size, due, job)
        m.due_size += 1
    for task in range(m.first_task[job], m.first_task[job + 1]):
        m.promised[m.kind[task]] += m.runtime[task] * m.cores[task]
        if m.missing[task] == 0:
            enter(m, task, now)


@compiled
def next_wake(state):
    """Return the next instant at which data arrive or a deadline is reached; infinity if there is none."""
    m = state
    while not m.every_deadline and m.due_size and m.state[m.due_job[0]] != ACTIVE:  # it was done in time
        pop(m.due_time, m.due_job, m.due_size)
        m.due_size -= 1
    at = np.inf
    if m.due_size:
        at = m.due_time[0]
    if m.data_size:
        at = min(at, m.data_time[0])
    return at


@compiled
def know_rigid(address, submit, length, cores, kind, ccr):
    """Make a rigid job known to the auction at an address (see `step`); parameters as for `append_rigid`."""
    append_rigid(auction_state_at(address), submit, length, cores, kind, ccr)


@compiled
def instant(state, now, ended, arrived):
    """Let tasks end and jobs arrive, and hold the auction; return the tasks that start.

    In this order: what ends, data, starvation, arrivals, the auction.
    """
    m = state
    for k in range(ended.size):
        finish(m, ended[k], now)
    while m.data_size and m.data_time[0] <= now:
        task = pop(m.data_time, m.data_task, m.data_size)
        m.data_size -= 1
        if m.phase[task] == TRAVELLING:
            enter(m, task, now)
    _due_now(m, now)
    for k in range(arrived.size):
        arrive(m, arrived[k], now)
    auction(m, now)
    return m.placed[: m.placed_size]


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
    m = auction_state_at(address)
    tasks = instant(m, now, events[0, :ends], events[0, ends : ends + arrivals])
    if tasks.size <= events.shape[1]:
        _write_started(m, events)
    return tasks.size, next_wake(m), m.refused


@compiled
def started(state, room):
    """Return int64[2, room], the tasks of the last auction that start, and where."""
    events = np.empty((2, room), np.int64)
    _write_started(state, events)
    return events


@compiled
def _write_started(state, events):
    m = state
    for k in range(m.placed_size):
        events[0, k] = m.placed[k]
        events[1, k] = m.cluster[m.placed[k]]


@compiled
def change_rules(state, rules, now):
    """Go over to other rules (see `set_rules`); all that waits bids again."""
    m = state
    waiting = np.empty(m.waiting.sum(), np.int64)
    n = 0
    for g in range(m.waiting.size):
        for i in range(m.waiting[g]):
            waiting[n] = m.heap[g, i]
            n += 1
    set_rules(m, rules)
    m.ends_size = 0
    if m.backfilling == EASY:
        for task in range(m.tasks):
            if m.phase[task] == RUNNING:
                note_running(m, task)
    for task in waiting:
        m.turn[task] = -1
        enter(m, task, now)


@compiled
def export_results(state):
    """Return start, end, cluster and price by task, and what each job is doing (copies)."""
    m = state
    tasks = m.tasks
    return (
        m.start[:tasks].copy(),
        m.end[:tasks].copy(),
        m.cluster[:tasks].copy(),
        m.price[:tasks].copy(),
        m.state[: m.jobs].copy(),
    )


@compiled
def price_of(state, task):
    """Return what a task pays."""
    return state.price[task]


@compiled
def finishes(state):
    """Return when each job was done, starved by an end or was rejected; NaN for the others (a copy)."""
    return state.finish[: state.jobs].copy()


@compiled
def add_free(state, cluster, cores):
    """Give a cluster more free cores (take some away, if negative)."""
    state.free[cluster] += cores


@compiled
def met(state, tasks):
    """Return the cluster of each of these tasks."""
    out = np.empty(tasks.size, np.int64)
    for k in range(tasks.size):
        out[k] = state.cluster[tasks[k]]
    return out


@compiled
def cores_of(state, tasks):
    """Return the cores of each of these tasks."""
    return state.cores[tasks]


@compiled
def free_cores(state):
    """Return the free cores of each cluster, as the auction knows them (a copy)."""
    return state.free.copy()


@compiled
def takes(state, task, now):
    """Return bool[clusters]: which take a task of its kind, and have its data."""
    m = state
    out = m.offers[m.kind[task]].copy()
    for cluster in range(out.size):
        if out[cluster] and m.network == BY_CLUSTER and arrival_on(m, task, cluster) > now:
            out[cluster] = False
    return out


@compiled
def any_waits(state):
    """Return whether a task waits for an auction."""
    return state.waiting.sum() > 0


@compiled
def offer(state, task, now, start, queue, speed):
    """Return the key of a task for a place with `queue` jobs waiting, where it would start then: the least wins."""
    return key_of(state, task, now, 0.0, start, queue, speed)


@compiled
def send(state, task, cluster):
    """Note where a task was forwarded to: its data will be there."""
    state.cluster[task] = cluster


@compiled
def is_active(state, task):
    """Return whether the job of a task has neither starved nor been rejected."""
    return state.state[state.job[task]] == ACTIVE


@compiled
def first_open(state, job):
    """Return the first job, from one on, that is neither finished nor starved nor rejected; else how many there are."""
    while job < state.jobs and state.state[job] != EXPECTED and state.state[job] != ACTIVE:
        job += 1
    return job


@compiled
def refused_task(state):
    """Return the task for which the bid gave no number (-1 when there is none), and when."""
    return state.refused, state.refused_at


@compiled
def waiting_tasks(state, group):
    """Return the tasks in the queue of a group, by number."""
    return np.sort(state.heap[group, : state.waiting[group]])
