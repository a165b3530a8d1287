"""The figures of the selection study: a year of a log, improvements over time, and which orders were used.

An order has the same colour in all of them, and orders are named in the same sequence.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pandas as pd

from experiments.campaigns import Results
from experiments.campaigns.charts import INKS, Areas, Axis, Chart, Lines, draw_all
from experiments.drawing import Figure
from experiments.studies.naming import log_name
from experiments.studies.selection.paper import FIG_1_ON, FIG_2_ON, OTHERS, log_of
from experiments.studies.selection.results import BASE, SelectionResults
from experiments.studies.selection.settings import KINDS, LOGGED, SEVEN
from simmodels import HOUR, TWELVE_ORDERS

_COLOURS: Final = {
    name: {"color": ink} for names in (TWELVE_ORDERS, KINDS) for name, ink in zip(names, INKS, strict=False)
}
_EDGE: Final = {"linestyle": (0, (3, 2)), "linewidth": 0.6, "alpha": 0.7}
_WEEKLY: Final = Chart(
    mark=Lines(),
    x=Axis("week", "week of the log"),
    y=(Axis("wait_h", "mean wait of the week's jobs (h)", limits=(0.0, None)),),
    by="strategy",
    names={"strategy": {f"{order}{LOGGED}": order for order in SEVEN}},
    panel_in=(7.2, 3.0),
    look={"linewidth": 1.1},
    styles=_COLOURS,
)
_CURVES: Final = Chart(
    mark=Lines(),
    x=Axis("week", "week"),
    y=(Axis("change", "summed waits against FCFS (%)", at=0.0),),
    by="line",
    panel_in=(7.2, 3.2),
    look={"linewidth": 1.6},
    styles={
        **_COLOURS,
        "full": {**_COLOURS["full"], "linewidth": 3.2},  # noisy feedback lies on full feedback: that is to be seen
        **{f"_{end} {name}": {**colour, **_EDGE} for name, colour in _COLOURS.items() for end in ("low", "high")},
    },
    note="lines: all resamples together; dashed: their 10th and 90th percentile",
)
_SHARES: Final = Chart(
    mark=Areas(),
    x=Axis("week", "week"),
    y=(Axis("share", "share of the periods", limits=(0.0, 1.0)),),
    by="order",
    panels="strategy",
    names={"strategy": {f"{kind} {period}": f"an order a {period}" for kind in KINDS for period in ("day", "week")}},
    panel_in=(3.6, 2.6),
    share="y",
    styles=_COLOURS,
)


def draw_figures(results: Results) -> dict[str, Figure]:
    """Return figures 1 to 6 of the paper, for each log and variant.

    A figure has the paper's number on the log that the paper has it of; of another log, it is "as figure 2".
    """
    found: dict[str, Figure] = {}
    for by, workload in SelectionResults(results).each:
        table = results.where(variant=by.variant, workload=workload)
        if table.empty:
            continue
        where, log = f"{log_name(workload)}, {by.variant}", log_of(workload)
        first = "figure 1" if log == FIG_1_ON else "as figure 1"
        second = "figure 2" if log == FIG_2_ON else "as figure 2"
        third = "figure 4" if log == FIG_2_ON else "as figure 3" if log is None else "figure 3"
        curves = {
            f"{second}, {where}: fixed orders": OTHERS,
            f"{third}, {where}: strategies, an order a day": [f"{kind} day" for kind in KINDS],
            f"ours, {where}: strategies, an order a week": [f"{kind} week" for kind in KINDS],
        }
        drawn = {name: _curves(table, strategies) for name, strategies in curves.items()}
        found |= draw_all(
            [
                (f"{first}, {where}: mean wait of each week of the log itself", _WEEKLY, _weekly(table)),
                *((name, _within(edges), edges) for name, edges in drawn.items()),
                (f"figure 5, {where}: orders used, noisy", _SHARES, _shares(table, "noisy")),
                (f"figure 6, {where}: orders used, bandit", _SHARES, _shares(table, "bandit")),
            ]
        )
    return found


def _weekly(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean wait of each week of the first year of a log, by strategy (figure 1)."""
    rows = table[table["jobs"] > 0].sort_values("week")
    return rows.assign(week=rows["week"] + 1, wait_h=rows["wait_s"] / rows["jobs"] / HOUR)


def _curves(table: pd.DataFrame, strategies: Sequence[str]) -> pd.DataFrame:
    """Return the summed waits against FCFS over the weeks (figures 2 to 4).

    A line is the ratio of sums over all resamples of the waits of jobs that have finished (equation 11), so it ends at
    the value of table 2; beside it are the 10th and 90th percentile of the resamples.
    """
    sums = table.pivot_table(index=["replication", "strategy"], columns="week", values="wait_s").cumsum(axis=1)
    there = set(sums.index.get_level_values("strategy"))
    parts = []
    for name in [each for each in strategies if {each, BASE} <= there]:
        one, base = sums.xs(name, level="strategy").align(sums.xs(BASE, level="strategy"), join="inner")
        weeks = [week for week in base.columns if (base[week] > 0.0).all()]
        ratio = one[weeks] / base[weeks]
        low, high = ratio.quantile(0.1), ratio.quantile(0.9)
        for line, times in (("", one[weeks].sum() / base[weeks].sum()), ("_low ", low), ("_high ", high)):
            shown = {
                "week": [int(week) + 1 for week in weeks],
                "change": 100.0 * (times - 1.0),
                "line": f"{line}{name.split()[0]}",
            }
            parts.append(pd.DataFrame(shown))
    return pd.concat([pd.DataFrame(), *parts])


def _within(table: pd.DataFrame) -> Chart:
    """Return a chart of summed waits that shows all percentiles but those of the first weeks, which scatter."""
    if table.empty:
        return _CURVES
    edges = table[table["line"].str.startswith("_")]
    later = edges[edges.groupby("line").cumcount() >= edges.groupby("line")["week"].transform("size") // 8]["change"]
    limits = (max(-100.0, later.min() - 5.0), later.max() + 5.0)
    return replace(_CURVES, y=(replace(_CURVES.y[0], limits=limits),))


def _shares(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return in which share of the periods each order was used, over the weeks (figures 5 and 6)."""
    columns = {f"share_{order}": order for order in TWELVE_ORDERS}
    rows = table[table["strategy"].isin([f"{kind} day", f"{kind} week"])].rename(columns=columns)
    means = rows.groupby(["strategy", "week"])[list(TWELVE_ORDERS)].mean()
    shares = means.melt(var_name="order", value_name="share", ignore_index=False).reset_index()
    return shares.assign(week=shares["week"] + 1)
