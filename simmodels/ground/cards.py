"""Cards: what a notebook shows of an object, as a title, figures of merit and a small chart in HTML and SVG.

Text has the colour of its surroundings, so that cards read well on a light and on a dark page; the colours of charts
are two of Okabe and Ito (2008), which are distinct for all common kinds of colour vision.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

import numpy as np

from simmodels.ground.numbers import Floats

BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
SLICES: Final = 240
"""As many slices of time a chart has at most."""

_WIDTH: Final = 720
_HEIGHT: Final = 56
_ABOVE: Final = 16  # for the label


def card(title: str, figures: Mapping[str, str], *charts: str) -> str:
    """Return the HTML of a card.

    Parameters
    ----------
    title
        What it is.
    figures
        Figures of merit as they are shown, by name.
    charts
        Charts that `line_chart` and `tiles` made.
    """
    cells = "".join(
        f'<div style="margin-right:1.6em"><div style="opacity:.65;font-size:85%">{escape(name)}</div>'
        f'<div style="font-size:110%">{escape(value)}</div></div>'
        for name, value in figures.items()
    )
    return (
        f'<div style="max-width:{_WIDTH}px;line-height:1.35"><div style="font-weight:600">{escape(title)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;margin:.35em 0">{cells}</div>{"".join(charts)}</div>'
    )


def line_chart(
    values: Floats, label: str, *, colour: str = BLUE, line: float | None = None, ends: tuple[str, str] | None = None
) -> str:
    """Return a chart of a quantity in equal slices of time.

    Parameters
    ----------
    values
        float64[n], n >= 1, the mean of each slice.
    label
        What it is of.
    colour
        Its colour.
    line
        Where a dashed line stands, such as the size of the machine; None for none.
    ends
        What the two ends of the axis are called; None for no axis.
    """
    most = max(float(np.nanmax(values, initial=0.0)), line or 0.0) or 1.0
    bottom = _ABOVE + _HEIGHT
    heights = bottom - _HEIGHT * np.nan_to_num(np.asarray(values, np.float64)) / most
    edges = np.linspace(0, _WIDTH, len(heights) + 1)
    path = "".join(f"H{x:.1f}V{y:.1f}" for x, y in zip(edges[:-1], heights, strict=True))
    drawn = [
        _text(0, _ABOVE - 5, label),
        f'<path d="M0,{bottom}{path}H{_WIDTH}V{bottom}Z" fill="{colour}" fill-opacity=".3" stroke="{colour}"/>',
    ]
    if line is not None:
        y = bottom - _HEIGHT * line / most
        drawn.append(f'<path d="M0,{y:.1f}H{_WIDTH}" stroke="currentColor" stroke-dasharray="5 4" fill="none"/>')
    height = bottom + 2
    if ends is not None:
        height += 14
        drawn += [_text(0, height - 2, ends[0]), _text(_WIDTH, height - 2, ends[1], anchor="end")]
    return _svg(height, label, drawn)


def tiles(shares: Sequence[float | None], label: str) -> str:
    """Return a row of tiles, each filled from below by a share; an outline of dashes for None, such as a machine off.

    Parameters
    ----------
    shares
        The share of each, from 0 to 1, or None.
    label
        What they are.
    """
    across = max(min(len(shares), 60), 1)
    wide = min(_WIDTH / across, 48.0)
    drawn = [_text(0, _ABOVE - 5, label)]
    for place, share in enumerate(shares):
        x, y = place % across * wide, _ABOVE + place // across * 26
        box = f'x="{x + 1:.1f}" width="{wide - 2:.1f}"'
        if share:
            full = 22 * share
            drawn.append(f'<rect {box} y="{y + 22 - full:.1f}" height="{full:.1f}" fill="{BLUE}" fill-opacity=".6"/>')
        dashes = ' stroke-dasharray="3 3" stroke-opacity=".5"' if share is None else ""
        drawn.append(f'<rect {box} y="{y}" height="22" fill="none" stroke="currentColor"{dashes}/>')
    rows = -(-len(shares) // across)
    return _svg(_ABOVE + 26 * rows + 2, label, drawn)


def bars(values: Mapping[str, float], label: str) -> str:
    """Return a row for each value, with a bar as long as the value.

    Parameters
    ----------
    values
        The values by name; NaN and values below 0 have no bar, and infinity has one as long as the longest.
    label
        What they are.
    """
    most = max((value for value in values.values() if 0 < value < math.inf), default=1.0)
    first, high = 0.3 * _WIDTH, 18
    drawn = [_text(0, _ABOVE - 5, label)]
    for place, (name, value) in enumerate(values.items()):
        y = _ABOVE + place * high
        long = 0.0 if np.isnan(value) else min(max(value, 0.0) / most, 1.0) * (0.58 * _WIDTH)
        drawn += [
            _text(first - 8, y + 12, name, anchor="end"),
            f'<rect x="{first:g}" y="{y + 3}" width="{long:.1f}" height="{high - 6}" fill="{BLUE}" fill-opacity=".6"/>',
            _text(first + long + 6, y + 12, number(value)),
        ]
    return _svg(_ABOVE + high * len(values) + 2, label, drawn)


def levels(columns: Sequence[Sequence[int]], edges: Sequence[tuple[int, int]], label: str) -> str:
    """Return a graph drawn in columns, from left to right.

    Parameters
    ----------
    columns
        The numbers of the nodes of each column.
    edges
        Pairs of nodes.
    label
        What it is.
    """
    high = max(2 * _HEIGHT, 14 * max(map(len, columns)))
    at = {
        node: ((number + 0.5) * _WIDTH / len(columns), _ABOVE + (place + 0.5) * high / len(column))
        for number, column in enumerate(columns)
        for place, node in enumerate(column)
    }
    ways = "".join(f"M{at[a][0]:.1f},{at[a][1]:.1f}L{at[b][0]:.1f},{at[b][1]:.1f}" for a, b in edges)
    drawn = [_text(0, _ABOVE - 5, label), f'<path d="{ways}" stroke="currentColor" stroke-opacity=".35" fill="none"/>']
    drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{BLUE}"/>' for x, y in at.values()]
    return _svg(_ABOVE + high, label, drawn)


def _svg(height: float, label: str, drawn: Sequence[str]) -> str:
    """Return a drawing as wide as its surroundings let it be."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" role="img"'
    return f'{head} aria-label="{escape(label)}" style="display:block;width:100%">{"".join(drawn)}</svg>'


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    """Return a small text."""
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} font-size="11" fill="currentColor" fill-opacity=".75">{escape(text)}</text>'


def sliced(time_s: Floats, value: Floats, window_s: tuple[float, float]) -> Floats:
    """Return the mean of a step function in each of `SLICES` equal slices of a window; 0 before its first step.

    Parameters
    ----------
    time_s, value
        float64[n], sorted: each value holds from its instant to the next.
    window_s
        First and last instant.
    """
    low_s, high_s = window_s
    if not len(time_s) or high_s <= low_s:
        return np.zeros(SLICES)
    # Far from zero, floats cannot distinguish instants within a slice.
    time_s, edges = time_s - low_s, np.linspace(0.0, high_s - low_s, SLICES + 1)
    area = np.concatenate(([0.0], np.cumsum(value[:-1] * np.diff(time_s))))
    at = np.searchsorted(time_s, edges, side="right") - 1
    found = np.where(at >= 0, area[at] + value[at] * (edges - time_s[at]), 0.0)
    return np.asarray(np.diff(found) / np.diff(edges), np.float64)


def number(value: float) -> str:
    """Return a number as cards, tables and reports show it: to four digits, from a thousand on ``12,346``.

    Its zeros at the end stay, so that the digits of a column are comparable; a claim's numbers stand in sentences, and
    the ticks of an axis at exact places, so these have forms of their own.
    """
    if not np.isfinite(value):
        return "none" if np.isnan(value) else str(value)
    if value == int(value) or abs(value) >= 999.95:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) < 0.1 else f"{value:.{3 - math.floor(math.log10(abs(value)))}f}"


def share(value: float) -> str:
    """Return a share in per cent."""
    return number(value) if np.isnan(value) else f"{100 * value:.1f} %"
