"""The errors a user can meet; each says what was wrong, the value, and what is allowed.

SimPy rebuilds an exception that crosses a process as ``type(e)(*e.args)``, and worker processes
pickle it. So every class hands *all* its fields to ``super().__init__`` and makes its text in
``__str__``.
"""

import difflib
import reprlib
import unicodedata
from collections.abc import Iterable
from typing import Final

_UNPRINTABLE: Final = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
_LONG, _END = 600, 120  # what a file says may be of any length: the first characters are shown, and the last
_BRIEF: Final = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80
_BRIEF.maxlevel = 3


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text with whatever a terminal would obey, or not show, escaped as ``repr`` does.

    Names come from files: what they say may neither colour nor clear a screen, nor look like another line.

    Parameters
    ----------
    text
        The text.
    keep
        Such characters that are left alone: line ends, where a text may have several lines.

    Examples
    --------
    >>> print(printable("a \x1b[31mred\x07 log"))
    a \x1b[31mred\x07 log
    """
    if text.isprintable():
        return text
    return "".join(
        repr(each)[1:-1] if unicodedata.category(each) in _UNPRINTABLE and each not in keep else each for each in text
    )


def _said(text: str) -> str:
    """Return what an error says of what it was given: printable, and the middle of it left out if it is long."""
    return printable(text if len(text) <= _LONG + _END else f"{text[:_LONG]} ... {text[-_END:]}")


def brief(value: object) -> str:
    """Return the ``repr`` of a value of a file, cut short where it is long: an error fits on a line."""
    try:
        return _BRIEF.repr(value)
    except ValueError:  # Python does not write out thousands of digits
        return f"{type(value).__name__} with a number of thousands of digits"


class SimModelsError(Exception):
    """An error that schedlab raises on purpose; its text is one line."""

    def __str__(self) -> str:
        """Return the text of the error."""
        return _said(super().__str__())


class RequestError(SimModelsError, ValueError):
    """A request that cannot be served as it is put.

    Parameters
    ----------
    what
        What was asked for, and the value.
    allowed
        What would have been accepted.
    """

    def __init__(self, what: str, allowed: str = "") -> None:
        super().__init__(what, allowed)
        self.what = what
        self.allowed = allowed

    def __str__(self) -> str:
        """Return the text of the error."""
        return _said(self.what) + (f"; {printable(self.allowed)}" if self.allowed else "")


class UnknownNameError(RequestError):
    """A name that no registry knows; the text offers the near ones.

    Parameters
    ----------
    kind
        What the name was to name, for example ``"order"``.
    name
        The name as given.
    near
        Known names that look like it.
    known
        All known names.
    """

    def __init__(self, kind: str, name: str, near: tuple[str, ...], known: tuple[str, ...]) -> None:
        super().__init__(f"unknown {kind} {name!r}", f"known: {', '.join(known)}")
        self.args = (kind, name, near, known)
        self.kind = kind
        self.name = name
        self.near = near
        self.known = known

    def __str__(self) -> str:
        """Return the text of the error."""
        hint = f"did you mean {' or '.join(self.near)}? " if self.near else ""
        return f"{_said(self.what)}; {hint}{printable(self.allowed)}"


def require_known(kind: str, name: object, known: Iterable[str]) -> None:
    """Refuse a name that is not among those known; the error offers the near ones.

    Parameters
    ----------
    kind
        What the name is to name, for example ``"order"``.
    name
        The name as given, a text or not.
    known
        All known names.

    Raises
    ------
    UnknownNameError
        The name is none of them.

    Examples
    --------
    >>> require_known("engine", "simpi", ("auto", "simpy", "compiled"))
    Traceback (most recent call last):
    simmodels.errors.UnknownNameError: unknown engine 'simpi'; did you mean simpy? known: auto, simpy, compiled
    """
    names = tuple(known)
    if name not in names:
        raise UnknownNameError(kind, str(name), tuple(difflib.get_close_matches(str(name), names)), names)


class FileFormatError(SimModelsError, ValueError):
    """A file that does not keep to its format.

    Parameters
    ----------
    path
        The file.
    line
        The line's number, from 1; None when the whole file is meant.
    what
        What was wrong, the value, and what is allowed.
    """

    def __init__(self, path: str, line: int | None, what: str) -> None:
        super().__init__(path, line, what)
        self.path = path
        self.line = line
        self.what = what

    def __str__(self) -> str:
        """Return the text of the error."""
        place = self.path if self.line is None else f"{self.path}, line {self.line}"
        return f"{printable(place)}: {_said(self.what)}"


class ImpossibleJobError(SimModelsError, ValueError):
    """A job that can never run, refused where it enters.

    Parameters
    ----------
    job_id
        The job's number.
    what
        What is impossible about it, with its value and the limit.
    others
        How many more jobs of the same input are impossible.
    """

    def __init__(self, job_id: int, what: str, others: int = 0) -> None:
        super().__init__(job_id, what, others)
        self.job_id = job_id
        self.what = what
        self.others = others

    def __str__(self) -> str:
        """Return the text of the error."""
        jobs = "1 more job of this input is" if self.others == 1 else f"{self.others} more jobs of this input are"
        more = f" ({jobs} refused too)" if self.others else ""
        return f"job {self.job_id}: {_said(self.what)}{more}"


class IllegalScheduleError(SimModelsError, ValueError):
    """A schedule that no machine could have run.

    Parameters
    ----------
    rule
        The rule that is broken, for example ``"capacity"``.
    what
        Where it is broken: the job, the instant, the values.
    """

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(rule, what)
        self.rule = rule
        self.what = what

    def __str__(self) -> str:
        """Return the text of the error."""
        return f"illegal schedule ({printable(self.rule)}): {_said(self.what)}"


class StoppedError(SimModelsError, RuntimeError):
    """Work that could not go on, through no fault of the request: a full disk, a machine that has gone.

    Parameters
    ----------
    what
        What stopped it.
    then
        What is kept, and how to go on.
    """

    def __init__(self, what: str, then: str = "") -> None:
        super().__init__(what, then)
        self.what = what
        self.then = then

    def __str__(self) -> str:
        """Return the text of the error."""
        return _said(self.what) + (f"; {_said(self.then)}" if self.then else "")
