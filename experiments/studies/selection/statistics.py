"""Statistics of the selection study that no column has: of waits on one log, and of waits on several.

Of one log they are given float64[..., resamples, strategies], waits, of which the first column is what the others are
measured against. Of several logs they are given float64[..., logs, strategies], waits over those under FCFS: of what a
sentence is about, and of what it is compared with.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from simmodels.ground.numbers import Floats

# -- of one log -------------------------------------------------------------------------------------


def against_first(rows: Floats) -> Floats:
    """Return float64[..., columns - 1]: all waits of a column over those of the first, less 1 (equation 11).

    Where nobody waits in the first, it is 0 if nobody does in the other, and infinite if somebody does.
    """
    sums = rows.sum(axis=-2)
    first, others = sums[..., :1], sums[..., 1:]
    known = np.broadcast_to(first > 0.0, others.shape)
    ratio = np.divide(others, first, out=np.where(others > 0.0, np.inf, 1.0), where=known)
    changes: Floats = ratio - 1.0
    return changes


def best_gain(rows: Floats) -> Floats:
    """Return the improvement of the best of the other columns, or of the only one, on the first: negative."""
    best: Floats = against_first(rows).min(axis=-1)
    return best


def regret(rows: Floats) -> Floats:
    """Return how much longer the waits of the first column are than those of the best of the others."""
    with np.errstate(divide="ignore"):  # where nobody waits under the best, it is infinite
        longer: Floats = 1.0 / (1.0 + best_gain(rows)) - 1.0
    return longer


def spread(rows: Floats) -> Floats:
    """Return what lies between the most and the least waits of the columns, as a part of those of the first."""
    change = np.concatenate([np.zeros((*rows.shape[:-2], 1)), against_first(rows)], axis=-1)
    apart: Floats = np.ptp(change, axis=-1)
    return apart


def _percentiles(rows: Floats) -> tuple[Floats, Floats]:
    """Return float64[..., orders], the 10th and the 90th percentile of the improvements over the resamples."""
    low, high = np.quantile(rows[..., 1:] / rows[..., :1] - 1.0, (0.1, 0.9), axis=-2)
    return low, high


def band(rows: Floats) -> Floats:
    """Return how far the 10th and 90th percentile lie apart, mean over the columns, over the best improvement."""
    low, high = _percentiles(rows)
    best = np.maximum(-best_gain(rows), 1e-9)  # where no order is better than FCFS, a band is as wide as none
    wide: Floats = (high - low).mean(axis=-1) / best
    return wide


def clear(rows: Floats) -> Floats:
    """Return the share of the columns of which both percentiles have one sign."""
    low, high = _percentiles(rows)
    share: Floats = (low * high > 0.0).mean(axis=-1)
    return share


def antagonistic(rows: Floats) -> Floats:
    """Return the lesser of a lengthening (of the second column against the first) and a shortening (of the others)."""
    longer, shorter = best_gain(rows[..., :2]), -best_gain(rows[..., 2:])
    lesser: Floats = np.minimum(longer, shorter)
    return lesser


def variation(rows: Floats) -> Floats:
    """Return the standard deviation of a column over its mean, the least of all columns; rows are weeks here."""
    mean = rows.mean(axis=-2)
    parts: Floats = np.divide(rows.std(axis=-2), mean, out=np.zeros_like(mean), where=mean > 0.0).min(axis=-1)
    return parts


# -- beside what is printed: float64[..., orders] and float64[orders], in per cent --------------------


def _correlation(ours: Floats, printed: Floats) -> Floats:
    """Return Pearson's correlation; 0 where all of ours are equal."""
    one = ours - ours.mean(axis=-1, keepdims=True)
    other = printed - printed.mean()
    scale = np.sqrt((one**2).sum(axis=-1) * (other**2).sum())
    found: Floats = np.divide((one * other).sum(axis=-1), scale, out=np.zeros_like(scale), where=scale > 0.0)
    return found


def _rank_correlation(ours: Floats, printed: Floats) -> Floats:
    from scipy.stats import rankdata  # noqa: PLC0415  imported in 0.4 s, by those who need it

    return _correlation(rankdata(ours, axis=-1), rankdata(printed))


def _equal_signs(ours: Floats, printed: Floats) -> Floats:
    """Return the share of equal signs; they are so, too, where one of the two rounds to 0 %."""
    share: Floats = (np.sign(np.round(ours)) * np.sign(printed) >= 0).mean(axis=-1)
    return share


def _mean_distance(ours: Floats, printed: Floats) -> Floats:
    distance: Floats = np.abs(ours - printed).mean(axis=-1)
    return distance


LIKENESS: Final[Mapping[str, Callable[[Floats, Floats], Floats]]] = {
    "rank correlation": _rank_correlation,
    "correlation": _correlation,
    "equal signs": _equal_signs,
    "mean distance (points)": _mean_distance,
}
"""How like a printed row of table 2 ours is."""

# -- of several logs --------------------------------------------------------------------------------


def most_divided(of: Floats, against: Floats) -> Floats:
    """Return by how much a strategy divides the waits, where that is most."""
    most: Floats = (against / of).max(axis=(-1, -2))
    return most


def least_remaining(of: Floats, against: Floats) -> Floats:
    """Return what part of the waits a strategy leaves, where that is least."""
    least: Floats = (of / against).min(axis=(-1, -2))
    return least


def rank(of: Floats, against: Floats) -> Floats:
    """Return the rank of an order among others, by its mean over the logs; 1 is the least."""
    ranks: Floats = 1.0 + (against.mean(axis=-2) < of.mean(axis=-2)).sum(axis=-1)
    return ranks


def worst_regret(of: Floats, against: Floats) -> Floats:
    """Return how much longer the waits under an order are than under the best of others, where that is most."""
    worst: Floats = (of[..., 0] / against.min(axis=-1) - 1.0).max(axis=-1)
    return worst


def least_worst_regret(of: Floats, against: Floats) -> Floats:
    """Return the same for that order of which it is least, when each is compared with the best of all."""
    longer = of / against.min(axis=-1, keepdims=True) - 1.0
    least: Floats = longer.max(axis=-2).min(axis=-1)
    return least
