"""Checkpointing: what a run takes that writes checkpoints, and what is left of one that was cut short."""

import math

from simmodels.ground.compiled import compiled


@compiled
def takes(work, restart, interval, cost):
    """Return how long a run takes: coming back, the work, and a checkpoint between two intervals of it."""
    if interval == math.inf:
        return restart + work
    return restart + work + cost * max(math.ceil(work / interval) - 1, 0)


@compiled
def done_after(elapsed, restart, interval, cost, work):
    """Return how much of its work a run has done after some time."""
    elapsed = max(elapsed - restart, 0.0)
    if interval == math.inf:
        return min(elapsed, work)
    cycles = math.floor(elapsed / (interval + cost))
    return min(cycles * interval + min(elapsed - cycles * (interval + cost), interval), work)


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
    elapsed -= restart
    if interval == math.inf or elapsed <= 0.0:
        return 0.0
    return min(math.floor(elapsed / (interval + cost)) * interval, work)
