"""Dependencies: an entity in front of any scheduler that submits each task of a workflow when its data have come."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from simpy.events import Event

from simmodels.clusters.cluster_spec import Terms
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.cluster import Cluster
from simmodels.entities.decider import Decider, Judged
from simmodels.entities.environment import Environment
from simmodels.entities.events import Routed, WorkflowDone
from simmodels.entities.job import TaskRun
from simmodels.entities.router import Router
from simmodels.errors import RequestError, with_article
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration
from simmodels.policies.auction_options import AuctionOptions, Kinds, Network, WorkflowColumns
from simmodels.results.attempts import FINISHED, OPEN
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job, Workload


@dataclass(slots=True, eq=False)
class _Flow:
    """A workflow that was submitted."""

    workflow: Workflow
    missing: list[int]  # how many predecessors of each task have not ended
    left: int  # how many tasks have not ended
    ended: dict[int, tuple[float, object]] = field(default_factory=dict)  # when and where, by task; if data travel
    finish_s: float = math.nan


class Dependencies(Decider):
    """Stands in front of a scheduler, or router, and sends it the tasks of workflows: each when it may start.

    That is when the workflow is submitted, or the last predecessor of the task has ended and the data of all have come.
    A `Source` of workflows puts one in front of any scheduler or router that does not take workflows by itself; give
    one of yours to the source (``into=``) for data that travel.

    Parameters
    ----------
    env, into
        The environment, and the scheduler or router.
    ccr
        How long data travel, as a share of the runtime of the task that sends them; rounded up to whole ticks. None:
        as in the auctions on these clusters; where there are none, data travel in no time.
    network
        Where data must travel, as for an `Auctioneer`: ``"cluster"`` (to any other cluster), ``"kind"`` (only between
        kinds that no cluster offers both; here there are none) or ``"none"``. None: as in these auctions, or
        ``"cluster"``.
    tick_s
        The unit of travel times, in seconds. None: as in these auctions, or 1.

    Raises
    ------
    RequestError, UnknownNameError
        An option is out of range, data travel differently in front of one of the clusters already, or an auction behind
        takes no jobs from routers.

    Notes
    -----
    Where a task will run is not known when it is sent. So it is held back until its data would be on every cluster on
    which it can run: nothing travels in front of one cluster, nor if its predecessors ran on the only one that is large
    enough.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> queue = sm.QueueScheduler(env, sm.Cluster(env, "c", cores=4))
    >>> sm.Dependencies(env, queue).submit(sm.Workflow(1, 0.0, [5.0, 3.0], 4, edges=[(0, 1)]))
    >>> env.run()
    >>> env.now
    8.0
    """

    takes_workflows = True

    def __init__(
        self,
        env: Environment,
        into: Scheduler | Router,
        *,
        ccr: float | None = None,
        network: Network | None = None,
        tick_s: Duration | None = None,
    ) -> None:
        self.env = as_instance("env", env, Environment)
        self.into = as_instance("into", into, Decider)
        self.clusters = into.clusters
        here = set(self.clusters)
        others = [each for each in env.all(Decider) if each.takes_workflows and not here.isdisjoint(each.clusters)]
        before = [each for each in others if isinstance(each, Dependencies)]
        auctions = [each for each in others if each not in before]
        said = auctions[0].terms() if auctions else Terms(network="cluster")
        given = {"ccr": ccr, "network": network, "tick_s": tick_s}
        rules = {name: getattr(said, name) if value is None else value for name, value in given.items()}
        checked = AuctionOptions.checked(**rules)
        self._rules = checked if checked.ccr else AuctionOptions.checked(ccr=0.0, network="none")
        self._terms = self._rules.terms()
        self._travels = self._terms.travel is not None and self._terms.network == "cluster"
        self._require_same_travel(before, "in front of", "let all sources share one Dependencies")
        self._require_same_travel(auctions, "in front of")
        self._flows: list[_Flow] = []
        self._coming = 0  # how many tasks wait for their data alone
        self._open: dict[int, _Flow] = {}  # by id of the workflow, those that are not done
        into.add_router(self)
        self._become_known()

    @property
    def widest(self) -> int:
        """Return the most cores that a job, or task, may need."""
        return self.into.widest

    @property
    def will_act(self) -> bool:
        """Whether a task is sent at an instant to come, when its data will have come."""
        return self._coming > 0

    @property
    def is_idle(self) -> bool:
        """Whether all tasks of the workflows that were submitted here have ended."""
        return not self._open

    def about(self) -> dict[str, object]:
        """Return how data travel by name, as a schedule keeps it; nothing if they do not."""
        terms = self._terms
        return {"network": terms.network, "ccr": terms.ccr, "tick_s": terms.tick_s} if terms.ccr else {}

    def terms(self) -> Terms:
        """Return the terms by which a schedule of it is validated."""
        return self._terms

    def judged(self) -> Iterable[Judged]:
        """Return what became of each workflow; one that is finished is, however late."""
        kinds = Kinds([(cluster.cores, cluster.kind) for cluster in self.clusters])
        known = WorkflowColumns([each.workflow for each in self._flows], self._rules, kinds)
        for each, path_s in zip(self._flows, known.critical_path_s.tolist(), strict=True):
            yield Judged(each.workflow, OPEN if each.left else FINISHED, path_s, None, each.finish_s)

    # -- what it takes --------------------------------------------------------------------------------

    def accept(self, given: Workload | Sequence[Workflow]) -> None:
        """Refuse what can never run.

        Raises
        ------
        ImpossibleJobError
            Naming the first such job, or task.
        RequestError
            Tasks ask for kinds, and there are clusters of several kinds: only an `Auctioneer` that is given workflows
            chooses by them. Or data travel differently elsewhere in the environment.
        """
        if isinstance(given, Workload):
            rigid = given.rigid()
            if rigid.any():
                self.into.accept(given.take(rigid))
            given = given.workflows
        for flow in given:
            self._require_flow(flow)
        if given:
            self._own_transfers()

    def _require_flow(self, flow: Workflow) -> None:
        into = self.into
        kinds = {each.kind for each in into.clusters}
        if len(kinds) > 1 and any(kind is not None for kind in flow.kind):
            what = f"job {flow.job_id} asks for kinds of clusters behind {with_article(type(into).__name__)}"
            raise RequestError(what, "submit it into an Auctioneer of all these clusters, which chooses by kind")
        flow.require_runnable({(kinds.pop() if len(kinds) == 1 else None): self.widest})

    def submit(self, job: Job | Workflow) -> None:
        """Take a workflow, or a job, that is submitted now and can run here; else raise `ImpossibleJobError`."""
        if not isinstance(job, Workflow):
            super().submit(job)
            return
        self._require_flow(job)
        self._own_transfers()
        for see in self._see_submission:
            see(job, self)
        if id(job) in self._open:
            raise RequestError(
                f"job {job.job_id} is submitted again before it is done", "submit a copy (dataclasses.replace)"
            )
        missing = np.bincount(job.successor, minlength=len(job)).tolist()
        self._flows.append(_Flow(job, missing, len(job)))
        self._open[id(job)] = self._flows[-1]
        for task in [task for task, count in enumerate(missing) if not count]:
            self._send_task(job, task)

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted already, to a router."""
        self._send(job)

    # -- what it sends --------------------------------------------------------------------------------

    def _send(self, job: Job) -> None:
        self.env.publish(Routed, job, self, self.into)
        self.into.enqueue(job)

    def _send_task(self, workflow: Workflow, task: int, came: Event | None = None) -> None:
        self._coming -= came is not None
        self._send(TaskRun.of(workflow, task))

    def _ring(self) -> None:
        """Do nothing: what it sends is sent at once."""

    def _note_end(self, attempt: Attempt) -> None:
        """Send the tasks whose last predecessor has ended, now or when their data will have come."""
        run = attempt.submitted
        if not isinstance(run, TaskRun) or attempt.outcome is Outcome.LOST or id(run.workflow) not in self._open:
            return
        now, workflow = float(self.env.now), run.workflow
        flow = self._open[id(workflow)]
        flow.left -= 1
        if not flow.left:
            flow.finish_s = now
            del self._open[id(workflow)]
            self.env.publish(WorkflowDone, workflow, "finished", self)
        if self._travels:
            flow.ended[run.task] = now, attempt.cluster
        for task in workflow.successor[workflow.first[run.task] : workflow.first[run.task + 1]].tolist():
            flow.missing[task] -= 1
            if flow.missing[task]:
                continue
            there_s = self._there_s(flow, task) if self._travels else now
            if there_s <= now:
                self._send_task(workflow, task)
            else:
                self._coming += 1
                self.env.at(there_s).callbacks.append(partial(self._send_task, workflow, task))

    def _there_s(self, flow: _Flow, task: int) -> float:
        """Return when the data of a task are on every cluster on which it can run."""
        workflow, terms = flow.workflow, self._terms
        delay_s = workflow.delay_s(terms.ccr, tick_s=terms.tick_s)
        senders = workflow.edges[workflow.edges[:, 1] == task, 0].tolist()
        return max(
            flow.ended[sender][0] + (0.0 if flow.ended[sender][1] is cluster else float(delay_s[sender]))
            for cluster in self.clusters
            if workflow.cores[task] <= _room(cluster)
            for sender in senders
        )


def _room(cluster: Cluster) -> int:
    """Return the most cores that a task may need on a cluster."""
    server = cluster.served_by
    return min(cluster.cores, server.widest) if isinstance(server, Decider) else cluster.cores
