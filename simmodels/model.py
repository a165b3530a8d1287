"""Model: work on sites, and how it is scheduled there, as a description that both engines read."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np

from simmodels.clusters.limits import Limits, numbers_of
from simmodels.clusters.outages import MAX_REQUEUES, as_max_requeues
from simmodels.clusters.site import Site
from simmodels.errors import ImpossibleJobError, RequestError, must_be
from simmodels.ground.arguments import listed
from simmodels.ground.durations import as_window
from simmodels.ground.numbers import Ints
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.parties import startable
from simmodels.policies.placement_options import PlacementOptions, require_lengths
from simmodels.policies.queue_options import QueueOptions
from simmodels.work.card import counted
from simmodels.work.window import windowed
from simmodels.work.workload import Workload

SchedulerOptions = QueueOptions | PlacementOptions | AuctionOptions
RouterName = Literal["RoundRobin", "LeastLoaded", "EarliestStart", "ByPartition", "ByQueue"]
LANES: Final[Mapping[object, str]] = {"ByPartition": "partition", "ByQueue": "queue"}
"""The column by which a router sends jobs to the cluster of that name."""

_KINDS: Final = {QueueOptions: "a queue", PlacementOptions: "a placer", AuctionOptions: "an auction"}


@dataclass(frozen=True, slots=True)
class Model:
    """What is to be simulated.

    Parameters
    ----------
    work
        The jobs, and the tasks of workflows.
    sites
        Where they run.
    options
        How: in a queue, by a placer or by an auction. Behind a router, each site has such a queue or placer.
    router
        What sends jobs to several queues or placers: a name, or the rules of an auction with ``forward=True``.
    rebalance_s
        As in `simmodels.Auctioneer`, of such an auction.
    window_s
        From when to when, the end included; None for all of it.
    seed
        Of what is drawn.
    travel
        How the data of workflows travel before a router that has a name, as in `simmodels.Dependencies`.
    max_requeues
        As in `simmodels.all_done`, of a model that runs until all is done.
    """

    work: Workload
    sites: tuple[Site, ...]
    options: SchedulerOptions
    router: RouterName | AuctionOptions | None = None
    rebalance_s: float | None = None
    window_s: tuple[float, float] | None = None
    seed: int = 0
    travel: Mapping[str, Any] = field(default_factory=dict)
    max_requeues: int | None = MAX_REQUEUES

    def __post_init__(self) -> None:
        """Refuse parts that do not go together."""
        as_max_requeues(self.max_requeues)
        what, sites = _KINDS[type(self.options)], self.sites
        names = [site.name for site in sites]
        if len(set(names)) < len(names):
            what = f"two of the clusters {', '.join(names)} have the same name"
            raise RequestError(what, "give each a name of its own")
        auction = isinstance(self.options, AuctionOptions)
        if not auction and self.router is None and len(sites) != 1:
            raise RequestError(f"{what} on {len(sites)} clusters", "give one cluster, or a router before several")
        if self.rebalance_s is not None and not isinstance(self.router, AuctionOptions):
            what = "rebalance_s without an auction that forwards"
            raise RequestError(what, "add a bid and forward=True, or leave rebalance_s out")
        if isinstance(self.options, PlacementOptions):
            for site in sites:
                if site.machines is None:
                    raise RequestError(
                        f"{what} needs machines, and cluster {site.name!r} has none", "give cores_per_machine"
                    )
                self.options.require_cluster(site.spec, as_logged=not site.spec.speeds)
        object.__setattr__(self, "options", self.options.for_jobs(self.work))
        if self.window_s is not None:
            object.__setattr__(self, "window_s", as_window("window_s", self.window_s))
        if self.window_s is not None and (auction or self.router is not None or not self.work.is_rigid):
            raise RequestError(f"the window {self.window_s}", "give it for one scheduler of rigid jobs")
        # A pool in a window, or at another speed than 1, is one machine of all its cores.
        pools = [site.as_machines() if self.window_s is not None or site.speed != 1.0 else site for site in sites]
        object.__setattr__(self, "sites", tuple(pools))
        for site in pools:
            _require_to_come(site, self)

    @property
    def site(self) -> Site:
        """Return its only site."""
        (site,) = self.sites
        return site

    @property
    def lane_column(self) -> str | None:
        """Return the column by which its router sends jobs to the cluster of that name; None if it has another rule."""
        return LANES.get(self.router) if isinstance(self.router, str) else None

    @property
    def lanes(self) -> Ints:
        """Return int64[n], the number of the site of each job by that column; -1 where none has the name."""
        column = str(self.lane_column)
        known = self.work.numbers.get(column)
        if known is None or not self.work.is_rigid:
            what = f"{self.router} goes by {column}, of which the workload has no numbers"
            raise RequestError(what, f"it has {listed(self.work.numbers)}" if self.work.numbers else "")
        values, of = np.unique(np.where(np.isfinite(known), known, -1).astype(np.int64), return_inverse=True)
        numbers = {site.name: number for number, site in enumerate(self.sites)}
        found: Ints = np.array([numbers.get(str(value), -1) for value in values.tolist()], np.int64)[of]
        return found

    @property
    def lane_limits(self) -> Limits | None:
        """Return limits by which its lanes share a machine, each up to its own cores; None if no job has one."""
        self._require_lanes()
        column, known = str(self.lane_column), self.work.known()
        values, first = np.unique(numbers_of(self.work.numbers, column)[known], return_index=True)
        lanes = sorted(zip(self.lanes[known][first].tolist(), values.tolist(), strict=True))
        sizes = {value: {"cores": self.sites[lane].size} for lane, value in lanes if value >= 0}
        return Limits.by_value(column, sizes) if sizes else None

    def on_one_machine(self, cores: int) -> "Model":
        """Return the model of one queue in which its lanes share a machine, if they have more cores than that together.

        Raises
        ------
        RequestError, ImpossibleJobError
            They are no queues of pools; or a job has no lane, one that limits do not count, or is too wide for its.
        """
        machine = Site(cores=cores)
        if sum(site.size for site in self.sites) <= machine.size:
            return self
        pools = all(site == Site(name=site.name, cores=site.size) for site in self.sites)
        if not pools or not isinstance(self.options, QueueOptions):
            raise RequestError(f"clusters that share {cores} cores", "let each be a queue of a pool: name and cores")
        limits, mine = self.options.limits, self.lane_limits
        if (self.work.known() & (numbers_of(self.work.numbers, str(self.lane_column)) < 0)).any():
            what = f"jobs of an unknown {self.lane_column} (-1) on clusters that share {cores} cores"
            raise RequestError(what, "leave them out, or give them a number: no limit counts them")
        options = replace(self.options, limits=limits if mine is None else mine.beside(limits))
        return replace(self, sites=(machine,), options=options, router=None)

    @property
    def on_machines(self) -> bool:
        """Return whether a schedule of it knows machines."""
        return any(site.machines is not None for site in self.sites)

    @property
    def begin_s(self) -> float:
        """Return when it begins: with its window, else with the first submission."""
        if self.window_s is not None:
            return float(self.window_s[0])
        return float(self.work.submit_s.min()) if len(self.work) else 0.0

    @property
    def end_s(self) -> float:
        """Return when it ends: with its window; infinity if it runs until all is done."""
        _, end_s = (0.0, math.inf) if self.window_s is None else self.window_s
        return float(end_s)

    @property
    def ends_by_itself(self) -> bool:
        """Return whether it ends when all is done, and not at an instant that is known."""
        return self.end_s == math.inf and not (
            isinstance(self.options, AuctionOptions) and self.options.end == "submit"
        )

    def require_runnable(self) -> None:
        """Refuse rigid jobs that can never run, or cannot be distinguished on machines; the entities check tasks."""
        if isinstance(self.options, QueueOptions) and self.options.limits is not None:
            startable(self.options.limits, self.work)
        if self.lane_column is not None:
            self._require_lanes()
        if self.router is not None or isinstance(self.options, AuctionOptions) or not self.work.is_rigid:
            return
        site = self.site
        if isinstance(self.options, PlacementOptions):
            require_lengths(self.work, site.spec.cores_per_machine)
            if self.options.fill_order is not None:
                self.options.filled(site.spec.machines, self.seed)
        else:
            self.work.require_runnable(site.size)
        if self.on_machines:
            _require_own_numbers(self.work, (self.begin_s, self.end_s))

    @property
    def _apart(self) -> bool:
        """Whether its queues share nothing: neither jobs, nor machines, nor numbers that are drawn or counted."""
        options = self.options
        if self.lane_column is None or self.on_machines or not isinstance(options, QueueOptions):
            return False
        named = {name for order in options.both for name in order.needs}
        return options.decide == "instant" and named.isdisjoint({"draw", "fairshare"})

    def _require_lanes(self) -> None:
        """Refuse jobs whose cluster is missing, or too small for them."""
        lanes, known = self.lanes, self.work.known()
        lost = np.flatnonzero(known & (lanes < 0))
        if len(lost):
            column = str(self.lane_column)
            value = self.work.numbers[column][lost[0]]
            named = [f" ({name!r})" for name, number in self.work.names(column).items() if number == value]
            what = f"its {column} is {value:g}{''.join(named)}, and no cluster has that name"
            raise ImpossibleJobError(int(self.work.job_id[lost[0]]), what, len(lost) - 1)
        for number, site in enumerate(self.sites):
            self.work.take(lanes == number).require_runnable(site.size)

    @property
    def uncovered(self) -> str | None:
        """Return the part of it that no compiled engine has; None if one covers all of it."""
        if self.router is not None and not self._apart:
            name = self.router if isinstance(self.router, str) else "an auction that forwards"
            return f"{name} before {counted(len(self.sites), 'scheduler')}"
        if isinstance(self.options, AuctionOptions):
            if len({site.checkpoints for site in self.sites}) > 1:
                return "clusters with different checkpoints"
            return "rigid jobs in an auction" if self.work.rigid().any() else None
        if not self.work.is_rigid:
            return f"workflows in {_KINDS[type(self.options)]}"
        if self.router is not None:
            return None
        by_event = isinstance(self.options, QueueOptions) and self.options.decide == "event"
        return "decide='event' on machines" if by_event and self.on_machines else None


def _require_to_come(site: Site, model: Model) -> None:
    """Refuse a maintenance that begins before the simulation does."""
    for each in site.maintenance:
        if each.start_s < (begin_s := model.begin_s):
            what = f"start_s of a maintenance of cluster {site.name!r}"
            raise RequestError(must_be(what, f">= {begin_s:g}, when the simulation begins", each.start_s))


def _require_own_numbers(workload: Workload, window_s: tuple[float, float]) -> None:
    """Refuse a window with a job whose number another job has too: attempts are identified by it."""
    if (workload.job_id[1:] > workload.job_id[:-1]).all():  # as in most logs
        return
    rows = np.concatenate(windowed(workload, window_s))
    numbers, times = np.unique(workload.job_id, return_counts=True)
    bad = rows[np.isin(workload.job_id[rows], numbers[times > 1])]
    if len(bad):
        job_id = workload.job_id[bad[0]]
        raise RequestError(
            f"{np.sum(workload.job_id == job_id)} jobs have the number {job_id}", "give each a number of its own"
        )
