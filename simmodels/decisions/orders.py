"""Orders: the registry, and the orders of the literature. The command line, the docs and the tests read it.

A user's own order enters by `order`.
"""

import difflib
import math
from collections.abc import Callable, Mapping
from typing import Final, overload

import numpy as np

from simmodels.decisions.order import Order
from simmodels.errors import RequestError, UnknownNameError

BUILT_IN: Final[dict[str, Order]] = {}
_users: Final[dict[str, Order]] = {}


@overload
def order(function: Callable[..., float], /) -> Order: ...
@overload
def order(
    *, name: str | None = None, formula: str = "", source: str = ""
) -> Callable[[Callable[..., float]], Order]: ...
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
        upper = [k.upper() for k in known]
        swapped = [k for k in upper if sorted(k) == sorted(name.upper())]  # SFA is SAF, and as near to five others
        near = swapped or difflib.get_close_matches(name.upper(), upper, n=3, cutoff=0.5)
        raise UnknownNameError("order", name, tuple(k for k in known if k.upper() in near), known)
    return found


_ALIASES: Final = {"SPT": "SPF", "LPT": "LPF"}


def _built_in(name: str, formula: str, source: str) -> Callable[[Callable[..., float]], Order]:
    def enter(function: Callable[..., float]) -> Order:
        BUILT_IN[name] = Order(name, function, formula, source, is_built_in=True)
        return BUILT_IN[name]

    return enter


_TSAFRIR: Final = "Tsafrir, Etsion, Feitelson 2007, doi 10.1109/TPDS.2007.70606: as a backfill order"
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


@_built_in("SJBF", "p", _TSAFRIR)
def _sjbf(estimate: float) -> float:
    return estimate


@_built_in("WFP3", "-(w / p)^3 q", _TANG + "; w / p in single precision, as in the program of Rosa et al. 2023")
def _wfp3(wait: float, estimate: float, cores: float) -> float:
    ratio = float(np.float32(wait / estimate)) if wait > 0.0 else 0.0
    return -(ratio**3) * cores


@_built_in("UNICEF", "-w / (log2(q) p)", _TANG + "; -infinity for q = 1, as in the program of Rosa et al. 2023")
def _unicef(wait: float, estimate: float, cores: float) -> float:
    if cores <= 1.0:
        return -math.inf
    return -wait / (math.log2(cores) * estimate) if wait > 0.0 else 0.0


@_built_in("F1", "(-0.0155183403 log10 p)(-0.0005149209 q) + 0.0069596182 log10 r", _CARASTAN + "; p, r at least 1 s")
def _f1(estimate: float, cores: float, submit: float) -> float:
    p = max(estimate, 1.0)
    r = max(submit, 1.0)
    return (-0.0155183403 * math.log10(p)) * (-0.0005149209 * cores) + 0.0069596182 * math.log10(r)


@_built_in("F2", "(3.42717e-5 sqrt p)(7.656211e-3 q) + 6.7364626e-3 log10 r", _CARASTAN + "; r at least 1 s")
def _f2(estimate: float, cores: float, submit: float) -> float:
    r = max(submit, 1.0)
    return (3.42717e-5 * math.sqrt(estimate)) * (7.656211e-3 * cores) + 6.7364626e-3 * math.log10(r)


@_built_in("F3", "(-0.2188093701 p)(-4.9e-9 q) + 0.0073580361 log10 r", _CARASTAN + "; r at least 1 s")
def _f3(estimate: float, cores: float, submit: float) -> float:
    r = max(submit, 1.0)
    return (-0.2188093701 * estimate) * (-4.9e-9 * cores) + 0.0073580361 * math.log10(r)


@_built_in("F4", "(0.0056500287 p)(2.4814e-6 sqrt q) + 0.0074444355 log10 r", _CARASTAN + "; r at least 1 s")
def _f4(estimate: float, cores: float, submit: float) -> float:
    r = max(submit, 1.0)
    return (0.0056500287 * estimate) * (2.4814e-6 * math.sqrt(cores)) + 0.0074444355 * math.log10(r)


_ROSA_TABLE: Final = "Rosa, Carastan-Santos, Goldman 2023 (JSSPP), table 3"


@_built_in("LIN", "3.238414e-2 + 1.148218e-7 p + 2.607264e-5 q - 1.574367e-7 r", _ROSA_TABLE)
def _lin(estimate: float, cores: float, submit: float) -> float:
    return 0.03238414 + 1.148218e-07 * estimate + 2.607264e-05 * cores - 1.574367e-07 * submit


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
