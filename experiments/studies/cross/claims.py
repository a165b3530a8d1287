"""The claims of the cross study: ``claims.csv`` has the sentences, one row each.

The ranking of orders is kept from a Kendall's tau of 0.8 on: of four orders, one swap of neighbours leaves 0.67.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from experiments.campaigns.claims import Claim
from experiments.campaigns.judging import judge
from experiments.campaigns.sentences import Sentence, read_sentences
from experiments.studies.cross.results import CrossResults

SENTENCES: Final = read_sentences(Path(__file__).with_name("claims.csv"), Sentence, ("ranking", "risk", "routing"), {})
"""On the orders, at each capacity that changes (``ranking``); and on each workload on knowing the ``risk``, and on the
auction before queues (``routing``)."""


def make_claims(found: CrossResults) -> Iterator[Claim]:
    """Hand out the claims for which the design has cells."""
    known = [said for said in SENTENCES["ranking"] if set(said.compared.alternatives) <= set(found.fixed)]
    for capacity in found.changing:
        yield from judge(found, known, capacity)
    for rows in (SENTENCES["risk"], SENTENCES["routing"]):
        for workload in found.results.texts("workload"):
            yield from judge(found, rows, workload)
