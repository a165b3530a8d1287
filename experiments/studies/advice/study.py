"""Advice: which order, and which threshold, would have been best on a log of one's own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import numpy as np
import pandas as pd

import simmodels as sm
from experiments.calibration import calibrate, share_without_limits
from experiments.campaigns import Cell, Results, Scale, Study
from experiments.campaigns.cell import REPLICATION, Rows
from experiments.campaigns.study import Figures
from experiments.inputs import WorkloadFile
from experiments.studies.advice import settings
from experiments.studies.advice.answer import Advised, lines_of, worse_for
from experiments.studies.advice.limits import FoundLimits, effect_of, find_limits
from experiments.studies.advice.results import answer_tables, doubts_of, doubts_of_runs, options_of, tuners_of
from experiments.studies.advice.verdict import Option, front, judge
from simmodels.errors import must_be, require_known
from simmodels.ground.durations import as_hours
from simmodels.policies.queue_options import QueueOptions
from simmodels.results.logged import AS_LOGGED, logged_wait_s
from workloads import resample
from workloads.resampling import whole_weeks

_INPUT: Final = "replays"
_MOST_WEEKS: Final = 104
_PRIORITY: Final = "priority"


class Advice(Study):
    """Which order would be best for this cluster.

    Orders with thresholds, and priorities that can be entered into a batch system, are run on the log itself, and on
    resamples of it (weeks drawn from those of its users), which say how far the answer is luck. Tuners, with the first
    of the thresholds, say how soon the answer could have been found while the machine ran. Where ``current`` is one of
    them, or ``auto``, first come, first served is run with other backfillings, too. Under ``limits`` there are no
    tuners, which know of none.
    """

    parameters = {
        "workload": "",
        "cores": None,
        "clean": "strong,ends",
        "current": "FCFS",
        "limits": settings.AUTO,
        "weeks": None,
        "node_cores": 1,
        "partition": "",
        "queue": "",
        "timezone": None,
    }
    factors = {
        "trace": (settings.LOG, settings.RESAMPLE),
        "policy": (*settings.FIXED, *settings.TUNERS),
        "threshold_h": (40.0, 160.0, None),
    }
    scales = {
        "smoke": Scale(replications=5, judged=False, parameters={"weeks": 4}),
        "small": Scale(replications=10),
        "paper": Scale(replications=50),
    }
    measures = ("mean_wait_s", "p95_wait_s", "p99_wait_s", "max_wait_s", "mean_bounded_slowdown")

    def __init__(self, /, **chosen: Any) -> None:  # noqa: ANN401  as of all studies
        current = chosen.get("current")
        if isinstance(current, str):  # case does not matter
            chosen["current"] = next(
                (name for name in (*settings.FIXED, settings.AUTO) if name.lower() == current.lower()), current
            )
        super().__init__(**chosen)
        self._found_last: tuple[Results, Advised | None] | None = None
        self._schedules: dict[tuple[str, float | None, sm.Limits | None], sm.Schedule] = {}

    @property
    def _given(self) -> dict[str, Any]:
        """The parameters that are the same at all scales."""
        return {**self.parameters, **self.chosen}

    @cached_property
    def _as_read(self) -> sm.Workload:
        """The log, cleaned, read once."""
        if not self._given["workload"]:
            raise sm.RequestError("there is no log to advise on", "add --workload FILE")
        return WorkloadFile.of(self._given, drop_oversized=True).read()

    @cached_property
    def _limits(self) -> FoundLimits:
        """The limits under which the log is replayed, and what else is read off it."""
        of, log = self._given, self._as_read
        current = "FCFS" if of["current"] == settings.AUTO else of["current"]
        free = settings.Replays(log=log, node_cores=of["node_cores"])
        return find_limits(str(of["limits"]), log, lambda: free.schedule(current))

    @cached_property
    def _replays(self) -> settings.Replays:
        """How the log, of a machine with the cores in service, is replayed."""
        found = self._limits
        log, node_cores = found.used.on(self._as_read), self._given["node_cores"]
        return settings.Replays(log=log, node_cores=node_cores, limits=found.limits, ahead=found.used.ahead)

    @property
    def _log(self) -> sm.Workload:
        return self._replays.log

    def inputs(self, scale: str) -> Mapping[str, Any]:  # noqa: ARG002  the same at all scales
        """Return how the log is replayed."""
        return {_INPUT: self._replays}

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells: the log once; a resample in each replication, with tuners."""
        design = self.design(scale)
        current = str(design.parameters["current"])
        allowed = [name for name in design.factors["policy"] if name in settings.FIXED]
        if current == settings.AUTO:
            if np.isnan(logged_wait_s(self._log)).all():
                raise sm.RequestError("--current auto: the log does not say when its jobs started", "name an order")
        else:
            # The error lists what the name may have meant: the twenty priorities, or all else.
            entered = current.startswith(_PRIORITY)
            known = [name for name in (*allowed, settings.AUTO) if name.startswith(_PRIORITY) == entered]
            require_known("current order", current, known)
        design.require_integers(1, "weeks", or_none=True)
        node_cores = design.parameters["node_cores"]
        most = self._log.max_cores or 1
        if not (isinstance(node_cores, int) and 1 <= node_cores <= most):
            raise sm.RequestError(
                must_be("node_cores", f"an integer from 1 to {most}, the machine's cores,", node_cores)
            )
        first, last = design.factors["threshold_h"][0], design.factors["threshold_h"][-1]
        differ = whole_weeks(self._log) > 1  # of one week all resamples are equal
        for cell in super().cells(scale, seed):
            on_log, policy = cell["trace"] == settings.LOG, cell["policy"]
            if policy in sm.TWELVE_ORDERS:
                fits = True
            elif policy in settings.TUNERS:
                fits = not on_log and cell["threshold_h"] == first and self._limits.limits is None
            else:
                asked = policy not in settings.BACKFILLINGS or current in {settings.AUTO, policy}
                fits = asked and cell["threshold_h"] == last
            if fits and (cell.replication == 0 if on_log else differ):
                yield cell

    def run_cell(self, cell: Cell) -> Rows:
        """Return the figures of merit of one simulation; of a tuner also which order it used, week by week."""
        replays: settings.Replays = cell.inputs[_INPUT]
        policy: str = cell["policy"]
        log, limits, ahead = replays.log, replays.limits, replays.ahead
        if cell["trace"] == settings.LOG:
            schedule = _scheduled(replays, log, cell)
            return {**_measured(schedule), "apart": _apart(schedule)}
        weeks = cell["weeks"] or min(_MOST_WEEKS, whole_weeks(log))
        columns = (*(() if limits is None else limits.columns), *(() if ahead is None else (ahead.by,)))
        columns = tuple(name for name in columns if name in log.extras)  # users may have numbers only
        trace = _resample(log, weeks=weeks, seed=cell.seed, index=cell.replication, columns=columns)
        if policy in settings.TUNERS:
            strategy, period_s = settings.TUNERS[policy]
            options = QueueOptions.checked(threshold_s=settings.in_seconds(cell["threshold_h"]))
            seed = cell.seed_for("tuner")
            cores = trace.max_cores or 0
            tuned = sm.replay_tuned(
                trace, strategy, cores=cores, options=options, period_s=period_s, seed=seed, name=policy
            )
            return [_measured(tuned.schedule), *_by_week(tuned.tuning_run.used, period_s)]
        return _measured(_scheduled(replays, trace, cell))

    # -- what is reported ---------------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return the log as it was beside its replay, the front, all that was run, and tuners."""
        found = self._found(results)
        return {} if found is None else {**answer_tables(found), "tuners": tuners_of(results)}

    def figures(self, results: Results) -> Figures:
        """Return the waits as logged and replayed, the front, and the waits of the orders on resamples."""
        from experiments.campaigns.plots import boxes  # noqa: PLC0415  matplotlib is slow to import
        from experiments.figures import distributions  # noqa: PLC0415  the same
        from experiments.studies.advice.figures import front_figure  # noqa: PLC0415  the same

        found = self._found(results)
        if found is None:
            return {}
        now = found.verdict.now
        figures: dict[str, Any] = {}
        if found.calibration is not None:
            both = {AS_LOGGED: sm.as_logged(self._log), f"replayed, {now.in_words()}": self._under(now)}
            figures["Waits, as logged and replayed"] = distributions(both, title="Waits, as logged and replayed")
        figures["Mean waits against the longest ones"] = front_figure(found.choices(), now, found.verdict.advised)
        shown = _in_hours(results)
        if shown.table.empty:
            return figures
        for measure in ("mean wait (h)", "longest wait (h)"):
            name = f"{measure.removesuffix(' (h)').capitalize()} on resamples"
            figures[name] = boxes(shown, measure, by="order", within="with", logarithmic=True)
        return figures

    def findings(self, results: Results) -> Sequence[str]:
        """Return the advice: the verdict, and at most five lines more."""
        found = self._found(results)
        return [] if found is None else list(lines_of(found))

    def files(self, results: Results) -> Mapping[str, str]:
        """Return what is to be entered into a batch system."""
        found = self._found(results)
        then = None if found is None else found.verdict.advised
        if then is None or then.policy not in settings.PRIORITIES:
            return {}
        about = f"Advice of schedlab for {self._log.name}; mean wait of the replay: {as_hours(then.mean_h)}."
        if not results.judged or results.done < results.cells:
            about += " A first impression only: not all was run."
        return self._replays.priority(then.policy).files(then.longest_h * sm.HOUR, about)

    def answer(self, results: Results) -> Mapping[str, Any]:
        """Return the verdict and what it rests on, by name: see ``docs/reference/advice.schema.json``."""
        found = self._found(results)
        if found is None:
            return {}
        verdict = found.verdict
        then, beyond = verdict.advised, verdict.remark
        entered = (
            None if then is None or then.policy not in settings.PRIORITIES else self._replays.priority(then.policy)
        )
        return {
            "verdict": verdict.kind,
            "weak": verdict.weak,
            "replay_matches": verdict.kind != "no match",
            "now": verdict.now.table(),
            "change_to": None if then is None else then.table(),
            "waits_longer": None if found.worse is None else found.worse.table(),
            "shortest_mean": verdict.shortest.table(),
            "to_enter": None if then is None else {**then.table(), "priority": entered and entered.table()},
            "cannot_be_entered": None if beyond is None else beyond.table(),
            "front": [option.table() for option in front(found.choices())],
            "limits": None if found.effect is None else found.effect.table(found.limits),
            "calibration": None if found.calibration is None else found.calibration.table(),
            "warnings": [doubt.full for doubt in found.doubts],
        }

    def _found(self, results: Results) -> Advised | None:
        """Return what the answer rests on; None if the current policy is not run yet, or failed."""
        if self._found_last is None or self._found_last[0] is not results:
            self._found_last = results, self._judged(results)
        return self._found_last[1]

    def _judged(self, results: Results) -> Advised | None:
        """Return what `_found` keeps."""
        options, now = options_of(results)
        if now is None:
            return None
        log, replayed, limits = self._log, self._under(now), self._limits.limits
        calibration = calibrate(replayed)
        mean_runtime_h = float(log.runtime_s[log.known()].mean()) / sm.HOUR
        unlimited = share_without_limits(log)
        verdict = judge(options, now, calibration, mean_runtime_h=mean_runtime_h, unlimited=unlimited)
        return Advised(
            log=log,
            options=options,
            calibration=calibration,
            fitted=results.parameters["current"] == settings.AUTO,
            verdict=verdict,
            worse=None if verdict.advised is None else worse_for(replayed, self._under(verdict.advised)),
            doubts=(*doubts_of(log, calibration), *doubts_of_runs(results, now)),
            limits=self._limits,
            effect=None
            if limits is None
            else effect_of(limits, replayed, partial(self._simulated, now.policy, now.threshold_h)),
        )

    def _under(self, option: Option) -> sm.Schedule:
        """Return the schedule of the log under an option."""
        return self._simulated(option.policy, option.threshold_h, self._limits.limits)

    def _simulated(self, policy: str, threshold_h: float | None, limits: sm.Limits | None) -> sm.Schedule:
        """Return the schedule of the log under a policy and limits, simulated once."""
        key = policy, threshold_h, limits
        if key not in self._schedules:
            self._schedules[key] = replace(self._replays, limits=limits).schedule(policy, threshold_h)
        return self._schedules[key]


# The cells of a replication follow each other: the last trace is kept, and its schedule under the order that no
# threshold changes.
_resample: Final = lru_cache(maxsize=1)(resample)


_first_come: Final = lru_cache(maxsize=1)(settings.Replays.schedule)


def _scheduled(replays: settings.Replays, trace: sm.Workload, cell: Cell) -> sm.Schedule:
    """Return the schedule of a trace."""
    if cell["policy"] == "FCFS":
        return _first_come(replays, "FCFS", None, trace)
    return replays.schedule(cell["policy"], cell["threshold_h"], trace)


def _in_hours(results: Results) -> Results:
    """Return the waits of the orders on resamples, in hours, with thresholds in words."""
    table = results.table
    chosen = table[(table["trace"] == settings.RESAMPLE) & table["policy"].isin(sm.TWELVE_ORDERS)].dropna(
        subset=["mean_wait_s"]
    )
    values = results.factors["threshold_h"]
    words = [_in_a_legend(value) for value in values]
    place = [_in_a_legend(None if np.isnan(hours) else hours) for hours in chosen["threshold_h"].astype(np.float64)]
    shown = pd.DataFrame(
        {
            "order": chosen["policy"],
            "with": place,
            REPLICATION: chosen[REPLICATION],
            "mean wait (h)": chosen["mean_wait_s"] / sm.HOUR,
            "longest wait (h)": chosen["max_wait_s"] / sm.HOUR,
        }
    )
    names = [name for name in results.factors["policy"] if name in sm.TWELVE_ORDERS]
    return replace(results, table=shown, factors={"order": names, "with": words})


def _in_a_legend(threshold_h: object) -> str:
    """Return a threshold as it stands in a legend, after the word with."""
    return "no threshold" if threshold_h is None else settings.in_words(threshold_h).removeprefix("with ")


def _apart(schedule: sm.Schedule) -> float | None:
    """Return how far waits are from those of the log; see `Option`. None if the log does not say."""
    wait_s, replayed_s = logged_wait_s(schedule.workload), schedule.start_s - schedule.workload.submit_s
    both = ~np.isnan(wait_s) & ~np.isnan(replayed_s)
    if not both.any():
        return None
    return float(np.abs(np.log10((replayed_s[both] + sm.MINUTE) / (wait_s[both] + sm.MINUTE))).mean())


def _measured(schedule: sm.Schedule) -> dict[str, Any]:
    """Return the figures of merit that are reported."""
    metrics = schedule.metrics()
    ended = schedule.counted & ~np.isnan(schedule.end_s)
    waits_s = (schedule.start_s - schedule.workload.submit_s)[ended]
    metrics["p99_wait_s"] = float(np.percentile(waits_s, 99)) if len(waits_s) else np.nan
    return {name: metrics[name] for name in (*Advice.measures, "utilisation", "jobs")}


def _by_week(used: Sequence[int], period_s: float) -> Iterator[dict[str, Any]]:
    """Hand out one row per week: the order used in most of its periods; of several, the first in the list of orders."""
    week = (np.arange(len(used)) * period_s // sm.WEEK).astype(int)
    for number, orders in pd.Series(used).groupby(week):
        yield {"week": number, "used": sm.TWELVE_ORDERS[orders.mode().iloc[0]]}
