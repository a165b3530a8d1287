# ruff: noqa: ANN401  options of any type are handed through
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import simmodels as sm
from tests.model_scripts import queues, rigid, scheduled


def test_jobs_go_round_and_pass_over_what_is_too_small_for_them() -> None:
    env = sm.Environment()
    schedule = scheduled(
        sm.RoundRobin(env, queues(env, 2, 4, 2)), rigid(*[(0, 5, 1)] * 3, (1, 5, 4), (2, 5, 1), (2, 5, 3))
    )
    assert schedule.cluster.tolist() == [0, 1, 2, 1, 2, 1]
    assert schedule.start_s.tolist() == [0, 0, 0, 5, 2, 10]


def test_jobs_go_where_the_least_work_per_core_is_not_done() -> None:
    env = sm.Environment()
    # per core: 8/2 and 0, so job 2 goes to the larger cluster; then 4 and 8/4, so does job 3; at 4 job 1 is done
    schedule = scheduled(sm.LeastLoaded(env, queues(env, 2, 4)), rigid((0, 4, 2), (0, 8, 1), (1, 8, 1), (5, 1, 2)))
    assert schedule.cluster.tolist() == [0, 1, 1, 0]


def test_a_cluster_on_which_all_is_done_has_no_work_left_of_rounding() -> None:
    env = sm.Environment()
    # 0.1 + 0.2 - 0.1 - 0.2 is not 0; job 5 finds the first two idle, while job 1 runs on the third
    jobs = rigid((0, 9, 4), (0, 0.1, 1), (0, 1, 2), (0, 0.2, 1), (2, 1, 1))
    assert scheduled(sm.LeastLoaded(env, queues(env, 2, 2, 4)), jobs).cluster.tolist() == [2, 0, 1, 0, 0]


def test_jobs_go_where_they_start_first() -> None:
    env = sm.Environment()
    # at 0 both are free: the first; job 2 fits only the second; job 3 would start at 9 on the first, at 5 on the second
    jobs = rigid((0, 9, 2), (0, 5, 3), (1, 4, 2), (2, 3, 1), (2, 9, 2))
    schedule = scheduled(sm.EarliestStart(env, queues(env, 2, 4)), jobs)
    # job 4 starts at once beside job 2; job 5 at 9 on either (3 and 4 end at 9 and 5 on the second: 2 cores free at 5)
    assert schedule.cluster.tolist() == [0, 1, 1, 1, 1]
    assert schedule.start_s.tolist() == [0, 0, 5, 2, 5]


def test_a_router_of_ones_own_may_hold_jobs_until_something_ends() -> None:
    class OneAtATime(sm.Router):
        def route(self, ready: Sequence[sm.Job], now: float) -> Iterable[tuple[sm.Job, sm.Scheduler | sm.Router]]:
            asked.append((now, len(ready)))
            if not any(cluster.running for cluster in self.clusters):
                yield ready[-1], self.into[0]

    asked: list[tuple[float, int]] = []
    env = sm.Environment()
    router = OneAtATime(env, queues(env, 4))
    schedule = scheduled(router, rigid((0, 3, 1), (1, 3, 1), (2, 3, 1)))
    assert schedule.start_s.tolist() == [0, 6, 3]
    assert asked == [(0, 1), (1, 1), (2, 2), (3, 2), (6, 1)]


def test_routers_stand_before_routers() -> None:
    env = sm.Environment()
    near = sm.RoundRobin(env, queues(env, 1, 1))
    far = sm.QueueScheduler(env, sm.Cluster(env, "far", cores=8))
    schedule = scheduled(sm.RoundRobin(env, [near, far]), rigid(*[(0, 5, 1)] * 4, (0, 5, 8)))
    assert schedule.cluster.tolist() == [0, 2, 1, 2, 2]
    assert schedule.start_s.tolist() == [0, 0, 0, 0, 5]


@pytest.mark.parametrize("kind", [sm.RoundRobin, sm.LeastLoaded, sm.EarliestStart])
def test_a_job_is_seen_submitted_once(kind: type[sm.Router]) -> None:
    env = sm.Environment()
    seen: list[int] = []
    env.on(sm.Submitted, lambda event: seen.append(event.job.job_id))
    scheduled(kind(env, [sm.RoundRobin(env, queues(env, 1)), *queues(env, 1)]), rigid((0, 5, 1), (0, 5, 1)))
    assert seen == [1, 2]


def test_a_job_that_loses_its_machine_waits_where_it_was_sent() -> None:
    env = sm.Environment()
    clusters = [sm.Cluster(env, name, machines=1, cores_per_machine=1) for name in "ab"]
    router = sm.RoundRobin(env, [sm.QueueScheduler(env, cluster) for cluster in clusters])
    sm.Maintenance(env, clusters[0], start_s=2, duration_s=3)
    schedule = scheduled(router, rigid((0, 5, 1), (0, 5, 1), (1, 5, 1), (1, 5, 1)))
    assert schedule.cluster.tolist() == [0, 1, 0, 1]
    assert schedule.start_s.tolist() == [5, 0, 10, 5]


class Wrong(sm.Router):
    """Sends jobs as a test says."""

    sends: Any

    def route(self, ready: Sequence[sm.Job], now: float) -> Iterable[tuple[sm.Job, sm.Scheduler | sm.Router]]:  # noqa: ARG002
        return self.sends(self, ready)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("sends", "text"),
    [
        (
            lambda router, ready: [(ready[0], router.into[0])] * 2,
            "sent job 1, which is not ready; send jobs of `ready`",
        ),
        (lambda _, ready: [(ready[0], None)], "sent job 1 to None; name one of self.into"),
        (lambda router, ready: [(ready[0], router.into[0])], "sent job 1 of 2 cores to a QueueScheduler; send jobs of"),
    ],
)
def test_routes_that_cannot_be_are_refused(sends: Any, text: str) -> None:
    env = sm.Environment()
    router = Wrong(env, queues(env, 1, 2))
    router.sends = sends
    sm.Source(env, rigid((0, 5, 2 if "cores" in text else 1)), into=router)
    with pytest.raises(sm.RequestError, match=text):
        env.run()


def test_what_a_router_cannot_take_is_refused_when_the_model_is_built() -> None:
    env = sm.Environment()
    with pytest.raises(sm.RequestError, match="a RoundRobin of nothing; give at least one scheduler"):
        sm.RoundRobin(env, [])
    with pytest.raises(sm.RequestError, match="a RoundRobin into Cluster; give schedulers, and routers"):
        sm.RoundRobin(env, [sm.Cluster(env, "y", cores=4)])  # type: ignore[list-item]
    router = sm.RoundRobin(env, queues(env, 2, 4))
    with pytest.raises(sm.ImpossibleJobError, match="job 1: needs 5 cores, and the machine has 4"):
        sm.Source(env, rigid((0, 5, 5)), into=router)
    with pytest.raises(sm.ImpossibleJobError, match="job 1: cores must be an integer from 1 to 4, the most that a"):
        router.submit(sm.Job(1, 0.0, 1.0, 1.0, 5))
    with pytest.raises(sm.RequestError, match="got workflows"):
        router.accept([sm.Workflow(1, 0.0, [5.0], 4)])  # type: ignore[arg-type]


@given(
    jobs=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=25),
    kind=st.sampled_from([sm.RoundRobin, sm.LeastLoaded, sm.EarliestStart]),
    options=st.fixed_dictionaries(
        {"order": st.sampled_from(["FCFS", "SAF", "WFP3"]), "backfilling": st.sampled_from(["none", "easy", "greedy"])}
    ),
)
@example(  # a wait of 0 s over an estimate of 0 s
    jobs=[(0, 2, 1), (0, 2, 4), (1, 0, 4), (2, 0, 1)],
    kind=sm.EarliestStart,
    options={"order": "WFP3", "backfilling": "none"},
)
def test_what_each_cluster_did_is_what_it_does_with_its_jobs_alone(
    jobs: list[tuple[int, int, int]], kind: type[sm.Router], options: dict[str, Any]
) -> None:
    env = sm.Environment()
    schedule = scheduled(kind(env, queues(env, 4, 6, **options)), rigid(*sorted(jobs)))
    assert set(schedule.outcome) == {0}
    for number, size in enumerate((4, 6)):
        here = schedule.on(number)
        alone = sm.simulate(here.workload, cores=size, engine="compiled", **options)
        np.testing.assert_array_equal(here.start_s, alone.start_s)


def test_a_job_that_is_submitted_while_others_are_routed_is_routed_too() -> None:
    env = sm.Environment()
    router = sm.RoundRobin(env, queues(env, 2, 2))
    follower = sm.Job(2, 0.0, 3.0, 3.0, 1)
    env.on(sm.Routed, lambda event: router.submit(follower) if event.job.job_id == 1 else None)
    recorder = sm.Recorder(env)
    router.submit(sm.Job(1, 0.0, 5.0, 5.0, 1))
    env.run()
    schedule = recorder.schedule().validate()
    assert (schedule.start_s.tolist(), schedule.cluster.tolist()) == ([0, 0], [0, 1])


def test_a_job_that_is_submitted_twice_before_it_is_routed_is_refused() -> None:
    router = sm.RoundRobin(env := sm.Environment(), queues(env, 2, 2))
    job = sm.Job(1, 0.0, 5.0, 5.0, 1)
    router.submit(job)
    with pytest.raises(sm.RequestError, match="job 1 is submitted again before it is routed"):
        router.submit(job)
