"""The compiled engine of an auction on machines that are switched on and off: its events, in order, as one loop.

It keeps no rule of its own: who starts where is `simmodels.passes.auction_events`, which machines go
`simmodels.passes.switching`, what is saved `simmodels.passes.checkpointing`; the same that the SimPy engine calls.
One event costs O(clusters + log running tasks) and what the auction costs.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes.auction_events import add_free, first_open, instant, lose, next_wake
from simmodels.replay.occupancy import begin, lose_all, occupy_lowest, offer, switch_off, vacate
from simmodels.replay.power import POWER, next_switch, switch
from simmodels.replay.runs import end_next, leave_running, next_end, record_power
from simmodels.structures.arrays import grown
from simmodels.structures.structure import found_at

_power_at = found_at(POWER)


@compiled
def _next_event(state, runs, powers, submit, came):
    """Return when the next thing happens; infinity if nothing is to come."""
    at = min(next_wake(state), next_end(runs))
    if came < submit.size:
        at = min(at, submit[came])
    for address in powers:
        if address:
            at = min(at, next_switch(_power_at(address)))
    return at


@compiled
def _switch_all(state, occupancy, runs, powers, touched, lost, now):
    """Switch the machines of all clusters; return whether any changed, and how many tasks were lost (and their list).

    `touched` says in which clusters cores were freed on a machine that takes no jobs.
    """
    changed = False
    losses = 0
    for cluster in range(powers.size):
        if powers[cluster] == 0:
            continue
        power = _power_at(powers[cluster])
        switched, freed = switch(power, now), touched[cluster]
        if switched or power.draining:
            gone = lose_all(occupancy, runs, power, cluster, now)
            if losses + gone.size > lost.size:
                lost = grown(lost, 2 * (losses + gone.size))
            for task in gone:
                lost[losses] = task
                losses += 1
            freed |= switch_off(occupancy, power, cluster)
        if switched or freed:
            changed = True
            more, _ = offer(occupancy, cluster)
            add_free(state, cluster, more)
        touched[cluster] = False
    return changed, losses, lost


@compiled
def run_auction_on_machines(state, occupancy, runs, powers, arrivals, submit, until):
    """Run an auction on machines: everything that happens up to an instant, that included, or until all is done.

    Parameters
    ----------
    state
        The state, all jobs known; see `simmodels.structures.auction_state`. A slot of the record is a task of it.
    occupancy
        The cores of the machines of all clusters.
    runs
        The record, empty.
    powers
        int64[clusters], the address of the machines that are switched on and off of each cluster; 0 where none is.
    arrivals
        int64[jobs], the jobs' numbers in order of arrival.
    submit
        float64[jobs], when each of these arrives, in seconds, increasing.
    until
        The last instant that happens; what lies after it is left undone.

    Returns
    -------
    bool, float
        False if the bid gave no number for the task ``state.refused``; and the last instant.
    """
    m = state
    ended = np.empty(64, np.int64)
    lost = np.empty(64, np.int64)
    touched = np.zeros(powers.size, np.bool_)
    came = 0
    first_undone = 0
    last = submit[0] if submit.size else 0.0
    record_power(runs, occupancy.state, last)
    while m.refused < 0:
        heed_signals()
        if came == arrivals.size and runs.size == 0:
            first_undone = first_open(m, first_undone)
            if first_undone == m.jobs:
                return True, last
        now = _next_event(m, runs, powers, submit, came)
        if not now <= until or now == np.inf:
            break
        last = now
        ends = 0
        while next_end(runs) <= now:
            if ends == ended.size:
                ended = grown(ended, 2 * ends)
            attempt = end_next(runs, kill=False)
            ended[ends] = runs.slot[attempt]
            ends += 1
            touched[occupancy.of[runs.machine[attempt]]] |= vacate(occupancy, attempt)
        changed, losses, lost = _switch_all(m, occupancy, runs, powers, touched, lost, now)
        if changed:
            record_power(runs, occupancy.state, now)
        for k in range(losses):
            lose(m, lost[k], now)
        first = came
        while came < arrivals.size and submit[came] == now:
            came += 1
        if not (changed or ends > 0 or came > first or next_wake(m) <= now):
            continue  # notice was given that changes nothing
        for task in instant(m, now, ended[:ends], arrivals[first:came]):
            occupy_lowest(occupancy, m.cluster[task], m.cores[task])
            begin(occupancy, runs, task, now, kill=False)
    leave_running(runs, last)
    return m.refused < 0, last
