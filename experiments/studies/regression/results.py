"""The tables of the regression study: those of the paper with what it prints, medians and spreads, and what survives.

References
----------
See `experiments.studies.regression.paper`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns.results import Results
from experiments.studies.naming import log_name
from experiments.studies.regression.claims import OnWorkload, OverAll
from experiments.studies.regression.fit_claims import largest_by_draw, part_of
from experiments.studies.regression.paper import (
    BLUE,
    COEFFICIENTS,
    CTC,
    MAE,
    MAE_HAL,
    SETS,
    SYNTHETIC,
    TABLE_OF,
    TRIALS,
    WINDOWS,
    set_of,
)
from experiments.studies.regression.paper import SCORES as PRINTED_SCORES
from experiments.studies.regression.settings import (
    DRAW,
    FIT,
    GENERATED,
    MEASURE,
    MODES,
    ONLINE,
    SEVEN,
    is_learned,
    is_score_file,
    label_of,
)
from simmodels.policies.naming import as_order
from simmodels.policies.polynomial import FORMS

_NAMES: Final = {SYNTHETIC: "generated", CTC: CTC, BLUE: BLUE}


def of_the_paper(results: Results) -> dict[str, pd.DataFrame]:
    """Return tables 1 to 6 of the paper, each value that it prints beside ours, with the difference."""
    fits = part_of(results, FIT)
    tables = {"table 1: terms of the forms": _terms(), "table 2: mean absolute errors": _errors(fits)}
    for training, table in TABLE_OF.items():
        tables[f"{table}: coefficients and VIF, {_NAMES[training]}"] = _beside(fits, training)
    return tables | {"table 6: orders": _orders()}


def _terms() -> pd.DataFrame:
    """Return one row per form: its terms."""
    return pd.DataFrame([{"form": form, "terms": ", ".join(terms)} for form, terms in FORMS.items()])


def _orders() -> pd.DataFrame:
    """Return one row per order that is compared: its formula as it is run, and where that is from."""
    found = [(name, as_order(name)) for name in SEVEN if not is_learned(name)]
    rows = [{"order": name, "formula": one.formula, "source": getattr(one, "source", "")} for name, one in found]
    return pd.DataFrame(rows)


def _ways(fits: pd.DataFrame, training: str) -> list[tuple[str, pd.DataFrame]]:
    """Return the fits of a training set of the paper: by what they were learned from, and how."""
    rows = fits[fits["set"] == training] if len(fits) else fits
    if rows.empty:
        return []
    return [(_way(str(train), str(how)), of) for (train, how), of in rows.groupby(["train", "scores"], sort=False)]


def _way(train: str, scores: str) -> str:
    where = "" if train == GENERATED else f" of {log_name(train)}"
    return f"scores{where}" if is_score_file(train) else f"{scores}{where}"


def _errors(fits: pd.DataFrame) -> pd.DataFrame:
    """Return one row per form, training set and way: mean absolute error, printed and ours."""
    rows: list[dict[str, Any]] = []
    for training in SETS:
        for way, found in _ways(fits, training):
            for form, of_form in found.groupby("order", sort=False):
                mae, printed = float(of_form["mae"].iloc[0]), MAE[training][str(form)]
                rows.append(
                    {
                        "form": form,
                        "training set": _NAMES[training],
                        "scores": way,
                        "printed": printed,
                        "ours": mae,
                        "standard error": of_form["mae_error"].iloc[0],
                        "difference": mae - printed,
                        "printed (HAL version)": MAE_HAL[str(form)] if training == SYNTHETIC else np.nan,
                    }
                )
    return pd.DataFrame(rows)


def _beside(fits: pd.DataFrame, training: str) -> pd.DataFrame:
    """Return one row per term of each form: coefficient and inflation factor, printed, ours, and their difference."""
    parts = []
    for way, found in _ways(fits, training):
        for form, of_form in found.groupby("order", sort=False):
            printed = COEFFICIENTS[training][str(form)]
            theta, vif = of_form["theta"].astype(float), of_form["vif_paper"].astype(float)
            error = of_form["error_by_pair"].astype(float)
            shown = of_form["term"].map({term: value.theta for term, value in printed.items()})
            inflated = of_form["term"].map({term: value.vif for term, value in printed.items()}).astype(float)
            part = {
                "form": form, "term": of_form["term"], "scores": way, "theta printed": shown, "theta ours": theta,
                "error by pair": error, "difference": theta - shown, "in errors": (theta - shown) / error,
                "VIF printed": inflated, "VIF ours": vif, "VIF difference": vif - inflated,
            }  # fmt: skip
            parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def numbers(results: Results) -> pd.DataFrame:
    """Return the numbers that stand in the text and not in its tables: printed, ours, and their difference."""
    fits, rows = part_of(results, FIT), []

    def add(where: str, what: str, printed: float, ours: float | None) -> None:
        difference = None if ours is None else ours - printed
        rows.append({"where": where, "what": what, "printed": printed, "ours": ours, "difference": difference})

    for training in SETS:
        found = _ways(fits, training)
        count = float(found[0][1]["rows"].iloc[0]) if found else None
        add("section 5.2", f"scores of {_NAMES[training]}", PRINTED_SCORES[training], count)
    add("section 5.1", "trials of a pair", TRIALS, float(str(results.parameters.get("trials", np.nan))))
    online = part_of(results, ONLINE)
    generated = online[online["workload"] == GENERATED] if len(online) else online
    windows = float(generated["replication"].nunique()) if len(generated) else None
    add("section 5.1 (HAL version)", "experiments on the generated workload", WINDOWS, windows)
    for training in SETS:
        largest = max(term.vif or 0.0 for term in COEFFICIENTS[training]["QUA"].values())
        draws = largest_by_draw(results, training)
        ours = float(10.0 ** draws["QUA"].median()) if "QUA" in draws else None
        add("section 5.2", f"largest VIF of QUA on {_NAMES[training]} (ours: median of draws)", largest, ours)
    return pd.DataFrame(rows)


def coefficients(results: Results) -> pd.DataFrame:
    """Return one row per term of each fit: coefficient, errors, variance inflation factors, and how it fits."""
    table = part_of(results, FIT)
    if table.empty:
        return pd.DataFrame()
    names = {
        "train": "learned from", "scores": "scores", "order": "form", "term": "term", "theta": "theta",
        "standard_error": "standard error", "error_by_pair": "by pair", "vif_paper": "VIF (as in the paper)",
        "vif_centred": "VIF (centred)", "mae": "MAE", "condition": "condition",
    }  # fmt: skip
    found = table[list(names)].rename(columns=names).reset_index(drop=True)
    return found.assign(**{"learned from": found["learned from"].map(lambda name: log_name(str(name)))})


def over_windows(results: Results, what: str) -> pd.DataFrame:
    """Return median or interquartile range over the windows: one row per workload and order, one column per mode."""
    table = part_of(results, ONLINE)
    if table.empty:
        return pd.DataFrame()
    policies = zip(table["order"], table["scores"], table["train"], strict=True)
    found = table.assign(
        workload=table["workload"].map(lambda name: log_name(str(name))),
        order=[label_of(*policy) for policy in policies],
        column=[f"{mode}, {_depth(depth)}" for mode, depth in zip(table["mode"], table["queue_depth"], strict=True)],
    )
    columns = list(dict.fromkeys(found["column"]))
    grouped = found.groupby(["workload", "order", "column"], sort=False)[MEASURE]
    values = grouped.median() if what == "median" else grouped.quantile(0.75) - grouped.quantile(0.25)
    keys = ["workload", "order"]
    wide = values.reset_index().pivot_table(index=keys, columns="column", values=MEASURE, sort=False)
    shown = wide[columns].reset_index()
    shown.insert(1, "windows", shown["workload"].map(found.groupby("workload")["replication"].nunique()))
    shown.columns.name = None
    return shown


def _depth(depth: float | None) -> str:
    return "all waiting jobs" if depth is None or pd.isna(depth) else f"{depth:g} waiting jobs"


# -- claims -----------------------------------------------------------------------------------------


def survival(claims: Sequence[OverAll]) -> pd.DataFrame:
    """Return what became of each claim about windows: one row per claim, one column per method."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for text, method, claim in claims:
        shown = found.setdefault((text, claim.source), {})
        shown[method.name] = f"{claim.verdict}: {claim.found()}, {claim.expected()}"
    rows = [{"claim": text, "source": source, **shown} for (text, source), shown in found.items()]
    return pd.DataFrame(rows)


def by_workload(parts: Sequence[OnWorkload]) -> pd.DataFrame:
    """Return each sentence on each workload: one row for both, one column per method."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for part in parts:
        shown = found.setdefault((part.sentence.text, part.workload), {"expected": part.claim.expected()})
        shown[part.method.name] = f"{part.claim.verdict}: {part.claim.found()}"
    return pd.DataFrame([{"claim": text, "workload": name, **shown} for (text, name), shown in found.items()])


# -- findings ---------------------------------------------------------------------------------------


def findings(results: Results, untested: Sequence[tuple[str, str]]) -> list[str]:
    """Return which logs are missing, which windows are not held out, and on which logs hardly any job waits."""
    workloads = [str(name) for name in results.factors["workload"] if name is not None]
    found = []
    if missing := [name for name in (CTC, BLUE) if name not in map(set_of, workloads)]:
        found.append(
            f"Figures 2 and 3 and tables 2, 4 and 5 also need {' and '.join(missing)}, and figures 4 and 5 more logs: "
            "--workload generated,CTC-SP2-1996-3.1-cln.swf.gz,SDSC-BLUE-2000-4.2-cln.swf.gz,... (Parallel Workloads "
            "Archive)."
        )
    trained = set(_trained(results))
    if own := [log_name(name) for name in workloads if name in trained and name != GENERATED]:
        found.append(
            f"Figure 3, as in the paper: the windows of {', '.join(own)} are those of the logs that these orders were "
            "learned from, so they are not held out."
        )
    for name in dict.fromkeys(name for name, _ in untested):
        modes = [mode for mode in MODES if (name, mode) in untested]
        where = "" if len(modes) == len(MODES) else f" ({', '.join(modes)})"
        found.append(f"Hardly any job waits on {name}{where}: there, nothing is claimed about orders.")
    return found


def _trained(results: Results) -> list[str]:
    table = results.table
    return [] if table.empty else [str(name) for name in table["train"].dropna().unique()]


def inflation(results: Results) -> pd.DataFrame:
    """Return the largest inflation factor of each form over draws of pairs: one row per training set and form."""
    rows = part_of(results, DRAW)
    if rows.empty:
        return pd.DataFrame()
    grouped = rows.groupby(["train", "form"], sort=False)["vif_paper"]
    shown = grouped.agg(["count", "min", "median", "max"]).reset_index()
    largest: Mapping[tuple[str, str], float] = {
        (training, form): max(term.vif or 0.0 for term in terms.values())
        for training, of in COEFFICIENTS.items()
        for form, terms in of.items()
    }
    keys = [(set_of(str(train)) or "", form) for train, form in zip(shown["train"], shown["form"], strict=True)]
    shown = shown.rename(columns={"train": "learned from", "count": "draws"})
    shown["printed"] = [largest.get(key, np.nan) for key in keys]
    return shown.assign(**{"learned from": shown["learned from"].map(lambda name: log_name(str(name)))})
