"""Replay: a log, or a generated workload, under several orders, backfillings and thresholds."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, get_args

import numpy as np
import pandas as pd

from experiments.campaigns import Cell, Results, Scale, Study
from experiments.campaigns.cell import Rows
from experiments.campaigns.study import Design, Figures
from experiments.inputs import WorkloadFile, named_priority
from simmodels import DAY, HOUR, RequestError, Workload, simulate
from simmodels.engine import Engine
from simmodels.ground.files import open_regular
from simmodels.ground.toml_json import SUFFIXES
from simmodels.policies.queue_options import Backfilling
from workloads import lublin, tsafrir_estimates

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
        "engine": "auto",
    }
    factors = {"order": ("FCFS", "SPF", "SAF", "F2"), "backfilling": ("easy",), "threshold_h": (None,)}
    scales = {
        "smoke": Scale(replications=2, judged=False, parameters={"jobs": 300}),
        "small": Scale(replications=10),
        "paper": Scale(replications=100, parameters={"jobs": 10_000}),
    }
    measures = ("mean_wait_s", "mean_bounded_slowdown", "utilisation")

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return the log, if there is one, and the sources of orders that are files: the results depend on them."""
        design = self.design(scale)
        paths = [str(order).rpartition(":")[0] or str(order) for order in design.values("order")]
        sources = {}
        for path in sorted(set(paths)):
            if path.lower().endswith((".py", *SUFFIXES)):
                with open_regular(path) as file:
                    sources[path] = file.read()
        return sources | ({_LOG: self._log(design)} if _one(design, "workload") else {})

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells of the design; a log has only a certain number of windows."""
        design = self.design(scale)
        design.require_known(engine=get_args(Engine), backfilling=get_args(Backfilling))
        design.require_integers(0, "jobs")
        design.require_integers(0, "cores", or_none=True)
        design.require_numbers("load", "tau_s", "window_days", least=0)
        design.require_numbers("threshold_h", least=0, or_none=True)
        for order in design.values("order"):
            named_priority(str(order))
        if _one(design, "workload"):
            log = self._log(design)
            days = _one(design, "window_days")
            windows = _windows(log, days if isinstance(days, int | float) else 0.0)
            if design.replications > windows:
                what = f"{design.replications} replications of {log.name}, which has {windows} whole windows"
                remedy = (
                    f"choose replications={windows}, or another window_days" if windows else "choose fewer window_days"
                )
                raise RequestError(what, remedy)
        return super().cells(scale, seed)

    def _log(self, design: Design) -> Workload:
        """Return the log, read once."""
        file = WorkloadFile.of({name: _one(design, name) for name in ("workload", "cores", "clean")})
        if file not in self._logs:
            self._logs[file] = file.read()
        return self._logs[file]

    @cached_property
    def _logs(self) -> dict[WorkloadFile, Workload]:
        """The logs that were read."""
        return {}

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
            order=named_priority(cell["order"]),
            backfilling=cell["backfilling"],
            threshold_s=threshold_s,
            seed=cell.seed_for("order"),
            engine=cell["engine"],
        )
        return schedule.metrics(cell["tau_s"])

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return medians and quartiles, and the differences of each order to the first."""
        return {"summary": results.summary(self.measures), "differences": _differences(results, self.measures)}

    def figures(self, results: Results) -> Figures:
        """Return waits and slowdowns by order, or by what is varied."""
        from experiments.campaigns.plots import boxes  # noqa: PLC0415  matplotlib is slow to import

        varied = [name for name, values in results.factors.items() if len(values) > 1]
        if not results.factors:
            return {}
        by, *others = dict.fromkeys([*(["order"] if "order" in results.factors else []), *varied, *results.factors])
        within = next((name for name in others if name in varied), None)
        return {
            f"Mean wait by {by}": boxes(results, "mean_wait_s", by=by, within=within),
            f"Mean bounded slowdown by {by}": boxes(
                results, "mean_bounded_slowdown", by=by, within=within, label="mean bounded slowdown"
            ),
        }


def _one(design: Design, name: str) -> Any:  # noqa: ANN401  a value is what the study says it is
    """Return the value of what cannot be varied here: a TOML file may make a factor of a parameter."""
    values = design.values(name)
    if len(values) > 1:
        raise RequestError(f"{name} has {len(values)} values", "choose one, because all cells share the log")
    return values[0]


def _windows(log: Workload, days: float) -> int:
    """Return how many whole windows of `days` days a log has; 0 days: one window, all of it."""
    if days == 0:
        return 1
    span_s = float(np.ptp(log.submit_s))
    return int(span_s // (days * DAY))


def _differences(results: Results, measures: tuple[str, ...]) -> pd.DataFrame:
    """Return how much each order differs from the first, paired by replication, in each measure."""
    first, *others = results.factors.get("order", (None,))
    rows = []
    for measure in measures:
        for order in others:
            effect = results.difference(measure, {"order": order}, {"order": first})
            if effect is not None:
                about = {"measure": measure, "order": order, "against": first}
                rows.append({**about, **effect.columns("difference"), "replications": effect.replications})
    return pd.DataFrame(rows, columns=["measure", "order", "against", "difference", "low", "high", "replications"])
