"""The tables and claims of the selection study.

References
----------
See `experiments.studies.selection`. `PUBLISHED` is table 2 of the paper, with the labels of largest and smallest,
longest and shortest in their places (they are printed inverted: its simulator, run again, shows it).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap
from simmodels.policies.orders import TWELVE_ORDERS
from simmodels.units import DAY, WEEK

PERIODS: Final = {"day": DAY, "week": WEEK}
TUNERS: Final = tuple(f"{kind} {period}" for period in PERIODS for kind in ("full", "noisy", "bandit", "random"))
NOISE: Final = {"text": 0.15, "program": 0.2}
"""How far a simulated wait may be wrong, as a part of it, in each variant."""
_BASE: Final = "FCFS"

PUBLISHED: Final[Mapping[str, Sequence[int]]] = {
    "ANL-Intrepid": (-25, -9, -3, -28, -2, -21, -24, -21, -10, -19, 5),
    "KTH-SP2": (-13, -16, 5, -16, 3, -8, -15, -8, -13, -12, 15),
    "CTC-SP2": (-40, -19, -14, -47, 15, -36, -19, -38, -12, -44, 22),
    "SDSC-SP2": (-8, -15, 4, -8, 4, -3, -15, -3, -10, -11, 18),
    "SDSC-BLUE": (-26, -29, 0, -29, 17, -17, -26, -15, -15, -32, 23),
    "CEA-Curie": (-46, -23, -45, -57, -19, -51, -23, -57, -24, -40, -17),
    "UniLu-Gaia": (-58, -33, -10, -62, 16, -49, -27, -56, -16, -62, 20),
}
"""Table 2: total waits of `OTHERS` against EASY-FCFS, in per cent."""
OTHERS: Final = ("LCFS", "SPF", "LPF", "SQF", "LQF", "SEXP", "LEXP", "LRF", "SRF", "SAF", "LAF")


def name_of(workload: str) -> str:
    """Return what a log is called: its file's name without endings."""
    return Path(workload).name.split(".", maxsplit=1)[0].removesuffix("-cln")


def published_of(workload: str) -> Sequence[int] | None:
    """Return the published row of a log, if there is one."""
    return next((row for name, row in PUBLISHED.items() if name_of(workload).startswith(name)), None)


def noise_of(results: Results, variant: str) -> float:
    """Return how far a simulated wait may be wrong, as a part of it: what was chosen, or what the variant has."""
    chosen = results.parameters.get("noise")
    return NOISE[variant] if chosen is None else float(chosen)


def last_of(results: Results) -> Results:
    """Return the results without the rows of the weeks: one row per cell."""
    if "total_wait_s" not in results.table:
        return results
    return replace(results, table=results.table.dropna(subset=["total_wait_s"]))


def settings_of(results: Results) -> list[tuple[str, str]]:
    """Return each variant and log."""
    return [(str(v), str(w)) for v in results.factors["variant"] for w in results.factors["workload"]]


def _relative(last: Results, variant: str, workload: str, strategy: str, against: str = _BASE) -> Effect | None:
    """Return how much longer the waits are under a strategy than under another, as a fraction; None if nobody waits."""
    where = {"variant": variant, "workload": workload}
    if strategy not in last.factors["strategy"] or against not in last.factors["strategy"]:
        return None
    if "total_wait_s" in last.table and not (last.where(**where, strategy=against)["total_wait_s"] > 0.0).all():
        return None
    return last.difference(
        "total_wait_s", {**where, "strategy": strategy}, {**where, "strategy": against}, relative=True
    )


def _totals(last: Results, variant: str, workload: str) -> pd.DataFrame:
    """Return the total waits: a row for each replication of which nothing is missing, one column per strategy."""
    if "total_wait_s" not in last.table:
        return pd.DataFrame()
    table = last.where(variant=variant, workload=workload)
    return table.pivot_table(index="replication", columns="strategy", values="total_wait_s").dropna()


def against_base(last: Results, strategies: Sequence[str]) -> pd.DataFrame:
    """Return in per cent, against FCFS, with intervals: one row per log, variant and strategy."""
    rows = []
    for variant, workload in settings_of(last):
        printed = dict(zip(OTHERS, published_of(workload) or (), strict=False))
        for strategy in strategies:
            effect = _relative(last, variant, workload, strategy)
            if effect is not None:
                row = {"variant": variant, "log": name_of(workload), "strategy": strategy, **_per_cent(effect)}
                rows.append({**row, "published (%)": printed.get(strategy)})
    table = pd.DataFrame(rows)
    return table if not rows or table["published (%)"].notna().any() else table.drop(columns="published (%)")


def _per_cent(effect: Effect) -> dict[str, float | None]:
    """Return an effect in per cent."""
    values = {"waits (%)": effect.estimate, "low": effect.low, "high": effect.high}
    return {name: None if value is None else 100.0 * value for name, value in values.items()}


def regrets(last: Results) -> pd.DataFrame:
    """Return what each strategy waits more than the best fixed order of the resample, in per cent."""
    rows = []
    for variant, workload in settings_of(last):
        totals = _totals(last, variant, workload)
        fixed = [name for name in TWELVE_ORDERS if name in totals]
        for strategy in (name for name in totals if name not in fixed and fixed):
            best_s = totals[fixed].min(axis=1)
            if best_s.min() <= 0.0:
                continue
            regret = totals[strategy] / best_s - 1.0
            about = {"variant": variant, "log": name_of(workload), "strategy": strategy}
            rows.append({**about, **_per_cent(bootstrap(regret.to_numpy(), seed=last.seed))})
    return pd.DataFrame(rows)


def _likeness(last: Results, variant: str, workload: str) -> dict[str, NDArray[np.float64]] | None:
    """Return how like the published row each resample's is: ranks, values, signs; None if there is none to compare."""
    printed = published_of(workload)
    totals = _totals(last, variant, workload)
    if printed is None or not {_BASE, *OTHERS} <= set(totals.columns) or totals.empty:
        return None
    ours = totals[list(OTHERS)].div(totals[_BASE], axis=0).sub(1.0).to_numpy() * 100.0
    said = np.array(printed, dtype=np.float64)
    return {
        "rank correlation": np.array([spearmanr(row, said).statistic for row in ours]),
        "correlation": np.array([np.corrcoef(row, said)[0, 1] for row in ours]),
        "equal signs": (np.sign(np.round(ours)) * np.sign(said) >= 0).mean(axis=1),
    }


def agreement(last: Results) -> pd.DataFrame:
    """Return how well our table 2 agrees with the published one, log by log."""
    rows = []
    for variant, workload in settings_of(last):
        likeness = _likeness(last, variant, workload)
        for measure, values in (likeness or {}).items():
            effect = bootstrap(values, statistic="median", seed=last.seed)  # it keeps within -1 and 1
            about = {"variant": variant, "log": name_of(workload), "measure": measure}
            rows.append({**about, "median": effect.estimate, "low": effect.low, "high": effect.high})
    return pd.DataFrame(rows)


def claims_of(last: Results, variant: str, workload: str) -> Iterator[Claim]:
    """Hand out the claims about one log."""
    where = f"on {name_of(workload)} ({variant})"
    decide = "--scale paper"
    likeness = _likeness(last, variant, workload)
    for measure, least in (("equal signs", 0.9), ("rank correlation", 0.8)):
        if published_of(workload) is not None:
            yield Claim(
                text=f"The eleven orders stand against FCFS as printed: {measure}, {where}",
                source="table 2",
                measure=f"{measure} of ours and the printed row, median over the resamples",
                effect=None if likeness is None else bootstrap(likeness[measure], statistic="median", seed=last.seed),
                at_least=least,
                to_decide=decide,
            )
    totals = _totals(last, variant, workload)
    fixed = [name for name in TWELVE_ORDERS if name in totals]
    spread = best = None
    if len(fixed) > 1 and not totals.empty:
        best = str(totals[fixed].mean().idxmin())
    if best is not None and _BASE in fixed and totals[_BASE].min() > 0.0:
        part = totals[fixed].div(totals[_BASE], axis=0)
        spread = bootstrap((part.max(axis=1) - part.min(axis=1)).to_numpy(), seed=last.seed)
    yield Claim(
        text=f"Orders differ by tens of per cent {where}",
        source="section on fixed policies",
        measure="waits under the worst order less those under the best, as a part of those under FCFS",
        effect=spread,
        at_least=0.2,
        unit="%",
        to_decide=decide,
    )
    for period in PERIODS:
        a_period = f", an order a {period}, {where}"
        pairs: list[tuple[str, str, str | None, dict[str, float], str]] = [
            ("Full feedback comes within a few per cent of the best fixed order", f"full {period}", best,
             {"at_most": 0.05}, f"waits against those under {best}"),
            (f"Noise of {100 * noise_of(last, variant):g} % costs full feedback little",
             f"noisy {period}", f"full {period}",
             {"at_most": 0.05}, "waits against those with exact feedback"),
            ("The bandit improves on FCFS without a simulator", f"bandit {period}", _BASE,
             {"less_than": 0.0}, "waits against those under FCFS"),
            ("The bandit improves less than full feedback", f"bandit {period}", f"full {period}",
             {"more_than": 0.0}, "waits against those with full feedback"),
            ("Random selection is worse than the bandit", f"random {period}", f"bandit {period}",
             {"more_than": 0.0}, "waits against those of the bandit"),
        ]  # fmt: skip
        for text, strategy, against, bounds, measure in pairs:
            yield Claim(
                text=text + a_period,
                source="section on online selection",
                measure=measure,
                effect=None if against is None else _relative(last, variant, workload, strategy, against),
                unit="%",
                to_decide=decide,
                **bounds,  # type: ignore[arg-type]  # names of bounds
            )


def claim_that_they_differ(last: Results) -> Claim:
    """Return the claim that the best order differs between logs."""
    found: set[str] = set()
    logs = 0
    for variant, workload in settings_of(last):
        totals = _totals(last, variant, workload)
        fixed = [name for name in TWELVE_ORDERS if name in totals]
        if variant == last.factors["variant"][0] and fixed and not totals.empty:
            logs += 1
            found.add(str(totals[fixed].mean().idxmin()))
    return Claim(
        text="Which order is best differs between logs",
        source="section on fixed policies",
        measure="how many orders are the best of a log, by mean total wait",
        effect=Effect.exact(len(found), replications=logs) if logs > 1 else None,
        at_least=2,
        to_decide="several logs: --workload A.swf.gz,B.swf.gz",
        note=f"the best: {', '.join(sorted(found))}" if found else "",
    )
