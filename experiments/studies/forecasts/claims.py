"""The claims of forecasts: ``claims.csv`` has what is expected of them on each log, one row each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from experiments.campaigns.claims import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Sentence, read_sentences
from experiments.studies.forecasts.results import ForecastResults

SENTENCES: Final = read_sentences(Path(__file__).with_name("claims.csv"), Sentence, ("expected",), {})


def make_claims(found: ForecastResults) -> Iterator[Claim]:
    """Hand out the claims, log by log."""
    for path in found.subjects:
        yield from judge(found, SENTENCES["expected"], path)
