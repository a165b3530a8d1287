"""Fleet: machines of cores that come and go, and the jobs that wait for them or run there, as one structure.

Both clocks keep their state in it; `simmodels.decisions.placing` says what events do to it. A *slot* is a
job's number in order of (submit, input), which is also the order of the queue. A machine is *open* while it
takes jobs: it is on, and no notice of its removal has been given. Its *rank* is its place among the open
machines, safest first; without holes in the numbering a machine's rank is its number.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.compiled import compiled
from simmodels.decisions.columns import longer
from simmodels.decisions.ordered import ORDERED, new_ordered
from simmodels.decisions.profile import free_up, trim
from simmodels.decisions.structure import Structure

FIRST_FIT: Final = 0
TARGET_STRETCH: Final = 1
TARGET_ASAP: Final = 2

NOWHERE: Final = -1

OCTAVES: Final = 24
STEPS: Final = 4
WIDTHS: Final = 8
CLASSES: Final = OCTAVES * STEPS * WIDTHS
"""Classes of jobs: lengths to a quarter of an octave up to 2^24 s (then all are of the last), widths to an octave."""


@structref.register
class FleetType(Structure):
    """The numba type of `Fleet`."""


class Fleet(structref.StructRefProxy):
    """A Python handle on a fleet's state; made by `new_fleet`."""


structref.define_boxing(FleetType, Fleet)

_F1 = types.float64[::1]
_I1 = types.int64[::1]
_B1 = types.boolean[::1]
FLEET: Final = FleetType(
    [
        # columns by slot
        ("submit", _F1),
        ("length", _F1),
        ("left", _F1),  # how long its next run takes
        ("cores", _I1),
        ("weight", _F1),  # the share of the reference's work in jobs at least as long: its category
        ("machine", _I1),  # where it runs or is planned; NOWHERE while it waits
        ("start", _F1),  # when it is planned to start
        ("place", _I1),  # its place in the heap of planned starts
        ("before", _I1),  # its neighbours among those that run on its machine
        ("after", _I1),
        ("arrived", types.int64),  # slots below this have arrived
        # machines
        ("size", types.int64),  # the cores of each
        ("open", _B1),
        ("rank", _I1),  # by machine; NOWHERE for those that are not open
        ("ranked", _I1),  # the open machines, in order
        ("alive", types.int64),  # how many are open
        ("free", _I1),
        ("first", _I1),  # the first of those that run there
        # the queue: what waits (first fit), or what is planned and has not started (targets)
        ("waiting", ORDERED),
        ("placed", _I1),  # the slots that start
        ("count", types.int64),
        ("kind", types.int64),
        # first fit
        ("fill", _I1),  # the place of each machine in the fill order
        ("filled", _I1),  # the machines in fill order
        ("tree", _I1),  # the most cores free among the machines below each node; leaves in fill order
        ("by_event", types.boolean),
        # targets
        ("time", _F1),  # a profile a machine, in `room` entries each, see `simmodels.decisions.profile`
        ("cores_free", _I1),
        ("room", types.int64),
        ("segments", _I1),
        (
            "bound",
            types.float64[:, ::1],
        ),  # [class, machine]: no job of a class (see `placement`) can start earlier on a machine ...
        ("known", types.int64[:, ::1]),  # ... if this is the machine's `epoch`
        ("epoch", _I1),  # how often each profile was made anew
        ("plans", _I1),  # how many jobs are planned on each machine and have not started
        ("heap", _I1),  # of planned jobs, by start
        ("heap_size", types.int64),
        ("use", types.int64),  # the first so many ranks are used (M_use)
        ("load", types.int64),  # the sum of u over these, in cores
        ("stretch", types.float64),  # the longest stretch so far
        ("use_sum", types.float64),  # the integral of `use` ...
        ("use_since", types.float64),  # ... up to this instant
        # the options of targets, see `simmodels.decisions.placement_options`
        ("least", types.int64),
        ("raise_above", types.float64),
        ("lower_below", types.float64),
        ("distance", types.int64),
        ("stay", types.boolean),
        ("requeue_immediate", types.boolean),
        ("first_that_stays", types.boolean),
        ("by_plan", types.boolean),
        ("by_rank", types.boolean),
        ("beyond_use", types.boolean),
        ("left_first", types.boolean),
        ("replan_if_full", types.boolean),
        ("pack", types.int64),  # 0: no packs
        ("packing", types.int64),
        # the reference: lengths, and the share of its work in jobs of at least (or more than) each
        ("lengths", _F1),
        ("weights", _F1),
        ("longer_only", types.boolean),
        ("length_cap", types.float64),
    ]
)


@compiled
def new_fleet(columns, cores, size, is_open, filled, kind, by_event, numbers, flags, lengths, weights, packing):
    """Return the state of machines on which nothing runs.

    Parameters
    ----------
    columns
        submit and length (float64[slots]); they may be filled in later.
    cores
        int64[slots].
    size
        The cores of each machine.
    is_open
        bool[machines].
    filled
        int64[machines], the machines in fill order.
    kind, by_event
        FIRST_FIT, TARGET_STRETCH or TARGET_ASAP; whether first fit refills after each completion.
    numbers
        least, raise_above, lower_below, distance, the first `use`, length_cap, now.
    flags
        stay, requeue_immediate, first_that_stays, by_plan, by_rank, beyond_use, left_first, replan_if_full,
        longer_only.
    lengths, weights
        The reference, see `simmodels.decisions.risk`.
    packing
        How many machines make a pack (0: none), and how targets are rounded to packs.
    """
    made = structref.new(FLEET)
    slots = cores.size
    machines = is_open.size
    made.submit, made.length = columns
    made.cores = cores
    made.left = made.length.copy()
    made.weight = np.zeros(slots)
    made.machine = np.full(slots, NOWHERE)
    made.start = np.full(slots, np.inf)
    made.place = np.full(slots, NOWHERE)
    made.before = np.full(slots, NOWHERE)
    made.after = np.full(slots, NOWHERE)
    made.arrived = 0
    made.size = size
    made.open = np.zeros(machines, np.bool_)
    made.rank = np.full(machines, NOWHERE)
    made.ranked = np.empty(machines, np.int64)
    made.alive = 0
    made.free = np.full(machines, size)
    made.first = np.full(machines, NOWHERE)
    made.waiting = new_ordered(64)
    made.placed = np.empty(64, np.int64)
    made.count = 0
    made.kind = kind
    made.by_event = by_event
    made.filled = filled
    made.fill = np.empty(machines, np.int64)
    for i in range(machines):
        made.fill[filled[i]] = i
    leaves = 1
    while leaves < machines:
        leaves *= 2
    made.tree = np.full(2 * leaves if kind == FIRST_FIT else 0, NOWHERE)
    rows = 0 if kind == FIRST_FIT else machines
    made.room = 64
    made.time = np.empty(rows * made.room)
    made.cores_free = np.empty(rows * made.room, np.int64)
    made.segments = np.zeros(rows, np.int64)
    made.bound = np.empty((CLASSES, rows))
    made.known = np.zeros((CLASSES, rows), np.int64)
    made.epoch = np.zeros(machines, np.int64)
    made.plans = np.zeros(machines, np.int64)
    made.heap = np.empty(64, np.int64)
    made.heap_size = 0
    made.least = int(numbers[0])
    made.raise_above = numbers[1]
    made.lower_below = numbers[2]
    made.distance = int(numbers[3])
    made.use = int(numbers[4])
    made.length_cap = numbers[5]
    made.use_since = numbers[6]
    made.use_sum = 0.0
    made.load = 0
    made.stretch = 1.0
    made.stay, made.requeue_immediate, made.first_that_stays, made.by_plan = flags[0], flags[1], flags[2], flags[3]
    made.by_rank, made.beyond_use, made.left_first, made.replan_if_full = flags[4], flags[5], flags[6], flags[7]
    made.longer_only = flags[8]
    made.lengths = lengths
    made.weights = weights
    made.pack, made.packing = packing
    open_machines(made, is_open, numbers[6])
    return made


@compiled
def grow(fleet, slots):
    """Make room for `slots` slots; return the columns that the caller fills in: submit, length, left, cores."""
    old = fleet.submit.size
    fleet.submit = longer(fleet.submit, slots)
    fleet.length = longer(fleet.length, slots)
    fleet.left = longer(fleet.left, slots)
    fleet.cores = longer(fleet.cores, slots)
    fleet.weight = longer(fleet.weight, slots)
    fleet.machine = longer(fleet.machine, slots)
    fleet.start = longer(fleet.start, slots)
    fleet.place = longer(fleet.place, slots)
    fleet.before = longer(fleet.before, slots)
    fleet.after = longer(fleet.after, slots)
    for slot in range(old, slots):
        fleet.machine[slot] = NOWHERE
        fleet.start[slot] = np.inf
        fleet.place[slot] = NOWHERE
    return fleet.submit, fleet.length, fleet.left, fleet.cores


@compiled
def columns(fleet):
    """Return the columns that the caller fills in (submit, length, left, cores), and where each slot is."""
    return fleet.submit, fleet.length, fleet.left, fleet.cores, fleet.machine


@compiled
def standing(fleet):
    """Return the machines used (M_use), the longest stretch, and the integral of the machines used and its instant."""
    return fleet.use, fleet.stretch, fleet.use_sum, fleet.use_since


@compiled
def _set_leaf(fleet, machine):
    """Tell the tree how many cores of a machine jobs may have."""
    i = fleet.tree.size // 2 + fleet.fill[machine]
    value = fleet.free[machine] if fleet.open[machine] else NOWHERE
    fleet.tree[i] = value
    while i > 1:
        i //= 2
        most = max(fleet.tree[2 * i], fleet.tree[2 * i + 1])
        if fleet.tree[i] == most:
            return
        fleet.tree[i] = most


@compiled
def first_fitting(fleet, cores):
    """Return the first open machine in fill order with so many cores free; NOWHERE without one. O(log machines)."""
    tree = fleet.tree
    if tree[1] < cores:
        return NOWHERE
    i = 1
    while i < tree.size // 2:
        i *= 2
        if tree[i] < cores:
            i += 1
    return fleet.filled[i - tree.size // 2]


@compiled
def open_machines(fleet, is_open, now):
    """Let these machines be open, and no others; the profiles of those that were open stay as they are."""
    fleet.alive = 0
    for machine in range(is_open.size):
        if is_open[machine] and not fleet.open[machine] and fleet.kind != FIRST_FIT:
            _profile_anew(fleet, machine, now)
        fleet.open[machine] = is_open[machine]
        fleet.rank[machine] = NOWHERE
        if is_open[machine]:
            fleet.rank[machine] = fleet.alive
            fleet.ranked[fleet.alive] = machine
            fleet.alive += 1
    if fleet.kind == FIRST_FIT:
        leaves = fleet.tree.size // 2
        for i in range(is_open.size):
            machine = fleet.filled[i]
            fleet.tree[leaves + i] = fleet.free[machine] if is_open[machine] else NOWHERE
        for i in range(leaves - 1, 0, -1):
            fleet.tree[i] = max(fleet.tree[2 * i], fleet.tree[2 * i + 1])
    else:
        count_load(fleet)


@compiled
def rebuild(fleet, now):
    """Make the profile of each open machine anew from what runs there; nothing is planned."""
    for machine in range(fleet.open.size):
        fleet.plans[machine] = 0
        if fleet.open[machine]:
            _profile_anew(fleet, machine, now)
    count_load(fleet)


@compiled
def _profile_anew(fleet, machine, now):
    """Make a machine's profile of what runs there."""
    fleet.time[machine * fleet.room] = now
    fleet.cores_free[machine * fleet.room] = fleet.size
    fleet.segments[machine] = 1
    fleet.epoch[machine] += 1
    slot = fleet.first[machine]
    while slot != NOWHERE:
        reserve(fleet, slot, machine, now, fleet.start[slot] + fleet.left[slot])
        slot = fleet.after[slot]


@compiled
def reserve(fleet, slot, machine, start, end):
    """Take the cores of a job out of a machine's profile in [start, end)."""
    n = fleet.segments[machine]
    if n + 2 > fleet.room:
        fleet.time = _spread(fleet.time, fleet.room)
        fleet.cores_free = _spread(fleet.cores_free, fleet.room)
        fleet.room *= 2
    at = machine * fleet.room
    fleet.segments[machine] = free_up(fleet.time, fleet.cores_free, at, n, start, end, -fleet.cores[slot])


@compiled
def _spread(column, room):
    """Return the column with twice the room for each part of it."""
    out = np.empty(2 * column.size, column.dtype)
    for i in range(column.size):
        out[(i // room) * 2 * room + i % room] = column[i]
    return out


@compiled
def forget(fleet, machine, now):
    """Let a machine's profile begin now."""
    at = machine * fleet.room
    fleet.segments[machine] = trim(fleet.time, fleet.cores_free, at, fleet.segments[machine], now)


@compiled
def load_of(fleet, machine):
    """Return u of a machine, in cores: all of them if a job is planned there, else those in use."""
    return fleet.size if fleet.plans[machine] > 0 else fleet.size - fleet.free[machine]


@compiled
def count_load(fleet):
    """Sum up u over the machines used."""
    fleet.load = 0
    for rank in range(min(fleet.use, fleet.alive)):
        fleet.load += load_of(fleet, fleet.ranked[rank])


@compiled
def alter(fleet, machine, cores, plans):
    """Free `cores` more cores of a machine now, and plan `plans` more jobs there."""
    old = load_of(fleet, machine)
    fleet.free[machine] += cores
    fleet.plans[machine] += plans
    rank = fleet.rank[machine]
    if 0 <= rank < fleet.use:
        fleet.load += load_of(fleet, machine) - old
    if fleet.kind == FIRST_FIT and cores != 0:
        _set_leaf(fleet, machine)


@compiled
def run(fleet, slot, machine, now, plans):
    """Let a job run on a machine from now on; it is one of those that start."""
    fleet.machine[slot] = machine
    fleet.start[slot] = now
    second = fleet.first[machine]
    fleet.before[slot] = NOWHERE
    fleet.after[slot] = second
    if second != NOWHERE:
        fleet.before[second] = slot
    fleet.first[machine] = slot
    alter(fleet, machine, -fleet.cores[slot], plans)
    if fleet.count == fleet.placed.size:
        fleet.placed = longer(fleet.placed, 2 * fleet.count)
    fleet.placed[fleet.count] = slot
    fleet.count += 1


@compiled
def stop(fleet, slot):
    """Let a job run no longer, and free its cores; return its machine."""
    machine = fleet.machine[slot]
    before = fleet.before[slot]
    after = fleet.after[slot]
    if before == NOWHERE:
        fleet.first[machine] = after
    else:
        fleet.after[before] = after
    if after != NOWHERE:
        fleet.before[after] = before
    fleet.machine[slot] = NOWHERE
    alter(fleet, machine, fleet.cores[slot], 0)
    return machine
