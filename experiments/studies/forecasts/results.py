"""What is asked of the results of forecasts: the jobs of each log, and a table of them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns import bootstrap
from experiments.campaigns.cell import REPLICATION
from experiments.campaigns.families import Evidence
from experiments.campaigns.judging import StudyResults, Values
from experiments.campaigns.sentences import Sentence
from experiments.levels import ENDS
from experiments.studies.naming import log_name

LEAST_H: Final = 1 / 3600
"""An error is not compared with less than a second."""
_ERRORS: Final = ("error_h", "error_of_limits_h")


def _error(found: "ForecastResults", said: Sentence, on: Sequence[str]) -> Evidence:  # noqa: ARG001  as all are
    """Return the median error as a part of that of limits taken for runtimes: the median over the replications."""
    medians = [found.value(column, "", on[0]).groupby(level=REPLICATION).median() for column in _ERRORS]
    parts = (medians[0] / medians[1].clip(lower=LEAST_H)).to_numpy()
    return Evidence(bootstrap(parts, statistic="median", seed=found.results.seed))


class ForecastResults(StudyResults):
    """The results of the study, as they are asked for: a value a job, by the log."""

    measures = {"error": _error}
    decide = ""

    @cached_property
    def jobs(self) -> dict[str, pd.DataFrame]:
        """The rows of each log that has any."""
        table = self.results.table
        if "wait_h" not in table:
            return {}
        known = table.dropna(subset=["wait_h"]).set_index(REPLICATION)
        parts = {path: known[known["workload"] == path] for path in self.results.texts("workload")}
        return {path: part for path, part in parts.items() if len(part)}

    @property
    def subjects(self) -> list[str]:
        """The files of the logs."""
        return list(self.jobs)

    def value(self, column: str, alternative: str, subject: str, **moved: Any) -> Values:  # noqa: ANN401, ARG002
        """Return a column of the jobs of a log, by replication."""
        return self.jobs[subject][column]

    def text(self, said: Sentence, on: Sequence[str]) -> str:
        """Return a sentence with the name of its log."""
        return said.text.format(on=log_name(on[0]))


def make_table(found: ForecastResults) -> pd.DataFrame:
    """Return one row per log: how many jobs started within the intervals, and how large the errors are."""
    rows = []
    for path, of in found.jobs.items():
        error_h, by_limits_h = (float(of[column].median()) for column in _ERRORS)
        rows.append(
            {
                "log": log_name(path),
                "jobs": len(of),
                "within intervals of 90 % (%)": 100 * of["within_90"].mean(),
                "without correction (%)": 100 * of["within_90_drawn"].mean(),
                "of 50 % (%)": 100 * of["within_50"].mean(),
                "before the 5 % level (%)": 100 * np.mean(of["level"] < ENDS[0]),
                "after the 95 % level (%)": 100 * np.mean(of["level"] > ENDS[-1]),
                "median wait (h)": of["wait_h"].median(),
                "median width of 90 % (h)": of["width_h"].median(),
                "median error (h)": error_h,
                "of limits (h)": by_limits_h,
                "error as a part of that of limits": error_h / max(by_limits_h, LEAST_H),
            }
        )
    return pd.DataFrame(rows)
