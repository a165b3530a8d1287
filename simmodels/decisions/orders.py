"""Orders: which waiting job goes first. One registry; the command line, the docs and the tests read it.

An order is a plain function of a job's characteristics; its parameter names say what it needs, and
the job with the smaller value goes first. It is compiled (numba) to one C function of all
characteristics, and both clocks call that function by its address: so they order alike to the last
bit. A function that cannot be compiled is called as it is, about a hundred times slower.
"""

import ctypes
import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, overload

import numpy as np
from numba import cfunc, njit, types
from numba.core.errors import NumbaError

from simmodels.errors import RequestError, UnknownNameError

PARAMETERS: Final = ("submit", "estimate", "runtime", "cores", "wait", "now", "draw")
"""What an order may name, each a float: submit, estimate, runtime, wait (so far) and now in seconds;
cores; and draw, a number in [0, 1) drawn once for each job from the simulation's seed."""

_SIGNATURE: Final = types.float64(*[types.float64] * len(PARAMETERS))
KEY_FUNCTION: Final = types.FunctionType(_SIGNATURE)
"""The numba type of a compiled order."""


class _PythonFunction(types.WrapperAddressProtocol):  # type: ignore[misc]  # numba is untyped
    """A function that numba cannot compile, as a C function that calls back into Python."""

    def __init__(self, function: Callable[..., float]) -> None:
        self.raised: BaseException | None = None
        names = tuple(inspect.signature(function).parameters)
        at = tuple(PARAMETERS.index(name) for name in names)

        def call(*values: float) -> float:
            try:
                return float(function(*(values[i] for i in at)))
            except BaseException as error:  # noqa: BLE001  an exception cannot cross C; it is raised after the pass
                self.raised = self.raised or error
                return math.nan

        self._callback = ctypes.CFUNCTYPE(*[ctypes.c_double] * (1 + len(PARAMETERS)))(call)

    def __wrapper_address__(self) -> int:
        """Return the address of the C function."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def signature(self) -> object:
        """Return the numba signature."""
        return _SIGNATURE


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

    Raises
    ------
    RequestError
        The function names something that is no characteristic of a job.
    """

    name: str
    function: Callable[..., float]
    formula: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Check the parameter names."""
        unknown = [name for name in self.needs if name not in PARAMETERS]
        if unknown or not callable(self.function):
            raise RequestError(f"order {self.name!r} names {', '.join(unknown)}", f"an order may name {', '.join(PARAMETERS)}")

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

    @property
    def is_built_in(self) -> bool:
        """Return whether it is one of the registry's own."""
        return BUILT_IN.get(self.name) is self

    @cached_property
    def key_function(self) -> object:
        """Return the C function of all `PARAMETERS` that compiled code calls."""
        jitted = njit(self.function, error_model="numpy")
        scope: dict[str, object] = {"function": jitted}
        source = f"def key({', '.join(PARAMETERS)}):\n    return float(function({', '.join(self.needs)}))\n"
        exec(source, scope)  # noqa: S102  the names are checked above; numba takes no keyword arguments here
        try:
            return cfunc(_SIGNATURE, error_model="numpy")(scope["key"])
        except NumbaError:
            return _PythonFunction(self.function)

    @property
    def compiled(self) -> bool:
        """Return whether numba could compile it."""
        return not isinstance(self.key_function, _PythonFunction)

    def take_raised(self) -> BaseException | None:
        """Return, once, what a Python function raised during a pass."""
        function = self.key_function
        if not isinstance(function, _PythonFunction):
            return None
        raised, function.raised = function.raised, None
        return raised

    def __call__(self, *args: float, **kwargs: float) -> float:
        """Return the value of a job, as the plain function does."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle a built-in order by its name, another by its fields."""
        if self.is_built_in:
            return find_order, (self.name,)
        return Order, (self.name, self.function, self.formula, self.source)


BUILT_IN: Final[dict[str, Order]] = {}
_users: Final[dict[str, Order]] = {}


@overload
def order(function: Callable[..., float], /) -> Order: ...
@overload
def order(*, name: str | None = None, formula: str = "", source: str = "") -> Callable[[Callable[..., float]], Order]: ...
def order(
    function: Callable[..., float] | None = None, /, *, name: str | None = None, formula: str = "", source: str = ""
) -> Order | Callable[[Callable[..., float]], Order]:
    """Make an order of a plain function, and enter it in the registry under its name.

    Parameters
    ----------
    function
        A function of some of `PARAMETERS`, by name. The job with the smaller value goes first. If it
        names ``wait`` or ``now`` it is evaluated anew at each pass, else once, when the job arrives.
    name
        The order's name; the function's by default.
    formula, source
        For tables and docs.

    Raises
    ------
    RequestError
        A parameter is no characteristic of a job, or the name is that of a built-in order.

    Examples
    --------
    >>> @order
    ... def patient(estimate, cores, wait):
    ...     return estimate * cores - 10.0 * wait
    >>> patient.moving
    True
    """

    def enter(function: Callable[..., float]) -> Order:
        made = Order(name or function.__name__, function, formula, source)
        if made.name.upper() in BUILT_IN:
            raise RequestError(f"order {made.name!r} is built in", "another name is allowed")
        _users[made.name] = made
        return made

    return enter if function is None else enter(function)


def orders() -> Mapping[str, Order]:
    """Return every order of the registry by name: the built-in ones, then the user's."""
    return {**BUILT_IN, **_users}


def find_order(name: str | Order | Callable[..., float]) -> Order:
    """Return an order by its name (case does not matter for built-in ones); an order is itself.

    Raises
    ------
    UnknownNameError
        No order has the name; near ones are offered.
    """
    if isinstance(name, Order):
        return name
    if not isinstance(name, str):
        return Order(getattr(name, "__name__", "order"), name)
    found = _users.get(name) or BUILT_IN.get(_ALIASES.get(name.upper(), name.upper()))
    if found is None:
        known = tuple(orders())
        near = difflib.get_close_matches(name.upper(), [k.upper() for k in known], n=3, cutoff=0.5)
        raise UnknownNameError("order", name, tuple(k for k in known if k.upper() in near), known)
    return found


_ALIASES: Final = {"SPT": "SPF", "LPT": "LPF"}


def _built_in(name: str, formula: str, source: str) -> Callable[[Callable[..., float]], Order]:
    def enter(function: Callable[..., float]) -> Order:
        BUILT_IN[name] = Order(name, function, formula, source)
        return BUILT_IN[name]

    return enter


_GAUSSIER: Final = "Gaussier, Lelong, Reis, Trystram 2018, IEEE TPDS 29(10), queue reordering policies"
_TANG: Final = "Tang, Lan, Desai, Buettner 2009, doi 10.1109/CLUSTR.2009.5289206"
_CARASTAN: Final = "Carastan-Santos, de Camargo 2017, doi 10.1145/3126908.3126955, table 3"
_ROSA: Final = "Rosa, Carastan-Santos, Goldman 2023 (JSSPP), coefficients fitted to their published Lublin-256 scores"


@_built_in("FCFS", "r", "first come, first served")
def _fcfs(submit: float) -> float:
    return submit


@_built_in("LCFS", "-r", _GAUSSIER)
def _lcfs(submit: float) -> float:
    return -submit


@_built_in("SPF", "p", _GAUSSIER + "; also called SPT")
def _spf(estimate: float) -> float:
    return estimate


@_built_in("LPF", "-p", _GAUSSIER + "; also called LPT")
def _lpf(estimate: float) -> float:
    return -estimate


@_built_in("SQF", "q", _GAUSSIER)
def _sqf(cores: float) -> float:
    return cores


@_built_in("LQF", "-q", _GAUSSIER)
def _lqf(cores: float) -> float:
    return -cores


@_built_in("SEXP", "(w + p) / p", _GAUSSIER + "; 1 for a job of estimate 0 that has not waited")
def _sexp(wait: float, estimate: float) -> float:
    return (wait + estimate) / estimate if estimate > 0.0 or wait > 0.0 else 1.0


@_built_in("LEXP", "-(w + p) / p", _GAUSSIER + "; -1 for a job of estimate 0 that has not waited")
def _lexp(wait: float, estimate: float) -> float:
    return -((wait + estimate) / estimate) if estimate > 0.0 or wait > 0.0 else -1.0


@_built_in("SRF", "p / q", _GAUSSIER)
def _srf(estimate: float, cores: float) -> float:
    return estimate / cores


@_built_in("LRF", "-p / q", _GAUSSIER)
def _lrf(estimate: float, cores: float) -> float:
    return -estimate / cores


@_built_in("SAF", "p q", _GAUSSIER)
def _saf(estimate: float, cores: float) -> float:
    return estimate * cores


@_built_in("LAF", "-p q", _GAUSSIER)
def _laf(estimate: float, cores: float) -> float:
    return -estimate * cores


@_built_in("SJBF", "p", "Tsafrir, Etsion, Feitelson 2007, doi 10.1109/TPDS.2007.70606: as a backfill order")
def _sjbf(estimate: float) -> float:
    return estimate


@_built_in("WFP3", "-(w / p)^3 q", _TANG + "; w / p in single precision, as the program of Rosa et al. 2023 computes it")
def _wfp3(wait: float, estimate: float, cores: float) -> float:
    ratio = float(np.float32(wait / estimate)) if wait > 0.0 else 0.0
    return -(ratio**3) * cores


@_built_in("UNICEF", "-w / (log2(q) p)", _TANG + "; -infinity for q = 1 (absolute priority), as in the program of Rosa et al. 2023")
def _unicef(wait: float, estimate: float, cores: float) -> float:
    if cores <= 1.0:
        return -np.inf
    return -wait / (np.log2(cores) * estimate) if wait > 0.0 else 0.0


@_built_in("F1", "(-0.0155183403 log10 p)(-0.0005149209 q) + 0.0069596182 log10 r", _CARASTAN + "; p and r of at least 1 s")
def _f1(estimate: float, cores: float, submit: float) -> float:
    p = max(estimate, 1.0)
    r = max(submit, 1.0)
    return (-0.0155183403 * np.log10(p)) * (-0.0005149209 * cores) + 0.0069596182 * np.log10(r)


@_built_in("F2", "(3.42717e-5 sqrt p)(7.656211e-3 q) + 6.7364626e-3 log10 r", _CARASTAN + "; r of at least 1 s")
def _f2(estimate: float, cores: float, submit: float) -> float:
    r = max(submit, 1.0)
    return (3.42717e-5 * np.sqrt(estimate)) * (7.656211e-3 * cores) + 6.7364626e-3 * np.log10(r)


@_built_in("F3", "(-0.2188093701 p)(-4.9e-9 q) + 0.0073580361 log10 r", _CARASTAN + "; r of at least 1 s")
def _f3(estimate: float, cores: float, submit: float) -> float:
    r = max(submit, 1.0)
    return (-0.2188093701 * estimate) * (-4.9e-9 * cores) + 0.0073580361 * np.log10(r)


@_built_in("F4", "(0.0056500287 p)(2.4814e-6 sqrt q) + 0.0074444355 log10 r", _CARASTAN + "; r of at least 1 s")
def _f4(estimate: float, cores: float, submit: float) -> float:
    r = max(submit, 1.0)
    return (0.0056500287 * estimate) * (2.4814e-6 * np.sqrt(cores)) + 0.0074444355 * np.log10(r)


@_built_in("LIN", "3.238414e-2 + 1.148218e-7 p + 2.607264e-5 q - 1.574367e-7 r", "Rosa, Carastan-Santos, Goldman 2023 (JSSPP), table 3")
def _lin(estimate: float, cores: float, submit: float) -> float:
    return (
        0.03238414
        + 1.148218e-07 * estimate
        + 2.607264e-05 * cores
        - 1.574367e-07 * submit
    )


@_built_in("QDR", "the quadratic form in p, q, r", _ROSA)
def _qdr(estimate: float, cores: float, submit: float) -> float:
    return (
        0.03704903
        + 2.652653e-07 * estimate
        - 3.048968e-05 * cores
        - 3.962958e-07 * submit
        - 3.039085e-12 * estimate * estimate
        + 1.165374e-07 * cores * cores
        + 2.754073e-12 * submit * submit
        + 6.768288e-10 * estimate * cores
    )


@_built_in("CUB", "the cubic form in p, q, r", _ROSA)
def _cub(estimate: float, cores: float, submit: float) -> float:
    return (
        0.03329747
        + 2.832805e-07 * estimate
        + 8.706609e-05 * cores
        - 5.833747e-07 * submit
        - 6.481177e-14 * estimate * estimate
        - 5.060718e-07 * cores * cores
        + 6.778134e-12 * submit * submit
        - 6.027134e-10 * estimate * cores
        - 7.538937e-18 * estimate * estimate * estimate
        + 7.046365e-10 * cores * cores * cores
        - 2.137209e-17 * submit * submit * submit
        - 2.716821e-14 * estimate * estimate * cores
        + 9.525301e-12 * estimate * cores * cores
    )


@_built_in("QUA", "the quartic form in p, q, r", _ROSA)
def _qua(estimate: float, cores: float, submit: float) -> float:
    return (
        0.04830642
        - 6.425391e-07 * estimate
        - 0.0002395469 * cores
        - 6.500615e-07 * submit
        + 1.664578e-11 * estimate * estimate
        + 2.408618e-06 * cores * cores
        + 8.812357e-12 * submit * submit
        + 1.139898e-08 * estimate * cores
        - 2.030617e-16 * estimate * estimate * estimate
        - 9.524608e-09 * cores * cores * cores
        - 4.67116e-17 * submit * submit * submit
        + 9.208034e-15 * estimate * estimate * cores
        - 7.945076e-11 * estimate * cores * cores
        + 9.341499e-22 * estimate * estimate * estimate * estimate
        + 1.357836e-11 * cores * cores * cores * cores
        + 9.840952e-23 * submit * submit * submit * submit
        - 9.062819e-19 * estimate * estimate * estimate * cores
        + 1.886236e-16 * estimate * estimate * cores * cores
        + 1.552692e-13 * estimate * cores * cores * cores
    )


@_built_in("RANDOM", "a uniform number", "drawn once a job from the simulation's seed")
def _random(draw: float) -> float:
    return draw


TWELVE_ORDERS: Final = ("FCFS", "LCFS", "SPF", "LPF", "SQF", "LQF", "SEXP", "LEXP", "SRF", "LRF", "SAF", "LAF")
"""The twelve orders of the selection study."""
