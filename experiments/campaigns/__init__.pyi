from experiments.campaigns.cell import Cell
from experiments.campaigns.claims import Claim
from experiments.campaigns.paper import Element, Paper
from experiments.campaigns.results import Results
from experiments.campaigns.running import run
from experiments.campaigns.statistics import Effect, bootstrap, paired
from experiments.campaigns.study import Scale, Study

__all__ = ["Cell", "Claim", "Effect", "Element", "Paper", "Results", "Scale", "Study", "bootstrap", "paired", "run"]
