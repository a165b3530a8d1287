"""A checker of schedules that shares no code with the proof: from the tables of attempts, parts and off spans alone.

What it knows beside them is what the maker of the model knows: the clusters, and how data travel. Each job is gone
through attempt by attempt, in plain Python: what was left of it, how long that takes there, what a checkpoint saved.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

import simmodels as sm

COMPLETED, KILLED, UNFINISHED = range(3)
CLOSE_S: Final = 1e-5
NEVER: Final = (math.inf, 0.0, 0.0)

Writing = tuple[float, float, float]
"""Interval, cost and restart of checkpoints."""


class Fault(Exception):  # noqa: N818  the schedule's fault, not ours
    """A schedule breaks a rule: its name, and what broke it."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(rule, text)
        self.rule = rule

    def __str__(self) -> str:
        return f"{self.args[0]}: {self.args[1]}"


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster: cores and speed of each machine (a pool is one), its kind, and what happens to jobs there.

    `writing` are its checkpoints from each instant on; `warns` is whether jobs may be asked for one before they go;
    `kills` which fates a job may have that reaches its estimate.
    """

    name: str
    machines: tuple[tuple[int, float], ...]
    kind: str | None = None
    writing: tuple[tuple[float, Writing], ...] = ((0.0, NEVER),)
    warns: bool = False
    kills: frozenset[bool] = frozenset({False})

    @property
    def cores(self) -> int:
        return sum(cores for cores, _ in self.machines)

    def takes(self, kind: str | None) -> bool:
        return kind is None or self.kind is None or kind == self.kind


@dataclass(frozen=True, slots=True)
class Travel:
    """How data travel."""

    network: str = "none"
    ccr: float = 0.0
    tick_s: float = 1.0


class Run(NamedTuple):
    """An attempt, with the cores that it had of each machine."""

    row: int
    number: int
    start_s: float
    end_s: float
    outcome: int
    cluster: int
    parts: tuple[tuple[int, int], ...]
    work_s: float

    @property
    def lasted_s(self) -> float:
        return self.end_s - self.start_s


def runs_of(schedule: sm.Schedule) -> list[Run]:
    """Return the attempts of a schedule, by job and number."""
    spread: dict[tuple[int, int], list[tuple[int, int]]] = {}
    if schedule.parts is not None:
        for part in schedule.all_parts().itertuples():
            spread.setdefault((part.row, part.attempt), []).append((part.machine, part.cores))
    cores = schedule.workload.cores.tolist()
    found = []
    for each in schedule.all_attempts().itertuples():
        if not math.isnan(each.start_s):
            only = [(max(each.machine, 0), cores[each.row])]
            parts = tuple(sorted(spread.get((each.row, each.attempt), only)))
            times = (float(each.start_s), float(each.end_s))
            found.append(Run(each.row, each.attempt, *times, each.outcome, each.cluster, parts, float(each.work_s)))
    return sorted(found, key=lambda run: (run.row, run.number))


def off_spans(schedule: sm.Schedule) -> dict[tuple[int, int], list[tuple[float, float]]]:
    """Return the spans in which machines were off, by cluster and machine."""
    spans: dict[tuple[int, int], list[tuple[float, float]]] = {}
    if schedule.off_spans is not None:
        for each in schedule.off_spans.itertuples():
            spans.setdefault((each.cluster, each.machine), []).append((each.start_s, each.end_s))
    return spans


def check(schedule: sm.Schedule, places: Sequence[Place], travel: Travel) -> None:
    """Raise the first fault of a schedule."""
    runs = runs_of(schedule)
    _rows(schedule, runs)
    _places(schedule, places, runs)
    for key, spans in off_spans(schedule).items():
        _off(key, spans, runs)
    for number in range(len(places)):
        _capacity(number, places[number], runs)
    for row, attempts in itertools.groupby(runs, key=lambda run: run.row):
        _work(schedule, places, row, list(attempts))
    _precedence(schedule, places, travel, runs)


# -- each job -------------------------------------------------------------------------------------------


def _rows(schedule: sm.Schedule, runs: Iterable[Run]) -> None:
    """Check that each row is what its last attempt says."""
    by_row: dict[int, list[Run]] = {}
    for run in runs:
        by_row.setdefault(run.row, []).append(run)
    for row, end_s in enumerate(schedule.end_s.tolist()):
        found, outcome = by_row.get(row, []), int(schedule.outcome[row])
        if (outcome == UNFINISHED) != math.isnan(end_s):
            raise Fault("outcome", f"row {row} has outcome {outcome}, and ends at {end_s} s")
        last = found[-1] if found else None
        if outcome != UNFINISHED and (last is None or (last.outcome, last.end_s) != (outcome, end_s)):
            raise Fault("attempts", f"row {row} ({outcome}, {end_s} s) is not what its last attempt says: {last}")
        _follow(found, float(schedule.workload.submit_s[row]))


def _follow(runs: Sequence[Run], submit_s: float) -> None:
    """Check that the attempts of a job follow each other, and that none is too early."""
    if [run.number for run in runs] != list(range(1, len(runs) + 1)):
        raise Fault("attempts", f"the numbers of {runs} do not follow each other")
    for run in runs:
        if run.start_s < submit_s:
            raise Fault("submit", f"{run} is before {submit_s} s")
        if run.end_s < run.start_s:
            raise Fault("attempts", f"{run} ends before it starts")
    for one, other in itertools.pairwise(runs):
        if one.outcome != UNFINISHED or not other.start_s >= one.end_s:
            raise Fault("attempts", f"{other} follows {one}")


def _places(schedule: sm.Schedule, places: Sequence[Place], runs: Iterable[Run]) -> None:
    """Check that each attempt had its cores, of machines that there are, on a cluster that takes it."""
    workload, kinds = schedule.workload, [None] * len(schedule)
    if workload.tasks is not None:
        kinds = workload.tasks.kind.tolist()
    for run in runs:
        place = places[run.cluster]
        if not all(0 <= machine < len(place.machines) for machine, _ in run.parts):
            raise Fault("machines", f"{run} is on no machine of {place.name}")
        if sum(cores for _, cores in run.parts) != workload.cores[run.row]:
            raise Fault("width", f"{run} has not {workload.cores[run.row]} cores")
        if not place.takes(kinds[run.row]):
            raise Fault("kind", f"{run} is of kind {kinds[run.row]}")


def _takes(work_s: float, restart_s: float, writing: Writing, speed: float) -> float:
    """Return how long a run takes of so much work of the job."""
    interval_s, cost_s, _ = writing
    checkpoints = 0 if interval_s == math.inf else max(math.ceil(round(work_s / interval_s, 9)) - 1, 0)
    return restart_s + work_s / speed + checkpoints * cost_s


def _whole(cycles: float) -> int:
    """Return how many cycles are over: all, if only by rounding the last is not."""
    return math.floor(cycles + 1e-9)


def _saved(run: Run, left_s: float, restart_s: float, writing: Writing, speed: float, *, warned: bool) -> set[float]:
    """Return what a run may have saved that was cut short, in its seconds."""
    interval_s, cost_s, _ = writing
    elapsed_s, whole_s = run.lasted_s - restart_s, left_s / speed
    cycle_s = interval_s / speed + cost_s
    found = set()
    if interval_s == math.inf or elapsed_s <= 0:
        found.add(0.0)
    else:
        found.add(min(_whole(elapsed_s / cycle_s) * interval_s / speed, whole_s))
    if warned:
        elapsed_s = max(elapsed_s - cost_s, 0.0)
        done_s = elapsed_s
        if interval_s != math.inf:
            cycles = _whole(elapsed_s / cycle_s)
            done_s = cycles * interval_s / speed + min(elapsed_s - cycles * cycle_s, interval_s / speed)
        found.add(min(done_s, whole_s))
    return found


def _work(schedule: sm.Schedule, places: Sequence[Place], row: int, runs: Sequence[Run]) -> None:
    """Go through the attempts of a job: how long each took, and what it left."""
    runtime_s, estimate_s = float(schedule.workload.runtime_s[row]), float(schedule.workload.estimate_s[row])
    left_s, restart_s = runtime_s, 0.0
    for run in runs:
        place = places[run.cluster]
        writing = [each for from_s, each in place.writing if from_s <= run.start_s][-1]
        speed = min(place.machines[machine][1] for machine, _ in run.parts)
        takes_s = _takes(left_s, restart_s, writing, speed)
        over_s = estimate_s - runtime_s  # first, or rounding kills what ends at its limit
        limit_s = _takes(max(left_s + over_s, 0.0), restart_s, writing, speed)
        fates = {(KILLED, limit_s) if kills and limit_s < takes_s else (COMPLETED, takes_s) for kills in place.kills}
        about = f"{run} of {left_s} s at speed {speed} after {restart_s} s, checkpoints {writing}"
        longest_s = max(lasts_s for _, lasts_s in fates)
        if run.outcome != UNFINISHED:
            if not any(run.outcome == fate and abs(run.lasted_s - lasts_s) <= CLOSE_S for fate, lasts_s in fates):
                raise Fault("end", f"{about}, should have come to {fates}")
            if run.outcome == COMPLETED and not math.isnan(run.work_s) and abs(run.work_s - left_s / speed) > CLOSE_S:
                raise Fault("work", about)
            continue
        if math.isnan(run.end_s):
            continue  # it runs
        if run.lasted_s > longest_s + CLOSE_S:
            raise Fault("end", f"{about}, ran for more than {longest_s} s")
        saved = _saved(run, left_s, restart_s, writing, speed, warned=place.warns)
        if math.isnan(run.work_s) or all(abs(run.work_s - each) > CLOSE_S for each in saved):
            raise Fault("work", f"{about}, may have saved {saved}")
        left_s -= run.work_s * speed
        if run.work_s > 0:
            restart_s = writing[2]


# -- cores ----------------------------------------------------------------------------------------------


def _off(key: tuple[int, int], spans: Iterable[tuple[float, float]], runs: Iterable[Run]) -> None:
    """Check that nothing ran on a machine while it was off."""
    for run in runs:
        if run.cluster == key[0] and key[1] in dict(run.parts):
            end_s = math.inf if math.isnan(run.end_s) else run.end_s
            for low_s, high_s in spans:
                if max(run.start_s, low_s) < min(end_s, high_s):
                    raise Fault("offline", f"{run} runs while machine {key} is off from {low_s} to {high_s} s")


def _capacity(number: int, place: Place, runs: Iterable[Run]) -> None:
    """Check that no machine has more cores in use than it has, at any instant."""
    steps: dict[int, list[tuple[float, int]]] = {machine: [] for machine in range(len(place.machines))}
    for run in runs:
        if run.cluster == number and run.start_s != run.end_s:
            for machine, cores in run.parts:
                steps[machine].append((run.start_s, cores))
                if not math.isnan(run.end_s):
                    steps[machine].append((run.end_s, -cores))
    for machine, changes in steps.items():
        used = 0
        for at_s, more in sorted(changes):  # at an instant, those that end first
            used += more
            if used > place.machines[machine][0]:
                raise Fault("capacity", f"{used} cores of machine {machine} of {place.name} are in use at {at_s} s")


# -- workflows, and the whole ---------------------------------------------------------------------------


def _travels(places: Sequence[Place], travel: Travel, kinds: tuple[str | None, str | None], same: bool) -> bool:
    """Return whether data travel from a task to another."""
    if travel.network == "cluster":
        return not same
    return travel.network == "kind" and not any(place.takes(kinds[0]) and place.takes(kinds[1]) for place in places)


def _precedence(schedule: sm.Schedule, places: Sequence[Place], travel: Travel, runs: Iterable[Run]) -> None:
    """Check that every attempt at a task starts when the data of all its predecessors are there."""
    tasks = schedule.workload.tasks
    if tasks is None:
        return
    ended = {run.row: run for run in runs if run.outcome != UNFINISHED}
    attempts: dict[int, list[Run]] = {}
    for run in runs:
        attempts.setdefault(run.row, []).append(run)
    kinds = tasks.kind.tolist()
    for sender, receiver in tasks.edges.tolist():
        ticks = math.ceil(travel.ccr * schedule.workload.runtime_s[sender] / travel.tick_s - 1e-9)
        for run in attempts.get(receiver, []):
            before = ended.get(sender)
            if before is None:
                raise Fault("precedence", f"{run} starts before row {sender} has ended")
            same = before.cluster == run.cluster
            delay_s = ticks * travel.tick_s * _travels(places, travel, (kinds[sender], kinds[receiver]), same)
            if run.start_s < before.end_s + delay_s - CLOSE_S:
                raise Fault("precedence", f"{run} starts less than {delay_s} s after {before}")


def figures(schedule: sm.Schedule, places: Sequence[Place], cluster: int | None = None) -> Mapping[str, float]:
    """Return the figures of machines, in core-seconds and counts, of a cluster or all; of a model that is done."""
    assert schedule.window is not None
    begin_s, end_s = schedule.window
    chosen = range(len(places)) if cluster is None else [cluster]
    offered = whole = sum(places[number].cores for number in chosen) * (end_s - begin_s)
    for (number, machine), spans in off_spans(schedule).items():
        if number in chosen:
            offered -= places[number].machines[machine][0] * sum(high_s - low_s for low_s, high_s in spans)
    here = [run for run in runs_of(schedule) if run.cluster in chosen]
    kept = sum(schedule.workload.cores[run.row] * run.work_s for run in here)
    used = sum(schedule.workload.cores[run.row] * run.lasted_s for run in here)
    kills = sum(run.outcome == UNFINISHED for run in here)
    found = {"goodput": kept, "aborted": used - kept, "idle": offered - used}
    shares = {name: value / offered if offered > 1e-9 * whole else math.nan for name, value in found.items()}
    return {**shares, "kills": kills}


def easy(schedule: sm.Schedule, place: Place) -> None:
    """Check EASY's promise, first come, first served: where estimates hold, the head starts by its shadow.

    The shadow is when enough cores will be free by the estimates of what runs; it holds from any instant on at which
    the job is the first that waits.
    """
    workload, speed = schedule.workload, min(speed for _, speed in place.machines)
    runs = runs_of(schedule)
    line = sorted(runs, key=lambda run: (workload.submit_s[run.row], run.row))
    instants = np.unique([*workload.submit_s, *(run.end_s for run in runs if not math.isnan(run.end_s))]).tolist()
    for now_s in instants:
        waiting = [run for run in line if workload.submit_s[run.row] <= now_s < run.start_s]
        if not waiting:
            continue
        head = waiting[0]
        running = [run for run in runs if run.start_s <= now_s < run.end_s]
        free = place.cores - sum(int(workload.cores[run.row]) for run in running)
        shadow_s = now_s
        ends = sorted(
            (run.start_s + workload.estimate_s[run.row] / speed, int(workload.cores[run.row])) for run in running
        )
        for end_s, cores in ends:
            if free >= workload.cores[head.row]:
                break
            free += cores
            shadow_s = max(end_s, now_s)
        if head.start_s > shadow_s + CLOSE_S:
            raise Fault("easy", f"{head} is the first at {now_s} s, and should start by {shadow_s} s")
