"""The tables of the regression study: what the paper prints beside ours, and what came out online; and its findings."""

from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns.cell import REPLICATION
from experiments.studies.naming import log_name
from experiments.studies.regression import paper, settings
from experiments.studies.regression.results import RegressionResults, of_first
from simmodels.policies.naming import as_order
from simmodels.policies.polynomial import FORMS

_NAMES: Final = {paper.SYNTHETIC: "generated", paper.CTC: paper.CTC, paper.BLUE: paper.BLUE}


def make_tables(found: RegressionResults) -> dict[str, pd.DataFrame]:
    """Return the paper's tables, each value that it prints beside ours; and what it shows in figures, as numbers."""
    fits = found.part(settings.FIT)
    terms = pd.DataFrame([{"form": form, "terms": ", ".join(terms)} for form, terms in FORMS.items()])
    tables = {"table 1: terms of the forms": terms, "table 2: mean absolute errors": _errors(fits)}
    for training, table in paper.TABLE_OF.items():
        tables[f"{table}: coefficients and VIF, {_NAMES[training]}"] = _beside(fits, training)
    return tables | {
        "table 6: orders": _orders(),
        "numbers in the text": _numbers(found),
        "largest VIF over draws of pairs": _inflation(found.part(settings.DRAW)),
        "coefficients": _coefficients(fits),
        "figures 3 to 5, median AVGbsld over the windows": _over_windows(found, "median"),
        "figures 3 to 5, interquartile range of AVGbsld over the windows": _over_windows(found, "iqr"),
    }


def _orders() -> pd.DataFrame:
    """Return one row per order that is compared: its formula as it is run, and where that is from."""
    found = [(name, as_order(name)) for name in settings.SEVEN if not settings.is_learned(name)]
    rows = [{"order": name, "formula": one.formula, "source": getattr(one, "source", "")} for name, one in found]
    return pd.DataFrame(rows)


def _way(train: str, scores: str) -> str:
    """Return what a form was learned from, and how."""
    where = "" if train == settings.GENERATED else f" of {log_name(train)}"
    return f"scores{where}" if settings.is_score_file(train) else f"{scores}{where}"


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
            "printed": paper.MAE[training][fit["order"]],
            "ours": fit["mae"],
            "standard error": fit["mae_error"],
            "difference": fit["mae"] - paper.MAE[training][fit["order"]],
            "printed (HAL version)": paper.MAE_HAL[fit["order"]] if training == paper.SYNTHETIC else np.nan,
        }
        for training in paper.SETS
        for _, fit in fits[fits["set"] == training].iterrows()
    )


def _beside(fits: pd.DataFrame, training: str) -> pd.DataFrame:
    """Return one row per term of each form: coefficient and inflation factor, printed, ours, and their difference."""
    fits = fits[fits["set"] == training].reset_index(drop=True)
    if fits.empty:
        return fits
    printed = [paper.COEFFICIENTS[training][form][term] for form, term in zip(fits["order"], fits["term"], strict=True)]
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
    fits, online = found.part(settings.FIT), found.part(settings.ONLINE)
    windows = online[online["workload"] == settings.GENERATED][REPLICATION].nunique() if len(online) else 0
    rows: list[tuple[str, str, float, Any]] = []
    for training, name in _NAMES.items():
        fit = of_first(fits, training)
        count = fit["rows"].iloc[0] if len(fit) else None
        rows.append(("section 5.2", f"scores of {name}", paper.SCORES[training], count))
    rows.append(("section 5.1", "trials of a pair", 256_000, found.results.parameters.get("trials")))
    rows.append(("section 5.1 (HAL version)", "experiments on the generated workload", 50, windows or None))
    for training, name in _NAMES.items():
        draws = found.draws(training)
        largest = 10.0 ** draws["QUA"].median() if len(draws) else None
        what = f"largest VIF of QUA on {name} (ours: median of draws)"
        rows.append(("section 5.2", what, paper.LARGEST_VIF[training, "QUA"], largest))
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
    table = found.part(settings.ONLINE)
    if table.empty:
        return table
    table = table.assign(
        workload=table["workload"].map(log_name),
        order=[settings.label_of(*way) for way in zip(table["order"], table["scores"], table["train"], strict=True)],
        column=table["mode"] + ", " + table["queue_depth"].map(_depth, na_action=None),
    )
    grouped = table.groupby(["workload", "order", "column"], sort=False)[settings.MEASURE]
    values = grouped.median() if what == "median" else grouped.quantile(0.75) - grouped.quantile(0.25)
    keys = ["workload", "order"]
    wide = values.reset_index().pivot_table(index=keys, columns="column", values=settings.MEASURE, sort=False)
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
    shown["printed"] = [paper.LARGEST_VIF.get((paper.set_of(train), form)) for train, form in ways]
    return shown.assign(train=shown["train"].map(log_name)).rename(columns={"train": "learned from"})


# -- findings ---------------------------------------------------------------------------------------


def findings(found: RegressionResults) -> list[str]:
    """Return which logs are missing, which windows are not held out, and on which logs hardly any job waits."""
    said, workloads = [], found.results.texts("workload")
    if missing := [name for name in (paper.CTC, paper.BLUE) if name not in map(paper.set_of, workloads)]:
        said.append(
            f"Figures 2 and 3 and tables 2, 4 and 5 also need {' and '.join(missing)}, and figures 4 and 5 more logs: "
            f"{paper.THREE},... (Parallel Workloads Archive)."
        )
    table = found.results.table
    trained = set() if table.empty else set(table["train"].dropna())
    if own := [log_name(name) for name in workloads if name in trained and name != settings.GENERATED]:
        said.append(
            f"Figure 3, as in the paper: the windows of {', '.join(own)} are those of the logs that these orders were "
            "learned from, so they are not held out."
        )
    each_way = [found.by(method) for method in settings.METHODS]
    for name in workloads:
        modes = [mode for mode in settings.MODES if not all(by.waits(name, mode) for by in each_way)]
        where = "" if len(modes) == len(settings.MODES) else f" ({', '.join(modes)})"
        if modes:
            said.append(f"Hardly any job waits on {log_name(name)}{where}: there, nothing is claimed about orders.")
    return said
