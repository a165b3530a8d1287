"""QueueOptions: how a queue is scheduled; checked once, for both engines."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, NoReturn, Self

import numpy as np

from simmodels.clusters.limits import Limits
from simmodels.clusters.shares import Shares
from simmodels.errors import RequestError
from simmodels.ground.durations import as_seconds
from simmodels.ground.numbers import MOST, Floats, Ints, as_integer
from simmodels.ground.on_demand import ask_for
from simmodels.passes.queue_order import set_order
from simmodels.policies.associations import Associations
from simmodels.policies.naming import as_order
from simmodels.policies.options import Options
from simmodels.policies.order import Order
from simmodels.policies.parties import Parties, startable
from simmodels.policies.priority import Priority
from simmodels.policies.rows import Rows
from simmodels.structures.queue_state import (
    BACKFILLINGS,
    LIMITS,
    PROMISES,
    SHARES,
    QueueRules,
    QueueState,
    new_queue,
    no_limits_or_shares,
    set_draw,
    set_rows,
)
from simmodels.work.vocabulary import IN_QUEUES, OF_AUCTIONS
from simmodels.work.workload import Job, Workload

Backfilling = Literal["none", "greedy", "easy", "conservative"]
Decide = Literal["instant", "event"]
Overrun = Literal["run", "kill"]

_FCFS: Final = as_order("FCFS")
_EMPTY: Final = np.empty(0)


@dataclass(frozen=True, slots=True)
class QueueOptions(Options):
    """How a queue is scheduled.

    Parameters
    ----------
    order
        Which waiting job goes first: a name of the registry (`simmodels.orders`), or an order of yours. The smallest
        value goes first; ties go to the earlier submit, then to the earlier input position. A bid is accepted, too: the
        task that would win goes first.
    backfilling
        ``"none"`` (the head of the queue blocks the others), ``"greedy"`` (any job that fits starts), ``"easy"`` (any
        job that fits and does not delay the head starts), ``"conservative"`` (any job that fits and delays no
        reservation of a waiting job starts).
    backfill_order
        The order in which EASY considers jobs for backfilling; by default that of the queue.
    threshold_s
        A job that has waited longer goes before all others, in both orders; several such jobs go first come, first
        served. By default never.
    decide
        ``"instant"``: one pass after all completions and submissions of an instant. ``"event"``: one pass after each
        event, submissions before completions.
    overrun
        What happens to a job that reaches its time limit. ``"run"``: it runs on, and is expected to end at any moment;
        ``"kill"``: it is stopped.
    queue_depth
        Consider only this many waiting jobs, those submitted first; by default all.
    warm_jobs
        This many jobs, the first ones, run first come, first served, before all others, and are left out of the
        metrics.
    max_starts
        Start at most this many jobs in one decision, as Slurm's `sched_max_job_start`; the others wait for the next
        event. By default all.
    max_backfills
        Start at most this many jobs in one decision before others that wait, as Slurm's `bf_max_job_start`. By default
        all.
    limits
        How much of the cluster the jobs of users, groups and queues may have at once: rows, a table or a file, see
        `simmodels.Limits`. A job that is over a limit is passed over. It counts for `queue_depth`. No start is
        predicted then. By default none.
    shares
        What part of the cluster users and accounts are to have, for orders that name `fairshare`: rows, a table or a
        file, see `simmodels.Shares`. By default, under such an order, all users are alike.
    """

    changeable: ClassVar = ("order", "backfilling", "backfill_order", "threshold_s", "overrun", "queue_depth")

    order: Priority = _FCFS
    backfilling: Backfilling = "easy"
    backfill_order: Priority | None = None
    threshold_s: float | None = None
    decide: Decide = "instant"
    overrun: Overrun = "run"
    queue_depth: int | None = None
    warm_jobs: int = 0
    max_starts: int | None = None
    max_backfills: int | None = None
    limits: Limits | None = None
    shares: Shares | None = None

    def _verified(self, given: Collection[str]) -> Self:  # noqa: ARG002  all are checked
        backfill_order, threshold_s, depth = self.backfill_order, self.threshold_s, self.queue_depth
        starts, backfills = self.max_starts, self.max_backfills
        if backfill_order is not None and self.backfilling != "easy":
            raise RequestError(
                f"a backfill order ({as_order(backfill_order).name}) with backfilling {self.backfilling!r}",
                'use backfilling="easy", or leave the backfill order out',
            )
        if backfills is not None and self.backfilling == "none":
            what = f"max_backfills={backfills} with backfilling 'none'"
            raise RequestError(what, "choose another backfilling, or leave max_backfills out")
        limits = None if self.limits is None else Limits.of(self.limits)
        if limits is not None and limits.counts_submitted and (depth is not None or self.warm_jobs):
            what = f"a limit of submitted jobs beside {'warm_jobs' if depth is None else 'queue_depth'}"
            raise RequestError(what, "leave one of them out")
        order = as_order_of_queue(self.order)
        second = None if backfill_order is None else as_order_of_queue(backfill_order)
        shares = self.shares
        if shares is None and replace(self, order=order, backfill_order=second).counts_usage:
            shares = Shares()
        return replace(
            self,
            order=order,
            backfill_order=second,
            threshold_s=None
            if threshold_s is None
            else as_seconds("threshold_s", threshold_s, least=0, finite=False, also="None"),
            queue_depth=None if depth is None else as_integer("queue_depth", depth, 1, also="None"),
            warm_jobs=as_integer("warm_jobs", self.warm_jobs, 0),
            max_starts=None if starts is None else as_integer("max_starts", starts, 1, also="None"),
            max_backfills=None if backfills is None else as_integer("max_backfills", backfills, 1, also="None"),
            limits=limits,
            shares=None if shares is None else Shares.of(shares),
        )

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return the options with some changed; refuse an order that names what was not counted from the begin."""
        changed = Options.with_changes(self, changes)  # a class with slots is another one than `super` knows
        if self.shares is None and changed.shares is not None:
            what = "an order that names fairshare, in a queue that has not counted what users use"
            raise RequestError(what, "give the queue shares=sm.Shares() when it is made")
        return changed

    def with_order(self, order: str | Priority, backfill_order: str | Priority | None) -> Self:
        """Return the same options with another order; refuse as `checked` does."""
        return self.with_changes({"order": order, "backfill_order": backfill_order})

    @property
    def draws(self) -> bool:
        """Return whether an order asks for a drawn number."""
        return self.order.draws or (self.backfill_order is not None and self.backfill_order.draws)

    @property
    def may_refuse(self) -> bool:
        """Return whether an order may give no number for a job; built-in orders give one for every job."""
        return not all(isinstance(each, Order) and each.is_built_in for each in self.both)

    @property
    def counts_usage(self) -> bool:
        """Return whether an order names the fair-share factor."""
        return any("fairshare" in each.words for each in self.both)

    @property
    def both(self) -> tuple[Priority, Priority]:
        """Return the order and the backfill order, which may be the same."""
        return self.order, self.order if self.backfill_order is None else self.backfill_order

    def for_jobs(self, workload: Workload) -> Self:
        """Return the options with the numbers that names in limits and shares have in a workload."""
        limits, shares = self.limits, self.shares
        if limits is None and shares is None:
            return self
        return replace(
            self,
            limits=None if limits is None else limits.for_jobs(workload.names),
            shares=None if shares is None else shares.for_jobs(workload.names),
        )

    def accepting(self, workload: Workload, parties: Parties | None, associations: Associations | None) -> Self:
        """Return the options of a queue that accepts a workload, and let those who count know its names."""
        made = self.for_jobs(workload)
        if made.limits is not None and parties is not None:
            parties.limits = startable(made.limits, workload)
        if made.shares is not None and associations is not None:
            associations.know(made.shares)
        return made

    @property
    def counted_by(self) -> tuple[str, ...]:
        """Return the columns by which limits and shares count jobs."""
        return (*(() if self.limits is None else self.limits.columns), *(() if self.shares is None else ("account",)))

    def rows(self, slots: int, associations: Associations | None = None) -> Rows:
        """Return rows for `slots` jobs, for what the orders name beyond the columns of a queue."""
        first, second = self.both
        return Rows((first.columns, () if second is first else second.columns), slots, associations)

    def associations(self, slots: int) -> Associations | None:
        """Return associations for `slots` jobs, if there are shares."""
        return None if self.shares is None else Associations(self.shares, slots)

    def parties(self, slots: int) -> Parties | None:
        """Return parties for `slots` jobs, if there are limits."""
        return None if self.limits is None else Parties(self.limits, slots)

    def rules(self) -> QueueRules:
        """Return how the queue is scheduled, as compiled code takes it, which is made for that from then on."""
        if self.backfilling == "conservative":
            ask_for(PROMISES)
        first, second = self.both
        return QueueRules(
            BACKFILLINGS[self.backfilling],
            second is first,
            first.key_function,
            second.key_function,
            first.moving,
            second.moving,
            math.inf if self.threshold_s is None else float(self.threshold_s),
            self.queue_depth or 0,
            self.warm_jobs,
            MOST if self.max_starts is None else self.max_starts,
            MOST if self.max_backfills is None else self.max_backfills,
        )

    def open(
        self,
        columns: tuple[Floats, Floats, Floats, Ints],
        *,
        free: int,
        draw: Floats = _EMPTY,
        rows: Rows | None = None,
        parties: Parties | None = None,
    ) -> QueueState:
        """Return the state of an empty queue with these options.

        Parameters
        ----------
        columns
            submit, runtime, estimate (float64[n], seconds) and cores (int64[n]) by slot. The compiled engine fills
            them in beforehand; the SimPy engine as jobs arrive.
        free
            Cores free at first.
        draw
            float64[n], a uniform number a slot, for orders that ask for it.
        rows
            What the orders name beyond these, of n slots, and what users have used; None for nothing.
        parties
            Of whom each of n slots is, and what is counted against their limits; None for no limits.
        """
        submit_s = columns[0]
        fair = None if rows is None or rows.associations is None else rows.associations.state
        for option, asked in ((LIMITS, parties is not None), (SHARES, fair is not None)):
            if asked:
                ask_for(option)
        no_limits, no_shares = no_limits_or_shares()
        queue: QueueState = new_queue(
            free,
            columns[3],
            (*columns[:3], draw),
            (np.empty((len(submit_s), 0)),) * 2 if rows is None else rows.matrices,
            self.rules(),
            parties is not None,
            no_limits if parties is None else parties.state,
            fair is not None,
            no_shares if fair is None else fair,
        )
        return queue

    def sort_again(self, queue: QueueState, *, draw: Floats, rows: Rows, now_s: float) -> None:
        """Let a queue go over to these orders, as it is; `draw` and `rows` as for `open`."""
        first, second = self.both
        set_rows(queue, *rows.matrices)
        set_draw(queue, draw)
        keys, moving = (first.key_function, second.key_function), (first.moving, second.moving)
        set_order(queue, *keys, *moving, second is first, now_s)

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them."""
        second = None if self.backfill_order is None else self.backfill_order.name
        found = {**self.by_name(), "order": self.order.name, "backfill_order": second}
        limits, shares = found.pop("limits"), found.pop("shares")
        found |= {} if limits is None else {"limits": limits.table()}
        return found | ({} if shares is None else {"shares": shares.table()})


def as_order_of_queue(order: str | Priority) -> Priority:
    """Return the order of this name, or that is given; refuse one that names what only auctions know."""
    found = as_order(order)
    of_auctions = OF_AUCTIONS - {"queue"} if isinstance(found, Order) else OF_AUCTIONS  # an order means the log's queue
    unknown = [name for name in found.needs if name in of_auctions]
    if unknown:
        what = f"order {found.name!r} of a queue names {', '.join(unknown)}"
        raise RequestError(what, f"it may name {', '.join(IN_QUEUES)}, and columns of the workload")
    return found


def raise_refused(job: Job, now: float, order: Priority, backfill_order: Priority | None) -> NoReturn:
    """Raise what an order's function raised, or that it gave no number for a job, with the names of both."""
    asked = [order] if backfill_order is None else [order, backfill_order]
    for each in asked:
        raised = each.take_raised()
        if raised is None and each.compiled:
            try:
                each.key(job, now)
            except Exception as error:  # noqa: BLE001  whatever a user's function raises is raised again below
                raised = error
        if raised is not None:
            raised.add_note(f"raised by order {each.name!r} for job {job.job_id}")
            raise raised
    names = " or ".join(repr(each.name) for each in asked)
    raise RequestError(
        f"order {names} gives no number (NaN) for job {job.job_id} at {now:g} s, {job}",
        "make it return a number, or infinity",
    )
