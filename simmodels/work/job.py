"""Job: one rigid job, as an immutable record; Numbers: further numbers of it, read from columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from numpy.typing import NDArray

from simmodels.errors import must_be
from simmodels.ground.instants import too_far, too_far_text
from simmodels.work.columns import COLUMNS


@dataclass(frozen=True, slots=True, init=False)
class Job:
    """One rigid job: it needs all its cores, at once, for its whole runtime.

    Parameters
    ----------
    job_id
        The job's number, unique in its workload.
    submit_s
        When it is submitted, in seconds since the trace's zero.
    runtime_s
        How long it really runs, in seconds (>= 0); schedulers do not see it.
    estimate_s
        How long its user said it would run at most, in seconds (>= 0).
    cores
        How many cores it needs (>= 1).
    user_id
        The number of its user; -1 when unknown.
    extras
        Further numbers by name, which orders may name; None for none.

    Examples
    --------
    >>> import simmodels as sm
    >>> job = sm.Job(job_id=1, submit_s=0.0, runtime_s=60.0, estimate_s=100.0, cores=4)
    >>> sm.simulate([job], cores=4).end_s.tolist()
    [60.0]
    """

    job_id: int
    submit_s: float
    runtime_s: float
    estimate_s: float
    cores: int
    user_id: int = -1
    extras: Mapping[str, float] | None = field(default=None, repr=False, compare=False)

    def __init__(
        self,
        job_id: int,
        submit_s: float,
        runtime_s: float,
        estimate_s: float,
        cores: int,
        user_id: int = -1,
        extras: Mapping[str, float] | None = None,
    ) -> None:
        _set_job_id(self, job_id)
        _set_submit(self, submit_s)
        _set_runtime(self, runtime_s)
        _set_estimate(self, estimate_s)
        _set_cores(self, cores)
        _set_user(self, user_id)
        _set_extras(self, extras)

    @property
    def columns(self) -> dict[str, float]:
        """Return its fields, and its further numbers, by name."""
        return {**(self.extras or {}), **{name: getattr(self, name) for name in COLUMNS}}

    def impossible_on(self, cores: int) -> str:
        """Return why it can never run on this many cores, if it cannot: see `Workload.runnable`."""
        if self.cores > cores:
            return f"needs {self.cores} cores, and the machine has {cores}"
        if self.cores < 1:
            return must_be("cores", "an integer >= 1", self.cores)
        if self.runtime_s < 0:
            return must_be("runtime_s", "a number of seconds >= 0", self.runtime_s)
        if self.estimate_s < 0:
            return must_be("estimate_s", "a number of seconds >= 0", self.estimate_s)
        if too_far(self.submit_s):
            return too_far_text("submit_s", self.submit_s)
        return too_far_text("submit_s + runtime_s", self.submit_s + self.runtime_s)


# The slots themselves: a million jobs are made in half the time that an __init__ by object.__setattr__ takes.
_set_job_id, _set_submit, _set_runtime, _set_estimate, _set_cores, _set_user, _set_extras = (
    getattr(Job, each.name).__set__ for each in fields(Job)
)


class OpenJob:
    """What becomes a `Job` once its fields are set, as those of any object: in half the time that a `Job` takes.

    It takes all that a job does, by position.
    """

    __slots__ = Job.__slots__

    def __init__(
        self,
        job_id: int,
        submit_s: float,
        runtime_s: float,
        estimate_s: float,
        cores: int,
        user_id: int,
        extras: Mapping[str, float] | None,
    ) -> None:
        self.job_id = job_id
        self.submit_s = submit_s
        self.runtime_s = runtime_s
        self.estimate_s = estimate_s
        self.cores = cores
        self.user_id = user_id
        self.extras = extras
        self.__class__ = Job  # type: ignore[assignment]  # both have the same slots


class Numbers(Mapping[str, float]):
    """The numbers of one row of further columns, read when they are asked for.

    Parameters
    ----------
    columns
        The columns, by name.
    row
        The row.
    """

    __slots__ = ("_columns", "_row")

    def __init__(self, columns: Mapping[str, NDArray[Any]], row: int) -> None:
        self._columns = columns
        self._row = row

    def __getitem__(self, name: str) -> float:
        """Return a number by name."""
        return float(self._columns[name][self._row])

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._columns)

    def __len__(self) -> int:
        """Return how many they are."""
        return len(self._columns)
