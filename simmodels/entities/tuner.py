"""KnobTuner: a process that turns one option of a scheduler, or of an auctioneer, period by period."""

import inspect
import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Final, Literal, NoReturn, TypeVar, get_args

from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.auctioneer import Auctioneer
from simmodels.entities.cluster import Cluster, as_checkpoints
from simmodels.entities.decider import Decider
from simmodels.entities.dependencies import Dependencies
from simmodels.entities.environment import Environment, Process
from simmodels.entities.events import Ended, Started
from simmodels.entities.source import Source
from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import Floats
from simmodels.policies.options import Options
from simmodels.policies.selection import Strategy, choice_name
from simmodels.policies.tuning_run import TuningRun, as_period
from simmodels.results.attempts import OPEN
from simmodels.units import DAY

Knob = Decider | tuple[Decider | Cluster, str]
Cost = Literal["mean_wait_s", "lost_value"] | Callable[[Sequence[Attempt]], float]
_COSTS: Final = get_args(get_args(Cost)[0])
_Item = TypeVar("_Item")


class KnobTuner:
    """What a tuner does whose strategy does not simulate; see `simmodels.Tuner`."""

    def __init__(
        self,
        env: Environment,
        knob: Knob,
        strategy: Strategy,
        *,
        cost: Cost = "mean_wait_s",
        period_s: Duration = DAY,
        from_s: Duration = 0.0,
        name: str = "",
    ) -> None:
        self.env = as_instance("env", env, Environment)
        self.strategy = as_instance("strategy", strategy, Strategy)
        if not callable(cost):
            require_known("cost", cost, _COSTS)
        self.owner, self.option = _knob(knob)
        self.clusters = (self.owner,) if isinstance(self.owner, Cluster) else self.owner.clusters
        self.cost = cost
        self.period_s = as_period(period_s)
        self.from_s = as_seconds("from_s", from_s)
        self._require_choices()
        self.tuning_run = TuningRun(strategy, option=self.option, seed=env.seed_of(f"tuner {name}"), name=name)
        self._started: list[Attempt] = []
        self._ended: list[Attempt] = []
        self._judged: set[int] = set()  # ids of the workflows whose lost value was counted
        if strategy.simulates:
            self._prepare_simulations()
        env.observers_of(Started).append(self._see_start)
        env.observers_of(Ended).append(self._see_end)
        env.enter(self)
        self.process = env.process(self._run())

    def _require_choices(self) -> None:
        """Refuse an option that cannot be changed, and a choice that it cannot have."""
        owner, option, choices = self.owner, self.option, self.strategy.choices
        taken = inspect.signature(owner.reconfigure).parameters
        named = [name for name, each in taken.items() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        if len(named) == len(taken):
            require_known("option that can be changed", option, named)
        options = getattr(owner, "options", None)
        if isinstance(options, Options) and option in options.changeable:
            for choice in choices:
                options.with_changes({option: choice})
        elif isinstance(owner, Cluster) and option == "checkpoints":
            for choice in choices:
                as_checkpoints(choice)
        elif option not in named:  # only what takes it knows: a copy is asked, and the owner stays as it is
            for choice in choices:
                copy(owner).reconfigure(**{option: choice})
        # Else an option of the user's own, which refuses when it is asked.

    def _prepare_simulations(self) -> None:
        """Take note of what simulations need."""
        self._refuse_simulations()

    def _refuse_simulations(self) -> NoReturn:
        """Refuse a strategy that simulates."""
        what = f"{type(self.strategy).__name__} for {self.option} of a {type(self.owner).__name__}"
        raise RequestError(what, "let a strategy that simulates choose the order of a QueueScheduler, by mean_wait_s")

    # -- what it sees ---------------------------------------------------------------------------------

    def _see_start(self, attempt: Attempt) -> None:
        if attempt.cluster in self.clusters:
            self._started.append(attempt)

    def _see_end(self, attempt: Attempt) -> None:
        if attempt.cluster in self.clusters and attempt.outcome is not Outcome.LOST:
            self._ended.append(attempt)

    # -- the process ----------------------------------------------------------------------------------

    def _run(self) -> Process:
        env = self.env
        if self.cost == "lost_value" and not any(isinstance(each, Auctioneer | Dependencies) for each in self._of()):
            what = f"cost='lost_value' for {self.option} of a {type(self.owner).__name__} of rigid jobs"
            raise RequestError(what, "submit workflows there: jobs have no value")
        passed = max(0, math.floor((env.now - self.from_s) / self.period_s))
        while True:
            begin_s = self.from_s + passed * self.period_s
            passed += 1
            end_s = self.from_s + passed * self.period_s
            if begin_s > env.now:
                yield env.at(begin_s)
                self._forget(begin_s)
            self.owner.reconfigure(**{self.option: self.tuning_run.choose()})
            yield env.at(end_s)
            if self._over():
                return
            self._learn(begin_s, end_s)

    def _of(self) -> list[Decider]:
        """Return all that decide upon jobs of the clusters whose scheduling is tuned."""
        clusters = set(self.clusters)
        return [each for each in self.env.all(Decider) if clusters.intersection(each.clusters)]

    def _over(self) -> bool:
        """Return whether nothing else is left to happen."""
        sources = self.env.all(Source)
        fed = bool(sources) and not any(source.process.is_alive for source in sources)
        # What ends just now belongs to the period that begins now, whether it is known already or not.
        if any(_end_s(attempt) >= self.env.now for attempt in self._ended):
            return False
        return (fed and all(each.closed or each.is_idle for each in self._of())) or self.env.peek() == math.inf

    def _forget(self, begin_s: float) -> None:
        """Forget what happened before the first period."""
        self._until(begin_s)
        self._lost_value()

    def _until(self, end_s: float) -> tuple[list[Attempt], list[Attempt]]:
        """Return what has started, and has ended, before an instant; it is kept here no longer."""
        started, self._started = parted(self._started, lambda attempt: attempt.start_s < end_s)
        ended, self._ended = parted(self._ended, lambda attempt: _end_s(attempt) < end_s)
        return started, ended

    def _learn(self, begin_s: float, end_s: float) -> None:
        """Report to the strategy what a period cost."""
        started, ended = self._until(end_s)
        counted = started if getattr(self.strategy, "counts", "finished") == "started" else ended
        simulated_s = self._simulated(begin_s, end_s, started)
        if self.cost == "lost_value":
            cost, count = self._lost_value()
        else:
            cost, count = self._cost_of(counted), len(counted)
        self.tuning_run.learn(cost, count, simulated_s)

    def _simulated(self, begin_s: float, end_s: float, started: Sequence[Attempt]) -> Floats | None:  # noqa: ARG002
        """Return what each choice would have cost in a period; None, for nobody simulates."""
        return None

    def _cost_of(self, counted: Sequence[Attempt]) -> float:
        """Return what the attempts of a period cost."""
        if not callable(self.cost):
            return math.fsum(attempt.start_s - attempt.submitted.submit_s for attempt in counted)
        cost = float(self.cost(counted))
        if not 0.0 <= cost < math.inf:
            what = f"cost {choice_name(self.cost)} of the period that ends at {self.env.now:g} s"
            raise RequestError(must_be(what, "a finite number >= 0", cost))
        return cost

    def _lost_value(self) -> tuple[float, int]:
        """Return the value that workflows lost that came to an end since it was last asked, and their number."""
        if self.cost != "lost_value":
            return 0.0, 0
        judged = [each for decider in self._of() for each in decider.judged() if each.outcome != OPEN]
        new = [each for each in judged if id(each.workflow) not in self._judged]
        self._judged.update(id(each.workflow) for each in new)
        return math.fsum(each.lost_value for each in new), len(new)

    # -- what came of it ------------------------------------------------------------------------------

    def about(self) -> dict[str, object]:
        """Return what was tuned, and how, as a schedule keeps it."""
        found = self.tuning_run.about(period_s=self.period_s, cost=str(choice_name(self.cost)))
        return {"of": [cluster.name for cluster in self.clusters], **found}


def _end_s(attempt: Attempt) -> float:
    """Return when an attempt ended, which it has."""
    return math.inf if attempt.end_s is None else attempt.end_s


def parted(of: list[_Item], first: Callable[[_Item], bool]) -> tuple[list[_Item], list[_Item]]:
    """Return what is of the first kind, and what is not, each in the order given."""
    return [one for one in of if first(one)], [one for one in of if not first(one)]


def _knob(given: object) -> tuple[Decider | Cluster, str]:
    """Return whose option is turned, and which: that of a scheduler alone is its order."""
    pair = given if isinstance(given, tuple) else (given, "order")
    if len(pair) == 2 and isinstance(pair[0], Decider | Cluster) and isinstance(pair[1], str):
        return pair[0], pair[1]
    expected = "a scheduler or router, or one of these, or a cluster, and the name of an option"
    raise RequestError(must_be("knob", expected, given))
