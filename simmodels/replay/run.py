"""Replay: a workload through the compiled engine."""

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import Terms
from simmodels.ground.compiled import compilable
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.streams import stream
from simmodels.passes.queue_transfer import carry_on
from simmodels.policies.associations import Associations
from simmodels.policies.parties import Parties
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions, raise_refused
from simmodels.policies.rows import Rows
from simmodels.replay.queue_loop import carry_on_loop, new_loop, replay
from simmodels.replay.snapshot import Stopped
from simmodels.results.schedule import COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.structures.queue_state import (
    OUTSIDE,
    RUNNING,
    WAITING,
    set_draw,
    waiting_slots,
    warm_left,
)
from simmodels.work.workload import Workload

_Column = TypeVar("_Column", NDArray[np.float64], NDArray[np.int8], NDArray[np.bool_])


class Replay(Stopped):
    """A workload on one pool of cores, on the compiled engine, that can be stopped, looked at, and gone on with.

    It has the jobs whose cores and runtime are known.

    Parameters
    ----------
    workload
        The jobs; each that is known must be able to run on `cores` cores.
    cores
        The size of the pool.
    options
        How the queue is scheduled.
    seed
        For orders that draw.
    associations
        Where the usage of users is, if it goes on from another replay.

    Attributes
    ----------
    columns
        submit_s, runtime_s, estimate_s (float64[slots]) and cores (int64[slots]).
    submit_s
        The first of them.
    start_s, end_s
        float64[slots], of the jobs that have started; NaN for the others. An end may lie ahead.
    draws
        float64[slots], a uniform number for each, if an order asks for it; else none.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        cores: int,
        options: QueueOptions,
        seed: int = 0,
        associations: Associations | None = None,
    ) -> None:
        self.workload = workload
        self.cores = cores
        self.options = options
        self.seed = seed
        self._rows = None  # slot -> row; None where they are the same
        if not workload.is_in_order:
            rows = np.flatnonzero(workload.known())
            self._rows = rows[np.argsort(workload.submit_s[rows], kind="stable")]  # stable: ties in input order
        columns = (workload.submit_s, workload.runtime_s, workload.estimate_s, workload.cores)
        if self._rows is not None:
            columns = tuple(column[self._rows] for column in columns)  # type: ignore[assignment]
        self.columns = columns
        self.submit_s = columns[0]
        self.begin_s = float(min([0.0, *self.submit_s[:1]]))  # they are sorted
        slots = len(self.submit_s)
        self._by_event = options.decide == "event"
        self._associations = options.associations(slots) if associations is None else associations.carried(slots)
        if self._associations is not None:
            self._associations.fill_all(workload, slice(None) if self._rows is None else self._rows)
        self._queue = options.open(
            columns, free=cores, draw=self._drawn(), rows=self._filled_rows(options), parties=self._filled_parties()
        )
        self._loop = new_loop(slots, self._by_event)
        self.start_s, self.end_s = np.full((2, slots), np.nan)
        self._changes = 0

    def run(self, until_s: float = math.inf, *, slots: int | None = None, watched: int = -1) -> None:
        """Go on until there is nothing more to do, or up to the first instant at or after `until_s`.

        Parameters
        ----------
        until_s
            Seconds since the trace's zero; what happens at that instant is left for the next call.
        slots
            Only this many slots, the first ones, arrive; when these have all ended, the next call begins with an empty
            machine, whatever the instant. None for all.
        watched
            It also stops when this slot has started. -1 for none.

        Raises
        ------
        RequestError
            An order gave no number for a job; what a Python order raised is raised again. Or a run ended with an error,
            or was left by Ctrl-C: there is no going on from there.
        """
        self.require_whole()
        if watched >= 0 and not math.isnan(self.start_s[watched]):
            return
        stop = len(self.submit_s) if slots is None else slots
        kill = self.options.overrun == "kill"
        self._left = True  # until it is known that the run came to an end
        both = self.start_s, self.end_s
        fine = replay(self._queue, self._loop, self._by_event, kill, until_s, stop, watched, *both)
        seen = watched >= 0 and not math.isnan(self.start_s[watched])
        # An instant that was only asked for counts as reached: all before it has happened.
        reached_s = until_s if math.isfinite(until_s) and not seen else -math.inf
        self._reached_s = max(self._reached_s, reached_s, self._loop.now)
        if not fine:
            slot = self._queue.refused
            job = self.workload.job(slot if self._rows is None else int(self._rows[slot]))
            raise_refused(job, self._queue.refused_at, self.options.order, self.options.backfill_order)
        self._left = False

    def present(self) -> Ints:
        """Return int64[k], the slots that wait or run, increasing."""
        return np.flatnonzero(np.isin(self._queue.phase, (WAITING, RUNNING, OUTSIDE)))

    def coming(self) -> Ints:
        """Return int64[k], the slots that are still to come, increasing."""
        return np.arange(self._loop.coming, len(self.submit_s))

    def jobs_at(self, slots: Ints) -> Workload:
        """Return the jobs of some slots, in this order."""
        return self.workload.take(slots if self._rows is None else self._rows[slots])

    def running_s(self) -> tuple[Floats, Floats]:
        """Return float64[slots] twice, when those that started did, and when they end; NaN for those that wait."""
        return self.start_s, self.end_s

    def carried(self, slots: NDArray[np.int64], jobs: Workload, later: Workload) -> "Replay":
        """Return another replay that is where this one is; see `Stopped`."""
        options = replace(self.options, warm_jobs=int(warm_left(self._queue)))
        workload = Workload.concat([jobs, later], name=self.workload.name, alike=False)
        made = Replay(workload, cores=self.cores, options=options, seed=self.seed, associations=self._associations)
        made.start_s[: len(slots)] = self.start_s[slots]
        runtime_s, estimate_s = made.columns[1][: len(slots)], made.columns[2][: len(slots)]
        # Runtimes may be others now: what runs ends by them.
        lasts_s = np.minimum(runtime_s, estimate_s) if options.overrun == "kill" else runtime_s
        made.end_s[: len(slots)] = made.start_s[: len(slots)] + lasts_s
        carry_on(made._queue, self._queue, slots)
        carry_on_loop(made._loop, self._loop, self._by_event, slots, made.end_s[: len(slots)])
        made._changes, made._reached_s = self._changes, self._reached_s
        return made

    def set_draws(self, draws: Floats) -> None:
        """Use other drawn numbers."""
        super().set_draws(draws)
        set_draw(self._queue, draws)

    def set_order(self, order: str | Priority, backfill_order: str | Priority | None = None, *, now_s: float) -> None:
        """Go over to another order at `now_s`, at which the replay has stopped, as in `QueueScheduler.reconfigure`."""
        changed = self.options.with_order(order, backfill_order)
        rows = self._filled_rows(changed)
        self.options = changed
        self._changes += 1
        changed.sort_again(self._queue, draw=self._drawn(), rows=rows, now_s=float(now_s))

    def _drawn(self) -> NDArray[np.float64]:
        """Return a uniform number for each slot, if an order asks for it."""
        if self.options.draws and not len(self.draws):
            self.draws = stream(self.seed, "order", "draw").random(len(self.submit_s))
        return self.draws if self.options.draws else np.empty(0)

    def _filled_rows(self, options: QueueOptions) -> Rows:
        """Return what orders know of each slot beyond the columns of a queue."""
        rows = options.rows(len(self.submit_s), self._associations)
        rows.fill_all(self.workload, slice(None) if self._rows is None else self._rows)
        return rows

    def _filled_parties(self) -> Parties | None:
        """Return of whom each slot is, if there are limits."""
        parties = self.options.parties(len(self.submit_s))
        if parties is not None:
            parties.fill_all(self.workload, slice(None) if self._rows is None else self._rows)
        return parties

    def waiting_slots(self) -> NDArray[np.int64]:
        """Return int64[waiting], the slots that wait (in the window of queue_depth), in order."""
        found: NDArray[np.int64] = waiting_slots(self._queue)
        return found

    def schedule(self) -> Schedule:
        """Return the schedule as far as it has come; a job that has not started is unfinished."""
        workload, rows, slots = self.workload, self._rows, len(self.submit_s)
        started, ended = self.start_s, self.end_s
        _, runtime_s, estimate_s, _ = self.columns
        kill = self.options.overrun == "kill"
        outcome, counted = outcome_and_counted(runtime_s, estimate_s, ended, kill, self.options.warm_jobs)
        about = {**self.options.about(), "engine": "compiled", "seed": self.seed, "left_out": len(workload) - slots}
        if self._changes:
            about["order_changes"] = self._changes
        # What is in no slot is unfinished, and does not count.
        if rows is not None:
            started = by_row(started, rows, np.full(len(workload), np.nan))
            ended = by_row(ended, rows, np.full(len(workload), np.nan))
            outcome = by_row(outcome, rows, np.full(len(workload), UNFINISHED, np.int8))
            counted = by_row(counted, rows, np.zeros(len(workload), np.bool_))
        terms = Terms(overrun=self.options.overrun, limits=self.options.limits)
        return Schedule(
            workload, self.cores, started, ended, outcome=outcome, counted=counted, terms=terms, about=about
        )


@compilable
def outcome_and_counted(
    runtime_s: Floats, estimate_s: Floats, end_s: Floats, kill: bool, warm: int
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return the outcome of each slot, and whether it counts in the metrics: the first `warm` slots do not."""
    outcome = np.full(len(end_s), COMPLETED, np.int8)
    if kill:
        outcome[estimate_s < runtime_s] = KILLED
    outcome[np.isnan(end_s)] = UNFINISHED
    counted = np.ones(len(end_s), np.bool_)
    counted[:warm] = False
    return outcome, counted


@compilable
def by_row(by_slot: _Column, rows: NDArray[np.intp], filled: _Column) -> _Column:
    """Return a column in input order; what is in no slot stays as it was filled."""
    filled[rows] = by_slot
    return filled
