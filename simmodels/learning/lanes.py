"""Lanes: a short vector of numbers that compiled code computes with at once, one trial in each lane.

What LLVM calls a vector type, as a type of numba. The processor's widest registers hold 2, 4 or 8 lanes; LLVM splits
the `WIDTH` lanes into as many of them as that takes, so the same code, with the same results to the last bit, runs
everywhere. Numba's own loops over lanes are not turned into this: where an array may alias another, each
intermediate value goes through memory.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model
from numba.np import arrayobj
from numpy.typing import DTypeLike, NDArray

WIDTH: Final = 16
"""How many lanes there are: a result of the trials depends on it, as their random numbers are drawn lane by lane."""

_LINE: Final = 64


class LanesType(types.Type):
    """The numba type of `WIDTH` numbers of a kind."""

    def __init__(self, element: types.Type) -> None:
        self.element = element
        super().__init__(name=f"Lanes({element})")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: LanesType) -> None:  # noqa: ANN401
        super().__init__(manager, lanes, ir.VectorType(manager.lookup(lanes.element).get_value_type(), WIDTH))


FLOATS: Final = LanesType(types.float64)
WORDS: Final = LanesType(types.uint64)
_FLOAT: Final = ir.DoubleType()
_WORD: Final = ir.IntType(64)
_INDEX: Final = ir.IntType(32)


def aligned(rows: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return an array [rows, WIDTH] whose rows begin where a line of the cache does: a vector is then moved at once."""
    kind = np.dtype(dtype)
    size = rows * WIDTH * kind.itemsize
    memory = np.zeros(size + _LINE, dtype=np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(kind).reshape(rows, WIDTH)


def _splat(builder: Any, value: Any) -> Any:  # noqa: ANN401
    """Return a number in every lane."""
    one = builder.insert_element(ir.Constant(ir.VectorType(value.type, WIDTH), ir.Undefined), value, _INDEX(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INDEX, WIDTH), [0] * WIDTH))


def _row(context: Any, builder: Any, array_type: Any, array: Any, row: Any) -> Any:  # noqa: ANN401
    """Return the address of a row of an array [rows, WIDTH], as that of a vector."""
    data = arrayobj.make_array(array_type)(context, builder, array).data
    first = builder.gep(data, [builder.mul(row, ir.Constant(row.type, WIDTH))])
    vector = ir.VectorType(data.type.pointee, WIDTH)
    return builder.bitcast(first, vector.as_pointer())


@intrinsic
def load(_typing, array, row):
    """Return a row of an array [rows, WIDTH]."""

    def emit(context, builder, signature, args):
        return builder.load(_row(context, builder, signature.args[0], *args), align=_LINE)

    return LanesType(array.dtype)(array, types.intp), emit


@intrinsic
def store(_typing, array, row, lanes):
    """Write a row of an array [rows, WIDTH]."""

    def emit(context, builder, signature, args):
        builder.store(args[2], _row(context, builder, signature.args[0], *args[:2]), align=_LINE)
        return context.get_dummy_value()

    return types.void(array, types.intp, LanesType(array.dtype)), emit


@intrinsic
def splat(_typing, value):
    """Return a number in every lane."""

    def emit(_context, builder, _signature, args):
        return _splat(builder, args[0])

    return FLOATS(types.float64), emit


def _floats_of_two(name: str, doc: str) -> Callable[..., Any]:
    def combine(_typing, a, b):
        def emit(_context, builder, _signature, args):
            return getattr(builder, name)(*args)

        return FLOATS(FLOATS, FLOATS), emit

    combine.__doc__ = doc
    return intrinsic(combine)


add: Final = _floats_of_two("fadd", "Return the sums.")
subtract: Final = _floats_of_two("fsub", "Return the differences.")
divide: Final = _floats_of_two("fdiv", "Return the quotients.")


@intrinsic
def where_greater(_typing, a, b, then, other):
    """Return, lane by lane, `then` where a > b, else `other`."""

    def emit(_context, builder, _signature, args):
        return builder.select(builder.fcmp_ordered(">", args[0], args[1]), args[2], args[3])

    return FLOATS(FLOATS, FLOATS, FLOATS, FLOATS), emit


@intrinsic
def any_greater(_typing, a, b):
    """Return whether a > b in any lane."""

    def emit(_context, builder, _signature, args):
        found = builder.fcmp_ordered(">", *args)
        bits = builder.bitcast(found, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(FLOATS, FLOATS), emit


def _rotated(builder: Any, x: Any, by: int) -> Any:  # noqa: ANN401
    left = builder.shl(x, _splat(builder, _WORD(by)))
    return builder.or_(left, builder.lshr(x, _splat(builder, _WORD(64 - by))))


@intrinsic
def draw_rows(_typing, state, words, rows, low_bits):
    """Write the next words of each lane's generator into the first rows (a literal) of an array [rows, WIDTH].

    The lowest `low_bits` bits (a literal) of each word are set to the number of its row. The generators are
    xoshiro256++; the 4 rows of `state` are their states, and are moved on.
    """
    if not (isinstance(rows, types.IntegerLiteral) and isinstance(low_bits, types.IntegerLiteral)):
        return None
    low = (1 << low_bits.literal_value) - 1

    def emit(context, builder, signature, args):
        at = [_row(context, builder, signature.args[0], args[0], context.get_constant(types.intp, i)) for i in range(4)]
        s0, s1, s2, s3 = (builder.load(row, align=_LINE) for row in at)
        for number in range(rows.literal_value):
            word = builder.add(_rotated(builder, builder.add(s0, s3), 23), s0)
            held = builder.shl(s1, _splat(builder, _WORD(17)))
            s2, s3 = builder.xor(s2, s0), builder.xor(s3, s1)
            s1, s0 = builder.xor(s1, s2), builder.xor(s0, s3)
            s2, s3 = builder.xor(s2, held), _rotated(builder, s3, 45)
            word = builder.and_(word, _splat(builder, _WORD((1 << 64) - 1 - low)))
            word = builder.or_(word, _splat(builder, _WORD(number & low)))
            row = _row(context, builder, signature.args[1], args[1], context.get_constant(types.intp, number))
            builder.store(word, row, align=_LINE)
        for row, new in zip(at, (s0, s1, s2, s3), strict=True):
            builder.store(new, row, align=_LINE)
        return context.get_dummy_value()

    return types.void(state, words, rows, low_bits), emit


def comparators(size: int) -> list[tuple[int, int]]:
    """Return the comparators of a sorting network (Batcher's odd-even merge sort), any size.

    References
    ----------
    Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M.
    """
    found = []
    rounds = max(size - 1, 0).bit_length()
    p = 1 << max(rounds - 1, 0)
    while p > 0 and size > 1:
        q, r, d = 1 << (rounds - 1), 0, p
        while True:
            found += [(i, i + d) for i in range(size - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return found


@intrinsic
def sort_rows(_typing, array, rows):
    """Sort the first rows (a literal) of words in place, each lane for itself, by a network without branches."""
    if not isinstance(rows, types.IntegerLiteral):
        return None
    size = rows.literal_value

    def emit(context, builder, signature, args):
        at = [
            _row(context, builder, signature.args[0], args[0], context.get_constant(types.intp, i)) for i in range(size)
        ]
        keys = [builder.load(row, align=_LINE) for row in at]
        for low, high in comparators(size):
            a, b = keys[low], keys[high]
            less = builder.icmp_unsigned("<", a, b)
            keys[low], keys[high] = builder.select(less, a, b), builder.select(less, b, a)
        for row, key in zip(at, keys, strict=True):
            builder.store(key, row, align=_LINE)
        return context.get_dummy_value()

    return types.void(array, rows), emit
