"""CapacitySchedule: when and where each job ran on machines that come and go, each attempt of it."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simmodels import metrics
from simmodels.capacity import Capacity
from simmodels.energy import KWH, Power, Signal
from simmodels.errors import IllegalScheduleError, RequestError, UnknownNameError
from simmodels.instants import rounding_s
from simmodels.schedule import COMPLETED, UNFINISHED, Schedule
from simmodels.workload import Workload

MORE_COLUMNS: Final = ("machine", "work_s")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CapacitySchedule(Schedule):
    """A schedule on machines that come and go.

    Parameters
    ----------
    workload, cores, start_s, end_s, outcome, counted, executed_s, about
        As in `Schedule`; `cores` are those of all machines.
    attempts
        As in `Schedule`, every attempt; and of each `machine` (its number), and `work_s`: the work that it did and
        that was not lost, in seconds of the job.
    capacity
        How many machines were on, over time.
    dark
        A table, one row a span in which a machine was off, by machine and time: its number `machine`, and from when to
        when, `start_s` and `end_s`, as far as the window goes.
    cores_per_machine
        The cores of each.
    window
        First and last instant of what was simulated.
    """

    _: KW_ONLY
    capacity: Capacity
    dark: pd.DataFrame
    cores_per_machine: int
    window: tuple[float, float]

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
            about: object = ...,
            capacity: Capacity,
            dark: pd.DataFrame,
            cores_per_machine: int,
            window: tuple[float, float],
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check what is more than in a `Schedule`."""
        Schedule.__post_init__(self)
        if self.attempts is None or any(name not in self.attempts for name in MORE_COLUMNS):
            raise RequestError("a schedule on machines without all attempts", f"{', '.join(MORE_COLUMNS)} are needed")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments (a read-only mapping cannot be pickled)."""
        names = ("outcome", "counted", "executed_s", "attempts", "capacity", "dark", "cores_per_machine", "window")
        make = partial(CapacitySchedule, **{name: getattr(self, name) for name in names}, about=dict(self.about))
        return make, (self.workload, self.cores, self.start_s, self.end_s)

    @property
    def runs(self) -> pd.DataFrame:
        """A table: one row an attempt in order of start, as `attempts`, and with `cores` and `lost_s`.

        `lost_s` is how long it ran for nothing: what was lost with its machine, or went into checkpoints; NaN
        while it runs.
        """
        table = self._table().copy()
        table["cores"] = self.workload.cores[self._attempt_rows()]
        table["lost_s"] = table["end_s"] - table["start_s"] - table["work_s"]
        return table

    def _table(self) -> pd.DataFrame:
        if self.attempts is None:
            raise AssertionError
        return self.attempts

    # -- metrics ----------------------------------------------------------------------------------

    def metrics(self, tau_s: float = 10.0, *, warm_credit: Literal["whole", "partial"] = "whole") -> dict[str, float]:
        """Return the figures of merit of a `Schedule`, and those of machines that come and go.

        ``goodput``, ``aborted`` and ``idle`` are the shares of the window's core-seconds on machines that were on
        that became work, that jobs ran for nothing, and in which no job ran; their sum is 1. ``kills`` is how often a
        job lost its machine in the window, ``mean_aborted_s`` how long it had run there in the mean, ``arrived`` how
        many jobs were submitted in the window, and ``completed_share`` how many of these completed in it.
        ``mean_machines_used`` is the mean over time of the machines used (M_use; NaN for first fit).

        Parameters
        ----------
        tau_s
            The bound of the bounded slowdowns, in seconds, > 0.
        warm_credit
            What a job that ran at the window's begin, lost its machine and completed is credited with:
            ``"whole"``, all the work of its last attempt (the paper), or ``"partial"``, what it had left at the
            window's begin (the authors' program; then the three shares sum up to less than 1).

        Raises
        ------
        UnknownNameError
            There is no such credit.

        References
        ----------
        Perotin et al. (2023), section 5.2, doi 10.1145/3624062.3624194.
        """
        if warm_credit not in {"whole", "partial"}:
            raise UnknownNameError("warm_credit", str(warm_credit), (), ("whole", "partial"))
        table, rows, window = self._table(), self._attempt_rows(), self.window
        start_s, end_s, outcome = (table[name].to_numpy() for name in ("start_s", "end_s", "outcome"))
        cores = self.workload.cores[rows]
        kept, wasted = metrics.core_seconds(start_s, end_s, table["work_s"].to_numpy(), cores, window)
        offered = self.cores_per_machine * self.capacity.machine_seconds(*window)
        used = metrics.time_sum(start_s, end_s, cores, window)
        lost_s = metrics.lost_s(start_s, end_s, outcome, window)
        if warm_credit == "partial":
            kept -= self._beyond_the_window(table, rows)
        submit_s = self.workload.submit_s
        arrived = self.counted & (submit_s >= window[0])
        done = arrived & (self.outcome == COMPLETED)
        use = self.about.get("mean_machines_used")
        return {
            **Schedule.metrics(self, tau_s),
            "goodput": kept / offered if offered > 0 else np.nan,
            "aborted": wasted / offered if offered > 0 else np.nan,
            "idle": (offered - used) / offered if offered > 0 else np.nan,
            "kills": len(lost_s),
            "mean_aborted_s": float(lost_s.mean()) if len(lost_s) else 0.0,
            "arrived": int(arrived.sum()),
            "completed_share": float(done.sum() / arrived.sum()) if arrived.any() else np.nan,
            "mean_machines_used": float(use) if isinstance(use, float) else np.nan,
        }

    def _beyond_the_window(self, table: pd.DataFrame, rows: NDArray[np.int64]) -> float:
        """Return the core-seconds that jobs which ran at the window's begin did over again."""
        begin = self.window[0]
        again = (table["outcome"] == COMPLETED).to_numpy() & (table["attempt"] > 1).to_numpy()
        warm = rows[again & (self.workload.submit_s[rows] < begin)]
        return float(np.sum((begin - self.workload.submit_s[warm]) * self.workload.cores[warm]))

    # -- energy -----------------------------------------------------------------------------------

    def energy(
        self, power: Power, *, carbon_g_per_kwh: Signal | None = None, price_per_kwh: Signal | None = None
    ) -> dict[str, float]:
        """Return ``energy_kwh``, and by the signals given ``carbon_g`` and ``cost``, of the window.

        All machines that are on draw power, whether or not a job runs there.
        """
        found = {}
        names = {"energy_kwh": Signal.constant(1.0), "carbon_g": carbon_g_per_kwh, "cost": price_per_kwh}
        low, high = self.window
        edges = np.clip(np.append(self.capacity.time_s, high), low, high)
        edges[0] = low
        jobs = self.energy_by_job(
            Power(0.0, power.core_w), carbon_g_per_kwh=carbon_g_per_kwh, price_per_kwh=price_per_kwh
        )
        for name, signal in names.items():
            if signal is not None:
                on = float(np.sum(signal.integral(edges[:-1], edges[1:]) * self.capacity.machines))
                found[name] = on * power.machine_w / KWH + float(jobs[name].sum())
        return found

    def energy_by_job(
        self, power: Power, *, carbon_g_per_kwh: Signal | None = None, price_per_kwh: Signal | None = None
    ) -> pd.DataFrame:
        """Return a table, one row a job in input order: what its attempts drew in the window, lost ones included.

        A job is charged its cores, and its share of what its machine draws. What machines draw beside that, with
        cores that are not in use, is no job's: it is the difference to `energy`.
        """
        table, rows = self._table(), self._attempt_rows()
        low, high = self.window
        start_s = np.clip(table["start_s"].to_numpy(), low, high)
        end_s = np.clip(table["end_s"].fillna(high).to_numpy(), low, high)
        watts = (power.core_w + power.machine_w / self.cores_per_machine) * self.workload.cores[rows]
        columns = {"job_id": self.workload.job_id}
        names = {"energy_kwh": Signal.constant(1.0), "carbon_g": carbon_g_per_kwh, "cost": price_per_kwh}
        for name, signal in names.items():
            if signal is not None:
                drawn = signal.integral(start_s, end_s) * watts / KWH
                columns[name] = np.bincount(rows, weights=drawn, minlength=len(self.workload))
        return pd.DataFrame(columns)

    # -- legality ---------------------------------------------------------------------------------

    def validate(self) -> "CapacitySchedule":
        """Raise if no machines could have run this schedule: the rules of `Schedule`, machine by machine, and darkness.

        No machine runs more than its cores, or anything while it is off; as many machines are on as are not dark, and
        no more cores are in use than on them; no job does more than its work, or less if it completes.

        Raises
        ------
        IllegalScheduleError
            With the rule and, for the first offence, the job, the instant and the values.
        """
        Schedule.validate(self)
        runs = self.runs
        runs = runs[runs["start_s"] != runs["end_s"]]
        ids, cores = runs["job_id"].to_numpy(), runs["cores"].to_numpy()
        start_s, end_s = runs["start_s"].to_numpy(), runs["end_s"].to_numpy()
        machine, most = runs["machine"].to_numpy(), self.cores // self.cores_per_machine
        if "heuristic" in self.about and ((machine < 0) | (machine >= most)).any():
            odd = int(np.argmax((machine < 0) | (machine >= most)))
            what = f"job {ids[odd]} starts at {start_s[odd]} s on machine {machine[odd]}"
            raise IllegalScheduleError("machines", f"{what}; there are 0 to {most - 1}")
        for number in np.unique(machine) if "heuristic" in self.about else ():  # else a job may be on several
            self._require_machine(number, runs[machine == number])
        time_s, used = metrics.step_function(start_s, end_s, cores)
        at = np.unique(np.concatenate((time_s, self.capacity.time_s)))
        at = at[(at >= self.window[0]) & (at <= self.window[1])]
        in_use = np.append(0, used)[np.searchsorted(time_s, at, side="right")]
        lit = _machines_at(self.capacity, at) * self.cores_per_machine
        if (in_use > lit).any():
            dark = int(np.argmax(in_use > lit))
            what = f"{in_use[dark]} cores are in use at {at[dark]} s, and machines of {lit[dark]} are on"
            raise IllegalScheduleError("darkness", what)
        work, until_s = runs["work_s"].to_numpy(), np.where(np.isnan(end_s), self.window[1], end_s)
        close = rounding_s(start_s, until_s)
        fits = (work >= -close) & (work <= until_s - start_s + close)
        if not fits.all():
            odd = int(np.argmin(fits))
            raise IllegalScheduleError("work", f"job {ids[odd]} did {work[odd]} s of work in less time, or less than 0")
        self._require_known_dark()
        if "heuristic" in self.about:  # else a cluster or a scheduler of the user's may say how long jobs run
            self._require_work_once()
        return self

    def _require_machine(self, number: int, runs: pd.DataFrame) -> None:
        """Refuse attempts on a machine that has not the cores for them, or is dark while they run."""
        ids, start_s, end_s = (runs[name].to_numpy() for name in ("job_id", "start_s", "end_s"))
        time_s, used = metrics.step_function(start_s, end_s, runs["cores"].to_numpy())
        if (used > self.cores_per_machine).any():
            step = int(np.argmax(used > self.cores_per_machine))
            first = ids[np.flatnonzero(start_s == time_s[step])[0]]
            what = f"job {first} starts at {time_s[step]} s, and {used[step]} cores of machine {number} are in use"
            raise IllegalScheduleError("capacity", f"{what}; it has {self.cores_per_machine}")
        spans = self.dark[self.dark["machine"] == number]
        until, begins = spans["end_s"].to_numpy(), np.append(spans["start_s"].to_numpy(), np.inf)
        next_ = begins[np.searchsorted(until, start_s, side="right")]  # the first that ends after the start
        late = np.flatnonzero(next_ < np.where(np.isnan(end_s), self.window[1], end_s))
        if len(late):
            what = f"job {ids[late[0]]} starts at {start_s[late[0]]} s on machine {number}"
            raise IllegalScheduleError(
                "darkness", f"{what}, and is still there when it goes dark at {next_[late[0]]} s"
            )

    def _require_known_dark(self) -> None:
        """Refuse a capacity that is not that of the machines which were not dark."""
        machine, low, high = (self.dark[name].to_numpy() for name in ("machine", "start_s", "end_s"))
        begin, end = self.window
        lit = _lit(self.cores // self.cores_per_machine, (machine, low, high), begin)
        at = np.unique(np.clip(np.concatenate((lit.time_s, self.capacity.time_s)), begin, end))
        at = at[at < end]
        said, are = _machines_at(self.capacity, at), _machines_at(lit, at)
        if (said != are).any():
            odd = int(np.argmax(said != are))
            what = f"{said[odd]} machines are on from {at[odd]} s on, and {are[odd]} are not dark"
            raise IllegalScheduleError("darkness", what)

    def _require_work_once(self) -> None:
        """Refuse attempts that are not numbered from 1 on, and jobs that did more than their work, or too little."""
        table, rows = self._table(), self._attempt_rows()
        order = np.lexsort((table["attempt"].to_numpy(), rows))
        row, number = rows[order], table["attempt"].to_numpy()[order]
        wanted = _numbers(row)
        if (number != wanted).any():
            odd = int(np.argmax(number != wanted))
            what = f"job {self.workload.job_id[row[odd]]} has an attempt {number[odd]} where {wanted[odd]} is next"
            raise IllegalScheduleError("attempts", what)
        done = np.bincount(rows, table["work_s"].to_numpy(), len(self.workload))
        length = self.workload.runtime_s
        start_s, end_s = table["start_s"].to_numpy(), table["end_s"].to_numpy()
        rounding = rounding_s(start_s, end_s, self.workload.submit_s[rows], length[rows])
        close = np.bincount(rows, rounding, len(self.workload))  # of every attempt
        whole = (self.outcome == COMPLETED) & (self.workload.submit_s >= self.window[0])
        bad = self.counted & ((done > length + close) | (whole & (done < length - close)))
        if bad.any():
            odd = int(np.argmax(bad))
            what = f"job {self.workload.job_id[odd]} of {length[odd]} s did {done[odd]} s of work"
            raise IllegalScheduleError("work", what)


def assembled(
    workload: Workload,
    rows: NDArray[np.int64],
    attempts: dict[str, NDArray[np.generic]],
    *,
    dark: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]],
    first_s: float | None = None,
    machines: int,
    cores_per_machine: int,
    window: tuple[float, float],
    counted: NDArray[np.bool_],
    about: dict[str, object],
) -> CapacitySchedule:
    """Return the schedule of these attempts, in order of start.

    Parameters
    ----------
    workload
        The jobs.
    rows
        int64[k], the input row of each attempt.
    attempts
        start_s, end_s, outcome, machine, work_s of each.
    dark
        The spans in which machines were dark, in any order: the machine's number, its begin, and its end (infinity if
        it has not ended).
    first_s
        From when on these are known; None for the window's begin.
    cores_per_machine, window
        As in `CapacitySchedule`.
    machines
        How many machines there are at most.
    counted
        bool[n], which jobs took part.
    about
        How it was made.
    """
    start_s, end_s, executed_s = np.full((3, len(workload)), np.nan)
    outcome = np.full(len(workload), UNFINISHED, np.int8)
    start_s[rows] = attempts["start_s"]  # by start, so the last attempt of a job is what stays
    done = attempts["outcome"] != UNFINISHED
    end_s[rows] = np.where(done, attempts["end_s"], np.nan)
    executed_s[rows] = np.where(done, attempts["end_s"], np.nan)
    executed_s -= start_s
    outcome[rows] = attempts["outcome"]
    outcomes = attempts["outcome"].astype(np.int8)
    table = pd.DataFrame({"job_id": workload.job_id[rows], "attempt": _numbers(rows), **attempts, "outcome": outcomes})
    return CapacitySchedule(
        workload,
        machines * cores_per_machine,
        start_s,
        end_s,
        outcome=outcome,
        counted=counted,
        executed_s=executed_s,
        attempts=table,
        about={**about, "runtimes": "modelled"},
        capacity=_lit(machines, dark, window[0] if first_s is None else first_s),
        dark=_dark_table(dark, window),
        cores_per_machine=cores_per_machine,
        window=window,
    )


def _numbers(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return of each attempt which of its job's it is, from 1 on, in the order given."""
    return np.asarray(pd.Series(rows).groupby(rows, sort=False).cumcount(), np.int64) + 1


def _machines_at(capacity: Capacity, time_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many machines there are at each of some instants."""
    return capacity.machines[np.maximum(np.searchsorted(capacity.time_s, time_s, side="right") - 1, 0)]


def _lit(
    machines: int, dark: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]], first_s: float
) -> Capacity:
    """Return how many machines are on, from an instant on."""
    machine, low, high = dark
    time_s, off = metrics.step_function(low, np.where(np.isinf(high), np.nan, high), np.ones_like(machine))
    if not len(time_s) or time_s[0] > first_s:
        time_s, off = np.append(first_s, time_s), np.append(0, off)
    return Capacity(time_s, machines - off)


def _dark_table(
    dark: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]], window: tuple[float, float]
) -> pd.DataFrame:
    """Return the spans within a window, by machine and time; those that touch are one."""
    machine, low, high = dark
    low, high = np.clip(low, *window), np.clip(high, *window)
    kept = np.lexsort((low, machine))
    kept = kept[low[kept] < high[kept]]
    machine, low, high = machine[kept], low[kept], high[kept]
    first = np.append(True, (machine[1:] != machine[:-1]) | (low[1:] != high[:-1]))[: len(kept)]
    last = np.append(first[1:], True)[: len(kept)]
    return pd.DataFrame({"machine": machine[first], "start_s": low[first], "end_s": high[last]})
