"""One run of the cross study: machines that change, a decider on them, and what is measured."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd

import simmodels as sm
from experiments.campaigns import Cell
from experiments.studies.cross import settings
from experiments.studies.cross.work import Work
from simmodels.ground.streams import entropy, stream
from simmodels.results.metrics import core_seconds, time_sum
from workloads import capacity_from, capacity_walk

HORIZON: Final = 4.0
"""The number of windows for which machines change; by then all jobs should be done."""
NEAR: Final = 0.01
"""How far the mean number of machines in a window may be from what is asked for, as a share of it."""
_EPSILON: Final = 0.2
_HALVINGS: Final = 50


EARLIEST_END: Final = sm.Bid("earliest_end", lambda start, estimate, speed: start + estimate / speed, "low")
"""When a job would end at a place, by what it predicts; not in the registry, which is the user's."""


# -- machines ---------------------------------------------------------------------------------------


def capacities_of(
    name: str, platform: settings.Platform, clusters: int, *, length_s: float, seed: int, series: pd.DataFrame | None
) -> list[sm.Capacity]:
    """Return how many machines of each of one or two clusters are on over time, under a capacity of a name.

    Together these are as many, on average over the window, as the platform has, whatever the name: ``steady``, ``walk
    SECONDS``, or ``series``, which follows the series. Two clusters draw apart.
    """
    each = platform if clusters == 1 else platform.half
    if name == settings.STEADY:
        return [sm.Capacity(np.zeros(1), np.array([each.machines]))] * clusters
    period_s = settings.period_of(name)
    if period_s is not None:
        walks = [
            _walk(each, period_s, length_s, entropy(seed, "cluster", clusters, number)) for number in range(clusters)
        ]
        # The second changes between two changes of the first: what the one loses the other does not make up for at
        # the same instant, and as many machines are switched off in one queue of all machines as in two.
        return [_later(walk, 0.5 * period_s * number) for number, walk in enumerate(walks)]
    assert series is not None, name  # noqa: S101  the study reads it where the machines follow it
    return [
        _followed(series, each, length_s, stream(seed, "series", clusters, number).random())
        for number in range(clusters)
    ]


@lru_cache(maxsize=64)
def _walk(platform: settings.Platform, period_s: float, length_s: float, seed: int) -> sm.Capacity:
    """Return the first of many drawn walks with the mean over the window that is asked for."""
    number = 0
    while True:
        of: dict[str, Any] = {
            "mean": platform.machines, "radius": platform.radius, "step": 1, "period_s": period_s,
            "seed": entropy(seed, "walk", number),
        }  # fmt: skip
        mean = capacity_walk(**of, until_s=length_s).machine_seconds(0.0, length_s) / length_s
        if abs(mean - platform.machines) <= NEAR * platform.machines:
            return capacity_walk(**of, until_s=HORIZON * length_s)
        number += 1


def _later(walk: sm.Capacity, by_s: float) -> sm.Capacity:
    """Return the same changes later, from the same instant on."""
    time_s = walk.time_s + by_s
    time_s[0] = walk.time_s[0]
    return sm.Capacity(time_s, walk.machines)


def _followed(series: pd.DataFrame, platform: settings.Platform, length_s: float, uniform: float) -> sm.Capacity:
    """Return machines in proportion to a series from some instant on, within the bounds of the walks.

    What a machine needs is such that as many are on, on average over the window, as are asked for.
    """
    start_s = uniform * float(series["time_s"].iloc[-1])
    of: dict[str, Any] = {
        "most": platform.machines + platform.radius, "least": platform.machines - platform.radius,
        "start_s": start_s, "until_s": HORIZON * length_s, "repeat": True,
    }  # fmt: skip
    top = max(float(series["value"].max()), 1e-9)
    low, high = top / (1e4 * platform.machines), 2.0 * top
    found = capacity_from(series, per_machine=low, **of)
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        found = capacity_from(series, per_machine=middle, **of)
        mean = found.machine_seconds(0.0, length_s) / length_s
        if abs(mean - platform.machines) <= NEAR * platform.machines:
            break
        low, high = (middle, high) if mean > platform.machines else (low, middle)
    return found


def generated_series(seed: int) -> pd.DataFrame:
    """Return a substitute for wind power: half-hourly, between 0 and 1, with a memory of half a day."""
    steps, memory = 48 * 60, np.exp(-1.0 / 24.0)
    noise = stream(seed, "cross", "wind").normal(size=steps) * np.sqrt(1.0 - memory**2)
    level, value = 0.0, np.empty(steps)
    for step in range(steps):
        level = memory * level + noise[step]
        value[step] = 1.0 / (1.0 + np.exp(-1.5 * level))
    return pd.DataFrame({"time_s": 0.5 * sm.HOUR * np.arange(steps), "value": value})


def summed(capacities: Sequence[sm.Capacity]) -> sm.Capacity:
    """Return how many machines of all clusters are on."""
    time_s = np.unique(np.concatenate([each.time_s for each in capacities]))
    machines = sum(each.machines[np.searchsorted(each.time_s, time_s, side="right") - 1] for each in capacities)
    return sm.Capacity(time_s, np.asarray(machines))


# -- a run ------------------------------------------------------------------------------------------


def simulated(cell: Cell) -> tuple[sm.Schedule, list[sm.Capacity]]:
    """Return the schedule of a cell, and how many machines of each cluster were on."""
    work: Work = cell.inputs[cell["workload"]]
    platform, jobs, decider = settings.Platform.of(cell.parameters), work.windows[cell.replication], cell["decider"]
    capacities = capacities_of(
        cell["capacity"], platform, 2 if decider in settings.ROUTED else 1, length_s=cell["window_days"] * sm.DAY,
        seed=cell.seed_for("capacity"), series=cell.inputs.get(settings.SERIES),
    )  # fmt: skip
    if cell["order"] in settings.TUNERS:
        return _tuned(cell, work, capacities[0]), capacities
    most = platform.machines + platform.radius
    capacity = summed(capacities) if decider == settings.ONE_QUEUE else capacities[0]
    on: sm.Site | list[sm.Site] = sm.Site(machines=most, cores_per_machine=platform.cores, capacity=capacity)
    how: dict[str, Any] = {"seed": cell.seed_for("decider"), "engine": cell["engine"]}
    if decider == settings.TARGETED:
        least = platform.machines - platform.radius
        how |= {"heuristic": "TargetAsap", "reference": work.reference, "least_machines": least}
        return sm.simulate(jobs, on=on, **how), capacities
    how["order"] = work.learned if cell["order"] == "learned" else cell["order"]
    if decider in {settings.AWARE, settings.UNAWARE}:
        return sm.simulate(jobs, on=on, heuristic="FirstFit", aware=decider == settings.AWARE, **how), capacities
    if decider in settings.ROUTERS:  # each before two queues
        on = [
            sm.Site(name=f"cluster {label}", machines=most // 2, cores_per_machine=platform.cores, capacity=each)
            for label, each in zip("ab", capacities, strict=True)
        ]
    if decider == settings.AUCTION:
        # A bid in seconds, and data that do not travel: so auctions and routers send jobs by the same rules.
        how |= {"bid": EARLIEST_END, "forward": True, "rebalance_s": cell["rebalance_s"], "network": "none", "ccr": 0.0}
    elif decider in settings.ROUTERS:
        how["router"] = decider
    return sm.simulate(jobs, on=on, backfilling=settings.QUEUES.get(decider, "easy"), **how), capacities


def _tuned(cell: Cell, work: Work, capacity: sm.Capacity) -> sm.Schedule:
    """Return the schedule of jobs in an order that a strategy chooses, period by period."""
    choices = ("FCFS", "SAF", "F2", work.learned)
    bandit, decider, platform = cell["order"] == "bandit", cell["decider"], settings.Platform.of(cell.parameters)
    strategy: sm.Strategy = (
        sm.EpsilonGreedy(choices=choices, epsilon=_EPSILON) if bandit else sm.FullFeedback(choices=choices)
    )
    env = sm.Environment(seed=cell.seed_for("decider"))
    cluster = sm.Cluster(env, "cluster", machines=platform.machines + platform.radius, cores_per_machine=platform.cores)
    sm.TraceCapacity(env, cluster, capacity)
    scheduler: sm.QueueScheduler | sm.FirstFit
    if decider in settings.QUEUES:
        scheduler = sm.QueueScheduler(env, cluster, backfilling=settings.QUEUES[decider])
    else:
        scheduler = sm.FirstFit(env, cluster, aware=decider == settings.AWARE)
    sm.Source(env, work.windows[cell.replication], into=scheduler)
    sm.Tuner(env, (scheduler, "order"), strategy, period_s=cell["tune_h"] * sm.HOUR)
    recorder = sm.Recorder(env)
    env.run(until=sm.all_done(env))
    return recorder.schedule()


# -- what is measured -------------------------------------------------------------------------------


def measured(
    schedule: sm.Schedule,
    capacities: Sequence[sm.Capacity],
    cores: int,
    window_s: tuple[float, float],
    tau_s: float,
) -> dict[str, float | None]:
    """Return the figures of merit of the jobs submitted in a window, and of the machines in it.

    The shortest possible response of a rigid job is its runtime, that of a workflow its critical path. Of jobs and
    workflows alike: ``mean_stretch`` is the mean of response over shortest response; ``mean_bounded_slowdown`` the same
    with a shortest response of at least `tau_s`, and at least 1; ``mean_wait_s`` the mean of response less shortest
    response, which of a rigid job is how long it waited, attempts included that were lost.
    """
    work = schedule.workload
    rigid = work.rigid()
    submit_s, end_s, least_s = work.submit_s[rigid], schedule.end_s[rigid], work.runtime_s[rigid]
    row: dict[str, float | None] = {}
    if work.tasks is not None:
        flows = schedule.workflows
        submit_s = np.concatenate((submit_s, flows["submit_s"]))
        end_s = np.concatenate((end_s, flows["finish_s"]))
        least_s = np.concatenate((least_s, flows["critical_path_s"]))
        inside = flows[flows["submit_s"] >= window_s[0]]
        row["mean_slr"] = float(inside["slr"].mean())
    counted = submit_s >= window_s[0]
    response_s, least_s = (end_s - submit_s)[counted], least_s[counted]
    done = ~np.isnan(response_s)
    response_s, least_s = response_s[done], least_s[done]
    runs = schedule.runs
    start_s, until_s = runs["start_s"].to_numpy(float), runs["end_s"].to_numpy(float)
    did_s = runs["work_s"].to_numpy(float) if "work_s" in runs else until_s - start_s
    kept, lost = core_seconds(start_s, until_s, did_s, runs["cores"].to_numpy(), window_s)
    used = time_sum(start_s, until_s, runs["cores"].to_numpy(), window_s)
    on = cores * sum(each.machine_seconds(*window_s) for each in capacities)
    whole = cores * sum(each.machine_seconds(0.0, window_s[1]) for each in capacities)
    row |= {
        "mean_bounded_slowdown": float(np.maximum(response_s / np.maximum(least_s, tau_s), 1.0).mean()),
        "mean_stretch": float((response_s / least_s).mean()),
        "mean_wait_s": float((response_s - least_s).mean()),
        "goodput": kept / on,
        "lost": lost / on,
        "utilisation": used / on,
        "offered_load": float(work.runtime_s @ work.cores) / whole,
        "kills": int((runs["attempt"] > 1).sum()) if "attempt" in runs else 0,
        "measured_jobs": int(counted.sum()),
        "completed_share": float(done.mean()),
    }
    return row
