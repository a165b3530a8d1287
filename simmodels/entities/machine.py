"""Machine: some of a cluster's cores, which can be used while it is on."""

from typing import Final, Literal, Protocol

import numpy as np
from simpy.events import Event

from simmodels.entities.environment import POWER, Environment

Leaves = Literal["at an instant", "once idle"]
State = Literal["on", "noticed", "draining", "off", "booting"]

SCRIPT: Final = "script"
"""Who holds a machine off if nobody else is named."""
_CHANGES: Final = 3
"""Changes take effect in the first turn of power changes of an instant, notices are given in the second."""


class RunsThere(Protocol):
    """What a machine knows of an attempt that runs on it."""

    warned_s: float | None

    def interrupt(self, cause: object = None) -> None:
        """Stop it at this instant."""


class Owner(Protocol):
    """What a machine knows of its cluster."""

    env: Environment
    name: str

    def notify(self, machine: "Machine", /) -> None:
        """Take note that a machine will go, or is called back."""

    def power_changed(self, machine: "Machine", /) -> None:
        """Take note that a machine was switched."""


class Machine:
    """A machine of a cluster: its cores can be used while it is on, which it is while nobody holds it off.

    Capacity processes, failures, maintenance, power saving and scripts `hold` and `release` it, each under a name of
    its own, so that they compose.

    Parameters
    ----------
    cluster
        The cluster it belongs to.
    index
        Its number there, from 0.
    cores
        How many cores it has.

    Attributes
    ----------
    holders
        Who holds it off.
    speed
        How many seconds of a job it does in a second.
    is_on
        Whether it is on. One that takes time to boot is `wanted` before it is.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> cluster = sm.Cluster(env, "ours", machines=2, cores_per_machine=4)
    >>> cluster.machines[1].hold("inspection")
    >>> env.run()
    >>> cluster.machines[1].is_on, cluster.free_cores
    (False, 4)
    >>> cluster.machines[1].release("inspection")
    >>> env.run()
    >>> cluster.free_cores
    8
    """

    def __init__(self, cluster: Owner, index: int, *, cores: int) -> None:
        self.cluster = cluster
        self.index = index
        self.cores = cores
        self.free_cores = cores
        self.speed = 1.0
        self.is_on = True
        self.holders: dict[object, None] = {}
        self._notices: dict[object, float] = {}  # who will hold it off, and from when on
        self._drains: dict[object, None] = {}  # who will hold it off once no job runs on it
        self.boots = False  # whether whoever holds it off is about to release it
        self.listed = True  # whether its cluster looks here for room
        self.counts = True  # whether its free cores are among the cluster's
        self.offered = cores  # cores that jobs have there or may have, as the cluster's schedulers were last notified
        self.running: dict[RunsThere, None] = {}  # a dict for its order: it is what came first

    def __repr__(self) -> str:
        """Return a line about it."""
        return f"<Machine {self.index} of {self.cluster.name!r}: {self.state}>"

    # -- what can be seen of it -----------------------------------------------------------------------

    @property
    def wanted(self) -> bool:
        """Whether nobody holds it off: one that takes time to boot is wanted before it is on."""
        return not self.holders

    @property
    def state(self) -> State:
        """What it is: on, noticed, draining (each takes no new job, but see `goes_s`), off or booting."""
        if not self.is_on:
            return "booting" if self.boots or self.wanted else "off"
        return "draining" if self._drains else "noticed" if self._notices else "on"

    @property
    def leaves(self) -> Leaves | None:
        """When it goes: at an instant of which notice has been given, once it is idle, or None: nobody knows."""
        return "once idle" if self._drains else "at an instant" if self._notices else None

    @property
    def goes_s(self) -> float:
        """When it goes, by the notices that have been given; infinity without one."""
        return min(self._notices.values(), default=np.inf)

    @property
    def takes_jobs(self) -> bool:
        """Whether jobs of any length may start on it: it is on, and no notice of its removal has been given."""
        return self.is_on and not self._notices and not self._drains

    @property
    def wakes_after_s(self) -> float:
        """How long it takes to come for a job that asks for it, if it only sleeps; else infinity."""
        return max((getattr(holder, "wakes_after_s", np.inf) for holder in self.holders), default=np.inf)

    def leaves_by(self, owner: object) -> Leaves | None:
        """Return when it goes by what one owner said."""
        return "once idle" if owner in self._drains else "at an instant" if owner in self._notices else None

    # -- switched by processes that come at the instant of power changes --------------------------------

    def hold(self, owner: object = SCRIPT, *, warned_s: float | None = None) -> None:
        """Hold it off from now on, until its owner releases it; what runs on it is lost.

        For a process that comes at the instant of power changes; a script at any other instant uses `power_off`.

        Parameters
        ----------
        owner
            Who holds it.
        warned_s
            How long ago the jobs that run there were asked for a checkpoint; None if they were not.
        """
        self._forget(owner)
        self.holders[owner] = None
        if len(self.holders) == 1:
            self.set_power(on=False, warned_s=warned_s)

    def release(self, owner: object = SCRIPT) -> None:
        """Let it be on again, as far as this owner is concerned."""
        held = owner in self.holders
        self.holders.pop(owner, None)
        if held and not self.holders:
            self.boots = False
            self.set_power(on=True)

    def set_power(self, *, on: bool, warned_s: float | None = None) -> None:
        """Switch it at once, as its first holder, or the last one that releases it, asks; override it to take time.

        Parameters
        ----------
        on
            Whether it is to be on.
        warned_s
            How long ago the jobs that run there were asked for a checkpoint; None if they were not.
        """
        if not on:
            for attempt in self.running:
                attempt.warned_s = warned_s
        self._set(on=on)

    def leave(self, leaves: Leaves | None, owner: object = SCRIPT, *, goes_s: float = np.inf) -> None:
        """Give notice that it will go, or (None) call it back; in between it takes no job that may not end before.

        Parameters
        ----------
        leaves
            ``"at an instant"``: its owner will hold it off then; ``"once idle"``: it is held off for its owner once no
            job runs on it.
        owner
            Who will hold it.
        goes_s
            The instant, if it is known.
        """
        before = self.leaves, self.goes_s
        self._forget(owner)
        if leaves == "once idle":
            self._drains[owner] = None
        elif leaves == "at an instant":
            self._notices[owner] = goes_s
        if before != (self.leaves, self.goes_s):
            self.cluster.notify(self)
        if leaves == "once idle" and not self.running:
            self._go_after(_CHANGES)

    def _forget(self, owner: object) -> None:
        """Forget what an owner said of its going."""
        self._notices.pop(owner, None)
        self._drains.pop(owner, None)

    def emptied(self) -> None:
        """Take note that its last job has ended: if it drains, it is switched off, after all changes of the instant."""
        if self._drains:
            self._go_after(_CHANGES)

    def _go_after(self, turns: int) -> None:
        """Switch it off, after this many turns of power changes, if it still drains: it may have been called back."""
        self.cluster.env.call(lambda: self._go_after(turns - 1) if turns > 1 else self._go(), POWER)

    def _go(self) -> None:
        if not self.running:
            for owner in list(self._drains):
                self.hold(owner)

    # -- switched by scripts --------------------------------------------------------------------------

    def power_off(self, owner: object = SCRIPT) -> Event:
        """Hold it off from this instant on, after its completions; what runs on it is lost.

        Returns
        -------
        Event
            Happens once it is off.
        """
        return self._switch(owner, on=False)

    def power_on(self, owner: object = SCRIPT) -> Event:
        """Release it at this instant; if nobody else holds it, the decisions of this instant can use its cores."""
        return self._switch(owner, on=True)

    def _switch(self, owner: object, *, on: bool) -> Event:
        switched = self.cluster.env.powering()
        switched.callbacks.append(lambda _: self._switch_now(owner, on=on))
        return switched

    def _switch_now(self, owner: object, *, on: bool) -> None:
        """Switch it without `set_power`, which may take time and end by this."""
        self._forget(owner)
        if on:
            self.holders.pop(owner, None)
        else:
            self.holders[owner] = None
        self._set(on=self.wanted)

    def _set(self, *, on: bool) -> None:
        if on == self.is_on:
            return
        self.is_on = on
        self.boots &= not on
        for attempt in list(self.running):
            attempt.interrupt(self)
        self.cluster.power_changed(self)
