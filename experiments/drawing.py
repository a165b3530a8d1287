"""Drawing: what all figures share, from colours and the axis of time to the files they go into."""

import os
import textwrap
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib as mpl
import matplotlib.figure as mpl_figure
import numpy as np
from matplotlib import cbook, ticker
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num, num2date
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from experiments.dates import date_of
from simmodels import DAY, HOUR, MINUTE, SECOND, RequestError, Schedule, Workload
from simmodels.errors import printable
from simmodels.ground.arguments import as_instance
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.files import ending_of, replacing

# Okabe and Ito (2008): distinct for all common kinds of colour vision; their yellow and black are left out.
PALETTE: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A6A4F")
OTHERS: Final = "#B8B8B8"
OUTSIDE: Final = "#DEDEDE"
INK: Final = "#222222"
PALE_INK: Final = "#666666"
_SILENT: Final = {
    "svg": ("Date", "Creator"),
    "png": ("Software",),
    "pdf": ("CreationDate", "ModDate", "Creator", "Producer"),
}
FORMATS: Final = tuple(_SILENT)
_SHOWN_DPI: Final = 84
"""How many pixels an inch of a figure has in a notebook."""

STYLE: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "svg.hashsalt": "schedlab",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "text.usetex": False,
}

_LONG: Final = 100.0
"""A logarithmic axis is long if its end is more than this many times its beginning."""
_MATHS: Final = MathTextParser("path")


class Figure(mpl_figure.Figure):
    """A figure that a notebook shows by itself: it belongs to no window, no pyplot and no global state."""

    def _repr_png_(self) -> tuple[bytes, dict[str, float]]:
        """Return what Jupyter shows: an image of twice as many pixels, for sharp screens, and its size."""
        drawn = BytesIO()
        _draw(self, drawn, dpi=2 * _SHOWN_DPI)
        return drawn.getvalue(), {"width": self.get_figwidth() * _SHOWN_DPI}


class _Unit(NamedTuple):
    """A unit of a time axis, its length and the steps between its ticks."""

    name: str
    length_s: float
    steps: Sequence[float]


_UNITS: Final = (
    _Unit("s", SECOND, (1, 2, 5, 10, 15, 20, 30, 60)),
    _Unit("min", MINUTE, (1, 2, 5, 10, 15, 20, 30, 60)),
    _Unit("h", HOUR, (0.5, 1, 2, 3, 6, 12, 24)),
    _Unit("d", DAY, (0.5, 1, 2, 5, 7, 10, 20, 30, 50, 100, 200, 500)),
)
DURATIONS: Final = {  # where a logarithmic axis of durations has its ticks
    1.0: "1 s",
    10.0: "10 s",
    MINUTE: "1 min",
    10 * MINUTE: "10 min",
    HOUR: "1 h",
    6 * HOUR: "6 h",
    DAY: "1 d",
    7 * DAY: "7 d",
    30 * DAY: "30 d",
    365 * DAY: "1 y",
    3650 * DAY: "10 y",
}


def headline(what: str, schedule: Schedule) -> str:
    """Return a title: what is shown, of which workload, under which bid, heuristic or order, and backfilling."""
    about = schedule.about
    parts = [schedule.workload.name]
    for each in (about, *_shared_rules(about.get("routers")), *_shared_rules(about.get("schedulers"))):
        parts += [str(each[name]) for name in ("bid", "heuristic", "order") if name in each][:1]
        if each.get("backfilling") not in {None, "none"}:
            parts.append(f"{each['backfilling']} backfilling")
        threshold_s = each.get("threshold_s")
        if isinstance(threshold_s, float):
            parts.append(f"threshold {threshold_s / HOUR:g} h")
    return f"{what}: {', '.join(parts)}"


def _shared_rules(rules: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401  what a schedule knows of its schedulers
    """Return the rules of several schedulers, if all have the same."""
    return [rules[0]] if rules and all(each == rules[0] for each in rules) else []


def as_label(name: str) -> str:
    """Return a name as a label shows it.

    `save` escapes the texts of a figure, but not those of ticks, nor what is drawn before to see how large it is.
    """
    return printable(name, keep="\n").replace("$", r"\$")


def put_title(axes: Axes, text: str) -> None:
    """Put a title on the axes, on as many lines as it needs."""
    axes.set_title(textwrap.fill(text, int(8.5 * size_in(axes)[0])))


def size_in(axes: Axes) -> tuple[float, float]:
    """Return the width and height, in inches, of the figure that the axes belong to."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise RequestError("the axes belong to no figure", "give axes of a figure")
    return float(figure.get_figwidth()), float(figure.get_figheight())


def window_of(
    schedule: Schedule, start_s: Duration | None = None, end_s: Duration | None = None
) -> tuple[float, float]:
    """Return the window to draw: what was asked for, else what was simulated, from the first submit to the last event.

    Raises
    ------
    RequestError
        The window is empty, or the schedule has no jobs.
    """
    if not len(as_instance("schedule", schedule, Schedule)):
        raise RequestError("the schedule has no job to draw", "give one with jobs")
    times = np.concatenate((schedule.workload.submit_s, schedule.start_s, schedule.end_s))
    known = (np.nanmin(times), np.nanmax(times)) if schedule.window is None else schedule.simulated_s
    low = float(known[0]) if start_s is None else as_seconds("start_s", start_s, also="None")
    high = float(known[1]) if end_s is None else as_seconds("end_s", end_s, also="None")
    if start_s is None and end_s is None and low == high:
        high = low + 1.0
    if not low < high:
        raise RequestError(f"the window from {low} s to {high} s is empty", "choose start_s < end_s")
    return low, high


def label_plainly(axes: Axes) -> None:
    """Label a logarithmic y axis with plain numbers: powers of ten, and of a short one 2 and 5 times them, too."""
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0,) if high > _LONG * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    )
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def time_axis(axes: Axes, window_s: tuple[float, float], log: Workload | None = None) -> float:
    """Label the axis of time: with dates if the log knows them, else in the fitting unit.

    Returns
    -------
    float
        The length of the axis's unit, in seconds; its zero is the trace's.
    """
    low_s, high_s = window_s
    span_s = high_s - low_s
    unit = next((unit for unit in reversed(_UNITS) if span_s >= 3.5 * unit.length_s), _UNITS[0])
    axes.set_xlim(low_s / unit.length_s, high_s / unit.length_s)
    if log is not None and _label_with_dates(axes, window_s, log, unit.length_s):
        return unit.length_s
    step = next((step for step in unit.steps if span_s / unit.length_s / step <= 12), None)
    few = span_s < unit.length_s
    axes.xaxis.set_major_locator(ticker.MaxNLocator(10) if step is None or few else ticker.MultipleLocator(step))
    axes.set_xlabel(f"time since the trace's zero ({unit.name})")
    return unit.length_s


def _label_with_dates(axes: Axes, window_s: tuple[float, float], log: Workload, unit_s: float) -> bool:
    """Label the axis of time with dates in the log's time zone; return whether they are known."""
    first, last = (date_of(log, time_s) for time_s in window_s)
    if first is None or last is None:
        return False
    zone = first.tzinfo
    locator = AutoDateLocator(tz=zone, minticks=4, maxticks=10)
    formatter = ConciseDateFormatter(locator, tz=zone)
    dates = [date for date in num2date(locator.tick_values(first, last), tz=zone) if first <= date <= last]
    labels = formatter.format_ticks(date2num(dates)) if dates else []
    named = [f"{date:%b-%d}" if label == "00:00" else label for date, label in zip(dates, labels, strict=True)]
    about = formatter.get_offset()  # that of the last tick; the axis says where it begins, as exactly
    form = "%Y-%b-%d"[: 2 + 3 * about.count("-")] + " %H:%M" * (":" in about)
    ticks = [(date.timestamp() - float(log.start_unix_s or 0)) / unit_s for date in dates]
    axes.xaxis.set_major_locator(ticker.FixedLocator(ticks))
    axes.xaxis.set_major_formatter(ticker.FixedFormatter(named))
    axes.set_xlabel(f"{first.strftime(form) if about else 'date'} ({zone})")
    return True


def grouped(value: float, _position: object = None) -> str:
    """Return a whole number with its thousands set apart, another one to six digits.

    It labels a place on an axis, or a value that the caller has rounded, and so is not rounded to the digits of a
    table's cell (`simmodels.ground.cards.number`) or of a claim (`experiments.campaigns.claims.Claim.shown`).
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a figure's file, by the ending of its name.

    Raises
    ------
    RequestError
        The name ends otherwise.
    """
    return ending_of(path, [f".{kind}" for kind in FORMATS], "the figure's name").removeprefix(".")


def save(figure: mpl_figure.Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG, PNG or PDF, by the name's ending; whole or not at all.

    No date and no program's name goes into the file, and the names within an SVG are fixed: the
    same figure gives the same bytes. Control characters of names are escaped, and a text with dollar
    signs that is no formula is drawn as it is.

    Parameters
    ----------
    figure
        The figure.
    path
        The file; its folder must exist.

    Raises
    ------
    RequestError
        The name ends otherwise.
    FileNotFoundError
        The folder does not exist.

    Examples
    --------
    >>> from pathlib import Path
    >>> from matplotlib.figure import Figure
    >>> from experiments.figures import save
    >>> save(Figure(), "empty.svg")
    >>> Path("empty.svg").exists()
    True
    """
    kind = format_of(path)
    with replacing(path) as temporary:
        _draw(figure, temporary, kind)


def _draw(figure: mpl_figure.Figure, to: Path | BytesIO, kind: str = "png", dpi: int = 150) -> None:
    """Draw a figure into a file: without date, program's name and control characters."""
    for text in figure.findobj(Text):
        _escape(text)
    with mpl.rc_context(STYLE):
        figure.savefig(to, format=kind, dpi=dpi, facecolor="white", metadata=dict.fromkeys(_SILENT[kind]))


def _escape(text: Text) -> None:
    """Have a text of a figure drawn without control characters, and as a formula only if it is one."""
    shown = printable(text.get_text(), keep="\n")
    text.set_text(shown)
    if cbook.is_math_text(shown):
        try:
            _MATHS.parse(shown)
        except ValueError:
            text.set_parse_math(False)
