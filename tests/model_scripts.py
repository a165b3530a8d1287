"""Model scripts in a line: jobs from rows, and the proved schedule of what a scheduler or router did with work."""

from typing import Any

import numpy as np

import simmodels as sm


def rigid(*rows: tuple[float, ...]) -> sm.Workload:
    """Jobs of (submit, runtime, cores) or (submit, runtime, estimate, cores), numbered from 1."""
    whole = [(row[0], row[1], row[-2] if len(row) > 3 else row[1], row[-1]) for row in rows]
    submit_s, runtime_s, estimate_s, cores = zip(*whole, strict=True)
    return sm.Workload(range(1, len(rows) + 1), submit_s, runtime_s, estimate_s, cores)


def queues(env: sm.Environment, *sizes: int, **options: Any) -> list[sm.QueueScheduler]:  # noqa: ANN401  as they take
    """Queues, each on a pool of its own: c0, c1, and so on."""
    return [sm.QueueScheduler(env, sm.Cluster(env, f"c{i}", cores=size), **options) for i, size in enumerate(sizes)]


def machines_on(
    machines: int | list[sm.Machines], cores: int | None = None, *, name: str = "c", **more: object
) -> tuple[sm.Environment, sm.Cluster]:
    """A model with a cluster of n machines of n cores each; more is of the model (seed, start_s), or of the cluster."""
    env = sm.Environment(**{key: more.pop(key) for key in ("seed", "start_s") if key in more})
    return env, sm.Cluster(env, name, machines=machines, cores_per_machine=cores, **more)


def queue_on(cores: int, *, name: str = "a", **more: object) -> tuple[sm.Environment, sm.QueueScheduler]:
    """A model with a queue on a pool of n cores; more is of the model (seed, start_s), or of the queue."""
    env = sm.Environment(**{key: more.pop(key) for key in ("seed", "start_s") if key in more})
    return env, sm.QueueScheduler(env, sm.Cluster(env, name, cores=cores), **more)


def recorded(
    env: sm.Environment,
    *,
    until: Any = None,  # noqa: ANN401  as `run`
    whole: bool = False,
    proved: bool = True,
) -> sm.Schedule:
    """Run a model to its end, and return the proved schedule of all of it; `whole` counts up to the last event.

    Nine tenths of the time of a small model are its proof: of two schedules that a test finds equal, one is enough.
    """
    recorder = sm.Recorder(env)
    env.run(until=until)
    schedule = recorder.schedule(window_s=(0, max(env.now, 1)) if whole else None)
    return schedule.validate() if proved else schedule


def scheduled(into: sm.Scheduler | sm.Router, *works: Any, whole: bool = False, proved: bool = True) -> sm.Schedule:  # noqa: ANN401  as `Source` takes it
    """Submit each work into a scheduler or router, and return the schedule, as `recorded` does."""
    for work in works:
        sm.Source(into.env, work, into=into)
    return recorded(into.env, whole=whole, proved=proved)


def in_order(jobs: sm.Workload, cores: int) -> sm.Schedule:
    """Each job as early as it fits, but not before the one ahead of it; found second by second."""
    used, start_s, earliest = np.zeros(2000, dtype=np.int64), np.zeros(len(jobs)), 0
    for row in np.lexsort((np.arange(len(jobs)), jobs.submit_s)):
        at, length = max(int(jobs.submit_s[row]), earliest), int(jobs.runtime_s[row])
        while (used[at : at + max(length, 1)] + jobs.cores[row] > cores).any():
            at += 1
        used[at : at + length] += jobs.cores[row]
        start_s[row] = earliest = at
    return sm.Schedule(jobs, cores, start_s, start_s + jobs.runtime_s)
