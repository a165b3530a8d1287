from typing import Any

import pytest

import simmodels as sm
from simmodels.decisions.options import Decide
from simmodels.entities.serving import Decider
from simmodels.errors import RequestError


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
def test_a_lost_job_waits_again_whoever_overrides_ended(decide: Decide) -> None:
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
def test_a_lost_job_that_is_submitted_elsewhere_leaves_its_queue(calls_super: bool, decide: Decide) -> None:
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


# -- what is refused when the model is built -----------------------------------------------------------

FLOW = sm.Workflow(7, 0.0, [5.0], 4)
JOBS = sm.Workload([1], [0], [1], [1], [1])


def served(cluster: sm.Cluster, kind: str) -> sm.QueueScheduler | sm.FirstFit | sm.Auctioneer:
    if kind == "auctioneer":
        return sm.Auctioneer(cluster.env, [cluster])
    return sm.QueueScheduler(cluster.env, cluster) if kind == "queue" else sm.FirstFit(cluster.env, cluster)


@pytest.mark.parametrize("kind", ["queue", "placer"])
@pytest.mark.parametrize("flows", [[FLOW], sm.Workload.of_workflows([FLOW])], ids=["list", "workload"])
def test_workflows_into_a_scheduler_of_rigid_jobs_are_refused(flows: Any, kind: str) -> None:  # noqa: ANN401
    scheduler = served(sm.Cluster(sm.Environment(), "a", machines=1, cores_per_machine=4), kind)
    with pytest.raises(RequestError, match=r"got workflows \(job 7 is the first\); an Auctioneer"):
        sm.Source(scheduler.env, flows, into=scheduler)
    with pytest.raises(RequestError, match="a scheduler got Workflow 7; a Job is needed"):
        scheduler.submit(FLOW)  # type: ignore[arg-type]


def test_workflows_as_rigid_jobs_are_refused_on_both_clocks() -> None:
    for engine in ("simpy", "compiled"):
        with pytest.raises(RequestError, match="a scheduler of rigid jobs got workflows"):
            sm.simulate(sm.Workload.of_workflows([FLOW]), cores=4, engine=engine)  # type: ignore[arg-type]


def test_rigid_jobs_into_an_auctioneer_are_refused() -> None:
    auctioneer = sm.Auctioneer(sm.Environment(), [sm.Cluster(sm.Environment(), "a", cores=4)])
    for given in (JOBS, sm.Workload.concat([JOBS, FLOW])):
        with pytest.raises(RequestError, match=r"an Auctioneer got rigid jobs \('.*'\); it takes workflows"):
            sm.Source(auctioneer.env, given, into=auctioneer)
    with pytest.raises(RequestError, match="an Auctioneer got Job 3; it takes workflows"):
        auctioneer.submit(sm.Job(3, 0.0, 1.0, 1.0, 1))  # type: ignore[arg-type]


def test_a_workload_of_workflows_alone_goes_into_an_auctioneer() -> None:
    env = sm.Environment()
    auctioneer = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)])
    sm.Source(env, sm.Workload.of_workflows([FLOW]), into=auctioneer)
    env.run()
    assert auctioneer.schedule().validate().end_s.tolist() == [5]


@pytest.mark.parametrize("second", ["queue", "placer", "auctioneer"])
@pytest.mark.parametrize("first", ["queue", "placer", "auctioneer"])
def test_a_cluster_is_served_once(first: str, second: str) -> None:
    cluster = sm.Cluster(sm.Environment(), "a", machines=1, cores_per_machine=4)
    one = served(cluster, first)
    with pytest.raises(RequestError, match=f"cluster 'a' is served by a {type(one).__name__} already; one scheduler"):
        served(cluster, second)


def test_a_cluster_given_twice_to_an_auctioneer_is_refused() -> None:
    cluster = sm.Cluster(sm.Environment(), "a", cores=4)
    with pytest.raises(RequestError, match="cluster 'a' is served by a Auctioneer already"):
        sm.Auctioneer(cluster.env, [cluster, cluster])


def test_machines_of_unequal_size_are_refused() -> None:
    class Larger(sm.Machine):
        def __init__(self, cluster: sm.Cluster, index: int, *, cores: int) -> None:
            super().__init__(cluster, index, cores=cores + index)

    class Uneven(sm.Cluster):
        machine_class = Larger

    with pytest.raises(RequestError, match="machine 1 of cluster 'a' has 5 cores; machines of a cluster must"):
        Uneven(sm.Environment(), "a", machines=2, cores_per_machine=4)


@pytest.mark.parametrize("given", [sm.Polynomial([0.0, 1.0], ["1", "p"]), sm.orders()["SAF"], 5])
def test_what_is_no_bid_is_refused(given: Any) -> None:  # noqa: ANN401
    kind = type(given).__name__
    with pytest.raises(RequestError, match=f"a bid must be a name, a Bid or a function .got {kind}."):
        sm.Auctioneer(sm.Environment(), [sm.Cluster(sm.Environment(), "a", cores=4)], bid=given)
