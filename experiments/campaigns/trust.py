"""Trust: which code this user has run, noted in the user's own folder; that of a campaign may come from anyone."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from experiments.inputs import in_file, reason
from simmodels.errors import RequestError

_STATE: Final = "XDG_STATE_HOME"
_REMEDY: Final = "name the study yourself with --study, or use --trust if you trust the folder"


def state_folder() -> Path | None:
    """Return where notes of what this user ran are kept, which need not be there yet; None where there is no home.

    References
    ----------
    XDG Base Directory Specification 0.8, ``XDG_STATE_HOME``; a relative path is ignored.
    """
    named = Path(os.environ.get(_STATE, ""))
    if not named.is_absolute():
        try:
            named = Path.home() / ".local" / "state"
        except RuntimeError:  # the account has no home
            return None
    return named / "schedlab" / "code"


def remember(file: Path, source: bytes) -> None:
    """Note that this user runs a file of code; where no note can be kept, a report will ask."""
    folder = state_folder()
    if folder is not None:
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / _name(file, source)).touch()


def remember_named(texts: Iterable[str]) -> None:
    """Note the files of code that texts name, such as ``orders.py:mine``: the workers run them."""
    for text in texts:
        if path := in_file(text)[0]:
            with suppress(OSError, ValueError):  # no such file, or no name of one
                file = Path(path).resolve()
                remember(file, file.read_bytes())


class Gate:
    """Stands before the code that a campaign's folder names: only what this user ran before, as it is, gets through.

    Parameters
    ----------
    manifest
        The file that names the code, for the error.
    trusting
        Whether all gets through; what got through then does so later, too.
    """

    def __init__(self, manifest: Path, *, trusting: bool) -> None:
        self.manifest = manifest
        self.trusting = trusting
        self._let_through: set[Path] = set()

    def __call__(self, file: Path, source: bytes) -> None:
        """Let a file of code through.

        Raises
        ------
        RequestError
            This user has not run it as it is.
        """
        if self.trusting:
            self._let_through.add(file)
        elif file not in self._let_through and not _is_known(file, source):
            why = _why_forgotten()
            what = f"{self.manifest} names {file}, a file of code that you have not run as it is{why}"
            raise RequestError(what, _REMEDY)


def _is_known(file: Path, source: bytes) -> bool:
    """Return whether this user has run a file as it is."""
    folder = state_folder()
    return folder is not None and os.path.isfile(folder / _name(file, source))  # noqa: PTH113  it raises no error


def _name(file: Path, source: bytes) -> str:
    """Return the name of the note of a file: the digest of its full path and of its content."""
    return hashlib.sha256(os.fsencode(file) + b"\0" + hashlib.sha256(source).digest()).hexdigest()


def _why_forgotten() -> str:
    """Return, for the error, why no note of what this user ran can have been kept; nothing if one can."""
    folder = state_folder()
    if folder is None:
        return f" (no note of what you run can be kept: there is no home, and no {_STATE})"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f" (no note of what you run can be kept in {folder}: {reason(error)})"
