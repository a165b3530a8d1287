"""Tasks: which rows of a workload are tasks of workflows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError
from simmodels.ground.numbers import ranges
from simmodels.work.workflow import Workflow

OF_WORKFLOWS: Final = ("job_id", "submit_s", "runtime_s", "cores")
"""The columns that workflows say."""


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """Which rows of a workload are tasks of workflows, each of which is there once: schedulers know it by the object.

    Parameters
    ----------
    workflows
        The workflows, in input order.
    first
        int64[workflows], the row of each one's first task; its other tasks follow in the rows below.
    workflow
        int64[n], the number of the workflow that each row belongs to; -1 for a rigid job.
    columns
        The columns of the workload that `Workload.of_workflows` made: if these are its columns, they are unchanged.
    """

    workflows: tuple[Workflow, ...]
    first: NDArray[np.int64]
    workflow: NDArray[np.int64]
    columns: tuple[NDArray[Any], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse a workflow that is there twice."""
        if len(set(map(id, self.workflows))) == len(self.workflows):
            return
        times = Counter(map(id, self.workflows))
        flow = next(each for each in self.workflows if times[id(each)] > 1)
        what = f"job {flow.job_id} is {times[id(flow)]} times in a workload, as one object"
        raise RequestError(what, "add copies of it (dataclasses.replace)")

    @property
    def task(self) -> NDArray[np.int64]:
        """Return int64[n], the number of each row's task in its workflow; 0 for a rigid job."""
        rows = np.arange(len(self.workflow))
        return np.where(self.workflow >= 0, rows - np.append(self.first, 0)[self.workflow], 0)

    def rows(self, chosen: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.int64]:
        """Return int64[tasks], the rows of the tasks of these workflows, in the order given."""
        sizes = np.array([len(workflow) for workflow in self.workflows], np.int64)[chosen]
        return ranges(self.first[chosen], sizes)

    def label(self, row: int) -> str:
        """Return what errors add to the name of a row's job: ``, task fft``; nothing for a rigid job."""
        number = int(self.workflow[row])
        return f", task {self.workflows[number].label(row - int(self.first[number]))}" if number >= 0 else ""

    @property
    def kind(self) -> NDArray[np.object_]:
        """Return object[n], the kind of cluster that each row needs; None for any."""
        kind = np.full(len(self.workflow), None, dtype=object)
        for first, workflow in zip(self.first.tolist(), self.workflows, strict=True):
            kind[first : first + len(workflow)] = workflow.kind
        return kind

    @property
    def edges(self) -> NDArray[np.int64]:
        """Return int64[edges, 2], pairs of rows: the second needs the data of the first."""
        pairs = [workflow.edges + first for workflow, first in zip(self.workflows, self.first, strict=True)]
        return np.concatenate(pairs) if pairs else np.empty((0, 2), np.int64)

    @classmethod
    def concat(cls, parts: Sequence["Tasks | None"], lengths: Sequence[int]) -> Self:
        """Return those of workloads of these lengths that follow each other; None has no task."""
        workflows: list[Workflow] = []
        first, number, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        for tasks, length in zip(parts, lengths, strict=True):
            if tasks is None:
                number.append(np.full(length, -1, np.int64))
            else:
                number.append(np.where(tasks.workflow >= 0, tasks.workflow + len(workflows), -1))
                first.append(tasks.first + rows)
                workflows += tasks.workflows
            rows += length
        return cls(tuple(workflows), np.concatenate(first), np.concatenate(number))


def tasks_of(flows: tuple[Workflow, ...]) -> tuple[Tasks, dict[str, Any]]:
    """Return the tasks of workflows, one row each, and their columns by name."""
    sizes = np.array([len(flow) for flow in flows], np.int64)
    number = np.repeat(np.arange(len(flows)), sizes)
    runtime_s = np.concatenate([np.empty(0), *(flow.runtime_s for flow in flows)])
    columns = {
        "job_id": np.array([flow.job_id for flow in flows], np.int64)[number],
        "submit_s": np.array([flow.submit_s for flow in flows], np.float64)[number],
        "runtime_s": runtime_s,
        "estimate_s": runtime_s,
        "cores": np.concatenate([np.empty(0, np.int64), *(flow.cores for flow in flows)]),
    }
    return Tasks(flows, np.cumsum(sizes) - sizes, number), columns
