from typing import Any

import pytest

import simmodels as sm
from simmodels.entities.serving import Decider


class OnlyLooks:
    """Overrides `ended`, and calls no other method of its class."""

    def ended(self, attempt: sm.Attempt) -> None:
        self.seen.append(attempt.job.job_id)  # type: ignore[attr-defined]


class LooksTwice(OnlyLooks):
    """Starts jobs with a callback of its own."""

    def start(self, job: sm.Job, *_: Any, **__: Any) -> sm.Attempt:  # noqa: ANN401  as each class hands over
        cluster = self.clusters[0] if isinstance(self, sm.Auctioneer) else self.cluster  # type: ignore[attr-defined]
        machine = cluster.machines[0] if cluster.machines else None
        attempt: sm.Attempt = cluster.start(job, then=self.ends.append, machine=machine)  # type: ignore[attr-defined]
        return attempt


@pytest.mark.parametrize("mixed_in", [OnlyLooks, LooksTwice])
@pytest.mark.parametrize("kind", [sm.QueueScheduler, sm.FirstFit, sm.Auctioneer])
def test_what_ended_is_known_whatever_start_and_ended_are_overridden_to_do(
    kind: type[Decider], mixed_in: type[OnlyLooks]
) -> None:
    env = sm.Environment()
    size: dict[str, Any] = {"cores": 4} if kind is sm.Auctioneer else {"machines": 1, "cores_per_machine": 4}
    cluster = sm.Cluster(env, "a", **size)
    decider: Any = type("Mine", (mixed_in, kind), {"seen": [], "ends": []})(
        env, [cluster] if kind is sm.Auctioneer else cluster
    )
    recorder = sm.Recorder(env)
    jobs = sm.Workload([1, 2, 3], [0, 0, 0], [5, 5, 5], [5, 5, 5], [4, 4, 4])
    flows = [sm.Workflow(number, 0.0, [5.0], 4) for number in (1, 2, 3)]
    sm.Source(env, flows if kind is sm.Auctioneer else jobs, into=decider)
    env.run()
    assert recorder.schedule().validate().start_s.tolist() == [0, 5, 10]
    assert decider.seen == [1, 2, 3]
    assert len(decider.ends) == (3 if mixed_in is LooksTwice else 0)


@pytest.mark.parametrize("decide", ["instant", "event"])
def test_a_lost_job_waits_again_whoever_overrides_ended(decide: Any) -> None:
    env = sm.Environment()
    cluster = sm.Cluster(env, "a", cores=4)
    queue: Any = type("Mine", (OnlyLooks, sm.QueueScheduler), {"seen": []})(env, cluster, decide=decide)
    recorder = sm.Recorder(env)
    queue.submit(sm.Job(1, 0.0, 5.0, 5.0, 4))
    env.run(until=2)
    next(iter(cluster.running)).interrupt()
    env.run()
    schedule = recorder.schedule().validate()
    assert (schedule.start_s.tolist(), schedule.end_s.tolist(), queue.seen) == ([2], [7], [1, 1])


@pytest.mark.parametrize("decide", ["instant", "event"])
@pytest.mark.parametrize("calls_super", [True, False])
def test_a_lost_job_that_is_submitted_elsewhere_leaves_its_queue(calls_super: bool, decide: Any) -> None:
    class Fleeing(sm.QueueScheduler):
        def ended(self, attempt: sm.Attempt) -> None:
            if calls_super:
                super().ended(attempt)
            if attempt.outcome is sm.Outcome.LOST:
                refuge.submit(attempt.job)

    env = sm.Environment()
    queue = Fleeing(env, sm.Cluster(env, "a", cores=4), decide=decide)
    refuge = sm.QueueScheduler(env, sm.Cluster(env, "b", cores=4))
    recorder = sm.Recorder(env)
    queue.submit(sm.Job(1, 0.0, 5.0, 5.0, 4))
    env.run(until=2)
    next(iter(queue.cluster.running)).interrupt()
    env.run(until=3)
    assert queue.jobs_not_done == []
    queue.submit(sm.Job(2, 3.0, 5.0, 5.0, 4))
    env.run()
    schedule = recorder.schedule().validate()
    assert schedule.cluster.tolist() == [1, 0]
    assert (schedule.start_s.tolist(), schedule.end_s.tolist()) == ([2, 3], [7, 8])
    assert not env.waits_again
