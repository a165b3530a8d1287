"""linking: what numba makes of a function that compiled code calls, so that it is optimised once.

Numba links what a function calls into it, with all that this calls in turn, optimises all of it again, and makes
machine code of all of it: for each function, though only few are called from Python. Two thirds of the time of a first
use went there. Here a function has two dispatchers. `entry` makes what Python calls. `callee` makes what compiled code
calls: its function is optimised by itself, and kept as bitcode, beside that of all that it calls. Machine code is made
of it once, where the first entry needs it; the other entries are linked with that. Of what a function calls, it sees
the code of what is short, since LLVM would copy nothing else into it. So the machine code is what numba would make, but
that each function was optimised, and made machine code of, only once.

This goes by two hooks of numba: the pipeline of a dispatcher (`pipeline_class`, documented), and the class of the
library that its lowering fills. While such a function is compiled, numba looks up calls in another way, too. Other code
that it compiles is not touched. All but the pipeline is not public, so `compiled` uses this module only with the numba
that it was tested with.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, NamedTuple

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.cgutils import normalize_ir_text
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder, Flags, compile_result
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import lookup_environment
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering

from simmodels.ground.borrowing import UNKNOWN, counting, without_counts
from simmodels.ground.kept_code import Form

_SHORT: Final = 400
"""Lines of code of LLVM up to which a function's is shown to its callers: LLVM copies at most some 50 to 100."""

_NEVER: Final = 1_000_000
"""Lines of what is not shown to callers, whatever its length."""

_ENVIRONMENT: Final = "_ZN08NumbaEnv"
"""The beginning of the names of the variables that hold the environments of functions."""


def entry(function: Callable[..., Any], **options: Any) -> Any:  # noqa: ANN401  numba's dispatcher is untyped
    """Return the dispatcher of a function for calls from Python."""
    return njit(pipeline_class=_EntryCompiler, **options)(function)


def callee(function: Callable[..., Any], **options: Any) -> Any:  # noqa: ANN401  as above
    """Return the dispatcher of a function for calls from compiled code; Python cannot call it."""
    made: Any = njit(pipeline_class=_CalleeCompiler, **options)(function)

    def add_overload(result: Any) -> None:  # noqa: ANN401  numba's
        made.overloads[tuple(result.signature.args)] = result  # numba's own also lists what Python can call

    made.add_overload = add_overload
    get_call_template = made.get_call_template

    def get_template_of_any(kinds: tuple[Any, ...], named: dict[str, Any]) -> Any:  # noqa: ANN401  numba's
        """Answer as for any number: numba would compile the function again for each number that code names."""
        return get_call_template(tuple(map(_of_any, kinds)), {name: _of_any(kind) for name, kind in named.items()})

    made.get_call_template = get_template_of_any
    return made


def _of_any(kind: Any) -> Any:  # noqa: ANN401  numba's
    """Return the type of a number, where it is that of one number."""
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral) else kind


def let_answer(called_from_python: Any, called_from_compiled: Any) -> None:  # noqa: ANN401  dispatchers
    """Let the second dispatcher answer where compiled code that names the first calls it."""
    called_from_python.get_call_template = called_from_compiled.get_call_template
    called_from_python.get_overload = called_from_compiled.get_overload


# -- libraries: what of LLVM belongs to a function ------------------------------------------------------


def _own(module: Any) -> list[Any]:  # noqa: ANN401  llvmlite is untyped
    """Return the functions of a module that others may call: its function, and how its structures are freed."""
    return [each for each in module.functions if not each.is_declaration and each.linkage == llvm.Linkage.external]


def _missing(module: Any) -> list[str]:  # noqa: ANN401  as above
    """Return the names of what a module calls and does not have."""
    return [each.name for each in module.functions if each.is_declaration]


def _link(into: Any, bitcode: bytes, linkage: str) -> None:  # noqa: ANN401  as above
    """Link a function's code into a module."""
    module = llvm.parse_bitcode(bitcode)
    for each in _own(module):
        each.linkage = linkage
    into.link_in(module)


class _Body(NamedTuple):
    """A function that is optimised by itself: the bitcode of its module, its lines, and what the module lacks."""

    bitcode: bytes
    lines: int
    missing: tuple[str, ...]


class _Part(NamedTuple):
    """Machine code of what compiled code calls, and the environments of numba's that it names."""

    code: bytes
    environments: tuple[Any, ...]


_parts: Final[dict[bytes, _Part]] = {}
"""By bitcode: what was made of it in this process."""
_loaded: Final[set[bytes]] = set()
"""The machine code of parts that this process has in its place, where other code finds it by name."""


def _part_of(codegen: Any, bitcode: bytes) -> _Part:  # noqa: ANN401  numba's
    """Return the machine code of a module."""
    if bitcode not in _parts:
        module = llvm.parse_bitcode(bitcode)
        for each in _own(module):
            each.linkage = "linkonce_odr"  # several have what frees the same structure
        named = (lookup_environment(name) for name in _environments(module))
        environments = tuple(each for each in named if each is not None)
        _parts[bitcode] = _Part(codegen._tm.emit_object(module), environments)  # noqa: SLF001  as numba does
    return _parts[bitcode]


def _environments(module: Any) -> Iterator[str]:  # noqa: ANN401  as above
    """Hand out the names of the environments that a module names."""
    return (each.name for each in module.global_variables if each.name.startswith(_ENVIRONMENT))


@contextmanager
def _beside(codegen: Any, parts: Iterable[_Part]) -> Iterator[None]:  # noqa: ANN401  as above
    """Put parts where the code finds them that is put in its place meanwhile."""
    for part in parts:
        if part.code not in _loaded:
            codegen._engine._ee.add_object_file(llvm.ObjectFileRef.from_data(part.code))  # noqa: SLF001  as numba does
            _loaded.add(part.code)
    yield
    for environment in (each for part in parts for each in part.environments):
        codegen.set_env(environment.env_name, environment)  # nobody else sets them


class _Library(JITCodeLibrary):
    """One function, optimised by itself, and what it calls.

    Attributes
    ----------
    bodies
        By name of a function. All that these call is among them: names differ by the process that compiled, so what is
        loaded brings those that it calls.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401  numba's
        super().__init__(*args, **options)
        self.bodies: dict[str, _Body] = {}

    def _optimize_functions(self, module: Any) -> None:  # noqa: ANN401  llvmlite is untyped
        """Optimise each function by itself; numba does so with all that is only declared, too, and most is."""
        module.data_layout = self._codegen._data_layout  # noqa: SLF001  as numba does
        for each in module.functions:
            if not each.is_declaration:
                passes, builder = self._codegen._function_pass_manager()  # noqa: SLF001  as above
                passes.run(each, builder)

    def _optimise(self) -> None:
        """Optimise the function, with the code of what is short of all that it calls."""
        self._raise_if_finalized()
        module = self._final_module
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)  # noqa: SLF001  of the same base
            if isinstance(library, _Library):
                self.bodies.update(library.bodies)
            else:  # what numba made of a function of numpy's, say
                module.link_in(library._get_module_for_linking(), preserve=True)  # noqa: SLF001  as above
        for name in _missing(module):
            if name in self.bodies and self.bodies[name].lines <= _SHORT:
                # To be copied; LLVM drops the rest of it.
                _link(module, self.bodies[name].bitcode, "available_externally")
        self._optimize_final_module()


class _Callee(_Library):
    """A function that compiled code calls: machine code is made of it where an entry needs it."""

    copied = False  # whether LLVM has to copy it, be it short or not
    counting = UNKNOWN

    def add_ir_module(self, ir_module: Any) -> None:  # noqa: ANN401  numba's
        if not self.counting.borrows:
            super().add_ir_module(ir_module)
            return
        module = llvm.parse_assembly(without_counts(normalize_ir_text(str(ir_module))))
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)

    def finalize(self) -> None:
        self._optimise()
        self._final_module.verify()
        self._finalize_dynamic_globals()
        self._finalized = True
        bitcode, missing = self._final_module.as_bitcode(), tuple(_missing(self._final_module))
        for each in _own(self._final_module):
            lines = 0 if self.copied else str(each).count("\n")
            self.bodies[each.name] = _Body(bitcode, _NEVER if each.name.startswith("_Dtor.") else lines, missing)

    def _get_module_for_linking(self) -> Any:  # noqa: ANN401  llvmlite is untyped
        """Return the function, and all that it calls, for a library of numba's own: a user's function that calls it."""
        self._ensure_finalized()
        if self._shared_module is None:
            module = self._final_module.clone()
            for each in _own(module):
                each.linkage = "linkonce_odr"
            # LLVM leaves out what nothing in the module calls yet.
            while missing := [name for name in _missing(module) if name in self.bodies]:
                for name in missing:
                    _link(module, self.bodies[name].bitcode, "linkonce_odr")
            self._shared_module = module
        return self._shared_module


class _Entry(_Library):
    """A function that Python calls: machine code is made of it, and of what it calls where that has none yet."""

    def finalize(self) -> None:
        self._optimise()
        self._final_module.verify()
        self.parts = [_part_of(self.codegen, bitcode) for bitcode in self._called()]
        with _beside(self.codegen, self.parts):
            self._finalize_final_module()

    def _called(self) -> Iterable[bytes]:
        """Return the bitcode of the modules of all that it calls, in turn, each once."""
        seen = set[str]()
        names = _missing(self._final_module)
        while names:
            name = names.pop()
            if name in self.bodies and name not in seen:
                seen.add(name)
                names += self.bodies[name].missing
        return dict.fromkeys(self.bodies[name].bitcode for name in sorted(seen))

    def _get_module_for_linking(self) -> Any:  # noqa: ANN401  as above
        """Return the function by itself, of which numba keeps the names: compiled code calls its callee."""
        self._ensure_finalized()
        return self._final_module


# -- pipelines: how they are filled ----------------------------------------------------------------------


@register_pass(mutates_CFG=True, analysis_only=False)
class _EntryLowering(NativeLowering):
    _name = "entry_lowering"

    def run_pass(self, state: Any) -> bool:  # noqa: ANN401  numba's
        state.library = _Entry(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        done: bool = super().run_pass(state)
        for name in _environments(state.library._final_module):  # noqa: SLF001  as numba does
            if (environment := lookup_environment(name)) is not None:
                state.library.codegen.set_env(name, environment)  # those of callees, which nobody else sets
        return done


@register_pass(mutates_CFG=True, analysis_only=False)
class _CalleeLowering(NativeLowering):
    _name = "callee_lowering"

    def run_pass(self, state: Any) -> bool:  # noqa: ANN401  numba's
        state.library = _Callee(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.copied = state.flags.forceinline
        state.library.counting = counting(state)
        state.flags.no_compile = True
        done: bool = super().run_pass(state)
        state.library._ensure_finalized()  # noqa: SLF001  as numba does
        lowered = state["cr"]
        known_by = object()  # numba finds a function by what Python would call
        state["cr"] = lowered._replace(cfunc=known_by)
        state.targetctx.insert_user_function(known_by, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)  # noqa: SLF001  as above
        return done


class _KnownFlags(Flags):
    """Flags by which numba looks up what calls mean: of all that are equal, one object.

    It does so thousands of times for each function, and compared all forty options each time: a tenth of a first use.
    They are those of numba's own functions, `np.empty` for one, which it would else compile again for entries, for
    callees, and for what it calls itself. Those of functions that are copied to where they are called stay apart, since
    what these call is copied with them: without it, a replay under WFP3 takes a tenth longer.
    """

    _all: ClassVar[list["_KnownFlags"]] = []
    _hash: ClassVar[int] = hash(Flags())  # of the names of the options, as numba has it

    @classmethod
    def of(cls, flags: Flags) -> "_KnownFlags":
        """Return the object for flags."""
        known: Any = Flags(flags)
        known.no_cpython_wrapper, known.no_cfunc_wrapper = True, False
        for each in cls._all:
            if each == known:
                return each
        cls._all.append(cls(known))
        return cls._all[-1]

    def copy(self) -> Flags:
        """Return others, which may be changed."""
        return Flags(self)

    def __eq__(self, other: object) -> bool:
        """Return whether they are equal."""
        return self is other if isinstance(other, _KnownFlags) else bool(super().__eq__(other))

    def __hash__(self) -> int:
        """Return what numba's own have."""
        return self._hash


class _Flags(Flags):
    """Flags of a function; the first copy of them is what numba looks things up by while it compiles it."""

    __slots__ = ("_looked_up",)

    def __init__(self, flags: Flags) -> None:
        super().__init__(flags)
        self._looked_up = False

    def copy(self) -> Flags:
        """Return the known ones, and from then on others, which may be changed."""
        first, self._looked_up = not self._looked_up, True
        return _KnownFlags.of(self) if first else Flags(self)


_resolved: Final[dict[tuple[Any, ...], tuple[Any, Any]]] = {}
"""By a function of numba's, flags and the types of arguments: its signature, and the key of its code."""


_find: Final = types.Function.get_call_type


def _call_type(function: Any, context: Any, given: Any, named: Any) -> Any:  # noqa: ANN401  numba's
    """Return the signature of a call of a function of numba's, `+` for one, as it was found the first time.

    Numba tries all that it has for a name in turn, each time: that took a fifth of a first use. Where more is
    registered for a name, it means another function.
    """
    flags = ConfigStack.top_or_none()
    if not isinstance(flags, _KnownFlags):
        return _find(function, context, given, named)
    known_by = function, flags, tuple(given), tuple(named.items())
    if known_by not in _resolved:
        signature: Any = _find(function, context, given, named)
        _resolved[known_by] = signature, function.get_impl_key(signature)
    signature, function._impl_keys[signature.args] = _resolved[known_by]  # noqa: SLF001  flags may share it
    return signature


@contextmanager
def _spared() -> Iterator[None]:
    """Spare numba, while it compiles a function of ours, to look for what it found, and to time each call of LLVM."""
    if "get_call_type" in vars(types.Function):  # within another
        yield
        return
    listeners = llvm.ffi.lib._lock._cblist  # noqa: SLF001  llvmlite has no other way to find them
    heard = listeners.copy()
    listeners.clear()
    types.Function.get_call_type = _call_type  # type: ignore[method-assign, assignment]  # where all of numba asks
    try:
        yield
    finally:
        del types.Function.get_call_type
        listeners.extend(heard)


_sizes: Final[dict[int, tuple[Any, int]]] = {}
"""By the identity of a type of LLVM's: the type, which keeps it, and how many bytes one takes.

Numba asks for each variable, for a debugger, and llvmlite has LLVM parse a module with one each time.
"""


class _Compiler(CompilerBase):
    """Numba's compiler, with another lowering."""

    lowering: ClassVar[Any]

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401  numba's
        super().__init__(*args, **named)
        self.state.flags = _Flags(self.state.flags)
        measure = self.state.targetctx.get_abi_sizeof

        def size_of(kind: Any) -> int:  # noqa: ANN401  llvmlite's
            if id(kind) not in _sizes:
                _sizes[id(kind)] = kind, measure(kind)
            return _sizes[id(kind)][1]

        self.state.targetctx = self.state.targetctx.subtarget(get_abi_sizeof=size_of)

    def _compile_core(self) -> Any:  # noqa: ANN401  numba's
        # Numba numbers functions from 1 in each process: what two of them kept could have one name, and code find the
        # wrong one by it.
        self.state.func_id.unique_id = int.from_bytes(os.urandom(8), "big")
        with _spared():
            return super()._compile_core()

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline, in the form that numba asks for."""
        pipeline = PassManager(self.lowering._name)  # noqa: SLF001  as above
        for each, about in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            pipeline.add_pass(self.lowering if each is NativeLowering else each, about)
        pipeline.finalize()
        return [pipeline]


class _EntryCompiler(_Compiler):
    lowering = _EntryLowering


class _CalleeCompiler(_Compiler):
    lowering = _CalleeLowering


# -- how they are kept ----------------------------------------------------------------------------------


def _reduce(result: Any, keep: Callable[[bytes], str]) -> tuple[Any, ...]:  # noqa: ANN401  numba's
    """Return what is kept of a callee; each body of code, which that of many callers has, is kept by itself."""
    library, function = result.library, result.fndesc
    function.typemap = function.calltypes = None  # as numba does: they are not needed, and pickling them may fail
    bodies = {name: (keep(body.bitcode), *body[1:]) for name, body in library.bodies.items()}
    own = keep(library._final_module.as_bitcode())  # noqa: SLF001  as numba does
    about = function, result.environment, result.signature, result.reload_init
    return (library.name, own, bodies, library.counting), *about


def _rebuild(target_context: Any, kept: Any, find: Callable[[str], bytes]) -> Any:  # noqa: ANN401  numba's
    """Return the callee of which this was kept."""
    (name, own, bodies, known), function, environment, signature, reload_init = kept
    for initialise in reload_init:
        initialise()
    library = _Callee(target_context.codegen(), name)
    library._final_module = llvm.parse_bitcode(find(own))  # noqa: SLF001  as numba does
    library.bodies = {name: _Body(find(body), *about) for name, (body, *about) in bodies.items()}
    library._finalized = True  # noqa: SLF001  as above
    library.counting = known
    return compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=object(),
        fndesc=function,
        type_annotation=None,
        signature=signature,
        objectmode=False,
        lifted=(),
        typing_error=None,
        call_helper=None,
        reload_init=reload_init,
        referenced_envs=(),
    )


def _reduce_entry(result: Any, keep: Callable[[bytes], str]) -> tuple[Any, ...]:  # noqa: ANN401  as above
    """Return what is kept of an entry: what numba keeps, and its parts, each of which many others have."""
    parts = [(keep(code), [each for each in named if each.can_cache()]) for code, named in result.library.parts]
    return result._reduce(), parts  # noqa: SLF001  as numba does


def _rebuild_entry(target_context: Any, kept: Any, find: Callable[[str], bytes]) -> Any:  # noqa: ANN401  as above
    """Return the entry of which this was kept."""
    result, parts = kept
    with _beside(target_context.codegen(), [_Part(find(code), tuple(named)) for code, named in parts]):
        return CompileResult._rebuild(target_context, *result)  # noqa: SLF001  as numba does


ENTRY: Final = Form("entry", _reduce_entry, _rebuild_entry)
CALLEE: Final = Form("callee", _reduce, _rebuild)
"""How they are kept."""
