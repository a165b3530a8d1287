"""The figures of the selection study: curves over the weeks, and which orders were used."""

from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.drawing import INK, PALETTE, STYLE
from simmodels.policies.orders import TWELVE_ORDERS

_SEVEN: Final = ("FCFS", "LCFS", "SPF", "SQF", "SEXP", "SRF", "SAF")
_BASE: Final = "FCFS"
_DASHES: Final = ("-", "--", ":")
_TWELVE: Final = (*PALETTE, "#B2182B", "#8073AC", "#999999", "#1B7837", "#C2A5CF")


def weekly(table: pd.DataFrame) -> Figure:
    """Return how the mean wait of a week varies under seven orders (figure 1): quartiles over weeks and resamples."""
    found = [name for name in _SEVEN if (table["strategy"] == name).any()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.0, 3.2))
        axes = figure.add_subplot()
        samples = []
        for name in found:
            rows = table[(table["strategy"] == name) & (table["jobs"] > 0)]
            samples.append((rows["wait_s"] / rows["jobs"] / 3600.0).to_numpy())
        drawn = axes.boxplot(
            samples, patch_artist=True, medianprops={"color": INK}, whis=(5, 95), showfliers=False, widths=0.6
        )
        for box in drawn["boxes"]:
            box.set_facecolor(PALETTE[0])
            box.set_alpha(0.7)
        axes.set_xticks(range(1, len(found) + 1), found)
        axes.set_ylabel("mean wait of a week (h)")
        axes.set_title("whiskers: 5th and 95th percentile")
        axes.grid(axis="y")
        figure.tight_layout()
    return figure


def curves(table: pd.DataFrame, strategies: Sequence[str]) -> Figure:
    """Return the summed waits against FCFS over the weeks (figures 2 to 4): means, and 10th to 90th percentiles."""
    sums = table.pivot_table(index=["replication", "strategy"], columns="week", values="wait_s").cumsum(axis=1)
    found = [name for name in strategies if name in sums.index.get_level_values("strategy")]
    bands: list[np.ndarray] = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.6))
        axes = figure.add_subplot()
        if _BASE in sums.index.get_level_values("strategy"):
            base = sums.xs(_BASE, level="strategy")
            for number, name in enumerate(found):
                one, other = sums.xs(name, level="strategy").align(base, join="inner")
                part = 100.0 * (one.to_numpy() / np.where(other.to_numpy() > 0, other.to_numpy(), np.nan) - 1.0)
                known = ~np.isnan(part).all(axis=0)
                weeks = np.asarray(one.columns)[known] + 1
                ink = PALETTE[number % len(PALETTE)]
                axes.plot(
                    weeks,
                    np.nanmean(part[:, known], axis=0),
                    color=ink,
                    linestyle=_DASHES[number // len(PALETTE)],
                    label=name,
                )
                low, high = np.nanpercentile(part[:, known], [10, 90], axis=0)
                axes.fill_between(weeks, low, high, color=ink, alpha=0.12, linewidth=0)
                bands.append(np.concatenate((low[len(low) // 8 :], high[len(high) // 8 :])))  # the first weeks scatter
        axes.axhline(0.0, color=INK, linewidth=0.8)
        axes.set_xlabel("week")
        axes.set_ylabel("summed waits against FCFS (%)")
        shown = np.concatenate(bands) if bands else np.array([-10.0, 10.0])
        axes.set_ylim(max(-100.0, shown.min() - 5.0), shown.max() + 5.0)
        axes.grid(axis="y")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.tight_layout()
    return figure


def shares(table: pd.DataFrame, strategies: Sequence[str]) -> Figure:
    """Return in which share of the periods each order was used, over the weeks (figures 5 and 6)."""
    found = [name for name in strategies if (table["strategy"] == name).any()]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.8))
        for number, name in enumerate(found):
            axes = figure.add_subplot(1, len(found), number + 1)
            rows = table[table["strategy"] == name]
            means = rows.groupby("week")[[f"share_{order}" for order in TWELVE_ORDERS]].mean()
            axes.stackplot(
                means.index + 1, means.to_numpy().T, colors=_TWELVE, labels=TWELVE_ORDERS if number == 0 else ()
            )
            axes.set_title(name)
            axes.set_xlabel("week")
            axes.set_ylim(0, 1)
            axes.set_xlim(1, max(2, int(means.index.max()) + 1))
            if number == 0:
                axes.set_ylabel("share of the periods")
        figure.tight_layout(rect=(0.0, 0.0, 0.86, 1.0))
        figure.legend(loc="center right")
    return figure
