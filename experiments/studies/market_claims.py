"""The claims of the market study: what the paper says of its results, sentence by sentence.

The paper does not say whether an experiment ends when all jobs are done or with the last submission: all of its
sentences are judged at both ends. Where it has a word and no number, the claim says which margin stands for the word.

References
----------
See `experiments.studies.market`; the sections are those of the paper, the numbers M1 to M16 our specification's.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from experiments.campaigns.claims import Claim
from experiments.campaigns.results import Results
from experiments.studies.market_found import Cells, Found, at
from experiments.studies.market_own_claims import own_claims
from experiments.studies.market_results import TENTHS
from simmodels.ground.numbers import Floats

BELOW_SATURATION: Final = 0.99
OVERLOAD: Final = 1.01
"""Loads up to the one are below saturation, those from the other on above it."""
HIGHEST: Final = 1.4
FIGURE_7: Final = 1.2
SAME: Final = 0.01
"""By how much values may differ that are "almost indistinguishable" or "equal": less than PVR's lead where the paper
says that it has the highest (0.012 at load 1.0, the smaller of the two leads in five earlier workloads)."""
LEADING: Final = ("PVR", "SRTF", "PVDSQ", "PVD")
"""The policies that the paper compares at very high load."""


def claims_of(results: Results) -> Iterator[Claim]:
    """Hand out the paper's sentences, judged at each end of the runs, and then ours."""
    for end in ("drain", "submit"):
        found = Found(results, end)
        for part in (_baselines, _policies, _densities, _deadlines, _remaining, _sizes, _conclusions):
            yield from part(found)
    yield from own_claims(Found(results, "drain"))


def _baselines(found: Found) -> Iterator[Claim]:
    """Hand out what is said of all policies, of LRTF and of FIFO."""
    value = found.value

    def rises() -> Cells:
        return {
            f"{bid}, {at(high)}": found.mean(value(bid, high) - value(bid, low))
            for low, high in pairwise(found.loads())
            for bid in found.bids()
        }

    yield found.claim(
        "Not all value is reached even at load 70 %: less than 0.995 under any policy (which is 1.00 to two digits)",
        "section VI, fig. 3", "value at load 70 %",
        lambda: {bid: found.mean(value(bid, 0.7)) for bid in found.bids()}, "M2", less_than=0.995,
    )  # fmt: skip
    yield found.claim(
        "As load is increased, value decreases for all policies", "section VI, fig. 3",
        "value less that at the load before", rises, "M1", at_most=0.0,
    )  # fmt: skip
    yield found.claim(
        "LRTF is worse in value than Random", "section VI, fig. 3", "value: LRTF less Random",
        lambda: found.against("value", "LRTF", ["Random"], found.loads()), "M3", less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "Under overload, LRTF does not get jobs finished: most starve", "section VI, fig. 5", "starved under LRTF",
        lambda: found.by_load(lambda load: found.starved("LRTF", load), OVERLOAD), more_than=0.5,
    )  # fmt: skip
    yield found.claim(
        "FIFO is an improvement on Random", "section VI, fig. 3", "value: FIFO less Random",
        lambda: found.against("value", "FIFO", ["Random"], found.loads()), "M4", more_than=0.0,
        note="with room for nearly all, a random order lets small jobs pass large ones",
    )  # fmt: skip
    yield found.claim(
        "FIFO is a long way (0.05 or more) behind all policies but Random and LRTF under overload",
        "section VI, fig. 3", "value: FIFO less another",
        lambda: found.against("value", "FIFO", found.bids("FIFO", "Random", "LRTF"), found.loads(OVERLOAD)),
        at_most=-0.05, note="at the highest loads FIFO passes policies that go by deadlines",
    )  # fmt: skip


def _policies(found: Found) -> Iterator[Claim]:
    """Hand out what is said of PV and P-SLR."""
    value, starved = found.value, found.starved

    def slower() -> Floats:
        falls = {bid: value(bid, 1.2) - value(bid, HIGHEST) for bid in found.bids()}
        largest = max((bid for bid in falls if bid != "PV"), key=lambda bid: float(falls[bid].mean()))
        return falls["PV"] - falls[largest]

    def ratio() -> Floats:
        slr = np.column_stack([found.of(f"slr_{tenth}", "P-SLR", FIGURE_7) for tenth in TENTHS])
        return np.asarray(slr.max(axis=1) / slr.min(axis=1))

    yield found.claim(
        "Below saturation, PV is even worse in value than Random", "section VI, fig. 3", "value: PV less Random",
        lambda: found.against("value", "PV", ["Random"], found.loads(high=BELOW_SATURATION)), "M5", less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "PV starves more jobs than any policy but LRTF, across the loads", "section VI, fig. 5",
        "starved: PV less another",
        lambda: found.against("starved", "PV", found.bids("PV", "LRTF"), found.loads()), "M5", more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "LRTF starves more jobs than PV, across the loads", "section VI, fig. 5", "starved: LRTF less PV",
        lambda: found.against("starved", "LRTF", ["PV"], found.loads()), "M3", more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "At very high load PV does not fall as fast as some other policy", "section VI, fig. 3",
        "fall of value from load 120 % to 140 %: PV less the policy that falls most",
        lambda: {"load 140 %": found.mean(slower())}, "M5", less_than=0.0,
    )  # fmt: skip
    for other in ("PVD", "PVDSQ", "SRTF", "PVR"):
        yield found.claim(
            f"At very high load PV is still beaten by {other}", "section VI, fig. 3", f"value: PV less {other}",
            lambda other=other: found.against("value", "PV", [other], [HIGHEST]),  # type: ignore[misc]  # this turn
            "M15", less_than=0.0,
        )  # fmt: skip
    yield found.claim(
        "P-SLR gives equal SLR (to within a quarter) across execution times", "section VI, fig. 7",
        "largest over least mean SLR of the tenths by execution time, under P-SLR",
        lambda: {"load 120 %": found.mean(ratio())}, at_most=1.25,
    )  # fmt: skip
    yield found.claim(
        "P-SLR starves no job at its deadline below saturation", "section IV", "starved at their deadlines (jobs)",
        lambda: found.by_load(lambda load: found.of("starved_deadline", "P-SLR", load), high=BELOW_SATURATION),
        at_most=0.0,
    )  # fmt: skip
    yield found.claim(
        "P-SLR starves many jobs at high load: more than the 5 % that are few for PVR", "section VI, fig. 5",
        "starved under P-SLR", lambda: {"load 140 %": found.mean(starved("P-SLR", HIGHEST))}, "M9", more_than=0.05,
    )  # fmt: skip


def _densities(found: Found) -> Iterator[Claim]:
    """Hand out what is said of value densities and SRTF."""
    for better in ("PVD", "PVDSQ"):
        yield found.claim(
            f"{better} is clearly (0.01 or more) better in value than PV", "section VI, fig. 3",
            f"value: {better} less PV",
            lambda better=better: found.against("value", better, ["PV"], found.loads()),  # type: ignore[misc]
            "M6", at_least=0.01,
        )  # fmt: skip
    yield found.claim(
        "PVDSQ gets more value than PVD", "section VI, fig. 3", "value: PVDSQ less PVD",
        lambda: found.against("value", "PVDSQ", ["PVD"], found.loads()), "M7", more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "PVDSQ starves many fewer jobs than PVD: at most half as many", "section VI, fig. 5",
        "starved: PVDSQ less half of PVD",
        lambda: found.against("starved", "PVDSQ", ["PVD"], found.loads(), share=0.5), "M7", at_most=0.0,
    )  # fmt: skip
    yield found.claim(
        "PVDSQ starves a few more of the largest jobs than PVD, under overload", "section VI",
        "starved of the largest tenth by volume: PVDSQ less PVD",
        lambda: found.against("volume_starved_10", "PVDSQ", ["PVD"], found.loads(OVERLOAD)), more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        f"PVDSQ and SRTF are almost indistinguishable in value: within {SAME}", "section VI, fig. 3",
        "value: PVDSQ less SRTF",
        lambda: found.against("value", "PVDSQ", ["SRTF"], found.loads()), "M8", at_least=-SAME, at_most=SAME,
    )  # fmt: skip
    yield found.claim(
        "SRTF starves many fewer jobs than PVDSQ: at most half as many", "section VI, fig. 5",
        "starved: SRTF less half of PVDSQ",
        lambda: found.against("starved", "SRTF", ["PVDSQ"], found.loads(), share=0.5), "M8", at_most=0.0,
    )  # fmt: skip


def _deadlines(found: Found) -> Iterator[Claim]:
    """Hand out what is said of EDF."""

    def bends(measure: str, loads: tuple[float, float, float]) -> Cells:
        before, bend, after = (found.of(measure, "EDF", load) for load in loads)
        return {at(loads[1]): found.mean((after - bend) - (bend - before))}

    yield found.claim(
        "EDF attains the second-highest value below load 110 %", "section VI, fig. 4", "rank of EDF by mean value",
        lambda: {at(load): found.rank("value", "EDF", load) for load in found.loads(high=1.09)},
        "M10", at_least=2.0, at_most=2.0,
    )  # fmt: skip
    yield found.claim(
        "The value under EDF falls steeply after load 110 %: by more than up to there", "section VI, fig. 4",
        "change of value from load 110 % to 120 %, less that from 100 % to 110 %",
        lambda: bends("value", (1.0, 1.1, 1.2)), "M10", less_than=0.0,
    )  # fmt: skip
    for other in LEADING:
        yield found.claim(
            f"Above load 110 %, EDF falls behind {other}", "section VI, fig. 4", f"value: EDF less {other}",
            lambda other=other: found.against("value", "EDF", [other], [HIGHEST]),  # type: ignore[misc]  # this turn
            "M10", less_than=0.0,
        )  # fmt: skip
    yield found.claim(
        "After load 120 %, starvation under EDF increases rapidly: by more than up to there", "section VI, fig. 6",
        "change of the starved share from load 120 % to 140 %, less that from 100 % to 120 %",
        lambda: bends("starved", (1.0, 1.2, HIGHEST)), "M10", more_than=0.0,
    )  # fmt: skip


def _remaining(found: Found) -> Iterator[Claim]:
    """Hand out what is said of PVR."""
    for low, high, where in ((0.0, BELOW_SATURATION, "below saturation"), (1.0, 1.1, "from saturation to load 110 %")):
        yield found.claim(
            f"PVR attains the highest value of all policies {where}", "section VI, fig. 4", "value: PVR less another",
            lambda low=low, high=high: found.against(  # type: ignore[misc]  # of this turn
                "value", "PVR", found.bids("PVR"), found.loads(low, high)
            ),
            "M11", at_least=0.0,
        )  # fmt: skip
    for other in ("SRTF", "PVDSQ"):
        yield found.claim(
            f"At very high load PVR falls behind {other}", "section VI, fig. 4", f"value: PVR less {other}",
            lambda other=other: found.against("value", "PVR", [other], [HIGHEST]),  # type: ignore[misc]  # this turn
            "M12", less_than=0.0,
        )  # fmt: skip
    yield found.claim(
        f"PVD equals PVR in value at the highest load: within {SAME}", "section VI, fig. 3", "value: PVR less PVD",
        lambda: found.against("value", "PVR", ["PVD"], [HIGHEST]), "M13", at_least=-SAME, at_most=SAME,
    )  # fmt: skip
    yield found.claim(
        "PVR has the fewest starved jobs across the loads", "section VI, fig. 6", "starved: PVR less another",
        lambda: found.against("starved", "PVR", found.bids("PVR"), found.loads()), "M14", at_most=0.0,
    )  # fmt: skip
    yield found.claim(
        "Under PVR only 5 % of the jobs are incomplete by their deadlines even at load 140 %", "section VI, fig. 6",
        "starved under PVR", lambda: {"load 140 %": found.mean(found.starved("PVR", HIGHEST))}, "M14", at_most=0.05,
    )  # fmt: skip


def _sizes(found: Found) -> Iterator[Claim]:
    """Hand out who pays, by execution time (figure 7) or by volume."""

    def slr(tenth: int, bid: str, load: float = FIGURE_7) -> Floats:
        return found.of(f"slr_{tenth}", bid, load)

    def lowest() -> Cells:
        cells = {}
        for tenth in TENTHS[:5]:
            for bid in found.bids("PVR"):
                less = slr(tenth, "PVR") - slr(tenth, bid)
                if np.isfinite(less).all():  # a tenth of which none finishes under a policy has no SLR there
                    cells[f"{bid}, tenth {tenth}"] = found.mean(less)
        return cells

    def mostly_finished() -> Cells:
        cells = lowest()
        few = {f"{bid}, tenth {tenth}" for tenth in TENTHS[:5] for bid in found.bids("PVR")
               if found.of(f"starved_{tenth}", bid, FIGURE_7).mean() > 0.5}  # fmt: skip
        return {where: measured for where, measured in cells.items() if where not in few}

    def grown(tenth: int) -> Floats:
        return slr(tenth, "PVR") - slr(tenth, "PVR", 0.7)

    yield found.claim(
        "Of smaller jobs (the shorter half), PVR has the lowest SLR of all policies at load 120 %",
        "section VI, fig. 7", "mean SLR at load 120 %: PVR less another", lowest, "M16", at_most=0.0,
        note="under LRTF, PV and FIFO nearly all short jobs starve; the mean is of the few that finish at once",
    )  # fmt: skip
    if found.end == "drain":
        yield found.claim(
            "Of smaller jobs (the shorter half), PVR has the lowest SLR of the policies under which at least half of "
            "them finish, at load 120 %", "section VI, fig. 7", "mean SLR at load 120 %: PVR less another",
            mostly_finished, "M16", ours=True, at_most=0.0,
        )  # fmt: skip
    yield found.claim(
        "Under PVR only the largest jobs have their SLR increased: the longest tenth's grows most",
        "section VI, fig. 7", "growth of the mean SLR from load 70 % to 120 %: tenth 10 less another",
        lambda: {f"tenth {tenth}": found.mean(grown(10) - grown(tenth)) for tenth in TENTHS[:-1]}, "M16",
        more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "Under PVR jobs that are not among the largest (the shorter eight tenths) keep an SLR of at most 2, "
        "the earliest initial deadline", "section VI, fig. 7", "mean SLR under PVR at load 120 %",
        lambda: {f"tenth {tenth}": found.mean(slr(tenth, "PVR")) for tenth in TENTHS[:8]}, "M16", at_most=2.0,
    )  # fmt: skip
    yield found.claim(
        "SRTF penalises the largest jobs less than PVR", "section VI, fig. 7",
        "mean SLR of the longest tenth: SRTF less PVR",
        lambda: found.against("slr_10", "SRTF", ["PVR"], [FIGURE_7]), less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "Under too much work, PVR starves the largest jobs rather than others", "section VI",
        "starved under PVR at load 140 %: the largest tenth by volume less another",
        lambda: {
            f"tenth {tenth}": found.mean(
                found.starved_of(10, "PVR", HIGHEST) - found.starved_of(tenth, "PVR", HIGHEST)
            )
            for tenth in TENTHS[:-1]
        },
        more_than=0.0,
    )  # fmt: skip


def _conclusions(found: Found) -> Iterator[Claim]:
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
            lambda other=other: found.against("value", other, ["PVR"], [HIGHEST]),  # type: ignore[misc]  # this turn
            more_than=0.0, at_most=0.05,
        )  # fmt: skip
        yield found.claim(
            f"At high overload {other} starves hugely more jobs than PVR: at least five times as many",
            "abstract; section VII", f"starved: {other} less five times PVR",
            lambda other=other: found.against(  # type: ignore[misc]  # of this turn
                "starved", other, ["PVR"], [HIGHEST], share=5.0
            ),
            at_least=0.0,
        )  # fmt: skip
    yield found.claim(
        "Under extreme overload most jobs are served sooner under PVR than under SRTF", "section VII",
        "median SLR: PVR less SRTF", lambda: found.against("median_slr", "PVR", ["SRTF"], [HIGHEST]), less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "The leading policies (PVR, SRTF, PVDSQ, PVD, EDF) are close in value under overload: within 0.1",
        "section VII", "largest less least value of the five", lambda: found.by_load(spread, OVERLOAD), at_most=0.1,
    )  # fmt: skip
    yield found.claim(
        "The leading policies starve wildly different numbers of jobs: the most more than ten times the fewest",
        "section VII", "most starved of the five, less ten times the fewest",
        lambda: found.by_load(wild, OVERLOAD), more_than=0.0,
    )  # fmt: skip
    for bid, kept, lost in (("PV", (10,), TENTHS[:8]), ("SRTF", TENTHS[:8], (10,))):
        who = {len(TENTHS[:8]): "the smaller eight tenths", 1: "the largest tenth"}
        yield found.claim(
            f"{bid} runs {who[len(kept)]} of the jobs: less than half starve at load 140 %", "section VII",
            f"starved under {bid}, by tenths of volume",
            lambda bid=bid, kept=kept: {  # type: ignore[misc]  # of this turn
                f"tenth {tenth}": found.mean(starved(tenth, bid, HIGHEST)) for tenth in kept
            },
            less_than=0.5,
        )  # fmt: skip
        yield found.claim(
            f"{bid} starves {who[len(lost)]} of the jobs: more than half at load 140 %", "section VII",
            f"starved under {bid}, by tenths of volume",
            lambda bid=bid, lost=lost: {  # type: ignore[misc]  # of this turn
                f"tenth {tenth}": found.mean(starved(tenth, bid, HIGHEST)) for tenth in lost
            },
            more_than=0.5,
        )  # fmt: skip
