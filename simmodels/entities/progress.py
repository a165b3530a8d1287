"""Progress: what is left of jobs that were interrupted, or ran before the simulation began; one for all clusters."""

from typing import cast

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.entities.attempt import Attempt, Left, Outcome
from simmodels.entities.job import TaskRun
from simmodels.passes.checkpointing import done_after, saved_after, takes
from simmodels.work.workload import Job


class Progress(dict[object, tuple[Job, float, Left]]):
    """What is left of jobs, by job: what a checkpoint saved on one cluster counts wherever the job runs next.

    By a job's identity: the job itself, so that its id stays its own, all its work, and what is left. It is a
    dictionary, since clusters ask for each job whether it is empty.
    """

    def left_of(self, job: Job, whole_s: float) -> Left:
        """Return what is left of a job of which there is, or by its estimate would be, so much work in all."""
        known = self.get(_key(job))
        if known is None:
            return Left(whole_s)
        _, all_s, left = known
        return left._replace(work_s=max(left.work_s + (whole_s - all_s), 0.0))

    def keep(self, job: Job, whole_s: float, left: Left) -> None:
        """Keep what is left of a job whose work is `whole_s` in all."""
        self[_key(job)] = job, whole_s, left

    def forget(self, job: Job) -> None:
        """Forget a job: it is done, or begins again."""
        self.pop(_key(job), None)

    def settle(self, attempt: Attempt, now: float) -> None:
        """Note how much work an attempt that ends now did, and what is left of its job."""
        left, speed, saving = left_at_start(attempt), attempt.speed, attempt.checkpoints
        before_s = _done_s(left._replace(restart_s=0.0), 0.0, speed, saving)
        if attempt.outcome is Outcome.LOST:
            saved_s = _saved_s(attempt, left, now)
            attempt.work_s = max(saved_s - before_s, 0.0)
            if saved_s > 0.0 or left.work_s < attempt.whole_s:
                restart_s = saving.restart_s if saved_s > 0.0 else left.restart_s
                self.keep(attempt.submitted, attempt.whole_s, Left(left.work_s - saved_s * speed, restart_s))
                return
        elif attempt.outcome is Outcome.COMPLETED:
            attempt.work_s = left.work_s / speed - before_s
        else:
            attempt.work_s = worked_s(attempt, cast("float", attempt.executed_s))  # not the rounded end - start
        self.forget(attempt.submitted)


def left_at_start(attempt: Attempt) -> Left:
    """Return what was left of a job when an attempt of it started."""
    return Left(attempt.whole_s) if attempt.left is None else attempt.left


def duration_s(left: Left, speed: float, saving: Checkpoints) -> float:
    """Return how long an attempt at what is left of a job takes, with coming back and writing checkpoints."""
    whole_s: float = takes(left.work_s / speed, left.restart_s, saving.interval_s / speed, saving.cost_s)
    return whole_s - left.earlier_s


def worked_s(attempt: Attempt, elapsed_s: float) -> float:
    """Return for how long an attempt has done work some time after its start, since the simulation began."""
    left, speed, saving = left_at_start(attempt), attempt.speed, attempt.checkpoints
    before_s = _done_s(left._replace(restart_s=0.0), 0.0, speed, saving)
    return _done_s(left, elapsed_s, speed, saving) - before_s


def _done_s(left: Left, elapsed_s: float, speed: float, saving: Checkpoints) -> float:
    """Return for how long an attempt has done work some time after its start, and before the simulation began."""
    done_s: float = done_after(
        elapsed_s + left.earlier_s, left.restart_s, saving.interval_s / speed, saving.cost_s, left.work_s / speed
    )
    return done_s


def _saved_s(attempt: Attempt, left: Left, now: float) -> float:
    """Return for how long an attempt that is lost now has done work that its job keeps."""
    speed, saving = attempt.speed, attempt.checkpoints
    warned_s = -1.0 if attempt.warned_s is None else float(attempt.warned_s)
    elapsed_s = float(now - attempt.start_s + left.earlier_s)
    saved_s: float = saved_after(
        elapsed_s, left.restart_s, saving.interval_s / speed, saving.cost_s, left.work_s / speed, warned_s
    )
    return saved_s


def _key(job: Job) -> object:
    """Return the identity of a job, or of a task; a task may be handed around as several equal objects."""
    return (id(job.workflow), job.task) if isinstance(job, TaskRun) else id(job)
