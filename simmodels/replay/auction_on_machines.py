"""An auction on the compiled engine, on pools of cores or on machines."""

import math
from functools import partial
from typing import Any, Self

import numpy as np

from simmodels.clusters.checkpoints import checkpoint_numbers
from simmodels.ground.numbers import Floats, Ints
from simmodels.model import Model
from simmodels.passes.auction_events import add_free, all_waiting
from simmodels.policies.auction_options import AuctionOptions, Kinds, WorkflowColumns, open_auction, raise_refused_bid
from simmodels.replay.auction_loop import run_auction
from simmodels.replay.queue_loop import new_loop
from simmodels.replay.run_on_machines import ReplayOnMachines
from simmodels.results.auction_results import workflow_outcomes
from simmodels.results.schedule import Schedule
from simmodels.structures.structure import copy_of


class Auction(ReplayOnMachines):
    """An auction that knows all workflows of a model; a slot is a task.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the platform.
    """

    def __init__(self, model: Model, options: AuctionOptions) -> None:
        super().__init__(model)
        self.options, work, platform = options, model.work, self.platform
        self.rows: Ints = np.arange(len(work))
        kinds = Kinds([(site.size, site.kind) for site in platform.sites])
        speeds = [min(site.spec.speeds, default=1.0) for site in platform.sites]
        self.state = open_auction(options, kinds, speeds=speeds, seed=model.seed)
        self.state.interval[:], self.state.cost[:], _ = checkpoint_numbers(platform.sites[0].checkpoints)
        self.known = WorkflowColumns(work.workflows, options, kinds)
        self.known.into(self.state)
        # The auction knows all cores of a cluster; those of machines that are off at the begin are taken away.
        for cluster, site in enumerate(platform.sites):
            add_free(self.state, cluster, int(platform.free[cluster]) - site.size)
        self.submit_s: Floats = work.submit_s
        arrives_s = np.array([workflow.submit_s for workflow in work.workflows], np.float64)
        self._order = np.argsort(arrives_s, kind="stable")
        self._arrives_s = arrives_s[self._order]
        self._until_s = float(arrives_s.max(initial=-math.inf)) if options.end == "submit" else math.inf
        self.loop = new_loop(0, by_event=False)  # on pools; on machines the platform has its own
        # An auction knows runtimes exactly: they are the estimates, too.
        recorded = work.runtime_s, work.runtime_s, np.zeros(len(work))
        self.runs = platform.runs(*recorded) if model.on_machines else None

    def _go_on(self, stop_s: float) -> None:
        """Go on up to an instant; refuse a bid that gave no number for a task."""
        order, arrives_s, until_s = self._order, self._arrives_s, self._until_s
        if self.runs is None:
            fine = run_auction(self.state, self.loop, order, arrives_s, until_s, stop_s)
        else:
            fine = self.platform.run(
                self.runs, auction=self.state, submit_s=arrives_s, arrivals=order, until_s=until_s, stop_s=stop_s
            )
        if not fine:
            task = self.state.refused
            # Tasks are numbered workflow by workflow.
            job = int(np.searchsorted(self.known.first_task, task, side="right")) - 1
            workflow = self.work.workflows[job]
            label = workflow.label(int(task - self.known.first_task[job]))
            raise_refused_bid(self.options.bid, workflow.job_id, label, self.state.refused_at)

    def _waiting(self) -> Ints:
        """Return the rows of the tasks that wait for an auction."""
        found: Ints = all_waiting(self.state)
        return found

    def present(self) -> Ints:
        """Return int64[k], the tasks that have not ended of workflows that have come and are not over, increasing."""
        goes_on = np.isnan(self.state.finish[: self.state.jobs])
        goes_on[self._order[self._came :]] = False  # these are still to come
        return np.flatnonzero(np.repeat(goes_on, self._tasks) & np.isnan(self._by_task("end")))

    def coming(self) -> Ints:
        """Return int64[k], the tasks of workflows that are still to come, increasing."""
        comes = np.zeros(len(self._order), np.bool_)
        comes[self._order[self._came :]] = True
        return np.flatnonzero(np.repeat(comes, self._tasks))

    @property
    def _came(self) -> int:
        """How many workflows have come."""
        return int(self.loop.coming) if self.runs is None else self.platform.came

    @property
    def _tasks(self) -> Ints:
        """How many tasks each workflow has."""
        return np.diff(self.known.first_task)

    def _by_task(self, column: str) -> Any:  # noqa: ANN401  float64 or int64[tasks]
        """Return a column of the state by task (a copy)."""
        return getattr(self.state, column)[: self.state.tasks].copy()

    def running_s(self) -> tuple[Floats, Floats]:
        """Return float64[tasks] twice, when those that run began, and when they end; NaN for the others."""
        start_s, end_s = self._by_task("start"), self._by_task("end")
        start_s[~np.isnan(end_s)] = np.nan  # what has ended does not run
        return start_s, self._by_task("until")

    def _copied(self) -> Self:
        """Return another one that is where this one is."""
        made = super()._copied()
        made.state, made.loop = copy_of(self.state), copy_of(self.loop)
        made.runs = None if self.runs is None else copy_of(self.runs)
        return made

    def schedule(self) -> Schedule:
        """Return the schedule as far as it has come, which knows machines if a cluster of the model has some."""
        model, work, until_s = self.model, self.work, self._reached_s
        start_s, end_s, cluster = (self._by_task(each) for each in ("start", "end", "cluster"))
        specs = [site.spec for site in model.sites]
        about = {**self.options.about(), "engine": "compiled", "seed": model.seed}
        kept: dict[str, Any] = {
            "workflow_outcome": workflow_outcomes(self.state),
            "critical_path_s": self.known.critical_path_s,
            "price": self._by_task("price") if self.options.prices else None,
        }
        if self.runs is None:
            return Schedule(
                work,
                sum(spec.cores for spec in specs),
                start_s,
                end_s,
                executed_s=end_s - start_s,
                clusters=specs,
                cluster=cluster,
                terms=self.options.terms(),
                about=about,
                **kept,
            )
        found = self.platform.recorded(self.runs, min(until_s, self._until_s), work.submit_s)
        return Schedule.from_attempts(
            work,
            specs,
            found.slot,
            found.attempts,
            off=found.off,
            window=(model.begin_s, until_s if until_s < math.inf else self.platform.now_s),
            terms=self.options.terms(modelled=True),
            about={**about, "left_out": 0},
            parts=partial(found.parts_table, found.slot),
            **kept,
        )
