"""TaskRun: a task of a workflow, as clusters run it."""

from dataclasses import dataclass
from typing import Self

from simmodels.workflow import Workflow
from simmodels.workload import Job


@dataclass(frozen=True, slots=True)
class TaskRun(Job):
    """A task of a workflow, as a cluster runs it: a job of its runtime and cores.

    Parameters
    ----------
    workflow
        The job that it belongs to; `job_id` and `submit_s` are that job's.
    task
        Its number in the workflow.
    """

    workflow: Workflow = None  # type: ignore[assignment]  # always given; fields before it have defaults
    task: int = -1

    @classmethod
    def of(cls, workflow: Workflow, task: int) -> Self:
        """Return a task of a workflow, by its number."""
        runtime_s, cores = float(workflow.runtime_s[task]), int(workflow.cores[task])
        return cls(workflow.job_id, workflow.submit_s, runtime_s, runtime_s, cores, -1, None, workflow, task)
