"""Cluster: where jobs run; its machines can be powered off.

An attempt that only waits for its runtime is one SimPy timeout; where a user's cluster overrides
`execute`, an attempt is a process. The events of both come in the same order.
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from simpy.events import Event, Timeout
from simpy.exceptions import Interrupt

from simmodels.decisions.checkpointing import Checkpoints, done_after, saved_after, takes
from simmodels.decisions.checks import is_whole
from simmodels.decisions.options import MOST
from simmodels.entities.attempt import Attempt, Outcome
from simmodels.entities.environment import Environment, Process
from simmodels.entities.events import Ended, Lost, Powered, Started
from simmodels.entities.machine import Machine
from simmodels.entities.progress import Left, Progress
from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.place import Place
from simmodels.workload import Job


class Serves(Protocol):
    """Whoever starts jobs on a cluster, and has to know of its machines."""

    def note_power(self, machine: Machine, more: int, /) -> None:
        """Take note that a machine was switched, and how many more of its cores jobs may have."""


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
        How many machines, and the cores of each; jobs get the free cores of the lowest machines.
    kind
        What kind of work it can do (for routers); None for any.
    checkpoints
        How jobs write checkpoints; None for no periodic ones, and for free ones on notice.

    Raises
    ------
    RequestError
        Neither a pool nor machines are given, or both, or a size that is no whole number from 1 to 2^53.
    """

    machine_class: type[Machine] = Machine
    """What its machines are, each made with the cluster, its number, and ``cores=``."""

    def __init__(
        self,
        env: Environment,
        name: str,
        *,
        cores: int | None = None,
        machines: int | None = None,
        cores_per_machine: int | None = None,
        kind: str | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        if (cores is None) == (machines is None) or (machines is None) != (cores_per_machine is None):
            raise RequestError(
                f"cluster {name!r} with cores={cores}, machines={machines}, cores_per_machine={cores_per_machine}",
                "either cores, or machines and cores_per_machine are allowed",
            )
        given = [each for each in (cores, machines, cores_per_machine) if each is not None]
        if not all(is_whole(each, 1, MOST) for each in given):
            what = f"{given[0]} cores" if cores is not None else f"{given[0]} machines of {given[1]} cores"
            raise RequestError(f"cluster {name!r} of {what}", "at least 1 core is allowed, in whole numbers up to 2^53")
        machines, each = (0, 0) if cores is not None else (int(given[0]), int(given[1]))  # 2.0 is a whole number too
        size = machines * each if cores is None else int(cores)
        self.env = env
        self.name = name
        self.number = len(env.all(Cluster))  # in order of making
        self.cores: int = size
        self.kind = kind
        self.free_cores: int = size
        self.machines = [self.machine_class(self, i, cores=each) for i in range(machines)]
        for machine in self.machines:
            if machine.cores != each:
                raise RequestError(
                    f"machine {machine.index} of cluster {name!r} has {machine.cores} cores",
                    f"machines of a cluster must be of equal size (cores_per_machine={each})",
                )
        self.served_by: Serves | None = None
        """The scheduler or router that starts jobs here."""
        self.running: dict[Attempt, None] = {}
        self.checkpoints = Checkpoints() if checkpoints is None else checkpoints
        self._progress = env.shared(Progress)
        self._only_waits = type(self).execute is Cluster.execute
        env.enter(self)

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Cluster {self.name!r}: {self.free_cores} of {self.cores} cores free>"

    @property
    def place(self) -> Place:
        """Return the cluster as a schedule knows it."""
        return Place(self.name, self.cores, self.kind, max(len(self.machines), 1))

    # -- what a user's cluster may change ---------------------------------------------------------

    def runtime_s(self, job: Job) -> float:
        """Return how long a job runs on this cluster, in seconds; override it for other speeds."""
        return job.runtime_s

    @property
    def runs_as_logged(self) -> bool:
        """Whether each job runs for its own runtime here: neither `runtime_s` nor `execute` is overridden."""
        return self._only_waits and type(self).runtime_s is Cluster.runtime_s

    def execute(self, attempt: Attempt) -> Process:
        """Do the work of an attempt (a SimPy process); override it for jobs that do more than wait.

        It must keep to ``attempt.limit_s`` and set ``attempt.outcome`` if it is not COMPLETED; an
        interrupt passes through it when the attempt is lost.
        """
        yield Timeout(self.env, self._runs_s(attempt))

    def _runs_s(self, attempt: Attempt) -> float:
        """Return how long an attempt runs, and note whether it is killed then."""
        job = attempt.job
        runs = attempt.whole_s = self.runtime_s(job)
        if self._progress or self._writes:
            left = self._progress.left_of(attempt.submitted, runs)
            attempt.left = left
            runs = self._duration_s(left)
        if attempt.limit_s is not None and attempt.limit_s < runs:
            runs = attempt.limit_s
            attempt.outcome = Outcome.KILLED
        attempt.executed_s = runs
        return runs

    # -- what is left of a job --------------------------------------------------------------------------

    @property
    def _writes(self) -> bool:
        """Whether jobs write periodic checkpoints."""
        return self.checkpoints.interval_s != math.inf

    def takes_s(self, job: Job, whole_s: float) -> float:
        """Return how long an attempt of a job takes here from now on, if all its work is `whole_s`.

        That is what is left of it after what checkpoints saved, with coming back and the checkpoints to be written.

        Parameters
        ----------
        job
            The job, as it was submitted.
        whole_s
            Its runtime, its estimate, or what else it may take in all, in seconds.
        """
        if not (self._progress or self._writes):
            return whole_s
        return max(self._duration_s(self._progress.left_of(job, whole_s)), 0.0)

    def _duration_s(self, left: Left) -> float:
        """Return how long an attempt takes."""
        interval_s, cost_s = self.checkpoints.interval_s, self.checkpoints.cost_s
        duration_s: float = takes(left.work_s, left.restart_s, interval_s, cost_s) - left.earlier_s
        return duration_s

    def ran_before(self, job: Job, ran_s: float) -> None:
        """Take note that a job, which starts now, ran for some time before the clock began."""
        whole_s = self.runtime_s(job)
        self._progress.keep(job, whole_s, Left(whole_s, 0.0, ran_s))

    def work_so_far_s(self, attempt: Attempt) -> float:
        """Return the work that an attempt has done by now, in seconds of its job."""
        left, elapsed_s = self._left_at_start(attempt), self.env.now - attempt.start_s
        interval_s, cost_s = self.checkpoints.interval_s, self.checkpoints.cost_s
        done_s: float = done_after(elapsed_s + left.earlier_s, left.restart_s, interval_s, cost_s, left.work_s)
        return done_s - self._done_before_s(left)

    def _done_before_s(self, left: Left) -> float:
        """Return the work that a running attempt did before the clock began."""
        done_s: float = done_after(
            left.earlier_s, 0.0, self.checkpoints.interval_s, self.checkpoints.cost_s, left.work_s
        )
        return done_s

    @staticmethod
    def _left_at_start(attempt: Attempt) -> Left:
        """Return what was left of a job when an attempt of it started."""
        return Left(attempt.whole_s) if attempt.left is None else attempt.left

    def _account(self, attempt: Attempt) -> None:
        """Note how much work an attempt that ends did, and what is left of its job."""
        lost = attempt.outcome is Outcome.LOST
        if not (lost or self._progress or self._writes):
            return
        if not self._only_waits or attempt.job is not attempt.submitted:
            self._progress.forget(attempt.submitted)  # only its own `execute`, or scheduler, knows what it did
            return
        left = self._left_at_start(attempt)
        before_s = self._done_before_s(left)
        if lost:
            saved_s = self._saved_s(attempt, left)
            attempt.work_s = max(saved_s - before_s, 0.0)
            restart_s = self.checkpoints.restart_s if saved_s > 0.0 else left.restart_s
            if saved_s > 0.0 or left.work_s < attempt.whole_s:
                self._progress.keep(attempt.submitted, attempt.whole_s, Left(left.work_s - saved_s, restart_s))
            else:
                self._progress.forget(attempt.submitted)
            return
        if attempt.outcome is Outcome.COMPLETED:
            attempt.work_s = left.work_s - before_s
        else:
            attempt.work_s = self.work_so_far_s(attempt)
        self._progress.forget(attempt.submitted)

    def _saved_s(self, attempt: Attempt, left: Left) -> float:
        """Return how much of its job's work an attempt that is lost now leaves behind."""
        interval_s, cost_s = self.checkpoints.interval_s, self.checkpoints.cost_s
        warned_s = -1.0 if attempt.warned_s is None else float(attempt.warned_s)
        elapsed_s = float(self.env.now - attempt.start_s + left.earlier_s)
        saved_s: float = saved_after(elapsed_s, left.restart_s, interval_s, cost_s, left.work_s, warned_s)
        return saved_s

    # -- what schedulers use ------------------------------------------------------------------------

    def start(
        self,
        job: Job,
        *,
        limit_s: float | None = None,
        then: Callable[[Attempt], None] | None = None,
        machine: Machine | None = None,
        machines: Sequence[Machine] | None = None,
        submitted: Job | None = None,
    ) -> Attempt:
        """Start a job now.

        Parameters
        ----------
        job
            The job.
        limit_s
            How long it may run at most.
        then
            Called with the attempt when it has ended and its cores are free.
        machine, machines
            The machine, or machines, whose free cores it gets, in this order; None for the lowest ones that have any.
        submitted
            The job as it was submitted, if `job` is another object.

        Raises
        ------
        ImpossibleJobError
            Fewer cores are free than it needs.
        """
        if machine is not None:
            machines = (machine,)
        free = self.free_cores
        if machines is not None:
            free = sum(each.free_cores for each in machines if each.takes_jobs)
        if job.cores > free:
            where = f"cluster {self.name!r}"
            if machines is not None:
                indices = ", ".join(str(each.index) for each in machines)
                where = f"machine {indices} of {self.name!r}"
            raise ImpossibleJobError(job.job_id, f"needs {job.cores} cores, and {free} of {where} are free")
        attempt = Attempt(job, self, limit_s)
        attempt.then = then
        if submitted is not None:
            attempt.submitted = submitted
        self.free_cores -= job.cores
        self.running[attempt] = None
        if self.machines:
            self._place(attempt, self.machines if machines is None else machines)
        self.env.publish(Started, attempt)
        if self._only_waits:
            attempt.timeout = Timeout(self.env, self._runs_s(attempt), attempt)
            attempt.timeout.callbacks.append(self._timed_out)
        else:
            attempt.process = self.env.process(self._run(attempt))
        return attempt

    @staticmethod
    def _place(attempt: Attempt, machines: Sequence[Machine]) -> None:
        """Give an attempt the free cores of the first of these machines that take jobs."""
        need = attempt.job.cores
        for machine in machines:
            if not need:
                break
            taken = min(machine.free_cores, need) if machine.takes_jobs else 0
            if taken:
                machine.free_cores -= taken
                machine.running[attempt] = None
                attempt.places.append((machine, taken))
                need -= taken

    def _timed_out(self, timeout: Event) -> None:
        """End the attempt that has waited for its runtime."""
        self.end(timeout._value)  # noqa: SLF001  timeout.value, without a call for each job

    def _run(self, attempt: Attempt) -> Process:
        try:
            yield from self.execute(attempt)
        except Interrupt:
            attempt.outcome = Outcome.LOST
        self.end(attempt)

    def end(self, attempt: Attempt) -> None:
        """Free the cores of an attempt, completed unless its outcome says otherwise, and tell who watches."""
        if attempt.outcome is None:
            attempt.outcome = Outcome.COMPLETED
        end_s = attempt.end_s = self.env.now
        if attempt.executed_s is None or attempt.start_s + attempt.executed_s != end_s:
            attempt.executed_s = end_s - attempt.start_s
        self._account(attempt)
        del self.running[attempt]
        if self.machines:
            self._vacate(attempt)
        else:
            self.free_cores += attempt.job.cores
        self.env.publish(Ended, attempt)
        if attempt.outcome is Outcome.LOST:
            self.env.publish(Lost, attempt)
        if attempt.decider is not None:
            attempt.decider.note_end(attempt)
        if attempt.then is not None:
            attempt.then(attempt)

    def _vacate(self, attempt: Attempt) -> None:
        """Free the cores of an attempt on its machines."""
        for machine, taken in attempt.places:
            machine.free_cores += taken
            del machine.running[attempt]
            if machine.takes_jobs:
                self.free_cores += taken
            else:
                self.tell(machine)
            if not machine.running:
                machine.emptied()

    def power_changed(self, machine: Machine) -> None:
        """Take note that a machine was switched, and tell who looks on."""
        self.env.publish(Powered, machine)
        self.tell(machine)

    def tell(self, machine: Machine) -> None:
        """Count the free cores of a machine in or out, and tell the scheduler how many more cores there are for jobs.

        Jobs may have all cores of a machine that takes jobs. Of one that will go they have what they have, and of one
        that is off nothing: attempts that were lost there are told by their ends.
        """
        if machine.takes_jobs != machine.counts:
            machine.counts = machine.takes_jobs
            self.free_cores += machine.free_cores if machine.counts else -machine.free_cores
        offered = machine.cores if machine.counts else machine.cores - machine.free_cores if machine.is_on else 0
        more, machine.offered = offered - machine.offered, offered
        if self.served_by is not None:
            self.served_by.note_power(machine, more)
