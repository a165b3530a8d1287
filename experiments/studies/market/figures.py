"""The figures of the market study: value curves, value and starvation against load, SLR by size of job."""

from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from experiments.campaigns import Results
from experiments.campaigns.charts import Axis, Bars, Chart, Lines, draw_all, in_order
from experiments.drawing import INK, PALE_INK, PALETTE, Figure
from experiments.studies.market.results import by_decile, by_load, by_rule, grid
from experiments.studies.market.settings import FIGURE_7, HIGHEST_LOAD, TENTHS, at
from simmodels import TEN_BIDS, ValueCurve

_CURVE: Final = ValueCurve([(3.0, 1.0), (3.8, 0.86), (4.7, 0.8), (5.4, 0.42), (6.6, 0.3), (7.3, 0.08), (8.0, 0.0)])
_NOW: Final = 4.2
_DETAIL: Final = {
    "value": ("PVR", "P-SLR", "EDF", "SRTF", "PVDSQ", "PVD"), "starved": ("PVR", "P-SLR", "EDF", "SRTF", "PVDSQ"),
}  # fmt: skip
"""Which policies the details show: those that lead in value, and of these those that starve few jobs."""
_SIZES_LOADS: Final = {"slr": FIGURE_7, "starved": HIGHEST_LOAD}
_ENDS: Final = {"drain": "run until all jobs are done", "submit": "cut at the last submission"}
_VALUE: Final = Axis("value", "value (share of the maximum)")
_STARVED: Final = Axis("starved", "starved jobs (%)")
_SLR: Final = Axis("slr", "mean SLR (finished jobs)", log=10)
_BIDS: Final = in_order(TEN_BIDS) | {"PVR": {"color": INK, "marker": "P"}}
_STYLES: Final = {
    **_BIDS,
    **{
        f"_dots {bid}": {**style, "marker": ".", "markersize": 3, "linestyle": "none", "alpha": 0.4}
        for bid, style in _BIDS.items()
    },
    **{f"_pale {bid}": {**style, "alpha": 0.25} for bid, style in _BIDS.items()},
}

_WORTH: Final = Chart(
    mark=Lines(text="said", filled=("_bid",)),
    x=Axis("slr", "SLR: time from submission to finish, in critical paths", limits=(0.0, 10.5)),
    y=(Axis("value", "value (share of $V_{max}$)", limits=(0.0, 1.12)),),
    by="part",
    panel_in=(7.2, 3.4),
    look={"linewidth": 0.8},
    styles={
        "_curve": {"color": INK, "linewidth": 1.6, "marker": "o", "markersize": 4, "markevery": slice(1, -1)},
        "_deadlines": {"color": PALE_INK, "linestyle": "--"},
        "_fastest": {"color": PALE_INK, "linestyle": ":"},
        "_now": {"color": PALETTE[0], "linewidth": 1.4},
        "_bid": {"color": PALETTE[0], "linestyle": "none"},
    },
)
_POINT: Final = ["part", "slr", "value", "said"]
_LINE: Final = [("_curve", slr, share, "") for slr, share in ((0.0, 1.0), *_CURVE.points, (10.5, 0.0))]
_PARTS: Final = (
    *_LINE,
    *(("_deadlines", slr, value, said)
      for slr, name in ((_CURVE.initial, "$D_{initial}$"), (_CURVE.final, "$D_{final}$"))
      for value, said in ((0.0, ""), (1.06, name), (1.12, ""), (np.nan, ""))),
    ("_fastest", 1.0, 0.0, ""), ("_fastest", 1.0, 0.06, "no job is\nfaster"), ("_fastest", 1.0, 1.12, ""),
    ("_fastest", 1.0, np.nan, ""), ("_fastest", 8.0, 0.06, "starves: no value"),
)  # fmt: skip
_BID: Final = (
    *_LINE,
    ("_now", _NOW, 0.04, "P-SLR now"), ("_now", _NOW, 0.0, ""), ("_now", _NOW, _CURVE.factor(_NOW), ""),
    *(("_bid", slr, _CURVE.factor(slr), "") for slr in (_NOW, *(slr for slr, _ in _CURVE.points if slr > _NOW))),
    ("_now", _NOW, np.nan, ""), ("_now", 4.75, 0.22, f"area {_CURVE.area(_NOW):.2f}"),
)  # fmt: skip
"""The value curve with its parts, and with what PVR bids (the least first): the area from a projected SLR on."""
_RULES: Final = Chart(
    mark=Bars(ends=("value: low", "value: high")),
    x=Axis("bid"),
    y=(Axis("value: change", "change of value (share)", at=0.0),),
    by="rule",
    panels="title",
    across=1,
    panel_in=(7.2, 2.3),
)


def _by_load(y: Axis, low: float | None = None, high: float | None = None) -> Chart:
    return Chart(
        mark=Lines(),
        x=Axis("load", "load (% of all cores)"),
        y=(replace(y, limits=(low, high)),),
        by="bid",
        panels="end",
        names={"end": _ENDS},
        panel_in=(3.6, 3.4),
        share="y",
        look={"markersize": 4, "linewidth": 1.3},
        styles=_STYLES,
    )


def _by_tenth(size: str, *y: Axis) -> Chart:
    return replace(
        _by_load(y[0]),
        x=Axis("tenth", f"tenth of the jobs by {size}, 10: largest", ticks=TENTHS, shows=(TENTHS[0], TENTHS[-1])),
        y=y,
        panels="title",
        names={},
        share="y" if len(y) == 1 else "",
        note="pale: more than half of these jobs starve",
    )


def draw_figures(results: Results) -> dict[str, Figure]:
    """Return the figures that the results allow, by name."""
    values, starved = (_against_load(results, measure) for measure in ("value", "starved"))
    times = pd.concat([pd.DataFrame(), *(_tenths(results, "slr", end=end) for end in _ENDS)])
    volumes = pd.concat([_tenths(results, measure, of="volume_") for measure in ("slr", "starved")])
    # at another load than its own it is no figure of the paper
    seventh = "figure 7" if FIGURE_7 in set(times.get("load", ())) else "beyond the paper"
    rules = by_rule(results)
    return draw_all(
        [
            ("figure 1: a value curve", _WORTH, pd.DataFrame(_PARTS, columns=_POINT)),
            ("figure 2: what PVR bids", _WORTH, pd.DataFrame(_BID, columns=_POINT)),
            ("figure 3: value against load", _by_load(_VALUE, -0.02, 1.02), values),
            ("figure 4: value against load, detail", _by_load(_VALUE), _detail(results, values)),
            ("figure 5: starvation against load", _by_load(_STARVED, -2.0, 102.0), starved),
            ("figure 6: starvation against load, detail", _by_load(_STARVED, -0.4), _detail(results, starved)),
            (f"{seventh}: SLR by execution time", _by_tenth("execution time", _SLR), times),
            (
                "beyond the paper: median SLR against load",
                _by_load(Axis("median_slr", "median SLR (finished jobs)", log=10)),
                _against_load(results, "median_slr"),
            ),
            ("beyond the paper: SLR and starvation by volume", _by_tenth("volume", _SLR, _STARVED), volumes),
            ("beyond the paper: other rules", _RULES, rules.assign(title=[at(load) for load in rules.get("load", ())])),
        ]
    )


def _against_load(results: Results, measure: str) -> pd.DataFrame:
    """Return value or starvation by load, the means over the workloads (figures 3 and 5)."""
    means = by_load(results, measure)
    return _in_percent(means.melt(["end", "load"], var_name="bid", value_name=measure)) if len(means) else means


def _detail(results: Results, means: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the bids that lead, and those of each workload as dots (figures 4 and 6)."""
    if means.empty:
        return means
    measure = means.columns[-1]
    parts = [means]
    for end in _ENDS:
        each = grid(results, measure, end).melt(value_name=measure)
        parts.append(_in_percent(each.assign(end=end, dots="_dots " + each["bid"])))
    table = pd.concat(parts)
    there = table[table["bid"].isin(_DETAIL[measure])]
    return there.assign(bid=there["dots"].fillna(there["bid"]))


def _in_percent(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with loads and shares of starved jobs in percent."""
    return table.assign(**{name: 100.0 * table[name] for name in ("load", "starved") if name in table})


def _tenths(results: Results, measure: str, *, of: str = "", end: str = "") -> pd.DataFrame:
    """Return a measure by tenths of the jobs, at the load of its figure or the highest below.

    Pale is the mean SLR of a tenth of which more than half starve: it is that of the few that finish at once.
    """
    table, starved = (by_decile(results, f"{of}{name}", end) for name in (measure, "starved"))
    if table.empty:
        return table
    loads = sorted(table["load"].unique())
    load = max((each for each in loads if each <= _SIZES_LOADS[measure]), default=loads[0])
    found, lost = (
        each[each["load"] == load].melt(["load", "bid"], var_name="tenth", value_name=measure).astype({measure: float})
        for each in (table, starved)
    )
    found = found.astype({"tenth": int}).assign(title=f"{at(load)}{f', {_ENDS[end]}' if end else ''}")
    if measure == "starved":
        return pd.DataFrame(found.assign(starved=100.0 * found["starved"]))
    shown = pd.DataFrame(found.assign(slr=found["slr"].where(lost[measure] <= 0.5)))
    return pd.concat([pd.DataFrame(found.assign(bid="_pale " + found["bid"])), shown])
