"""What the paper on variable capacity shows and prints: its figures, and the numbers of its text."""

from typing import Final

import pandas as pd

from experiments.campaigns.judging import evidence_on
from experiments.campaigns.paper import Element, Paper, PrintedNumber
from experiments.studies.capacity.claims import SENTENCES
from experiments.studies.capacity.results import CapacityResults

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


def printed_table(found: CapacityResults) -> pd.DataFrame:
    """Return each number that the text prints beside ours, with the difference to the nearest printed value."""
    rows: list[dict[str, object]] = []
    for sentence in SENTENCES["printed"]:
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
