"""The compiled clock of jobs inside one machine each, where machines are switched on and off: a loop for campaigns.

It keeps no rule of its own: what an event does is `simmodels.passes.placing`, which machines go
`simmodels.passes.switching`, what is saved `simmodels.passes.checkpointing`; the same that the process
clock calls. One event costs O(log running jobs) here, a change of the machines O(machines).
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes import placing, switching
from simmodels.replay.power import next_switch, switch, warned
from simmodels.replay.runs import (
    NOWHERE,
    begin_run,
    end_next,
    lasts_by,
    leave_running,
    lose_run,
    next_end,
    record_power,
)
from simmodels.structures.columns import longer


@compiled
def _record_starts(runs, fleet, now):
    """Begin an attempt for each job that starts."""
    for k in range(fleet.count):
        slot = fleet.placed[k]
        begin_run(runs, slot, fleet.machine[slot], now, fleet.left[slot])


@compiled
def _switch_off(power, fleet, runs, now, lost):
    """Switch machines off that drained, and end what runs on those that went; return its slots, and how many."""
    losses = 0
    power.draining = False
    for machine in range(power.state.size):
        slot = fleet.first[machine]
        if power.state[machine] == switching.DRAINING and slot == NOWHERE:
            power.state[machine] = switching.OFF
        power.draining = power.draining or power.state[machine] == switching.DRAINING
        while power.state[machine] == switching.OFF and slot != NOWHERE:
            if losses == lost.size:
                lost = longer(lost, 2 * losses)
            lost[losses] = slot
            losses += 1
            lose_run(runs, slot, warned(power, machine), now)
            fleet.left[slot], fleet.estimate[slot] = lasts_by(runs, slot)
            slot = fleet.after[slot]
    record_power(runs, power.state, now)
    return lost, losses


@compiled
def replay_powered(fleet, runs, power, warm, until):
    """Run a fleet through a window: everything that happens up to its end, the end included.

    Parameters
    ----------
    fleet
        The state, its columns filled in for all slots; see `simmodels.structures.fleet`.
    runs
        The record, empty.
    power
        The machines, as they are when the window begins.
    warm
        How many jobs run at the window's begin: the first slots.
    until
        The window's end.
    """
    jobs = fleet.submit.size
    ended = np.empty(64, np.int64)
    lost = np.empty(64, np.int64)
    record_power(runs, power.state, power.begin)
    placing.begin(fleet, warm, power.begin)
    _record_starts(runs, fleet, power.begin)
    # Kept, since a call with a structure costs as much as all that these two do.
    ends_at, switch_at = next_end(runs), next_switch(power)
    while True:
        heed_signals()
        now = ends_at
        if fleet.arrived < jobs:
            now = min(now, fleet.submit[fleet.arrived])
        elif runs.size == 0 and fleet.waiting.size == 0 and until == np.inf:
            break  # nothing is left to do, whatever comes and goes
        now = min(now, switch_at, placing.due(fleet))
        if now > until or now == np.inf:
            break
        while ends_at <= now:
            ends = 0
            while ends_at <= now:
                if ends == ended.size:
                    ended = longer(ended, 2 * ends)
                ended[ends] = runs.slot[end_next(runs)]
                ends += 1
                ends_at = next_end(runs)
            placing.complete(fleet, ended, ends, now)
            _record_starts(runs, fleet, now)
            ends_at = next_end(runs)
        switched = False
        if switch_at <= now:
            switched = switch(power, now)
            switch_at = next_switch(power)
        losses = 0
        if switched or power.draining:
            lost, losses = _switch_off(power, fleet, runs, now, lost)
        if switched:
            is_open = switching.is_open(power.state)
            if losses > 0 or placing.differs(fleet, is_open):
                placing.change(fleet, is_open, lost, losses, losses, now)
                _record_starts(runs, fleet, now)
        arrivals = 0
        while fleet.arrived + arrivals < jobs and fleet.submit[fleet.arrived + arrivals] <= now:
            arrivals += 1
        placing.settle(fleet, arrivals, now)
        _record_starts(runs, fleet, now)
        ends_at = next_end(runs)
    leave_running(runs, until)
