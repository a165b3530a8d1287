"""Outages: machines that fail, and machines that are maintained; each process holds them off under its own name."""

from collections.abc import Iterable
from typing import Any

from simmodels.clusters.capacity import Mode
from simmodels.clusters.outages import FailureLaw, MaintenanceWindow
from simmodels.entities.cluster import Cluster, as_cluster
from simmodels.entities.environment import Environment, Process
from simmodels.entities.machine import Machine
from simmodels.errors import RequestError, must_be
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_integer
from simmodels.ground.streams import stream
from simmodels.units import DAY


def require_machines(env: Environment, cluster: Cluster) -> None:
    """Refuse a pool of cores, which has no machines to switch, and a cluster of another environment."""
    if not as_cluster(env, cluster).machines:
        raise RequestError(f"cluster {cluster.name!r} has no machines", "create it with machines=")


class Failures:
    """Machines fail without notice, each by itself, and are off until they are repaired.

    A machine fails whether it is on or held off by something else. What runs on it is lost, except for what periodic
    checkpoints saved. The process never ends: say until when the clock runs, for example
    ``env.run(until=sm.all_done(env))``.

    Parameters
    ----------
    env, cluster
        The environment, and the cluster.
    mtbf_s, repair_s, shape
        As in `FailureLaw`.

    Raises
    ------
    RequestError
        The cluster has no machines, or a number is out of its range.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment(seed=1)
    >>> cluster = sm.Cluster(env, "ours", machines=4, cores_per_machine=8)
    >>> failures = sm.Failures(env, cluster, mtbf_s=5 * sm.DAY, repair_s=6 * sm.HOUR)
    >>> switched = []
    >>> env.on(sm.Powered, lambda event: switched.append(event.machine.is_on))
    >>> env.run(until=4 * sm.WEEK)
    >>> switched.count(False)
    15
    """

    def __init__(
        self, env: Environment, cluster: Cluster, *, mtbf_s: Duration, repair_s: Duration, shape: float = 1.0
    ) -> None:
        require_machines(env, cluster)
        self.env = env
        self.cluster = cluster
        law = FailureLaw(mtbf_s=mtbf_s, repair_s=repair_s, shape=shape)  # type: ignore[arg-type]  # it makes seconds
        self.mtbf_s, self.repair_s, self.shape, self._scale_s = law.mtbf_s, law.repair_s, law.shape, law.scale_s
        self._seed = env.seed_of("failures", cluster.name)
        self.repairs = 0
        """How many machines have been repaired."""
        env.enter(self)
        self.processes = [env.process(self._run(machine)) for machine in cluster.machines]

    @property
    def failed(self) -> list[Machine]:
        """Return the machines that it holds off, which are being repaired."""
        return [machine for machine in self.cluster.machines if self in machine.holders]

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Failures of {self.cluster.name!r}: mtbf {self.mtbf_s:g} s, repair {self.repair_s:g} s>"

    def _run(self, machine: Machine) -> Process:
        env, draws = self.env, stream(self._seed, "failures", machine.index)
        while True:
            yield env.timeout(self._scale_s * draws.weibull(self.shape))
            yield env.powering()
            machine.hold(self)
            yield env.timeout(self.repair_s)
            yield env.powering()
            machine.release(self)
            self.repairs += 1


class Maintenance:
    """Machines are off for a time that is known before: once, or again and again.

    Parameters
    ----------
    env, cluster
        The environment, and the cluster.
    start_s, duration_s, machines, notice_s, mode
        As in `MaintenanceWindow`.
    repeat_s
        It begins again after this many seconds, again and again, so the process never ends; None for once.

    Raises
    ------
    RequestError, UnknownNameError
        The cluster has no machines, or not these; a number is out of its range; or there is no such mode.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=2, cores_per_machine=4)
    >>> scheduler = sm.QueueScheduler(env, cluster)
    >>> source = sm.Source(env, {"submit_s": [0, 1], "runtime_s": [10, 10], "cores": [4, 8]}, into=scheduler)
    >>> maintenance = sm.Maintenance(env, cluster, start_s=5, duration_s=20, machines=[1])
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().start_s.tolist()
    [0.0, 25.0]
    """

    def __init__(
        self,
        env: Environment,
        cluster: Cluster,
        *,
        start_s: Duration,
        duration_s: Duration,
        machines: Iterable[int] | None = None,
        notice_s: Duration = DAY,
        mode: Mode = "kill",
        repeat_s: Duration | None = None,
    ) -> None:
        require_machines(env, cluster)
        self.env = env
        self.cluster = cluster
        asked: dict[str, Any] = {"start_s": start_s, "duration_s": duration_s, "notice_s": notice_s, "mode": mode}
        once = MaintenanceWindow(**asked)
        self.start_s = as_seconds("start_s", once.start_s, least=env.now)
        self.duration_s, self.notice_s, self.mode = once.duration_s, once.notice_s, once.mode
        self.repeat_s = None if repeat_s is None else as_seconds("repeat_s", repeat_s, also="None")
        if self.repeat_s is not None and not self.duration_s < self.repeat_s:
            raise RequestError(must_be("repeat_s", f"longer than duration_s, {self.duration_s:g} s", self.repeat_s))
        chosen = _listed(cluster, machines)
        last = len(cluster.machines) - 1
        chosen = [as_integer(f"a machine of cluster {cluster.name!r}", index, 0, last) for index in chosen]
        self.machines = [cluster.machines[index] for index in dict.fromkeys(chosen)]
        env.enter(self)
        self.process = env.process(self._run())

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Maintenance of {len(self.machines)} machines of {self.cluster.name!r} at {self.start_s:g} s>"

    def _run(self) -> Process:
        env, begin_s = self.env, self.start_s
        while True:
            notice_s = max(begin_s - self.notice_s, float(env.now))
            if notice_s < begin_s:
                yield env.at(notice_s)
                yield env.powering()
                yield env.powering()  # what takes effect at this instant does so before
                for machine in self.machines:
                    machine.leave("at an instant", self, goes_s=begin_s)
            yield env.at(begin_s)
            yield env.powering()
            for machine in self.machines:
                if self.mode == "drain" and machine.running:
                    machine.leave("once idle", self)
                else:
                    machine.hold(self, warned_s=begin_s - notice_s if self.mode == "checkpoint" else None)
            yield env.at(begin_s + self.duration_s)
            yield env.powering()
            for machine in self.machines:
                machine.leave(None, self)
                machine.release(self)
            if self.repeat_s is None:
                return
            begin_s += self.repeat_s


def _listed(cluster: Cluster, machines: object) -> list[int]:
    """Return the numbers of machines: of all, if it is not said which."""
    if machines is None:
        return list(range(len(cluster.machines)))
    found = list(machines) if isinstance(machines, Iterable) else []
    if not found:
        raise RequestError(must_be("machines", "the numbers of at least one machine, or None", machines))
    return found
