"""Priority: a plain function that says which waiting job goes first; the base of `Order` and `Bid`.

Its parameter names say what it needs (`simmodels.work.vocabulary`). It is compiled (numba) to C functions, one
for queues and one for auctions, which both engines call by their address: so they order alike to the last bit. A
function that cannot be compiled is called as it is, which is slower.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.policies.functions import Call, PythonFunction
from simmodels.policies.registry import built_in, registry_of
from simmodels.policies.rows import READERS, arguments_of, columns_of, row_of
from simmodels.structures.signatures import OF_QUEUES
from simmodels.work.vocabulary import CHARACTERISTICS, MOVING, OF_AUCTIONS, plain_word
from simmodels.work.workload import Job

Wins = Literal["high", "low"]
Trend = Literal["fixed", "worsens", "improves", "any"]

_MOVING: Final = MOVING | OF_AUCTIONS | {"draw"}


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

    def __post_init__(self) -> None:
        """Refuse a name that is no text, and what cannot be called."""
        if not isinstance(self.name, str):
            raise RequestError(must_be("name", "a text", self.name))
        if not callable(self.function):
            raise RequestError(must_be("function", "a function", self.function))

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
    def formula(self) -> str:
        """Return the formula, for tables."""
        return ""

    @property
    def about(self) -> str:
        """Return in words which job goes first, for tables."""
        return ""

    @property
    def is_built_in(self) -> bool:
        """Return whether it is one of the registry's own."""
        return registry_of(self) is not None

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """The characteristics it names, as it names them."""
        return tuple(inspect.signature(self.function).parameters)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The characteristics it names, each by its one name."""
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
    def moves_without_deadlines(self) -> bool:
        """Return whether it can change from auction to auction even if its job keeps its worth without end."""
        return not (_MOVING - {"factor", "area"}).isdisjoint(self.words)

    @property
    def draws(self) -> bool:
        """Return whether it asks for a drawn number."""
        return "draw" in self.needs

    @cached_property
    def columns(self) -> tuple[str, ...]:  # kept, for a scheduler asks for it at each job
        """The columns of the row that a queue keeps of each job for it."""
        return columns_of(self.words)

    @property
    def _call(self) -> Call:
        """Return how a queue calls it: the job with the smallest key goes first."""
        return Call(
            self.function,
            OF_QUEUES,
            arguments_of(self.words),
            READERS,
            negated=self.wins == "high",
            called=self._called,
            kept=self.is_built_in,
        )

    @property
    def _bid_call(self) -> Call:
        """Return how an auction calls it."""
        return Call(self.function, CHARACTERISTICS, self.words, called=self._called, kept=self.is_built_in)

    @property
    def _called(self) -> str:
        """Return what errors call it."""
        return f"{type(self).__name__.lower()} {self.name!r}"

    @cached_property
    def key_function(self) -> object:
        """Return the C function that a queue calls: of `REGISTERS`, and the address of the job's row."""
        return self._call.compiled()

    @cached_property
    def bid_function(self) -> object:
        """Return the C function of all `CHARACTERISTICS` that an auction calls."""
        return self._bid_call.compiled()

    @property
    def compiled(self) -> bool:
        """Return whether numba could compile it."""
        of_auctions = not OF_AUCTIONS.isdisjoint(self.words)
        return not isinstance(self.bid_function if of_auctions else self.key_function, PythonFunction)

    def key(self, job: Job, now: float, *, plainly: bool = True) -> float:
        """Return the key of a job that waits in a queue at an instant (a draw counts as 0).

        By the plain function, or, if not `plainly`, as the queue does: there a division by zero is infinite.
        """
        known = (job.submit_s, job.estimate_s, job.runtime_s, float(job.cores), now - job.submit_s, now, 0.0)
        row = np.array(row_of(self.columns, job), np.float64)
        compiled: Any = None if plainly else self.key_function
        if compiled is None or isinstance(compiled, PythonFunction):
            return self._call.in_python()(*known, row.ctypes.data)
        return float(compiled.ctypes(*known, row.ctypes.data))

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

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by its name in the registry or in its module, else by its fields; what is compiled stays behind."""
        registry = registry_of(self)
        if registry is not None:
            return built_in, (registry.kind, self.name)
        module, name = self.function.__module__, getattr(self.function, "__name__", "")
        if getattr(sys.modules.get(module), name, None) is self:
            return _named_in, (module, name)
        return self._parts()

    def _parts(self) -> tuple[object, ...]:
        """Return of what it is made again."""
        return type(self), tuple(getattr(self, each.name) for each in fields(self))


def _named_in(module: str, name: str) -> object:
    """Return what a module calls by a name."""
    return getattr(importlib.import_module(module), name)
