"""The claims of the paper on variable capacity, one row per sentence; ours are weaker or sharper than the paper's.

A sentence on "all", "each" or "always" is judged as `experiments.campaigns.families.everywhere` says; the comparison
that decides stands beside it.
"""

from collections.abc import Iterator
from typing import Final

from experiments.campaigns.claims import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Compared, How, Sentence
from experiments.policy import ASAP, FIRST_FIT, FIVE, TARGETED
from experiments.studies.capacity.paper import PRINTED
from experiments.studies.capacity.results import CapacityResults
from experiments.studies.capacity.settings import BORG, SWEPT, WORKLOADS

SIMILAR: Final = 0.015
"""Goodputs that differ by at most 1.5 points are called alike; "much", "clearly" and "well" is more than that."""
FULL: Final = 0.98
"""Of goodput and aborted share together: what "close to 1" is."""
NEARLY_ALL: Final = 0.95
"""The share of jobs, or of settings, that is nearly all of them."""
COMPARABLE: Final = 1.5
"""The ratio of two stretches up to which they are comparable: well below the 2 to 3 that is called not negligible."""

FOUR: Final = tuple(name for name in FIVE if name != "TargetStretch")
"""The heuristics that leave no core idle while jobs wait: all but TargetStretch."""
_MACHINES: Final = {"machines": SWEPT["machines"]}
_PERIODS: Final = {"period_s": SWEPT["period_s"]}
_RANGES: Final = {"radius": SWEPT["radius"]}
_FEW, _SOME, _MANY = 20, 26, 28  # the numbers of machines between which section 6.1 has goodput rise and fall
_WIDEST: Final = SWEPT["radius"][-1]
_NOT_BORG: Final = tuple(name for name in WORKLOADS if name != BORG)
_NOT_LOGSCALE: Final = tuple(name for name in WORKLOADS if name != "LogScale")

_TEXT: Final = {"variant": "text"}
_PROGRAM: Final = {"variant": "default"}
_RANDOM: Final = "by the text's rule, section 4.2: of first fit that is unaware, a random machine is removed"
_ON_FIRST_FIT: Final = "goodput less that of first fit, aware or not, in each setting"
_UNAWARE: Final = "goodput of FirstFitAware less that of FirstFitUnaware, along figure 1"
OVER: Final[How] = "over"
LESS: Final[How] = "less"

OVERALL: Final = (
    *PRINTED,
    Sentence(
        "TargetASAP or PackedTargetASAP is the best heuristic in almost all settings",
        "section 6.4",
        Compared("best share", FIVE, along=SWEPT, judge="share", at_least=NEARLY_ALL),
        "share of settings and workloads in which one of the two has the largest mean goodput",
        together=True,
        unit="%",
    ),
    Sentence(
        "TargetASAP and PackedTargetASAP gain at least a point on first fit, on average over all settings",
        "section 6.4 (V2)",
        Compared("goodput", ASAP, FIRST_FIT, SWEPT, mean=["of", "against", "along", "subjects"], at_least=0.01),
        "goodput less that of first fit, mean of the settings and workloads",
        ours=True,
        together=True,
        on=("Uniform", "LogScale", "LogScaleU", "3types", BORG),
    ),
    *(
        Sentence(
            f"How the heuristics compare depends little on the workload: within 1.5 points, along {figure}",
            source,
            Compared("apart", FIVE, along=sweep, mean=["along"], within=SIMILAR),
            f"goodput less the mean of the five heuristics, mean along {figure}: on one workload less that on another",
            together=True,
        )
        for sweep, source, figure in ((_MACHINES, "section 6.1", "figure 1"), (_PERIODS, "section 6.2", "figure 2"))
    ),
    Sentence(
        "In maximum stretch TargetStretch is not always better than the two ASAP",
        "section 6.4",
        Compared("max_stretch", "TargetStretch", ASAP, SWEPT, how="over", judge="largest", more_than=1.0),
        "max_stretch of TargetStretch over that of each of the two, where it is largest of all settings and workloads "
        "(geometric means)",
        together=True,
    ),
)
"""The numbers that the text prints, and what is said of all workloads together."""

STANDING: Final = (
    Sentence(
        "The heuristics keep their relative performance when the range becomes wider: within 1.5 points",
        "section 6.3",
        Compared(
            "goodput",
            FIVE,
            FIVE,
            _RANGES,
            change="rise",
            between="first",
            mean=["against"],
            within=SIMILAR,
        ),
        "goodput less the mean of the five heuristics, with a wider range less with the narrowest",
    ),
    Sentence(
        "TargetStretch is decent (not below first fit) where machines are few, and where the variability is high",
        "section 6.4",
        Compared("goodput", "TargetStretch", FIRST_FIT, at=[{"machines": _FEW}, {"radius": _WIDEST}], at_least=0.0),
        "goodput less that of first fit, aware or not, with the fewest machines and with the widest range",
    ),
)
"""How the heuristics stand to each other, on each workload."""

GOODPUT: Final = (
    Sentence(
        "Results are very close to those on Uniform",
        "section 5.3",
        Compared("goodput", FIVE, within=SIMILAR),
        "goodput less that on Uniform, on the same walks, at the centre",
        on=("LogScaleU",),
        than_on="Uniform",
    ),
    Sentence(
        "Goodput rises from 20 to 26 machines under each heuristic",
        "section 6.1 (V6)",
        Compared("goodput", FIVE, along={"machines": (_FEW, _SOME)}, change="rise", more_than=0.0),
        "goodput with the more machines less that with the fewer",
    ),
    Sentence(
        "Goodput falls from 26 to 28 machines under each heuristic",
        "section 6.1 (V6)",
        Compared("goodput", FIVE, along={"machines": (_SOME, _MANY)}, change="drop", more_than=0.0),
        "goodput with the fewer machines less that with the more",
    ),
    Sentence(
        "TargetStretch falls behind as machines become more",
        "section 6.1 (V6)",
        Compared("goodput", "TargetStretch", "TargetAsap", {"machines": (_FEW, _MANY)}, change="drop", more_than=0.0),
        "its goodput less that of TargetASAP with the fewest machines, less the same with the most",
    ),
    Sentence(
        "TargetStretch is the last when machines are many",
        "section 6.1 (V6)",
        Compared("goodput", FOUR, "TargetStretch", at=[{"machines": _MANY}], more_than=0.0),
        "goodput of each other less its own",
        ours=True,
    ),
    Sentence(
        "TargetStretch is the first when machines are few",
        "section 6.4 (V6)",
        Compared("goodput", "TargetStretch", FOUR, at=[{"machines": _FEW}], more_than=0.0),
        "its goodput less that of each other",
        ours=True,
        on=(BORG,),
    ),
    Sentence(
        "With 28 machines nearly all jobs complete",
        "section 6.1 (V13)",
        Compared("completed_share", ASAP, at=[{"machines": _MANY}], at_least=NEARLY_ALL),
        "share of the jobs that complete, of the two ASAP",
        unit="%",
    ),
    Sentence(
        "TargetASAP and PackedTargetASAP are better than first fit in all settings",
        "sections 6.1 and 6.4 (V2)",
        Compared("goodput", ASAP, FIRST_FIT, SWEPT, more_than=0.0),
        _ON_FIRST_FIT,
    ),
    Sentence(
        "TargetASAP and PackedTargetASAP are nowhere worse than first fit by more than 0.2 points",
        "section 6.1 (V2)",
        Compared("goodput", ASAP, FIRST_FIT, SWEPT, at_least=-0.002),
        _ON_FIRST_FIT,
        ours=True,
    ),
    *(
        Sentence(
            f"At the centre PackedTargetASAP gains at least {100 * least:g} points on first fit",
            "section 6.1 (V3)",
            Compared("goodput", "PackedTargetAsap", "FirstFitAware", at_least=least),
            "goodput less that of FirstFitAware",
            ours=True,
            on=on,
        )
        for least, on in ((0.04, (BORG,)), (0.005, _NOT_BORG))
    ),
    *(
        Sentence(
            f"{text}{', if unaware is to fill the machines in a random order' if given is _PROGRAM else ''}",
            "section 6.1 (V4)",
            Compared("goodput", *FIRST_FIT, _MACHINES, **bounds),  # type: ignore[arg-type]  # bounds by name
            _UNAWARE,
            ours=given is _PROGRAM or ours,
            on=on,
            given=given,
            note="by the program's rule (B1)" if given is _PROGRAM else _RANDOM,
        )
        for text, bounds, ours, on in (
            (
                "First fit that does not know the order of removal is much worse than first fit that does",
                {"more_than": SIMILAR},
                False,
                ("LogScale",),
            ),
            (
                "First fit is about as good whether it knows the order of removal or not",
                {"within": SIMILAR},
                True,
                ("LogScale",),
            ),
            (
                "First fit is about as good whether it knows the order of removal or not",
                {"within": SIMILAR},
                False,
                _NOT_LOGSCALE,
            ),
        )
        for given in (_TEXT, _PROGRAM)
    ),
    Sentence(
        "TargetASAP and PackedTargetASAP are about as good",
        "section 6.1 (V12)",
        Compared("goodput", "PackedTargetAsap", "TargetAsap", _MACHINES, within=SIMILAR),
        "goodput of PackedTargetASAP less that of TargetASAP, along figure 1",
    ),
    Sentence(
        "PackedTargetASAP has a slight advantage over TargetASAP",
        "sections 6.1 and 6.4 (V12)",
        Compared("goodput", "PackedTargetAsap", "TargetAsap", _MACHINES, mean=["along"], more_than=0.0),
        "goodput of PackedTargetASAP less that of TargetASAP, mean along figure 1",
    ),
    Sentence(
        "PackedTargetASAP is at most 0.3 points below TargetASAP",
        "section 6.1 (V12)",
        Compared("goodput", "PackedTargetAsap", "TargetAsap", at_least=-0.003),
        "goodput of PackedTargetASAP less that of TargetASAP, at the centre",
        ours=True,
    ),
    Sentence(
        "TargetStretch is below first fit",
        "section 6.1 (V5)",
        Compared("goodput", "TargetStretch", FIRST_FIT, _MACHINES, mean=["along"], less_than=0.0),
        "goodput less that of first fit, aware or not, mean along figure 1",
        on=("Uniform",),
    ),
    Sentence(
        "TargetStretch is as good as TargetASAP or better",
        "section 6.1 (V5)",
        Compared("goodput", "TargetStretch", "TargetAsap", _MACHINES, mean=["along"], at_least=-SIMILAR),
        "goodput less that of TargetASAP, mean along figure 1",
        on=("LogScale", BORG),
    ),
    Sentence(
        "TargetStretch is above first fit",
        "section 6.1 (V5)",
        Compared("goodput", "TargetStretch", "FirstFitAware", more_than=0.0),
        "goodput less that of FirstFitAware, at the centre",
        ours=True,
        on=("LogScale", BORG),
    ),
    Sentence(
        "Goodput grows with the period, in general",
        "section 6.2 (V7)",
        Compared("trend", FIVE, along=_PERIODS, mean=["along"], more_than=0.0),
        "gain in goodput per threefold period, by least squares over the periods, under each heuristic",
    ),
    Sentence(
        "Goodput varies much more with the longest period: at least twice as much",
        "section 6.2 (V7)",
        Compared("spread", FIVE, along=_PERIODS, between="ends", more_than=0.0),
        "mean absolute deviation of the goodput with the longest period, less twice that with the shortest, under each "
        "heuristic",
    ),
    Sentence(
        "The rarer the changes, the less is aborted",
        "section 6.2 (V7)",
        Compared("aborted", "TargetAsap", along=_PERIODS, change="drop", more_than=0.0),
        "drop of TargetASAP's aborted share from one period to the next",
        ours=True,
    ),
    Sentence(
        "TargetStretch stands better when the period is short",
        "section 6.2 (V15)",
        Compared(
            "goodput", "TargetStretch", FOUR, _PERIODS, change="drop", between="ends", mean=["against"], more_than=0.0
        ),
        "its goodput less the mean of the others with the shortest period, less the same with the longest",
    ),
    Sentence(
        "The wider the range of machines, the less goodput, under each heuristic",
        "section 6.3 (V8)",
        Compared("goodput", FIVE, along=_RANGES, change="drop", more_than=0.0),
        "goodput with one range less that with the next wider one",
    ),
    Sentence(
        "TargetStretch loses least when the range becomes wider",
        "section 6.3",
        Compared("goodput", FOUR, "TargetStretch", _RANGES, change="drop", between="ends", more_than=0.0),
        "loss of goodput of each other from the narrowest range to the widest, less that of TargetStretch",
    ),
)
"""Goodput on each workload (sections 5.3 and 6.1 to 6.3)."""

METRICS: Final = (
    *(
        Sentence(
            f"The {said} stretch of {who} is nowhere larger than that of first fit",
            "abstract, sections 1 and 7",
            Compared(measure, names, FIRST_FIT, SWEPT, how="over", at_most=1.0),
            f"{measure} over that of first fit, aware or not, in each setting (geometric means)",
            ours=names == ASAP,
        )
        for measure, said in (("max_stretch", "maximum"), ("mean_stretch", "mean"))
        for names, who in ((TARGETED, "the targeted heuristics"), (ASAP, "the two ASAP"))
    ),
    *(
        Sentence(
            f"First fit always has a larger {said} than the targeted heuristics",
            "section 6.4 (V10)",
            Compared(measure, FIRST_FIT, TARGETED, SWEPT, how=how, more_than=1.0 if how == "over" else 0.0),
            f"{measure} of first fit, aware or not, {how} that of each of the three, in each setting",
        )
        for measure, said, how in (
            ("max_stretch", "maximum stretch", OVER),
            ("mean_stretch", "mean stretch", OVER),
            ("aborted", "aborted volume", LESS),
            ("mean_aborted_s", "mean aborted time", OVER),
        )
    ),
    *(
        Sentence(
            f"The wider the range of machines, the worse {said}, under each heuristic",
            "section 6.4, fig. 4 (V8)",
            Compared(
                measure,
                FIVE,
                along=_RANGES,
                how=how,
                change="drop" if measure == "goodput" else "rise",
                more_than=1.0 if how == "over" else 0.0,
            ),
            f"{measure}: what is worse with the next wider range, as a {'ratio' if how == 'over' else 'difference'}",
            on=(BORG,),
        )
        for measure, said, how in (
            ("goodput", "goodput", LESS),
            ("max_stretch", "the maximum stretch", OVER),
            ("aborted", "the aborted volume", LESS),
            ("mean_aborted_s", "the mean aborted time", OVER),
        )
    ),
    Sentence(
        "TargetStretch has clearly less goodput than the two ASAP",
        "section 6.4, fig. 4",
        Compared("goodput", ASAP, "TargetStretch", _RANGES, mean=["along"], more_than=SIMILAR),
        "goodput of each of the two less its own, mean over the ranges",
        on=(BORG,),
    ),
    Sentence(
        "TargetStretch has the least maximum stretch",
        "section 6.4, fig. 4",
        Compared("max_stretch", FOUR, "TargetStretch", _RANGES, how="over", more_than=1.0),
        "max_stretch of each other over its own, at each range",
        on=(BORG,),
    ),
    *(
        Sentence(
            f"TargetStretch has the smallest aborted {said}",
            "section 6.4, fig. 4 (V10)",
            Compared(measure, FOUR, "TargetStretch", _RANGES, how=how, more_than=1.0 if how == "over" else 0.0),
            f"{measure} of each other {how} its own, at each range",
            ours=on is _NOT_BORG,
            on=on,
        )
        for on in ((BORG,), _NOT_BORG)
        for measure, said, how in (("aborted", "volume", LESS), ("mean_aborted_s", "time per job", OVER))
    ),
    Sentence(
        "The maximum stretch of TargetStretch is comparable to that of the two ASAP, in general",
        "section 6.4",
        Compared(
            "max_stretch",
            "TargetStretch",
            ASAP,
            SWEPT,
            how="over",
            mean=["along"],
            at_least=1.0 / COMPARABLE,
            at_most=COMPARABLE,
        ),
        "max_stretch over that of each of the two, geometric mean of all settings",
    ),
    Sentence(
        "First fit and the two ASAP leave next to nothing idle, in general",
        "section 6.4 (V11)",
        Compared("used", FOUR, along=SWEPT, mean=["along"], at_least=FULL),
        "goodput and aborted share together, mean of all settings, of each of the four",
    ),
    Sentence(
        "TargetStretch leaves machines partly idle: goodput and aborted share are together not close to 1",
        "section 6.4 (V11)",
        Compared("used", "TargetStretch", along=SWEPT, mean=["along"], less_than=FULL),
        "goodput and aborted share together, mean of all settings",
    ),
    Sentence(
        "TargetStretch is well below the two ASAP in aborted volume",
        "section 6.4, fig. 4 (V11)",
        Compared("aborted", ASAP, "TargetStretch", _RANGES, mean=["along"], more_than=SIMILAR),
        "aborted share of each of the two less its own, mean over the ranges",
        on=(BORG,),
    ),
    *(
        Sentence(
            "The maximum stretch of first fit is at least 1.5 times that of TargetASAP",
            "section 6.4 (V9)",
            Compared("max_stretch", "FirstFitAware", "TargetAsap", how="over", at_least=1.5),
            "max_stretch of FirstFitAware over that of TargetASAP, at the centre",
            ours=True,
            on=on,
            note=note,
        )
        for on, note in ((("Uniform",), "jobs of a few seconds decide it"), (("LogScale", "3types", BORG), ""))
    ),
    *(
        Sentence(
            f"The aborted {said} is smallest under TargetStretch, then under TargetASAP",
            "section 6.4 (V10)",
            Compared(measure, ("TargetStretch", "TargetAsap", "FirstFitAware"), chain=True, less_than=0.0),
            f"{measure} less that of the next, at the centre",
            ours=True,
        )
        for measure, said in (("aborted", "share"), ("mean_aborted_s", "time"))
    ),
    Sentence(
        "Packing costs no work: PackedTargetASAP aborts at most 0.2 points more than TargetASAP",
        "section 6.1 (V12)",
        Compared("aborted", "PackedTargetAsap", "TargetAsap", _MACHINES, at_most=0.002),
        "aborted share of PackedTargetASAP less that of TargetASAP, along figure 1",
        ours=True,
    ),
    Sentence(
        "TargetStretch leaves cores idle",
        "section 6.4 (V11)",
        Compared("used", "TargetStretch", at_most=0.97),
        "goodput and aborted share together, at the centre",
        ours=True,
    ),
)
"""Stretch, aborted work and idle machines on each workload (abstract, sections 6.4 and 7)."""


def make_claims(found: CapacityResults) -> Iterator[Claim]:
    """Hand out the claims: those about all workloads, then workload by workload."""
    yield from judge(found, OVERALL)
    for rows in (STANDING, (*GOODPUT, *METRICS)):
        for workload in found.workloads:
            yield from judge(found, rows, workload)
