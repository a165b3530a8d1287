"""On machines: the heuristics by the names that people say, and the queues that clusters have, on the same machines."""

from typing import Any, Final

from simmodels.capacity import Capacity
from simmodels.decisions.checkpointing import Checkpoints
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.powering import TraceCapacity
from simmodels.entities.recorder import Recorder
from simmodels.entities.scheduler import QueueScheduler
from simmodels.entities.source import Source
from simmodels.schedule import Schedule
from simmodels.simulate_on_machines import simulate_on_machines
from simmodels.workload import Workload

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
    *,
    cores_per_machine: int,
    machines: int,
    window_s: tuple[float, float],
    checkpoints: Checkpoints | None = None,
    **options: Any,  # noqa: ANN401  those of simulate_on_machines
) -> Schedule:
    """Return the schedule of a window under a heuristic or a queue, on machines that come and go.

    Parameters
    ----------
    name
        One of `FIVE`, or of `QUEUES`: first come, first served, with EASY or no backfilling, where a job may be on
        several machines.
    log, capacity, cores_per_machine, machines, window_s, checkpoints
        As in `simmodels.simulate_on_machines`; the window's end is finite.
    options
        More of the same, for heuristics; a queue has none.
    """
    if name not in QUEUES:
        kind, made = heuristic_of(name)
        return simulate_on_machines(
            log,
            capacity,
            cores_per_machine=cores_per_machine,
            heuristic=kind,  # type: ignore[arg-type]  # checked there
            machines=machines,
            window_s=window_s,
            checkpoints=checkpoints,
            **{**made, **options},
        )
    env = Environment(start_s=window_s[0])
    cluster = Cluster(env, "machines", machines=machines, cores_per_machine=cores_per_machine, checkpoints=checkpoints)
    TraceCapacity(env, cluster, capacity)
    scheduler = QueueScheduler(env, cluster, order="FCFS", backfilling="easy" if name == "EASY" else "none")
    Source(env, log, into=scheduler, window_s=window_s)
    recorder = Recorder(env)
    env.run(until=env.end_of(window_s[1]))
    return recorder.schedule(window_s=window_s)
