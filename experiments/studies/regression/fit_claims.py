"""What the paper says of the fits: inflation of variances, signs, and errors on three training sets.

References
----------
See `experiments.studies.regression.paper`.
"""

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd

from experiments.campaigns.claims import Claim
from experiments.campaigns.families import quotient_of_extremes
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap
from experiments.studies.regression.methods import WAYS, learns_as_published
from experiments.studies.regression.paper import BLUE, CTC, MAE, SYNTHETIC, TABLE_OF, set_of
from experiments.studies.regression.sentences import MARGIN
from experiments.studies.regression.settings import DRAW, FIT
from simmodels.policies.polynomial import FORMS

_LOGS: Final = f"the logs of {CTC} and {BLUE}: --workload generated,..."
_DRAWS: Final = "more draws of pairs: --set draws=N"
_LOG: Final = float(np.log10(MARGIN))
_JOBS_OF_A_PAIR: Final = 32
_CAREFUL: Final = "by the standard errors over the pairs, of which the intervals of all together have 95 % confidence"
_LARGEST: Final = "median over the draws of log10 of the largest uncentred factor without intercept"


def part_of(results: Results, part: str) -> pd.DataFrame:
    """Return the rows of one kind of cells, with the paper's training set of each (None for another one)."""
    table = results.table
    rows = table if table.empty else table[table["part"] == part]
    if rows.empty:
        return rows.assign(set=None)
    return rows.assign(set=rows["train"].map(lambda name: set_of(str(name))))


def fit_claims(results: Results) -> Iterator[Claim]:
    """Hand out the claims about fits."""
    yield from _about_inflation(results)
    for method, scores in WAYS.items():
        ours = method == "corrected" or not learns_as_published(results)
        yield from _about_signs(results, method, scores, ours=ours)
        yield from _about_errors(results, method, scores, ours=ours)


# -- inflation of variances -------------------------------------------------------------------------


def largest_by_draw(results: Results, training: str) -> pd.DataFrame:
    """Return log10 of the largest factor: one row per draw of pairs, one column per form."""
    rows = part_of(results, DRAW)
    if rows.empty:
        return pd.DataFrame()
    rows = rows[rows["set"] == training]
    rows = rows[rows["train"] == rows["train"].iloc[0]] if len(rows) else rows  # the authors' trace is of this set, too
    found = rows.assign(size=np.log10(rows["vif_paper"].astype(float)))
    return found.pivot_table(index="replication", columns="form", values="size", aggfunc="mean")


def _about_inflation(results: Results) -> Iterator[Claim]:
    """Hand out the claims about the largest factor of each form: how large, and how it grows."""
    by_set = {training: largest_by_draw(results, training) for training in TABLE_OF}
    draws, text, hal = by_set[SYNTHETIC], "section 5.2, table 3", "section 5.1 of the HAL version, table 3"
    seed = results.seed
    for small, large in itertools.pairwise(FORMS):
        steps = draws[large] - draws[small] if {small, large} <= set(draws.columns) else None
        what = f"The largest variance inflation factor of {large} is above that of {small}, on the generated set"
        yield _inflated(what, text, steps, seed, more_than=0.0)
    for form, bound, source, ours, bounds in (
        ("LIN", "below 5", text, True, {"less_than": np.log10(5.0)}),
        ("QDR", "above 5", hal, False, {"more_than": np.log10(5.0)}),
        ("QUA", "above 10,000", hal, False, {"more_than": 4.0}),
        ("QUA", "above 1,000", text, True, {"more_than": 3.0}),
    ):
        what = f"The largest variance inflation factor of {form} is {bound}, on the generated set"
        yield _inflated(what, source, draws.get(form), seed, ours=ours, **bounds)
    for training in (CTC, BLUE):
        other, where = by_set[training], f"section 5.2, {TABLE_OF[training]}"
        printed = "The printed table has 4,177 at the most." if training == BLUE else ""
        what = f"Some form has a variance inflation factor above 10,000, on {training}"
        largest = None if other.empty else other.max(axis="columns")
        yield _inflated(what, where, largest, seed, note=printed, logs=True, more_than=4.0)
        what = f"The largest variance inflation factor of QUA is above that of the generated set, on {training}"
        steps = (other["QUA"] - draws["QUA"]).dropna() if "QUA" in other and "QUA" in draws else None
        note = "The printed tables say otherwise: 4,177 (table 5), and 10,492 (table 3)." if training == BLUE else ""
        yield _inflated(what, where, steps, seed, note=note, logs=True, more_than=0.0)


def _inflated(
    text: str,
    source: str,
    values: "pd.Series[float] | None",
    seed: int,
    *,
    ours: bool = False,
    note: str = "",
    logs: bool = False,
    **bounds: float,
) -> Claim:
    """Return a claim about the values of the draws, log10 of a factor or of a quotient of two."""
    spread = "" if values is None or values.empty else f"10^{values.min():.2f} to 10^{values.max():.2f} in a draw."
    return Claim(
        text=text,
        source=source,
        number="claim 3",
        ours=ours,
        measure=f"{_LARGEST}, less that of the other" if "above that of" in text else _LARGEST,
        effect=_of(values, seed),
        to_decide=_LOGS if logs else _DRAWS,
        note=f"{spread} {note}".strip(),
        **bounds,  # type: ignore[arg-type]  # names of bounds
    )


def _of(values: "pd.Series[float] | None", seed: int) -> Effect | None:
    return None if values is None or values.empty else bootstrap(values.to_numpy(), statistic="median", seed=seed)


# -- signs ------------------------------------------------------------------------------------------


def _about_signs(results: Results, method: str, scores: str, *, ours: bool) -> Iterator[Claim]:
    """Hand out the claims about the signs of coefficients."""
    for form, sign, bounds in (("LIN", "positive", {"more_than": 0.0}), ("QDR", "negative", {"less_than": 0.0})):
        effect = _of_q(results, scores, form)
        yield Claim(
            text=f"The coefficient of q is {sign} in {form}, learned from the generated set ({method} scores)",
            source="section 5.2, table 3",
            number="claim 4",
            ours=ours,
            measure="the coefficient, with 1.96 standard errors that allow for dependence within a pair",
            effect=effect,
            to_decide="more pairs: --set pairs=N",
            note="The coefficient depends on the pairs that were drawn: with the jobs of a pair taken together its "
            "standard error is several times the usual one."
            if form == "QDR"
            else "",
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )


def _of_q(results: Results, scores: str, form: str) -> Effect | None:
    """Return the coefficient of q in a form, with its interval; None if it is not known."""
    table = part_of(results, FIT)
    if table.empty:
        return None
    chosen = (table["set"] == SYNTHETIC) & (table["scores"] == scores) & (table["order"] == form)
    row = table[chosen & (table["term"] == "q")]
    if row.empty or pd.isna(row["error_by_pair"].iloc[0]):
        return None
    theta, error = float(row["theta"].iloc[0]), float(row["error_by_pair"].iloc[0])
    return Effect(theta, theta - 1.96 * error, theta + 1.96 * error, int(str(results.parameters["pairs"])))


# -- errors -----------------------------------------------------------------------------------------


def _about_errors(results: Results, method: str, scores: str, *, ours: bool) -> Iterator[Claim]:
    """Hand out the claims about mean absolute errors: close for a form on all sets, and for forms on the generated."""
    table = part_of(results, FIT)
    errors = pd.DataFrame()
    if not table.empty:
        chosen = table[(table["scores"] == scores) & table["set"].notna()]
        errors = chosen.drop_duplicates(["set", "order"]).set_index(["set", "order"])[["mae", "mae_error", "rows"]]
    for form in FORMS:
        printed = [MAE[training][form] for training in TABLE_OF]
        yield Claim(
            text=f"The mean absolute errors of {form} on the three training sets are within a factor of 2 ({method} "
            "scores)",
            source="section 5.2, table 2",
            ours=ours,
            measure=f"log10 of the largest over the smallest; {_CAREFUL}; a factor of 2: a margin of ours",
            effect=_apart(errors, [(training, form) for training in TABLE_OF]),
            at_most=_LOG,
            to_decide=_LOGS,
            note=f"The printed ones are {max(printed) / min(printed):.1f} times apart.",
        )
    yield Claim(
        text=f"The mean absolute errors of all forms but one are within a factor of 2, on the generated set ({method} "
        "scores)",
        source="section 5.1 of the HAL version",
        ours=ours,
        measure="log10 of the second largest over the smallest of four (almost all functions: three of four); "
        f"{_CAREFUL}; a factor of 2: a margin of ours",
        effect=_apart(errors, [(SYNTHETIC, form) for form in FORMS], largest=2),
        at_most=_LOG,
        to_decide="more pairs: --set pairs=N",
    )


def _apart(errors: pd.DataFrame, which: list[tuple[str, str]], *, largest: int = 1) -> Effect | None:
    """Return log10 of the (second) largest error over the smallest, with its interval; None if one is not known."""
    if errors.empty or not set(which) <= set(errors.index):
        return None
    rows = errors.loc[which].astype(float)
    if rows["mae_error"].isna().any():
        return None
    pairs = int(rows["rows"].min()) // _JOBS_OF_A_PAIR
    return quotient_of_extremes(rows["mae"], rows["mae_error"], replications=pairs, largest=largest)
