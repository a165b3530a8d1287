"""Structure: the base of the numba types of state that compiled code reads and changes."""

from numba import types
from numba.experimental import structref


class Structure(types.StructRef):
    """A mutable structure of named fields, shared by reference; a subclass is registered with numba."""

    def preprocess_fields(self, fields):
        """Forget literal types, so that one compiled version serves all."""
        return tuple((name, types.unliteral(of)) for name, of in fields)


class Handle(structref.StructRefProxy):
    """A Python handle on a structure: the base of all.

    Each call of compiled code asks it for its type: here it is read, where numba's own calls a Python function.
    """

    __slots__ = ()
    _numba_type_ = structref.StructRefProxy._type  # type: ignore[attr-defined]  # noqa: SLF001
