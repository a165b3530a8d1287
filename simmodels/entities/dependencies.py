"""Dependencies: a process in front of any scheduler that submits each task of a workflow when its predecessors end."""

from collections.abc import Iterable, Sequence

import numpy as np

from simmodels.attempts import FINISHED
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.decider import Decider, Judged
from simmodels.entities.environment import Environment
from simmodels.entities.events import Routed, Submitted
from simmodels.entities.job import TaskRun
from simmodels.entities.router import Router
from simmodels.entities.serving import Scheduler
from simmodels.errors import RequestError
from simmodels.workflow import Workflow
from simmodels.workload import Job, Workload


class Dependencies(Decider):
    """Stands in front of a scheduler, or router, and sends it the tasks of workflows: each when it may start.

    That is when the workflow is submitted, or the last predecessor of the task has ended; data travel in no time. A
    `Source` of workflows puts one in front of any scheduler or router that does not take workflows by itself.

    Parameters
    ----------
    env, into
        The environment, and the scheduler or router.

    Examples
    --------
    >>> from simmodels import Cluster, QueueScheduler
    >>> env = Environment()
    >>> queue = QueueScheduler(env, Cluster(env, "c", cores=4))
    >>> Dependencies(env, queue).submit(Workflow(1, 0.0, [5.0, 3.0], 4, edges=[(0, 1)]))
    >>> env.run()
    >>> env.now
    8.0
    """

    takes_workflows = True

    def __init__(self, env: Environment, into: Scheduler | Router) -> None:
        self.env = env
        self.into = into
        self.clusters = into.clusters
        # By id, of workflows that are not done: how many predecessors of each task, and how many tasks, have not ended.
        self._missing: dict[int, list[int]] = {}
        self._left: dict[int, int] = {}
        self._finish_s: list[tuple[Workflow, float]] = []
        into.routers = (*into.routers, self)
        env.enter(self)

    @property
    def widest(self) -> int:
        """Return the most cores that a job, or task, may need."""
        return self.into.widest

    @property
    def is_idle(self) -> bool:
        """Whether all tasks of the workflows that were submitted here have ended."""
        return not self._left

    def judged(self) -> Iterable[Judged]:
        """Return what became of each workflow that is finished, however late."""
        for flow, finish_s in self._finish_s:
            yield Judged(flow, FINISHED, flow.critical_path_s(0.0), None, finish_s)

    def accept(self, given: Workload | Sequence[Workflow]) -> None:
        """Refuse what can never run.

        Raises
        ------
        ImpossibleJobError
            Naming the first such job, or task.
        RequestError
            Tasks ask for kinds, and there are clusters of several kinds: only an `Auctioneer` chooses by them.
        """
        if isinstance(given, Workload):
            if given.tasks is None:
                self.into.accept(given)
                return
            given = given.tasks.workflows
        for flow in given:
            self._require_flow(flow)

    def _require_flow(self, flow: Workflow) -> None:
        into = self.into
        kinds = {each.kind for each in into.clusters}
        if len(kinds) > 1 and any(kind is not None for kind in flow.kind):
            what = f"job {flow.job_id} asks for kinds of clusters behind a {type(into).__name__}"
            raise RequestError(what, "an Auctioneer must stand there: it chooses by kind")
        flow.require_runnable({(kinds.pop() if len(kinds) == 1 else None): self.widest})

    def submit(self, job: Job | Workflow) -> None:
        """Take a workflow, or a job, that is submitted now.

        Raises
        ------
        ImpossibleJobError
            It, or a task of it, can never run.
        """
        if not isinstance(job, Workflow):
            super().submit(job)
            return
        self._require_flow(job)
        self.env.publish(Submitted, job, self)
        if id(job) in self._left:
            raise RequestError(f"job {job.job_id} is submitted again before it is done", "submit a copy (replace(job))")
        missing = np.bincount(job.successor, minlength=len(job)).tolist()
        self._missing[id(job)], self._left[id(job)] = missing, len(job)
        for task in [task for task, count in enumerate(missing) if not count]:
            self._send(TaskRun.of(job, task))

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted already, to a router."""
        self._send(job)

    def _send(self, job: Job) -> None:
        self.env.publish(Routed, job, self, self.into)
        self.into.enqueue(job)

    def _note_end(self, attempt: Attempt) -> None:
        """Send the tasks whose last predecessor has ended."""
        run = attempt.submitted
        if not isinstance(run, TaskRun) or attempt.outcome is Outcome.LOST or id(run.workflow) not in self._left:
            return
        flow, missing = run.workflow, self._missing[id(run.workflow)]
        self._left[id(flow)] -= 1
        if not self._left[id(flow)]:
            del self._missing[id(flow)], self._left[id(flow)]
            self._finish_s.append((flow, float(self.env.now)))
        for task in flow.successor[flow.first[run.task] : flow.first[run.task + 1]].tolist():
            missing[task] -= 1
            if not missing[task]:
                self._send(TaskRun.of(flow, task))
