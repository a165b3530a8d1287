"""A workload on machines that are switched on and off, on the compiled engine."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels.clusters.checkpoints import checkpoint_numbers
from simmodels.clusters.cluster_spec import Terms
from simmodels.ground.streams import stream
from simmodels.model import Model
from simmodels.passes.switching import OPEN
from simmodels.policies.placement_options import PLACED, PlacementOptions
from simmodels.policies.queue_options import QueueOptions, raise_refused
from simmodels.policies.rows import Rows
from simmodels.replay.occupancy import new_occupancy, parts_of
from simmodels.replay.placer_on_machines import replay_powered
from simmodels.replay.power import failed_too_often
from simmodels.replay.queue_on_machines import replay_queue
from simmodels.replay.runs import Runs, fill_lengths, new_runs, record
from simmodels.replay.site_machines import SiteMachines
from simmodels.results.attempts import numbered, unexpected
from simmodels.results.schedule import UNFINISHED, Schedule
from simmodels.structures.placement_state import job_columns, refused, usage_summary
from simmodels.structures.queue_state import refused as refused_by_queue
from simmodels.work.window import Windowed, run_on, windowed


class Window:
    """What a window on machines needs on the compiled engine, whoever decides.

    Parameters
    ----------
    model
        A model of rigid jobs on one site; each that is known must be able to run.
    """

    def __init__(self, model: Model) -> None:
        self.workload, self.seed = model.work, model.seed
        self.begin_s, self.end_s = model.begin_s, model.end_s
        self.site = model.site.known_by(self.end_s)
        self.jobs = windowed(self.workload, (self.begin_s, self.end_s))
        self.machines = SiteMachines(self.site, self.begin_s, seed=model.seed)

    def runs(self, jobs: Windowed) -> Runs:
        """Return an empty record of these jobs."""
        rows, warm = np.concatenate(jobs), len(jobs.warm)
        earlier_s = np.zeros(len(rows))
        earlier_s[:warm] = self.begin_s - self.workload.submit_s[rows[:warm]]
        made: Runs = new_runs(
            self.workload.runtime_s[rows],
            self.workload.estimate_s[rows],
            earlier_s,
            self.machines.machines,
            checkpoint_numbers(self.site.checkpoints),
        )
        return made

    def drawn(self, slots: int, *, asked: bool) -> NDArray[np.float64]:
        """Return a uniform number for each slot, if an order asks for it."""
        return stream(self.seed, "order", "draw").random(slots) if asked else np.empty(0)

    def columns(self, jobs: Windowed, runs: Runs, stopped_s: float | None = None) -> "_RunColumns":
        """Return what was recorded, in order of start; `stopped_s` is when what waits was known never to start."""
        rows = np.concatenate(jobs)
        (slot, machine, start_s, end_s, work_s, warned_s, outcome), off = record(runs)
        order = np.lexsort((slot, start_s))  # as a recorder has them
        slot, outcome, end_s = slot[order], outcome[order], end_s[order]
        last_s = self.end_s
        if last_s == math.inf:
            last_s = max(float(np.nanmax(end_s, initial=self.begin_s)), self.begin_s)
            came = np.arange(len(rows)) >= len(jobs.warm)
            came[slot] = True
            if (outcome != UNFINISHED).sum() < came.sum():  # some wait while machines are off
                submit_s = self.workload.submit_s[rows]
                last_s = max(last_s, float(submit_s.max()), self.machines.last_s if stopped_s is None else stopped_s)
        counted = np.zeros(len(self.workload), np.bool_)
        counted[jobs.arriving] = True
        counted[rows[slot]] = True
        attempts = {"start_s": start_s[order], "end_s": end_s, "outcome": outcome, "machine": machine[order]}
        left_out = len(self.workload) - int(counted.sum())
        ran_before = (slot < len(jobs.warm)) & (numbered(slot) == 1)
        earlier_s = np.where(ran_before, self.begin_s - self.workload.submit_s[rows[slot]], 0.0)
        attempts |= {"work_s": work_s[order], **unexpected(warned_s=warned_s[order], earlier_s=earlier_s)}
        return _RunColumns(rows[slot], order, attempts, off, last_s, counted, left_out)

    def schedule(
        self, found: "_RunColumns", terms: Terms, about: dict[str, object], parts: pd.DataFrame | None = None
    ) -> Schedule:
        """Return the schedule of what was found; `parts` are those of attempts on several machines."""
        machine, from_s, to_s = found.off
        return Schedule.from_attempts(
            self.workload,
            [self.site.spec],
            found.rows,
            found.attempts,
            off=(np.zeros_like(machine), machine, from_s, to_s),
            window=(self.begin_s, found.last_s),
            counted=found.counted,
            terms=terms,
            about={**about, "engine": "compiled", "seed": self.seed, "left_out": found.left_out},
            parts=parts,
        )


class _RunColumns(NamedTuple):
    """What a replay recorded: of each attempt, in order of start, its row, its number, and what else is known of it."""

    rows: NDArray[np.int64]
    number: NDArray[np.int64]
    attempts: dict[str, NDArray[np.generic]]
    off: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
    last_s: float
    counted: NDArray[np.bool_]
    left_out: int


def replay_placer(model: Model, options: PlacementOptions) -> Schedule:
    """Return the schedule of jobs inside one machine each.

    Raises
    ------
    RequestError
        An order gave no number for a job; what a Python order raised is raised again.
    """
    window = Window(model)
    workload, jobs = window.workload, window.jobs
    rows = np.concatenate(jobs)
    submit_s, length_s, estimate_s = workload.submit_s[rows], workload.runtime_s[rows], workload.estimate_s[rows]
    of_order = Rows((options.order_of_queue.columns, ()), len(rows))
    of_order.fill_all(workload, rows)
    state = options.open(
        (submit_s, length_s, estimate_s.copy()),
        workload.cores[rows].copy(),
        known=(window.drawn(len(rows), asked=options.order_of_queue.draws), of_order.matrices[0]),
        size=window.site.spec.cores_per_machine,
        is_open=(window.machines.states == OPEN).tolist(),
        least=window.machines.least,
        now=window.begin_s,
        seed=window.seed,
    )
    runs = window.runs(jobs)
    fill_lengths(runs, *job_columns(state)[2:4], window.machines.speed.min())
    power = window.machines.power(window.machines.states)
    replay_powered(state, runs, power, window.machines.speed, len(jobs.warm), window.end_s)
    if options.may_refuse:
        slot, now = refused(state)
        if slot >= 0:
            raise_refused(workload.job(int(rows[slot])), now, options.order_of_queue, None)
    found = window.columns(jobs, runs)
    about = options.about()
    if options.heuristic != "FirstFit" and found.last_s > window.begin_s:
        use, _, use_sum, since = usage_summary(state)
        about["mean_machines_used"] = (use_sum + use * (found.last_s - since)) / (found.last_s - window.begin_s)
    return window.schedule(found, PLACED, about)


def replay_queue_on_machines(model: Model, options: QueueOptions) -> Schedule:
    """Return the schedule of a queue on machines that are switched on and off.

    Raises
    ------
    RequestError
        An order gave no number for a job; what a Python order raised is raised again.
    """
    failures = 16
    while (schedule := _replay_queue(model, options, failures)) is None:
        failures *= 2
    return schedule


def _replay_queue(model: Model, options: QueueOptions, failures: int) -> Schedule | None:
    """Return the schedule of a queue; None if a machine fails more often than this."""
    window = Window(model)
    workload = window.workload
    kill, machines = options.overrun == "kill", window.machines
    ran = [workload.job(row) for row in window.jobs.warm.tolist()]
    jobs = window.jobs._replace(
        warm=window.jobs.warm[np.array(run_on(ran, window.begin_s, free=machines.free, kill=kill), np.bool_)]
    )
    rows, warm = np.concatenate(jobs), len(jobs.warm)
    submit_s = workload.submit_s[rows]
    submit_s[:warm] = window.begin_s
    lengths = np.empty((2, len(rows)))
    runs = window.runs(jobs)
    fill_lengths(runs, *lengths, machines.speed.min())
    of_orders = options.rows(len(rows))
    of_orders.fill_all(workload, rows)
    queue = options.open(
        (submit_s, *lengths, workload.cores[rows].copy()),
        free=machines.free,
        draw=window.drawn(len(rows), asked=options.draws),
        rows=of_orders,
    )
    states = machines.states
    occupancy = new_occupancy(states, machines.size, machines.speed, np.array([0, states.size]))
    power = machines.power(states, failures)
    fine, last_s = replay_queue(queue, occupancy, runs, power, warm, kill, machines.last_s, window.end_s)
    if failed_too_often(power):
        return None
    if not fine:
        slot, now = refused_by_queue(queue)
        raise_refused(workload.job(int(rows[slot])), now, options.order, options.backfill_order)
    found = window.columns(jobs, runs, last_s if window.site.is_out else None)
    first = rows[: options.warm_jobs]
    found.counted[first[np.isin(first, found.rows)]] = False
    terms = Terms(overrun=options.overrun, modelled=True)
    return window.schedule(found, terms, options.about(), spread(found.rows, found.number, parts_of(occupancy)))


def spread(rows: NDArray[np.int64], at: NDArray[np.int64], parts: NDArray[np.int64]) -> pd.DataFrame:
    """Return the parts of the attempts that have several machines.

    Parameters
    ----------
    rows, at
        int64[k], the row of each attempt, and its number, in the order of a schedule.
    parts
        int64[m, 4]: number of the attempt; first machine, how many, and cores of each.
    """
    number, machine, machines, cores = parts.T
    several = (np.bincount(number, minlength=len(at))[number] > 1) | (machines > 1)
    place = np.empty(len(at), np.int64)
    place[at] = np.arange(len(at))
    kept = place[number[several]]
    columns = {"row": rows[kept], "attempt": numbered(rows)[kept], "machine": machine[several]}
    return pd.DataFrame({**columns, "machines": machines[several], "cores": cores[several]}).astype(np.int64)
