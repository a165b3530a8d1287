"""Cell: one combination of a study's factors in one replication, and what is known when it is run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from simmodels.errors import RequestError, must_be, require_known
from simmodels.ground.numbers import MOST
from simmodels.ground.streams import entropy, stream

Value = str | int | float | bool | None
Row = Mapping[str, Any]
Rows = Row | Iterable[Row] | pd.DataFrame

REPLICATION: Final = "replication"


def is_text(text: str) -> bool:
    """Return whether UTF-8 can hold a text; bytes of a command line or a file's name that are no text stay outside."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_value(name: str, value: object) -> Value:
    """Return a value of a factor, a parameter or a row as a plain one of Python.

    Raises
    ------
    RequestError
        Neither a table nor JSON can hold it.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return None
    if not isinstance(value, bool | int | float | str):
        raise RequestError(must_be(name, "None, a bool, a number or a text", value))
    if isinstance(value, int) and abs(value) > MOST:
        raise RequestError(must_be(name, "an integer from -2**53 to 2**53", value))
    if isinstance(value, str):
        value = str.__str__(value)  # of a member of an enumeration its value, where str() would give its name
        if not is_text(value):
            raise RequestError(must_be(name, "a text that UTF-8 can hold", value))
    return next(kind for kind in (bool, int, float, str) if isinstance(value, kind))(value)  # not that of a subclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a design: all that a study is given when it runs it.

    ``cell["name"]`` is the value of a factor or of a parameter.

    Parameters
    ----------
    factors
        The value of each factor in this cell.
    replication
        Which repetition this is, from 0.
    seed
        The campaign's seed, an integer >= 0.
    parameters
        The values that all cells of the campaign share.
    inputs
        What `Study.inputs` made, by name; only there while the cell is run.

    Examples
    --------
    >>> from experiments.campaigns import Cell
    >>> low, high = (Cell({"load": load}, replication=3, seed=1) for load in (0.7, 0.9))
    >>> low["load"]
    0.7
    >>> low.stream("jobs").random() == high.stream("jobs").random()  # common random numbers
    True
    """

    factors: Mapping[str, Value]
    replication: int = 0
    seed: int = 0
    parameters: Mapping[str, Value] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  a value is what the study says it is
        """Return the value of a factor or a parameter."""
        if name in self.factors:
            return self.factors[name]
        require_known("factor or parameter", name, (*self.factors, *self.parameters))
        return self.parameters[name]

    def stream(self, *names: str | int) -> np.random.Generator:
        """Return the random generator of these names in this replication: common random numbers.

        It depends on the campaign's seed, the replication and the names, and *not* on the factors: all that is
        compared within a replication meets the same draws, so that their difference is not blurred by luck. Where a
        factor is to change the draws, its value is one of the names: ``cell.stream("arrivals", cell["load"])``.

        Parameters
        ----------
        names
            What the stream is for; texts and whole numbers.
        """
        return stream(self.seed, REPLICATION, self.replication, *names)

    def seed_for(self, *names: str | int) -> int:
        """Return the seed of these names in this replication, for what takes a seed; see `stream`."""
        return entropy(self.seed, REPLICATION, self.replication, *names)

    def __str__(self) -> str:
        """Return the cell as it is named in messages."""
        return ", ".join(f"{name} {value}" for name, value in {**self.factors, REPLICATION: self.replication}.items())
