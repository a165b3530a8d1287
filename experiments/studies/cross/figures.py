"""The figures of the cross study: all policies, ranks by speed of change, risk and order, and routers."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns import Effect, Results
from experiments.campaigns.charts import Axis, Chart, Heat, Lines, Panel, draw_all, in_order
from experiments.drawing import Figure
from experiments.studies.cross.results import RANKED, SLOWDOWN, CrossResults, Key, awareness, make_tables, spread
from experiments.studies.cross.settings import AWARE, DECIDERS, FIXED, ROUTED_ORDERS, ROUTERS, orders_for, period_of

_ASIDE: Final = 0.045
"""How far lines of ranks lie beside each other, so that equal ones are seen."""


class _ByDecider(Heat):
    """A map of colours with white lines between the deciders."""

    def draw(self, panel: Panel) -> None:
        """Draw the map, and a line above the first order of each decider."""
        super().draw(panel)
        panel.axes.spines[:].set_visible(False)
        for first in panel.table.groupby("decider")[panel.y].min():
            panel.axes.axhline(first - 0.5, color="white", linewidth=2.5)


_POLICIES: Final = Chart(
    mark=_ByDecider(
        value="above",
        label="mean bounded slowdown (numbers: geometric means over the windows)",
        colours="cividis_r",
        top=1.5,
        text="shown",
        ticks={0: "best of the column", np.log10(3): "3 times", 1: "10 times", 1.5: "30 or more"},
        below=True,
    ),
    x=Axis("capacity"),
    y=(Axis("policy"),),
    panels="workload",
    across=8,
    share="y",
)
_RISK: Final = Chart(
    mark=Lines(ends=("low", "high"), spread=0.56),
    x=Axis("capacity", "time between changes of the machines, or the series"),
    y=(Axis("times", "factor by which the slowdown falls", log=10, shows=(0.8, 1.25), at=1.0),),
    by="what",
    panels="workload",
    panel_in=(5.0, 2.6),
    look={"linestyle": "none", "markeredgewidth": 1.2},
)
_BEHIND: Final = replace(
    _RISK,
    mark=Lines(ends=("low", "high"), spread=0.7),
    y=(replace(_RISK.y[0], label="slowdown over that of one queue"),),
    styles={
        f"{router}, {order}": {**style, "markerfacecolor": style["color"] if order == ROUTED_ORDERS[-1] else "white"}
        for router, style in in_order(ROUTERS).items()
        for order in ROUTED_ORDERS
    },
)
_RANKS: Final = replace(
    _RISK,
    mark=Lines(spread=_ASIDE * len(FIXED)),
    y=(Axis("rank", "mean rank (1 is best)", limits=(len(FIXED) + 0.35, 0.65), ticks=range(1, len(FIXED) + 1)),),
    styles=in_order(FIXED),
    look={"markersize": 5.5},
)


def draw_figures(results: Results) -> dict[str, Figure]:
    """Return the figures for which there are cells: all policies, ranks by speed of change, awareness, and routers."""
    if results.table.empty:
        return {}
    found = CrossResults(results)
    policies, tables = _policies(found), make_tables(found)
    panel_in = (0.6 + 0.5 * len(found.results.texts("capacity")), 1.2 + 0.25 * len(policies) / len(list(found.places)))
    routers = tables.get("routers against one queue", pd.DataFrame(columns=["router", "order"]))
    routers = routers.assign(what=routers["router"] + ", " + routers["order"])
    rows = (
        ("figure 1: all deciders and orders", replace(_POLICIES, panel_in=panel_in), policies),
        ("figure 2: ranks of the orders", _RANKS, _ranks(found, tables.get("ranks of the orders"))),
        ("figure 3: what knowing the risk and what the order changes", _RISK, pd.DataFrame(_risk(found))),
        ("figure 4: routers against one queue", _BEHIND, routers.rename(columns={"times one queue": "times"})),
    )
    names = {"capacity": {name: _short(name) for name in found.results.texts("capacity")}}
    return draw_all((name, replace(chart, names=names), table) for name, chart, table in rows)


def _short(capacity: str) -> str:
    """Return a capacity as an axis shows it."""
    period_s = period_of(capacity)
    if period_s is None:
        return capacity
    return f"{period_s / 3600:g} h" if period_s >= 3600 else f"{period_s / 60:g} min"


def _policies(found: CrossResults) -> pd.DataFrame:
    """Return the geometric mean slowdown of each decider and order, and how many powers of ten above the best it is."""
    keys = [
        Key(workload, capacity, decider, order)
        for decider, order, (workload, capacity) in product(DECIDERS, found.results.texts("order"), found.places)
        if decider in found.results.texts("decider") and order in orders_for(decider)
    ]
    table = pd.DataFrame(keys, columns=Key._fields)
    rows = [found.rows(SLOWDOWN, [key]) for key in keys]
    level = pd.Series([np.nan if row is None else float(np.exp(row.mean())) for row in rows], dtype=float)
    best = level.groupby([table["workload"], table["capacity"]]).transform("min")
    policy = table["decider"] + ", " + table["order"]
    return table.assign(policy=policy, shown=level.map(_number), above=np.log10(level / best))


def _number(value: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}" if value >= 9.95 else f"{value:.2f}"


def _ranks(found: CrossResults, table: pd.DataFrame | None) -> pd.DataFrame:
    """Return the mean rank of each fixed order over the deciders under which orders are ranked, by capacity."""
    if table is None or len(found.results.texts("capacity")) < 2:
        return pd.DataFrame()
    ranked = table[table["decider"].isin(RANKED)]
    means = ranked.groupby(["workload", "capacity"], sort=False)[found.fixed].mean()
    means += _ASIDE * (np.arange(len(found.fixed)) - (len(found.fixed) - 1) / 2)
    return means.melt(var_name="what", value_name="rank", ignore_index=False).reset_index()


def _risk(found: CrossResults) -> Iterator[dict[str, Any]]:
    """Hand out what first fit gains by knowing the risk, beside what the best order gains on the worst, by capacity."""
    for workload, capacity in product(found.results.texts("workload"), found.changing):
        effects = {
            "knowing the risk (first fit, with interval)": awareness(found, workload, capacity),
            "order (first fit)": _exact(spread(found, workload, capacity, AWARE)),
            "order (EASY)": _exact(spread(found, workload, capacity, "EASY")),
            "TargetASAP instead of EASY (first come, first served)": found.times(
                *([Key(workload, capacity, decider, "FCFS")] for decider in ("EASY", "TargetASAP"))
            ),
        }
        for what, effect in effects.items():
            if effect is not None:
                yield {"workload": workload, "capacity": capacity, "what": what} | effect.columns("times")


def _exact(value: float | None) -> Effect | None:
    return None if value is None else Effect(value, None, None, 1)
