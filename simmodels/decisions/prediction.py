"""Prediction: when a job would start, if every job before it got the earliest hole that is left."""

import numpy as np

from simmodels.compiled import compiled
from simmodels.decisions.profile import add, earliest, lasts_until, new_profile


@compiled
def predicted_start(now, free, ends, freed, lengths, needed):
    """Return the start of the last of some jobs that wait; infinity if it, or one before it, gets no hole.

    Parameters
    ----------
    now, free
        The instant, and the cores that are free at it.
    ends, freed
        float64[k], int64[k]: when running jobs are expected to end, and their cores. One that is overdue is expected
        to end at once.
    lengths, needed
        float64[n], int64[n]: how long the jobs that wait are expected to run, and their cores, in order.
    """
    profile = new_profile(now, free)
    for k in range(ends.size):
        add(profile, max(ends[k], np.nextafter(now, np.inf)), np.inf, freed[k])
    start = np.inf
    for k in range(lengths.size):
        start = earliest(profile, now, needed[k], lengths[k])
        if start == np.inf:
            break
        add(profile, start, lasts_until(start, lengths[k]), -needed[k])
    return start
