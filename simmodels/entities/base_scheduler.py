"""Scheduler: a process that serves one cluster, the base of every scheduler."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from simmodels.entities.attempt import Attempt
from simmodels.entities.cluster import Cluster, as_cluster
from simmodels.entities.decider import Decider
from simmodels.entities.environment import Environment
from simmodels.entities.machine import Machine
from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import Floats
from simmodels.ground.streams import stream
from simmodels.passes.prediction import predicted_start, predicted_under_notice
from simmodels.work.workload import Job


@dataclass(frozen=True, slots=True)
class Placement:
    """A decision of a scheduler: a job starts now.

    Parameters
    ----------
    job
        The job, one of those that wait.
    machines
        The machines whose free cores it gets, one after the other; None for the lowest ones that have any.

    Examples
    --------
    >>> import simmodels as sm
    >>> class LastMachine(sm.Scheduler):
    ...     def decide(self, now):
    ...         machine = self.cluster.machines[-1]
    ...         free = machine.free_cores
    ...         for job in self.waiting:
    ...             if job.cores <= free:
    ...                 free -= job.cores
    ...                 yield sm.Placement(job, [machine])
    >>> env = sm.Environment()
    >>> scheduler = LastMachine(env, sm.Cluster(env, "ours", machines=2, cores_per_machine=4))
    >>> source = sm.Source(env, {"submit_s": [0, 0], "runtime_s": [10, 10], "cores": [3, 2]}, into=scheduler)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().runs["machine"].tolist(), recorder.schedule().start_s.tolist()
    ([1, 1], [0.0, 10.0])
    """

    job: Job
    machines: Sequence[Machine] | None = None


class Scheduler(Decider):
    """A process that serves one cluster: at the end of each instant at which something happened, it starts jobs.

    For a policy of your own, override `decide`; for one of the field's, see `QueueScheduler`, `FirstFit` and others.

    Parameters
    ----------
    env, cluster
        The environment, and the cluster that it serves.

    Raises
    ------
    RequestError
        The cluster is served by another.

    Examples
    --------
    >>> import simmodels as sm
    >>> class ShortestFirst(sm.Scheduler):
    ...     def decide(self, now):
    ...         free = self.cluster.free_cores
    ...         for job in sorted(self.waiting, key=lambda job: job.estimate_s):
    ...             if job.cores <= free:
    ...                 free -= job.cores
    ...                 yield sm.Placement(job)
    >>> env = sm.Environment()
    >>> scheduler = ShortestFirst(env, sm.Cluster(env, "ours", cores=4))
    >>> source = sm.Source(env, {"submit_s": [0, 0], "runtime_s": [20, 10], "cores": [4, 4]}, into=scheduler)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().start_s.tolist()
    [10.0, 0.0]
    """

    # What is asked for at each instant. Of an object with more than 30 attributes in its `__dict__`, Python looks up
    # these and all methods each time; those in slots it finds at once, and they leave fewer than 30.
    __slots__ = (
        "_acts", "_again", "_arrived", "_ended", "_is_called", "_see_submission", "_submitted", "closed",
        "cluster", "env", "routers",
    )  # fmt: skip

    def __init__(self, env: Environment, cluster: Cluster) -> None:
        self.cluster = as_cluster(env, cluster)
        self.env = env
        self.clusters = (cluster,)
        self._serve(cluster)
        self._submitted: list[Job] = []  # since the last decision
        self._ended: list[Attempt] = []
        self._again: dict[Attempt, None] = {}  # of those, the lost ones whose job waits again
        self._in_line: dict[int, tuple[int, Job]] = {}  # who waits, by id: number in order of arrival, and job
        self._begun: dict[Attempt, int] = {}  # what runs: its job's number
        self._arrived = 0
        self._draws: np.random.Generator | None = None  # made when an order first asks for it
        self._draw = np.empty(0)  # a uniform number for each slot, if an order asks for it
        self._join()

    # -- what happens to it -------------------------------------------------------------------------

    def __repr__(self) -> str:
        """Return a line about it."""
        jobs = f"{len(self.waiting)} jobs waiting, {len(self.running)} running"
        return f"<{type(self).__name__} on {self.cluster.name!r}: {jobs}>"

    @cached_property
    def widest(self) -> int:  # kept, for it is asked for each job
        """The most cores that a job may need here."""
        return self.cluster.cores

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted before, to a router: as `submit`, without publishing it again."""
        self._submitted.append(job)
        self._ring()

    def withdraw(self, job: Job) -> None:
        """Remove a waiting job, as if it had not been submitted; whoever asks says where it goes.

        It raises `RequestError` if the job does not wait here.
        """
        for place, each in enumerate(self._submitted):
            if each is job:
                del self._submitted[place]
                return
        for attempt in self._again:  # lost at this instant: it would wait again at the end of it
            if attempt.submitted is job:
                del self._again[attempt]
                self._ring()
                return
        self._withdraw(job)
        self._ring()

    def _withdraw(self, job: Job) -> None:
        """Take a job out of the queue."""
        if self._in_line.pop(id(job), None) is None:
            self._refuse_withdrawal(job)

    def _refuse_withdrawal(self, job: Job) -> NoReturn:
        what = f"job {job.job_id} is to be withdrawn from cluster {self.cluster.name!r}, where it does not wait"
        raise RequestError(what, "withdraw a job that was submitted there and has not started")

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that an attempt has ended."""
        self._ended.append(attempt)
        self._ring()

    def wait_again(self, attempt: Attempt) -> None:
        """Let the job of a lost attempt wait again, at its old place."""
        self._again[attempt] = None

    def note_power(self, machine: Machine, more: int) -> None:  # noqa: ARG002
        """Take note that a machine was switched, and how many more of its cores jobs may have."""
        self._ring()
        self.note_room()

    def _drawn_for(self, room: int, *, asked: bool) -> Floats:
        """Return a uniform number for each slot, if an order asks for it; those of slots that were there stay."""
        if asked:
            if self._draws is None:
                self._draws = stream(self.env.seed_of("order", self.cluster.name), "order", "draw")
            self._draw = np.concatenate([self._draw, self._draws.random(room - len(self._draw))])
        return self._draw

    # -- what can be seen of it ---------------------------------------------------------------------

    @property
    def waiting(self) -> list[Job]:
        """Return the jobs that wait, in order of arrival; a lost job waits at its old place."""
        return [job for _, job in self._in_line.values()] + [each.submitted for each in self._again] + self._submitted

    @property
    def running(self) -> list[Attempt]:
        """Return the attempts that run, in order of start."""
        return list(self.cluster.running)

    @property
    def jobs_not_done(self) -> list[Job]:
        """Return the jobs that were submitted here and are not done: about to enter the queue, in it, or running."""
        return [attempt.submitted for attempt in self.cluster.running] + self.waiting

    @property
    def is_idle(self) -> bool:
        """Whether no job that was submitted here waits or runs."""
        return not (self._submitted or self._in_line or self._begun)

    def may_start(self, job: Job, most: Mapping[Cluster, int]) -> bool:
        """Whether a job of elsewhere may start here at some time, though clusters have that many cores at most."""
        return job.cores <= min(self.widest, most[self.cluster])

    def predict_start(self, job: Job) -> float:
        """Return when a job would start by the estimates of the jobs that run and wait, without further arrivals.

        Each job that waits before it gets the earliest hole that is left, in order; so does the job. One that does not
        wait here is taken to be submitted now. Nothing changes by it. The cost grows with the jobs that wait times
        those that run.

        Parameters
        ----------
        job
            The job.

        Returns
        -------
        float
            The instant, in seconds; infinity if the machines that are on, or sleep, have too few cores for it, or for
            one before it that never gets a hole.
        """
        line = [*itertools.takewhile(lambda each: each is not job, self._ahead_of(job)), job]
        lengths = np.array([self._expected_s(each) for each in line], np.float64)
        needed = np.array([each.cores for each in line], np.int64)
        if self.cluster.leaving and not self._by_machine:
            return self._predicted_under_notice(lengths, needed)
        free, where = self._places()
        known = [attempt for attempt in self.running if where(attempt) >= 0]
        back = [(self._end_s(attempt), where(attempt), _returned(attempt)) for attempt in known]
        if not self._by_machine:
            back += [(end_s, 0, cores) for end_s, cores in self._asleep()]
        ends, of, freed = np.array(back, np.float64).reshape(-1, 3).T
        start: float = predicted_start(
            float(self.env.now),
            np.array(free, np.int64),
            of.astype(np.int64),
            ends.copy(),
            freed.astype(np.int64),
            lengths,
            needed,
        )
        return start

    def _predicted_under_notice(self, lengths: NDArray[np.float64], needed: NDArray[np.int64]) -> float:
        """Return when the last of some jobs would start where machines are about to go."""
        running, asleep = list(self.running), self._asleep()
        goes_s, free, parts = self.cluster.going(enumerate(running))
        sleeping = [(len(running) + k, len(free), 1, cores) for k, (_, cores) in enumerate(asleep)]
        ends = [*(self._end_s(attempt) for attempt in running), *(end_s for end_s, _ in asleep)]
        start: float = predicted_under_notice(
            float(self.env.now),
            np.append(goes_s, np.inf),  # one more machine that stays: those that sleep come back as cores of it
            np.append(free, 0),
            np.append(parts, np.array(sleeping, np.int64).reshape(-1, 4), axis=0),
            np.array(ends, np.float64),
            lengths,
            needed,
        )
        return start

    def _end_s(self, attempt: Attempt) -> float:
        """Return when an attempt is expected to end."""
        return attempt.start_s + self._expected_s(attempt.submitted)

    def _asleep(self) -> list[tuple[float, int]]:
        """Return when machines that only sleep could be on, and their cores."""
        off = [machine for machine in self.cluster.machines if machine.wakes_after_s < np.inf]
        return [(self.env.now + machine.wakes_after_s, machine.cores) for machine in off]

    def _places(self) -> tuple[list[int], Callable[[Attempt], int]]:
        """Return the cores that are free at each place where a job may run, and where an attempt runs (-1: nowhere)."""
        return [self.cluster.free_cores], lambda _: 0

    def _expected_s(self, job: Job) -> float:
        """Return how long a job is expected to run from now on."""
        return self.cluster.takes_s(job, job.estimate_s)

    def _ahead_of(self, _: Job) -> Iterable[Job]:
        """Return the jobs that wait, in the order in which a prediction lets them start."""
        return self.waiting

    # -- the process --------------------------------------------------------------------------------

    def _instant(self) -> None:
        """Decide after all events of the instant."""
        for attempt in self._ended:
            number = self._begun.pop(attempt)
            if attempt in self._again:
                self._in_line[id(attempt.submitted)] = number, attempt.submitted
        if self._again:
            self._in_line = dict(sorted(self._in_line.items(), key=lambda item: item[1][0]))
        self._ended.clear()
        self._again.clear()
        for job in self._submitted:
            self._in_line[id(job)] = self._arrived, job
            self._arrived += 1
        self._submitted.clear()
        chosen = []
        for placement in list(self.decide(float(self.env.now))):
            if not isinstance(placement, Placement):
                what = f"what {type(self).__name__}.decide returns"
                raise RequestError(must_be(what, "Placements, such as sm.Placement(job)", placement))
            number, _ = self._in_line.pop(id(placement.job), (-1, None))
            if number < 0:
                what = f"{type(self).__name__}.decide placed job {placement.job.job_id}, which does not wait"
                raise RequestError(what, "place jobs of self.waiting, each once")
            chosen.append((placement, number))
        for placement, number in chosen:  # they wait no more, whatever an observer of a start asks
            attempt = self.start(placement.job, placement.machines)
            attempt.submitted = placement.job
            attempt.decider = self
            self._begun[attempt] = number

    def decide(self, now: float) -> Iterable[Placement]:
        """Return what starts now: override it. Nothing has started when it is asked; then all is started, in order.

        It is asked at the end of each instant at which a job came, one ended, or a machine was switched; for another
        instant, call `wake`.

        Parameters
        ----------
        now
            The instant, in seconds.
        """
        raise NotImplementedError(f"{type(self).__name__} must override decide, or the method that calls it")

    def start(self, job: Job, machines: Sequence[Machine] | None = None) -> Attempt:
        """Start a job that was decided upon."""
        return self.cluster.start(job, then=self.ended, machines=machines)


def _returned(attempt: Attempt) -> int:
    """Return how many cores jobs may have again when an attempt ends: those of machines that take jobs."""
    if not attempt.places:
        return attempt.job.cores
    return sum(cores for machine, cores in attempt.places if machine.takes_jobs)
