"""What the paper on variable capacity shows and prints: its figures, and the numbers of its text."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from experiments.campaigns.judging import evidence_on
from experiments.campaigns.paper import Element, Paper, PrintedNumber
from experiments.campaigns.sentences import Compared, Sentence
from experiments.policy import ASAP, FIRST_FIT, FIVE, TARGETED
from experiments.studies.capacity.results import CapacityResults
from experiments.studies.capacity.settings import BORG, SWEPT

PAPER: Final = Paper(
    authors="L. Perotin, C. Zhang, R. Wijayawardana, A. Benoit, Y. Robert and A. A. Chien",
    year=2023,
    title="Risk-Aware Scheduling Algorithms for Variable Capacity Resources",
    venue="SC-W 2023, pp. 1306-1315",
    url="https://doi.org/10.1145/3624062.3624194",
)

SLICES: Final = "--workload Uniform,LogScale,LogScaleU,3types,SLICE,SLICE,..."
"""How slices of Borg's trace are passed beside the families: seven for the paper's six job traces."""

ELEMENTS: Final = (
    Element(
        number="fig. 1",
        said_in="section 6.1",
        shows="goodput of five heuristics against the average number of machines (20 to 28), a panel per workload",
        file="figures/figure-1-goodput-by-average-machines.svg",
        needs=SLICES,
        why="Boxes, whiskers (10 to 90 %) and stars as printed. The two ASAP lead, TargetStretch falls behind as "
        "machines become more, and goodput falls from 26 to 28. It peaks at 24 machines or before, not at 26, but that "
        "of first fit on LogScale.",
    ),
    Element(
        number="fig. 2",
        said_in="section 6.2",
        shows="goodput against the period of the changes (400 to 32,400 s), a panel per workload",
        file="figures/figure-2-goodput-by-period-of-change.svg",
        needs=SLICES,
        why="Goodput and its spread grow with the period, and TargetStretch stands best where it is short. First fit "
        "does not fall below 75 % on Uniform, and falls below 84 % on Borg; fewer and longer jobs would lose more.",
    ),
    Element(
        number="fig. 3",
        said_in="section 6.3",
        shows="goodput against the range of the number of machines (4 to 16), a panel per workload",
        file="figures/figure-3-goodput-by-range-of-machines.svg",
        needs=SLICES,
        why="Goodput falls with the range on each workload under each heuristic; TargetStretch gains on the others.",
    ),
    Element(
        number="fig. 4",
        shows="goodput, maximum stretch, aborted volume and mean aborted time on Borg against the range of machines",
        file="figures/figure-4-four-metrics-on-borg-by-range-of-machines.svg",
        needs=SLICES,
        why="Goodput and aborted volume get worse with the range under each heuristic, and TargetStretch aborts least. "
        "Its maximum stretch is the least but at a range of 8; at the widest one that of first fit is 1.3 times as "
        "large, not twice. The mean aborted time grows with the range under all but first fit.",
    ),
)

# -- numbers of the text ----------------------------------------------------------------------------

_MACHINES: Final = {"machines": SWEPT["machines"]}
_GAIN: Final = "goodput of TargetASAP or PackedTargetASAP less that of first fit, aware or not, largest"


def _differences(workload: str, said: str, number: float, bounds: tuple[float, float], text: str) -> Iterator[Sentence]:
    """Hand out what section 6.1 says of the differences between the heuristics, and the same of the gain."""
    least, most = bounds
    yield Sentence(
        f"The goodputs of the heuristics differ by {text}",
        "section 6.1 (V3)",
        Compared("goodput", FIVE, FIVE, _MACHINES, judge="largest", at_least=least, at_most=most),
        "largest less least mean goodput of the five heuristics, at the number of machines of figure 1 where it is "
        "largest",
        on=(workload,),
        unit="%",
        printed=(said, number),
    )
    yield Sentence(
        f"The gain in goodput on first fit is {text}",
        "section 6.1 (V3)",
        Compared("goodput", ASAP, FIRST_FIT, _MACHINES, judge="largest", at_least=least, at_most=most),
        f"{_GAIN} along figure 1",
        ours=True,
        on=(workload,),
        unit="%",
        printed=(said, number),
    )


def _whisker(workload: str, text: str, said: str, numbers: tuple[float, float], **bound: float) -> Sentence:
    """Return what section 6.2 says of the lower whiskers of first fit."""
    return Sentence(
        text,
        "section 6.2 (V14)",
        Compared("whisker", FIRST_FIT, along={"period_s": SWEPT["period_s"]}, judge="least", **bound),  # type: ignore[arg-type]  # a bound
        "10th percentile of the goodput of first fit, aware or not, at the period where it is least (the interval is "
        "between values of single walks)",
        on=(workload,),
        unit="%",
        printed=(said, *numbers),
    )


_ALL: Final = "abstract, sections 6.4 and 7 (V3)"
PRINTED: Final = (
    Sentence(
        "Goodput increases by up to 10 % over that of first fit",
        _ALL,
        Compared("goodput", ASAP, FIRST_FIT, SWEPT, how="increase", judge="largest", at_least=0.08, at_most=0.12),
        "goodput of TargetASAP or PackedTargetASAP over that of first fit, aware or not, less 1, mean of the walks, "
        "largest of all settings",
        together=True,
        unit="%",
        printed=("up to 10 %", 0.10),
    ),
    Sentence(
        "The gain in goodput is up to 10 points",
        _ALL,
        Compared("goodput", ASAP, FIRST_FIT, SWEPT, judge="largest", at_least=0.08, at_most=0.12),
        f"{_GAIN} of all settings",
        together=True,
        unit="%",
        printed=("up to 10 %", 0.10),
    ),
    *_differences("Uniform", "around 2 %", 0.02, (0.01, 0.03), "around 2 points"),
    *_differences("3types", "around 2 %", 0.02, (0.01, 0.03), "around 2 points"),
    *_differences(BORG, "up to almost 10 %", 0.10, (0.08, 0.10), "up to almost 10 points"),
    _whisker("Uniform", "First fit can fall below 75 %", "lower than 75 %", (0.0, 0.75), less_than=0.75),
    *(
        _whisker(workload, "First fit stays above 84 % whatever the period", "above 84 %", (0.84, 1.0), at_least=0.84)
        for workload in ("3types", BORG)
    ),
    *(
        Sentence(
            f"The maximum stretch of each first fit is 2 to 3 times that of each {others}",
            "section 6.4 (V9)",
            Compared("max_stretch", FIRST_FIT, names, SWEPT, how="over", mean=["along"], at_least=2.0, at_most=3.0),
            f"max_stretch of each first fit over that of each {whose}, geometric mean of all settings",
            on=(workload,),
            printed=("a factor of 2 to 3", 2.0, 3.0),
        )
        for workload in (BORG, "Uniform", "LogScale", "3types")
        for names, others, whose in (
            (TARGETED, "targeted heuristic", "targeted heuristic"),
            (ASAP, "of the two ASAP", "of the two"),
        )
    ),
)
"""Each number that the text prints of results; it has no table."""


def printed_table(found: CapacityResults) -> pd.DataFrame:
    """Return each number that the text prints beside ours, with the difference to the nearest printed value."""
    rows: list[dict[str, object]] = []
    for sentence in PRINTED:
        on = [name for name in sentence.on or found.usual if name in found.workloads]
        evidence = evidence_on(found, sentence, on) if on else None
        if evidence is None:
            continue
        (said, *numbers), (place, number), effect = sentence.printed, sentence.place, evidence.effect
        printed = PrintedNumber(place=place, what=sentence.measure, numbers=tuple(numbers), said=said)
        rows.append(
            {
                "place": place,
                "number": number,
                "workload": "all" if sentence.together else on[0],
                "what": sentence.measure,
                "printed": said,
                "ours": effect.estimate,
                "low": effect.low,
                "high": effect.high,
                "confidence": effect.confidence,
                "difference": printed.difference(effect.estimate),
            }
        )
    return pd.DataFrame(rows)
