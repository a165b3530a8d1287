"""compiled: numba's njit with an on-disk cache that knows when anything it was compiled from changed.

Numba keeps a compiled function until the file that defines it changes; but a pass has the code of
what it calls compiled into it, so a change in another file (an upgrade, a `git pull`) would leave
the old rule running. Here the cache of a function carries the stamp of its own file, of all decisions, of what these
stand on, and of the files beside it that it says it calls: compiled code calls nothing else.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from numba import njit

Stamp = tuple[tuple[str, int, int], ...]


def source_stamp(paths: Iterable[Path]) -> Stamp:
    """Return name, time of change (ns) and size of each source, sorted by name."""
    stats = ((path.name, path.stat()) for path in sorted(paths))
    return tuple((name, about.st_mtime_ns, about.st_size) for name, about in stats)


_HERE: Final = Path(__file__).parent
_DECISIONS: Final = source_stamp(
    [*(_HERE / "decisions").glob("*.py"), *(_HERE / f"{name}.py" for name in ("signals", "curve", "graph"))]
)


def compiled(function: Callable[..., Any], *, beside: tuple[str, ...] = (), nogil: bool = False) -> Any:  # noqa: ANN401  numba's dispatcher is untyped
    """Return the function compiled without Python (numba), cached on disk until a source of it changes.

    Parameters
    ----------
    function
        The function.
    beside
        The names of the files beside its own whose functions it calls.
    nogil
        Whether other threads run while it does.
    """
    return _stamped(njit(cache=True, nogil=nogil)(function), function, beside)


def inlined(function: Callable[..., Any]) -> Any:  # noqa: ANN401  as above
    """Return the function compiled as `compiled` does, its code copied to where it is called from.

    For what is called millions of times, and makes no array: a call hands over seven words for each array, and
    counts references to it with locked instructions, which cost more than a short loop; here neither is done.
    """
    options: dict[str, Any] = {"forceinline": True, "_nrt": False}  # the latter is numba's own: no counting
    return _stamped(njit(cache=True, **options)(function), function)


def _stamped(made: Any, function: Callable[..., Any], beside: tuple[str, ...] = ()) -> Any:  # noqa: ANN401  as above
    """Let the cache of a compiled function carry the stamp of its sources."""
    home = Path(function.__code__.co_filename)
    own = source_stamp([home]) + source_stamp(home.with_name(name) for name in beside)
    made._cache._cache_file._source_stamp = own + _DECISIONS  # noqa: SLF001  numba has no public way to say this
    return made
