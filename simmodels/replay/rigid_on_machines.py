"""Rigid jobs on the machines of one cluster, on the compiled engine: in a queue, or under a placer."""

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from simmodels.clusters.cluster_spec import Terms
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.streams import stream
from simmodels.model import Model
from simmodels.passes.queue_transfer import carry_on
from simmodels.passes.switching import OPEN
from simmodels.policies.associations import Associations
from simmodels.policies.placement_options import PLACED, PlacementOptions
from simmodels.policies.queue_options import QueueOptions, raise_refused
from simmodels.policies.rows import Rows
from simmodels.replay.platform import Recorded
from simmodels.replay.run_on_machines import ReplayOnMachines
from simmodels.replay.runs import Runs, carry_on_runs, fill_lengths, running, undone_slots
from simmodels.results.attempts import numbered, unexpected
from simmodels.results.schedule import UNFINISHED, Schedule
from simmodels.structures.placement_state import mean_machines_used
from simmodels.structures.queue_state import QueueState, set_draw, warm_left
from simmodels.structures.structure import copy_of
from simmodels.work.window import Windowed, run_on, windowed
from simmodels.work.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


class _Rigid(ReplayOnMachines):
    """The rigid jobs of a model on one cluster, by slot: first those that run when its window begins."""

    warm_jobs = 0  # how many jobs, the first ones, are not counted

    def _have(self, jobs: Windowed) -> None:
        """Have the jobs of these rows, of which nothing is recorded yet."""
        self.take(jobs, np.zeros(len(jobs.warm) + len(jobs.arriving)))
        self._earlier_s[: self.warm] = self.begin_s - self.submit_s[: self.warm]
        self.runs = self.new_runs()

    def take(self, jobs: Windowed, earlier_s: Floats) -> None:
        """Have other jobs; `earlier_s` is by slot."""
        self.warm, self.arriving = len(jobs.warm), jobs.arriving
        self.rows: Ints = np.concatenate(jobs)
        self.submit_s: Floats = self.work.submit_s[self.rows]
        self._earlier_s = earlier_s  # how long each ran before the window; the record forgets what was lost

    def new_runs(self) -> Runs:
        """Return an empty record of the jobs."""
        whole_s, estimate_s = self.work.runtime_s[self.rows], self.work.estimate_s[self.rows]
        return self.platform.runs(whole_s, estimate_s, self._earlier_s.copy())

    def drawn(self, *, asked: bool) -> Floats:
        """Return a uniform number for each slot, if an order asks for it."""
        return stream(self.model.seed, "order", "draw").random(len(self.rows)) if asked else np.empty(0)

    def _waiting(self) -> Ints:
        """Return the rows of the jobs that wait, if none runs and none is to come."""
        found: Ints = self.rows[undone_slots(self.runs)]
        return found

    def present(self) -> Ints:
        """Return int64[k], the slots that wait or run, increasing."""
        found: Ints = undone_slots(self.runs)
        return found[found < self.platform.came]

    def coming(self) -> Ints:
        """Return int64[k], the slots that are still to come, increasing."""
        return np.arange(self.platform.came, len(self.rows))

    def running_s(self) -> tuple[Floats, Floats]:
        """Return float64[slots] twice, when those that run began, and when they end; NaN for the others."""
        found: tuple[Floats, Floats] = running(self.runs, len(self.rows))
        return found

    def _end_s(self, found: Recorded, until_s: float) -> float:
        """Return when the window ends, in seconds; `until_s` is until when it happened, infinity for to the end."""
        platform, begin_s = self.platform, self.begin_s
        if until_s < math.inf:
            return until_s
        done_s = max(float(np.nanmax(found.attempts["end_s"], initial=begin_s)), begin_s)
        # Jobs that ran before, and were dropped, are not waited for.
        came = np.arange(len(self.rows)) >= self.warm
        came[found.slot] = True
        if (found.attempts["outcome"] != UNFINISHED).sum() == came.sum():
            return done_s
        # Some wait while machines are off.
        return max(done_s, float(self.submit_s.max()), platform.now_s if platform.is_out else platform.last_s)

    def _made(
        self,
        found: Recorded,
        end_s: float,
        terms: Terms,
        about: dict[str, object],
        parts: "Callable[[], pd.DataFrame] | None" = None,
    ) -> Schedule:
        """Return the schedule of what was recorded; `parts` makes those of attempts on several machines."""
        work, slot = self.work, found.slot
        counted = np.zeros(len(work), np.bool_)
        counted[self.arriving] = True
        counted[self.rows[slot]] = True
        left_out = len(work) - int(counted.sum())
        # Of the warm jobs, those that have started do not count.
        first = self.rows[: self.warm_jobs]
        counted[first[np.isin(first, self.rows[slot])]] = False
        ran_before = (slot < self.warm) & (numbered(slot) == 1)
        earlier_s = np.where(ran_before, self._earlier_s[slot], 0.0)
        return Schedule.from_attempts(
            work,
            [self.platform.sites[0].spec],
            self.rows[slot],
            found.attempts | unexpected(earlier_s=earlier_s),
            off=found.off,
            window=(self.begin_s, end_s),
            counted=counted,
            terms=terms,
            about={**about, "engine": "compiled", "seed": self.model.seed, "left_out": left_out},
            parts=parts,
        )


class Queue(_Rigid):
    """A queue on the machines of a model."""

    def __init__(self, model: Model, options: QueueOptions) -> None:
        super().__init__(model)
        jobs = windowed(model.work, (model.begin_s, model.end_s))
        self.options, self._kill = options, options.overrun == "kill"
        free = int(self.platform.free[0])
        ran = [model.work.job(row) for row in jobs.warm.tolist()]
        # Which of those that ran before fit, and have not been killed: the others are left out.
        runs = np.array(run_on(ran, model.begin_s, free=free, kill=self._kill), np.bool_)
        self._have(jobs._replace(warm=jobs.warm[runs]))
        self.arrives_s: Floats = self.submit_s.copy()  # as the queue sees it
        self.arrives_s[: self.warm] = model.begin_s  # whatever their own submission was
        self.draws: Floats = self.drawn(asked=options.draws)
        self.open(free, options.associations(len(self.rows)))

    def open(self, free: int, associations: Associations | None) -> None:
        """Make the empty queue."""
        slots = len(self.rows)
        lengths = np.empty((2, slots))
        fill_lengths(self.runs, *lengths, self.platform.speed.min())
        self._associations = associations
        if associations is not None:
            associations.fill_all(self.work, self.rows)
        of_orders = self.options.rows(slots, associations)
        of_orders.fill_all(self.work, self.rows)
        columns = (self.arrives_s, *lengths, self.work.cores[self.rows].copy())
        parties = self.options.parties(slots)
        if parties is not None:
            parties.fill_all(self.work, self.rows)
        self.state: QueueState = self.options.open(columns, free=free, draw=self.draws, rows=of_orders, parties=parties)

    @property
    def warm_jobs(self) -> int:  # type: ignore[override]  # of a queue
        """How many jobs, the first ones, are not counted."""
        return self.options.warm_jobs

    def _go_on(self, stop_s: float) -> None:
        """Go on up to an instant; refuse an order that gave no number for a job."""
        fine = self.platform.run(
            self.runs,
            queue=self.state,
            submit_s=self.arrives_s,
            warm=self.warm,
            kill=self._kill,
            until_s=self.model.end_s,
            stop_s=stop_s,
        )
        if not fine:
            job = self.work.job(int(self.rows[self.state.refused]))
            raise_refused(job, self.state.refused_at, self.options.order, self.options.backfill_order)

    def carried(self, slots: Ints, jobs: Workload, later: Workload) -> Self:
        """Return another one that is where this one is; see `simmodels.replay.snapshot.Stopped`."""
        made = self._copied()
        made.options = replace(self.options, warm_jobs=int(warm_left(self.state)))
        made.work = Workload.concat([jobs, later], name=self.work.name, alike=False)
        # What waits or runs is first; the window says only which of the others come.
        coming = windowed(later, (self.begin_s, self.model.end_s)).arriving + len(jobs)
        warm = int((slots < self.warm).sum())  # slots of these are the lowest, and stay so
        rows = np.concatenate((np.arange(len(jobs)), coming))
        earlier_s, draws = np.zeros(len(rows)), self.draws
        earlier_s[: len(jobs)] = self._earlier_s[slots]
        made.take(Windowed(rows[:warm], rows[warm:]), earlier_s)
        made.arrives_s = made.submit_s.copy()
        made.arrives_s[: len(jobs)] = self.arrives_s[slots]
        if self.options.draws:
            draws = made.drawn(asked=True)
            draws[: len(jobs)] = self.draws[slots]
        made.draws = draws
        made.runs = made.new_runs()
        made.platform.keep(carry_on_runs(made.runs, self.runs, slots, self._kill), len(jobs))
        # How many cores are free, `carry_on` says.
        made.open(0, None if self._associations is None else self._associations.carried(len(rows)))
        carry_on(made.state, self.state, slots)
        return made

    def set_draws(self, draws: Floats) -> None:
        """Use other drawn numbers."""
        super().set_draws(draws)
        set_draw(self.state, draws)

    def schedule(self) -> Schedule:
        """Return the schedule as far as it has come."""
        until_s = min(self._reached_s, self.model.end_s)
        found = self.platform.recorded(self.runs, until_s)
        terms = Terms(overrun=self.options.overrun, modelled=True, limits=self.options.limits)
        parts = partial(found.parts_table, self.rows[found.slot])
        return self._made(found, self._end_s(found, until_s), terms, self.options.about(), parts)


class Placer(_Rigid):
    """Jobs inside one machine each."""

    def __init__(self, model: Model, options: PlacementOptions) -> None:
        super().__init__(model)
        self._have(windowed(model.work, (model.begin_s, model.end_s)))
        self.options, work, rows, platform = options, model.work, self.rows, self.platform
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
            may_change=False,
        )
        fill_lengths(self.runs, self.state.left, self.state.estimate, platform.speed.min())

    def _go_on(self, stop_s: float) -> None:
        """Go on up to an instant; refuse an order that gave no number for a job."""
        fine = self.platform.run(
            self.runs,
            placer=self.state,
            submit_s=self.submit_s,
            warm=self.warm,
            until_s=self.model.end_s,
            stop_s=stop_s,
        )
        if not fine:
            job = self.work.job(int(self.rows[self.state.refused]))
            raise_refused(job, self.state.refused_at, self.options.order_of_queue, None)

    def _copied(self) -> Self:
        """Return another one that is where this one is."""
        made = super()._copied()
        made.runs, made.state = copy_of(self.runs), copy_of(self.state)
        return made

    def schedule(self) -> Schedule:
        """Return the schedule as far as it has come."""
        until_s = min(self._reached_s, self.model.end_s)
        found = self.platform.recorded(self.runs, until_s)
        begin_s, end_s = self.begin_s, self._end_s(found, until_s)
        about = self.options.about()
        if self.options.heuristic != "FirstFit" and end_s > begin_s:
            about["mean_machines_used"] = float(mean_machines_used(self.state, begin_s, end_s))
        return self._made(found, end_s, PLACED, about)
