"""A second simulator, written from the rules alone, as plainly as can be; the engine must equal it.

It keeps Python lists, looks at everything again after each start, and shares no code with `simmodels.passes`,
`simmodels.replay` or `simmodels.entities`. It is slow (O(n^2) and worse); use it for a few dozen jobs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from simmodels.work.workload import Workload
from tests import naive_limits, naive_shares

Formula = Callable[..., float]

FORMULAS: Final[dict[str, Formula]] = {
    # r submit, p estimate, q cores, w wait so far, u a number drawn once a job
    "FCFS": lambda r, **_: r,
    "LCFS": lambda r, **_: -r,
    "SPF": lambda p, **_: p,
    "LPF": lambda p, **_: -p,
    "SQF": lambda q, **_: q,
    "LQF": lambda q, **_: -q,
    "SEXP": lambda w, p, **_: (w + p) / p if (w, p) != (0, 0) else 1.0,
    "LEXP": lambda w, p, **_: -(w + p) / p if (w, p) != (0, 0) else -1.0,
    "SRF": lambda p, q, **_: p / q,
    "LRF": lambda p, q, **_: -p / q,
    "SAF": lambda p, q, **_: p * q,
    "LAF": lambda p, q, **_: -p * q,
    "SJBF": lambda p, **_: p,
    "WFP3": lambda w, p, q, **_: -(float(np.float32(w / p)) ** 3) * q if w else -0.0,
    "UNICEF": lambda w, p, q, **_: -math.inf if q == 1 else -w / (np.log2(q) * p) if w else 0.0,
    "F1": lambda r, p, q, **_: (-0.0155183403 * _log10(p)) * (-0.0005149209 * q) + 0.0069596182 * _log10(r),
    "F2": lambda r, p, q, **_: (3.42717e-5 * np.sqrt(p)) * (7.656211e-3 * q) + 6.7364626e-3 * _log10(r),
    "F3": lambda r, p, q, **_: (-0.2188093701 * p) * (-4.9e-9 * q) + 0.0073580361 * _log10(r),
    "F4": lambda r, p, q, **_: (0.0056500287 * p) * (2.4814e-6 * np.sqrt(q)) + 0.0074444355 * _log10(r),
    "LIN": lambda r, p, q, **_: 3.238414e-2 + 1.148218e-7 * p + 2.607264e-5 * q - 1.574367e-7 * r,
    "RANDOM": lambda u, **_: u,
}
"""The orders that the specifications spell out; the fitted forms QDR, CUB and QUA are not among them."""


def _log10(value: float) -> float:
    return np.log10(max(value, 1.0))


@dataclass(frozen=True)
class Row:
    """A job: its place in the order of (submit, input), and what the rules read of it."""

    rank: int
    submit: float
    runtime: float
    estimate: float
    cores: int
    drawn: float
    of: Mapping[str, int] = field(default_factory=dict)  # its user, and its further columns

    def value(self, order: str, now: float) -> float:
        with np.errstate(all="ignore"):
            given = {"r": self.submit, "p": self.estimate, "q": self.cores, "w": now - self.submit, "u": self.drawn}
            return float(FORMULAS[order](**{name: np.float64(number) for name, number in given.items()}))


def until(start: float, estimate: float) -> float:
    """When a reservation ends: one of no length takes its cores at its instant."""
    return max(start + estimate, math.nextafter(start, math.inf))


@dataclass
class Naive:
    """One queue on one pool of cores; `simulate` below runs it."""

    cores: int
    order: str = "FCFS"
    backfilling: str = "easy"
    backfill_order: str | None = None
    threshold_s: float | None = None
    decide: str = "instant"
    overrun: str = "run"
    queue_depth: int | None = None
    warm_jobs: int = 0
    max_starts: int | None = None
    max_backfills: int | None = None
    limits: naive_limits.Rules = ()
    shares: naive_shares.Rules | None = None  # for the order FairShare
    waiting: list[Row] = field(default_factory=list)  # by rank
    outside: list[Row] = field(default_factory=list)  # over a limit of submitted jobs, by rank
    running: list[Row] = field(default_factory=list)  # in order of start
    started: dict[int, float] = field(default_factory=dict)
    promised: dict[int, float] = field(default_factory=dict)  # conservative: rank -> reserved start
    over: list[tuple[Row, float]] = field(default_factory=list)  # what has ended, and when
    ended_early: bool = False  # since the promises were brought up to date
    plan_is_due: bool = True  # once a decision, and again when a job has entered the window

    def free(self) -> int:
        return self.cores - sum(row.cores for row in self.running)

    def end(self, row: Row) -> float:
        lasts = min(row.runtime, row.estimate) if self.overrun == "kill" else row.runtime
        return self.started[row.rank] + lasts

    def expected_end(self, row: Row, now: float) -> float:
        """Past its estimate, a job counts as ending now."""
        return max(self.started[row.rank] + row.estimate, now)

    def in_order(self, order: str, now: float) -> list[Row]:
        """The jobs that are looked at, warm and starving ones first, among themselves by rank."""

        def place(row: Row) -> tuple[int, float, int]:
            starves = self.threshold_s is not None and now - row.submit > self.threshold_s
            if row.rank < self.warm_jobs or starves:
                return (0, 0.0, row.rank)
            return (1, -factors[self.party(row)] if order == "FairShare" else row.value(order, now), row.rank)

        factors = self.factors(now) if order == "FairShare" else {}
        return sorted((row for row in self.waiting[: self.queue_depth] if not self.is_over(row)), key=place)

    def factors(self, now: float) -> dict[int, float]:
        assert self.shares is not None
        ended = [*self.over, *((row, now) for row in self.running)]
        ran = [(self.party(row), row.cores, self.started[row.rank], end) for row, end in ended]
        users = {self.party(row) for row, _ in ended} | {self.party(row) for row in self.waiting}
        return self.shares.factors(ran, users, now)

    def party(self, row: Row) -> int:
        assert self.shares is not None
        return self.shares.party(row.of)

    def is_over(self, row: Row) -> bool:
        return naive_limits.is_over(self.limits, row, self.running)

    def finish(self, row: Row, now: float) -> None:
        self.running.remove(row)
        self.over.append((row, now))
        self.ended_early |= now < until(self.started[row.rank], row.estimate)

    def start_all(self, now: float) -> None:
        """Start jobs one by one, looking at everything again after each."""
        self.let_in()
        self.plan_is_due = True
        before, backfilled = len(self.started), 0
        while (row := self.first_to_start(now)) is not None and len(self.started) - before != self.max_starts:
            if row.rank >= self.warm_jobs and row is not self.in_order(self.order, now)[0]:
                if backfilled == self.max_backfills:
                    return
                backfilled += 1
            self.plan_is_due |= self.queue_depth is not None and len(self.waiting) > self.queue_depth
            self.plan_is_due |= bool(self.limits)
            self.waiting.remove(row)
            self.promised.pop(row.rank, None)
            self.started[row.rank] = now
            self.running.append(row)

    def let_in(self) -> None:
        """Let those that were submitted first enter, as far as limits of submitted jobs allow."""
        for row in list(self.outside):
            if not naive_limits.is_outside(self.limits, row, [*self.waiting, *self.running]):
                self.outside.remove(row)
                self.waiting = sorted([*self.waiting, row], key=lambda each: each.rank)

    def first_to_start(self, now: float) -> Row | None:
        if not self.waiting:
            return None
        if self.waiting[0].rank < self.warm_jobs:
            looked_at = self.waiting[: self.queue_depth]  # one that is over a limit counts for it
            warm = [row for row in looked_at if row.rank < self.warm_jobs and not self.is_over(row)]
            return warm[0] if warm and warm[0].cores <= self.free() else None
        if sum(rank < self.warm_jobs for rank in self.started) < self.warm_jobs:
            return None  # a warm job is still to come
        queue = self.in_order(self.order, now)
        if not queue:  # all are over a limit
            self.promised.clear()
            self.ended_early, self.plan_is_due = True, True
            return None
        fitting = [row for row in queue if row.cores <= self.free()]
        if self.backfilling == "none":
            return queue[0] if queue[0] in fitting else None
        if self.backfilling == "greedy":
            return fitting[0] if fitting else None
        if self.backfilling == "easy":
            return self.easy(queue, now)
        if self.plan_is_due:
            self.promise(queue, now)
            self.plan_is_due = False
        return next((row for row in fitting if self.promised[row.rank] == now), None)

    def easy(self, queue: list[Row], now: float) -> Row | None:
        head, free = queue[0], self.free()
        if head.cores <= free:
            return head
        ends = [(self.expected_end(row, now), row.cores) for row in self.running]
        for shadow in sorted({end for end, _ in ends}):
            released = free + sum(cores for end, cores in ends if end <= shadow)
            if released >= head.cores:
                break
        else:  # machines are off: what runs will not free enough
            shadow = math.inf
        for row in self.in_order(self.backfill_order or self.order, now):
            harmless = now + row.estimate <= shadow or row.cores <= released - head.cores
            if row is not head and row.cores <= free and harmless:
                return row
        return None

    # -- conservative -------------------------------------------------------------------------------

    def promise(self, queue: list[Row], now: float) -> None:
        """Bring the promises up to date."""
        for row in [row for row in self.waiting if row.rank in self.promised and row not in queue]:
            del self.promised[row.rank]  # it is over a limit now
            self.ended_early = True
        overran = any(until(self.started[row.rank], row.estimate) < now for row in self.running)
        if overran or any(start < now for start in self.promised.values()):
            self.plan_again(queue, now)
            return
        moved = self.ended_early
        while moved:
            moved = False
            for row in queue:
                held = self.promised.get(row.rank)
                if held is not None and self.hole(row, now) < held:
                    self.promised[row.rank] = self.hole(row, now)
                    moved = True
        self.ended_early = False
        self.promise_new(queue, now)
        due = [row.cores for row in queue if self.promised[row.rank] == now]
        if due and sum(due) > self.free():  # where cores went that were in use, fewer than none are free
            self.plan_again(queue, now)  # a job that should have ended has not: what is promised for now is broken

    def plan_again(self, queue: list[Row], now: float) -> None:
        self.ended_early = False
        self.promised.clear()
        self.promise_new(queue, now)

    def promise_new(self, queue: list[Row], now: float) -> None:
        for row in queue:
            if row.rank not in self.promised:
                self.promised[row.rank] = self.hole(row, now)

    def hole(self, row: Row, now: float) -> float:
        """The earliest instant from which its cores are free for all of its estimate."""
        taken = [(now, until(self.started[other.rank], other.estimate), other.cores) for other in self.running]
        for other in self.waiting:
            if other is not row and other.rank in self.promised:
                start = self.promised[other.rank]
                taken.append((start, until(start, other.estimate), other.cores))

        def free_at(instant: float) -> int:
            return self.cores - sum(cores for low, high, cores in taken if low <= instant < high)

        for start in sorted({now, *(high for _, high, _ in taken if high > now)}):
            looks = [start, *(low for low, _, _ in taken if start < low < until(start, row.estimate))]
            if all(free_at(instant) >= row.cores for instant in looks):
                return start
        return math.inf  # machines are off

    # -- the clock ----------------------------------------------------------------------------------

    def next_instant(self, now: float, coming: list[Row]) -> float:
        """Return the next end, submission, or start that was promised for an expected end."""
        events = [row.submit for row in coming[:1]] + [self.end(row) for row in self.running]
        expected = {until(self.started[row.rank], row.estimate) for row in self.running}
        return min([*events, *(start for start in self.promised.values() if start > now and start in expected)])

    def run(self, rows: list[Row]) -> None:
        coming = list(rows)
        due: list[Row] = []  # ended at this instant, by event: the pass after it is still to come
        now = -math.inf
        while coming or self.running or due:
            now = now if due else self.next_instant(now, coming)
            if self.decide == "instant":
                for row in [row for row in self.running if self.end(row) == now]:
                    self.finish(row, now)
                while coming and coming[0].submit == now:
                    self.outside.append(coming.pop(0))
                self.start_all(now)
                continue
            for row in [row for row in self.running if self.end(row) == now and row not in due]:
                due.append(row)
                if self.started[row.rank] + row.estimate == now:
                    self.finish(row, now)  # known beforehand: its cores are free from the first event on
            if coming and coming[0].submit == now:
                self.outside.append(coming.pop(0))
            elif due:
                turns = list(self.started)  # in order of start
                row = min(due, key=lambda row: turns.index(row.rank))
                due.remove(row)
                if row in self.running:
                    self.finish(row, now)
            self.start_all(now)


def simulate(
    workload: Workload, *, cores: int, drawn: Sequence[float] | None = None, **options: str | float | None
) -> tuple[list[float], list[float]]:
    """Return when each job starts and ends, in input order; `drawn` is by rank, for the order RANDOM."""
    by_rank = sorted(range(len(workload)), key=lambda i: (workload.submit_s[i], i))
    rows = []
    for rank, i in enumerate(by_rank):
        job = workload.job(i)
        number = 0.0 if drawn is None else float(drawn[rank])
        of = {"user": job.user_id, **{name: int(value) for name, value in (job.extras or {}).items()}}
        rows.append(Row(rank, job.submit_s, job.runtime_s, job.estimate_s, job.cores, number, of))
    naive = Naive(cores, **options)
    naive.run(rows)
    start_s, end_s = [math.nan] * len(rows), [math.nan] * len(rows)
    for rank, i in enumerate(by_rank):
        start_s[i] = naive.started[rank]
        end_s[i] = naive.end(rows[rank])
    return start_s, end_s
