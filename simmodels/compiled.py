"""compiled: numba's njit with an on-disk cache that knows when any source of the package changed.

Numba keeps a compiled function until the file that defines it changes; but a pass has the code of
what it calls compiled into it, so a change in another file (an upgrade, a `git pull`) would leave
the old rule running. Here the cache of every function carries the stamp of all sources.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from numba import njit


def source_stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return name, time of change (ns) and size of every Python source under a folder, sorted."""
    stamps = []
    for path in sorted(folder.rglob("*.py")):
        about = path.stat()
        stamps.append((path.relative_to(folder).as_posix(), about.st_mtime_ns, about.st_size))
    return tuple(stamps)


_STAMP: Final = source_stamp(Path(__file__).parent)


def compiled(function: Callable[..., Any]) -> Any:  # noqa: ANN401  numba's dispatcher is untyped
    """Return the function compiled without Python (numba), cached on disk until any source changes."""
    made: Any = njit(cache=True)(function)
    made._cache._cache_file._source_stamp = _STAMP  # noqa: SLF001  numba has no public way to add a dependency
    return made
