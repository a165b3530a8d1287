"""Variable capacity, slowly: every rule as the sentence that states it; what the fast code must equal.

After Perotin et al. (2023), sections 3 and 4. Nothing here is shared with `simmodels`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Reservation = tuple[float, float, int, int]  # start, end, cores, job


def category(reference: list[tuple[float, int]], length: float, side: str = "ge", cap: float = math.inf) -> float:
    """Return the share of the reference's work that is in jobs at least as long (gt: longer)."""
    area = [(min(w, cap), min(w, cap) * c) for w, c in reference]
    length = min(length, cap)
    if side == "thousandths":
        return _in_thousandths(area, length)
    longer = sum(a for w, a in area if (w >= length if side == "ge" else w > length))
    return longer / sum(a for _, a in area)


def usage(reservations: list[Reservation], at: float) -> int:
    return sum(c for s, e, c, _ in reservations if s <= at < e)


def earliest(reservations: list[Reservation], size: int, now: float, length: float, cores: int) -> float:
    """Return the earliest start >= now with `cores` of `size` cores free for the whole length."""
    for start in sorted({now, *(e for _, e, _, _ in reservations if e > now)}):
        inside = [start, *(s for s, _, _, _ in reservations if start < s < start + length)]
        if all(usage(reservations, at) + cores <= size for at in inside):
            return start
    raise AssertionError


def _in_thousandths(area: list[tuple[float, float]], length: float) -> float:
    """Return the share as the authors' program has it, from the 999 thousandths of the work, in order of length."""
    whole, sums = sum(a for _, a in area), 0.0
    marks: list[float] = []
    for w, a in sorted(area):
        sums += a
        marks += [w] * (sum(k / 1000 <= sums / whole for k in range(1, 1000)) - len(marks))
    if length == marks[-1]:
        return 1.0  # as it does
    return 1 - sum(mark <= length for mark in marks) / 1000


KEYS: dict[str, Callable[[float, float, int, float], float]] = {  # of release, length, cores, and the instant
    "FCFS": lambda *_: 0.0,
    "LPF": lambda _, length, *__: -length,
    "SAF": lambda _, length, cores, __: length * cores,
    "impatient": lambda release, length, _, now: length - 2.0 * (now - release),
}


@dataclass
class Run:
    job: int
    machine: int
    start: float
    end: float
    outcome: str = "running"


@dataclass
class Naive:
    """Jobs (release, length, cores) in input order, on machines: capacity is [(time, machines), ...]."""

    jobs: list[tuple[float, float, int]]
    capacity: list[tuple[float, int]]
    size: int
    heuristic: str
    begin: float
    end: float
    least: int = 1
    reference: list[tuple[float, int]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    fill_order: list[int] | None = None
    turns: list[tuple[float, str, dict[str, Any]]] = field(default_factory=list)  # to another heuristic, other options

    def __post_init__(self) -> None:
        self.option = {
            "dispatch": "event",
            "order": "FCFS",
            "distance": 11,
            "raise_above": 0.95,
            "lower_below": 0.8,
            "initial_use": "least",
            "stay_on_target": False,
            "requeue_immediate": True,
            "alternative": "earliest",
            "longest_stretch": "planned",
            "bound": "used",
            "nearer_first": "right",
            "replan_on_add": "always",
            "packing": "packs",
            "pack_size": 5,
            "category": "ge",
            "length_cap_s": 604_800,
            **self.options,
        }
        self.targeted = not self.heuristic.startswith("FirstFit")
        most = max(m for _, m in self.capacity)
        self.fill = self.fill_order or list(range(most))
        self.alive = [m for t, m in self.capacity if t <= self.begin][-1]
        self.running: list[Run] = []
        self.attempts: list[Run] = []
        self.waiting: list[int] = []
        self.planned: dict[int, tuple[float, int]] = {}  # job: start, machine
        self.stretch = 1.0
        use = self.least if self.option["initial_use"] == "least" else (self.alive + self.least) // 2
        self.use = min(max(use, 1), self.alive)

    # -- what both kinds of scheduler have ------------------------------------------------------------

    def free(self, machine: int) -> int:
        return self.size - sum(self.jobs[r.job][2] for r in self.running if r.machine == machine)

    def begin_run(self, job: int, machine: int, now: float, length: float | None = None) -> None:
        _, whole, _ = self.jobs[job]
        run = Run(job, machine, now, now + (whole if length is None else length))
        self.running.append(run)
        self.attempts.append(run)

    def simulate(self) -> "Naive":
        self.warm()
        changes = [(t, m) for t, m in self.capacity if t > self.begin]
        arrivals = sorted((r, j) for j, (r, _, _) in enumerate(self.jobs) if self.begin <= r < self.end)
        while True:
            times = [r.end for r in self.running] + [s for s, _ in self.planned.values()]
            times += [t for t, _ in changes[:1]] + [t for t, _ in arrivals[:1]] + [t for t, _, _ in self.turns[:1]]
            now = min(times, default=math.inf)
            if now > self.end:
                return self
            for run in [r for r in self.running if r.end == now]:  # in the order they started
                self.running.remove(run)
                run.outcome = "done"
                self.completed(run, now)
            if changes and changes[0][0] == now:
                _, machines = changes.pop(0)
                if machines != self.alive:
                    self.change(machines, now)
            if self.turns and self.turns[0][0] == now:
                self.turn(*self.turns.pop(0))
            if not self.targeted and self.option["dispatch"] == "event":  # else it decides once, after what comes now
                self.fill_machines(now)
            new = [job for release, job in arrivals if release == now]
            del arrivals[: len(new)]
            self.arrive(new, now)
            for job in sorted(j for j, (s, _) in self.planned.items() if s == now):
                _, machine = self.planned.pop(job)
                self.begin_run(job, machine, now)
                self.update()

    def warm(self) -> None:
        for job, (release, length, cores) in enumerate(self.jobs):
            if release < self.begin < release + length:
                for machine in range(self.alive) if self.targeted else self.by_fit():
                    if self.free(machine) >= cores:
                        self.begin_run(job, machine, self.begin, length - (self.begin - release))
                        break
        if self.targeted and self.attempts:
            self.update()

    def change(self, machines: int, now: float) -> None:
        before, self.alive = self.alive, machines
        killed = [r for r in self.running if r.machine >= machines]
        for run in sorted(killed, key=lambda r: r.job):
            self.running.remove(run)
            run.end, run.outcome = now, "killed"
        if self.targeted:
            self.replan([r.job for r in killed], before, now)
        else:
            self.waiting = self.in_order([*self.waiting, *(r.job for r in killed)])
            if self.option["dispatch"] == "event":
                self.fill_machines(now)

    def turn(self, now: float, heuristic: str, options: dict[str, Any]) -> None:
        """Go over to another heuristic: all that waits is placed again."""
        waiting = self.in_order([*self.waiting, *self.planned])
        was_targeted, self.targeted = self.targeted, heuristic != "FirstFit"
        self.heuristic = heuristic
        self.option.update(options)
        self.fill = self.option.get("fill_order", self.fill)
        self.waiting = [] if self.targeted else waiting
        self.planned.clear()
        if not self.targeted:
            return
        if not was_targeted:
            self.stretch = 1.0
            use = self.least if self.option["initial_use"] == "least" else (self.alive + self.least) // 2
            self.use = min(max(use, 1), self.alive)
        for job in waiting:
            self.place(job, now, fresh=False)
        self.update()

    def in_order(self, jobs: list[int]) -> list[int]:
        return sorted(jobs, key=lambda j: (self.jobs[j][0], j))

    # -- first fit ------------------------------------------------------------------------------------

    def on_in_fill_order(self) -> list[int]:
        return [m for m in self.fill if m < self.alive]

    def by_fit(self) -> list[int]:
        """Return the machines that are on, in the order in which a job asks them."""
        machines = self.on_in_fill_order()
        return sorted(machines, key=self.free) if self.option.get("fit") == "best" else machines

    def completed(self, run: Run, now: float) -> None:
        if self.targeted:
            if self.option["longest_stretch"] == "completed":
                self.note_stretch(run.job, run.end)
            self.update()
        elif self.option["dispatch"] == "event":
            for job in self.queue(now):
                if self.jobs[job][2] <= self.free(run.machine):
                    self.waiting.remove(job)
                    self.begin_run(job, run.machine, now)

    def queue(self, now: float) -> list[int]:
        """Return who waits, by the order as it is now, then by submission."""
        order = self.option["order"]
        key = KEYS[getattr(order, "name", order)]
        return sorted(self.in_order(self.waiting), key=lambda j: key(*self.jobs[j], now))

    def fill_machines(self, now: float) -> None:
        for job in self.queue(now):
            self.first_fit(job, now)

    def arrive(self, new: list[int], now: float) -> None:
        if not self.targeted:
            self.waiting += new
            self.fill_machines(now)
            return
        for job in new:
            self.place(job, now, fresh=True)
            self.update()

    def first_fit(self, job: int, now: float) -> None:
        for machine in self.by_fit():
            if self.jobs[job][2] <= self.free(machine):
                self.waiting.remove(job)
                self.begin_run(job, machine, now)
                return

    # -- targets --------------------------------------------------------------------------------------

    def reservations(self, machine: int) -> list[Reservation]:
        runs = [(r.start, r.end, self.jobs[r.job][2], r.job) for r in self.running if r.machine == machine]
        return runs + [
            (s, s + self.jobs[j][1], self.jobs[j][2], j) for j, (s, m) in self.planned.items() if m == machine
        ]

    def used(self, machine: int) -> float:
        """Return u(m): 1 if something is planned on it, else the share of its cores that are running."""
        if any(m == machine for _, m in self.planned.values()):
            return self.size
        return self.size - self.free(machine)

    def share(self) -> float:
        return sum(self.used(m) / self.size for m in range(self.use)) / self.use

    def update(self) -> None:
        if not self.alive:
            return
        self.use = max(self.use, 1)
        if self.share() > self.option["raise_above"]:
            while self.share() > self.option["raise_above"] and self.use < self.alive:
                self.use += 1
        else:
            while self.share() < self.option["lower_below"] and self.use > max(self.least, 1):
                self.use -= 1

    def target(self, job: int) -> int:
        share = category(self.reference, self.jobs[job][1], self.option["category"], self.option["length_cap_s"])
        plain = min(math.floor(share * self.use), self.use - 1)
        if not self.heuristic.startswith("Packed"):
            return plain
        pack = self.option["pack_size"]
        if self.option["packing"] == "packs":
            packs = max(1, self.use // pack)
            return pack * min(math.floor(share * packs), packs - 1)
        if self.option["packing"] == "floor":
            return pack * (plain // pack)
        return min(pack * ((plain + pack // 2) // pack), self.use - 1)

    def window(self, target: int) -> list[int]:
        bound = self.use if self.option["bound"] == "used" else self.alive
        sides = (1, -1) if self.option["nearer_first"] == "right" else (-1, 1)
        near = [target + side * d for d in range(1, self.option["distance"] + 1) for side in sides]
        return [m for m in near if 0 <= m < bound]

    def note_stretch(self, job: int, end: float) -> None:
        release, length, _ = self.jobs[job]
        self.stretch = max(self.stretch, (end - release) / length)

    def place(self, job: int, now: float, *, fresh: bool) -> None:
        release, length, cores = self.jobs[job]
        if not self.alive:
            self.planned[job] = (math.inf, -1)
            return
        target = self.target(job)
        window = self.window(target)
        starts = {m: earliest(self.reservations(m), self.size, now, length, cores) for m in [target, *window]}

        def stays(machine: int) -> bool:
            return (starts[machine] + length - release) / length <= self.stretch + 1e-12

        asap = self.heuristic != "TargetStretch"
        by_index = asap and not self.option["stay_on_target"]
        least = min(starts.values())
        tied = [m for m in [target, *window] if starts[m] == least]
        alternative = target if target in tied else min(tied) if by_index else tied[0]
        now_in_window = [m for m in window if starts[m] == now]
        if starts[target] == now:
            chosen = target
        elif asap and now_in_window and (fresh or self.option["requeue_immediate"]):
            chosen = now_in_window[0]
        elif (not asap or self.option["stay_on_target"]) and stays(target):
            chosen = target
        elif not asap and self.option["alternative"] == "first" and any(stays(m) for m in window):
            chosen = next(m for m in window if stays(m))
        else:
            chosen = alternative
        if self.option["longest_stretch"] == "planned":
            self.note_stretch(job, starts[chosen] + length)
        if starts[chosen] == now:
            self.begin_run(job, chosen, now)
        else:
            self.planned[job] = (starts[chosen], chosen)

    def replan(self, killed: list[int], before: int, now: float) -> None:
        if self.alive < before:
            self.use = min(self.use, self.alive)
        else:
            full = before == 0 or (self.use == before and self.share() > self.option["raise_above"])
            self.update()
            if self.option["replan_on_add"] == "util" and not full:
                return
        again = self.in_order([*killed, *self.planned])
        self.planned.clear()
        for job in again:
            self.place(job, now, fresh=False)
        self.update()
