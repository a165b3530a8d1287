"""The figure of the front: what cannot be better in one respect without being worse in another."""

from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.drawing import INK, PALE_INK, PALETTE, STYLE, label_plainly
from experiments.studies.advice.settings import PRIORITIES
from experiments.studies.advice.verdict import Option, front

_KINDS: Final = (
    ("an order with a threshold", "o"),
    ("an order without a threshold", "^"),
    ("a priority that can be entered", "s"),
)
_RESPECTS: Final = (("p99_h", "99th percentile of the wait (h)"), ("longest_h", "longest wait (h)"))


def front_figure(options: Sequence[Option], now: Option, then: Option | None) -> Figure:
    """Return the mean wait of all options against the 99th percentile and the longest wait, with the front."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 4.2))
        panels = figure.subplots(1, 2)
        for axes, (respect, label) in zip(panels, _RESPECTS, strict=True):
            _draw(axes, options, respect, now, then)
            axes.set_xlabel("mean wait (h)")
            axes.set_ylabel(label)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=len(labels))
        figure.text(
            0.5,
            0.01,
            "filled: no other is as good in mean wait, 99th percentile and longest wait at once",
            ha="center",
            color=PALE_INK,
        )
        figure.tight_layout(rect=(0, 0.04, 1, 0.93))
    return figure


def _draw(axes: Axes, options: Sequence[Option], respect: str, now: Option, then: Option | None) -> None:
    """Draw all options as points, those of the front full, now and what to change to by name."""
    chosen = front(options)
    for number, (kind, marker) in enumerate(_KINDS):
        mine = [option for option in options if _kind(option) == number]
        for full in (False, True):
            some = [option for option in mine if (option in chosen) is full]
            axes.scatter(
                [option.mean_h for option in some],
                [getattr(option, respect) for option in some],
                marker=marker,
                s=26,
                facecolor=PALETTE[number] if full else "none",
                edgecolor=PALETTE[number],
                label=kind if full else None,
            )
    for option, name in ((now, "now"), (then, "advised")):
        if option is not None:
            place = option.mean_h, getattr(option, respect)
            axes.annotate(
                name, place, xytext=(-34, 26), textcoords="offset points", color=INK, weight="bold",
                arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.8},
            )  # fmt: skip
    if min(getattr(option, respect) for option in options) > 0:
        axes.set_yscale("log")
        label_plainly(axes)
    axes.grid(visible=True, which="major")


def _kind(option: Option) -> int:
    """Return which of the kinds it is of."""
    if option.policy in PRIORITIES:
        return 2
    return 1 if option.threshold_h is None else 0
