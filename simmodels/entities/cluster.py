"""Cluster: where jobs run; its machines can be powered off.

An attempt that only waits for its runtime is one event of SimPy; where a user's cluster overrides
`execute`, an attempt is a process. The events of both come in the same order.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Final, Protocol

import numpy as np
from simpy.events import Timeout
from simpy.exceptions import Interrupt

from simmodels.clusters.checkpoints import Checkpoints, checkpoint_numbers
from simmodels.clusters.cluster_spec import ClusterSpec
from simmodels.clusters.sizes import Machines, groups_of
from simmodels.entities.attempt import COMPLETED, LOST, Attempt, Left, Outcome
from simmodels.entities.environment import Environment, Process
from simmodels.entities.events import Ended, Lost, Powered, Started
from simmodels.entities.machine import Machine
from simmodels.entities.progress import Progress, duration_s, worked_s
from simmodels.entities.room import Room
from simmodels.errors import RequestError
from simmodels.ground.arguments import as_instance, by_name
from simmodels.ground.cards import card, tiles
from simmodels.ground.durations import duration
from simmodels.ground.numbers import Floats, Ints, as_integer, as_number
from simmodels.work.workload import Job

_SHOWN: Final = 240  # as many machines a notebook shows


class Serves(Protocol):
    """Whoever starts jobs on a cluster, and has to know of its machines."""

    def note_power(self, machine: Machine, more: int, /) -> None:
        """Take note that a machine was switched, and how many more of its cores jobs may have."""

    def note_lengths(self) -> None:
        """Take note that what waits takes another time here than it did."""


@by_name("for example Cluster(env, 'a', cores=64)")
class Cluster:
    """A cluster: a pool of cores, or machines of cores each. Extend it to change how jobs run.

    Override `runtime_s` to say how long a job runs here, or `execute` to say what it does; set `machine_class` for
    machines of your own.

    Parameters
    ----------
    env
        The environment.
    name
        Its name.
    cores
        The size of the pool; or give the next two.
    machines, cores_per_machine
        How many machines, and the cores of each; jobs get the free cores of the lowest machines. Or a list of
        `Machines`, which may differ in size and speed.
    speed
        How many seconds of a job are done in a second; `Machines` say their own. A job that runs on several machines
        runs as fast as the slowest of them.
    kind
        What kind of work it can do (for routers); None for any.
    checkpoints
        How jobs write checkpoints; None for no periodic ones, and for free ones on notice.

    Raises
    ------
    RequestError
        Neither a pool nor machines are given, or both, or a size that is no whole number from 1 to 2^53, or a speed
        that is not above 0.

    Examples
    --------
    >>> import simmodels as sm
    >>> class Slow(sm.Cluster):
    ...     def runtime_s(self, job):
    ...         return 2 * job.runtime_s
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, Slow(env, "slow", machines=2, cores_per_machine=8))
    >>> source = sm.Source(env, {"submit_s": [0], "runtime_s": [10], "cores": [2]}, into=scheduler)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().end_s.tolist()
    [20.0]
    """

    machine_class: type[Machine] = Machine
    """What its machines are, each made with the cluster, its number, and ``cores=``."""

    def __init__(
        self,
        env: Environment,
        name: str,
        *,
        cores: int | None = None,
        machines: int | Sequence[Machines] | None = None,
        cores_per_machine: int | None = None,
        speed: float = 1.0,
        kind: str | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        speed = as_number("speed", speed, above=0)
        groups = groups_of(name, cores, machines, cores_per_machine, speed)
        made = [group for group in groups for _ in range(int(group.count))]
        self.env = as_instance("env", env, Environment)
        self.name = name
        self.number = len(env.all(Cluster))  # in order of making
        pool = None if cores is None else as_integer(f"cores of cluster {name!r}", cores, 1)
        self.cores: int = sum(int(each.cores) for each in made) if pool is None else pool
        self.kind = kind
        self.free_cores: int = self.cores
        self.speed = min((each.speed for each in groups), default=speed)
        """The speed of its slowest machine, by which schedulers predict how long a job takes."""
        self.machines = [self.machine_class(self, i, cores=int(each.cores)) for i, each in enumerate(made)]
        for machine, group in zip(self.machines, made, strict=True):
            machine.speed = group.speed
            if machine.cores != group.cores:
                raise RequestError(
                    f"machine {machine.index} of cluster {name!r} has {machine.cores} cores",
                    f"give it as many as the cluster says (cores_per_machine={group.cores})",
                )
        self.served_by: Serves | None = None
        """The scheduler or router that starts jobs here."""
        self.running: dict[Attempt, None] = {}
        self._room = Room(name, self.machines, self._ends_s)
        self.leaving: dict[Machine, None] = {}  # on, but under notice, or draining
        self.places: Sequence[tuple[Machine, int]] = ()  # where the next job starts, if its scheduler chose
        self.checkpoints = checkpoints
        self._progress = env.shared(Progress)
        self._see_start, self._see_end = env.observers_of(Started), env.observers_of(Ended)
        self._at_end = (self.end,)
        self._only_waits = type(self).execute is Cluster.execute
        self.works_as_logged = self._only_waits and type(self).runtime_s is Cluster.runtime_s
        """Whether the work of a job is its runtime here, at any speed: no `runtime_s` or `execute` is overridden."""
        self._even_speed = all(each.speed == self.speed for each in groups)
        env.enter(self)

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Cluster {self.name!r}: {self.free_cores} of {self.cores} cores free>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: its cores now, those of each machine, and who starts jobs here."""
        figures = {
            "cores free": f"{self.free_cores:,} of {self.cores:,}",
            "jobs running": f"{len(self.running):,}",
            "kind": "any" if self.kind is None else self.kind,
            "scheduler": "none" if self.served_by is None else type(self.served_by).__name__,
            "time": duration(self.env.now),
        }
        shares: list[float | None] = [1.0 - self.free_cores / self.cores]
        label = "cores in use"
        if self.machines:
            off = sum(not machine.is_on for machine in self.machines)
            figures["machines on"] = f"{len(self.machines) - off:,} of {len(self.machines):,}"
            shares = [1.0 - each.free_cores / each.cores if each.is_on else None for each in self.machines[:_SHOWN]]
            label = "cores in use of each machine" if len(self.machines) <= _SHOWN else f"the first {_SHOWN} machines"
        return card(repr(self).strip("<>"), figures, tiles(shares, label))

    @property
    def spec(self) -> ClusterSpec:
        """Return the cluster as a schedule knows it."""
        sizes = [machine.cores for machine in self.machines] or [self.cores]
        speeds = [machine.speed for machine in self.machines] or [self.speed]
        return ClusterSpec.of_machines(self.name, self.kind, sizes, speeds, checkpoint_numbers(self.checkpoints))

    # -- what a user's cluster may change ---------------------------------------------------------

    def runtime_s(self, job: Job) -> float:
        """Return how long a job runs on this cluster at speed 1, in seconds; override it for a law of your own."""
        return job.runtime_s

    @property
    def runs_as_logged(self) -> bool:
        """Whether each job runs for its own runtime here: at speed 1, with no `runtime_s` or `execute` overridden."""
        return self.works_as_logged and self._even_speed and self.speed == 1.0

    def execute(self, attempt: Attempt) -> Process:
        """Do the work of an attempt (a SimPy process); override it for jobs that do more than wait.

        It must keep to ``attempt.limit_s`` and set ``attempt.outcome`` if it is not COMPLETED; an
        interrupt passes through it when the attempt is lost.
        """
        yield Timeout(self.env, self._runs_s(attempt))

    def _runs_s(self, attempt: Attempt) -> float:
        """Return how long an attempt runs, and note whether it is killed then."""
        job = attempt.job
        runs = job.runtime_s
        if not self.works_as_logged:
            runs = attempt.whole_s = self.runtime_s(job)
        if self._progress or self._writes:
            attempt.left = self._progress.left_of(attempt.submitted, runs)
            runs = duration_s(attempt.left, attempt.speed, attempt.checkpoints)
        elif attempt.speed != 1.0:
            runs /= attempt.speed
        if attempt.limit_s is not None and attempt.limit_s < runs:
            runs = attempt.limit_s
            attempt.outcome = Outcome.KILLED
        attempt.executed_s = runs
        return runs

    # -- what is left of a job --------------------------------------------------------------------------

    def _set_checkpoints(self, checkpoints: Checkpoints | None) -> None:
        self._checkpoints = as_checkpoints(checkpoints)
        self._writes = self._checkpoints.interval_s != math.inf  # periodically: asked for each job
        if self.served_by is not None:
            self.served_by.note_lengths()

    checkpoints = property(  # each attempt asks for it: without a call of Python
        attrgetter("_checkpoints"),
        _set_checkpoints,
        doc="How jobs write checkpoints that start from now on; one that runs goes on as it began.",
    )

    def reconfigure(self, *, checkpoints: Checkpoints | None) -> None:
        """Change options by name, as a `Tuner` does; override it for options of your own.

        Parameters
        ----------
        checkpoints
            How jobs write checkpoints that start from now on; one that runs goes on as it began.
        """
        self.checkpoints = as_checkpoints(checkpoints)

    def takes_s(self, job: Job, whole_s: float, *, speed: float | None = None) -> float:
        """Return how long an attempt of a job takes here from now on, if all its work is `whole_s`.

        That is what is left of it after what checkpoints saved, with coming back and the checkpoints to be written.

        Parameters
        ----------
        job
            The job, as it was submitted.
        whole_s
            Its runtime, its estimate, or what else it may take in all, in seconds at speed 1.
        speed
            Of the machines it has; None for the slowest.
        """
        speed = self.speed if speed is None else speed
        if self._progress or self._writes:
            return duration_s(self.left_of(job, whole_s), speed, self.checkpoints)
        return whole_s if speed == 1.0 else whole_s / speed

    def left_of(self, job: Job, whole_s: float) -> Left:
        """Return what is left of a job, if all its work is `whole_s`, after what checkpoints saved."""
        return self._progress.left_of(job, whole_s)

    @property
    def keeps_work(self) -> bool:
        """Whether work of jobs is kept, or may be: what an attempt takes changes with what was kept."""
        return bool(self._progress) or self._writes

    def lengths_s(self, job: Job) -> tuple[float, float]:
        """Return what `takes_s` says of the runtime and of the estimate of a job."""
        if self.speed == 1.0 and not (self._progress or self._writes):
            return job.runtime_s, job.estimate_s
        return self.takes_s(job, job.runtime_s), self.takes_s(job, job.estimate_s)

    def ran_before(self, job: Job, ran_s: float) -> None:
        """Take note that a job, which starts now, ran for some time before the simulation began."""
        whole_s = self.runtime_s(job)
        self._progress.keep(job, whole_s, Left(whole_s, 0.0, ran_s))

    def forget(self, job: Job) -> None:
        """Forget what is left of a job that will not go on."""
        self._progress.forget(job)

    def work_so_far_s(self, attempt: Attempt) -> float:
        """Return for how long an attempt has done work by now, in seconds."""
        return worked_s(attempt, float(self.env.now) - attempt.start_s)

    # -- what schedulers use ------------------------------------------------------------------------

    def going(
        self, attempts: Iterable[tuple[int, Attempt]], ended: Iterable[Attempt] = ()
    ) -> tuple[Floats, Ints, Ints]:
        """Return when its machines go, their free cores, and what runs on them; see `simmodels.structures.classes`.

        Parameters
        ----------
        attempts
            Those that run and count, each with a number.
        ended
            Those of them that have ended: their cores are not free yet.

        Returns
        -------
        tuple
            float64[machines], infinity for one that stays, NaN for one that takes nothing; int64[machines]; and
            int64[k, 4]: number of the attempt, machine, 1, and cores there.
        """
        goes = [each.goes_s if each.state in {"on", "noticed"} else math.nan for each in self.machines]
        free = [each.free_cores for each in self.machines]
        for attempt in ended:
            for machine, cores in attempt.places:
                free[machine.index] -= cores
        parts = [(number, machine.index, 1, cores) for number, each in attempts for machine, cores in each.places]
        return np.array(goes, np.float64), np.array(free, np.int64), np.array(parts, np.int64).reshape(-1, 4)

    def start(
        self,
        job: Job,
        *,
        limit_s: float | None = None,
        limit_work_s: float | None = None,
        then: Callable[[Attempt], None] | None = None,
        machine: Machine | None = None,
        machines: Sequence[Machine] | None = None,
        submitted: Job | None = None,
    ) -> Attempt:
        """Start a job now; raise `ImpossibleJobError` if fewer cores are free than it needs.

        Parameters
        ----------
        job
            The job.
        limit_s
            How long it may run at most.
        limit_work_s
            How much work it may be in all, in seconds at speed 1: its estimate, where jobs are killed at it.
        then
            Called with the attempt when it has ended and its cores are free.
        machine, machines
            The machine, or machines, whose free cores it gets, in this order; None for the lowest ones that have any.
            A machine under notice has some if the job ends, by its estimate, before it goes.
        submitted
            The job as it was submitted, if `job` is another object.
        """
        chosen = machines if machine is None else (machine,)
        places = self._places_for(job, chosen) if self.machines or chosen is not None else ()
        if not places and job.cores > self.free_cores:
            self._room.require(job, self.free_cores, "cluster")
        now: float = self.env._now  # noqa: SLF001  env.now, without a call
        attempt = Attempt(job, self, now, limit_s, self._checkpoints)
        attempt.then = then
        if submitted is not None:
            attempt.submitted = submitted
        self.running[attempt] = None
        if not self.machines:
            self.free_cores -= job.cores
        for each, cores in places:
            self._occupy(attempt, each, cores)
        if limit_work_s is not None:
            attempt.limit_work_s = limit_work_s
            attempt.limit_s = self.takes_s(attempt.submitted, limit_work_s, speed=attempt.speed)
        for see in self._see_start:
            see(attempt)
        if self._only_waits:
            attempt.callbacks = self._at_end
            self.env.happens_at(now + self._runs_s(attempt), attempt)
        else:
            attempt.process = self.env.process(self._run(attempt))
        return attempt

    def _places_for(self, job: Job, chosen: Sequence[Machine] | None) -> Sequence[tuple[Machine, int]]:
        """Return where a job starts: on the chosen machines, on those that its scheduler found, or on the lowest."""
        found, self.places = self.places, ()
        if chosen is not None:
            return self._room.of(chosen, job)
        self._room.require(job, sum(cores for _, cores in found) if found else self.free_cores, "cluster")
        return found or self._room.lowest(job.cores)

    def _ends_s(self, job: Job) -> float:
        """Return when a job would end by its estimate, if it started now."""
        return float(self.env.now) + self.takes_s(job, job.estimate_s)

    def _occupy(self, attempt: Attempt, machine: Machine, cores: int) -> None:
        """Give an attempt some cores of a machine."""
        machine.free_cores -= cores
        machine.running[attempt] = None
        attempt.places.append((machine, cores))
        attempt.speed = machine.speed if len(attempt.places) == 1 else min(machine.speed, attempt.speed)
        if machine.counts:
            self.free_cores -= cores
        else:
            machine.offered += cores  # its scheduler knows

    def _account(self, attempt: Attempt) -> None:
        """Note how much work an attempt that ends did, and what is left of its job."""
        if self._only_waits and attempt.job is attempt.submitted:
            self._progress.settle(attempt, float(self.env.now))
        else:  # only its own `execute`, or scheduler, knows what it did
            self._progress.forget(attempt.submitted)

    def _run(self, attempt: Attempt) -> Process:
        try:
            yield from self.execute(attempt)
        except Interrupt:
            attempt.outcome = Outcome.LOST
        self.end(attempt)

    def end(self, attempt: Attempt) -> None:
        """Free the cores of an attempt, completed unless its outcome says otherwise, and notify who watches."""
        if attempt.outcome is None:
            attempt.outcome = COMPLETED
        end_s = attempt.end_s = self.env._now  # noqa: SLF001  env.now, without a call
        if attempt.executed_s is None or attempt.start_s + attempt.executed_s != end_s:
            attempt.executed_s = end_s - attempt.start_s
        if attempt.outcome is LOST or self._progress or attempt.left is not None:
            self._account(attempt)
        del self.running[attempt]
        if self.machines:
            self._vacate(attempt)
        else:
            self.free_cores += attempt.job.cores
        for see in self._see_end:
            see(attempt)
        if attempt.outcome is LOST:
            self.env.publish(Lost, attempt)
        decider, then = attempt.decider, attempt.then
        if decider is not None:
            decider.note_end(attempt)
        if then is not None:
            then(attempt)

    def _vacate(self, attempt: Attempt) -> None:
        """Free the cores of an attempt on its machines."""
        for machine, taken in attempt.places:
            machine.free_cores += taken
            del machine.running[attempt]
            if machine.takes_jobs:
                self.free_cores += taken
                self._room.note(machine)
            else:
                self.notify(machine)
            if not machine.running:
                machine.emptied()

    def power_changed(self, machine: Machine) -> None:
        """Record that a machine was switched, and notify who watches."""
        self.env.publish(Powered, machine)
        self.notify(machine)

    def notify(self, machine: Machine) -> None:
        """Count the free cores of a machine in or out, and notify the scheduler how many more cores there are for jobs.

        Jobs may have all cores of a machine that takes jobs. Of one that will go they have what they have, and of one
        that is off nothing: attempts that were lost there are reported when they end.
        """
        if machine.is_on and not machine.takes_jobs:
            self.leaving[machine] = None
        else:
            self.leaving.pop(machine, None)
        if machine.takes_jobs != machine.counts:
            machine.counts = machine.takes_jobs
            self.free_cores += machine.free_cores if machine.counts else -machine.free_cores
            self._room.note(machine)
        offered = machine.cores if machine.counts else machine.cores - machine.free_cores if machine.is_on else 0
        more, machine.offered = offered - machine.offered, offered
        if self.served_by is not None:
            self.served_by.note_power(machine, more)


def as_checkpoints(given: Checkpoints | None) -> Checkpoints:
    """Return how jobs write checkpoints; None: none periodically, and free ones on notice. Refuse what is neither."""
    return Checkpoints() if given is None else as_instance("checkpoints", given, Checkpoints, also="None")


def as_cluster(env: Environment, cluster: Cluster) -> Cluster:
    """Return a cluster that an entity serves or changes; raise `RequestError` if it is none of this environment."""
    if as_instance("cluster", cluster, Cluster).env is not as_instance("env", env, Environment):
        raise RequestError(f"cluster {cluster.name!r} belongs to another environment", "create both with the same env")
    return cluster
