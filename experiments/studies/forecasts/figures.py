"""The figure of forecasts: how often starts were below each level."""

from typing import Final

import numpy as np
import pandas as pd

from experiments.campaigns import Results
from experiments.campaigns.charts import Axis, Chart, Lines, draw_all
from experiments.drawing import INK, Figure
from experiments.studies.forecasts.results import ForecastResults
from experiments.studies.naming import log_name

_EVEN: Final = "_as often as it says"
_LEVELS: Final = Chart(
    mark=Lines(),
    x=Axis("level", "level of the forecast (%)"),
    y=(Axis("share", "share of the jobs that started by it (%)"),),
    by="log",
    look={"drawstyle": "steps-post", "marker": ""},
    styles={_EVEN: {"color": INK, "linewidth": 0.8, "linestyle": "--", "drawstyle": "default"}},
    panel_in=(5.4, 4.3),
)


def draw_figures(results: Results) -> dict[str, Figure]:
    """Return how often starts were below each level of their forecasts, one line per log."""
    found = ForecastResults(results)
    if not found.jobs:
        return {}
    parts = [pd.DataFrame({"level": (0, 100), "share": (0, 100), "log": _EVEN})]
    for path, of in found.jobs.items():
        level = np.sort(of["level"])
        share = np.arange(1, len(level) + 1) / len(level)
        parts.append(pd.DataFrame({"level": 100 * level, "share": 100 * share, "log": log_name(path)}))
    return draw_all([("How often starts were below the levels of forecasts", _LEVELS, pd.concat(parts))])
