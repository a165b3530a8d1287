"""The measures of the regression study that no column has: ranks, shares of windows, and what is asked of the fits."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from experiments.campaigns.families import Measured, quotient_of_extremes
from experiments.campaigns.judging import Evidence, OwnMeasure, by_replication, family_of
from experiments.campaigns.sentences import Sentence, names_of
from experiments.campaigns.statistics import Effect, bootstrap_rows
from experiments.campaigns.statistics import share as share_of
from experiments.studies.regression.settings import MEASURE, SEVEN, WAITS
from simmodels.ground.numbers import Floats

if TYPE_CHECKING:
    from experiments.studies.regression.results import RegressionResults

TIMES: Final = "log10 of AVGbsld"
INFLATION: Final = "log10 of the largest factor"
"""Of a form, or of any: a column of the draws, of which single draws are shown, too."""
_JOBS_OF_A_PAIR: Final = 32
_APART: Final = (
    "by the standard errors over the pairs, of which the intervals of all together have 95 % confidence; a factor of "
    "2: a margin of ours"
)
_SHARE: Final = (
    f"share of the windows in which it is among the three lowest of seven, of those in which AVGbsld under FCFS is at "
    f"least {WAITS:g}; among the three lowest, and {WAITS:g}: margins of ours"
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


def in_words(said: Sentence) -> str:
    """Return what is measured for a sentence, in words."""
    compared, name = said.compared, str(said.compared.values)
    words = [_WORDS[name]]
    if name == TIMES and any(compared.bounds.values()):
        words.append("a factor of 2: a margin of ours")
    if name == INFLATION and (compared.against or said.than_on):
        words[0] += ", less that of the other"
    if words[0].startswith("rank"):
        words[0] += f" among {', '.join(compared.against or SEVEN)}{' and itself' if compared.against else ''}"
    return "; ".join(filter(None, (*words, said.measure)))


def rank(
    found: "RegressionResults", said: Sentence, on: Sequence[str], *, spread: bool = False, last: int = 1
) -> dict[str, Measured] | None:
    """Return the rank of an order's median, or of its interquartile range, among others or the seven; 1 is the lowest.

    Orders that are equal share their mean rank. `last` is 3 for the last third of the windows.
    """
    (workload,), (point,) = on, found.points(said.compared, on[0])
    (order,) = names_of(said.compared.of)
    orders = [*(name for name in said.compared.against or SEVEN if name != order), order]
    rows = by_replication({name: found.value(MEASURE, name, workload, **point) for name in orders}).dropna()
    rows = rows.iloc[len(rows) - len(rows) // last :]
    if rows.empty:
        return None
    statistic = spread_rank_of_last if spread else rank_of_last

    def measured(members: int) -> Effect:
        confidence = found.confidence(members)
        return bootstrap_rows(rows.to_numpy(), statistic, confidence=confidence, seed=found.results.seed)

    return {workload: measured}


def share(
    found: "RegressionResults", said: Sentence, on: Sequence[str], *, all_there: bool = False
) -> dict[str, Measured] | None:
    """Return the share of the windows in which an order is among the three lowest of seven.

    Equal ones have their mean rank. Left out are windows in which hardly any job waits under FCFS. With `all_there` the
    windows are all that there are, and no sample of others: they are counted.
    """
    (workload,), (order,) = on, names_of(said.compared.of)
    rows = by_replication({name: found.value(MEASURE, name, workload) for name in SEVEN}).dropna()
    rows = rows[rows["FCFS"] >= WAITS]
    if rows.empty:
        return None
    among = rows.rank(axis="columns")[order].to_numpy() <= 3
    if all_there:
        return {workload: lambda _: Effect.exact(float(among.mean()), replications=len(among))}
    return {workload: lambda members: share_of(among, confidence=found.confidence(members))}


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


# -- fits -------------------------------------------------------------------------------------------


def inflation(found: "RegressionResults", said: Sentence, on: Sequence[str]) -> Evidence | None:
    """Return the median over the draws of pairs, and from where to where single draws go."""
    (values,) = family_of(found, said, on).values()
    draws = values.dropna()
    if draws.empty:
        return None
    return Evidence(found.average(np.asarray(draws), 1), f"10^{draws.min():.2f} to 10^{draws.max():.2f} in a draw")


def coefficient(found: "RegressionResults", said: Sentence, on: Sequence[str]) -> Evidence | None:
    """Return the coefficient of q in a form, with 1.96 standard errors on either side."""
    fit = found.fit(on[0], str(said.compared.of))
    row = fit if fit.empty else fit[fit["term"] == "q"].dropna(subset="error_by_pair")
    if row.empty:
        return None
    theta, error = (float(row[name].iloc[0]) for name in ("theta", "error_by_pair"))
    pairs = int(str(found.results.parameters["pairs"]))
    return Evidence(Effect(theta, theta - 1.96 * error, theta + 1.96 * error, pairs))


def apart(found: "RegressionResults", said: Sentence, on: Sequence[str], *, largest: int = 1) -> Evidence | None:
    """Return log10 of the (second) largest mean absolute error over the smallest, with its interval."""
    fits = [found.fit(training, form) for training in on for form in names_of(said.compared.of)]
    if any(fit.empty or fit["mae_error"].isna().iloc[0] for fit in fits):
        return None
    errors, spread, rows = ([float(fit[name].iloc[0]) for fit in fits] for name in ("mae", "mae_error", "rows"))
    pairs = int(min(rows)) // _JOBS_OF_A_PAIR
    return Evidence(quotient_of_extremes(errors, spread, replications=pairs, largest=largest))


MEASURES: Final[Mapping[str, OwnMeasure]] = {
    "median": rank,
    "interquartile range": partial(rank, spread=True),
    "median of the last third": partial(rank, last=3),
    "share of windows": share,
    "share of all windows": partial(share, all_there=True),
    INFLATION: inflation,
    "coefficient of q": coefficient,
    "errors apart": apart,
    "errors but one apart": partial(apart, largest=2),
}
"""The measures by the names that rows have for them."""
