"""Snapshot: where a replay is at an instant, from which any number of futures go on."""

from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from simmodels.errors import RequestError, must_be
from simmodels.ground.numbers import Floats, Ints
from simmodels.ground.streams import stream
from simmodels.work.workload import Workload


class Stopped(Protocol):
    """A replay that has stopped before an instant."""

    seed: int

    @property
    def submit_s(self) -> Floats:
        """When the job of each slot is submitted, in seconds."""

    @property
    def end_s(self) -> Floats:
        """When the job of each slot ends, in seconds; NaN for one that has not started."""

    @property
    def draws(self) -> Floats:
        """A uniform number for each slot, if an order asks for it; else none."""

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

    def set_draws(self, draws: Floats) -> None:
        """Use other drawn numbers."""


def require_whole(*, left: bool) -> None:
    """Refuse to go on (`RequestError`) after an error, or from the middle of an instant, where Ctrl-C left it."""
    if left:
        raise RequestError("the replay failed, or was interrupted in the middle of an instant", "make a new one")


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
        over = np.flatnonzero(made.end_s[: len(jobs)] < self.at_s)
        if runtime_s is not None and len(over):
            what = f"job {jobs.job_id[over[0]]} would have ended at {made.end_s[over[0]]:g} s"
            raise RequestError(what, f"it runs at {self.at_s:g} s: give it a longer runtime")
        own = self._at.draws
        if len(own):
            kept = own if later is None else own[: len(jobs)]
            fresh = stream(made.seed, "order", "draw", "later", index).random(len(made.submit_s) - len(kept))
            made.set_draws(np.concatenate((kept, fresh)))
        return made
