"""The claims of forecasts as rows: what is expected of them on each log."""

from collections.abc import Iterator
from typing import Final

from experiments.campaigns.claims import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Compared, Sentence
from experiments.studies.forecasts.results import ForecastResults

EXPECTED: Final = (
    Sentence(
        "Of jobs of {on}, 87 to 93 % start within intervals of 90 %",
        "forecasts of starts",
        Compared("within_90", "", at_least=0.87, at_most=0.93),
        "share of jobs",
        ours=True,
    ),
    Sentence(
        "The median error on {on} is at most half of that of limits taken for runtimes",
        "forecasts of starts",
        Compared("error", "", at_most=0.5),
        "quotient of median errors",
        ours=True,
    ),
)


def make_claims(found: ForecastResults) -> Iterator[Claim]:
    """Hand out the claims, log by log."""
    for path in found.subjects:
        yield from judge(found, EXPECTED, path)
