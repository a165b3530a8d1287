"""Arguments: how an error names what a function was given."""

from collections.abc import Collection
from typing import Final

import numpy as np

from simmodels.errors import brief

_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type)


def got(value: object) -> str:
    """Return what an error says it got: a plain value as it is written, of any other its type.

    Examples
    --------
    >>> got("4"), got([1, 2]), got([]), got({})
    ("'4'", 'a list of int', 'an empty list', 'an empty dict')
    """
    if isinstance(value, _PLAIN):
        return f"the class {value.__name__}" if isinstance(value, type) else brief(value)
    name = "array" if isinstance(value, np.ndarray) else type(value).__name__
    if isinstance(value, list | tuple | set | dict | frozenset):
        if not value:
            return f"an empty {name}"
        kinds = {type(each).__name__ for each in value}
        return f"a {name} of {kinds.pop()}" if len(kinds) == 1 else f"a {name} of {', '.join(sorted(kinds))}"
    shape = getattr(value, "shape", None)
    sized = f" of shape {shape}" if isinstance(shape, tuple) and shape else ""
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}{sized}"


def listed(names: Collection[str]) -> str:
    """Return names as a sentence lists them: ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
