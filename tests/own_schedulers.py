"""Schedulers and a cluster of a user's own: each overrides one method, and nothing else."""

from collections.abc import Iterable

import simmodels as sm


class AsTheyCome(sm.Scheduler):
    """Starts what fits, in order of arrival."""

    def decide(self, now: float) -> Iterable[sm.Placement]:  # noqa: ARG002
        """Yield the jobs that start now."""
        free = self.cluster.free_cores
        for job in self.waiting:
            if job.cores <= free:
                free -= job.cores
                yield sm.Placement(job)


class ShortestThatFits(sm.Scheduler):
    """Starts what fits, the shortest job first."""

    def decide(self, now: float) -> Iterable[sm.Placement]:  # noqa: ARG002
        """Yield the jobs that start now."""
        free = self.cluster.free_cores
        for job in sorted(self.waiting, key=lambda job: job.estimate_s):
            if job.cores <= free:
                free -= job.cores
                yield sm.Placement(job)


class Fleeing(sm.QueueScheduler):
    """Hands what it loses to another scheduler."""

    refuge: sm.Scheduler

    def ended(self, attempt: sm.Attempt) -> None:
        """Let go of what was lost."""
        if attempt.outcome is sm.Outcome.LOST:
            self.refuge.submit(attempt.job)
        else:
            super().ended(attempt)


class Twice(sm.Cluster):
    """Everything takes twice as long here."""

    def runtime_s(self, job: sm.Job) -> float:
        """Return how long a job runs."""
        return 2 * job.runtime_s
