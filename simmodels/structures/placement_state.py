"""Placement state: the machines of a cluster, which are switched on and off, and the jobs that wait or run there.

Both engines keep their state in this structure. `simmodels.passes.placement_events` handles the events;
`simmodels.passes.machines` creates the structure and has the elementary steps. A *slot* is a
job's number in order of (submit, input), which is also the order of the queue. A machine is *open* while it
takes jobs: it is on, and no notice of its removal has been given. Its *rank* is its place among the open
machines, safest first; without holes in the numbering a machine's rank is its number.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import types

from simmodels.ground.compiled import compiled
from simmodels.structures.signatures import KEY_FUNCTION
from simmodels.structures.sorted_blocks import SORTED_BLOCKS
from simmodels.structures.structure import B1, F1, F2, I1, Handle, Structure, columns_by

FIRST_FIT: Final = 0
TARGET_STRETCH: Final = 1
TARGET_ASAP: Final = 2

NOWHERE: Final = -1

LENGTHS: Final = 96
"""Classes of jobs by length: to a quarter of an octave, up to 2^24 s (then all are of the last)."""


class PlacementRules(NamedTuple):
    """How jobs are placed, as compiled code takes it; see `simmodels.policies.placement_options.PlacementOptions`."""

    kind: int  # FIRST_FIT, TARGET_STRETCH or TARGET_ASAP
    by_event: bool  # first fit: whether it refills a machine after each completion, instead of all after the instant
    best_fit: bool  # first fit: whether a job gets the machine with the fewest free cores, instead of the first
    least: int  # M-, the least number of machines used
    use: int  # how many machines are used at first
    # these four as there
    raise_above: float
    lower_below: float
    distance: int
    length_cap: float
    stay: bool  # whether a job waits for its target while its stretch is below the longest
    requeue_immediate: bool  # whether a job that is placed again may start at once elsewhere
    # Whether a job whose target is too late takes the first machine on which its stretch stays below the longest,
    # instead of that of the earliest start.
    first_that_stays: bool
    by_plan: bool  # whether the longest stretch is that of planned jobs, instead of completed ones
    by_rank: bool  # whether equal starts go to the machine of the lowest rank, instead of the first that was tried
    beyond_use: bool  # whether all open machines are searched, instead of those in use
    # whether the machine of the lower rank is tried before that at the same distance on the other side
    left_first: bool
    replan_if_full: bool  # whether all is planned again after machines came only if all were used, and U was too high
    puts_off: bool  # whether jobs that start at the horizon or later are planned only when it matters where
    longer_only: bool  # whether only longer jobs count for a category, and not those of the same length
    pack: int  # how many machines make a pack; 0 for no packs
    packing: int  # how targets are rounded to packs


_TYPES: Final = {int: types.int64, bool: types.boolean, float: types.float64}
_RULES: Final = types.NamedTuple([_TYPES[each] for each in PlacementRules.__annotations__.values()], PlacementRules)


class PlacementState(Handle):
    """A Python handle on a state's state; made by `new_placement_state`."""


PLACEMENT_STATE: Final = Structure(
    PlacementState,
    [
        # columns by slot
        ("submit", F1, "job"),
        ("length", F1, "job"),
        ("left", F1, "job"),  # how long its next run takes
        ("estimate", F1, "job"),  # how long it may take, by its estimate
        ("cores", I1, "job"),
        ("weight", F1, "slot", 0.0),  # the share of the reference's work in jobs at least as long: its category
        ("machine", I1, "slot", NOWHERE),  # where it runs or is planned; NOWHERE while it waits
        ("start", F1, "slot", np.inf),  # when it is planned to start
        ("used", I1, "slot", 0),  # how many machines were used when it was to be placed
        ("place", I1, "slot", NOWHERE),  # its place in the heap of planned starts
        ("before", I1, "slot", NOWHERE),  # its neighbours among those that run on its machine
        ("after", I1, "slot", NOWHERE),
        ("arrived", types.int64),  # slots below this have arrived
        # machines
        ("size", types.int64),  # the cores of each
        ("open", B1, "machine", False),
        ("rank", I1, "machine", NOWHERE),  # by machine; NOWHERE for those that are not open
        ("ranked", I1, "machine"),  # the open machines, in order
        ("alive", types.int64),  # how many are open
        ("free", I1),
        ("first", I1, "machine", NOWHERE),  # the first of those that run there
        # the queue: what waits (first fit), or what is planned and has not started (targets)
        ("waiting", SORTED_BLOCKS),
        ("placed", I1),  # the slots that start
        ("count", types.int64),
        ("rules", _RULES),
        # first fit
        ("key", F1, "slot", 0.0),  # by slot, of those that wait; 0 by submission
        ("ordered", types.boolean),  # whether the queue has an order other than that of submission
        ("order", KEY_FUNCTION),
        ("moving", types.boolean),  # it is computed again whenever jobs could start
        ("draw", F1),  # by slot, a uniform number, for orders that ask for it
        ("rows", F2),  # what the order names beyond these, see `simmodels.policies.rows`
        ("refused", types.int64),  # the slot for which it gave no number; NOWHERE when none
        ("refused_at", types.float64),  # when that was
        ("fill", I1, "machine"),  # the place of each machine in the fill order
        ("filled", I1),  # the machines in fill order
        ("tree", I1),  # the most cores free among the machines below each node; leaves in fill order
        # targets
        ("time", F1),  # a profile a machine, in `room` entries each, see `simmodels.structures.profile`
        ("cores_free", I1),
        ("room", types.int64),
        ("segments", I1),
        ("bound", F2),  # [class, rank]: before it no job of the class can start, see `planning`
        ("least_left", F1),  # the length of the shortest job so far of each class of lengths; infinity without one
        ("least_cores", I1),  # the cores of the narrowest job so far of each class of widths
        ("likely", F1),  # scratch: the bounds of a job's search window
        ("plans", I1, "machine", 0),  # how many jobs are planned on each machine and have not started
        ("horizon", types.float64),  # a job that can start at no earlier instant may be put off; infinity: none is
        ("doubt", F1, "machine", np.inf),  # by rank, the instant from which on jobs that were put off may run there
        ("unsure", types.int64),  # the rank of a machine of which it has to be known what they do there; NOWHERE
        ("heap", I1),  # of planned jobs, by start
        ("heap_size", types.int64),
        ("use", types.int64),  # this many ranks, the first ones, are used (M_use)
        ("load", types.int64),  # the sum of u over these, in cores
        ("stretch", types.float64),  # the longest stretch so far
        ("use_sum", types.float64),  # the integral of `use` ...
        ("use_since", types.float64),  # ... up to this instant
        # the reference, see `simmodels.policies.risk`: lengths, and the share of its work in jobs of at least (or more
        # than) each
        ("lengths", F1),
        ("weights", F1),
    ],
)
_lengthen_jobs, lengthen_slots = columns_by(PLACEMENT_STATE, "job"), columns_by(PLACEMENT_STATE, "slot")
lengthen_machines = columns_by(PLACEMENT_STATE, "machine")


@compiled
def grow(state, slots):
    """Make room for `slots` slots; return the columns that the caller fills in, as `job_columns` does."""
    _lengthen_jobs(state, slots)
    lengthen_slots(state, slots)
    return job_columns(state)


@compiled
def job_columns(state):
    """Return the columns that the caller fills in: submit, length, left, estimate, cores."""
    return state.submit, state.length, state.left, state.estimate, state.cores


@compiled
def set_known(state, draw, rows):
    """Give the state what its order may ask of the slots: drawn numbers and rows."""
    state.draw = draw
    state.rows = rows


@compiled
def mean_machines_used(state, begin, now):
    """Return the mean of the machines used (M_use) from one instant, at which its integral began, to another."""
    return (state.use_sum + state.use * (now - state.use_since)) / (now - begin)
