"""The report of advice: its tables, and its sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.calibration import Calibration, doubt_of_limits, percent, sentences_of
from experiments.campaigns import Results
from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.statistics import having
from experiments.dates import date_of
from experiments.efficiency import efficiency
from experiments.inputs import not_modelled, notes_of
from experiments.studies.advice.answer import Advised, Doubt, Worse
from experiments.studies.advice.settings import AUTO, FIXED, LOG, RESAMPLE
from experiments.studies.advice.verdict import GAIN, Option, Verdict, front
from simmodels import HOUR, TWELVE_ORDERS, WEEK, Workload
from simmodels.ground.durations import as_hours
from simmodels.results.logged import AS_LOGGED

_NEAR: Final = 0.05
"""An order is good if its waits are at most this much longer than those of the best."""
_SETTLED: Final = 0.8
"""A tuner has found it when from then on it uses good orders in this share of the weeks ..."""
_LEAST_LEFT: Final = 0.25
"""... and this share of the weeks is left then: at the end, luck would do."""
_OVERLOAD: Final = 1.1
"""This many times the work that the machine could do while it came is a mistake in the number of cores, or hopeless."""
_WAITS: Final = {
    "mean wait (h)": "mean_wait_s",
    "median wait (h)": "median_wait_s",
    "95 % wait (h)": "p95_wait_s",
    "longest wait (h)": "max_wait_s",
}
_HOURS: Final = {"mean": "mean_h", "95 %": "p95_h", "99 %": "p99_h", "longest": "longest_h"}
"""The waits of an option, by what tables call them."""
_MANY: Final = 0.05
"""A larger share of jobs that are left out is worth a warning."""


# -- tables -----------------------------------------------------------------------------------------


def options_of(results: Results) -> tuple[list[Option], Option | None]:
    """Return all that a machine can have and that was run on the log, and which of it there is now.

    With ``--current auto`` there is now what gives waits nearest to those of the log.
    """
    if "mean_wait_s" in results.table:  # without the weeks of tuners
        results = replace(results, table=results.table.dropna(subset=["mean_wait_s"]))
    base_h = results.factors["threshold_h"][-1]
    options = []
    for policy in (str(name) for name in results.factors["policy"] if name in FIXED):
        for threshold_h in results.factors["threshold_h"] if policy in TWELVE_ORDERS else (base_h,):
            on_log = results.where(trace=LOG, policy=policy, threshold_h=threshold_h)
            if not on_log.empty:
                options.append(_option(on_log.iloc[0], policy, threshold_h))
    current = str(results.parameters["current"])
    if current == AUTO:
        now = min(options, key=lambda option: (option.apart, option.threshold_h is not None), default=None)
    else:
        with_h = base_h if current in TWELVE_ORDERS else None
        mine = (option for option in options if option.policy == current and option.threshold_h == with_h)
        now = next(mine, None)
    if now is None:
        return options, None

    def on_resamples_s(option: Option) -> pd.Series:
        # What has no threshold is run beside the last.
        with_h = option.threshold_h if option.policy in TWELVE_ORDERS else base_h
        found = results.where(trace=RESAMPLE, policy=option.policy, threshold_h=with_h)
        return found.set_index(REPLICATION)["mean_wait_s"]

    before_s = on_resamples_s(now)
    compared = {option: replace(option, changes=_changes(before_s, on_resamples_s(option))) for option in options}
    return list(compared.values()), compared[now]


def _option(measured: pd.Series, policy: str, threshold_h: float | None) -> Option:
    """Return how a policy did on the log."""
    return Option(
        policy=policy,
        threshold_h=None if threshold_h is None or policy not in TWELVE_ORDERS else float(threshold_h),
        mean_h=float(measured["mean_wait_s"]) / HOUR,
        p95_h=float(measured["p95_wait_s"]) / HOUR,
        p99_h=float(measured["p99_wait_s"]) / HOUR,
        longest_h=float(measured["max_wait_s"]) / HOUR,
        slowdown=float(measured["mean_bounded_slowdown"]),
        changes=np.zeros(0),
        apart=float(measured.get("apart", np.nan)),
    )


def _changes(before_s: pd.Series, after_s: pd.Series) -> NDArray[np.float64]:
    """Return how much longer mean waits are, as a part of them: of each resample on which anybody waits."""
    before_s, after_s = before_s.align(after_s, join="inner")
    waited = before_s > 0.0
    found: NDArray[np.float64] = (after_s[waited] / before_s[waited] - 1.0).to_numpy(dtype=np.float64)
    return found


def answer_tables(found: Advised) -> dict[str, pd.DataFrame]:
    """Return the log as it was beside its replay, the answer in full, the front, and all that was run."""
    now, calibration = found.verdict.now, found.calibration
    tables = {}
    if calibration is not None:
        both = {AS_LOGGED: calibration.logged, f"replayed, {now}": calibration.replayed}
        rows = [{"": name, **{heading: of[key] / HOUR for heading, key in _WAITS.items()}} for name, of in both.items()]
        tables["as logged, and replayed"] = pd.DataFrame(rows)
    return tables | {
        "this answer in full": _in_full(found),
        "the front (mean wait, 99 % wait, longest wait)": front_table(found.choices(), now),
        "all that was tried": _options_table(found.options, now),
        "who asks for how much more than is used": efficiency(found.log),
    }


def _row(option: Option, now: Option, waits: Mapping[str, str]) -> dict[str, Any]:
    """Return the first columns of a table of options: which, some of its waits, and whether jobs starve."""
    hours = {f"{name} wait (h)": getattr(option, attribute) for name, attribute in waits.items()}
    starves = "some jobs" if option.starves(now) else ""
    return {"policy": f"{option}{' (now)' if option is now else ''}", **hours, "starves": starves}


def front_table(options: Sequence[Option], now: Option) -> pd.DataFrame:
    """Return one row for each of the front, and one for what there is now."""
    chosen = front(options)
    waits = {name: attribute for name, attribute in _HOURS.items() if name != "95 %"}
    return pd.DataFrame([_row(option, now, waits) for option in (*chosen, *([] if now in chosen else [now]))])


def _options_table(options: Sequence[Option], now: Option) -> pd.DataFrame:
    """Return one row per option: on the log, and against what there is now on resamples."""
    rows: list[dict[str, Any]] = []
    # Of equal waits, what there is now comes first: nothing else is better.
    for option in sorted(options, key=lambda option: (option.mean_h, option is not now)):
        changes = option.changes
        low, middle, high = 100.0 * np.percentile(changes, (10, 50, 90)) if len(changes) else (None,) * 3
        rows.append(
            {
                **_row(option, now, _HOURS),
                "mean bounded slowdown": option.slowdown,
                "change of the mean wait on resamples (%), median": middle,
                "10 % of them below": low,
                "90 % below": high,
                "shorter in": f"{int((changes < 0.0).sum())} of {len(changes)}",
                **({} if np.isnan(option.apart) else {"waits differ from the log's (factor)": 10.0**option.apart}),
            }
        )
    return pd.DataFrame(rows)


def tuners_of(results: Results) -> pd.DataFrame:
    """Return one row per tuner: its waits against each resample's best fixed order, and when it found a good one."""
    table = results.where(trace=RESAMPLE)
    if "used" not in table:
        return pd.DataFrame()
    first = results.factors["threshold_h"][0]
    rows = []
    whole = table.dropna(subset=["mean_wait_s"])
    fixed = whole[whole["policy"].isin(TWELVE_ORDERS) & having(whole, {"threshold_h": first})]
    waits = fixed.pivot_table(index="replication", columns="policy", values="mean_wait_s")
    waits = waits[waits.min(axis=1) > 0.0]
    good = waits.le((1.0 + _NEAR) * waits.min(axis=1), axis=0)
    for name in (name for name in results.factors["policy"] if "tuner" in str(name)):
        settled, regrets, used_well = [], [], []
        own = table[(table["policy"] == name) & table["replication"].isin(waits.index)]
        for replication, of in own.groupby("replication"):
            weeks = of.dropna(subset=["used"]).sort_values("week")
            hits = weeks["used"].isin(good.columns[good.loc[[replication]].to_numpy()[0]]).to_numpy()
            settled.append(_settled(hits))
            used_well.append(hits.mean())
            regrets.append(
                float(of["mean_wait_s"].dropna().iloc[0]) / float(waits.loc[[replication]].to_numpy().min()) - 1.0
            )
        if regrets:
            found = np.array(settled, dtype=np.float64)
            rows.append(
                {
                    "tuner": name,
                    "threshold (h)": first,
                    "waits against the best order with it (%, median)": 100 * float(np.median(regrets)),
                    "weeks with a good order (%)": 100 * float(np.mean(used_well)),
                    "settled on good orders in (% of resamples)": 100 * float(np.mean(~np.isnan(found))),
                    "in week (median of these)": float(np.nanmedian(found)) if not np.isnan(found).all() else None,
                }
            )
    return pd.DataFrame(rows)


def _settled(hits: NDArray[np.bool_]) -> float:
    """Return the first week (from 1) that has a good order, and from which on most do; NaN if there is none."""
    left = np.arange(len(hits), 0, -1)
    part = np.cumsum(hits[::-1])[::-1] / left
    found = np.flatnonzero(hits & (part >= _SETTLED) & (left >= _LEAST_LEFT * len(hits)))
    return float(found[0] + 1) if len(found) else np.nan


# -- in full ----------------------------------------------------------------------------------------


def _in_full(found: Advised) -> pd.DataFrame:
    """Return all that is to be said of an answer: who waits longer, what it is worth, what was run and left out."""
    now, log = found.verdict.now, found.log
    rows = list(_of_the_change(found.verdict, found.worse))
    if found.fitted:
        rows.append(("the current policy", _fitted(found.options, now)))
    if found.calibration is not None:
        rows += [("the replay", sentence) for sentence in sentences_of(found.calibration, log, str(now))]
    if found.limits.fitted is not None:
        rows += [("the limits", sentence) for sentence in found.limits.fitted.sentences()]
    if found.effect is not None:
        rows += [("the limits", f"{clause[0].upper()}{clause[1:]}.") for clause in found.effect.clauses(found.limits)]
    rows += [("to check", doubt.full) for doubt in found.doubts]
    rows.append(("the log", _about_the_log(log)))
    if said := notes_of(log.counts):
        rows.append(("the file", f"{'; '.join(said)}."))
    cannot = "Users would submit other jobs if they waited otherwise. Priorities, partitions and reservations of your "
    rows.append(("what this cannot know", f"{cannot}machine were not modelled."))
    return pd.DataFrame(rows, columns=["about", "in full"])


def _of_the_change(verdict: Verdict, worse: Worse | None) -> Iterator[tuple[str, str]]:
    """Say what a change costs, what a batch system can have of it, and what the mean alone would favour."""
    now, then, beyond, shortest = verdict.now, verdict.advised, verdict.remark, verdict.shortest
    if then is not None and worse is not None:
        late = (then.p99_h, now.p99_h), (then.longest_h, now.longest_h)
        p99, longest = (f"{as_hours(one)} (now {as_hours(other)})" for one, other in late)
        groups = "Of jobs by size and by limit, those whose mean wait grows most; and of users with ten jobs or more"
        yield "who waits longer", f"{groups}: {worse}. The longest wait is {longest}, the 99th percentile {p99}."
    if then is not None:
        yield "what to enter", f"{then}, with {_waits(then)}."
    if beyond is not None:
        yield "what Slurm and PBS cannot do", f"{beyond}, with {_waits(beyond)}."
    if shortest is not then and shortest.mean_h < (1 - GAIN) * (then or now).mean_h:
        starves = ": that is starvation" if shortest.starves(now) else ""
        longest = f"{as_hours(shortest.longest_h)} (now {as_hours(now.longest_h)}){starves}"
        waits = f"a mean wait of {as_hours(shortest.mean_h)}, and a longest one of {longest}"
        yield "if only the mean counted", f"{shortest}: {waits}."


def _waits(option: Option) -> str:
    """Say how long jobs wait."""
    return f"a mean wait of {as_hours(option.mean_h)} and a longest one of {as_hours(option.longest_h)}"


def _fitted(options: Sequence[Option], now: Option) -> str:
    """Say how near to the log's waits those of what was taken for the current policy are."""
    alike = sum(option.apart == now.apart for option in options) - 1
    others = [option.apart for option in options if option.apart > now.apart]
    return (
        f"Of the {len(options)} policies that were tried, {now} gives waits nearest to the log's"
        + (f" (so do {alike} others): " if alike else ": ")
        + f"on average, a job's two waits differ by a factor of {10**now.apart:.3g}"
        + (f", and under the next one by {10 ** min(others):.3g}." if others else ".")
    )


def _about_the_log(log: Workload) -> str:
    """Say what was run."""
    weeks = np.ptp(log.submit_s) / WEEK
    length = f"{weeks:.0f} weeks" if weeks >= 2 else f"{7 * weeks:.1f} days"
    first, last = (date_of(log, float(time_s)) for time_s in (log.submit_s.min(), log.submit_s.max()))
    if first is not None and last is not None:
        length += f" ({first:%Y-%m-%d} to {last:%Y-%m-%d})"
    none = log.unlimited().all()
    limits = "with runtimes for limits: the log has none" if none else "with the limits that users gave"
    return (
        f"{log.name}: {len(log):,} jobs in {length} on {log.max_cores:,} cores. The orders were run as orders of EASY "
        f"backfilling, {limits}."
    )


def doubts_of(log: Workload, calibration: Calibration | None) -> Iterator[Doubt]:
    """Say why a log may not be believed, the gravest reason first."""
    if calibration is not None and (doubt := calibration.doubt_of_size):
        share = percent(calibration.over_full_share)
        more = f"in use up to {calibration.peak_cores:,}, for {share} of the time more than {calibration.cores:,}"
        yield Doubt(f"--cores: {more}", doubt)
    work_s = float((log.runtime_s * log.cores)[log.known()].sum()) / (log.max_cores or 1)
    if work_s > _OVERLOAD * np.ptp(log.submit_s):
        yield Doubt(
            "--cores, as the jobs are more work than the machine can do",
            "The jobs are more work than the machine can do in the time in which they came: waits only grow. Is the "
            "number of cores right?",
        )
    gone = sum(count for key, count in log.counts.items() if key.startswith(("dropped", "left out", "bad lines")))
    if gone > _MANY * (gone + len(log)):
        yield Doubt(
            f"{percent(gone / (gone + len(log)))} of the jobs were left out",
            f"{gone:,} of {gone + len(log):,} jobs were left out, which is much: the advice is about the rest only.",
        )
    if doubt := doubt_of_limits(log):
        yield Doubt("", doubt)
    asked = {what: f"{what} ({percent(share)} of the jobs ask for some)" for what, share in not_modelled(log)}
    if asked:
        yield Doubt(f"{' and '.join(asked)} not modelled", f"Not modelled: {' and '.join(asked.values())}.")


def doubts_of_runs(results: Results, now: Option) -> Iterator[Doubt]:
    """Say why what was run may be too little."""
    if results.done < results.cells:
        few = f"only {results.done:,} of {results.cells:,} simulations are done"
        yield Doubt(few, f"{few.capitalize()}: another verdict may come of all.")
    elif not len(now.changes):
        why = "the log has fewer than two whole weeks, or nobody waits in any resample of it"
        yield Doubt("no resample says how far this is luck", f"Nothing says how far this is luck: {why}.")
    elif not results.judged:
        first = f"a first impression of {len(now.changes)} short resamples"
        yield Doubt(f"{first} (--scale small has more)", f"This is {first}: --scale small has ten as long as the log.")
