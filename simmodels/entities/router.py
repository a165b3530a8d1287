"""Router: a process in front of several schedulers, which says where each job goes."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.decider import Decider
from simmodels.entities.environment import ROUTE, Environment
from simmodels.entities.events import Routed
from simmodels.errors import RequestError, brief
from simmodels.ground.arguments import as_instance, as_tuple
from simmodels.work.workload import Job


class Router(Decider):
    """A process in front of schedulers, or of other routers: it sends each job to one of them.

    Once per instant, after all that ended, was switched or was submitted, and before schedulers decide, it asks
    `route`. For a rule of your own, override that.

    Parameters
    ----------
    env, into
        The environment, and the schedulers and routers to choose from.

    Attributes
    ----------
    clusters
        The clusters that they serve.

    Raises
    ------
    RequestError
        There is none to choose from, or one of them takes no jobs from routers.

    Examples
    --------
    >>> import simmodels as sm
    >>> class WideAndNarrow(sm.Router):
    ...     def route(self, ready, now):
    ...         wide, narrow = self.into
    ...         return [(job, wide if job.cores > 64 else narrow) for job in ready]
    >>> env = sm.Environment()
    >>> queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=128)) for name in ("wide", "narrow")]
    >>> router = WideAndNarrow(env, queues)
    >>> source = sm.Source(env, {"submit_s": [0, 0], "runtime_s": [9, 9], "cores": [8, 96]}, into=router)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().cluster.tolist()
    [1, 0]
    """

    _priority = ROUTE

    def __init__(self, env: Environment, into: Sequence["Scheduler | Router"]) -> None:
        self.env = as_instance("env", env, Environment)
        self.into = as_tuple("into", into, "a list of schedulers, or routers")
        if not self.into:
            raise RequestError(f"a {type(self).__name__} of nothing", "give at least one scheduler, or router")
        for each in self.into:
            if not isinstance(each, Decider):
                what = f"a {type(self).__name__} into {type(each).__name__}"
                raise RequestError(what, "give schedulers, and routers of jobs")
        if any(each.env is not env for each in self.into):
            raise RequestError(
                f"what a {type(self).__name__} sends jobs to belongs to another environment",
                "create both with the same env",
            )
        clusters = [cluster for each in self.into for cluster in each.clusters]
        self.clusters = tuple(dict.fromkeys(clusters))
        self._ready: dict[int, Job] = {}  # those that are to be sent, by id
        for each in self.into:
            each.add_router(self)
        self._join()

    # -- what happens to it -------------------------------------------------------------------------

    @cached_property
    def widest(self) -> int:  # kept, for it is asked for each job
        """The most cores that a job may need, wherever it goes."""
        return max(each.widest for each in self.into)

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted already, to another router."""
        if id(job) in self._ready:
            what = f"job {job.job_id} is submitted again before it is routed"
            raise RequestError(what, "submit a copy (dataclasses.replace)")
        self._ready[id(job)] = job
        self._ring()

    @property
    def waiting(self) -> list[Job]:
        """Return the jobs that have not been routed."""
        return list(self._ready.values())

    @property
    def is_idle(self) -> bool:
        """Whether no job is still to be routed."""
        return not self._ready

    def _note_end(self, _: Attempt) -> None:
        """Take note that an attempt has ended where this router may send jobs: those that are ready may go now."""
        if self._ready:
            self._ring()

    def note_room(self) -> None:
        """Take note that, somewhere behind, jobs may find cores that they did not before."""
        if self._ready:
            self._ring()
        super().note_room()

    def _instant(self) -> None:
        """Send jobs on, as the rule says."""
        for job, taker in list(self.route(self.waiting, float(self.env.now))):
            if self._ready.pop(id(job), None) is None:
                what = f"{type(self).__name__}.route sent job {job.job_id}, which is not ready"
                raise RequestError(what, "send jobs of `ready`, each once")
            if taker not in self.into:
                what = f"{type(self).__name__}.route sent job {job.job_id} to {brief(taker)}"
                raise RequestError(what, "name one of self.into")
            if job.cores > taker.widest:
                what = f"{type(self).__name__}.route sent job {job.job_id} of {job.cores} cores to {brief(taker)}"
                raise RequestError(what, f"send jobs of at most {taker.widest} cores there")
            self._send(job, taker)

    def _send(self, job: Job, taker: "Scheduler | Router") -> None:
        """Send a job on."""
        self.env.publish(Routed, job, self, taker)
        taker.enqueue(job)

    def route(self, ready: Sequence[Job], now: float) -> Iterable[tuple[Job, "Scheduler | Router"]]:
        """Return where jobs go: override it. A job that is not named waits here, until an attempt has ended.

        Parameters
        ----------
        ready
            The jobs that wait to be routed, in order of submission.
        now
            The instant, in seconds.
        """
        raise NotImplementedError(f"{type(self).__name__} must override route")

    def fitting(self, job: Job) -> list["Scheduler | Router"]:
        """Return where a job can run, in order."""
        return [each for each in self.into if job.cores <= each.widest]

    def require_predictions(self) -> None:
        """Refuse to stand where starts are to be predicted, if an auctioneer of clusters behind predicts none."""
        for each in self.into:
            if isinstance(each, Router):
                each.require_predictions()

    def predict_start(self, job: Job) -> float:
        """Return when a job would start, wherever that is earliest; see `Scheduler.predict_start`."""
        return min(each.predict_start(job) for each in self.fitting(job))


class RoundRobin(Router):
    """Sends jobs to one after the other of its schedulers; one on which a job can never run is passed over.

    Parameters
    ----------
    env, into
        As for `Router`.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=4)) for name in ("a", "b")]
    >>> router = sm.RoundRobin(env, queues)
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 10], "cores": [4, 4, 4]}
    >>> source = sm.Source(env, log, into=router)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().cluster.tolist()
    [0, 1, 0]
    """

    _next = 0

    def route(self, ready: Sequence[Job], now: float) -> Iterable[tuple[Job, Scheduler | Router]]:  # noqa: ARG002
        """Return where jobs go."""
        count = len(self.into)
        for job in ready:
            place = self._next
            while job.cores > self.into[place].widest:
                place = (place + 1) % count
            self._next = (place + 1) % count
            yield job, self.into[place]


class LeastLoaded(Router):
    """Sends each job where the least work is, per core: of jobs that it sent there and that are not done, by estimates.

    Of several it is the first.

    Parameters
    ----------
    env, into
        As for `Router`.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=4)) for name in ("a", "b")]
    >>> router = sm.LeastLoaded(env, queues)
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [100, 10, 10], "cores": [4, 4, 4]}
    >>> source = sm.Source(env, log, into=router)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().cluster.tolist()
    [0, 1, 1]
    """

    def __init__(self, env: Environment, into: Sequence[Scheduler | Router]) -> None:
        super().__init__(env, into)
        self._sizes = [sum(cluster.cores for cluster in each.clusters) for each in self.into]
        self._work_core_s, self._jobs = [0.0] * len(self.into), [0] * len(self.into)  # that are not done
        self._sent: dict[int, int] = {}  # where each job went that is not done, by its id

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that an attempt has ended; a lost job is not done."""
        job = attempt.submitted
        if attempt.outcome is not Outcome.LOST and id(job) in self._sent:
            place = self._sent.pop(id(job))
            self._jobs[place] -= 1
            self._work_core_s[place] -= job.cores * job.estimate_s
            if not self._jobs[place]:
                self._work_core_s[place] = 0.0  # nothing is left of what was rounded
        super()._note_end(attempt)

    def route(self, ready: Sequence[Job], now: float) -> Iterable[tuple[Job, Scheduler | Router]]:  # noqa: ARG002
        """Return where jobs go, each as if those before it had gone."""
        for job in ready:
            loads = [
                work / size if job.cores <= each.widest else math.inf
                for work, size, each in zip(self._work_core_s, self._sizes, self.into, strict=True)
            ]
            best = loads.index(min(loads))
            self._sent[id(job)] = best
            self._jobs[best] += 1
            self._work_core_s[best] += job.cores * job.estimate_s
            yield job, self.into[best]


class ByColumn(Router):
    """Sends each job to the cluster that is named as its value of a column: partitions, each with cores of its own.

    Parameters
    ----------
    env, into
        As for `Router`.
    column
        The column, such as ``"partition"`` or ``"queue"``; of partition 3, jobs go to the cluster ``"3"``.

    Raises
    ------
    RequestError
        While it runs: no cluster has the name of a job's value.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=4)) for name in ("7", "9")]
    >>> router = sm.ByColumn(env, queues, column="queue")
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 10], "cores": [4, 4, 4], "queue": [9, 7, 9]}
    >>> source = sm.Source(env, log, into=router)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().cluster.tolist()
    [1, 0, 1]
    """

    def __init__(self, env: Environment, into: Sequence[Scheduler | Router], *, column: str = "partition") -> None:
        super().__init__(env, into)
        self.column = as_instance("column", column, str)
        self._named = {cluster.name: each for each in self.into for cluster in each.clusters}

    def route(self, ready: Sequence[Job], now: float) -> Iterable[tuple[Job, Scheduler | Router]]:  # noqa: ARG002
        """Return where jobs go."""
        for job in ready:
            value = (job.extras or {}).get(self.column, math.nan)
            taker = self._named.get(f"{value:.0f}")
            if taker is None:
                what = f"{self.column} of job {job.job_id} is {value:g}, and no cluster has that name"
                raise RequestError(what, "name a cluster after each value")
            yield job, taker


class EarliestStart(Router):
    """Sends each job where it would start first, by what is known then; of several it is the first.

    See `Scheduler.predict_start`. Of jobs that are ready at one instant each is predicted behind those before it.

    Parameters
    ----------
    env, into
        As for `Router`; an auctioneer of clusters predicts no start, and is refused.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> queues = [sm.QueueScheduler(env, sm.Cluster(env, name, cores=cores)) for name, cores in (("a", 8), ("b", 4))]
    >>> router = sm.EarliestStart(env, queues)
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [100, 10, 10], "cores": [8, 4, 4]}
    >>> source = sm.Source(env, log, into=router)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().cluster.tolist()
    [0, 1, 1]
    """

    def __init__(self, env: Environment, into: Sequence[Scheduler | Router]) -> None:
        super().__init__(env, into)
        self.require_predictions()

    def _instant(self) -> None:
        for job in self.waiting:
            del self._ready[id(job)]
            self._send(job, min(self.fitting(job), key=lambda each: each.predict_start(job)))
