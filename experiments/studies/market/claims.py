"""The claims of the market study: what the paper says of its results, one row per sentence, and then ours.

The paper does not say whether an experiment ends when all jobs are done or with the last submission: all of its
sentences are judged at both ends. Where it has a word and no number, the claim says which margin stands for the word.
Those of ours are weaker or sharper; their bounds come from what an independent program of ours kept to
(`experiments.studies.market.results.PROTOTYPE`).

References
----------
See `experiments.studies.market.study`; the sections are those of the paper, the numbers M1 to M16 our specification's.
"""

from collections.abc import Iterator
from typing import Any, Final

from experiments.campaigns.claims import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Compared, Sentence
from experiments.studies.market.results import MarketResults
from experiments.studies.market.settings import FIGURE_7, HIGHEST_LOAD, LEADING, LOWEST_LOAD, TENTHS, loads
from simmodels.policies.bids import TEN_BIDS

SAME: Final = 0.01
"""By how much values may differ that are "almost indistinguishable" or "equal": less than PVR's lead where the paper
says that it has the highest (0.012 at load 1.0, the smaller of the two leads in five earlier workloads)."""
FIVE: Final = (*LEADING, "EDF")

_ALL: Final = loads()
_BELOW: Final = loads(high=0.99)  # saturation
_OVERLOADED: Final = loads(1.01)
_AT_70: Final = loads(high=LOWEST_LOAD)
_AT_120: Final = loads(FIGURE_7, FIGURE_7)
_AT_140: Final = loads(HIGHEST_LOAD)
_LIGHT_AND_120: Final = {"load": (LOWEST_LOAD, FIGURE_7)}


def _but(*bids: str) -> tuple[str, ...]:
    """Return the paper's ten bids except some."""
    return tuple(bid for bid in TEN_BIDS if bid not in bids)


def _tenths(column: str, tenths: tuple[int, ...] = TENTHS) -> tuple[str, ...]:
    """Return the columns of tenths of the jobs."""
    return tuple(f"{column}_{tenth}" for tenth in tenths)


def _ours(text: str, source: str, compared: Compared, measure: str = "") -> Sentence:
    """Return a sentence of ours: it is judged where runs end when all jobs are done."""
    return Sentence(text, source, compared, measure, ours=True, on=("drain",))


_NO_STARVING: Final = "section IV; what starving is: section V"
PLAIN_SLR: Final = Sentence(
    "Below saturation no job starves under P-SLR without the term for extremely high load",
    _NO_STARVING,
    Compared("starved_deadline", "P-SLR:plain", along=_BELOW, at_most=0.0),
    "jobs that reach their final deadlines waiting, under P-SLR:plain",
)
"""What is said of P-SLR without its second term."""
OUR_SLR: Final = _ours(
    "Below saturation no job starves under P-SLR with the term for extremely high load",
    _NO_STARVING,
    Compared("starved_deadline", "P-SLR", along=_BELOW, at_most=0.0),
    "jobs that reach their final deadlines waiting, under P-SLR",
)
"""What stands for it where only our P-SLR was run, which has the term."""

_BASELINES: Final = (
    Sentence(
        "Not all value is reached even at load 70 %, under any policy",
        "section VI, fig. 3 (M2)",
        Compared("value", TEN_BIDS, along=_AT_70, less_than=1.0),
        "value at load 70 %",
    ),
    Sentence(
        "As load is increased, value decreases for all policies",
        "section VI, fig. 3 (M1)",
        Compared("value", TEN_BIDS, along=_ALL, change="rise", at_most=0.0),
        "value less that at the load before",
    ),
    Sentence(
        "LRTF is worse in value than Random",
        "section VI, fig. 3 (M3)",
        Compared("value", "LRTF", "Random", _ALL, less_than=0.0),
    ),
    Sentence(
        "Under overload, LRTF never gets jobs finished: 95 % or more starve",
        "section VI",
        Compared("starved", "LRTF", along=_OVERLOADED, at_least=0.95),
    ),
    Sentence(
        "FIFO is an improvement on Random",
        "section VI, fig. 3 (M4)",
        Compared("value", "FIFO", "Random", _ALL, more_than=0.0),
        note="with room for nearly all, a random order lets small jobs pass large ones",
    ),
    Sentence(
        "FIFO is a long way (0.05 or more) behind all policies but Random and LRTF under overload",
        "section VI, fig. 3",
        Compared("value", "FIFO", _but("FIFO", "Random", "LRTF"), _OVERLOADED, at_most=-0.05),
        note="at the highest loads FIFO passes policies that go by deadlines",
    ),
)
"""What is said of all policies, of LRTF and of FIFO."""

_POLICIES: Final = (
    Sentence(
        "Below saturation, PV is even worse in value than Random",
        "section VI, fig. 3 (M5)",
        Compared("value", "PV", "Random", _BELOW, less_than=0.0),
    ),
    Sentence(
        "PV starves more jobs than any policy but LRTF, across the loads",
        "section VI, fig. 5 (M5)",
        Compared("starved", "PV", _but("PV", "LRTF"), _ALL, more_than=0.0),
    ),
    Sentence(
        "LRTF starves more jobs than PV, across the loads",
        "section VI, fig. 5 (M3)",
        Compared("starved", "LRTF", "PV", _ALL, more_than=0.0),
    ),
    Sentence(
        "PV loses less value than other policies (two or more) at the highest loads",
        "section VI, fig. 3 (M5)",
        Compared("losing more", "PV", _but("PV"), {"load": (FIGURE_7, HIGHEST_LOAD)}, at_least=2.0),
        "policies whose value falls by more than that of PV from load 120 % to 140 %",
    ),
    *(
        Sentence(
            f"At very high load PV is still beaten by {other}",
            "section VI, fig. 3 (M15)",
            Compared("value", "PV", other, _AT_140, less_than=0.0),
        )
        for other in ("PVD", "PVDSQ", "SRTF", "PVR")
    ),
    Sentence(
        "P-SLR gives equal SLR (to within a quarter) across execution times",
        "section VI, fig. 7",
        Compared("across tenths", "P-SLR", along=_AT_120, at_most=1.25),
        "largest over least mean SLR of the tenths by execution time, under P-SLR",
    ),
    PLAIN_SLR,
    OUR_SLR,
    Sentence(
        "P-SLR starves many jobs at high load: more than the 5 % that are few for PVR",
        "section VI, fig. 5 (M9)",
        Compared("starved", "P-SLR", along=_AT_140, more_than=0.05),
    ),
)
"""What is said of PV and P-SLR."""

_DENSITIES: Final = (
    *(
        Sentence(
            f"{better} is clearly (0.01 or more) better in value than PV",
            "section VI, fig. 3 (M6)",
            Compared("value", better, "PV", _ALL, at_least=0.01),
        )
        for better in ("PVD", "PVDSQ")
    ),
    Sentence(
        "PVDSQ gets more value than PVD",
        "section VI, fig. 3 (M7)",
        Compared("value", "PVDSQ", "PVD", _ALL, more_than=0.0),
    ),
    Sentence(
        "PVDSQ starves many fewer jobs than PVD: at most half as many",
        "section VI, fig. 5 (M7)",
        Compared("starved", "PVDSQ", "PVD", _ALL, times=0.5, at_most=0.0),
        "starved: PVDSQ less half of PVD",
    ),
    Sentence(
        "PVDSQ lets slightly more (up to 0.1) of the largest jobs starve than PVD",
        "section VI",
        Compared("volume_starved_10", "PVDSQ", "PVD", _OVERLOADED, more_than=0.0, at_most=0.1),
        "starved of the largest tenth by volume, under overload (below it nearly none are): PVDSQ less PVD",
    ),
    Sentence(
        "Under overload, other policies (two or more) get more value than PVD",
        "section VI",
        Compared("ahead", "PVD", _but("PVD"), _OVERLOADED, at_least=2.0),
        "policies that have more value than PVD",
    ),
    Sentence(
        f"PVDSQ and SRTF are almost indistinguishable in value: within {SAME}",
        "section VI, fig. 3 (M8)",
        Compared("value", "PVDSQ", "SRTF", _ALL, within=SAME),
    ),
    Sentence(
        "SRTF starves many fewer jobs than PVDSQ: at most half as many",
        "section VI, fig. 5 (M8)",
        Compared("starved", "SRTF", "PVDSQ", _ALL, times=0.5, at_most=0.0),
        "starved: SRTF less half of PVDSQ",
    ),
)
"""What is said of value densities and SRTF."""

_DEADLINES: Final = (
    Sentence(
        "EDF attains the second-highest value below load 110 %",
        "section VI, fig. 4 (M10)",
        Compared("rank", "EDF", _but("EDF"), loads(high=1.09), at_least=2.0, at_most=2.0),
        "rank of EDF by mean value",
    ),
    Sentence(
        "The value under EDF falls steeply after load 110 %: by more than up to there",
        "section VI, fig. 4 (M10)",
        Compared("bend of value", "EDF", along={"load": (1.0, 1.1, 1.2)}, less_than=0.0),
        "change of value from load 110 % to 120 %, less that from 100 % to 110 %",
    ),
    *(
        Sentence(
            f"Above load 110 %, EDF falls behind {other}",
            "section VI, fig. 4 (M10)",
            Compared("value", "EDF", other, loads(1.11), less_than=0.0),
        )
        for other in (*LEADING, "P-SLR", "PV", "FIFO")
    ),
    Sentence(
        "After load 120 %, starvation under EDF increases rapidly: by more than up to there",
        "section VI, fig. 6 (M10)",
        Compared("bend of starved", "EDF", along={"load": (1.0, 1.2, HIGHEST_LOAD)}, more_than=0.0),
        "change of the starved share from load 120 % to 140 %, less that from 100 % to 120 %",
    ),
)
"""What is said of EDF."""

_REMAINING: Final = (
    *(
        Sentence(
            f"PVR attains the highest value of all policies {where}",
            "section VI, fig. 4 (M11)",
            Compared("value", "PVR", _but("PVR"), along, at_least=0.0),
        )
        for along, where in ((_BELOW, "below saturation"), (loads(1.0, 1.1), "from saturation to load 110 %"))
    ),
    Sentence(
        "Under a typical overload (load 110 %) PVR gets the most value of all policies",
        "abstract (M11)",
        Compared("value", "PVR", _but("PVR"), loads(1.1, 1.1), at_least=0.0),
    ),
    Sentence(
        "Up to load 110 % PVR runs small jobs before they starve: 1 % or less of the smaller eight tenths",
        "section VI",
        Compared(_tenths("volume_starved", TENTHS[:8]), "PVR", along=loads(high=1.1), at_most=0.01),
        "starved under PVR, by tenths of volume; 1 %: a margin of ours",
    ),
    *(
        Sentence(
            f"At very high load PVR falls behind {other}",
            "section VI, fig. 4 (M12)",
            Compared("value", "PVR", other, _AT_140, less_than=0.0),
        )
        for other in ("SRTF", "PVDSQ")
    ),
    Sentence(
        f"PVD equals PVR in value at the highest load: within {SAME}",
        "section VI, fig. 3 (M13)",
        Compared("value", "PVR", "PVD", _AT_140, within=SAME),
    ),
    Sentence(
        "PVR has the fewest starved jobs across the loads",
        "section VI, fig. 6 (M14)",
        Compared("starved", "PVR", _but("PVR"), _ALL, at_most=0.0),
    ),
    Sentence(
        "Under PVR only 5 % of the jobs are incomplete by their deadlines even at load 140 %",
        "section VI, fig. 6 (M14)",
        Compared("starved", "PVR", along=_AT_140, at_most=0.05),
    ),
)
"""What is said of PVR."""

_SIZES: Final = (
    Sentence(
        "Of smaller jobs (the shorter half), PVR has the lowest SLR of all policies at load 120 %",
        "section VI, fig. 7 (M16)",
        Compared("slr of short", "PVR", _but("PVR"), _AT_120, at_most=0.0),
        "mean SLR at load 120 %: PVR less another",
        note="under LRTF, PV and FIFO nearly all short jobs starve; the mean is of the few that finish at once",
    ),
    _ours(
        "Of smaller jobs (the shorter half), PVR has the lowest SLR of the policies under which at least half of them "
        "finish, at load 120 %",
        "section VI, fig. 7 (M16)",
        Compared("slr of short, mostly finished", "PVR", _but("PVR"), _AT_120, at_most=0.0),
        "mean SLR at load 120 %: PVR less another",
    ),
    Sentence(
        "Under PVR only the largest jobs are slowed by more load: the mean SLR of the longest tenth grows by 0.5 or "
        "more from load 70 % to 120 %, that of the shorter eight tenths by 0.5 or less",
        "section VI, fig. 7 (M16)",
        Compared("growth", "PVR", along=_LIGHT_AND_120, at_least=0.0),
        "growth of the mean SLR: of tenth 10 less 0.5; 0.5 less that of tenths 1 to 8",
    ),
    Sentence(
        "SRTF penalises the largest jobs a little (up to a quarter) less than PVR",
        "section VI, fig. 7",
        Compared("slr_10", "SRTF", "PVR", _AT_120, how="quotient", less_than=1.0, at_least=0.75),
        "mean SLR of the longest tenth: SRTF over PVR",
    ),
    Sentence(
        "Under too much work, PVR starves the largest jobs rather than others",
        "section VI",
        Compared("largest first", "PVR", along=_AT_140, more_than=0.0),
        "starved under PVR at load 140 %: the largest tenth by volume less another",
    ),
)
"""Who pays, by execution time (figure 7) or by volume."""

_RUNS: Final[tuple[str, dict[str, Any]]] = ("runs {} of the jobs: less than half starve", {"less_than": 0.5})
_STARVES: Final[tuple[str, dict[str, Any]]] = ("starves {} of the jobs: more than half", {"more_than": 0.5})
_LARGEST: Final = ("the largest tenth", TENTHS[-1:])
_SMALLER: Final = ("the smaller eight tenths", TENTHS[:8])
_CONCLUSIONS: Final = (
    *(
        sentence
        for other in ("PVDSQ", "SRTF")
        for sentence in (
            Sentence(
                f"At high overload {other} gets slightly more value than PVR: by up to 0.05",
                "abstract; section VII",
                Compared("value", other, "PVR", _AT_140, more_than=0.0, at_most=0.05),
            ),
            Sentence(
                f"At high overload {other} starves hugely more jobs than PVR: at least five times as many",
                "abstract; section VII",
                Compared("starved", other, "PVR", _AT_140, times=5.0, at_least=0.0),
                f"starved: {other} less five times PVR",
            ),
        )
    ),
    Sentence(
        "Under extreme overload most jobs are served sooner under PVR than under SRTF",
        "section VII",
        Compared("median_slr", "PVR", "SRTF", _AT_140, less_than=0.0),
        "median SLR: PVR less SRTF",
    ),
    Sentence(
        "The leading policies (PVR, SRTF, PVDSQ, PVD, EDF) are close in value under overload: within 0.1",
        "section VII",
        Compared("range of value", FIVE, along=_OVERLOADED, at_most=0.1),
        "largest less least value of the five",
    ),
    Sentence(
        "The leading policies starve wildly different numbers of jobs: the most more than ten times the fewest",
        "section VII",
        Compared("range of starved", FIVE, along=_OVERLOADED, more_than=0.0),
        "most starved of the five, less ten times the fewest",
    ),
    *(
        Sentence(
            f"{bid} keeps a balance across execution times: of no tenth starve half or more at load 140 %",
            "section VII",
            Compared(_tenths("starved"), bid, along=_AT_140, less_than=0.5),
            f"starved under {bid}, by tenths of execution time",
        )
        for bid in ("EDF", "PVDSQ", "PVR")
    ),
    *(
        Sentence(
            f"{bid} {does.format(who)} at load 140 %",
            "section VII",
            Compared(_tenths("volume_starved", tenths), bid, along=_AT_140, **bound),
            f"starved under {bid}, by tenths of volume",
        )
        for bid, (does, bound), (who, tenths) in (
            ("PV", _RUNS, _LARGEST),
            ("PV", _STARVES, _SMALLER),
            ("SRTF", _RUNS, _SMALLER),
            ("SRTF", _STARVES, _LARGEST),
        )
    ),
)
"""What abstract and conclusion say."""

SENTENCES: Final = (*_BASELINES, *_POLICIES, *_DENSITIES, *_DEADLINES, *_REMAINING, *_SIZES, *_CONCLUSIONS)
OURS: Final = (
    _ours(
        "At load 70 % the value is less than 0.995 under any policy (which is 1.00 to two digits)",
        "section VI, fig. 3 (M2)",
        Compared("value", TEN_BIDS, along=_AT_70, less_than=0.995),
        "value at load 70 %",
    ),
    _ours(
        "Under overload, most jobs starve under LRTF",
        "section VI",
        Compared("starved", "LRTF", along=_OVERLOADED, more_than=0.5),
    ),
    _ours(
        "Under PVR jobs that are not among the largest (the shorter eight tenths) keep an SLR of at most 2, the "
        "earliest initial deadline",
        "section VI, fig. 7 (M16)",
        Compared(_tenths("slr", TENTHS[:8]), "PVR", along=_AT_120, at_most=2.0),
        "mean SLR under PVR at load 120 %",
    ),
    _ours(
        "LRTF gets the least value of all policies",
        "section VI, fig. 3 (M3)",
        Compared("value", "LRTF", _but("LRTF"), _ALL, less_than=0.0),
    ),
    _ours(
        "FIFO is an improvement on Random by 0.03 or more from saturation on",
        "section VI, fig. 3 (M4)",
        Compared("value", "FIFO", "Random", loads(1.0), at_least=0.03),
    ),
    _ours(
        "From load 90 % on PV starves more jobs than any policy but LRTF",
        "section VI, fig. 5 (M5)",
        Compared("starved", "PV", _but("PV", "LRTF"), loads(0.9), more_than=0.0),
    ),
    _ours(
        "PVDSQ and SRTF differ in value by at most 0.04",
        "section VI, fig. 3 (M8)",
        Compared("value", "PVDSQ", "SRTF", _ALL, within=0.04),
    ),
    _ours(
        "P-SLR loses value at high load: it is 0.03 or more below SRTF",
        "section VI (M9)",
        Compared("value", "P-SLR", "SRTF", loads(1.1), at_most=-0.03),
    ),
    _ours(
        "EDF is at most 0.01 below SRTF at load 100 %",
        "section VI, fig. 4 (M10)",
        Compared("value", "EDF", "SRTF", loads(1.0, 1.0), at_least=-0.01),
    ),
    _ours(
        "EDF is 0.08 or more below SRTF at load 140 %",
        "section VI, fig. 4 (M10)",
        Compared("value", "EDF", "SRTF", _AT_140, at_most=-0.08),
    ),
    _ours(
        "Below saturation PVR is at most 0.006 behind any policy",
        "section VI, fig. 4 (M11)",
        Compared("value", "PVR", _but("PVR"), _BELOW, at_least=-0.006),
    ),
    _ours(
        "Under PVR the eight tenths of the smallest volumes have a mean SLR of at most 1.3 at load 120 %",
        "section VI, fig. 7 (M16)",
        Compared(_tenths("volume_slr", TENTHS[:8]), "PVR", along=_AT_120, at_most=1.3),
        "mean SLR under PVR, by volume",
    ),
    _ours(
        "Under PVR the tenth of the largest volumes has a mean SLR of at least 3 at load 120 %",
        "section VI, fig. 7 (M16)",
        Compared(_tenths("volume_slr", TENTHS[-1:]), "PVR", along=_AT_120, at_least=3.0),
        "mean SLR under PVR, by volume",
    ),
)


def make_claims(found: MarketResults) -> Iterator[Claim]:
    """Hand out the paper's sentences, judged at each end of the runs, and then ours."""
    for end in found.subjects:
        other = OUR_SLR if found.ran("P-SLR:plain", end) else PLAIN_SLR
        yield from judge(found, (sentence for sentence in SENTENCES if sentence is not other), end)
    yield from judge(found, OURS)
