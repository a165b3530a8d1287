"""Machine: some of a cluster's cores, which can be used while it is on."""

from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from simpy.events import Event

from simmodels.entities.environment import POWER

if TYPE_CHECKING:
    from simmodels.entities.attempt import Attempt
    from simmodels.entities.cluster import Cluster

_CHANGES: Final = 3
"""Changes take effect in the first turn of power changes of an instant, notices are given in the second."""


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
        self.wanted = True  # whether it is to be on: one that takes time to come is wanted before it is
        self.leaves: Literal["at an instant", "once idle"] | None = None  # on, but it takes no new job
        self.change = -1  # the change of the capacity by which it went
        self.told_s = np.inf  # when it was told that it will go
        self.counts = True  # whether its free cores are among the cluster's
        self.offered = cores  # cores that jobs have there or may have, as the cluster's schedulers were told last
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
            self.cluster.tell(self)

    def emptied(self) -> None:
        """Take note that its last job has ended: if it drains, it is switched off, after all changes of the instant."""
        if self.leaves == "once idle":
            self._go_after(_CHANGES)

    def _go_after(self, turns: int) -> None:
        """Switch it off, after so many turns of power changes, if it still drains: it may have been called back."""
        turn = Event(self.cluster.env)
        turn.callbacks.append(lambda _: self._go_after(turns - 1) if turns > 1 else self._go())
        self.cluster.env.trigger(turn, POWER)

    def _go(self) -> None:
        if self.leaves == "once idle" and not self.running:
            self.wanted = False
            self.set_power(on=False)

    def power_on(self) -> Event:
        """Switch it on at this instant; its cores can be used by the decisions of this instant."""
        return self._switch(on=True)

    def _switch(self, *, on: bool) -> Event:
        switched = Event(self.cluster.env)
        switched.callbacks.append(lambda _: self._set(on=on))
        self.cluster.env.trigger(switched, POWER)
        return switched

    def _set(self, *, on: bool) -> None:
        self.wanted = on
        if on == self.is_on:
            return
        self.is_on = on
        if not on:
            self.leaves = None
        for attempt in list(self.running):
            attempt.interrupt(self)
        self.cluster.power_changed(self)
