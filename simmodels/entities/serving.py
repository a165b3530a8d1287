"""Scheduler and Router: what recorders and others may ask of whoever decides where and when jobs run."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.entities.attempt import Attempt
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.errors import RequestError
from simmodels.place import Terms
from simmodels.workflow import Workflow
from simmodels.workload import Job, Workload


class Decider:
    """What a scheduler and a router share.

    Attributes
    ----------
    env
        The environment.
    """

    env: Environment

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them."""
        return {}

    def terms(self) -> Terms:
        """Return the terms by which a schedule of it is validated."""
        return Terms()

    def ended(self, attempt: Attempt) -> None:
        """Look on: an attempt that was started here has ended. Override it; there is no need to call this one."""

    def _serve(self, cluster: Cluster) -> None:
        """Take on a cluster: whoever starts jobs there has to know of all that run.

        Raises
        ------
        RequestError
            Somebody serves it.
        """
        if cluster.served_by is not None:
            raise RequestError(
                f"cluster {cluster.name!r} is served by a {type(cluster.served_by).__name__} already",
                "one scheduler, or one router, must serve a cluster",
            )
        cluster.served_by = self

    def _note_end(self, attempt: Attempt) -> None:
        """Take note that an attempt has ended."""
        raise NotImplementedError

    def _follow(self, attempt: Attempt) -> None:
        """Be called when an attempt ends, whatever `start` passed as `then`."""
        given = attempt.then
        attempt.then = self._has_ended
        if given is not None and given != self.ended:

            def also(attempt: Attempt) -> None:
                self._has_ended(attempt)
                given(attempt)

            attempt.then = also

    def _has_ended(self, attempt: Attempt) -> None:
        self._note_end(attempt)
        self.ended(attempt)


class Scheduler(Decider):
    """A process that serves one cluster: the base of `QueueScheduler` and of those that place jobs on machines.

    Attributes
    ----------
    cluster
        The cluster that it serves.
    """

    cluster: Cluster

    @staticmethod
    def _as_jobs(given: Workload | Sequence[Workflow]) -> Workload:
        """Return the jobs that a source hands over."""
        return given if isinstance(given, Workload) else Workload.of_workflows(given)

    @staticmethod
    def _require_job(job: Job) -> None:
        """Refuse what is no job."""
        if not isinstance(job, Job):
            what = f"a scheduler got {type(job).__name__} {getattr(job, 'job_id', '')}".rstrip()
            raise RequestError(what, "a Job is needed; an Auctioneer takes workflows")

    @property
    def jobs_not_done(self) -> list[Job]:
        """Return the jobs that were submitted here and are not done: about to enter the queue, in it, or running."""
        raise NotImplementedError

    def work_so_far_s(self, attempt: Attempt) -> float:
        """Return the work that a running attempt has done by now, in seconds of its job."""
        return float(self.env.now - attempt.start_s)


class Judged(NamedTuple):
    """What became of a workflow so far.

    Parameters
    ----------
    workflow
        The workflow.
    outcome
        Its outcome, see `simmodels.attempts.WORKFLOW_OUTCOMES`.
    critical_path_s
        The least time from its submission to its finish, in seconds.
    price
        float64[tasks], what each task paid; None if nobody pays.
    """

    workflow: Workflow
    outcome: int
    critical_path_s: float
    price: NDArray[np.float64] | None


class Router(Decider):
    """A process in front of several clusters, that says which job goes where: the base of `Auctioneer`.

    Attributes
    ----------
    clusters
        The clusters that it serves.
    """

    clusters: tuple[Cluster, ...]

    def judged(self) -> Iterable[Judged]:
        """Return what became of each workflow that the router knows."""
        return ()
