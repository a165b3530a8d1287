"""Engine: which clock is asked for, and the seed of what is drawn."""

import operator
from typing import Literal, get_args

from simmodels.errors import RequestError, require_known
from simmodels.ground.numbers import shown

Engine = Literal["auto", "simpy", "compiled"]


def require_engine(engine: str, seed: object) -> None:
    """Refuse a clock that does not exist, and a seed that is no whole number from 0 on.

    Raises
    ------
    UnknownNameError, RequestError
        It is one.
    """
    require_known("engine", engine, get_args(Engine))
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)  # type: ignore[arg-type]  # refused here
    except TypeError:
        number = -1
    if number < 0:
        raise RequestError(f"seed is {shown(seed)}", "an integer >= 0 is allowed")
