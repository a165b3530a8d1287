"""Results: the table of a campaign, and what is commonly asked of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.statistics import Effect, Statistic, bootstrap, having, paired, require_numbers
from simmodels.errors import require_known
from simmodels.ground.cards import bars, card, number

_SHOWN: Final = 24  # as many rows a notebook shows


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)  # a table is neither equal nor hashed
class Results:
    """What came of a campaign.

    Parameters
    ----------
    table
        A row for each row of each cell that is done: the factors, the replication, then what `Study.run_cell`
        returned, these columns by name. Rows are in the order of the design.
    factors
        The values of each factor, by its name.
    parameters
        What all cells share.
    seed
        The campaign's seed.
    cells, failed
        How many cells the design has, and how many of them failed; the rest was not run yet.
    done
        How many are done.
    judged
        Whether claims get a verdict at the campaign's scale.

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.campaigns import Results
    >>> table = pd.DataFrame({"order": ["FCFS", "SAF"], "replication": [0, 0], "wait_s": [9.0, 4.0]})
    >>> results = Results(table=table, factors={"order": ["FCFS", "SAF"]})
    >>> results.measures
    ('wait_s',)
    >>> results.where(order="SAF")["wait_s"].tolist()
    [4.0]
    """

    table: pd.DataFrame
    factors: Mapping[str, Sequence[Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    cells: int = 0
    done: int = 0
    failed: int = 0
    judged: bool = True

    def texts(self, factor: str) -> list[str]:
        """Return the values of a factor as texts, in the order of the design, without None."""
        return [str(value) for value in self.factors[factor] if value is not None]

    def __repr__(self) -> str:
        """Return a line about it."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        by = f" by {', '.join(self.factors)}" if self.factors else ""
        return f"<Results: {self.done:,} of {self.cells:,} cells done{failed}; {', '.join(self.measures)}{by}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the means of each measure, and those of the first as bars."""
        title = repr(self).strip("<>").split(";")[0]
        summary = self.summary()
        if summary.empty:
            return card(title, {})
        first = summary[summary["measure"] == summary["measure"].iloc[0]].head(_SHOWN)
        names = [", ".join(f"{name}={row[name]}" for name in self.factors) or "all" for _, row in first.iterrows()]
        chart = bars(dict(zip(names, first["mean"], strict=True)), f"mean of {first['measure'].iloc[0]}")
        table = summary.drop(columns=["q1", "q3"]).to_html(index=False, border=0, max_rows=_SHOWN, float_format=number)
        return card(title, {}, chart, f'<div style="font-size:85%">{table}</div>')

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the columns that are measured and are numbers."""
        return tuple(
            name
            for name in self.table.columns
            if name not in {*self.factors, REPLICATION} and pd.api.types.is_numeric_dtype(self.table[name])
        )

    def where(self, **values: object) -> pd.DataFrame:
        """Return the rows that have these values of factors or other columns; none of a table without rows."""
        if self.table.empty:
            return self.table
        for name in values:
            require_known("column", name, self.table.columns)
        return self.table[having(self.table, values)]

    def level(
        self, measure: str, of: Mapping[str, object] | None = None, *, statistic: Statistic = "mean"
    ) -> Effect | None:
        """Return how large a measure is under a choice of factors, over the replications; None if no cell has it.

        Parameters
        ----------
        measure, of
            See `experiments.campaigns.paired`.
        statistic
            What is taken over the replications.

        Raises
        ------
        RequestError
            See `experiments.campaigns.paired` and `experiments.campaigns.bootstrap`.
        """
        return self.difference(measure, of or {}, None, statistic=statistic)

    def difference(
        self,
        measure: str,
        of: Mapping[str, object],
        against: Mapping[str, object] | None,
        *,
        relative: bool = False,
        statistic: Statistic = "mean",
    ) -> Effect | None:
        """Return how much larger a measure is under one choice of factors than under another; None if no cells pair.

        Replications are paired: both choices met the same random numbers there.

        Parameters
        ----------
        measure, of, against, relative
            See `experiments.campaigns.paired`.
        statistic
            What is taken over the replications.

        Raises
        ------
        RequestError
            See `experiments.campaigns.paired` and `experiments.campaigns.bootstrap`.
        """
        for name in (*of, *(against or {})):
            require_known("factor", name, self.factors)
        if self.table.empty:
            return None
        names = tuple(self.factors)
        values = paired(self.table, measure, factors=names, of=of, against=against, relative=relative)
        return bootstrap(values.to_numpy(), statistic=statistic, seed=self.seed) if len(values) else None

    def summary(self, measures: Sequence[str] = ()) -> pd.DataFrame:
        """Return median and quartiles of the measures, one row per measure and combination of factors.

        Parameters
        ----------
        measures
            The measures; none for all.

        Raises
        ------
        RequestError
            A measure is no number.

        Returns
        -------
        pandas.DataFrame
            ``measure``, the factors, ``cells``, ``q1``, ``median``, ``q3``, ``mean``: the rows of a cell are averaged
            first; quartiles are linear between values (Hyndman and Fan 1996, type 7).
        """
        shown = [name for name in measures if name in self.table] or list(self.measures)
        columns = ["measure", *self.factors, "cells", "q1", "median", "q3", "mean"]
        if self.table.empty or not shown:
            return pd.DataFrame(columns=columns)
        for name in shown:
            require_numbers(self.table, name)
        by = list(self.factors)
        means = self.table.groupby([*by, REPLICATION], dropna=False, sort=False)[shown].mean()
        parts = []
        for name in shown:
            values = means[name].dropna()
            grouped = (
                values.groupby(level=by, dropna=False, sort=False) if by else values.groupby(np.zeros(len(values)))
            )
            # What describe() gives, which takes a second for every thirty groups.
            columns_of = [grouped.count(), *(grouped.quantile(at) for at in (0.25, 0.5, 0.75)), grouped.mean()]
            part = pd.concat(columns_of, axis=1, keys=columns[-5:]).reset_index(drop=not by)
            part.insert(0, "measure", name)
            parts.append(part.astype({"cells": "int64"}))
        return pd.concat(parts, ignore_index=True)[columns]
