"""A queue on machines that are switched on and off: written for clarity only, and compared with `QueueScheduler`.

Machines are off in spans that are known: (machine, notice_s, off_s, on_s, mode). From its notice on, a machine takes
only jobs that end by their estimates before it goes; what runs there when it goes is lost, and waits again. It does
what it had not yet saved: periodically, or (mode "checkpoint") on notice. A machine that drains takes nothing new.
A machine of speed 2 does two seconds of a job in a second; a job is as fast as the slowest of its machines, and is
expected to be as fast as the slowest of all.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests import naive_limits

Span = tuple[int, float, float, float, str]
Use = tuple[float, float, int]  # from, until, cores

ORDERS: dict[str, Callable[["Row"], float]] = {
    "FCFS": lambda row: row.submit,
    "SAF": lambda row: row.length * row.cores,  # of what is left, with its checkpoints
    "LQF": lambda row: -row.cores,
    "SPF": lambda row: row.length,
}


@dataclass(eq=False)
class Row:
    """A job, and what became of it."""

    number: int
    submit: float
    runtime: float
    estimate: float
    cores: int
    places: dict[int, int] = field(default_factory=dict)
    runs: list[tuple[float, float]] = field(default_factory=list)  # start and end of each attempt
    saved: float = 0.0  # of its work
    length: float = math.nan  # how long the next attempt takes, by its estimate

    @property
    def of(self) -> dict[str, int]:
        """Whose it is: of one of three users, in turn."""
        return {"user": self.number % 3}


@dataclass
class Naive:
    """The machines, and who waits and runs."""

    sizes: Sequence[int]
    spans: list[Span]
    backfilling: str
    order: str
    backfill_order: str
    interval: float = math.inf
    cost: float = 0.0
    restart: float = 0.0
    max_starts: int | None = None
    max_backfills: int | None = None
    threshold_s: float | None = None
    queue_depth: int | None = None
    warm_jobs: int = 0
    overrun: str = "run"
    limits: naive_limits.Rules | None = None
    speeds: Sequence[float] = ()  # of each machine
    known: list[Row] = field(default_factory=list)  # which have been submitted
    outside: list[Row] = field(default_factory=list)  # over a limit of submitted jobs
    waiting: list[Row] = field(default_factory=list)
    running: list[Row] = field(default_factory=list)
    now: float = 0.0

    def takes(self, row: Row, work: float, speed: float) -> float:
        """Return how long an attempt takes, if the whole job is that much work."""
        left, whole = work - row.saved, self.restart if row.saved else 0.0
        while left > self.interval:
            left -= self.interval
            whole += self.interval / speed + self.cost
        return whole + left / speed

    def expected(self, row: Row) -> float:
        """Return how long an attempt is expected to take."""
        return self.takes(row, row.estimate, min(self.speeds))

    def speed(self, row: Row) -> float:
        """Return how fast a job is that runs."""
        return min(self.speeds[machine] for machine in row.places)

    def worked(self, row: Row, elapsed: float, *, in_checkpoints: bool) -> float:
        """Return how much work an attempt has done, or has in its checkpoints, some time after its start."""
        left, done, speed = row.runtime - row.saved, 0.0, self.speed(row)
        elapsed -= self.restart if row.saved else 0.0
        while elapsed >= self.interval / speed + self.cost:
            elapsed -= self.interval / speed + self.cost
            done += self.interval
        if not in_checkpoints:
            done += min(max(elapsed, 0.0) * speed, self.interval)
        return min(done, left)

    def save(self, row: Row) -> None:
        """Keep what a job has saved of its work by now; of machines that go at once, the first notified counts."""
        spans = [span for span in self.spans if span[0] in row.places and span[4] != "drain"]
        went = [span for span in spans if span[2] <= self.now < span[3]]
        (_, notified, off, _, mode), *_ = sorted(went, key=lambda span: (span[1] < span[2], span[1]))
        elapsed = self.now - row.runs[-1][0]
        if mode == "checkpoint" and off - notified >= self.cost:
            row.saved += self.worked(row, elapsed - self.cost, in_checkpoints=False)
        else:
            row.saved += self.worked(row, elapsed, in_checkpoints=True)
        row.length = self.expected(row)

    def leaves(self, machine: int) -> bool:
        """Return whether a machine takes nothing: it is off, or drains."""
        return any(m == machine and off <= self.now < on for m, _, off, on, _ in self.spans)

    def is_off(self, machine: int) -> bool:
        """Return whether what runs on a machine is lost."""
        return any(m == machine and off <= self.now < on and mode != "drain" for m, _, off, on, mode in self.spans)

    def goes(self, machine: int) -> float:
        """Return when a machine goes, as far as is known now."""
        known = [off for m, notified, off, _, _ in self.spans if m == machine and notified <= self.now < off]
        return min(known, default=math.inf)

    def free(self, machine: int) -> int:
        return self.sizes[machine] - sum(row.places.get(machine, 0) for row in self.running)

    def run(self, rows: list[Row]) -> None:
        for row in rows:
            row.length = self.expected(row)
        instants = {row.submit for row in rows} | {at for span in self.spans for at in span[1:4] if at >= 0}
        while instants or self.running:
            self.now = min(instants | {row.runs[-1][1] for row in self.running})
            instants -= {self.now}
            for row in [row for row in self.running if row.runs[-1][1] <= self.now]:
                self.running.remove(row)
            for row in [row for row in self.running if any(self.is_off(machine) for machine in row.places)]:
                self.running.remove(row)
                self.save(row)
                row.runs[-1], row.places = (row.runs[-1][0], self.now), {}
                self.waiting.append(row)
            self.outside += [row for row in rows if row.submit == self.now and row not in self.known]
            self.known += [row for row in rows if row.submit == self.now]
            self.decide()

    def decide(self) -> None:
        """Let in whom limits of submitted jobs allow, by number; start one job after the other, until none starts."""
        for row in sorted(self.outside, key=lambda row: row.number):
            if not naive_limits.is_outside(self.limits or (), row, [*self.waiting, *self.running]):
                self.outside.remove(row)
                self.waiting.append(row)
        starts = backfills = 0
        while starts != self.max_starts:
            found = self.first_to_start()
            if found is None:
                return
            row, classes, is_head = found
            if not is_head and backfills == self.max_backfills:
                return
            starts += 1
            backfills += not is_head
            left = dict(classes)
            for machine in range(len(self.sizes)):
                goes = self.goes(machine)
                taken = 0 if self.leaves(machine) else min(self.free(machine), left.get(goes, 0))
                if taken:
                    row.places[machine] = taken
                    left[goes] -= taken
            self.waiting.remove(row)
            self.running.append(row)
            works = (row.runtime, row.estimate) if self.overrun == "kill" else (row.runtime,)
            row.runs.append((self.now, self.now + min(self.takes(row, work, self.speed(row)) for work in works)))

    def room(self) -> "Room":
        """Return what is free, by when it goes."""
        room = Room(self.now, {}, {})
        for machine, size in enumerate(self.sizes):
            if self.leaves(machine):
                continue
            goes = self.goes(machine)
            room.sizes[goes] = room.sizes.get(goes, 0) + size
            uses = room.uses.setdefault(goes, [])
            for row in self.running:
                end = max(row.runs[-1][0] + row.length, math.nextafter(self.now, math.inf))
                if self.backfilling in {"none", "greedy"} or end > goes:
                    end = math.inf
                if machine in row.places:
                    uses.append((self.now, end, row.places[machine]))
        return room

    def in_order(self, order: str) -> list[Row]:
        """Return who waits and is looked at, those that wait too long first, among themselves by number."""

        def place(row: Row) -> tuple[int, float, int]:
            late = self.threshold_s is not None and self.now - row.submit > self.threshold_s
            return (0, 0.0, row.number) if late else (1, ORDERS[order](row), row.number)

        looked_at = sorted(self.waiting, key=lambda row: row.number)[: self.queue_depth]
        return sorted((row for row in looked_at if not self.is_over(row)), key=place)

    def is_over(self, row: Row) -> bool:
        """Return whether a job would exceed a limit if it started now."""
        return naive_limits.is_over(self.limits or (), row, self.running)

    def first_to_start(self) -> tuple[Row, dict[float, int], bool] | None:
        """Return who starts next, how many cores it gets by when these go, and whether nobody waits before it."""
        room = self.room()
        warm = [row for row in self.known if row.number < self.warm_jobs]
        if len([row for row in warm if row not in self.waiting]) < self.warm_jobs:  # first come, first served
            looked_at = sorted(self.waiting, key=lambda row: row.number)[: self.queue_depth]
            first = next((row for row in warm if row in looked_at and not self.is_over(row)), None)
            taken = None if first is None else room.take(first, self.now)
            return None if first is None or taken is None else (first, taken, True)
        queue = self.in_order(self.order)
        for place, row in enumerate(queue):
            taken = room.take(row, self.now)
            if taken is not None:
                return row, taken, place == 0
            if self.backfilling == "none":
                return None
            if self.backfilling != "greedy":
                room.reserve(row)
            if self.backfilling == "easy":
                behind = [other for other in self.in_order(self.backfill_order) if other in queue[place + 1 :]]
                fitting = ((other, room.take(other, self.now)) for other in behind)
                return next(((other, taken, False) for other, taken in fitting if taken is not None), None)
        return None


@dataclass
class Room:
    """The cores of machines that are on, by when these go: how many, and their uses."""

    now: float
    sizes: dict[float, int]
    uses: dict[float, list[Use]]

    def free(self, goes: float, start: float, end: float) -> int:
        """Return how many cores are free from an instant to another."""
        instants = [start, *(use[0] for use in self.uses[goes] if start < use[0] < end)]
        used = (sum(cores for low, high, cores in self.uses[goes] if low <= at < high) for at in instants)
        return self.sizes[goes] - max(used)

    def take(self, row: Row, start: float) -> dict[float, int] | None:
        """Return the cores that a job gets that starts then, those that go first; None if it cannot."""
        end, left, taken = until(row, start), row.cores, {}
        for goes in sorted(self.sizes):
            if goes >= end and left:
                taken[goes] = min(left, self.free(goes, start, end))
                left -= taken[goes]
        return None if left else taken

    def reserve(self, row: Row) -> None:
        """Keep cores for a job from the first instant at which it can have them."""
        instants = {self.now} | {at for each in self.uses.values() for use in each for at in use[:2]}
        for start in sorted(instants - {math.inf}):
            taken = self.take(row, start)
            if taken is not None:
                for goes, cores in taken.items():
                    self.uses[goes].append((start, until(row, start), cores))
                return


def until(row: Row, start: float) -> float:
    """Return when a job ends that starts then; one of no length has its cores for an instant."""
    return max(start + row.length, math.nextafter(start, math.inf))


def simulate(
    rows: list[Row],
    sizes: Sequence[int],
    spans: list[Span],
    checkpoints: tuple[float, float, float] = (math.inf, 0.0, 0.0),
    *,
    backfilling: str,
    order: str,
    backfill_order: str,
    speeds: Sequence[float] = (),
    **options: Any,  # noqa: ANN401  as `Naive` has them
) -> None:
    """Simulate the jobs, which write checkpoints (interval, cost, restart); `runs` says when they ran."""
    options["speeds"] = speeds or [1.0] * len(sizes)
    Naive(sizes, spans, backfilling, order, backfill_order, *checkpoints, **options).run(rows)
