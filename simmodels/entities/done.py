"""Done: the instant at which a model has nothing left to do, though processes of it never end."""

import math
from collections.abc import Sequence

from simpy.events import Event

from simmodels.clusters.outages import MAX_REQUEUES, as_max_requeues, lost_too_often, waits_too_long
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.capacity_process import CapacityProcess
from simmodels.entities.cluster import Cluster
from simmodels.entities.decider import Decider
from simmodels.entities.environment import END, Environment
from simmodels.entities.events import Ended
from simmodels.entities.outages import Failures
from simmodels.entities.progress import identity
from simmodels.entities.source import Source
from simmodels.errors import StoppedError
from simmodels.ground.arguments import as_instance
from simmodels.work.workload import Job


def all_done(env: Environment, *, max_requeues: int | None = MAX_REQUEUES) -> Event:
    """Return an event that happens when all sources have submitted all, and all that was submitted is done.

    That is at the end of an instant, after its decisions. Jobs of which no source knows count once they are submitted.
    If nothing else runs, and what waits can never start, or if a job is lost again and again, the event fails:
    ``env.run`` ends with the error, and a `Recorder` has the schedule so far.

    Parameters
    ----------
    env
        The environment; its sources, schedulers and routers must have been made.
    max_requeues
        How often in succession a job may lose its machines, and all the work of the attempt; None for any number. Where
        `execute` of a cluster is overridden, nothing is counted: what it saves is not known.

    Returns
    -------
    Event
        Happens at that instant; ``env.run(until=all_done(env))`` runs the model until then.

    Raises
    ------
    RequestError
        `env` is no `Environment`, or a number is out of its range.
    StoppedError
        Raised by ``env.run``: jobs wait that can never start, or one was lost too often; the text says which, and why.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "c", machines=2, cores_per_machine=4)
    >>> capacity = sm.MarkovCapacity(env, cluster, low=1, high=2, step=1, period_s=10)  # without an end
    >>> scheduler = sm.QueueScheduler(env, cluster)
    >>> source = sm.Source(env, {"submit_s": [0], "runtime_s": [5], "cores": [4]}, into=scheduler)
    >>> env.run(until=sm.all_done(env))
    >>> env.now
    5.0
    """
    return _Watch(as_instance("env", env, Environment), max_requeues).done


class Requeues:
    """How often in a row jobs lost their machines, and all the work of the attempt; or waited for them in vain.

    Parameters
    ----------
    env
        The environment.
    most
        How often a job may; None for any number.
    """

    def __init__(self, env: Environment, most: int | None) -> None:
        self._env, self._most = env, as_max_requeues(most)
        self._ended = 0  # how many attempts have
        self._idle = -1  # how many had when nothing ran and nothing would but if machines fail and are repaired, ...
        self._repairs: list[int] = []  # ... and the repairs by then
        self._times: dict[object, tuple[Job, int]] = {}  # by identity; with the job, so that its id stays its own
        self._stuck = math.inf, -1  # when the first was lost too often; of several then, the one of the lowest number
        env.observers_of(Ended).append(self._see)

    def _see(self, attempt: Attempt) -> None:
        """Count a loss of all work; what an attempt of unknown work saved is not known."""
        self._ended += 1
        if attempt.outcome is not Outcome.LOST or self._most is None:
            return
        job = attempt.submitted
        key = identity(job)
        _, times = self._times.pop(key, (job, 0))
        if attempt.work_s == 0.0:
            self._times[key] = job, times + 1
            if times == self._most:
                self._stuck = min(self._stuck, (float(self._env.now), job.job_id))

    def error(self) -> StoppedError | None:
        """Return the error about a job that was lost too often, once all has happened at this instant."""
        at_s, job_id = self._stuck
        return None if self._most is None or at_s == math.inf else lost_too_often(job_id, self._most + 1, at_s)

    def note_idle(self) -> None:
        """Take note that all wait, and nothing will happen but that machines fail and are repaired.

        It raises `StoppedError` if that was too often, wherever machines fail: what waits needs more at once than are
        ever on.
        """
        failures = self._env.all(Failures)
        if self._idle != self._ended:
            self._idle, self._repairs = self._ended, [each.repairs for each in failures]
        times = min((each.repairs - before for each, before in zip(failures, self._repairs, strict=True)), default=0)
        if self._most is not None and times > self._most:
            waiting = [(job.job_id, job.cores) for each in self._env.all(Decider) for job in each.waiting]
            raise waits_too_long(waiting, times, float(self._env.now))


class _Watch:
    """Listens to schedulers and routers: hears what is decided and what ends."""

    def __init__(self, env: Environment, max_requeues: int | None) -> None:
        self.env = env
        self._requeues = Requeues(env, max_requeues)
        self.done = Event(env)
        self._looks = False
        self._sources = env.all(Source)
        self._deciders = env.all(Decider)
        for each in self._deciders:
            each.add_listener(self)
        for source in self._sources:
            if source.process.is_alive:
                source.process.callbacks.append(lambda _: self._ring())
        self._ring()

    def note_end(self, _: Attempt) -> None:
        """Take note that an attempt has ended."""
        self._ring()

    def note_decision(self) -> None:
        """Take note that somebody has decided."""
        self._ring()

    def note_room(self) -> None:
        """Take note that jobs may find cores: which ends nothing."""

    def _ring(self) -> None:
        if not (self._looks or self.done.triggered):
            self._looks = True
            self.env.ring(END).callbacks.append(self._look)

    def _look(self, _: Event) -> None:
        self._looks = False
        if self.done.triggered:
            return
        if (lost := self._requeues.error()) is not None:
            self.done.fail(lost)
            return
        if any(source.process.is_alive for source in self._sources):
            return
        if all(map(_has_nothing_to_do, self._deciders)):
            self.env.trigger(self.done, END)
        elif stuck := self._stuck():
            self.done.fail(StoppedError(stuck, "a Recorder has the schedule so far; or run until an instant"))

    def _stuck(self) -> str:
        """Return what waits and can never start, and why; nothing if something may still happen."""
        clusters, deciders = self.env.all(Cluster), [each for each in self._deciders if not each.closed]
        if may_act(deciders, clusters):
            return ""
        waiting = [job for each in deciders for job in each.waiting]
        if not waiting:
            return ""
        if self.env.peek() == math.inf:
            free = ", ".join(f"{cluster.free_cores} cores of {cluster.name!r}" for cluster in clusters)
            return f"{_jobs(waiting)} at {self.env.now:g} s, nothing else will happen, and {free} are free"
        most = {cluster: _most_cores(cluster) for cluster in clusters}
        if sum(len(each.stuck(most)) for each in deciders) < len(waiting):
            return ""
        there = ", ".join(f"{cores} cores of {cluster.name!r}" for cluster, cores in most.items())
        return f"{_jobs(waiting)} at {self.env.now:g} s, and there are never more than {there}"


def may_act(deciders: Sequence[Decider], clusters: Sequence[Cluster]) -> bool:
    """Return whether something runs, is planned, or may move to where it can start."""
    if any(cluster.running for cluster in clusters) or any(each.will_act for each in deciders):
        return True
    most = {cluster: _most_cores(cluster) for cluster in clusters}
    return any(each.may_move(most) for each in deciders)


def _most_cores(cluster: Cluster) -> int:
    """Return the most cores of a cluster that are ever on at once, as far as its capacity processes know."""
    if not cluster.machines:
        return cluster.cores
    here = [each for each in cluster.env.all(CapacityProcess) if each.cluster is cluster]
    machines = min((each.most_machines() for each in here), default=len(cluster.machines))
    return sum(sorted((machine.cores for machine in cluster.machines), reverse=True)[:machines])


def _jobs(waiting: list[Job]) -> str:
    """Return who waits: the widest job by its number, and how many more there are."""
    widest = max(waiting, key=lambda job: job.cores)
    job = f"job {widest.job_id} of {widest.cores} cores"
    return f"{job} and {len(waiting) - 1} more wait" if len(waiting) > 1 else f"{job} waits"


def _has_nothing_to_do(decider: Decider) -> bool:
    """Return whether all is done, or whoever decides decides no more and nothing runs."""
    return decider.is_idle or (decider.closed and not any(cluster.running for cluster in decider.clusters))
