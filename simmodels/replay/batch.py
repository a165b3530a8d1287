"""Batch: many small logs through the compiled engine in one call, without the interpreter's lock.

Nothing is decided or counted here: the loop, the queue and the figures of merit are those of a single simulation.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from simmodels.ground.compiled import compiled
from simmodels.ground.numbers import Flags, Floats, Ints
from simmodels.ground.streams import stream
from simmodels.policies.queue_options import QueueOptions
from simmodels.policies.rows import require_columns
from simmodels.replay.queue_loop import new_loop, replay
from simmodels.replay.run import by_row, outcome_and_counted
from simmodels.results.attempts import UNFINISHED, executed_by
from simmodels.results.job_figures import OF_JOBS, figures_of_jobs, window_of
from simmodels.structures.queue_state import QueueRules, new_queue, nothing_counted
from simmodels.work.workload import Workload


class Logs(NamedTuple):
    """The columns of several workloads of rigid jobs, one after the other."""

    # by row, of all logs
    submit_s: Floats
    runtime_s: Floats
    estimate_s: Floats
    cores: Ints
    # [logs + 1], where each log's begin; a slot is a job's number in order of arrival, as in `Replay`
    first_row: Ints
    first_slot: Ints
    row: Ints  # [slots], the row of each slot in its log
    size: Ints  # [logs], the cores of each log's machine


@partial(compiled, nogil=True)
def replay_logs(rules, logs, by_event, kill, rows, draw, tau, first, last, found, stop):
    """Replay logs[first:last], and write the figures of merit of each to its row of `found`.

    Parameters
    ----------
    rules
        How each queue is scheduled.
    logs
        The `Logs`.
    by_event, kill
        As for `replay`.
    rows, draw
        float64[slots, k] for either order, and float64[slots], of all slots.
    tau
        The bound of the bounded slowdowns, in seconds.
    first, last
        Which logs.
    found
        float64[logs, figures].
    stop
        bool[1], set by another thread to have no more logs replayed.

    Returns
    -------
    int
        The log in which an order gave no number for a job; -1 if there is none.
    """
    limits, fair = nothing_counted()
    for log in range(first, last):
        if stop[0]:
            break
        begin, end = logs.first_row[log], logs.first_row[log + 1]
        # Slots leave out the rows of unknown jobs, so a log has fewer of them, or as many.
        low, high = logs.first_slot[log], logs.first_slot[log + 1]
        row = logs.row[low:high]
        submit, cores = logs.submit_s[begin:end], logs.cores[begin:end]
        runtime, estimate = logs.runtime_s[begin:end], logs.estimate_s[begin:end]
        columns = submit[row], runtime[row], estimate[row], draw[low:high]  # by slot, in order of submission
        of_orders = rows[0][low:high], rows[1][low:high]
        here = new_queue(logs.size[log], cores[row], columns, of_orders, rules, False, limits, False, fair)
        loop = new_loop(row.size, by_event)
        start, end_s = np.full(row.size, np.nan), np.full(row.size, np.nan)
        # The same functions, in the same order, as `Replay` calls: equal to the last bit.
        if not replay(here, loop, by_event, kill, np.inf, row.size, -1, start, end_s):
            return log
        ended, counts = outcome_and_counted(columns[1], columns[2], end_s, kill, rules.warm)
        start = by_row(start, row, np.full(submit.size, np.nan))
        end_s = by_row(end_s, row, np.full(submit.size, np.nan))
        outcome = by_row(ended, row, np.full(submit.size, UNFINISHED, np.int8))
        counted = by_row(counts, row, np.zeros(submit.size, np.bool_))
        jobs = submit, start, end_s, executed_by(outcome, runtime, estimate), runtime, cores  # by row again
        waits = submit, start, (~np.isnan(start)).view(np.int8)  # all that are known have started
        window = window_of(submit, end_s, counted, outcome != UNFINISHED)
        uncounted = np.count_nonzero(~counted)
        busy = start, end_s, cores
        found[log] = figures_of_jobs(jobs, outcome, counted, uncounted, busy, waits, window, logs.size[log], tau)
    return -1


class Batch:
    """Workloads of rigid jobs, each on a pool of cores of its own, and what is replayed of them.

    Parameters
    ----------
    workloads
        The workloads; a job that is known and can never run is refused.
    sizes
        How many cores each has.
    seed
        For orders that draw.
    tau_s
        The bound of the bounded slowdowns, in seconds.
    """

    def __init__(self, workloads: Sequence[Workload], sizes: Sequence[int], *, seed: int, tau_s: float) -> None:
        self.workloads = workloads
        self._whole = whole = Workload.concat([each for each in workloads if len(each)], alike=False)
        self._seed = seed
        self._tau_s = tau_s
        jobs, size = np.array([len(each) for each in workloads], np.int64), np.array(sizes, np.int64)
        log, known = np.repeat(np.arange(len(jobs)), jobs), whole.known()
        impossible = known & ~(whole.runnable() & (whole.cores <= size[log]))
        if impossible.any():  # which names the job
            first = int(log[np.flatnonzero(impossible)[0]])
            workloads[first].require_runnable(int(size[first]))
        rows = np.flatnonzero(known)
        submit_s, of = whole.submit_s[rows], log[rows]
        # Most logs are in order: then nothing is sorted.
        if ((submit_s[1:] < submit_s[:-1]) & (of[1:] == of[:-1])).any():
            rows = rows[np.lexsort((submit_s, of))]  # ties by row
        self._slots = rows
        first_row, first_slot = (np.append(0, np.cumsum(n)) for n in (jobs, np.bincount(of, minlength=len(jobs))))
        times = whole.submit_s.copy(), whole.runtime_s.copy(), whole.estimate_s.copy()
        self._logs = Logs(*times, whole.cores.copy(), first_row, first_slot, rows - first_row[of], size)

    def task(self, options: QueueOptions) -> "Task":
        """Return what is to be run of a queue with these options, which has neither limits nor shares."""
        rows = options.rows(len(self._slots))
        if rows.names:
            for each in self.workloads:
                require_columns(rows.names, each)
            rows.fill_all(self._whole, self._slots)
        draw = np.empty(0)
        if options.draws:
            slots = np.diff(self._logs.first_slot)
            # Each log draws what it would alone: its first numbers of the one stream.
            drawn = stream(self._seed, "order", "draw").random(int(slots.max(initial=0)))
            draw = np.concatenate([draw, *(drawn[:count] for count in slots.tolist())])
        found = np.empty((len(self.workloads), len(OF_JOBS)))
        kill = options.overrun == "kill"
        rules, by_event = options.rules(), options.decide == "event"
        return Task(rules, self._logs, by_event, kill, rows.matrices, draw, self._tau_s, found)


class Task(NamedTuple):
    """What is replayed under some options; `found` is float64[logs, figures], filled by `run`."""

    rules: QueueRules
    logs: Logs
    by_event: bool
    kill: bool
    rows: tuple[Floats, Floats]
    draw: Floats
    tau_s: float
    found: Floats

    def run(self, logs: range, stop: Flags) -> int:
        """Replay some of the logs; return the one in which an order gave no number for a job, -1 if there is none."""
        *given, found = self
        return int(replay_logs(*given, logs.start, logs.stop, found, stop))
