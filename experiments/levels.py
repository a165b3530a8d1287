"""Levels: of the futures of a forecast, and which levels the starts of jobs had in forecasts of the past.

If forecasts are right, starts are as often below a level of their futures as it says. Where they were more or less
often below it, a forecast is corrected: its intervals end at the levels that the starts of the past were below as often
as intervals say. That holds for the next start, whatever the forecasts are worth, if it is as likely to have any place
among those of the past (conformal prediction); under a drift it holds as nearly as the past resembles the present.

References
----------
V. Chernozhukov, K. Wüthrich, Y. Zhu, "Distributional conformal prediction", 2021,
https://doi.org/10.1073/pnas.2107794118: levels of forecast distributions as scores.

R. Barber, E. Candès, A. Ramdas, R. Tibshirani, "Conformal prediction beyond exchangeability", 2023,
https://doi.org/10.1214/23-AOS2276: what a drift takes from the coverage, and that the nearer past should count more.

L. Kish, "Survey sampling", 1965, section 11.7: the effective number of observations that count differently.

E. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", 1958,
https://doi.org/10.1080/01621459.1958.10501452: jobs that still wait are right-censored.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from simmodels.ground.numbers import Floats
from simmodels.units import MINUTE
from workloads.futures import Lengths

ENDS: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The levels at which intervals of 90 % and 50 % end, with the median."""
LEAST: Final = 19
"""Of fewer starts nothing is corrected: of 19 and the next one, one is expected outside of each end of an interval of
90 %."""
_HALF: Final = 50
"""A forecast that many before the last one counts half as much; habits change."""
_LAST: Final = 6 * _HALF
"""How many forecasts correct, the last ones; those before would count little."""
_NONE: Final = 1e-9
"""As good as no start."""
_SEEN: Final = 1e-6
"""A part of all starts that is more than that, and less than one start."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a job may start.

    Parameters
    ----------
    at_s
        The instant of the forecast, in seconds.
    starts_s
        float64[futures], when it starts in each.
    """

    at_s: float
    starts_s: Floats

    def waits_s(self, *levels: float) -> Floats:
        """Return float64[levels], from the instant on: the wait that the job does not exceed with this probability.

        The k-th of n futures is the level k / (n + 1) (Hyndman, Fan 1996, definition 6): a start that is drawn as
        they are is as likely before the first, in each gap between them, and after the last. A level below 0 or above
        1, which a correction may ask for, is beyond all futures: the wait, a minute added, is as many times shorter
        than the shortest, or longer than the longest, as e to this distance.
        """
        within = np.clip(levels, 0.0, 1.0)
        found: Floats = np.quantile(self.starts_s - self.at_s, within, method="weibull")
        beyond_s = np.maximum((found + MINUTE) * np.exp(levels - within) - MINUTE, 0.0)
        return np.where(within == levels, found, beyond_s)

    def level_of(self, wait_s: float) -> float:
        """Return the level of a wait, as `waits_s` takes it; of a wait that many futures have, the middle of theirs."""
        waits_s = np.sort(self.starts_s - self.at_s)
        futures = len(waits_s)
        first, last = (int(np.searchsorted(waits_s, wait_s, side=side)) for side in ("left", "right"))
        if last == 0:
            return float(np.log((wait_s + MINUTE) / (waits_s[0] + MINUTE)))
        if first == futures:
            return float(1.0 + np.log((wait_s + MINUTE) / (waits_s[-1] + MINUTE)))
        if first == last:
            before_s, after_s = waits_s[first - 1 : first + 1]
            return float((first + (wait_s - before_s) / (after_s - before_s)) / (futures + 1))
        low, high = first + 1 if first else 0, last if last < futures else futures + 1
        return (low + high) / 2 / (futures + 1)


@dataclass(frozen=True, slots=True)
class Levels:
    """Which levels of its futures a forecast is worth.

    Parameters
    ----------
    drawn, share
        float64[n], rising: levels of futures, and which share of starts they are at or above.
    count
        By how many forecasts of the past; 0 if too few of their jobs had started, and levels are what they say.
    started
        How many of these jobs had started.
    """

    drawn: Floats = field(default_factory=lambda: np.array([0.0, 1.0]))
    share: Floats = field(default_factory=lambda: np.array([0.0, 1.0]))
    count: int = 0
    started: int = 0

    def of(self, *shares: float) -> Floats:
        """Return float64[shares], the levels of futures that these shares of starts do not exceed."""
        found: Floats = np.interp(shares, self.share, self.drawn)
        return found

    def share_of(self, level: float) -> float:
        """Return the share of starts that do not exceed a level of futures."""
        return float(np.interp(level, self.drawn, self.share))


class PastForecasts:
    """Forecasts of the past, and what became of them."""

    def __init__(self) -> None:
        self._made: list[tuple[Forecast, float, float]] = []  # with the level of the start

    def add(self, forecast: Forecast, start_s: float) -> None:
        """Add a forecast, and when the job has started or will start; infinity if that is not known.

        They are added in order of their instants.
        """
        level = forecast.level_of(start_s - forecast.at_s) if start_s < np.inf else np.inf
        self._made.append((forecast, start_s, level))

    def levels(self, at_s: float) -> Levels:
        """Return the levels that a forecast is worth at an instant, by what is known there.

        Of n starts and the next one, which is as likely to have each place among them, the k-th does not exceed the
        share k / (n + 1). The nearer past counts more, so n is the number of starts that count alike and are worth as
        much (Kish 1965). A job that still waits starts beyond the level that it has reached.
        """
        made = [each for each in self._made if each[0].at_s < at_s][-_LAST:]
        started = np.array([start_s <= at_s for _, start_s, _ in made], dtype=np.bool_)
        if started.sum() < LEAST:
            return Levels(started=int(started.sum()))
        reached = np.array(
            [level if start_s <= at_s else forecast.level_of(at_s - forecast.at_s) for forecast, start_s, level in made]
        )
        counts = 0.5 ** (np.arange(len(made))[::-1] / _HALF)
        alike = counts.sum() ** 2 / (counts**2).sum()
        found = Lengths(np.ones(1), np.ones(1)).given(reached, started, trust=_NONE, counts=counts)
        seen = found.weight > _SEEN * found.weight.sum()
        share = np.cumsum(found.weight[seen])
        share *= alike / (alike + 1) / share[-1]
        return Levels(found.length[seen], share, len(made), int(started.sum()))
