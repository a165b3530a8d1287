"""The loop of the compiled engine on machines: what happens to a queue, an auction or a placer, event by event.

It keeps no rule of its own: what an event does, and what starts, is `queue_events`, `auction_events` or
`placement_events` of `simmodels.passes`, which machines go is `switching` there, what is saved `checkpointing`; the
same that the SimPy engine calls. One of the three decides, the other two are None, and the compiler leaves out what is
for these: it looks for `is None` alone, so that each branch names its own. An event costs O(log running jobs) and what
the decision costs; while machines drain or are about to go, O(machines + running jobs), too.
"""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import INT64_MAX
from simmodels.ground.signals import heed_signals
from simmodels.passes import auction_events, placement_events, queue_events, switching
from simmodels.replay.occupancy import begin, leave_idle, lose_all, occupy, occupy_lowest, offer, vacate
from simmodels.replay.power import POWER, look, next_switch, switch, switch_off_drained
from simmodels.replay.runs import (
    NOWHERE,
    begin_run,
    end_next,
    lasts_by,
    lose_run,
    next_end,
    record_power,
)
from simmodels.replay.sleep import note_idle, note_power
from simmodels.structures.arrays import grown, lowest
from simmodels.structures.queue_state import queue_size, waiting_cores
from simmodels.structures.sorted_blocks import sort_pairs, total_cores
from simmodels.structures.structure import found_at

_power_at = found_at(POWER)


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
def _start(queue, occupancy, runs, starts, now, kill):
    """Let the jobs start that a queue has decided to start, on the lowest machines."""
    for k in range(starts):
        slot = queue.placed[k]
        occupy_lowest(occupancy, 0, queue.cores[slot])  # a queue has one cluster
        begin(occupancy, runs, slot, now, kill)


@compiled
def _start_under_notice(queue, occupancy, runs, power, now, kill):
    """Decide what a queue starts while machines are about to go, and let it, where the decision says."""
    goes = power.goes.copy()  # infinity of those that stay
    goes[(power.state != switching.OPEN) & (power.state != switching.NOTICED)] = np.nan
    running = _running_on_machines(occupancy, runs)
    starts, parts = queue_events.decide_under_notice(queue, now, goes, occupancy.free, running)
    part = 0
    # Parts are in the order of `placed`, those of a job behind each other.
    for slot in queue.placed[:starts]:
        while part < parts.shape[0] and parts[part, 0] == slot:
            machine, cores = parts[part, 1], parts[part, 2]
            occupy(occupancy, machine, cores)
            if power.state[machine] != switching.OPEN:
                occupancy.offered[machine] += cores  # the queue knows
            part += 1
        begin(occupancy, runs, slot, now, kill)


@compiled
def _start_placed(placer, runs, speed, now):
    """Let the jobs start that a placer has placed, each on its machine."""
    for k in range(placer.count):
        slot = placer.placed[k]
        machine = placer.machine[slot]
        begin_run(runs, slot, machine, speed[machine], now, kill=False)


@compiled
def _lose_placed(placer, runs, power, now):
    """End what a placer's machines ran that went, in the order in which they went; return its slots."""
    lost, turns, order, losses = np.empty(runs.size, np.int64), np.empty(runs.size), np.arange(runs.size), 0
    # Machine by machine; then sorted by when each went, since the SimPy engine loses them as it goes.
    for machine in np.flatnonzero(power.state == switching.OFF):
        slot = placer.first[machine]
        while slot != NOWHERE:
            lost[losses], turns[losses] = slot, power.turn[machine]
            losses += 1
            lose_run(runs, slot, power.why[machine], now)
            slot = placer.after[slot]
    sort_pairs(turns, order, np.empty(losses), np.empty(losses, np.int64), losses)
    return lost[order[:losses]]


@compiled
def _next_switch(powers):
    """Return the next instant at which machines change, or notice of it is given; infinity if there is none."""
    at = np.inf
    for address in powers:  # 0: its machines stay as they are
        if address:
            at = min(at, next_switch(_power_at(address)))
    return at


@compiled
def _next_wake(queue, auction, placer, now):
    """Return the next instant at which it is to be decided, though nothing else may happen; infinity without one."""
    if queue is not None:
        return queue_events.next_promise(queue, now)
    if auction is not None:
        return auction_events.next_wake(auction)
    if placer is not None:
        return placement_events.next_planned_start(placer)
    return np.inf


@compiled
def _any_comes(powers):
    """Return whether a machine is being repaired, or boots."""
    found = False
    for address in powers:
        if address:
            outages = _power_at(address).outages
            found = found or outages.failed.any() or outages.sleep.boots.any()
    return found


@compiled
def _repaired(powers, before, begins):
    """Return how often machines of each cluster whose machines fail were repaired, at least.

    `before` are the repairs of each cluster from which on they are counted; written if the count `begins`.
    """
    least = INT64_MAX
    for cluster in range(powers.size):
        if powers[cluster] == 0:
            continue
        failures = _power_at(powers[cluster]).outages.failures
        if failures.size > 0:
            if begins:
                before[cluster] = failures.sum()
            least = min(least, failures.sum() - before[cluster])
    return least if least < INT64_MAX else 0


@compiled
def _look(queue, auction, placer, occupancy, size, powers, decided, now):
    """Let machines be woken for what waits, or go to sleep, after all of an instant.

    It is looked in clusters where machines that sleep were switched, or in all if something was `decided`.
    """
    wanted = 0
    if queue is not None:
        wanted = waiting_cores(queue)
    elif auction is not None:
        wanted = auction_events.waiting_cores(auction)  # wherever they may run
    elif placer is not None:
        wanted = total_cores(placer.waiting)
    for cluster in range(powers.size):
        if powers[cluster] == 0:
            continue
        power = _power_at(powers[cluster])
        # What rang is looked after though nothing was decided: a machine came, or fell asleep.
        if power.outages.sleep.after == np.inf or not (decided or power.outages.sleep.rings):
            continue
        if placer is not None:
            look(power, placer.free, size, wanted, now)
        elif occupancy is not None:
            here = slice(occupancy.first_of[cluster], occupancy.first_of[cluster + 1])
            look(power, occupancy.free[here], size[here], wanted, now)


@compiled
def _leave_idle(occupancy, runs, attempt, powers, now):
    """Take note that the machines of an attempt that ended may be idle."""
    machine = runs.machine[attempt]
    cluster = 0 if occupancy is None else occupancy.of[machine]
    if powers[cluster] != 0:
        sleep = _power_at(powers[cluster]).outages.sleep
        if occupancy is None:
            note_idle(sleep, machine, now)
        else:
            leave_idle(occupancy, attempt, sleep, now)


@compiled
def _switch_all(placer, occupancy, runs, size, powers, touched, more, now):
    """Switch the machines of all clusters.

    Parameters
    ----------
    placer, occupancy, runs, size, powers, now
        As for `run`.
    touched
        bool[clusters], where cores were freed on a machine that takes no jobs; cleared.
    more
        int64[clusters], written: how many more cores jobs have or may have.

    Returns
    -------
    bool, bool, bool, bool, int64[k]
        Whether anything changed; whether a machine drains; whether one will go, if anything changed; whether the times
        of further failures are to be drawn; the slots of attempts that were lost.
    """
    changed = draining = leaving = short = False
    lost = np.empty(0, np.int64)
    for cluster in range(powers.size):
        more[cluster] = 0
        if powers[cluster] == 0:
            continue
        power = _power_at(powers[cluster])
        # Clusters share no machine, so each goes through all its changes before the next.
        switched, freed = switch(power, now), touched[cluster]
        touched[cluster] = False
        if switched or power.draining:
            if placer is not None:
                lost = _lose_placed(placer, runs, power, now)
                freed |= switch_off_drained(power, placer.free, size)
            elif occupancy is not None:
                gone = lose_all(occupancy, runs, power, cluster, now)
                if gone.size:
                    lost = np.concatenate((lost, gone))
                here = slice(occupancy.first_of[cluster], occupancy.first_of[cluster + 1])
                freed |= switch_off_drained(power, occupancy.free[here], size[here])
            note_power(power.outages.sleep, power.state, now)  # one that came is idle since now
        draining |= power.draining
        short |= power.outages.short
        if not (switched or freed):
            continue
        changed = True
        if occupancy is not None:
            more[cluster], leaves = offer(occupancy, cluster)
            leaving |= leaves
    return changed, draining, leaving, short, lost


@compiled
def _take_note(queue, auction, placer, runs, states, speed, more, lost, now):
    """Let the one that decides take note of machines that were switched, and of attempts that were lost."""
    # Where a job will run is not known: it is planned at the speed of the slowest machine.
    slowest = lowest(speed) if lost.size else 1.0
    if queue is not None:
        # The cores first, then the jobs that lost theirs, in the order of the SimPy engine.
        if more[0] != 0:
            queue_events.change_capacity(queue, more[0])
        for slot in lost:
            queue.runtime[slot], queue.estimate[slot] = lasts_by(runs, slot, slowest)
            queue_events.requeue(queue, slot, now)
    elif auction is not None:
        for cluster in range(more.size):
            auction_events.add_free(auction, cluster, more[cluster])
        for task in lost:
            auction_events.lose(auction, task, runs.undone[task], runs.restart[task], now)
    elif placer is not None:
        is_open = switching.is_open(states)
        if lost.size or placement_events.differs(placer, is_open):
            for slot in lost:
                placer.left[slot], placer.estimate[slot] = lasts_by(runs, slot, slowest)
            placement_events.change(placer, is_open, lost, lost.size, lost.size, now)
            _start_placed(placer, runs, speed, now)


@compiled
def _begin(queue, auction, placer, occupancy, runs, clock, states, speed, kill):
    """Let run what does so at the begin: the first jobs, as many as have come."""
    now, warm = clock.now, clock.came
    # Machines that are off at the begin are so since then.
    record_power(runs, states, now)
    if queue is not None and warm > 0:
        _start(queue, occupancy, runs, queue_events.resume(queue, now, warm), now, kill)
    if placer is not None:
        placement_events.begin(placer, warm, now)
        _start_placed(placer, runs, speed, now)
    if warm > 0 or queue is None:
        clock.wake = _next_wake(queue, auction, placer, now)
    clock.begun = True


@compiled
def run(
    queue,
    auction,
    placer,
    occupancy,
    runs,
    clock,
    states,
    size,
    speed,
    powers,
    submit,
    arrivals,
    kill,
    last,
    until,
    stop,
):
    """Run all that happens before an instant, or until nothing is left to do; called again, it goes on.

    Parameters
    ----------
    queue, auction, placer
        The state of the one that decides, all jobs known (see `simmodels.structures`); None twice.
    occupancy
        The cores of the machines of all clusters, of which a queue has one; None for a placer, which keeps them itself.
    runs
        The record; a slot of it is one of the state, or a task of an auction.
    clock
        How far it has come.
    states, size, speed
        int64[machines], what each is (see `simmodels.passes.switching`), and its cores; and float64[machines], how many
        seconds of a job it does in a second.
    powers
        int64[clusters], the address of the machines that are switched of each cluster; 0 where none is.
    submit
        float64[k], when what comes is submitted, in seconds, increasing.
    arrivals
        int64[k], the jobs of an auction, in this order; others come in the order of their slots.
    kill
        A job of a queue is stopped at its estimate, instead of running on.
    last
        When the last change of a capacity is made, and the last maintenance has ended.
    until
        The last instant that happens; what lies after it is left undone.
    stop
        What happens at this instant, or later, is left for the next call.

    Returns
    -------
    bool
        False if an order or a bid gave no number for a job, which the state says. It ends, too, when a job has been
        lost too often, which `runs` says, and when further failures are to be drawn, which the outages say.
    """
    if not clock.begun:
        _begin(queue, auction, placer, occupancy, runs, clock, states, speed, kill)
    ended = np.empty(64, np.int64)
    touched = np.zeros(powers.size, np.bool_)
    more = np.zeros(powers.size, np.int64)
    # Kept, since a call with a structure, or a look into one, costs as much as all that these do.
    now, came, wake, looks = clock.now, clock.came, clock.wake, clock.looks
    draining, leaving = clock.draining, clock.leaving
    ends_at, switch_at, sleeps = next_end(runs), _next_switch(powers), clock.sleeps
    fine, freed, short = True, False, False
    while fine and not short and not runs.stuck:
        heed_signals()
        coming = min(ends_at, switch_at, wake)
        if came < submit.size:
            coming = min(coming, submit[came])  # each of the four is in order
        done, quiet = False, came == submit.size and runs.size == 0 and until == np.inf
        if quiet:
            if queue is not None:
                done = queue_size(queue) == 0
            elif auction is not None:
                clock.undone = auction_events.first_open(auction, clock.undone)
                done = clock.undone == auction.jobs
            elif placer is not None:
                done = placer.waiting.size == 0
        over = done and clock.closing  # not where other jobs come in a fork
        if looks and now < coming and now < until and not over:  # all of the instant has been decided
            _look(queue, auction, placer, occupancy, size, powers, clock.decided, now)
            looks = clock.decided = False
            switch_at = _next_switch(powers)
            coming = min(coming, switch_at)
        if over or (done and now < coming):  # however the machines change
            break
        clock.closing = done  # what was looked for last still happens
        if quiet and not done and now < coming:
            acts = queue is None and wake < np.inf  # a queue's promise is void if nothing runs, and none comes
            if coming > last and not acts:
                if not _any_comes(powers):
                    break  # what waits never starts: all machines are on that will be
                times = _repaired(powers, clock.repairs, clock.idle != runs.count)
                clock.idle = runs.count
                if times > runs.most_requeues:
                    runs.repairs = times
                    break  # as many as are needed are never on at once
        if coming > until or coming >= stop:
            break
        # Within an instant: ends, then machines, then submissions, then one decision on all of it.
        now = coming
        looks = sleeps
        happens = wake <= now
        while True:
            ends = 0
            while ends_at <= now:
                if ends == ended.size:
                    ended = grown(ended, 2 * ends)
                attempt = end_next(runs, kill)  # of those at one instant, in order of start
                if occupancy is not None and vacate(occupancy, attempt):
                    touched[occupancy.of[runs.machine[attempt]]] = freed = True
                if sleeps:
                    _leave_idle(occupancy, runs, attempt, powers, now)
                ended[ends] = runs.slot[attempt]
                ends += 1
                ends_at = next_end(runs)
            # Placers start jobs at ends, not after all of them: one of no length that starts so ends now, too.
            happens |= ends > 0
            if placer is None or ends == 0:
                break
            placement_events.complete(placer, ended, ends, now)
            _start_placed(placer, runs, speed, now)
            ends_at = next_end(runs)
        if switch_at <= now or draining or freed:
            changed, draining, leaves, short, lost = _switch_all(
                placer, occupancy, runs, size, powers, touched, more, now
            )
            freed = False
            switch_at = _next_switch(powers)  # further changes may have been said
            if changed:
                happens = True
                leaving = leaves
                record_power(runs, states, now)
                _take_note(queue, auction, placer, runs, states, speed, more, lost, now)
        first = came
        while came < submit.size and submit[came] <= now:
            came += 1
        if happens or came > first:  # else notice was given that changes nothing
            clock.decided = True
            if queue is not None:
                queue_events.take_note(queue, now, ended, ends, came - first)
                if leaving:
                    _start_under_notice(queue, occupancy, runs, _power_at(powers[0]), now, kill)
                else:
                    _start(queue, occupancy, runs, queue_events.decide(queue, now, None), now, kill)
                fine = queue.refused < 0
            elif auction is not None:
                for task in auction_events.instant(auction, now, ended[:ends], arrivals[first:came]):
                    occupy_lowest(occupancy, auction.cluster[task], auction.cores[task])
                    begin(occupancy, runs, task, now, kill=False)
                fine = auction.refused < 0
            elif placer is not None:
                placement_events.admit_arrivals(placer, came - first, now)
                _start_placed(placer, runs, speed, now)
                fine = placer.refused < 0
            wake = _next_wake(queue, auction, placer, now)  # as of this decision
        ends_at = next_end(runs)  # what was lost does not end
    clock.now, clock.came, clock.wake, clock.looks = now, came, wake, looks
    clock.draining, clock.leaving = draining, leaving
    return fine
