"""Platform: the machines of all clusters of a model, and what happens on them."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.checkpoints import checkpoint_numbers
from simmodels.clusters.site import Site
from simmodels.ground.numbers import MOST, Floats, Ints
from simmodels.ground.streams import Seeds, stream
from simmodels.model import Model
from simmodels.passes.switching import MODES, OFF, OPEN
from simmodels.policies.placement_options import PlacementOptions
from simmodels.replay.loop import run
from simmodels.replay.occupancy import new_occupancy, parts_of
from simmodels.replay.outages import Outages, Planned, new_outages
from simmodels.replay.power import Changes, Power, failed_too_often, new_power
from simmodels.replay.runs import Runs, idle_repairs, new_runs, record, stuck_slots
from simmodels.replay.sleep import Sleep, new_sleep
from simmodels.results.attempts import unexpected
from simmodels.structures.structure import Handle, address_of


class Recorded(NamedTuple):
    """What was recorded.

    Parameters
    ----------
    slot
        int64[k], the slot of each attempt, in the order in which a recorder has them.
    attempts
        What else is known of each attempt, as columns.
    off
        Cluster, machine, begin and end of each span in which a machine was off.
    parts
        Of each attempt that has several machines, its runs of machines: its place here; first machine, how many, and
        cores of each.
    """

    slot: Ints
    attempts: dict[str, NDArray[np.generic]]
    off: tuple[Ints, Ints, Floats, Floats]
    parts: tuple[Ints, Ints, Ints, Ints]


class Platform:
    """The machines of all clusters of a model, as it begins.

    Parameters
    ----------
    model
        The model; a pool of cores is one machine that is always on.
    failures
        Of how many failures of each machine the times are drawn.

    Attributes
    ----------
    size, speed
        int64[machines] and float64[machines], the cores of each, and how many seconds of a job it does in a second.
    states
        int64[machines], which are on.
    free
        int64[clusters], how many cores these have.
    least
        The fewest machines of a cluster that there will be.
    last_s, is_out
        When the last change of a capacity is made, and the last maintenance has ended; whether machines fail, or are
        maintained.
    stuck
        The slots that were lost too often in succession, at the last instant, and how often.
    repairs
        How often machines were repaired while all waited, if that was too often; else 0.
    """

    def __init__(self, model: Model, failures: int) -> None:
        self.sites = [site.known_by(model.end_s) for site in model.sites]
        self.begin_s = model.begin_s
        groups = [group for site in self.sites for group in site.groups]
        counts = [group.count for group in groups]
        self.size: Ints = np.repeat(np.array([group.cores for group in groups], np.int64), counts)
        self.speed: Floats = np.repeat(np.array([group.speed for group in groups], np.float64), counts)
        self._first = np.cumsum([0, *(site.count for site in self.sites)])
        on = [np.arange(site.count) < _at_begin(site, self.begin_s) for site in self.sites]
        self.states: Ints = np.where(np.concatenate(on), OPEN, OFF).astype(np.int64)
        self.free: Ints = np.add.reduceat(np.where(self.states == OPEN, self.size, 0), self._first[:-1])
        later = [_later(site, self.begin_s) for site in self.sites]
        self.least = min(int(np.append(each.machines, on_.sum()).min()) for each, on_ in zip(later, on, strict=True))
        self.last_s = max(self.begin_s, *(site.last_change_s for site in self.sites))
        self.is_out = any(site.is_out for site in self.sites)
        self.stuck, self.repairs = (np.empty(0, np.int64), 0), 0
        self._most_requeues = MOST
        if model.ends_by_itself and model.max_requeues is not None:
            self._most_requeues = model.max_requeues
        self._occupancy = None  # a placer keeps it itself
        if not isinstance(model.options, PlacementOptions):
            self._occupancy = new_occupancy(self.states, self.size, self.speed, self._first)
        self._powers = self._switched(model.seed, later, failures)

    def _switched(self, seed: int, later: list[Changes], failures: int) -> list[Power | None]:
        """Return what is done to the machines of each cluster; None where they stay on."""
        seeds = Seeds(seed)
        made: list[Power | None] = []
        for site, changes, first in zip(self.sites, later, self._first, strict=False):
            if site.capacity is None and not site.is_out:
                made.append(None)
                continue
            states = self.states[first : first + site.count]
            draws = np.empty(0)
            if site.removes == "random":
                # A machine that leaves takes a draw, and can leave again once it has come again.
                on = int((states == OPEN).sum())
                comes = int(np.diff(changes.machines, prepend=on).clip(0).sum())
                draws = stream(seeds.of("capacity", site.name), "capacity", "removed").random(on + 2 * comes + 1)
            law_seed = seed if site.failures is None else seeds.of("failures", site.name)
            asleep = _sleep(site, states, self.begin_s)
            outages = _outages(site, self.begin_s, law_seed, failures, asleep)
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
    ) -> tuple[bool, float]:
        """Run one that decides; parameters and result as for `simmodels.replay.loop.run`."""
        powers = np.array([0 if power is None else address_of(power) for power in self._powers], np.int64)
        numbers = np.empty(0, np.int64) if arrivals is None else arrivals
        of = (queue, auction, placer, self._occupancy, runs, self.states, self.size, self.speed, powers)
        made: tuple[bool, float] = run(*of, submit_s, numbers, warm, kill, self.begin_s, self.last_s, until_s)
        self.stuck, self.repairs = stuck_slots(runs), int(idle_repairs(runs))
        return made

    @property
    def failed_too_often(self) -> bool:
        """Return whether a machine would have failed more often than was drawn."""
        return any(power is not None and failed_too_often(power) for power in self._powers)

    def recorded(self, runs: Runs, submit_s: Floats | None = None) -> Recorded:
        """Return what was recorded; what starts together is in order of `submit_s` (by slot), then of slots."""
        (slot, machine, start_s, end_s, work_s, warned_s, outcome), (off, off_from_s, off_to_s) = record(runs)
        came = np.zeros(len(slot)) if submit_s is None else submit_s[slot]
        order = np.lexsort((slot, came, start_s))
        (cluster, machine), (of_off, off) = (self._by_cluster(each) for each in (machine[order], off))
        attempts = {"start_s": start_s[order], "end_s": end_s[order], "outcome": outcome[order]}
        if len(self.sites) > 1:
            attempts["cluster"] = cluster
        attempts |= {"machine": machine, "work_s": work_s[order], **unexpected(warned_s=warned_s[order])}
        number, first, machines, cores = (np.empty(0, np.int64),) * 4
        if self._occupancy is not None:
            number, first, machines, cores = parts_of(self._occupancy)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        parts = (place[number], self._by_cluster(first)[1], machines, cores)
        return Recorded(slot[order], attempts, (of_off, off, off_from_s, off_to_s), parts)

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
    later = capacity.time_s > begin_s
    time_s, notice_s = capacity.time_s[later], capacity.notice_s[later]
    modes = [MODES[each] for each, kept in zip(capacity.mode, later, strict=True) if kept]
    noticed = np.flatnonzero(notice_s > 0)
    notices = noticed[np.argsort((time_s - notice_s)[noticed], kind="stable")]
    return Changes(time_s, capacity.machines[later], notice_s, np.array(modes, np.int64), notices)


def _sleep(site: Site, states: Ints, begin_s: float) -> Sleep:
    """Return which machines of a site sleep, in what states they are."""
    policy = site.sleep
    how = (math.inf, 0.0, 0) if policy is None else (policy.after_s, policy.boot_s, policy.awake)
    made: Sleep = new_sleep(*how, states, begin_s)
    return made


def _outages(site: Site, begin_s: float, seed: int, failures: int, asleep: Sleep) -> Outages:
    """Return what holds the machines of a site off beside its capacity; parameters as for `Platform`."""
    law, windows, machines = site.failures, site.maintenance, site.count
    life, repair_s = np.empty((0, 0)), 0.0
    if law is not None:
        draws = [stream(seed, "failures", machine).weibull(law.shape, failures) for machine in range(machines)]
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
    made: Outages = new_outages(life, repair_s, planned, asleep, begin_s)
    return made
