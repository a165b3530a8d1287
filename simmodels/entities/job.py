"""TaskRun: a task of a workflow, as clusters run it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from simmodels.workflow import Workflow
from simmodels.workload import Job


@dataclass(frozen=True, slots=True, init=False)
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

    def __init__(
        self,
        job_id: int,
        submit_s: float,
        runtime_s: float,
        estimate_s: float,
        cores: int,
        user_id: int = -1,
        extras: Mapping[str, float] | None = None,
        workflow: Workflow = None,  # type: ignore[assignment]  # as above
        task: int = -1,
    ) -> None:
        # `super()` would be of the class as it was before it had slots
        Job.__init__(self, job_id, submit_s, runtime_s, estimate_s, cores, user_id, extras)
        _set_workflow(self, workflow)
        _set_task(self, task)

    @classmethod
    def of(cls, workflow: Workflow, task: int) -> Self:
        """Return a task of a workflow, by its number."""
        runtime_s, cores = float(workflow.runtime_s[task]), int(workflow.cores[task])
        return cls(workflow.job_id, workflow.submit_s, runtime_s, runtime_s, cores, -1, None, workflow, task)


# As of `Job`: an auction makes one at each start.
_set_workflow, _set_task = (getattr(TaskRun, name).__set__ for name in ("workflow", "task"))
