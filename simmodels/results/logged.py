"""Logged: when the jobs of a log really started, as a schedule that simulated ones can be compared with."""

from typing import Final

import numpy as np

from simmodels.errors import RequestError
from simmodels.ground.numbers import Floats
from simmodels.results.schedule import COMPLETED, UNFINISHED, Schedule
from simmodels.work.workload import Workload, WorkloadLike

WAIT: Final = "wait_s"
"""The column of a log that says how long each job waited; -1 where that is not known."""
AS_LOGGED: Final = "as logged"


def logged_wait_s(workload: Workload) -> Floats:
    """Return float64[n], how long each job waited by the log; NaN where the log does not say.

    A wait below 0, which a clock that was set back leaves in a log, is unknown.
    """
    waits = workload.extras.get(WAIT)
    if waits is None:
        return np.full(len(workload), np.nan)
    wait_s = np.asarray(waits, dtype=np.float64)
    return np.where(workload.known() & workload.rigid() & (wait_s >= 0), wait_s, np.nan)


def as_logged(workload: WorkloadLike, *, cores: int | None = None) -> Schedule:
    """Return the schedule that a log records: each job started when the log says, and ran for its runtime.

    It has the figures of merit, tables and charts of any schedule. It need not be legal: more cores than there are may
    have been in use at an instant by the log. Each job has the cores that it has in the workload, which may be those it
    asked for.

    Parameters
    ----------
    workload
        Jobs with a column ``wait_s`` among the extras, as `workloads.read_swf` and `workloads.read_sacct` give them.
        Jobs without a known wait are unfinished, and do not count in the metrics.
    cores
        The size of the machine; None for ``workload.max_cores``.

    Returns
    -------
    Schedule
        One row per job. A job without a known wait has NaN as its start and end.

    Raises
    ------
    RequestError
        No job has a logged wait, or the size of the machine is unknown.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0, 0], "runtime_s": [60, 60], "cores": [4, 4], "wait_s": [0, 90]}
    >>> sm.as_logged(sm.Workload.of(jobs), cores=4).metrics()["mean_wait_s"]
    45.0
    """
    workload = Workload.of(workload)
    wait_s = logged_wait_s(workload)
    has_wait = ~np.isnan(wait_s)
    if not has_wait.any():
        raise RequestError(
            f"{workload.name!r} does not say when its jobs started", f"add a column {WAIT} of waits >= 0"
        )
    size = workload.max_cores if cores is None else cores
    if size is None:
        raise RequestError(f"the size of the machine of {workload.name!r} is unknown", "give cores=")
    start_s = workload.submit_s + wait_s
    return Schedule(
        workload,
        size,
        start_s,
        start_s + workload.runtime_s,
        outcome=np.where(has_wait, COMPLETED, UNFINISHED).astype(np.int8),
        counted=has_wait,
        about={"order": AS_LOGGED, "left_out": int((~has_wait).sum())},
    )
