"""Capacity: machines that are switched on and off, and schedulers that know the risk: `PAPER`."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise, product
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from experiments.campaigns import Cell, Claim, Results, Scale, Study, in_scope
from experiments.campaigns.cell import Rows
from experiments.campaigns.study import Figures
from experiments.policy import FIVE, QUEUES, TARGETED, policy_of
from experiments.studies.capacity import settings
from experiments.studies.capacity.claims import make_claims
from experiments.studies.capacity.paper import ELEMENTS, PAPER, SLICES, printed_table
from experiments.studies.capacity.results import CapacityResults, make_tables
from simmodels import DAY, HOUR, WEEK, Checkpoints, RequestError, Schedule, Workload, simulate, young_daly_s
from simmodels import Capacity as Walk
from simmodels.clusters.capacity import Mode
from simmodels.ground.streams import entropy
from simmodels.results.schedule import UNFINISHED
from workloads import RISKY_FAMILIES, capacity_walk, read_borg_slice, variable_capacity_jobs

_MODES: Final[Mapping[str, Mode]] = {"drain": "drain", "checkpoint": "checkpoint"}


class Jobs(NamedTuple):
    """What is run in a cell: the jobs, those that say risks, and the window."""

    log: Workload
    reference: Workload
    window_s: tuple[float, float]


class Capacity(Study):
    """Machines that are switched on and off: first fit, the three targeted heuristics, and queues.

    A replication is a walk of the number of machines; all heuristics, job traces and points of the sweeps meet the same
    walks. The workloads are families of jobs, and slices of Borg's trace (``--workload LogScale,A.txt.gz,B.txt.gz``):
    the risks of each slice are read from the one that begins before it, so the first one is not run itself. A point of
    the sweeps differs from the centre (24 machines, 8 more or less, a change each 1,200 s) in one factor. ``change``
    is how machines go, ``variant`` how the paper is read.

    Scale ``paper`` is the paper's campaign: three sweeps of five values on four workloads, five heuristics, six job
    traces and 30 walks are its 54,000 simulations, of which the centre, which the sweeps share, is run once. LogScaleU,
    of which the paper has one sentence, is run at the centre; ``extended`` sweeps it too, and has queues, other ways in
    which machines go, and all readings.
    """

    paper = PAPER
    elements = ELEMENTS

    parameters = {
        "lead_days": 14.0, "window_days": 7.0, "distance": 11, "pack_size": 5, "raise_above": 0.95,
        "lower_below": 0.80, "notice_s": 600.0, "checkpoint_s": 60.0, "restart_s": 60.0,
        "engine": "auto",
    }  # fmt: skip
    factors = {
        "workload": RISKY_FAMILIES,
        "trace": tuple(range(6)),
        **settings.SWEPT,
        "cores_per_machine": (24,),
        "jobs_per_week": (20_000,),
        "change": ("kill",),
        "variant": ("default",),
        "heuristic": FIVE,
    }
    scales = {
        "smoke": Scale(
            replications=5,
            judged=False,
            parameters={"lead_days": 1.0, "window_days": 0.5},
            factors={"workload": ("Uniform", "LogScale"), "trace": (0,), "machines": (24,), "radius": (8,),
                     "period_s": (400, 1200)},
        ),
        "small": Scale(
            replications=10,
            factors={"trace": (0,), "machines": (20, 24, 26, 28), "radius": (4, 8, 16),
                     "period_s": (400, 1200, 10_800)},
        ),
        "paper": Scale(replications=30),
        "extended": Scale(
            replications=30,
            factors={"cores_per_machine": (48, 32, 24, 16, 8), "jobs_per_week": (8_000, 14_000, 20_000, 28_000, 40_000),
                     "variant": tuple(settings.INTERPRETATIONS), "change": settings.CHANGES,
                     "heuristic": (*FIVE, *QUEUES)},
        ),
    }  # fmt: skip
    measures = (
        "goodput", "aborted", "idle", "kills", "mean_aborted_s", "max_stretch", "mean_stretch", "arrived",
        "completed_share", "mean_machines_used",
    )  # fmt: skip

    # -- the cells ----------------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out, walk by walk, each heuristic at each point of the sweeps, on each job trace."""
        design = self.design(scale)
        settings.require_settings(design)
        values, centre = design.factors, next(settings.points(design.factors))
        slices = settings.slices_of(values["workload"])
        families = [str(name) for name in values["workload"] if name in RISKY_FAMILIES]
        workloads = [*families, *([settings.BORG] if slices else [])]
        for replication, workload, trace in product(range(design.replications), workloads, values["trace"]):
            if workload == settings.BORG and trace >= len(slices) - 1:
                continue
            only_centre = workload == "LogScaleU" and scale != "extended"
            for point in islice(settings.points(values), 1 if only_centre else None):
                if workload == settings.BORG and point["jobs_per_week"] != centre["jobs_per_week"]:
                    continue  # Borg has as many as it has
                if not settings.INTERPRETATIONS[point["variant"]].changes_jobs_of(workload):
                    continue
                for heuristic in settings.heuristics_for(point, values["heuristic"]):
                    factors = {"workload": workload, "trace": trace, **point, "heuristic": heuristic}
                    yield Cell(factors, replication, seed, design.parameters)

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return the slices of Borg, each with the one that begins before it; families are made in the cells.

        Raises
        ------
        FileFormatError, RequestError
            A slice cannot be read, has no job that is submitted in it, or begins when another does.
        """
        design = self.design(scale)
        settings.require_settings(design)
        logs = []
        for path in settings.slices_of(design.factors["workload"]):
            log = read_borg_slice(path)
            if log.extras["running"].all():
                raise RequestError(f"{path} has only jobs that ran before it", "give a slice with others")
            logs.append((settings.first_submit_s(log), path, log))
        logs.sort(key=lambda each: each[0])
        found = {}
        for trace, ((before, _, reference), (begin, path, log)) in enumerate(pairwise(logs)):
            if before == begin:
                raise RequestError(
                    f"{path} begins at {begin:g} s as another slice does", "give each slice a week of its own"
                )
            # A slice is as long as its last submit says, in whole days.
            days = math.floor((float(log.submit_s.max()) - begin) / DAY) + 1
            found[f"{settings.BORG} {trace}"] = Jobs(log, reference, (begin, begin + days * DAY))
        return found

    def uses(self, cell: Cell) -> Collection[str]:
        """Return the slice of a cell on Borg."""
        return (f"{settings.BORG} {cell['trace']}",) if cell["workload"] == settings.BORG else ()

    def run_cell(self, cell: Cell) -> Rows:
        """Return the figures of merit of one heuristic, on one job trace and one walk."""
        schedule = simulated(cell)
        found = schedule.metrics(warm_credit=settings.INTERPRETATIONS[cell["variant"]].warm_credit)
        return {name: None if math.isnan(found[name]) else found[name] for name in self.measures}

    # -- what is reported ----------------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return the text's numbers beside ours, and what came out at the centre and along the sweeps."""
        found = CapacityResults(results)
        printed = printed_table(found) if found.centre["variant"] in settings.JUDGED else pd.DataFrame()
        return {**({"numbers of the text, beside ours": printed} if len(printed) else {}), **make_tables(found)}

    def findings(self, results: Results) -> Sequence[str]:
        """Return what is missing where no slice of Borg's trace was passed."""
        if settings.BORG in CapacityResults(results).subjects:
            return ()
        missing = "Figure 4, the panels of Borg and the claims about it are missing: pass slices of Google's Borg trace"
        return (f"{missing}, as the authors publish them, beside the families: {SLICES} (seven for six job traces)",)

    def figures(self, results: Results) -> Figures:
        """Return the box plots of figures 1 to 4, and machines that are switched off in one small window."""
        from experiments.gantt import gantt  # noqa: PLC0415  matplotlib is slow to import
        from experiments.studies.capacity.figures import draw_figures  # noqa: PLC0415  the same

        found = draw_figures(CapacityResults(results))
        shown = shown_window(results)
        if shown is not None:
            found["ours: machines that are switched off"] = gantt(
                shown.schedules, start_s=shown.window_s[0], end_s=shown.window_s[1]
            )
        return found

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return the claims of the paper; none if its centre is by a reading that is neither ours nor the text."""
        found = CapacityResults(results)
        claims = make_claims(found) if found.centre["variant"] in settings.JUDGED else ()
        return in_scope(claims, results, given={"workload": {settings.BORG: "SLICE,SLICE,..."}})


def jobs_of(cell: Cell) -> Jobs:
    """Return the jobs of a cell: of a family, generated; else a slice of Borg."""
    reading = settings.INTERPRETATIONS[cell["variant"]]
    lead, window = reading.windows(cell.parameters)
    if cell["workload"] == settings.BORG:
        log, reference, (begin, end) = cell.inputs[f"{settings.BORG} {cell['trace']}"]
        return Jobs(log, reference, (begin, min(end, begin + window * DAY)))
    begin, end = lead * DAY, (lead + window) * DAY
    weeks = end / WEEK
    jobs, reference = (
        _generated(
            cell["workload"],
            weeks=weeks,
            jobs_per_week=reading.jobs_per_week(cell["jobs_per_week"], weeks),
            cores_per_machine=cell["cores_per_machine"],
            seed=entropy(cell.seed, "capacity", what, cell["trace"]),
            **reading.jobs,
        )
        for what in ("jobs", "reference")
    )
    return Jobs(jobs, reference, (begin, end))


_generated: Final = lru_cache(maxsize=8)(variable_capacity_jobs)


def walk_of(cell: Cell, until_s: float) -> Walk:
    """Return the walk of a cell: the same draws for all that is compared within a replication."""
    change = cell["change"]
    notice_s = cell["notice_s"] if change in {"notice", "checkpoint"} else 0.0
    return capacity_walk(
        mean=cell["machines"],
        radius=cell["radius"],
        period_s=cell["period_s"],
        until_s=until_s + notice_s,  # what is announced by the end is known
        law=settings.INTERPRETATIONS[cell["variant"]].law,
        notice_s=notice_s,
        mode=_MODES.get(change, "kill"),
        seed=cell.seed_for("walk"),
    )


def _checkpoints(cell: Cell, capacity: Walk, window_s: tuple[float, float]) -> Checkpoints | None:
    """Return how jobs write checkpoints; the periodic ones as often as Young and Daly have it for the walk."""
    cost_s, restart_s = cell["checkpoint_s"], cell["restart_s"]
    if cell["change"] == "checkpoint":
        return Checkpoints(cost_s=cost_s, restart_s=restart_s)
    if cell["change"] != "periodic":
        return None
    begin, end = window_s
    later = (capacity.time_s > begin) & (capacity.time_s < end)
    before = [capacity.machines_at(begin), *capacity.machines[later]]
    gone = sum(max(one - other, 0) for one, other in pairwise(before))
    if not gone:
        return None
    between_s = capacity.machine_seconds(begin, end) / int(gone)
    return Checkpoints(interval_s=young_daly_s(cost_s, between_s), cost_s=cost_s, restart_s=restart_s)


def simulated(cell: Cell) -> Schedule:
    """Return the schedule of a cell."""
    log, reference, window_s = jobs_of(cell)
    capacity = walk_of(cell, window_s[1])
    most, least = cell["machines"] + cell["radius"], cell["machines"] - cell["radius"]
    size, heuristic, seed = cell["cores_per_machine"], cell["heuristic"], cell.seed_for("fill")
    options: dict[str, Any] = {
        **policy_of("heuristic", heuristic).options,
        "seed": seed,
        "engine": cell["engine"],
        "checkpoints": _checkpoints(cell, capacity, window_s),
    }
    if heuristic not in QUEUES:
        options |= settings.heuristic_options(heuristic, cell.parameters, settings.INTERPRETATIONS[cell["variant"]])
    if heuristic in TARGETED:
        options |= {"reference": reference, "least_machines": least}
    return simulate(log, capacity=capacity, cores_per_machine=size, machines=most, window_s=window_s, **options)


_SHOWN_DAYS: Final = 2.0
_SHOWN_S: Final = 6.0 * HOUR


class Shown(NamedTuple):
    """Schedules by heuristic, and the window of them that is drawn."""

    schedules: dict[str, Schedule]
    window_s: tuple[float, float]


def shown_window(results: Results) -> Shown | None:
    """Return two heuristics, and the six hours in which first fit loses most; None without a generated workload."""
    families = [name for name in results.factors["workload"] if name in RISKY_FAMILIES]
    if not families or results.table.empty:
        return None
    family = "LogScale" if "LogScale" in families else families[0]
    parameters = {**results.parameters, "lead_days": _SHOWN_DAYS, "window_days": _SHOWN_DAYS}
    found = {}
    for heuristic in ("FirstFitAware", "TargetAsap"):
        factors = {"workload": family, "trace": 0, **CapacityResults(results).centre, "heuristic": heuristic}
        found[heuristic] = simulated(Cell(factors, 0, results.seed, parameters))
    runs, (begin, end) = found["FirstFitAware"].runs, found["FirstFitAware"].simulated_s
    lost = (runs["outcome"] == UNFINISHED) & runs["end_s"].notna()
    ended_s, work = runs.loc[lost, "end_s"].to_numpy(), (runs["lost_s"] * runs["cores"])[lost].to_numpy()
    starts = np.arange(begin, end - _SHOWN_S + 1, HOUR)
    sums = [work[(ended_s > start) & (ended_s <= start + _SHOWN_S)].sum() for start in starts]
    first = float(starts[int(np.argmax(sums))])
    return Shown(found, (first, first + _SHOWN_S))
