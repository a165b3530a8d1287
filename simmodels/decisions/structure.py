"""Structure: the base of the numba types of state that compiled code reads and changes."""

from numba import types


class Structure(types.StructRef):
    """A mutable structure of named fields, shared by reference; a subclass is registered with numba."""

    def preprocess_fields(self, fields):
        """Forget literal types, so that one compiled version serves all."""
        return tuple((name, types.unliteral(of)) for name, of in fields)
