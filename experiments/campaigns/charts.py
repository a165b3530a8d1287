"""Charts: a figure as a row, which says what is drawn against what, by what, and in which panels.

A chart is drawn of a table with one row per value: columns have its axes, its series and its panels. A column of texts
is an axis of categories, in the order in which they occur (or that of a categorical column), and a column of numbers is
one of numbers. How a series is drawn is a `Mark`; what no mark here can draw, a study draws by one of its own.
"""

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import cbook
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator

from experiments.drawing import INK, OTHERS, PALE_INK, PALETTE, STYLE, Figure, as_label, grouped, label_plainly

INKS: Final = (*PALETTE, "#B2182B", "#8073AC", "#999999", "#8DB600", "#C2A5CF")
MARKERS: Final = "os^Dv<>pXPhd"
_SPREAD: Final = 0.8
"""How much of the place of a category its bars or boxes take."""
_FILLED: Final = 0.85
"""How much of its part of that a bar or box takes."""
_TEXT_IN: Final = 0.075
"""About how wide a letter is."""
_SHORT: Final = 20.0
"""A logarithmic axis is short if its end is less than this many times its beginning."""

Style = Mapping[str, Any]
"""How a series is drawn: properties of a line in matplotlib, of which bars and boxes take the colour."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a chart.

    Parameters
    ----------
    column
        The column of the table that lies along it.
    label
        What it is called.
    log
        The base of its logarithm, 0 for a linear axis; if some value is not positive, it is linear all the same.
    limits
        Where it begins and ends; None where that follows from the values.
    shows
        From where to where it goes at least.
    ticks
        Where it has ticks; none: wherever they suit.
    each
        Whether each number is a category, in rising order.
    at
        Where a line of reference crosses it, if that is within its ends; None for no line.
    """

    column: str
    label: str = ""
    _: KW_ONLY
    log: float = 0.0
    limits: tuple[float | None, float | None] = (None, None)
    shows: tuple[float, float] | None = None
    ticks: Sequence[float] = ()
    each: bool = False
    at: float | None = None


class Panel(NamedTuple):
    """What a mark is given to draw: its part of the table, with places instead of categories, and the series.

    All panels of a chart have the same series, so that each has the same place in all.
    """

    axes: Axes
    table: pd.DataFrame
    x: str
    y: str
    by: str
    series: Mapping[str, Style]

    def parts(self, spread: float) -> Iterable[tuple[str, pd.DataFrame, Style, float]]:
        """Hand out each series that has values here: its name, rows and style, and how far it lies aside."""
        for number, (name, style) in enumerate(self.series.items()):
            rows = self.table[self.table[self.by] == name]
            if rows[self.y].notna().any():
                yield name, rows, style, spread * ((number + 0.5) / len(self.series) - 0.5)


class Mark:
    """How the series of a panel are drawn."""

    def draw(self, panel: Panel) -> None:
        """Draw what is in a panel."""
        raise NotImplementedError

    def finish(self, figure: Figure) -> None:
        """Add what belongs to the figure as a whole; by default nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines(Mark):
    """Lines, points, or both, as the style of a series says.

    Parameters
    ----------
    ends
        The columns with the ends of an interval around each point; none for no intervals.
    spread
        Over how much of the place of a category the series lie side by side.
    text
        The column that is written beside the points; empty for none.
    filled
        Below which series all is filled.
    """

    ends: Sequence[str] = ()
    spread: float = 0.0
    text: str = ""
    filled: Collection[str] = ()

    def draw(self, panel: Panel) -> None:
        """Draw a line per series, and a stroke for each interval."""
        for name, rows, style, aside in panel.parts(self.spread):
            x = rows[panel.x] + aside
            if self.ends:
                low, high = (rows[end].astype(float) for end in self.ends)
                panel.axes.vlines(x, low, high, color=style["color"], linewidth=1.3)
            panel.axes.plot(x, rows[panel.y], label=name, **{"markersize": 4.5, "linewidth": 1.4, **style})
            if name in self.filled:
                panel.axes.fill_between(x, rows[panel.y], color=style["color"], alpha=0.3, linewidth=0)
            for place in zip(rows[self.text], x, rows[panel.y], strict=True) if self.text else ():
                panel.axes.annotate(
                    place[0], place[1:], xytext=(4, 0), textcoords="offset points", color=style["color"]
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars(Mark):
    """Bars side by side at each category, with intervals if `ends` names the columns of their ends."""

    ends: Sequence[str] = ()

    def draw(self, panel: Panel) -> None:
        """Draw bars from 0, intervals, and hairlines between the categories."""
        width = _FILLED * _SPREAD / len(panel.series)
        for name, rows, style, aside in panel.parts(_SPREAD):
            x = rows[panel.x] + aside
            panel.axes.bar(x, rows[panel.y], width, color=style["color"], label=name)
            if self.ends:
                low, high = (rows[end].astype(float) for end in self.ends)
                panel.axes.vlines(x, low, high, color=INK, linewidth=0.8)
        for place in range(1, int(panel.table[panel.x].max()) + 1):
            panel.axes.axvline(place - 0.5, color=OTHERS, linewidth=0.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes(Mark):
    """Boxes side by side at each category: quartiles and median of the rows there.

    Parameters
    ----------
    whiskers
        The percentiles at which whiskers end; a star is at the mean then, and nothing is drawn beyond them. None: they
        end at the last value within 1.5 times the box's length, and what lies beyond are points (Tukey 1977).
    """

    whiskers: tuple[float, float] | None = None

    def draw(self, panel: Panel) -> None:
        """Draw the boxes of each series, in its colour."""
        thin = {"color": INK, "linewidth": 0.7}
        for name, rows, style, aside in panel.parts(_SPREAD):
            there = rows.dropna(subset=[panel.y])
            samples = {float(place): there.loc[there[panel.x] == place, panel.y] for place in there[panel.x].unique()}
            drawn = panel.axes.bxp(
                [self._stats(sample.to_numpy(np.float64)) for sample in samples.values()],
                positions=[place + aside for place in samples],
                widths=_FILLED * _SPREAD / len(panel.series),
                showmeans=self.whiskers is not None,
                patch_artist=True,
                boxprops={"edgecolor": INK, "linewidth": 0.7, "facecolor": style["color"], "alpha": 0.85},
                medianprops={"color": INK, "linewidth": 1.2},
                whiskerprops=thin,
                capprops=thin,
                flierprops={"marker": ".", "markersize": 3, "markeredgecolor": INK},
                meanprops={"marker": "*", "markerfacecolor": "white", "markeredgecolor": INK, "markersize": 5.5,
                           "markeredgewidth": 0.5},
                manage_ticks=False,
            )  # fmt: skip
            drawn["boxes"][0].set_label(name)

    def _stats(self, sample: "np.ndarray[Any, np.dtype[np.float64]]") -> dict[str, Any]:
        """Return a box as it is drawn. Matplotlib's own whiskers end at a value, not at the percentile."""
        stats: dict[str, Any] = cbook.boxplot_stats(sample)[0]
        if self.whiskers is not None:
            low, high = np.percentile(sample, self.whiskers)
            stats |= {"whislo": low, "whishi": high, "fliers": []}
        return stats


class Areas(Mark):
    """Areas on each other, the first series at the bottom."""

    def draw(self, panel: Panel) -> None:
        """Draw the areas in the colours of their series."""
        heights = panel.table.pivot_table(index=panel.x, columns=panel.by, values=panel.y, fill_value=0.0)
        there = [name for name in panel.series if name in heights]
        colours = [panel.series[name]["color"] for name in there]
        panel.axes.stackplot(heights.index, heights[there].to_numpy().T, colors=colours, labels=there)
        panel.axes.margins(0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat(Mark):
    """A map of colours, one per place along both axes, with one bar of colours for all panels.

    Parameters
    ----------
    value
        The column that the colour shows.
    label
        What the bar of colours is called.
    colours
        Matplotlib's name of a map of colours.
    top
        The value that has the last of them, as all above it have; 0 has the first.
    text
        The column that is written into the places; empty for none.
    ticks
        What the bar of colours says, by value; nothing: numbers where they suit.
    below
        Whether the bar lies below the panels, or else to the right of them.
    """

    value: str
    label: str
    colours: str
    top: float = 1.0
    text: str = ""
    ticks: Mapping[float, str] = field(default_factory=dict)
    below: bool = False

    def draw(self, panel: Panel) -> None:
        """Draw the places in their colours; what is written on a strong one is white."""
        if panel.table.empty:
            return
        cells = panel.table.pivot_table(index=panel.y, columns=panel.x, values=self.value, dropna=False)
        shades: dict[str, Any] = {"cmap": self.colours, "vmin": 0.0, "vmax": self.top}
        panel.axes.pcolormesh(cells.columns, cells.index, cells.to_numpy(), **shades, rasterized=True)
        panel.axes.grid(visible=False)
        panel.axes.tick_params(length=0)
        for row in panel.table.to_dict("records") if self.text else ():
            pale = row[self.value] <= 0.42 * self.top
            panel.axes.text(
                row[panel.x], row[panel.y], row[self.text], ha="center", va="center", fontsize=7.5,
                color=INK if pale else "white",
            )  # fmt: skip

    def finish(self, figure: Figure) -> None:
        """Add the bar of colours."""
        panels = figure.axes
        drawn = next(collection for axes in panels for collection in axes.collections)
        spec = panels[0].get_subplotspec()
        place: dict[str, Any] = {"aspect": 15 * (spec.get_gridspec().nrows if spec else 1)}
        if self.below:
            place = {"orientation": "horizontal", "fraction": 0.025, "aspect": 60}
        bar = figure.colorbar(drawn, ax=panels, pad=0.01, **place)
        bar.set_label(
            textwrap.fill(self.label, int(0.6 * figure.get_figwidth() / _TEXT_IN)) if self.below else self.label
        )
        if self.ticks:
            bar.set_ticks(list(self.ticks), labels=list(self.ticks.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure: what is drawn against what, by what, and in which panels.

    Parameters
    ----------
    mark
        How the series are drawn.
    x
        The horizontal axis.
    y
        The vertical axes; of several, each has panels of its own.
    by
        The column whose values are the series; empty: all is one series. Those whose names begin with ``_`` are not in
        the legend.
    panels
        The column whose values have a panel each and are its title; empty for one panel. One without values is left
        out, unless it stands in a row of panels.
    rows
        The column whose values have a row of panels each, beside which they stand; empty for no such rows.
    names
        For a column of categories, series or panels: what its values are called, in the order in which they are shown;
        rows of other values are left out.
    look
        How all series are drawn.
    styles
        How series are drawn, by name; the others get colours and markers in their order.
    across
        How many panels stand in a row.
    panel_in
        Width and height of a panel, in inches.
    share
        Which axes the panels have in common.
    note
        What is said below, with the legend.

    Examples
    --------
    >>> import pandas as pd
    >>> from experiments.campaigns.charts import Axis, Chart, Lines
    >>> table = pd.DataFrame({"load": [0.5, 0.9], "wait (h)": [1.0, 7.0], "order": ["FCFS", "FCFS"]})
    >>> chart = Chart(mark=Lines(), x=Axis("load"), y=(Axis("wait (h)", "mean wait (h)"),), by="order")
    >>> [axes.get_ylabel() for axes in chart.draw(table).axes]
    ['mean wait (h)']
    """

    mark: Mark
    x: Axis
    y: Sequence[Axis]
    by: str = ""
    panels: str = ""
    rows: str = ""
    names: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    look: Style = field(default_factory=dict)
    styles: Mapping[str, Style] = field(default_factory=dict)
    across: int = 2
    panel_in: tuple[float, float] = (3.6, 2.6)
    share: Literal["", "x", "y", "both"] = ""
    note: str = ""

    def draw(self, table: pd.DataFrame) -> Figure:
        """Return the figure of a table with at least one row."""
        drawn, by = self.named(table).assign(_all=""), self.by or "_all"
        names = {axis.column: _categories(drawn[axis.column], axis) for axis in (self.x, *self.y)}
        for column, known in names.items():
            if known:
                drawn[column] = pd.Categorical(drawn[column], known).codes
        series = self._series(_values(drawn[by]))
        titles = _values(drawn[self.panels]) if self.panels else [""]
        panels = list(self._panels(drawn, titles))
        if not self.rows:
            panels = [panel for panel in panels if panel[-1][panel[-2].column].notna().any()] or panels[:1]
        across = len(titles) * len(self.y) if self.rows else min(self.across, len(panels))
        rows = math.ceil(len(panels) / across)
        width_in = max(5.0 / across, self.panel_in[0])
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(width_in * across, self.panel_in[1] * rows), layout="constrained")
            grid = figure.subplots(
                rows, across, squeeze=False, sharex=self.share in {"x", "both"}, sharey=self.share in {"y", "both"}
            )
            for axes, (_, _, y, part) in zip(grid.flat, panels, strict=False):
                axes.grid(axis="y" if names[self.x.column] else "both")
                self.mark.draw(Panel(axes, part, self.x.column, y.column, by, series))
            for axes, (row, title, y, part) in zip(grid.flat, panels, strict=False):  # when all know their limits
                axes.set_title(textwrap.fill(as_label(title), int(width_in / _TEXT_IN)))
                _finish(axes, "x", self.x, part, names[self.x.column], width_in)
                _finish(axes, "y", y, part, names[y.column], width_in)
                if row:
                    axes.set_ylabel(f"{as_label(row)}\n{y.label}")
                if self.share:
                    axes.label_outer()
            for axes in grid.flat[len(panels) :]:
                axes.remove()
            self.mark.finish(figure)
            _put_legend(figure, list(series), self.note)
        return figure

    def named(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that are shown, with the names of what they are of."""
        found = table.copy()
        for column, names in self.names.items() if len(table) else ():
            named = found[column].map(names.get)
            there = set(named)
            found[column] = pd.Categorical(named, [name for name in dict.fromkeys(names.values()) if name in there])
        return found.dropna(subset=[*self.names]) if len(table) else found

    def _series(self, names: Sequence[str]) -> dict[str, Style]:
        """Return how each series is drawn."""
        free = in_order(name for name in names if name not in self.styles)
        return {
            name: {**self.look, **self.styles[name]} if name in self.styles else {**free[name], **self.look}
            for name in names
        }

    def _panels(self, table: pd.DataFrame, titles: Sequence[str]) -> Iterable[tuple[str, str, Axis, pd.DataFrame]]:
        """Hand out the row, title, vertical axis and values of each panel."""
        rows = _values(table[self.rows]) if self.rows else [""]
        for number, row in enumerate(rows):
            of_row = table[table[self.rows] == row] if self.rows else table
            for title in titles:
                part = of_row[of_row[self.panels] == title] if self.panels else of_row
                yield from ((row, "" if number else title, y, part) for y in self.y)


def in_order(names: Iterable[str]) -> dict[str, Style]:
    """Return a colour and a marker for each of several series, the same in all figures of a study."""
    return {name: {"color": INKS[n % len(INKS)], "marker": MARKERS[n % len(MARKERS)]} for n, name in enumerate(names)}


def draw_all(charts: Iterable[tuple[str, Chart, pd.DataFrame]]) -> dict[str, Figure]:
    """Return the figures, by name, of those charts that show a row of their tables."""
    return {name: chart.draw(table) for name, chart, table in charts if len(chart.named(table))}


def _values(column: "pd.Series[Any]") -> list[Any]:
    """Return the values of a column: in the order in which they occur, or that of its categories."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return list(column.cat.categories)
    return list(column.dropna().unique())


def _categories(column: "pd.Series[Any]", axis: Axis) -> list[Any]:
    """Return the categories along an axis; none if it is one of numbers."""
    if pd.api.types.is_numeric_dtype(column):
        return sorted(_values(column)) if axis.each else []
    return _values(column)


def _finish(
    axes: Axes, which: Literal["x", "y"], axis: Axis, table: pd.DataFrame, names: Sequence[Any], width_in: float
) -> None:
    """Label an axis, and give it its scale, ticks, limits and line of reference."""
    side = axes.xaxis if which == "x" else axes.yaxis
    side.set_label_text(axis.label)
    if names:
        labels = [as_label(name if isinstance(name, str) else grouped(name)) for name in names]
        side.set_ticks(range(len(names)), labels)
        ends = (-0.5, len(names) - 0.5)
        axes.set(**{f"{which}lim": ends if which == "x" else ends[::-1]})
        if which == "x" and _TEXT_IN * sum(len(label) + 1 for label in labels) > width_in - 0.5:
            axes.tick_params(axis="x", rotation=40)
            for text in axes.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")
        return
    log = axis.log and not (table[axis.column] <= 0).any()
    if log:
        getattr(axes, f"set_{which}scale")("log", base=axis.log)
    low, high = side.get_view_interval()
    if axis.shows is not None:
        low, high = min(low, axis.shows[0]), max(high, axis.shows[1])
    low, high = (found if given is None else given for given, found in zip(axis.limits, (low, high), strict=True))
    if axis.ticks:
        side.set_ticks(axis.ticks, [grouped(tick) for tick in axis.ticks])
        side.set_ticks([], minor=True)
    axes.set(**{f"{which}lim": (low, high)})
    if axis.at is not None and min(low, high) <= axis.at <= max(low, high):
        line = axes.axhline if which == "y" else axes.axvline
        line(axis.at, color=INK, linewidth=0.8, linestyle="-" if which == "y" else ":", zorder=1.9)  # behind points
    if log and not axis.ticks and which == "y":
        label_plainly(axes)
        if high < _SHORT * low:
            side.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
            side.set_major_formatter(FuncFormatter(grouped))


def _put_legend(figure: Figure, series: Sequence[str], note: str) -> None:
    """Put one legend below all panels, in the order of the series, read row by row, with room of its own."""
    found = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    labels = [name for name in dict.fromkeys([*series, *found]) if name in found]
    if not labels:
        return
    most = int(figure.get_figwidth() / (0.6 + _TEXT_IN * max(map(len, labels))))
    rows = math.ceil(len(labels) / max(1, most))
    columns = math.ceil(len(labels) / rows)
    figure.set_figheight(figure.get_figheight() + 0.19 * (rows + bool(note)) + 0.1)
    # matplotlib fills columns one after the other
    places = [row * columns + column for column in range(columns) for row in range(rows)]
    shown = [labels[place] for place in places if place < len(labels)]
    legend = figure.legend(
        [found[name] for name in shown], [as_label(name) for name in shown], loc="outside lower center", ncols=columns,
        title=note or None, title_fontsize=8.5,
    )  # fmt: skip
    legend.get_title().set_color(PALE_INK)
