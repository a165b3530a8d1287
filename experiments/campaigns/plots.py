"""Plots: figures of campaigns that studies share."""

import math
from typing import Final

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.hours import hourly, is_duration
from experiments.campaigns.pages import in_words
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import having
from experiments.drawing import INK, PALETTE, STYLE, as_label, label_plainly
from simmodels.errors import require_known
from simmodels.units import HOUR

_LINE: Final = 0.9


def boxes(
    results: Results,
    measure: str,
    *,
    by: str,
    within: str | None = None,
    label: str | None = None,
    logarithmic: bool = False,
) -> Figure:
    """Return box plots of a measure, a box for each value of a factor, over the replications and all other factors.

    The box has the quartiles and the median; the whiskers go to the last value within 1.5 times the box's length
    (Tukey 1977); the others are points. The rows of a cell are averaged first.

    Parameters
    ----------
    results
        The results of a campaign.
    measure
        The column that is shown.
    by
        The factor along the axis.
    within
        A factor; its values stand side by side, in colours; None for none.
    label
        What the axis of the measure is called; by default the measure's name, and a duration (a measure named ``*_s``)
        is shown in hours.
    logarithmic
        Whether that axis is.

    Raises
    ------
    RequestError
        The results have no such measure or factor, or no cell is done.
    """
    for name in (by, *(() if within is None else (within,))):
        require_known("factor", name, results.factors)
    require_known("measure", measure, results.measures)
    table, label = _means(results, measure, label)
    values = results.factors[by]
    hues = tuple(results.factors[within]) if within is not None else (None,)
    width = 0.8 / len(hues)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(4.0, 1.2 + 0.45 * len(values) * max(1.0, 0.6 * len(hues))), 3.4))
        axes = figure.add_subplot()
        for number, hue in enumerate(hues):
            of_hue = table if within is None else table[having(table, {within: hue})]
            samples = [of_hue[having(of_hue, {by: value})][measure].dropna().to_numpy() for value in values]
            drawn = axes.boxplot(
                samples,
                positions=[place - 0.4 + width * (number + 0.5) for place in range(len(values))],
                widths=0.8 * width,
                patch_artist=True,
                medianprops={"color": INK, "linewidth": 1.4},
                boxprops={"edgecolor": INK, "linewidth": _LINE},
                whiskerprops={"color": INK, "linewidth": _LINE},
                capprops={"color": INK, "linewidth": _LINE},
                flierprops={"marker": ".", "markersize": 3, "markeredgecolor": INK},
                manage_ticks=False,
            )
            for box in drawn["boxes"]:
                box.set_facecolor(PALETTE[number % len(PALETTE)])
                box.set_alpha(0.85)
            if within is not None and drawn["boxes"]:
                drawn["boxes"][0].set_label(as_label(f"{within} {in_words(hue)}"))
        axes.set_xticks(range(len(values)), [as_label(in_words(value)) for value in values])
        axes.set_xlim(-0.6, len(values) - 0.4)
        if max(len(in_words(value)) for value in values) * len(values) > 60:
            axes.tick_params(axis="x", rotation=45)
        axes.set_xlabel(as_label(by))
        axes.set_ylabel(as_label(label))
        axes.grid(axis="y")
        if logarithmic and (table[measure] > 0).all():
            axes.set_yscale("log")
            label_plainly(axes)
        if within is not None:
            axes.legend(ncols=math.ceil(len(hues) / 2), loc="upper center", bbox_to_anchor=(0.5, 1.22))
        figure.tight_layout()
    return figure


def _means(results: Results, measure: str, label: str | None) -> tuple[pd.DataFrame, str]:
    """Return the means of a measure in each cell, in hours if it is a duration without a label; and its label."""
    means = results.table.groupby([*results.factors, REPLICATION], dropna=False, sort=False)[measure].mean()
    table = means.reset_index()
    if label is None and is_duration(measure):
        table[measure] /= HOUR
        label = hourly(measure)
    return table, label or measure
