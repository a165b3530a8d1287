"""The compiled engine of jobs inside one machine each, where machines are switched on and off: a loop for campaigns.

It keeps no rule of its own: what an event does is `simmodels.passes.placement_events`, which machines go
`simmodels.passes.switching`, what is saved `simmodels.passes.checkpointing`; the same that the process
engine calls. One event costs O(log running jobs) here, a change of the machines O(machines).
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.signals import heed_signals
from simmodels.passes import placement_events, switching
from simmodels.replay.power import next_switch, switch, switch_off_drained, warned
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
from simmodels.structures.arrays import grown


@compiled
def _record_starts(runs, state, speed, now):
    """Begin an attempt for each job that starts."""
    for k in range(state.count):
        slot = state.placed[k]
        machine = state.machine[slot]
        begin_run(runs, slot, machine, speed[machine], now, kill=False)


@compiled
def _switch_off(power, state, runs, speed, now, lost):
    """Switch machines off that drained, and end what runs on those that went; return its slots, and how many."""
    losses = 0
    slowest = speed.min()
    power.draining = False
    for machine in range(power.state.size):
        slot = state.first[machine]
        if power.state[machine] == switching.DRAINING and slot == NOWHERE:
            switch_off_drained(power, machine)
        power.draining = power.draining or power.state[machine] == switching.DRAINING
        while power.state[machine] == switching.OFF and slot != NOWHERE:
            if losses == lost.size:
                lost = grown(lost, 2 * losses)
            lost[losses] = slot
            losses += 1
            lose_run(runs, slot, warned(power, machine), now)
            state.left[slot], state.estimate[slot] = lasts_by(runs, slot, slowest)
            slot = state.after[slot]
    record_power(runs, power.state, now)
    return lost, losses


@compiled
def replay_powered(state, runs, power, speed, warm, until):
    """Run a state through a window: everything that happens up to its end, the end included.

    Parameters
    ----------
    state
        The state, its columns filled in for all slots; see `simmodels.structures.placement_state`.
    runs
        The record, empty.
    power
        The machines, as they are when the window begins.
    speed
        float64[machines], how many seconds of a job each does in a second.
    warm
        How many jobs run at the window's begin: the first slots.
    until
        The window's end.
    """
    jobs = state.submit.size
    ended = np.empty(64, np.int64)
    lost = np.empty(64, np.int64)
    record_power(runs, power.state, power.begin)
    placement_events.begin(state, warm, power.begin)
    _record_starts(runs, state, speed, power.begin)
    # Kept, since a call with a structure costs as much as all that these two do.
    ends_at, switch_at = next_end(runs), next_switch(power)
    while True:
        heed_signals()
        now = ends_at
        if state.arrived < jobs:
            now = min(now, state.submit[state.arrived])
        elif runs.size == 0 and state.waiting.size == 0 and until == np.inf:
            break  # nothing is left to do, however the capacity changes
        now = min(now, switch_at, placement_events.next_planned_start(state))
        if now > until or now == np.inf:
            break
        while ends_at <= now:
            ends = 0
            while ends_at <= now:
                if ends == ended.size:
                    ended = grown(ended, 2 * ends)
                ended[ends] = runs.slot[end_next(runs, kill=False)]
                ends += 1
                ends_at = next_end(runs)
            placement_events.complete(state, ended, ends, now)
            _record_starts(runs, state, speed, now)
            ends_at = next_end(runs)
        switched = False
        if switch_at <= now:
            switched = switch(power, now)
            switch_at = next_switch(power)
        losses = 0
        if switched or power.draining:
            lost, losses = _switch_off(power, state, runs, speed, now, lost)
        if switched:
            is_open = switching.is_open(power.state)
            if losses > 0 or placement_events.differs(state, is_open):
                placement_events.change(state, is_open, lost, losses, losses, now)
                _record_starts(runs, state, speed, now)
        arrivals = 0
        while state.arrived + arrivals < jobs and state.submit[state.arrived + arrivals] <= now:
            arrivals += 1
        placement_events.admit_arrivals(state, arrivals, now)
        _record_starts(runs, state, speed, now)
        ends_at = next_end(runs)
    leave_running(runs, until)
