"""The compiled engine of a queue on machines that are switched on and off: its events, in order, as one loop.

It keeps no rule of its own: who starts is `simmodels.passes.queue_events`, which machines go is
`simmodels.passes.switching`, what is saved `simmodels.passes.checkpointing`; the same that the SimPy engine calls. One
event costs O(log running jobs) and what the pass costs; while machines are about to go, a decision costs
O(machines + running jobs), too.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes import queue_events as passes
from simmodels.passes import switching
from simmodels.replay.occupancy import begin, lose_all, occupy, occupy_lowest, offer, switch_off, vacate
from simmodels.replay.power import next_switch, switch
from simmodels.replay.runs import end_next, lasts_by, leave_running, next_end, record_power
from simmodels.structures.arrays import grown


@compiled
def _running_on_machines(occupancy, runs):
    """Return int64[k, 4]: slot, first machine, how many, and cores of each, of what runs."""
    rows = 0
    for k in range(runs.size):
        attempt = runs.heap[k]
        rows += occupancy.first[attempt + 1] - occupancy.first[attempt]
    running = np.empty((rows, 4), np.int64)
    rows = 0
    for k in range(runs.size):
        attempt = runs.heap[k]
        for run in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
            running[rows, 0] = runs.slot[attempt]
            running[rows, 1] = occupancy.machine[run]
            running[rows, 2] = occupancy.machines[run]
            running[rows, 3] = occupancy.cores[run]
            rows += 1
    return running


@compiled
def _start(queue, occupancy, runs, now, kill):
    """Decide what starts, and let it, on the lowest machines."""
    starts = passes.decide(queue, now, None)  # which may grow `placed`
    for slot in queue.placed[:starts]:
        occupy_lowest(occupancy, 0, queue.cores[slot])
        begin(occupancy, runs, slot, now, kill)


@compiled
def _start_under_notice(queue, occupancy, runs, power, now, kill):
    """Decide what starts while machines are about to go, and let it, where the decision says."""
    goes = power.goes.copy()  # infinity of those that stay
    goes[(power.state != switching.OPEN) & (power.state != switching.NOTICED)] = np.nan
    running = _running_on_machines(occupancy, runs)
    starts, parts = passes.decide_under_notice(queue, now, goes, occupancy.free, running)
    part = 0
    for slot in queue.placed[:starts]:
        while part < parts.shape[0] and parts[part, 0] == slot:
            machine, cores = parts[part, 1], parts[part, 2]
            occupy(occupancy, machine, cores)
            if power.state[machine] != switching.OPEN:
                occupancy.offered[machine] += cores  # the queue knows
            part += 1
        begin(occupancy, runs, slot, now, kill)


@compiled
def replay_queue(queue, occupancy, runs, power, warm, kill, last, until):
    """Run a queue through a window: everything that happens up to its end, the end included.

    Parameters
    ----------
    queue
        The state, its columns filled in for all slots; see `simmodels.structures.queue_state`.
    occupancy
        The cores of the machines.
    runs
        The record, empty.
    power
        The machines, as they are when the window begins.
    warm
        How many jobs run at the window's begin: the first slots. All fit.
    kill
        A job is stopped at its estimate, instead of running on.
    last
        When the last change of the capacity is made, and the last maintenance has ended.
    until
        The window's end.

    Returns
    -------
    bool, float
        False if an order gave no number for the job of slot ``queue.refused``; and the last instant.
    """
    jobs = queue.submit.size
    ended = np.empty(64, np.int64)
    lost = np.empty(0, np.int64)
    leaving = False
    promised = np.inf
    now = power.begin
    record_power(runs, power.state, now)
    if warm > 0:
        for _ in range(warm):
            passes.arrive(queue, power.begin)
        _start(queue, occupancy, runs, power.begin, kill)
        promised = passes.next_promise(queue, power.begin)
    while queue.refused < 0:
        heed_signals()
        coming = min(next_end(runs), next_switch(power), promised)
        if queue.arrived < jobs:
            coming = min(coming, queue.submit[queue.arrived])
        elif runs.size == 0 and until == np.inf:
            if queue.waiting.size == 0:
                break  # nothing is left to do, however the capacity changes
            if power.outages.any and coming > max(last, now) and not power.outages.failed.any():
                break  # what waits never starts: all machines are on that will be
        if coming > until or coming == np.inf:
            break
        now = coming
        ends = 0
        freed = False
        while next_end(runs) <= now:
            if ends == ended.size:
                ended = grown(ended, 2 * ends)
            attempt = end_next(runs, kill)
            freed |= vacate(occupancy, attempt)
            ended[ends] = runs.slot[attempt]
            ends += 1
        switched = switch(power, now)
        if switched or power.draining:
            lost = lose_all(occupancy, runs, power, 0, now)
            freed |= switch_off(occupancy, power, 0)
        if switched or freed:
            record_power(runs, power.state, now)
            more, leaving = offer(occupancy, 0)
            if more != 0:
                passes.change_capacity(queue, more)
        for slot in lost:
            queue.runtime[slot], queue.estimate[slot] = lasts_by(runs, slot, occupancy.slowest[0])
            passes.requeue(queue, slot, now)
        arrivals = 0
        while queue.arrived + arrivals < jobs and queue.submit[queue.arrived + arrivals] <= now:
            arrivals += 1
        if not (switched or freed or ends > 0 or arrivals > 0 or now == promised):
            continue  # notice was given that changes nothing
        passes.take_note(queue, now, ended, ends, arrivals)
        if leaving:
            _start_under_notice(queue, occupancy, runs, power, now, kill)
        else:
            _start(queue, occupancy, runs, now, kill)
        promised = passes.next_promise(queue, now)
        lost = lost[:0]
    leave_running(runs, until)
    return queue.refused < 0, now
