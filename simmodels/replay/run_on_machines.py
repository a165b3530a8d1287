"""A model on machines, and an auction on pools of cores, on the compiled engine."""

import math
from copy import copy
from typing import Self

import numpy as np

from simmodels.clusters.outages import lost_too_often, waits_too_long
from simmodels.errors import RequestError
from simmodels.ground.numbers import Floats, Ints
from simmodels.model import Model
from simmodels.policies.auction_options import AuctionOptions
from simmodels.policies.placement_options import PlacementOptions
from simmodels.replay.auction_on_machines import Auction
from simmodels.replay.platform import Platform
from simmodels.replay.rigid_on_machines import Placer, Queue
from simmodels.replay.snapshot import Snapshot, require_whole
from simmodels.results.schedule import Schedule
from simmodels.work.workload import Workload


class ReplayOnMachines:
    """A model on machines, or an auction, that can be stopped, looked at, and gone on with.

    A *slot* is a job's number in order of arrival, or a task's number.

    Parameters
    ----------
    model
        The model, of which nothing is `uncovered`.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the platform.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.seed = model, model.seed
        self.part = _part(model, Platform(model))
        self._left = False
        self._reached_s = -math.inf
        self.known: tuple[Workload, Workload] | None = None

    def run(self, until_s: float = math.inf) -> None:
        """Go on until there is nothing more to do, or up to the first instant at or after `until_s`.

        Raises
        ------
        RequestError
            An order or a bid gave no number for a job or task; what a Python function raised is raised again. Or a run
            ended with an error, or was left by Ctrl-C: there is no going on from there.
        StoppedError
            A job was lost too often in a row, or machines were repaired too often while all waited.
        """
        require_whole(left=self._left)
        part, work = self.part, self.part.work
        self._left = True
        fine = part.run(until_s)
        self._reached_s = max(self._reached_s, until_s)
        if not fine:
            part.refuse()
        platform = part.platform
        slots, times = platform.stuck
        if len(slots):
            raise lost_too_often(int(work.job_id[part.rows[slots]].min()), times, platform.now_s)
        if platform.repairs:
            jobs = ((int(work.job_id[row]), int(work.cores[row])) for row in part.waiting())
            raise waits_too_long([*jobs], platform.repairs, platform.now_s)
        self._left = False

    @property
    def submit_s(self) -> Floats:
        """When the job of each slot is submitted, in seconds."""
        return self.part.submit_s

    @property
    def end_s(self) -> Floats:
        """When the job of each slot ends that runs, if nothing comes between, in seconds; NaN for the others."""
        return self.part.running_s()[1]

    @property
    def draws(self) -> Floats:
        """A uniform number for each slot, if an order asks for it; else none."""
        return self.part.draws

    def set_draws(self, draws: Floats) -> None:
        """Use other drawn numbers."""
        if isinstance(self.part, Queue):
            self.part.set_draws(draws)

    def snapshot(self) -> Snapshot[Self]:
        """Return where the replay is, which stays so while the replay goes on."""
        require_whole(left=self._left)
        part = self.part
        slots = part.present()
        coming = part.coming()
        jobs, later = (part.work.take(part.rows[each]) for each in (slots, coming))
        if isinstance(part, Queue):
            kept = self.carried(slots, jobs, later)
            if len(part.draws):
                kept.set_draws(np.concatenate((part.draws[slots], part.draws[coming])))
        else:
            kept = self._with(part.copied())
            kept.known = jobs, later
        at_s = self._reached_s if self._reached_s > -math.inf else self.model.begin_s
        return Snapshot(at_s=at_s, jobs=jobs, start_s=part.running_s()[0][slots], later=later, _at=kept)

    def carried(self, slots: Ints, jobs: Workload, later: Workload) -> Self:
        """Return another replay that is where this one is; see `Stopped`.

        Raises
        ------
        RequestError
            These are other jobs, and not those of a queue.
        """
        part = self.part
        if isinstance(part, Queue):
            return self._with(part.carried(slots, jobs, later))
        if self.known is None or jobs is not self.known[0] or later is not self.known[1]:
            raise RequestError("other runtimes, or other jobs to come, where no queue decides", "leave them out")
        return self._with(part.copied())

    def _with(self, part: Queue | Placer | Auction) -> Self:
        """Return another replay of what may have stopped."""
        made = copy(self)
        made.part, made.known = part, None
        return made

    def schedule(self) -> Schedule:
        """Return the schedule as far as it has come."""
        return self.part.schedule(self._reached_s)


def replay_on_machines(model: Model) -> Schedule:
    """Return the schedule of a model that has machines, or of an auction; raises as `ReplayOnMachines` does."""
    replay = ReplayOnMachines(model)
    replay.run()
    return replay.schedule()


def _part(model: Model, platform: Platform) -> Queue | Placer | Auction:
    """Return what decides in a model."""
    if isinstance(model.options, AuctionOptions):
        return Auction(model, model.options, platform)
    if isinstance(model.options, PlacementOptions):
        return Placer(model, model.options, platform)
    return Queue(model, model.options, platform)
