"""Workload: the jobs that go into a simulation, as immutable columns."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simmodels.errors import ImpossibleJobError, RequestError, brief, must_be
from simmodels.ground.arguments import Guided, as_instance, as_tuple
from simmodels.ground.cards import card
from simmodels.ground.durations import Duration, as_seconds
from simmodels.ground.instants import LIMIT_S
from simmodels.ground.later import pd
from simmodels.ground.numbers import as_integer, as_number
from simmodels.work.card import counted, workload_card
from simmodels.work.columns import COLUMNS, UNKNOWN, as_extras, as_job_column, empty, names_of, require_alike, taken
from simmodels.work.frame import columns_of, hint, read_file
from simmodels.work.job import Job, Numbers
from simmodels.work.tasks import OF_WORKFLOWS, Tasks, tasks_of
from simmodels.work.time_limits import REQUESTED
from simmodels.work.workflow import Workflow

__all__ = ["COLUMNS", "Job", "Numbers", "Tasks", "Workload", "WorkloadLike"]


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
    _found: tuple[float, bool] | None = field(default=None, init=False, repr=False)  # see `_looked_through`

    def __post_init__(self) -> None:
        """Make the columns read-only arrays of their types, and check their lengths."""
        if self.user_id is None:
            object.__setattr__(self, "user_id", np.full(np.shape(self.job_id), -1, dtype=np.int64))
        for name in COLUMNS:
            object.__setattr__(self, name, as_job_column(name, getattr(self, name)))
        extras, rows = as_extras(self.extras), len(self.job_id)
        for name, column in [*((c, getattr(self, c)) for c in COLUMNS), *extras.items()]:
            if len(column) != rows:
                raise RequestError(f"column {name} has {len(column)} rows", f"job_id has {rows}")
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
        jobs = counted(len(self), "job")
        if self.tasks is not None:
            rigid = f"{counted(int(self.rigid().sum()), 'rigid job')}, " if self.rigid().any() else ""
            flows = len(self.tasks.workflows)
            tasks = len(self) - int(self.rigid().sum())
            jobs = f"{rigid}{counted(flows, 'workflow')} of {counted(tasks, 'task')}"
        return f"<Workload {self.name!r}: {jobs}{size}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how much is asked for, and when."""
        known, title = self.known(), repr(self).strip("<>")
        if not known.any():
            return card(title, {})
        columns = {name: getattr(self, name)[known] for name in COLUMNS}
        return workload_card(title, columns, self.max_cores, int((~known).sum()))

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
            read: Workload = read_file(given)
            return read
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
            rows = [each.columns if isinstance(each, Job) else each for each in parts]
            names = dict.fromkeys(name for row in rows for name in row)
            return cls.from_frame({name: [row.get(name, np.nan) for row in rows] for name in names})
        what = must_be("workload", "a Workload, a path, a table of jobs, or workflows", given)
        raise RequestError(what, hint(given, several=any(isinstance(each, Workload) for each in parts)))

    # -- workflows ------------------------------------------------------------------------------

    @classmethod
    def of_workflows(cls, workflows: Iterable[Workflow], *, name: str = "workload") -> Self:
        """Return workflows as a workload: one row per task, workflow by workflow.

        A task has the number and the submission of its job, and its runtime as its estimate.
        """
        given = as_tuple("workflows", workflows, "a list of workflows")
        tasks, columns = tasks_of(tuple(as_instance("workflows", each, Workflow) for each in given))
        made = cls(**columns, name=name, tasks=tasks)
        object.__setattr__(tasks, "columns", tuple(getattr(made, name) for name in OF_WORKFLOWS))
        return made

    @classmethod
    def concat(
        cls,
        parts: "Iterable[Workload | Workflow | Iterable[Workflow]]",
        *,
        name: str = "workload",
        alike: bool = True,
    ) -> Self:
        """Return one workload of several: logs, workflows, or both; the rows follow each other in this order.

        The `counts` are added up; `max_cores`, `start_unix_s` and `header` are not kept.

        Parameters
        ----------
        parts
            Workloads, workflows and lists of workflows. Extras that not all of them have are dropped.
        name
            What the whole is called.
        alike
            Refuse (`RequestError`) parts that number users, or others that have names, otherwise than another.
        """
        made: list[Workload] = []
        for part in as_tuple("parts", parts, "a list of workloads and workflows"):
            if isinstance(part, Workload):
                made.append(part)
            else:
                flows = [part] if isinstance(part, Workflow) else as_tuple("parts", part, "workloads and workflows")
                made.append(cls.of_workflows([as_instance("parts", each, Workflow) for each in flows]))
        counts = Counter[str]()
        for part in made:
            counts.update(part.counts)
        shared = [each for each in (made[0].extras if made else ()) if all(each in part.extras for part in made)]
        columns: dict[str, Any] = {
            column: np.concatenate([empty(column), *(getattr(part, column) for part in made)]) for column in COLUMNS
        }
        extras = {each: np.concatenate([part.extras[each] for part in made]) for each in shared}
        whole = cls(**columns, name=name, counts=counts, extras=extras)
        for column in ("user", *whole.numbers) if alike and len(made) > 1 else ():
            require_alike(column, whole.names(column), [part.names(column) for part in made])
        if all(part.is_rigid for part in made):
            return whole
        return replace(whole, tasks=Tasks.concat([part.tasks for part in made], list(map(len, made))))

    @property
    def is_rigid(self) -> bool:
        """Whether each row is a rigid job: none is a task of a workflow."""
        return self.tasks is None

    @property
    def workflows(self) -> tuple[Workflow, ...]:
        """Return the workflows, in input order."""
        return () if self.tasks is None else self.tasks.workflows

    def require_unchanged(self) -> None:
        """Refuse a workload with rows of workflows that are not those of the workflows."""
        if self.tasks is None:
            return
        columns = self.tasks.columns
        if columns and all(getattr(self, name) is kept for name, kept in zip(OF_WORKFLOWS, columns, strict=True)):
            return
        made, rows = Workload.of_workflows(self.workflows), self.tasks.rows()
        for name in OF_WORKFLOWS:
            if not np.array_equal(getattr(made, name), getattr(self, name)[rows]):
                what = f"column {name} of workload {self.name!r} is not that of its workflows"
                raise RequestError(what, "change the workflows")

    def rigid(self) -> NDArray[np.bool_]:
        """Return bool[n], whether each row is a rigid job."""
        return np.ones(len(self), np.bool_) if self.tasks is None else self.tasks.workflow < 0

    def label(self, row: int) -> str:
        """Return what a row is called in errors: ``job 7``, or ``job 7, task fft``."""
        return f"job {self.job_id[row]}{'' if self.tasks is None else self.tasks.label(row)}"

    # -- cutting and moving ---------------------------------------------------------------------

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Self:
        """Return the workload of these rows, in the order given (indices, a mask or a slice).

        Tasks of workflows become rigid jobs, each by itself.
        """
        if not isinstance(rows, slice):
            found = np.asarray(rows)
            if found.ndim != 1 or (found.size and found.dtype.kind not in "iub"):
                raise RequestError(must_be("rows", "numbers of rows, a mask or a slice", rows))
        columns: dict[str, Any] = {name: taken(getattr(self, name), rows) for name in COLUMNS}
        extras = {k: taken(v, rows) for k, v in self.extras.items()}
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

    def to_frame(self) -> "pd.DataFrame":
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
            of all others is > 0 then. Users who are texts, in ``user_id`` or ``user``, are numbered 1, 2, ... by name,
            and keep their names in the extra ``user``.
        name, max_cores, start_unix_s, header, counts
            As for the class.

        Raises
        ------
        RequestError
            A needed column is missing, or a column is not of numbers; or a limit is -1 or 0 where others are missing.
        """
        columns, filled_in = columns_of(frame)
        return cls(
            **{each: columns.pop(each) for each in COLUMNS},
            name=name,
            max_cores=max_cores,
            start_unix_s=start_unix_s,
            header=tuple(header),
            counts={**(counts or {}), **filled_in},
            extras=columns,
        )

    def job(self, row: int) -> Job:
        """Return the job of an input row as a record."""
        values = {name: getattr(self, name)[row].item() for name in COLUMNS}
        return Job(**values, extras=Numbers(self.numbers, row))

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """Return the `extras` that are numbers, which orders may name."""
        return {name: column for name, column in self.extras.items() if column.dtype.kind in "iufb"}

    @property
    def numbers_by_name(self) -> dict[str, NDArray[Any]]:
        """Return its columns of numbers by name, as `Job.columns` has a job's."""
        return {**self.numbers, **{name: getattr(self, name) for name in COLUMNS}}

    def names(self, column: str) -> dict[str, int]:
        """Return the numbers of the names of a column: of ``"user"``, or of one as ``account``, by ``account_name``."""
        number, name = ("user_id", "user") if column == "user" else (column, f"{column}_name")
        numbers, texts = self.numbers_by_name.get(number), self.extras.get(name)
        return {} if numbers is None or texts is None else names_of(numbers, texts)

    # -- what can run -----------------------------------------------------------------------------

    def runnable(self, cores: int | None = None) -> NDArray[np.bool_]:
        """Return bool[n]: the job has cores >= 1 (and <= `cores`), runtime >= 0 and estimate >= 0.

        And its submit, and its end if it started then, are less than 2**53 s from 0, beyond which floats cannot
        represent every second, and runtimes would be lost.
        """
        good = (self.cores >= 1) & (self.runtime_s >= 0) & (self.estimate_s >= 0)
        good &= (self.submit_s > -LIMIT_S) & (self.submit_s + self.runtime_s < LIMIT_S)
        return good if cores is None else good & (self.cores <= as_number("cores", cores, finite=False))

    def known(self) -> NDArray[np.bool_]:
        """Return bool[n]: the job's cores and runtime are known (not -1, the unknown of logs).

        Logs hold jobs that were cancelled before they ran. A simulation leaves a job out of which
        one of the two is unknown: its row stays, unfinished and outside the metrics.
        """
        known: NDArray[np.bool_] = (self.cores != UNKNOWN) & (self.runtime_s != UNKNOWN)
        return known

    @property
    def is_in_order(self) -> bool:
        """Whether all jobs are known, and sorted by submission, as those of a log should be."""
        return self._looked_through()[1]

    def _looked_through(self) -> tuple[float, bool]:
        """Return the cores on which every known job can run, infinity if there is none, and `is_in_order`.

        Who simulates a log asks for both, often again and again: they are found once, since nothing of it changes.
        """
        if self._found is None:
            known = self.known()
            fit = bool((self.runnable() | ~known).all())
            widest = float(self.cores.max(where=known, initial=0)) if fit else math.inf
            in_order = bool(known.all() and (self.submit_s[1:] >= self.submit_s[:-1]).all())
            object.__setattr__(self, "_found", (widest, in_order))
        return self._found  # type: ignore[return-value]  # it is found

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
        """Refuse the workload if a job of it (known, as above) can never run on `cores` cores (`ImpossibleJobError`).

        Workflows are refused, too: their tasks wait for each other, which whoever asks does not heed.
        """
        if self.tasks is not None and len(self.tasks.workflows):
            raise RequestError(
                f"a scheduler of rigid jobs got workflows (job {self.tasks.workflows[0].job_id} is the first)",
                "an Auctioneer, or simulate with a bid, takes them",
            )
        widest, _ = self._looked_through()
        if widest <= as_number("cores", cores, finite=False):
            return
        bad = ~self.runnable(cores) & self.known()
        count = int(np.count_nonzero(bad))
        job = self.job(int(bad.argmax()))
        raise ImpossibleJobError(job.job_id, job.impossible_on(cores), count - 1)


WorkloadLike: TypeAlias = (
    "Workload | str | PathLike[str] | pd.DataFrame | Mapping[str, ArrayLike] | Workflow | Iterable[Workflow] "
    "| Iterable[Job] | Iterable[Mapping[str, float]]"
)
"""What stands for a workload: see `Workload.of`."""
