"""compiled: numba's njit with an on-disk cache that knows when anything it was compiled from changed.

Numba keeps a compiled function until the file that defines it changes; but a pass has the code of
what it calls compiled into it, so a change in another file (an upgrade, a `git pull`) would leave
the old rule running. Here the cache of a function carries the stamp of its own file, of all passes and structures, of
what these stand on (how they are linked among it), of `power`, `runs` and `occupancy` of `simmodels.replay`, which its
loops share, and of the files beside it that it says it calls: compiled code calls nothing else.
"""

import contextlib
import functools
import inspect
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

from numba import njit, version_info

LINKED: Final = version_info.short == (0, 68)
"""Whether `linking` was tested with this numba; under any other, they are compiled as numba does, in twice the time."""

if LINKED:
    from simmodels.ground import linking

Stamp = tuple[tuple[str, int, int], ...]
_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)


def source_stamp(paths: Iterable[Path]) -> Stamp:
    """Return name, time of change (ns) and size of each source, sorted by name."""
    stats = ((path.name, path.stat()) for path in sorted(paths))
    return tuple((name, about.st_mtime_ns, about.st_size) for name, about in stats)


_SIMMODELS: Final = Path(__file__).parents[1]
_CALLED: Final = source_stamp(
    [
        *(path for room in ("structures", "passes") for path in (_SIMMODELS / room).glob("*.py")),
        *(_SIMMODELS / f"{name}.py" for name in ("ground/linking", "ground/signals", "work/curve", "work/graph")),
        *(_SIMMODELS / "replay" / f"{name}.py" for name in ("power", "runs", "occupancy")),
    ]
)


_PARTS: Final = {
    "learning": "permutation trials",
    "auction": "auctions",
    "bidding": "auctions",
    "matching": "auctions",
    "plac": "placement on machines",
    "on_machines": "queues on machines",
    "queue": "queues",
    "backfilling": "queues",
}
"""What functions are for, by words of the paths of their files; the first one that fits counts."""
_under_way: Final[list[object]] = []
"""What is being compiled: a function, one that it calls, one that this calls."""


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
        with interrupts_heard():  # the first asks LLVM what it compiles for
            made = _interruptible(make(function, cache=True, **options))
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        _say_no_cache()
        return _interruptible(make(function, **options))
    _keep_if_possible(made._cache)  # noqa: SLF001  numba has no public way to say this
    _announce_compilation(made._cache, Path(function.__code__.co_filename))  # noqa: SLF001  as above
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


def _announce_compilation(cache: Any, home: Path) -> None:  # noqa: ANN401  as above
    """Let what is not in the cache be announced, before the user wonders what takes so long; what it calls is not."""
    load = cache.load_overload

    def load_or_announce(*args: Any) -> Any:  # noqa: ANN401  numba's
        found = load(*args)
        if found is None and len(_under_way) <= 1:
            kept = Path(cache.cache_path)
            _say_compiling(_part_of(home), _SIMMODELS if kept.is_relative_to(_SIMMODELS) else kept.parent)
        return found

    cache.load_overload = load_or_announce


def _part_of(home: Path) -> str:
    """Return in words what the functions of a file are for."""
    if not home.is_relative_to(_SIMMODELS):
        return "your own functions"
    place = home.relative_to(_SIMMODELS).as_posix()
    return next((part for word, part in _PARTS.items() if word in place), "simulations")


@functools.cache
def _say_compiling(part: str, folder: Path) -> None:
    """Say, once a process, that a part is compiled."""
    _say(f"compiling code for {part} (once, about 15 s of processor time); cached in {folder}")


@functools.cache
def _say_no_cache() -> None:
    """Say, once a process, that compiled code is not kept."""
    _say(
        "compiled code cannot be kept: no folder for it can be written, or the disk is full. It is compiled again in "
        "each process, which takes up to minutes; set NUMBA_CACHE_DIR to a folder with room that can be written"
    )


def is_kept() -> bool:
    """Return whether there was a place for all compiled code so far."""
    return not _say_no_cache.cache_info().currsize


def _say(text: str) -> None:
    """Print a line to stderr; not in a worker, which would repeat it, nor if the environment has SCHEDLAB_QUIET."""
    if multiprocessing.parent_process() is None and "SCHEDLAB_QUIET" not in os.environ and sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201  a library has no other way to say that it is not stuck


def _interruptible(made: Any) -> Any:  # noqa: ANN401  as above
    """Let Ctrl-C leave the compiler of a function."""
    compile_it = made.compile

    def compile_or_leave(signature: Any) -> Any:  # noqa: ANN401  numba's
        _under_way.append(signature)
        try:
            with interrupts_heard():
                return compile_it(signature)
        finally:
            _under_way.pop()

    made.compile = compile_or_leave
    return made


@contextlib.contextmanager
def interrupts_heard() -> Iterator[None]:
    """Let Ctrl-C leave the compiler, but not between two steps of llvmlite, where it waits until all is compiled.

    llvmlite frees what it has handed over, or freed, unless its next line notes that: an interrupt between the two
    ends in "double free detected". And in its callbacks from LLVM, ctypes prints what is raised, and goes on.
    """
    if threading.current_thread() is not threading.main_thread():  # which handles no signals
        yield
        return
    before = {int(number): handler for number in _INTERRUPTS if callable(handler := signal.getsignal(number))}
    kept: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        if _is_in_llvm(frame):
            kept.append(number)
        else:
            before[number](number, frame)

    for number in before:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in kept[:1]:
            before[number](number, inspect.currentframe())


def _is_in_llvm(frame: FrameType | None) -> bool:
    """Return whether a function of llvmlite that calls LLVM has not returned."""
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("llvmlite.binding"):
        frame = frame.f_back
    return frame is not None
