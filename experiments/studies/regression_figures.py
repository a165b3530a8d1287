"""The figures of the regression study: how scores converge, which job goes first, and what comes of it online."""

from typing import Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.drawing import INK, PALETTE, STYLE, as_label
from experiments.studies.regression_results import ORDERS, SCORES, label_of
from simmodels.policies.polynomial import FORMS, Polynomial

_AT_R_S: Final = 50_000.0
_POINTS: Final = 120
_LONGEST_S: Final = 27_000.0
_WIDEST: Final = 256.0


def convergence(table: pd.DataFrame) -> Figure:
    """Return how much scores of other random numbers differ, against the number of trials (figure 1)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.2, 3.4))
        axes = figure.add_subplot()
        for number, scores in enumerate(SCORES):
            rows = table[table["scores"] == scores].sort_values("trials")
            axes.plot(
                rows["trials"], 100 * rows["normalised_std"], "o-", color=PALETTE[number], markersize=4,
                label=f"{scores}: measured",
            )  # fmt: skip
            axes.plot(
                rows["trials"], 100 * rows["normalised_se"], "--", color=PALETTE[number],
                label=f"{scores}: standard error told",
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("trials a pair")
        axes.set_ylabel("standard deviation of a score (%)")
        axes.grid()
        axes.legend()
        figure.tight_layout()
    return figure


def priorities(table: pd.DataFrame) -> Figure:
    """Return which part of all jobs goes before one of so many cores and so long an estimate (figure 2)."""
    scores = [name for name in SCORES if (table["scores"] == name).any()]
    p, q = np.meshgrid(np.linspace(1.0, _LONGEST_S, _POINTS), np.linspace(1.0, _WIDEST, _POINTS))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 0.6 + 2.3 * len(scores)))
        drawn = None
        for row, name in enumerate(scores):
            for column, form in enumerate(FORMS):
                fit = table[(table["scores"] == name) & (table["order"] == form)]
                if fit.empty:
                    continue
                axes = figure.add_subplot(len(scores), len(FORMS), row * len(FORMS) + column + 1)
                order = Polynomial(fit["theta"].tolist(), fit["term"].tolist())
                keys = np.array(
                    [order(estimate=x, cores=y, submit=_AT_R_S) for x, y in zip(p.flat, q.flat, strict=True)]
                )
                rank = np.argsort(np.argsort(keys, kind="stable"), kind="stable").reshape(p.shape) / keys.size
                drawn = axes.pcolormesh(p / 3600.0, q, rank, cmap="viridis", vmin=0.0, vmax=1.0, rasterized=True)
                axes.set_title(f"{form}, {name}")
                if column == 0:
                    axes.set_ylabel("cores")
                if row == len(scores) - 1:
                    axes.set_xlabel("estimate (h)")
        figure.tight_layout(rect=(0.0, 0.0, 0.92, 1.0))
        if drawn is not None:
            bar = figure.colorbar(drawn, cax=figure.add_axes((0.935, 0.15, 0.015, 0.7)))
            bar.set_label("goes first (0) to last (1)")
    return figure


def online(table: pd.DataFrame) -> Figure:
    """Return box plots of the AVGbsld of windows, an order beside the other, by queue depth (figures 3 to 5)."""
    labels = pd.Series(
        [label_of(*pair) for pair in zip(table["order"], table["scores"], strict=True)], index=table.index
    )
    known = [label_of(order, scores) for order in ORDERS for scores in (None, *SCORES)]
    names = [name for name in dict.fromkeys(known) if (labels == name).any()]
    depths = [
        (f"{depth:g} waiting jobs considered", table["queue_depth"] == depth)
        for depth in sorted(table["queue_depth"].dropna().unique())
    ] + ([("all considered", table["queue_depth"].isna())] if table["queue_depth"].isna().any() else [])
    width = 0.8 / len(depths)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(5.0, 0.42 * len(names) + 1.2), 3.9))
        axes = figure.add_subplot()
        for number, (label, rows) in enumerate(depths):
            samples = [table.loc[rows & (labels == name), "mean_bounded_slowdown"].dropna() for name in names]
            drawn = axes.boxplot(
                samples,
                positions=[place - 0.4 + width * (number + 0.5) for place in range(len(names))],
                widths=0.8 * width,
                patch_artist=True,
                medianprops={"color": INK, "linewidth": 1.4},
                flierprops={"marker": ".", "markersize": 3, "markeredgecolor": INK},
                manage_ticks=False,
            )
            for box in drawn["boxes"]:
                box.set_facecolor(PALETTE[number])
                box.set_alpha(0.85)
            drawn["boxes"][0].set_label(label)
        axes.set_xticks(range(len(names)), map(as_label, names), rotation=60, ha="right")
        axes.set_xlim(-0.6, len(names) - 0.4)
        axes.set_yscale("log")
        axes.set_ylabel("AVGbsld of a window")
        axes.grid(axis="y")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=2)
        figure.tight_layout()
    return figure
