"""Prediction: when a job would start, if every job before it got the earliest hole that is left."""

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.structures.classes import book, expect_back, new_classes
from simmodels.structures.profile import add, earliest, lasts_until, new_profile


@compiled
def predicted_start(now, free, place, ends, freed, lengths, needed):
    """Return the start of the last of some jobs that wait; infinity if it, or one before it, gets no hole.

    Parameters
    ----------
    now
        The instant.
    free
        int64[places], the cores that are free at each place: a pool, or machines. A job runs at one of them.
    place, ends, freed
        int64[k], float64[k], int64[k]: where running jobs run, when they are expected to end, and their cores. One that
        is overdue is expected to end at once.
    lengths, needed
        float64[n], int64[n]: how long the jobs that wait are expected to run, and their cores, in order.
    """
    profiles = [new_profile(now, cores) for cores in free]
    for k in range(ends.size):
        add(profiles[place[k]], max(ends[k], np.nextafter(now, np.inf)), np.inf, freed[k])
    start = np.inf
    for k in range(lengths.size):
        start, best = np.inf, 0
        # Ties fall to the lower place.
        for i in range(free.size):
            found = earliest(profiles[i], now, needed[k], lengths[k])
            if found < start:
                start, best = found, i
        if start == np.inf:  # nor does any behind it
            break
        add(profiles[best], start, lasts_until(start, lengths[k]), -needed[k])
    return start


@compiled
def predicted_under_notice(now, goes, free, running, ends, lengths, needed):
    """Return what `predicted_start` does of a queue on machines of which some are about to go.

    Parameters
    ----------
    now
        The instant.
    goes, free, running
        Of the machines, as `simmodels.structures.classes.new_classes` takes them.
    ends
        float64[slots], when what runs is expected to end.
    lengths, needed
        As for `predicted_start`.
    """
    classes = new_classes(goes, free, running)
    expect_back(classes, now, ends)
    start = now
    for k in range(lengths.size):
        start = book(classes.profiles[0], classes, k, now, needed[k], lengths[k])
        if start == np.inf:
            break
    return start
