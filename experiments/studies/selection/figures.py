"""The figures of the selection study: a year of a log, improvements over time, and which orders were used.

An order has the same colour in all of them, and orders are named in the same sequence.

References
----------
See `experiments.studies.selection.paper`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.campaigns.results import Results
from experiments.drawing import INK, PALETTE, STYLE
from experiments.studies.naming import log_name
from experiments.studies.selection.paper import FIG_1_ON, FIG_2_ON, OTHERS, log_of
from experiments.studies.selection.results import BASE, settings_of
from experiments.studies.selection.settings import KINDS, LOGGED, SEVEN
from simmodels.policies.orders import TWELVE_ORDERS
from simmodels.units import HOUR

_WIDTH_IN: Final = 7.2
_TWELVE: Final = (*PALETTE, "#B2182B", "#8073AC", "#999999", "#8DB600", "#C2A5CF")
_INK_OF: Final = dict(zip(TWELVE_ORDERS, _TWELVE, strict=True)) | dict(zip(KINDS, PALETTE, strict=False))


def draw_figures(results: Results) -> Mapping[str, Figure]:
    """Return figures 1 to 6 of the paper, for each log and variant.

    A figure has the paper's number on the log that the paper has it of; of another log, it is "as figure 2".
    """
    found: dict[str, Figure] = {}
    for variant, workload in settings_of(results):
        table = results.where(variant=variant, workload=workload)
        if table.empty:
            continue
        where, log = f"{log_name(workload)}, {variant}", log_of(workload)
        first = "figure 1" if log == FIG_1_ON else "as figure 1"
        if table["strategy"].str.endswith(LOGGED).any():
            found[f"{first}, {where}: mean wait of each week of the log itself"] = weekly(table)
        second = "figure 2" if log == FIG_2_ON else "as figure 2"
        third = "figure 4" if log == FIG_2_ON else "as figure 3" if log is None else "figure 3"
        found[f"{second}, {where}: fixed orders"] = curves(table, OTHERS)
        found[f"{third}, {where}: strategies, an order a day"] = curves(table, [f"{kind} day" for kind in KINDS])
        found[f"ours, {where}: strategies, an order a week"] = curves(table, [f"{kind} week" for kind in KINDS])
        for number, kind in ((5, "noisy"), (6, "bandit")):
            found[f"figure {number}, {where}: orders used, {kind}"] = shares(table, (f"{kind} day", f"{kind} week"))
    return found


def weekly(table: pd.DataFrame) -> Figure:
    """Return the mean wait of each week of the first year of a log, under seven orders (figure 1)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 3.2))
        axes = figure.add_subplot()
        for order in SEVEN:
            rows = table[(table["strategy"] == f"{order}{LOGGED}") & (table["jobs"] > 0)].sort_values("week")
            if len(rows):
                means_h = rows["wait_s"] / rows["jobs"] / HOUR
                axes.plot(rows["week"] + 1, means_h, color=_INK_OF[order], linewidth=1.1, label=order)
        axes.set_xlabel("week of the log")
        axes.set_ylabel("mean wait of the week's jobs (h)")
        axes.set_ylim(bottom=0.0)
        _finish(figure, axes)
    return figure


def curves(table: pd.DataFrame, strategies: Sequence[str]) -> Figure:
    """Return the summed waits against FCFS over the weeks (figures 2 to 4).

    A line is the ratio of sums over all resamples of the waits of jobs that have finished (equation 11), so it ends at
    the value of table 2; dashed lines are the 10th and 90th percentile of the resamples.
    """
    sums = table.pivot_table(index=["replication", "strategy"], columns="week", values="wait_s").cumsum(axis=1)
    there = sums.index.get_level_values("strategy")
    bands: list[np.ndarray] = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 3.6))
        axes = figure.add_subplot()
        for name in [each for each in strategies if {each, BASE} <= set(there)]:
            pair = sums.xs(name, level="strategy").align(sums.xs(BASE, level="strategy"), join="inner")
            one, base = (each.to_numpy() for each in pair)
            known = (base > 0.0).all(axis=0)
            weeks = np.asarray(pair[0].columns)[known] + 1
            if not len(weeks):
                continue
            one, base, label = one[:, known], base[:, known], name.split()[0]
            mean = 100.0 * (one.sum(axis=0) / base.sum(axis=0) - 1.0)
            # Noisy feedback lies on full feedback: that is to be seen.
            axes.plot(weeks, mean, color=_INK_OF[label], label=label, linewidth=3.2 if label == "full" else 1.6)
            low, high = np.percentile(100.0 * (one / base - 1.0), [10, 90], axis=0)
            for edge in (low, high):
                axes.plot(weeks, edge, color=_INK_OF[label], linestyle=(0, (3, 2)), linewidth=0.6, alpha=0.7)
            bands.append(np.concatenate((low[len(low) // 8 :], high[len(high) // 8 :])))  # the first weeks scatter
        axes.axhline(0.0, color=INK, linewidth=0.8)
        axes.set_title("lines: all resamples together; dashed: their 10th and 90th percentile", fontsize=9.0)
        axes.set_xlabel("week")
        axes.set_ylabel("summed waits against FCFS (%)")
        shown = np.concatenate(bands) if bands else np.array([-10.0, 10.0])
        axes.set_ylim(max(-100.0, shown.min() - 5.0), shown.max() + 5.0)
        _finish(figure, axes)
    return figure


def shares(table: pd.DataFrame, strategies: Sequence[str]) -> Figure:
    """Return in which share of the periods each order was used, over the weeks (figures 5 and 6)."""
    found = [name for name in strategies if (table["strategy"] == name).any()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 2.8))
        for number, name in enumerate(found):
            axes = figure.add_subplot(1, len(found), number + 1)
            rows = table[table["strategy"] == name]
            means = rows.groupby("week")[[f"share_{order}" for order in TWELVE_ORDERS]].mean()
            labels = TWELVE_ORDERS if number == 0 else ()
            axes.stackplot(means.index + 1, means.to_numpy().T, colors=_TWELVE, labels=labels)
            axes.set_title(f"an order a {name.split()[1]}")
            axes.set_xlabel("week")
            axes.set_ylim(0, 1)
            axes.set_xlim(1, max(2, int(means.index.max()) + 1))
            if number == 0:
                axes.set_ylabel("share of the periods")
        figure.tight_layout(rect=(0.0, 0.0, 0.86, 1.0))
        if found:
            figure.legend(loc="center right", reverse=True)  # as they lie on each other
    return figure


def _finish(figure: Figure, axes: Axes) -> None:
    """Put the legend beside the axes."""
    axes.grid(axis="y")
    axes.margins(x=0.01)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
