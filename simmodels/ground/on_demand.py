"""On demand: compiled functions that are compiled when an option first asks for them, and not with whatever calls them.

Most queues have no limits and no shares, and promise a start to one job at most. Yet compiled code that has a branch
for such an option would be compiled with all that the branch calls: more than half of a first use. So whatever calls
such a function finds its address in a place that is filled in when the option is asked for.
"""

import ctypes
import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from simmodels.ground.borrowing import Field
from simmodels.ground.compiled import compiled
from simmodels.ground.digests import REPLACES

_CODE: Final[Any] = cgutils  # it has no types


class OnDemand(NamedTuple):
    """A function that is compiled on demand.

    Parameters
    ----------
    function
        The function, compiled.
    signature
        The types of its parameters and of what it returns.
    replaces
        The fields of structures in which it may put another array or structure, itself or by what it calls, see
        `simmodels.ground.borrowing`: whatever calls it cannot see that.
    place
        Where compiled code finds its address; null until it is asked for.
    """

    function: Any
    signature: Signature
    replaces: frozenset[Field]
    place: ctypes.c_void_p


BY_OPTION: Final[dict[str, list[OnDemand]]] = {}
"""The functions by the option that asks for them."""
_ASKED: Final[set[str]] = set()
_KEPT: Final[list[Any]] = []
"""What holds the code at the addresses."""


def on_demand(option: str, signature: Signature, replaces: frozenset[Field] = frozenset()) -> Callable[[Any], Any]:
    """Let a compiled function be compiled when an option is asked for; compiled code may call it from then on.

    Parameters
    ----------
    option
        The option, in words.
    signature, replaces
        As in `OnDemand`.

    Returns
    -------
    Callable
        What makes of the function one that compiled code calls; Python cannot.
    """

    def made(function: Any) -> Any:  # noqa: ANN401  numba's dispatcher is untyped
        known = OnDemand(function, signature, replaces, ctypes.c_void_p())
        BY_OPTION.setdefault(option, []).append(known)
        llvm.add_symbol(_name(known), ctypes.addressof(known.place))
        if option in _ASKED:
            _fill_in(known, option)
        return intrinsic(_caller(known))

    return made


def ask_for(option: str) -> None:
    """Have the functions of an option compiled, or found where they are kept."""
    if option not in _ASKED:
        for each in BY_OPTION.get(option, ()):
            _fill_in(each, option)
        _ASKED.add(option)


def _name(of: OnDemand) -> str:
    return f"{of.function.__module__}.{of.function.__qualname__}"


def _as_one(signature: Signature) -> Any:  # noqa: ANN401  numba's
    """Return the type of a function's only parameter, `*arguments`."""
    return types.StarArgTuple(signature.args)  # type: ignore[no-untyped-call]  # numba has no types here


def _fill_in(of: OnDemand, option: str) -> None:
    """Put the address of a function into its place."""
    function = of.function

    def called(*arguments):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN202  numba finds the types
        return function(*arguments)  # as compiled code calls it: so it borrows where it can

    entry, kinds = compiled(called, part=option), (_as_one(of.signature),)
    entry.compile(kinds)
    found = entry.overloads[kinds]
    of.place.value = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
    _KEPT.append(entry)


def _caller(of: OnDemand) -> Callable[..., Any]:
    """Return what makes the code of a call, as numba's `intrinsic` takes it."""
    name, signature = _name(of), of.signature

    def call(_typing: Any, *_given: Any) -> Any:  # noqa: ANN401  numba's
        return signature, code

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401  as above
        given = _as_one(signature)
        kinds = signature.return_type, (given,)
        place = builder.module.globals.get(name)
        if place is None:
            place = ir.GlobalVariable(builder.module, context.call_conv.get_function_type(*kinds).as_pointer(), name)
        address = builder.load(place)
        with _CODE.if_unlikely(builder, _CODE.is_null(builder, address)):
            context.call_conv.return_user_exc(builder, RuntimeError, (f"{name} was called, but not asked for",))
        values = context.make_tuple(builder, given, arguments)
        status, value = context.call_conv.call_function(builder, address, *kinds, (values,))
        with _CODE.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value

    own = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(of.function.py_func).parameters.values()
    call.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]  # where numba looks for names
    setattr(call, REPLACES, of.replaces)
    return call
