"""The figures of the regression study: how scores converge, which job goes first, and what comes of it online."""

from collections.abc import Mapping, Sequence
from typing import Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.campaigns.results import Results
from experiments.drawing import INK, PALETTE, STYLE, as_label, label_plainly
from experiments.studies.naming import log_name
from experiments.studies.regression.paper import SETS, SYNTHETIC, set_of
from experiments.studies.regression.settings import (
    CONVERGENCE,
    FIT,
    GENERATED,
    MEASURE,
    MODES,
    ONLINE,
    SCORES,
    SEVEN,
    is_learned,
    label_of,
    printed_order,
)
from simmodels.policies.polynomial import FORMS, Polynomial
from simmodels.policies.priority import Priority

_WIDTH_IN: Final = 7.2
_AT_R_S: Final = 300.0  # as in the paper; no form mixes r with p or q, so that it changes no rank
_POINTS: Final = 120
_LONGEST_S: Final = 27_000.0
_WIDEST: Final = 256.0
# One pair, one core: measured once (process time, best of seven, 1,024,000 trials of a generated pair). If each run
# measured it, the times would differ, and no results could be compared byte by byte.
_TRIALS_PER_S: Final = 9.1e6
_CHOSEN: Final = 256_000
_WHAT: Final = {"actual": "actual runtimes", "estimates": "estimates", "backfilling": "estimates and EASY backfilling"}
_KEY: Final = "print.: coefficients as printed; swap, unif.: learned again, from swap-any and uniform scores"
_SHORT: Final = {"uniform": "unif.", "swap-any": "swap", "printed": "print."}


def figures(results: Results) -> dict[str, Figure]:
    """Return figures 1 to 5 of the paper."""
    found: dict[str, Figure] = {}
    if len(converging := results.where(part=CONVERGENCE)):
        found["figure 1: how scores converge"] = convergence(converging)
    found["figure 2: which job goes first, as printed"] = priorities(
        {training: {form: printed_order(form, training) for form in FORMS} for training in SETS}
    )
    fits = results.where(part=FIT)
    for scores, of_scores in fits.groupby("scores", sort=False):
        found[f"figure 2: which job goes first, {scores} scores"] = priorities(_fitted(of_scores))
    names = [str(name) for name in results.factors["workload"] if name is not None]
    for number, mode in enumerate(MODES, 3):
        table = results.where(part=ONLINE, mode=mode)
        shown = [name for name in names if (table["workload"] == name).any()]
        others = [name for name in shown if mode == "actual" and set_of(name) is None]
        if named := [name for name in shown if name not in others]:
            found[f"figure {number}: {_WHAT[mode]}"] = online(table, named, own=mode == "actual")
        if others:  # the paper learns from three workloads only
            found[f"as figure {number}, on other logs: {_WHAT[mode]}"] = online(table, others, own=True)
    return found


def convergence(table: pd.DataFrame) -> Figure:
    """Return how much scores of other random numbers differ, and how long one pair takes, against the trials."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 3.6))
        axes = figure.add_subplot()
        for number, scores in enumerate(SCORES):
            rows = table[table["scores"] == scores].sort_values("trials")
            if rows.empty:
                continue
            colour = PALETTE[(5, 1)[number]]
            axes.plot(
                rows["trials"], 100 * rows["normalised_std"], "o-", color=colour, markersize=4,
                label=f"{scores}: standard deviation",
            )  # fmt: skip
            axes.plot(
                rows["trials"], 100 * rows["normalised_se"], "--", color=colour, label=f"{scores}: standard error",
            )  # fmt: skip
        trials = np.sort(table["trials"].unique())
        label = "trials per pair"
        if trials[-1] >= _CHOSEN:
            axes.axvline(_CHOSEN, color=INK, linewidth=0.8, linestyle=":")
            label += f" (dotted: {_CHOSEN:,}, as in the paper)"
        axes.set_xscale("log", base=2)
        axes.set_xticks(trials, [f"{count:,}" for count in trials], minor=False)
        axes.set_yscale("log")
        axes.set_xlabel(label)
        axes.set_ylabel("standard deviation of a score (%)")
        axes.grid()
        right = axes.twinx()
        right.plot(trials, 1000.0 * trials / _TRIALS_PER_S, "s-", color=PALETTE[0], markersize=3,
                   label=f"time, at {_TRIALS_PER_S / 1e6:g} million trials/s")  # fmt: skip
        right.set_yscale("log")
        right.spines["right"].set_visible(True)
        right.set_ylabel("time of one pair on one core (ms)", color=PALETTE[0])
        for side in (axes, right):
            label_plainly(side)
        right.tick_params(axis="y", colors=PALETTE[0])
        handles = [*axes.get_legend_handles_labels()[0], *right.get_legend_handles_labels()[0]]
        axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        figure.tight_layout()
    return figure


def _fitted(table: pd.DataFrame) -> dict[str, dict[str, Priority]]:
    """Return the fits by training set and form."""
    found: dict[str, dict[str, Priority]] = {}
    for (train, form), fit in table.groupby(["train", "order"], sort=False):
        found.setdefault(log_name(str(train)), {})[str(form)] = Polynomial(fit["theta"].tolist(), fit["term"].tolist())
    return found


def priorities(orders: Mapping[str, Mapping[str, Priority]]) -> Figure:
    """Return which jobs each form lets go first, by runtime and cores: a row of panels per training set (figure 2)."""
    sets = list(orders)
    forms = [form for form in FORMS if any(form in of for of in orders.values())]
    p, q = np.meshgrid(np.linspace(1.0, _LONGEST_S, _POINTS), np.linspace(1.0, _WIDEST, _POINTS))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 0.9 + 1.65 * len(sets)), layout="constrained")
        panels = figure.subplots(len(sets), len(forms), squeeze=False, sharex=True, sharey=True)
        drawn = None
        for row, train in enumerate(sets):
            for column, form in enumerate(forms):
                axes, order = panels[row][column], orders[train].get(form)
                if order is None:
                    continue
                keys = np.array(
                    [order(estimate=x, cores=y, submit=_AT_R_S) for x, y in zip(p.flat, q.flat, strict=True)]
                )
                rank = np.argsort(np.argsort(keys, kind="stable"), kind="stable").reshape(p.shape) / keys.size
                drawn = axes.pcolormesh(p / 3600.0, q, rank, cmap="viridis", vmin=0.0, vmax=1.0, rasterized=True)
                axes.set_title(form if row == 0 else "")
                axes.set_xlabel("runtime (h)" if row == len(sets) - 1 else "")
            panels[row][0].set_ylabel(f"{as_label(train)}\ncores", fontsize=8)
        if drawn is not None:
            bar = figure.colorbar(drawn, ax=panels, aspect=15 * len(sets), pad=0.01)
            bar.set_label("place: 0 first, 1 last")
    return figure


def online(table: pd.DataFrame, workloads: Sequence[str], *, own: bool) -> Figure:
    """Return box plots of the AVGbsld of windows, by policy and queue depth: one panel per workload (figures 3 to 5).

    Parameters
    ----------
    table
        The rows of one mode.
    workloads
        Which to show, in this order.
    own
        Whether to show all four forms, learned from each workload itself (figure 3), or LIN of the generated set only.
    """
    depths = _depths(table)
    columns = 1 if own or len(workloads) == 1 else 2
    rows = -(-len(workloads) // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 1.5 + 2.0 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharex=own)
        for axes, workload in zip(panels.flat, workloads, strict=False):
            samples = _samples(table[table["workload"] == workload], workload, own=own)
            _boxes(axes, samples, depths)
            count = table.loc[table["workload"] == workload, "replication"].nunique()
            axes.set_title(f"{as_label(log_name(workload))}, {count} windows", fontsize=9.0)
            axes.set_ylabel("AVGbsld")
        for axes in panels.flat[len(workloads) :]:
            axes.set_axis_off()
        handles = [Patch(facecolor=PALETTE[n], alpha=0.85, label=label) for n, (label, _) in enumerate(depths)]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(depths))
        figure.supxlabel(_KEY, fontsize=8)
    return figure


def _samples(table: pd.DataFrame, workload: str, *, own: bool) -> dict[str, pd.DataFrame]:
    """Return the rows of each policy that a panel shows, in the order of all figures."""
    found = {}
    for order in [*SEVEN[:-1], *(FORMS if own else ("LIN",))]:
        rows = table[table["order"] == order]
        if not is_learned(order):
            found[order] = rows
            continue
        for scores in (None, *SCORES):
            of_scores = rows[rows["scores"].isna() if scores is None else rows["scores"] == scores]
            synthetic = workload == GENERATED or (scores is None and set_of(workload) in {None, SYNTHETIC})
            train = workload if own and not synthetic else GENERATED
            label = label_of(order, scores)
            for long, short in _SHORT.items():
                label = label.replace(f", {long}", f" {short}")
            found[label] = of_scores[of_scores["train"] == train]
    return {label: rows for label, rows in found.items() if len(rows)}


def _depths(table: pd.DataFrame) -> list[tuple[str, float | None]]:
    known = sorted(table["queue_depth"].dropna().unique())
    found: list[tuple[str, float | None]] = [(f"{depth:g} waiting jobs considered", float(depth)) for depth in known]
    return [*found, ("all waiting jobs considered", None)] if table["queue_depth"].isna().any() else found


def _boxes(axes: Axes, samples: dict[str, pd.DataFrame], depths: Sequence[tuple[str, float | None]]) -> None:
    """Draw a box for each policy and queue depth."""
    width = 0.8 / len(depths)
    for number, (_, depth) in enumerate(depths):
        of_depth = [
            rows.loc[rows["queue_depth"].isna() if depth is None else rows["queue_depth"] == depth, MEASURE].dropna()
            for rows in samples.values()
        ]
        drawn = axes.boxplot(
            of_depth,
            positions=[place - 0.4 + width * (number + 0.5) for place in range(len(samples))],
            widths=0.8 * width,
            patch_artist=True,
            medianprops={"color": INK, "linewidth": 1.4},
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": INK},
            manage_ticks=False,
        )
        for box in drawn["boxes"]:
            box.set_facecolor(PALETTE[number])
            box.set_alpha(0.85)
    axes.set_xticks(range(len(samples)), list(samples), rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_xlim(-0.6, len(samples) - 0.4)
    axes.set_yscale("log")
    label_plainly(axes)
    axes.grid(axis="y")
