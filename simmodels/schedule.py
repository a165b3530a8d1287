"""Schedule: when each job of a workload ran, as an immutable record with its table and metrics."""

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from simmodels import metrics
from simmodels.errors import RequestError
from simmodels.files import replacing, write_csv
from simmodels.legality import COMPLETED, KILLED, OUTCOMES, UNFINISHED, Attempts, Claim
from simmodels.workload import Workload

__all__ = ["ATTEMPT_COLUMNS", "COMPLETED", "KILLED", "OUTCOMES", "UNFINISHED", "Schedule"]

ATTEMPT_COLUMNS: Final = ("job_id", "attempt", "start_s", "end_s", "outcome")


def _fixed(name: str, values: ArrayLike, dtype: type[np.generic], rows: int) -> NDArray[np.generic]:
    """Return a read-only column of the type and length that it must have."""
    column = np.ascontiguousarray(values, dtype=dtype)
    if column.shape != (rows,):
        raise RequestError(f"column {name} has shape {column.shape}", f"({rows},) is allowed, a row a job")
    column = column.view()
    column.flags.writeable = False
    return column


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Schedule:
    """When each job of a workload ran; rows are in the input order of the workload.

    The arrays are read-only. A schedule need not be legal: `validate` proves that it is.

    Parameters
    ----------
    workload
        The jobs.
    cores
        The cores of the machine, >= 1.
    start_s
        float64[n], when each job started, in seconds since the trace's zero; NaN where it never
        did. Of a job that ran more than once, the start of its last attempt.
    end_s
        float64[n], when it ended; NaN where it never did.
    outcome
        int8[n]: 0 completed, 1 killed (stopped when its estimate was over), 2 unfinished. None:
        unfinished where `end_s` is NaN, completed elsewhere.
    counted
        bool[n], whether the job counts in the metrics; None: all do.
    executed_s
        float64[n], how long each ended job ran; else NaN. It is taken as given if ``about`` says
        ``runtimes="modelled"`` (the model, not the log, said how long jobs run). Else it is made: the
        runtime, or the estimate of a killed job. Not end - start, which may be off by rounding.
    attempts
        A table with the columns ``job_id, attempt, start_s, end_s, outcome``, one row an attempt,
        needed if some job ran more than once; `attempt` grows with time within a job. One that came to
        nothing has outcome 2 and its interruption as `end_s`. Jobs without a row ran as `start_s` says.
    about
        How it was made: order, backfilling, overrun, engine, seed and so on.

    Raises
    ------
    RequestError
        A column has the wrong length, an outcome is none of the three, `cores` is below 1, or the
        attempts lack a column or name a job that the workload does not have (or has twice).
    """

    workload: Workload
    cores: int
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    _: KW_ONLY
    outcome: NDArray[np.int8] = None  # type: ignore[assignment]  # None is filled in below
    counted: NDArray[np.bool_] = None  # type: ignore[assignment]  # None is filled in below
    executed_s: NDArray[np.float64] = None  # type: ignore[assignment]  # None is filled in below
    attempts: pd.DataFrame | None = None
    about: Mapping[str, object] = field(default_factory=dict)

    if TYPE_CHECKING:  # the arguments, wider than the attributes

        def __init__(
            self,
            workload: Workload,
            cores: int,
            start_s: NDArray[np.float64],
            end_s: NDArray[np.float64],
            *,
            outcome: NDArray[np.integer] | None = None,
            counted: NDArray[np.bool_] | None = None,
            executed_s: NDArray[np.float64] | None = None,
            attempts: pd.DataFrame | None = None,
            about: Mapping[str, object] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Make the columns read-only arrays of their types, and check them."""
        rows = len(self.workload)
        if self.cores < 1:
            raise RequestError(f"a machine of {self.cores} cores", "at least 1 is allowed")
        fix = object.__setattr__
        fix(self, "start_s", _fixed("start_s", self.start_s, np.float64, rows))
        fix(self, "end_s", _fixed("end_s", self.end_s, np.float64, rows))
        if self.outcome is None:
            fix(self, "outcome", np.where(np.isnan(self.end_s), UNFINISHED, COMPLETED))
        if self.counted is None:
            fix(self, "counted", np.ones(rows, dtype=np.bool_))
        fix(self, "outcome", _fixed("outcome", self.outcome, np.int8, rows))
        fix(self, "counted", _fixed("counted", self.counted, np.bool_, rows))
        strange = np.flatnonzero((self.outcome < COMPLETED) | (self.outcome > UNFINISHED))
        if len(strange):
            raise RequestError(f"column outcome, row {strange[0]}: {self.outcome[strange[0]]}", "0, 1, 2 are allowed")
        executed_s = self.executed_s if self.about.get("runtimes") == "modelled" else None
        if executed_s is None:
            executed_s = np.where(self.outcome == KILLED, self.workload.estimate_s, self.workload.runtime_s)
            executed_s[self.outcome == UNFINISHED] = np.nan
        fix(self, "executed_s", _fixed("executed_s", executed_s, np.float64, rows))
        fix(self, "about", MappingProxyType(dict(self.about)))
        if self.attempts is not None:
            fix(self, "attempts", self.attempts.copy())
            self._attempt_rows()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments (a read-only mapping cannot be pickled)."""
        more = {name: getattr(self, name) for name in ("outcome", "counted", "executed_s", "attempts")}
        make = partial(Schedule, **more, about=dict(self.about))
        return make, (self.workload, self.cores, self.start_s, self.end_s)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.start_s)

    def __repr__(self) -> str:
        """Return a line about it."""
        how = "".join(f", {key}={value}" for key, value in self.about.items() if key in {"order", "backfilling"})
        return f"<Schedule of {self.workload.name!r}: {len(self)} jobs on {self.cores} cores{how}>"

    # -- tables ---------------------------------------------------------------------------------

    @property
    def jobs(self) -> pd.DataFrame:
        """A table, built anew at each call: one row a job, input order.

        Columns ``job_id, submit_s, start_s, end_s, wait_s, response_s, executed_s, runtime_s,
        estimate_s, cores, user_id, outcome, counted``, and ``attempts`` (how many) if a table of
        attempts is there. `outcome` is a category: completed, killed, unfinished.
        """
        work = self.workload
        columns: dict[str, object] = {
            "job_id": work.job_id,
            "submit_s": work.submit_s,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "wait_s": metrics.wait_s(work.submit_s, self.start_s),
            "response_s": metrics.response_s(work.submit_s, self.end_s),
            "executed_s": self.executed_s,
            "runtime_s": work.runtime_s,
            "estimate_s": work.estimate_s,
            "cores": work.cores,
            "user_id": work.user_id,
            "outcome": pd.Categorical.from_codes(self.outcome, categories=pd.Index(OUTCOMES)),
            "counted": self.counted,
        }
        if self.attempts is not None:
            started = (~np.isnan(self.start_s)).astype(np.int64)
            listed = np.bincount(self._attempt_rows(), minlength=len(self))
            columns["attempts"] = np.where(listed > 0, listed, started)
        return pd.DataFrame(columns)

    def all_attempts(self) -> pd.DataFrame:
        """Return every attempt at running a job, one row each, whether `attempts` is given or not.

        Columns ``row, attempt, start_s, end_s, outcome``; `row` is the job's input row. The first n
        rows are the jobs' last (mostly: only) attempts, in input order, NaN where a job never
        started; the earlier attempts follow, by (row, attempt).
        """
        return pd.DataFrame(self._attempts()._asdict())

    def _attempts(self) -> Attempts:
        """Return the columns of `all_attempts`."""
        ones = np.ones(len(self), dtype=np.int64)
        only = Attempts(np.arange(len(self)), ones, self.start_s, self.end_s, self.outcome)
        if self.attempts is None or self.attempts.empty:
            return only
        row = self._attempt_rows()
        order = np.lexsort((self.attempts["attempt"].to_numpy(), row))
        last = np.append(np.diff(row[order]) != 0, True)
        final, earlier = order[last], order[~last]
        columns = [np.concatenate((only.row, row[earlier]))]
        for name in ATTEMPT_COLUMNS[1:]:
            column = getattr(only, name).copy()
            given = self.attempts[name].to_numpy().astype(column.dtype)
            column[row[final]] = given[final]
            columns.append(np.concatenate((column, given[earlier])))
        return Attempts(*columns)

    def _attempt_rows(self) -> NDArray[np.int64]:
        """Return the input row of each row of `attempts`; refuse those that have none."""
        if self.attempts is None:
            return np.empty(0, dtype=np.int64)
        missing = [name for name in ATTEMPT_COLUMNS if name not in self.attempts]
        if missing:
            raise RequestError(f"attempts without {', '.join(missing)}", f"{', '.join(ATTEMPT_COLUMNS)} are needed")
        order = np.argsort(self.workload.job_id, kind="stable")
        known, wanted = self.workload.job_id[order], self.attempts["job_id"].to_numpy()
        at = np.searchsorted(known, wanted)
        found = np.searchsorted(known, wanted, side="right") - at
        strange = np.flatnonzero(found != 1)
        if len(strange):
            what, times = f"attempts of job {wanted[strange[0]]}", found[strange[0]]
            raise RequestError(what, f"the workload has {times} jobs of this number; 1 is allowed")
        return order[at]

    # -- over time ------------------------------------------------------------------------------

    def _waits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return when each wait begins and ends: before an attempt, and after one that came to nothing."""
        submit_s = np.where(self.workload.known(), self.workload.submit_s, np.nan)  # who was left out never waited
        if self.attempts is None:
            return submit_s, self.start_s
        row, attempt, start_s, end_s, _ = self._attempts()
        again_s = end_s[: len(self)][self.outcome == UNFINISHED]  # NaN, so no wait, of those that still run
        order = np.lexsort((attempt, row))
        row, start_s, end_s = row[order], start_s[order], end_s[order]
        first = np.append(True, row[1:] != row[:-1])[: len(row)]
        from_s = np.where(first, submit_s[row], np.roll(end_s, 1))
        return np.concatenate((from_s, again_s)), np.concatenate((start_s, np.full(len(again_s), np.nan)))

    def queue_length(self) -> pd.DataFrame:
        """Return how many jobs wait over time: columns ``time_s, queue_length``.

        A row holds from its `time_s` to the next row's; before the first row nothing waits. All jobs
        are in it, those outside the metrics too; one whose attempt came to nothing waits again.
        """
        from_s, to_s = self._waits()
        time_s, length = metrics.step_function(from_s, to_s, np.ones(len(from_s), dtype=np.int64))
        return pd.DataFrame({"time_s": time_s, "queue_length": length})

    def cores_used(self) -> pd.DataFrame:
        """Return how many cores are in use over time: columns ``time_s, cores_used``.

        A row holds from its `time_s` to the next row's; before the first row the machine is idle.
        """
        runs = self._attempts()
        time_s, used = metrics.step_function(runs.start_s, runs.end_s, self.workload.cores[runs.row])
        return pd.DataFrame({"time_s": time_s, "cores_used": used})

    def window_s(self) -> tuple[float, float]:
        """Return the window of the metrics: first submit and last end of the counted jobs; NaN without."""
        ended = self.counted & (self.outcome != UNFINISHED)
        if not ended.any():
            return np.nan, np.nan
        return float(self.workload.submit_s[self.counted].min()), float(self.end_s[ended].max())

    def metrics(self, tau_s: float = 10.0) -> dict[str, float]:
        """Return the figures of merit by name; names end in the unit, counts are whole numbers.

        Of the counted jobs that ended (completed or killed): ``mean_``, ``median_``, ``p95_`` and
        ``max_`` of ``wait_s, response_s, slowdown, bounded_slowdown,
        per_processor_bounded_slowdown, stretch``. Jobs that executed for 0 s have no slowdown, and
        jobs of 0 s of work no stretch; ``jobs_without_slowdown`` and ``jobs_without_stretch`` say
        how many were left out of these two.

        Of the window from the first submit to the last end of counted jobs: ``makespan_s`` (its
        length), ``throughput_jobs_per_hour`` (of counted jobs), and with *all* jobs in it, because
        the machine and its queue are shared with those outside the metrics: ``utilisation``,
        ``mean_queue_length``, ``max_queue_length``.

        Numbers of jobs: ``jobs`` (counted), of these ``completed, killed, unfinished``; and
        ``uncounted_jobs``.

        What has no value (no job ended, a window of no length) is NaN. The formulas and their
        sources are in `simmodels.metrics`.

        Parameters
        ----------
        tau_s
            The bound of the bounded slowdowns, in seconds, > 0.

        Raises
        ------
        RequestError
            `tau_s` is not a finite number > 0.
        """
        chosen = self.counted & (self.outcome != UNFINISHED)
        work = self.workload
        wait_s = metrics.wait_s(work.submit_s, self.start_s)[chosen]
        response_s = metrics.response_s(work.submit_s, self.end_s)[chosen]
        executed_s, runtime_s, cores = self.executed_s[chosen], work.runtime_s[chosen], work.cores[chosen]
        bounded = metrics.bounded_slowdown(wait_s, executed_s, tau_s)
        per_processor = metrics.per_processor_bounded_slowdown(wait_s, executed_s, cores, tau_s)
        window_s = self.window_s()
        makespan_s = window_s[1] - window_s[0]
        runs = self._attempts()
        busy = (runs.start_s, runs.end_s, work.cores[runs.row])
        mean_queue, max_queue = metrics.queue_length(*self._waits(), window_s)
        completed, killed, unfinished = np.bincount(self.outcome[self.counted], minlength=len(OUTCOMES)).tolist()
        return {
            **metrics.describe(wait_s, "wait_s"),
            **metrics.describe(response_s, "response_s"),
            **metrics.describe(metrics.slowdown(response_s, executed_s)[executed_s > 0], "slowdown"),
            **metrics.describe(bounded, "bounded_slowdown"),
            **metrics.describe(per_processor, "per_processor_bounded_slowdown"),
            **metrics.describe(metrics.stretch(response_s, runtime_s)[runtime_s > 0], "stretch"),
            "utilisation": metrics.utilisation(*busy, self.cores, window_s),
            "makespan_s": makespan_s,
            "throughput_jobs_per_hour": metrics.throughput_jobs_per_hour(len(wait_s), makespan_s),
            "mean_queue_length": mean_queue,
            "max_queue_length": max_queue,
            "jobs": completed + killed + unfinished,
            "completed": completed,
            "killed": killed,
            "unfinished": unfinished,
            "uncounted_jobs": int((~self.counted).sum()),
            "jobs_without_slowdown": int((executed_s <= 0).sum()),
            "jobs_without_stretch": int((runtime_s <= 0).sum()),
        }

    # -- files ----------------------------------------------------------------------------------

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table of jobs as CSV, whole or not at all; absent times are empty fields.

        A text that a program for tables would take for a formula has an apostrophe before it, see
        `simmodels.files.write_csv`.

        Raises
        ------
        FileNotFoundError
            The folder of `path` does not exist.
        """
        write_csv(self.jobs, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table of jobs as Parquet, whole or not at all.

        How the schedule was made goes along in the file's metadata: ``pandas.read_parquet(path).attrs``
        holds ``workload``, ``cores`` and ``about``.

        Raises
        ------
        FileNotFoundError
            The folder of `path` does not exist.
        """
        jobs = self.jobs
        about = {key: _plain(value) for key, value in self.about.items()}
        jobs.attrs = {"workload": self.workload.name, "cores": int(self.cores), "about": about}
        with replacing(path) as temporary:
            jobs.to_parquet(temporary, engine="pyarrow", index=False)

    # -- proof ----------------------------------------------------------------------------------

    def validate(self) -> Self:
        """Return the schedule itself if a machine could have run it so; raise if not.

        The rules, by the names that the error gives:

        ``outcome``
            A job that ended has a finite start and end; an unfinished one has no end.
        ``width``
            A job that started needs at least one core and no more than the machine has.
        ``submit``
            No job starts before its submit.
        ``end``
            A completed job ends at start + runtime, a killed one at start + estimate, exactly (in
            float64); start + executed if runtimes are modelled.
        ``overrun``
            Only a job that would run on past its estimate is killed. If ``about`` says
            ``overrun="run"`` none is killed; if ``"kill"``, none completes past its estimate.
            Not looked at if runtimes are modelled.
        ``attempts``
            The attempts of a job follow each other in time, all but the last came to nothing before
            its work was done, and the last is what its row says: each job runs once to its outcome.
        ``capacity``
            At no instant are more cores in use than there are, all attempts counted. Jobs of 0 s can
            follow each other within their instant: each must fit beside those that run through it.

        It takes O(n log n) time, in whole-array steps.

        Raises
        ------
        IllegalScheduleError
            With the rule and, for the first offence, the job, the instant and the values.
        """
        listed = np.bincount(self._attempt_rows(), minlength=len(self)) > 0
        jobs = (self.workload, self.cores, self.start_s, self.end_s, self.outcome, self.executed_s)
        overrun, logged = self.about.get("overrun"), self.about.get("runtimes") != "modelled"
        Claim(*jobs, attempts=self._attempts(), listed=listed, overrun=overrun, logged=logged).prove()
        return self


def _plain(value: object) -> object:
    """Return a value that JSON can hold; what is no plain value is written as its text."""
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
