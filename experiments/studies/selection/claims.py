"""The claims of the selection study: ``claims.csv`` has what the paper asserts, one row each, and what we add to it.

The margins of "close to", "little", "slightly" and the like are ours: the paper gives none. Waits are close to the
least, or little lies between two, up to 5 %; "slightly" is up to 10 %, and "considerable" from there on; an improvement
of 2 % or less is no benefit. Weekly means vary a lot where their standard deviation is half of their mean or more.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

from experiments.campaigns.claims import Claim, in_scope
from experiments.campaigns.judging import judge
from experiments.campaigns.results import Results
from experiments.campaigns.sentences import Sentence, read_sentences
from experiments.studies.selection.paper import FILE_OF, name_of, published_of
from experiments.studies.selection.results import BANDIT, NOISY, SelectionResults
from experiments.studies.selection.settings import SEVEN
from simmodels.policies.orders import TWELVE_ORDERS

SENTENCES: Final = read_sentences(
    Path(__file__).with_name("claims.csv"),
    Sentence,
    ("printed", "orders", "strategies", "beside", "together"),
    {"TWELVE_ORDERS": TWELVE_ORDERS, "SEVEN": SEVEN, "NOISY": NOISY, "BANDIT": BANDIT},
)
"""On each log: how like the printed table 2 ours is (``printed``, of logs that it has); on fixed orders; on strategies
that choose an order a period; and on what runs ``beside`` tables 2 and 3, with the settings of the text. On all logs
``together``: the abstract's, and those on table 2 as a whole."""


def make_claims(results: Results) -> list[Claim]:
    """Return all claims: log by log, then those about all logs; what a part of the logs or orders decides."""
    found, claims = SelectionResults(results), list[Claim]()
    for by, workload in found.each:
        claims += judge(by, SENTENCES["printed"] if published_of(workload) else (), workload)
        claims += judge(by, (*SENTENCES["orders"], *SENTENCES["strategies"]), workload)
        claims += judge(by, SENTENCES["beside"] if by.variant == "text" else (), workload)
    for by in found.by_variant:
        claims += judge(by, [replace(said, note=by.note) for said in SENTENCES["together"]])
    return in_scope(claims, found.last, names={"workload": name_of}, given={"workload": FILE_OF})
