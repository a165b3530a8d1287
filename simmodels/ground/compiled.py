"""compiled: numba's njit with an on-disk cache that knows when anything it was compiled from changed.

Numba keeps a compiled function until the file that defines it changes; but a pass has the code of
what it calls compiled into it, so a change in another file (an upgrade, a `git pull`) would leave
the old rule running. Here the cache of a function carries the stamp of its own file, of all passes and structures, of
what these stand on (how they are linked among it), of `power`, `runs` and `yard` of `simmodels.replay`, which its loops
share, and of the files beside it that it says it calls: compiled code calls nothing else.
"""

import contextlib
import functools
import multiprocessing
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from numba import njit, version_info

LINKED: Final = version_info.short == (0, 68)
"""Whether `linking` was tested with this numba; under any other, they are compiled as numba does, in twice the time."""

if LINKED:
    from simmodels.ground import linking

Stamp = tuple[tuple[str, int, int], ...]


def source_stamp(paths: Iterable[Path]) -> Stamp:
    """Return name, time of change (ns) and size of each source, sorted by name."""
    stats = ((path.name, path.stat()) for path in sorted(paths))
    return tuple((name, about.st_mtime_ns, about.st_size) for name, about in stats)


_SIMMODELS: Final = Path(__file__).parents[1]
_CALLED: Final = source_stamp(
    [
        *(path for room in ("structures", "passes") for path in (_SIMMODELS / room).glob("*.py")),
        *(_SIMMODELS / f"{name}.py" for name in ("ground/linking", "ground/signals", "curve", "graph")),
        *(_SIMMODELS / "replay" / f"{name}.py" for name in ("power", "runs", "occupancy")),
    ]
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
    return _cached(function, beside, nogil=nogil)


def inlined(function: Callable[..., Any]) -> Any:  # noqa: ANN401  as above
    """Return the function compiled as `compiled` does, its code copied to where it is called from.

    For what is called millions of times, and makes no array: a call hands over seven words for each array, and
    counts references to it with locked instructions, which cost more than a short loop; here neither is done.
    """
    options: dict[str, Any] = {"forceinline": True, "_nrt": False}  # the latter is numba's own: no counting
    return _cached(function, **options)


def _cached(function: Callable[..., Any], beside: tuple[str, ...] = (), **options: Any) -> Any:  # noqa: ANN401  as above
    """Compile a function for calls from Python, and for calls from compiled code; both are cached."""
    if not LINKED:
        return _kept(_plain, function, beside, **options)
    made = _kept(linking.entry, function, beside, **options)
    linking.let_answer(made, _kept(linking.callee, function, beside, **options))
    return made


def _plain(function: Callable[..., Any], *, cache: bool = False, **options: Any) -> Any:  # noqa: ANN401  as above
    """Compile a function as numba does."""
    return njit(cache=cache, **options)(function)


def _kept(make: Callable[..., Any], function: Callable[..., Any], beside: tuple[str, ...], **options: Any) -> Any:  # noqa: ANN401  as above
    """Compile a function; its cache, where there is a place for one, carries the stamp of its sources."""
    try:
        made = _interruptible(make(function, cache=True, **options))
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        _say_no_cache()
        return _interruptible(make(function, **options))
    _keep_if_possible(made._cache)  # noqa: SLF001  numba has no public way to say this
    _announce_compilation(made._cache)  # noqa: SLF001  as above
    _forget_if_unreadable(made._cache._cache_file)  # noqa: SLF001  as above
    home = Path(function.__code__.co_filename)
    made._cache._cache_file._source_stamp = _own_stamp(home, beside) + _CALLED  # noqa: SLF001  as above
    return made


@functools.cache
def _own_stamp(home: Path, beside: tuple[str, ...]) -> Stamp:
    """Return the stamp of a file and those beside it, found once per process for all functions of the file."""
    return source_stamp([home]) + source_stamp(home.with_name(name) for name in beside)


def _keep_if_possible(cache: Any) -> None:  # noqa: ANN401  as above
    """Let compiled code run that cannot be kept: the disk, or the user's share of it, may be full."""
    save = cache.save_overload

    def save_if_possible(*args: Any) -> None:  # noqa: ANN401  numba's
        try:
            save(*args)
        except OSError:
            _say_no_cache()

    cache.save_overload = save_if_possible


def _forget_if_unreadable(file: Any) -> None:  # noqa: ANN401  as above
    """Let code be compiled again whose cache names what is gone: a module that has moved since, say."""
    load = file._load_index  # noqa: SLF001  as above

    def load_or_forget() -> Any:  # noqa: ANN401  numba's
        try:
            return load()
        except (ImportError, AttributeError, EOFError, pickle.UnpicklingError):
            return {}

    file._load_index = load_or_forget  # noqa: SLF001  as above


def _announce_compilation(cache: Any) -> None:  # noqa: ANN401  as above
    """Let the first function that is not in the cache be announced, before the user wonders what takes so long."""
    load = cache.load_overload

    def load_or_announce(*args: Any) -> Any:  # noqa: ANN401  numba's
        found = load(*args)
        if found is None:
            kept = Path(cache.cache_path)
            _say_compiling(_SIMMODELS if kept.is_relative_to(_SIMMODELS) else kept.parent)
        return found

    cache.load_overload = load_or_announce


@functools.cache
def _say_compiling(folder: Path) -> None:
    """Print one line to stderr; not in a worker, which would repeat it, nor if the environment has SCHEDLAB_QUIET."""
    if multiprocessing.parent_process() is None and "SCHEDLAB_QUIET" not in os.environ and sys.stderr is not None:
        print(f"compiling simulation code (once, about 15 s); cached in {folder}", file=sys.stderr, flush=True)  # noqa: T201  a library has no other way to say that it is not stuck


@functools.cache
def _say_no_cache() -> None:
    """Warn, once a process, that compiled code is not kept."""
    warnings.warn(
        "compiled code cannot be kept: no folder for it can be written, or the disk is full. It is compiled again in "
        "each process, which takes up to minutes; set NUMBA_CACHE_DIR to a folder with room that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


def _interruptible(made: Any) -> Any:  # noqa: ANN401  as above
    """Let Ctrl-C leave the compiler of a function."""
    compile_it = made.compile

    def compile_or_leave(signature: Any) -> Any:  # noqa: ANN401  numba's
        with interrupts_heard():
            return compile_it(signature)

    made.compile = compile_or_leave
    return made


@contextlib.contextmanager
def interrupts_heard() -> Iterator[None]:
    """Raise a KeyboardInterrupt that a callback of LLVM has dropped.

    While LLVM makes machine code, the only Python that runs is such a callback; ctypes prints what is raised in one,
    and goes on, so Ctrl-C would be lost, or end in numba's error that a library has no object.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = sys.unraisablehook
    dropped = []

    def hear(about: Any) -> None:  # noqa: ANN401  the type is not public
        if issubclass(about.exc_type, KeyboardInterrupt):
            dropped.append(about)
        else:
            before(about)

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = before
        if dropped:
            raise KeyboardInterrupt
