"""Alarm: wakes somebody at an instant that may move."""

import math
from collections.abc import Callable

from simpy.events import Event

from simmodels.entities.environment import Environment


class Alarm:
    """Calls somebody at the instant for which it is set; set again, it forgets the instant before.

    Parameters
    ----------
    env
        The environment.
    ring
        What to call.
    holds_clock
        Whether an event that is no longer wanted stays in line, and keeps the clock running when all else is done; to
        take one out costs as much as the events that are to come.
    """

    def __init__(self, env: Environment, ring: Callable[[], object], *, holds_clock: bool = True) -> None:
        self._env, self._ring, self._holds_clock = env, ring, holds_clock
        self.due_s = math.inf
        """When it rings, or rang last; infinity for never."""
        self._event: Event | None = None  # at that instant, or an earlier one
        self._event_s = math.inf
        self.is_set = False
        """Whether it has still to ring."""

    def set(self, due_s: float) -> None:
        """Ring at an instant, at once if it is past; infinity for never."""
        self.due_s = due_s
        if self._event is not None and not self._holds_clock and (due_s < self._event_s or due_s == math.inf):
            self._env._call_off(self._event)  # noqa: SLF001  not for users: who waits for it never goes on
            self._event, self._event_s, self.is_set = None, math.inf, False
        if due_s < self._event_s:
            self.is_set = True
            self._event, self._event_s = self._env.at(max(due_s, self._env.now)), due_s
            self._event.callbacks.append(self._come)

    def _come(self, event: Event) -> None:
        """Ring, unless it has moved since."""
        if event is not self._event:
            return
        self._event, self._event_s, self.is_set = None, math.inf, False
        if self.due_s <= self._env.now:
            self._ring()
        else:
            self.set(self.due_s)
