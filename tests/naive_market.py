"""A second auction, written from the rules alone, as plainly as can be; both engines must equal it.

Its rules may change at given instants, and machines of its clusters may be off in given spans: what runs there is lost.

It keeps Python lists, computes every bid at every instant, and shares no code with `simmodels.passes`,
`simmodels.replay`, `simmodels.entities`, `simmodels.work.graph` or `simmodels.work.curve`. It is slow; use it for a
few dozen tasks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simmodels.work.workflow import Workflow

INF = math.inf
Points = tuple[tuple[float, float], ...]
BIDS: Final = (
    *("FIFO", "SRTF", "LRTF", "P-SLR", "P-SLR:by-kind", "P-SLR:plain", "PV", "PVD", "PVDSQ", "PVDSQ:literal"),
    *("PVDSQ:rank", "EDF", "EDF:initial", "EDF:task", "PVR", "PVR:zero-first", "PVR:bare"),
)
"""The bids that it knows."""


@dataclass
class NaiveTask:
    job: int
    number: int
    runtime: float
    cores: int
    kind: str | None
    before: list["NaiveTask"] = field(default_factory=list)
    after: list["NaiveTask"] = field(default_factory=list)
    rank: float = 0.0
    volume: float = 0.0
    follows: float = 0.0
    start: float | None = None
    until: float = INF  # when it ends, if it runs
    end: float | None = None
    cluster: int | None = None
    left: float = math.nan  # work that no checkpoint saved, if one did
    back: float = 0.0  # what coming back to that takes
    places: dict[int, int] = field(default_factory=dict)  # machine and cores
    lost: list[float] = field(default_factory=list)  # when it lost its machine
    price: float | None = None
    gone: bool = False
    queued_at: float | None = None

    @property
    def ended(self) -> bool:
        return self.end is not None


def factor(points: Points, slr: float) -> float:
    if slr <= points[0][0]:
        return 1.0
    if slr >= points[-1][0]:
        return 0.0
    k = sum(x <= slr for x, _ in points) - 1
    (x0, y0), (x1, y1) = points[k], points[k + 1]
    return y0 + (slr - x0) / (x1 - x0) * (y1 - y0)


def area(points: Points, slr: float) -> float:
    if slr >= points[-1][0] and slr >= points[0][0]:
        return 0.0
    if slr < points[0][0]:
        return (points[0][0] - slr) + area(points, points[0][0])
    k = sum(x <= slr for x, _ in points) - 1
    total, (x, y) = 0.0, (slr, factor(points, slr) if slr > points[0][0] else points[k][1])
    for x1, y1 in points[k + 1 :]:
        total += (x1 - x) * (y + y1) / 2
        x, y = x1, y1
    return total


class NaiveAuction:
    """Runs when made; `tasks`, `state` and `columns` then say what happened."""

    def __init__(
        self,
        workflows: list[Workflow],
        clusters: list[tuple[int, str | None]],
        bid: str,
        *,
        ccr: float = 0.2,
        network: str = "cluster",
        blocking: str = "kind",
        successor_sum: str = "recursive",
        plus_one: bool = False,
        backfilling: str = "none",
        cluster_fit: str = "freest",
        end: str = "drain",
        instants: str = "deadlines",
        changes: Sequence[tuple[float, dict[str, Any]]] = (),
        wakes: bool = False,
        machines: int = 1,
        speeds: Sequence[float] = (1.0, 1.0, 1.0),
        checkpoints: tuple[float, float, float] = (INF, 0.0, 0.0),  # interval, cost, and what coming back takes
        spans: Sequence[tuple[int, int, float, float]] = (),  # cluster, machine, when it is off, when on again
    ) -> None:
        self.spans, self.speeds, self.checkpoints = spans, speeds, checkpoints
        self.room = [[cores // machines] * machines for cores, _ in clusters]  # free cores of each machine
        self.changes = list(changes)
        self.wakes = [at for at, _ in changes] if wakes else []
        self.flows, self.clusters, self.bid = workflows, clusters, bid
        self.ccr, self.network, self.blocking, self.sum = ccr, network, blocking, successor_sum
        self.plus, self.backfilling, self.instants = float(plus_one), backfilling, instants
        self.fit = cluster_fit
        self.free = [cores for cores, _ in clusters]
        self.tasks = [
            [NaiveTask(j, i, t.runtime_s, t.cores, t.kind) for i, t in enumerate(flow.tasks)]
            for j, flow in enumerate(workflows)
        ]
        self.state = ["expected"] * len(workflows)
        for flow, tasks in zip(workflows, self.tasks, strict=True):
            for a, b in flow.edges.tolist():
                tasks[a].after.append(tasks[b])
                tasks[b].before.append(tasks[a])
            for task in tasks:
                task.volume = task.runtime * task.cores
            for task in tasks:
                task.rank = self._rank(task)
                task.follows = self._follows(task)
        self.path = [max(task.rank for task in tasks) for tasks in self.tasks]
        self.deadline = [f.submit_s + f.curve.final * p for f, p in zip(workflows, self.path, strict=True)]
        self.last = max((flow.submit_s for flow in workflows), default=0.0) if end == "submit" else INF
        now = -INF
        while (now := self._next(now)) < INF and now <= self.last:
            self._instant(now)

    def columns(self) -> dict[str, list[float]]:
        """Return start, end and cluster of each task, as a schedule has them."""
        return {
            "start_s": [math.nan if task.start is None else task.start for task in self._all()],
            "end_s": [math.nan if task.end is None else task.end for task in self._all()],
            "cluster": [-1 if task.cluster is None else task.cluster for task in self._all()],
        }

    # -- what is derived

    def _takes(self, kind: str | None) -> list[int]:
        return [x for x, (_, of) in enumerate(self.clusters) if of is None or kind is None or of == kind]

    def _delay(self, task: NaiveTask) -> float:
        return float(math.ceil(self.ccr * task.runtime))

    def _apart(self, a: NaiveTask, b: NaiveTask) -> bool:
        return not set(self._takes(a.kind)) & set(self._takes(b.kind))

    def _rank(self, task: NaiveTask) -> float:
        travel = self.network != "none"
        ways = [self._rank(b) + (self._delay(task) if travel and self._apart(task, b) else 0.0) for b in task.after]
        return task.runtime + max(ways, default=0.0)

    def _follows(self, task: NaiveTask) -> float:
        if self.sum == "recursive":
            return task.volume + sum(self._follows(b) for b in task.after)
        seen: list[NaiveTask] = []
        stack = [task]
        while stack:
            at = stack.pop()
            if not any(at is each for each in seen):
                seen.append(at)
                stack.extend(at.after)
        return sum(each.volume for each in seen)

    def _there(self, task: NaiveTask, cluster: int) -> float:
        """Return when the data of a task whose predecessors have ended are on a cluster."""
        at = self.flows[task.job].submit_s
        for sender in task.before:
            if self.network == "cluster":
                way = 0.0 if sender.cluster == cluster else self._delay(sender)
            else:
                way = self._delay(sender) if self.network == "kind" and self._apart(sender, task) else 0.0
            at = max(at, sender.end + way)
        return at

    # -- the event loop

    def _all(self) -> list[NaiveTask]:
        return [task for tasks in self.tasks for task in tasks]

    def _next(self, now: float) -> float:
        times = [*self.wakes, *(flow.submit_s for flow in self.flows), *(at for span in self.spans for at in span[2:])]
        for job, at in enumerate(self.deadline):
            if at < INF and (self.instants == "deadlines" or self.state[job] == "active"):
                times.append(float(math.ceil(at)))
        for task in self._all():
            if task.start is not None:
                times.append(task.until)
            # Data are on their way as soon as the last predecessor has ended while its job was alive.
            if task.queued_at is not None:
                times += [self._there(task, x) for x in self._takes(task.kind)]
        return min((time for time in times if time > now), default=INF)

    def _instant(self, now: float) -> None:
        for task in self._all():
            if task.start is not None and not task.ended and task.until == now:
                task.end = now
                self._leave(task)
        self._power(now)
        for job in range(len(self.flows)):
            if self.state[job] == "active":
                self._look_at(job, now)
        for job, flow in enumerate(self.flows):
            if flow.submit_s == now:
                self.state[job] = "active"
                for task in self.tasks[job]:
                    if not task.before:
                        task.queued_at = now
        self._change_rules(now)
        kinds = sorted({self._line(task.kind) for task in self._all()}) if self.blocking == "kind" else [None]
        overall = self._longest(self._queue(now, None))
        for kind in kinds:
            self._auction(now, kind, overall)

    def _leave(self, task: NaiveTask) -> None:
        """Free the cores of a task on machines that are on."""
        for machine, cores in task.places.items():
            self.room[task.cluster][machine] += cores
        task.places = {}

    def _is_off(self, cluster: int, machine: int, now: float) -> bool:
        return any((x, m) == (cluster, machine) and off <= now < on for x, m, off, on in self.spans)

    def _power(self, now: float) -> None:
        """Lose what runs where a machine is off, and count the cores of those that are on."""
        for task in self._all():
            if any(self._is_off(task.cluster, machine, now) for machine in task.places):
                self._leave(task)
                self._save(task, now)
                task.lost.append(now)
                task.start = task.cluster = None
                task.gone = self.state[task.job] != "active"
        self.free = [
            sum(cores for m, cores in enumerate(room) if not self._is_off(x, m, now))
            for x, room in enumerate(self.room)
        ]

    def _lasts(self, task: NaiveTask, cluster: int) -> float:
        """Return how long a task would run on a cluster: a checkpoint comes after each interval but the last."""
        interval, cost, _ = self.checkpoints
        work = task.runtime if math.isnan(task.left) else task.left
        writes = math.ceil(work / interval) - 1 if interval < INF else 0
        return task.back + work / self.speeds[cluster] + writes * cost

    def _save(self, task: NaiveTask, now: float) -> None:
        """Note what is left of a task that is lost: its whole intervals are saved."""
        interval, cost, back = self.checkpoints
        speed, worked = self.speeds[task.cluster], now - task.start - task.back
        count = int(worked // (interval / speed + cost)) if interval < INF and worked > 0 else 0
        if count:
            task.left = (task.runtime if math.isnan(task.left) else task.left) - count * interval
            task.back = back

    def _enter(self, task: NaiveTask, cluster: int, now: float) -> None:
        """Start a task on the lowest machines with free cores."""
        task.start, task.cluster, left = now, cluster, task.cores
        task.until = now + self._lasts(task, cluster)
        self.free[cluster] -= task.cores
        for machine, cores in enumerate(self.room[cluster]):
            taken = 0 if self._is_off(cluster, machine, now) else min(cores, left)
            if taken:
                task.places[machine] = taken
                self.room[cluster][machine] -= taken
                left -= taken

    def _change_rules(self, now: float) -> None:
        while self.changes and self.changes[0][0] <= now:
            rules = self.changes.pop(0)[1]
            self.bid, self.blocking, self.backfilling = rules["bid"], rules["blocking"], rules["backfilling"]
            self.plus = float(rules["plus_one"])

    def _look_at(self, job: int, now: float) -> None:
        """Let tasks of a job be ready, and the job be done or starve."""
        tasks = self.tasks[job]
        for task in tasks:
            if task.queued_at is None and all(sender.ended for sender in task.before):
                task.queued_at = min(self._there(task, x) for x in self._takes(task.kind))
        if all(task.ended for task in tasks):
            slr = (now - self.flows[job].submit_s) / self.path[job]
            self.state[job] = "starved" if slr >= self.flows[job].curve.final else "finished"
        elif now >= self.deadline[job]:
            self.state[job] = "starved"
            for task in tasks:
                task.gone = task.start is None

    # -- the auction

    def _line(self, kind: str | None) -> tuple[int, str]:
        """Return the line of a task: its kind; one for all kinds that no cluster is of, and one for tasks of any."""
        if kind is None:
            return (2, "")
        return (0, kind) if any(of == kind for _, of in self.clusters) else (1, "")

    def _queue(self, now: float, kind: tuple[int, str] | None) -> list[NaiveTask]:
        return [
            task
            for task in self._all()
            if task.queued_at is not None
            and task.queued_at <= now
            and task.start is None
            and not task.gone
            and (kind is None or self._line(task.kind) == kind)
        ]

    def _longest(self, queue: list[NaiveTask]) -> float:
        return max((self.path[task.job] for task in queue), default=0.0)

    def _auction(self, now: float, kind: tuple[int, str] | None, overall: float) -> None:
        queue = self._queue(now, kind)
        longest = self._longest(queue) if self.bid == "P-SLR:by-kind" else overall
        bids = sorted((self._key(task, now, longest), task.job, task.number) for task in queue)
        held: tuple[float, int] | None = None  # when the first that does not fit will start, and where
        extra = 0  # cores that are left there then
        for turn, (_, job, number) in enumerate(bids):
            task = self.tasks[job][number]
            there = [x for x in self._takes(task.kind) if self._there(task, x) <= now]
            if held is not None and held[0] < now + self._lasts(task, held[1]) and task.cores > extra:
                there = [x for x in there if x != held[1]]
            best = max(there, key=lambda x: (self.free[x], -x), default=None)
            fitting = [x for x in there if self.free[x] >= task.cores]
            if self.fit == "best" and fitting:
                best = min(fitting, key=lambda x: (self.free[x], x))
            if best is not None and self.free[best] >= task.cores:
                if held is not None and best == held[1] and now + self._lasts(task, best) > held[0]:
                    extra -= task.cores
                self._enter(task, best, now)
                if self.backfilling == "none":  # a price is that of the next in line
                    task.price = bids[turn + 1][0] if turn + 1 < len(bids) else 0.0
            elif self.backfilling == "none":
                return
            elif self.backfilling == "easy" and held is None:
                first = min((self._first_start(task, x, now), x) for x in self._takes(task.kind))
                if first[0] < INF:  # else it is wider than what is on: the next in line may have the reservation
                    held = first
                    extra = self._free_at(held[1], held[0]) - task.cores

    def _free_at(self, cluster: int, at: float) -> int:
        """Return the free cores of a cluster at an instant to come, if nothing else starts."""
        runs = [t for t in self._all() if t.start is not None and not t.ended and t.cluster == cluster]
        return self.free[cluster] + sum(t.cores for t in runs if t.until <= at)

    def _first_start(self, task: NaiveTask, cluster: int, now: float) -> float:
        """Return when a task could start on a cluster, if nothing else does."""
        first = max(now, self._there(task, cluster))
        ends = [t.until for t in self._all() if t.start is not None and not t.ended]
        times = sorted({first, *(at for at in ends if at > first)})
        return next((at for at in times if self._free_at(cluster, at) >= task.cores), INF)

    def _key(self, task: NaiveTask, now: float, longest: float) -> float:
        flow, path = self.flows[task.job], self.path[task.job]
        points, most = flow.curve.points, flow.most_value
        wait = now - flow.submit_s
        slr = (task.rank + wait + self.plus) / path
        worth = most * factor(points, slr)
        rest = area(points, slr)
        p_slr = -((task.rank + wait + 1) / path + math.floor(wait / longest) ** 2)
        keys = {
            "FIFO": flow.submit_s,
            "SRTF": task.rank,
            "LRTF": -task.rank,
            "P-SLR": p_slr,
            "P-SLR:by-kind": p_slr,
            "PV": -worth,
            "PVD": -worth / task.follows,
            "PVDSQ": -worth / task.follows**2,
            "PVDSQ:literal": -((worth / task.follows) ** 2),
            "PVDSQ:rank": -worth / task.rank**2,
            "EDF": self.deadline[task.job],
            "EDF:initial": flow.submit_s + flow.curve.initial * path,
            "EDF:task": self.deadline[task.job] - task.rank,
            "PVR": most * rest if rest > 0 else INF,
            "PVR:zero-first": most * rest,
            "PVR:bare": rest if rest > 0 else INF,
            "P-SLR:plain": -slr,
        }
        return keys[self.bid]
