"""Plain functions whose parameter names say what they need, as C functions of all that there is to need."""

import contextlib
import ctypes
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numba import njit, types
from numba.core.typing.templates import Signature

from simmodels.errors import RequestError, must_be
from simmodels.ground.compiled import UNWRAPPED, callback, or_nan
from simmodels.structures.signatures import ROW, signature_of


class PythonFunction(types.WrapperAddressProtocol):
    """A function that numba cannot compile, as a C function that calls back into Python."""

    def __init__(self, function: Callable[..., float], parameters: tuple[str, ...]) -> None:
        self.raised: BaseException | None = None
        self._signature = signature_of(parameters)

        def call(*values: float) -> float:
            try:
                return function(*values)
            except BaseException as error:  # noqa: BLE001  an exception cannot cross C; it is raised after the pass
                self.raised = self.raised or error
                return math.nan

        taken = [ctypes.c_int64 if name == ROW else ctypes.c_double for name in parameters]
        self._callback = ctypes.CFUNCTYPE(ctypes.c_double, *taken)(call)

    def __wrapper_address__(self) -> int:
        """Return the address of the C function."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def signature(self) -> Signature:
        """Return the numba signature."""
        return self._signature


def as_value(called: str, value: Any) -> float:  # noqa: ANN401  whatever a user's function returned
    """Return what an order or a bid returned as a float; raise `RequestError` if it is no number."""
    with contextlib.suppress(TypeError, ValueError):
        if not isinstance(value, str | bytes):
            return float(value)
    raise RequestError(must_be(f"what {called} returns", "a number", value))


@dataclass(frozen=True)
class Call:
    """A plain function, and how it is called with the parameters of a C function."""

    function: Callable[..., float]  # the plain function
    parameters: tuple[str, ...]  # those of the C function
    arguments: tuple[str, ...]  # what the plain function is called with: expressions of the parameters
    readers: Mapping[str, Callable[..., float]] = field(default_factory=dict)  # the functions that the expressions name
    negated: bool = False  # whether the value is turned round
    called: str = "the function"  # what an error calls the function
    kept: bool = False  # whether its code is kept for other processes: only what names nothing that may change

    def in_python(self) -> Callable[..., float]:
        """Return it as a Python function of the parameters."""
        code = f"lambda {', '.join(self.parameters)}: {self._sign}as_value(function({self._given}))"
        scope = {"function": self.function, "as_value": functools.partial(as_value, self.called), **self.readers}
        made: Callable[..., float] = eval(code, scope)  # noqa: S307  as below
        return made

    @property
    def _sign(self) -> str:
        return "-" if self.negated else ""

    @property
    def _given(self) -> str:
        return ", ".join(self.arguments)

    def compiled(self) -> object:
        """Return the C function of all parameters that compiled code calls."""
        source = f"def key({', '.join(self.parameters)}): return {self._sign}or_nan(function, {self._given})"
        try:
            scope: dict[str, Any] = {"__name__": __name__, "or_nan": or_nan, **self.readers}
            scope["function"] = njit(self.function, error_model="numpy", **UNWRAPPED)
            exec(source, scope)  # noqa: S102  of our words only; numba takes no keyword arguments here
            return callback(scope["key"], signature_of(self.parameters), kept=self.kept)
        except Exception:  # noqa: BLE001  numba breaks in many ways on what it does not know; then Python is called
            return PythonFunction(self.in_python(), self.parameters)
