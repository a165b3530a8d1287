"""Order: which waiting job goes first, as a plain function of a job's characteristics.

An order is a plain function of a job's characteristics; its parameter names say what it needs, and
the job with the smaller value goes first. It is compiled (numba) to one C function of all
characteristics, and both clocks call that function by its address: so they order alike to the last
bit. A function that cannot be compiled is called as it is, which is slower.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from numba import types

from simmodels.decisions.functions import PythonFunction, c_function, signature_of
from simmodels.errors import RequestError
from simmodels.workload import Job

PARAMETERS: Final = ("submit", "estimate", "runtime", "cores", "wait", "now", "draw")
"""What an order may name, each a float: submit, estimate, runtime, wait (so far) and now in seconds;
cores; and draw, a number in [0, 1) drawn once for each job from the simulation's seed."""

KEY_FUNCTION: Final = types.FunctionType(signature_of(PARAMETERS))
"""The numba type of a compiled order."""


@dataclass(frozen=True, eq=False)
class Order:
    """An order: its function, and what the reference says of it.

    Parameters
    ----------
    name
        What the registry, the command line and the tables call it.
    function
        A plain function of some of `PARAMETERS`, by name; the job with the smaller value goes first.
    formula
        The formula as the reference prints it (r submit, p estimate, q cores, w wait).
    source
        Who published it, where.
    is_built_in
        Whether it is one of the registry's own, which give a number for every job.

    Raises
    ------
    RequestError
        The function names something that is no characteristic of a job.
    """

    name: str
    function: Callable[..., float]
    formula: str = ""
    source: str = ""
    is_built_in: bool = False

    def __post_init__(self) -> None:
        """Check the parameter names."""
        unknown = [name for name in self.needs if name not in PARAMETERS]
        if unknown or not callable(self.function):
            what = f"order {self.name!r} names {', '.join(unknown)}"
            raise RequestError(what, f"an order may name {', '.join(PARAMETERS)}")

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the characteristics it names."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def moving(self) -> bool:
        """Return whether a waiting job's value changes with time."""
        return "wait" in self.needs or "now" in self.needs

    @property
    def draws(self) -> bool:
        """Return whether it asks for a number drawn for each job."""
        return "draw" in self.needs

    @cached_property
    def key_function(self) -> object:
        """Return the C function of all `PARAMETERS` that compiled code calls."""
        return c_function(self.function, PARAMETERS)

    @property
    def compiled(self) -> bool:
        """Return whether numba could compile it."""
        return not isinstance(self.key_function, PythonFunction)

    def take_raised(self) -> BaseException | None:
        """Return, once, what a Python function raised during a pass."""
        function = self.key_function
        if not isinstance(function, PythonFunction):
            return None
        raised, function.raised = function.raised, None
        return raised

    def value(self, job: Job, now: float) -> float:
        """Return the value of a job that waits at an instant, by the plain function (a draw counts as 0)."""
        known = (job.submit_s, job.estimate_s, job.runtime_s, float(job.cores), now - job.submit_s, now, 0.0)
        values = dict(zip(PARAMETERS, known, strict=True))
        return float(self.function(*(values[name] for name in self.needs)))

    def __call__(self, *args: float, **kwargs: float) -> float:
        """Return the value of a job, as the plain function does."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by its name in the module that defines it, else by its fields; what is compiled stays behind."""
        home, name = self.function.__module__, getattr(self.function, "__name__", "")
        if getattr(sys.modules.get(home), name, None) is self:
            return _named, (home, name)
        return Order, (self.name, self.function, self.formula, self.source, self.is_built_in)


def _named(module: str, name: str) -> object:
    """Return what a module calls by a name."""
    return getattr(importlib.import_module(module), name)
