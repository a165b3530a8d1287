"""The tables of the selection study: improvements by equation 11, beside what the paper prints.

References
----------
See `experiments.studies.selection.paper`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns.results import Results
from experiments.campaigns.statistics import ENOUGH_FOR_TAILS, Effect, bootstrap_rows
from experiments.studies.naming import log_name
from experiments.studies.selection.paper import LABELS, NOISE, OTHERS, TABLE_1, log_of, published_of
from experiments.studies.selection.settings import KINDS, LOGGED, NOISES, PERIODS, TUNERS, UNBOUNDED
from simmodels.ground.numbers import Floats
from simmodels.policies.orders import TWELVE_ORDERS
from simmodels.units import HOUR

BASE: Final = "FCFS"
SOON_WEEKS: Final = (1, 2, 4, 8, 13, 26, 52, 104)
"""After how many weeks of learning it is looked at what a strategy has chosen."""
_DAYS_PER_MONTH: Final = 365.25 / 12
_OF_THE_TEXT: Final[Mapping[str, object]] = {
    "weeks": 104, "threshold_h": 40, "epsilon": 0.5, "epsilon_decay": 1.0, "decay": 1.0, "noise": NOISE, "cores": None,
}  # fmt: skip
"""The settings of the paper's text; of those that may be none, none stands for the same."""


def noise_of(results: Results, variant: str) -> float:
    """Return how far a simulated wait may be wrong, as a part of it: what was chosen, or what the variant has."""
    chosen = results.parameters.get("noise")
    return NOISES[variant] if chosen is None else float(chosen)


def is_ours(results: Results, variant: str) -> bool:
    """Return whether the settings are not those of the paper's text: another variant, or a setting that was chosen."""
    of = results.parameters
    return variant != "text" or any(of.get(name) not in {None, value} for name, value in _OF_THE_TEXT.items())


def last_of(results: Results) -> Results:
    """Return the results without the rows of the weeks: one row per cell."""
    if "total_wait_s" not in results.table:
        return results
    return replace(results, table=results.table.dropna(subset=["total_wait_s"]))


def settings_of(results: Results) -> list[tuple[str, str]]:
    """Return each variant and log."""
    return [(str(v), str(w)) for v in results.factors["variant"] for w in results.factors["workload"]]


def totals_of(last: Results, variant: str, workload: str, measure: str = "total_wait_s") -> pd.DataFrame:
    """Return a measure of the resamples: a row per replication of which nothing is missing, a column per strategy."""
    if measure not in last.table:
        return pd.DataFrame()
    table = last.where(variant=variant, workload=workload)
    table = table[~table["strategy"].str.endswith(LOGGED)]
    return table.pivot_table(index="replication", columns="strategy", values=measure).dropna()


def against_first(rows: Floats) -> Floats:
    """Return float64[..., columns - 1]: all waits of a column over those of the first, less 1 (equation 11).

    Where nobody waits in the first, it is 0 if nobody does in the other, and infinite if somebody does.
    """
    sums = rows.sum(axis=-2)
    first, others = sums[..., :1], sums[..., 1:]
    known = np.broadcast_to(first > 0.0, others.shape)
    ratio = np.divide(others, first, out=np.where(others > 0.0, np.inf, 1.0), where=known)
    changes: Floats = ratio - 1.0
    return changes


def change(totals: pd.DataFrame, strategy: str, against: str = BASE, *, seed: int = 0) -> Effect | None:
    """Return how much longer all waits are than under another strategy, as a fraction (equation 11).

    It is the sum of the differences over the resamples, divided by the sum of the others. None if one of the two is
    missing, or nobody waits in any resample.
    """
    if not {strategy, against} <= set(totals) or totals[against].sum() <= 0.0:
        return None
    return bootstrap_rows(totals[[against, strategy]].to_numpy(), best_gain, seed=seed)


def fixed_in(totals: pd.DataFrame) -> list[str]:
    """Return which of the twelve orders were run."""
    return [name for name in TWELVE_ORDERS if name in totals]


def best_of(totals: pd.DataFrame) -> str | None:
    """Return the order with the least waits over all resamples; None without two to choose from."""
    fixed = fixed_in(totals)
    return None if len(fixed) < 2 or totals.empty else str(totals[fixed].sum().idxmin())


def against_best(totals: pd.DataFrame, strategy: str, *, seed: int = 0) -> Effect | None:
    """Return how much longer all waits are than under the best order, which each bootstrap sample finds for itself."""
    others = [name for name in fixed_in(totals) if name != strategy]
    if strategy not in totals or len(others) < 2 or totals[[strategy, *others]].sum().min() <= 0.0:
        return None

    def regret(rows: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # where nobody waits under the best, it is infinite
            longer: Floats = 1.0 / (1.0 + best_gain(rows)) - 1.0
        return longer

    return bootstrap_rows(totals[[strategy, *others]].to_numpy(), regret, seed=seed)


def best_gain(rows: Floats) -> Floats:
    """Return the improvement of the best of the other columns, or of the only one, on the first: negative."""
    best: Floats = against_first(rows).min(axis=-1)
    return best


def spread(rows: Floats) -> Floats:
    """Return what lies between the most and the least waits of the columns, as a part of those of the first."""
    change = np.concatenate([np.zeros((*rows.shape[:-2], 1)), against_first(rows)], axis=-1)
    apart: Floats = change.max(axis=-1) - change.min(axis=-1)
    return apart


def rows_against_base(totals: pd.DataFrame) -> Floats | None:
    """Return float64[replications, 1 + orders], the waits under FCFS and the other orders; None without both."""
    fixed = fixed_in(totals)
    if BASE not in fixed or len(fixed) < 2 or totals[BASE].sum() <= 0.0:
        return None
    return totals[[BASE, *(name for name in fixed if name != BASE)]].to_numpy()


def by_percentiles(totals: pd.DataFrame, statistic: Callable[[Floats], Floats], *, seed: int = 0) -> Effect | None:
    """Return `band` or `clear` on a log; None if nobody waits under FCFS in a resample."""
    rows = rows_against_base(totals)
    if rows is None or rows[:, 0].min() <= 0.0:
        return None
    return bootstrap_rows(rows, statistic, seed=seed, needed=ENOUGH_FOR_TAILS)


def _percentiles(rows: Floats) -> tuple[Floats, Floats]:
    """Return float64[..., orders], the 10th and the 90th percentile of the improvements over the resamples."""
    low, high = np.quantile(rows[..., 1:] / rows[..., :1] - 1.0, (0.1, 0.9), axis=-2)
    return low, high


def band(rows: Floats) -> Floats:
    """Return how far the 10th and 90th percentile lie apart, mean over the columns, over the best improvement."""
    low, high = _percentiles(rows)
    best = np.maximum(-best_gain(rows), 1e-9)  # where no order is better than FCFS, a band is as wide as none
    wide: Floats = (high - low).mean(axis=-1) / best
    return wide


def clear(rows: Floats) -> Floats:
    """Return the share of the columns of which both percentiles have one sign."""
    low, high = _percentiles(rows)
    share: Floats = (low * high > 0.0).mean(axis=-1)
    return share


def per_cent(effect: Effect, name: str = "waits (%)") -> dict[str, float | None]:
    """Return an effect in per cent."""
    values = {name: effect.estimate, "low": effect.low, "high": effect.high}
    return {name: None if value is None else 100.0 * value for name, value in values.items()}


# -- tables 1 to 3 ----------------------------------------------------------------------------------


def logs(last: Results) -> pd.DataFrame:
    """Return table 1: the logs as they were simulated, beside what is printed."""
    if "log_jobs" not in last.table:
        return pd.DataFrame()
    rows = []
    for workload, found in last.table.dropna(subset=["log_jobs"]).groupby("workload", sort=False):
        one = found.iloc[0]
        ours = (one["log_cores"], one["log_jobs"] / 1000.0, one["log_days"] / _DAYS_PER_MONTH)
        printed = TABLE_1.get(log_of(str(workload)) or "")
        said = (None,) * 3 if printed is None else (printed.cores, printed.kilojobs, printed.months)
        row: dict[str, Any] = {"log": log_name(str(workload))}
        for what, value, other in zip(("cores", "jobs (k)", "months"), ours, said, strict=True):
            row |= {what: value, f"{what}, printed": other, f"{what}, difference": other and value - other}
        rows.append(row)
    return pd.DataFrame(rows)


def fixed_orders(last: Results) -> pd.DataFrame:
    """Return table 2: eleven orders against FCFS, in per cent, beside what is printed, with the labels in place."""
    rows = []
    for variant, workload in settings_of(last):
        totals = totals_of(last, variant, workload)
        printed = dict(zip(OTHERS, published_of(workload) or (), strict=False))
        for order in OTHERS:
            effect = change(totals, order, seed=last.seed)
            if effect is None:
                continue
            row: dict[str, Any] = {"variant": variant, "log": log_name(workload), "order": order}
            row |= {"printed as": LABELS.get(order, order), **per_cent(effect)}
            said = printed.get(order)
            row |= {"printed (%)": said, "difference (points)": said and 100.0 * effect.estimate - said}
            rows.append(row)
    table = pd.DataFrame(rows)
    if not rows or table["printed (%)"].notna().any():
        return table
    return table.drop(columns=["printed as", "printed (%)", "difference (points)"])


def strategies(last: Results, names: Sequence[str]) -> pd.DataFrame:
    """Return table 3: strategies against FCFS, in per cent; what is printed there is a placeholder."""
    rows = []
    for variant, workload in settings_of(last):
        totals = totals_of(last, variant, workload)
        for name in names:
            effect = change(totals, name, seed=last.seed)
            if effect is not None:
                kind, period = name.split()
                row = {"variant": variant, "log": log_name(workload), "strategy": kind, "an order a": period}
                rows.append({**row, **per_cent(effect)})
    return pd.DataFrame(rows)


# -- more than the paper has ------------------------------------------------------------------------


def regrets(last: Results) -> pd.DataFrame:
    """Return what each strategy waits more than the best order of each resample, in per cent (hindsight)."""
    rows = []
    for variant, workload in settings_of(last):
        totals = totals_of(last, variant, workload)
        fixed = fixed_in(totals)
        least = totals[fixed].min(axis=1) if fixed else pd.Series(dtype=float)
        if least.sum() <= 0.0:
            continue
        for strategy in (name for name in totals if str(name).endswith(tuple(f" {each}" for each in PERIODS))):
            both = np.stack([least.to_numpy(), totals[strategy].to_numpy()], axis=1)
            effect = bootstrap_rows(both, best_gain, seed=last.seed)
            rows.append(
                {"variant": variant, "log": log_name(workload), "strategy": strategy, **per_cent(effect, "regret (%)")}
            )
    return pd.DataFrame(rows)


def likeness(last: Results, variant: str, workload: str) -> dict[str, Effect] | None:
    """Return how like the printed row of table 2 ours is: ranks, values, signs; None if there is none to compare.

    Signs are equal, too, where one of the two rounds to 0 %.
    """
    printed = published_of(workload)
    totals = totals_of(last, variant, workload)
    if printed is None or not {BASE, *OTHERS} <= set(totals) or totals[BASE].sum() <= 0.0:
        return None
    said = np.array(printed, dtype=np.float64)

    def row(rows: Floats) -> Floats:
        per_cents: Floats = 100.0 * against_first(rows)
        return per_cents

    from scipy.stats import rankdata  # noqa: PLC0415  imported in 0.4 s, by those who need it

    rows = totals[[BASE, *OTHERS]].to_numpy()
    measured = {
        "rank correlation": lambda some: _correlation(rankdata(row(some), axis=-1), rankdata(said)),
        "correlation": lambda some: _correlation(row(some), said),
        "equal signs": lambda some: (np.sign(np.round(row(some))) * np.sign(said) >= 0).mean(axis=-1),
        "mean distance (points)": lambda some: np.abs(row(some) - said).mean(axis=-1),
    }
    return {name: bootstrap_rows(rows, statistic, seed=last.seed) for name, statistic in measured.items()}


def _correlation(rows: Floats, said: Floats) -> Floats:
    """Return Pearson's correlation of each row with what is printed."""
    one = rows - rows.mean(axis=-1, keepdims=True)
    other = said - said.mean()
    spread = np.sqrt((one**2).sum(axis=-1) * (other**2).sum())
    found: Floats = np.divide((one * other).sum(axis=-1), spread, out=np.zeros_like(spread), where=spread > 0.0)
    return found


def agreement(last: Results) -> pd.DataFrame:
    """Return how well our table 2 agrees with the printed one, log by log."""
    rows = []
    for variant, workload in settings_of(last):
        for measure, effect in (likeness(last, variant, workload) or {}).items():
            about = {"variant": variant, "log": log_name(workload), "measure": measure}
            rows.append({**about, "value": effect.estimate, "low": effect.low, "high": effect.high})
    return pd.DataFrame(rows)


def best_orders(last: Results) -> pd.DataFrame:
    """Return which order is best on each log, in how many resamples, and what it costs on the other logs.

    The last columns have what the best order of another log waits more on this one than the best of this one, in per
    cent with its interval, paired by resample.
    """
    rows = []
    for variant in map(str, last.factors["variant"]):
        found = {str(each): totals_of(last, variant, str(each)) for each in last.factors["workload"]}
        best = {workload: best_of(totals) for workload, totals in found.items()}
        for workload, totals in found.items():
            mine = best[workload]
            if mine is None:
                continue
            wins = float((totals[fixed_in(totals)].idxmin(axis=1) == mine).mean())
            about = {"variant": variant, "log": log_name(workload), "best order": mine, "best in (% of resamples)": 0.0}
            about["best in (% of resamples)"] = 100.0 * wins
            others: list[str | None] = [each for each in found if each != workload and best[each] in totals]
            for other in others or [None]:
                row: dict[str, Any] = dict(about)
                if other is not None:
                    effect = change(totals, str(best[other]), mine, seed=last.seed)
                    row |= {"another log": log_name(other), "its best": best[other]}
                    row |= {} if effect is None else per_cent(effect, "waits here with that (%)")
                rows.append(row)
    return pd.DataFrame(rows)


def longest_waits(last: Results) -> pd.DataFrame:
    """Return the longest wait under each order and strategy, mean over the resamples, beside the mean wait."""
    rows = []
    for variant, workload in settings_of(last):
        longest, mean = (totals_of(last, variant, workload, name) for name in ("max_wait_s", "mean_wait_s"))
        for name in [each for each in last.factors["strategy"] if each in longest]:
            order = str(name).removesuffix(UNBOUNDED)
            row: dict[str, Any] = {"variant": variant, "log": log_name(workload), "order or strategy": order}
            row["threshold"] = "none" if order != name else "as set"
            row |= {"longest wait (h)": longest[name].mean() / HOUR, "mean wait (h)": mean[name].mean() / HOUR}
            against = change(longest, str(name), seed=last.seed)
            rows.append(row | ({} if against is None else per_cent(against, "longest against FCFS (%)")))
    return pd.DataFrame(rows)


def chosen_after(results: Results, last: Results, variant: str, workload: str, strategy: str) -> pd.DataFrame:
    """Return what the orders chosen in some weeks cost, had they been kept: a row per replication, a column per week.

    It is the waits of a whole resample under the order that the strategy uses in that week, over the least of any
    order, less 1; of several orders in a week, the mean. Resamples in which nobody waits under some order are left out.
    """
    totals = totals_of(last, variant, workload)
    fixed = fixed_in(totals)
    if len(fixed) < len(TWELVE_ORDERS) or strategy not in totals:
        return pd.DataFrame()
    least = totals[fixed].min(axis=1)
    regret = totals[fixed].div(least, axis=0)[least > 0.0] - 1.0
    if regret.empty:
        return pd.DataFrame()
    shares = results.where(variant=variant, workload=workload, strategy=strategy).set_index(["replication", "week"])
    shares = shares[[f"share_{name}" for name in TWELVE_ORDERS]]
    last_week = int(shares.index.get_level_values("week").max())
    weeks = [week for week in SOON_WEEKS if week < last_week] + [last_week]
    columns = {}
    for week in weeks:
        used = shares.xs(week, level="week").reindex(regret.index)
        columns[week] = pd.Series((used.to_numpy() * regret.to_numpy()).sum(axis=1), index=regret.index)
    return pd.DataFrame(columns)


def how_soon(results: Results, last: Results) -> pd.DataFrame:
    """Return what the orders cost that strategies choose after some weeks, against the best of a resample."""
    rows = []
    for variant, workload in settings_of(results):
        for name in [each for each in TUNERS if each.split()[0] in KINDS[:2]]:
            found = chosen_after(results, last, variant, workload, name)
            about = {"variant": variant, "log": log_name(workload), "strategy": name}
            rows += [
                {**about, "after weeks": week, "regret of what is chosen (%)": 100.0 * found[week].mean()}
                for week in found
            ]
    return pd.DataFrame(rows)


def sentences(last: Results, variant: str, workload: str, *, where: str) -> list[str]:
    """Return the best order of a log and what strategies reach, as a sentence; none where nobody waits."""
    totals = totals_of(last, variant, workload)
    best = best_of(totals)
    if best is None or BASE not in totals or totals[BASE].sum() <= 0.0:
        return []
    sums = totals.sum()
    named = [name for name in (f"{kind} {period}" for kind in KINDS for period in PERIODS) if name in totals]
    parts = [f"{name} {100.0 * (sums[name] / sums[BASE] - 1.0):+.0f} %" for name in named]
    text = f"{where}: the best order is {best}, waits {100.0 * (sums[best] / sums[BASE] - 1.0):+.0f} % against FCFS"
    return [f"{text}; {', '.join(parts)}." if parts else f"{text}."]
