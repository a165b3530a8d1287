"""Orders: the registry, and the orders of the literature. The command line, the docs and the tests read it.

A user's own order enters by `order`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final, overload

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.policies.order import Order
from simmodels.policies.polynomial import FORMS, Polynomial
from simmodels.policies.priority import Priority
from simmodels.policies.registry import ORDERS, Registry

_ORDERS: Final[Registry[Order]] = ORDERS
BUILT_IN: Final[Mapping[str, Order]] = ORDERS.built_in


@overload
def order(function: Callable[..., float], /) -> Order: ...
@overload
def order(
    *, name: str | None = None, formula: str = "", source: str = "", about: str = ""
) -> Callable[[Callable[..., float]], Order]: ...
def order(
    function: Callable[..., float] | None = None,
    /,
    *,
    name: str | None = None,
    formula: str = "",
    source: str = "",
    about: str = "",
) -> Order | Callable[[Callable[..., float]], Order]:
    """Make an order of a plain function, and enter it in the registry under its name.

    Parameters
    ----------
    function
        A function of characteristics of a job, by name: words of the vocabulary
        (`simmodels.work.vocabulary`), and columns of the workload. The job with the smaller value goes first. If
        it names ``wait``, ``now``, ``slr``, ``factor``, ``area`` or ``fairshare``, it is evaluated at each pass, else
        once, when the job arrives.
    name
        The order's name; the function's by default.
    formula, source, about
        For tables and docs; see `Order`.

    Returns
    -------
    Order
        The order; of ``@order(...)`` with keywords alone, the decorator that makes it.

    Raises
    ------
    RequestError
        The name is that of a built-in order.

    Examples
    --------
    >>> import simmodels as sm
    >>> @sm.order
    ... def patient(estimate, cores, wait):
    ...     return estimate * cores - 10.0 * wait
    >>> patient.moving
    True
    """

    def enter(function: Callable[..., float]) -> Order:
        called = getattr(function, "__name__", "order") if name is None else name
        return _ORDERS.add(Order(called, function, formula, source, about))

    return enter if function is None else enter(function)


def orders() -> Mapping[str, Order]:
    """Return every order of the registry by name: the built-in ones, then the user's.

    Examples
    --------
    >>> import simmodels as sm
    >>> sm.orders()["SAF"].formula
    'p q'
    """
    return _ORDERS.all()


def find_order(name: str | Order | Callable[..., float]) -> Order:
    """Return an order by its name (case does not matter for built-in ones), or of a function; an order is itself."""
    if isinstance(name, Order):
        return name
    if isinstance(name, str):
        return _ORDERS.find(name)
    if isinstance(name, Priority) or not callable(name):
        raise RequestError(must_be("order", "a name, an Order, a Bid or a function", name))
    return Order(getattr(name, "__name__", "order"), name)


def _wfp3(wait: float, estimate: float, cores: float) -> float:
    ratio = float(np.float32(wait / estimate)) if wait > 0.0 else 0.0
    return -(ratio**3) * cores


def _unicef(wait: float, estimate: float, cores: float) -> float:
    if cores <= 1.0:
        return -math.inf
    return -wait / (math.log2(cores) * estimate) if wait > 0.0 else 0.0


_TSAFRIR: Final = "Tsafrir, Etsion, Feitelson 2007, doi 10.1109/TPDS.2007.70606: as a backfill order"
_GAUSSIER: Final = "Gaussier, Lelong, Reis, Trystram 2018, IEEE TPDS 29(10), queue reordering policies"
_TANG: Final = "Tang, Lan, Desai, Buettner 2009, doi 10.1109/CLUSTR.2009.5289206"
_CARASTAN: Final = "Carastan-Santos, de Camargo 2017, doi 10.1145/3126908.3126955, table 3"
_ROSA: Final = (
    "Rosa, Carastan-Santos, Goldman 2023 (JSSPP), coefficients that their fit of the published Lublin-256 scores gives"
)
_PLAIN: Final[tuple[tuple[str, str, str, str, Callable[..., float]], ...]] = (
    ("FCFS", "first come, first served", "r", "the order of submission", lambda submit: submit),
    ("LCFS", "last come, first served", "-r", _GAUSSIER, lambda submit: -submit),
    ("SPF", "shortest limit first", "p", _GAUSSIER, lambda estimate: estimate),
    ("LPF", "longest limit first", "-p", _GAUSSIER, lambda estimate: -estimate),
    ("SQF", "fewest cores first", "q", _GAUSSIER, lambda cores: cores),
    ("LQF", "most cores first", "-q", _GAUSSIER, lambda cores: -cores),
    (
        "SEXP",
        "shortest wait relative to the limit first",
        "(w + p) / p",
        _GAUSSIER + "; 1 for a job of estimate 0 that has not waited",
        lambda wait, estimate: (wait + estimate) / estimate if estimate > 0.0 or wait > 0.0 else 1.0,
    ),
    (
        "LEXP",
        "longest wait relative to the limit first",
        "-(w + p) / p",
        _GAUSSIER + "; -1 for a job of estimate 0 that has not waited",
        lambda wait, estimate: -((wait + estimate) / estimate) if estimate > 0.0 or wait > 0.0 else -1.0,
    ),
    ("SRF", "shortest limit per core first", "p / q", _GAUSSIER, lambda estimate, cores: estimate / cores),
    ("LRF", "longest limit per core first", "-p / q", _GAUSSIER, lambda estimate, cores: -estimate / cores),
    ("SAF", "smallest limit x cores first", "p q", _GAUSSIER, lambda estimate, cores: estimate * cores),
    ("LAF", "largest limit x cores first", "-p q", _GAUSSIER, lambda estimate, cores: -estimate * cores),
    ("SJBF", "shortest limit first, as an order of backfilling", "p", _TSAFRIR, lambda estimate: estimate),
    (
        "WFP3",
        "largest (wait / limit) cubed x cores first",
        "-(w / p)^3 q",
        _TANG + "; w / p in single precision, as in the program of Rosa et al. 2023",
        _wfp3,
    ),
    (
        "UNICEF",
        "largest wait / (limit x log of cores) first, and jobs of one core before all others",
        "-w / (log2(q) p)",
        _TANG + "; -infinity for q = 1, as in the program of Rosa et al. 2023",
        _unicef,
    ),
    (
        "F1",
        "smallest log limit x cores + log submit first, with weights fitted to simulations",
        "(-0.0155183403 log10 p)(-0.0005149209 q) + 0.0069596182 log10 r",
        _CARASTAN + "; p, r at least 1 s",
        lambda estimate, cores, submit: (
            (-0.0155183403 * math.log10(max(estimate, 1.0))) * (-0.0005149209 * cores)
            + 0.0069596182 * math.log10(max(submit, 1.0))
        ),
    ),
    (
        "F2",
        "smallest root of limit x cores + log submit first, with weights fitted to simulations",
        "(3.42717e-5 sqrt p)(7.656211e-3 q) + 6.7364626e-3 log10 r",
        _CARASTAN + "; r at least 1 s",
        lambda estimate, cores, submit: (
            (3.42717e-5 * math.sqrt(estimate)) * (7.656211e-3 * cores) + 6.7364626e-3 * math.log10(max(submit, 1.0))
        ),
    ),
    (
        "F3",
        "smallest limit x cores + log submit first, with weights fitted to simulations",
        "(-0.2188093701 p)(-4.9e-9 q) + 0.0073580361 log10 r",
        _CARASTAN + "; r at least 1 s",
        lambda estimate, cores, submit: (
            (-0.2188093701 * estimate) * (-4.9e-9 * cores) + 0.0073580361 * math.log10(max(submit, 1.0))
        ),
    ),
    (
        "F4",
        "smallest limit x root of cores + log submit first, with weights fitted to simulations",
        "(0.0056500287 p)(2.4814e-6 sqrt q) + 0.0074444355 log10 r",
        _CARASTAN + "; r at least 1 s",
        lambda estimate, cores, submit: (
            (0.0056500287 * estimate) * (2.4814e-6 * math.sqrt(cores)) + 0.0074444355 * math.log10(max(submit, 1.0))
        ),
    ),
)
"""The orders of plain functions: name, in words, formula, source, function."""
for _name, _about, _shown, _source, _function in _PLAIN:
    _ORDERS.add_built_in(Order(_name, _function, _shown, _source, _about))

_ROSA_TABLE: Final = "Rosa, Carastan-Santos, Goldman 2023 (JSSPP), table 3"
_FITTED: Final[dict[str, tuple[tuple[float, ...], str, str, str]]] = {
    "LIN": (
        (3.238414e-2, 1.148218e-7, 2.607264e-5, -1.574367e-7),
        "3.238414e-2 + 1.148218e-7 p + 2.607264e-5 q - 1.574367e-7 r",
        "smallest linear polynomial in limit, cores and submit first, fitted to simulations",
        _ROSA_TABLE,
    ),
    "QDR": (
        (
            0.037049032071748304,
            2.6526527819731174e-07,
            -3.048967867587685e-05,
            -3.962957866013561e-07,
            -3.039085176446426e-12,
            1.1653739526267591e-07,
            2.754072525320466e-12,
            6.768287964319055e-10,
        ),
        "the quadratic form in p, q, r",
        "smallest quadratic polynomial in limit, cores and submit first, fitted to simulations",
        _ROSA,
    ),
    "CUB": (
        (
            0.033297467837996975,
            2.832805225943543e-07,
            8.706608590566649e-05,
            -5.833746919459113e-07,
            -6.481176952195824e-14,
            -5.060718032532218e-07,
            6.778133617643281e-12,
            -6.027134117490022e-10,
            -7.538936807488263e-18,
            7.046365239353614e-10,
            -2.137209091421742e-17,
            -2.716820684738197e-14,
            9.525301310537574e-12,
        ),
        "the cubic form in p, q, r",
        "smallest cubic polynomial in limit, cores and submit first, fitted to simulations",
        _ROSA,
    ),
    "QUA": (
        (
            0.04830641593433348,
            -6.425391440339583e-07,
            -0.00023954690698777355,
            -6.500614538968545e-07,
            1.6645775468502742e-11,
            2.4086176219184713e-06,
            8.812356924151037e-12,
            1.1398984567472267e-08,
            -2.030616699821602e-16,
            -9.524607662725518e-09,
            -4.6711602461969934e-17,
            9.208033824424055e-15,
            -7.945076399692705e-11,
            9.341498965905077e-22,
            1.3578359596185033e-11,
            9.840951683890115e-23,
            -9.062818981630059e-19,
            1.8862358084063645e-16,
            1.5526917069081475e-13,
        ),
        "the quartic form in p, q, r",
        "smallest quartic polynomial in limit, cores and submit first, fitted to simulations",
        _ROSA,
    ),
}
for _name, (_theta, _shown, _about, _source) in _FITTED.items():
    _ORDERS.add_built_in(Polynomial(_theta, FORMS[_name], name=_name, formula=_shown, source=_source, about=_about))


_ORDERS.add_built_in(
    Order("RANDOM", lambda draw: draw, "a uniform number", "drawn once per job from the simulation's seed", "at random")
)
_ORDERS.add_built_in(
    Order(
        "FairShare",
        lambda fairshare: -fairshare,
        "- fairshare",
        "Slurm's priority/multifactor; see `Shares`",
        "highest fair-share factor first",
    )
)

TWELVE_ORDERS: Final = ("FCFS", "LCFS", "SPF", "LPF", "SQF", "LQF", "SEXP", "LEXP", "SRF", "LRF", "SAF", "LAF")
"""The twelve orders of the selection study."""
