"""Signatures: the types of the C functions that compiled code asks for a job's key and for a task's bid."""

from typing import Final

from numba import types
from numba.core.typing.templates import Signature

from simmodels.work.vocabulary import CHARACTERISTICS, REGISTERS

ROW: Final = "row"
"""The parameter that is the address of a row of numbers."""

OF_QUEUES: Final = (*REGISTERS, ROW)
"""The parameters of what a queue asks."""


def signature_of(parameters: tuple[str, ...]) -> Signature:
    """Return the numba signature of a function that takes this many floats (`ROW`: an address) and returns one."""
    return types.float64(*(types.int64 if name == ROW else types.float64 for name in parameters))


KEY_FUNCTION: Final = types.FunctionType(signature_of(OF_QUEUES))
"""The numba type of what a queue asks."""

BID_FUNCTION: Final = types.FunctionType(signature_of(CHARACTERISTICS))
"""The numba type of what an auction asks."""
