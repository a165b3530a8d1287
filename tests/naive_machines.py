"""A queue on machines that are switched on and off: written for clarity only, and compared with `QueueScheduler`.

Machines are off in spans that are known: (machine, notice_s, off_s, on_s). From its notice on, a machine takes only
jobs that end by their estimates before it goes; what runs there when it goes is lost, and waits again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

Span = tuple[int, float, float, float]
Use = tuple[float, float, int]  # from, until, cores

ORDERS: dict[str, Callable[["Row"], float]] = {
    "FCFS": lambda row: row.submit,
    "SAF": lambda row: row.estimate * row.cores,
    "LQF": lambda row: -row.cores,
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
    done: bool = False


@dataclass
class Naive:
    """The machines, and who waits and runs."""

    sizes: list[int]
    spans: list[Span]
    backfilling: str
    order: str
    backfill_order: str
    waiting: list[Row] = field(default_factory=list)
    running: list[Row] = field(default_factory=list)
    now: float = 0.0

    def is_off(self, machine: int) -> bool:
        return any(m == machine and off <= self.now < on for m, _, off, on in self.spans)

    def goes(self, machine: int) -> float:
        """Return when a machine goes, as far as is known now."""
        known = [off for m, told, off, _ in self.spans if m == machine and told <= self.now < off]
        return min(known, default=math.inf)

    def free(self, machine: int) -> int:
        return self.sizes[machine] - sum(row.places.get(machine, 0) for row in self.running)

    def run(self, rows: list[Row]) -> None:
        instants = {row.submit for row in rows} | {at for span in self.spans for at in span[1:] if at >= 0}
        while instants:
            self.now = min(instants)
            instants -= {self.now}
            for row in [row for row in self.running if row.runs[-1][1] <= self.now]:
                self.running.remove(row)
                row.done = True
            for row in [row for row in self.running if any(self.is_off(machine) for machine in row.places)]:
                self.running.remove(row)
                row.runs[-1], row.places = (row.runs[-1][0], self.now), {}
                self.waiting.append(row)
            self.waiting += [row for row in rows if row.submit == self.now]
            self.decide()
            instants |= {row.runs[-1][1] for row in self.running}

    def decide(self) -> None:
        """Start one job after the other, until none starts."""
        while True:
            found = self.first_to_start()
            if found is None:
                return
            row, classes = found
            left = dict(classes)
            for machine in range(len(self.sizes)):
                goes = self.goes(machine)
                taken = 0 if self.is_off(machine) else min(self.free(machine), left.get(goes, 0))
                if taken:
                    row.places[machine] = taken
                    left[goes] -= taken
            self.waiting.remove(row)
            self.running.append(row)
            row.runs.append((self.now, self.now + row.runtime))

    def room(self) -> "Room":
        """Return what is free, by when it goes."""
        room = Room(self.now, {}, {})
        for machine, size in enumerate(self.sizes):
            if self.is_off(machine):
                continue
            goes = self.goes(machine)
            room.sizes[goes] = room.sizes.get(goes, 0) + size
            uses = room.uses.setdefault(goes, [])
            for row in self.running:
                end = max(row.runs[-1][0] + row.estimate, math.nextafter(self.now, math.inf))
                if self.backfilling in {"none", "greedy"} or end > goes:
                    end = math.inf
                if machine in row.places:
                    uses.append((self.now, end, row.places[machine]))
        return room

    def first_to_start(self) -> tuple[Row, dict[float, int]] | None:
        """Return who starts next, and how many cores it gets by when these go."""
        room = self.room()
        queue = sorted(self.waiting, key=lambda row: (ORDERS[self.order](row), row.number))
        for place, row in enumerate(queue):
            taken = room.take(row, self.now)
            if taken is not None:
                return row, taken
            if self.backfilling == "none":
                return None
            if self.backfilling != "greedy":
                room.reserve(row)
            if self.backfilling == "easy":
                behind = sorted(queue[place + 1 :], key=lambda row: (ORDERS[self.backfill_order](row), row.number))
                fitting = ((other, room.take(other, self.now)) for other in behind)
                return next(((other, taken) for other, taken in fitting if taken is not None), None)
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
    return max(start + row.estimate, math.nextafter(start, math.inf))


def simulate(
    rows: list[Row], sizes: list[int], spans: list[Span], *, backfilling: str, order: str, backfill_order: str
) -> None:
    """Simulate the jobs; `runs` says when they ran."""
    Naive(sizes, spans, backfilling, order, backfill_order).run(rows)
