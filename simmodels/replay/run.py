"""replay_workload: a workload through the compiled clock."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simmodels.decisions.options import QueueOptions, raise_refused
from simmodels.decisions.state import refused
from simmodels.replay.clock import replay
from simmodels.schedule import COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.streams import stream
from simmodels.workload import Workload

_Column = TypeVar("_Column", NDArray[np.float64], NDArray[np.int8], NDArray[np.bool_])


def replay_workload(workload: Workload, *, cores: int, options: QueueOptions, seed: int) -> Schedule:
    """Return the schedule of a workload on one pool of cores, by the compiled clock.

    Parameters
    ----------
    workload
        The jobs; each that is known must be able to run on `cores` cores.
    cores
        The size of the pool.
    options
        How the queue is scheduled.
    seed
        For orders that draw.

    Raises
    ------
    RequestError
        An order gave no number for a job; what a Python order raised is raised again.
    """
    known = workload.known()
    rows = None  # slot -> row; None where all jobs are known and sorted, as logs should be
    if not known.all() or (np.diff(workload.submit_s) < 0).any():
        rows = np.flatnonzero(known)
        rows = rows[np.argsort(workload.submit_s[rows], kind="stable")]
    columns = (workload.submit_s, workload.runtime_s, workload.estimate_s, workload.cores)
    if rows is not None:
        columns = tuple(column[rows] for column in columns)  # type: ignore[assignment]
    jobs = len(columns[0])
    draw = stream(seed, "order", "draw").random(jobs) if options.draws else None
    queue = options.open(columns, free=cores, draw=draw)
    started = np.full(jobs, np.nan)
    ended = np.full(jobs, np.nan)
    if not replay(queue, options.decide == "event", options.overrun == "kill", started, ended):
        slot, now = refused(queue)
        job = workload.job(slot if rows is None else int(rows[slot]))
        raise_refused(job, now, options.order, options.backfill_order)
    outcome = np.full(jobs, COMPLETED, np.int8)
    if options.overrun == "kill":
        outcome[columns[2] < columns[1]] = KILLED
    outcome[np.isnan(ended)] = UNFINISHED
    counted = np.ones(jobs, np.bool_)
    counted[: options.warm_jobs] = False
    about = {**options.about(), "engine": "compiled", "seed": seed, "left_out": len(workload) - jobs}
    if rows is not None:
        started = _by_row(started, rows, np.full(len(workload), np.nan))
        ended = _by_row(ended, rows, np.full(len(workload), np.nan))
        outcome = _by_row(outcome, rows, np.full(len(workload), UNFINISHED, np.int8))
        counted = _by_row(counted, rows, np.zeros(len(workload), np.bool_))
    return Schedule(workload, cores, started, ended, outcome=outcome, counted=counted, about=about)


def _by_row(by_slot: _Column, rows: NDArray[np.intp], filled: _Column) -> _Column:
    """Return a column in input order; what is in no slot stays as it was filled."""
    filled[rows] = by_slot
    return filled
