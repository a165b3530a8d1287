"""What is tried for advice: orders with thresholds, other backfillings, priorities of batch systems, and tuners."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import simmodels as sm
from experiments.fitting import limits_within
from experiments.studies.multifactor import BY_IN_WORDS, By, Multifactor
from simmodels.policies.orders import find_order
from simmodels.policies.queue_options import Backfilling

LOG: Final = "the log"
RESAMPLE: Final = "a resample"
BACKFILLINGS: Final[Mapping[str, Backfilling]] = {
    "FCFS without backfilling": "none",
    "FCFS with greedy backfilling": "greedy",
    "FCFS with conservative backfilling": "conservative",
}
"""What a machine may have now instead of EASY backfilling."""
PRIORITIES: Final[Mapping[str, tuple[By, float]]] = {
    f"priority: {words}; {hours} h": (by, hours * sm.HOUR)
    for by, words in BY_IN_WORDS.items()
    for hours in (10, 40, 160, 640, 2560)
}
"""Priorities that can be entered into a batch system: what they go by, and how much waiting makes up for any of it."""
TUNERS: Final[Mapping[str, tuple[sm.Strategy, float]]] = {
    "simulating tuner, by week": (sm.FullFeedback(), sm.WEEK),
    "bandit tuner, by week": (sm.EpsilonGreedy(epsilon=0.1), sm.WEEK),
    "bandit tuner, by day": (sm.EpsilonGreedy(epsilon=0.1), sm.DAY),
}
AUTO: Final = "auto"
"""The current policy is the one whose waits are nearest to the log's; limits are fitted where the replay needs them."""
FIXED: Final = (*sm.TWELVE_ORDERS, *BACKFILLINGS, *PRIORITIES)
"""All but the tuners: what a machine can have."""


ENTERABLE: Final = frozenset({"FCFS", *PRIORITIES})
"""What can be entered into Slurm and PBS: priorities, and the age alone."""
BY_LIMITS: Final = frozenset(
    {name for name in sm.TWELVE_ORDERS if "estimate" in find_order(name).needs}
    | {name for name, (by, _) in PRIORITIES.items() if by != "cores"}
)
"""What depends on the limits of jobs."""


def in_words(threshold_h: object) -> str:
    """Return a threshold in words."""
    return "without a threshold" if threshold_h is None else f"with a threshold of {threshold_h:g} h"


def in_seconds(threshold_h: float | None) -> float | None:
    """Return a threshold in seconds."""
    return None if threshold_h is None else threshold_h * sm.HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Replays:
    """How a log and its resamples are replayed.

    Parameters
    ----------
    log, node_cores
        The log, from which the weights of a priority are, and the cores of a node.
    limits
        Limits of the log.
    ahead
        What first come, first served is, if jobs of some queues go before others.
    """

    log: sm.Workload
    node_cores: int = 1
    limits: sm.Limits | None = None
    ahead: sm.Ahead | None = None

    def priority(self, policy: str) -> Multifactor:
        """Return the priority that has a name, with the weights that the log gives it."""
        by, span_s = PRIORITIES[policy]
        return Multifactor.fitted(by, span_s, self.log, self.log.max_cores or 1, node_cores=self.node_cores)

    def schedule(self, policy: str, threshold_h: float | None = None, trace: sm.Workload | None = None) -> sm.Schedule:
        """Return the schedule of the log, or of a resample of it, under one of `FIXED`.

        After the threshold a job goes before all others, if the policy is an order.
        """
        trace = self.log if trace is None else trace
        mine, first_come = limits_within(self.limits, trace), self.ahead or "FCFS"
        if policy in PRIORITIES:
            return self.priority(policy).simulate(trace, limits=mine)
        if policy in BACKFILLINGS:
            return sm.simulate(trace, order=first_come, backfilling=BACKFILLINGS[policy], limits=mine)
        order = first_come if policy == "FCFS" else policy
        return sm.simulate(trace, order=order, threshold_s=in_seconds(threshold_h), limits=mine)
