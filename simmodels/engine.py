"""Engine: which engine is asked for, and the seed of what is drawn."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from simmodels.errors import require_known
from simmodels.ground.numbers import as_seed

Engine = Literal["auto", "simpy", "compiled"]

ENGINES: Final[Mapping[Engine, str]] = {
    "auto": "compiled where that covers all that is asked for, else simpy",
    "simpy": "processes of SimPy, which cover everything",
    "compiled": "compiled code, which is much faster; what it does not cover is refused",
}
"""The engines, each in words."""


def require_engine(engine: str, seed: object) -> None:
    """Refuse an engine that does not exist, and a seed that is no whole number from 0 on."""
    require_known("engine", engine, get_args(Engine))
    as_seed(seed)
