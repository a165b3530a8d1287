"""The paper of the market study: its figures, and all the numbers that it prints beside ours.

References
----------
See `experiments.studies.market`. The paper has seven figures, no tables, and its numbers are in its sentences.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from experiments.campaigns.paper import Element, Paper
from experiments.campaigns.results import Results
from experiments.campaigns.statistics import Effect
from experiments.studies.market_found import Found, at
from experiments.workflow_inputs import parse_clusters
from simmodels.ground.numbers import Floats

PAPER: Final = Paper(
    authors="A. Burkimsher and L. Soares Indrusiak",
    year=2016,
    title="Bidding policies for market-based HPC workflow scheduling",
    venue="arXiv:1601.07047",
    url="https://arxiv.org/abs/1601.07047",
)


ELEMENTS: Final = (
    Element(
        number="fig. 1",
        shows="the template of a value curve",
        file="figures/figure-1-*.svg",
        alike="yes",
        why="full value up to the initial deadline, straight lines between points, nothing from the final deadline on",
    ),
    Element(
        number="fig. 2",
        shows="the projected value remaining of a task: an area under the value curve",
        file="figures/figure-2-*.svg",
        alike="yes",
        why="the area from the projected SLR to the final deadline",
    ),
    Element(
        number="fig. 3",
        shows="value against load for ten policies",
        file="figures/figure-3-*.svg",
        alike="partly",
        why="left: run until all jobs are done, right: cut at the last submission (the paper does not say which). All"
        " fall, LRTF far below the rest, PVR first at 100 % and 110 % on the left as in the text. Not alike: FIFO"
        " is above EDF, PVR and P-SLR at 140 %, and PVD does not meet PVR there",
    ),
    Element(
        number="fig. 4",
        shows="value against load, detail of the leading policies",
        file="figures/figure-4-*.svg",
        alike="partly",
        why="on the left PVR leads up to 110 %, except for P-SLR at 90 %, and EDF falls off after 110 %, as in the "
        "text; EDF is third and not second below 110 %, and PVR falls further than in the text. On the right PVR "
        "never leads alone, but all values are below 1 at 70 %, as in the text",
    ),
    Element(
        number="fig. 5",
        shows="starvation against load for ten policies",
        file="figures/figure-5-*.svg",
        alike="yes",
        why="LRTF highest and PV next under overload (on the right Random passes PV at 140 %), PVD far above PVDSQ, "
        "SRTF below PVDSQ",
    ),
    Element(
        number="fig. 6",
        shows="starvation against load, detail of the policies that starve few jobs",
        file="figures/figure-6-*.svg",
        alike="partly",
        why="on the left PVR and EDF starve nearly none up to 120 %, and EDF rises after that, as in the text; PVR "
        "ends at 1 % and not 5 %. On the right it ends at 7 %, level with EDF and SRTF",
    ),
    Element(
        number="fig. 7",
        shows="SLR across job execution times at load 120 %",
        file="figures/figure-7-*.svg",
        alike="yes",
        why="P-SLR flat; PVR lowest of the policies under which most short jobs finish, and steep at the largest, "
        "where SRTF is lower. Tenths of the jobs by critical path instead of a continuous axis, and means of "
        "finished jobs only",
    ),
)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number that the paper prints.

    Parameters
    ----------
    place
        Where.
    what
        What of.
    value
        The number, in the unit that `what` names.
    relation
        What the paper says of it: ``is``, ``about``, ``below``.
    """

    place: str
    what: str
    value: float
    relation: str = "is"


WORKLOADS: Final = Printed("section V", "synthetic workloads", 10)
JOBS: Final = Printed("section V", "jobs of a workload", 10_000)
TASKS: Final = Printed("section V", "tasks of a workload", 100_000, "about")
CLUSTERS: Final = Printed("section V", "clusters", 4)
CORES: Final = Printed("section V", "cores of all clusters", 4_000)
CCR: Final = Printed("section V", "communication to computation ratio", 0.2)
LOWEST: Final = Printed("section V", "lowest load, measured", 0.7)
HIGHEST: Final = Printed("section V", "highest load, measured", 1.4)
BEST_AT_70: Final = Printed("section VI, fig. 3", "value at load 70 % of the best policy", 1.0, "below")
EDF_RANK: Final = Printed("section VI, fig. 4", "rank of EDF in value at {}", 2)
PVR_FIRST: Final = Printed("section VI, fig. 4", "highest load at which PVR has the most value", 1.1)
PVD_EQUALS: Final = Printed("section VI, fig. 3", "load at which PVD has the value of PVR", 1.4)
PVD_LESS: Final = Printed("section VI, fig. 3", "value of PVR less that of PVD at load 140 %", 0.0)
INCOMPLETE: Final = Printed("section VI, fig. 6", "share of jobs incomplete under PVR at load 140 %", 0.05)


def printed_numbers(results: Results) -> pd.DataFrame:
    """Return the numbers that the paper prints beside ours.

    One row per number, and per end of the runs where that matters: columns ``paper, what, end, relation, printed, ours,
    low, high, difference``; the interval is of 95 %. Missing is what was not run, and a load that there is not.
    """
    rows = [_row(printed, "", value) for printed, value in _settings(results)]
    for end in results.factors["end"]:
        if end is not None:
            rows += [_row(printed, str(end), effect) for printed, effect in _measured(Found(results, str(end)))]
    return pd.DataFrame(rows)


def _row(printed: Printed, end: str, ours: Effect | float | None) -> dict[str, object]:
    effect = Effect.exact(ours) if isinstance(ours, int | float) else ours
    row: dict[str, object] = {
        "paper": printed.place, "what": printed.what, "end": end, "relation": printed.relation,
        "printed": float(printed.value),
    }  # fmt: skip
    if effect is None:
        return row | dict.fromkeys(("ours", "low", "high", "difference"), np.nan)
    estimated = effect.confidence < 1.0
    return row | {
        "ours": effect.estimate,
        "low": effect.low if estimated else np.nan,
        "high": effect.high if estimated else np.nan,
        "difference": effect.estimate - printed.value,
    }


def _settings(results: Results) -> Iterator[tuple[Printed, float | None]]:
    """Hand out the numbers of the experimental method."""
    table = results.table
    auctioned = table if table.empty else table[table["rule"] == "plain"]
    clusters = parse_clusters(str(results.parameters["clusters"]))
    yield WORKLOADS, float(auctioned["replication"].nunique()) if len(auctioned) else None
    yield JOBS, float(str(results.parameters["jobs"]))
    yield TASKS, float(auctioned["tasks"].mean()) if len(auctioned) else None
    yield CLUSTERS, float(len(clusters))
    yield CORES, float(sum(place.cores for place in clusters))
    yield CCR, float(str(results.parameters["ccr"]))
    loads = [] if auctioned.empty else sorted(auctioned["load"].unique())
    for printed, which in ((LOWEST, 0), (HIGHEST, -1)):
        rows = auctioned[auctioned["load"] == loads[which]] if loads else auctioned
        yield printed, float(rows["effective_load"].mean()) if loads else None


def _measured(found: Found) -> Iterator[tuple[Printed, Effect | None]]:
    """Hand out the numbers of the results."""
    mean = found.mean

    def tried(made: Callable[[], Effect]) -> Effect | None:
        try:
            return made() if len(found.table("value")) else None
        except KeyError:
            return None

    yield BEST_AT_70, tried(lambda: mean(_best(found, 0.7))(0.95))
    for load in found.loads(high=1.09):
        named = Printed(EDF_RANK.place, EDF_RANK.what.format(at(load)), EDF_RANK.value)
        yield named, tried(lambda load=load: found.rank("value", "EDF", load)(0.95))  # type: ignore[misc]  # this turn
    yield PVR_FIRST, tried(lambda: Effect.exact(_first_up_to(found)))
    yield PVD_EQUALS, tried(lambda: mean(crossing(found, "PVR", "PVD"))(0.95))
    yield PVD_LESS, tried(lambda: mean(found.value("PVR", 1.4) - found.value("PVD", 1.4))(0.95))
    yield INCOMPLETE, tried(lambda: mean(found.starved("PVR", 1.4))(0.95))


def _best(found: Found, load: float) -> Floats:
    """Return the values under the policy that has the largest mean at a load.

    Raises
    ------
    KeyError
        The load was not run.
    """
    if load not in found.loads():
        raise KeyError(load)
    return max((found.value(bid, load) for bid in found.bids()), key=lambda values: float(values.mean()))


def _first_up_to(found: Found) -> float:
    """Return the highest load at which PVR has the largest mean value.

    Raises
    ------
    KeyError
        There is none.
    """
    loads = [
        load
        for load in found.loads()
        if all(found.value("PVR", load).mean() >= found.value(bid, load).mean() for bid in found.bids("PVR"))
    ]
    if not loads:
        raise KeyError("PVR never has the most value")
    return loads[-1]


def crossing(found: Found, of: str, against: str) -> Floats:
    """Return the load at which a bid that was ahead of another falls to its value: float64[workloads].

    Between two loads the values are taken to lie on a straight line.

    Raises
    ------
    KeyError
        In a workload it never does.
    """
    loads = np.array(found.loads())
    if len(loads) < 2:
        raise KeyError("of one load there is no crossing")
    ahead = np.column_stack([found.value(of, load) - found.value(against, load) for load in loads])
    crossed = (ahead[:, :-1] > 0) & (ahead[:, 1:] <= 0)
    if not crossed.any(axis=1).all():
        raise KeyError("they do not cross")
    rows, k = np.arange(len(ahead)), crossed.argmax(axis=1)
    before, after = ahead[rows, k], ahead[rows, k + 1]
    at: Floats = loads[k] + before / (before - after) * (loads[k + 1] - loads[k])
    return at
