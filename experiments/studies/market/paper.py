"""The paper of the market study: its figures, and those of the numbers it prints that are measured, beside ours.

It has seven figures, no tables, and its numbers are in its sentences.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from experiments.campaigns import Effect, Paper, Results
from experiments.campaigns.families import combined, largest
from experiments.campaigns.judging import Values, members_of
from experiments.campaigns.paper import read_elements
from experiments.studies.market.measures import rank
from experiments.studies.market.results import MarketResults
from experiments.studies.market.settings import HIGHEST_LOAD, LOADS, LOWEST_LOAD, PLAIN, at
from experiments.workflow_inputs import parse_clusters
from simmodels import TEN_BIDS

PAPER: Final = Paper(
    authors="A. Burkimsher and L. Soares Indrusiak",
    year=2016,
    title="Bidding policies for market-based HPC workflow scheduling",
    venue="arXiv:1601.07047",
    url="https://arxiv.org/abs/1601.07047",
)

ELEMENTS: Final = read_elements(Path(__file__).with_name("elements.csv"))


_PVR_LEADS_TO: Final = 1.1
"""Up to this load PVR has the most value."""
_Row: TypeAlias = tuple[str, str, str, float, Effect | float | None]
"""Where the paper prints a number, of what, in which relation, the number, and ours."""


def printed_numbers(results: Results) -> pd.DataFrame:
    """Return the numbers that the paper prints and that are measured, beside ours.

    One row per number, and per end of the runs where that matters: columns ``paper, what, end, said, printed, ours,
    low, high, difference``; the interval is of 95 %. Missing is what was not run, and a load that there is not.
    """
    found = MarketResults(results)
    rows = [_row("", *printed) for printed in _settings(results)]
    rows += [_row(end, *printed) for end in results.texts("end") for printed in _measured(found, end)]
    return pd.DataFrame(rows)


def _row(end: str, place: str, what: str, relation: str, printed: float, ours: Effect | float | None) -> dict[str, Any]:
    effect = Effect.exact(ours) if isinstance(ours, int | float) else ours
    said = f"{relation} {printed:,g}".lstrip()
    row = {"paper": place, "what": what, "end": end, "said": said, "printed": printed}
    if effect is None:
        return row | dict.fromkeys(("ours", "low", "high", "difference"), np.nan)
    estimated = effect.confidence < 1.0
    return row | {
        "ours": effect.estimate,
        "low": effect.low if estimated else np.nan,
        "high": effect.high if estimated else np.nan,
        "difference": effect.estimate - printed,
    }


def _settings(results: Results) -> Iterator[_Row]:
    """Hand out the numbers of the experimental method."""
    of, auctioned = results.parameters, results.where(rule=PLAIN)
    clusters = parse_clusters(str(of["clusters"]))
    run, where = len(auctioned) > 0, "section V"
    yield where, "synthetic workloads", "", 10, float(auctioned["replication"].nunique()) if run else None
    yield where, "jobs of a workload", "", 10_000, float(of["jobs"])
    yield where, "tasks of a workload", "about", 100_000, float(auctioned["tasks"].mean()) if run else None
    yield where, "clusters", "", 4, float(len(clusters))
    yield where, "cores of all clusters", "", 4_000, float(sum(place.cores for place in clusters))
    yield where, "communication to computation ratio", "", 0.2, float(of["ccr"])
    for name, load, end in (("lowest", LOWEST_LOAD, min), ("highest", HIGHEST_LOAD, max)):
        there = auctioned[auctioned["load"] == end(auctioned["load"])] if run else auctioned
        yield where, f"{name} load, measured", "", load, float(there["effective_load"].mean()) if run else None


def _measured(found: MarketResults, end: str) -> Iterator[_Row]:
    """Hand out the numbers of the results."""
    third, fourth, sixth = (f"section VI, fig. {number}" for number in (3, 4, 6))

    def mean(values: "Values | None") -> Effect | None:
        members = {} if values is None else members_of(found, {"": values})[0]
        return members[""](1) if members else None

    best, _ = members_of(found, {bid: found.value("value", bid, end, load=LOWEST_LOAD) for bid in TEN_BIDS})
    yield third, "value at load 70 % of the best policy", "below", 1.0, largest(best) if best else None
    for load in run_loads(found, end):
        if load < _PVR_LEADS_TO:
            second = rank(found, "EDF", end, load)
            yield fourth, f"rank of EDF in value at {at(load)}", "", 2, None if second is None else second(1)
    led = leads_up_to(found, "PVR", end)
    yield fourth, "load up to which PVR has the most value at each load", "", _PVR_LEADS_TO, led
    crossed = mean(crossing(found, "PVR", "PVD", end))
    yield third, "load at which PVD has the value of PVR", "", 1.4, crossed
    pvr, pvd = (found.value("value", bid, end, load=HIGHEST_LOAD) for bid in ("PVR", "PVD"))
    yield third, "value of PVR less that of PVD at load 140 %", "", 0.0, mean(pvr - pvd)
    starved = mean(found.value("starved", "PVR", end, load=HIGHEST_LOAD))
    yield sixth, "share of jobs incomplete under PVR at load 140 %", "", 0.05, starved


def run_loads(found: MarketResults, end: str) -> list[float]:
    """Return those of the paper's loads that were run, rising."""
    return [load for load in found.levels("load", end) if load in LOADS]


def leads_up_to(found: MarketResults, bid: str, end: str) -> Effect | None:
    """Return the highest load up to which a bid has the most value at each load that was run.

    It is at least the highest one up to which it surely leads, at most the highest one up to which it may, by intervals
    of all differences that hold together; an end of 0 says that it is not even so at the lowest load. None if it does
    not lead there, or a bid was not run.
    """
    others = [other for other in TEN_BIDS if other != bid]
    ahead = {
        f"{load} {other}": found.value("value", bid, end, load=load) - found.value("value", other, end, load=load)
        for load, other in product(run_loads(found, end), others)
    }
    members, _ = members_of(found, ahead)
    if not members:
        return None

    def up_to(values: Sequence[float]) -> float:
        last = 0.0
        for load, least in zip(run_loads(found, end), np.reshape(values, (-1, len(others))).min(axis=1), strict=True):
            if least < 0:
                break
            last = load
        return last

    found_up_to = combined([measured(len(members)) for measured in members.values()], up_to)
    return found_up_to if found_up_to.estimate else None


def crossing(found: MarketResults, of: str, against: str, end: str) -> "Values | None":
    """Return the load at which a bid that was ahead of another falls to its value; None if in a workload it never does.

    Between two loads the values are taken to lie on a straight line.
    """
    loads = np.array(run_loads(found, end))
    each = [found.value("value", of, end, load=load) - found.value("value", against, end, load=load) for load in loads]
    if len(loads) < 2 or any(values.empty for values in each):
        return None
    ahead = np.column_stack(each)
    crossed = (ahead[:, :-1] > 0) & (ahead[:, 1:] <= 0)
    if not crossed.any(axis=1).all():
        return None
    rows, k = np.arange(len(ahead)), crossed.argmax(axis=1)
    before, after = ahead[rows, k], ahead[rows, k + 1]
    return pd.Series(loads[k] + before / (before - after) * (loads[k + 1] - loads[k]), index=each[0].index)
