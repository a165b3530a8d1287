"""borrowing: which compiled functions need not count references to what they read.

Numba counts a reference to each array and structure that a function takes out of another one, and gives it back when
it is done: with locked instructions, which LLVM can move nothing across. A function needs none of this if it makes no
array or structure, keeps none and returns none; then all that it reads is held by its caller, unless something that it
calls puts another array in the place of one that it still reads. Both can be seen in the typed code.
"""

import re
from typing import Any, Final, NamedTuple

from numba.core import analysis, ir, types

from simmodels.ground.digests import REPLACES

_COUNTS: Final = re.compile(r'^ *call void @"?NRT_(in|de)cref"?\(.*\n', re.MULTILINE)
_MAKES: Final = re.compile(r"NRT_(Allocate|Reallocate|MemInfo_(?!data_fast))")  # that returns where an object lies
_PLAIN: Final = (
    types.Number,
    types.Boolean,
    types.Literal,
    types.Dummy,
    types.Callable,
    types.FunctionType,
    types.DType,
    types.SliceType,
    types.RangeType,
    types.RangeIteratorType,
)
_TAKES: Final = frozenset({"getattr", "static_getitem", "cast", "phi", "exhaust_iter", "build_tuple"})


Field = tuple[str, str]
"""A field of a structure: the name of its type, and its own."""


class Counting(NamedTuple):
    """What a function does with references.

    Parameters
    ----------
    borrows
        Whether it need not count them.
    replaces
        The fields in which it may put another array or structure, itself or by what it calls; None: any.
    """

    borrows: bool
    replaces: frozenset[Field] | None


UNKNOWN: Final = Counting(borrows=False, replaces=None)


def without_counts(code: str) -> str:
    """Return the code of a function that borrows, in the language of LLVM, without the counting of references."""
    return code if _MAKES.search(code) else _COUNTS.sub("", code)


def counting(state: Any) -> Counting:  # noqa: ANN401  numba's
    """Return what a function does with references, as numba's compiler has it before it makes code of it."""
    kinds, blocks = state.typemap, state.func_ir.blocks
    if any(isinstance(kind, types.Optional) and _refers(kind.type) for kind in kinds.values()):
        return UNKNOWN
    statements = [each for block in blocks.values() for each in block.body]
    replaced = {id(each): fields for each in statements if (fields := _replaced_by(each, state)) != frozenset()}
    borrows = not _refers(state.return_type) and not any(_keeps(each, kinds) for each in statements)
    if borrows and replaced:
        read_from = _origins(statements, kinds)
        borrows = not any(_reads_across(label, state, replaced, read_from) for label in blocks)
    known = [fields for fields in replaced.values() if fields is not None]
    return Counting(borrows, frozenset[Field]().union(*known) if len(known) == len(replaced) else None)


def _refers(kind: Any) -> bool:  # noqa: ANN401  numba's
    """Return whether a value of a type may hold references to something that is counted."""
    if isinstance(kind, types.BaseTuple):
        return any(map(_refers, kind.types))  # type: ignore[attr-defined]  # each kind of tuple has them
    if isinstance(kind, types.Pair):
        return _refers(kind.first_type) or _refers(kind.second_type)
    return isinstance(kind, types.BoundFunction) or not isinstance(kind, _PLAIN)


def _keeps(statement: Any, kinds: dict[str, Any]) -> bool:  # noqa: ANN401  as above
    """Return whether a statement makes something that is counted, or keeps it, or is not known here."""
    if isinstance(statement, ir.SetAttr):
        return _refers(kinds[statement.value.name])
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):  # of a list, say; an array keeps none
        return not isinstance(kinds[statement.target.name], types.Array)
    if not isinstance(statement, ir.Assign):
        return False
    value = statement.value
    if isinstance(value, ir.Yield):
        return True
    if not _refers(kinds[statement.target.name]) or not isinstance(value, ir.Expr):
        return False
    if value.op == "getitem":  # of a place, or of a slice, which is a view
        return _refers(kinds[value.index.name])
    if value.op == "getiter":
        return not isinstance(kinds[value.value.name], types.Array)
    return value.op not in _TAKES


def _replaced_by(statement: Any, state: Any) -> frozenset[Field] | None:  # noqa: ANN401  as above
    """Return the fields in which a statement may put another array or structure; None: any."""
    kinds = state.typemap
    if isinstance(statement, ir.SetAttr) and _refers(kinds[statement.value.name]):
        return frozenset({_field(kinds[statement.target.name], statement.attr)})
    call = getattr(statement, "value", None)
    if isinstance(statement, ir.SetItem | ir.StaticSetItem) and _reaches(kinds[statement.target.name]):
        return None
    if not isinstance(statement, ir.Assign) or not isinstance(call, ir.Expr) or call.op != "call":
        return frozenset()
    signature, called = state.calltypes[call], kinds[call.func.name]
    if isinstance(called, types.NamedTupleClass):
        return frozenset()
    for each in called.templates if isinstance(called, types.Function) else ():
        declared: frozenset[Field] | None = getattr(getattr(each, "_definition_func", None), REPLACES, None)
        if declared is not None:
            return declared
    reaches = any(map(_reaches, (called, *signature.args)))
    unknown: frozenset[Field] | None = None if reaches else frozenset()
    if not isinstance(called, types.Dispatcher):
        return unknown
    overloads = called.dispatcher.get_overload.__self__.overloads  # of what compiled code calls
    library = getattr(overloads.get(tuple(signature.args)), "library", None)
    found: Counting | None = getattr(library, "counting", None)
    return unknown if found is None else found.replaces  # also where it finds a structure at an address


def _reaches(kind: Any) -> bool:  # noqa: ANN401  as above
    """Return whether unknown code may replace something that is counted by a value of a type: what is its method too.

    It may in a structure and in a list of what is counted, and in anything that is not known here.
    """
    if isinstance(kind, types.BaseTuple):
        return any(map(_reaches, kind.types))  # type: ignore[attr-defined]  # as above
    if isinstance(kind, types.BoundFunction):
        return _reaches(kind.this)
    if isinstance(kind, types.List):
        return _refers(kind.dtype)
    return not isinstance(kind, (*_PLAIN, types.Array, types.UnicodeType))


def _field(kind: Any, name: str) -> Field:  # noqa: ANN401  as above
    return getattr(kind, "_typename", type(kind).__name__), name  # numba's of a structure


def _origins(statements: list[Any], kinds: dict[str, Any]) -> dict[str, set[Field]]:
    """Return, by variable, of which fields it may be read: itself, or what it is a part of.

    What a function is given has none: if it is of a field, whoever calls looks whether that is replaced meanwhile.
    """
    found: dict[str, set[Field]] = {}
    assigned = [each for each in statements if isinstance(each, ir.Assign) and _refers(kinds[each.target.name])]
    changed = True
    while changed:  # through loops
        changed = False
        for each in assigned:
            origins = found.setdefault(each.target.name, set())
            before, value = len(origins), each.value
            if isinstance(value, ir.Var):
                origins |= found.get(value.name, set())
            elif isinstance(value, ir.Expr):
                if value.op == "getattr" and isinstance(kinds[value.value.name], types.StructRef):
                    origins.add(_field(kinds[value.value.name], value.attr))
                if value.op in {"getitem", "static_getitem"} and isinstance(kinds[value.value.name], types.List):
                    origins.add(_field(kinds[value.value.name], "entries"))
                for part in value.list_vars():  # type: ignore[no-untyped-call]  # numba's
                    origins |= found.get(part.name, set())
            changed |= len(origins) > before
    return found


def _reads_across(
    label: int,
    state: Any,  # noqa: ANN401  as above
    replaced: dict[int, frozenset[Field] | None],
    read_from: dict[str, set[Field]],
) -> bool:
    """Return whether what was in a field is read after a statement of a block by which that may be replaced."""
    blocks = state.func_ir.blocks
    body = blocks[label].body
    if not any(id(each) in replaced for each in body):
        return False
    flow: Any = analysis  # it has no types
    graph, uses = flow.compute_cfg_from_blocks(blocks), flow.compute_use_defs(blocks)
    alive_at = flow.compute_live_map(graph, blocks, uses.usemap, uses.defmap)
    alive: set[str] = set().union(*(alive_at[successor] for successor, _ in graph.successors(label)))
    for statement in reversed(body):
        if isinstance(statement, ir.Del):
            continue
        used = {variable.name for variable in statement.list_vars()}
        if isinstance(statement, ir.Assign):
            alive.discard(statement.target.name)
            used = {statement.value.name} if isinstance(statement.value, ir.Var) else used - {statement.target.name}
        alive |= used
        if id(statement) in replaced:
            fields = replaced[id(statement)]
            origins = set().union(*(read_from.get(name, set()) for name in alive))
            if origins if fields is None else origins & fields:
                return True
    return False
