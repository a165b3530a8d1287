"""The tables of the selection study: improvements by equation 11, beside what the paper prints."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from experiments.campaigns import Effect, Results
from experiments.campaigns.statistics import ENOUGH_FOR_TAILS, bootstrap_rows
from experiments.studies.naming import log_name
from experiments.studies.selection.paper import FIG_2_ON, LABELS, OTHERS, TABLE_1, log_of, published_of
from experiments.studies.selection.results import BANDIT, BASE, LONGEST, NOISY, SelectionResults, best_of, fixed_in
from experiments.studies.selection.settings import KINDS, PERIODS, TUNERS, UNBOUNDED, YEAR_WEEKS
from experiments.studies.selection.statistics import LIKENESS, band, best_gain, least_remaining, most_divided
from simmodels import HOUR, TWELVE_ORDERS

Row: TypeAlias = dict[str, Any]
_DAYS_PER_MONTH: Final = 365.25 / 12
_COUNTED: Final = (*TWELVE_ORDERS, *(name for name in TUNERS if not name.startswith("random")))
"""What the paper counts as simulations: the orders, full and noisy feedback and the bandit, not random choice."""


def make_tables(found: SelectionResults) -> dict[str, pd.DataFrame]:
    """Return tables 1 to 3, how well table 2 agrees with the printed one, and what the paper has no table of."""
    rows: dict[str, Iterable[Row]] = {
        "table 1: the logs": _logs(found.last),
        "table 2: fixed orders against FCFS": _fixed_orders(found),
        "table 3: strategies against FCFS": _strategies(found),
        "numbers in the text": _numbers(found),
        "agreement with the printed table 2": _agreement(found),
        "the best order of each log": _best_orders(found),
        "regret against the best order of each resample": _regrets(found),
        "how soon it is learned": _how_soon(found),
        "the longest waits": _longest_waits(found),
    }
    tables = {name: pd.DataFrame(each) for name, each in rows.items()}
    return {name: table for name, table in tables.items() if len(table) or name.startswith("table")}


def _about(by: SelectionResults, workload: str) -> Row:
    """Return the first columns of a row."""
    return {"variant": by.variant, "log": log_name(workload)}


def _per_cent(effect: Effect | None, name: str = "waits (%)") -> Row:
    """Return an effect in per cent; nothing if there is none."""
    return {} if effect is None else effect.through(lambda share: 100.0 * share).columns(name)


def _logs(last: Results) -> Iterator[Row]:
    """Hand out table 1: the logs as they were simulated, beside what is printed."""
    if "log_jobs" not in last.table:
        return
    for workload, found in last.table.dropna(subset=["log_jobs"]).groupby("workload", sort=False):
        one = found.iloc[0]
        ours = (one["log_cores"], one["log_jobs"] / 1000.0, one["log_days"] / _DAYS_PER_MONTH)
        printed = TABLE_1.get(log_of(str(workload)) or "")
        said = (None,) * 3 if printed is None else (printed.cores, printed.kilojobs, printed.months)
        row: Row = {"log": log_name(str(workload))}
        for what, value, other in zip(("cores", "jobs (k)", "months"), ours, said, strict=True):
            row |= {what: value, f"{what}, printed": other, f"{what}, difference": other and value - other}
        yield row


def _fixed_orders(found: SelectionResults) -> list[Row]:
    """Return table 2: eleven orders against FCFS, in per cent, beside what is printed, with the labels in place."""
    rows = []
    for by, workload in found.each:
        printed = dict(zip(OTHERS, published_of(workload) or (), strict=False))
        for order in OTHERS:
            effect = by.change(workload, order)
            if effect is None:
                continue
            said = printed.get(order)
            row = _about(by, workload) | {"order": order, "printed as": LABELS.get(order, order), **_per_cent(effect)}
            rows.append(row | {"printed (%)": said, "difference (points)": said and 100.0 * effect.estimate - said})
    if any(row["printed (%)"] is not None for row in rows):
        return rows
    beside = {"printed as", "printed (%)", "difference (points)"}
    return [{name: value for name, value in row.items() if name not in beside} for row in rows]


def _strategies(found: SelectionResults) -> Iterator[Row]:
    """Hand out table 3: strategies against FCFS, in per cent; what is printed there is a placeholder."""
    for by, workload in found.each:
        for kind, _, period in (name.partition(" ") for name in found.results.texts("strategy")):
            effect = by.change(workload, f"{kind} {period}") if period in PERIODS else None
            if effect is not None:
                yield _about(by, workload) | {"strategy": kind, "an order a": period} | _per_cent(effect)


def _regrets(found: SelectionResults) -> Iterator[Row]:
    """Hand out what each strategy waits more than the best order of each resample, in per cent (hindsight)."""
    for by, workload in found.each:
        totals = by.totals(workload)
        fixed = fixed_in(totals)
        least = totals[fixed].min(axis=1) if fixed else pd.Series(dtype=float)
        if least.sum() <= 0.0:
            continue
        for strategy in (name for name in totals if str(name).partition(" ")[2] in PERIODS):
            both = np.stack([least.to_numpy(), totals[strategy].to_numpy()], axis=1)
            effect = bootstrap_rows(both, best_gain, seed=found.results.seed)
            yield _about(by, workload) | {"strategy": strategy} | _per_cent(effect, "regret (%)")


def _agreement(found: SelectionResults) -> Iterator[Row]:
    """Hand out how well our table 2 agrees with the printed one, log by log."""
    for (by, log), name in product(found.each, LIKENESS):
        effect = by.likeness(log, name)
        if effect is not None:
            yield _about(by, log) | {"measure": name} | effect.columns("value")


def _best_orders(found: SelectionResults) -> Iterator[Row]:
    """Hand out which order is best on each log, in how many resamples, and what it costs on the other logs.

    The last columns have what the best order of another log waits more on this one than the best of this one, in per
    cent with its interval, paired by resample.
    """
    for by in found.by_variant:
        best = {workload: best_of(by.totals(workload)) for workload in by.subjects}
        for workload, mine in best.items():
            if mine is None:
                continue
            totals = by.totals(workload)
            wins = float((totals[fixed_in(totals)].idxmin(axis=1) == mine).mean())
            about = _about(by, workload) | {"best order": mine, "best in (% of resamples)": 100.0 * wins}
            others = {other: its for other, its in best.items() if other != workload and its in totals}
            for other, its in others.items():
                there = _per_cent(by.change(workload, str(its), mine), "waits here with that (%)")
                yield about | {"another log": log_name(other), "its best": its} | there
            if not others:
                yield about


def _longest_waits(found: SelectionResults) -> Iterator[Row]:
    """Hand out the longest wait under each order and strategy, mean over the resamples, beside the mean wait."""
    for by, workload in found.each:
        longest, mean = (by.totals(workload, column) for column in (LONGEST, "mean_wait_s"))
        for name in [each for each in found.results.texts("strategy") if each in longest]:
            order = name.removesuffix(UNBOUNDED)
            row = _about(by, workload) | {"order or strategy": order}
            row |= {"threshold": "none" if order != name else "as set"}
            row |= {"longest wait (h)": longest[name].mean() / HOUR, "mean wait (h)": mean[name].mean() / HOUR}
            yield row | _per_cent(by.change(workload, name, column=LONGEST), "longest against FCFS (%)")


def _how_soon(found: SelectionResults) -> Iterator[Row]:
    """Hand out what the orders cost that strategies choose after some weeks, against the best of a resample."""
    for by, workload in found.each:
        for name in [each for each in TUNERS if each.split()[0] in KINDS[:2]]:
            for week, cost in by.chosen(workload, name).items():
                row = _about(by, workload) | {"strategy": name, "after weeks": week}
                yield row | {"regret of what is chosen (%)": 100.0 * cost.mean()}


def _numbers(found: SelectionResults) -> Iterator[Row]:
    """Hand out the numbers that the paper's sentences have, beside ours: a row per variant and number."""
    weeks = float(found.results.parameters.get("weeks", 2 * YEAR_WEEKS))
    tails: Row = {"each": True, "needed": ENOUGH_FOR_TAILS}
    for by in found.by_variant:
        gaia = [name for name in by.subjects if log_of(name) == FIG_2_ON]
        divided, left = by.over_logs(most_divided, NOISY, [BASE]), by.over_logs(least_remaining, BANDIT, [BASE])
        width = by.compare(gaia[0], band, BASE, TWELVE_ORDERS[1:], **tails) if gaia else None
        count = _simulations(by)
        runs, years = (Effect.exact(each) if count else None for each in (count, count * weeks / YEAR_WEEKS))
        for place, what, printed, effect in (
            ("abstract", "mean wait divided by, with noisy feedback, at most", 2.0, divided),
            ("abstract", "mean wait that the bandit leaves, at least", 0.4, left),
            ("section 6.2, fig. 2", f"width of the percentiles over the best improvement, {FIG_2_ON}", 0.5, width),
            ("section 6.1.4", "simulations, of orders and of three kinds of strategies", 12_600, runs),
            ("section 6.1.4", "simulated years, without those that strategies simulate", 25_200, years),
        ):
            if effect is not None:
                row = {"variant": by.variant, "place": place, "number": what, **effect.columns("ours")}
                yield row | {"printed": printed, "difference": effect.estimate - printed, "logs": by.note or "all"}


def _simulations(by: SelectionResults) -> int:
    """Return how many resamples of the paper's logs were run under what the paper counts."""
    rows = by.last.where(variant=by.variant)
    if rows.empty:
        return 0
    of_the_paper = rows["workload"].map(lambda name: log_of(str(name)) is not None).astype(bool)
    return int((of_the_paper & rows["strategy"].isin(_COUNTED)).sum())


def sentences(by: SelectionResults, workload: str) -> list[str]:
    """Return the best order of a log and what strategies reach, as a sentence; none where nobody waits."""
    totals = by.totals(workload)
    best = best_of(totals)
    if best is None or not by.waits(workload):
        return []
    sums = totals.sum()
    named = [name for name in (f"{kind} {period}" for kind in KINDS for period in PERIODS) if name in totals]
    parts = [f"{name} {100.0 * (sums[name] / sums[BASE] - 1.0):+.0f} %" for name in named]
    where = f"{log_name(workload)} ({by.variant})"
    text = f"{where}: the best order is {best}, waits {100.0 * (sums[best] / sums[BASE] - 1.0):+.0f} % against FCFS"
    return [f"{text}; {', '.join(parts)}." if parts else f"{text}."]
