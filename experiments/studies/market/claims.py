"""The claims of the market study: ``claims.csv`` has what the paper says of its results, one row each, and then ours.

The paper does not say whether an experiment ends when all jobs are done or with the last submission: all of its
sentences are judged at both ends. Where it has a word and no number, the claim says which margin stands for the word.
"Almost indistinguishable" and "equal" are values that differ by 0.01 or less: less than PVR's lead where the paper says
that it has the highest (0.012 at load 1.0, the smaller of the two leads in five earlier workloads).
Ours are weaker or sharper, and judged where runs end when all jobs are done; their bounds come from what an independent
program of ours kept to (`experiments.studies.market.results.PROTOTYPE`). Sections are those of the paper, the numbers
M1 to M16 our specification's.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from experiments.campaigns import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Sentence, read_sentences
from experiments.studies.market.results import MarketResults
from experiments.studies.market.settings import LEADING, TENTHS, loads
from simmodels import TEN_BIDS

PLAIN_SLR: Final = "P-SLR:plain"
"""P-SLR without its second term; of what is said of it, ours with the term stands for it where only that was run."""

SENTENCES: Final = read_sentences(
    Path(__file__).with_name("claims.csv"),
    Sentence,
    ("paper", "ours"),
    {
        "TEN_BIDS": TEN_BIDS,
        "LEADING": LEADING,
        "LOADS": loads(),
        "BELOW_100": loads(high=0.99),
        "OVERLOADED": loads(1.01),
        **{
            f"{column}_of_{name}": tuple(f"{column}_{tenth}" for tenth in tenths)
            for column in ("slr", "starved", "volume_slr", "volume_starved")
            for name, tenths in (("all", TENTHS), ("1_to_8", TENTHS[:8]), ("10", TENTHS[-1:]))
        },
    },
)
"""What the paper says (``paper``), in the order of its policies, then who pays by size, abstract and conclusion; and
what we say (``ours``). Below 100 % is below saturation; columns are of tenths of the jobs by size."""


def make_claims(found: MarketResults) -> Iterator[Claim]:
    """Hand out the paper's sentences, judged at each end of the runs, and then ours."""
    for end in found.subjects:
        other = "P-SLR" if found.ran(PLAIN_SLR, end) else PLAIN_SLR
        left_out = ("starved_deadline", other)
        said = (each for each in SENTENCES["paper"] if (each.compared.values, each.compared.of) != left_out)
        yield from judge(found, said, end)
    yield from judge(found, SENTENCES["ours"])
