"""Snapshot: where a replay is at an instant, from which any number of futures go on."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.streams import stream
from simmodels.work.workload import Workload


class Stopped(ABC):
    """A replay that can be stopped before an instant, looked at, and gone on with.

    A *slot* is a job's number in order of arrival, or a task's number.

    Attributes
    ----------
    seed
        Of what is drawn.
    begin_s
        When it begins, in seconds.
    submit_s
        When the job of each slot is submitted, in seconds.
    draws
        A uniform number for each slot, if an order asks for it; else none.
    kept
        The jobs of the snapshot of which it is, those that waited or ran, and those to come; None of one that goes on.
    """

    seed: int
    begin_s: float
    submit_s: Floats
    draws: Floats = np.empty(0)
    kept: tuple[Workload, Workload] | None = None
    _left = False  # whether a run was left, or ended with an error
    _reached_s = -math.inf  # up to which instant all has happened

    def require_whole(self) -> None:
        """Refuse to go on (`RequestError`) after an error, or from the middle of an instant, where Ctrl-C left it."""
        if self._left:
            raise RequestError("the replay failed, or was interrupted in the middle of an instant", "make a new one")

    def snapshot(self) -> "Snapshot[Self]":
        """Return where the replay is, which stays so while the replay goes on."""
        self.require_whole()
        slots, coming = self.present(), self.coming()
        jobs, later = self.jobs_at(slots), self.jobs_at(coming)
        # A copy that nobody runs: forks are carried on from it, while this replay goes on.
        made = self.carried(slots, jobs, later)
        made.kept = jobs, later
        # Each job keeps its number, whatever slot it has there.
        if len(self.draws):
            made.set_draws(np.concatenate((self.draws[slots], self.draws[coming])))
        at_s = self.begin_s if self._reached_s == -math.inf else self._reached_s
        return Snapshot(at_s=at_s, jobs=jobs, start_s=self.running_s()[0][slots], later=later, _at=made)

    def set_draws(self, draws: Floats) -> None:
        """Use other drawn numbers."""
        self.draws = draws

    @abstractmethod
    def present(self) -> Ints:
        """Return int64[k], the slots that wait or run, increasing."""

    @abstractmethod
    def coming(self) -> Ints:
        """Return int64[k], the slots that are still to come, increasing."""

    @abstractmethod
    def jobs_at(self, slots: Ints) -> Workload:
        """Return the jobs of some slots, in this order."""

    @abstractmethod
    def running_s(self) -> tuple[Floats, Floats]:
        """Return float64[slots] twice, when those that run began, and when they end; NaN for those that wait."""

    @abstractmethod
    def carried(self, slots: Ints, jobs: Workload, later: Workload) -> Self:
        """Return another replay that is where this one is.

        Parameters
        ----------
        slots
            int64[k], those that wait or run here.
        jobs
            The same as jobs, in this order; they may have other runtimes.
        later
            What is to come.
        """


Replayed = TypeVar("Replayed", bound=Stopped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(Generic[Replayed]):
    """Where a replay was at an instant: what waited and what ran, from which any number of futures can be gone on with.

    Parameters
    ----------
    at_s
        The instant: all that happened before it has happened, nothing else.
    jobs
        The jobs that waited or ran, in order of arrival.
    start_s
        float64[jobs], when those that ran started; NaN for those that waited.
    later
        The jobs of the replay that had not been submitted.
    """

    at_s: float
    jobs: Workload
    start_s: Floats
    later: Workload
    _at: Replayed

    def fork(self, *, runtime_s: Floats | None = None, later: Workload | None = None, index: int = 0) -> Replayed:
        """Return a replay that goes on from here; its jobs are `jobs`, then those that are to come.

        Left alone, it gives each job the start and end that it has where the replay goes on itself.

        Parameters
        ----------
        runtime_s
            float64[jobs], other runtimes of the jobs that waited or ran, >= 0; one that ran cannot have ended before.
            What waits keeps its place: an order by runtimes has seen the others.
        later
            Other jobs to come, submitted at this instant or later.
        index
            For orders that draw: which of several futures this is, in which other jobs to come draw other numbers.

        Raises
        ------
        RequestError
            A job would have ended, or been submitted, before the instant.
        """
        jobs = self.jobs
        if runtime_s is not None:
            jobs = replace(jobs, runtime_s=np.asarray(runtime_s, dtype=np.float64))
            unknown = np.flatnonzero(~jobs.known())
            if len(unknown):
                what = f"runtime_s of job {jobs.job_id[unknown[0]]}"
                raise RequestError(must_be(what, "a number of seconds >= 0", jobs.runtime_s[unknown[0]]))
        coming = self.later if later is None else later
        early = np.flatnonzero(coming.submit_s < self.at_s)
        if len(early):
            what = f"job {coming.job_id[early[0]]} is submitted at {coming.submit_s[early[0]]:g} s"
            raise RequestError(what, f"a later job comes at {self.at_s:g} s, where the snapshot was taken, or after it")
        made = self._at.carried(np.arange(len(jobs)), jobs, coming)
        _, end_s = made.running_s()
        # A runtime that was not known may be in the past by now.
        over = np.flatnonzero(end_s[: len(jobs)] < self.at_s)
        if runtime_s is not None and len(over):
            what = f"job {jobs.job_id[over[0]]} would have ended at {end_s[over[0]]:g} s"
            raise RequestError(what, f"it runs at {self.at_s:g} s: give it a longer runtime")
        own = self._at.draws
        if len(own):
            # Jobs that are the same draw the same; others draw from a stream of their own.
            kept = own if later is None else own[: len(jobs)]
            fresh = stream(made.seed, "order", "draw", "later", index).random(len(made.submit_s) - len(kept))
            made.set_draws(np.concatenate((kept, fresh)))
        return made
