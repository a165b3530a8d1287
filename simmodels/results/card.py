"""Card: what a notebook shows of a schedule."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from simmodels.ground.cards import ORANGE, card, line_chart, number, share, sliced
from simmodels.ground.durations import duration

if TYPE_CHECKING:
    import pandas as pd

_SHOWN: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "mean_wait_s": ("mean wait", duration),
    "p95_wait_s": ("95 % wait at most", duration),
    "max_wait_s": ("longest wait", duration),
    "mean_bounded_slowdown": ("mean bounded slowdown", number),
    "utilisation": ("cores used", share),
    "value": ("value", share),
    "starved": ("starved", share),
    "mean_slr": ("mean SLR", number),
    "goodput": ("goodput", share),
    "aborted": ("aborted", share),
    "idle": ("idle", share),
    "makespan_s": ("makespan", duration),
    "unfinished": ("jobs unfinished", number),
}


def schedule_card(
    title: str,
    metrics: Mapping[str, float],
    over_time: "Mapping[str, pd.DataFrame]",
    window_s: tuple[float, float],
    cores: int,
) -> str:
    """Return the HTML of a schedule: figures of merit, and its machine and queue over time.

    Parameters
    ----------
    title
        What it is.
    metrics
        Its figures of merit; those that it does not have are left out, and so is a number of unfinished jobs of 0.
    over_time
        Step functions, by what they count: an instant and a value in each row. The first is of cores.
    window_s
        The window that is drawn.
    cores
        The cores of all clusters.
    """
    shown = {
        label: form(metrics[name])
        for name, (label, form) in _SHOWN.items()
        if name in metrics and not (name == "unfinished" and metrics[name] == 0)
    }
    charts = []
    for place, (what, steps) in enumerate(over_time.items()):
        time_s, value = (steps[name].to_numpy(float) for name in steps)
        first = max(int(np.searchsorted(time_s, window_s[0], side="right")) - 1, 0)
        most = value[first : int(np.searchsorted(time_s, window_s[1]))].max(initial=0.0)
        last = place == len(over_time) - 1
        charts.append(
            line_chart(
                sliced(time_s, value, window_s),
                f"{what} ({cores:,} there are)" if place == 0 else f"{what} (at most {number(most)})",
                line=float(cores) if place == 0 else None,
                ends=("0 s", duration(window_s[1] - window_s[0])) if last else None,
                **({} if place == 0 else {"colour": ORANGE}),
            )
        )
    return card(title, shown, *charts)
