"""Plain functions whose parameter names say what they need, as C functions of all that there is to need."""

import ctypes
import math
from collections.abc import Callable
from typing import Any

from numba import cfunc, njit, types
from numba.core.typing.templates import Signature

from simmodels.compiled import interrupts_heard


class PythonFunction(types.WrapperAddressProtocol):
    """A function that numba cannot compile, as a C function that calls back into Python."""

    def __init__(self, function: Callable[..., float], parameters: tuple[str, ...], arguments: tuple[str, ...]) -> None:
        self.raised: BaseException | None = None
        self._signature = signature_of(parameters)
        at = tuple(map(parameters.index, arguments))

        def call(*values: float) -> float:
            try:
                return float(function(*(values[i] for i in at)))
            except BaseException as error:  # noqa: BLE001  an exception cannot cross C; it is raised after the pass
                self.raised = self.raised or error
                return math.nan

        self._callback = ctypes.CFUNCTYPE(*[ctypes.c_double] * (1 + len(parameters)))(call)

    def __wrapper_address__(self) -> int:
        """Return the address of the C function."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def signature(self) -> Signature:
        """Return the numba signature."""
        return self._signature


def signature_of(parameters: tuple[str, ...]) -> Signature:
    """Return the numba signature of a function of so many floats that gives a float."""
    return types.float64(*[types.float64] * len(parameters))


def c_function(function: Callable[..., float], parameters: tuple[str, ...], arguments: tuple[str, ...]) -> object:
    """Return the C function of all `parameters` that compiled code calls; it hands `arguments`, some of them, on."""
    call = f"float(function({', '.join(arguments)}))"
    # No exception crosses a C function: one that is raised inside becomes NaN, which is refused after the pass.
    source = f"def key({', '.join(parameters)}):\n try:\n  return {call}\n except Exception:\n  return nan\n"
    try:
        with interrupts_heard():
            scope: dict[str, Any] = {"function": njit(function, error_model="numpy"), "nan": math.nan}
            exec(source, scope)  # noqa: S102  the names are checked by the caller; numba takes no keyword arguments here
            return cfunc(signature_of(parameters), error_model="numpy")(scope["key"])
    except Exception:  # noqa: BLE001  numba breaks in many ways on what it does not know; then Python is called
        return PythonFunction(function, parameters, arguments)
