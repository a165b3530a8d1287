"""A workload on machines that come and go, on the compiled clock."""

import math

import numpy as np

from simmodels.capacity import Capacity
from simmodels.decisions.checkpointing import takes
from simmodels.decisions.fleet import columns as columns_of
from simmodels.decisions.fleet import refused, standing
from simmodels.decisions.options import raise_refused
from simmodels.decisions.placement_options import PLACED, PlacementOptions, checkpoint_numbers
from simmodels.decisions.rows import Rows
from simmodels.decisions.switching import MODES, OFF, OPEN
from simmodels.decisions.window import windowed
from simmodels.place import Place
from simmodels.replay.powered import new_runs, record, replay_powered
from simmodels.schedule import COMPLETED, Schedule
from simmodels.streams import stream
from simmodels.workload import Workload


def replay_on_machines(
    workload: Workload,
    capacity: Capacity,
    *,
    cores_per_machine: int,
    options: PlacementOptions,
    window_s: tuple[float, float],
    machines: int,
    seed: int = 0,
) -> Schedule:
    """Return the schedule of a window; see `simmodels.simulate_on_machines`.

    Parameters
    ----------
    workload
        The jobs; each that is known must be able to run on a machine.
    capacity
        How many machines there are over time, as far as it is known by the window's end (`Capacity.known_by`).
    cores_per_machine, machines
        The cores of each machine, and how many there are at most.
    options
        How jobs are placed.
    window_s
        Its begin and its end, which may be infinite.
    seed
        For fill orders and removals that are drawn.
    """
    begin, end = window_s
    jobs = windowed(workload, window_s)
    rows = np.concatenate((jobs.warm, jobs.arriving))
    submit_s, length_s = workload.submit_s[rows], workload.runtime_s[rows].copy()
    interval, cost, restart = checkpoint_numbers(options.checkpoints)
    at_begin = capacity.machines_at(begin)
    later = capacity.time_s > begin
    least = min(at_begin, int(capacity.machines[later].min(initial=machines)))
    states = np.where(np.arange(machines) < at_begin, OPEN, OFF).astype(np.int64)
    of_order = Rows((options.order_of_queue.columns, ()), len(rows))
    of_order.fill_all(workload, rows)
    draw = stream(seed, "order", "draw").random(len(rows)) if options.order_of_queue.draws else np.empty(0)
    fleet = options.open(
        (submit_s, length_s, workload.estimate_s[rows].copy()),
        workload.cores[rows].copy(),
        known=(draw, of_order.matrices[0]),
        size=cores_per_machine,
        is_open=(states == OPEN).tolist(),
        least=least,
        now=float(begin),
        seed=seed,
    )
    warm = len(jobs.warm)
    earlier = np.zeros(len(rows))
    earlier[:warm] = begin - submit_s[:warm]
    for each in columns_of(fleet)[2:4]:  # by runtime, and by estimate
        if interval < math.inf:
            each[:] = [takes(work, 0.0, interval, cost) for work in each.tolist()]
        each[:warm] = np.maximum(each[:warm] - earlier[:warm], 0.0)
    runs = new_runs((length_s.copy(), workload.estimate_s[rows].copy()), earlier, machines)
    time_s, notice_s = capacity.time_s[later], capacity.notice_s[later]
    mode = np.array([MODES[each] for each, kept in zip(capacity.mode, later, strict=True) if kept], np.int64)
    wanted = capacity.machines[later]
    notices = np.flatnonzero(notice_s > 0)
    notices = notices[np.argsort((time_s - notice_s)[notices], kind="stable")]
    draws = np.empty(0)
    if options.random_kill:
        # A machine that leaves takes a draw, and can leave again once it has come again.
        comes = int(np.diff(wanted, prepend=at_begin).clip(0).sum())
        draws = stream(seed, "capacity", "removed").random(at_begin + 2 * comes + 1)
    replay_powered(
        fleet,
        runs,
        states,
        (time_s, wanted, notice_s, mode, notices),
        draws,
        warm,
        (float(begin), float(end)),
        (interval, cost, restart),
    )
    if options.may_refuse:
        slot, now = refused(fleet)
        if slot >= 0:
            raise_refused(workload.job(int(rows[slot])), now, options.order_of_queue, None)
    (slot, machine, start_s, end_s, work_s, outcome), dark = record(runs)
    order = np.lexsort((slot, start_s))  # as a recorder has them
    slot, machine, start_s, end_s = slot[order], machine[order], start_s[order], end_s[order]
    work_s, outcome = work_s[order], outcome[order]
    last = end
    if end == math.inf:
        last = max(float(np.nanmax(end_s, initial=begin)), begin)
        if (outcome == COMPLETED).sum() < len(np.union1d(slot, np.arange(warm, len(rows)))):  # some wait in the dark
            last = max(last, float(submit_s.max()), float(time_s.max(initial=begin)))
    use, _, use_sum, since = standing(fleet)
    counted = np.zeros(len(workload), np.bool_)
    counted[jobs.arriving] = True
    counted[rows[slot]] = True
    about: dict[str, object] = {**options.about(), "engine": "compiled", "seed": seed}
    about["left_out"] = len(workload) - int(counted.sum())
    if options.heuristic != "FirstFit" and last > begin:
        about["mean_machines_used"] = (use_sum + use * (last - since)) / (last - begin)
    dark_machine, dark_from_s, dark_to_s = dark
    return Schedule.from_attempts(
        workload,
        [Place("machines", machines * cores_per_machine, None, machines)],
        rows[slot],
        {"start_s": start_s, "end_s": end_s, "outcome": outcome, "machine": machine, "work_s": work_s},
        off=(np.zeros_like(dark_machine), dark_machine, dark_from_s, dark_to_s),
        window=(float(begin), float(last)),
        counted=counted,
        terms=PLACED,
        about=about,
    )
