"""The figures of the regression study: how scores converge, which job goes first, and what comes of it online."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from experiments.campaigns import Results
from experiments.campaigns.charts import Axis, Boxes, Chart, Heat, Lines, Panel, draw_all
from experiments.drawing import PALETTE, Figure, label_plainly
from experiments.studies.naming import log_name
from experiments.studies.regression import settings
from experiments.studies.regression.paper import SETS, SYNTHETIC, set_of
from simmodels import HOUR, Polynomial
from simmodels.policies.polynomial import FORMS
from simmodels.policies.priority import Priority

_AT_R_S: Final = 300.0  # as in the paper; no form mixes r with p or q, so that it changes no rank
_POINTS: Final = 120
_LONGEST_S: Final = 27_000.0
_WIDEST: Final = 256.0
# One pair, one core: measured once (process time, best of seven, 1,024,000 trials of a generated pair). If each run
# measured it, the times would differ, and no results could be compared byte by byte.
_TRIALS_PER_S: Final = 9.1e6
_CHOSEN: Final = 256_000
_WHAT: Final = {"actual": "actual runtimes", "estimates": "estimates", "backfilling": "estimates and EASY backfilling"}
_SHORT: Final = {settings.PRINTED: "print.", "swap-any": "swap", "uniform": "unif."}
_COLOURS: Final = {scores: {"color": PALETTE[number]} for scores, number in zip(settings.SCORES, (5, 1), strict=True)}


class _WithTime(Lines):
    """Lines, and on an axis of its own how long one pair takes."""

    def draw(self, panel: Panel) -> None:
        """Draw the lines, and the time at each number of trials."""
        super().draw(panel)
        trials = np.sort(panel.table[panel.x].unique())
        right = panel.axes.twinx()
        right.plot(trials, 1000.0 * trials / _TRIALS_PER_S, "s-", color=PALETTE[0], markersize=3,
                   label=f"time, at {_TRIALS_PER_S / 1e6:g} million trials/s")  # fmt: skip
        right.set_yscale("log")
        right.spines["right"].set_visible(True)
        right.set_ylabel("time of one pair on one core (ms)", color=PALETTE[0])
        right.tick_params(axis="y", colors=PALETTE[0])
        label_plainly(right)


_CONVERGENCE: Final = Chart(
    mark=_WithTime(),
    x=Axis("trials"),
    y=(Axis("share", "standard deviation of a score (%)", log=10),),
    by="line",
    panel_in=(7.2, 3.3),
    styles={
        f"{scores}: standard {line}": {**colour, **look}
        for scores, colour in _COLOURS.items()
        for line, look in (("deviation", {"marker": "o"}), ("error", {"linestyle": "--"}))
    },
)
PRIORITIES: Final = Chart(
    mark=Heat(value="place", label="place: 0 first, 1 last", colours="viridis"),
    x=Axis("runtime", "runtime (h)"),
    y=(Axis("cores", "cores"),),
    panels="form",
    rows="train",
    panel_in=(1.8, 1.9),
    share="both",
)
_ONLINE: Final = Chart(
    mark=Boxes(),
    x=Axis("policy"),
    y=(Axis(settings.MEASURE, "AVGbsld", log=10),),
    by="queue_depth",
    panels="workload",
    panel_in=(3.6, 2.5),
    note="print.: coefficients as printed; swap, unif.: learned again, from swap-any and uniform scores",
)
_OWN: Final = replace(_ONLINE, across=1, panel_in=(7.2, 2.4), share="x")


def figures(results: Results) -> dict[str, Figure]:
    """Return figures 1 to 5 of the paper."""
    rows = []
    if len(converging := results.where(part=settings.CONVERGENCE)):
        rows.append(("figure 1: how scores converge", *_converging(converging)))
    printed = {training: {form: settings.printed_order(form, training) for form in FORMS} for training in SETS}
    rows.append(("figure 2: which job goes first, as printed", PRIORITIES, priorities(printed)))
    for scores, fits in results.where(part=settings.FIT).groupby("scores", sort=False):
        rows.append((f"figure 2: which job goes first, {scores} scores", PRIORITIES, priorities(_fitted(fits))))
    names = results.texts("workload")
    for number, mode in enumerate(settings.MODES, 3):
        table = results.where(part=settings.ONLINE, mode=mode)
        actual = mode == "actual"
        others = [name for name in names if actual and set_of(name) is None]  # the paper learns from three workloads
        named = [name for name in names if name not in others]
        rows += [
            (f"figure {number}: {_WHAT[mode]}", *_online(table, named, own=actual)),
            (f"as figure {number}, on other logs: {_WHAT[mode]}", *_online(table, others, own=True)),
        ]
    return draw_all(rows)


def _converging(table: pd.DataFrame) -> tuple[Chart, pd.DataFrame]:
    """Return a chart of how much scores of other random numbers differ, by trials, and its table (figure 1)."""
    trials = sorted(table["trials"].unique())
    label = f"trials per pair (dotted: {_CHOSEN:,}, as in the paper)" if trials[-1] >= _CHOSEN else "trials per pair"
    chart = replace(_CONVERGENCE, x=Axis("trials", label, log=2, ticks=trials, at=_CHOSEN))
    of = table["scores"] + ": standard "
    parts = (table.assign(line=of + line, share=100.0 * table[f"normalised_{name}"])
             for line, name in (("deviation", "std"), ("error", "se")))  # fmt: skip
    return chart, pd.concat(parts).sort_values("trials", kind="stable")


def _fitted(table: pd.DataFrame) -> dict[str, dict[str, Priority]]:
    """Return the fits by training set and form."""
    found: dict[str, dict[str, Priority]] = {}
    for (train, form), fit in table.groupby(["train", "order"], sort=False):
        found.setdefault(log_name(str(train)), {})[str(form)] = Polynomial(fit["theta"].tolist(), fit["term"].tolist())
    return found


def priorities(orders: Mapping[str, Mapping[str, Priority]]) -> pd.DataFrame:
    """Return in which place each form lets a job go, by runtime and cores, and by training set (figure 2)."""
    ends = (_LONGEST_S, _WIDEST)
    p, q = (axis.ravel() for axis in np.meshgrid(*(np.linspace(1.0, end, _POINTS) for end in ends)))
    parts = []
    for train, of in orders.items():
        for form in FORMS:
            if form in of:
                keys = np.array([of[form](estimate=x, cores=y, submit=_AT_R_S) for x, y in zip(p, q, strict=True)])
                place = np.argsort(np.argsort(keys, kind="stable"), kind="stable") / keys.size
                shown = {"runtime": p / HOUR, "cores": q, "place": place, "form": form, "train": train}
                parts.append(pd.DataFrame(shown))
    return pd.concat([pd.DataFrame(), *parts])


def _online(table: pd.DataFrame, workloads: Sequence[str], *, own: bool) -> tuple[Chart, pd.DataFrame]:
    """Return a chart of the AVGbsld of windows by policy and queue depth, and its table (figures 3 to 5).

    It shows all four forms, learned from each workload itself (figure 3), or LIN of the generated set only.
    """

    def policy(order: str, scores: str, workload: str, train: str) -> str:
        if not settings.is_learned(order):
            return order
        # what is printed for a workload that the paper does not learn from is that of the generated set
        generated = not own or (scores == settings.PRINTED and set_of(workload) in {None, SYNTHETIC})
        return f"{order} {_SHORT[scores]}" if train == (settings.GENERATED if generated else workload) else ""

    shown = table[table["workload"].isin(workloads)].fillna({"scores": settings.PRINTED, "queue_depth": np.inf})
    keys = shown[["order", "scores", "workload", "train"]].itertuples(index=False, name=None)
    shown = shown.assign(policy=[policy(*key) for key in keys])
    learned = [f"{order} {scores}" for order in (FORMS if own else ("LIN",)) for scores in _SHORT.values()]
    counts = shown.groupby("workload")["replication"].nunique()
    depths = {depth: f"{depth:g} waiting jobs considered" for depth in sorted(shown["queue_depth"].unique())}
    names = {
        "policy": {name: name for name in (*settings.SEVEN[:-1], *learned)},
        "workload": {name: f"{log_name(name)}, {counts[name]} windows" for name in workloads if name in counts},
        "queue_depth": depths | {np.inf: "all waiting jobs considered"},
    }
    return replace(_OWN if own else _ONLINE, names=names), shown
