"""Statistics: paired differences under common random numbers, and how sure they are (bootstrap, by scipy)."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from experiments.campaigns.cell import REPLICATION
from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.streams import stream

Statistic = Literal["mean", "median"]

ENOUGH: Final = 10
"""The least number of values that an interval is drawn from. Of fewer, that of a median cannot leave a sample that says
little of the tails, and the studentized one of a mean has ends far outside of anything that could be measured."""
ENOUGH_FOR_TAILS: Final = 50
"""The same of a 10th or 90th percentile: of ten values it lies between the outermost two, and no bootstrap of them sees
what lies beyond, so that its interval is too narrow."""
_RESAMPLES: Final = 9_999
_BATCH: Final = 1_000
_STATISTICS: Final[dict[str, Callable[..., Any]]] = {"mean": np.mean, "median": np.median}


@dataclass(frozen=True, slots=True)
class Effect:
    """How large something is, and how sure that is.

    Parameters
    ----------
    estimate
        The value found.
    low, high
        The ends of its confidence interval; None where there are too few values for one.
    replications
        How many independent values it was found from.
    confidence
        The confidence of the interval; 1 for what is counted and not estimated.
    needed
        Of how many independent values an interval is given.

    Examples
    --------
    >>> from experiments.campaigns import Effect
    >>> Effect.exact(3)
    Effect(estimate=3.0, low=3.0, high=3.0, replications=1, confidence=1.0, needed=10)
    """

    estimate: float
    low: float | None
    high: float | None
    replications: int
    confidence: float = 0.95
    needed: int = ENOUGH

    @classmethod
    def exact(cls, value: float, *, replications: int = 1) -> Self:
        """Return the effect of what is counted over all cells and not estimated from a sample of them."""
        return cls(float(value), float(value), float(value), replications, 1.0)

    def through(self, rising: Callable[[float], float]) -> "Effect":
        """Return the effect on what a function that rises makes of the values, as on ratios of one on logarithms."""
        low, high = (None if end is None else rising(end) for end in (self.low, self.high))
        return replace(self, estimate=rising(self.estimate), low=low, high=high)

    def columns(self, name: str, prefix: str = "") -> dict[str, float | None]:
        """Return the estimate under a name, and the ends of the interval, as columns of a table."""
        return {name: self.estimate, f"{prefix}low": self.low, f"{prefix}high": self.high}


def compared(effect: Effect, bounds: Mapping[str, float]) -> tuple[bool, bool]:
    """Return whether all of an interval keeps to the bounds, and whether none of it keeps to one of them.

    Parameters
    ----------
    effect
        With an interval; without one, neither is so.
    bounds
        By name: ``more_than``, ``at_least``, ``less_than``, ``at_most``; the first and the third exclude the bound.
    """
    if effect.low is None or effect.high is None:
        return False, False
    low, high = effect.low, effect.high
    checks = [
        (low > bound, high <= bound) if name == "more_than"
        else (low >= bound, high < bound) if name == "at_least"
        else (high < bound, low >= bound) if name == "less_than"
        else (high <= bound, low > bound)
        for name, bound in bounds.items()
    ]  # fmt: skip
    return all(inside for inside, _ in checks), any(outside for _, outside in checks)


def bootstrap(values: ArrayLike, *, statistic: Statistic = "mean", confidence: float = 0.95, seed: int = 0) -> Effect:
    """Return mean or median of independent values, with its bootstrap interval.

    Of the mean it is the studentized one (bootstrap-t), of the median the bias-corrected and accelerated one of scipy.
    For a mean of few or skewed values, the latter was found to be too narrow (5 normal values: 83 % instead of 95 %).

    Parameters
    ----------
    values
        Shape (n,): one value per replication, all finite: drop missing values before calling.
    statistic
        Which of the two.
    confidence
        The confidence of the interval, in (0, 1).
    seed
        The seed of the resampling.

    Returns
    -------
    Effect
        The estimate with both ends of its interval, in the unit of the values.

    Raises
    ------
    RequestError
        There are no values, or one is not finite; the statistic is unknown, or the confidence out of range.

    References
    ----------
    Efron 1987, "Better bootstrap confidence intervals", doi:10.1080/01621459.1987.10478410; Efron and Tibshirani 1993,
    "An introduction to the bootstrap", chapter 12; `scipy.stats.bootstrap`.

    Examples
    --------
    >>> from experiments.campaigns import bootstrap
    >>> effect = bootstrap([3.1, 2.7, 3.4, 2.9, 3.0, 3.3, 2.8, 3.2, 3.1, 2.9])
    >>> round(effect.estimate, 2), round(effect.low, 2), round(effect.high, 2)
    (3.04, 2.88, 3.21)
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not len(found):
        raise RequestError(must_be("values", "of one dimension, and at least one", found))
    if not np.isfinite(found).all():
        raise RequestError(f"{np.sum(~np.isfinite(found))} of {len(found)} values are not finite", "omit them")
    require_known("statistic", statistic, _STATISTICS)
    if not 0 < confidence < 1:
        raise RequestError(must_be("confidence", "a number > 0 and < 1", confidence))
    measured = _STATISTICS[statistic]
    estimate = float(measured(found))
    if len(found) < ENOUGH:
        return Effect(estimate, None, None, len(found), confidence)
    if (found == found[0]).all():  # no spread to resample
        return Effect(estimate, estimate, estimate, len(found), confidence)
    low = high = math.nan
    if statistic == "mean":
        low, high = studentized(found, confidence, seed)
    if not (math.isfinite(low) and math.isfinite(high)):  # a median; or too many resamples are of one value only
        low, high = _interval(found, statistic, confidence, seed, "BCa")
    if not (math.isfinite(low) and math.isfinite(high)):  # no acceleration: a median that no single value moves
        low, high = _interval(found, statistic, confidence, seed, "percentile")
    return Effect(estimate, low, high, len(found), confidence)


def bootstrap_rows(
    rows: ArrayLike,
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    confidence: float = 0.95,
    seed: int = 0,
    block: int = 1,
    needed: int = ENOUGH,
) -> Effect:
    """Return a statistic of rows, such as a rank among columns, with its percentile bootstrap interval.

    Parameters
    ----------
    rows
        Shape (n, columns): one row per replication; all finite.
    statistic
        Given float64[..., n, columns], what is measured, float64[...].
    confidence
        The confidence of the interval, in (0, 1).
    seed
        The seed of the resampling.
    block
        How many consecutive rows are drawn together (moving blocks): 1 if rows are independent, and as many as depend
        on each other if they follow each other in time.
    needed
        Of how many blocks that do not overlap an interval is given.

    Raises
    ------
    RequestError
        There are no rows, or a value is not finite.

    References
    ----------
    Efron and Tibshirani 1993, "An introduction to the bootstrap", chapter 13; Künsch 1989, "The jackknife and the
    bootstrap for general stationary observations", doi:10.1214/aos/1176347265.
    """
    found = np.asarray(rows, dtype=np.float64)
    if found.ndim != 2 or not len(found) or not np.isfinite(found).all():
        raise RequestError(must_be("rows", "finite, and of two dimensions", found))
    estimate = float(statistic(found))
    blocks = len(found) // block
    if blocks < needed:
        return Effect(estimate, None, None, blocks, confidence, needed)
    draws = stream(seed, "bootstrap")
    batch = max(1, _BATCH // found.shape[1])
    measured = [
        statistic(found[_drawn(draws, min(batch, _RESAMPLES - begun), len(found), block)])
        for begun in range(0, _RESAMPLES, batch)
    ]
    tails = (0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence))
    # A rank takes few values: the interval ends at values that were found.
    low, high = np.quantile(np.concatenate(measured), tails, method="inverted_cdf")
    return Effect(estimate, float(low), float(high), blocks, confidence, needed)


def _drawn(draws: np.random.Generator, samples: int, rows: int, block: int) -> NDArray[np.int64]:
    """Return int64[samples, rows], the places of the rows of bootstrap samples: blocks that begin anywhere."""
    if block == 1:
        return draws.integers(rows, size=(samples, rows))
    first = draws.integers(rows - block + 1, size=(samples, -(-rows // block)))
    places: NDArray[np.int64] = (first[..., np.newaxis] + np.arange(block)).reshape(samples, -1)
    return places[:, :rows]


def share(values: ArrayLike, *, confidence: float = 0.95) -> Effect:
    """Return the share of independent values that are true, with its exact interval.

    A bootstrap has none where all are true, or none is: it would say that there is no doubt.

    Parameters
    ----------
    values
        bool[n]: one value a replication.
    confidence
        The confidence of the interval, in (0, 1); it is no less than that.

    Raises
    ------
    RequestError
        There are no values.

    References
    ----------
    Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    doi:10.1093/biomet/26.4.404; `scipy.stats.binomtest`.
    """
    found = np.asarray(values, dtype=np.bool_)
    if found.ndim != 1 or not len(found):
        raise RequestError(must_be("values", "of one dimension, and at least one", found))
    estimate = float(found.mean())
    if len(found) < ENOUGH:
        return Effect(estimate, None, None, len(found), confidence)
    from scipy import stats  # noqa: PLC0415  imported in 0.4 s, by those who need it

    ends = stats.binomtest(int(found.sum()), len(found)).proportion_ci(confidence, method="exact")
    return Effect(estimate, float(ends.low), float(ends.high), len(found), confidence)


def studentized(values: NDArray[np.float64], confidence: float, seed: int) -> tuple[float, float]:
    """Return the ends of the studentized bootstrap interval of a mean; NaN or infinite where there is none.

    Parameters
    ----------
    values
        Shape (n,): one value per replication, all finite.
    confidence, seed
        See `bootstrap`.
    """
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
    if not error:  # the squares of so small differences are 0
        return math.nan, math.nan
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(_distances(values.tobytes(), seed), (tail, 1.0 - tail), method="inverted_cdf")
    return float(mean - high * error), float(mean - low * error)


@lru_cache(maxsize=256)  # a mean is asked for its own interval, and then for the wider one among several
def _distances(content: bytes, seed: int) -> NDArray[np.float64]:
    """Return how far the means of bootstrap samples are from that of all values, in standard errors of their own."""
    values = np.frombuffer(content)
    draws, count, mean = stream(seed, "bootstrap"), len(values), values.mean()
    found = []
    for begun in range(0, _RESAMPLES, _BATCH):
        resamples = values[draws.integers(count, size=(min(_BATCH, _RESAMPLES - begun), count))]
        means = resamples.mean(axis=1, keepdims=True)
        spread = resamples.std(axis=1, ddof=1, mean=means) / math.sqrt(count)
        distance = means[:, 0] - mean
        # One value, drawn again and again, has no spread: it lies infinitely far off.
        far = np.where(distance == 0, 0.0, np.copysign(np.inf, distance))
        with np.errstate(over="ignore"):  # nearly no spread is nearly infinitely far
            found.append(np.divide(distance, spread, out=far, where=spread > 0))
    return np.concatenate(found)


def _interval(
    values: NDArray[np.float64],
    statistic: Statistic,
    confidence: float,
    seed: int,
    method: Literal["BCa", "percentile"],
) -> tuple[float, float]:
    """Return the ends of the bootstrap interval; NaN where the method has none."""
    from scipy import stats  # noqa: PLC0415  as above

    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # BCa has no interval then: seen by its ends
        found = stats.bootstrap(
            (values,),
            _STATISTICS[statistic],
            confidence_level=confidence,
            n_resamples=_RESAMPLES,
            batch=_BATCH,
            method=method,
            rng=stream(seed, "bootstrap"),
        ).confidence_interval
    return float(found.low), float(found.high)


def paired(
    table: pd.DataFrame,
    measure: str,
    *,
    factors: Sequence[str],
    of: Mapping[str, object],
    against: Mapping[str, object] | None = None,
    relative: bool = False,
) -> "pd.Series[float]":
    """Return a measure under one choice of factors minus the same under another, a value a replication.

    Cells are paired that agree in the replication, and so met the same random numbers, and in all factors but those
    named; a replication's value is the mean over its pairs. The rows of a cell are averaged first. Pairs of which one
    is missing are left out.

    Parameters
    ----------
    table
        A row for each row of each cell, with the factors and the replication.
    measure
        The column that is compared.
    factors
        The columns that are factors.
    of, against
        The values of some factors; a row is of the choice if it has them all. Without `against`, the value itself is
        returned and not a difference.
    relative
        Whether each difference is divided by the value against which it is taken.

    Raises
    ------
    RequestError
        A name is unknown, the measure is no number, or a difference is relative to 0.

    Returns
    -------
    pandas.Series
        The values by replication; empty if there are no such cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.campaigns import paired
    >>> table = pd.DataFrame({"order": ["FCFS", "SAF"], "replication": [0, 0], "wait_s": [9.0, 4.0]})
    >>> paired(table, "wait_s", factors=["order"], of={"order": "SAF"}, against={"order": "FCFS"}).tolist()
    [-5.0]
    """
    if measure not in table:
        require_known("measure", measure, [name for name in table.columns if name not in {*factors, REPLICATION}])
    require_numbers(table, measure)
    first = _choice(table, measure, factors, of, without={*of, *(against or {})})
    if against is None:
        return first.groupby(level=REPLICATION).mean()
    second = _choice(table, measure, factors, against, without={*of, *against})
    first, second = first.align(second, join="inner")
    difference = first - second
    if relative:
        if (second == 0).any():
            raise RequestError(f"{measure!r} relative to {_shown(against)} is undefined, as that is 0 in a replication")
        difference /= second
    return difference.groupby(level=REPLICATION).mean()


def require_numbers(table: pd.DataFrame, measure: str) -> None:
    """Refuse a measure that is no number."""
    if not pd.api.types.is_numeric_dtype(table[measure]):
        raise RequestError(f"measure {measure!r} is of type {table[measure].dtype}", "choose a measure of numbers")


def _choice(
    table: pd.DataFrame, measure: str, factors: Sequence[str], of: Mapping[str, object], without: Iterable[str]
) -> "pd.Series[float]":
    """Return the measure of the cells that have these values, by replication and all factors but those left out."""
    for name in of:
        require_known("factor", name, factors)
    left_out = set(without)
    by = [REPLICATION, *(name for name in factors if name not in left_out)]
    found = table[having(table, of)].dropna(subset=[measure])
    return found.groupby(by, dropna=False, sort=True)[measure].mean()


def having(table: pd.DataFrame, values: Mapping[str, object]) -> "pd.Series[bool]":
    """Return which rows have these values; None stands for a value that is missing."""
    chosen = pd.Series(data=True, index=table.index)
    for name, value in values.items():
        chosen &= table[name].isna() if value is None else table[name] == value
    return chosen


def _shown(values: Mapping[str, object]) -> str:
    """Return a choice of factors as it is named in messages."""
    return ", ".join(f"{name} {value}" for name, value in values.items()) or "any values"
