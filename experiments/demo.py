"""Demo: five orders on a workload that is generated on the spot."""

from typing import Final

from simmodels.workload import Workload
from workloads.lublin import lublin
from workloads.tsafrir import tsafrir_estimates

ORDERS: Final = ("FCFS", "SPF", "SAF", "WFP3", "F2")
JOBS: Final = 10_000
CORES: Final = 256


def demo_workload(*, jobs: int = JOBS, cores: int = CORES, load: float | None = None, seed: int = 0) -> Workload:
    """Return jobs of the Lublin-Feitelson model with the estimates of Tsafrir's: they look like a real log.

    Parameters
    ----------
    jobs
        How many, >= 1.
    cores
        The cores of the machine, >= 2.
    load
        The offered load; None for that of the model.
    seed
        An integer >= 0: the same seed gives the same workload.

    Raises
    ------
    RequestError
        A number is out of its range.

    References
    ----------
    See `workloads.lublin` and `workloads.tsafrir_estimates`.
    """
    return tsafrir_estimates(lublin(jobs=jobs, cores=cores, load=load, seed=seed, name=f"lublin-{cores}"), seed=seed)
