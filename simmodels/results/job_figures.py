"""Figures of merit of rigid jobs: all that `OF_JOBS` names, from columns.

They are `compilable` as `simmodels.results.metrics` is: the same of one schedule and of thousands.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.compiled import compilable
from simmodels.ground.numbers import Flags, Floats, Ints
from simmodels.results.metrics import (
    JOB_METRICS,
    PART,
    STATISTICS,
    JobColumns,
    Window,
    queue_length,
    summary_in_place,
    throughput_jobs_per_hour,
    utilisation,
    values_of,
)

_OVER_TIME: Final = ("utilisation", "makespan_s", "throughput_jobs_per_hour", "mean_queue_length")
COUNTS: Final = (
    "max_queue_length",
    "jobs",
    "completed",
    "killed",
    "unfinished",
    "uncounted_jobs",
    "jobs_without_slowdown",
    "jobs_without_stretch",
)
"""Those of `OF_JOBS` that are whole numbers."""
OF_JOBS: Final = (
    *(f"{statistic}_{metric}" for metric in JOB_METRICS for statistic in STATISTICS),
    *_OVER_TIME,
    *COUNTS,
)
"""The figures of merit of rigid jobs, in the order of `figures_of_jobs`."""


@compilable
def window_of(submit_s: Floats, end_s: Floats, counted: Flags, ended: Flags) -> Window:
    """Return the window of the metrics, first submit and last end of the counted jobs (float64[n], bool[n]); or NaN."""
    last = end_s[counted & ended]
    if not len(last):
        return np.nan, np.nan
    return float(submit_s[counted].min()), float(last.max())


@compilable
def _of(jobs: JobColumns, chosen: Flags) -> JobColumns:
    """Return the columns of some jobs."""
    submit, start, end, executed, runtime, cores = jobs
    return submit[chosen], start[chosen], end[chosen], executed[chosen], runtime[chosen], cores[chosen]


@compilable
def _fill_in_measures(found: Floats, jobs: JobColumns, done: Flags, tau_s: float) -> None:
    """Write the statistics of all `JOB_METRICS` of the jobs that are `done`, one metric after the other in one column.

    Its values are made a part at a time, so that ten million jobs take one column beside those that there are.
    """
    submit, start, end, executed, runtime, cores = jobs
    whole = np.count_nonzero(done) == len(done)
    if len(done) <= PART:
        few = jobs if whole else _of(jobs, done)
        for metric in range(len(JOB_METRICS)):
            found[4 * metric : 4 * metric + 4] = summary_in_place(values_of(metric, few, tau_s))
        return
    values = np.empty(len(done))
    for metric in range(len(JOB_METRICS)):
        count = 0
        for low in range(0, len(done), PART):
            to = low + PART
            part = submit[low:to], start[low:to], end[low:to], executed[low:to], runtime[low:to], cores[low:to]
            made = values_of(metric, part if whole else _of(part, done[low:to]), tau_s)
            values[count : count + len(made)] = made
            count += len(made)
        found[4 * metric : 4 * metric + 4] = summary_in_place(values[:count])


@compilable
def figures_of_jobs(
    jobs: JobColumns,
    outcome: NDArray[np.integer],
    chosen: Flags,
    uncounted: int,
    busy: tuple[Floats, Floats, Ints],
    waits: tuple[Floats, Floats, NDArray[np.integer]],
    window_s: Window,
    machine_cores: int,
    tau_s: float,
) -> Floats:
    """Return float64, the figures of merit of rigid jobs that `OF_JOBS` names.

    Parameters
    ----------
    jobs
        Submit, start, end, executed and runtime (float64[n], seconds) and cores (int64[n]) of each job.
    outcome
        int8[n], 0 completed, 1 killed, 2 unfinished.
    chosen
        bool[n], the jobs that count.
    uncounted
        How many do not.
    busy
        Start, end (float64[k]) and cores (int64[k]) of each attempt.
    waits
        Begin and end of each wait (float64[m]), and 1, or 0 for what is none (int[m]).
    window_s
        The window of utilisation and queue length.
    machine_cores
        The cores of all clusters.
    tau_s
        The bound of the bounded slowdowns, in seconds, > 0.
    """
    done = chosen & (outcome != 2)
    makespan_s = window_s[1] - window_s[0]
    outcomes = outcome[chosen]
    found = np.empty(len(OF_JOBS))
    _fill_in_measures(found, jobs, done, tau_s)
    found[24] = utilisation(busy[0], busy[1], busy[2], machine_cores, window_s)
    found[25] = makespan_s
    found[26] = throughput_jobs_per_hour(int(np.count_nonzero(done)), makespan_s)
    found[27], found[28] = queue_length(waits[0], waits[1], waits[2], window_s)
    found[29] = len(outcomes)
    for each in range(3):
        found[30 + each] = np.count_nonzero(outcomes == each)
    found[33] = uncounted
    found[34] = np.count_nonzero(done & (jobs[3] <= 0))
    found[35] = np.count_nonzero(done & (jobs[4] <= 0))
    return found
