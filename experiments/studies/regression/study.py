"""Regression: orders learned from permutation trials, as published (`PAPER`) and as they should have been."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd

from experiments.campaigns import Cell, Claim, Results, Scale, Study
from experiments.campaigns.cell import Rows
from experiments.campaigns.study import Design
from experiments.inputs import WorkloadFile, named_priority
from experiments.studies.regression import learning, settings
from experiments.studies.regression.claims import claim_tables, fit_claims, over_workloads
from experiments.studies.regression.paper import ELEMENTS, PAPER
from experiments.studies.regression.results import RegressionResults
from experiments.studies.regression.tables import findings, make_tables
from experiments.studies.windows import windows
from simmodels import DAY, RequestError, Workload, draw_pairs, simulate
from simmodels.errors import must_be
from simmodels.ground.streams import entropy
from simmodels.policies.priority import Priority
from workloads import lublin, tsafrir_estimates

_CORES: Final = 256


class Regression(Study):
    """Orders learned by regression from permutation trials, compared online.

    Pairs of jobs are drawn from each training set and scored in two ways: ``swap-any`` as published (with a shuffle
    that is not uniform), and ``uniform``, with equally many uniform permutations for each first job. To each set of
    scores four forms are fitted. Training sets (``train``) are ``generated``; ``own``, which is each workload for
    itself; and files: a log, or scores in the authors' format (p, q, r, score; ``.csv`` or ``.csv.gz``).

    Online, a replication is a window of ``window_days`` of each workload, run with actual runtimes, with estimates, and
    with estimates and EASY backfilling, and with a queue of which all waiting jobs are considered, or 32 as in the
    published program. Run are the plain orders, the forms as they are printed, and those that were learned; of those
    learned from another training set than ``generated``, all but LIN with actual runtimes only, as in the paper's
    figure 3. The paper's claims are checked with the full queue of its text, for printed forms and for those of
    swap-any scores; a depth of 32 is that of its program, and uniform scores are the corrected method: both are ours.
    """

    paper = PAPER
    elements = ELEMENTS
    parameters = {
        "pairs": 440, "pairs_of_logs": None, "trials": 256_000, "uniform_trials": 32_768, "draws": 20, "jobs": 20_000,
        "generated_windows": None, "window_days": 15.0, "warm_jobs": 16, "tau_s": 10.0, "initial_state": "started",
        "cores": None, "engine": "auto",
    }  # fmt: skip
    factors = {
        "part": settings.PARTS,
        "train": (settings.GENERATED, settings.OWN),
        "scores": (None, *settings.SCORES),
        "order": settings.ORDERS,
        "workload": (settings.GENERATED,),
        "mode": settings.MODES,
        "queue_depth": settings.DEPTHS,
    }
    scales = {
        "smoke": Scale(
            judged=False,
            parameters={"pairs": 24, "pairs_of_logs": 24, "trials": 8_192, "uniform_trials": 4_096, "draws": 2,
                        "jobs": 8_000},
        ),
        "small": Scale(parameters={"trials": 32_768, "uniform_trials": 16_384}),
        "paper": Scale(parameters={"jobs": 80_000, "generated_windows": 50}),
    }  # fmt: skip
    measures = (settings.MEASURE, "mean_wait_s")
    drawn_by = "experiments.studies.regression.figures:figures"

    # -- the cells ----------------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the fits, then how features and scores vary, then each order in each window of each workload."""
        design = self.design(scale)
        settings.require_settings(design)
        yield from self._learning(design, seed)
        of, values = design.parameters, design.factors
        if settings.ONLINE not in values["part"]:
            return
        counts = {str(name): len(self._windows(str(name), of)) for name in values["workload"]}
        for window in range(max(counts.values())):
            for workload in [name for name, count in counts.items() if window < count]:
                for factors in settings.online(workload, values):
                    yield Cell(factors, window, seed, of)  # type: ignore[arg-type]  # values of factors

    def _learning(self, design: Design, seed: int) -> Iterator[Cell]:
        """Hand out the fits, the draws of pairs, and how scores converge."""
        of, values = design.parameters, design.factors
        none = dict.fromkeys(values)
        sets = settings.all_training_sets(values)
        forms = [order for order in values["order"] if settings.is_learned(str(order))]
        for train in sets if settings.FIT in values["part"] else ():
            for name in settings.scores_for(train, values):
                for form in forms:
                    fit = {"part": settings.FIT, "train": train, "scores": name, "order": form}
                    yield Cell({**none, **fit}, 0, seed, of)
        logs = [train for train in sets if not settings.is_score_file(train)]
        for replication in range(of["draws"]) if settings.DRAW in values["part"] and forms else ():
            for train in logs:
                yield Cell({**none, "part": settings.DRAW, "train": train}, replication, seed, of)
        if settings.CONVERGENCE in values["part"] and logs:
            for name in settings.scores_for(logs[0], values):
                yield Cell({**none, "part": settings.CONVERGENCE, "train": logs[0], "scores": name}, 0, seed, of)

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return the workloads, cut into windows; what is learned from; and the fits to all scores."""
        design = self.design(scale)
        of, values = design.parameters, design.factors
        found: dict[str, Any] = {}
        for workload in values["workload"] if settings.ONLINE in values["part"] else ():
            found[f"windows of {workload}"] = self._windows(str(workload), of)
        forms = [str(order) for order in values["order"] if settings.is_learned(str(order))]
        for train in settings.all_training_sets(values):
            names = settings.scores_for(train, values)
            if not settings.is_score_file(train) and (names or settings.DRAW in values["part"]):
                found[f"log of {train}"] = log = self._log(train, "train", of)
                found[f"pairs of {train}"] = draw_pairs(log, learning.count_of_pairs(train, of), seed=self.seed)
            for name in names if forms else ():
                if name == settings.GIVEN:
                    table = settings.read_scores(train)
                else:
                    trials = learning.count_of_trials(name, of)
                    table = learning.scored(found[f"pairs of {train}"], name, trials, of, self.seed)
                for form in forms:
                    found[_fit_name(train, name, form)] = learning.learn(table, form, name, train)
        return found

    def uses(self, cell: Cell) -> Collection[str]:
        """Return the log, the pairs, or the window's workload, and the fit, of a cell that has them."""
        if cell["part"] in {settings.DRAW, settings.CONVERGENCE}:
            return (f"{'log' if cell['part'] == settings.DRAW else 'pairs'} of {cell['train']}",)
        fit = () if cell["scores"] is None else (_fit_name(cell["train"], cell["scores"], cell["order"]),)
        return fit if cell["part"] == settings.FIT else (f"windows of {cell['workload']}", *fit)

    def run_cell(self, cell: Cell) -> Rows:
        """Return one row per coefficient, form or number of trials; or the figures of merit of one window."""
        if cell["part"] == settings.FIT:
            return list(learning.rows_of(cell.inputs[_fit_name(cell["train"], cell["scores"], cell["order"])]))
        if cell["part"] == settings.DRAW:
            forms = [order for order in settings.ORDERS if settings.is_learned(order)]
            return list(learning.inflation(cell.inputs[f"log of {cell['train']}"], forms, cell))
        if cell["part"] == settings.CONVERGENCE:
            return list(learning.converging(cell.inputs[f"pairs of {cell['train']}"], cell))
        window: Workload = cell.inputs[f"windows of {cell['workload']}"][cell.replication]
        if cell["mode"] == "actual":
            window = replace(window, estimate_s=window.runtime_s)
        schedule = simulate(
            window,
            order=_order_of(cell),
            backfilling="easy" if cell["mode"] == "backfilling" else "none",
            queue_depth=cell["queue_depth"],
            warm_jobs=cell["warm_jobs"],
            engine=cell["engine"],
        )
        metrics = schedule.metrics(cell["tau_s"])
        return {name: metrics[name] for name in (*self.measures, "utilisation")} | {"jobs": len(window)}

    def _log(self, name: str, what: str, of: Mapping[str, Any]) -> Workload:
        """Return a workload, read or generated once: what is learned from is another one than what is run."""
        key = (name, what if name == settings.GENERATED else "", of["jobs"], of["cores"])
        if key not in self._logs:
            if name == settings.GENERATED:
                size, seed = of["cores"] or _CORES, entropy(self.seed, "regression", what)
                jobs = tsafrir_estimates(lublin(jobs=of["jobs"], cores=size, seed=seed), seed=seed)
                self._logs[key] = replace(jobs, name=settings.GENERATED)
            else:
                path = Path(name)
                file = WorkloadFile(path=path, cores=of["cores"], filters=("regression",), drop_oversized=True)
                self._logs[key] = file.read()
        return self._logs[key]

    @cached_property
    def _logs(self) -> dict[tuple[object, ...], Workload]:
        """The workloads that were read or generated."""
        return {}

    def _windows(self, name: str, of: Mapping[str, Any]) -> list[Workload]:
        """Return the windows of a workload that have jobs beyond the first ones."""
        found = list(windows(self._log(name, "online", of), of["window_days"] * DAY, more_than=of["warm_jobs"]))
        if not found:
            expected = f"such that {name!r} has a window with more than {of['warm_jobs']} jobs"
            raise RequestError(must_be("window_days", expected, of["window_days"]))
        return found[: of["generated_windows"]] if name == settings.GENERATED else found

    # -- what is reported ---------------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return the paper's tables with what it prints, and the medians and spreads over the windows."""
        tables = make_tables(RegressionResults(results)) | claim_tables(over_workloads(results))
        return {name: table for name, table in tables.items() if not table.empty}

    def findings(self, results: Results) -> Sequence[str]:
        """Say which logs are missing, which windows are not held out, and on which logs hardly any job waits."""
        return findings(RegressionResults(results))

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return the claims of the paper and ours, method by method."""
        return [*fit_claims(results), *(each.claim for each in over_workloads(results))]


def _fit_name(train: str, scores: str, form: str) -> str:
    return f"fit {form}, {scores}, {train}"


def _order_of(cell: Cell) -> Priority:
    """Return the order of a cell: one by name, one as it is printed, or one that was learned."""
    if not settings.is_learned(cell["order"]):
        return named_priority(cell["order"])
    if cell["scores"] is None:
        return settings.printed_order(cell["order"], cell["train"])
    order: Priority = cell.inputs[_fit_name(cell["train"], cell["scores"], cell["order"])].fit.order
    return order
