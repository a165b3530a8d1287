"""Window: which jobs of a workload run when a window begins, and which are submitted in it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import Duration, as_window
from simmodels.work.workload import Job, Workload

Rows = NDArray[np.int64]


class Windowed(NamedTuple):
    """The jobs of a window, by their rows, in order of (submit, input)."""

    warm: Rows  # those that run when it begins: so they get machines
    arriving: Rows  # those that are submitted in it


def windowed(workload: Workload, window_s: tuple[Duration, Duration]) -> Windowed:
    """Return the jobs of a half-open window, except those of unknown cores or runtime.

    A job runs at the window's begin if it was submitted before, and would end after it had it started at once.

    References
    ----------
    Perotin et al. (2023), section 5.1, doi 10.1145/3624062.3624194, and its program.
    """
    begin, end = as_window("window_s", window_s)
    if not begin < end or not np.isfinite(begin):
        raise RequestError(must_be("window_s", "a finite begin and a later end", (begin, end)))
    known, submit_s = workload.known(), workload.submit_s
    warm = np.flatnonzero(known & (submit_s < begin) & (submit_s + workload.runtime_s > begin))
    warm = warm[np.argsort(submit_s[warm], kind="stable")]
    arriving = np.flatnonzero(known & (submit_s >= begin) & (submit_s < end))
    arriving = arriving[np.argsort(submit_s[arriving], kind="stable")]
    return Windowed(warm, arriving)


def run_on(jobs: Sequence[Job], begin_s: float, *, free: int, kill: bool) -> list[bool]:
    """Return which jobs that ran before a window run on in a queue: in order, those that fit in the cores left.

    So do not those that were killed before, at their estimate.

    Parameters
    ----------
    jobs
        The jobs, which ran since their submission.
    begin_s
        When the window begins.
    free
        The cores that are free then.
    kill
        Whether a job is stopped at its estimate.
    """
    found = []
    for job in jobs:
        runs = job.cores <= free and not (kill and job.estimate_s <= begin_s - job.submit_s)
        free -= job.cores if runs else 0
        found.append(runs)
    return found
