"""TaskRun: a task of a workflow, as clusters run it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job


@dataclass(frozen=True, slots=True, init=False)
class TaskRun(Job):
    """A task of a workflow, as a cluster runs it: a job of its runtime and cores.

    Parameters
    ----------
    workflow
        The job that it belongs to; `job_id` and `submit_s` are that job's.
    task
        Its number in the workflow.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> auctioneer = sm.Auctioneer(env, [sm.Cluster(env, "ours", cores=4)])
    >>> job = sm.Workflow(7, 0.0, [10, 20], cores=2, edges=[(0, 1)])
    >>> source = sm.Source(env, job, into=auctioneer)
    >>> env.on(sm.Started, lambda event: print(event.attempt.job.workflow.job_id, event.attempt.job.task))
    >>> env.run()
    7 0
    7 1
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
        *,
        workflow: Workflow,
        task: int,
    ) -> None:
        Job.__init__(
            self, job_id, submit_s, runtime_s, estimate_s, cores, user_id, extras
        )  # `super()` would be of the class as it was before it had slots
        _set_workflow(self, workflow)
        _set_task(self, task)

    @classmethod
    def of(cls, workflow: Workflow, task: int) -> Self:
        """Return a task of a workflow, by its number."""
        run = object.__new__(cls)  # as `__init__` does it, with a call less: an auction makes one at each start
        runtime_s = workflow.runtime_s.item(task)
        Job.__init__(run, workflow.job_id, workflow.submit_s, runtime_s, runtime_s, workflow.cores.item(task))
        _set_workflow(run, workflow)
        _set_task(run, task)
        return run


# As of `Job`.
_set_workflow, _set_task = (getattr(TaskRun, name).__set__ for name in ("workflow", "task"))
