"""Kept code: what numba compiled, in a folder of the user's, by the digest of all that it was compiled from.

All checkouts, installations and environments of a user share the folder: what one of them compiled, the others load.
A changed rule gives what calls it another digest, and thereby another file, so nothing is ever out of date; a damaged
file is as good as none. Files are written whole or not at all, by as many processes as like to.

A wheel may bring such files with it (`make wheel`), compiled for a family of processors: these are tried first.
"""

import functools
import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import llvmlite.binding as llvm
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from simmodels.ground.digests import UnknownValueError, digest, digest_of
from simmodels.ground.files import replacing

CODE_FOLDER: Final = "SCHEDLAB_CACHE"
SHIPPED: Final = Path(__file__).with_name("shipped")
"""The folder of the code that a wheel brings; a checkout has none."""
MACHINE: Final = "machine"
"""The file there that says what this was compiled for: triple, processor and features, a line each."""
_MOST_BYTES: Final = 2**30
"""More are not kept: a complete set has some 20 MB."""
_SUM_BYTES: Final = 32
_NOT_OURS: Final = (OSError, ValueError, LookupError, EOFError, pickle.UnpicklingError, ImportError, AttributeError)
"""What reading a file may end in that is damaged, or that another version wrote."""


def folder() -> Path:
    """Return the folder of compiled code: ``SCHEDLAB_CACHE``, or that of schedlab among the user's caches.

    Raises
    ------
    OSError
        Neither is named, and the account has no home.

    References
    ----------
    XDG Base Directory Specification 0.8, ``XDG_CACHE_HOME``; a relative path is ignored.
    """
    named = os.environ.get(CODE_FOLDER)
    if named:
        return Path(named).absolute()
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not caches.is_absolute():
        try:
            caches = Path.home() / ".cache"
        except RuntimeError as error:
            raise FileNotFoundError("the account has no home") from error
    return caches / "schedlab"


def is_kept() -> bool:
    """Return whether compiled code can be kept: there is a folder for it, or it can be made, and it can be written."""
    try:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.access(folder(), os.W_OK | os.X_OK)
    except OSError:
        return False


class Form(NamedTuple):
    """What of compiled code goes into a file, and what it is when it comes out of it."""

    name: str
    reduce: Callable[[Any, Callable[[bytes], str]], object]
    """Given what numba compiled, and what keeps bytes that other files have, too, and names them."""
    rebuild: Callable[[Any, Any, Callable[[str], bytes]], Any]
    """Given numba's context of the target, what was reduced, and what finds such bytes."""


PLAIN: Final = Form(
    "plain",
    lambda result, _: result._reduce(),  # noqa: SLF001  as numba does
    lambda context, kept, _: CompileResult._rebuild(context, *kept),  # noqa: SLF001  as numba does
)
"""As numba keeps it: machine code."""


_Machine = tuple[str, str, str]
"""What code is made for: the triple of the target, the processor and its features."""


class KeptCode:
    """The cache of a dispatcher, as numba asks for it.

    Parameters
    ----------
    made
        The dispatcher.
    form
        How code of its kind is kept.
    missed
        Called when there is nothing to load.
    unkept
        Called with the reason why something cannot be kept.
    """

    def __init__(self, made: Dispatcher, form: Form, missed: Callable[[], None], unkept: Callable[[str], None]) -> None:
        self._made = made
        self._name: str = made.py_func.__name__
        self._form = form
        self._missed = missed
        self._unkept = unkept

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return str(folder())

    def load_overload(self, signature: Any, context: Any) -> Any:  # noqa: ANN401  numba is untyped
        """Return what was compiled for a signature; None if it was not."""
        context.refresh()
        for place, machine in _places(context.codegen().magic_tuple()):
            # What has gone, and what of a file was not written here, is compiled again.
            with suppress(*_NOT_OURS):
                kept = pickle.loads(_read(place / self._file(signature, machine)))  # noqa: S301  the user's own folder
                found = self._form.rebuild(context, kept, functools.partial(_find, place))
                # It is known by what was asked for: a default that is no number is not equal to the one that was kept.
                found.fndesc.argtypes, _ = normalize_signature(signature)
                return found._replace(signature=found.signature.replace(args=found.fndesc.argtypes))
        self._missed()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:  # noqa: ANN401  as above
        """Keep what was compiled for a signature."""
        if result.library.has_dynamic_globals:  # it has addresses of this process
            return
        try:
            file = self._file(signature, result.target_context.codegen().magic_tuple())
            folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(folder() / file, dumps(self._form.reduce(result, _keep)))
            _forget_oldest(folder())
        except OSError:
            self._unkept(f"no folder for it can be written, or the disk is full; set {CODE_FOLDER} to one with room")
        except UnknownValueError as error:
            self._unkept(f"{self._name} is not: {error}")

    def _file(self, signature: Any, machine: _Machine) -> str:  # noqa: ANN401  as above
        """Return the name of the file of what is compiled for a signature, and a machine."""
        key = digest(self._form.name, digest_of(self._made, signature, machine))
        return f"{self._name.strip('<>')}.{self._form.name}-{key[:40]}.code"


def _places(machine: _Machine) -> Iterator[tuple[Path, _Machine]]:
    """Hand out the folders of code that this machine can run, and what it was compiled for."""
    if (shipped := _shipped_for(machine[0])) is not None:
        yield SHIPPED, shipped
    with suppress(OSError):  # there may be none
        yield folder(), machine


@functools.cache
def _shipped_for(triple: str) -> _Machine | None:
    """Return what shipped code was compiled for; None if there is none, or this processor cannot run it."""
    try:
        made_for, processor, features = (SHIPPED / MACHINE).read_text("utf-8").split("\n")
    except (OSError, ValueError):
        return None
    has = llvm.get_host_cpu_features()
    runs = made_for == triple and all(has.get(each.removeprefix("+")) for each in features.split(",") if each)
    return (made_for, processor, features) if runs else None


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    whole = hashlib.sha256(content[_SUM_BYTES:]).digest() == content[:_SUM_BYTES]
    with suppress(OSError):  # a folder that others fill may be read only
        if whole and path.parent != SHIPPED:
            os.utime(path)  # what is in use is forgotten last
        elif not whole and path.parent != SHIPPED:
            path.unlink()  # or who compiles it would take it as kept
    if not whole:
        raise ValueError(f"{path} is damaged")
    return content[_SUM_BYTES:]


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)


def _keep(content: bytes) -> str:
    """Keep bytes by their own digest; return it."""
    name = hashlib.sha256(content).hexdigest()
    path = folder() / f"{name}.part"
    if not path.exists():
        _write(path, content)
    return name


def _find(place: Path, name: str) -> bytes:
    return _read(place / f"{name}.part")


@functools.cache
def _forget_oldest(place: Path) -> None:
    """Remove what was not used for longest, if there is more than is kept: once a process, which adds little."""
    files = []
    for path in place.iterdir():
        with suppress(FileNotFoundError):  # another process forgot it
            files.append((path, path.stat()))
    size = sum(about.st_size for _, about in files)
    for path, about in sorted(files, key=lambda each: each[1].st_mtime_ns):
        if size <= _MOST_BYTES:
            break
        path.unlink(missing_ok=True)
        size -= about.st_size
