"""Claims of ours on the market study: weaker or sharper than what the paper says.

Their bounds come from what an independent program of ours kept to (`experiments.studies.market.results.PROTOTYPE`).
"""

from collections.abc import Iterator

from experiments.campaigns.claims import Claim
from experiments.studies.market.measures import (
    BELOW_SATURATION,
    FIGURE_7,
    HIGHEST_LOAD,
    LOWEST_LOAD,
    OVERLOAD,
    MarketResults,
    loads_from,
)
from experiments.studies.market.results import TENTHS


def own_claims(found: MarketResults) -> Iterator[Claim]:
    """Hand out sentences of ours."""
    mean, against = found.mean, found.against
    yield found.claim(
        "At load 70 % the value is less than 0.995 under any policy (which is 1.00 to two digits)",
        "section VI, fig. 3", "value at load 70 %",
        lambda: {bid: mean(found.value(bid, LOWEST_LOAD)) for bid in found.others()}, "M2", ours=True,
        loads=(LOWEST_LOAD,), less_than=0.995,
    )  # fmt: skip
    yield found.claim(
        "Under overload, most jobs starve under LRTF", "section VI", "starved under LRTF",
        lambda: found.by_load(lambda load: found.starved("LRTF", load), OVERLOAD), ours=True,
        loads=loads_from(OVERLOAD), bids=("LRTF",), more_than=0.5,
    )  # fmt: skip
    yield found.claim(
        "Under PVR jobs that are not among the largest (the shorter eight tenths) keep an SLR of at most 2, "
        "the earliest initial deadline", "section VI, fig. 7", "mean SLR under PVR at load 120 %",
        lambda: {f"tenth {t}": mean(found.of(f"slr_{t}", "PVR", FIGURE_7)) for t in TENTHS[:8]}, "M16", ours=True,
        loads=(FIGURE_7,), bids=("PVR",), at_most=2.0,
    )  # fmt: skip
    yield found.claim(
        "LRTF gets the least value of all policies", "section VI, fig. 3", "value: LRTF less another",
        lambda: against("value", "LRTF", found.others("LRTF"), found.loads()), "M3", ours=True, less_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "FIFO is an improvement on Random by 0.03 or more from saturation on", "section VI, fig. 3",
        "value: FIFO less Random", lambda: against("value", "FIFO", ["Random"], found.loads(1.0)), "M4", ours=True,
        loads=loads_from(1.0), bids=("FIFO", "Random"), at_least=0.03,
    )  # fmt: skip
    yield found.claim(
        "From load 90 % on PV starves more jobs than any policy but LRTF", "section VI, fig. 5",
        "starved: PV less another", lambda: against("starved", "PV", found.others("PV", "LRTF"), found.loads(0.9)),
        "M5", ours=True, loads=loads_from(0.9), bids=found.bids("LRTF"), more_than=0.0,
    )  # fmt: skip
    yield found.claim(
        "PVDSQ and SRTF differ in value by at most 0.04", "section VI, fig. 3", "value: PVDSQ less SRTF",
        lambda: against("value", "PVDSQ", ["SRTF"], found.loads()), "M8", ours=True, bids=("PVDSQ", "SRTF"),
        at_least=-0.04, at_most=0.04,
    )  # fmt: skip
    yield found.claim(
        "P-SLR loses value at high load: it is 0.03 or more below SRTF", "section VI", "value: P-SLR less SRTF",
        lambda: against("value", "P-SLR", ["SRTF"], found.loads(1.1)), "M9", ours=True, loads=loads_from(1.1),
        bids=("P-SLR", "SRTF"), at_most=-0.03,
    )  # fmt: skip
    yield found.claim(
        "EDF is at most 0.01 below SRTF at load 100 %", "section VI, fig. 4", "value: EDF less SRTF",
        lambda: against("value", "EDF", ["SRTF"], [1.0]), "M10", ours=True, loads=(1.0,), bids=("EDF", "SRTF"),
        at_least=-0.01,
    )  # fmt: skip
    yield found.claim(
        "EDF is 0.08 or more below SRTF at load 140 %", "section VI, fig. 4", "value: EDF less SRTF",
        lambda: against("value", "EDF", ["SRTF"], [HIGHEST_LOAD]), "M10", ours=True, loads=(HIGHEST_LOAD,),
        bids=("EDF", "SRTF"), at_most=-0.08,
    )  # fmt: skip
    yield found.claim(
        "Below saturation PVR is at most 0.006 behind any policy", "section VI, fig. 4", "value: PVR less another",
        lambda: against("value", "PVR", found.others("PVR"), found.loads(high=BELOW_SATURATION)), "M11", ours=True,
        loads=loads_from(high=BELOW_SATURATION), at_least=-0.006,
    )  # fmt: skip
    yield found.claim(
        "Under PVR the eight tenths of the smallest volumes have a mean SLR of at most 1.3 at load 120 %",
        "section VI, fig. 7", "mean SLR under PVR, by volume",
        lambda: {f"tenth {t}": mean(found.of(f"volume_slr_{t}", "PVR", FIGURE_7)) for t in TENTHS[:8]}, "M16",
        ours=True, loads=(FIGURE_7,), bids=("PVR",), at_most=1.3,
    )  # fmt: skip
    yield found.claim(
        "Under PVR the tenth of the largest volumes has a mean SLR of at least 3 at load 120 %", "section VI, fig. 7",
        "mean SLR under PVR, by volume", lambda: {"tenth 10": mean(found.of("volume_slr_10", "PVR", FIGURE_7))}, "M16",
        ours=True, loads=(FIGURE_7,), bids=("PVR",), at_least=3.0,
    )  # fmt: skip
