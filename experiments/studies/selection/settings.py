"""What a cell of the selection study runs: a log, a resample of it, and a strategy or an order on either engine."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

import simmodels as sm
from experiments.campaigns import Cell
from experiments.inputs import WorkloadFile
from experiments.studies.selection.paper import NOISE, TABLE_1, log_of
from simmodels.ground.numbers import Ints
from simmodels.ground.streams import stream
from simmodels.policies import selection
from simmodels.policies.queue_options import QueueOptions
from simmodels.tuning import Feedback
from workloads import lublin, resample, tsafrir_estimates

VARIANTS: Final = ("text", "program")
GENERATED: Final = "generated"
PERIODS: Final = {"day": sm.DAY, "week": sm.WEEK}
KINDS: Final = ("full", "noisy", "bandit", "random")
"""The paper's strategies."""
MORE_KINDS: Final = ("decaying", "ucb1", "exp3")
TUNERS: Final = tuple(f"{kind} {period}" for period in PERIODS for kind in KINDS)
SEVEN: Final = ("FCFS", "LCFS", "SPF", "SQF", "SEXP", "SRF", "SAF")
"""The orders of figure 1; the paper does not say which it shows."""
LOGGED: Final = " logged"
UNBOUNDED: Final = " unbounded"
YEAR_WEEKS: Final = 52
NOISES: Final = {"text": NOISE, "program": 0.2}
"""How far a simulated wait may be wrong, as a part of it, in each variant."""
_FILTERS: Final = {"text": "strong", "program": "program"}
_THRESHOLD_S: Final = {"text": 40 * sm.HOUR, "program": 200_000.0}
_SECOND: Final = {"text": None, "program": "LQF"}
"""The backfill order: none is the order itself."""
_USERS: Final = 40


def input_of(workload: str, variant: str) -> str:
    """Return under which name a log, cleaned as a variant has it, is shared by cells."""
    return f"{workload}, {_FILTERS[variant]}"


def read_log(workload: str, variant: str, cores: object) -> sm.Workload:
    """Return a log; or the generated one, of users with habits of their own.

    Parameters
    ----------
    workload, variant
        The file, and how it is cleaned.
    cores
        The size of the machine; None for that of table 1 of the paper, or else of the file's header. (They differ for
        CEA-Curie: 80,640 are printed, and version 2.1 of the log has 93,312.)
    """
    if workload != GENERATED:
        printed = TABLE_1.get(log_of(workload) or "")
        size = int(str(cores)) if cores is not None else None if printed is None else printed.cores
        return WorkloadFile(path=Path(workload), cores=size, filters=(_FILTERS[variant],), drop_oversized=True).read()
    size = 128 if cores is None else int(str(cores))
    jobs = tsafrir_estimates(lublin(jobs=6_000, cores=size, seed=0, load=0.9), seed=0)
    # A user has a size of job: the users of the model's jobs are drawn around it.
    noise = stream(0, "users").normal(size=len(jobs))
    user_id = np.argsort(np.argsort(np.log2(jobs.cores) + noise)) * _USERS // len(jobs)
    return replace(jobs, user_id=user_id, name=GENERATED)


# The cells of a replication follow each other: the last trace is kept.
_resample: Final = lru_cache(maxsize=1)(resample)


def _trace_of(log: sm.Workload, cell: Cell) -> sm.Workload:
    """Return the resample of a cell."""
    how: Literal["drawn", "permuted"] = "permuted" if cell["variant"] == "program" else "drawn"
    return _resample(log, weeks=cell["weeks"], seed=cell.seed, index=cell.replication, how=how)


@lru_cache(maxsize=1)
def _feedback(trace: sm.Workload, options: QueueOptions, period: str) -> Feedback:  # noqa: ARG001  part of the key
    """Return what each order would have cost in periods of one length: strategies share it, and the last is kept."""
    return Feedback(trace, cores=_size_of(trace), options=options, orders=sm.TWELVE_ORDERS)


def _options_of(cell: Cell) -> dict[str, Any]:
    """Return threshold and backfill order of a cell: what was chosen, or what the variant has."""
    variant, threshold_h = cell["variant"], cell["threshold_h"]
    threshold_s = _THRESHOLD_S[variant] if threshold_h is None else threshold_h * sm.HOUR
    return {"threshold_s": threshold_s, "backfill_order": _SECOND[variant]}


def _size_of(log: sm.Workload) -> int:
    if log.max_cores is None:
        raise sm.RequestError(f"the size of the machine of {log.name!r} is unknown", "add --set cores=N")
    return log.max_cores


# -- one run ----------------------------------------------------------------------------------------


def _run_order(log: sm.Workload, cell: Cell, name: str) -> sm.Schedule:
    """Return the schedule of a cell's resample under one order, with its threshold or, if it says so, without."""
    options = _options_of(cell) | {"order": name.removesuffix(UNBOUNDED)}
    if name.endswith(UNBOUNDED):
        options["threshold_s"] = None
    return sm.simulate(_trace_of(log, cell), cores=_size_of(log), engine=cell["engine"], **options)


def _run_logged(log: sm.Workload, cell: Cell, order: str) -> sm.Schedule:
    """Return the schedule of the log itself under an order; its zero is its first submit."""
    jobs = log.take(log.known()).shift()
    return sm.simulate(jobs, cores=_size_of(log), engine=cell["engine"], order=order, **_options_of(cell))


def _run_strategy(log: sm.Workload, cell: Cell, name: str) -> tuple[sm.Schedule, list[int]]:
    """Return the schedule of a cell's resample under a strategy, and the place of the order that each period used."""
    kind, period = name.split()
    trace, options = _trace_of(log, cell), QueueOptions.checked(**_options_of(cell))
    chosen = strategy_of(kind, period, cell["variant"], cell.parameters)
    short = Path(cell["workload"]).name.partition(".")[0].removesuffix("-cln")  # published results were drawn by it
    seed = cell.seed_for("tuner", short)
    if cell["engine"] == "simpy":
        return _by_processes(trace, options, chosen, PERIODS[period], seed, name)
    tuned = sm.replay_tuned(
        trace,
        chosen,
        cores=_size_of(log),
        options=options,
        period_s=PERIODS[period],
        seed=seed,
        name=name,
        feedback=_feedback(trace, options, period) if chosen.simulates and cell["variant"] == "text" else None,
    )
    return tuned.schedule, tuned.tuning_run.used


def _by_processes(
    trace: sm.Workload, options: QueueOptions, strategy: selection.Strategy, period_s: float, seed: int, name: str
) -> tuple[sm.Schedule, list[int]]:
    """Return the same by the SimPy engine; what a strategy simulates within is compiled on either."""
    env = sm.Environment(seed=seed, start_s=float(trace.submit_s.min(initial=0.0)))
    queue = sm.QueueScheduler(env, sm.Cluster(env, "machine", cores=_size_of(trace)), **options.by_name())
    sm.Source(env, trace, into=queue)
    recorder = sm.Recorder(env)
    tuner = sm.Tuner(env, queue, strategy, period_s=period_s, name=name)
    env.run()
    return recorder.schedule(), tuner.tuning_run.used


def strategy_of(kind: str, period: str, variant: str, of: Mapping[str, Any]) -> selection.Strategy:
    """Return a strategy, with the settings of the variant, and those that were chosen."""
    program = variant == "program"
    counts: selection.Jobs = "started" if program else "finished"
    if kind == "random":
        return selection.RandomOrder()
    if kind == "ucb1":
        return selection.UCB1(counts=counts)
    if kind == "exp3":
        return selection.EXP3(counts=counts)
    if kind in {"bandit", "decaying"}:
        fades: float = of["epsilon_decay"]
        if kind == "decaying":
            fades = 0.5 ** (PERIODS[period] / (of["epsilon_half_life_weeks"] * sm.WEEK))
        pseudo_jobs = 1.0 if program else 0.0
        return selection.EpsilonGreedy(
            epsilon=of["epsilon"], epsilon_decay=fades, decay=of["decay"], counts=counts, pseudo_jobs=pseudo_jobs
        )
    noise = (NOISES[variant] if of["noise"] is None else of["noise"]) if kind == "noisy" else 0.0
    noise_of: Literal["job", "period"] = "period" if program else "job"
    return selection.FullFeedback(decay=of["decay"], noise=noise, noise_of=noise_of, preload=program)


# -- its rows ---------------------------------------------------------------------------------------


def _shares_of(used: Sequence[int], period_s: float, weeks: int) -> NDArray[np.float64]:
    """Return float64[weeks, orders], in which share of the periods of a week an order was used."""
    shares = np.zeros((weeks, len(sm.TWELVE_ORDERS)))
    week = (np.arange(len(used)) * period_s // sm.WEEK).astype(int)
    inside = week < weeks
    np.add.at(shares, (week[inside], np.asarray(used)[inside]), 1.0)
    total = shares.sum(axis=1, keepdims=True)
    divided: NDArray[np.float64] = np.divide(shares, total, out=shares, where=total > 0)
    return divided


def rows_of(cell: Cell, log: sm.Workload) -> Iterator[dict[str, Any]]:
    """Hand out the rows of a cell, one per week.

    A job counts in the week in which it finishes, as in figures 2 to 4 of the paper. Of a resample, what ends after the
    last week counts in it, so that the weeks add up to all.
    """
    strategy, weeks, shares = cell["strategy"], cell["weeks"], None
    if strategy.endswith(LOGGED):
        return _rows_of_log(_run_logged(log, cell, strategy.removesuffix(LOGGED)), log)
    if strategy.removesuffix(UNBOUNDED) in sm.TWELVE_ORDERS:
        schedule = _run_order(log, cell, strategy)
    else:
        schedule, used = _run_strategy(log, cell, strategy)
        shares = _shares_of(used, PERIODS[strategy.split()[1]], weeks)
    week = np.clip(schedule.end_s // sm.WEEK, 0, weeks - 1).astype(int)
    return _weekly(schedule, week, weeks, shares, {})


def _rows_of_log(schedule: sm.Schedule, log: sm.Workload) -> Iterator[dict[str, Any]]:
    """Hand out the rows of the log itself: the weeks of its first year, the last with what the log is."""
    week = (schedule.end_s // sm.WEEK).astype(int)
    span_s = float(np.ptp(log.submit_s)) if len(log) else 0.0
    about = {"log_jobs": len(schedule.workload), "log_cores": _size_of(log), "log_days": span_s / sm.DAY}
    return _weekly(schedule, week, min(YEAR_WEEKS, int(week.max(initial=0)) + 1), None, about)


def _weekly(
    schedule: sm.Schedule, week: Ints, weeks: int, shares: NDArray[np.float64] | None, about: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Hand out a row per week: its waits, jobs and shares of orders; the last also has what all weeks came to."""
    wait_s = schedule.start_s - schedule.workload.submit_s
    inside = week < weeks
    waits_s, jobs = np.bincount(week[inside], wait_s[inside], weeks), np.bincount(week[inside], minlength=weeks)
    sums = {
        "total_wait_s": math.fsum(wait_s),
        "mean_wait_s": float(wait_s.mean()),
        "max_wait_s": float(wait_s.max()),
        "mean_bounded_slowdown": schedule.metrics()["mean_bounded_slowdown"],
    }
    for number in range(weeks):
        row: dict[str, Any] = {"week": number, "wait_s": waits_s[number], "jobs": jobs[number]}
        if shares is not None:
            row |= {f"share_{name}": share for name, share in zip(sm.TWELVE_ORDERS, shares[number], strict=True)}
        yield {**row, **sums, **about} if number == weeks - 1 else row
