"""What the paper on variable capacity shows and prints: its figures, and the numbers of its text."""

from pathlib import Path
from typing import Final

import pandas as pd

from experiments.campaigns import Paper
from experiments.campaigns.judging import evidence_on
from experiments.campaigns.paper import read_elements
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

ELEMENTS: Final = read_elements(Path(__file__).with_name("elements.csv"), {"SLICES": SLICES})


def printed_table(found: CapacityResults) -> pd.DataFrame:
    """Return each number that the text prints beside ours, with the difference to the nearest printed value."""
    rows: list[dict[str, object]] = []
    for sentence in SENTENCES["printed"]:
        on = [name for name in sentence.on or found.usual if name in found.subjects]
        evidence = evidence_on(found, sentence, on) if on else None
        if evidence is None:
            continue
        (said, *numbers), (place, number), effect = sentence.printed, sentence.place, evidence.effect
        nearest = min(max(effect.estimate, min(numbers)), max(numbers))
        rows.append(
            {
                "place": place,
                "number": number,
                "workload": "all" if sentence.together else on[0],
                "what": sentence.measure,
                "printed": said,
                **effect.columns("ours"),
                "confidence": effect.confidence,
                "difference": effect.estimate - nearest,
            }
        )
    return pd.DataFrame(rows)
