"""Powering: processes that switch the machines of a cluster on and off."""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args

import numpy as np

from simmodels.clusters.capacity import Capacity, CapacityChange, Law, Mode, Walk
from simmodels.clusters.site import Removes
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment, Process
from simmodels.entities.machine import Leaves, Machine
from simmodels.entities.outages import require_machines
from simmodels.errors import require_known
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.numbers import as_integer
from simmodels.ground.streams import stream
from simmodels.passes import switching

if TYPE_CHECKING:
    import pandas as pd

_MODES: dict[str, int] = switching.MODES
_LEAVES: dict[int, Leaves | None] = {
    switching.OPEN: None,
    switching.NOTICED: "at an instant",
    switching.DRAINING: "once idle",
}
_STATES: dict[object, int] = {leaves: state for state, leaves in _LEAVES.items()}


class CapacityProcess:
    """A process that changes how many machines a cluster has; extend it for a law of your own.

    Override `changes`: it gives one `CapacityChange` after the other, with increasing times.

    Parameters
    ----------
    env, cluster
        The environment, and the cluster whose machines are switched on and off.
    machines
        How many are on at first.
    removes
        Which machines go: those of the ``"highest"`` numbers, or ``"random"`` ones.
    longest_notice_s
        The longest notice that a change may have.

    Raises
    ------
    UnknownNameError, RequestError
        Machines cannot be removed so; or the cluster is a pool, or has fewer machines.

    Examples
    --------
    >>> import simmodels as sm
    >>> class Nights(sm.CapacityProcess):
    ...     def changes(self):
    ...         for day in range(365):
    ...             yield sm.CapacityChange(day * sm.DAY + 20 * sm.HOUR, machines=4)
    ...             yield sm.CapacityChange((day + 1) * sm.DAY + 8 * sm.HOUR, machines=1)
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=4, cores_per_machine=8)
    >>> process = Nights(env, cluster, machines=1)
    >>> env.run(until=sm.DAY)
    >>> sum(machine.is_on for machine in cluster.machines)
    4
    """

    def __init__(
        self,
        env: Environment,
        cluster: Cluster,
        *,
        machines: int,
        removes: Removes = "highest",
        longest_notice_s: float = 0.0,
    ) -> None:
        require_known("removes", removes, get_args(Removes))
        require_machines(env, cluster)
        self.env = env
        self.cluster = cluster
        self.removes = removes
        self.longest_notice_s = longest_notice_s
        draws = self._walks or removes == "random"
        self._seed = env.seed_of("capacity", cluster.name) if draws else env.seed
        self._draws = stream(self._seed, "capacity", "removed")
        self._announced: dict[int, CapacityChange] = {}  # changes still to come, of which notice has been given
        self._by = np.full(len(cluster.machines), -1)  # the change by which each machine went, and ...
        self._notified_s = np.full(len(cluster.machines), np.inf)  # ... when notice of it was given
        self._check(machines)
        for machine in cluster.machines[machines:]:
            machine.hold(self)
        env.enter(self)
        self.process = env.process(self._run())

    _walks = False  # whether its changes are drawn

    def changes(self) -> Iterable[CapacityChange]:
        """Return what is to come, in order of time."""
        return ()

    def least_machines(self) -> int | None:
        """Return the least number of machines there will ever be, if it is known."""
        return None

    def most_machines(self) -> int:
        """Return the most machines there will ever be, as far as it is known."""
        return len(self.cluster.machines)

    def _check(self, machines: int) -> None:
        as_integer(f"machines of cluster {self.cluster.name!r}", machines, 0, len(self.cluster.machines))

    def _run(self) -> Process:
        """Carry out each change; those of which notice is to be given before the next one are looked up in time."""
        coming = enumerate(self.changes())
        known: deque[tuple[int, CapacityChange]] = deque()
        while True:
            while not known or known[-1][1].time_s <= known[0][1].time_s + self.longest_notice_s:
                found = next(coming, None)
                if found is None:
                    break
                known.append(found)
                self._check(found[1].machines)
                if found[1].notice_s > 0:
                    self.env.process(self._announce(*found))
            if not known:
                return
            number, change = known.popleft()
            yield self.env.at(change.time_s)
            yield self.env.powering()
            self._switch(number, change, effect=True)

    def _announce(self, number: int, change: CapacityChange) -> Process:
        at = change.time_s - change.notice_s
        if at > self.env.now:
            yield self.env.at(at)
        yield self.env.powering()
        yield self.env.powering()  # what takes effect at this instant does so before
        if change.time_s > self.env.now:
            self._switch(number, change, effect=False)

    def _switch(self, number: int, change: CapacityChange, *, effect: bool) -> None:
        """Carry out a change, or give notice of it."""
        machines, now, by, notified = self.cluster.machines, float(self.env.now), self._by, self._notified_s
        states = np.array([self._state(machine) for machine in machines], np.int64)
        before = states.copy()
        if effect:
            self._announced.pop(number, None)
            on = ((states == switching.OPEN) | (states == switching.NOTICED)).sum()
            without_notice = on - change.machines - (states == switching.NOTICED).sum()
            mode, draws = _MODES[change.mode], self._drawn(without_notice)
            switching.take_effect(states, by, notified, number, change.machines, mode, draws, now)
        else:
            self._announced[number] = change
        coming = sorted(self._announced.values(), key=lambda each: each.time_s)
        time_s = np.array([each.time_s for each in coming], np.float64)
        left = np.array([each.machines for each in coming], np.int64)
        draws = self._drawn((states == switching.OPEN).sum() - left.min(initial=len(machines)))
        since = now if effect else change.time_s - change.notice_s  # which may be before the simulation began
        goes_s, known = np.empty(len(states)), np.ones(len(coming), np.bool_)
        switching.warn(states, notified, goes_s, known, time_s, left, draws, since)
        for i, machine in enumerate(machines):
            state = states[i]
            if state == before[i]:
                if state == switching.NOTICED:
                    machine.leave("at an instant", self, goes_s=goes_s[i])
            elif state == switching.OFF or (state == switching.DRAINING and not machine.running):
                warned_s = switching.warned(notified[i], change.time_s, change.notice_s)
                machine.hold(self, warned_s=warned_s if change.mode == "checkpoint" else None)
            else:
                if before[i] == switching.OFF:
                    machine.release(self)
                machine.leave(_LEAVES[state], self, goes_s=goes_s[i])

    def _state(self, machine: Machine) -> int:
        """Return what state a machine is in, as far as this process is concerned."""
        return switching.OFF if self in machine.holders else _STATES[machine.leaves_by(self)]

    def _drawn(self, count: int) -> np.ndarray:
        """Return draws that say which machines go; none if it is those of the highest numbers."""
        return self._draws.random(max(int(count), 0)) if self.removes == "random" else np.empty(0)


class TraceCapacity(CapacityProcess):
    """Switches machines as a table says.

    Parameters
    ----------
    env, cluster, removes
        As in `CapacityProcess`.
    table
        A `Capacity`, a table with its columns, or `CapacityChange` records.
    start_s
        The instant at which the table's first change is made; None: as its times say.
    repeat_s
        The series starts again after each such period (s); None: the last change holds forever.

    Raises
    ------
    RequestError
        The table is no capacity, or asks for more machines than the cluster has.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=4, cores_per_machine=8)
    >>> process = sm.TraceCapacity(env, cluster, [(0, 4), (3600, 1)])
    >>> env.run(until=2 * sm.HOUR)
    >>> sum(machine.is_on for machine in cluster.machines)
    1
    """

    def __init__(
        self,
        env: Environment,
        cluster: Cluster,
        table: "Capacity | pd.DataFrame | Iterable[CapacityChange]",
        *,
        start_s: Duration | None = None,
        repeat_s: Duration | None = None,
        removes: Removes = "highest",
    ) -> None:
        capacity = Capacity.of(table)
        if start_s is not None:
            capacity = capacity.shift(as_seconds("start_s", start_s, also="None") - float(capacity.time_s[0]))
        self.capacity = capacity
        self.repeat_s = (
            None if repeat_s is None else as_seconds("repeat_s", repeat_s, above=0, finite=False, also="None")
        )
        longest = float(capacity.notice_s.max())
        require_machines(env, cluster)
        as_integer(f"machines of cluster {cluster.name!r}", capacity.machines.max(), 0, len(cluster.machines))
        super().__init__(
            env, cluster, machines=self._machines_at(float(env.now)), removes=removes, longest_notice_s=longest
        )

    def _machines_at(self, now: float) -> int:
        """Return how many machines there are at an instant, by the instants that `changes` will say."""
        table, first = self.capacity, float(self.capacity.time_s[0])
        if self.repeat_s is None or now < first:
            return table.machines_at(now)
        kept = table.time_s < first + self.repeat_s
        last = int((now - first) // self.repeat_s)  # or the next or the one before: it is rounded
        turns = np.arange(max(last - 1, 0), last + 2)
        times = (table.time_s[kept] + turns[:, np.newaxis] * self.repeat_s).ravel()
        return int(np.tile(table.machines[kept], len(turns))[np.searchsorted(times, now, side="right") - 1])

    def least_machines(self) -> int:
        """Return the least number of machines from now on."""
        return int(self._machines_to_come().min())

    def most_machines(self) -> int:
        """Return the most machines from now on."""
        return int(self._machines_to_come().max())

    def _machines_to_come(self) -> np.ndarray:
        """Return how many machines there are now, and after each change to come."""
        table, now = self.capacity, float(self.env.now)
        later = table.machines if self.repeat_s is not None else table.machines[table.time_s > now]
        return np.append(later, self._machines_at(now))

    def changes(self) -> Iterable[CapacityChange]:
        """Return the table's changes that are still to come."""
        table, first, begin = self.capacity, float(self.capacity.time_s[0]), float(self.env.now)
        columns = (table.time_s.tolist(), table.machines.tolist(), table.notice_s.tolist(), table.mode)
        turn = 0
        while True:
            for time_s, machines, notice_s, mode in zip(*columns, strict=True):
                at = time_s + turn * self.repeat_s if self.repeat_s is not None else time_s
                if at > begin and (self.repeat_s is None or time_s < first + self.repeat_s):
                    yield CapacityChange(at, machines, notice_s, mode)
            if self.repeat_s is None:
                return
            turn += 1


class MarkovCapacity(CapacityProcess):
    """Switches machines by a walk between two bounds (Perotin et al. 2023, section 5.1).

    Parameters
    ----------
    env, cluster
        As in `CapacityProcess`.
    low, high
        The least and the most machines.
    step
        How many come or go at once.
    period_s
        The time between two changes.
    start
        How many there are at first; None for the middle, or the middle one of ``low``, ``low + step``, ... if the walk
        could never leave the middle.
    law
        ``"three_way"``: one step up, one down or none, each as likely as the others that stay within the bounds (the
        paper); ``"two_way"``: up or down, and none where that would leave the bounds (the authors' program).
    notice_s, mode
        As in `CapacityChange`.

    Raises
    ------
    RequestError, UnknownNameError
        An argument is out of its range, or there is no such law, or the walk could never move, though it has a step and
        a range.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment(seed=1)
    >>> cluster = sm.Cluster(env, "ours", machines=8, cores_per_machine=8)
    >>> process = sm.MarkovCapacity(env, cluster, low=4, high=8, step=1, period_s=sm.HOUR)
    >>> env.run(until=sm.DAY)
    >>> sum(machine.is_on for machine in cluster.machines)
    5
    """

    def __init__(
        self,
        env: Environment,
        cluster: Cluster,
        *,
        low: int,
        high: int,
        step: int,
        period_s: Duration,
        start: int | None = None,
        law: Law = "three_way",
        notice_s: Duration = 0.0,
        mode: Mode = "kill",
        removes: Removes = "highest",
    ) -> None:
        self.low = as_integer("low", low, 0)
        self.high = as_integer("high", high, self.low)
        self.step, self.law, self.mode = step, law, mode
        self.period_s = as_seconds("period_s", period_s, above=0)
        self.notice_s = as_seconds("notice_s", notice_s, least=0)
        self._walk = Walk(low, high, step, law)
        middle = (low + high) // 2
        self.start = middle if start is None else start
        if start is None and step > 0 and not self._walk.can_move(middle):
            self.start = low + (high - low) // step // 2 * step
        self._walk.require_moves(self.start)
        CapacityChange(0.0, self.start, self.notice_s, mode)  # the same
        super().__init__(env, cluster, machines=self.start, removes=removes, longest_notice_s=self.notice_s)

    _walks = True

    def least_machines(self) -> int:
        """Return the lower bound."""
        return self.low

    def most_machines(self) -> int:
        """Return the most machines that the walk can reach."""
        if not self._walk.can_move(self.start):
            return self.start
        return self.high if self.law == "two_way" else self.start + (self.high - self.start) // self.step * self.step

    def changes(self) -> Iterable[CapacityChange]:
        """Return one change after the other, forever; those that change nothing are left out."""
        begin, draws = float(self.env.now), stream(self._seed, "capacity", "walk")
        for number, machines in self._walk.moves(self.start, draws):
            yield CapacityChange(begin + number * self.period_s, machines, self.notice_s, self.mode)
