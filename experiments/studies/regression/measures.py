"""Statistics that no column of the regression study has, and what is measured in words."""

from typing import Final

import numpy as np

from experiments.campaigns.sentences import Sentence
from experiments.studies.regression.settings import SEVEN, WAITS
from simmodels.ground.numbers import Floats

TIMES: Final = "log10 of AVGbsld"
INFLATION: Final = "log10 of the largest factor"
"""Of a form, or of any: a column of the draws, of which single draws are shown, too."""
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
