"""TuningRun: a strategy on its way through the periods; what tuners of both engines share."""

import math
from collections import Counter
from typing import Any, Final

import numpy as np

from simmodels.ground.durations import as_seconds
from simmodels.ground.numbers import Floats
from simmodels.ground.streams import stream
from simmodels.policies.selection import UNIFORMS, FullFeedback, Memory, Period, Strategy, choice_name

_NAME: Final = "tuner"


class TuningRun:
    """A strategy on its way through the periods.

    Parameters
    ----------
    strategy
        The strategy.
    option
        The option that it chooses, by name.
    seed, name
        The seed of what is drawn, and what distinguishes this run from others of the same seed.

    Attributes
    ----------
    used
        What was chosen so far, by its place among the strategy's choices, one entry per period.
    """

    def __init__(self, strategy: Strategy, *, option: str = "order", seed: int, name: str) -> None:
        self.strategy = strategy
        self.option = option
        self.seed = seed
        self.name = name
        self.memory: Memory = strategy.begin()
        self.used: list[int] = []

    def choose(self) -> Any:  # noqa: ANN401  whatever the strategy chooses among
        """Return the choice of the next period."""
        uniforms = stream(self.seed, _NAME, self.name, "choice", len(self.used)).random(UNIFORMS)
        self.used.append(self.strategy.choose(self.memory, uniforms))
        return self.strategy.choices[self.used[-1]]

    def learn(self, cost: float, count: int, simulated_s: Floats | None) -> None:
        """Take in what the period showed.

        Parameters
        ----------
        cost, count
            What the period cost, and of how many jobs, or workflows.
        simulated_s
            float64[choices, jobs], simulated waits; None if none were.
        """
        costs = None
        if simulated_s is not None:
            costs = np.array([math.fsum(row) for row in self._noisy(simulated_s)])
        self.memory = self.strategy.observe(self.memory, Period(self.used[-1], cost, count, costs))

    def _noisy(self, waits_s: Floats) -> Floats:
        """Return simulated waits as the strategy gets to see them."""
        strategy = self.strategy
        if not (isinstance(strategy, FullFeedback) and strategy.noise):
            return waits_s
        orders, jobs = waits_s.shape
        shape = (orders, jobs if strategy.noise_of == "job" else 1)
        draws = stream(self.seed, _NAME, self.name, "noise", len(self.used))
        return waits_s * draws.uniform(1.0 - strategy.noise, 1.0 + strategy.noise, shape)

    def about(self, *, period_s: float, cost: str) -> dict[str, object]:
        """Return what was tuned, how, and how often each choice was used, as a schedule keeps it."""
        used = Counter(self.used)
        names = [str(choice_name(each)) for each in self.strategy.choices]
        return {
            "option": self.option,
            "strategy": type(self.strategy).__name__,
            "cost": cost,
            "period_s": period_s,
            "periods": {name: used[place] for place, name in enumerate(names)},
        }


def as_period(period_s: object) -> float:
    """Return the length of a period, a finite number of seconds > 0."""
    return as_seconds("period_s", period_s, above=0)
