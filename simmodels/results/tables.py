"""Tables of a schedule: one row per job, and one row per task."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from simmodels.ground.later import pd
from simmodels.results import metrics
from simmodels.results.attempts import OUTCOMES, UNFINISHED
from simmodels.results.evidence import Evidence

_TASK_OUTCOMES: Final = ("completed", "killed", "interrupted", "running", "never started")


def job_table(evidence: Evidence) -> "pd.DataFrame":
    """Return the columns that `Schedule.jobs` has of rigid jobs, of every row."""
    e, work = evidence, evidence.workload
    columns: dict[str, object] = {
        "job_id": work.job_id,
        "submit_s": work.submit_s,
        "start_s": e.start_s,
        "wait_s": metrics.wait_s(work.submit_s, e.began_s),
        "end_s": e.end_s,
        "response_s": metrics.response_s(work.submit_s, e.end_s),
        "executed_s": e.executed_s,
        "runtime_s": work.runtime_s,
        "estimate_s": work.estimate_s,
        "cores": work.cores,
        "user_id": work.user_id,
        "outcome": pd.Categorical.from_codes(e.outcome, categories=pd.Index(OUTCOMES)),
        "counted": e.counted,
    }
    if e.listed is not None:
        columns["attempts"] = np.where(e.listed > 0, e.listed, e.started.astype(np.int64))
    return pd.DataFrame(columns)


def task_table(evidence: Evidence, price: NDArray[np.float64] | None) -> "pd.DataFrame":
    """Return the table of tasks, with what each paid if that is known; see `Schedule.tasks`."""
    e, work, started = evidence, evidence.workload, evidence.started
    names = np.array([*(spec.name for spec in e.clusters), None], dtype=object)
    lost = ~np.isnan(e.attempts.end_s[: len(work)])
    outcome = np.select([~started, e.outcome != UNFINISHED, lost], [4, e.outcome, 2], 3)
    label, kind = np.full(len(work), "0", dtype=object), np.full(len(work), None, dtype=object)
    if work.tasks is not None:
        kind = work.tasks.kind
        for first, flow in zip(work.tasks.first.tolist(), work.workflows, strict=True):
            label[first : first + len(flow)] = [flow.label(task) for task in range(len(flow))]
    columns: dict[str, object] = {
        "job_id": work.job_id,
        "task": label,
        "kind": kind,
        "cores": work.cores,
        "runtime_s": work.runtime_s,
        "start_s": e.start_s,
        "end_s": e.end_s,
        "cluster": pd.Series(names[np.where(started, e.cluster, -1)], dtype=object),
        "outcome": pd.Categorical.from_codes(outcome, categories=pd.Index(_TASK_OUTCOMES)),
    }
    if price is not None:
        columns["price"] = price
    return pd.DataFrame(columns)
