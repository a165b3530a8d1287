"""Selection: which order, or other option, to use in the next period, learned from what the periods before cost.

A *strategy* is a state machine without a clock: it observes what a period cost and returns a new memory; from a
memory, and numbers drawn for it, it chooses. `simmodels.Tuner` applies one to a scheduler or an auctioneer.

References
----------
V. Reis, D. Trystram and others, "Online (bandit) policy selection for EASY-backfilling", draft of 2017: full and noisy
feedback, epsilon-greedy.

P. Auer, N. Cesa-Bianchi and P. Fischer, "Finite-time analysis of the multiarmed bandit problem", Machine Learning 47,
2002, doi:10.1023/A:1013689704352: UCB1.

P. Auer, N. Cesa-Bianchi, Y. Freund and R. Schapire, "The nonstochastic multiarmed bandit problem", SIAM Journal on
Computing 32, 2002, doi:10.1137/S0097539701398375: EXP3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, require_known, with_article
from simmodels.ground.arguments import as_tuple
from simmodels.ground.numbers import Floats, as_number
from simmodels.policies.orders import TWELVE_ORDERS, find_order

Jobs = Literal["finished", "started"]
NoiseOf = Literal["job", "period"]

UNIFORMS: Final = 2
"""This many uniform numbers are drawn for each choice, whether it needs them or not."""
_FAINT: Final = 1e-100
"""Up to this many jobs (old ones count for less) are as good as none."""


@dataclass(frozen=True, slots=True)
class Period:
    """What a period showed.

    Parameters
    ----------
    used
        What was used, by its place among the strategy's choices.
    cost
        What the period cost: as a rule the waits, in seconds, of the jobs that finished (or started) in it, added up.
    count
        How many jobs (or workflows) these were.
    simulated_s
        float64[choices], what each order would have cost: the sum of waits in a simulation; None if nobody simulated.
    """

    used: int
    cost: float
    count: int
    simulated_s: Floats | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """What a strategy remembers.

    Parameters
    ----------
    periods
        How many periods it has observed.
    cost
        float64[choices], what each choice has cost.
    count
        float64[choices], what that is divided by: jobs, or periods.
    used
        float64[choices], in how many periods each was in use.
    weight
        float64[choices], logarithms of weights (EXP3).
    largest
        The largest cost of a period so far, by which costs are scaled.
    """

    periods: int
    cost: Floats
    count: Floats
    used: Floats
    weight: Floats
    largest: float = 0.0


class _Choices(tuple[Any, ...]):
    """The choices of a strategy under their earlier name: `dataclasses.replace` hands them on, and they say nothing."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """Chooses an option for each period; the base of all strategies.

    Parameters
    ----------
    choices
        What it chooses among: values of the option that is tuned, by name or as they are (an `Order`, a `Bid`, a
        number). By default the twelve orders of the selection study.
    orders
        The same, of orders of a queue, checked at once; instead of `choices`.

    Raises
    ------
    RequestError
        There is nothing to choose, an order is unknown, or something is there twice.

    Examples
    --------
    >>> import simmodels as sm
    >>> class Alternating(sm.Strategy):
    ...     def choose(self, memory, uniforms):
    ...         return memory.periods % len(self.choices)
    >>> strategy = Alternating(choices=("FCFS", "SAF"))
    >>> strategy.choose(strategy.begin(), [0.5, 0.5])
    0
    """

    choices: Sequence[Any] = TWELVE_ORDERS
    orders: Sequence[Any] = field(default=_Choices(), repr=False, compare=False)

    simulates: ClassVar[bool] = False
    """Whether it needs to know what each order would have cost."""

    def __post_init__(self) -> None:
        """Check what there is to choose."""
        of_orders = not isinstance(self.orders, _Choices)
        what = "order" if of_orders else "choice"
        given = as_tuple(f"{what}s", self.orders if of_orders else self.choices, f"a list of {what}s")
        if not given:
            raise RequestError(f"a strategy without {what}s", "give at least one")
        names = [str(choice_name(find_order(each) if of_orders else each)) for each in given]
        if len(set(names)) < len(names):
            raise RequestError(f"a strategy with {with_article(what)} twice: {', '.join(names)}", "give each once")
        object.__setattr__(self, "choices", given)
        object.__setattr__(self, "orders", _Choices(given))

    def begin(self) -> Memory:
        """Return the memory of one who has seen nothing."""
        none = np.zeros(len(self.choices))
        return Memory(0, none, none, none, none)

    def observe(self, memory: Memory, period: Period) -> Memory:
        """Return the memory after a period."""
        used = memory.used.copy()
        used[period.used] += 1
        return replace(memory, periods=memory.periods + 1, used=used)

    def choose(self, memory: Memory, uniforms: Floats) -> int:
        """Return the choice of the next period, by its place.

        Parameters
        ----------
        memory
            What was seen so far.
        uniforms
            float64[UNIFORMS], drawn in [0, 1).
        """
        raise NotImplementedError

    def _any(self, uniform: float) -> int:
        """Return any of the choices, each as likely as the others."""
        return int(uniform * len(self.choices))


@dataclass(frozen=True, kw_only=True)
class RandomOrder(Strategy):
    """Any of the choices, each as likely as the others, again in each period.

    Parameters
    ----------
    choices
        The orders among which it chooses; see `Strategy`.

    Examples
    --------
    >>> import simmodels as sm
    >>> strategy = sm.RandomOrder(choices=("FCFS", "SAF"))
    >>> strategy.choices[strategy.choose(strategy.begin(), [0.3, 0.7])]
    'SAF'
    """

    def choose(self, memory: Memory, uniforms: Floats) -> int:  # noqa: ARG002  it learns nothing
        """Return the choice of the next period, by its place."""
        return self._any(uniforms[1])


@dataclass(frozen=True, kw_only=True)
class FullFeedback(Strategy):
    """The order that would have cost least so far, had the jobs of each period been simulated under it.

    Parameters
    ----------
    choices, orders
        The orders among which it chooses; of equal costs the first is taken.
    decay
        What a cost is multiplied by when it is a period older, in (0, 1].
    noise
        How far a simulated wait may be wrong: it is multiplied by a number drawn uniformly from 1 - noise to 1 + noise;
        in [0, 1].
    noise_of
        ``"job"``: another number for each job; ``"period"``: one for each period and order, as the published program
        has it.
    preload
        Whether what waits at the end of a period stands in the queue at the beginning of its simulation, and what
        *started* in the period is simulated instead of what was submitted, as the published program has it.

    Raises
    ------
    RequestError
        A number is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> import simmodels as sm
    >>> from simmodels.policies.selection import Period
    >>> strategy = sm.FullFeedback(choices=("FCFS", "SAF"))
    >>> period = Period(used=0, cost=9000.0, count=10, simulated_s=np.array([9000.0, 4000.0]))
    >>> strategy.choices[strategy.choose(strategy.observe(strategy.begin(), period), [0.5, 0.5])]
    'SAF'
    """

    decay: float = 1.0
    noise: float = 0.0
    noise_of: NoiseOf = "job"
    preload: bool = False

    simulates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        as_number("decay", self.decay, above=0, most=1)
        as_number("noise", self.noise, least=0, most=1)
        require_known("noise_of", self.noise_of, get_args(NoiseOf))

    def observe(self, memory: Memory, period: Period) -> Memory:
        """Return the memory after a period."""
        if period.simulated_s is None:
            raise RequestError("a period without simulated costs", "give them: full feedback needs them")
        return replace(super().observe(memory, period), cost=self.decay * memory.cost + period.simulated_s)

    def choose(self, memory: Memory, uniforms: Floats) -> int:  # noqa: ARG002  it leaves nothing to chance
        """Return the choice of the next period, by its place."""
        return int(np.argmin(memory.cost))


@dataclass(frozen=True, kw_only=True)
class _Bandit(Strategy):
    """A strategy that sees only what the choice in use costs.

    Parameters
    ----------
    choices, orders
        What it chooses among.
    counts
        Which jobs a period pays for: those that finished in it, or (as the published program has it) started in it.
    """

    counts: Jobs = "finished"

    def __post_init__(self) -> None:
        """Check which jobs count."""
        super().__post_init__()
        require_known("counts", self.counts, get_args(Jobs))


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(_Bandit):
    """Mostly the choice whose jobs have cost least (as a rule, waited least) on average, and now and then any.

    A choice none of whose periods has a job counts as the best of all, so each is tried: of several the one that was
    used least, and of these the first. Of equal means the first is taken.

    Parameters
    ----------
    choices, orders, counts
        See `Strategy`; which jobs a period pays for.
    epsilon
        How likely any choice is taken instead of the best, in [0, 1]. (The published program takes the opposite: how
        likely the best is taken.)
    epsilon_decay
        What epsilon is multiplied by from period to period, in (0, 1].
    decay
        What costs and jobs are multiplied by when they are a period older, in (0, 1].
    pseudo_jobs
        This many jobs that have not waited are added to each choice, >= 0; the published program adds one.

    Raises
    ------
    RequestError
        A number is out of its range.

    Examples
    --------
    >>> import simmodels as sm
    >>> from simmodels.policies.selection import Period
    >>> strategy = sm.EpsilonGreedy(choices=("FCFS", "SAF"), epsilon=0.1)
    >>> memory = strategy.observe(strategy.begin(), Period(used=0, cost=9000.0, count=10))
    >>> memory = strategy.observe(memory, Period(used=1, cost=4000.0, count=10))
    >>> strategy.choices[strategy.choose(memory, [0.5, 0.5])]
    'SAF'
    """

    epsilon: float = 0.5
    epsilon_decay: float = 1.0
    decay: float = 1.0
    pseudo_jobs: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        as_number("epsilon", self.epsilon, least=0, most=1)
        as_number("pseudo_jobs", self.pseudo_jobs, least=0)
        as_number("decay", self.decay, above=0, most=1)
        as_number("epsilon_decay", self.epsilon_decay, above=0, most=1)

    def observe(self, memory: Memory, period: Period) -> Memory:
        """Return the memory after a period."""
        # What is hardly there any more is kept as it is: as 0 jobs it would be a choice that was never tried.
        decay = np.where(memory.count > _FAINT, self.decay, 1.0)
        cost, count = decay * memory.cost, decay * memory.count
        cost[period.used] += period.cost
        count[period.used] += period.count
        return replace(super().observe(memory, period), cost=cost, count=count)

    def choose(self, memory: Memory, uniforms: Floats) -> int:
        """Return the choice of the next period, by its place."""
        if uniforms[0] < self.epsilon * self.epsilon_decay**memory.periods:
            return self._any(uniforms[1])
        count = memory.count + self.pseudo_jobs
        if (count == 0).any():
            return _least_used(memory.used, count == 0)
        return int(np.argmin(memory.cost / count))


@dataclass(frozen=True, kw_only=True)
class UCB1(_Bandit):
    """The choice with the highest upper confidence bound (Auer, Cesa-Bianchi and Fischer 2002, figure 1).

    The reward of a period is 1 less its mean cost, as a part of the largest mean cost of any period so far; periods
    without a job teach nothing. Each choice is tried at first: of those that have not had a period with a job, the one
    that was used least, and of these the first.

    Parameters
    ----------
    choices, orders, counts
        See `Strategy`; which jobs a period pays for.
    exploration
        What the square root is multiplied by, >= 0; the authors' is 1.

    Examples
    --------
    >>> import simmodels as sm
    >>> from simmodels.policies.selection import Period
    >>> strategy = sm.UCB1(choices=("FCFS", "SAF"))
    >>> memory = strategy.observe(strategy.begin(), Period(used=0, cost=9000.0, count=10))
    >>> strategy.choices[strategy.choose(memory, [0.5, 0.5])]
    'SAF'
    """

    exploration: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        as_number("exploration", self.exploration, least=0)

    def observe(self, memory: Memory, period: Period) -> Memory:
        """Return the memory after a period."""
        after = super().observe(memory, period)
        if not period.count:
            return after
        mean = period.cost / period.count
        cost, count = memory.cost.copy(), memory.count.copy()
        cost[period.used] += mean
        count[period.used] += 1
        largest = max(memory.largest, mean)
        return replace(after, cost=cost, count=count, largest=largest)

    def choose(self, memory: Memory, uniforms: Floats) -> int:  # noqa: ARG002  it leaves nothing to chance
        """Return the choice of the next period, by its place."""
        if (memory.count == 0).any():
            return _least_used(memory.used, memory.count == 0)
        mean = memory.cost / memory.count / (memory.largest or 1.0)
        bound = np.sqrt(2.0 * math.log(memory.count.sum()) / memory.count)
        return int(np.argmax(1.0 - mean + self.exploration * bound))


@dataclass(frozen=True, kw_only=True)
class EXP3(_Bandit):
    """A choice drawn by weights that grow exponentially with its rewards (Auer et al. 2002, figure 1).

    The reward is that of `UCB1`.

    Parameters
    ----------
    choices, orders, counts
        See `Strategy`; which jobs a period pays for.
    gamma
        The share of the choices that is left to chance, in (0, 1].

    Examples
    --------
    >>> import simmodels as sm
    >>> from simmodels.policies.selection import Period
    >>> strategy = sm.EXP3(choices=("FCFS", "SAF"), gamma=0.2)
    >>> memory = strategy.observe(strategy.begin(), Period(used=0, cost=9000.0, count=10))
    >>> strategy.probabilities(memory).round(3).tolist()
    [0.5, 0.5]
    """

    gamma: float = 0.1

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        as_number("gamma", self.gamma, above=0, most=1)

    def observe(self, memory: Memory, period: Period) -> Memory:
        """Return the memory after a period."""
        after = super().observe(memory, period)
        if not period.count:
            return after
        mean = period.cost / period.count
        largest = max(memory.largest, mean)
        reward = 1.0 - mean / largest if largest else 1.0
        weight = memory.weight.copy()
        weight[period.used] += self.gamma * reward / (self.probabilities(memory)[period.used] * len(self.choices))
        return replace(after, weight=weight - weight.max(), largest=largest)

    def probabilities(self, memory: Memory) -> Floats:
        """Return float64[choices], how likely each is chosen."""
        weights = np.exp(memory.weight - memory.weight.max())
        mixed: Floats = (1.0 - self.gamma) * weights / weights.sum() + self.gamma / len(self.choices)
        return mixed

    def choose(self, memory: Memory, uniforms: Floats) -> int:
        """Return the choice of the next period, by its place."""
        edges = np.cumsum(self.probabilities(memory))
        return min(int(np.searchsorted(edges, uniforms[1], side="right")), len(self.choices) - 1)


def choice_name(choice: object) -> object:
    """Return what a choice is called: its name, if it has one, else itself."""
    return getattr(choice, "name", getattr(choice, "__name__", choice))


def _least_used(used: Floats, among: NDArray[np.bool_]) -> int:
    """Return the place of the choice that was used least; of several the first."""
    return int(np.argmin(np.where(among, used, math.inf)))
