"""Selection: EASY's order chosen online, by simulation or by a bandit, on resampled logs.

References
----------
V. Reis, D. Trystram and others, "Online (bandit) policy selection for EASY-backfilling", draft of 2017. `PUBLISHED` is
its table 2, with the labels of largest and smallest, longest and shortest in their places (they are printed inverted:
its simulator, run again, shows it).
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect, bootstrap
from experiments.campaigns.study import Cell, Rows, Scale, Study
from experiments.inputs import WorkloadFile
from simmodels.decisions.options import QueueOptions
from simmodels.decisions.orders import TWELVE_ORDERS
from simmodels.decisions.selection import EpsilonGreedy, FullFeedback, RandomOrder, Strategy
from simmodels.errors import RequestError
from simmodels.replay.run import Replay
from simmodels.schedule import Schedule
from simmodels.streams import stream
from simmodels.tuning import Feedback, replay_tuned
from simmodels.units import DAY, HOUR, WEEK
from simmodels.workload import Workload
from workloads.lublin import lublin
from workloads.resampling import resample
from workloads.tsafrir import tsafrir_estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PERIODS: Final = {"day": DAY, "week": WEEK}
TUNERS: Final = tuple(f"{kind} {period}" for period in PERIODS for kind in ("full", "noisy", "bandit", "random"))
VARIANTS: Final = ("text", "program")
GENERATED: Final = "generated"
_FILTERS: Final = {"text": "strong", "program": "program"}
_PROGRAM_THRESHOLD_S: Final = 200_000.0
_USERS: Final = 40
_BASE: Final = "FCFS"

PUBLISHED: Final[Mapping[str, Sequence[int]]] = {
    "ANL-Intrepid": (-25, -9, -3, -28, -2, -21, -24, -21, -10, -19, 5),
    "KTH-SP2": (-13, -16, 5, -16, 3, -8, -15, -8, -13, -12, 15),
    "CTC-SP2": (-40, -19, -14, -47, 15, -36, -19, -38, -12, -44, 22),
    "SDSC-SP2": (-8, -15, 4, -8, 4, -3, -15, -3, -10, -11, 18),
    "SDSC-BLUE": (-26, -29, 0, -29, 17, -17, -26, -15, -15, -32, 23),
    "CEA-Curie": (-46, -23, -45, -57, -19, -51, -23, -57, -24, -40, -17),
    "UniLu-Gaia": (-58, -33, -10, -62, 16, -49, -27, -56, -16, -62, 20),
}
"""Table 2: total waits of `OTHERS` against EASY-FCFS, in per cent."""
OTHERS: Final = ("LCFS", "SPF", "LPF", "SQF", "LQF", "SEXP", "LEXP", "LRF", "SRF", "SAF", "LAF")


class Selection(Study):
    """EASY's order chosen online, by simulation or by a bandit.

    A replication is a resample of each log: two years of weeks drawn from its users' weeks. On it run the twelve
    orders, and four strategies that choose one of them for each day, or each week. ``variant`` is how: ``text`` as the
    paper says, ``program`` with the settings of its simulator.
    """

    parameters = {"weeks": 104, "threshold_h": 40.0, "epsilon": 0.5, "noise": 0.15, "cores": None}
    factors = {"variant": ("text",), "workload": (GENERATED,), "strategy": (*TWELVE_ORDERS, *TUNERS)}
    scales = {
        "smoke": Scale(replications=5, parameters={"weeks": 8}),
        "small": Scale(replications=10),
        "paper": Scale(replications=100, factors={"variant": VARIANTS}),
    }
    measures = ("total_wait_s", "mean_wait_s", "mean_bounded_slowdown")

    # -- the cells ----------------------------------------------------------------------------------

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
        """Return the log of a cell: another log is no reason to run it anew."""
        return (_input(cell["workload"], cell["variant"]),)

    def run_cell(self, cell: Cell) -> Rows:
        """Return a row a week: the waits of jobs that started in it, the orders used; the last row has the sums."""
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
            chosen = _strategy(kind, cell)
            tuned = replay_tuned(
                world.trace,
                chosen,
                cores=world.cores,
                options=world.options,
                period_s=PERIODS[period],
                seed=cell.seed_for("tuner", cell["workload"]),
                name=strategy,
                feedback=world.feedback(period) if chosen.simulates and cell["variant"] == "text" else None,
            )
            schedule = tuned.schedule
            shares = _shares(tuned.course.used, PERIODS[period], weeks)
        return list(_rows(schedule, shares, weeks))

    # -- what is told of them -----------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return tables 2 and 3, the regrets, and how well table 2 agrees with the published one."""
        last = _last(results)
        return {
            "table 2: fixed orders against FCFS": _against_base(last, OTHERS),
            "table 3: strategies against FCFS": _against_base(last, TUNERS),
            "regret against the best fixed order": _regrets(last),
            "agreement with the published table 2": _agreement(last),
        }

    def figures(self, results: Results) -> "Mapping[str, Figure]":
        """Return figures 1 to 6 of the paper, for each log and variant."""
        from experiments.studies import selection_figures as drawn  # noqa: PLC0415  matplotlib is slow to import

        found: dict[str, Figure] = {}
        for variant, workload in _settings(results):
            table = results.where(variant=variant, workload=workload)
            if table.empty:
                continue
            where = f"{name_of(workload)}, {variant}"
            found[f"figure 1: {where}: waits by week"] = drawn.weekly(table)
            found[f"figure 2: {where}: fixed orders"] = drawn.curves(table, OTHERS)
            found[f"figure 3: {where}: strategies, by day"] = drawn.curves(table, _of("day"))
            found[f"figure 4: {where}: strategies, by week"] = drawn.curves(table, _of("week"))
            found[f"figure 5: {where}: orders used, full feedback"] = drawn.shares(table, ("full day", "full week"))
            found[f"figure 6: {where}: orders used, bandit"] = drawn.shares(table, ("bandit day", "bandit week"))
        return found

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return the claims of the paper, log by log, and those about all logs."""
        last = _last(results)
        return [*(claim for setting in _settings(results) for claim in _claims_of(last, *setting)), _differ(last)]


def name_of(workload: str) -> str:
    """Return what a log is called: its file's name without endings."""
    return Path(workload).name.split(".", maxsplit=1)[0].removesuffix("-cln")


def published_of(workload: str) -> Sequence[int] | None:
    """Return the published row of a log, if there is one."""
    return next((row for name, row in PUBLISHED.items() if name_of(workload).startswith(name)), None)


def _of(period: str) -> tuple[str, ...]:
    return tuple(name for name in TUNERS if name.endswith(period))


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
        threshold_s = _PROGRAM_THRESHOLD_S if program else cell["threshold_h"] * HOUR
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


def _strategy(kind: str, cell: Cell) -> Strategy:
    """Return a strategy, with the settings of the variant."""
    program = cell["variant"] == "program"
    if kind == "random":
        return RandomOrder()
    if kind == "bandit":
        if program:
            return EpsilonGreedy(epsilon=cell["epsilon"], counts="started", pseudo_jobs=1.0)
        return EpsilonGreedy(epsilon=cell["epsilon"])
    noise = cell["noise"] if kind == "noisy" else 0.0
    if program:
        return FullFeedback(noise=0.2 if noise else 0.0, noise_of="period", preload=True)
    return FullFeedback(noise=noise)


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


# -- tables and claims ------------------------------------------------------------------------------


def _last(results: Results) -> Results:
    """Return the results without the rows of the weeks: a row a cell."""
    if "total_wait_s" not in results.table:
        return results
    return replace(results, table=results.table.dropna(subset=["total_wait_s"]))


def _settings(results: Results) -> list[tuple[str, str]]:
    """Return each variant and log."""
    return [(str(v), str(w)) for v in results.factors["variant"] for w in results.factors["workload"]]


def _relative(last: Results, variant: str, workload: str, strategy: str, against: str = _BASE) -> Effect | None:
    """Return how much longer the waits are under a strategy than under another, as a fraction."""
    where = {"variant": variant, "workload": workload}
    if strategy not in last.factors["strategy"] or against not in last.factors["strategy"]:
        return None
    return last.difference(
        "total_wait_s", {**where, "strategy": strategy}, {**where, "strategy": against}, relative=True
    )


def _totals(last: Results, variant: str, workload: str) -> pd.DataFrame:
    """Return the total waits: a row for each replication of which nothing is missing, a column a strategy."""
    if "total_wait_s" not in last.table:
        return pd.DataFrame()
    table = last.where(variant=variant, workload=workload)
    return table.pivot_table(index="replication", columns="strategy", values="total_wait_s").dropna()


def _against_base(last: Results, strategies: Sequence[str]) -> pd.DataFrame:
    """Return in per cent, against FCFS, with intervals: a row a log, variant and strategy."""
    rows = []
    for variant, workload in _settings(last):
        printed = dict(zip(OTHERS, published_of(workload) or (), strict=False))
        for strategy in strategies:
            effect = _relative(last, variant, workload, strategy)
            if effect is not None:
                row = {"variant": variant, "log": name_of(workload), "strategy": strategy, **_per_cent(effect)}
                rows.append({**row, "published (%)": printed.get(strategy)})
    table = pd.DataFrame(rows)
    return table if not rows or table["published (%)"].notna().any() else table.drop(columns="published (%)")


def _per_cent(effect: Effect) -> dict[str, float | None]:
    """Return an effect in per cent."""
    values = {"waits (%)": effect.estimate, "low": effect.low, "high": effect.high}
    return {name: None if value is None else 100.0 * value for name, value in values.items()}


def _regrets(last: Results) -> pd.DataFrame:
    """Return what each strategy waits more than the best fixed order of the resample, in per cent."""
    rows = []
    for variant, workload in _settings(last):
        totals = _totals(last, variant, workload)
        fixed = [name for name in TWELVE_ORDERS if name in totals]
        for strategy in (name for name in TUNERS if name in totals and fixed):
            regret = totals[strategy] / totals[fixed].min(axis=1) - 1.0
            about = {"variant": variant, "log": name_of(workload), "strategy": strategy}
            rows.append({**about, **_per_cent(bootstrap(regret.to_numpy(), seed=last.seed))})
    return pd.DataFrame(rows)


def _likeness(last: Results, variant: str, workload: str) -> dict[str, NDArray[np.float64]] | None:
    """Return how like the published row each resample's is: ranks, values, signs; None if there is none to compare."""
    printed = published_of(workload)
    totals = _totals(last, variant, workload)
    if printed is None or not {_BASE, *OTHERS} <= set(totals.columns) or totals.empty:
        return None
    ours = totals[list(OTHERS)].div(totals[_BASE], axis=0).sub(1.0).to_numpy() * 100.0
    said = np.array(printed, dtype=np.float64)
    return {
        "rank correlation": np.array([spearmanr(row, said).statistic for row in ours]),
        "correlation": np.array([np.corrcoef(row, said)[0, 1] for row in ours]),
        "equal signs": (np.sign(np.round(ours)) * np.sign(said) >= 0).mean(axis=1),
    }


def _agreement(last: Results) -> pd.DataFrame:
    """Return how well our table 2 agrees with the published one, log by log."""
    rows = []
    for variant, workload in _settings(last):
        likeness = _likeness(last, variant, workload)
        for measure, values in (likeness or {}).items():
            effect = bootstrap(values, seed=last.seed)
            about = {"variant": variant, "log": name_of(workload), "measure": measure}
            rows.append({**about, "mean": effect.estimate, "low": effect.low, "high": effect.high})
    return pd.DataFrame(rows)


def _claims_of(last: Results, variant: str, workload: str) -> Iterator[Claim]:
    """Hand out the claims about one log."""
    where = f"on {name_of(workload)} ({variant})"
    decide = "--scale paper"
    likeness = _likeness(last, variant, workload)
    for measure, least in (("equal signs", 0.9), ("rank correlation", 0.8)):
        if published_of(workload) is not None:
            yield Claim(
                text=f"The eleven orders stand against FCFS as printed: {measure}, {where}",
                source="table 2",
                measure=f"{measure} of ours and the printed row, a resample",
                effect=None if likeness is None else bootstrap(likeness[measure], seed=last.seed),
                at_least=least,
                to_decide=decide,
            )
    totals = _totals(last, variant, workload)
    fixed = [name for name in TWELVE_ORDERS if name in totals]
    spread = best = None
    if len(fixed) > 1 and not totals.empty:
        part = totals[fixed].div(totals[_BASE], axis=0) if _BASE in fixed else totals[fixed]
        spread = bootstrap((part.max(axis=1) - part.min(axis=1)).to_numpy(), seed=last.seed)
        best = str(totals[fixed].mean().idxmin())
    yield Claim(
        text=f"Orders differ by tens of per cent {where}",
        source="section on fixed policies",
        measure="waits under the worst order less those under the best, as a part of those under FCFS",
        effect=spread,
        at_least=0.2,
        unit="%",
        to_decide=decide,
    )
    for period in PERIODS:
        a_period = f", an order a {period}, {where}"
        pairs: list[tuple[str, str, str | None, dict[str, float], str]] = [
            ("Full feedback comes within a few per cent of the best fixed order", f"full {period}", best,
             {"at_most": 0.05}, f"waits against those under {best}"),
            ("Noise of 15 % costs full feedback little", f"noisy {period}", f"full {period}",
             {"at_most": 0.05}, "waits against those with exact feedback"),
            ("The bandit improves on FCFS without a simulator", f"bandit {period}", _BASE,
             {"less_than": 0.0}, "waits against those under FCFS"),
            ("The bandit improves less than full feedback", f"bandit {period}", f"full {period}",
             {"more_than": 0.0}, "waits against those with full feedback"),
            ("Random selection is worse than the bandit", f"random {period}", f"bandit {period}",
             {"more_than": 0.0}, "waits against those of the bandit"),
        ]  # fmt: skip
        for text, strategy, against, bounds, measure in pairs:
            yield Claim(
                text=text + a_period,
                source="section on online selection",
                measure=measure,
                effect=None if against is None else _relative(last, variant, workload, strategy, against),
                unit="%",
                to_decide=decide,
                **bounds,  # type: ignore[arg-type]  # names of bounds
            )


def _differ(last: Results) -> Claim:
    """Return the claim that the best order differs between logs."""
    found: set[str] = set()
    logs = 0
    for variant, workload in _settings(last):
        totals = _totals(last, variant, workload)
        fixed = [name for name in TWELVE_ORDERS if name in totals]
        if variant == last.factors["variant"][0] and fixed and not totals.empty:
            logs += 1
            found.add(str(totals[fixed].mean().idxmin()))
    return Claim(
        text="Which order is best differs between logs",
        source="section on fixed policies",
        measure="how many orders are the best of a log, by mean total wait",
        effect=Effect.exact(len(found), replications=logs) if logs > 1 else None,
        at_least=2,
        to_decide="several logs: --workload A.swf.gz,B.swf.gz",
        note=f"the best: {', '.join(sorted(found))}" if found else "",
    )
