"""simulate_on_machines: the short way in for machines that come and go, by the fastest exact clock."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from simmodels.capacity import Capacity, CapacityChange
from simmodels.engine import Engine
from simmodels.entities.placer import FirstFit, PackedTargetAsap, Placer, TargetAsap, TargetStretch
from simmodels.on_machines import run_on_machines
from simmodels.policies.placement_options import Heuristic, PlacementOptions
from simmodels.schedule import Schedule
from simmodels.workload import Workload

_PLACERS: dict[str, type[Placer]] = {
    each.heuristic: each for each in (FirstFit, TargetStretch, TargetAsap, PackedTargetAsap)
}


def simulate_on_machines(
    workload: Workload,
    capacity: Capacity | pd.DataFrame | Iterable[CapacityChange],
    *,
    cores_per_machine: int,
    heuristic: Heuristic = "FirstFit",
    machines: int | None = None,
    window_s: tuple[float, float] | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    **options: Any,  # noqa: ANN401  the fields of PlacementOptions
) -> Schedule:
    """Return the schedule of jobs that run inside one machine each, on machines that come and go.

    Parameters
    ----------
    workload
        The jobs; each must be able to run on a machine.
    capacity
        How many machines there are over time: see `Capacity.of`.
    cores_per_machine
        The cores of each.
    heuristic
        ``"FirstFit"``, ``"TargetStretch"``, ``"TargetAsap"`` or ``"PackedTargetAsap"``.
    machines
        How many machines there are at most; None for the most that the capacity has.
    window_s
        From when to when, the end included; jobs that were submitted before and would still run are run on, those
        submitted at its end or later are left out. None: from the first submit until all is done, or if machines stay
        dark forever until the last change.
    engine
        ``"simpy"`` (the process clock), ``"compiled"`` (the compiled clock), or ``"auto"`` (the
        compiled one: the schedule is the same to the last bit).
    seed
        For fill orders and removals that are drawn.
    options
        As in `simmodels.policies.placement_options.PlacementOptions`.

    Raises
    ------
    ImpossibleJobError
        A job can never run on a machine, or has no length.
    UnknownNameError, RequestError
        An option is not what is allowed, or jobs of the window have the same number.

    Examples
    --------
    >>> jobs = Workload.from_frame(pd.DataFrame({"submit_s": [0, 1], "runtime_s": [10, 5], "cores": [2, 2]}))
    >>> schedule = simulate_on_machines(jobs, [(0, 2), (4, 1)], cores_per_machine=2)
    >>> schedule.start_s.tolist(), schedule.metrics()["kills"]
    ([0.0, 10.0], 1)
    """
    checked = PlacementOptions.checked(heuristic, **options)
    return run_on_machines(
        workload,
        capacity,
        checked,
        lambda env, cluster: _PLACERS[heuristic](env, cluster, **options),
        cores_per_machine=cores_per_machine,
        machines=machines,
        window_s=window_s,
        checkpoints=checked.checkpoints,
        random_kill=checked.random_kill,
        engine=engine,
        seed=seed,
    )
