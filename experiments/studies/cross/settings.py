"""What the cross study varies: orders, deciders, capacities, workloads; which of them go together; what it refuses."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, get_args

from experiments.campaigns.study import Design
from simmodels import RequestError
from simmodels.engine import Engine
from simmodels.errors import must_be, require_known
from simmodels.policies.queue_options import Backfilling

FIXED: Final = ("FCFS", "SAF", "F2", "learned")
"""The orders that stay the same; ``learned`` is fitted to trials on a steady machine."""
TUNERS: Final = ("bandit", "feedback")
"""The online tuners, which choose one of `FIXED` period by period."""
ORDERS: Final = (*FIXED, *TUNERS)
QUEUES: Final[Mapping[str, Backfilling]] = {"EASY": "easy", "conservative": "conservative"}
AWARE: Final = "first fit"
UNAWARE: Final = "unaware first fit"
TARGETED: Final = "TargetASAP"
DECIDERS: Final = (*QUEUES, AWARE, UNAWARE, TARGETED)
"""Who decides on one cluster."""
ONE_QUEUE: Final = "one queue"
AUCTION: Final = "auction"
ROUTERS: Final = (AUCTION, "EarliestStart", "LeastLoaded")
"""Who decides which of two clusters, with an EASY queue each, a job goes to."""
ROUTED: Final = (ONE_QUEUE, *ROUTERS)
ROUTED_ORDERS: Final = ("FCFS", "SAF")
WORKLOADS: Final = ("log", "Borg", "workflows", "mixed")
STEADY: Final = "steady"
SERIES: Final = "series"
_WALK: Final = re.compile(r"walk ([1-9][0-9]{0,5})")


def period_of(capacity: str) -> float | None:
    """Return how long a walk stays as it is, in seconds; None for what is no walk."""
    found = _WALK.fullmatch(capacity)
    return None if found is None else float(found[1])


def orders_for(decider: str) -> tuple[str, ...]:
    """Return the orders that mean something for a decider.

    TargetASAP places each job when it is submitted, so its order is FCFS. A tuner that simulates needs a queue. Queues
    behind a router are compared under two fixed orders: a tuner turns the option of one scheduler.
    """
    if decider == TARGETED:
        return ("FCFS",)
    if decider in ROUTED:
        return ROUTED_ORDERS
    return ORDERS if decider in QUEUES else tuple(name for name in ORDERS if name != "feedback")


class Platform(NamedTuple):
    """The machines of a run: their number on average, how far from it the number may be, and the cores of each."""

    machines: int
    radius: int
    cores: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Platform":
        """Return the machines that parameters describe."""
        return cls(values["machines"], values["radius"], values["cores_per_machine"])

    @property
    def half(self) -> "Platform":
        """One of two clusters that together are as large."""
        return Platform(self.machines // 2, self.radius // 2, self.cores)

    @property
    def mean_cores(self) -> int:
        """How many cores are on, on average."""
        return self.machines * self.cores


def policies(design: Design) -> Iterator[tuple[str, str]]:
    """Hand out each decider with each order that means something for it."""
    chosen = [str(name) for name in design.factors["order"]]
    for decider in map(str, design.factors["decider"]):
        known = orders_for(decider)
        for order in chosen:
            if order in known:
                yield decider, order


def require_settings(design: Design) -> None:
    """Refuse settings that cannot be run."""
    of = design.parameters
    design.require_known(engine=get_args(Engine), workload=WORKLOADS, decider=(*DECIDERS, *ROUTED), order=ORDERS)
    for value in design.factors["capacity"]:
        if period_of(str(value)) is None:
            require_known("capacity", value, (STEADY, SERIES, "walk 3600"))
    design.require_integers(0, "radius")
    design.require_integers(1, "cores_per_machine", "trial_cores", "pairs")
    design.require_integers(2, "machines")
    design.require_integers(32, "trials")
    design.require_numbers("window_days", "warm_days", "load", "learn_on", "tune_h", "rebalance_s", "tau_s", above=0)
    _require_related(of)
    if not any(True for _ in policies(design)):
        raise RequestError(
            "no decider goes with any of the orders", "use TargetASAP with FCFS, routers with FCFS or SAF"
        )


def _require_related(of: Mapping[str, Any]) -> None:
    """Refuse numbers that do not go together."""
    platform = Platform.of(of)
    if platform.machines % 2 or platform.radius % 2 or platform.radius >= platform.machines:
        given = (platform.machines, platform.radius)
        raise RequestError(must_be("machines and radius", "even, and radius less than machines", given))
    if of["trial_cores"] < platform.cores:
        raise RequestError(must_be("trial_cores", f"at least cores_per_machine, {platform.cores},", of["trial_cores"]))
    if of["warm_days"] >= of["window_days"]:
        raise RequestError(must_be("warm_days", f"less than window_days, {of['window_days']},", of["warm_days"]))
    if of["learn_on"] >= 1:
        raise RequestError(must_be("learn_on", "less than 1", of["learn_on"]))
    for name in ("log", "borg", "workflow_files", "series", "series_column"):
        if not isinstance(of[name], str):
            raise RequestError(must_be(name, "a text", of[name]))
