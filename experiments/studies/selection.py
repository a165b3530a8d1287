"""Selection: EASY's order chosen online, by simulation or by a bandit, on resampled logs.

References
----------
V. Reis, D. Trystram and others, "Online (bandit) policy selection for EASY-backfilling", draft of 2017.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.campaigns.cell import Cell, Rows
from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.study import Scale, Study
from experiments.inputs import WorkloadFile
from experiments.studies.selection_results import (
    NOISE,
    OTHERS,
    PERIODS,
    TUNERS,
    against_base,
    agreement,
    claim_that_they_differ,
    claims_of,
    last_of,
    name_of,
    regrets,
    settings_of,
)
from simmodels.errors import RequestError, require_known
from simmodels.policies.orders import TWELVE_ORDERS
from simmodels.policies.queue_options import QueueOptions
from simmodels.policies.selection import (
    EXP3,
    UCB1,
    EpsilonGreedy,
    FullFeedback,
    Jobs,
    RandomOrder,
    Strategy,
)
from simmodels.replay.run import Replay
from simmodels.schedule import Schedule
from simmodels.streams import stream
from simmodels.tuning import Feedback, replay_tuned
from simmodels.units import HOUR, WEEK
from simmodels.workload import Workload
from workloads.lublin import lublin
from workloads.resampling import resample
from workloads.tsafrir import tsafrir_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIANTS: Final = ("text", "program")
GENERATED: Final = "generated"
_FILTERS: Final = {"text": "strong", "program": "program"}
_THRESHOLD_S: Final = {"text": 40 * HOUR, "program": 200_000.0}
_KINDS: Final = ("full", "noisy", "bandit", "random", "ucb1", "exp3")
_USERS: Final = 40


class Selection(Study):
    """EASY's order chosen online, by simulation or by a bandit.

    A replication is a resample of each log: two years of weeks drawn from its users' weeks. On it run the twelve
    orders, and four strategies that choose one of them for each day, or each week. ``variant`` is how: ``text`` as the
    paper says, ``program`` with the settings of its simulator; a threshold and a noise that are chosen replace theirs.

    Besides the paper's, a strategy may be ``ucb1`` or ``exp3``, by day or week. ``decay`` is what full feedback and
    epsilon-greedy multiply past costs by, from period to period, and ``epsilon_decay`` the same of epsilon.
    """

    parameters = {
        "weeks": 104, "threshold_h": None, "epsilon": 0.5, "epsilon_decay": 1.0, "decay": 1.0, "noise": None,
        "cores": None,
    }  # fmt: skip
    factors = {"variant": ("text",), "workload": (GENERATED,), "strategy": (*TWELVE_ORDERS, *TUNERS)}
    scales = {
        "smoke": Scale(replications=5, judged=False, parameters={"weeks": 8}),
        "small": Scale(replications=10),
        "paper": Scale(replications=100, factors={"variant": VARIANTS}),
    }
    measures = ("total_wait_s", "mean_wait_s", "mean_bounded_slowdown")

    # -- the cells ----------------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the cells of the design, once its settings are found to be allowed."""
        design = self.design(scale)
        _require_allowed("variant", design.factors["variant"], VARIANTS)
        known = (*TWELVE_ORDERS, *(f"{kind} {period}" for period in PERIODS for kind in _KINDS))
        _require_allowed("strategy", design.factors["strategy"], known)
        weeks, cores, threshold_h = (design.parameters[name] for name in ("weeks", "cores", "threshold_h"))
        for name, value in (("weeks", weeks), ("cores", cores)):
            if not (isinstance(value, int) and value >= 1) and not (name == "cores" and value is None):
                raise RequestError(f"{name} is {value!r}", "an integer >= 1 is allowed")
        if threshold_h is not None and not (isinstance(threshold_h, int | float) and threshold_h >= 0):
            raise RequestError(
                f"threshold_h is {threshold_h!r}", "a number of hours >= 0 is allowed; none: the variant's"
            )
        for variant in design.factors["variant"]:
            for kind in _KINDS:
                _strategy(kind, str(variant), design.parameters)  # it refuses what is not allowed
        return super().cells(scale, seed)

    def inputs(self, scale: str) -> Mapping[str, Any]:
        """Return each log, cleaned as its variant has it."""
        design = self.design(scale)
        cores = design.parameters["cores"]
        found = {}
        for workload in design.factors["workload"]:
            for variant in design.factors["variant"]:
                found[_input(str(workload), str(variant))] = _read(str(workload), str(variant), cores)
        return found

    def uses(self, cell: Cell) -> Collection[str]:
        """Return the log of a cell: another log is no reason to run it again."""
        return (_input(cell["workload"], cell["variant"]),)

    def run_cell(self, cell: Cell) -> Rows:
        """Return one row per week: the waits of jobs that started in it, the orders used; the last row has the sums."""
        log = cell.inputs[_input(cell["workload"], cell["variant"])]
        world = _World.of(log, cell)
        strategy: str = cell["strategy"]
        weeks: int = cell["weeks"]
        if strategy in TWELVE_ORDERS:
            done = Replay(world.trace, cores=world.cores, options=world.options.with_order(strategy, world.second))
            done.run()
            schedule, shares = done.schedule(), None
        else:
            kind, period = strategy.split()
            chosen = _strategy(kind, cell["variant"], cell.parameters)
            tuned = replay_tuned(
                world.trace,
                chosen,
                cores=world.cores,
                options=world.options,
                period_s=PERIODS[period],
                seed=cell.seed_for("tuner", name_of(cell["workload"])),
                name=strategy,
                feedback=world.feedback(period) if chosen.simulates and cell["variant"] == "text" else None,
            )
            schedule = tuned.schedule
            shares = _shares(tuned.course.used, PERIODS[period], weeks)
        return list(_rows(schedule, shares, weeks))

    # -- what is told of them -----------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return tables 2 and 3, the regrets, and how well table 2 agrees with the published one."""
        last = last_of(results)
        strategies = [str(name) for name in results.factors["strategy"] if name not in TWELVE_ORDERS]
        return {
            "table 2: fixed orders against FCFS": against_base(last, OTHERS),
            "table 3: strategies against FCFS": against_base(last, strategies),
            "regret against the best fixed order": regrets(last),
            "agreement with the published table 2": agreement(last),
        }

    def figures(self, results: Results) -> "Mapping[str, Figure]":
        """Return figures 1 to 6 of the paper, for each log and variant."""
        from experiments.studies import selection_figures as drawn  # noqa: PLC0415  matplotlib is slow to import

        found: dict[str, Figure] = {}
        for variant, workload in settings_of(results):
            table = results.where(variant=variant, workload=workload)
            if table.empty:
                continue
            where = f"{name_of(workload)}, {variant}"
            found[f"figure 1: {where}: waits by week"] = drawn.weekly(table)
            found[f"figure 2: {where}: fixed orders"] = drawn.curves(table, OTHERS)
            found[f"figure 3: {where}: strategies, by day"] = drawn.curves(table, _of(results, "day"))
            found[f"figure 4: {where}: strategies, by week"] = drawn.curves(table, _of(results, "week"))
            found[f"figure 5: {where}: orders used, full feedback"] = drawn.shares(table, ("full day", "full week"))
            found[f"figure 6: {where}: orders used, bandit"] = drawn.shares(table, ("bandit day", "bandit week"))
        return found

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return the claims of the paper, log by log, and those about all logs."""
        last = last_of(results)
        return [
            *(claim for setting in settings_of(results) for claim in claims_of(last, *setting)),
            claim_that_they_differ(last),
        ]


def _of(results: Results, period: str) -> tuple[str, ...]:
    return tuple(str(name) for name in results.factors["strategy"] if str(name).endswith(f" {period}"))


def _input(workload: str, variant: str) -> str:
    return f"{workload}, {_FILTERS[variant]}"


def _read(workload: str, variant: str, cores: object) -> Workload:
    """Return a log; or the generated one, of users with habits of their own."""
    if workload != GENERATED:
        size = None if cores is None else int(str(cores))
        return WorkloadFile(path=Path(workload), cores=size, filters=(_FILTERS[variant],), drop_oversized=True).read()
    size = 128 if cores is None else int(str(cores))
    jobs = tsafrir_estimates(lublin(jobs=6_000, cores=size, seed=0, load=0.9), seed=0)
    # A user has a size of job: the users of the model's jobs are drawn around it.
    noise = stream(0, "users").normal(size=len(jobs))
    user_id = np.argsort(np.argsort(np.log2(jobs.cores) + noise)) * _USERS // len(jobs)
    return replace(jobs, user_id=user_id, name=GENERATED)


class _World:
    """What the cells of a replication share: the trace, and what each order would have cost in each period."""

    def __init__(self, log: Workload, seed: int, index: int, weeks: int, threshold_s: float, *, program: bool) -> None:
        if log.max_cores is None:
            raise RequestError(f"the size of the machine of {log.name!r} is unknown", "--set cores=N says it")
        self.cores = log.max_cores
        self.second = "LQF" if program else None
        self.trace = resample(log, weeks=weeks, seed=seed, index=index, how="permuted" if program else "drawn")
        self.options = QueueOptions.checked(threshold_s=threshold_s, backfill_order=self.second)
        self._feedback: tuple[str, Feedback] | None = None

    @classmethod
    def of(cls, log: Workload, cell: Cell) -> "_World":
        """Return the world of a cell: the last one, if it is the same."""
        program = cell["variant"] == "program"
        threshold_h: float | None = cell["threshold_h"]
        threshold_s = _THRESHOLD_S[cell["variant"]] if threshold_h is None else threshold_h * HOUR
        return _world(_Same(log), cell.seed, cell.replication, cell["weeks"], threshold_s, program)

    def feedback(self, period: str) -> Feedback:
        """Return the feedback for periods of this length; only the last one is kept."""
        if self._feedback is None or self._feedback[0] != period:
            made = Feedback(self.trace, cores=self.cores, options=self.options, orders=TWELVE_ORDERS)
            self._feedback = (period, made)
        return self._feedback[1]


class _Same:
    """A log that is equal to itself only, for a cache."""

    def __init__(self, log: Workload) -> None:
        self.log = log

    def __hash__(self) -> int:
        return id(self.log)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.log is other.log


@lru_cache(maxsize=1)
def _world(same: _Same, seed: int, index: int, weeks: int, threshold_s: float, program: bool) -> _World:  # noqa: FBT001
    return _World(same.log, seed, index, weeks, threshold_s, program=program)


def _strategy(kind: str, variant: str, of: Mapping[str, Any]) -> Strategy:
    """Return a strategy, with the settings of the variant, and those that were chosen."""
    program = variant == "program"
    counts: Jobs = "started" if program else "finished"
    for name in ("epsilon", "epsilon_decay", "decay", "noise"):
        if not isinstance(of[name], int | float) and not (name == "noise" and of[name] is None):
            raise RequestError(f"{name} is {of[name]!r}", "a number from 0 to 1 is allowed")
    if kind == "random":
        return RandomOrder()
    if kind == "ucb1":
        return UCB1(counts=counts)
    if kind == "exp3":
        return EXP3(counts=counts)
    if kind == "bandit":
        return EpsilonGreedy(
            epsilon=of["epsilon"],
            epsilon_decay=of["epsilon_decay"],
            decay=of["decay"],
            counts=counts,
            pseudo_jobs=1.0 if program else 0.0,
        )
    noise = (NOISE[variant] if of["noise"] is None else of["noise"]) if kind == "noisy" else 0.0
    noise_of: Literal["job", "period"] = "period" if program else "job"
    return FullFeedback(decay=of["decay"], noise=noise, noise_of=noise_of, preload=program)


def _require_allowed(name: str, values: Sequence[object], known: Sequence[str]) -> None:
    """Refuse values of a factor that are not known."""
    for value in values:
        require_known(name, value, known)


def _shares(used: Sequence[int], period_s: float, weeks: int) -> NDArray[np.float64]:
    """Return float64[weeks, orders], in which share of the periods of a week an order was used."""
    shares = np.zeros((weeks, len(TWELVE_ORDERS)))
    week = (np.arange(len(used)) * period_s // WEEK).astype(int)
    inside = week < weeks
    np.add.at(shares, (week[inside], np.asarray(used)[inside]), 1.0)
    total = shares.sum(axis=1, keepdims=True)
    divided: NDArray[np.float64] = np.divide(shares, total, out=shares, where=total > 0)
    return divided


def _rows(schedule: Schedule, shares: NDArray[np.float64] | None, weeks: int) -> Iterator[dict[str, Any]]:
    """Hand out the rows of a cell; what starts after the last week counts in it."""
    start_s = schedule.start_s
    wait_s = start_s - schedule.workload.submit_s
    week = np.clip(start_s // WEEK, 0, weeks - 1).astype(int)
    waits_s, jobs = np.bincount(week, wait_s, weeks), np.bincount(week, minlength=weeks)
    for number in range(weeks):
        row: dict[str, Any] = {"week": number, "wait_s": waits_s[number], "jobs": jobs[number]}
        if shares is not None:
            row |= {f"share_{name}": share for name, share in zip(TWELVE_ORDERS, shares[number], strict=True)}
        if number == weeks - 1:
            row["total_wait_s"] = math.fsum(wait_s)
            row["mean_wait_s"] = float(wait_s.mean())
            row["mean_bounded_slowdown"] = schedule.metrics()["mean_bounded_slowdown"]
        yield row
