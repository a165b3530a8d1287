"""Forecasts: whether jobs of logs start when forecasts say, on the second halves of logs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from experiments.campaigns import Cell, Claim, Results, Scale, Study
from experiments.campaigns.cell import Rows
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Sentence, read_sentences
from experiments.forecasting import Futures, Present, that_waited, with_limits
from experiments.inputs import WorkloadFile
from experiments.levels import ENDS, Forecast, Levels, PastForecasts
from experiments.studies.forecasts.results import ForecastResults, make_table
from simmodels import HOUR, RequestError, simulate
from simmodels.ground.numbers import Ints
from simmodels.policies.queue_options import QueueOptions

SENTENCES: Final = read_sentences(Path(__file__).with_name("claims.csv"), Sentence, ("expected",), {})


class Forecasts(Study):
    """Whether jobs start when forecasts say.

    Each log is replayed under a policy. Jobs that do not start at once are drawn by chance from its second half; at the
    submission of each, its start is forecast from the jobs that had begun, ended and come by then, corrected by the
    forecasts before it: of those jobs, and of `past` jobs of the first half. What the replay goes on with is the truth.
    Beside it stands what the limits alone say.
    """

    parameters = {
        "cores": None,
        "clean": "strong",
        "order": "FCFS",
        "backfilling": "easy",
        "threshold_h": None,
        "futures": 200,
        "jobs": 40,
        "past": 200,
    }
    factors = {"workload": ("",)}
    scales = {
        "smoke": Scale(replications=2, judged=False, parameters={"futures": 20, "jobs": 5, "past": 20}),
        "small": Scale(replications=10),
        "paper": Scale(replications=50),
    }
    measures = ("within_90", "within_50", "error_h", "error_of_limits_h")
    drawn_by = "experiments.studies.forecasts.figures:draw_figures"

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return the logs, in order of submission, without jobs of unknown cores or runtime."""
        design = self.design(scale)
        found = {}
        for path in map(str, design.factors["workload"]):
            if not path:
                raise RequestError("there is no log to forecast", "add --workload FILE,...")
            log = WorkloadFile.of({**design.parameters, "workload": path}, drop_oversized=True).read()
            log = log.take(log.known())
            found[path] = with_limits(log.take(np.argsort(log.submit_s, kind="stable")))
        return found

    def uses(self, cell: Cell) -> tuple[str, ...]:
        """Return the log of a cell."""
        return (cell["workload"],)

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells of the design, if its numbers are in their ranges."""
        design = self.design(scale)
        design.require_integers(1, "futures", "jobs")
        design.require_integers(0, "past")
        _options(design.parameters)
        yield from super().cells(scale, seed)

    def run_cell(self, cell: Cell) -> Rows:
        """Return one row per job: when it started, and what was forecast at its submission."""
        log = cell.inputs[cell["workload"]]
        options, cores = _options(cell.parameters), log.max_cores or 1
        truth = simulate(log, cores=cores, **options.by_name())
        wait_s = truth.start_s - log.submit_s
        waited = that_waited(log, truth.start_s, np.inf)
        half = len(log) // 2
        futures = Futures(log, cores=cores, options=options, seed=cell.seed_for("futures"))
        past = PastForecasts()
        rows = []
        for row in (*_drawn(cell, "past", waited[waited < half]), *_drawn(cell, "jobs", waited[waited >= half])):
            present = futures.go_to(float(log.submit_s[row]))
            forecast = present.forecast(int(log.job_id[row]), futures=cell["futures"])
            if row >= half:
                rows.append(
                    _row(present, int(log.job_id[row]), forecast, past.levels(present.at_s), float(wait_s[row]))
                )
            past.add(forecast, float(truth.start_s[row]))
        return rows

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return one row per log: how many jobs started within the intervals, and how large the errors are."""
        return {"how forecasts did": make_table(ForecastResults(results))}

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return what is expected of forecasts, log by log."""
        found = ForecastResults(results)
        return [claim for path in found.subjects for claim in judge(found, SENTENCES["expected"], path)]


def _drawn(cell: Cell, name: str, waited: Ints) -> list[int]:
    """Return rows of jobs that waited, drawn by chance, rising: as many as a parameter of the cell says, or all."""
    found: list[int] = np.sort(cell.stream(name).choice(waited, min(cell[name], len(waited)), replace=False)).tolist()
    return found


def _row(present: Present, job: int, forecast: Forecast, levels: Levels, wait_s: float) -> dict[str, Any]:
    """Return the forecast for a job of a log, and what became of it."""
    least, low, middle, high, most = forecast.waits_s(*levels.of(*ENDS))
    drawn_least, *_, drawn_most = forecast.waits_s(*ENDS)
    by_limits_s = present.by_limits(job) - present.at_s
    return {
        "job": job,
        "wait_h": wait_s / HOUR,
        "present": len(present.snapshot.jobs),
        "corrected_by": levels.count,
        "median_h": middle / HOUR,
        "by_limits_h": by_limits_s / HOUR,
        "within_90": float(least <= wait_s <= most),
        "within_90_drawn": float(drawn_least <= wait_s <= drawn_most),
        "within_50": float(low <= wait_s <= high),
        "level": levels.share_of(forecast.level_of(wait_s)),
        "width_h": (most - least) / HOUR,
        "error_h": abs(middle - wait_s) / HOUR,
        "error_of_limits_h": abs(by_limits_s - wait_s) / HOUR,
    }


def _options(parameters: Mapping[str, Any]) -> QueueOptions:
    """Return how the queue is scheduled."""
    threshold_h = parameters["threshold_h"]
    return QueueOptions.checked(
        order=parameters["order"],
        backfilling=parameters["backfilling"],
        threshold_s=None if threshold_h is None else threshold_h * HOUR,
    )
