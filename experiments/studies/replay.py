"""Replay: a log, or a generated workload, under several orders, backfillings and thresholds."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from experiments.campaigns.results import Results
from experiments.campaigns.study import Cell, Rows, Scale, Study
from experiments.inputs import WorkloadFile, named_order
from simmodels.errors import RequestError
from simmodels.simulate import simulate
from simmodels.units import DAY, HOUR
from simmodels.workload import Workload
from workloads.lublin import lublin
from workloads.tsafrir import tsafrir_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOG = "log"


class Replay(Study):
    """Orders, backfillings and thresholds on a log or on generated workloads.

    With ``workload = ""``, a replication is another workload of the model of Lublin and Feitelson with the estimates of
    Tsafrir et al.; with a file, it is another window of ``window_days`` days of the log, from its first submit on,
    each from an empty machine (0: one window, all of the log).
    """

    parameters = {
        "workload": "",
        "cores": None,
        "clean": "",
        "window_days": 0.0,
        "jobs": 2000,
        "load": 0.9,
        "tau_s": 10.0,
    }
    factors = {"order": ("FCFS", "SPF", "SAF", "F2"), "backfilling": ("easy",), "threshold_h": (None,)}
    scales = {
        "smoke": Scale(replications=2, parameters={"jobs": 300}),
        "small": Scale(replications=10),
        "paper": Scale(replications=100, parameters={"jobs": 10_000}),
    }
    measures = ("mean_wait_s", "mean_bounded_slowdown", "utilisation")

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return the log, if there is one, and the sources of orders that are files: the results depend on them."""
        design = self.design(scale)
        files = {str(order).rpartition(".py")[0] + ".py" for order in design.factors["order"] if ".py" in str(order)}
        sources = {name: Path(name).read_bytes() for name in sorted(files)}
        return sources | ({_LOG: self._log} if design.parameters["workload"] else {})

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells of the design; a log has so many windows, and no more.

        Raises
        ------
        RequestError
            An order is unknown, or more replications are asked for than the log has windows.
        """
        design = self.design(scale)
        for order in design.factors["order"]:
            named_order(str(order))
        if design.parameters["workload"]:
            windows = _windows(self._log, float(design.parameters["window_days"] or 0))
            if design.replications > windows:
                what = f"{design.replications} replications of {self._log.name}, which has {windows} whole windows"
                raise RequestError(what, f"--set replications={windows}, or another window_days, is allowed")
        return super().cells(scale, seed)

    @cached_property
    def _log(self) -> Workload:
        """The log, read once."""
        of = {**self.parameters, **self.chosen}
        filters = tuple(part.strip() for part in str(of["clean"]).split(",") if part.strip())
        return WorkloadFile(path=Path(of["workload"]), cores=of["cores"], filters=filters).read()

    def run_cell(self, cell: Cell) -> Rows:
        """Return the figures of merit of one simulation."""
        if cell["workload"]:
            log: Workload = cell.inputs[_LOG]
            days = cell["window_days"]
            begin_s = float(log.submit_s.min()) + cell.replication * days * DAY
            jobs = log.between(begin_s, begin_s + days * DAY) if days else log
        else:
            seed = cell.seed_for("workload")
            cores = 256 if cell["cores"] is None else cell["cores"]
            jobs = tsafrir_estimates(lublin(jobs=cell["jobs"], cores=cores, load=cell["load"], seed=seed), seed=seed)
        threshold_s = None if cell["threshold_h"] is None else cell["threshold_h"] * HOUR
        schedule = simulate(
            jobs,
            order=named_order(cell["order"]),
            backfilling=cell["backfilling"],
            threshold_s=threshold_s,
            seed=cell.seed_for("order"),
        )
        return schedule.metrics(cell["tau_s"])

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return medians and quartiles, and the differences of each order to the first."""
        return {"summary": results.summary(self.measures), "differences": _differences(results, self.measures)}

    def figures(self, results: Results) -> "Mapping[str, Figure]":
        """Return waits and slowdowns by order."""
        from experiments.campaigns.plots import boxes  # noqa: PLC0415  matplotlib is slow to import

        within = next((name for name in ("backfilling", "threshold_h") if len(results.factors.get(name, ())) > 1), None)
        names = {"mean_wait_s": "mean wait (s)", "mean_bounded_slowdown": "mean bounded slowdown"}
        return {
            label.capitalize() + " by order": boxes(results, name, by="order", within=within, label=label)
            for name, label in names.items()
        }


def _windows(log: Workload, days: float) -> int:
    """Return how many whole windows of so many days a log has; 0 days: one window, all of it."""
    if days < 0:
        raise RequestError(f"window_days is {days:g}", "a number >= 0 is allowed")
    if days == 0:
        return 1
    span_s = float(np.ptp(log.submit_s))
    return int(span_s // (days * DAY))


def _differences(results: Results, measures: tuple[str, ...]) -> pd.DataFrame:
    """Return how much each order differs from the first, paired by replication, in each measure."""
    first, *others = results.factors["order"]
    rows = []
    for measure in measures:
        for order in others:
            effect = results.difference(measure, {"order": order}, {"order": first})
            if effect is not None:
                rows.append(
                    {
                        "measure": measure,
                        "order": order,
                        "against": first,
                        "difference": effect.estimate,
                        "low": effect.low,
                        "high": effect.high,
                        "replications": effect.replications,
                    }
                )
    return pd.DataFrame(rows, columns=["measure", "order", "against", "difference", "low", "high", "replications"])
