"""Occupancy: the cores of machines of one cluster or several, and which of them each attempt has."""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled, inlined
from simmodels.ground.numbers import INT64_MAX, ONE
from simmodels.passes import switching
from simmodels.replay.runs import begin_run, lose_run
from simmodels.replay.sleep import note_idle
from simmodels.structures.arrays import lowest
from simmodels.structures.bits import WORD, from_on, has, least, span
from simmodels.structures.sorted_blocks import sort_pairs
from simmodels.structures.structure import F1, I1, S1, W1, Handle, Structure, columns_by, copied


class Occupancy(Handle):
    """A Python handle on the cores of machines, and which of them each attempt has; made by `new_occupancy`."""


_RUNS: Final = 10  # as many runs of machines has a job of the fullest log, on average

OCCUPANCY: Final = Structure(
    Occupancy,
    [
        # by cluster: its first machine; then how many there are
        ("first_of", I1),
        ("slowest", F1),  # by cluster: the speed of its slowest machine
        ("even", types.boolean),  # whether all machines of each cluster are as fast as its slowest
        # by machine, those of one cluster after the other
        ("of", I1),  # its cluster
        ("size", I1),  # its cores
        ("speed", F1),  # how many seconds of a job it does in a second
        ("free", I1),
        ("offered", I1),  # cores that jobs have or may have, as whoever decides knows it
        ("state", I1),  # see `simmodels.passes.switching`
        # by block of machines, as words of bits: those that may have room, and those that take jobs
        ("listed", W1),
        ("open", W1),
        # by attempt, in order of start: its first run of machines; those of the next attempt follow
        ("first", I1, "attempt"),
        # a run: machines that follow each other and give as many cores each: the first, how many, cores of each
        ("machine", S1, "run"),
        ("machines", S1, "run"),
        ("cores", I1, "run"),
        ("runs", types.int64),
        ("attempts", types.int64),
    ],
)
_lengthen_attempts, _lengthen_runs = columns_by(OCCUPANCY, "attempt"), columns_by(OCCUPANCY, "run")


@compiled
def new_occupancy(state, size, speed, first_of, jobs):
    """Return the cores of machines on which nothing runs.

    For each of the `jobs` is room for some runs of machines, since to copy them later takes time, and memory that is
    never written takes none.
    """
    made = structref.new(OCCUPANCY)
    machines = state.size
    made.first_of = first_of
    made.of = np.empty(machines, np.int64)
    made.size = size
    made.speed = speed
    made.slowest = np.empty(first_of.size - 1)
    made.even = True
    made.free = size.copy()
    made.offered = size * (state == switching.OPEN)  # nothing runs, so all or nothing
    made.state = state
    made.listed = np.zeros(machines // WORD + 1, np.uint64)
    made.open = np.zeros(machines // WORD + 1, np.uint64)
    _lengthen_attempts(made, jobs + 64)
    made.first[0] = 0
    _lengthen_runs(made, 64 + _RUNS * jobs)
    for cluster in range(first_of.size - 1):
        slowest = lowest(speed[first_of[cluster] : first_of[cluster + 1]])
        made.slowest[cluster] = slowest
        for machine in range(first_of[cluster], first_of[cluster + 1]):
            made.of[machine] = cluster
            made.even = made.even and speed[machine] == slowest
            _note_state(made, machine)
    return made


@compiled
def _note_state(occupancy, machine):
    """Take note whether a machine takes jobs: one that does may have room."""
    block, bit = machine // WORD, span(machine % WORD, 1)
    if occupancy.state[machine] == switching.OPEN:
        occupancy.open[block] |= bit
        occupancy.listed[block] |= bit
    else:
        occupancy.open[block] &= ~bit


@compiled
def _next_listed(listed, machine):
    """Return the lowest machine from this one on that may have room; there must be one."""
    block = machine // WORD
    word = from_on(listed[block], machine % WORD)
    while word == 0:  # there is one: free cores are counted, and enough
        block += 1
        word = listed[block]
    return block * WORD + least(word)


@inlined
def _make_room(occupancy, more):
    """Let there be room for another attempt, and for as many more runs of machines."""
    if occupancy.attempts + 1 == occupancy.first.size:
        _lengthen_attempts(occupancy, 2 * occupancy.first.size)
    if occupancy.runs + more > occupancy.machine.size:
        _lengthen_runs(occupancy, 2 * (occupancy.runs + more))


@inlined
def _give(given, first, runs, machine, machines, cores):
    """Note that the attempt that is about to begin has these cores of each of these machines; there is room for it.

    `given` are the columns of runs of machines, `runs` how many there are; those of this attempt begin with the
    `first`. Returns how many there are now.
    """
    of_machine, of_machines, of_cores = given
    last = runs - 1
    # A job of many whole machines is one run, however many they are.
    if last >= first and of_machine[last] + of_machines[last] == machine and of_cores[last] == cores:
        of_machines[last] += machines
        return runs
    of_machine[runs], of_machines[runs], of_cores[runs] = machine, machines, cores
    return runs + 1


@compiled
def occupy(occupancy, machine, cores):
    """Give the attempt that is about to begin some cores of a machine."""
    _make_room(occupancy, 1)
    occupancy.free[machine] -= cores  # it stays listed: being full is seen when it is looked at
    given, first = (occupancy.machine, occupancy.machines, occupancy.cores), occupancy.first[occupancy.attempts]
    occupancy.runs = _give(given, first, occupancy.runs, machine, 1, cores)


@compiled
def occupy_lowest(occupancy, cluster, need):
    """Give the attempt that is about to begin the free cores of the lowest machines of a cluster that take jobs.

    A step takes neighbours of one block that have as many free cores each; they are full then. A machine that has room
    after that is still listed; what is listed and takes no jobs, or is full, is so no longer.
    """
    machine, end_of = occupancy.first_of[cluster], occupancy.first_of[cluster + 1]
    _make_room(occupancy, min(need, end_of - machine))
    free, listed, is_open = occupancy.free, occupancy.listed, occupancy.open  # read once: there are millions of steps
    given, runs = (occupancy.machine, occupancy.machines, occupancy.cores), occupancy.runs
    first = occupancy.first[occupancy.attempts]
    while need > 0:
        machine = _next_listed(listed, machine)
        block, at = machine // WORD, machine % WORD
        takes = listed[block] & is_open[block]
        cores = free[machine] if has(takes, at) else np.int64(0)
        if cores > need:
            free[machine] -= need
            runs = _give(given, first, runs, machine, 1, need)
            break
        last = machine + 1
        if cores > 0:
            neighbours = least(~(takes >> np.uint64(at)))  # it and those behind it, without a gap
            end = min(machine + neighbours, end_of)
            free[machine] = 0
            need -= cores
            each, stop = np.uint64(last), np.uint64(end)  # unsigned, as in `vacate`
            while each < stop and need >= cores and free[each] == cores:
                free[each] = 0
                need -= cores
                each += ONE
            last = np.int64(each)
            runs = _give(given, first, runs, machine, last - machine, cores)
        listed[block] &= ~span(at, last - machine)
        machine = last
    occupancy.runs = runs


@compiled
def begin(occupancy, runs, slot, now, kill):
    """Let a job run on the cores that it was given last, as fast as the slowest of its machines.

    `kill` is whether it is stopped at its estimate.
    """
    first = occupancy.first[occupancy.attempts]
    machine = occupancy.machine[first]
    speed = occupancy.slowest[occupancy.of[machine]]
    if not occupancy.even:
        speed = np.inf
        for run in range(first, occupancy.runs):
            low = occupancy.machine[run]
            for each in range(low, low + occupancy.machines[run]):
                speed = min(speed, occupancy.speed[each])
    begin_run(runs, slot, machine, speed, now, kill)
    occupancy.attempts += 1
    occupancy.first[occupancy.attempts] = occupancy.runs


@compiled
def vacate(occupancy, attempt):
    """Free the cores of an attempt; return whether a machine that takes no jobs is among those it had."""
    stays = True
    free, listed, takes = occupancy.free, occupancy.listed, occupancy.open
    first, machines, cores_of = occupancy.machine, occupancy.machines, occupancy.cores
    for run in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
        machine, cores = np.int64(first[run]), cores_of[run]
        end = machine + machines[run]
        for each in range(np.uint64(machine), np.uint64(end)):  # unsigned: many at a time
            free[each] += cores
        while machine < end:  # block by block
            block = machine // WORD
            stop = min((block + 1) * WORD, end)
            bits = span(machine % WORD, stop - machine)
            freed = bits & takes[block]
            listed[block] |= freed
            stays &= freed == bits  # False if one of them is not open
            machine = stop
    return not stays


@compiled
def leave_idle(occupancy, attempt, sleep, now):
    """Take note that the machines of an attempt that ended may be idle; `sleep` is of its cluster."""
    if sleep.after < np.inf:
        for run in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
            low = occupancy.machine[run] - occupancy.first_of[occupancy.of[occupancy.machine[run]]]
            for machine in range(low, low + occupancy.machines[run]):
                note_idle(sleep, machine, now)


@compiled
def lose_all(occupancy, runs, power, cluster, now):
    """End the attempts on machines of a cluster that went, in the order in which they went; return their slots."""
    turns, lost, why = np.empty(runs.size), np.empty(runs.size, np.int64), np.empty(runs.size)
    losses = 0
    for k in range(runs.size):
        attempt = runs.heap[k]
        if occupancy.of[runs.machine[attempt]] != cluster:
            continue
        # An attempt is lost when the first of its machines goes, and only by what goes then.
        first, last, turn = occupancy.state.size, np.int64(-1), INT64_MAX
        for run in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
            low = occupancy.machine[run]
            for machine in range(low, low + occupancy.machines[run]):
                if occupancy.state[machine] == switching.OFF:
                    went = power.turn[machine - occupancy.first_of[cluster]]
                    if went < turn:  # what ran there was lost before others went
                        first, last, turn = machine, machine, went
                    elif went == turn:
                        first, last = min(first, machine), max(last, machine)
        if last >= 0:
            turns[losses] = turn * occupancy.state.size + first  # when it went
            lost[losses] = attempt * runs.size + losses  # the earlier attempt first; and where the reason is
            why[losses] = power.why[last - occupancy.first_of[cluster]]  # as each machine that goes says it again
            losses += 1
    sort_pairs(turns, lost, np.empty(losses), np.empty(losses, np.int64), losses)
    room = runs.size
    for k in range(losses):
        attempt = lost[k] // room
        lost[k], reason = runs.slot[attempt], why[lost[k] % room]
        lose_run(runs, lost[k], reason, now)
        vacate(occupancy, attempt)
        leave_idle(occupancy, attempt, power.outages.sleep, now)
    return lost[:losses]


@compiled
def offer(occupancy, cluster):
    """Count the cores of a cluster that jobs have or may have again.

    Returns
    -------
    int, bool
        How many more there are; whether a machine will go.
    """
    more = 0
    leaving = False
    for machine in range(occupancy.first_of[cluster], occupancy.first_of[cluster + 1]):
        # An open machine offers all its cores, a leaving one those in use, one that is off none.
        offered = np.int64(0)
        _note_state(occupancy, machine)
        if occupancy.state[machine] == switching.OPEN:
            offered = occupancy.size[machine]
        elif occupancy.state[machine] != switching.OFF:
            offered = occupancy.size[machine] - occupancy.free[machine]
            leaving = True
        more += offered - occupancy.offered[machine]
        occupancy.offered[machine] = offered
    return more, leaving


@compiled
def parts_of(occupancy, row, number):
    """Return what is in parts: of each attempt that has several machines, its runs of machines, in order of start.

    Parameters
    ----------
    occupancy
        The cores of machines, and which each attempt has.
    row, number
        int64[attempts] twice, the row of each, and which of its job's it is. More may have begun since.

    Returns
    -------
    int32[k] four times, int64[k]
        Row and number, first machine, as its cluster numbers them, how many, and cores of each. A log has millions.
    """
    first, attempts = occupancy.first, row.size
    runs = first[attempts]
    given, given_machines, given_cores = occupancy.machine, occupancy.machines, occupancy.cores
    for attempt in range(attempts):
        if first[attempt + 1] - first[attempt] == 1 and given_machines[first[attempt]] == 1:
            runs -= 1
    rows, numbers, cores = np.empty(runs, np.int32), np.empty(runs, np.int32), np.empty(runs, np.int64)
    machine, machines = np.empty(runs, np.int32), np.empty(runs, np.int32)
    parts = 0
    for attempt in range(attempts):
        begin, end = first[attempt], first[attempt + 1]
        if end - begin == 1 and given_machines[begin] == 1:  # one machine, which is in the table of attempts
            continue
        lowest_of = occupancy.first_of[occupancy.of[given[begin]]]
        for run in range(begin, end):
            rows[parts], numbers[parts], cores[parts] = row[attempt], number[attempt], given_cores[run]
            machine[parts], machines[parts] = given[run] - lowest_of, given_machines[run]
            parts += 1
    return rows, numbers, machine, machines, cores


@compiled
def copied_occupancy(occupancy, state):
    """Return the same cores again, of machines whose states are `state` from now on."""
    made = copied(occupancy)
    made.state = state
    return made


@compiled
def keep_attempts(occupancy, number):
    """Know some attempts only, by other numbers, in the same order.

    Parameters
    ----------
    occupancy
        The cores of machines; what is free of them stays so.
    number
        int64[attempts], the new number of each; below 0 for those that ended, and are forgotten.
    """
    attempts = runs = 0
    for attempt in range(occupancy.attempts):
        if number[attempt] < 0:
            continue
        for run in range(occupancy.first[attempt], occupancy.first[attempt + 1]):
            occupancy.machine[runs], occupancy.machines[runs] = occupancy.machine[run], occupancy.machines[run]
            occupancy.cores[runs] = occupancy.cores[run]
            runs += 1
        attempts += 1
        occupancy.first[attempts] = runs
    occupancy.attempts, occupancy.runs = attempts, runs
