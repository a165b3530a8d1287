"""The claims of the market study: what the paper says of its results, sentence by sentence.

The paper does not say whether an experiment ends when all jobs are done or with the last submission: all of its
sentences are judged at both ends. Where it has a word and no number, the claim says which margin stands for the word.

References
----------
See `experiments.studies.market.study`; the sections are those of the paper, the numbers M1 to M16 our specification's.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from experiments.campaigns.claims import Claim
from experiments.campaigns.families import number_above_zero
from experiments.campaigns.results import Results
from experiments.studies.market.measures import (
    BELOW_SATURATION,
    FIGURE_7,
    HIGHEST_LOAD,
    LOWEST_LOAD,
    OVERLOAD,
    Cells,
    MarketResults,
    at,
    loads_from,
)
from experiments.studies.market.own_claims import own_claims
from experiments.studies.market.results import TENTHS
from experiments.studies.market.size_claims import LEADING, conclusion_claims, size_claims
from simmodels.ground.numbers import Floats

SAME: Final = 0.01
"""By how much values may differ that are "almost indistinguishable" or "equal": less than PVR's lead where the paper
says that it has the highest (0.012 at load 1.0, the smaller of the two leads in five earlier workloads)."""


def make_claims(results: Results) -> Iterator[Claim]:
    """Hand out the paper's sentences, judged at each end of the runs, and then ours."""
    for end in ("drain", "submit"):
        found = MarketResults(results, end)
        for part in (_baselines, _policies, _densities, _deadlines, _remaining, size_claims, conclusion_claims):
            yield from part(found)
    yield from own_claims(MarketResults(results, "drain"))


def _baselines(found: MarketResults) -> Iterator[Claim]:
    """Hand out what is said of all policies, of LRTF and of FIFO."""
    value = found.value

    def rises() -> Cells:
        return {
            f"{bid}, {at(high)}": found.mean(value(bid, high) - value(bid, low))
            for low, high in pairwise(found.loads())
            for bid in found.others()
        }

    yield found.claim(
        "Not all value is reached even at load 70 %, under any policy", "section VI, fig. 3", "value at load 70 %",
        lambda: {bid: found.mean(value(bid, LOWEST_LOAD)) for bid in found.others()}, "M2", loads=(LOWEST_LOAD,),
        less_than=1.0,
    )  # fmt: skip
    yield found.claim(
        "As load is increased, value decreases for all policies", "section VI, fig. 3",
        "value less that at the load before", rises, "M1", at_most=0.0,
    )  # fmt: skip
    yield found.claim(
        "LRTF is worse in value than Random", "section VI, fig. 3", "value: LRTF less Random",
        lambda: found.against("value", "LRTF", ["Random"], found.loads()), "M3", bids=("LRTF", "Random"),
        less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "Under overload, LRTF never gets jobs finished: 95 % or more starve", "section VI", "starved under LRTF",
        lambda: found.by_load(lambda load: found.starved("LRTF", load), OVERLOAD), loads=loads_from(OVERLOAD),
        bids=("LRTF",), at_least=0.95,
    )  # fmt: skip
    yield found.claim(
        "FIFO is an improvement on Random", "section VI, fig. 3", "value: FIFO less Random",
        lambda: found.against("value", "FIFO", ["Random"], found.loads()), "M4", bids=("FIFO", "Random"),
        more_than=0.0,
        note="with room for nearly all, a random order lets small jobs pass large ones",
    )  # fmt: skip
    yield found.claim(
        "FIFO is a long way (0.05 or more) behind all policies but Random and LRTF under overload",
        "section VI, fig. 3", "value: FIFO less another",
        lambda: found.against("value", "FIFO", found.others("FIFO", "Random", "LRTF"), found.loads(OVERLOAD)),
        loads=loads_from(OVERLOAD), bids=found.bids("Random", "LRTF"), at_most=-0.05,
        note="at the highest loads FIFO passes policies that go by deadlines",
    )  # fmt: skip


def _policies(found: MarketResults) -> Iterator[Claim]:
    """Hand out what is said of PV and P-SLR."""
    value, starved = found.value, found.starved

    def faster() -> Cells:
        falls = {bid: value(bid, FIGURE_7) - value(bid, HIGHEST_LOAD) for bid in found.bids()}
        more = [found.mean(falls[bid] - falls["PV"]) for bid in found.bids("PV")]
        return {"load 140 %": lambda members: number_above_zero(more, members)}

    def ratio() -> Floats:
        slr = np.column_stack([found.of(f"slr_{tenth}", "P-SLR", FIGURE_7) for tenth in TENTHS])
        return np.asarray(slr.max(axis=1) / slr.min(axis=1))

    yield found.claim(
        "Below saturation, PV is even worse in value than Random", "section VI, fig. 3", "value: PV less Random",
        lambda: found.against("value", "PV", ["Random"], found.loads(high=BELOW_SATURATION)), "M5",
        loads=loads_from(high=BELOW_SATURATION), bids=("PV", "Random"), less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "PV starves more jobs than any policy but LRTF, across the loads", "section VI, fig. 5",
        "starved: PV less another",
        lambda: found.against("starved", "PV", found.others("PV", "LRTF"), found.loads()), "M5",
        bids=found.bids("LRTF"), more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "LRTF starves more jobs than PV, across the loads", "section VI, fig. 5", "starved: LRTF less PV",
        lambda: found.against("starved", "LRTF", ["PV"], found.loads()), "M3", bids=("LRTF", "PV"), more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "PV loses less value than other policies (two or more) at the highest loads", "section VI, fig. 3",
        "policies whose value falls by more than that of PV from load 120 % to 140 %", faster, "M5",
        loads=(FIGURE_7, HIGHEST_LOAD), at_least=2.0,
    )  # fmt: skip
    for other in ("PVD", "PVDSQ", "SRTF", "PVR"):
        yield found.claim(
            f"At very high load PV is still beaten by {other}", "section VI, fig. 3", f"value: PV less {other}",
            lambda other=other: found.against("value", "PV", [other], [HIGHEST_LOAD]),  # type: ignore[misc]  # this turn
            "M15", loads=(HIGHEST_LOAD,), bids=("PV", other), less_than=0.0,
        )  # fmt: skip
    yield found.claim(
        "P-SLR gives equal SLR (to within a quarter) across execution times", "section VI, fig. 7",
        "largest over least mean SLR of the tenths by execution time, under P-SLR",
        lambda: {"load 120 %": found.mean(ratio())}, loads=(FIGURE_7,), bids=("P-SLR",), at_most=1.25,
    )  # fmt: skip
    yield from _starvation_free(found)
    yield found.claim(
        "P-SLR starves many jobs at high load: more than the 5 % that are few for PVR", "section VI, fig. 5",
        "starved under P-SLR", lambda: {"load 140 %": found.mean(starved("P-SLR", HIGHEST_LOAD))}, "M9",
        loads=(HIGHEST_LOAD,), bids=("P-SLR",), more_than=0.05,
    )  # fmt: skip


def _starvation_free(found: MarketResults) -> Iterator[Claim]:
    """Hand out what is said of P-SLR without its second term; of ours, that has the term, it is a sentence of ours."""
    plain = found.ran("P-SLR:plain")
    if plain or found.end == "drain":
        bid, terms = ("P-SLR:plain", "without") if plain else ("P-SLR", "with")
        yield found.claim(
            f"Below saturation no job starves under P-SLR {terms} the term for extremely high load",
            "section IV; what starving is: section V", f"jobs that reach their final deadlines waiting, under {bid}",
            lambda: found.by_load(lambda load: found.of("starved_deadline", bid, load), high=BELOW_SATURATION),
            ours=not plain, loads=loads_from(high=BELOW_SATURATION), bids=(bid,), at_most=0.0,
        )  # fmt: skip


def _densities(found: MarketResults) -> Iterator[Claim]:
    """Hand out what is said of value densities and SRTF."""
    for better in ("PVD", "PVDSQ"):
        yield found.claim(
            f"{better} is clearly (0.01 or more) better in value than PV", "section VI, fig. 3",
            f"value: {better} less PV",
            lambda better=better: found.against("value", better, ["PV"], found.loads()),  # type: ignore[misc]
            "M6", bids=(better, "PV"), at_least=0.01,
        )  # fmt: skip
    yield found.claim(
        "PVDSQ gets more value than PVD", "section VI, fig. 3", "value: PVDSQ less PVD",
        lambda: found.against("value", "PVDSQ", ["PVD"], found.loads()), "M7", bids=("PVDSQ", "PVD"),
        more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "PVDSQ starves many fewer jobs than PVD: at most half as many", "section VI, fig. 5",
        "starved: PVDSQ less half of PVD",
        lambda: found.against("starved", "PVDSQ", ["PVD"], found.loads(), share=0.5), "M7", bids=("PVDSQ", "PVD"),
        at_most=0.0,
    )  # fmt: skip
    yield found.claim(
        "PVDSQ lets slightly more (up to 0.1) of the largest jobs starve than PVD", "section VI",
        "starved of the largest tenth by volume, under overload (below it nearly none are): PVDSQ less PVD",
        lambda: found.against("volume_starved_10", "PVDSQ", ["PVD"], found.loads(OVERLOAD)),
        loads=loads_from(OVERLOAD), bids=("PVDSQ", "PVD"), more_than=0.0, at_most=0.1,
    )  # fmt: skip
    yield found.claim(
        "Under overload, other policies (two or more) get more value than PVD", "section VI",
        "policies that have more value than PVD",
        lambda: {at(load): found.ahead("value", "PVD", load) for load in found.loads(OVERLOAD)},
        loads=loads_from(OVERLOAD), at_least=2.0,
    )  # fmt: skip
    yield found.claim(
        f"PVDSQ and SRTF are almost indistinguishable in value: within {SAME}", "section VI, fig. 3",
        "value: PVDSQ less SRTF",
        lambda: found.against("value", "PVDSQ", ["SRTF"], found.loads()), "M8", bids=("PVDSQ", "SRTF"),
        at_least=-SAME, at_most=SAME,
    )  # fmt: skip
    yield found.claim(
        "SRTF starves many fewer jobs than PVDSQ: at most half as many", "section VI, fig. 5",
        "starved: SRTF less half of PVDSQ",
        lambda: found.against("starved", "SRTF", ["PVDSQ"], found.loads(), share=0.5), "M8", bids=("SRTF", "PVDSQ"),
        at_most=0.0,
    )  # fmt: skip


def _deadlines(found: MarketResults) -> Iterator[Claim]:
    """Hand out what is said of EDF."""

    def bends(measure: str, loads: tuple[float, float, float]) -> Cells:
        before, bend, after = (found.of(measure, "EDF", load) for load in loads)
        return {at(loads[1]): found.mean((after - bend) - (bend - before))}

    yield found.claim(
        "EDF attains the second-highest value below load 110 %", "section VI, fig. 4", "rank of EDF by mean value",
        lambda: {at(load): found.rank("value", "EDF", load) for load in found.loads(high=1.09)},
        "M10", loads=loads_from(high=1.09), at_least=2.0, at_most=2.0,
    )  # fmt: skip
    yield found.claim(
        "The value under EDF falls steeply after load 110 %: by more than up to there", "section VI, fig. 4",
        "change of value from load 110 % to 120 %, less that from 100 % to 110 %",
        lambda: bends("value", (1.0, 1.1, 1.2)), "M10", loads=(1.0, 1.1, 1.2), bids=("EDF",), less_than=0.0,
    )  # fmt: skip
    for other in (*LEADING, "P-SLR", "PV", "FIFO"):
        yield found.claim(
            f"Above load 110 %, EDF falls behind {other}", "section VI, fig. 4", f"value: EDF less {other}",
            lambda other=other: found.against(  # type: ignore[misc]  # of this turn
                "value", "EDF", [other], found.loads(1.11)
            ),
            "M10", loads=loads_from(1.11), bids=("EDF", other), less_than=0.0,
        )  # fmt: skip
    yield found.claim(
        "After load 120 %, starvation under EDF increases rapidly: by more than up to there", "section VI, fig. 6",
        "change of the starved share from load 120 % to 140 %, less that from 100 % to 120 %",
        lambda: bends("starved", (1.0, 1.2, HIGHEST_LOAD)), "M10", loads=(1.0, 1.2, HIGHEST_LOAD),
        bids=("EDF",), more_than=0.0,
    )  # fmt: skip


def _remaining(found: MarketResults) -> Iterator[Claim]:
    """Hand out what is said of PVR."""
    for low, high, where in ((0.0, BELOW_SATURATION, "below saturation"), (1.0, 1.1, "from saturation to load 110 %")):
        yield found.claim(
            f"PVR attains the highest value of all policies {where}", "section VI, fig. 4", "value: PVR less another",
            lambda low=low, high=high: found.against(  # type: ignore[misc]  # of this turn
                "value", "PVR", found.others("PVR"), found.loads(low, high)
            ),
            "M11", loads=loads_from(low, high), at_least=0.0,
        )  # fmt: skip
    yield found.claim(
        "Under a typical overload (load 110 %) PVR gets the most value of all policies", "abstract",
        "value: PVR less another", lambda: found.against("value", "PVR", found.others("PVR"), [1.1]), "M11",
        loads=(1.1,), at_least=0.0,
    )  # fmt: skip
    for other in ("SRTF", "PVDSQ"):
        yield found.claim(
            f"At very high load PVR falls behind {other}", "section VI, fig. 4", f"value: PVR less {other}",
            lambda other=other: found.against("value", "PVR", [other], [HIGHEST_LOAD]),  # type: ignore[misc]  # this turn
            "M12", loads=(HIGHEST_LOAD,), bids=("PVR", other), less_than=0.0,
        )  # fmt: skip
    yield found.claim(
        f"PVD equals PVR in value at the highest load: within {SAME}", "section VI, fig. 3", "value: PVR less PVD",
        lambda: found.against("value", "PVR", ["PVD"], [HIGHEST_LOAD]), "M13", loads=(HIGHEST_LOAD,),
        bids=("PVR", "PVD"), at_least=-SAME, at_most=SAME,
    )  # fmt: skip
    yield found.claim(
        "PVR has the fewest starved jobs across the loads", "section VI, fig. 6", "starved: PVR less another",
        lambda: found.against("starved", "PVR", found.others("PVR"), found.loads()), "M14", at_most=0.0,
    )  # fmt: skip
    yield found.claim(
        "Under PVR only 5 % of the jobs are incomplete by their deadlines even at load 140 %", "section VI, fig. 6",
        "starved under PVR", lambda: {"load 140 %": found.mean(found.starved("PVR", HIGHEST_LOAD))}, "M14",
        loads=(HIGHEST_LOAD,), bids=("PVR",), at_most=0.05,
    )  # fmt: skip
