"""What is asked of the results of the regression study: windows, draws and fits by what they are of; and tables."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.families import Measured, quotient_of_extremes
from experiments.campaigns.judging import NOTHING, Evidence, StudyResults, Values, by_replication, family_of
from experiments.campaigns.sentences import Sentence, names_of
from experiments.campaigns.statistics import Effect, bootstrap, bootstrap_rows, share
from experiments.studies.naming import log_name
from experiments.studies.regression.paper import (
    BLUE,
    COEFFICIENTS,
    CTC,
    LARGEST_VIF,
    MAE,
    MAE_HAL,
    SETS,
    SYNTHETIC,
    TABLE_OF,
    set_of,
)
from experiments.studies.regression.paper import SCORES as PRINTED_SCORES
from experiments.studies.regression.settings import (
    DRAW,
    DRAWN,
    FIT,
    GENERATED,
    MEASURE,
    METHODS,
    MODES,
    ONLINE,
    ORDERS,
    OWN,
    SEVEN,
    WAITS,
    Method,
    is_learned,
    is_score_file,
    label_of,
)
from simmodels.ground.numbers import Floats
from simmodels.policies.naming import as_order
from simmodels.policies.polynomial import FORMS

ANY: Final = "any form"
_JOBS_OF_A_PAIR: Final = 32
TIMES: Final = "log10 of AVGbsld"
INFLATION: Final = "log10 of the largest factor"
"""Of a form, or of any: a column of the draws, of which single draws are shown, too."""
_APART: Final = (
    "by the standard errors over the pairs, of which the intervals of all together have 95 % confidence; a factor of "
    "2: a margin of ours"
)
_SHARE: Final = (
    f"share of the windows in which it is among the three lowest of seven, of those in which AVGbsld under FCFS is at "
    f"least {WAITS:g}; among the three lowest, and {WAITS:g}: margins of ours"
)
_WORDS: Final = {
    TIMES: "median over the windows of log10 of the quotient of AVGbsld",
    "median": "rank of its median",
    "interquartile range": "rank of its interquartile range over the windows",
    "median of the last third": "rank of its median in the last third of the windows",
    "share of windows": _SHARE,
    "share of all windows": _SHARE,
    INFLATION: "median over the draws of log10 of the largest uncentred factor without intercept",
    "coefficient of q": "the coefficient, with 1.96 standard errors that allow for dependence within a pair",
    "errors apart": f"log10 of the largest over the smallest; {_APART}",
    "errors but one apart": "log10 of the second largest over the smallest of four (almost all functions: three of "
    f"four); {_APART}",
}


class RegressionResults(StudyResults):
    """The results of the study, as they are asked for by a method: of workloads by window, of training sets by draw.

    The windows are of orders in a ``mode``, of which those that are learned have a training set, ``train``.

    Parameters
    ----------
    results
        The results of a campaign.
    """

    order = ORDERS
    subjects = SETS
    usual = (SYNTHETIC,)
    centre: Mapping[str, Any] = MappingProxyType({"mode": "backfilling", "train": GENERATED})
    method = DRAWN
    among = 1

    def by(self, method: Method, among: int = 1) -> "RegressionResults":
        """Return the same by a method, with intervals that hold together with those of n workloads."""
        _ = self._windows  # made once, and copied: they are those of all methods
        found = copy(self)
        found.method, found.among = method, among
        return found

    @property
    def ours(self) -> bool:  # type: ignore[override]  # it depends on the method
        """Whether the method is none of the paper's text, or what was run has other settings."""
        given, needed = self.results.parameters, self.method.as_published
        return self.method.ours or any(given.get(name, value) != value for name, value in needed.items())

    def confidence(self, members: int) -> float:
        """Return the confidence of the intervals of n members on each workload."""
        return 1.0 - 0.05 / (members * self.among)

    def average(self, values: Floats, members: int) -> Effect:
        """Return the median: slowdowns, and factors of inflation, are skewed."""
        return bootstrap(values, statistic="median", confidence=self.confidence(members), seed=self.results.seed)

    def text(self, said: Sentence, on: Sequence[str]) -> str:  # noqa: ARG002  rows name the training sets themselves
        """Return what is said, with the method."""
        return f"{said.text} ({self.method.name})" if self.method.name else said.text

    def measure(self, said: Sentence) -> str:
        """Return what is measured, in words: what the row adds comes last."""
        return in_words(said)

    def scope(self, said: Sentence, on: Sequence[str]) -> None:
        """Return nothing: each is about what was run; what is needed of all workloads together is said in `claims`."""

    def levels(self, factor: str, subject: str) -> Sequence[str]:
        """Return the modes; or what is learned from, beside the generated set the workload itself if it can be."""
        if factor == "mode":
            return MODES
        return (OWN, GENERATED) if self._own(subject) != GENERATED else (GENERATED,)

    def _own(self, workload: str) -> str:
        printed = self.method.scores is None and set_of(workload) == SYNTHETIC
        return GENERATED if printed else workload

    # -- values -------------------------------------------------------------------------------------

    @cached_property
    def _windows(self) -> dict[tuple[Any, ...], Values]:
        """The slowdowns by window, of each workload, mode, depth of the queue, order, scores and training set."""
        rows = self.part(ONLINE)
        if rows.empty:
            return {}
        keys = ["workload", "mode", "queue_depth", "order", "scores", "train"]
        groups: Any = rows.set_index(REPLICATION).groupby(keys, sort=False, dropna=False)[MEASURE]
        return {tuple(None if pd.isna(name) else name for name in key): of.sort_index() for key, of in groups}

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401
        """Return slowdowns of an order by window, or log10 of them; or the largest factor of a form by draw."""
        if column == INFLATION:
            return self.draws(subject).get(alternative, NOTHING)
        mode, train = (moved.get(name, self.centre[name]) for name in ("mode", "train"))
        learned = (self.method.scores, self._own(subject) if train == OWN else train)
        way = learned if is_learned(alternative) else (None, None)
        values = self._windows.get((subject, mode, self.method.depth, alternative, *way), NOTHING)
        return pd.Series(np.log10(values)) if column == TIMES else values

    def waits(self, workload: str, mode: str) -> bool:
        """Return whether jobs wait under FCFS; so, too, if that is not known."""
        fcfs = self.value(MEASURE, "FCFS", workload, mode=mode).dropna()
        return fcfs.empty or float(fcfs.median()) >= WAITS

    def part(self, part: str) -> pd.DataFrame:
        """Return the rows of one kind of cells, with the paper's training set of each (None for another one)."""
        rows = self.results.where(part=part)
        return rows.assign(set=rows["train"].map(lambda name: set_of(str(name))) if len(rows) else None)

    def draws(self, training: str) -> pd.DataFrame:
        """Return log10 of the largest factor: one row per draw of pairs, one column per form, and one for any form."""
        rows = _of_first(self.part(DRAW), training)
        if rows.empty:
            return pd.DataFrame()
        rows = rows.assign(size=np.log10(rows["vif_paper"].astype(float)))
        found = rows.pivot_table(index=REPLICATION, columns="form", values="size", aggfunc="mean")
        return found.assign(**{ANY: found.max(axis="columns")})

    def fit(self, training: str, form: str) -> pd.DataFrame:
        """Return the terms of a form that was fitted to the scores of the method: none if it was not."""
        rows = self.part(FIT)
        chosen = rows if rows.empty else rows[(rows["scores"] == self.method.scores) & (rows["order"] == form)]
        return _of_first(chosen, training)

    # -- measures that no column has ------------------------------------------------------------------

    def _rank(
        self, said: Sentence, on: Sequence[str], *, spread: bool = False, last: int = 1
    ) -> dict[str, Measured] | None:
        """Return the rank of an order's median, or of its interquartile range, among others or the seven; 1 is least.

        Orders that are equal share their mean rank. `last` is 3 for the last third of the windows.
        """
        (workload,), (point,) = on, self.points(said.compared, on[0])
        (order,) = names_of(said.compared.of)
        orders = [*(name for name in said.compared.against or SEVEN if name != order), order]
        rows = by_replication({name: self.value(MEASURE, name, workload, **point) for name in orders}).dropna()
        rows = rows.iloc[len(rows) - len(rows) // last :]
        if rows.empty:
            return None
        statistic = spread_rank_of_last if spread else rank_of_last

        def measured(members: int) -> Effect:
            confidence = self.confidence(members)
            return bootstrap_rows(rows.to_numpy(), statistic, confidence=confidence, seed=self.results.seed)

        return {workload: measured}

    def _share(self, said: Sentence, on: Sequence[str], *, all_there: bool = False) -> dict[str, Measured] | None:
        """Return the share of the windows in which an order is among the three lowest of seven.

        Equal ones have their mean rank. Left out are windows in which hardly any job waits under FCFS. With `all_there`
        the windows are all that there are, and no sample of others: they are counted.
        """
        (workload,), (order,) = on, names_of(said.compared.of)
        rows = by_replication({name: self.value(MEASURE, name, workload) for name in SEVEN}).dropna()
        rows = rows[rows["FCFS"] >= WAITS]
        if rows.empty:
            return None
        among = rows.rank(axis="columns")[order].to_numpy() <= 3
        if all_there:
            return {workload: lambda _: Effect.exact(float(among.mean()), replications=len(among))}
        return {workload: lambda members: share(among, confidence=self.confidence(members))}

    def _inflation(self, said: Sentence, on: Sequence[str]) -> Evidence | None:
        """Return the median over the draws of pairs, and from where to where single draws go."""
        (values,) = family_of(self, said, on).values()
        draws = values.dropna()
        if draws.empty:
            return None
        return Evidence(self.average(np.asarray(draws), 1), f"10^{draws.min():.2f} to 10^{draws.max():.2f} in a draw")

    def _coefficient(self, said: Sentence, on: Sequence[str]) -> Effect | None:
        """Return the coefficient of q in a form, with 1.96 standard errors on either side."""
        fit = self.fit(on[0], str(said.compared.of))
        row = fit if fit.empty else fit[fit["term"] == "q"].dropna(subset="error_by_pair")
        if row.empty:
            return None
        theta, error = (float(row[name].iloc[0]) for name in ("theta", "error_by_pair"))
        return Effect(theta, theta - 1.96 * error, theta + 1.96 * error, self.results.parameters["pairs"])

    def _apart(self, said: Sentence, on: Sequence[str], *, largest: int = 1) -> Effect | None:
        """Return log10 of the (second) largest mean absolute error over the smallest, with its interval."""
        fits = [self.fit(training, form) for training in on for form in names_of(said.compared.of)]
        if any(fit.empty or fit["mae_error"].isna().iloc[0] for fit in fits):
            return None
        errors, spread, rows = ([float(fit[name].iloc[0]) for fit in fits] for name in ("mae", "mae_error", "rows"))
        pairs = int(min(rows)) // _JOBS_OF_A_PAIR
        return quotient_of_extremes(errors, spread, replications=pairs, largest=largest)

    measures = MappingProxyType(
        {
            "median": _rank,
            "interquartile range": partial(_rank, spread=True),
            "median of the last third": partial(_rank, last=3),
            "share of windows": _share,
            "share of all windows": partial(_share, all_there=True),
            INFLATION: _inflation,
            "coefficient of q": _coefficient,
            "errors apart": _apart,
            "errors but one apart": partial(_apart, largest=2),
        }
    )


def _of_first(rows: pd.DataFrame, training: str) -> pd.DataFrame:
    """Return the rows of a training set, of the first of those that were run: files may be of the same set."""
    rows = rows[rows["set"] == training] if len(rows) else rows
    return rows[rows["train"] == rows["train"].iloc[0]] if len(rows) else rows


# -- in words, and ranks ----------------------------------------------------------------------------


def in_words(said: Sentence) -> str:
    """Return what is measured for a sentence, in words."""
    compared, name = said.compared, str(said.compared.values)
    words = [_WORDS[name]]
    if name == TIMES and any(compared.bounds.values()):
        words.append("a factor of 2: a margin of ours")
    if name == INFLATION and (compared.against or said.than_on):
        words[0] += ", less that of the other"
    if words[0].startswith("rank"):
        words[0] += f" among {', '.join(compared.against or SEVEN)}{' and itself' if compared.against else ''}"
    return "; ".join(filter(None, (*words, said.measure)))


def rank_of_last(values: Floats) -> Floats:
    """Return the rank of the median of the last column among those of all; of windows [..., n, columns]."""
    return _rank(np.median(values, axis=-2))


def spread_rank_of_last(values: Floats) -> Floats:
    """Return the rank of the interquartile range of the last column among those of all; of [..., n, columns]."""
    upper, lower = np.percentile(values, (75.0, 25.0), axis=-2)
    return _rank(upper - lower)


def _rank(found: Floats) -> Floats:
    """Return the rank of the last of the values [..., columns], 1 for the least; equal ones have their mean rank."""
    last = found[..., -1:]
    ranks: Floats = (found < last).sum(axis=-1) + 0.5 * (1.0 + (found == last).sum(axis=-1))
    return ranks


# -- tables -----------------------------------------------------------------------------------------

_NAMES: Final = {SYNTHETIC: "generated", CTC: CTC, BLUE: BLUE}


def make_tables(found: RegressionResults) -> dict[str, pd.DataFrame]:
    """Return the paper's tables, each value that it prints beside ours; and what it shows in figures, as numbers."""
    fits = found.part(FIT)
    terms = pd.DataFrame([{"form": form, "terms": ", ".join(terms)} for form, terms in FORMS.items()])
    tables = {"table 1: terms of the forms": terms, "table 2: mean absolute errors": _errors(fits)}
    for training, table in TABLE_OF.items():
        tables[f"{table}: coefficients and VIF, {_NAMES[training]}"] = _beside(fits, training)
    return tables | {
        "table 6: orders": _orders(),
        "numbers in the text": _numbers(found),
        "largest VIF over draws of pairs": _inflation(found.part(DRAW)),
        "coefficients": _coefficients(fits),
        "figures 3 to 5, median AVGbsld over the windows": _over_windows(found, "median"),
        "figures 3 to 5, interquartile range of AVGbsld over the windows": _over_windows(found, "iqr"),
    }


def _orders() -> pd.DataFrame:
    """Return one row per order that is compared: its formula as it is run, and where that is from."""
    found = [(name, as_order(name)) for name in SEVEN if not is_learned(name)]
    rows = [{"order": name, "formula": one.formula, "source": getattr(one, "source", "")} for name, one in found]
    return pd.DataFrame(rows)


def _way(train: str, scores: str) -> str:
    """Return what a form was learned from, and how."""
    where = "" if train == GENERATED else f" of {log_name(train)}"
    return f"scores{where}" if is_score_file(train) else f"{scores}{where}"


def _errors(fits: pd.DataFrame) -> pd.DataFrame:
    """Return one row per form, training set of the paper and way: mean absolute error, printed and ours."""
    if fits.empty:
        return pd.DataFrame()
    fits = fits.drop_duplicates(["train", "scores", "order"])
    return pd.DataFrame(
        {
            "form": fit["order"],
            "training set": _NAMES[training],
            "scores": _way(fit["train"], fit["scores"]),
            "printed": MAE[training][fit["order"]],
            "ours": fit["mae"],
            "standard error": fit["mae_error"],
            "difference": fit["mae"] - MAE[training][fit["order"]],
            "printed (HAL version)": MAE_HAL[fit["order"]] if training == SYNTHETIC else np.nan,
        }
        for training in SETS
        for _, fit in fits[fits["set"] == training].iterrows()
    )


def _beside(fits: pd.DataFrame, training: str) -> pd.DataFrame:
    """Return one row per term of each form: coefficient and inflation factor, printed, ours, and their difference."""
    fits = fits[fits["set"] == training].reset_index(drop=True)
    if fits.empty:
        return fits
    printed = [COEFFICIENTS[training][form][term] for form, term in zip(fits["order"], fits["term"], strict=True)]
    theta = pd.Series([term.theta for term in printed])
    vif = pd.Series([term.vif for term in printed], dtype=float)
    return pd.DataFrame(
        {
            "form": fits["order"],
            "term": fits["term"],
            "scores": [_way(*way) for way in zip(fits["train"], fits["scores"], strict=True)],
            "theta printed": theta,
            "theta ours": fits["theta"],
            "error by pair": fits["error_by_pair"],
            "difference": fits["theta"] - theta,
            "in errors": (fits["theta"] - theta) / fits["error_by_pair"],
            "VIF printed": vif,
            "VIF ours": fits["vif_paper"],
            "VIF difference": fits["vif_paper"] - vif,
        }
    )


def _numbers(found: RegressionResults) -> pd.DataFrame:
    """Return the numbers that stand in the text and not in its tables: printed, ours, and their difference."""
    fits, online = found.part(FIT), found.part(ONLINE)
    windows = online[online["workload"] == GENERATED][REPLICATION].nunique() if len(online) else 0
    rows: list[tuple[str, str, float, Any]] = []
    for training, name in _NAMES.items():
        fit = _of_first(fits, training)
        count = fit["rows"].iloc[0] if len(fit) else None
        rows.append(("section 5.2", f"scores of {name}", PRINTED_SCORES[training], count))
    rows.append(("section 5.1", "trials of a pair", 256_000, found.results.parameters.get("trials")))
    rows.append(("section 5.1 (HAL version)", "experiments on the generated workload", 50, windows or None))
    for training, name in _NAMES.items():
        draws = found.draws(training)
        largest = 10.0 ** draws["QUA"].median() if len(draws) else None
        what = f"largest VIF of QUA on {name} (ours: median of draws)"
        rows.append(("section 5.2", what, LARGEST_VIF[training, "QUA"], largest))
    table = pd.DataFrame(rows, columns=["where", "what", "printed", "ours"]).astype({"ours": float})
    return table.assign(difference=table["ours"] - table["printed"])


def _coefficients(fits: pd.DataFrame) -> pd.DataFrame:
    """Return one row per term of each fit: coefficient, errors, variance inflation factors, and how it fits."""
    if fits.empty:
        return fits
    names = {
        "train": "learned from", "scores": "scores", "order": "form", "term": "term", "theta": "theta",
        "standard_error": "standard error", "error_by_pair": "by pair", "vif_paper": "VIF (as in the paper)",
        "vif_centred": "VIF (centred)", "mae": "MAE", "condition": "condition",
    }  # fmt: skip
    return fits.assign(train=fits["train"].map(log_name))[list(names)].rename(columns=names)


def _over_windows(found: RegressionResults, what: str) -> pd.DataFrame:
    """Return median or interquartile range over the windows: one row per workload and order, one column per mode."""
    table = found.part(ONLINE)
    if table.empty:
        return table
    table = table.assign(
        workload=table["workload"].map(log_name),
        order=[label_of(*way) for way in zip(table["order"], table["scores"], table["train"], strict=True)],
        column=table["mode"] + ", " + table["queue_depth"].map(_depth, na_action=None),
    )
    grouped = table.groupby(["workload", "order", "column"], sort=False)[MEASURE]
    values = grouped.median() if what == "median" else grouped.quantile(0.75) - grouped.quantile(0.25)
    keys = ["workload", "order"]
    wide = values.reset_index().pivot_table(index=keys, columns="column", values=MEASURE, sort=False)
    wide = wide[list(table["column"].unique())].reset_index()
    wide.insert(1, "windows", wide["workload"].map(table.groupby("workload")[REPLICATION].nunique()))
    return wide.rename_axis(columns=None)


def _depth(depth: float | None) -> str:
    return "all waiting jobs" if pd.isna(depth) else f"{depth:g} waiting jobs"


def _inflation(drawn: pd.DataFrame) -> pd.DataFrame:
    """Return the largest inflation factor of each form over draws of pairs: one row per training set and form."""
    if drawn.empty:
        return drawn
    grouped = drawn.groupby(["train", "form"], sort=False)["vif_paper"]
    shown = grouped.agg(draws="count", min="min", median="median", max="max").reset_index()
    ways = zip(shown["train"], shown["form"], strict=True)
    shown["printed"] = [LARGEST_VIF.get((set_of(train), form)) for train, form in ways]
    return shown.assign(train=shown["train"].map(log_name)).rename(columns={"train": "learned from"})


# -- findings ---------------------------------------------------------------------------------------


def findings(found: RegressionResults) -> list[str]:
    """Return which logs are missing, which windows are not held out, and on which logs hardly any job waits."""
    said, workloads = [], found.results.texts("workload")
    if missing := [name for name in (CTC, BLUE) if name not in map(set_of, workloads)]:
        said.append(
            f"Figures 2 and 3 and tables 2, 4 and 5 also need {' and '.join(missing)}, and figures 4 and 5 more logs: "
            "--workload generated,CTC-SP2-1996-3.1-cln.swf.gz,SDSC-BLUE-2000-4.2-cln.swf.gz,... (Parallel Workloads "
            "Archive)."
        )
    table = found.results.table
    trained = set() if table.empty else set(table["train"].dropna())
    if own := [log_name(name) for name in workloads if name in trained and name != GENERATED]:
        said.append(
            f"Figure 3, as in the paper: the windows of {', '.join(own)} are those of the logs that these orders were "
            "learned from, so they are not held out."
        )
    for name in workloads:
        modes = [mode for mode in MODES if not all(found.by(method).waits(name, mode) for method in METHODS)]
        where = "" if len(modes) == len(MODES) else f" ({', '.join(modes)})"
        if modes:
            said.append(f"Hardly any job waits on {log_name(name)}{where}: there, nothing is claimed about orders.")
    return said
