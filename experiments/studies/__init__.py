"""Studies: the campaigns that have a name, a room each, and where their classes are."""

from typing import Final

STUDIES: Final = {
    "advice": "experiments.studies.advice.study:Advice",
    "capacity": "experiments.studies.capacity.study:Capacity",
    "cross": "experiments.studies.cross.study:Cross",
    "forecasts": "experiments.studies.forecasts.study:Forecasts",
    "regression": "experiments.studies.regression.study:Regression",
    "market": "experiments.studies.market.study:Market",
    "replay": "experiments.studies.replay:Replay",
    "selection": "experiments.studies.selection.study:Selection",
}
"""The studies by name, in the order in which they are listed."""
