"""Cells: one simulation of a comparison, and how all of its cells are run."""

import inspect
import math
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from experiments.inputs import named_order, told
from simmodels.engine import Engine
from simmodels.errors import RequestError, SimModelsError, require_known
from simmodels.ground.numbers import MOST
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions
from simmodels.schedule import Schedule
from simmodels.simulate import simulate
from simmodels.workload import Workload

FIRST: Final = "compiled at first use"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How the cells of a comparison are run: all but the workload and the order.

    Parameters
    ----------
    backfilling, backfill_order, threshold_s, decide, overrun, queue_depth, warm_jobs, engine, seed
        As `simmodels.simulate` takes them; the backfill order may also be ``file.py:name``.
    tau_s
        The bound of the bounded slowdowns, in seconds, > 0.
    validate
        Whether each schedule is proved legal.

    Raises
    ------
    UnknownNameError, RequestError
        A value is not what is allowed.
    """

    backfilling: str = "easy"
    backfill_order: str | Priority | None = None
    threshold_s: float | None = None
    decide: str = "instant"
    overrun: str = "run"
    queue_depth: int | None = None
    warm_jobs: int = 0
    engine: str = "auto"
    seed: int = 0
    tau_s: float = 10.0
    validate: bool = False

    def __post_init__(self) -> None:
        """Check the values, before anything is run."""
        if isinstance(self.backfill_order, str):
            object.__setattr__(self, "backfill_order", named_order(self.backfill_order))
        require_known("engine", self.engine, get_args(Engine))
        if self.seed < 0:
            raise RequestError(f"seed is {self.seed}", "an integer >= 0 is allowed")
        if not 0 < self.tau_s < math.inf:
            raise RequestError(f"tau is {self.tau_s:g}", "a finite number of seconds > 0 is allowed")
        if self.queue_depth is not None and self.queue_depth > MOST:
            raise RequestError(f"queue_depth is {self.queue_depth}", f"at most {MOST} is allowed")
        QueueOptions.checked(order="FCFS", **(self._queue() | {"backfill_order": None}))
        if isinstance(self.backfill_order, Priority) and self.backfilling != "easy":
            what = f"backfill order {self.backfill_order.name} with backfilling {self.backfilling!r}"
            raise RequestError(what, 'only backfilling "easy" has an order of its own')

    def _queue(self) -> dict[str, Any]:
        names = ("backfilling", "backfill_order", "threshold_s", "decide", "overrun", "queue_depth", "warm_jobs")
        return {name: getattr(self, name) for name in names}

    def check(self, workload: Workload) -> None:
        """Refuse what does not go together with a workload.

        Raises
        ------
        RequestError
            All jobs would stand outside the metrics.
        """
        jobs = int(workload.known().sum())
        if self.warm_jobs >= jobs:
            what = f"warm_jobs is {self.warm_jobs}, and {workload.name!r} has {jobs} jobs"
            raise RequestError(what, "it must be less, or nothing would be measured")

    def simulate(self, workload: Workload, order: Priority) -> Schedule:
        """Return the schedule of a workload under an order; its ``max_cores`` is the machine."""
        schedule = simulate(workload, order=order, engine=self.engine, seed=self.seed, **self._queue())  # type: ignore[arg-type]  # checked
        return schedule.validate() if self.validate else schedule

    def run(self, workload: Workload, order: Priority) -> "Cell":
        """Return what came of an order: never an error, but one told."""
        try:
            schedule = self.simulate(workload, order)
            return Cell(order, schedule, schedule.metrics(self.tau_s))
        except Exception as error:
            files = self._files_of_the_user(order)
            if not (files or isinstance(error, SimModelsError | MemoryError)):
                raise  # our own mistake
            return Cell(order, error=told(error, files))

    def _files_of_the_user(self, order: Priority) -> list[str]:
        """Return the files in which the orders that are no built-in ones are defined."""
        asked = [o for o in (order, self.backfill_order) if isinstance(o, Priority)]
        return [inspect.getfile(inspect.unwrap(o.function)) for o in asked if not o.is_built_in]

    def table(self) -> dict[str, object]:
        """Return the values by name, as tables and JSON hold them: an order by its name."""
        second = self.backfill_order
        given = {**self._queue(), "seed": self.seed, "tau_s": self.tau_s}
        return given | {"backfill_order": second.name if isinstance(second, Priority) else second}


@dataclass(frozen=True, slots=True)
class Cell:
    """What came of one order.

    Parameters
    ----------
    order
        The order.
    schedule
        Its schedule; None if it failed.
    metrics
        The schedule's figures of merit.
    error
        What went wrong; None if nothing did.
    """

    order: Priority
    schedule: Schedule | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    error: str | None = None
