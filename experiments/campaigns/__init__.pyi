from experiments.campaigns.cell import Cell
from experiments.campaigns.claims import Claim, Scope, in_scope
from experiments.campaigns.paper import Element, Paper
from experiments.campaigns.results import Results
from experiments.campaigns.running import run
from experiments.campaigns.statistics import Effect, bootstrap, paired
from experiments.campaigns.study import Scale, Study

__all__ = [
    "Cell",
    "Claim",
    "Effect",
    "Element",
    "Paper",
    "Results",
    "Scale",
    "Scope",
    "Study",
    "bootstrap",
    "in_scope",
    "paired",
    "run",
]
