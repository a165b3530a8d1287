"""A model on machines, and an auction on pools of cores, on the compiled engine."""

import math
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd

from simmodels.clusters.cluster_spec import Terms
from simmodels.clusters.outages import lost_too_often, waits_too_long
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.streams import stream
from simmodels.model import Model
from simmodels.passes.auction_events import add_free, all_waiting, export_results, refused_task
from simmodels.passes.switching import OPEN
from simmodels.policies.auction_options import AuctionOptions, Kinds, WorkflowColumns, open_auction, raise_refused_bid
from simmodels.policies.placement_options import PLACED, PlacementOptions
from simmodels.policies.queue_options import QueueOptions, raise_refused
from simmodels.policies.rows import Rows
from simmodels.replay.auction_loop import run_auction
from simmodels.replay.platform import Platform, Recorded
from simmodels.replay.runs import Runs, fill_lengths, undone_slots
from simmodels.results.attempts import numbered, unexpected
from simmodels.results.auction_results import workflow_outcomes
from simmodels.results.schedule import UNFINISHED, Schedule
from simmodels.structures.placement_state import job_columns, mean_machines_used, refused
from simmodels.structures.queue_state import refused as refused_by_queue
from simmodels.work.window import Windowed, run_on, windowed

_FAILURES: Final = 16
"""Of how many failures of a machine the times are drawn at first."""


class _Replay(Protocol):
    """A model that is run once."""

    rows: Ints
    """The row of each slot."""

    def run(self) -> tuple[bool, float]:
        """Return whether each job had a number, and the last instant."""

    def refuse(self) -> None:
        """Raise the error of the job that had none."""

    def waiting(self) -> Ints:
        """Return the rows of what waits, if nothing runs and nothing is to come."""

    def schedule(self, last_s: float) -> Schedule:
        """Return the schedule of what ran up to the last instant."""


class _Rigid:
    """The rigid jobs of a model on one cluster, by slot: first those that run when its window begins.

    Parameters
    ----------
    model, platform
        The model, and its machines.
    jobs
        Their rows.
    """

    def __init__(self, model: Model, platform: Platform, jobs: Windowed) -> None:
        self.model, self.platform = model, platform
        self.warm, self.arriving = len(jobs.warm), jobs.arriving
        self.rows = rows = np.concatenate(jobs)
        self.submit_s = model.work.submit_s[rows]
        earlier_s = np.zeros(len(rows))
        earlier_s[: self.warm] = model.begin_s - self.submit_s[: self.warm]
        self.runs: Runs = platform.runs(model.work.runtime_s[rows], model.work.estimate_s[rows], earlier_s)
        self._earlier_s = earlier_s.copy()  # the record forgets what was lost

    def drawn(self, *, asked: bool) -> Floats:
        """Return a uniform number for each slot, if an order asks for it."""
        return stream(self.model.seed, "order", "draw").random(len(self.rows)) if asked else np.empty(0)

    def waiting(self) -> Ints:
        """Return the rows of the jobs that wait, if none runs and none is to come."""
        found: Ints = self.rows[undone_slots(self.runs)]
        return found

    def end_s(self, found: Recorded, last_s: float) -> float:
        """Return when the window ends, in seconds; `last_s` is the last instant that happened."""
        model, platform = self.model, self.platform
        if model.end_s < math.inf:
            return model.end_s
        done_s = max(float(np.nanmax(found.attempts["end_s"], initial=model.begin_s)), model.begin_s)
        came = np.arange(len(self.rows)) >= self.warm
        came[found.slot] = True
        if (found.attempts["outcome"] != UNFINISHED).sum() == came.sum():
            return done_s
        # Some wait while machines are off.
        return max(done_s, float(self.submit_s.max()), last_s if platform.is_out else platform.last_s)

    def made(
        self, found: Recorded, end_s: float, terms: Terms, about: dict[str, object], parts: pd.DataFrame | None = None
    ) -> Schedule:
        """Return the schedule of what was recorded; `parts` are those of attempts on several machines."""
        work, slot = self.model.work, found.slot
        counted = np.zeros(len(work), np.bool_)
        counted[self.arriving] = True
        counted[self.rows[slot]] = True
        left_out = len(work) - int(counted.sum())
        if isinstance(self.model.options, QueueOptions):
            first = self.rows[: self.model.options.warm_jobs]
            counted[first[np.isin(first, self.rows[slot])]] = False
        ran_before = (slot < self.warm) & (numbered(slot) == 1)
        earlier_s = np.where(ran_before, self._earlier_s[slot], 0.0)
        return Schedule.from_attempts(
            work,
            [self.platform.sites[0].spec],
            self.rows[slot],
            found.attempts | unexpected(earlier_s=earlier_s),
            off=found.off,
            window=(self.model.begin_s, end_s),
            counted=counted,
            terms=terms,
            about={**about, "engine": "compiled", "seed": self.model.seed, "left_out": left_out},
            parts=parts,
        )


class _Queue(_Rigid):
    """A queue."""

    def __init__(self, model: Model, options: QueueOptions, platform: Platform) -> None:
        jobs = windowed(model.work, (model.begin_s, model.end_s))
        self.options, self.kill = options, options.overrun == "kill"
        free = int(platform.free[0])
        ran = [model.work.job(row) for row in jobs.warm.tolist()]
        runs = np.array(run_on(ran, model.begin_s, free=free, kill=self.kill), np.bool_)
        super().__init__(model, platform, jobs._replace(warm=jobs.warm[runs]))
        submit_s, lengths = self.submit_s.copy(), np.empty((2, len(self.rows)))
        submit_s[: self.warm] = model.begin_s
        fill_lengths(self.runs, *lengths, platform.speed.min())
        associations = options.associations(len(self.rows))
        if associations is not None:
            associations.fill_all(model.work.user_id[self.rows])
        of_orders = options.rows(len(self.rows), associations)
        of_orders.fill_all(model.work, self.rows)
        columns = (submit_s, *lengths, model.work.cores[self.rows].copy())
        parties = options.parties(len(self.rows))
        if parties is not None:
            parties.fill_all(model.work, self.rows)
        drawn = self.drawn(asked=options.draws)
        self.state = options.open(columns, free=free, draw=drawn, rows=of_orders, parties=parties)
        self._submit_s = submit_s

    def run(self) -> tuple[bool, float]:
        """Run it."""
        return self.platform.run(
            self.runs,
            queue=self.state,
            submit_s=self._submit_s,
            warm=self.warm,
            kill=self.kill,
            until_s=self.model.end_s,
        )

    def refuse(self) -> None:
        """Raise the error of the job for which an order gave no number."""
        slot, now = refused_by_queue(self.state)
        job = self.model.work.job(int(self.rows[slot]))
        raise_refused(job, now, self.options.order, self.options.backfill_order)

    def schedule(self, last_s: float) -> Schedule:
        """Return the schedule."""
        found = self.platform.recorded(self.runs)
        terms = Terms(overrun=self.options.overrun, modelled=True, limits=self.options.limits)
        parts = _spread(self.rows[found.slot], found)
        return self.made(found, self.end_s(found, last_s), terms, self.options.about(), parts)


class _Placer(_Rigid):
    """Jobs inside one machine each."""

    def __init__(self, model: Model, options: PlacementOptions, platform: Platform) -> None:
        super().__init__(model, platform, windowed(model.work, (model.begin_s, model.end_s)))
        self.options, work, rows = options, model.work, self.rows
        of_order = Rows((options.order_of_queue.columns, ()), len(rows))
        of_order.fill_all(work, rows)
        self.state = options.open(
            (self.submit_s, work.runtime_s[rows], work.estimate_s[rows]),
            work.cores[rows],
            known=(self.drawn(asked=options.order_of_queue.draws), of_order.matrices[0]),
            size=platform.sites[0].spec.cores_per_machine,
            is_open=(platform.states == OPEN).tolist(),
            least=platform.least,
            now=model.begin_s,
            seed=model.seed,
        )
        fill_lengths(self.runs, *job_columns(self.state)[2:4], platform.speed.min())

    def run(self) -> tuple[bool, float]:
        """Run it."""
        return self.platform.run(
            self.runs, placer=self.state, submit_s=self.submit_s, warm=self.warm, until_s=self.model.end_s
        )

    def refuse(self) -> None:
        """Raise the error of the job for which the order gave no number."""
        slot, now = refused(self.state)
        raise_refused(self.model.work.job(int(self.rows[slot])), now, self.options.order_of_queue, None)

    def schedule(self, last_s: float) -> Schedule:
        """Return the schedule."""
        found = self.platform.recorded(self.runs)
        begin_s, end_s = self.model.begin_s, self.end_s(found, last_s)
        about = self.options.about()
        if self.options.heuristic != "FirstFit" and end_s > begin_s:
            about["mean_machines_used"] = float(mean_machines_used(self.state, begin_s, end_s))
        return self.made(found, end_s, PLACED, about)


class _Auction:
    """An auction that knows all workflows of a model."""

    def __init__(self, model: Model, options: AuctionOptions, platform: Platform) -> None:
        self.model, self.options, self.platform = model, options, platform
        work = model.work
        self.rows: Ints = np.arange(len(work))
        kinds = Kinds([(site.size, site.kind) for site in platform.sites])
        self.state = open_auction(options, kinds, seed=model.seed)
        self.known = WorkflowColumns(work.workflows, options, kinds)
        self.known.into(self.state)
        for cluster, site in enumerate(platform.sites):
            add_free(self.state, cluster, int(platform.free[cluster]) - site.size)
        self.runs: Runs | None = None

    def run(self) -> tuple[bool, float]:
        """Run it."""
        submit_s = np.array([workflow.submit_s for workflow in self.model.work.workflows], np.float64)
        order = np.argsort(submit_s, kind="stable")
        until_s = float(submit_s.max(initial=-np.inf)) if self.options.end == "submit" else np.inf
        if not self.model.on_machines:
            return run_auction(self.state, order, submit_s[order], until_s), until_s
        work = self.model.work
        runs = self.runs = self.platform.runs(work.runtime_s, work.runtime_s, np.zeros(len(work)))
        return self.platform.run(runs, auction=self.state, submit_s=submit_s[order], arrivals=order, until_s=until_s)

    def refuse(self) -> None:
        """Raise the error of the task for which the bid gave no number."""
        task, now = refused_task(self.state)
        job = int(np.searchsorted(self.known.first_task, task, side="right")) - 1
        workflow = self.model.work.workflows[job]
        label = workflow.label(int(task - self.known.first_task[job]))
        raise_refused_bid(self.options.bid, workflow.job_id, label, now)

    def waiting(self) -> Ints:
        """Return the rows of the tasks that wait for an auction."""
        found: Ints = all_waiting(self.state)
        return found

    def schedule(self, last_s: float) -> Schedule:
        """Return the schedule, which knows machines if a cluster of the model has some."""
        model, work = self.model, self.model.work
        start_s, end_s, cluster, price, _ = export_results(self.state)
        specs = [site.spec for site in model.sites]
        about = {**self.options.about(), "engine": "compiled", "seed": model.seed}
        kept: dict[str, Any] = {
            "workflow_outcome": workflow_outcomes(self.state),
            "critical_path_s": self.known.critical_path_s,
            "price": price if self.options.prices else None,
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
        found = self.platform.recorded(self.runs, work.submit_s)
        return Schedule.from_attempts(
            work,
            specs,
            found.slot,
            found.attempts,
            off=found.off,
            window=(model.begin_s, last_s),
            terms=self.options.terms(modelled=True),
            about={**about, "left_out": 0},
            parts=_spread(found.slot, found),
            **kept,
        )


def replay_on_machines(model: Model) -> Schedule:
    """Return the schedule of a model that has machines, or of an auction.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the platform.
    RequestError
        An order or a bid gave no number for a job or task; what a Python function raised is raised again.
    StoppedError
        A job was lost too often in a row, or machines were repaired too often while all waited.
    """
    failures = _FAILURES
    while True:
        platform = Platform(model, failures)
        replay = _replay(model, platform)
        fine, last_s = replay.run()
        if not platform.failed_too_often:
            break
        failures *= 2
    if not fine:
        replay.refuse()
    slots, times = platform.stuck
    if len(slots):
        raise lost_too_often(int(model.work.job_id[replay.rows[slots]].min()), times, last_s)
    if platform.repairs:
        jobs = ((int(model.work.job_id[row]), int(model.work.cores[row])) for row in replay.waiting())
        raise waits_too_long([*jobs], platform.repairs, last_s)
    return replay.schedule(last_s)


def _replay(model: Model, platform: Platform) -> _Replay:
    """Return what runs a model."""
    if isinstance(model.options, AuctionOptions):
        return _Auction(model, model.options, platform)
    if isinstance(model.options, PlacementOptions):
        return _Placer(model, model.options, platform)
    return _Queue(model, model.options, platform)


def _spread(rows: Ints, found: Recorded) -> pd.DataFrame:
    """Return the parts of the attempts that have several machines; `rows` are int64[k], those of the attempts."""
    place, machine, machines, cores = found.parts
    columns = {"row": rows[place], "attempt": numbered(rows)[place], "machine": machine}
    return pd.DataFrame({**columns, "machines": machines, "cores": cores}, copy=False)
