"""Metrics: pure functions from the columns of a schedule to its figures of merit.

Two families. *Job metrics* (wait, response, the slowdowns, stretch) have one value a job; they are
summed up over the counted jobs that ended. *Machine metrics* (utilisation, queue length,
throughput) have one value for a window of time.

What is marked as `compilable` runs as it stands, and compiled code calls it too, with the same result to the last bit.
"""

import math
from collections.abc import Mapping
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.compiled import compilable
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import Floats
from simmodels.ground.sums import settle, total
from simmodels.units import HOUR

Integers: TypeAlias = NDArray[np.int64]
Window: TypeAlias = tuple[float, float]
JobColumns: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Integers]
"""Submit, start, end, executed and runtime (float64[n], seconds) and cores (int64[n]) of each job."""

STATISTICS: Final = ("mean", "median", "p95", "max")
JOB_METRICS: Final = (
    "wait_s",
    "response_s",
    "slowdown",
    "bounded_slowdown",
    "per_processor_bounded_slowdown",
    "stretch",
)
IN_WORDS: Final[Mapping[str, str]] = {
    "wait_s": "from submission to start",
    "response_s": "from submission to end",
    "slowdown": "response time over execution time",
    "bounded_slowdown": "slowdown where short executions count as tau; at least 1",
    "per_processor_bounded_slowdown": "bounded slowdown over the cores of the job; at least 1",
    "stretch": "response time over the runtime of the whole job",
    "slr": "response time of a finished workflow over the length of its critical path",
    "utilisation": "core-seconds in use, over those of all cores; 0 to 1",
    "makespan_s": "from the first submission to the last end",
    "throughput_jobs_per_hour": "jobs that ended, per hour",
    "mean_queue_length": "number of waiting jobs, on average over time",
    "max_queue_length": "largest number of waiting jobs",
    "jobs": "jobs that count",
    "completed": "jobs that ran to their end",
    "killed": "jobs stopped at their limit",
    "unfinished": "jobs that had not ended",
    "uncounted_jobs": "jobs outside the metrics, such as warm jobs",
    "jobs_without_slowdown": "jobs that executed for 0 s",
    "jobs_without_stretch": "jobs of 0 s of work",
    "goodput": "share of the core-seconds of machines that were on which became work",
    "aborted": "share of them in which jobs ran for nothing",
    "idle": "the rest of them",
    "kills": "how often a job lost its machine",
    "mean_aborted_s": "how long those had run, on average",
    "arrived": "jobs submitted in the window",
    "completed_share": "share of those that completed in it",
    "mean_machines_used": "machines that a heuristic with targets used, on average over time",
    "value": "worth of all workflows, over the most that they could be worth",
    "starved": "share of workflows that starved or were not finished at the end",
    "effective_load": "work, over what all cores could do from the first submission to the last",
    "finished": "workflows that were finished",
    "starved_deadline": "workflows dropped when their deadline was reached",
    "unfinished_at_end": "workflows not finished at the end",
    "rejected": "workflows that were not admitted",
    "tasks": "tasks of all workflows",
    "tasks_started": "tasks that started",
}
"""Every metric of `simmodels.Schedule.metrics`; the first seven have the `STATISTICS` as prefixes."""


PART: Final = 1 << 16
"""How many jobs are looked at at a time: what is made of them on the way stays in the processor's cache."""


# -- one value a job -----------------------------------------------------------------------------


@compilable
def wait_s(submit_s: Floats, start_s: Floats) -> Floats:
    """Return how long each job waited, in seconds: start - submit (float64[n]); NaN if it never started."""
    return start_s - submit_s


@compilable
def response_s(submit_s: Floats, end_s: Floats) -> Floats:
    """Return how long each job was in the system, in seconds: end - submit; NaN if it never ended.

    Also called turnaround time, or flow time.
    """
    return end_s - submit_s


@compilable
def slowdown(response_s: Floats, executed_s: Floats) -> Floats:
    """Return how many times longer than its execution each job took: response / executed.

    Parameters
    ----------
    response_s
        float64[n], seconds from submit to end.
    executed_s
        float64[n], seconds from start to end. Where it is 0 the slowdown is not defined, and NaN.

    References
    ----------
    Feitelson, Rudolph (1998), Metrics and benchmarking for parallel job scheduling, section 4,
    DOI 10.1007/BFb0053978.
    """
    ratio = np.full(len(executed_s), np.nan)
    ratio[executed_s > 0] = _ratio(response_s, executed_s)
    return ratio


@compilable
def _ratio(response_s: Floats, executed_s: Floats) -> Floats:
    """Return the slowdown of the jobs that have one."""
    ran = executed_s > 0
    if np.count_nonzero(ran) == len(ran):
        return response_s / executed_s
    return response_s[ran] / executed_s[ran]


def bounded_slowdown(wait_s: Floats, executed_s: Floats, tau_s: Duration = 10.0) -> Floats:
    """Return each job's slowdown, with short executions counted as tau: max((w + p) / max(p, tau), 1).

    Its mean over the jobs is what the literature calls AVGbsld.

    Parameters
    ----------
    wait_s
        float64[n], w, seconds from submit to start.
    executed_s
        float64[n], p, seconds from start to end.
    tau_s
        The bound in seconds, > 0.

    References
    ----------
    Feitelson (2001), Metrics for parallel job scheduling and their convergence, section 2,
    DOI 10.1007/3-540-45540-X_11.
    """
    return _bounded(wait_s, executed_s, as_seconds("tau_s", tau_s, above=0))


@compilable
def _bounded(wait_s: Floats, executed_s: Floats, tau_s: float) -> Floats:
    return np.maximum((wait_s + executed_s) / np.maximum(executed_s, tau_s), 1.0)


def per_processor_bounded_slowdown(
    wait_s: Floats, executed_s: Floats, cores: Integers, tau_s: Duration = 10.0
) -> Floats:
    """Return each job's bounded slowdown per core: max((w + p) / (q max(p, tau)), 1).

    A job that waits for many cores is not held to be worse served than one that waits for few.

    Parameters
    ----------
    wait_s
        float64[n], w, seconds from submit to start.
    executed_s
        float64[n], p, seconds from start to end.
    cores
        int64[n], q, the cores of each job, >= 1.
    tau_s
        The bound in seconds, > 0.

    Raises
    ------
    RequestError
        `tau_s` is not a finite number > 0.

    References
    ----------
    Zotkin, Keleher (1999), Job-length estimation and performance in backfilling schedulers,
    DOI 10.1109/HPDC.1999.805303.
    """
    return _bounded_per_processor(wait_s, executed_s, cores, as_seconds("tau_s", tau_s, above=0))


@compilable
def _bounded_per_processor(wait_s: Floats, executed_s: Floats, cores: Integers, tau_s: float) -> Floats:
    return np.maximum((wait_s + executed_s) / (cores * np.maximum(executed_s, tau_s)), 1.0)


@compilable
def stretch(response_s: Floats, runtime_s: Floats) -> Floats:
    """Return how many times longer than its own work each job took: response / runtime.

    It differs from `slowdown` for a job that was killed before its work was done: its work is
    `runtime_s`, of which it executed less.

    Parameters
    ----------
    response_s
        float64[n], seconds from (first) submit to end.
    runtime_s
        float64[n], seconds of work in the job. Where it is 0 the stretch is not defined, and NaN.

    References
    ----------
    Bender, Chakrabarti, Muthukrishnan (1998), Flow and stretch metrics for scheduling continuous
    job streams, SODA '98, pages 270-279.
    """
    return slowdown(response_s, runtime_s)


@compilable
def values_of(metric: int, jobs: JobColumns, tau_s: float) -> Floats:
    """Return the values that one of `JOB_METRICS` has, of jobs that ended."""
    submit, start, end, executed, runtime, cores = jobs
    if metric == 0:
        return wait_s(submit, start)
    if metric == 1:
        return response_s(submit, end)
    if metric == 2:
        return _ratio(response_s(submit, end), executed)
    if metric == 3:
        return _bounded(wait_s(submit, start), executed, tau_s)
    if metric == 4:
        return _bounded_per_processor(wait_s(submit, start), executed, cores, tau_s)
    return _ratio(response_s(submit, end), runtime)


def describe(values: Floats, name: str) -> dict[str, float]:
    """Return the mean, median, 95th percentile and maximum of some jobs' values, by name; see `summary`.

    Parameters
    ----------
    values
        float64[k], without NaN.
    name
        The metric's name with its unit, for example ``"wait_s"``; the keys are ``mean_wait_s``,
        ``median_wait_s``, ``p95_wait_s`` and ``max_wait_s``.
    """
    return {f"{statistic}_{name}": value for statistic, value in zip(STATISTICS, summary(values), strict=True)}


@compilable
def summary(values: Floats) -> tuple[float, float, float, float]:
    """Return the mean, median, 95th percentile and maximum of some jobs' values (float64[k]).

    The percentile interpolates linearly between order statistics (type 7 of Hyndman and Fan,
    1996, DOI 10.1080/00031305.1996.10473566). Without values, or with one that is NaN, each of the four is NaN.
    """
    return summary_in_place(values.copy())


@compilable
def summary_in_place(values: Floats) -> tuple[float, float, float, float]:
    """Return what `summary` does, and leave the values in another order."""
    count = len(values)
    if not count:
        return np.nan, np.nan, np.nan, np.nan
    middle, high, last = (count - 1) * 0.5, (count - 1) * 0.95, count - 1
    m, h = int(middle), int(high)
    mean = total(values) / count  # in the order in which they stand
    settle(values, (m, min(m + 1, last), h, min(h + 1, last), last))
    highest = float(values[last])
    if math.isnan(highest):
        return np.nan, np.nan, np.nan, np.nan
    return (
        mean,
        _between(float(values[m]), float(values[min(m + 1, last)]), middle - m),
        _between(float(values[h]), float(values[min(h + 1, last)]), high - h),
        highest,
    )


@compilable
def _between(low: float, high: float, share: float) -> float:
    """Return what is this share of the way from one value to another; rounded as numpy does."""
    step = high - low
    return high - step * (1.0 - share) if share >= 0.5 else low + step * share


# -- over time -----------------------------------------------------------------------------------


def step_function(from_s: Floats, to_s: Floats, weight: NDArray[np.integer]) -> tuple[Floats, Integers]:
    """Return when the sum of the weights that are present changes, and what it is from then on.

    All that happens at one instant is one step, so intervals of no length leave no trace.

    Parameters
    ----------
    from_s
        float64[k], when each weight appears; NaN: never.
    to_s
        float64[k], when it goes, >= `from_s`; NaN: never.
    weight
        int[k], the weights, for example 1 (jobs in a queue) or cores.

    Returns
    -------
    tuple
        float64[m], strictly increasing instants; int64[m], the sum from each instant to the next.
        Before the first instant the sum is 0.
    """
    there = ~np.isnan(from_s)
    goes = there & ~np.isnan(to_s)
    time_s = np.concatenate((from_s[there], to_s[goes]))
    change = np.concatenate((weight[there], -weight[goes])).astype(np.int64)
    order = np.argsort(time_s, kind="stable")
    time_s, total = time_s[order], np.cumsum(change[order])
    last = np.flatnonzero(np.append(time_s[1:] != time_s[:-1], True)[: len(time_s)])
    time_s, total = time_s[last], total[last]
    changed = np.flatnonzero(np.diff(total, prepend=0))
    return time_s[changed], total[changed]


@compilable
def time_sum(from_s: Floats, to_s: Floats, weight: NDArray[np.integer], window_s: Window) -> float:
    """Return the integral over a window of the sum of the weights that are present.

    Parameters
    ----------
    from_s, to_s, weight
        As for `step_function`.
    window_s
        First and last instant of the window, in seconds.
    """
    low, high = window_s
    values = np.empty(len(from_s))
    for first in range(0, len(from_s), PART):
        to = first + PART
        until = np.where(np.isnan(to_s[first:to]), high, to_s[first:to])
        length_s = np.minimum(until, high) - np.maximum(from_s[first:to], low)
        values[first:to] = np.where(length_s > 0, length_s, 0.0) * weight[first:to]
    return total(values)


@compilable
def utilisation(start_s: Floats, end_s: Floats, cores: Integers, machine_cores: int, window_s: Window) -> float:
    """Return the share of the machine's core-seconds in a window that were in use; 0 to 1.

    Whatever ran counts, whosever job it was: jobs outside the metrics, killed jobs, attempts that
    came to nothing and jobs that still run at the window's end hold cores as others do.

    Parameters
    ----------
    start_s, end_s
        float64[k], the attempts; a NaN end is an attempt that still runs.
    cores
        int64[k], the cores of each attempt.
    machine_cores
        The cores of the machine.
    window_s
        First and last instant of the window, in seconds. An empty window gives NaN.
    """
    low, high = window_s
    if not high > low:
        return np.nan
    return time_sum(start_s, end_s, cores, window_s) / (machine_cores * (high - low))


@compilable
def _sorted(times_s: Floats, waits: NDArray[np.integer]) -> Floats:
    """Return the instants of what waits, in order."""
    there: Floats = times_s[(waits != 0) & ~np.isnan(times_s)]
    there.sort()
    return there


@compilable
def queue_length(from_s: Floats, to_s: Floats, waits: NDArray[np.integer], window_s: Window) -> tuple[float, int]:
    """Return the mean over time and the maximum of the number of waiting jobs in a window.

    A job that starts at the instant of its submission never waits. Over a window that holds all
    waits, the mean is their sum over the window's length (Little 1961, DOI 10.1287/opre.9.3.383).

    Parameters
    ----------
    from_s, to_s
        float64[k], when each wait begins and ends; a NaN end is a job that still waits.
    waits
        int[k], 1, or 0 for what is no wait.
    window_s
        First and last instant of the window, in seconds. An empty window gives NaN and 0.
    """
    low, high = window_s
    if not high > low:
        return np.nan, 0
    mean = time_sum(from_s, to_s, waits, window_s) / (high - low)
    begins, ends = _sorted(from_s, waits), _sorted(to_s, waits)
    # It is longest at the window's begin or after some job has joined; leavers of that instant have left.
    first, last = int(np.searchsorted(begins, low, side="right")), int(np.searchsorted(begins, high))
    most = first - int(np.searchsorted(ends, low, side="right"))
    for begin in range(first, last, PART):
        to = min(begin + PART, last)  # of those that join at one instant, the last one counts all
        joined = np.arange(begin + 1, to + 1)
        most = max(most, int((joined - np.searchsorted(ends, begins[begin:to], side="right")).max()))
    return mean, most


@compilable
def throughput_jobs_per_hour(jobs: int, makespan_s: float) -> float:
    """Return how many jobs left the machine an hour, completed or killed; NaN for a makespan of 0."""
    return jobs * HOUR / makespan_s if makespan_s > 0 else np.nan


# -- under variable capacity ---------------------------------------------------------------------


def core_seconds(
    start_s: Floats, end_s: Floats, work_s: Floats, cores: Integers, window_s: Window
) -> tuple[float, float]:
    """Return the core-seconds of a window that became work, and those that jobs ran for nothing.

    What ran for nothing was lost with a machine, or went into writing checkpoints and coming back from
    them. An attempt that runs on at the window's end has lost nothing.

    Parameters
    ----------
    start_s, end_s
        float64[k], the attempts; a NaN end is one that still runs.
    work_s
        float64[k], the work that each did and that is not lost, in seconds of the job.
    cores
        int64[k], the cores of each.
    window_s
        First and last instant of the window, in seconds.

    References
    ----------
    Perotin et al. (2023), section 5.2, doi 10.1145/3624062.3624194: goodput and aborted volume are these two
    over the core-seconds that machines were on.
    """
    low, high = window_s
    there = start_s <= high  # NaN: never started
    start, end, work, width = start_s[there], end_s[there], work_s[there], cores[there]
    until = np.where(np.isnan(end), high, end)
    ran_s = np.maximum(np.minimum(until, high) - np.maximum(start, low), 0.0)
    kept_s = np.where(until > high, ran_s, np.minimum(work, ran_s))
    return float(np.sum(kept_s * width)), float(np.sum((ran_s - kept_s) * width))


def lost_s(start_s: Floats, end_s: Floats, outcome: NDArray[np.integer], window_s: Window) -> Floats:
    """Return how long each attempt ran in a window that was lost with its machine there.

    Parameters
    ----------
    start_s, end_s, outcome
        float64[k], float64[k], int8[k], the attempts; one that was lost is unfinished (2), with an end.
    window_s
        First and last instant of the window, in seconds; both belong to it.
    """
    low, high = window_s
    lost = (outcome == 2) & (end_s >= low) & (end_s <= high)
    ran: Floats = end_s[lost] - np.maximum(start_s[lost], low)
    return ran
