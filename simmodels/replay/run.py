"""Replay: a workload through the compiled clock."""

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import RequestError
from simmodels.passes.queueing import set_order
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions, raise_refused
from simmodels.policies.rows import Rows
from simmodels.replay.clock import new_clock, replay
from simmodels.schedule import COMPLETED, KILLED, UNFINISHED, Schedule
from simmodels.streams import stream
from simmodels.structures.queue import refused, set_draw, set_rows, waiting_slots
from simmodels.workload import Workload

_Column = TypeVar("_Column", NDArray[np.float64], NDArray[np.int8], NDArray[np.bool_])


class Replay:
    """A workload on one pool of cores, on the compiled clock, that can be stopped, looked at, and gone on with.

    A *slot* is a job's number in order of arrival, among the jobs whose cores and runtime are known.

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

    Attributes
    ----------
    columns
        submit_s, runtime_s, estimate_s (float64[slots]) and cores (int64[slots]).
    submit_s
        The first of them.
    start_s, end_s
        float64[slots], of the jobs that have started; NaN for the others. An end may lie ahead.
    """

    def __init__(self, workload: Workload, *, cores: int, options: QueueOptions, seed: int = 0) -> None:
        self.workload = workload
        self.cores = cores
        self.options = options
        self.seed = seed
        known = workload.known()
        self._rows = None  # slot -> row; None where all jobs are known and sorted, as logs should be
        if not known.all() or (np.diff(workload.submit_s) < 0).any():
            rows = np.flatnonzero(known)
            self._rows = rows[np.argsort(workload.submit_s[rows], kind="stable")]
        columns = (workload.submit_s, workload.runtime_s, workload.estimate_s, workload.cores)
        if self._rows is not None:
            columns = tuple(column[self._rows] for column in columns)  # type: ignore[assignment]
        self.columns = columns
        self.submit_s = columns[0]
        slots = len(self.submit_s)
        self._by_event = options.decide == "event"
        self._queue = options.open(columns, free=cores, draw=self._drawn(), rows=self._filled_rows(options))
        self._clock = new_clock(slots, self._by_event)
        self.start_s = np.full(slots, np.nan)
        self.end_s = np.full(slots, np.nan)
        self._changes = 0
        self._left = False

    def run(self, until_s: float = math.inf, *, slots: int | None = None) -> None:
        """Go on until there is nothing more to do, or up to the first instant at or after `until_s`.

        Parameters
        ----------
        until_s
            Seconds since the trace's zero; what happens at that instant is left for the next call.
        slots
            Only this many slots, the first ones, arrive; when these have all ended, the next call begins with an empty
            machine, whatever the instant. None for all.

        Raises
        ------
        RequestError
            An order gave no number for a job; what a Python order raised is raised again. Or a run was left by Ctrl-C,
            in the middle of an instant: there is no going on from there.
        """
        if self._left:
            raise RequestError("the replay was interrupted in the middle of an instant", "a new one is needed")
        stop = len(self.submit_s) if slots is None else slots
        kill = self.options.overrun == "kill"
        self._left = True
        fine = replay(self._queue, self._clock, self._by_event, kill, until_s, stop, self.start_s, self.end_s)
        self._left = False
        if not fine:
            slot, now = refused(self._queue)
            job = self.workload.job(slot if self._rows is None else int(self._rows[slot]))
            raise_refused(job, now, self.options.order, self.options.backfill_order)

    def set_order(self, order: str | Priority, backfill_order: str | Priority | None = None, *, now_s: float) -> None:
        """Go over to another order, from the next decision on; see `simmodels.QueueScheduler.set_order`.

        Parameters
        ----------
        order, backfill_order
            As in `simmodels.simulate`.
        now_s
            The instant, at which the replay has stopped.

        Raises
        ------
        RequestError, UnknownNameError
            No such order, or a backfill order for a backfilling that has none.
        """
        changed = self.options.with_order(order, backfill_order)
        rows = self._filled_rows(changed)
        self.options = changed
        self._changes += 1
        set_rows(self._queue, *rows.matrices)
        set_draw(self._queue, self._drawn())
        first, second = self.options.both
        set_order(
            self._queue,
            first.key_function,
            second.key_function,
            first.moving,
            second.moving,
            second is first,
            float(now_s),
        )

    def _drawn(self) -> NDArray[np.float64]:
        """Return a uniform number for each slot, if an order asks for it."""
        return stream(self.seed, "order", "draw").random(len(self.submit_s)) if self.options.draws else np.empty(0)

    def _filled_rows(self, options: QueueOptions) -> Rows:
        """Return what orders know of each slot beyond the columns of a queue."""
        rows = options.rows(len(self.submit_s))
        rows.fill_all(self.workload, slice(None) if self._rows is None else self._rows)
        return rows

    def waiting_slots(self) -> NDArray[np.int64]:
        """Return int64[waiting], the slots that wait (in the window of queue_depth), in order."""
        found: NDArray[np.int64] = waiting_slots(self._queue)
        return found

    def schedule(self) -> Schedule:
        """Return the schedule as far as it has come; a job that has not started is unfinished."""
        workload, rows, slots = self.workload, self._rows, len(self.submit_s)
        started, ended = self.start_s, self.end_s
        outcome = np.full(slots, COMPLETED, np.int8)
        if self.options.overrun == "kill":
            outcome[self.columns[2] < self.columns[1]] = KILLED
        outcome[np.isnan(ended)] = UNFINISHED
        counted = np.ones(slots, np.bool_)
        counted[: self.options.warm_jobs] = False
        about = {**self.options.about(), "engine": "compiled", "seed": self.seed, "left_out": len(workload) - slots}
        if self._changes:
            about["order_changes"] = self._changes
        if rows is not None:
            started = _by_row(started, rows, np.full(len(workload), np.nan))
            ended = _by_row(ended, rows, np.full(len(workload), np.nan))
            outcome = _by_row(outcome, rows, np.full(len(workload), UNFINISHED, np.int8))
            counted = _by_row(counted, rows, np.zeros(len(workload), np.bool_))
        return Schedule(workload, self.cores, started, ended, outcome=outcome, counted=counted, about=about)


def _by_row(by_slot: _Column, rows: NDArray[np.intp], filled: _Column) -> _Column:
    """Return a column in input order; what is in no slot stays as it was filled."""
    filled[rows] = by_slot
    return filled
