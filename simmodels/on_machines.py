"""Run a queue, or placers, on machines that are switched on and off, on the clock that is asked for."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from simmodels.capacity import Capacity, CapacityChange
from simmodels.engine import Engine, require_engine
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.entities.powering import TraceCapacity
from simmodels.entities.recorder import Recorder
from simmodels.entities.serving import Scheduler
from simmodels.entities.source import Source
from simmodels.errors import RequestError
from simmodels.ground.numbers import MOST, is_whole, shown
from simmodels.policies.checkpoints import Checkpoints
from simmodels.policies.placement_options import PlacementOptions, require_lengths
from simmodels.policies.queue_options import QueueOptions
from simmodels.replay.powered_run import Window, replay_on_machines, replay_queue_on_machines
from simmodels.schedule import Schedule
from simmodels.window import windowed
from simmodels.workload import Workload


def run_on_machines(
    workload: Workload,
    capacity: Capacity | pd.DataFrame | Iterable[CapacityChange],
    options: PlacementOptions | QueueOptions,
    made: Callable[[Environment, Cluster], Scheduler],
    *,
    cores_per_machine: int,
    machines: int | None,
    window_s: tuple[float, float] | None,
    checkpoints: Checkpoints | None,
    random_kill: bool,
    engine: Engine,
    seed: int,
) -> Schedule:
    """Return the schedule of a queue, or of a placer, on machines that are switched on and off.

    Parameters
    ----------
    workload, capacity, cores_per_machine, machines, window_s, engine, seed
        As in `simulate_on_machines`.
    options
        How the jobs are scheduled.
    made
        Makes the scheduler of a cluster, by these options, on the process clock.
    checkpoints
        How they write checkpoints; None for no periodic ones, and for free ones on notice.
    random_kill
        Whether the machines that go are drawn.

    Raises
    ------
    ImpossibleJobError, UnknownNameError, RequestError
        As in `simulate_on_machines`.
    """
    require_engine(engine, seed)
    table = Capacity.of(capacity)
    most = max(int(table.machines.max()), 1) if machines is None else machines
    for name, value in (("cores_per_machine", cores_per_machine), ("machines", most)):
        if not is_whole(value, 1, MOST):
            raise RequestError(f"{name} is {shown(value)}", "1 to 2^53 is allowed, in whole numbers")
    cores_per_machine, most = int(cores_per_machine), int(most)  # 2.0 is a whole number too
    if table.machines.max() > most:
        raise RequestError(f"a capacity of {table.machines.max()} machines", f"{most} are allowed")
    if isinstance(options, QueueOptions):
        workload.require_runnable(most * cores_per_machine)
    else:
        require_lengths(workload, cores_per_machine)
        if options.fill_order is not None:
            options.filled(most, seed)
    begin, end = window_s if window_s is not None else (_first_submit_s(workload), math.inf)
    _require_own_numbers(workload, (begin, end))
    table = table.known_by(end)  # what is announced later no clock knows
    by_event = isinstance(options, QueueOptions) and options.decide == "event"
    if by_event and engine == "compiled":
        raise RequestError("decide 'event' on machines that come and go, compiled", "engine must be 'auto' or 'simpy'")
    if engine != "simpy" and not by_event:
        window = Window(
            workload,
            table,
            machines=most,
            cores_per_machine=cores_per_machine,
            window_s=(begin, end),
            random_kill=random_kill,
            seed=seed,
        )
        if isinstance(options, QueueOptions):
            return replay_queue_on_machines(window, options, checkpoints)
        return replay_on_machines(window, options)
    env = Environment(seed=seed, start_s=float(begin))
    cluster = Cluster(env, "machines", machines=most, cores_per_machine=cores_per_machine, checkpoints=checkpoints)
    TraceCapacity(env, cluster, table, removes="random" if random_kill else "highest")
    scheduler = made(env, cluster)
    source = Source(env, workload, into=scheduler, window_s=(float(begin), float(end)))
    recorder = Recorder(env)
    if end == math.inf:
        _run_out(env, source, scheduler, last_s=float(table.time_s[-1]))
    else:
        env.run(until=env.end_of(end))
    return recorder.schedule()


def _first_submit_s(workload: Workload) -> float:
    """Return when the first job is submitted; 0 without one."""
    return float(workload.submit_s.min()) if len(workload) else 0.0


def _run_out(env: Environment, source: Source, scheduler: Scheduler, *, last_s: float) -> None:
    """Run until all jobs are done, or what waits can never run: at most until the capacity's last change, and its ends.

    The clock stops there, whatever is still to come: changes of the capacity, timers that nobody waits for.
    """
    cluster = scheduler.cluster
    while source.process.is_alive or not scheduler.is_idle:
        alive = source.process.is_alive or cluster.running or scheduler.will_start
        if env.peek() > max(last_s, env.now) and not alive:
            return
        env.step()
    env.run(until=env.end_of(env.now))


def _require_own_numbers(workload: Workload, window_s: tuple[float, float]) -> None:
    """Refuse a window with a job whose number another job has too: attempts are identified by it."""
    rows = np.concatenate(windowed(workload, window_s))
    numbers, times = np.unique(workload.job_id, return_counts=True)
    bad = rows[np.isin(workload.job_id[rows], numbers[times > 1])]
    if len(bad):
        job_id = workload.job_id[bad[0]]
        raise RequestError(
            f"{np.sum(workload.job_id == job_id)} jobs have the number {job_id}", "each number may occur once"
        )
