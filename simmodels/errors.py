"""The errors a user can meet; each says what must hold, what was given, and where.

The text of a value that is out of range comes from `must_be`, and the near names of an unknown one from `near_names`:
nothing else writes either.

SimPy rebuilds an exception that crosses a process as ``type(e)(*e.args)``, and worker processes
pickle it. So every class hands *all* its fields to ``super().__init__`` and makes its text in
``__str__``.
"""

import difflib
import reprlib
import sys
import unicodedata
from collections.abc import Iterable
from typing import Final

_UNPRINTABLE: Final = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
_LONG, _END = 600, 120  # what a file says may be of any length: the first characters are shown, and the last
_SHORT: Final = 80


def with_article(name: str) -> str:
    """Return a name with its article: ``a Workload``, ``an Environment``."""
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


class _Brief(reprlib.Repr):
    """Names by its type what Python shows in several lines or with an address, also within a list or a mapping."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring, self.maxlevel, self.maxother = _SHORT, 3, sys.maxsize

    def repr_instance(self, x: object, level: int) -> str:
        text = super().repr_instance(x, level)
        if isinstance(x, type):
            return f"the class {x.__name__}"
        if "\n" in text or text.startswith("<"):
            name, shape = type(x).__name__, getattr(x, "shape", None)
            named = with_article("array" if name == "ndarray" else name)
            return f"{named} of shape {shape}" if isinstance(shape, tuple) else named
        return text if len(text) <= _SHORT else f"{text[: _SHORT // 2]}...{text[-_SHORT // 2 :]}"


_BRIEF: Final = _Brief()


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text with whatever a terminal would obey, or not show, escaped as ``repr`` does.

    Names come from files: what they say may neither colour nor clear a screen, nor look like another line.

    Parameters
    ----------
    text
        The text.
    keep
        Such characters that are left alone: line ends, where a text may have several lines.
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
    """Return a value as errors show it: its ``repr``, cut short where it is long, so that an error fits on a line.

    A scalar of numpy looks like Python's. An object is named by its type, and its shape if it has one, if its ``repr``
    has several lines or an address.
    """
    try:
        scalar = type(value).__module__ == "numpy" and not getattr(value, "shape", True)
        return _BRIEF.repr(value.item() if scalar else value)  # type: ignore[attr-defined]  # those of numpy have it
    except ValueError:  # Python does not write out thousands of digits
        return f"{type(value).__name__} with a number of thousands of digits"


def must_be(name: str, expected: str, given: object) -> str:
    """Return the text of a value that is not what it must be: ``cores must be an integer from 1 to 2**53 (got 0)``.

    Parameters
    ----------
    name
        What the value is of: a parameter, an option, a field of a file.
    expected
        What it must be.
    given
        The value.
    """
    return f"{name} must be {expected} (got {brief(given)})"


class SimModelsError(Exception):
    """An error that schedlab raises on purpose; its text is one line.

    Parameters
    ----------
    args
        What the text is made of, in order: what was wrong, and what must hold.

    Examples
    --------
    >>> import simmodels as sm
    >>> log = {"submit_s": [0], "runtime_s": [10], "cores": [1]}
    >>> try:
    ...     sm.simulate(log, cores=1, order="SAFF")
    ... except sm.SimModelsError as error:
    ...     print(type(error).__name__)
    UnknownNameError
    """

    def __str__(self) -> str:
        """Return the text of the error."""
        return _said(super().__str__())


class RequestError(SimModelsError, ValueError):
    """A request that cannot be served as it is put.

    Parameters
    ----------
    what
        What is wrong, with the value; that of a value out of range is made by `must_be`.
    remedy
        What to do instead, if `what` does not say so.

    Examples
    --------
    >>> import simmodels as sm
    >>> try:
    ...     sm.Power(machine_w=-1, core_w=5)
    ... except sm.RequestError as error:
    ...     print(isinstance(error, ValueError))
    True
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the text of the error."""
        return _said(self.what) + (f"; {printable(self.remedy)}" if self.remedy else "")


class ColumnError(RequestError):
    """A value in a column of a table that is not what it must be.

    Parameters
    ----------
    column
        The column.
    row
        The row, from 0.
    expected, given
        As for `must_be`.

    Examples
    --------
    >>> import simmodels as sm
    >>> try:
    ...     sm.simulate({"submit_s": [0, "now"], "runtime_s": [10, 10], "cores": [1, 1]}, cores=1)
    ... except sm.ColumnError as error:
    ...     print(error.row)
    1
    """

    def __init__(self, column: str, row: int, expected: str, given: object) -> None:
        super().__init__(must_be(f"column {column}, row {row},", expected, given))
        self.args = (column, row, expected, given)
        self.row = row
        self.in_row = must_be(f"column {column}", expected, given)  # for who knows a better place than its number


class UnknownNameError(RequestError):
    """A name that no registry knows; the text offers the near ones.

    Parameters
    ----------
    kind
        What the name was to name, for example ``"order"``.
    name
        The name as given.
    known
        All known names.

    Examples
    --------
    >>> import simmodels as sm
    >>> log = {"submit_s": [0], "runtime_s": [10], "cores": [1]}
    >>> try:
    ...     sm.simulate(log, cores=1, order="SAFF")
    ... except sm.UnknownNameError as error:
    ...     print(error.near)
    ('SAF',)
    """

    def __init__(self, kind: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"unknown {kind} {name!r}", f"known: {', '.join(known)}" if known else "there is none")
        self.args = (kind, name, known)
        self.kind = kind
        self.name = name
        self.known = known

    @property
    def near(self) -> tuple[str, ...]:
        """Return the known names that look like it."""
        return near_names(self.name, self.known)

    def __str__(self) -> str:
        """Return the text of the error."""
        hint = f"did you mean {' or '.join(self.near)}? " if self.near else ""
        return f"{_said(self.what)}; {hint}{printable(self.remedy)}"


def near_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names that look like a name: those with its letters in another order, else up to three.

    The nearest come first. Capitals count as small letters.
    """
    small = {each: each.casefold() for each in known}
    letters = sorted(name.casefold())
    swapped = [each for each in small.values() if sorted(each) == letters]
    near = swapped or difflib.get_close_matches(name.casefold(), small.values())
    found = [each for each in small if small[each] in near]
    return tuple(sorted(found, key=lambda each: -difflib.SequenceMatcher(None, small[each], name.casefold()).ratio()))


def require_known(kind: str, name: object, known: Iterable[str]) -> None:
    """Refuse a name that is not among those known, with the near ones (`UnknownNameError`), and what is no text.

    Parameters
    ----------
    kind
        What the name is to name, for example ``"order"``.
    name
        The name as given, a text or not.
    known
        All known names.
    """
    names = tuple(known)
    if not isinstance(name, str):
        raise RequestError(must_be(kind, f"one of {', '.join(names)}", name))
    if name not in names:
        raise UnknownNameError(kind, name, names)


class FileFormatError(SimModelsError, ValueError):
    """A file that does not keep to its format.

    Parameters
    ----------
    path
        The file.
    line
        The line's number, from 1; None when the whole file is meant.
    what
        What must hold, and what the file has.

    Examples
    --------
    >>> from pathlib import Path
    >>> import simmodels as sm
    >>> import workloads as wl
    >>> _ = Path("log.swf").write_text("1 0 10")
    >>> try:
    ...     wl.read_swf("log.swf")
    ... except sm.FileFormatError as error:
    ...     print(error.line)
    1
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

    Examples
    --------
    >>> import simmodels as sm
    >>> try:
    ...     sm.simulate({"submit_s": [0], "runtime_s": [10], "cores": [8]}, cores=4)
    ... except sm.ImpossibleJobError as error:
    ...     print(error.job_id)
    1
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

    Examples
    --------
    >>> import simmodels as sm
    >>> from dataclasses import replace
    >>> schedule = sm.simulate({"submit_s": [5], "runtime_s": [10], "cores": [1]}, cores=1)
    >>> try:
    ...     replace(schedule, start_s=schedule.start_s - 6, end_s=schedule.end_s - 6).validate()
    ... except sm.IllegalScheduleError as error:
    ...     print(error.rule)
    submit
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

    Examples
    --------
    >>> import simmodels as sm
    >>> str(sm.StoppedError("the disk is full", "what is finished is kept"))
    'the disk is full; what is finished is kept'
    """

    def __init__(self, what: str, then: str = "") -> None:
        super().__init__(what, then)
        self.what = what
        self.then = then

    def __str__(self) -> str:
        """Return the text of the error."""
        return _said(self.what) + (f"; {_said(self.then)}" if self.then else "")
