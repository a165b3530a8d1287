"""What is told of advice: its tables, and its sentences."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.calibration import Calibration, causes_of, doubt_of_size, sentences_of
from experiments.campaigns.results import Results
from experiments.inputs import remarks
from experiments.studies.advice_verdict import Option, in_words, judge, worse_for
from experiments.studies.advice_verdict import sentences_of as verdict_in_sentences
from simmodels.logged import AS_LOGGED
from simmodels.policies.orders import TWELVE_ORDERS
from simmodels.schedule import Schedule
from simmodels.units import HOUR, WEEK
from simmodels.workload import Workload

LOG: Final = "the log"
RESAMPLE: Final = "a resample"
WEIGHTS: Final = "weights like "
_NEAR: Final = 0.05
"""An order is good if its waits are at most this much longer than those of the best."""
_MOST_OF_CALIBRATION: Final = 2
"""How many sentences say how far the replay is from the log; all causes are in a table."""
_SETTLED: Final = 0.8
"""A tuner has found it when from then on it uses good orders in this share of the weeks ..."""
_LEAST_LEFT: Final = 0.25
"""... and this share of the weeks is left then: at the end, luck would do."""
_OVERLOAD: Final = 1.1
"""This many times the work that the machine could do while it came is a mistake in the number of cores, or hopeless."""
_WAITS: Final = {
    "mean wait (h)": "mean_wait_s",
    "median wait (h)": "median_wait_s",
    "95 % wait (h)": "p95_wait_s",
    "longest wait (h)": "max_wait_s",
}
_MANY: Final = 0.05
"""A larger share of jobs that are left out, or without a limit, is worth a warning."""


# -- tables -----------------------------------------------------------------------------------------


def _whole(results: Results) -> pd.DataFrame:
    """Return the rows of whole simulations, without those of the weeks of a tuner."""
    return results.table.dropna(subset=["mean_wait_s"]) if "mean_wait_s" in results.table else results.table


def _at(table: pd.DataFrame, trace: str, policy: str, threshold_h: object) -> pd.DataFrame:
    """Return the rows of a policy on a trace with a threshold (None: without), by replication."""
    if table.empty:
        return table
    limit = table["threshold_h"].isna() if threshold_h is None else table["threshold_h"] == threshold_h
    return table[(table["trace"] == trace) & (table["policy"] == policy) & limit].set_index("replication")


def current_of(results: Results) -> tuple[str, Any]:
    """Return what all is compared with: the order that the user has now, and the last of the thresholds."""
    return str(results.parameters["current"]), results.factors["threshold_h"][-1]


def in_words_of(results: Results) -> str:
    """Return what there is now, in words."""
    order, threshold_h = current_of(results)
    return f"{order} {in_words(threshold_h)}"


def calibration_tables(calibration: Calibration, log: Workload, results: Results) -> dict[str, pd.DataFrame]:
    """Return the waits that the log records beside those of its replay, and what may be the cause of a difference."""
    rows = []
    for name, of in ((AS_LOGGED, calibration.logged), (f"replayed, {in_words_of(results)}", calibration.replayed)):
        rows.append({"": name, **{heading: of[key] / HOUR for heading, key in _WAITS.items()}})
    causes = pd.DataFrame({"what the log shows": list(causes_of(calibration, log))})
    return {
        "as logged, and replayed": pd.DataFrame(rows),
        **({"why the replay may differ from the log": causes} if len(causes) else {}),
    }


def _changes(whole: pd.DataFrame, results: Results, policy: str, threshold_h: object) -> NDArray[np.float64]:
    """Return how much longer the mean wait is than now, as a part of it: of each resample on which anybody waits."""
    now = _at(whole, RESAMPLE, *current_of(results))
    then = _at(whole, RESAMPLE, policy, threshold_h)
    if now.empty or then.empty:
        return np.zeros(0)
    before_s, after_s = now["mean_wait_s"].align(then["mean_wait_s"], join="inner")
    waited = before_s > 0.0
    found: NDArray[np.float64] = (after_s[waited] / before_s[waited] - 1.0).to_numpy(dtype=np.float64)
    return found


def orders_of(results: Results) -> pd.DataFrame:
    """Return one row per order and threshold: on the log, and against what there is now on resamples."""
    whole = _whole(results)
    current, base_h = current_of(results)
    against = f"mean wait against {current} {in_words(base_h)} on resamples (%)"
    rows: list[dict[str, Any]] = []
    for threshold_h in results.factors["threshold_h"]:
        for name in (name for name in results.factors["policy"] if name in TWELVE_ORDERS):
            on_log = _at(whole, LOG, str(name), threshold_h)
            if on_log.empty:
                continue
            measured = on_log.iloc[0]
            changes = _changes(whole, results, str(name), threshold_h)
            low, middle, high = np.percentile(100.0 * changes, (10, 50, 90)) if len(changes) else (None,) * 3
            rows.append(
                {
                    "order": name,
                    "threshold (h)": threshold_h,
                    "mean wait (h)": float(measured["mean_wait_s"]) / HOUR,
                    "95 % wait (h)": float(measured["p95_wait_s"]) / HOUR,
                    "99 % wait (h)": float(measured.get("p99_wait_s", np.nan)) / HOUR,
                    "longest wait (h)": float(measured["max_wait_s"]) / HOUR,
                    "mean bounded slowdown": float(measured["mean_bounded_slowdown"]),
                    f"{against}, median": middle,
                    "10 % of them below": low,
                    "90 % below": high,
                    "shorter in": f"{int((changes < 0.0).sum())} of {len(changes)}",
                }
            )
    # Of equal waits, what there is now comes first: nothing else is better.
    rows.sort(key=lambda row: (row["mean wait (h)"], (row["order"], row["threshold (h)"]) != (current, base_h)))
    return pd.DataFrame(rows)


def tuners_of(results: Results) -> pd.DataFrame:
    """Return one row per tuner: its waits against each resample's best fixed order, and when it found a good one."""
    table = results.table[results.table["trace"] == RESAMPLE] if len(results.table) else results.table
    if "used" not in table:
        return pd.DataFrame()
    first = results.factors["threshold_h"][0]
    rows = []
    whole = table.dropna(subset=["mean_wait_s"])
    limit = whole["threshold_h"].isna() if first is None else whole["threshold_h"] == first
    fixed = whole[whole["policy"].isin(TWELVE_ORDERS) & limit]
    waits = fixed.pivot_table(index="replication", columns="policy", values="mean_wait_s")
    for name in (name for name in results.factors["policy"] if "tuner" in str(name)):
        settled, regrets, used_well = [], [], []
        for replication, of in table[table["policy"] == name].groupby("replication"):
            if replication not in waits.index:
                continue
            of_orders = dict(zip(waits.columns, waits.loc[[replication]].to_numpy()[0], strict=True))
            best = float(min(of_orders.values()))
            if best <= 0.0:
                continue
            good = {order for order, wait_s in of_orders.items() if wait_s <= (1.0 + _NEAR) * best}
            weeks = of.dropna(subset=["used"]).sort_values("week")
            hits = weeks["used"].isin(good).to_numpy()
            settled.append(_settled(hits))
            used_well.append(hits.mean())
            regrets.append(float(of["mean_wait_s"].dropna().iloc[0]) / best - 1.0)
        if regrets:
            found = np.array(settled, dtype=np.float64)
            rows.append(
                {
                    "tuner": name,
                    "threshold (h)": first,
                    "waits against the best order with it (%, median)": 100 * float(np.median(regrets)),
                    "weeks with a good order (%)": 100 * float(np.mean(used_well)),
                    "settled on good orders in (% of resamples)": 100 * float(np.mean(~np.isnan(found))),
                    "in week (median of these)": float(np.nanmedian(found)) if not np.isnan(found).all() else None,
                }
            )
    return pd.DataFrame(rows)


def _settled(hits: NDArray[np.bool_]) -> float:
    """Return the first week (from 1) that has a good order, and from which on most do; NaN if there is none."""
    left = np.arange(len(hits), 0, -1)
    part = np.cumsum(hits[::-1])[::-1] / left
    found = np.flatnonzero(hits & (part >= _SETTLED) & (left >= _LEAST_LEFT * len(hits)))
    return float(found[0] + 1) if len(found) else np.nan


def weights_of(results: Results) -> pd.DataFrame:
    """Return one row per order: the weights most like it, how much like it they are, and the waits under them."""
    whole = _whole(results)
    if "alike" not in whole:
        return pd.DataFrame()
    rows = whole.dropna(subset=["alike"])
    return pd.DataFrame(
        {
            "like": rows["policy"].str.removeprefix(WEIGHTS),
            "age": rows["weight_age"].astype(int),
            "size": rows["weight_size"].astype(int),
            "time limit": rows["weight_limit"].astype(int),
            "pairs in the same order (%)": 100 * rows["alike"],
            "threshold (h)": rows["threshold_h"],
            "mean wait (h)": rows["mean_wait_s"] / HOUR,
            "longest wait (h)": rows["max_wait_s"] / HOUR,
        }
    ).sort_values("mean wait (h)", ignore_index=True, kind="stable")


# -- sentences --------------------------------------------------------------------------------------


def options_of(results: Results) -> tuple[list[Option], Option | None]:
    """Return all orders with all thresholds that were run on the log, and which of them there is now."""
    orders, whole = orders_of(results), _whole(results)
    current, base_h = current_of(results)
    options, now = [], None
    for _, row in orders.iterrows():
        threshold_h = _none_if_nan(row["threshold (h)"])
        option = Option(
            order=str(row["order"]),
            threshold_h=None if threshold_h is None else float(str(threshold_h)),
            mean_h=row["mean wait (h)"],
            p99_h=row["99 % wait (h)"],
            longest_h=row["longest wait (h)"],
            changes=_changes(whole, results, str(row["order"]), threshold_h),
        )
        options.append(option)
        if (option.order, option.threshold_h) == (current, base_h):
            now = option
    return options, now


def advice_of(
    results: Results,
    log: Workload,
    calibration: Calibration | None,
    simulated: Callable[[str, float | None], Schedule],
) -> Iterator[str]:
    """Hand out the verdict, for whom a change is worse, what that is worth, and what was run.

    Parameters
    ----------
    results
        Of the cells that are done.
    log
        The log.
    calibration
        How far the replay under what there is now is from the log; None if the log does not say.
    simulated
        Returns the schedule of the log under an order with a threshold, in hours.
    """
    options, now = options_of(results)
    if now is None:  # it is not run yet, or failed
        return
    verdict = judge(options, now, calibration)
    yield from verdict_in_sentences(verdict)
    if verdict.then is not None:
        yield from worse_for(*(simulated(each.order, each.threshold_h) for each in (now, verdict.then)))
    if results.done < results.cells:
        yield f"Only {results.done:,} of {results.cells:,} simulations are done: another verdict may come of all."
    elif not len(now.changes):
        yield "Nothing says how far this is luck: the log has no whole week, or nobody waits in any resample of it."
    elif not results.judged:
        yield "This is a first impression, of few and short resamples: --scale small has ten as long as the log."
    if calibration is None:
        yield "The log does not say when its jobs started: nothing says how far this replay is from your machine."
    else:
        yield from islice(sentences_of(calibration, log, in_words_of(results)), _MOST_OF_CALIBRATION)
    yield from _about_the_log(log)
    yield (
        "What this cannot know: users would submit otherwise if they waited otherwise; and priorities, partitions and "
        "reservations of your machine were not modelled."
    )


def _about_the_log(log: Workload) -> Iterator[str]:
    """Say what was run, what of it was left out, and whether it can be believed."""
    weeks = np.ptp(log.submit_s) / WEEK
    span = f"{weeks:.0f} weeks" if weeks >= 2 else f"{7 * weeks:.1f} days"
    asked = log.extras.get("requested_s")
    without = 0.0 if asked is None else float((~(np.asarray(asked) > 0)).mean())
    limits = "with the limits that the users gave" if without < 1.0 else "without any limits: the log has none"
    yield (
        f"{log.name}: {len(log):,} jobs in {span} on {log.max_cores:,} cores. The orders were run as orders of EASY "
        f"backfilling, {limits}."
    )
    said = remarks(log.counts)
    if said:
        gone = sum(count for key, count in log.counts.items() if key.startswith(("dropped", "left out", "bad lines")))
        much = gone > _MANY * (gone + len(log))
        yield f"Of the file: {'; '.join(said)}." + (" That is much: the advice is about the rest only." if much else "")
    if doubt := doubt_of_size(log, log.max_cores or 0):
        yield doubt
    if without > _MANY:
        yield (
            f"{without:.0%} of the jobs have no limit".replace("%", " %")
            + "; their runtime, or the longest limit, stood for it: orders by limit could be better or worse than here."
        )
    work_s = float((log.runtime_s * log.cores)[log.known()].sum()) / (log.max_cores or 1)
    if work_s > _OVERLOAD * np.ptp(log.submit_s):
        yield (
            "The jobs are more work than the machine can do in the time in which they came: waits only grow. Is the "
            "number of cores right?"
        )


def _none_if_nan(value: object) -> object:
    return None if pd.isna(value) else value  # type: ignore[call-overload]
