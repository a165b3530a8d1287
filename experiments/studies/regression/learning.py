"""What the regression study learns: scores of pairs, fits with their errors, how both vary with pairs and trials."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from experiments.campaigns import Cell
from experiments.studies.regression.paper import CTC, PAIRS, set_of
from experiments.studies.regression.settings import GENERATED, GIVEN
from simmodels import Fit, Pair, Workload, draw_pairs, fit_polynomial, score_jobs
from simmodels.learning.trials import Estimator, Shuffle

_HOW: Final[Mapping[str, tuple[Estimator, Shuffle]]] = {
    "swap-any": ("published", "swap-any"),
    "uniform": ("stratified", "uniform"),
}
_BY_TERM: Final = ("theta", "standard_error", "error_by_pair", "vif_paper", "vif_centred")
_CONVERGING: Final = 4
_REPEATS: Final = 8
_FEWEST: Final = 1_000


class Learned(NamedTuple):
    """A fit, and the standard error of its mean absolute error (None where it is not known which rows are a pair)."""

    fit: Fit
    mae_error: float | None


def count_of_pairs(train: str, of: Mapping[str, Any]) -> int:
    """Return how many pairs are drawn from a training set: of a log, as many as the authors scored of theirs."""
    count: int | None = of["pairs" if train == GENERATED else "pairs_of_logs"]
    if count is not None:
        return count
    return PAIRS[set_of(train) or CTC]


def count_of_trials(scores: str, of: Mapping[str, Any]) -> int:
    """Return how many trials each pair has."""
    count: int = of["trials" if scores == "swap-any" else "uniform_trials"]
    return count


def scored(pairs: Sequence[Pair], scores: str, trials: int, of: Mapping[str, Any], seed: int) -> pd.DataFrame:
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


def learn(table: pd.DataFrame, form: str, scores: str, train: str) -> Learned:
    """Return the form fitted to scores; the errors of different pairs count as independent."""
    what = f"{len(table)} scores of {train}" if scores == GIVEN else f"{len(table)} scores ({scores}) of {train}"
    fit = fit_polynomial(table, form, name=f"{form} ({scores})", source=what)
    if "pair" not in table:
        return Learned(fit, None)
    residual = (fit.predict(table["p"], table["q"], table["r"]) - table["score"]).abs()
    by_pair = residual.groupby(table["pair"]).mean()
    return Learned(fit, float(by_pair.std(ddof=1) / np.sqrt(len(by_pair))) if len(by_pair) > 1 else None)


def rows_of(learned: Learned) -> Iterator[dict[str, Any]]:
    """Hand out one row per term."""
    fit = learned.fit
    whole = {"mae": fit.mae, "mae_error": learned.mae_error, "condition": fit.condition, "rows": fit.rows}
    for place, term in enumerate(fit.terms):
        yield {"term": term, **{name: getattr(fit, name)[place] for name in _BY_TERM}, **whole}


def inflation(log: Workload, forms: Sequence[str], cell: Cell) -> Iterator[dict[str, Any]]:
    """Hand out the largest variance inflation factor of each form, for pairs drawn from a log in this replication.

    It depends on the jobs of the pairs only, and not on scores: these are constant here.
    """
    pairs = draw_pairs(log, count_of_pairs(cell["train"], cell.parameters), seed=cell.seed_for("pairs"))
    jobs = [pair.jobs.take(slice(pair.initial_jobs, None)) for pair in pairs]
    p, q, r = (np.concatenate([getattr(part, name) for part in jobs]) for name in ("runtime_s", "cores", "submit_s"))
    table = pd.DataFrame({"p": p, "q": q, "r": r, "score": 1.0})
    for form in forms:
        factors = fit_polynomial(table, form).vif("paper")
        term = max(factors, key=lambda name: factors[name])
        yield {"form": form, "term": term, "vif_paper": factors[term]}


def converging(pairs: Sequence[Pair], cell: Cell) -> Iterator[dict[str, Any]]:
    """Hand out one row per number of trials: how far scores of other random numbers are from each other (figure 1)."""
    few = pairs[:_CONVERGING]
    most = max(cell["trials"], cell["uniform_trials"])
    halved = [most >> times for times in range(most.bit_length()) if most >> times >= _FEWEST]
    for trials in reversed(halved):
        found = [
            scored(few, cell["scores"], trials, cell.parameters, cell.seed_for("convergence", repeat))
            for repeat in range(_REPEATS)
        ]
        scores = np.array([table["score"].to_numpy() for table in found])
        mean = scores.mean(axis=0)
        yield {
            "trials": trials,
            "normalised_std": float((scores.std(axis=0, ddof=1) / mean).mean()),
            "normalised_se": float(np.mean([table["se"].to_numpy() / mean for table in found])),
        }
