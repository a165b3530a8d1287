"""Progress: what is left of jobs that were interrupted, or ran before the clock began; one for all clusters."""

from typing import NamedTuple

from simmodels.entities.job import TaskRun
from simmodels.workload import Job


class Left(NamedTuple):
    """What is left of a job.

    Parameters
    ----------
    work_s
        The work, in seconds of the job.
    restart_s
        How long it takes to come back from its last checkpoint.
    earlier_s
        How long its running attempt ran before the clock began.
    """

    work_s: float
    restart_s: float = 0.0
    earlier_s: float = 0.0


class Progress:
    """What is left of jobs, by job: what a checkpoint saved on one cluster counts wherever the job runs next."""

    def __init__(self) -> None:
        # By what tells a job: the job itself, so that its id stays its own, all its work, and what is left.
        self._left: dict[object, tuple[Job, float, Left]] = {}

    def __bool__(self) -> bool:
        """Return whether something is known."""
        return bool(self._left)

    def left_of(self, job: Job, whole_s: float) -> Left:
        """Return what is left of a job of which there is, or by its estimate would be, so much work in all."""
        known = self._left.get(_key(job))
        if known is None:
            return Left(whole_s)
        _, all_s, left = known
        return left._replace(work_s=max(left.work_s + (whole_s - all_s), 0.0))

    def keep(self, job: Job, whole_s: float, left: Left) -> None:
        """Keep what is left of a job whose work is `whole_s` in all."""
        self._left[_key(job)] = job, whole_s, left

    def forget(self, job: Job) -> None:
        """Forget a job: it is done, or begins again."""
        self._left.pop(_key(job), None)


def _key(job: Job) -> object:
    """Return what tells a job, or a task, from all others; a task may be handed around as several equal objects."""
    return (id(job.workflow), job.task) if isinstance(job, TaskRun) else id(job)
