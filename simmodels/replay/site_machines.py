"""SiteMachines: the machines of a site as a window begins with them, and what will be done to them."""

import numpy as np

from simmodels.clusters.site import Site
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.streams import stream
from simmodels.passes.switching import MODES, OFF, OPEN
from simmodels.replay.outages import Outages, Planned, new_outages
from simmodels.replay.power import Changes, Power, new_power


class SiteMachines:
    """The machines of a site.

    Parameters
    ----------
    site
        The site; a pool of cores is one machine that is always on.
    begin_s
        When the window begins.
    seed
        Of what is drawn.

    Attributes
    ----------
    size, speed
        int64[machines] and float64[machines], the cores of each, and how many seconds of a job it does in a second.
    states
        int64[machines], which are on at first.
    free
        How many cores these have.
    at_begin, least
        How many these are; the fewest there will be.
    last_s
        When the last change is made, and the last maintenance has ended.
    """

    def __init__(self, site: Site, begin_s: float, *, seed: int) -> None:
        self.site, self.begin_s, self.seed = site, begin_s, seed
        made = site.spec.sizes_and_speeds
        machines = self.machines = len(made)
        self.size: Ints = np.array([size for size, _ in made], np.int64)
        self.speed: Floats = np.array([speed for _, speed in made], np.float64)
        self.at_begin = machines
        self._time_s: Floats = np.empty(0)
        self._notice_s: Floats = np.empty(0)
        self._wanted: Ints = np.empty(0, np.int64)
        self._mode: Ints = np.empty(0, np.int64)
        capacity = site.capacity
        if capacity is not None:
            self.at_begin = capacity.machines_at(begin_s)
            later = capacity.time_s > begin_s
            self._time_s, self._notice_s = capacity.time_s[later], capacity.notice_s[later]
            self._wanted = capacity.machines[later]
            modes = [MODES[each] for each, kept in zip(capacity.mode, later, strict=True) if kept]
            self._mode = np.array(modes, np.int64)
        self.least = min(self.at_begin, int(self._wanted.min(initial=machines)))
        self.last_s = max(site.last_change_s, begin_s)
        self.free = int(self.size[: self.at_begin].sum())
        self.states: Ints = np.where(np.arange(machines) < self.at_begin, OPEN, OFF).astype(np.int64)

    def power(self, states: Ints, failures: int = 0) -> Power:
        """Return the machines, as they are when the window begins.

        Parameters
        ----------
        states
            Those that will be switched.
        failures
            Of how many failures of each machine the times are drawn.
        """
        noticed = np.flatnonzero(self._notice_s > 0)
        notices = noticed[np.argsort((self._time_s - self._notice_s)[noticed], kind="stable")]
        draws = np.empty(0)
        if self.site.removes == "random":
            # A machine that leaves takes a draw, and can leave again once it has come again.
            comes = int(np.diff(self._wanted, prepend=self.at_begin).clip(0).sum())
            draws = stream(self.seed, "capacity", "removed").random(self.at_begin + 2 * comes + 1)
        changes = Changes(self._time_s, self._wanted, self._notice_s, self._mode, notices)
        made: Power = new_power(states, changes, draws, self._outages(failures), self.begin_s)
        return made

    def _outages(self, failures: int) -> Outages:
        """Return the failures and the maintenance of the machines."""
        law, windows, machines = self.site.failures, self.site.maintenance, self.machines
        life, repair_s = np.empty((0, 0)), 0.0
        if law is not None:
            draws = [stream(self.seed, "failures", machine).weibull(law.shape, failures) for machine in range(machines)]
            life, repair_s = law.scale_s * np.array(draws), law.repair_s
        of = np.zeros((len(windows), machines), np.bool_)
        for row, each in zip(of, windows, strict=True):
            row[each.of(machines)] = True
        planned = Planned(
            np.array([each.start_s for each in windows], np.float64),
            np.array([each.end_s for each in windows], np.float64),
            np.array([each.notice_s for each in windows], np.float64),
            np.array([MODES[each.mode] for each in windows], np.int64),
            of,
        )
        made: Outages = new_outages(life, repair_s, planned, self.begin_s)
        return made
