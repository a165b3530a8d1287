"""Families: what is sure of several effects together, as of a sentence about all policies at all loads."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from experiments.campaigns.statistics import ENOUGH, Effect, bootstrap, compared, studentized
from simmodels.errors import RequestError, must_be

Measured: TypeAlias = Callable[[int], Effect]
"""Given of how many members it is one, the effect of a member: 1 for an interval of its own of 95 %, more for one of
1 - 0.05 / members (Bonferroni)."""
_MISSED: Final = 0.05
_CAUTION: Final = 4
_ROUNDING: Final = 1e-12


class Evidence(NamedTuple):
    """What a sentence is judged by, what is to be said of it, and which of how many members it is."""

    effect: Effect
    note: str = ""
    member: str = ""
    members: int = 1


def mean_among(values: ArrayLike, members: int = 1, *, seed: int = 0) -> Effect:
    """Return a mean with an interval that holds together with those of other members (Bonferroni).

    One alone has the interval of `bootstrap`. Of several, an interval is as long on either side as the longest of three
    is anywhere: both sides of the studentized one, and Student's, each at a quarter of the corrected level. Far out in
    the tails, the plain ones are too short for skewed values: of 400 families of 32 means of 10 exponential values
    each, one or more was missed in 18 % (studentized) and 48 % (Student), and by this rule in 7 %; of lognormal values
    in 40 %, 80 % and 16 %.

    Parameters
    ----------
    values
        Shape (n,): one value per replication, all finite.
    members
        How many intervals are to hold together.
    seed
        The seed of the resampling.

    Raises
    ------
    RequestError
        As `bootstrap`.
    """
    own = bootstrap(values, seed=seed)
    confidence = 1.0 - _MISSED / members
    if members == 1 or own.low is None or own.low == own.high:
        return replace(own, confidence=confidence)
    found = np.asarray(values, dtype=np.float64)
    if np.ptp(found) <= _ROUNDING * np.abs(found).max():  # equal, except for the rounding of differences
        return Effect(own.estimate, float(found.min()), float(found.max()), len(found), confidence)
    from scipy import stats  # noqa: PLC0415  imported in 0.4 s, by those who need it

    level = _MISSED / members / _CAUTION
    ends = studentized(found, 1.0 - level, seed)
    student = float(stats.t.isf(0.5 * level, len(found) - 1)) * float(found.std(ddof=1)) / math.sqrt(len(found))
    reach = max(student, *(abs(end - own.estimate) for end in ends))
    if not math.isfinite(reach):  # too many resamples are of one value only
        return Effect(own.estimate, None, None, len(found), confidence)
    return Effect(own.estimate, own.estimate - reach, own.estimate + reach, len(found), confidence)


def everywhere(members: Mapping[str, Measured], bounds: Mapping[str, float]) -> Evidence:
    """Return the member that decides whether all of several keep to bounds, with the interval by which it does.

    All of them keep to the bounds if the interval of 95 % of each does, with no correction for how many there are
    (intersection-union). Shown is then the member nearest to a bound, with that interval. Not all of them do if an
    interval that holds together with the others (Bonferroni) is outside. Shown is then the farthest such member; else,
    of those that may be outside, the farthest; with that wider interval, and its confidence.

    Parameters
    ----------
    members
        What is measured, by name: at least one.
    bounds
        See `compared`.

    References
    ----------
    R. L. Berger 1982, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24(4).
    """
    own = {name: measured(1) for name, measured in members.items()}

    def excess(name: str) -> float:
        estimate = own[name].estimate
        return max(
            estimate - bound if kind in {"less_than", "at_most"} else bound - estimate for kind, bound in bounds.items()
        )

    count = len(own)
    farthest_first = sorted(own, key=excess, reverse=True)
    if count == 1 or all(compared(effect, bounds)[0] for effect in own.values()):
        return Evidence(own[farthest_first[0]], member=farthest_first[0], members=count)
    doubtful = [name for name in farthest_first if not compared(own[name], bounds)[0]]
    for name in doubtful:
        wide = members[name](count) if compared(own[name], bounds)[1] else own[name]
        if wide is not own[name] and compared(wide, bounds)[1]:
            return Evidence(wide, member=name, members=count)
    return Evidence(members[doubtful[0]](count), member=doubtful[0], members=count)


def combined(effects: Sequence[Effect], statistic: Callable[[Sequence[float]], float]) -> Effect:
    """Return a statistic of several effects that grows with each, with an interval of 95 %.

    It lies between that of all low ends and that of all high ends, if the intervals hold together; there is none if one
    of the effects has none.

    Parameters
    ----------
    effects
        At least one, with intervals that hold together with 95 %.
    statistic
        What is taken of their values; it never falls when one of them grows.
    """
    lows = [effect.low for effect in effects if effect.low is not None]
    highs = [effect.high for effect in effects if effect.high is not None]
    known = len(lows) == len(highs) == len(effects)
    return Effect(
        statistic([effect.estimate for effect in effects]),
        statistic(lows) if known else None,
        statistic(highs) if known else None,
        min(effect.replications for effect in effects),
    )


def largest(members: Mapping[str, Measured]) -> Effect:
    """Return the largest of several effects, with an interval of 95 %.

    The members' intervals hold together, so that the largest lies between the largest of their low ends and the
    largest of their high ends. (The percentile bootstrap of a maximum would be too high, and too narrow.)

    Parameters
    ----------
    members
        What is measured, by name: at least one.
    """
    return combined([measured(len(members)) for measured in members.values()], max)


def quotient_of_extremes(
    means: ArrayLike, errors: ArrayLike, *, replications: int, largest: int = 1, confidence: float = 0.95
) -> Effect:
    """Return log10 of the largest of some positive means over the smallest, with a conservative interval.

    Which is the largest is seen in the same values, and means of the same values depend on each other. So each
    logarithm has an interval of its own, all of them together with the given confidence (Bonferroni), and the true
    quotient lies between the least and the largest that these intervals leave room for.

    Parameters
    ----------
    means, errors
        Shape (n,): positive means, and their standard errors.
    replications
        How many independent values each mean is of, at least.
    largest
        The largest (1), the second largest (2), and so on.
    confidence
        The confidence of the interval, in (0, 1); it is no less than that.

    Raises
    ------
    RequestError
        There are fewer means than `largest`, one is not positive, or the errors are not as many, or negative.

    References
    ----------
    Miller 1981, "Simultaneous statistical inference", chapter 2.
    """
    values, spread = np.asarray(means, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if not 1 <= largest <= len(values) or values.shape != spread.shape or not (values > 0.0).all():
        raise RequestError(must_be("means", f"positive, and at least {largest}, each with its error,", values))
    if not (spread >= 0.0).all():
        raise RequestError(must_be("errors", "numbers >= 0", spread))
    logs = np.log10(values)
    estimate = float(np.sort(logs)[-largest] - logs.min())
    if replications < ENOUGH:
        return Effect(estimate, None, None, replications, confidence)
    from scipy import stats  # noqa: PLC0415  as above

    half = float(stats.norm.isf(0.5 * (1.0 - confidence) / len(logs))) * spread / values / math.log(10.0)
    low, high = logs - half, logs + half
    least = max(0.0, float(np.sort(low)[-largest] - high.min()))
    return Effect(estimate, least, float(np.sort(high)[-largest] - low.min()), replications, confidence)


def number_above_zero(members: Sequence[Measured], among: int = 1) -> Effect:
    """Return how many of several effects are above 0, with an interval.

    As many as surely are so, by intervals that hold together, up to as many as may be so; so it is also sure of the
    rank of one mean among others, of which these are the differences to it.

    Parameters
    ----------
    members
        What is measured: at least one.
    among
        Of how many such numbers it is one: as that of a `Measured`.

    References
    ----------
    Klein, Wright and Wieczorek 2020, "A joint confidence region for an overall ranking of populations",
    doi:10.1111/rssc.12402.
    """
    effects = [measured(among * len(members)) for measured in members]
    above = combined(effects, lambda values: float(sum(value > 0 for value in values)))
    return replace(above, confidence=1.0 - _MISSED / among)


def percentile(values: ArrayLike, share: float, members: int = 1, *, least: float = -math.inf) -> Effect:
    """Return a percentile of independent values, with the interval between two of the values themselves.

    It needs no law of the values. Where no value is surely below the percentile, the interval begins at `least`: of the
    10th percentile, that is so of 35 values and fewer.

    Parameters
    ----------
    values
        Shape (n,): one value per replication, all finite.
    share
        The share of values below it, in (0, 1).
    members
        How many intervals are to hold together (Bonferroni).
    least
        The least value that there can be; without one, no interval begins so.

    References
    ----------
    H. A. David and H. N. Nagaraja 2003, "Order statistics", section 7.1; `scipy.stats.quantile_test`.
    """
    found = np.asarray(values, dtype=np.float64)
    count, level = len(found), _MISSED / members
    estimate = float(np.quantile(found, share))
    if count < ENOUGH:
        return Effect(estimate, None, None, count, 1.0 - level)
    from scipy import stats  # noqa: PLC0415  as above

    ends: Any = stats.quantile_test(found, p=share).confidence_interval(1.0 - level)  # its stubs say a float
    low = least if math.isnan(ends.low) else float(ends.low)
    known = math.isfinite(low) and math.isfinite(ends.high)
    return Effect(estimate, low if known else None, float(ends.high) if known else None, count, 1.0 - level)
