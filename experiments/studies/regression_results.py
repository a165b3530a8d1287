"""The tables and claims of the regression study.

References
----------
See `experiments.studies.regression`. The numbers of the claims are those of its text.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap, bootstrap_rows
from simmodels.policies.polynomial import FORMS

FIT: Final = "fit"
CONVERGENCE: Final = "convergence"
ONLINE: Final = "online"
SCORES: Final = ("swap-any", "uniform")
MODES: Final = ("actual", "estimates", "backfilling")
DEPTHS: Final = (32, None)
PLAIN: Final = ("FCFS", "SPT", "SAF", "WFP3", "UNICEF", "F1", "F2", "F3", "F4")
ORDERS: Final = (*PLAIN, *FORMS)
METHODS: Final = {"published": ("swap-any", 32), "corrected": ("uniform", None)}
"""Of each method, which scores orders are learned from, and how many waiting jobs are considered."""
_SEVEN: Final = ("FCFS", "SPT", "SAF", "WFP3", "UNICEF", "F2", "LIN")
_MEASURE: Final = "mean_bounded_slowdown"
_DECIDE: Final = "--scale paper, or logs with more windows"


def is_learned(order: str) -> bool:
    """Return whether an order is one of the forms that are fitted."""
    return order in FORMS


def name_of(workload: str) -> str:
    """Return what a workload is called: its file's name without endings."""
    return Path(workload).name.split(".", maxsplit=1)[0].removesuffix("-cln")


def label_of(order: str, scores: str | float | None) -> str:
    """Return what an order is called: a form with the scores that it was learned from, or as it was printed."""
    if not is_learned(order):
        return order
    return f"{order}, printed" if scores is None or pd.isna(scores) else f"{order}, {scores}"


# -- tables -----------------------------------------------------------------------------------------


def coefficients(results: Results) -> pd.DataFrame:
    """Return one row per term of each fit: coefficient, error, variance inflation factors, and how it fits."""
    table = _part(results, FIT)
    if table.empty:
        return pd.DataFrame()
    names = {
        "scores": "scores",
        "order": "form",
        "term": "term",
        "theta": "theta",
        "standard_error": "standard error",
        "error_by_pair": "by pair",
        "vif_paper": "VIF (as in the paper)",
        "vif_centred": "VIF (centred)",
        "mae": "MAE",
        "condition": "condition",
    }
    return table[list(names)].rename(columns=names).reset_index(drop=True)


def medians(results: Results) -> pd.DataFrame:
    """Return the median over the windows: one row per workload and order, one column per mode and queue depth."""
    table = _part(results, ONLINE)
    if table.empty:
        return pd.DataFrame()
    found = table.assign(
        workload=table["workload"].map(lambda name: name_of(str(name))),
        order=[label_of(*pair) for pair in zip(table["order"], table["scores"], strict=True)],
        column=[f"{mode}, {_depth(depth)}" for mode, depth in zip(table["mode"], table["queue_depth"], strict=True)],
    )
    columns = list(dict.fromkeys(found["column"]))
    wide = found.pivot_table(
        index=["workload", "order"], columns="column", values=_MEASURE, aggfunc="median", sort=False
    )
    counts = found.groupby("workload")["replication"].nunique()
    shown = wide[columns].reset_index()
    shown.insert(1, "windows", shown["workload"].map(counts))
    shown.columns.name = None
    return shown


def survival(results: Results) -> pd.DataFrame:
    """Return what became of each claim that depends on it by the method as published, and by the corrected one."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for method, claim in _claims(results):
        if method:
            shown = found.setdefault((claim.source, claim.text.rpartition(" (")[0]), {})
            shown[method] = f"{claim.verdict}: {claim.found()}"
    rows = [{"claim": text, "source": source, **shown} for (source, text), shown in found.items()]
    return pd.DataFrame(rows)


def _depth(depth: float | None) -> str:
    return "all waiting jobs" if depth is None or pd.isna(depth) else f"{depth:g} waiting jobs"


def _part(results: Results, part: str) -> pd.DataFrame:
    """Return the rows of one kind of cells."""
    table = results.table
    return table if table.empty else table[table["part"] == part]


# -- claims -----------------------------------------------------------------------------------------


def claims_of(results: Results) -> Iterator[Claim]:
    """Hand out the claims of the paper, by each method, and for each workload where they are about one."""
    for _, claim in _claims(results):
        yield claim


def _claims(results: Results) -> Iterator[tuple[str, Claim]]:
    """Hand out the claims, each with its method; "" for what does not depend on it."""
    yield from (("", claim) for claim in _about_terms(results))
    for method, (scores, depth) in METHODS.items():
        yield from ((method, _explained(claim)) for claim in _about_signs(results, method, scores))
        for workload in results.factors["workload"]:
            if workload is not None:
                windows = _windows(results, str(workload), scores, depth)
                for claim in _about_windows(windows, method, name_of(str(workload)), results.seed):
                    yield method, _explained(claim)


_CAUSES: Final = {
    "claim 1": "With 32 waiting jobs considered, what waits behind a blocked head is out of reach; with all of them, "
    "orders that let small jobs go first (SPT, UNICEF) gain most, and pass it.",
    "claim 2": "FCFS without backfilling is so bad where jobs wait that a form which lets some small jobs go first is "
    "better, however ill it is conditioned.",
    "claim 4": "The coefficient depends on the pairs that were drawn: with the jobs of a pair taken together its "
    "standard error is several times the usual one.",
    "claim 5": "Hardly anybody waits on this log.",
}


def _explained(claim: Claim) -> Claim:
    """Return a claim that fails with the cause, where it is known."""
    return replace(claim, note=_CAUSES.get(claim.source, "")) if claim.verdict == "fails" else claim


def _about_terms(results: Results) -> Iterator[Claim]:
    """Hand out the claims about features: these are the same for all scores, and as they are for the pairs drawn."""
    table = _part(results, FIT)
    largest = {} if table.empty else table.groupby("order")["vif_paper"].max().to_dict()
    grows = None
    if set(FORMS) <= set(largest):
        grows = Effect.exact(float((np.diff([largest[form] for form in FORMS]) > 0).sum()))
    yield Claim(
        text="The largest variance inflation factor grows with the degree",
        source="claim 3",
        measure="in how many of the three steps from LIN to QUA it grows, for the pairs that were drawn",
        effect=grows,
        at_least=3,
        to_decide="all four forms",
    )
    for form, text, bounds in (("LIN", "below 5", {"less_than": 5.0}), ("QUA", "beyond 1,000", {"more_than": 1_000.0})):
        yield Claim(
            text=f"The largest variance inflation factor of {form} is {text}",
            source="claim 3",
            measure="largest uncentred variance inflation factor, without intercept, for the pairs that were drawn",
            effect=Effect.exact(float(largest[form])) if form in largest else None,
            to_decide=f"the form {form}",
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )


def _about_signs(results: Results, method: str, scores: str) -> Iterator[Claim]:
    """Hand out the claims about the signs of coefficients."""
    for form, sign, bounds in (("LIN", "positive", {"more_than": 0.0}), ("QDR", "negative", {"less_than": 0.0})):
        yield Claim(
            text=f"The coefficient of q is {sign} in {form} ({method})",
            source="claim 4",
            measure="the coefficient, with 1.96 standard errors that allow for dependence within a pair",
            effect=_of_q(results, scores, form),
            to_decide="more pairs: --set pairs=N",
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )


def _of_q(results: Results, scores: str, form: str) -> Effect | None:
    """Return the coefficient of q in a form, with its interval; None if it is not known."""
    table = _part(results, FIT)
    if table.empty:
        return None
    row = table[(table["scores"] == scores) & (table["order"] == form) & (table["term"] == "q")]
    if row.empty or row["error_by_pair"].isna().all():
        return None
    theta, error = float(row["theta"].iloc[0]), float(row["error_by_pair"].iloc[0])
    return Effect(theta, theta - 1.96 * error, theta + 1.96 * error, int(str(results.parameters["pairs"])))


def _windows(results: Results, workload: str, scores: str, depth: int | None) -> dict[str, pd.DataFrame]:
    """Return for each mode the AVGbsld: one row per window of which nothing is missing, one column per order."""
    table = _part(results, ONLINE)
    if table.empty:
        return {}
    deep = table["queue_depth"].isna() if depth is None else table["queue_depth"] == depth
    of_scores = (table["scores"] == scores) == table["order"].isin(list(FORMS))  # plain orders have no scores
    rows = table[(table["workload"] == workload) & deep & of_scores]
    return {
        str(mode): of_mode.pivot_table(index="replication", columns="order", values=_MEASURE).dropna()
        for mode, of_mode in rows.groupby("mode")
    }


def _about_windows(windows: dict[str, pd.DataFrame], method: str, where: str, seed: int) -> Iterator[Claim]:
    """Hand out the claims about one workload."""
    estimates = windows.get("estimates", pd.DataFrame())
    backfilled = windows.get("backfilling", pd.DataFrame())

    def claim(number: int, text: str, measure: str, effect: Effect | None, **bounds: float) -> Claim:
        return Claim(
            text=f"{text} on {where} ({method})",
            source=f"claim {number}",
            measure=measure,
            effect=effect,
            to_decide=_DECIDE,
            **bounds,  # type: ignore[arg-type]  # names of bounds
        )

    rank: Effect | None = None
    if set(_SEVEN) <= set(estimates.columns) and len(estimates):
        rank = bootstrap_rows(estimates[list(_SEVEN)].to_numpy(), _rank_of_last, seed=seed)
    yield claim(
        1, "LIN's median AVGbsld is among the three lowest of seven, with estimates",
        f"its rank among {', '.join(_SEVEN)}", rank, at_most=3,
    )  # fmt: skip
    times = "median over the windows of log10 of the quotient of AVGbsld"
    for form in [form for form in FORMS if form != "LIN"]:
        yield claim(
            2, f"{form} is worse than LIN, with estimates", times, _times(estimates, form, "LIN", seed), more_than=0.0
        )
        yield claim(
            2, f"{form} is no better than FCFS, with estimates", times, _times(estimates, form, "FCFS", seed),
            at_least=0.0,
        )  # fmt: skip
    both = None
    if "FCFS" in estimates and "FCFS" in backfilled:
        before, after = estimates["FCFS"].align(backfilled["FCFS"], join="inner")
        both = _of_logs((after / before).to_numpy(), seed)
    yield claim(5, "Backfilling improves FCFS to less than a half", times, both, less_than=float(np.log10(0.5)))
    for order in ("SAF", "F2", "LIN"):
        yield claim(
            5, f"FCFS with backfilling does not pass {order} with it", times,
            _times(backfilled, "FCFS", order, seed), more_than=0.0,
        )  # fmt: skip
    late = estimates.iloc[len(estimates) - len(estimates) // 3 :] if len(estimates) else estimates
    for order in ("F2", "LIN"):
        others = [name for name in _SEVEN if name != order]
        rank = None
        if set(_SEVEN) <= set(late.columns) and len(late):
            rank = bootstrap_rows(late[[*others, order]].to_numpy(), _rank_of_last, seed=seed)
        yield claim(
            6, f"{order} is still among the three lowest of seven in the last third of the windows, with estimates",
            f"the rank of its median in the last {len(late)} of {len(estimates)} windows", rank, at_most=3,
        )  # fmt: skip


def _rank_of_last(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of the median of the last column among those of all; of windows [..., n, columns]."""
    middle = np.median(values, axis=-2)
    found: NDArray[np.float64] = (middle < middle[..., -1:]).sum(axis=-1) + 1.0
    return found


def _times(windows: pd.DataFrame, order: str, against: str, seed: int) -> Effect | None:
    """Return the median of log10 of how many times as large the AVGbsld is; None if one is missing."""
    if order not in windows or against not in windows or windows.empty:
        return None
    return _of_logs((windows[order] / windows[against]).to_numpy(), seed)


def _of_logs(quotients: NDArray[np.float64], seed: int) -> Effect | None:
    return bootstrap(np.log10(quotients), statistic="median", seed=seed) if len(quotients) else None
