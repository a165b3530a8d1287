"""Workload: the jobs that go into a simulation, as immutable columns."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, DTypeLike, NDArray

from simmodels.errors import ImpossibleJobError, RequestError, brief, must_be
from simmodels.ground.arguments import Guided, as_instance, as_tuple, listed
from simmodels.ground.cards import SLICES, card, line_chart, number, share
from simmodels.ground.durations import Duration, as_seconds, duration
from simmodels.ground.instants import too_far, too_far_text
from simmodels.ground.numbers import as_integer, as_number, ranges
from simmodels.ground.plugins import plugin
from simmodels.units import HOUR
from simmodels.work.job import Job, Numbers
from simmodels.work.limits import NO_LIMIT, REQUESTED, estimates
from simmodels.work.workflow import Workflow

__all__ = ["COLUMNS", "Job", "Numbers", "Tasks", "Workload", "WorkloadLike"]

COLUMNS: Final = ("job_id", "submit_s", "runtime_s", "estimate_s", "cores", "user_id")
_UNKNOWN: Final = -1
_NEEDED: Final = ("submit_s", "runtime_s", "cores")
_WORKLOAD: Final = "a Workload, a path, a table of jobs, or workflows"
_OF_TIME: Final = {
    "M": ("dates", "(t - t.min()).dt.total_seconds() makes seconds of dates"),
    "m": ("durations", "t.dt.total_seconds() makes seconds of durations"),
}
_FLOATS: Final = ("submit_s", "runtime_s", "estimate_s")


def _frozen(given: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return the values as a read-only array that nobody else can change: a copy, unless that is so already."""
    column = np.ascontiguousarray(given, dtype=dtype)
    part = column if column is given or column.base is not None else None  # None: this memory is new
    while isinstance(part, np.ndarray):
        if part.flags.writeable:
            column = column.copy()
            break
        part = part.base
    column.flags.writeable = False
    return column


def _numbered(names: NDArray[Any]) -> NDArray[np.int64]:
    """Return texts as numbers from 1 on, in their sorted order; -1 where there is none."""
    texts = ["" if each is None or each != each else str(each) for each in names.tolist()]  # noqa: PLR0124  NaN is not
    number = {text: at for at, text in enumerate(sorted({*texts} - {""}), start=1)}
    return np.array([number.get(text, _UNKNOWN) for text in texts], np.int64)


def _empty(name: str) -> NDArray[Any]:
    """Return no values, of the type of a column."""
    return np.empty(0, np.float64 if name in _FLOATS else np.int64)


def _rows(column: NDArray[Any], rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> NDArray[Any]:
    """Return these rows of a column of ours, read-only."""
    taken = column[rows]
    taken.flags.writeable = False
    return taken


def _numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Return a column of objects or texts as an array of numbers, if each is one."""
    for row, value in enumerate(values.tolist()):
        if not isinstance(value, Real):
            raise RequestError(must_be(f"column {name}, row {row},", "a number", value))
    return np.array(values.tolist())


def _column(name: str, values: ArrayLike) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return a column as a read-only array of its type; refuse what does not fit."""
    given = np.asarray(values)
    if given.ndim != 1:
        raise RequestError(f"column {name} has {given.ndim} dimensions", "a column has one")
    if not len(given):
        return _frozen(_empty(name))
    if given.dtype.kind in "OUS":
        given = _numbers(name, given)
    if given.dtype.kind not in "iufb":
        kind, hint = _OF_TIME.get(given.dtype.kind, (given.dtype, ""))
        raise RequestError(f"column {name} must be numbers (got {kind})", hint)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        where = int(np.flatnonzero(~np.isfinite(given))[0])
        raise RequestError(must_be(f"column {name}, row {where},", "a finite number", given[where]))
    if name in _FLOATS:
        return _frozen(given, np.float64)
    with np.errstate(invalid="ignore"):  # a number beyond int64 is refused below, in our words
        column = _frozen(given, np.int64)
    if given.dtype.kind in "uf" and (column != given).any():
        where = int(np.flatnonzero(column != given)[0])
        raise RequestError(must_be(f"column {name}, row {where},", "an integer of 64 bits", given[where]))
    return column


def _limits(given: NDArray[Any], none: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the limits of a table that says by missing values which jobs have none: those of the others are > 0."""
    asked = _column("estimate_s", np.where(none, NO_LIMIT, given))
    bad = np.flatnonzero(~none & ~(asked > 0))
    if len(bad):
        expected = "a number of seconds > 0, or missing for a job without a limit, as others are"
        raise RequestError(must_be(f"column estimate_s, row {bad[0]},", expected, given[bad[0]]))
    return asked


def _count(count: int, what: str) -> str:
    """Return a count with what is counted: ``1 job``, ``2 jobs``."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _row(job: Job) -> dict[str, float]:
    """Return the columns of a job, and its further numbers, by name."""
    return {**(job.extras or {}), **{name: getattr(job, name) for name in COLUMNS}}


def _read(path: "str | PathLike[str]") -> "Workload":
    """Return the workload of a file, by the reader that is installed."""
    read = plugin("read_workload")
    if read is None:
        what = f"no package that reads workloads is installed, and {str(path)!r} is a path"
        raise RequestError(what, "install schedlab (pip install .), or hand over workloads.read(path)")
    found: Workload = read(path)
    return found


def _hint(given: object, parts: tuple[object, ...]) -> str:
    """Return what helps whoever gave something that does not stand for a workload."""
    if hasattr(given, "workload"):
        return "its .workload is one"
    if isinstance(given, np.ndarray):
        return "name its columns: pd.DataFrame(array, columns=[...])"
    if any(isinstance(each, Workload) for each in parts):
        return "Workload.concat puts several together"
    return ""


_OF_WORKFLOWS: Final = ("job_id", "submit_s", "runtime_s", "cores")
"""The columns that workflows say."""


@dataclass(frozen=True, slots=True, eq=False)
class Tasks:
    """Which rows of a workload are tasks of workflows.

    Parameters
    ----------
    workflows
        The workflows, in input order.
    first
        int64[workflows], the row of each one's first task; its other tasks follow in the rows below.
    workflow
        int64[n], the number of the workflow that each row belongs to; -1 for a rigid job.
    columns
        The columns of the workload that `Workload.of_workflows` made: if these are its columns, they are unchanged.

    Raises
    ------
    RequestError
        A workflow is there twice: the object, by which schedulers and schedules know it.
    """

    workflows: tuple[Workflow, ...]
    first: NDArray[np.int64]
    workflow: NDArray[np.int64]
    columns: tuple[NDArray[Any], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse a workflow that is there twice."""
        if len(set(map(id, self.workflows))) == len(self.workflows):
            return
        times = Counter(map(id, self.workflows))
        flow = next(each for each in self.workflows if times[id(each)] > 1)
        what = f"job {flow.job_id} is {times[id(flow)]} times in a workload, as one object"
        raise RequestError(what, "add copies of it (dataclasses.replace)")

    @property
    def task(self) -> NDArray[np.int64]:
        """Return int64[n], the number of each row's task in its workflow; 0 for a rigid job."""
        rows = np.arange(len(self.workflow))
        return np.where(self.workflow >= 0, rows - np.append(self.first, 0)[self.workflow], 0)

    def rows(self, chosen: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.int64]:
        """Return int64[tasks], the rows of the tasks of these workflows, in the order given."""
        sizes = np.array([len(workflow) for workflow in self.workflows], np.int64)[chosen]
        return ranges(self.first[chosen], sizes)

    @property
    def kind(self) -> NDArray[np.object_]:
        """Return object[n], the kind of cluster that each row needs; None for any."""
        kind = np.full(len(self.workflow), None, dtype=object)
        for first, workflow in zip(self.first.tolist(), self.workflows, strict=True):
            kind[first : first + len(workflow)] = workflow.kind
        return kind

    @property
    def edges(self) -> NDArray[np.int64]:
        """Return int64[edges, 2], pairs of rows: the second needs the data of the first."""
        pairs = [workflow.edges + first for workflow, first in zip(self.workflows, self.first, strict=True)]
        return np.concatenate(pairs) if pairs else np.empty((0, 2), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Workload(Guided):
    """Jobs as columns of equal length, in input order; nothing of it can be changed in place.

    A row is a rigid job or a task of a workflow (see `of_workflows` and `concat`).

    A workload says what a log says, and a log may hold jobs that cannot run. These stay in, so that
    nothing is lost silently; `workloads.clean` takes them out and counts them. A simulation leaves out
    jobs of unknown cores or runtime (-1), and says how many; impossible ones it refuses by name.

    Parameters
    ----------
    job_id
        int64[n], the jobs' numbers.
    submit_s, runtime_s, estimate_s
        float64[n], seconds since the trace's zero, seconds, seconds.
    cores
        int64[n], how many cores each job needs.
    user_id
        int64[n], -1 where unknown; None for all unknown.
    name
        Its name in figures and tables.
    max_cores
        The size of the machine it was taken from, if known.
    start_unix_s
        The instant of the trace's zero, in seconds since 1970-01-01 UTC, if known.
    header
        The comment lines of the file it came from, as they stood.
    counts
        What its reader and its filters did, each with how often.
    extras
        Further columns of length n (for an SWF log: its other fields), cut along with the rest.
    tasks
        Which rows are tasks of workflows; None if each row is a rigid job (`is_rigid`).

    Raises
    ------
    RequestError
        A column is not of finite numbers (whole ones for job_id, cores and user_id), the columns differ in length,
        a further column has the name of one of the six, or max_cores is below 1.

    Notes
    -----
    An array that can still be written to is copied, so that no later change of it reaches the workload; an array that
    is read-only, down to the memory it is a view of, is kept as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> import simmodels as sm
    >>> table = pd.DataFrame({"submit_s": [0, 1, 2], "runtime_s": [10, 10, 5], "cores": [1, 2, 1]})
    >>> log = sm.Workload.from_frame(table, max_cores=2)
    >>> log
    <Workload 'workload': 3 jobs, max_cores=2>
    >>> log.head(2).job(1)
    Job(job_id=2, submit_s=1.0, runtime_s=10.0, estimate_s=10.0, cores=2, user_id=-1)
    >>> log.scale_load(0.9).submit_s.round(2).tolist()
    [0.0, 1.11, 2.22]
    """

    _instead: ClassVar = {
        "[]": "its columns are arrays (.cores); to_frame() is a table, job(row) a job, take(rows) a smaller workload",
        "jobs": "to_frame() makes a table of them",
        "plot": "simulate it, and draw the schedule: simulate(...).plot.gantt()",
        **dict.fromkeys(("to_csv", "to_parquet"), "to_frame() makes a table, which has it"),
        **dict.fromkeys(
            ("from_file", "from_csv", "read_csv", "read", "load", "from_swf", "read_swf"),
            "Workload.of(path) reads a file, and workloads.read too",
        ),
        **dict.fromkeys(("from_dict", "from_records", "from_list", "from_jobs"), "Workload.of takes them"),
        **dict.fromkeys(("from_pandas", "from_dataframe", "from_df"), "Workload.from_frame takes a table"),
    }

    job_id: NDArray[np.int64]
    submit_s: NDArray[np.float64]
    runtime_s: NDArray[np.float64]
    estimate_s: NDArray[np.float64]
    cores: NDArray[np.int64]
    user_id: NDArray[np.int64] = None  # type: ignore[assignment]  # None is filled in below
    name: str = "workload"
    max_cores: int | None = None
    start_unix_s: int | None = None
    header: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    extras: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    tasks: Tasks | None = None

    def __post_init__(self) -> None:
        """Make the columns read-only arrays of their types, and check their lengths."""
        object.__setattr__(self, "job_id", _column("job_id", self.job_id))
        rows = len(self.job_id)
        if self.user_id is None:
            object.__setattr__(self, "user_id", np.full(rows, -1, dtype=np.int64))
        for name in COLUMNS:
            object.__setattr__(self, name, _column(name, getattr(self, name)))
        extras = {name: _frozen(np.asarray(column)) for name, column in self.extras.items()}
        for name, column in [*((c, getattr(self, c)) for c in COLUMNS), *extras.items()]:
            if len(column) != rows:
                raise RequestError(f"column {name} has {len(column)} rows", f"job_id has {rows}")
        for name, column in extras.items():
            if name in COLUMNS:
                raise RequestError(f"a further column is named {name}", "give it a name other than those of the six")
            if column.ndim != 1:
                raise RequestError(f"column {name} has {column.ndim} dimensions", "a column has one")
        if self.max_cores is not None and self.max_cores < 1:
            raise RequestError(must_be("max_cores", "an integer >= 1, or None", self.max_cores))
        object.__setattr__(self, "header", tuple(self.header))
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))
        object.__setattr__(self, "extras", MappingProxyType(extras))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments (a read-only mapping cannot be pickled)."""
        columns = tuple(getattr(self, name) for name in COLUMNS)
        about = (self.name, self.max_cores, self.start_unix_s, self.header)
        return type(self), (*columns, *about, dict(self.counts), dict(self.extras), self.tasks)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.job_id)

    def __repr__(self) -> str:
        """Return a line about it."""
        size = "" if self.max_cores is None else f", max_cores={self.max_cores}"
        jobs = _count(len(self), "job")
        if self.tasks is not None:
            rigid = f"{_count(int(self.rigid().sum()), 'rigid job')}, " if self.rigid().any() else ""
            flows = len(self.tasks.workflows)
            tasks = len(self) - int(self.rigid().sum())
            jobs = f"{rigid}{_count(flows, 'workflow')} of {_count(tasks, 'task')}"
        return f"<Workload {self.name!r}: {jobs}{size}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how much is asked for, and when."""
        known, title = self.known(), repr(self).strip("<>")
        if not known.any():
            return card(title, {})
        submit_s, work_core_s = self.submit_s[known], self.runtime_s[known] * self.cores[known]
        span_s = float(np.ptp(submit_s))
        users = len(np.unique(self.user_id[self.user_id >= 0]))
        figures = {
            "first to last submission": duration(span_s),
            "work": f"{number(work_core_s.sum() / HOUR)} core-hours",
            "median runtime": duration(float(np.median(self.runtime_s[known]))),
            "median cores": number(float(np.median(self.cores[known]))),
            "most cores": number(float(self.cores[known].max())),
        }
        if users:
            figures["users"] = number(users)
        if self.max_cores is not None and span_s > 0:
            figures["offered load"] = share(float(work_core_s.sum() / span_s / self.max_cores))
        if not known.all():
            figures["jobs of unknown cores or runtime"] = number(int((~known).sum()))
        asked = np.histogram(submit_s, SLICES, weights=work_core_s)[0] / (max(span_s, 1.0) / SLICES)
        size = None if self.max_cores is None or span_s == 0 else float(self.max_cores)
        chart = line_chart(asked, "work submitted, as cores kept busy", line=size, ends=("0 s", duration(span_s)))
        return card(title, figures, chart)

    # -- what stands for one --------------------------------------------------------------------

    @classmethod
    def of(cls, given: "WorkloadLike") -> "Workload":
        """Return the workload that something stands for; every function that needs a workload accepts as much.

        Parameters
        ----------
        given
            A `Workload`; the path of a file, which `workloads.read` reads; a table with the columns that `from_frame`
            needs: a DataFrame, a mapping of columns, or one mapping per job; `Job` records; a `Workflow`, or several.
            A table knows no size of the machine: give `cores` where it is simulated, or use `from_frame`.

        Raises
        ------
        RequestError
            It is none of these, or a column is not what it must be.
        FileFormatError
            The file cannot be read.

        Examples
        --------
        >>> import simmodels as sm
        >>> sm.Workload.of([{"submit_s": 0, "runtime_s": 10, "cores": 2}, {"submit_s": 5, "runtime_s": 3, "cores": 1}])
        <Workload 'workload': 2 jobs>
        """
        if isinstance(given, Workload):
            return given
        if isinstance(given, str | PathLike):
            return _read(given)
        table: Any = given
        if isinstance(given, np.ndarray) and given.dtype.names:
            table = {name: given[name] for name in given.dtype.names}
        if isinstance(table, Mapping) or hasattr(table, "columns"):
            return cls.from_frame(table)
        whole = isinstance(given, Workflow | np.ndarray) or not isinstance(given, Iterable)
        parts: tuple[Any, ...] = (table,) if whole else tuple(table)
        if all(isinstance(each, Workflow) for each in parts):
            return cls.of_workflows(parts)
        if all(isinstance(each, Job | Mapping) for each in parts):
            rows = [_row(each) if isinstance(each, Job) else each for each in parts]
            names = dict.fromkeys(name for row in rows for name in row)
            return cls.from_frame({name: [row.get(name, np.nan) for row in rows] for name in names})
        raise RequestError(must_be("workload", _WORKLOAD, given), _hint(given, parts))

    # -- workflows ------------------------------------------------------------------------------

    @classmethod
    def of_workflows(cls, workflows: Iterable[Workflow], *, name: str = "workload") -> Self:
        """Return workflows as a workload: one row per task, workflow by workflow.

        A task has the number and the submission of its job, and its runtime as its estimate.
        """
        given = as_tuple("workflows", workflows, "a list of workflows")
        flows = tuple(as_instance("workflows", each, Workflow) for each in given)
        sizes = np.array([len(flow) for flow in flows], np.int64)
        number = np.repeat(np.arange(len(flows)), sizes)
        runtime_s = np.concatenate([np.empty(0), *(flow.runtime_s for flow in flows)])
        tasks = Tasks(flows, np.cumsum(sizes) - sizes, number)
        made = cls(
            np.array([flow.job_id for flow in flows], np.int64)[number],
            np.array([flow.submit_s for flow in flows], np.float64)[number],
            runtime_s,
            runtime_s,
            np.concatenate([np.empty(0, np.int64), *(flow.cores for flow in flows)]),
            name=name,
            tasks=tasks,
        )
        object.__setattr__(tasks, "columns", tuple(getattr(made, name) for name in _OF_WORKFLOWS))
        return made

    @classmethod
    def concat(cls, parts: "Iterable[Workload | Workflow | Iterable[Workflow]]", *, name: str = "workload") -> Self:
        """Return one workload of several: logs, workflows, or both; the rows follow each other in this order.

        Parameters
        ----------
        parts
            Workloads, workflows and lists of workflows. Extras that not all of them have are dropped.
        name
            What the whole is called.

        Notes
        -----
        `counts` are added up; `max_cores`, `start_unix_s` and `header` are not kept.
        """
        made: list[Workload] = []
        for part in as_tuple("parts", parts, "a list of workloads and workflows"):
            if isinstance(part, Workload):
                made.append(part)
            else:
                flows = [part] if isinstance(part, Workflow) else as_tuple("parts", part, "workloads and workflows")
                made.append(cls.of_workflows([as_instance("parts", each, Workflow) for each in flows]))
        counts: dict[str, int] = {}
        for part in made:
            for what, count in part.counts.items():
                counts[what] = counts.get(what, 0) + count
        shared = [each for each in (made[0].extras if made else ()) if all(each in part.extras for part in made)]
        columns: dict[str, Any] = {
            column: np.concatenate([_empty(column), *(getattr(part, column) for part in made)]) for column in COLUMNS
        }
        whole = cls(
            **columns,
            name=name,
            counts=counts,
            extras={each: np.concatenate([part.extras[each] for part in made]) for each in shared},
        )
        if all(part.is_rigid for part in made):
            return whole
        workflows: list[Workflow] = []
        first, number, rows = [], [], 0
        for part in made:
            if part.tasks is None:
                number.append(np.full(len(part), -1, np.int64))
            else:
                number.append(np.where(part.tasks.workflow >= 0, part.tasks.workflow + len(workflows), -1))
                first.append(part.tasks.first + rows)
                workflows += part.tasks.workflows
            rows += len(part)
        return replace(whole, tasks=Tasks(tuple(workflows), np.concatenate(first), np.concatenate(number)))

    @property
    def is_rigid(self) -> bool:
        """Whether each row is a rigid job: none is a task of a workflow."""
        return self.tasks is None

    @property
    def workflows(self) -> tuple[Workflow, ...]:
        """Return the workflows, in input order."""
        return () if self.tasks is None else self.tasks.workflows

    def require_unchanged(self) -> None:
        """Refuse a workload with rows of workflows that are not those of the workflows.

        Raises
        ------
        RequestError
            Naming the column.
        """
        if self.tasks is None:
            return
        columns = self.tasks.columns
        if columns and all(getattr(self, name) is kept for name, kept in zip(_OF_WORKFLOWS, columns, strict=True)):
            return
        made, rows = Workload.of_workflows(self.workflows), self.tasks.rows()
        for name in _OF_WORKFLOWS:
            if not np.array_equal(getattr(made, name), getattr(self, name)[rows]):
                what = f"column {name} of workload {self.name!r} is not that of its workflows"
                raise RequestError(what, "change the workflows")

    def rigid(self) -> NDArray[np.bool_]:
        """Return bool[n], whether each row is a rigid job."""
        return np.ones(len(self), np.bool_) if self.tasks is None else self.tasks.workflow < 0

    def label(self, row: int) -> str:
        """Return what a row is called in errors: ``job 7``, or ``job 7, task fft``."""
        label = f"job {self.job_id[row]}"
        if self.tasks is not None and self.tasks.workflow[row] >= 0:
            number = self.tasks.workflow[row]
            label += f", task {self.tasks.workflows[number].label(int(row - self.tasks.first[number]))}"
        return label

    # -- cutting and moving ---------------------------------------------------------------------

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Self:
        """Return the workload of these rows, in the order given (indices, a mask or a slice).

        Tasks of workflows become rigid jobs, each by itself.
        """
        if not isinstance(rows, slice):
            found = np.asarray(rows)
            if found.ndim != 1 or (found.size and found.dtype.kind not in "iub"):
                raise RequestError(must_be("rows", "numbers of rows, a mask or a slice", rows))
        columns: dict[str, Any] = {name: _rows(getattr(self, name), rows) for name in COLUMNS}
        extras = {k: _rows(v, rows) for k, v in self.extras.items()}
        return replace(self, **columns, extras=extras, tasks=None)

    def head(self, jobs: int) -> Self:
        """Return the first `jobs` jobs by (submit, input position)."""
        jobs = as_integer("jobs", jobs, 0)
        return self.take(np.sort(np.argsort(self.submit_s, kind="stable")[:jobs]))

    def between(self, start_s: Duration, end_s: Duration) -> Self:
        """Return the jobs submitted in the half-open window [start_s, end_s), times unchanged."""
        start_s, end_s = as_seconds("start_s", start_s, finite=False), as_seconds("end_s", end_s, finite=False)
        if not start_s <= end_s:
            raise RequestError(must_be("start_s", f"at most end_s, {brief(end_s)}", start_s))
        return self.take((self.submit_s >= start_s) & (self.submit_s < end_s))

    def shift(self, by_s: Duration | None = None) -> Self:
        """Return the workload submitted `by_s` seconds later; None puts the first submit at 0."""
        if by_s is None:
            by_s = -float(self.submit_s.min()) if len(self) else 0.0
        by_s = as_seconds("by_s", by_s)
        self._require_rigid("shift")
        zero = self.start_unix_s
        kept = None if zero is None or by_s != int(by_s) else zero - int(by_s)
        return replace(self, submit_s=self.submit_s + by_s, start_unix_s=kept)

    def scale_load(self, factor: float) -> Self:
        """Return the workload with `factor` times the load: gaps between submits divided by it.

        The first submit stays where it is; runtimes, estimates and cores do not change.
        """
        as_number("factor", factor, above=0)
        self._require_rigid("scale_load")
        first = self.submit_s.min() if len(self) else 0.0
        return replace(self, submit_s=first + (self.submit_s - first) / factor, start_unix_s=None)

    def _require_rigid(self, method: str) -> None:
        if not self.is_rigid:
            raise RequestError(f"{method} of a workload with workflows", "change their submit_s (dataclasses.replace)")

    # -- tables ---------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Return a table: one row per job, input order, the six columns and then the extras."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        return pd.DataFrame({**columns, **self.extras})

    @classmethod
    def from_frame(
        cls,
        frame: "pd.DataFrame | Mapping[str, ArrayLike]",
        *,
        name: str = "workload",
        max_cores: int | None = None,
        start_unix_s: int | None = None,
        header: Iterable[str] = (),
        counts: Mapping[str, int] | None = None,
    ) -> Self:
        """Return the workload of a table.

        Parameters
        ----------
        frame
            A DataFrame, or columns by name. The columns ``submit_s, runtime_s, cores`` are needed; ``job_id`` (default
            1, 2, ...), ``estimate_s`` (default runtime_s) and ``user_id`` (default -1) may be omitted; other columns
            become `extras`. A job whose ``estimate_s`` is missing (NaN, None, NaT) has no limit: see `unlimited`; that
            of all others is > 0 then. Users who are texts, in
            ``user_id`` or ``user``, are numbered 1, 2, ... by name, and keep their names in the extra ``user``.
        name, max_cores, start_unix_s, header, counts
            As for the class.

        Raises
        ------
        RequestError
            A needed column is missing, or a column is not of numbers; or a limit is -1 or 0 where others are missing.
        """
        table: Any = frame
        if not (isinstance(table, Mapping) or hasattr(table, "columns")):
            raise RequestError(must_be("frame", "a DataFrame, or columns by name", table))
        columns: dict[str, Any] = {str(each): np.asarray(table[each]) for each in getattr(table, "columns", table)}
        missing = [each for each in _NEEDED if each not in columns]
        if missing:
            has = f"{listed(columns)}; {listed(missing)} missing" if columns else "no columns"
            raise RequestError(f"a table of jobs must have the columns {listed(_NEEDED)} (got {has})")
        rows = np.size(columns["submit_s"])
        given = columns.get("estimate_s")
        if given is not None and given.dtype.kind in {"f", "O"} and (none := pd.isna(given)).any():
            asked, runtime_s = _limits(given, none), _column("runtime_s", columns["runtime_s"])
            found, filled_in = estimates(asked, runtime_s, columns.get("partition"))
            columns |= {"estimate_s": np.where(none, found, asked), REQUESTED: asked}
            counts = {**(counts or {}), **filled_in}
        named = next((each for each in ("user_id", "user") if each in columns), None)
        if named is not None and columns[named].dtype.kind in "OUS":
            names = np.asarray(table[named], object)  # NaN beside texts would become one
            if any(isinstance(each, str) for each in names.flat):
                columns = {"user": names, **columns, "user_id": _numbered(names)}
        elif named == "user":
            columns["user_id"] = columns["user"]
        filled: dict[str, Any] = {
            "job_id": np.arange(1, rows + 1),
            "estimate_s": columns["runtime_s"],
            "user_id": np.full(rows, -1),
            **columns,
        }
        return cls(
            **{each: filled.pop(each) for each in COLUMNS},
            name=name,
            max_cores=max_cores,
            start_unix_s=start_unix_s,
            header=tuple(header),
            counts={} if counts is None else counts,
            extras=filled,
        )

    def job(self, row: int) -> Job:
        """Return the job of an input row as a record."""
        return Job(
            int(self.job_id[row]),
            float(self.submit_s[row]),
            float(self.runtime_s[row]),
            float(self.estimate_s[row]),
            int(self.cores[row]),
            int(self.user_id[row]),
            Numbers(self.numbers, row),
        )

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """Return the `extras` that are numbers, which orders may name."""
        return {name: column for name, column in self.extras.items() if column.dtype.kind in "iufb"}

    # -- what can run -----------------------------------------------------------------------------

    def runnable(self, cores: int | None = None) -> NDArray[np.bool_]:
        """Return bool[n]: the job has cores >= 1 (and <= `cores`), runtime >= 0 and estimate >= 0.

        And its submit, and its end if it started then, are less than 2**53 s from 0, beyond which floats cannot
        represent every second, and runtimes would be lost.
        """
        good = (self.cores >= 1) & (self.runtime_s >= 0) & (self.estimate_s >= 0)
        good &= ~too_far(self.submit_s, self.submit_s + self.runtime_s)
        return good if cores is None else good & (self.cores <= as_number("cores", cores, finite=False))

    def known(self) -> NDArray[np.bool_]:
        """Return bool[n]: the job's cores and runtime are known (not -1, the unknown of logs).

        Logs hold jobs that were cancelled before they ran. A simulation leaves a job out of which
        one of the two is unknown: its row stays, unfinished and outside the metrics.
        """
        known: NDArray[np.bool_] = (self.cores != _UNKNOWN) & (self.runtime_s != _UNKNOWN)
        return known

    def unlimited(self) -> NDArray[np.bool_]:
        """Return bool[n]: the job has no time limit, as far as its log says which have none.

        These have an extra ``requested_s`` that is not > 0. Readers give them, as their estimate, the longest limit of
        their partition, or of the log where that has none; in a log without any limits, their runtime.

        Examples
        --------
        >>> import simmodels as sm
        >>> table = {"submit_s": [0, 1], "runtime_s": [10, 20], "estimate_s": [60, float("nan")], "cores": [1, 2]}
        >>> log = sm.Workload.from_frame(table)
        >>> log.estimate_s.tolist(), log.unlimited().tolist()
        ([60.0, 60.0], [False, True])
        """
        asked = self.numbers.get(REQUESTED)
        return np.zeros(len(self), np.bool_) if asked is None else ~(asked > 0)

    def require_runnable(self, cores: int) -> None:
        """Refuse the workload if a job of it (known, as above) can never run on `cores` cores.

        Raises
        ------
        RequestError
            It holds workflows: their tasks wait for each other, which whoever asks does not heed.
        ImpossibleJobError
            Naming the first such job, the value, the limit, and how many more there are.
        """
        if self.tasks is not None and len(self.tasks.workflows):
            raise RequestError(
                f"a scheduler of rigid jobs got workflows (job {self.tasks.workflows[0].job_id} is the first)",
                "an Auctioneer, or simulate with a bid, takes them",
            )
        bad = np.flatnonzero(~self.runnable(cores) & self.known())
        if not len(bad):
            return
        job = self.job(int(bad[0]))
        if job.cores > cores:
            what = f"needs {job.cores} cores, and the machine has {cores}"
        elif job.cores < 1:
            what = must_be("cores", "an integer >= 1", job.cores)
        elif job.runtime_s < 0:
            what = must_be("runtime_s", "a number of seconds >= 0", job.runtime_s)
        elif job.estimate_s < 0:
            what = must_be("estimate_s", "a number of seconds >= 0", job.estimate_s)
        elif too_far(job.submit_s):
            what = too_far_text("submit_s", job.submit_s)
        else:
            what = too_far_text("submit_s + runtime_s", job.submit_s + job.runtime_s)
        raise ImpossibleJobError(job.job_id, what, len(bad) - 1)


WorkloadLike: TypeAlias = (
    "Workload | str | PathLike[str] | pd.DataFrame | Mapping[str, ArrayLike] | Workflow | Iterable[Workflow] "
    "| Iterable[Job] | Iterable[Mapping[str, float]]"
)
"""What stands for a workload: see `Workload.of`."""
