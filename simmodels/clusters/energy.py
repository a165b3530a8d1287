"""Energy: what machines draw over time, and what that costs in money and carbon by a signal."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simmodels.errors import RequestError
from simmodels.ground.numbers import Floats, as_column, as_number

KWH: Final = 3_600_000.0
"""A kilowatt-hour in joules."""


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """A quantity over time, constant from each instant to the next: g/kWh of carbon, EUR/kWh.

    Before its first instant it is as from then on.

    Parameters
    ----------
    time_s
        float64[k], k >= 1, strictly increasing, in seconds since the trace's zero.
    value
        float64[k], what it is from each instant on.

    Raises
    ------
    RequestError
        It is empty, not sorted, not of one length, or not finite.

    Examples
    --------
    >>> import simmodels as sm
    >>> price = sm.Signal([0, 3600], [0.30, 0.10])
    >>> float(price.integral(0, 7200)) / 3600
    0.4
    """

    time_s: Floats
    value: Floats

    def __post_init__(self) -> None:
        """Make the columns read-only arrays, and check them."""
        time_s, value = np.array(as_column("time_s", self.time_s)), np.array(as_column("value", self.value))
        if time_s.ndim != 1 or time_s.shape != value.shape or not len(time_s):
            raise RequestError(
                f"a signal of {time_s.shape} instants and {value.shape} values", "give both one length >= 1"
            )
        if not (np.isfinite(time_s).all() and np.isfinite(value).all() and (np.diff(time_s) > 0).all()):
            raise RequestError(
                "a signal with instants that do not increase, or that is not finite",
                "sort it, and leave out what is not finite",
            )
        for name, column in (("time_s", time_s), ("value", value)):
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def constant(cls, value: float) -> "Signal":
        """Return a signal that is the same always."""
        return cls(np.zeros(1), np.array([value]))

    def integral(self, from_s: ArrayLike, to_s: ArrayLike) -> NDArray[Any]:
        """Return the integral over each interval, in units of the signal times seconds."""
        return np.asarray(self._to(np.asarray(to_s, np.float64)) - self._to(np.asarray(from_s, np.float64)))

    def _to(self, time_s: Floats) -> Floats:
        """Return the integral from the first instant to each."""
        knots = np.append(0.0, np.cumsum(np.diff(self.time_s) * self.value[:-1]))
        at = np.maximum(np.searchsorted(self.time_s, time_s, side="right") - 1, 0)
        return np.asarray(knots[at] + (time_s - self.time_s[at]) * self.value[at])


@dataclass(frozen=True, slots=True)
class Power:
    """What a machine draws: so much while it is on, and more for each core in use.

    Parameters
    ----------
    machine_w
        What a machine draws while it is on, in watts (>= 0).
    core_w
        What a core in use draws beyond that, in watts (>= 0).

    Raises
    ------
    RequestError
        A number is below 0 or not finite.

    Examples
    --------
    >>> import simmodels as sm
    >>> jobs = {"submit_s": [0], "runtime_s": [3600], "cores": [4]}
    >>> schedule = sm.simulate(jobs, capacity=[(0, 1)], cores_per_machine=4)
    >>> schedule.energy(sm.Power(machine_w=100, core_w=10))
    {'energy_kwh': 0.14}
    """

    machine_w: float
    core_w: float

    def __post_init__(self) -> None:
        """Refuse what no machine draws."""
        for name in ("machine_w", "core_w"):
            as_number(name, getattr(self, name), least=0, unit="watts")
