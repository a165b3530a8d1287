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

from experiments.campaigns.results import Results
from experiments.campaigns.study import Cell, Rows, Scale, Study
from experiments.inputs import WorkloadFile
from experiments.studies.weights import fit_weights
from simmodels.decisions.options import QueueOptions
from simmodels.decisions.orders import TWELVE_ORDERS
from simmodels.decisions.selection import EpsilonGreedy, FullFeedback, Strategy
from simmodels.errors import RequestError, UnknownNameError
from simmodels.schedule import Schedule
from simmodels.simulate import simulate
from simmodels.tuning import replay_tuned
from simmodels.units import DAY, HOUR, WEEK
from simmodels.workload import Workload
from workloads.resampling import resample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INPUT: Final = "log"
LOG: Final = "the log"
RESAMPLE: Final = "a resample"
TUNERS: Final[Mapping[str, tuple[Strategy, float]]] = {
    "simulating tuner, by week": (FullFeedback(), WEEK),
    "bandit tuner, by week": (EpsilonGreedy(epsilon=0.1), WEEK),
    "bandit tuner, by day": (EpsilonGreedy(epsilon=0.1), DAY),
}
_WEIGHTS: Final = "weights like "
_MOST_WEEKS: Final = 104
_NEAR: Final = 0.05
"""An order is good if its waits are at most this much longer than those of the best."""
_SHORT_H: Final = 1.0 / 60.0
"""A mean wait below this is hardly one."""
_SETTLED: Final = 0.8
"""A tuner has found it when from then on it uses good orders in so many of the weeks."""


class Advice(Study):
    """Which order would be best for this cluster.

    The orders are run on the log itself, and on resamples of it (weeks drawn from those of its users), which say how
    far the answer is luck. Tuners say how soon the answer could have been found while the machine ran. For each order,
    the weights of a multifactor priority are fitted that are most like it, and run too.
    """

    parameters = {"workload": "", "cores": None, "clean": "strong", "current": "FCFS", "weeks": None}
    factors = {
        "trace": (LOG, RESAMPLE),
        "policy": (*TWELVE_ORDERS, *TUNERS, *(_WEIGHTS + name for name in TWELVE_ORDERS)),
        "threshold_h": (40.0, 160.0, None),
    }
    scales = {
        "smoke": Scale(replications=5, parameters={"weeks": 4}),
        "small": Scale(replications=10),
        "paper": Scale(replications=50),
    }
    measures = ("mean_wait_s", "p95_wait_s", "max_wait_s", "mean_bounded_slowdown")

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
        first = design.factors["threshold_h"][0]
        for cell in super().cells(scale, seed):
            on_log, policy = cell["trace"] == LOG, cell["policy"]
            if (on_log and cell.replication) or (policy not in TWELVE_ORDERS and cell["threshold_h"] != first):
                continue
            if (policy in TUNERS and on_log) or (policy.startswith(_WEIGHTS) and not on_log):
                continue
            yield cell

    def run_cell(self, cell: Cell) -> Rows:
        """Return the figures of merit of one simulation; of a tuner also which order it used, week by week."""
        log: Workload = cell.inputs[_INPUT]
        trace = log
        if cell["trace"] == RESAMPLE:
            weeks = cell["weeks"] or max(1, min(_MOST_WEEKS, int(np.ptp(log.submit_s) // WEEK)))
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
        if policy.startswith(_WEIGHTS):
            like = policy.removeprefix(_WEIGHTS)
            weights = fit_weights(simulate(trace, order=cell["current"], threshold_s=threshold_s), like)
            schedule = simulate(trace, order=weights.order(), threshold_s=threshold_s)
            return {**_measured(schedule), **weights.row()}
        return _measured(simulate(trace, order=policy, threshold_s=threshold_s))

    # -- what is told -------------------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return how each order does on the log and on resamples, the tuners, and the weights."""
        return {
            "orders": _orders(results, str(results.parameters["current"])),
            "tuners": _tuners(results),
            "weights of a multifactor priority": _weights(results),
        }

    def figures(self, results: Results) -> "Mapping[str, Figure]":
        """Return the waits of the orders on resamples."""
        from experiments.campaigns.plots import boxes  # noqa: PLC0415  matplotlib is slow to import

        table = results.table
        chosen = table[(table["trace"] == RESAMPLE) & table["policy"].isin(TWELVE_ORDERS)]
        factors = {**results.factors, "policy": [name for name in results.factors["policy"] if name in TWELVE_ORDERS]}
        shown = replace(results, table=chosen, factors=factors)
        if chosen.empty:
            return {}
        return {
            "Mean wait on resamples": boxes(
                shown, "mean_wait_s", by="policy", within="threshold_h", label="mean wait (s)"
            ),
            "Longest wait on resamples": boxes(
                shown, "max_wait_s", by="policy", within="threshold_h", label="longest wait (s)"
            ),
        }

    def findings(self, results: Results) -> Sequence[str]:
        """Return the advice, in sentences."""
        return list(_advice(results, str(results.parameters["current"]), self._log))


def _measured(schedule: Schedule) -> dict[str, Any]:
    """Return the figures of merit that are told."""
    metrics = schedule.metrics()
    return {name: metrics[name] for name in (*Advice.measures, "utilisation", "jobs")}


def _by_week(used: Sequence[int], period_s: float) -> Iterator[dict[str, Any]]:
    """Hand out a row a week: the order used in most of its periods; of several, the first in the list of orders."""
    weeks: dict[int, Counter[int]] = {}
    for period, order in enumerate(used):
        weeks.setdefault(int(period * period_s // WEEK), Counter())[order] += 1
    for week, counted in weeks.items():
        most = min(counted, key=lambda order: (-counted[order], order))
        yield {"week": week, "used": TWELVE_ORDERS[most]}


# -- tables and sentences ---------------------------------------------------------------------------


def _whole(results: Results) -> pd.DataFrame:
    """Return the rows of whole simulations, without those of the weeks of a tuner."""
    return results.table.dropna(subset=["mean_wait_s"]) if "mean_wait_s" in results.table else results.table


def _orders(results: Results, current: str) -> pd.DataFrame:
    """Return a row an order and threshold: on the log, and against the current order on resamples."""
    whole = replace(results, table=_whole(results))
    rows = []
    for threshold_h in results.factors["threshold_h"]:
        for name in (name for name in results.factors["policy"] if name in TWELVE_ORDERS):
            at = {"policy": name, "threshold_h": threshold_h}
            on_log = whole.where(trace=LOG, **at)
            if on_log.empty:
                continue
            against = {"policy": current, "threshold_h": threshold_h, "trace": RESAMPLE}
            effect = whole.difference("mean_wait_s", {**at, "trace": RESAMPLE}, against, relative=True)
            rows.append(
                {
                    "order": name,
                    "threshold (h)": threshold_h,
                    "mean wait (h)": float(on_log["mean_wait_s"].iloc[0]) / HOUR,
                    "95 % wait (h)": float(on_log["p95_wait_s"].iloc[0]) / HOUR,
                    "longest wait (h)": float(on_log["max_wait_s"].iloc[0]) / HOUR,
                    "mean bounded slowdown": float(on_log["mean_bounded_slowdown"].iloc[0]),
                    f"mean wait against {current} on resamples (%)": None if effect is None else 100 * effect.estimate,
                    "low": None if effect is None or effect.low is None else 100 * effect.low,
                    "high": None if effect is None or effect.high is None else 100 * effect.high,
                }
            )
    return pd.DataFrame(rows).sort_values("mean wait (h)", ignore_index=True) if rows else pd.DataFrame()


def _tuners(results: Results) -> pd.DataFrame:
    """Return a row a tuner: its waits against the best fixed order of each resample, and when it found a good one."""
    table = results.table[results.table["trace"] == RESAMPLE] if len(results.table) else results.table
    if "used" not in table:
        return pd.DataFrame()
    first = results.factors["threshold_h"][0]
    rows = []
    whole = table.dropna(subset=["mean_wait_s"])
    fixed = whole[whole["policy"].isin(TWELVE_ORDERS) & (whole["threshold_h"] == first)]
    waits = fixed.pivot_table(index="replication", columns="policy", values="mean_wait_s")
    for name in TUNERS:
        settled, regrets = [], []
        for replication, of in table[table["policy"] == name].groupby("replication"):
            if replication not in waits.index:
                continue
            of_orders = dict(zip(waits.columns, waits.loc[[replication]].to_numpy()[0], strict=True))
            best = float(min(of_orders.values()))
            good = {order for order, wait_s in of_orders.items() if wait_s <= (1.0 + _NEAR) * best}
            weeks = of.dropna(subset=["used"]).sort_values("week")
            hits = weeks["used"].isin(good).to_numpy()
            later = np.cumsum(hits[::-1])[::-1] / np.arange(len(hits), 0, -1)  # of each week: the part from it on
            settled.append(next((week for week, part in enumerate(later) if part >= _SETTLED), np.nan))
            regrets.append(float(of["mean_wait_s"].dropna().iloc[0]) / best - 1.0)
        if regrets:
            found = np.array(settled, dtype=np.float64)
            rows.append(
                {
                    "tuner": name,
                    "waits against the best order (%)": 100 * float(np.mean(regrets)),
                    "found a good order in (% of resamples)": 100 * float(np.mean(~np.isnan(found))),
                    "after (weeks, median of these)": float(np.nanmedian(found)) if not np.isnan(found).all() else None,
                }
            )
    return pd.DataFrame(rows)


def _weights(results: Results) -> pd.DataFrame:
    """Return a row an order: the weights most like it, how much like it they are, and the waits under them."""
    whole = _whole(results)
    if "alike" not in whole:
        return pd.DataFrame()
    rows = whole.dropna(subset=["alike"])
    return pd.DataFrame(
        {
            "like": rows["policy"].str.removeprefix(_WEIGHTS),
            "age": rows["weight_age"].astype(int),
            "size": rows["weight_size"].astype(int),
            "time limit": rows["weight_limit"].astype(int),
            "pairs in the same order (%)": 100 * rows["alike"],
            "mean wait (h)": rows["mean_wait_s"] / HOUR,
            "longest wait (h)": rows["max_wait_s"] / HOUR,
        }
    ).sort_values("mean wait (h)", ignore_index=True)


def _advice(results: Results, current: str, log: Workload) -> Iterator[str]:
    """Hand out the sentences of the advice."""
    orders = _orders(results, current)
    if orders.empty:
        return
    weeks = np.ptp(log.submit_s) / WEEK
    yield (
        f"{log.name}: {len(log):,} jobs in {weeks:.0f} weeks on {log.max_cores:,} cores. The orders were run as orders "
        "of EASY backfilling, with the limits that the users gave."
    )
    best = orders.iloc[0]
    now = orders[orders["order"] == current].iloc[0]
    change = f"mean wait against {current} on resamples (%)"
    interval = "" if pd.isna(best["low"]) else f" [{best['low']:.0f} %, {best['high']:.0f} %]"
    if best["order"] == current:
        yield f"{current} would have kept the mean wait shortest: {_span(best['mean wait (h)'])}, {_limit(best)}."
    else:
        yield (
            f"{best['order']} {_limit(best)} would have kept the mean wait shortest: "
            f"{_span(best['mean wait (h)'])} instead of {_span(now['mean wait (h)'])} under {current} ({_limit(now)}). "
            f"On resamples of the log it changes the mean wait by {best[change]:.0f} %{interval}."
        )
        if pd.notna(best["low"]) and best["low"] < 0.0 < best["high"]:
            yield "That interval has 0 in it: on another year of the same users it could as well have been worse."
    yield (
        f"The longest wait would have been {_span(best['longest wait (h)'])} "
        f"(under {current} {_span(now['longest wait (h)'])}), "
        f"the 95th percentile {_span(best['95 % wait (h)'])} ({_span(now['95 % wait (h)'])})."
    )
    if now["mean wait (h)"] < _SHORT_H:
        yield "Jobs hardly wait on this machine, whatever the order: there is little to gain."
    near = orders[orders["mean wait (h)"] <= (1.0 + _NEAR) * best["mean wait (h)"]]
    calmest = near.sort_values("longest wait (h)").iloc[0]
    if calmest["longest wait (h)"] < 0.8 * best["longest wait (h)"]:
        yield (
            f"If long waits weigh more: {calmest['order']} {_limit(calmest)} has a mean wait within 5 % of the best, "
            f"and no job waits longer than {_span(calmest['longest wait (h)'])}."
        )
    for _, row in _tuners(results).iterrows():
        part = row["found a good order in (% of resamples)"]
        when = row["after (weeks, median of these)"]
        found = f"settles on good orders in {part:.0f} % of the resamples"
        found += f", after {_weeks_of(when)} in the median" if pd.notna(when) else ""
        longer = row["waits against the best order (%)"]
        yield f"A {row['tuner']}, {found}; its waits are {longer:.0f} % longer than those of the best order."
    weights = _weights(results)
    if not weights.empty:
        mine = weights[weights["like"] == best["order"]]
        for like, age, size, limit, pairs, wait_h, _ in (mine if len(mine) else weights).head(1).to_numpy().tolist():
            yield (
                f"The weights of a multifactor priority most like {like}: age {age:,} (of seven days), size {size:,} "
                f"(of the machine; negative: small jobs first), time limit {limit:,} (of the longest). They put "
                f"{pairs:.0f} % of the pairs of waiting jobs as {like} does, and give a mean wait of {_span(wait_h)}."
            )
        first = weights.iloc[0]
        if first["like"] != best["order"]:
            wait = _span(float(first["mean wait (h)"]))
            yield (
                f"Of all weights that were fitted, those like {first['like']} wait least: age {first['age']:,}, "
                f"size {first['size']:,}, time limit {first['time limit']:,}; mean wait {wait}."
            )
    yield (
        "What this cannot know: users would submit otherwise if they waited otherwise; and priorities, partitions and "
        "reservations of your machine were not modelled."
    )


def _span(hours: float) -> str:
    """Return a duration in the unit that suits it."""
    for unit, length_h in (("h", 1.0), ("min", 1.0 / 60.0)):
        if hours >= length_h:
            return f"{hours / length_h:.3g} {unit}" if hours < 1000 else f"{hours:,.0f} h"
    return f"{hours * 3600:.3g} s"


def _weeks_of(count: float) -> str:
    """Return a number of weeks in words."""
    return "1 week" if round(count) == 1 else f"{count:.0f} weeks"


def _limit(row: "pd.Series[Any]") -> str:
    """Return the threshold of a row, in words."""
    if pd.isna(row["threshold (h)"]):
        return "without a threshold"
    return f"with a threshold of {row['threshold (h)']:g} h"
