"""What is asked of the results of the regression study: windows, draws and fits by what they are of."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns import Effect, bootstrap
from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.families import Evidence, Measured, quotient_of_extremes
from experiments.campaigns.judging import NOTHING, StudyResults, Values, by_replication, family_of
from experiments.campaigns.sentences import Sentence, names_of
from experiments.campaigns.statistics import bootstrap_rows, share
from experiments.studies.regression import paper, settings
from simmodels.ground.numbers import Floats

ANY: Final = "any form"
_JOBS_OF_A_PAIR: Final = 32
TIMES: Final = "log10 of AVGbsld"
INFLATION: Final = "log10 of the largest factor"
"""Of a form, or of any: a column of the draws, of which single draws are shown, too."""
_APART: Final = (
    "by the standard errors over the pairs, of which the intervals of all together have 95 % confidence; a factor of "
    "2: a margin of ours"
)
_SHARE: Final = (
    f"share of the windows in which it is among the three lowest of seven, of those in which AVGbsld under FCFS is at "
    f"least {settings.WAITS:g}; among the three lowest, and {settings.WAITS:g}: margins of ours"
)
_WORDS: Final = {
    TIMES: "median over the windows of log10 of the quotient of AVGbsld",
    "median": "rank of its median",
    "interquartile range": "rank of its interquartile range over the windows",
    "median of the last third": "rank of its median in the last third of the windows",
    "share of windows": _SHARE,
    "share of all windows": _SHARE,
    INFLATION: "median over the draws of log10 of the largest uncentred factor without intercept",
    "coefficient of q": "the coefficient, with 1.96 standard errors that allow for dependence within a pair",
    "errors apart": f"log10 of the largest over the smallest; {_APART}",
    "errors but one apart": "log10 of the second largest over the smallest of four (almost all functions: three of "
    f"four); {_APART}",
}


class RegressionResults(StudyResults):
    """The results of the study, as they are asked for by a method: of workloads by window, of training sets by draw.

    The windows are of orders in a ``mode``, of which those that are learned have a training set, ``train``.
    """

    order = settings.ORDERS
    subjects = paper.SETS
    usual = (paper.SYNTHETIC,)
    centre: Mapping[str, Any] = MappingProxyType({"mode": "backfilling", "train": settings.GENERATED})
    method = settings.DRAWN
    among = 1

    def by(self, method: settings.Method, among: int = 1) -> "RegressionResults":
        """Return the same by a method, with intervals that hold together with those of n workloads."""
        _ = self._windows  # made once, and copied: they are those of all methods
        found = copy(self)
        found.method, found.among = method, among
        return found

    @property
    def ours(self) -> bool:  # type: ignore[override]  # it depends on the method
        """Whether the method is none of the paper's text, or what was run has other settings."""
        given, needed = self.results.parameters, self.method.as_published
        return self.method.ours or any(given.get(name, value) != value for name, value in needed.items())

    def confidence(self, members: int) -> float:
        """Return the confidence of the intervals of n members on each workload."""
        return 1.0 - 0.05 / (members * self.among)

    def average(self, values: Floats, members: int) -> Effect:
        """Return the median: slowdowns, and factors of inflation, are skewed."""
        return bootstrap(values, statistic="median", confidence=self.confidence(members), seed=self.results.seed)

    def text(self, said: Sentence, on: Sequence[str]) -> str:  # noqa: ARG002  rows name the training sets themselves
        """Return what is said, with the method."""
        return f"{said.text} ({self.method.name})" if self.method.name else said.text

    def measure(self, said: Sentence) -> str:
        """Return what is measured, in words: what the row adds comes last."""
        compared, name = said.compared, str(said.compared.values)
        words = [_WORDS[name]]
        if name == TIMES and any(compared.bounds.values()):
            words.append("a factor of 2: a margin of ours")
        if name == INFLATION and (compared.against or said.than_on):
            words[0] += ", less that of the other"
        if words[0].startswith("rank"):
            others = ", ".join(compared.against or settings.SEVEN)
            words[0] += f" among {others}{' and itself' if compared.against else ''}"
        return "; ".join(filter(None, (*words, said.measure)))

    def scope(self, said: Sentence, on: Sequence[str]) -> None:
        """Return nothing: each is about what was run; what is needed of all workloads together is said in `claims`."""

    def levels(self, factor: str, subject: str) -> Sequence[str]:
        """Return the modes; or what is learned from, beside the generated set the workload itself if it can be."""
        if factor == "mode":
            return settings.MODES
        return (settings.OWN, settings.GENERATED) if self._own(subject) != settings.GENERATED else (settings.GENERATED,)

    def _own(self, workload: str) -> str:
        printed = self.method.scores is None and paper.set_of(workload) == paper.SYNTHETIC
        return settings.GENERATED if printed else workload

    # -- values -------------------------------------------------------------------------------------

    @cached_property
    def _windows(self) -> dict[tuple[Any, ...], Values]:
        """The slowdowns by window, of each workload, mode, depth of the queue, order, scores and training set."""
        rows = self.part(settings.ONLINE)
        if rows.empty:
            return {}
        keys = ["workload", "mode", "queue_depth", "order", "scores", "train"]
        groups: Any = rows.set_index(REPLICATION).groupby(keys, sort=False, dropna=False)[settings.MEASURE]
        return {tuple(None if pd.isna(name) else name for name in key): of.sort_index() for key, of in groups}

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401
        """Return slowdowns of an order by window, or log10 of them; or the largest factor of a form by draw."""
        if column == INFLATION:
            return self.draws(subject).get(alternative, NOTHING)
        mode, train = (moved.get(name, self.centre[name]) for name in ("mode", "train"))
        learned = (self.method.scores, self._own(subject) if train == settings.OWN else train)
        way = learned if settings.is_learned(alternative) else (None, None)
        values = self._windows.get((subject, mode, self.method.depth, alternative, *way), NOTHING)
        return pd.Series(np.log10(values)) if column == TIMES else values

    def waits(self, workload: str, mode: str) -> bool:
        """Return whether jobs wait under FCFS; so, too, if that is not known."""
        fcfs = self.value(settings.MEASURE, "FCFS", workload, mode=mode).dropna()
        return fcfs.empty or float(fcfs.median()) >= settings.WAITS

    def part(self, part: str) -> pd.DataFrame:
        """Return the rows of one kind of cells, with the paper's training set of each (None for another one)."""
        rows = self.results.where(part=part)
        return rows.assign(set=rows["train"].map(lambda name: paper.set_of(str(name))) if len(rows) else None)

    def draws(self, training: str) -> pd.DataFrame:
        """Return log10 of the largest factor: one row per draw of pairs, one column per form, and one for any form."""
        rows = of_first(self.part(settings.DRAW), training)
        if rows.empty:
            return pd.DataFrame()
        rows = rows.assign(size=np.log10(rows["vif_paper"].astype(float)))
        found = rows.pivot_table(index=REPLICATION, columns="form", values="size", aggfunc="mean")
        return found.assign(**{ANY: found.max(axis="columns")})

    def fit(self, training: str, form: str) -> pd.DataFrame:
        """Return the terms of a form that was fitted to the scores of the method: none if it was not."""
        rows = self.part(settings.FIT)
        chosen = rows if rows.empty else rows[(rows["scores"] == self.method.scores) & (rows["order"] == form)]
        return of_first(chosen, training)

    # -- measures that no column has ------------------------------------------------------------------

    def _rank(
        self, said: Sentence, on: Sequence[str], *, spread: bool = False, last: int = 1
    ) -> dict[str, Measured] | None:
        """Return the rank of an order's median, or of its interquartile range, among others or the seven; 1 is least.

        Orders that are equal share their mean rank. `last` is 3 for the last third of the windows.
        """
        (workload,), (point,) = on, self.points(said.compared, on[0])
        (order,) = names_of(said.compared.of)
        orders = [*(name for name in said.compared.against or settings.SEVEN if name != order), order]
        rows = by_replication({name: self.value(settings.MEASURE, name, workload, **point) for name in orders}).dropna()
        rows = rows.iloc[len(rows) - len(rows) // last :]
        if rows.empty:
            return None
        statistic = spread_rank_of_last if spread else rank_of_last

        def measured(members: int) -> Effect:
            confidence = self.confidence(members)
            return bootstrap_rows(rows.to_numpy(), statistic, confidence=confidence, seed=self.results.seed)

        return {workload: measured}

    def _share(self, said: Sentence, on: Sequence[str], *, all_there: bool = False) -> dict[str, Measured] | None:
        """Return the share of the windows in which an order is among the three lowest of seven.

        Equal ones have their mean rank. Left out are windows in which hardly any job waits under FCFS. With `all_there`
        the windows are all that there are, and no sample of others: they are counted.
        """
        (workload,), (order,) = on, names_of(said.compared.of)
        rows = by_replication({name: self.value(settings.MEASURE, name, workload) for name in settings.SEVEN}).dropna()
        rows = rows[rows["FCFS"] >= settings.WAITS]
        if rows.empty:
            return None
        among = rows.rank(axis="columns")[order].to_numpy() <= 3
        if all_there:
            return {workload: lambda _: Effect.exact(float(among.mean()), replications=len(among))}
        return {workload: lambda members: share(among, confidence=self.confidence(members))}

    def _inflation(self, said: Sentence, on: Sequence[str]) -> Evidence | None:
        """Return the median over the draws of pairs, and from where to where single draws go."""
        (values,) = family_of(self, said, on).values()
        draws = values.dropna()
        if draws.empty:
            return None
        return Evidence(self.average(np.asarray(draws), 1), f"10^{draws.min():.2f} to 10^{draws.max():.2f} in a draw")

    def _coefficient(self, said: Sentence, on: Sequence[str]) -> Effect | None:
        """Return the coefficient of q in a form, with 1.96 standard errors on either side."""
        fit = self.fit(on[0], str(said.compared.of))
        row = fit if fit.empty else fit[fit["term"] == "q"].dropna(subset="error_by_pair")
        if row.empty:
            return None
        theta, error = (float(row[name].iloc[0]) for name in ("theta", "error_by_pair"))
        return Effect(theta, theta - 1.96 * error, theta + 1.96 * error, self.results.parameters["pairs"])

    def _apart(self, said: Sentence, on: Sequence[str], *, largest: int = 1) -> Effect | None:
        """Return log10 of the (second) largest mean absolute error over the smallest, with its interval."""
        fits = [self.fit(training, form) for training in on for form in names_of(said.compared.of)]
        if any(fit.empty or fit["mae_error"].isna().iloc[0] for fit in fits):
            return None
        errors, spread, rows = ([float(fit[name].iloc[0]) for fit in fits] for name in ("mae", "mae_error", "rows"))
        pairs = int(min(rows)) // _JOBS_OF_A_PAIR
        return quotient_of_extremes(errors, spread, replications=pairs, largest=largest)

    measures = MappingProxyType(
        {
            "median": _rank,
            "interquartile range": partial(_rank, spread=True),
            "median of the last third": partial(_rank, last=3),
            "share of windows": _share,
            "share of all windows": partial(_share, all_there=True),
            INFLATION: _inflation,
            "coefficient of q": _coefficient,
            "errors apart": _apart,
            "errors but one apart": partial(_apart, largest=2),
        }
    )


def of_first(rows: pd.DataFrame, training: str) -> pd.DataFrame:
    """Return the rows of a training set, of the first of those that were run: files may be of the same set."""
    rows = rows[rows["set"] == training] if len(rows) else rows
    return rows[rows["train"] == rows["train"].iloc[0]] if len(rows) else rows


# -- ranks -----------------------------------------------------------------------------------------


def rank_of_last(values: Floats) -> Floats:
    """Return the rank of the median of the last column among those of all; of windows [..., n, columns]."""
    return _rank(np.median(values, axis=-2))


def spread_rank_of_last(values: Floats) -> Floats:
    """Return the rank of the interquartile range of the last column among those of all; of [..., n, columns]."""
    upper, lower = np.percentile(values, (75.0, 25.0), axis=-2)
    return _rank(upper - lower)


def _rank(found: Floats) -> Floats:
    """Return the rank of the last of the values [..., columns], 1 for the least; equal ones have their mean rank."""
    last = found[..., -1:]
    ranks: Floats = (found < last).sum(axis=-1) + 0.5 * (1.0 + (found == last).sum(axis=-1))
    return ranks
