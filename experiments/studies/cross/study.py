"""Cross: orders, deciders, changing machines and workloads, crossed; and routers over two clusters."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from experiments.campaigns import Cell, Claim, Results, Scale, Study
from experiments.campaigns.cell import Rows
from experiments.studies.cross import settings
from experiments.studies.cross.results import CrossResults, findings_of, make_claims, make_tables
from experiments.studies.cross.run import generated_series, measured, simulated
from experiments.studies.cross.work import Work, work_of
from simmodels import DAY
from workloads import read_series


class Cross(Study):
    """Orders, deciders, changing machines and workloads, crossed; and routers over two clusters.

    A replication is a window of each workload, and a walk of the number of machines; all deciders and orders meet the
    same jobs and the same walk. On average as many machines are on under each capacity: ``steady``, a bounded
    random walk with one step per interval in seconds (``walk 3600``), or a ``series`` of a file, such as wind power,
    within the same bounds. Workloads are a log (``--set log=FILE``), a slice of Borg's trace (``--set borg=FILE``),
    workflows (``--set workflow_files=FOLDER``), and ``mixed``, half log and half workflows; without a file each is
    generated.
    Windows have equal work; their submissions are stretched to fill them. Jobs wider than a machine are left out.

    On one cluster, a decider goes with each order that means something for it: TargetASAP places jobs as they are
    submitted, so its order is FCFS; ``bandit`` (epsilon-greedy) and ``feedback`` (which simulates, and needs a queue)
    are online tuners that choose among the four fixed orders. ``learned`` is a linear polynomial, fitted to trials on a
    steady machine on the part of the workload before the first window. The second design has two clusters, each with
    an EASY queue under FCFS or SAF, behind a router; ``one queue`` has the machines of both.

    ``engine`` is that of what the compiled one covers; tuners on changing machines run on SimPy always.
    """

    parameters = {
        "log": "", "borg": "", "workflow_files": "", "series": "", "series_column": "", "machines": 8, "radius": 4,
        "cores_per_machine": 16, "load": 0.8, "window_days": 5.0, "warm_days": 1.0, "learn_on": 0.2, "pairs": 440,
        "trials": 16_384, "trial_cores": 32, "tune_h": 6.0, "rebalance_s": 3600.0, "tau_s": 10.0,
        "engine": "auto",
    }  # fmt: skip
    factors = {
        "workload": settings.WORKLOADS,
        "capacity": (settings.STEADY, "walk 14400", "walk 3600", "walk 1200", settings.SERIES),
        "decider": (*settings.DECIDERS, *settings.ROUTED),
        "order": settings.ORDERS,
    }
    scales = {
        "smoke": Scale(
            replications=5,
            judged=False,
            parameters={"window_days": 1.0, "warm_days": 0.25, "pairs": 20, "trials": 512},
            factors={"workload": ("log", "workflows"), "capacity": (settings.STEADY, "walk 1200")},
        ),
        "small": Scale(replications=10),
        "paper": Scale(replications=12),
    }
    measures = (
        "mean_bounded_slowdown", "mean_wait_s", "mean_stretch", "goodput", "lost", "utilisation", "kills", "mean_slr",
        "offered_load", "measured_jobs", "completed_share",
    )  # fmt: skip
    drawn_by = "experiments.studies.cross.figures:draw_figures"

    # -- the cells ----------------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out, window by window, each decider with each order that means something for it."""
        design = self.design(scale)
        settings.require_settings(design)
        places = product(range(design.replications), design.factors["workload"], design.factors["capacity"])
        for (replication, workload, capacity), (decider, order) in product(places, list(settings.policies(design))):
            factors = {"workload": workload, "capacity": capacity, "decider": decider, "order": order}
            yield Cell(factors, replication, seed, design.parameters)

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return the windows of each workload with what was learned before them, and the series.

        Raises
        ------
        FileFormatError, RequestError
            A setting is out of range, a file cannot be read, or a log has not enough work for the windows.
        """
        design = self.design(scale)
        settings.require_settings(design)
        of = design.parameters
        found: dict[str, Any] = {
            str(name): work_of(str(name), of, design.replications, self.seed) for name in design.factors["workload"]
        }
        if settings.SERIES in design.factors["capacity"]:
            path, column = str(of["series"]), str(of["series_column"])
            found[settings.SERIES] = read_series(path, column=column or None) if path else generated_series(self.seed)
        return found

    def uses(self, cell: Cell) -> Collection[str]:
        """Return the inputs of a cell: its workload, and the series where the machines follow it."""
        return (cell["workload"], settings.SERIES) if cell["capacity"] == settings.SERIES else (cell["workload"],)

    def run_cell(self, cell: Cell) -> Rows:
        """Return the figures of merit of one decider under one order."""
        work: Work = cell.inputs[cell["workload"]]
        schedule, capacities = simulated(cell)
        window_s = (cell["warm_days"] * DAY, cell["window_days"] * DAY)
        found = measured(schedule, capacities, cell["cores_per_machine"], window_s, cell["tau_s"])
        return {**found, "left_out": work.left_out}

    # -- what came out ------------------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return mean bounded slowdowns and lost work, the ranks of the orders, and the routers."""
        return make_tables(CrossResults(results))

    def findings(self, results: Results) -> Sequence[str]:
        """Return what the windows are, and what was left out."""
        return findings_of(CrossResults(results))

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return whether orders keep their rank, whether risk matters more than order, and whether auctions win."""
        return list(make_claims(CrossResults(results)))
