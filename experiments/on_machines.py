"""On machines: the heuristics by the names that people say, and the queues that clusters have, on the same machines."""

from typing import Any, Final

from simmodels.clusters.capacity import Capacity
from simmodels.results.schedule import Schedule
from simmodels.simulate import simulate, simulate_on_machines
from simmodels.work.workload import Workload

FIRST_FIT: Final = ("FirstFitAware", "FirstFitUnaware")
ASAP: Final = ("TargetAsap", "PackedTargetAsap")
TARGETED: Final = ("TargetStretch", *ASAP)
FIVE: Final = (*FIRST_FIT, *TARGETED)
QUEUES: Final = ("EASY", "FCFS")


def heuristic_of(name: str) -> tuple[str, dict[str, Any]]:
    """Return one of `FIVE` as `simmodels.simulate_on_machines` names it, and the options that make it so."""
    return ("FirstFit", {"aware": name == "FirstFitAware"}) if name in FIRST_FIT else (name, {})


def run_on_machines(
    name: str,
    log: Workload,
    capacity: Capacity,
    **options: Any,  # noqa: ANN401  those of simulate_on_machines
) -> Schedule:
    """Return the schedule of a window under a heuristic or a queue, on machines that are switched on and off.

    Parameters
    ----------
    name
        One of `FIVE`, or of `QUEUES`: first come, first served, with EASY or no backfilling, where a job may be on
        several machines.
    log, capacity
        As in `simmodels.simulate_on_machines`.
    options
        More of the same.
    """
    if name in QUEUES:
        return simulate(log, capacity=capacity, backfilling="easy" if name == "EASY" else "none", **options)
    kind, made = heuristic_of(name)
    return simulate_on_machines(log, capacity, heuristic=kind, **made, **options)  # type: ignore[arg-type]  # checked there
