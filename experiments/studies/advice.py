"""Advice: which order, and which threshold, would have been best on a log of one's own."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from experiments.calibration import Calibration, calibrate
from experiments.campaigns.cell import Cell, Rows
from experiments.campaigns.results import Results
from experiments.campaigns.study import Scale, Study
from experiments.inputs import WorkloadFile
from experiments.studies.advice_told import (
    LOG,
    RESAMPLE,
    WEIGHTS,
    advice_of,
    calibration_tables,
    current_of,
    in_words_of,
    options_of,
    orders_of,
    tuners_of,
    weights_of,
)
from experiments.studies.weights import fit_weights
from simmodels.errors import RequestError, UnknownNameError
from simmodels.logged import AS_LOGGED, as_logged
from simmodels.policies.orders import TWELVE_ORDERS
from simmodels.policies.queue_options import QueueOptions
from simmodels.policies.selection import EpsilonGreedy, FullFeedback, Strategy
from simmodels.schedule import Schedule
from simmodels.simulate import simulate
from simmodels.tuning import replay_tuned
from simmodels.units import DAY, HOUR, WEEK
from simmodels.workload import Workload
from workloads.resampling import resample, whole_weeks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INPUT: Final = "log"
TUNERS: Final[Mapping[str, tuple[Strategy, float]]] = {
    "simulating tuner, by week": (FullFeedback(), WEEK),
    "bandit tuner, by week": (EpsilonGreedy(epsilon=0.1), WEEK),
    "bandit tuner, by day": (EpsilonGreedy(epsilon=0.1), DAY),
}
_MOST_WEEKS: Final = 104


class Advice(Study):
    """Which order would be best for this cluster.

    The orders are run on the log itself, and on resamples of it (weeks drawn from those of its users), which say how
    far the answer is luck. Tuners, with the first of the thresholds, say how soon the answer could have been found
    while the machine ran. For each order, the weights of a multifactor priority are fitted that are most like it, and
    run with the last of the thresholds: none, as in a batch system that has no such thing.
    """

    parameters = {"workload": "", "cores": None, "clean": "strong,ends", "current": "FCFS", "weeks": None}
    factors = {
        "trace": (LOG, RESAMPLE),
        "policy": (*TWELVE_ORDERS, *TUNERS, *(WEIGHTS + name for name in TWELVE_ORDERS)),
        "threshold_h": (40.0, 160.0, None),
    }
    scales = {
        "smoke": Scale(replications=5, judged=False, parameters={"weeks": 4}),
        "small": Scale(replications=10),
        "paper": Scale(replications=50),
    }
    measures = ("mean_wait_s", "p95_wait_s", "p99_wait_s", "max_wait_s", "mean_bounded_slowdown")

    @cached_property
    def _log(self) -> Workload:
        """The log, cleaned, read once."""
        of = {**self.parameters, **self.chosen}
        if not of["workload"]:
            raise RequestError("advice without a log", "--workload FILE says which")
        filters = tuple(part.strip() for part in str(of["clean"]).split(",") if part.strip())
        file = WorkloadFile(path=Path(of["workload"]), cores=of["cores"], filters=filters, drop_oversized=True)
        return file.read()

    def inputs(self, scale: str) -> Mapping[str, Any]:  # noqa: ARG002  the same at all scales
        """Return the log."""
        return {_INPUT: self._log}

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells: the log once, with weights; a resample in each replication, with tuners."""
        design = self.design(scale)
        current, orders = (
            design.parameters["current"],
            [name for name in design.factors["policy"] if name in TWELVE_ORDERS],
        )
        if current not in orders:
            near = tuple(get_close_matches(str(current).upper(), orders))
            raise UnknownNameError("current order", str(current), near, tuple(orders))
        weeks = design.parameters["weeks"]
        if weeks is not None and not (isinstance(weeks, int) and weeks >= 1):
            raise RequestError(f"weeks is {weeks!r}", "an integer >= 1 is allowed; none: as many as the log has")
        first, last = design.factors["threshold_h"][0], design.factors["threshold_h"][-1]
        whole = whole_weeks(self._log)
        for cell in super().cells(scale, seed):
            on_log, policy = cell["trace"] == LOG, cell["policy"]
            if policy in TWELVE_ORDERS:
                wanted = cell.replication == 0 if on_log else whole > 0
            elif policy in TUNERS:
                wanted = not on_log and whole > 0 and cell["threshold_h"] == first
            else:
                wanted = on_log and cell.replication == 0 and cell["threshold_h"] == last
            if wanted:
                yield cell

    def run_cell(self, cell: Cell) -> Rows:
        """Return the figures of merit of one simulation; of a tuner also which order it used, week by week."""
        log: Workload = cell.inputs[_INPUT]
        trace = log
        if cell["trace"] == RESAMPLE:
            weeks = cell["weeks"] or min(_MOST_WEEKS, whole_weeks(log))
            trace = resample(log, weeks=weeks, seed=cell.seed, index=cell.replication)
        threshold_s = None if cell["threshold_h"] is None else cell["threshold_h"] * HOUR
        policy: str = cell["policy"]
        if policy in TUNERS:
            strategy, period_s = TUNERS[policy]
            options = QueueOptions.checked(threshold_s=threshold_s)
            seed = cell.seed_for("tuner")
            cores = trace.max_cores or 0
            tuned = replay_tuned(
                trace, strategy, cores=cores, options=options, period_s=period_s, seed=seed, name=policy
            )
            return [_measured(tuned.schedule), *_by_week(tuned.course.used, period_s)]
        if policy.startswith(WEIGHTS):
            like = policy.removeprefix(WEIGHTS)
            weights = fit_weights(simulate(trace, order=cell["current"], threshold_s=threshold_s), like)
            schedule = simulate(trace, order=weights.order(), threshold_s=threshold_s)
            return {**_measured(schedule), **weights.row()}
        return _measured(simulate(trace, order=policy, threshold_s=threshold_s))

    # -- what is told -------------------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return the log as it was beside its replay, how each order does on it and on resamples, tuners, weights."""
        calibration = self._calibration(results)
        return {
            **({} if calibration is None else calibration_tables(calibration, self._log, results)),
            "orders": orders_of(results),
            "tuners": tuners_of(results),
            "weights of a multifactor priority": weights_of(results),
        }

    def figures(self, results: Results) -> "Mapping[str, Figure]":
        """Return the waits as logged and replayed, and those of the orders on resamples."""
        from experiments.campaigns.plots import boxes  # noqa: PLC0415  matplotlib is slow to import
        from experiments.figures import distributions  # noqa: PLC0415  the same

        table = results.table
        if table.empty:
            return {}
        found = {}
        if self._calibration(results) is not None:
            both = {AS_LOGGED: as_logged(self._log), in_words_of(results): self._simulated(*current_of(results))}
            found["Waits, as logged and replayed"] = distributions(both, title="Waits, as logged and replayed")
        chosen = table[(table["trace"] == RESAMPLE) & table["policy"].isin(TWELVE_ORDERS)]
        factors = {**results.factors, "policy": [name for name in results.factors["policy"] if name in TWELVE_ORDERS]}
        shown = replace(results, table=chosen, factors=factors)
        if chosen.empty:
            return found
        return {
            **found,
            "Mean wait on resamples": boxes(
                shown, "mean_wait_s", by="policy", within="threshold_h", label="mean wait (s)"
            ),
            "Longest wait on resamples": boxes(
                shown, "max_wait_s", by="policy", within="threshold_h", label="longest wait (s)"
            ),
        }

    def findings(self, results: Results) -> Sequence[str]:
        """Return the advice, in sentences."""
        return list(advice_of(results, self._log, self._calibration(results), self._simulated))

    def _calibration(self, results: Results) -> Calibration | None:
        """Return how far the replay under what there is now is from the log; None until that is run."""
        _, now = options_of(results)
        if now is None:
            return None
        if now.order not in self._calibrated:
            self._calibrated[now.order] = calibrate(self._simulated(now.order, now.threshold_h))
        return self._calibrated[now.order]

    @cached_property
    def _calibrated(self) -> dict[str, Calibration | None]:
        """What `_calibration` returned, by the order that there is now."""
        return {}

    def _simulated(self, order: str, threshold_h: float | None) -> Schedule:
        """Return the schedule of the log under an order with a threshold."""
        return simulate(self._log, order=order, threshold_s=None if threshold_h is None else threshold_h * HOUR)


def _measured(schedule: Schedule) -> dict[str, Any]:
    """Return the figures of merit that are told."""
    metrics = schedule.metrics()
    ended = schedule.counted & ~np.isnan(schedule.end_s)
    waits_s = (schedule.start_s - schedule.workload.submit_s)[ended]
    metrics["p99_wait_s"] = float(np.percentile(waits_s, 99)) if len(waits_s) else np.nan
    return {name: metrics[name] for name in (*Advice.measures, "utilisation", "jobs")}


def _by_week(used: Sequence[int], period_s: float) -> Iterator[dict[str, Any]]:
    """Hand out one row per week: the order used in most of its periods; of several, the first in the list of orders."""
    weeks: dict[int, Counter[int]] = {}
    for period, order in enumerate(used):
        weeks.setdefault(int(period * period_s // WEEK), Counter())[order] += 1
    for week, counted in weeks.items():
        most = min(counted, key=lambda order: (-counted[order], order))
        yield {"week": week, "used": TWELVE_ORDERS[most]}
