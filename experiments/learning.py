"""Learning: an order fitted to trials on one part of a log, and how it does on the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
from rich import box
from rich.table import Table

from experiments.calibration import doubt_of_limits
from experiments.campaigns.statistics import Effect, bootstrap
from experiments.cli_output import DONE, Steps, print_json, print_note, print_table
from experiments.inputs import WorkloadFile, named_priority, notes_of
from experiments.outputs import require_writable
from experiments.studies.windows import windows
from experiments.tables import number
from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.numbers import as_integer, as_number
from simmodels.ground.toml_json import SUFFIXES
from simmodels.learning.pairs import draw_pairs
from simmodels.learning.regression import Fit, fit_polynomial, require_form
from simmodels.learning.trials import Estimator, Progress, score_jobs
from simmodels.logged import AS_LOGGED, logged_wait_s
from simmodels.metrics import bounded_slowdown
from simmodels.policies.polynomial import as_terms
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import Backfilling, QueueOptions
from simmodels.simulate import simulate
from simmodels.units import DAY
from simmodels.workload import Workload

AGAINST: Final = ("FCFS", "SAF", "F2")
_MEASURE: Final = "mean_bounded_slowdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSettings:
    """How an order is learned from a log, and judged.

    Parameters
    ----------
    form
        One of the forms LIN, QDR, CUB and QUA, or monomials such as ``("1", "p", "pq")``.
    estimator, pairs, trials
        How scores are made; see `simmodels.score_jobs` and `simmodels.draw_pairs`.
    learn_on
        Which part of the log's windows, from its beginning, is learned from; in (0, 1).
    window_days
        How long a window is.
    backfilling, warm_jobs, tau_s
        How the windows held out are run; see `simmodels.simulate`. The first `warm_jobs` do not count.
    seed
        The seed of pairs and trials.
    """

    form: str | Sequence[str] = "LIN"
    estimator: Estimator = "stratified"
    pairs: int = 440
    trials: int = 32_768
    learn_on: float = 0.5
    window_days: float = 15.0
    backfilling: Backfilling = "easy"
    warm_jobs: int = 16
    tau_s: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check everything, before a log is read."""
        if not 0.0 < self.learn_on < 1.0:
            raise RequestError(must_be("--learn-on", "a part of the log > 0 and < 1", self.learn_on))
        as_number("--window-days", self.window_days, above=0)
        if isinstance(self.form, str):
            require_form(self.form)
        else:
            as_terms(self.form)
        require_known("estimator", self.estimator, get_args(Estimator))
        for name in ("pairs", "trials"):
            as_integer(f"--{name}", getattr(self, name), 1)
        QueueOptions.checked(backfilling=self.backfilling, warm_jobs=self.warm_jobs)

    def parts(self, log: Workload) -> tuple[Workload, list[Workload]]:
        """Return the jobs that are learned from, and the windows held out: these come later.

        Raises
        ------
        RequestError
            There are not two windows, or none with jobs enough is left to hold out.
        """
        begin_s, length_s = float(log.submit_s.min()), self.window_days * DAY
        whole = int((float(log.submit_s.max()) - begin_s) // length_s)
        split_s = begin_s + length_s * min(whole - 1, max(1, round(self.learn_on * whole)))
        later = log.between(split_s, np.inf)
        held_out = list(windows(later, length_s, more_than=self.warm_jobs))
        if whole < 2 or not held_out:
            what = f"{log.name} has not two windows of {self.window_days:g} days with more than {self.warm_jobs} jobs"
            raise RequestError(what, "choose fewer --window-days: one is learned from, one is held out")
        return log.between(begin_s, split_s), held_out

    def fit(self, jobs: Workload, progress: Progress | None = None) -> Fit:
        """Return what was learned from jobs."""
        pairs = draw_pairs(jobs, self.pairs, seed=self.seed)
        scores = score_jobs(
            pairs, self.trials, estimator=self.estimator, tau_s=self.tau_s, seed=self.seed, progress=progress
        )
        source = f"{jobs.name}, {len(jobs)} jobs, {self.pairs} pairs, {self.estimator}, {self.trials} trials"
        return fit_polynomial(scores, self.form, source=source)

    def slowdowns(self, held_out: Sequence[Workload], order: Priority) -> np.ndarray:
        """Return float64[windows], the mean bounded slowdown in each under an order."""
        found = [
            simulate(window, order=order, backfilling=self.backfilling, warm_jobs=self.warm_jobs).metrics(self.tau_s)
            for window in held_out
        ]
        return np.array([metrics[_MEASURE] for metrics in found])

    def logged(self, held_out: Sequence[Workload]) -> np.ndarray:
        """Return float64[windows], the same by the log itself; NaN where it does not say when the jobs started."""
        found = np.full(len(held_out), np.nan)
        for place, window in enumerate(held_out):
            known = np.flatnonzero(window.known())
            counted = known[np.argsort(window.submit_s[known], kind="stable")][self.warm_jobs :]
            wait_s, executed_s = logged_wait_s(window)[counted], window.runtime_s[counted]
            ended = ~np.isnan(wait_s)
            if ended.any():
                found[place] = bounded_slowdown(wait_s[ended], executed_s[ended], self.tau_s).mean()
        return found


def learning_settings(*, form: str, **options: Any) -> LearningSettings:  # noqa: ANN401  LearningSettings says what they are
    """Return the lesson that options ask for; a form is a name, or monomials such as ``1,p,q,pq``."""
    parts = tuple(part.strip() for part in form.split(","))
    return LearningSettings(form=parts if len(parts) > 1 or _is_monomial(form) else form, **options)


def _is_monomial(text: str) -> bool:
    """Return whether a text is one monomial."""
    try:
        as_terms([text])
    except RequestError:
        return False
    return True


def learn(log: WorkloadFile, lesson: LearningSettings, *, out: Path, command: Sequence[str], json: bool) -> int:
    """Learn an order from a log, write it to a file, say how it does on windows held out; return the exit status."""
    if not out.name.lower().endswith(SUFFIXES):
        raise RequestError(must_be("the fit's name", f"one that ends in {', '.join(SUFFIXES)}", str(out)))
    require_writable([out], sources=[log.path])
    with Steps(3 + len(AGAINST)) as shown:
        shown.begin("reading the workload")
        workload = log.read()
        shown.print_note(f"{workload.name}: {len(workload):,} jobs for {workload.max_cores:,} cores")
        for line in notes_of(workload.counts):
            shown.print_note(f"  {line}")
        jobs, held_out = lesson.parts(workload)
        shown.begin(f"{lesson.pairs:,} pairs of {lesson.trials:,} trials")
        fit = lesson.fit(jobs)
        orders = [fit.order, *map(named_priority, AGAINST)]
        found = {}
        for order in orders:
            shown.begin(order.name)
            found[order.name] = lesson.slowdowns(held_out, order)
        fit.write(out)
    logged = lesson.logged(held_out)
    as_it_was = None if np.isnan(logged).any() else float(np.median(logged))
    judged = {name: _judged(found[fit.name], values, lesson.seed) for name, values in found.items()}
    findings = [_sentence(fit, jobs), _verdict(judged, fit.name, len(held_out))]
    findings += filter(None, [doubt_of_limits(workload)])
    if json:
        answer = {name: {"median": median, **_as_json(effect)} for name, (median, effect) in judged.items()}
        document = {**fit.to_document(), "windows": len(held_out), "orders": answer, "findings": findings}
        if as_it_was is not None:
            document["as_logged"] = {"median": as_it_was}
        print_json({"workload": workload.name, "command": list(command), "file": str(out), **document})
    else:
        print_table(f"{fit.name}: {fit}", _terms(fit))
        title = f"median AVGbsld of {len(held_out)} windows held out, {lesson.backfilling} backfilling"
        print_table(title, _orders(judged, fit.name, as_it_was))
        for sentence in findings:
            print_note(sentence)
    print_note(f"wrote {out}; use it as --order {out}")
    return DONE


_Judged = Mapping[str, tuple[float, Effect | None]]


def _judged(mine: np.ndarray, others: np.ndarray, seed: int) -> tuple[float, Effect | None]:
    """Return the median of an order, and that of log10 of how many times mine is of it; None for my own."""
    same = mine is others
    return float(np.median(others)), None if same else bootstrap(np.log10(mine / others), statistic="median", seed=seed)


def _times(effect: Effect) -> tuple[float, float | None, float | None]:
    """Return how many times, with its interval."""
    low, high = (None if end is None else 10.0**end for end in (effect.low, effect.high))
    return 10.0**effect.estimate, low, high


def _as_json(effect: Effect | None) -> Mapping[str, Any]:
    return {} if effect is None else dict(zip(("times", "low", "high"), _times(effect), strict=True))


def _terms(fit: Fit) -> Table:
    """Return the coefficients as a table."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("term", "coefficient", "standard error", "by pair", "VIF (paper)", "VIF (centred)"):
        table.add_column(heading, justify="left" if heading == "term" else "right")
    errors = zip(fit.standard_error, fit.error_by_pair, strict=True)
    factors = zip(fit.vif_paper, fit.vif_centred, strict=True)
    for term, theta, both, two in zip(fit.terms, fit.theta, errors, factors, strict=True):
        shown = ["" if error is None else f"{error:.2g}" for error in both]
        table.add_row(term, f"{theta:.6g}", *shown, *("" if factor is None else number(factor) for factor in two))
    return table


def _orders(judged: _Judged, mine: str, as_it_was: float | None) -> Table:
    """Return how the orders do as a table, after what the log itself records."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("order")
    for heading in ("median AVGbsld", f"{mine} as a multiple", "interval (95 %)"):
        table.add_column(heading, justify="right")
    if as_it_was is not None:
        table.add_row(AS_LOGGED, number(as_it_was), "", "")
    for name, (median, effect) in judged.items():
        if effect is None:
            table.add_row(name, number(median), "", "")
            continue
        times, low, high = _times(effect)
        interval = "too few windows" if low is None or high is None else f"{number(low)} to {number(high)}"
        table.add_row(name, number(median), number(times), interval)
    return table


def _sentence(fit: Fit, jobs: Workload) -> str:
    """Say what was learned from how much."""
    return (
        f"Learned from the first {len(jobs):,} jobs: {fit.rows:,} scores, mean absolute error {fit.mae:.3g}, condition "
        f"number {fit.condition:.3g}."
    )


def _verdict(judged: _Judged, mine: str, count: int) -> str:
    """Say against which orders the one that was learned does better, and how sure that is."""
    said: dict[str, list[str]] = {"better than": [], "worse than": [], "not clearly different from": []}
    for name, (_, effect) in judged.items():
        if effect is None:
            continue
        low, high = effect.low, effect.high
        kind = "not clearly different from"
        if low is not None and high is not None and high < 0:
            kind = "better than"
        elif low is not None and high is not None and low > 0:
            kind = "worse than"
        said[kind].append(name)
    parts = [f"{kind} {', '.join(names)}" for kind, names in said.items() if names]
    return f"On {count} windows held out, {mine} is {'; '.join(parts)}."
