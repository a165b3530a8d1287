"""Static list scheduling of one workflow: HEFT, CPOP and PEFT, with insertion.

These plan a whole workflow before it starts, on an empty platform, and know every runtime: a yardstick for an auction,
which knows nothing of what is to come. The `Problem` is that of the literature: a cost for each task and processor,
a delay for each edge between processors. `static_schedule` puts a workflow on clusters of many cores, by kinds and
transfer delays.

References
----------
Topcuoglu, Hariri, Wu 2002, doi 10.1109/71.993206 (HEFT, CPOP); Arabnejad, Barbosa 2014, doi 10.1109/TPDS.2013.57
(PEFT).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simmodels.clusters.cluster_spec import ClusterSpec, Terms
from simmodels.errors import ImpossibleJobError, require_known
from simmodels.ground.arguments import as_instance, as_tuple
from simmodels.ground.durations import Duration, as_seconds
from simmodels.results.schedule import Schedule
from simmodels.work import graph
from simmodels.work.workflow import Workflow, delays
from simmodels.work.workload import Workload

Method = Literal["HEFT", "CPOP", "PEFT"]
_TIE: Final = 1e-9  # ranks are sums of averages, which rounding makes differ where they are equal


@dataclass(frozen=True, eq=False)
class Problem:
    """Tasks to be put on unlike processors.

    Parameters
    ----------
    cost
        float64[tasks, processors], how long each task runs on each processor; infinity where it cannot, and finite on
        one at least.
    edges
        int64[edges, 2], pairs (i, j) of task numbers, without a cycle: task j needs the data of task i.
    delay
        float64[edges], how long these data travel from one processor to any other.
    cores
        int64[tasks], how many cores of a processor each task needs.
    size
        int64[processors], how many cores each processor has.
    """

    cost: NDArray[np.float64]
    edges: NDArray[np.int64]
    delay: NDArray[np.float64]
    cores: NDArray[np.int64]
    size: NDArray[np.int64]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Return the tasks with each before its successors."""
        rows = graph.rows_of(len(self.cost), self.edges[:, 0].copy(), self.edges[:, 1].copy())
        return np.asarray(graph.topological(*rows))

    @cached_property
    def successors(self) -> list[list[tuple[int, float]]]:
        """Return by task its successors, each with the delay of the data."""
        return self._neighbours(0, 1)

    @cached_property
    def predecessors(self) -> list[list[tuple[int, float]]]:
        """Return by task its predecessors, each with the delay of the data."""
        return self._neighbours(1, 0)

    def _neighbours(self, of: int, to: int) -> list[list[tuple[int, float]]]:
        rows: list[list[tuple[int, float]]] = [[] for _ in self.cost]
        for edge, delay in zip(self.edges.tolist(), self.delay.tolist(), strict=True):
            rows[edge[of]].append((edge[to], delay))
        return rows

    @cached_property
    def mean_cost(self) -> NDArray[np.float64]:
        """Return float64[tasks], the mean cost over the processors that can run each task."""
        return self._mean(self.cost)

    def _mean(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        can = np.isfinite(self.cost)
        return np.asarray(np.where(can, table, 0.0).sum(axis=1) / can.sum(axis=1))

    @cached_property
    def upward_rank(self) -> NDArray[np.float64]:
        """Return float64[tasks], the mean longest way to the end (Topcuoglu et al. 2002, equation 8)."""
        rank = np.zeros(len(self.cost))
        for task in self.order[::-1].tolist():
            rest = max((delay + rank[other] for other, delay in self.successors[task]), default=0.0)
            rank[task] = self.mean_cost[task] + rest
        return rank

    @cached_property
    def downward_rank(self) -> NDArray[np.float64]:
        """Return float64[tasks], the mean longest way from the beginning (Topcuoglu et al. 2002, equation 9)."""
        rank = np.zeros(len(self.cost))
        for task in self.order.tolist():
            ways = (rank[other] + self.mean_cost[other] + delay for other, delay in self.predecessors[task])
            rank[task] = max(ways, default=0.0)
        return rank

    @cached_property
    def optimistic_cost(self) -> NDArray[np.float64]:
        """Return float64[tasks, processors], PEFT's table: what is left at best after a task on a processor.

        Equation 4 of Arabnejad and Barbosa 2014; infinity where the task cannot run.
        """
        table = np.zeros_like(self.cost)
        processors = np.arange(self.cost.shape[1])
        for task in self.order[::-1].tolist():
            for other, delay in self.successors[task]:
                ways = table[other] + self.cost[other] + np.where(processors[:, None] == processors, 0.0, delay)
                table[task] = np.maximum(table[task], ways.min(axis=1))
        table[np.isinf(self.cost)] = np.inf
        return table

    @cached_property
    def peft_rank(self) -> NDArray[np.float64]:
        """Return float64[tasks], the mean of `optimistic_cost` over the processors that can run each task."""
        return self._mean(self.optimistic_cost)


@dataclass(frozen=True)
class Solution:
    """When each task of a problem starts and ends, and on which processor."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    processor: NDArray[np.int64]

    @property
    def makespan(self) -> float:
        """Return when the last task ends."""
        return float(self.end.max(initial=0.0))


class _Processor:
    """A processor's timetable: from when on how many cores are free, until the next entry."""

    def __init__(self, cores: int, start: float) -> None:
        self.times = [start]
        self.free = [cores]

    def earliest(self, ready: float, runtime: float, cores: int) -> float:
        """Return the first instant from `ready` on at which `cores` cores are free for `runtime` (insertion)."""
        i = max(int(np.searchsorted(self.times, ready, side="right")) - 1, 0)
        start = ready
        while True:
            k = i
            while self.free[k] >= cores:
                if k + 1 == len(self.times) or self.times[k + 1] >= start + runtime:
                    return start
                k += 1
            i = k + 1
            start = max(ready, self.times[i])

    def take(self, start: float, end: float, cores: int) -> None:
        """Take cores away from `start` to `end`."""
        for at in (start, end):
            i = int(np.searchsorted(self.times, at))
            if i == len(self.times) or self.times[i] != at:
                self.times.insert(i, at)
                self.free.insert(i, self.free[i - 1])
        for i in range(self.times.index(start), self.times.index(end)):
            self.free[i] -= cores


def solve(problem: Problem, method: Method = "HEFT", *, start_at: float = 0.0) -> Solution:
    """Return what a list scheduler makes of a problem.

    Parameters
    ----------
    problem
        The tasks and processors.
    method
        ``"HEFT"``: by upward rank, on the processor where the task ends first. ``"CPOP"``: by upward + downward rank
        as tasks become ready, those of the critical path on the one processor that runs it fastest. ``"PEFT"``: by
        the mean of the optimistic costs as tasks become ready, where end + optimistic cost is least. Ties fall to the
        smaller task and the smaller processor.
    start_at
        From when on the processors are there.
    """
    require_known("method", method, get_args(Method))
    tasks, processors = problem.cost.shape
    start, end = np.zeros(tasks), np.zeros(tasks)
    placed = np.full(tasks, -1)
    timetable = [_Processor(cores, start_at) for cores in problem.size.tolist()]
    priority = {"HEFT": problem.upward_rank, "PEFT": problem.peft_rank}.get(method)
    favourite = np.full(tasks, -1)
    if priority is None:
        priority = problem.upward_rank + problem.downward_rank
        favourite = _critical_path(problem, priority)
    missing = [len(row) for row in problem.predecessors]
    ready = [task for task in range(tasks) if not missing[task]]
    while ready:
        task = min(ready, key=lambda each: (-round(float(priority[each]) / _TIE), each))
        ready.remove(task)
        best = np.inf
        for processor in range(processors):
            runtime = float(problem.cost[task, processor])
            if np.isinf(runtime) or favourite[task] not in {-1, processor}:
                continue
            ways = (
                end[other] + (0.0 if placed[other] == processor else delay)
                for other, delay in problem.predecessors[task]
            )
            begin = timetable[processor].earliest(max(ways, default=start_at), runtime, int(problem.cores[task]))
            score = begin + runtime + (problem.optimistic_cost[task, processor] if method == "PEFT" else 0.0)
            if score < best:
                best = score
                start[task], end[task], placed[task] = begin, begin + runtime, processor
        timetable[placed[task]].take(start[task], end[task], int(problem.cores[task]))
        for other, _ in problem.successors[task]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    return Solution(start, end, placed)


def _critical_path(problem: Problem, priority: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return by task the processor it is bound to: -1 except for the tasks of the critical path (CPOP).

    Where no processor can run the whole path (kinds), each task is bound to the best of those that can run it.
    """
    entries = [task for task, row in enumerate(problem.predecessors) if not row]
    task = max(entries, key=lambda each: (round(float(priority[each]) / _TIE), -each))
    path = [task]
    while problem.successors[task]:
        nexts = [other for other, _ in problem.successors[task]]
        task = max(nexts, key=lambda each: (round(float(priority[each]) / _TIE), -each))
        path.append(task)
    total = problem.cost[path].sum(axis=0)
    favourite = np.full(len(problem.cost), -1)
    if np.isfinite(total).any():
        favourite[path] = int(total.argmin())
        return favourite
    reach = np.isfinite(problem.cost[path])  # the processors by how much of the path they can run, then how fast
    load = np.where(reach, problem.cost[path], 0.0).sum(axis=0)
    order = np.lexsort((load, -reach.sum(axis=0)))
    for each in path:
        favourite[each] = next(int(p) for p in order if np.isfinite(problem.cost[each, p]))
    return favourite


def static_schedule(
    workflow: Workflow,
    clusters: Sequence[ClusterSpec | tuple[str, int] | tuple[str, int, str | None]],
    method: Method = "HEFT",
    *,
    ccr: float = 0.2,
    tick_s: Duration = 1.0,
) -> Schedule:
    """Return the static schedule of a workflow on empty clusters, from its submission on.

    Data travel between any two clusters for `ccr` times the sender's runtime, up to the next whole tick.

    Parameters
    ----------
    workflow
        The job; each task must be able to run on some cluster.
    clusters
        Name, cores and kind of each cluster; without a kind it takes any task.
    method, ccr, tick_s
        As for `solve` and `simmodels.Auctioneer`.

    Returns
    -------
    Schedule
        One row per task, with planned start, end (seconds) and cluster; as legal as any schedule.

    Raises
    ------
    ImpossibleJobError
        A task can never run on the clusters.

    Examples
    --------
    >>> import simmodels as sm
    >>> job = sm.Workflow(1, 0.0, [10, 20, 30], edges=[(0, 1), (0, 2)])
    >>> sm.static_schedule(job, [("a", 1), ("b", 1)], method="HEFT").start_s.tolist()
    [0.0, 12.0, 10.0]
    """
    as_instance("workflow", workflow, Workflow)
    tick_s = as_seconds("tick_s", tick_s, above=0)
    specs = [ClusterSpec.of(cluster) for cluster in as_tuple("clusters", clusters, "a list of (name, cores)")]
    if not specs:
        raise ImpossibleJobError(workflow.job_id, "there are no clusters")
    largest: dict[str | None, int] = {}
    for spec in specs:
        largest[spec.kind] = max(largest.get(spec.kind, 0), spec.cores)
    workflow.require_runnable(largest)
    takes = np.array([[p.kind is None or k is None or k == p.kind for p in specs] for k in workflow.kind])
    size = np.array([spec.cores for spec in specs])
    cost = np.where(takes & (workflow.cores[:, None] <= size), workflow.runtime_s[:, None], np.inf)
    delay_s = delays(workflow.runtime_s / tick_s, ccr) * tick_s
    problem = Problem(cost, workflow.edges, delay_s[workflow.edges[:, 0]], workflow.cores, size)
    found = solve(problem, method, start_at=workflow.submit_s)  # not added later: sums would be rounded otherwise
    return Schedule(
        Workload.of_workflows([workflow]),
        sum(spec.cores for spec in specs),
        found.start,
        found.end,
        clusters=specs,
        cluster=found.processor,
        terms=Terms(network="cluster", ccr=ccr, tick_s=tick_s),
        about={"method": method, "ccr": ccr, "network": "cluster", "tick_s": tick_s},
    )
