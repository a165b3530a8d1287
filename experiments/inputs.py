"""Inputs: what the words of a request mean, as a workload, an order, a number of seconds."""

import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from site import getusersitepackages
from traceback import walk_tb
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.option import FITTED, IN, Option
from simmodels import ImpossibleJobError, Limits, Polynomial, RequestError, SimModelsError, Workload
from simmodels import bid as make_bid
from simmodels import order as make_order
from simmodels.errors import must_be, require_known, with_article
from simmodels.ground.files import open_regular
from simmodels.ground.numbers import MOST, as_integer
from simmodels.ground.toml_json import SUFFIXES
from simmodels.policies.naming import as_bid, as_order
from simmodels.policies.orders import BUILT_IN
from simmodels.policies.priority import Priority
from workloads import clean, read

if TYPE_CHECKING:
    from simmodels import Schedule

_UNREMARKABLE: Final = ("lines", "comment lines", "header lines", "blank lines", "job steps", "jobs")
OVERSIZED: Final = "dropped: wider than the machine"
LEFT_OUT: Final = "left out: cores or runtime unknown"
_PARTS: Final = {"partition": ("partition_name", "partition"), "queue": ("queue",)}
"""The columns that say in which part of the machine, or in which queue, a job was."""
_Seen = Callable[[Path, bytes], None]
_seen: Final[ContextVar[_Seen | None]] = ContextVar("seen", default=None)
_run_from: Final[set[Path]] = set()
"""The folders of the files of code that were run."""
_OURS: Final = tuple(Path(__file__).resolve().parents[1] / name for name in ("experiments", "simmodels", "workloads"))
_LIBRARIES: Final = *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")), getusersitepackages()
_INSTALLED: Final = (*_OURS, *(Path(each).resolve() for each in _LIBRARIES))


def count_of(count: int, what: str) -> str:
    """Return a count with what is counted: ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def left_out_of(schedule: "Schedule") -> int:
    """Return how many jobs did not take part in the window of a schedule."""
    return int(str(schedule.about.get("left_out", 0)))


def parts(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return what a text, or each of several, lists between commas."""
    several = (texts,) if isinstance(texts, str) else texts or ()
    return tuple(part.strip() for text in several for part in text.split(",") if part.strip())


def in_file(text: str) -> tuple[str, str]:
    """Return the file and the name in ``path/to/file.py:name``: no name of a file alone, and no file of what has none.

    Examples
    --------
    >>> in_file("mine/orders.py:short"), in_file("orders.py"), in_file("SAF")
    (('mine/orders.py', 'short'), ('orders.py', ''), ('', ''))
    """
    path, _, name = (text, "", "") if text.lower().endswith(".py") else text.rpartition(":")
    return (path, name) if path.lower().endswith(".py") else ("", "")


# -- workloads --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFile:
    """A file with a workload, and what is to be made of it: the options of every command that reads one.

    Parameters
    ----------
    path
        A log in the Standard Workload Format, what Slurm's sacct --parsable2 prints, a table with one row per job
        (.csv, .parquet), a Batsim workload (.json), or a slice of Borg's trace; plain, .gz, .bz2 or .xz.
    cores
        The cores of the machine.
    filters
        Drop or repair jobs by filters; see schedlab list filters.
    drop_oversized
        Leave out, and count, jobs wider than the machine.
    partitions
        Only jobs of these partitions, where they have cores of their own (--cores); jobs that compete for the same
        cores belong in one replay.
    queues
        Only jobs of these queues, where they have cores of their own: --cores.
    timezone
        The time zone of the times that sacct printed, such as Europe/Berlin.
    flops_per_s
        The speed of a core, in flop/s, for Batsim profiles that need it.

    Raises
    ------
    RequestError
        `cores` is below 1, or beyond `MOST`.
    """

    path: Annotated[Path, Option(IN, flags=("--workload", "-w"))]
    cores: Annotated[int | None, Option(IN, default="what the file says")] = None
    filters: Annotated[tuple[str, ...], Option(IN, "FILTER,...", flags=("--clean",), known="filters")] = ()
    drop_oversized: Annotated[bool, Option(IN)] = False
    partitions: Annotated[tuple[str, ...], Option(IN, default="all", flags=("--partition",))] = ()
    queues: Annotated[tuple[str, ...], Option(IN, default="all", flags=("--queue",))] = ()
    timezone: Annotated[str | None, Option(IN, "ZONE", "UTC")] = None
    flops_per_s: Annotated[float | None, Option(IN, "X", flags=("--flops-per-s",))] = None

    def __post_init__(self) -> None:
        """Check the machine's size."""
        if self.cores is not None:
            as_integer("cores", self.cores, 1)

    @classmethod
    def of(cls, asked: Mapping[str, Any], **more: Any) -> "WorkloadFile":  # noqa: ANN401  fields
        """Return the file that the parameters of a study ask for, which are named as the options; and more fields.

        Raises
        ------
        RequestError
            A list of names is not a text.
        """
        lists = {name: asked.get(name) for name in ("clean", "partition", "queue")}
        for name, given in lists.items():
            if not (given is None or isinstance(given, str)):
                raise RequestError(must_be(name, "a text, names between commas", given))
        return cls(
            path=Path(str(asked["workload"])),
            cores=asked.get("cores"),
            filters=parts(lists["clean"]),
            partitions=parts(lists["partition"]),
            queues=parts(lists["queue"]),
            timezone=asked.get("timezone"),
            **more,
        )

    def read(self) -> Workload:
        """Return the workload, ready to run: cleaned as asked, its ``max_cores`` the machine's size.

        Its `counts` have what was dropped besides, and how many jobs a simulation will leave out (see
        `Workload.known`).

        Raises
        ------
        FileFormatError
            The file cannot be read, or does not keep to its format.
        RequestError
            The size of the machine is unknown, a filter is unknown, or no job is left.
        ImpossibleJobError
            A job can never run on the machine.
        """
        log = self.raw()
        size = log.max_cores if self.cores is None else self.cores
        if size is None:
            raise RequestError(f"{self.path} does not say how many cores the machine has", "add --cores N")
        return self.fitted(self.cleaned(log, size), size)

    def cleaned(self, log: Workload, size: int | None) -> Workload:
        """Return the workload of the file, cleaned as asked for a machine of this size (None: of any)."""
        jobs = clean(log, self.filters, cores=MOST if size is None else size)
        shown = jobs.name.encode(errors="replace").decode()  # a file's name may hold bytes that are no text
        return replace(jobs, name=shown)

    def fitted(self, jobs: Workload, size: int) -> Workload:
        """Return a cleaned workload, ready to run on a machine of this size.

        Raises
        ------
        RequestError, ImpossibleJobError
            As `read`.
        """
        counts = dict(jobs.counts)
        if self.drop_oversized:
            wide = jobs.cores > size
            counts[OVERSIZED] = counts.get(OVERSIZED, 0) + int(wide.sum())
            jobs = jobs.take(~wide)
        counts[LEFT_OUT] = int((~jobs.known()).sum())
        if counts[LEFT_OUT] == len(jobs):
            if notes := "; ".join(notes_of(counts)):
                raise RequestError(f"no job of {self.path} is left ({notes})", "choose filters that leave some")
            raise RequestError(f"{self.path} has no jobs")
        _require_runnable(jobs, size)
        return replace(jobs, max_cores=size, counts=counts)

    def raw(self) -> Workload:
        """Return the workload as the file has it: all jobs of the partitions and queues that were asked for.

        Raises
        ------
        FileFormatError, RequestError, UnknownNameError
            As `read`; or the file has no such partition or queue, or no times that a time zone could be of.
        """
        log = read(self.path, flops_per_s=self.flops_per_s, timezone=self.timezone)
        if not log.is_rigid:
            raise RequestError(f"{self.path} holds workflows", "read them with --workflows")
        for part, asked in (("partition", self.partitions), ("queue", self.queues)):
            log = self._of_parts(log, part, asked)
        return log

    def _of_parts(self, log: Workload, part: str, asked: tuple[str, ...]) -> Workload:
        """Return the jobs of the partitions, or queues, that were asked for; how many others there are is counted."""
        if not asked:
            return log
        named = list(parts_of(log, part))
        names = sorted({str(each) for column, known in named for each in np.unique(column[known])})
        if not names:
            raise RequestError(f"{self.path} does not say which {part} a job was in", f"omit --{part}")
        for name in asked:
            require_known(part, name, names)
        kept = np.any([np.isin(column, asked) for column, _ in named], axis=0)
        return replace(log.take(kept), counts={**log.counts, f"in other {part}s": int((~kept).sum())})


def parts_of(log: Workload, part: str) -> Iterator[tuple[NDArray[np.str_], NDArray[np.bool_]]]:
    """Hand out the names of the partitions, or queues, that jobs were in, and which are known, for each such column."""
    for name in _PARTS[part]:
        if name in log.extras:
            given = pd.Series(log.extras[name])
            if given.dtype.kind == "f":  # a number that is missing made floats of all
                given = given.convert_dtypes()
            names = given.astype(str).to_numpy(object).astype(np.str_)
            yield names, given.notna().to_numpy() & ~np.isin(names, ("", "-1"))


def not_modelled(log: Workload) -> Iterator[tuple[str, float]]:
    """Hand out what jobs ask for beside cores and time, and the share of them that do."""
    for what, name in (("memory", "requested_memory_kb"), ("GPUs", "gpus")):
        share = float((np.asarray(log.extras[name]) > 0).mean()) if name in log.extras else 0.0
        if share > 0:
            yield what, share


def _require_runnable(jobs: Workload, cores: int) -> None:
    """Refuse jobs that can never run, and say which option leaves them out."""
    try:
        jobs.require_runnable(cores)
    except ImpossibleJobError as error:
        option = "--drop-oversized" if (jobs.runnable() | ~jobs.known()).all() else "--clean runnable"
        what = f"{error.what}; {option} leaves such jobs out and counts them"
        raise ImpossibleJobError(error.job_id, what, error.others) from None


def notes_of(counts: Mapping[str, int]) -> list[str]:
    """Return what is to be said of a workload's counts, a line each: all that happened at least once."""
    return [f"{key}: {count:,}" for key, count in counts.items() if count and key not in _UNREMARKABLE]


def introduced(log: Workload, where: str) -> Iterator[str]:
    """Hand out what came in, and what became of it, a line each."""
    yield f"{log.name}: {count_of(len(log), 'job')} for {where}"
    yield from (f"  {line}" for line in notes_of(log.counts))


def named_limits(text: str) -> Limits | str:
    """Return the limits of a file; or `FITTED`, for those that are fitted to the log when it is read."""
    return FITTED if text == FITTED else Limits.read(text)


# -- orders -----------------------------------------------------------------------------------------


def named_priority(text: str, kind: Literal["order", "bid"] = "order") -> Priority:
    """Return the order or bid of this name, the one that ``path/to/file.py:name`` defines, or that of ``fit.toml``.

    A Python file is run as a module, with its folder on the path. What `name` is there may be an order
    (`simmodels.order`), a bid (`simmodels.bid`), or a plain function, which becomes one of this kind; without a name,
    the file must define exactly one. A file that ends in ``.toml`` or ``.json`` holds a polynomial, as
    `simmodels.Polynomial` and `simmodels.Fit` write it.

    Raises
    ------
    UnknownNameError
        The registry or the file has none of this name; near ones are offered.
    RequestError
        The file cannot be read, fails when it is run, or does not define one; or a polynomial has the name of a
        built-in order.
    FileFormatError
        The file of a polynomial cannot be read, or holds none.
    """
    if text.lower().endswith(SUFFIXES):
        found = Polynomial.read(text)
        if found.name.upper() in BUILT_IN:
            raise RequestError(f"the order of {text} is named {found.name!r}, as a built-in one", "choose another name")
        return found
    path, name = in_file(text)
    if not path:
        return as_order(text) if kind == "order" else as_bid(text)
    names = {key: value for key, value in run_file(path, kind).items() if not key.startswith("__")}
    defined = {key: value for key, value in names.items() if isinstance(value, Priority)}
    if not name:
        if len(set(defined.values())) != 1:
            has = (
                f"it has {', '.join(defined)}; choose one as {path}:NAME"
                if defined
                else f"decorate one with @sm.{kind}"
            )
            raise RequestError(f"{path} defines {len(defined)} {kind}s", has)
        return next(iter(defined.values()))
    if name not in names:
        require_known(f"{kind} of {path}", name, tuple(defined) or [key for key in names if callable(names[key])])
    if name in defined:
        return defined[name]
    function = names[name]
    if not inspect.isfunction(function):
        expected = f"{with_article(kind)} (@sm.{kind}) or a plain function"
        raise RequestError(must_be(f"{name!r} of {path}", expected, function))
    return make_order(function) if kind == "order" else make_bid(function)


def run_file(path: str, kind: str, module_name: str | None = None) -> dict[str, object]:
    """Return the names that a Python file defines; a fault of it is reported with its line.

    Parameters
    ----------
    path
        The file. It is run with its folder on the path.
    kind
        What is looked for in it, for the error.
    module_name
        The name under which it becomes a module that can be imported, which objects of its classes need that are sent
        to another process; None for none.

    Raises
    ------
    RequestError
        The file cannot be read, or fails when it is run.
    """
    try:
        with open_regular(path) as file:
            source = file.read()
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise RequestError(f"no {kind} can be read from {path}: {reason(error)}") from error
    if (seen := _seen.get()) is not None:
        seen(Path(path).resolve(), source)
    module = ModuleType(module_name or Path(path).stem)
    module.__file__ = path
    if module_name is not None:
        sys.modules[module_name] = module
    folder = str(Path(path).resolve().parent)
    _run_from.add(Path(folder))
    sys.path.append(folder)  # at the end: what lies beside the file may not hide other modules
    try:
        exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102  running it is what was asked for
    except SyntaxError as error:
        raise RequestError(f"{error.filename or path}, line {error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:  # whatever the user's code raises
        raise RequestError(describe_error(error, [path])) from error
    finally:
        sys.path.remove(folder)
    return vars(module)


@contextmanager
def code_shown_to(seen: _Seen) -> Iterator[None]:
    """Hand each file of code to a function before it is run, with its full path and its content; a context.

    So is what such files import from their folders. The function may refuse it by an error, and then it is not run.
    """
    before, finder = _seen.set(seen), _Shown(seen)
    place = next(n for n, one in enumerate(sys.meta_path) if one is PathFinder or type(one) is _Shown)
    sys.meta_path.insert(place, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _seen.reset(before)


class _Shown(MetaPathFinder):
    """Finds modules as Python does; those in the folders of code that was run are shown before they are run."""

    def __init__(self, seen: _Seen) -> None:
        self.seen = seen

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where a module is that is shown; None for any other."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not is_beside(Path(spec.origin)):
            return None
        if type(spec.loader) is SourceFileLoader:
            spec.loader = _AsItIs(name, spec.origin, self.seen)
        else:  # compiled code
            self.seen(Path(spec.origin).resolve(), Path(spec.origin).read_bytes())
        return spec


class _AsItIs(SourceFileLoader):
    """Runs the source of a module after it was shown, and not what lies in ``__pycache__`` under its name."""

    def __init__(self, name: str, path: str, seen: _Seen) -> None:
        super().__init__(name, path)
        self.seen = seen

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the source that was shown."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        self.seen(Path(path).resolve(), source)
        return self.source_to_code(source, path)


def is_beside(file: Path) -> bool:
    """Return whether a file lies in a folder of code that was run, or below, and is no part of what is installed."""
    places = {file.parent.absolute(), file.parent.resolve()}
    of_user = any(each.is_relative_to(folder) for each in places for folder in _run_from)
    return of_user and not any(each.is_relative_to(folder) for each in places for folder in _INSTALLED)


def reason(error: Exception) -> str:
    """Return what the system says of a file, without the path that we name anyway."""
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()


def describe_error(error: BaseException, files: Sequence[str] = ()) -> str:
    """Return an error in one line: its kind unless it is ours, its text, its notes, and the last line of a file it met.

    Parameters
    ----------
    error
        The error.
    files
        The files to report lines of.
    """
    causes = [error]  # a process of SimPy raises a copy: its cause has the notes and the lines
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {reason(error)}" if error.filename else reason(error)
    elif not isinstance(error, SimModelsError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    notes = dict.fromkeys(note for each in causes for note in getattr(each, "__notes__", ()))
    text += "".join(f" ({note})" for note in notes)
    places = [
        f"{frame.f_code.co_filename}, line {line}: "
        for each in causes
        for frame, line in walk_tb(each.__traceback__)
        if frame.f_code.co_filename in files
    ]
    return "".join(places[-1:]) + text
