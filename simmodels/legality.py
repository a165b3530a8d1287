"""Legality: the rules that a machine cannot break, and the proof that a schedule keeps them."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.errors import IllegalScheduleError
from simmodels.workload import Workload

COMPLETED: Final = 0
KILLED: Final = 1
UNFINISHED: Final = 2
OUTCOMES: Final = ("completed", "killed", "unfinished")


class Attempts(NamedTuple):
    """Attempts at running jobs, one a row: first each job's last one, in input order, then the earlier ones.

    Parameters
    ----------
    row
        int64[k], the input row of the job.
    attempt
        int64[k], its number, growing with time within a job.
    start_s, end_s
        float64[k], in seconds since the trace's zero; NaN where it did not start, or still runs.
    outcome
        int8[k], 0 completed, 1 killed, 2 came to nothing or still runs.
    """

    row: NDArray[np.int64]
    attempt: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    outcome: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """What a schedule says happened; `prove` raises if it cannot have.

    Parameters
    ----------
    workload
        The jobs, n of them.
    cores
        The cores of the machine.
    start_s, end_s, outcome, executed_s
        float64[n], float64[n], int8[n], float64[n], as in `simmodels.schedule.Schedule`.
    attempts
        Every attempt, of the jobs that ran once too.
    listed
        bool[n], whether the job's attempts were recorded one by one.
    overrun
        ``"run"`` or ``"kill"`` if the schedule says which it was made with.
    logged
        Whether jobs ran as long as the workload says (else only `executed_s` says it).
    """

    workload: Workload
    cores: int
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    outcome: NDArray[np.int8]
    executed_s: NDArray[np.float64]
    attempts: Attempts
    listed: NDArray[np.bool_]
    overrun: object = None
    logged: bool = True

    def prove(self) -> None:
        """Raise if a rule is broken; the rules are told in `Schedule.validate`.

        Raises
        ------
        IllegalScheduleError
            With the rule and, for the first offence, the job, the instant and the values.
        """
        self._prove_jobs()
        if self.listed.any():
            self._prove_attempts()
        self._prove_capacity()

    def _refuse(self, rule: str, bad: NDArray[np.bool_], text: str) -> None:
        """Raise if some job is bad; `text` is filled in with the values of the first."""
        rows = np.flatnonzero(bad)
        if not len(rows):
            return
        row = int(rows[0])
        job = self.workload.job(row)
        what = text.format(
            job=job, start_s=self.start_s[row], end_s=self.end_s[row], outcome=OUTCOMES[self.outcome[row]], claim=self
        )
        more = f" (and {len(rows) - 1} more jobs)" if len(rows) > 1 else ""
        raise IllegalScheduleError(rule, f"job {job.job_id} {what}{more}")

    def _prove_jobs(self) -> None:
        """Prove what can be said of each job by itself."""
        work, start_s, end_s, refuse = self.workload, self.start_s, self.end_s, self._refuse
        unfinished, killed = self.outcome == UNFINISHED, self.outcome == KILLED
        started, ended = ~np.isnan(start_s), ~np.isnan(end_s)
        times = "its start is {start_s} s, its end {end_s} s"
        refuse("outcome", ~unfinished & ~(started & ended), "is {outcome}, but " + times)
        refuse("outcome", unfinished & ended, "is unfinished, but ends at {end_s} s")
        refuse("outcome", np.isinf(start_s) | np.isinf(end_s), "has no finite times: " + times)
        width = (work.cores < 1) | (work.cores > self.cores)
        refuse("width", started & width, "starts at {start_s} s on {job.cores} cores; 1 to {claim.cores} are allowed")
        refuse("submit", start_s < work.submit_s, "starts at {start_s} s, before its submit at {job.submit_s} s")
        if not self.logged:
            self._prove_modelled(unfinished)
            return
        late = ~unfinished & ((end_s != start_s + self.executed_s) | (end_s < start_s))
        times = "{outcome}, starts at {start_s} s and ends at {end_s} s; "
        refuse("end", late & ~killed, times + "its runtime is {job.runtime_s} s")
        refuse("end", late & killed, times + "its estimate is {job.estimate_s} s")
        over = work.runtime_s > work.estimate_s
        why = " at {end_s} s, with a runtime of {job.runtime_s} s and an estimate of {job.estimate_s} s"
        refuse("overrun", killed & ~over, "is killed" + why)
        if self.overrun == "run":
            refuse("overrun", killed, "is killed at {end_s} s, though jobs may run on past their estimates")
        if self.overrun == "kill":
            refuse("overrun", (self.outcome == COMPLETED) & over, "completes" + why)

    def _prove_modelled(self, unfinished: NDArray[np.bool_]) -> None:
        """Prove that each job ran as long as it says; what the model did with runtimes is not known here."""
        start_s, end_s, executed_s = self.start_s, self.end_s, self.executed_s
        fits = (end_s == start_s + executed_s) | (executed_s == end_s - start_s)  # the one or the other was rounded
        text = "starts at {start_s} s and ends at {end_s} s, which is not how long it executed"
        self._refuse("end", ~unfinished & ~(fits & (executed_s >= 0)), text)

    def _prove_attempts(self) -> None:
        """Prove that the attempts of a job follow each other and lead to what its row says."""
        work, jobs = self.workload, len(self.start_s)
        row, attempt, start_s, end_s, outcome = self.attempts
        unfinished = self.outcome == UNFINISHED
        told = (outcome[:jobs] == self.outcome) & (unfinished | (end_s[:jobs] == self.end_s))
        told &= (start_s[:jobs] == self.start_s) | (unfinished & np.isnan(self.start_s))
        text = "({outcome}, start {start_s} s, end {end_s} s) is not what its last attempt says"
        self._refuse("attempts", self.listed & ~told, text)

        order = np.lexsort((attempt, row))
        row, start_s, end_s, outcome = row[order], start_s[order], end_s[order], outcome[order]
        again = np.append(False, row[1:] == row[:-1])
        early = np.append(again[1:], False)

        def refuse(bad: NDArray[np.bool_], text: str) -> None:
            self._refuse("attempts", np.bincount(row[bad], minlength=jobs) > 0, text)

        refuse(self.listed[row] & ~np.isfinite(start_s), "has an attempt without a finite start")
        refuse(again & ~(start_s >= np.roll(end_s, 1)), "has an attempt that starts before the one before has ended")
        refuse(early & (outcome != UNFINISHED), "runs again after an attempt that came to an end")
        refuse(start_s < work.submit_s[row], "has an attempt before its submit at {job.submit_s} s")
        refuse(end_s < start_s, "has an attempt that ends before it starts")
        undone = self.logged & (outcome == UNFINISHED) & (end_s > start_s + work.runtime_s[row])
        refuse(undone, "has an attempt that came to nothing after all its {job.runtime_s} s of work")

    def _prove_capacity(self) -> None:
        """Prove that the cores in use never exceed the machine."""
        row, start_s, end_s = self.attempts.row, self.attempts.start_s, self.attempts.end_s
        cores = self.workload.cores[row]
        lasting = ~np.isnan(start_s) & (start_s != end_s)
        starts = np.flatnonzero(lasting)
        starts = starts[np.argsort(start_s[starts], kind="stable")]
        ends = np.flatnonzero(lasting & ~np.isnan(end_s))
        ends = ends[np.argsort(end_s[ends])]
        start_at, end_at = start_s[starts], end_s[ends]
        taken = np.append(0, np.cumsum(cores[starts]))
        freed = np.append(0, np.cumsum(cores[ends]))
        # Before the last start of an instant this is too low, so what is too much there is too much at the last.
        used = taken[1:] - freed[np.searchsorted(end_at, start_at, side="right")]
        self._refuse_overfull(row[starts], start_at, used)
        # Jobs of 0 s can follow each other within their instant: each has what runs through it beside it.
        brief = np.flatnonzero(start_s == end_s)
        at = start_s[brief]
        through = taken[np.searchsorted(start_at, at)] - freed[np.searchsorted(end_at, at, side="right")]
        self._refuse_overfull(row[brief], at, through + cores[brief])

    def _refuse_overfull(self, row: NDArray[np.int64], time_s: NDArray[np.float64], used: NDArray[np.int64]) -> None:
        """Raise if more cores than there are would be in use after some start."""
        over = np.flatnonzero(used > self.cores)
        if len(over):
            first = over[np.argmin(time_s[over])]
            job = self.workload.job(int(row[first]))
            what = f"job {job.job_id} starts at {time_s[first]} s on {job.cores} cores, "
            what += f"which makes {used[first]} in use; the machine has {self.cores}"
            raise IllegalScheduleError("capacity", what)
