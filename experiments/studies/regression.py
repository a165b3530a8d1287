"""Regression: orders learned from permutation trials, as published and as they should have been.

References
----------
L. de Sousa Rosa, D. Carastan-Santos and A. Goldman, "An experimental analysis of regression-obtained HPC scheduling
heuristics", JSSPP 2023.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
import pandas as pd

from experiments.campaigns.cell import Cell, Rows
from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.study import Design, Scale, Study
from experiments.inputs import WorkloadFile, named_priority
from experiments.studies.regression_results import (
    CONVERGENCE,
    DEPTHS,
    FIT,
    MODES,
    ONLINE,
    ORDERS,
    SCORES,
    claims_of,
    coefficients,
    is_learned,
    medians,
    name_of,
    survival,
)
from experiments.studies.windows import windows
from simmodels.errors import RequestError, require_known
from simmodels.learning.pairs import Initial, Pair, draw_pairs
from simmodels.learning.regression import Fit, fit_polynomial
from simmodels.learning.trials import Estimator, Shuffle, score_jobs
from simmodels.simulate import simulate
from simmodels.streams import entropy
from simmodels.units import DAY
from simmodels.workload import Workload
from workloads.lublin import lublin
from workloads.tsafrir import tsafrir_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GENERATED: Final = "generated"
_CORES: Final = 256
_PAIRS: Final = "pairs"
_HOW: Final[Mapping[str, tuple[Estimator, Shuffle]]] = {
    "swap-any": ("published", "swap-any"),
    "uniform": ("stratified", "uniform"),
}


class Regression(Study):
    """Orders learned by regression from permutation trials, compared online.

    Pairs of jobs are drawn from the workload ``train`` and scored in two ways: ``swap-any`` as published (with a
    shuffle that is not uniform), and ``uniform``, with equally many uniform permutations for each first job. To each
    set of scores four forms are fitted. Online, a replication is a window of ``window_days`` of each workload, run with
    actual runtimes, with estimates, and with estimates and EASY backfilling, and with a queue of which all waiting jobs
    are considered, or 32 as published. The method as published is swap-any scores and a depth of 32; the corrected one
    uniform scores and the full queue.
    """

    parameters = {
        "train": GENERATED, "pairs": 440, "trials": 256_000, "uniform_trials": 32_768, "jobs": 20_000,
        "window_days": 15.0, "warm_jobs": 16, "tau_s": 10.0, "initial_state": "started", "cores": None,
    }  # fmt: skip
    factors = {
        "part": (FIT, CONVERGENCE, ONLINE),
        "scores": (None, *SCORES),
        "order": ORDERS,
        "workload": (GENERATED,),
        "mode": MODES,
        "queue_depth": DEPTHS,
    }
    scales = {
        "smoke": Scale(judged=False, parameters={"pairs": 24, "trials": 8_192, "uniform_trials": 4_096, "jobs": 8_000}),
        "small": Scale(parameters={"pairs": 440, "trials": 32_768, "uniform_trials": 16_384}),
        "paper": Scale(parameters={"jobs": 60_000}),
    }
    measures = ("mean_bounded_slowdown", "mean_wait_s")

    # -- the cells ----------------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the fits, then how scores converge, then each order in each window of each workload.

        Raises
        ------
        RequestError
            A setting is not allowed, or a workload has no window with enough jobs.
        """
        design = self.design(scale)
        _require_allowed(design)
        of, values = design.parameters, design.factors
        none = dict.fromkeys(values)
        scores = [name for name in values["scores"] if name is not None]
        parts = values["part"]
        for name in scores:
            if FIT in parts:
                for form in (order for order in values["order"] if is_learned(str(order))):
                    yield Cell({**none, "part": FIT, "scores": name, "order": form}, 0, seed, of)
            if CONVERGENCE in parts:
                yield Cell({**none, "part": CONVERGENCE, "scores": name}, 0, seed, of)
        if ONLINE not in parts:
            return
        counts = {str(name): len(self._windows(str(name), of)) for name in values["workload"]}
        for window in range(max(counts.values())):
            for workload in values["workload"]:
                if window < counts[str(workload)]:
                    for name, order, mode, depth in _online(values):
                        factors = {"part": ONLINE, "scores": name, "order": order, "workload": workload, "mode": mode,
                                   "queue_depth": depth}  # fmt: skip
                        yield Cell(factors, window, seed, of)

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return the workloads, cut into windows, and the fits of both sets of scores."""
        design = self.design(scale)
        of, values = design.parameters, design.factors
        found: dict[str, Any] = {}
        if ONLINE in values["part"]:
            for workload in values["workload"]:
                found[f"windows of {workload}"] = self._windows(str(workload), of)
        forms = [str(order) for order in values["order"] if is_learned(str(order))]
        scores = [str(name) for name in values["scores"] if name is not None]
        if scores:
            found[_PAIRS] = draw_pairs(self._log(str(of["train"]), "train", of), int(str(of["pairs"])), seed=self.seed)
        for name in scores if forms else ():
            table = _scored(found[_PAIRS], name, _trials(name, of), of, self.seed)
            for form in forms:
                source = f"{len(table)} scores ({name}) of {of['train']}"
                found[_fit_name(name, form)] = fit_polynomial(table, form, name=f"{form} ({name})", source=source)
        return found

    def uses(self, cell: Cell) -> Collection[str]:
        """Return the window's workload, and the fit, of a cell that has them."""
        if cell["part"] == CONVERGENCE:
            return (_PAIRS,)
        fit = () if cell["scores"] is None else (_fit_name(cell["scores"], cell["order"]),)
        return fit if cell["part"] == FIT else (f"windows of {cell['workload']}", *fit)

    def run_cell(self, cell: Cell) -> Rows:
        """Return one row per coefficient; one row per number of trials; or the figures of merit of one window."""
        if cell["part"] == FIT:
            return list(_rows_of(cell.inputs[_fit_name(cell["scores"], cell["order"])]))
        if cell["part"] == CONVERGENCE:
            return list(_converging(cell.inputs[_PAIRS], cell))
        window: Workload = cell.inputs[f"windows of {cell['workload']}"][cell.replication]
        if cell["mode"] == "actual":
            window = replace(window, estimate_s=window.runtime_s)
        learned = cell["scores"] is not None
        order = (
            cell.inputs[_fit_name(cell["scores"], cell["order"])].order if learned else named_priority(cell["order"])
        )
        schedule = simulate(
            window,
            order=order,
            backfilling="easy" if cell["mode"] == "backfilling" else "none",
            queue_depth=cell["queue_depth"],
            warm_jobs=cell["warm_jobs"],
        )
        metrics = schedule.metrics(cell["tau_s"])
        return {name: metrics[name] for name in (*self.measures, "utilisation")} | {"jobs": len(window)}

    def _log(self, name: str, what: str, of: Mapping[str, Any]) -> Workload:
        """Return a workload, read or generated once: what is learned from is another one than what is run."""
        key = (name, what if name == GENERATED else "", of["jobs"], of["cores"])
        if key not in self._logs:
            if name == GENERATED:
                size, seed = of["cores"] or _CORES, entropy(self.seed, "regression", what)
                jobs = tsafrir_estimates(lublin(jobs=of["jobs"], cores=size, seed=seed), seed=seed)
                self._logs[key] = replace(jobs, name=GENERATED)
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
            what = f"{name!r} has no window of {of['window_days']:g} days with more than {of['warm_jobs']} jobs"
            raise RequestError(what, "fewer --set window_days are allowed")
        return found

    # -- what is told of them -----------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return the coefficients, the medians over the windows, and which claims survive the corrections."""
        return {
            "coefficients": coefficients(results),
            "median AVGbsld over the windows": medians(results),
            "which claims survive": survival(results),
        }

    def findings(self, results: Results) -> Sequence[str]:
        """Say which windows are not held out."""
        train = str(results.parameters["train"])
        if train == GENERATED or train not in results.factors["workload"]:
            return ()
        return [
            f"Orders were learned from {name_of(train)}; its windows, which are among those shown, are not held out."
        ]

    def figures(self, results: Results) -> "Mapping[str, Figure]":
        """Return figures 1 to 5 of the paper; 3 to 5 for each workload."""
        from experiments.studies import regression_figures as drawn  # noqa: PLC0415  matplotlib is slow to import

        found: dict[str, Figure] = {}
        if len(converging := results.where(part=CONVERGENCE)):
            found["figure 1: how scores converge"] = drawn.convergence(converging)
        if len(fits := results.where(part=FIT)):
            found["figure 2: which job goes first"] = drawn.priorities(fits)
        for workload in results.factors["workload"]:
            for number, mode in enumerate(MODES):
                if workload is None:
                    continue
                table = results.where(part=ONLINE, workload=workload, mode=mode)
                if len(table):
                    where = f"{name_of(str(workload))}, {mode}"
                    found[f"figure {3 + number}: {where}"] = drawn.online(table)
        return found

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return the claims of the paper, by the method as published and by the corrected one."""
        return list(claims_of(results))


def _require_allowed(design: Design) -> None:
    """Refuse settings that are not allowed."""
    of, values = design.parameters, design.factors
    known: Mapping[str, Sequence[object]] = {
        "part": (FIT, CONVERGENCE, ONLINE),
        "scores": (None, *SCORES),
        "mode": MODES,
    }
    for name, allowed in known.items():
        for value in values[name]:
            if value not in allowed:
                raise RequestError(f"{name} is {value!r}", f"{', '.join(map(str, allowed))} are allowed")
    require_known("initial state", of["initial_state"], get_args(Initial))
    for order in values["order"]:
        named_priority(str(order))
    least = {"pairs": 1, "trials": 64, "uniform_trials": 64, "jobs": 1, "warm_jobs": 0}
    whole = [(name, of[name], at) for name, at in least.items()]
    whole += [("cores", of["cores"], 1)] if of["cores"] is not None else []
    whole += [("queue_depth", depth, 1) for depth in values["queue_depth"] if depth is not None]
    for name, value, at in whole:
        if not _is_whole(value, at):
            raise RequestError(f"{name} is {value!r}", f"an integer >= {at} is allowed")
    numbers = {name: of[name] for name in ("window_days", "tau_s")}
    if wrong := [name for name, number in numbers.items() if not isinstance(number, int | float) or number <= 0]:
        raise RequestError(f"{wrong[0]} is {numbers[wrong[0]]!r}", "a number > 0 is allowed")
    if None in values["workload"]:
        raise RequestError("workload is none", f"{GENERATED}, or the file of a log, is allowed")


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _online(values: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Hand out the combinations that are run online: only orders that are learned depend on the scores."""
    for mode in values["mode"]:
        for depth in values["queue_depth"]:
            for order in values["order"]:
                for name in values["scores"]:
                    if name is None or is_learned(str(order)):
                        yield name, order, mode, depth


def _fit_name(scores: str, form: str) -> str:
    return f"fit {form}, {scores}"


def _trials(scores: str, of: Mapping[str, Any]) -> int:
    trials: int = of["trials" if scores == "swap-any" else "uniform_trials"]
    return trials


def _scored(pairs: Sequence[Pair], scores: str, trials: int, of: Mapping[str, Any], seed: int) -> pd.DataFrame:
    """Return the scores of the jobs of pairs, in one of the two ways."""
    estimator, shuffle = _HOW[scores]
    return score_jobs(
        pairs,
        trials,
        estimator=estimator,
        shuffle=shuffle,
        initial_state=of["initial_state"],
        tau_s=of["tau_s"],
        seed=seed,
    )


def _rows_of(fit: Fit) -> Iterator[dict[str, Any]]:
    """Hand out one row per term."""
    for place, term in enumerate(fit.terms):
        yield {
            "term": term,
            "theta": fit.theta[place],
            "standard_error": fit.standard_error[place],
            "error_by_pair": fit.error_by_pair[place],
            "vif_paper": fit.vif_paper[place],
            "vif_centred": fit.vif_centred[place],
            "mae": fit.mae,
            "condition": fit.condition,
        }


_CONVERGING: Final = 4
_REPEATS: Final = 8
_FEWEST: Final = 1_024


def _converging(pairs: Sequence[Pair], cell: Cell) -> Iterator[dict[str, Any]]:
    """Hand out one row per number of trials: how far scores of other random numbers are from each other (figure 1)."""
    few = pairs[:_CONVERGING]
    trials, most = _FEWEST, max(cell["trials"], cell["uniform_trials"])
    while trials <= most:
        found = [
            _scored(few, cell["scores"], trials, cell.parameters, cell.seed_for("convergence", repeat))
            for repeat in range(_REPEATS)
        ]
        scores = np.array([table["score"].to_numpy() for table in found])
        mean = scores.mean(axis=0)
        yield {
            "trials": trials,
            "normalised_std": float((scores.std(axis=0, ddof=1) / mean).mean()),
            "normalised_se": float(np.mean([table["se"].to_numpy() / mean for table in found])),
        }
        trials *= 2
