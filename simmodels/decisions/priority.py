"""Priority: a plain function that says which waiting job goes first; the base of `Order` and `Bid`.

Its parameter names say what it needs (`simmodels.decisions.vocabulary`). It is compiled (numba) to C functions, one
for queues and one for auctions, which both clocks call by their address: so they order alike to the last bit. A
function that cannot be compiled is called as it is, which is slower.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Literal

from numba import types

from simmodels.decisions.functions import PythonFunction, c_function, signature_of
from simmodels.decisions.vocabulary import CHARACTERISTICS, MOVING, OF_A_PLACE, REGISTERS, plain_word

Wins = Literal["high", "low"]
Trend = Literal["fixed", "worsens", "improves", "any"]

KEY_FUNCTION: Final = types.FunctionType(signature_of(REGISTERS))
"""The numba type of what a queue calls."""

BID_FUNCTION: Final = types.FunctionType(signature_of(CHARACTERISTICS))
"""The numba type of what an auction calls."""

_MOVING: Final = MOVING | OF_A_PLACE | {"longest", "draw"}


@dataclass(frozen=True, eq=False)
class Priority:
    """A plain function that says which waiting job goes first.

    Parameters
    ----------
    name
        What the registry, the command line and the tables call it.
    function
        A plain function of some of the vocabulary, by name.
    """

    name: str
    function: Callable[..., float]

    in_seconds: ClassVar[bool] = True
    """Whether an auction gives it times in seconds; else in ticks."""

    @property
    def wins(self) -> Wins:
        """Return who goes first: the job with the ``"low"`` value, or with the ``"high"`` one."""
        return "low"

    @property
    def trend(self) -> Trend:
        """Return how the prospects of a waiting task move with time; see `Bid`."""
        return "any" if self.moves_in_auctions else "fixed"

    @property
    def is_built_in(self) -> bool:
        """Return whether it is one of the registry's own."""
        return False

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the characteristics it names, as it names them."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the characteristics it names, each by its one name."""
        return tuple(map(plain_word, self.needs))

    @property
    def moving(self) -> bool:
        """Return whether a waiting job's value changes with time."""
        return not MOVING.isdisjoint(self.words)

    @property
    def moves_in_auctions(self) -> bool:
        """Return whether a waiting task's value can change from auction to auction."""
        return not _MOVING.isdisjoint(self.words)

    @property
    def draws(self) -> bool:
        """Return whether it asks for a drawn number."""
        return "draw" in self.needs

    @cached_property
    def key_function(self) -> object:
        """Return the C function of `REGISTERS` that a queue calls."""
        return c_function(self.function, REGISTERS, self.words)

    @cached_property
    def bid_function(self) -> object:
        """Return the C function of all `CHARACTERISTICS` that an auction calls."""
        return c_function(self.function, CHARACTERISTICS, self.words)

    def take_raised(self) -> BaseException | None:
        """Return, once, what a Python function raised."""
        for name in ("key_function", "bid_function"):
            function = self.__dict__.get(name)  # only what is compiled already may have been called
            if isinstance(function, PythonFunction) and function.raised is not None:
                raised, function.raised = function.raised, None
                return raised
        return None

    def __call__(self, *args: float, **kwargs: float) -> float:
        """Return the value of a job, as the plain function does."""
        return self.function(*args, **kwargs)

    def home(self) -> tuple[str, str] | None:
        """Return the module that defines it, and what it is called there; None if no module does."""
        home, name = self.function.__module__, getattr(self.function, "__name__", "")
        return (home, name) if getattr(sys.modules.get(home), name, None) is self else None


def named_in(module: str, name: str) -> object:
    """Return what a module calls by a name."""
    return getattr(importlib.import_module(module), name)
