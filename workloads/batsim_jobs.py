"""Batsim's table of jobs: a schedule written as the simulator Batsim would, so that evalys reads it."""

import os
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels.ground.arguments import as_instance
from simmodels.ground.files import write_csv
from simmodels.results.allocation import allocate
from simmodels.results.schedule import COMPLETED, KILLED, UNFINISHED, Schedule

COLUMNS: Final = (
    "job_id",
    "workload_name",
    "profile",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "final_state",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
    "consumed_energy",
    "metadata",
)
UNCOUNTED: Final = "uncounted"


def batsim_jobs(schedule: Schedule) -> pd.DataFrame:
    """Return Batsim's table of jobs: one row per job in input order, the 17 columns in Batsim's order.

    Times are in seconds. Absent values (of a job that did not start, or not end) are NaN, as
    Batsim leaves the fields of a rejected job empty; so is the stretch of a job that ran for 0 s.

    ``requested_time`` is the job's estimate. ``final_state`` is COMPLETED_SUCCESSFULLY, for a
    killed job COMPLETED_WALLTIME_REACHED, for one that still runs RUNNING and for one that waits
    SUBMITTED. ``stretch`` is Batsim's: turnaround over execution time. ``profile`` is the
    workload's extra column of this name, or else the runtime. ``consumed_energy`` is -1, as Batsim
    writes it without a model of energy. ``metadata`` says of a job that stands outside the
    metrics that it is ``uncounted``. Of a job that ran more than once, the last attempt is written.

    A workload that `workloads.batsim.read_batsim` has read keeps its own ids and names of profiles;
    of an id such as ``w0!7`` the first part is the ``workload_name``, else this is the workload's.

    Parameters
    ----------
    schedule
        A legal schedule; its cores are given by `simmodels.results.allocation.allocate`.

    Returns
    -------
    DataFrame
        One row per job in input order, the 17 columns in Batsim's order.

    Raises
    ------
    IllegalScheduleError
        More cores are in use at some instant than the machine has.

    References
    ----------
    Batsim's documentation, page *Jobs* of its output files.

    Examples
    --------
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> schedule = sm.simulate({"submit_s": [0, 0], "runtime_s": [10, 10], "cores": [1, 2]}, cores=2)
    >>> wl.batsim_jobs(schedule)["waiting_time"].tolist()
    [0.0, 10.0]
    """
    as_instance("schedule", schedule, Schedule)
    work, jobs, outcome = schedule.workload, schedule.jobs, schedule.outcome
    states = [outcome == COMPLETED, outcome == KILLED, schedule.tasks["outcome"] != "running"]
    names = ["COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED", "SUBMITTED"]
    whole = work.extras.get("batsim_id", work.job_id).tolist()
    ids = [(name, own) for name, _, own in (str(job_id).rpartition("!") for job_id in whole)]
    executed_s = schedule.executed_s + schedule.earlier_s
    cores = allocate(schedule).formatted()[: len(schedule)]
    columns = {
        "job_id": [own for _, own in ids],
        "workload_name": [name or work.name for name, _ in ids],
        "profile": work.extras["profile"] if "profile" in work.extras else _texts(work.runtime_s),
        "submission_time": work.submit_s,
        "requested_number_of_resources": work.cores,
        "requested_time": work.estimate_s,
        "success": (outcome == COMPLETED).astype(np.int64),
        "final_state": np.select(states, names, default="RUNNING"),
        "starting_time": schedule.began_s,
        "execution_time": executed_s,
        "finish_time": schedule.end_s,
        "waiting_time": jobs["wait_s"].to_numpy(),
        "turnaround_time": jobs["response_s"].to_numpy(),
        "stretch": (jobs["response_s"] / np.where(executed_s > 0, executed_s, np.nan)).to_numpy(),
        "allocated_resources": cores,
        "consumed_energy": np.where(outcome == UNFINISHED, np.nan, -1.0),
        "metadata": np.where(schedule.counted, "", UNCOUNTED),
    }
    return pd.DataFrame({name: columns[name] for name in COLUMNS})


def write_batsim_jobs(schedule: Schedule, path: str | os.PathLike[str]) -> None:
    """Write a schedule as Batsim's ``jobs.csv``, whole or not at all; see `batsim_jobs`.

    Numbers are written in full, where Batsim rounds to six decimals.

    Parameters
    ----------
    schedule
        A legal schedule.
    path
        The file; its folder must exist.

    Raises
    ------
    IllegalScheduleError
        More cores are in use at some instant than the machine has.
    FileNotFoundError
        The folder of `path` does not exist.

    Examples
    --------
    >>> from pathlib import Path
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> schedule = sm.simulate({"submit_s": [0, 0], "runtime_s": [10, 10], "cores": [1, 2]}, cores=2)
    >>> wl.write_batsim_jobs(schedule, "jobs.csv")
    >>> len(Path("jobs.csv").read_text().splitlines())
    3
    """
    write_csv(batsim_jobs(schedule), path)


def _texts(values: NDArray[np.float64]) -> NDArray[np.object_]:
    """Return numbers as text, whole ones without a point."""
    return np.array([str(int(value)) if value.is_integer() else repr(value) for value in values.tolist()], dtype=object)
