"""Line plan: when each job in line at a queue is planned to start, and the cores that are free after all of them.

`simmodels.passes.queue_prediction` makes it, and keeps it between predictions. A job that waits is an *entry*, in the
order of the line; a job's *slot* is its number at the queue.
"""

from typing import Final

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.structures.arrays import grown
from simmodels.structures.profile import PROFILE, new_profile
from simmodels.structures.structure import Handle, Structure, found_at

_SHAPES: Final = 256  # of which the plan remembers how early they could start; a power of 2


class LinePlan(Handle):
    """A Python handle on a plan of a line; made by `new_line_plan`."""


_F1 = types.float64[::1]
_I1 = types.int64[::1]
LINE_PLAN: Final = Structure(
    LinePlan,
    [
        ("profile", PROFILE),  # the cores that are free beside what runs and all entries
        ("aside", PROFILE),  # scratch: the profile of another line
        ("total", types.int64),  # cores that are free or taken by what runs
        # by entry
        ("entries", types.int64),
        ("queued", types.int64),  # how many of them are in the queue, within its depth: the first ones
        ("new", types.int64),  # how many have been submitted since the last decision: the last ones
        ("slot", _I1),
        ("cores", _I1),
        ("length", _F1),
        ("start", _F1),  # infinity from the first entry on that gets no hole
        # what runs
        ("runs", types.int64),
        ("running", _I1),
        # by slot
        ("since", _F1),  # when the job is planned to start; -infinity if it ran when the plan was made
        ("until", _F1),  # until when the profile has its cores taken; NaN if it is not in the plan
        ("taken", _I1),  # these cores
        ("ended", types.boolean[::1]),  # scratch: it has ended since the last decision
        # by shape (cores and length), wherever that is kept: no job of it starts earlier
        ("shape_cores", _I1),
        ("shape_length", _F1),
        ("shape_start", _F1),
        # scratch: the slots in line
        ("line", _I1),
    ],
)


line_plan_at = found_at(LINE_PLAN)


@compiled
def new_line_plan():
    """Return a plan that holds no job, and no cores: the first prediction makes it."""
    made = structref.new(LINE_PLAN)
    made.profile = new_profile(0.0, 0)
    made.aside = new_profile(0.0, 0)
    made.total = -1
    made.slot = np.empty(64, np.int64)
    made.cores = np.empty(64, np.int64)
    made.length = np.empty(64)
    made.start = np.empty(64)
    made.running = np.empty(64, np.int64)
    made.shape_cores = np.zeros(_SHAPES, np.int64)
    made.shape_length = np.empty(_SHAPES)
    made.shape_start = np.empty(_SHAPES)
    made.line = np.empty(64, np.int64)
    return made


@compiled
def make_room(plan, slots, entries, runs):
    """Have room for this many slots, entries and running jobs."""
    old = plan.until.size
    if old < slots:
        plan.since = grown(plan.since, 2 * slots)
        plan.until = grown(plan.until, 2 * slots)
        plan.taken = grown(plan.taken, 2 * slots)
        plan.ended = grown(plan.ended, 2 * slots)
        for slot in range(old, 2 * slots):
            plan.until[slot] = np.nan
            plan.ended[slot] = False
    if plan.slot.size < entries:
        plan.slot = grown(plan.slot, 2 * entries)
        plan.cores = grown(plan.cores, 2 * entries)
        plan.length = grown(plan.length, 2 * entries)
        plan.start = grown(plan.start, 2 * entries)
    if plan.line.size < entries:
        plan.line = np.empty(2 * entries, np.int64)
    if plan.running.size < runs:
        plan.running = grown(plan.running, 2 * runs)


@compiled
def shape_of(cores, length):
    """Return where a plan keeps how early a job of this shape could start."""
    return (cores * 31 + np.int64(min(length, 1e15))) & (_SHAPES - 1)
