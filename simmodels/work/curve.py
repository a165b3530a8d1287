"""ValueCurve: what a job is still worth, by how much longer than its critical path it took."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be
from simmodels.ground.arguments import as_tuple
from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import as_number


@compiled
def factor_at(slr, x, y, first, last):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  numba takes the types of the call
    """Return the factor at an SLR of the curve whose points are x[first:last], y[first:last]."""
    if slr <= x[first]:
        return 1.0
    if slr >= x[last - 1]:
        return 0.0
    k = first
    while x[k + 1] <= slr:
        k += 1
    # Rounding can take it below the next point, where it would rise then: an old bid would be no bound of a new one.
    return max(y[k] + (slr - x[k]) / (x[k + 1] - x[k]) * (y[k + 1] - y[k]), y[k + 1])


@compiled
def area_at(slr, x, y, tail, first, last):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  as above
    """Return the area under the curve from an SLR on; `tail` is that from each point on (see `tails`)."""
    if slr < x[first]:
        return (x[first] - slr) + tail[first]
    if slr >= x[last - 1]:
        return 0.0
    k = first
    while x[k + 1] <= slr:
        k += 1
    here = y[k] + (slr - x[k]) / (x[k + 1] - x[k]) * (y[k + 1] - y[k])
    return (x[k + 1] - slr) * (here + y[k + 1]) / 2.0 + tail[k + 1]


@compiled
def tails(x, y, firsts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  as above
    """Return float64[points], the area from each point of each curve to the curve's end, by trapezoids."""
    tail = np.zeros(x.size)
    for curve in range(firsts.size - 1):
        for k in range(firsts[curve + 1] - 2, firsts[curve] - 1, -1):
            if x[k + 1] > x[k]:  # a vertical step has no area, also at infinity
                tail[k] = tail[k + 1] + (x[k + 1] - x[k]) * (y[k] + y[k + 1]) / 2.0
            else:
                tail[k] = tail[k + 1]
    return tail


@dataclass(frozen=True, slots=True)
class ValueCurve:
    """A job's value as a factor in [0, 1] of its maximum, by its SLR (schedule length ratio).

    The SLR is the time from submission to finish over the critical path. The factor is 1 up to the
    first point, straight between points, and 0 from the last point on. At a vertical step (two points
    of the same SLR) it is that of the later point.

    Parameters
    ----------
    points
        Pairs (SLR, factor); SLR does not fall and factor does not rise from point to point, the first
        factor is 1, the last 0.

    Raises
    ------
    RequestError
        Naming the point that breaks this.

    References
    ----------
    Burkimsher, Soares Indrusiak 2016, arXiv 1601.07047, algorithms 1 and 2. The index of their algorithm 2 is off
    by one; below the first point (also below SLR 1) the factor is 1, and the area counts the rectangle.

    Examples
    --------
    >>> import simmodels as sm
    >>> curve = sm.ValueCurve([(2, 1), (6, 0)])
    >>> curve.factor(3), curve.area(3), curve.area(1)
    (0.75, 1.125, 3.0)
    """

    points: tuple[tuple[float, float], ...]

    def __init__(self, points: Iterable[Sequence[float]]) -> None:
        given = as_tuple("points", points, "a list of (SLR, factor)")
        try:  # not by way of an array: a workload has a curve for each of its workflows
            made = tuple((float(slr), float(factor)) for slr, factor in given)
        except (TypeError, ValueError, OverflowError):
            raise RequestError(must_be("points", "a list of (SLR, factor)", given)) from None
        object.__setattr__(self, "points", made)
        if len(made) < 2:
            raise RequestError(must_be("the number of points of a value curve", "at least 2", len(made)))
        before = made[0]
        for number, (slr, factor) in enumerate(made, start=1):
            where = f"of point {number} of a value curve"
            as_number(f"the SLR {where}", slr, least=0, finite=math.isfinite(made[0][0]))
            as_number(f"the factor {where}", factor, least=0, most=1)
            if slr < before[0]:
                raise RequestError(must_be(f"the SLR {where}", f"at least that before it, {before[0]:g}", slr))
            if factor > before[1]:
                raise RequestError(must_be(f"the factor {where}", f"at most that before it, {before[1]:g}", factor))
            before = (slr, factor)
        if made[0][1] != 1.0:
            raise RequestError(must_be("the factor of the first point of a value curve", "1", made[0][1]))
        if made[-1][1] != 0.0:
            raise RequestError(must_be("the factor of the last point of a value curve", "0", made[-1][1]))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the points."""
        return type(self), (self.points,)

    @classmethod
    def linear(cls, initial: float, final: float) -> Self:
        """Return the curve that is 1 up to SLR `initial` and then falls straight to 0 at SLR `final`."""
        return cls(((initial, 1.0), (final, 0.0)))

    @property
    def initial(self) -> float:
        """Return the SLR up to which the factor is 1 (D_initial)."""
        return self.points[0][0]

    @property
    def final(self) -> float:
        """Return the SLR from which on the factor is 0 (D_final); infinity for `FOREVER`."""
        return self.points[-1][0]

    def factor(self, slr: float) -> float:
        """Return the share of its maximum that a job of this SLR is worth."""
        slr = as_number("slr", slr, finite=False)
        x, y = self._columns()
        return float(factor_at(slr, x, y, 0, len(x)))

    def area(self, slr: float) -> float:
        """Return the integral of `factor` from this SLR to `final`."""
        slr = as_number("slr", slr, finite=False)
        x, y = self._columns()
        return float(area_at(slr, x, y, tails(x, y, np.array([0, len(x)])), 0, len(x)))

    def _columns(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        points = np.array(self.points)
        return points[:, 0].copy(), points[:, 1].copy()


FOREVER: Final = ValueCurve(((math.inf, 1.0), (math.inf, 0.0)))
"""The curve of a job that is worth all it can be whenever it is done: it has no deadline."""
