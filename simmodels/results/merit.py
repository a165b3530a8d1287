"""Figures of merit of a schedule, by what it has: rigid jobs, machines; from columns to numbers by name."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.energy import KWH, Power, Signal
from simmodels.errors import require_known
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.later import pd
from simmodels.results import job_figures, metrics
from simmodels.results.attempts import COMPLETED, Attempts, machines_on, parts_of
from simmodels.results.evidence import Evidence

WarmCredit = Literal["whole", "partial"]


def of_jobs(
    evidence: Evidence, chosen: NDArray[np.bool_], window_s: tuple[float, float], cores: int, tau_s: Duration
) -> dict[str, float]:
    """Return the figures of merit of rigid jobs; see `Schedule.metrics`.

    Parameters
    ----------
    evidence
        What happened.
    chosen
        bool[n], the rows that count.
    window_s
        The window of utilisation and queue length.
    cores
        The cores of all clusters.
    tau_s
        The bound of the bounded slowdowns.
    """
    e, work = evidence, evidence.workload
    start_s, executed_s = e.start_s, e.executed_s
    if e.window is not None:  # what ran when it began did not wait until then
        start_s, executed_s = e.began_s, executed_s + e.earlier_s
    jobs = (work.submit_s, start_s, e.end_s, executed_s, work.runtime_s, work.cores)
    held = work.cores if e.listed is None else work.cores[e.attempts.row]
    busy = (e.attempts.start_s, e.attempts.end_s, held)
    uncounted, tau_s = int(np.count_nonzero(~e.counted)), as_seconds("tau_s", tau_s, above=0)
    found = job_figures.figures_of_jobs(jobs, e.outcome, chosen, uncounted, busy, e.waits(), window_s, cores, tau_s)
    named: dict[str, float] = dict(zip(job_figures.OF_JOBS, found.tolist(), strict=True))
    return named | {name: int(named[name]) for name in job_figures.COUNTS}


def _core_seconds_on(evidence: Evidence, number: int, window: tuple[float, float]) -> float:
    """Return the core-seconds of a window on those machines of a cluster that were on."""
    spec, (low, high) = evidence.clusters[number], window
    if not spec.sizes:
        on = machines_on(evidence.off_spans, number, spec.machines, window)
        return spec.cores_per_machine * on.machine_seconds(low, high)
    if evidence.off_spans is None:
        return spec.cores * (high - low)
    off = evidence.off_spans[evidence.off_spans["cluster"] == number]
    length_s = np.clip(off["end_s"], low, high) - np.clip(off["start_s"], low, high)
    # Machine by machine: one that is off for the whole window has nothing, and no rounding error either.
    on_s = (high - low) - np.bincount(off["machine"], length_s, spec.machines)
    return float(np.sum(np.array(spec.sizes) * on_s))


def of_machines(
    evidence: Evidence,
    runs: Attempts,
    window: tuple[float, float],
    warm_credit: WarmCredit,
) -> dict[str, float]:
    """Return the figures of merit of machines that are switched on and off; see `Schedule.metrics`.

    Parameters
    ----------
    evidence
        What happened.
    runs
        Every attempt, in the order in which they are added up.
    window
        First and last instant of what is counted.
    warm_credit
        As there.

    References
    ----------
    Perotin et al. (2023), section 5.2, doi 10.1145/3624062.3624194.
    """
    require_known("warm_credit", warm_credit, get_args(WarmCredit))
    e = evidence
    cores = e.workload.cores[runs.row]
    kept, wasted = metrics.core_seconds(runs.start_s, runs.end_s, runs.work_s, cores, window)
    offered = sum(_core_seconds_on(e, number, window) for number in range(len(e.clusters)))
    used = metrics.time_sum(runs.start_s, runs.end_s, cores, window)
    lost_s = metrics.lost_s(runs.start_s, runs.end_s, runs.outcome, window)
    if warm_credit == "partial":
        kept -= _beyond_the_window(e, runs, window[0])
    arrived = e.counted & (e.workload.submit_s >= window[0])
    done = arrived & (e.outcome == COMPLETED)
    return {
        "goodput": kept / offered if offered > 0 else np.nan,
        "aborted": wasted / offered if offered > 0 else np.nan,
        "idle": (offered - used) / offered if offered > 0 else np.nan,
        "kills": len(lost_s),
        "mean_aborted_s": float(lost_s.mean()) if len(lost_s) else 0.0,
        "arrived": int(arrived.sum()),
        "completed_share": float(done.sum() / arrived.sum()) if arrived.any() else np.nan,
    }


def _beyond_the_window(e: Evidence, runs: Attempts, begin: float) -> float:
    """Return the core-seconds that jobs which ran at the window's begin did over again."""
    again = (runs.outcome == COMPLETED) & (runs.attempt > 1)
    warm = runs.row[again & (e.workload.submit_s[runs.row] < begin)]
    return float(np.sum((begin - e.workload.submit_s[warm]) * e.workload.cores[warm]))


def energy(
    evidence: Evidence,
    runs: Attempts,
    window: tuple[float, float],
    power: Power,
    signals: dict[str, Signal],
) -> dict[str, float]:
    """Return by name of the signal what all machines that were on drew in a window; see `Schedule.energy`."""
    low, high = window
    if np.isnan(low):  # no counted job ended
        return dict.fromkeys(signals, np.nan)
    jobs = energy_by_job(evidence, runs, window, Power(0.0, power.core_w), signals)
    found = {}
    for name, signal in signals.items():
        on = 0.0
        for number, spec in enumerate(evidence.clusters):
            capacity = machines_on(evidence.off_spans, number, spec.machines, window)
            edges = np.clip(np.append(capacity.time_s, high), low, high)
            edges[0] = low
            on += float(np.sum(signal.integral(edges[:-1], edges[1:]) * capacity.machines))
        found[name] = on * power.machine_w / KWH + float(jobs[name].sum())
    return found


def energy_by_job(
    evidence: Evidence, runs: Attempts, window: tuple[float, float], power: Power, signals: dict[str, Signal]
) -> "pd.DataFrame":
    """Return a table, one row per row of the workload, of what its attempts drew in a window."""
    low, high = window
    start_s = np.clip(runs.start_s, low, high)
    end_s = np.clip(np.where(np.isnan(runs.end_s), high, runs.end_s), low, high)
    cores = evidence.workload.cores[runs.row]
    per_machine = _sizes_of(evidence, runs.cluster, runs.machine)
    unequal = np.array([bool(spec.sizes) for spec in evidence.clusters])
    if power.machine_w and unequal.any():
        parts = parts_of(runs, unequal[np.maximum(runs.cluster, 0)], evidence.part_table())
        at, machine, cluster, held = (parts[name].to_numpy(np.int64) for name in ("at", "machine", "cluster", "cores"))
        shares = np.bincount(at, weights=held / _sizes_of(evidence, cluster, machine), minlength=len(cores))
        np.divide(cores, shares, out=per_machine, where=shares > 0)
    watts = (power.core_w + power.machine_w / per_machine) * cores
    columns: dict[str, NDArray[np.generic]] = {"job_id": evidence.workload.job_id}
    for name, signal in signals.items():
        drawn = np.where(np.isnan(runs.start_s), 0.0, signal.integral(start_s, end_s)) * watts / KWH
        columns[name] = np.bincount(runs.row, weights=drawn, minlength=len(evidence.start_s))
    return pd.DataFrame(columns)


def _sizes_of(evidence: Evidence, cluster: NDArray[np.int64], machine: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cores of machines, by the numbers of their clusters and theirs."""
    on = zip(np.maximum(cluster, 0).tolist(), np.maximum(machine, 0).tolist(), strict=True)
    return np.array([evidence.clusters[number].cores_of(which) for number, which in on], np.float64)
