"""Checkpointing: what a run takes that writes checkpoints, and what is left of one that was cut short.

Work is in seconds at speed 1, and so are the intervals between checkpoints. What an attempt at another speed takes,
does and leaves is asked here by both engines and by the proof.

Quotients of times that are no whole seconds are rounded, and so are differences of instants: a number of checkpoints
that is whole up to rounding is taken as whole, or one would be lost or gained.
"""

import math
from typing import Final

import numpy as np

from simmodels.ground.compiled import compiled

_COMPLETED: Final = 0
_KILLED: Final = 1
_ROUNDED: Final = 1e-9
"""What rounding may make of a number of checkpoints, by proportion: years in seconds leave nine digits."""


@compiled
def _times(amount, step):
    """Return how many times a step goes into an amount; what is whole up to rounding is whole."""
    quotient = amount / step
    count = np.rint(quotient)
    return count if abs(quotient - count) <= _ROUNDED * quotient else quotient


@compiled
def takes(work, restart, interval, cost):
    """Return how long a run takes: coming back, the work, and a checkpoint between two intervals of it."""
    if interval == math.inf:
        return restart + work
    # No checkpoint at the end: when the work is done there is nothing to save.
    return restart + work + cost * max(math.ceil(_times(work, interval)) - 1, 0)


@compiled
def done_after(elapsed, restart, interval, cost, work):
    """Return how much of its work a run has done after some time."""
    elapsed = max(elapsed - restart, 0.0)
    if interval == math.inf:
        return min(elapsed, work)
    # A cycle is an interval of work, and its checkpoint; in the one that has begun work comes first.
    cycles = math.floor(_times(elapsed, interval + cost))
    begun = max(elapsed - cycles * (interval + cost), 0.0)
    return min(cycles * interval + min(begun, interval), work)


@compiled
def saved_after(elapsed, restart, interval, cost, work, warned):
    """Return how much of its work is not lost when a run is cut short.

    Parameters
    ----------
    elapsed
        How long it ran.
    restart, interval, cost
        As in `Checkpoints`; `restart` is 0 for a run that began at the beginning.
    work
        The work it had before it.
    warned
        How long before a checkpoint was asked for; below 0: never.
    """
    if warned >= cost:
        return done_after(elapsed - cost, restart, interval, cost, work)
    # Without a warning, what is kept is what periodic checkpoints were finished for.
    elapsed -= restart
    if interval == math.inf or elapsed <= 0.0:
        return 0.0
    return min(math.floor(_times(elapsed, interval + cost)) * interval, work)


@compiled
def lasts(work, restart, earlier, speed, interval, cost):
    """Return how long an attempt lasts, if nothing comes between.

    Parameters
    ----------
    work, restart
        The work it has before it, and what coming back to it takes.
    earlier
        How long it ran before the simulation began.
    speed, interval, cost
        How many seconds of work it does in a second, and how it writes checkpoints, as in `Checkpoints`.
    """
    # Intervals are of work, so at another speed they take another time; a checkpoint costs the same.
    return max(takes(work / speed, restart, interval / speed, cost) - earlier, 0.0)


@compiled
def left_if(whole, work, known):
    """Return the work that is left of a job if it is `whole` in all, where `work` is left if it is `known` in all."""
    return max(work + (whole - known), 0.0)


@compiled
def worked(elapsed, work, restart, earlier, speed, interval, cost):
    """Return for how long an attempt has done work, `elapsed` after its start: since the simulation began."""
    done = done_after(elapsed + earlier, restart, interval / speed, cost, work / speed)
    return done - _done_before(work, earlier, speed, interval, cost)


@compiled
def completed(work, earlier, speed, interval, cost):
    """Return for how long an attempt that is done has done work: all of it, except for what was done before."""
    # What it did before the simulation began counts for nobody here.
    return work / speed - _done_before(work, earlier, speed, interval, cost)


@compiled
def _done_before(work, earlier, speed, interval, cost):
    """Return for how long an attempt had done work when the simulation began."""
    return done_after(earlier, 0.0, interval / speed, cost, work / speed)


@compiled
def leaves(elapsed, whole, work, restart, earlier, speed, interval, cost, again, warned):
    """Return what an attempt leaves that is lost `elapsed` after its start.

    Parameters
    ----------
    whole
        All the work of its job.
    work, restart, earlier, speed, interval, cost
        As in `lasts`.
    again
        What coming back from a checkpoint of it takes.
    warned
        How long before a checkpoint was asked for; below 0: never.

    Returns
    -------
    float, float, float, bool
        For how long it did work that is kept, since the simulation began; the work that is left, and what coming back
        to it takes; and whether the job has begun: else the next attempt begins at the beginning.
    """
    saved = saved_after(elapsed + earlier, restart, interval / speed, cost, work / speed, warned)
    # It may have been lost before it saved anything beyond what it had when the simulation began.
    kept = max(saved - _done_before(work, earlier, speed, interval, cost), 0.0)
    left = max(work - saved * speed, 0.0)
    return kept, left, again if saved > 0.0 else restart, saved > 0.0 or work < whole


@compiled
def followed(row, start, end, outcome, speed, interval, cost, restart, warned, earlier, runtime, estimate, now):
    """Return how long attempts take, how long they may by the estimates of their jobs, and what work they keep.

    Parameters
    ----------
    row
        int64[k], the job of each attempt; those of a job follow each other, in order.
    start, end, outcome
        When each began, and ended (NaN: it runs); and how: 0 completed, 1 killed, 2 lost.
    speed, interval, cost, restart
        How many seconds of its job each does in a second, and how it writes checkpoints, as in `Checkpoints`.
    warned, earlier
        How long before its end a checkpoint was asked for (NaN: never), and how long it ran before it began.
    runtime, estimate
        float64[n], of the jobs.
    now
        Until when those that run are followed.

    Returns
    -------
    float64[3, k]
        How long each takes if nothing comes between, how long it may take, and for how long it does work that is kept.
    """
    out = np.full((3, row.size), np.nan)
    left = back = 0.0
    # Left, back and begun are carried from each attempt of a job to its next one.
    begun = False
    for a in range(row.size):
        whole = runtime[row[a]]
        if a == 0 or row[a] != row[a - 1]:  # the first attempt of a job
            left, back, begun = whole, 0.0, earlier[a] > 0.0
        pace, every, price, before = speed[a], interval[a], cost[a], earlier[a]
        # Estimates are of the whole job: what is left by it shrinks by what was done.
        estimated = left_if(estimate[row[a]], left, whole) if begun else estimate[row[a]]
        out[0, a] = lasts(left, back, before, pace, every, price)
        out[1, a] = lasts(estimated, back, before, pace, every, price)
        if outcome[a] == _COMPLETED:
            out[2, a] = completed(left, before, pace, every, price)
        elif outcome[a] == _KILLED or np.isnan(end[a]):
            until = now if np.isnan(end[a]) else end[a]
            out[2, a] = worked(until - start[a], left, back, before, pace, every, price)
        else:
            asked = -1.0 if np.isnan(warned[a]) else warned[a]
            given = (end[a] - start[a], whole, left, back, before, pace, every, price, restart[a], asked)
            out[2, a], left, back, begun = leaves(*given)
    return out
