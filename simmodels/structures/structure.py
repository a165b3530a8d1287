"""Structure: the base of the numba types of state that compiled code reads and changes."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.experimental import structref
from numba.extending import intrinsic

from simmodels.ground.borrowing import Field
from simmodels.ground.compiled import compiled
from simmodels.ground.digests import REPLACES
from simmodels.structures.arrays import grown, grown_rows

# Types of fields that are arrays of one or two dimensions: of floats, integers, booleans, codes, short integers, words.
F1, F2 = types.float64[::1], types.float64[:, ::1]
I1, I2 = types.int64[::1], types.int64[:, ::1]
B1, B2 = types.boolean[::1], types.boolean[:, ::1]
C1 = types.int8[::1]
S1 = types.int32[::1]
W1 = types.uint64[::1]


@structref.register
class Structure(types.StructRef):
    """The numba type of a mutable structure of named fields, shared by reference.

    What nobody writes of a new one is 0 or False, or an array without entries: numba's `structref.new` says so.

    Parameters
    ----------
    handle
        What Python has of such a structure.
    fields
        The name and the type of each field; of a column what it is by, too, and what its new entries are, if they are
        anything: see `columns_by`.
    """

    def __init__(self, handle: "type[Handle]", fields: list[tuple[Any, ...]]) -> None:
        super().__init__([(name, of) for name, of, *_ in fields])
        self.handle = handle
        self.columns = [(by, name, (*value, None)[0]) for name, _, by, *value in (each for each in fields if each[2:])]
        self._typename = handle.__name__
        # By its name numba knows equal types. It stands in each symbol: written out it would have up to 10,000 letters.
        self.name = f"{self._typename}.{sha256(str(self._fields).encode()).hexdigest()[:16]}"

    def preprocess_fields(self, fields):
        """Forget literal types, so that one compiled version serves all."""
        return tuple((name, types.unliteral(of)) for name, of in fields)


def arrays_of(*kinds: Structure) -> frozenset[Field]:
    """Return all fields of structures that hold arrays or structures."""
    return frozenset((kind.handle.__name__, name) for kind in kinds for name in kind.field_dict)


class Handle(structref.StructRefProxy):
    """A Python handle on a structure: the base of all.

    Its fields are read by their names: an array is the structure's own, not a copy, and a structure is a handle again.
    Each call of compiled code asks it for its type: here it is read, where numba's own calls a Python function.
    """

    __slots__ = ()
    _numba_type_ = structref.StructRefProxy._type  # type: ignore[attr-defined]  # noqa: SLF001

    @classmethod
    def _numba_box_(cls, kind: Structure, held: Any) -> "Handle":  # noqa: ANN401  numba's
        """Return the handle of a structure that compiled code returns."""
        made = object.__new__(kind.handle)
        made._type, made._meminfo = kind, held  # type: ignore[attr-defined]
        return made

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  that of the field
        """Return the field of this name; from its first read on the class has a property that does so."""
        kind = object.__getattribute__(self, "_type")  # of a handle without one, `self._type` would come back here
        if name not in kind.field_dict:
            raise AttributeError(f"{kind.handle.__name__!r} object has no attribute {name!r}")

        def read(structure):
            return getattr(structure, name)

        # The linker knows functions by their names, those of other processes too: no two may share one.
        read.__qualname__ = read.__name__ = f"read_{name}_of_{kind.handle.__name__}"
        setattr(kind.handle, name, property(compiled(read, part="")))  # it takes a moment: nothing is said of it
        return getattr(self, name)


structref.define_boxing(Structure, Handle)


@intrinsic
def _address(_context: Any, structure: Any) -> Any:  # noqa: ANN401  numba's
    """Return where a structure is."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
        held = cgutils.create_struct_proxy(structure)(context, builder, value=arguments[0])
        return builder.ptrtoint(held.meminfo, context.get_value_type(signature.return_type))

    return types.int64(structure), code


@compiled
def address_of(structure):
    """Return the address of a structure, which is good as long as Python holds it; `found_at` goes back.

    A call from Python with a structure costs a microsecond more than one with a number: a tenth of what an instant
    costs on the SimPy engine.
    """
    return _address(structure)


def found_at(kind: Structure) -> Callable[..., Any]:
    """Return a function for compiled code that gives the structure of this type at an address."""

    @intrinsic
    def structure_at(_context: Any, address: Any) -> Any:  # noqa: ANN401, ARG001  numba's
        def code(context: Any, builder: Any, _: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
            held = cgutils.create_struct_proxy(kind)(context, builder)
            held.meminfo = builder.inttoptr(arguments[0], held.meminfo.type)
            structure = held._getvalue()  # noqa: SLF001  numba's
            context.nrt.incref(builder, kind, structure)
            return structure

        return kind(types.int64), code

    made: Callable[..., Any] = structure_at
    return made


def columns_by(kind: Structure, what: str) -> Callable[..., Any]:
    """Return a function for compiled code that lets all columns by something, say by slot, have a number of entries.

    So the fields say once what there is by a slot. The function gets a structure, which may be new, and how many
    entries there are to be, no fewer than there are. It is one of its own, which counts references so that the shorter
    columns go: so what calls it need not (`simmodels.ground.borrowing`).
    """
    columns = tuple((name, value) for by, name, value in kind.columns if by == what)

    def lengthened(_typing: Any, _structure: Any, _entries: Any) -> Any:  # noqa: ANN401  numba's
        return kind(kind, types.int64), code

    def code(context: Any, builder: Any, _: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
        held = structref._Utils(context, builder, kind).get_data_struct(arguments[0])  # noqa: SLF001  as below
        for name, value in columns:
            of, column = kind.field_dict[name], getattr(held, name)
            filled = types.none if value is None else of.dtype
            filling = context.get_constant_generic(builder, filled, value)
            longer = (grown if of.ndim == 1 else grown_rows).py_func
            given = (column, arguments[1], filling)
            setattr(held, name, context.compile_internal(builder, longer, of(of, types.int64, filled), given))
            context.nrt.decref(builder, of, column)
        return impl_ret_borrowed(context, builder, kind, arguments[0])

    setattr(lengthened, REPLACES, frozenset((kind.handle.__name__, name) for name, _ in columns))
    with_longer: Callable[..., Any] = intrinsic(lengthened)

    def lengthen(structure, entries):
        with_longer(structure, entries)

    # As in `Handle.__getattr__`, no two functions may share a name.
    lengthen.__qualname__ = lengthen.__name__ = f"lengthen_{kind.handle.__name__}_by_{what}"
    made: Callable[..., Any] = compiled(lengthen)
    return made


@intrinsic
def copied(_context: Any, structure: Any) -> Any:  # noqa: ANN401  numba's
    """Return a structure with copies of the arrays and structures that another one has; for compiled code.

    What lies in no array or structure, such as an address, is the same in both; where there is no structure, there is
    none.
    """

    def new_one(_: Any) -> Any:  # noqa: ANN401  numba compiles it
        return structref.new(structure)  # type: ignore[call-arg]  # numba hands over the context

    def copied_inner(inner: Any) -> Any:  # noqa: ANN401  numba compiles it
        return copied(inner)  # type: ignore[call-arg]  # as above

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401  numba's
        made = context.compile_internal(builder, new_one, signature, arguments)
        utilities = structref._Utils(context, builder, structure)  # noqa: SLF001  as numba's own attributes do
        into, of = utilities.get_data_struct(made), utilities.get_data_struct(arguments[0])
        for name, kind in structure.field_dict.items():
            value = getattr(of, name)
            if isinstance(kind, types.Array):
                value = context.compile_internal(builder, lambda array: array.copy(), kind(kind), (value,))
            elif isinstance(kind, Structure):
                held = cgutils.alloca_once_value(builder, value)
                there = cgutils.create_struct_proxy(kind)(context, builder, value=value).meminfo
                with builder.if_then(cgutils.is_not_null(builder, there)):
                    builder.store(context.compile_internal(builder, copied_inner, kind(kind), (value,)), held)
                value = builder.load(held)
            else:
                context.nrt.incref(builder, kind, value)
            setattr(into, name, value)
        return made

    return structure(structure), code


@compiled
def copy_of(structure):
    """Return the same structure again, which goes on by itself; see `copied`."""
    return copied(structure)
