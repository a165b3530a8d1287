"""The figures of the market study: value curves, value and starvation against load, SLR by size of job."""

from collections.abc import Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.campaigns.results import Results
from experiments.drawing import INK, OTHERS, PALE_INK, PALETTE, STYLE
from experiments.studies.market_results import TENTHS, by_decile, by_load, by_rule, grid
from simmodels.curve import ValueCurve

_TEMPLATE: Final = ValueCurve([(3.0, 1.0), (3.8, 0.86), (4.7, 0.8), (5.4, 0.42), (6.6, 0.3), (7.3, 0.08), (8.0, 0.0)])
_NOW: Final = 4.2
_INKS: Final = (*PALETTE, "#B2182B", "#8073AC", INK)
_MARKERS: Final = "os^Dv<>pXP"
_DETAIL: Final = ("PVR", "P-SLR", "EDF", "SRTF", "PVDSQ")
_FIGURE_7_LOAD: Final = 1.2
_LABELS: Final = {"value": "value (share of the most)", "starved": "jobs that starve (share)"}


def figures_of(results: Results) -> dict[str, Figure]:
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
    if len(by_decile(results, "slr")):
        found["figure 7: SLR by size of job"] = by_size(results)
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
    axes.set_ylabel("worth (share of $V_{max}$)")


def template() -> Figure:
    """Return a value curve and its parts (figure 1)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.6, 3.2))
        axes = figure.add_subplot()
        _curve(axes)
        for slr, name in ((_TEMPLATE.initial, "$D_{initial}$"), (_TEMPLATE.final, "$D_{final}$")):
            axes.axvline(slr, color=PALE_INK, linewidth=0.8, linestyle="--")
            axes.annotate(name, (slr, 1.06), xytext=(4, 0), textcoords="offset points", color=PALE_INK)
        axes.axvline(1.0, color=PALE_INK, linewidth=0.8, linestyle=":")
        axes.annotate("no job is\nfaster", (1.0, 0.06), xytext=(4, 0), textcoords="offset points", color=PALE_INK)
        axes.annotate("starves: worth nothing", (8.05, 0.06), color=PALE_INK, fontsize=7.5)
        figure.tight_layout()
    return figure


def remaining() -> Figure:
    """Return the area under a value curve from a projected SLR on: what PVR bids, the least first (figure 2)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.6, 3.2))
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
    return {"color": _INKS[place % len(_INKS)], "marker": _MARKERS[place % len(_MARKERS)]}


def against_load(results: Results, measure: str, *, detail: bool) -> Figure | None:
    """Return value or starvation against load, the means over the workloads (figures 3 to 6).

    The detail has the bids that starve few jobs; of few workloads each is a dot, too.
    """
    table = by_load(results, measure)
    if table.empty:
        return None
    end = str(table["end"].iloc[0])
    means = table[table["end"] == end].drop(columns="end").set_index("load")
    bids = list(means.columns)
    shown = [bid for bid in bids if not detail or bid in _DETAIL]
    if not shown:
        return None
    last = means[shown].iloc[-1].sort_values(ascending=False, kind="stable")
    each = grid(results, measure, end)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.6, 3.8))
        axes = figure.add_subplot()
        for bid in last.index:  # the legend has the order in which the lines end
            axes.plot(means.index, means[bid], label=bid, markersize=4, linewidth=1.3, **_style(bids, bid))
            if detail:
                of_bid = each.xs(bid, axis=1, level="bid")
                axes.plot(of_bid.columns, of_bid.T, ".", color=_style(bids, bid)["color"], markersize=5, alpha=0.5)
        axes.set_xlabel("load (share of all cores)")
        axes.set_ylabel(_LABELS[measure])
        if not detail:
            axes.set_ylim(-0.02, 1.02)
        elif measure == "starved":
            axes.set_ylim(bottom=-0.004)
        axes.grid()
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="by the last load")
        figure.tight_layout()
    return figure


def by_size(results: Results) -> Figure:
    """Return the mean SLR by tenths of the jobs, the smallest first, at load 1.2 or the highest below (figure 7)."""
    table = by_decile(results, "slr")
    loads = sorted(table["load"].unique())
    load = max((each for each in loads if each <= _FIGURE_7_LOAD), default=loads[0])
    rows = table[table["load"] == load].set_index("bid")
    bids = list(dict.fromkeys(table["bid"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.6, 3.8))
        axes = figure.add_subplot()
        for bid in rows.index:
            values = rows.loc[bid, [str(tenth) for tenth in TENTHS]].astype(float)
            axes.plot(TENTHS, values, label=bid, markersize=4, linewidth=1.3, **_style(bids, bid))
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if value in {1.5, 2, 3, 4, 6} else "")
        axes.set_xticks(TENTHS)
        axes.set_xlabel("tenth of the jobs by volume, the smallest first")
        axes.set_ylabel("mean SLR of those that finished")
        axes.set_title(f"load {load:g}")
        axes.grid()
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.tight_layout()
    return figure


def rules(results: Results) -> Figure:
    """Return what other rules change of the value, by load: a group of bars a bid, with intervals."""
    table = by_rule(results)
    loads, names, bids = (list(dict.fromkeys(table[column])) for column in ("load", "rule", "bid"))
    width = 0.8 / len(names)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(5.0, 0.8 * len(bids) + 1.6), 0.5 + 2.3 * len(loads)))
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
            axes.set_ylabel("change of value")
            axes.set_title(f"load {load:g}")
            axes.grid(axis="y")
        figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - 0.28 / figure.get_figheight()))
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=len(names))
    return figure
