"""The figures of the market study: value curves, value and starvation against load, SLR by size of job."""

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.campaigns.results import Results
from experiments.drawing import INK, OTHERS, PALE_INK, PALETTE, STYLE
from experiments.studies.market.results import by_decile, by_load, by_rule, grid
from experiments.studies.market.settings import FIGURE_7, HIGHEST_LOAD, TENTHS
from simmodels.work.curve import ValueCurve

_TEMPLATE: Final = ValueCurve([(3.0, 1.0), (3.8, 0.86), (4.7, 0.8), (5.4, 0.42), (6.6, 0.3), (7.3, 0.08), (8.0, 0.0)])
_NOW: Final = 4.2
_INKS: Final = (*PALETTE, "#B2182B", "#8073AC", INK)
_MARKERS: Final = "os^Dv<>pXP"
_DETAIL: Final = {
    "value": ("PVR", "P-SLR", "EDF", "SRTF", "PVDSQ", "PVD"), "starved": ("PVR", "P-SLR", "EDF", "SRTF", "PVDSQ"),
}  # fmt: skip
"""Which policies the details show: those that lead in value, and of these those that starve few jobs."""
_SIZES_LOADS: Final = {"slr": FIGURE_7, "starved": HIGHEST_LOAD}
_LABELS: Final = {
    "value": "value (share of the maximum)",
    "starved": "starved jobs (%)",
    "slr": "mean SLR (finished jobs)",
}
_UNITS: Final = {"value": 1.0, "starved": 100.0}
_ENDS: Final = {"drain": "run until all jobs are done", "submit": "cut at the last submission"}
_TENTH_NAMES: Final = [str(tenth) for tenth in TENTHS]
_WIDTH_IN: Final = 7.2


def draw_figures(results: Results) -> dict[str, Figure]:
    """Return the figures that the results allow, by name."""
    found = {"figure 1: a value curve": template(), "figure 2: what PVR bids": remaining()}
    number = 3
    for measure, what in (("value", "value"), ("starved", "starvation")):
        for detail in (False, True):
            title = f"figure {number}: {what} against load{', detail' if detail else ''}"
            number += 1
            drawn = against_load(results, measure, detail=detail)
            if drawn is not None:
                found[title] = drawn
    tenths = by_decile(results, "slr")
    if len(tenths):
        # at another load than its own it is no figure of the paper
        of_the_paper = FIGURE_7 in set(tenths["load"])
        name = "figure 7" if of_the_paper else "beyond the paper"
        found[f"{name}: SLR by execution time"] = by_execution_time(results)
        found["beyond the paper: SLR and starvation by volume"] = by_volume(results)
    if len(by_rule(results)):
        found["beyond the paper: other rules"] = rules(results)
    return found


def _curve(axes: Axes) -> None:
    """Draw the value curve of figures 1 and 2."""
    x, y = np.array(_TEMPLATE.points).T
    axes.plot([0.0, *x, 10.5], [1.0, *y, 0.0], color=INK, linewidth=1.6)
    axes.plot(x, y, "o", color=INK, markersize=4)
    axes.set_xlim(0.0, 10.5)
    axes.set_ylim(0.0, 1.12)
    axes.set_xlabel("SLR: time from submission to finish, in critical paths")
    axes.set_ylabel("value (share of $V_{max}$)")


def template() -> Figure:
    """Return a value curve and its parts (figure 1)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 3.4))
        axes = figure.add_subplot()
        _curve(axes)
        for slr, name in ((_TEMPLATE.initial, "$D_{initial}$"), (_TEMPLATE.final, "$D_{final}$")):
            axes.axvline(slr, color=PALE_INK, linewidth=0.8, linestyle="--")
            axes.annotate(name, (slr, 1.06), xytext=(4, 0), textcoords="offset points", color=PALE_INK)
        axes.axvline(1.0, color=PALE_INK, linewidth=0.8, linestyle=":")
        axes.annotate("no job is\nfaster", (1.0, 0.06), xytext=(4, 0), textcoords="offset points", color=PALE_INK)
        axes.annotate("starves: no value", (8.05, 0.06), color=PALE_INK, fontsize=7.5)
        figure.tight_layout()
    return figure


def remaining() -> Figure:
    """Return the area under a value curve from a projected SLR on: what PVR bids, the least first (figure 2)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 3.4))
        axes = figure.add_subplot()
        _curve(axes)
        slr = np.unique([_NOW, *(x for x, _ in _TEMPLATE.points if x > _NOW)])
        axes.fill_between(slr, [_TEMPLATE.factor(x) for x in slr], color=PALETTE[0], alpha=0.3, linewidth=0)
        axes.plot([_NOW, _NOW], [0.0, _TEMPLATE.factor(_NOW)], color=PALETTE[0], linewidth=1.4)
        axes.annotate(
            "P-SLR now", (_NOW, 0.04), xytext=(-4, 0), textcoords="offset points", ha="right", color=PALETTE[0]
        )
        axes.annotate(f"area {_TEMPLATE.area(_NOW):.2f}", (4.75, 0.22), color=PALETTE[0])
        figure.tight_layout()
    return figure


def _style(bids: Sequence[str], bid: str) -> dict[str, Any]:
    """Return the colour and the marker of a bid: the same in all figures of a study."""
    place = bids.index(bid)
    ink, marker = _INKS[place % len(_INKS)], _MARKERS[place % len(_MARKERS)]
    return {"color": ink, "marker": marker, "markersize": 4, "linewidth": 1.3}


def _legend(figure: Figure, title: str = "") -> None:
    """Put one legend under all panels, in the order of the study."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    columns = len(labels) if len(labels) < 7 else 5
    rows = -(-len(labels) // columns)
    figure.tight_layout(rect=(0.0, 0.02 + 0.06 * (rows + bool(title)), 1.0, 1.0))
    # Columns are filled one after the other: placed so that names are read row by row.
    places = [row * columns + column for column in range(columns) for row in range(rows)]
    order = [place for place in places if place < len(labels)]
    figure.legend(
        [handles[k] for k in order], [labels[k] for k in order], loc="lower center", ncols=columns,
        title=title, title_fontsize=8.5,
    )  # fmt: skip


def against_load(results: Results, measure: str, *, detail: bool) -> Figure | None:
    """Return value or starvation against load, the means over the workloads, a panel per end (figures 3 to 6).

    The detail has the bids that lead, each workload as a dot.
    """
    table = by_load(results, measure)
    if table.empty:
        return None
    bids = [str(name) for name in table.columns if name not in {"end", "load"}]
    shown = [bid for bid in bids if not detail or bid in _DETAIL[measure]]
    if not shown:
        return None
    ends = list(dict.fromkeys(table["end"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 3.9))
        panels = figure.subplots(1, len(ends), sharey=True, squeeze=False)[0]
        for axes, end in zip(panels, ends, strict=True):
            means = table[table["end"] == end].set_index("load")[shown] * _UNITS[measure]
            each = grid(results, measure, end) * _UNITS[measure]
            for bid in shown:
                style = _style(bids, bid)
                axes.plot(100.0 * means.index.to_numpy(dtype=np.float64), means[bid], label=bid, **style)
                if detail:
                    of_bid = each.xs(bid, axis=1, level="bid")
                    axes.plot(
                        100.0 * of_bid.columns.to_numpy(dtype=np.float64),
                        of_bid.T,
                        ".",
                        color=style["color"],
                        markersize=3,
                        alpha=0.4,
                    )
            axes.set_xlabel("load (% of all cores)")
            axes.set_title(_ENDS[end], fontsize=9.0)
            axes.grid()
        panels[0].set_ylabel(_LABELS[measure])
        if not detail:
            panels[0].set_ylim(-0.02 * _UNITS[measure], 1.02 * _UNITS[measure])
        elif measure == "starved":
            panels[0].set_ylim(bottom=-0.4)
        _legend(figure)
    return figure


def _tenths(axes: Axes, table: pd.DataFrame, measure: str, starved: pd.DataFrame, size: str) -> None:
    """Draw a measure by tenths of the jobs, at the load of its figure or the highest below.

    Pale is the mean SLR of a tenth of which more than half starve: it is that of the few that finish at once.
    """
    loads = sorted(table["load"].unique())
    load = max((each for each in loads if each <= _SIZES_LOADS[measure]), default=loads[0])
    rows, lost = (each[each["load"] == load].set_index("bid")[_TENTH_NAMES] for each in (table, starved))
    bids = list(dict.fromkeys(table["bid"]))
    for bid in rows.index:
        values = rows.loc[bid].astype(float) * _UNITS.get(measure, 1.0)
        style = _style(bids, bid)
        if measure == "slr":
            axes.plot(TENTHS, values, **style, alpha=0.25)
            values = values.where(lost.loc[bid].astype(float) <= 0.5)
        axes.plot(TENTHS, values, label=bid, **style)
    if measure == "slr":
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if value in {1.5, 2, 3, 4, 6} else "")
    axes.set_xticks(TENTHS)
    axes.set_xlabel(f"tenth of the jobs by {size}, 10: largest")
    axes.set_ylabel(_LABELS[measure])
    axes.set_title(f"load {100.0 * load:g} %", fontsize=9.0)
    axes.grid()


def by_execution_time(results: Results) -> Figure:
    """Return the mean SLR by tenths of execution time (critical path), a panel per end (figure 7)."""
    ends = list(dict.fromkeys(by_load(results, "value")["end"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 4.1))
        panels = figure.subplots(1, len(ends), sharey=True, squeeze=False)[0]
        for axes, end in zip(panels, ends, strict=True):
            table, starved = (by_decile(results, measure, end) for measure in ("slr", "starved"))
            _tenths(axes, table, "slr", starved, "execution time")
            axes.set_title(f"{axes.get_title(loc='left')}, {_ENDS[end]}", fontsize=9.0)
        for axes in panels[1:]:
            axes.set_ylabel("")
        _legend(figure, "pale: more than half of these jobs starve")
    return figure


def by_volume(results: Results) -> Figure:
    """Return SLR and starvation by tenths of volume, which the paper has only in words."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 4.1))
        for axes, measure in zip(figure.subplots(1, 2), ("slr", "starved"), strict=True):
            table, starved = (by_decile(results, f"volume_{what}") for what in (measure, "starved"))
            _tenths(axes, table, measure, starved, "volume")
        _legend(figure, "pale: more than half of these jobs starve")
    return figure


def rules(results: Results) -> Figure:
    """Return what other rules change of the value, by load: a group of bars a bid, with intervals."""
    table = by_rule(results)
    loads, names, bids = (list(dict.fromkeys(table[column])) for column in ("load", "rule", "bid"))
    width = 0.8 / len(names)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 0.5 + 2.3 * len(loads)))
        for row, load in enumerate(loads):
            axes = figure.add_subplot(len(loads), 1, row + 1)
            for number, name in enumerate(names):
                rows = table[(table["rule"] == name) & (table["load"] == load)].set_index("bid")
                found = [bid for bid in bids if bid in rows.index]
                places = [bids.index(bid) - 0.4 + width * (number + 0.5) for bid in found]
                change = rows.loc[found, "value: change"].astype(float)
                ends = rows.loc[found, ["value: low", "value: high"]].astype(float)
                axes.bar(places, change, 0.9 * width, color=_INKS[number % len(_INKS)], label=name)
                if ends.notna().all(axis=None):
                    axes.vlines(places, ends["value: low"], ends["value: high"], color=INK, linewidth=0.8)
            axes.axhline(0.0, color=INK, linewidth=0.8)
            for place in range(1, len(bids)):
                axes.axvline(place - 0.5, color=OTHERS, linewidth=0.4)
            axes.set_xticks(range(len(bids)), bids)
            axes.set_xlim(-0.5, len(bids) - 0.5)
            axes.set_ylabel("change of value (share)")
            axes.set_title(f"load {100.0 * load:g} %")
            axes.grid(axis="y")
        figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - 0.28 / figure.get_figheight()))
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=len(names))
    return figure
