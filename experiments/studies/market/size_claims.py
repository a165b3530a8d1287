"""The claims of the market study on large and small jobs (figure 7), and those of the paper's abstract and conclusion.

References
----------
See `experiments.studies.market.study`.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from experiments.campaigns.claims import Claim
from experiments.studies.market.measures import (
    FIGURE_7,
    HIGHEST_LOAD,
    LOWEST_LOAD,
    OVERLOAD,
    Cells,
    MarketResults,
    at,
    loads_from,
)
from experiments.studies.market.results import TENTHS
from simmodels.ground.numbers import Floats

LEADING: Final = ("PVR", "SRTF", "PVDSQ", "PVD")
"""The policies that the paper compares at very high load."""
GROWS: Final = 0.5
"""By how much a mean SLR grows that is said to increase: a quarter of the earliest initial deadline, SLR 2."""


def size_claims(found: MarketResults) -> Iterator[Claim]:
    """Hand out who pays, by execution time (figure 7) or by volume."""

    def slr(tenth: int, bid: str, load: float = FIGURE_7) -> Floats:
        return found.of(f"slr_{tenth}", bid, load)

    def lowest() -> Cells:
        cells = {}
        for tenth in TENTHS[:5]:
            for bid in found.others("PVR"):
                less = slr(tenth, "PVR") - slr(tenth, bid)
                if np.isfinite(less).all():  # a tenth of which none finishes under a policy has no SLR there
                    cells[f"{bid}, tenth {tenth}"] = found.mean(less)
        return cells

    def mostly_finished() -> Cells:
        cells = lowest()
        few = {f"{bid}, tenth {tenth}" for tenth in TENTHS[:5] for bid in found.others("PVR")
               if found.of(f"starved_{tenth}", bid, FIGURE_7).mean() > 0.5}  # fmt: skip
        return {where: measured for where, measured in cells.items() if where not in few}

    def grown(tenth: int) -> Floats:
        return slr(tenth, "PVR") - slr(tenth, "PVR", LOWEST_LOAD)

    yield found.claim(
        "Of smaller jobs (the shorter half), PVR has the lowest SLR of all policies at load 120 %",
        "section VI, fig. 7", "mean SLR at load 120 %: PVR less another", lowest, "M16", loads=(FIGURE_7,), at_most=0.0,
        note="under LRTF, PV and FIFO nearly all short jobs starve; the mean is of the few that finish at once",
    )  # fmt: skip
    if found.end == "drain":
        yield found.claim(
            "Of smaller jobs (the shorter half), PVR has the lowest SLR of the policies under which at least half of "
            "them finish, at load 120 %", "section VI, fig. 7", "mean SLR at load 120 %: PVR less another",
            mostly_finished, "M16", ours=True, loads=(FIGURE_7,), at_most=0.0,
        )  # fmt: skip
    yield found.claim(
        "Under PVR only the largest jobs are slowed by more load: the mean SLR of the longest tenth grows by 0.5 or "
        "more from load 70 % to 120 %, that of the shorter eight tenths by 0.5 or less", "section VI, fig. 7",
        "growth of the mean SLR: of tenth 10 less 0.5; 0.5 less that of tenths 1 to 8",
        lambda: {
            f"tenth {tenth}": found.mean(grown(tenth) - GROWS if tenth == TENTHS[-1] else GROWS - grown(tenth))
            for tenth in (*TENTHS[:8], TENTHS[-1])
        },
        "M16", loads=(LOWEST_LOAD, FIGURE_7), bids=("PVR",), at_least=0.0,
    )  # fmt: skip
    yield found.claim(
        "SRTF penalises the largest jobs a little (up to a quarter) less than PVR", "section VI, fig. 7",
        "mean SLR of the longest tenth: SRTF over PVR",
        lambda: {at(FIGURE_7): found.mean(slr(10, "SRTF") / slr(10, "PVR"))}, loads=(FIGURE_7,), bids=("SRTF", "PVR"),
        less_than=1.0, at_least=0.75,
    )  # fmt: skip
    yield found.claim(
        "Under too much work, PVR starves the largest jobs rather than others", "section VI",
        "starved under PVR at load 140 %: the largest tenth by volume less another",
        lambda: {
            f"tenth {tenth}": found.mean(
                found.starved_of(10, "PVR", HIGHEST_LOAD) - found.starved_of(tenth, "PVR", HIGHEST_LOAD)
            )
            for tenth in TENTHS[:-1]
        },
        loads=(HIGHEST_LOAD,), bids=("PVR",), more_than=0.0,
    )  # fmt: skip


def conclusion_claims(found: MarketResults) -> Iterator[Claim]:
    """Hand out what abstract and conclusion say."""
    starved = found.starved_of

    def spread(load: float) -> Floats:
        values = np.column_stack([found.value(bid, load) for bid in (*LEADING, "EDF")])
        return np.asarray(values.max(axis=1) - values.min(axis=1))

    def wild(load: float) -> Floats:
        shares = np.column_stack([found.starved(bid, load) for bid in (*LEADING, "EDF")])
        return np.asarray(shares.max(axis=1) - 10.0 * shares.min(axis=1))

    for other in ("PVDSQ", "SRTF"):
        yield found.claim(
            f"At high overload {other} gets slightly more value than PVR: by up to 0.05", "abstract; section VII",
            f"value: {other} less PVR",
            lambda other=other: found.against("value", other, ["PVR"], [HIGHEST_LOAD]),  # type: ignore[misc]  # this turn
            loads=(HIGHEST_LOAD,), bids=(other, "PVR"), more_than=0.0, at_most=0.05,
        )  # fmt: skip
        yield found.claim(
            f"At high overload {other} starves hugely more jobs than PVR: at least five times as many",
            "abstract; section VII", f"starved: {other} less five times PVR",
            lambda other=other: found.against(  # type: ignore[misc]  # of this turn
                "starved", other, ["PVR"], [HIGHEST_LOAD], share=5.0
            ),
            loads=(HIGHEST_LOAD,), bids=(other, "PVR"), at_least=0.0,
        )  # fmt: skip
    yield found.claim(
        "Under extreme overload most jobs are served sooner under PVR than under SRTF", "section VII",
        "median SLR: PVR less SRTF", lambda: found.against("median_slr", "PVR", ["SRTF"], [HIGHEST_LOAD]),
        loads=(HIGHEST_LOAD,), bids=("PVR", "SRTF"), less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "The leading policies (PVR, SRTF, PVDSQ, PVD, EDF) are close in value under overload: within 0.1",
        "section VII", "largest less least value of the five", lambda: found.by_load(spread, OVERLOAD),
        loads=loads_from(OVERLOAD), bids=(*LEADING, "EDF"), at_most=0.1,
    )  # fmt: skip
    yield found.claim(
        "The leading policies starve wildly different numbers of jobs: the most more than ten times the fewest",
        "section VII", "most starved of the five, less ten times the fewest",
        lambda: found.by_load(wild, OVERLOAD), loads=loads_from(OVERLOAD), bids=(*LEADING, "EDF"), more_than=0.0,
    )  # fmt: skip
    for bid in ("EDF", "PVDSQ", "PVR"):
        yield found.claim(
            f"{bid} keeps a balance across execution times: of no tenth starve half or more at load 140 %",
            "section VII", f"starved under {bid}, by tenths of execution time",
            lambda bid=bid: {  # type: ignore[misc]  # of this turn
                f"tenth {tenth}": found.mean(found.of(f"starved_{tenth}", bid, HIGHEST_LOAD)) for tenth in TENTHS
            },
            loads=(HIGHEST_LOAD,), bids=(bid,), less_than=0.5,
        )  # fmt: skip
    largest, smaller = ("the largest tenth", TENTHS[-1:]), ("the smaller eight tenths", TENTHS[:8])
    runs = "runs {} of the jobs: less than half starve at load 140 %", {"less_than": 0.5}
    starves = "starves {} of the jobs: more than half at load 140 %", {"more_than": 0.5}
    for bid, (does, bound), (who, tenths) in (
        ("PV", runs, largest), ("PV", starves, smaller), ("SRTF", runs, smaller), ("SRTF", starves, largest),
    ):  # fmt: skip
        yield found.claim(
            f"{bid} {does.format(who)}", "section VII", f"starved under {bid}, by tenths of volume",
            lambda bid=bid, tenths=tenths: {  # type: ignore[misc]  # of this turn
                f"tenth {tenth}": found.mean(starved(tenth, bid, HIGHEST_LOAD)) for tenth in tenths
            },
            loads=(HIGHEST_LOAD,), bids=(bid,), **bound,  # type: ignore[arg-type]  # a name of a bound
        )  # fmt: skip
