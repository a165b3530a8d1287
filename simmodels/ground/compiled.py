"""compiled: numba's njit, which keeps what it compiled until anything that it was compiled from changes.

Numba's own cache looks at the file that defines a function; but a pass has the code of what it calls compiled into it,
so a change in another file (an upgrade, a `git pull`) would leave the old rule running. See
`simmodels.ground.kept_code` for what is kept instead, and `simmodels.ground.digests` for what it depends on.
"""

import contextlib
import functools
import gc
import inspect
import math
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

from numba import njit, types, version_info
from numba.core.ccallback import CFunc
from numba.core.errors import TypingError
from numba.core.typing.templates import Signature, infer_global
from numba.extending import intrinsic

from simmodels.ground.digests import INSTEAD
from simmodels.ground.kept_code import PLAIN, Form, KeptCode, folder

LINKED: Final = version_info.short == (0, 68)
"""Whether `linking` was tested with this numba; under any other, they are compiled as numba does, in twice the time."""

if LINKED:
    from simmodels.ground import linking

_Plain = TypeVar("_Plain", bound=Callable[..., Any])
_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)
_SIMMODELS: Final = Path(__file__).parents[1]
_WORKLOADS: Final = _SIMMODELS.with_name("workloads")
_PARTS: Final = {
    "learning": "permutation trials",
    "auction": "auctions",
    "bidding": "auctions",
    "matching": "auctions",
    "plac": "placement on machines",
    "replay/loop": "machines",
    "queue": "queues",
    "backfilling": "queues",
}
"""What functions are for, by words of the paths of their files; the first one that fits counts."""
_CALLBACK: Final = PLAIN._replace(name="callback")
UNWRAPPED: Final[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of numba, which has no types of them, for what only compiled code calls: to make it takes a third less."""
_under_way: Final[list[object]] = []
"""What is being compiled: a function, one that it calls, one that this calls."""


def compiled(function: Callable[..., Any], *, nogil: bool = False, part: str | None = None) -> Any:  # noqa: ANN401  numba's dispatcher is untyped
    """Return the function compiled without Python (numba), kept until anything that it depends on changes.

    Parameters
    ----------
    function
        The function.
    nogil
        Whether other threads run while it does.
    part
        What it is for, as the line names it that a user sees meanwhile; if empty, there is none. By default its file
        says it.
    """
    return _made(function, part, nogil=nogil)


def inlined(function: Callable[..., Any]) -> Any:  # noqa: ANN401  as above
    """Return the function compiled as `compiled` does, its code copied to where it is called from.

    For what is called millions of times: a call costs some thirty instructions, and seven words for each array.
    """
    return _made(function, None, forceinline=True)


def compilable(function: _Plain, *, instead: Any = None) -> _Plain:  # noqa: ANN401  as above
    """Return the function as it is: Python runs it, with numpy; and compiled code may call it, too.

    For formulas of columns that are asked for once a schedule, where a first use should not wait for a compiler, and
    for thousands of schedules at once.

    Parameters
    ----------
    function
        The function.
    instead
        What compiled code calls instead: a compiled function that gives the same. By default it is the function.
    """
    made = compiled(function) if instead is None else instead
    setattr(function, INSTEAD, made)
    infer_global(function, types.Dispatcher(made))  # type: ignore[no-untyped-call]  # numba has no types here
    return function


def callback(function: Callable[..., Any], signature: Signature, *, kept: bool) -> Any:  # noqa: ANN401  as above
    """Return a C function whose address compiled code can call; a division by zero is infinite, as in numpy.

    Parameters
    ----------
    function
        The function.
    signature
        The types of its parameters and of what it returns.
    kept
        Whether its code is kept, as `compiled` does. What a user's function names may change while a process runs.

    Raises
    ------
    NumbaError
        It cannot be compiled.
    """
    made: Any = _Callback(
        function, (signature.args, signature.return_type), locals={}, options={"error_model": "numpy"}
    )
    if kept:  # it takes a moment to compile: nothing is said of it
        described = njit(error_model="numpy")(function)
        made._cache = KeptCode(described, _CALLBACK, lambda: None, lambda _: None)  # noqa: SLF001  as below
    with interrupts_heard():
        made.compile()
    return made


@intrinsic
def or_nan(typing: Any, function: Any, *given: Any) -> Any:  # noqa: ANN401  numba's
    """Call a function from compiled code; it is NaN where the function raises, for no exception crosses a C function.

    A ``try`` does the same, and takes more than half of the time in which a short function is compiled.
    """
    call = function.get_call_type(typing, given, {})
    if not isinstance(call.return_type, types.Integer | types.Float | types.Boolean):
        raise TypingError(f"it returns {call.return_type}, which is no number")

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
        result = function.dispatcher.overloads[call.args]
        context.add_linking_libs([result.library])
        values = [builder.extract_value(arguments[1], number) for number in range(len(given))]
        status, value = context.call_internal_no_propagate(builder, result.fndesc, call, values)
        number = context.cast(builder, value, call.return_type, types.float64)
        return builder.select(status.is_ok, number, context.get_constant(types.float64, math.nan))

    return types.float64(function, types.StarArgTuple(given)), code  # type: ignore[no-untyped-call]  # numba has no types here


class _Callback(CFunc):
    """A C function that keeps its type: each call of compiled code asks for it, and to make it takes 7 us."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401  numba's
        super().__init__(*args, **options)
        self._numba_type_ = types.FunctionType(self._sig)  # type: ignore[attr-defined]  # numba has it

    def __wrapper_address__(self) -> int:
        """Return where it is, which numba would look up more slowly."""
        address: int = self.address  # type: ignore[assignment]  # it is compiled
        return address


def _made(function: Any, part: str | None, **options: Any) -> Any:  # noqa: ANN401  as above
    """Compile a function for calls from Python, and for calls from compiled code; both are kept."""
    part = _part_of(Path(function.__code__.co_filename)) if part is None else part
    with interrupts_heard():  # the first asks LLVM what it compiles for
        if not LINKED:
            return _kept(njit(**options)(function), PLAIN, part)
        # Numba would make a function for calls from C, too: a tenth of a first use.
        made = _kept(linking.entry(function, no_cfunc_wrapper=True, **options), linking.ENTRY, part)
        linking.let_answer(made, _kept(linking.callee(function, **UNWRAPPED, **options), linking.CALLEE, part))
    return made


def _kept(made: Any, form: Form, part: str) -> Any:  # noqa: ANN401  as above
    """Let the code of a dispatcher be kept, and Ctrl-C leave its compiler."""

    def missed() -> None:
        if part and len(_under_way) <= 1:  # what it calls is compiled with it
            _say_compiling(part)

    made._cache = KeptCode(made, form, missed, _say_unkept)  # noqa: SLF001  numba has no public way to say this
    return _interruptible(made)


def _part_of(home: Path) -> str:
    """Return in words what the functions of a file are for."""
    if not home.is_relative_to(_SIMMODELS):
        return "generated workflows" if home.is_relative_to(_WORKLOADS) else "your own functions"
    place = home.relative_to(_SIMMODELS).as_posix()
    return next((part for word, part in _PARTS.items() if word in place), "simulations")


@functools.cache
def _say_compiling(part: str) -> None:
    """Say, once a process, that a part is compiled."""
    with contextlib.suppress(OSError):
        _say(f"compiling code for {part} (once, about 10 s of processor time); kept in {folder()}")


@functools.cache
def _say_unkept(why: str) -> None:
    """Say, once a process, that compiled code is not kept."""
    _say(f"compiled code cannot be kept: {why}. It is compiled again in each process, which takes up to minutes")


def _say(text: str) -> None:
    """Print a line to stderr; not in a worker, which would repeat it, nor if the environment has SCHEDLAB_QUIET."""
    if multiprocessing.parent_process() is None and "SCHEDLAB_QUIET" not in os.environ and sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201  a library has no other way to say that it is not stuck


def _interruptible(made: Any) -> Any:  # noqa: ANN401  as above
    """Let Ctrl-C leave the compiler of a function."""
    compile_it = made.compile

    def compile_or_leave(signature: Any) -> Any:  # noqa: ANN401  numba's
        _under_way.append(signature)
        try:
            with interrupts_heard(), _uncollected():
                return compile_it(signature)
        finally:
            _under_way.pop()

    made.compile = compile_or_leave
    return made


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Keep Python's collector of garbage off: it goes through all that the compiler makes, a tenth of its time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def interrupts_heard() -> Iterator[None]:
    """Let Ctrl-C leave the compiler, but not between two steps of llvmlite, where it waits until all is compiled.

    llvmlite frees what it has handed over, or freed, unless its next line notes that: an interrupt between the two
    ends in "double free detected". And in its callbacks from LLVM, ctypes prints what is raised, and goes on.
    """
    if threading.current_thread() is not threading.main_thread():  # which handles no signals
        yield
        return
    before = {int(number): handler for number in _INTERRUPTS if callable(handler := signal.getsignal(number))}
    kept: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        if _is_in_llvm(frame):
            kept.append(number)
        else:
            before[number](number, frame)

    for number in before:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in kept[:1]:
            before[number](number, inspect.currentframe())


def _is_in_llvm(frame: FrameType | None) -> bool:
    """Return whether a function of llvmlite that calls LLVM has not returned."""
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("llvmlite.binding"):
        frame = frame.f_back
    return frame is not None
