"""Learning: an order fitted to trials on one part of a log, and how it does on the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, get_args

import numpy as np

from experiments.fitting import limits_within, with_fitted
from experiments.inputs import named_limits
from experiments.option import FITTED, POLICY, Option, Seed, Tau
from experiments.studies.windows import windows
from simmodels import DAY, Fit, Limits, RequestError, Workload, draw_pairs, fit_polynomial, score_jobs, simulate
from simmodels.errors import must_be, require_known
from simmodels.ground.numbers import as_integer, as_number
from simmodels.learning.regression import require_form
from simmodels.learning.trials import Estimator, Progress
from simmodels.policies.parties import startable
from simmodels.policies.polynomial import as_terms
from simmodels.policies.priority import Priority
from simmodels.policies.queue_options import Backfilling, QueueOptions
from simmodels.results.logged import logged_wait_s
from simmodels.results.metrics import bounded_slowdown

_MEASURE: Final = "mean_bounded_slowdown"
_PANEL: Final = "How it is learned"


def parse_form(text: str) -> str | tuple[str, ...]:
    """Return the form that a text names: a name, or monomials such as ``1,p,q,pq``."""
    parts = tuple(part.strip() for part in text.split(","))
    return parts if len(parts) > 1 or _is_monomial(text) else text


def _is_monomial(text: str) -> bool:
    """Return whether a text is one monomial."""
    try:
        as_terms([text])
    except RequestError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSettings:
    """How an order is learned from a log, and judged.

    Parameters
    ----------
    form
        The polynomial to fit: lin, qdr, cub, qua, or monomials such as 1,p,q,pq.
    estimator
        How the score of a job is estimated from its trials.
    pairs
        The number of pairs of job sets.
    trials
        The number of trials of each pair.
    learn_on
        The share of the log, from its beginning, to learn from.
    window_days
        The length of the windows held out for the test.
    backfilling
        How the windows held out are run; see schedlab list backfillings.
    limits
        Limits under which the windows held out are run: a file, or fitted to the jobs that are learned from. Trials
        know none.
    warm_jobs
        The first N jobs are scheduled first come, first served, and left out of the metrics.
    seed
        The seed of all random numbers.
    tau_s
        The bound of the bounded slowdown.
    """

    form: Annotated[str | tuple[str, ...], Option(_PANEL, "FORM", "lin", parse=parse_form)] = "LIN"
    estimator: Annotated[Estimator, Option(_PANEL)] = "stratified"
    pairs: Annotated[int, Option(_PANEL)] = 440
    trials: Annotated[int, Option(_PANEL)] = 32_768
    learn_on: Annotated[float, Option(_PANEL, "PART")] = 0.5
    window_days: Annotated[float, Option(_PANEL, "DAYS")] = 15.0
    backfilling: Annotated[Backfilling, Option(POLICY, flags=("--backfilling", "-b"))] = "easy"
    limits: Annotated[Limits | str | None, Option(POLICY, f"FILE|{FITTED}", parse=named_limits)] = None
    warm_jobs: Annotated[int, Option(POLICY)] = 16
    seed: Seed = 0
    tau_s: Tau = 10.0

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

    def fitted_to(self, log: Workload, note: Callable[[str], None]) -> tuple["LearningSettings", Workload]:
        """Return settings and log in which what is to be fitted is that of the log, as known after its first part.

        These are limits and the cores in service.

        Raises
        ------
        FileFormatError, RequestError, ImpossibleJobError
            None can be fitted to so short a part (see `experiments.fitting.fit`), or limits that are given do not go
            together with the log.
        """
        if isinstance(self.limits, Limits):
            return replace(self, limits=startable(self.limits, log)), log
        if self.limits != FITTED:
            return self, log
        jobs, _ = self.parts(log)
        fitted, used = with_fitted({"limits": FITTED}, log, note, until_s=float(jobs.submit_s.max()))
        return replace(self, **fitted), used.on(log)

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
        columns = self.limits.columns if isinstance(self.limits, Limits) else ()
        held_out = list(windows(later, length_s, more_than=self.warm_jobs, columns=columns))
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
        """Return float64[windows], the mean bounded slowdown in each under an order, and under the limits."""
        limits = self.limits if isinstance(self.limits, Limits) else None
        how: dict[str, Any] = {"order": order, "backfilling": self.backfilling, "warm_jobs": self.warm_jobs}
        found = [
            simulate(window, limits=limits_within(limits, window), **how).metrics(self.tau_s) for window in held_out
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
