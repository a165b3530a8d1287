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
from simmodels.structures.structure import B1, F1, I1, Handle, Structure, columns_by, found_at

_SHAPES: Final = 256  # of which the plan remembers how early they could start; a power of 2


class LinePlan(Handle):
    """A Python handle on a plan of a line; made by `new_line_plan`."""


LINE_PLAN: Final = Structure(
    LinePlan,
    [
        ("profile", PROFILE),  # the cores that are free beside what runs and all entries
        ("aside", PROFILE),  # scratch: the profile of another line
        ("total", types.int64),  # cores that are free or taken by what runs
        ("entries", types.int64),
        ("queued", types.int64),  # how many of them are in the queue, within its depth: the first ones
        ("new", types.int64),  # how many have been submitted since the last decision: the last ones
        ("slot", I1, "entry"),
        ("cores", I1, "entry"),
        ("length", F1, "entry"),
        ("start", F1, "entry"),  # infinity from the first entry on that gets no hole
        # what runs
        ("runs", types.int64),
        ("running", I1),
        ("since", F1, "slot"),  # when the job is planned to start; -infinity if it ran when the plan was made
        ("until", F1, "slot", np.nan),  # until when the profile has its cores taken; NaN if it is not in the plan
        ("taken", I1, "slot"),  # these cores
        ("ended", B1, "slot", False),  # scratch: it has ended since the last decision
        # of a shape (cores and length), wherever that is kept: no job of it starts earlier
        ("shape_cores", I1, "shape", 0),
        ("shape_length", F1, "shape"),
        ("shape_start", F1, "shape"),
        # scratch: the slots in line
        ("line", I1),
    ],
)
_lengthen_entries, _lengthen_slots = columns_by(LINE_PLAN, "entry"), columns_by(LINE_PLAN, "slot")
_lengthen_shapes = columns_by(LINE_PLAN, "shape")


line_plan_at = found_at(LINE_PLAN)


@compiled
def new_line_plan():
    """Return a plan that holds no job, and no cores: the first prediction makes it."""
    made = structref.new(LINE_PLAN)
    made.profile = new_profile(0.0, 0)
    made.aside = new_profile(0.0, 0)
    made.total = -1
    _lengthen_entries(made, 64)
    _lengthen_shapes(made, _SHAPES)
    made.running = np.empty(64, np.int64)
    made.line = np.empty(64, np.int64)
    return made


@compiled
def make_room(plan, slots, entries, runs):
    """Have room for this many slots, entries and running jobs."""
    if plan.until.size < slots:
        _lengthen_slots(plan, 2 * slots)
    if plan.slot.size < entries:
        _lengthen_entries(plan, 2 * entries)
    if plan.line.size < entries:
        plan.line = np.empty(2 * entries, np.int64)
    if plan.running.size < runs:
        plan.running = grown(plan.running, 2 * runs)


@compiled
def shape_of(cores, length):
    """Return where a plan keeps how early a job of this shape could start."""
    return (cores * 31 + np.int64(min(length, 1e15))) & (_SHAPES - 1)
