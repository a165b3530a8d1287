"""Power: the changes of the capacity as the compiled engine carries them out, at the instants of the SimPy engine.

Which machines are switched is `simmodels.passes.switching`, which capacity processes call, too.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Floats, Ints
from simmodels.passes import switching
from simmodels.structures.structure import Handle, Structure


@structref.register
class PowerType(Structure):
    """The numba type of `Power`."""


class Power(Handle):
    """A Python handle on the state of machines that are switched on and off; made by `new_power`."""


structref.define_boxing(PowerType, Power)

_F1 = types.float64[::1]
_I1 = types.int64[::1]
POWER: Final = PowerType(
    [
        # by machine
        ("state", _I1),  # see `simmodels.passes.switching`
        ("by", _I1),  # the change by which it went
        ("notified", _F1),  # when it was given notice
        ("goes", _F1),  # when it goes, by what is announced; else infinity
        # by change
        ("time", _F1),
        ("machines", _I1),
        ("notice", _F1),
        ("mode", _I1),
        ("announced", types.boolean[::1]),
        ("notices", _I1),  # the changes of which notice is given, in this order
        # where it is
        ("begin", types.float64),
        ("next_change", types.int64),
        ("next_notice", types.int64),
        ("farthest", types.int64),  # the last change of which notice has been given
        ("draws", _F1),  # uniform numbers that say which machine goes; empty: that of the highest number
        ("drawn", types.int64),
        ("draining", types.boolean),  # kept, since a look at all machines at each event would be quadratic in them
    ]
)


class Changes(NamedTuple):
    """The changes of a capacity, by time.

    Parameters
    ----------
    time, machines, notice, mode
        float64[k] (increasing, all after the begin), int64[k], float64[k] and int64[k]; see `Capacity`.
    notices
        int64[j], those of which notice is given, by the instant at which it is.
    """

    time: Floats
    machines: Ints
    notice: Floats
    mode: Ints
    notices: Ints


@compiled
def new_power(state, changes, draws, begin):
    """Return the state of machines at the begin of a window.

    Parameters
    ----------
    state
        int64[machines], OPEN or OFF.
    changes
        What will be done to them.
    draws
        Uniform numbers that say which machine goes; empty: that of the highest number.
    begin
        The begin of the window.
    """
    made = structref.new(POWER)
    made.state = state
    made.by = np.full(state.size, -1)
    made.notified = np.full(state.size, np.inf)
    made.goes = np.full(state.size, np.inf)
    made.time, made.machines, made.notice = changes.time, changes.machines, changes.notice
    made.mode, made.notices = changes.mode, changes.notices
    made.announced = np.zeros(made.time.size, np.bool_)
    made.begin = begin
    made.next_change = 0
    made.next_notice = 0
    made.farthest = -1
    made.draws = draws
    made.drawn = 0
    made.draining = False
    return made


@compiled
def _notice_at(power):
    """Return when the next notice is given."""
    change = power.notices[power.next_notice]
    return max(power.time[change] - power.notice[change], power.begin)


@compiled
def next_switch(power):
    """Return the next instant at which the machines change, or notice of it is given; infinity if there is none."""
    at = np.inf
    if power.next_change < power.time.size:
        at = power.time[power.next_change]
    if power.next_notice < power.notices.size:
        at = min(at, _notice_at(power))
    return at


@compiled
def _may_take_jobs(power):
    """Return how many machines may take jobs: as many as the changes leave that are announced and still to come."""
    may = np.iinfo(np.int64).max
    for k in range(power.next_change, power.farthest + 1):
        if power.announced[k]:
            may = min(may, power.machines[k])
    return may


@compiled
def _find_goes(power):
    """Note when each machine under notice goes."""
    power.goes[:] = np.inf
    noticed = np.flatnonzero(power.state == switching.NOTICED)[::-1]  # in the order in which they go
    if noticed.size:
        on = noticed.size + (power.state == switching.OPEN).sum()
        for k in range(power.farthest, power.next_change - 1, -1):
            if power.announced[k]:
                power.goes[noticed[: max(on - power.machines[k], 0)]] = power.time[k]


@compiled
def _warn(power, since):
    """Give notice to machines until no more take jobs than may."""
    draws = power.draws[power.drawn :]
    power.drawn += switching.warn(power.state, power.notified, _may_take_jobs(power), draws, since)
    _find_goes(power)


@compiled
def switch(power, now):
    """Carry out the changes of an instant, then give the notices; return whether a machine changed by them."""
    changed = False
    while next_switch(power) <= now:
        state, goes = power.state.copy(), power.goes.copy()
        if power.next_change < power.time.size and power.time[power.next_change] <= now:
            k = power.next_change
            draws = power.draws[power.drawn :]
            given = (power.machines[k], power.mode[k], draws, now)
            power.drawn += switching.take_effect(power.state, power.by, power.notified, k, *given)
            power.next_change += 1
            _warn(power, now)
        else:
            k = power.notices[power.next_notice]
            power.next_notice += 1
            if power.time[k] <= now:
                continue
            power.announced[k] = True
            power.farthest = max(power.farthest, k)
            _warn(power, power.time[k] - power.notice[k])  # which may be before the window
        changed |= (power.state != state).any() or (power.goes != goes).any()
    return changed


@compiled
def warned(power, machine):
    """Return how long before it went a machine was asked for checkpoints; -1 if it was not."""
    change = power.by[machine]
    if power.mode[change] != switching.CHECKPOINT:
        return -1.0
    return switching.warned(power.notified[machine], power.time[change], power.notice[change])
