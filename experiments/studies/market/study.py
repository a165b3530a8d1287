"""Market: ten bidding policies for workflows on clusters of kinds, under rising load: `PAPER`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, Final, get_args

import numpy as np
import pandas as pd

import simmodels as sm
from experiments.campaigns import Cell, Claim, Results, Scale, Study, in_scope
from experiments.campaigns.cell import Rows
from experiments.campaigns.study import Design
from experiments.studies.market.claims import make_claims
from experiments.studies.market.paper import ELEMENTS, PAPER, printed_numbers
from experiments.studies.market.results import MarketResults, conclusions, make_tables
from experiments.studies.market.settings import ALONE, LOADS, PLAIN
from experiments.workflow_inputs import parse_clusters
from simmodels.engine import Engine
from simmodels.errors import must_be
from simmodels.ground.numbers import as_integer
from simmodels.policies.auction_options import AuctionOptions, End
from simmodels.policies.bids import find_bid
from simmodels.results.static_scheduling import Method
from workloads import WEEK_WEIGHTS, at_load, market_workload
from workloads.workflow_mix import MARKET

RULES: Final[Mapping[str, Mapping[str, Any]]] = {
    PLAIN: {},
    # beyond the paper
    "admission": {"admission": True},
    "second-price": {"prices": True},
    "budgets": {"budgets": True},
    "greedy": {"backfilling": "greedy"},
    "easy": {"backfilling": "easy"},
    # other readings of it
    "kind-network": {"network": "kind"},
    "no-network": {"network": "none"},
    "one-queue": {"blocking": "all"},
    "unique-sums": {"successor_sum": "unique"},
    "plus-one": {"plus_one": True},
    "starvation-instants": {"instants": "starvation"},
    "even-week": {"week": None},
}
"""What a rule changes of the auction, or of the workload."""
BEYOND: Final = ("admission", "second-price", "budgets")
_OF_MONEY: Final = {"second-price", "budgets"}
_RULE_LOADS: Final = (1.1, 1.4)
SIZES: Final = {"": "critical_path_s", "volume_": "volume_core_s"}
"""What the tenths of the jobs go by, by what their columns begin with; the first is that of figure 7."""


class Market(Study):
    """Ten bidding policies for workflows on clusters of kinds, under rising load.

    A replication is a workload of ``jobs`` workflows; the same ones are submitted at each load. ``end`` is when a run
    ends: ``drain`` when every job is finished or starved, ``submit`` at the last submission; the paper does not say
    which. ``engine`` is that of its simulations. Scale ``paper`` has the evaluation of the paper and nothing else.

    Beyond the paper, at scale ``extended``: ``rule`` is ``plain``, or what is changed of the auction; other rules than
    plain are run at the loads 1.1 and 1.4, if these are among the loads, else at the highest. Backfilling (``greedy``,
    ``easy``) has to be asked for: a cell of full size takes minutes. ``alone`` is how many of the workflows are also
    run one by one on the empty platform, by each bid and as planned by HEFT, CPOP and PEFT.

    Which policy is best depends on how long an overload lasts, and so on the number of jobs: of fewer than the 10,000
    of the paper, nothing is judged. Scale ``smoke`` only shows that all of it runs.
    """

    parameters = {
        "jobs": 10_000, "clusters": "3x1000:Kind1,1x1000:Kind2", "ccr": 0.2, "admission": 0.5, "alone": 0,
        "engine": "auto",
    }  # fmt: skip
    factors = {"load": LOADS, "end": ("drain", "submit"), "rule": (PLAIN,), "bid": sm.TEN_BIDS}
    scales = {
        "smoke": Scale(
            replications=2,
            judged=False,
            parameters={"jobs": 200, "alone": 10},
            factors={"load": (0.7, 1.2), "rule": (PLAIN, "easy")},
        ),
        "small": Scale(replications=10, factors={"load": (0.7, 0.9, 1.0, 1.1, 1.2, 1.4), "end": ("drain",)}),
        "paper": Scale(replications=10),
        "extended": Scale(replications=10, parameters={"alone": 200}, factors={"rule": (PLAIN, *BEYOND)}),
    }
    paper = PAPER
    elements = ELEMENTS
    measures = ("value", "starved", "mean_slr", "starved_deadline", "unfinished_at_end", "rejected", "effective_load")
    drawn_by = "experiments.studies.market.figures:draw_figures"

    def __init__(self, /, **chosen: Any) -> None:  # noqa: ANN401  as Study
        clusters = chosen.get("clusters")
        if isinstance(clusters, Sequence) and not isinstance(clusters, str):
            chosen["clusters"] = ",".join(map(str, clusters))  # several values, if a command line says it
        super().__init__(**chosen)

    # -- the cells ----------------------------------------------------------------------------------

    def cells(self, scale: str, seed: int) -> Iterator[Cell]:
        """Hand out the combinations that mean something, a workload after the other."""
        design = self.design(scale)
        _require_settings(design)
        of, values = design.parameters, design.factors
        first_end = values["end"][0]
        own = _rule_loads(values["load"])
        for replication in range(design.replications):
            for load, end, rule, bid in product(*(values[name] for name in ("load", "end", "rule", "bid"))):
                if rule != PLAIN and (end != first_end or load not in own):
                    continue
                if rule in _OF_MONEY and find_bid(str(bid)).wins != "high":
                    continue  # who offers least does not offer money
                yield Cell({"load": load, "end": end, "rule": rule, "bid": bid}, replication, seed, of)
            for bid in (*get_args(Method), *values["bid"]) if of["alone"] else ():
                yield Cell({"load": None, "end": None, "rule": ALONE, "bid": bid}, replication, seed, of)

    def run_cell(self, cell: Cell) -> Rows:
        """Return a row: the figures of merit, and by tenths of the jobs SLR and starvation.

        ``slr_1`` and ``starved_1`` are of the tenth with the shortest execution times (critical paths),
        ``volume_slr_1`` and ``volume_starved_1`` of that with the smallest volumes.
        """
        clusters = parse_clusters(cell["clusters"])
        if cell["rule"] == ALONE:
            return _alone(cell, clusters)
        rule = dict(RULES[cell["rule"]])
        if "admission" in rule:
            rule["admission"] = cell["admission"]
        week = rule.pop("week", WEEK_WEIGHTS)
        cores = sum(place.cores for place in clusters)
        schedule = sm.simulate_workflows(
            _submitted(cell.seed_for("workload"), cell["jobs"], cell["load"], cores, week is not None),
            clusters=clusters,
            bid=cell["bid"],
            ccr=cell["ccr"],
            end=cell["end"],
            tick_s=sm.MINUTE,
            seed=cell.seed_for("bid"),
            engine=cell["engine"],
            **rule,
        )
        return _row(schedule)

    # -- what is reported of them -------------------------------------------------------------------

    def tables(self, results: Results) -> Mapping[str, pd.DataFrame]:
        """Return the paper's numbers beside ours, value and starvation by load and by size, what rules change."""
        return {"printed and ours": printed_numbers(results), **make_tables(results)}

    def findings(self, results: Results) -> Sequence[str]:
        """Return which bid is best at which load, and what the other rules change."""
        return conclusions(results)

    def claims(self, results: Results) -> Sequence[Claim]:
        """Return the claims of the paper at each end of the runs, and ours."""
        return in_scope(make_claims(MarketResults(results)), results)


def _rule_loads(loads: Sequence[Any]) -> tuple[Any, ...]:
    """Return the loads at which other rules than plain are run."""
    return tuple(load for load in loads if load in _RULE_LOADS) or (max(loads),)


def _require_settings(design: Design) -> None:
    """Refuse settings that are out of range, before anything is run."""
    design.require_known(engine=get_args(Engine), end=get_args(End), rule=RULES)
    design.require_numbers("load", above=0)
    design.require_numbers("ccr", "admission")
    of = design.parameters
    for name, least in (("jobs", 1), ("alone", 0)):
        as_integer(name, of[name], least)
    AuctionOptions.checked(ccr=of["ccr"], admission=of["admission"])
    bids = [find_bid(str(value)).name for value in design.factors["bid"]]
    for name in bids:
        if bids.count(name) > 1:
            raise sm.RequestError(f"bid {name!r} is given twice, in two spellings", "omit one of them")
    largest: dict[str | None, int] = {}
    for place in parse_clusters(str(of["clusters"])):
        largest[place.kind] = max(largest.get(place.kind, 0), place.cores)
    for kind in MARKET.kinds:  # the widest task that there can be, of each kind
        task = sm.Task(sm.MINUTE, max(MARKET.core_sizes), kind)
        try:
            sm.Workflow.of([task], job_id=0, submit_s=0.0).require_runnable(largest)
        except sm.ImpossibleJobError as error:
            expected = f"able to run a task of {task.cores} cores of {kind}"
            raise sm.RequestError(must_be("clusters", expected, of["clusters"])) from error


# -- what the cells of a replication share ------------------------------------------------------------


_jobs: Final = lru_cache(maxsize=1)(market_workload)


@lru_cache(maxsize=1)
def _submitted(seed: int, jobs: int, load: float, cores: int, weekly: bool) -> list[sm.Workflow]:  # noqa: FBT001
    return at_load(_jobs(jobs, seed=seed), load=load, cores=cores, week=WEEK_WEIGHTS if weekly else None)


def _row(schedule: sm.Schedule) -> dict[str, Any]:
    """Return what a schedule came to; the tenths by volume are those by V_max, which is the volume."""
    row: dict[str, Any] = dict(schedule.metrics())
    del row["makespan_s"]
    if schedule.price is not None:
        # Of P-SLR and Random, what is paid is no money, but it is what the rule makes of the bids.
        row["paid"] = float(np.nansum(schedule.price)) / float(schedule.most_value.sum())
    for prefix, by in SIZES.items():
        tenths = schedule.deciles(by)[["decile", "mean_slr", "starved"]]
        for tenth, slr, starved in tenths.itertuples(index=False, name=None):
            row |= {f"{prefix}slr_{tenth}": slr, f"{prefix}starved_{tenth}": starved}
    return row


def _alone(cell: Cell, clusters: Sequence[sm.ClusterSpec]) -> dict[str, Any]:
    """Return how long workflows take that have the platform to themselves, as a mean SLR."""
    jobs = _jobs(cell["jobs"], seed=cell.seed_for("workload"))[: cell["alone"]]
    bid, ccr = cell["bid"], cell["ccr"]
    if bid in get_args(Method):
        slr = [float(sm.static_schedule(job, clusters, bid, ccr=ccr, tick_s=sm.MINUTE).slr[0]) for job in jobs]
    else:
        at_s, apart = 0.0, []
        for job in jobs:
            apart.append(replace(job, submit_s=at_s))
            # However tasks and transfers follow each other, the job is done before the next comes.
            at_s += float(job.runtime_s.sum() + job.delay_s(ccr, tick_s=sm.MINUTE).sum()) + sm.MINUTE
        found = sm.simulate_workflows(
            apart,
            clusters=clusters,
            bid=bid,
            ccr=ccr,
            tick_s=sm.MINUTE,
            seed=cell.seed_for("bid"),
            engine=cell["engine"],
        )
        slr = found.slr.tolist()
    return {"mean_slr": float(np.mean(slr)), "max_slr": float(np.max(slr)), "jobs": len(jobs)}
