"""Signals: Ctrl-C in compiled code, which by itself would hear of it when it is done."""

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_CHECK: Final = 16
_YIELD: Final = 1024
"""At every 16th call of `heed_signals` signals are handled, at every 1024th other threads run (both powers of two).

The calls between cost a nanosecond or less, which even the fastest loop does not feel."""

_THREADS: Final = 64
"""How many counts there are: if threads without the lock had one, it would wander between their processors' caches."""
_APART: Final = 16
"""How many numbers fill a line of a cache."""
_STACK: Final = 23
"""Stacks are 2^23 bytes apart, or more, on most systems; two threads of the same count only count faster."""

_COUNT: Final = ir.IntType(32)
_STATE: Final = ir.IntType(8).as_pointer()


def _heed_signals(_typing: object) -> Any:  # noqa: ANN401  a signature of numba, and what makes the code
    """Do, in compiled code, what the interpreter does between two of its instructions; each long loop calls it.

    Compiled code runs no handler of a signal, and keeps the interpreter's lock: Ctrl-C would come after minutes; and
    while another thread is in such code, not even the main thread could take it. So now and then signals are handled,
    and what a handler raises (KeyboardInterrupt) leaves the compiled code as an error does; and other threads are let
    run.

    A thread that runs without the lock (`nogil`) heeds nothing: whoever calls such code hands it a flag to stop.

    A run may be left at any call: whoever could go on with a state that was left so must refuse it. The memory of that
    state is not given back, since numba counts no references on the way out: about 10 MB of a log of 300,000 jobs.
    """
    return types.void(), _made


def _made(context: Any, builder: Any, _signature: Any, _args: Any) -> Any:  # noqa: ANN401  LLVM's builders have no types
    """Build the code of a call."""
    kind = ir.ArrayType(ir.ArrayType(_COUNT, _APART), _THREADS)
    counts = ir.GlobalVariable(builder.module, kind, builder.module.get_unique_name("calls"))
    counts.linkage, counts.initializer = "internal", kind(None)
    calls = builder.gep(counts, [_COUNT(0), _own_count(builder), _COUNT(0)], inbounds=True)
    now = builder.add(builder.load(calls), _COUNT(1))
    builder.store(now, calls)
    with builder.if_then(_is_turn(builder, now, _CHECK), likely=False), builder.if_then(_holds_lock(builder)):
        raised = builder.icmp_signed("!=", _call(builder, "PyErr_CheckSignals", _COUNT), _COUNT(0))
        with builder.if_then(raised, likely=False):
            context.call_conv.return_exc(builder)
        with builder.if_then(_is_turn(builder, now, _YIELD), likely=False):
            _call(builder, "PyEval_RestoreThread", ir.VoidType(), _call(builder, "PyEval_SaveThread", _STATE))
    return context.get_dummy_value()


def _own_count(builder: Any) -> Any:  # noqa: ANN401
    """Return which count is that of this thread, by where its stack is."""
    byte = cgutils.alloca_once(builder, ir.IntType(8))  # type: ignore[no-untyped-call]  # numba's
    on_stack = builder.ptrtoint(byte, ir.IntType(64))
    stack = builder.lshr(on_stack, on_stack.type(_STACK))
    return builder.trunc(builder.and_(stack, on_stack.type(_THREADS - 1)), _COUNT)


def _holds_lock(builder: Any) -> Any:  # noqa: ANN401
    return builder.icmp_signed("!=", _call(builder, "PyGILState_Check", _COUNT), _COUNT(0))


def _is_turn(builder: Any, now: Any, every: int) -> Any:  # noqa: ANN401
    return builder.icmp_unsigned("==", builder.and_(now, _COUNT(every - 1)), _COUNT(0))


def _call(builder: Any, name: str, returns: Any, *args: Any) -> Any:  # noqa: ANN401
    """Build the call of a function of Python's C interface; by name, as an address would not last in numba's cache."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(returns, [arg.type for arg in args]), name)
    return builder.call(function, args)


heed_signals: Final[Any] = intrinsic(_heed_signals)
