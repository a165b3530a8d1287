"""The figure of forecasts: how often starts were below each level."""

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import INK, PALETTE, STYLE, as_label
from experiments.studies.forecasts.results import ForecastResults
from experiments.studies.naming import log_name


def draw_figures(found: ForecastResults) -> dict[str, Figure]:
    """Return how often starts were below each level of their forecasts, one line per log."""
    if not found.jobs:
        return {}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.6))
        axes = figure.add_subplot()
        axes.plot((0, 100), (0, 100), color=INK, linewidth=0.8, linestyle="--")
        for number, (path, of) in enumerate(found.jobs.items()):
            level = 100 * np.sort(of["level"])
            share = 100 * np.arange(1, len(level) + 1) / len(level)
            line = "-" if number < len(PALETTE) else ":"
            axes.step(
                level, share, where="post", color=PALETTE[number % len(PALETTE)], linestyle=line,
                label=as_label(log_name(path)),
            )  # fmt: skip
        axes.set_xlabel("level of the forecast (% of its futures)")
        axes.set_ylabel("share of the jobs that started by it (%)")
        axes.grid()
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.tight_layout()
    return {"How often starts were below the levels of forecasts": figure}
