"""QueueScheduler: one queue in front of one cluster; it wakes once per instant and asks a pass."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Unpack

import numpy as np

from simmodels.clusters.cluster_spec import Terms
from simmodels.entities.alarm import Alarm
from simmodels.entities.attempt import LOST, Attempt
from simmodels.entities.base_scheduler import Scheduler
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.events import Submitted
from simmodels.entities.machine import Machine
from simmodels.entities.queue_news import QueueNews
from simmodels.entities.queue_plan import NO_ROW, QueuePlan, require_predictable
from simmodels.errors import RequestError
from simmodels.passes import queue_events as queue
from simmodels.passes.queue_order import place_of
from simmodels.passes.queue_transfer import take_over
from simmodels.policies.options import takes_options
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import QueueOptions, raise_refused
from simmodels.policies.rows import require_columns, row_of
from simmodels.structures import queue_state as state
from simmodels.structures.structure import address_of
from simmodels.work.window import run_on
from simmodels.work.workload import Job, Workload

if TYPE_CHECKING:
    import pandas as pd

    from simmodels.policies.option_types import QueueSchedulerOptions

_ROOM: Final = 1024  # slots at first


@takes_options(QueueOptions)
class QueueScheduler(Scheduler):
    """A scheduler with a queue; the order says who is first, the backfilling who may go before.

    It is a process: at the end of each instant at which something was submitted, ended or powered,
    it asks the compiled pass (`simmodels.passes.queue_events`) what starts, and starts it. Extend it by
    overriding `submit`, `start` or `ended`, or by calling `reconfigure` from a process of yours.

    Parameters
    ----------
    env, cluster
        The environment, and where jobs run.
    options
        As in `simmodels.policies.queue_options.QueueOptions`.

    Raises
    ------
    RequestError, UnknownNameError
        An option is out of range.

    Examples
    --------
    >>> import simmodels as sm
    >>> env = sm.Environment()
    >>> scheduler = sm.QueueScheduler(env, sm.Cluster(env, "ours", cores=4), order="SAF", threshold_s=40 * sm.HOUR)
    >>> log = {"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [4, 4, 4]}
    >>> source = sm.Source(env, log, into=scheduler)
    >>> recorder = sm.Recorder(env)
    >>> env.run()
    >>> recorder.schedule().start_s.tolist()
    [0.0, 15.0, 10.0]
    """

    __slots__ = (  # as those of `Scheduler`
        "_address", "_associations", "_by_event", "_by_id", "_cores", "_estimate", "_jobs", "_kill", "_may_refuse",
        "_news", "_parties", "_plan", "_powered", "_promise", "_room", "_rows", "_runtime", "_slots", "_starts_on",
        "_submit", "_turn", "_waiting", "options",
    )  # fmt: skip

    def __init__(self, env: Environment, cluster: Cluster, **options: "Unpack[QueueSchedulerOptions]") -> None:
        self.options = QueueOptions.checked(**options)
        super().__init__(env, cluster)
        self.order_changes, self.changes = 0, 0  # of the orders, and of other options
        self._overruns = {self.options.overrun}
        self._may_refuse = self.options.may_refuse  # asked at every decision, so kept
        self._kill = self.options.overrun == "kill"
        self._by_event = self.options.decide == "event"
        self._room = _ROOM
        self._submit, self._runtime, self._estimate = np.empty(_ROOM), np.empty(_ROOM), np.empty(_ROOM)
        self._cores = np.empty(_ROOM, np.int64)
        self._parties, self._associations = self.options.parties(_ROOM), self.options.associations(_ROOM)
        self._rows = self.options.rows(_ROOM, self._associations)
        self._queue = self._opened(free=cluster.free_cores)
        self._address = int(address_of(self._queue))
        self._plan = QueuePlan(self.cluster.lengths_s)
        self._jobs: dict[int, Job] = {}  # by slot, those not yet done
        self._by_id: dict[int, int] | None = None  # the slots of these by id, once one is asked for
        self._waiting, self._turn = 0, 0  # how many wait, and how many have started
        self._slots = np.empty(64, np.int64)  # what ended, then what starts
        self._powered = 0  # cores gained (lost) since the last decision
        self._news = QueueNews(self)
        self._starts_on: dict[int, list[tuple[Machine, int]]] = {}  # of slots that start where machines are about to go
        self._promise = Alarm(env, self._ring, holds_clock=False)  # at the next promised start, whatever else happens

    # -- what happens to it -------------------------------------------------------------------------

    def accept(self, workload: Workload) -> None:
        """Refuse a workload with a job that can never run here, or without a column that an order or a limit names."""
        super().accept(workload)
        require_columns(self._rows.names, workload)
        if self._parties is not None or self._associations is not None:
            self.options = self.options.accepting(self.as_jobs(workload), self._parties, self._associations)

    def enqueue(self, job: Job) -> None:
        """Take a job that was submitted already, to a router.

        It refuses one that could never start under the limits, or without a number that an order or a limit names.
        """
        if self._rows.names:
            row_of(self._rows.names, job)
        if self._parties is not None:
            self._parties.require(job)
        self._submitted.append(job)  # as above: `super()` would cost as much as all that
        self._ring()

    def resume(self, jobs: Sequence[Job]) -> None:
        """Let jobs that ran since their submission run on now, before anything else; those that do not fit are dropped.

        So are those that were killed before, at their estimate. One that loses its machine runs again from its start.
        They run whatever the limits, which count them, and however many may start at once.
        """
        now, before = float(self.env.now), self._arrived
        for job, runs in zip(jobs, run_on(jobs, now, free=self.cluster.free_cores, kill=self._kill), strict=True):
            self._require(job)
            self.env.publish(Submitted, job, self)
            if runs:
                self.cluster.ran_before(job, now - job.submit_s)
                self._enter(job, now)
        self._plan.note_change()
        starts = queue.resume(self._queue, now, self._arrived - before)
        self._start_all(self._queue.placed[:starts].tolist())

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that an attempt has ended."""
        self._ended.append(attempt)
        # With nobody waiting there is nothing to decide: the next submission brings the count of cores up to date. What
        # users use is counted by the instant.
        if self._waiting or self._by_event or self._associations is not None or attempt.outcome is LOST:
            self._ring()

    def note_power(self, machine: Machine, more: int) -> None:
        """Take note that a machine was switched, and how many more of its cores jobs may have."""
        self._powered += more
        super().note_power(machine, more)

    @takes_options(QueueOptions, changed=True)
    def reconfigure(self, **options: object) -> None:
        """Change options by name, from the next decision on; for a decision at this instant, call `wake` too.

        Parameters
        ----------
        options
            ``order``, ``backfilling``, ``backfill_order``, ``threshold_s``, ``overrun``, ``queue_depth``; others stay.
            Reservations are made again; a changed ``overrun`` applies to jobs that start.

        Raises
        ------
        UnknownNameError
            No such option, order or backfilling.
        RequestError
            A number is out of its range, or a backfill order is given where nothing is backfilled by it.
        """
        changed = self.options.with_changes(options)
        if not options:
            return
        self._rows = changed.rows(self._room, self._associations).with_jobs(self._jobs, self._submitted)
        self.options = changed
        self._may_refuse = changed.may_refuse
        if options.keys() <= {"order", "backfill_order"}:
            self.order_changes += 1
            self._plan.note_change()
            changed.sort_again(self._queue, draw=self._drawn(), rows=self._rows, now_s=float(self.env.now))
            return
        self.changes += 1
        self._overruns.add(changed.overrun)
        self._kill = changed.overrun == "kill"
        self._open_again()

    def note_lengths(self) -> None:
        """Take note that what waits takes another time than it did: it is queued again, and planned again."""
        in_queue = [*state.waiting_slots(self._queue).tolist(), *state.slots_beyond(self._queue).tolist()]
        for slot in in_queue:
            self._runtime[slot], self._estimate[slot] = self.cluster.lengths_s(self._jobs[slot])
        if in_queue:
            self._open_again()

    def _opened(self, *, free: int) -> state.QueueState:
        """Return an empty queue, by the options."""
        columns = (self._submit, self._runtime, self._estimate, self._cores)
        return self.options.open(columns, free=free, draw=self._drawn(), rows=self._rows, parties=self._parties)

    def _open_again(self) -> None:
        """Go on with a new queue, by the options, of what waits and runs."""
        self._plan.note_change()
        start_s = np.full(self._room, float(self.env.now))  # of those that are being started, which have no attempt yet
        for attempt in (*self.cluster.running, *self._ended):
            if attempt.decider is self:
                start_s[attempt.slot] = attempt.start_s
        old = self._queue
        self._queue = self._opened(free=0)
        self._address = int(address_of(self._queue))
        take_over(self._queue, old, start_s, float(self.env.now))

    # -- what can be seen of it ---------------------------------------------------------------------

    @property
    def order(self) -> Priority:
        """Return who is first; `reconfigure` changes it."""
        return self.options.order

    @property
    def backfill_order(self) -> Priority | None:
        """Return who is backfilled first; None for those who are first in `order`."""
        return self.options.backfill_order

    @property
    def waiting(self) -> list[Job]:
        """Return the jobs that wait: those in the queue, in order, those beyond it, then those that are new.

        Beyond it are those that `queue_depth`, or a limit of submitted jobs, keeps out. The new ones were submitted, or
        lost, at this instant, and enter the queue at its end.
        """
        others = [*state.slots_beyond(self._queue).tolist(), *(attempt.slot for attempt in self._again)]
        return self.queued + [self._jobs[slot] for slot in others] + self._submitted

    @property
    def queued(self) -> list[Job]:
        """Return the jobs in the queue (within `queue_depth`), in order, as of the last decision."""
        return [self._jobs[slot] for slot in state.waiting_slots(self._queue).tolist()]

    def waits_for(self, job: Job) -> str | None:
        """Return the limit that a waiting job would exceed if it started now: ``user 17 may run 4 jobs``.

        Or if it entered the queue: ``user 17 may have 9 jobs submitted``. None if none, or if it does not wait.
        """
        slot = self._slot_of.get(id(job), -1)
        outside = self._parties is not None and slot in state.slots_beyond(self._queue)
        if self._parties is None or not (outside or slot in state.waiting_slots(self._queue)):
            return None
        return self._parties.waits_for(slot, job.cores, outside=outside) or None

    def fair_share(self) -> "pd.DataFrame":
        """Return what each account and user is due, has used, and its factor, as of the last tick, as `sshare` does.

        Raises
        ------
        RequestError
            The queue has no shares.
        """
        if self._associations is None:
            raise RequestError("a queue without shares has counted nothing", "give it shares=sm.Shares()")
        return self._associations.table(float(self.env.now))

    def stuck(self, most: Mapping[Cluster, int]) -> Sequence[Job]:
        """Return the jobs that wait here and never start: too wide ones, and all others, if these block the queue."""
        return self.waiting if self._is_blocked(self.queued, most) else super().stuck(most)

    def may_start(self, job: Job, most: Mapping[Cluster, int]) -> bool:
        """Whether a job of elsewhere may start here: it is not too wide, nor behind such that block the queue."""
        hidden = len(self.queued) >= (self.options.queue_depth or math.inf)
        queued = self.queued if hidden else [*self._ahead_of(job), job]
        return super().may_start(job, most) and not self._is_blocked(queued, most)

    def _is_blocked(self, queued: Sequence[Job], most: Mapping[Cluster, int]) -> bool:
        """Whether too wide jobs keep all others from starting, if these are in the queue, in order."""
        if queued and self.options.backfilling == "none" and not self.order.moving:
            late_s = math.inf if self.options.threshold_s is None else self.options.threshold_s
            if late_s == math.inf or self.env.now - queued[0].submit_s > late_s:  # nobody goes before it any more
                queued = queued[:1]
        return bool(queued) and all(job.cores > most[self.cluster] for job in queued)

    @property
    def jobs_not_done(self) -> list[Job]:
        """Return the jobs that were submitted and are not done: about to enter the queue, in it, or running."""
        done = {attempt.slot for attempt in self._ended if attempt not in self._again}
        return [job for slot, job in self._jobs.items() if slot not in done] + self._submitted

    @property
    def is_idle(self) -> bool:
        """Whether no job that was submitted here waits or runs."""
        # By event, what ended as expected is forgotten before its own event.
        ended = sum(each.slot in self._jobs for each in self._ended) if self._by_event else len(self._ended)
        return not self._submitted and len(self._jobs) == ended - len(self._again)

    # -- the process --------------------------------------------------------------------------------

    def _instant(self) -> None:
        """Decide after all events of the instant, or after the next one."""
        if self._plan.is_used:
            self._plan.note_change()
        if self._powered:
            queue.change_capacity(self._queue, self._powered)
            self._powered = 0
        if self._by_event:
            self._next_event()
            return
        now = float(self.env._now)  # noqa: SLF001  env.now, without a call
        arrivals, finished, ended, again = len(self._submitted), 0, self._ended, self._again
        if arrivals:
            for job in self._submitted:
                self._enter(job, now)
            self._submitted.clear()
        if ended:
            if len(ended) > len(self._slots):
                self._slots = np.empty(2 * len(ended), np.int64)
            for attempt in ended:
                if again and attempt in again:
                    self._requeue(attempt.slot, now)
                else:
                    self._slots[finished] = attempt.slot
                    finished += 1
                    self._forget(attempt.slot)
            ended.clear()
            again.clear()
        self._start_all(self._decided(now, finished, arrivals))

    def _decided(self, now: float, finished: int, arrivals: int) -> list[int]:
        """Let what ended end, and what came arrive; return the slots that start now."""
        if self.cluster.leaving:
            return self._decided_under_notice(now, finished, arrivals)
        starts = queue.instant(self._address, now, self._slots, finished, arrivals)
        if starts < 2:  # most often; a slice takes three times as long
            return [self._slots.item(0)] if starts else []
        if starts > len(self._slots):
            self._slots = np.resize(self._queue.placed[:starts], 2 * starts)
        slots: list[int] = self._slots[:starts].tolist()
        return slots

    def _decided_under_notice(self, now: float, finished: int, arrivals: int) -> list[int]:
        """Decide as `_decided` does while machines are about to go."""
        running = [each for each in self.cluster.running if each.decider is self]
        unknown = [each for each in self._ended if each.slot in self._jobs]  # by event, it runs for all that is known
        machines = self.cluster.going(((each.slot, each) for each in [*running, *unknown]), unknown)
        starts, had = queue.instant_under_notice(self._queue, now, self._slots, finished, arrivals, *machines)
        for slot, machine, cores in had.tolist():
            self._starts_on.setdefault(slot, []).append((self.cluster.machines[machine], cores))
        slots: list[int] = self._queue.placed[:starts].tolist()
        return slots

    def _next_event(self) -> None:
        """Decide after one event: a submission, else a completion in the order of the starts."""
        now = float(self.env.now)
        for attempt in self._ended:
            known = attempt.outcome is not LOST and now == attempt.start_s + self._estimate[attempt.slot]
            if known and attempt.slot in self._jobs:
                self._forget(attempt.slot)
                queue.finish(self._queue, attempt.slot, now)
        if self._submitted:
            self._enter(self._submitted.pop(0), now)
            queue.arrive(self._queue, now)
        elif self._ended:
            first = min(range(len(self._ended)), key=lambda i: self._ended[i].turn)
            attempt = self._ended.pop(first)
            if attempt in self._again:
                del self._again[attempt]
                self._requeue(attempt.slot, now)
            elif attempt.slot in self._jobs:
                self._forget(attempt.slot)
                queue.finish(self._queue, attempt.slot, now)
        self._start_all(self._decided(now, 0, 0))
        if self._submitted or self._ended:
            self._ring()

    def _enter(self, job: Job, now: float) -> None:
        """Give a job the next slot."""
        slot = self._arrived
        if slot == self._room:
            self._room *= 2
            grown = state.grow(self._queue, self._room, self._drawn())
            self._submit, self._runtime, self._estimate, self._cores = grown
            if self._associations is not None:
                self._associations.grow(self._room)
            self._rows.grow(self._room)
            state.set_rows(self._queue, *self._rows.matrices)
            if self._parties is not None:
                self._parties.grown()
        if self._associations is not None:
            self._associations.fill(slot, job)
        if self._rows.names:
            self._rows.fill(slot, job)
        if self._parties is not None:
            self._parties.fill(slot, job)
        self._submit[slot] = now
        self._cores[slot] = job.cores
        self._runtime[slot], self._estimate[slot] = self.cluster.lengths_s(job)
        self._jobs[slot] = job
        if self._by_id is not None:
            self._by_id[id(job)] = slot
        self._arrived = slot + 1
        self._waiting += 1

    def _forget(self, slot: int) -> None:
        """Let a job go that is done, or was withdrawn."""
        job = self._jobs.pop(slot)
        if self._by_id is not None and self._by_id.get(id(job)) == slot:  # else it was submitted again
            del self._by_id[id(job)]

    @property
    def _slot_of(self) -> dict[int, int]:
        """Return the slots of the jobs that are not done, by id; most queues are never asked, and need not keep it."""
        if self._by_id is None or len(self._by_id) < len(self._jobs):  # or of two slots of a job the later is done
            self._by_id = {id(job): slot for slot, job in self._jobs.items()}
        return self._by_id

    def _withdraw(self, job: Job) -> None:
        """Take a job out of the queue."""
        slot = self._slot_of.get(id(job), -1)
        if slot < 0 or not queue.withdraw(self._queue, slot, float(self.env.now)):
            self._refuse_withdrawal(job)
        self._forget(slot)
        self._waiting -= 1

    def predict_start(self, job: Job) -> float:
        """Return when a job would start by estimates; see `Scheduler.predict_start`, which says how."""
        require_predictable(self.options)
        cluster, plan = self.cluster, self._plan
        if self.options.backfilling != "easy" or cluster.machines or cluster.keeps_work or self._again:
            return super().predict_start(job)
        slot, number = self._slot_of.get(id(job), -1), plan.number_of(job, self._submitted)
        if len(self._slot_of) < len(self._jobs) or (number != -1 and slot != -1) or number < -1:
            return super().predict_start(job)  # a job that was submitted twice has two places in line
        if number >= 0:
            slot = self._arrived + number
        columns = self.order.columns
        row = np.array(self._rows.row_of(columns, job), np.float64) if columns else NO_ROW
        ended = [attempt.slot for attempt in self._ended]
        start_s = plan.start_s(self._address, float(self.env.now), cluster.free_cores, ended, job, slot, row)
        return super().predict_start(job) if math.isnan(start_s) else start_s

    def withdraw(self, job: Job) -> None:
        """Remove a waiting job, as if it had not been submitted; see `Scheduler.withdraw`."""
        super().withdraw(job)
        self._plan.note_change()

    def _ahead_of(self, job: Job) -> Iterable[Job]:
        """Return the jobs that wait, in order; for one that does not, those that would stand before it, and the new."""
        if any(each is job for each in self.waiting):
            return self.waiting
        runtime_s, estimate_s = self.cluster.lengths_s(job)
        row = np.array(self._rows.row_of(self.order.columns, job), np.float64)
        place = place_of(self._queue, estimate_s, runtime_s, float(job.cores), row, float(self.env.now))
        return self.waiting[:place] + self.waiting[len(self.queued) :]

    def _requeue(self, slot: int, now: float) -> None:
        """Let a job that lost its machine wait again: what is left of it."""
        self._runtime[slot], self._estimate[slot] = self.cluster.lengths_s(self._jobs[slot])
        queue.requeue(self._queue, slot, now)
        self._waiting += 1

    def _drawn(self) -> np.ndarray:
        """Return a uniform number for each slot, if an order asks for it."""
        return self._drawn_for(self._room, asked=self.options.draws)

    def _start_all(self, slots: list[int]) -> None:
        if self._may_refuse and (slot := self._queue.refused) >= 0:
            raise_refused(self._jobs[slot], self._queue.refused_at, self.order, self.backfill_order)
        attempts = []
        self._waiting -= len(slots)
        if self._promise.is_set or (self._waiting and self.options.backfilling == "conservative"):
            self._promise.set(float(queue.next_promise_at(self._address, float(self.env.now))))
        for slot in slots:
            job = self._jobs[slot]
            if self._starts_on:
                self.cluster.places = self._starts_on.pop(slot)
            attempt = self.start(job)
            self.cluster.places = ()  # if `start` is overridden, to start it elsewhere
            if attempt.job is not job:
                attempt.note_change(job)  # `start` was overridden to start a changed job
            attempt.decider, attempt.slot, attempt.turn = self, slot, self._turn
            self._turn += 1
            if slot < self.options.warm_jobs:
                attempt.counted = False
            attempts.append(attempt)
        if self._news.of_backfilled or self._news.of_reserved:
            self._news.publish(
                self._queue, self.options, attempts, jobs=self._jobs, estimate_s=self._estimate, parties=self._parties
            )

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them; the order is that of the last decision."""
        counts = {"order_changes": self.order_changes, "changes": self.changes}
        return {**self.options.about(), **{name: count for name, count in counts.items() if count}}

    def terms(self) -> Terms:
        """Return what a schedule of this queue is proved by."""
        overrun = self.options.overrun if len(self._overruns) == 1 else None
        return Terms(overrun=overrun, limits=self.options.limits)

    def start(self, job: Job) -> Attempt:  # type: ignore[override]  # the machines are always the lowest
        """Start a job that the pass chose; if overridden, with as many cores as it asked for."""
        return self.cluster.start(job, limit_work_s=job.estimate_s if self._kill else None, then=self.ended)
