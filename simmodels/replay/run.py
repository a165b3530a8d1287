"""replay_workload: a workload through the compiled clock."""

import numpy as np

from simmodels.decisions.options import QueueOptions, raise_refused
from simmodels.decisions.state import refused
from simmodels.replay.clock import replay
from simmodels.schedule import COMPLETED, KILLED, Schedule
from simmodels.streams import stream
from simmodels.workload import Workload


def replay_workload(workload: Workload, *, cores: int, options: QueueOptions, seed: int) -> Schedule:
    """Return the schedule of a workload on one pool of cores, by the compiled clock.

    Parameters
    ----------
    workload
        The jobs; each must be able to run on `cores` cores.
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
    jobs = len(workload)
    submit = workload.submit_s
    rows = None  # slot -> row; None where the log is sorted, as logs should be
    if jobs and (np.diff(submit) < 0).any():
        rows = np.argsort(submit, kind="stable")

    columns = (submit, workload.runtime_s, workload.estimate_s, workload.cores)
    if rows is not None:
        columns = (submit[rows], workload.runtime_s[rows], workload.estimate_s[rows], workload.cores[rows])
    draw = stream(seed, "order", "draw").random(jobs) if options.draws else None
    queue = options.open(columns, free=cores, draw=draw)
    started = np.full(jobs, np.nan)
    ended = np.full(jobs, np.nan)
    if not replay(queue, options.decide == "event", options.overrun == "kill", started, ended):
        slot = refused(queue)
        raise_refused(workload.job(slot if rows is None else int(rows[slot])), options.order, options.backfill_order)
    counted = np.ones(jobs, np.bool_)
    counted[: options.warm_jobs] = False
    if rows is not None:
        started_by_slot, ended_by_slot, counted_by_slot = started, ended, counted
        started, ended, counted = np.empty(jobs), np.empty(jobs), np.empty(jobs, np.bool_)
        started[rows], ended[rows], counted[rows] = started_by_slot, ended_by_slot, counted_by_slot
    outcome = None
    if options.overrun == "kill":
        outcome = np.where(workload.estimate_s < workload.runtime_s, KILLED, COMPLETED).astype(np.int8)
    about = {**options.about(), "engine": "compiled", "seed": seed}
    return Schedule(workload, cores, started, ended, outcome=outcome, counted=counted, about=about)
