"""Scheduler and Router: what recorders and others may ask of whoever decides where and when jobs run."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simmodels.entities.attempt import Attempt
from simmodels.entities.cluster import Cluster
from simmodels.entities.environment import Environment
from simmodels.place import Terms
from simmodels.workflow import Workflow
from simmodels.workload import Job


class Scheduler:
    """A process that serves one cluster: the base of `QueueScheduler` and of those that place jobs on machines.

    Attributes
    ----------
    env, cluster
        The environment, and the cluster that it serves.
    """

    env: Environment
    cluster: Cluster

    @property
    def jobs_not_done(self) -> list[Job]:
        """Return the jobs that were submitted here and are not done: about to enter the queue, in it, or running."""
        raise NotImplementedError

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them."""
        return {}

    def terms(self) -> Terms:
        """Return what a schedule of this scheduler is proved by."""
        return Terms()

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


class Router:
    """A process in front of several clusters, that says which job goes where: the base of `Auctioneer`.

    Attributes
    ----------
    env, clusters
        The environment, and the clusters that it serves.
    """

    env: Environment
    clusters: tuple[Cluster, ...]

    def about(self) -> dict[str, object]:
        """Return the options by name, as a schedule keeps them."""
        return {}

    def terms(self) -> Terms:
        """Return what a schedule of this router is proved by."""
        return Terms()

    def judged(self) -> Iterable[Judged]:
        """Return what became of each workflow that the router knows."""
        return ()
