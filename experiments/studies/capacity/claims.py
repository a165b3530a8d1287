"""The claims of the paper on variable capacity: ``claims.csv`` has the sentences, one row each.

Ours are weaker or sharper than the paper's. A sentence on "all", "each" or "always" is judged as
`experiments.campaigns.families.everywhere` says; the comparison that decides stands beside it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from experiments.campaigns import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Sentence, read_sentences
from experiments.policy import ASAP, FIRST_FIT, FIVE, TARGETED
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

SENTENCES: Final = read_sentences(
    Path(__file__).with_name("claims.csv"),
    Sentence,
    ("printed", "overall", "standing", "goodput", "metrics"),
    {
        "FIVE": FIVE,
        "FOUR": FOUR,
        "FIRST_FIT": FIRST_FIT,
        "ASAP": ASAP,
        "TARGETED": TARGETED,
        "SWEPT": SWEPT,
        **{f"FIGURE_{number}": {factor: levels} for number, (factor, levels) in enumerate(SWEPT.items(), 1)},
        "NOT_BORG": tuple(name for name in WORKLOADS if name != BORG),
        "SIMILAR": SIMILAR,
        "FULL": FULL,
        "NEARLY_ALL": NEARLY_ALL,
        "COMPARABLE": COMPARABLE,
        "1/COMPARABLE": 1.0 / COMPARABLE,
    },
)
"""By groups: the numbers that the text prints (``printed``); what is said of all workloads together (``overall``); and,
on each workload, how heuristics stand to each other, goodput (sections 5.3 and 6.1 to 6.3), and stretch, aborted work
and idle machines (``metrics``: abstract, sections 6.4 and 7)."""


def make_claims(found: CapacityResults) -> Iterator[Claim]:
    """Hand out the claims: those about all workloads, then workload by workload."""
    yield from judge(found, (*SENTENCES["printed"], *SENTENCES["overall"]))
    for rows in (SENTENCES["standing"], (*SENTENCES["goodput"], *SENTENCES["metrics"])):
        for workload in found.subjects:
            yield from judge(found, rows, workload)
