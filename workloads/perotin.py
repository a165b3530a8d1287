"""The four synthetic families of the study of variable capacity: Uniform, LogScale, LogScaleU, 3types.

References
----------
Perotin, Zhang, Wijayawardana, Benoit, Robert, Chien, "Risk-aware scheduling algorithms for variable capacity
resources", SC-W 2023, doi:10.1145/3624062.3624194, section 5.1.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.numbers import as_integer, as_number, is_number
from simmodels.ground.streams import stream
from simmodels.units import WEEK
from simmodels.work.workload import Workload

Family = Literal["Uniform", "LogScale", "LogScaleU", "3types"]
RISKY_FAMILIES: Final[tuple[str, ...]] = get_args(Family)
"""The families that `variable_capacity_jobs` knows."""

_CORES: Final = np.array([1, 2, 4, 8])
_CORE_SHARES: Final = np.array([1, 2, 2, 1]) / 6
_MEAN_CORES: Final = 3.5
_LOAD: Final = 26.0  # machines, at which the families are aimed
_SHARES: Final = (64.0, 16.0, 4.0, 1.0)  # of the classes of LogScale


def mean_length_s(jobs_per_week: int, cores_per_machine: int = 24, load: float = _LOAD) -> float:
    """Return the mean length, in seconds, at which this many jobs per week keep `load` machines busy.

    Parameters
    ----------
    jobs_per_week
        How many jobs are released in a week.
    cores_per_machine
        The cores of each machine.
    load
        How many machines they would keep busy.

    Returns
    -------
    float
        The mean length, in seconds.

    Raises
    ------
    RequestError
        A number is out of its range.

    Notes
    -----
    The paper prints 209,664/n hours, which leaves out that jobs have 3.5 cores on average.

    Examples
    --------
    >>> import workloads as wl
    >>> round(wl.mean_length_s(20_000) / 60)
    90
    """
    jobs_per_week = as_integer("jobs_per_week", jobs_per_week, 1)
    cores_per_machine = as_integer("cores_per_machine", cores_per_machine, int(_CORES[-1]))
    load = as_number("load", load, above=0, unit="machines")
    return load * cores_per_machine * WEEK / (_MEAN_CORES * jobs_per_week)


def variable_capacity_jobs(
    family: Family,
    *,
    weeks: float = 3.0,
    jobs_per_week: int = 20_000,
    cores_per_machine: int = 24,
    load: float = _LOAD,
    shares: Sequence[float] = _SHARES,
    seed: int = 0,
    name: str | None = None,
) -> Workload:
    """Return jobs of a family: released at equal gaps, of 1, 2, 4 or 8 cores, of random lengths.

    - ``"Uniform"``: lengths uniform up to twice the mean.
    - ``"LogScale"``: four classes, each five times as long and a quarter as frequent as the one before.
    - ``"LogScaleU"``: the same classes, equally frequent.
    - ``"3types"``: lengths t, 3t and 9t, 9 : 3 : 1 as frequent, each times a uniform number from 0.95 to 1.05.

    Parameters
    ----------
    family
        The family of lengths.
    weeks
        How long jobs are released.
    jobs_per_week
        How many a week; their mean length is such that the load stays the same.
    cores_per_machine
        The cores of the machines they are meant for.
    load
        How many machines they would keep busy.
    shares
        How frequent the four classes of LogScale are, from the shortest jobs to the longest.
    seed
        The seed, an integer >= 0: the same arguments give the same jobs.
    name
        Its name in figures and tables; None for the family.

    Returns
    -------
    Workload
        Jobs in order of release; lengths in whole seconds, estimates equal to them.

    Raises
    ------
    UnknownNameError
        There is no such family.
    RequestError
        A number is out of its range.

    Notes
    -----
    By default, the classes of LogScale are as 64:16:4:1; the printed 4P(2) = 4P(3) = 4P(4) is a slip. The load of
    LogScaleU is that of the others (the authors' program makes it that of 16 machines). Lengths are whole seconds, at
    least 1.

    Examples
    --------
    >>> import workloads as wl
    >>> wl.variable_capacity_jobs("LogScale", weeks=0.5, jobs_per_week=1000, seed=1)
    <Workload 'LogScale': 500 jobs>
    """
    require_known("family", family, RISKY_FAMILIES)
    jobs_per_week = as_integer("jobs_per_week", jobs_per_week, 1)
    weeks = as_number("weeks", weeks, above=0)
    mean = mean_length_s(jobs_per_week, cores_per_machine, load)
    given: Any = shares
    four = isinstance(given, Sequence) and len(given) == len(_SHARES) and all(map(is_number, given))
    if not (four and min(given) >= 0 and 0 < sum(given) < np.inf):
        raise RequestError(must_be("shares", "four finite numbers >= 0, not all 0", given))
    jobs = int(np.ceil(weeks * jobs_per_week * (1 - 1e-15)))  # 0.07 of 20,000 is not above 1,400
    release_s = np.floor(np.arange(jobs) * (WEEK / jobs_per_week))
    length_s = np.maximum(np.rint(_lengths(family, jobs, mean, shares, seed)), 1.0)
    return Workload(
        job_id=np.arange(1, jobs + 1),
        submit_s=release_s,
        runtime_s=length_s,
        estimate_s=length_s,
        cores=stream(seed, "risky", family, "cores").choice(_CORES, jobs, p=_CORE_SHARES),
        name=family if name is None else name,
        counts={"jobs": jobs},
    )


def _lengths(family: Family, jobs: int, mean: float, shares: Sequence[float], seed: int) -> NDArray[np.float64]:
    """Return the length of each job, in seconds."""
    draw = stream(seed, "risky", family, "lengths").random(jobs)
    if family == "Uniform":
        return 2 * mean * draw
    which = stream(seed, "risky", family, "classes").random(jobs)
    if family == "3types":
        kind = np.searchsorted(np.cumsum(np.array([9, 3, 1]) / 13), which, side="right").clip(0, 2)
        return np.asarray(mean * 13 / 27 * 3.0**kind * (0.95 + 0.1 * draw))
    weights = np.array(shares) / np.sum(shares) if family == "LogScale" else np.full(4, 0.25)
    kind = np.searchsorted(np.cumsum(weights), which, side="right").clip(0, 3)
    unit = mean / float((weights * 3 * 5.0 ** np.arange(4)).sum())  # the mean of class c is 3 x 5^c units
    return np.asarray(unit * 5.0**kind * (1 + 4 * draw))
