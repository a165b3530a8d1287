"""Hours: durations of results, which are in seconds, as reports show them."""

from typing import Final

import pandas as pd

from simmodels.units import HOUR

_OF_MEASURES: Final = ("q1", "median", "q3", "mean", "difference", "low", "high")
"""Columns with values of the measure that a row is about."""


def is_duration(name: object) -> bool:
    """Return whether a column or measure of this name is in seconds: ``mean_wait_s``, but not ``jobs_per_s``."""
    return isinstance(name, str) and name.endswith("_s") and not name.endswith("_per_s")


def hourly(name: str) -> str:
    """Return what a duration is called in hours: ``mean wait (h)``."""
    return f"{name.removesuffix('_s').replace('_', ' ')} (h)"


def in_hours(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its durations in hours: columns named ``*_s``, and values of measures named so.

    Examples
    --------
    >>> in_hours(pd.DataFrame({"order": ["SAF"], "mean_wait_s": [7200.0]}))
      order  mean wait (h)
    0   SAF            2.0
    """
    table = table.copy()
    if table.columns.is_unique and "measure" in table:
        measures = table["measure"].tolist()  # the column may be categorical
        timed = pd.Series([is_duration(name) for name in measures], table.index, bool)
        for name in _OF_MEASURES:
            if name in table and pd.api.types.is_float_dtype(table[name]):
                table[name] = table[name].where(~timed, table[name] / HOUR)
        table["measure"] = [hourly(name) if is_duration(name) else name for name in measures]
    names = list(table.columns)
    for place, name in enumerate(names):
        if is_duration(name) and pd.api.types.is_numeric_dtype(table.dtypes.iloc[place]):
            table.isetitem(place, (table.iloc[:, place] / HOUR).array)
            names[place] = hourly(name)
    table.columns = pd.Index(names)
    return table
