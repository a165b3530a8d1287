"""Progress: what is left of jobs that were interrupted, or ran before the simulation began; one for all clusters."""

from typing import cast

from simmodels.clusters.checkpoints import Checkpoints
from simmodels.entities.attempt import Attempt, Left, Outcome
from simmodels.entities.job import TaskRun
from simmodels.passes.checkpointing import completed, lasts, leaves, left_if, worked
from simmodels.work.workload import Job


class Progress(dict[object, tuple[Job, float, Left]]):
    """What is left of jobs, by job: what a checkpoint saved on one cluster counts wherever the job runs next.

    By a job's identity: the job itself, so that its id stays its own, all its work, and what is left. It is a
    dictionary, since clusters ask for each job whether it is empty.
    """

    def left_of(self, job: Job, whole_s: float) -> Left:
        """Return what is left of a job of which there is, or by its estimate would be, so much work in all."""
        known = self.get(identity(job))
        if known is None:
            return Left(whole_s)
        _, all_s, left = known
        return left._replace(work_s=left_if(float(whole_s), float(left.work_s), float(all_s)))

    def keep(self, job: Job, whole_s: float, left: Left) -> None:
        """Keep what is left of a job whose work is `whole_s` in all."""
        self[identity(job)] = job, whole_s, left

    def forget(self, job: Job) -> None:
        """Forget a job: it is done, or begins again."""
        self.pop(identity(job), None)

    def settle(self, attempt: Attempt, now: float) -> None:
        """Note how much work an attempt that ends now did, and what is left of its job."""
        left, saving = left_at_start(attempt), attempt.checkpoints
        given = work_s, _, *under = _given(left, attempt.speed, saving)
        if attempt.outcome is Outcome.LOST:
            warned_s = -1.0 if attempt.warned_s is None else float(attempt.warned_s)
            elapsed_s, whole_s = float(now - attempt.start_s), float(attempt.whole_s)
            attempt.work_s, *rest, begun = leaves(elapsed_s, whole_s, *given, saving.restart_s, warned_s)
            if begun:
                self.keep(attempt.submitted, attempt.whole_s, Left(*rest))
                return
        elif attempt.outcome is Outcome.COMPLETED:
            attempt.work_s = completed(work_s, *under)
        else:
            attempt.work_s = worked_s(attempt, cast("float", attempt.executed_s))  # not the rounded end - start
        self.forget(attempt.submitted)


def left_at_start(attempt: Attempt) -> Left:
    """Return what was left of a job when an attempt of it started."""
    return Left(attempt.whole_s) if attempt.left is None else attempt.left


def duration_s(left: Left, speed: float, saving: Checkpoints) -> float:
    """Return how long an attempt at what is left of a job takes, with coming back and writing checkpoints."""
    duration: float = lasts(*_given(left, speed, saving))
    return duration


def worked_s(attempt: Attempt, elapsed_s: float) -> float:
    """Return for how long an attempt has done work some time after its start, since the simulation began."""
    given = _given(left_at_start(attempt), attempt.speed, attempt.checkpoints)
    done_s: float = worked(float(elapsed_s), *given)
    return done_s


def _given(left: Left, speed: float, saving: Checkpoints) -> tuple[float, ...]:
    """Return what compiled rules ask of an attempt, as floats: whole numbers would have them compiled again."""
    of_left = float(left.work_s), float(left.restart_s), float(left.earlier_s)
    return *of_left, float(speed), saving.interval_s, saving.cost_s


def identity(job: Job) -> object:
    """Return the identity of a job, or of a task; a task may be handed around as several equal objects."""
    return (id(job.workflow), job.task) if isinstance(job, TaskRun) else id(job)
