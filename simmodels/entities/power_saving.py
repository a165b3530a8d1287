"""Saving: machines that are switched off while they have nothing to do."""

from simmodels.clusters.power_saving import SleepPolicy
from simmodels.entities.attempt import Attempt
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.cluster import Cluster
from simmodels.entities.decider import Decider
from simmodels.entities.environment import END, Environment, Process
from simmodels.entities.events import Ended, Powered, Routed, Started, Submitted
from simmodels.entities.machine import Machine
from simmodels.entities.outages import require_machines
from simmodels.entities.router import Router
from simmodels.ground.durations import Duration
from simmodels.ground.numbers import as_integer
from simmodels.work.workload import Job


class SleepWhenIdle:
    """Switches off each machine that has been idle for some time while no job waits, and on again for jobs that wait.

    Both after the decisions of an instant: machines are woken, the lowest numbers first, until those that wait have as
    many cores, of machines that are on or about to be; and those that have been idle for long enough go, the highest
    numbers first.

    Parameters
    ----------
    env, cluster
        The environment, and the cluster.
    after_s, boot_s, awake
        As in `SleepPolicy`.

    Raises
    ------
    RequestError
        The cluster has no machines, or a number is out of its range.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=2, cores_per_machine=4)
    >>> scheduler = sm.QueueScheduler(env, cluster)
    >>> source = sm.Source(env, {"submit_s": [0, 900], "runtime_s": [60, 60], "cores": [4, 8]}, into=scheduler)
    >>> saving = sm.SleepWhenIdle(env, cluster, after_s=300, boot_s=120)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().start_s.tolist()
    [0.0, 1020.0]
    """

    def __init__(
        self, env: Environment, cluster: Cluster, *, after_s: Duration, boot_s: Duration = 0.0, awake: int = 0
    ) -> None:
        require_machines(env, cluster)
        self.env = env
        self.cluster = cluster
        policy = SleepPolicy(after_s=after_s, boot_s=boot_s, awake=awake)  # type: ignore[arg-type]  # it makes seconds
        self.after_s, self.boot_s = policy.after_s, policy.boot_s
        self.awake = as_integer("awake", policy.awake, 0, len(cluster.machines))
        on = [machine for machine in cluster.machines if machine.is_on]
        self._idle = dict.fromkeys(on, float(env.now))  # since when, the longest first
        self._heard: Decider | None = None
        self._looks = env.shared(_Looks)
        self._waits = False  # whether it will look when the first of those that are idle has been for long enough
        env.observers_of(Started).append(self._see_start)
        env.observers_of(Ended).append(self._see_end)
        env.observers_of(Powered).append(self._see_power)
        env.observers_of(Submitted).append(lambda *_: self._ring())
        env.observers_of(Routed).append(lambda *_: self._ring())
        env.enter(self)
        self._ring()

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<SleepWhenIdle of {self.cluster.name!r}: {len(self.asleep)} machines asleep>"

    @property
    def wakes_after_s(self) -> float:
        """How long a machine takes to come when a job asks for it, in seconds."""
        return self.boot_s

    @property
    def asleep(self) -> list[Machine]:
        """Return the machines that it holds off, those that boot too."""
        return [machine for machine in self.cluster.machines if self in machine.holders]

    @property
    def booting(self) -> list[Machine]:
        """Return the machines that it is about to release."""
        return [machine for machine in self.asleep if machine.boots]

    def _see_start(self, attempt: Attempt) -> None:
        if attempt.cluster is self.cluster:
            for machine, _ in attempt.places:
                self._idle.pop(machine, None)
            self._ring()

    def _see_end(self, attempt: Attempt) -> None:
        if attempt.cluster is self.cluster:
            for machine, _ in attempt.places:
                if machine.is_on and not machine.running:
                    self._idle[machine] = float(self.env.now)
            self._ring()

    def _see_power(self, machine: Machine) -> None:
        if machine.cluster is self.cluster:
            self._idle.pop(machine, None)
            if machine.is_on:
                self._idle[machine] = float(self.env.now)
            self._ring()

    def _ring(self) -> None:
        """Look at the end of this instant, when all has been decided."""
        self._looks.ring(self)

    def look(self) -> None:
        """Wake machines for jobs that wait; or let machines sleep, or see when the next one may."""
        self._hear()
        wanted = sum(job.cores for job in self._waiting)
        may_sleep = self._may_sleep
        self._wake(wanted - self.cluster.free_cores if wanted else 0, -may_sleep)
        if wanted or not self._idle or may_sleep <= 0:
            return
        now, due_s = float(self.env.now), next(iter(self._idle.values())) + self.after_s
        if due_s <= now:
            due = [machine for machine, since_s in self._idle.items() if since_s + self.after_s <= now]
            chosen = sorted(due, key=lambda machine: -machine.index)[:may_sleep]
            self.env.powering().callbacks.append(lambda _: self._sleep(chosen))
        elif not self._waits:
            self._waits = True
            self.env.at(due_s).callbacks.append(lambda _: self._is_due())

    def _hear(self) -> None:
        """Hear what is decided for the cluster: a task may be ready, and wait, though nothing was submitted here."""
        by = self.cluster.served_by
        if isinstance(by, Decider) and by is not self._heard:
            self._heard = by
            by.add_listener(self)

    def note_end(self, _: Attempt) -> None:
        """Take note that an attempt has ended where jobs of the cluster come from."""
        self._ring()

    def note_decision(self) -> None:
        """Take note that somebody has decided where jobs of the cluster come from."""
        self._ring()

    def note_room(self) -> None:
        """Take note that jobs may find cores, of which decisions follow."""

    @property
    def _waiting(self) -> list[Job]:
        """Return the jobs that wait for the cluster, at its scheduler or at a router that found no room behind it."""
        found: dict[int, Job] = {}
        ahead: list[object] = [self.cluster.served_by]
        for each in ahead:
            if isinstance(each, Scheduler | Router):
                found |= {id(job): job for job in each.waiting}
                ahead.extend(each.routers)
        return list(found.values())

    @property
    def _may_sleep(self) -> int:
        """Return how many more machines may sleep."""
        return sum(machine.takes_jobs for machine in self.cluster.machines) - self.awake

    def _wake(self, cores: int, machines: int) -> None:
        """Wake machines until at least `cores` more cores and `machines` more machines are on their way.

        Those that something else holds off come when that lets them; they do not count.
        """
        asleep = sorted(self.asleep, key=lambda machine: (len(machine.holders) > 1, machine.index))
        coming = [machine for machine in asleep if machine.boots and len(machine.holders) == 1]
        cores -= sum(machine.cores for machine in coming)
        machines -= len(coming)
        for machine in asleep:
            if (cores > 0 or machines > 0) and not machine.boots:
                machine.boots = True
                self.env.process(self._boot(machine))
                if len(machine.holders) == 1:
                    cores -= machine.cores
                    machines -= 1

    def _boot(self, machine: Machine) -> Process:
        if self.boot_s:
            yield self.env.timeout(self.boot_s)
        yield self.env.powering()
        machine.boots = False
        machine.release(self)
        self._ring()

    def _sleep(self, machines: list[Machine]) -> None:
        """Let machines sleep."""
        for machine in machines:
            machine.hold(self)

    def _is_due(self) -> None:
        """Look whether a machine has been idle for long enough, if it still is."""
        self._waits = False
        self._ring()


class _Looks:
    """The looks at the end of an instant: all look before a machine of any of them is switched."""

    def __init__(self) -> None:
        self._coming: list[SleepWhenIdle] = []

    def ring(self, saving: SleepWhenIdle) -> None:
        """Have one of them look at the end of this instant."""
        if not self._coming:
            saving.env.ring(END).callbacks.append(lambda _: self._look())
        if saving not in self._coming:
            self._coming.append(saving)

    def _look(self) -> None:
        coming, self._coming = self._coming, []
        for saving in coming:
            saving.look()
