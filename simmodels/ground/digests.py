"""Digests: what the code that numba makes of a function depends on, as a short text that is equal if all that is.

Of a function these are its own code, the constants that it names, and the same of all functions that it may call, in
turn. So a comment changes nothing, a changed rule changes the digest of whatever calls it, and two copies of the
project have the same.
"""

import dis
import functools
import hashlib
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from numba import config, types
from numba.core.dispatcher import Dispatcher

_SETTINGS: Final = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")
_VERSIONS: Final = (
    sys.implementation.cache_tag,
    *(module.__version__ for module in (numba, llvmlite, np)),
    *(f"{name}={getattr(config, name)}" for name in _SETTINGS),
)
_FOREIGN: Final = sys.stdlib_module_names | {"numba", "numpy", "llvmlite"}
"""What has a version of its own, or Python's: its functions are known by name."""
INSTEAD: Final = "in_compiled_code"
"""The attribute of a function that names what compiled code calls instead of it."""
REPLACES: Final = "replaces"
"""The attribute of what makes the code of a call: the fields that the function may replace, where nobody can see it."""
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


class UnknownValueError(ValueError):
    """Compiled code names a value, and nobody would see that it changed."""


def digest(*parts: object) -> str:
    """Return the digest of texts."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def digest_of(made: Dispatcher, signature: object, machine: object) -> str:
    """Return the digest of all that the code for a signature depends on.

    Parameters
    ----------
    made
        The function, with the options that it is compiled with.
    signature
        The types of its arguments, as numba has them.
    machine
        What the code is made for: the target, the processor and its features.

    Raises
    ------
    UnknownValueError
        It names a value of a kind that is not known here, so that what it depends on is not known.
    """
    function = made.py_func
    called = sorted(map(_own, _reached(function)))
    compilers = [_file(str(Path(__file__).with_name(name))) for name in ("linking.py", "borrowing.py")]
    return digest(*_VERSIONS, *compilers, machine, _value(signature), _value(made), _own(function), *called)


def _name(of: Any) -> str:  # noqa: ANN401  whatever has a name
    return f"{of.__module__}.{of.__qualname__}"


@functools.cache
def _reached(function: FunctionType) -> frozenset[FunctionType]:
    """Return all functions that a function may call, in turn; itself among them if one calls it again."""
    found: set[FunctionType] = set()
    new = _called(function)
    while new:
        found |= new
        new = {callee for each in new for callee in _called(each)} - found
    return frozenset(found)


def _called(function: FunctionType) -> set[FunctionType]:
    values = [value for _, named in _named(function) for value in _flat(named)]
    values.append(getattr(function, INSTEAD, None))
    return {each for value in values if (each := _function(value)) is not None}


def _flat(value: object) -> Iterator[object]:
    """Hand out a value, or those of a table of them."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _function(value: object) -> FunctionType | None:
    """Return the Python function of what is made of one: compiled code, or what builds code (numba's intrinsics)."""
    made = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value
    return made if isinstance(made, FunctionType) and not _is_foreign(made) else None


@functools.cache
def _own(function: FunctionType) -> str:
    """Return the digest of a function without those that it calls."""
    defaults = (function.__defaults__, *sorted((function.__kwdefaults__ or {}).items()))
    about = [_name(function), *_code(function.__code__), _value(defaults), _value(getattr(function, REPLACES, None))]
    return digest(*about, *sorted({f"{name}={_value(value)}" for name, value in _named(function)}))


@functools.cache
def _seen(function: FunctionType) -> str:
    """Return a text of what a function is: others of the same name differ in what they enclose."""
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    values = [_value(value) for value in enclosed if _function(value) is None]
    return f"{_name(function)} {digest(*_code(function.__code__), *values)}"


def _code(code: CodeType) -> Iterator[str]:
    """Hand out what a code does, and the names and constants that it has; neither lines nor docstrings."""
    yield from (code.co_code.hex(), code.co_exceptiontable.hex())
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    yield from map(repr, (code.co_names, code.co_varnames, code.co_freevars, counts))
    for place in _loaded(code)[0]:
        constant = code.co_consts[place]
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield f"{place} {_value(constant)}"


@functools.cache
def _loaded(code: CodeType) -> tuple[list[int], list[str]]:
    """Return the places of the constants that a code loads, and the names of the globals."""
    steps = [(each.opcode, each.opname, each.arg, each.argval) for each in dis.get_instructions(code)]
    constants = {place for step, _, place, _ in steps if step in dis.hasconst and place is not None}
    return sorted(constants), sorted({name for _, step, _, name in steps if step in {"LOAD_GLOBAL", "LOAD_NAME"}})


def _globals(code: CodeType) -> Iterator[str]:
    """Hand out the names of the globals that a code, or one within it, loads."""
    for each in _with_inner(code):
        yield from _loaded(each)[1]


def _named(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Hand out the values outside that a function names: of modules, what it names of them."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values = {name: cell.cell_contents for name, cell in cells}
    values |= {name: function.__globals__[name] for name in _globals(function.__code__) if name in function.__globals__}
    for name, value in values.items():
        yield name, value
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in _FOREIGN:
            parts = _names(function.__code__)
            yield from ((f"{name}.{part}", getattr(value, part)) for part in parts if hasattr(value, part))


def _names(code: CodeType) -> Iterator[str]:
    """Hand out all names in a code, those of attributes among them."""
    for each in _with_inner(code):
        yield from each.co_names


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _is_foreign(value: Any) -> bool:  # noqa: ANN401  anything
    home = getattr(value, "__module__", None) or type(value).__module__
    return str(home).partition(".")[0] in _FOREIGN


@functools.singledispatch
def _value(value: Any) -> str:  # noqa: ANN401  anything that a function may name
    """Return a text that is equal if a value is."""
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if (function := _function(value)) is not None:
        return f"function {_seen(function)}"
    text = getattr(value, "__name__", None) or repr(value)
    if _is_foreign(value) and " at 0x" not in text:  # an address is another one in each process
        return f"{_name(type(value))} {text}"
    raise UnknownValueError(f"it names {value!r}, a {type(value).__name__}: nobody would see that this changes")


@_value.register(tuple)
@_value.register(list)
def _(value: Sequence[Any]) -> str:
    return f"{_name(type(value))}({', '.join(map(_value, value))})"


@_value.register
def _(value: frozenset) -> str:  # type: ignore[type-arg]  # singledispatch takes plain classes
    return f"frozenset({', '.join(sorted(map(_value, value)))})"


@_value.register
def _(value: np.ndarray) -> str:
    return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"


@_value.register
def _(value: ModuleType) -> str:
    return f"module {value.__name__}"


@_value.register
def _(value: Dispatcher) -> str:
    return f"compiled {_seen(value.py_func)} {sorted(value.targetoptions.items())}"


@_value.register
def _(value: Enum) -> str:
    return f"{_class(type(value))}.{value.name}"


@_value.register
def _(value: types.Type) -> str:
    """Return a type of numba by its name, which has its fields and parameters, and by what says how it is compiled."""
    if isinstance(value, types.Dispatcher):
        return _value(value.dispatcher)
    parts = (value.instance_class,) if isinstance(value, types.BaseNamedTuple) else ()  # type: ignore[attr-defined]  # numba says it not
    return " ".join((_class(type(value)), str(value), *map(_class, parts)))


@_value.register(type)
@functools.cache
def _class(of: type) -> str:
    """Return a class by name, with its members or fields, and the file that says what compiled code makes of it."""
    if _is_foreign(of):
        return _name(of)
    if issubclass(of, Enum):
        return f"{_name(of)} {[(each.name, each.value) for each in of]}"
    if hasattr(of, "_fields"):
        return f"{_name(of)} {of._fields}"
    made = "" if issubclass(of, types.StructRef) else _file(getattr(sys.modules[of.__module__], "__file__", None))
    return f"{_name(of)} {made}"


@functools.cache
def _file(path: str | None) -> str:
    return "" if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()
