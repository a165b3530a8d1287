"""Decider: what schedulers and routers share: the process, what they take, whom they serve, and what ends there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import Terms
from simmodels.entities.attempt import LOST, Attempt
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import LAST, End, Environment
from simmodels.entities.events import Submitted
from simmodels.entities.machine import Machine
from simmodels.errors import ImpossibleJobError, RequestError, must_be
from simmodels.ground.durations import Duration
from simmodels.results.attempts import FINISHED
from simmodels.work.workflow import Workflow
from simmodels.work.workload import Job, Workload


class Hears(Protocol):
    """Whoever hears what happens where a scheduler, or router, decides."""

    def note_end(self, attempt: Attempt, /) -> None:
        """Take note that an attempt has ended."""

    def note_room(self) -> None:
        """Take note that jobs may find cores that they did not before."""

    def note_decision(self) -> None:
        """Take note that somebody has decided."""


class Judged(NamedTuple):
    """What became of a workflow so far."""

    workflow: Workflow
    outcome: int  # see `simmodels.results.attempts.WORKFLOW_OUTCOMES`
    critical_path_s: float  # the least time from its submission to its finish, in seconds
    price: NDArray[np.float64] | None  # [tasks], what each task paid; None if nobody pays
    finish_s: float  # when its last task ended, in seconds; NaN if it is not finished

    @property
    def lost_value(self) -> float:
        """Return how much less than its most value it is worth; all of that if it is not finished."""
        most = self.workflow.most_value
        if self.outcome != FINISHED:
            return most
        slr = (self.finish_s - self.workflow.submit_s) / self.critical_path_s
        return most - most * self.workflow.curve.factor(slr)


class Decider:
    """What a scheduler and a router share.

    Attributes
    ----------
    env
        The environment.
    clusters
        The clusters that it serves, or that those behind it serve.
    process
        The SimPy event of its end: when it decides no more.
    """

    env: Environment
    clusters: tuple[Cluster, ...]
    takes_workflows = False
    """Whether it takes workflows by itself; else a `Source` puts `Dependencies` in front."""
    owns_transfers = False
    """Whether it was given workflows: their data travel, and their schedule is validated, by its terms."""
    closed = False
    """Whether it decides no more."""
    routers: tuple[Hears, ...] = ()
    """Those that send jobs here, and who else listens; each gets the news of every attempt that ends."""
    _priority = LAST  # when in an instant it decides, after what else happens
    _by_machine = False  # whether a job runs on one machine

    def _become_known(self) -> None:
        """Enter the environment."""
        self.env.enter(self)
        self._see_submission = self.env.observers_of(Submitted)

    def _join(self) -> None:
        """Become a process of the environment."""
        self._is_called, self._acts = False, self._act  # at the end of this instant; a bound method is found at once
        # Of its own: those of a class are found ten times as slowly.
        self.closed, self.routers, self._priority = False, (), self._priority
        self._become_known()
        self.process = End(self.env)

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them."""
        return {}

    def terms(self) -> Terms:
        """Return the terms by which a schedule of it is validated."""
        return Terms()

    def _own_transfers(self) -> None:
        """Own the transfers of the workflows that it is given now.

        It refuses them if another owner has other terms: a schedule has one set of terms for all transfers.
        """
        if self.owns_transfers:
            return
        if len(self.clusters) > 1:
            owners = [each for each in self.env.all(Decider) if each.owns_transfers and len(each.clusters) > 1]
            self._require_same_travel(owners, "beside")
        self.owns_transfers = True

    def _require_same_travel(
        self, others: Iterable["Decider"], where: str, cure: str = "give all of them the same ccr, network and tick_s"
    ) -> None:
        """Refuse others under whose terms data travel differently."""
        mine = self.terms()
        for theirs in (each.terms() for each in others):
            if mine.travel != theirs.travel:
                raise RequestError(f"{_travel(mine)} {where} clusters where {_travel(theirs)}", cure)

    @property
    def is_idle(self) -> bool:
        """Whether no job that was submitted here waits or runs."""
        raise NotImplementedError

    @property
    def will_act(self) -> bool:
        """Whether it will do something, though nothing happens until then: a start that is planned, say."""
        return False

    def may_move(self, most: Mapping[Cluster, int]) -> bool:  # noqa: ARG002
        """Whether a job that waits may go where it can start, though clusters have that many cores at most."""
        return False

    @property
    def waiting(self) -> Sequence[Job]:
        """Return the jobs that wait here."""
        return ()

    def stuck(self, most: Mapping[Cluster, int]) -> Sequence[Job]:
        """Return the jobs that wait here and never start, though their clusters have that many cores at most."""
        here = max(most[cluster] for cluster in self.clusters)
        return [job for job in self.waiting if job.cores > here]

    # -- what it takes ------------------------------------------------------------------------------

    @property
    def widest(self) -> int:
        """Return the most cores that a job may need here."""
        raise NotImplementedError

    def accept(self, workload: Workload) -> None:
        """Refuse a workload with a job that can never run here, whatever is powered on (`ImpossibleJobError`)."""
        self.as_jobs(workload).require_runnable(self.widest)

    def submit(self, job: Job) -> None:
        """Take a job that is submitted now; it is decided upon at the end of this instant.

        It raises `ImpossibleJobError` if the job can never run here.
        """
        self._require(job)
        for see in self._see_submission:
            see(job, self)
        self.enqueue(job)

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted before, to a router: as `submit`, without publishing it again."""
        raise NotImplementedError

    @staticmethod
    def as_jobs(given: Workload | Sequence[object]) -> Workload:
        """Return the jobs that a source hands over."""
        if isinstance(given, Workload):
            return given
        flows = [each for each in given if isinstance(each, Workflow)]
        if len(flows) < len(given):
            strange = next(type(each).__name__ for each in given if not isinstance(each, Workflow))
            raise RequestError(f"a source got a list with a {strange}", "give a Workload, or a list of workflows")
        return Workload.of_workflows(flows)

    def _require(self, job: Job) -> None:
        """Refuse what is no job, or can never run here."""
        if not isinstance(job, Job):
            self.require_job(job)
        try:
            fits, runs = 1 <= job.cores <= self.widest, job.runtime_s >= 0
        except TypeError:
            raise ImpossibleJobError(
                job.job_id, must_be("cores and runtime_s", "numbers", (job.cores, job.runtime_s))
            ) from None
        if not fits:
            place = "a machine here" if self._by_machine else "a cluster here"
            expected = f"an integer from 1 to {self.widest}, the most that {place} has"
            raise ImpossibleJobError(job.job_id, must_be("cores", expected, job.cores))
        if not runs:
            raise ImpossibleJobError(job.job_id, must_be("runtime_s", "a number of seconds >= 0", job.runtime_s))

    @staticmethod
    def require_job(job: Job) -> None:
        """Refuse what is no job."""
        if not isinstance(job, Job):
            what = f"a scheduler got {type(job).__name__} {getattr(job, 'job_id', '')}".rstrip()
            raise RequestError(what, "give it a Job; Dependencies, or an Auctioneer, take workflows")

    def reconfigure(self, **options: object) -> None:
        """Change options by name, from the next decision on; for a decision at this instant, call `wake` too.

        It raises `RequestError` if one does not exist, cannot be changed, or gets a value that is out of its range.
        """
        for name in options:
            raise RequestError(f"{name} of a {type(self).__name__} is to be changed", "it has no option to change")

    def judged(self) -> Iterable[Judged]:
        """Return what became of each workflow that it knows."""
        return ()

    # -- whom it serves, and what ends there ----------------------------------------------------------

    def _serve(self, *clusters: Cluster) -> None:
        """Take on clusters: whoever starts jobs there has to know of all that run. Refuse one that has a scheduler."""
        for place, cluster in enumerate(clusters):
            other = self if cluster in clusters[:place] else cluster.served_by
            if other is not None:
                what = f"{type(self).__name__} for cluster {cluster.name!r}, which has a {type(other).__name__}"
                raise RequestError(what, "let one scheduler, or one auctioneer, serve it")
        for cluster in clusters:
            cluster.served_by = self

    def add_router(self, router: Hears) -> None:
        """Take jobs from a router; raise `RequestError` if it takes none."""
        self.add_listener(router)

    def add_listener(self, listener: Hears) -> None:
        """Let somebody hear what ends and is decided here, who sends no jobs."""
        self.routers = (*self.routers, listener)

    def note_end(self, attempt: Attempt) -> None:
        """Take note that an attempt has ended, and let the routers do so."""
        self._note_end(attempt)
        for router in self.routers:
            router.note_end(attempt)

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that an attempt has ended."""
        raise NotImplementedError

    def note_room(self) -> None:
        """Take note that, here or behind, jobs may find cores that they did not before, and let the routers do so."""
        for router in self.routers:
            router.note_room()

    def note_power(self, machine: Machine, more: int) -> None:
        """Take note that a machine was switched, and how many more of its cores jobs may have."""
        raise NotImplementedError

    def ended(self, attempt: Attempt) -> None:
        """Do what follows from the end of an attempt: a lost job waits again.

        Override it to look on, and call it, or to send a lost job somewhere else, and do not call it for that.
        """
        if attempt.outcome is LOST:
            self.wait_again(attempt)

    def wait_again(self, attempt: Attempt) -> None:
        """Let the job of a lost attempt wait again, at its old place."""
        raise NotImplementedError

    def note_lengths(self) -> None:
        """Take note that what waits takes another time than it did, where checkpoints are written otherwise."""

    # -- the process --------------------------------------------------------------------------------

    def wake(self, at_s: Duration) -> None:
        """Let it decide at an instant at which nothing may happen; raise `RequestError` if that is past."""
        if at_s == self.env.now:
            self._ring()
        else:
            self.env.at(at_s).callbacks.append(lambda _: self._ring())

    def _ring(self) -> None:
        """Wake it at this instant, by its priority."""
        if not self._is_called:
            self._is_called = True
            self.env.call(self._acts, self._priority)

    def _act(self) -> None:
        """Decide."""
        self._is_called = False
        if self.closed:
            return
        self._instant()
        for router in self.routers:
            router.note_decision()
        if self.closed:
            self.process.succeed()

    def _instant(self) -> None:
        """Decide after all events of the instant."""
        raise NotImplementedError

    def note_decision(self) -> None:
        """Take note that, somewhere behind, a scheduler has decided."""


def _travel(terms: Terms) -> str:
    """Return how data travel, for errors."""
    if terms.travel is None:
        return "data travel in no time"
    return f"data travel with ccr={terms.ccr:g}, network={terms.network!r}, tick_s={terms.tick_s:g}"
