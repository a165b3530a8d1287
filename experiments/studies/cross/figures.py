"""The figures of the cross study: all policies, ranks by speed of change, risk and order, and routers."""

from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from experiments.campaigns.statistics import Effect
from experiments.drawing import INK, PALE_INK, PALETTE, STYLE
from experiments.studies.cross.measures import SLOWDOWN, ranks
from experiments.studies.cross.results import RANKED, CrossResults, Key, awareness, spread
from experiments.studies.cross.settings import (
    AWARE,
    DECIDERS,
    FIXED,
    ONE_QUEUE,
    ROUTED_ORDERS,
    ROUTERS,
    STEADY,
    orders_for,
    period_of,
)

_MARKS: Final = ("o", "s", "^", "D")
_MOST: Final = 1.5
"""Cells at least this many powers of ten above the best have the darkest colour."""
_WIDTH_IN: Final = 5.0


def draw_figures(found: CrossResults) -> dict[str, Figure]:
    """Return the figures for which there are cells, by name."""
    if found.results.table.empty:
        return {}
    drawn = {
        "figure 1: all deciders and orders": _policies(found),
        "figure 2: ranks of the orders": _ranks(found),
        "figure 3: what knowing the risk and what the order changes": _risk(found),
        "figure 4: routers against one queue": _routers(found),
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def _short(capacity: str) -> str:
    """Return a capacity as an axis shows it."""
    period_s = period_of(capacity)
    if period_s is None:
        return capacity
    return f"{period_s / 3600:g} h" if period_s >= 3600 else f"{period_s / 60:g} min"


def _panels(found: CrossResults, *, height_in: float = 2.6) -> tuple[Figure, list[tuple[str, Axes]]]:
    """Return a figure with a panel for each workload, two in a row, and room for a legend below."""
    workloads = found.factor("workload")
    across = min(2, len(workloads))
    rows = -(-len(workloads) // across)
    width_in = _WIDTH_IN if across == 2 else 1.3 * _WIDTH_IN
    figure = Figure(figsize=(width_in * across, height_in * rows + 0.6), layout="constrained")
    return figure, [
        (workload, figure.add_subplot(rows, across, number + 1)) for number, workload in enumerate(workloads)
    ]


def _along(axes: Axes, capacities: Sequence[str]) -> None:
    """Put the capacities on the axis."""
    axes.set_xticks(range(len(capacities)), [_short(name) for name in capacities])
    axes.set_xlim(-0.5, len(capacities) - 0.5)
    axes.set_xlabel("time between changes of the machines, or the series")
    axes.grid(axis="y")


def _times_axis(axes: Axes) -> None:
    """Make the axis of ratios logarithmic, with plain numbers."""
    axes.set_yscale("log")
    axes.axhline(1.0, color=INK, linewidth=0.8)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.8), max(high, 1.25))
    low, high = axes.get_ylim()
    steps = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)
    ticks = [step for step in steps if low <= step <= high]
    if high / low > 20:
        ticks = [step for step in ticks if step not in {0.7, 1.5, 3}]
    axes.set_yticks(ticks)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _point(axes: Axes, place: float, effect: Effect, colour: str, mark: str, *, filled: bool = True) -> None:
    """Draw an effect with its interval."""
    if effect.low is not None and effect.high is not None:
        axes.plot([place, place], [effect.low, effect.high], color=colour, linewidth=1.3, zorder=2)
    axes.plot(
        [place], [effect.estimate], mark, color=colour, markersize=5, zorder=3,
        markerfacecolor=colour if filled else "white", markeredgewidth=1.2,
    )  # fmt: skip


# -- figure 1 ---------------------------------------------------------------------------------------


def _policies(found: CrossResults) -> Figure | None:
    """Return the geometric mean slowdown of each decider and order by capacity, coloured by how far from the best."""
    capacities, workloads = found.factor("capacity"), found.factor("workload")
    pairs = [
        (decider, order)
        for decider in DECIDERS
        if decider in found.factor("decider")
        for order in found.factor("order")
        if order in orders_for(decider)
    ]
    if not pairs:
        return None
    with mpl.rc_context(STYLE):
        width_in = 1.9 + len(workloads) * (0.4 + 0.5 * len(capacities))
        figure = Figure(figsize=(width_in, 1.5 + 0.25 * len(pairs)), layout="constrained")
        drawn = None
        for number, workload in enumerate(workloads):
            axes = figure.add_subplot(1, len(workloads), number + 1)
            values = np.array([[_level(found, (workload, at, *pair)) for at in capacities] for pair in pairs])
            with np.errstate(all="ignore"):
                best = np.array([np.nanmin(column) if np.isfinite(column).any() else np.nan for column in values.T])
                above = np.log10(values / best)
            drawn = axes.imshow(above, cmap="cividis_r", vmin=0.0, vmax=_MOST, aspect="auto")
            for row, column in np.ndindex(*values.shape):
                if np.isfinite(values[row, column]):
                    light = above[row, column] > 0.42 * _MOST
                    axes.text(column, row, _number(float(values[row, column])), ha="center", va="center", fontsize=7.5,
                              color="white" if light else INK)  # fmt: skip
            axes.set_title(workload)
            axes.set_xticks(range(len(capacities)), [_short(name) for name in capacities], rotation=40, ha="right")
            names = [f"{decider}, {order}" for decider, order in pairs] if number == 0 else []
            axes.set_yticks(range(len(pairs)) if names else [], names)
            axes.tick_params(length=0)
            for row in range(1, len(pairs)):
                if pairs[row][0] != pairs[row - 1][0]:
                    axes.axhline(row - 0.5, color="white", linewidth=2.5)
            for side in ("left", "bottom"):
                axes.spines[side].set_visible(False)
        assert drawn is not None  # noqa: S101  there is a workload
        bar = figure.colorbar(drawn, ax=figure.axes, orientation="horizontal", fraction=0.025, pad=0.01, aspect=60)
        bar.set_ticks([0, np.log10(3), 1, _MOST], labels=["best of the column", "3 times", "10 times", "30 or more"])
        bar.set_label("mean bounded slowdown (numbers: geometric means over the windows)")
    return figure


def _level(found: CrossResults, key: Key) -> float:
    rows = found.rows(SLOWDOWN, [key])
    return np.nan if rows is None else float(np.exp(rows.mean()))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}" if value >= 9.95 else f"{value:.2f}"


# -- figures 2 to 4 ---------------------------------------------------------------------------------


def _ranks(found: CrossResults) -> Figure | None:
    """Return the mean rank of each fixed order over the deciders, by capacity."""
    capacities, orders = found.factor("capacity"), found.fixed
    deciders = [name for name in RANKED if name in found.factor("decider")]
    if len(orders) < 2 or len(capacities) < 2 or not deciders:
        return None
    with mpl.rc_context(STYLE):
        figure, panels = _panels(found, height_in=2.4)
        for workload, axes in panels:
            placed = np.full((len(deciders), len(capacities), len(orders)), np.nan)
            for row, decider in enumerate(deciders):
                for column, capacity in enumerate(capacities):
                    rows = found.rows(SLOWDOWN, [(workload, capacity, decider, order) for order in orders])
                    if rows is not None:
                        placed[row, column] = ranks(rows.mean(axis=0))
            for number, order in enumerate(orders):
                aside = 0.045 * (number - (len(orders) - 1) / 2)
                axes.plot(
                    np.arange(len(capacities)) + aside, placed[:, :, number].mean(axis=0) + aside,
                    marker=_MARKS[FIXED.index(order)], color=PALETTE[FIXED.index(order)], linewidth=1.4, markersize=5.5,
                )  # fmt: skip
            _along(axes, capacities)
            axes.set_yticks(range(1, len(orders) + 1))
            axes.set_ylim(len(orders) + 0.35, 0.65)
            axes.set_ylabel("mean rank (1 is best)")
            axes.set_title(workload)
        _legend(figure, [(order, PALETTE[FIXED.index(order)], _MARKS[FIXED.index(order)], True) for order in orders])
    return figure


def _risk(found: CrossResults) -> Figure | None:
    """Return what first fit gains by knowing the risk, beside what the best order gains on the worst, by capacity."""
    capacities = [name for name in found.factor("capacity") if name != STEADY]
    shown = [
        ("knowing the risk (first fit, with interval)", PALETTE[0], "o"),
        ("order (first fit)", PALETTE[1], "s"),
        ("order (EASY)", PALETTE[2], "^"),
        ("TargetASAP instead of EASY (first come, first served)", PALETTE[3], "D"),
    ]
    if not any(awareness(found, workload, at) for workload in found.factor("workload") for at in capacities):
        return None
    with mpl.rc_context(STYLE):
        figure, panels = _panels(found)
        for workload, axes in panels:
            for place, capacity in enumerate(capacities):
                effects = [
                    awareness(found, workload, capacity),
                    _exact(spread(found, workload, capacity, AWARE)),
                    _exact(spread(found, workload, capacity, "EASY")),
                    found.times([(workload, capacity, "EASY", "FCFS")], [(workload, capacity, "TargetASAP", "FCFS")]),
                ]
                for number, (effect, (_, colour, mark)) in enumerate(zip(effects, shown, strict=True)):
                    if effect is not None:
                        _point(axes, place + 0.14 * (number - 1.5), effect, colour, mark)
            _along(axes, capacities)
            _times_axis(axes)
            axes.set_ylabel("factor by which the slowdown falls")
            axes.set_title(workload)
        _legend(figure, [(*each, True) for each in shown])
    return figure


def _exact(value: float | None) -> Effect | None:
    return None if value is None else Effect(value, None, None, 1)


def _routers(found: CrossResults) -> Figure | None:
    """Return the slowdown behind each router over that of one queue, by capacity."""
    capacities = found.factor("capacity")
    routers = [name for name in ROUTERS if name in found.factor("decider")]
    orders = [name for name in ROUTED_ORDERS if name in found.factor("order")]
    if not routers or not orders or ONE_QUEUE not in found.factor("decider"):
        return None
    count = len(routers) * len(orders)
    with mpl.rc_context(STYLE):
        figure, panels = _panels(found)
        for workload, axes in panels:
            for place, capacity in enumerate(capacities):
                for number, (router, order) in enumerate((r, o) for r in routers for o in orders):
                    of, against = ((workload, capacity, each, order) for each in (router, ONE_QUEUE))
                    effect = found.times([of], [against])
                    if effect is not None:
                        which = ROUTERS.index(router)
                        _point(axes, place + 0.7 / count * (number - (count - 1) / 2), effect, PALETTE[which],
                               _MARKS[which], filled=order == ROUTED_ORDERS[-1])  # fmt: skip
            _along(axes, capacities)
            _times_axis(axes)
            axes.set_ylabel("slowdown over that of one queue")
            axes.set_title(workload)
        entries = [
            (f"{router}, {order}", PALETTE[ROUTERS.index(router)], _MARKS[ROUTERS.index(router)],
             order == ROUTED_ORDERS[-1])
            for router in routers
            for order in orders
        ]  # fmt: skip
        _legend(figure, entries, across=len(routers))
    return figure


def _legend(figure: Figure, entries: Sequence[tuple[str, str, str, bool]], across: int = 4) -> None:
    handles = [
        Line2D([], [], color=colour, marker=mark, linewidth=0, markersize=5.5, label=label,
               markerfacecolor=colour if filled else "white", markeredgewidth=1.2)
        for label, colour, mark, filled in entries
    ]  # fmt: skip
    longest = max(len(label) for label, *_ in entries)
    figure.legend(handles=handles, loc="outside lower center", ncols=2 if longest > 30 else across, labelcolor=PALE_INK)
