"""Plots: figures of campaigns that studies share."""

from collections.abc import Mapping

import pandas as pd

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.charts import Axis, Boxes, Chart
from experiments.campaigns.hours import hourly, is_duration
from experiments.campaigns.pages import in_words
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import having
from experiments.drawing import Figure, as_label
from simmodels.errors import require_known
from simmodels.units import HOUR


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
    values, hues = results.factors[by], () if within is None else results.factors[within]
    table["place"] = _named(table, {in_words(value): {by: value} for value in values})
    table["hue"] = _named(table, {f"{within} {in_words(hue)}": {str(within): hue} for hue in hues})
    chart = Chart(
        mark=Boxes(),
        x=Axis("place", as_label(by)),
        y=(Axis(measure, as_label(label), log=10.0 if logarithmic else 0.0),),
        by="" if within is None else "hue",
        panel_in=(1.2 + 0.45 * len(values) * max(1.0, 0.6 * len(hues)), 3.2),
    )
    return chart.draw(table)


def _named(table: pd.DataFrame, names: Mapping[str, Mapping[str, object]]) -> pd.Categorical:
    """Return what rows with these values are called; what no row has, has its place, too."""
    found = pd.Series(None, index=table.index, dtype=object)
    for name, of in names.items():
        found[having(table, of)] = name
    return pd.Categorical(found, list(names))


def _means(results: Results, measure: str, label: str | None) -> tuple[pd.DataFrame, str]:
    """Return the means of a measure in each cell, in hours if it is a duration without a label; and its label."""
    means = results.table.groupby([*results.factors, REPLICATION], dropna=False, sort=False)[measure].mean()
    table = means.reset_index()
    if label is None and is_duration(measure):
        table[measure] /= HOUR
        label = hourly(measure)
    return table, label or measure
