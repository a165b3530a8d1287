"""Platform: the machines of all clusters of a model, and what happens on them."""

import math
from copy import copy
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.checkpoints import checkpoint_numbers
from simmodels.clusters.site import Site
from simmodels.ground.later import pd
from simmodels.ground.numbers import MOST, Floats, Ints
from simmodels.ground.streams import Seeds, stream
from simmodels.model import Model
from simmodels.passes.switching import MODES, OFF, OPEN
from simmodels.policies.placement_options import PlacementOptions
from simmodels.replay.clock import Clock, new_clock, start_over
from simmodels.replay.loop import run
from simmodels.replay.occupancy import Occupancy, copied_occupancy, keep_attempts, new_occupancy, parts_of
from simmodels.replay.outages import Outages, Planned, new_outages
from simmodels.replay.power import Changes, Power, copied_power, foresee_failures, known_failures, new_power
from simmodels.replay.runs import Runs, new_runs, record
from simmodels.replay.sleep import Sleep, new_sleep
from simmodels.results.attempts import PART_TYPES, numbered, unexpected
from simmodels.structures.structure import Handle, address_of, copy_of

_FAILURES: Final = 16
"""Of how many failures of a machine the times are drawn at first."""


class Recorded(NamedTuple):
    """What was recorded."""

    slot: Ints  # [k], the slot of each attempt, in the order in which a recorder has them
    attempts: dict[str, NDArray[np.generic]]  # what else is known of each attempt, as columns
    off: tuple[Ints, Ints, Floats, Floats]  # cluster, machine, begin and end of each span in which a machine was off
    occupancy: Occupancy | None  # which machines each attempt has; None for a placer
    place: Ints  # [k], where the attempts that `occupancy` numbers are here

    def parts_table(self, rows: Ints) -> "pd.DataFrame":
        """Return the parts of the attempts that have several machines; `rows` are int64[k], those of the attempts."""
        columns = parts_of(self.occupancy, rows[self.place], numbered(rows)[self.place])
        return pd.DataFrame(dict(zip(PART_TYPES, columns, strict=True)), copy=False)


class Platform:
    """The machines of all clusters of a model, and how far it has come.

    Parameters
    ----------
    model
        The model; a pool of cores is one machine that is always on.

    Attributes
    ----------
    size, speed
        int64[machines] and float64[machines], the cores of each, and how many seconds of a job it does in a second.
    states
        int64[machines], which are on.
    free
        int64[clusters], how many cores these have at the begin.
    least
        The fewest machines of a cluster that there will be.
    last_s, is_out
        When the last change of a capacity is made, and the last maintenance has ended; whether machines fail, or are
        maintained.
    clock
        How far it has come; None before it begins.
    stuck
        The slots that were lost too often in succession, at the last instant, and how often.
    repairs
        How often machines were repaired while all waited, if that was too often; else 0.
    """

    def __init__(self, model: Model) -> None:
        self.sites = [site.known_by(model.end_s) for site in model.sites]
        self.begin_s = model.begin_s
        groups = [group for site in self.sites for group in site.groups]
        counts = [group.count for group in groups]
        self.size: Ints = np.repeat(np.array([group.cores for group in groups], np.int64), counts)
        self.speed: Floats = np.repeat(np.array([group.speed for group in groups], np.float64), counts)
        self._first = np.cumsum([0, *(site.count for site in self.sites)])
        # The lowest numbers are on at first.
        on = [np.arange(site.count) < _at_begin(site, self.begin_s) for site in self.sites]
        self.states: Ints = np.where(np.concatenate(on), OPEN, OFF).astype(np.int64)
        self.free: Ints = np.add.reduceat(np.where(self.states == OPEN, self.size, 0), self._first[:-1])
        to_come = [_later(site, self.begin_s) for site in self.sites]
        self.least = min(int(np.append(each.machines, on_.sum()).min()) for each, on_ in zip(to_come, on, strict=True))
        self.last_s = max(self.begin_s, *(site.last_change_s for site in self.sites))
        self.is_out = any(site.is_out for site in self.sites)
        self.clock: Clock | None = None
        self.stuck, self.repairs = (np.empty(0, np.int64), 0), 0
        self._most_requeues = MOST  # what ends at an instant ends anyway
        if model.ends_by_itself and model.max_requeues is not None:
            self._most_requeues = model.max_requeues
        self.occupancy = None  # a placer keeps it itself
        if not isinstance(model.options, PlacementOptions):
            self.occupancy = new_occupancy(self.states, self.size, self.speed, self._first, len(model.work))
        self._failure_seeds: list[int] = []
        self.powers = self._switched(model.seed, to_come)

    def _switched(self, seed: int, to_come: list[Changes]) -> list[Power | None]:
        """Return what is done to the machines of each cluster; None where they stay on."""
        seeds = Seeds(seed)
        made: list[Power | None] = []
        for site, changes, first in zip(self.sites, to_come, self._first, strict=False):
            law_seed = seed if site.failures is None else seeds.of("failures", site.name)
            self._failure_seeds.append(law_seed)
            if site.capacity is None and not site.is_out:  # no machine of it is ever switched
                made.append(None)
                continue
            states = self.states[first : first + site.count]  # a view, which the loop reads as a whole
            draws = np.empty(0)
            if site.removes == "random":
                # A machine that leaves takes a draw, and can leave again once it has come again.
                on = int((states == OPEN).sum())
                comes = int(np.diff(changes.machines, prepend=on).clip(0).sum())
                draws = stream(seeds.of("capacity", site.name), "capacity", "removed").random(on + 2 * comes + 1)
            asleep = _sleep(site, states, self.begin_s)
            outages = _outages(site, self.begin_s, _lives(site, law_seed, _FAILURES), asleep)
            made.append(new_power(states, changes, draws, outages, self.begin_s))
        return made

    def runs(self, whole_s: Floats, estimate_s: Floats, earlier_s: Floats) -> Runs:
        """Return an empty record of jobs: their work, that by their estimates, and how long they ran before."""
        rules = checkpoint_numbers(self.sites[0].checkpoints)
        made: Runs = new_runs(whole_s, estimate_s, earlier_s, len(self.states), rules, self._most_requeues)
        return made

    def run(
        self,
        runs: Runs,
        *,
        submit_s: Floats,
        until_s: float,
        queue: Handle | None = None,
        auction: Handle | None = None,
        placer: Handle | None = None,
        arrivals: Ints | None = None,
        warm: int = 0,
        kill: bool = False,
        stop_s: float = math.inf,
    ) -> bool:
        """Run one that decides, or go on; parameters and result as for `simmodels.replay.loop.run`."""
        powers = np.array([0 if power is None else address_of(power) for power in self.powers], np.int64)
        numbers = np.empty(0, np.int64) if arrivals is None else arrivals
        if self.clock is None:
            sleeps = any(site.sleep is not None for site in self.sites)
            self.clock = new_clock(self.begin_s, warm, len(self.sites), sleeps)
        of = (queue, auction, placer, self.occupancy, runs, self.clock, self.states, self.size, self.speed, powers)
        fine = True
        # The loop stops where a machine was repaired whose next failure has no time yet.
        while fine:
            fine = run(*of, submit_s, numbers, kill, self.last_s, until_s, stop_s)
            if not self._foresee_failures():
                break
        self.stuck = np.flatnonzero(runs.requeues > self._most_requeues), self._most_requeues + 1
        self.repairs = runs.repairs
        return fine

    def _foresee_failures(self) -> bool:
        """Draw the times of as many failures again where these were too few; return whether they were."""
        found = False
        for site, power, seed in zip(self.sites, self.powers, self._failure_seeds, strict=True):
            known = 0 if power is None else int(known_failures(power))
            if known:
                foresee_failures(power, _lives(site, seed, 2 * known), self.now_s)
                found = True
        return found

    @property
    def now_s(self) -> float:
        """The last instant that happened."""
        return self.begin_s if self.clock is None else float(self.clock.now)

    @property
    def came(self) -> int:
        """How many of what comes have been submitted."""
        return 0 if self.clock is None else int(self.clock.came)

    def keep(self, number: Ints, came: int) -> None:
        """Know some attempts only, and how many jobs have come of others; see `keep_attempts`."""
        if self.clock is not None:
            keep_attempts(self.occupancy, number)
            start_over(self.clock, came, number)

    def copied(self) -> "Platform":
        """Return the same machines, as far as they have come, which go on by themselves."""
        made = copy(self)
        # One array for all clusters, of which each of them has a view.
        made.states = self.states.copy()
        here = [made.states[first : first + site.count] for first, site in zip(self._first, self.sites, strict=False)]
        made.powers = [
            None if power is None else copied_power(power, states)
            for power, states in zip(self.powers, here, strict=True)
        ]
        if self.occupancy is not None:
            made.occupancy = copied_occupancy(self.occupancy, made.states)
        if self.clock is not None:
            made.clock = copy_of(self.clock)
        return made

    def recorded(self, runs: Runs, until_s: float, submit_s: Floats | None = None) -> Recorded:
        """Return what happened up to an instant; what starts together is in order of `submit_s`, then of slots."""
        of_attempts, (off, off_from_s, off_to_s) = record(runs, until_s)
        slot, machine, start_s, end_s, work_s, warned_s, outcome = of_attempts
        order, together = np.arange(len(slot)), start_s[1:] == start_s[:-1]  # attempts are in order of start
        tied = np.flatnonzero(np.append(together, False) | np.append(False, together))
        came = np.zeros(len(tied)) if submit_s is None else submit_s[slot[tied]]
        order[tied] = tied[np.lexsort((slot[tied], came, start_s[tied]))]
        (cluster, machine), (of_off, off) = (self._by_cluster(each) for each in (machine[order], off))
        attempts = {"start_s": start_s[order], "end_s": end_s[order], "outcome": outcome[order]}
        if len(self.sites) > 1:
            attempts["cluster"] = cluster
        attempts |= {"machine": machine, "work_s": work_s[order], **unexpected(warned_s=warned_s[order])}
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return Recorded(slot[order], attempts, (of_off, off, off_from_s, off_to_s), self.occupancy, place)

    def _by_cluster(self, machine: Ints) -> tuple[Ints, Ints]:
        """Return the clusters of machines, and their numbers there."""
        if len(self.sites) == 1:
            return np.zeros_like(machine), machine
        cluster = np.searchsorted(self._first, machine, side="right") - 1
        return cluster, machine - self._first[cluster]


def _at_begin(site: Site, begin_s: float) -> int:
    """Return how many machines of a site are on when it begins."""
    return site.count if site.capacity is None else site.capacity.machines_at(begin_s)


def _later(site: Site, begin_s: float) -> Changes:
    """Return the changes of the capacity of a site after the begin."""
    capacity = site.capacity
    if capacity is None:
        return Changes(np.empty(0), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
    after = capacity.time_s > begin_s
    time_s, notice_s = capacity.time_s[after], capacity.notice_s[after]
    modes = [MODES[each] for each, kept in zip(capacity.mode, after, strict=True) if kept]
    noticed = np.flatnonzero(notice_s > 0)
    notices = noticed[np.argsort((time_s - notice_s)[noticed], kind="stable")]
    return Changes(time_s, capacity.machines[after], notice_s, np.array(modes, np.int64), notices)


def _sleep(site: Site, states: Ints, begin_s: float) -> Sleep:
    """Return which machines of a site sleep, in what states they are."""
    policy = site.sleep
    how = (math.inf, 0.0, 0) if policy is None else (policy.after_s, policy.boot_s, policy.awake)
    made: Sleep = new_sleep(*how, states, begin_s)
    return made


def _lives(site: Site, seed: int, failures: int) -> Floats:
    """Return float64[machines, failures], the times from each repair to the next failure; of no machine without a law.

    More of them begin with the same ones.
    """
    law = site.failures
    if law is None:
        return np.empty((0, 0))
    draws = [stream(seed, "failures", machine).weibull(law.shape, failures) for machine in range(site.count)]
    return law.scale_s * np.array(draws)


def _outages(site: Site, begin_s: float, life: Floats, asleep: Sleep) -> Outages:
    """Return what holds the machines of a site off beside its capacity; `life` is as `_lives` has it."""
    windows, machines = site.maintenance, site.count
    repair_s = 0.0 if site.failures is None else site.failures.repair_s
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
    made: Outages = new_outages(life, repair_s, planned, asleep, begin_s)
    return made
