# ruff: noqa: ANN401  options of any type are handed through
"""What schedulers and routers share: what ended is known, and what cannot be is refused when the model is built."""

import dataclasses
from typing import Any

import pytest

import simmodels as sm
from simmodels.entities.decider import Decider
from simmodels.errors import RequestError
from simmodels.policies.queue_options import Decide
from tests.model_scripts import machines_on, queue_on, recorded, scheduled
from tests.own_schedulers import Fleeing


class OnlyLooks:
    """Overrides `ended`, and calls no other method of its class."""

    def ended(self, attempt: sm.Attempt) -> None:
        self.seen.append(attempt.job.job_id)  # type: ignore[attr-defined]


class LooksTwice(OnlyLooks):
    """Starts jobs with a callback of its own."""

    def start(self, job: sm.Job, *_: Any, **__: Any) -> sm.Attempt:
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
    jobs = sm.Workload([1, 2, 3], [0, 0, 0], [5, 5, 5], [5, 5, 5], [4, 4, 4])
    flows = [sm.Workflow(number, 0.0, [5.0], 4) for number in (1, 2, 3)]
    assert scheduled(decider, flows if kind is sm.Auctioneer else jobs).start_s.tolist() == [0, 5, 10]
    assert decider.seen == ([] if mixed_in is LooksTwice else [1, 2, 3])
    assert len(decider.ends) == (3 if mixed_in is LooksTwice else 0)


@pytest.mark.parametrize("decide", ["instant", "event"])
def test_a_lost_job_waits_again_at_once(decide: Decide) -> None:
    class Looks(sm.QueueScheduler):
        def ended(self, attempt: sm.Attempt) -> None:
            seen.append([job.job_id for job in self.waiting])
            super().ended(attempt)
            seen.append([job.job_id for job in self.waiting])
            assert {job.job_id for job in self.jobs_not_done} == {1, 2}

    seen: list[list[int]] = []
    env = sm.Environment()
    queue = Looks(env, sm.Cluster(env, "a", cores=4), decide=decide)
    recorder = sm.Recorder(env)
    queue.submit(sm.Job(1, 0.0, 5.0, 5.0, 4))
    queue.submit(sm.Job(2, 0.0, 5.0, 5.0, 4))
    env.run(until=2)
    next(iter(queue.cluster.running)).interrupt()
    env.run(until=3)
    assert seen == [[2], [2, 1]]
    assert recorder.schedule().validate().start_s[0] == 2


class Refuge(sm.QueueScheduler):
    """Hands a copy of each job on, as the guide's does."""

    def submit(self, job: sm.Job) -> None:
        super().submit(dataclasses.replace(job))


@pytest.mark.parametrize("decide", ["instant", "event"])
@pytest.mark.parametrize("refuge_class", [sm.QueueScheduler, Refuge])
@pytest.mark.parametrize("changed", [False, True])
def test_a_lost_job_that_ended_sends_elsewhere_leaves_its_queue(
    changed: bool, refuge_class: type[sm.QueueScheduler], decide: Decide
) -> None:
    class Copying(Fleeing):
        def start(self, job: sm.Job) -> sm.Attempt:
            return super().start(dataclasses.replace(job) if changed else job)

    env = sm.Environment()
    queue = Copying(env, sm.Cluster(env, "a", cores=4), decide=decide)
    queue.refuge = refuge_class(env, sm.Cluster(env, "b", cores=4))
    started: list[tuple[int, str, float]] = []
    env.on(sm.Started, lambda event: started.append((event.attempt.job.job_id, event.attempt.cluster.name, env.now)))
    queue.submit(sm.Job(1, 0.0, 5.0, 5.0, 4))
    env.run(until=2)
    next(iter(queue.cluster.running)).interrupt()
    env.run(until=3)
    assert queue.jobs_not_done == []
    queue.submit(sm.Job(2, 3.0, 5.0, 5.0, 4))  # the cores of the lost one are free
    env.run()
    assert started == [(1, "a", 0), (1, "b", 2), (2, "a", 3)]


@pytest.mark.parametrize("kind", [sm.FirstFit, sm.TargetAsap])
def test_a_placer_forgets_a_lost_job_that_ended_lets_go(kind: Any) -> None:
    env, cluster = machines_on(1, 4)
    options = {} if kind is sm.FirstFit else {"reference": sm.Workload([1], [0.0], [5.0], [5.0], [1])}
    placer: Any = type("Mine", (OnlyLooks, kind), {"seen": []})(env, cluster, **options)
    recorder = sm.Recorder(env)
    placer.submit(sm.Job(1, 0.0, 5.0, 5.0, 4))
    env.run(until=2)
    next(iter(cluster.running)).interrupt()
    env.run(until=3)
    assert placer.jobs_not_done == []
    placer.submit(sm.Job(2, 3.0, 5.0, 5.0, 4))  # the cores of the lost one are free
    env.run()
    assert recorder.schedule().runs["start_s"].tolist() == [0, 3]


# -- what is refused when the model is built -----------------------------------------------------------

FLOW = sm.Workflow(7, 0.0, [5.0], 4)
JOBS = sm.Workload([1], [0], [1], [1], [1])


def served(cluster: sm.Cluster, kind: str) -> sm.QueueScheduler | sm.FirstFit | sm.Auctioneer:
    if kind == "auctioneer":
        return sm.Auctioneer(cluster.env, [cluster])
    return sm.QueueScheduler(cluster.env, cluster) if kind == "queue" else sm.FirstFit(cluster.env, cluster)


@pytest.mark.parametrize("kind", ["queue", "placer"])
@pytest.mark.parametrize("flows", [[FLOW], sm.Workload.of_workflows([FLOW])], ids=["list", "workload"])
def test_workflows_into_a_scheduler_of_rigid_jobs_are_refused(flows: Any, kind: str) -> None:
    scheduler = served(sm.Cluster(sm.Environment(), "a", machines=1, cores_per_machine=4), kind)
    with pytest.raises(RequestError, match=r"got workflows \(job 7 is the first\)"):
        scheduler.accept(flows)
    with pytest.raises(RequestError, match="a scheduler got Workflow 7; give it a Job"):
        scheduler.submit(FLOW)  # type: ignore[arg-type]


def test_a_source_takes_a_list_of_jobs() -> None:
    _, queue = queue_on(4)
    assert scheduled(queue, [sm.Job(3, 0.0, 1.0, 1.0, 1)]).workload.job_id.tolist() == [3]


def test_a_workload_of_workflows_alone_goes_into_an_auctioneer() -> None:
    env = sm.Environment()
    auctioneer = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=4)])
    given = dataclasses.replace(sm.Workload.of_workflows([FLOW]), name="mine")
    sm.Source(env, given, into=auctioneer)
    with pytest.raises(RequestError, match="column runtime_s of workload 'mine' is not that of its workflows"):
        sm.Source(env, dataclasses.replace(given, runtime_s=[9.0]), into=Anything())
    schedule = recorded(env)
    assert (schedule.end_s.tolist(), schedule.workload.name) == ([5], "mine")


class Anything:
    """Takes whatever it gets."""

    def accept(self, _: object) -> None:
        pass

    def submit(self, _: object) -> None:
        pass


@pytest.mark.parametrize("second", ["queue", "placer", "auctioneer"])
@pytest.mark.parametrize("first", ["queue", "placer", "auctioneer"])
def test_a_cluster_is_served_once(first: str, second: str) -> None:
    cluster = sm.Cluster(sm.Environment(), "a", machines=1, cores_per_machine=4)
    one = served(cluster, first)
    with pytest.raises(RequestError, match=f"for cluster 'a', which has a {type(one).__name__}; let one scheduler"):
        served(cluster, second)


def test_a_refused_auctioneer_leaves_its_clusters_free() -> None:
    env = sm.Environment()
    free, taken = sm.Cluster(env, "free", cores=4), sm.Cluster(env, "taken", cores=4)
    sm.QueueScheduler(env, taken)
    for clusters in ([free, taken], [free, free]):
        with pytest.raises(RequestError, match=r"Auctioneer for cluster '(taken|free)', which has a "):
            sm.Auctioneer(env, clusters)
    sm.QueueScheduler(env, free)


def test_machines_of_unequal_size_are_refused() -> None:
    class Larger(sm.Machine):
        def __init__(self, cluster: sm.Cluster, index: int, *, cores: int) -> None:
            super().__init__(cluster, index, cores=cores + index)

    class Uneven(sm.Cluster):
        machine_class = Larger

    with pytest.raises(RequestError, match="machine 1 of cluster 'a' has 5 cores; give it as many as the cluster says"):
        Uneven(sm.Environment(), "a", machines=2, cores_per_machine=4)


def test_who_listens_hears_what_ends_and_is_decided_and_is_no_router() -> None:
    heard: list[str] = []

    class Listener:
        def note_end(self, attempt: sm.Attempt, /) -> None:
            heard.append(f"job {attempt.job.job_id} ends at {env.now:g}")

        def note_room(self) -> None: ...

        def note_decision(self) -> None:
            heard.append(f"decided at {env.now:g}")

    env = sm.Environment()
    auction = sm.Auctioneer(env, [sm.Cluster(env, "a", cores=1)], end="submit")  # which takes no router
    auction.add_listener(Listener())
    sm.Source(env, sm.Workflow(7, 1, [2], 1), into=auction)
    env.run(until=sm.all_done(env))
    assert heard == ["decided at 1", "job 7 ends at 3"]
