"""Cluster and Machine: where jobs run; machines can be powered off.

An attempt that only waits for its runtime is one SimPy timeout; where a user's cluster overrides
`execute`, an attempt is a process. The events of both come in the same order.
"""

from collections.abc import Callable
from enum import Enum
from typing import Literal

from simpy.events import URGENT, Event, Timeout
from simpy.events import Process as SimPyProcess
from simpy.exceptions import Interrupt

from simmodels.entities.environment import POWER, Environment, Process
from simmodels.errors import ImpossibleJobError, RequestError
from simmodels.workload import Job


class Outcome(Enum):
    """How an attempt ended."""

    COMPLETED = "completed"
    KILLED = "killed"  # stopped at its limit
    LOST = "lost"  # its machine was powered off


class Attempt:
    """One run of a job on a cluster.

    Attributes
    ----------
    job, cluster
        What runs, and where.
    submitted
        The job as it was submitted; another object than `job` if a scheduler changed it at its start.
    start_s
        When it started.
    limit_s
        How long it may run at most; None for ever.
    end_s
        When it ended; None while it runs.
    executed_s
        How long it ran, once it has ended. Not the rounded ``end_s - start_s`` if the runtime is known.
    outcome
        How it ended; None while it runs.
    counted
        False for a warm job, which stands outside the metrics.
    places
        The machines it runs on, each with how many of its cores; empty for a pool of cores.
    warned_s
        How long before its machine went a checkpoint was asked for; None if it was not.
    work_s
        The work that it did and that is not lost, once it has ended; None where nobody but its outcome says it.
    account
        Says how much of its work is not lost, when it ends; None if its outcome says all.
    process
        The SimPy process, if the cluster's `execute` is overridden; else None.
    """

    __slots__ = (
        "account",
        "cluster",
        "counted",
        "end_s",
        "executed_s",
        "job",
        "limit_s",
        "outcome",
        "places",
        "process",
        "slot",
        "start_s",
        "submitted",
        "then",
        "timeout",
        "turn",
        "warned_s",
        "work_s",
    )

    def __init__(self, job: Job, cluster: "Cluster", limit_s: float | None) -> None:
        self.job = job
        self.submitted = job
        self.cluster = cluster
        self.start_s: float = cluster.env.now
        self.limit_s = limit_s
        self.end_s: float | None = None
        self.executed_s: float | None = None
        self.outcome: Outcome | None = None
        self.counted = True
        self.places: list[tuple[Machine, int]] = []
        self.slot = -1  # its job's number in the scheduler's queue, in order of arrival
        self.turn = -1  # its own number there, in order of start
        self.process: SimPyProcess | None = None
        self.timeout: Timeout | None = None  # what it waits for, if it is no process
        self.then: Callable[[Attempt], None] | None = None
        self.warned_s: float | None = None
        self.work_s: float | None = None
        self.account: Callable[[Attempt], float] | None = None

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Attempt of job {self.job.job_id} from {self.start_s:g} s>"

    def interrupt(self, cause: object = None) -> None:
        """Stop it at this instant; its work is lost (outcome LOST). One that has ended stays as it is.

        Parameters
        ----------
        cause
            What the `Interrupt` says that passes through a process.
        """
        if self.end_s is not None:
            return
        if self.process is not None:
            self.process.interrupt(cause)
        else:
            stop = Event(self.cluster.env)
            stop.callbacks.append(self._lose)
            self.cluster.env.trigger(stop, URGENT)

    def _lose(self, _: Event) -> None:
        """Stop waiting."""
        if self.end_s is None and self.timeout is not None:
            self.timeout.callbacks.clear()
            self.outcome = Outcome.LOST
            self.cluster.end(self)


class Machine:
    """A machine of a cluster: its cores can be used while it is on.

    Parameters
    ----------
    cluster
        The cluster it belongs to.
    index
        Its number there, from 0.
    cores
        How many cores it has.
    """

    def __init__(self, cluster: "Cluster", index: int, *, cores: int) -> None:
        self.cluster = cluster
        self.index = index
        self.cores = cores
        self.free_cores = cores
        self.is_on = True
        self.leaves: Literal["at an instant", "once idle"] | None = None  # on, but it takes no new job
        self.change = -1  # the change of the capacity by which it leaves
        self.running: dict[Attempt, None] = {}  # a dict for its order: it is what came first

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Machine {self.index} of {self.cluster.name!r}: {'on' if self.is_on else 'off'}>"

    @property
    def takes_jobs(self) -> bool:
        """Whether jobs may start on it: it is on, and no notice of its removal has been given."""
        return self.is_on and self.leaves is None

    def power_off(self) -> Event:
        """Switch it off at this instant, after its completions; what runs on it is lost.

        Returns
        -------
        Event
            Happens once it is off.
        """
        return self._switch(on=False)

    def set_power(self, *, on: bool, warned_s: float | None = None) -> None:
        """Switch it at once; processes that come at the instant of power changes use this.

        Parameters
        ----------
        on
            Whether it shall be on.
        warned_s
            How long ago the jobs that run there were asked for a checkpoint; None if they were not.
        """
        if not on:
            for attempt in self.running:
                attempt.warned_s = warned_s
        self._set(on=on)

    def leave(self, leaves: Literal["at an instant", "once idle"] | None) -> None:
        """Give notice that it will go, or (None) call it back; it takes no new job in between."""
        if leaves != self.leaves:
            self.leaves = leaves
            for watcher in self.cluster.watchers:
                watcher(self)

    def power_on(self) -> Event:
        """Switch it on at this instant; its cores can be used by the decisions of this instant."""
        return self._switch(on=True)

    def _switch(self, *, on: bool) -> Event:
        switched = Event(self.cluster.env)
        switched.callbacks.append(lambda _: self._set(on=on))
        self.cluster.env.trigger(switched, POWER)
        return switched

    def _set(self, *, on: bool) -> None:
        if on == self.is_on:
            return
        self.is_on = on
        self.leaves = None
        for attempt in list(self.running):
            attempt.interrupt(self)
        self.cluster.power_changed(self)


class Cluster:
    """A cluster: a pool of cores, or machines of cores each. Extend it to change how jobs run.

    Override `runtime_s` to say how long a job runs here, or `execute` to say what it does.

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

    Raises
    ------
    RequestError
        Neither a pool nor machines are given, or both, or a size below 1.
    """

    def __init__(
        self,
        env: Environment,
        name: str,
        *,
        cores: int | None = None,
        machines: int | None = None,
        cores_per_machine: int | None = None,
        kind: str | None = None,
    ) -> None:
        if (cores is None) == (machines is None) or (machines is None) != (cores_per_machine is None):
            raise RequestError(
                f"cluster {name!r} with cores={cores}, machines={machines}, cores_per_machine={cores_per_machine}",
                "either cores, or machines and cores_per_machine are allowed",
            )
        size = cores if cores is not None else (machines or 0) * (cores_per_machine or 0)
        given = [each for each in (cores, machines, cores_per_machine) if each is not None]
        if not all(each >= 1 and float(each).is_integer() for each in given):
            raise RequestError(f"cluster {name!r} of {size} cores", "at least 1 core is allowed, in whole numbers")
        self.env = env
        self.name = name
        self.cores: int = size
        self.kind = kind
        self.free_cores: int = size
        self.machines = [Machine(self, i, cores=cores_per_machine or 0) for i in range(machines or 0)]
        self.running: dict[Attempt, None] = {}
        self.watchers: list[Callable[[Machine], None]] = []
        self._only_waits = type(self).execute is Cluster.execute
        env.enter(self)

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Cluster {self.name!r}: {self.free_cores} of {self.cores} cores free>"

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
        runs = self.runtime_s(attempt.job)
        if attempt.limit_s is not None and attempt.limit_s < runs:
            runs = attempt.limit_s
            attempt.outcome = Outcome.KILLED
        attempt.executed_s = runs
        return runs

    # -- what schedulers use ------------------------------------------------------------------------

    def start(
        self,
        job: Job,
        *,
        limit_s: float | None = None,
        then: Callable[[Attempt], None] | None = None,
        machine: Machine | None = None,
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
        machine
            The machine it runs on; None for the free cores of the lowest ones.
        submitted
            The job as it was submitted, if `job` is another object.

        Raises
        ------
        ImpossibleJobError
            Fewer cores are free than it needs.
        """
        free = self.free_cores
        if machine is not None:
            free = machine.free_cores if machine.is_on else 0
        if job.cores > free:
            where = f"cluster {self.name!r}" if machine is None else f"machine {machine.index} of {self.name!r}"
            raise ImpossibleJobError(job.job_id, f"needs {job.cores} cores, and {free} of {where} are free")
        attempt = Attempt(job, self, limit_s)
        attempt.then = then
        if submitted is not None:
            attempt.submitted = submitted
        self.free_cores -= job.cores
        self.running[attempt] = None
        if self.machines:
            self._place(attempt, self.machines if machine is None else [machine])
        if self._only_waits:
            self.env.publish("started", attempt)
            attempt.timeout = Timeout(self.env, self._runs_s(attempt), attempt)
            attempt.timeout.callbacks.append(self._timed_out)
        else:
            attempt.process = self.env.process(self._run(attempt))
        return attempt

    @staticmethod
    def _place(attempt: Attempt, machines: list[Machine]) -> None:
        """Give an attempt the free cores of the first of these machines that are on."""
        need = attempt.job.cores
        for machine in machines:
            if not need:
                break
            taken = min(machine.free_cores, need) if machine.is_on else 0
            if taken:
                machine.free_cores -= taken
                machine.running[attempt] = None
                attempt.places.append((machine, taken))
                need -= taken

    def _timed_out(self, timeout: Event) -> None:
        """End the attempt that has waited for its runtime."""
        self.end(timeout._value)  # noqa: SLF001  timeout.value, without a call for each job

    def _run(self, attempt: Attempt) -> Process:
        self.env.publish("started", attempt)
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
        if attempt.account is not None:
            attempt.work_s = attempt.account(attempt)
        del self.running[attempt]
        if self.machines:
            for machine, taken in attempt.places:
                machine.free_cores += taken
                del machine.running[attempt]
                if machine.is_on:
                    self.free_cores += taken
                if machine.leaves == "once idle" and not machine.running:
                    machine.power_off()
        else:
            self.free_cores += attempt.job.cores
        self.env.publish("ended", attempt)
        if attempt.then is not None:
            attempt.then(attempt)

    def power_changed(self, machine: Machine) -> None:
        """Count a machine's free cores in or out, and tell who watches."""
        self.free_cores += machine.free_cores if machine.is_on else -machine.free_cores
        self.env.publish("powered", machine)
        for watcher in self.watchers:
            watcher(machine)
