"""A model on machines, and an auction on pools of cores, on the compiled engine."""

import math
from abc import abstractmethod
from copy import copy
from typing import Self

from simmodels.clusters.outages import lost_too_often, waits_too_long
from simmodels.errors import RequestError
from simmodels.ground.numbers import Ints
from simmodels.model import Model
from simmodels.replay.platform import Platform
from simmodels.replay.snapshot import Stopped
from simmodels.results.schedule import Schedule
from simmodels.work.workload import Workload


class ReplayOnMachines(Stopped):
    """A model on machines, or an auction, that can be stopped, looked at, and gone on with.

    Parameters
    ----------
    model
        The model, of which nothing is `uncovered`.

    Attributes
    ----------
    platform
        Its machines.
    rows
        The row of each slot.
    """

    rows: Ints

    def __init__(self, model: Model) -> None:
        self.model, self.seed, self.begin_s, self.work = model, model.seed, model.begin_s, model.work
        self.platform = Platform(model)

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
        self.require_whole()
        work, platform = self.work, self.platform
        self._left = True  # until it is known that the run came to an end
        self._go_on(until_s)
        self._reached_s = max(self._reached_s, until_s)
        slots, times = platform.stuck
        if len(slots):
            raise lost_too_often(int(work.job_id[self.rows[slots]].min()), times, platform.now_s)
        if platform.repairs:
            jobs = ((int(work.job_id[row]), int(work.cores[row])) for row in self._waiting())
            raise waits_too_long([*jobs], platform.repairs, platform.now_s)
        self._left = False

    def jobs_at(self, slots: Ints) -> Workload:
        """Return the jobs of some slots, in this order."""
        return self.work.take(self.rows[slots])

    def carried(self, slots: Ints, jobs: Workload, later: Workload) -> Self:  # noqa: ARG002  of a queue
        """Return another replay that is where this one is; see `Stopped`.

        Raises
        ------
        RequestError
            These are other jobs, and not those of a queue.
        """
        # Placers and auctions have planned with these jobs: others cannot take their place.
        if self.kept is not None and (jobs is not self.kept[0] or later is not self.kept[1]):
            raise RequestError("other runtimes, or other jobs to come, where no queue decides", "leave them out")
        return self._copied()

    def _copied(self) -> Self:
        """Return another one that is where this one is."""
        made = copy(self)
        made.platform, made.kept = self.platform.copied(), None  # columns of jobs are shared: nothing writes to them
        return made

    @abstractmethod
    def _go_on(self, stop_s: float) -> None:
        """Go on up to an instant; refuse an order, or a bid, that gave no number for a job or task."""

    @abstractmethod
    def _waiting(self) -> Ints:
        """Return the rows of the jobs, or tasks, that wait, if none runs and none is to come."""

    @abstractmethod
    def schedule(self) -> Schedule:
        """Return the schedule as far as it has come."""
